"""Tables whose rows lie in partitions: Dask collections, and their bins, which stay with the workers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import dask
import numpy as np

from spexplain.aliases import Array, Bools, EngineName, Floats, Ints, Matrix, NoisePolicy
from spexplain.table import partition_worker as worker
from spexplain.table.base import _FOR_TRAINING_ROWS, GroupSums, NodeValues, Rows, Table
from spexplain.table.checks import refuse_flaw
from spexplain.table.coding import MAX_BINS, Binning, binning_of, code, limits_of
from spexplain.table.columns import kinds_of
from spexplain.table.distances import CostName
from spexplain.table.places import is_collection
from spexplain.table.reference import (
    Reference,
    check_missing,
    noise_rows,
    warn_of_noise,
)
from spexplain.table.workers import Workers, add_tuples, current_client
from spexplain.tree import Kind, Tree

ROWS_PER_PARTITION = 1_000_000  # of tables that lie in the memory of this process
_N_SAMPLED = 32  # partitions that the borders of bins are taken from
_N_SAMPLE = 1 << 14  # rows of all of them


class Source:
    """Where the rows come from: a Dask array or data frame, or an array in this process."""

    def __init__(self, X: Any, rows_per_partition: int) -> None:
        self.collection, self.names = X, None
        self._columns: dict[tuple[int, ...], list[Any]] = {}
        if hasattr(X, "to_delayed") and hasattr(X, "columns"):
            self.names = list(X.columns)
            self.n_features, self.n_partitions = len(self.names), X.npartitions
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
        """Return the partitions with at least these columns, and where in them they stand.

        Of a data frame only these are read: from Parquet, far less than all.
        """
        if self.names is None:
            return self.blocks, {column: column for column in columns}
        chosen = tuple(columns)
        if chosen not in self._columns:
            picked = self.collection[[self.names[column] for column in chosen]]
            self._columns[chosen] = list(picked.to_delayed())
        return self._columns[chosen], {column: i for i, column in enumerate(chosen)}


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
    """Rows of a Dask collection: predictions stay lazy."""

    def __init__(self, collection: Any) -> None:
        self.collection = collection

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, if they are known, and columns."""
        n_rows, n_columns = self.collection.shape
        return n_rows, n_columns

    def leaves(self, tree: Tree) -> Any:
        """Return the leaf id of every row as a Dask array."""
        rows = self.collection
        whole = (
            rows.to_dask_array()
            if hasattr(rows, "to_dask_array")
            else rows.rechunk({1: rows.shape[1]})
        )
        nothing = np.empty(0, dtype=np.int64)
        return whole.map_blocks(
            worker.leaf_of_rows, tree, drop_axis=1, dtype=np.int64, meta=nothing
        )

    def to_host(self, what: str = "This", instead: str = _FOR_TRAINING_ROWS) -> Matrix:
        """Say what to do instead."""
        return _refuse_whole(what, instead)


@dataclass(frozen=True, eq=False)
class PartitionedTable(Table):
    """Rows in partitions, in bins.

    Parameters
    ----------
    source : Source
        Where the values are read from when bins are not enough.
    workers : Workers
        Who counts.
    parts : list of tasks
        The bins of every partition, kept by the workers.
    lengths : tuple of int
        Rows of every partition.
    low, high : array of shape (n_columns, 256)
        The least and the greatest value in every bin of every discrete column; of the others, what
        their bins could hold.
    sample : array of shape (n_columns, n_sample)
        Some values of every column, sorted.
    binning : Binning
        How values become bins.
    used : array of int
        The columns that are looked at.
    """

    engine: ClassVar[EngineName | None] = "dask"
    source: Source
    workers: Workers
    parts: list[Any]
    lengths: tuple[int, ...]
    low: Floats
    high: Floats
    sample: Floats
    binning: Binning
    used: Ints

    @classmethod
    def of(
        cls,
        X: Any,
        *,
        max_bins: int = MAX_BINS,
        rows_per_partition: int = ROWS_PER_PARTITION,
        n_jobs: int | None = None,
    ) -> Self:
        """Return a table in bins: two passes over the rows, one of which takes a sample only."""
        if isinstance(X, cls):
            return X
        workers, source = Workers(n_jobs), Source(X, rows_per_partition)
        blocks, _ = source.read(range(source.n_features))
        sample = _sampled(workers, blocks, source.n_features)
        binning = binning_of(sample, max_bins)
        held = workers.hold(binning, "bins")
        coded = workers.tasks("codes", worker.code_part, [(block, held) for block in blocks])
        coded = workers.keep(coded)
        low, high = limits_of(binning)  # while the workers are busy
        sizes, flaws, *spread = workers.ask(
            "summary", worker.summary_of, [(part,) for part in coded], worker.merge_summaries
        )
        low[binning.discrete], high[binning.discrete] = spread
        start = 0
        for size, flaw in zip(sizes, flaws, strict=True):
            refuse_flaw(flaw, source.names, start)
            start += size
        used = np.arange(source.n_features)
        return cls(source, workers, coded, tuple(sizes), low, high, sample, binning, used)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return sum(self.lengths), len(self.used)

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
        kinds = kinds_of(self.source.collection)
        return kinds if isinstance(kinds, str) else tuple(kinds[column] for column in self.used)

    @property
    def values(self) -> Self:
        """The table itself: the Dask engine knows it."""
        return self

    def to_host(self, what: str = "This", instead: str = _FOR_TRAINING_ROWS) -> Matrix:
        """Say what to do instead."""
        return _refuse_whole(what, instead)

    def training_rows(self) -> Matrix:
        """Say what to do instead."""
        return self.to_host()

    def select(self, columns: Sequence[int]) -> Self:
        """Return the table of some columns only."""
        return replace(self, used=self.used[np.asarray(columns, dtype=np.int64)])

    @property
    def differs(self) -> bool:
        """Whether some column is not constant. Columns of many values are none of those that are discrete."""
        low, high = self.low[self.used], self.high[self.used]
        return bool(np.any(low.min(axis=1) < high.max(axis=1)))

    @cached_property
    def solid(self) -> Bools:
        """Bins of a single value, shape (n_columns, 256)."""
        return np.asarray(self.low == self.high)

    def read(self, columns: Sequence[int]) -> tuple[list[Any], dict[int, int]]:
        """Return the values of some columns of all partitions, and where they stand in them."""
        return self.source.read(columns)

    def read_all(self) -> list[Any]:
        """Return the values of all columns of all partitions."""
        return self.read(range(len(self.low)))[0]

    def codes_of(self, points: Floats) -> Array:
        """Return the bins of further points, shape (n_points, n_columns of the source)."""
        return code(np.ascontiguousarray(points), self.binning).T

    def part_of_rows(self, values: Any, dtype: Any) -> list[Any]:
        """Return what every row has (an array, or a Dask array of any chunks) partition by partition."""
        if hasattr(values, "to_delayed"):
            return list(self._aligned(values).to_delayed().reshape(-1))
        ends = np.cumsum(self.lengths)
        pieces = [
            np.ascontiguousarray(values[end - size : end], dtype=dtype)
            for size, end in zip(self.lengths, ends, strict=True)
        ]
        return [self.workers.hold(piece, "values") for piece in pieces]

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
    ) -> Any:
        """Return a function of every block of rows as one lazy Dask array, of `width` columns if any."""
        import dask.array as da

        held = [self.workers.hold(argument) for argument in arguments]
        blocks = self.read_all()
        tasks = self.workers.tasks("rows", function, [(block, *held) for block in blocks])
        more = () if width is None else (width,)
        meta = np.empty((0,) * (1 + len(more)), dtype)
        arrays = [
            da.from_delayed(task, (length, *more), dtype=dtype, meta=meta)
            for task, length in zip(tasks, self.lengths, strict=True)
        ]
        return da.concatenate(arrays)

    def leaves(self, tree: Tree) -> Any:
        """Return the leaf id of every row as a Dask array."""
        return self.map_rows(worker.leaf_of_rows, (tree,))

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
        """The medians of a sample."""
        return self.sample[:, self.sample.shape[1] // 2].copy()

    def holds(self, n_pairs: int) -> bool:
        """Return yes: sums over pairs are asked for together, as a second pass would cost more."""
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
        """Return which training values meet the tests of a tree."""
        tested = sorted({test.feature for test in tree.tests.values()})
        blocks, places = self.read(tested or [0])
        columns = [places[column] for column in tested]
        place = np.zeros(tree.n_features, dtype=np.int64)
        place[tested] = np.arange(len(tested))
        compact = self.workers.hold(tree.renumbered(place, max(1, len(tested))))
        arguments = [(block, columns, compact) for block in blocks]
        return NodeValues(
            *self.workers.ask("tests", worker.values_at_tests, arguments, worker.merge_values)
        )

    def scales(self, features: Ints) -> Floats:
        """Return the standard deviations of some columns; NaN elsewhere."""
        scales = np.full(len(self.low), np.nan)
        chosen = np.unique(features).tolist()
        if not chosen:
            return scales
        blocks, places = self.read(chosen)
        columns = [places[column] for column in chosen]
        arguments = [(block, columns, self.origin[chosen]) for block in blocks]
        size, sums, squares = self.workers.ask("scales", worker.moments_of, arguments, add_tuples)
        scales[chosen] = np.sqrt(np.maximum(squares / size - (sums / size) ** 2, 0.0))
        return scales

    def centers(self, codes: Any, n_clusters: int, cost: CostName) -> Floats:
        """Return the mean of every cluster, rounded once: the same for every partitioning."""
        if cost == "kmedians":
            raise ValueError(
                'objective="kmedians" needs the medians of all clusters; pass them as centers, since X is a Dask '
                "collection."
            )
        blocks, workers = self.read_all(), self.workers
        each = [(block,) for block in blocks]
        largest = workers.ask("largest", worker.largest_of, each, worker.merge_largest)
        exponents = np.frexp(largest)[1].astype(np.int64)
        pieces = self.part_of_rows(codes, np.int64)
        arguments = [
            (block, piece, n_clusters, exponents)
            for block, piece in zip(blocks, pieces, strict=True)
        ]
        # Python's integers hold sums of any size.
        counts, high, low = workers.ask("means", worker.exact_sums, arguments, add_tuples)
        means = np.full((n_clusters, len(exponents)), np.nan)
        for cluster, feature in np.ndindex(means.shape):
            if counts[cluster]:
                total = (int(high[cluster, feature]) << worker.LIMB) + int(low[cluster, feature])
                scale = Fraction(2) ** int(exponents[feature] - 2 * worker.LIMB)
                means[cluster, feature] = float(total * scale / int(counts[cluster]))
        return means

    def reference(self, y: Any, noise: NoisePolicy = "ignore") -> Reference:
        """Return the labels of the rows as a clustering to explain; lazy if the labels are."""
        if not is_collection(y):
            return super().reference(y, noise)
        values = y
        if hasattr(y, "to_dask_array"):
            is_plain = isinstance(getattr(y, "dtype", np.dtype(object)), np.dtype)
            values = (y if is_plain else y.astype(object)).to_dask_array()
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if values.ndim != 1:
            raise ValueError(f"y must hold one label per row of X, got {values.ndim} dimensions.")
        labels = self._aligned(values)
        blocks = [(block,) for block in labels.to_delayed().reshape(-1)]
        classes, missing = self.workers.ask(
            "classes", worker.classes_of, blocks, worker.merge_classes
        )
        has_missing = bool(missing[0])
        if has_missing:
            check_missing(noise)
            warn_of_noise(classes[:0], int(missing[0]))
        is_noise = noise_rows(classes, noise, counts_rows=False)
        kept, nothing = classes[~is_noise], np.empty(0, np.int32)
        codes = labels.map_blocks(worker.encode, kept, dtype=np.int32, meta=nothing)
        return Reference(labels, codes, kept, has_noise=has_missing or bool(is_noise.any()))


def _sampled(workers: Workers, blocks: list[Any], n_features: int) -> Floats:
    """Return values of every column, sorted; partitions count by their rows."""
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
        return np.zeros((n_features, 1))
    values = np.nan_to_num(np.concatenate(kept))
    return np.sort(values.T, axis=1)
