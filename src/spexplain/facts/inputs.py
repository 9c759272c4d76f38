"""What a summary is made from, as plain records, and how their values become JSON."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from spexplain.aliases import Matrix
from spexplain.facts.schema import Label

if TYPE_CHECKING:
    from spexplain.explanation import Explanation


def check_rows(explained: "Explanation", X: Any) -> Matrix:
    """Return the training rows as a float table; refuse other rows."""
    table: Matrix = np.asarray(X)
    if table.dtype not in (np.float32, np.float64):
        table = table.astype(np.float64)
    tree, labels = explained.tree, explained.labels
    assert labels is not None
    if table.ndim != 2 or table.shape != (len(labels), tree.n_features):
        raise ValueError(
            f"X must hold the {len(labels)} training rows with their {tree.n_features} columns, got shape "
            f"{table.shape}."
        )
    if not np.array_equal(tree.apply(table), labels):
        raise ValueError("X must hold the training rows: some rows fall into other leaves.")
    return table


def finite(x: Any) -> float | None:
    """Return a float, or None for what JSON lacks: NaN and infinity."""
    x = float(x)
    return x if isfinite(x) else None


def plain_label(label: Any) -> Label:
    """Return a label as a JSON value: a number, a string or a boolean; anything else as its text."""
    value = label.item() if isinstance(label, np.generic) else label
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    return value if isinstance(value, str | int | float | bool) else str(label)


def plain(value: Any) -> Any:
    """Return a setting as a JSON value; arrays and objects are only named, not spelled out."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, np.generic | bool | int | float):
        return plain_label(value)
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, Sequence):
        return [plain(each) for each in value]
    if hasattr(value, "shape"):
        return f"{type(value).__name__} of shape {tuple(value.shape)}"
    # The default repr of objects ends in their address, which no two runs share.
    return type(value).__name__ if " at 0x" in (text := repr(value)) else text
