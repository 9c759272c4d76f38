"""CART: leaves of one cluster, measured by the Gini impurity or its form with volumes."""

from typing import Any

from spexplain.aliases import LeafWeight
from spexplain.graphs import CliqueGraph, MembershipGraph
from spexplain.objectives.base import Objective, compilable
from spexplain.records import Side


@compilable
def mean_impurity(left: Side, right: Side, node: Side) -> Any:
    """Score of a cut: the mean Gini impurity of both sides."""
    return (impurity(left) + impurity(right)) / node.size


@compilable
def associations(left: Side, right: Side, node: Side) -> Any:
    """Score of a cut in the independent-set graph: the shares of edge ends that stay inside, added."""
    return association(left, right, node) + association(right, left, node)


def gini_cart(graph: CliqueGraph | MembershipGraph, leaf_weight: LeafWeight = "size") -> Objective:
    """Mean Gini impurity of the leaves (CART), from the same counts as the unit cliques.

    With `leaf_weight` "size" the leaf whose drop of impurity, weighted by its samples, is largest is
    split next, as scikit-learn does; with "none" the drop counts as it is, as in the tables of the
    literature on explainable clustering.
    """
    n_clustered = int(graph.cluster_sizes.sum())

    def priority(score: Any, node: Side) -> Any:
        drop = score - impurity(node) / node.size
        return drop * node.size if leaf_weight == "size" else drop

    def value(node: Side) -> Any:
        return impurity(node) / n_clustered

    trend = Side(inner=-1, volume=0, size=1)
    return Objective("gini", graph, mean_impurity, value, priority, flat_if_pure=True, trend=trend)


def volume_cart(
    graph: CliqueGraph | MembershipGraph, leaf_weight: LeafWeight = "size"
) -> Objective:
    """CART with volumes in place of sizes: the largest normalised cut of the independent-set graph of the node.

    Joins samples of *different* clusters of the node; Ψ = 2 − (2α(L)/vol(L) + 2α(R)/vol(R)) is
    maximised. Leaves are ranked by 1 − Ψ, weighted by their samples with `leaf_weight` "size". A
    pure node has no edges and no valid cut. The tree's objective is reported as the mean Gini
    impurity, comparable with `gini_cart`.
    """
    gini = gini_cart(graph)

    def priority(score: Any, node: Side) -> Any:
        return (score - 1) * node.size if leaf_weight == "size" else score - 1

    # It rises with the sets: smaller sides hold fewer pairs of different clusters. Both fields that say
    # how many are then taken from the smaller side, so each alone need not have this trend.
    trend = Side(inner=1, volume=0, size=1)
    return Objective("volume", graph, associations, gini.value, priority, trend=trend)


@compilable
def squares(side: Side) -> Any:
    """Σ a_i², from unit cliques: inner = Σ a_i (a_i − 1)."""
    return side.inner + side.size


@compilable
def impurity(side: Side) -> Any:
    """Size × Gini impurity = (s² − Σ a_i²) / s."""
    return differing(side) / side.size


@compilable
def differing(side: Side) -> Any:
    """2α(S) = s² − Σ a_i²: ordered pairs of samples of different clusters."""
    return side.size * side.size - squares(side)


@compilable
def association(side: Side, other: Side, node: Side) -> Any:
    """2α(S) / vol(S) in the independent-set graph of the node.

    vol(S) = 2α(S) + e, and e, the edges between the sides, are those of the node less those within
    either: 2e = 2α(node) − 2α(S) − 2α(other).
    """
    volume = (differing(node) + differing(side) - differing(other)) // 2
    return differing(side) / volume
