"""``spexplain paper``: the tables of the SpEx paper beside the published numbers."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spexplain.cli.errors import UserError, usage_error
from spexplain.cli.options import MessageOptions
from spexplain.messages import closest, counted

if TYPE_CHECKING:
    from rich.table import Table

    from spexplain.cli.terminal import Terminal
    from spexplain.paper import Results
    from spexplain.paper.layout import Section

_STYLES = {"": "", "equal": "green", "close": "yellow", "far": "red", "foreign": "dim"}
_TEXTS = {"method", "neighbours", "phase", "step", "why", "leaves"}
_SCORES = {"ARI", "AMI", "REF"}
_MANY = 8  # columns from which they stand close together

_PANEL = "What to compute"
Tables = Annotated[
    str | None,
    typer.Option(
        "--tables",
        rich_help_panel=_PANEL,
        metavar="A,B,...",
        help="Tables to compute: small, large, neighbors, leaves, price, runtime; by default all.",
    ),
]
Datasets = Annotated[
    str | None,
    typer.Option(
        "--datasets",
        rich_help_panel=_PANEL,
        metavar="A,B,...",
        help="Datasets by the paper's names, such as Iris,Beans; by default all at hand.",
    ),
]
Fresh = Annotated[
    bool,
    typer.Option(
        "--fresh",
        rich_help_panel=_PANEL,
        help="Compute these datasets anew, not only what is missing.",
    ),
]
Embed = Annotated[
    bool,
    typer.Option(
        "--embed",
        rich_help_panel=_PANEL,
        help="Make embeddings that are not at hand; may take hours without a GPU.",
    ),
]
Jobs = Annotated[
    int,
    typer.Option(
        "--jobs",
        "-j",
        rich_help_panel=_PANEL,
        min=-1,
        metavar="N",
        help="Number of threads; -1 means all processors.",
    ),
]
Out = Annotated[
    Path,
    typer.Option(
        "--out",
        rich_help_panel="Files to write",
        metavar="DIR",
        help="Folder for tables and figures, and for what an interrupted run has finished.",
    ),
]
Docs = Annotated[
    Path | None,
    typer.Option(
        "--docs",
        rich_help_panel="Files to write",
        metavar="FILE",
        show_default=False,
        help="Write the page of results for the documentation here too.",
    ),
]


def paper(
    *,
    tables: Tables = None,
    datasets: Datasets = None,
    out: Out = Path("spexplain-paper"),
    docs: Docs = None,
    fresh: Fresh = False,
    embed: Embed = False,
    jobs: Jobs = -1,
    messages: MessageOptions,
) -> None:
    """Compute the tables and figures of the SpEx paper, beside the published numbers.

    Every finished number is kept in DIR at once: an interrupted run continues where it stopped.
    Datasets are those at hand; the variable SPEXPLAIN_DATA names the folder of their files.
    """
    from spexplain.cli.terminal import Terminal
    from spexplain.paper import DATASETS, TABLES, Store, run

    chosen = _chosen("--tables", tables, {name: name for name in TABLES})
    aliases = {name: dataset.loads for name, dataset in DATASETS.items()}
    names = _chosen("--datasets", datasets, aliases)
    _check_jobs(jobs)
    _check_places(out, docs)
    terminal = Terminal(quiet=messages.quiet)
    store = Store(out / "cells")
    if fresh:
        store.clear(names)
    with _progress(terminal, out) as advance:
        results = run(chosen, names, store, n_jobs=jobs, embed=embed, advance=advance)
    if not results.rows:
        raise UserError(_nothing(results))
    written = _write(results, out, docs, terminal)
    _show(results, terminal)
    kept = len(results.records) - results.n_computed
    terminal.say(
        f"{counted(results.n_computed, 'cell')} computed, {kept:,} kept from before. "
        f"Wrote {counted(len(written), 'file')} into {out}{'' if docs is None else f' and {docs}'}"
    )


def _chosen(option: str, text: str | None, known: Mapping[str, str]) -> list[str]:
    """Return the names that an option lists, by either name of each, in the paper's order."""
    names = list(known)
    if text is None:
        return names
    folded = {alias.casefold(): name for name, other in known.items() for alias in (name, other)}
    asked = [part.strip() for part in text.split(",") if part.strip()]
    for part in asked:
        if part.casefold() not in folded:
            noun = "table" if option == "--tables" else "dataset"
            usage_error(f"{option}: there is no {noun} {part}{closest(part, names)}")
    if not asked:
        usage_error(f"{option} names nothing; choose among {', '.join(names)}.")
    wanted = {folded[part.casefold()] for part in asked}
    return [name for name in names if name in wanted]


def _check_jobs(jobs: int) -> None:
    if jobs == 0:
        usage_error("--jobs 0 is not a number of threads; use 1 or more, or -1 for all processors.")


def _check_places(out: Path, docs: Path | None) -> None:
    """Make the folder, or say why it cannot be; no work is lost at the end."""
    if out.exists() and not out.is_dir():
        raise UserError(f"--out {out} is a file; name a folder.")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UserError(f"--out {out}: the folder cannot be made ({reason}).") from None
    if not os.access(out, os.W_OK):
        raise UserError(f"--out {out}: the folder may not be written to.")
    if docs is not None and docs.is_dir():
        raise UserError(f"--docs {docs} is a folder; name a file in it.")
    if docs is not None and not docs.parent.is_dir():
        raise UserError(f"--docs {docs}: there is no folder {docs.parent}.")


@contextmanager
def _progress(terminal: "Terminal", out: Path) -> Iterator[Callable[[int, int, str], Any]]:
    """Show how far it is, if somebody watches; after Ctrl-C say how to go on."""
    last = (0, 0)

    def remember(done: int, total: int, what: str) -> None:
        nonlocal last
        last = done, total

    try:
        if terminal.quiet or not terminal.err.is_terminal:
            yield remember
            return
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
        with Progress(*columns, console=terminal.err, transient=True) as bar:
            task = bar.add_task("", total=None)

            def advance(done: int, total: int, what: str) -> None:
                remember(done, total, what)
                bar.update(task, completed=done, total=total, description=what)

            yield advance
    except KeyboardInterrupt:
        terminal.say(
            f"Stopped with {last[0]} of {last[1]} cells in {out}; the same command continues from there."
        )
        raise


def _nothing(results: "Results") -> str:
    """Return why no table has a row."""
    from spexplain.paper.layout import absent_sentence

    if results.absent:
        return f"Nothing to compute, as the data is not at hand: {absent_sentence(results)}"
    return "The tables asked for have no rows for these datasets."


def _write(results: "Results", out: Path, docs: Path | None, terminal: "Terminal") -> list[Path]:
    """Write all files; pictures only where matplotlib is installed."""
    from importlib.util import find_spec

    from spexplain.paper.outputs import write_figure, write_page, write_tables

    figures: list[Path] = []
    if find_spec("matplotlib") is not None:
        with terminal.stage("Drawing"):
            figures = write_figure(results, out) + _illustrations(out)
    else:
        terminal.note(
            'No figures, as they need matplotlib: pip install "spexplain[plot]" and run this again.'
        )
    pictures = [path for path in figures if path.suffix == ".png"]
    written = write_tables(results, out, pictures=pictures)
    if docs is not None:
        written += write_page(results, docs, pictures=pictures)
    return written + figures


def _illustrations(out: Path) -> list[Path]:
    """Draw the paper's illustrations again."""
    from spexplain.paper.figures import draw_illustrations

    return draw_illustrations(out)


def _show(results: "Results", terminal: "Terminal") -> None:
    """Print all tables for a terminal of 80 columns, what they measure, and why numbers differ."""
    from rich.text import Text

    from spexplain.paper.layout import (
        ABOUT,
        FOREIGN,
        Notes,
        absent_sentence,
        busy,
        sections,
        tally,
    )
    from spexplain.paper.tables import TABLES

    notes = Notes()
    for table in results.tables:
        found = sections(results, table, notes)
        if not found:
            continue
        terminal.show(Text(TABLES[table].title, style="bold"))
        for sentence in (*ABOUT[table], *(busy(results) if table == "runtime" else ())):
            _paragraph(terminal, sentence, "dim")
        for section in found:
            terminal.show("", _grid(section, table))
        equal, known = tally(results, table)
        if known and table != "runtime":
            counts = f"{equal} of {known} comparable numbers equal to the third decimal"
            terminal.show(Text(counts, style="green" if equal == known else ""))
        terminal.show("")
    if notes.texts:
        terminal.show(Text("Why numbers differ", style="bold"))
        for number, text in enumerate(notes.texts, 1):
            _paragraph(terminal, f"{number}. {text}")
    if results.foreign:
        names = ", ".join(name + FOREIGN for name in results.foreign)
        sentence = f"{names}: another embedding than the paper's, whose numbers are not comparable (n. c.)."
        _paragraph(terminal, sentence)
    if results.absent:
        _paragraph(terminal, f"Not at hand: {absent_sentence(results)}")
    for sentence in results.failed:
        terminal.note(sentence)


def _paragraph(terminal: "Terminal", text: str, style: str = "") -> None:
    """Print a paragraph; rich would leave blanks at the ends of its lines."""
    from textwrap import wrap

    from rich.text import Text

    for line in wrap(text, terminal.out.width):
        terminal.show(Text(line, style=style))


def _grid(section: "Section", table: str) -> "Table":
    """Return a section; the names of datasets stand as headings between its rows."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    padding = (0, 0) if len(section.header) > _MANY else (0, 1, 0, 0)
    grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=padding)
    texts = _TEXTS | ({"reference"} if table == "leaves" else set())
    for at, name in enumerate(section.header):
        title = section.title if at == 0 and section.title else name
        is_first = name in _SCORES and table not in ("price", "runtime")
        grid.add_column(
            title,
            justify="left" if name in texts else "right",
            no_wrap=True,
            min_width=6 if is_first else None,  # keeps the three numbers of a measure together
        )
    before = None
    for line in section.lines:
        if line.dataset != before:
            grid.add_row(Text(line.dataset, style="bold"))
            before = line.dataset
        first, *others = (Text(cell.text, style=_STYLES[cell.tone]) for cell in line.cells)
        grid.add_row(Text("  ").append(first), *others)
    return grid
