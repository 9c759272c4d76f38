"""Cheap service from centres: ExKMC, ExGreedy, ExShallow."""

from typing import Any, NamedTuple

import numpy as np

from spexplain.graphs import CenterCosts, ServingCenters
from spexplain.objectives.base import Objective
from spexplain.records import Costs, Service

_NOISE = 48  # bits: distances are floats of 53 bits, the last of which add nothing


def exkmc(graph: CenterCosts) -> Objective:
    """Cost of the leaves when each is served by one of the fixed centres (ExKMC).

    A cut that does not lower the cost by more than rounding is inadmissible.
    """

    def value(node: Costs) -> Any:
        return node.total.min(axis=-1) * graph.unit

    def score(left: Costs, right: Costs, node: Costs) -> Any:
        served, cost = left.total.min(axis=-1) + right.total.min(axis=-1), node.total.min(axis=-1)
        return np.where(cost - served > cost >> _NOISE, served * graph.unit, np.inf)

    def priority(score: Any, node: Costs) -> Any:
        return score - value(node)

    # The cost of serving a side rises with the side.
    return Objective("exkmc", graph, score, value, priority, trend=Costs(total=1))


def greedy_service(graph: ServingCenters) -> Objective:
    """Least cost when every sample is served by the nearest centre left on its side (ExGreedy)."""

    def score(left: Service, right: Service, node: Service) -> Any:
        return np.where(_is_servable(left, right), (left.cost + right.cost) * graph.unit, np.inf)

    def value(node: Service) -> Any:
        return node.cost * graph.unit

    return Objective("exgreedy", graph, score, value)


def shallow_service(graph: ServingCenters, depth_weight: float) -> Objective:
    """Relative cost plus `depth_weight` times the leaf depth to expect (ExShallow); 0 is ExGreedy."""
    greedy = greedy_service(graph)

    def score(left: Service, right: Service, node: Service) -> Any:
        relative = (left.cost + right.cost) / node.cost if node.cost else 0.0
        depth = depth_weight * _expected_depth(left, right, node)
        return np.where(_is_servable(left, right), relative + depth, np.inf)

    return Objective("exshallow", graph, score, greedy.value)


def _is_servable(left: Service, right: Service) -> Any:
    """Whether centres are parted and each side has at least as many distinct points as centres."""
    enough = (left.points >= left.centers) & (right.points >= right.centers)
    return enough & (left.centers > 0) & (right.centers > 0)


def _expected_depth(left: Service, right: Service, node: Service) -> Any:
    """Mean leaf depth below the node if all further splits divide like this one.

    A test that repeats a feature and side of a test above makes the rule no longer: it is not
    counted.
    """
    depth = np.zeros(np.shape(left.cost))
    n_left, n_right = (np.broadcast_to(side.points, depth.shape) for side in (left, right))
    saved = n_left * left.repeated + n_right * right.repeated
    n_points, n_centers = int(node.points), int(node.centers)
    for n_centers_left in range(1, n_centers):
        here = left.centers == n_centers_left
        like = _Division(n_left[here], n_points, n_centers_left, n_centers)
        both = _total_depth(1, n_left[here], n_centers_left, like) + _total_depth(
            1, n_right[here], n_centers - n_centers_left, like
        )
        depth[here] = (both - saved[here]) / n_points
    return depth


class _Division(NamedTuple):
    """How a cut divides the points and centres of its node."""

    points_left: Any
    points: int
    centers_left: int
    centers: int


def _total_depth(level: int, points: Any, centers: int, like: _Division) -> Any:
    """Sum of leaf depths of points that start at `level`, if all splits divide alike, rounded up."""
    if centers == 1:
        return points * level
    first = min(max(-(-like.centers_left * centers // like.centers), 1), centers - 1)
    share = np.clip(-(-like.points_left * points // like.points), 1, np.maximum(points - 1, 1))
    # A lone point follows the larger group of centres.
    some = np.where(points > 1, share, points * (first > centers - first))
    return _total_depth(level + 1, some, first, like) + _total_depth(
        level + 1, points - some, centers - first, like
    )
