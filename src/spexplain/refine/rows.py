"""The rows of a table while the cuts of a tree over them are moved: node by node, sorted or in bins."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from scipy import sparse

from spexplain.aliases import Array, Bools, Floats, Ints, Matrix
from spexplain.engines.exhaustive import midpoint
from spexplain.metrics.agreement import cell_totals, pair_sums
from spexplain.table.sparse import canonical, dense, leaves_of
from spexplain.table.storage import is_sparse
from spexplain.threads import Threads, blocks_of, count_threads
from spexplain.tree import Test, Tree

_N_SHARED = 1 << 14  # entries (features × rows) from which on threads share them
_FEW_STORED = 0.25  # share of values that are not zero, up to which the zeros are left out
_T = TypeVar("_T")


class NodeOrders(NamedTuple):
    """The rows of a node as kernels walk over them: one order after the other.

    An order may leave out rows: all of one value, and those of values beyond. They stand behind the
    others, and no cut parts them.
    """

    entries: Array  # 2 * row + starts, which is 1 where another value than that of the entry before begins
    first: Ints  # where the entries of each order begin
    last: Ints  # and end
    rows: Ints  # all rows of the node

    def block(self, orders: slice | Ints) -> "NodeOrders":
        """Return some orders only."""
        return self._replace(first=self.first[orders], last=self.last[orders])

    @property
    def n_entries(self) -> int:
        """Entries of all orders."""
        return int((self.last - self.first).sum())

    def before(self, order: int, place: int) -> Ints:
        """Return the rows before a place of an order."""
        first = int(self.first[order])
        return np.asarray(self.entries[first : first + place] >> 1, dtype=np.int64)

    def parted(self, goes_left: Bools) -> tuple["NodeOrders", "NodeOrders"]:
        """Return the parts of the node that go left and right, with orders of their own."""
        from spexplain.kernels.refine import part_orders

        lengths = self.last - self.first
        ends = np.cumsum(lengths)
        entries, middles = np.empty(int(ends[-1]), dtype=np.int32), np.empty_like(ends)
        part_orders(
            self.entries, self.first, self.last, goes_left, entries, ends - lengths, middles
        )
        own = goes_left[self.rows]
        left = NodeOrders(entries, ends - lengths, middles, self.rows[own])
        return left, NodeOrders(entries, middles, ends, self.rows[~own])


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

    def mirrored(self, members: Ints) -> "PairMoveTable":
        """Return the same while rows move from their left to their right leaf, from some members of a node."""
        half = np.uint64(4 * self.cells.itemsize)
        pairs = self.cells[members].astype(np.uint64)
        into, out = pairs >> half, pairs & ((np.uint64(1) << half) - np.uint64(1))
        cells = self.cells.copy()
        cells[members] = ((out << half) | into).astype(cells.dtype)
        n_leaves, own = len(self.need), None if self.amounts is None else self.amounts[members]
        left: Ints = into.astype(np.int64)
        table = cell_totals(left, own, len(self.counts)).reshape(n_leaves, -1)
        before = pair_sums(self.counts.reshape(n_leaves, -1)[:, :-1])
        same, both = (
            start + after - past
            for start, after, past in zip(
                self.start, pair_sums(table[:, :-1]), before, strict=False
            )
        )
        rows = np.bincount(self.leaf_of_cell[left], minlength=n_leaves)
        return self._replace(
            cells=cells,
            counts=table.ravel(),
            sizes=table[:, :-1].sum(axis=1),
            rows=rows,
            start=(same, both, int(np.sum(rows < self.need))),
        )


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


class Orders:
    """Orders of a table's rows by its features, parted node by node in place.

    Orders by ascending values come first; those behind, by descending values, are *mirrored*: the rows
    before a cut are those that go right.
    """

    columns: Any  # shape (n_features, n_rows); of a feature, all values
    feature_of: Ints  # feature of each order
    n_plain: int  # orders by ascending values
    threads: Threads

    def restart(self) -> None:
        """Forget all partings: one node holds all rows."""
        raise NotImplementedError

    def node(self, start: int, stop: int) -> NodeOrders:
        """Return a node as kernels read it."""
        raise NotImplementedError

    def rows(self, start: int, stop: int) -> Ints:
        """Return the rows of a node."""
        raise NotImplementedError

    def part(self, start: int, stop: int, goes_left: Bools) -> None:
        """Bring the rows of a node that go left before the others."""
        raise NotImplementedError

    def leaves(self, tree: Tree) -> Ints:
        """Return the leaf that each row reaches."""
        raise NotImplementedError

    def taken(self, rows: Ints, features: Ints) -> "SortedRows":
        """Return some rows and columns only, sorted."""
        columns = np.stack([self.columns[feature][rows] for feature in features.tolist()])
        return SortedRows(columns)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.columns.shape[0])

    def best_move(self, start: int, stop: int, moving: PairMoveTable) -> tuple[float, Test | None]:
        """Return the best index of all cuts of a node that move its rows, and the cut."""
        from spexplain.kernels.agreement import best_moves

        node, n_orders = self.node(start, stop), len(self.feature_of)
        best, places = np.empty(n_orders), np.empty(n_orders, dtype=np.int64)
        back = moving.mirrored(node.rows) if self.n_plain < n_orders else moving

        def search(orders: slice, is_mirrored: bool) -> None:
            ways = back if is_mirrored else moving
            best_moves(node.block(orders), *ways, is_mirrored, best[orders], places[orders])

        self.map_orders(search, node)
        order = self._first_best(np.where(places < 0, -np.inf, best))
        if places[order] < 0:
            return -np.inf, None
        return float(best[order]), self.test_at(node, order, int(places[order]))

    def test_at(self, node: NodeOrders, order: int, place: int) -> Test:
        """Return the cut before an entry of an order."""
        after = int(node.entries[place]) >> 1 if place < node.last[order] else -1
        return self.test(order, int(node.entries[place - 1]) >> 1, after, node.rows)

    def test(self, order: int, before: int, after: int, rows: Ints) -> Test:
        """Return the cut of some rows between two of them; -1: those that the order does not name."""
        feature = int(self.feature_of[order])
        x = self.columns[feature]
        ends = [float(x[before]), float(x[after])]
        if after < 0:
            others = x[rows]
            is_plain = order < self.n_plain
            ends[1] = float(
                others[others > x[before]].min() if is_plain else others[others < x[before]].max()
            )
        return Test(feature, upper=midpoint(min(ends), max(ends)))

    def best_gap(self, best: Floats, gaps: Ints, rows: Ints) -> tuple[float, Test | None]:
        """Return the highest value of all orders, and its cut of some rows, given by the two at its gap.

        Equal values resolve to the lowest feature; minus infinity and None where no rows (-1) are given.
        """
        values = np.where(gaps[:, 0] < 0, -np.inf, best)
        order = self._first_best(values)
        before, after = gaps[order].tolist()
        if before < 0:
            return -np.inf, None
        return float(values[order]), self.test(order, before, after, rows)

    def _first_best(self, values: Floats) -> int:
        """Return the order of the highest value; of equal ones that of the lowest feature, plain ones first."""
        ties = np.flatnonzero(values == values.max())
        return int(ties[np.argmin(self.feature_of[ties])])

    def map_orders(self, function: Callable[[slice, bool], _T], node: NodeOrders) -> list[_T]:
        """Call a function on blocks of plain, then of mirrored orders, in threads where this pays."""
        n_orders, n_threads = len(self.feature_of), self.threads.n_threads
        is_shared = n_threads > 1 and node.n_entries > _N_SHARED
        step = -(-n_orders // (4 * n_threads)) if is_shared else n_orders
        parts = ((0, self.n_plain, False), (self.n_plain, n_orders, True))
        blocks = [
            (slice(at, min(at + step, end)), is_mirrored)
            for begin, end, is_mirrored in parts
            for at in range(begin, end, max(step, 1))
        ]
        if not is_shared:
            return [function(*block) for block in blocks]
        return self.threads.map(lambda block: function(*block), blocks)


class SortedRows(Orders):
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
        self.n_plain = len(columns)
        self.feature_of = np.arange(len(columns))
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

    def node(self, start: int, stop: int) -> NodeOrders:
        """Return a node as kernels read it."""
        begins = self.feature_of * len(self.now[0])
        return NodeOrders(
            self.now.reshape(-1), begins + start, begins + stop, self.rows(start, stop)
        )

    def part(self, start: int, stop: int, goes_left: Bools) -> None:
        """Bring the rows of a node that go left before the others."""
        from spexplain.kernels.refine import part_orders

        node = self.node(start, stop)

        def part(orders: slice, is_mirrored: bool) -> None:
            first, last = node.first[orders], node.last[orders]
            part_orders(
                node.entries, first, last, goes_left, node.entries, first, np.empty_like(first)
            )

        self.map_orders(part, node)

    def leaves(self, tree: Tree) -> Ints:
        """Return the leaf that each row reaches."""
        return tree.apply(self.columns.T)

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


class StoredRows(Orders):
    """Orders of the values that are not zero: all cuts of a table with many zeros, and little to walk over.

    Negative values are in an ascending order, positive ones in a descending one, and the zeros stand
    behind both. Columns of few zeros are sorted whole.

    Parameters
    ----------
    X : array of shape (n_rows, n_features), or sparse array
        The table.
    threads : Threads, optional
        Share the orders.
    """

    def __init__(self, X: Any, threads: Threads | None = None) -> None:
        self.X, self.threads = X, threads or Threads(1)
        entries = X if is_sparse(X) else sparse.csc_array(X)
        if not (entries.format == "csc" and entries.has_sorted_indices):
            entries = canonical(entries)
        self.columns: Any = StoredColumns(entries) if is_sparse(X) else X.T
        n_rows, n_features = entries.shape
        stored = np.diff(entries.indptr)
        whole = np.flatnonzero(2 * stored > n_rows)
        column = np.repeat(np.arange(n_features), stored)
        is_positive = entries.data > 0
        # Numbers of orders: whole columns, negative halves, positive halves.
        numbers = np.where(is_positive, column + n_features, column)
        kept = ~np.isin(column, whole)
        numbers, values, rows = numbers[kept], entries.data[kept], entries.indices[kept]
        by_value = np.lexsort((-np.abs(values), numbers))
        numbers, values = numbers[by_value], values[by_value]
        halves = 2 * rows[by_value].astype(np.int32)
        halves[1:] += values[1:] != values[:-1]
        taken, lengths = np.unique(numbers, return_counts=True)
        n_plain = int(np.count_nonzero(taken < n_features))
        parts = [_sorted(np.asarray(self.columns[feature])) for feature in whole.tolist()]
        self.sorted = np.concatenate([*parts, halves]).astype(np.int32)
        self.n_plain = len(whole) + n_plain
        self.feature_of = np.concatenate([whole, taken % n_features])
        ends = np.cumsum(np.concatenate([np.full(len(whole), n_rows), lengths]))
        self._ends = np.append(0, ends)
        # Among plain orders, those of lower features first.
        order = np.concatenate(
            [
                np.argsort(self.feature_of[: self.n_plain], kind="stable"),
                np.arange(self.n_plain, len(self.feature_of)),
            ]
        )
        self.feature_of = self.feature_of[order]
        self._first, self._last = self._ends[:-1][order], self._ends[1:][order]
        self.restart()

    def restart(self) -> None:
        """Forget all partings: one node holds all rows."""
        self.now = self.sorted.copy()
        n_rows = self.X.shape[0]
        self.members = np.arange(n_rows)
        self._places: dict[tuple[int, int], tuple[Ints, Ints]] = {
            (0, n_rows): (self._first, self._last)
        }

    def rows(self, start: int, stop: int) -> Ints:
        """Return the rows of a node, ascending."""
        return self.members[start:stop].copy()

    def node(self, start: int, stop: int) -> NodeOrders:
        """Return a node as kernels read it."""
        return NodeOrders(self.now, *self._places[start, stop], self.rows(start, stop))

    def part(self, start: int, stop: int, goes_left: Bools) -> None:
        """Bring the rows of a node that go left before the others."""
        from spexplain.kernels.refine import part_orders

        node = self.node(start, stop)
        middles = np.empty_like(node.first)

        def part(orders: slice, is_mirrored: bool) -> None:
            first, last = node.first[orders], node.last[orders]
            part_orders(node.entries, first, last, goes_left, node.entries, first, middles[orders])

        self.map_orders(part, node)
        own = goes_left[node.rows]
        middle = start + int(np.count_nonzero(own))
        self.members[start:stop] = np.concatenate([node.rows[own], node.rows[~own]])
        self._places[start, middle] = node.first, middles
        self._places[middle, stop] = middles, node.last

    def leaves(self, tree: Tree) -> Ints:
        """Return the leaf that each row reaches."""
        return leaves_of(tree, self.X)


class StoredColumns:
    """A sparse table as columns: asked for one, it gives all its values."""

    def __init__(self, entries: Any) -> None:
        self.entries = entries
        self.shape = entries.shape[::-1]

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, feature: int) -> Array:
        values: Array = np.zeros(self.shape[1], dtype=self.entries.dtype)
        own = slice(*self.entries.indptr[feature : feature + 2])
        values[self.entries.indices[own]] = self.entries.data[own]
        return values


def is_mostly_zero(X: Any) -> bool:
    """Whether so many values of a table are zero that they are better left out."""
    n_values = int(X.shape[0]) * int(X.shape[1])
    n_stored = X.nnz if is_sparse(X) else int(np.count_nonzero(X))
    return bool(n_stored <= _FEW_STORED * n_values)


@contextmanager
def sorted_table(
    X: Any, extra: Matrix | None, n_jobs: int | None, *, needs_zeros: bool = True
) -> Iterator[Any]:
    """Give the orders of a table and, below its rows, the extra vertices; threads end afterwards.

    Unless zeros are needed, they are left out where there are many: orders are `StoredRows` then, else
    `SortedRows`.
    """
    with Threads(count_threads(n_jobs)) as threads:
        if not needs_zeros and extra is None and is_mostly_zero(X):
            yield StoredRows(X, threads)
        else:
            table = dense(X) if extra is None else np.concatenate([dense(X), extra])
            yield SortedRows(np.ascontiguousarray(table.T), threads)
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
