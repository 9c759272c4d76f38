"""Sums of the leaves that change when rows of one node move from their right leaf to their left leaf."""

from dataclasses import dataclass
from functools import singledispatch
from threading import local
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from spexplain.aliases import Array, Bools, Floats, Ints
from spexplain.graphs import (
    CenterCosts,
    CliqueGraph,
    EdgeGraph,
    Graph,
    PairGraph,
    SparseGraph,
    StarGraph,
)
from spexplain.records import Costs, Pair, Side


@dataclass(frozen=True, eq=False)
class NodeMoves:
    """The vertices of a node and the two leaves that each could reach; leaves count from the node's first."""

    members: Ints
    left: Ints
    right: Ints
    now: Ints
    n_leaves: int
    need: Ints  # samples that each leaf must have


class MoveSums:
    """What kernels write about every move along every order of a block.

    Big arrays are dear to get from the system again and again: a thread uses its own ones anew.
    """

    def __init__(self, shape: tuple[int, ...], n_sums: int = 3) -> None:
        n_orders, n_members = shape
        size = n_orders * n_members
        self.leaves: Array = _buffer("leaves", 2 * size, np.int32).reshape(2, *shape)
        self.sums: Floats = _buffer("sums", 2 * n_sums * size, np.float64).reshape(
            n_sums, 2, *shape
        )
        self.valid: Bools = _buffer("valid", size, np.bool_).reshape(shape)


_own = local()


def _buffer(name: str, size: int, dtype: type) -> Array:
    """Return the thread's array of that name, of unknown content."""
    known: Array | None = getattr(_own, name, None)
    if known is None or len(known) < size:
        known = np.zeros(size, dtype=dtype)
        setattr(_own, name, known)
    return known[:size]


class Walk(Protocol):
    """The moves of one node's vertices."""

    @property
    def start(self) -> Ints:
        """Sums of the node's leaves while all vertices are right, shape (n_sums, n_leaves)."""

    def walk(self, orders: Array) -> MoveSums:
        """Return the sums after every move along every order."""


class Moves(Protocol):
    """How the sums of one kind of graph change when vertices move between leaves."""

    def leaf_sums(self, labels: Array, n_leaves: int) -> Ints:
        """Return the sums of every leaf, shape (n_sums, n_leaves)."""

    def record(self, sums: Array) -> Any:
        """Return sums as the record that the objective's formulas read."""

    def sweep(self, at: NodeMoves) -> Walk:
        """Return the moves of one node."""


@singledispatch
def moves_of(graph: Graph) -> Moves:
    """Return the moves for a graph's type; register further types with ``@moves_of.register``."""
    raise TypeError(
        f'Refining the objective of a {type(graph).__name__} is not supported; use refine="agreement" instead.'
    )


class LabelMoves:
    """Cliques: the sums follow from the table of leaves × clusters."""

    def __init__(self, graph: CliqueGraph) -> None:
        k = graph.n_clusters
        self.codes = np.where(graph.labels < 0, k, graph.labels)
        # Rows of no cluster fill one more column, whose edges weigh nothing.
        self.per_cluster = np.zeros((3, k + 1), dtype=np.int64)
        self.per_cluster[0, :k] = graph.weights
        self.per_cluster[1, :k] = graph.weights * (graph.cluster_sizes - 1)
        self.per_cluster[2, :k] = 1

    def leaf_sums(self, labels: Array, n_leaves: int) -> Ints:
        """Return the sums of every leaf."""
        return self.table_sums(self.table(labels, self.codes, n_leaves))

    def table(self, labels: Array, codes: Ints, n_leaves: int) -> Ints:
        """Return the table of leaves × clusters of some rows."""
        n_columns = self.per_cluster.shape[1]
        counts = np.bincount(labels * n_columns + codes, minlength=n_leaves * n_columns)
        return counts.reshape(n_leaves, n_columns)

    def table_sums(self, table: Ints) -> Ints:
        """Return inner, volume and size of the leaves of a table."""
        weight, degree, size = self.per_cluster
        return np.stack([table * (table - 1) @ weight, table @ degree, table @ size])

    def record(self, sums: Array) -> Side:
        """Return inner, volume and size."""
        return Side(*sums)

    def sweep(self, at: NodeMoves) -> "LabelWalk":
        """Return the moves of one node."""
        return LabelWalk(self, at)


class LabelWalk:
    """The moves of one node, by counting labels."""

    def __init__(self, moves: LabelMoves, at: NodeMoves) -> None:
        n_columns = moves.per_cluster.shape[1]
        codes = moves.codes[at.members]
        self.table = moves.table(at.right, codes, at.n_leaves)
        self.start = moves.table_sums(self.table)
        left, right = (way * n_columns + codes for way in (at.left, at.right))
        n_cells = at.n_leaves * n_columns
        self.cells = packed(len(moves.codes), at.members, left, right, n_cells)
        self.leaf_of_cell = np.repeat(np.arange(at.n_leaves, dtype=np.int32), n_columns)
        self.per_cell = np.tile(moves.per_cluster, (1, at.n_leaves))
        self.need = at.need

    def walk(self, orders: Array) -> MoveSums:
        """Return the sums after every move along every order."""
        from spexplain.kernels.refine import label_moves

        moved, rows = MoveSums(orders.shape), self.table.sum(axis=1)
        label_moves(
            orders,
            self.cells,
            self.leaf_of_cell,
            self.per_cell,
            self.table.ravel(),
            self.start,
            rows,
            self.need,
            int(np.sum(rows < self.need)),
            moved.leaves,
            moved.sums,
            moved.valid,
        )
        return moved


class PairMoves:
    """Two graphs: leaves are valued by the first alone."""

    def __init__(self, graph: PairGraph) -> None:
        self.first = moves_of(graph.graph)

    def leaf_sums(self, labels: Array, n_leaves: int) -> Ints:
        """Return the sums of the first graph for every leaf."""
        return self.first.leaf_sums(labels, n_leaves)

    def record(self, sums: Array) -> Pair:
        """Return the sums of the first graph; those of the second are not followed."""
        nothing = np.full(sums.shape[1:], np.nan)
        return Pair(self.first.record(sums), Side(nothing, nothing, nothing))

    def sweep(self, at: NodeMoves) -> Walk:
        """Return the moves of one node."""
        return self.first.sweep(at)


@moves_of.register
def _(graph: CliqueGraph) -> Moves:
    return LabelMoves(graph)


@moves_of.register
def _(graph: PairGraph) -> Moves:
    return PairMoves(graph)


def packed(n_rows: int, rows: Ints, into: Ints, out: Ints, n_cells: int) -> Array:
    """Return left and right cell of some rows in one number each, as narrow as their count allows."""
    half, dtype = (16, np.uint32) if n_cells <= 1 << 16 else (32, np.uint64)
    cells = np.zeros(n_rows, dtype=dtype)
    cells[rows] = (into << half) | out
    return cells


class EdgeMoves:
    """Listed edges: a move changes the inner weights by the mover's edges to both leaves."""

    def __init__(self, graph: EdgeGraph) -> None:
        self.heads, self.tails, self.weights = graph.heads, graph.tails, graph.weights
        self.n_samples = graph.n_samples
        n_vertices = len(graph.degrees)
        self.per_vertex = np.stack([graph.degrees, graph.sizes])
        ends = np.r_[self.heads, self.tails], np.r_[self.tails, self.heads]
        both = sparse.csr_array((np.tile(self.weights, 2), ends), shape=(n_vertices, n_vertices))
        self.edges: tuple[Any, Any, Any] = (
            both.indptr.astype(np.int64),
            both.indices.astype(np.int32),
            both.data.astype(np.int64),
        )

    def leaf_sums(self, labels: Array, n_leaves: int) -> Ints:
        """Return the sums of every leaf; vertices with label -1 are in none."""
        sums = np.zeros((3, n_leaves), dtype=np.int64)
        head, tail = labels[self.heads], labels[self.tails]
        inside = (head == tail) & (head >= 0)
        np.add.at(sums[0], head[inside], 2 * self.weights[inside])
        known = labels >= 0
        for field in (0, 1):
            np.add.at(sums[field + 1], labels[known], self.per_vertex[field, known])
        return sums

    def record(self, sums: Array) -> Side:
        """Return inner, volume and size."""
        return Side(*sums)

    def sweep(self, at: NodeMoves) -> "EdgeWalk":
        """Return the moves of one node."""
        return EdgeWalk(self, at)


class EdgeWalk:
    """The moves of one node, by walking the edges of its rows; extra vertices stay where they are."""

    def __init__(self, moves: EdgeMoves, at: NodeMoves) -> None:
        n_vertices = moves.per_vertex.shape[1]
        self.moves, self.at = moves, at
        self.routes = np.full((2, n_vertices), -1, dtype=np.int32)
        self.routes[:, at.members] = at.left, at.right
        self.places = np.full(n_vertices, -1, dtype=np.int32)
        self.places[at.members] = at.now
        is_sample = at.members < moves.n_samples
        right = self.places.copy()
        right[at.members[is_sample]] = at.right[is_sample]
        self.start = moves.leaf_sums(right, at.n_leaves)
        self.rows = np.bincount(at.right[is_sample], minlength=at.n_leaves)

    def walk(self, orders: Array) -> MoveSums:
        """Return the sums after every move along every order."""
        from spexplain.kernels.refine import edge_moves

        moved = MoveSums(orders.shape)
        edge_moves(
            orders,
            self.routes,
            self.places,
            self.moves.edges,
            self.moves.per_vertex,
            self.moves.n_samples,
            self.start,
            self.rows,
            self.at.need,
            int(np.sum(self.rows < self.at.need)),
            moved.leaves,
            moved.sums,
            moved.valid,
        )
        return moved


@moves_of.register(SparseGraph)
@moves_of.register(StarGraph)
def _(graph: EdgeGraph) -> Moves:
    return EdgeMoves(graph)


class CostMoves:
    """Costs of serving leaves from centres: one sum per centre."""

    def __init__(self, graph: CenterCosts) -> None:
        self.costs = np.ascontiguousarray(graph.costs, dtype=np.int64)

    def leaf_sums(self, labels: Array, n_leaves: int) -> Ints:
        """Return the cost of serving every leaf from each centre."""
        sums = np.zeros((n_leaves, self.costs.shape[1]), dtype=np.int64)
        np.add.at(sums, labels, self.costs)
        return sums.T

    def record(self, sums: Array) -> Costs:
        """Return the costs with the centres on the last axis."""
        return Costs(np.moveaxis(sums, 0, -1))

    def sweep(self, at: NodeMoves) -> "CostWalk":
        """Return the moves of one node."""
        return CostWalk(self, at)


class CostWalk:
    """The moves of one node, by adding up costs."""

    def __init__(self, moves: CostMoves, at: NodeMoves) -> None:
        self.costs, self.need = moves.costs, at.need
        self.routes = np.full((2, len(moves.costs)), -1, dtype=np.int32)
        self.routes[:, at.members] = at.left, at.right
        sums = np.zeros((at.n_leaves, self.costs.shape[1]), dtype=np.int64)
        np.add.at(sums, at.right, self.costs[at.members])
        self.start = np.ascontiguousarray(sums.T)
        self.rows = np.bincount(at.right, minlength=at.n_leaves)

    def walk(self, orders: Array) -> MoveSums:
        """Return the sums after every move along every order."""
        from spexplain.kernels.refine import cost_moves

        moved = MoveSums(orders.shape, len(self.start))
        cost_moves(
            orders,
            self.routes,
            self.costs,
            self.start,
            self.rows,
            self.need,
            int(np.sum(self.rows < self.need)),
            moved.leaves,
            moved.sums,
            moved.valid,
        )
        return moved


@moves_of.register
def _(graph: CenterCosts) -> Moves:
    return CostMoves(graph)
