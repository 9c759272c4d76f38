"""Sums of two graphs at once, and of the clique whose edges weigh the product of their ends."""

from typing import Any

import numpy as np

from spexplain.aliases import Bools, Ints
from spexplain.graphs import PairGraph, ProductGraph
from spexplain.ledgers.base import running_sums, sweep_of
from spexplain.records import Cut, Pair, Side


@sweep_of.register(PairGraph)
class PairSweep:
    """Both graphs swept side by side. State: the states of both."""

    def __init__(self, graph: PairGraph) -> None:
        self.sweeps = sweep_of(graph.graph), sweep_of(graph.against)

    def root(self) -> tuple[Any, Any]:
        first, second = self.sweeps
        return first.root(), second.root()

    def split(
        self, state: tuple[Any, Any], members: Ints, goes_left: Bools, cut: Cut
    ) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        (left, right), (other_left, other_right) = (
            sweep.split(each, members, goes_left, cut)
            for sweep, each in zip(self.sweeps, state, strict=True)
        )
        return (left, other_left), (right, other_right)

    def node(self, state: tuple[Any, Any], members: Ints) -> Pair:
        first, second = self.sweeps
        return Pair(first.node(state[0], members), second.node(state[1], members))

    def sides(
        self, state: tuple[Any, Any], node: Pair, order: Ints, features: Ints
    ) -> tuple[Pair, Pair]:
        (left, right), (other_left, other_right) = (
            sweep.sides(each, side, order, features)
            for sweep, each, side in zip(self.sweeps, state, node, strict=True)
        )
        return Pair(left, other_left), Pair(right, other_right)

    def entries(self, state: tuple[Any, Any], n_members: int) -> int:
        return max(
            sweep.entries(each, n_members) for sweep, each in zip(self.sweeps, state, strict=True)
        )

    def is_pure(self, state: tuple[Any, Any]) -> bool:
        return False


@sweep_of.register(ProductGraph)
class ProductSweep:
    """Edge weights d(x)·d(y): inner weight is the square of a sum. No state."""

    def __init__(self, graph: ProductGraph) -> None:
        self.masses, self.squares = graph.masses, graph.masses**2
        self.degrees, self.sizes = graph.degrees, graph.sizes

    def root(self) -> None:
        return

    def split(self, state: None, members: Ints, goes_left: Bools, cut: Cut) -> tuple[None, None]:
        return None, None

    def node(self, state: None, members: Ints) -> Side:
        mass, squares = np.sum(self.masses[members]), np.sum(self.squares[members])
        return Side(
            mass * mass - squares, np.sum(self.degrees[members]), np.sum(self.sizes[members])
        )

    def sides(self, state: None, node: Side, order: Ints, features: Ints) -> tuple[Side, Side]:
        members = order[0]
        mass, squares = running_sums(self.masses, order), running_sums(self.squares, order)
        other_mass = np.sum(self.masses[members]) - mass
        other_squares = np.sum(self.squares[members]) - squares
        volume, size = running_sums(self.degrees, order), running_sums(self.sizes, order)
        left = Side(mass * mass - squares, volume, size)
        right_inner = other_mass * other_mass - other_squares
        return left, Side(right_inner, node.volume - volume, node.size - size)

    def entries(self, state: None, n_members: int) -> int:
        return n_members

    def is_pure(self, state: None) -> bool:
        return False
