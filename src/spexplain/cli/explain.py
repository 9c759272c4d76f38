"""``spexplain explain``: a table in, a tree, its rules and files out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from spexplain.cli.errors import listed, usage_error
from spexplain.cli.files import STDOUT, Outputs
from spexplain.cli.options import (
    Clustering,
    Columns,
    Data,
    Exports,
    Force,
    Format,
    Manner,
    MethodName,
    Reading,
    Size,
)

if TYPE_CHECKING:
    from spexplain.cli.fitting import Task
    from spexplain.cli.terminal import Terminal
    from spexplain.facts import Summary

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
    clustering: Clustering,
    method: Method = "best",
    size: Size,
    columns: Columns,
    exports: Exports,
    force: Force = False,
    reading: Reading,
    manner: Manner,
    format: Format = "text",
) -> None:
    """Explain the clusters of a table with a small decision tree.

    [dim]Find five clusters:[/dim] spexplain explain customers.csv -k 5 --report report.html

    [dim]Explain your own:[/dim]   spexplain explain customers.parquet --labels segment
    """
    from spexplain.cli import fitting
    from spexplain.cli.sources import opened
    from spexplain.cli.terminal import Terminal, write_json

    fitting.check_clustering(clustering)
    fitting.leaves_of(size)
    outputs = _checked_outputs(exports, data, force=force, is_json=format == "json")
    terminal = Terminal(quiet=manner.quiet, is_taken=outputs.use_stdout or format == "json")
    with outputs, opened(data, reading) as source:
        task = fitting.read_task(source, columns, clustering, terminal)
        unfitted = fitting.estimator_of(method, task, clustering, size)
        estimator, seconds = fitting.fit(unfitted, task, clustering, terminal)
        summary = estimator.outline()
        with terminal.stage("Writing"):
            _write(outputs, exports, estimator, task, terminal)
    if format == "json":
        write_json(_document(data, summary, task, seconds, outputs, terminal))
    else:
        _show(summary, data, clustering, terminal)
    for path in outputs.paths.values():
        if path != STDOUT:
            terminal.say(f"Wrote {path}")


def _checked_outputs(exports: Exports, data: str, *, force: bool, is_json: bool) -> Outputs:
    """Return the files to write; what stands in their way is said before any work is done."""
    outputs = Outputs(_paths(exports), force=force, source=data)
    if outputs.use_stdout and is_json:
        usage_error("--format json and a file called - both write to standard output.")
    _check_packages(exports)
    return outputs


def _paths(exports: Exports) -> dict[str, Path | None]:
    return {
        "--report": exports.report,
        "--sql": exports.sql,
        "--json": exports.json,
        "--python": exports.python,
        "--onnx": exports.onnx,
        "--output": exports.output,
    }


def _check_packages(exports: Exports) -> None:
    """Say what is missing for a file before the work is done, not after."""
    from importlib.util import find_spec

    from spexplain.cli.labels import format_of_output

    for path, package, extra in (
        (exports.onnx, "onnx", "onnx"),
        (exports.report, "jinja2", "report"),
    ):
        if path is not None and find_spec(package) is None:
            raise ImportError(f'{path} needs {package}: pip install "spexplain[{extra}]".')
    if exports.output is not None:
        format_of_output(exports.output, None)


def _write(
    outputs: Outputs, exports: Exports, estimator: Any, task: "Task", terminal: "Terminal"
) -> None:
    """Write the files that were asked for."""
    from spexplain import export
    from spexplain.cli.fitting import report_html
    from spexplain.cli.labels import write_labels

    model = export.Model.of(estimator)
    has_clusters = model.leaf_reference is not None and exports.export_label == "cluster"
    label: export.LabelKind = "reference" if has_clusters else "leaf"
    if exports.report is not None:
        outputs.write("--report", report_html(estimator))
    if exports.sql is not None:
        sql = export.to_sql(model, dialect=exports.dialect, table=exports.table, label=label)
        outputs.write("--sql", sql.rstrip("\n") + "\n")
    if exports.json is not None:
        outputs.write("--json", export.to_json(model))
    if exports.python is not None:
        outputs.write("--python", export.to_python(model, label=label))
    if exports.onnx is not None:
        outputs.write("--onnx", export.to_onnx(model, label=label).SerializeToString())
    if exports.output is not None:
        write_labels(outputs, exports.output, estimator, task.table)
    used = {model.names[column].partition("=")[0] for column in model.used}
    made = [name for name in task.table.encoded if name in used]
    if made and (exports.sql or exports.python or exports.onnx):
        terminal.note(
            f"SQL, Python and ONNX expect the 0/1 columns made from {listed(made)}, named like {made[0]}=value."
        )


def _show(summary: "Summary", data: str, clustering: Clustering, terminal: "Terminal") -> None:
    """Print tree, rules and agreement."""
    from spexplain.cli.drawing import agreement_line, headline, rules_table, tree_lines
    from spexplain.cli.fitting import file_name

    width = terminal.out.width
    terminal.show(headline(summary, file_name(data)), "")
    terminal.show(*tree_lines(summary, width), "")
    terminal.show(rules_table(summary, width))
    found = agreement_line(summary, clustering.labels or "the clusters")
    if found is not None:
        terminal.show("", found, wrap=True)


def _document(
    data: str,
    summary: "Summary",
    task: "Task",
    seconds: float,
    outputs: Outputs,
    terminal: "Terminal",
) -> dict[str, Any]:
    """Return everything that is known, for programs."""
    table = task.table
    return {
        "format": "spexplain.explain",
        "version": 1,
        "data": data,
        "rows": table.n_rows,
        "rows_used": len(table.X),
        "columns": table.X.columns,
        "columns_left_out": table.left_out,
        "columns_encoded": table.encoded,
        "seconds": seconds,
        "files": {option.lstrip("-"): str(path) for option, path in outputs.paths.items()},
        "notes": terminal.notes,
        "summary": summary,
    }
