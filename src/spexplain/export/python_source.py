"""The tree as Python: the source of a function that needs no packages."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from math import inf
from typing import TYPE_CHECKING

from spexplain.exceptions import quoted
from spexplain.export.labels import LabelKind
from spexplain.tree import LEAF, Column, Region, number, python_value
from spexplain.tree.boxes import leaf_boxes

if TYPE_CHECKING:
    from spexplain.explanation import Explanation

# Python refuses 100 levels of indentation, and long before that, one line per leaf is easier to read.
_NESTED_DEPTH = 12
_HEADER = '''"""The tree of a fitted {kind}, written by spexplain {version}; needs nothing but Python."""
{imports}

{readers}def predict(row):
    """Return the {meaning} of a row: its {n_features} values in order, or a mapping by column name."""
    named = hasattr(row, "keys")
    if not named and len(row) != {n_features}:
        raise ValueError(f"row has {{len(row)}} values, but {n_features} are needed.")
'''
_VALUE = "    x{column} = {reader}(row[{name} if named else {column}])\n"
_IMPORT = "\nfrom datetime import datetime, time, timedelta, timezone\n"
_REFUSAL = """    if {condition}:
        raise ValueError("row has no value that was seen in training in column " + repr({name}) + ".")
"""
_MISSING = '''def is_missing(x):
    """Tell None, NaN and their like in pandas and NumPy."""
    try:
        return x is None or bool(x != x)
    except TypeError:  # pandas.NA
        return True


'''
# float() matters: NumPy would round a threshold to the precision of a float32 value beside it.
_NUMBER = '''def number(x):
    """Return a number; NaN, which differs from itself, if it is missing."""
    x = float("nan") if is_missing(x) else float(x)
    if abs(x) > 1.7976931348623157e308:
        raise ValueError("row holds infinity; remove or replace such values.")
    return x


'''
_CATEGORY = '''def category(x):
    """Return a value so that True is not 1."""
    if is_missing(x):
        return None
    x = x.item() if hasattr(x, "item") else x
    return (bool, x) if isinstance(x, bool) else x


'''
_DATE = '''def moment(x):
    """Return a datetime from one, a date, a NumPy date or a text such as 1997-05-26; None if missing."""
    if is_missing(x):
        return None
    if isinstance(x, str):
        return datetime.fromisoformat(x)
    if hasattr(x, "astype"):
        return x.astype("datetime64[us]").item()
    return x if isinstance(x, datetime) else datetime(x.year, x.month, x.day)


'''
_DURATION = '''def duration(x):
    """Return a timedelta from one, NumPy's or a time of a day; None if missing."""
    if is_missing(x):
        return None
    if isinstance(x, time):
        x = datetime.combine(datetime.min, x) - datetime.min
    x = x.astype("timedelta64[us]").item() if hasattr(x, "astype") else x
    return timedelta(microseconds=x // timedelta(microseconds=1))


'''
# Readers of values by kind; all others are numbers.
_READERS = {
    "category": ("category", _CATEGORY),
    "date": ("moment", _DATE),
    "duration": ("duration", _DURATION),
}
_ANY_NUMBER = ("number", _NUMBER)


def to_python(explanation: "Explanation", *, label: LabelKind = "leaf") -> str:
    """Return the source of a function ``predict(row)`` without dependencies.

    The function takes a sequence with the values of all columns, or a mapping (a dict, a pandas
    Series) by column name, of which only the tested columns are read. Values are those of the table:
    numbers, booleans, categories, dates and durations; None and NaN are missing values. Infinity is refused,
    and so are missing values if the model has ``missing="error"``.

    Parameters
    ----------
    explanation : Explanation
        The explanation to export.
    label : {"leaf", "reference"}
        What the function returns: leaf ids, or the reference label that each leaf stands for
        (as text unless it is a string, integer, float or boolean).

    Returns
    -------
    source : str

    Examples
    --------
    >>> from spexplain.explanation import Explanation
    >>> from spexplain.export import to_python
    >>> from spexplain.tree import Tree
    >>> tree = Tree.root(n_features=2, size=10).split(0, feature=1, threshold=0.5)
    >>> space = {}
    >>> exec(to_python(Explanation(tree, ("width", "height"))), space)
    >>> space["predict"]([9.0, 0.5]), space["predict"]({"height": 0.6})
    (0, 1)
    """
    labels = [_literal(each) for each in explanation.leaf_labels(label)]
    meaning = "leaf id" if label == "leaf" else "reference label"
    readers = {
        column: _READERS.get(explanation.fields[column].kind, _ANY_NUMBER)
        for column in explanation.used
    }
    sources = dict(sorted(readers.values()))
    has_dates = not {"moment", "duration"}.isdisjoint(sources)
    source = _HEADER.format(
        kind=explanation.method,
        version=explanation.version,
        imports=_IMPORT if has_dates else "",
        readers=(_MISSING if sources else "") + "".join(sources.values()),
        meaning=meaning,
        n_features=explanation.tree.n_features,
    )
    for column, (reader, _) in readers.items():
        name = _literal(explanation.keys[column])
        source += _VALUE.format(column=column, reader=reader, name=name)
        if explanation.parameters.get("missing") == "error":
            condition = _condition(column, Region(()), explanation.fields[column])
            source += _REFUSAL.format(condition=condition, name=name)
    write = _nested if explanation.tree.depth <= _NESTED_DEPTH else _flat
    return source + "".join(f"{line}\n" for line in write(explanation, labels))


def _literal(value: object) -> str:
    """Return a value as Python source in ASCII, which is safe in any file."""
    return ascii(value)


def _nested(explanation: "Explanation", labels: list[str]) -> Iterator[str]:
    """Yield an ``if`` for every inner node, in the tree's own shape."""
    tree = explanation.tree
    stack = [(0, "    ")]
    while stack:
        node, indent = stack.pop()
        if tree.feature[node] == LEAF:
            yield f"{indent}return {labels[explanation.leaf_ids[node]]}"
            continue
        test = tree.test(node)
        condition = _condition(test.feature, test.region(), explanation.fields[test.feature])
        yield f"{indent}if {condition}:"
        # What follows an `if` that returns needs no `else`.
        stack += [(int(tree.right[node]), indent), (int(tree.left[node]), indent + "    ")]


def _flat(explanation: "Explanation", labels: list[str]) -> Iterator[str]:
    """Yield one ``if`` with the rule of every leaf."""
    for box, label in zip(leaf_boxes(explanation.tree)[:-1], labels[:-1], strict=True):
        tests = [
            _condition(feature, region, explanation.fields[feature])
            for feature, region in box.items()
        ]
        joined = " and ".join(f"({test})" if " or " in test else test for test in tests)
        yield f"    if {joined}:"
        yield f"        return {label}"
    yield f"    return {labels[-1]}"


def _condition(feature: int, region: Region, column: Column) -> str:
    """Return an expression that is true for the values in a region."""
    x = f"x{feature}"
    if column.kind == "category":
        return _category_condition(x, region, column)
    is_nan = column.kind not in _READERS
    is_missing = f"{x} != {x}" if is_nan else f"{x} is None"
    if region.intervals == Region().intervals:
        return "True" if region.missing else f"{x} == {x}" if is_nan else f"{x} is not None"
    texts = [_inside(x, low, high, column) for low, high in region.intervals]
    if region.missing:
        return " or ".join([is_missing, *texts])
    if is_nan or not texts:  # NaN is in no interval
        return " or ".join(texts) or "False"
    joined = " or ".join(texts)
    return f"{x} is not None and ({joined})" if len(texts) > 1 else f"{x} is not None and {joined}"


def _category_condition(x: str, region: Region, column: Column) -> str:
    """Return an expression that is true for some categories; unseen categories count as missing."""
    n_values = len(column.categories)
    inside = region.codes(n_values)
    listed = [code for code in range(n_values) if (code in inside) != region.missing]
    if not listed:
        return str(region.missing)
    texts = [_category(column.categories[code], column) for code in listed]
    if len(texts) == 1:
        return f"{x} {'!=' if region.missing else '=='} {texts[0]}"
    return f"{x} {'not in' if region.missing else 'in'} ({', '.join(texts)})"


def _category(value: object, column: Column) -> str:
    value = python_value(value)
    if isinstance(value, bool):
        return f"(bool, {value})"
    if not isinstance(value, str | int | float):
        raise ValueError(
            f"Column {quoted(column.name)} has a category of type {type(value).__name__}; only texts, numbers "
            "and booleans can be written as Python: turn them into texts before fit."
        )
    return _literal(value)


def _inside(x: str, low: float, high: float, column: Column) -> str:
    at_least, at_most = ("<=", "<") if column.kind == "date" else ("<", "<=")
    first, last = (_value(end, column) if abs(end) < inf else "" for end in (low, high))
    if not first:
        return f"{x} {at_most} {last}"
    turned = ">=" if column.kind == "date" else ">"
    return f"{first} {at_least} {x} {at_most} {last}" if last else f"{x} {turned} {first}"


def _value(x: float, column: Column) -> str:
    """Return a bound as Python source; that of dates is the microsecond after it."""
    if column.kind == "duration":
        days, rest = divmod(int(x), 86_400_000_000)
        seconds, rest = divmod(rest, 1_000_000)
        parts = {"days": days, "seconds": seconds, "microseconds": rest}
        return f"timedelta({', '.join(f'{name}={part}' for name, part in parts.items() if part)})"
    if column.kind != "date":
        return number(x)
    try:
        moment = datetime(1970, 1, 1) + timedelta(microseconds=int(x) + 1)
    except OverflowError:
        raise ValueError(
            f"Column {quoted(column.name)} is tested for {column.say(x + 1)}, but Python's dates are those "
            "of the years 1 to 9999."
        ) from None
    parts_of_day = [moment.hour, moment.minute, moment.second, moment.microsecond]
    while parts_of_day and not parts_of_day[-1]:
        parts_of_day.pop()
    numbers = [moment.year, moment.month, moment.day, *parts_of_day]
    texts = [str(each) for each in numbers] + ["tzinfo=timezone.utc"] * (column.zone is not None)
    return f"datetime({', '.join(texts)})"
