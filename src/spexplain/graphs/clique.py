"""One clique per reference cluster, never written down edge by edge."""

from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias

import numpy as np

from spexplain.aliases import Ints
from spexplain.graphs.base import to_fixed_point

CliqueWeights: TypeAlias = Literal["unit", "inverse_size"]


@dataclass(frozen=True, eq=False)
class CliqueGraph:
    """Every two samples of a cluster are joined; samples of different clusters are not.

    Parameters
    ----------
    labels : array of int, shape (n_samples,)
        Cluster 0..k-1 of each sample; -1 marks samples in no clique, which are isolated.
    cluster_sizes : array of int, shape (k,)
        Number of samples of each cluster.
    weights : array of int, shape (k,)
        Fixed-point weight of an edge inside each cluster.
    unit : float
        Weight of one fixed-point unit.

    Examples
    --------
    >>> from spexplain.graphs import CliqueGraph
    >>> graph = CliqueGraph.from_labels([0, 0, 0, 1, 1, -1])
    >>> graph.degrees
    array([2, 2, 2, 1, 1, 0])
    """

    labels: Ints
    cluster_sizes: Ints
    weights: Ints
    unit: float = 1.0

    @classmethod
    def from_labels(cls, labels: Ints, weights: CliqueWeights = "unit") -> Self:
        """Return the cliques of a clustering.

        With ``"inverse_size"`` an edge inside a cluster of N samples weighs 1/(N-1), so that every
        sample has degree 1 and small clusters have the same say as large ones.
        """
        if hasattr(labels, "map_blocks"):  # lazy labels in partitions stay there
            sizes = _count_lazily(labels)
        else:
            labels = np.asarray(labels, dtype=np.int64)
            sizes = np.bincount(labels[labels >= 0]).astype(np.int64)
        if weights == "unit":
            return cls(labels, sizes, np.ones_like(sizes))
        share = np.where(sizes > 1, 1.0 / np.maximum(sizes - 1, 1), 1.0)
        fixed, unit = to_fixed_point(share, total=float(len(labels)))
        return cls(labels, sizes, fixed, unit)

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.labels)

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.cluster_sizes)

    @property
    def extra(self) -> None:
        """No vertices beyond the samples."""
        return

    @property
    def degrees(self) -> Ints:
        """Weight of the edge ends at each sample."""
        # The appended zero is what label -1 finds.
        return np.append(self.weights * (self.cluster_sizes - 1), 0)[self.labels]

    @property
    def sizes(self) -> Ints:
        """1 for samples of a cluster, 0 for isolated ones."""
        return (self.labels >= 0).astype(np.int64)


def _count_lazily(labels: Any) -> Ints:
    """Return the sizes of clusters whose labels are a Dask array, in one pass."""
    import dask

    count = dask.delayed(np.bincount)
    found = dask.compute(*(count(block + 1) for block in labels.to_delayed().reshape(-1)))
    sizes = np.zeros(max(map(len, found)), dtype=np.int64)
    for counts in found:
        sizes[: len(counts)] += counts
    return sizes[1:]
