"""Columns that explain nothing: numbers and names of rows, and copies of the labels."""

from typing import Any

import numpy as np

from spexplain.aliases import Floats
from spexplain.table.base import Table
from spexplain.tree import Column

_FEWEST_ROWS = 20  # in shorter tables many honest columns have no value twice
_NEARLY_ALL = 0.95  # share of different values from which on a text names its row
_ID_NAMES = ("id", "key", "uuid", "guid", "index", "number", "nr", "no")


def suspicious_columns(table: Table, codes: Any = None) -> dict[int, str]:
    """Return the columns of a data frame that should not become rules, with the reason in words.

    Texts that differ in nearly every row, whole numbers that differ in every row and follow the order
    of the rows or are called an id, dates that differ and follow that order, and columns whose values
    are the labels under other names.

    Parameters
    ----------
    table : Table
        The table; only columns with names are looked at.
    codes : array of int, shape (n_rows,), optional
        Cluster of every row, -1 for none.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain.table.host import HostTable
    >>> from spexplain.table.suspects import suspicious_columns
    >>> rows = np.column_stack([np.arange(30), np.arange(30) % 7])
    >>> table = HostTable(rows.astype(float), ("customer", "orders"), ("whole", "whole"))
    >>> suspicious_columns(table)
    {0: 'its values number the rows'}
    """
    if table.names is None or len(table) < _FEWEST_ROWS or not isinstance(table.values, np.ndarray):
        return {}
    found: dict[int, str] = {}
    for place, column in enumerate(table.columns):
        if column.kind in ("number", "word", "duration"):
            continue
        x = np.asarray(table.values[:, place], dtype=np.float64)
        reason = _reason(column, x)
        if (
            not reason
            and codes is not None
            and isinstance(codes, np.ndarray)
            and _is_copy(x, codes)
        ):
            reason = "its values are the labels under other names"
        if reason:
            found[place] = reason
    return found


def _reason(column: Column, x: Floats) -> str:
    """Return why a column names rows, nothing if it does not."""
    known = x[~np.isnan(x)]
    n_different = len(np.unique(known))
    if column.kind == "category":
        is_name = n_different >= _NEARLY_ALL * len(x)
        return "nearly every row has a value of its own" if is_name else ""
    if column.kind not in ("whole", "date") or n_different < _NEARLY_ALL * len(x):
        return ""
    steps = np.diff(known)
    if bool((steps > 0).all() or (steps < 0).all()):
        return "its values number the rows"
    words = column.name.lower().replace("-", " ").replace("_", " ").split()
    if column.kind == "whole" and (
        (words and words[-1] in _ID_NAMES) or column.name.endswith("Id")
    ):
        return "every row has a value of its own"
    return ""


def _is_copy(x: Floats, codes: Any) -> bool:
    """Whether every cluster has exactly one value, which no other cluster has."""
    clustered = codes >= 0
    values, own = x[clustered], codes[clustered]
    if not len(own) or np.isnan(values).any():
        return False
    value_of = np.full(int(own.max()) + 1, np.nan)
    value_of[own] = values  # of one row of each cluster
    if not np.array_equal(value_of[own], values):
        return False
    known = value_of[~np.isnan(value_of)]
    return len(known) > 1 and len(np.unique(known)) == len(known)
