"""``spexplain check``: are new rows like those that a model was fitted to? A block of rows at a time."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spexplain.cli.errors import UserError
from spexplain.cli.options import (
    STDOUT,
    Data,
    Force,
    Format,
    LimitOptions,
    MessageOptions,
    ReadingOptions,
)
from spexplain.cli.predict import ModelFile, read_checked

if TYPE_CHECKING:
    from spexplain.cli.scoring import ScoredFile
    from spexplain.cli.terminal import Terminal
    from spexplain.explanation import Check
    from spexplain.facts.tally import Tally

CHECK_FAILED = 3  # exit status

Labels = Annotated[
    str | None,
    typer.Option(
        "--labels",
        "-l",
        metavar="COLUMN",
        help="The column that holds the clusters, to see whether the segments are still right.",
    ),
]
Report = Annotated[
    Path | None,
    typer.Option(
        "--report", metavar="FILE", help="The check as one HTML page; - is standard output."
    ),
]


def check(
    model: ModelFile,
    data: Data,
    *,
    limits: LimitOptions,
    labels: Labels = None,
    report: Report = None,
    force: Force = False,
    reading: ReadingOptions,
    messages: MessageOptions,
    format: Format = "text",
) -> None:
    """Compare the rows of a table with those that a model was fitted to.

    Finds columns that are gone, renamed or of another kind, values outside the range that was seen, changed units, new
    categories, missing values, and drift of columns and of segments. An alarm is a difference that is larger than
    chance explains and large enough to matter. The exit status is 3 if the check fails, so that a pipeline stops.
    """
    from spexplain.cli.errors import usage_error
    from spexplain.cli.read import opened, user_errors
    from spexplain.cli.scoring import ScoredFile
    from spexplain.cli.terminal import Terminal, write_json
    from spexplain.cli.write import Outputs
    from spexplain.explanation import Explanation
    from spexplain.explanation.check import compared

    if model == "-" and data == "-":
        usage_error("MODEL and DATA cannot both be standard input.")
    bounds = limits.checked()
    outputs = Outputs({"--report": report}, force=force, source=data)
    if outputs.use_stdout and format == "json":
        usage_error("--format json and a file called - both write to standard output.")
    terminal = Terminal(quiet=messages.quiet, is_taken=outputs.use_stdout or format == "json")
    known = read_checked(model)
    if labels is not None and isinstance(known, Explanation) and known.leaf_reference is None:
        raise UserError(
            f"{model} knows no clusters to compare the labels with; leave out --labels."
        )
    with outputs, opened(data, reading) as file:
        for note in file.notes:
            terminal.note(note)
        scored = ScoredFile(
            file, known, with_labels=labels is not None, needs_all=False, watches_all=True
        )
        with terminal.bar("Checking", file.n_rows()) as advance, user_errors(file):
            tally = _tallied(scored, labels, advance)
        if not tally.n_rows:
            raise UserError(f"{file.name} has column names but no rows.")
        found = compared(known, tally, scored.plan, bounds)
        if report is not None:
            from spexplain.show.report import render_check

            outputs.write("--report", render_check(found.facts))
    if format == "json":
        write_json({**found.facts, "data": data, "notes": terminal.notes})
    else:
        show_check(found, terminal)
    if report is not None and report != STDOUT:
        terminal.say(f"Wrote {report}")
    if not found.passed:
        raise typer.Exit(CHECK_FAILED)


def _tallied(scored: "ScoredFile", labels: str | None, advance: object) -> "Tally":
    """Return the counts of all rows of a file, batch by batch."""
    from spexplain.cli.scoring import label_codes
    from spexplain.messages import closest

    if labels is not None and labels not in scored.schema:
        raise UserError(
            f"{scored.file.name} has no column {labels}{closest(labels, scored.schema)}"
        )
    asked = {*scored.needed, *scored.guessed, *([] if labels is None else [labels])}
    columns = [name for name in scored.schema if name in asked]
    whole = scored.tally({}, 0) if not scored.sources else None
    for batch in scored.file.batches(scored.schema, columns):
        cells = scored.cells(batch)
        codes = None
        if labels is not None:
            codes, others = label_codes(
                batch.get_column(labels).alias(""), scored.plan.classes or ()
            )
        part = scored.tally(cells, len(batch), codes)
        part.guesses = scored.guesses(batch)
        if labels is not None:
            part.other_labels.update(others)
        if whole is None:
            whole = part
        else:
            whole.merge(part)
        advance(len(batch))  # type: ignore[operator]
    return scored.tally({}, 0) if whole is None else whole


def show_check(found: "Check", terminal: "Terminal", *, is_beside: bool = False) -> None:
    """Print the outcome and the findings; beside another result, as notes."""
    from rich.text import Text

    from spexplain.facts.drift import finding_lines, headline

    if is_beside:
        for line in (headline(found.facts), *finding_lines(found.facts)):
            terminal.note(line)
        return
    style = "bold green" if found.passed else "bold red"
    terminal.show(Text(headline(found.facts), style=style), wrap=True)
    for each, line in zip(found.findings, finding_lines(found.facts), strict=True):
        color = "red" if each["level"] == "alarm" else "yellow"
        level, _, rest = line.partition(" ")
        terminal.show(
            Text(level, style=color).append(f" {rest}", style="not bold default"), wrap=True
        )
