"""The rows of a large table in bins: cuts that cannot win are ruled out without sorting. Loads compiled code."""

from typing import NamedTuple

import numpy as np

from spexplain.aliases import Array, Bools, Floats, Ints, Matrix
from spexplain.engines.exhaustive import midpoint
from spexplain.ledgers.bins import BinnedTable
from spexplain.ledgers.labels import CountingLedger
from spexplain.refine.rows import NodeOrders, PairMoveTable, index_of
from spexplain.table.coding import bin_table
from spexplain.table.views import SearchedMatrix
from spexplain.threads import Threads, blocks_of
from spexplain.tree import Test

_N_BINS = 255
_CELLS = 1 << 18  # of histograms that a thread fills at a time
_MOST_BINS = 4  # of a column that are looked into one by one
_MARGIN = 1e-12  # relative; far above what rounding does to a bound


class _RowKinds(NamedTuple):
    """Rows of a node by the way they move."""

    of_rows: Array  # shape (n_rows,)
    into: Ints  # left cell of each kind
    out: Ints  # right cell


class _BestCut(NamedTuple):
    """A cut; compared in the order in which equal indices are resolved."""

    below: float  # minus the index
    feature: int
    threshold: float


class BinnedRows:
    """The rows of a table and the bins of all their values, parted node by node.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
        The table.
    threads : Threads
        Share the features.
    """

    most_bins = CountingLedger.most_bins
    rows_per_bin = CountingLedger.rows_per_bin

    def __init__(self, X: Matrix, threads: Threads) -> None:
        self.columns, self.threads = X.T, threads
        matrix, none = SearchedMatrix.of(X), np.empty((X.shape[1], 0))
        binned = bin_table(matrix, none, _N_BINS, threads, row_major=False)
        self.codes, self.solid, twins = binned
        self.table = BinnedTable(matrix, none, self.codes, twins, _N_BINS)
        self.restart()

    def restart(self) -> None:
        """Forget all partings: one node holds all rows."""
        self.now = np.arange(self.columns.shape[1], dtype=np.int32)

    def rows(self, start: int, stop: int) -> Ints:
        """Return the rows of a node."""
        return self.now[start:stop].astype(np.int64)

    def part(self, start: int, stop: int, goes_left: Bools) -> None:
        """Bring the rows of a node that go left before the others."""
        rows = self.now[start:stop]
        is_left = goes_left[rows]
        self.now[start:stop] = np.concatenate([rows[is_left], rows[~is_left]])

    def best_move(self, start: int, stop: int, moving: PairMoveTable) -> tuple[float, Test | None]:
        """Return the best index of all cuts of a node that move its rows, and the cut."""
        rows = self.now[start:stop]
        binned = self.table.to_bound(len(rows), self.most_bins, self.rows_per_bin)
        search = _NodeSearch(self, rows, moving, binned.n_bins, binned.shift)
        found = search.best()
        if found is None:
            return -np.inf, None
        return -found.below, Test(found.feature, upper=found.threshold)


class _NodeSearch:
    """The best cut of one node."""

    def __init__(
        self, table: BinnedRows, rows: Array, moving: PairMoveTable, n_bins: int, shift: int
    ) -> None:
        self.table, self.rows, self.moving = table, rows, moving
        self.n_bins, self.shift = n_bins, shift
        half = 4 * moving.cells.itemsize
        pairs, of_rows = np.unique(moving.cells[rows], return_inverse=True)
        into, out = pairs >> half, pairs & ((1 << half) - 1)
        self.kinds = _RowKinds(
            of_rows.astype(np.uint32), into.astype(np.int64), out.astype(np.int64)
        )
        # Leaves to which rows move, as opposed to those that they leave.
        self.is_left = np.zeros(len(moving.rows), dtype=np.bool_)
        self.is_left[moving.leaf_of_cell[self.kinds.into]] = True

    def best(self) -> _BestCut | None:
        """Return the best cut at a border of bins, or inside those bins where a better one can be."""
        d = len(self.table.columns)
        bounds = np.empty((d, self.n_bins))
        width = max(
            1,
            min(
                _CELLS // (self.n_bins * len(self.kinds.into)),
                -(-d // self.table.threads.n_threads),
            ),
        )
        blocks = blocks_of(d, width)
        found = self.table.threads.map(lambda block: self._bound(block, bounds[block]), blocks)
        least = _BestCut(-self.moving.least, d, np.inf)  # what is equal does not count
        best = min([least, *(each for each in found if each is not None)])
        highest = bounds.max(axis=1)
        # The highest bounds first: what they find rules out others.
        for feature in np.argsort(-highest, kind="stable").tolist():
            if highest[feature] < -best.below:
                break
            bins = np.flatnonzero(bounds[feature] >= -best.below).tolist()
            # To look into a bin takes a walk through all rows: where many are left, all are sorted instead.
            spans = (
                [(bins[0], bins[-1])] if len(bins) > _MOST_BINS else zip(bins, bins, strict=True)
            )
            for first, last in spans:
                inside = self._inside(feature, first, last, best)
                best = best if inside is None else min(best, inside)
        return None if best is least else best

    def _bound(self, block: slice, bounds: Floats) -> _BestCut | None:
        """Write what no cut inside a bin exceeds, and return the best cut at a border."""
        from spexplain.kernels.agreement import scan_moves
        from spexplain.kernels.labels import fill_histograms

        kinds, codes, width = self.kinds, self.table.codes, block.stop - block.start
        histograms = np.zeros((width, self.n_bins, len(kinds.into)), dtype=np.int32)
        features = np.arange(block.start, block.stop)
        fill_histograms(codes, self.shift, features, self.rows, kinds.of_rows, 1, histograms)
        sums = np.empty((width, 7, self.n_bins + 1), dtype=np.int64)
        moving = self.moving
        scan_moves(
            histograms, kinds.into, kinds.out, self.is_left, *moving[1:7], moving.start[:2], sums
        )
        same_left, same_right, both_left, both_right, n_left, short_left, short_right = (
            sums[:, field] for field in range(7)
        )
        before, after = np.s_[:, :-1], np.s_[:, 1:]
        same, both = same_left[after] + same_right[before], both_left[before] + both_right[after]
        with np.errstate(divide="ignore", invalid="ignore"):
            highest = index_of(moving.ratio, same, both)
            index = index_of(moving.ratio, same_left + same_right, both_left + both_right)
        is_open = (n_left[after] > n_left[before] + 1) & (short_left[after] == 0)
        is_open &= short_right[before] == 0
        if self.shift == 0:
            is_open &= ~self.table.solid[block]
        bounds[:] = np.where(is_open, highest + _MARGIN * np.abs(highest), -np.inf)
        valid = (n_left > 0) & (n_left < len(self.rows)) & (short_left + short_right == 0)
        index = np.where(valid & (index > self.moving.least), index, -np.inf)
        row, border = divmod(int(np.argmax(index)), index.shape[1])
        if index[row, border] == -np.inf:
            return None
        feature = block.start + row
        return _BestCut(-float(index[row, border]), feature, self._threshold(feature, border))

    def _threshold(self, feature: int, border: int) -> float:
        """Return the threshold between the values on both sides of a border."""
        values = self.table.columns[feature, self.rows]
        is_left = self.table.codes[feature, self.rows] >> self.shift < border
        return midpoint(float(values[is_left].max()), float(values[~is_left].min()))

    def _inside(self, feature: int, first: int, last: int, best: _BestCut) -> _BestCut | None:
        """Return the best cut strictly inside some bins that lie together, if it is better or comes earlier."""
        from spexplain.kernels.agreement import best_moves

        moving, kinds = self.moving, self.kinds
        bins = self.table.codes[feature, self.rows] >> self.shift
        members = self.rows[(bins >= first) & (bins <= last)]
        values = self.table.columns[feature, members]
        order = np.argsort(values, kind="stable")
        values, members = values[order], members[order]
        entries = 2 * members.astype(np.int32)
        entries[1:] += values[1:] > values[:-1]
        moved = np.bincount(kinds.of_rows[bins < first], minlength=len(kinds.into))
        counts, (sizes, rows) = moving.counts.copy(), self._leaves_after(moved)
        np.add.at(counts, kinds.into, moved)
        np.subtract.at(counts, kinds.out, moved)
        same = moving.start[0] + self._pairs(counts, moving.counts, moving.weights)
        both = moving.start[1] + self._pairs(sizes, moving.sizes)
        short = int(np.count_nonzero(rows < moving.need))
        # Equal indices count where they come earlier.
        is_earlier = feature <= best.feature
        least = -best.below if not is_earlier else np.nextafter(-best.below, -np.inf)
        least = max(least, moving.least)
        index, place = np.empty(1), np.empty(1, dtype=np.int64)
        best_moves(
            NodeOrders(entries, np.array([0]), np.array([len(members)]), members),
            moving.cells,
            moving.leaf_of_cell,
            moving.weights,
            counts,
            sizes,
            rows,
            moving.need,
            (same, both, short),
            moving.ratio,
            least,
            None,
            False,
            index,
            place,
        )
        if place[0] < 0:
            return None
        threshold = midpoint(*(float(value) for value in values[place[0] - 1 : place[0] + 1]))
        return _BestCut(-float(index[0]), feature, threshold)

    def _leaves_after(self, moved: Ints) -> tuple[Ints, Ints]:
        """Return the clustered rows and all rows of each leaf once so many of each kind have moved."""
        moving, kinds = self.moving, self.kinds
        sizes, rows = moving.sizes.copy(), moving.rows.copy()
        to, origin = moving.leaf_of_cell[kinds.into], moving.leaf_of_cell[kinds.out]
        clustered = np.where(moving.weights[kinds.into], moved, 0)
        for totals, change in ((sizes, clustered), (rows, moved)):
            np.add.at(totals, to, change)
            np.subtract.at(totals, origin, change)
        return sizes, rows

    @staticmethod
    def _pairs(after: Ints, before: Ints, weights: Bools | bool = True) -> int:
        """Return how many pairs more there are."""
        change = after * (after - 1) - before * (before - 1)
        return int(np.sum(change, where=weights)) // 2
