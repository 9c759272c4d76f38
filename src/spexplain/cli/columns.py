"""From the columns of a file to numbers and labels, for `explain` and `predict` alike.

Estimators take numbers only. What becomes of other columns is decided here and nowhere else: text is
left out or encoded as 0/1 columns named ``column=value``, which `predict` finds again; missing values
are refused, left out or filled in by `explain`, and end the way of a row in `predict`.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spexplain.aliases import Array, Bools
from spexplain.cli.errors import UserError
from spexplain.cli.options import ClusteringOptions, ColumnOptions
from spexplain.cli.read import TableFile, is_number
from spexplain.cli.terminal import Terminal
from spexplain.export.spreadsheets import disarmed
from spexplain.messages import closest, counted, listed

if TYPE_CHECKING:
    import polars as pl

    from spexplain.aliases import Ints, Matrix
    from spexplain.tree import Tree

_EXACT = 2**53  # whole numbers up to here are exact as floats
_MANY_LABELS = 50


@dataclass(frozen=True)
class InputTable:
    """A table to explain, and its clusters if the file has them.

    Parameters
    ----------
    X : polars.DataFrame of shape (n_kept, n_features)
        Floats, nothing missing.
    labels : array of shape (n_kept,) or None
        Clusters of the rows, if the file has them.
    n_labels, n_clusters : int or None
        Number of different labels, and of those that are clusters: ignored noise is none.
    features : list of str or None
        Columns that the tree may test; None means all.
    kept : array of bool, shape (n_rows,), or None
        The rows of the file that are in X; None means all.
    n_rows : int
        Rows of the file.
    left_out : list of str
        Columns of the file that are not in X.
    encoded : dict of str to list of str
        The 0/1 columns of X that every encoded text column became.
    """

    X: "pl.DataFrame"
    labels: Array | None
    n_labels: int | None
    n_clusters: int | None
    features: list[str] | None
    kept: Bools | None
    n_rows: int
    left_out: list[str]
    encoded: dict[str, list[str]]


def read_table(
    file: TableFile, columns: ColumnOptions, clustering: ClusteringOptions, terminal: Terminal
) -> InputTable:
    """Read a file: numbers, clusters, and the columns that tests may use.

    Parameters
    ----------
    file : TableFile
        What is read.
    columns : ColumnOptions
        Which columns are taken, and what becomes of text and of missing values.
    clustering : ClusteringOptions
        Which column holds the clusters.
    terminal : Terminal
        Told what is left out, encoded or filled in.

    Returns
    -------
    table : InputTable
    """
    import polars as pl

    with terminal.stage(f"Reading {file.name}"):
        names = file.names()
        ignored = named_columns(columns.ignore, names, "--ignore")
        label = clustering.labels
        if label is not None and label not in names:
            raise UserError(f"{file.name} has no column {label}{closest(label, names)}")
        frame = file.read([name for name in names if name == label or name not in ignored])
    if not len(frame):
        raise UserError(f"{file.name} has column names but no rows.")
    _note_missing_header(file, names, terminal)
    given = None if label is None else _nameless(frame, label)
    distinct = None if given is None else _distinct_labels(given, str(label))
    values = frame[[name for name in frame.columns if name != label or name in ignored]]
    wanted = named_columns(columns.features, values.columns, "--features")
    numbers, encoded, left_out = _as_numbers(values, columns, terminal)
    X, kept = _without_missing(_as_floats(numbers, terminal), columns, terminal)
    labels, n_labels, n_clusters = None, None, None
    if given is not None and distinct is not None:
        if kept is not None:
            given = given.filter(pl.Series(kept))
            distinct = given.unique()
        labels = _label_array(given, distinct)
        n_labels = len(distinct)
        n_clusters = n_labels - _note_noise(labels, clustering, terminal)
    features = _testable(wanted, X.columns, encoded)
    return InputTable(
        X, labels, n_labels, n_clusters, features, kept, len(frame), left_out, encoded
    )


def _note_missing_header(file: TableFile, names: list[str], terminal: Terminal) -> None:
    if file.is_text and not file.reading.no_header:
        n_numbers = sum(map(is_number, names))
        if 2 * n_numbers > len(names):
            terminal.note(
                f"{n_numbers} of {counted(len(names), 'column name')} are numbers; if the first line is "
                "a row, pass --no-header."
            )


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


def _testable(
    wanted: list[str], have: list[str], encoded: dict[str, list[str]]
) -> list[str] | None:
    """Return the columns that --features named, those of encoded text among them."""
    if not wanted:
        return None
    lost = [name for name in wanted if name not in have and name not in encoded]
    if lost:
        raise UserError(
            f"--features names {listed(lost)}, which holds no numbers and was left out."
        )
    asked = {*wanted}.union(*(encoded.get(name, ()) for name in wanted))
    return [name for name in have if name in asked]


def _nameless(frame: "pl.DataFrame", name: str) -> "pl.Series":
    """Return a column without its name: methods of polars look for patterns such as ^a.*$ in names."""
    return frame.get_column(name).alias("")


def _distinct_labels(series: "pl.Series", name: str) -> "pl.Series":
    """Return the different labels; refuse labels that are missing, all equal, or hardly ever equal."""
    n_missing = series.null_count()
    if series.dtype.is_float():
        n_missing += int(series.is_nan().sum())
    if n_missing:
        raise UserError(
            f"The label column {name} is empty in {counted(n_missing, 'row')}; fill these in or remove the rows."
        )
    distinct = series.unique()
    if len(distinct) < 2:
        raise UserError(
            f"The label column {name} has one value only, so there is nothing to tell apart."
        )
    if len(distinct) > max(_MANY_LABELS, len(series) // 2):
        raise UserError(
            f"The label column {name} has {len(distinct):,} different values in {len(series):,} rows; "
            "it does not look like clusters."
        )
    return distinct


def _label_array(series: "pl.Series", distinct: "pl.Series") -> Array:
    """Return labels as an array of numbers, booleans or text."""
    import polars as pl

    is_plain = series.dtype.is_integer() or series.dtype.is_float() or series.dtype == pl.Boolean
    if is_plain and series.dtype not in (pl.Int128, pl.UInt64):
        return series.to_numpy()
    # Labels repeat: every text is made once. Fixed-width text sorts faster than Python objects do.
    texts = distinct.cast(pl.String)
    codes = series.cast(pl.String).cast(pl.Enum(texts)).to_physical()
    labels: Array = texts.to_numpy().astype(str)[codes.to_numpy()]
    return labels


def _note_noise(labels: Array, clustering: ClusteringOptions, terminal: Terminal) -> int:
    """Say how many rows are noise; return how many of the different labels mean noise, 1 or 0."""
    from spexplain.table.reference import NOISE

    if labels.dtype.kind != "i" or clustering.noise == "cluster":
        return 0
    n_rows = int(np.count_nonzero(labels == NOISE))
    if n_rows:
        terminal.note(
            f"{counted(n_rows, 'row')} with the label -1 count as noise, rows of no cluster "
            "(--noise cluster changes that)."
        )
    return int(n_rows > 0)


def _as_numbers(
    frame: "pl.DataFrame", options: ColumnOptions, terminal: Terminal
) -> tuple["pl.DataFrame", dict[str, list[str]], list[str]]:
    """Return the columns that are numbers, what text columns became, and the columns left out."""
    import polars.selectors as cs

    text = frame.select(cs.string() | cs.categorical() | cs.enum()).columns
    numbers = frame.select(cs.numeric() | cs.boolean()).columns
    if text and options.text == "error":
        raise UserError(
            f"Text in {counted(len(text), 'column')}: {listed(text)}; pass --text drop to leave them "
            "out, or --text onehot to encode them."
        )
    _note_left_out(frame, text, numbers, options, terminal)
    encoded: dict[str, list[str]] = {}
    if text and options.text == "onehot":
        frame, encoded = _encode_text(frame, text, options.max_categories, terminal)
    numbers += [name for made in encoded.values() for name in made]
    left_out = [name for name in frame.columns if name not in numbers]
    left_out += [name for name in text if name not in encoded and name not in left_out]
    if not numbers:
        raise UserError("The table has no column of numbers to explain clusters with.")
    return frame[numbers], encoded, left_out


def _note_left_out(
    frame: "pl.DataFrame",
    text: list[str],
    numbers: list[str],
    options: ColumnOptions,
    terminal: Terminal,
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
        column = _nameless(frame, name).drop_nulls().head(10_000).cast(pl.String)
        odd = column.filter(column.cast(pl.Float64, strict=False).is_null())
        if 0 < len(odd) <= len(column) // 2:
            terminal.note(
                f"Column {name} would be numbers but for cells such as {odd[0]!r}; if they mean "
                f"missing values, pass --null {odd[0]!r}."
            )


def _encode_text(
    frame: "pl.DataFrame", text: list[str], max_categories: int, terminal: Terminal
) -> tuple["pl.DataFrame", dict[str, list[str]]]:
    """Return the table with 0/1 columns such as ``city=Rome`` in place of text, and which became which."""
    import polars as pl

    encoded: dict[str, list[str]] = {}
    crowded: list[str] = []
    made: list[pl.Series] = []
    for name in text:
        cells = _nameless(frame, name).cast(pl.String)
        values = cells.drop_nulls().unique().sort()
        if len(values) > max_categories:
            crowded.append(f"{name} ({len(values):,})")
            continue
        # A missing text belongs to no category.
        columns = [
            (cells == value).fill_null(False).cast(pl.Int8).alias(f"{name}={value}")
            for value in values
        ]
        encoded[name] = [column.name for column in columns]
        made += columns
    if crowded:
        terminal.note(
            f"Left out {counted(len(crowded), 'text column')} of more than {max_categories} different "
            f"values: {listed(crowded)} (--max-categories changes the limit)."
        )
    if encoded:
        terminal.note(
            f"Encoded {counted(len(encoded), 'text column')} as "
            f"{counted(len(made), '0/1 column')}: {listed(encoded)}."
        )
    names = [*frame.columns, *(column.name for column in made)]
    clash = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if clash:
        raise UserError(
            f"--text onehot would make a second column {listed(clash)}; rename the column."
        )
    frame = frame.hstack(made)
    return frame[[name for name in frame.columns if name not in text]], encoded


def number_column(name: str, schema: "pl.Schema", file: TableFile) -> tuple[str, "pl.Expr"]:
    """Return how `predict` gets a column of a model from a file.

    Parameters
    ----------
    name : str
        The column that the model tests.
    schema : polars.Schema
        Columns of the file.
    file : TableFile
        Where they come from.

    Returns
    -------
    source : str
        The column of the file that is read.
    expression : polars.Expr
        Its values as floats, missing ones as NaN; of encoded text, whether it is the value.
    """
    import polars as pl
    import polars.selectors as cs

    if name not in schema and disarmed(name) in schema:  # a CSV file that was written here
        name = disarmed(name)
    if name in schema:
        # By exact name: to `pl.col`, a name such as ^a.*$ is a pattern.
        column = cs.by_name(name).as_expr()
        if schema[name] == pl.String:
            text = column.str.strip_chars()
            if file.reading.decimal_comma:
                text = text.str.replace(",", ".", literal=True)
            truth = text.replace_strict({"true": 1.0, "false": 0.0}, default=None)
            column = pl.coalesce(text.cast(pl.Float64, strict=False), truth)
        return name, column.cast(pl.Float64).fill_null(float("nan"))
    for at in (place for place, sign in enumerate(name) if sign == "="):
        source, value = name[:at], name[at + 1 :]
        if source in schema:  # a text column that `explain` encoded
            text = cs.by_name(source).as_expr().cast(pl.String)
            is_value = text.is_in([value, disarmed(value)]).fill_null(False)
            return source, is_value.cast(pl.Float64)
    raise UserError(
        f"{file.name} has no column {name}, which the model tests{closest(name, schema)}"
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
    table: "pl.DataFrame", options: ColumnOptions, terminal: Terminal
) -> tuple["pl.DataFrame", Bools | None]:
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
