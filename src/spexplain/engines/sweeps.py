"""Prefix sums along sorted orders, one class per kind of graph: vectorised over features, all in exact integers."""

from functools import singledispatch
from typing import Any, Protocol

import numpy as np

from spexplain.graphs import CliqueGraph, EdgeGraph, Graph, SparseGraph, StarGraph
from spexplain.records import Side
from spexplain.typing import Array, Bools, Ints


class Sweep(Protocol):
    """How the sums of one kind of graph follow from an order of a node's vertices.

    What it remembers of a node, its `state`, is opaque to the engine.
    """

    def root(self) -> Any:
        """Return the state of the node of all vertices."""

    def split(self, state: Any, members: Ints, goes_left: Bools) -> tuple[Any, Any]:
        """Return the states of both parts of the node of these members."""

    def node(self, state: Any, members: Ints) -> Side:
        """Return the sums over the whole node."""

    def sides(self, state: Any, node: Side, order: Ints) -> tuple[Side, Side]:
        """Return the sums left and right of every gap of every order, shape (n_orders, n_members - 1)."""

    def is_pure(self, state: Any) -> bool:
        """Whether all counted samples of the node belong to one cluster."""


@singledispatch
def sweep_of(graph: Graph) -> Sweep:
    """Return the sweep for a graph's type; register further types with ``@sweep_of.register``."""
    raise TypeError(
        f"No sweep is known for graphs of type {type(graph).__name__}; register one with sweep_of.register, or give "
        "the graph as a SparseGraph."
    )


def running_sums(amounts: Array, order: Ints) -> Ints:
    """Return the sums of `amounts` left of every gap of every order."""
    return np.cumsum(amounts[order[:, :-1]], axis=1, dtype=np.int64)


class LabelSweep:
    """Cliques: counting labels replaces walking edges. State: samples of each cluster in the node."""

    def __init__(self, graph: CliqueGraph) -> None:
        n_clusters = graph.n_clusters
        # Isolated samples become one more cluster whose edges weigh nothing. Few bits make the
        # stable sort a radix sort.
        labels = np.where(graph.labels < 0, n_clusters, graph.labels)
        self.labels = labels.astype(np.min_scalar_type(n_clusters))
        self.weights = np.append(graph.weights, 0)
        self.degrees = graph.degrees
        self.sizes = graph.sizes
        self.cluster_degrees = np.append(graph.weights * (graph.cluster_sizes - 1), 0)

    def root(self) -> Ints:
        return self._count(np.arange(len(self.labels)))

    def _count(self, members: Ints) -> Ints:
        return np.bincount(self.labels[members], minlength=len(self.weights)).astype(np.int64)

    def split(self, state: Ints, members: Ints, goes_left: Bools) -> tuple[Ints, Ints]:
        left = self._count(members[goes_left[members]])
        return left, state - left

    def node(self, state: Ints, members: Ints) -> Side:
        inner = np.sum(self.weights * state * (state - 1))
        return Side(inner, np.sum(self.cluster_degrees * state), np.sum(state[:-1]))

    def sides(self, state: Ints, node: Side, order: Ints) -> tuple[Side, Side]:
        labels = self.labels[order]
        by_cluster = np.argsort(labels, axis=1, kind="stable")
        # Grouped by cluster, the t-th sample of a cluster meets t earlier ones; the same row serves
        # every feature.
        first = np.repeat(np.cumsum(state) - state, state)
        n_earlier_grouped = np.arange(order.shape[1]) - first
        n_earlier = np.empty(order.shape, dtype=np.int64)
        np.put_along_axis(n_earlier, by_cluster, n_earlier_grouped[None, :], axis=1)
        n_earlier, labels = n_earlier[:, :-1], labels[:, :-1]
        twice_weight = 2 * self.weights[labels]
        joined = np.cumsum(twice_weight * n_earlier, axis=1)
        parted = np.cumsum(twice_weight * (state[labels] - 1 - n_earlier), axis=1)
        volume = running_sums(self.degrees, order)
        size = running_sums(self.sizes, order)
        left = Side(joined, volume, size)
        return left, Side(node.inner - parted, node.volume - volume, node.size - size)

    def is_pure(self, state: Ints) -> bool:
        return bool(np.count_nonzero(state[:-1]) <= 1)


class EdgeSweep:
    """Listed edges: each joins the left side at its later end and leaves the right side at its earlier end.

    State: numbers of the edges with both ends in the node.
    """

    def __init__(self, graph: EdgeGraph) -> None:
        self.heads, self.tails = graph.heads, graph.tails
        self.twice_weights = 2 * graph.weights
        self.degrees, self.sizes = graph.degrees, graph.sizes

    def root(self) -> Ints:
        return np.arange(len(self.heads))

    def split(self, state: Ints, members: Ints, goes_left: Bools) -> tuple[Ints, Ints]:
        head, tail = goes_left[self.heads[state]], goes_left[self.tails[state]]
        return state[head & tail], state[~(head | tail)]

    def node(self, state: Ints, members: Ints) -> Side:
        inner = np.sum(self.twice_weights[state])
        return Side(inner, np.sum(self.degrees[members]), np.sum(self.sizes[members]))

    def sides(self, state: Ints, node: Side, order: Ints) -> tuple[Side, Side]:
        n_orders, n_members = order.shape
        place = np.empty((n_orders, len(self.degrees)), dtype=np.int64)
        # Counting places through all orders at once lets one flat scatter serve every feature.
        places = np.arange(n_orders * n_members).reshape(n_orders, n_members)
        np.put_along_axis(place, order, places, axis=1)
        head, tail = place[:, self.heads[state]], place[:, self.tails[state]]
        weights = np.broadcast_to(self.twice_weights[state], head.shape)
        joined = _scattered(np.maximum(head, tail), weights, order.shape)
        parted = _scattered(np.minimum(head, tail), weights, order.shape)
        volume = running_sums(self.degrees, order)
        size = running_sums(self.sizes, order)
        left = Side(joined, volume, size)
        return left, Side(node.inner - parted, node.volume - volume, node.size - size)

    def is_pure(self, state: Ints) -> bool:
        return False


def _scattered(places: Ints, weights: Ints, shape: tuple[int, ...]) -> Ints:
    """Return running sums, left of every gap, of weights dropped at the given flat places."""
    dropped = np.zeros(shape, dtype=np.int64)
    np.add.at(dropped.reshape(-1), places.ravel(), weights.ravel())
    return np.cumsum(dropped[:, :-1], axis=1)


@sweep_of.register
def _(graph: CliqueGraph) -> Sweep:
    return LabelSweep(graph)


@sweep_of.register(SparseGraph)
@sweep_of.register(StarGraph)
def _(graph: EdgeGraph) -> Sweep:
    return EdgeSweep(graph)
