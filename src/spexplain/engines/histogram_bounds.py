"""Which cuts inside bins can still win: the formula itself, at sides that are as good as they could be."""

from typing import Any, NamedTuple

import numpy as np

from spexplain.objectives import Objective
from spexplain.records import Side
from spexplain.typing import Bools, Floats, Ints

_MARGIN = 1e-12  # relative; far above what rounding does to a bound


class Sums(NamedTuple):
    """Both sides of many cuts, and how many members and samples of the node lie left of each."""

    left: Side
    right: Side
    n_left: Ints
    samples_left: Ints

    @classmethod
    def of_fields(cls, fields: Ints, node: Side) -> "Sums":
        """Return the sums from the six fields that the kernels write along the second last axis."""
        joined, rest, volume, size, n_left, samples = np.moveaxis(fields, -2, 0)
        right = Side(rest, node.volume - volume, node.size - size)
        return cls(Side(joined, volume, size), right, n_left, samples)


def admissible_scores(objective: Objective, sums: Sums, node: Side, valid: Bools) -> Floats:
    """Return the scores of the cuts; infinity where a cut is invalid or inadmissible."""
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = np.asarray(objective.score(sums.left, sums.right, node), dtype=np.float64)
    return np.where(valid & (scores < np.inf), scores, np.inf)  # NaN compares false


def has_enough(samples_left: Ints, n_samples: int, min_samples: int) -> Bools:
    """Return which cuts leave enough samples on both sides."""
    return np.asarray(
        (samples_left >= min_samples) & (n_samples - samples_left >= min_samples)
    )


def lower_bounds(
    objective: Objective, borders: Sums, node: Side, caps: Floats | None, open_bins: Bools
) -> Floats:
    """Return what no cut strictly inside a bin can fall below, less a margin for rounding.

    Parameters
    ----------
    objective : Objective
        Formula and declared trend; without a trend nothing is known and everything is possible.
    borders : Sums
        Sums at the borders of the bins, shape (n_features, n_bins + 1).
    node : Side
        Sums over the node.
    caps : array of shape (n_features, 2, n_bins + 1), optional
        Most inner weight of a set left, or right, of a border per volume (or size, whichever rises).
    open_bins : array of bool, shape (n_features, n_bins)
        Bins that can hold a valid cut; the others get infinity.
    """
    trend = objective.trend
    if trend is None:
        return np.where(open_bins, -np.inf, np.inf)
    before, after = np.s_[..., :-1], np.s_[..., 1:]
    left_cap, right_cap = (None, None) if caps is None else (caps[:, 0, 1:], caps[:, 1, :-1])
    left = _optimistic(_at(borders.left, before), _at(borders.left, after), trend, left_cap)
    right = _optimistic(_at(borders.right, after), _at(borders.right, before), trend, right_cap)
    with np.errstate(divide="ignore", invalid="ignore"):
        bounds = np.asarray(objective.score(left, right, node), dtype=np.float64)
    bounds -= _MARGIN * np.abs(bounds)
    # Not even the optimistic cut is admissible where the bound is NaN.
    return np.where(open_bins & (bounds < np.inf), bounds, np.inf)


def _at(side: Side, place: Any) -> Side:
    return Side(*(field[place] for field in side))


def _optimistic(smaller: Side, larger: Side, trend: Side, cap: Floats | None) -> Side:
    """Return each field from whichever of two nested sets lowers the score."""
    fields = (
        high if direction < 0 else low
        for low, high, direction in zip(smaller, larger, trend, strict=True)
    )
    inner, volume, size = fields
    # A side without volume (or size) is inadmissible where it would be best.
    if trend.volume > 0:
        volume = np.maximum(volume, 1)
    if trend.size > 0:
        size = np.maximum(size, 1)
    if trend.inner < 0 and trend.volume > 0:
        inner = np.minimum(inner, volume if cap is None else cap * volume)
    elif trend.inner < 0 and trend.size > 0 and cap is not None:
        inner = np.minimum(inner, cap * size)
    return Side(inner, volume, size)
