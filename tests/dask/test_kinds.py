"""Dask tables as they are: categories, dates, booleans and missing values give the tree of the table in memory."""

import warnings
from itertools import pairwise

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from partitioned import centers_of
from spexplain import CART, EMN, IMM, ExKMC, SpexClique, SpexGraph
from spexplain.engines.dask import DaskEngine
from spexplain.exceptions import ColumnWarning, LeafCountWarning, NoiseWarning
from spexplain.table import suspects
from spexplain.table.partitioned import PartitionedTable, _parts_of
from spexplain.table.read import read_table
from spexplain.tree import Column
from strategies import labels_for

pytestmark = pytest.mark.usefixtures("synchronous", "as_they_are")
START = pd.Timestamp("2021-03-01")


@pytest.fixture
def as_they_are():
    """Dask would make texts of mixed objects."""
    with dask.config.set({"dataframe.convert-string": False}):
        yield


def _moments(drawn: list[int | None], start: pd.Timestamp | None) -> pd.Series:
    steps = pd.to_timedelta([0 if each is None else 5 * each for each in drawn], unit="h")
    moments = pd.Series(steps if start is None else start + steps)
    return moments.mask([each is None for each in drawn])


def _texts(drawn: list[int | None], dtype: object) -> pd.Series:
    return pd.Series([None if each is None else "abcdefg"[each] for each in drawn], dtype=dtype)


# Columns of every kind, made of small whole numbers and None; some have no missing values.
KINDS = {
    "whole": lambda drawn: pd.Series([each or 0 for each in drawn], dtype="int64"),
    "flag": lambda drawn: pd.Series([(each or 0) % 2 for each in drawn], dtype="int64"),
    "boolean": lambda drawn: pd.Series([not (each or 0) % 2 for each in drawn]),
    "number": lambda drawn: pd.Series([np.nan if each is None else each / 4 for each in drawn]),
    "nullable": lambda drawn: pd.Series(drawn, dtype="Int64"),
    "maybe": lambda drawn: pd.Series(
        [None if each is None else each % 2 == 0 for each in drawn], dtype="boolean"
    ),
    "date": lambda drawn: _moments(drawn, START),
    "zoned": lambda drawn: _moments(drawn, START.tz_localize("Europe/Berlin")),
    "duration": lambda drawn: _moments(drawn, None),
    "text": lambda drawn: _texts(drawn, object),
    "category": lambda drawn: _texts(drawn, "category"),
    "ordered": lambda drawn: _texts(drawn, pd.CategoricalDtype(list("gacbfed"), ordered=True)),
    # Some partitions may look like columns of numbers.
    "mixed": lambda drawn: pd.Series(
        [each if each is None or each < 3 else f"n{each}" for each in drawn], dtype=object
    ),
}


@st.composite
def frames(draw: st.DrawFn) -> tuple[pd.DataFrame, np.ndarray]:
    """Frames of columns of some kinds, with ties and missing values, and labels."""
    n_rows = draw(st.integers(4, 14))
    value = st.none() | st.integers(0, 6)
    made = {}
    for number in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(list(KINDS)))
        drawn = draw(st.lists(value, min_size=n_rows, max_size=n_rows))
        made[f"{kind} {number}"] = KINDS[kind](drawn)
    return pd.DataFrame(made), draw(labels_for(n_rows))


def split_at(frame: pd.DataFrame, cuts: list[int]) -> dd.DataFrame:
    """Partitions that end at these rows; some may be empty."""
    ends = [0, *sorted(min(cut, len(frame)) for cut in cuts), len(frame)]
    blocks = [frame.iloc[start:stop] for start, stop in pairwise(ends)]
    return dd.from_map(lambda number: blocks[number], range(len(blocks)), meta=frame.iloc[:0])


def check_same(estimator, frame, rows, y, **given):
    """Fit to both, and compare all that does not hang on the last bits of means."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeafCountWarning)
        expected = estimator.fit(frame, y, **given)
        tree, leaves, text = expected.tree_, expected.labels_, expected.to_text()
        fields, price = expected.explanation_.fields, expected.path_[-1].price
        scales = expected.explanation_.scales
        found = estimator.fit(rows, y, **given)
    assert found.tree_.tests == tree.tests
    assert isinstance(estimator, ExKMC) or found.tree_ == tree  # costs are sums of floats
    assert found.explanation_.fields == fields
    assert found.to_text() == text
    assert np.array_equal(found.labels_.compute(), leaves)
    assert found.path_[-1].price == pytest.approx(price, nan_ok=True)
    np.testing.assert_allclose(found.explanation_.scales, scales, rtol=1e-6, atol=1e-6)
    return found


quick = settings(
    max_examples=12,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@quick
@given(frames(), st.lists(st.integers(0, 14), max_size=4), st.sampled_from([2, 5, 255]))
def test_any_partitions_give_the_tree_of_the_frame(case, cuts, max_bins):
    frame, y = case
    estimator = SpexClique(n_leaves=5, min_samples_leaf=1 + max_bins % 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeafCountWarning)
        try:
            expected = estimator.fit(frame, y).explanation_
        except ValueError as error:
            assume("constant" not in str(error))
            raise
        found = estimator.set_params(engine=DaskEngine(max_bins)).fit(split_at(frame, cuts), y)
    assert found.tree_ == expected.tree
    assert found.explanation_.fields == expected.fields
    assert np.array_equal(found.labels_.compute(), expected.labels)
    other = split_at(frame[frame.columns[::-1]], cuts[:1])
    assert np.array_equal(found.predict(other).compute(), expected.labels)
    if expected.used:
        used = split_at(frame.iloc[:, expected.used], [3])
        assert np.array_equal(found.predict(used).compute(), expected.labels)


def outcome(estimator, X, y, weights):
    """Fit, and return the tree, its rules and its agreement, or what was refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            fitted = estimator.fit(X, y, sample_weight=weights)
        except ValueError as error:
            return str(error)
    rules = fitted.rules(output="records")
    return fitted.tree_, rules, fitted.agreement_, np.asarray(fitted.labels_).tolist()


@quick
@given(
    frames(),
    st.lists(st.integers(0, 14), max_size=4),
    st.sampled_from(["none", "whole", "fractions", "zeros"]),
    st.booleans(),
    st.sampled_from([SpexClique, CART]),
    st.integers(0, 2**16),
)
def test_weights_and_memberships_of_every_kind_of_column(
    case, cuts, weighs, is_shared, method, seed
):
    frame, y = case
    random = np.random.default_rng(seed)
    drawn = {
        "none": None,
        "whole": random.integers(1, 4, len(y)),
        "fractions": random.random(len(y)),
        "zeros": np.where(random.random(len(y)) < 0.5, 0.0, random.random(len(y))),
    }[weighs]
    if is_shared:
        y = random.choice([0.0, 0.25, 0.5, 1.0], size=(len(y), 3))
    expected = outcome(method(n_leaves=4), frame, y, drawn)
    found = outcome(method(n_leaves=4), split_at(frame, cuts), y, drawn)
    assert found == expected


@quick
@given(frames())
def test_tables_in_memory_that_the_engine_parts(case):
    frame, y = case
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeafCountWarning)
        try:
            expected = CART(n_leaves=5).fit(frame, y).tree_
        except ValueError as error:
            assume("constant" not in str(error))
            raise
        assert CART(n_leaves=5, engine=DaskEngine(9, 5)).fit(frame, y).tree_ == expected


def customers(n_rows: int = 240, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n_rows)
    frame = pd.DataFrame(
        {
            "spent": np.round(rng.normal(size=n_rows) + y, 2),
            "orders": rng.integers(0, 4, n_rows) + y,
            "newsletter": rng.integers(0, 2, n_rows),
            "channel": np.array(list("abcdefg"))[(y + rng.integers(0, 3, n_rows)) % 7],
            "member": rng.random(n_rows) < 0.5,
            "since": START + pd.to_timedelta(rng.integers(0, 900, n_rows) + 200 * y, "D"),
            "visit": pd.to_timedelta(rng.integers(0, 900, n_rows) + 100 * y, "min"),
        }
    )
    frame.loc[rng.random(n_rows) < 0.2, "spent"] = np.nan
    frame.loc[rng.random(n_rows) < 0.1, "channel"] = None
    frame.loc[rng.random(n_rows) < 0.1, "since"] = pd.NaT
    return frame, y


METHODS = {
    "SpexClique": lambda: SpexClique(n_leaves=9),
    "inverse_size": lambda: SpexClique(clique_weights="inverse_size", n_leaves="auto"),
    "CART": lambda: CART(n_leaves=7),
    "only categories": lambda: CART(n_leaves=5, features=["channel"]),
    "IMM": IMM,
    "EMN": EMN,
    "ExKMC": lambda: ExKMC(n_leaves=6),
}


@pytest.mark.parametrize("method", METHODS)
def test_every_method(method):
    frame, y = customers()
    text = np.array(["ash", "birch", "cedar", "douglas"])[y]
    rows = dd.from_pandas(frame, npartitions=3)
    found = check_same(METHODS[method](), frame, rows, text)
    assert np.array_equal(found.predict_reference(rows).compute(), found.predict_reference(frame))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_with_gaps(dtype):
    frame, y = customers()
    X = frame[["spent", "orders"]].to_numpy().astype(dtype)
    rows = da.from_array(X, chunks=(70, 1))
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    for estimator, given_ in (
        (SpexClique(n_leaves=8), {}),
        (CART(n_leaves=8), {}),
        (IMM(), {"centers": centers_of(filled, y)}),
    ):
        found = check_same(estimator, X, rows, y, **given_)
        assert np.array_equal(found.predict(rows).compute(), found.predict(X))


def test_gaps_in_a_partition_that_no_sample_sees(monkeypatch):
    monkeypatch.setattr("spexplain.table.partitioned._N_SAMPLED", 1)
    frame, y = customers()
    X = np.nan_to_num(frame[["spent", "orders"]].to_numpy())
    X[200:, 0] = np.nan
    check_same(SpexClique(n_leaves=8), X, da.from_array(X, chunks=(60, 2)), y)


def test_points_do_not_depend_on_partitions():
    frame, y = customers()
    fits = [IMM().fit(dd.from_pandas(frame, npartitions=n), y).explanation_ for n in (1, 7)]
    assert fits[0].tree == fits[1].tree
    assert np.array_equal(fits[0].reference.centers, fits[1].reference.centers)


def test_points_are_those_of_the_frame():
    frame, _ = customers()
    frame["huge"] = np.where(np.arange(len(frame)) % 2, 1e200, -1e200)
    frame["nothing"] = np.nan
    table = PartitionedTable.of(dd.from_pandas(frame, npartitions=3), allow_missing=True)
    twin = read_table(frame, SpexClique())
    for found, expected in zip(table.coordinates[1:], twin.coordinates[1:], strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    points = np.concatenate([np.asarray(each.compute()) for each in table.as_points().read_all()])
    np.testing.assert_allclose(points, twin.as_points().values, rtol=1e-12)


def test_values_that_were_never_seen_go_where_missing_ones_go():
    frame, y = customers()
    found = CART(n_leaves=6, features=["channel", "spent"]).fit(
        dd.from_pandas(frame, npartitions=2), y
    )
    strange = frame.assign(channel="zeppelin")
    gone = frame.assign(channel=None)
    leaves = found.predict(dd.from_pandas(strange, npartitions=3)).compute()
    assert np.array_equal(leaves, found.predict(gone))
    assert np.array_equal(leaves, found.predict(strange))


def test_zeros_and_ones_of_whole_numbers_are_flags():
    frame, y = customers()
    plain = frame[["orders", "newsletter"]]
    for max_bins in (2, 255):
        rows = dd.from_pandas(plain, npartitions=3)
        found = CART(n_leaves=8, engine=DaskEngine(max_bins)).fit(rows, y)
        assert found.explanation_.fields == CART(n_leaves=8).fit(plain, y).explanation_.fields
    assert "flag" in [field.kind for field in found.explanation_.fields]


def test_rows_of_weight_0_with_gaps_and_categories():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "a": np.where(rng.random(200) < 0.2, np.nan, rng.normal(size=200).round(1)),
            "b": pd.Categorical(rng.choice(list("pqr"), size=200)),
            "c": rng.integers(0, 9, size=200),
        }
    )
    y = (X["a"].fillna(2) > 0.3).to_numpy() + 2 * (X["b"] == "p").to_numpy()
    weights = np.where(rng.random(200) < 0.4, 0.0, rng.random(200))
    weights[:70] = 0
    expected = SpexClique(n_leaves=6).fit(X, y, sample_weight=weights)
    found = SpexClique(n_leaves=6).fit(dd.from_pandas(X, npartitions=3), y, sample_weight=weights)
    assert found.tree_ == expected.tree_
    assert found.to_text() == expected.to_text()


def test_what_is_not_taken_is_said():
    frame, y = customers()
    rows = dd.from_pandas(frame, npartitions=3)
    fitted = SpexClique(n_leaves=6).fit(rows, y)
    graph = np.eye(len(frame), k=1) + np.eye(len(frame), k=-1)
    used = [field.name for field in fitted.explanation_.fields][fitted.explanation_.used[0]]
    for message, fail in {
        "NaN or infinity, first in row": lambda: SpexClique(missing="error").fit(rows, y),
        'use engine="histogram"': lambda: SpexGraph(4, graph=graph).fit(rows),
        f"lacks the column {used!r}": lambda: fitted.predict(rows.drop(columns=used)),
        "whole table in memory": fitted.summary,
    }.items():
        with pytest.raises((ValueError, NotImplementedError), match=message) as caught:
            fail()
        assert "\n" not in str(caught.value)
        assert str(caught.value).endswith(".")


def uneven(*parts):
    """A Dask frame whose partitions are what they are, whatever the first one promises."""
    return dd.from_map(parts.__getitem__, range(len(parts)), meta=parts[0], enforce_metadata=False)


@pytest.fixture
def plain():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(300, 3)).round(1), columns=["a", "b", "c"])
    y = (frame["a"] > 0.5).astype(int) + 2 * (frame["b"] > 0.1).astype(int)
    return frame, y.to_numpy()


@pytest.mark.parametrize("extra", [False, True])
def test_partitions_with_columns_in_another_order(synchronous, plain, extra):
    """Columns are matched by name, in fits and in predictions."""
    frame, y = plain
    other = frame[100:200][["c", "a", "b"]]
    if extra:
        other = other.assign(more=1.0)
    lazy = uneven(frame[:100], other, frame[200:])
    known = CART(n_leaves=5).fit(frame, y)
    found = CART(n_leaves=5).fit(lazy, y)
    assert found.tree_ == known.tree_
    assert found.predict(lazy).compute().tolist() == known.labels_.tolist()
    assert known.predict(lazy[["b", "a"]]).compute().tolist() == known.labels_.tolist()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda part: part.astype({"b": str}), "Partition 1 of X holds texts .* in column 'b', but X promises numbers"),
        (lambda part: part.assign(b=pd.Timestamp("2020-01-01")), "holds dates in column 'b'"),
        (lambda part: part.drop(columns="b"), "Partition 1 of X has no column 'b'"),
        (lambda part: part.rename(columns={"b": "B"}), r"no column 'b', which X has \(it has a, B, c\)"),
    ],
)  # fmt: skip
def test_partitions_that_are_not_what_the_frame_says(synchronous, plain, change, words):
    frame, y = plain
    lazy = uneven(frame[:100], change(frame[100:200]), frame[200:])
    with pytest.raises(ValueError, match=words):
        CART(n_leaves=5).fit(lazy, y)
    known = CART(n_leaves=5).fit(frame, y)
    with pytest.raises((ValueError, KeyError), match=r"partition of X|not in index"):
        known.predict(lazy).compute()


def test_a_partition_without_any_value_promises_nothing(synchronous, plain):
    frame, y = plain
    empty = frame[100:200].assign(b=pd.Series([None] * 100, dtype=object, index=range(100, 200)))
    whole = pd.concat([frame[:100], empty.astype({"b": float}), frame[200:]])
    found = CART(n_leaves=5).fit(uneven(frame[:100], empty, frame[200:]), y)
    assert found.tree_ == CART(n_leaves=5).fit(whole, y).tree_


def test_dates_promised_and_texts_found(synchronous, plain):
    frame, y = plain
    dated = frame.assign(b=pd.Timestamp("2020-01-01") + pd.to_timedelta(frame["b"], "D"))
    lazy = uneven(dated[:100], dated[100:200].astype({"b": str}), dated[200:])
    with pytest.raises(
        ValueError, match="holds texts or other objects in column 'b', but X promises dates"
    ):
        CART(n_leaves=5).fit(lazy, y)


def test_files_are_partitions_however_few_columns_are_read(synchronous, tmp_path):
    """Dask would read several small files at once where few columns are asked for."""
    frame, y = customers()
    for start in range(0, len(frame), 20):
        part = frame.iloc[start : start + 20].assign(label=y[start : start + 20])
        part.to_parquet(tmp_path / f"{start:03}.parquet")
    rows = dd.read_parquet(tmp_path)
    found = check_same(SpexClique(n_leaves=6), frame, rows[list(frame)], y)
    assert SpexClique(n_leaves=6).fit(rows[list(frame)], rows["label"]).tree_ == found.tree_
    for few in (rows["label"], rows["label"].astype(float), rows[["orders"]]):
        assert [len(part.compute()) for part in _parts_of(few)] == [20] * 12
    few = SpexClique(n_leaves=6).fit(rows[["orders"]], rows["label"])
    assert few.tree_ == SpexClique(n_leaves=6).fit(frame[["orders"]], y).tree_


def names_of_some(n_rows: int, share: float, rng: np.random.Generator) -> np.ndarray:
    """Numbers of which a share of the rows have one of their own."""
    alone = round(share * n_rows)
    return rng.permutation([*range(alone), *(-1 - np.arange(n_rows - alone) // 4)])


def leaky(seed: int, n_rows: int = 90) -> tuple[pd.DataFrame, np.ndarray]:
    """Columns that number or name the rows, or copy the labels, and some that nearly do."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n_rows)
    y[:3] = 0, 1, 2
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=n_rows) + y,
            "number": np.arange(n_rows) * 3,
            "backwards": -np.arange(n_rows),
            "customer_id": rng.permutation(n_rows) + 1000,
            "group_id": rng.permutation(n_rows) // 2,
            "shuffled": rng.permutation(n_rows),
            "day": START + pd.to_timedelta(np.arange(n_rows), "D"),
            "visit": START + pd.to_timedelta(rng.permutation(n_rows), "D"),
            "name": [f"n{each}" for each in rng.permutation(n_rows)],
            "model": [f"m{each}" for each in names_of_some(n_rows, 0.6, rng)],
            "city": [f"c{each}" for each in names_of_some(n_rows, 0.4, rng)],
            "segment": np.array(["ash", "birch", "cedar"])[y],
            "leak": 7 - y,
            "nearly": y,
            "flag": y > 0,
        }
    )
    frame.loc[n_rows - 1, "nearly"] = 5
    if seed % 2:
        frame.loc[rng.integers(n_rows, size=3), ["name", "segment"]] = None
        frame["number"] = frame["number"].astype("Int64").mask(np.arange(n_rows) == 40)
    return frame, y


def said(estimator, X, y):
    """Fit, and return what is said of columns that are left out."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ColumnWarning)
        warnings.simplefilter("ignore", NoiseWarning)
        estimator.fit(X, y)
    return sorted(str(each.message) for each in caught if each.category is ColumnWarning)


@pytest.mark.parametrize("seed", range(4))
def test_ids_and_leaks_are_left_out_as_in_memory(seed):
    frame, y = leaky(seed)
    noisy = np.where(np.arange(len(y)) % 11 == 0, -1, y)
    rows = split_at(frame, [7, 7, 30, 31])
    alone, together = SpexClique(), SpexClique()
    for labels, given_ in ((y, y), (noisy, da.from_array(noisy, chunks=25))):
        expected = said(alone, frame, labels)
        assert said(together, rows, given_) == expected
        assert together.tree_ == alone.tree_
    assert {"'number'", "'customer_id'", "'leak'", "'model'"} <= {
        each.split()[1] for each in expected
    }
    assert not {"'shuffled'", "'visit'", "'nearly'", "'group_id'", "'city'"} & {
        each.split()[1] for each in expected
    }
    table = together.explanation_.training.table
    places = [list(frame).index(name) for name in ("flag", "name", "day", "x")]
    found = suspects.suspicious_columns(table.select(places), y)
    assert set(found) == {1, 2}
    chosen = SpexClique(features=["customer_id", "leak"])
    assert not said(chosen, rows, y)
    assert chosen.tree_ == SpexClique(features=["customer_id", "leak"]).fit(frame, y).tree_


@pytest.mark.parametrize("gap", [None, "other", "x"])
def test_columns_of_0_and_1_are_asked_for_1(gap):
    frame = pd.DataFrame({"x": [0, 0, 1, 1, 0, 1], "other": [2.5, 1.0, 3.0, 2.0, 1.5, 2.0]})
    if gap:
        frame[gap] = frame[gap].astype("Float64").astype("Int64" if gap == "x" else "Float64")
        frame.loc[0, gap] = pd.NA
    y = frame["x"].fillna(0).to_numpy(int)
    model = SpexClique().fit(split_at(frame, [2, 4]), y)
    assert model.tree_ == SpexClique().fit(frame, y).tree_
    assert model.to_text() == SpexClique().fit(frame, y).to_text()
    assert "x = 0" in model.to_text()


@pytest.mark.parametrize("values", [[np.nan] * 6, [None] * 6, [2.0] * 6, ["a"] * 6])
def test_a_table_without_different_values_is_refused(values):
    frame = pd.DataFrame({"x": values})
    for cuts in ([], [2, 4]):
        with pytest.raises(ValueError, match="All columns of X are constant"):
            SpexClique().fit(split_at(frame, cuts), np.array([0, 0, 0, 0, 0, 1]))
    frame.loc[3:4, "x"] = None if frame["x"].notna().all() else 1.0
    assert SpexClique().fit(split_at(frame, [2, 4]), np.array([0, 0, 0, 1, 1, 0])).n_leaves_ == 2


def test_many_different_values_are_counted_by_some():
    """More values than marks: what is sent stays small, and ids are found all the same."""
    rng = np.random.default_rng(0)
    ids = rng.permutation(20_000)
    column = Column("customer_id", "whole")
    for values, share in ((ids, 1.0), (ids // 2, 0.5)):
        parts = [
            suspects._signs(each[:, None], columns=[(0, column)], n_marks=1024)[0]
            for each in np.array_split(values.astype(float), 5)
        ]
        signs = suspects._joined(parts, 1024)
        assert len(signs.marks) == 1024
        found = suspects._n_different(signs.marks, 1024) / len(values)
        assert found == pytest.approx(share, rel=0.15)
    described = Column("model", "category", tuple(map(str, range(20_000))))
    for n_shared in (8000, 12_000):  # rows whose value another row has
        values = rng.permutation(np.where(ids < n_shared, ids // 2, ids)).astype(float)
        for n_marks in (None, 1024):
            parts = [
                suspects._signs(each[:, None], columns=[(0, described)], n_marks=n_marks)[0]
                for each in np.array_split(values, 5)
            ]
            reason = suspects._reason(described, suspects._joined(parts, n_marks), n_marks)
            assert reason == ("most rows have a value of their own" if n_shared == 8000 else "")
    few = suspects._signs((ids % 50)[:, None].astype(float), columns=[(0, column)], n_marks=1024)
    assert suspects._n_different(few[0].marks, 1024) == 50
