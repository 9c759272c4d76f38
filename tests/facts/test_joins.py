"""Leaves joined into one rule: the same rows, in the fewest parts and conditions there can be."""

import itertools
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts.cases import CUSTOMERS, customers_table, customers_tree, trees_of_any_kind
from facts.test_rules_read_back import holds, read_rule
from spexplain.tree import Column, Tree
from spexplain.tree.joins import joined
from spexplain.tree.words import joined_text


def in_box(box, row):
    return all(region.holds(row[feature]) for feature, region in box.items())


def in_boxes(boxes, X):
    return np.array([any(in_box(box, row) for box in boxes) for row in X], dtype=bool)


def harmless(columns):
    """The same columns under names that can be found in a text."""
    return tuple(
        Column(f"col{at}", each.kind, each.categories, each.zone, each.has_missing)
        for at, each in enumerate(columns)
    )


def rows_near(X, tree):
    """Rows at, below and above every threshold, and those of the table."""
    cells = []
    for feature in range(X.shape[1]):
        ends = np.concatenate(
            [
                X[:, feature],
                tree.threshold[tree.feature == feature],
                tree.lower[tree.feature == feature],
            ]
        )
        ends = np.unique(ends[np.isfinite(ends)])
        cells.append(np.concatenate([ends, ends + 1, [np.nan]]))
    random = np.random.default_rng(0)
    drawn = np.column_stack([random.choice(own, 200) for own in cells])
    return np.concatenate([X, drawn])


def known_values(columns, X):
    """Rows that can be: known categories, whole numbers where only these are, gaps only where training has some."""
    X = X.copy()
    with np.errstate(invalid="ignore"):
        for at, column in enumerate(columns):
            if column.kind == "category":
                X[X[:, at] >= len(column.categories), at] = 0
            elif column.kind in ("flag", "boolean"):
                X[:, at] = np.where(np.isnan(X[:, at]), np.nan, X[:, at] > 0)
            elif column.kind in ("whole", "date", "duration"):
                X[:, at] = np.floor(X[:, at])
    can_lack = np.array([each.has_missing for each in columns])
    return X[~np.isnan(X[:, ~can_lack]).any(axis=1)]


@given(trees_of_any_kind(), st.data())
def test_a_joined_rule_holds_exactly_the_rows_of_its_leaves(case, data):
    columns, X, tree = case
    leaves = data.draw(st.sets(st.sampled_from(range(tree.n_leaves))))
    boxes = joined(tree, leaves, columns)
    rows = known_values(columns, rows_near(X, tree))
    assert in_boxes(boxes, rows).tolist() == np.isin(tree.apply(rows), list(leaves)).tolist()


def parts_of(text, n_boxes):
    """The parts of a rule that are joined by "or" outside of brackets and quotes."""
    if n_boxes == 1:
        return [text]
    parts, depth, start, quoted = [], 0, 0, False
    place = 0
    while place < len(text):
        sign = text[place]
        if quoted and sign == "\\":
            place += 1
        elif sign == '"':
            quoted = not quoted
        elif not quoted:
            depth += (sign in "({") - (sign in ")}")
            if depth == 0 and text.startswith(" or ", place):
                parts.append(text[start:place])
                start = place + 4
        place += 1
    parts.append(text[start:])
    return [each[1:-1] if each.startswith("(") else each for each in parts]


@given(trees_of_any_kind(), st.data())
def test_a_joined_rule_is_read_back(case, data):
    columns, X, tree = case
    columns = harmless(columns)
    leaves = data.draw(st.sets(st.sampled_from(range(tree.n_leaves)), min_size=1))
    boxes = joined(tree, leaves, columns)
    if not boxes:  # leaves that no row can reach
        return
    parts = parts_of(joined_text(boxes, columns), len(boxes))
    rules = [read_rule(each, columns) for each in parts]
    rows = known_values(columns, rows_near(X, tree))

    def fits(rule, row):
        return all(
            bool(missing) if np.isnan(row[at]) else holds(intervals, row[at])
            for at, (intervals, missing) in rule.items()
        )

    found = [any(fits(rule, row) for rule in rules) for row in rows]
    assert found == np.isin(tree.apply(rows), list(leaves)).tolist()


def test_customers_are_joined_exactly():
    X, _ = customers_table()
    X = X[~np.isnan(X[:, [1, 4, 5, 6, 7]]).any(axis=1)]
    tree = customers_tree()
    for size in (1, 2, 3):
        for leaves in itertools.combinations(range(tree.n_leaves), size):
            boxes = joined(tree, leaves, CUSTOMERS)
            assert len(boxes) <= size
            assert in_boxes(boxes, X).tolist() == np.isin(tree.apply(X), leaves).tolist()


@st.composite
def small_trees(draw):
    """Trees over one to three columns with two or three cuts each, and some of their leaves."""
    n_features = draw(st.integers(1, 3))
    tree = Tree.root(n_features=n_features, size=0)
    for _ in range(draw(st.integers(1, 6))):
        leaf = int(draw(st.sampled_from(tree.leaves.tolist())))
        cut = draw(st.sampled_from([1.0, 2.0, 3.0] if n_features < 3 else [1.0, 2.0]))
        tree = tree.split(leaf, feature=draw(st.integers(0, n_features - 1)), threshold=cut)
    leaves = draw(st.sets(st.sampled_from(range(tree.n_leaves)), min_size=1))
    return tree, sorted(leaves)


def fewest_by_looking_at_all(tree, leaves):
    """The fewest boxes, and then conditions, by all boxes over the grid of values 0.5, 1.5, ..."""
    n_values = 4 if tree.n_features < 3 else 3
    grid = np.array(list(itertools.product(*[np.arange(n_values) + 0.5] * tree.n_features)))
    is_wanted = np.isin(tree.apply(grid), leaves)
    wanted = sum(1 << int(place) for place in np.flatnonzero(is_wanted))
    if not wanted:
        return 0, 0
    sets = [
        each
        for size in range(1, n_values + 1)
        for each in itertools.combinations(range(n_values), size)
    ]
    boxes: dict[int, int] = {}
    for sides in itertools.product(sets, repeat=tree.n_features):
        inside = np.all([np.isin(grid[:, at] - 0.5, own) for at, own in enumerate(sides)], axis=0)
        cells = sum(1 << int(place) for place in np.flatnonzero(inside))
        if not cells & ~wanted:
            boxes[cells] = sum(len(own) < n_values for own in sides)
    states = {0: 0}  # cells that are covered, by their fewest conditions
    for n_boxes in itertools.count(1):
        following: dict[int, int] = {}
        for covered, cost in states.items():
            lowest = (wanted & ~covered) & -(wanted & ~covered)
            for cells, own in boxes.items():
                if cells & lowest:
                    reached = covered | cells
                    following[reached] = min(cost + own, following.get(reached, 10**6))
        if wanted in following:
            return n_boxes, following[wanted]
        states = following
    raise AssertionError


@given(small_trees())
def test_no_equal_rule_has_fewer_parts_or_conditions(case):
    tree, leaves = case
    boxes = joined(tree, leaves, [f"x{at}" for at in range(tree.n_features)])
    found = len(boxes), sum(len(box) for box in boxes)
    assert found == fewest_by_looking_at_all(tree, leaves)


def tree_of(*splits, n_features=2):
    tree = Tree.root(n_features=n_features, size=0)
    for node, feature, threshold in splits:
        tree = tree.split(node, feature=feature, threshold=threshold, sizes=(2, 2))
    return tree


@pytest.mark.parametrize(
    ("splits", "leaves", "text"),
    [
        # leaves from left to right
        ([(0, 0, 1.0), (2, 0, 2.0)], [0, 1], "a ≤ 2"),
        ([(0, 0, 1.0), (2, 0, 2.0)], [0, 2], "a ≤ 1 or a > 2"),
        ([(0, 0, 1.0), (2, 0, 2.0)], [0, 1, 2], "all rows"),
        ([(0, 0, 1.0), (2, 0, 2.0)], [], "no rows"),
        ([(0, 0, 1.0), (1, 1, 5.0), (2, 1, 5.0)], [0, 2], "b ≤ 5"),
        ([(0, 0, 1.0), (2, 1, 5.0)], [0, 2], "a ≤ 1 or b > 5"),
        ([(0, 0, 1.0), (1, 1, 5.0), (2, 1, 5.0)], [0, 3], "(a ≤ 1 and b ≤ 5) or (a > 1 and b > 5)"),
    ],
)
def test_texts_of_joined_rules(splits, leaves, text):
    assert joined_text(joined(tree_of(*splits), leaves, ["a", "b"]), ["a", "b"]) == text


def test_large_trees_are_joined_exactly_too():
    random = np.random.default_rng(1)
    X = random.integers(0, 12, (3000, 6)).astype(np.float64)
    tree = Tree.root(n_features=6, size=len(X))
    for _ in range(299):
        leaf = int(random.choice(tree.leaves))
        tree = tree.split(
            leaf, feature=int(random.integers(6)), threshold=float(random.integers(0, 11))
        )
    codes = random.integers(0, 4, tree.n_leaves)
    names = list("abcdef")
    for code in range(4):
        leaves = np.flatnonzero(codes == code)
        boxes = joined(tree, leaves.tolist(), names)
        assert len(boxes) <= len(leaves)
        found = np.zeros(len(X), dtype=bool)
        for box in boxes:
            inside = np.ones(len(X), dtype=bool)
            for feature, region in box.items():
                x = X[:, feature]
                inside &= np.any(
                    [(low < x) & (x <= high) for low, high in region.intervals], axis=0
                )
            found |= inside
        assert np.array_equal(found, np.isin(tree.apply(X), leaves))


def test_unseen_values_go_where_the_tree_sends_them():
    # No training row lacks a channel, so the rule is silent; rows with a new one still go right.
    channel = Column("channel", "category", ("app", "shop", "web"))
    tree = Tree.root(n_features=1, size=9).split(
        0, feature=0, threshold=np.nan, categories=(1,), missing=False, sizes=(3, 6)
    )
    (left,), (right,) = joined(tree, [0], [channel]), joined(tree, [1], [channel])
    assert not left[0].missing
    assert right[0].missing
    assert re.fullmatch("channel ≠ shop", joined_text([right], [channel]))
