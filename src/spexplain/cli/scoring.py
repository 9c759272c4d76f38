"""Rows of a file as a model reads them: which leaf each reaches, and why some reach none."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from spexplain.cli.errors import UserError
from spexplain.explanation.check import Plan, count_cells, leaves_of_cells
from spexplain.explanation.rule_set import Decision
from spexplain.facts.tally import ColumnTally, Tally
from spexplain.messages import closest, counted, excerpt, listed
from spexplain.table.columns import Cells

if TYPE_CHECKING:
    import polars as pl

    from spexplain.aliases import Ints
    from spexplain.cli.read import TableFile
    from spexplain.explanation import Explanation
    from spexplain.explanation.rule_set import RuleSet
    from spexplain.tree import Column

_N_EXAMPLES = 3  # values that a sentence names
_EXACT = 2**53  # whole numbers up to here are exact as floats
_MAX_GUESSES = 20
_NOUNS = {"date": "not a date", "duration": "not a time", "boolean": "neither yes nor no"}


class ScoredFile:
    """A file, and the columns of a model in it.

    Parameters
    ----------
    file : TableFile
        The table.
    model : Explanation or RuleSet
        The tree or rules, the columns and what was seen of them.
    with_labels : bool
        Whether rows come with labels.
    needs_all : bool
        Whether a file that lacks a tested column is refused.
    watches_all : bool
        Whether columns that are remembered but not tested are read, too.
    """

    def __init__(
        self,
        file: "TableFile",
        model: "Explanation | RuleSet",
        *,
        with_labels: bool = False,
        needs_all: bool = True,
        watches_all: bool = False,
    ) -> None:
        from spexplain.cli.columns import source_column

        self.file, self.names = file, file.names()  # which refuses a damaged header
        self.plan = Plan.of(model, with_labels=with_labels)
        fields = model.fields
        self.schema = file.schema({fields[each].name for each in self.plan.tested})
        wanted = [number for number, _ in self.plan.watched] if watches_all else self.plan.tested
        sources = {number: source_column(fields[number], self.schema) for number in wanted}
        self.sources = {number: name for number, name in sources.items() if name is not None}
        self.columns: dict[int, Column] = {number: fields[number] for number in self.sources}
        absent = [fields[number].name for number in self.plan.tested if number not in self.sources]
        if absent and needs_all:
            noun = "column" if len(absent) == 1 else "columns"
            end = closest(absent[0], self.schema)
            raise UserError(
                f"{file.name} has no {noun} {listed(absent)}, which the model tests{end}"
            )
        known = {*(self.plan.names or ()), *self.sources.values()}
        self.extra = [name for name in self.names if name not in known]
        self.is_whole = not absent
        self.reasons: Counter[str] = Counter()  # rows by what keeps them from a leaf
        self.odd: dict[int, Counter[str]] = {number: Counter() for number in self.sources}
        self.n_missing: Counter[int] = Counter()
        self.n_odd: Counter[int] = Counter()
        self.rounded: dict[str, None] = {}  # columns whose numbers lose digits as floats

    @property
    def needed(self) -> list[str]:
        """The columns of the file that are read."""
        return list(self.sources.values())

    def cells(self, batch: "pl.DataFrame") -> dict[int, Cells]:
        """Return the columns of some rows, by their numbers in the model."""
        from spexplain.cli.columns import cells_of_file

        found = {}
        for number, name in self.sources.items():
            column = self.columns[number]
            cells = cells_of_file(batch.get_column(name).alias(""), column, self.file)
            found[number] = cells
            self.n_missing[number] += int(cells.is_missing.sum())
            self.n_odd[number] += int(np.isnan(cells.values).sum()) - int(cells.is_missing.sum())
            if len(self.odd[number]) < 1000:
                self.odd[number].update(cells.odd)
            if column.kind == "whole" and np.nanmax(np.abs(cells.values), initial=0) > _EXACT:
                self.rounded[name] = None
        return found

    def leaves(self, cells: dict[int, Cells], n_rows: int) -> "tuple[Ints, list[str | None]]":
        """Return the leaf of every row, -1 for none, and the first reason for each row without."""
        leaves = leaves_of_cells(cells, self.plan, n_rows)
        reasons = np.full(n_rows, None, dtype=object)
        for number in reversed(self.plan.tested):
            column, found = self.columns[number], cells[number]
            if column.kind != "category":
                reasons[np.isnan(found.values) & ~found.is_missing] = _unread(column)
            if not self.plan.allow_missing:
                reasons[found.is_missing] = f"{column.name} is missing"
        told = reasons.tolist()
        self.reasons.update(each for each in told if each is not None)
        return leaves, told

    def tally(self, cells: dict[int, Cells], n_rows: int, codes: "Ints | None" = None) -> Tally:
        """Return the counts of some rows."""
        return count_cells(cells, codes, self.plan, n_rows, self.extra)

    def guesses(self, batch: "pl.DataFrame") -> dict[tuple[str, str], ColumnTally]:
        """Return columns that the model does not know, read as if they were tested columns that are missing."""
        from spexplain.cli.columns import cells_of_file

        found = {}
        for number, watched in self.plan.watched:
            if number in self.sources or number not in self.plan.tested:
                continue
            for name in self.guessed:
                guess = ColumnTally.of(watched)
                cells = cells_of_file(batch.get_column(name).alias(""), watched.column, self.file)
                guess.add(cells.values, cells.is_missing, {}, cells.kind)
                found[watched.column.name, name] = guess
        return found

    @property
    def guessed(self) -> list[str]:
        """The columns that may be a tested column under another name."""
        return [] if self.is_whole else self.extra[:_MAX_GUESSES]

    @property
    def n_unscored(self) -> int:
        """Rows that reach no leaf."""
        return sum(self.reasons.values())

    def unscored_text(self) -> str:
        """Return how many rows reach no leaf and why, with the options that would read their values."""
        import polars as pl

        from spexplain.cli.number_formats import option_that_reads

        told = {
            reason: f"{reason} in {counted(count, 'row')}" for reason, count in self.reasons.items()
        }
        cures = []
        for number, column in self.columns.items():
            values = list(self.odd[number])
            if column.kind == "category" or not values:
                continue
            if (reason := _unread(column)) in told:
                told[reason] += (
                    f" ({listed((excerpt(repr(each)) for each in values), _N_EXAMPLES)})"
                )
            if column.kind in ("number", "whole", "flag"):
                option = option_that_reads(pl.Series(values), self.file.reading)
                cures += [f"{option} reads such numbers"] if option else []
        verb = "has" if self.n_unscored == 1 else "have"
        text = f"{counted(self.n_unscored, 'row')} {verb} no label: {', '.join(told.values())}"
        return "; ".join([text, *dict.fromkeys(cures)])

    def notes(self) -> Iterator[str]:
        """Give what a user should know about values that the training rows did not have."""
        profile = dict(self.plan.watched)
        for number, name in self.sources.items():
            column, seen = self.columns[number], profile[number].seen
            if column.kind == "category" and self.n_odd[number]:
                yield (
                    f"{counted(self.n_odd[number], 'row')} with a value of {name} never seen in training: "
                    f"{listed(map(excerpt, self.odd[number]))}; it counts as missing."
                )
            if self.n_missing[number] and not column.has_missing and self.plan.allow_missing:
                lack = "lacks" if self.n_missing[number] == 1 else "lack"
                fate = "the larger side of each test takes such rows"
                if isinstance(self.plan.tree, Decision):
                    fate = "conditions on it do not hold for such rows"
                rows = counted(self.n_missing[number], "row")
                yield f"{rows} {lack} a value of {name}, which every training row had; {fate}."
            if seen is not None and seen.numbers_rows:
                yield (
                    f"The tree tests {name}, which had a different value in every training row, like a row number; "
                    "what it says about new rows is chance."
                )
        if self.rounded:
            yield (
                f"Whole numbers beyond 2^53 in {listed(self.rounded)} are rounded to floats: neighbours count as "
                "equal."
            )


def label_codes(series: "pl.Series", classes: Sequence[Any]) -> "tuple[Ints, Counter[str]]":
    """Return the numbers of the clusters that labels of a file mean, -1 for others, and these others."""
    import polars as pl

    from spexplain.cli.columns import _plain_labels

    texts = _plain_labels(series).cast(pl.String)
    known: dict[str, int] = {}
    for code, label in enumerate(classes):
        text = str(label).lower() if isinstance(label, bool) else str(label)
        known.setdefault(text, code)
        if isinstance(label, float) and label.is_integer():
            known.setdefault(str(int(label)), code)
    codes = texts.replace_strict(known, default=-1, return_dtype=pl.Int64).fill_null(-1).to_numpy()
    others = texts.filter((pl.Series(codes) < 0) & texts.is_not_null() & (texts != "-1"))
    return codes, Counter(others.to_list())


def _unread(column: "Column") -> str:
    """Return the reason of a row whose value of a column cannot be read."""
    return f"{column.name} is {_NOUNS.get(column.kind, 'not a number')}"
