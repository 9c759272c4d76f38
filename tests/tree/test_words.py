"""Tests and rules in words."""

from math import inf, nan

import numpy as np
import pytest

from spexplain.tree import Region, Test, Tree
from spexplain.tree.boxes import leaf_box
from spexplain.tree.words import leaf_rules, tree_text


@pytest.mark.parametrize(
    ("test", "text"),
    [
        (Test(0, upper=2.45), "age ≤ 2.45"),
        (Test(0, lower=2.45), "age > 2.45"),
        (Test(0, 2.45, 4.75), "2.45 < age ≤ 4.75"),
        (Test(0), "any age"),
        (Test(0, upper=1234567.89), "age ≤ 1234567.89"),
        (Test(0, upper=-0.1 - 0.2), "age ≤ -0.30000000000000004"),
        (Test(0, upper=2.5e16), "age ≤ 2.5e+16"),
        (Test(0, upper=-inf, missing=True), "age is missing"),
    ],
)
def test_text_of_a_test(test, text):
    assert test.text("age") == text


def test_what_passes():
    values = np.array([2.0, 2.5, 4.0, 4.5, nan])
    assert Test(0, 2.0, 4.0).passes(values).tolist() == [False, True, True, False, False]
    assert Test(0, 2.0, 4.0, missing=True).passes(values).tolist()[-1] is True
    assert Test(0, 2.0, 4.0).region() == Region(((2.0, 4.0),), missing=False)
    assert Test(0, 2.0, 4.0).region(passed=False) == Region(((-inf, 2.0), (4.0, inf)), missing=True)
    assert Test(0, upper=4.0, missing=True).region(passed=False) == Region(((4.0, inf),), False)


def branch(tree, node, feature, threshold, lower=-inf):
    return tree.split(node, feature=feature, threshold=threshold, lower=lower)


TREE = branch(Tree.root(n_features=2, size=9), 0, 0, 4.0)  # nodes 1, 2
TREE = branch(TREE, 1, 1, 7.0)  # nodes 3, 4
TREE = branch(TREE, 4, 0, 2.0)  # nodes 5, 6
TREE = branch(TREE, 2, 0, 9.0, lower=6.0)  # nodes 7, 8
NAMES = ["age", "pay"]


def test_tests_of_one_feature_are_merged():
    assert leaf_rules(TREE, NAMES) == [
        "age ≤ 4 and pay ≤ 7",
        "age ≤ 2 and pay > 7",
        "2 < age ≤ 4 and pay > 7",
        "6 < age ≤ 9",
        "4 < age ≤ 6 or age > 9",
    ]


def test_boxes():
    assert leaf_box(TREE, 2) == {0: Region(((2.0, 4.0),), False), 1: Region(((7.0, inf),), True)}
    assert leaf_box(TREE, 4) == {0: Region(((4.0, 6.0), (9.0, inf)), True)}


def test_later_tests_never_widen_a_box():
    tree = branch(Tree.root(n_features=1, size=9), 0, 0, 9.0, lower=6.0)
    tree = branch(tree, 1, 0, 7.0)
    tree = branch(tree, 3, 0, 20.0)
    assert leaf_box(tree, 0) == {0: Region(((6.0, 7.0),), False)}


def test_single_leaf():
    root = Tree.root(n_features=1, size=3)
    assert leaf_rules(root, ["age"]) == ["all rows"]
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


def test_alternatives_stand_in_brackets_beside_other_features():
    tree = branch(Tree.root(n_features=2, size=0), 0, 0, 9.0, lower=6.0)
    tree = branch(branch(tree, 2, 0, 4.0), 4, 1, 1.0)
    assert leaf_rules(tree, NAMES) == [
        "6 < age ≤ 9",
        "age ≤ 4",
        "(4 < age ≤ 6 or age > 9) and pay ≤ 1",
        "(4 < age ≤ 6 or age > 9) and pay > 1",
    ]


def test_what_another_test_says_already_is_left_out():
    tree = Tree.root(n_features=1, size=0).split(0, feature=0, threshold=5.0)
    tree = tree.split(1, feature=0, threshold=9.0, lower=4.0)
    assert leaf_box(tree, 1) == {0: Region(((-inf, 4.0),), False)}


def test_leaves_that_no_row_reaches():
    tree = Tree.root(n_features=2, size=0).split(0, feature=1, threshold=3.0)
    tree = tree.split(2, feature=0, threshold=1.0).split(4, feature=1, threshold=2.0)
    assert leaf_rules(tree, NAMES)[2] == "no value of pay and age > 1"
    assert Region((), missing=False).text("pay") == "no value of pay"
