"""The only entry for tables: whatever a user passes becomes a table, checked once; errors are one sentence."""

import logging
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from typing import Any

import narwhals as nw
import numpy as np

from spexplain.aliases import Matrix
from spexplain.exceptions import ColumnWarning, warn_caller
from spexplain.table.base import Rows, Table
from spexplain.table.checks import (
    check_finite,
    check_length,
    check_shape,
    check_tells_apart,
    first_flaw,
    refuse_flaw,
    rows_differ,
)
from spexplain.table.columns import (
    cells_of,
    column_names,
    encode_rows,
    encoded,
    holds_numbers,
    is_frame,
    is_short,
    is_sparse_frame,
    kinds_of,
    large_numbers,
    readable,
    unmasked,
)
from spexplain.table.device import DeviceTable
from spexplain.table.host import HostTable, TestedRows
from spexplain.table.sparse import (
    SparseTable,
    canonical,
    check_entries,
    densified,
    entries_differ,
    float_entries,
    kinds_of_entries,
)
from spexplain.table.storage import is_collection, is_on_device, is_sparse, on_host
from spexplain.tree import Column

_log = logging.getLogger("spexplain")


def read_table(X: Any, estimator: Any) -> Table:
    """Return X as the training table of an estimator.

    Texts, categories, booleans and dates become numbers; missing values become NaN, unless the
    estimator refuses them. Refuses infinite values, and a table whose rows are all equal. Sets
    `n_features_in_` and `feature_names_in_`. Later edits of X do not reach the table unnoticed.

    Parameters
    ----------
    X : array or data frame of shape (n_samples, n_features)
        The table: NumPy, lists, any data frame, CuPy, or a Dask collection; or a table that was read before,
        for methods that are fitted again to some of its rows.
    estimator : Explainer
        The estimator; it decides whether values can stay on a device.
    """
    X = checked_type(X)
    estimator.__dict__.pop("_column_order", None)
    if isinstance(X, Table):
        _remember_width(estimator, X.shape[1])
        if X.names is not None:
            estimator.feature_names_in_ = np.array(X.names, dtype=object)
        return X
    if is_collection(X):
        # The workers check the values, in the first pass.
        return _read_collection(X, estimator)
    if is_on_device(X):
        check_shape(X, least_rows=2)
        _remember_width(estimator, X.shape[1])
        if _works_on_device(estimator):
            device = DeviceTable(_floats(X), kinds_of(X))
            seen = check_finite(device.values, allow_missing=_allows_missing(estimator))
            if seen.has_missing:
                device = replace(device, described=_with_missing(device))
            check_tells_apart(rows_differ(device.values))
            return device.kept() if device.values is X else device
        _log.info("[%s] works on a copy of X on the host", type(estimator).__name__)
        X = on_host(X)
    if is_sparse(X) or is_sparse_frame(X):
        return _read_entries(X, estimator)
    if is_frame(X):
        _check_frame(X)
        if not _has_names(X):
            estimator._column_order = tuple(column_names(X))
    _warn_of_merged_numbers(X)
    if holds_objects(X):
        return _read_objects(X, estimator)
    values = _as_matrix(X, estimator, reset=True)
    names = _names(estimator)
    # Arrays converted from lists or other number types are not shared with the caller.
    is_shared = values is X or not values.flags.owndata
    table = HostTable(values, names, kinds_of(X))
    watched = is_shared and not table.is_small
    allow = _allows_missing(estimator)
    seen = check_finite(
        values,
        names,
        watched=watched,
        allow_missing=allow,
        n_jobs=getattr(estimator, "n_jobs", None),
    )
    check_tells_apart(rows_differ(values))
    if seen.has_missing:
        table = replace(table, surveyed=seen.known)
        table = replace(table, described=_with_missing(table))
    return table.kept(seen.checksum) if is_shared else table


def checked_type(X: Any) -> Any:
    """Return X, masked values as missing; refuse what NumPy would misread, or refuse in words hard to read."""
    X = unmasked(X)
    if isinstance(X, Mapping) and not is_sparse(X):  # sparse tables of keys are mappings
        raise TypeError("X is a dict; pass a data frame of it, such as pandas.DataFrame(X).")
    if nw.dependencies.is_polars_lazyframe(X):
        raise TypeError("X is a LazyFrame, whose rows are not computed yet; pass X.collect().")
    if getattr(getattr(X, "dtype", None), "names", None) is not None:
        raise TypeError(
            "X is a structured array; pass a data frame of it, such as pandas.DataFrame(X)."
        )
    if isinstance(X, str | PathLike):
        raise TypeError(
            "X is a text or a path; read the file and pass its table, such as pandas.read_csv(X)."
        )
    if nw.dependencies.is_pyarrow_table(X):
        _check_unique(X.column_names)  # narwhals reads no table of Arrow that has a name twice
    return X


def _check_frame(X: Any) -> None:
    """Refuse a data frame without columns, or with names that scikit-learn does not accept, in one sentence."""
    if not X.shape[1]:
        check_length(X.shape[0], 0, least_rows=2)
    names = column_names(X)
    if len({isinstance(name, str) for name in names}) == 2:
        raise TypeError(
            "X has some column names that are texts and some that are not; make all of them texts, for example by "
            "X.columns = X.columns.astype(str)."
        )
    _check_unique(names)


def _check_unique(names: list[Any]) -> None:
    """Refuse columns of the same name."""
    for name, count in Counter(names).most_common(1):
        if count > 1:
            raise ValueError(
                f"X has more than one column {name!r}; give every column a name of its own."
            )


def _warn_of_merged_numbers(X: Any) -> None:
    """Warn of columns with different whole numbers that become equal as floats."""
    for _, name, x in large_numbers(X):
        if len(np.unique(x)) > len(np.unique(x.astype(np.float64))):
            warn_caller(
                f"Column {name!r} holds whole numbers beyond 2**53 of which neighbours count as equal; pass them as "
                "texts, or subtract a constant, to tell them apart.",
                ColumnWarning,
            )


def _warn_of_rounded_numbers(X: Any, model: Any) -> None:
    """Warn of tested columns of new rows with whole numbers that change as floats."""
    used, fields = model.explanation_.used, model.explanation_.fields
    by_name = _has_names(X) and _names(model) is not None
    tested = {fields[each].name if by_name else each for each in used}
    for place, name, x in large_numbers(X):
        if (name if by_name else place) in tested and np.any(
            x.astype(np.float64).astype(x.dtype) != x
        ):
            warn_caller(
                f"Column {name!r} holds whole numbers beyond 2**53, which are rounded to floats: rows that differ "
                "only in the last digits go the same way; pass such numbers as texts, or subtract a constant, in fit "
                "and in predict.",
                ColumnWarning,
            )


def _with_missing(table: Table) -> tuple[Column, ...]:
    """Return the columns of a table in which values are missing."""
    if isinstance(table, HostTable):
        missing = table.survey.n_known < len(table)
    else:
        missing = on_host(np.isnan(table.values).any(axis=0))
    return tuple(
        # `replace` takes several times as long, and columns may be many.
        Column(column.name, column.kind, column.categories, column.zone, True) if each else column
        for column, each in zip(table.columns, missing.tolist(), strict=True)
    )


def _read_objects(X: Any, estimator: Any) -> HostTable:
    """Return a table of texts, categories, dates and other objects as numbers."""
    from sklearn.utils.validation import validate_data

    validate_data(estimator, readable(X), reset=True, skip_check_array=True)
    n_rows, n_columns = np.shape(X)
    check_length(n_rows, n_columns, least_rows=2)
    values, described = encoded(X)
    names = _names(estimator)
    flaw = first_flaw(values, allow_missing=_allows_missing(estimator))
    refuse_flaw(
        flaw, [column.name for column in described], 0, allow_missing=_allows_missing(estimator)
    )
    check_tells_apart(rows_differ(values))
    return HostTable(values, names, described=described)


def _allows_missing(estimator: Any) -> bool:
    return bool(getattr(estimator, "missing", "allow") == "allow")


def read_rows(X: Any, model: Any, *, whole: bool = False) -> Rows:
    """Return X as rows with the columns that a fitted model tests.

    Columns of a data frame are taken by name if the model knows names, in any order; columns that no test
    uses may be absent. Anything but a data frame must have all columns, in their order.

    Parameters
    ----------
    X : array or data frame of shape (n_rows, n_features)
        The rows: NumPy, lists, any data frame, CuPy, or a Dask collection, which stays lazy.
    model : FittedModel
        The model, which knows the columns that X must have.
    whole : bool, default=False
        Whether to take columns of a data frame that no test uses, too, if it has them.
    """
    X = checked_type(X)
    if is_collection(X):
        return _lazy_rows(X, model)
    if is_on_device(X):
        return _device_rows(X, model)
    if is_frame(X):
        _check_order(X, model)
    if is_sparse_frame(X) and not (_has_names(X) and _names(model) is not None):
        X = X.sparse.to_coo()
    if is_sparse(X):
        return _read_sparse_rows(X, model)
    explanation = model.explanation_
    used, fields = explanation.used, explanation.fields
    _warn_of_rounded_numbers(X, model)
    if _has_names(X) and _names(model) is not None:
        _check_names(X, [fields[each].name for each in used])
        counts = Counter(column_names(X))
        known = [each for each, column in enumerate(fields) if counts[column.name] == 1]
        read = known if whole else used
        values = encode_rows(X, [(each, fields[each]) for each in read], by_name=True)
    elif holds_objects(X) or explanation.has_objects:
        _check_width(X, model)
        read = list(range(len(fields))) if whole else used
        values = encode_rows(X, [(each, fields[each]) for each in read], by_name=False)
    else:
        matrix = _as_matrix(X, model, reset=False)
        _check_tested(matrix[:, used], model)
        return HostTable(matrix)
    check_length(len(values), max(1, len(read)), _least_rows(model))
    _check_tested(values[:, [read.index(each) for each in used]], model)
    return TestedRows(values, tuple(read), len(fields))


def unseen_categories(X: Any, model: Any) -> dict[int, str]:
    """Return the values of a single row that no training row had, by the number of the tested column.

    Parameters
    ----------
    X : array or data frame of shape (1, n_features)
        The row, as `read_rows` takes it.
    model : FittedModel
        The model, which knows the categories of its columns.
    """
    if is_collection(X) or is_on_device(X) or is_sparse(X):  # hold no categories
        return {}
    explanation = model.explanation_
    by_name = _has_names(X) and _names(model) is not None
    found: dict[int, str] = {}
    for each in explanation.used:
        column = explanation.fields[each]
        if column.kind == "category":
            for value in cells_of(X, column.name if by_name else each, column).odd:
                found[each] = value
    return found


def _lazy_rows(X: Any, model: Any) -> Rows:
    """Return the rows of a Dask collection."""
    from spexplain.table.partitioned import LazyRows

    check_shape(X, least_rows=1)
    explanation = model.explanation_
    used, fields = explanation.used, explanation.fields
    is_frame_ = hasattr(X, "columns")
    by_name = is_frame_ and _names(model) is not None and _has_text_names(X)
    if by_name:
        _check_names(X, [fields[each].name for each in used])
    else:
        _check_columns(X, model)
    return LazyRows(
        X,
        [(each, fields[each]) for each in used],
        by_name=by_name,
        as_objects=is_frame_ or explanation.has_objects,
        allow_missing=_allows_missing(model),
    )


def _device_rows(X: Any, model: Any) -> Rows:
    """Return the rows of a CuPy array."""
    check_shape(X, least_rows=1)
    _check_columns(X, model)
    explanation = model.explanation_
    used, fields = explanation.used, explanation.fields
    for each in used:
        if fields[each].kind in ("category", "date", "duration"):
            raise ValueError(
                f"X is a CuPy array, but the tree tests the {fields[each].kind} {fields[each].name!r}; pass a "
                "data frame."
            )
    rows = DeviceTable(_floats(X))
    if used:
        names = [fields[each].name for each in used]
        check_finite(rows.values[:, used], names, allow_missing=_allows_missing(model))
    return rows


def _check_tested(values: Matrix, model: Any) -> None:
    """Refuse infinite values in tested columns and, if the model was told so, missing ones."""
    explanation = model.explanation_
    names = [explanation.fields[each].name for each in explanation.used]
    if not names:  # a tree of one leaf
        return
    check_finite(values, names, allow_missing=_allows_missing(model))


def _has_names(X: Any) -> bool:
    return is_frame(X) and all(isinstance(name, str) for name in column_names(X))


def _has_text_names(X: Any) -> bool:
    return all(isinstance(name, str) for name in X.columns)


def _check_order(X: Any, model: Any) -> None:
    """Refuse a data frame with the names of the training table in another order, if names are no texts.

    Columns are found by name only if all names are texts, as in scikit-learn, and by their place otherwise.
    """
    known = vars(model).get("_column_order", model.explanation_.columns)
    if known is None or all(isinstance(name, str) for name in known):
        return
    names = tuple(column_names(X))
    if names != tuple(known) and Counter(names) == Counter(known):
        raise ValueError(
            "X has the columns of the training table in another order, and their names are not texts, so they "
            "are found by position; put them into the order of the training table."
        )


def _check_names(X: Any, wanted: list[str]) -> None:
    """Refuse a data frame without a column that the tree tests, or with two of that name."""
    counts = Counter(column_names(X))
    absent = [name for name in wanted if not counts[name]]
    if absent:
        raise ValueError(
            f"X lacks the column{'s' * (len(absent) > 1)} {', '.join(map(repr, absent))}, which the tree tests."
        )
    for name in wanted:
        if counts[name] > 1:
            raise ValueError(f"X has more than one column {name!r}, which the tree tests.")


def _check_width(X: Any, model: Any) -> None:
    shape = np.shape(X)
    if len(shape) != 2:
        raise ValueError(f"X must be a table of two dimensions, got {len(shape)}.")
    if shape[1] != model.n_features_in_:
        raise ValueError(
            f"X has {shape[1]} features, but {type(model).__name__} is expecting "
            f"{model.n_features_in_} features as input."
        )
    check_length(shape[0], shape[1], _least_rows(model))


def _least_rows(model: Any) -> int:
    """Return the least number of rows: one for scikit-learn estimators, none for a model from a file."""
    return int(_is_estimator(model))


def _is_estimator(model: Any) -> bool:
    """Whether a model is a scikit-learn estimator; models from a file work without importing scikit-learn."""
    base = sys.modules.get("sklearn.base")
    return base is not None and isinstance(model, base.BaseEstimator)


def holds_objects(X: Any) -> bool:
    """Whether X holds more than numbers: texts, categories, dates, or missing values that are not NaN."""
    if is_frame(X):
        return not holds_numbers(X)
    if isinstance(X, list | tuple):
        X = _as_array(X)
    return isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "OUSmM"


def _as_array(X: Any) -> Any:
    try:
        return np.asarray(X)
    except (ValueError, TypeError):  # ragged lists, for which scikit-learn raises an error
        return None


def _read_entries(X: Any, estimator: Any) -> Table:
    """Return a sparse matrix or frame as it is, or made dense if the method needs that."""
    if is_sparse(X):
        _remember_width(estimator, X.shape[1])
        given = X
    else:
        from sklearn.utils.validation import validate_data

        validate_data(estimator, X, reset=True, skip_check_array=True)
        given = X.sparse.to_coo()
    check_shape(given, least_rows=2)
    values, names, kinds = canonical(float_entries(given)), _names(estimator), kinds_of_entries(X)
    has_missing = check_entries(values, names, allow_missing=_allows_missing(estimator))
    check_tells_apart(entries_differ(values))
    if estimator._takes_entries and not has_missing:
        return SparseTable(values, names, kinds)
    method = "A sparse X with missing values" if has_missing else type(estimator).__name__
    instead = "take fewer rows or columns, or SpexClique or CART, which work on sparse tables"
    table = HostTable(densified(values, method, instead), names, kinds)
    return replace(table, described=_with_missing(table)) if has_missing else table


def _read_sparse_rows(X: Any, model: Any) -> SparseTable:
    """Return a sparse matrix as rows with the columns of a model; only tested columns are checked."""
    check_shape(X, least_rows=1)
    _check_width(X, model)
    explanation, entries = model.explanation_, float_entries(X)
    names = [explanation.fields[each].name for each in explanation.used]
    tested = entries[:, explanation.used]
    check_entries(tested, names, allow_missing=_allows_missing(model))
    return SparseTable(entries)


def _names(estimator: Any) -> tuple[str, ...] | None:
    known = getattr(estimator, "feature_names_in_", None)
    names = vars(estimator).get("_given_names", known)
    return None if names is None else tuple(map(str, names))


def _floats(X: Any) -> Any:
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


def _remember_width(estimator: Any, n_columns: int) -> None:
    """Set the attributes that scikit-learn expects for a table without column names."""
    estimator.n_features_in_ = n_columns
    estimator.__dict__.pop("feature_names_in_", None)


def _is_matrix(X: Any) -> bool:
    """Whether scikit-learn's conversion, which is slow compared with a small fit, would change nothing."""
    if type(X) is not np.ndarray or X.ndim != 2 or X.dtype not in (np.float32, np.float64):
        return False
    return bool(X.shape[0] > 1 and X.shape[1] > 0)


def _as_matrix(X: Any, estimator: Any, *, reset: bool) -> Matrix:
    """Return X as scikit-learn reads it: a matrix of floats, with the names and number of columns checked."""
    if not _is_estimator(estimator):
        return _plain_matrix(X, estimator)
    if reset and _is_matrix(X):
        _remember_width(estimator, X.shape[1])
        return X  # type: ignore[no-any-return]
    from sklearn.utils.validation import validate_data

    try:
        matrix: Matrix = validate_data(
            estimator,
            readable(X),
            reset=reset,
            # scikit-learn converts frames other than pandas' to the first type.
            dtype=[np.float32, np.float64] if is_short(X) else [np.float64, np.float32],
            ensure_all_finite=False,
            ensure_min_samples=2 if reset else 1,
        )
    except (ValueError, TypeError, OverflowError) as error:
        raise _clearer(error) from None
    return matrix


def _plain_matrix(X: Any, model: Any) -> Matrix:
    """Return rows for a model that was read from a file, which scikit-learn does not know."""
    if hasattr(X, "toarray"):
        raise ValueError("X is a sparse matrix; pass X.toarray().")
    try:
        table: Matrix = np.asarray(X)
        if table.dtype.kind in "cmMV":
            raise ValueError(f"X holds values of type {table.dtype}; it must hold real numbers.")
        if table.dtype not in (np.float32, np.float64):
            table = table.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        if str(error).startswith("X holds"):
            raise
        raise ValueError(f"X must be a table of numbers ({error}).") from None
    _check_width(table, model)
    return table


def _clearer(error: Exception) -> Exception:
    """Return an error of scikit-learn or NumPy in our words if theirs are hard to read."""
    message = str(error)
    if "could not convert string to float" in message:
        return ValueError(
            f"X holds text ({message}); encode such columns as numbers or leave them out."
        )
    if message.startswith("Found array with dim"):  # old versions use two sentences
        return ValueError(message.replace(". ", ", but ", 1))
    if "Complex data not supported" in message:
        return ValueError("Complex data not supported: X must hold real numbers.")
    if isinstance(error, OverflowError):
        return ValueError(f"X holds a number that is too large for a float ({message}).")
    if message.startswith("float() argument must be"):
        return TypeError(f"X must be a table of numbers, but {message}.")
    return error


def _check_columns(X: Any, estimator: Any) -> None:
    """Refuse columns other than those of the training table, where scikit-learn does not check them."""
    if X.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )
    known = getattr(estimator, "feature_names_in_", None)
    if known is not None and hasattr(X, "columns") and list(X.columns) != list(known):
        raise ValueError(
            "The feature names should match those that were passed during fit, in the same order."
        )


def _works_on_device(estimator: Any) -> bool:
    """Whether the method, with the given engine and options, works on the device."""
    known = "cupy" in estimator._remote_engines
    on_host_only = estimator.engine in ("numpy", "histogram") or estimator.refine is not None
    needs_host = estimator.engine == "auto" and getattr(estimator, "_needs_host", False)
    return known and not on_host_only and not needs_host


def _read_collection(X: Any, estimator: Any) -> Table:
    """Return a Dask collection in bins, which the workers keep."""
    check_shape(X, least_rows=2)
    _check_method(estimator)
    from spexplain.table.partitioned import PartitionedTable

    table = PartitionedTable.of(
        X,
        max_bins=getattr(estimator.engine, "max_bins", 255),
        allow_missing=_allows_missing(estimator),
    )
    check_length(*table.shape, least_rows=2)
    check_tells_apart(table.differs)
    estimator.n_features_in_ = table.shape[1]
    estimator.__dict__.pop("feature_names_in_", None)
    if table.names is not None:
        estimator.feature_names_in_ = np.array(table.names, dtype=object)
    return table


def _check_method(estimator: Any) -> None:
    """Refuse methods and options that need the whole table in memory."""
    name, engine = type(estimator).__name__, estimator.engine
    if "dask" not in estimator._remote_engines:
        raise ValueError(
            f"{name} needs the whole table in memory; pass X.compute(), or a sample of the rows, as X."
        )
    if isinstance(engine, str) and engine not in ("auto", "dask"):
        raise ValueError(
            f'engine={engine!r} works on tables in memory, but X is a Dask collection; use engine="dask" or '
            "pass X.compute()."
        )
    graph = getattr(estimator, "graph", "none is needed")
    if graph is None or callable(graph) or hasattr(graph, "fit_transform"):
        raise ValueError(
            f"graph={graph!r} would be computed from the whole table in memory, but X is a Dask "
            "collection; pass an adjacency of its rows as graph."
        )
    for option in ("refine", "round_to"):
        value = getattr(estimator, option)
        if value is not None:
            raise ValueError(
                f"{option}={value!r} needs the whole table in memory; pass X.compute(), or use {option}=None."
            )
