"""From the columns of a file to what estimators take, for `explain` and `predict` alike.

Text, booleans, dates and missing values stay what they are: estimators know them. What is decided here
is which columns a tree gets to see, what the labels are, and how the cells of text files are read.
"""

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from spexplain.aliases import Array, Bools, Floats
from spexplain.cli.errors import UserError
from spexplain.cli.number_formats import option_that_reads, read_numbers
from spexplain.cli.options import ClusteringOptions, ColumnOptions
from spexplain.cli.read import TableFile, is_number
from spexplain.cli.terminal import Terminal
from spexplain.export.spreadsheets import disarmed
from spexplain.messages import closest, counted, listed
from spexplain.table.columns import Cells, cells_of
from spexplain.table.reference import has_label_per_row, text_array
from spexplain.tree import Column

if TYPE_CHECKING:
    import polars as pl

    from spexplain.tree import Kind

_EXACT = 2**53  # whole numbers up to here are exact as floats
_NOISE = -1
# Dates as ISO 8601 writes them: other orders of day and month cannot be told apart.
_ISO_DATE = r"^\d{4}-\d{2}-\d{2}$"
_ISO_MOMENT = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?$"
_ISO_INSTANT = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})$"
_ISO_CLOCK = r"^\d{2}:\d{2}(:\d{2}(\.\d+)?)?$"
_TRUTHS = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0, "1": 1.0, "0": 0.0}


@dataclass(frozen=True)
class InputTable:
    """A table to explain, and its clusters and weights if the file has them.

    Parameters
    ----------
    X : polars.DataFrame of shape (n_rows, n_features)
        The columns as they are.
    labels : array of shape (n_rows,) or None
        Clusters of the rows, if the file has them.
    n_labels, n_clusters : int or None
        Number of different labels, and how many of them are clusters; ignored noise does not count.
    noise : object
        Which label marks noise, as the parameter of estimators.
    weights : array of float, shape (n_rows,), or None
        How many rows each row stands for.
    features : list of str or None
        Columns that the tree may test; None means all.
    missing : {"allow", "error"}
        How missing values are treated.
    left_out : list of str
        Columns of the file that are neither in X nor labels nor weights.
    row_ids : array of str, shape (n_rows,), or None
        What the rows are called.
    texts : list of str or None
        What the rows say, for reports.
    """

    X: "pl.DataFrame"
    labels: Array | None
    n_labels: int | None
    n_clusters: int | None
    noise: Any
    weights: Floats | None
    features: list[str] | None
    missing: Literal["allow", "error"]
    left_out: list[str]
    row_ids: Array | None = None
    texts: list[str] | None = None


def read_input_table(
    file: TableFile, columns: ColumnOptions, clustering: ClusteringOptions, terminal: Terminal
) -> InputTable:
    """Read a file: its columns, clusters and weights, and the columns that tests may use.

    Parameters
    ----------
    file : TableFile
        What is read.
    columns : ColumnOptions
        Which columns are taken, and whether values may be missing.
    clustering : ClusteringOptions
        Which column holds the clusters.
    terminal : Terminal
        Where notes about what is left out are printed.

    Returns
    -------
    table : InputTable
    """
    label, weight, row_id = clustering.labels, columns.weights, columns.id
    beside = (label, weight, row_id, columns.texts)
    with terminal.stage(f"Reading {file.name}"):
        names = file.names()
        ignored = named_columns(columns.ignore, names, "--ignore")
        for each in beside:
            if each is not None and each not in names:
                raise UserError(f"{file.name} has no column {each}{closest(each, names)}")
        frame = file.read([name for name in names if name in beside or name not in ignored])
    if not len(frame):
        raise UserError(f"{file.name} has column names but no rows.")
    for note in file.notes:
        terminal.note(note)
    _note_missing_header(file, names, terminal)
    if label is not None and clustering.noise == "cluster":
        frame = _with_a_label(frame, label, terminal)
    given = None if label is None else _labels(_nameless(frame, label), label, clustering, terminal)
    weights = None if weight is None else _weights(_nameless(frame, weight), weight)
    taken = [name for name in frame.columns if name not in beside]
    wanted = named_columns(columns.features, taken, "--features")
    kept = named_columns(columns.keep, taken, "--keep")
    if not taken:  # of no names, polars gives all columns without their rows
        raise UserError(f"{file.name} has no column to explain clusters with.")
    X = _usable(frame[taken], file, terminal)
    X = _without_suspects(X, given, wanted, kept, terminal)
    _check_values(X, columns.missing)
    lost = [name for name in (*wanted, *kept) if name not in X.columns]
    if lost:
        raise UserError(f"--features or --keep names {listed(lost)}, which was left out.")
    features = [name for name in X.columns if name in wanted] or None
    used = {*X.columns, label, weight}
    return InputTable(
        X,
        labels=None if given is None else given.values,
        n_labels=None if given is None else given.n_labels,
        n_clusters=None if given is None else given.n_clusters,
        noise=clustering.noise if given is None else given.noise,
        weights=weights,
        # An estimator that is given the columns does not look for ids again.
        features=X.columns if kept and features is None else features,
        missing=columns.missing,
        left_out=[name for name in names if name not in used],
        row_ids=None if row_id is None else _row_ids(_nameless(frame, row_id)),
        texts=None if columns.texts is None else _row_ids(_nameless(frame, columns.texts)).tolist(),
    )


def _with_a_label(frame: "pl.DataFrame", label: str, terminal: Terminal) -> "pl.DataFrame":
    """Return the rows that have a label; where noise is a cluster, the others would count as noise."""
    is_missing = _plain_labels(_nameless(frame, label)).is_null()
    if is_missing.any() and not is_missing.all():
        lack = counted(int(is_missing.sum()), "row")
        terminal.note(f"Left out {lack} without a label in {label}.")
        frame = frame.filter(~is_missing)
    return frame


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


def _row_ids(series: "pl.Series") -> Array:
    """Return what the rows are called, as texts."""
    import polars as pl

    texts = series.cast(pl.String).fill_null("missing")
    return np.array(texts.to_list(), dtype=object)


def _nameless(frame: "pl.DataFrame", name: str) -> "pl.Series":
    """Return a column without its name: methods of polars look for patterns such as ^a.*$ in names."""
    return frame.get_column(name).alias("")


@dataclass(frozen=True)
class _Labels:
    """Labels as estimators take them."""

    values: Array
    is_noise: Bools
    n_labels: int
    n_clusters: int
    noise: Any


def _labels(
    series: "pl.Series", name: str, clustering: ClusteringOptions, terminal: Terminal
) -> _Labels:
    """Return the labels; say which rows are noise; refuse what does not look like clusters."""
    import polars as pl

    if series.dtype.is_nested() or series.dtype in (pl.Binary, pl.Object):
        raise UserError(
            f"The label column {name} holds {_type_word(series.dtype)}; labels must be numbers, texts or booleans."
        )
    series, noise = _plain_labels(series), clustering.noise
    is_missing = series.is_null()
    is_noise = is_missing
    named: Any = noise
    if noise != "cluster":
        text = str(_NOISE) if noise == "ignore" else noise
        is_noise = is_missing | (series.cast(pl.String) == text).fill_null(False)
        if noise != "ignore" and is_noise.sum() == is_missing.sum():
            known = [str(each) for each in series.unique().drop_nulls().cast(pl.String)]
            raise UserError(f"--noise: no row has the label {noise}{closest(noise, known)}")
        if noise != "ignore":
            named = series.filter(is_noise & ~is_missing)[0]
        if is_missing.any():
            unnamed = str(_NOISE) if series.dtype == pl.String else _NOISE
            series = series.fill_null(unnamed if noise == "ignore" else named)
    clusters = series.filter(~is_noise).unique()
    if len(clusters) < 2:
        count = "only one cluster" if is_noise.any() else "only one value"
        if not len(clusters):
            count = "no labels" if is_missing.all() else "only noise"
        raise UserError(
            f"The label column {name} has {count}; an explanation needs at least two clusters."
        )
    if has_label_per_row(len(clusters), len(series)):
        raise UserError(
            f"The label column {name} has {len(clusters):,} different values in {len(series):,} rows, like row "
            "numbers or a measurement and unlike clusters; cut it into ranges, or take another column."
        )
    _note_noise(int(is_missing.sum()), int(is_noise.sum()), noise, terminal)
    n_clusters = len(clusters)
    return _Labels(
        _label_array(series),
        is_noise.to_numpy(),
        n_clusters + int(is_noise.any()),
        n_clusters,
        named,
    )


def _type_word(dtype: "pl.DataType") -> str:
    words = {"list": "lists", "array": "lists", "struct": "records", "binary": "bytes"}
    return words.get(type(dtype).__name__.lower(), "objects")


def _plain_labels(series: "pl.Series") -> "pl.Series":
    """Return labels as integers, floats or texts, empty ones as null."""
    import polars as pl

    if series.dtype.is_float():
        series = series.fill_nan(None)
        whole = series.cast(pl.Int64, strict=False)
        # Whole numbers become floats where a join leaves some rows without a label.
        if (whole.cast(series.dtype) == series).fill_null(True).all() and (
            whole.is_null() == series.is_null()
        ).all():
            return whole
        return series
    if series.dtype.is_integer() and series.dtype not in (pl.Int128, pl.UInt64):
        return series.cast(pl.Int64)
    if series.dtype == pl.Boolean and not series.null_count():
        return series
    texts = series.cast(pl.String)
    return _without_empty(texts)


def _label_array(series: "pl.Series") -> Array:
    """Return labels as an array of numbers, booleans or text."""
    import polars as pl

    if series.dtype != pl.String:
        return series.to_numpy()
    # Labels repeat: every text is made once. Fixed-width text sorts faster than Python objects do.
    texts = series.unique()
    codes = series.cast(pl.Enum(texts)).to_physical()
    labels: Array = text_array(texts)[codes.to_numpy()]
    return labels


def _note_noise(n_missing: int, n_noise: int, noise: str, terminal: Terminal) -> None:
    """Say how many rows are noise."""
    told = []
    if n_noise > n_missing:
        label = _NOISE if noise == "ignore" else noise
        told.append(f"{counted(n_noise - n_missing, 'row')} with the label {label}")
    if n_missing:
        told.append(f"{counted(n_missing, 'row')} without a label")
    if told:
        change = " (--noise cluster changes that)" if noise == "ignore" and not n_missing else ""
        terminal.note(f"{' and '.join(told)} count as noise, rows of no cluster{change}.")


def _weights(series: "pl.Series", name: str) -> Floats:
    """Return how many rows each row stands for."""
    import polars as pl

    if not (series.dtype.is_numeric() or series.dtype == pl.Boolean):
        raise UserError(f"--weights {name}: the column holds no numbers.")
    weights = series.cast(pl.Float64)
    n_bad = len(weights) - int(((weights >= 0) & weights.is_finite()).fill_null(False).sum())
    if n_bad:
        raise UserError(
            f"--weights {name}: weights must be numbers of at least 0, but {counted(n_bad, 'row')} have no "
            "such number."
        )
    return weights.to_numpy()


def _usable(frame: "pl.DataFrame", file: TableFile, terminal: Terminal) -> "pl.DataFrame":
    """Return the columns that a tree can test, dates of text files as dates; say what is left out."""
    import polars as pl

    made: list[pl.Series] = []
    left_out: dict[str, list[str]] = {"empty": [], "nested": []}
    huge: list[str] = []
    n_missing = frame.null_count().row(0)
    for given, n_empty in zip(frame.get_columns(), n_missing, strict=True):
        name, dtype = given.name, given.dtype
        if n_empty == len(given):
            left_out["empty"].append(name)
            continue
        if dtype.is_float():
            made.append(given)
            continue
        column = given.alias("")  # methods of polars look for patterns such as ^a.*$ in names
        if _is_huge(column):
            huge.append(name)
        if dtype.is_nested() or dtype in (pl.Binary, pl.Object):
            left_out["nested"].append(name)
            continue
        if dtype == pl.String:
            known = _without_empty(column) if file.is_text else column
            dates = iso_dates(known) if file.is_text or file.format == "jsonl" else None
            if dates is None:
                _hint_at_numbers(column, name, file, terminal)
            column = column if dates is None else dates
        elif dtype.is_decimal() or dtype in (pl.Int128, pl.UInt128):
            column = column.cast(pl.Float64)
        made.append(column.alias(name))
    for kind, names in left_out.items():
        if names:
            terminal.note(f"Left out {counted(len(names), f'{kind} column')}: {listed(names)}.")
    if not made:
        raise UserError(f"{file.name} has no column to explain clusters with.")
    _note_huge(huge, terminal)
    return pl.DataFrame(made)


def _without_empty(texts: "pl.Series") -> "pl.Series":
    """Return texts with nothing in place of empty ones, which some files write as quotes around nothing."""
    return texts.set((texts == "").fill_null(False), None)


def _is_huge(column: "pl.Series") -> bool:
    """Whether whole numbers lose digits as floats."""
    if not column.dtype.is_integer():
        return False
    ends: list[Any] = [column.min(), column.max()]
    return max(abs(int(end or 0)) for end in ends) > _EXACT


def _note_huge(names: list[str], terminal: Terminal) -> None:
    if names:
        terminal.note(
            f"Whole numbers beyond 2^53 in {listed(names)} are rounded to floats; --ignore leaves such "
            "columns out if they are identifiers."
        )


def _check_values(X: "pl.DataFrame", missing: str) -> None:
    """Refuse infinite values and, if asked to, missing ones."""
    import polars as pl

    floats = pl.col(pl.Float32, pl.Float64)
    infinite = _in_every(X.select(floats.is_infinite().sum()))
    if any(infinite.values()):
        raise UserError(
            f"Infinite values in {_counts_text(infinite)}; replace them, or leave out columns with --ignore."
        )
    empty = Counter(_in_every(X.null_count()))
    empty.update(_in_every(X.select(floats.is_nan().sum())))
    if missing == "error" and any(empty.values()):
        raise UserError(
            f"Missing values in {_counts_text(empty)}; drop --missing error to allow them."
        )


def _in_every(counts: "pl.DataFrame") -> dict[str, int]:
    """Return the counts of all columns by name."""
    return {name: count or 0 for name, count in zip(counts.columns, *counts.rows(), strict=True)}


def _counts_text(counts: dict[str, int]) -> str:
    return listed(f"{name} ({counted(count, 'row')})" for name, count in counts.items() if count)


def iso_dates(text: "pl.Series") -> "pl.Series | None":
    """Return texts as dates, moments or times of the day; None unless all of them are of one form.

    Examples
    --------
    >>> import polars as pl
    >>> from spexplain.cli.columns import iso_dates
    >>> iso_dates(pl.Series(["1997-05-26", None])).to_list()
    [datetime.date(1997, 5, 26), None]
    >>> iso_dates(pl.Series(["26.05.1997"])) is None
    True
    """
    first = text.drop_nulls().head(1)
    for pattern, read in (
        (_ISO_DATE, _dates),
        (_ISO_MOMENT, _moments),
        (_ISO_INSTANT, _instants),
        (_ISO_CLOCK, _clocks),
    ):
        if first.str.contains(pattern).any():
            found = read(text)
            return found if found.null_count() == text.null_count() else None
    return None


def _first_read(text: "pl.Series", dtype: Any, formats: tuple[str, ...]) -> "pl.Series":
    """Return texts in the first of some formats that each of them has, else null."""
    import polars as pl

    cells = pl.lit(text)
    found: pl.Series = pl.select(
        pl.coalesce(cells.str.strptime(dtype, format, strict=False) for format in formats)
    ).to_series()
    return found


def _dates(text: "pl.Series") -> "pl.Series":
    return text.str.to_date("%Y-%m-%d", strict=False)


def _moments(text: "pl.Series") -> "pl.Series":
    import polars as pl

    formats = ("%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M")
    whole = text.str.replace(" ", "T", literal=True).str.replace(_ISO_DATE, "${0}T00:00")
    return _first_read(whole, pl.Datetime("us"), formats)


def _instants(text: "pl.Series") -> "pl.Series":
    import polars as pl

    formats = ("%Y-%m-%dT%H:%M:%S%.f%z", "%Y-%m-%dT%H:%M%z")
    whole = text.str.replace(" ", "T", literal=True).str.replace("Z$", "+0000")
    return _first_read(whole, pl.Datetime("us", "UTC"), formats)


def _clocks(text: "pl.Series") -> "pl.Series":
    import polars as pl

    return _first_read(text, pl.Time, ("%H:%M:%S%.f", "%H:%M"))


def _hint_at_numbers(text: "pl.Series", name: str, file: TableFile, terminal: Terminal) -> None:
    """Point out text columns that are nearly numbers."""
    cells = text.drop_nulls().head(10_000)
    odd = cells.filter(read_numbers(cells, file.reading).is_null())
    if not len(odd):
        return
    option = option_that_reads(odd, file.reading)
    if option is not None:
        terminal.note(
            f"Column {name} is read as text, because of cells such as {odd[0]!r}; {option} reads them as numbers."
        )
    elif len(odd) <= len(cells) // 2:
        terminal.note(
            f"Column {name} would be numbers but for cells such as {odd[0]!r}; if they mean missing values, "
            f"pass --null {odd[0]!r}."
        )


def _without_suspects(
    X: "pl.DataFrame",
    labels: _Labels | None,
    wanted: list[str],
    kept: list[str],
    terminal: Terminal,
) -> "pl.DataFrame":
    """Return the columns without ids of rows and copies of the labels, which explain nothing; say so.

    The clustering does not use them either: it would follow the row numbers.
    """
    from spexplain.table.columns import encoded
    from spexplain.table.host import HostTable
    from spexplain.table.suspects import suspicious_columns

    if wanted and labels is not None:  # nothing but these columns is looked at
        return X
    names = [
        name for name in X.columns if name not in (*wanted, *kept) and not X[name].dtype.is_float()
    ]
    if not names:
        return X
    values, described = encoded(X[names])
    codes = None
    if labels is not None:
        codes = np.unique(labels.values, return_inverse=True)[1].astype(np.int64)
        codes[labels.is_noise] = _NOISE
    found = suspicious_columns(HostTable(values, tuple(names), described=described), codes)
    suspects = {names[place]: reason for place, reason in found.items()}
    if len(suspects) == X.shape[1]:  # nothing else would be left
        return X
    for name, reason in suspects.items():
        terminal.note(f"Left out the column {name}: {reason} (--keep brings it back).")
    return X[[name for name in X.columns if name not in suspects]]


def source_column(column: "Column", schema: "pl.Schema") -> str | None:
    """Return the name in the file of a column of the model; None if the file has no such column."""
    # A CSV file that was written here has an apostrophe before names that look like formulas.
    found = (name for name in (column.name, disarmed(column.name)) if name in schema)
    return next(found, None)


def cells_of_file(cells: "pl.Series", column: "Column", file: TableFile) -> Cells:
    """Return the cells of a file as a model reads them; what cannot be read is counted, not refused.

    Parameters
    ----------
    cells : polars.Series
        Some rows of a column, of any type; text files have only texts.
    column : Column
        What the model knows about it.
    file : TableFile
        Where the cells come from.
    """
    import polars as pl

    if cells.dtype.is_float():
        cells = cells.fill_nan(None)
    is_text = cells.dtype in (pl.String, pl.Categorical, pl.Enum)
    if column.kind == "category":
        values = _codes(cells.cast(pl.String), column)
    elif is_text:
        cells = cells.cast(pl.String).str.strip_chars().replace("", None)  # blanks are no values
        read = pl.DataFrame({"": _read_cells(cells, column, file)})
        values = cells_of(read, "", column).values
    else:
        return cells_of(pl.DataFrame({"": cells}), "", column)
    is_missing = cells.is_null().to_numpy()
    is_odd = np.isnan(values) & ~is_missing
    odd = {}
    if is_odd.any():
        texts = pl.DataFrame({"odd": cells.filter(pl.Series(is_odd)).cast(pl.String)})
        odd = dict(texts.group_by("odd", maintain_order=True).len().iter_rows())
    kind = None if file.is_text else "category" if is_text else cells_kind(cells.dtype)
    return Cells(values, is_missing, odd, kind)


def cells_kind(dtype: Any) -> "Kind":
    """Return what a column of a typed file holds."""
    return cells_of(_empty(dtype), "", Column("")).kind or "number"


def _empty(dtype: Any) -> "pl.DataFrame":
    import polars as pl

    return pl.DataFrame({"": pl.Series([], dtype=dtype)})


def _codes(texts: "pl.Series", column: "Column") -> Floats:
    """Return the codes of categories."""
    import polars as pl

    known: dict[str, int] = {}
    for code, value in enumerate(column.categories):
        text = str(value).lower() if isinstance(value, bool) else str(value)
        known.setdefault(text, code)
    for text, code in list(known.items()):  # as a CSV file has them that was written here
        known.setdefault(disarmed(text), code)
    codes = texts.replace_strict(known, default=None, return_dtype=pl.Float64)
    return codes.fill_null(float("nan")).to_numpy()


def _read_cells(text: "pl.Series", column: "Column", file: TableFile) -> "pl.Series":
    """Return texts as numbers, booleans, dates or times, those of another form as null."""
    import polars as pl

    if column.kind == "date":
        return _moments(text) if column.zone is None else _instants(text)
    if column.kind == "duration":
        return _clocks(text)
    truth = text.str.to_lowercase().replace_strict(_TRUTHS, default=None, return_dtype=pl.Float64)
    if column.kind == "boolean":
        return truth
    numbers = read_numbers(text, file.reading)
    return numbers.zip_with(numbers.is_not_null(), truth)
