"""How deep trees are and how long their rules, weighted by the rows that read them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spexplain import SpexClique, Tree, datasets, metrics
from spexplain.metrics import weighted_average_depth, weighted_average_explanation_size
from spexplain.tree import LEAF


def ladder(*thresholds: float) -> Tree:
    """A tree that splits the right leaf again and again."""
    tree = Tree.root(n_features=2, size=8)
    for number, threshold in enumerate(thresholds):
        tree = tree.split(2 * number, feature=0, threshold=threshold, sizes=(1, 7 - number))
    return tree


@st.composite
def ordinary_trees(draw: st.DrawFn) -> Tree:
    tree = Tree.root(n_features=3, size=9)
    free = {0: [range(-3, 4)] * 3}  # thresholds that leave something on both sides, by node
    for _ in range(draw(st.integers(0, 6))):
        node, feature = draw(st.sampled_from(tree.leaves.tolist())), draw(st.integers(0, 2))
        if not (choices := free[node][feature]):
            continue
        threshold = draw(st.sampled_from(choices))
        sizes = (draw(st.integers(0, 4)), draw(st.integers(1, 4)))
        for child, left_over in (
            (tree.n_nodes, range(choices.start, threshold)),
            (tree.n_nodes + 1, range(threshold + 1, choices.stop)),
        ):
            free[child] = [*free[node][:feature], left_over, *free[node][feature + 1 :]]
        tree = tree.split(node, feature=feature, threshold=float(threshold), sizes=sizes)
    return tree


@given(ordinary_trees())
def test_both_equal_the_definition_leaf_by_leaf(tree: Tree) -> None:
    depths, counts, sizes = [], [], []
    for leaf in range(tree.n_leaves):
        path = tree.path(leaf)
        depths.append(len(path))
        # One condition per feature and direction: x ≤ t on the left, x > t on the right.
        counts.append(len({(int(tree.feature[node]), left) for node, left in path}))
        sizes.append(int(tree.size[tree.leaves[leaf]]))
    if sum(sizes) == 0:
        return
    assert weighted_average_depth(tree) == pytest.approx(np.average(depths, weights=sizes))
    found = weighted_average_explanation_size(tree)
    assert found == pytest.approx(np.average(counts, weights=sizes))
    assert found <= weighted_average_depth(tree) + 1e-12


def test_a_lonely_root_asks_nothing() -> None:
    root = Tree.root(n_features=1, size=5)
    assert weighted_average_depth(root) == 0
    assert weighted_average_explanation_size(root) == 0


def test_a_ladder_is_deep_but_easily_explained() -> None:
    tree = ladder(1.0, 2.0, 3.0)
    assert weighted_average_depth(tree, sizes=[1, 1, 1, 1]) == (1 + 2 + 3 + 3) / 4
    # x ≤ 1; 1 < x ≤ 2; 2 < x ≤ 3; x > 3
    assert weighted_average_explanation_size(tree, sizes=[1, 1, 1, 1]) == (1 + 2 + 2 + 1) / 4


def test_rows_are_counted_in_their_leaves() -> None:
    tree = ladder(1.0, 2.0)
    X = np.array([[0.0, 9.0], [0.5, 9.0], [1.5, 9.0], [5.0, 9.0]])
    assert weighted_average_depth(tree, X) == (1 + 1 + 2 + 2) / 4
    assert weighted_average_explanation_size(tree, X) == (1 + 1 + 2 + 1) / 4


def test_training_rows_are_the_default() -> None:
    iris = datasets.load("iris")
    explainer = SpexClique().fit(iris.data, iris.target)
    tree = explainer.tree_
    assert metrics.weighted_average_depth(tree) == pytest.approx(
        metrics.weighted_average_depth(tree, iris.data)
    )
    assert metrics.weighted_average_depth(tree) == pytest.approx((50 + 2 * 100) / 150)


@pytest.mark.parametrize(
    ("tests", "leaf", "expected"),
    [
        # (lower, upper, went left) of one feature, from the root
        ([(1.0, 2.0, True)], 0, 2),
        ([(1.0, 2.0, False)], 1, 2),
        ([(-np.inf, 5.0, True), (1.0, 2.0, True)], 0, 2),  # 1 < x ≤ 2 within x ≤ 5
        ([(-np.inf, 5.0, True), (1.0, 2.0, False)], 1, 3),  # x ≤ 1 or 2 < x ≤ 5
        ([(-np.inf, 1.5, True), (1.0, 2.0, False)], 1, 1),  # x ≤ 1
        ([(-np.inf, 0.5, True), (1.0, 2.0, False)], 1, 1),  # x ≤ 0.5, which leaves no choice
        ([(1.0, 2.0, False), (0.0, 3.0, False)], 2, 2),  # x ≤ 0 or x > 3
        ([(1.0, 2.0, False), (2.0, 3.0, False)], 2, 2),  # x ≤ 1 or x > 3
        ([(1.0, 2.0, False), (4.0, 5.0, False)], 2, 4),
    ],
)
def test_interval_tests_count_the_thresholds_that_matter(
    tests: list[tuple[float, float, bool]], leaf: int, expected: int
) -> None:
    tree, at = Tree.root(n_features=1, size=1), 0
    for lower, upper, went_left in tests:
        tree = tree.split(at, feature=0, threshold=upper, lower=lower)
        at = int((tree.left if went_left else tree.right)[at])
    assert tree.leaves[leaf] == at
    assert tree.feature[at] == LEAF
    sizes = np.eye(tree.n_leaves)[leaf]
    assert weighted_average_explanation_size(tree, sizes=sizes) == expected
    assert weighted_average_depth(tree, sizes=sizes) == len(tests)


@pytest.mark.parametrize("metric", [weighted_average_depth, weighted_average_explanation_size])
@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"X": [[0.0, 1.0]], "sizes": [1, 2]}, "either X or sizes"),
        ({"X": [[0.0]]}, "X has 1 columns, but the tree tests 2"),
        ({"X": [[0.0, np.inf]]}, "X contains NaN or infinity"),
        ({"sizes": [1, 2, 3]}, "sizes must hold one number per leaf, 2 in all"),
        ({"sizes": [0, 0]}, "not all 0"),
        ({"sizes": [-1, 2]}, "at least 0"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(metric, given_: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        metric(ladder(1.0), **given_)


def test_a_tree_without_training_rows_needs_sizes() -> None:
    with pytest.raises(ValueError, match="needs X or sizes"):
        weighted_average_depth(Tree.root(n_features=1, size=0))
