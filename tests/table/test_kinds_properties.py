"""What holds of all trees over columns of every kind."""

from datetime import UTC
from unittest import mock
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from export.conftest import DuckDB
from export.test_python_source import function
from mixed_frames import LIBRARIES, mixed_tables, n_rows, to_objects, to_pandas, to_polars
from refusals import refused
from spexplain import (
    CART,
    EMN,
    IMM,
    BestTree,
    ExGreedy,
    ExKMC,
    ExShallow,
    KernelIMM,
    NonUniformCut,
    RandomCuts,
    SpexClique,
    SpexGraph,
    SpexKNN,
    from_json,
)
from spexplain.estimators import base
from spexplain.exceptions import ColumnWarning
from spexplain.export import to_python
from spexplain.table.host import HostTable
from spexplain.table.suspects import suspicious_columns
from strategies import labels_for

pytestmark = [
    pytest.mark.filterwarnings("ignore::spexplain.exceptions.LeafCountWarning"),
    pytest.mark.filterwarnings("ignore::spexplain.exceptions.LostClusterWarning"),
    pytest.mark.filterwarnings("ignore:X (has|does not have valid) feature names:UserWarning"),
]
ESTIMATORS = [
    SpexClique(), CART(), CART(criterion="volume"), SpexGraph(2), SpexKNN(2), NonUniformCut(2), IMM(), EMN(),
    ExKMC(n_leaves=6), RandomCuts(random_state=0), ExGreedy(), ExShallow(), KernelIMM(gamma=0.1),
    KernelIMM(gamma=0.1, intervals=False, expand="mistakes", n_leaves=5), BestTree(),
]  # fmt: skip
NAMES = [type(each).__name__ for each in ESTIMATORS]


@st.composite
def labelled_mixed(draw, **options):
    """A table of mixed columns, and a clustering of its rows."""
    table = draw(mixed_tables(**options))
    return table, draw(labels_for(n_rows(table)))


def modest(table):
    """The table without magnitudes that no distance can be computed from."""
    return {
        name: (kind, [None if x is None else float(np.clip(x, -1e6, 1e6)) for x in values])
        if kind == "number"
        else (kind, values)
        for name, (kind, values) in table.items()
    }


def fitted(estimator, frame, labels, **changed):
    model = type(estimator)(**{**estimator.get_params(deep=False), **changed})
    return model.fit(frame, labels)


# --- The same table -------------------------------------------------------------------------------


@given(labelled_mixed())
def test_all_libraries_give_the_same_tree(case):
    table, labels = case
    frames = {name: make(table) for name, make in LIBRARIES.items()}
    models = {name: SpexClique(n_leaves=5).fit(frame, labels) for name, frame in frames.items()}
    for name, model in models.items():
        assert model.tree_ == models["polars"].tree_, name
        for other, frame in frames.items():
            assert model.predict(frame).tolist() == model.labels_.tolist(), (name, other)


@given(labelled_mixed(), st.randoms(use_true_random=False))
def test_order_of_columns_and_those_without_tests(case, random):
    table, labels = case
    model = CART(n_leaves=4).fit(to_polars(table), labels)
    names = random.sample(list(table), len(table))
    assert model.predict(to_polars(table)[names]).tolist() == model.labels_.tolist()
    used = [f"c{each}" for each in model.explanation_.used] or names[:1]
    for frame in (to_polars(table), to_pandas(table), to_polars(table).to_arrow()):
        tested = frame.select(used) if hasattr(frame, "select") else frame[used]
        assert model.predict(tested).tolist() == model.labels_.tolist()
    others = {name: (kind, [None] * n_rows(table)) for name, (kind, _) in table.items()}
    others |= {name: table[name] for name in used}
    assert model.predict(to_pandas(others)).tolist() == model.labels_.tolist()


@given(labelled_mixed(kinds=("date", "text", "number")), st.sampled_from(["s", "ms", "ns"]))
def test_resolution_of_dates(case, unit):
    table, labels = case
    frame = to_pandas(table)
    coarse = frame.astype(
        {name: f"datetime64[{unit}]" for name, (kind, _) in table.items() if kind == "date"}
    )
    model, other = (SpexClique(n_leaves=5).fit(each, labels) for each in (frame, coarse))
    assert model.tree_ == other.tree_
    assert model.to_text() == other.to_text()
    assert model.predict(coarse).tolist() == other.predict(frame).tolist() == model.labels_.tolist()


@given(labelled_mixed(kinds=("date",)), st.sampled_from(["UTC", "Europe/Berlin", "Asia/Kolkata"]))
def test_zones_of_dates(case, zone):
    table, labels = case
    frame = to_pandas(table).apply(lambda column: column.dt.tz_localize("UTC"))
    local = frame.apply(lambda column: column.dt.tz_convert(zone))
    model, other = (SpexClique(n_leaves=5).fit(each, labels) for each in (frame, local))
    # The roundest moment is another one elsewhere, but no training row is on another side of it.
    assert model.labels_.tolist() == other.labels_.tolist()
    assert model.predict(local).tolist() == other.predict(frame).tolist() == model.labels_.tolist()
    objects = {
        name: [x and x.replace(tzinfo=UTC).astimezone(ZoneInfo(zone)) for x in values]
        for name, (_, values) in table.items()
    }
    rows = pd.DataFrame({name: pd.Series(each, dtype=object) for name, each in objects.items()})
    assert other.predict(rows).tolist() == model.labels_.tolist()
    if model.n_leaves_ > 1:
        used = f"c{model.explanation_.used[0]}"
        naive = to_pandas(table).assign(**{used: pd.Timestamp("2020-01-01")})
        refused(lambda: other.predict(naive), words=[f"column '{used}'", "time zone"])


@given(labelled_mixed(kinds=("number",)))
def test_single_precision(case):
    table, labels = case
    with np.errstate(over="ignore"):
        single = to_pandas(modest(table)).astype(np.float32)
    assume(any(single[name].nunique(dropna=False) > 1 for name in single))
    model = SpexClique(n_leaves=5).fit(single, labels)
    double = SpexClique(n_leaves=5).fit(single.astype(np.float64), labels)
    assert model.tree_ == double.tree_
    for rows in (single, single.astype(np.float64), single.to_numpy()):
        assert model.predict(rows).tolist() == model.labels_.tolist()


# --- All methods ----------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=NAMES)
@given(case=labelled_mixed(min_rows=6, max_rows=12))
def test_training_rows_are_in_the_leaves_that_were_grown(estimator, case):
    table, labels = modest(case[0]), case[1]
    frame, seen = to_polars(table), []

    def watched(tree, of, *known):
        after = base_settled(tree, of, *known)
        seen.append((of.leaves(tree), of.leaves(after)))
        return after

    base_settled = base.settled
    with mock.patch.object(base, "settled", watched):
        model = fitted(estimator, frame, labels)
    assert seen or isinstance(model, BestTree)
    assert all(before.tolist() == after.tolist() for before, after in seen)
    assert model.predict(frame).tolist() == model.labels_.tolist()
    sizes = model.tree_.size[model.tree_.leaves]
    assert sizes.tolist() == np.bincount(model.labels_, minlength=model.n_leaves_).tolist()
    copy = from_json(model.to_json())
    assert copy.tree_ == model.tree_
    assert copy.predict(frame).tolist() == model.labels_.tolist()


@pytest.mark.parametrize("goal", ["objective", "agreement"])
@pytest.mark.parametrize(
    "estimator", [SpexClique(), CART(), SpexKNN(2), IMM()], ids=lambda each: type(each).__name__
)
@given(case=labelled_mixed(min_rows=6, max_rows=12), least=st.integers(1, 2))
def test_refinement(estimator, goal, case, least):
    table, labels = modest(case[0]), case[1]
    frame = to_polars(table)
    limits = {"n_leaves": 4, "min_samples_leaf": least}
    grown = fitted(estimator, frame, labels, **limits)
    model = fitted(estimator, frame, labels, refine=goal, **limits)
    assert model.predict(frame).tolist() == model.labels_.tolist()
    if goal == "agreement":
        assert model.agreement_ >= grown.agreement_ - 1e-9
    else:
        assert model.objective_ <= grown.objective_ + 1e-9
    if least > 1:
        assert np.bincount(model.labels_).min() >= min(least, len(labels))


@pytest.mark.parametrize(
    "estimator",
    [SpexClique(), CART(), SpexGraph(2), IMM(), EMN(), ExKMC()],
    ids=lambda each: type(each).__name__,
)
@given(case=labelled_mixed(min_rows=6, max_rows=12), data=st.data())
def test_truncated_trees_are_those_grown_smaller(estimator, case, data):
    table, labels = modest(case[0]), case[1]
    frame = to_polars(table)
    model = fitted(estimator, frame, labels, n_leaves=6)
    m = data.draw(st.integers(1, model.n_leaves_))
    smaller = model.truncated(m)
    assert smaller.tree_ == fitted(estimator, frame, labels, n_leaves=m).tree_
    assert smaller.predict(frame).tolist() == smaller.labels_.tolist()


@given(labelled_mixed(), st.sampled_from([0.01, 0.1, 0.3]), st.integers(1, 3))
def test_rounding_tells_what_it_changes(case, share, least):
    table, labels = case
    frame = to_polars(table)
    options = {"n_leaves": 5, "min_samples_leaf": least}
    exact = SpexClique(**options).fit(frame, labels)
    model = SpexClique(round_to=share, **options).fit(frame, labels)
    assert model.predict(frame).tolist() == model.labels_.tolist()
    sizes = np.bincount(model.labels_, minlength=model.n_leaves_)
    assert model.tree_.size[model.tree_.leaves].tolist() == sizes.tolist()
    assert sizes.min() >= min(least, exact.tree_.size[exact.tree_.leaves].min())
    rows = {0: np.arange(len(labels))}
    changes = {each.node: each for each in model.rounding_}
    values = model.explanation_.training.table.values
    for node, test in exact.tree_.tests.items():
        now = model.tree_.test(node)
        assert now.feature == test.feature
        x = values[rows[node], test.feature]
        n_changed = int((test.passes(x) != now.passes(x)).sum())
        assert n_changed <= share * len(labels)
        assert n_changed == (changes[node].n_changed if node in changes else 0)
        column = model.explanation_.fields[test.feature]
        if node in changes:
            assert changes[node].exact == test.text(column)
            assert changes[node].rounded == now.text(column)
        left, right = int(model.tree_.left[node]), int(model.tree_.right[node])
        rows[left], rows[right] = rows[node][now.passes(x)], rows[node][~now.passes(x)]


# --- What was not seen in training ----------------------------------------------------------------


@given(labelled_mixed(kinds=("text", "boolean", "number")))
def test_unknown_categories_are_missing_values(case):
    table, labels = case
    model = SpexClique(n_leaves=5).fit(to_pandas(table), labels)
    texts = [name for name, (kind, _) in table.items() if kind == "text"]
    assume(texts)
    missing, unknown = to_pandas(table), to_pandas(table)
    for name in texts:
        missing[name], unknown[name] = None, "never seen"
    assert model.predict(unknown).tolist() == model.predict(missing).tolist()
    assert model.predict(pl.from_pandas(unknown)).tolist() == model.predict(missing).tolist()


@given(labelled_mixed())
def test_missing_values_are_refused_if_asked_to(case):
    table, labels = case
    frame = to_polars(table)
    gaps = [name for name, (_, values) in table.items() if None in values]
    strict = SpexClique(n_leaves=4, missing="error")
    if gaps:
        refused(lambda: strict.fit(frame, labels), words=["X contains NaN", "column 'c"])
        return
    assert strict.fit(frame, labels).tree_ == SpexClique(n_leaves=4).fit(frame, labels).tree_
    for name in table:
        rows = frame.with_columns(pl.lit(None).cast(frame[name].dtype).alias(name))
        if int(name[1:]) in strict.explanation_.used:
            refused(lambda rows=rows: strict.predict(rows), words=[f"column '{name}'"])
        else:
            assert strict.predict(rows).tolist() == strict.labels_.tolist()


# --- Row numbers and copies of the labels ---------------------------------------------------------


def customers(n=40):
    rng = np.random.default_rng(0)
    orders = rng.integers(0, 9, n)
    return pd.DataFrame(
        {
            "customer": [f"C{each:04d}" for each in range(n)],
            "row": np.arange(n),
            "order id": rng.permutation(n) + 1000,
            "orders": orders,
            "segment": np.where(orders > 4, "many", "few"),
            "since": pd.date_range("2020-01-01", periods=n),
            "seen": pd.to_datetime("2021-01-01")
            + pd.to_timedelta(rng.integers(0, 20, n), unit="D"),
        }
    )


def test_ids_and_copies_of_the_labels_are_left_out():
    frame = customers()
    labels = np.where(frame["orders"] > 4, "a", "b")
    with pytest.warns(ColumnWarning) as caught:
        model = SpexClique().fit(frame, labels)
    said = {str(each.message).split("'")[1]: str(each.message) for each in caught}
    assert set(said) == {"customer", "row", "order id", "segment", "since"}
    assert said["segment"].startswith("Column 'segment' is left out: its values are the labels")
    assert all(each.endswith("name it in features= to use it.") for each in said.values())
    assert model.to_text().startswith("orders ≤ 4")


@pytest.mark.parametrize(
    ("name", "step", "reason"),
    [
        ("visits", 9, "its values number the rows"),  # a tenth of the numbers occur
        ("population", 500, None),  # grows from row to row, but numbers nothing
        ("customer", 500, "its values number the rows"),
        ("docno", 500, "its values number the rows"),
        ("PID", -500, "its values number the rows"),
        ("userid", 500, "its values number the rows"),
        ("paid", 500, None),
        ("", 500, None),
    ],
)
def test_what_grows_with_large_gaps_is_no_row_number(name, step, reason):
    rng = np.random.default_rng(1)
    values = 1000.0 + step * np.arange(40) + rng.integers(0, max(1, abs(step) // 50), 40)
    table = HostTable(values[:, None], (name,), ("whole",))
    assert suspicious_columns(table) == ({0: reason} if reason else {})


def test_dates_that_follow_the_row_order_are_called_dates():
    with pytest.warns(ColumnWarning, match="'since' is left out: its dates follow the order of"):
        SpexClique().fit(customers()[["since", "orders"]], customers()["orders"] > 4)


@pytest.mark.parametrize("name", ["customer", "row", "order id", "segment", "since"])
def test_features_bring_columns_back(name):
    frame = customers()
    labels = np.where(frame["orders"] > 4, "a", "b")
    model = SpexClique(features=[name]).fit(frame, labels)  # no warning
    assert model.explanation_.used == [frame.columns.get_loc(name)]
    assert model.predict(frame[[name]]).tolist() == model.labels_.tolist()


# --- Engines, weights and exports -----------------------------------------------------------------


@st.composite
def weighted_fits(draw):
    """A table, labels or memberships of its rows, and weights of these or none."""
    table, labels = draw(labelled_mixed(min_rows=6, max_rows=12))
    n = len(labels)
    y = labels
    if draw(st.integers(0, 3)) == 0:
        share = st.sampled_from([0.0, 0.25, 0.5, 1.0])
        y = np.array(draw(st.lists(st.tuples(share, share), min_size=n, max_size=n)))
        assume((y.sum(axis=0) > 0).all())
        y = y / np.maximum(1.0, y.sum(axis=1))[:, None]
    weights = draw(
        st.none()
        | st.lists(st.sampled_from([0, 1, 1, 2, 3]), min_size=n, max_size=n)
        | st.lists(st.sampled_from([0.5, 1.0, 0.1]), min_size=n, max_size=n)
    )
    if weights is not None:
        weighed = np.asarray(weights, dtype=float)[:, None]
        amounts = y * weighed if y.ndim == 2 else (labels[:, None] == np.arange(5)) * weighed
        assume(np.count_nonzero(amounts.sum(axis=0)) >= 2)
        assume(np.count_nonzero(weights) >= 4)
    return table, y, weights


@pytest.mark.parametrize(
    "estimator",
    [SpexClique(n_leaves=5), CART(n_leaves=5), SpexKNN(4, n_neighbors=3), EMN(), ExKMC(n_leaves=4)],
    ids=lambda each: type(each).__name__,
)
@given(case=weighted_fits())
def test_engines_and_exports_agree(engine, estimator, case):
    table, y, weights = modest(case[0]), *case[1:]
    assume(y.ndim == 1 or estimator._needs_labels_only)
    frame = to_polars(table)
    kept = np.ones(len(y), dtype=bool) if weights is None else np.array(weights) > 0
    assume(any(len(set(np.array(each, dtype=object)[kept])) > 1 for _, each in table.values()))
    model, other = (
        type(estimator)(**{**estimator.get_params(deep=False), "engine": each}).fit(
            frame, y, sample_weight=weights
        )
        for each in (engine, "numpy")
    )
    assert model.tree_ == other.tree_
    rows = to_objects(table).tolist()
    # Each value beside each missing one, and texts that training did not see.
    for place, (kind, _) in enumerate(table.values()):
        unseen = ["never seen"] if kind == "text" else []
        rows += [
            [*row[:place], gap, *row[place + 1 :]] for row in rows[:3] for gap in [None, *unseen]
        ]
    expected = model.predict(np.array([*rows, [None] * len(table)], dtype=object)[:-1]).tolist()
    assert expected[: len(y)] == model.labels_.tolist()
    copy = from_json(model.to_json())
    assert (
        copy.predict(np.array([*rows, [None] * len(table)], dtype=object)[:-1]).tolist() == expected
    )
    predict = function(to_python(model.explanation_))
    assert [predict(row) for row in rows] == expected
    assert DuckDB().labels(model.explanation_, rows) == expected


@pytest.mark.parametrize(
    "estimator", [SpexClique(n_leaves=5), CART(n_leaves=5)], ids=["SpEx", "CART"]
)
@given(case=labelled_mixed(min_rows=6, max_rows=10), data=st.data())
def test_whole_weights_are_repeated_rows(estimator, case, data):
    table, labels = modest(case[0]), case[1]
    weights = np.array(
        data.draw(st.lists(st.integers(1, 3), min_size=len(labels), max_size=len(labels)))
    )
    repeated = {
        name: (kind, [x for x, weight in zip(values, weights, strict=True) for _ in range(weight)])
        for name, (kind, values) in table.items()
    }
    assume(weights.sum() < 20)  # longer tables are looked through for row numbers
    weighed = fitted_with(estimator, to_polars(table), labels, weights)
    again = fitted_with(estimator, to_polars(repeated), np.repeat(labels, weights), None)
    assert weighed.tree_.feature.tolist() == again.tree_.feature.tolist()
    assert weighed.predict(to_polars(repeated)).tolist() == again.labels_.tolist()


def fitted_with(estimator, frame, labels, weights):
    return type(estimator)(**estimator.get_params(deep=False)).fit(
        frame, labels, sample_weight=weights
    )
