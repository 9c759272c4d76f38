"""Tables with columns of any kind as points, from which distances, centres and costs are computed."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from spexplain.aliases import Floats, Ints, Matrix
from spexplain.tree import Column


class Coordinates(NamedTuple):
    """The points of a table, and where their coordinates come from.

    Missing numbers are replaced by the mean of the others. If a table has categories, dates or durations,
    every number is divided by its standard deviation, and every category becomes a coordinate: one for
    rows that have it, else zero.
    """

    matrix: Matrix  # shape (n_rows, n_coordinates)
    column: Ints  # the column that each coordinate comes from
    code: Ints  # of the category, -1 for numbers
    scale: Floats  # value of the column for a coordinate of one

    @classmethod
    def plain(cls, n_columns: int) -> "Coordinates":
        """Return where the coordinates of a table of numbers come from: its columns."""
        nothing = np.empty((0, n_columns))
        return cls(nothing, np.arange(n_columns), np.full(n_columns, -1), np.ones(n_columns))

    def places(self, column: int, codes: tuple[int, ...] | None = None) -> list[int]:
        """Return the coordinates of a column, or of some of its categories."""
        own = np.flatnonzero(self.column == column)
        return [int(at) for at in own if codes is None or int(self.code[at]) in codes]


def mean_of(x: Floats) -> float:
    """Return the mean of some numbers, whose sum may be too large for a float; 0 if there are none.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain.table.coordinates import mean_of
    >>> mean_of(np.array([1e308, 1e308])), mean_of(np.array([]))
    (1e+308, 0.0)
    """
    if not len(x):
        return 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        mean = float(x.mean())
    if np.isfinite(mean):
        return mean
    largest = float(np.abs(x).max())
    return float(np.clip((x / largest).mean(), -1.0, 1.0)) * largest


def coordinates_of(values: Matrix, columns: tuple[Column, ...]) -> Coordinates:
    """Return the points of an encoded table."""
    parts, origins = [], []
    for number, column in enumerate(columns):
        x = values[:, number].astype(np.float64)
        if column.kind == "category":
            for code in range(len(column.categories)):
                parts.append((x == code).astype(np.float64))
                origins.append((number, code, 1.0))
        else:
            scaled, scale = _scaled(x, is_mixed=_is_mixed(columns))
            parts.append(scaled)
            origins.append((number, -1, scale))
    column_of, code_of, scale_of = (np.array(each) for each in zip(*origins, strict=True))
    return Coordinates(np.column_stack(parts), column_of, code_of, scale_of)


def entries_of(values: Matrix, columns: tuple[Column, ...]) -> Any:
    """Return the points of an encoded table as a sparse array: categories may be many."""
    blocks = []
    for number, column in enumerate(columns):
        x = values[:, number].astype(np.float64)
        if column.kind == "category":
            rows = np.flatnonzero(~np.isnan(x))
            places = (rows, x[rows].astype(np.int64))
            shape = len(x), len(column.categories)
            blocks.append(sparse.csc_array((np.ones(len(rows)), places), shape=shape))
        else:
            scaled, _ = _scaled(x, is_mixed=_is_mixed(columns))
            blocks.append(sparse.csc_array(scaled[:, None]))
    return sparse.hstack(blocks, format="csc")


def _is_mixed(columns: tuple[Column, ...]) -> bool:
    return any(column.kind in ("category", "date", "duration") for column in columns)


def _scaled(x: Floats, *, is_mixed: bool) -> tuple[Floats, float]:
    """Return numbers without gaps, divided by their standard deviation in a mixed table; and the divisors."""
    missing = np.isnan(x)
    if missing.any():
        x[missing] = mean_of(x[~missing])
    if not is_mixed:
        return x, 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        deviation = float(x.std())
    scale = deviation if np.isfinite(deviation) and deviation > 0 else 1.0
    return x / scale, scale
