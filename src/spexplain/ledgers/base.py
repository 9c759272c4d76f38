"""What a sweep does: prefix sums along sorted orders, vectorised over features, in exact integers."""

from functools import singledispatch
from typing import Any, Protocol

import numpy as np

from spexplain.aliases import Array, Bools, Ints
from spexplain.graphs import Graph
from spexplain.records import Cut


class Sweep(Protocol):
    """How the sums of one kind of graph follow from an order of a node's vertices.

    What it remembers of a node, its `state`, is opaque to the engine.
    """

    def root(self) -> Any:
        """Return the state of the node of all vertices."""

    def split(self, state: Any, members: Ints, goes_left: Bools, cut: Cut) -> tuple[Any, Any]:
        """Return the states of both parts of the node of these members."""

    def node(self, state: Any, members: Ints) -> Any:
        """Return the record of sums over the whole node."""

    def sides(self, state: Any, node: Any, order: Ints, features: Ints) -> tuple[Any, Any]:
        """Return the records left and right of every gap of every order.

        Row r of `order` holds the node's vertices sorted by column ``features[r]``; the fields of a
        record have shape (n_orders, n_members - 1).
        """

    def entries(self, state: Any, n_members: int) -> int:
        """Return the length of the longest array that `sides` makes per order."""

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
