"""``spexplain explain``: a table in, a tree, its rules and files out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from spexplain.cli.errors import UserError, usage_error
from spexplain.cli.options import (
    STDOUT,
    AnswerOptions,
    ClusteringOptions,
    ColumnOptions,
    Data,
    FileOptions,
    Force,
    Format,
    MessageOptions,
    MethodName,
    ReadingOptions,
    TreeOptions,
)

if TYPE_CHECKING:
    from spexplain.cli.columns import InputTable
    from spexplain.cli.terminal import Terminal
    from spexplain.cli.write import Outputs
    from spexplain.facts import Summary
    from spexplain.facts.verdict import Verdict

_NOT_GOOD = 3  # exit status where --fail-under is not reached

Method = Annotated[
    MethodName,
    typer.Option(
        "--method",
        "-m",
        rich_help_panel="The tree",
        metavar="NAME",
        help=f"How the tree is found: {', '.join(get_args(MethodName))}.",
    ),
]


def explain(
    data: Data,
    *,
    clustering: ClusteringOptions,
    method: Method = "best",
    tree: TreeOptions,
    columns: ColumnOptions,
    answers: AnswerOptions,
    files: FileOptions,
    force: Force = False,
    reading: ReadingOptions,
    messages: MessageOptions,
    format: Format = "text",
) -> None:
    """Explain the clusters of a table with a small decision tree.

    [dim]Find five clusters:[/dim] spexplain explain customers.csv -k 5 --report report.html

    [dim]Explain your own:[/dim]   spexplain explain customers.parquet --labels segment
    """
    from spexplain.cli import fitting
    from spexplain.cli.columns import read_input_table
    from spexplain.cli.read import opened
    from spexplain.cli.terminal import Terminal, segment_lines, write_json

    fitting.check_clustering(clustering)
    names = _segment_names(answers.names)
    fitting.n_leaves_of(tree)
    outputs = _checked_outputs(files, data, force=force, is_json=format == "json")
    terminal = Terminal(quiet=messages.quiet, is_taken=outputs.use_stdout or format == "json")
    with outputs, opened(data, reading) as file:
        table = read_input_table(file, columns, clustering, terminal)
        unfitted = fitting.estimator_of(method, table, clustering, tree)
        estimator, seconds = fitting.fit(unfitted, table, clustering, terminal)
        if names is not None:
            estimator = estimator.renamed(names)
        if answers.validate:
            with terminal.stage("Validating"):
                estimator.validate(random_state=tree.seed)
        with terminal.stage("Judging"):
            verdict = estimator.verdict_
        summary = estimator.outline()
        segments = estimator.segments(output="records") if answers.segments else None
        if outputs.paths:
            with terminal.stage("Writing"):
                _write(outputs, files, estimator, table)
    if format == "json":
        document = _document(data, summary, table, seconds, outputs, terminal)
        write_json(document if segments is None else document | {"segments": segments})
    else:
        show_summary(summary, data, clustering.labels or "clusters", terminal)
        if segments is not None:
            terminal.show("", *segment_lines(summary, segments, terminal.out.width), wrap=True)
    for path in outputs.paths.values():
        if path != STDOUT:
            terminal.say(f"Wrote {path}")
    if answers.fail_under is not None:
        _check_quality(verdict, answers.fail_under)


def _check_quality(verdict: "Verdict", least: float) -> None:
    """Fail if fewer rows are right than asked for, or as few as by guessing."""
    fidelity = verdict.facts["fidelity"]
    if fidelity is None:
        raise UserError(verdict.sentences[0], status=_NOT_GOOD)
    if verdict.level == "none":
        raise UserError(verdict.sentences[0], status=_NOT_GOOD)
    if fidelity < least:
        which = "rows left out" if verdict.facts["held_out"] else "rows"
        raise UserError(
            f"{fidelity:.1%} of the {which} are right, less than --fail-under {least:g}.",
            status=_NOT_GOOD,
        )


def _checked_outputs(files: FileOptions, data: str, *, force: bool, is_json: bool) -> "Outputs":
    """Return the files to write; what stands in their way is said before any work is done."""
    from spexplain.cli.write import Outputs

    outputs = Outputs({**_paths(files), **_dbt_paths(files)}, force=force, source=data)
    if outputs.use_stdout and is_json:
        usage_error("--format json and a file called - both write to standard output.")
    _check_packages(files)
    return outputs


def _paths(files: FileOptions) -> dict[str, Path | None]:
    return {
        "--report": files.report,
        "--picture": files.picture,
        "--sql": files.sql,
        "--json": files.json,
        "--python": files.python,
        "--onnx": files.onnx,
        "--output": files.output,
    }


def _dbt_paths(files: FileOptions) -> dict[str, Path | None]:
    """Return the files of a dbt model, whose folders are made."""
    from spexplain.export.dbt import dbt_places

    if files.dbt is None:
        return {}
    if files.table is None:
        usage_error("--dbt needs --table, the dbt model or source whose rows get labels.")
    if files.dbt.exists() and not files.dbt.is_dir():
        raise UserError(f"--dbt {files.dbt} is a file; name the folder of a dbt project.")
    try:
        places = dbt_places(files.table)
    except ValueError as error:
        usage_error(f"--{error}")
    found: dict[str, Path | None] = {f"--dbt {place}": files.dbt / place for place in places}
    for path in found.values():
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
    return found


def _check_packages(files: FileOptions) -> None:
    """Say what is missing for a file before the work is done, not after."""
    from importlib.util import find_spec

    from spexplain.cli.write import format_of_output

    for path, package, extra in (
        (files.onnx, "onnx", "onnx"),
        (files.report, "jinja2", "report"),
        (files.picture, *_picture_needs(files.picture)),
    ):
        if path is not None and find_spec(package) is None:
            raise ImportError(f'{path} needs {package}: pip install "spexplain[{extra}]".')
    if files.output is not None:
        format_of_output(files.output, None)


def _picture_needs(path: Path | None) -> tuple[str, str]:
    """Return the package and the extra that a picture needs; refuse any other ending."""
    if path is None:
        return "matplotlib", "plot"
    if path.suffix.lower() not in (".png", ".svg", ".pdf", ".pptx"):
        usage_error(f"--picture {path} must end in .png, .svg, .pdf or .pptx.")
    return ("pptx", "office") if path.suffix.lower() == ".pptx" else ("matplotlib", "plot")


def _segment_names(path: Path | None) -> dict[str, str] | None:
    """Return the names of the clusters that a JSON file holds."""
    import json

    if path is None:
        return None
    try:
        names = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, UnicodeDecodeError):
        names = None
    if not isinstance(names, dict) or not all(isinstance(each, str) for each in names.values()):
        raise UserError(
            f'--names {path} must be a JSON file with one name per cluster, such as {{"0": "VIP", "1": "new"}}.'
        )
    return names


def _write(outputs: "Outputs", files: FileOptions, estimator: Any, table: "InputTable") -> None:
    """Write the files that were asked for."""
    from spexplain import export
    from spexplain.cli.write import write_labels

    model = estimator.explanation_
    has_clusters = model.leaf_reference is not None and files.export_label == "cluster"
    label: export.LabelKind = "reference" if has_clusters else "leaf"
    if files.report is not None:
        outputs.write("--report", report_html(estimator, table.row_ids, table.texts))
    if files.picture is not None:
        outputs.write("--picture", estimator._picture(files.picture.suffix))
    if files.sql is not None:
        sql = export.to_sql(model, dialect=files.dialect, table=files.table, label=label)
        outputs.write("--sql", sql.rstrip("\n") + "\n")
    if files.dbt is not None and files.table is not None:
        dbt = export.dbt_files(model, dialect=files.dialect, table=files.table, label=label)
        for place, content in dbt.items():
            outputs.write(f"--dbt {place}", content)
    if files.json is not None:
        outputs.write("--json", estimator.to_json(profile=files.profile))
    if files.python is not None:
        outputs.write("--python", export.to_python(model, label=label))
    if files.onnx is not None:
        outputs.write("--onnx", export.to_onnx(model, label=label).SerializeToString())
    if files.output is not None:
        write_labels(outputs, files.output, estimator)


def report_html(estimator: Any, row_ids: Any = None, texts: list[str] | None = None) -> str:
    """Return the report of a fitted estimator."""
    from spexplain.show.report import render

    try:
        return render(estimator.summary(row_ids=row_ids), texts=texts)
    except ImportError as error:
        raise UserError(f"--report cannot be written: {error}") from None


def show_summary(summary: "Summary", data: str, with_what: str, terminal: "Terminal") -> None:
    """Print tree, rules and agreement with the clusters, which are called `with_what`."""
    from spexplain.cli.terminal import (
        agreement_line,
        data_title,
        head_lines,
        headline,
        rules_table,
        tree_lines,
        verdict_lines,
    )

    width = terminal.out.width
    terminal.show(headline(summary, data_title(data)))
    terminal.show(*head_lines(summary, width), wrap=True)
    terminal.show(*verdict_lines(summary, width), wrap=True)
    terminal.show("")
    terminal.show(*tree_lines(summary, width), "")
    terminal.show(rules_table(summary, width))
    found = agreement_line(summary, with_what)
    if found is not None:
        terminal.show("", found, wrap=True)


def _document(
    data: str,
    summary: "Summary",
    table: "InputTable",
    seconds: float,
    outputs: "Outputs",
    terminal: "Terminal",
) -> dict[str, Any]:
    """Return everything that is known, for programs."""
    return {
        "format": "spexplain.explain",
        "version": 2,
        "data": data,
        "rows": len(table.X),
        "columns": table.X.columns,
        "columns_left_out": table.left_out,
        "seconds": seconds,
        "files": {option.lstrip("-"): str(path) for option, path in outputs.paths.items()},
        "notes": terminal.notes,
        "summary": summary,
    }
