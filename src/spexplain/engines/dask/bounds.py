"""Scores at the borders of bins, and bounds for the cuts inside them.

Bounds from the order of the rows in a bin, not only their number: take a cut at the left border of a bin,
and move it to the right over x rows (label by label) of the h in the bin. For formulas of inner weight
per volume (or size), as `Objective.trend` promises them,

    score(x) >= score(0) - steps · x - slack

where the slack is of the second order in the bin's share of the node. So the lowest score inside the bin
follows from the highest point of the walk that the steps of its rows make, in the order of their values. A
walk over r rows in random order rises to about sqrt(r) steps where their number alone allows r.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spexplain.aliases import Array, Bools, Floats, Ints
from spexplain.engines.dask.worker import Path
from spexplain.objectives import Objective
from spexplain.objectives.bounds import (
    BinSides,
    CutSums,
    admissible_scores,
    corner_bounds,
    has_enough,
    holds_cuts,
    lower_bounds,
)
from spexplain.records import Cut, Side

if TYPE_CHECKING:
    from spexplain.engines.dask.sums import Sums

_N_TOP = (1, 3)  # largest clusters of a bin that are looked at one by one, in turn
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


class WholeSteps(NamedTuple):
    """Steps in whole numbers: whoever adds them up, and in whatever order, finds the same."""

    steps: Array  # int32, shape (n_labels,)
    unit: float


@dataclass(eq=False)
class Node:
    """Where a node lies in the tree, and what was counted in it."""

    path: Path
    totals: Ints  # one cell: all rows of the node
    centers: Ints  # extra vertices in the node
    parent: "Node | None" = None  # until the first search below it
    histograms: Array | None = None
    found: "tuple[Cut, FoundCut] | None" = None


class Segments(NamedTuple):
    """Stretches of features in bins: whole features, or intervals that were looked at closely."""

    features: Ints  # shape (m,)
    codes: Ints  # shape (m,): bin of the table that an interval lies in, -1 for whole features
    starts: Array  # shape (m, width): the cell left of the stretch
    cells: Array  # shape (m, n_bins, width)
    low: Floats  # shape (m, n_bins): the least value of each bin
    high: Floats
    centers: Ints  # shape (m, n_centers): bin of each extra vertex; -1 left, n_bins right of all
    depth: int = 0
    rises: Rises | None = None


class Fields(NamedTuple):
    """Sums at all borders of segments."""

    sums: Ints  # shape (m, n_fields, n_bins + 1); the last two are members and samples on the left
    caps: Floats | None  # shape (m, 2, n_bins + 1)


class FoundCut(NamedTuple):
    """A cut that was found. The first three decide between cuts."""

    score: float
    feature: int
    n_left: int
    last_code: int = -1  # for cuts between bins of the table: the values around are not known yet
    low: float = np.nan
    high: float = np.nan
    left: Any = None  # the cell left of the cut
    true_score: float = np.inf  # the same as the score, but where all cuts are taken as equal

    @property
    def rank(self) -> tuple[float, int, int]:
        """What is compared: score, feature, threshold."""
        return self[:3]


NOTHING = FoundCut(np.inf, -1, 0)


@dataclass
class Bounded:
    """Segments with what no cut inside their bins can fall below."""

    segments: Segments
    bounds: Floats  # shape (m, n_bins); infinity where nothing is left to look at
    n_before: Ints  # members left of each bin
    n_inside: Ints  # rows in each bin, extra vertices not counted
    fields: Fields

    def can_win(self, best: FoundCut) -> Bools:
        """Return which bins can hold a better cut, or an equal one that comes earlier."""
        features = self.segments.features[:, None]
        earlier = (features < best.feature) | (
            (features == best.feature) & (self.n_before < best.n_left)
        )
        ties = (self.bounds == best.score) & earlier & (best.score < np.inf)
        return np.asarray((self.bounds < best.score) | ties)


class Scorer:
    """Scores and bounds of one node's cuts that leave enough samples on both sides."""

    def __init__(
        self, objective: Objective, sums: "Sums", node: Node, min_samples: int, shift: int
    ) -> None:
        self.objective, self.sums, self.node = objective, sums, node
        self.min_samples, self.shift = min_samples, shift
        self.record = sums.record(node)
        self.n_samples = int(sums.tally.n_rows(node.totals))
        # All cuts tie: only their order matters.
        self.is_flat = objective.flat_if_pure and sums.is_pure(node)

    def bound(self, segments: Segments) -> tuple[Bounded, FoundCut]:
        """Return the segments with bounds of their bins, and the best cut at a border inside them."""
        fields = self.sums.fields(self.node, segments)
        n_left, samples = fields.sums[:, -2], fields.sums[:, -1]
        borders = self._borders(fields.sums)
        bins = BinSides.between(borders, fields.caps)
        lowest = lower_bounds(self.objective, bins, self.record)
        if self.is_flat:
            lowest = np.where(lowest < np.inf, 0.0, np.inf)
        is_open = holds_cuts(borders, self.n_samples, self.min_samples)
        is_open &= segments.low < segments.high
        bounds = np.where(is_open, lowest, np.inf)
        valid = has_enough(samples, self.n_samples, self.min_samples)
        valid &= (n_left > n_left[:, :1]) & (n_left < n_left[:, -1:])
        scores = admissible_scores(self.objective, borders, self.record, valid)
        bounded = Bounded(segments, bounds, n_left[:, :-1], np.diff(samples, axis=1), fields)
        return bounded, self._best(bounded, scores)

    def _borders(self, sums: Ints) -> CutSums:
        left, right = self.sums.sides(self.node, sums)
        return CutSums(left, right, sums[..., -2, :], sums[..., -1, :])

    def _best(self, bounded: Bounded, scores: Floats) -> FoundCut:
        ranked = np.where(scores < np.inf, 0.0, np.inf) if self.is_flat else scores
        lowest = ranked.min(initial=np.inf)
        if not lowest < np.inf:
            return NOTHING
        rows, borders = np.nonzero(ranked == lowest)
        segments, n_left = bounded.segments, bounded.fields.sums[rows, -2, borders]
        first = np.lexsort((n_left, segments.features[rows]))[0]
        row, border = int(rows[first]), int(borders[first])
        left = segments.starts[row] + segments.cells[row, :border].sum(axis=0, dtype=np.int64)
        last_code, low, high = (border << self.shift) - 1, np.nan, np.nan
        if segments.depth > 0:
            last_code = -1
            low, high = segments.high[row, :border].max(), segments.low[row, border:].min()
        return FoundCut(
            float(lowest),
            int(segments.features[row]),
            int(n_left[first]),
            last_code,
            float(low),
            float(high),
            left,
            float(scores[row, border]),
        )

    def tighten(self, bounded: Bounded, best: float) -> None:
        """Raise the bounds of bins that are not ruled out yet."""
        if self.is_flat or self.objective.trend is None:
            return
        self._tighten_by_corners(bounded, best)
        self._tighten_by_paths(bounded, best)

    def _tighten_by_corners(self, bounded: Bounded, best: float) -> None:
        bounds, caps = bounded.bounds, bounded.fields.caps
        for n_top in _N_TOP:
            wanted = bounds <= best
            if not wanted.any():
                return
            corners = self.sums.corners(self.node, bounded.segments, bounded.fields, wanted, n_top)
            if corners is None or caps is None:
                return
            there = caps[:, 0, 1:][wanted], caps[:, 1, :-1][wanted]
            found = corner_bounds(self.objective, corners, there, self.record)
            bounds[wanted] = np.maximum(bounds[wanted], found)

    def _tighten_by_paths(self, bounded: Bounded, best: float) -> None:
        segments, bounds = bounded.segments, bounded.bounds
        wanted = bounds <= best
        if segments.rises is None or not wanted.any():
            return
        rows, bins = np.nonzero(wanted)
        inside = segments.cells[rows, bins]
        falls = self.falls(segments, rows, bins)
        assert falls is not None
        borders = self._borders(bounded.fields.sums[rows, :, bins][:, :, None])
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = self.objective.score(borders.left, borders.right, self.record)[:, 0]
        rises = segments.rises
        found = path_bounds(scores, falls, inside, rises.steps[rows], rises.highest[rows, bins])
        bounds[wanted] = np.maximum(bounds[wanted], found)

    def falls(self, segments: Segments, rows: Ints, bins: Ints) -> Falls | None:
        """Return how fast the score can fall inside some bins of the segments."""
        before = np.cumsum(segments.cells, axis=1, dtype=np.int64) - segments.cells
        left = segments.starts[rows] + before[rows, bins]
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.sums.falls(self.node, self.objective, left, segments.cells[rows, bins])


# --- How fast a score can fall as a cut moves through a bin ---------------------------------------


def whole_steps_of(steps: Floats, n_rows: int) -> WholeSteps:
    """Return steps in whole numbers, so that those of all rows of the interval fit 32 bits."""
    steps = np.nan_to_num(steps, nan=0.0, posinf=0.0, neginf=0.0)
    unit = float(np.abs(steps).max(initial=0.0)) * n_rows / _MOST
    if not unit > 0:
        return WholeSteps(np.zeros(len(steps), dtype=np.int32), 0.0)
    return WholeSteps(np.trunc(steps / unit).astype(np.int32), unit)


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
    # A border that is not a cut itself says nothing about the cuts behind it.
    return np.where(np.isfinite(bounds), bounds, -np.inf)
