"""The formulas of the house, compiled: scores and bounds of many cuts in one pass over their sums.

The lines that run are those of `spexplain.objectives`; every formula has a number here, and the
kernels take that number. Sums come in six fields: inner left, inner right, volume left, size left,
members left, samples left.
"""

from typing import Any

import numpy as np
from numba.extending import register_jitable

from spexplain.aliases import Array, Floats, Ints
from spexplain.kernels.jit import jit
from spexplain.objectives.bounds import MARGIN
from spexplain.objectives.cart import (
    association,
    associations,
    differing,
    impurity,
    mean_impurity,
    squares,
)
from spexplain.objectives.crossing import (
    crossing,
    parted_per_center,
    parted_per_pair,
    parted_samples,
)
from spexplain.objectives.spex import conductance, conductances
from spexplain.records import Side

# In the order of the numbers that `score_of` knows.
FORMULAS = (
    conductances,
    mean_impurity,
    associations,
    parted_samples,
    parted_per_center,
    parted_per_pair,
)
for _lines in (*FORMULAS, conductance, squares, differing, impurity, association, crossing):
    register_jitable(_lines)


@jit
def score_of(formula: int, left: Side, right: Side, node: Side) -> float:
    """Return the score of one cut; infinity if it is inadmissible."""
    score = np.inf
    if formula == 0:
        score = conductances(left, right, node)
    elif formula == 1:
        score = mean_impurity(left, right, node)
    elif formula == 2:
        score = associations(left, right, node)
    elif formula == 3:
        score = parted_samples(left, right, node)
    elif formula == 4:
        score = parted_per_center(left, right, node)
    elif formula == 5:
        score = parted_per_pair(left, right, node)
    return score if score < np.inf else np.inf  # NaN compares false


@jit
def best_gap(
    formula: int, fields: Ints, node: Side, n_samples: int, min_samples: int, first: bool
) -> tuple[float, int]:
    """Return score and place of the best cut, or of the first admissible one, that leaves enough samples.

    Shapes: fields (6, n_gaps). Cost O(n_gaps).
    """
    best, place = np.inf, 0
    for g in range(fields.shape[1]):
        if min_samples <= fields[5, g] <= n_samples - min_samples:
            volume, size = fields[2, g], fields[3, g]
            left = Side(fields[0, g], volume, size)
            right = Side(fields[1, g], node.volume - volume, node.size - size)
            score = score_of(formula, left, right, node)
            if score < best:
                best, place = score, g
                if first:
                    break
    return best, place


@jit
def optimistic(smaller: Side, larger: Side, trend: Side) -> Side:
    """Return each field from whichever of two nested sides lowers the score."""
    inner = larger.inner if trend.inner < 0 else smaller.inner
    volume = larger.volume if trend.volume < 0 else smaller.volume
    size = larger.size if trend.size < 0 else smaller.size
    if trend.inner < 0 and trend.volume > 0:
        # An edge that comes to lie inside has an end among the vertices that were added.
        volume += (larger.inner - smaller.inner + 1) // 2
        inner = min(inner, volume)
    # A side without volume (or size) is inadmissible where it would be best.
    if trend.volume > 0:
        volume = max(volume, 1)
    if trend.size > 0:
        size = max(size, 1)
    return Side(inner, volume, size)


@jit
def capped(side: Side, trend: Side, cap: float) -> Side:
    """Return an optimistic side with no more inner weight than its volume (or size) allows."""
    if trend.volume > 0:
        return Side(min(float(side.inner), cap * side.volume), side.volume, side.size)
    if trend.size > 0:
        return Side(min(float(side.inner), cap * side.size), side.volume, side.size)
    return Side(float(side.inner), side.volume, side.size)


@jit
def lowest_score(formula: int, left: Side, right: Side, node: Side) -> float:
    """Return the score of optimistic sides, less a margin for rounding."""
    score = score_of(formula, left, right, node)
    return score if score == np.inf else score - MARGIN * abs(score)


@jit
def bound_bins(
    formula: int,
    trend: Side,
    fields: Ints,
    caps: Any,
    node: Side,
    n_rows: int,
    n_samples: int,
    min_samples: int,
    bounds: Floats,
) -> tuple[float, int, int]:
    """Write what no cut inside a bin can fall below; return score, part and border of the best at a border.

    Infinity where no valid cut lies inside a bin. Shapes: fields (m, 6, n_bins + 1), caps (m, 2,
    n_bins + 1) or None, bounds (m, n_bins). Cost O(m n_bins).
    """
    n_borders = fields.shape[2]
    best, best_part, best_border = np.inf, 0, 0
    for j in range(len(fields)):
        part = fields[j]
        left_before = Side(part[0, 0], part[2, 0], part[3, 0])
        right_before = Side(part[1, 0], node.volume - part[2, 0], node.size - part[3, 0])
        for b in range(n_borders):
            volume, size = part[2, b], part[3, b]
            left = Side(part[0, b], volume, size)
            right = Side(part[1, b], node.volume - volume, node.size - size)
            if 0 < part[4, b] < n_rows and min_samples <= part[5, b] <= n_samples - min_samples:
                score = score_of(formula, left, right, node)
                if score < best:
                    best, best_part, best_border = score, j, b
            if b == 0:
                continue
            bounds[j, b - 1] = np.inf
            is_open = part[4, b] > part[4, b - 1] + 1
            if min_samples > 1:
                is_open &= part[5, b] >= min_samples
                is_open &= part[5, b - 1] <= n_samples - min_samples
            if is_open:
                at_left = optimistic(left_before, left, trend)
                at_right = optimistic(right, right_before, trend)
                if caps is None:
                    bounds[j, b - 1] = lowest_score(formula, at_left, at_right, node)
                else:
                    capped_left = capped(at_left, trend, caps[j, 0, b])
                    capped_right = capped(at_right, trend, caps[j, 1, b - 1])
                    bounds[j, b - 1] = lowest_score(formula, capped_left, capped_right, node)
            left_before, right_before = left, right
    return best, best_part, best_border


@jit
def bound_corners(
    formula: int,
    trend: Side,
    corners: Ints,
    wanted: Array,
    caps: Floats,
    node: Side,
    bounds: Floats,
) -> None:
    """Raise the bounds of wanted bins to those of their corners.

    Shapes: corners (n_wanted, 2, 4, n_corners), see `spexplain.kernels.labels.corner_sums`, wanted
    (m, n_bins), caps (m, 2, n_bins + 1), bounds (m, n_bins). Cost O(size of the corners).
    """
    w = 0
    for j in range(wanted.shape[0]):
        for b in range(wanted.shape[1]):
            if not wanted[j, b]:
                continue
            lowest = np.inf
            for c in range(corners.shape[3]):
                low, high = corners[w, 0, :, c], corners[w, 1, :, c]
                left = optimistic(
                    Side(low[0], low[2], low[3]), Side(high[0], high[2], high[3]), trend
                )
                right = optimistic(
                    Side(high[1], node.volume - high[2], node.size - high[3]),
                    Side(low[1], node.volume - low[2], node.size - low[3]),
                    trend,
                )
                capped_left = capped(left, trend, caps[j, 0, b + 1])
                capped_right = capped(right, trend, caps[j, 1, b])
                lowest = min(lowest, lowest_score(formula, capped_left, capped_right, node))
            bounds[j, b] = max(bounds[j, b], lowest)
            w += 1
