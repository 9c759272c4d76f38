"""Every interaction of the report, in a headless Chromium."""

import numpy as np
import pytest

from report.summaries import (
    EVERY,
    hostile,
    interval_tree,
    intervals,
    iris,
    iris_fit,
    noise,
    one_leaf,
    thirty_leaves,
    without_reference,
)
from spexplain import SpexClique
from spexplain.report.outline import smaller_trees
from spexplain.report.phrases import figure, share
from spexplain.summary import summarize

TRY_ROWS = """
(rows) => rows.map((row) => {
  const fields = [...document.querySelectorAll("[data-field]")];
  fields.forEach((field, at) => { field.value = row[at]; });
  fields[0].dispatchEvent(new Event("input", { bubbles: true }));
  return Number(document.getElementById("try-result").dataset.leaf);
})
"""
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def lit(page, selector, name="is-selected"):
    """Return the first and last leaf of the elements that carry a class."""
    found = page.locator(f"{selector}.{name}")
    return {
        (int(each.get_attribute("data-first")), int(each.get_attribute("data-last")))
        for each in found.all()
    }


def leaf_line(page, leaf):
    return page.locator(f'#tree-list a.leaf-line[href="#leaf-{leaf}"]')


@pytest.mark.parametrize("name", EVERY)
def test_opens_without_trouble_or_sideways_scrolling(visit, name):
    page = visit(EVERY[name]()).page
    assert page.locator("h1").is_visible()
    assert page.locator("#tree-list").is_visible()
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(OVERFLOW) == 0


def test_collapsing_and_expanding(visit):
    page = visit(iris()).page
    root = page.locator("#tree-list > li > details")
    first_leaf = page.locator("#tree-list a.leaf-line").first
    assert first_leaf.is_visible()
    root.locator("> summary").click()
    assert not first_leaf.is_visible()
    root.locator("> summary").click()
    assert first_leaf.is_visible()
    page.click("#collapse-all")
    assert page.locator("#tree-list details[open]").count() == 0
    page.click("#expand-all")
    assert page.locator("#tree-list details:not([open])").count() == 0


def test_a_leaf_is_lit_everywhere(visit):
    page = visit(iris()).page
    leaf_line(page, 1).hover()
    assert lit(page, "#rules-all tr", "is-hot") == {(1, 1)}
    assert lit(page, "article", "is-hot") == {(1, 1)}
    page.locator("h1").hover()
    assert lit(page, "article", "is-hot") == set()

    leaf_line(page, 1).click()
    places = ("#tree-list a", "#rules-all tr", "article", ".dots", "#confusion tr", "#sample tr")
    for place in places:
        assert lit(page, place) == {(1, 1)}, place
    assert leaf_line(page, 1).get_attribute("aria-current") == "true"
    strip = page.locator("#selection")
    assert strip.is_visible()
    assert iris()["leaves"][1]["rule"] in strip.inner_text().replace("\n", " ")
    strip.get_by_role("link", name="Card").click()
    assert page.url.endswith("#leaf-1")
    assert page.locator("#leaf-1").evaluate(
        "card => { const { top } = card.getBoundingClientRect(); return top >= -1 && top < innerHeight }"
    )
    page.keyboard.press("Escape")
    assert not strip.is_visible()
    assert lit(page, "article") == set()


@pytest.mark.parametrize(
    "place",
    [
        "#rules-all tr:nth-child(3) .leaf-link",
        "#rules-all tr:nth-child(3) td.rule",
        "#leaf-2 h3",
        "#confusion tbody tr:nth-child(3) td",
        "#sample-table tr[data-first='2'] td.number",
    ],
)
def test_everything_about_a_leaf_can_be_clicked(visit, place):
    page = visit(iris()).page
    page.locator(place).first.click()
    assert lit(page, "#tree-list a") == {(2, 2)}
    page.locator("#selection button").click()
    assert lit(page, "#tree-list a") == set()


def test_points_can_be_clicked(visit):
    page = visit(iris()).page
    dots = page.locator(".dots[data-first='0']").first
    dots.dispatch_event("click", {"bubbles": True})
    assert lit(page, "#rules-all tr") == {(0, 0)}
    assert "is-filtered" in page.locator("#cuts-chart").get_attribute("class")


def test_an_inner_node_lights_its_leaves(visit):
    page = visit(iris()).page
    inner = page.locator("#tree-list summary").nth(1)
    first, last = (int(inner.get_attribute(f"data-{end}")) for end in ("first", "last"))
    inner.hover()
    expected = {(leaf, leaf) for leaf in range(first, last + 1)}
    assert lit(page, "#rules-all tr", "is-hot") == expected


def test_slider_shows_tree_fidelity_and_price_together(visit):
    summary = iris()
    page = visit(summary).page
    trees = smaller_trees(summary)
    n_leaves = summary["n_leaves"]
    slider = page.locator("#leaves")
    slider.focus()
    for tree in trees[-2::-1]:
        page.keyboard.press("ArrowLeft")
        assert page.locator("#now-leaves").inner_text() == str(tree["n_leaves"])
        assert page.locator("#now-fidelity").inner_text() == share(tree["fidelity"])
        assert page.locator("#now-price").inner_text() == figure(tree["price"])
        assert page.locator("#now-depth").inner_text() == str(tree["depth"])
        shown = page.locator("#tree-list .leaf-name:visible").all_inner_texts()
        assert shown == [f"Leaf {leaf}" for leaf in range(tree["n_leaves"])]
        smaller = summarize(iris_fit()[0]._grown.truncated(tree["n_leaves"]), names=iris_fit()[2])
        rules = page.locator("#rules-smaller td.rule").all_inner_texts()
        assert rules == [leaf["rule"] for leaf in smaller["leaves"]]
        sizes = page.locator("#tree-list .line:visible:has(.leaf-name:visible) .rows")
        assert sizes.all_inner_texts() == [f"{leaf['size']} rows" for leaf in smaller["leaves"]]
        assert page.locator("#smaller-note").is_visible()
        marker = page.locator("svg.path .now").first
        dot = page.locator("svg.path .line-a circle").nth(tree["n_leaves"] - 1)
        distance = float(marker.get_attribute("x1")) - float(dot.get_attribute("cx"))
        assert abs(distance) < 0.2
        segments = page.locator(".segments line:visible")
        tests = {int(each.get_attribute("data-node")) for each in segments.all()}
        assert all(node < 2 * tree["n_leaves"] - 1 for node in tests)
    assert "1 leaf, fidelity" in slider.get_attribute("aria-valuetext")
    page.keyboard.press("End")
    assert page.locator("#now-leaves").inner_text() == str(n_leaves)
    assert page.locator("#rules-all").is_visible()
    assert not page.locator("#smaller-note").is_visible()


def test_leaves_of_a_smaller_tree_can_be_selected(visit):
    page = visit(iris()).page
    page.locator("#leaves").fill("2")
    line = page.locator("#tree-list .line:has(.as-leaf:visible)").first
    first, last = (int(line.get_attribute(f"data-{end}")) for end in ("first", "last"))
    assert last > first
    line.click()
    assert lit(page, "#rules-smaller tr") == {(first, last)}
    assert (first, first) in lit(page, "article")
    page.locator("#leaves").fill("3")
    assert lit(page, "article") == set()


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


def used_features(page, names):
    shown = page.locator("#try-form .field label").all_inner_texts()
    return [names.index(name) for name in shown]


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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_theme(visit, scheme):
    page = visit(iris(), color_scheme=scheme).page
    background = "getComputedStyle(document.body).backgroundColor"
    colors = {"light": "rgb(246, 247, 249)", "dark": "rgb(20, 23, 27)"}
    other = {"light": "dark", "dark": "light"}[scheme]
    assert page.evaluate(background) == colors[scheme]
    toggle = page.locator("#theme")
    assert toggle.inner_text() == f"{other.title()} theme"
    toggle.click()
    assert page.evaluate(background) == colors[other]
    assert toggle.inner_text() == f"{scheme.title()} theme"
    toggle.click()
    assert page.evaluate(background) == colors[scheme]


def test_keyboard_alone(visit):
    page = visit(iris()).page
    focused = "document.activeElement"
    page.keyboard.press("Tab")
    assert page.evaluate(f"{focused}.className") == "skip"
    page.locator("#tree-list summary").first.focus()
    page.keyboard.press("ArrowDown")
    assert page.evaluate(f"{focused}.closest('li').dataset.node") == "1"
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowLeft")
    root = page.locator("#tree-list > li > details")
    assert root.get_attribute("open") is None
    page.keyboard.press("ArrowDown")
    assert page.evaluate(f"{focused}.closest('li').dataset.node") == "0"
    page.keyboard.press("ArrowRight")
    assert root.get_attribute("open") is not None
    page.keyboard.press("ArrowRight")
    assert page.evaluate(f"{focused}.closest('li').dataset.node") == "1"
    page.keyboard.press("End")
    last = iris()["n_leaves"] - 1
    assert page.evaluate(f"{focused}.getAttribute('href')") == f"#leaf-{last}"
    assert page.evaluate(f"getComputedStyle({focused}).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    assert lit(page, "article") == {(last, last)}
    page.keyboard.press("Space")
    assert lit(page, "article") == set()
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(f"{focused}.tagName") == "SUMMARY"
    page.keyboard.press("Home")
    assert page.evaluate(f"{focused}.closest('li').dataset.node") == "0"
    page.keyboard.press("Enter")
    assert root.get_attribute("open") is None


def test_tab_reaches_every_control(visit):
    page = visit(iris()).page
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.className"))
    assert {"theme", "expand-all", "collapse-all", "leaves", "try-typical", "try-0"} <= reached


def test_names_for_screen_readers(visit):
    page = visit(iris()).page
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll("button, a, input, select, svg[role=img], table, section")]
        .filter((each) => !(each.textContent.trim() || each.labels?.length || each.getAttribute("aria-label")
          || each.getAttribute("aria-labelledby"))).map((each) => each.outerHTML.slice(0, 80))"""
    )
    assert unnamed == []
    assert page.get_by_role("slider", name="Number of leaves").is_visible()
    assert page.get_by_role("spinbutton").count() == len(used_features(page, iris_fit()[2]))
    assert page.get_by_role("table", name="One rule per leaf").is_visible()
    assert page.get_by_role("navigation", name="Parts of this report").is_visible()


def test_hostile_names_do_nothing(visit):
    page = visit(hostile()).page
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2
    for leaf in range(3):
        leaf_line(page, leaf).hover()
        leaf_line(page, leaf).click()
    for leaves in ("1", "5", "11"):
        page.locator("#leaves").fill(leaves)
    page.select_option("#try-typical", "0")
    page.locator("#try-0").fill("")
    assert page.locator("#rules img, #try img, #selection img, [onmouseover]").count() == 0
    assert page.locator("script").count() == 2


def test_policy_stops_what_slips_in(visit):
    """Should some text ever get past the escaping, the browser still refuses to run or load it."""
    injected = (
        "<script>window.injected = 1</script>"
        '<img src="https://example.org/x.png" onerror="window.injected = 2">'
        '<div id="probe" style="color: red" onclick="window.injected = 3">probe</div>'
        "<style>#probe { color: red }</style>"
    )
    opened = visit(iris(), spoil=lambda html: html.replace("</main>", f"{injected}</main>"))
    opened.page.locator("#probe").click()
    assert opened.page.evaluate("window.injected") is None
    color = opened.page.locator("#probe").evaluate("probe => getComputedStyle(probe).color")
    assert color == "rgb(28, 33, 39)"
    complaints = [each for each in opened.troubles if each.startswith("console")]
    assert len(complaints) >= 4
    assert all("Content Security Policy" in each for each in complaints)
    image = "https://example.org/x.png"
    assert set(opened.troubles) - set(complaints) == {f"request: {image}", f"failed: {image} csp"}
    opened.troubles.clear()


@pytest.mark.parametrize("summary", [iris, noise, without_reference, one_leaf, thirty_leaves])
def test_without_a_script(visit, summary):
    page = visit(summary(), java_script_enabled=False, width=390).page
    assert page.evaluate(OVERFLOW) == 0
    for leaf in summary()["leaves"]:
        assert page.locator(f"#leaf-{leaf['leaf']}").is_visible()
    assert page.locator("#rules-all tr:visible").count() == summary()["n_leaves"]
    assert page.locator("#tree-list .leaf-line:visible").count() == summary()["n_leaves"]
    for control in (".slider", "#try", "#theme", ".buttons"):
        assert page.locator(f"{control}:visible").count() == 0
    if summary()["n_leaves"] > 1:
        page.locator("#tree-list > li > details > summary").click()
        assert page.locator("#tree-list .leaf-line:visible").count() == 0


def test_print_shows_everything_in_light_colours(visit):
    page = visit(iris(), color_scheme="dark").page
    page.click("#collapse-all")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.locator("details:not([open])").count() == 0
    assert not page.locator("#try").is_visible()
    assert page.locator(".leaf-line").first.is_visible()
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(28, 33, 39)"
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("#tree-list details[open]").count() == 0
    # Even where no script unfolds them, the contents of closed details are printed.
    assert page.locator(".leaf-line").first.is_visible()
    assert page.pdf().startswith(b"%PDF")
