"""Tables with columns of every kind, and the same table as every library of data frames has it."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from hypothesis import assume
from hypothesis import strategies as st

Mixed = dict[str, tuple[str, list[Any]]]  # name -> (kind, values), None for missing ones

VALUES: dict[str, list[st.SearchStrategy[Any]]] = {
    "number": [
        st.integers(-9, 9).map(lambda each: each / 4),
        st.floats(-1e6, 1e6, width=32),
        st.sampled_from([0.1, 0.2, 0.3, 1e-300, -1e300, 5e-324, 1.7976931348623157e308]),
    ],
    "whole": [st.integers(-3, 3), st.integers(-(10**9), 10**9), st.just(7)],
    "flag": [st.integers(0, 1)],
    "boolean": [st.booleans()],
    "text": [
        st.sampled_from("ab"),
        st.sampled_from(["web", "app", "shop, old", "", "é", "missing"]),
    ],
    "date": [
        st.integers(-3, 3).map(lambda day: datetime(2020, 1, 15) + timedelta(days=day)),
        st.integers(-(10**9), 10**9).map(lambda s: datetime(1970, 1, 1) + timedelta(seconds=s)),
    ],
    "duration": [st.integers(-100, 100).map(lambda minutes: timedelta(minutes=minutes))],
}
POLARS = {
    "number": pl.Float64, "whole": pl.Int64, "flag": pl.Int8, "boolean": pl.Boolean, "text": pl.String,
    "date": pl.Datetime("us"), "duration": pl.Duration("us"),
}  # fmt: skip
PANDAS = {
    "number": "float64", "whole": "Int64", "flag": "Int8", "boolean": "boolean", "text": object,
    "date": "datetime64[us]", "duration": "timedelta64[us]",
}  # fmt: skip


@st.composite
def mixed_columns(draw: st.DrawFn, n_rows: int, kinds: tuple[str, ...]) -> tuple[str, list[Any]]:
    """A column of some kind, with gaps or without."""
    kind = draw(st.sampled_from(kinds))
    values = draw(st.sampled_from(VALUES[kind]))
    gaps = draw(st.sampled_from([0, 0, 1, 1, 5]))
    drawn = draw(st.lists(values, min_size=n_rows, max_size=n_rows))
    places = draw(st.lists(st.integers(0, n_rows - 1), min_size=gaps, max_size=gaps))
    return kind, [None if place in places else each for place, each in enumerate(drawn)]


@st.composite
def mixed_tables(
    draw: st.DrawFn,
    *,
    kinds: tuple[str, ...] = tuple(VALUES),
    min_rows: int = 4,
    max_rows: int = 16,
    max_columns: int = 4,
) -> Mixed:
    """Tables in which not all columns are constant; too short for row numbers to be looked for."""
    n_rows = draw(st.integers(min_rows, max_rows))
    columns = draw(st.lists(mixed_columns(n_rows, kinds), min_size=1, max_size=max_columns))
    assume(any(len(set(values)) > 1 for _, values in columns))
    return {f"c{number}": each for number, each in enumerate(columns)}


def to_polars(table: Mixed) -> pl.DataFrame:
    """The table as polars has it."""
    return pl.DataFrame(
        {name: pl.Series(values, dtype=POLARS[kind]) for name, (kind, values) in table.items()}
    )


def to_pandas(table: Mixed) -> pd.DataFrame:
    """The table as pandas has it."""
    return pd.DataFrame(
        {name: pd.Series(values, dtype=PANDAS[kind]) for name, (kind, values) in table.items()}
    )


def to_objects(table: Mixed) -> np.ndarray:
    """The table as an array of Python objects."""
    rows = np.empty((n_rows(table), len(table)), dtype=object)
    for place, (_, values) in enumerate(table.values()):
        rows[:, place] = values
    return rows


LIBRARIES: dict[str, Callable[[Mixed], Any]] = {
    "polars": to_polars,
    "pandas": to_pandas,
    "arrow": lambda table: to_polars(table).to_arrow(),
    "pandas of objects": lambda table: pd.DataFrame(to_objects(table), columns=list(table)),
    "array of objects": to_objects,
}


def n_rows(table: Mixed) -> int:
    """The number of rows."""
    return len(next(iter(table.values()))[1])
