"""How six databases spell names, texts, numbers, dates and durations."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from math import frexp
from typing import Any, Literal, TypeAlias

import numpy as np

from spexplain.exceptions import quoted
from spexplain.tree import Column, number
from spexplain.tree.column import zone_info

DialectName: TypeAlias = Literal["duckdb", "postgresql", "sqlite", "bigquery", "snowflake", "mysql"]

_BIGQUERY_ESCAPES = str.maketrans(
    {"\\": "\\\\", "'": "\\'", "`": "\\`", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


_DAY = 86_400_000_000  # microseconds


@dataclass(frozen=True)
class Dialect:
    """The spelling of one database."""

    title: str
    number: Callable[[float], str]  # for comparisons with columns of any number type
    double: Callable[[float], str]  # of type double, whatever its value
    text: Callable[[str], str]
    quote: str = '"'
    nan: Callable[[str], tuple[str, str]] | None = None  # conditions: x is NaN, x is not NaN
    nan_is_largest: bool = False  # or not comparable at all
    timestamp: str = "TIMESTAMP"  # without time zone
    zoned: Callable[[str], str] | None = None  # a moment in a time zone
    interval: Callable[[int, str, str], str] | None = None  # of days and a time, both with sign
    clock: Callable[[str], str] | None = None  # a time of a day
    folds_case: bool = True  # whether quoted names that differ in case only are one name
    escapes_names: bool = False  # backslashes in names instead of doubled quotes
    has_booleans: bool = True
    has_dates: bool = True
    has_empty_names: bool = False
    has_dots: bool = True  # if not, a dot splits quoted names, too
    exact_text: Callable[[str], str] = str  # a column of texts, for comparisons by the letter
    as_number: Callable[[str], str] = str  # a column of numbers, as what `predict` reads there
    as_truth: Callable[[str], str] = str  # a column of booleans, likewise
    as_date: Callable[[str], str] = str  # a column of dates, likewise

    def identifier(self, name: str, argument: str) -> str:
        """Return a quoted name; refuse one that the database does not allow."""
        check_characters(name, argument, self.title)
        if not name and not self.has_empty_names:
            raise ValueError(f"{argument} holds an empty name, which {self.title} cannot have.")
        if "." in name and not self.has_dots:
            raise ValueError(
                f"{argument} holds {quoted(name)}, but {self.title} allows no dot in a name; rename it there and here."
            )
        if self.escapes_names:
            return self.quote + name.translate(_BIGQUERY_ESCAPES) + self.quote
        return self.quote + name.replace(self.quote, 2 * self.quote) + self.quote

    def literal(self, value: Any, argument: str = "label") -> str:
        """Return a label or a category as the database writes it."""
        if isinstance(value, bool):
            return str(value).upper() if self.has_booleans else str(int(value))
        if isinstance(value, int):
            return str(value)
        if isinstance(value, float):
            return self.double(value)
        check_characters(value, argument, self.title)
        return self.text(value)

    def moment(self, x: float, column: Column) -> str:
        """Return a date or time from microseconds since 1970; refuse what the database cannot compare."""
        try:
            moment = _EPOCH + timedelta(microseconds=int(x))
            if column.zone is not None:
                moment = moment.astimezone(zone_info(column.zone))
        except OverflowError:
            raise ValueError(
                f"Column {quoted(column.name)} is tested for {column.say(x)}, but {self.title} needs "
                "dates of the years 1 to 9999."
            ) from None
        if column.zone is None:
            text = moment.replace(tzinfo=None).isoformat(" ")
            text = text.rstrip("0") if moment.microsecond else text
            is_day = text.endswith(" 00:00:00")
            text = self.text(text[:10] if is_day else text)
            return f"{'DATE' if is_day else self.timestamp} {text}" if self.has_dates else text
        if self.zoned is None:
            raise ValueError(
                f"Column {quoted(column.name)} holds dates with a time zone, which {self.title} does not "
                "compare safely; convert them to UTC without a zone before fit."
            )
        offset = moment.utcoffset()
        if offset is None or offset.seconds % 60:  # no database reads seconds of an offset
            moment = moment.astimezone(UTC)
        return self.zoned(moment.isoformat(" "))

    def duration(self, x: float, column: Column) -> str:
        """Return a duration from microseconds; refuse it where the database has none."""
        if column.clock:
            return self._clock(x, column)
        if self.interval is None:
            raise ValueError(
                f"Column {quoted(column.name)} holds durations, which {self.title} cannot compare; turn "
                "them into numbers, such as seconds, before fit."
            )
        sign, size = ("-", -int(x)) if x < 0 else ("", int(x))
        days, clock = divmod(size, _DAY)
        return self.interval(days, _clock_text(clock), sign)

    def _clock(self, x: float, column: Column) -> str:
        """Return a time of a day; refuse one outside the day, and any where the database has none."""
        if self.clock is None:
            raise ValueError(
                f"Column {quoted(column.name)} holds times of a day, which {self.title} cannot compare; turn "
                "them into numbers, such as seconds, before fit."
            )
        if not 0 <= x < _DAY:
            raise ValueError(
                f"Column {quoted(column.name)} holds times of a day, but a test compares them with "
                f"{column.say(x)}; change that test."
            )
        return self.clock(_clock_text(int(x)))


def _clock_text(clock: int) -> str:
    seconds, rest = divmod(clock, 1_000_000)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{text}.{rest:06d}".rstrip("0") if rest else text


def check_characters(text: str, argument: str, title: str) -> None:
    """Refuse what no database can store: NUL characters, and halves of surrogate pairs."""
    if "\0" in text:
        raise ValueError(
            f"{argument} holds {quoted(text)}, but {title} allows no NUL character in a name or text."
        )
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(
            f"{argument} holds {quoted(text)}, which is not valid Unicode text: {title} cannot store it."
        ) from None


def _doubled(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _backslashed(text: str) -> str:
    return _doubled(text.replace("\\", "\\\\"))


def _postgresql_text(text: str) -> str:
    # An E'' string reads the same whatever `standard_conforming_strings` says.
    return "E" + _backslashed(text) if "\\" in text else _doubled(text)


def _bigquery_text(text: str) -> str:
    return "'" + text.translate(_BIGQUERY_ESCAPES) + "'"


def _is_binary(x: float) -> bool:
    """Whether the printed decimal is exactly this number, in any type that a column may have."""
    text = number(x)
    return "e" not in text and Decimal(text) == Decimal(x) and float(np.float32(x)) == x


def _is_short(x: float) -> bool:
    """Whether the way from a decimal to a double rounds once: 15 digits, powers of ten up to 22."""
    text = number(x)
    return "e" not in text and len(Decimal(text).normalize().as_tuple().digits) <= _SURE_DIGITS


_SURE_DIGITS, _SURE_POWER = 15, 22
_MANY = 1e15  # up to here whole numbers are exact in a double


def _cast(type_name: str) -> Callable[[float], str]:
    # A text is parsed straight to a double, whatever its digits.
    return lambda x: f"'{x!r}'::{type_name}"


def _duckdb_number(x: float) -> str:
    # A bare 0.1 is a decimal, which is rounded to the type of the column: wrong for a FLOAT.
    if _is_binary(x):
        return number(x)
    if _is_short(x):
        return f"{number(x)}::DOUBLE"
    return number(x) if "e" in number(x) else f"'{x!r}'::DOUBLE"


def _postgresql_number(x: float) -> str:
    # A decimal beside a double or real is read as a double, by its text. Whole-number columns are
    # compared digit by digit, so that beyond the whole numbers of a double they must be made doubles.
    return number(x) if abs(x) < _MANY else f"'{x!r}'::DOUBLE PRECISION"


def _snowflake_number(x: float) -> str:
    return number(x) if _is_short(x) else f"'{x!r}'::FLOAT"


def _mysql_double(x: float) -> str:
    # Only a literal with an exponent is a double in MySQL; others are decimals.
    return repr(x) if "e" in repr(x) else f"{x!r}e0"


def _mysql_number(x: float) -> str:
    return number(x) if _is_binary(x) else _mysql_double(x)


def _sqlite_number(x: float) -> str:
    """Return a literal if SQLite surely reads it exactly, otherwise an exact fraction.

    SQLite promises 15 digits only: version 3.40 misreads about one in 200 doubles of 17 digits.
    Fifteen digits times a power of ten up to 22 are exact in any implementation.
    """
    return number(x) if _sqlite_reads(x) else _sqlite_fraction(x)


def _sqlite_double(x: float) -> str:
    return repr(x) if _sqlite_reads(x) else _sqlite_fraction(x)


def _sqlite_reads(x: float) -> bool:
    _, digits, exponent = Decimal(repr(x)).normalize().as_tuple()
    return len(digits) <= _SURE_DIGITS and abs(int(exponent)) <= _SURE_POWER


def _sqlite_fraction(x: float) -> str:
    fraction, power = frexp(x)
    whole, power = int(fraction * 2**53), power - 53
    zeros = (whole & -whole).bit_length() - 1
    whole, power = whole >> zeros, power + zeros
    # Steps of at most 2**62: a larger integer would itself be read as an inexact float.
    steps = [62] * (abs(power) // 62) + [abs(power) % 62]
    scaling = "".join(f" {'*' if power > 0 else '/'} {2**step}" for step in steps if step)
    return f"(1.0 * {whole}{scaling} /* {x!r} */)"


def _sqlite_column(x: str) -> str:
    # Any column may hold texts, as after .import; texts that are not numbers are missing values.
    # Whole numbers beyond those of a double are compared as the doubles that a tree tests.
    return f"CASE WHEN {x} = CAST({x} AS NUMERIC) THEN CAST({x} AS REAL) END"


def _sqlite_truth(x: str) -> str:
    words = "WHEN '1' THEN 1 WHEN '1.0' THEN 1 WHEN 'true' THEN 1 WHEN 'yes' THEN 1"
    return f"CASE LOWER({x}) {words} {words.replace('1', '0').replace('true', 'false').replace('yes', 'no')} END"


def _equals_nan(type_name: str) -> Callable[[str], tuple[str, str]]:
    return lambda x: (f"{x} = 'NaN'::{type_name}", f"{x} <> 'NaN'::{type_name}")


def _interval(days: int, time: str, sign: str) -> str:
    day = f"{sign}{days} day{'' if days == 1 else 's'}"
    return f"INTERVAL '{day} {sign}{time}'" if time != "00:00:00" else f"INTERVAL '{day}'"


DIALECTS: dict[str, Dialect] = {
    "duckdb": Dialect(
        "DuckDB",
        _duckdb_number,
        _cast("DOUBLE"),
        _doubled,
        nan=lambda x: (f"isnan({x})", f"NOT isnan({x})"),
        nan_is_largest=True,
        zoned=lambda text: f"TIMESTAMPTZ '{text}'",
        interval=_interval,
        clock=lambda text: f"'{text}'",  # takes the type of the column, of which there are several
    ),
    "postgresql": Dialect(
        "PostgreSQL",
        _postgresql_number,
        _cast("DOUBLE PRECISION"),
        _postgresql_text,
        nan=_equals_nan("DOUBLE PRECISION"),
        nan_is_largest=True,
        zoned=lambda text: f"TIMESTAMPTZ '{text}'",
        interval=_interval,
        clock=lambda text: f"TIME '{text}'",
        folds_case=False,
    ),
    # SQLite reads an unknown name in double quotes as a text, without an error; it never does this
    # with backticks.
    "sqlite": Dialect(
        "SQLite",
        _sqlite_number,
        _sqlite_double,
        _doubled,
        quote="`",
        has_booleans=False,
        has_dates=False,
        has_empty_names=True,
        as_number=_sqlite_column,
        as_truth=_sqlite_truth,
        as_date=lambda x: f"NULLIF({x}, '')",
    ),
    "bigquery": Dialect(
        "BigQuery",
        number,  # literals with a point are doubles
        repr,
        _bigquery_text,
        quote="`",
        nan=lambda x: (f"IS_NAN({x})", f"NOT IS_NAN({x})"),
        timestamp="DATETIME",
        zoned=lambda text: f"TIMESTAMP '{text}'",
        interval=lambda days, time, sign: f"INTERVAL '{sign}{days} {sign}{time}' DAY TO SECOND",
        clock=lambda text: f"TIME '{text}'",
        escapes_names=True,
        has_dots=False,
    ),
    "snowflake": Dialect(
        "Snowflake",
        _snowflake_number,
        _cast("FLOAT"),
        _backslashed,
        nan=_equals_nan("FLOAT"),
        nan_is_largest=True,
        zoned=lambda text: f"'{text}'::TIMESTAMP_TZ",
        clock=lambda text: f"'{text}'::TIME",
        folds_case=False,
    ),
    "mysql": Dialect(
        "MySQL",
        _mysql_number,
        _mysql_double,
        _backslashed,
        quote="`",
        clock=lambda text: f"TIME '{text}'",
        # Most collations take A for a, and ignore spaces at the end of a text.
        exact_text=lambda x: f"CAST({x} AS BINARY)",
    ),
}
