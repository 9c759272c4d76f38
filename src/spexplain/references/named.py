"""Reference clusterings by name: how a table is clustered when the caller brings no labels."""

import warnings
from typing import Any

import numpy as np

from spexplain.typing import Array, Matrix

NAMES = ("spectral", "kmeans", "kmedians", "kernel_kmeans")
SPECTRAL_NEIGHBORS = 20
# Above this many rows the multigrid eigensolver, if installed, is much faster than Lanczos.
_LARGE = 20_000


def cluster(reference: Any, X: Matrix, n_clusters: int, random_state: Any) -> Array:
    """Return the labels that a named or given clusterer finds.

    Parameters
    ----------
    reference : str or clusterer
        "spectral" (standardised data, nearest-neighbour affinity), "kmeans", "kmedians",
        "kernel_kmeans", or any object with `fit_predict`; it is cloned, never changed.
    X : array of shape (n_samples, n_features)
        The table.
    n_clusters : int
        Clusters for a named reference; a given clusterer brings its own number.
    random_state : int, RandomState or None
        Seed for a named reference.
    """
    if isinstance(reference, str):
        clusterer = _named(reference, X, n_clusters, random_state)
    elif hasattr(reference, "fit_predict"):
        from sklearn.base import clone

        clusterer = clone(reference, safe=False)
    else:
        raise ValueError(
            f"reference={reference!r} must be one of {', '.join(NAMES)}, or a clusterer with fit_predict."
        )
    with warnings.catch_warnings():
        # Separate components are no trouble here: a cut between them costs nothing.
        warnings.filterwarnings("ignore", message="Graph is not fully connected")
        return np.asarray(clusterer.fit_predict(X))


def _named(name: str, X: Matrix, n_clusters: int, random_state: Any) -> Any:
    """Return the unfitted clusterer that a name stands for."""
    if name not in NAMES:
        raise ValueError(
            f"reference={name!r} is not known; use one of {', '.join(NAMES)}, or a clusterer with fit_predict."
        )
    if n_clusters > len(X):
        raise ValueError(f"n_clusters={n_clusters} is more than the {len(X)} rows of X.")
    if name == "spectral":
        return spectral(len(X), n_clusters, random_state=random_state)
    if name == "kmeans":
        from sklearn.cluster import KMeans

        return KMeans(n_clusters, n_init=10, random_state=random_state)
    if name == "kmedians":
        from spexplain.references.kmedians import KMedians

        return KMedians(n_clusters, random_state=random_state)
    from spexplain.references.kernel_kmeans import KernelKMeans

    return KernelKMeans(n_clusters, random_state=random_state)


def spectral(
    n_samples: int,
    n_clusters: int,
    *,
    n_neighbors: int = SPECTRAL_NEIGHBORS,
    eigen_solver: str | None = None,
    random_state: Any = None,
) -> Any:
    """Return spectral clustering of standardised data with a nearest-neighbour affinity.

    The eigensolver is Lanczos (ARPACK), or multigrid for large tables if pyamg is installed (extra
    ``spectral``).
    """
    from importlib.util import find_spec

    from sklearn.cluster import SpectralClustering
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if eigen_solver is None:
        eigen_solver = "amg" if n_samples > _LARGE and find_spec("pyamg") else "arpack"
    clustering = SpectralClustering(
        n_clusters,
        affinity="nearest_neighbors",
        n_neighbors=min(n_neighbors, n_samples),
        assign_labels="cluster_qr",
        eigen_solver=eigen_solver,
        random_state=random_state,
    )
    return make_pipeline(StandardScaler(), clustering)
