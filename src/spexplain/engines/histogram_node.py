"""The search for the best cut of one node."""

from typing import Any, NamedTuple

import numpy as np

from spexplain.engines.histogram_bounds import (
    Bins,
    Sums,
    admissible_scores,
    corner_bounds,
    has_enough,
    lower_bounds,
)
from spexplain.engines.histogram_counts import Coded, Counts, Gaps
from spexplain.engines.histogram_threads import Threads, blocks_of
from spexplain.objectives import Objective
from spexplain.typing import Array, Bools, Floats, Ints

_BLOCK = 32  # features whose bounds a thread takes at a time; more where bins are joined
_CORNER_BLOCK = 16  # the same for bounds with clusters moved, whose arrays are larger
_LANES = 32  # blocks of codes that lie vertex by vertex are multiples of this
_N_TOP = (1, 3)  # largest clusters of a bin that are looked at one by one, in turn
_N_GAPS = 1 << 14  # gaps that a thread sweeps at a time
_N_VISITS = 1 << 15  # rows that are worth waking another thread for
_ROWS_PER_BIN = 16  # in nodes with fewer, bins are joined until they hold as many
_ROWS_PER_SORTED_BIN = 4  # the same where all bins are sorted anyway


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
        self.ints, self.floats = ints, floats
        self.node, self.side = node, side
        self.n_samples, self.min_samples = n_samples, min_samples
        self.n_features = len(self.table.columns)
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
        self._join_bins(_ROWS_PER_SORTED_BIN)
        share = -(-self.n_features // self.threads.n_threads)
        return blocks_of(self.n_features, max(1, min(_N_GAPS // len(self.node.rows), share)))

    def _join_bins(self, rows_per_bin: int) -> None:
        shift = 0
        while self.table.n_bins >> shift > 1 and (self.table.n_bins >> shift) * rows_per_bin > len(
            self.node.rows
        ):
            shift += 1
        self.table = self.table.coarser(shift)

    def _sweep_block(self, block: slice, *, first: bool = False) -> Found:
        features = np.arange(block.start, block.stop)
        wanted = np.ones((len(features), self.table.n_bins), dtype=np.bool_)
        nothing = self.counts.nothing(self.side)
        start = np.tile(nothing[:, None], (len(features), 1, 1))
        room = len(features) * len(self.node.rows)
        return self._sweep(features, wanted, start, room, first=first)

    def _sweep(
        self, features: Ints, wanted: Bools, start: Ints, room: int, *, first: bool = False
    ) -> Found:
        """Return the best cut (or the first) between distinct values inside runs of wanted bins."""
        rows, state = self.node
        gaps = Gaps.room(self.counts.n_fields, room)
        n_gaps = self.counts.gaps(state, rows, self.table, features, wanted, start, gaps)
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

    def best_by_bounds(self) -> Found:
        """Return the best of the cuts at borders and of those in between that can be better."""
        if self.counts.takes_shift:
            self._join_bins(_ROWS_PER_BIN)
        self._lay_out()
        self.n_bounded = self.bounds.size
        best = min(self.threads.map(self._bound_block, self._blocks(_BLOCK)))
        blocks = self._blocks(_CORNER_BLOCK)
        # Most blocks are ruled out already: waking another thread for them costs more than they do.
        blocks = [block for block in blocks if np.any(self.bounds[block] <= best.score)]
        self.threads.map(lambda block: self._tighten_block(block, best.score), blocks)
        n_features = self.threads.n_threads
        while True:
            self.worth = self._worth(best)
            features = np.flatnonzero(self.worth.any(axis=1))
            if not len(features):
                return best
            # The lowest bounds first: what they find rules out others.
            lowest = self.bounds[features].min(axis=1)
            features = np.sort(features[np.argsort(lowest, kind="stable")[:n_features]])
            self.n_refined += int(np.count_nonzero(self.worth[features]))
            best = min(best, *self.threads.map(self._refine, self._shares(features)))
            self.bounds[features] = np.inf
            n_features *= 4

    def _blocks(self, width: int) -> list[slice]:
        """Return blocks of features with as many bins as `width` features have before bins are joined."""
        share = -(-self.n_features // self.threads.n_threads)
        width = min(width << self.table.shift, share)
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

    def _bound_block(self, block: slice) -> Found:
        """Write the bounds of a block of features, and return its best cut at a border."""
        rows, state = self.node
        fields, caps = self.fields[block], self.caps[block]
        self.counts.borders(state, rows, self.table, block, fields, caps)
        sums = self._sums(fields)
        bins = Bins.between(sums, caps if self.counts.has_caps else None)
        bounds = lower_bounds(self.objective, bins, self.side)
        self.bounds[block] = np.where(self._is_open(sums, block), bounds, np.inf)
        valid = has_enough(sums.samples_left, self.n_samples, self.min_samples)
        valid &= (sums.n_left > 0) & (sums.n_left < len(rows))
        scores = admissible_scores(self.objective, sums, self.side, valid)
        row, border = divmod(int(np.argmin(scores)), scores.shape[1])
        score = float(scores[row, border])
        if score == np.inf:
            return NOTHING
        last_code = (border << self.table.shift) - 1
        return Found(score, block.start + row, int(sums.n_left[row, border]), last_code)

    def _is_open(self, borders: Sums, block: slice) -> Bools:
        """Return which bins can hold a valid cut."""
        n_left, samples = borders.n_left, borders.samples_left
        is_open = n_left[:, 1:] > n_left[:, :-1] + 1
        if self.table.shift == 0:
            is_open &= ~self.solid[block]
        if self.min_samples > 1:
            is_open &= samples[:, 1:] >= self.min_samples
            is_open &= samples[:, :-1] <= self.n_samples - self.min_samples
        return np.asarray(is_open)

    def _tighten_block(self, block: slice, best: float) -> None:
        """Improve the bounds of those bins of a block that can still win."""
        rows, state = self.node
        bounds = self.bounds[block]
        for n_top in _N_TOP:
            wanted = bounds <= best
            chosen = np.flatnonzero(wanted.any(axis=1))
            if not len(chosen):
                return
            features = chosen + block.start
            corners = self.counts.corners(state, rows, self.table, features, wanted[chosen], n_top)
            if corners is None:
                return
            caps = self.caps[block, 0, 1:][wanted], self.caps[block, 1, :-1][wanted]
            found = corner_bounds(self.objective, corners, caps, self.side)
            bounds[wanted] = np.maximum(bounds[wanted], found)

    def _worth(self, best: Found) -> Bools:
        """Return which bins can hold a better cut, or an equal one that comes earlier."""
        worth = self.bounds < best.score
        if best.score < np.inf:
            earlier = slice(0, best.feature + 1)
            worth[earlier] |= self.bounds[earlier] == best.score
        return np.asarray(worth)

    def _shares(self, features: Ints) -> list[Ints]:
        """Return the features in parts of about equal work that fit the caches."""
        n_members = np.diff(self.fields[features, -2], axis=1)
        n_gaps = np.cumsum(np.sum(n_members, axis=1, where=self.worth[features]))
        n_visits = len(features) * len(self.node.rows) + int(n_gaps[-1])
        n_shares = min(2 * self.threads.n_threads, 1 + n_visits // _N_VISITS)
        share = np.arange(len(features)) * n_shares // len(features)
        return np.split(features, np.flatnonzero(np.diff(share + n_gaps // _N_GAPS)) + 1)

    def _refine(self, features: Ints) -> Found:
        """Return the best cut inside the bins that are worth it."""
        wanted, start = self.worth[features], self.fields[features]
        room = int(np.sum(np.diff(start[:, -2], axis=1), where=wanted))
        return self._sweep(features, wanted, start, room)
