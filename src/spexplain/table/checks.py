"""Checks of the values of every table: finite, not all equal, not changed since the fit."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from spexplain.aliases import Array, Floats, Ints, Matrix
from spexplain.kernels.readiness import compiled_pays
from spexplain.threads import Threads, blocks_of, count_threads

_BLOCK = 1 << 18  # values that are read at a time: they stay in the cache for a second look
_WORDS = 256  # of 8 bytes; a checksum does not depend on their order
_PRIME = (1 << 61) - 1
_ROWS_AT_ONCE = 1024
_COLUMNS_AT_ONCE = 8  # of those that lie one after the other


def check_finite(
    X: Any,
    names: Sequence[Any] | None = None,
    *,
    first_row: int | None = 0,
    watched: bool = False,
    allow_missing: bool = False,
    n_jobs: int | None = None,
) -> "Checked":
    """Refuse infinite values and, unless they are allowed, missing ones.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns)
        The table, on the host or on a device.
    names : sequence, optional
        Names of the columns, for the message.
    first_row : int or None
        Number of the first row, for the message; None if it is not known.
    watched : bool, default=False
        Whether to compute a checksum in the same pass; for tables on the host only.
    allow_missing : bool, default=False
        Whether NaN may stand for a missing value.
    n_jobs : int, optional
        Threads.

    Returns
    -------
    checked : Checked
        A checksum, if the table is watched, and whether values are missing.
    """
    if not isinstance(X, np.ndarray):
        if bool(np.isfinite(X.sum(dtype=np.float64))):
            return Checked((), False)
        flaw = first_flaw(X, allow_missing=allow_missing)
        refuse_flaw(flaw, names, first_row, allow_missing=allow_missing)
        return Checked((), bool(np.isnan(X).any()))
    suspects: list[bool] = []

    def look(block: Matrix) -> int:
        # One number is enough for nearly every block: a finite sum has only finite terms.
        with np.errstate(over="ignore", invalid="ignore"):
            if not suspects and not np.isfinite(block.sum()):
                suspects.append(True)
        return _checksum(block) if watched else 0

    with Threads(count_threads(n_jobs)) as threads:
        sums = tuple(threads.map(look, list(_blocks(X))))
        known = known_values(X, threads) if suspects else None
        threads.end()
    sums = sums if watched else ()
    if known is None:
        return Checked(sums, False)
    has_missing = bool((known.n_known < len(X)).any())
    if known.has_infinity or (has_missing and not allow_missing):
        flaw = first_flaw(X, allow_missing=allow_missing)
        refuse_flaw(flaw, names, first_row, allow_missing=allow_missing)
    return Checked(sums, has_missing, known)


class KnownValues(NamedTuple):
    """What the columns of a table hold besides missing values, each of shape (n_columns,)."""

    n_known: Ints
    sums: Floats
    low: Floats  # infinity where nothing is known
    high: Floats  # likewise -infinity

    @property
    def has_infinity(self) -> bool:
        """Whether some value is infinite."""
        is_known = self.n_known > 0
        return bool(np.isinf(self.low[is_known]).any() or np.isinf(self.high[is_known]).any())


def known_values(X: Matrix, threads: Threads | None = None) -> KnownValues:
    """Return what the columns of a table on the host hold besides missing values. O(n_rows n_columns).

    Threads may share the work, in parts that do not depend on the number of threads.
    """
    n_rows, n_columns = X.shape
    survey = _survey if compiled_pays(X.size, "groups.survey_columns") else _known_values
    if abs(X.strides[0]) < abs(X.strides[1]):  # columns lie one after the other
        blocks = [X[:, each] for each in blocks_of(n_columns, _COLUMNS_AT_ONCE)]
    else:
        blocks = [X[each] for each in blocks_of(n_rows, max(4, _BLOCK // n_columns // 4 * 4))]
    found = [survey(each) for each in blocks] if threads is None else threads.map(survey, blocks)
    if len(found) == 1:
        return found[0]
    fields = list(zip(*found, strict=True))
    if blocks[0].shape[0] == n_rows:
        return KnownValues(*map(np.concatenate, fields))
    n_known, sums, low, high = map(np.stack, fields)
    with np.errstate(over="ignore", invalid="ignore"):
        return KnownValues(n_known.sum(axis=0), sums.sum(axis=0), low.min(axis=0), high.max(axis=0))


def _survey(X: Matrix) -> KnownValues:
    """Do the work of `known_values` in compiled code, except for the last rows."""
    from spexplain.kernels.groups import survey_columns

    n_columns, n_last = X.shape[1], len(X) % 4
    n_known, sums = np.zeros((2, n_columns))
    low, high = np.full(n_columns, np.inf), np.full(n_columns, -np.inf)
    survey_columns(X, n_known, sums, low, high)
    if not n_last:
        return KnownValues(n_known.astype(np.int64), sums, low, high)
    last = _known_values(X[len(X) - n_last :])
    return KnownValues(
        n_known.astype(np.int64) + last.n_known,
        sums + last.sums,
        np.minimum(low, last.low),
        np.maximum(high, last.high),
    )


def _known_values(X: Matrix) -> KnownValues:
    """Do the work of `known_values` by NumPy."""
    with np.errstate(over="ignore", invalid="ignore"):
        is_known = ~np.isnan(X)
        n_known = np.count_nonzero(is_known, axis=0)
        sums = np.where(is_known, X, 0).sum(axis=0, dtype=np.float64)
        low = np.fmin.reduce(X, axis=0, initial=np.inf).astype(np.float64)
        high = np.fmax.reduce(X, axis=0, initial=-np.inf).astype(np.float64)
        return KnownValues(n_known, sums, low, high)


class Checked(NamedTuple):
    """What was found in the pass over a table."""

    checksum: tuple[int, ...]  # changes with nearly every change of the table; empty unless watched
    has_missing: bool
    known: KnownValues | None = None  # of a table on the host that may have missing values


def checksum(X: Matrix) -> tuple[int, ...]:
    """Return the checksum of a table on the host, as `check_finite` does."""
    return tuple(map(_checksum, _blocks(X)))


def _blocks(X: Matrix) -> Iterator[Matrix]:
    """Yield the table piece by piece, in its order in memory."""
    if abs(X.strides[0]) < abs(X.strides[1]):
        X = X.T
    width = max(1, min(X.shape[1], _BLOCK))  # a tree without tests reads no column
    step = _BLOCK // width
    for start in range(0, len(X), step):
        for left in range(0, X.shape[1], width):
            yield X[start : start + step, left : left + width]


def _checksum(block: Matrix) -> int:
    """Return a sum of the bits of a block, read as whole numbers; groups of a few are weighted by their position."""
    flat = np.ascontiguousarray(block).reshape(-1).view(np.uint8)
    whole = len(flat) // (8 * _WORDS) * (8 * _WORDS)
    sums = flat[:whole].view(np.uint64).reshape(-1, _WORDS).sum(axis=1)
    places = 2 * np.arange(len(sums), dtype=np.uint64) + 1
    return int((sums * places).sum()) + int.from_bytes(flat[whole:].tobytes(), "little") % _PRIME


def first_flaw(X: Any, *, allow_missing: bool = False) -> tuple[int, int] | None:
    """Return the first row and column that hold no finite number; missing values may be allowed."""
    rows, columns = np.nonzero(np.isinf(X) if allow_missing else ~np.isfinite(X))
    return (int(rows[0]), int(columns[0])) if len(rows) else None


def refuse_flaw(
    flaw: tuple[int, int] | None,
    names: Sequence[Any] | None,
    first_row: int | None,
    *,
    allow_missing: bool = False,
) -> None:
    """Raise an error that says where a table holds a missing or infinite value; None means that there is none."""
    if flaw is None:
        return
    row, column = flaw
    name = column if names is None else repr(str(names[column]))
    where = f"row {row} of a partition" if first_row is None else f"row {first_row + row}"
    what = "infinity" if allow_missing else "NaN or infinity"
    raise ValueError(
        f"X contains {what}, first in {where}, column {name}; remove or replace such values."
    )


def check_tells_apart(differs: bool) -> None:
    """Refuse a table whose rows are all equal."""
    if not differs:
        raise ValueError("All columns of X are constant, so no cut can tell any rows apart.")


def rows_differ(X: Array) -> bool:
    """Whether some column is not constant; nearly always the first rows already say so."""
    is_known = ~np.isnan(X[0])  # missing values count as equal
    blocks = (X[start : start + _ROWS_AT_ONCE] for start in range(0, len(X), _ROWS_AT_ONCE))
    return any(bool(np.any((rows != X[0]) & (is_known | ~np.isnan(rows)))) for rows in blocks)


def check_shape(X: Any, *, least_rows: int) -> None:
    """Refuse anything but a table of real numbers with enough rows, where scikit-learn does not check it."""
    if X.ndim != 2:
        raise ValueError(f"X must be a table of two dimensions, got {X.ndim}.")
    dtype = getattr(X, "dtype", np.dtype(np.float64))  # data frames have several
    if dtype.kind not in "buif":
        raise ValueError(f"X must hold real numbers, got dtype {dtype}.")
    check_length(X.shape[0], X.shape[1], least_rows)


def check_length(n_rows: Any, n_columns: int, least_rows: int) -> None:
    """Refuse a table with too few rows or without columns; unknown numbers are accepted."""
    too_short = isinstance(n_rows, int) and n_rows < least_rows
    if too_short or not n_columns:
        raise ValueError(
            f"X has {n_rows} sample(s) and {n_columns} feature(s), but a minimum of {least_rows} "
            f"sample(s) and 1 feature is required."
        )
