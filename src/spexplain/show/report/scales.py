"""From values to places in a drawing, and the round numbers beside an axis."""

from collections.abc import Iterable
from math import ceil, floor, isfinite, log10
from typing import NamedTuple, Self

_N_TICKS = 5
_STEEP = 5.0  # ratios beyond are drawn on a logarithmic scale, where that is asked for
_PADDING = 0.04


class Tick(NamedTuple):
    """A mark on an axis."""

    at: float
    text: str


class Scale(NamedTuple):
    """A map from [low, high] to [start, end]."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    @classmethod
    def around(cls, values: Iterable[float], start: float, end: float) -> Self:
        """Return a scale with a little room around the values."""
        known = list(values) or [0.0, 1.0]
        low, high = min(known), max(known)
        room = _PADDING * (high / 2 - low / 2) * 2
        if not room or not isfinite(room):
            room = 0.0 if room else 0.5 * (abs(low) or 1.0)
        low, high = max(low - room, -1.7e308), min(high + room, 1.7e308)
        return cls(low, high, start, end)

    @classmethod
    def steep(cls, values: Iterable[float], start: float, end: float) -> Self:
        """Return a scale for ratios, logarithmic if they differ much."""
        known = list(values) or [1.0]
        low, high = min(known), max(known)
        if low > 0 and high / low > _STEEP:
            return cls(low / 1.1, high * 1.1, start, end, is_log=True)
        return cls.around(known, start, end)

    def __call__(self, x: float) -> float:
        """Return the place of a value, held within the drawing."""
        if self.is_log:
            part = (log10(x) - log10(self.low)) / (log10(self.high) - log10(self.low))
        else:
            part = (x / 2 - self.low / 2) / (self.high / 2 - self.low / 2)
        return round(self.start + min(1.0, max(0.0, part)) * (self.end - self.start), 1)

    def ticks(self) -> list[Tick]:
        """Return a few round numbers with their places.

        Examples
        --------
        >>> from spexplain.show.report.scales import Scale
        >>> [tick.text for tick in Scale(0.0, 1.0, 0, 100).ticks()]
        ['0', '0.2', '0.4', '0.6', '0.8', '1']
        """
        marks = _decades(self.low, self.high) if self.is_log else _steps(self.low, self.high)
        return [Tick(self(x), _short(x)) for x in marks]


def _steps(low: float, high: float) -> list[float]:
    rough = (high / 2 - low / 2) / _N_TICKS * 2
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


def _decades(low: float, high: float) -> list[float]:
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    factors = (1, 2, 5) if len(powers) <= 3 else (1,)
    marks = [factor * 10.0**power for power in powers for factor in factors]
    marks = [x for x in marks if low <= x <= high]
    return marks[:: max(1, ceil(len(marks) / (2 * _N_TICKS)))]


def _short(x: float) -> str:
    """Return a number that fits beside an axis.

    Examples
    --------
    >>> from spexplain.show.report.scales import _short
    >>> _short(0.25), _short(150000.0), _short(-2.5e6), _short(1e12)
    ('0.25', '150k', '-2.5M', '1e+12')
    """
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if 10 * unit <= abs(x) * (10 if unit == 1e6 else 1) < 1e4 * unit:
            return f"{x / unit:.6g}{letter}"
    return f"{x:.6g}" if abs(x) > 1e-300 else "0"
