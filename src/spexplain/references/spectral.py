"""Spectral clustering on nearest neighbours that may be shared with other methods."""

import warnings
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy import sparse

from spexplain.aliases import Array, Matrix
from spexplain.graphs import Neighbors

N_NEIGHBORS = 20
# Above this many rows the multigrid eigensolver, if installed, is much faster than Lanczos.
_LARGE = 20_000


class SpectralReference:
    """Spectral clustering of the standardised table with a nearest-neighbour affinity.

    Parameters
    ----------
    n_clusters : int
        Number of clusters.
    n_neighbors : int, default=20
        Neighbours of a row in the affinity, including the row itself, as in scikit-learn.
    neighbors : Neighbors, optional
        Neighbours found before, for example those of `SpexKNN`.
    eigen_solver : {"arpack", "amg", "lobpcg"}, optional
        By default Lanczos (ARPACK), or multigrid for large tables if pyamg is installed (extra
        ``spectral``).
    n_jobs : int, optional
        Threads of the neighbour search.
    random_state : int, RandomState or None
        Seed of the eigensolver.
    """

    def __init__(
        self,
        n_clusters: int,
        *,
        n_neighbors: int = N_NEIGHBORS,
        neighbors: Neighbors | None = None,
        eigen_solver: str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.neighbors = neighbors
        self.eigen_solver = eigen_solver
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit_predict(self, X: Matrix) -> Array:
        """Return the cluster of every row."""
        from sklearn.cluster import SpectralClustering

        solver = self.eigen_solver
        if solver is None:
            solver = "amg" if len(X) > _LARGE and find_spec("pyamg") else "arpack"
        clustering = SpectralClustering(
            self.n_clusters,
            affinity="precomputed",
            assign_labels="cluster_qr",
            eigen_solver=solver,
            random_state=self.random_state,
        )
        with warnings.catch_warnings():
            # Separate components are fine here: a cut between them costs nothing.
            warnings.filterwarnings("ignore", message="Graph is not fully connected")
            return np.asarray(clustering.fit_predict(self._affinity(X)))

    def _affinity(self, X: Matrix) -> sparse.csr_matrix:
        """Return the mean of both directions of "is among the nearest", each row its own nearest."""
        n_others = min(self.n_neighbors, len(X)) - 1
        neighbors = self.neighbors or Neighbors.of(X, max(n_others, 1), n_jobs=self.n_jobs)
        adjacency = neighbors.graph(max(n_others, 1)).to_adjacency() / 2
        return sparse.csr_matrix(adjacency + sparse.eye_array(len(X)))
