"""``spexplain show`` and ``spexplain report``: a model that was written before, in the terminal or as a page."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spexplain.cli.errors import UserError, usage_error
from spexplain.cli.explain import show_summary
from spexplain.cli.options import Force, Format, MessageOptions, ReadingOptions
from spexplain.cli.predict import ModelFile, read_any
from spexplain.messages import closest

if TYPE_CHECKING:
    from rich.table import Table

    from spexplain.cli.terminal import Terminal
    from spexplain.explanation import Explanation, LoadedModel

Rows = Annotated[
    str | None,
    typer.Argument(
        metavar="DATA",
        show_default=False,
        help="The training rows, for a report that also shows values; or other rows, with --labels.",
    ),
]
Labels = Annotated[
    str | None,
    typer.Option(
        "--labels",
        "-l",
        metavar="COLUMN",
        help="The column that holds the clusters of other rows than those of training.",
    ),
]
ReportFile = Annotated[
    Path,
    typer.Option("--output", "-o", metavar="FILE", help="The HTML file; - is standard output."),
]
Title = Annotated[str | None, typer.Option("--title", metavar="TEXT", help="Heading of the page.")]


def show(model: ModelFile, messages: MessageOptions, format: Format = "text") -> None:
    """Show a model: its tree, its rules and what it saw in the columns that it tests; or its rules per cluster."""
    from spexplain.cli.segment import rules_document, show_rules
    from spexplain.cli.terminal import Terminal, write_json
    from spexplain.explanation import LoadedModel
    from spexplain.explanation.rule_set import RuleSet

    terminal = Terminal(quiet=messages.quiet, is_taken=format == "json")
    known = read_any(model)
    if isinstance(known, RuleSet):
        if format == "json":
            write_json(
                {"format": "spexplain.show", "version": 1, "model": model, **rules_document(known)}
            )
        else:
            show_rules(known, terminal)
        return
    summary = LoadedModel(known).outline()
    if format == "json":
        write_json(
            {
                "format": "spexplain.show",
                "version": 1,
                "model": model,
                "seen": _seen_records(known),
                "summary": summary,
            }
        )
        return
    show_summary(summary, model, "clusters", terminal)
    table = _seen_table(known)
    if table is not None:
        terminal.show("", table)


def _seen_records(known: "Explanation") -> list[dict[str, Any]]:
    """Return what the training rows had in each column that is remembered."""
    if known.profile is None:
        return []
    found = []
    for number, seen in known.profile.columns.items():
        column = known.fields[number]
        record: dict[str, Any] = {
            "column": column.name,
            "kind": column.kind,
            "rows": seen.n_rows,
            "missing": seen.share_missing,
        }
        if column.kind == "category":
            names = [str(each) for each in column.categories]
            record["categories"] = dict(zip(names, seen.counts, strict=True))
        else:
            record["quantiles"] = list(seen.quantiles)
        found.append(record)
    return found


def _seen_table(known: "Explanation") -> "Table | None":
    """Return what the training rows had in the tested columns, one line each."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from spexplain.cli.terminal import clipped
    from spexplain.facts.text import brief_text, percent

    if known.profile is None:
        return None
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("column", no_wrap=True)
    table.add_column("missing", justify="right", no_wrap=True)
    table.add_column("seen in training", overflow="fold")
    for number, seen in known.profile.columns.items():
        column = known.fields[number]
        if column.kind == "category":
            order = sorted(range(len(seen.counts)), key=lambda code: -seen.counts[code])
            parts = [
                f"{clipped(str(column.categories[code]), 20)} {percent(seen.counts[code] / max(seen.n_known, 1))}"
                for code in order[:5]
            ]
            told = ", ".join(parts) + (f" and {len(order) - 5} more" if len(order) > 5 else "")
        elif seen.quantiles:
            low, middle, high = (brief_text(column, seen.quantiles[at]) for at in (0, 10, 20))
            told = f"{low} to {high}, median {middle}"
        else:
            told = "nothing"
        table.add_row(Text(clipped(column.name, 30)), percent(seen.share_missing), Text(told))
    return table


def report(
    model: ModelFile,
    data: Rows = None,
    *,
    labels: Labels = None,
    output: ReportFile = Path("report.html"),
    title: Title = None,
    force: Force = False,
    reading: ReadingOptions,
    messages: MessageOptions,
) -> None:
    """Write the report of a model as one HTML file.

    It shows what the model itself knows. With the training rows it also shows values; with other rows and their
    labels, it shows what the tree does to those rows.
    """
    from spexplain.cli.segment import rules_html
    from spexplain.cli.terminal import Terminal
    from spexplain.cli.write import Outputs
    from spexplain.explanation import LoadedModel
    from spexplain.explanation.rule_set import RuleSet
    from spexplain.facts.rows import add_profile
    from spexplain.show.report import render

    if model == "-" and data == "-":
        usage_error("MODEL and DATA cannot both be standard input.")
    if labels is not None and data is None:
        usage_error("--labels is about the rows of DATA, which is not given.")
    outputs = Outputs({"--output": output}, force=force, source=data or "-")
    terminal = Terminal(quiet=messages.quiet, is_taken=outputs.use_stdout)
    known = read_any(model)
    if isinstance(known, RuleSet):
        if data is not None:
            usage_error(
                f"{model} holds rules per cluster, whose report needs no rows; leave DATA out."
            )
        with outputs:
            outputs.write("--output", rules_html(known, title))
        if not outputs.use_stdout:
            terminal.say(f"Wrote {output}")
        return
    loaded = LoadedModel(known)
    with outputs:
        training = loaded.explanation_.training
        if data is None and training is not None:  # the model holds its rows
            summary = loaded.summary()
        elif data is None:
            summary = loaded.outline()
            add_profile(summary, loaded.explanation_.profile)
        else:
            summary = _summary_of_rows(loaded, data, labels, reading, terminal)
        outputs.write("--output", render(summary, title=title))
    if not outputs.use_stdout:
        terminal.say(f"Wrote {output}")


def _summary_of_rows(
    loaded: "LoadedModel",
    data: str,
    labels: str | None,
    reading: ReadingOptions,
    terminal: "Terminal",
) -> Any:
    """Return the facts of a model with the rows of a file."""
    from spexplain.cli.read import opened
    from spexplain.cli.scoring import ScoredFile
    from spexplain.explanation.fitted import summary_of_rows

    with opened(data, reading) as file:
        for note in file.notes:
            terminal.note(note)
        if labels is not None and labels not in file.names():
            raise UserError(f"{file.name} has no column {labels}{closest(labels, file.names())}")
        ScoredFile(file, loaded.explanation_)  # refuses a file that lacks a tested column
        with terminal.stage(f"Reading {file.name}"):
            rows, y = typed_rows(file, loaded.explanation_, labels)
    try:
        known = loaded.explanation_
        told = known.with_rows(rows) if y is None else known.on_rows(rows, y)
        return summary_of_rows(loaded, told, rows)
    except ValueError as error:
        text = str(error).replace(
            "pass their labels as y", "pass --labels with the column of their clusters"
        )
        raise UserError(text) from None


def typed_rows(file: Any, known: "Explanation", labels: str | None) -> tuple[Any, Any]:
    """Return the rows of a file as the model's table has them, and their labels."""
    import numpy as np

    from spexplain.cli.columns import _plain_labels, cells_of_file, source_column

    names = file.names()
    wanted = {number: source_column(field, names) for number, field in enumerate(known.fields)}
    found = {number: name for number, name in wanted.items() if name is not None}
    frame = file.read([*dict.fromkeys([*found.values(), *([] if labels is None else [labels])])])
    rows = np.full((len(frame), len(known.fields)), np.nan)
    for number, name in found.items():
        column = known.fields[number]
        if column.kind == "category" and not column.categories:
            continue  # of columns that no test reads, models do not know the values
        cells = cells_of_file(frame.get_column(name).alias(""), column, file)
        if number in known.used and len(cells.odd) and column.kind != "category":
            raise UserError(
                f"{name} holds values that cannot be read, such as {next(iter(cells.odd))!r}."
            )
        rows[:, number] = cells.values
    if labels is None:
        return rows, None
    series = _plain_labels(frame.get_column(labels).alias(""))
    stands = known.leaf_reference
    if stands is not None and stands.dtype.kind in "UO":
        import polars as pl

        series = series.cast(pl.String)
    return rows, np.array(series.to_list(), dtype=object)
