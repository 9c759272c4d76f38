"""The interface of tables, wherever their values are stored: `Rows` for predictions, `Table` for fits."""

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from threading import Lock
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np

from spexplain.aliases import EngineName, Floats, Ints, Matrix, NoisePolicy
from spexplain.arguments import check_weights
from spexplain.table.columns import column_numbers, default_names
from spexplain.table.coordinates import Coordinates
from spexplain.table.distances import CostName
from spexplain.table.reference import Reference
from spexplain.table.storage import is_sparse, on_host
from spexplain.tree import Column, Kind, Tree

_CACHE_ROOM = 1 << 30  # bytes
_AT_A_TIME = 1 << 22  # values that are copied as floats at a time
_FOR_TRAINING_ROWS = (
    "pass the training rows as X, computed, to an estimator that was fitted to them"
)
_Found = TypeVar("_Found")


class GroupSums(NamedTuple):
    """Sums over groups of rows, measured from an origin near them."""

    counts: Ints  # shape (n_groups,)
    sums: Floats  # shape (n_groups, n_columns)
    squares: Floats  # shape (n_groups,): of the lengths of the rows


class Margins(NamedTuple):
    """Sums over the rows of every leaf, and over those of every cluster; rows of no cluster are left out."""

    counts: Ints  # shape (n_leaves, n_clusters)
    leaves: GroupSums
    clusters: GroupSums
    origin: Floats  # what rows are measured from

    @classmethod
    def of_pairs(cls, found: GroupSums, shape: tuple[int, int], origin: Floats) -> Self:
        """Return the sums by leaf and by cluster, computed from the sums by pair of leaf and cluster."""
        counts, squares = found.counts.reshape(shape), found.squares.reshape(shape)
        sums = found.sums.reshape(*shape, found.sums.shape[1])
        by_leaf, by_cluster = (
            GroupSums(counts.sum(axis=axis), sums.sum(axis=axis), squares.sum(axis=axis))
            for axis in (1, 0)
        )
        return cls(counts, by_leaf, by_cluster, origin)


class ColumnCache:
    """Results about columns by key; the least recently used ones make room for others.

    Parameters
    ----------
    room : int
        Bytes that arrays may take in all.

    Examples
    --------
    >>> from spexplain.table.base import ColumnCache
    >>> cache = ColumnCache()
    >>> cache.get("order", lambda: [2, 0, 1]), cache.get("order", lambda: "not asked again")
    ([2, 0, 1], [2, 0, 1])
    """

    def __init__(self, room: int = _CACHE_ROOM) -> None:
        self.room = room
        self._held: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._lock = Lock()
        self._n_bytes = 0

    def get(self, key: Hashable, compute: Callable[[], _Found]) -> _Found:
        """Return the result for a key; compute it if it is not in the cache."""
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                known: _Found = self._held[key][0]
                return known
        found = compute()  # two threads may do so at the same time, with the same result
        parts = found if isinstance(found, tuple) else (found,)
        n_bytes = sum(getattr(each, "nbytes", 0) for each in parts)
        with self._lock:
            if key not in self._held and n_bytes <= self.room:
                self._held[key] = found, n_bytes
                self._n_bytes += n_bytes
                while self._n_bytes > self.room:
                    _, (_, freed) = self._held.popitem(last=False)
                    self._n_bytes -= freed
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.room,)  # copies and pickles start anew


class ColumnOrder(NamedTuple):
    """The rows of a table in the order of one column."""

    rows: Ints  # those without a value last; the order of equal values is not defined
    values: Floats  # of the rows that have one

    @classmethod
    def of(cls, x: Floats) -> "ColumnOrder":
        """Return the order of the values of a column."""
        rows = np.argsort(x)
        n_known = len(x) - int(np.count_nonzero(np.isnan(x)))
        small = np.int32 if len(x) < 2**31 else np.int64
        return cls(rows.astype(small), x[rows[:n_known]])


class NodeValues(NamedTuple):
    """The training values around the tests of a tree, by node; NaN where there are none, and in leaves.

    `below` and `above` are the greatest value that is not above the threshold and the least that is;
    `lower_below` and `lower_above` the same for the lower bound of interval tests.
    """

    below: Floats
    above: Floats
    lower_below: Floats
    lower_above: Floats
    n_missing: Ints  # rows without a value
    present: Mapping[int, frozenset[int]]  # codes that rows have, by node with a test of categories
    leaves: Ints | None = None  # leaf id of every row, where the walk passes them all on the host


class Rows(ABC):
    """Rows with the columns of a training table, as predictions need them."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    @abstractmethod
    def leaves(self, tree: Tree) -> Any:
        """Return the leaf id of every row, where the rows lie."""

    @abstractmethod
    def to_host(self, what: str = "This", instead: str = _FOR_TRAINING_ROWS) -> Matrix:
        """Return the values as a NumPy matrix.

        If the table does not fit into memory, the error says that `what` needs it and what to do `instead`.
        """


class Table(Rows):
    """A table that an estimator can be fitted to: columns with names and kinds, and rows."""

    # The engine that works where the values lie; None: any engine of the host.
    engine: ClassVar[EngineName | None] = None
    values: Any  # what engines and graphs take: a matrix, a device array, or the partitions
    names: tuple[str, ...] | None  # names of the columns, if the user gave any
    kinds: Kind | tuple[Kind, ...]  # of all columns, or one by one
    described: tuple[Column, ...] | None = None  # what the columns hold, if kinds do not tell

    @abstractmethod
    def select(self, columns: Sequence[int]) -> Self:
        """Return the table of some columns only."""

    def take(self, rows: Ints) -> Self:
        """Return the table of some rows only."""
        raise NotImplementedError

    def part(self, rows: Ints) -> Self:
        """Return some rows as part of this table: their points have the coordinates that they have here."""
        return self.take(rows)

    @cached_property
    def known(self) -> ColumnCache:
        """Cache of what was computed about single columns."""
        return ColumnCache()

    def column(self, number: int) -> Floats:
        """Return the values of one column as float64, NaN for missing values; read-only."""
        return self.known.get(("values", number), lambda: self._column(number))

    def _column(self, number: int) -> Floats:
        rows = self.select([number]).to_host("An edit", "pass a table in memory")
        dense: Any = rows.toarray() if hasattr(rows, "toarray") else rows
        return np.ascontiguousarray(np.asarray(dense, dtype=np.float64)[:, 0])

    def order(self, number: int) -> ColumnOrder:
        """Return the rows in the order of a column, those without a value last."""
        return self.known.get(("order", number), lambda: ColumnOrder.of(self.column(number)))

    @abstractmethod
    def training_rows(self) -> Matrix:
        """Return the values on the host as they were at the fit."""

    @abstractmethod
    def sums(self, groups: Any, n_groups: int) -> GroupSums:
        """Return rows, sums and squared lengths of every group, measured from `origin`.

        Rows of group -1 are left out.
        """

    def shared_sums(self, shares: Any) -> GroupSums:
        """Return the same as `sums`, for groups that each have a share of every row.

        Parameters
        ----------
        shares : sparse array of shape (n_rows, n_groups)
            How much of each row belongs to each group.
        """
        n_rows, n_columns = self.shape
        sizes = np.asarray(shares.sum(axis=0)).ravel()
        found = GroupSums(sizes, np.zeros((len(sizes), n_columns)), np.zeros(len(sizes)))
        step = max(1, _AT_A_TIME // max(n_columns, 1))
        for start in range(0, n_rows, step):
            sums, squares = self._block_sums(
                slice(start, start + step), shares[start : start + step]
            )
            np.add(found.sums, sums, out=found.sums)
            np.add(found.squares, squares, out=found.squares)
        return found

    def _block_sums(self, rows: slice, shares: Any) -> tuple[Floats, Floats]:
        """Return the shared sums, and those of squared lengths, of some rows."""
        gaps = self.values[rows].astype(np.float64) - self.origin
        return shares.T @ gaps, shares.T @ np.einsum("ij,ij->i", gaps, gaps)

    @property
    @abstractmethod
    def origin(self) -> Floats:
        """A point near the rows; squared distances from it lose few digits."""

    @abstractmethod
    def scales(self, features: Ints) -> Floats:
        """Return the standard deviations of some columns; NaN elsewhere."""

    @abstractmethod
    def centers(self, codes: Any, n_clusters: int, cost: CostName) -> Floats:
        """Return the mean (k-medians: the coordinate-wise median) of every cluster."""

    @abstractmethod
    def nearest(self, centers: Floats, cost: CostName) -> Any:
        """Return the nearest centre of every row."""

    def reference(self, y: Any, noise: NoisePolicy = "ignore") -> Reference:
        """Return the labels of the rows as a clustering to explain."""
        return Reference.from_labels(y, n_samples=len(self), noise=noise)

    def weights(self, sample_weight: Any) -> Floats | None:
        """Return the weights of the rows; None where all are one."""
        return check_weights(on_host(sample_weight), len(self))

    def leaf_sizes(self, leaves: Any, n_leaves: int) -> Ints:
        """Return the number of rows of every leaf, from leaf ids as `fetch` gives them."""
        counted: Ints = on_host(np.bincount(leaves, minlength=n_leaves))
        return counted.astype(np.int64)

    @abstractmethod
    def fetch(self, leaves: Any) -> Any:
        """Return leaf ids as a fit keeps them: on the host, or lazy."""

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def size(self) -> int:
        """Number of values."""
        return self.shape[0] * self.shape[1]

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Names and kinds of the columns."""
        if self.described is not None:
            return self.described
        n_columns = self.shape[1]
        names = default_names(n_columns) if self.names is None else self.names
        kinds = (self.kinds,) * n_columns if isinstance(self.kinds, str) else self.kinds
        return tuple(map(Column, names, kinds))

    @cached_property
    def is_plain(self) -> bool:
        """Whether all columns are numbers, and no value is missing: engines search the values themselves."""
        return not any(each.kind == "category" or each.has_missing for each in self.columns)

    def named(self, names: tuple[str, ...], *, are_words: bool = False) -> Self:
        """Return the table with names given by the caller; columns are words if a text vectorizer gave the names.

        Tables outside the host stay as they are, as explanations hold the names.
        """
        return self

    def as_points(self) -> "Table":
        """Return the table that distances, centres and costs are computed from: numbers without gaps."""
        return self

    def for_sums(self) -> "Table":
        """Return a table with the same sums over groups of rows as `as_points`."""
        return self.as_points()

    @property
    def coordinates(self) -> Coordinates:
        """Where the columns of `as_points` come from."""
        return Coordinates.plain(self.shape[1])

    def search_columns(self, columns: Ints, *, one_by_one: bool, codes: Any) -> Any:
        """Return matrix, views and categories of `SearchColumns`; None if they are made from `values`."""
        return None

    def settled_columns(self, used: Sequence[int]) -> tuple[Column, ...]:
        """Return what the columns hold; for columns in use, this is derived from their values."""
        return self.columns

    @abstractmethod
    def node_values(self, tree: Tree) -> NodeValues:
        """Return which training values meet the tests of a tree; see `NodeValues`."""

    def _about_columns(self, columns: Sequence[int]) -> dict[str, Any]:
        """Return names, kinds and meaning of some columns, as fields of a table of only these."""
        names, kinds, described = self.names, self.kinds, self.described
        return {
            "names": None if names is None else tuple(names[each] for each in columns),
            "kinds": kinds if isinstance(kinds, str) else tuple(kinds[each] for each in columns),
            "described": None if described is None else tuple(described[each] for each in columns),
        }

    def ask_columns(
        self, columns: Sequence[int], function: Callable[..., Any], of_rows: Sequence[Any] = ()
    ) -> list[Any]:
        """Return the results of a function of some columns' values, one for every part of the table, in order.

        Arrays with one entry per row are passed to it after the values.
        """
        values: Any = self.training_rows()[:, list(columns)]
        return [function(values.toarray() if is_sparse(values) else values, *of_rows)]

    def column_numbers(self, features: Any) -> Ints:
        """Return the numbers of columns given by number or name; all columns for None."""
        return column_numbers(features, self.names, self.shape[1])

    def holds(self, n_pairs: int) -> bool:
        """Whether sums over so many pairs of leaf and cluster take little memory compared with the table."""
        return n_pairs * self.shape[1] < self.size / 16

    def margins(self, leaves: Any, codes: Any, shape: tuple[int, int]) -> Margins:
        """Return the sums by leaf and by cluster of the rows that have a cluster.

        In one pass by pairs, or in two passes if the sums by pair would take too much memory.

        Parameters
        ----------
        leaves : array of int, shape (n_rows,)
            Leaf of every row, as `fetch` gives it.
        codes : array of int, shape (n_rows,)
            Cluster of every row, -1 for none.
        shape : tuple of int
            Number of leaves and of clusters.
        """
        n_leaves, n_clusters = shape
        n_pairs = n_leaves * n_clusters
        pairs = joined(leaves, codes, n_clusters)
        if self.holds(n_pairs):
            return Margins.of_pairs(self.sums(pairs, n_pairs), shape, self.origin)
        counts = on_host(np.bincount(pairs[pairs >= 0], minlength=n_pairs)).reshape(shape)
        by_leaf = self.sums(np.where(codes < 0, -1, leaves), n_leaves)
        return Margins(counts, by_leaf, self.sums(codes, n_clusters), self.origin)


def joined(leaves: Any, codes: Any, n_clusters: int) -> Any:
    """Return the number of the pair of leaf and cluster of every row, -1 without a cluster."""
    return np.where(codes < 0, -1, leaves * n_clusters + codes)
