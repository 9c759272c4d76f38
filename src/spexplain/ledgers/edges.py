"""Sums of listed edges."""

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
from spexplain.ledgers.bins import BinRanges, Gaps, NodeBins, WantedBins
from spexplain.records import Cut, Side


class InnerEdges(NamedTuple):
    """The edges with both ends in a node, by their numbers."""

    edges: Ints


class InnerNeighbors(NamedTuple):
    """The neighbours, inside a node, of its rows: those of ``rows[i]`` from ``indptr[i]`` on."""

    indptr: Ints
    neighbors: Array
    weights: Array


@ledger_of.register(SparseGraph)
class EdgeLedger(SideLedger):
    """The ledger of sparse graphs.

    An edge joins the left side at its later end and leaves the right side at its earlier end. State:
    `InnerEdges` or, for bins, `InnerNeighbors`.

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

    def root(self, *, for_bins: bool = False) -> InnerEdges | InnerNeighbors:
        if not for_bins:
            return InnerEdges(np.arange(len(self.heads)))
        from spexplain.kernels.neighbors import list_neighbors

        indptr = np.empty(self.n_vertices + 1, dtype=np.int64)
        neighbors = np.empty(2 * len(self.heads), dtype=np.int32)
        weights = np.empty(2 * len(self.heads), dtype=self._weight_type)
        list_neighbors(self.heads, self.tails, self.graph.weights, indptr, neighbors, weights)
        return InnerNeighbors(indptr, neighbors, weights)

    @property
    def _weight_type(self) -> Any:
        return np.uint8 if self._is_small else np.int64

    def split(
        self, state: InnerEdges | InnerNeighbors, members: Array, is_left: Bools, cut: Cut
    ) -> tuple[Any, Any]:
        part_of = np.full(self.n_vertices, -1, dtype=np.int8)
        part_of[members] = is_left
        if isinstance(state, InnerEdges):
            head, tail = (part_of[ends[state.edges]] == 1 for ends in (self.heads, self.tails))
            return InnerEdges(state.edges[head & tail]), InnerEdges(state.edges[~(head | tail)])
        return (
            self._part(state, members, part_of, 1, is_left),
            self._part(state, members, part_of, 0, ~is_left),
        )

    def group_profiles(self, state: Any, members: Array, groups: Ints, n_groups: int) -> Ints:
        """Return the weight of the edges between every two groups, each counted at both ends."""
        group_of = np.zeros(self.n_vertices, dtype=np.int64)
        group_of[members] = groups
        if isinstance(state, InnerEdges):
            first, last = group_of[self.heads[state.edges]], group_of[self.tails[state.edges]]
            weights = self.graph.weights[state.edges]
        else:
            first = np.repeat(groups, np.diff(state.indptr))
            last, weights = group_of[state.neighbors], state.weights
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
        self, state: InnerNeighbors, rows: Array, part_of: Array, part: int, is_inside: Bools
    ) -> InnerNeighbors:
        from spexplain.kernels.neighbors import keep_neighbors

        indptr = np.empty(np.count_nonzero(is_inside) + 1, dtype=np.int64)
        # Room for the neighbours in the other part too: they are few.
        room = int(np.sum(np.diff(state.indptr), where=is_inside))
        neighbors, weights = np.empty(room, dtype=np.int32), np.empty(room, dtype=self._weight_type)
        keep_neighbors(rows, *state, part_of, part, indptr, neighbors, weights)
        return InnerNeighbors(indptr, neighbors[: indptr[-1]], weights[: indptr[-1]])

    def node(self, state: InnerEdges | InnerNeighbors, members: Array) -> Side:
        if isinstance(state, InnerEdges):
            inner = np.sum(self.twice_weights[state.edges])
        else:
            inner = np.sum(state.weights, dtype=np.int64)
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

    def border_fields(self, node: NodeBins, ranges: BinRanges, fields: Ints, caps: Floats) -> None:
        from spexplain.kernels.edges import scan_edges

        state, rows, table = node
        first, last = int(ranges.features[0]), int(ranges.features[-1]) + 1
        inside: InnerNeighbors = state
        most = 127 if self._is_small else 2**62
        vertices = self.vertices_in(rows)
        scan_edges(table.codes.T, table.shift, first, last, rows, *inside, most, vertices, fields)

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
        inside: InnerNeighbors = state
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
            *inside,
            self.vertices_in(rows),
            np.append(0, np.cumsum(n_chosen)),
            start,
            *gaps,
        )


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
