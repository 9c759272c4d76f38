"""The results as files: Markdown, CSV, JSON and figures, each written as a whole or not at all."""

import csv
import io
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from spexplain._version import __version__
from spexplain.export.spreadsheets import disarmed
from spexplain.paper.conventions import ABOUT
from spexplain.paper.machine import describe
from spexplain.paper.markdown import page
from spexplain.paper.notes import Notes
from spexplain.paper.printed import SOURCE
from spexplain.paper.results import Results
from spexplain.show.report.files import write

FIGURE = "paper-scores"
_COLUMNS = (
    "table", "dataset", "group", "method", "setting", "measure",
    "ours", "published", "difference", "equal", "comparable", "why",
)  # fmt: skip


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
        "machine": describe(),
        "conventions": {table: list(ABOUT[table]) for table in results.tables},
        "not_at_hand": results.absent,
        "another_embedding": results.foreign,
        "failed": results.failed,
        "numbers": found,
    }
    return [
        write(folder / "paper.md", page(results, pictures=[path.name for path in pictures])),
        write(folder / "paper.csv", text.getvalue()),
        write(folder / "paper.json", json.dumps(document, indent=1, ensure_ascii=False) + "\n"),
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
        _place(copy, partial(shutil.copyfile, picture))
    shown = [f"images/{copy.name}" for copy in copies]
    return [write(path, page(results, pictures=shown)), *copies]


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
    from spexplain.paper.figure import draw_scores
    from spexplain.show.plots.style import pyplot

    figure = draw_scores(results)
    if figure is None:
        return []
    png, svg = folder / f"{FIGURE}.png", folder / f"{FIGURE}.svg"
    try:
        # No dates and chance names in the files: the same results give the same bytes.
        with pyplot().rc_context({"svg.hashsalt": FIGURE, "svg.fonttype": "none"}):
            _place(png, lambda path: figure.savefig(path, dpi=160))
            _place(svg, lambda path: figure.savefig(path, metadata={"Date": None}))
    finally:
        pyplot().close(figure)
    return [png, svg]


def _place(path: Path, write_to: Callable[[Path], Any]) -> None:
    """Write a file under another name, then rename it."""
    temporary = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        write_to(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
