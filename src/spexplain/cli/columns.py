"""From the columns of a file to a table of numbers: what is left out, encoded or filled in is said."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spexplain.cli.errors import UserError, closest, counted, listed
from spexplain.cli.options import Columns
from spexplain.cli.terminal import Terminal

if TYPE_CHECKING:
    import polars as pl

_EXACT = 2**53  # whole numbers up to here are exact as floats


@dataclass(frozen=True)
class Table:
    """A table to explain.

    Parameters
    ----------
    X : polars.DataFrame of shape (n_kept, n_features)
        Floats, nothing missing.
    kept : array of bool, shape (n_rows,), or None
        The rows of the file that are in X; None means all.
    n_rows : int
        Rows of the file.
    left_out : list of str
        Columns of the file that are not in X.
    encoded : list of str
        Text columns that became several columns of X.
    """

    X: "pl.DataFrame"
    kept: np.ndarray[Any, np.dtype[np.bool_]] | None
    n_rows: int
    left_out: list[str]
    encoded: list[str]


def named_columns(given: list[str] | None, known: list[str], option: str) -> list[str]:
    """Return the columns of an option: names between commas, or one name that holds commas."""
    names: list[str] = []
    for each in given or []:
        parts = [each] if each in known else [part.strip() for part in each.split(",")]
        names += [part for part in parts if part]
    for name in names:
        if name not in known:
            raise UserError(f"{option}: there is no column {name}{closest(name, known)}")
    return list(dict.fromkeys(names))


def prepare(frame: "pl.DataFrame", options: Columns, terminal: Terminal) -> Table:
    """Return the columns of a file as numbers.

    Parameters
    ----------
    frame : polars.DataFrame
        Everything but the labels and the ignored columns.
    options : Columns
        What becomes of text and of missing values.
    terminal : Terminal
        Where it is said.
    """
    import polars.selectors as cs

    n_rows = len(frame)
    encoded: list[str] = []
    text = frame.select(cs.string() | cs.categorical() | cs.enum()).columns
    numbers = frame.select(cs.numeric() | cs.boolean()).columns
    if text and options.text == "error":
        raise UserError(
            f"Text in {counted(len(text), 'column')}: {listed(text)}; pass --text drop to leave them "
            "out, or --text onehot to encode them."
        )
    _say_what_is_left_out(frame, text, numbers, options, terminal)
    if text and options.text == "onehot":
        frame, encoded = _onehot(frame, text, options.max_categories, terminal)
        made = [name for name in frame.columns if name not in numbers]
        numbers += [name for name in made if "=" in name and frame[name].dtype.is_integer()]
    left_out = [name for name in frame.columns if name not in numbers]
    left_out += [name for name in text if name not in encoded and name not in left_out]
    if not numbers:
        raise UserError("The table has no column of numbers to explain clusters with.")
    table = _as_floats(frame[numbers], terminal)
    table, kept = _without_missing(table, options, terminal)
    return Table(table, kept, n_rows, left_out, encoded)


def _say_what_is_left_out(
    frame: "pl.DataFrame", text: list[str], numbers: list[str], options: Columns, terminal: Terminal
) -> None:
    if text and options.text == "drop":
        terminal.note(
            f"Left out {counted(len(text), 'text column')}: {listed(text)} (--text onehot encodes them)."
        )
    if text:
        _hint_at_numbers(frame[text], terminal)
    rest = frame.select(each for each in frame if each.name not in {*text, *numbers})
    dates = [name for name in rest.columns if rest[name].dtype.is_temporal()]
    empty = [name for name in rest.columns if rest[name].null_count() == len(rest)]
    others = [name for name in rest.columns if name not in dates + empty]
    for names, kind in ((dates, "date or time"), (empty, "empty"), (others, "nested")):
        if names:
            terminal.note(f"Left out {counted(len(names), f'{kind} column')}: {listed(names)}.")


def _hint_at_numbers(frame: "pl.DataFrame", terminal: Terminal) -> None:
    """Point out text columns that a few odd cells keep from being numbers."""
    import polars as pl

    for name in frame.columns:
        column = frame[name].drop_nulls().head(10_000).cast(pl.String)
        odd = column.filter(column.cast(pl.Float64, strict=False).is_null())
        if 0 < len(odd) <= len(column) // 2:
            terminal.note(
                f"Column {name} would be numbers but for cells such as {odd[0]!r}; if they mean "
                f"missing values, pass --null {odd[0]!r}."
            )


def _onehot(
    frame: "pl.DataFrame", text: list[str], max_categories: int, terminal: Terminal
) -> tuple["pl.DataFrame", list[str]]:
    """Return the table with 0/1 columns such as ``city=Rome`` in place of text columns."""
    import polars as pl

    encoded, crowded, expressions = [], [], []
    for name in text:
        values = frame[name].cast(pl.String).drop_nulls().unique().sort()
        if len(values) > max_categories:
            crowded.append(f"{name} ({len(values):,})")
            continue
        encoded.append(name)
        expressions += [
            # A missing text belongs to no category.
            (pl.col(name).cast(pl.String) == value)
            .fill_null(False)
            .cast(pl.Int8)
            .alias(f"{name}={value}")
            for value in values
        ]
    if crowded:
        terminal.note(
            f"Left out {counted(len(crowded), 'text column')} of more than {max_categories} different "
            f"values: {listed(crowded)} (--max-categories changes the limit)."
        )
    if encoded:
        terminal.note(
            f"Encoded {counted(len(encoded), 'text column')} as "
            f"{counted(len(expressions), '0/1 column')}: {listed(encoded)}."
        )
    clash = [each.meta.output_name() for each in expressions]
    clash = [name for name in clash if name in frame.columns]
    if clash:
        raise UserError(
            f"--text onehot would make a second column {listed(clash)}; rename the column."
        )
    return frame.with_columns(expressions).drop(text), encoded


def _as_floats(frame: "pl.DataFrame", terminal: Terminal) -> "pl.DataFrame":
    """Return float32 if all columns are, else float64; say where whole numbers lose digits."""
    import polars as pl

    huge = [
        name
        for name, dtype in frame.schema.items()
        if dtype.is_integer()
        and dtype not in (pl.Int8, pl.Int16, pl.Int32, pl.UInt8, pl.UInt16, pl.UInt32)
        and _largest(frame[name]) > _EXACT
    ]
    if huge:
        terminal.note(
            f"Whole numbers beyond 2^53 in {listed(huge)} are rounded to floats; --ignore leaves such "
            "columns out if they are identifiers."
        )
    if all(dtype == pl.Float32 for dtype in frame.dtypes):
        return frame
    return frame.cast(pl.Float64)


def _largest(column: "pl.Series") -> int:
    """Return the largest absolute value of whole numbers."""
    ends: list[Any] = [column.min(), column.max()]
    return max(abs(int(end or 0)) for end in ends)


def _without_missing(
    table: "pl.DataFrame", options: Columns, terminal: Terminal
) -> tuple["pl.DataFrame", np.ndarray[Any, np.dtype[np.bool_]] | None]:
    """Return the table without missing or infinite values, and the rows that remain."""
    import polars as pl

    sums = table.select(pl.all().sum()).row(0)
    if not sum(table.null_count().row(0)) and all(np.isfinite(sums)):
        return table, None
    known = pl.all().is_not_null() & pl.all().is_finite()
    counts = table.select((~known).fill_null(True).sum()).row(0, named=True)
    counts = {name: count for name, count in counts.items() if count}
    if not counts:
        return table, None
    told = listed(f"{name} ({counted(count, 'row')})" for name, count in counts.items())
    if options.missing == "error":
        raise UserError(
            f"Missing or infinite values in {counted(len(counts), 'column')}: {told}; pass --missing drop "
            "to leave these rows out, --missing mean to fill in means, or --ignore to leave out columns."
        )
    void = [name for name, count in counts.items() if count == len(table)]
    if void:
        raise UserError(
            f"Every value is missing in {listed(void)}; leave out such columns by --ignore."
        )
    if options.missing == "mean":
        terminal.note(f"Filled in column means for missing values in {told}.")
        clean = pl.when(known).then(pl.all())
        return table.select(clean.fill_null(clean.mean())), None
    kept = table.select(pl.all_horizontal(known)).to_series().fill_null(False).to_numpy()
    n_left = len(kept) - int(kept.sum())
    if n_left == len(kept):
        raise UserError(f"Every row has a missing value, in {told}; --missing mean may do.")
    terminal.note(
        f"Left out {n_left:,} of {counted(len(kept), 'row')} with missing values, in {told}; they get no label."
    )
    return table.filter(pl.Series(kept)), kept
