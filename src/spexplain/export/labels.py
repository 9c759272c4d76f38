"""Labels as plain Python values, which other languages can represent."""

from math import isfinite
from typing import Any, Literal, TypeAlias

import numpy as np

from spexplain.aliases import Array
from spexplain.arguments import check_choice
from spexplain.table.reference import text_array
from spexplain.tree import python_value

LabelKind: TypeAlias = Literal["leaf", "reference"]
PlainType: TypeAlias = Literal["str", "int", "float", "bool"]

_BY_TYPE: dict[type, PlainType] = {str: "str", int: "int", float: "float", bool: "bool"}
_DTYPES: dict[PlainType, type] = {
    "int": np.int64,
    "float": np.float64,
    "bool": np.bool_,
}
_INT64 = np.iinfo(np.int64)


def check_label(label: str) -> None:
    """Refuse anything but the name of a kind of label."""
    check_choice("label", label, ("leaf", "reference"))


def plain_labels(labels: Array) -> tuple[PlainType, list[Any]] | None:
    """Return labels as Python values of one type; None where no plain type holds them exactly.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain.export.labels import plain_labels
    >>> plain_labels(np.array(["a", "b"]))
    ('str', ['a', 'b'])
    >>> plain_labels(np.array(["2024-01-01"], dtype="datetime64[D]")) is None
    True
    """
    if labels.dtype.kind not in "biufUTO":
        return None
    values = list(map(python_value, labels.tolist()))
    found = {type(value) for value in values}
    kind = _BY_TYPE.get(found.pop()) if len(found) == 1 else None
    if kind == "int" and not all(_INT64.min <= value <= _INT64.max for value in values):
        return None
    if kind == "float" and not all(isfinite(value) for value in values):
        return None
    return None if kind is None else (kind, values)


def label_array(kind: PlainType, values: list[Any]) -> Array:
    """Return plain labels as an array again.

    Examples
    --------
    >>> from spexplain.export.labels import label_array
    >>> label_array("int", [3, 1]).dtype
    dtype('int64')
    """
    return text_array(values) if kind == "str" else np.array(values, dtype=_DTYPES[kind])


def type_of_plain(name: str) -> type | None:
    """Return the Python type of that name; None for an unknown name."""
    return {text: python_type for python_type, text in _BY_TYPE.items()}.get(name)  # type: ignore[call-overload,no-any-return]
