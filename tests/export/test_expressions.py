"""Expressions of polars and PySpark, executed: they label rows of every kind as `predict` does."""

import os
import shutil
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from export.kinds import NAN, samples
from export.test_kinds import clusters, customers
from refusals import refused
from spexplain import CART
from spexplain.explanation import Explanation
from spexplain.export import to_polars, to_pyspark
from spexplain.tree import Column, Tree

# What a column may be in polars, from the type that holds most to types that hold some.
NUMBERS = (pl.Float64, pl.Float32, pl.Int64, pl.Int16, pl.UInt8)


def dtypes_of(column: Column, values: list) -> list:
    """Types of polars in which all values of a column can be."""
    known = [each for each in values if each is not None]
    if column.kind == "category":
        first = column.categories[0]
        if isinstance(first, str):
            return [pl.String, pl.Categorical]
        return [pl.Boolean] if isinstance(first, bool) else [pl.Float64]
    if column.kind == "date":
        zone = None if column.zone is None else "UTC" if column.zone[0] in "+-" else column.zone
        whole = all(each.microsecond % 1000 == 0 for each in known)
        near = all(abs(each.year - 1970) < 200 for each in known)
        is_day = zone is None and all(
            each == each.replace(hour=0, minute=0, second=0, microsecond=0) for each in known
        )
        units = ["us", *(["ms"] * whole), *(["ns"] * near)]
        return [*(pl.Datetime(unit, zone) for unit in units), *([pl.Date] * is_day)]
    if column.kind == "duration":
        whole = all(each % timedelta(milliseconds=1) == timedelta(0) for each in known)
        near = all(abs(each) < timedelta(days=70_000) for each in known)
        return [pl.Duration(unit) for unit in ["us", *(["ms"] * whole), *(["ns"] * near)]]
    if column.kind == "boolean":
        return [pl.Boolean, pl.Float64]
    numbers = [each for each in known if not np.isnan(each)]
    fits = [pl.Float64]
    with np.errstate(over="ignore"):
        if all(float(np.float32(each)) == each for each in numbers):
            fits.append(pl.Float32)
    if len(numbers) == len(known) and all(each == int(each) for each in numbers):
        fits += [pl.Int64] if all(abs(each) < 2**62 for each in numbers) else []
        fits += [pl.UInt8] if all(0 <= each < 256 for each in numbers) else []
    return fits


def series_of(name: str, column: Column, values: list, dtype) -> pl.Series:
    if dtype == pl.Date:
        values = [None if each is None else each.date() for each in values]
    if column.kind == "date" and column.zone is not None:
        moments = [
            None if each is None else each.astimezone(UTC).replace(tzinfo=None) for each in values
        ]
        series = pl.Series(name, moments, dtype=pl.Datetime(dtype.time_unit))
        return series.dt.replace_time_zone("UTC").dt.convert_time_zone(dtype.time_zone)
    return pl.Series(name, values, dtype=dtype, strict=False)


@settings(deadline=None)
@given(samples(), st.data())
def test_polars(sample, data):
    model, raw, coded = sample
    columns = []
    for at, column in enumerate(model.fields):
        values = [row[at] for row in raw]
        dtype = data.draw(st.sampled_from(dtypes_of(column, values)))
        columns.append(series_of(column.name, column, values, dtype))
    frame = pl.DataFrame(columns)
    expected = model.tree.apply(coded).tolist()
    found = frame.select(to_polars(model))
    assert found.schema == {"cluster": pl.Int64}
    assert found["cluster"].to_list() == expected
    assert frame.lazy().select(to_polars(model)).collect()["cluster"].to_list() == expected


@pytest.mark.parametrize("labels", [["it's", "{b}"], [1.5, -2.0], [True, False], [2**60, -1]])
def test_labels_keep_their_type(labels):
    X = pd.DataFrame({"a b": [1.0, 2.0, 3.0]})
    y = np.array([labels[0], labels[1], labels[1]])
    model = CART(noise="cluster").fit(X, y)
    frame = pl.DataFrame({"a b": [2.0, 0.0, None], "other": [1, 2, 3]})
    found = frame.with_columns(model.to_polars(label="reference", name="segment"))
    assert found["segment"].to_list()[:2] == labels[::-1]
    assert found.columns == ["a b", "other", "segment"]


def test_columns_by_number_and_other_names():
    model = CART().fit([[0.0, 1.0], [0.0, 2.0], [0.0, 3.0]], [0, 1, 1])
    frame = pl.DataFrame({"x1": [1.0, 3.0], "height": [3.0, 1.0]})
    assert frame.select(model.to_polars())["cluster"].to_list() == [0, 1]
    expression = model.to_polars(feature_names=["width", "height"])
    assert frame.select(expression)["cluster"].to_list() == [1, 0]


def test_names_that_are_patterns_of_polars():
    frame = pl.DataFrame(
        {
            "^a.*$": [1.0, 2.0, 3.0, 4.0],
            "^c$": list("uuvu"),
            "ab": [4.0, 3.0, 2.0, 1.0],
            "c": list("vvuv"),
        }
    )
    model = CART(features=["^a.*$", "^c$"]).fit(frame, ["p", "q", "r", "q"])
    assert len(model.explanation_.used) == 2
    assert frame.select(model.to_polars())["cluster"].to_list() == model.predict(frame).tolist()


def test_models_that_refuse_missing_values_give_null():
    described = (Column("a"), Column("c", "category", ("u", "v", "w")))
    tree = Tree.root(n_features=2, size=9).split(0, feature=0, threshold=0.5, missing=True)
    tree = tree.split(1, feature=1, threshold=NAN, categories=(0, 2), missing=True)
    model = Explanation(tree, ("a", "c"), described=described, parameters={"missing": "error"})
    frame = pl.DataFrame(
        {"a": [0.5, 0.5, 0.75, None, NAN, 0.5], "c": ["u", "v", None, "u", "u", "x"]}
    )
    found = frame.select(to_polars(model))["cluster"].to_list()
    assert found == [0, 1, 2, None, None, None]


def test_categories_of_several_types_are_refused():
    column = Column("c", "category", ("a", 1))
    tree = Tree.root(n_features=1, size=9).split(0, feature=0, threshold=NAN, categories=(0,))
    model = Explanation(tree, ("c",), described=(column,))
    refused(lambda: to_polars(model), words=["'c'", "texts"])


def test_a_deep_tree():
    tree = Tree.root(n_features=1, size=1)
    for depth in range(150):
        tree = tree.split(tree.n_nodes - 1, feature=0, threshold=float(depth))
    frame = pl.DataFrame({"x0": np.linspace(-1, 151, 300)})
    found = frame.select(to_polars(Explanation(tree)))["cluster"].to_list()
    assert found == tree.apply(frame.to_numpy()).tolist()


# --- Spark ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def spark():
    pyspark = pytest.importorskip("pyspark", reason="PySpark is not installed")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("there is no Java to run Spark")
    builder = pyspark.sql.SparkSession.builder.master("local[1]").appName("spexplain")
    session = (
        builder.config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "America/New_York")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    yield session
    session.stop()


def spark_frame(spark, model: Explanation, raw: list):
    """The rows as Spark has them, by an explicit schema."""
    from pyspark.sql import types as t

    def type_of(column):
        if column.kind == "category":
            kinds = {str: t.StringType(), bool: t.BooleanType()}
            return kinds.get(type(column.categories[0]), t.DoubleType())
        if column.kind == "date":
            return t.TimestampNTZType() if column.zone is None else t.TimestampType()
        kinds = {"boolean": t.BooleanType(), "duration": t.DayTimeIntervalType()}
        return kinds.get(column.kind, t.DoubleType())

    fields = [t.StructField(each.name, type_of(each)) for each in model.fields]
    doubles = {at for at, each in enumerate(fields) if each.dataType == t.DoubleType()}
    rows = [
        tuple(float(x) if at in doubles and x is not None else x for at, x in enumerate(row))
        for row in raw
    ]
    return spark.createDataFrame(rows, t.StructType(fields))


def in_range(model: Explanation, raw: list) -> bool:
    """Whether Python and Spark can hold all dates of rows and tests."""
    flat = [x for row in raw for x in row if isinstance(x, datetime)]
    tests = model.tree.tests.values()
    dated = [t for t in tests if model.fields[t.feature].kind == "date"]
    ends = [end for t in dated for end in (t.lower, t.upper) if np.isfinite(end)]
    limit = 200 * 365 * 86_400e6
    return all(1800 < x.year < 2200 for x in flat) and all(abs(end) < limit for end in ends)


@pytest.mark.slow
@settings(deadline=None, max_examples=15)
@given(sample=samples())
def test_spark(spark, sample):
    model, raw, coded = sample
    if not in_range(model, raw):
        return
    column = to_pyspark(model)
    found = [row["cluster"] for row in spark_frame(spark, model, raw).select(column).collect()]
    assert found == model.tree.apply(coded).tolist()


@pytest.mark.slow
def test_a_table_as_it_is(spark):
    frame = customers()
    model = CART(n_leaves=17).fit(frame, clusters(frame))
    assert len(model.explanation_.used) >= 7
    wanted = model.predict_reference(frame).tolist()
    found = pl.from_pandas(frame).select(model.to_polars(label="reference"))
    assert found["cluster"].to_list() == wanted
    from pyspark.sql import types as t

    kinds = {
        "channel": t.StringType(), "orders": t.LongType(), "spend": t.DoubleType(), "share": t.FloatType(),
        "member": t.BooleanType(), "letter": t.LongType(), "last order": t.TimestampNTZType(),
        "seen": t.TimestampType(), "wait": t.DayTimeIntervalType(),
    }  # fmt: skip
    rows = [
        tuple(
            None
            if pd.isna(x)
            else getattr(x, "to_pydatetime", getattr(x, "to_pytimedelta", lambda x=x: x))()
            for x in row
        )
        for row in frame.astype(object).itertuples(index=False)
    ]
    rows = [tuple(x.item() if isinstance(x, np.generic) else x for x in row) for row in rows]
    schema = t.StructType([t.StructField(name, kinds[name]) for name in frame])
    table = spark.createDataFrame(rows, schema)
    labelled = table.withColumn("cluster", model.to_pyspark(label="reference"))
    assert [row["cluster"] for row in labelled.select("cluster").collect()] == wanted
