"""From a summary to the report: its sections, its charts and what its script knows, put into templates."""

import json
import os
import re
from base64 import b64encode
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from spexplain.facts.schema import LeafFacts, NodeFacts, SentencePart, Summary
from spexplain.facts.text import amount_figure, rows_or_weight
from spexplain.files import write_file
from spexplain.messages import counted, one_line
from spexplain.show.palette import NOISE_COLOR, colors
from spexplain.show.report.charts import PATH, curve_chart, cuts_chart, path_chart
from spexplain.show.report.phrases import caveats, figure, needs_brackets, rule_text, share, verdict
from spexplain.show.report.sections import (
    MAX_CARDS,
    N_COLORS,
    ReportFacts,
    bend_of,
    cards,
    certificate_view,
    color_class,
    confusion,
    feature_rows,
    form_fields,
    question_rows,
    rule_views,
    sampled_rows,
    settings_rows,
    tested_features,
    tree_events,
)
from spexplain.show.report.segments import segment_views

if TYPE_CHECKING:
    from jinja2 import Environment

_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_SHORTEST_PART, _LONGEST_PART = 6, 16  # letters of a word between which it may be broken
_N_KEYS = 30  # clusters that the key names
_ESCAPES = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}


class Tile(NamedTuple):
    """A key figure."""

    name: str
    value: str
    hint: str


def render(
    summary: Summary,
    *,
    title: str | None = None,
    note: str | None = None,
    texts: Sequence[str] | None = None,
) -> str:
    """Return the report as one HTML page that loads nothing.

    Parameters
    ----------
    summary : dict
        From `spexplain.facts.summary`. Profiles, rows and the scatter need one that was made
        with the training rows; a path and a certificate are shown if they are in it.
    title : str, optional
        Heading of the report.
    note : str, optional
        A sentence below the verdict, for example where the table comes from.
    texts : sequence of str, optional
        The text of every row: those of typical rows are shown with each cluster.

    Returns
    -------
    html : str
        The same for the same summary. Names, labels and values are escaped; the page's own policy
        forbids foreign scripts and styles, and all connections.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain import SpexClique
    >>> from spexplain.show.report import render
    >>> from spexplain.facts import summarize
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    >>> explainer = SpexClique().fit(X, ["a", "a", "a", "b", "b", "b"])
    >>> html = render(summarize(explainer.explanation_, X, names=["<b>age</b>"]))
    >>> "2 leaves reproduce the 2 clusters for 100% of the rows." in html
    True
    >>> "<b>" in html, "&lt;b&gt;age&lt;/b&gt;" in html
    (False, True)
    """
    environment()  # says what is missing before any work is done
    context = _context(ReportFacts.of(summary), title, note, texts)
    return rendered_page("report.html", context, script="script.js")


def rendered_page(template: str, context: dict[str, Any], *, script: str | None = None) -> str:
    """Return a page with its style and, if it has one, its script; the page allows nothing else."""
    templates = environment()
    style = templates.get_template("style.css").render(palette())
    code = "" if script is None else templates.get_template(script).render()
    return templates.get_template(template).render(
        context,
        style=trusted(style),
        script=trusted(code),
        policy=policy(code, style),
    )


def write(path: str | os.PathLike[str], html: str, *, force: bool = True) -> Path:
    """Write a report; an interrupted run leaves an older file as it was.

    Parameters
    ----------
    path : str or path
        The file. Its folder must be there.
    html : str
        From `render`.
    force : bool, default=True
        Whether an existing file is replaced; otherwise it is refused.

    Returns
    -------
    path : Path
        The file that was written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from spexplain.show.report import write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = write(Path(folder) / "report.html", "<p>hello</p>")
    ...     print(written.name, written.read_text())
    report.html <p>hello</p>
    """
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(
            f"The report's path {str(target)!r} is a folder; name a file in it."
        )
    # What a symbolic link points to is replaced, so its folder is what counts.
    folder = Path(os.path.realpath(target)).parent
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {str(folder)!r} to write the report to.")
    return write_file(target, html, force=force)


@cache
def environment() -> "Environment":
    """Return the templates, with every value escaped unless it is marked as ours; they are compiled once."""
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
    except ImportError:
        raise ImportError(
            'The report needs jinja2; install it with pip install "spexplain[report]".'
        ) from None
    made = Environment(
        loader=FunctionLoader(_template),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Callable[..., Any]] = {
        "amount": amount_figure,
        "counted": counted,
        "exact": repr,
        "figure": figure,
        "needs_brackets": needs_brackets,
        "rule_text": rule_text,
        "share": share,
        "whole_dates": _whole_dates,
        "wrapping": _wrapping,
    }
    made.filters |= filters
    return made


def _template(name: str) -> str:
    return files("spexplain.show.report").joinpath("templates", name).read_text(encoding="utf-8")


def trusted(text: str) -> Any:
    """Return a text that is not escaped: our own script and style, or JSON made for the page."""
    from markupsafe import Markup

    return Markup(text)


def _wrapping(text: str) -> Any:
    """Return a text, escaped, whose long words may be broken over lines: after signs, between parts, not anywhere."""
    from markupsafe import Markup, escape

    return Markup("<wbr>").join(escape(part) for part in word_parts(text))


def word_parts(text: str) -> list[str]:
    """Return a text in parts between which a line may end; spaces end lines anyway.

    Examples
    --------
    >>> from spexplain.show.report.render import word_parts
    >>> word_parts("days_since_last_order and flipperLengthMm")
    ['days_since_', 'last_order and flipper', 'Length', 'Mm']
    """
    parts = [""]
    run = 0  # letters since a line could end
    for before, sign in zip(" " + text, text, strict=False):
        may_break = (before in "_-./:,;=|" and not before.isspace()) or (
            before.islower() and sign.isupper()
        )
        if sign.isspace() or before.isspace():
            run = 0
        if (may_break and run >= _SHORTEST_PART and sign != " ") or run >= _LONGEST_PART:
            parts.append("")
            run = 0
        parts[-1] += sign
        run += 1
    return parts


def _whole_dates(text: str) -> Any:
    """Return a text, escaped, whose dates are not broken over lines at their hyphens, but whose long words may be."""
    from markupsafe import Markup

    found, start = Markup(), 0
    for date in _DATE.finditer(text):
        whole = Markup('<span class="whole">{}</span>').format(date.group())
        found += _wrapping(text[start : date.start()]) + whole
        start = date.end()
    return found + _wrapping(text[start:])


def palette() -> dict[str, Any]:
    """Return the colours of clusters, for style sheets."""
    return {"colors": colors(N_COLORS)[:-1], "noise_color": NOISE_COLOR}


def policy(script: str, style: str) -> str:
    """Return the content security policy: nothing but the page's own script and style."""
    own = {"script-src": script, "style-src": style}
    hashes = [f"{kind} 'sha256-{_hash(text)}'" for kind, text in own.items()]
    nothing = ("base-uri 'none'", "form-action 'none'", "require-trusted-types-for 'script'")
    return "; ".join(["default-src 'none'", *hashes, "img-src data:", *nothing])


def _hash(text: str) -> str:
    return b64encode(sha256(text.encode("utf-8")).digest()).decode("ascii")


def _context(
    source: ReportFacts, title: str | None, note: str | None, texts: Sequence[str] | None
) -> dict[str, Any]:
    """Return everything that the templates show."""
    summary = source.summary
    return {
        "title": one_line(title or "") or _title(source),
        "note": one_line(note or ""),
        "verdict": verdict(summary, source.labels),
        "judgement": _judgement(source),
        "segments": segment_views(source, texts),
        "row_ids": any(
            row["id"] is not None for leaf in summary["leaves"] for row in leaf["exemplars"]
        ),
        "has_log": any(map(bend_of, summary["features"])),
        "is_weighted": source.is_weighted,
        "caveats": caveats(summary),
        "tiles": _tiles(source),
        "key": _key(source),
        "n_more_keys": max(0, len(source.labels) - _N_KEYS),
        "summary": summary,
        "events": tree_events(source),
        "rules": rule_views(source),
        "fields": form_fields(source),
        "cuts": cuts_chart(source),
        "path": path_chart(source),
        "curve": curve_chart(source),
        "path_layout": PATH,
        "confusion": confusion(source),
        "cards": cards(source),
        "max_cards": MAX_CARDS,
        "sample": sampled_rows(source),
        "features": feature_rows(source),
        "questions": question_rows(source),
        "certificate": certificate_view(source),
        "settings": settings_rows(source),
        "data": trusted(script_json(script_data(source))),
    }


def _judgement(source: ReportFacts) -> dict[str, Any] | None:
    """Return the verdict on the explanation: sentences in parts, some of which are names of clusters."""
    verdict, validation = source.summary["verdict"], source.summary["validation"]
    if verdict is None:
        return None
    told = [*verdict["parts"], *([] if validation is None else validation["parts"])]
    return {
        "level": verdict["level"],
        "sentences": [[_sentence_part(source, each) for each in parts] for parts in told],
    }


def _sentence_part(source: ReportFacts, part: SentencePart) -> tuple[str, bool]:
    """Return a part of a sentence under the name that the report has for it, and whether it is a name."""
    if part["code"] is not None and source.has_reference:
        return source.labels[part["code"]], True
    return _printable(part["text"]), False


def _printable(text: str) -> str:
    """Return a text with its spaces at both ends, but without signs that could break or hide it."""
    return "".join(sign if sign.isprintable() else " " for sign in text)


def _title(source: ReportFacts) -> str:
    if source.has_reference:
        return f"{counted(len(source.labels), 'cluster')}, explained"
    return f"{counted(source.summary['n_leaves'], 'group')} of rows, explained"


def _tiles(source: ReportFacts) -> list[Tile]:
    summary = source.summary
    tiles = []
    if summary["fidelity"] is not None:
        tiles.append(
            Tile("Fidelity", share(summary["fidelity"]), "rows in a leaf of their own cluster")
        )
    if summary["balanced"] is not None:
        hint = "the same share, averaged over the clusters"
        tiles.append(Tile("Balanced", share(summary["balanced"]), hint))
    if summary["agreement"] is not None:
        ari = figure(summary["agreement"]["ari"], 3)
        tiles.append(Tile("Agreement", ari, "adjusted Rand index: 1 is perfect, 0 is chance"))
    if summary["price"] is not None:
        price = figure(summary["price"])
        hint = "k-means cost of the leaves over that of the clusters"
        if summary["price"] < 1:
            hint = "k-means cost over that of the clusters, which do not minimise this cost"
        tiles.append(Tile("Cost ratio", price, hint))
    if not tiles and summary["objective"] is not None:
        tiles.append(Tile("Objective", figure(summary["objective"]), "lower is better"))
    n_used = len(tested_features(source))
    return [
        *tiles,
        Tile("Leaves", f"{summary['n_leaves']:,}", f"depth {summary['depth']}"),
        Tile("Columns used", f"{n_used:,}", f"of {summary['n_features']:,}"),
        Tile("Rows", f"{summary['n_rows']:,}", _rows_hint(summary)),
    ]


def _rows_hint(summary: Summary) -> str:
    reference = summary["reference"]
    if reference is None:
        return "no clusters to compare with"
    return f"in {counted(len(reference['labels']), 'cluster')}"


def _key(source: ReportFacts) -> list[tuple[str, str, str]]:
    """Return name, colour and size of the clusters."""
    reference = source.summary["reference"]
    if reference is None:
        return []
    entries = [
        (source.labels[each["code"]], color_class(each["code"]), each["size"])
        for each in reference["clusters"][:_N_KEYS]
    ]
    if reference["n_noise"]:
        entries.append(("noise", "k-noise", reference["n_noise"]))
    return [
        (label, color, rows_or_weight(amount, is_weighted=source.is_weighted))
        for label, color, amount in entries
    ]


def script_json(data: object) -> str:
    r"""Return JSON without the characters that mean something to HTML or end a line of a script.

    Floats are written with as many digits as it takes to read back the same number.

    Examples
    --------
    >>> from spexplain.show.report.render import script_json
    >>> print(script_json({"name": "</script>", "threshold": 0.1 + 0.2}))
    {"name":"\u003c/script\u003e","threshold":0.30000000000000004}
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    return text


def script_data(source: ReportFacts) -> dict[str, Any]:
    """Return the tree, the smaller trees and a typical row of every leaf.

    Labels and names are texts: the script shows them and never computes with them.
    """
    tested = tested_features(source)
    place = {feature: at for at, feature in enumerate(tested)}
    return {
        "features": [
            {"name": field.name, "kind": field.kind, "zone": source.column(feature).zone}
            for feature, field in zip(tested, form_fields(source), strict=True)
        ],
        "nodes": [_script_node(source, node, place) for node in source.summary["nodes"]],
        "trees": [
            {
                "leaves": step["n_leaves"],
                "fidelity": share(step["fidelity"]),
                "price": figure(step["price"]),
                "agreement": figure(step["agreement"], 3),
                "depth": step["depth"],
            }
            for step in source.summary["trees"]
        ],
        "leaves": [_script_leaf(source, leaf, tested) for leaf in source.summary["leaves"]],
        "rows": [row.exact for row in sampled_rows(source).rows],
        "hasReference": source.has_reference,
    }


def _script_node(source: ReportFacts, node: NodeFacts, place: dict[int, int]) -> dict[str, Any]:
    color = color_class(node["code"] if source.has_reference else node["first_leaf"])
    own: dict[str, Any] = {
        "size": node["size"],
        "share": share(node["share"]),
        "first": node["first_leaf"],
        "last": node["last_leaf"],
        "label": source.label(node["code"]),
        "purity": share(node["purity"]),
        "color": color,
        "rule": source.rule(node["node"]),
    }
    if node["feature"] is not None:
        own |= {
            "feature": place[node["feature"]],
            "test": source.test(node),
            "lower": node["lower"],
            "threshold": node["threshold"],
            "missing": node["missing"],
            "values": node["values"],
            "left": node["left"],
            "right": node["right"],
            "splitsAt": node["splits_at"],
        }
    return own


def _script_leaf(source: ReportFacts, leaf: LeafFacts, tested: list[int]) -> dict[str, Any]:
    features = [each["feature"] for each in source.summary["features"]]
    typical = leaf["exemplars"][0]["values"] if leaf["exemplars"] else None
    return {
        "node": leaf["node"],
        "label": source.leaf_label(leaf),
        "purity": share(leaf["purity"]),
        "color": source.leaf_color(leaf),
        "typical": None
        if typical is None
        else [typical[features.index(feature)] for feature in tested],
    }
