"""Larger trees of Kernel IMM take the best step each time, and refinement never harms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import kernel as oracle
from spexplain import KernelIMM, datasets
from spexplain.exceptions import LeafCountWarning
from spexplain.graphs.kernel import feature_space_costs
from spexplain.metrics import agreement
from strategies import kernel_problems

ignores_leaf_counts = pytest.mark.filterwarnings("ignore::spexplain.exceptions.LeafCountWarning")
IRIS = datasets.load("iris")
X, Y = IRIS.data, IRIS.target


def greedy_gains(fitted, X, cost, *, only_thresholds):
    """The gain of every expansion step, and the best gain that any cut of the tree before had."""
    n_first = (len(fitted._node_centers) + 1) // 2
    for n_leaves in range(n_first, fitted.n_leaves_):
        before, after = fitted.truncated(n_leaves), fitted.truncated(n_leaves + 1)
        best = 0
        for leaf in range(n_leaves):
            rows = frozenset(np.flatnonzero(before.labels_ == leaf).tolist())
            whole = cost(rows)
            for inside in oracle.interval_cuts(X, sorted(rows), only_thresholds=only_thresholds):
                best = max(best, whole - cost(inside) - cost(rows - inside))
        yield before.objective_ - after.objective_, best


@ignores_leaf_counts
@given(kernel_problems(), st.booleans())
def test_mistakes_expansion_takes_the_largest_reduction(problem, use_intervals):
    X, labels, gamma = problem
    n_leaves = labels.max() + 3
    fitted = KernelIMM(
        gamma=gamma, n_leaves=n_leaves, expand="mistakes", intervals=use_intervals
    ).fit(X, labels)

    def cost(rows):
        return oracle.mistakes(labels.tolist(), rows)

    gains = list(greedy_gains(fitted, X, cost, only_thresholds=not use_intervals))
    assert all(gain == best > 0 for gain, best in gains)
    leaves = [
        frozenset(np.flatnonzero(fitted.labels_ == i).tolist()) for i in range(fitted.n_leaves_)
    ]
    if fitted._node_centers and fitted.n_leaves_ < n_leaves:
        cuts = [
            (rows, inside)
            for rows in leaves
            for inside in oracle.interval_cuts(X, sorted(rows), only_thresholds=not use_intervals)
        ]
        assert all(cost(rows) == cost(inside) + cost(rows - inside) for rows, inside in cuts)
    for leaf, node in enumerate(fitted.tree_.leaves):
        own = labels[sorted(leaves[leaf])]
        if node >= len(fitted._node_centers) and np.any(own >= 0):
            assert fitted.leaf_reference_[leaf] == np.bincount(own[own >= 0]).argmax()


@ignores_leaf_counts
@given(kernel_problems(), st.sampled_from(["rbf", "laplacian"]), st.booleans())
def test_exkmc_expansion_takes_the_largest_drop_of_cost(problem, kernel, use_intervals):
    X, labels, gamma = problem
    fitted = KernelIMM(
        kernel=kernel, gamma=gamma, n_leaves=labels.max() + 3, intervals=use_intervals
    ).fit(X, labels)

    def cost(rows):
        return oracle.service_cost(X, labels.tolist(), kernel, gamma, rows)

    for gain, best in greedy_gains(fitted, X, cost, only_thresholds=not use_intervals):
        assert gain >= 0  # the smallest gains vanish in a sum of floats
        assert gain == pytest.approx(best, abs=1e-9)
    leaves = [
        frozenset(np.flatnonzero(fitted.labels_ == i).tolist()) for i in range(fitted.n_leaves_)
    ]
    if fitted.n_leaves_ > (len(fitted._node_centers) + 1) // 2:
        assert fitted.objective_ == pytest.approx(sum(map(cost, leaves)), abs=1e-9)


def test_service_costs_are_squared_distances_in_feature_space():
    labels = np.where(np.arange(len(Y)) % 7 == 0, -1, Y)
    costs = feature_space_costs(X, labels, "laplacian", 0.4)
    rows = frozenset(range(0, 60, 5))
    total = costs.costs[sorted(rows)].sum(axis=0).min() * costs.unit
    assert total == pytest.approx(oracle.service_cost(X, labels.tolist(), "laplacian", 0.4, rows))


def test_expansion_starts_from_the_kernel_imm_tree():
    base = KernelIMM(gamma=0.5).fit(X, Y)
    for expand in ("exkmc", "mistakes"):
        larger = KernelIMM(gamma=0.5, n_leaves=6, expand=expand).fit(X, Y)
        assert larger.n_leaves_ == 6
        assert larger.truncated(3).labels_.tolist() == base.labels_.tolist()
        assert larger.truncated(3).leaf_reference_.tolist() == base.leaf_reference_.tolist()
        objectives = [step.objective for step in larger.path_[2:]]
        assert objectives == sorted(objectives, reverse=True)
        assert len(set(objectives)) == 4
    with pytest.warns(LeafCountWarning):
        assert KernelIMM(gamma=0.5, n_leaves=6, expand=None).fit(X, Y).tree_ == base.tree_


def test_small_leaves_are_split_too():
    table = np.array([[0.0], [1.0], [2.0], [9.0]])
    fitted = KernelIMM(n_leaves=4, expand="mistakes").fit(table, [0, 1, 0, 1])
    assert np.count_nonzero(fitted.predict_reference(table) != [0, 1, 0, 1]) == 0


@ignores_leaf_counts
@pytest.mark.parametrize("goal", ["objective", "agreement"])
@pytest.mark.parametrize("n_leaves", [None, 5])
def test_refinement_never_harms(goal, n_leaves):
    plain = KernelIMM(gamma=0.5, n_leaves=n_leaves, expand="mistakes").fit(X, Y)
    refined = KernelIMM(gamma=0.5, n_leaves=n_leaves, expand="mistakes", refine=goal).fit(X, Y)
    assert refined.predict(X).tolist() == refined.labels_.tolist()
    if goal == "agreement":
        assert agreement(refined.labels_, Y).ari >= agreement(plain.labels_, Y).ari
    else:
        assert refined.objective_ <= plain.objective_
    assert refined.truncated(2).n_leaves_ == 2


def test_rounding_is_no_gain():
    # Found by the campaign: far points differ in the last bits of their similarities only.
    X = [[0, 0, 2], [0, 0, 0], [0, 0, 0], [0, 0.5, -6.25], [0, 0, 0], [0, 0.25, 0], [0, 0.5, 1.25]]
    X = np.array([*X, [0.25, 0, -5.5], [0, 0.25, 1]], dtype=np.float32)
    labels = np.array([0, -1, -1, 2, 1, 0, 1, 0, 2])
    with pytest.warns(LeafCountWarning):
        fitted = KernelIMM(kernel="rbf", gamma=40.0, n_leaves=9, intervals=False).fit(X, labels)
    assert fitted.n_leaves_ == 3
