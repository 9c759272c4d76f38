"""Regions of one column's values: intervals of numbers, with or without missing values, and their texts."""

from collections.abc import Iterable, Sequence
from math import floor, inf
from typing import NamedTuple, TypeAlias

from spexplain.tree.column import Column, as_column

Interval: TypeAlias = tuple[float, float]  # lower < x ≤ upper


class Region(NamedTuple):
    """Values of one column: those in some intervals, with or without missing values.

    The code c of a category lies in the interval (c - 1, c]. A value that was never seen in training
    counts as missing.

    Examples
    --------
    >>> from spexplain.tree import Column, Region
    >>> Region(((2.0, 5.0),), missing=False).text("age")
    '2 < age ≤ 5'
    >>> Region.of_codes([0, 2]).text(Column("channel", "category", ("app", "shop", "web", "mail")))
    'channel in {app, web}'
    """

    intervals: tuple[Interval, ...] = ((-inf, inf),)  # from low to high
    missing: bool = True

    @classmethod
    def of_codes(cls, codes: Iterable[int], *, missing: bool = False) -> "Region":
        """Return the region of some categories."""
        intervals: list[Interval] = []
        for code in sorted(codes):
            if intervals and intervals[-1][1] == code - 1:
                intervals[-1] = intervals[-1][0], float(code)
            else:
                intervals.append((code - 1.0, float(code)))
        return cls(tuple(intervals), missing)

    @property
    def is_all(self) -> bool:
        """Whether the region holds every value."""
        return self.missing and self.intervals == ((-inf, inf),)

    def holds(self, x: float) -> bool:
        """Whether the region holds a value; NaN is a missing value."""
        if x != x:  # noqa: PLR0124
            return self.missing
        return any(low < x <= high for low, high in self.intervals)

    def common(self, other: "Region") -> "Region":
        """Return the values that lie in both."""
        pieces = [(max(a, c), min(b, d)) for a, b in self.intervals for c, d in other.intervals]
        kept = sorted((low, high) for low, high in pieces if low < high)
        return Region(tuple(kept), self.missing and other.missing)

    def rest(self) -> "Region":
        """Return the region of all other values."""
        ends = [-inf, *(end for interval in self.intervals for end in interval), inf]
        pairs = zip(ends[::2], ends[1::2], strict=True)
        return Region(tuple((low, high) for low, high in pairs if low < high), not self.missing)

    def codes(self, n_categories: int) -> list[int]:
        """Return the codes of the categories in the region."""
        return [code for code in range(n_categories) if self.holds(code)]

    def text(self, column: Column | str, most: int | None = None) -> str:
        """Return in words that a value of a column lies here; sentences name at most so many values of a list.

        Missing values are mentioned only for columns that had some in training.

        Examples
        --------
        >>> from spexplain.tree import Column, Region
        >>> city = Column("city", "category", tuple(f"city {at}" for at in range(12)))
        >>> Region.of_codes([1, 2, 3, 5, 7]).text(city, most=2)
        'city in {city 1, city 2, … 3 more}'
        """
        column = as_column(column)
        name = column.name
        n_values = _n_values(column)
        if n_values:
            inside = self.codes(n_values)
            is_full, is_empty = len(inside) == n_values, not inside
        else:
            inside, is_full = [], self.intervals == ((-inf, inf),)
            is_empty = not self.intervals
        speaks = column.has_missing
        if is_empty:
            return f"{name} is missing" if self.missing else f"no value of {name}"
        if is_full and speaks and not self.missing:
            return f"{name} is not missing"
        if is_full:
            return f"any {name}"
        found = _set_text(column, inside, most) if n_values else self._number_text(column)
        return f"{found} or missing" if speaks and self.missing else found

    def _number_text(self, column: Column) -> str:
        return " or ".join(_interval_text(low, high, column) for low, high in self.intervals)


def _n_values(column: Column) -> int:
    """Return how many values a column can have, 0 if they are not listed one by one."""
    if column.kind == "category":
        return len(column.categories)
    return 2 if column.kind in ("boolean", "flag") else 0


def value_list(values: Sequence[str], most: int | None = None) -> str:
    """Return values in braces, by default all of them."""
    if most is None or len(values) <= most:
        return f"{{{', '.join(values)}}}"
    return f"{{{', '.join(values[:most])}, … {len(values) - most:,} more}}"


def _set_text(column: Column, inside: list[int], most: int | None) -> str:
    """Return in words that a value is one of some, by the shorter of both lists."""
    n_values = _n_values(column)
    outside = [code for code in range(n_values) if code not in inside]
    is_listed = len(inside) <= len(outside) or n_values == 2
    values = [column.say(code) for code in (inside if is_listed else outside)]
    if len(values) == 1:
        return f"{column.name} {'=' if is_listed else '≠'} {values[0]}"
    return f"{column.name} {'in' if is_listed else 'not in'} {value_list(values, most)}"


def _interval_text(low: float, high: float, column: Column) -> str:
    """Return in words that a value lies in one interval."""
    name = column.name
    if column.kind == "word":
        return _word_text(low, high, column)
    if column.kind == "whole" and high == low + 1:
        return f"{name} = {column.say(high)}"
    # For dates, x ≤ t is written as "before" the microsecond after t.
    is_date = column.kind == "date"
    first, last = (column.say(end + is_date) if abs(end) < inf else "" for end in (low, high))
    if first and last:
        return f"{first} ≤ {name} < {last}" if is_date else f"{first} < {name} ≤ {last}"
    if first:
        return f"{name} from {first}" if is_date else f"{name} > {first}"
    return f"{name} before {last}" if is_date else f"{name} ≤ {last}"


def _word_text(low: float, high: float, column: Column) -> str:
    """Return in words how often a document has a word, or how much it weighs there."""
    word = _quoted(column.name)
    if (low, high) in ((0, inf), (-inf, 0)):
        return f"contains {word}" if low == 0 else f"no {word}"
    is_count = all(end == floor(end) and end >= 0 for end in (low, high) if abs(end) < inf)
    if not is_count:
        return _interval_text(low, high, Column(f"weight of {word}"))
    if low == -inf:
        return f"{word} at most {_times(high)}"
    if high == inf:
        return f"{word} at least {_times(low + 1)}"
    often = "exactly" if high == low + 1 else f"{column.say(low + 1)} to"
    return f"{word} {often} {_times(high)}"


def any_of_text(region: Region, columns: Sequence[Column], most: int | None = None) -> str:
    """Return in words that the value of one of some columns lies in a region.

    Examples
    --------
    >>> from spexplain.tree import Column, Region
    >>> from spexplain.tree.region import any_of_text
    >>> contained = Region(((0.0, float("inf")),), missing=False)
    >>> any_of_text(contained, [Column("ice", "word"), Column("puck", "word")])
    'contains any of "ice", "puck"'
    """
    found = word_parts(region, columns)
    if found is not None and len(columns) > 1:
        lead, words = found
        return f"{lead} {', '.join(map(_quoted, words))}"
    return " or ".join(region.text(column, most) for column in columns)


def word_parts(region: Region, columns: Sequence[Column]) -> tuple[str, list[str]] | None:
    """Return the text before some words, and the words; None for conditions that are not about words.

    Examples
    --------
    >>> from spexplain.tree import Column, Region
    >>> from spexplain.tree.region import word_parts
    >>> word_parts(Region(((-float("inf"), 0.0),), missing=False), [Column("ice", "word")])
    ('no', ['ice'])
    """
    ends = list(region.intervals)
    if any(column.kind != "word" for column in columns) or ends not in (
        [(0.0, inf)],
        [(-inf, 0.0)],
    ):
        return None
    names = [column.name for column in columns]
    if ends == [(-inf, 0.0)]:
        return ("no", names) if len(names) == 1 else None
    return "contains any of" if len(names) > 1 else "contains", names


def _quoted(word: str) -> str:
    return '"' + word.replace('"', '\\"') + '"'


def _times(count: float) -> str:
    return "once" if count == 1 else f"{int(count)} times"


EVERYWHERE = Region()
