"""The results as a page of Markdown."""

from collections.abc import Sequence

from spexplain._version import __version__
from spexplain.paper.conventions import ABOUT
from spexplain.paper.layout import FOREIGN, Section, busy, sections, tally
from spexplain.paper.machine import describe
from spexplain.paper.notes import Notes
from spexplain.paper.printed import SOURCE
from spexplain.paper.results import Results
from spexplain.paper.tables import TABLES

_CHOSEN = (
    "The paper does not record all settings of its reference clusterings. Missing ones, such as seeds, scales of "
    "kernels and numbers of neighbours, were searched for until the printed numbers came out: where a reference "
    "was found so, its equal scores prove little by themselves. In the table with twice as many leaves, for which "
    "the paper prints no scores of references, the search could only look at the trees' own rows."
)
_CHART = (
    "ARI and AMI of every method on every dataset, grouped by reference clustering; black lines are the "
    "published numbers"
)
# Title, what is seen, and the end of the file's name.
_ILLUSTRATIONS = (
    (
        "Three Gaussian clusters",
        "Three clusters, the cuts that explain them, and the same cuts as a tree",
        "gaussians.png",
    ),
    (
        "Two moons",
        "Two moons under a k-means and a spectral reference, and the trees that explain these",
        "moons.png",
    ),
    (
        "Three clusters that defeat CART",
        "The first cut of CART goes through a cluster, that of SpEx does not",
        "three-clusters.png",
    ),
)
_STAR = rf"\{FOREIGN}"  # as Markdown must get it


def page(results: Results, *, pictures: Sequence[str] = ()) -> str:
    """Return all tables, what they measure, and why numbers differ.

    Parameters
    ----------
    results : Results
        From `run`.
    pictures : sequence of str
        Paths of the bar chart and of the illustrations, relative to the page.

    Returns
    -------
    text : str
        Markdown.
    """
    parts = ["# The tables of the SpEx paper, computed again", *_opening(results)]
    chart = [path for path in pictures if path.endswith("paper-scores.png")]
    parts += [f"![{_CHART}]({chart[0]})", f"{_CHART}."] if chart else []
    notes = Notes()
    for table in results.tables:
        found = sections(results, table, notes)
        if not found:
            continue
        parts += [f"## {TABLES[table].title}", *ABOUT[table], *_count(results, table)]
        parts += busy(results) if table == "runtime" else []
        for section in found:
            if section.title:
                parts.append(f"### Reference: {section.title}")
            parts.append(_table(section))
    if notes.texts:
        listed = (f"{number}. {text}" for number, text in enumerate(notes.texts, 1))
        parts += ["## Why numbers differ", "The numbers in the column *why*.", "\n".join(listed)]
    for title, text, ending in _ILLUSTRATIONS:
        shown = [path for path in pictures if path.endswith(ending)]
        parts += [f"## {title}", f"![{text}]({shown[0]})", f"{text}."] if shown else []
    return "\n\n".join(parts) + "\n"


def _opening(results: Results) -> list[str]:
    machine = ", ".join(f"{key} {value}" for key, value in describe().items())
    parts = [
        f"Made by `spexplain paper` (version {__version__}); this page is generated, do not edit it. "
        f"Published numbers: {SOURCE}. *paper* is the published number, *diff* is ours minus it; = means equal to "
        "the third decimal.",
        _CHOSEN,
        f"Machine: {machine}.",
    ]
    if results.foreign:
        names = ", ".join(name + _STAR for name in results.foreign)
        parts.append(
            f"**Another embedding**: {names}. The embedding at hand is not the paper's (CLIP ViT-B/32), so its "
            "published numbers are not comparable (n. c.)."
        )
    if results.absent:
        parts.append(f"**Not at hand**: {absent_sentence(results)}")
    return parts + results.failed


def absent_sentence(results: Results) -> str:
    """Return which datasets are missing, in one sentence or two."""
    reasons: dict[str, list[str]] = {}
    for name, reason in results.absent.items():
        reasons.setdefault(reason.rstrip("."), []).append(name)
    return " ".join(f"{', '.join(names)} ({reason})." for reason, names in reasons.items())


def _count(results: Results, table: str) -> list[str]:
    if table == "runtime":
        return []
    equal, known = tally(results, table)
    return (
        [f"{equal} of {known} comparable numbers are equal to the third decimal."] if known else []
    )


def _table(section: Section) -> str:
    header = ["dataset", *section.header]
    is_text = {"dataset", "method", "reference", "phase", "step", "why"}
    if "own" in section.header:
        is_text -= {"reference"}
    marks = [" --- " if name in is_text else " ---: " for name in header]
    lines = ["| " + " | ".join(header) + " |", "|" + "|".join(marks) + "|"]
    for line in section.lines:
        cells = [line.dataset.replace(FOREIGN, _STAR), *(cell.text for cell in line.cells)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
