"""Counts of new rows, taken block by block in constant memory, to compare with what a model saw."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, log
from typing import Any, Self

import numpy as np

from spexplain.aliases import Bools, Floats, Ints
from spexplain.facts.profiles import QUANTILE_SHARES, ColumnProfile, bin_counts
from spexplain.tree import Column

MAX_NAMED = 1_000  # values by name that one column remembers
# Neighbouring steps of a sketch differ by a fifth of a percent, its values from those of rows by half of that.
_GROWTH = log(1.002)
SKETCH_ERROR = 0.001
_ZERO = 0
_FIRST = 1 << 20  # the step of 1.0; that of the smallest float is far above zero
_SKETCHED = ("number", "whole", "duration")


class Sketch:
    """Values counted by their size, to a tenth of a percent: quantiles of any number of rows in little memory.

    The same for every order of the rows, and for every way to cut them into blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain.facts.tally import Sketch
    >>> sketch = Sketch()
    >>> sketch.add(np.arange(1.0, 1001.0))
    >>> [round(x, -1) for x in sketch.quantiles((0.25, 0.5))]
    [250.0, 500.0]
    """

    def __init__(self) -> None:
        self.counts: Counter[int] = Counter()

    def add(self, values: Floats) -> None:
        """Count some finite values."""
        steps = np.zeros(len(values), dtype=np.int64)
        is_other = values != 0
        x = values[is_other]
        sizes = np.ceil(np.log(np.abs(x)) / _GROWTH).astype(np.int64) + _FIRST
        steps[is_other] = np.where(x < 0, -sizes, sizes)
        found, counts = np.unique(steps, return_counts=True)
        self.counts.update(dict(zip(found.tolist(), counts.tolist(), strict=True)))

    def points(self) -> tuple[Floats, Ints]:
        """Return values in increasing order that stand for all, and how many rows each stands for."""
        steps = sorted(self.counts)
        values = [self._value(step) for step in steps]
        return np.array(values), np.array([self.counts[step] for step in steps], dtype=np.int64)

    @staticmethod
    def _value(step: int) -> float:
        if step == _ZERO:
            return 0.0
        size = np.exp((abs(step) - _FIRST - 0.5) * _GROWTH)
        return float(-size if step < 0 else size)

    def quantiles(self, shares: Sequence[float] = QUANTILE_SHARES) -> tuple[float, ...]:
        """Return the values at some shares of the rows; empty without rows."""
        values, counts = self.points()
        if not len(values):
            return ()
        ends = np.cumsum(counts)
        places = [np.searchsorted(ends, max(ceil(share * ends[-1]), 1)) for share in shares]
        return tuple(values[places].tolist())


@dataclass(frozen=True)
class Watched:
    """A column that is looked at in new rows.

    Parameters
    ----------
    column : Column
        What the model knows of it.
    seen : ColumnProfile or None
        What the training rows had, if that is known.
    """

    column: Column
    seen: ColumnProfile | None

    @property
    def borders(self) -> tuple[float, ...]:
        """The upper ends of all bins but the last."""
        return () if self.seen is None else self.seen.borders

    @property
    def n_bins(self) -> int:
        """Number of categories, or of bins."""
        if self.column.kind == "category":
            return len(self.column.categories)
        return len(self.borders) + 1


@dataclass
class ColumnTally:
    """What new rows have in one column.

    Parameters
    ----------
    watched : Watched
        What is counted.
    counts : array of int
        Rows of every category or bin.
    n_rows, n_missing, n_odd, n_below, n_above : int
        Rows; those without a value; with one that cannot be read, or a category that was never seen;
        below and above all that was seen.
    low, high : float
        The least and the greatest value.
    odd : Counter
        What could not be read or was never seen, with its rows; at most `MAX_NAMED`.
    sketch : Sketch
        The sizes of numbers.
    kinds : set of str
        What the columns held by their types.
    """

    watched: Watched
    counts: Ints
    n_rows: int = 0
    n_missing: int = 0
    n_odd: int = 0
    n_below: int = 0
    n_above: int = 0
    low: float = np.inf
    high: float = -np.inf
    odd: Counter[str] = field(default_factory=Counter)
    sketch: Sketch = field(default_factory=Sketch)
    kinds: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, watched: Watched) -> Self:
        """Return counts of no rows."""
        return cls(watched, np.zeros(watched.n_bins, dtype=np.int64))

    @property
    def n_known(self) -> int:
        """Rows with a value that could be read."""
        return self.n_rows - self.n_missing - self.n_odd

    def add(
        self, values: Floats, is_missing: Bools, odd: Mapping[str, int], kind: str | None = None
    ) -> None:
        """Count some rows.

        Parameters
        ----------
        values : array of float, shape (n_rows,)
            As a table holds them; NaN where there is no value, or none that could be read.
        is_missing : array of bool, shape (n_rows,)
            Where there is no value.
        odd : mapping of str to int
            What could not be read, with its rows.
        kind : str, optional
            What the column holds by its type.
        """
        known = values[~np.isnan(values)]
        self.n_rows += len(values)
        n_missing = int(is_missing.sum())
        self.n_missing += n_missing
        self.n_odd += len(values) - len(known) - n_missing
        if kind is not None:
            self.kinds.add(kind)
        self._remember(odd)
        if not len(known):
            return
        if self.watched.column.kind == "category":
            self.counts += np.bincount(known.astype(np.int64), minlength=len(self.counts))
            return
        self.counts += bin_counts(known, self.watched.borders)
        self.low, self.high = min(self.low, float(known.min())), max(self.high, float(known.max()))
        seen = self.watched.seen
        if seen is not None and seen.quantiles:
            self.n_below += int(np.count_nonzero(known < seen.low))
            self.n_above += int(np.count_nonzero(known > seen.high))
        if self.watched.column.kind in _SKETCHED:
            self.sketch.add(known)

    def _remember(self, odd: Mapping[str, int]) -> None:
        for name, count in odd.items():
            if name in self.odd or len(self.odd) < MAX_NAMED:
                self.odd[name] += count

    def merge(self, other: "ColumnTally") -> None:
        """Add the counts of other rows."""
        self.counts = self.counts + other.counts
        for name in ("n_rows", "n_missing", "n_odd", "n_below", "n_above"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        self._remember(other.odd)
        self.sketch.counts.update(other.sketch.counts)
        self.kinds |= other.kinds


@dataclass
class Tally:
    """What new rows have in the columns of a model, and which leaves they reach.

    Parameters
    ----------
    columns : dict of str to ColumnTally
        By name; those that are there.
    leaves : array of int, shape (n_leaves,)
        Rows of every leaf.
    labels : array of int, shape (n_leaves, n_clusters + 1), optional
        Rows of every leaf by the label they carry; those of no known cluster in the last column.
    n_rows, n_unscored : int
        Rows, and those that reach no leaf: they have a value that could not be read.
    guesses : dict of (str, str) to ColumnTally
        Columns that the model does not know, read as if they were a tested column that is absent.
    extra : list of str
        Names of columns that the model does not know.
    """

    columns: dict[str, ColumnTally]
    leaves: Ints
    labels: Ints | None = None
    n_rows: int = 0
    n_unscored: int = 0
    guesses: dict[tuple[str, str], ColumnTally] = field(default_factory=dict)
    extra: list[str] = field(default_factory=list)
    has_leaves: bool = True
    other_labels: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, watched: Iterable[Watched], n_leaves: int, n_clusters: int | None = None) -> Self:
        """Return counts of no rows."""
        labels = (
            None if n_clusters is None else np.zeros((n_leaves, n_clusters + 1), dtype=np.int64)
        )
        columns = {each.column.name: ColumnTally.of(each) for each in watched}
        return cls(columns, np.zeros(n_leaves, dtype=np.int64), labels)

    def add_leaves(self, leaves: Ints, codes: Ints | None = None) -> None:
        """Count the leaves of some rows, -1 for rows that reach none, and their clusters, -1 for none."""
        reached = leaves >= 0
        self.n_unscored += len(leaves) - int(reached.sum())
        self.leaves += np.bincount(leaves[reached], minlength=len(self.leaves))
        if codes is not None and self.labels is not None:
            width = self.labels.shape[1]
            places = np.where(codes < 0, width - 1, codes)
            pairs = leaves[reached] * width + places[reached]
            counts = np.bincount(pairs, minlength=self.labels.size)
            self.labels += counts.reshape(self.labels.shape)

    def merge(self, other: "Tally") -> None:
        """Add the counts of other rows."""
        for name, column in other.columns.items():
            self.columns[name].merge(column)
        for key, guess in other.guesses.items():
            if key in self.guesses:
                self.guesses[key].merge(guess)
            else:
                self.guesses[key] = guess
        self.leaves = self.leaves + other.leaves
        if self.labels is not None and other.labels is not None:
            self.labels = self.labels + other.labels
        self.n_rows += other.n_rows
        self.n_unscored += other.n_unscored
        self.has_leaves &= other.has_leaves
        self.extra = self.extra or other.extra
        self.other_labels.update(other.other_labels)


def merged(parts: list[Any]) -> Tally:
    """Return the counts of several parts of a table in one."""
    whole: Tally = parts[0]
    for part in parts[1:]:
        whole.merge(part)
    return whole
