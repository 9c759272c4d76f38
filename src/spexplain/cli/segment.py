"""``spexplain segment``: the best rule for every cluster of a table, or for one of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from spexplain.cli.errors import UserError, usage_error
from spexplain.cli.options import (
    STDOUT,
    ClusteringOptions,
    ColumnOptions,
    Data,
    DialectName,
    Force,
    Format,
    MessageOptions,
    Noise,
    ReadingOptions,
)

if TYPE_CHECKING:
    from spexplain.cli.columns import InputTable
    from spexplain.cli.terminal import Terminal
    from spexplain.explanation.rule_set import RuleSet

_RULES, _FILES = "The rules", "Files to write"

Labels = Annotated[
    str,
    typer.Option(
        "--labels",
        "-l",
        rich_help_panel="What to explain",
        metavar="COLUMN",
        help="The column that holds the clusters.",
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        "-t",
        rich_help_panel="What to explain",
        metavar="LABEL",
        show_default=False,
        help="The cluster to describe; by default all.",
    ),
]
MaxConditions = Annotated[
    int,
    typer.Option(
        "--max-conditions",
        rich_help_panel=_RULES,
        min=1,
        metavar="N",
        help="Greatest number of conditions of a rule.",
    ),
]
NRules = Annotated[
    int,
    typer.Option(
        "--rules",
        rich_help_panel=_RULES,
        min=1,
        metavar="N",
        help="Greatest number of rules per cluster, one of which must hold.",
    ),
]
MaxTotal = Annotated[
    int | None,
    typer.Option(
        "--max-total-conditions",
        rich_help_panel=_RULES,
        min=1,
        metavar="N",
        show_default=False,
        help="Greatest number of conditions of all rules of a cluster together, where --rules allows for several.",
    ),
]
Alternatives = Annotated[
    int,
    typer.Option(
        "--alternatives",
        rich_help_panel=_RULES,
        min=0,
        metavar="N",
        help="Further rules per cluster, on other columns.",
    ),
]
Measure = Annotated[
    Literal["f1", "f2", "f0.5", "balanced"],
    typer.Option(
        "--measure",
        rich_help_panel=_RULES,
        metavar="NAME",
        help="What a rule maximises: f1, f2 (recall counts more), f0.5 (precision counts more) or balanced (mean "
        "recall of the cluster and of the rest).",
    ),
]
Overlap = Annotated[
    bool,
    typer.Option(
        "--overlap/--no-overlap",
        rich_help_panel=_RULES,
        help="Whether rules of different clusters may hold for the same rows.",
    ),
]
Jobs = Annotated[
    int,
    typer.Option(
        "--jobs",
        "-j",
        rich_help_panel=_RULES,
        min=-1,
        metavar="N",
        help="Number of threads; -1 means all processors.",
    ),
]
Sql = Annotated[
    Path | None,
    typer.Option(
        "--sql",
        rich_help_panel=_FILES,
        metavar="FILE",
        show_default=False,
        help="The rules as SQL: a boolean column per cluster, and one with the cluster.",
    ),
]
Dialect = Annotated[
    DialectName,
    typer.Option("--dialect", rich_help_panel=_FILES, metavar="NAME", help="Database of the SQL."),
]
TableName = Annotated[
    str | None,
    typer.Option(
        "--table",
        rich_help_panel=_FILES,
        metavar="NAME",
        show_default=False,
        help="Table of a complete query; without it the SQL is a list of columns.",
    ),
]
Json = Annotated[
    Path | None,
    typer.Option(
        "--json",
        rich_help_panel=_FILES,
        metavar="FILE",
        show_default=False,
        help="The rules, for spexplain predict, check, show and report.",
    ),
]
Report = Annotated[
    Path | None,
    typer.Option(
        "--report",
        rich_help_panel=_FILES,
        metavar="FILE",
        show_default=False,
        help="A report: one HTML file that needs no network.",
    ),
]


def segment(
    data: Data,
    *,
    labels: Labels,
    noise: Noise = "ignore",
    target: Target = None,
    max_conditions: MaxConditions = 3,
    rules: NRules = 1,
    max_total_conditions: MaxTotal = None,
    alternatives: Alternatives = 2,
    measure: Measure = "f1",
    overlap: Overlap = True,
    jobs: Jobs = -1,
    columns: ColumnOptions,
    report: Report = None,
    sql: Sql = None,
    dialect: Dialect = "duckdb",
    table: TableName = None,
    json: Json = None,
    force: Force = False,
    reading: ReadingOptions,
    messages: MessageOptions,
    format: Format = "text",
) -> None:
    """Describe clusters by one rule each, without a tree.

    [dim]What defines the VIPs:[/dim] spexplain segment customers.csv --labels segment --target VIP
    """
    from spexplain.cli.columns import read_input_table
    from spexplain.cli.read import opened
    from spexplain.cli.terminal import Terminal, write_json
    from spexplain.cli.write import Outputs

    paths = {"--report": report, "--sql": sql, "--json": json}
    outputs = Outputs(paths, force=force, source=data)
    if outputs.use_stdout and format == "json":
        usage_error("--format json and a file called - both write to standard output.")
    terminal = Terminal(quiet=messages.quiet, is_taken=outputs.use_stdout or format == "json")
    with outputs, opened(data, reading) as file:
        read = read_input_table(
            file, columns, ClusteringOptions(labels=labels, noise=noise), terminal
        )
        options = {
            "max_conditions": max_conditions,
            "n_rules": rules,
            "max_total_conditions": max_total_conditions,
            "n_alternatives": alternatives,
            "measure": measure,
            "overlap": overlap,
            "n_jobs": jobs,
        }
        estimator, codes = _fitted(read, options, target, terminal)
        if sql is not None:
            written = estimator.to_sql(dialect=dialect, table=table)
            outputs.write("--sql", written.rstrip("\n") + "\n")
        if json is not None:
            outputs.write("--json", estimator.to_json())
        if report is not None:
            outputs.write("--report", rules_html(estimator.explanation_, texts=read.texts))
    if format == "json":
        write_json(_document(data, estimator, codes, read, terminal))
    else:
        show_rules(estimator.explanation_, terminal, codes)
    for path in outputs.paths.values():
        if path != STDOUT:
            terminal.say(f"Wrote {path}")


def _fitted(
    read: "InputTable", options: dict[str, Any], target: str | None, terminal: "Terminal"
) -> tuple[Any, list[int] | None]:
    """Return the fitted rules, and the cluster that was asked for."""
    import warnings

    from spexplain import ClusterRules
    from spexplain.cli.fitting import given_weights
    from spexplain.exceptions import NoiseWarning
    from spexplain.messages import closest

    if target is not None:  # said before the work is done
        assert read.labels is not None
        labels = sorted({str(each) for each in read.labels.tolist()})
        if target not in labels:
            raise UserError(f"--target: there is no cluster {target}{closest(target, labels)}")
    estimator = ClusterRules(
        **options, features=read.features, noise=read.noise, missing=read.missing
    )
    with terminal.stage("Finding rules"), terminal.warnings_as_notes():
        warnings.simplefilter("ignore", NoiseWarning)  # was said when the labels were read
        estimator.fit(read.X, read.labels, **given_weights(read))
    if target is None:
        return estimator, None
    try:
        return estimator, [estimator.explanation_.code(target)]
    except ValueError:
        raise UserError(f"--target {target} means rows of no cluster; see --noise.") from None


def show_rules(found: "RuleSet", terminal: "Terminal", codes: Sequence[int] | None = None) -> None:
    """Print rules in words; lines that are too long go on below their own text."""
    from rich.text import Text

    from spexplain.cli.terminal import wrapped
    from spexplain.facts.text import MOST_VALUES

    for line in found.text(codes, MOST_VALUES).splitlines():
        text = line.lstrip()
        indent = len(line) - len(text)
        hang = len("also: ") if text.startswith("also: ") else 2
        for each in wrapped(text, terminal.out.width - indent, hang):
            terminal.show(Text(" " * indent + each), wrap=True)


def rules_html(found: "RuleSet", title: str | None = None, texts: list[str] | None = None) -> str:
    """Return the report of rules."""
    from spexplain.show.report.rule_cards import render_rules

    try:
        return render_rules(found, title=title, texts=texts)
    except ImportError as error:
        raise UserError(f"The report cannot be written: {error}") from None


def rules_document(found: "RuleSet", codes: Sequence[int] | None = None) -> dict[str, Any]:
    """Return what is known of rules, for programs."""
    from spexplain.facts.schema import plain_value

    labels = found.labels if codes is None else [found.labels[code] for code in codes]
    records = [record for record in found.records(alternatives=True) if record["cluster"] in labels]
    return {
        "measure": found.measure,
        "macro_f1": found.macro_f1,
        "uncovered": found.uncovered,
        "shared": found.shared,
        "order": [plain_value(found.labels[code]) for code in found.order],
        "rules": [{key: plain_value(value) for key, value in record.items()} for record in records],
    }


def _document(
    data: str, estimator: Any, codes: list[int] | None, read: "InputTable", terminal: "Terminal"
) -> dict[str, Any]:
    """Return everything that is known, for programs."""
    return {
        "format": "spexplain.segment",
        "version": 1,
        "data": data,
        "rows": len(read.X),
        "columns": read.X.columns,
        "columns_left_out": read.left_out,
        "notes": terminal.notes,
        **rules_document(estimator.explanation_, codes),
    }
