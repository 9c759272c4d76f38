"""A row that is typed or chosen goes where the tree sends it, in a headless Chromium."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from facts.cases import (
    CUSTOMERS,
    DAY,
    customers_summary,
    customers_table,
    customers_tree,
    trees_of_any_kind,
)
from show.report.opened import leaf_line, used_features
from show.report.summaries import explained, interval_tree, intervals, iris, iris_fit
from spexplain import SpexClique
from spexplain.facts import summarize
from spexplain.tree import Column, Tree
from spexplain.tree.column import zone_info

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

TRY_ROWS = """
(rows) => rows.map((row) => {
  const fields = [...document.querySelectorAll("[data-field]")];
  fields.forEach((field, at) => { field.value = row[at]; });
  fields[0].dispatchEvent(new Event("input", { bubbles: true }));
  return Number(document.getElementById("try-result").dataset.leaf);
})
"""


def rows_at(tree, features, random, count=40):
    """Return random rows, and rows at and beside every threshold."""
    inner = np.flatnonzero(tree.feature >= 0)
    bounds = np.concatenate([tree.threshold[inner], tree.lower[inner]])
    bounds = bounds[np.isfinite(bounds)]
    near = np.concatenate([bounds, np.nextafter(bounds, -np.inf), np.nextafter(bounds, np.inf)])
    X = np.zeros((count + 6 * len(near), tree.n_features))
    X[:, features] = random.choice(near, size=(len(X), len(features)))
    X[:count, features] = random.normal(scale=3, size=(count, len(features)))
    return X


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tried_rows_agree_with_predict(visit, dtype):
    random = np.random.default_rng(3)
    X = random.normal(size=(300, 5)).astype(dtype)
    names = [f"column {at}" for at in range(5)]
    explainer = SpexClique(n_leaves=12).fit(X, (X > 0) @ np.array([1, 2, 4, 0, 0]))
    page = visit(summarize(explainer.explanation_, X, names=names)).page
    features = used_features(page, names)
    rows = rows_at(explainer.tree_, features, random)
    texts = [[repr(float(x)) for x in row[features]] for row in rows]
    assert page.evaluate(TRY_ROWS, texts) == explainer.predict(rows).tolist()
    training = [[repr(float(x)) for x in row[features]] for row in X[:100]]
    assert page.evaluate(TRY_ROWS, training) == explainer.labels_[:100].tolist()


def test_tried_rows_of_interval_tests(visit):
    page = visit(intervals()).page
    features = used_features(page, ["x0", "x1"])
    rows = rows_at(interval_tree(), features, np.random.default_rng(0))
    texts = [[repr(float(x)) for x in row[features]] for row in rows]
    assert page.evaluate(TRY_ROWS, texts) == interval_tree().apply(rows).tolist()


def test_thresholds_are_shown_in_full(visit):
    tree = Tree.root(n_features=1, size=4).split(0, feature=0, threshold=15.975000000000001)
    summary = explained(tree, [[10.53], [10.53], [21.42], [21.42]], [0, 0, 1, 1], names=["spend"])
    page = visit(summary).page
    for typed, answer in (
        ("14.41", "yes"),
        ("15.975000000000001", "yes"),
        ("15.975000000000003", "no"),
    ):
        page.locator("#try-0").fill(typed)
        test = page.locator("#try-steps li").inner_text()
        assert test == f"spend ≤ 15.975000000000001? It is {typed}: {answer}"


def test_a_typed_row_lights_its_path(visit):
    summary = iris()
    page = visit(summary).page
    assert page.locator("#tree-list .on-path").count() == 0
    explainer, X, names = iris_fit()
    features = used_features(page, names)
    page.click("#collapse-all")
    for row in X[::40]:
        for at, feature in enumerate(features):
            page.locator(f"#try-{at}").fill(repr(float(row[feature])))
        leaf = int(explainer.predict(row[None])[0])
        result = page.locator("#try-result").inner_text()
        assert result.startswith(f"Leaf {leaf}, stands for")
        assert f"cluster {summary['leaves'][leaf]['label']}" in result
        path = [node for node, _ in explainer.tree_.path(leaf)]
        nodes = page.locator("#tree-list li:has(> .on-path, > details > .on-path)")
        shown = [int(each.get_attribute("data-node")) for each in nodes.all()]
        assert sorted(shown) == sorted([*path, int(explainer.tree_.leaves[leaf])])
        assert leaf_line(page, leaf).is_visible()
        assert page.locator("#try-steps li").count() == len(path)


def test_an_empty_field_is_a_missing_value(visit):
    page = visit(iris()).page
    names = page.locator("#try-form .field label").all_inner_texts()
    for at in range(len(names)):
        page.locator(f"#try-{at}").fill("")
    tree = iris_fit()[0].tree_
    leaf = int(tree.apply(np.full((1, tree.n_features), np.nan))[0])
    assert page.locator("#try-result").inner_text().startswith(f"Leaf {leaf}, stands for")
    assert "It is missing: no" in page.locator("#try-steps li").first.inner_text()


def test_what_cannot_be_read_is_asked_for(visit):
    page = visit(iris()).page
    at = page.locator("#try-form .field label").all_inner_texts().index(iris()["nodes"][0]["name"])
    page.locator(f"#try-{at}").fill("")
    page.locator(f"#try-{at}").press_sequentially("e")
    assert "is-wrong" in page.locator(f"#try-{at}").get_attribute("class")
    asked = page.locator("#try-result").inner_text()
    name = iris()["nodes"][0]["name"]
    assert asked == f"Type a number for {name} to go on, or nothing if it is missing."


def test_typical_and_sampled_rows_can_be_tried(visit):
    page = visit(iris()).page
    result = page.locator("#try-result")
    for leaf in range(iris()["n_leaves"]):
        page.select_option("#try-typical", str(leaf))
        assert result.inner_text().startswith(f"Leaf {leaf},")
    last = page.locator("tr[data-sample]").last
    last.locator("button").click()
    assert result.inner_text().startswith(f"Leaf {last.get_attribute('data-first')},")
    assert page.evaluate("document.activeElement.id") == "try-0"
    page.keyboard.press("Enter")
    assert page.url.endswith(".html")


def test_tried_row_in_a_smaller_tree(visit):
    page = visit(iris()).page
    page.locator("#leaves").fill("1")
    assert page.locator("#try-result").inner_text().startswith("Leaf 0, mostly")
    assert "in the tree of 1" in page.locator("#try-result").inner_text()


def typed(columns, row):
    """Return what somebody types for the values of a row, field by field; a menu takes the code."""
    texts = []
    for column, x in zip(columns, row, strict=True):
        if np.isnan(x):
            texts.append("")
        elif column.kind in ("category", "boolean"):
            texts.append(str(int(x)))
        elif column.kind in {"date", "duration"}:
            texts.append(column.say(x))
        else:
            texts.append(repr(float(x)))
    return texts


def test_rows_of_any_kind_agree_with_predict(visit):
    """Menus, dates, durations, words and missing values, at and beside every threshold."""
    summary = customers_summary()
    tree, (X, _) = customers_tree(), customers_table()
    visited = visit(summary)
    shown = visited.page.locator("#try-form .field label").all_inner_texts()
    names = [each.name for each in CUSTOMERS]
    features = [names.index(name.strip('"')) for name in shown]
    random = np.random.default_rng(0)
    rows = X[random.integers(len(X), size=(400, len(names))), np.arange(len(names))]
    rows[0, 2], rows[1, 2] = 10_000 * DAY, 9_999 * DAY
    rows[:3, 5] = [2 * DAY, 2 * DAY + 1, 2 * DAY - 1]
    columns = [CUSTOMERS[feature] for feature in features]
    texts = [typed(columns, row[features]) for row in rows]
    assert visited.page.evaluate(TRY_ROWS, texts) == tree.apply(rows).tolist()
    assert np.isnan(rows).any(axis=0).sum() == 3


def test_typical_and_sampled_rows_of_any_kind(visit):
    page = visit(customers_summary()).page
    result = page.locator("#try-result")
    for leaf in customers_summary()["leaves"]:
        if leaf["size"]:
            page.select_option("#try-typical", str(leaf["leaf"]))
            assert result.inner_text().startswith(f"Leaf {leaf['leaf']},")
    for row in page.locator("tr[data-sample]").all():
        row.locator("button").click()
        assert result.inner_text().startswith(f"Leaf {row.get_attribute('data-first')},")


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin", "America/New_York", "+05:30"])
def test_moments_agree_with_predict(visit, zone):
    """Clocks on the wall of a zone, twice around the hours that summer time leaves out and repeats."""
    column = Column("at", "date", zone=zone)
    starts = [
        datetime(2024, 3, 30),
        datetime(2024, 10, 26),
        datetime(1999, 12, 31, 23, 59, 59, 999_000),
    ]
    walls = [start + timedelta(hours=hour) for start in starts for hour in range(0, 60, 5)]
    place = zone_info(zone or "UTC")
    moments = [(each.replace(tzinfo=place) - EPOCH) // timedelta(milliseconds=1) for each in walls]
    X = np.array(moments, dtype=np.float64)[:, None] * 1000
    threshold = float(np.median(X))
    tree = Tree.root(n_features=1, size=0).split(0, feature=0, threshold=threshold)
    tree = tree.split(1, feature=0, threshold=threshold - 1).split(
        2, feature=0, threshold=X.max() - 1
    )
    summary = explained(tree, X, np.arange(len(X)) % 2, names=[column])
    page = visit(summary, timezone_id="Asia/Tokyo").page
    texts = [[each.isoformat(timespec="milliseconds")] for each in walls]
    assert page.evaluate(TRY_ROWS, texts) == tree.apply(X).tolist()
    for row in page.locator("tr[data-sample]").all():
        row.locator("button").click()
        leaf = row.get_attribute("data-first")
        assert page.locator("#try-result").inner_text().startswith(f"Leaf {leaf},")


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=trees_of_any_kind(max_splits=4))
def test_rows_of_random_trees_agree_with_predict(visit, case):
    """What is filled in by the page itself is exact, whatever the field shows of it."""
    columns, X, tree = case
    page = visit(explained(tree, X, np.arange(len(X)) % 2, names=columns)).page
    found = page.evaluate(
        """() => [...document.querySelectorAll("tr[data-sample]")].map((row) => {
          row.querySelector("button")?.click();
          return [Number(row.dataset.first), document.getElementById("try-result")?.dataset.leaf];
        })"""
    )
    if tree.n_leaves > 1:
        assert all(leaf == int(shown) for leaf, shown in found)
