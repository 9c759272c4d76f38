"""Tables that lie on a GPU: what estimators do with CuPy arrays, and when they copy them to the host.

CuPy is never loaded here: a table that is a CuPy array has done so.
"""

import sys
from typing import Any

import numpy as np

from spexplain.aliases import Array, Floats, Ints, Matrix
from spexplain.facts import feature_scales
from spexplain.graphs.device import is_on_device
from spexplain.table.partitions import (
    is_partitioned,
    lazy_leaf_ids,
    lazy_scales,
    look_up,
    refuse_reference,
)
from spexplain.tree import Tree

__all__ = ["check_device_table", "is_on_device", "leaf_ids", "on_host", "scales_of", "table_for"]


def on_host(array: Any) -> Any:
    """Return an array, or anything else, with CuPy arrays copied to NumPy."""
    return array.get() if is_on_device(array) else array


def table_for(estimator: Any, X: Any, given: dict[str, Any], *, needs_rows: bool) -> Any:
    """Return the table for an estimator's reference: on the host if the rows themselves are needed."""
    if is_partitioned(X) and needs_rows and given.get("centers") is None:
        refuse_reference(estimator)
    if not is_on_device(X):
        return X
    wants_centers = "centers" in given and given["centers"] is None
    if not needs_rows and not wants_centers:
        return X
    _say(estimator, "the reference is computed on a copy of X on the host")
    return on_host(X)


def check_device_table(estimator: Any, X: Any, *, reset: bool) -> Matrix:
    """Return a CuPy table as float matrix, checked where it is; on the host for methods that need it there."""
    if X.ndim != 2:
        raise ValueError(f"X must be a table of two dimensions, got an array of shape {X.shape}.")
    if X.dtype.kind not in "buif":
        raise ValueError(f"X must hold real numbers, got dtype {X.dtype}.")
    if X.shape[0] < (2 if reset else 1) or X.shape[1] < 1:
        least = 2 if reset else 1
        raise ValueError(
            f"Found array with {X.shape[0]} sample(s) and {X.shape[1]} feature(s) (shape={X.shape}) while a "
            f"minimum of {least} is required."
        )
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    if reset:
        estimator.n_features_in_ = X.shape[1]
        estimator.__dict__.pop("feature_names_in_", None)
    elif X.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )
    if not reset or _stays_on_device(estimator):
        return X  # type: ignore[no-any-return]
    _say(estimator, "this method or engine works on a copy of X on the host")
    return on_host(X)  # type: ignore[no-any-return]


def _stays_on_device(estimator: Any) -> bool:
    """Whether the method, with the engine and options that were asked for, works on the device."""
    known = "cupy" in estimator._beyond
    return known and estimator.engine not in ("numpy", "histogram") and estimator.refine is None


def _say(estimator: Any, what: str) -> None:
    if getattr(estimator, "verbose", 0):
        print(f"[{type(estimator).__name__}] {what}", file=sys.stderr, flush=True)


def leaf_ids(tree: Tree, X: Any) -> Any:
    """Return the leaf id of every row, where the rows are."""
    if is_partitioned(X):
        return lazy_leaf_ids(tree, X)
    if not is_on_device(X):
        return tree.apply(X)
    from spexplain.table.device_rows import route

    return route(tree, X)


def labels_of(values: Array, leaves: Any) -> Any:
    """Return the label of every row's leaf: on the device for rows there, if labels are numbers."""
    if not is_on_device(leaves):
        return look_up(values, leaves)
    if values.dtype.kind not in "buif":  # the device holds nothing else
        return values[on_host(leaves)]
    import cupy

    return cupy.asarray(values)[leaves]


def group_sums(X: Any, origin: Floats, groups: Ints, n_groups: int) -> tuple[Floats, Floats]:
    """Return the sums of rows and of squared lengths of every group of a device table."""
    from spexplain.table.device_rows import group_sums as on_device

    return on_device(X, origin, groups, n_groups)


def scales_of(X: Any, features: Ints) -> Floats:
    """Return the standard deviations of some columns; NaN elsewhere."""
    if is_partitioned(X):
        return lazy_scales(X, features)
    if not is_on_device(X):
        return feature_scales(X, features)
    scales = np.full(X.shape[1], np.nan)
    for feature in np.unique(features).tolist():
        column = X[:, feature].astype(np.float64)
        scales[feature] = 0.0 if bool((column == column[0]).all()) else float(column.std())
    return scales
