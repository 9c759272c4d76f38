"""Hostile names do nothing in an open report, and its policy stops what slips in."""

from show.report.opened import leaf_line
from show.report.summaries import hostile, iris


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
