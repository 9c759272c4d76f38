"""Sums of the leaves that change when rows of one node move from their right leaf to their left leaf.

The ledger of the graph says what the sums of a leaf are; here they are followed from move to move.
"""

from dataclasses import dataclass
from functools import singledispatch
from threading import local
from typing import Protocol

import numpy as np

from spexplain.aliases import Array, Bools, Floats, Ints
from spexplain.ledgers import (
    CostLedger,
    EdgeLedger,
    LabelLedger,
    Ledger,
    MembershipLedger,
    PairLedger,
    StarLedger,
)


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


@singledispatch
def walk_of(ledger: Ledger, moves: NodeMoves) -> Walk:
    """Return the moves of one node by the kind of its ledger; register further kinds with ``@walk_of.register``."""
    raise TypeError(
        f'refine="objective" is not supported for a graph of the kind {type(ledger.graph).__name__}; use '
        'refine="agreement" or another goal.'
    )


def check_walk(ledger: Ledger) -> None:
    """Refuse a ledger whose moves cannot be followed, before anything is summed up."""
    if walk_of.dispatch(type(ledger)) is walk_of.dispatch(object):
        walk_of(
            ledger, NodeMoves(*(np.zeros(0, dtype=np.int64),) * 4, 0, np.zeros(0, dtype=np.int64))
        )


@walk_of.register(LabelLedger)
class LabelWalk:
    """Cliques: the sums follow from the table of leaves × clusters."""

    def __init__(self, ledger: LabelLedger, moves: NodeMoves) -> None:
        n_columns = ledger.n_labels
        codes = ledger.labels[moves.members].astype(np.int64)
        self.table = ledger.counts_by_leaf(moves.right, codes, moves.n_leaves)
        self.start = ledger.sums(self.table)
        left, right = (way * n_columns + codes for way in (moves.left, moves.right))
        n_cells = moves.n_leaves * n_columns
        self.cells = packed(len(ledger.labels), moves.members, left, right, n_cells)
        self.leaf_of_cell = np.repeat(np.arange(moves.n_leaves, dtype=np.int32), n_columns)
        self.per_cell = np.tile(ledger.per_cluster, (1, moves.n_leaves))
        self.need = moves.need

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


def packed(n_rows: int, rows: Ints, into: Ints, out: Ints, n_cells: int) -> Array:
    """Return left and right cell of some rows in one number each, as narrow as their count allows."""
    half, dtype = (16, np.uint32) if n_cells <= 1 << 16 else (32, np.uint64)
    cells = np.zeros(n_rows, dtype=dtype)
    cells[rows] = (into << half) | out
    return cells


@walk_of.register(EdgeLedger)
@walk_of.register(StarLedger)
class EdgeWalk:
    """Listed edges: a move changes the inner weights by the mover's edges to both leaves.

    Extra vertices stay where they are.
    """

    def __init__(self, ledger: EdgeLedger | StarLedger, moves: NodeMoves) -> None:
        self.ledger, self.moves = ledger, moves
        self.routes = np.full((2, ledger.n_vertices), -1, dtype=np.int32)
        self.routes[:, moves.members] = moves.left, moves.right
        self.places = np.full(ledger.n_vertices, -1, dtype=np.int32)
        self.places[moves.members] = moves.now
        is_sample = moves.members < ledger.graph.n_samples
        right = self.places.copy()
        right[moves.members[is_sample]] = moves.right[is_sample]
        self.start = ledger.leaf_sums(right, moves.n_leaves)
        self.rows = np.bincount(moves.right[is_sample], minlength=moves.n_leaves)

    def walk(self, orders: Array) -> MoveSums:
        """Return the sums after every move along every order."""
        from spexplain.kernels.refine import edge_moves

        moved = MoveSums(orders.shape)
        edge_moves(
            orders,
            self.routes,
            self.places,
            self.ledger.neighbors,
            self.ledger.moved,
            self.ledger.graph.n_samples,
            self.start,
            self.rows,
            self.moves.need,
            int(np.sum(self.rows < self.moves.need)),
            moved.leaves,
            moved.sums,
            moved.valid,
        )
        return moved


@walk_of.register(CostLedger)
@walk_of.register(MembershipLedger)
class AmountWalk:
    """Amounts of the leaves, added up: the costs of serving them from every centre, or what each cluster has."""

    def __init__(self, ledger: CostLedger | MembershipLedger, moves: NodeMoves) -> None:
        self.costs, self.need = np.ascontiguousarray(ledger.amounts, dtype=np.int64), moves.need
        self.routes = np.full((2, len(self.costs)), -1, dtype=np.int32)
        self.routes[:, moves.members] = moves.left, moves.right
        self.start = np.ascontiguousarray(ledger.leaf_sums(self.routes[1], moves.n_leaves))
        self.rows = np.bincount(moves.right, minlength=moves.n_leaves)

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


@walk_of.register(PairLedger)
def _(ledger: PairLedger, moves: NodeMoves) -> Walk:
    """Two graphs: leaves are valued by the first alone."""
    return walk_of(ledger.both[0], moves)
