"""What is checked of the values of every table, each in one place: finite, not all equal, not changed since."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from spexplain.aliases import Array, Matrix

_BLOCK = 1 << 18  # values that are read at a time: they stay in the cache for a second look
_WORDS = 256  # of 8 bytes, whose order a checksum does not tell
_PRIME = (1 << 61) - 1
_ROWS_AT_ONCE = 1024


def check_finite(
    X: Any,
    names: Sequence[Any] | None = None,
    *,
    first_row: int | None = 0,
    watched: bool = False,
    allow_missing: bool = False,
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
        Whether a checksum is wanted, which is cheap on the way; of tables on the host only.
    allow_missing : bool, default=False
        Whether NaN may stand for a missing value.

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
    sums, has_missing = [], False
    with np.errstate(over="ignore", invalid="ignore"):
        for block in _blocks(X):
            # One number tells for nearly every block; a finite sum has only finite terms.
            if not np.isfinite(block.sum()):
                is_missing = bool(np.isnan(block).any())
                if np.isinf(block).any() or (is_missing and not allow_missing):
                    flaw = first_flaw(X, allow_missing=allow_missing)
                    refuse_flaw(flaw, names, first_row, allow_missing=allow_missing)
                has_missing |= is_missing
            if watched:
                sums.append(_checksum(block))
    return Checked(tuple(sums), has_missing)


class Checked(NamedTuple):
    """What was seen of a table on the way."""

    checksum: tuple[int, ...]  # changes with nearly every change of the table; empty unless watched
    has_missing: bool


def checksum(X: Matrix) -> tuple[int, ...]:
    """Return the checksum of a table on the host, as `check_finite` does."""
    return tuple(map(_checksum, _blocks(X)))


def _blocks(X: Matrix) -> Iterator[Matrix]:
    """Give the table piece by piece, in the order in which it lies in memory."""
    if abs(X.strides[0]) < abs(X.strides[1]):
        X = X.T
    width = max(1, min(X.shape[1], _BLOCK))  # a tree without tests reads no column
    step = _BLOCK // width
    for start in range(0, len(X), step):
        for left in range(0, X.shape[1], width):
            yield X[start : start + step, left : left + width]


def _checksum(block: Matrix) -> int:
    """Return a sum of the bits of a block, read as whole numbers; a few at a time count by their place."""
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
    """Say where a table holds a missing or infinite value; None is no flaw."""
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
    is_known = ~np.isnan(X[0])  # two missing values do not differ
    blocks = (X[start : start + _ROWS_AT_ONCE] for start in range(0, len(X), _ROWS_AT_ONCE))
    return any(bool(np.any((rows != X[0]) & (is_known | ~np.isnan(rows)))) for rows in blocks)


def check_shape(X: Any, *, least_rows: int) -> None:
    """Refuse what is no table of real numbers with enough rows, where scikit-learn does not look."""
    if X.ndim != 2:
        raise ValueError(f"X must be a table of two dimensions, got {X.ndim}.")
    dtype = getattr(X, "dtype", np.dtype(np.float64))  # data frames have several
    if dtype.kind not in "buif":
        raise ValueError(f"X must hold real numbers, got dtype {dtype}.")
    check_length(X.shape[0], X.shape[1], least_rows)


def check_length(n_rows: Any, n_columns: int, least_rows: int) -> None:
    """Refuse a table with too few rows or without columns; numbers that are not known yet pass."""
    too_short = isinstance(n_rows, int) and n_rows < least_rows
    if too_short or not n_columns:
        raise ValueError(
            f"X has {n_rows} sample(s) and {n_columns} feature(s), but a minimum of {least_rows} "
            f"sample(s) and 1 feature is required."
        )
