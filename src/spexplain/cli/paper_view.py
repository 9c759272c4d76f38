"""The paper's tables in a terminal of 80 columns, differences in colour."""

from textwrap import wrap
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

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
from spexplain.paper.tables import TABLES

if TYPE_CHECKING:
    from spexplain.cli.terminal import Terminal
    from spexplain.paper import Results

_STYLES = {"": "", "equal": "green", "close": "yellow", "far": "red", "foreign": "dim"}
_TEXTS = {"method", "neighbours", "phase", "step", "why", "leaves"}
_SCORES = {"ARI", "AMI", "REF"}
_MANY = 8  # columns from which they stand close together


def show(results: "Results", terminal: "Terminal") -> None:
    """Print all tables, what they measure, and why numbers differ."""
    notes = Notes()
    for table in results.tables:
        found = sections(results, table, notes)
        if not found:
            continue
        terminal.show(Text(TABLES[table].title, style="bold"))
        for sentence in (*ABOUT[table], *(busy(results) if table == "runtime" else ())):
            _say(terminal, sentence, "dim")
        for section in found:
            terminal.show("", _table(section, table))
        equal, known = tally(results, table)
        if known and table != "runtime":
            counts = f"{equal} of {known} comparable numbers equal to the third decimal"
            terminal.show(Text(counts, style="green" if equal == known else ""))
        terminal.show("")
    if notes.texts:
        terminal.show(Text("Why numbers differ", style="bold"))
        for number, text in enumerate(notes.texts, 1):
            _say(terminal, f"{number}. {text}")
    if results.foreign:
        names = ", ".join(name + FOREIGN for name in results.foreign)
        sentence = f"{names}: another embedding than the paper's, whose numbers are not comparable (n. c.)."
        _say(terminal, sentence)
    if results.absent:
        _say(terminal, f"Not at hand: {absent_sentence(results)}")
    for sentence in results.failed:
        terminal.note(sentence)


def _say(terminal: "Terminal", text: str, style: str = "") -> None:
    """Print a paragraph; rich would leave blanks at the ends of its lines."""
    for line in wrap(text, terminal.out.width):
        terminal.show(Text(line, style=style))


def _table(section: Section, table: str) -> Table:
    """Return a section; the names of datasets stand as headings between its rows."""
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
