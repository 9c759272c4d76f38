"""The printed rule is the executed rule: every text is read back, and rows go to the same leaves."""

import re
from math import inf, nan

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from facts.cases import CUSTOMERS, DAY, customers_table, customers_tree, trees_of_any_kind
from spexplain.tree import Column, Region, Tree
from spexplain.tree.boxes import leaf_boxes
from spexplain.tree.words import leaf_rules

MARK = "\0"  # stands for the name of a column, which may look like anything
VALUE = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[^",{}\s][^,{}]*)')


def read_condition(text, column):
    """Return the region that a text describes; whether missing values pass is None where it does not say."""
    unsaid = False if column.has_missing else None
    name = column.name
    if column.kind == "word":
        name = '"' + name.replace('"', '\\"') + '"'
    full = ((-inf, inf),)
    whole = {
        f"{column.name} is missing": ((), True),
        f"no value of {column.name}": ((), False),
        f"{column.name} is not missing": (full, False),
        f"any {column.name}": (full, True if column.has_missing else None),
    }
    if text in whole:
        return whole[text]
    missing = unsaid
    if column.has_missing and text.endswith(" or missing"):
        text, missing = text.removesuffix(" or missing"), True
    text = text.replace(name, MARK)
    if column.kind in ("category", "boolean", "flag"):
        return read_set(text, column), missing
    return tuple(read_interval(each, column) for each in text.split(" or ")), missing


def read_set(text, column):
    sign, values = re.fullmatch(f"{MARK} (=|≠|in|not in) (.*)", text, re.DOTALL).groups()
    n_values = len(column.categories) if column.kind == "category" else 2
    listed = [values]
    if sign in ("in", "not in"):
        listed = [each for each in map(str.strip, VALUE.findall(values[1:-1])) if each]
    codes = {int(column.read(each.replace(MARK, column.name))) for each in listed}
    is_inside = sign in ("=", "in")
    return Region.of_codes(
        code for code in range(n_values) if (code in codes) == is_inside
    ).intervals


def read_interval(text, column):
    """Return (lower, upper] as the text says it."""
    if column.kind == "word":
        return read_times(text)
    forms = {
        f"(.*) < {MARK} ≤ (.*)": lambda low, high: (low, high),
        f"(.*) ≤ {MARK} < (.*)": lambda low, high: (low - 1, high - 1),
        f"{MARK} ≤ (.*)": lambda high: (-inf, high),
        f"{MARK} > (.*)": lambda low: (low, inf),
        f"{MARK} = (.*)": lambda value: (value - 1, value),
        f"{MARK} from (.*)": lambda low: (low - 1, inf),
        f"{MARK} before (.*)": lambda high: (-inf, high - 1),
    }
    for form, ends in forms.items():
        if found := re.fullmatch(form, text):
            return ends(*map(column.read, found.groups()))
    raise AssertionError(f"{text!r} is no condition")


def read_times(text):
    text = text.replace("once", "1 times")
    forms = {
        f"contains {MARK}": lambda: (0, inf),
        f"no {MARK}": lambda: (-inf, 0),
        rf"{MARK} at most (\d+) times": lambda high: (-inf, int(high)),
        rf"{MARK} at least (\d+) times": lambda low: (int(low) - 1, inf),
        rf"{MARK} exactly (\d+) times": lambda value: (int(value) - 1, int(value)),
        rf"{MARK} (\d+) to (\d+) times": lambda low, high: (int(low) - 1, int(high)),
        f"(.*) < weight of {MARK} ≤ (.*)": lambda low, high: (float(low), float(high)),
        f"weight of {MARK} ≤ (.*)": lambda high: (-inf, float(high)),
        f"weight of {MARK} > (.*)": lambda low: (float(low), inf),
    }
    for form, ends in forms.items():
        if found := re.fullmatch(form, text):
            return ends(*found.groups())
    raise AssertionError(f"{text!r} is no condition on a word")


def holds(intervals, x):
    return any(low < x <= high for low, high in intervals)


def values_at(X, tree, feature):
    """Return the values of a column, those of its tests and their neighbours, in both types."""
    ends = np.concatenate([X[:, feature], tree.threshold, tree.lower])
    ends = ends[np.isfinite(ends)]
    near = np.concatenate([ends, np.nextafter(ends, inf), np.nextafter(ends, -inf), ends + 1])
    return np.concatenate([near, near.astype(np.float32).astype(np.float64)])


@given(trees_of_any_kind())
@example(  # local time was 53 minutes and 28 seconds ahead
    (
        (Column("d", "date", zone="Europe/Berlin"),),
        np.array([[-2.4221376e15], [0.0]]),
        Tree.root(n_features=1, size=0).split(0, feature=0, threshold=-2.4221376e15),
    )
)
@example(  # the second value of the list begins after a blank
    (
        (Column("a", "category", ("app", "web", "\u202e", "in {a}"), has_missing=True),),
        np.array([[0.0]]),
        Tree.root(n_features=1, size=0).split(0, feature=0, threshold=nan, values=(0, 1)),
    )
)
def test_every_condition_is_read_back(case):
    columns, X, tree = case
    with np.errstate(all="ignore"):
        nearby = [values_at(X, tree, feature) for feature in range(len(columns))]
    for box in leaf_boxes(tree):
        for feature, region in box.items():
            column = columns[feature]
            intervals, missing = read_condition(region.text(column), column)
            if missing is not None:
                assert missing == region.missing
            values = nearby[feature][np.isfinite(nearby[feature])]
            if column.kind in ("category", "boolean", "flag"):
                n_values = len(column.categories) if column.kind == "category" else 2
                values = np.arange(n_values)
            elif column.kind in ("date", "duration", "whole"):
                values = np.floor(values)  # such columns hold whole numbers only
            for x in values.tolist():
                assert holds(intervals, x) == region.holds(x)


def read_rule(text, columns):
    """Return the conditions of a whole rule, whose columns have distinct and harmless names."""
    found = {}
    texts = re.split(r' and (?=(?:[^"]|"(?:[^"\\]|\\.)*")*$)', text)  # not inside of quotes
    for each in [] if text == "all rows" else texts:
        bare = each[1:-1] if each.startswith("(") and each.endswith(")") else each
        (at,) = (at for at, column in enumerate(columns) if column.name in bare)
        found[at] = read_condition(bare, columns[at])
    return found


def leaves_by_rules(tree, columns, X):
    """Return the leaf of every row, as somebody finds it who has only the printed rules."""
    rules = [read_rule(text, columns) for text in leaf_rules(tree, columns)]

    def fits(rule, row):
        return all(
            bool(missing) if np.isnan(row[at]) else holds(intervals, row[at])
            for at, (intervals, missing) in rule.items()
        )

    found = [[leaf for leaf, rule in enumerate(rules) if fits(rule, row)] for row in X]
    assert all(len(each) == 1 for each in found)
    return [leaf for (leaf,) in found]


def test_rules_of_customers_are_executed_as_printed():
    X, _ = customers_table()
    X = X[~np.isnan(X[:, [1, 4, 5, 6, 7]]).any(axis=1)]
    tree = customers_tree()
    assert leaves_by_rules(tree, CUSTOMERS, X) == tree.apply(X).tolist()


@given(trees_of_any_kind())
@example(
    (
        (Column("d", "date", zone="Europe/Berlin"),),
        np.array([[17_834 * DAY + 3.6e9]]),  # the hour that summer time has twice
        Tree.root(n_features=1, size=0).split(0, feature=0, threshold=17_834 * DAY + 3.6e9 - 1),
    )
)
@example(
    (
        (Column("x", has_missing=True),),
        np.array([[-1e300], [0.0], [np.nan]]),  # the first is infinite as a 32-bit number
        Tree.root(n_features=1, size=0).split(0, feature=0, threshold=-inf, missing=True),
    )
)
def test_rules_are_executed_as_printed(case):
    columns, X, tree = case
    columns = tuple(
        Column(f"col{at}", each.kind, each.categories, each.zone, each.has_missing)
        for at, each in enumerate(columns)
    )
    can_lack = np.array([each.has_missing for each in columns])
    rows = X[~np.isnan(X[:, ~can_lack]).any(axis=1)]
    assert leaves_by_rules(tree, columns, rows) == tree.apply(rows).tolist()
    narrow = [each.kind in ("number", "word") for each in columns]
    with np.errstate(over="ignore"):
        rows[:, narrow] = rows[:, narrow].astype(np.float32)
    rows = rows[~np.isinf(rows).any(axis=1)]  # no row of a table
    assert leaves_by_rules(tree, columns, rows) == tree.apply(rows).tolist()


@pytest.mark.parametrize("text", ["a ≤ b", "a or b"])
def test_other_texts_are_no_conditions(text):
    with pytest.raises((AssertionError, ValueError)):
        read_condition(text, Column("a"))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_are_read_back(x):
    intervals, _ = read_condition(Region(((-inf, x),)).text("a"), Column("a"))
    assert intervals == ((-inf, x),)
