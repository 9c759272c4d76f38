"""The tree: routing, numbering, truncation, and reading nothing but what it wrote."""

import json
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from spexplain.tree import LEAF, Test, Tree


def three_leaves() -> Tree:
    """x0 ≤ 0.5, and on its right side 1 < x1 ≤ 2: leaves 0, 1, 2 are the nodes 1, 3, 4."""
    two = Tree.root(n_features=2, size=9, value=0.25).split(
        0, feature=0, threshold=0.5, sizes=(4, 5), score=0.75, values=(0.5, 0.25)
    )
    return two.split(2, feature=1, threshold=2.0, lower=1.0, sizes=(2, 3), score=1.0)


def test_root():
    root = Tree.root(n_features=3, size=7, value=0.5)
    assert (root.n_nodes, root.n_leaves, root.depth) == (1, 1, 0)
    assert root.apply(np.zeros((4, 3))).tolist() == [0, 0, 0, 0]
    assert root.path(0) == []


def test_numbers():
    tree = three_leaves()
    assert (tree.n_nodes, tree.n_leaves, tree.depth) == (5, 3, 2)
    assert tree.leaves.tolist() == [1, 3, 4]
    assert tree.node_depths.tolist() == [0, 1, 1, 2, 2]
    assert tree.size.tolist() == [9, 4, 5, 2, 3]
    assert tree.path(1) == [(0, False), (2, True)]


def test_leaf_ids_run_from_left_to_right_whatever_the_birth_order():
    tree = Tree.root(n_features=1, size=4).split(0, feature=0, threshold=2.0)
    tree = tree.split(2, feature=0, threshold=3.0).split(1, feature=0, threshold=1.0)
    assert tree.apply(np.array([[0.5], [1.5], [2.5], [3.5]])).tolist() == [0, 1, 2, 3]


def test_tests_hold_at_their_bounds():
    rows = np.array([[0.5, 0.0], [1.0, 1.0], [1.0, 1.5], [1.0, 2.0], [1.0, 2.5]])
    assert three_leaves().apply(rows).tolist() == [0, 2, 1, 1, 2]


def test_float32_rows_meet_float64_thresholds_unrounded():
    threshold = float(np.float32(0.1)) - 1e-12  # rounds to np.float32(0.1)
    tree = Tree.root(n_features=1, size=2).split(0, feature=0, threshold=threshold)
    assert tree.apply(np.array([[0.1]], dtype=np.float32)).tolist() == [1]


def test_infinity_lies_beyond_every_bound():
    tests = {
        Test(0, upper=2.0): [True, False],
        Test(0, 1.0, 2.0): [False, False],
        Test(0, lower=1.0): [False, True],
        Test(0, upper=-np.inf, missing=True): [False, False],  # missing values only
        Test(0, upper=np.inf): [True, True],  # all but missing values
    }
    for test, expected in tests.items():
        tree = Tree.root(n_features=1, size=2).split(
            0, feature=0, threshold=test.upper, lower=test.lower, missing=test.missing
        )
        ends = np.array([-np.inf, np.inf])
        assert (tree.apply(ends[:, None]) == 0).tolist() == expected
        assert test.passes(ends).tolist() == expected


def test_no_rows():
    assert three_leaves().apply(np.empty((0, 2))).tolist() == []
    assert three_leaves().decision_path(np.empty((0, 2))).shape == (0, 5)


def test_decision_path():
    visited = three_leaves().decision_path(np.array([[0.0, 0.0], [1.0, 1.5]]))
    assert visited.toarray().tolist() == [[1, 1, 0, 0, 0], [1, 0, 1, 1, 0]]


def test_arrays_cannot_be_changed():
    tree = three_leaves()
    with pytest.raises(ValueError, match="read-only"):
        tree.threshold[0] = 7
    with pytest.raises(FrozenInstanceError):
        tree.threshold = np.zeros(5)
    given = np.array([LEAF])
    copied = Tree.root(n_features=1, size=1)
    Tree(**{**vars(copied), "feature": given})
    given[0] = 5  # the tree keeps its own copy, and the caller's array stays writable
    with pytest.raises(TypeError):
        hash(tree)


def test_equality():
    assert three_leaves() == three_leaves()
    assert three_leaves() != three_leaves().truncate(2)
    assert three_leaves() != three_leaves().renumbered(np.array([0, 1]), 3)
    assert three_leaves() != "tree"


def test_truncate():
    tree = three_leaves()
    assert tree.truncate(3) == tree
    assert tree.truncate(1) == Tree.root(n_features=2, size=9, value=0.25)
    assert np.isnan(tree.truncate(2).score[2])
    for n_leaves in (0, 4):
        with pytest.raises(ValueError, match=f"n_leaves={n_leaves} must lie between 1 and"):
            tree.truncate(n_leaves)


def test_renumbered():
    wide = three_leaves().renumbered(np.array([4, 1]), 6)
    assert wide.feature.tolist() == [4, LEAF, 1, LEAF, LEAF]
    assert wide.n_features == 6


def test_dictionary_is_plain():
    plain = three_leaves().to_dict()
    assert plain["lower"] == [None, None, 1.0, None, None]
    assert plain["threshold"] == [0.5, None, 2.0, None, None]
    assert Tree.from_dict(json.loads(json.dumps(plain, allow_nan=False))) == three_leaves()


def changed(**entries):
    return three_leaves().to_dict() | entries


MALFORMED = {
    "no mapping": [1, 2],
    "nothing": {},
    "another format": changed(format="sklearn.tree"),
    "another version": changed(version=3),
    "version as text": changed(version="1"),
    "missing entry": {k: v for k, v in three_leaves().to_dict().items() if k != "score"},
    "unknown entry": changed(colour="red"),
    "no features": changed(n_features=0),
    "features as bool": changed(n_features=True),
    "features as float": changed(n_features=2.0),
    "feature out of range": changed(feature=[2, -1, 1, -1, -1]),
    "feature below -1": changed(feature=[-2, -1, 1, -1, -1]),
    "feature as float": changed(feature=[0.0, -1, 1, -1, -1]),
    "feature as bool": changed(feature=[False, -1, 1, -1, -1]),
    "feature as null": changed(feature=[0, None, 1, -1, -1]),
    "feature as text": changed(feature="0,-1,1,-1,-1"),
    "feature too large": changed(feature=[10**30, -1, 1, -1, -1]),
    "threshold as text": changed(threshold=["0.5", None, 2.0, None, None]),
    "threshold not a number": changed(threshold=[float("nan"), None, 2.0, None, None]),
    "missing as numbers": changed(missing=[0, 0, 0, 0, 0]),
    "values of a leaf": changed(values={"1": [0]}),
    "values as text": changed(values={"0": "01"}),
    "values below zero": changed(values={"0": [-1]}),
    "threshold infinite": changed(threshold=[float("inf"), None, 2.0, None, None]),
    "threshold too large": changed(threshold=[10**400, None, 2.0, None, None]),
    "lower above threshold": changed(lower=[None, None, 3.0, None, None]),
    "lower equals threshold": changed(lower=[None, None, 2.0, None, None]),
    "sizes as nested lists": changed(size=[[9], 4, 5, 2, 3]),
    "unequal lengths": changed(size=[9, 4, 5, 2]),
    "even length": {
        name: entries[:4] if isinstance(entries, list) else entries
        for name, entries in three_leaves().to_dict().items()
    },
    "no nodes": {
        name: [] if isinstance(entries, list) else entries
        for name, entries in three_leaves().to_dict().items()
    },
    "child is its own parent": changed(left=[1, -1, 1, -1, -1], right=[2, -1, 2, -1, -1]),
    "child before its parent": changed(left=[3, -1, 1, -1, -1], right=[4, -1, 2, -1, -1]),
    "child out of range": changed(left=[1, -1, 5, -1, -1], right=[2, -1, 6, -1, -1]),
    "children swapped": changed(left=[2, -1, 4, -1, -1], right=[1, -1, 3, -1, -1]),
    "leaf with children": changed(left=[1, 3, 3, -1, -1]),
    "inner node without children": changed(left=[1, -1, -1, -1, -1], right=[2, -1, -1, -1, -1]),
}


@pytest.mark.parametrize("data", MALFORMED.values(), ids=MALFORMED.keys())
def test_anything_else_is_refused_in_one_sentence(data):
    with pytest.raises(ValueError, match=r"^[^\n]+\.$"):
        Tree.from_dict(data)


def test_tests_without_a_threshold_tell_missing_values_from_others():
    for missing, upper in ((True, -np.inf), (False, np.inf)):
        data = changed(
            threshold=[None, None, 2.0, None, None], missing=[missing, False, False, False, False]
        )
        tree = Tree.from_dict(data)
        assert tree.test(0) == Test(0, upper=upper, missing=missing)
        assert Tree.from_dict(json.loads(json.dumps(tree.to_dict(), allow_nan=False))) == tree


def test_parent_born_after_its_child_is_refused():
    # Two nodes that are each other's ancestors would send a row round for ever.
    data = changed(
        feature=[-1, 0, 1, -1, -1],
        threshold=[None, 0.5, 2.0, None, None],
        left=[-1, 3, 1, -1, -1],
        right=[-1, 4, 2, -1, -1],
    )
    with pytest.raises(ValueError, match="birth order"):
        Tree.from_dict(data)
