"""The results as files: Markdown, CSV, JSON and figures, each written as a whole or not at all."""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from spexplain._version import __version__
from spexplain.export.spreadsheets import disarmed
from spexplain.files import replacing, write_file
from spexplain.paper.compute import describe_machine
from spexplain.paper.layout import (
    ABOUT,
    FOREIGN,
    Notes,
    Section,
    absent_sentence,
    busy,
    sections,
    tally,
)
from spexplain.paper.published_numbers import SOURCE
from spexplain.paper.results import Results
from spexplain.paper.tables import TABLES

FIGURE = "paper-scores"
_COLUMNS = (
    "table", "dataset", "group", "method", "setting", "measure",
    "ours", "published", "difference", "equal", "comparable", "why",
)  # fmt: skip
_CHOSEN = (
    "The paper does not record all settings of its reference clusterings. Missing ones, such as seeds, scales of "
    "kernels and numbers of neighbours, were searched for until the printed numbers came out: where a reference "
    "was found so, its equal scores prove little by themselves. In the table with twice as many leaves, for which "
    "the paper prints no scores of references, the search could only look at the trees' own rows."
)
_CHART = (
    "ARI and AMI of every method on every dataset, grouped by reference clustering; lines across the bars are the "
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


def records(results: Results) -> Iterator[dict[str, Any]]:
    """Give one record per number: ours, the published one, and why they differ."""
    notes = Notes()
    for row in results.rows:
        for value in results.values(row):
            if value.ours is None and value.published is None:
                continue
            is_score = row.table != "runtime"
            yield {
                "table": row.table,
                "dataset": row.dataset,
                "group": row.group,
                "method": row.method,
                "setting": row.setting,
                "measure": value.measure,
                "ours": value.ours,
                "published": value.published,
                "difference": value.difference if is_score and value.comparable else None,
                "equal": value.is_equal if is_score and value.comparable else None,
                "comparable": value.comparable,
                "why": notes.reason(value),
            }


def write_tables(results: Results, folder: Path, *, pictures: Sequence[Path] = ()) -> list[Path]:
    """Write ``paper.md``, ``paper.csv`` and ``paper.json``.

    Parameters
    ----------
    results : Results
        From `run`.
    folder : Path
        Where to; it must be there.
    pictures : sequence of Path
        Pictures in the same folder that the page shows.

    Returns
    -------
    paths : list of Path
        The files.
    """
    found = list(records(results))
    text = io.StringIO()
    writer = csv.DictWriter(text, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        {key: disarmed(cell) if isinstance(cell, str) else cell for key, cell in record.items()}
        for record in found
    )
    document = {
        "format": "spexplain.paper",
        "version": 1,
        "spexplain": __version__,
        "published": SOURCE,
        "machine": describe_machine(),
        "conventions": {table: list(ABOUT[table]) for table in results.tables},
        "not_at_hand": results.absent,
        "another_embedding": results.foreign,
        "failed": results.failed,
        "numbers": found,
    }
    return [
        write_file(folder / "paper.md", page(results, pictures=[path.name for path in pictures])),
        write_file(folder / "paper.csv", text.getvalue()),
        write_file(
            folder / "paper.json", json.dumps(document, indent=1, ensure_ascii=False) + "\n"
        ),
    ]


def write_page(results: Results, path: Path, *, pictures: Sequence[Path] = ()) -> list[Path]:
    """Write the page for the documentation, its pictures into the folder ``images`` beside it.

    Parameters
    ----------
    results : Results
        From `run`.
    path : Path
        The page.
    pictures : sequence of Path
        Pictures that the page shows; they are copied.

    Returns
    -------
    paths : list of Path
        The files.
    """
    images = path.parent / "images"
    if pictures:
        images.mkdir(parents=True, exist_ok=True)
    copies = [images / _named(picture) for picture in pictures]
    for picture, copy in zip(pictures, copies, strict=True):
        write_file(copy, picture.read_bytes())
    shown = [f"images/{copy.name}" for copy in copies]
    return [write_file(path, page(results, pictures=shown)), *copies]


def _named(picture: Path) -> str:
    """Return the name of a picture among those of other pages."""
    return picture.name if picture.name.startswith("paper-") else f"paper-{picture.name}"


def write_figure(results: Results, folder: Path) -> list[Path]:
    """Draw the bar chart of ARI and AMI as PNG and SVG; no file if there is nothing to draw.

    Parameters
    ----------
    results : Results
        From `run`.
    folder : Path
        Where to; it must be there.

    Returns
    -------
    paths : list of Path
        The files.
    """
    from spexplain.paper.figures import draw_scores
    from spexplain.show.plots.style import pyplot

    figure = draw_scores(results)
    if figure is None:
        return []
    png, svg = folder / f"{FIGURE}.png", folder / f"{FIGURE}.svg"
    try:
        # No dates and chance names in the files: the same results give the same bytes.
        with pyplot().rc_context({"svg.hashsalt": FIGURE, "svg.fonttype": "none"}):
            with replacing(png) as file:
                figure.savefig(file, format="png", dpi=160)
            with replacing(svg) as file:
                figure.savefig(file, format="svg", metadata={"Date": None})
    finally:
        pyplot().close(figure)
    return [png, svg]


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
    machine = ", ".join(f"{key} {value}" for key, value in describe_machine().items())
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
