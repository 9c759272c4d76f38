"""Descriptions of columns, and how their values are written, read and rounded: the formatter of all outputs."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from functools import cached_property
from math import floor, isfinite
from typing import Any, Literal, TypeAlias, get_args
from zoneinfo import ZoneInfo

import numpy as np

Kind: TypeAlias = Literal[
    "number", "whole", "flag", "boolean", "category", "date", "duration", "word"
]
KINDS: tuple[Kind, ...] = get_args(Kind)

# Dates and durations are whole numbers of microseconds: exact in a float for 285 years around 1970.
_DAY = 86_400_000_000
_CLOCK = {"h": 3_600_000_000, "m": 60_000_000, "s": 1_000_000, "ms": 1000, "us": 1}
_DATE_UNITS: tuple[Literal["Y", "M", "D", "h", "m", "s", "ms", "us"], ...] = (
    "Y", "M", "D", "h", "m", "s", "ms", "us"  # from the roundest on
)  # fmt: skip
_DURATION = re.compile(r"(-?)(?:(\d+) days?)?\s*(?:(\d+):(\d\d):(\d\d)(?:\.(\d{1,6}))?)?")
_BARE = re.compile(r"[^\W_](?:[\w .+/%&-]*[\w+%])?")  # values that are read without quotes
_JOINING = re.compile(r"\b(?:and|or|in|is|missing)\b")  # words of rules
_PRECISE = Context(prec=60)
_MOST_DIGITS = 17  # of a float


@dataclass(frozen=True)
class Column:
    """A column of the user's table: its name, and what its values mean.

    In tables and trees every value is a number: a category is the position of its value in `categories`,
    a date the microseconds since 1970 (UTC), a duration microseconds, a boolean 0 or 1. NaN is a missing
    value, or one that was never seen in training.

    Parameters
    ----------
    name : str
        Name of the column, or x0, x1, ... in a table without names.
    kind : {"number", "whole", "flag", "boolean", "category", "date", "duration", "word"}
        "flag": whole numbers 0 and 1; "word": how often a document has a word, or its weight in it.
    categories : tuple
        The values of a category, in order.
    zone : str, optional
        Time zone in which dates are written.
    has_missing : bool, default=False
        Whether some training rows have missing values; only then do rules mention missing values.
    clock : bool, default=False
        Whether durations are times of a day, counted from midnight.

    Examples
    --------
    >>> from spexplain.tree import Column
    >>> Column("channel", "category", ("app", "web")).say(1)
    'web'
    >>> Column("last order", "date").say(864_604_800_000_000)
    '1997-05-26'
    >>> Column("age").say(0.1 + 0.2), Column("age").say(1234567.89)
    ('0.30000000000000004', '1234567.89')
    """

    name: str
    kind: Kind = "number"
    categories: tuple[Any, ...] = ()
    zone: str | None = None
    has_missing: bool = False
    clock: bool = False

    @cached_property
    def codes(self) -> dict[Any, int]:
        """The code of every category; texts such as "1" are not the same as the number 1."""
        return {_key(value): code for code, value in enumerate(self.categories)}

    def code(self, value: Any) -> float:
        """Return the code of a category, NaN if it was never seen."""
        try:
            return float(self.codes.get(_key(value), np.nan))
        except TypeError:  # lists and the like
            return float("nan")

    def say(self, x: float) -> str:
        """Return a value as text, which `read` reads back."""
        if np.isnan(x):
            return "missing"
        if self.kind == "category":
            return quoted_value(self.categories[int(x)])
        if self.kind == "boolean":
            return "yes" if x == 1 else "no" if x == 0 else number(x)
        if self.kind == "date":
            return _date_text(x, self.zone)
        if self.kind == "duration":
            return _duration_text(x)
        return number(x)

    def read(self, text: str) -> float:
        """Return the value that `say` wrote as text; refuse anything else."""
        text = text.strip()
        if text == "missing":
            return float("nan")
        if self.kind == "category":
            known = {quoted_value(value): float(code) for code, value in enumerate(self.categories)}
            return known[text]
        if self.kind == "boolean" and text in ("yes", "no"):
            return float(text == "yes")
        if self.kind == "date":
            return _date_value(text, self.zone)
        if self.kind == "duration":
            return _duration_value(text)
        return float(text)

    def between(self, low: float, high: float) -> float:
        """Return the roundest value t with ``low <= t < high``: the threshold of a test of this column.

        For dates it is one microsecond before the roundest date, which the test writes as "before".
        """
        if not (isfinite(low) and isfinite(high)) or self.kind == "category":
            return low if isfinite(low) else high
        if self.kind == "date":
            found = _round_date(low, high, self.zone) - 1
            return found if low <= found < high else low  # far from 1970 floats skip microseconds
        if self.kind == "duration":
            return _round_duration(low, high)
        return roundest(low, high)

    def effort(self, t: float) -> int:
        """Return how complex a threshold is: its number of significant digits, or how fine a date is."""
        if self.kind == "date":
            moment = np.datetime64(_wall(t + 1, self.zone), "us")
            return next(
                place
                for place, unit in enumerate(_DATE_UNITS)
                if moment == moment.astype(f"datetime64[{unit}]")
            )
        if self.kind == "duration":
            units = (_DAY, *_CLOCK.values())
            place = next(place for place, unit in enumerate(units) if t % unit == 0)
            return 20 * place + significant_digits(t / units[place])
        return significant_digits(t)


def significant_digits(x: float) -> int:
    """Return how many digits a number has, without zeros at either end.

    Examples
    --------
    >>> from spexplain.tree.column import significant_digits
    >>> significant_digits(1200.0), significant_digits(0.125), significant_digits(0.0)
    (2, 3, 0)
    """
    return 0 if x == 0 else len(Decimal(repr(float(x))).normalize().as_tuple().digits)


def as_column(column: "Column | str") -> Column:
    """Return a column; a name alone stands for a column of numbers."""
    return column if isinstance(column, Column) else Column(column)


def as_columns(names: Iterable["Column | str"]) -> tuple[Column, ...]:
    """Return columns; names alone stand for columns of numbers."""
    return tuple(map(as_column, names))


def renamed(columns: Sequence[Column], names: Sequence[str]) -> tuple[Column, ...]:
    """Return the columns with other names."""
    return tuple(
        Column(name, each.kind, each.categories, each.zone, each.has_missing, each.clock)
        for each, name in zip(columns, names, strict=True)
    )


def python_value(value: Any) -> Any:
    """Return a NumPy scalar as the Python value that it holds; anything else as it is.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain.tree import python_value
    >>> python_value(np.int8(3)), python_value("web")
    (3, 'web')
    """
    return value.item() if isinstance(value, np.generic) else value


def _key(value: Any) -> Any:
    """Return a category as a key: 1, True and "1" are three values, 1 and 1.0 are one."""
    value = python_value(value)
    return (bool, value) if isinstance(value, bool) else value


def quoted_value(value: Any) -> str:
    """Return a category as rules show it: without quotes if that is unambiguous, else in quotes.

    Examples
    --------
    >>> from spexplain.tree.column import quoted_value
    >>> quoted_value("web shop"), quoted_value("a, b"), quoted_value("")
    ('web shop', '"a, b"', '""')
    """
    text = ("yes" if value else "no") if isinstance(value, bool | np.bool_) else str(value)
    if _BARE.fullmatch(text) and "  " not in text and not _JOINING.search(text):
        return text
    return json.dumps(text, ensure_ascii=not text.isprintable())


def number(x: float) -> str:
    """Return a number in full: no digit is rounded away, and no exponent below 10^15.

    Examples
    --------
    >>> from spexplain.tree import number
    >>> number(15.975), number(1234567.89), number(20260101.0), number(2.5e16), number(1e-9)
    ('15.975', '1234567.89', '20260101', '2.5e+16', '1e-09')
    """
    x = float(x)
    if x == 0:
        return "0"
    if not isfinite(x) or not 1e-6 <= abs(x) < 1e15:
        return repr(x).removesuffix(".0")
    return np.format_float_positional(x, trim="-")


def about(x: float) -> str:
    """Return a computed number, such as a mean, to six digits: no exponent below 10^15.

    Examples
    --------
    >>> from spexplain.tree.column import about
    >>> about(0.1 + 0.2), about(1234567.89), about(1 / 3)
    ('0.3', '1234570', '0.333333')
    """
    return number(float(f"{x:.6g}")) if isfinite(x) else f"{x:g}"


def roundest(low: float, high: float) -> float:
    """Return the number t with ``low <= t < high`` and the fewest significant digits.

    Of several, the one nearest to the middle; a whole number between whole numbers; zero if possible.

    Examples
    --------
    >>> from spexplain.tree.column import roundest
    >>> roundest(1.9, 3.0), roundest(2, 3), roundest(97.3, 104.2), roundest(0.2341, 0.2349), roundest(-1, 1)
    (2.0, 2.0, 100.0, 0.2345, 0.0)
    """
    if low <= 0 < high:
        return 0.0
    is_whole = low == floor(low) and high == floor(high)
    first, last = Decimal(low), Decimal(high)
    middle = _PRECISE.divide(_PRECISE.add(first, last), Decimal(2))
    for n_digits in range(1, _MOST_DIGITS + 1):
        exponent = middle.adjusted() - n_digits + 1
        step = Decimal((0, (1,), max(exponent, 0) if is_whole else exponent))
        found = []
        for rounding in (ROUND_FLOOR, ROUND_CEILING):
            near = middle.quantize(step, rounding, _PRECISE)
            if low <= float(near) < high:
                found.append((abs(_PRECISE.subtract(near, middle)), near))
        if found:
            return float(min(found)[1])
    return low


def _date_text(x: float, zone: str | None) -> str:
    if zone is None:
        moment = np.datetime64(int(x), "us")
        day, clock = str(moment.astype("datetime64[D]")), int(x) % _DAY
        return day if not clock else f"{day} {_clock_text(clock)}"
    local = _local(x, zone)
    offset = ":".join(re.findall("[+-]?..", f"{local:%z}"))  # before 1900 with seconds
    clock = int((local.replace(tzinfo=None) - datetime.combine(local, datetime.min.time())) / _TICK)
    return f"{local:%Y-%m-%d} {_clock_text(clock)}{offset}"


_TICK = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _local(x: float, zone: str) -> datetime:
    return (_EPOCH + timedelta(microseconds=int(x))).astimezone(zone_info(zone))


def zone_info(zone: str) -> Any:
    """Return a time zone by its name, or by its offset such as +02:00."""
    if zone[:1] in "+-" and len(zone) == 6:
        return datetime.strptime(zone, "%z").tzinfo
    return UTC if zone == "UTC" else ZoneInfo(zone)


def _clock_text(clock: int) -> str:
    """Return the time of a day, no finer than needed."""
    seconds, rest = divmod(clock, 1_000_000)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}"
    if seconds % 60 or rest:
        text += f":{seconds % 60:02d}"
    return f"{text}.{rest:06d}".rstrip("0") if rest else text


def _date_value(text: str, zone: str | None) -> float:
    if zone is None:
        return float(np.datetime64(text.replace(" ", "T"), "us").astype(np.int64))
    return float((datetime.fromisoformat(text) - _EPOCH) // _TICK)


def _duration_text(x: float) -> str:
    sign, x = ("-", -x) if x < 0 else ("", x)
    days, clock = divmod(int(x), _DAY)
    seconds, rest = divmod(clock, 1_000_000)
    parts = [f"{days} day" + "s" * (days != 1)] if days else []
    if clock or not days:
        text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
        parts.append(f"{text}.{rest:06d}".rstrip("0") if rest else text)
    return sign + " ".join(parts)


def _duration_value(text: str) -> float:
    found = _DURATION.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a duration such as 3 days 04:30:00.")
    sign, days, hours, minutes, seconds, rest = found.groups()
    clock = (int(hours or 0) * 60 + int(minutes or 0)) * 60 + int(seconds or 0)
    total = int(days or 0) * _DAY + clock * 1_000_000 + int((rest or "0").ljust(6, "0"))
    return float(-total if sign else total)


def _round_date(low: float, high: float, zone: str | None) -> float:
    """Return the roundest moment in ``low < t <= high``: the start of a year, month, day, hour, ..."""
    first, last = _wall(low, zone), _wall(high, zone)
    middle = first + (last - first) // 2
    for unit in _DATE_UNITS:
        start = np.datetime64(middle, "us").astype(f"datetime64[{unit}]")
        found = []
        for step in (0, 1):
            wall = int(
                (start + np.timedelta64(step, unit)).astype("datetime64[us]").astype(np.int64)
            )
            moment = _instant(wall, zone)
            if low < moment <= high:
                found.append((abs(wall - middle), moment))
        if found:
            return min(found)[1]
    return high


def _wall(x: float, zone: str | None) -> int:
    """Return the local time at a moment, in microseconds."""
    if zone is None:
        return int(x)
    local = _local(x, zone)
    return int((local.replace(tzinfo=UTC) - _EPOCH) / _TICK)


def _instant(wall: int, zone: str | None) -> float:
    """Return the moment of a local time."""
    if zone is None:
        return float(wall)
    naive = (_EPOCH + timedelta(microseconds=wall)).replace(tzinfo=zone_info(zone))
    return float((naive - _EPOCH) // _TICK)


def _round_duration(low: float, high: float) -> float:
    """Return the roundest duration in ``low <= t < high``: whole days, else hours, minutes, ..."""
    for unit in (_DAY, *_CLOCK.values()):
        first, last = -(-int(low) // unit), -(-int(high) // unit)  # low <= k * unit < high
        if first < last:
            return roundest(first, last) * unit
    return low
