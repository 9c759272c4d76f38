"""Sums of listed edges."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from spexplain.aliases import Array, Bools, Floats, Ints
from spexplain.graphs import EdgeGraph, SparseGraph
from spexplain.ledgers.base import (
    SideLedger,
    border_cells,
    ledger_of,
    running_sums,
    sums_by_leaf,
)
from spexplain.ledgers.bins import (
    BinnedTable,
    BinRanges,
    Gaps,
    NodeBins,
    WantedBins,
    width_of_lanes,
)
from spexplain.records import Cut, Side
from spexplain.threads import Threads, blocks_of

_ROWS_PER_KEPT_BIN = 16  # cells of smaller nodes are not worth their memory


class InnerEdges(NamedTuple):
    """The edges with both ends in a node, by their numbers."""

    edges: Ints


class InnerNeighbors(NamedTuple):
    """The neighbours, inside a node, of its rows: those of ``rows[i]`` from ``indptr[i]`` on."""

    indptr: Ints
    neighbors: Array
    weights: Array


@dataclass
class EdgeCells:
    """What is counted in the bins of a node; shape (n_features, n_bins, 4), see `count_edges`."""

    cells: Ints | None
    shift: int


@dataclass
class EdgesInBins:
    """The edges with both ends in a node that is searched in bins."""

    near: InnerNeighbors
    counted: EdgeCells | None = None
    of_parent: EdgeCells | None = None  # until the first search below it
    crossing: InnerNeighbors | None = None  # to the larger sibling, until then


@ledger_of.register(SparseGraph)
class EdgeLedger(SideLedger):
    """The ledger of sparse graphs.

    An edge joins the left side at its later end and leaves the right side at its earlier end. State:
    `InnerEdges` or, for bins, `EdgesInBins`.

    Attributes
    ----------
    vertices : array of int, shape (4, n_vertices)
        Degree, what a vertex adds to the size, whether it is a sample, and the weight of the ends of its
        loops.
    """

    has_bins = True
    row_major = True
    row_cost = 4
    most_bins = 255
    rows_per_bin = 2
    graph: SparseGraph

    def __init__(self, graph: SparseGraph, trend: Any = None) -> None:
        super().__init__(graph, trend)
        self.heads, self.tails = graph.heads, graph.tails
        # Bytes for small weights: many at a time.
        self._is_small = int(graph.weights.max(initial=0)) < 128
        self._numbers: tuple[Array, Array] | None = None
        self._passing: list[EdgesInBins] = []  # whose cells are not kept beyond their search

    @cached_property
    def twice_weights(self) -> Ints:
        """Twice the weight of every edge: both of its ends are counted."""
        return 2 * self.graph.weights

    @cached_property
    def vertices(self) -> Ints:
        is_sample = (np.arange(self.n_vertices) < self.graph.n_samples).astype(np.int64)
        return np.stack([self.graph.degrees, self.graph.sizes, is_sample, self.loops])

    @property
    def loops(self) -> Ints:
        """Weight of the ends of the loops of every vertex."""
        loops = getattr(self.graph, "loops", None)
        return np.zeros(self.n_vertices, dtype=np.int64) if loops is None else loops

    def vertices_in(self, rows: Array) -> Ints:
        """Return the same as a node with these rows counts them."""
        return self.vertices

    @cached_property
    def moved(self) -> Ints:
        """What a sample brings to a leaf by itself: ends of loops, degree, size; shape (3, n_vertices)."""
        return self.vertices[[3, 0, 1]]

    @cached_property
    def neighbors(self) -> InnerNeighbors:
        """The neighbours of all vertices, without compiled code."""
        return neighbor_lists(self.graph)

    # Nodes.

    def root(self, *, for_bins: bool = False) -> InnerEdges | EdgesInBins:
        if not for_bins:
            return InnerEdges(np.arange(len(self.heads)))
        from spexplain.kernels.edges import list_neighbors

        indptr = np.empty(self.n_vertices + 1, dtype=np.int64)
        neighbors = np.empty(2 * len(self.heads), dtype=np.int32)
        weights = np.empty(2 * len(self.heads), dtype=self._weight_type)
        list_neighbors(self.heads, self.tails, self.graph.weights, indptr, neighbors, weights)
        return EdgesInBins(InnerNeighbors(indptr, neighbors, weights))

    @property
    def _weight_type(self) -> Any:
        return np.uint8 if self._is_small else np.int64

    def split(
        self, state: InnerEdges | EdgesInBins, members: Array, is_left: Bools, cut: Cut
    ) -> tuple[Any, Any]:
        part_of = np.full(self.n_vertices, -1, dtype=np.int8)
        part_of[members] = is_left
        if isinstance(state, InnerEdges):
            head, tail = (part_of[ends[state.edges]] == 1 for ends in (self.heads, self.tails))
            return InnerEdges(state.edges[head & tail]), InnerEdges(state.edges[~(head | tail)])
        self._forget(state)
        sides = (0, ~is_left), (1, is_left)
        parts = [
            EdgesInBins(
                self._part(state.near, members, part_of, (side, side), inside),
                of_parent=state.counted,
            )
            for side, inside in sides
        ]
        if state.counted is not None and state.counted.cells is not None:
            side, inside = sides[int(2 * np.count_nonzero(is_left) <= len(members))]
            ends = side, 1 - side
            parts[side].crossing = self._part(state.near, members, part_of, ends, inside)
        return parts[1], parts[0]

    def group_profiles(self, state: Any, members: Array, groups: Ints, n_groups: int) -> Ints:
        """Return the weight of the edges between every two groups, each counted at both ends."""
        group_of = np.zeros(self.n_vertices, dtype=np.int64)
        group_of[members] = groups
        if isinstance(state, InnerEdges):
            first, last = group_of[self.heads[state.edges]], group_of[self.tails[state.edges]]
            weights = self.graph.weights[state.edges]
        else:
            first = np.repeat(groups, np.diff(state.near.indptr))
            last, weights = group_of[state.near.neighbors], state.near.weights
        between = np.zeros((n_groups, n_groups), dtype=np.int64)
        np.add.at(between, (first, last), weights)
        return between + between.T if isinstance(state, InnerEdges) else between

    def group_sides(
        self, state: Any, node: Side, members: Array, groups: Ints, subsets: Bools
    ) -> tuple[Side, Side]:
        n_groups = subsets.shape[1]
        between = self.group_profiles(state, members, groups, n_groups)
        volume, size = sums_by_leaf(groups, self.vertices[:2, members], n_groups)
        left = subsets.astype(np.int64)
        sides = (
            Side(np.einsum("sg,gh,sh->s", each, between, each), each @ volume, each @ size)
            for each in (left, 1 - left)
        )
        return next(sides), next(sides)

    def _part(
        self,
        near: InnerNeighbors,
        rows: Array,
        part_of: Array,
        ends: tuple[int, int],
        is_inside: Bools,
    ) -> InnerNeighbors:
        """Return the edges from the rows of one part of a node to those of one."""
        from spexplain.kernels.edges import keep_neighbors

        indptr = np.empty(np.count_nonzero(is_inside) + 1, dtype=np.int64)
        # Room for all neighbours: those in the other part are few.
        room = int(np.sum(np.diff(near.indptr), where=is_inside))
        neighbors, weights = np.empty(room, dtype=np.int32), np.empty(room, dtype=self._weight_type)
        keep_neighbors(rows, *near, part_of, *ends, indptr, neighbors, weights)
        if ends[0] != ends[1]:
            neighbors, weights = neighbors[: indptr[-1]].copy(), weights[: indptr[-1]].copy()
        return InnerNeighbors(indptr, neighbors[: indptr[-1]], weights[: indptr[-1]])

    def node(self, state: InnerEdges | EdgesInBins, members: Array) -> Side:
        if isinstance(state, InnerEdges):
            inner = np.sum(self.twice_weights[state.edges])
        else:
            inner = np.sum(state.near.weights, dtype=np.int64)
        vertices = self.vertices_in(members)
        volume, size, loops = (np.sum(vertices[field][members]) for field in (0, 1, 3))
        return Side(inner + loops, volume, size)

    def leaf_sums(self, leaves: Array, n_leaves: int) -> Ints:
        head, tail = leaves[self.heads], leaves[self.tails]
        inside = np.where(head == tail, head, -1)
        inner = sums_by_leaf(inside, self.twice_weights[None], n_leaves)
        sums = sums_by_leaf(leaves, self.moved, n_leaves)
        sums[0] += inner[0]
        return sums

    # Sorted orders.

    def sorted_sides(
        self, state: InnerEdges, node: Side, order: Ints, features: Ints
    ) -> tuple[Side, Side]:
        ends = self.heads[state.edges], self.tails[state.edges]
        joined, parted = edge_sums(order, *ends, self.twice_weights[state.edges], self.n_vertices)
        vertices = self.vertices_in(order[0])
        volume, size = (running_sums(vertices[field], order) for field in (0, 1))
        has_loops = getattr(self.graph, "loops", None) is not None
        loops = running_sums(vertices[3], order) if has_loops else 0
        left = Side(joined + loops, volume, size)
        return left, Side(node.inner - parted - loops, node.volume - volume, node.size - size)

    def sorted_entries(self, state: InnerEdges, n_members: int) -> int:
        return n_members + len(state.edges)

    # Bins.

    @staticmethod
    def fields_of(cells: Array, starts: Array, node: Side) -> Ints:
        """Return the fields at the borders of bins with these cells, `starts` left of the first.

        A cell holds twice the weight of the edges inside the node by their upper end, the same by
        their lower end, the volume and the number of rows.
        """
        joined, parted, volume, rows = np.moveaxis(border_cells(cells, starts), 2, 0)
        return np.stack([joined, node.inner - parted, volume, rows, rows, rows], axis=1)

    @property
    def _adds_up(self) -> bool:
        """Whether the counts of two parts and of the edges between them are those of the node.

        Other vertices than samples may count for more in a part.
        """
        return self.graph.extra is None

    def prepare(self, nodes: Sequence[NodeBins], threads: Threads) -> None:
        """Count in the smaller of siblings; the larger has what it and the edges between leave of the parent."""
        self._forget()
        if len(nodes) == 2:
            smaller, larger = sorted(nodes, key=lambda node: len(node.rows))
            self._part_counts(smaller, larger, threads)
        for node in nodes:
            node.state.of_parent = node.state.crossing = None

    def _part_counts(self, smaller: NodeBins, larger: NodeBins, threads: Threads) -> None:
        """Count in one of two nodes and know the other's counts, if they are siblings whose parent has kept its own."""
        crossing, of_parent = smaller.state.crossing, larger.state.of_parent
        if (
            crossing is not None
            and of_parent is smaller.state.of_parent
            and of_parent.cells is not None
            and (of_parent.shift, of_parent.cells.shape) == _bins_of(larger.table)
        ):
            in_bins, own = NodeBins(*smaller[:2], larger.table), smaller.state.counted
            if own is None or own.shift != of_parent.shift:
                own = self._counted(in_bins, threads)
            if smaller.table.shift == own.shift:
                self._keep(smaller, own)
            self._take(of_parent.cells, own.cells, crossing, in_bins, threads)
            larger.state.counted = EdgeCells(of_parent.cells, of_parent.shift)
            of_parent.cells = None

    def _forget(self, still_needed: EdgesInBins | None = None) -> None:
        """Give the room of counts back that are not kept."""
        for state in self._passing:
            if state is not still_needed:
                state.counted = None
        self._passing = []

    def count(self, node: NodeBins, threads: Threads) -> None:
        known = node.state.counted
        if self._adds_up and (known is None or known.shift != node.table.shift):
            self._keep(node, self._counted(node, threads))

    def _keep(self, node: NodeBins, counted: EdgeCells) -> None:
        """Keep what was counted in a node until it is searched, and in large ones until they are split."""
        node.state.counted = counted
        if len(node.rows) < _ROWS_PER_KEPT_BIN * node.table.n_bins:
            self._passing.append(node.state)

    def _counted(self, node: NodeBins, threads: Threads) -> EdgeCells:
        n_features = node.table.matrix.shape[1]
        cells = np.zeros((n_features, node.table.n_bins, 4), dtype=np.int64)

        def count(block: slice) -> None:
            self._count(node, block.start, cells[block])

        threads.map(count, _blocks(n_features, threads))
        return EdgeCells(cells, node.table.shift)

    def _count(self, node: NodeBins, first: int, cells: Ints) -> Ints:
        """Add the edges of a node to its cells; return the vertices there that are not samples."""
        from spexplain.kernels.edges import count_edges

        state, rows, table = node
        most, vertices = 127 if self._is_small else 2**62, self.vertices_in(rows)
        others = np.zeros(cells.shape[:2], dtype=np.int64)
        near: InnerNeighbors = state.near
        codes = table.codes.T
        count_edges(codes, table.shift, first, rows, *near, most, vertices, cells, others)
        return others

    def _take(
        self,
        cells: Ints,
        own: Any,
        crossing: InnerNeighbors,
        smaller: NodeBins,
        threads: Threads,
    ) -> None:
        """Take the smaller of two parts, and the edges between them, off the cells of their parent."""
        from spexplain.kernels.edges import take_crossing

        codes, shift = smaller.table.codes.T, smaller.table.shift

        def take(block: slice) -> None:
            part = cells[block]
            part -= own[block]
            take_crossing(codes, shift, block.start, smaller.rows, *crossing, part)

        threads.map(take, _blocks(len(cells), threads))

    def border_fields(self, node: NodeBins, ranges: BinRanges, fields: Ints, caps: Floats) -> None:
        from spexplain.kernels.edges import add_up

        first, last = int(ranges.features[0]), int(ranges.features[-1]) + 1
        known: EdgeCells | None = node.state.counted
        if known is not None and known.cells is not None:
            cells = known.cells[first:last]
            others = np.zeros(cells.shape[:2], dtype=np.int64)
        else:
            cells = np.zeros((last - first, node.table.n_bins, 4), dtype=np.int64)
            others = self._count(node, first, cells)
        add_up(cells, others, fields)

    def _number_of(self, rows: Array) -> Array:
        """Return the place of every vertex among the rows of a node."""
        known = self._numbers
        if known is None or known[0] is not rows:
            number_of = np.zeros(self.n_vertices, dtype=np.int32)
            number_of[rows] = np.arange(len(rows), dtype=np.int32)
            known = self._numbers = rows, number_of
        return known[1]

    def gaps(self, node: NodeBins, wanted: WantedBins, gaps: Gaps) -> int:
        from spexplain.kernels.edges import sweep_edges

        state, rows, table = node
        features, bins, start = wanted
        near: InnerNeighbors = state.near
        n_chosen = np.full(len(features), len(rows))
        if not bins.all():
            n_chosen = np.sum(np.diff(start[:, -2], axis=1), axis=1, where=bins)
        return sweep_edges(
            table.matrix,
            table.extra,
            table.codes.T,
            table.shift,
            features,
            bins,
            rows,
            self._number_of(rows),
            *near,
            self.vertices_in(rows),
            np.append(0, np.cumsum(n_chosen)),
            start,
            *gaps,
        )


def _bins_of(table: BinnedTable) -> tuple[int, tuple[int, int, int]]:
    """Return shift and shape of the cells of a node in these bins."""
    return table.shift, (table.matrix.shape[1], table.n_bins, 4)


def _blocks(n_features: int, threads: Threads) -> list[slice]:
    """Return the features in blocks of full lanes."""
    return blocks_of(n_features, width_of_lanes(n_features, threads))


def neighbor_lists(graph: EdgeGraph) -> InnerNeighbors:
    """Return the neighbours of all vertices of a graph."""
    n_vertices = graph.n_samples + (0 if graph.extra is None else len(graph.extra))
    ends = np.r_[graph.heads, graph.tails], np.r_[graph.tails, graph.heads]
    both = sparse.csr_array((np.tile(graph.weights, 2), ends), shape=(n_vertices, n_vertices))
    return InnerNeighbors(
        both.indptr.astype(np.int64), both.indices.astype(np.int32), both.data.astype(np.int64)
    )


def edge_sums(
    order: Ints, heads: Ints, tails: Ints, weights: Ints, n_vertices: int
) -> tuple[Ints, Ints]:
    """Return, left of every gap of every order, the weight of edges with both ends and with any end there."""
    place = np.empty((len(order), n_vertices), dtype=np.int64)
    # Counting places through all orders at once lets one flat scatter serve every feature.
    np.put_along_axis(place, order, np.arange(order.size).reshape(order.shape), axis=1)
    head, tail = place[:, heads], place[:, tails]
    spread = np.broadcast_to(weights, head.shape)
    return (
        _scattered(np.maximum(head, tail), spread, order.shape),
        _scattered(np.minimum(head, tail), spread, order.shape),
    )


def _scattered(places: Ints, weights: Ints, shape: tuple[int, ...]) -> Ints:
    """Return running sums, left of every gap, of weights dropped at the given flat places."""
    dropped = np.zeros(shape, dtype=np.int64)
    np.add.at(dropped.reshape(-1), places.ravel(), weights.ravel())
    return np.cumsum(dropped[:, :-1], axis=1)
