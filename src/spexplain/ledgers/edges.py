"""Sums of listed edges."""

from typing import NamedTuple

import numpy as np

from spexplain.aliases import Bools, Ints
from spexplain.graphs import EdgeGraph, SparseGraph, StarGraph
from spexplain.ledgers.base import running_sums, sweep_of
from spexplain.records import Cut, Side


class EdgeState(NamedTuple):
    """What is remembered of a node."""

    edges: Ints  # numbers of the edges with both ends in it
    sizes: Ints  # what each vertex of the graph adds to `Side.size` here


@sweep_of.register(SparseGraph)
@sweep_of.register(StarGraph)
class EdgeSweep:
    """Listed edges: each joins the left side at its later end and leaves the right side at its earlier end."""

    def __init__(self, graph: EdgeGraph) -> None:
        self.graph = graph
        self.heads, self.tails = graph.heads, graph.tails
        self.twice_weights = 2 * graph.weights
        self.degrees = graph.degrees

    def root(self) -> EdgeState:
        everything = np.arange(len(self.degrees))
        return EdgeState(np.arange(len(self.heads)), self.graph.sizes_in(everything))

    def split(
        self, state: EdgeState, members: Ints, goes_left: Bools, cut: Cut
    ) -> tuple[EdgeState, EdgeState]:
        edges, is_left = state.edges, goes_left[members]
        head, tail = goes_left[self.heads[edges]], goes_left[self.tails[edges]]
        return (
            EdgeState(edges[head & tail], self.graph.sizes_in(members[is_left])),
            EdgeState(edges[~(head | tail)], self.graph.sizes_in(members[~is_left])),
        )

    def node(self, state: EdgeState, members: Ints) -> Side:
        inner = np.sum(self.twice_weights[state.edges])
        return Side(inner, np.sum(self.degrees[members]), np.sum(state.sizes[members]))

    def sides(self, state: EdgeState, node: Side, order: Ints, features: Ints) -> tuple[Side, Side]:
        n_orders, n_members = order.shape
        place = np.empty((n_orders, len(self.degrees)), dtype=np.int64)
        # Counting places through all orders at once lets one flat scatter serve every feature.
        places = np.arange(n_orders * n_members).reshape(n_orders, n_members)
        np.put_along_axis(place, order, places, axis=1)
        head, tail = place[:, self.heads[state.edges]], place[:, self.tails[state.edges]]
        weights = np.broadcast_to(self.twice_weights[state.edges], head.shape)
        joined = _scattered(np.maximum(head, tail), weights, order.shape)
        parted = _scattered(np.minimum(head, tail), weights, order.shape)
        volume = running_sums(self.degrees, order)
        size = running_sums(state.sizes, order)
        left = Side(joined, volume, size)
        return left, Side(node.inner - parted, node.volume - volume, node.size - size)

    def entries(self, state: EdgeState, n_members: int) -> int:
        return n_members + len(state.edges)

    def is_pure(self, state: EdgeState) -> bool:
        return False


def _scattered(places: Ints, weights: Ints, shape: tuple[int, ...]) -> Ints:
    """Return running sums, left of every gap, of weights dropped at the given flat places."""
    dropped = np.zeros(shape, dtype=np.int64)
    np.add.at(dropped.reshape(-1), places.ravel(), weights.ravel())
    return np.cumsum(dropped[:, :-1], axis=1)
