"""The sums that the histogram engine reads, one class per kind of graph."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, NamedTuple, Protocol

import numpy as np

from spexplain.engines.histogram_threads import Threads, blocks_of
from spexplain.graphs import CliqueGraph, EdgeGraph, Graph, SparseGraph, StarGraph
from spexplain.kernels.edges import keep_neighbors, scan_edges, sweep_edges
from spexplain.kernels.labels import (
    corner_sums,
    fill_histograms,
    scan_histograms,
    scan_rows,
    sweep_labels,
)
from spexplain.records import Side
from spexplain.typing import Array, Bools, Floats, Ints, Matrix

# Below this many rows per cell of a histogram, going through the rows is cheaper than through the
# cells.
_ROWS_PER_CELL = 0.5
# Only nodes with more rows per cell keep their histogram for their children: all that is kept stays
# below half of a float32 table.
_ROWS_PER_KEPT_CELL = 2.0


class Coded(NamedTuple):
    """A table, its extra vertices and their bins, all feature by feature."""

    columns: Matrix  # shape (n_features, n_samples)
    extra: Floats  # shape (n_features, n_extra)
    codes: Array  # uint8, shape (>= n_features, n_samples + n_extra)
    n_bins: int


class Gaps(NamedTuple):
    """Gaps between neighbouring values: sums, the values, and which of the asked features they belong to."""

    fields: Ints  # shape (6, n_gaps)
    around: Floats  # shape (2, n_gaps)
    which: Ints  # shape (n_gaps,)

    @classmethod
    def room(cls, n_gaps: int) -> "Gaps":
        """Return arrays to write at most that many gaps to."""
        return cls(
            np.empty((6, n_gaps), dtype=np.int64),
            np.empty((2, n_gaps)),
            np.empty(n_gaps, dtype=np.int64),
        )

    def first(self, n_gaps: int) -> "Gaps":
        """Return only the gaps that were written."""
        return Gaps(self.fields[:, :n_gaps], self.around[:, :n_gaps], self.which[:n_gaps])


class Counts(Protocol):
    """How the sums of one kind of graph follow from bins. Its `state` of a node is opaque to the engine.

    Rows are vertex numbers, ascending; sums come in six fields: inner left, inner right, volume
    left, size left, members left, samples left.
    """

    row_major: bool  # whether the codes of a vertex, rather than of a feature, lie side by side
    has_caps: bool  # whether `borders` writes caps of inner weight

    def root(self, rows: Array) -> Any:
        """Return the state of the node of all vertices."""

    def split(self, state: Any, rows: Array, is_left: Bools) -> tuple[Any, Any]:
        """Return the states of both parts of a node."""

    def node(self, state: Any, rows: Array) -> Side:
        """Return the sums over a node."""

    def is_pure(self, state: Any) -> bool:
        """Whether all counted samples of the node belong to one cluster."""

    def prepare(self, nodes: Sequence[tuple[Any, Array]], table: Coded, threads: Threads) -> None:
        """Do the work that the nodes, perhaps siblings, share."""

    def borders(
        self, state: Any, rows: Array, table: Coded, block: slice, fields: Ints, caps: Floats
    ) -> None:
        """Write the sums at the bin borders of a block of features and, if there are any, their caps."""

    def corners(
        self, state: Any, rows: Array, table: Coded, features: Ints, wanted: Bools, n_top: int
    ) -> Ints | None:
        """Return the sums of the wanted bins with their largest clusters moved or not, or None.

        Only for formulas with a trend; see `spexplain.kernels.labels.corner_sums`.
        """

    def gaps(
        self, state: Any, rows: Array, table: Coded, features: Ints, wanted: Bools, start: Ints, gaps: Gaps
    ) -> int:
        """Write the gaps inside runs of wanted bins; return their number.

        `start` holds the sums at the borders of the asked features, of which only those at the
        beginning of a run are read.
        """


@singledispatch
def counts_of(graph: Graph, trend: Side | None) -> Counts | None:
    """Return the counts for a graph's type, or None if there are none; register with ``@counts_of.register``."""
    return None


@dataclass
class _Labelled:
    """Samples of each cluster in a node and, in large nodes, the histograms of all features."""

    totals: Ints
    histograms: Array | None = None
    parent: "_Labelled | None" = None  # until the first search below it


class LabelCounts:
    """Cliques: counting labels replaces walking edges."""

    row_major = False
    has_caps = True

    def __init__(self, graph: CliqueGraph, trend: Side | None) -> None:
        n_clusters = graph.n_clusters
        # Isolated samples become one more cluster whose edges weigh nothing.
        labels = np.where(graph.labels < 0, n_clusters, graph.labels)
        self.labels = labels.astype(np.uint16 if n_clusters < 2**16 else np.uint32)
        degrees = graph.weights * (graph.cluster_sizes - 1)
        counted = np.ones(n_clusters, dtype=np.int64)
        self.clusters = np.column_stack(
            [np.stack([graph.weights, degrees, counted]), np.zeros(3, dtype=np.int64)]
        )
        if trend is not None and trend.volume > 0:
            rates = 1 / np.maximum(graph.cluster_sizes - 1, 1)
        else:
            rates = graph.weights.astype(np.float64)
        self.is_concave = (
            trend is not None and trend.inner < 0 and max(trend.volume, trend.size) > 0
        )
        # Enlarged by more than rounding can take away.
        self.rates = np.append(rates, 0.0) * (1 + 1e-12)

    def root(self, rows: Array) -> _Labelled:
        return _Labelled(self._count(rows))

    def _count(self, rows: Array) -> Ints:
        n_labels = self.clusters.shape[1]
        return np.bincount(self.labels[rows], minlength=n_labels).astype(np.int64)

    def split(
        self, state: _Labelled, rows: Array, is_left: Bools
    ) -> tuple[_Labelled, _Labelled]:
        left = self._count(rows[is_left])
        return _Labelled(left, parent=state), _Labelled(state.totals - left, parent=state)

    def node(self, state: _Labelled, rows: Array) -> Side:
        totals, (weights, degrees, counted) = state.totals, self.clusters
        inner = np.sum(weights * totals * (totals - 1))
        return Side(inner, np.sum(degrees * totals), np.sum(counted * totals))

    def is_pure(self, state: _Labelled) -> bool:
        return bool(np.count_nonzero(state.totals[:-1]) <= 1)

    def prepare(
        self, nodes: Sequence[tuple[_Labelled, Array]], table: Coded, threads: Threads
    ) -> None:
        shape = len(table.columns), table.n_bins, self.clusters.shape[1]
        by_size = sorted(nodes, key=lambda node: len(node[1]))
        for state, rows in by_size:
            parent, state.parent = state.parent, None
            if state.histograms is None and len(rows) > _ROWS_PER_KEPT_CELL * shape[1] * shape[2]:
                smaller = by_size[0][0]
                if (
                    parent is not None
                    and parent.histograms is not None
                    and len(nodes) == 2
                    and state is not smaller
                    and np.array_equal(parent.totals, state.totals + smaller.totals)
                ):
                    state.histograms, parent.histograms = parent.histograms, None
                    self._subtract(state.histograms, smaller, by_size[0][1], table, threads)
                else:
                    state.histograms = np.zeros(shape, dtype=np.int32)
                    self._fill(state.histograms, rows, table, threads)

    def _fill(self, histograms: Array, rows: Array, table: Coded, threads: Threads) -> None:
        labels = self.labels[rows]

        def fill(block: slice) -> None:
            fill_histograms(
                table.codes, block.start, block.stop, rows, labels, histograms[block]
            )

        threads.map(fill, blocks_of(len(histograms), 16))

    def _subtract(
        self, histograms: Array, state: _Labelled, rows: Array, table: Coded, threads: Threads
    ) -> None:
        """Take the histograms of a part away from those of the whole."""
        labels = self.labels[rows]

        def subtract(block: slice) -> None:
            if state.histograms is not None:
                histograms[block] -= state.histograms[block]
                return
            part = np.zeros(histograms[block].shape, dtype=np.int32)
            fill_histograms(table.codes, block.start, block.stop, rows, labels, part)
            histograms[block] -= part

        threads.map(subtract, blocks_of(len(histograms), 16))

    def borders(
        self, state: _Labelled, rows: Array, table: Coded, block: slice, fields: Ints, caps: Floats
    ) -> None:
        clusters = np.concatenate([state.totals[None], self.clusters])
        n_cells = table.n_bins * clusters.shape[1]
        if state.histograms is not None:
            scan_histograms(state.histograms[block], clusters, self.rates, fields, caps)
        elif len(rows) >= _ROWS_PER_CELL * n_cells:
            shape = block.stop - block.start, table.n_bins, clusters.shape[1]
            histograms = np.zeros(shape, dtype=np.int32)
            fill_histograms(
                table.codes, block.start, block.stop, rows, self.labels[rows], histograms
            )
            scan_histograms(histograms, clusters, self.rates, fields, caps)
        else:
            labels = self.labels[rows]
            scan_rows(
                table.codes, block.start, block.stop, rows, labels, clusters, self.rates, fields, caps
            )

    def corners(
        self,
        state: _Labelled,
        rows: Array,
        table: Coded,
        features: Ints,
        wanted: Bools,
        n_top: int,
    ) -> Ints | None:
        if not self.is_concave:
            return None
        clusters = np.concatenate([state.totals[None], self.clusters])
        n_wanted = np.count_nonzero(wanted)
        sums = np.empty((n_wanted, 2, 4, 1 << n_top), dtype=np.int64)
        labels = self.labels[rows]
        corner_sums(table.codes, features, wanted, rows, labels, clusters, n_top, sums)
        return sums

    def gaps(
        self,
        state: _Labelled,
        rows: Array,
        table: Coded,
        features: Ints,
        wanted: Bools,
        start: Ints,
        gaps: Gaps,
    ) -> int:
        clusters = np.concatenate([state.totals[None], self.clusters])
        return sweep_labels(
            table.columns, table.extra, table.codes, features, wanted, rows, self.labels, clusters, *gaps
        )


class _Joined(NamedTuple):
    """The neighbours, inside a node, of its rows."""

    indptr: Ints
    neighbors: Array
    weights: Array


class EdgeCounts:
    """Listed edges, as the neighbours of every vertex inside its node."""

    row_major = True
    has_caps = False

    def __init__(self, graph: EdgeGraph, trend: Side | None) -> None:
        self.graph = graph
        self.degrees = graph.degrees
        n_vertices = len(self.degrees)
        self.is_sample = (np.arange(n_vertices) < graph.n_samples).astype(np.int64)
        # Bytes for small weights: many at a time.
        is_small = int(graph.weights.max(initial=0)) < 128
        self.dtype, self.most = (np.uint8, 127) if is_small else (np.int64, 2**62)
        self._of_node: tuple[Array, Ints, Array] | None = None

    def root(self, rows: Array) -> _Joined:
        heads, tails = self.graph.heads, self.graph.tails
        ends, others = np.concatenate([heads, tails]), np.concatenate([tails, heads])
        order = np.argsort(ends, kind="stable")
        indptr = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=len(rows)))])
        weights = np.tile(self.graph.weights.astype(self.dtype), 2)
        return _Joined(indptr, others[order].astype(np.int32), weights[order])

    def split(self, state: _Joined, rows: Array, is_left: Bools) -> tuple[_Joined, _Joined]:
        part_of = np.full(len(self.degrees), -1, dtype=np.int8)
        part_of[rows] = is_left
        left, right = (
            self._part(state, rows, part_of, part, np.count_nonzero(is_left == part))
            for part in (1, 0)
        )
        return left, right

    def _part(
        self, state: _Joined, rows: Array, part_of: Array, part: int, n_rows: int
    ) -> _Joined:
        indptr = np.empty(n_rows + 1, dtype=np.int64)
        neighbors, weights = np.empty_like(state.neighbors), np.empty_like(state.weights)
        keep_neighbors(rows, *state, part_of, part, indptr, neighbors, weights)
        return _Joined(indptr, neighbors[: indptr[-1]].copy(), weights[: indptr[-1]].copy())

    def node(self, state: _Joined, rows: Array) -> Side:
        inner = np.sum(state.weights, dtype=np.int64)
        volume, size, _ = np.sum(self._vertices(rows)[0][:, rows], axis=1)
        return Side(inner, volume, size)

    def is_pure(self, state: _Joined) -> bool:
        return False

    def prepare(
        self, nodes: Sequence[tuple[_Joined, Array]], table: Coded, threads: Threads
    ) -> None:
        return

    def _vertices(self, rows: Array) -> tuple[Ints, Array]:
        """Return what every vertex adds to the sums in this node, and its place in the rows."""
        known = self._of_node
        if known is None or known[0] is not rows:
            sums = np.stack([self.degrees, self.graph.sizes_in(rows), self.is_sample])
            number_of = np.zeros(len(self.degrees), dtype=np.int32)
            number_of[rows] = np.arange(len(rows), dtype=np.int32)
            known = self._of_node = rows, sums, number_of
        return known[1:]

    def borders(
        self, state: _Joined, rows: Array, table: Coded, block: slice, fields: Ints, caps: Floats
    ) -> None:
        sums, _ = self._vertices(rows)
        first, last = block.start, block.stop
        scan_edges(table.codes.T, first, last, rows, *state, self.most, sums, fields)

    def corners(
        self, state: _Joined, rows: Array, table: Coded, features: Ints, wanted: Bools, n_top: int
    ) -> None:
        return

    def gaps(
        self,
        state: _Joined,
        rows: Array,
        table: Coded,
        features: Ints,
        wanted: Bools,
        start: Ints,
        gaps: Gaps,
    ) -> int:
        sums, number_of = self._vertices(rows)
        return sweep_edges(
            table.columns, table.extra, table.codes.T, features, wanted, rows, number_of, *state, sums, start, *gaps
        )


@counts_of.register
def _(graph: CliqueGraph, trend: Side | None) -> Counts:
    return LabelCounts(graph, trend)


@counts_of.register(SparseGraph)
@counts_of.register(StarGraph)
def _(graph: EdgeGraph, trend: Side | None) -> Counts:
    return EdgeCounts(graph, trend)
