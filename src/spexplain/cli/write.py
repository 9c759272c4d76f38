"""Writing files: all or nothing, never over an existing file unasked, and safe to open in a spreadsheet."""

import codecs
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Self

import numpy as np

from spexplain.cli.errors import Ending, UserError, output_errors, usage_error
from spexplain.cli.options import STDOUT
from spexplain.cli.sources import write_sheet
from spexplain.export.spreadsheets import FORMULA, disarmed
from spexplain.files import FORMATS, PendingFile, TableFormat

if TYPE_CHECKING:
    import polars as pl


class Outputs:
    """The files of one command: written under temporary names, put in their places together at the end.

    Parameters
    ----------
    paths : dict of str to Path or None
        The file of every option, such as ``{"--report": Path("report.html")}``; - is standard output.
    force : bool
        Whether existing files may be replaced.
    source : str
        The file that is read, which is never written.
    """

    def __init__(
        self, paths: dict[str, Path | None], *, force: bool = False, source: str = "-"
    ) -> None:
        self.paths = {
            option: STDOUT if str(path) in _STDOUT else path
            for option, path in paths.items()
            if path is not None
        }
        if self.use_stdout and sys.stdout is None:
            raise UserError("Standard output is closed; name a file to write to.")
        self.force = force
        self._pending: list[PendingFile] = []
        taken: dict[Path, str] = {}
        for option, path in self.paths.items():
            place = path if path == STDOUT or _is_stream(path) else Path(os.path.realpath(path))
            if place in taken:
                usage_error(f"{taken[place]} and {option} both write to {path}.")
            taken[place] = option
            if path != STDOUT and not _is_stream(path):
                _check_place(place, path, option, force, source)

    @property
    def use_stdout(self) -> bool:
        """Whether a file goes to standard output."""
        return STDOUT in self.paths.values()

    def __enter__(self) -> Self:
        for path in self.paths.values():
            if path != STDOUT and not _is_stream(path):
                with output_errors(str(path)):
                    PendingFile(path).check()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: object, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                Ending.check()
                for pending in self._pending:
                    pending.commit(force=self.force)
        finally:
            for pending in self._pending:
                pending.discard()

    @contextmanager
    def target(self, option: str) -> Iterator[BinaryIO]:
        """Yield where to write: a temporary file beside the file, or standard output."""
        path = self.paths[option]
        if path == STDOUT:
            sys.stdout.flush()
            screen: Any = _Screen(sys.stdout.buffer)
            yield screen if sys.stdout.isatty() else sys.stdout.buffer
            sys.stdout.flush()
            return
        if _is_stream(path):
            with path.open("wb") as file:
                yield file
            return
        pending = PendingFile(path)
        self._pending.append(pending)
        with pending.open() as file:
            yield file

    def write(self, option: str, content: str | bytes) -> None:
        """Write a whole file."""
        with output_errors(str(self.paths[option])), self.target(option) as file:
            file.write(content.encode() if isinstance(content, str) else content)


class _Screen(io.RawIOBase):
    """A terminal that gets no escape sequences from the cells of a table; files and pipes get all as it is."""

    def __init__(self, terminal: BinaryIO) -> None:
        self._terminal = terminal
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def writable(self) -> bool:
        """Say that it can be written to."""
        return True

    def write(self, data: Any) -> int:
        """Write bytes, a question mark in place of every character that is not shown."""
        text = self._decoder.decode(bytes(data))
        shown = "".join(c if c.isprintable() or c in "\t\n" else "?" for c in text)
        self._terminal.write(shown.encode("utf-8", "replace"))
        return len(data)

    def flush(self) -> None:
        """Show what was written."""
        self._terminal.flush()


# Shells' names of standard output: never a file to replace, even if it is redirected to one.
_STDOUT = ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


def _is_stream(path: Path) -> bool:
    """Whether it is a pipe or device: there is nothing to replace."""
    is_open = str(path).startswith(("/dev/fd/", "/proc/self/fd/"))  # by the shell, perhaps a file
    return is_open or (path.exists() and not path.is_file() and not path.is_dir())


def _check_place(place: Path, path: Path, option: str, force: bool, source: str) -> None:
    """Refuse a file that cannot or must not be written, before any work is done."""
    if place.is_dir():
        raise UserError(f"{option} {path} is a folder; name a file in it.")
    if not place.parent.is_dir():
        raise UserError(f"{option} {path}: there is no folder {path.parent}.")
    if source != "-" and place == Path(os.path.realpath(source)):
        raise UserError(f"{option} {path} is the table itself; choose another name.")
    if place.exists():
        if place.is_file() and not force:
            raise UserError(f"{path} exists; pass --force to overwrite it, or choose another name.")
        if not os.access(place, os.W_OK):
            raise UserError(f"{option} {path} may not be written: permission denied.")
    elif not os.access(place.parent, os.W_OK):
        raise UserError(f"{option} {path} cannot be made: the folder may not be written to.")


def format_of_output(path: Path, given: TableFormat | None) -> TableFormat:
    """Return the format to write; standard output gets CSV unless told otherwise."""
    if given is not None:
        return given
    if path == STDOUT or not path.suffix or (path.exists() and not path.is_file()):
        return "csv"
    if path.suffix.lower() not in FORMATS:
        raise UserError(
            f"The name {path.name} does not say how to write labels; end it in {', '.join(FORMATS)}."
        )
    return FORMATS[path.suffix.lower()]


def write_labels(outputs: Outputs, path: Path, estimator: Any) -> None:
    """Write leaf and cluster of every row of the file."""
    import polars as pl

    leaves = pl.Series("leaf", estimator.labels_)
    frame = leaves.to_frame()
    clusters = getattr(estimator, "leaf_reference_", None)
    if clusters is not None:
        frame = frame.hstack([leaf_clusters(clusters).gather(leaves)])
    with output_errors(str(path)), outputs.target("--output") as file:
        sink(frame.lazy(), file, format_of_output(path, None))


def leaf_clusters(labels: Any) -> "pl.Series":
    """Return the clusters that the leaves stand for as a column."""
    import polars as pl

    is_text = isinstance(labels, np.ndarray) and labels.dtype.kind in "USO"
    return pl.Series("cluster", labels.tolist() if is_text else labels)


def sink(frame: "pl.LazyFrame", file: BinaryIO, format: TableFormat) -> None:
    """Write a table as it is computed, in constant memory."""
    if format == "xlsx":
        whole = frame.collect()
        write_sheet(iter([whole]), whole.columns, file)
    elif format in ("csv", "tsv"):
        separator = "\t" if format == "tsv" else ","
        without_formulas(frame).sink_csv(file, separator=separator)
    elif format == "jsonl":
        frame.sink_ndjson(file)
    elif format == "parquet":
        frame.sink_parquet(file)
    else:
        frame.sink_ipc(file)


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


def write_batches(
    batches: Iterator["pl.DataFrame"],
    schema: "pl.Schema",
    file: BinaryIO,
    format: TableFormat,
    name: str,
) -> None:
    """Write batches to a file, each before the next is asked for; errors of writing name the file."""
    if format == "xlsx":
        with output_errors(name):
            write_sheet(batches, schema.names(), file)
        return
    import polars as pl

    if format in ("parquet", "arrow"):
        _sink_batches(batches, schema, file, format, name)
        return
    if format != "jsonl":
        _write_text(pl.DataFrame(schema=schema), file, format, name, header=True)
    for batch in batches:
        _write_text(batch, file, format, name)
    with output_errors(name):
        file.flush()


def _write_text(
    batch: "pl.DataFrame",
    file: BinaryIO,
    format: TableFormat,
    name: str,
    *,
    header: bool = False,
) -> None:
    """Write some rows of text, or the header alone."""
    # Not by polars to the file: its first versions do not notice that a device is full.
    text = io.BytesIO()
    if format == "jsonl":
        batch.write_ndjson(text)
    else:
        separator = "\t" if format == "tsv" else ","
        safe = without_formulas(batch.lazy()).collect()
        safe.write_csv(text, separator=separator, include_header=header)
    with output_errors(name):
        file.write(text.getbuffer())


def _sink_batches(
    batches: Iterator["pl.DataFrame"],
    schema: "pl.Schema",
    file: BinaryIO,
    format: TableFormat,
    name: str,
) -> None:
    """Let polars ask for the batches while it writes a columnar file."""
    import polars as pl
    from polars.io.plugins import register_io_source

    failures: list[BaseException] = []

    def asked(*options: Any) -> Iterator[pl.DataFrame]:
        try:
            yield from batches
        except BaseException as error:
            failures.append(error)
            raise

    try:
        with output_errors(name):
            sink(register_io_source(asked, schema=schema), file, format)
    finally:
        # What went wrong in a batch, not how polars wraps it up; it may even swallow it.
        if failures and not isinstance(failures[0], GeneratorExit):
            raise failures[0] from None
