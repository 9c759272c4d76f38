"""The arrays of a tree: their types, their plain form for JSON, and what is refused on the way back."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from spexplain.aliases import Array
from spexplain.exceptions import quoted, quoted_list

FORMAT = "spexplain.tree"
VERSION = 1
LEAF = -1  # feature, left and right of a leaf
DTYPES: dict[str, type] = {
    "feature": np.int64,
    "threshold": np.float64,
    "lower": np.float64,
    "left": np.int64,
    "right": np.int64,
    "size": np.int64,
    "score": np.float64,
    "value": np.float64,
}


def document_of(n_features: int, arrays: Mapping[str, Array]) -> dict[str, Any]:
    """Return plain lists and numbers, ready for JSON."""
    plain = {name: _plain(array) for name, array in arrays.items()}
    return {"format": FORMAT, "version": VERSION, "n_features": n_features, **plain}


def parsed(data: Mapping[str, Any]) -> tuple[int, dict[str, Array]]:
    """Return the number of features and the arrays that a document describes, or refuse it."""
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        raise ValueError(f'This is not a tree: a mapping with "format": "{FORMAT}" is expected.')
    if data.get("version") != VERSION:
        raise ValueError(
            f"This tree has format version {quoted(data.get('version'))}, but this spexplain reads version "
            f"{VERSION}; write it again with this version, or update spexplain."
        )
    expected = {"format", "version", "n_features", *DTYPES}
    if set(data) != expected:
        odd = quoted_list(set(data) ^ expected)
        raise ValueError(f"This tree has missing or unknown entries: {odd}.")
    n_features = data["n_features"]
    if type(n_features) is not int or n_features < 1:
        raise ValueError(
            f"n_features={quoted(n_features)} of this tree must be a positive integer."
        )
    arrays = {name: _parsed(name, data[name], dtype) for name, dtype in DTYPES.items()}
    lower = arrays["lower"]
    lower[np.isnan(lower) & (arrays["feature"] != LEAF)] = -np.inf
    _check_shape(n_features, arrays)
    return n_features, arrays


def _plain(array: Array) -> list[Any]:
    """Return a list in which NaN and infinities, which JSON lacks, are None."""
    if array.dtype == np.int64:
        return list(array.tolist())
    return [x if np.isfinite(x) else None for x in array.tolist()]


def _parsed(name: str, entries: Any, dtype: type) -> Array:
    """Return one array of a tree; refuse entries of another type."""
    kinds = {int} if dtype is np.int64 else {int, float, type(None)}
    if not isinstance(entries, list) or any(type(entry) not in kinds for entry in entries):
        wanted = "integers" if dtype is np.int64 else "numbers or null"
        raise ValueError(f"{name} of this tree must be a list of {wanted}.")
    try:
        return np.array([np.nan if entry is None else entry for entry in entries], dtype=dtype)
    except OverflowError:
        raise ValueError(f"{name} of this tree holds a number that is too large.") from None


def _check_shape(n_features: int, arrays: dict[str, Array]) -> None:
    """Refuse arrays that are not a tree in birth order."""
    n_nodes = len(arrays["feature"])
    if n_nodes % 2 == 0 or any(len(array) != n_nodes for array in arrays.values()):
        raise ValueError("The arrays of this tree must all have the same odd length.")
    feature, left, right = arrays["feature"], arrays["left"], arrays["right"]
    inner = feature != LEAF
    parents = np.flatnonzero(inner)
    if np.any(feature[inner] < 0) or np.any(feature[inner] >= n_features):
        raise ValueError(f"feature of this tree must be -1 or a column number below {n_features}.")
    if not np.all(np.isfinite(arrays["threshold"][inner])):
        raise ValueError("threshold of this tree must be a finite number in every inner node.")
    if np.any(arrays["lower"][inner] >= arrays["threshold"][inner]):
        raise ValueError("lower of this tree must lie below threshold in every inner node.")
    in_birth_order = (
        np.array_equal(np.sort(left[inner]), np.arange(1, n_nodes, 2))
        and np.array_equal(right[inner], left[inner] + 1)
        and np.all(left[inner] > parents)
        and np.all(left[~inner] == LEAF)
        and np.all(right[~inner] == LEAF)
    )
    if not in_birth_order:
        raise ValueError(
            "left and right of this tree do not describe a binary tree in birth order."
        )
