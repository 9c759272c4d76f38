"""Columns of a table: their names, the kind of their values, and those that a tree may use."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from spexplain.aliases import Ints
from spexplain.arguments import is_integer

Kind: TypeAlias = Literal["number", "whole", "boolean", "category", "date"]
_KINDS: dict[str, Kind] = {"b": "boolean", "i": "whole", "u": "whole", "M": "date", "m": "number"}


class Column(NamedTuple):
    """A column as the user brought it.

    Parameters
    ----------
    name : str
        Its name, or x0, x1, ... in a table without names.
    kind : {"number", "whole", "boolean", "category", "date"}
        What its values were before they became floats. Fits take numbers, whole numbers and booleans.
    categories : tuple
        The values of a category, in order.
    """

    name: str
    kind: Kind = "number"
    categories: tuple[Any, ...] = ()


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
