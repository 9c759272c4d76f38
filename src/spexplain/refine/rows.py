"""The rows of a table while the cuts of a tree over them are moved: node by node, sorted or in bins."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from spexplain.aliases import Array, Bools, Floats, Ints, Matrix
from spexplain.engines.exhaustive import midpoint
from spexplain.threads import Threads, blocks_of, count_threads
from spexplain.tree import Test

_N_SHARED = 1 << 14  # entries (features × rows) from which on threads share them
_T = TypeVar("_T")


class PairMoveTable(NamedTuple):
    """Rows that move one by one from their right leaf to their left leaf, as kernels read them.

    A cell is an entry of the table of leaves × clusters, whose last column counts rows of no cluster.
    """

    cells: Array  # left and right cell of every row, in the halves of its bits
    leaf_of_cell: Array
    weights: Bools  # of cells: whether their rows count
    counts: Ints  # rows of each cell while all rows are right
    sizes: Ints  # clustered rows of each leaf then
    rows: Ints  # all rows of each leaf then
    need: Ints  # rows that each leaf must have
    start: tuple[int, int, int]  # pairs in cells, pairs in leaves, leaves below their need
    ratio: tuple[float, float, float, float]
    least: float  # only a higher index counts
    amounts: Ints | None = None  # how many rows each row counts for in pairs; None: one


class NodeRows(Protocol):
    """The rows of a table, parted node by node: a node's rows stand between two places."""

    columns: Matrix  # shape (n_features, n_rows)

    def restart(self) -> None:
        """Forget all partings: one node holds all rows."""

    def rows(self, start: int, stop: int) -> Ints:
        """Return the rows of a node."""

    def part(self, start: int, stop: int, goes_left: Bools) -> None:
        """Bring the rows of a node that go left before the others."""

    def best_move(self, start: int, stop: int, moving: PairMoveTable) -> tuple[float, Test | None]:
        """Return the best index of all cuts of a node that move its rows, and the cut.

        Equal indices resolve to the lowest feature, then the lowest threshold; minus infinity and
        None if no index is high enough.
        """


def index_of(ratio: tuple[float, float, float, float], same: Floats, both: Floats) -> Floats:
    """Return the adjusted Rand index from pairs in cells and in leaves, as the kernels compute it."""
    r0, r1, r2, r3 = ratio
    return (r0 * same + r1 * both) / (r2 + r3 * both)


class SortedRows:
    """All features' orders of a table's rows, parted node by node in place.

    A node's rows are the columns ``start:stop`` of `now`. Entries are ``2 * row + starts``, where
    `starts` is 1 if a value larger than that of the row before begins.

    Parameters
    ----------
    columns : array of shape (n_features, n_rows)
        The table, feature by feature.
    threads : Threads, optional
        Share the features.
    """

    def __init__(self, columns: Matrix, threads: Threads | None = None) -> None:
        self.columns = columns
        self.threads = threads or Threads(1)
        self.sorted = np.empty(columns.shape, dtype=np.int32)
        self.map_features(self._sort, columns.shape[1])
        self.now = self.sorted.copy()

    def _sort(self, features: slice) -> None:
        for feature in range(features.start, features.stop):
            self.sorted[feature] = _sorted(self.columns[feature])

    def restart(self) -> None:
        """Forget all partings: one node holds all rows."""
        np.copyto(self.now, self.sorted)

    def rows(self, start: int, stop: int) -> Ints:
        """Return the rows of a node, in the first feature's order."""
        rows: Ints = self.now[0, start:stop].astype(np.int64) >> 1
        return rows

    def part(self, start: int, stop: int, goes_left: Bools) -> None:
        """Bring the rows of a node that go left before the others."""
        from spexplain.kernels.refine import part_orders

        self.map_features(
            lambda features: part_orders(self.now[features], start, stop, goes_left), stop - start
        )

    def best_move(self, start: int, stop: int, moving: PairMoveTable) -> tuple[float, Test | None]:
        """Return the best index of all cuts of a node that move its rows, and the cut."""
        from spexplain.kernels.agreement import best_moves

        best, places = np.empty(len(self.columns)), np.empty(len(self.columns), dtype=np.int64)

        def search(features: slice) -> None:
            best_moves(self.now[features, start:stop], *moving, best[features], places[features])

        self.map_features(search, stop - start)
        best[places < 0] = -np.inf
        feature = int(np.argmax(best))
        if places[feature] < 0:
            return -np.inf, None
        threshold = self.threshold(feature, start + int(places[feature]))
        return float(best[feature]), Test(feature, upper=threshold)

    def threshold(self, feature: int, place: int) -> float:
        """Return the threshold between the entries `place` - 1 and `place` of a feature's order."""
        low, high = self.columns[feature, self.now[feature, place - 1 : place + 1] >> 1]
        return midpoint(float(low), float(high))

    def best_gap(self, best: Floats, gaps: Ints) -> tuple[float, Test | None]:
        """Return the highest value of all features, and its cut, given by the rows before and after it.

        Equal values resolve to the lowest feature; minus infinity and None where no rows (-1) are given.
        """
        values = np.where(gaps[:, 0] < 0, -np.inf, best)
        feature = int(np.argmax(values))
        if gaps[feature, 0] < 0:
            return -np.inf, None
        low, high = self.columns[feature, gaps[feature]]
        threshold = midpoint(float(low), float(high))
        return float(values[feature]), Test(feature, upper=threshold)

    def map_features(
        self, function: Callable[[slice], _T], n_rows: int, most: int | None = None
    ) -> list[_T]:
        """Call a function on blocks of features, in threads where this pays; results in order.

        `most` limits the entries (features × `n_rows`) of a block.
        """
        n_features = len(self.columns)
        step = n_features if most is None else max(1, most // max(n_rows, 1))
        if self.threads.n_threads == 1 or n_features * n_rows <= _N_SHARED:
            return [function(block) for block in blocks_of(n_features, step)]
        step = min(step, -(-n_features // (4 * self.threads.n_threads)))
        return self.threads.map(function, blocks_of(n_features, step))


@contextmanager
def sorted_table(X: Matrix, extra: Matrix | None, n_jobs: int | None) -> Iterator[SortedRows]:
    """Give the orders of a table and, below its rows, the extra vertices; threads end afterwards."""
    table = X if extra is None else np.concatenate([X, extra])
    columns = np.ascontiguousarray(table.T)
    with Threads(count_threads(n_jobs)) as threads:
        yield SortedRows(columns, threads)
        threads.end()


def _sorted(column: Array) -> Array:
    """Return the order of one column as entries ``2 * row + starts``."""
    if column.dtype == np.float32:
        return _sorted_by_keys(column)
    rows = np.argsort(column, kind="stable")
    values = column[rows]
    order: Array = 2 * rows
    order[1:] += values[1:] > values[:-1]
    return order.astype(np.int32)


def _sorted_by_keys(column: Array) -> Array:
    """Return the same by sorting keys of value and row in one integer: several times faster."""
    bits = (column + np.float32(0)).view(np.uint32)  # adding 0 makes -0 equal to 0
    # Flipping the sign bit, or all bits of negative numbers, makes integers sort as the floats do.
    flip = np.where(bits >> 31, np.uint32(0xFFFFFFFF), np.uint32(0x80000000))
    keys = (bits ^ flip).astype(np.uint64) << np.uint64(32)
    keys |= np.arange(len(column), dtype=np.uint64)
    keys.sort()
    order = (keys.astype(np.uint32) << np.uint32(1)).astype(np.int32)
    order[1:] |= (keys[1:] >> np.uint64(32)) > (keys[:-1] >> np.uint64(32))
    return order
