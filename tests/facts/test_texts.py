"""Texts and the notebook view; the golden files show them whole.

Run with SPEXPLAIN_GOLDEN=write to write the files anew, then read the difference.
"""

import os
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from facts.cases import (
    HOSTILE,
    explained,
    explained_tables,
    hostile_summary,
    iris_explainer,
    iris_summary,
)
from spexplain.facts import feature_scales, summarize, summary_text
from spexplain.facts.counterfactual import explain_row, row_text
from spexplain.show.notebook import html_repr
from spexplain.show.palette import colors
from spexplain.tree import LEAF, Tree

GOLDEN = Path(__file__).parent / "golden"


def check_golden(name: str, text: str) -> None:
    path = GOLDEN / name
    if os.environ.get("SPEXPLAIN_GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")
    assert text + "\n" == path.read_text(encoding="utf-8")


class Elements(HTMLParser):
    """The tags of a page, checked for balance."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.attributes: set[str] = set()
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.open.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def small_noise_summary():
    X = np.array([[0.0, 1.0], [0.5, 2.0], [1.0, 1.5], [9.0, 1.2], [7.0, 8.0]])
    tree = Tree.root(n_features=2, size=5).split(0, feature=0, threshold=8.0, lower=4.0)
    return summarize(explained(tree, X, [7, -1, 7, 3, -1]), X, names=["age", "pay"])


@pytest.mark.parametrize("make", [iris_summary, small_noise_summary, hostile_summary])
def test_summary_text(make):
    check_golden(f"{make.__name__}.txt", summary_text(make()))


def test_row_text():
    explainer, X, names = iris_explainer()
    tree = explainer.tree_
    scales = feature_scales(X, tree.feature[tree.feature != LEAF])
    given = {"names": names, "scales": scales, "leaf_labels": explainer.leaf_reference_}
    texts = [row_text(explain_row(tree, X[row], **given)) for row in (0, 70, 149)]
    check_golden("iris_rows.txt", "\n\n".join(texts))


@pytest.mark.parametrize("make", [iris_summary, small_noise_summary])
def test_html(make):
    html = html_repr(make())
    Elements(html)
    check_golden(f"{make.__name__}.html", html.replace("<li>", "\n<li>"))


def test_html_escapes_everything():
    html = html_repr(hostile_summary(with_rows=False))
    elements = Elements(html)
    assert set(elements.tags) <= {"div", "style", "strong", "small", "ul", "li", "span", "i"}
    assert elements.attributes <= {"class", "style", "title"}
    assert "<script" not in html
    assert "http" not in html
    for name in HOSTILE:
        if name.isascii() and name.isprintable() and '"' in name:
            assert name not in html


@given(explained_tables())
def test_html_and_text_of_odd_trees(case):
    X, record = case
    summary = summarize(record, X)
    elements = Elements(html_repr(summary))
    assert elements.tags.count("li") == record.tree.n_nodes
    assert summary_text(summary).count("rule:") == record.tree.n_leaves


def test_deep_trees_need_no_recursion():
    tree = Tree.root(n_features=1, size=0)
    for split in range(600):
        tree = tree.split(2 * split, feature=0, threshold=float(split))
    html = html_repr(summarize(explained(tree, np.array([[0.0], [1e3]]))))
    assert html.count("<li>") == 1201


def test_colors_differ():
    assert len(set(colors(21))) == 22
    assert len(colors(50)) == 51
    assert all(re.fullmatch("#[0-9a-f]{6}", color) for color in colors(30))
