"""Reference clusterings by name: how a table is clustered without given labels."""

from inspect import signature
from typing import Any

import numpy as np

from spexplain.aliases import Array, Floats, Matrix
from spexplain.exceptions import WeightWarning, warn_caller
from spexplain.threads import beside, fork_safe

NAMES = ("spectral", "kmeans", "kmedians", "kernel_kmeans")


def cluster(
    reference: Any,
    X: Matrix,
    n_clusters: int,
    random_state: Any,
    sample_weight: Floats | None = None,
) -> Array:
    """Return the labels that a named or given clusterer finds.

    Parameters
    ----------
    reference : str or clusterer
        "spectral" (standardised data, nearest-neighbour affinity), "kmeans", "kmedians",
        "kernel_kmeans", or any object with `fit_predict`; it is cloned, never changed.
    X : array of shape (n_samples, n_features)
        The table.
    n_clusters : int
        Clusters for a named reference; a given clusterer has its own number.
    random_state : int, RandomState or None
        Seed for a named reference.
    sample_weight : array of shape (n_samples,), optional
        Weights of the rows, for clusterers that accept them; others get a warning.
    """
    _check_reference(reference)
    if isinstance(reference, str):
        clusterer = _named(reference, X, n_clusters, random_state)
    else:
        from sklearn.base import clone

        clusterer = clone(reference, safe=False)
    given: dict[str, Any] = {}
    if sample_weight is not None and _takes_weights(clusterer):
        given = {"sample_weight": sample_weight}
    elif sample_weight is not None:
        name = reference if isinstance(reference, str) else type(clusterer).__name__
        warn_caller(
            f"reference={name!r} takes no sample_weight: the clusters are those of the rows without weights; the tree "
            "and all measures use them.",
            WeightWarning,
        )

    def find() -> Array:
        with fork_safe():
            return np.asarray(clusterer.fit_predict(X, **given))

    # A given clusterer may depend on thread-local state such as scikit-learn's settings.
    return beside(find, breaks=True) if isinstance(reference, str) else find()


def _check_reference(reference: Any) -> None:
    """Refuse anything but the name of a reference clustering or a clusterer."""
    is_known = (
        reference in NAMES if isinstance(reference, str) else hasattr(reference, "fit_predict")
    )
    if not is_known:
        raise ValueError(
            f"reference={reference!r} must be one of {', '.join(NAMES)}, or a clusterer with fit_predict."
        )


def takes_entries(reference: Any) -> bool:
    """Whether a named or given clusterer accepts sparse tables."""
    if isinstance(reference, str):
        return reference == "kmeans"
    tags = getattr(reference, "__sklearn_tags__", None)
    return tags is not None and bool(tags().input_tags.sparse)


def _takes_weights(clusterer: Any) -> bool:
    known = signature(clusterer.fit_predict).parameters
    if any(each.kind is each.VAR_KEYWORD for each in known.values()):  # passed on to fit
        known = signature(clusterer.fit).parameters
    return "sample_weight" in known


def _named(name: str, X: Matrix, n_clusters: int, random_state: Any) -> Any:
    """Return the unfitted clusterer that a name stands for."""
    if n_clusters > X.shape[0]:
        raise ValueError(f"n_clusters={n_clusters} is more than the {X.shape[0]} rows of X.")
    if name == "spectral" and n_clusters == X.shape[0]:
        raise ValueError(
            f'n_clusters={n_clusters} must be below the {X.shape[0]} rows of X with reference="spectral"; take '
            "fewer clusters, or another reference."
        )
    if name == "spectral":
        from spexplain.references.spectral import SpectralReference

        return SpectralReference(n_clusters, random_state=random_state)
    if name == "kmeans":
        from sklearn.cluster import KMeans

        return KMeans(n_clusters, n_init=10, random_state=random_state)
    if name == "kmedians":
        from spexplain.references.kmedians import KMedians

        return KMedians(n_clusters, random_state=random_state)
    from spexplain.references.kernel_kmeans import KernelKMeans

    return KernelKMeans(n_clusters, random_state=random_state)
