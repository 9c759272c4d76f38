"""Reads conditions from text: the inverse of `Region.text`, and the tests for the conditions."""

import json
import re
from collections.abc import Callable, Sequence
from math import inf, nextafter
from typing import NamedTuple

from spexplain import messages
from spexplain.tree.column import Column
from spexplain.tree.region import Interval, Region
from spexplain.tree.tree import Test

_MARK = "\0"  # stands for the name of a column, which may look like anything
_VALUE = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[^",{}\s][^,{}]*)')
_N_KNOWN = 5  # values that an error lists
_EXAMPLES = (
    "such as age > 30, channel in {app, web}, last_order before 2024-01-01 or age is missing"
)


class ParsedCondition(NamedTuple):
    """What a text says about one column."""

    feature: int
    region: Region
    says_missing: bool  # whether the text says where missing values go

    def test(self, *, missing: bool | None = None) -> Test:
        """Return the test that values in the region pass; `missing` decides if the text does not."""
        region = self.region
        if missing is not None and not self.says_missing:
            region = region._replace(missing=missing)
        return test_of(self.feature, region)


def test_of(feature: int, region: Region) -> Test:
    """Return the test of one interval that is passed in a region; refuse several intervals."""
    if len(region.intervals) > 1:
        raise ValueError(
            "A test has one interval of numbers only; ask for the others by further tests."
        )
    low, high = region.intervals[0] if region.intervals else (-inf, -inf)
    return Test(feature, low, high, region.missing)


def read_test(text: str, columns: Sequence[Column], *, missing: bool | None = None) -> Test:
    """Return the test that a text describes; the text looks like printed tests.

    Parameters
    ----------
    text : str
        The condition, such as "age > 30", "channel in {app, web}", "last_order before 2024-01-01" or "age is missing".
    columns : sequence of Column
        The columns of the table.
    missing : bool, optional
        Whether missing values pass if the text does not say so; by default they do not.

    Examples
    --------
    >>> from spexplain.tree import Column
    >>> from spexplain.tree.conditions import read_test
    >>> columns = [Column("age", has_missing=True), Column("channel", "category", ("app", "shop", "web"))]
    >>> read_test("age > 30 or missing", columns)
    Test(feature=0, lower=30.0, upper=inf, missing=True, values=None)
    >>> read_test("channel in {app, web}", columns).values
    (0, 2)
    """
    condition = read_condition(text, columns)
    column = columns[condition.feature]
    if column.kind != "category":
        return condition.test(missing=missing)
    codes = tuple(condition.region.codes(len(column.categories)))
    passes = condition.region.missing
    if missing is not None and not condition.says_missing:
        passes = missing
    return Test(condition.feature, missing=passes, values=codes)


def read_condition(text: str, columns: Sequence[Column]) -> ParsedCondition:
    """Return the column and the values that a text describes; refuse what cannot be read, in one sentence.

    Besides the operators that are printed, ``<``, ``>=``, ``<=``, ``!=`` and ``==`` are understood.

    Examples
    --------
    >>> from spexplain.tree import Column
    >>> from spexplain.tree.conditions import read_condition
    >>> read_condition("2 < age <= 5", [Column("age")]).region.intervals
    ((2.0, 5.0),)
    """
    if not isinstance(text, str):
        raise ValueError(f"condition={text!r} must be a text {_EXAMPLES}.")
    text = text.strip()
    # Names may be parts of other names or of values, so the result must print like the text.
    named = [at for at, each in enumerate(columns) if each.name in text or _name(each) in text]
    named.sort(key=lambda at: -len(columns[at].name))
    found: list[ParsedCondition] = []
    reasons: dict[int, str] = {}
    for at in named:
        try:
            condition = _read(text, columns[at], at)
        except _ReadingError as error:
            reasons[at] = str(error)
            continue
        if condition.region.text(columns[at]) == text:
            return condition
        found.append(condition)
    if found:
        return found[0]
    # Short names stand in other words, such as d in "and".
    words = [at for at in reasons if _is_word_of(text, _name(columns[at]))]
    reason = next((reasons[at] for at in (*words, *reasons)), "it names no column of the table")
    if len(words) > 1 and " and " in text:
        reason = "a test asks about one column only"
    raise ValueError(f"condition={text!r} cannot be read: {reason}; write it {_EXAMPLES}.")


def _is_word_of(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


class _ReadingError(Exception):
    """What is wrong with a condition."""


def _name(column: Column) -> str:
    """Return the name as it is written in a condition."""
    return '"' + column.name.replace('"', '\\"') + '"' if column.kind == "word" else column.name


def _read(text: str, column: Column, at: int) -> ParsedCondition:
    full = Region().intervals
    whole = {
        f"{column.name} is missing": ParsedCondition(at, Region((), True), True),
        f"no value of {column.name}": ParsedCondition(at, Region((), False), True),
        f"{column.name} is not missing": ParsedCondition(at, Region(full, False), True),
        f"any {column.name}": ParsedCondition(at, Region(full, True), column.has_missing),
    }
    if text in whole:
        return whole[text]
    missing, says = False, column.has_missing
    if text.endswith(" or missing"):
        text, missing, says = text.removesuffix(" or missing"), True, True
    marked = text.replace(_name(column), _MARK, 1)
    if column.kind in ("category", "boolean", "flag"):
        try:
            intervals = _read_set(marked, column)
        except _ReadingError:
            if column.kind == "category":
                raise
            intervals = tuple(_read_interval(marked, column) for _ in (0,))
    else:
        parts = text.replace(_name(column), _MARK).split(" or ")
        intervals = tuple(_read_interval(each, column) for each in parts)
    return ParsedCondition(at, Region(tuple(sorted(intervals)), missing), says)


def _read_set(text: str, column: Column) -> tuple[Interval, ...]:
    match = re.fullmatch(f"{_MARK}\\s*(==?|≠|!=|in|not in)\\s*(.*)", text, re.DOTALL)
    if match is None:
        raise _ReadingError(
            f"column {column.name!r} has categories, which = ≠ in and not in ask for"
        )
    sign, values = match.groups()
    n_values = len(column.categories) if column.kind == "category" else 2
    listed = [values]
    if sign in ("in", "not in"):
        if not (values.startswith("{") and values.endswith("}")):
            raise _ReadingError("a list of values stands in braces")
        listed = [each for each in map(str.strip, _VALUE.findall(values[1:-1])) if each]
    codes = {_code(each.replace(_MARK, column.name), column) for each in listed}
    is_inside = sign in ("=", "==", "in")
    return Region.of_codes(c for c in range(n_values) if (c in codes) == is_inside).intervals


def _code(text: str, column: Column) -> int:
    """Return the code of a value, with or without quotes."""
    try:
        return int(column.read(text))
    except (KeyError, ValueError, OverflowError):
        pass
    bare = text
    if text[:1] == '"':
        try:
            bare = str(json.loads(text))
        except ValueError:
            raise _ReadingError(f"{text} is not a value in quotes") from None
    for code, value in enumerate(column.categories):
        if str(value) == bare:
            return code
    if column.kind != "category" and bare.lower() in ("true", "false"):
        return int(bare.lower() == "true")
    known = messages.listed([column.say(code) for code in range(len(column.categories))], _N_KNOWN)
    raise _ReadingError(
        f"column {column.name!r} has no value {text!r}" + (f", only {known}" if known else "")
    )


def _before(x: float, column: Column) -> float:
    """Return the next lower value: less than x means at most this."""
    return (
        x - 1
        if column.kind in ("whole", "flag", "boolean", "date", "duration")
        else nextafter(x, -inf)
    )


_Ends = Callable[..., Interval]


def _read_interval(text: str, column: Column) -> Interval:
    """Return the interval (lower, upper] that the text describes."""
    if column.kind == "word":
        return _read_times(text)

    def below(x: float) -> float:
        return _before(x, column)

    forms: dict[str, _Ends] = {
        f"(.*)<{_MARK}(?:≤|<=)(.*)": lambda low, high: (low, high),
        f"(.*)(?:≤|<=){_MARK}<(.*)": lambda low, high: (below(low), below(high)),
        f"(.*)<{_MARK}<(.*)": lambda low, high: (low, below(high)),
        f"(.*)(?:≤|<=){_MARK}(?:≤|<=)(.*)": lambda low, high: (below(low), high),
        f"{_MARK}(?:≤|<=)(.*)": lambda high: (-inf, high),
        f"{_MARK}(?:≥|>=)(.*)": lambda low: (below(low), inf),
        f"{_MARK}<(.*)": lambda high: (-inf, below(high)),
        f"{_MARK}>(.*)": lambda low: (low, inf),
        f"{_MARK}==?(.*)": lambda value: (below(value), value),
        f"{_MARK} from (.*)": lambda low: (low - 1, inf),
        f"{_MARK} before (.*)": lambda high: (-inf, high - 1),
    }
    tight = re.sub(rf"\s*({_MARK}|<=|>=|[<>≤≥]|==?)\s*", r"\1", text)
    for form, ends in forms.items():
        match = re.fullmatch(form, text if "from" in form or "before" in form else tight)
        if match is None:
            continue
        try:
            low, high = ends(*map(column.read, match.groups()))
        except (ValueError, OverflowError):
            kind = {"date": "date", "duration": "duration"}.get(column.kind, "number")
            raise _ReadingError(f"column {column.name!r} is compared with a {kind}") from None
        if not low < high:
            raise _ReadingError("no value lies in such an interval")
        return low, high
    raise _ReadingError(f"it says nothing about the values of column {column.name!r}")


def _read_times(text: str) -> Interval:
    text = text.replace("once", "1 times")
    forms: dict[str, _Ends] = {
        f"contains {_MARK}": lambda: (0, inf),
        f"no {_MARK}": lambda: (-inf, 0),
        rf"{_MARK} at most (\d+) times": lambda high: (-inf, int(high)),
        rf"{_MARK} at least (\d+) times": lambda low: (int(low) - 1, inf),
        rf"{_MARK} exactly (\d+) times": lambda value: (int(value) - 1, int(value)),
        rf"{_MARK} (\d+) to (\d+) times": lambda low, high: (int(low) - 1, int(high)),
        f"(.*) < weight of {_MARK} ≤ (.*)": lambda low, high: (float(low), float(high)),
        f"weight of {_MARK} ≤ (.*)": lambda high: (-inf, float(high)),
        f"weight of {_MARK} > (.*)": lambda low: (float(low), inf),
    }
    for form, ends in forms.items():
        match = re.fullmatch(form, text)
        if match is not None:
            low, high = ends(*match.groups())
            return float(low), float(high)
    raise _ReadingError("it says nothing about how often the word occurs")
