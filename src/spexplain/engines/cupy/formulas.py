"""Scores and bounds of many cuts at once, on the device: the formula is an expression over whole arrays."""

from collections.abc import Callable
from typing import Any

import numpy as np

from spexplain.objectives import Objective
from spexplain.records import Side


def border_scores(
    xp: Any, objective: Objective, sides: Any, totals: Any, fields: list[Any] | None = None
) -> Any:
    """Return the scores of cuts at borders and at their best in between, one row a variant.

    Sides come as doubles where bounds need fractions; where their sums exceed what doubles hold, the cuts
    at borders are scored from the `fields` of the same features, which are integers.
    """
    node = Side(*totals)
    scores = _scores(xp, objective, Side(*sides[:3]), Side(*sides[3:]), node)
    if fields is not None and sides.dtype == np.float64:
        joined, rest, volume, size = xp.stack([each[:4] for each in fields], axis=1)
        right = Side(rest, node.volume - volume, node.size - size)
        scores[0] = _scores(xp, objective, Side(joined, volume, size), right, node)
    return scores


def gap_scores(xp: Any, objective: Objective, gaps: Any) -> Any:
    """Return the scores of the cuts at all gaps."""
    return _scores(xp, objective, Side(*gaps[:3]), Side(*gaps[3:6]), Side(*gaps[6:9]))


def _scores(xp: Any, objective: Objective, left: Side, right: Side, node: Side) -> Any:
    """Return the formula's value for cuts of one or two nodes."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        try:
            scores = objective.score(left, right, node)
        except (TypeError, ValueError):
            # The formula wants plain numbers for the node.
            scores = _one_by_one(xp, objective.score, left, right, node)
    if scores.shape != left.volume.shape:
        scores = xp.broadcast_to(scores, left.volume.shape)
    return xp.ascontiguousarray(scores, dtype=np.float64)


def _one_by_one(
    xp: Any, score: Callable[[Side, Side, Side], Any], left: Side, right: Side, node: Side
) -> Any:
    """Return the scores with every distinct node given as plain numbers, where its cuts are."""
    shape = left.volume.shape
    sums = [xp.broadcast_to(field, shape) for field in node]
    scores = xp.full(shape, np.nan)
    still_open = xp.ones(shape, dtype=bool)
    while bool(still_open.any()):
        place = int(still_open.ravel().argmax())
        numbers = [int(field.ravel()[place]) for field in sums]
        here = still_open
        for field, number in zip(sums, numbers, strict=True):
            here = here & (field == number)
        values = score(left, right, Side(*map(np.int64, numbers)))
        scores = xp.where(here, values, scores)
        still_open = still_open & ~here
    return scores
