"""Checks of parameters and tables: what is wrong is said in one sentence that names the argument."""

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from spexplain.aliases import Ints, Matrix
from spexplain.arguments import is_integer
from spexplain.table.device import check_device_table, is_on_device
from spexplain.table.frames import readable
from spexplain.table.partitions import check_collection, is_collection

_ROWS_AT_ONCE = 1024


def check_table(estimator: Any, X: Any, *, reset: bool) -> Matrix:
    """Return X as a float matrix; refuse text, NaN, infinities, and at fit a table without a cut."""
    if is_collection(X):
        # Values are looked at by the workers: in the first pass, or when a lazy result is computed.
        collection: Matrix = check_collection(estimator, X, reset=reset)
        return collection
    check = check_device_table if is_on_device(X) else _validated
    table = check(estimator, X, reset=reset)
    _check_finite(estimator, table)
    if reset and not _tells_rows_apart(table):
        raise ValueError("All columns of X are constant, so no cut can tell any rows apart.")
    return table


def _validated(estimator: Any, X: Any, *, reset: bool) -> Matrix:
    """Return X as scikit-learn sees it."""
    try:
        table: Matrix = validate_data(
            estimator,
            readable(X),
            reset=reset,
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
            ensure_min_samples=2 if reset else 1,
        )
    except (ValueError, TypeError, OverflowError) as error:
        raise _clearer(error) from None
    return table


def _clearer(error: Exception) -> Exception:
    """Return a refusal by scikit-learn or NumPy in our words where theirs are hard to read."""
    message = str(error)
    if "could not convert string to float" in message:
        return ValueError(
            f"X holds text ({message}); encode such columns as numbers or leave them out."
        )
    if message.startswith("Found array with dim"):  # old versions say it in two sentences
        return ValueError(message.replace(". ", ", but ", 1))
    if "Complex data not supported" in message:
        return ValueError("Complex data not supported: X must hold real numbers.")
    if isinstance(error, OverflowError):
        return ValueError(f"X holds a number that is too large for a float ({message}).")
    if message.startswith("float() argument must be"):
        return TypeError(f"X must be a table of numbers, but {message}.")
    return error


def _check_finite(estimator: Any, table: Matrix) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        # One number tells for nearly every table; a finite sum has only finite terms.
        if np.isfinite(table.sum(dtype=np.float64)):
            return
    finite = np.isfinite(table)
    if not finite.all():
        row, column = (int(at[0]) for at in np.nonzero(~finite))
        names = getattr(estimator, "feature_names_in_", None)
        name = str(column) if names is None else repr(str(names[column]))
        raise ValueError(
            f"X contains NaN or infinity, first in row {row}, column {name}; remove or replace such values."
        )


def _tells_rows_apart(table: Matrix) -> bool:
    """Whether some column is not constant; nearly always the first rows already say so."""
    return any(
        bool(np.any(table[start : start + _ROWS_AT_ONCE] != table[0]))
        for start in range(0, len(table), _ROWS_AT_ONCE)
    )


def column_numbers(estimator: Any) -> Ints:
    """Return the columns that cuts may use, in increasing order."""
    features, n_columns = estimator.features, estimator.n_features_in_
    # KernelIMM takes some words here that say which features it makes, not which columns it uses.
    words = getattr(estimator, "_words_for_features", ())
    if features is None or (isinstance(features, str) and features in words):
        return np.arange(n_columns)
    if isinstance(features, str) or np.ndim(features) != 1 or not len(features):
        raise ValueError(
            f"features={features!r} must be a list of column names or numbers, or None for all."
        )
    names = list(getattr(estimator, "feature_names_in_", ()))
    return np.array(sorted({_column_number(each, names, n_columns) for each in features}))


def _column_number(feature: Any, names: list[str], n_columns: int) -> int:
    if isinstance(feature, str):
        if feature not in names:
            known = ", ".join(map(str, names)) or "none: X has no column names"
            raise ValueError(f"features names the unknown column {feature!r} (known: {known}).")
        return names.index(feature)
    if not is_integer(feature) or not 0 <= feature < n_columns:
        raise ValueError(f"features holds {feature!r}, but X has columns 0 to {n_columns - 1}.")
    return int(feature)
