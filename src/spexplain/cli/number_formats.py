"""Numbers as people write them: currency signs, thousands separators, decimal commas."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from spexplain.cli.options import ReadingOptions

if TYPE_CHECKING:
    import polars as pl

_CURRENCY = r"\p{Sc}"  # the signs of all currencies
_SPACES = "[\\s\u00a0\u202f]"
_THOUSANDS = (",", None, ".", " ", "'")  # suggested in this order; None stands for a decimal comma
_ENOUGH = 0.9  # share of cells that an option must read to be suggested


def read_numbers(text: "pl.Series", reading: ReadingOptions) -> "pl.Series":
    """Return texts as floats, read as the options say; texts that are not numbers become null.

    Parameters
    ----------
    text : polars.Series of str
        Cells of a file.
    reading : ReadingOptions
        Whether numbers have decimal commas, thousands separators or currencies.

    Examples
    --------
    >>> import polars as pl
    >>> from spexplain.cli.number_formats import read_numbers
    >>> from spexplain.cli.options import ReadingOptions
    >>> cells = pl.Series(["$1,234.50", "-12", "($3.00)", "1,2", "USD 7"])
    >>> read_numbers(cells, ReadingOptions(currency=True, thousands=",")).to_list()
    [1234.5, -12.0, -3.0, None, 7.0]
    >>> read_numbers(pl.Series(["1.234,50"]), ReadingOptions(thousands=".")).to_list()
    [1234.5]
    """
    import polars as pl

    text = text.str.strip_chars()
    if reading.currency:
        text = text.str.replace(
            r"^\((.*)\)$", "-${1}"
        )  # accountants' way to write less than nothing
        text = text.str.replace(r"^([A-Z]{3})(\s*[+-]?\s*\d)", "${2}")
        text = text.str.replace(r"(\d)\s*[A-Z]{3}$", "${1}")
        text = text.str.replace(rf"^([+-]?){_SPACES}*{_CURRENCY}{_SPACES}*", "${1}")
        text = text.str.replace(rf"{_SPACES}*{_CURRENCY}$", "").str.strip_chars()
    decimal = "," if has_decimal_comma(reading) else "."
    if reading.thousands is not None:
        sign = _escaped(reading.thousands)
        groups = rf"^[+-]?\d{{1,3}}(?:{sign}\d{{3}})+(?:{_escaped(decimal)}\d*)?$"
        is_grouped = text.str.contains(groups).fill_null(False)
        text = text.str.replace_all(sign, "").zip_with(is_grouped, text)
    if decimal == ",":
        # A point would be a thousands separator, which is not what a decimal number has.
        has_point = text.str.contains(r"\.").fill_null(False)
        text = text.str.replace(",", ".", literal=True).zip_with(~has_point, text.clear(len(text)))
    return text.cast(pl.Float64, strict=False)


def has_decimal_comma(reading: ReadingOptions) -> bool:
    """Whether numbers are written as 1,5: by the option, or as points separate thousands."""
    return bool(reading.decimal_comma) or reading.thousands == "."


def _escaped(sign: str) -> str:
    return _SPACES if sign == " " else f"\\{sign}" if not sign.isalnum() else sign


def option_that_reads(cells: "pl.Series", reading: ReadingOptions) -> str | None:
    """Return the options that would read most of some texts as numbers; None if no options would.

    Examples
    --------
    >>> import polars as pl
    >>> from spexplain.cli.number_formats import option_that_reads
    >>> from spexplain.cli.options import ReadingOptions
    >>> option_that_reads(pl.Series(["$1,234.50", "$2.00"]), ReadingOptions())
    "--currency --thousands ','"
    >>> option_that_reads(pl.Series(["1,5", "22,75"]), ReadingOptions())
    '--decimal-comma'
    >>> option_that_reads(pl.Series(["many", "1,5"]), ReadingOptions()) is None
    True
    """
    if not len(cells):
        return None
    for option, tried in _tries(reading):
        read = read_numbers(cells, tried)
        if len(read) - read.null_count() >= _ENOUGH * len(cells):
            return option
    return None


def _tries(reading: ReadingOptions) -> Iterator[tuple[str, ReadingOptions]]:
    """Give options that are not used yet, the simplest first."""
    for currency in (False, True):
        if currency and reading.currency:
            return
        sign = "--currency" if currency else ""
        base = replace(reading, currency=reading.currency or currency)
        if currency:
            yield sign, base
        for each in _THOUSANDS if reading.thousands is None else (None,):
            if each is None:
                if not has_decimal_comma(reading):
                    yield f"{sign} --decimal-comma".strip(), replace(base, decimal_comma=True)
            elif each != "," or not has_decimal_comma(reading):
                quoted = f'"{each}"' if each == "'" else f"'{each}'"
                yield f"{sign} --thousands {quoted}".strip(), replace(base, thousands=each)
