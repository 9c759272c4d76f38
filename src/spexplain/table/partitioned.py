"""Tables with rows in partitions: Dask collections, and their bins, which stay with the workers."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar, Self, TypeAlias
from uuid import uuid4

import dask
import numpy as np

from spexplain.aliases import Array, Bools, EngineName, Floats, Ints, Matrix, NoisePolicy
from spexplain.table import partition_worker as worker
from spexplain.table.base import (
    _FOR_TRAINING_ROWS,
    GroupSums,
    Margins,
    NodeValues,
    Rows,
    Table,
)
from spexplain.table.checks import refuse_flaw
from spexplain.table.coding import MAX_BINS, Binning, binning_of, code, limits_of
from spexplain.table.columns import default_names, holds_numbers, kinds_of
from spexplain.table.coordinates import Coordinates
from spexplain.table.distances import CostName
from spexplain.table.reference import (
    Reference,
    check_missing,
    noise_rows,
    warn_of_noise,
)
from spexplain.table.storage import is_collection
from spexplain.table.views import CategoryColumn, View, beyond, indicators
from spexplain.table.workers import Workers, add_tuples, current_client, memory_of_workers
from spexplain.tree import Column, Kind, Tree

ROWS_PER_PARTITION = 1_000_000  # of tables that lie in the memory of this process
_N_SAMPLED = 32  # partitions from which the borders of bins are computed
_N_SAMPLE = 1 << 14  # rows from all of these partitions together
_CODED_SHARE = 0.25  # of the workers' memory for bins and values; beyond it they are on disk


class PartitionSource:
    """Where the rows come from: a Dask array or data frame, or an array in this process."""

    def __init__(self, X: Any, rows_per_partition: int) -> None:
        self.collection: Any = X
        self.names: list[Any] | None = None
        self.holds_numbers = True  # NumPy's number types, by the declared types
        self.is_held = _is_held(X)
        self._columns: dict[tuple[int, ...], list[Any]] = {}
        if hasattr(X, "to_delayed") and hasattr(X, "columns"):
            self.names = list(X.columns)
            self.n_features, self.n_partitions = len(self.names), X.npartitions
            self.holds_numbers = holds_numbers(X._meta)
            return
        if hasattr(X, "to_delayed"):
            if X.ndim != 2:
                raise ValueError(f"X must be a table, got a Dask array of {X.ndim} dimensions.")
            whole = X.rechunk({1: X.shape[1]})
            self.blocks = list(whole.to_delayed()[:, 0])
            self.n_features = X.shape[1]
        else:
            starts = range(0, len(X), rows_per_partition)
            self.blocks = _held([X[start : start + rows_per_partition] for start in starts])
            self.n_features = X.shape[1]
        self.n_partitions = len(self.blocks)

    def read(self, columns: Sequence[int]) -> tuple[list[Any], dict[int, int]]:
        """Return the partitions with at least these columns, and the positions of the columns in them.

        Of a data frame only these columns are read, which saves much with Parquet files.
        """
        if self.names is None:
            return self.blocks, {column: column for column in columns}
        chosen = tuple(columns)
        if chosen not in self._columns:
            picked = self.collection[[self.names[column] for column in chosen]]
            promise = worker.PartitionSchema.of(picked)
            name = f"spexplain-rows-{uuid4().hex[:12]}"
            self._columns[chosen] = [
                dask.delayed(worker.kept, name=f"{name}-{number}", traverse=False)(
                    block, promise, number
                )
                for number, block in enumerate(_parts_of(picked))
            ]
        return self._columns[chosen], {column: i for i, column in enumerate(chosen)}


class DerivedSource:
    """Columns of numbers that the workers compute from another source whenever they are read.

    Parameters
    ----------
    source : PartitionSource
        The source of the rows.
    workers : Workers
        The workers that compute them.
    recipes : sequence of Recipe
        How to compute each column; positions refer to columns of the source.
    names : list, optional
        Names of the new columns.
    """

    def __init__(
        self,
        source: "AnySource",
        workers: Workers,
        recipes: Sequence[worker.Recipe],
        names: list[Any] | None = None,
    ) -> None:
        self.source, self.workers, self.recipes, self.names = source, workers, recipes, names
        self.collection: Any = source.collection
        self.n_features = len(recipes)
        self.is_held = False
        self._columns: dict[tuple[int, ...], list[Any]] = {}

    def read(self, columns: Sequence[int]) -> tuple[list[Any], dict[int, int]]:
        """Return the partitions with these columns, and the positions of the columns in them."""
        chosen = tuple(columns)
        if chosen not in self._columns:
            recipes = [self.recipes[column] for column in chosen]
            blocks, places = self.source.read(sorted({each.place for each in recipes}))
            placed = [each._replace(place=places[each.place]) for each in recipes]
            held = self.workers.hold(placed)
            made = self.workers.tasks("columns", worker.derive, [(each, held) for each in blocks])
            self._columns[chosen] = made
        return self._columns[chosen], {column: i for i, column in enumerate(chosen)}


class ChosenSource:
    """Some rows of a table of numbers, selected by the workers.

    Parameters
    ----------
    table : PartitionedTable
        The table.
    rows : array of int
        Their numbers, ascending.
    """

    def __init__(self, table: "PartitionedTable", rows: Ints) -> None:
        self.table, self.workers = table, table.workers
        self.collection: Any = table.source.collection
        self.names: list[Any] | None = table.source.names
        self.n_features: int = table.source.n_features
        self.is_held = False
        ends = np.cumsum(table.lengths)
        cuts = np.searchsorted(rows, np.append(0, ends))
        parts = [
            (number, rows[cuts[number] : cuts[number + 1]] - (end - table.lengths[number]))
            for number, end in enumerate(ends.tolist())
        ]
        self.parts = [(number, own) for number, own in parts if len(own)]  # no partition is empty
        self._columns: dict[tuple[int, ...], list[Any]] = {}

    def read(self, columns: Sequence[int]) -> tuple[list[Any], dict[int, int]]:
        """Return these rows, from the partitions that have some, and the positions of the columns."""
        blocks, places = self.table.read(columns)
        chosen = tuple(columns)
        if chosen not in self._columns:
            arguments = [
                (blocks[number], self.workers.hold(own, "values")) for number, own in self.parts
            ]
            self._columns[chosen] = self.workers.tasks("chosen", worker.chosen_rows, arguments)
        return self._columns[chosen], places


AnySource: TypeAlias = PartitionSource | DerivedSource | ChosenSource


def _parts_of(frame: Any) -> list[Any]:
    """Return the partitions of a Dask data frame or series, reading only what is needed.

    Dask's own optimiser would also fuse tasks, and give different contents to tasks of the same name in different
    frames over the same rows; two requests that define a task differently can stop a cluster for good. It would
    also read several files as one partition if only a few columns are needed, so that labels would not line up
    with their rows.
    """
    return list(frame.simplify().to_delayed(optimize_graph=False))


def _blocks_of(values: Any) -> list[Any]:
    """Return the blocks of a Dask array; their tasks keep their contents, too."""
    return list(values.to_delayed(optimize_graph=False).reshape(-1))


def _is_held(X: Any) -> bool:
    """Whether the rows themselves are in memory, of this process or of the workers."""
    if not hasattr(X, "to_delayed"):
        return True
    distributed = sys.modules.get("distributed")
    return distributed is not None and bool(distributed.futures_of(X))


def _held(blocks: list[Matrix]) -> list[Any]:
    """Return blocks of this process as tasks; with a client they are sent to the workers at once."""
    client = current_client()
    if client is not None:
        return list(map(dask.delayed, client.scatter(blocks)))
    return [dask.delayed(block, traverse=False) for block in blocks]


def _refuse_whole(what: str, instead: str) -> Matrix:
    raise ValueError(
        f"{what} needs the whole table in memory, but X is a Dask collection; {instead}."
    )


class LazyRows(Rows):
    """Rows of a Dask collection: predictions stay lazy.

    Parameters
    ----------
    collection : Dask array or data frame
        The rows.
    columns : sequence of (int, Column)
        Position and description of the columns that the model tests.
    by_name : bool
        Whether these are found by name; otherwise by position.
    as_objects : bool
        Whether values are more than numbers, or may be.
    allow_missing : bool
        Whether values may be missing.
    """

    def __init__(
        self,
        collection: Any,
        columns: Sequence[tuple[int, Column]],
        *,
        by_name: bool,
        as_objects: bool,
        allow_missing: bool,
    ) -> None:
        self.collection, self.columns, self.by_name = collection, tuple(columns), by_name
        self.as_objects, self.allow_missing = as_objects, allow_missing

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, if they are known, and columns."""
        n_rows, n_columns = self.collection.shape
        return n_rows, n_columns

    def leaves(self, tree: Tree) -> Any:
        """Return the leaf id of every row as a Dask array."""
        rows, columns = self.collection, self.columns
        compact = tree.over([place for place, _ in columns])
        options = self.by_name, self.as_objects, self.allow_missing
        if not hasattr(rows, "to_dask_array"):
            tested = worker.Tested(compact, columns, *options)
            whole, nothing = rows.rechunk({1: rows.shape[1]}), np.empty(0, dtype=np.int64)
            return whole.map_blocks(
                worker.leaf_of_tested, tested, drop_axis=1, dtype=np.int64, meta=nothing
            )
        if columns:  # other columns are not read
            keys = list(rows.columns)
            rows = rows[[column.name if self.by_name else keys[place] for place, column in columns]]
            columns = tuple((place, column) for place, (_, column) in enumerate(columns))
        tested, promise = worker.Tested(compact, columns, *options), worker.PartitionSchema.of(rows)
        nothing = worker.leaf_series(rows._meta, tested, promise)
        found = rows.map_partitions(worker.leaf_series, tested, promise, meta=nothing)
        return found.to_dask_array()

    def to_host(self, what: str = "This", instead: str = _FOR_TRAINING_ROWS) -> Matrix:
        """Refuse a copy on the host, and say what to do instead."""
        return _refuse_whole(what, instead)


@dataclass(frozen=True, eq=False, kw_only=True)
class PartitionedTable(Table):
    """Rows in partitions.

    Parameters
    ----------
    source : PartitionSource
        The source of the values, as numbers.
    workers : Workers
        The workers that do the counting.
    lengths : tuple of int
        Rows of every partition.
    used : array of int
        The columns in use.
    max_bins : int
        Number of bins of a column in a search.
    described : tuple of Column, optional
        What the columns hold, for tables with categories, dates or missing values.
    spans : array of shape (2, n_columns), optional
        The least and the greatest value of every column, of those that are described.
    """

    engine: ClassVar[EngineName | None] = "dask"
    source: AnySource
    workers: Workers
    lengths: tuple[int, ...]
    used: Ints
    max_bins: int = MAX_BINS
    described: tuple[Column, ...] | None = None
    spans: Floats | None = None

    @classmethod
    def of(
        cls,
        X: Any,
        *,
        max_bins: int = MAX_BINS,
        rows_per_partition: int = ROWS_PER_PARTITION,
        n_jobs: int | None = None,
        allow_missing: bool = False,
    ) -> "PartitionedTable":
        """Return a table of numbers in bins, in two passes over the rows, one of which reads a sample only.

        A table with missing values or other values than numbers is scanned first; with categories or missing
        values, the bins are computed later, for its views (`search_columns`).
        """
        if isinstance(X, PartitionedTable):
            return X
        workers, source = Workers(n_jobs), PartitionSource(X, rows_per_partition)
        if source.holds_numbers:
            coded, flaws = CodedTable.coded(source, workers, max_bins, stop_early=allow_missing)
            if not (allow_missing and any(flaw is not None for flaw in flaws)):
                _refuse_flaws(flaws, coded.lengths, source.names)
                return coded
        return _described(source, workers, max_bins, allow_missing=allow_missing)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return sum(self.lengths), len(self.used)

    @property
    def n_features(self) -> int:
        """Number of columns that can be read, used or not."""
        return self.source.n_features

    @property
    def names(self) -> tuple[str, ...] | None:  # type: ignore[override]
        """Names of the columns, if all are strings."""
        names = self.source.names
        if names is None or not all(isinstance(name, str) for name in names):
            return None
        return tuple(names[column] for column in self.used)

    @property
    def kinds(self) -> Kind | tuple[Kind, ...]:  # type: ignore[override]
        """Kind of all columns, or of each."""
        if isinstance(self.source, DerivedSource):
            return "number"  # other kinds are in the description
        if isinstance(self.source, ChosenSource):
            return self.source.table.kinds
        kinds = kinds_of(self.source.collection)
        return kinds if isinstance(kinds, str) else tuple(kinds[column] for column in self.used)

    @property
    def values(self) -> Self:
        """The table itself; the Dask engine works on it."""
        return self

    def to_host(self, what: str = "This", instead: str = _FOR_TRAINING_ROWS) -> Matrix:
        """Say what to do instead."""
        return _refuse_whole(what, instead)

    def training_rows(self) -> Matrix:
        """Say what to do instead."""
        return self.to_host()

    def select(self, columns: Sequence[int]) -> Self:
        """Return the table of some columns only."""
        chosen = np.asarray(columns, dtype=np.int64)
        described = self.described
        if described is not None:
            described = tuple(described[column] for column in chosen)
        return replace(self, used=self.used[chosen], described=described)

    def take(self, rows: Ints) -> Self:
        """Return the table of some rows only, in ascending order, from what the workers keep or read again."""
        source = ChosenSource(self, rows)
        return replace(self, source=source, lengths=tuple(len(own) for _, own in source.parts))

    @property
    def differs(self) -> bool:
        """Whether some column is not constant: it has several values, or one that some rows lack."""
        assert self.spans is not None
        least, most = self.spans  # of a column without any value, the least is above the most
        has_missing = np.array([column.has_missing for column in self.columns])
        return bool(np.any((least < most) | (has_missing & (least == most))))

    def read(self, columns: Sequence[int]) -> tuple[list[Any], dict[int, int]]:
        """Return the values of some columns of all partitions, and the positions of the columns."""
        return self.source.read(columns)

    def read_all(self) -> list[Any]:
        """Return the values of all columns of all partitions."""
        return self.read(range(self.source.n_features))[0]

    def part_of_rows(self, values: Any, dtype: Any) -> list[Any]:
        """Return an array with one entry per row (or a Dask array of any chunks) partition by partition."""
        if hasattr(values, "to_delayed"):
            return _blocks_of(self._aligned(values))
        ends = np.cumsum(self.lengths)
        pieces = [
            np.ascontiguousarray(values[end - size : end], dtype=dtype)
            for size, end in zip(self.lengths, ends, strict=True)
        ]
        return [self.workers.hold(piece, "values") for piece in pieces]

    def kept_rows(self, values: Any, dtype: Any) -> list[Any]:
        """Return the same, kept by the workers; a Dask array is read once."""
        name = getattr(values, "name", None)
        if name is None or not is_collection(values):
            return self.workers.keep(self.part_of_rows(values, dtype))
        if name not in self.workers.kept:
            self.workers.kept[name] = self.workers.keep(self.part_of_rows(values, dtype))
        return self.workers.kept[name]

    def _aligned(self, values: Any) -> Any:
        """Return a Dask array with the chunks of the table's partitions."""
        lengths = self.lengths
        if any(np.isnan(size) for size in values.chunks[0]):
            values = values.compute_chunk_sizes()
        if values.shape[0] != sum(lengths):
            raise ValueError(f"y has {values.shape[0]} labels, but X has {sum(lengths)} rows.")
        if values.chunks[0] == lengths and all(len(sizes) == 1 for sizes in values.chunks[1:]):
            return values
        return values.rechunk((lengths, *((size,) for size in values.shape[1:])))

    def map_rows(
        self,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        dtype: Any = np.int64,
        width: int | None = None,
        blocks: list[Any] | None = None,
    ) -> Any:
        """Return a function of every block of rows as one lazy Dask array, of `width` columns if any."""
        held = [self.workers.hold(argument) for argument in arguments]
        blocks = self.read_all() if blocks is None else blocks
        tasks = self.workers.tasks("rows", function, [(block, *held) for block in blocks])
        return self._joined(tasks, dtype, width)

    def leaves(self, tree: Tree) -> Any:
        """Return the leaf id of every row as a Dask array, from the rows that the user gave."""
        blocks, compact, columns = self._tested(tree, self.source)
        leaves = self.map_rows(worker.leaf_of_rows, (compact, columns), blocks=blocks)
        self.workers.routes[leaves.name] = tree
        return leaves

    def _tested(
        self, tree: Tree, source: "AnySource | PartitionedTable"
    ) -> tuple[list[Any], Tree, list[int]]:
        """Return partitions with the columns that a tree tests, the tree over them, and column positions."""
        tested = sorted({test.feature for test in tree.tests.values()})
        blocks, places = source.read(tested or [0])
        return blocks, tree.over(tested), [places[column] for column in tested or [0]]

    def weights(self, sample_weight: Any) -> Floats | None:
        """Return the weights of the rows, in memory; None where all are one."""
        if is_collection(sample_weight):
            sample_weight = np.asarray(sample_weight.compute())
        return super().weights(sample_weight)

    def fetch(self, leaves: Any) -> Any:
        """Return leaf ids as they are: lazy."""
        return leaves

    def nearest(self, centers: Floats, cost: CostName) -> Any:
        """Return the nearest centre of every row as a Dask array."""
        return self.map_rows(worker.nearest_centers, (centers, cost))

    @property
    def origin(self) -> Floats:
        """The middle of all values."""
        assert self.spans is not None
        with np.errstate(invalid="ignore"):  # a column without values has no middle
            middle = self.spans[0] / 2 + self.spans[1] / 2
        return np.where(np.isfinite(middle), middle, 0.0)

    def holds(self, n_pairs: int) -> bool:
        """Return True: sums over pairs are requested together, as a second pass would cost more."""
        return True

    def sums(self, groups: Any, n_groups: int) -> GroupSums:
        """Return rows, sums and squared lengths of every group; groups may be a Dask array."""
        held = self.workers.hold((n_groups, self.origin))
        pieces = self.part_of_rows(groups, np.int64)
        arguments = [
            (block, piece, held) for block, piece in zip(self.read_all(), pieces, strict=True)
        ]
        return GroupSums(*self.workers.ask("leaves", worker.sums_of_groups, arguments, add_tuples))

    def node_values(self, tree: Tree) -> NodeValues:
        """Return which training values meet the tests of a tree; the same pass learns more about their columns."""
        blocks, compact, columns = self._tested(tree, self)
        tested = sorted({test.feature for test in tree.tests.values()}) or [0]
        held = self.workers.hold((compact, columns, self.origin[tested]))
        found, moments = self.workers.ask(
            "tests",
            worker.values_at_tests,
            [(block, held) for block in blocks],
            worker.merge_values_and_moments,
            beside=self.beside,
        )
        for place, column in enumerate(tested):
            self._moments[column] = tuple(float(each[place]) for each in moments)
        return NodeValues(*found)

    @cached_property
    def _moments(self) -> dict[int, tuple[float, ...]]:
        """Number, sum and squares of the values of columns requested so far, measured from `origin`."""
        return {}

    @property
    def beside(self) -> list[Any]:
        """What the workers keep of every partition; nothing if they read it again each time."""
        return []

    def ask_columns(
        self, columns: Sequence[int], function: Callable[..., Any], of_rows: Sequence[Any] = ()
    ) -> list[Any]:
        """Return the results of a function of some columns' values, one for every partition, in order."""
        numbers = self.used[list(columns)].tolist()
        blocks, places = self.read(numbers or [0])
        request = self.workers.hold((function, [places[number] for number in numbers]))
        pieces = [self.kept_rows(each, np.int64) for each in of_rows]
        arguments = [(block, request, *own) for block, *own in zip(blocks, *pieces, strict=True)]
        # Not with `beside`: the answers must come in the order of the partitions.
        found = self.workers.ask(
            "columns", worker.summaries_of_columns, arguments, worker.in_one_list
        )
        return list(found)

    def scales(self, features: Ints) -> Floats:
        """Return the standard deviations of some columns; NaN elsewhere."""
        scales = np.full(self.source.n_features, np.nan)
        chosen = np.unique(features).tolist()
        if not chosen:
            return scales
        known = [self._moments[column] for column in chosen if column in self._moments]
        if len(known) == len(chosen):
            size, sums, squares = np.array(known).T
        else:
            blocks, places = self.read(chosen)
            columns = [places[column] for column in chosen]
            held = self.workers.hold((columns, self.origin[chosen]))
            arguments = [(block, held) for block in blocks]
            size, sums, squares = self.workers.ask(
                "scales", worker.moments_of, arguments, add_tuples, beside=self.beside
            )
        size = np.maximum(size, 1.0)
        scales[chosen] = np.sqrt(np.maximum(squares / size - (sums / size) ** 2, 0.0))
        return scales

    def centers(self, codes: Any, n_clusters: int, cost: CostName) -> Floats:
        """Return the mean of every cluster, rounded once: the same for every partitioning."""
        if cost == "kmedians":
            raise ValueError(
                'objective="kmedians" needs the medians of all clusters; pass them as centers, since X is a Dask '
                "collection."
            )
        return exact_means(self, self, codes, n_clusters)

    # Tables that hold more than numbers.

    @cached_property
    def _points(self) -> tuple["PartitionedTable", Coordinates]:
        return _points_of(self)

    @property
    def _has_only_numbers(self) -> bool:
        return self.is_plain and not any(each.kind in ("date", "duration") for each in self.columns)

    def as_points(self) -> "PartitionedTable":
        """Return the table that distances, centres and costs are computed from: numbers without gaps.

        Means and deviations are sums of integers, rounded once: the same for every partitioning.
        """
        return self if self._has_only_numbers else self._points[0]

    @property
    def coordinates(self) -> Coordinates:
        """Where the columns of `as_points` come from."""
        return Coordinates.plain(self.shape[1]) if self._has_only_numbers else self._points[1]

    def search_columns(self, columns: Ints, *, one_by_one: bool, codes: Any) -> Any:
        """Return the views of the columns in bins, what they are, and the categories of the rows."""
        views: list[View] = []
        categories: list[CategoryColumn] = []
        for each in columns.tolist():
            column = self.columns[each]
            if column.kind == "category":
                kept = self._kept_codes(each, column)
                n_categories = len(column.categories)
                if one_by_one:
                    views += self._indicators(each, n_categories, kept, codes)
                else:
                    categories.append(CategoryColumn(each, kept, n_categories))
            elif column.has_missing:
                views += [View(each, "missing left"), View(each, "missing right")]
            else:
                views.append(View(each))
        views = views or [
            View(0, "nothing")
        ]  # engines need at least one column; one without cuts does no harm
        recipes = [self._recipe(view) for view in views]
        source = DerivedSource(self.source, self.workers, recipes)
        coded, _ = CodedTable.coded(source, self.workers, self.max_bins)
        return coded, tuple(views), tuple(categories)

    def _recipe(self, view: View) -> worker.Recipe:
        """Return how a view is computed from the table's numbers."""
        assert self.spans is not None
        column, role, codes, missing = view
        if role == "nothing":
            return worker.Recipe(column, codes=(), inside=1.0)
        if role == "set":
            return worker.Recipe(column, codes=codes, missing=missing)
        fill = np.nan
        if role != "plain":
            direction = -np.inf if role == "missing left" else np.inf
            fill = float(beyond(self.spans[int(direction > 0), column], direction))
        return worker.Recipe(column, fill=fill)

    def _kept_codes(self, number: int, column: Column) -> list[Any]:
        """Return the codes of a category of all partitions, kept by the workers."""
        blocks, _ = self.read([number])
        tasks = self.workers.tasks(
            "categories",
            worker.category_codes,
            [(block, len(column.categories)) for block in blocks],
        )
        return self.workers.keep(tasks)

    def _indicators(
        self, number: int, n_categories: int, kept: list[Any], codes: Any
    ) -> list[View]:
        """Return the views of a category one by one."""
        n_clusters = 0
        if codes is None:
            codes = np.full(len(self), -1)
        elif is_collection(codes):
            n_clusters = int(codes.max().compute()) + 1
        else:
            n_clusters = int(np.max(codes, initial=-1)) + 1
        pieces = self.part_of_rows(codes, np.int64)
        arguments = [
            (groups, n_categories + 1, piece, n_clusters)
            for groups, piece in zip(kept, pieces, strict=True)
        ]
        counts = self.workers.ask("category-counts", worker.count_categories, arguments)
        cells = counts[:, :-1] if n_clusters else None
        return indicators(number, counts.sum(axis=1), cells)

    def settled_columns(self, used: Sequence[int]) -> tuple[Column, ...]:
        """Return what the columns hold; for columns in use, this is derived from their values."""
        found = list(self.columns)
        whole = [column for column in used if found[column].kind == "whole"]
        if whole:
            blocks, places = self.read(whole)
            at = [places[column] for column in whole]
            held = self.workers.hold(at)
            others = self.workers.ask(
                "flags", worker.are_flags, [(each, held) for each in blocks], beside=self.beside
            )
            for column, n_others in zip(whole, others.tolist(), strict=True):
                if not n_others:
                    found[column] = replace(found[column], kind="flag")
        return tuple(found)

    def reference(self, y: Any, noise: NoisePolicy = "ignore") -> Reference:
        """Return the labels of the rows as a clustering to explain; lazy if the labels are."""
        if not is_collection(y):
            return super().reference(y, noise)
        values, parts = y, None
        if hasattr(y, "to_dask_array"):
            is_plain = isinstance(getattr(y, "dtype", np.dtype(object)), np.dtype)
            series = y if is_plain else y.astype(object)
            values, parts = series.to_dask_array(), _parts_of(series)
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if values.ndim != 1:
            raise ValueError(f"y must hold one label per row of X, got {values.ndim} dimensions.")
        labels, blocks, classes, n_missing = self._classes(values, parts)
        has_missing = bool(n_missing)
        if has_missing:
            check_missing(noise)
            warn_of_noise(classes[:0], n_missing)
        is_noise = noise_rows(classes, noise, counts_rows=False)
        kept, dtype = classes[~is_noise], worker.code_type(len(classes))
        encode = partial(worker.encode, classes=kept)
        tasks = self.workers.tasks("labels", encode, [(each,) for each in blocks])
        pieces = self.workers.keep(tasks)
        codes = self._joined(pieces, dtype)
        self.workers.kept[codes.name] = pieces
        return Reference(labels, codes, kept, has_noise=has_missing or bool(is_noise.any()))

    def _classes(
        self, values: Any, parts: list[Any] | None = None
    ) -> tuple[Any, list[Any], Array, int]:
        """Return labels with the chunks of the partitions, their blocks, the classes, and how many are missing."""
        if parts is None or len(parts) != len(self.lengths):
            values = self._aligned(values)
            parts = _blocks_of(values)
        classes, n_missing, lengths = self.workers.ask(
            "classes", worker.classes_of, [(part,) for part in parts], worker.merge_classes
        )
        if tuple(lengths.tolist()) != self.lengths:  # lengths of parts that were not known
            return self._classes(values)
        values._chunks = (self.lengths,)
        return values, parts, classes, int(n_missing[0])

    def _joined(self, pieces: list[Any], dtype: Any, width: int | None = None) -> Any:
        """Return the parts of every block of rows as one Dask array, of `width` columns if any."""
        import dask.array as da

        more = () if width is None else (width,)
        meta = np.empty((0,) * (1 + len(more)), dtype)
        arrays = [
            da.from_delayed(dask.delayed(piece), (length, *more), dtype=dtype, meta=meta)
            for piece, length in zip(pieces, self.lengths, strict=True)
        ]
        return da.concatenate(arrays)


@dataclass(frozen=True, eq=False, kw_only=True)
class CodedTable(PartitionedTable):
    """Rows in partitions, in bins: what the Dask engine searches.

    Parameters
    ----------
    parts : list of tasks
        The bins of every partition, kept by the workers.
    low, high : array of shape (n_columns, 256)
        The least and the greatest value in every bin of every discrete column; for other columns, the
        limits of the bins.
    sample : array of shape (n_columns, n_sample)
        Some values of every column, sorted.
    binning : Binning
        How values become bins.
    """

    parts: list[Any]
    low: Floats
    high: Floats
    sample: Floats
    binning: Binning

    @classmethod
    def coded(
        cls, source: AnySource, workers: Workers, max_bins: int, *, stop_early: bool = False
    ) -> tuple[Self, list[Any]]:
        """Return the table of a source in bins, and the first flaw of every partition.

        With `stop_early`, a flaw in the sample is enough, and the table is not usable.
        """
        blocks, _ = source.read(range(source.n_features))
        sample, is_flawed = _sampled(workers, blocks, source.n_features)
        binning = binning_of(sample, max_bins)
        used = np.arange(source.n_features)
        about: dict[str, Any] = {
            "source": source,
            "workers": workers,
            "used": used,
            "max_bins": max_bins,
        }
        bins: dict[str, Any] = {"sample": sample, "binning": binning}
        if is_flawed and stop_early:
            return cls(**about, **bins, lengths=(), parts=[], low=sample, high=sample), [(0, 0)]
        held, room = workers.hold(binning, "bins"), _CODED_SHARE * memory_of_workers()
        code_part = partial(worker.code_part, is_held=source.is_held)
        each = [(block, held, room / max(1, len(blocks))) for block in blocks]
        coded = workers.keep(workers.tasks("codes", code_part, each))
        low, high = limits_of(binning)  # while the workers are busy
        sizes, flaws, *spread = workers.ask(
            "summary", worker.summary_of, [(part,) for part in coded], worker.merge_summaries
        )
        low[binning.discrete], high[binning.discrete] = spread
        return cls(**about, **bins, lengths=tuple(sizes), parts=coded, low=low, high=high), flaws

    def take(self, rows: Ints) -> Self:
        """Return the table of some rows only, with new bins for them."""
        coded, _ = self.coded(ChosenSource(self, rows), self.workers, self.max_bins)
        return replace(coded, used=self.used, described=self.described)

    def read(self, columns: Sequence[int]) -> tuple[list[Any], dict[int, int]]:
        """Return the partitions as the workers keep them, with all columns."""
        return self.parts, {column: column for column in columns}

    @property
    def beside(self) -> list[Any]:
        """The partitions themselves."""
        return self.parts

    def margins(self, leaves: Any, codes: Any, shape: tuple[int, int]) -> Margins:
        """Return the sums by leaf and by cluster of the rows that have a cluster; see `Table.margins`."""
        tree = self.workers.routes.get(getattr(leaves, "name", ""))
        if tree is None:
            return super().margins(leaves, codes, shape)
        _, compact, columns = self._tested(tree, self)
        held = self.workers.hold((compact, columns, shape, self.origin))
        pieces = self.kept_rows(codes, worker.code_type(shape[1]))
        counts, sums, squares = self.workers.ask(
            "leaves",
            worker.margins_of,
            [(part, piece, held) for part, piece in zip(self.parts, pieces, strict=True)],
            add_tuples,
            beside=self.parts,
        )
        return Margins.of_pairs(GroupSums(counts, sums, squares), shape, self.origin)

    @property
    def differs(self) -> bool:
        """Whether some column is not constant. Columns of many values are not among the discrete ones."""
        low, high = self.low[self.used], self.high[self.used]
        return bool(np.any(low.min(axis=1) < high.max(axis=1)))

    @cached_property
    def solid(self) -> Bools:
        """Bins of a single value, shape (n_columns, 256)."""
        return np.asarray(self.low == self.high)

    def codes_of(self, points: Floats) -> Array:
        """Return the bins of further points, shape (n_points, n_columns of the source)."""
        return code(np.ascontiguousarray(points), self.binning).T

    @property
    def origin(self) -> Floats:
        """The medians of a sample."""
        return self.sample[:, self.sample.shape[1] // 2].copy()


def _refuse_flaws(
    flaws: list[Any],
    lengths: Sequence[int],
    names: list[Any] | None,
    *,
    allow_missing: bool = False,
) -> None:
    """Raise an error that says where a table holds a missing or infinite value."""
    start = 0
    for size, flaw in zip(lengths, flaws, strict=True):
        refuse_flaw(flaw, names, start, allow_missing=allow_missing)
        start += size


def _described(
    source: PartitionSource, workers: Workers, max_bins: int, *, allow_missing: bool
) -> PartitionedTable:
    """Return a table with columns of any kind; one pass over all partitions finds what they hold."""
    blocks, _ = source.read(range(source.n_features))
    given = _typed_columns(source) if source.holds_numbers else None
    lengths, flaws, summaries = workers.ask(
        "describe",
        worker.describe,
        [(block, given, allow_missing) for block in blocks],
        worker.merge_descriptions,
    )
    _refuse_flaws(flaws, lengths, source.names, allow_missing=allow_missing)
    columns = _with_all_categories(source, workers, [each.column for each in summaries], summaries)
    recipes = [
        worker.Recipe(place, None if source.holds_numbers else column)
        for place, column in enumerate(columns)
    ]
    numbers = DerivedSource(source, workers, recipes, source.names)
    is_category = [column.kind == "category" for column in columns]
    spans = np.array([[each.least for each in summaries], [each.most for each in summaries]])
    for place in np.flatnonzero(is_category):  # every partition had its own codes
        spans[:, place] = 0, len(columns[place].categories) - 1
    about: dict[str, Any] = {"described": columns, "spans": spans}
    if any(column.has_missing for column in columns) or any(is_category):
        used = np.arange(source.n_features)
        return PartitionedTable(
            source=numbers, workers=workers, lengths=tuple(lengths), used=used, max_bins=max_bins, **about
        )  # fmt: skip
    coded, _ = CodedTable.coded(numbers, workers, max_bins)
    return replace(coded, **about)


def _typed_columns(source: PartitionSource) -> tuple[Column, ...]:
    """Return what the columns of a table of numbers hold, by their types."""
    names = default_names(source.n_features) if source.names is None else map(str, source.names)
    kinds = kinds_of(source.collection)
    return tuple(
        map(Column, names, (kinds,) * source.n_features if isinstance(kinds, str) else kinds)
    )


def _with_all_categories(
    source: PartitionSource,
    workers: Workers,
    columns: list[Column],
    summaries: list[worker.ColumnSummary],
) -> tuple[Column, ...]:
    """Return the columns, including values from partitions that look like numbers or dates on their own."""
    partly = [
        place
        for place, each in enumerate(summaries)
        if each.column.kind == "category" and each.n_unlisted
    ]
    if partly:
        blocks, places = source.read(partly)
        at = [places[place] for place in partly]
        found = workers.ask(
            "values", worker.values_in, [(each, at) for each in blocks], worker.merge_values_in
        )
        for place, values in zip(partly, found, strict=True):
            columns[place] = replace(columns[place], categories=values)
    return tuple(columns)


def exact_means(
    table: PartitionedTable, source: AnySource | PartitionedTable, codes: Any, n_clusters: int
) -> Floats:
    """Return the means of every cluster over known values, shape (n_clusters, n_columns), rounded once."""
    workers = table.workers
    blocks, _ = source.read(range(source.n_features))
    each = [(block,) for block in blocks]
    largest = workers.ask("largest", worker.largest_of, each, worker.merge_largest)
    means = np.full((n_clusters, len(largest)), np.nan)
    if not np.isfinite(largest).all():
        return means
    exponents = np.frexp(largest)[1].astype(np.int64)
    pieces = table.part_of_rows(codes, np.int64)
    arguments = [
        (block, piece, n_clusters, exponents) for block, piece in zip(blocks, pieces, strict=True)
    ]
    # Python's integers can hold sums of any size.
    counts, high, low = workers.ask("means", worker.exact_sums, arguments, add_tuples)
    for cluster, feature in np.ndindex(means.shape):
        if n_known := int(counts[cluster, feature]):
            total = (int(high[cluster, feature]) << worker.LIMB) + int(low[cluster, feature])
            scale = Fraction(2) ** int(exponents[feature] - 2 * worker.LIMB)
            means[cluster, feature] = float(total * scale / n_known)
    return means


def _points_of(table: PartitionedTable) -> tuple[PartitionedTable, Coordinates]:
    """Return a table with columns of any kind as points; see `Coordinates`."""
    columns, spans = table.columns, table.spans
    assert spans is not None
    numbers = [place for place, each in enumerate(columns) if each.kind != "category"]
    is_mixed = any(each.kind in ("category", "date", "duration") for each in columns)
    means, scales = dict.fromkeys(numbers, 0.0), dict.fromkeys(numbers, 1.0)
    if numbers:
        nobody = np.zeros(len(table), dtype=np.int64)

        def measured(recipes: list[worker.Recipe]) -> list[float]:
            made = DerivedSource(table.source, table.workers, recipes)
            return [float(each) for each in np.nan_to_num(exact_means(table, made, nobody, 1)[0])]

        found = measured([worker.Recipe(place) for place in numbers])
        means = dict(zip(numbers, found, strict=True))
        with np.errstate(over="ignore"):  # columns without finite squares are not scaled
            squares = (spans[1] - spans[0]) ** 2
        finite = [place for place in numbers if np.isfinite(squares[place])] if is_mixed else []
        if finite:
            found = measured(
                [worker.Recipe(each, fill=means[each], squared=True) for each in finite]
            )
            scales |= {place: each**0.5 or 1.0 for place, each in zip(finite, found, strict=True)}
    recipes, origins, ends = [], [], []
    for place, column in enumerate(columns):
        for code_ in range(len(column.categories)):
            recipes.append(worker.Recipe(place, codes=(code_,), inside=1.0))
            origins.append((place, code_, 1.0))
            ends.append((0.0, 1.0))
        if column.kind != "category":
            recipes.append(worker.Recipe(place, fill=means[place], scale=scales[place]))
            origins.append((place, -1, scales[place]))
            ends.append(tuple(spans[:, place] / scales[place]))
    source = DerivedSource(table.source, table.workers, recipes)
    column_of, code_of, scale_of = (np.array(each) for each in zip(*origins, strict=True))
    points = PartitionedTable(
        source=source, workers=table.workers, lengths=table.lengths, used=np.arange(len(recipes)),
        max_bins=table.max_bins, spans=np.array(ends).T,
    )  # fmt: skip
    nothing = np.empty((0, len(recipes)))
    return points, Coordinates(nothing, column_of, code_of, scale_of)


def _sampled(workers: Workers, blocks: list[Any], n_features: int) -> tuple[Floats, bool]:
    """Return values of every column, sorted, and whether some of them are not finite.

    Partitions are weighted by their number of rows.
    """
    step = -(-len(blocks) // _N_SAMPLED)
    chosen = blocks[::step]
    n_each = -(-_N_SAMPLE // max(1, len(chosen)))
    arguments = [(block, place, n_each) for place, block in enumerate(chosen)]
    rows, sizes = workers.ask("sample", worker.sample_rows, arguments, worker.merge_samples)
    longest = max(sizes, default=0)
    kept = [
        each[: max(1, -(-len(each) * size // longest))]
        for each, size in zip(rows, sizes, strict=True)
        if size
    ]
    if not kept:
        return np.zeros((n_features, 1)), False
    values = np.concatenate(kept)
    is_flawed = not np.isfinite(values).all()
    return np.sort(np.nan_to_num(values).T, axis=1), is_flawed
