"""Scores at the borders of bins, and bounds for the cuts inside them."""

import numpy as np

from spexplain.aliases import Floats, Ints
from spexplain.engines.dask.records import NOTHING, Bounded, Found, Node, Segments
from spexplain.engines.dask.slopes import Falls, path_bounds
from spexplain.engines.dask.sums import Sums
from spexplain.objectives import Objective
from spexplain.objectives.bounds import (
    BinSides,
    admissible_scores,
    corner_bounds,
    has_enough,
    lower_bounds,
)
from spexplain.objectives.bounds import CutSums as Cuts

_N_TOP = (1, 3)  # largest clusters of a bin that are looked at one by one, in turn


class Scorer:
    """Scores and bounds of one node's cuts that leave enough samples on both sides."""

    def __init__(
        self, objective: Objective, sums: Sums, node: Node, min_samples: int, shift: int
    ) -> None:
        self.objective, self.sums, self.node = objective, sums, node
        self.min_samples, self.shift = min_samples, shift
        self.record = sums.record(node)
        self.n_samples = int(sums.tally.n_rows(node.totals))
        # All cuts tie: only their order matters.
        self.is_flat = objective.flat_if_pure and sums.is_pure(node)

    def bound(self, segments: Segments) -> tuple[Bounded, Found]:
        """Return the segments with bounds of their bins, and the best cut at a border inside them."""
        fields = self.sums.fields(self.node, segments)
        n_left, samples = fields.sums[:, -2], fields.sums[:, -1]
        borders = self._borders(fields.sums)
        bins = BinSides.between(borders, fields.caps)
        lowest = lower_bounds(self.objective, bins, self.record)
        if self.is_flat:
            lowest = np.where(lowest < np.inf, 0.0, np.inf)
        is_open = (np.diff(n_left, axis=1) > 1) & (segments.low < segments.high)
        if self.min_samples > 1:
            is_open &= samples[:, 1:] >= self.min_samples
            is_open &= samples[:, :-1] <= self.n_samples - self.min_samples
        bounds = np.where(is_open, lowest, np.inf)
        valid = has_enough(samples, self.n_samples, self.min_samples)
        valid &= (n_left > n_left[:, :1]) & (n_left < n_left[:, -1:])
        scores = admissible_scores(self.objective, borders, self.record, valid)
        bounded = Bounded(segments, bounds, n_left[:, :-1], np.diff(samples, axis=1), fields)
        return bounded, self._best(bounded, scores)

    def _borders(self, sums: Ints) -> Cuts:
        left, right = self.sums.sides(self.node, sums)
        return Cuts(left, right, sums[..., -2, :], sums[..., -1, :])

    def _best(self, bounded: Bounded, scores: Floats) -> Found:
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
        return Found(
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
