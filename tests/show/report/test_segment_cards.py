"""The report by segment: cards, names that can be changed and kept, pictures for slides, and what machines check."""

import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from palmerpenguins import load_penguins

from browsing import serious
from facts.cases import HOSTILE
from spexplain import CART, SpexKNN
from spexplain.facts.verdict import NO_BETTER
from spexplain.show.report import render
from spexplain.show.report.render import word_parts
from spexplain.show.report.sections import bend_of, place_on


@pytest.fixture(scope="module")
def explainer():
    table = load_penguins().dropna()
    species = table.pop("species")
    return CART(n_leaves=4).fit(table, species)


@pytest.fixture(scope="module")
def summary(explainer):
    return explainer.summary()


def text_of(html):
    return " ".join(re.sub(r"<wbr>", "", re.sub(r"<(?!wbr)[^>]+>", " ", html)).split())


def test_the_verdict_comes_first_then_segments_then_the_tree(explainer, summary):
    html = render(summary)
    places = [
        html.index(each)
        for each in ('class="judgement', 'id="segments"', 'id="tree"', 'id="cards"')
    ]
    assert places == sorted(places)
    text = text_of(html)
    for sentence in summary["verdict"]["sentences"]:
        assert sentence in text
    for segment in summary["segments"]:
        assert f'id="segment-{segment["code"]}"' in html
        for told in segment["telling"]:
            assert told["text"] in text


def test_random_labels_are_called_what_they_are():
    random = np.random.default_rng(0)
    explainer = CART().fit(random.normal(size=(100, 3)), random.integers(0, 3, 100))
    assert NO_BETTER in render(explainer.summary())


def test_rows_have_the_names_of_the_users_table(explainer, summary):
    index = load_penguins().dropna().index
    assert not np.array_equal(index, np.arange(len(index)))
    for segment in summary["segments"]:
        for typical in segment["typical"]:
            assert typical["id"] == str(index[typical["row"]])
    given = explainer.summary(row_ids=[f"bird {number}" for number in range(len(index))])
    typical = given["segments"][0]["typical"][0]
    assert typical["id"] == f"bird {typical['row']}"
    assert f"bird {typical['row']}" in text_of(render(given))
    with pytest.raises(ValueError, match="row_ids must hold one name for each"):
        explainer.summary(row_ids=["a"])


def test_names_are_those_of_every_output(explainer, tmp_path):
    named = explainer.renamed({"Adelie": "small", "Gentoo": "large"})
    assert set(named.leaf_reference_) == {"small", "large", "Chinstrap"}
    assert "small" in named.to_text()
    assert "'large'" in named.to_sql(label="reference")
    assert json.loads(named.to_json())["reference"]["labels"]
    path = explainer.report(tmp_path / "report.html", segment_names={"Adelie": "small"})
    text = text_of(path.read_text(encoding="utf-8"))
    assert "small" in text
    assert "Adelie" not in text
    for names, message in (
        ({"Adele": "x"}, "segment_names has 'Adele'"),
        ({"Adelie": "Gentoo"}, "to two clusters"),
    ):
        with pytest.raises(ValueError, match=message):
            explainer.renamed(names)
    with pytest.raises(ValueError, match="has none"):
        SpexKNN(2, n_neighbors=2).fit([[0.0], [0.1], [5.0], [5.1]]).renamed({0: "a"})


def test_a_renamed_model_validates_and_loads(explainer):
    named = explainer.renamed({"Adelie": "zz", "Gentoo": "aa"})
    assert named.validate()["held_out"] == explainer.validate()["held_out"]
    again = explainer.renamed({"Adelie": "zz"})
    assert [each["name"] for each in again.validation_["clusters"]] == ["zz", "Chinstrap", "Gentoo"]


def test_columns_of_positive_values_that_differ_much_have_a_bent_scale():
    random = np.random.default_rng(0)
    spent = random.lognormal(3, 1.5, 300)
    table = pd.DataFrame({"spent": spent, "age": random.integers(18, 80, 300), "debt": -spent})
    summary = CART().fit(table, spent > 20).summary()
    bends = {each["name"]: bend_of(each) for each in summary["features"]}
    assert bends["spent"] > 0
    assert bends["age"] == bends["debt"] == 0
    places = [place_on(x, 0.0, 1000.0, bends["spent"]) for x in (0, 10, 100, 1000)]
    assert places[0] == 0
    assert places[-1] == 100
    assert places[1] > 5  # not squeezed into the first hundredth
    assert "(log scale)" in render(summary)


def test_values_stand_in_the_units_of_the_user():
    """Dates as dates, thousands apart, a logarithmic scale for what is skewed, and no price where money is."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "salary": np.r_[rng.integers(20_000, 40_000, 60), rng.integers(90_000, 99_000, 60)],
            "spent": np.exp(rng.normal(8, 2, 120)),
            "joined": pd.Timestamp("2015-01-01")
            + pd.to_timedelta(np.arange(120) // 2 * 40, unit="D"),
        },
        index=np.arange(1000, 1120),
    ).drop(index=[1000, 1003])
    labels = np.where(table.salary > 50_000, "rich", "poor")
    explainer = CART(2).fit(table, labels)
    html = render(explainer.summary())
    words = text_of(re.sub(r"<script.*?</script>", "", html, flags=re.S))
    (told,) = (each for each in explainer.segment("rich")["telling"] if each["name"] == "salary")
    assert re.fullmatch(
        r"salary (1\.\d× the average|9\d,\d{3} on average, \d\d,\d{3} overall)", told["text"]
    )
    assert re.search(
        r"joined 20(18|19|20|21)-\d\d-\d\d on average, 20\d\d-\d\d-\d\d overall", words
    )
    assert "(log scale)" in html or "logarithmic scale" in html
    assert re.search(r"\b9\d,\d{3}\b", words)  # typical rows
    assert "Cost ratio" in words
    assert "price" not in words.lower()
    names = {
        row
        for each in explainer.segments(output="records")
        for row in each["typical"][0]["id"].split()
    }
    assert names <= set(map(str, table.index))
    assert not names & {"1000", "1003"}


@pytest.mark.parametrize("name", [*HOSTILE, "flipper_length_mm", "DaysSinceLastOrder", "a" * 50])
def test_words_break_where_people_would(name):
    parts = word_parts(name)
    assert "".join(parts) == name
    assert all(len(word) <= 16 for part in parts for word in part.split())


def test_a_cluster_is_renamed_in_the_page_and_in_the_copy(visit, summary, tmp_path):
    page = visit(summary).page
    page.get_by_role("button", name="Rename Adelie").click()
    field = page.get_by_label("New name of Adelie")
    field.fill("Small & <b>quick</b>")
    field.press("Enter")
    assert page.get_by_text("Adelie").count() == 0
    assert page.locator("#segment-0 h3").inner_text().startswith("Small & <b>quick</b>")
    assert "Small & <b>quick</b>" in page.locator("#tree-list").inner_text()
    assert "Small & <b>quick</b>" in page.locator(".judgement").inner_text()
    # A name that another cluster has is not taken, and Escape changes nothing.
    for key, given in (("Enter", "Gentoo"), ("Escape", "other")):
        page.get_by_role("button", name="Rename Chinstrap").click()
        page.get_by_label("New name of Chinstrap").fill(given)
        page.get_by_label("New name of Chinstrap").press(key)
        assert page.get_by_role("button", name="Rename Chinstrap").is_visible()
    with page.expect_download() as found:
        page.get_by_role("button", name="Download with these names").click()
    copy = tmp_path / "copy.html"
    found.value.save_as(copy)
    troubles = []
    other = page.context.new_page()
    other.on("console", lambda message: troubles.append(message.text))
    other.on("pageerror", lambda error: troubles.append(str(error)))
    content = copy.read_text(encoding="utf-8")
    assert "Adelie" not in re.sub(r"<script>.*?</script>", "", content, flags=re.S)
    assert "<b>quick" not in content
    other.set_content(content)
    assert other.locator("#segment-0 h3").inner_text().startswith("Small & <b>quick</b>")
    other.get_by_role("button", name="Rename Small & <b>quick</b>").click()
    assert other.get_by_label("New name of Small & <b>quick</b>").is_visible()
    assert troubles == []
    other.close()


def test_short_names_are_renamed_where_they_stand_and_nowhere_else(visit, explainer):
    """One letter and two letters, in sentences, titles and lists; words that hold them stay."""
    named = explainer.renamed({"Adelie": "a", "Chinstrap": "on", "Gentoo": "a" * 50})
    named.validate(cv=2)
    page = visit(named.summary()).page
    before = page.locator(".judgement").inner_text()
    assert "guessing a is right" in before
    for old, new in (("a", "Zebra"), ("on", "Quagga")):
        page.get_by_role("button", name=f"Rename {old}", exact=True).click()
        field = page.get_by_label(f"New name of {old}", exact=True)
        field.fill(new)
        field.press("Enter")
    after = page.locator(".judgement").inner_text()
    assert "guessing Zebra is right" in after
    assert "put into their own cluster" in after
    words = page.locator("body").inner_text()
    assert "Most telling columns" in words
    assert "Missing values are on" not in words
    titles = page.locator("svg.bar title").all_text_contents()
    assert any("Zebra" in each for each in titles)
    assert not any(re.search(r"% (a|on)\b", each) for each in titles)
    left = page.evaluate(
        """() => [...document.querySelectorAll(".stands bdi, [data-cluster-name]")]
        .map((each) => each.textContent.trim()).filter((each) => ["a", "on"].includes(each))"""
    )
    assert left == []
    # Long names are broken over lines, and still are one name.
    long = page.locator("[data-rename]").nth(2).get_attribute("data-rename")
    page.get_by_role("button", name=f"Rename {long}", exact=True).click()
    page.get_by_label(f"New name of {long}", exact=True).fill("Okapi")
    page.get_by_label(f"New name of {long}", exact=True).press("Enter")
    assert page.get_by_text(long).count() == 0
    assert page.locator("#segment-2 h3").inner_text().startswith("Okapi")


@pytest.mark.parametrize("width", [390, 1280])
def test_no_card_is_wider_than_its_room(visit, summary, width):
    page = visit(summary, width=width).page
    clipped = page.evaluate(
        """() => [...document.querySelectorAll("#segments .scroll, #cards .scroll, .rule, h3")]
        .filter((each) => each.scrollWidth > each.clientWidth + 1).map((each) => each.outerHTML.slice(0, 200))"""
    )
    assert clipped == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_stands_in_the_way_of_readers(visit, summary, axe, width, scheme):
    page = visit(summary, width=width, color_scheme=scheme, bypass_csp=True).page
    assert serious(page, axe) == []


@pytest.mark.parametrize("ending", ["png", "svg", "pdf", "pptx"])
def test_pictures_for_slides(explainer, tmp_path, ending):
    path = explainer.picture(tmp_path / f"segments.{ending}", title="Penguins")
    content = path.read_bytes()
    starts = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF", "pptx": b"PK"}
    assert content.startswith(starts[ending])
    if ending != "pptx":
        assert (
            explainer.picture(tmp_path / f"again.{ending}", title="Penguins").read_bytes()
            == content
        )


def test_slides_have_shapes_that_can_be_edited(explainer, tmp_path):
    pptx = pytest.importorskip("pptx")
    path = explainer.picture(tmp_path / "segments.pptx", title="Penguins")
    (slide,) = pptx.Presentation(path).slides
    texts = [shape.text_frame.text for shape in slide.shapes if shape.has_text_frame]
    assert texts[0] == "Penguins"
    for record in explainer.segments(output="records"):
        (card,) = (text for text in texts if text.startswith(f"{record['name']}\n"))
        assert record["rule"] in card
    assert zipfile.is_zipfile(path)


def test_pictures_of_hostile_names(tmp_path):
    X = np.eye(9)
    labels = np.array(HOSTILE, dtype=object)
    explainer = CART(9, feature_names=[each or "empty" for each in HOSTILE]).fit(X, labels)
    for ending in ("svg", "pptx"):
        assert explainer.picture(tmp_path / f"hostile.{ending}").stat().st_size > 1000
    with pytest.raises(ValueError, match="ending of path"):
        explainer.picture(Path("segments.gif"))
