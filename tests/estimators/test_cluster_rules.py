"""Rules per cluster: the best of one and two conditions, what they predict, and every way out of Python."""

import json
import pickle
import sqlite3
from itertools import pairwise
from unittest.mock import patch

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from palmerpenguins import load_penguins
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine
from sklearn.feature_extraction.text import CountVectorizer

from mixed_frames import mixed_tables, to_pandas, to_polars
from oracles.rules import best_value, best_words, measure
from refusals import refused
from spexplain import ClusterRules, datasets, from_json
from spexplain.exceptions import ColumnWarning, NoiseWarning
from spexplain.rules import Task, best_rule, spaces
from spexplain.rules.spaces import Regions, Words
from spexplain.tree import Column, Region
from spexplain.tree.rule import Condition, Rule

PENGUINS = load_penguins()
TABLE = PENGUINS.drop(columns="species")
IRIS = datasets.load("iris")
MEASURES = st.sampled_from(["f1", "f2", "f0.5", "balanced"])
TOPICS = {
    "ice": [
        "the puck is on the ice",
        "skating on ice",
        "ice and puck",
        "the goalie caught the puck",
    ],
    "space": [
        "the moon and the orbit",
        "an orbit of the moon",
        "the shuttle in orbit",
        "launch",
    ],
    "cars": [
        "the car and its engine",
        "a new engine",
        "drive the car",
        "the engine is cold as ice",
    ],
}
TEXTS = [text for texts in TOPICS.values() for text in texts]
THEMES = np.repeat(list(TOPICS), 4)


# --- The best rules there are ---------------------------------------------------------------------


@st.composite
def weighted(draw, n_rows):
    """What rows weigh inside and outside of a cluster; some count nothing."""
    side = np.array(draw(st.lists(st.integers(0, 2), min_size=n_rows, max_size=n_rows)))
    weight = np.array(
        draw(st.lists(st.sampled_from([0.0, 1.0, 1.0, 2.0, 0.5]), min_size=n_rows, max_size=n_rows))
    )
    inside, outside = np.where(side == 0, weight, 0.0), np.where(side == 1, weight, 0.0)
    inside[0], outside[0] = 1.0, 0.0
    return inside, outside


@st.composite
def problems(draw):
    n_rows = draw(st.integers(3, 14))
    columns, described = [], []
    for number in range(draw(st.integers(1, 3))):
        is_set = draw(st.booleans())
        values = st.sampled_from([*range(4 if is_set else 7), np.nan])
        columns.append(draw(st.lists(values, min_size=n_rows, max_size=n_rows)))
        categories = tuple("abcd") if is_set else ()
        described.append(Column(f"c{number}", "category" if is_set else "number", categories))
    return np.array(columns, dtype=float).T, described, draw(weighted(n_rows))


@given(
    problem=problems(),
    name=MEASURES,
    n_bins=st.sampled_from([1, 2, 3, 32]),
    width=st.integers(1, 3),
)
@settings(max_examples=120, deadline=None)
def test_one_and_two_conditions_are_the_best_there_are(problem, name, n_bins, width):
    X, described, (inside, outside) = problem
    task = Task.of(inside, outside, name)
    with patch.object(spaces, "_N_BINS", n_bins):  # so that bins hold several values
        space = Regions(X, np.arange(X.shape[1]), described)
        for n_conditions in (1, 2):
            found = best_rule(space, task, max_conditions=n_conditions, width=width)
            best = best_value(X, described, inside, outside, n_conditions, name)
            assert found.value == pytest.approx(max(best, task.nothing), abs=1e-9)
            assert found.is_optimal
            if found.clauses:
                rows = space.rows(found.clauses)
                assert measure(rows, inside, outside, name) == pytest.approx(found.value, abs=1e-9)


@given(data=st.data(), name=MEASURES, n_rows=st.integers(2, 14), n_words=st.integers(1, 6))
@settings(max_examples=120, deadline=None)
def test_one_and_two_words_are_the_best_there_are(data, name, n_rows, n_words):
    row = st.lists(st.booleans(), min_size=n_words, max_size=n_words)
    has = np.array(data.draw(st.lists(row, min_size=n_rows, max_size=n_rows)))
    inside, outside = data.draw(weighted(n_rows))
    task = Task.of(inside, outside, name)
    space = Words(sparse.csr_array(has.astype(float)), np.arange(n_words))
    for size in (1, 2):
        found = best_rule(space, task, max_conditions=size, width=1)
        best = best_words(has, inside, outside, size, name)
        assert found.value == pytest.approx(max(best, task.nothing), abs=1e-9)


@given(problem=problems(), name=MEASURES)
@settings(max_examples=60, deadline=None)
def test_compiled_and_plain_search_of_a_column_agree(problem, name):
    X, described, (inside, outside) = problem
    task = Task.of(inside, outside, name)
    space = Regions(X, np.arange(X.shape[1]), described)
    values = space._best_values(task.rows, task)
    for place, value in enumerate(values):
        sums = space._sums(place, task.rows, task)
        found = spaces.best_region(int(space.kinds[place]), *sums, task)
        assert found.value == pytest.approx(value, abs=1e-12)


def test_longer_rules_are_never_worse():
    for name, data in (("wine", load_wine()), ("digits", load_digits())):
        values = [
            ClusterRules(size, n_alternatives=0).fit(data.data, data.target).rules(output="records")
            for size in (1, 2, 3)
        ]
        for shorter, longer in pairwise(values):
            for one, other in zip(shorter, longer, strict=True):
                assert other["f1"] >= one["f1"] - 1e-12, name
        assert all(record["proved"] for record in values[1])


# --- The estimator --------------------------------------------------------------------------------


def test_rules_of_penguins():
    rules = ClusterRules().fit(TABLE, PENGUINS["species"])
    records = rules.rules(output="records")
    assert [record["cluster"] for record in records] == ["Adelie", "Chinstrap", "Gentoo"]
    assert records[1]["rule"] == "island = Dream and bill_length_mm > 42.3"
    holds = (PENGUINS["island"] == "Dream") & (PENGUINS["bill_length_mm"] > 42.3)
    own = PENGUINS["species"] == "Chinstrap"
    assert records[1]["rows"] == holds.sum()
    assert records[1]["precision"] == (holds & own).sum() / holds.sum()
    assert records[1]["recall"] == (holds & own).sum() / own.sum()
    assert records[1]["lift"] == pytest.approx(records[1]["precision"] / own.mean())
    assert np.array_equal(rules.matches(TABLE)[:, 1], holds)
    found = rules.predict(TABLE)
    assert np.array_equal(found, rules.labels_)
    n_rules = rules.matches(TABLE).sum(axis=1)
    assert np.array_equal(found == "-1", n_rules == 0)
    assert (
        f"{(n_rules == 0).sum()} rows meet no rule, {(n_rules > 1).sum()} rows" in rules.to_text()
    )
    assert np.mean(found == PENGUINS["species"]) > 0.97
    overlaps = rules.overlaps(output="pandas").set_index("cluster").to_numpy()
    both = rules.matches(TABLE).astype(int)
    assert np.array_equal(overlaps, both.T @ both)


def test_alternatives_use_other_columns():
    rules = ClusterRules(2, n_alternatives=3).fit(TABLE, PENGUINS["species"])
    for cluster in rules.explanation_.clusters:
        used = [set(rule.used) for rule in (cluster, *cluster.alternatives)]
        assert sum(map(len, used)) == len(set().union(*used))
    every = rules.rules(alternatives=True)
    assert set(every["alternative"]) >= {0, 1}
    assert list(every[every["alternative"] == 0]["rule"]) == list(rules.rules()["rule"])
    assert (
        not ClusterRules(n_alternatives=0)
        .fit(TABLE, PENGUINS["species"])
        .rules(alternatives=True)["alternative"]
        .any()
    )


def test_several_rules_improve_a_cluster_of_two_parts():
    x = np.r_[np.arange(10), np.arange(20, 30), np.arange(40, 50)].astype(float)
    y = np.repeat(["both", "middle", "both"], 10)
    one = ClusterRules(n_alternatives=0).fit(x[:, None], y)
    two = ClusterRules(n_rules=3, n_alternatives=0).fit(x[:, None], y)
    assert one.rules()["f1"][0] < 1
    assert two.rules()["f1"][0] == 1
    assert sorted(two.rules()["rule"][0].split(" or ")) == ["x0 > 30", "x0 ≤ 10"]
    assert np.array_equal(two.predict(x[:, None]), y)


@pytest.mark.parametrize("name", ["f1", "f2", "f0.5", "balanced"])
def test_rules_without_overlap_hold_for_no_row_twice(name):
    data = load_wine()
    apart = ClusterRules(2, overlap=False, measure=name).fit(
        data.data, data.target % 2 + data.target // 2
    )
    assert apart.matches(data.data).sum(axis=1).max() == 1
    rules = ClusterRules(2, measure=name, overlap=False).fit(
        TABLE.drop(columns="island"), PENGUINS["island"]
    )
    assert rules.matches(TABLE).sum(axis=1).max() == 1
    assert (rules.rules()["f1"] > 0).all()


def test_measures_pull_towards_precision_and_recall():
    found = {
        name: ClusterRules(1, measure=name, n_alternatives=0)
        .fit(TABLE.drop(columns="island"), PENGUINS["island"])
        .rules()
        for name in ("f0.5", "f1", "f2")
    }
    assert found["f0.5"]["precision"].mean() > found["f1"]["precision"].mean() - 1e-9
    assert found["f2"]["recall"].mean() > found["f1"]["recall"].mean() - 1e-9
    assert found["f2"]["recall"].mean() > found["f0.5"]["recall"].mean()


@given(table=mixed_tables(min_rows=4, max_rows=10), data=st.data())
@settings(max_examples=30, deadline=None)
def test_weights_are_repetitions_whatever_the_columns(table, data):
    frame = to_pandas(table)
    n_rows = len(frame)
    labels = np.array(data.draw(st.lists(st.sampled_from("ab"), min_size=n_rows, max_size=n_rows)))
    labels[:2] = "a", "b"
    weights = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n_rows, max_size=n_rows)))
    weights[:2] += 1
    options = {"max_conditions": 2, "n_alternatives": 0, "features": list(range(frame.shape[1]))}
    ours = ClusterRules(**options).fit(frame, labels, sample_weight=weights)
    repeated = frame.loc[np.repeat(np.arange(n_rows), weights)].reset_index(drop=True)
    assume(repeated.nunique(dropna=False).max() > 1)
    theirs = ClusterRules(**options).fit(repeated, np.repeat(labels, weights))
    for one, other in zip(
        ours.rules(output="records"), theirs.rules(output="records"), strict=True
    ):
        assert one["f1"] == pytest.approx(other["f1"], abs=1e-9)
    assert np.array_equal(ours.predict(to_polars(table)), ours.labels_)


def test_memberships_and_noise():
    hard = ClusterRules(2).fit(IRIS.data, IRIS.target)
    shares = np.eye(3)[IRIS.target]
    assert ClusterRules(2).fit(IRIS.data, shares).to_text() == hard.to_text()
    soft = ClusterRules(2).fit(IRIS.data, 0.8 * shares + 0.1)
    assert soft.rules()["precision"].max() < 1
    noisy = np.where(np.arange(150) % 10 == 0, -1, IRIS.target)
    ignored = ClusterRules(2).fit(IRIS.data, noisy)
    dropped = ClusterRules(2).fit(IRIS.data[noisy >= 0], noisy[noisy >= 0])
    assert ignored.rules()["f1"].tolist() == dropped.rules()["f1"].tolist()
    assert ignored.classes_.tolist() == [0, 1, 2]
    assert ClusterRules(1, noise="cluster").fit(IRIS.data, noisy).classes_.tolist() == [-1, 0, 1, 2]
    with pytest.warns(NoiseWarning, match="1 row without a label"):
        ClusterRules(1).fit(IRIS.data[:80], [None, *IRIS.target_names[IRIS.target][1:80]])


def test_ids_and_copies_of_the_labels_are_left_out():
    frame = TABLE.assign(customer=np.arange(len(TABLE)), kind=PENGUINS["species"].str.upper())
    with pytest.warns(ColumnWarning, match="is left out") as caught:
        rules = ClusterRules(2).fit(frame, PENGUINS["species"])
    assert {str(each.message).split("'")[1] for each in caught} == {"customer", "kind"}
    assert caught[0].filename == __file__
    assert rules.to_text() == ClusterRules(2).fit(TABLE, PENGUINS["species"]).to_text()
    named = ClusterRules(1, features=["kind"]).fit(frame, PENGUINS["species"])
    assert named.rules()["rule"].tolist() == ["kind = ADELIE", "kind = CHINSTRAP", "kind = GENTOO"]


def test_texts_that_are_names_in_most_rows_are_left_out():
    """Sets of values that occur once would fit any clusters."""
    at = np.arange(len(TABLE))
    own, shared = at % 5 < 3, at % 5 < 2
    frame = TABLE.assign(
        name=np.where(own, [f"name {each}" for each in at], [f"name {each % 60}" for each in at]),
        city=np.where(
            shared, [f"city {each}" for each in at], [f"city {each % 60}" for each in at]
        ),
    )
    with pytest.warns(ColumnWarning) as caught:
        ClusterRules(1).fit(frame, PENGUINS["species"])
    assert [str(each.message) for each in caught] == [
        "Column 'name' is left out: most rows have a value of their own; name it in features= to use it."
    ]


def test_rules_do_not_depend_on_threads_order_or_library():
    one = ClusterRules(2).fit(TABLE, PENGUINS["species"])
    assert ClusterRules(2, n_jobs=2).fit(TABLE, PENGUINS["species"]).to_json() == one.to_json()
    shuffled = np.random.default_rng(0).permutation(len(TABLE))
    mixed = ClusterRules(2).fit(TABLE.iloc[shuffled], PENGUINS["species"].iloc[shuffled])
    assert mixed.to_json() == one.to_json()
    again = pickle.loads(pickle.dumps(one))
    assert again.to_text() == clone(one).fit(TABLE, PENGUINS["species"]).to_text() == one.to_text()


@given(seed=st.integers(0, 10_000), total=st.integers(1, 4))
@settings(max_examples=30, deadline=None)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_several_rules_share_a_number_of_conditions(seed, total):
    """Whatever they share, they are no worse than one rule of so many conditions, and no longer."""
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 5, (24, 3)).astype(float)
    table[rng.random(table.shape) < 0.1] = np.nan
    codes = np.append(rng.integers(0, 3, 22), [0, 1])
    one = ClusterRules(total, n_alternatives=0).fit(table, codes)
    several = ClusterRules(total, n_rules=3, max_total_conditions=total, n_alternatives=0)
    both = several.fit(table, codes)
    assert both.to_json() == clone(several).fit(table, codes).to_json()
    for alone, joined in zip(one.explanation_.clusters, both.explanation_.clusters, strict=True):
        assert sum(rule.size for rule in joined.rules) <= total
        assert len(joined.rules) <= 3
        assert joined.f1 >= alone.f1 - 1e-12


def test_two_rules_of_three_conditions_in_all():
    """A cluster that is two boxes in one column and a corner of two others needs "or"."""
    rng = np.random.default_rng(0)
    table = rng.integers(0, 10, (600, 3)).astype(float)
    own = (table[:, 0] <= 1) | ((table[:, 1] > 6) & (table[:, 2] > 6))
    rules = ClusterRules(3, n_rules=2, max_total_conditions=3, n_alternatives=0).fit(table, own)
    told = rules.rules(output="records")[1]
    assert told["f1"] == 1.0
    assert told["rule"] in (
        "x0 ≤ 1 or (x1 > 6 and x2 > 6)",
        "(x1 > 6 and x2 > 6) or x0 ≤ 1",
    )
    assert ClusterRules(3, n_alternatives=0).fit(table, own).rules(output="records")[1]["f1"] < 0.95


def test_wrong_calls_are_refused_in_one_sentence():
    refused(
        lambda: ClusterRules(max_total_conditions=0).fit(IRIS.data, IRIS.target),
        words=["max_total_conditions=0"],
    )
    refused(lambda: ClusterRules().fit(IRIS.data), words=["y", "label"])
    refused(lambda: ClusterRules(0).fit(IRIS.data, IRIS.target), words=["max_conditions=0"])
    refused(lambda: ClusterRules(measure="f3").fit(IRIS.data, IRIS.target), words=['"f1"'])
    refused(lambda: ClusterRules(overlap="no").fit(IRIS.data, IRIS.target), words=["overlap"])
    refused(lambda: ClusterRules(n_jobs=0).fit(IRIS.data, IRIS.target), words=["n_jobs"])
    refused(lambda: ClusterRules().fit(IRIS.data, IRIS.target * 0), words=["two clusters"])
    refused(lambda: ClusterRules(missing="error").fit(TABLE, PENGUINS["species"]), words=["NaN"])
    fitted = ClusterRules(1).fit(TABLE, PENGUINS["species"])
    refused(lambda: fitted.predict(TABLE[["year"]]), words=["lacks the column"])
    with pytest.raises(ValueError, match="not fitted yet"):
        ClusterRules().predict(IRIS.data)


# --- Words ----------------------------------------------------------------------------------------


def documents():
    vectorizer = CountVectorizer()
    return vectorizer, vectorizer.fit_transform(TEXTS)


def test_words_are_joined_by_any_of():
    vectorizer, counts = documents()
    rules = ClusterRules(3, feature_names=vectorizer).fit(counts, THEMES)
    texts = dict(zip(rules.classes_, rules.rules()["rule"], strict=True))
    assert texts["cars"] == 'contains any of "engine", "car"'
    assert texts["space"] == 'contains any of "orbit", "launch"'
    assert rules.macro_f1_ == 1
    assert np.array_equal(rules.predict(counts), THEMES)
    dense = ClusterRules(3, feature_names=vectorizer).fit(counts.toarray(), THEMES)
    assert dense.to_text() == rules.to_text()
    assert np.array_equal(dense.predict(counts.toarray()), THEMES)
    loaded = from_json(rules.to_json())
    assert loaded.to_text() == rules.to_text()
    assert np.array_equal(loaded.predict(counts), THEMES)


def test_words_can_be_ruled_out():
    vectorizer = CountVectorizer(token_pattern=r"\w+")
    texts = ["a b"] * 3 + ["a"] * 4 + ["b"] * 2 + ["c"] * 3
    counts = vectorizer.fit_transform(texts)
    rules = ClusterRules(2, feature_names=vectorizer).fit(counts, [text == "a" for text in texts])
    assert rules.rules()["rule"][1] == 'contains "a" and no "b"'
    assert rules.rules()["f1"][1] == 1


def test_sparse_numbers_are_searched_as_dense_ones():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (200, 12)) * (rng.random((200, 12)) < 0.3).astype(float)
    y = (X[:, 3] >= 2).astype(int) + (X[:, 5] > 0)
    dense = ClusterRules(2).fit(X, y)
    assert ClusterRules(2).fit(sparse.csr_array(X), y).to_text() == dense.to_text()
    with patch.object(spaces, "_MOST_WRITTEN", 4):  # only the most telling columns are written out
        few = ClusterRules(2, n_alternatives=0).fit(sparse.csr_array(X), y)
    assert few.rules()["f1"].tolist() == dense.rules()["f1"].tolist()
    assert np.array_equal(few.predict(sparse.csr_array(X)), dense.predict(X))


# --- Out of Python --------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"n_rules": 2}, {"overlap": False, "max_conditions": 1}])
def test_duckdb_says_what_predict_says(options):
    rules = ClusterRules(**options).fit(TABLE, PENGUINS["species"])
    odd = TABLE.copy()
    odd.loc[::7, "island"] = "Elsewhere"
    odd.loc[::5, "bill_length_mm"] = np.nan
    odd.loc[::3, "sex"] = None
    database = duckdb.connect()
    for rows in (TABLE, odd):
        database.register("penguins", rows)
        found = database.sql(rules.to_sql(table="penguins", name="species")).df()
        assert np.array_equal(found["species"].fillna("-1").to_numpy(), rules.predict(rows))
        flags = found[[f"is_{label}" for label in rules.classes_]]
        assert flags.dtypes.eq(bool).all()
        assert np.array_equal(flags.to_numpy(), rules.matches(rows))


@given(table=mixed_tables(kinds=("number", "whole", "flag", "text"), min_rows=4), data=st.data())
@settings(max_examples=40, deadline=None)
def test_sqlite_says_what_predict_says(table, data):
    frame = to_pandas(table)
    n_rows = len(frame)
    labels = np.array(data.draw(st.lists(st.sampled_from("abc"), min_size=n_rows, max_size=n_rows)))
    labels[:2] = "a", "b"
    names = list(frame.columns)
    rules = ClusterRules(2, features=names).fit(frame, labels)
    with sqlite3.connect(":memory:") as database:
        kinds = {"number": "REAL", "whole": "INTEGER", "flag": "INTEGER", "text": "TEXT"}
        columns = ", ".join(f'"{name}" {kinds[kind]}' for name, (kind, _) in table.items())
        database.execute(f"CREATE TABLE rows ({columns})")
        values = list(zip(*(values for _, values in table.values()), strict=True))
        marks = ", ".join("?" * len(names))
        database.executemany(f"INSERT INTO rows VALUES ({marks})", values)
        found = database.execute(rules.to_sql(dialect="sqlite", table="rows")).fetchall()
    clusters = ["-1" if row[-1] is None else row[-1] for row in found]
    assert clusters == rules.predict(frame).tolist()
    flags = np.array([row[len(names) : -1] for row in found], dtype=bool)
    assert np.array_equal(flags, rules.matches(frame))


def test_sql_of_words_and_its_refusals():
    vectorizer, counts = documents()
    rules = ClusterRules(3, feature_names=vectorizer).fit(counts, THEMES)
    words = pd.DataFrame(counts.toarray(), columns=vectorizer.get_feature_names_out())
    database = duckdb.connect()
    database.register("documents", words)
    found = database.sql(rules.to_sql(table="documents", name="theme")).df()["theme"]
    assert np.array_equal(found, THEMES)
    assert rules.to_sql().startswith('CASE WHEN ("engine" > 0')
    assert rules.to_sql(table="documents", view="themes").startswith('CREATE VIEW "themes" AS')
    refused(lambda: rules.to_sql(table="documents", name="ice"), words=["ice"])
    refused(lambda: rules.to_sql(table="documents", prefix=""), words=["ice"])
    refused(lambda: rules.to_sql(view="themes"), words=["table"])
    refused(lambda: rules.to_sql(table="documents", name="IS_CARS"), words=["is_cars"])


def test_json_holds_everything_but_the_rows():
    rules = ClusterRules(n_rules=2).fit(TABLE, PENGUINS["species"])
    loaded = from_json(rules.to_json())
    assert loaded.to_json() == rules.to_json()
    assert loaded.to_text() == rules.to_text()
    assert loaded.to_sql(table="p") == rules.to_sql(table="p")
    assert loaded.order_ == rules.order_
    assert np.array_equal(loaded.predict(TABLE[::-1]), rules.predict(TABLE)[::-1])
    only = TABLE[[rules.explanation_.names[each] for each in rules.explanation_.used]]
    assert np.array_equal(loaded.predict(only), rules.labels_)
    named = from_json(ClusterRules(1).fit(IRIS.data, IRIS.target).to_json())
    assert np.array_equal(
        named.predict(IRIS.data), ClusterRules(1).fit_predict(IRIS.data, IRIS.target)
    )


def test_json_that_nobody_wrote_is_refused():
    good = json.loads(ClusterRules(2).fit(TABLE, PENGUINS["species"]).to_json())
    condition = good["rules"][0]["any"][0][0]
    for key, bad in {
        "version": 3,
        "n_columns": 3,
        "seen": {"rows": -1, "columns": {}},
        "seen ": {},
        "decided": [1, 2],
        "right": [9999, 0, 0],
        "order": [0, 0, 1],
        "order ": [0],
        "overlap": [[1]],
        "total": -1,
        "macro_f1": "1",
        "weighted": 1,
        "parameters": [],
        "measure": 3,
        "clusters": {"type": "str", "labels": ["a"]},
        "rules": good["rules"][:2],
    }.items():
        refused(
            lambda data=good | {key: bad}: from_json(json.dumps(data)), words=["not a spexplain"]
        )
    for bad in (
        condition | {"columns": [99]},
        condition | {"columns": []},
        condition | {"intervals": [[3, 1]]},
        condition | {"intervals": [[1, "x"]]},
        condition | {"intervals": [[None, 1], [2, None]]},
        condition | {"missing": 1},
        {"columns": [0]},
    ):
        changed = json.loads(json.dumps(good))
        changed["rules"][0]["any"][0][0] = bad
        refused(lambda data=changed: from_json(json.dumps(data)), words=["not a spexplain"])


def test_rules_of_the_first_version_are_read_and_compare_nothing():
    rules = ClusterRules(2).fit(TABLE, PENGUINS["species"])
    old = json.loads(rules.to_json()) | {"version": 1}
    for key in ("seen", "decided", "right"):
        del old[key]
    loaded = from_json(json.dumps(old))
    assert np.array_equal(loaded.predict(TABLE), rules.labels_)
    refused(lambda: loaded.check(TABLE), words=["have no profile", "write them again"])
    refused(lambda: rules.to_json(profile="rows"), words=["profile", "rows"])


@pytest.mark.parametrize("kind", ["frame", "sparse", "weighted"])
def test_the_same_rows_pass_a_check_and_count_as_they_are_predicted(kind):
    if kind == "sparse":
        vectorizer, table = documents()
        labels, weights = THEMES, None
        rules = ClusterRules(2, feature_names=vectorizer).fit(table, labels)
    else:
        table, labels = TABLE, PENGUINS["species"].to_numpy()
        weights = np.arange(len(table)) % 4 if kind == "weighted" else None
        rules = ClusterRules(2).fit(table, labels, sample_weight=weights)
    check = rules.check(table, labels)
    assert check.passed
    assert check.facts == from_json(rules.to_json()).check(table, labels).facts
    found = rules.predict(table)
    for each, label in zip(check.facts["segments"], rules.classes_, strict=False):
        assert each["rows_then"] == each["rows_now"] == (found == label).sum()
        assert each["right_then"] == each["right_now"] or each["rows_then"] == 0
    assert check.facts["segments"][-1]["rows_now"] == (found == "-1").sum()
    assert check.facts["leaves"] == []


def test_the_report_shows_words_as_chips_and_three_documents_a_cluster(tmp_path):
    vectorizer, counts = documents()
    rules = ClusterRules(3, feature_names=vectorizer).fit(counts, THEMES)
    texts = [f"{text} <b>{number}</b>" for number, text in enumerate(TEXTS)]
    page = rules.report(tmp_path / "themes.html", title="<i>Themes</i>", texts=texts).read_text(
        "utf-8"
    )
    assert '<span class="chip"><bdi>engine</bdi></span>' in page
    assert "<mark>engine</mark>" in page
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert "<i>Themes" not in page
    assert page.count('<blockquote class="document">') == 9
    for code, rows in enumerate(rules.explanation_.examples):
        assert set(THEMES[list(rows)]) == {rules.classes_[code]}
        assert rules.matches(counts)[list(rows), code].all()
    assert "<script" not in page
    assert "blockquote" not in rules.report(tmp_path / "plain.html").read_text("utf-8")
    refused(lambda: rules.report(tmp_path / "x.html", texts=texts[:3]), words=["3", "12"])
    loaded = from_json(rules.to_json())
    refused(lambda: loaded.report(tmp_path / "x.html", texts=texts), words=["training rows"])
    assert "chip" in loaded.report(tmp_path / "loaded.html").read_text("utf-8")


def test_the_report_names_overlaps_and_brackets_or(tmp_path):
    rules = ClusterRules(2).fit(TABLE, PENGUINS["species"])
    page = rules.report(tmp_path / "penguins.html").read_text("utf-8").replace("<wbr>", "")
    assert "(<bdi>bill_length_mm</bdi> ≤ 44.2 or missing)" in page
    assert rules.explanation_.closing_text() in page
    overlaps = rules.explanation_.overlap
    n_pairs = int((np.triu(overlaps, 1) > 0).sum())
    assert page.count('<tr><th scope="row">') == n_pairs > 0


def test_a_rule_and_its_tree_say_the_same():
    columns = [
        Column("x"),
        Column("c", "category", tuple("abc")),
        Column("w", "word"),
        Column("v", "word"),
    ]
    contained = Region(((0.0, np.inf),), False)
    rule = Rule(
        (
            Condition((2, 3), contained),
            Condition((0,), Region(((1.0, 5.0),), True)),
            Condition((1,), Region.of_codes([0, 2])),
        )
    )
    tree, meets = rule.tree(columns)
    values = [np.nan, 1.0, 2.0, 5.0, 6.0], [np.nan, 0.0, 1.0, 2.0], [0.0, 2.0], [0.0, 1.0]
    rows = np.array(np.meshgrid(*values)).reshape(4, -1).T
    wanted = [
        all(any(each.region.holds(row[c]) for c in each.columns) for each in rule.conditions)
        for row in rows
    ]
    assert np.array_equal(meets[tree.apply(rows)], wanted)
    assert rule.size == 4
    assert rule.text(columns) == 'contains any of "w", "v" and 1 < x ≤ 5 and c ≠ b'
