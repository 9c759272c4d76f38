"""Few parted edges, over something that rewards parting centres or another graph: IMM, EMN, any pair of graphs."""

from typing import Any, Literal, TypeAlias

import numpy as np

from spexplain.graphs import PairGraph, StarGraph
from spexplain.graphs.kernel import SurrogateStar
from spexplain.objectives.base import LeafValue, Objective, compilable
from spexplain.records import Pair, Side

Denominator: TypeAlias = Literal["min", "product"]


@compilable
def crossing(left: Side, right: Side, node: Side) -> Any:
    """Weight of the edges of the node that a cut parts."""
    return (node.inner - left.inner - right.inner) // 2


# Edges that stay inside are not parted, and more centres on a side make a cut cheaper.
_FEW_PARTED = Side(inner=-1, volume=0, size=-1)


def half_boundary(node: Side) -> Any:
    """Half the weight that leaves the node: over all leaves, every parted edge counts once."""
    return (node.volume - node.inner) / 2


@compilable
def parted_samples(left: Side, right: Side, node: Side) -> Any:
    """Score of a cut that parts centres: the samples it parts from theirs."""
    return crossing(left, right, node) / np.minimum(np.minimum(left.size, right.size), 1)


@compilable
def parted_per_center(left: Side, right: Side, node: Side) -> Any:
    """Score of a cut: parted samples over the smaller number of centres."""
    return crossing(left, right, node) / np.minimum(left.size, right.size)


@compilable
def parted_per_pair(left: Side, right: Side, node: Side) -> Any:
    """Score of a cut: parted samples over the parted pairs of centres."""
    return crossing(left, right, node) / (left.size * right.size)


def imm(graph: StarGraph | SurrogateStar) -> Objective:
    """Fewest samples parted from their centre, among cuts that part centres (IMM).

    With ``pairs="any"`` of the graph a cut must part some two centres of the node, with "furthest"
    the two that are furthest apart (modified IMM). The tree's objective is its number of parted
    samples, its mistakes, or their weight.
    """
    value = _parted_weight(graph)
    return Objective("imm", graph, parted_samples, value, trend=_FEW_PARTED, parts_sizes=True)


def emn(graph: StarGraph, denominator: Denominator = "min") -> Objective:
    """Parted samples per parted centre (EMN): mistakes over the smaller number of centres, or over their product."""
    score = parted_per_center if denominator == "min" else parted_per_pair
    value = _parted_weight(graph)
    return Objective("emn", graph, score, value, trend=_FEW_PARTED, parts_sizes=True)


def _parted_weight(graph: StarGraph | SurrogateStar) -> LeafValue:
    """Return the value of a leaf: half the weight of the edges that leave it."""
    if graph.unit == 1.0:
        return half_boundary
    return lambda node: half_boundary(node) * graph.unit


def non_uniform_cut(graph: PairGraph) -> Objective:
    """Ψ_{G,H}: the share of G that a cut parts over the share of H that it parts, within the node.

    Inadmissible where no edge of H is parted. The tree's objective is the weight of the parted
    edges of G.
    """
    first, second = graph.graph, graph.against
    scale = float(second.degrees.sum()) / float(first.degrees.sum())

    def score(left: Pair, right: Pair, node: Pair) -> Any:
        parted = crossing(left.graph, right.graph, node.graph)
        return scale * (parted / crossing(left.against, right.against, node.against))

    def value(node: Pair) -> Any:
        return half_boundary(node.graph) * first.unit

    trend = Pair(Side(inner=-1, volume=0, size=0), Side(inner=1, volume=0, size=0))
    return Objective("non-uniform cut", graph, score, value, trend=trend)
