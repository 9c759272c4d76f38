"""A model remembers what it saw, in JSON and in pickles, wherever its rows were; and never a row."""

import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from palmerpenguins import load_penguins
from scipy import sparse

import spexplain
from spexplain import CART, SpexClique, from_json
from spexplain.exceptions import ProfileWarning
from spexplain.facts.profiles import MAX_CATEGORIES

PENGUINS = load_penguins()
X, y = PENGUINS.drop(columns="species"), PENGUINS["species"]


@pytest.fixture(scope="module")
def fitted():
    return CART(n_leaves=6).fit(X, y)


def seen(model):
    explanation = model.explanation_
    profile = explanation.seen
    return {explanation.names[each]: column for each, column in profile.columns.items()}


def test_what_is_remembered(fitted):
    found = seen(fitted)
    used = {fitted.explanation_.names[each] for each in fitted.explanation_.used}
    assert set(found) == used
    bill = found["bill_length_mm"]
    known = X["bill_length_mm"].dropna()
    assert (bill.n_rows, bill.n_missing) == (344, 2)
    assert (bill.low, bill.high) == (known.min(), known.max())
    assert bill.quantiles[10] == np.quantile(known, 0.5, method="inverted_cdf")
    islands = dict(zip(["Biscoe", "Dream", "Torgersen"], found["island"].counts, strict=True))
    assert islands == X["island"].value_counts().to_dict()


def test_json_and_pickles_hold_it(fitted):
    text = fitted.to_json()
    loaded = from_json(text)
    assert loaded.to_json() == text
    assert seen(loaded) == seen(fitted)
    again = pickle.loads(pickle.dumps(fitted))
    assert again.explanation_.training.table is None
    assert seen(again) == seen(fitted)
    assert again.check(X).facts == loaded.check(X).facts == fitted.check(X).facts


def test_which_columns(fitted):
    everything = from_json(fitted.to_json(profile="all"))
    assert set(seen_all := everything.explanation_.profile.columns) == set(range(X.shape[1]))
    assert set(from_json(everything.to_json()).explanation_.profile.columns) == set(seen_all)
    nothing = from_json(fitted.to_json(profile="none"))
    assert nothing.explanation_.profile is None
    names = {each["column"] for each in everything.check(X).facts["columns"]}
    assert names == set(X.columns)
    with pytest.raises(
        ValueError, match=r'profile=.some. must be "tested", "all", "rows" or "none"'
    ):
        fitted.to_json(profile="some")


def test_a_model_that_remembers_nothing_still_checks_segments(fitted):
    data = json.loads(fitted.to_json())
    del data["seen"]
    old = from_json(json.dumps(data | {"version": 2}))
    assert old.check(X).passed
    kinds = {each["kind"] for each in old.check(X[y == "Gentoo"]).findings}
    assert {"segment-doubled", "segment-drift", "segment-vanished"} <= kinds
    renamed = old.check(X.assign(island=X["island"].replace("Dream", "z")))
    assert "new-category" in {each["kind"] for each in renamed.findings}


def test_no_row_is_in_it(fitted):
    """Values of three columns stand together in no place: quantiles of each are sorted by themselves."""
    data = json.loads(fitted.to_json(profile="all"))
    assert set(data["seen"]) == {"rows", "columns"}
    for column in data["seen"]["columns"].values():
        assert set(column) == {"rows", "missing", "counts", "quantiles", "numbers_rows"}
        assert len(column["quantiles"]) in (0, 21)
        assert column["quantiles"] == sorted(column["quantiles"])
    assert len(json.dumps(data["seen"])) < 5_000


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_are_stored_if_asked_for(fitted, weighted, tmp_path):
    """Then the model that is read says all about rows that the estimator says."""
    model = fitted
    if weighted:
        model = CART(n_leaves=5).fit(X, y, sample_weight=np.arange(len(X)) % 4)
    text = model.to_json(profile="rows")
    loaded = from_json(text)
    assert loaded.to_json(profile="rows") == text
    assert "rows" not in json.loads(loaded.to_json())  # they go no further by themselves
    expected = model.summary(runner_up=False, certificate=False)
    found = loaded.summary()
    assert {key: found[key] for key in found if key != "settings"} == {
        key: expected[key] for key in expected if key != "settings"
    }
    assert loaded.verdict_ == model.verdict_
    assert loaded.report(tmp_path / "report.html").read_text().count("<svg") > 3
    inner = int(np.flatnonzero(loaded.tree_.left > 0)[-1])
    edited = [each.explanation_.prune(inner) for each in (model, loaded)]  # counted on the rows
    assert edited[0].node_counts.tolist() == edited[1].node_counts.tolist()


def test_rows_of_every_kind_are_stored():
    start = pd.Timestamp("2024-01-01")
    rows = pd.DataFrame(
        {
            "since": start + pd.to_timedelta(np.arange(40) % 13, "D"),
            "channel": pd.Series(["web", "app", None, "shop"] * 10, dtype="category"),
            "member": [True, False] * 20,
            "spent": np.where(np.arange(40) % 7, np.arange(40) / 3, np.nan),
        },
        index=[f"customer {i}" for i in range(40)],
    )
    labels = np.array(["a", "b", "-1", "c"] * 10)
    model = SpexClique(n_leaves=4, noise="-1").fit(rows, labels)
    loaded = from_json(model.to_json(profile="rows"))
    kept, given = loaded.explanation_.training, model.explanation_.training
    np.testing.assert_array_equal(kept.table.values, given.table.values)
    assert kept.table.columns == given.table.columns
    assert kept.reference.codes.tolist() == given.reference.codes.tolist()
    assert kept.row_ids.tolist() == rows.index.tolist()


def test_rows_that_cannot_be_stored(fitted):
    with pytest.raises(ValueError, match="which this CART does not remember"):
        from_json(fitted.to_json()).to_json(profile="rows")
    shares = np.random.default_rng(0).dirichlet([1, 1], 344)
    soft = CART(n_leaves=2).fit(X, shares)
    with pytest.raises(ValueError, match="fitted to memberships"):
        soft.to_json(profile="rows")
    tall = np.zeros((500_000, 10), dtype=np.float32)
    tall[250_000:] = 1
    with pytest.raises(ValueError, match="500,000 rows of 10 columns, which is too large for JSON"):
        CART(n_leaves=2).fit(tall, tall[:, 0] > 0).to_json(profile="rows")


def test_size():
    """50 columns and 20 leaves: less than 200 KB, whatever the number of rows."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"number {i}": rng.normal(size=3000) for i in range(30)})
    for i in range(20):
        words = [f"category {j} of {i}" for j in range(40)]
        frame[f"text {i}"] = rng.choice(words, 3000)
    labels = (frame["number 0"] > 0).astype(int) + 2 * (frame["number 1"] > frame["number 2"])
    model = CART(n_leaves=20).fit(frame, labels)
    text = model.to_json(profile="all")
    assert len(text) < 200_000
    assert len(from_json(text).explanation_.profile.columns) == 50
    many = frame.assign(name=[f"customer {i % 2000}" for i in range(3000)])
    model = CART(n_leaves=4, features=["number 0", "number 1"]).fit(many, labels)
    stored = from_json(model.to_json(profile="all")).explanation_
    assert stored.names.index("name") not in stored.profile.columns  # too many to be remembered
    assert MAX_CATEGORIES < 2000
    assert "customer 17" not in model.to_json(profile="all")


@pytest.mark.parametrize("kind", ["numpy", "pandas", "polars", "arrow", "sparse", "dask", "lists"])
def test_wherever_the_rows_are(kind):
    rows = load_penguins().dropna().drop(columns=["species", "island", "sex", "year"])
    labels = load_penguins().dropna()["species"].to_numpy()
    made = {
        "numpy": lambda each: each.to_numpy(dtype=np.float64),
        "pandas": lambda each: each,
        "polars": pl.from_pandas,
        "arrow": lambda each: pl.from_pandas(each).to_arrow(),
        "sparse": lambda each: sparse.csr_array(each.to_numpy(dtype=np.float64)),
        "dask": _dask,
        "lists": lambda each: each.to_numpy().tolist(),
    }[kind]
    model = CART(n_leaves=4).fit(made(rows), labels)
    twin = CART(n_leaves=4).fit(rows, labels)
    assert model.tree_ == twin.tree_
    assert list(model.explanation_.seen.columns.values()) == list(
        twin.explanation_.seen.columns.values()
    )
    loaded = from_json(model.to_json())
    moved = rows * 1000
    check = loaded.check(made(moved), labels)
    expected = [(each["kind"], each["level"]) for each in twin.check(moved, labels).findings]
    assert [(each["kind"], each["level"]) for each in check.findings] == expected
    assert "unit-jump" in dict(expected)
    assert loaded.check(made(rows)).passed


def _dask(frame):
    import dask.dataframe as dd

    return dd.from_pandas(frame.reset_index(drop=True), npartitions=3)


def test_dask_frames_of_every_kind(fitted):
    loaded = from_json(fitted.to_json())
    rows = X.assign(island=X["island"].replace("Dream", "dream"), extra=1)
    lazy = _dask(rows.rename(columns={"bill_depth_mm": "depth"}))
    whole = loaded.check(rows.rename(columns={"bill_depth_mm": "depth"}), y)
    assert loaded.check(lazy, y).facts == whole.facts
    assert loaded.check(lazy, _dask(y.to_frame())["species"]).facts == whole.facts
    with pytest.raises(ValueError, match="y has 10 labels, but X has 344 rows"):
        loaded.check(lazy, y[:10])


def test_columns_in_any_order_and_others_beside(fitted):
    rows = X[X.columns[::-1]].assign(other="text", more=1.5)
    assert fitted.check(rows).facts == fitted.check(X).facts
    np.testing.assert_array_equal(fitted.predict(rows), fitted.predict(X))


def test_a_table_that_changed(recwarn):
    values = np.random.default_rng(0).normal(size=(300_000, 4))
    model = CART().fit(values, values[:, 0] > 0)
    values[:] = 0
    with pytest.warns(
        ProfileWarning, match="no longer be described, so new rows cannot be compared"
    ):
        text = model.to_json()
    assert from_json(text).explanation_.profile is None


def test_weights_and_smaller_trees():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(300, 3)), columns=list("abc"))
    labels = (rows["a"] > 0).astype(int) + (rows["b"] > 0)
    model = CART(n_leaves=6).fit(rows, labels, sample_weight=rng.integers(0, 4, 300))
    loaded = from_json(model.to_json())
    assert loaded.check(rows).passed
    smaller = from_json(CART(n_leaves=6).fit(rows, labels).truncated(2).to_json())
    assert smaller.check(rows).passed
    assert smaller.truncated(5).check(rows).passed
    assert smaller.to_json() == from_json(smaller.to_json()).to_json()


def test_dates_and_durations():
    start = pd.Timestamp("2024-01-01")
    days = np.arange(400)
    rows = pd.DataFrame(
        {"since": start + pd.to_timedelta(days, "D"), "stay": pd.to_timedelta(days % 90, "h")}
    )
    labels = (days > 150).astype(int) + 2 * (days % 90 > 40)
    with pytest.warns(UserWarning, match="since"):
        CART().fit(rows, labels)
    model = from_json(CART(features=["since", "stay"]).fit(rows, labels).to_json())
    assert model.check(rows).passed
    for unit in ("s", "ms", "us", "ns"):  # the same moments
        same = rows.assign(since=rows["since"].astype(f"datetime64[{unit}]"))
        np.testing.assert_array_equal(model.predict(same), model.predict(rows))
        assert model.check(same).passed
    later = model.check(rows.assign(since=rows["since"] + pd.Timedelta("400D")))
    texts = " ".join(each["text"] for each in later.findings)
    assert "above the greatest value seen, 2025-02-03 (now up to 2026-03-10)" in texts
    assert json.loads(later.to_json())["columns"][0]["high_then"] == "2025-02-03"


def test_reports_of_other_rows(fitted, tmp_path):
    loaded = from_json(fitted.to_json())
    rows, labels = X.iloc[::2], y.iloc[::2]
    summary = loaded.summary(rows, labels)
    assert summary["n_rows"] == len(rows)
    expected = (loaded.predict_reference(rows) == labels).mean()
    assert summary["fidelity"] == pytest.approx(expected)
    assert [each["label"] for each in summary["leaves"]] == fitted.leaf_reference_.tolist()
    with pytest.raises(ValueError, match="pass their labels as y"):
        loaded.summary(rows)
    with pytest.raises(ValueError, match="labels of type int64"):
        loaded.summary(rows, np.arange(len(rows)) % 3)
    only = loaded.summary(
        X[y == "Gentoo"], y[y == "Gentoo"]
    )  # clusters that no row has keep their names
    assert {each["label"] for each in only["leaves"]} == set(y)
    assert loaded.report(tmp_path / "other.html", rows, labels).exists()
    html = loaded.report(tmp_path / "stored.html").read_text()
    assert "32.1 to 59.6" in html  # what the model remembers


def test_pages(fitted, tmp_path):
    check = fitted.check(X.assign(bill_length_mm=X["bill_length_mm"] * 10), y)
    html = check.report(tmp_path / "check.html", title="Next month").read_text()
    assert "<title>Next month</title>" in html
    assert all(each["kind"] in html for each in check.findings)
    assert "<script" not in html
    assert json.loads(check.to_json()) == check.facts
    assert spexplain.explanation.Check(check.facts).to_text() == str(check)
