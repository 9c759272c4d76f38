"""``spexplain predict``: label the rows of a table with a model from JSON, in constant memory."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import typer

from spexplain.cli.errors import UserError, closest, counted, listed, usage_error
from spexplain.cli.files import STDOUT, Outputs
from spexplain.cli.options import Data, Force, Manner, Reading

if TYPE_CHECKING:
    import polars as pl

    from spexplain.cli.sources import Source
    from spexplain.cli.terminal import Terminal
    from spexplain.export import Model
    from spexplain.tree import Tree
    from spexplain.typing import Ints, Matrix

ModelFile = Annotated[
    str,
    typer.Argument(metavar="MODEL", show_default=False, help="The file that explain --json wrote."),
]
Output = Annotated[
    Path,
    typer.Option("--output", "-o", metavar="FILE", help="Where to write; - is standard output."),
]
Written = Annotated[
    Literal["csv", "tsv", "parquet", "arrow", "jsonl"] | None,
    typer.Option("--format", help="Instead of what the output's name says."),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        "--keep", metavar="A,B,...|all", help="Columns to copy; those of CSV files stay text."
    ),
]


def predict(
    model: ModelFile,
    data: Data,
    reading: Reading,
    manner: Manner,
    output: Output = STDOUT,
    format: Written = None,
    keep: Keep = None,
    force: Force = False,
) -> None:
    """Label the rows of a table with a model.

    Writes the columns [bold]leaf[/bold] and, if the leaves stand for clusters,
    [bold]cluster[/bold], one line per row and in the same order; rows with a missing value that a
    test asks for get neither. Only the columns that the tree tests need to be there. Texts of a CSV
    file that a spreadsheet would run as formulas get an apostrophe in front.
    """
    from spexplain.cli.labels import format_of_output, sink
    from spexplain.cli.sources import clear_errors, opened
    from spexplain.cli.terminal import Terminal

    if model == "-" and data == "-":
        usage_error("MODEL and DATA cannot both be standard input.")
    written = format_of_output(output, format)
    outputs = Outputs({"--output": output}, force=force, source=data)
    terminal = Terminal(quiet=manner.quiet, is_taken=outputs.use_stdout)
    tree = _read_model(model)
    with outputs, opened(data, reading) as source:
        counter = _Counter()
        kept = _kept(keep, source)
        total = _n_rows(source)
        with terminal.bar("Labelling", total) as advance, clear_errors(source):
            counter.advance = advance
            frame = _labelled(source, tree, kept, counter)
            with outputs.target("--output") as target:
                sink(frame, target, written)
    _report(counter, outputs, output, terminal)


class _Counter:
    """Rows that passed, and rows that could not be labelled."""

    def __init__(self) -> None:
        self.n_rows = 0
        self.n_missing = 0
        self.advance: Any = None


def _report(counter: _Counter, outputs: Outputs, output: Path, terminal: "Terminal") -> None:
    if counter.n_missing:
        terminal.note(
            f"{counter.n_missing:,} of {counted(counter.n_rows, 'row')} got no label: a value that "
            "a test needs is missing."
        )
    if not outputs.use_stdout:
        terminal.say(f"Wrote {output}: {counted(counter.n_rows, 'row')}")


def _read_model(path: str) -> "Model":
    import sys

    from spexplain.export.serialize import model_from_json

    if path != "-" and Path(path).is_dir():
        raise UserError(f"{path} is a folder, not a model.")
    content = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    try:
        return model_from_json(content)
    except ValueError as error:
        raise UserError(f"{path} is no model that explain --json wrote: {error}") from None


def _kept(keep: list[str] | None, source: "Source") -> list[str]:
    """Return the columns to copy."""
    from spexplain.cli.columns import named_columns

    if not keep:
        return []
    names = source.names()
    wanted = (
        names if keep == ["all"] and "all" not in names else named_columns(keep, names, "--keep")
    )
    clash = [name for name in wanted if name in ("leaf", "cluster")]
    if clash:
        raise UserError(f"--keep {listed(clash)} would hide a column of that name that is written.")
    return wanted


def _n_rows(source: "Source") -> int | None:
    """Return the number of rows where the file says it at once."""
    import polars as pl

    if source.format not in ("parquet", "arrow"):
        return None
    from spexplain.cli.sources import clear_errors

    with clear_errors(source):
        return int(source.scan().select(pl.len()).collect().item())


def _labelled(
    source: "Source", model: "Model", kept: list[str], counter: _Counter
) -> "pl.LazyFrame":
    """Return the kept columns and the labels of every row, not yet computed."""
    import polars as pl
    import polars.selectors as cs

    source.names()
    frame = source.scan(as_text=True)
    schema = frame.collect_schema()
    used = [_number(model.names[column], schema, source) for column in model.used]
    place = {column: number for number, column in enumerate(model.used)}
    feature = [place.get(int(each), -1) for each in model.tree.feature]
    tree = replace(model.tree, n_features=max(len(used), 1), feature=np.array(feature))

    def leaves(rows: pl.Series) -> pl.Series:
        X = rows.struct.unnest().to_numpy() if used else np.zeros((len(rows), 1))
        found = leaves_of_rows(tree, X)
        counter.n_rows += len(rows)
        counter.n_missing += int(np.count_nonzero(found < 0))
        counter.advance(len(rows))
        return pl.select(pl.when(pl.lit(pl.Series(found)) >= 0).then(pl.Series(found))).to_series()

    numbers = pl.struct(
        each.alias(str(number)) for number, each in enumerate(used or [pl.lit(0.0)])
    )
    leaf = numbers.map_batches(leaves, return_dtype=pl.Int64, is_elementwise=True)
    frame = frame.select(cs.by_name(*kept), leaf.alias("leaf"))
    if model.leaf_reference is None:
        return frame
    labels = pl.Series(model.labels("reference"))
    return frame.with_columns(
        pl.col("leaf")
        .replace_strict(list(range(len(labels))), labels, default=None, return_dtype=labels.dtype)
        .alias("cluster")
    )


def leaves_of_rows(tree: "Tree", X: "Matrix") -> "Ints":
    """Return the leaf of every row; -1 where a test on the row's way asks for a missing value."""
    found = tree.apply(X)
    holed = np.flatnonzero(np.isnan(X).any(axis=1))
    if len(holed):
        rows, nodes = tree.decision_path(X[holed]).nonzero()
        feature = tree.feature[nodes]
        is_lost = (feature >= 0) & np.isnan(X[holed[rows], feature])
        found[holed[rows[is_lost]]] = -1
    return found


def _number(name: str, schema: "pl.Schema", source: "Source") -> "pl.Expr":
    """Return a column of the model as floats, missing values as NaN."""
    import polars as pl
    import polars.selectors as cs

    if name in schema:
        column = cs.by_name(name).as_expr()
        if schema[name] == pl.String:
            text = column.str.strip_chars()
            if source.reading.decimal_comma:
                text = text.str.replace(",", ".", literal=True)
            truth = text.replace_strict({"true": 1.0, "false": 0.0}, default=None)
            column = pl.coalesce(text.cast(pl.Float64, strict=False), truth)
        return column.cast(pl.Float64).fill_null(float("nan"))
    for at in (place for place, sign in enumerate(name) if sign == "="):
        if name[:at] in schema:  # a text column that explain encoded
            column = cs.by_name(name[:at]).as_expr().cast(pl.String)
            return (column == name[at + 1 :]).fill_null(False).cast(pl.Float64)
    raise UserError(
        f"{source.name} has no column {name}, which the model tests{closest(name, schema)}"
    )
