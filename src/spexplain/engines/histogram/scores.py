"""Scores and bounds of the cuts of one node: of any formula over arrays, of compilable ones in one compiled pass."""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, Protocol

import numpy as np

from spexplain.aliases import Array, Bools, Floats, Ints
from spexplain.kernels.jit import jit, jit_called
from spexplain.ledgers import Ledger
from spexplain.objectives import Objective
from spexplain.objectives.base import COMPILABLE, CutScore
from spexplain.objectives.bounds import (
    MARGIN,
    BinSides,
    CutSums,
    admissible_scores,
    capped_side,
    corner_bounds,
    has_enough,
    holds_cuts,
    lower_bounds,
    optimistic_side,
)
from spexplain.records import Side


class SearchedNode(NamedTuple):
    """A node whose cuts are scored, and the samples that they must leave on both sides."""

    state: Any
    record: Any
    n_rows: int
    n_samples: int
    min_samples: int


class Scores(Protocol):
    """How the cuts of a node are scored and bounded from the fields that its ledger writes."""

    def best(self, node: SearchedNode, fields: Ints, *, first: bool) -> tuple[float, int]:
        """Return score and place of the best cut (or the first admissible); infinity if there is none."""

    def bound(
        self, node: SearchedNode, fields: Ints, caps: Floats, bounds: Floats
    ) -> tuple[float, int, int]:
        """Write the bounds of all bins; return score, range and border of the best cut at a border."""

    def tighten(
        self, node: SearchedNode, corners: Ints, wanted: Bools, caps: Floats, bounds: Floats
    ) -> None:
        """Raise the bounds of the wanted bins to those that follow from their corners."""


def scores_of(objective: Objective, ledger: Ledger) -> Scores:
    """Return the fastest way to score that serves the formula."""
    trend = objective.trend
    if ledger.has_sides and isinstance(trend, Side) and objective.score in COMPILABLE:
        # Only where sums lower the score is there anything to cap.
        return CompiledScores(
            score_kernels(objective.score), trend, ledger.has_caps and trend.inner < 0
        )
    return ArrayScores(objective, ledger)


class ArrayScores(NamedTuple):
    """Scores of any formula: it sees all cuts at once."""

    objective: Objective
    ledger: Ledger

    def _sums(self, node: SearchedNode, fields: Ints) -> CutSums:
        left, right = self.ledger.sides(node.state, node.record, fields)
        return CutSums(left, right, fields[..., -2, :], fields[..., -1, :])

    def best(self, node: SearchedNode, fields: Ints, *, first: bool) -> tuple[float, int]:
        sums = self._sums(node, fields)
        valid = has_enough(sums.samples_left, node.n_samples, node.min_samples)
        scores = admissible_scores(self.objective, sums, node.record, valid)
        place = int(np.argmax(scores < np.inf) if first else np.argmin(scores))
        return float(scores[place]), place

    def bound(
        self, node: SearchedNode, fields: Ints, caps: Floats, bounds: Floats
    ) -> tuple[float, int, int]:
        sums = self._sums(node, fields)
        bins = BinSides.between(sums, caps if self.ledger.has_caps else None)
        lowest = lower_bounds(self.objective, bins, node.record)
        is_open = holds_cuts(sums, node.n_samples, node.min_samples)
        bounds[:] = np.where(is_open, lowest, np.inf)
        valid = has_enough(sums.samples_left, node.n_samples, node.min_samples)
        valid &= (sums.n_left > 0) & (sums.n_left < node.n_rows)
        scores = admissible_scores(self.objective, sums, node.record, valid)
        place, border = divmod(int(np.argmin(scores)), scores.shape[1])
        return float(scores[place, border]), place, border

    def tighten(
        self, node: SearchedNode, corners: Ints, wanted: Bools, caps: Floats, bounds: Floats
    ) -> None:
        caps_there = caps[:, 0, 1:][wanted], caps[:, 1, :-1][wanted]
        found = corner_bounds(self.objective, corners, caps_there, node.record)
        bounds[wanted] = np.maximum(bounds[wanted], found)


class ScoreKernels(NamedTuple):
    """The compiled loops around one formula."""

    best_gap: Callable[..., tuple[float, int]]
    bound_bins: Callable[..., tuple[float, int, int]]
    bound_corners: Callable[..., None]


class CompiledScores(NamedTuple):
    """Scores of a compilable formula, without arrays in between."""

    kernels: ScoreKernels
    trend: Side
    has_caps: bool

    def best(self, node: SearchedNode, fields: Ints, *, first: bool) -> tuple[float, int]:
        _, record, _, n_samples, min_samples = node
        return self.kernels.best_gap(fields, record, n_samples, min_samples, first)

    def bound(
        self, node: SearchedNode, fields: Ints, caps: Floats, bounds: Floats
    ) -> tuple[float, int, int]:
        used = caps if self.has_caps else None
        return self.kernels.bound_bins(self.trend, fields, used, *node[1:], bounds)

    def tighten(
        self, node: SearchedNode, corners: Ints, wanted: Bools, caps: Floats, bounds: Floats
    ) -> None:
        self.kernels.bound_corners(self.trend, corners, wanted, caps, node.record, bounds)


@cache
def score_kernels(score: CutScore) -> ScoreKernels:
    """Return the loops around a compilable formula; they are compiled when first called.

    The lines that run are those of the formula itself and of `spexplain.objectives.bounds`.
    """
    for function in COMPILABLE:
        if function not in _callable_when_compiled:
            _callable_when_compiled.add(function)
            jit_called(function)
    return ScoreKernels(_best_gap(score), _bound_bins(score), _bound_corners(score))


_callable_when_compiled: set[Callable[..., Any]] = set()


def _best_gap(score: CutScore) -> Callable[..., tuple[float, int]]:
    @jit
    def best_gap(
        fields: Ints, node: Side, n_samples: int, min_samples: int, first: bool
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
                value = score(left, right, node)
                if value < best:  # NaN compares false
                    best, place = value, g
                    if first:
                        break
        return best, place

    return best_gap


def _bound_bins(score: CutScore) -> Callable[..., tuple[float, int, int]]:
    @jit
    def bound_bins(
        trend: Side,
        fields: Ints,
        caps: Any,
        node: Side,
        n_rows: int,
        n_samples: int,
        min_samples: int,
        bounds: Floats,
    ) -> tuple[float, int, int]:
        """Write what no cut inside a bin can fall below; return score, range and border of the best at a border.

        Infinity where no valid cut lies inside a bin. Shapes: fields (m, 6, n_bins + 1), caps (m, 2,
        n_bins + 1) or None, bounds (m, n_bins). Cost O(m n_bins).
        """
        best, best_range, best_border = np.inf, 0, 0
        for j in range(len(fields)):
            # There is no bin before the first border.
            left_before, right_before, n_before, n_samples_before = node, node, n_rows, n_samples
            for b in range(fields.shape[2]):
                volume, size = fields[j, 2, b], fields[j, 3, b]
                left = Side(fields[j, 0, b], volume, size)
                right = Side(fields[j, 1, b], node.volume - volume, node.size - size)
                n_left, n_samples_left = fields[j, 4, b], fields[j, 5, b]
                if 0 < n_left < n_rows and min_samples <= n_samples_left <= n_samples - min_samples:
                    value = score(left, right, node)
                    if value < best:
                        best, best_range, best_border = value, j, b
                if b > 0:
                    bounds[j, b - 1] = np.inf
                if n_left > n_before + 1 and (
                    min_samples <= 1
                    or (
                        n_samples_left >= min_samples
                        and n_samples_before <= n_samples - min_samples
                    )
                ):
                    at_left = optimistic_side(left_before, left, trend)
                    at_right = optimistic_side(right, right_before, trend)
                    if caps is None:
                        value = score(at_left, at_right, node)
                    else:
                        capped_left = capped_side(at_left, trend, caps[j, 0, b])
                        capped_right = capped_side(at_right, trend, caps[j, 1, b - 1])
                        value = score(capped_left, capped_right, node)
                    if value < np.inf:
                        bounds[j, b - 1] = value - MARGIN * abs(value)
                left_before, right_before = left, right
                n_before, n_samples_before = n_left, n_samples_left
        return best, best_range, best_border

    return bound_bins


def _bound_corners(score: CutScore) -> Callable[..., None]:
    @jit
    def bound_corners(
        trend: Side, corners: Ints, wanted: Array, caps: Floats, node: Side, bounds: Floats
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
                    volume, more_volume = corners[w, 0, 2, c], corners[w, 1, 2, c]
                    size, more_size = corners[w, 0, 3, c], corners[w, 1, 3, c]
                    left = optimistic_side(
                        Side(corners[w, 0, 0, c], volume, size),
                        Side(corners[w, 1, 0, c], more_volume, more_size),
                        trend,
                    )
                    right = optimistic_side(
                        Side(corners[w, 1, 1, c], node.volume - more_volume, node.size - more_size),
                        Side(corners[w, 0, 1, c], node.volume - volume, node.size - size),
                        trend,
                    )
                    capped_left = capped_side(left, trend, caps[j, 0, b + 1])
                    capped_right = capped_side(right, trend, caps[j, 1, b])
                    value = score(capped_left, capped_right, node)
                    value -= MARGIN * abs(value)
                    lowest = value if value < lowest else lowest
                bound = bounds[j, b]
                bounds[j, b] = lowest if lowest > bound else bound
                w += 1

    return bound_corners
