"""Hostile names, labels and values stay texts: in reports, SQL, Python, drawings and terminals."""

import ast
import re
import sqlite3
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from export.conftest import DuckDB, SQLite
from spexplain import CART, from_json
from spexplain.explanation import Explanation
from spexplain.export import to_python, to_sql
from spexplain.export.dialects import DIALECTS
from spexplain.show.report import render, render_check
from spexplain.tree import Column, Tree
from trust.hostile import TEXTS, fitted, model_of

ESCAPES = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture(scope="module")
def summary():
    estimator, X = fitted()
    return estimator.summary(X, feature_names=TEXTS)


class Page(HTMLParser):
    """Collects what a browser would act upon."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]


def is_no_text(text: str) -> bool:
    """Whether no database stores it: NUL characters, and halves of surrogate pairs."""
    return "\0" in text or "\ud800" in text


def test_reports_hold_no_foreign_markup(summary):
    page = Page()
    page.feed(render(summary))
    assert page.tags.count("script") == 2
    assert page.tags.count("style") == 1
    assert not {"img", "iframe", "object", "embed", "base"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    links = [value for name, value in page.attributes if name in ("href", "src", "action")]
    assert all(link.startswith(("#", "data:,")) for link in links)


def test_reports_run_nothing_in_a_browser(visit, summary):
    """Everything is hovered, clicked and typed into; dialogs, requests and errors fail the test."""
    page = visit(summary).page
    page.locator("#expand-all").click()
    for line in page.locator("#tree-list .leaf-line").all()[:14]:
        line.hover()
        line.click()
    for n_leaves in ("2", "7", "14"):
        page.locator("#leaves").fill(n_leaves)
    for value in ("0", "3", ""):
        page.select_option("#try-typical", value if value else "1")
        page.locator("#try-0").fill(value)
    page.locator("#theme").click()
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("window.__pwned") is None
    assert page.locator("script").count() == 2
    assert page.locator("img, iframe, object, embed").count() == 0


@pytest.fixture(scope="module")
def hostile_check():
    """The page of a check in which columns, categories, labels and cells are all hostile."""
    names = [text for text in TEXTS if "\ud800" not in text and "\0" not in text]
    n_rows = 20 * len(names)
    then = pd.DataFrame({name: np.arange(n_rows) % (7 + at) for at, name in enumerate(names[:8])})
    then["category"] = [names[at % 12] for at in range(n_rows)]
    labels = np.array([names[at % 12] for at in range(n_rows)], dtype=object)
    model = CART(n_leaves=9, features=["category", *names[:8]]).fit(then, labels)
    now = then.assign(category=[names[-1 - at % len(names)] for at in range(n_rows)])
    now[names[0]] = [names[at % len(names)] for at in range(n_rows)]
    now = now.rename(columns={names[1]: names[1] + "!"})
    return from_json(model.to_json(profile="all")).check(now, labels[::-1])


def test_checks_hold_no_foreign_markup(hostile_check):
    page = Page()
    html = render_check(hostile_check.facts, title=TEXTS[0])
    page.feed(html)
    kinds = {each["kind"] for each in hostile_check.findings}
    assert {"new-category", "kind-changed"} <= kinds
    assert page.tags.count("script") == 0
    assert page.tags.count("style") == 1
    assert not {"img", "iframe", "object", "embed", "base"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert ESCAPES.search(html) is None
    assert ESCAPES.search(hostile_check.to_text()) is None
    assert hostile_check.to_json().isascii()


def test_checks_run_nothing_in_a_browser(visit, summary, hostile_check):
    html = render_check(hostile_check.facts)
    for width in (1280, 390):
        page = visit(summary, width=width, spoil=lambda _: html).page
        assert page.evaluate("window.__pwned") is None
        assert page.locator("script, img, iframe, object, embed").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_notebooks_show_no_foreign_markup():
    estimator, _ = fitted()
    shown = estimator.rules(TEXTS)._repr_html_()
    page = Page()
    page.feed(shown)
    assert "script" not in page.tags
    assert not {"img", "iframe"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on")]


def choice_of(text: str) -> Explanation:
    """A model whose only test is for a hostile category."""
    tree = Tree.root(n_features=1, size=2).split(0, feature=0, threshold=np.nan, categories=(1,))
    return Explanation(tree, described=(Column("", "category", ("plain", text)),))


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
@pytest.mark.parametrize("kind", [SQLite, DuckDB])
def test_sql_names_and_labels_are_executed_as_texts(kind, text):
    """Run against a real table whose columns and labels are hostile; the table must survive."""
    if kind is DuckDB:
        pytest.importorskip("duckdb")
    if is_no_text(text):
        with pytest.raises(ValueError, match=r"NUL character|not valid Unicode"):
            to_sql(model_of(text), dialect=kind.dialect, table="t")
        with pytest.raises(ValueError, match=r"NUL character|not valid Unicode"):
            to_sql(model_of("a", text), dialect=kind.dialect, table="t", label="reference")
        return
    rows = [[0.0], [1.0], [0.5], [None]]
    found = kind().labels(model_of(text, text), rows, label="reference", name="found")
    assert found == [text, "other", text, "other"]
    rows = [[text], ["plain"], [None], ["never seen"]]
    assert kind().labels(choice_of(text), rows) == [0, 1, 1, 1]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_dialect_lets_a_text_end_its_quotes(dialect):
    """Without its quoted parts, the statement of a hostile model is that of a tame one."""
    tame = without_texts(
        to_sql(model_of("a"), dialect=dialect, table="t", label="reference"), dialect
    )
    for text in TEXTS:
        if is_no_text(text):
            continue
        # Names with a dot are refused where it would part them.
        name = text if DIALECTS[dialect].has_dots else text.replace(".", "")
        options = {"dialect": dialect, "label": "reference", "table": [name], "view": [name]}
        hostile = to_sql(model_of(name, text), name=name + "2", **options)
        first, _, rest = without_texts(hostile, dialect).partition("\n")
        assert first == "CREATE VIEW _ AS"
        assert rest == tame


def without_texts(sql: str, dialect: str) -> str:
    """Return SQL with a mark in place of every quoted name and text, read as the database reads it."""
    quote = DIALECTS[dialect].quote
    marks = {quote, "'"}
    slashes = {"'": dialect in ("bigquery", "snowflake", "mysql"), quote: dialect == "bigquery"}
    plain, at = [], 0
    while at < len(sql):
        sign = sql[at]
        if sign not in marks:
            plain.append(sign)
            at += 1
            continue
        escapes = slashes.get(sign, False) or (sign == "'" and plain[-1:] == ["E"])
        if sign == "'" and plain[-1:] == ["E"]:
            plain.pop()
        at += 1
        while True:
            assert at < len(sql), "a quote never ends"
            is_doubled = sql[at : at + 2] == 2 * sign and dialect != "bigquery"
            if is_doubled or (escapes and sql[at] == "\\"):
                at += 2
            elif sql[at] == sign:
                break
            else:
                at += 1
        plain.append("_")
        at += 1
    return "".join(plain)


def test_sqlite_survives_every_table_name():
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (a REAL)")
    for text in TEXTS:
        if is_no_text(text):
            continue
        name = '"' + text.replace('"', '""') + '"'
        connection.execute(f"CREATE TABLE {name} (a REAL)")
        connection.execute(to_sql(model_of("a"), dialect="sqlite", table=[text]))
    assert connection.execute("SELECT COUNT(*) FROM t").fetchone() == (0,)
    connection.close()


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_python_source_is_one_function_of_literals(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = to_python(model_of(text, text), label="reference")
    module = ast.parse(source)
    assert {type(each) for each in module.body} == {ast.Expr, ast.FunctionDef}
    called = {ast.unparse(each.func) for each in ast.walk(module) if isinstance(each, ast.Call)}
    assert called <= {
        *("hasattr", "len", "float", "abs", "bool", "ValueError"),
        *(each.name for each in module.body if isinstance(each, ast.FunctionDef)),
    }
    assert not [each for each in ast.walk(module) if isinstance(each, ast.Import | ast.ImportFrom)]
    space: dict = {}
    exec(compile(module, "<model>", "exec"), space)
    assert space["predict"]({text: 0.0}) == text
    assert space["predict"]([1.0]) == "other"
    exec(to_python(choice_of(text)), space)
    assert [space["predict"]([value]) for value in (text, "plain", None)] == [0, 1, 1]
    assert not list(tmp_path.iterdir())


def test_drawings_are_one_line_a_branch():
    estimator, _ = fitted()
    drawn = estimator.to_text(TEXTS)
    assert ESCAPES.search(drawn.replace("\n", "")) is None
    assert len(drawn.splitlines()) == 2 * estimator.n_leaves_ - 1


def test_sklearn_and_onnx_keep_hostile_names():
    names = [text for text in TEXTS if not is_no_text(text)]
    estimator, X = fitted(names)
    assert (estimator.to_sklearn().predict(X.astype("float32")) >= 0).all()
    from sklearn.tree import export_text

    assert names[1] in export_text(estimator.to_sklearn(), feature_names=names)
