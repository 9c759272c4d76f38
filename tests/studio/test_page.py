"""The studio as people use it: a real Chromium, a real server, real tables."""

import hashlib
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from browsing import serious
from spexplain import CART
from spexplain.studio import Session

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("playwright.sync_api")

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "src" / "spexplain" / "studio" / "page"
HOSTILE = '<img src=x onerror="document.title=1">\'"\\ \u202eevil'


@pytest.fixture(scope="module")
def penguins() -> Any:
    return pytest.importorskip("palmerpenguins").load_penguins().drop(columns=["year"])


@pytest.fixture(scope="module")
def model(penguins: Any) -> Any:
    return CART(n_leaves=4).fit(penguins.drop(columns=["species"]), penguins["species"])


class Studio(NamedTuple):
    """A session, the address of its page, and a way to open it."""

    session: Session
    address: str
    visit: Callable[..., Any]


@pytest.fixture
def servers() -> Iterator[list[tuple[Any, threading.Thread]]]:
    """Servers that run in threads; they end after the pages are closed."""
    running: list[tuple[Any, threading.Thread]] = []
    yield running
    for served, thread in running:
        served.server.should_exit = True
        thread.join(10)
        assert not thread.is_alive()


@pytest.fixture
def visit(browser: Any, servers: Any) -> Iterator[Callable[..., Any]]:
    """Open an address; at the end nothing may have been complained about or asked of others."""
    contexts: list[tuple[Any, list[str]]] = []

    def opened(
        address: str, *, width: int = 1280, height: int = 800, context: Any = None, **options: Any
    ) -> Any:
        if context is None:
            size = {"width": width, "height": height}
            context = browser.new_context(viewport=size, reduced_motion="reduce", **options)
            context.set_default_timeout(20_000)
            contexts.append((context, []))
        troubles = next(found for known, found in contexts if known is context)
        page = context.new_page()
        page.on("console", lambda message: _note(message.text, troubles))
        page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (troubles.append("dialog"), dialog.dismiss()))
        page.on("request", lambda request: _note_request(request.url, address, troubles))
        page.goto(address)
        return page

    yield opened
    for context, troubles in contexts:
        context.close()
        assert troubles == []


def _note(text: str, troubles: list[str]) -> None:
    # Chromium writes a line for every answer such as "another tab was faster", which the page shows itself.
    if not re.search(r"status of (400|409)", text):
        troubles.append(f"console: {text}")


def _note_request(url: str, address: str, troubles: list[str]) -> None:
    if not url.startswith((address.partition("?")[0], "data:", "blob:")):
        troubles.append(f"request: {url}")


@pytest.fixture
def studio(visit: Callable[..., Any], servers: Any) -> Callable[..., Studio]:
    """Serve a session of a model from this process, as the command does."""
    from spexplain.studio.server import Served

    def started(model: Any, **options: Any) -> Studio:
        session = Session(model, **{"name": "penguins.csv", "labels": "species", **options})
        served = Served(session)
        thread = threading.Thread(target=served.run, daemon=True)
        thread.start()
        servers.append((served, thread))
        return Studio(session, served.address, lambda **more: _ready(visit(served.address, **more)))

    return started


def _ready(page: Any) -> Any:
    page.wait_for_selector(".card")
    return page


def opened(page: Any, node: int) -> None:
    """Click a node and wait for what is said about it."""
    page.click(f'.card[data-node="{node}"]')
    page.wait_for_selector(f'.card[data-node="{node}"].is-selected')
    page.wait_for_selector(".inspector:not([hidden]) :is(.chart, .chip)")


def right(page: Any) -> int:
    """Return the rows right that the page shows."""
    text = page.inner_text('[data-figure="fidelity"] .hint')
    return int(text.split(" of ")[0].replace(",", ""))


def until(page: Any, n_right: float) -> None:
    holds(
        page,
        """(n) => document.querySelector('[data-figure="fidelity"] .hint')
            ?.textContent.replaceAll(",", "").startsWith(n + " of ")""",
        arg=int(n_right),
    )


def holds(page: Any, expression: str, arg: Any = None) -> None:
    """Wait until something is true; Playwright's own way to wait would need eval, which the page forbids."""
    end = time.monotonic() + 20
    while not page.evaluate(expression, arg):
        assert time.monotonic() < end, expression
        page.wait_for_timeout(25)


def journal(session: Session) -> list[str]:
    return [each["text"] for each in session.state()["journal"]]


# --- From a file to SQL ---------------------------------------------------------------------------


def test_whole_story(visit: Callable[..., Any], penguins: Any, tmp_path: Path) -> None:
    """A file is dropped onto the page, explained, edited, and leaves as SQL that says the same."""
    duckdb = pytest.importorskip("duckdb")
    table = tmp_path / "birds of the south.csv"
    penguins.to_csv(table, index=False)
    command = [sys.executable, "-m", "spexplain", "studio", "--no-open", "--quiet"]
    environment = {**os.environ, "SPEXPLAIN_STATE": str(tmp_path / "state")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().rpartition(" ")[2].strip()
            page = visit(address)
            page.wait_for_selector(".drop")
            drop(page, table)
            page.wait_for_selector(".choose")
            assert page.inner_text(".choose h1") == table.name
            assert "344 rows, 7 columns" in page.inner_text(".choose")
            assert page.input_value("select.labels") == "species"  # a likely guess
            page.click(".choose summary")
            page.get_by_label("Method").last.select_option("cart")
            page.get_by_label("Leaves").fill("4")
            page.click(".explain")
            page.wait_for_selector(".card")
            assert page.inner_text(".level") == "Good"
            before = right(page)

            page.click(".card.is-test")
            page.wait_for_selector(".handle")
            page.fill(".condition", "flipper_length_mm <= 210 or missing")
            holds(page, "document.querySelector('.live').textContent.includes('rows right')")
            tried = right(page)
            page.press(".condition", "Enter")
            holds(page, "!document.querySelector('.undo').disabled")
            assert right(page) == tried != before

            page.click(".open-export")
            page.get_by_label("Dialect").select_option("sql-duckdb")
            page.wait_for_selector("dialog pre")
            with page.expect_download() as saved:
                page.click(".save")
            sql = Path(saved.value.path()).read_text(encoding="utf-8")
        finally:
            process.terminate()
            process.wait(20)
    assert "<= 210" in sql
    birds_of_the_south = penguins  # as the file was called; the query reads it
    found = duckdb.sql(sql).df()
    assert len(found) == len(birds_of_the_south)
    assert int((found["cluster"] == found["species"]).sum()) == tried


def drop(page: Any, path: Path) -> None:
    """Drop a file onto the page, as from a file manager."""
    carried = page.evaluate_handle(
        """([name, text]) => {
            const carried = new DataTransfer();
            carried.items.add(new File([text], name, {type: "text/csv"}));
            return carried;
        }""",
        [path.name, path.read_text(encoding="utf-8")],
    )
    for kind in ("dragover", "drop"):
        page.dispatch_event(".spexplain-studio", kind, {"dataTransfer": carried})


# --- Edits ----------------------------------------------------------------------------------------


def test_dragging_a_threshold(studio: Callable[..., Studio], model: Any) -> None:
    """While a threshold is dragged the figures are those of the library; letting go changes nothing yet."""
    served = studio(model)
    page = served.visit()
    opened(page, 0)
    before = right(page)
    grip = page.locator(".grip").bounding_box()
    x, y = grip["x"] + grip["width"] / 2, grip["y"] + grip["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    seen = set()
    for step in range(1, 9):
        page.mouse.move(x + 3 * step, y)
        page.wait_for_timeout(40)
        seen.add(right(page))
    page.mouse.up()
    holds(
        page, "document.querySelector('.handle').getAttribute('aria-valuetext').includes(' right')"
    )
    page.wait_for_load_state("networkidle")
    assert len(seen) > 1  # live
    condition = page.input_value(".condition")
    assert re.fullmatch(r"flipper_length_mm ≤ 2\d\d(\.\d)? or missing", condition)
    expected = model.explanation_.with_test(0, condition)
    until(page, expected.rows_right)
    assert f"{before - expected.rows_right}" in page.inner_text('[data-figure="fidelity"] .delta')
    swept = model.explanation_.sweep(0, "flipper_length_mm")
    at = swept.thresholds <= float(condition.split()[2])
    assert f"{swept.rows_changed[at][-1]} rows change" in page.inner_text(".live")
    sizes = dict(zip(*map(list, zip(*_segment_rows(page), strict=True)), strict=True))
    assert sizes == {
        str(segment["name"]): segment["predicted"]
        for segment in Session(model.edited(expected)).state()["segments"]
    }
    assert journal(served.session) == []
    page.click(".apply")
    holds(page, "!document.querySelector('.undo').disabled")
    assert journal(served.session) == [f"node 0 asks {condition}"]
    assert right(page) == expected.rows_right


def _segment_rows(page: Any) -> list[tuple[str, int]]:
    return [
        (card.locator(".name").inner_text(), int(card.locator(".rows").inner_text().split()[0]))
        for card in page.locator(".segment").all()
    ]


def test_undo_after_reload(studio: Callable[..., Studio], model: Any) -> None:
    served = studio(model)
    page = served.visit()
    page.click(".open-versions")
    page.wait_for_selector("text=There is one version so far")
    page.keyboard.press("Escape")
    before = right(page)
    opened(page, 1)
    page.get_by_role("button", name="Prune").click()
    holds(page, "document.querySelectorAll('.card').length === 5")
    assert right(page) == model.explanation_.prune(1).rows_right
    page.reload()
    _ready(page)
    assert page.locator(".card").count() == 5
    assert page.get_attribute(".undo", "title").startswith("Undo: node 1 pruned")
    page.click(".undo")
    holds(page, "document.querySelectorAll('.card').length === 7")
    assert right(page) == before
    page.reload()
    _ready(page)
    page.click(".redo")
    holds(page, "document.querySelectorAll('.card').length === 5")


def test_number_switch_and_chips(studio: Callable[..., Studio], model: Any) -> None:
    """A typed number, the switch for missing values and chips of categories mean tests of the library."""
    served, first = studio(model), model.explanation_
    page = served.visit()
    opened(page, 0)
    page.get_by_label("At most").fill("210")
    until(page, first.with_test(0, "flipper_length_mm ≤ 210 or missing").rows_right)
    holds(page, "document.querySelector('.condition').value.includes('210')")
    sizes = leaf_sizes(page)
    expected = first.with_test(0, "flipper_length_mm ≤ 210 or missing")
    assert sizes == expected.node_sizes[expected.tree.leaves].tolist()
    page.fill(
        ".condition", "flipper_length_mm > 210"
    )  # the branches change sides, their rows do not
    holds(page, "document.querySelector('.handle').ariaValueText.includes('> 210')")
    assert leaf_sizes(page) == sizes
    assert page.get_by_label("Greater than").input_value() == "210"
    page.fill(".condition", "flipper_length_mm ≤ 210 or missing")
    holds(page, "document.querySelector('.handle').ariaValueText.includes('≤ 210')")
    page.locator(".switch", has_text="Missing values go to yes (2 rows)").click()
    holds(page, "document.querySelector('.condition').value === 'flipper_length_mm ≤ 210'")
    until(page, first.with_test(0, "flipper_length_mm ≤ 210").rows_right)
    page.click(".reset")
    until(page, first.rows_right)

    page.get_by_label("Column").select_option("island")
    page.wait_for_selector(".chip")
    holds(page, "document.querySelector('.live').textContent.includes('rows right')")
    for chip in page.locator('.chip[aria-pressed="true"]').all():
        chip.click()
    holds(page, "document.querySelector('.problem').textContent.includes('leaf without rows')")
    assert page.locator(".apply").is_disabled()
    page.locator(".chip", has_text="Biscoe").click()
    page.locator(".chip", has_text="Dream").click()
    holds(page, "document.querySelector('.condition').value === 'island ≠ Torgersen'")
    until(page, first.with_test(0, "island ≠ Torgersen").rows_right)
    page.click(".apply")
    holds(page, "!document.querySelector('.undo').disabled")
    assert served.session.explanation.nodes()[0]["text"] == "island ≠ Torgersen"


def leaf_sizes(page: Any) -> list[int]:
    """Return the rows of all leaves, from left to right."""
    texts = page.locator(".card.is-leaf .rows").all_inner_texts()
    return [int(text.split()[0].replace(",", "")) for text in texts]


def test_every_edit(studio: Callable[..., Studio], model: Any) -> None:
    """Lock, forbid, regrow, add a leaf, split, rename and merge do what the library does."""
    served, mine = studio(model), model.explanation_
    page = served.visit()

    def settled(expected: Any) -> Any:
        text = expected.edits[-1].text
        holds(
            page,
            "(text) => document.querySelector('.undo').title.startsWith('Undo: ' + text)",
            arg=text,
        )
        assert served.session.explanation.nodes() == expected.nodes()
        return expected

    opened(page, 0)
    page.get_by_role("button", name="Lock").click()
    mine = settled(mine.lock(0))
    assert page.locator(".card.is-locked").count() == 1
    page.wait_for_selector("text=Unlock")
    assert page.get_by_role("button", name="Prune").is_disabled()
    opened(page, 1)
    page.get_by_role("button", name="Never use bill_length_mm").click()
    mine = settled(mine.forbid("bill_length_mm", below=1))
    page.wait_for_selector("text=Forbidden: bill_length_mm")
    opened(page, mine.nodes()[1]["node"])
    page.get_by_role("button", name="Regrow").click()
    page.get_by_label("By").select_option("cart")
    page.get_by_label("Leaves").fill("2")
    page.get_by_role("button", name="Grow", exact=True).click()
    mine = settled(mine.regrow(1, method="cart", n_leaves=2))
    n_leaves = mine.tree.n_leaves
    page.click(".add-leaf")
    holds(page, "document.querySelector('.undo').title.includes('split')")
    mine = served.session.explanation
    assert mine.tree.n_leaves == n_leaves + 1
    leaf = page.locator(".card.is-leaf").first
    leaf.click()
    page.wait_for_selector(".alternative")
    best = page.locator(".alternative .text").first.inner_text()
    number = int(page.inner_text(".inspector h2").split()[1])
    page.locator(".alternative").first.click()
    page.wait_for_selector(".apply:not(:disabled)")
    holds(page, "document.querySelector('.live').textContent.includes('rows right')")
    page.click(".apply")
    mine = settled(mine.split(number, best))

    page.locator(".segment", has_text="Gentoo").click()
    page.fill("input.rename", "the large ones")
    page.press("input.rename", "Enter")
    mine = settled(mine.rename("Gentoo", "the large ones"))
    assert page.inner_text(".inspector h2") == "the large ones"
    page.select_option("select.merge", label="Adelie")
    page.get_by_role("button", name="Merge").click()
    mine = settled(mine.merge_clusters("the large ones", "Adelie"))
    assert page.locator(".segment").count() == 2
    page.keyboard.press("Control+z")
    holds(page, "document.querySelectorAll('.segment').length === 3")


def test_another_tab_was_faster(studio: Callable[..., Studio], model: Any) -> None:
    served = studio(model)
    one = served.visit()
    other = served.visit(context=one.context)
    opened(one, 2)
    one.get_by_role("button", name="Prune").click()
    holds(one, "document.querySelectorAll('.card').length === 5")
    other.click(".add-leaf")
    other.wait_for_selector(".message.is-conflict")
    assert "your edit was not made" in other.inner_text(".message")
    assert other.locator(".card").count() == 5  # how it is now
    assert journal(served.session) == ["node 2 pruned"]
    other.click(".undo")
    holds(other, "document.querySelectorAll('.card').length === 7")


def test_a_refused_edit_says_why(studio: Callable[..., Studio], model: Any) -> None:
    served = studio(model)
    page = served.visit()
    opened(page, 0)
    page.fill(".condition", "no such column > 3")
    holds(page, "document.querySelector('.problem').textContent !== ''")
    assert "cannot be read" in page.inner_text(".problem")
    assert page.locator(".apply").is_disabled()
    page.press(".condition", "Enter")
    assert journal(served.session) == []
    page.keyboard.press("Escape")
    holds(page, "document.querySelector('.problem').textContent === ''")


# --- Rows and versions ----------------------------------------------------------------------------


def test_rows(studio: Callable[..., Studio], model: Any, penguins: Any) -> None:
    """Rows that are wrong are listed, filtered, and one is followed through the tree."""
    served, first = studio(model), model.explanation_
    page = served.visit()
    page.click(".open-rows")
    n_wrong = len(penguins) - first.rows_right
    page.wait_for_selector(f"text={n_wrong} rows wrong")
    assert page.locator(".rows-panel tbody tr").count() == n_wrong
    rows = page.locator(".rows-panel tbody tr")
    for row in rows.all():
        cluster, said = row.locator("td").nth(0).inner_text(), row.locator("td").nth(1).inner_text()
        assert cluster.strip() != said.strip()
    page.locator(".filters").get_by_label("Cluster").select_option("Adelie")
    named = model.predict_reference(penguins.drop(columns=["species"]))
    wrong = ((named != penguins["species"]) & (penguins["species"] == "Adelie")).sum()
    holds(page, "(n) => document.querySelectorAll('.rows-panel tbody tr').length === n", arg=int(wrong))  # fmt: skip
    page.locator(".switch", has_text="Wrong only").click()
    page.wait_for_selector(f"text={(penguins['species'] == 'Adelie').sum()} rows")
    page.locator(".pages").get_by_text("Next").click()
    page.wait_for_selector("text=page 2 of 4")
    page.fill(".row-text", "Dream")
    adelie = penguins[penguins["species"] == "Adelie"]
    page.wait_for_selector(f"text={(adelie['island'] == 'Dream').sum()} rows")

    page.fill(".row-id", "7")
    page.press(".row-id", "Enter")
    page.wait_for_selector(".card.on-path")
    leaf = int(model.labels_[7])
    assert page.locator(".card.is-leaf.on-path").count() == 1
    on = page.locator(".card.is-leaf.on-path")
    assert int(on.get_attribute("data-node")) == int(first.tree.leaves[leaf])
    assert "Row 7 goes to" in page.inner_text(".row-way")
    page.fill(".row-id", "99999")
    page.press(".row-id", "Enter")
    page.wait_for_selector(".message.is-error")
    assert "There is no row '99999'" in page.inner_text(".message")


def test_versions_side_by_side(studio: Callable[..., Studio], model: Any) -> None:
    served, first = studio(model), model.explanation_
    page = served.visit()
    opened(page, 1)
    page.keyboard.press("Escape")
    page.keyboard.press("p")
    holds(page, "document.querySelectorAll('.card').length === 5")
    page.click(".open-versions")
    page.wait_for_selector(".sketch")
    assert page.locator(".versions li").count() == 2
    assert page.locator(".sketch").nth(0).locator("li").count() == 7
    assert page.locator(".sketch").nth(1).locator("li").count() == 5
    lost = first.prune(1).rows_right - first.rows_right
    table = page.locator(".tables table").first.inner_text()
    assert f"−{-lost}" in table
    flows = page.locator(".tables table").nth(1)
    moved = sum(int(cell) for cell in flows.locator("td.number").all_inner_texts())
    assert f"{moved} rows" in flows.locator("caption").inner_text()
    page.get_by_role("button", name="Go to version 0").click()
    holds(page, "document.querySelectorAll('.card').length === 7")
    holds(page, "!document.querySelector('dialog')")


# --- Looks and reach ------------------------------------------------------------------------------


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_accessible_everywhere(
    studio: Callable[..., Studio], model: Any, axe: str, width: int, scheme: str
) -> None:
    """axe-core finds nothing serious, and nothing is wider than the window."""
    page = studio(model).visit(width=width, height=844, color_scheme=scheme, bypass_csp=True)
    found = {}

    def check(what: str, where: str = "html") -> None:
        found[what] = serious(page, axe, where)
        assert page.evaluate("document.documentElement.scrollWidth") <= width

    check("tree")
    opened(page, 0)
    page.locator(".alternative").first.click()
    holds(page, "document.querySelector('.live').textContent.includes('rows right')")
    check("node")
    opened(page, 2)
    check("chips", ".inspector")
    page.keyboard.press("Escape")
    page.locator(".segment").first.click()
    check("segment", ".inspector")
    page.keyboard.press("Escape")
    page.click(".add-leaf")
    holds(page, "!document.querySelector('.undo').disabled")
    page.click(".open-rows")
    page.wait_for_selector(".rows-panel tbody tr")
    page.locator(".rows-panel tbody button").first.click()
    page.wait_for_selector(".row-way p")
    check("rows", ".rows-panel")
    for where, what in (
        (".open-versions", ".sketch"),
        (".open-export", "pre"),
        (".open-help", ".keys"),
    ):
        page.click(where)
        page.wait_for_selector(f"dialog {what}")
        check(where[1:], "dialog")
        page.keyboard.press("Escape")
    assert {what: each for what, each in found.items() if each} == {}
    background = page.evaluate("getComputedStyle(document.querySelector('.card')).backgroundColor")
    assert background == {"dark": "rgb(27, 31, 36)", "light": "rgb(255, 255, 255)"}[scheme]


def test_start_is_accessible(
    visit: Callable[..., Any], studio: Callable[..., Studio], axe: str
) -> None:
    served = studio(None, name="table", labels=None)
    page = visit(served.address, width=390, bypass_csp=True)
    page.wait_for_selector(".drop")
    assert serious(page, axe) == []


def test_phones_get_an_outline(studio: Callable[..., Studio], model: Any) -> None:
    page = studio(model).visit(width=390, height=844, has_touch=True, is_mobile=True)
    assert page.locator(".canvas.is-outline").count() == 1
    boxes = [card.bounding_box() for card in page.locator(".card").all()]
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= 390 for box in boxes)
    assert [box["y"] for box in boxes] == sorted(box["y"] for box in boxes)
    page.locator(".card").first.tap()
    page.wait_for_selector(".handle")
    panel = page.locator(".inspector").bounding_box()
    assert panel["width"] == 390
    assert panel["y"] + panel["height"] == pytest.approx(844, abs=1)


def test_pan_zoom_and_fold(studio: Callable[..., Studio], model: Any) -> None:
    page = studio(model).visit()
    root = page.locator('.card[data-node="0"]')
    at = root.bounding_box()
    canvas = page.locator(".canvas").bounding_box()
    x, y = canvas["x"] + 40, canvas["y"] + canvas["height"] - 60
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 60, y - 30, steps=4)
    page.mouse.up()
    moved = root.bounding_box()
    assert (moved["x"] - at["x"], moved["y"] - at["y"]) == pytest.approx((60, -30), abs=1)
    page.get_by_role("button", name="Zoom in").click()
    assert root.bounding_box()["width"] > 1.2 * at["width"]
    page.get_by_role("button", name="Show the whole tree").click()
    assert root.bounding_box()["x"] == pytest.approx(at["x"], abs=1)
    root.hover()
    root.locator(".fold").click()
    assert page.locator(".card").count() == 1
    assert root.locator(".fold").inner_text() == "+4"
    assert root.get_attribute("aria-expanded") == "false"


def test_keyboard_only(  # noqa: PLR0915
    studio: Callable[..., Studio], model: Any
) -> None:
    """From opening the page to undoing an edit without a mouse; focus is never lost."""
    served = studio(model)
    page = served.visit()
    press = page.keyboard.press

    def focused() -> str:
        return str(page.evaluate("document.activeElement.getAttribute('aria-label')"))

    press("t")
    assert focused().startswith("flipper_length_mm ≤ 206 or missing")
    press("ArrowRight")
    press("ArrowDown")
    press("ArrowUp")
    assert focused().startswith("yes: bill_length_mm ≤ 43.4 or missing")
    press("ArrowLeft")  # fold
    assert page.locator(".card").count() == 5
    press("ArrowRight")
    assert page.locator(".card").count() == 7
    press("End")
    assert focused().startswith("no: leaf 3, Chinstrap")
    press("Home")
    press("d")
    page.wait_for_selector(".handle:focus")
    before = page.get_attribute(".handle", "aria-valuenow")
    press("ArrowRight")
    press("ArrowRight")
    holds(page, "document.querySelector('.live').textContent.includes('rows right')")
    page.wait_for_load_state("networkidle")
    assert float(page.get_attribute(".handle", "aria-valuenow")) > float(before)
    holds(
        page,
        "document.querySelector('[role=status].hidden-text').textContent.startsWith('Tried out')",
    )
    press("Enter")
    holds(page, "!document.querySelector('.undo').disabled")
    assert journal(served.session)[0].startswith("node 0 asks flipper_length_mm ≤ 20")
    holds(page, "document.querySelector('.spexplain-studio').contains(document.activeElement)")
    press("t")
    press("l")
    page.wait_for_selector(".card.is-locked")
    press("u")
    holds(page, "!document.querySelector('.card.is-locked')")
    press("Control+z")
    holds(page, "document.querySelector('.undo').disabled")
    press("r")
    holds(page, "!document.querySelector('.undo').disabled")
    press("w")
    page.wait_for_selector(".rows-panel tbody tr")
    press("/")
    page.keyboard.type("3")
    press("Enter")
    page.wait_for_selector(".card.on-path")
    press("Escape")
    press("Escape")
    press("?")
    page.wait_for_selector("dialog .keys")
    press("Escape")
    press("v")
    page.wait_for_selector("dialog .sketch")
    press("Escape")
    holds(page, "!document.querySelector('dialog')")
    seen = set()  # Tab goes through everything and comes round
    for _ in range(80):
        press("Tab")
        seen.add(
            page.evaluate(
                "document.activeElement.className + '/' + document.activeElement.textContent"
            )
        )
        shown = "getComputedStyle(document.activeElement).outlineStyle !== 'none' || document.activeElement.matches('.handle, input[type=checkbox], body')"  # noqa: E501
        assert page.evaluate(shown), page.evaluate("document.activeElement.outerHTML.slice(0, 200)")
    for each in ("open-export", "segment", "card", "theme"):
        assert any(each in one for one in seen)


def test_hostile_names(studio: Callable[..., Studio]) -> None:
    """Names of columns, categories, clusters and tables are text, wherever they are shown."""
    pandas = pytest.importorskip("pandas")
    long = "no_place_to_break_" * 20
    frame = pandas.DataFrame(
        {
            HOSTILE: [1.0, 2, 3, 4, 5, 6, 7, 8] * 5,
            long: [f"{HOSTILE}{value}" for value in "aabbccdd"] * 5,
            "</script><script>alert(1)</script>": [8.0, 1, 7, 2, 6, 3, 5, 4] * 5,
        }
    )
    labels = [f"<b>{HOSTILE}</b>", "=1+1", long, "ok"]
    y = [labels[min(3, int(value) // 2)] for value in frame[HOSTILE]]
    served = studio(CART(n_leaves=4).fit(frame, y), name=f"{HOSTILE}.csv", labels=HOSTILE)
    page = served.visit()
    for node in range(served.session.explanation.tree.n_nodes):
        opened(page, node)
    page.get_by_label("Split by").or_(page.get_by_label("Column")).select_option(long)
    page.wait_for_selector(".chip")
    page.locator(".segment").first.click()
    page.fill("input.rename", HOSTILE + "<u>")
    page.press("input.rename", "Enter")
    holds(page, "!document.querySelector('.undo').disabled")
    page.click(".open-rows")
    page.locator(".switch", has_text="Wrong only").click()
    page.wait_for_selector(".rows-panel tbody tr")
    page.locator(".rows-panel tbody button").first.click()
    page.wait_for_selector(".row-way p")
    page.click(".open-versions")
    page.wait_for_selector(".sketch")
    assert page.locator("img, dialog b, dialog u, script:not([src])").count() == 0
    assert HOSTILE.partition("\\")[0] in page.text_content(".journal")
    assert page.title() != "1"
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


# --- In a notebook --------------------------------------------------------------------------------


def test_widget_is_built_from_these_modules() -> None:
    """``make studio-page`` was run after the last change."""
    built = {"vendor.js", "widget.js"}
    sources = [path for path in sorted(PAGE.glob("*.js")) if path.name not in built]
    entry = ROOT / "scripts" / "studio" / "widget-entry.js"
    if not entry.exists():
        pytest.skip("the sources of the widget are not here")
    found = hashlib.sha256()
    for path in [*sources, entry]:
        found.update(path.read_bytes())
    assert f"from sources {found.hexdigest()}" in (PAGE / "widget.js").read_text(encoding="utf-8")


def test_no_markup_from_texts() -> None:
    """Texts never become markup: the modules have no way to do it."""
    for path in PAGE.glob("*.js"):
        if path.name not in ("vendor.js", "widget.js"):
            text = path.read_text(encoding="utf-8")
            ways = "innerHTML|outerHTML|insertAdjacentHTML|document.write|eval\\(|new Function"
            assert not re.search(ways, text), path.name


def test_widget_draws_the_same(browser: Any, model: Any) -> None:
    """The bundle of the notebook asks through its model, and edits through it."""
    session = Session(model, name="penguins")
    context = browser.new_context(viewport={"width": 1000, "height": 800}, reduced_motion="reduce")
    context.set_default_timeout(20_000)
    page, troubles = context.new_page(), []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.expose_function("answer", session.answer)
    files = {
        "http://notebook.test/": (
            "text/html",
            '<!doctype html><link rel="stylesheet" href="studio.css"><div id="cell"></div>',
        ),
        "http://notebook.test/widget.js": (
            "text/javascript",
            (PAGE / "widget.js").read_text(encoding="utf-8"),
        ),
        "http://notebook.test/studio.css": (
            "text/css",
            (PAGE / "studio.css").read_text(encoding="utf-8"),
        ),
    }
    page.route(
        "**/*",
        lambda route: (
            route.fulfill(content_type=kind, body=body)
            if (found := files.get(route.request.url)) and (kind := found[0]) and (body := found[1])
            else route.abort()
        ),
    )
    page.goto("http://notebook.test/")
    page.evaluate(
        """async () => {
            const {default: widget} = await import("/widget.js");
            const listeners = new Set();
            const model = {
                on: (name, listener) => listeners.add(listener),
                off: (name, listener) => listeners.delete(listener),
                send: async ({id, question}) => {
                    const answer = await window.answer(question);
                    for (const each of listeners) each({id, answer});
                },
            };
            window.tell = (message) => listeners.forEach((each) => each(message));
            window.leave = widget.render({model, el: document.getElementById("cell")});
        }"""
    )
    page.wait_for_selector(".card")
    page.click('.card[data-node="1"]')
    page.wait_for_selector(".chart")
    page.get_by_role("button", name="Prune").click()
    holds(page, "document.querySelectorAll('.card').length === 5")
    assert journal(session) == ["node 1 pruned"]
    session.answer({"ask": "undo", "version": session.version})  # by code, in another cell
    page.evaluate("(version) => window.tell({changed: version})", session.version)
    holds(page, "document.querySelectorAll('.card').length === 7")
    assert page.locator(".spexplain-studio").bounding_box()["height"] == 720
    page.evaluate("window.leave()")
    assert page.locator(".card").count() == 0
    context.close()
    assert troubles == []
