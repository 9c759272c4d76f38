"""Trees of any engine beside those of the definitions."""

from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from oracles import definitions as oracle
from oracles import roundest as oracle_roundest
from spexplain.engines import Engine
from spexplain.grow import grow
from spexplain.objectives import Objective
from spexplain.tree import LEAF, Tree

LIMITS = st.fixed_dictionaries(
    {"max_leaves": st.integers(1, 8), "max_depth": st.none() | st.integers(1, 3)},
    optional={"min_samples_leaf": st.integers(1, 3)},
)


def grown(
    engine: Engine,
    X: np.ndarray,
    objective: Objective,
    *,
    max_leaves: int = 8,
    max_depth: int | None = None,
    min_samples_leaf: int = 1,
) -> Tree:
    search = engine.bind(X, objective, min_samples_leaf=min_samples_leaf)
    return grow(search, max_leaves=max_leaves, max_depth=max_depth)


def assert_equals_oracle(
    tree: Tree, X: np.ndarray, method: oracle.Method, splits: list[oracle.Split], n_samples: int
) -> None:
    """Every array of the tree is what the definitions say."""
    assert tree.n_leaves == len(splits) + 1
    expected = dict.fromkeys(range(tree.n_nodes), (LEAF, None, LEAF, np.nan))
    members = {0: list(range(len(X)))}
    for number, split in enumerate(splits):
        young, cut = 2 * number + 1, split.cut
        expected[split.leaf.number] = (cut.feature, cut.threshold, young, cut.score)
        members[young], members[young + 1] = cut.left, cut.right
    for node, (feature, threshold, left, score) in expected.items():
        assert tree.feature[node] == feature
        assert tree.left[node] == left
        assert tree.right[node] == (left if left == LEAF else left + 1)
        assert tree.score[node] == pytest.approx(score, abs=1e-9, nan_ok=True)
        assert tree.size[node] == sum(x < n_samples for x in members[node])
        assert tree.value[node] == pytest.approx(method.value(members[node]), abs=1e-9)
        if feature != LEAF:
            assert tree.threshold[node] == threshold
    assert tree.apply(X).tolist() == oracle.leaf_ids(splits, X)


def check_against_oracle(
    engine: Engine,
    X: np.ndarray,
    objective: Objective,
    method: oracle.Method,
    limits: dict[str, int | None],
) -> None:
    tree = grown(engine, X, objective, **limits)
    extra = objective.graph.extra
    table = X if extra is None else np.concatenate([X, extra])
    splits = oracle.grow(table, method, n_samples=len(X), **limits)
    assert_equals_oracle(tree, table, method, splits, n_samples=len(X))


def check_is_greedy(
    tree: Tree, X: np.ndarray, method: oracle.Method, limits: dict[str, int | None]
) -> None:
    """Every split of the tree is a best one up to rounding: ties may resolve either way."""

    def follow(number: int, rivals: list[oracle.Leaf]) -> tuple[int, oracle.Cut]:
        node = int(np.flatnonzero(tree.left == 2 * number + 1)[0])
        leaf = next(leaf for leaf in rivals if leaf.number == node)
        test = tree.feature[node], tree.threshold[node]
        return node, next(cut for cut in leaf.cuts if (cut.feature, cut.threshold) == test)

    splits = oracle.grow(X, method, choose=follow, **limits)
    assert_equals_oracle(tree, X, method, splits, n_samples=len(X))
    for split in splits:
        assert split.cut.score <= min(cut.score for cut in split.leaf.cuts) + 1e-9
        assert split.leaf.priority <= min(leaf.priority for leaf in split.rivals) + 1e-9


def searched_tree(explainer: Any, X: np.ndarray) -> Tree:
    """The cuts of an estimator for numbers as they were searched, from which those that it executes follow.

    The fitted tree has the same nodes and parts the rows alike; every bound is the roundest number of
    its gap, and missing values, of which X has none, go to the larger side.
    """
    tree, searched = explainer.tree_, explainer.explanation_.training.searched
    assert tree.feature.tolist() == searched.feature.tolist()
    assert tree.left.tolist() == searched.left.tolist()
    members = {0: np.arange(len(X))}
    for node, test in tree.tests.items():
        rows, before = members.pop(node), searched.test(node)
        x = X[rows, test.feature].astype(np.float64)
        is_left = test.passes(x)
        assert is_left.tolist() == before.passes(x).tolist()
        for bound, middle in ((test.lower, before.lower), (test.upper, before.upper)):
            below, above = x[x <= middle], x[x > middle]
            if not len(below) or not len(above):  # only centres are parted there
                assert bound == middle
            elif (test.lower, test.upper) != (before.lower, before.upper):
                assert bound in oracle_roundest.roundest(below.max(), above.min())
        n_left = np.count_nonzero(is_left)
        assert test.missing == (2 * n_left >= len(rows))
        members[int(tree.left[node])], members[int(tree.right[node])] = (
            rows[is_left],
            rows[~is_left],
        )
    return searched
