"""A table whose rows lie in partitions: where they come from, and their bins, which stay with the workers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, Self

import dask
import numpy as np

from spexplain.aliases import Array, Bools, Floats, Ints, Matrix
from spexplain.table import partition_tasks as parts
from spexplain.table.partition_coding import Binning, binning_of, code, limits_of
from spexplain.table.workers import Workers, current_client

MAX_BINS = 255
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


@dataclass(frozen=True, eq=False)
class DaskTable:
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
    columns : array of int
        The columns that are looked at.
    """

    source: Source
    workers: Workers
    parts: list[Any]
    lengths: tuple[int, ...]
    low: Floats
    high: Floats
    sample: Floats
    binning: Binning
    columns: Ints

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
        coded = workers.tasks("codes", parts.code_part, [(block, held) for block in blocks])
        coded = workers.keep(coded)
        low, high = limits_of(binning)  # while the workers are busy
        sizes, flaws, *spread = workers.ask(
            "summary", parts.summary_of, [(part,) for part in coded], parts.merge_summaries
        )
        low[binning.discrete], high[binning.discrete] = spread
        _check_finite(source, sizes, flaws)
        columns = np.arange(source.n_features)
        return cls(source, workers, coded, tuple(sizes), low, high, sample, binning, columns)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return sum(self.lengths), len(self.columns)

    @property
    def ndim(self) -> int:
        """Two."""
        return 2

    @property
    def size(self) -> int:
        """Number of values."""
        return self.shape[0] * self.shape[1]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: tuple[slice, Sequence[int]]) -> Self:
        """Return the table of only these columns: ``table[:, columns]``."""
        _, columns = key
        return replace(self, columns=self.columns[np.asarray(columns, dtype=np.int64)])

    @property
    def differs(self) -> bool:
        """Whether some column is not constant. Columns of many values are none of those that are discrete."""
        low, high = self.low[self.columns], self.high[self.columns]
        return bool(np.any(low.min(axis=1) < high.max(axis=1)))

    @cached_property
    def solid(self) -> Bools:
        """Bins of a single value, shape (n_columns, 256)."""
        return np.asarray(self.low == self.high)

    def read(self, columns: Sequence[int]) -> tuple[list[Any], dict[int, int]]:
        """Return the values of some columns of all partitions, and where they stand in them."""
        return self.source.read(columns)

    def codes_of(self, points: Floats) -> Array:
        """Return the bins of further points, shape (n_points, n_columns of the source)."""
        return code(np.ascontiguousarray(points), self.binning).T

    def part_of_rows(self, values: Any, dtype: Any) -> list[Any]:
        """Return what every row has (an array, or a Dask array of any chunks) partition by partition."""
        if hasattr(values, "to_delayed"):
            return list(aligned(values, self.lengths).to_delayed().reshape(-1))
        ends = np.cumsum(self.lengths)
        pieces = [
            np.ascontiguousarray(values[end - size : end], dtype=dtype)
            for size, end in zip(self.lengths, ends, strict=True)
        ]
        return [self.workers.hold(piece, "values") for piece in pieces]

    def fixed_costs(self, centers: Floats, cost: Any) -> tuple[Any, float]:
        """Return what it costs to serve each row from each centre; see `spexplain.graphs.centers`."""
        from spexplain.table.partition_rows import fixed_costs

        return fixed_costs(self, centers, cost)


def aligned(values: Any, lengths: tuple[int, ...]) -> Any:
    """Return a Dask array with the chunks of the table's partitions."""
    if any(np.isnan(size) for size in values.chunks[0]):
        values = values.compute_chunk_sizes()
    if values.shape[0] != sum(lengths):
        raise ValueError(f"y has {values.shape[0]} labels, but X has {sum(lengths)} rows.")
    if values.chunks[0] == lengths and all(len(sizes) == 1 for sizes in values.chunks[1:]):
        return values
    return values.rechunk((lengths, *((size,) for size in values.shape[1:])))


def _sampled(workers: Workers, blocks: list[Any], n_features: int) -> Floats:
    """Return values of every column, sorted; partitions count by their rows."""
    step = -(-len(blocks) // _N_SAMPLED)
    chosen = blocks[::step]
    n_each = -(-_N_SAMPLE // max(1, len(chosen)))
    arguments = [(block, place, n_each) for place, block in enumerate(chosen)]
    rows, sizes = workers.ask("sample", _one_sample, arguments, _all_samples)
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


def _one_sample(block: Any, place: int, n_wanted: int) -> tuple[list[Matrix], list[int]]:
    rows, size = parts.sample_rows(block, place, n_wanted)
    # Rows in random order: a partition with fewer rows than others gives the first of them.
    return [np.random.default_rng(place).permutation(rows)], [size]


def _all_samples(found: list[tuple[list[Matrix], list[int]]]) -> tuple[list[Matrix], list[int]]:
    rows, sizes = zip(*found, strict=True)
    return list(chain.from_iterable(rows)), list(chain.from_iterable(sizes))


def _check_finite(source: Source, sizes: list[int], flaws: list[Any]) -> None:
    start = 0
    for size, flaw in zip(sizes, flaws, strict=True):
        if flaw is not None:
            row, column = flaw
            name = column if source.names is None else repr(str(source.names[column]))
            raise ValueError(
                f"X contains NaN or infinity, first in row {start + row}, column {name}; remove or "
                "replace such values."
            )
        start += size
