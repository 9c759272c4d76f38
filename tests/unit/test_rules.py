"""Rules in words."""

from math import inf

import pytest

from spexplain.tree import Tree
from spexplain.tree.words import Condition, conditions, rule_text, tree_text


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (Condition(0, -inf, 2.45), "age ≤ 2.45"),
        (Condition(0, 2.45, inf), "age > 2.45"),
        (Condition(0, 2.45, 4.75), "2.45 < age ≤ 4.75"),
        (Condition(0, 2.45, 4.75, inside=False), "age ≤ 2.45 or age > 4.75"),
        (Condition(0, -inf, 1234567.89), "age ≤ 1.23457e+06"),
        (Condition(0, -inf, -0.1 - 0.2), "age ≤ -0.3"),
    ],
)
def test_condition(condition, text):
    assert condition.to_text("age") == text


def branch(tree, node, feature, threshold, lower=-inf):
    return tree.split(node, feature=feature, threshold=threshold, lower=lower)


TREE = branch(Tree.root(n_features=2, size=9), 0, 0, 4.0)  # nodes 1, 2
TREE = branch(TREE, 1, 1, 7.0)  # nodes 3, 4
TREE = branch(TREE, 4, 0, 2.0)  # nodes 5, 6
TREE = branch(TREE, 2, 0, 9.0, lower=6.0)  # nodes 7, 8
NAMES = ["age", "pay"]


def test_tests_of_one_feature_are_merged():
    assert [rule_text(TREE, leaf, NAMES) for leaf in range(TREE.n_leaves)] == [
        "age ≤ 4 and pay ≤ 7",
        "age ≤ 2 and pay > 7",
        "2 < age ≤ 4 and pay > 7",
        "6 < age ≤ 9",
        "age > 4 and (age ≤ 6 or age > 9)",
    ]


def test_conditions():
    assert conditions(TREE, 2) == [Condition(0, 2.0, 4.0), Condition(1, 7.0, inf)]
    assert conditions(TREE, 4) == [Condition(0, 4.0, inf), Condition(0, 6.0, 9.0, inside=False)]


def test_later_tests_never_widen_a_condition():
    tree = branch(Tree.root(n_features=1, size=9), 0, 0, 9.0, lower=6.0)
    tree = branch(tree, 1, 0, 7.0)
    tree = branch(tree, 3, 0, 20.0)
    assert conditions(tree, 0) == [Condition(0, 6.0, 7.0)]


def test_single_leaf():
    root = Tree.root(n_features=1, size=3)
    assert rule_text(root, 0, ["age"]) == "all rows"
    assert tree_text(root, ["age"], ["leaf 0"]) == "leaf 0"


def test_drawing():
    leaves = [f"leaf {leaf}" for leaf in range(TREE.n_leaves)]
    assert tree_text(TREE, NAMES, leaves).splitlines() == [
        "age ≤ 4",
        "├─ yes: pay ≤ 7",
        "│  ├─ yes: leaf 0",
        "│  └─ no:  age ≤ 2",
        "│     ├─ yes: leaf 1",
        "│     └─ no:  leaf 2",
        "└─ no:  6 < age ≤ 9",
        "   ├─ yes: leaf 3",
        "   └─ no:  leaf 4",
    ]


def test_alternatives_stand_in_brackets():
    tree = Tree.root(n_features=1, size=0).split(0, feature=0, threshold=9.0, lower=6.0)
    tree = tree.split(2, feature=0, threshold=4.0)
    assert [rule_text(tree, leaf, ["age"]) for leaf in range(3)] == [
        "6 < age ≤ 9",
        "age ≤ 4",
        "age > 4 and (age ≤ 6 or age > 9)",
    ]


def test_what_another_test_says_already_is_left_out():
    tree = Tree.root(n_features=1, size=0).split(0, feature=0, threshold=5.0)
    tree = tree.split(1, feature=0, threshold=9.0, lower=4.0)
    assert conditions(tree, 1) == [Condition(0, -inf, 4.0)]


def test_leaves_that_no_row_reaches():
    tree = Tree.root(n_features=2, size=0).split(0, feature=1, threshold=3.0)
    tree = tree.split(2, feature=0, threshold=1.0).split(4, feature=1, threshold=2.0)
    assert conditions(tree, 2) == [
        Condition(1, 3.0, inf),
        Condition(1, -inf, 2.0),
        Condition(0, 1.0, inf),
    ]
