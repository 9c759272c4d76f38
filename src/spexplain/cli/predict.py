"""``spexplain predict``: label the rows of a table with a model from JSON, in constant memory."""

import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from spexplain.cli.errors import UserError, usage_error
from spexplain.cli.options import STDOUT, Data, Force, MessageOptions, ReadingOptions
from spexplain.files import TableFormat
from spexplain.messages import counted, listed

if TYPE_CHECKING:
    import polars as pl

    from spexplain.cli.read import TableFile
    from spexplain.explanation import Explanation


ModelFile = Annotated[
    str,
    typer.Argument(metavar="MODEL", show_default=False, help="The file that explain --json wrote."),
]
Output = Annotated[
    Path,
    typer.Option("--output", "-o", metavar="FILE", help="Where to write; - is standard output."),
]
OutputFormat = Annotated[
    TableFormat | None,
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
    reading: ReadingOptions,
    messages: MessageOptions,
    output: Output = STDOUT,
    format: OutputFormat = None,
    keep: Keep = None,
    force: Force = False,
) -> None:
    """Label the rows of a table with a model.

    Writes the columns [bold]leaf[/bold] and, if the leaves stand for clusters,
    [bold]cluster[/bold], one line per row and in the same order; rows with a missing value that a
    test asks for get neither. Only the columns that the tree tests need to be there. Texts of a CSV
    file that a spreadsheet would run as formulas get an apostrophe in front.
    """
    from spexplain.cli.read import opened, user_errors
    from spexplain.cli.terminal import Terminal
    from spexplain.cli.write import Outputs, format_of_output, write_batches

    if model == "-" and data == "-":
        usage_error("MODEL and DATA cannot both be standard input.")
    written = format_of_output(output, format)
    outputs = Outputs({"--output": output}, force=force, source=data)
    terminal = Terminal(quiet=messages.quiet, is_taken=outputs.use_stdout)
    tree = _read_model(model)
    with outputs, opened(data, reading) as file:
        kept = _kept(keep, file)
        with terminal.bar("Labelling", file.n_rows()) as advance, user_errors(file):
            labeller = _Labeller(file, tree, kept, advance)
            with outputs.target("--output") as target:
                write_batches(labeller.batches(), labeller.written, target, written)
    if labeller.n_missing:
        terminal.note(
            f"{labeller.n_missing:,} of {counted(labeller.n_rows, 'row')} got no label: a value that "
            "a test needs is missing."
        )
    if not outputs.use_stdout:
        terminal.say(f"Wrote {output}: {counted(labeller.n_rows, 'row')}")


def _read_model(path: str) -> "Explanation":
    """Read a model from JSON; refuse anything else in one sentence."""
    from spexplain.explanation import read_explanation
    from spexplain.export.serialize import MAX_CHARACTERS

    if path != "-" and Path(path).is_dir():
        raise UserError(f"{path} is a folder, not a model.")
    # One byte more than the longest model: what is longer is refused without being read.
    with nullcontext(sys.stdin.buffer) if path == "-" else Path(path).open("rb") as file:
        content = file.read(MAX_CHARACTERS + 1)
    try:
        return read_explanation(content)
    except ValueError as error:
        raise UserError(f"{path} is no model that explain --json wrote: {error}") from None


def _kept(keep: list[str] | None, file: "TableFile") -> list[str]:
    """Return the columns to copy."""
    from spexplain.cli.columns import named_columns

    if not keep:
        return []
    names = file.names()
    wanted = (
        names if keep == ["all"] and "all" not in names else named_columns(keep, names, "--keep")
    )
    clash = [name for name in wanted if name in ("leaf", "cluster")]
    if clash:
        raise UserError(f"--keep {listed(clash)} would hide a column of that name that is written.")
    return wanted


class _Labeller:
    """Labels a table batch by batch, and counts its rows.

    Parameters
    ----------
    file : TableFile
        The table.
    model : Explanation
        The tree and the clusters of its leaves.
    kept : list of str
        Columns to copy.
    advance : callable
        Told the number of rows of every batch.
    """

    def __init__(
        self,
        file: "TableFile",
        model: "Explanation",
        kept: list[str],
        advance: Callable[[int], None],
    ) -> None:
        import polars as pl

        from spexplain.cli.columns import number_column
        from spexplain.cli.write import leaf_clusters

        file.names()  # refuses a damaged header
        self.file, self.kept, self.advance = file, kept, advance
        self.n_rows = self.n_missing = 0
        names = [str(model.keys[column]) for column in model.used]
        self.schema = file.schema(set(names))
        found = [number_column(name, self.schema, file) for name in names]
        # Only the columns that are tested or copied are read.
        asked = {*kept, *(source for source, _ in found)}
        self.columns = [name for name in self.schema if name in asked]
        self.numbers = [number.alias(str(at)) for at, (_, number) in enumerate(found)]
        place = {column: at for at, column in enumerate(model.used)}
        feature = [place.get(int(each), -1) for each in model.tree.feature]
        self.tree = replace(
            model.tree, n_features=max(len(names), 1), feature=np.array(feature, dtype=np.int64)
        )
        self.clusters = None
        if model.leaf_reference is not None:
            self.clusters = leaf_clusters(model.leaf_labels("reference"))
        self.written = self._labelled(pl.DataFrame(schema=self.schema)).schema

    def batches(self) -> Iterator["pl.DataFrame"]:
        """Yield the columns to write, some rows at a time."""
        for batch in self.file.batches(self.schema, self.columns):
            labelled = self._labelled(batch)
            self.n_rows += len(batch)
            self.n_missing += labelled["leaf"].null_count()
            self.advance(len(batch))
            yield labelled

    def _labelled(self, batch: "pl.DataFrame") -> "pl.DataFrame":
        """Return what is written of some rows: copied columns, leaf and cluster."""
        import polars as pl

        from spexplain.cli.columns import leaves_of_rows

        X = batch.select(self.numbers).to_numpy() if self.numbers else np.zeros((len(batch), 1))
        leaves = pl.DataFrame({"leaf": leaves_of_rows(self.tree, X)})
        leaves = leaves.select(pl.when(pl.col("leaf") >= 0).then(pl.col("leaf")))
        found = batch[self.kept].hstack(leaves) if self.kept else leaves
        if self.clusters is None:
            return found
        return found.hstack([self.clusters.gather(found["leaf"])])
