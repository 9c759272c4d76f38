"""SpEx: leaves of small conductance."""

from typing import Any

from spexplain.graphs import Graph
from spexplain.objectives.base import Objective, compilable
from spexplain.records import Side


@compilable
def conductance(side: Side) -> Any:
    """ψ(S) = e(S) / vol(S): the share of edge ends in S whose other end lies outside."""
    return (side.volume - side.inner) / side.volume


@compilable
def conductances(left: Side, right: Side, node: Side) -> Any:
    """Score of a cut: the conductances of both sides, added."""
    return conductance(left) + conductance(right)


def spex(graph: Graph) -> Objective:
    """Sum of the conductances of the leaves, with volumes of the whole graph (SpEx, algorithm 1)."""

    def priority(score: Any, node: Side) -> Any:
        return score - conductance(node)

    trend = Side(inner=-1, volume=1, size=0)
    return Objective(
        "spex", graph, conductances, conductance, priority, flat_if_pure=True, trend=trend
    )
