"""The columns that engines search: numbers without gaps, computed from columns of any kind.

A column of numbers with missing values becomes two columns: in one the missing values lie below all others,
in the other above. Every cut of the first sends missing values left, every cut of the second right, and the
outermost cut is "is missing". So engines need not handle missing values. Nothing is copied for this:
`SearchedMatrix` maps every searched column to a column of the table, and says which number stands for a
missing value.
Categories are searched as sets (`CategoryColumn`), or one by one as columns of zeros and ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from spexplain.aliases import Floats, Ints, Matrix
from spexplain.table.base import Table
from spexplain.table.coordinates import Coordinates
from spexplain.tree import Test, Tree

Role: TypeAlias = Literal["plain", "missing left", "missing right", "set", "nothing"]
_ROWS = 512  # that are transposed at a time
_MISSING = -1  # stands for missing values among codes of categories
_ALL_SETS = 5  # up to so many categories, all sets of them become columns
_MOST_INDICATORS = 64  # categories of one column that become columns, the commonest first


class View(NamedTuple):
    """One searched column: where it comes from, and what its cuts mean."""

    column: int
    role: Role = "plain"
    codes: tuple[int, ...] = ()  # of the categories that go left, in a view of a set
    missing: bool = False  # whether missing values are in the set


class PlainViews(Sequence[View]):
    """Views of columns as they are, made when asked for: there may be very many."""

    def __init__(self, columns: Ints) -> None:
        self.columns = columns

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return tuple(map(View, self.columns[place].tolist()))
        return View(int(self.columns[place]))


class SearchedMatrix(NamedTuple):
    """The columns that are searched; each is a column of one table, and some of these occur twice.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain.table.views import SearchedMatrix
    >>> values = np.array([[1.0, 5.0], [np.nan, 7.0]])
    >>> SearchedMatrix(values, np.array([0, 0, 1]), np.array([0.9, 1.1, np.nan])).written_out()
    array([[1. , 1. , 5. ],
           [0.9, 1.1, 7. ]])
    """

    values: Matrix  # shape (n_rows, n_columns), NaN where a value is missing
    column_of: Ints  # shape (n_views,)
    filling: Floats  # shape (n_views,): the number that stands for a missing value

    @classmethod
    def of(cls, values: Matrix) -> "SearchedMatrix":
        """Return the columns of a table without missing values, each once."""
        n_columns = values.shape[1]
        return cls(values, np.arange(n_columns), np.full(n_columns, np.nan))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and searched columns."""
        return len(self.values), len(self.column_of)

    @property
    def size(self) -> int:
        """Number of all values."""
        return len(self.values) * len(self.column_of)

    def written_out(self) -> Matrix:
        """Return the matrix as an array."""
        found = transposed(self.values, self.column_of)
        for place in np.flatnonzero(~np.isnan(self.filling)).tolist():
            x = found[place]
            np.copyto(x, x.dtype.type(self.filling[place]), where=np.isnan(x))
        return found.T


def written_out(X: Any) -> Any:
    """Return a searched matrix as an array, anything else as it is."""
    return X.written_out() if isinstance(X, SearchedMatrix) else X


class CategoryColumn(NamedTuple):
    """A column of categories: the code of every row; missing values have the code after the last."""

    column: int
    codes: Any  # an array, or a list of tasks, one for each partition
    n_categories: int


@dataclass(frozen=True, eq=False)
class SearchColumns:
    """The columns of a table as engines search them.

    Parameters
    ----------
    table : Table
        The table.
    matrix : SearchedMatrix, or array of shape (n_rows, n_views)
        Numbers without gaps.
    views : sequence of View
        Descriptions of the columns of the matrix.
    categories : tuple of CategoryColumn
        Columns that are searched for sets of categories; in trees their numbers follow those of the views.
    """

    table: Table
    matrix: Any
    views: Sequence[View]
    categories: tuple[CategoryColumn, ...] = ()

    @property
    def _numbers(self) -> Ints:
        """The column of every view."""
        if isinstance(self.views, PlainViews):
            return self.views.columns
        return np.array([view.column for view in self.views])

    @classmethod
    def of(
        cls, table: Table, columns: Ints, *, one_by_one: bool, codes: Any = None
    ) -> "SearchColumns":
        """Return some columns of a table as engines search them.

        Parameters
        ----------
        table : Table
            The table.
        columns : array of int
            Columns that tests may use.
        one_by_one : bool
            Whether categories become columns of zeros and ones, for methods that handle numbers only.
        codes : array of int, optional
            Cluster of every row: sets of categories with similar clusters become columns, too.
        """
        if table.is_plain:
            return cls(table, table.select(columns.tolist()).values, PlainViews(columns))
        made = table.search_columns(columns, one_by_one=one_by_one, codes=codes)
        if made is not None:
            return cls(table, *made)
        views_: list[View] = []
        categories: list[CategoryColumn] = []
        for each in columns.tolist():
            column = table.columns[each]
            if column.kind == "category":
                x = table.values[:, each]
                grouped = np.where(np.isnan(x), len(column.categories), x).astype(np.int64)
                if not one_by_one:
                    categories.append(CategoryColumn(each, grouped, len(column.categories)))
                else:
                    views_ += _indicators(each, grouped, len(column.categories), codes)
            elif column.has_missing:
                views_ += [View(each, "missing left"), View(each, "missing right")]
            else:
                views_.append(View(each))
        if not views_:  # engines need at least one column; one without cuts does no harm
            views_ = [View(0, "nothing")]
        return cls(table, _matrix_of(table, views_), tuple(views_), tuple(categories))

    def placed(self, extra: Matrix, coordinates: Coordinates) -> Matrix:
        """Return points of the table's coordinates, such as centres, as rows of the matrix."""
        if self.table.is_plain:
            columns = self._numbers
            scale = coordinates.scale[columns]  # of dates, whose coordinates are standardised
            return extra[:, columns] if np.all(scale == 1) else extra[:, columns] * scale
        placed = np.zeros((len(extra), len(self.views)))
        for place, view in enumerate(self.views):
            if view.role == "set":
                shares = [extra[:, at] for at in coordinates.places(view.column, view.codes)]
                # As in the column itself, 0 means in the set, 1 outside of it.
                placed[:, place] = 1.0 - sum(shares, np.zeros(len(extra)))
            elif view.role != "nothing":
                (at,) = coordinates.places(view.column)
                placed[:, place] = extra[:, at] * coordinates.scale[at]
        return placed

    def to_columns(self, tree: Tree) -> Tree:
        """Return a tree over the views as one over the columns of the table."""
        if self.table.is_plain:
            return tree.renumbered(self._numbers, self.table.shape[1])
        tests = {node: self._on_column(test) for node, test in tree.tests.items()}
        return tree.retested(tests, self.table.shape[1])

    def _on_column(self, test: Test) -> Test:
        if test.feature >= len(self.views):
            return replace(test, feature=self.categories[test.feature - len(self.views)].column)
        column, role, codes, missing = self.views[test.feature]
        if role != "set":
            return replace(test, feature=column, missing=role == "missing left")
        passes_in_set = bool(test.passes(0.0))
        inside = Test(column, missing=missing, values=codes)
        if passes_in_set:
            return inside
        n_categories = len(self.table.columns[column].categories)
        others = tuple(code for code in range(n_categories) if code not in codes)
        return Test(column, missing=not missing, values=others)

    def with_sets(self, tree: Tree) -> "tuple[SearchColumns, Tree]":
        """Return views in which the tree's sets of categories, and single ones, are columns; and the tree over them.

        This is for refinement, which handles numbers only.
        """
        if not self.categories:
            return self, tree
        wanted = [view for _, view in self.sets_of(tree)]
        for each in self.categories:
            wanted += _indicators(each.column, each.codes, each.n_categories)
        wider = replace(self, categories=()).with_views(wanted)
        return wider, wider.taken_over(tree, self)

    def sets_of(self, tree: Tree) -> list[tuple[int, View]]:
        """Return the nodes of a tree that test sets of categories, each with its set as a view."""
        tests = {
            node: self._on_column(test)
            for node, test in tree.tests.items()
            if test.values is not None
        }
        return [
            (node, View(test.feature, "set", test.values or (), test.missing))
            for node, test in tests.items()
        ]

    def with_views(self, views: Sequence[View]) -> "SearchColumns":
        """Return the columns with more sets of categories as columns, each once."""
        known = set(self.views)
        new = list(dict.fromkeys(view for view in views if view not in known))
        if not new:
            return self
        made = [indicator(self.table.values[:, view.column], view) for view in new]
        matrix = np.concatenate([written_out(self.matrix).T, made]).T
        return replace(self, matrix=matrix, views=(*self.views, *new))

    def taken_over(self, tree: Tree, others: "SearchColumns") -> Tree:
        """Return a tree over other views of the table as one over these, which must have all of its sets."""
        places = {view: place for place, view in enumerate(self.views)}
        tests = {
            node: replace(test, feature=places[others.views[test.feature]])
            for node, test in tree.tests.items()
            if test.values is None
        }
        tests |= {node: Test(places[view], upper=0.5) for node, view in others.sets_of(tree)}
        return tree.retested(tests, len(self.views))

    @property
    def has_all_tests(self) -> bool:
        """Whether every set of categories is a view, so that no test is left out of a search of the views."""
        if isinstance(self.views, PlainViews):
            return True
        sets: dict[int, set[frozenset[int]]] = {}
        for view in self.views:
            if view.role == "set":
                inside = frozenset(view.codes) | ({_MISSING} if view.missing else frozenset())
                sets.setdefault(view.column, set()).add(inside)
        return not self.categories and all(map(_has_all_sets, sets.values()))


class SearchedTree(NamedTuple):
    """A tree over the views of a table, as it was grown or refined."""

    tree: Tree
    views: SearchColumns

    def to_columns(self) -> Tree:
        """Return the tree over the columns of the table."""
        return self.views.to_columns(self.tree)

    def nodes_of_points(self, points: Matrix) -> tuple[Ints, Ints]:
        """Return, for points of the table's coordinates, pairs of point and visited node."""
        placed = self.views.placed(points, self.views.table.coordinates)
        visits = self.tree.decision_path(placed)
        point = np.repeat(np.arange(len(placed)), np.diff(visits.indptr))
        return point, visits.indices.astype(np.int64)


def _matrix_of(table: Any, views: Sequence[View]) -> SearchedMatrix:
    """Return the columns of views of a table on the host."""
    values = table.values
    column_of = np.array([view.column for view in views])
    filling = np.full(len(views), np.nan)
    made: list[Floats] = []
    for place, view in enumerate(views):
        if view.role in ("set", "nothing"):
            column_of[place] = values.shape[1] + len(made)
            is_set = view.role == "set"
            made.append(
                indicator(values[:, view.column], view) if is_set else np.zeros(len(values))
            )
    lefts = np.flatnonzero([view.role == "missing left" for view in views])  # each before its right
    if len(lefts):
        columns, dtype = column_of[lefts], values.dtype
        filling[lefts] = beyond(table.survey.low[columns].astype(dtype), -np.inf)
        filling[lefts + 1] = beyond(table.survey.high[columns].astype(dtype), np.inf)
    if made:
        values = np.concatenate([values.T, made]).T
    return SearchedMatrix(values, column_of, filling)


def _some_columns(values: Matrix, columns: Ints) -> Matrix:
    is_all = np.array_equal(columns, np.arange(values.shape[1]))
    return values if is_all else values[:, columns]


def transposed(values: Matrix, columns: Ints) -> Matrix:
    """Return some columns of a table as rows of an array, brought together while they are in the cache."""
    values = _some_columns(values, columns)
    found: Matrix = np.empty(values.shape[::-1], dtype=values.dtype)
    for start in range(0, len(values), _ROWS):
        found[:, start : start + _ROWS] = values[start : start + _ROWS].T
    return found


def _has_all_sets(sets: set[frozenset[int]]) -> bool:
    """Whether some sets, with their complements, are all sets of the groups that are sets of their own."""
    groups = frozenset[int]().union(*(each for each in sets if len(each) == 1))
    if len(groups) > _ALL_SETS:  # then there are never all of them
        return False
    found = {min(each & groups, groups - each, key=sorted) for each in sets} - {frozenset()}
    n_parts: int = 2 ** (len(groups) - 1) - 1
    return len(found) == n_parts


def beyond(last: Any, direction: float) -> Any:
    """Return the numbers next to the last values of columns, which are infinite if there are none."""
    number = last.dtype.type
    start = np.where(np.isfinite(last), last, number(0))
    with np.errstate(over="ignore", under="ignore"):  # next to the largest number is infinity
        return np.nextafter(start, number(direction))


def indicator(x: Matrix, view: View) -> Floats:
    """Return 0 for rows whose category is in the set of a view, else 1."""
    inside = Test(view.column, missing=view.missing, values=view.codes).passes(x)
    return np.where(inside, 0.0, 1.0)


def _indicators(column: int, grouped: Ints, n_categories: int, codes: Any = None) -> list[View]:
    """Return the views of categories one by one, from the codes and clusters of the rows."""
    counts = np.bincount(grouped, minlength=n_categories + 1)
    if codes is None:
        return indicators(column, counts)
    known = codes >= 0
    n_clusters = int(codes.max(initial=0)) + 1
    cells = np.bincount(
        grouped[known] * n_clusters + codes[known], minlength=(n_categories + 1) * n_clusters
    )
    return indicators(column, counts, cells.reshape(n_categories + 1, n_clusters))


def indicators(column: int, counts: Ints, cells: Any = None) -> list[View]:
    """Return single categories as sets, and sets of several: all if these are few, else those with similar clusters.

    Parameters
    ----------
    column : int
        The column.
    counts : array of int, shape (n_categories + 1,)
        Rows of every category; the last are those without one.
    cells : array of int, shape (n_categories + 1, n_clusters), optional
        The same by cluster.
    """
    n_categories = len(counts) - 1
    commonest = np.argsort(-counts[:n_categories], kind="stable")[:_MOST_INDICATORS]
    views = [View(column, "set", (code,)) for code in np.sort(commonest).tolist() if counts[code]]
    if counts[n_categories]:
        views.append(View(column, "set", (), missing=True))
    present = np.flatnonzero(counts).tolist()
    if cells is None or len(present) < 4:
        return views
    if len(present) <= _ALL_SETS:  # all sets but single categories and their complements
        for size in range(2, len(present) // 2 + 1):
            for chosen in combinations(present, size):
                if 2 * size < len(present) or present[0] in chosen:
                    inside = tuple(each for each in chosen if each < n_categories)
                    views.append(View(column, "set", inside, n_categories in chosen))
        return views
    ordered = [group for group in order_by_profile(cells).tolist() if counts[group]]
    sizes = np.arange(2, len(ordered) - 1)
    if len(sizes) > _MOST_INDICATORS:  # evenly spread over the rows
        n_before = np.cumsum(counts[ordered])[sizes - 1]
        even = np.linspace(0, n_before[-1], _MOST_INDICATORS)
        sizes = sizes[np.unique(np.searchsorted(n_before, even))]
    for size in sizes.tolist():
        first = ordered[:size]
        inside = tuple(sorted(each for each in first if each < n_categories))
        views.append(View(column, "set", inside, n_categories in first))
    return views


def order_by_profile(counts: Any) -> Ints:
    """Return groups in the order of the first principal component of their shares.

    With two clusters, the best set of groups is then a prefix of this order (Coppersmith, Hong and Hosking,
    1999). Groups without counts come last; ties keep their order.

    Parameters
    ----------
    counts : array of shape (n_groups, n_clusters)
        Rows (or weights) of every group by cluster.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain.table.views import order_by_profile
    >>> order_by_profile(np.array([[1, 9], [8, 2], [5, 5]]))
    array([0, 2, 1])
    """
    counts = np.asarray(counts, dtype=np.float64)
    sizes = counts.sum(axis=1)
    shares = counts / np.maximum(sizes, 1e-300)[:, None]
    middle = sizes @ shares / max(sizes.sum(), 1e-300)
    centred = np.where(sizes[:, None] > 0, shares - middle, 0.0)
    direction = np.linalg.svd(np.sqrt(sizes)[:, None] * centred, full_matrices=False)[2][0]
    along = np.round(centred @ direction, 12)
    first = along[np.flatnonzero(along)[:1]]
    if len(first) and first[0] > 0:  # the sign of a component is arbitrary
        along = -along
    return np.lexsort((np.arange(len(counts)), np.where(sizes > 0, along, np.inf)))
