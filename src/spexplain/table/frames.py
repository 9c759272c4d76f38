"""Data frames of any library: kinds of columns, names for an older scikit-learn, records as a frame."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal, TypeAlias

import narwhals as nw
import numpy as np
from sklearn import __version__

from spexplain.arguments import check_choice
from spexplain.table.columns import Kind, kind_of_dtype

FrameKind: TypeAlias = Literal["auto", "pandas", "polars", "records"]

# Until 1.8, scikit-learn asks all but pandas for names by a protocol that polars dropped in 2.0.
_ASKS_BY_PROTOCOL = tuple(int(part) for part in __version__.split(".")[:2]) < (1, 9)


def kinds_of(X: Any) -> Kind | tuple[Kind, ...]:
    """Return the kinds of the columns of a table as the user brought it: one for all, or each.

    Examples
    --------
    >>> import pandas as pd
    >>> from spexplain.table.frames import kinds_of
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
