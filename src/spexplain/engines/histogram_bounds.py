"""Which cuts inside bins can still win: the formula itself, at sides that are as good as they could be."""

from typing import Any, NamedTuple

import numpy as np

from spexplain.objectives import Objective
from spexplain.records import Side
from spexplain.typing import Bools, Floats, Ints

_MARGIN = 1e-12  # relative; far above what rounding does to a bound
_N_PIECES = 4  # parts into which a bin, and then its parts, are divided
_N_ROUNDS = 3


class Sums(NamedTuple):
    """Both sides of many cuts, and how many members and samples of the node lie left of each."""

    left: Side
    right: Side
    n_left: Ints
    samples_left: Ints

    @classmethod
    def of_fields(cls, fields: Ints, node: Side) -> "Sums":
        """Return the sums from the six fields that the kernels write along the second last axis."""
        joined, rest, volume, size, n_left, samples = (fields[..., i, :] for i in range(6))
        right = Side(rest, node.volume - volume, node.size - size)
        return cls(Side(joined, volume, size), right, n_left, samples)


class Bins(NamedTuple):
    """The sets between which the sides of a cut inside a bin lie, for many bins.

    The caps are the most inner weight that a set within the larger one has per volume (or size,
    whichever the score rises with); None stands for one, the share that no set of edges exceeds.
    """

    left: tuple[Side, Side]  # smaller, larger
    right: tuple[Side, Side]
    left_cap: Floats | None
    right_cap: Floats | None

    @classmethod
    def between(cls, borders: Sums, caps: Floats | None) -> "Bins":
        """Return all bins between neighbouring borders, from caps of shape (n_features, 2, n_borders)."""
        before, after = np.s_[..., :-1], np.s_[..., 1:]
        left = _at(borders.left, before), _at(borders.left, after)
        right = _at(borders.right, after), _at(borders.right, before)
        if caps is None:
            return cls(left, right, None, None)
        return cls(left, right, caps[:, 0, 1:], caps[:, 1, :-1])

    def chosen(self, place: Any) -> "Bins":
        """Return some of the bins."""
        left, right = ((_at(low, place), _at(high, place)) for low, high in (self.left, self.right))
        caps = (None if cap is None else cap[place] for cap in (self.left_cap, self.right_cap))
        return Bins(left, right, *caps)


def admissible_scores(objective: Objective, sums: Sums, node: Side, valid: Bools) -> Floats:
    """Return the scores of the cuts; infinity where a cut is invalid or inadmissible."""
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = np.asarray(objective.score(sums.left, sums.right, node), dtype=np.float64)
    return np.where(valid & (scores < np.inf), scores, np.inf)  # NaN compares false


def has_enough(samples_left: Ints, n_samples: int, min_samples: int) -> Bools:
    """Return which cuts leave enough samples on both sides."""
    return np.asarray((samples_left >= min_samples) & (samples_left <= n_samples - min_samples))


def lower_bounds(objective: Objective, bins: Bins, node: Side, is_open: Bools) -> Floats:
    """Return what no cut strictly inside a bin can fall below, less a margin for rounding.

    Without a declared trend nothing is known, and everything is possible. Bins that are not open
    hold no valid cut and get infinity.
    """
    trend = objective.trend
    if trend is None:
        return np.where(is_open, -np.inf, np.inf)
    left = _optimistic(*bins.left, trend, bins.left_cap)
    right = _optimistic(*bins.right, trend, bins.right_cap)
    return np.where(is_open, _bound(objective, left, right, node), np.inf)


def tighter_bounds(
    objective: Objective, bins: Bins, node: Side, bounds: Floats, best: float
) -> Floats:
    """Return better bounds where inner weight comes with volume (or size) and cannot be had without.

    A cut that takes the share t of a bin's volume to the left gains inner weight there of at most
    twice the cap times that volume, and loses it on the right. So the range of t is divided into
    pieces; those whose bound is still below `best` are divided again.
    """
    trend = objective.trend
    if trend is None or trend.inner >= 0 or max(trend.volume, trend.size) <= 0 or not len(bounds):
        return bounds
    tightened = np.full(len(bounds), np.inf)
    number, start, width = np.arange(len(bounds)), np.zeros(len(bounds)), 1.0
    for last in range(_N_ROUNDS - 1, -1, -1):
        width /= _N_PIECES
        number = np.repeat(number, _N_PIECES)
        start = np.repeat(start, _N_PIECES) + np.tile(
            np.arange(_N_PIECES) * width, len(start)
        )
        part = bins.chosen(number)
        left = _piece(*part.left, trend, part.left_cap, start, width)
        right = _piece(*part.right, trend, part.right_cap, 1 - start - width, width)
        found = np.maximum(_bound(objective, left, right, node), bounds[number])
        can_win = found <= best
        if last == 0:
            can_win[:] = False
        np.minimum.at(tightened, number[~can_win], found[~can_win])
        number, start = number[can_win], start[can_win]
        if not len(number):
            break
    return tightened


def _bound(objective: Objective, left: Side, right: Side, node: Side) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        bounds = np.asarray(objective.score(left, right, node), dtype=np.float64)
        bounds -= _MARGIN * np.abs(bounds)
    # Not even the optimistic cut is admissible where the bound is NaN.
    return np.where(bounds < np.inf, bounds, np.inf)


def _at(side: Side, place: Any) -> Side:
    return Side(*(field[place] for field in side))


def _optimistic(smaller: Side, larger: Side, trend: Side, cap: Floats | None) -> Side:
    """Return each field from whichever of two nested sets lowers the score."""
    inner, volume, size = (
        high if direction < 0 else low
        for low, high, direction in zip(smaller, larger, trend, strict=True)
    )
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


def _piece(
    smaller: Side, larger: Side, trend: Side, cap: Floats | None, start: Floats, width: float
) -> Side:
    """Return the optimistic side of the cuts that add the shares start to start + width of a bin."""
    has_volume = trend.volume > 0
    low, high = (side.volume if has_volume else side.size for side in (smaller, larger))
    most = 1.0 if cap is None else cap
    # Widened by more than rounding can take away.
    mass = np.maximum(low + (high - low) * (start * (1 - _MARGIN)), 1)
    gain = 2 * most * (high - low) * ((start + width) * (1 + _MARGIN))
    inner = np.minimum(np.minimum(larger.inner, smaller.inner + gain), most * mass)
    if has_volume:
        return Side(inner, mass, larger.size if trend.size < 0 else smaller.size)
    return Side(inner, larger.volume if trend.volume < 0 else smaller.volume, mass)
