"""The arrays of a tree: their types, their plain form for JSON, and checks when they are read back."""

from collections.abc import Mapping
from math import isfinite
from typing import Any, TypeAlias

import numpy as np

from spexplain.aliases import Array
from spexplain.exceptions import quoted, quoted_list

FORMAT = "spexplain.tree"
VERSION = 2
_PLAIN_VERSION = 1  # of trees without missing values and categories, which are still read
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
    "missing": np.bool_,
}
BLANK: dict[type, Any] = {np.int64: LEAF, np.float64: np.nan, np.bool_: False}
SetTests: TypeAlias = Mapping[int, tuple[int, ...]]  # by node, the codes of categories that pass


def document_of(n_features: int, arrays: Mapping[str, Array], values: SetTests) -> dict[str, Any]:
    """Return plain lists and numbers, ready for JSON."""
    plain = {name: _plain(array) for name, array in arrays.items()}
    sets = {str(node): list(codes) for node, codes in sorted(values.items())}
    return {"format": FORMAT, "version": VERSION, "n_features": n_features, **plain, "values": sets}


def parsed(data: Mapping[str, Any]) -> tuple[int, dict[str, Array], SetTests]:
    """Return the number of features, the arrays and the tests of categories that a document describes, or refuse it."""
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        raise ValueError(f'This is not a tree: a mapping with "format": "{FORMAT}" is expected.')
    if data.get("version") == _PLAIN_VERSION and isinstance(data.get("feature"), list):
        blank = {"missing": [False] * len(data["feature"]), "values": {}}
        data = {**blank, **data, "version": VERSION}
    if data.get("version") != VERSION:
        raise ValueError(
            f"This tree has format version {quoted(data.get('version'))}, but this spexplain reads versions "
            f"{_PLAIN_VERSION} and {VERSION}; write it again with this version, or update spexplain."
        )
    expected = {"format", "version", "n_features", *DTYPES, "values"}
    if set(data) != expected:
        odd = quoted_list(set(data) ^ expected)
        raise ValueError(f"This tree has missing or unknown entries: {odd}.")
    n_features = data["n_features"]
    if type(n_features) is not int or n_features < 1:
        raise ValueError(
            f"n_features={quoted(n_features)} of this tree must be a positive integer."
        )
    arrays = {name: _parsed(name, data[name], dtype) for name, dtype in DTYPES.items()}
    _check_lengths(arrays)
    values = _parsed_sets(data["values"], arrays["feature"])
    is_test = arrays["feature"] != LEAF
    is_test[list(values)] = False
    lower, threshold, missing = arrays["lower"], arrays["threshold"], arrays["missing"]
    lower[np.isnan(lower) & is_test] = -np.inf
    # JSON has no infinity: without a threshold all numbers pass, or only missing values do.
    unbounded = np.isnan(threshold) & is_test
    is_unbounded_below = unbounded & np.isneginf(lower)
    threshold[is_unbounded_below] = np.where(missing, -np.inf, np.inf)[is_unbounded_below]
    threshold[unbounded & ~is_unbounded_below] = np.inf
    _check_shape(n_features, arrays, values)
    return n_features, arrays, values


def _parsed_sets(data: Any, feature: Array) -> SetTests:
    """Return the tests of categories; refuse anything else."""
    if not isinstance(data, Mapping):
        raise ValueError("values of this tree must be a mapping from nodes to lists of codes.")
    values: dict[int, tuple[int, ...]] = {}
    for key, codes in data.items():
        node = int(key) if isinstance(key, str) and key.isascii() and key.isdigit() else LEAF
        is_inner = 0 <= node < len(feature) and feature[node] != LEAF
        is_list = isinstance(codes, list) and all(type(c) is int and c >= 0 for c in codes)
        if not is_inner or not is_list:
            raise ValueError("values of this tree must be a mapping from nodes to lists of codes.")
        values[node] = tuple(codes)
    return values


def _plain(array: Array) -> list[Any]:
    """Return a list in which NaN and infinities, which JSON lacks, are None."""
    if array.dtype != np.float64:
        return list(array.tolist())
    return [x if np.isfinite(x) else None for x in array.tolist()]


_ENTRIES: dict[type, tuple[set[type], str]] = {
    np.int64: ({int}, "integers"),
    np.bool_: ({bool}, "true and false"),
    np.float64: ({int, float, type(None)}, "numbers or null"),
}


def _parsed(name: str, entries: Any, dtype: type) -> Array:
    """Return one array of a tree; refuse entries of another type."""
    kinds, wanted = _ENTRIES[dtype]
    if not isinstance(entries, list) or any(
        type(entry) not in kinds or (isinstance(entry, float) and not isfinite(entry))
        for entry in entries
    ):
        raise ValueError(f"{name} of this tree must be a list of {wanted}.")
    try:
        return np.array([np.nan if entry is None else entry for entry in entries], dtype=dtype)
    except OverflowError:
        raise ValueError(f"{name} of this tree holds a number that is too large.") from None


def _check_lengths(arrays: dict[str, Array]) -> None:
    n_nodes = len(arrays["feature"])
    if n_nodes % 2 == 0 or any(len(array) != n_nodes for array in arrays.values()):
        raise ValueError("The arrays of this tree must all have the same odd length.")


def _check_shape(n_features: int, arrays: dict[str, Array], values: SetTests) -> None:
    """Refuse arrays that are not a tree in birth order."""
    n_nodes = len(arrays["feature"])
    feature, left, right = arrays["feature"], arrays["left"], arrays["right"]
    inner = feature != LEAF
    parents = np.flatnonzero(inner)
    if np.any(feature[inner] < 0) or np.any(feature[inner] >= n_features):
        raise ValueError(f"feature of this tree must be -1 or a column number below {n_features}.")
    lower, threshold = arrays["lower"], arrays["threshold"]
    is_bad = inner & (lower >= threshold) & ~(np.isneginf(threshold) & arrays["missing"])
    is_bad[list(values)] = False
    if np.any(is_bad):
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
