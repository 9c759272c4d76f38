"""Leaves can be folded, lit and selected, and their number be changed, in a headless Chromium."""

import pytest

from facts.cases import (
    CUSTOMERS,
    customers_summary,
    customers_table,
    customers_tree,
    explained,
)
from show.report.opened import OVERFLOW, leaf_line, lit
from show.report.summaries import EVERY, iris, iris_fit
from spexplain.facts import summarize
from spexplain.show.report.phrases import figure, share


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
    trees = summary["trees"]
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
        smaller = summarize(
            iris_fit()[0].explanation_.truncate(tree["n_leaves"]), names=iris_fit()[2]
        )
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


@pytest.mark.parametrize("width", [1280, 390])
def test_columns_of_any_kind_read_as_in_the_text(visit, width):
    def said(texts):
        """Words stand in chips of the page, in quotation marks of the text."""
        return [" ".join(each.split()).removesuffix("?").replace('"', "") for each in texts]

    summary = customers_summary()
    page = visit(summary, width=width).page
    assert page.evaluate(OVERFLOW) == 0
    rules = page.locator("#rules-all td.rule").all_inner_texts()
    assert said(rules) == said(leaf["rule"] for leaf in summary["leaves"])
    tests = page.locator("#tree-list .test").all_inner_texts()
    nodes = [node["test"] for node in summary["nodes"] if node["test"] is not None]
    assert set(said(tests)) == set(said(nodes))
    page.locator("#leaves").fill("4")
    smaller = page.locator("#rules-smaller td.rule").all_inner_texts()
    own = summarize(explained(customers_tree().truncate(4), customers_table()[0]), names=CUSTOMERS)
    assert said(smaller) == said(leaf["rule"] for leaf in own["leaves"])
    profile = page.locator("#leaf-0 .profiles th[scope=row]").all_inner_texts()
    assert {"channel = app", "member = yes", "last order"} <= {
        each.split("\n")[0] for each in profile
    }
