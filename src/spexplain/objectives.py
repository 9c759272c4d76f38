"""Objectives: a graph and a formula on the sums of the left side, the right side and the node.

A formula sees only arithmetic on `Side` records, so the same lines serve every engine. Lower is
better. A formula answers NaN (or infinity) where a cut is inadmissible; the engines ignore such
cuts and silence the divisions by zero that mark them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from spexplain.graphs import CliqueGraph, Graph
from spexplain.records import Side
from spexplain.typing import LeafWeight

CutScore: TypeAlias = Callable[[Side, Side, Side], Any]  # (left, right, node) → score of the cut
LeafPriority: TypeAlias = Callable[
    [Any, Side], Any
]  # (score of the best cut, node) → turn of the leaf
LeafValue: TypeAlias = Callable[
    [Side], Any
]  # node → what it adds to the tree's objective as a leaf


def _score_itself(score: Any, node: Side) -> Any:
    return score


@dataclass(frozen=True)
class Objective:
    """What a tree minimises.

    Parameters
    ----------
    name : str
        How messages and reports call it.
    graph : Graph
        The graph whose sums the formula reads.
    score : callable (left, right, node) -> score
        Ranks the cuts of one node.
    value : callable (node) -> float
        What a leaf adds to the objective of the whole tree.
    priority : callable (score, node) -> float
        Ranks the leaves by their best cuts; by default the score itself.
    flat_if_pure : bool, default=False
        Whether all cuts of a node with samples of a single cluster score the same on paper.
        Rounding would decide there; the first valid cut is taken instead.
    """

    name: str
    graph: Graph
    score: CutScore
    value: LeafValue
    priority: LeafPriority = _score_itself
    flat_if_pure: bool = False


def conductance(side: Side) -> Any:
    """ψ(S) = e(S) / vol(S): the share of edge ends in S whose other end lies outside."""
    return (side.volume - side.inner) / side.volume


def spex(graph: Graph) -> Objective:
    """Sum of the conductances of the leaves, with volumes of the whole graph (SpEx, algorithm 1)."""

    def score(left: Side, right: Side, node: Side) -> Any:
        return conductance(left) + conductance(right)

    def priority(score: Any, node: Side) -> Any:
        return score - conductance(node)

    return Objective("spex", graph, score, conductance, priority, flat_if_pure=True)


def gini_cart(graph: CliqueGraph, leaf_weight: LeafWeight = "none") -> Objective:
    """Mean Gini impurity of the leaves (CART), from the same counts as the unit cliques.

    With `leaf_weight` "none" the leaf with the largest drop of impurity is split next, as the
    explainable clustering literature does; with "size" the drop is weighted by the leaf's samples,
    as scikit-learn does.
    """
    n_clustered = int(graph.cluster_sizes.sum())

    def score(left: Side, right: Side, node: Side) -> Any:
        return (_impurity(left) + _impurity(right)) / node.size

    def priority(score: Any, node: Side) -> Any:
        drop = score - _impurity(node) / node.size
        return drop * node.size if leaf_weight == "size" else drop

    def value(node: Side) -> Any:
        return _impurity(node) / n_clustered if node.size else 0.0

    return Objective("gini", graph, score, value, priority, flat_if_pure=True)


def volume_cart(graph: CliqueGraph, leaf_weight: LeafWeight = "none") -> Objective:
    """CART with volumes in place of sizes: the largest normalised cut of the independent-set graph of the node.

    Joins samples of *different* clusters of the node; Ψ = 2 − (2α(L)/vol(L) + 2α(R)/vol(R)) is
    maximised. Leaves are ranked by 1 − Ψ, weighted by their samples with `leaf_weight` "size". A
    pure node has no edges and no valid cut. The tree's objective is reported as the mean Gini
    impurity, comparable with `gini_cart`.
    """
    gini = gini_cart(graph)

    def score(left: Side, right: Side, node: Side) -> Any:
        return _association(left, right, node) + _association(right, left, node)

    def priority(score: Any, node: Side) -> Any:
        return (score - 1) * node.size if leaf_weight == "size" else score - 1

    return Objective("volume", graph, score, gini.value, priority)


def _squares(side: Side) -> Any:
    """Σ a_i², from unit cliques: inner = Σ a_i (a_i − 1)."""
    return side.inner + side.size


def _impurity(side: Side) -> Any:
    """Size × Gini impurity = (s² − Σ a_i²) / s."""
    return (side.size * side.size - _squares(side)) / side.size


def _association(side: Side, other: Side, node: Side) -> Any:
    """2α(S) / vol(S) in the independent-set graph of the node.

    vol(S) = s·n' − Σ a_i m_i, and Σ a_i m_i = (Σ m_i² + Σ a_i² − Σ b_i²) / 2 because m = a + b.
    """
    shared = (_squares(node) + _squares(side) - _squares(other)) // 2
    return (side.size * side.size - _squares(side)) / (side.size * node.size - shared)
