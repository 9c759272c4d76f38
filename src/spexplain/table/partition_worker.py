"""The work of a Dask worker on its partition of a table: bins, leaves, sums and labels.

These functions run on the workers. A worker shares nothing that it keeps, so a partition can be computed again
elsewhere if its worker is lost. Sums of floats that a tree depends on are computed in exact integers.
"""

import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple, Self
from weakref import finalize

import numpy as np

from spexplain.aliases import Array, Floats, Ints, Matrix
from spexplain.kernels.coding import spread_of_bins
from spexplain.messages import listed
from spexplain.table.base import GroupSums, NodeValues, joined
from spexplain.table.checks import check_finite, first_flaw
from spexplain.table.coding import N_CODES, Binning, code
from spexplain.table.columns import (
    _plain,
    encode_rows,
    encoded,
    is_missing,
    mixed_zones,
    ordered_categories,
)
from spexplain.table.distances import CostName, service_costs
from spexplain.table.host import group_sizes, node_values
from spexplain.table.reference import NOISE, Reference, missing_labels, mixed_labels
from spexplain.table.workers import add_tuples
from spexplain.tree import LEAF, Column, Kind, Test, Tree

_AT_A_TIME = 1 << 15  # values of a column that are added up at a time: they stay in the cache
LIMB = 34  # bits of either half of a number: with 2**28 rows a partition, sums fit 63 bits


class BinnedPartition:
    """A partition in bins, with its values: in memory, or in a file on the worker's own disk.

    Parameters
    ----------
    codes : array of uint8, shape (n_features, n_rows)
        The bins.
    values : array of float, shape (n_features, n_rows)
        The values.
    low, high : array of shape (n_discrete, 256)
        The least and the greatest value of each bin of discrete features.
    flaw : tuple of int or None
        The first row and column that hold no finite number.
    """

    def __init__(
        self,
        codes: Array,
        values: Array,
        low: Floats,
        high: Floats,
        flaw: tuple[int, int] | None = None,
    ) -> None:
        self._codes, self._values, self.low, self.high, self.flaw = codes, values, low, high, flaw
        self.shape: tuple[int, int] = codes.shape
        self.owned = 0  # bytes of memory that nobody else holds
        self._path: str | None = None
        self._remembered: tuple[str, dict[int, Any]] = "", {}

    @property
    def codes(self) -> Array:
        """The bins. If they are in a file, it is mapped only while they are in use, so it does not count as memory."""
        return self._codes if self._path is None else self._mapped(np.uint8, 0)

    @property
    def values(self) -> Array:
        """The values, column by column."""
        if self._path is None:
            return self._values
        return self._mapped(self._type, _aligned(self.shape[0] * self.shape[1]))

    def _mapped(self, dtype: Any, offset: int) -> Array:
        assert self._path is not None
        # Compiled loops expect plain writable arrays, though nothing is written.
        return np.asarray(np.memmap(self._path, dtype, "c", offset, self.shape))

    def remembered(self, search: str) -> dict[int, Any]:
        """Return what this worker remembers about the rows for one search; earlier searches are forgotten.

        It is not transferred, so whoever uses it must be able to compute it again.
        """
        owner, remembered = self._remembered
        if owner != search:  # two searches at the same time only compute more often
            remembered = {}
            self._remembered = search, remembered
        return remembered

    def stored(self) -> Self:
        """Move bins and values to a file of this worker; if the disk has no room, they stay in memory."""
        codes, values = self._codes, self._values
        if not codes.size:
            return self
        number, path = tempfile.mkstemp(prefix="spexplain-", suffix=".part", dir=_own_folder())
        keeper = finalize(self, _remove, path)
        try:
            with os.fdopen(number, "wb") as file:
                codes.tofile(file)
                file.write(bytes(_aligned(codes.size) - codes.size))
                for column in values:
                    np.ascontiguousarray(column).tofile(file)
        except OSError:
            keeper()
            return self
        self._path, self._type = path, values.dtype
        self._codes = self._values = np.empty(0)
        self.owned = 0
        return self

    def __sizeof__(self) -> int:
        return 200 + self.owned + self.low.nbytes + self.high.nbytes

    def __reduce__(self) -> tuple[Any, ...]:
        # Another worker may not have access to this disk, so the content is sent.
        whole = np.ascontiguousarray(self.codes), np.ascontiguousarray(self.values)
        return _received, (*whole, self.low, self.high, self.flaw, self._path is not None)


def _received(codes: Array, values: Array, *about: Any) -> BinnedPartition:
    """Return a partition that another worker has made."""
    *rest, is_stored = about
    part = BinnedPartition(codes, values, *rest)
    part.owned = codes.nbytes + values.nbytes
    return part.stored() if is_stored else part


def _aligned(n_bytes: int) -> int:
    """Return where values can begin after so many bytes."""
    return -(-n_bytes // 64) * 64


def _own_folder() -> str | None:
    """Return the folder of this worker, which goes with it; None for that of temporary files."""
    distributed = sys.modules.get("distributed")
    try:
        return None if distributed is None else str(distributed.get_worker().local_directory)
    except ValueError:
        return None


def _remove(path: str) -> None:
    with suppress(OSError):
        os.remove(path)


class PartitionSchema(NamedTuple):
    """What a Dask data frame promises about its partitions; a partition may differ from it."""

    names: tuple[Any, ...]
    kinds: tuple[str, ...]  # of NumPy's types, or "O" for anything

    @classmethod
    def of(cls, frame: Any) -> Self:
        """Return what a data frame promises."""
        return cls(tuple(frame.columns), tuple(_type_kind(each) for each in frame.dtypes))


def kept(block: Any, promise: PartitionSchema, number: int | None = None) -> Any:
    """Return a partition with its columns in the promised order; refuse it if it breaks the promise.

    Dask itself checks neither the names nor the types of a partition.

    Parameters
    ----------
    block : data frame
        The partition.
    promise : PartitionSchema
        What it must hold.
    number : int, optional
        Which partition it is.
    """
    names, where = tuple(block.columns), "A partition" if number is None else f"Partition {number}"
    if names != promise.names:
        held = set(names)
        missing = [name for name in promise.names if name not in held]
        if missing:
            raise ValueError(
                f"{where} of X has no column {missing[0]!r}, which X has (it has {listed(map(str, names))})."
            )
        if len(set(names)) < len(names) or len(set(promise.names)) < len(promise.names):
            raise ValueError(
                f"{where} of X has its columns in another order than X, and names that occur twice; rename them."
            )
        block = block[list(promise.names)]
    for place, kind in enumerate(promise.kinds):
        found = _type_kind(block.dtypes.iloc[place])
        if kind not in ("O", found) and not block.iloc[:, place].isna().all():
            raise ValueError(
                f"{where} of X holds {_NOUNS[found]} in column {promise.names[place]!r}, but X promises "
                f"{_NOUNS[kind]}; convert the column in every partition."
            )
    return block


def _type_kind(dtype: Any) -> str:
    """Return one letter for what a type of pandas holds: "i" for any number or boolean, "O" for anything."""
    kind = getattr(dtype, "kind", "O")
    return "i" if kind in "iufb" else kind if kind in "mM" else "O"


_NOUNS = {"i": "numbers", "m": "durations", "M": "dates", "O": "texts or other objects"}


def as_matrix(block: Any) -> Matrix:
    """Return a block of rows, an array, a data frame or a partition in bins, as floats."""
    if isinstance(block, BinnedPartition):
        return block.values.T
    values = block.to_numpy() if hasattr(block, "to_numpy") else np.asarray(block)
    if values.ndim != 2:
        raise ValueError(f"X must be a table, but a partition has the shape {values.shape}.")
    if values.dtype == np.float32:
        return np.asarray(values)
    try:
        return values.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"X holds text or other values that are not numbers ({error}); encode such columns as numbers or "
            "leave them out."
        ) from None


# --- What columns hold, and their values as numbers -----------------------------------------------


class ColumnSummary(NamedTuple):
    """What some rows tell about a column."""

    column: Column
    n_known: int  # rows that have a value
    least: float  # of the values, as numbers; not of categories
    most: float
    listed: tuple[Any, ...]  # the order of categories that have one
    n_unlisted: int  # known values in partitions where the column did not look like a category


class Recipe(NamedTuple):
    """How a column of a block is turned into numbers."""

    place: int
    column: Column | None = None  # how values become numbers; None: they are numbers
    fill: float = np.nan  # what missing values become
    scale: float = 1.0  # that values are divided by
    squared: bool = False  # whether the squared distance from `fill` is wanted
    codes: tuple[int, ...] | None = None  # for a set of categories: their codes
    missing: bool = False  # for a set of categories: whether missing values belong to it
    inside: float = 0.0  # the number for values in a set of categories; others get one less it


def describe(block: Any, columns: Sequence[Column] | None, allow_missing: bool) -> tuple[Any, ...]:
    """Return the rows of a block, its first flaw, and what it tells of its columns.

    Parameters
    ----------
    block : array or data frame
        The rows.
    columns : sequence of Column or None
        What the columns hold if types tell it, else None.
    allow_missing : bool
        Whether missing values are allowed.
    """
    if columns is None:
        values, found = encoded(block)
    else:
        values, found = as_matrix(block), tuple(columns)
    is_known = ~np.isnan(values)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # where all values are missing
        spans = [
            np.min(values, axis=0, where=is_known, initial=np.inf),
            np.max(values, axis=0, where=is_known, initial=-np.inf),
        ]
    summaries = []
    for place, (held, n_known) in enumerate(zip(found, is_known.sum(axis=0).tolist(), strict=True)):
        least, most = (float(each[place]) for each in spans)
        n_unlisted = 0 if held.kind == "category" else n_known
        column = replace(held, has_missing=n_known < len(values))
        summaries.append(
            ColumnSummary(column, n_known, least, most, _listed_order(block, place), n_unlisted)
        )
    return [len(values)], [first_flaw(values, allow_missing=allow_missing)], summaries


def _listed_order(block: Any, place: int) -> tuple[Any, ...]:
    """Return the categories of an ordered column of pandas in their order."""
    dtype: Any = block.dtypes.iloc[place] if hasattr(block, "dtypes") else None
    return tuple(dtype.categories) if getattr(dtype, "ordered", False) else ()


def merge_descriptions(parts: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Combine what several blocks tell."""
    sizes, flaws, summaries = zip(*parts, strict=True)
    joined = [list(chain.from_iterable(each)) for each in (sizes, flaws)]
    return *joined, [_joined(list(each)) for each in zip(*summaries, strict=True)]


def _joined(summaries: list[ColumnSummary]) -> ColumnSummary:
    """Combine what several blocks tell about a column; blocks without any value are ignored."""
    speaking = [each for each in summaries if each.n_known] or summaries[:1]
    columns = [each.column for each in speaking]
    kind = _joined_kind({column.kind for column in columns})
    found = chain.from_iterable(column.categories for column in columns)
    listed = tuple(dict.fromkeys(chain.from_iterable(each.listed for each in summaries)))
    zones = {column.zone for column in columns}
    if kind == "date" and len(zones) > 1:
        raise mixed_zones(columns[0].name)
    column = Column(
        columns[0].name,
        kind,
        ordered_categories(found, listed) if kind == "category" else (),
        zones.pop() if len(zones) == 1 else None,
        any(each.column.has_missing for each in summaries),
        kind == "duration" and all(column.clock for column in columns),
    )
    return ColumnSummary(
        column,
        sum(each.n_known for each in summaries),
        min(each.least for each in summaries),
        max(each.most for each in summaries),
        listed,
        sum(each.n_unlisted for each in summaries),
    )


def _joined_kind(kinds: set[Kind]) -> Kind:
    """Return the kind of a column whose parts look like these."""
    if len(kinds) == 1:
        return next(iter(kinds))
    if kinds <= {"boolean", "flag", "whole", "number"}:  # booleans are numbers, too
        return next(kind for kind in ("number", "whole", "flag") if kind in kinds)
    return "category"


def values_in(block: Any, places: Sequence[int]) -> list[tuple[Any, ...]]:
    """Return the distinct values of some columns of a block, without missing ones."""
    columns = (block.iloc[:, place] for place in places)
    return [
        ordered_categories(_plain(each) for each in column if not is_missing(each))
        for column in columns
    ]


def merge_values_in(parts: list[list[tuple[Any, ...]]]) -> list[tuple[Any, ...]]:
    """Return the distinct values in several blocks."""
    return [ordered_categories(chain.from_iterable(each)) for each in zip(*parts, strict=True)]


def chosen_rows(block: Any, rows: Ints) -> Matrix:
    """Return some rows of a block of numbers."""
    return as_matrix(block)[rows]


def derive(block: Any, recipes: Sequence[Recipe]) -> Matrix:
    """Return columns of a block as numbers."""
    wanted = {each.place: each.column for each in recipes if each.column is not None}
    places = {place: number for number, place in enumerate(wanted)}
    read = encode_rows(block, list(wanted.items()), by_name=False) if wanted else None
    raw = as_matrix(block) if len(wanted) < len({each.place for each in recipes}) else None
    made = np.empty((len(block), len(recipes)), order="F")
    for number, recipe in enumerate(recipes):
        source, place = (
            (raw, recipe.place) if recipe.column is None else (read, places[recipe.place])
        )
        assert source is not None
        made[:, number] = _made(source[:, place].astype(np.float64), recipe)
    return made


def _made(x: Floats, recipe: Recipe) -> Floats:
    if recipe.codes is not None:
        is_inside = Test(0, missing=recipe.missing, values=recipe.codes).passes(x)
        return np.where(is_inside, recipe.inside, 1.0 - recipe.inside)
    if not np.isnan(recipe.fill):
        x = np.where(np.isnan(x), recipe.fill, x)
    if recipe.squared:
        with np.errstate(over="ignore"):
            return np.asarray((x - recipe.fill) ** 2)
    return x / recipe.scale


def category_codes(block: Matrix, n_categories: int) -> Array:
    """Return the codes of a block of one column as whole numbers; the one after the last is missing."""
    codes = block[:, 0]
    grouped = np.where(np.isnan(codes), n_categories, codes)
    return grouped.astype(np.min_scalar_type(n_categories))


def count_categories(groups: Array, n_groups: int, clusters: Array, n_clusters: int) -> Ints:
    """Return the rows of every category by cluster; the last cluster stands for none."""
    flat = groups.astype(np.int64) * (n_clusters + 1)
    flat += np.where(clusters < 0, n_clusters, clusters)
    counts = np.bincount(flat, minlength=n_groups * (n_clusters + 1))
    return counts.reshape(n_groups, n_clusters + 1).astype(np.int64)


def are_flags(block: Any, places: Sequence[int]) -> Ints:
    """Return, for some columns of a block, the number of values that are neither 0 nor 1 nor missing."""
    X = as_matrix(block)[:, list(places)]
    others: Ints = np.sum((X != 0) & (X != 1) & (X == X), axis=0, dtype=np.int64)  # noqa: PLR0124
    return others


# --- Bins -----------------------------------------------------------------------------------------


def sample_rows(block: Any, place: int, n_wanted: int) -> tuple[list[Matrix], list[int]]:
    """Return some rows of a block, always the same ones for this partition, and how many it has."""
    X = as_matrix(block)
    n_rows = len(X)
    if n_rows > n_wanted:
        X = X[np.sort(np.random.default_rng(place).choice(n_rows, n_wanted, replace=False))]
    # Rows in random order: a partition with fewer rows than others gives the first of them.
    return [np.random.default_rng(place).permutation(X.astype(np.float64))], [n_rows]


def merge_samples(found: list[tuple[list[Matrix], list[int]]]) -> tuple[list[Matrix], list[int]]:
    """Return the samples of several partitions."""
    rows, sizes = zip(*found, strict=True)
    return list(chain.from_iterable(rows)), list(chain.from_iterable(sizes))


def code_part(block: Any, binning: Binning, room: float, *, is_held: bool) -> BinnedPartition:
    """Return a partition in bins.

    Parameters
    ----------
    block : array or data frame
        The rows.
    binning : Binning
        How values become bins.
    room : float
        Bytes of memory that it may take; otherwise it is stored on the worker's disk.
    is_held : bool
        Whether Dask holds the rows in memory anyway.
    """
    X = as_matrix(block)
    n_features = X.shape[1]
    if n_features != len(binning.edges):
        raise ValueError(
            f"X has partitions of different widths: {len(binning.edges)} and {n_features} columns."
        )
    with np.errstate(over="ignore", invalid="ignore"):
        is_finite = bool(np.isfinite(X.sum(dtype=np.float64)))
    flaw = None if is_finite else first_flaw(X)
    codes = code(X if flaw is None else np.zeros(X.shape), binning)
    low = np.full((len(binning.discrete), N_CODES), np.inf)
    high = np.full((len(binning.discrete), N_CODES), -np.inf)
    for place, feature in enumerate(binning.discrete.tolist()):
        if flaw is None:
            spread_of_bins(X, feature, np.nan, codes, feature, low[place], high[place])
    part = BinnedPartition(codes, X.T, low, high, flaw)
    part.owned = codes.nbytes + (0 if is_held and X is block else X.nbytes)
    return part if part.owned <= room else part.stored()


def summary_of(part: BinnedPartition) -> tuple[Any, ...]:
    """Return what the client needs to know about a partition: rows, first flaw, extremes of its bins."""
    return [part.shape[1]], [part.flaw], part.low, part.high


def merge_summaries(parts: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Return the summary of several partitions."""
    sizes, flaws, lows, highs = zip(*parts, strict=True)
    joined = [list(chain.from_iterable(each)) for each in (sizes, flaws)]
    return *joined, np.min(lows, axis=0), np.max(highs, axis=0)


# --- Rows -----------------------------------------------------------------------------------------


def walked(block: Any, tree: Tree, columns: Sequence[int]) -> NodeValues:
    """Return the leaf id of every row of a block, some columns of which a tree tests, and the values at its tests."""
    X = as_matrix(block)
    if tree.values:  # sets of categories
        return node_values(X[:, list(columns)], tree)
    from spexplain.kernels.routes import walk_tree

    is_inner = tree.feature != LEAF
    tested = np.where(is_inner, np.asarray(columns, dtype=np.int64)[tree.feature], LEAF)
    bounds = np.column_stack([tree.lower, tree.threshold])
    children = np.column_stack([tree.left, tree.right])
    ends = np.tile([-np.inf, np.inf, -np.inf, np.inf], (tree.n_nodes, 1))
    n_missing, leaves = np.zeros(tree.n_nodes, dtype=np.int64), np.empty(len(X), dtype=np.int64)
    walk_tree(X, tested, bounds, tree.missing, children, ends, n_missing, leaves)
    ends[np.isinf(ends)] = np.nan  # nothing there
    leaf_id = np.zeros(tree.n_nodes, dtype=np.int64)
    leaf_id[tree.leaves] = np.arange(tree.n_leaves)
    below, above, lower_below, lower_above = ends.T
    return NodeValues(below, above, lower_below, lower_above, n_missing, {}, leaf_id[leaves])


def leaf_of_rows(block: Any, tree: Tree, columns: Sequence[int]) -> Ints:
    """Return the leaf id of every row of a block, some columns of which a tree tests."""
    leaves = walked(block, tree, columns).leaves
    assert leaves is not None
    return leaves


class Tested(NamedTuple):
    """What predictions need: the columns that a tree tests."""

    tree: Tree  # over these columns only
    columns: tuple[tuple[int, Column], ...]  # places and meaning
    by_name: bool  # whether they are found by name; otherwise by position
    as_objects: bool  # whether values are more than numbers, or may be
    allow_missing: bool


def leaf_of_tested(block: Any, tested: Tested) -> Ints:
    """Return the leaf id of every row of a block that the model was not fitted to."""
    columns = tested.columns
    if tested.as_objects:
        X = encode_rows(block, columns, by_name=tested.by_name)
    else:
        X = as_matrix(block)[:, [place for place, _ in columns]]
    names = [column.name for _, column in columns]
    check_finite(X, names, first_row=None, allow_missing=tested.allow_missing)
    return tested.tree.apply(X) if columns else np.zeros(len(X), dtype=np.int64)


def leaf_series(block: Any, tested: Tested, promise: PartitionSchema) -> Any:
    """Return the leaf ids of a data frame's rows as one of its columns."""
    from pandas import Series

    block = kept(block, promise)
    return Series(leaf_of_tested(block, tested), index=block.index)


def values_at_tests(
    block: Any, request: tuple[Tree, list[int], Floats]
) -> tuple[NodeValues, tuple[Any, ...]]:
    """Return which values of a block meet the tests of a tree over some of its columns, and their moments."""
    tree, columns, origin = request
    # Leaves stay with the workers; only sums are transferred.
    return walked(block, tree, columns)._replace(leaves=None), moments_of(block, (columns, origin))


def merge_values_and_moments(
    parts: list[tuple[NodeValues, tuple[Any, ...]]],
) -> tuple[NodeValues, tuple[Any, ...]]:
    """Return the same for several blocks."""
    values, moments = zip(*parts, strict=True)
    return merge_values(list(values)), add_tuples(list(moments))


def merge_values(parts: list[NodeValues]) -> NodeValues:
    """Return which values of several blocks meet the tests of a tree."""
    below, above, lower_below, lower_above, n_missing, present, _ = zip(*parts, strict=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # where no block has a value
        greatest = [np.nanmax(each, axis=0) for each in (below, lower_below)]
        least = [np.nanmin(each, axis=0) for each in (above, lower_above)]
    codes = {node: frozenset().union(*(each[node] for each in present)) for node in present[0]}
    return NodeValues(
        greatest[0], least[0], greatest[1], least[1], np.sum(n_missing, axis=0), codes
    )


def summaries_of_columns(
    block: Any, request: tuple[Callable[..., Any], list[int]], *of_rows: Array
) -> list[Any]:
    """Return the result of a function of some columns of a block, in a list."""
    function, columns = request
    return [function(as_matrix(block)[:, columns], *of_rows)]


def in_one_list(parts: list[list[Any]]) -> list[Any]:
    """Return the entries of several lists in one."""
    return list(chain.from_iterable(parts))


def nearest_centers(block: Any, centers: Floats, cost: CostName) -> Ints:
    """Return the nearest centre of every row of a block."""
    return np.asarray(np.argmin(service_costs(as_matrix(block), centers, cost), axis=1))


def sums_of_groups(block: Any, groups: Array, request: tuple[int, Floats]) -> GroupSums:
    """Return the sums over groups of rows, measured from an origin."""
    from spexplain.kernels.groups import sum_groups

    n_groups, origin = request
    X, groups = as_matrix(block), np.asarray(groups, dtype=np.int64)
    sums, squares = np.zeros((2, n_groups, X.shape[1]))
    sum_groups(X, origin, np.zeros(X.shape[1]), groups, sums, squares)
    return GroupSums(group_sizes(groups, n_groups), sums, squares.sum(axis=1))


def margins_of(part: BinnedPartition, codes: Array, request: tuple[Any, ...]) -> GroupSums:
    """Return the sums over pairs of leaf and cluster, of the rows that have a cluster."""
    tree, columns, (n_leaves, n_clusters), origin = request
    leaves = leaf_of_rows(part, tree, columns)
    pairs = joined(leaves, codes, n_clusters)
    return sums_of_groups(part, pairs, (n_leaves * n_clusters, origin))


def moments_of(block: Any, request: tuple[Sequence[int], Floats]) -> tuple[Any, ...]:
    """Return the number of values, and the sums and squares of some columns, measured from an origin."""
    columns, origin = request
    X, found = as_matrix(block), np.zeros((3, len(columns)))
    for place, column in enumerate(columns):
        for start in range(0, len(X), _AT_A_TIME):
            gaps = X[start : start + _AT_A_TIME, column].astype(np.float64) - origin[place]
            is_known = ~np.isnan(gaps)
            np.copyto(gaps, 0.0, where=~is_known)
            found[:, place] += np.count_nonzero(is_known), gaps.sum(), (gaps * gaps).sum()
    return tuple(found)


def largest_of(block: Any) -> Floats:
    """Return the largest magnitude of every column."""
    largest: Floats = np.abs(np.nan_to_num(as_matrix(block), posinf=np.inf)).max(
        axis=0, initial=0.0
    )
    return largest.astype(np.float64)


def merge_largest(parts: list[Floats]) -> Floats:
    """Return the largest magnitudes in several partitions."""
    return np.asarray(np.max(parts, axis=0))


def exact_sums(block: Any, codes: Array, n_clusters: int, exponents: Ints) -> tuple[Any, ...]:
    """Return the values of each cluster, and their sums in two halves of integers of any size."""
    X = as_matrix(block).astype(np.float64)
    is_known = ~np.isnan(X)
    X = np.ldexp(np.where(is_known, X, 0.0), LIMB - exponents)
    whole = np.floor(X)
    halves = whole.astype(np.int64), np.rint(np.ldexp(X - whole, LIMB)).astype(np.int64)
    inside = codes >= 0
    counts = np.zeros((n_clusters, X.shape[1]), dtype=np.int64)
    np.add.at(counts, codes[inside], is_known[inside])
    found = []
    for half in halves:
        sums = np.zeros((n_clusters, X.shape[1]), dtype=np.int64)
        np.add.at(sums, codes[inside], half[inside])
        found.append(sums.astype(object))
    return counts, *found


# --- Labels ---------------------------------------------------------------------------------------


def classes_of(block: Any) -> list[Array]:
    """Return the distinct labels of a block, how many are missing, and how many there are."""
    labels = np.asarray(block)
    is_missing = missing_labels(labels)
    known = Reference.from_labels(
        labels[~is_missing], n_samples=int(np.count_nonzero(~is_missing)), noise="cluster"
    )
    return [known.classes, np.array([np.count_nonzero(is_missing)]), np.array([len(labels)])]


def merge_classes(parts: list[list[Array]]) -> list[Array]:
    """Return the distinct labels of several blocks, how many are missing, and the lengths of the blocks."""
    found = [classes for classes, *_ in parts if len(classes)]
    n_missing = np.sum([missing for _, missing, _ in parts], axis=0)
    lengths = np.concatenate([each for *_, each in parts])
    if not found:
        return [parts[0][0], n_missing, lengths]
    try:
        return [np.unique(np.concatenate(found)), n_missing, lengths]
    except TypeError:
        raise mixed_labels() from None


def code_type(n_classes: int) -> Any:
    """Return the smallest type of codes of so many classes, of noise, and of one more."""
    return np.min_scalar_type(-(n_classes + 2))


def encode(block: Array, classes: Array) -> Array:
    """Return labels as positions among the classes; -1 (noise) for labels that are not among them."""
    block = np.asarray(block)
    if block.dtype.kind in "iu" and len(block):
        least, most = int(block.min()), int(block.max())
        if most - least < len(block) and most < 2**63:  # looked up, not searched for row by row
            every = np.arange(least, most + 1).astype(block.dtype)
            return _places_among(classes, every).take(block.astype(np.int64) - least)
    return _places_among(classes, block)


def _places_among(classes: Array, labels: Array) -> Array:
    codes = np.full(len(labels), NOISE, dtype=code_type(len(classes)))
    known = np.flatnonzero(~missing_labels(labels))
    if len(classes):
        places = np.minimum(np.searchsorted(classes, labels[known]), len(classes) - 1)
        is_class = classes[places] == labels[known]
        codes[known[is_class]] = places[is_class]
    return codes
