"""A row that is typed or chosen goes where the tree sends it, in a headless Chromium."""

import numpy as np
import pytest

from show.report.opened import leaf_line, used_features
from show.report.summaries import interval_tree, intervals, iris, iris_fit
from spexplain import SpexClique
from spexplain.facts import summarize

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
    page = visit(summarize(explainer._grown, X, names=names)).page
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


def test_thresholds_show_the_digits_that_decide(visit):
    X = np.array([[10.53], [10.53], [21.42], [21.42]])
    explainer = SpexClique().fit(X, [0, 0, 1, 1])
    assert repr(float(explainer.tree_.threshold[0])) == "15.975000000000001"
    page = visit(summarize(explainer._grown, X, names=["spend"])).page
    for typed, shown in (("14.41", "15.975"), ("15.975", "15.975"), ("15.975000000000001", None)):
        page.locator("#try-0").fill(typed)
        test = page.locator("#try-steps li").inner_text()
        assert test.startswith(f"spend ≤ {shown or '15.975000000000001'}? It is {typed}: yes")


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


def test_what_is_missing_is_asked_for(visit):
    page = visit(iris()).page
    names = page.locator("#try-form .field label").all_inner_texts()
    for at in range(len(names)):
        page.locator(f"#try-{at}").fill("")
    asked = page.locator("#try-result").inner_text()
    assert asked == f"Type a number for {iris()['nodes'][0]['name']} to go on."
    page.locator("#try-0").press_sequentially("e")
    assert "is-wrong" in page.locator("#try-0").get_attribute("class")


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
