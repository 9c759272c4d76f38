"""Tables as libraries of data frames have them: every type of column, or one sentence that refuses it."""

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pytest

from refusals import refused
from spexplain import SpexClique, from_json
from spexplain.exceptions import ColumnWarning

pa = pytest.importorskip("pyarrow")

Y = np.array([0, 0, 0, 1, 1, 1, 0, 1])
WHOLE = [1, 2, 3, 10, 11, 12, None, 13]  # "is missing" is no test of a cluster, but goes along
FLAGS = [None if each is None else each > 5 for each in WHOLE]
LETTERS = list("aabccdad")


def of(make):
    """The numbers as values of another type."""
    return [None if each is None else make(each) for each in WHOLE]


DAYS = of(lambda each: datetime(2020, 1, each))
BERLIN = of(lambda each: datetime(2020, 1, each, tzinfo=ZoneInfo("Europe/Berlin")))
CLOCKS, SPANS = of(time), of(timedelta)


def arrow(values, dtype):
    """A column of an Arrow table, and of a pandas frame that keeps Arrow's types."""
    array = pa.array(values, dtype)
    yield pa.table({"a": array})
    yield pd.DataFrame({"a": pd.array(array, dtype=pd.ArrowDtype(dtype))})


def arrows(values, *dtypes):
    return [frame for dtype in dtypes for frame in arrow(values, dtype)]


def of_pandas(values, dtype=None):
    return pd.DataFrame({"a": pd.Series(values, dtype=dtype)})


def of_polars(values, dtype=None):
    return pl.DataFrame({"a": pl.Series(values, dtype=dtype)})


def objects(values):
    table = np.empty((len(values), 1), dtype=object)
    table[:, 0] = values
    return pd.DataFrame({"a": table[:, 0]})


# What the column is, what the tree says of cluster 1, and frames of all libraries that hold it.
SAME = {
    "whole numbers": (
        "whole",
        "a > 6",
        [
            of_pandas(WHOLE, "Int64"),
            of_pandas(WHOLE, "UInt8"),
            of_pandas(WHOLE, "Float32"),
            of_pandas(of(Decimal), object),
            of_polars(WHOLE, pl.Int16),
            of_polars(WHOLE, pl.UInt64),
            of_polars(WHOLE, pl.Decimal(10, 2)),
            objects(WHOLE),
            *arrows(WHOLE, pa.int8(), pa.uint64(), pa.float32(), pa.decimal128(5, 2)),
        ],
    ),
    "booleans": (
        "boolean",
        "a = yes",
        [
            of_pandas(FLAGS, "boolean"),
            of_pandas(FLAGS, object),
            of_pandas(pd.Categorical(FLAGS)),
            of_polars(FLAGS),
            *arrows(FLAGS, pa.bool_()),
        ],
    ),
    "texts": (
        "category",
        "a in {c, d}",
        [
            of_pandas(LETTERS, "string"),
            of_pandas(LETTERS, object),
            of_pandas(LETTERS, "category"),
            of_polars(LETTERS),
            of_polars(LETTERS, pl.Categorical),
            of_polars(LETTERS, pl.Enum(list("abcdz"))),
            of_pandas(pd.Categorical(LETTERS, categories=list("abcdz"), ordered=True)),
            *arrows(LETTERS, pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())),
        ],
    ),
    "dates": (
        "date",
        "a from 2020-01-06",
        [
            of_pandas(DAYS, "datetime64[s]"),
            of_pandas(DAYS, "datetime64[ns]"),
            of_pandas(DAYS, object),
            of_pandas(of(lambda each: date(2020, 1, each)), object),
            of_polars(DAYS, pl.Date),
            of_polars(DAYS, pl.Datetime("ms")),
            *arrows(DAYS, pa.timestamp("s"), pa.timestamp("ns"), pa.date32(), pa.date64()),
        ],
    ),
    "dates of a zone": (
        "date",
        "a from 2020-01-06 00:00+01:00",
        [
            of_pandas(BERLIN, "datetime64[s, Europe/Berlin]"),
            of_polars(BERLIN, pl.Datetime("us", "Europe/Berlin")),
            of_polars(BERLIN, pl.Datetime("ns", "Europe/Berlin")),
            *arrows(BERLIN, pa.timestamp("ms", "Europe/Berlin")),
        ],
    ),
    "times of a day": (
        "duration",
        "a > 06:00:00",
        [
            of_pandas(CLOCKS, object),
            of_polars(CLOCKS),
            *arrows(CLOCKS, pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")),
        ],
    ),
    "durations": (
        "duration",
        "a > 6 days",
        [
            of_pandas(SPANS, "timedelta64[s]"),
            of_pandas(SPANS, "timedelta64[ns]"),
            of_pandas(SPANS, object),
            of_polars(SPANS, pl.Duration("ms")),
            *arrows(SPANS, pa.duration("s"), pa.duration("us")),
        ],
    ),
}


def one_of(rules):
    return next(each["rule"] for each in rules if each["reference"] == 1)


@pytest.mark.parametrize(("kind", "rule", "frames"), SAME.values(), ids=SAME)
def test_same_column_of_all_libraries(kind, rule, frames):
    models = [SpexClique(n_leaves=2).fit(frame, Y) for frame in frames]
    for model, frame in zip(models, frames, strict=True):
        assert model.explanation_.fields[0].kind == kind
        assert model.explanation_.fields[0].name == "a"
        assert one_of(model.rules(output="records")) == rule
        assert model.tree_ == models[0].tree_
        for other in frames:
            assert model.predict(other).tolist() == model.labels_.tolist(), (frame, other)


def test_named_numbers_are_categories():
    codes = [1, 1, 2, 3, 3, 4, 1, 4]
    frame = pd.DataFrame({"region": pd.Categorical(codes)})
    model = SpexClique(n_leaves=2).fit(frame, Y)
    assert one_of(model.rules(output="records")) == "region in {3, 4}"
    for other in (codes, np.array(codes, dtype=float), pd.array(codes, dtype="Int64")):
        assert model.predict(pd.DataFrame({"region": other})).tolist() == model.labels_.tolist()
    ordered = pd.Categorical(codes, categories=[4, 3, 2, 1], ordered=True)
    assert SpexClique().fit(pd.DataFrame({"region": ordered}), Y).explanation_.fields[
        0
    ].categories == (4, 3, 2, 1)


def test_what_has_an_order_of_its_own_is_said_in_words():
    months = pd.DataFrame({"month": pd.period_range("2020-01", periods=8, freq="M")})
    assert SpexClique().fit(months, Y).explanation_.fields[0].categories[:2] == (
        "2020-01",
        "2020-02",
    )
    ages = pd.DataFrame({"age": pd.cut([1, 2, 3, 10, 11, 12, 2, 13], [0, 5, 9, 20])})
    model = SpexClique().fit(ages, Y)
    assert one_of(model.rules(output="records")) == 'age = "(9, 20]"'


def test_true_is_not_one():
    mixed = np.array([[True, 1, "a", 2.5, False, True, 1, "a"]], dtype=object).T
    model = SpexClique(n_leaves=5).fit(mixed, Y)
    assert sorted(map(repr, model.explanation_.fields[0].categories)) == [
        "'a'", "1", "2.5", "False", "True",
    ]  # fmt: skip
    assert not model.explanation_.fields[0].has_missing


def test_arrays_of_texts_and_moments():
    texts = np.array([LETTERS]).T
    assert SpexClique().fit(texts, Y).tree_ == SpexClique().fit(texts.astype("S1"), Y).tree_
    hours = np.array([[each or 1] for each in WHOLE])
    spans = SpexClique().fit(hours.astype("m8[h]"), Y)
    assert spans.rules(output="records")[1]["rule"] == "x0 > 06:00:00"
    assert spans.predict(hours.astype("m8[h]").astype("m8[ms]")).tolist() == spans.labels_.tolist()


REFUSED = {
    "lists": (of_polars([[1]] * 8), "X holds values of type List(Int64) in column 'a'; a tree"),
    "records": (of_polars([{"x": 1}] * 8), "X holds values of type Struct({'x': Int64}) in column"),
    "arrays": (of_polars([[1]] * 8, pl.Array(pl.Int8, 1)), "X holds values of type Array"),
    "bytes": (of_polars([b"x"] * 8), "X holds values of type Binary in column 'a'"),
    "Arrow's lists": (pa.table({"a": [[1]] * 8}), "X holds values of type List(Int64) in column"),
    "two names": (
        pd.DataFrame([[1, 2]] * 8, columns=["a", "a"]),
        "X has more than one column 'a';",
    ),
    "two names of texts": (
        pd.DataFrame([["x", "y"]] * 8, columns=["a", "a"]),
        "X has more than one column 'a'; give every column a name of its own.",
    ),
    "two names of Arrow": (
        pa.Table.from_arrays([pa.array(WHOLE)] * 2, names=["a", "a"]),
        "X has more than one column 'a'; give every column a name of its own.",
    ),
    "names and numbers": (pd.DataFrame({"a": WHOLE, 0: WHOLE}), "X has some column names that are"),
    "infinity": (
        pd.DataFrame({"a": [np.inf, *WHOLE[1:]], "b": LETTERS}),
        "X contains infinity, first in row 0, column 'a';",
    ),
    "no columns": (pd.DataFrame(index=range(8)), "X has 8 sample(s) and 0 feature(s), but"),
    "no rows": (pl.DataFrame({"a": [], "b": []}), "X has 0 sample(s) and 2 feature(s), but"),
    "no rows of numbers": (
        pd.DataFrame({"a": [], "b": []}, dtype=float),
        "Found array with 0 sample",
    ),
    "nothing": (pl.DataFrame(), "X has 0 sample(s) and 0 feature(s), but"),
    "all missing": (pd.DataFrame({"a": [None] * 8}), "All columns of X are constant, so no cut"),
    "all missing numbers": (pd.DataFrame({"a": [np.nan] * 8}), "All columns of X are constant, so"),
    "one value": (pd.DataFrame({"a": ["x"] * 8, "b": [None] * 8}), "All columns of X are constant"),
    "some with a zone": (
        objects([datetime(2020, 1, 1), *[datetime(2020, 1, 1, tzinfo=UTC)] * 7]),
        "X holds dates with and without a time zone in column 'a'; give all of them a time zone or none.",
    ),
}


@pytest.mark.parametrize(("frame", "words"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_is_said_in_one_sentence(frame, words):
    refused(lambda: SpexClique().fit(frame, Y), words=[words], error=(ValueError, TypeError))


def test_columns_without_use_do_no_harm():
    frame = pd.DataFrame({"a": [None] * 8, "b": ["x"] * 8, "c": [np.nan] * 8, "d": WHOLE})
    model = SpexClique(n_leaves=2).fit(frame, Y)
    assert one_of(model.rules(output="records")) == "d > 6"
    assert model.predict(frame[["d"]]).tolist() == model.labels_.tolist()


@pytest.mark.parametrize("names", [[0, 1], [(0, "x"), (1, "y")]], ids=["numbers", "pairs"])
def test_names_that_are_no_texts(names):
    frame = pd.DataFrame({names[0]: WHOLE, names[1]: LETTERS})
    model = SpexClique(n_leaves=2).fit(frame, Y)
    assert not hasattr(model, "feature_names_in_")
    assert model.predict(frame).tolist() == model.labels_.tolist()
    assert model.predict(frame.to_numpy(dtype=object)).tolist() == model.labels_.tolist()
    with pytest.raises(
        ValueError, match="X has the columns of the training table in another order"
    ):
        model.predict(frame[names[::-1]])
    if names[0] == 0:  # pairs are not stored
        with pytest.raises(ValueError, match="X has the columns of the training table in another"):
            from_json(model.to_json()).predict(frame[names[::-1]])


def test_whole_numbers_that_floats_cannot_tell_apart():
    large = np.array([2**53 + each for each in range(8)])
    for table, name in (
        (large[:, None], "x0"),
        (pd.DataFrame({"a": large}), "a"),
        (pl.DataFrame({"a": large, "b": LETTERS}), "a"),
        (pd.DataFrame({"a": pd.array([*large[1:], None], dtype="Int64")}), "a"),
        (pd.DataFrame({"a": pd.array([*large[1:], None], dtype="int64[pyarrow]")}), "a"),
        (pl.DataFrame({"a": large}).to_arrow(), "a"),
        (pl.DataFrame({"a": pl.Series(large, dtype=pl.Int128)}), "a"),
    ):
        with pytest.warns(
            ColumnWarning, match=f"^Column '{name}' holds whole numbers beyond 2\\*\\*53"
        ) as told:
            model = SpexClique(n_leaves=2, features=[0]).fit(table, Y)
        assert told[0].filename == __file__
        with pytest.warns(
            ColumnWarning, match=f"^Column '{name}' .* rows that differ only in the last digits go"
        ) as told:
            model.predict(table)
        assert told[0].filename == __file__
    even = 2**53 + 2 * np.arange(8)
    model = SpexClique(n_leaves=2).fit(even[:, None], Y)  # no warning: floats tell these apart
    assert model.predict(even[:, None]).tolist() == model.labels_.tolist()
    others = pd.DataFrame({"a": WHOLE, "b": LETTERS})
    model = SpexClique(n_leaves=2, features=["a"]).fit(others, Y)
    model.predict(others.assign(b=large))  # no warning: b is not tested
