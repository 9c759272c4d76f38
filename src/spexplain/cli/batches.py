"""A table batch by batch, in constant memory, and batches of results to a file.

A scan of polars feeding a Python function runs ahead of it without bound, so batches are cut here.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from spexplain.cli.labels import sink, without_formulas
from spexplain.cli.options import OutputFormat

if TYPE_CHECKING:
    import polars as pl

    from spexplain.cli.sources import Source

_N_ROWS = 1 << 18  # rows of a batch of a columnar file
_N_BYTES = 1 << 23  # bytes of a batch of a text file
_QUOTE, _NEWLINE = ord('"'), ord("\n")


def schema_of(source: "Source", numbers: set[str]) -> "pl.Schema":
    """Return names and types of the columns; cells of CSV files are text, `numbers` floats."""
    import polars as pl

    schema = source.scan(as_text=True).collect_schema()
    if source.format != "jsonl":
        return schema
    # A column whose first rows are whole may have fractions further down.
    return pl.Schema(
        {
            name: pl.Float64() if name in numbers and dtype.is_numeric() else dtype
            for name, dtype in schema.items()
        }
    )


def read_batches(
    source: "Source", schema: "pl.Schema", columns: list[str]
) -> Iterator["pl.DataFrame"]:
    """Give some columns of a table, some rows at a time."""
    import polars as pl
    import polars.selectors as cs

    if source.format in ("parquet", "arrow"):
        frame = source.scan()
        n_rows = int(frame.select(pl.len()).collect().item())
        # A table of none of its columns still has rows to label.
        wanted = frame.select(cs.by_name(*(columns or schema.names()[:1])))
        for start in range(0, n_rows, _N_ROWS):
            yield wanted.slice(start, _N_ROWS).collect()
        return
    with source.path.open("rb") as file:
        is_first = True
        for block in _blocks(file, quoted=source.is_text):
            if source.format == "jsonl":
                yield pl.read_ndjson(block, schema=schema)
            else:
                yield source.parse_block(block, schema, has_header=is_first)
            is_first = False


def _blocks(file: BinaryIO, *, quoted: bool) -> Iterator[bytes]:
    """Give a text file in blocks of whole rows; a line break between quotes ends no row."""
    rest = b""
    while True:
        more = file.read(_N_BYTES)
        block = rest + more
        if not more:
            if block:
                yield block
            return
        end = _last_row_end(block, quoted)
        if end:
            yield block[:end]
        rest = block[end:]


def _last_row_end(block: bytes, quoted: bool) -> int:
    """Return the length of the whole rows in a block; 0 if there is none."""
    if not quoted or _QUOTE not in block:
        return block.rfind(b"\n") + 1
    codes = np.frombuffer(block, dtype=np.uint8)
    is_outside = np.cumsum(codes == _QUOTE, dtype=np.int64) % 2 == 0
    ends = np.flatnonzero((codes == _NEWLINE) & is_outside)
    return int(ends[-1]) + 1 if len(ends) else 0


def write_batches(
    batches: Iterator["pl.DataFrame"],
    schema: "pl.Schema",
    target: Path | BinaryIO,
    format: OutputFormat,
) -> None:
    """Write batches to a file, each before the next is asked for."""
    if format in ("parquet", "arrow"):
        _sink_batches(batches, schema, target, format)
        return
    file = target.open("wb") if isinstance(target, Path) else target
    try:
        if format == "jsonl":
            for batch in batches:
                batch.write_ndjson(file)
        else:
            _write_csv(batches, schema, file, "\t" if format == "tsv" else ",")
        file.flush()
    finally:
        if isinstance(target, Path):
            file.close()


def _write_csv(
    batches: Iterator["pl.DataFrame"], schema: "pl.Schema", file: BinaryIO, separator: str
) -> None:
    import polars as pl

    header = without_formulas(pl.DataFrame(schema=schema).lazy()).collect()
    header.write_csv(file, separator=separator)
    for batch in batches:
        safe = without_formulas(batch.lazy()).collect()
        safe.write_csv(file, separator=separator, include_header=False)


def _sink_batches(
    batches: Iterator["pl.DataFrame"],
    schema: "pl.Schema",
    target: Path | BinaryIO,
    format: OutputFormat,
) -> None:
    """Let polars ask for the batches while it writes a columnar file."""
    import polars as pl
    from polars.io.plugins import register_io_source

    failures: list[Exception] = []

    def asked(*options: Any) -> Iterator[pl.DataFrame]:
        try:
            yield from batches
        except Exception as error:
            failures.append(error)
            raise

    try:
        sink(register_io_source(asked, schema=schema), target, format)
    except pl.exceptions.PolarsError:
        # What went wrong in a batch, not how polars wraps it up.
        if failures:
            raise failures[0] from None
        raise
