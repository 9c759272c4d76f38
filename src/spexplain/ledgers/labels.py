"""Sums of cliques: counting labels replaces walking edges.

Also how labels are counted in bins, which the ledger of stars shares: histograms are kept for the children
of large nodes; nodes that keep none are counted block by block of features, each looked at while it is in
the caches.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from spexplain.aliases import Array, Bools, Floats, Ints
from spexplain.graphs import CliqueGraph, Graph, MembershipGraph
from spexplain.ledgers.base import Ledger, SideLedger, ledger_of
from spexplain.ledgers.bins import (
    BinnedTable,
    BinRanges,
    Gaps,
    NodeBins,
    WantedBins,
)
from spexplain.objectives.base import is_concave
from spexplain.records import Costs, Cut, Pair, Side
from spexplain.threads import Threads, blocks_of

# Only nodes with more rows per cell keep their histograms for their children: all that is kept stays
# below the size of a float32 table.
_ROWS_PER_KEPT_CELL = 1.0
_MANY_LABELS = 32
_LANES = 8  # labels that are counted at a time
_BLOCK = 16  # features whose histograms a thread fills at a time
_N_VISITS = 1 << 19  # rows times features from which on threads share them
_MOST_EXACT = 2**53  # floats hold whole numbers exactly up to here


class NumberedLabels(NamedTuple):
    """The labels of a node, numbered anew because small nodes have few, and padded to full lanes."""

    labels: Ints
    number_of: Array  # of every label

    @property
    def width(self) -> int:
        """Number of labels with the padding."""
        return -(-len(self.labels) // _LANES) * _LANES

    def spread(self, values: Array) -> Array:
        """Return the values of the numbered labels along the last axis, zeros for the padding."""
        padded = np.zeros((*values.shape[:-1], self.width), dtype=values.dtype)
        padded[..., : len(self.labels)] = values[..., self.labels]
        return padded


@dataclass
class LabelCounts:
    """Vertices of each label in a node and, where histograms are kept, in every bin."""

    totals: Ints
    parent: "LabelCounts | None" = None  # until the first search below it
    numbers: NumberedLabels | None = None  # of the labels in histograms
    histograms: Array | None = None  # shape (n_counted_features, n_bins, n_numbered)
    per_label: Any = None  # what the ledger knows of the numbered labels


class _Change(NamedTuple):
    """Rows that join histograms or leave them, and their own histograms if these are known."""

    rows: Array
    step: int
    histograms: Array | None = None


def label_type(n_labels: int) -> Any:
    """Return the type in which kernels take so many labels."""
    return np.uint16 if n_labels <= 2**16 else np.uint32


class CountingLedger(SideLedger):
    """A ledger that rests on the label of every vertex. State: `LabelCounts`.

    Parameters
    ----------
    graph : Graph
        The graph.
    n_labels : int
        Number of labels; the last is that of vertices without one of their own.
    trend : Side, Pair or Costs, optional
        See `Ledger`.
    """

    has_bins = True
    most_bins = 64
    most_bins_of_many = 32  # where every bin costs more
    rows_per_bin = 8

    def __init__(
        self, graph: Graph, n_labels: int, trend: Side | Pair | Costs | None = None
    ) -> None:
        super().__init__(graph, trend)
        self.n_labels = n_labels
        if n_labels > _MANY_LABELS:
            self.most_bins = min(self.most_bins, self.most_bins_of_many)

    @cached_property
    def labels(self) -> Array:
        """Label of every vertex, in the type that kernels take.

        Made when first asked for: graphs whose labels lie elsewhere have a ledger too.
        """
        raise NotImplementedError

    def root(self, *, for_bins: bool = False) -> LabelCounts:
        return self._state(self._count(slice(None)))

    def split(
        self, state: LabelCounts, members: Array, is_left: Bools, cut: Cut
    ) -> tuple[LabelCounts, LabelCounts]:
        left = self._count(members.compress(is_left))
        return self._state(left, state), self._state(state.totals - left, state)

    def _count(self, members: Any) -> Ints:
        """Return how many of some vertices have each label."""
        return np.bincount(self.labels[members], minlength=self.n_labels).astype(np.int64)

    def _state(self, totals: Ints, parent: LabelCounts | None = None) -> LabelCounts:
        return LabelCounts(totals, parent)

    def numbers(self, state: LabelCounts) -> NumberedLabels:
        """Return the labels of a node as its histograms number them."""
        if state.numbers is None:
            state.numbers = self._numbered(state.totals.nonzero()[0])
        return state.numbers

    def _numbered(self, labels: Ints) -> NumberedLabels:
        number_of = np.zeros(self.n_labels, dtype=label_type(self.n_labels))
        number_of[labels] = np.arange(len(labels))
        return NumberedLabels(labels, number_of)

    def n_cells(self, state: LabelCounts) -> int:
        return int(np.count_nonzero(state.totals))

    def prepare(self, nodes: Sequence[NodeBins], threads: Threads) -> None:
        """Count in large nodes; of siblings only the smaller, where the parent was counted."""
        if not nodes:
            return
        by_size = sorted(nodes, key=lambda node: len(node.rows))
        smaller, its_rows, _ = by_size[0]
        are_siblings = len({id(node.state.parent) for node in nodes}) == 1 < len(nodes)
        for node in by_size:
            state, rows, table = node
            parent, state.parent = state.parent, None
            if state.histograms is not None or not self._is_kept(rows, table):
                continue
            # Parents, children and siblings that keep theirs number the labels alike.
            state.numbers, state.per_label = self._numbered(np.arange(self.n_labels)), None
            if (
                are_siblings
                and state is not smaller
                and parent is not None
                and parent.histograms is not None
                and parent.histograms.shape == self._shape(state, table)
            ):
                state.histograms, parent.histograms = parent.histograms, None
                self._apply(_Change(its_rows, -1, smaller.histograms), state, table, threads)
            else:
                self.count(node, threads)

    def count(self, node: NodeBins, threads: Threads) -> None:
        """Count in a node that is about to be searched, if it keeps that for its children."""
        state, rows, table = node
        if state.histograms is None and self._is_kept(rows, table):
            state.histograms = np.zeros(self._shape(state, table), dtype=np.int32)
            self._apply(_Change(rows, 1), state, table, threads)

    def knows_codes(self, state: LabelCounts) -> bool:
        return state.histograms is not None

    def _is_kept(self, rows: Array, table: BinnedTable) -> bool:
        return len(rows) > _ROWS_PER_KEPT_CELL * table.n_bins * self.n_labels

    def _shape(self, state: LabelCounts, table: BinnedTable) -> tuple[int, int, int]:
        return int(np.count_nonzero(~table.shared)), table.n_bins, self.numbers(state).width

    def _apply(
        self, change: _Change, state: LabelCounts, table: BinnedTable, threads: Threads
    ) -> None:
        """Add rows to the histograms of a node, or take them away."""
        rows, step, known = change
        histograms, labels = state.histograms, self.numbers(state).number_of[self.labels[rows]]
        assert histograms is not None
        from spexplain.kernels.labels import fill_histograms

        features = np.flatnonzero(~table.shared)

        def apply(block: slice) -> None:
            part = histograms[block]
            if known is not None and known.shape == histograms.shape:
                (np.add if step > 0 else np.subtract)(part, known[block], out=part)
            else:
                fill_histograms(table.codes, table.shift, features[block], rows, labels, step, part)

        # Few visits are not worth waking another thread.
        width = _BLOCK if len(rows) * len(features) > _N_VISITS else len(features)
        threads.map(apply, blocks_of(len(features), width))

    def histograms(self, node: NodeBins, ranges: BinRanges) -> tuple[Array, Array, Ints | None]:
        """Return histograms, the labels that lie left of each range, and the place of its histogram if that is another.

        See `spexplain.kernels.labels.scan_histograms`.
        """
        from spexplain.kernels.labels import fill_histograms, zoom_histograms

        state, rows, table = node
        kept, (features, bins), numbers = state.histograms, ranges, self.numbers(state)
        starts = np.zeros((len(features), numbers.width), dtype=np.int32)
        is_twin, codes, shift = table.shared, table.codes, table.shift
        if bins is not None:
            labels = numbers.number_of[self.labels[rows]]
            histograms = np.zeros((len(features), 1 << shift, numbers.width), dtype=np.int32)
            wide = kept, (np.cumsum(~is_twin) - 1)[features], is_twin[features]
            zoom_histograms(codes, shift, features, bins, rows, labels, *wide, starts, histograms)
            return histograms, starts, None
        first, counted = int(features[0]), features.compress(~is_twin[features])
        is_plain = len(counted) == len(features)
        cells_of = None if is_plain else np.cumsum(~is_twin[features]) - 1
        if kept is not None:
            n_before = first - np.count_nonzero(is_twin[:first])
            return kept[n_before : n_before + len(counted)], starts, cells_of
        labels = numbers.number_of[self.labels[rows]]
        histograms = np.zeros((len(counted), table.n_bins, numbers.width), dtype=np.int32)
        fill_histograms(codes, shift, counted, rows, labels, 1, histograms)
        return histograms, starts, cells_of


class ClusterTable(NamedTuple):
    """What is known of the clusters of a node, in the order of its histograms."""

    sums: Ints  # shape (4, n_clusters): samples in the node, weight of an edge, degree and size of a sample
    rates: Floats  # shape (n_clusters,): see `LabelLedger.rates`


class CountedBins(NamedTuple):
    """Labels in every bin of some ranges, left of each range, and the fields that follow."""

    histograms: Array
    starts: Array
    fields: Ints
    cells_of: Ints | None = None  # the place of the histogram of every range, if that is another


@ledger_of.register(CliqueGraph)
class LabelLedger(CountingLedger):
    """The ledger of cliques: all sums follow from the number of samples of each cluster.

    Isolated samples form one more cluster, the last, whose edges weigh nothing. Sums that follow from
    counts alone (`sums`, `clusters`, `fields_of`, `corners_of`) need no labels of rows.

    Attributes
    ----------
    per_cluster : array of int, shape (3, n_clusters + 1)
        Weight of an edge, degree of a sample and what it adds to the size.
    rates : array of float, shape (n_clusters + 1,)
        A sample with n others of its cluster on its side has at most n times this inner weight per
        volume (or size, whichever the score rises with).
    is_concave : bool
        Whether the score is concave in the samples of one cluster that a cut moves.
    dtype : dtype
        In which kernels add up: floats where these hold all sums exactly, else integers.
    """

    has_caps = True
    graph: CliqueGraph

    def __init__(self, graph: CliqueGraph, trend: Any = None) -> None:
        super().__init__(graph, graph.n_clusters + 1, trend)
        sizes, weights = graph.cluster_sizes, graph.weights
        self.per_cluster = np.zeros((3, self.n_labels), dtype=np.int64)
        self.per_cluster[:, :-1] = weights, weights * (sizes - 1), np.ones_like(sizes)
        most = 2.0 * float(np.sum(self.per_cluster[1, :-1].astype(np.float64) * sizes))
        self.dtype = np.dtype(np.float64 if most < _MOST_EXACT else np.int64)
        per_volume = isinstance(trend, Side) and trend.volume > 0
        rates = 1 / np.maximum(sizes - 1, 1) if per_volume else weights.astype(np.float64)
        # Enlarged by more than rounding can take away.
        self.rates = np.append(rates, 0.0) * (1 + 1e-12)
        self.is_concave = is_concave(trend)

    @cached_property
    def labels(self) -> Array:
        given = self.graph.labels
        return np.where(given < 0, self.n_labels - 1, given).astype(label_type(self.n_labels))

    @cached_property
    def _short_labels(self) -> Array:
        """Few bits make a stable sort a radix sort."""
        return self.labels.astype(np.min_scalar_type(self.n_labels - 1))

    # From counts.

    def sums(self, counts: Ints) -> Ints:
        """Return inner weight, volume and size of sets with so many samples of each cluster.

        Shapes: counts (..., n_clusters + 1), result (3, ...).
        """
        weight, degree, size = self.per_cluster
        return np.array([counts * (counts - 1) @ weight, counts @ degree, counts @ size])

    def clusters(self, totals: Ints) -> ClusterTable:
        """Return the clusters of a node with so many samples of each."""
        return ClusterTable(np.concatenate([totals[None], self.per_cluster]), self.rates)

    def fields_of(
        self,
        cells: Array,
        starts: Array,
        clusters: ClusterTable,
        fields: Ints,
        caps: Floats,
        cells_of: Ints | None = None,
    ) -> None:
        """Write the fields and caps at the borders of bins with these counts, `starts` left of the first."""
        from spexplain.kernels.labels import scan_histograms

        sums = clusters.sums.astype(self.dtype)
        scan_histograms(cells, starts, sums, clusters.rates, fields, caps, cells_of)

    def corners_of(
        self, counted: CountedBins, clusters: ClusterTable, wanted: Bools, n_top: int
    ) -> Ints | None:
        """Return the sums of wanted bins with their largest clusters on either side.

        None where that bounds nothing. Shape (n_wanted, 2, 4, 2 ** n_top), see `corner_bounds`.
        """
        if not self.is_concave:
            return None
        from spexplain.kernels.labels import corner_sums

        cells, starts, fields, cells_of = counted
        if cells_of is None:
            cells_of = np.arange(len(cells))
        places = np.flatnonzero(wanted.any(axis=1))
        found = np.empty((np.count_nonzero(wanted), 2, 4, 1 << n_top), dtype=np.int64)
        corner_sums(cells, cells_of, starts, places, wanted, clusters.sums, n_top, fields, found)
        return found

    # Of nodes and leaves.

    def node(self, state: LabelCounts, members: Array) -> Side:
        return Side(*self.sums(state.totals))

    def is_pure(self, state: LabelCounts) -> bool:
        return self.has_one_cluster(state.totals)

    @staticmethod
    def has_one_cluster(totals: Ints) -> bool:
        """Whether at most one cluster has samples among these counts."""
        return bool(np.count_nonzero(totals[:-1]) <= 1)

    def group_profiles(
        self, state: LabelCounts, members: Array, groups: Ints, n_groups: int
    ) -> Ints:
        """Return the samples of every group by cluster."""
        return self.counts_by_leaf(groups, self.labels[members], n_groups)[:, :-1]

    def group_sides(
        self, state: LabelCounts, node: Side, members: Array, groups: Ints, subsets: Bools
    ) -> tuple[Side, Side]:
        counts = self.counts_by_leaf(groups, self.labels[members], subsets.shape[1])
        left = subsets.astype(np.int64) @ counts
        return Side(*self.sums(left)), Side(*self.sums(state.totals - left))

    def leaf_sums(self, leaves: Array, n_leaves: int) -> Ints:
        return self.sums(self.counts_by_leaf(leaves, self.labels, n_leaves))

    def counts_by_leaf(self, leaves: Array, labels: Array, n_leaves: int) -> Ints:
        """Return the table of leaves × clusters of some rows with these labels; leaf -1 is none."""
        flat = (leaves.astype(np.int64) + 1) * self.n_labels + labels
        counts = np.bincount(flat, minlength=(n_leaves + 1) * self.n_labels)
        return counts.reshape(n_leaves + 1, self.n_labels)[1:]

    def sorted_sides(
        self, state: LabelCounts, node: Side, order: Ints, features: Ints
    ) -> tuple[Side, Side]:
        labels, totals = self._short_labels[order], state.totals
        by_cluster = np.argsort(labels, axis=1, kind="stable")
        # Grouped by cluster, the t-th sample of a cluster meets t earlier ones; the same row serves
        # every feature.
        first = np.repeat(np.cumsum(totals) - totals, totals)
        n_earlier_grouped = np.arange(order.shape[1]) - first
        n_earlier = np.empty(order.shape, dtype=np.int64)
        n_earlier[np.arange(len(order))[:, None], by_cluster] = n_earlier_grouped
        n_earlier, labels = n_earlier[:, :-1], labels[:, :-1]
        weights, degrees, sizes = self.per_cluster
        twice_weight = 2 * weights[labels]
        joined = np.cumsum(twice_weight * n_earlier, axis=1)
        parted = np.cumsum(twice_weight * (totals[labels] - 1 - n_earlier), axis=1)
        volume = np.cumsum(degrees[labels], axis=1)
        size = np.cumsum(sizes[labels], axis=1)
        left = Side(joined, volume, size)
        return left, Side(node.inner - parted, node.volume - volume, node.size - size)

    # In bins.

    def _clusters(self, state: LabelCounts) -> ClusterTable:
        """Return the clusters as the histograms of the node number them."""
        if state.per_label is None:
            numbers, (sums, rates) = self.numbers(state), self.clusters(state.totals)
            state.per_label = ClusterTable(numbers.spread(sums), numbers.spread(rates))
        table: ClusterTable = state.per_label
        return table

    def border_fields(
        self, node: NodeBins, ranges: BinRanges, fields: Ints, caps: Floats
    ) -> CountedBins:
        histograms, starts, cells_of = self.histograms(node, ranges)
        self.fields_of(histograms, starts, self._clusters(node.state), fields, caps, cells_of)
        return CountedBins(histograms, starts, fields, cells_of)

    def corners(
        self, state: LabelCounts, counted: CountedBins, wanted: Bools, n_top: int
    ) -> Ints | None:
        return self.corners_of(counted, self._clusters(state), wanted, n_top)

    def gaps(self, node: NodeBins, wanted: WantedBins, gaps: Gaps) -> int:
        from spexplain.kernels.labels import sweep_labels

        state, rows, table = node
        features, bins, start = wanted
        return sweep_labels(
            table.matrix,
            table.extra,
            table.codes,
            table.shift,
            features,
            bins,
            rows,
            self.labels,
            self.numbers(state).number_of,
            self._clusters(state).sums,
            start,
            *gaps,
        )


class WeightedLabelLedger(LabelLedger):
    """The ledger of cliques of weighted samples, none of them shared: a sample counts as its amount.

    Engines that add up amounts themselves take it in place of the graph's own, which knows one sum for
    every cluster.

    Attributes
    ----------
    amounts : array of int, shape (n_samples,)
        What every sample adds to its cluster.
    """

    has_bins = False

    def __init__(self, graph: MembershipGraph, trend: Any = None) -> None:
        amounts = graph.amounts
        labels = np.where(amounts.any(axis=1), np.argmax(amounts, axis=1), -1)
        cliques = CliqueGraph(labels, graph.cluster_sizes, graph.weights, graph.unit)
        super().__init__(cliques, trend)
        self.amounts = amounts.sum(axis=1)

    def _count(self, members: Any) -> Ints:
        # Floats hold these sums exactly.
        labels, amounts = self.labels[members], self.amounts[members]
        return np.bincount(labels, amounts, minlength=self.n_labels).astype(np.int64)


def in_labels(ledger: Ledger) -> LabelLedger | None:
    """Return a ledger that counts samples, or their amounts, by one label each; None where that is not enough."""
    if isinstance(ledger, LabelLedger):
        return ledger
    graph = ledger.graph
    if isinstance(graph, MembershipGraph) and np.all(np.count_nonzero(graph.amounts, axis=1) <= 1):
        return WeightedLabelLedger(graph, ledger.trend)
    return None
