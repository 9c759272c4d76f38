"""Why a row is where it is, and what would move it."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from palmerpenguins import load_penguins

from facts.cases import (
    CUSTOMERS,
    DAY,
    HOSTILE,
    customers_table,
    customers_tree,
    iris_explainer,
    trees_of_any_kind,
)
from spexplain import CART, from_json
from spexplain.facts import feature_scales
from spexplain.facts.counterfactual import explain_row, row_text
from spexplain.tree import LEAF, Tree
from strategies import trees

VALUES = st.integers(-12, 12).map(lambda number: number / 4)  # thresholds of the trees among them


@given(trees(n_features=2), st.tuples(VALUES, VALUES), st.sampled_from([np.float32, np.float64]))
def test_changes_really_change_the_leaf(tree, row, dtype):
    row = np.array(row, dtype=dtype)
    found = explain_row(tree, row, scales=np.ones(2))
    assert found["leaf"] == tree.apply(row[None, :])[0]
    reached = set()
    for change in found["changes"]:
        moved = row.copy()
        for move in change["moves"]:
            assert moved[move["feature"]] == move["value"]
            moved[move["feature"]] = move["to"]
        assert tree.apply(moved[None, :])[0] == change["leaf"] != found["leaf"]
        assert change["leaf"] not in reached
        reached.add(change["leaf"])
    lengths = [change["distance"] for change in found["changes"]]
    assert lengths == sorted(lengths)
    json.dumps(found, allow_nan=False)


@given(trees(n_features=2), st.tuples(VALUES, VALUES))
def test_nothing_smaller_reaches_another_leaf(tree, row):
    """Against all values between and at the thresholds, of either feature."""
    row = np.array(row)
    found = explain_row(tree, row, scales=np.ones(2))
    inner = tree.feature != LEAF
    ends = np.concatenate([tree.threshold[inner], tree.lower[inner]])
    ends = ends[np.isfinite(ends)]
    tried = np.unique([*ends, *np.nextafter(ends, np.inf), *row])
    least: dict[int, float] = {}
    for x in [row[0], *tried]:
        for y in [row[1], *tried]:
            leaf = int(tree.apply(np.array([[x, y]]))[0])
            length = float(np.hypot(x - row[0], y - row[1]))
            least[leaf] = min(least.get(leaf, np.inf), length)
    least.pop(found["leaf"])
    ours = {change["leaf"]: change["distance"] for change in found["changes"]}
    assert ours == pytest.approx(least)


def test_iris():
    explainer, X, names = iris_explainer()
    scales = feature_scales(X, explainer.tree_.feature[explainer.tree_.feature != LEAF])
    found = explain_row(
        explainer.tree_, X[0], names=names, scales=scales, leaf_labels=explainer.leaf_reference_
    )
    assert (found["leaf"], found["label"]) == (0, "setosa")
    (test,) = found["path"]
    assert test["passed"]
    assert test["margin"] == pytest.approx(2 - 1.4)
    assert test["margin_sd"] == pytest.approx((2 - 1.4) / X[:, 2].std())
    nearest = found["to_other_label"]["one_feature"]
    assert nearest["label"] == "versicolor"
    assert nearest["moves"][0]["to"] == np.nextafter(2, 9)
    assert found["to_other_label"]["two_features"]["label"] == "virginica"


def test_another_leaf_of_the_same_label_is_no_other_label():
    tree = Tree.root(n_features=1, size=0).split(0, feature=0, threshold=1.0)
    tree = tree.split(2, feature=0, threshold=2.0)
    found = explain_row(tree, [0.5], scales=[1.0], leaf_labels=["a", "a", "b"])
    assert found["to_other_leaf"]["one_feature"]["leaf"] == 1
    assert found["to_other_label"]["one_feature"]["leaf"] == 2
    assert explain_row(tree, [0.5])["to_other_label"]["one_feature"] is None


@pytest.mark.parametrize(("x", "to"), [(6.5, 6.0), (8.9, np.nextafter(9.0, 10.0))])
def test_the_nearer_side_of_an_interval(x, to):
    tree = Tree.root(n_features=1, size=0).split(0, feature=0, threshold=9.0, lower=6.0)
    (change,) = explain_row(tree, [x], scales=[1.0])["changes"]
    assert change["moves"][0]["to"] == to


def test_no_float32_value_in_the_box():
    tree = Tree.root(n_features=1, size=0).split(
        0, feature=0, threshold=1.0 + 2e-10, lower=1.0 + 1e-10
    )
    assert explain_row(tree, np.array([0.0], dtype=np.float32))["changes"] == []
    assert len(explain_row(tree, np.array([0.0]))["changes"]) == 1


def test_single_leaf_and_unknown_scales():
    found = explain_row(Tree.root(n_features=1, size=1), [3.0])
    assert (found["rule"], found["path"], found["changes"]) == ("all rows", [], [])
    tree = Tree.root(n_features=1, size=0).split(0, feature=0, threshold=1e308)
    found = explain_row(tree, [-1e308], scales=[0.0])
    assert found["path"][0]["margin_sd"] is None
    assert found["changes"][0]["distance"] is None
    json.dumps(found, allow_nan=False)


@pytest.mark.parametrize(
    ("row", "message"),
    [([1.0], r"row must hold 2 values, got shape \(1,\)"), ([1.0, np.inf], "finite values")],
)
def test_bad_rows(row, message):
    with pytest.raises(ValueError, match=message):
        explain_row(Tree.root(n_features=2, size=1), row)


def test_hostile_names():
    tree = Tree.root(n_features=9, size=0).split(0, feature=2, threshold=0.5)
    text = row_text(explain_row(tree, np.zeros(9), names=HOSTILE, leaf_labels=HOSTILE[:2]))
    assert len(text.splitlines()) == 4


@given(trees_of_any_kind())
def test_changes_of_any_kind_really_change_the_leaf(case):
    columns, X, tree = case
    for row in X:
        found = explain_row(tree, row, names=columns, scales=np.ones(len(columns)))
        assert found["leaf"] == tree.apply(row[None, :])[0]
        for change in found["changes"]:
            moved = row.copy()
            for move in change["moves"]:
                before = moved[move["feature"]]
                assert move["value"] == before or (move["value"] is None and np.isnan(before))
                moved[move["feature"]] = move["to"]
            assert tree.apply(moved[None, :])[0] == change["leaf"] != found["leaf"]
        for step in found["path"]:
            is_listed = columns[step["feature"]].kind in ("category", "boolean", "flag", "word")
            if is_listed or step["value"] is None:
                assert step["margin"] is step["margin_text"] is None
        json.dumps(found, allow_nan=False)
        assert len(row_text(found).splitlines()) <= 2 + tree.depth + tree.n_leaves


def test_a_row_in_words():
    X, _ = customers_table()
    scales = np.nanstd(X, axis=0)
    row = [3, 1, np.nan, np.nan, 185.36, 3 * DAY, 0, 0]
    found = explain_row(customers_tree(), row, names=CUSTOMERS, scales=scales)
    assert row_text(found).splitlines() == [
        "Leaf 1: (channel in {app, web} or missing) and (last order before 1997-05-19 or missing) "
        "and member = yes",
        "  yes  channel in {app, web} or missing          channel = web",
        "  yes  last order before 1997-05-19 or missing   last order is missing",
        "  no   member = no                               member = yes",
        "Smallest changes",
        "  to leaf 0: member from yes to no (2 SD)",
        "  to leaf 3: last order from missing to 1997-05-19",
        "  to leaf 6: channel from web to mail",
        "  to leaf 2: last order from missing to 1997-05-19 and revenue from 185.36 to 123.45",
        "  to leaf 5: channel from web to mail and stay from 3 days to 2 days",
        "  to leaf 7: channel from web to mail and age from missing to any value",
    ]
    row[2] = 10_100 * DAY
    step = explain_row(customers_tree(), row, names=CUSTOMERS, scales=scales)["path"][1]
    assert (step["text"], step["margin_text"]) == ("last order = 1997-08-27", "100 days (0.88 SD)")


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_categories_never_seen_are_not_called_missing(frame):
    table = load_penguins()
    species = table.pop("species")
    fitted = CART(n_leaves=3, features=["island", "sex"]).fit(table, species)
    row = {"island": "Mars", "sex": None} | dict.fromkeys(table.columns[1:-2], 1.0) | {"year": 2007}
    for model in (fitted, from_json(fitted.to_json())):
        for row_of_kind in (
            frame([{name: row[name] for name in table.columns}]),
            [row[name] for name in table.columns],
        ):
            found = model.explain(row_of_kind)
            texts = [step["text"] for step in found["path"] if step["name"] == "island"]
            assert texts
            assert set(texts) == {"island is Mars, which no training row had; it counts as missing"}
            assert "island is missing" not in row_text(found)
            assert "island from Mars to " in row_text(found)
            same = dict(row, island=None)
            lacking = model.explain([same[name] for name in table.columns])
            assert lacking["leaf"] == found["leaf"]
            assert "island is missing" in row_text(lacking)
