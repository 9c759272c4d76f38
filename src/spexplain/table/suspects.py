"""Columns that explain nothing: row numbers, row names, and copies of the labels."""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from spexplain.aliases import Array, Bools, Floats, Ints, Matrix
from spexplain.table.base import Table
from spexplain.tree import Column

_FEWEST_ROWS = 20  # in shorter tables many useful columns have no repeated values
_NEARLY_ALL = 0.95  # share of distinct values from which on texts count as row names
_MOST_ROWS = 0.5  # share of rows whose text no other row has, beyond which texts are names, too
_FEW_VALUES = 20  # unless there are no more of them
_FEW = 4096  # rows that usually suffice to rule out an ordered column or a copy
_N_MARKS = 1 << 16  # hashes of a column's values in partitions, for counting distinct values
_DENSE = 0.1  # share of the whole numbers from the first to the last value from which on they number rows
_ID_NAMES = ("id", "key", "uuid", "guid", "index", "number", "nr", "no")
# With larger gaps, what follows the row order is a measurement that grows, unless it is called like one of these.
_NUMBERED = (
    "account", "case", "client", "code", "customer", "document", "invoice", "member", "obs", "observation", "order",
    "patient", "person", "record", "row", "serial", "ticket", "transaction", "user",
)  # fmt: skip
_ID_ENDINGS = ("ID", "Id", "no", "No", "nr", "Nr", "num", "Num")


def suspicious_columns(table: Table, codes: Any = None) -> dict[int, str]:
    """Return the columns of a data frame that rules should not use, with the reason in words.

    These are texts that differ in nearly every row, and those of more than a few values where most rows have
    a text of their own; whole numbers that differ in every row and are called an id, or follow the row order with
    few gaps or a name like "customer"; dates that differ and follow the row order; and columns whose values are
    the labels under other names.

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
    is_here = isinstance(table.values, np.ndarray)
    if table.names is None or len(table) < _FEWEST_ROWS or not (is_here or table.engine == "dask"):
        return {}
    looked_at = [
        (place, column)
        for place, column in enumerate(table.columns)
        if column.kind not in ("number", "word", "duration")
    ]
    if not looked_at:
        return {}
    if is_here:
        own = codes if isinstance(codes, np.ndarray) else None
        told, n_marks = [_signs(table.values, own, columns=looked_at, n_marks=None)], None
    else:
        n_marks = _N_MARKS
        columns = list(enumerate(column for _, column in looked_at))
        told = table.ask_columns(
            [place for place, _ in looked_at],
            partial(_signs, columns=columns, n_marks=n_marks),
            () if codes is None else (codes,),
        )
    found: dict[int, str] = {}
    for (place, column), *parts in zip(looked_at, *told, strict=True):
        signs = _joined(parts, n_marks)
        reason = _reason(column, signs, n_marks)
        if not reason and signs.is_copy:
            reason = "its values are the labels under other names"
        if reason:
            found[place] = reason
    return found


class _Signs(NamedTuple):
    """What some rows tell about whether a column names them."""

    n_rows: int
    n_known: int
    ends: tuple[float, ...]  # the first and the last value, if there are any
    rises: bool  # from row to row
    falls: bool
    marks: Array  # of distinct values: all of them, or the smallest of their hashes
    lone: Bools  # which of these values only one row has
    clusters: (
        Floats | None
    )  # the value of every cluster, NaN for those without rows; None if one has several

    @property
    def is_copy(self) -> bool:
        """Whether every cluster has exactly one value, which no other cluster has."""
        if self.clusters is None:
            return False
        known = self.clusters[~np.isnan(self.clusters)]
        return len(known) > 1 and len(np.unique(known)) == len(known)


def _signs(
    values: Matrix,
    codes: Any = None,
    *,
    columns: Sequence[tuple[int, Column]],
    n_marks: int | None,
) -> list[_Signs]:
    """Return the signs for some columns in a part of a table, whose rows are in order."""
    own = None if codes is None else np.asarray(codes)
    found = []
    for place, column in columns:
        x = np.asarray(values[:, place], dtype=np.float64)
        missing = np.isnan(x)
        known = x[~missing] if missing.any() else x
        ends = (float(known[0]), float(known[-1])) if len(known) else ()
        marks, lone = _marks(known if _is_counted(column) else known[:0], n_marks)
        clusters = None if own is None else _values_of_clusters(x, own)
        rises, falls = _goes(known, up=True), _goes(known, up=False)
        found.append(_Signs(len(x), len(known), ends, rises, falls, marks, lone, clusters))
    return found


def _joined(parts: Sequence[_Signs], n_marks: int | None) -> _Signs:
    """Return the signs for a column over all parts, which are in order."""
    if len(parts) == 1:
        return parts[0]
    ends = [each.ends for each in parts if each.ends]
    steps = [after[0] - before[1] for before, after in pairwise(ends)]
    # A mark that is kept here was kept in all parts that have its value.
    marks, places, n_parts = np.unique(
        np.concatenate([each.marks for each in parts]), return_index=True, return_counts=True
    )
    lone = np.concatenate([each.lone for each in parts])[places] & (n_parts == 1)
    clusters = None
    if all(each.clusters is not None for each in parts):
        clusters = _agreed([each.clusters for each in parts if each.clusters is not None])
    return _Signs(
        sum(each.n_rows for each in parts),
        sum(each.n_known for each in parts),
        (ends[0][0], ends[-1][1]) if ends else (),
        all(each.rises for each in parts) and all(step > 0 for step in steps),
        all(each.falls for each in parts) and all(step < 0 for step in steps),
        marks[:n_marks],
        lone[:n_marks],
        clusters,
    )


def _reason(column: Column, signs: _Signs, n_marks: int | None) -> str:
    """Return why a column names rows; an empty text if it does not."""
    enough = _NEARLY_ALL * signs.n_rows
    if column.kind == "category":
        n_different = _n_different(signs.marks, n_marks)
        if n_different >= enough:
            return "nearly every row has a value of its own"
        is_name = n_different > _FEW_VALUES and (
            n_different * signs.lone.mean() > _MOST_ROWS * signs.n_rows
        )
        return "most rows have a value of their own" if is_name else ""
    if column.kind not in ("whole", "date") or signs.n_known < enough:
        return ""
    is_ordered = signs.rises or signs.falls
    if column.kind == "date":
        return "its dates follow the order of the rows" if is_ordered else ""
    if is_ordered and (_has_few_gaps(signs) or _is_called_number(column.name)):
        return "its values number the rows"
    is_id = _is_counted(column) and _n_different(signs.marks, n_marks) >= enough
    return "every row has a value of its own" if is_id else ""


def _has_few_gaps(signs: _Signs) -> bool:
    """Whether enough of the whole numbers between the first and the last value occur."""
    first, last = signs.ends
    return signs.n_known >= _DENSE * (abs(last - first) + 1)


def _is_counted(column: Column) -> bool:
    """Whether the number of distinct values of a column matters."""
    if column.kind != "whole":
        return column.kind == "category"
    return _last_word(column.name) in _ID_NAMES or column.name.endswith("Id")


def _is_called_number(name: str) -> bool:
    """Whether a name is usual for columns that number rows."""
    word = _last_word(name)
    is_numbered = word.removesuffix("id") in _NUMBERED
    return is_numbered or word in _ID_NAMES or name.endswith(_ID_ENDINGS)


def _last_word(name: str) -> str:
    return (name.lower().replace("-", " ").replace("_", " ").replace(".", " ").split() or [""])[-1]


def _goes(known: Floats, *, up: bool) -> bool:
    """Whether values rise, or fall, from row to row."""
    for some in (known[:_FEW], known):
        steps = np.diff(some) > 0 if up else np.diff(some) < 0
        if not steps.all():
            return False
    return True


def _marks(known: Floats, n_marks: int | None) -> tuple[Array, Bools]:
    """Return the distinct values and which of them occur once; of too many to send, only the smallest of their hashes.

    Fewer than `n_marks` hashes count the values exactly; otherwise the largest hash gives an estimate of their
    number, as hashes are spread evenly.
    """
    different, counts = np.unique(known, return_counts=True)
    lone = counts == 1
    if n_marks is None:
        return different, lone
    bits = (different + 0.0).view(np.uint64)  # there is one zero
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    hashes = bits ^ (bits >> np.uint64(31))
    order = np.argsort(hashes)[:n_marks]
    return hashes[order], lone[order]


def _n_different(marks: Array, n_marks: int | None) -> float:
    """Return the number of distinct values, or an estimate if not all of them have a mark."""
    if n_marks is None or len(marks) < n_marks:
        return float(len(marks))
    return (n_marks - 1) * 2.0**64 / (float(marks[-1]) + 1.0)


def _values_of_clusters(x: Floats, codes: Ints) -> Floats | None:
    """Return the value of every cluster, NaN for those without rows; None where one has several values."""
    n_clusters = int(codes.max(initial=-1)) + 1
    for some in (slice(_FEW), slice(None)):
        clustered = codes[some] >= 0
        values, own = x[some][clustered], codes[some][clustered]
        value_of = np.full(n_clusters, np.nan)
        value_of[own] = values  # of one row of each cluster
        if not np.array_equal(value_of[own], values):  # nor does a missing value equal itself
            return None
    return value_of


def _agreed(parts: Sequence[Floats]) -> Floats | None:
    """Return the values of clusters in all parts; None where two of them differ."""
    every = np.full((len(parts), max(map(len, parts))), np.nan)
    for row, own in zip(every, parts, strict=True):
        row[: len(own)] = own
    least = np.min(every, axis=0, where=~np.isnan(every), initial=np.inf)
    most = np.max(every, axis=0, where=~np.isnan(every), initial=-np.inf)
    if (least < most).any():
        return None
    return np.where(np.isfinite(least), least, np.nan)
