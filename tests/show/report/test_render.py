import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pytest

from show.report.summaries import EVERY, HOSTILE, iris, iris_fit, thirty_leaves, without_rows
from spexplain import SpexClique
from spexplain.facts import summarize
from spexplain.show.report import render
from spexplain.show.report.render import script_json

LIMIT = 1_500_000


VOID = {"meta", "link", "input", "br", "wbr"}


class Outline(HTMLParser):
    """Headings, elements, attributes and texts of a page, and whether its tags are balanced."""

    def __init__(self, html):
        super().__init__()
        self.headings, self.tags, self.attributes, self.text = [], [], [], ""
        self.stack = []
        self.feed(html)
        self.close()
        assert self.stack == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *each) for each in attrs]
        if tag not in VOID:
            self.stack.append(tag)
        if tag in {"h1", "h2", "h3"}:
            self.headings.append([tag, ""])

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *each) for each in attrs]

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        if not {"script", "style"} & set(self.stack):
            self.text += data
            if self.headings and self.stack and {"h1", "h2", "h3"} & set(self.stack):
                self.headings[-1][1] += data


def words(text):
    return " ".join(text.split())


@pytest.mark.parametrize("name", EVERY)
def test_every_summary_renders_small_and_well_formed(name):
    html = render(EVERY[name]())
    page = Outline(html)
    assert len(html.encode()) < LIMIT
    ids = [value for _, key, value in page.attributes if key == "id"]
    assert len(ids) == len(set(ids))
    targets = {value[1:] for tag, key, value in page.attributes if tag == "a" and key == "href"}
    n_leaves = EVERY[name]()["n_leaves"]
    assert targets <= set(ids) | {f"leaf-{leaf}" for leaf in range(60, n_leaves)} or n_leaves > 60
    labelled = {value for _, key, value in page.attributes if key in {"for", "aria-describedby"}}
    assert labelled <= set(ids)


@pytest.mark.parametrize("name", EVERY)
def test_nothing_refers_outside(name):
    page = Outline(render(EVERY[name]()))
    assert not {"img", "iframe", "object", "embed", "base", "audio", "video"} & set(page.tags)
    assert page.tags.count("script") == 2
    assert page.tags.count("style") == 1
    for tag, key, value in page.attributes:
        assert not key.startswith("on"), (tag, key)
        assert key not in {"style", "src", "srcset", "action", "formaction", "xlink:href"}
        if key == "href":
            assert value.startswith("#") or (tag, value) == ("link", "data:,")


def test_structure_of_an_ordinary_report():
    page = Outline(render(iris(), title="Iris flowers", note="From Fisher's paper."))
    assert [(tag, words(text)) for tag, text in page.headings] == [
        ("h1", "Iris flowers"),
        ("h2", "Clusters"),
        ("h2", "The tree"),
        ("h2", "The rules"),
        ("h2", "Try a row"),
        ("h2", "The cuts"),
        ("h2", "How many leaves?"),
        ("h2", "Leaves and clusters"),
        ("h2", "Columns"),
        ("h2", "Leaf by leaf"),
        *[("h3", f"Leaf {leaf} {label}") for leaf, label in enumerate(labels())],
        ("h2", "Some rows"),
        ("h2", "Certificate: how good can it get?"),
        ("h3", "The leaves"),
        ("h3", "The first cut"),
        ("h2", "How it was made"),
    ]
    text = words(page.text)
    assert "4 leaves reproduce the 3 clusters for" in text
    assert "From Fisher's paper." in text
    assert page.tags.count("caption") == page.tags.count("table")
    assert page.tags.count("details") >= 3


def labels():
    return [f"cluster {leaf['label']}" for leaf in iris()["leaves"]]


def test_facts_are_in_the_text():
    summary, html = iris(), render(iris())
    text = words(Outline(html).text)
    for leaf in summary["leaves"]:
        assert text.count(leaf["rule"]) >= 2  # table and card
        assert f"{leaf['size']} rows" in text
        for row in leaf["exemplars"]:
            assert f'<th scope="col" class="number"><bdi>{row["row"]}</bdi></th>' in html
    for node in summary["nodes"]:
        if node["test"] is not None:
            assert f"{node['test']}?" in text
    assert "Parameters" in text
    assert "random_state" in text


def test_rendering_changes_nothing_and_repeats():
    before = json.dumps(iris())
    assert render(iris()) == render(iris())
    assert render(json.loads(before)) == render(iris())
    assert json.dumps(iris()) == before


def test_hostile_texts_are_escaped():
    html = render(EVERY["hostile"](), title=HOSTILE[1], note=HOSTILE[2])
    assert "<script>alert" not in html
    assert "<img" not in html
    assert html.count("</script>") == 2
    assert not re.search("[\x00\u2028\u2029\u202e\ud800]", html)
    assert "49" not in re.findall(r"<bdi>([^<]*)</bdi>", html)
    text = Outline(html).text
    for name in HOSTILE[:6]:
        assert name in text


def test_json_for_the_script():
    data = {"<&>": "</script>\u2028\u2029", "x": [0.1 + 0.2, 5e-324, 1e308, -0.0]}
    text = script_json(data)
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == data
    with pytest.raises(ValueError, match="JSON"):
        script_json([float("nan")])


def test_thresholds_are_exact():
    embedded = re.search(
        '<script type="application/json" id="report-data">(.*?)</script>', render(iris()), re.S
    )
    nodes = json.loads(embedded.group(1))["nodes"]
    tree = iris_fit()[0].tree_
    for node, fact in enumerate(nodes):
        if "threshold" in fact:
            assert fact["threshold"] == tree.threshold[node]
            assert (fact["left"], fact["right"]) == (tree.left[node], tree.right[node])


def test_policy_names_the_scripts_and_styles_that_are_there():
    from base64 import b64encode
    from hashlib import sha256

    html = render(iris())
    policy = re.search('Content-Security-Policy" content="([^"]*)"', html).group(1)
    assert policy.startswith("default-src &#39;none&#39;; script-src &#39;sha256-")
    assert "unsafe" not in policy
    for pattern in ("<style>(.*?)</style>", "<script>(.*?)</script>"):
        own = re.search(pattern, html, re.S).group(1)
        assert b64encode(sha256(own.encode()).digest()).decode() in policy


def test_size_hardly_grows_with_rows():
    random = np.random.default_rng(0)
    sizes = []
    for n_rows in (2_000, 20_000):
        X = random.normal(size=(n_rows, 30)).astype(np.float32)
        explainer = SpexClique(n_leaves=10).fit(X, (X[:, 0] > 0) + 2 * (X[:, 1] > 0))
        sizes.append(len(render(summarize(explainer.explanation_, X))))
    assert sizes[1] < 1.1 * sizes[0]


def test_wide_tables_stay_small():
    assert thirty_leaves()["n_features"] == 512
    assert len(render(thirty_leaves()).encode()) < 0.6 * LIMIT


def test_without_training_rows():
    text = words(Outline(render(without_rows())).text)
    assert "The training rows were not at hand" in text
    assert "Some rows" not in text
    assert "The cuts" not in text


def test_without_jinja():
    code = """
import sys
sys.modules["jinja2"] = None
from spexplain.show.report import render
try:
    render({})
except ImportError as error:
    print(error)
"""
    command = [sys.executable, "-W", "error", "-c", code]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    expected = 'The report needs jinja2; install it with pip install "spexplain[report]".'
    assert printed.strip() == expected


def luminance(color):
    channels = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def contrast(one, two):
    low, high = sorted((luminance(one), luminance(two)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("sheet", ["theme.css", "dark.css"])
def test_contrast_of_texts_is_enough(sheet):
    css = files("spexplain.show.report").joinpath("templates", "css", sheet).read_text("utf-8")
    tokens = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", css))
    for text in ("text", "muted", "accent", "path"):
        for ground in ("page", "panel", "soft", "lit"):
            assert contrast(tokens[text], tokens[ground]) >= 4.5, (text, ground)
    # The darkest shade of the confusion, where the number stands on 45 % of the shade's colour.
    shade = [int(x) for x in re.search(r"--shade: (\d+), (\d+), (\d+)", css).groups()]
    panel = [int(tokens["panel"][at : at + 2], 16) for at in (1, 3, 5)]
    mixed = [round(0.45 * s + 0.55 * p) for s, p in zip(shade, panel, strict=True)]
    assert contrast(tokens["text"], "#" + "".join(f"{c:02x}" for c in mixed)) >= 4.5
