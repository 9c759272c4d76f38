"""How six databases spell names, texts and numbers."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from math import frexp
from typing import Any, Literal, TypeAlias

from spexplain.exceptions import quoted

DialectName: TypeAlias = Literal["duckdb", "postgresql", "sqlite", "bigquery", "snowflake", "mysql"]

_BIGQUERY_ESCAPES = str.maketrans(
    {"\\": "\\\\", "'": "\\'", "`": "\\`", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
)


@dataclass(frozen=True)
class Dialect:
    """The spelling of one database."""

    title: str
    number: Callable[[float], str]
    text: Callable[[str], str]
    quote: str = '"'
    nan: str | None = None  # how NaN is written where it sorts above all numbers
    folds_case: bool = True  # whether quoted names that differ in case only are one name
    escapes_names: bool = False  # backslashes in names instead of doubled quotes
    has_booleans: bool = True
    has_empty_names: bool = False
    has_dots: bool = True  # where not, a dot parts a quoted name, too

    def identifier(self, name: str, argument: str) -> str:
        """Return a quoted name; refuse one that the database cannot have."""
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

    def literal(self, value: Any) -> str:
        """Return a label as the database writes it."""
        if isinstance(value, bool):
            return str(value).upper() if self.has_booleans else str(int(value))
        if isinstance(value, int):
            return str(value)
        if isinstance(value, float):
            return self.number(value)
        check_characters(value, "label", self.title)
        return self.text(value)


def check_characters(text: str, argument: str, title: str) -> None:
    """Refuse what no database stores: NUL characters, and halves of surrogate pairs."""
    if "\0" in text:
        raise ValueError(
            f"{argument} holds {quoted(text)}, but {title} allows no NUL character in a name or text."
        )
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(
            f"{argument} holds {quoted(text)}, which is no valid Unicode text: {title} cannot store it."
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


def _cast(type_name: str) -> Callable[[float], str]:
    # A text is parsed straight to a double. A bare 0.1 is a decimal to these databases: its way to
    # a double may round twice, or the comparison may be one of decimals.
    return lambda x: f"'{x!r}'::{type_name}"


def _bigquery_number(x: float) -> str:
    return f"CAST('{x!r}' AS FLOAT64)"


def _mysql_number(x: float) -> str:
    # Only a literal with an exponent is a double in MySQL; others are decimals.
    return repr(x) if "e" in repr(x) else f"{x!r}e0"


def _sqlite_number(x: float) -> str:
    """Return a literal if SQLite surely reads it exactly, otherwise an exact fraction.

    SQLite promises 15 digits only: version 3.40 misreads about one in 200 doubles of 17 digits.
    Fifteen digits times a power of ten up to 22 are exact in any implementation.
    """
    _, digits, exponent = Decimal(repr(x)).normalize().as_tuple()
    if len(digits) <= 15 and isinstance(exponent, int) and abs(exponent) <= 22:
        return repr(x)
    fraction, power = frexp(x)
    whole, power = int(fraction * 2**53), power - 53
    zeros = (whole & -whole).bit_length() - 1
    whole, power = whole >> zeros, power + zeros
    # Steps of at most 2**62: a larger integer would itself be read as an inexact float.
    steps = [62] * (abs(power) // 62) + [abs(power) % 62]
    scaling = "".join(f" {'*' if power > 0 else '/'} {2**step}" for step in steps if step)
    return f"(1.0 * {whole}{scaling} /* {x!r} */)"


DIALECTS: dict[str, Dialect] = {
    "duckdb": Dialect("DuckDB", _cast("DOUBLE"), _doubled, nan="'NaN'::DOUBLE"),
    "postgresql": Dialect(
        "PostgreSQL",
        _cast("DOUBLE PRECISION"),
        _postgresql_text,
        nan="'NaN'::DOUBLE PRECISION",
        folds_case=False,
    ),
    # A name in double quotes that is no column is read as a text by SQLite, without an error; one
    # in backticks never is.
    "sqlite": Dialect(
        "SQLite",
        _sqlite_number,
        _doubled,
        quote="`",
        has_booleans=False,
        has_empty_names=True,
    ),
    "bigquery": Dialect(
        "BigQuery",
        _bigquery_number,
        _bigquery_text,
        quote="`",
        escapes_names=True,
        has_dots=False,
    ),
    "snowflake": Dialect(
        "Snowflake", _cast("FLOAT"), _backslashed, nan="'NaN'::FLOAT", folds_case=False
    ),
    "mysql": Dialect("MySQL", _mysql_number, _backslashed, quote="`"),
}
