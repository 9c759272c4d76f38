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
from spexplain.messages import closest, counted, listed

if TYPE_CHECKING:
    import polars as pl

    from spexplain.aliases import Floats
    from spexplain.cli.read import TableFile
    from spexplain.explanation import Explanation
    from spexplain.tree import Column

_MOST_LISTED = 6  # values that a note names

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
    [bold]cluster[/bold], one line per row and in the same order. Only the columns that the tree
    tests need to be there, in any order; a value that training did not have counts as missing. Texts
    of a CSV file that a spreadsheet would run as formulas get an apostrophe in front.
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
    for sentence in labeller.notes():
        terminal.note(sentence)
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
    """Labels a table batch by batch, and counts its rows and the values that the model does not know.

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

        from spexplain.cli.write import leaf_clusters

        file.names()  # refuses a damaged header
        self.file, self.kept, self.advance = file, kept, advance
        self.n_rows = 0
        self.tested = [model.fields[column] for column in model.used]
        self.schema = file.schema({column.name for column in self.tested})
        self.sources = _sources(self.tested, self.schema, file)
        # Only the columns that are tested or copied are read.
        asked = {*kept, *self.sources}
        self.columns = [name for name in self.schema if name in asked]
        place = {column: at for at, column in enumerate(model.used)}
        feature = [place.get(int(each), -1) for each in model.tree.feature]
        self.tree = replace(
            model.tree,
            n_features=max(len(self.tested), 1),
            feature=np.array(feature, dtype=np.int64),
        )
        self.clusters = None
        if model.leaf_reference is not None:
            self.clusters = leaf_clusters(model.leaf_labels("reference"))
        self.written = self._labelled(pl.DataFrame(schema=self.schema)).schema
        self.n_missing = dict.fromkeys(self.sources, 0)
        self.n_unknown = dict.fromkeys(self.sources, 0)
        self.unknown: dict[str, dict[str, None]] = {name: {} for name in self.sources}

    def batches(self) -> Iterator["pl.DataFrame"]:
        """Yield the columns to write, some rows at a time."""
        for batch in self.file.batches(self.schema, self.columns):
            labelled = self._labelled(batch)
            self.n_rows += len(batch)
            self.advance(len(batch))
            yield labelled

    def notes(self) -> Iterator[str]:
        """Give what a user should know about values that the training rows did not have."""
        for name, column in zip(self.sources, self.tested, strict=True):
            if self.n_unknown[name]:
                what = "never seen in training" if column.kind == "category" else _odd(column)
                yield (
                    f"{counted(self.n_unknown[name], 'row')} with a value of {name} {what}: "
                    f"{listed(self.unknown[name])}; it counts as missing."
                )
            if self.n_missing[name] and not column.has_missing:
                lack = "lacks" if self.n_missing[name] == 1 else "lack"
                yield (
                    f"{counted(self.n_missing[name], 'row')} {lack} a value of {name}, as no training row did; the "
                    "larger side of each test takes such rows."
                )

    def _labelled(self, batch: "pl.DataFrame") -> "pl.DataFrame":
        """Return what is written of some rows: copied columns, leaf and cluster."""
        import polars as pl

        X = np.zeros((len(batch), max(len(self.tested), 1)))
        for place, (name, column) in enumerate(zip(self.sources, self.tested, strict=True)):
            X[:, place] = self._values(batch.get_column(name).alias(""), name, column)
        leaves = pl.DataFrame({"leaf": self.tree.apply(X)})
        found = batch[self.kept].hstack(leaves) if self.kept else leaves
        if self.clusters is None:
            return found
        return found.hstack([self.clusters.gather(found["leaf"])])

    def _values(self, cells: "pl.Series", name: str, column: "Column") -> "Floats":
        """Return a tested column as numbers; count what is missing or unknown."""
        import polars as pl

        from spexplain.cli import columns

        if cells.dtype.is_float():
            cells = cells.fill_nan(None)
        values = columns.cell_values(cells, column, self.file)
        if len(cells):
            is_known = pl.Series(~np.isnan(values)) | cells.is_null()
            self.n_missing[name] += cells.null_count()
            self.n_unknown[name] += len(cells) - int(is_known.sum())
            if len(self.unknown[name]) < _MOST_LISTED:
                odd = cells.filter(~is_known).unique(maintain_order=True).cast(pl.String)
                self.unknown[name] |= dict.fromkeys(odd.head(_MOST_LISTED).to_list())
        return values


def _sources(tested: list["Column"], schema: "pl.Schema", file: "TableFile") -> list[str]:
    """Return the columns of a file that a model tests; refuse a file that lacks some."""
    from spexplain.cli.columns import source_column

    found = {column.name: source_column(column, schema) for column in tested}
    absent = [name for name, source in found.items() if source is None]
    if absent:
        noun = "column" if len(absent) == 1 else "columns"
        end = closest(absent[0], schema)
        raise UserError(
            f"{file.name} has no {noun} {listed(absent)}, which the model tests{end}", status=2
        )
    return [str(source) for source in found.values()]


def _odd(column: "Column") -> str:
    """Return what is wrong with a value that could not be read."""
    noun = {"date": "date", "duration": "time", "boolean": "yes or no"}.get(column.kind, "number")
    return f"that is no {noun}" if noun != "yes or no" else "that is neither yes nor no"
