"""One clique per reference cluster, never written down edge by edge."""

from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias

import numpy as np

from spexplain.aliases import Floats, Ints
from spexplain.graphs.base import to_fixed_point
from spexplain.memory import check_memory
from spexplain.table.storage import known_copy, on_host

CliqueWeights: TypeAlias = Literal["unit", "inverse_size"]

# Sums of amounts stay below 2**30, so that their squares fit int64. Where edges weigh fractions, both
# need digits.
_BITS = 30
_FEW_BITS = 22


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

        Examples
        --------
        >>> from spexplain.graphs import CliqueGraph
        >>> CliqueGraph.from_labels([0, 0, 1]).cluster_sizes
        array([2, 1])
        """
        if hasattr(labels, "map_blocks"):  # lazy labels in partitions stay there
            sizes = _count_lazily(labels)
        else:
            labels = np.asarray(labels)
            if labels.dtype != np.int32:  # as tables on a device have them
                labels = labels.astype(np.int64, copy=False)
            # Counted where they lie; the first number is that of samples in no clique.
            counts = on_host(np.bincount(known_copy(labels) + 1))
            sizes = counts[1:].astype(np.int64)
        return cls(labels, sizes, *_edge_weights(sizes, weights, float(len(labels))))

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


@dataclass(frozen=True, eq=False)
class MembershipGraph:
    """Cliques of weighted samples, which may be shared between clusters.

    A sample of the amount w of a cluster counts as w copies of it there: each is joined to all other
    copies in the cluster, those of the same sample among them.

    Parameters
    ----------
    amounts : array of int, shape (n_samples, k)
        What every sample adds to each cluster, in fixed point; their sum is below 2**31.
    weights : array of int, shape (k,)
        Fixed-point weight of an edge inside each cluster.
    unit : float
        Weight of one fixed-point unit of an edge.
    amount_unit : float
        What one unit of the amounts stands for.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain.graphs import MembershipGraph
    >>> graph = MembershipGraph.from_amounts(np.array([[2.0, 0.0], [1.0, 0.0], [0.0, 3.0]]))
    >>> graph.degrees  # of all copies together
    array([4, 2, 6])
    """

    amounts: Ints
    weights: Ints
    unit: float = 1.0
    amount_unit: float = 1.0

    @classmethod
    def from_amounts(cls, amounts: Floats, weights: CliqueWeights = "unit") -> Self:
        """Return the cliques of amounts; whole numbers are kept, others become as many tiny copies.

        With ``"inverse_size"`` an edge inside a cluster of N copies weighs 1/(N-1).
        """
        check_memory(
            8 * amounts.size,
            f"The amounts of {len(amounts):,} rows in {amounts.shape[1]:,} clusters",
            "take fewer rows, or labels (y) with fewer different values",
        )
        bits = _BITS if weights == "unit" else _FEW_BITS
        fixed, unit = to_fixed_point(amounts, float(amounts.sum()), bits)
        sizes = fixed.sum(axis=0)
        return cls(fixed, *_edge_weights(sizes, weights, float(sizes.sum())), amount_unit=unit)

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.amounts)

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.amounts.shape[1])

    @property
    def cluster_sizes(self) -> Ints:
        """Copies in each cluster."""
        return np.asarray(self.amounts.sum(axis=0))

    @property
    def extra(self) -> None:
        """No vertices beyond the samples."""
        return

    @property
    def degrees(self) -> Ints:
        """Weight of the edge ends at all copies of each sample."""
        return np.asarray(self.amounts @ (self.weights * (self.cluster_sizes - 1)))

    @property
    def sizes(self) -> Ints:
        """Copies of each sample."""
        return np.asarray(self.amounts.sum(axis=1))


def _edge_weights(sizes: Ints, weights: CliqueWeights, total: float) -> tuple[Ints, float]:
    """Return the fixed-point weight of an edge inside clusters of these sizes, and its unit."""
    if weights == "unit":
        return np.ones_like(sizes), 1.0
    share = np.where(sizes > 1, 1.0 / np.maximum(sizes - 1, 1), 1.0)
    return to_fixed_point(share, total=total)


def _count_lazily(labels: Any) -> Ints:
    """Return the sizes of clusters whose labels are a Dask array, in one pass."""
    import dask

    count = dask.delayed(np.bincount)
    found = dask.compute(*(count(block + 1) for block in labels.to_delayed().reshape(-1)))
    sizes = np.zeros(max(map(len, found)), dtype=np.int64)
    for counts in found:
        sizes[: len(counts)] += counts
    return sizes[1:]
