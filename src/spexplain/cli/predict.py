"""``spexplain predict``: label the rows of a table with a model from JSON, in constant memory."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
import typer

from spexplain.cli.errors import UserError, closest, counted, listed, usage_error
from spexplain.cli.files import STDOUT, Outputs
from spexplain.cli.options import Data, Force, Manner, Reading

if TYPE_CHECKING:
    import polars as pl

    from spexplain.aliases import Ints, Matrix
    from spexplain.cli.sources import Source
    from spexplain.cli.terminal import Terminal
    from spexplain.export import Model
    from spexplain.tree import Tree

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
    from spexplain.cli.batches import write_batches
    from spexplain.cli.labels import format_of_output
    from spexplain.cli.sources import clear_errors, opened
    from spexplain.cli.terminal import Terminal

    if model == "-" and data == "-":
        usage_error("MODEL and DATA cannot both be standard input.")
    written = format_of_output(output, format)
    outputs = Outputs({"--output": output}, force=force, source=data)
    terminal = Terminal(quiet=manner.quiet, is_taken=outputs.use_stdout)
    tree = _read_model(model)
    with outputs, opened(data, reading) as source:
        kept = _kept(keep, source)
        with terminal.bar("Labelling", _n_rows(source)) as advance, clear_errors(source):
            labeller = _Labeller(source, tree, kept, advance)
            with outputs.target("--output") as target:
                write_batches(labeller.batches(), labeller.written, target, written)
    _report(labeller, outputs, output, terminal)


def _report(counter: "_Labeller", outputs: Outputs, output: Path, terminal: "Terminal") -> None:
    if counter.n_missing:
        terminal.note(
            f"{counter.n_missing:,} of {counted(counter.n_rows, 'row')} got no label: a value that "
            "a test needs is missing."
        )
    if not outputs.use_stdout:
        terminal.say(f"Wrote {output}: {counted(counter.n_rows, 'row')}")


def _read_model(path: str) -> "Model":
    import sys

    from spexplain.export.serialize import MAX_CHARACTERS, model_from_json

    if path != "-" and Path(path).is_dir():
        raise UserError(f"{path} is a folder, not a model.")
    # One byte more than the longest model: what is longer is refused without being read.
    with nullcontext(sys.stdin.buffer) if path == "-" else Path(path).open("rb") as file:
        content = file.read(MAX_CHARACTERS + 1)
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


class _Labeller:
    """Labels a table batch by batch, and counts.

    Parameters
    ----------
    source : Source
        The table.
    model : Model
        What labels it.
    kept : list of str
        Columns to copy.
    advance : callable
        Told the rows of every batch.
    """

    def __init__(
        self, source: "Source", model: "Model", kept: list[str], advance: Callable[[int], None]
    ) -> None:
        import polars as pl

        from spexplain.cli.batches import schema_of

        source.names()
        self.source, self.kept, self.advance = source, kept, advance
        self.n_rows = self.n_missing = 0
        names = [model.names[column] for column in model.used]
        self.schema = schema_of(source, set(names))
        self.numbers = [_number(name, self.schema, source) for name in names]
        place = {column: number for number, column in enumerate(model.used)}
        feature = [place.get(int(each), -1) for each in model.tree.feature]
        # Rows are read without the columns that no test asks for.
        self.tree = replace(
            model.tree, n_features=max(len(names), 1), feature=np.array(feature, dtype=np.int64)
        )
        self.labels = None
        if model.leaf_reference is not None:
            self.labels = pl.Series("cluster", model.labels("reference"))
        self.written = self._labelled(pl.DataFrame(schema=self.schema)).schema

    def batches(self) -> Iterator["pl.DataFrame"]:
        """Give the columns to write."""
        from spexplain.cli.batches import read_batches

        asked = {name for each in self.numbers for name in each.meta.root_names()}
        columns = [name for name in self.schema if name in asked or name in self.kept]
        for batch in read_batches(self.source, self.schema, columns):
            labelled = self._labelled(batch)
            self.n_rows += len(batch)
            self.n_missing += labelled["leaf"].null_count()
            self.advance(len(batch))
            yield labelled

    def _labelled(self, batch: "pl.DataFrame") -> "pl.DataFrame":
        import polars as pl

        X = np.zeros((len(batch), 1))
        if self.numbers:
            X = batch.select(each.alias(str(at)) for at, each in enumerate(self.numbers)).to_numpy()
        leaves = pl.DataFrame({"leaf": leaves_of_rows(self.tree, X)})
        leaves = leaves.select(pl.when(pl.col("leaf") >= 0).then(pl.col("leaf")))
        found = batch[self.kept].hstack(leaves) if self.kept else leaves
        if self.labels is None:
            return found
        return found.with_columns(self.labels.gather(found["leaf"]).alias("cluster"))


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

    from spexplain.export.spreadsheets import disarmed

    if name not in schema and disarmed(name) in schema:  # a CSV file that was written here
        name = disarmed(name)
    if name in schema:
        column = pl.col(name)
        if schema[name] == pl.String:
            text = column.str.strip_chars()
            if source.reading.decimal_comma:
                text = text.str.replace(",", ".", literal=True)
            truth = text.replace_strict({"true": 1.0, "false": 0.0}, default=None)
            column = pl.coalesce(text.cast(pl.Float64, strict=False), truth)
        return column.cast(pl.Float64).fill_null(float("nan"))
    for at in (place for place, sign in enumerate(name) if sign == "="):
        if name[:at] in schema:  # a text column that explain encoded
            column = pl.col(name[:at]).cast(pl.String)
            value = name[at + 1 :]
            return column.is_in([value, disarmed(value)]).fill_null(False).cast(pl.Float64)
    raise UserError(
        f"{source.name} has no column {name}, which the model tests{closest(name, schema)}"
    )
