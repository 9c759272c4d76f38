"""Means in the feature space of a kernel, computed in blocks of the kernel matrix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from spexplain.aliases import Floats, Ints
from spexplain.references._lloyd import ROUNDING, Assignment, members_of

# Entries of one block of the kernel matrix: 8 MB, which a processor's cache can hold.
_BLOCK_ENTRIES = 2**20


class Block(NamedTuple):
    """Some rows, their kernel columns (n_train, n_rows), and the largest entry of each."""

    rows: slice
    columns: Floats
    scale: Floats


@dataclass(frozen=True)
class Kernel:
    """The kernel between the training rows X and any other rows."""

    X: Floats
    metric: Any
    params: dict[str, Any]
    shift: Floats | float

    @classmethod
    def over(cls, X: Floats, metric: Any, params: dict[str, Any]) -> Kernel:
        """Check a precomputed matrix, and move rows to where their kernel is accurate."""
        kernel = cls(X, metric, params, 0.0)
        if metric == "precomputed":
            if X.shape[0] != X.shape[1]:
                raise ValueError(f"A precomputed kernel must be a square matrix, got {X.shape}.")
            if not all(np.allclose(X[block], X[:, block].T) for block in kernel.cuts(X)):
                raise ValueError("A precomputed kernel must be a symmetric matrix.")
        elif metric in ("rbf", "linear"):
            # Distances are blind to translation, but their sums of products cancel far from 0.
            shift = X.mean(axis=0)
            return cls(X - shift, metric, params, shift)
        return kernel

    def prepare(self, rows: Floats) -> Floats:
        """Return new rows in the coordinates of X."""
        return rows if self.metric == "precomputed" else rows - self.shift

    def blocks(self, rows: Floats) -> Iterator[Block]:
        """Yield the kernel of prepared rows in blocks of bounded size."""
        for cut in self.cuts(rows):
            columns = self.columns(rows[cut])
            scale = np.maximum(columns.max(axis=0), -columns.min(axis=0))
            yield Block(cut, columns, scale)

    def cuts(self, rows: Floats) -> Iterator[slice]:
        """Cut rows into blocks whose kernel columns fit `_BLOCK_ENTRIES`.

        The cut depends on the number of training rows only. Results of matrix products may
        depend on the shapes in the last bit, so this is what lets `predict` repeat the labels
        of `fit`, and a cached kernel give what a recomputed one gives.
        """
        height = max(1, _BLOCK_ENTRIES // self.X.shape[0])
        return (slice(i, i + height) for i in range(0, rows.shape[0], height))

    def columns(self, rows: Floats) -> Floats:
        """Return the kernel between X and prepared rows, (n_train, n_rows)."""
        if self.metric == "precomputed":
            return np.ascontiguousarray(rows.T)
        # A copy: NumPy multiplies an array with its own transpose by another routine.
        return self._evaluate(self.X, rows.copy())

    def diagonal(self) -> Floats:
        """Return K_xx of the training rows."""
        if self.metric == "precomputed":
            return self.X.diagonal().copy()
        parts = np.array_split(self.X, max(1, self.X.shape[0] // 128))
        return np.concatenate([self._evaluate(part, part).diagonal() for part in parts])

    def _evaluate(self, rows: Floats, others: Floats) -> Floats:
        """Return the kernel matrix between two sets of prepared rows."""
        from sklearn import config_context
        from sklearn.metrics.pairwise import pairwise_kernels

        with config_context(assume_finite=True):
            if callable(self.metric):
                values = self.metric(rows, others, **self.params)
            else:
                values = pairwise_kernels(rows, others, metric=self.metric, **self.params)
        matrix: Floats = np.ascontiguousarray(values, dtype=np.float64)
        if matrix.shape != (rows.shape[0], others.shape[0]) or not np.isfinite(matrix).all():
            raise ValueError("kernel must return a finite value for every pair of rows.")
        return matrix


@dataclass
class Clusters:
    """Rows whose mean is the centre of each cluster, and the squared norms of these means."""

    members: list[Ints]
    # Known only after a pass over the kernel; every assignment fills it in.
    within: Floats = field(default_factory=lambda: np.empty(0))


class Means:
    """The kernel k-means problem on the rows of a kernel."""

    def __init__(self, kernel: Kernel, n_clusters: int, cache_bytes: float) -> None:
        self.kernel = kernel
        self.n_clusters = n_clusters
        self.squares = kernel.diagonal()
        fits = 8 * self.squares.size**2 <= cache_bytes
        self.cache = list(kernel.blocks(kernel.X)) if fits else None

    def assign(self, starts: Sequence[Clusters]) -> list[Assignment]:
        members = [rows for start in starts for rows in start.members]
        indicator = indicator_of(members, self.squares.size)
        similarities = np.empty(indicator.shape)
        scale = np.empty(self.squares.size)
        for block in self.cache or self.kernel.blocks(self.kernel.X):
            similarities[:, block.rows] = mean_similarities(indicator, block.columns)
            scale[block.rows] = block.scale
        found = []
        for start, own in zip(starts, np.split(similarities, len(starts)), strict=True):
            start.within = np.array([own[i, rows].mean() for i, rows in enumerate(start.members)])
            labels, low = nearest(own, start.within, scale)
            found.append(Assignment(labels, without_noise(self.squares + low, scale)))
        return found

    def update(self, labels: Ints, centers: Clusters) -> Clusters:
        members = members_of(labels, self.n_clusters)
        pairs = zip(members, centers.members, strict=True)
        return Clusters([new if new.size else old for new, old in pairs])

    def place(self, centers: Clusters, clusters: Ints, rows: Ints) -> Clusters:
        members = list(centers.members)
        for cluster, row in zip(clusters, rows, strict=True):
            members[cluster] = np.array([row])
        return Clusters(members)

    def distances_to(self, rows: Ints) -> Floats:
        """Return the squared distances of all rows to some of them, (n_samples, n_rows)."""
        squares = self.squares[:, np.newaxis] + self.squares[rows]
        columns = self.kernel.columns(self.kernel.X[rows])
        return without_noise(squares - 2 * columns, squares)


def indicator_of(members: Sequence[Ints], n_samples: int) -> Any:
    """Return the sparse matrix (n_clusters, n_samples) with a 1 for every member."""
    bounds = np.cumsum([0, *(rows.size for rows in members)])
    entries = (np.ones(bounds[-1]), np.concatenate(members), bounds)
    return csr_array(entries, shape=(len(members), n_samples))


def mean_similarities(indicator: Any, columns: Floats) -> Floats:
    """Return the mean kernel value of every column with every cluster, (n_clusters, n_columns).

    A sparse product adds each cluster's rows one by one, so a column's result does not depend
    on the other columns and clusters; its cost does not grow with the number of clusters.
    """
    means: Floats = (indicator @ columns) / np.diff(indicator.indptr)[:, np.newaxis]
    return means


def nearest(similarities: Floats, within: Floats, scale: Floats) -> tuple[Ints, Floats]:
    """Return every column's nearest mean, and its squared distance less K_xx.

    Distances that differ by rounding only are ties, and go to the lowest index.
    """
    scores = within[:, np.newaxis] - 2 * similarities
    low = scores.min(axis=0)
    return (scores <= low + ROUNDING * scale).argmax(axis=0), low


def without_noise(distances: Floats, scale: Floats) -> Floats:
    """Set distances to 0 that are rounding errors of kernel values of this scale.

    The margin of 10 lets a row whose distance stays positive win the ties of `nearest`.
    """
    distances[np.abs(distances) <= 10 * ROUNDING * np.abs(scale)] = 0
    return distances
