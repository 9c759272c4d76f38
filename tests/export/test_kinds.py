"""Columns of every kind: all forms of a tree agree with the tree, on raw values or on their codes."""

import json
from dataclasses import replace
from datetime import time
from unittest import mock

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from export.conftest import DuckDB, SQLite
from export.kinds import KINDS, NAN, Sample, raw_value, samples
from export.test_onnx import run
from export.test_python_source import function
from spexplain import CART
from spexplain.explanation import Explanation, from_json
from spexplain.export import python_source, to_json, to_onnx, to_python, to_sklearn, to_sql
from spexplain.export import sql as sql_module
from spexplain.tree import Column, Tree

SQLITE_KINDS = tuple(kind for kind in KINDS if kind != "duration")


def depths(module: object, *, is_flat: bool) -> object:
    return mock.patch.object(module, "_NESTED_DEPTH", 0 if is_flat else 12)


def has_zone(sample: Sample) -> bool:
    return any(column.zone for column in sample.model.fields)


@given(samples(), st.booleans())
def test_duckdb(sample, is_flat):
    model, raw, coded = sample
    with depths(sql_module, is_flat=is_flat):
        assert DuckDB().labels(model, raw) == model.tree.apply(coded).tolist()


@given(samples(SQLITE_KINDS).filter(lambda sample: not has_zone(sample)), st.booleans())
def test_sqlite(sample, is_flat):
    model, raw, coded = sample
    with depths(sql_module, is_flat=is_flat):
        assert SQLite().labels(model, raw) == model.tree.apply(coded).tolist()


@settings(max_examples=40)
@given(sample=samples(), is_flat=st.booleans())
def test_postgresql(postgresql, sample, is_flat):
    model, raw, coded = sample
    with depths(sql_module, is_flat=is_flat):
        assert postgresql.labels(model, raw) == model.tree.apply(coded).tolist()


@given(samples(), st.sampled_from(["bigquery", "snowflake", "mysql"]), st.booleans())
def test_other_dialects_are_read(sample, dialect, is_flat):
    sqlglot = pytest.importorskip("sqlglot")
    model, used = sample.model, [sample.model.fields[j] for j in sample.model.used]
    assume(dialect == "bigquery" or all(each.kind != "duration" for each in used))
    assume(dialect != "mysql" or not any(each.zone for each in used))
    with depths(sql_module, is_flat=is_flat):
        text = to_sql(model, dialect=dialect, table="t")
    (statement,) = sqlglot.parse(text, read=dialect)
    names = {each.name for each in statement.find_all(sqlglot.exp.Column)}
    assert names <= {each.name for each in used}
    if not is_flat and model.tree.values:
        listed = {each.this for each in statement.find_all(sqlglot.exp.Literal) if each.is_string}
        for node, codes in model.tree.values.items():
            column = model.fields[model.tree.feature[node]]
            others = set(range(len(column.categories))) - set(codes)
            for code in others if model.tree.missing[node] else codes:
                value = column.categories[code]
                assert not isinstance(value, str) or value in listed


@given(samples(), st.booleans())
def test_python(sample, is_flat):
    model, raw, coded = sample
    with depths(python_source, is_flat=is_flat):
        predict = function(to_python(model))
    expected = model.tree.apply(coded).tolist()
    assert [predict(row) for row in raw] == expected
    names = [column.name for column in model.fields]
    used = [names[j] for j in model.used]
    rows = [dict(zip(names, row, strict=True)) for row in raw]
    assert [predict({name: row[name] for name in used}) for row in rows] == expected


@given(samples())
def test_json(sample):
    model, _, coded = sample
    text = to_json(model)
    again = from_json(text).explanation_
    assert again.tree == model.tree
    for number, (ours, theirs) in enumerate(zip(model.fields, again.fields, strict=True)):
        if number not in model.used:  # nobody else's business
            assert theirs == replace(ours, categories=())
            continue
        assert ours == theirs
        assert [type(each) for each in ours.categories] == [
            type(each) for each in theirs.categories
        ]
    assert to_json(again) == text
    assert again.tree.apply(coded).tolist() == model.tree.apply(coded).tolist()


@given(samples())
def test_onnx(sample):
    model, _, coded = sample
    assert run(to_onnx(model), coded).tolist() == model.tree.apply(coded).tolist()


@given(samples(("whole", "flag", "boolean", "category", "word")))
def test_scikit_learn(sample):
    model, _, coded = sample
    rows = np.where(np.abs(coded) < 1e30, coded, np.where(np.isnan(coded), NAN, 0)).astype(
        np.float32
    )
    classifier = to_sklearn(Explanation(model.tree, described=model.described))
    np.testing.assert_array_equal(classifier.predict(rows), model.tree.apply(rows))


@pytest.mark.parametrize("kind", ["flag", "boolean", "category", "whole", "date"])
@pytest.mark.parametrize("missing", [False, True])
def test_sides_that_no_row_reaches(database, kind, missing, monkeypatch):
    monkeypatch.setattr(sql_module, "_NESTED_DEPTH", 0)
    column = Column("c", kind, ("a", "b") if kind == "category" else ())
    tree = Tree.root(n_features=1, size=9).split(0, feature=0, threshold=0.0, missing=missing)
    tree = tree.split(2, feature=0, threshold=1.0, lower=0.0).split(1, feature=0, threshold=0.0)
    tree = tree.split(3, feature=0, threshold=5.0, lower=1.0, missing=missing)
    model = Explanation(tree, ("c",), described=(column,))
    coded = np.array([[0.0], [1.0], [NAN]])
    raw = [[raw_value(column, row[0])] for row in coded]
    assert database.labels(model, raw) == tree.apply(coded).tolist()


@pytest.mark.parametrize("is_flat", [False, True])
def test_models_that_refuse_missing_values(database, is_flat, monkeypatch):
    monkeypatch.setattr(sql_module, "_NESTED_DEPTH", 0 if is_flat else 12)
    monkeypatch.setattr(python_source, "_NESTED_DEPTH", 0 if is_flat else 12)
    described = (Column("a"), Column("c", "category", ("u", "v", "w")))
    tree = Tree.root(n_features=2, size=9).split(0, feature=0, threshold=0.5, missing=True)
    tree = tree.split(1, feature=1, threshold=NAN, categories=(0, 2), missing=True)
    tree = tree.split(3, feature=0, threshold=0.25, missing=True)
    model = Explanation(tree, ("a", "c"), described=described, parameters={"missing": "error"})
    rows = [[0.5, "u"], [0.1, "w"], [0.5, "v"], [0.75, "v"], [0.75, None], [None, "u"], [0.5, "x"]]
    expected = [1, 0, 2, 3, 3, None, None]
    found = database.labels(model, rows)
    assert found == expected
    predict = function(to_python(model))
    assert [predict(row) for row in rows[:4]] == expected[:4]
    for row in rows[4:]:
        with pytest.raises(ValueError, match=r"^row has no value that was seen in training in"):
            predict(row)


def customers(n_rows: int = 300) -> pd.DataFrame:
    """A table as it is: every kind of column, with missing values in most."""
    rng = np.random.default_rng(0)
    start, berlin = pd.Timestamp("1997-01-01"), pd.Timestamp("2021-01-01", tz="Europe/Berlin")
    seconds = rng.integers(0, 365 * 86_400, (3, n_rows))
    frame = pd.DataFrame(
        {
            "channel": rng.choice(["app", "web", "it's", 'a "b"'], n_rows),
            "orders": rng.integers(0, 9, n_rows),
            "spend": rng.gamma(2, 30, n_rows).round(2),
            "share": rng.random(n_rows).astype(np.float32),
            "member": rng.random(n_rows) < 0.5,
            "letter": rng.integers(0, 2, n_rows),
            "last order": start + pd.to_timedelta(seconds[0], unit="s"),
            "seen": berlin + pd.to_timedelta(seconds[1], unit="s"),
            "wait": pd.to_timedelta(seconds[2] // 30, unit="s"),
        }
    )
    for name in ("channel", "spend", "last order", "seen", "wait"):
        frame[name] = frame[name].where(rng.random(n_rows) < 0.85)
    return frame


def clusters(frame: pd.DataFrame) -> np.ndarray:
    parts = [
        frame["channel"].isin(["app", "web"]),
        frame["last order"] < pd.Timestamp("1997-06-01"),
        frame["spend"].isna(),
        frame["member"],
        frame["letter"] == 1,
        frame["orders"] > 4,
        frame["share"] < np.float32(0.3),
    ]
    if "wait" in frame:
        parts += [
            frame["wait"] < pd.Timedelta(days=5),
            frame["seen"] < pd.Timestamp("2021-05-05", tz="UTC"),
        ]
    return sum(part.to_numpy() * 2**each for each, part in enumerate(parts)) % 17


def raw_rows(frame: pd.DataFrame) -> list[list]:
    """The rows as Python values."""
    columns = [
        [
            None if pd.isna(x) else getattr(x, "to_pydatetime", lambda x=x: x)()
            for x in frame[name].array
        ]
        for name in frame
    ]
    columns = [[x.item() if isinstance(x, np.generic) else x for x in each] for each in columns]
    columns = [
        [x.to_pytimedelta() if isinstance(x, pd.Timedelta) else x for x in each] for each in columns
    ]
    return [list(row) for row in zip(*columns, strict=True)]


def test_a_fitted_table(database):
    frame = customers()
    if database.dialect == "sqlite":  # which has neither
        frame = frame.drop(columns=["seen", "wait"])
    model = CART(n_leaves=80).fit(frame, clusters(frame))
    kinds = {model.explanation_.fields[j].kind for j in model.explanation_.used}
    assert {"category", "date", "number", "whole", "flag", "boolean"} <= kinds
    new = customers(500).drop(columns=frame.columns.symmetric_difference(customers(1).columns))
    new.loc[::7, "channel"] = "never seen"
    expected = model.predict(new).tolist()
    assert len(set(expected)) > 20
    assert database.labels(model.explanation_, raw_rows(new)) == expected
    predict = function(model.to_python())
    assert [predict(row) for row in new.to_dict("records")] == expected
    assert [predict(row) for row in raw_rows(new)] == expected
    loaded = from_json(model.to_json())
    assert loaded.predict(new).tolist() == expected
    assert loaded.predict(pl.from_pandas(new)).tolist() == expected
    assert loaded.to_text() == model.to_text()
    assert loaded.to_sql(dialect=database.dialect) == model.to_sql(dialect=database.dialect)
    coded = model._check_rows(new).to_host()
    assert run(model.to_onnx(), coded).tolist() == expected
    classifier = to_sklearn(replace(model.explanation_, columns=None), coded)
    assert classifier.predict(coded).tolist() == expected


CLOCKS = [time(1), time(2), time(9, 30, 0, 5), time(23, 59), None, time(2)]


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame({"at": CLOCKS}),
        pd.DataFrame({"at": CLOCKS}),
        pd.DataFrame({"at": pd.Series(CLOCKS, dtype=pd.ArrowDtype(pa.time64("us")))}),
    ],
    ids=["polars", "objects", "arrow"],
)
def test_times_of_a_day(postgresql, frame):
    model = CART().fit(frame, ["night", "night", "day", "late", "none", "night"])
    expected = model.predict(frame).tolist()
    assert len(set(expected)) == 4
    assert from_json(model.to_json()).predict(frame).tolist() == expected
    predict = function(model.to_python())
    assert [predict([each]) for each in CLOCKS] == expected
    assert pl.DataFrame({"at": CLOCKS}).select(model.to_polars())["cluster"].to_list() == expected
    rows = [[each] for each in CLOCKS]
    for database in (DuckDB(), postgresql):
        assert database.labels(from_json(model.to_json()).explanation_, rows) == expected
    connection = duckdb.connect()
    connection.register("shop", frame)
    found = connection.execute(model.to_sql(table="shop").rstrip(";\n")).fetchall()
    assert [row[-1] for row in found] == expected


def test_times_beyond_the_day_are_refused():
    clock = Column("at", "duration", clock=True)
    tree = Tree.root(n_features=1, size=2).split(0, feature=0, threshold=2 * 86_400_000_000.0)
    with pytest.raises(ValueError, match=r"^Column 'x0' holds times of a day, but"):
        to_sql(Explanation(tree, described=(clock,)))


def shop() -> Explanation:
    """A model as a shop has one."""
    described = (
        Column("orders", "whole"),
        Column("channel", "category", ("app", "mail", "shop", "web"), has_missing=True),
        Column("last order", "date"),
        Column("member", "boolean"),
        Column("days between", "number", has_missing=True),
        Column("seen", "date", zone="Europe/Berlin"),
        Column("newsletter", "flag"),
    )
    tree = Tree.root(n_features=7, size=80)
    tree = tree.split(0, feature=1, threshold=NAN, categories=(0, 3), sizes=(40, 40))
    tree = tree.split(1, feature=2, threshold=864_604_800_000_000 - 1, missing=True)
    tree = tree.split(2, feature=0, threshold=2)
    tree = tree.split(6, feature=3, threshold=0, missing=True)
    tree = tree.split(8, feature=4, threshold=30, missing=True)
    tree = tree.split(10, feature=1, threshold=1, lower=0)
    tree = tree.split(12, feature=5, threshold=1_700_000_000_000_000 - 1)
    tree = tree.split(14, feature=6, threshold=np.inf, lower=0)
    return Explanation(tree, tuple(each.name for each in described), described=described)


SHOP_DUCKDB = """CASE
  WHEN "channel" IN ('app', 'web') THEN
    CASE
      WHEN "last order" < DATE '1997-05-26' OR "last order" IS NULL THEN 0
      ELSE 1
    END
  WHEN "orders" <= 2 THEN 2
  WHEN "member" = FALSE OR "member" IS NULL THEN 3
  WHEN "days between" <= 30 OR "days between" IS NULL OR isnan("days between") THEN 4
  WHEN "channel" = 'mail' THEN 5
  WHEN "seen" < TIMESTAMPTZ '2023-11-14 23:13:20+01:00' THEN 6
  WHEN "newsletter" = 1 THEN 7
  ELSE 8
END"""


def test_how_sql_reads():
    assert to_sql(shop()) == SHOP_DUCKDB
    text = to_sql(shop(), dialect="bigquery")
    assert "`last order` < DATE '1997-05-26' OR `last order` IS NULL" in text
    assert "OR IS_NAN(`days between`)" in text
    assert "`seen` < TIMESTAMP '2023-11-14 23:13:20+01:00'" in text
    assert "\"days between\" = 'NaN'::DOUBLE PRECISION" in to_sql(shop(), dialect="postgresql")


def test_how_python_reads():
    source = to_python(shop())
    for line in (
        "if x1 in ('app', 'web'):",
        "if x2 is None or x2 < datetime(1997, 5, 26):",
        "if x0 <= 2:",
        "if x3 != x3 or x3 <= 0:",
        "if x1 == 'mail':",
        "if x5 is not None and x5 < datetime(2023, 11, 14, 22, 13, 20, tzinfo=timezone.utc):",
    ):
        assert line in source


def test_python_takes_values_of_pandas_and_numpy():
    described = (
        Column("d", "date"),
        Column("w", "duration"),
        Column("c", "category", (1, True, "a")),
    )
    tree = Tree.root(n_features=3, size=2).split(0, feature=0, threshold=-1.0)
    tree = tree.split(2, feature=1, threshold=86_400_000_000.0)
    tree = tree.split(4, feature=2, threshold=NAN, categories=(1,))
    predict = function(to_python(Explanation(tree, described=described)))
    for missing in (None, NAN, pd.NA, pd.NaT, np.datetime64("NaT", "s")):
        assert predict([missing, missing, missing]) == 3
    day = pd.Timedelta(days=1)
    assert predict([np.datetime64("1969-12-31T23"), None, None]) == 0
    assert predict([pd.Timestamp("1969-12-31 23:59:59.999999999"), None, None]) == 0
    assert predict(["1969-12-31", None, None]) == 0
    assert predict([pd.Timestamp("1970-01-01").date(), day, None]) == 1
    assert predict([pd.Timestamp("1970-01-01"), np.timedelta64(24, "h"), None]) == 1
    assert predict([None, day + pd.Timedelta("1us"), True]) == 2
    assert predict([None, 2 * day, np.True_]) == 2
    assert [predict([None, 2 * day, value]) for value in (1, 1.0, "a", "True", [1])] == [3] * 5


@pytest.mark.parametrize(
    ("column", "dialect", "message"),
    [
        (Column("a", "duration"), "sqlite", "^Column 'x0' holds durations, which SQLite cannot"),
        (Column("a", "duration", clock=True), "sqlite", "^Column 'x0' holds times of a day, which"),
        (Column("a", "date", zone="UTC"), "mysql", "^Column 'x0' holds dates with a time zone"),
        (
            Column("a", "category", ("a", 1)),
            "duckdb",
            "^Column 'x0' has categories of type number",
        ),
        (Column("a", "category", (b"a",)), "sqlite", "^Column 'x0' has categories of type bytes"),
        (Column("a", "category", ("a\0",)), "sqlite", "^Column 'x0' holds 'a.x00', but SQLite"),
    ],
)
def test_what_a_database_cannot_compare(column, dialect, message):
    tree = Tree.root(n_features=1, size=2).split(0, feature=0, threshold=0.0)
    with pytest.raises(ValueError, match=message):
        to_sql(Explanation(tree, described=(column,)), dialect=dialect)


@pytest.mark.parametrize("form", [to_sql, to_python])
def test_dates_beyond_the_calendar(form):
    tree = Tree.root(n_features=1, size=2).split(0, feature=0, threshold=9e17)
    with pytest.raises(ValueError, match=r"^Column 'x0' is tested for .*years 1 to 9999"):
        form(Explanation(tree, described=(Column("d", "date"),)))


def test_offsets_with_seconds_are_written_in_utc():
    column = Column("d", "date", zone="Europe/Amsterdam")  # +00:19:32 until 1937
    tree = Tree.root(n_features=1, size=2).split(0, feature=0, threshold=-1_500_000_000_000_000.0)
    text = to_sql(Explanation(tree, described=(column,)))
    assert "TIMESTAMPTZ '1922-06-20 21:20:00.000001+00:00'" in text


@pytest.mark.parametrize("value", [b"a", None, (1,), 2**63, np.inf])
def test_json_refuses_other_categories(value):
    tree = Tree.root(n_features=1, size=2).split(0, feature=0, threshold=0.0)
    model = Explanation(tree, described=(Column("a", "category", ("b", value)),))
    with pytest.raises(
        ValueError, match=r"^Column 'x0' has the category .*; JSON can hold strings"
    ):
        to_json(model)


def test_python_refuses_other_categories():
    tree = Tree.root(n_features=1, size=2).split(0, feature=0, threshold=0.0, lower=-1.0)
    model = Explanation(tree, described=(Column("a", "category", (b"a", "b")),))
    with pytest.raises(ValueError, match=r"^Column 'x0' has a category of type bytes"):
        to_python(model)


ENCODING = {
    "channel": ["app", "mail", "shop", "web"],
    "last order": "microseconds since 1970-01-01",
    "member": [False, True],
    "seen": "microseconds since 1970-01-01 00:00 UTC",
}


def test_encodings_are_told():
    assert to_sklearn(shop()).encoding_ == ENCODING
    properties = {each.key: each.value for each in to_onnx(shop()).metadata_props}
    assert json.loads(properties["encoding"]) == ENCODING
    with pytest.raises(
        ValueError, match=r"^input_type='float32' cannot hold the times of column 'last"
    ):
        to_onnx(shop(), input_type="float32")
