"""Labels of rows as a file, safe to open in a spreadsheet."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from spexplain.cli.errors import UserError
from spexplain.cli.files import STDOUT, Outputs
from spexplain.cli.options import OutputFormat
from spexplain.export.spreadsheets import FORMULA, disarmed

if TYPE_CHECKING:
    import polars as pl

    from spexplain.cli.columns import Table

_FORMATS: dict[str, OutputFormat] = {
    ".csv": "csv", ".tsv": "tsv", ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow",
    ".feather": "arrow", ".ipc": "arrow", ".jsonl": "jsonl", ".ndjson": "jsonl",
}  # fmt: skip


def format_of_output(path: Path, given: OutputFormat | None) -> OutputFormat:
    """Return the format to write; standard output gets CSV unless told otherwise."""
    if given is not None:
        return given
    if path == STDOUT or not path.suffix or (path.exists() and not path.is_file()):
        return "csv"
    if path.suffix.lower() not in _FORMATS:
        raise UserError(
            f"The name {path.name} does not say how to write labels; end it in {', '.join(_FORMATS)}."
        )
    return _FORMATS[path.suffix.lower()]


def label_columns(leaves: Any, leaf_reference: Any) -> dict[str, Any]:
    """Return the columns ``leaf`` and, if leaves stand for clusters, ``cluster``."""
    if leaf_reference is None:
        return {"leaf": leaves}
    return {"leaf": leaves, "cluster": np.asarray(leaf_reference)[leaves]}


def write_labels(outputs: Outputs, path: Path, estimator: Any, table: "Table") -> None:
    """Write leaf and cluster of every row of the file; rows that were left out get neither."""
    import polars as pl

    found = label_columns(estimator.labels_, getattr(estimator, "leaf_reference_", None))
    frame = pl.DataFrame({name: _series(name, values) for name, values in found.items()})
    if table.kept is not None:
        place = np.cumsum(table.kept) - 1
        index = pl.Series(np.where(table.kept, place, -1)).cast(pl.Int64)
        rows = pl.DataFrame({"at": index}).select(pl.when(pl.col("at") >= 0).then(pl.col("at")))
        frame = frame.select(pl.all().gather(rows.to_series()))
    with outputs.target("--output") as target:
        sink(frame.lazy(), target, format_of_output(path, None))


def _series(name: str, values: Any) -> "pl.Series":
    import polars as pl

    if values.dtype.kind in "US":
        # Labels repeat: every text is made once.
        texts, codes = np.unique(values, return_inverse=True)
        return pl.Series(name, texts.tolist(), dtype=pl.String).gather(codes)
    return pl.Series(name, values.tolist() if values.dtype.kind == "O" else values)


def sink(frame: "pl.LazyFrame", target: Path | BinaryIO, format: OutputFormat) -> None:
    """Write a table as it is computed, in constant memory."""
    if format in ("csv", "tsv"):
        separator = "\t" if format == "tsv" else ","
        without_formulas(frame).sink_csv(target, separator=separator, **_UNCHECKED)
    elif format == "jsonl":
        frame.sink_ndjson(target, **_UNCHECKED)
    elif format == "parquet":
        frame.sink_parquet(target)
    else:
        frame.sink_ipc(target)


_UNCHECKED: dict[str, Any] = {"check_extension": False}  # temporary files have names of their own


def without_formulas(frame: "pl.LazyFrame") -> "pl.LazyFrame":
    """Return the table with an apostrophe before texts that a spreadsheet would run as formulas.

    Texts that are numbers, such as -1.5, stay as they are; so do columns of numbers.
    """
    import polars as pl
    import polars.selectors as cs

    def safe(name: str) -> pl.Expr:
        text = cs.by_name(name).as_expr().cast(pl.String)
        is_number = text.cast(pl.Float64, strict=False).is_not_null()
        is_risky = text.str.contains(FORMULA) & ~is_number
        return pl.when(is_risky).then(pl.concat_str(pl.lit("'"), text)).otherwise(text).alias(name)

    schema = frame.collect_schema()
    texts = [
        name for name, dtype in schema.items() if dtype in (pl.String, pl.Categorical, pl.Enum)
    ]
    names = {name: disarmed(name) for name in schema.names()}
    return frame.with_columns(map(safe, texts)).rename(names)
