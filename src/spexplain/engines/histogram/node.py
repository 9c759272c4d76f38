"""The search for the best cut of one node."""

from typing import Any, NamedTuple

import numpy as np

from spexplain.aliases import Array, Bools, Floats, Ints
from spexplain.engines.histogram.counts import Coded, Counts, Gaps, Place, Segments, Wanted
from spexplain.engines.histogram.scoring import Question, Scoring
from spexplain.kernels.bins import survey_bins
from spexplain.objectives import Objective
from spexplain.records import Promise
from spexplain.threads import Threads, blocks_of

_BLOCK = 1 << 13  # bins whose bounds a thread takes at a time
_LANES = 32  # blocks of codes that lie vertex by vertex are multiples of this
_N_TOP = 2  # largest clusters of a bin that are looked at one by one
_N_GAPS = 1 << 14  # gaps that a thread sweeps at a time
_N_ZOOMED_GAPS = 1 << 15  # the same where most are ruled out before
_N_VISITS = 1 << 18  # rows that are worth waking another thread for
_N_ZOOMED, _SHARE_ZOOMED = (
    3000,
    0.02,
)  # rows worth a look at codes: a number, and a share of all visited
_MUCH = 0.5  # share of features left to look at from which on a promise spares more than it costs
_FIRST = 16  # features looked at in the first round, fewer in large nodes
_N_SHARED = 1 << 17  # rows times features of a node, by their cost, from which on threads share it
_MARGIN = 1e-10  # relative; far above what is rounded away from priorities


ALONE = Threads(1)


class Node(NamedTuple):
    """The vertices of a node in ascending order, and what the counts remember of them."""

    rows: Array  # int32
    state: Any
    side: Any  # its sums


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
    scoring: Scoring
    threads: Threads
    ints: Ints  # room for the sums at all borders, written anew for every node
    floats: Floats  # room for caps and bounds


class NodeSearch:
    """The cuts of one node that leave enough samples on both sides."""

    def __init__(self, frame: Frame, node: Node, n_samples: int, min_samples: int) -> None:
        self.table, self.solid, self.objective, self.counts, *_ = frame
        self.scoring, self.threads, self.ints, self.floats = frame[-4:]
        self.node, self.whole = node, self.table
        self.asked = Question(node.state, node.side, len(node.rows), n_samples, min_samples)
        self.n_features = len(self.table.columns)
        if len(node.rows) * self.n_features * self.counts.cost < _N_SHARED:
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
        nothing = self.counts.nothing(self.node.side)
        start = np.tile(nothing[:, None], (len(features), 1, 1))
        room = len(features) * len(self.node.rows)
        return self._sweep(self.table, Wanted(features, wanted, start), room, first=first)

    def _in(self, table: Coded) -> Place:
        rows, state, _ = self.node
        return Place(state, rows, table)

    def _sweep(self, table: Coded, wanted: Wanted, room: int, *, first: bool = False) -> Found:
        """Return the best cut (or the first) between distinct values inside runs of wanted bins."""
        gaps = Gaps.room(self.counts.n_fields, room)
        n_gaps = self.counts.gaps(self._in(table), wanted, gaps)
        if not n_gaps:
            return NOTHING
        gaps = gaps.first(n_gaps)
        score, best = self.scoring.best(self.asked, gaps.fields, first=first)
        if score == np.inf:
            return NOTHING
        feature, n_left = int(wanted.features[gaps.which[best]]), int(gaps.fields[-2, best])
        low, high = gaps.around[:, best].tolist()
        return Found(score, feature, n_left, low=low, high=high)

    def best_by_bounds(self, rival: float) -> Found | Promise:
        """Return the best of the cuts at borders and of those in between that can be better.

        Or a promise: if much is left to look at, and the best is sure to come after the rival.
        """
        n_cells = self.counts.n_cells(self.node.state)
        self.table = self.table.to_bound(len(self.node.rows), self.counts, n_cells)
        self._lay_out()
        self.counts.open(self._in(self.table), self.threads)
        self.n_bounded = self.bounds.size
        best = min(self.threads.map(self._bound_block, self._blocks()))
        n_features = max(self.threads.n_threads, min(_FIRST, _N_VISITS // len(self.node.rows)))
        while True:
            survey_bins(
                self.bounds,
                self.fields,
                best.score,
                best.feature,
                self.worth,
                self.lowest,
                self.n_members,
            )
            features = np.flatnonzero(self.n_members)
            if not len(features):
                return best
            if (promise := self._promise(best, len(features), rival)) is not None:
                return promise
            # The lowest bounds first: what they find rules out others.
            lowest = self.lowest[features]
            features = np.sort(features[np.argsort(lowest, kind="stable")[:n_features]])
            self.n_refined += int(np.count_nonzero(self.worth[features]))
            shares = self._shares(features)
            best = min(best, *self.threads.map(lambda share: self._refine(share, best), shares))  # noqa: B023
            self.bounds[features] = np.inf
            n_features *= 4

    def _promise(self, best: Found, n_left: int, rival: float) -> Promise | None:
        """Return what the priority of the best cut cannot fall below, if that is all one needs to know."""
        if rival == np.inf or self.objective.trend is None or n_left <= _MUCH * self.n_features:
            return None
        score = min(best.score, float(self.lowest.min()))
        priority = float(self.objective.priority(score, self.node.side))
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
        self.worth = np.empty((d, n_bins), dtype=np.bool_)  # bins that can hold the best cut
        self.lowest, self.n_members = np.empty(d), np.empty(d, dtype=np.int64)  # of these
        self.hint = np.inf  # no more than the score of some cut

    def _bound_block(self, block: slice) -> Found:
        """Write the bounds of a block of features; return the best cut at a border."""
        segments = Segments(np.arange(block.start, block.stop))
        room = self.fields[block], self.caps[block], self.bounds[block]
        part = self._bound(segments, self.table.shift, *room)
        # Another thread may write a worse score at the same time: that only rules out less.
        self.hint = min(self.hint, part.best.score)
        self._tighten(part, self.hint)
        return part.best

    def _bound(
        self, segments: Segments, shift: int, fields: Ints, caps: Floats, bounds: Floats
    ) -> Bounded:
        """Write sums, caps and bounds of the segments, whose bins hold ``2**shift`` codes each."""
        counted = self.counts.borders(self._in(self.table), segments, fields, caps)
        score, row, border = self.scoring.bound(self.asked, fields, caps, bounds)
        first_code = np.zeros(1, dtype=np.int64) if segments.bins is None else segments.bins
        first_code = first_code << self.table.shift
        if shift == 0:
            codes = first_code[:, None] + np.arange(bounds.shape[1])
            codes = np.minimum(codes, self.solid.shape[1] - 1)  # the last bin may hold fewer codes
            bounds[self.solid[segments.features[:, None], codes]] = np.inf
        best = NOTHING
        if score < np.inf:
            last_code = int(first_code[row % len(first_code)]) + (border << shift) - 1
            n_left = int(fields[row, -2, border])
            best = Found(score, int(segments.features[row]), n_left, last_code)
        return Bounded(counted, caps, bounds, best)

    def _tighten(self, part: Bounded, best: float) -> None:
        """Improve the bounds of those bins that can still win."""
        counted, caps, bounds, _ = part
        wanted = bounds <= best
        if not wanted.any():
            return
        corners = self.counts.corners(self.node.state, counted, wanted, _N_TOP)
        if corners is not None:
            self.scoring.tighten(self.asked, corners, wanted, caps, bounds)

    @staticmethod
    def _can_win(bounds: Floats, features: Ints, best: Found) -> Bools:
        """Return which bins of these features can hold a better cut, or an equal one that comes earlier."""
        can = bounds < best.score
        if best.score < np.inf:
            can |= (bounds == best.score) & (features <= best.feature)[:, None]
        return np.asarray(can)

    def _shares(self, features: Ints) -> list[Ints]:
        """Return the features in parts of about equal work that fit the caches."""
        n_gaps = np.cumsum(self.n_members[features])
        n_visits = len(features) * len(self.node.rows) + self.counts.cost * int(n_gaps[-1])
        n_shares = min(2 * self.threads.n_threads, 1 + n_visits // _N_VISITS)
        share = np.arange(len(features)) * n_shares // len(features)
        most = _N_ZOOMED_GAPS if self.counts.zooms(self.node.state) else _N_GAPS
        return np.split(features, np.flatnonzero(np.diff(share + n_gaps // most)) + 1)

    def _refine(self, features: Ints, best: Found) -> Found:
        """Return the best cut inside the bins that are worth it."""
        wanted, start = self.worth[features], self.fields[features]
        room = int(np.sum(self.n_members[features]))
        n_visits = len(features) * len(self.node.rows)
        if (
            not self.counts.zooms(self.node.state)
            or self.table.shift == 0
            or room < _N_ZOOMED + _SHARE_ZOOMED * n_visits
        ):
            return self._sweep(self.table, Wanted(features, wanted, start), room)
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
        worth = Wanted(features[chosen], narrow[chosen], start[chosen])
        return min(best, self._sweep(self.whole, worth, room))
