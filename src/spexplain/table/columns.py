"""Columns of a table: names, kinds of values, columns that a tree may use; data frames of any library."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal, NamedTuple, TypeAlias

import narwhals as nw
import numpy as np

from spexplain.aliases import Array, Bools, Floats, Ints, Matrix
from spexplain.arguments import check_choice, is_integer
from spexplain.exceptions import quoted
from spexplain.messages import one_line
from spexplain.tree import Column, Kind, python_value

FrameKind: TypeAlias = Literal["auto", "pandas", "polars", "records"]
_SETTLED = ("number", "whole", "boolean")  # kinds that depend on the values, too
_KINDS: dict[str, Kind] = {"b": "boolean", "i": "whole", "u": "whole", "M": "date", "m": "duration"}
Series: TypeAlias = Any  # of narwhals, or an array of one dimension
_WIDE = (nw.Int128, nw.UInt128)
# Types whose values are inspected one by one.
_OBJECT_TYPES = (nw.String, nw.Categorical, nw.Enum, nw.Object, nw.Unknown, np.dtype(object))


def kind_of_dtype(dtype: Any) -> Kind:
    """Return the kind of the values of a NumPy type."""
    return _KINDS.get(np.dtype(dtype).kind, "number")


def default_names(n_columns: int) -> tuple[str, ...]:
    """Return default names for columns without names.

    Examples
    --------
    >>> from spexplain.table.columns import default_names
    >>> default_names(3)
    ('x0', 'x1', 'x2')
    """
    return tuple(f"x{column}" for column in range(n_columns))


def names_of(feature_names: Any, n_columns: int) -> tuple[str, ...] | None:
    """Return the names that a caller gave for the columns, as a list or by a vectorizer; None if there are none.

    Examples
    --------
    >>> from spexplain.table.columns import names_of
    >>> names_of(["age", "height"], 2)
    ('age', 'height')
    """
    if feature_names is None:
        return None
    given = feature_names
    if hasattr(given, "transform"):
        if not hasattr(given, "get_feature_names_out"):
            return None  # a hashing vectorizer cannot tell the words
        given = given.get_feature_names_out()
    if isinstance(given, str) or np.ndim(given) != 1:
        raise ValueError(
            f"feature_names={quoted(feature_names)} must be a list of names, or a fitted vectorizer with "
            "get_feature_names_out()."
        )
    names = tuple(map(str, given))
    if len(names) != n_columns:
        raise ValueError(
            f"feature_names has {len(names):,} entries, but X has {n_columns:,} columns."
        )
    return names


def is_text_vectorizer(vectorizer: Any) -> bool:
    """Whether a vectorizer, or a step of a pipeline, makes columns from the words of texts."""
    steps = [step for _, step in getattr(vectorizer, "steps", ())]
    return any(
        hasattr(each, "vocabulary_") and hasattr(each, "build_analyzer")
        for each in (vectorizer, *steps)
    )


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
    places = {name: place for place, name in enumerate(() if names is None else names)}
    return np.array(sorted({_column_number(each, places, n_columns) for each in features}))


def _column_number(feature: Any, places: dict[str, int], n_columns: int) -> int:
    if isinstance(feature, str):
        if feature not in places:
            known = ", ".join(map(str, places)) or "none: X has no column names"
            raise ValueError(f"features names the unknown column {feature!r} (known: {known}).")
        return places[feature]
    if not is_integer(feature) or not 0 <= feature < n_columns:
        raise ValueError(f"features holds {feature!r}, but X has columns 0 to {n_columns - 1}.")
    return int(feature)


def is_frame(X: Any) -> bool:
    """Whether X is a data frame of any library, in memory."""
    # Arrays are recognised first: looking for the methods of a frame takes longer than a small fit.
    return not isinstance(X, np.ndarray) and bool(nw.dependencies.is_into_dataframe(X))


def is_sparse_frame(X: Any) -> bool:
    """Whether a table is a pandas frame whose columns are all sparse, with zero as the fill value."""
    if not nw.dependencies.is_pandas_dataframe(X) or not X.shape[1]:
        return False
    # Frames with missing values as the fill value are read like dense ones.
    return all(getattr(each, "fill_value", None) == 0 for each in X.dtypes)


def column_names(X: Any) -> list[Any]:
    """Return the names of the columns of a data frame, which need not be texts, nor unique.

    Examples
    --------
    >>> import pandas as pd
    >>> from spexplain.table.columns import column_names
    >>> column_names(pd.DataFrame([[1, 2]], columns=["age", "age"]))
    ['age', 'age']
    """
    is_pandas = nw.dependencies.is_pandas_dataframe(X)
    return list(X.columns if is_pandas else nw.from_native(X).columns)


def kinds_of(X: Any) -> Kind | tuple[Kind, ...]:
    """Return the kinds of the columns of a table of numbers as the user brought it: one for all, or each.

    Examples
    --------
    >>> import pandas as pd
    >>> from spexplain.table.columns import kinds_of
    >>> kinds_of(pd.DataFrame({"age": [30, 40], "tall": [True, False], "size": [1.5, 1.2]}))
    ('whole', 'boolean', 'number')
    """
    if is_frame(X) or hasattr(X, "to_dask_array"):
        if nw.dependencies.is_pandas_dataframe(X) and not X.columns.is_unique:
            return "number"  # no other library has a name twice
        schema = nw.from_native(X).collect_schema()
        kinds = {dtype: _kind(dtype) for dtype in set(schema.values())}
        return tuple(kinds[dtype] for dtype in schema.values())
    return kind_of_dtype(getattr(X, "dtype", np.float64))


def _kind(dtype: Any) -> Kind:
    if dtype == nw.Boolean:
        return "boolean"
    if dtype.is_integer():
        return "whole"
    if dtype in (nw.Duration, nw.Time):
        return "duration"
    if dtype.is_temporal():
        return "date"
    is_category = dtype in (nw.String, nw.Categorical, nw.Enum)
    return "category" if is_category else "number"


def holds_numbers(X: Any) -> bool:
    """Whether a data frame holds nothing but numbers and booleans as NumPy knows them."""
    if nw.dependencies.is_pandas_dataframe(X):
        return all(
            getattr(dtype, "kind", "O") in "iufb" and isinstance(dtype, np.dtype)
            for dtype in X.dtypes
        )
    frame = nw.from_native(X)
    plain = all(  # NumPy has no whole numbers of 128 bits
        dtype.is_float() or (dtype.is_integer() and dtype not in _WIDE) or dtype == nw.Boolean
        for dtype in set(frame.schema.values())
    )
    return plain and not any(frame.select(nw.all().null_count()).row(0))


def large_numbers(X: Any) -> list[tuple[int, str, Array]]:
    """Return the columns, with their places and names, that hold whole numbers beyond 2**53, inexact as floats.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain.table.columns import large_numbers
    >>> [(place, name) for place, name, _ in large_numbers(np.array([[1, 2**53 + 1]]))]
    [(1, 'x1')]
    """
    if not is_frame(X):
        is_whole = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "iu"
        if not is_whole or X.dtype.itemsize < 8 or not X.size or not _is_large(X):
            return []
        return [(place, f"x{place}", x) for place, x in enumerate(X.T) if _is_large(x)]
    # Checks the types of all columns at once, as extracting every column as a series is slow.
    if nw.dependencies.is_pandas_dataframe(X):
        types = [str(dtype).lower() for dtype in X.dtypes]
        places = [i for i, dtype in enumerate(types) if dtype.startswith(("int64", "uint64"))]
    else:
        dtypes = nw.from_native(X, eager_only=True).schema.values()
        places = [i for i, dtype in enumerate(dtypes) if dtype in (nw.Int64, nw.UInt64, *_WIDE)]
    found = []
    for place, (name, series) in zip(places, _series_of(X, places), strict=True):
        known = series.drop_nulls()
        known = np.array(known.to_list(), object) if known.dtype in _WIDE else known.to_numpy()
        if len(known) and _is_large(known):
            found.append((place, name, known))
    return found


def _is_large(x: Array) -> bool:
    return int(x.max()) > 2**53 or int(x.min()) < -(2**53)


def encoded(X: Any) -> tuple[Matrix, tuple[Column, ...]]:
    """Return a data frame, or an array of objects, as numbers, with a description of its columns.

    Parameters
    ----------
    X : data frame, or array of shape (n_rows, n_columns)
        Numbers, texts, categories, booleans, dates, durations; missing values of any form.

    Returns
    -------
    values : array of float64, shape (n_rows, n_columns), Fortran order
        Numbers as they are, codes of categories, microseconds of dates; NaN for missing values.
    columns : tuple of Column

    Examples
    --------
    >>> import pandas as pd
    >>> from spexplain.table.columns import encoded
    >>> frame = pd.DataFrame({"channel": ["web", "app", None], "age": [30, 40, 50]})
    >>> values, columns = encoded(frame)
    >>> values.tolist(), columns[0].categories, columns[1].kind
    ([[1.0, 30.0], [0.0, 40.0], [nan, 50.0]], ('app', 'web'), 'whole')
    """
    series = _series_of(X)
    values = np.empty((len(series[0][1]), len(series)), order="F")
    columns = []
    for place, (name, each) in enumerate(series):
        values[:, place], column = encoded_series(each, name)
        columns.append(column)
    return values, tuple(columns)


def encode_rows(X: Any, columns: Sequence[tuple[int, Column]], *, by_name: bool) -> Matrix:
    """Return some columns of new rows, coded as in the training table; categories never seen there are NaN.

    Parameters
    ----------
    X : data frame, or array of shape (n_rows, n_columns)
        The rows.
    columns : sequence of (int, Column)
        Position and description of the columns that are wanted.
    by_name : bool
        Whether columns are found by name; otherwise by position.
    """
    series = _series_of(X, [column.name for _, column in columns] if by_name else None)
    n_rows = len(series[0][1]) if series else len(X)
    values = np.empty((n_rows, len(columns)), order="F")
    known = dict(series) if by_name else {}
    for place, (number, column) in enumerate(columns):
        given = known[column.name] if by_name else series[number][1]
        values[:, place] = _encoded_as(given, column)
    return values


class Cells(NamedTuple):
    """A column of new rows, read as in training; nothing is refused."""

    values: (
        Floats  # NaN where there is no value, or none that could be read, or a category never seen
    )
    is_missing: Bools
    odd: dict[str, int]  # what could not be read or was never seen, with its rows
    kind: Kind | None = None  # what the column holds by its type


def cells_of(X: Any, place: int | str, column: Column) -> Cells:
    """Return a column of new rows, read as in training, and the values that could not be read.

    Parameters
    ----------
    X : data frame, or array of shape (n_rows, n_columns)
        The rows.
    place : int or str
        The column of X: its number, or its name in a data frame.
    column : Column
        The column in training.

    Examples
    --------
    >>> import pandas as pd
    >>> from spexplain.table.columns import cells_of
    >>> from spexplain.tree import Column
    >>> cells = cells_of(pd.DataFrame({"age": ["30", "old", None]}), "age", Column("age"))
    >>> cells.values.tolist(), cells.is_missing.tolist(), cells.odd, cells.kind
    ([30.0, nan, nan], [False, False, True], {'old': 1}, 'category')
    """
    if isinstance(place, str):
        ((_, series),) = _series_of(X, [place])
    elif isinstance(X, np.ndarray):
        series = X[:, place]
    else:
        ((_, series),) = _series_of(X, [place])
    is_array = isinstance(series, np.ndarray)
    kind = kind_of_dtype(series.dtype) if is_array else _kind(series.dtype)
    is_typed = series.dtype not in _OBJECT_TYPES if not is_array else series.dtype.kind in "biufmM"
    if is_typed and column.kind != "category":
        try:
            values = _encoded_as(series, column)
            is_infinite = np.isinf(values)
            odd = {} if not is_infinite.any() else {"inf": int(is_infinite.sum())}
            is_missing_ = np.isnan(values)
            return Cells(np.where(is_infinite, np.nan, values), is_missing_, odd, kind)
        except ValueError:  # for example dates where there were numbers
            pass
    if not is_array and is_typed:
        series = np.array([None if is_missing(each) else each for each in series.to_list()], object)
    different, places = _different(series)
    kind = _kind_of_objects([each for each in different if not is_missing(each)])
    numbers, lacks = np.full(len(different) + 1, np.nan), np.ones(len(different) + 1, dtype=bool)
    odd_places = []
    for at, value in enumerate(different):
        if is_missing(value):
            continue
        lacks[at] = False
        numbers[at] = _number_of(value, column)
        if np.isnan(numbers[at]):
            odd_places.append(at)
    rows = np.bincount(places + 1, minlength=len(different) + 1)[1:]
    odd_counts = {str(different[at]): int(rows[at]) for at in odd_places}
    return Cells(numbers[places], lacks[places], odd_counts, kind)


def _number_of(value: Any, column: Column) -> float:
    """Return the code of a single value in a column of this kind, NaN if there is none."""
    if column.kind == "category":
        return column.code(_plain(value))
    is_time = isinstance(value, date | time | timedelta | np.datetime64 | np.timedelta64)
    try:
        if column.kind in ("date", "duration"):
            found = _moment(value) if column.kind == "date" else _span(value)
        elif is_time:
            return float("nan")
        else:
            found = _flag(value) if column.kind == "boolean" else float(value)
    except (ValueError, TypeError, OverflowError):
        return float("nan")
    return found if np.isfinite(found) else float("nan")


def _series_of(X: Any, chosen: Sequence[str | int] | None = None) -> list[tuple[str, Series]]:
    """Return the columns of X with their names: all, or some by name or place."""
    if not is_frame(X):
        objects = (
            X
            if isinstance(X, np.ndarray) and X.dtype.kind in "OmM"
            else np.asarray(X, dtype=object)
        )
        names: Sequence[Any] = default_names(objects.shape[1])
    else:
        names = column_names(X)
    places: Sequence[int] = range(len(names))
    if chosen is not None:
        place_of = {name: place for place, name in reversed(list(enumerate(names)))}
        places = [each if isinstance(each, int) else place_of[each] for each in chosen]
    if not is_frame(X):
        return [(names[i], objects[:, i]) for i in places]
    if nw.dependencies.is_pandas_dataframe(X):  # names need not be texts, nor differ
        return [(str(names[i]), nw.from_native(X.iloc[:, i], series_only=True)) for i in places]
    frame = nw.from_native(X, eager_only=True)
    # Not by name: polars treats names such as ^a.*$ as patterns.
    return [(names[i], frame[names[i]].alias("")) for i in places]


def encoded_series(series: Series, name: str) -> tuple[Floats, Column]:
    """Return a column as numbers, and what it holds."""
    dtype = series.dtype
    if dtype in _OBJECT_TYPES:
        return _encoded_objects(series, name)
    if not isinstance(series, np.ndarray) and (dtype.is_nested() or dtype == nw.Binary):
        raise _untestable(dtype, name)
    kind = kind_of_dtype(dtype) if isinstance(series, np.ndarray) else _kind(dtype)
    zone = getattr(dtype, "time_zone", None) if kind == "date" else None
    column = Column(
        name, kind, zone=None if zone is None else str(zone), clock=bool(dtype == nw.Time)
    )
    values = _encoded_as(series, column)
    return values, _settled(column, values)


def _untestable(kind: Any, name: str) -> ValueError:
    """Return the error for values that no test can ask for."""
    return ValueError(
        f"X holds values of type {kind} in column {name!r}; a tree tests numbers, texts, booleans, "
        "dates and durations, so make columns of these or leave it out."
    )


def _settled(column: Column, values: Floats) -> Column:
    """Return a column whose kind and missing values are derived from its values."""
    n_known, kind = int(np.count_nonzero(~np.isnan(values))), column.kind
    # Missing values are equal to nothing, so they need not be copied away.
    if kind == "number" and n_known and np.count_nonzero(values == np.floor(values)) == n_known:
        kind = "whole"
    if kind == "whole" and n_known and np.count_nonzero((values == 0) | (values == 1)) == n_known:
        kind = "flag"
    return replace(column, kind=kind, has_missing=n_known < len(values))


def settled_columns(
    columns: Sequence[Column], values: Matrix, used: Iterable[int]
) -> tuple[Column, ...]:
    """Return the columns; the kinds of those in use are derived from their values."""
    found = list(columns)
    for each in used:
        if found[each].kind in _SETTLED:
            found[each] = settled_column(found[each], np.asarray(values[:, each], dtype=np.float64))
    return tuple(found)


def settled_column(column: Column, values: Floats) -> Column:
    """Return a column with the kind that its values have."""
    if column.kind not in _SETTLED:
        return column
    # Floats may be whole by chance; but libraries store whole numbers with missing values as floats.
    if column.kind == "number" and not np.isnan(values).any():
        return replace(column, has_missing=False)
    return _settled(column, values)


def _encoded_as(series: Series, column: Column) -> Floats:
    """Return the values of a series as numbers for a column of this kind."""
    dtype = series.dtype
    if column.kind == "category":
        return _codes(series, column)
    try:
        if isinstance(series, np.ndarray) and dtype.kind in "mM":
            if kind_of_dtype(dtype) != column.kind:
                raise ValueError(f"type {dtype}")
            moments = series.astype(f"{dtype.kind}8[us]")
            return np.where(np.isnat(moments), np.nan, moments.astype(np.int64))
        if column.kind == "date":
            return _microseconds(series, column)
        if column.kind == "duration":
            return _spans(series)
        if column.kind == "boolean" and dtype in _OBJECT_TYPES:
            return _each(series, _flag)
        if not isinstance(series, np.ndarray) and dtype.is_temporal():  # its numbers mean moments
            raise ValueError(f"type {dtype}")
        return _floats(series)
    except (ValueError, TypeError, OverflowError, nw.exceptions.NarwhalsError) as error:
        raise ValueError(
            f"X holds values in column {column.name!r} that are not {_NOUNS[column.kind]} ({one_line(str(error))})."
        ) from None


_NOUNS: dict[Kind, str] = {
    "number": "numbers",
    "whole": "numbers",
    "flag": "numbers",
    "word": "numbers",
    "boolean": "booleans",
    "category": "categories",
    "date": "dates",
    "duration": "durations",
}


def _flag(value: Any) -> float:
    return float({"true": 1, "false": 0, "yes": 1, "no": 0}.get(str(value).lower(), value))


def _floats(series: Series) -> Floats:
    """Return numbers as floats, missing ones as NaN."""
    if isinstance(series, np.ndarray) and series.dtype != object:
        return series.astype(np.float64)
    if series.dtype in _OBJECT_TYPES:
        return _each(series, float)
    if series.dtype in (nw.Int64, nw.UInt64):  # Arrow refuses to cast numbers beyond 2**53
        is_missing_ = series.is_null().to_numpy()
        whole = (series.fill_null(0) if is_missing_.any() else series).to_numpy()
        return np.where(is_missing_, np.nan, whole.astype(np.float64))
    values = series.cast(nw.Float64).to_numpy()
    return np.asarray(values, dtype=np.float64)


def _microseconds(series: Series, column: Column) -> Floats:
    """Return dates as microseconds since 1970, UTC; texts are read as ISO dates."""
    dtype = series.dtype
    if dtype in _OBJECT_TYPES:
        return _each(series, _moment)
    if dtype == nw.Date:
        series = series.cast(nw.Datetime("us"))
        dtype = series.dtype
    if not dtype.is_temporal():
        raise ValueError(f"type {dtype}")
    zone = getattr(dtype, "time_zone", None)
    if (zone is None) != (column.zone is None):
        have, had = ("no", "a") if zone is None else ("a", "no")
        raise ValueError(f"they have {have} time zone, but had {had} time zone in training")
    return _floats(series.dt.timestamp("us"))


def _spans(series: Series) -> Floats:
    """Return durations, or times of a day, in microseconds."""
    dtype = series.dtype
    is_listed = dtype in _OBJECT_TYPES
    if not is_listed and dtype == nw.Time:
        if series.implementation.is_polars():  # nanoseconds since midnight
            return np.floor(_floats(series.cast(nw.Int64())) / 1000)
        is_listed = True
    if is_listed:
        return _each(series, _span)
    if dtype != nw.Duration:
        raise ValueError(f"type {dtype}")
    return _floats(series.dt.total_microseconds())


def _span(value: Any) -> float:
    """Return a duration, or a time of a day, in microseconds."""
    if isinstance(value, time):
        value = datetime.combine(date.min, value) - datetime.min
    if isinstance(value, timedelta):
        return float(value // timedelta(microseconds=1))
    return float(np.timedelta64(value, "us").astype(np.int64))


def _moment(value: Any) -> float:
    """Return a date as microseconds since 1970."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if isinstance(value, datetime) and value.tzinfo is not None:
        return (value - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    return float(np.datetime64(value, "us").astype(np.int64))


def unmasked(given: Any) -> Any:
    """Return a masked array as an array in which masked values are missing, anything else as it is.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain.table.columns import unmasked
    >>> unmasked(np.ma.MaskedArray([1, 2], [False, True])).tolist()
    [1.0, nan]
    """
    if not isinstance(given, np.ma.MaskedArray):
        return given
    if not np.ma.is_masked(given):
        return given.data
    kind = given.dtype.kind
    kept = given.data.astype(
        given.dtype if kind == "f" else np.float64 if kind in "biu" else object
    )
    kept[np.ma.getmaskarray(given)] = np.nan if kind in "biuf" else None
    return kept


def is_missing(value: Any) -> bool:
    """Whether a single value is missing: None, NaN, NaT or pandas' NA."""
    if value is None:
        return True
    try:
        return bool(value != value)  # noqa: PLR0124
    except TypeError:  # pandas' NA has no truth value
        return True
    except ValueError:  # arrays
        return False


def _encoded_objects(series: Series, name: str) -> tuple[Floats, Column]:
    """Return texts, categories or mixed objects as codes; objects of one other type keep their kind."""
    different, places = _different(series)
    only_texts = _are_texts(different)
    known = different if only_texts else [each for each in different if not is_missing(each)]
    for value in () if only_texts else known:
        if isinstance(value, _UNTESTABLE):
            raise _untestable(type(value).__name__, name)
    kind = _kind_of_objects(known)
    # NumPy's `object` type compares equal to any class.
    is_named = not isinstance(series, np.ndarray) and series.dtype in (nw.Categorical, nw.Enum)
    if kind == "number" and is_named:
        kind = "category"  # the user declared these numbers to be names
    if kind != "category":
        zones = {value.tzinfo is not None for value in known if isinstance(value, datetime)}
        if len(zones) == 2:
            raise mixed_zones(name)
        clock = kind == "duration" and all(isinstance(value, time) for value in known)
        column = Column(name, kind, zone="UTC" if zones == {True} else None, clock=clock)
        return (values := _encoded_as(series, column)), _settled(column, values)
    column = Column(name, "category", _categories(series, known))
    if only_texts:  # perhaps every row has a different name
        code = {text: float(at) for at, text in enumerate(column.categories)}
        numbers = np.array([*map(code.__getitem__, different), np.nan])
        codes: Floats = numbers[places]
    else:
        codes = _looked_up(different, places, lambda value: column.code(_plain(value)))
    return codes, replace(column, has_missing=bool(np.isnan(codes).any()))


def mixed_zones(name: str) -> ValueError:
    """Return the error for dates that cannot be compared."""
    return ValueError(
        f"X holds dates with and without a time zone in column {name!r}; give all of them a time zone or none."
    )


def _are_texts(values: list[Any]) -> bool:
    return set(map(type, values)) == {str}


def _kind_of_objects(known: list[Any]) -> Kind:
    """Return the kind of Python objects: booleans, numbers, dates, durations, or categories."""
    if not known:
        return "number"
    for kind, types in _OBJECTS.items():
        if all(isinstance(value, types) for value in known):
            return kind
    return "category"


_UNTESTABLE = (list, tuple, dict, set, frozenset, np.ndarray, complex, np.complexfloating)
_OBJECTS: dict[Kind, Any] = {
    "boolean": bool | np.bool_,
    "number": int | float | Decimal | np.number,
    "date": date | np.datetime64,
    "duration": timedelta | np.timedelta64 | time,
}


def _categories(series: Series, known: list[Any]) -> tuple[Any, ...]:
    """Return the values of a categorical column: in its own order if it has one, else sorted."""
    is_listed = not isinstance(series, np.ndarray) and series.dtype == nw.Enum
    if _are_texts(known) and not is_listed:
        return tuple(sorted(known))
    return ordered_categories(map(_plain, known), series.dtype.categories if is_listed else ())


def ordered_categories(values: Iterable[Any], listed: Iterable[Any] = ()) -> tuple[Any, ...]:
    """Return the distinct values: in the order of the given list, or sorted without one."""
    present = {(isinstance(value, bool), value): value for value in values}  # True is not 1
    order = tuple(map(_plain, listed))
    if order:
        known = set(present.values())
        return tuple(each for each in order if each in known)
    return tuple(sorted(present.values(), key=lambda value: (type(value).__name__, value)))


def _plain(value: Any) -> Any:
    """Return a category as a Python value: text, number or boolean; anything else as its text."""
    value = python_value(value)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return value if isinstance(value, str | int | float | bool) else str(value)


def _codes(series: Series, column: Column) -> Floats:
    """Return the codes of categories, NaN for missing values and those never seen."""
    return _each(series, lambda value: column.code(_plain(value)))


def _each(series: Series, number: Callable[[Any], float]) -> Floats:
    """Return a number for every value of a series, computed once for equal values; NaN for missing ones."""
    return _looked_up(*_different(series), number)


def _looked_up(different: list[Any], places: Ints, number: Callable[[Any], float]) -> Floats:
    numbers = [np.nan if is_missing(value) else number(value) for value in different]
    found: Floats = np.array([*numbers, np.nan], dtype=np.float64)[places]
    return found


def _different(series: Series) -> tuple[list[Any], Ints]:
    """Return the distinct texts, categories or objects, and the position of every row's value among them.

    Missing values are among the distinct values, or their rows have the position -1. Data frame libraries
    find equal texts much faster than Python does.
    """
    if isinstance(series, np.ndarray):
        return _different_objects(list(series))
    native = series.to_native()
    if nw.dependencies.is_polars_series(native) and series.dtype != nw.Object:
        return _different_in_polars(series)
    if nw.dependencies.is_pandas_series(native) and _holds_texts(native):
        places, values = native.factorize()
        return values.tolist(), places
    if nw.dependencies.is_pyarrow_chunked_array(native) and series.dtype != nw.Unknown:
        coded = native.combine_chunks()
        coded = coded if hasattr(coded, "indices") else coded.dictionary_encode()
        return coded.dictionary.to_pylist(), np.asarray(coded.indices.fill_null(-1))
    return _different_objects(series.to_list())


def _different_in_polars(series: Series) -> tuple[list[Any], Ints]:
    if series.dtype == nw.String:
        series = series.cast(nw.Categorical())
    values = series.drop_nulls().unique()
    numbers = values.to_native().to_physical().to_numpy().astype(np.int64)
    n_numbers = int(numbers.max(initial=-1)) + 1
    place = np.full(n_numbers + 1, -1)  # missing values find the last one
    place[numbers] = np.arange(len(numbers))
    physical = series.to_native().to_physical().cast(int).fill_null(n_numbers)
    return values.cast(nw.String()).to_list(), place[physical.to_numpy()]


def _holds_texts(native: Any) -> bool:
    """Whether a series of pandas holds categories or only texts, so that values that compare equal are the same."""
    if native.dtype != object:
        return True
    kind: str = import_module("pandas").api.types.infer_dtype(native, skipna=True)
    return kind == "string"


def _different_objects(given: list[Any]) -> tuple[list[Any], Ints]:
    """Return the distinct Python objects; True, 1 and 1.0 are three."""
    places: dict[Any, int] = {}
    try:
        found = [places.setdefault((type(value), value), len(places)) for value in given]
    except TypeError:  # lists and the like
        return given, np.arange(len(given))
    return [value for _, value in places], np.array(found, dtype=np.int64)


def row_names(X: Any) -> Any:
    """Return the names of the rows of a data frame; None if they are just numbered from 0.

    Examples
    --------
    >>> import pandas as pd
    >>> from spexplain.table.columns import row_names
    >>> row_names(pd.DataFrame({"age": [31, 40]}, index=[7, 9])), row_names(pd.DataFrame({"age": [31, 40]}))
    (array([7, 9]), None)
    """
    index = getattr(X, "index", None)
    if index is None or not nw.dependencies.is_pandas_dataframe(X):
        return None
    names = np.asarray(index)
    if names.ndim != 1 or np.array_equal(names, np.arange(len(names))):
        return None
    return names


def is_short(X: Any) -> bool:
    """Whether X is a data frame that holds only 32-bit floats."""
    if not is_frame(X) or nw.dependencies.is_pandas_dataframe(X):
        return False
    return all(dtype == nw.Float32 for dtype in nw.from_native(X, eager_only=True).schema.values())


def readable(X: Any) -> Any:
    """Return X, or a wrapper whose column names the installed scikit-learn can find."""
    if not nw.dependencies.is_into_dataframe(X) or nw.dependencies.is_pandas_dataframe(X):
        return X
    from sklearn import __version__

    # Up to 1.8, it gets the names of all but pandas frames by a protocol that polars dropped in 2.0.
    asks_by_protocol = tuple(int(part) for part in __version__.split(".")[:2]) < (1, 9)
    return _Named(X) if asks_by_protocol else X


class _Named:
    """The values of a table, with its names in the old protocol."""

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
