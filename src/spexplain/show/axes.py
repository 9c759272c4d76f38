"""Where values of any kind lie along an axis: categories side by side, missing values in a separate strip."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from math import ceil, floor, isfinite, log10
from typing import Literal, NamedTuple, TypeVar

import numpy as np

from spexplain.aliases import Floats
from spexplain.tree import Column, Interval, Region, Test
from spexplain.tree.column import zone_info

N_TICKS = 5
_STRIP = 0.1  # of the axis, for missing values
_SPREAD = 0.6  # of the room of a category, over which its points are spread
# Multiples of these fill a square evenly, the same way every time.
_EVEN = {"x": 0.7548776662466927, "y": 0.5698402909980532}
_DATE_STEPS = {
    "Y": (100, 50, 20, 10, 5, 2, 1),
    "M": (6, 3, 1),
    "D": (14, 7, 2, 1),
    "h": (12, 6, 3, 1),
    "m": (30, 15, 5, 1),
    "s": (30, 15, 5, 1),
}
_UNITS = {"d": 86_400_000_000, "h": 3_600_000_000, "min": 60_000_000, "s": 1_000_000}


_T = TypeVar("_T")


class AxisTick(NamedTuple):
    """A value and its text."""

    at: float
    text: str


class Axis(NamedTuple):
    """An axis of one column, from `low` to `high`, with a strip for missing values below it.

    The category of code c takes the room from c - 1/2 to c + 1/2.

    Examples
    --------
    >>> from spexplain.show.axes import Axis
    >>> from spexplain.tree import Column, Region, Test
    >>> axis = Axis.of(Column("channel", "category", ("app", "mail", "web")), 0, 0, has_missing=False)
    >>> axis.pieces(Region.of_codes([0, 1])), axis.cuts(Region(), Test(0, values=(0, 2)))
    ([(-0.5, 1.5)], [0.5, 1.5])
    """

    column: Column
    low: float
    high: float
    strip: float  # its width, 0 where no value is missing

    @classmethod
    def of(cls, column: Column, low: float, high: float, *, has_missing: bool) -> "Axis":
        """Return the axis of a column whose measured values are drawn from low to high."""
        if n_listed(column):
            low, high = -0.5, n_listed(column) - 0.5
        strip = _STRIP * (high / 2 - low / 2) * 2 if has_missing else 0.0
        return cls(column, low, high, strip)

    @property
    def start(self) -> float:
        """The lower end, with the strip."""
        return self.low - self.strip

    def places(
        self, values: Sequence[float | None] | Floats, direction: Literal["x", "y"] = "x"
    ) -> Floats:
        """Return where points are drawn; those of one category or without a value are spread."""
        x = np.array([np.nan if each is None else each for each in values], dtype=np.float64)
        spread = (np.arange(1, len(x) + 1) * _EVEN[direction] % 1.0 - 0.5) * _SPREAD
        if n_listed(self.column):
            x = x + spread
        is_missing = np.isnan(x)
        x[is_missing] = self.low - self.strip * (0.5 + spread[is_missing])
        return x

    def pieces(self, region: Region) -> list[Interval]:
        """Return the parts of the axis where the values of a region lie."""
        inside = region.intervals
        if n_listed(self.column):
            listed = Region.of_codes(region.codes(n_listed(self.column)))
            inside = tuple((low + 0.5, high + 0.5) for low, high in listed.intervals)
        held = [
            (max(self._drawn(low), self.low), min(self._drawn(high), self.high))
            for low, high in inside
        ]
        strip = [(self.start, self.low)] if self.strip and region.missing else []
        return strip + [(low, high) for low, high in held if low < high]

    def _drawn(self, end: float) -> float:
        """Return where the end of an interval is drawn: between two whole numbers, not on one."""
        is_count = self.column.kind in ("whole", "word") and isfinite(end) and end == floor(end)
        return end + 0.5 if is_count else end

    def cuts(self, box: Region, test: Test) -> list[float]:
        """Return where a test of this column parts the values of a box."""
        sides = [self.pieces(box.common(test.region(passed=passed))) for passed in (True, False)]
        passed, failed = ({end for piece in side for end in piece} for side in sides)
        return sorted(end for end in passed & failed if isfinite(end))

    def ticks(self) -> list[AxisTick]:
        """Return a few round values with their texts."""
        return [
            *([AxisTick(self.low - self.strip / 2, "missing")] if self.strip else []),
            *self._ticks(),
        ]

    def _ticks(self) -> list[AxisTick]:
        column = self.column
        if n_listed(column):
            return [AxisTick(code, column.say(code)) for code in range(n_listed(column))]
        if column.kind == "date":
            return date_ticks(self.low, self.high, column.zone)
        if column.kind == "duration":
            return _duration_ticks(self.low, self.high)
        marks = steps(self.low, self.high)
        if column.kind in ("whole", "word") and self.high - self.low > 2:
            marks = [x for x in marks if x == floor(x)]
        return [AxisTick(x, short(x)) for x in marks]


def n_listed(column: Column) -> int:
    """Return how many values stand side by side; 0 for measured ones."""
    if column.kind == "category":
        return len(column.categories)
    return 2 if column.kind in ("boolean", "flag") else 0


def thinned(ticks: Sequence[_T], n_most: int) -> list[_T]:
    """Return at most so many of some ticks, evenly chosen."""
    return list(ticks[:: max(1, ceil(len(ticks) / n_most))])


def steps(low: float, high: float) -> list[float]:
    """Return a few round numbers in a range."""
    rough = (high / 2 - low / 2) / N_TICKS * 2
    if not isfinite(rough) or rough < 1e-300:
        return [low, high]
    power = 10.0 ** floor(log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= 0.9999 * rough)
    first = ceil(low / step - 1e-9)
    last = floor(high / step + 1e-9)
    # Beyond 2**53 neighbouring multiples are one number: no round steps are left.
    if not -(2**53) < first <= last < 2**53:
        return [low, high]
    return [step * place for place in range(first, last + 1)]


def short(x: float) -> str:
    """Return a number that fits beside an axis.

    Examples
    --------
    >>> from spexplain.show.axes import short
    >>> short(0.25), short(150000.0), short(-2.5e6), short(1e12)
    ('0.25', '150k', '-2.5M', '1e+12')
    """
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if 10 * unit <= abs(x) * (10 if unit == 1e6 else 1) < 1e4 * unit:
            return f"{x / unit:.6g}{letter}"
    return f"{x:.6g}" if abs(x) > 1e-300 else "0"


def date_ticks(low: float, high: float, zone: str | None = None) -> list[AxisTick]:
    """Return starts of years, months, days and so on in a range of moments.

    Examples
    --------
    >>> from spexplain.show.axes import date_ticks
    >>> [tick.text for tick in date_ticks(8.5e14, 8.8e14)]
    ['1997-01', '1997-04', '1997-07', '1997-10']
    """
    shift = _offset((low + high) / 2, zone)
    first, last = np.datetime64(int(low + shift), "us"), np.datetime64(int(high + shift), "us")
    for unit, factors in _DATE_STEPS.items():
        start, stop = first.astype(f"datetime64[{unit}]"), last.astype(f"datetime64[{unit}]")
        begins, ends = int(start.astype(np.int64)), int(stop.astype(np.int64))
        if ends - begins > 1000 * max(factors):
            break  # the dates of a table lie closer together
        for factor in factors:
            counts = np.arange(-(-begins // factor) * factor, ends + 1, factor)
            marks = counts.astype(f"datetime64[{unit}]")
            marks = marks[(first <= marks) & (marks <= last)]
            if len(marks) >= 3:
                return [_date_tick(mark, unit, shift) for mark in thinned(list(marks), 2 * N_TICKS)]
    return [AxisTick(x, Column("", "date", zone=zone).say(x)) for x in (ceil(low), floor(high))]


def _offset(x: float, zone: str | None) -> float:
    """Return by how much the clocks of a zone are ahead at a moment, in microseconds."""
    if zone is None:
        return 0.0
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=int(x))
    ahead = moment.astimezone(zone_info(zone)).utcoffset()
    return 0.0 if ahead is None else ahead / timedelta(microseconds=1)


def _date_tick(mark: np.datetime64, unit: str, shift: float) -> AxisTick:
    at = float(mark.astype("datetime64[us]").astype(np.int64)) - shift
    text = str(mark.astype("datetime64[s]"))  # 1997-05-26T14:00:00
    if unit in "YMD":
        return AxisTick(at, text[: {"Y": 4, "M": 7, "D": 10}[unit]])
    return AxisTick(at, text[5:16].replace("T", " ") if unit != "s" else text[11:])


def _duration_ticks(low: float, high: float) -> list[AxisTick]:
    """Return round numbers of days, hours, minutes or seconds."""
    widest = [name for name, unit in _UNITS.items() if high - low >= 3 * unit]
    name = widest[0] if widest else "s"
    marks: Iterable[float] = steps(low / _UNITS[name], high / _UNITS[name])
    return [AxisTick(x * _UNITS[name], f"{short(x)} {name}") for x in marks]
