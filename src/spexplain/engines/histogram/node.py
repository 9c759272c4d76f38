"""The search for the best cut of one node."""

from typing import Any, NamedTuple

import numpy as np

from spexplain.engines.histogram.bounds import (
    Bins,
    Sums,
    admissible_scores,
    corner_bounds,
    has_enough,
    lower_bounds,
)
from spexplain.engines.histogram.counts import Coded, Counts, Gaps, Segments
from spexplain.engines.threads import Threads, blocks_of
from spexplain.objectives import Objective
from spexplain.records import Promise
from spexplain.typing import Array, Bools, Floats, Ints

_BLOCK = 1 << 13  # bins whose bounds a thread takes at a time
_LANES = 32  # blocks of codes that lie vertex by vertex are multiples of this
_N_TOP = (1, 3)  # largest clusters of a bin that are looked at one by one, in turn
_N_GAPS = 1 << 14  # gaps that a thread sweeps at a time
_N_ZOOMED_GAPS = 1 << 17  # the same where most are ruled out before
_N_VISITS = 1 << 18  # rows that are worth waking another thread for
_N_ZOOMED, _SHARE_ZOOMED = (
    3000,
    0.02,
)  # rows worth a look at codes: a number, and a share of all visited
_MUCH = 0.5  # share of features left to look at from which on a promise spares more than it costs
_FIRST = 16  # features looked at in the first round, fewer in large nodes
_N_SHARED = 1 << 20  # rows times features of a node from which on threads share it
_MARGIN = 1e-10  # relative; far above what is rounded away from priorities


ALONE = Threads(1)


class Node(NamedTuple):
    """The vertices of a node in ascending order, and what the counts remember of them."""

    rows: Array  # int32
    state: Any


class Found(NamedTuple):
    """A cut that was found; compared in the order in which equal scores are resolved."""

    score: float
    feature: int
    n_left: int
    last_code: int = -1  # of the left side, for cuts at a border: the values are not known yet
    low: float = np.nan
    high: float = np.nan


NOTHING = Found(np.inf, -1, 0)


class Bounded(NamedTuple):
    """Bins of some segments: what was counted, caps, bounds, and the best cut at a border."""

    counted: Any
    caps: Floats
    bounds: Floats
    best: Found


class Frame(NamedTuple):
    """What all nodes of a fit share."""

    table: Coded
    solid: Bools  # bins of a single value, shape (n_features, n_bins)
    objective: Objective
    counts: Counts
    threads: Threads
    ints: Ints  # room for the sums at all borders, written anew for every node
    floats: Floats  # room for caps and bounds


class NodeSearch:
    """The cuts of one node that leave enough samples on both sides."""

    def __init__(
        self, frame: Frame, node: Node, side: Any, n_samples: int, min_samples: int
    ) -> None:
        self.table, self.solid, self.objective, self.counts, self.threads, ints, floats = frame
        self.ints, self.floats, self.whole = ints, floats, self.table
        self.node, self.side = node, side
        self.n_samples, self.min_samples = n_samples, min_samples
        self.n_features = len(self.table.columns)
        if len(node.rows) * self.n_features < _N_SHARED:
            self.threads = ALONE
        self.n_bounded, self.n_refined = 0, 0

    def first_of_all(self) -> Found:
        """Return the first admissible cut, where all of them tie."""
        for block in self._sweep_blocks():
            found = self._sweep_block(block, first=True)
            if found.score < np.inf:
                return found
        return NOTHING

    def best_of_all(self) -> Found:
        """Return the best of all cuts, each looked at."""
        return min(self.threads.map(self._sweep_block, self._sweep_blocks()))

    def _sweep_blocks(self) -> list[slice]:
        self.table = self.table.to_sort(len(self.node.rows))
        share = -(-self.n_features // self.threads.n_threads)
        return blocks_of(self.n_features, max(1, min(_N_GAPS // len(self.node.rows), share)))

    def _sweep_block(self, block: slice, *, first: bool = False) -> Found:
        features = np.arange(block.start, block.stop)
        wanted = np.ones((len(features), self.table.n_bins), dtype=np.bool_)
        nothing = self.counts.nothing(self.side)
        start = np.tile(nothing[:, None], (len(features), 1, 1))
        room = len(features) * len(self.node.rows)
        return self._sweep(self.table, features, wanted, room, start, first=first)

    def _sweep(
        self,
        table: Coded,
        features: Ints,
        wanted: Bools,
        room: int,
        start: Ints,
        *,
        first: bool = False,
    ) -> Found:
        """Return the best cut (or the first) between distinct values inside runs of wanted bins."""
        rows, state = self.node
        gaps = Gaps.room(self.counts.n_fields, room)
        n_gaps = self.counts.gaps(state, rows, table, features, wanted, start, gaps)
        if not n_gaps:
            return NOTHING
        gaps = gaps.first(n_gaps)
        sums = self._sums(gaps.fields)
        valid = has_enough(sums.samples_left, self.n_samples, self.min_samples)
        scores = admissible_scores(self.objective, sums, self.side, valid)
        best = int(np.argmax(scores < np.inf) if first else np.argmin(scores))
        if scores[best] == np.inf:
            return NOTHING
        feature, n_left = int(features[gaps.which[best]]), int(sums.n_left[best])
        low, high = gaps.around[:, best].tolist()
        return Found(float(scores[best]), feature, n_left, low=low, high=high)

    def _sums(self, fields: Ints) -> Sums:
        left, right = self.counts.sides(self.node.state, self.side, fields)
        return Sums(left, right, fields[..., -2, :], fields[..., -1, :])

    def best_by_bounds(self, rival: float) -> Found | Promise:
        """Return the best of the cuts at borders and of those in between that can be better.

        Or a promise: if much is left to look at, and the best is sure to come after the rival.
        """
        self.table = self.table.to_bound(len(self.node.rows), self.counts)
        self._lay_out()
        self.counts.open(self.node.state, self.node.rows, self.table, self.threads)
        self.n_bounded = self.bounds.size
        parts = self.threads.map(self._bound_block, self._blocks())
        best = min(part.best for part in parts)
        if (promise := self._promise(best, rival)) is not None:
            return promise
        # Most parts are ruled out already: waking another thread for them costs more than they do.
        parts = [part for part in parts if np.any(part.bounds <= best.score)]
        self.threads.map(lambda part: self._tighten(part, best.score), parts)
        n_features = max(self.threads.n_threads, min(_FIRST, _N_VISITS // len(self.node.rows)))
        while True:
            self.worth = self._worth(best)
            features = np.flatnonzero(self.worth.any(axis=1))
            if not len(features):
                return best
            if (promise := self._promise(best, rival)) is not None:
                return promise
            # The lowest bounds first: what they find rules out others.
            lowest = self.bounds[features].min(axis=1)
            features = np.sort(features[np.argsort(lowest, kind="stable")[:n_features]])
            self.n_refined += int(np.count_nonzero(self.worth[features]))
            shares = self._shares(features)
            best = min(best, *self.threads.map(lambda share: self._refine(share, best), shares))  # noqa: B023
            self.bounds[features] = np.inf
            n_features *= 4

    def _promise(self, best: Found, rival: float) -> Promise | None:
        """Return what the priority of the best cut cannot fall below, if that is all one needs to know."""
        if rival == np.inf or self.objective.trend is None:
            return None
        n_left = np.count_nonzero(np.any(self.bounds <= best.score, axis=1))
        if n_left <= _MUCH * self.n_features:
            return None
        score = min(best.score, float(self.bounds.min()))
        priority = float(self.objective.priority(score, self.side))
        # The builder compares priorities without their last digits.
        priority -= _MARGIN * (abs(score) + abs(priority))
        return Promise(priority) if priority > rival else None

    def _blocks(self) -> list[slice]:
        """Return the features in blocks; few bins are not worth waking another thread."""
        width = max(1, _BLOCK // self.table.n_bins)
        return blocks_of(
            self.n_features, -(-width // _LANES) * _LANES if self.counts.row_major else width
        )

    def _lay_out(self) -> None:
        """Cut the arrays of this node from the room for the largest."""
        ints, floats = self.ints, self.floats
        n_bins, d = self.table.n_bins, self.n_features
        n_caps, n_fields = d * 2 * (n_bins + 1), self.counts.n_fields
        self.fields = ints[: d * n_fields * (n_bins + 1)].reshape(d, n_fields, n_bins + 1)
        self.caps = floats[:n_caps].reshape(d, 2, n_bins + 1)
        self.bounds = floats[n_caps : n_caps + d * n_bins].reshape(d, n_bins)

    def _bound_block(self, block: slice) -> Bounded:
        """Write the bounds of a block of features."""
        segments = Segments(np.arange(block.start, block.stop))
        room = self.fields[block], self.caps[block], self.bounds[block]
        return self._bound(segments, self.table.shift, *room)

    def _bound(
        self, segments: Segments, shift: int, fields: Ints, caps: Floats, bounds: Floats
    ) -> Bounded:
        """Write sums, caps and bounds of the segments, whose bins hold ``2**shift`` codes each."""
        rows, state = self.node
        counted = self.counts.borders(state, rows, self.table, segments, fields, caps)
        sums = self._sums(fields)
        bins = Bins.between(sums, caps if self.counts.has_caps else None)
        lowest = lower_bounds(self.objective, bins, self.side)
        first_code = np.zeros(1, dtype=np.int64) if segments.bins is None else segments.bins
        first_code = first_code << self.table.shift
        is_open = self._is_open(sums)
        if shift == 0:
            codes = first_code[:, None] + np.arange(bounds.shape[1])
            codes = np.minimum(codes, self.solid.shape[1] - 1)  # the last bin may hold fewer codes
            is_open &= ~self.solid[segments.features[:, None], codes]
        bounds[:] = np.where(is_open, lowest, np.inf)
        valid = has_enough(sums.samples_left, self.n_samples, self.min_samples)
        valid &= (sums.n_left > 0) & (sums.n_left < len(rows))
        scores = admissible_scores(self.objective, sums, self.side, valid)
        row, border = divmod(int(np.argmin(scores)), scores.shape[1])
        best = NOTHING
        if (score := float(scores[row, border])) < np.inf:
            last_code = int(first_code[row % len(first_code)]) + (border << shift) - 1
            n_left = int(sums.n_left[row, border])
            best = Found(score, int(segments.features[row]), n_left, last_code)
        return Bounded(counted, caps, bounds, best)

    def _is_open(self, borders: Sums) -> Bools:
        """Return which bins hold enough members for a valid cut."""
        n_left, samples = borders.n_left, borders.samples_left
        is_open = n_left[:, 1:] > n_left[:, :-1] + 1
        if self.min_samples > 1:
            is_open &= samples[:, 1:] >= self.min_samples
            is_open &= samples[:, :-1] <= self.n_samples - self.min_samples
        return np.asarray(is_open)

    def _tighten(self, part: Bounded, best: float) -> None:
        """Improve the bounds of those bins that can still win."""
        counted, caps, bounds, _ = part
        for n_top in _N_TOP:
            wanted = bounds <= best
            if not wanted.any():
                return
            corners = self.counts.corners(self.node.state, counted, wanted, n_top)
            if corners is None:
                return
            caps_there = caps[:, 0, 1:][wanted], caps[:, 1, :-1][wanted]
            found = corner_bounds(self.objective, corners, caps_there, self.side)
            bounds[wanted] = np.maximum(bounds[wanted], found)

    def _worth(self, best: Found) -> Bools:
        """Return which bins can hold a better cut, or an equal one that comes earlier."""
        return self._can_win(self.bounds, np.arange(self.n_features), best)

    @staticmethod
    def _can_win(bounds: Floats, features: Ints, best: Found) -> Bools:
        """Return which bins of these features can hold a better cut, or an equal one that comes earlier."""
        can = bounds < best.score
        if best.score < np.inf:
            can |= (bounds == best.score) & (features <= best.feature)[:, None]
        return np.asarray(can)

    def _shares(self, features: Ints) -> list[Ints]:
        """Return the features in parts of about equal work that fit the caches."""
        n_members = np.diff(self.fields[features, -2], axis=1)
        n_gaps = np.cumsum(np.sum(n_members, axis=1, where=self.worth[features]))
        n_visits = len(features) * len(self.node.rows) + int(n_gaps[-1])
        n_shares = min(2 * self.threads.n_threads, 1 + n_visits // _N_VISITS)
        share = np.arange(len(features)) * n_shares // len(features)
        most = _N_ZOOMED_GAPS if self.counts.zooms else _N_GAPS
        return np.split(features, np.flatnonzero(np.diff(share + n_gaps // most)) + 1)

    def _refine(self, features: Ints, best: Found) -> Found:
        """Return the best cut inside the bins that are worth it."""
        wanted, start = self.worth[features], self.fields[features]
        room = int(np.sum(np.diff(start[:, -2], axis=1), where=wanted))
        n_visits = len(features) * len(self.node.rows)
        if (
            not self.counts.zooms
            or self.table.shift == 0
            or room < _N_ZOOMED + _SHARE_ZOOMED * n_visits
        ):
            return self._sweep(self.table, features, wanted, room, start)
        return self._zoom(features, wanted, best)

    def _zoom(self, features: Ints, wanted: Bools, best: Found) -> Found:
        """Return the best cut inside wanted bins, after a look at the codes that they hold."""
        places, bins = np.nonzero(wanted)
        segments = Segments(features[places], bins)
        shape, n_codes = len(bins), 1 << self.table.shift
        fields = np.empty((shape, self.counts.n_fields, n_codes + 1), dtype=np.int64)
        caps, bounds = np.empty((shape, 2, n_codes + 1)), np.empty((shape, n_codes))
        part = self._bound(segments, 0, fields, caps, bounds)
        best = min(best, part.best)
        self._tighten(part, best.score)
        can_win = self._can_win(bounds, segments.features, best)
        room = int(np.sum(np.diff(fields[:, -2], axis=1), where=can_win))
        codes = (bins << self.table.shift)[:, None] + np.arange(n_codes)
        n_narrow = self.table.n_bins * n_codes
        narrow = np.zeros((len(features), n_narrow), dtype=np.bool_)
        narrow[places[:, None], codes] = can_win
        chosen = narrow.any(axis=1)
        if not chosen.any():
            return best
        start = np.empty((len(features), self.counts.n_fields, n_narrow + 1), dtype=np.int64)
        ends = np.arange(n_codes + 1)
        start[places[:, None], :, codes[:, :1] + ends] = np.swapaxes(fields, 1, 2)
        found = self._sweep(self.whole, features[chosen], narrow[chosen], room, start[chosen])
        return min(best, found)
