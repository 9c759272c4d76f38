"""How fast a score can fall as a cut moves through a bin: bounds from the order of its rows, not only their number.

Take a cut at the left border of a bin, and move it to the right over x rows (label by label) of the h in
the bin. For formulas of inner weight per volume (or size), as `Objective.trend` promises them,

    score(x) >= score(0) - steps · x - slack

where the slack is of the second order in the bin's share of the node. So the lowest score inside the bin
follows from the highest point of the walk that the steps of its rows make, in the order of their values. A
walk over r rows in random order rises to about sqrt(r) steps where their number alone allows r.
"""

from typing import Any, NamedTuple

import numpy as np

from spexplain.aliases import Array, Floats, Ints
from spexplain.objectives import Objective
from spexplain.records import Side

_ROUNDING = 1e-12  # relative; far above what rounding does to steps and slack
_MOST = 2**30  # rises are 32-bit integers


class Falls(NamedTuple):
    """What rows take off the scores of cuts inside m bins."""

    steps: Floats  # shape (m, n_labels): each row of a label, at most
    slack: Floats  # shape (m,): all of them on top of that


class Rises(NamedTuple):
    """The highest points of walks inside bins, as the workers measured them."""

    steps: Floats  # shape (m, n_labels): of the walks through a segment
    highest: Floats  # shape (m, n_bins)


class Ruler(NamedTuple):
    """Steps in whole numbers: whoever adds them up, and in whatever order, finds the same."""

    steps: Array  # int32, shape (n_labels,)
    unit: float


def ruler_of(steps: Floats, n_rows: int) -> Ruler:
    """Return steps in whole numbers, so that those of all rows of the interval fit 32 bits."""
    steps = np.nan_to_num(steps, nan=0.0, posinf=0.0, neginf=0.0)
    unit = float(np.abs(steps).max(initial=0.0)) * n_rows / _MOST
    if not unit > 0:
        return Ruler(np.zeros(len(steps), dtype=np.int32), 0.0)
    return Ruler(np.trunc(steps / unit).astype(np.int32), unit)


def clique_falls(
    objective: Objective, node: Side, clusters: Ints, left: Ints, inside: Ints
) -> Falls:
    """Return what rows take off the score of a cut before bins with the labels `inside`, `left` on its left.

    The inner weight of the left side grows by Σ w x (2 a + x - 1) <= Σ w x (2 a + h - 1), that of the right
    side by Σ w x (x + 1 - 2 b) <= Σ w x (h + 1 - 2 b), for a rows of a label left and b right of the border:
    both linear. So is the volume, and I / V - I₀ / V₀ = (I - I₀ - (I₀ / V₀) (V - V₀)) / V; for the V below
    the line stands the middle of what 1 / V can be, and the slack takes what that can miss.

    Parameters
    ----------
    objective : Objective
        Formula and declared trend.
    node : Side
        Sums over the node.
    clusters : array of shape (4, n_labels)
        Members in the node, weight of an edge, degree and size of a member.
    left, inside : array of shape (m, n_labels)
        Labels left of every bin, and in it.
    """
    totals, weights, degrees, counted = clusters.astype(np.float64)
    a, h = left.astype(np.float64), inside.astype(np.float64)
    b = totals - a
    has_volume = isinstance(objective.trend, Side) and objective.trend.volume > 0
    measure = degrees if has_volume else counted
    before, after = (_sides(side, weights, degrees, counted) for side in (a, b))
    bigger, smaller = (_sides(side, weights, degrees, counted) for side in (a + h, b - h))
    spans = [(before, bigger), (after, smaller)]
    grows = [weights * (2 * a + h - 1), weights * (h + 1 - 2 * b)]
    shares, drop = _shares(objective, node, (before, after), (bigger, smaller), has_volume)
    steps, slack = np.zeros(a.shape), drop
    for share, (near, far), grow, sign in zip(shares, spans, grows, (1, -1), strict=True):
        start, end = (side.volume if has_volume else side.size for side in (near, far))
        ratio = near.inner / start
        excess = grow - sign * ratio[:, None] * measure
        middle, reach = (1 / start + 1 / end) / 2, np.abs(1 / start - 1 / end) / 2
        steps += (share * middle)[:, None] * excess
        most = np.maximum(
            np.sum(excess * h, axis=1, where=excess > 0),
            -np.sum(excess * h, axis=1, where=excess < 0),
        )
        slack = slack + share * (most * reach + _ROUNDING * np.abs(ratio * (start - end)) * middle)
    return Falls(steps, slack)


def _sides(counts: Floats, weights: Floats, degrees: Floats, counted: Floats) -> Side:
    inner = np.sum(weights * counts * (counts - 1), axis=1)
    return Side(inner, counts @ degrees, counts @ counted)


def _shares(
    objective: Objective,
    node: Side,
    near: tuple[Side, Side],
    far: tuple[Side, Side],
    has_volume: bool,
) -> tuple[list[Floats], Floats]:
    """Return by how much the score falls per inner/volume of either side, and at most without any inner weight."""
    left, right = (side._replace(inner=0 * side.inner) for side in near)
    empty: Any = objective.score(left, right, node)
    shares = []
    for side, is_left in zip(near, (True, False), strict=True):
        measure = side.volume if has_volume else side.size
        full = side._replace(inner=np.maximum(side.inner, measure))
        sides = (full, right) if is_left else (left, full)
        score = objective.score(*sides, node)
        shares.append((empty - score) * measure / full.inner)
    # What is left of the score is linear in volumes and sizes, so lowest at some end of both.
    lowest = empty
    for volumes in (near, far):
        for sizes in (near, far):
            first, second = (
                Side(0 * one.inner, one.volume, other.size)
                for one, other in zip(volumes, sizes, strict=True)
            )
            lowest = np.minimum(lowest, objective.score(first, second, node))
    return shares, np.asarray(empty - lowest)


def path_bounds(
    scores: Floats, falls: Falls, inside: Ints, steps: Floats, highest: Floats
) -> Floats:
    """Return what no cut inside bins can fall below, from the walks in other steps than theirs.

    Parameters
    ----------
    scores : array of shape (m,)
        Of the cuts at the left borders of the bins.
    falls : Falls
        Of the bins.
    inside : array of shape (m, n_labels)
        Labels in the bins.
    steps, highest : arrays of shape (m, n_labels) and (m,)
        Steps of the walks that were measured, and their highest points.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        missed = np.sum(np.maximum(falls.steps - steps, 0.0) * inside, axis=1)
        fall = (highest + missed) * (1 + _ROUNDING) + falls.slack
        bounds = scores - fall
        bounds -= _ROUNDING * (np.abs(scores) + np.abs(bounds))
    # A border that is no cut itself says nothing of those behind it.
    return np.where(np.isfinite(bounds), bounds, -np.inf)
