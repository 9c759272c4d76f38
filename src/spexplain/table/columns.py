"""Columns of a table: names, kinds of values, those that a tree may use; data frames of any library."""

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal, TypeAlias

import narwhals as nw
import numpy as np
from sklearn import __version__

from spexplain.aliases import Ints
from spexplain.arguments import check_choice, is_integer
from spexplain.tree import Kind

FrameKind: TypeAlias = Literal["auto", "pandas", "polars", "records"]
_KINDS: dict[str, Kind] = {"b": "boolean", "i": "whole", "u": "whole", "M": "date", "m": "duration"}
# Until 1.8, scikit-learn asks all but pandas for names by a protocol that polars dropped in 2.0.
_ASKS_BY_PROTOCOL = tuple(int(part) for part in __version__.split(".")[:2]) < (1, 9)


def kind_of_dtype(dtype: Any) -> Kind:
    """Return the kind of the values of a NumPy type."""
    return _KINDS.get(np.dtype(dtype).kind, "number")


def default_names(n_columns: int) -> tuple[str, ...]:
    """Return the names of columns without names.

    Examples
    --------
    >>> from spexplain.table.columns import default_names
    >>> default_names(3)
    ('x0', 'x1', 'x2')
    """
    return tuple(f"x{column}" for column in range(n_columns))


def column_numbers(features: Any, names: Sequence[str] | None, n_columns: int) -> Ints:
    """Return the columns that cuts may use, in increasing order.

    Parameters
    ----------
    features : list of int or str, or None
        Columns by number or name; None for all.
    names : sequence of str or None
        Names of the columns, if the table has any.
    n_columns : int
        Number of columns.
    """
    if features is None:
        return np.arange(n_columns)
    if isinstance(features, str) or np.ndim(features) != 1 or not len(features):
        raise ValueError(
            f"features={features!r} must be a list of column names or numbers, or None for all."
        )
    known = list(() if names is None else names)
    return np.array(sorted({_column_number(each, known, n_columns) for each in features}))


def _column_number(feature: Any, names: list[str], n_columns: int) -> int:
    if isinstance(feature, str):
        if feature not in names:
            known = ", ".join(map(str, names)) or "none: X has no column names"
            raise ValueError(f"features names the unknown column {feature!r} (known: {known}).")
        return names.index(feature)
    if not is_integer(feature) or not 0 <= feature < n_columns:
        raise ValueError(f"features holds {feature!r}, but X has columns 0 to {n_columns - 1}.")
    return int(feature)


def kinds_of(X: Any) -> Kind | tuple[Kind, ...]:
    """Return the kinds of the columns of a table as the user brought it: one for all, or each.

    Examples
    --------
    >>> import pandas as pd
    >>> from spexplain.table.columns import kinds_of
    >>> kinds_of(pd.DataFrame({"age": [30, 40], "tall": [True, False], "size": [1.5, 1.2]}))
    ('whole', 'boolean', 'number')
    """
    if nw.dependencies.is_into_dataframe(X) or hasattr(X, "to_dask_array"):
        if nw.dependencies.is_pandas_dataframe(X) and not X.columns.is_unique:
            return "number"  # no other library has a name twice
        schema = nw.from_native(X).collect_schema()
        return tuple(map(_kind, schema.values()))
    return kind_of_dtype(getattr(X, "dtype", np.float64))


def _kind(dtype: Any) -> Kind:
    if dtype == nw.Boolean:
        return "boolean"
    if dtype.is_integer():
        return "whole"
    if dtype.is_temporal():
        return "date"
    is_category = dtype in (nw.String, nw.Categorical, nw.Enum)
    return "category" if is_category else "number"


def readable(X: Any) -> Any:
    """Return X, or a view of it whose column names this scikit-learn finds."""
    is_other = _ASKS_BY_PROTOCOL and nw.dependencies.is_into_dataframe(X)
    return _Named(X) if is_other and not nw.dependencies.is_pandas_dataframe(X) else X


class _Named:
    """The values of a table, and its names by the old protocol."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        self.shape = frame.shape

    def __len__(self) -> int:
        return len(self.frame)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self.frame, dtype=dtype)

    def __dataframe__(self) -> "_Named":
        return self

    def column_names(self) -> list[str]:
        """Return the names of the columns."""
        return list(nw.from_native(self.frame).columns)


def as_frame(records: list[dict[str, Any]], output: FrameKind) -> Any:
    """Return records as they are, or as a DataFrame of pandas or polars."""
    check_choice("output", output, ("auto", "pandas", "polars", "records"))
    if output == "auto":
        installed = (name for name in ("pandas", "polars") if find_spec(name) is not None)
        output = next(installed, "records")  # type: ignore[arg-type]
    if output == "records":
        return records
    try:
        return import_module(output).DataFrame(records)
    except ImportError:
        raise ImportError(
            f"output={output!r} needs {output}; install it with: pip install {output}"
        ) from None
