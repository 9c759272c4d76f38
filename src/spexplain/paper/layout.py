"""Tables as sections of cells: what Markdown and the terminal both show."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from spexplain.paper import formats
from spexplain.paper.conventions import MEASURES
from spexplain.paper.notes import Notes
from spexplain.paper.protocol import GROUPS
from spexplain.paper.results import Results, Value
from spexplain.paper.tables import TABLES, Row

# How a difference looks: equal, close, far, or of numbers that cannot be compared.
Tone: TypeAlias = Literal["", "equal", "close", "far", "foreign"]
_CLOSE = 0.005
FOREIGN = "*"
NOT_COMPARABLE = "n. c."


class Cell(NamedTuple):
    """A text and its tone."""

    text: str
    tone: Tone = ""


@dataclass(frozen=True)
class Line:
    """A row of a section; its dataset stands apart, as it may serve as a heading."""

    dataset: str
    cells: list[Cell]


@dataclass(frozen=True)
class Section:
    """A part of a table with one header."""

    title: str
    header: list[str]
    lines: list[Line]


def sections(results: Results, table: str, notes: Notes) -> list[Section]:
    """Return the sections of a table.

    Parameters
    ----------
    results : Results
        From `run`.
    table : str
        Name of the table.
    notes : Notes
        Collects why numbers differ, and numbers the reasons.

    Returns
    -------
    sections : list of Section
        One per reference clustering for the tables of results, else one. Empty sections are left out.
    """
    rows = results.rows_in(table)
    if table not in ("small", "large"):
        return [_section("", rows, results, notes)] if rows else []
    parts = [(group, [row for row in rows if row.group == group]) for group in GROUPS]
    return [_section(group, some, results, notes) for group, some in parts if some]


def _section(title: str, rows: list[Row], results: Results, notes: Notes) -> Section:
    table = rows[0].table
    lines: dict[str, Callable[[Row, list[Value], Notes], list[Cell]]] = {
        "price": _price_cells,
        "runtime": _runtime_cells,
    }
    make = lines.get(table, _score_cells)
    found = [Line(_name(row, results), make(row, results.values(row), notes)) for row in rows]
    return Section(title, list(_header(table)), found)


def _name(row: Row, results: Results) -> str:
    return row.dataset + (FOREIGN if row.dataset in results.foreign else "")


def _header(table: str) -> Iterator[str]:
    """Give the headers of all columns but the dataset."""
    if table == "runtime":
        yield from ("phase", "step", "ours", "paper", "paper / ours")
        return
    if table == "leaves":
        yield "reference"
    yield "neighbours" if table == "neighbors" else "method"
    if table == "price":
        yield "leaves"
    for measure in TABLES[table].measures:
        yield MEASURES[measure]
        if table != "price":
            yield from ("paper", "diff")
    if table != "price":
        yield "why"


def _score_cells(row: Row, values: list[Value], notes: Notes) -> list[Cell]:
    cells = [Cell(row.group)] if row.table == "leaves" else []
    cells.append(Cell(row.setting or row.method))
    reasons: list[int] = []
    for value in values:
        cells += [Cell(formats.score(value.ours)), Cell(formats.score(value.published))]
        cells.append(_difference(value))
        reason = notes.number(value)
        if reason is not None and reason not in reasons:
            reasons.append(reason)
    return [*cells, Cell(" ".join(map(str, reasons)))]


def _difference(value: Value) -> Cell:
    if value.difference is None:
        return Cell("")
    if not value.comparable:
        return Cell(NOT_COMPARABLE, "foreign")
    tone: Tone = "far" if abs(value.difference) > _CLOSE else "close"
    return Cell(formats.difference(value.difference), "equal" if value.is_equal else tone)


def _price_cells(row: Row, values: list[Value], notes: Notes) -> list[Cell]:
    names = [Cell(row.method), Cell(row.setting.removesuffix(" leaves"))]
    return names + [Cell(formats.price(value.ours)) for value in values]


def _runtime_cells(row: Row, values: list[Value], notes: Notes) -> list[Cell]:
    ours, paper = values[0].ours, values[0].published
    texts = (row.group, row.method, formats.seconds(ours), formats.seconds(paper))
    is_comparable = values[0].comparable
    times = Cell(formats.ratio(ours, paper)) if is_comparable else Cell(NOT_COMPARABLE, "foreign")
    return [*map(Cell, texts), times]


def busy(results: Results) -> list[str]:
    """Return a sentence if the machine had other work to do while steps were timed."""
    timed = [results.records.get(row.task, {}) for row in results.rows_in("runtime")]
    highest, cores = max((record.get("load", 0.0) for record in timed), default=0.0), os.cpu_count()
    # As many threads as cores are our own.
    if highest < (cores or 1) + 0.5:
        return []
    return [
        f"The machine was busy with other work while these times were taken (load up to {highest:.1f} "
        f"on {cores} cores): our seconds are longer than on an idle one."
    ]


def tally(results: Results, table: str) -> tuple[int, int]:
    """Return how many published numbers of a table come out equal, and how many can be compared."""
    values = [value for row in results.rows_in(table) for value in results.values(row)]
    known = [value for value in values if value.comparable and value.is_equal is not None]
    return sum(bool(value.is_equal) for value in known), len(known)
