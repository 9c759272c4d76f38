"""Pages with words and documents: the rules of clusters, and the tree of the same clusters, in a browser."""

import re

import numpy as np
import pytest
from palmerpenguins import load_penguins
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.feature_extraction.text import CountVectorizer

from browsing import serious
from facts.cases import HOSTILE
from spexplain import CART, BestTree, ClusterRules, SpexClique, from_json
from spexplain.show.report.rule_cards import render_rules


@pytest.fixture(scope="module")
def documents():
    """Return real texts: the paragraphs in which scikit-learn describes four tables; the tables are the clusters."""
    found = {
        "iris": load_iris().DESCR,
        "wine": load_wine().DESCR,
        "diabetes": load_diabetes().DESCR,
        "cancer": load_breast_cancer().DESCR,
    }
    texts, topics = [], []
    for topic, description in found.items():
        parts = [part for part in re.split(r"\n\s*\n|\n(?=\s*[-:])", description) if len(part) > 20]
        texts += parts
        topics += [topic] * len(parts)
    return texts, np.array(topics)


@pytest.fixture(scope="module")
def counted(documents):
    vectorizer = CountVectorizer(binary=True, stop_words="english", token_pattern=r"[a-z]{3,}")
    return vectorizer.fit_transform(documents[0]), vectorizer


@pytest.fixture(scope="module")
def rules(documents, counted):
    counts, vectorizer = counted
    return ClusterRules(feature_names=vectorizer).fit(counts, documents[1])


@pytest.fixture(scope="module")
def hostile_page():
    names = [each or "empty" for each in HOSTILE]
    found = ClusterRules(2, feature_names=names).fit(np.eye(9), np.array(HOSTILE, dtype=object))
    texts = [f"<script>alert({number})</script> {name}" for number, name in enumerate(names)]
    return render_rules(found.explanation_, title="<i>x</i>", texts=texts)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_rules_stand_in_nobodys_way(visit, documents, rules, axe, width, scheme):
    html = render_rules(rules.explanation_, texts=documents[0])
    page = visit(html, width=width, color_scheme=scheme, bypass_csp=True).page
    assert serious(page, axe) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".chip").count() > 4
    assert page.locator("blockquote.document").count() == 12
    assert page.locator("blockquote.document mark").count() >= 6


@pytest.mark.parametrize("width", [390, 1280])
def test_hostile_names_do_nothing_to_the_rules(visit, hostile_page, axe, width):
    page = visit(hostile_page, width=width, bypass_csp=True).page
    assert serious(page, axe) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("h1").inner_text() == "<i>x</i>"
    assert page.locator("script").count() == 0


def test_the_rules_are_reached_by_keys_and_printed_whole(visit, rules, documents):
    page = visit(render_rules(rules.explanation_, texts=documents[0])).page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    reached = []
    for _ in range(12):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.getAttribute('href')"))
    assert {"#rules", "#overlap", "#made"} <= set(reached)
    page.emulate_media(media="print")
    assert page.locator("article").last.is_visible()
    assert not page.locator(".skip").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") in (
        "rgb(255, 255, 255)",
        "rgba(0, 0, 0, 0)",
    )


@pytest.mark.parametrize("method", [BestTree, SpexClique, CART])
def test_trees_show_words_and_documents_too(visit, documents, counted, method, tmp_path):
    texts, topics = documents
    counts, vectorizer = counted
    table = counts if method is not BestTree else counts.toarray()
    explainer = method(n_leaves=6, feature_names=vectorizer).fit(table, topics)
    path = explainer.report(tmp_path / "words.html", texts=texts)
    page = visit(path.read_text(encoding="utf-8"), width=390).page
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for number, topic in enumerate(["cancer", "diabetes", "iris", "wine"]):
        card = page.locator(f"#segment-{number}")
        if explainer.segment(topic)["leaves"]:
            assert card.locator(".rule .chip").count() > 0
        shown = card.locator("blockquote.document")
        assert shown.count() == 3
        rows = [int(each.rsplit(" ", 1)[1]) for each in card.locator("cite").all_inner_texts()]
        assert (topics[rows] == topic).all()
        for place, row in enumerate(rows):
            start = " ".join(texts[row].split())[:40]
            assert start in shown.nth(place).inner_text() or "…" in shown.nth(place).inner_text()
        assert card.locator("mark").count() > 0


def test_texts_of_tables_that_have_no_words(visit, tmp_path):
    table = load_penguins().dropna().reset_index(drop=True)
    species = table.pop("species")
    notes = [
        f"Note {number} on a penguin of {island}." for number, island in enumerate(table.island)
    ]
    explainer = CART().fit(table, species)
    path = explainer.report(tmp_path / "notes.html", texts=notes, segment_names={"Adelie": "small"})
    page = visit(path.read_text(encoding="utf-8")).page
    first = page.locator("#segment-0 blockquote").first.inner_text()
    row = explainer.segment("Adelie")["typical"][0]["row"]
    assert first.startswith(notes[row])
    assert page.locator("mark").count() == 0


def test_rows_of_rules_are_called_what_the_table_calls_them(tmp_path):
    table = load_penguins().dropna()  # some numbers are gone
    species = table.pop("species")
    notes = [f"bird {number}" for number in table.index]
    found = ClusterRules(1).fit(table, species)
    html = found.report(tmp_path / "rules.html", texts=notes).read_text(encoding="utf-8")
    shown = re.findall(r"<bdi>bird (\d+)</bdi> <cite[^>]*>row <bdi>(\d+)</bdi>", html)
    assert len(shown) == 9
    assert all(said == called for said, called in shown)


def test_texts_must_fit_the_rows(rules, tmp_path):
    explainer = CART().fit([[0.0], [1.0], [8.0], [9.0]], [0, 0, 1, 1])
    with pytest.raises(ValueError, match="texts has 2 entries, but there are 4 rows"):
        explainer.report(tmp_path / "x.html", texts=["a", "b"])
    with pytest.raises(ValueError, match="pass those rows as X, too"):
        from_json(explainer.to_json()).report(tmp_path / "x.html", texts=["a", "b", "c", "d"])
    with pytest.raises(ValueError, match="texts has 1 entries"):
        rules.report(tmp_path / "x.html", texts=["a"])
    assert list(tmp_path.iterdir()) == []
