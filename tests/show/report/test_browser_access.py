"""The report by keyboard, for screen readers, in both themes, without a script and on paper."""

import pytest

from show.report.opened import OVERFLOW, lit, used_features
from show.report.summaries import iris, iris_fit, noise, one_leaf, thirty_leaves, without_reference


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
