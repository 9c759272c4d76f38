"""Moves between leaves on graphs of listed edges, with or without extra vertices."""

from typing import Any

import numpy as np
from scipy import sparse

from spexplain.aliases import Array, Ints
from spexplain.graphs import EdgeGraph, SparseGraph, StarGraph
from spexplain.records import Side
from spexplain.refine.moves import Crossroads, Moved, Moves, moves_of


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

    def sweep(self, at: Crossroads) -> "EdgeSweep":
        """Return the moves of one node."""
        return EdgeSweep(self, at)


class EdgeSweep:
    """The moves of one node, by walking the edges of its rows; extra vertices stay where they are."""

    def __init__(self, moves: EdgeMoves, at: Crossroads) -> None:
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

    def walk(self, orders: Array) -> Moved:
        """Return the sums after every move along every order."""
        from spexplain.kernels.refine import edge_moves

        moved = Moved(orders.shape)
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
