"""Checks of arguments, with the same error messages everywhere."""

from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from spexplain.aliases import Floats


def is_integer(value: Any) -> bool:
    """Whether a value is a whole number, booleans excepted."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def check_integer(name: str, value: Any, least: int = 1) -> int:
    """Return an argument that must be an integer of at least `least`."""
    if not is_integer(value) or value < least:
        raise ValueError(f"{name}={value!r} must be an integer of at least {least}.")
    return int(value)


def check_flag(name: str, value: Any) -> None:
    """Refuse an argument that is neither True nor False.

    Examples
    --------
    >>> from spexplain.arguments import check_flag
    >>> check_flag("keep_clusters", "no")
    Traceback (most recent call last):
        ...
    ValueError: keep_clusters='no' must be True or False.
    """
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name}={value!r} must be True or False.")


def check_number(name: str, value: Any) -> float:
    """Return an argument that must be a finite number of at least 0."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not 0 <= float(value) < np.inf:
        raise ValueError(f"{name}={value!r} must be a finite number of at least 0.")
    return float(value)


def check_choice(name: str, value: Any, choices: Iterable[str]) -> None:
    """Refuse an argument that is not one of the given words.

    Examples
    --------
    >>> from spexplain.arguments import check_choice
    >>> check_choice("noise", "drop", ("ignore", "cluster"))
    Traceback (most recent call last):
        ...
    ValueError: noise='drop' must be "ignore" or "cluster".
    """
    known = tuple(choices)
    if not isinstance(value, str) or value not in known:
        *others, last = (f'"{choice}"' for choice in known)
        listed = f"{', '.join(others)} or {last}" if others else last
        raise ValueError(f"{name}={value!r} must be {listed}.")


def check_centers(centers: Any, n_features: int) -> Floats:
    """Return the argument `centers` as a table with the columns of X."""
    try:
        checked = np.asarray(centers, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("centers must be a table of numbers, one row per centre.") from None
    if checked.ndim != 2 or not len(checked) or checked.shape[1] != n_features:
        raise ValueError(
            f"centers must have one row per centre and the {n_features} columns of X, got shape {checked.shape}."
        )
    if not np.isfinite(checked).all():
        raise ValueError("centers contains NaN or infinity; all entries must be finite.")
    return checked


def check_weights(weights: Any, n_rows: int, name: str = "sample_weight") -> Floats | None:
    """Return the weights of rows as floats; None if all are one, as without weights."""
    if weights is None:
        return None
    try:
        checked = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must hold one number per row of X.") from None
    if np.ma.is_masked(weights):
        raise ValueError(
            f"{name} has masked values; every row needs a weight, of 0 if it must not count."
        )
    if checked.ndim == 2 and checked.shape[1] == 1:
        checked = checked[:, 0]
    if checked.shape != (n_rows,):
        raise ValueError(
            f"{name} must hold one number for each of the {n_rows} rows of X, got shape {checked.shape}."
        )
    if not np.isfinite(checked).all() or checked.min() < 0:
        raise ValueError(f"{name} must hold finite numbers of at least 0.")
    with np.errstate(over="ignore"):
        if not np.isfinite(checked.sum()):
            raise ValueError(
                f"{name} adds up to more than a float can hold; divide it by a number."
            )
    if not checked.any():
        raise ValueError(f"{name} is zero for all rows; some row must count.")
    return None if np.all(checked == 1.0) else checked


def check_texts(texts: Sequence[Any], n_rows: int) -> None:
    """Refuse texts unless there is one per row.

    Examples
    --------
    >>> from spexplain.arguments import check_texts
    >>> check_texts(["a", "b"], 3)
    Traceback (most recent call last):
    ...
    ValueError: texts has 2 entries, but there are 3 rows; pass one text per row, in their order.
    """
    if len(texts) != n_rows:
        raise ValueError(
            f"texts has {len(texts):,} entries, but there are {n_rows:,} rows; pass one text per row, in their order."
        )
