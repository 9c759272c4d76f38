"""Conditions that fit where there is little room: numbers stay whole, names and lists of values are shortened."""

from collections.abc import Callable
from dataclasses import replace

from spexplain.messages import one_line
from spexplain.tree import Column, Region
from spexplain.tree.column import renamed
from spexplain.tree.region import value_list

_SHORTEST_NAME = 8
_MARK = "\0"  # stands for a name, which never holds it: names are printable


def short_condition(
    region: Region,
    column: Column,
    width: int,
    *,
    clip: Callable[[str, int], str],
    length: Callable[[str], int] = len,
) -> str:
    """Return what a region says about a column, if possible in so many characters.

    Parameters
    ----------
    region : Region
        The values.
    column : Column
        The column.
    width : int
        Room for the text.
    clip : callable
        Shortens a text to a length.
    length : callable, default=len
        Measures a text.

    Returns
    -------
    text : str

    Examples
    --------
    >>> from spexplain.cli.terminal import clipped
    >>> from spexplain.show.conditions import short_condition
    >>> from spexplain.tree import Column, Region
    >>> months = Column("month", "category", tuple(f"month {at}" for at in range(12)))
    >>> short_condition(Region.of_codes([0, 2, 3, 5, 8]), months, 34, clip=clipped)
    'month in {month 0, … 4 more}'
    """
    text = one_line(region.text(column))
    if length(text) <= width:
        return text
    if column.kind == "category":
        room = max(width // 3, _SHORTEST_NAME)
        values = tuple(
            clip(each, room) if isinstance(each, str) else each for each in column.categories
        )
        column = replace(column, categories=values)
    (marked,) = renamed([column], [_MARK])
    text = region.text(marked)
    spare = width - length(one_line(text.replace(_MARK, "")))
    name = clip(column.name, max(spare // max(text.count(_MARK), 1), _SHORTEST_NAME))
    text = one_line(text.replace(_MARK, name))
    if column.kind == "category" and length(text) > width:
        return _shorter_list(region, column, text, width, length)
    return text


def _shorter_list(
    region: Region, column: Column, text: str, width: int, length: Callable[[str], int]
) -> str:
    """Return a condition with as many values of its list as there is room for, at least one."""
    codes = region.codes(len(column.categories))
    is_inside = " not in {" not in text
    listed = [code for code in range(len(column.categories)) if (code in codes) == is_inside]
    values = [one_line(column.say(code)) for code in listed]
    before, found, after = text.partition(value_list(values))
    for n_shown in range(len(values) - 1, 0, -1) if found else ():
        text = f"{before}{value_list(values, n_shown)}{after}"
        if length(text) <= width:
            break
    return text
