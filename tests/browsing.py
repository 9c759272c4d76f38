"""A headless Chromium, where one is installed: one for each test process, whichever tests use it."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from spexplain.show.report import render, write

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class Visit(NamedTuple):
    """An opened report and everything that must not happen in it."""

    page: Any
    troubles: list[str]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip(f"no browser found (looked for {', '.join(BROWSERS)})")
    with sync_api.sync_playwright() as playwright:
        # Playwright gives every browser a new and empty user data folder.
        chromium = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture
def visit(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Visit]]:
    """Open the report of a summary, or a page; at the end nothing may have been complained about or asked for."""
    visits: list[tuple[Any, list[str]]] = []

    def open_report(
        summary: Any, *, width: int = 1280, spoil: Callable[[str], str] = str, **options: Any
    ) -> Visit:
        html = summary if isinstance(summary, str) else render(summary)
        path = write(tmp_path / f"report-{len(visits)}.html", spoil(html))
        viewport = {"width": width, "height": 900}
        context = browser.new_context(viewport=viewport, reduced_motion="reduce", **options)
        context.set_default_timeout(10_000)
        page, troubles = context.new_page(), []
        page.on("console", lambda message: troubles.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (troubles.append("dialog"), dialog.dismiss()))
        context.on("request", lambda request: _note_request(request, path, troubles))
        failed = "requestfailed"  # among them what the page's own policy forbids
        context.on(failed, lambda each: troubles.append(f"failed: {each.url} {each.failure}"))
        page.goto(path.as_uri())
        visits.append((context, troubles))
        return Visit(page, troubles)

    yield open_report
    for context, troubles in visits:
        context.close()
        assert troubles == []


@pytest.fixture(scope="session")
def axe() -> str:
    """Return the script of axe-core, which finds what people with disabilities would stumble over."""
    found = pytest.importorskip("axe_playwright_python", reason="axe-core is not installed")
    return (Path(found.__file__).parent / "axe.min.js").read_text(encoding="utf-8")


def serious(page: Any, axe: str, where: str = "html") -> list[Any]:
    """Return what axe-core finds in a page that is serious or critical; the page must bypass its policy."""
    page.evaluate(axe)
    found = page.evaluate(
        """async (where) => (await axe.run(where, {resultTypes: ["violations"]})).violations
            .filter((each) => ["serious", "critical"].includes(each.impact))
            .map((each) => [each.id, each.nodes.map((node) => node.html.slice(0, 200))])""",
        where,
    )
    return list(found)


def _note_request(request: Any, path: Path, troubles: list[str]) -> None:
    allowed = request.url.partition("#")[0] == path.as_uri() or request.url.startswith("data:")
    if not allowed:
        troubles.append(f"request: {request.url}")
