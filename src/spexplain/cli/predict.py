"""``spexplain predict``: label the rows of a table with a model from JSON, a block at a time."""

import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spexplain.cli.errors import UserError, usage_error
from spexplain.cli.options import (
    STDOUT,
    Data,
    Force,
    LimitOptions,
    MessageOptions,
    ReadingOptions,
)
from spexplain.files import TableFormat
from spexplain.messages import counted, listed

if TYPE_CHECKING:
    import polars as pl

    from spexplain.cli.read import TableFile
    from spexplain.cli.scoring import ScoredFile
    from spexplain.cli.terminal import Terminal
    from spexplain.explanation import Explanation
    from spexplain.explanation.rule_set import RuleSet

ModelFile = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        show_default=False,
        help="The file that explain --json or segment --json wrote.",
    ),
]
Output = Annotated[
    Path,
    typer.Option("--output", "-o", metavar="FILE", help="Where to write; - is standard output."),
]
OutputFormat = Annotated[
    TableFormat | None,
    typer.Option("--format", help="Format of the output, where its name does not say it."),
]
MaxUnscored = Annotated[
    str,
    typer.Option(
        "--max-unscored",
        metavar="N|SHARE",
        help="How many rows, or which share, may be written without a label because a tested value cannot be read.",
    ),
]
WithCheck = Annotated[
    bool,
    typer.Option(
        "--check", help="Compare the rows with those of training; write nothing if the check fails."
    ),
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
    max_unscored: MaxUnscored = "0",
    check: WithCheck = False,
    limits: LimitOptions = LimitOptions(),  # noqa: B008
    force: Force = False,
) -> None:
    """Label the rows of a table with a model.

    Writes the columns [bold]leaf[/bold] and, if the leaves stand for clusters,
    [bold]cluster[/bold], one line per row and in the same order. For rules that segment wrote, only
    [bold]cluster[/bold] is written; it is empty where no rule holds. Only the columns that the model
    tests need to be there, in any order; a category that no training row had counts as missing. A row
    with another value that cannot be read has no label, and is an error unless --max-unscored allows for
    it: then the column [bold]reason[/bold] says why. Texts of a CSV file that a spreadsheet would run as
    formulas get an apostrophe in front.
    """
    from spexplain.cli.check import CHECK_FAILED, show_check
    from spexplain.cli.read import opened, user_errors
    from spexplain.cli.scoring import ScoredFile
    from spexplain.cli.terminal import Terminal
    from spexplain.cli.write import Outputs, format_of_output, write_batches
    from spexplain.explanation.check import compared

    if model == "-" and data == "-":
        usage_error("MODEL and DATA cannot both be standard input.")
    written = format_of_output(output, format)
    most = _most_unscored(max_unscored)
    bounds = limits.checked()
    outputs = Outputs({"--output": output}, force=force, source=data)
    terminal = Terminal(quiet=messages.quiet, is_taken=outputs.use_stdout)
    tree = read_checked(model) if check else read_any(model)
    with outputs, opened(data, reading) as file:
        for note in file.notes:
            terminal.note(note)
        kept = _kept(keep, file, with_reasons=most > 0)
        with terminal.bar("Labelling", file.n_rows()) as advance, user_errors(file):
            scored = ScoredFile(file, tree, watches_all=check)
            labeller = _Labeller(
                scored, tree, kept, advance, with_reasons=most > 0, with_check=check
            )
            with outputs.target("--output") as target:
                name = "standard output" if outputs.use_stdout else str(output)
                write_batches(labeller.batches(), labeller.written, target, written, name)
        _judge_unscored(scored, labeller.n_rows, most, max_unscored, terminal)
        if labeller.tally is not None:
            found = compared(tree, labeller.tally, scored.plan, bounds)
            show_check(found, terminal, is_beside=True)
            if not found.passed:
                end = "" if outputs.use_stdout else "; nothing was written"
                raise UserError(f"The check failed{end}.", status=CHECK_FAILED)
    for sentence in scored.notes():
        terminal.note(sentence)
    if not outputs.use_stdout:
        terminal.say(f"Wrote {output}: {counted(labeller.n_rows, 'row')}")


def _most_unscored(text: str) -> float:
    """Return how many rows may have no label: a number of rows, or a share below one."""
    try:
        most = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        most = -1.0
    is_share = text.endswith("%")
    if is_share and most == 1.0:
        return inf
    if not 0 <= most < inf or (most >= 1 and (is_share or most != int(most))):
        usage_error(
            f"--max-unscored must be a number of rows, or a share such as 0.01 or 1%, not {text}."
        )
    return most


def _judge_unscored(
    scored: "ScoredFile", n_rows: int, most: float, given: str, terminal: "Terminal"
) -> None:
    """Say which rows have no label; fail if there are too many."""
    if not scored.n_unscored:
        return
    text = scored.unscored_text()
    if scored.n_unscored <= (most * n_rows if most < 1 else most):
        terminal.note(f"{text}.")
        return
    cure = f"--max-unscored {given} allows for no more"
    if most == 0:
        cure = f"--max-unscored {scored.n_unscored} writes such rows with an empty label and the reason"
    raise UserError(f"{text}; {cure}.")


def read_checked(path: str) -> "Explanation | RuleSet":
    """Read a model with which new rows can be compared."""
    from spexplain.explanation.check import check_profile

    model = read_any(path)
    try:
        check_profile(model)
    except ValueError as error:
        raise UserError(f"{path}: {error}") from None
    return model


def read_any(path: str) -> "Explanation | RuleSet":
    """Read a tree or rules per cluster from JSON; refuse anything else in one sentence."""
    from spexplain.explanation import from_json
    from spexplain.export.serialize import MAX_CHARACTERS

    if path != "-" and Path(path).is_dir():
        raise UserError(f"{path} is a folder, not a model.")
    # One byte more than the longest model: what is longer is refused without being read.
    with nullcontext(sys.stdin.buffer) if path == "-" else Path(path).open("rb") as file:
        content = file.read(MAX_CHARACTERS + 1)
    try:
        return from_json(content).explanation_
    except ValueError as error:
        raise UserError(
            f"{path} is not a model that explain --json or segment --json wrote: {error}"
        ) from None


def _kept(keep: list[str] | None, file: "TableFile", *, with_reasons: bool) -> list[str]:
    """Return the columns to copy."""
    from spexplain.cli.columns import named_columns

    if not keep:
        return []
    names = file.names()
    wanted = (
        names if keep == ["all"] and "all" not in names else named_columns(keep, names, "--keep")
    )
    taken = ("leaf", "cluster", "reason") if with_reasons else ("leaf", "cluster")
    clash = [name for name in wanted if name in taken]
    if clash:
        raise UserError(f"--keep {listed(clash)} would hide a column of that name that is written.")
    return wanted


class _Labeller:
    """Labels a table batch by batch.

    Parameters
    ----------
    scored : ScoredFile
        The table, and the model's columns in it.
    model : Explanation or RuleSet
        The tree and the clusters of its leaves, or the rules.
    kept : list of str
        Columns to copy.
    advance : callable
        Told the number of rows of every batch.
    with_reasons : bool
        Whether a column says why rows have no label.
    with_check : bool
        Whether rows are counted, to be compared with those of training.
    """

    def __init__(
        self,
        scored: "ScoredFile",
        model: "Explanation | RuleSet",
        kept: list[str],
        advance: Callable[[int], None],
        *,
        with_reasons: bool,
        with_check: bool,
    ) -> None:
        import polars as pl

        from spexplain.cli.write import leaf_clusters
        from spexplain.explanation.rule_set import RuleSet

        self.scored, self.kept, self.advance = scored, kept, advance
        self.with_reasons, self.tally = with_reasons, scored.plan.empty() if with_check else None
        self.n_rows = 0
        # Only the columns that are tested or copied are read.
        asked = {*kept, *scored.needed}
        self.columns = [name for name in scored.schema if name in asked]
        self.clusters, self.has_leaves = None, not isinstance(model, RuleSet)
        if isinstance(model, RuleSet):
            clusters = leaf_clusters(model.classes)
            self.clusters = clusters.extend(pl.Series("cluster", [None], dtype=clusters.dtype))
        elif model.leaf_reference is not None:
            self.clusters = leaf_clusters(model.leaf_labels("reference"))
        self.written = self._labelled(pl.DataFrame(schema=scored.schema)).schema

    def batches(self) -> Iterator["pl.DataFrame"]:
        """Yield the columns to write, some rows at a time."""
        for batch in self.scored.file.batches(self.scored.schema, self.columns):
            labelled = self._labelled(batch)
            self.n_rows += len(batch)
            self.advance(len(batch))
            yield labelled

    def _labelled(self, batch: "pl.DataFrame") -> "pl.DataFrame":
        """Return what is written of some rows: copied columns, leaf, cluster and reason."""
        import polars as pl

        cells = self.scored.cells(batch)
        leaves, reasons = self.scored.leaves(cells, len(batch))
        if self.tally is not None and len(batch):
            part = self.scored.tally(cells, len(batch))
            self.tally.columns = {each: self.tally.columns[each] for each in part.columns}
            self.tally.merge(part)
        numbers = pl.Series("leaf", leaves)
        numbers = numbers.set(numbers < 0, None)
        found = batch[self.kept].hstack([numbers]) if self.kept else numbers.to_frame()
        if self.clusters is not None:
            found = found.hstack([self.clusters.gather(numbers)])
        if not self.has_leaves:
            found = found.drop("leaf")
        if self.with_reasons:
            found = found.hstack([pl.Series("reason", reasons, dtype=pl.String)])
        return found
