"""The roundest value of a gap, by trying all values digit by digit, in exact fractions."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from fractions import Fraction
from math import inf

DAY = 86_400_000_000  # microseconds
CLOCK = (3_600_000_000, 60_000_000, 1_000_000, 1000, 1)
EPOCH = datetime(1970, 1, 1)


def roundest(low: float, high: float) -> set[float]:
    """Return the numbers of the fewest digits in ``low <= t < high``, nearest to the middle.

    A decimal counts by the float that it becomes; between whole numbers only whole ones count.
    """
    if low <= 0 < high:
        return {0.0}
    sign = 1 if low > 0 else -1
    first, last = sorted(abs(Fraction(end)) for end in (low, high))
    is_whole = first.denominator == last.denominator == 1
    for n_digits in range(1, 18):
        found = [
            sign * each
            for each in _with_digits(first, last, n_digits)
            if low <= _float(sign * each) < high and (each.denominator == 1 or not is_whole)
        ]
        if found:
            break
    middle = (Fraction(low) + Fraction(high)) / 2
    # Of two that are equally near, up to far more digits than floats have, either may be taken.
    most = min(abs(each - middle) for each in found) * (1 + Fraction(1, 10**40))
    return {float(each) for each in found if abs(each - middle) <= most}


def _float(decimal: Fraction) -> float:
    try:
        return float(decimal)
    except OverflowError:
        return inf if decimal > 0 else -inf


def digits_of(x: float) -> int:
    """Return the significant digits of the shortest decimal that becomes this float."""
    mantissa = repr(abs(float(x))).split("e")[0].replace(".", "").strip("0")
    return len(mantissa)


def _with_digits(first: Fraction, last: Fraction, n_digits: int) -> Iterator[Fraction]:
    """Give the decimals of so many digits from a little below the first number to a little above the last."""
    for exponent in range(_decade(first) - 1, _decade(last) + 2):
        step = Fraction(10) ** (exponent - n_digits + 1)
        least = max(10 ** (n_digits - 1), first // step - 1)
        most = min(10**n_digits - 1, last // step + 2)
        for digits in range(least, most + 1):
            yield digits * step


def _decade(x: Fraction) -> int:
    """Return the power of ten of the first digit; of zero that of the smallest float."""
    if not x:
        return -324
    decade = len(str(x.numerator)) - len(str(x.denominator))
    while Fraction(10) ** decade > x:
        decade -= 1
    return decade


def roundest_dates(low: int, high: int) -> set[int]:
    """Return the starts of the longest unit of the calendar in ``low < t <= high``, nearest to the middle."""
    found: list[int] = []
    for starts in (_years, _months, *(_steps(unit) for unit in (DAY, *CLOCK))):
        found = [each for each in starts(low, high) if low < each <= high]
        if found:
            break
    least = min(abs(2 * each - low - high) for each in found)
    return {each for each in found if abs(2 * each - low - high) <= least + 1}


def _years(low: int, high: int) -> Iterator[int]:
    for year in range(max(1, _moment(low).year), min(9999, _moment(high).year) + 1):
        yield (datetime(year, 1, 1) - EPOCH) // timedelta(microseconds=1)


def _months(low: int, high: int) -> Iterator[int]:
    for year in range(_moment(low).year, _moment(high).year + 1):
        for month in range(1, 13):
            yield (datetime(year, month, 1) - EPOCH) // timedelta(microseconds=1)


def _steps(unit: int):
    """Return the function that gives the multiples of a unit up to a little above the gap."""
    return lambda low, high: range(low // unit * unit, high + 1, unit)


def _moment(x: int) -> datetime:
    return EPOCH + timedelta(microseconds=x)


def roundest_durations(low: int, high: int) -> tuple[int, int]:
    """Return the longest unit of which a multiple lies in ``low <= t < high``, and its fewest digits there."""
    for unit in (DAY, *CLOCK):
        first, last = -(-low // unit), (high - 1) // unit
        if first <= last:
            if first <= 0 <= last:
                return unit, 0
            ends = (first, last + 1) if first > 0 else (-last, -first + 1)
            return unit, digits_of(next(iter(roundest(*map(float, ends)))))
    raise AssertionError("every microsecond is a multiple")
