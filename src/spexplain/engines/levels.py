"""Levels of surrogate features: which part the fewest samples from their centres, and which intervals they are."""

import numpy as np

from spexplain.aliases import Floats, Ints
from spexplain.engines.exhaustive import midpoint
from spexplain.graphs.kernel import Bumps


def least_parted(
    values: Floats,
    labels: Ints,
    weights: Ints,
    centers: Floats,
    margin: float,
    min_samples: int,
    half_lines: bool,
    parted: Ints,
    levels: Floats,
) -> None:
    """Write what the compiled walk of `spexplain.kernels.intervals` writes, by sorting."""
    known = np.flatnonzero(labels >= 0)
    n_bumps, n_known = len(values), len(known)
    if n_known < 2:
        return
    order = np.argsort(-values[:, known], axis=1, kind="stable")
    descending = np.take_along_axis(values[:, known], order, axis=1)
    highs, lows = descending[:, :-1], descending[:, 1:]
    middles = lows + (highs - lows) / 2
    gaps = np.where(middles > lows, middles, highs)
    below, above = gaps * (1 - margin), gaps * (1 + margin)
    # A sample is parted from its centre between the gap where one is taken in and that where the
    # other is: running sums of its weight added there and taken away here.
    taken_in = np.stack([np.sum(each[:, None] < below, axis=1) for each in centers.T], axis=1)
    place = np.broadcast_to(np.arange(n_known), order.shape)
    own = np.take_along_axis(taken_in, labels[known][order], axis=1)
    amounts, rows = weights[known][order], np.arange(n_bumps)[:, None]
    change = np.zeros((n_bumps, n_known + 1), dtype=np.int64)
    np.add.at(change, (rows, np.minimum(place, own)), amounts)
    np.subtract.at(change, (rows, np.maximum(place, own)), amounts)
    n_parted = np.cumsum(change, axis=1)[:, : n_known - 1]
    valid = (highs > lows) & (centers.min(axis=1)[:, None] < below)
    valid &= above < centers.max(axis=1)[:, None]
    if min_samples > 1:
        n_in = np.array(
            [_count_at_least(row, levels) for row, levels in zip(values, gaps, strict=True)]
        )
        valid &= np.minimum(n_in, len(labels) - n_in) >= min_samples
    if half_lines:
        valid &= (values[:, :1] >= gaps) | (values[:, -1:] >= gaps)
    # From the lowest level up, so that the first of equals is the lowest.
    scores = np.where(valid, n_parted, np.iinfo(np.int64).max)[:, ::-1]
    best = scores.shape[1] - 1 - scores.argmin(axis=1)[:, None]
    found = np.take_along_axis(valid, best, axis=1)[:, 0]
    parted[found] = np.take_along_axis(n_parted, best, axis=1)[found, 0]
    levels[found] = np.take_along_axis(gaps, best, axis=1)[found, 0]


def _count_at_least(values: Floats, levels: Floats) -> Ints:
    return np.asarray(len(values) - np.searchsorted(np.sort(values), levels, side="left"))


def level_between(low: float, high: float) -> float:
    """Return the level that parts two values: ``low < level <= high``."""
    middle = float(low + (high - low) / 2)
    return middle if middle > low else float(high)


def bounds(x: Floats, first: int, last: int) -> tuple[float, float]:
    """Return the interval of the samples `first` to `last` of a sorted column, open where none are beyond."""
    lower = midpoint(float(x[first - 1]), float(x[first])) if first > 0 else -np.inf
    upper = midpoint(float(x[last]), float(x[last + 1])) if last + 1 < len(x) else np.inf
    return lower, upper


def bounds_around(
    x: Floats, bumps: Bumps, bump: int, level: float, *, holds_all: bool
) -> tuple[float, float]:
    """Return the level set itself, moved by rounding at most so that it holds all samples or none."""
    peak = float(bumps.peaks[bump])
    lower, upper = bumps.level_set(bump, level)
    outer = x if holds_all else np.array([peak])
    if len(outer):
        lower = min(lower, float(np.nextafter(outer[0], -np.inf)))
        upper = max(upper, float(outer[-1]))
    if not holds_all:
        before, after = x[x < peak], x[x > peak]
        lower = max(lower, float(before[-1])) if len(before) else lower
        upper = min(upper, float(np.nextafter(after[0], -np.inf))) if len(after) else upper
    return lower, upper
