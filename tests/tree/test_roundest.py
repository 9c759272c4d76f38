"""Thresholds are the roundest values of their gaps, for numbers, dates and durations."""

from datetime import datetime
from math import inf, nextafter
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from oracles import roundest as oracle
from spexplain.table.host import HostTable
from spexplain.table.rounding import settled
from spexplain.tree import Column, Tree
from spexplain.tree.column import roundest, significant_digits

# Neighbours in value, subnormal and huge numbers, both number types, and what people write.
NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(width=32, allow_nan=False, allow_infinity=False),
    st.integers(-(10**6), 10**6).map(float),
    st.decimals(-1000, 1000, places=3).map(float),
    st.sampled_from([5e-324, 1e-310, 1e-30, 0.1, 1.0, 1e15, 2.0**53, 1e308, 20260101.0]),
)


@st.composite
def gaps(draw: st.DrawFn) -> tuple[float, float]:
    """Two numbers in order: any two, close ones, and neighbouring floats of both types."""
    low = draw(NUMBERS)
    step = draw(st.sampled_from(["any", "near", "next", "next single"]))
    if step == "any":
        low, high = sorted((low, draw(NUMBERS)))
    elif step == "near":
        high = low + abs(low) * draw(st.sampled_from([1e-15, 1e-9, 1e-3, 0.1, 1.0]))
    elif step == "next":
        high = nextafter(low, inf)
    else:
        with np.errstate(over="ignore"):
            low = float(np.float32(low))
            high = float(np.nextafter(np.float32(low), np.float32(inf)))
    assume(-inf < low < high < inf)
    return low, high


@given(gaps())
@example((1.9, 3.0))
@example((0.95, 1.05))
@example((9.2, 10.4))
@example((-10.4, -9.2))
@example((-1.0, 0.0))
@example((0.0, 5e-324))
@example((-5e-324, 0.0))
@example((1e308, 1.7e308))
def test_roundest_number(gap: tuple[float, float]) -> None:
    low, high = gap
    found = roundest(low, high)
    assert low <= found < high
    assert found in oracle.roundest(low, high)
    assert significant_digits(found) == oracle.digits_of(found)
    assert Column("x").between(low, high) == found
    assert Column("x").read(Column("x").say(found)) == found


@given(st.integers(-(10**9), 10**9), st.integers(1, 10**6))
def test_whole_numbers_between_whole_numbers(low: int, width: int) -> None:
    found = Column("orders", "whole").between(float(low), float(low + width))
    assert found == int(found)


@given(st.lists(NUMBERS, min_size=2, max_size=12, unique=True), st.booleans(), st.data())
def test_settled_thresholds_part_the_same_rows(
    values: list[float], single: bool, data: st.DataObject
) -> None:
    with np.errstate(over="ignore"):
        column = np.unique(np.array(values, dtype=np.float32 if single else np.float64))
    column = column[np.isfinite(column)]
    assume(len(column) > 1)
    place = data.draw(st.integers(1, len(column) - 1))
    below, above = float(column[place - 1]), float(column[place])
    tree = Tree.root(n_features=1, size=len(column)).split(0, feature=0, threshold=below)
    found = settled(tree, HostTable(column[:, None]))
    assert found.apply(column[:, None]).tolist() == tree.apply(column[:, None]).tolist()
    assert float(found.threshold[0]) in oracle.roundest(below, above)


# --- Dates and durations --------------------------------------------------------------------------

WIDTHS = st.sampled_from([1, 2, 999, 10**6, 59 * 10**6, 10**10, 10**11, 3 * 10**12, 10**14])
_285_YEARS = 2**53 - 2**48


@st.composite
def moments(draw: st.DrawFn, largest: int = _285_YEARS) -> tuple[int, int]:
    """Two different whole numbers of microseconds, close ones and distant ones."""
    low = draw(st.integers(-largest, largest) | st.sampled_from([-1, 0, -oracle.DAY, oracle.DAY]))
    return low, min(low + draw(WIDTHS) + draw(st.integers(0, 1000)), largest + 2001)


@given(moments())
@example((864_604_800_000_000 - 1, 864_604_800_000_000))
def test_roundest_date(gap: tuple[int, int]) -> None:
    low, high = gap
    column = Column("day", "date")
    found = column.between(float(low), float(high))
    assert low <= found < high
    assert found + 1 in oracle.roundest_dates(low, high)
    assert column.read(column.say(found + 1)) == found + 1


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "UTC", "+05:30"])
@given(moments(largest=2**51))
def test_roundest_date_of_a_time_zone(zone: str, gap: tuple[int, int]) -> None:
    low, high = gap
    column = Column("day", "date", zone=zone)
    found = column.between(float(low), float(high))
    assert low <= found < high
    assert column.read(column.say(found + 1)) == found + 1
    if "/" not in zone:
        return
    # No year starts in the gap, unless one starts right there.
    years = [datetime(year, 1, 1, tzinfo=ZoneInfo(zone)) for year in range(1895, 2045)]
    epoch = datetime(1970, 1, 1, tzinfo=ZoneInfo("UTC"))
    starts = {int((year - epoch).total_seconds()) * 10**6 for year in years}
    if any(low < start <= high for start in starts):
        assert int(found) + 1 in starts


@given(st.integers(2**53, 2**57), WIDTHS, st.sampled_from([-1, 1]))
def test_dates_of_other_ages_stay_in_their_gaps(start: int, width: int, sign: int) -> None:
    low, high = sorted((float(sign * start), float(sign * (start + width))))
    assume(low < high)
    assert low <= Column("day", "date").between(low, high) < high


@given(moments())
def test_roundest_duration(gap: tuple[int, int]) -> None:
    low, high = gap
    column = Column("wait", "duration")
    found = column.between(float(low), float(high))
    assert low <= found < high
    unit, n_digits = oracle.roundest_durations(low, high)
    assert found % unit == 0
    assert oracle.digits_of(found // unit) == n_digits
    assert column.read(column.say(found)) == found
