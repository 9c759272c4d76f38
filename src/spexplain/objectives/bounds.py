"""Which cuts inside bins can still win: the formula itself, at sides that are as good as they could be."""

from typing import Any, NamedTuple

import numpy as np

from spexplain.aliases import Bools, Floats, Ints
from spexplain.objectives.base import Objective, compilable
from spexplain.records import Costs, Pair, Promise, Side

MARGIN = 1e-12  # relative; far above what rounding does to a bound
_PRIORITY_MARGIN = 1e-10  # relative; far above what is rounded away from priorities


class CutSums(NamedTuple):
    """Both sides of many cuts, and how many members and samples of the node lie left of each."""

    left: Any
    right: Any
    n_left: Ints
    samples_left: Ints


def both_sides(fields: Ints, node: Side) -> tuple[Side, Side]:
    """Return the sides from inner left, inner right, volume left and size left along the second last axis."""
    joined, rest, volume, size = (fields[..., i, :] for i in range(4))
    return Side(joined, volume, size), Side(rest, node.volume - volume, node.size - size)


class BinSides(NamedTuple):
    """The sets between which the sides of a cut inside a bin lie, for many bins.

    The caps are the most inner weight that a set within the larger one has per volume (or size,
    whichever the score rises with); None stands for one, the share that no set of edges exceeds.
    """

    left: tuple[Any, Any]  # smaller, larger
    right: tuple[Any, Any]
    left_cap: Floats | None
    right_cap: Floats | None

    @classmethod
    def between(cls, borders: CutSums, caps: Floats | None) -> "BinSides":
        """Return all bins between neighbouring borders, from caps of shape (n_features, 2, n_borders)."""
        before, after = slice(None, -1), slice(1, None)
        left = _at(borders.left, before), _at(borders.left, after)
        right = _at(borders.right, after), _at(borders.right, before)
        if caps is None:
            return cls(left, right, None, None)
        return cls(left, right, caps[:, 0, 1:], caps[:, 1, :-1])


def admissible_scores(objective: Objective, sums: CutSums, node: Any, valid: Bools) -> Floats:
    """Return the scores of the cuts; infinity where a cut is invalid or inadmissible."""
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = np.asarray(objective.score(sums.left, sums.right, node), dtype=np.float64)
    return np.where(valid & (scores < np.inf), scores, np.inf)  # NaN compares false


def has_enough(samples_left: Ints, n_samples: int, min_samples: int) -> Bools:
    """Return which cuts leave enough samples on both sides."""
    return np.asarray((samples_left >= min_samples) & (samples_left <= n_samples - min_samples))


def holds_cuts(borders: CutSums, n_samples: int, min_samples: int) -> Bools:
    """Return which bins between neighbouring borders hold enough vertices for a valid cut inside them."""
    n_left, samples = borders.n_left, borders.samples_left
    holds = n_left[:, 1:] > n_left[:, :-1] + 1
    if min_samples > 1:
        holds &= samples[:, 1:] >= min_samples
        holds &= samples[:, :-1] <= n_samples - min_samples
    return np.asarray(holds)


def promise_after(objective: Objective, score: float, node: Any, rival: float) -> Promise | None:
    """Return the promise of a cut that scores no less than this, if it is sure to come after the rival."""
    priority = float(objective.priority(score, node))
    # The builder compares priorities without their last digits.
    priority -= _PRIORITY_MARGIN * (abs(score) + abs(priority))
    return Promise(priority) if priority > rival else None


def lower_bounds(objective: Objective, bins: BinSides, node: Any) -> Floats:
    """Return what no cut strictly inside a bin can fall below, less a margin for rounding.

    Without a declared trend nothing is known, and everything is possible.
    """
    trend = objective.trend
    if trend is None:
        return np.array(-np.inf)
    left = _optimistic(*bins.left, trend, bins.left_cap)
    right = _optimistic(*bins.right, trend, bins.right_cap)
    if isinstance(trend, Costs) and trend.total > 0:
        # The samples of a bin cost no less than from their nearest centres, on whichever side they are.
        smaller, larger = bins.right
        rest = np.asarray(larger.least - smaller.least)
        right = Costs(right.total + rest[..., None])
    with np.errstate(divide="ignore", invalid="ignore"):
        bounds = np.asarray(objective.score(left, right, node), dtype=np.float64)
        bounds -= MARGIN * np.abs(bounds)
    # Not even the optimistic cut is admissible where the bound is NaN.
    return np.where(bounds < np.inf, bounds, np.inf)


def corner_bounds(
    objective: Objective, corners: Ints, caps: tuple[Floats, Floats], node: Side
) -> Floats:
    """Return bounds from the bins with their largest clusters wholly on one side or the other.

    The score is concave in the number of samples of one cluster that a cut moves, so it is lowest
    with none or all of them; what remains of the bin is smaller, and bounded as the whole was.

    Parameters
    ----------
    objective : Objective
        Formula and declared trend.
    corners : array of shape (n_bins, 2, 4, n_corners)
        Without and with the remaining clusters: inner left, inner right, volume left and size left.
    caps : pair of arrays of shape (n_bins,)
        Caps of the inner weight left and right, as in `BinSides`.
    node : Side
        Sums over the node.
    """
    (left, left_after), (right, right_after) = zip(
        *(both_sides(corners[:, i], node) for i in range(2)), strict=True
    )
    part = BinSides((left, left_after), (right_after, right), caps[0][:, None], caps[1][:, None])
    return np.asarray(lower_bounds(objective, part, node).min(axis=1))


def _at(record: Any, place: slice) -> Any:
    """Return the record of only those cuts along the last axis of cuts."""
    if isinstance(record, Pair):
        return Pair(*(_at(side, place) for side in record))
    if isinstance(record, Costs):
        least = record.least if np.ndim(record.least) == 0 else record.least[..., place]
        return Costs(record.total[..., place, :], least)
    return Side(*(field[..., place] for field in record))


def _optimistic(smaller: Any, larger: Any, trend: Any, cap: Floats | None) -> Any:
    """Return each field from whichever of two nested sets lowers the score."""
    if isinstance(trend, Pair):
        return Pair(*map(_optimistic, smaller, larger, trend, (None, None)))
    if isinstance(trend, Costs):
        return Costs(larger.total if trend.total < 0 else smaller.total)
    side = optimistic_side(smaller, larger, trend)
    return side if cap is None else capped_side(side, trend, cap)


@compilable
def optimistic_side(smaller: Side, larger: Side, trend: Side) -> Side:
    """Return each field from whichever of two nested sides lowers the score."""
    inner = larger.inner if trend.inner < 0 else smaller.inner
    volume = larger.volume if trend.volume < 0 else smaller.volume
    size = larger.size if trend.size < 0 else smaller.size
    if trend.inner < 0 and trend.volume > 0:
        # An edge that comes to lie inside has an end among the vertices that were added.
        volume = volume + (larger.inner - smaller.inner + 1) // 2
        inner = np.minimum(inner, volume)
    # A side without volume (or size) is inadmissible where it would be best.
    if trend.volume > 0:
        volume = np.maximum(volume, 1)
    if trend.size > 0:
        size = np.maximum(size, 1)
    return Side(inner, volume, size)


@compilable
def capped_side(side: Side, trend: Side, cap: Any) -> Side:
    """Return an optimistic side with no more inner weight than its volume (or size) allows."""
    most = 1.0 * side.inner  # caps are fractions
    if trend.inner < 0 and trend.volume > 0:
        most = np.minimum(most, cap * side.volume)
    elif trend.inner < 0 and trend.size > 0:
        most = np.minimum(most, cap * side.size)
    return Side(most, side.volume, side.size)
