"""The exact engine at histogram speed: bin, count, bound, and look closely only where a cut can win.

Every feature is binned once. The sums at the borders of the bins give the scores of the cuts there,
and bounds for all cuts in between; only bins whose bound is below the best score so far are sorted
and swept. The cut is the one that the exhaustive `NumpyEngine` finds, to the last bit and tie.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from spexplain.engines.binning import bin_table
from spexplain.engines.histogram_bounds import (
    Bins,
    Sums,
    admissible_scores,
    corner_bounds,
    has_enough,
    lower_bounds,
)
from spexplain.engines.histogram_counts import Coded, Counts, Gaps, counts_of
from spexplain.engines.histogram_threads import Threads, blocks_of
from spexplain.engines.numpy import NumpyEngine, count_threads, midpoint
from spexplain.kernels.coding import sides_of, values_around
from spexplain.objectives import Objective
from spexplain.records import Cut, Side
from spexplain.typing import Array, Bools, Ints, Matrix

_N_SMALL = 400  # members up to which sorting all of a node beats bounding first
_BLOCK = 32  # features whose borders a thread scores at a time
_N_TOP = (1, 3)  # largest clusters of a bin that are looked at one by one, in turn
_N_GAPS = 1 << 16  # gaps that a thread sweeps at a time


@dataclass(frozen=True)
class HistogramEngine:
    """Exact search by histograms, bounds and refinement; compiled, and shared by threads.

    Graphs without counts of their own are left to `NumpyEngine`.

    Parameters
    ----------
    n_jobs : int, optional
        Threads; None means 1, -1 all processors. The tree does not depend on it.
    max_bins : int, default=255
        Bins of a feature, 2 to 255. The tree does not depend on it.
    """

    n_jobs: int | None = None
    max_bins: int = 255

    def bind(self, X: Matrix, objective: Objective, *, min_samples_leaf: int = 1) -> Any:
        """Return the search for the cuts of one table under one objective."""
        if not 2 <= self.max_bins <= 255:
            raise ValueError(f"max_bins={self.max_bins} must be from 2 to 255.")
        counts = counts_of(objective.graph, objective.trend)
        if counts is None:
            exhaustive = NumpyEngine(n_jobs=self.n_jobs)
            return exhaustive.bind(X, objective, min_samples_leaf=min_samples_leaf)
        threads = Threads(count_threads(self.n_jobs))
        table = _coded(X, objective.graph.extra, counts, self.max_bins, threads)
        return HistogramSearch(table, objective, counts, min_samples_leaf, threads)


class _Table(NamedTuple):
    coded: Coded
    solid: Bools  # bins of a single value, shape (n_features, n_bins)


def _coded(
    X: Matrix, extra: Matrix | None, counts: Counts, n_bins: int, threads: Threads
) -> _Table:
    """Return the table in bins. Both memory orders of float32 and float64 are taken as they are."""
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    if not (X.flags.c_contiguous or X.flags.f_contiguous):
        X = np.ascontiguousarray(X)
    points = np.empty((0, X.shape[1])) if extra is None else extra
    more = np.ascontiguousarray(points.T, dtype=np.float64)
    codes, solid = bin_table(X.T, more, n_bins, threads, row_major=counts.row_major)
    return _Table(Coded(X.T, more, codes, n_bins), solid)


class Node(NamedTuple):
    """The vertices of a node in ascending order, and what the counts remember of them."""

    rows: Array  # int32
    state: Any


class _Found(NamedTuple):
    """A cut that was found; compared in the order in which equal scores are resolved."""

    score: float
    feature: int
    n_left: int
    last_bin: int = -1  # of the left side, for cuts at a border: the values around are not known yet
    low: float = np.nan
    high: float = np.nan


_NOTHING = _Found(np.inf, -1, 0)


class HistogramSearch:
    """The cuts of one table under one objective."""

    def __init__(
        self,
        table: _Table,
        objective: Objective,
        counts: Counts,
        min_samples_leaf: int,
        threads: Threads,
    ) -> None:
        self.table, self.solid = table
        self.n_features, self.n_samples = self.table.columns.shape
        self.objective = objective
        self.counts = counts
        self.min_samples_leaf = min_samples_leaf
        self.has_extra = objective.graph.extra is not None
        self.threads = threads
        shape = self.n_features, self.table.n_bins + 1
        # Written anew for every node.
        self.fields = np.empty((shape[0], 6, shape[1]), dtype=np.int64)
        self.caps = np.empty((shape[0], 2, shape[1]))
        self.bounds = np.empty(self.solid.shape)

    def root(self) -> Node:
        rows = np.arange(self.table.codes.shape[1], dtype=np.int32)
        return Node(rows, self.counts.root(rows))

    def size(self, node: Node) -> int:
        return int(np.searchsorted(node.rows, self.n_samples))

    def value(self, node: Node) -> float:
        with np.errstate(divide="ignore", invalid="ignore"):
            value = float(self.objective.value(self.counts.node(node.state, node.rows)))
        # Nothing to cut (isolated vertices only): such a leaf adds nothing.
        return 0.0 if np.isnan(value) else value

    def split(self, node: Node, cut: Cut) -> tuple[Node, Node]:
        is_left = np.empty(len(node.rows), dtype=np.bool_)
        columns, extra = self.table.columns, self.table.extra
        sides_of(columns, extra, cut.feature, cut.lower, cut.threshold, node.rows, is_left)
        left, right = self.counts.split(node.state, node.rows, is_left)
        return Node(node.rows[is_left], left), Node(node.rows[~is_left], right)

    def best_cuts(self, nodes: Sequence[Node]) -> list[Cut | None]:
        self.counts.prepare([(node.state, node.rows) for node in nodes], self.table, self.threads)
        return [self._best_cut(node) for node in nodes]

    def _best_cut(self, node: Node) -> Cut | None:
        cut = self._best_with(node, self.min_samples_leaf)
        if cut is None and self.has_extra and self.min_samples_leaf == 1:
            # Centres without samples between them: part the centres all the same.
            cut = self._best_with(node, 0)
        return cut

    def _best_with(self, node: Node, min_samples: int) -> Cut | None:
        if len(node.rows) < 2:
            return None
        side = self.counts.node(node.state, node.rows)
        inside = _Inside(node, side, self.size(node), min_samples)
        if self.objective.flat_if_pure and self.counts.is_pure(node.state):
            best = self._first_of_all(inside)
        elif len(node.rows) <= _N_SMALL:
            best = self._best_of_all(inside)
        else:
            best = self._best_by_bounds(inside)
        if best.score == np.inf:
            return None
        low, high = best.low, best.high
        if best.last_bin >= 0:
            columns, extra, codes, _ = self.table
            low, high = values_around(
                columns, extra, codes, best.feature, node.rows, best.last_bin
            )
        priority = float(self.objective.priority(best.score, side))
        return Cut(best.feature, midpoint(low, high), best.score, priority)

    def _first_of_all(self, inside: "_Inside") -> _Found:
        """Return the first admissible cut: all of them tie."""
        for block in blocks_of(self.n_features, max(1, _N_GAPS // len(inside.node.rows))):
            found = self._sweep_block(inside, block, first=True)
            if found.score < np.inf:
                return found
        return _NOTHING

    def _best_of_all(self, inside: "_Inside") -> _Found:
        """Return the best of all cuts, each looked at."""
        width = max(1, _N_GAPS // len(inside.node.rows))
        blocks = blocks_of(self.n_features, min(width, -(-self.n_features // self.threads.n_threads)))
        return min(self.threads.map(lambda block: self._sweep_block(inside, block), blocks))

    def _sweep_block(self, inside: "_Inside", block: slice, *, first: bool = False) -> _Found:
        features = np.arange(block.start, block.stop)
        wanted = np.ones((len(features), self.table.n_bins), dtype=np.bool_)
        start = np.zeros((len(features), 6, 1), dtype=np.int64)
        start[:, 1] = inside.side.inner
        room = len(features) * len(inside.node.rows)
        return self._sweep(inside, features, wanted, start, room, first=first)

    def _sweep(
        self,
        inside: "_Inside",
        features: Ints,
        wanted: Bools,
        start: Ints,
        room: int,
        *,
        first: bool = False,
    ) -> _Found:
        """Return the best cut (or the first) between distinct values inside runs of wanted bins."""
        node, side, n_samples, min_samples = inside
        gaps = Gaps.room(room)
        n_gaps = self.counts.gaps(
            node.state, node.rows, self.table, features, wanted, start, gaps
        )
        gaps = gaps.first(n_gaps)
        if not n_gaps:
            return _NOTHING
        sums = Sums.of_fields(gaps.fields, side)
        valid = has_enough(sums.samples_left, n_samples, min_samples)
        scores = admissible_scores(self.objective, sums, side, valid)
        best = int(np.argmax(scores < np.inf) if first else np.argmin(scores))
        if scores[best] == np.inf:
            return _NOTHING
        feature, n_left = int(features[gaps.which[best]]), int(sums.n_left[best])
        low, high = gaps.around[:, best].tolist()
        return _Found(float(scores[best]), feature, n_left, low=low, high=high)

    def _best_by_bounds(self, inside: "_Inside") -> _Found:
        """Return the best of the cuts at borders and of those in between that can be better."""
        blocks = blocks_of(self.n_features, _BLOCK)
        best = min(self.threads.map(lambda block: self._bound_block(inside, block), blocks))
        self.threads.map(lambda block: self._tighten_block(inside, block, best.score), blocks)
        n_features = self.threads.n_threads
        while True:
            worth = self._worth(best)
            features = np.flatnonzero(worth.any(axis=1))
            if not len(features):
                return best
            # The lowest bounds first: what they find rules out others.
            lowest = self.bounds[features].min(axis=1)
            features = np.sort(features[np.argsort(lowest, kind="stable")[:n_features]])
            tasks = self._tasks(features, worth)
            best = min(
                best, *self.threads.map(lambda task: self._refine(inside, task, worth), tasks)
            )
            self.bounds[features] = np.inf
            n_features *= 4

    def _bound_block(self, inside: "_Inside", block: slice) -> _Found:
        """Write the bounds of a block of features, and return its best cut at a border."""
        node, side, n_samples, min_samples = inside
        fields, caps = self.fields[block], self.caps[block]
        self.counts.borders(node.state, node.rows, self.table, block, fields, caps)
        sums = Sums.of_fields(fields, side)
        valid = has_enough(sums.samples_left, n_samples, min_samples)
        valid &= (sums.n_left > 0) & (sums.n_left < len(node.rows))
        scores = admissible_scores(self.objective, sums, side, valid)
        is_open = np.diff(sums.n_left, axis=1) > 1
        is_open &= ~self.solid[block]
        is_open &= (sums.samples_left[:, 1:] >= min_samples) & (
            n_samples - sums.samples_left[:, :-1] >= min_samples
        )
        bounds = lower_bounds(self.objective, self._bins(sums, block), side)
        self.bounds[block] = np.where(is_open, bounds, np.inf)
        row, border = divmod(int(np.argmin(scores)), scores.shape[1])
        score = float(scores[row, border])
        if score == np.inf:
            return _NOTHING
        return _Found(score, block.start + row, int(sums.n_left[row, border]), border - 1)

    def _bins(self, borders: Sums, block: slice) -> Bins:
        return Bins.between(borders, self.caps[block] if self.counts.has_caps else None)

    def _tighten_block(self, inside: "_Inside", block: slice, best: float) -> None:
        """Improve the bounds of those bins of a block that can still win, as long as that rules out some."""
        node, side = inside.node, inside.side
        bounds = self.bounds[block]
        for n_top in _N_TOP:
            wanted = bounds <= best
            features = np.flatnonzero(wanted.any(axis=1))
            if not len(features):
                return
            corners = self.counts.corners(
                node.state, node.rows, self.table, features + block.start, wanted[features], n_top
            )
            if corners is None:
                return
            caps = self.caps[block, 0, 1:][wanted], self.caps[block, 1, :-1][wanted]
            found = corner_bounds(self.objective, corners, caps, side)
            bounds[wanted] = np.maximum(bounds[wanted], found)

    def _worth(self, best: _Found) -> Bools:
        """Return which bins can hold a better cut, or an equal one that comes earlier."""
        worth = self.bounds < best.score
        if best.score < np.inf:
            earlier = slice(0, best.feature + 1)
            worth[earlier] |= self.bounds[earlier] == best.score
        return worth

    def _tasks(self, features: Ints, worth: Bools) -> list[Ints]:
        """Return the features in parts of about equal work that fit the caches."""
        n_members = np.diff(self.fields[features, 4], axis=1)
        n_gaps = np.cumsum(np.sum(n_members, axis=1, where=worth[features]))
        part = np.maximum(
            np.arange(len(features)) * 2 * self.threads.n_threads // len(features),
            n_gaps // _N_GAPS,
        )
        return np.split(features, np.flatnonzero(np.diff(part)) + 1)

    def _refine(self, inside: "_Inside", features: Ints, worth: Bools) -> _Found:
        """Return the best cut inside the bins that are worth it."""
        wanted, start = worth[features], self.fields[features]
        room = int(np.sum(np.diff(start[:, 4], axis=1), where=wanted))
        return self._sweep(inside, features, wanted, start, room)


class _Inside(NamedTuple):
    """What a search within a node needs to know of it."""

    node: Node
    side: Side
    n_samples: int
    min_samples: int
