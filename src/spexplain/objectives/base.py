"""What an objective is, and what to do with it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar

import numpy as np

from spexplain.aliases import Ints, Matrix
from spexplain.graphs import Graph
from spexplain.records import Costs, Pair, Side

CutScore: TypeAlias = Callable[[Any, Any, Any], Any]  # (left, right, node) → score of the cut
LeafPriority: TypeAlias = Callable[[Any, Any], Any]  # (score of its best cut, node) → its turn
LeafValue: TypeAlias = Callable[[Any], Any]  # node → its share of the tree's objective as a leaf


_Function = TypeVar("_Function", bound=Callable[..., Any])

COMPILABLE: list[Callable[..., Any]] = []  # in the order of their declaration


def compilable(function: _Function) -> _Function:
    """Declare a formula to be plain arithmetic on records and numbers, so that engines may compile it.

    Works for functions of a module that call nothing but NumPy's functions and other such formulas. The
    same lines run over arrays of many cuts and, compiled, for one cut at a time.
    """
    COMPILABLE.append(function)
    return function


def _score_itself(score: Any, node: Any) -> Any:
    return score


@dataclass(frozen=True)
class Objective:
    """What a tree minimises.

    Parameters
    ----------
    name : str
        The name in messages and reports.
    graph : Graph
        The graph whose sums the formula reads.
    score : callable (left, right, node) -> score
        Ranks the cuts of one node; declare it `compilable` if it is.
    value : callable (node) -> float
        What a leaf adds to the objective of the whole tree.
    priority : callable (score, node) -> float
        Ranks the leaves by their best cuts; by default the score itself.
    flat_if_pure : bool, default=False
        Whether all cuts of a node with samples of a single cluster score the same on paper.
        Rounding would decide there; the first valid cut is taken instead.
    trend : Side, Pair or Costs, optional
        How the score depends on each field of both sides: -1 if it falls as the field grows, 1 if
        it rises, 0 if the field does not matter. Fast engines then skip cuts that cannot win. Where
        it falls with `inner` and rises with `volume` (or `size`), a side without volume (size) must
        be inadmissible, and apart from terms linear in volumes and sizes the score must fall in
        proportion to inner/volume (inner/size) of each side: engines use that it is then concave in
        the samples of one cluster that a cut moves. Without a declaration every cut is looked at.
    parts_sizes : bool, default=False
        Whether a cut is admissible only if both sides have a size, as centres must be parted: a node of
        size below two then has none, and is not searched.
    start : Objective, optional
        Its tree is grown first, until it has no further cut, and then split further by this one.
    """

    name: str
    graph: Graph
    score: CutScore
    value: LeafValue
    priority: LeafPriority = _score_itself
    flat_if_pure: bool = False
    trend: Side | Pair | Costs | None = None
    parts_sizes: bool = False
    start: "Objective | None" = None

    def is_leaf(self, node: Any) -> bool:
        """Whether the sums of a node say that it has no admissible cut."""
        return self.parts_sizes and bool(node.size < 2)

    def leaf_value(self, node: Any) -> float:
        """Return what one leaf adds; nothing if its value is undefined, as that of isolated vertices may be."""
        with np.errstate(divide="ignore", invalid="ignore"):
            value = float(self.value(node))
        return 0.0 if np.isnan(value) else value


def is_concave(trend: Any) -> bool:
    """Whether a score with this trend is concave in the samples of one cluster that a cut moves; see `Objective`."""
    return isinstance(trend, Side) and trend.inner < 0 and max(trend.volume, trend.size) > 0


def with_extra(objective: Objective, extra: Matrix) -> Objective:
    """Return the objective whose extra vertices have other coordinates, for a table of other columns."""
    moved: Any = replace(objective.graph, centers=extra)  # type: ignore[type-var]
    return replace(objective, graph=moved)


def on_columns(objective: Objective, columns: Ints) -> Objective:
    """Return the objective for a table of only these columns: extra vertices lose the others too."""
    if objective.start is not None:
        objective = replace(objective, start=on_columns(objective.start, columns))
    extra = objective.graph.extra
    if extra is None or len(columns) == extra.shape[1]:
        return objective
    return with_extra(objective, extra[:, columns])
