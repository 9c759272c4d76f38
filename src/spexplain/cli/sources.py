"""From the file that a user has to one that polars can read: unzipped, in UTF-8, its sheet as CSV, its signs known."""

import bz2
import codecs
import csv
import gzip
import io
import lzma
import re
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, time
from pathlib import Path
from typing import Any, BinaryIO
from zipfile import BadZipFile, ZipFile

from spexplain.cli.errors import UserError, usage_error
from spexplain.cli.options import ReadingOptions
from spexplain.memory import check_memory
from spexplain.messages import closest

# What compressed files begin with.
_COMPRESSIONS: list[tuple[bytes, str, Callable[[Path], Any] | None]] = [
    (rb"\x1f\x8b", "gzip", gzip.open),
    (rb"BZh[1-9]1AY&SY", "bzip2", bz2.open),
    (rb"\xfd7zXZ\x00", "xz", lzma.open),
    (rb"\x28\xb5\x2f\xfd", "zstd", None),
    (rb"PK\x03\x04", "zip", None),
]
_BOM = codecs.BOM_UTF8
# The longer mark first: it begins with the shorter one.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_BLOCK = 1 << 20  # bytes that are turned into UTF-8 at once
_LOOKED_AT = 1 << 26  # bytes that are looked at to tell the encoding
_SNIFFED = 1 << 16  # bytes that are looked at to tell the signs
_N_LINES = 50
_SEPARATORS = (";", "\t", "|")  # that are recognised
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_WITH_COMMA = re.compile(r"[+-]?(?:\d+|\d{1,3}(?:\.\d{3})+),\d+")
_WITH_POINT = re.compile(r"[+-]?\d+\.\d+(?:[eE][+-]?\d+)?")
_GROUPED = re.compile(r"[+-]?\d{1,3}(?:\.\d{3})+,\d+")
_MOST_ROWS = 1 << 20  # of a sheet of Excel


@contextmanager
def copied(stream: BinaryIO, name: str) -> Iterator[Path]:
    """Yield a temporary file with all that a stream holds."""
    with tempfile.NamedTemporaryFile(prefix="spexplain-") as file:
        try:
            shutil.copyfileobj(stream, file, _BLOCK)
        except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
            raise UserError(f"{name} could not be read: {error}.") from None
        file.flush()
        yield Path(file.name)


@contextmanager
def plain_path(path: Path) -> Iterator[Path]:
    """Yield a name of a file that polars takes as it is: no pattern, no ~ for a home, no foreign bytes."""
    text = str(path)
    if text.isprintable() and not any(sign in text for sign in "*?[~"):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="spexplain-") as folder:
        link = Path(folder) / "table"
        try:
            link.symlink_to(path.resolve())
        except OSError:  # a system that gives links to few users
            shutil.copyfile(path, link)
        yield link


@contextmanager
def unzipped(path: Path, name: str, *, is_named: bool, format: str) -> Iterator[Path]:
    """Yield the file, or a temporary one with what was compressed, as its first bytes or its name say."""
    unpacker: Callable[[Path], Any] | None = gzip.open
    if not is_named:
        unpacker = _unpacker(path, name, format)
    if unpacker is None:
        yield path
        return
    with unpacker(path) as stream, copied(stream, name) as copy:
        yield copy


def _unpacker(path: Path, name: str, format: str) -> Callable[[Path], Any] | None:
    """Return what opens a compressed file, whatever its name; None for one that is not compressed."""
    with path.open("rb") as file:
        start = file.read(10)
    for pattern, title, unpacker in _COMPRESSIONS:
        if re.match(pattern, start, re.DOTALL) and (title, format) != ("zip", "xlsx"):
            if unpacker is None:
                raise UserError(f"{name} is compressed ({title}); unpack it first.")
            return unpacker
    return None


@contextmanager
def in_utf8(path: Path, name: str, given: str | None, notes: list[str]) -> Iterator[Path]:
    """Yield a text file in UTF-8 with no mark, or one mark, before it; another is copied so.

    Parameters
    ----------
    path : Path
        The file.
    name : str
        What the user calls it.
    given : str or None
        Its encoding; None: what its bytes say.
    notes : list of str
        Gets a sentence where the encoding is a guess.
    """
    encoding, is_guess = (given, False) if given is not None else _encoding_of(path)
    if encoding is None:
        yield path
        return
    try:
        codec = codecs.lookup(encoding)
    except LookupError:
        usage_error(f"--encoding {encoding} is not known; utf-8, utf-16, latin-1 and cp1252 are.")
    if not getattr(codec, "_is_text_encoding", True):
        usage_error(f"--encoding {encoding} is not an encoding of text.")
    if is_guess:
        notes.append(
            f"{name} is not UTF-8 text and is read as {encoding}; --encoding names another."
        )
    with tempfile.NamedTemporaryFile(prefix="spexplain-") as file:
        _recode(path, name, codec.name, file)
        file.flush()
        yield Path(file.name)


def _encoding_of(path: Path) -> tuple[str | None, bool]:
    """Return the encoding that the bytes of a file say, None for UTF-8, and whether it is a guess."""
    with path.open("rb") as file:
        head = file.read(4096)
        for mark, encoding in _MARKS:
            if head.startswith(mark):
                return encoding, False
        if head.startswith(_BOM + _BOM):
            return "utf-8", False
        # Latin letters in UTF-16 have a zero in every other byte.
        for encoding, zeros, others in (
            ("utf-16-le", head[1::2], head[::2]),
            ("utf-16-be", head[::2], head[1::2]),
        ):
            if len(zeros) > 4 and zeros.count(0) > 0.6 * len(zeros) and not others.count(0):
                return encoding, False
        file.seek(0)
        decoder = codecs.getincrementaldecoder("utf-8")()
        n_left = _LOOKED_AT
        try:
            while n_left and (block := file.read(min(_BLOCK, n_left))):
                decoder.decode(block)
                n_left -= len(block)
        except UnicodeDecodeError:
            pass
        else:
            return None, False
        try:  # what Windows calls Latin-1; it has no meaning for five bytes
            block.decode("cp1252")
        except UnicodeDecodeError:
            return "latin-1", True
        return "cp1252", True


def _recode(path: Path, name: str, encoding: str, target: Any) -> None:
    """Write a text in UTF-8, without marks before it."""
    decoder = codecs.getincrementaldecoder(encoding)()
    is_first = True
    with path.open("rb") as file:
        while True:
            block = file.read(_BLOCK)
            try:
                text = decoder.decode(block, final=not block)
            except UnicodeError as error:
                what = str(error).partition(": ")[2] or str(error)
                raise UserError(
                    f"{name} could not be read as {encoding} ({what}); --encoding names another encoding."
                ) from None
            if is_first and text:
                text, is_first = text.lstrip("\ufeff"), False
            target.write(text.encode("utf-8", "surrogatepass"))
            if not block:
                return


def sniffed(path: Path, name: str, reading: ReadingOptions, notes: list[str]) -> ReadingOptions:
    """Return how a CSV file is read, with the separators and decimal signs that its first rows show.

    Only clear cases are recognised. A separator: the first line has no comma, and another sign occurs in it
    as often as in every line below. A decimal comma: cells are not separated by commas, and there are numbers
    such as 1,5 but none such as 1.5.
    """
    with path.open("rb") as file:
        head = file.read(_SNIFFED)
    text = _QUOTED.sub(lambda found: found.group().replace(";", "").replace("\n", ""), _text(head))
    lines = [line for line in text.splitlines() if line.strip()]
    if len(head) == _SNIFFED:  # the last may be cut
        lines = lines[:-1] or lines
    lines = lines[:_N_LINES]
    if not lines:
        return reading
    found = reading
    if reading.delimiter is None and not reading.decimal_comma and "," not in lines[0]:
        for sign in _SEPARATORS:
            count = lines[0].count(sign)
            if count and all(line.count(sign) == count for line in lines):
                found = replace(found, delimiter=sign)
                break
    separator = found.delimiter or (";" if found.decimal_comma else ",")
    if found.decimal_comma is None and separator not in (",", "."):
        rows = lines if reading.no_header else lines[1:]
        sign = {"tab": "\t", "\\t": "\t"}.get(separator, separator)
        cells = [cell.strip(' "') for line in rows for cell in line.split(sign)]
        has_comma = any(map(_WITH_COMMA.fullmatch, cells))
        if has_comma and not any(map(_WITH_POINT.fullmatch, cells)):
            found = replace(found, decimal_comma=True)
            if reading.thousands is None and any(map(_GROUPED.fullmatch, cells)):
                found = replace(found, thousands=".")
    if found != reading:
        signs = {"\t": "tabs", ";": "semicolons", "|": "'|'"}
        told = [f"{signs[found.delimiter]} between cells"] if found.delimiter in signs else []
        told = told if found.delimiter != reading.delimiter else []
        if found.decimal_comma != reading.decimal_comma:
            told.append("decimal commas")
        if found.thousands != reading.thousands:
            told.append("points between thousands")
        notes.append(f"{name} is read with {' and '.join(told)}, as its first rows have them.")
    return found


def _text(head: bytes) -> str:
    return head.decode("utf-8", "replace").lstrip("\ufeff")


@contextmanager
def sheet_as_csv(path: Path, name: str, reading: ReadingOptions) -> Iterator[Path]:
    """Yield a sheet of an Excel file as a temporary CSV file: values, not formulas; dates as ISO writes them."""
    try:
        from openpyxl import load_workbook
        from openpyxl.utils.exceptions import InvalidFileException
    except ImportError:
        raise UserError(f'{name} needs openpyxl: pip install "spexplain[office]".') from None
    try:
        with ZipFile(path) as archive:
            # Texts of all cells are held in memory; the rest is read row by row.
            n_bytes = sum(
                each.file_size for each in archive.infolist() if "sharedStrings" in each.filename
            )
        check_memory(4 * n_bytes, f"The texts of {name}", "save it as CSV or Parquet")
        book = load_workbook(path, read_only=True, data_only=True)
    except (BadZipFile, InvalidFileException, KeyError, ValueError, OSError, EOFError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise UserError(
            f"{name} could not be read as Excel: it is damaged, or not an .xlsx file."
        ) from None
    with tempfile.NamedTemporaryFile(prefix="spexplain-") as file:
        try:
            titles = [sheet.title for sheet in book.worksheets]
            wanted = titles[0] if reading.sheet is None and titles else reading.sheet
            if wanted not in titles:
                raise UserError(f"{name} has no sheet {wanted}{closest(str(wanted), titles)}")
            text = io.TextIOWrapper(file, encoding="utf-8", newline="")
            _write_rows(book[wanted].iter_rows(values_only=True), csv.writer(text))
            text.detach()  # which flushes; the file itself stays open
        finally:
            book.close()
        file.flush()
        yield Path(file.name)


def _write_rows(rows: Iterator[tuple[Any, ...]], writer: Any) -> None:
    """Write the rows of a sheet without empty rows before and after the table and columns without a name."""
    width, n_empty = 0, 0
    for row in rows:
        cells = [_cell_text(value) for value in row]
        if not width:  # the first row that is not empty
            while cells and not cells[-1]:
                cells.pop()
            width = len(cells)
            if width:
                writer.writerow(cells)
            continue
        if not any(cells[:width]):
            n_empty += 1
            continue
        for _ in range(n_empty):  # between others, they are rows
            writer.writerow([""] * max(width, 2))
        n_empty = 0
        writer.writerow((cells + [""] * width)[:width])


def _cell_text(value: Any) -> str:
    """Return a cell as a CSV file has it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ")
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e15
    return str(int(value)) if is_whole else str(value)


def write_sheet(batches: Iterator[Any], names: list[str], file: BinaryIO) -> None:
    """Write batches of rows as the one sheet of an Excel file; texts stay texts, never formulas."""
    try:
        from openpyxl import Workbook
        from openpyxl.cell import WriteOnlyCell
        from openpyxl.utils.exceptions import IllegalCharacterError
    except ImportError:
        raise UserError('An Excel file needs openpyxl: pip install "spexplain[office]".') from None
    book = Workbook(write_only=True)
    sheet = book.create_sheet("labels")

    def cell(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            made = WriteOnlyCell(sheet, value=value)
        except IllegalCharacterError:  # control characters, which no sheet holds
            made = WriteOnlyCell(sheet, value="".join(c for c in value if c.isprintable()))
        made.data_type = "s"
        return made

    try:
        sheet.append([cell(name) for name in names])
        n_rows = 1
        for batch in batches:
            n_rows += len(batch)
            if n_rows > _MOST_ROWS:
                raise UserError(
                    f"An Excel sheet holds {_MOST_ROWS:,} rows at most; write .csv or .parquet instead."
                )
            for row in batch.iter_rows():
                sheet.append([cell(value) for value in row])
    finally:
        buffer = io.BytesIO()  # a zip file is written back and forth, which a pipe cannot do
        book.save(buffer)  # which also removes the library's own temporary file
    file.write(buffer.getbuffer())
