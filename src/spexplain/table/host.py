"""Tables in the memory of this process."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
from scipy import sparse

from spexplain.aliases import Array, Floats, Ints, Matrix
from spexplain.kernels.readiness import compiled_pays
from spexplain.table.base import GroupSums, NodeValues, Rows, Table
from spexplain.table.checks import KnownValues, checksum, known_values
from spexplain.table.columns import settled_column
from spexplain.table.coordinates import Coordinates, coordinates_of, entries_of, mean_of
from spexplain.table.distances import CostName, service_costs
from spexplain.table.storage import is_on_device
from spexplain.tree import LEAF, Column, Kind, Tree
from spexplain.tree.column import renamed

_AT_A_TIME = 1 << 16  # values that are added up at a time: they stay in the cache
_COPIED = 8_000_000  # bytes up to which the caller's table is copied, instead of watched


@dataclass(frozen=True, eq=False)
class HostTable(Table):
    """A NumPy matrix, checked.

    Parameters
    ----------
    values : array of float32 or float64, shape (n_rows, n_columns)
        The values.
    names : tuple of str, optional
        Names of the columns, if the user gave any.
    kinds : str or tuple of str
        Kind of all columns, or of each.
    seen : tuple of int, optional
        Checksum of values in the caller's memory, to detect later changes.
    described : tuple of Column, optional
        What the columns hold, for tables with categories, dates or missing values.
    surveyed : KnownValues, optional
        What the columns hold besides missing values, if that is known already.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain.table.host import HostTable
    >>> table = HostTable(np.array([[0.0, 5.0], [2.0, 7.0]]))
    >>> table.columns[1].name, table.scales(np.array([0]))
    ('x1', array([ 1., nan]))
    """

    values: Matrix
    names: tuple[str, ...] | None = None
    kinds: Kind | tuple[Kind, ...] = "number"
    seen: tuple[int, ...] | None = None
    described: tuple[Column, ...] | None = None
    surveyed: KnownValues | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        n_rows, n_columns = self.values.shape
        return n_rows, n_columns

    @property
    def is_small(self) -> bool:
        """Whether a copy takes hardly any time and memory."""
        return self.values.nbytes <= _COPIED

    def kept(self, seen: tuple[int, ...]) -> Self:
        """Return the table, protected from later edits of the caller's array, which it shares.

        A small table is copied. A large one is watched: `training_rows` refuses it if it has changed.
        """
        if self.is_small:
            return replace(self, values=self.values.copy(order="K"))
        return replace(self, seen=seen)

    def training_rows(self) -> Matrix:
        """Return the values as they were at the fit; refuse a table that has changed."""
        if self.seen is not None and self.seen != checksum(self.values):
            raise ValueError(
                "The table that this estimator was fitted to has changed since; pass the training rows as X."
            )
        return self.values

    def to_host(self, what: str = "", instead: str = "") -> Matrix:
        """Return the values."""
        return self.values

    def leaves(self, tree: Tree) -> Ints:
        """Return the leaf id of every row."""
        return tree.apply(self.values)

    def fetch(self, leaves: Ints) -> Ints:
        """Return leaf ids as they are."""
        return leaves

    def select(self, columns: Sequence[int]) -> Self:
        """Return the table of some columns only."""
        if len(columns) == self.shape[1]:
            return self
        chosen = list(columns)
        about = self._about_columns(chosen)
        return replace(self, values=self.values[:, chosen], seen=None, surveyed=None, **about)

    def named(self, names: tuple[str, ...], *, are_words: bool = False) -> Self:
        """Return the table with names given by the caller; columns are words if a text vectorizer gave the names."""
        if are_words:
            return replace(self, names=names, kinds="word", described=None)
        described = None if self.described is None else renamed(self.described, names)
        return replace(self, names=names, described=described)

    @cached_property
    def _points(self) -> Coordinates:
        return coordinates_of(self.values, self.columns)

    @property
    def coordinates(self) -> Coordinates:
        """Where the columns of `as_points` come from."""
        return Coordinates.plain(self.shape[1]) if self._has_no_objects else self._points

    @property
    def _has_only_numbers(self) -> bool:
        return self.is_plain and self._has_no_objects

    def as_points(self) -> "HostTable":
        """Return the table that distances, centres and costs are computed from: numbers without gaps."""
        if self._has_only_numbers:
            return self
        if self._has_no_objects:
            return HostTable(np.where(np.isnan(self.values), self.means, self.values))
        return HostTable(self._points.matrix)

    def for_sums(self) -> Table:
        """Return a table with the same sums as `as_points`, without columns for every category."""
        if self._has_no_objects:
            return self
        from spexplain.table.sparse import SparseTable, canonical

        return SparseTable(canonical(entries_of(self.values, self.columns)))

    @property
    def _has_no_objects(self) -> bool:
        return all(each.kind not in ("category", "date", "duration") for each in self.columns)

    def settled_columns(self, used: Sequence[int]) -> tuple[Column, ...]:
        """Return what the columns hold, for those that are used as their values tell."""
        found = list(self.columns)
        for each in used:
            found[each] = self._settled_and_scale(each)[0]
        return tuple(found)

    def _settled_and_scale(self, number: int) -> tuple[Column, float]:
        """Return a column described by its values, and their standard deviation, in one pass."""

        def look() -> tuple[Column, float]:
            values = np.asarray(self.values[:, number], dtype=np.float64)
            return settled_column(self.columns[number], values), _scale(values)

        return self.known.get(("told", number), look)

    def node_values(self, tree: Tree) -> NodeValues:
        """Return which training values meet the tests of a tree. O(n_rows · depth)."""
        return node_values(self.values, tree)

    def take(self, rows: Ints) -> Self:
        """Return the table of some rows only."""
        return replace(self, values=self.values[rows], seen=None, surveyed=None)

    def part(self, rows: Ints) -> Self:
        """Return some rows as part of this table: numbers are divided by their deviations over all rows."""
        taken = self.take(rows)
        if not self._has_no_objects:
            vars(taken)["_points"] = self._points._replace(matrix=self._points.matrix[rows])
        return taken

    @property
    def origin(self) -> Floats:
        """The first row, with column means for its missing values."""
        first = np.asarray(self.values[0], dtype=np.float64)
        return np.where(np.isnan(first), self.means, first) if self.has_missing else first

    @property
    def has_missing(self) -> bool:
        """Whether some values are missing."""
        return self.described is not None and any(each.has_missing for each in self.described)

    @cached_property
    def survey(self) -> KnownValues:
        """What the columns hold besides missing values."""
        return known_values(self.values) if self.surveyed is None else self.surveyed

    @cached_property
    def means(self) -> Floats:
        """The means of the columns without missing values; 0 if all are missing."""
        means: Floats = self.survey.sums / np.maximum(self.survey.n_known, 1)
        for column in np.flatnonzero(~np.isfinite(means)).tolist():
            x = self.values[:, column].astype(np.float64)
            means[column] = mean_of(x[~np.isnan(x)])
        return means

    def sums(self, groups: Ints, n_groups: int) -> GroupSums:
        """Return rows, sums and squared lengths of every group, measured from the first row.

        Missing values count as the means of their columns.
        """
        X, origin = self.values, self.origin
        with np.errstate(over="ignore"):
            filling = self.means - origin if self.has_missing else np.zeros(X.shape[1])
        sums, squares = np.zeros((2, n_groups, X.shape[1]))
        with np.errstate(over="ignore", invalid="ignore"):  # huge values have no finite squares
            if compiled_pays(self.size, "groups.sum_groups"):
                from spexplain.kernels.groups import sum_groups

                sum_groups(X, origin, filling, groups, sums, squares)
            else:
                _sum_groups(X, origin, filling, groups, sums, squares)
            return GroupSums(group_sizes(groups, n_groups), sums, squares.sum(axis=1))

    def scales(self, features: Ints) -> Floats:
        """Return the standard deviations of some columns; NaN elsewhere. O(n) a column."""
        scales = np.full(self.shape[1], np.nan)
        for feature in np.unique(features).tolist():
            scales[feature] = self._settled_and_scale(feature)[1]
        return scales

    def centers(self, codes: Ints, n_clusters: int, cost: CostName) -> Floats:
        """Return the mean (k-medians: the coordinate-wise median) of every cluster."""
        middle = np.median if cost == "kmedians" else np.mean
        with np.errstate(over="ignore"):
            clusters = (self.values[own] for own in rows_of_groups(codes, n_clusters))
            centers = np.array([middle(rows.astype(np.float64), axis=0) for rows in clusters])
        if not np.isfinite(centers).all():
            raise ValueError(
                "X holds values so large that the centres of its clusters overflow; scale its columns, for "
                "example with scikit-learn's StandardScaler."
            )
        return centers

    def nearest(self, centers: Floats, cost: CostName) -> Ints:
        """Return the nearest centre of every row."""
        return np.asarray(np.argmin(service_costs(self.values, centers, cost), axis=1))


@dataclass(frozen=True, eq=False)
class TestedRows(Rows):
    """Rows of which only the columns that a tree tests are known.

    Parameters
    ----------
    values : array of float, shape (n_rows, n_tested)
        The values.
    tested : tuple of int
        The numbers of the columns.
    n_columns : int
        Number of all columns.
    """

    __test__ = False  # pytest takes classes of this name for its own

    values: Matrix
    tested: tuple[int, ...]
    n_columns: int

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns, including columns that are not known."""
        return len(self.values), self.n_columns

    def leaves(self, tree: Tree) -> Ints:
        """Return the leaf id of every row."""
        return tree.over(self.tested).apply(self.values)

    def to_host(self, what: str = "", instead: str = "") -> Matrix:
        """Return the values, NaN in columns that are not known."""
        values = np.full(self.shape, np.nan)
        values[:, list(self.tested)] = self.values
        return values


def node_values(values: Any, tree: Tree) -> NodeValues:
    """Return the values around the tests of a tree among the rows that reach them, on the host or a device."""
    ends = np.full((4, tree.n_nodes), np.nan)
    n_missing = np.zeros(tree.n_nodes, dtype=np.int64)
    present: dict[int, frozenset[int]] = {}
    members: dict[int, Any] = {0: slice(None)}
    leaves = None if is_on_device(values) else np.zeros(values.shape[0], dtype=np.int64)
    leaf_id = {int(node): leaf for leaf, node in enumerate(tree.leaves)}
    for node, test in tree.tests.items():  # parents come first
        rows = members.pop(node)
        x = values[:, test.feature][rows].astype(np.float64, copy=False)
        is_left = test.passes(x)
        known, is_low = x, None if test.lower > -np.inf else is_left
        if len(x) and bool(np.isnan(x.max())):  # a quick check for missing values
            missing = np.isnan(x)
            n_missing[node], known, is_low = int(missing.sum()), x[~missing], None
        if test.values is not None:
            present[node] = frozenset(np.unique(known).astype(np.int64).tolist())
        else:
            ends[:2, node] = _around(known, test.upper, is_low)
            if test.lower > -np.inf:
                ends[2:, node] = _around(known, test.lower)
        for child, inside in ((tree.left[node], is_left), (tree.right[node], ~is_left)):
            is_leaf = tree.feature[child] == LEAF
            if is_leaf and leaves is None:
                continue
            own = inside if is_leaf and isinstance(rows, slice) else np.flatnonzero(inside)
            own = own if isinstance(rows, slice) else rows[own]
            if not is_leaf:
                members[int(child)] = own
            elif leaves is not None:
                leaves[own] = leaf_id[int(child)]
    below, above, lower_below, lower_above = ends
    return NodeValues(below, above, lower_below, lower_above, n_missing, present, leaves)


def _around(values: Any, threshold: float, is_low: Any = None) -> tuple[float, float]:
    """Return the greatest value up to a threshold and the least above it; NaN where there is none.

    The values up to the threshold may be passed if they are known.
    """
    if not len(values):
        return np.nan, np.nan
    is_low = values <= threshold if is_low is None else is_low
    low, high = values.compress(is_low), values.compress(~is_low)
    return float(low.max()) if len(low) else np.nan, float(high.min()) if len(high) else np.nan


def rows_of_groups(groups: Array, n_groups: int) -> list[Ints]:
    """Return the ascending numbers of the rows of every group; those of group -1 are left out."""
    order = np.argsort(groups, kind="stable")
    starts = np.searchsorted(groups[order], np.arange(n_groups + 1))
    return [order[start:stop] for start, stop in pairwise(starts.tolist())]


def group_sizes(groups: Array, n_groups: int) -> Ints:
    """Return the number of rows of every group; those of group -1 are left out."""
    return np.bincount(groups[groups >= 0], minlength=n_groups).astype(np.int64)


def _sum_groups(
    X: Matrix, origin: Floats, filling: Floats, groups: Ints, sums: Floats, squares: Floats
) -> None:
    """Do what the kernel of this name does, a few rows at a time, so that they stay in the cache."""
    n_groups, step = len(sums), max(1, _AT_A_TIME // X.shape[1])
    # Rows without a group are added up in one more, which is dropped.
    places = np.where(groups < 0, n_groups, groups)
    for start in range(0, len(X), step):
        rows = X[start : start + step] - origin
        rows = np.where(np.isnan(rows), filling, rows)
        n_rows = len(rows)
        entries = np.ones(n_rows), places[start : start + n_rows], np.arange(n_rows + 1)
        in_group = sparse.csc_array(entries, shape=(n_groups + 1, n_rows))
        sums += np.asarray(in_group @ rows)[:-1]
        squares += np.asarray(in_group @ (rows * rows))[:-1]


def _scale(column: Floats) -> float:
    """Return the standard deviation of the values that are not missing, 0 where they are one."""
    if np.isnan(column.max()):
        column = column[~np.isnan(column)]
    is_one = not len(column) or bool(column.min() == column.max())
    return 0.0 if is_one else _deviation(column)


def _deviation(column: Floats) -> float:
    """Return the standard deviation of a column, whose squares may be too large for a float."""
    with np.errstate(over="ignore", invalid="ignore"):
        deviation = float(column.std())
    if np.isfinite(deviation):
        return deviation
    largest = float(np.abs(column).max())
    return float((column / largest).std()) * largest
