"""Conditions are read by the inverse of what is printed; people may write them a little otherwise."""

from math import inf, nextafter

import numpy as np
import pytest
from hypothesis import given

from facts.cases import trees_of_any_kind
from refusals import refused
from spexplain.tree import Column, Region, Test
from spexplain.tree.boxes import leaf_boxes
from spexplain.tree.conditions import read_condition, read_test

COLUMNS = [
    Column("age", has_missing=True),
    Column("orders", "whole"),
    Column("channel", "category", ("app", "a, b", "web shop", "it's")),
    Column("member", "boolean"),
    Column("letter", "flag"),
    Column("last order", "date"),
    Column("wait", "duration"),
    Column("hockey", "word"),
    Column("age of car"),
]


def values_of(column: Column, region: Region) -> list[float]:
    if column.kind in ("category", "boolean", "flag"):
        return list(range(len(column.categories) or 2))
    ends = np.array([end for pair in region.intervals for end in pair if np.isfinite(end)] + [0.0])
    if column.kind in ("whole", "date", "duration"):
        return np.concatenate([ends - 1, ends, ends + 1]).tolist()
    with np.errstate(all="ignore"):
        near = np.concatenate([ends, np.nextafter(ends, inf), np.nextafter(ends, -inf)])
    return near[np.isfinite(near)].tolist()


@given(trees_of_any_kind())
def test_every_printed_condition_is_read_back(case):
    columns, _, tree = case
    regions = [(feature, region) for box in leaf_boxes(tree) for feature, region in box.items()]
    regions += [(test.feature, test.region()) for test in tree.tests.values()]
    for feature, region in regions:
        column = columns[feature]
        found = read_condition(region.text(column), columns)
        if found.feature != feature:  # a condition on another column that prints the same
            assert found.region.text(columns[found.feature]) == region.text(column)
            continue
        if column.has_missing or found.says_missing:
            assert found.region.missing == region.missing
        for x in values_of(column, region):
            assert found.region.holds(x) == region.holds(x)


@pytest.mark.parametrize(
    ("text", "test"),
    [
        ("age > 30", Test(0, lower=30.0)),
        ("age>30", Test(0, lower=30.0)),
        ("age <= 30.5 or missing", Test(0, upper=30.5, missing=True)),
        ("age < 30", Test(0, upper=nextafter(30.0, -inf))),
        ("20 < age <= 30", Test(0, 20.0, 30.0)),
        ("age is missing", Test(0, upper=-inf, missing=True)),
        ("age is not missing", Test(0)),
        ("orders = 3", Test(1, 2.0, 3.0)),
        ("orders >= 3", Test(1, lower=2.0)),
        ("orders < 3", Test(1, upper=2.0)),
        ("2 <= orders < 5", Test(1, 1.0, 4.0)),
        ("channel = app", Test(2, values=(0,))),
        ("channel == web shop", Test(2, values=(2,))),
        ('channel in {app, "a, b"}', Test(2, values=(0, 1))),
        ("channel not in {app, web shop}", Test(2, values=(1, 3))),
        ("channel != it's", Test(2, values=(0, 1, 2))),
        ("member = yes", Test(3, 0.0, 1.0)),
        ("member = true", Test(3, 0.0, 1.0)),
        ("letter = 0", Test(4, -1.0, 0.0)),
        ("last order before 1970-01-02", Test(5, upper=86_400_000_000.0 - 1)),
        ("last order < 1970-01-02", Test(5, upper=86_400_000_000.0 - 1)),
        ("last order >= 1970-01-02", Test(5, lower=86_400_000_000.0 - 1)),
        ("wait ≤ 1 day", Test(6, upper=86_400_000_000.0)),
        ('contains "hockey"', Test(7, lower=0.0)),
        ("age of car > 3", Test(8, lower=3.0)),
    ],
)
def test_what_people_write(text, test):
    assert read_test(text, COLUMNS) == test


def test_missing_values_where_nothing_is_said():
    assert read_test("orders > 3", COLUMNS, missing=True).missing
    assert not read_test(
        "age > 3", COLUMNS, missing=True
    ).missing  # the column has some: it is said
    assert read_test("channel = app", COLUMNS, missing=True).missing


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["names no column"]),
        ("height > 3", ["names no column"]),
        ("age", ["age"]),
        ("age > old", ["number"]),
        ("last order before noon", ["date"]),
        ("channel = phone", ["phone", "app"]),
        ("channel > app", ["categories"]),
        ("channel in app, web shop", ["braces"]),
        ("5 < age <= 3", ["interval"]),
        ('"hockey" often', ["word"]),
        (3, ["must be a text"]),
    ],
)
def test_what_cannot_be_read_is_refused(text, words):
    refused(lambda: read_test(text, COLUMNS), words=["condition=", *words])


def test_short_names_in_other_words_say_nothing():
    columns = [Column("a"), Column("b"), Column("d", "date"), Column("c", "category", ("p", "q"))]
    refused(lambda: read_test("a > 1 and b > 2", columns), words=["asks about one column only"])
    refused(lambda: read_test("a > 1 and", columns), words=["column 'a' is compared with a number"])
    refused(lambda: read_test("c = and", columns), words=["has no value 'and', only p, q;"])


def test_several_intervals_are_no_test():
    with pytest.raises(ValueError, match="one interval"):
        read_test("orders ≤ 3 or orders > 5", COLUMNS)
    assert read_condition("orders ≤ 3 or orders > 5", COLUMNS).region.intervals == (
        (-inf, 3),
        (5, inf),
    )
