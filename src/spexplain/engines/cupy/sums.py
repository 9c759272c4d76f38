"""Sums of cliques, stars and listed edges on the device: what the search asks of a graph."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from spexplain.aliases import Array, Ints
from spexplain.engines.cupy.memory import KeptHistograms
from spexplain.graphs import SparseGraph
from spexplain.graphs.device import device_edges, keep_lists, known_lists
from spexplain.kernels.cuda.kernels import EdgeTypes
from spexplain.kernels.cuda.records import (
    BinJobs,
    BorderSums,
    DeviceNode,
    FeatureBlock,
    JobRows,
    NeighborLists,
)
from spexplain.ledgers import LabelLedger, StarLedger
from spexplain.ledgers.labels import WeightedLabelLedger
from spexplain.records import Side
from spexplain.table.storage import known_copy

_MOST_LABELS = 40_000  # whose counters fit shared memory
_SUMS: WeakKeyDictionary[SparseGraph, tuple[int, int]] = WeakKeyDictionary()


class DeviceLabels:
    """What cliques and stars share: histograms of labels, the larger sibling's by subtraction."""

    needs_parts = False
    is_wide = False  # whether sums exceed what doubles hold

    def __init__(
        self, kernels: Any, labels: Array, n_labels: int, n_borders: int, kept: KeptHistograms
    ) -> None:
        if n_labels > _MOST_LABELS:
            raise ValueError(
                f'engine="cupy" counts up to {_MOST_LABELS} clusters, got {n_labels - 1}; use '
                'engine="histogram".'
            )
        self.kernels, self.n_labels, self.n_borders = kernels, n_labels, n_borders
        self.given = labels
        self.kept = kept

    @cached_property
    def amounts(self) -> Any:
        """Weights of the rows, on the device; None if each is one."""
        return None

    @cached_property
    def labels(self) -> Any:
        """Labels on the device, sent there at their first use: while it is coding the table."""
        xp = self.kernels.xp
        near = known_copy(self.given, xp.ndarray)
        on_device = xp.asarray(near.astype(np.uint16, copy=False))
        # Samples of no cluster, -1, become one more cluster whose edges weigh nothing.
        return xp.where(on_device == 2**16 - 1, np.uint16(self.n_labels - 1), on_device)

    def order(self) -> None:
        """Any order of the rows will do."""
        return

    def histograms(
        self, nodes: Sequence[DeviceNode], block: FeatureBlock, *, keep: bool
    ) -> tuple[list[Any], bool]:
        """Return the counted histograms of one node or of siblings, the smaller first.

        Also whether the second is its parent's still, from which the first is to be taken away.
        """
        shape = block.n_features, self.n_labels, self.n_borders
        of_parent = self.kept.of_parent(nodes) if keep else None
        counted = []
        for node in nodes if of_parent is None else nodes[:1]:
            counted.append(self.kernels.xp.zeros(shape, dtype=np.int32))
            self.kernels.count_labels(block, node.rows, self.labels, self.amounts, counted[-1])
        if of_parent is not None:
            counted.append(of_parent)
        if keep:
            self.kept.keep(nodes, counted)
        return counted, of_parent is not None


class DeviceCliques(DeviceLabels):
    """Cliques: a sample adds to the inner weight with every earlier one of its cluster.

    A sample of weight w is w copies of it, which is all that sums and bounds need to know.
    """

    def __init__(
        self, kernels: Any, ledger: LabelLedger, n_borders: int, kept: KeptHistograms
    ) -> None:
        super().__init__(kernels, ledger.graph.labels, ledger.n_labels, n_borders, kept)
        self.ledger = ledger
        self.is_wide = float(self.root_side().volume) >= 2.0**52
        # Where the score is concave in the samples of one cluster, bins are bounded with their
        # largest cluster wholly on either side.
        self.with_moves = ledger.is_concave

    @cached_property
    def amounts(self) -> Any:
        """Weights of the rows, on the device; None if each is one."""
        if not isinstance(self.ledger, WeightedLabelLedger):
            return None
        return self.kernels.xp.asarray(self.ledger.amounts.astype(np.int32))

    @cached_property
    def clusters(self) -> Any:
        """Weights of the clusters, on the device."""
        return self.kernels.xp.asarray(self.ledger.per_cluster)

    @cached_property
    def rates(self) -> Any:
        """What the clusters add at most, on the device."""
        return self.kernels.xp.asarray(self.ledger.rates)

    @property
    def work(self) -> int:
        """Bytes of arrays a feature: fields, caps, moves, sides and what the formula makes of them."""
        return self.n_borders * (2 * 8 * (48 if self.with_moves else 24) + 8 * self.n_labels)

    def root_side(self) -> Side:
        return Side(*self.ledger.sums(np.append(self.ledger.graph.cluster_sizes, 0)))

    def borders(
        self, nodes: Sequence[DeviceNode], block: FeatureBlock, counters: Any, *, keep: bool
    ) -> BorderSums:
        counted, subtract = self.histograms(nodes, block, keep=keep)
        sums = self.kernels.scan_labels(
            counted,
            subtract,
            self.clusters,
            self.rates,
            has_amounts=self.amounts is not None,
            with_moves=self.with_moves,
            counters=counters,
        )
        return BorderSums(sums[0], sums[1], sums[2], counted)

    def gaps(
        self,
        nodes: Sequence[DeviceNode],
        block: FeatureBlock,
        borders: BorderSums,
        jobs: BinJobs,
        portion: int,
        places: JobRows,
        min_samples: int,
    ) -> Any:
        return self.kernels.walk_labels(
            jobs, portion, borders.fields, min_samples, places, borders.histograms, self.labels,
            self.amounts, self.clusters,
        )  # fmt: skip

    def child_side(self, side: Side, centers: Ints | None) -> Side:
        return side

    def is_pure(self, n_kinds: int) -> bool:
        return n_kinds <= 1

    def has_one_cluster(self, rows: Any) -> bool:
        labels = self.labels[rows]
        labels = labels[labels < self.n_labels - 1]  # the last stands for no cluster
        return not len(labels) or bool((labels == labels[0]).all())


class DeviceStars(DeviceLabels):
    """Stars: a sample is joined to its centre once both are on the same side."""

    def __init__(
        self, kernels: Any, ledger: StarLedger, n_borders: int, kept: KeptHistograms
    ) -> None:
        graph = ledger.graph
        # Centres carry a label that is never counted.
        uncounted = np.full(len(graph.centers), 2**16 - 2, dtype=np.uint16)
        labels = np.append(graph.labels.astype(np.uint16), uncounted)
        super().__init__(kernels, labels, ledger.n_labels, n_borders, kept)
        self.ledger, self.graph = ledger, graph
        ledger.center_degrees = np.bincount(graph.labels + 1, minlength=ledger.n_labels)[1:]

    @property
    def work(self) -> int:
        """Bytes of arrays a feature."""
        return self.n_borders * (2 * 8 * 24 + 8 * self.n_labels)

    def root_side(self) -> Side:
        degrees = self.ledger.center_degrees
        return Side(*self.ledger.sums(np.append(degrees, 0), np.arange(len(degrees))))

    def _centers(self, nodes: Sequence[DeviceNode]) -> Any:
        """Return, for every node, which centres are there, count, and their degrees."""
        of_nodes = np.zeros((len(nodes), 3, len(self.graph.centers)), dtype=np.int64)
        for own, node in zip(of_nodes, nodes, strict=True):
            assert node.centers is not None
            own[0, node.centers] = 1
            own[1, node.centers] = self.graph.center_sizes(node.centers)
            own[2] = self.ledger.center_degrees
        return self.kernels.xp.asarray(of_nodes)

    def borders(
        self, nodes: Sequence[DeviceNode], block: FeatureBlock, counters: Any, *, keep: bool
    ) -> BorderSums:
        counted, subtract = self.histograms(nodes, block, keep=keep)
        codes = block.codes[:, self.graph.n_samples :]
        fields = self.kernels.scan_stars(counted, subtract, codes, self._centers(nodes))
        return BorderSums(fields, histograms=counted)

    def gaps(
        self,
        nodes: Sequence[DeviceNode],
        block: FeatureBlock,
        borders: BorderSums,
        jobs: BinJobs,
        portion: int,
        places: JobRows,
        min_samples: int,
    ) -> Any:
        n_samples = self.graph.n_samples
        return self.kernels.walk_stars(
            jobs, portion, borders.fields, min_samples, places, borders.histograms, self.labels,
            block.codes[:, n_samples:], self._centers(nodes), n_samples,
        )  # fmt: skip

    def child_side(self, side: Side, centers: Ints | None) -> Side:
        """Return the sums of a child: which of its centres count is seen only now."""
        assert centers is not None
        return side._replace(size=np.sum(self.graph.center_sizes(centers)))

    def is_pure(self, n_kinds: int) -> bool:
        return False

    def has_one_cluster(self, rows: Any) -> bool:
        return False


class DeviceEdges:
    """Listed edges: each joins the left side with its later end and leaves the right with its earlier one."""

    needs_parts = True
    is_wide = True

    def __init__(
        self, kernels: Any, graph: SparseGraph, n_borders: int, kept: KeptHistograms
    ) -> None:
        self.kernels, self.graph, self.n_borders = kernels, graph, n_borders
        self.csr: NeighborLists = neighbor_lists(kernels, graph)
        self.kept = kept
        self.part_of = kernels.xp.zeros(graph.n_samples, dtype=np.int32)
        self.sums = np.dtype(kernels.edges.sums)

    def order(self) -> Any:
        """Rows of many neighbours first: warps whose rows have equally many do not wait."""
        indptr = self.csr.indptr
        return self.kernels.xp.argsort(indptr[:-1] - indptr[1:]).astype(np.int32)

    @property
    def work(self) -> int:
        """Bytes of arrays a feature: sums of two nodes and their crossing edges, bounds, jobs."""
        return self.n_borders * (10 * int(self.sums.itemsize) + 2 * (8 + 28))

    def root_side(self) -> Side:
        ends = np.int64(2 * edge_sums(self.graph)[0])
        return Side(ends, ends, np.int64(self.graph.n_samples))

    def borders(
        self, nodes: Sequence[DeviceNode], block: FeatureBlock, counters: Any, *, keep: bool
    ) -> BorderSums:
        xp, d, sums = self.kernels.xp, block.n_features, self.sums
        of_parent = self.kept.of_parent(nodes) if keep else None
        crossing = xp.zeros((d, 2, self.n_borders), dtype=sums)
        counted = []
        for node in nodes if of_parent is None else nodes[:1]:
            counted.append(xp.zeros((d, 4, self.n_borders), dtype=sums))
            parts = node.part, -1 if of_parent is None else nodes[1].part
            head = block, node.rows, self.csr, self.part_of, parts
            self.kernels.count_edges(*head, counted[-1], crossing)
        if of_parent is not None:
            counted.append(of_parent)
        if keep:
            self.kept.keep(nodes, counted)
        self.kernels.scan_edges(counted, crossing, of_parent is not None)
        return BorderSums([each.swapaxes(0, 1) for each in counted])

    def gaps(
        self,
        nodes: Sequence[DeviceNode],
        block: FeatureBlock,
        borders: BorderSums,
        jobs: BinJobs,
        portion: int,
        places: JobRows,
        min_samples: int,
    ) -> Any:
        parts = nodes[0].part, nodes[-1].part
        return self.kernels.walk_edges(
            jobs, portion, borders.fields, min_samples, places, block, self.csr, self.part_of, parts
        )

    def child_side(self, side: Side, centers: Ints | None) -> Side:
        return side

    def is_pure(self, n_kinds: int) -> bool:
        return False

    def has_one_cluster(self, rows: Any) -> bool:
        return False


def edge_types(graph: SparseGraph) -> EdgeTypes:
    """Return the least number types that hold the sums of edge weights, and these themselves."""
    total, most = edge_sums(graph)
    sums = np.uint64 if 4 * total >= 2**31 else np.uint32
    return EdgeTypes(sums, np.uint8 if most < 2**8 else sums)


def edge_sums(graph: SparseGraph) -> tuple[int, int]:
    """Return the sum of all weights and the largest of them, added up once a graph."""
    if graph not in _SUMS:
        _SUMS[graph] = int(np.sum(graph.weights)), int(np.max(graph.weights, initial=0))
    return _SUMS[graph]


def neighbor_lists(kernels: Any, graph: SparseGraph) -> NeighborLists:
    """Return the neighbours of every vertex, on the device."""
    xp = kernels.xp
    known = known_lists(xp, graph)
    if known is not None:
        return NeighborLists(*known)
    heads, tails, weights = device_edges(xp, graph)
    weights = weights.astype(kernels.edges.weights, copy=False)
    lists: NeighborLists = kernels.list_neighbors(heads, tails, weights, graph.n_samples)
    keep_lists(graph, lists)
    return lists
