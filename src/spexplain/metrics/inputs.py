"""Checks of the user's tables and labels before computing."""

from typing import Any

import numpy as np

from spexplain.aliases import Array, Ints, Matrix
from spexplain.table.checks import check_finite


def table_of(X: Any) -> Matrix:
    """Return X as a matrix of floats; refuse anything else in one sentence."""
    try:
        table: Array = np.asarray(X)
        if table.dtype.kind != "f" or table.dtype.itemsize < 4:
            table = table.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError("X holds text or other entries that are not numbers.") from None
    if table.ndim != 2 or 0 in table.shape:
        raise ValueError(f"X must be a table of rows and columns, got shape {table.shape}.")
    check_finite(table)
    return table


def partition_of(name: str, labels: Any, n_samples: int) -> tuple[Array, Ints]:
    """Return the distinct labels in sorted order, and the position of every row's label among them."""
    given = np.asarray(labels)
    if given.shape != (n_samples,):
        raise ValueError(
            f"{name} must hold one label per row of X, {n_samples} in all, got shape {given.shape}."
        )
    try:
        classes, codes = np.unique(given, return_inverse=True)
    except TypeError:
        raise ValueError(f"{name} mixes labels that cannot be sorted together.") from None
    return classes, codes.astype(np.int64)
