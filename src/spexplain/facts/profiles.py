"""What a model saw: how the training rows were distributed in the columns that it tests.

A profile holds counts, shares and quantiles, never a row. `spexplain.facts.drift` compares new rows
with it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from spexplain.aliases import Floats, Ints, Matrix
from spexplain.table.base import Table
from spexplain.table.suspects import suspicious_columns
from spexplain.tree import Column

# Every twentieth of the values; the first is the least, the last the greatest.
QUANTILE_SHARES: tuple[float, ...] = tuple(step / 20 for step in range(21))
_DECILES = slice(2, 20, 2)  # of these, the borders of bins
MAX_SAMPLED = 1 << 17  # values of a column that a partition sends
MAX_PSI = 0.2  # population stability index above which new rows are another population
MAX_CATEGORIES = 100  # of a column that no test reads, to be remembered by name


@dataclass(frozen=True)
class ColumnProfile:
    """What the training rows had in one column.

    Parameters
    ----------
    n_rows : int
        Rows that were looked at.
    n_missing : int
        Those without a value.
    counts : tuple of int
        Rows of every category in its order; for other kinds, of every bin between the borders.
    quantiles : tuple of float
        The values at `QUANTILE_SHARES`; empty for categories, and where all values are missing.
    numbers_rows : bool
        Whether the values numbered or named the rows, as an id does.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain.facts.profiles import ColumnProfile
    >>> from spexplain.tree import Column
    >>> seen = ColumnProfile.of(np.array([1.0, 2.0, 2.0, 3.0, np.nan]), Column("size"))
    >>> seen.low, seen.high, seen.borders, seen.counts, seen.share_missing
    (1.0, 3.0, (1.0, 2.0), (1, 2, 1), 0.2)
    """

    n_rows: int
    n_missing: int
    counts: tuple[int, ...]
    quantiles: tuple[float, ...] = ()
    numbers_rows: bool = False

    @classmethod
    def of(cls, values: Floats, column: Column) -> "ColumnProfile":
        """Return the profile of values as a table holds them: codes of categories, NaN for missing ones."""
        return cls.of_parts([part_of(values, column, len(values))], column)

    @classmethod
    def of_parts(
        cls, parts: Sequence["ColumnPart"], column: Column, *, numbers_rows: bool = False
    ) -> "ColumnProfile":
        """Return the profile of a column whose rows lie in parts.

        Only samples of long parts are known. Counts are then those of the sample, to which every part
        contributes the same share of its rows.
        """
        n_rows, n_missing = (
            sum(each.n_rows for each in parts),
            sum(each.n_missing for each in parts),
        )
        if column.kind == "category":
            counts = np.sum([each.codes for each in parts], axis=0)
            return cls(n_rows, n_missing, tuple(counts.tolist()), (), numbers_rows)
        known = [(each, each.n_rows - each.n_missing) for each in parts]
        share = min((len(each.values) / n for each, n in known if n), default=1.0)
        values = np.concatenate([_thinned(each.values, round(share * n)) for each, n in known])
        quantiles = list(quantiles_of_values(values))
        if quantiles:
            quantiles[0] = min(each.low for each in parts if len(each.values))
            quantiles[-1] = max(each.high for each in parts if len(each.values))
        counts = bin_counts(values, borders_of(quantiles))
        return cls(n_rows, n_missing, tuple(counts.tolist()), tuple(quantiles), numbers_rows)

    @property
    def share_missing(self) -> float:
        """Share of the rows without a value."""
        return self.n_missing / self.n_rows if self.n_rows else 0.0

    @property
    def n_known(self) -> int:
        """Rows with a value."""
        return sum(self.counts)

    @property
    def borders(self) -> tuple[float, ...]:
        """The upper ends of all bins but the last: the deciles, each once."""
        return borders_of(self.quantiles)

    @property
    def low(self) -> float:
        """The least value; NaN if there is none."""
        return self.quantiles[0] if self.quantiles else float("nan")

    @property
    def high(self) -> float:
        """The greatest value; NaN if there is none."""
        return self.quantiles[-1] if self.quantiles else float("nan")


@dataclass(frozen=True)
class Profile:
    """What the training rows had in the columns of a model.

    Parameters
    ----------
    n_rows : int
        Training rows.
    columns : mapping of int to ColumnProfile
        By the number of the column: those that the model tests, or all that were asked for.
    """

    n_rows: int
    columns: Mapping[int, ColumnProfile]

    def over(self, columns: Iterable[int]) -> "Profile":
        """Return the profile of some columns only, those that are known."""
        chosen = sorted(set(columns) & set(self.columns))
        return Profile(self.n_rows, {each: self.columns[each] for each in chosen})


class ColumnPart(NamedTuple):
    """What one part of a table says about a column: how many rows it has, and some of its values."""

    n_rows: int
    n_missing: int
    values: Floats  # known values, sorted: all of a short part, else an even sample
    low: float
    high: float
    codes: Ints  # rows of every category


def part_of(values: Floats, column: Column, most: int) -> ColumnPart:
    """Return what a part of a table says about a column, with at most so many values."""
    known = values[~np.isnan(values)]
    n_missing, nothing = len(values) - len(known), np.zeros(0, dtype=np.int64)
    if column.kind == "category":
        codes = np.bincount(known.astype(np.int64), minlength=len(column.categories))
        return ColumnPart(len(values), n_missing, known[:0], np.nan, np.nan, codes)
    if not len(known):
        return ColumnPart(len(values), n_missing, known, np.nan, np.nan, nothing)
    ordered = np.sort(known)
    thin = _thinned(ordered, most)
    return ColumnPart(len(values), n_missing, thin, float(ordered[0]), float(ordered[-1]), nothing)


@dataclass(frozen=True)
class _DescribePart:
    """Describes some columns of one part of a table; a class, because it is sent to workers."""

    columns: tuple[Column, ...]
    most: int | None

    def __call__(self, values: Matrix) -> list[ColumnPart]:
        return [
            part_of(np.asarray(x, dtype=np.float64), column, self.most or len(values))
            for x, column in zip(values.T, self.columns, strict=True)
        ]


def profile_of(table: Table, columns: Sequence[Column], chosen: Sequence[int]) -> Profile:
    """Return the profile of some columns of a table, wherever it lies.

    Parameters
    ----------
    table : Table
        The training rows.
    columns : sequence of Column
        What all columns hold.
    chosen : sequence of int
        The columns to look at.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain.facts.profiles import profile_of
    >>> from spexplain.table.host import HostTable
    >>> table = HostTable(np.array([[0.0, 5.0], [2.0, 7.0]]))
    >>> profile_of(table, table.columns, [1]).columns[1].counts
    (1, 1)
    """
    asked = tuple(columns[each] for each in chosen)
    in_parts = table.engine == "dask"
    parts = table.ask_columns(chosen, _DescribePart(asked, MAX_SAMPLED if in_parts else None))
    ids = suspicious_columns(table.select(chosen)) if chosen else {}
    found = {
        each: ColumnProfile.of_parts(
            [part[place] for part in parts], asked[place], numbers_rows=place in ids
        )
        for place, each in enumerate(chosen)
    }
    return Profile(len(table), found)


def _thinned(values: Floats, count: int) -> Floats:
    """Return so many of the sorted values at even steps, which is more exact than a random sample."""
    if count >= len(values):
        return values
    return values[np.linspace(0, len(values) - 1, max(count, 1)).round().astype(np.int64)]


def quantiles_of_values(known: Floats) -> tuple[float, ...]:
    """Return the values at `QUANTILE_SHARES`, each of them a value of some row; empty without values."""
    if not len(known):
        return ()
    found = np.quantile(known, QUANTILE_SHARES, method="inverted_cdf")
    return tuple(found.tolist())


def borders_of(quantiles: Sequence[float]) -> tuple[float, ...]:
    """Return the different deciles below the greatest value: the upper ends of all bins but the last.

    Examples
    --------
    >>> from spexplain.facts.profiles import borders_of
    >>> borders_of([0.0] * 15 + [1.0] * 6), borders_of([0.0] * 20 + [5.0])
    ((0.0,), (0.0,))
    """
    if not quantiles:
        return ()
    return tuple(sorted({each for each in quantiles[_DECILES] if each < quantiles[-1]}))


def bin_counts(values: Floats, borders: Sequence[float]) -> Ints:
    """Return how many values lie in each bin, ``border < value <= next border``.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain.facts.profiles import bin_counts
    >>> bin_counts(np.array([1.0, 2.0, 3.0, 9.0]), (2.0, 3.0)).tolist()
    [2, 1, 1]
    """
    places = np.searchsorted(np.asarray(borders, dtype=np.float64), values, side="left")
    return np.bincount(places, minlength=len(borders) + 1)
