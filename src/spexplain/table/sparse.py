"""Sparse tables: only nonzero entries are stored, and tables are made dense only if necessary."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import sparse

from spexplain.aliases import Floats, Ints, Matrix
from spexplain.kernels.readiness import compiled_pays
from spexplain.memory import check_memory
from spexplain.table.base import GroupSums, NodeValues, Table
from spexplain.table.checks import refuse_flaw
from spexplain.table.columns import kind_of_dtype, settled_columns
from spexplain.table.distances import CostName
from spexplain.table.host import HostTable, group_sizes, node_values
from spexplain.table.storage import is_sparse
from spexplain.tree import LEAF, Column, Kind, Tree

_BLOCK = 1 << 20  # values that are made dense at a time


@dataclass(frozen=True, eq=False)
class SparseTable(Table):
    """A sparse matrix, checked.

    Parameters
    ----------
    values : csc_array of float32 or float64, shape (n_rows, n_columns)
        The values: rows of a column ascend, no zeros are stored; see `canonical`. Rows to predict may be
        any CSR or CSC array.
    names : tuple of str, optional
        Names of the columns, if the user gave any.
    kinds : str or tuple of str
        Kind of all columns, or of each.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from spexplain.table.sparse import SparseTable, canonical
    >>> table = SparseTable(canonical(sparse.csc_array([[0.0, 5.0], [2.0, 0.0]])))
    >>> table.shape, table.scales(np.array([0]))
    ((2, 2), array([ 1., nan]))
    """

    values: Any
    names: tuple[str, ...] | None = None
    kinds: Kind | tuple[Kind, ...] = "number"

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        n_rows, n_columns = self.values.shape
        return int(n_rows), int(n_columns)

    def training_rows(self) -> Any:
        """Return the entries, as sparse as they are."""
        return self.values

    def to_host(self, what: str = "This", instead: str = "pass fewer rows or columns") -> Matrix:
        """Return the values with their zeros written out; refuse if these do not fit into memory."""
        return densified(self.values, what, instead)

    def leaves(self, tree: Tree) -> Ints:
        """Return the leaf id of every row."""
        return leaves_of(tree, self.values)

    def fetch(self, leaves: Ints) -> Ints:
        """Return leaf ids as they are."""
        return leaves

    def select(self, columns: Sequence[int]) -> Self:
        """Return the table of some columns only."""
        if len(columns) == self.shape[1]:
            return self
        chosen = list(columns)
        about = self._about_columns(chosen)
        about.pop("described")  # entries are numbers, none of them missing
        return replace(self, values=self.values[:, chosen], **about)

    def named(self, names: tuple[str, ...], *, are_words: bool = False) -> Self:
        """Return the table under names that the caller gave; of words, if a text vectorizer did."""
        return replace(self, names=names, kinds="word" if are_words else self.kinds)

    @cached_property
    def columns(self) -> Any:
        """Names and kinds of the columns."""
        return ManyColumns(self.shape[1], self.names, self.kinds)

    @property
    def is_plain(self) -> bool:
        """Whether all columns are numbers, and no value is missing: they are."""
        return True

    def settled_columns(self, used: Sequence[int]) -> Any:
        """Return what the columns hold, for those that are used as their values tell."""
        values = _Columns(self.values)
        settled = {
            each: settled_columns([self.columns[each]], values[:, each][:, None], [0])[0]
            for each in used
        }
        return ManyColumns(self.shape[1], self.names, self.kinds, settled)

    def node_values(self, tree: Tree) -> NodeValues:
        """Return which training values meet the tests of a tree. O(n_rows) a node."""
        return node_values(_Columns(self.values), tree)

    def take(self, rows: Ints) -> Self:
        """Return the table of some rows only."""
        return replace(self, values=canonical(sparse.csc_array(self.values.tocsr()[rows])))

    @property
    def origin(self) -> Floats:
        """Zeros: most rows are near."""
        return np.zeros(self.shape[1])

    def holds(self, n_pairs: int) -> bool:
        """Whether sums over so many pairs of leaf and cluster take little memory beside the entries."""
        return bool(n_pairs * self.shape[1] < self.values.nnz / 16)

    def shared_sums(self, shares: Any) -> GroupSums:
        """Return sums and squared lengths of groups that have some share of every row."""
        entries = self.values.astype(np.float64)
        with np.errstate(over="ignore"):
            squares = entries.multiply(entries).sum(axis=1)
        sums = (shares.T @ entries).toarray()
        return GroupSums(np.asarray(shares.sum(axis=0)).ravel(), sums, shares.T @ squares)

    def sums(self, groups: Ints, n_groups: int) -> GroupSums:
        """Return rows, sums and squared lengths of every group. O(entries + n_groups · n_columns)."""
        X, n_columns = self.values, self.shape[1]
        sums, squares = np.zeros((n_columns, n_groups + 1)), np.zeros(n_groups + 1)
        own = np.where(groups < 0, n_groups, groups)  # rows of no group are the last
        if compiled_pays(X.nnz, "sparse.sweep_pieces"):
            from spexplain.kernels.sparse import sum_entries

            sum_entries(X.indptr, X.indices, X.data, own, sums, squares)
        else:
            data, own = X.data.astype(np.float64, copy=False), own[X.indices]
            with np.errstate(over="ignore"):  # huge values have no finite squares
                squares += np.bincount(own, data * data, n_groups + 1)
            own += np.repeat(np.arange(n_columns) * (n_groups + 1), np.diff(X.indptr))
            sums += np.bincount(own, data, sums.size).reshape(sums.shape)
        by_group = np.ascontiguousarray(sums[:, :-1].T)  # as it is read
        return GroupSums(group_sizes(groups, n_groups), by_group, squares[:-1])

    def scales(self, features: Ints) -> Floats:
        """Return the standard deviations of some columns; NaN elsewhere."""
        scales = np.full(self.shape[1], np.nan)
        for columns, block in dense_columns(self.values, np.unique(features)):
            scales[columns] = HostTable(block).scales(np.arange(len(columns)))
        return scales

    def centers(self, codes: Ints, n_clusters: int, cost: CostName) -> Floats:
        """Return the mean (k-medians: the coordinate-wise median) of every cluster."""
        return HostTable(self.to_host("The centres of clusters")).centers(codes, n_clusters, cost)

    def nearest(self, centers: Floats, cost: CostName) -> Ints:
        """Return the nearest centre of every row."""
        return HostTable(self.to_host("The distances to centres")).nearest(centers, cost)


class ManyColumns(Sequence[Column]):
    """Columns that are made when asked for: a table of words has thousands, and a tree tests a few.

    Parameters
    ----------
    n_columns : int
        Their number.
    names : tuple of str, optional
        Their names; without, they are x0, x1, ...
    kinds : str or tuple of str
        Kind of all columns, or of each.
    settled : mapping, optional
        The columns of which more is known, by number.
    """

    def __init__(
        self,
        n_columns: int,
        names: tuple[str, ...] | None,
        kinds: Kind | tuple[Kind, ...],
        settled: Mapping[int, Column] | None = None,
    ) -> None:
        self.n_columns, self.names, self.kinds = n_columns, names, kinds
        self.settled = {} if settled is None else dict(settled)

    def __len__(self) -> int:
        return self.n_columns

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice) or place < 0:
            return self._all[place]
        if place >= self.n_columns:
            raise IndexError(place)
        return self.settled.get(place) or self._made(place)

    def __iter__(self) -> Iterator[Column]:
        return iter(self._all)

    def _made(self, place: int) -> Column:
        name = f"x{place}" if self.names is None else self.names[place]
        return Column(name, self.kinds if isinstance(self.kinds, str) else self.kinds[place])

    @cached_property
    def _all(self) -> tuple[Column, ...]:
        return tuple(self[place] for place in range(self.n_columns))


class _Columns:
    """A table in CSC that can be asked for the values of some rows in one column."""

    def __init__(self, X: Any) -> None:
        self.X, self.shape = X, X.shape

    def __getitem__(self, place: tuple[Any, int]) -> Floats:
        rows, column = place
        start, stop = self.X.indptr[column : column + 2]
        values = np.zeros(self.shape[0])
        values[self.X.indices[start:stop]] = self.X.data[start:stop]
        chosen: Floats = values[rows]
        return chosen


def kinds_of_entries(X: Any) -> Kind | tuple[Kind, ...]:
    """Return the kinds of the columns of a sparse matrix or frame: one for all, or each."""
    if is_sparse(X):
        return kind_of_dtype(X.dtype)
    return tuple(kind_of_dtype(each.subtype) for each in X.dtypes)


def float_entries(X: Any) -> Any:
    """Return a sparse matrix as a CSR or CSC array of floats; it is refused later if it does not hold real numbers.

    SciPy's own conversion would sort the caller's entries in place, which is slow and a side effect.
    """
    if X.ndim != 2 or X.dtype.kind not in "buif":
        return X
    given = X if X.format in ("csr", "csc") else X.tocsr()
    kind = sparse.csc_array if given.format == "csc" else sparse.csr_array
    is_float = given.dtype in (np.float32, np.float64)
    # The shortest float that holds all numbers of the type.
    dtype = np.result_type(given.dtype, np.float32)
    data = given.data if is_float else given.data.astype(dtype)
    return kind((data, given.indices, given.indptr), shape=given.shape)


def canonical(X: Any) -> Any:
    """Return a sparse matrix as a CSC array whose rows ascend in every column, without duplicates and zeros.

    It has its own memory: changes to one do not affect the other.
    """
    found = sparse.csc_array(X, copy=True)
    if not found.has_canonical_format:
        found.sum_duplicates()
    if not found.data.all():
        found.eliminate_zeros()
    return found


def check_entries(
    X: Any, names: Sequence[Any] | None = None, *, allow_missing: bool = False
) -> bool:
    """Refuse infinite values and, unless they are allowed, missing ones; return whether there are any."""
    if np.isfinite(X.data).all():
        return False
    entries = X.tocoo()
    is_flaw = np.isinf(X.data) if allow_missing else ~np.isfinite(entries.data)
    flaws = np.flatnonzero(is_flaw)
    places = zip(entries.row[flaws].tolist(), entries.col[flaws].tolist(), strict=True)
    refuse_flaw(min(places, default=None), names, 0, allow_missing=allow_missing)
    return True


def entries_differ(X: Any) -> bool:
    """Whether some column of a canonical matrix is not constant."""
    n_rows, n_stored = X.shape[0], np.diff(X.indptr)
    if np.any((n_stored > 0) & (n_stored < n_rows)):
        return True
    columns = X.data.reshape(-1, n_rows)  # other columns hold no entries
    return bool(np.any(columns != columns[:, :1]))


def densified(X: Any, what: str, instead: str) -> Matrix:
    """Return a sparse matrix as a dense one; refuse it if that does not fit into memory."""
    n_rows, n_columns = X.shape
    check_memory(
        3.0 * X.dtype.itemsize * n_rows * n_columns,  # working on them needs memory, too
        f"{what} needs the zeros of X written out, and its {n_rows:,} rows by {n_columns:,} columns",
        instead,
    )
    dense: Matrix = X.toarray()
    return dense


def dense(X: Any) -> Any:
    """Return some rows and columns of a table, made dense if it is sparse."""
    return X.toarray() if is_sparse(X) else X


def dense_columns(X: Any, columns: Ints) -> Iterator[tuple[Ints, Matrix]]:
    """Yield some columns of a sparse table as dense ones, a few at a time."""
    chosen = X[:, columns]
    step = max(1, _BLOCK // max(1, X.shape[0]))
    for start in range(0, len(columns), step):
        block = slice(start, start + step)
        yield columns[block], chosen[:, block].toarray()


def leaves_of(tree: Tree, X: Any) -> Ints:
    """Return the leaf id of every row of a table, sparse or not; only tested columns are read."""
    if not is_sparse(X):
        return tree.apply(X)
    tested = np.unique(tree.feature[tree.feature != LEAF])
    narrow = tree.over(tested.tolist())
    chosen = X[:, tested]
    step = max(1, _BLOCK // max(1, len(tested)))
    parts = [
        narrow.apply(chosen[start : start + step].toarray()) for start in range(0, X.shape[0], step)
    ]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)
