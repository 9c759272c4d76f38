"""Scores and bounds of the cuts of one node: for any formula by arrays, for those of the house compiled."""

from typing import Any, NamedTuple, Protocol

import numpy as np

from spexplain.aliases import Bools, Floats, Ints
from spexplain.engines.histogram import compiled
from spexplain.engines.histogram.counts import Counts
from spexplain.objectives import Objective
from spexplain.objectives.bounds import (
    Bins,
    Sums,
    admissible_scores,
    corner_bounds,
    has_enough,
    lower_bounds,
)
from spexplain.records import Side


class Question(NamedTuple):
    """A node whose cuts are to be scored, and how many samples they must leave on both sides."""

    state: Any
    side: Any
    n_rows: int
    n_samples: int
    min_samples: int


class Scoring(Protocol):
    """How the cuts of a node are scored and bounded from the fields that counts write."""

    def best(self, asked: Question, fields: Ints, *, first: bool) -> tuple[float, int]:
        """Return score and place of the best cut (or the first admissible); infinity if there is none."""

    def bound(
        self, asked: Question, fields: Ints, caps: Floats, bounds: Floats
    ) -> tuple[float, int, int]:
        """Write the bounds of all bins; return score, part and border of the best cut at a border."""

    def tighten(
        self, asked: Question, corners: Ints, wanted: Bools, caps: Floats, bounds: Floats
    ) -> None:
        """Raise the bounds of the wanted bins to those that follow from their corners."""


def scoring_of(objective: Objective, counts: Counts) -> Scoring:
    """Return the fastest way to score that serves the formula."""
    formulas: tuple[Any, ...] = compiled.FORMULAS
    if (
        counts.has_sides
        and objective.score in formulas
        and isinstance(trend := objective.trend, Side)
    ):
        # Only where sums lower the score is there anything to cap.
        has_caps = counts.has_caps and trend.inner < 0
        return CompiledScoring(formulas.index(objective.score), trend, has_caps)
    return ArrayScoring(objective, counts)


class CompiledScoring(NamedTuple):
    """Scores of a formula of the house, by its number, without arrays in between."""

    formula: int
    trend: Side
    has_caps: bool

    def best(self, asked: Question, fields: Ints, *, first: bool) -> tuple[float, int]:
        _, side, _, n_samples, min_samples = asked
        return compiled.best_gap(self.formula, fields, side, n_samples, min_samples, first)

    def bound(
        self, asked: Question, fields: Ints, caps: Floats, bounds: Floats
    ) -> tuple[float, int, int]:
        used = caps if self.has_caps else None
        return compiled.bound_bins(self.formula, self.trend, fields, used, *asked[1:], bounds)

    def tighten(
        self, asked: Question, corners: Ints, wanted: Bools, caps: Floats, bounds: Floats
    ) -> None:
        compiled.bound_corners(self.formula, self.trend, corners, wanted, caps, asked.side, bounds)


class ArrayScoring(NamedTuple):
    """Scores of any formula: it sees all cuts at once."""

    objective: Objective
    counts: Counts

    def _sums(self, asked: Question, fields: Ints) -> Sums:
        left, right = self.counts.sides(asked.state, asked.side, fields)
        return Sums(left, right, fields[..., -2, :], fields[..., -1, :])

    def best(self, asked: Question, fields: Ints, *, first: bool) -> tuple[float, int]:
        sums = self._sums(asked, fields)
        valid = has_enough(sums.samples_left, asked.n_samples, asked.min_samples)
        scores = admissible_scores(self.objective, sums, asked.side, valid)
        place = int(np.argmax(scores < np.inf) if first else np.argmin(scores))
        return float(scores[place]), place

    def bound(
        self, asked: Question, fields: Ints, caps: Floats, bounds: Floats
    ) -> tuple[float, int, int]:
        sums = self._sums(asked, fields)
        bins = Bins.between(sums, caps if self.counts.has_caps else None)
        lowest = lower_bounds(self.objective, bins, asked.side)
        bounds[:] = np.where(_is_open(sums, asked), lowest, np.inf)
        valid = has_enough(sums.samples_left, asked.n_samples, asked.min_samples)
        valid &= (sums.n_left > 0) & (sums.n_left < asked.n_rows)
        scores = admissible_scores(self.objective, sums, asked.side, valid)
        part, border = divmod(int(np.argmin(scores)), scores.shape[1])
        return float(scores[part, border]), part, border

    def tighten(
        self, asked: Question, corners: Ints, wanted: Bools, caps: Floats, bounds: Floats
    ) -> None:
        caps_there = caps[:, 0, 1:][wanted], caps[:, 1, :-1][wanted]
        found = corner_bounds(self.objective, corners, caps_there, asked.side)
        bounds[wanted] = np.maximum(bounds[wanted], found)


def _is_open(borders: Sums, asked: Question) -> Bools:
    """Return which bins hold enough members for a valid cut."""
    n_left, samples = borders.n_left, borders.samples_left
    is_open = n_left[:, 1:] > n_left[:, :-1] + 1
    if asked.min_samples > 1:
        is_open &= samples[:, 1:] >= asked.min_samples
        is_open &= samples[:, :-1] <= asked.n_samples - asked.min_samples
    return np.asarray(is_open)
