"""The exact engine at histogram speed: bin, count, bound, and look closely only where a cut can win.

Every feature is binned once. The sums at the borders of the bins give the scores of the cuts there,
and bounds for all cuts in between; only bins whose bound is below the best score so far are sorted
and swept. The cut is the one that the exhaustive `NumpyEngine` finds, to the last bit and tie.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from spexplain.aliases import Array, Bools, Floats, Ints, Matrix
from spexplain.engines.base import Search, searches_empty_sides
from spexplain.engines.exhaustive import NumpyEngine, midpoint
from spexplain.engines.histogram.scores import SearchedNode, scores_of
from spexplain.engines.mistakes import MistakeSearch, takes_mistakes
from spexplain.kernels.coding import sides_of, values_around
from spexplain.kernels.ordering import survey_bins
from spexplain.ledgers import Ledger, ledger_of
from spexplain.ledgers.bins import (
    BinnedTable,
    BinRanges,
    Gaps,
    NodeBins,
    WantedBins,
    width_of_lanes,
)
from spexplain.objectives import Objective
from spexplain.objectives.bounds import promise_after
from spexplain.records import Cut, Promise
from spexplain.table.coding import bin_table
from spexplain.table.storage import is_sparse
from spexplain.table.views import SearchedMatrix, written_out
from spexplain.threads import Threads, blocks_of, count_threads

_N_SMALL = 20  # members up to which sorting all of a node beats bounding first
_BLOCK = 1 << 13  # bins whose bounds a thread takes at a time
_N_TOP = 2  # largest clusters of a bin that are looked at one by one
_N_GAPS = 1 << 14  # gaps that a thread sweeps at a time
_N_GAPS_IN_CODES = 1 << 15  # the same where most are ruled out code by code before
_N_VISITS = 1 << 18  # rows that are worth waking another thread for
# Rows from which on single bins are bounded code by code first: a number, and a share of all visited.
_N_BY_CODES, _SHARE_BY_CODES = 3000, 0.02
_MUCH = 0.5  # share of features left to look at from which on a promise spares more than it costs
_FIRST = 16  # features looked at in the first round, fewer in large nodes
_N_SHARED = 1 << 17  # rows times features of a node, by their cost, from which on threads share it
_N_FOR_A_THREAD = 1 << 22  # values of a table, by their cost, that repay one thread beyond two

_ONE_THREAD = Threads(1)


class HistogramNode(NamedTuple):
    """The vertices of a node in ascending order, what the ledger remembers of them, and their sums."""

    rows: Array  # int32
    state: Any
    record: Any


class CandidateCut(NamedTuple):
    """A cut that was found; compared in the order in which equal scores are resolved."""

    score: float
    feature: int
    n_left: int
    last_code: int = -1  # of the left side, for cuts at a border: the values are not known yet
    low: float = np.nan
    high: float = np.nan


NO_CUT = CandidateCut(np.inf, -1, 0)


class BinBounds(NamedTuple):
    """What was found out about the bins of some ranges."""

    counted: Any  # what the ledger returned with the fields
    caps: Floats
    bounds: Floats
    best: CandidateCut  # at a border


class HistogramSearch:
    """The cuts of one table under one objective.

    Parameters
    ----------
    table : BinnedTable
        The table in bins.
    solid : array of bool, shape (n_features, n_bins)
        Bins of a single value.
    objective : Objective
        The graph and the formulas.
    ledger : Ledger
        The ledger of the objective's graph.
    threads : Threads
        Share the features.
    min_samples_leaf : int
        Samples that a cut must leave on both sides.
    """

    def __init__(
        self,
        table: BinnedTable,
        solid: Bools,
        objective: Objective,
        ledger: Ledger,
        threads: Threads,
        min_samples_leaf: int,
    ) -> None:
        self.table, self.solid, self.objective = table, solid, objective
        self.ledger, self.threads = ledger, threads
        self.scores = scores_of(objective, ledger)
        self.n_samples, self.n_features = table.matrix.shape
        self.min_samples_leaf = min_samples_leaf
        n_borders = self.n_features * (self.bins_for(table.codes.shape[1]).n_bins + 1)
        # Room for the fields at all borders, for caps and bounds, written anew for every node.
        self.ints = np.empty(ledger.n_fields * n_borders, dtype=np.int64)
        self.floats = np.empty(3 * n_borders)
        self.n_bounded = 0  # bins bounded in all nodes so far
        self.n_refined = 0  # bins swept because their bound did not rule them out

    def bins_for(self, n_rows: int, n_cells: int = 1) -> BinnedTable:
        """Return the table in the bins that serve to bound the cuts of a node."""
        ledger = self.ledger
        return self.table.to_bound(n_rows, ledger.most_bins, ledger.rows_per_bin, n_cells)

    def root(self) -> HistogramNode:
        rows = np.arange(self.table.codes.shape[1], dtype=np.int32)
        return self._node(rows, self.ledger.root(for_bins=True))

    def _node(self, rows: Array, state: Any) -> HistogramNode:
        return HistogramNode(rows, state, self.ledger.node(state, rows))

    def size(self, node: HistogramNode) -> int:
        if self.n_samples == self.table.codes.shape[1]:  # no extra vertices
            return len(node.rows)
        return int(np.searchsorted(node.rows, self.n_samples))

    def value(self, node: HistogramNode) -> float:
        return self.objective.leaf_value(node.record)

    def split(self, node: HistogramNode, cut: Cut) -> tuple[HistogramNode, HistogramNode]:
        return self.part(node, self.sides(node, cut), cut)

    def sides(self, node: HistogramNode, cut: Cut) -> Bools:
        """Return which members of a node go left."""
        matrix, extra, codes, *_ = self.table
        is_left = np.empty(len(node.rows), dtype=np.bool_)
        sides_of(matrix, extra, codes, cut.feature, cut.lower, cut.threshold, node.rows, is_left)
        return is_left

    def members(self, node: HistogramNode) -> Array:
        """Return the vertices of a node."""
        return node.rows

    def part(
        self, node: HistogramNode, is_left: Bools, cut: Cut
    ) -> tuple[HistogramNode, HistogramNode]:
        """Return the two parts of a node, from the members that go left."""
        with self.threads:
            left, right = self.ledger.split(node.state, node.rows, is_left, cut)
        rows = node.rows
        return self._node(rows.compress(is_left), left), self._node(rows.compress(~is_left), right)

    def best_cuts(
        self, nodes: Sequence[HistogramNode], rival: float = np.inf
    ) -> list[Cut | Promise | None]:
        ledger = self.ledger
        in_bins = [
            NodeBins(state, rows, self.bins_for(len(rows), ledger.n_cells(state)))
            for rows, state, _ in nodes
        ]
        found: list[Cut | Promise | None] = [None] * len(nodes)
        with self.threads as threads:
            ledger.prepare(in_bins, threads)
            # The largest first: its cut often spares the search for those of the others.
            for i in sorted(range(len(nodes)), key=lambda i: -len(nodes[i].rows)):
                found[i] = self._best_cut(nodes[i], in_bins[i].table, rival)
                rival = rival if (cut := found[i]) is None else min(rival, cut.priority)
        return found

    def _best_cut(
        self, node: HistogramNode, table: BinnedTable, rival: float
    ) -> Cut | Promise | None:
        if self.objective.is_leaf(node.record):
            return None
        cut = self._best_with(node, table, self.min_samples_leaf, rival)
        if cut is None and searches_empty_sides(self.objective, self.min_samples_leaf):
            cut = self._best_with(node, table, 0, rival)
        return cut

    def _best_with(
        self, node: HistogramNode, table: BinnedTable, min_samples: int, rival: float
    ) -> Cut | Promise | None:
        if len(node.rows) < 2:
            return None
        cuts = NodeCuts(self, node, min_samples)
        best: CandidateCut | Promise
        if self.objective.flat_if_pure and self.ledger.is_pure(node.state):
            best = cuts.first_of_all()
        elif len(node.rows) <= _N_SMALL:
            best = cuts.best_of_all()
        else:
            best = cuts.best_by_bounds(table, rival)
            self.n_bounded += cuts.n_bounded
            self.n_refined += cuts.n_refined
        if isinstance(best, Promise):
            return best
        if best.score == np.inf:
            return None
        low, high = best.low, best.high
        if best.last_code >= 0:
            matrix, extra, codes, *_ = self.table
            low, high = values_around(matrix, extra, codes, best.feature, node.rows, best.last_code)
        priority = float(self.objective.priority(best.score, node.record))
        return Cut(best.feature, midpoint(low, high), best.score, priority)


class NodeCuts:
    """The cuts of one node that leave enough samples on both sides.

    Parameters
    ----------
    search : HistogramSearch
        The search of the whole fit.
    node : HistogramNode
        The node.
    min_samples : int
        Samples that a cut must leave on both sides.
    """

    def __init__(self, search: HistogramSearch, node: HistogramNode, min_samples: int) -> None:
        self.search, self.ledger, self.scores = search, search.ledger, search.scores
        self.table, self.threads, self.n_features = search.table, search.threads, search.n_features
        self.rows, self.state, self.record = node
        self.node = SearchedNode(*node[1:], len(node.rows), search.size(node), min_samples)
        if len(self.rows) * self.n_features * self.ledger.row_cost < _N_SHARED:
            self.threads = _ONE_THREAD
        self.n_bounded, self.n_refined = 0, 0

    def first_of_all(self) -> CandidateCut:
        """Return the first admissible cut, where all of them tie."""
        for block in self._sweep_blocks():
            found = self._sweep_block(block, first=True)
            if found.score < np.inf:
                return found
        return NO_CUT

    def best_of_all(self) -> CandidateCut:
        """Return the best of all cuts, each looked at."""
        return min(self.threads.map(self._sweep_block, self._sweep_blocks()))

    def _sweep_blocks(self) -> list[slice]:
        self.table = self.table.to_sort(len(self.rows))
        share = -(-self.n_features // self.threads.n_threads)
        return blocks_of(self.n_features, max(1, min(_N_GAPS // len(self.rows), share)))

    def _sweep_block(self, block: slice, *, first: bool = False) -> CandidateCut:
        features = np.arange(block.start, block.stop)
        wanted = np.ones((len(features), self.table.n_bins), dtype=np.bool_)
        start = np.tile(self.ledger.empty_fields(self.record)[:, None], (len(features), 1, 1))
        room = len(features) * len(self.rows)
        return self._sweep(self.table, WantedBins(features, wanted, start), room, first=first)

    def _in(self, table: BinnedTable) -> NodeBins:
        return NodeBins(self.state, self.rows, table)

    def _sweep(
        self, table: BinnedTable, wanted: WantedBins, room: int, *, first: bool = False
    ) -> CandidateCut:
        """Return the best cut (or the first) between distinct values inside runs of wanted bins."""
        gaps = Gaps.room(self.ledger.n_fields, room)
        n_gaps = self.ledger.gaps(self._in(table), wanted, gaps)
        if not n_gaps:
            return NO_CUT
        gaps = gaps.first(n_gaps)
        score, best = self.scores.best(self.node, gaps.fields, first=first)
        if score == np.inf:
            return NO_CUT
        feature, n_left = int(wanted.features[gaps.which[best]]), int(gaps.fields[-2, best])
        low, high = gaps.around[:, best].tolist()
        return CandidateCut(score, feature, n_left, low=low, high=high)

    def best_by_bounds(self, table: BinnedTable, rival: float) -> CandidateCut | Promise:
        """Return the best of the cuts at borders of bins and of those in between that can be better.

        Or a promise: if much is left to look at, and the best is sure to come after the rival.
        """
        self.table = table
        self._lay_out()
        self.ledger.count(self._in(self.table), self.threads)
        self.n_bounded = self.bounds.size
        best = min(self.threads.map(self._bound_block, self._blocks()))
        n_features = max(self.threads.n_threads, min(_FIRST, _N_VISITS // len(self.rows)))
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
            features = self.n_members.nonzero()[0]
            if not len(features):
                return best
            if (promise := self._promise(best, len(features), rival)) is not None:
                return promise
            if (
                len(features) > n_features
            ):  # the lowest bounds first: what they find rules out others
                lowest = self.lowest[features]
                features = np.sort(features[np.argsort(lowest, kind="stable")[:n_features]])
            self.n_refined += int(np.count_nonzero(self.worth[features]))
            shares = self._shares(features)
            best = min(best, *self.threads.map(lambda share: self._refine(share, best), shares))  # noqa: B023
            self.bounds[features] = np.inf
            n_features *= 4

    def _promise(self, best: CandidateCut, n_left: int, rival: float) -> Promise | None:
        """Return what the priority of the best cut cannot fall below, if that is all one needs to know."""
        objective = self.search.objective
        if rival == np.inf or objective.trend is None or n_left <= _MUCH * self.n_features:
            return None
        score = min(best.score, float(self.lowest.min()))
        return promise_after(objective, score, self.record, rival)

    def _blocks(self) -> list[slice]:
        """Return the features in blocks; few bins are not worth waking another thread."""
        width = max(1, _BLOCK // self.table.n_bins)
        if self.ledger.row_major:
            lanes = width_of_lanes(self.n_features, self.threads)
            return blocks_of(self.n_features, -(-width // lanes) * lanes)
        if self.table.shared.any():  # little is left to do for twins
            width *= 2
        return self.table.blocks(width)

    def _lay_out(self) -> None:
        """Cut the arrays of this node from the room for the largest."""
        ints, floats = self.search.ints, self.search.floats
        n_bins, d = self.table.n_bins, self.n_features
        n_caps, n_fields = d * 2 * (n_bins + 1), self.ledger.n_fields
        self.fields = ints[: d * n_fields * (n_bins + 1)].reshape(d, n_fields, n_bins + 1)
        self.caps = floats[:n_caps].reshape(d, 2, n_bins + 1)
        self.bounds = floats[n_caps : n_caps + d * n_bins].reshape(d, n_bins)
        self.worth = np.empty((d, n_bins), dtype=np.bool_)  # bins that can hold the best cut
        self.lowest, self.n_members = np.empty(d), np.empty(d, dtype=np.int64)  # of these
        self.hint = np.inf  # no more than the score of some cut

    def _bound_block(self, block: slice) -> CandidateCut:
        """Write the bounds of a block of features; return the best cut at a border."""
        ranges = BinRanges(np.arange(block.start, block.stop))
        room = self.fields[block], self.caps[block], self.bounds[block]
        part = self._bound(ranges, self.table.shift, *room)
        # Another thread may write a worse score at the same time: that only rules out less.
        self.hint = min(self.hint, part.best.score)
        self._tighten(part, self.hint)
        return part.best

    def _bound(
        self, ranges: BinRanges, shift: int, fields: Ints, caps: Floats, bounds: Floats
    ) -> BinBounds:
        """Write fields, caps and bounds of the ranges, whose bins hold ``2**shift`` codes each."""
        counted = self.ledger.border_fields(self._in(self.table), ranges, fields, caps)
        score, row, border = self.scores.bound(self.node, fields, caps, bounds)
        first_code = np.zeros(1, dtype=np.int64) if ranges.bins is None else ranges.bins
        first_code = first_code << self.table.shift
        if shift == 0:
            solid = self.search.solid
            codes = first_code[:, None] + np.arange(bounds.shape[1])
            codes = np.minimum(codes, solid.shape[1] - 1)  # the last bin may hold fewer codes
            bounds[solid[ranges.features[:, None], codes]] = np.inf
        best = NO_CUT
        if score < np.inf:
            last_code = int(first_code[row % len(first_code)]) + (border << shift) - 1
            n_left = int(fields[row, -2, border])
            best = CandidateCut(score, int(ranges.features[row]), n_left, last_code)
        return BinBounds(counted, caps, bounds, best)

    def _tighten(self, part: BinBounds, best: float) -> None:
        """Improve the bounds of those bins that can still win."""
        counted, caps, bounds, _ = part
        wanted = bounds <= best
        if not wanted.any():
            return
        corners = self.ledger.corners(self.state, counted, wanted, _N_TOP)
        if corners is not None:
            self.scores.tighten(self.node, corners, wanted, caps, bounds)

    @staticmethod
    def _can_win(bounds: Floats, features: Ints, best: CandidateCut) -> Bools:
        """Return which bins of these features can hold a better cut, or an equal one that comes earlier."""
        can = bounds < best.score
        if best.score < np.inf:
            can |= (bounds == best.score) & (features <= best.feature)[:, None]
        return np.asarray(can)

    def _shares(self, features: Ints) -> list[Ints]:
        """Return the features in parts of about equal work that fit the caches."""
        n_gaps = self.n_members[features].cumsum()
        n_visits = len(features) * len(self.rows) + self.ledger.row_cost * int(n_gaps[-1])
        n_shares = min(2 * self.threads.n_threads, 1 + n_visits // _N_VISITS)
        most = _N_GAPS_IN_CODES if self.ledger.knows_codes(self.state) else _N_GAPS
        if n_shares == 1 and n_gaps[-1] < most:
            return [features]
        share = np.arange(len(features)) * n_shares // len(features)
        return np.split(features, np.flatnonzero(np.diff(share + n_gaps // most)) + 1)

    def _refine(self, features: Ints, best: CandidateCut) -> CandidateCut:
        """Return the best cut inside the bins that are worth it."""
        wanted, start = self.worth[features], self.fields[features]
        room = int(self.n_members[features].sum())
        n_visits = len(features) * len(self.rows)
        if (
            not self.ledger.knows_codes(self.state)
            or self.table.shift == 0
            or room < _N_BY_CODES + _SHARE_BY_CODES * n_visits
        ):
            return self._sweep(self.table, WantedBins(features, wanted, start), room)
        return self._refine_by_codes(features, wanted, best)

    def _refine_by_codes(self, features: Ints, wanted: Bools, best: CandidateCut) -> CandidateCut:
        """Return the best cut inside wanted bins, after bounding the cuts inside the codes that they hold."""
        places, bins = np.nonzero(wanted)
        ranges = BinRanges(features[places], bins)
        n_ranges, n_codes = len(bins), 1 << self.table.shift
        fields = np.empty((n_ranges, self.ledger.n_fields, n_codes + 1), dtype=np.int64)
        caps, bounds = np.empty((n_ranges, 2, n_codes + 1)), np.empty((n_ranges, n_codes))
        part = self._bound(ranges, 0, fields, caps, bounds)
        best = min(best, part.best)
        self._tighten(part, best.score)
        can_win = self._can_win(bounds, ranges.features, best)
        room = int(np.sum(np.diff(fields[:, -2], axis=1), where=can_win))
        codes = (bins << self.table.shift)[:, None] + np.arange(n_codes)
        n_narrow = self.table.n_bins * n_codes
        narrow = np.zeros((len(features), n_narrow), dtype=np.bool_)
        narrow[places[:, None], codes] = can_win
        chosen = narrow.any(axis=1)
        if not chosen.any():
            return best
        start = np.empty((len(features), self.ledger.n_fields, n_narrow + 1), dtype=np.int64)
        ends = np.arange(n_codes + 1)
        start[places[:, None], :, codes[:, :1] + ends] = np.swapaxes(fields, 1, 2)
        worth = WantedBins(features[chosen], narrow[chosen], start[chosen])
        return min(best, self._sweep(self.search.table, worth, room))


@dataclass(frozen=True)
class HistogramEngine:
    """Exact search by histograms, bounds and refinement; compiled, and shared by threads.

    Graphs whose ledger knows nothing of bins are left to `NumpyEngine`.

    Parameters
    ----------
    n_jobs : int, optional
        Number of threads at most; None means 1, -1 all processors. Small tables get fewer. The tree does not
        depend on it.
    max_bins : int, default=255
        Bins of a feature, 2 to 255. The tree does not depend on it.
    """

    n_jobs: int | None = None
    max_bins: int = 255
    takes_entries: ClassVar[bool] = True
    takes_views: ClassVar[bool] = True

    def bind(self, X: Matrix, objective: Objective, *, min_samples_leaf: int = 1) -> Search:
        """Return the search for the cuts of one table under one objective."""
        if not 2 <= self.max_bins <= 255:
            raise ValueError(f"max_bins={self.max_bins} must be from 2 to 255.")
        if is_sparse(X):
            from spexplain.engines.sparse import CompiledSparseSearch, searched_entries

            return searched_entries(self, CompiledSparseSearch, X, objective, min_samples_leaf)
        ledger = ledger_of(objective.graph, objective.trend)
        if not ledger.has_bins:
            exhaustive = NumpyEngine(n_jobs=self.n_jobs)
            return exhaustive.bind(written_out(X), objective, min_samples_leaf=min_samples_leaf)
        matrix = X if isinstance(X, SearchedMatrix) else SearchedMatrix.of(X)
        values = matrix.values
        # Both memory orders of float32 and float64 are taken as they are.
        if values.dtype not in (np.float32, np.float64):
            values = values.astype(np.float64)
        if not (values.flags.c_contiguous or values.flags.f_contiguous):
            values = np.ascontiguousarray(values)
        matrix = matrix._replace(values=values)
        extra = objective.graph.extra
        points = np.empty((0, matrix.shape[1])) if extra is None else extra
        more = np.ascontiguousarray(points.T, dtype=np.float64)
        # Every thread is handed work a few times per node, which small tables do not repay.
        n_repaid = 2 + values.size * ledger.row_cost // _N_FOR_A_THREAD
        threads = Threads(min(count_threads(self.n_jobs), n_repaid))
        if takes_mistakes(matrix, objective):
            return MistakeSearch(matrix, more, objective, threads, min_samples_leaf)
        with threads:
            binned = bin_table(matrix, more, self.max_bins, threads, row_major=ledger.row_major)
        codes, solid, twins = binned
        table = BinnedTable(matrix, more, codes, twins, self.max_bins)
        return HistogramSearch(table, solid, objective, ledger, threads, min_samples_leaf)
