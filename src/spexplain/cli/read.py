"""Reading tables from files, at once or batch by batch; what is wrong with a file is said in one sentence."""

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, get_args

import numpy as np

from spexplain.cli.errors import UserError, usage_error
from spexplain.cli.number_formats import has_decimal_comma, read_numbers
from spexplain.cli.options import ReadingOptions
from spexplain.cli.sources import copied, in_utf8, plain_path, sheet_as_csv, sniffed, unzipped
from spexplain.files import FORMATS, READ_ONLY_FORMATS, TableFormat
from spexplain.memory import check_memory, in_words
from spexplain.messages import closest, listed, one_line

if TYPE_CHECKING:
    import polars as pl

_TITLES = {
    "csv": "CSV", "tsv": "TSV", "parquet": "Parquet", "arrow": "Arrow", "jsonl": "JSON lines", "xlsx": "Excel",
}  # fmt: skip
# Cells that mean a missing value unless --null says which do; empty ones always do.
_NULL_WORDS = ["NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "<NA>"]
# Types are guessed from so many rows; where a later row does not fit, from all of them.
_N_GUESSED = 10_000
_LONGEST_HEADER = 1 << 24  # bytes
_N_BATCH_ROWS = 1 << 18  # rows of a batch of a columnar file
_N_BATCH_BYTES = 1 << 23  # bytes of a batch of a text file
_LONGEST_ROW = 1 << 26  # bytes; a quote that is never closed would make the rest of a file one row
_QUOTE, _NEWLINE = ord('"'), ord("\n")
_DELIMITERS = {";": "';'", "\t": "a tab", "|": "'|'", ",": "','", ":": "':'"}


@dataclass(frozen=True)
class TableFile:
    """A table in a file that polars can scan.

    Parameters
    ----------
    name : str
        What the user calls it.
    path : Path
        The file itself, or a temporary copy of standard input, or of what polars does not read.
    format : str
        How it is written.
    reading : ReadingOptions
        Options for CSV, with what the file itself says.
    notes : tuple of str
        What was found out about the file, and the user should know.
    """

    name: str
    path: Path
    format: TableFormat
    reading: ReadingOptions
    notes: tuple[str, ...] = ()

    @property
    def is_text(self) -> bool:
        """Whether cells are text without types."""
        return self.format in ("csv", "tsv")

    @property
    def separator(self) -> str:
        """The character between cells of a CSV file."""
        given = self.reading.delimiter
        default = "\t" if self.format == "tsv" else ","
        if given is None and self.format == "csv" and has_decimal_comma(self.reading):
            default = ";"
        return {"\\t": "\t", "tab": "\t", None: default}.get(given, given or default)

    def scan(
        self,
        *,
        as_text: bool = False,
        guessed: int | None = _N_GUESSED,
        quoted_empty: bool = False,
    ) -> "pl.LazyFrame":
        """Return the table, not yet read.

        Parameters
        ----------
        as_text : bool, default=False
            Whether the cells of a CSV file stay as they are written.
        guessed : int, optional
            Rows from which types are guessed; None means all.
        quoted_empty : bool, default=False
            Whether cells of quotes with nothing between them are missing values, too.
        """
        import polars as pl

        if self.format == "parquet":
            return pl.scan_parquet(self.path, glob=False)
        if self.format == "arrow":
            return _scan_arrow(self.path)
        if self.format == "jsonl":
            return pl.scan_ndjson(self.path, infer_schema_length=guessed)  # globs: see `plain`
        options: dict[str, Any] = {"infer_schema_length": guessed}
        if as_text:
            options = {"infer_schema": False}
        frame = pl.scan_csv(
            self.path,
            separator=self.separator,
            has_header=not self.reading.no_header,
            null_values=[*self._null_words, ""] if quoted_empty else self._null_words,
            decimal_comma=has_decimal_comma(self.reading),
            glob=False,
            **options,
        )
        if self.reading.no_header:
            names = frame.collect_schema().names()
            frame = frame.rename({name: f"x{place}" for place, name in enumerate(names)})
        return frame

    @property
    def _null_words(self) -> list[str]:
        words = self.reading.null
        return _NULL_WORDS if words is None else [each.strip() for each in words.split(",")]

    def read(self, columns: list[str] | None = None) -> "pl.DataFrame":
        """Return the table, or some columns of it."""
        import polars as pl
        import polars.selectors as cs

        def collected(guessed: int | None) -> pl.DataFrame:
            frame = self.scan(guessed=guessed)
            _check_size(self, frame, columns)
            found = (frame if columns is None else frame.select(cs.by_name(*columns))).collect()
            if not self.is_text:
                return found
            # Some programs quote every cell, empty ones too; among numbers these are missing values.
            texts = found.select(cs.string())
            odd = [name for name in texts.columns if (texts.get_column(name) == "").any()]
            if not odd:
                return found
            again = self.scan(guessed=guessed, quoted_empty=True).select(cs.by_name(*odd)).collect()
            return found.with_columns(again.select(~cs.string()))

        with user_errors(self):
            try:
                return self._with_numbers(collected(_N_GUESSED))
            except pl.exceptions.ComputeError:
                if not (self.is_text or self.format == "jsonl"):
                    raise
                return self._with_numbers(collected(None))

    def _with_numbers(self, frame: "pl.DataFrame") -> "pl.DataFrame":
        """Return the table with texts as numbers, in columns where all are numbers by the options."""
        import polars as pl

        reading = self.reading
        if not (
            reading.currency or reading.thousands or (reading.decimal_comma and not self.is_text)
        ):
            return frame
        made = []
        for column in frame:
            if column.dtype == pl.String:
                numbers = read_numbers(column.alias(""), reading).alias(column.name)
                is_number = numbers.null_count() == column.null_count() < len(column)
                made.append(numbers if is_number else column)
            else:
                made.append(column)
        return pl.DataFrame(made)

    def schema(self, numbers: set[str]) -> "pl.Schema":
        """Return names and types of the columns; cells of CSV files are text, `numbers` floats."""
        import polars as pl

        schema = self.scan(as_text=True).collect_schema()
        if self.format != "jsonl":
            return schema
        # A column whose first rows are whole may have fractions further down.
        return pl.Schema(
            {
                name: pl.Float64() if name in numbers and dtype.is_numeric() else dtype
                for name, dtype in schema.items()
            }
        )

    def n_rows(self) -> int | None:
        """Return the number of rows where the file says it at once."""
        import polars as pl

        if self.format not in ("parquet", "arrow"):
            return None
        with user_errors(self):
            return int(self.scan().select(pl.len()).collect().item())

    def batches(self, schema: "pl.Schema", columns: list[str]) -> Iterator["pl.DataFrame"]:
        """Yield some columns of the table, some rows at a time, in constant memory.

        A scan of polars that feeds a Python function runs ahead of it without bound, so batches are
        cut here.
        """
        import polars as pl
        import polars.selectors as cs

        if self.format in ("parquet", "arrow"):
            frame = self.scan()
            n_rows = int(frame.select(pl.len()).collect().item())
            # A table of which no column is read still has rows to label.
            wanted = frame.select(cs.by_name(*(columns or schema.names()[:1])))
            for start in range(0, n_rows, _N_BATCH_ROWS):
                yield wanted.slice(start, _N_BATCH_ROWS).collect()
            return
        with self.path.open("rb") as file:
            is_first = True
            for block in _blocks(file, quoted=self.is_text):
                if self.format == "jsonl":
                    yield pl.read_ndjson(block, schema=schema)
                else:
                    yield self._parse_block(block, schema, has_header=is_first)
                is_first = False

    def _parse_block(
        self, block: bytes, schema: "pl.Schema", *, has_header: bool
    ) -> "pl.DataFrame":
        """Return some rows of a CSV file, cells as text; the first block starts with the header."""
        import polars as pl

        # polars counts the columns in the first row, which may be a short one.
        full = self.separator.join("x" * len(schema)).encode() + b"\n"
        rows = pl.read_csv(
            full + (block.removeprefix(_BYTE_ORDER_MARK) if has_header else block),
            separator=self.separator,
            has_header=False,
            schema=schema,
            null_values=self._null_words,
        )
        return rows.slice(1 + int(has_header and not self.reading.no_header))

    def names(self) -> list[str]:
        """Return the names of the columns; refuse tables without, and names that occur twice."""
        with user_errors(self):
            names = self.scan().collect_schema().names()
            if self.is_text and not self.reading.no_header:
                names = self._header()
        twice = sorted(name for name, count in Counter(names).items() if count > 1)
        if twice:
            cure = "rename them"
            if self.is_text and any(map(is_number, twice)):
                cure = "if the first line is a row, pass --no-header"
            raise UserError(f"{self.name} has several columns called {listed(twice)}; {cure}.")
        if not names:
            raise UserError(f"{self.name} has no columns.")
        self._check_delimiter(names)
        return names

    def _header(self) -> list[str]:
        """Return the first line as it is written; polars renames columns of equal names."""
        import polars as pl

        with self.path.open("rb") as file:
            head = file.read(_LONGEST_HEADER)
        first = pl.read_csv(
            head, separator=self.separator, has_header=False, n_rows=1, infer_schema=False
        )
        cells = ["" if cell is None else str(cell) for cell in first.row(0)]
        cells[0] = cells[0].removeprefix("\ufeff")
        if any("\0" in cell for cell in cells):
            raise UserError(
                f"{self.name} has NUL characters in its first line: it is damaged, or in another encoding, which "
                "--encoding names (such as utf-16)."
            )
        return cells

    def _check_delimiter(self, names: list[str]) -> None:
        if not self.is_text or len(names) > 1:
            return
        found = [sign for sign in _DELIMITERS if sign != self.separator and sign in names[0]]
        if found:
            sign = "tab" if found[0] == "\t" else f"'{found[0]}'"
            raise UserError(
                f"{self.name} seems to have one column only, named {names[0]!r}: its cells may be "
                f"separated by {_DELIMITERS[found[0]]}; pass --delimiter {sign}."
            )


def _check_size(source: TableFile, frame: "pl.LazyFrame", columns: list[str] | None) -> None:
    """Refuse a table that does not fit into memory thrice: as it is read, put together, and as numbers."""
    import polars as pl

    n_bytes = source.path.stat().st_size
    if source.format in ("parquet", "arrow"):
        n_rows = int(frame.select(pl.len()).collect().item())
        schema = frame.collect_schema()
        taken = schema.names() if columns is None else columns
        n_bytes = max(n_bytes, n_rows * sum(_cell_bytes(schema[name]) for name in taken))
    cure = "take fewer rows, or leave out columns with --ignore"
    check_memory(3 * n_bytes, f"The columns of {source.name}", cure)


def _cell_bytes(dtype: "pl.DataType") -> int:
    """Return about how many bytes a cell takes, in the table or as a number of eight."""
    import polars as pl

    if dtype.is_nested() or dtype in (pl.Object,):
        return _NESTED_BYTES
    return _TEXT_BYTES if dtype in (pl.String, pl.Binary) else 8


def is_number(text: str) -> bool:
    """Whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _scan_arrow(path: Path) -> "pl.LazyFrame":
    import polars as pl

    with path.open("rb") as file:
        is_file = file.read(6) == b"ARROW1"
    # What is piped from another program is often a stream, which has no index to scan by.
    return pl.scan_ipc(path, glob=False) if is_file else pl.read_ipc_stream(path).lazy()


def _blocks(file: BinaryIO, *, quoted: bool) -> Iterator[bytes]:
    """Yield a text file in blocks of whole rows; a line break between quotes does not end a row."""
    rest, n_lines = b"", 0
    while True:
        more = file.read(_N_BATCH_BYTES)
        block = rest + more
        if not more:
            if block:
                yield block
            return
        end = _last_row_end(block, quoted)
        if end:
            yield block[:end]
            n_lines += block.count(b"\n", 0, end)
        rest = block[end:]
        if len(rest) > _LONGEST_ROW:
            why = "; a quote may not be closed" if quoted else ""
            size = in_words(_LONGEST_ROW)
            raise RuntimeError(f"the row of line {n_lines + 1:,} is longer than {size}{why}")


def _last_row_end(block: bytes, quoted: bool) -> int:
    """Return the length of the whole rows in a block; 0 if there is none."""
    if not quoted or _QUOTE not in block:
        return block.rfind(b"\n") + 1
    codes = np.frombuffer(block, dtype=np.uint8)
    is_outside = np.cumsum(codes == _QUOTE, dtype=np.uint8) % 2 == 0  # 256 quotes count as 0
    ends = np.flatnonzero((codes == _NEWLINE) & is_outside)
    return int(ends[-1]) + 1 if len(ends) else 0


@contextmanager
def opened(data: str, reading: ReadingOptions) -> Iterator[TableFile]:
    """Yield a table; what polars cannot scan is copied to a temporary file of constant memory."""
    for option, given in (("--delimiter", reading.delimiter), ("--thousands", reading.thousands)):
        if given not in (None, "tab", "\\t") and len(given) != 1:
            usage_error(
                f"{option} must be one character{' or tab' * ('d' in option[:3])}, not {given!r}."
            )
    notes: list[str] = []
    with ExitStack() as stack:
        is_stdin, path = data in ("-", "/dev/stdin"), Path(data)
        name = "standard input" if is_stdin else data
        if data == "-" and sys.stdin is None:
            raise UserError("Standard input is closed; name a file.")
        if not is_stdin:
            _check_file(path)
        is_zipped = path.suffix.lower() == ".gz"
        bare = path.with_suffix("") if is_zipped else path
        # Pipes can be read only once; `<(...)` of a shell is one, too.
        is_pipe = is_stdin or not path.is_file()
        is_nameless = is_pipe and not bare.suffix
        format = reading.input_format or ("csv" if is_nameless else _format_of(bare))
        if data == "-":
            path = stack.enter_context(copied(sys.stdin.buffer, name))
        elif is_pipe:
            path = stack.enter_context(copied(stack.enter_context(path.open("rb")), name))
        else:
            path = stack.enter_context(plain_path(path))
        path = stack.enter_context(unzipped(path, name, is_named=is_zipped, format=format))
        if format == "xlsx":
            path = stack.enter_context(sheet_as_csv(path, name, reading))
            format, reading = "csv", replace(reading, delimiter=",", decimal_comma=False)
        elif format in ("csv", "tsv", "jsonl"):
            path = stack.enter_context(in_utf8(path, name, reading.encoding, notes))
        if format == "csv":
            reading = sniffed(path, name, reading, notes)
        yield TableFile(name, path, format, reading, tuple(notes))


_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_TEXT_BYTES, _NESTED_BYTES = 48, 128  # of a cell, about


def _check_file(path: Path) -> None:
    if path.is_dir():
        raise UserError(f"{path} is a folder; name a file in it.")
    if not path.exists():
        folder = path.parent if path.parent.is_dir() else None
        names = [] if folder is None else [each.name for each in folder.iterdir() if each.is_file()]
        end = closest(path.name, names, cutoff=0.8) if names else "."
        raise UserError(f"There is no file {path}{end if end.startswith(';') else '.'}")


def _format_of(path: Path) -> TableFormat:
    """Return the format that the name of a file says."""
    suffix = path.suffix.lower()
    known_endings = FORMATS | READ_ONLY_FORMATS
    if suffix in known_endings:
        return known_endings[suffix]
    known = ", ".join(get_args(TableFormat))
    hint = " (for JSON, one object per line)" if suffix == ".json" else ""
    raise UserError(
        f"The name {path.name} does not say what format it has; pass --input-format, one of {known}{hint}."
    )


@contextmanager
def user_errors(source: TableFile) -> Iterator[None]:
    """Turn what polars says about a broken file into one sentence."""
    import polars as pl

    title = _TITLES[source.format]
    try:
        yield
    except pl.exceptions.NoDataError:
        raise UserError(f"{source.name} is empty.") from None
    except pl.exceptions.DuplicateError as error:
        raise UserError(f"{source.name} has columns of equal names ({_first(error)}).") from None
    except pl.exceptions.PanicException:
        # Not a subclass of Exception: a reader met something that its format forbids.
        raise UserError(f"{source.name} could not be read as {title}: it is damaged.") from None
    except (pl.exceptions.PolarsError, OSError, RuntimeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        message = str(error)
        if "utf-8" in message or "utf8" in message:
            why = "it is not UTF-8 text; --encoding names another encoding, such as latin-1"
        elif "more fields than" in message:
            with source.path.open("rb") as file:
                is_blank = not file.readline().strip()
            why = f"some rows have more cells than the first line{', which is empty' * is_blank}"
        elif source.is_text and ("CSV malformed" in message or "as dtype `str`" in message):
            why = 'a quote (") is not closed, or stands in the middle of a cell'
        else:
            why = _first(error)
        raise UserError(f"{source.name} could not be read as {title}: {why.rstrip('.')}.") from None


def _first(error: Exception) -> str:
    """Return the first line of an error."""
    return one_line((str(error).strip() or type(error).__name__).splitlines()[0])
