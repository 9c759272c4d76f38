"""Refinement: equal to brute force, never worse, no leaf lost, deterministic."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loose_trees import random_tree, same_cuts, table
from oracles import refine as oracle
from spexplain.engines import NumpyEngine
from spexplain.graphs import (
    CenterCosts,
    CliqueGraph,
    ProductGraph,
    SparseGraph,
    StarGraph,
    knn_graph,
)
from spexplain.grow import grow
from spexplain.metrics.agreement import RandIndex, leaf_table
from spexplain.objectives import emn, exkmc, gini_cart, spex
from spexplain.refine import binned_rows, local, refine, revalued
from spexplain.refine.scores import GOALS, LeafScore
from spexplain.tree import LEAF


@pytest.fixture(params=["sorted", "2 bins", "7 bins in 2", "255 bins"])
def path(request, monkeypatch):
    """Sort the table, as for small ones, or look at bins first, as in large ones."""
    if request.param == "sorted":
        return
    n_bins = int(request.param.split()[0])
    monkeypatch.setattr(local, "_MANY_VALUES", 0)
    monkeypatch.setattr(binned_rows, "_N_BINS", n_bins)
    monkeypatch.setattr(binned_rows.BinnedRows, "rows_per_bin", 1)
    if request.param.endswith("in 2"):
        monkeypatch.setattr(binned_rows.BinnedRows, "most_bins", 2)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("min_samples_leaf", [1, 3])
@pytest.mark.parametrize("seed", range(12))
def test_agreement_equals_brute_force(seed, min_samples_leaf, dtype, path):
    X, labels = table(seed, dtype=dtype)
    tree = random_tree(X, seed, n_leaves=2 + seed % 4, min_samples_leaf=min_samples_leaf)
    objective = spex(CliqueGraph.from_labels(labels))
    passes = 1 if seed % 3 == 0 else None
    options = {"passes": passes, "min_samples_leaf": min_samples_leaf}
    found = refine(tree, X, objective, goal="agreement", labels=labels, **options)
    wanted = oracle.refined(
        tree, X, lambda each: oracle.rand_index(each.apply(X), labels), **options
    )
    assert same_cuts(found, wanted)


@pytest.mark.parametrize("kind", ["clique", "sparse"])
@pytest.mark.parametrize("seed", range(10))
def test_objective_equals_brute_force(seed, kind):
    X, labels = table(seed, noise=False)
    tree = random_tree(X, seed, n_leaves=2 + seed % 4)
    if kind == "clique":
        adjacency = oracle.adjacency_of_cliques(labels)
        graph = CliqueGraph.from_labels(labels)
    else:
        random = np.random.default_rng(seed)
        upper = np.triu(
            random.integers(1, 4, (len(X), len(X))) * (random.random((30, 30)) < 0.3), 1
        )
        adjacency = (upper + upper.T).astype(float)
        graph = SparseGraph.from_adjacency(adjacency)

    def score(each):
        # Rounded, so that sums in another order tie where they tie on paper.
        return -round(oracle.multiway_cut(adjacency, each.apply(X)), 10)

    found = refine(tree, X, spex(graph))
    wanted = oracle.refined(tree, X, score)
    assert score(found) == pytest.approx(score(wanted))
    assert found.value[found.leaves].sum() == pytest.approx(-score(found))


@pytest.mark.parametrize("min_samples_leaf", [1, 3])
@pytest.mark.parametrize("seed", range(10))
def test_cost_equals_brute_force(seed, min_samples_leaf):
    X, labels = table(seed)
    tree = random_tree(X, seed, n_leaves=2 + seed % 4, min_samples_leaf=min_samples_leaf)
    known = labels >= 0

    def saved(each):
        leaves, cost = each.apply(X), 0.0
        for leaf in np.unique(leaves[known]):
            points = X[known & (leaves == leaf)]
            cost += ((points - points.mean(axis=0)) ** 2).sum()
        return -round(cost, 8)

    options = {"passes": None, "min_samples_leaf": min_samples_leaf}
    objective = spex(CliqueGraph.from_labels(labels))
    found = refine(tree, X, objective, goal="cost", labels=labels, **options)
    wanted = oracle.refined(tree, X, saved, **options)
    assert saved(found) == pytest.approx(saved(wanted), abs=1e-6)
    assert saved(found) >= saved(tree)


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("is_weighted", [False, True])
def test_no_goal_gets_worse(goal, is_weighted):
    for seed in range(4):
        X, labels = table(seed)
        tree = random_tree(X, seed, n_leaves=4)
        weights = np.random.default_rng(seed).integers(1, 4, len(X)) if is_weighted else None
        score = LeafScore.of(goal, labels, weights, X)
        if goal == "agreement":
            score = score.at_index(0.5, RandIndex.of(labels, weights))
        objective = spex(CliqueGraph.from_labels(labels))
        found = refine(tree, X, objective, goal=goal, labels=labels, sample_weight=weights)
        before, after = (
            score.of_table(score.table(each.apply(X), 4)).sum() for each in (tree, found)
        )
        assert found.n_leaves == 4
        if goal == "agreement":
            before, after = (
                RandIndex.of(labels, weights).of_table(
                    leaf_table(each.apply(X), labels, 4, weights)
                )
                for each in (tree, found)
            )
        assert after >= before - 1e-9


@given(seed=st.integers(0, 10_000), n_leaves=st.integers(1, 7), noise=st.booleans())
@settings(max_examples=40, deadline=None)
def test_never_worse_and_no_leaf_lost(seed, n_leaves, noise):
    X, labels = table(seed, noise=noise)
    tree = random_tree(X, seed, n_leaves)
    graph = CliqueGraph.from_labels(labels)
    for objective in (spex(graph), gini_cart(graph)):
        before = revalued(tree, X, objective)
        after = refine(tree, X, objective)
        assert after.value[after.leaves].sum() <= before.value[before.leaves].sum() + 1e-12
        assert after.size[after.leaves].min() >= 1
        agreed = refine(tree, X, objective, goal="agreement", labels=labels)
        was, now = (oracle.rand_index(each.apply(X), labels) for each in (tree, agreed))
        assert now >= was
        assert agreed.size[agreed.leaves].min() >= 1
        assert np.array_equal(agreed.left, tree.left)
        counts = np.bincount(agreed.apply(X), minlength=agreed.n_leaves)
        assert np.array_equal(counts, agreed.size[agreed.leaves])


@pytest.mark.parametrize("goal", ["objective", "agreement"])
def test_threads_and_repetition_change_nothing(goal):
    random = np.random.default_rng(0)
    X = random.normal(size=(900, 25)).astype(np.float32)
    labels = np.argmax(X[:, :4] + random.normal(size=(900, 4)), axis=1)
    objective = spex(CliqueGraph.from_labels(labels))
    tree = grow(NumpyEngine().bind(X, objective), max_leaves=6)
    trees = [
        refine(tree, X, objective, goal=goal, labels=labels, n_jobs=jobs)
        for jobs in (None, 2, 3, 1)
    ]
    assert all(each == trees[0] for each in trees)
    again = refine(trees[0], X, objective, goal=goal, labels=labels)
    assert again == trees[0]
    assert not same_cuts(tree, trees[0])


@given(seed=st.integers(0, 10_000), n_leaves=st.integers(2, 9), least=st.integers(1, 4))
def test_bins_change_nothing(seed, n_leaves, least):
    random = np.random.default_rng(seed)
    X, labels = table(seed, n_rows=120, n_features=4, n_values=random.integers(2, 40))
    X[:, 1] = np.exp(random.normal(size=120) * 4)
    tree = random_tree(X, seed, n_leaves, least)
    objective = spex(CliqueGraph.from_labels(labels))
    options = {"goal": "agreement", "labels": labels, "min_samples_leaf": least}
    expected = refine(tree, X, objective, **options)
    for n_bins, most_bins in ((2, 64), (7, 3), (255, 64), (255, 8)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(local, "_MANY_VALUES", 0)
            patch.setattr(binned_rows, "_N_BINS", n_bins)
            patch.setattr(binned_rows.BinnedRows, "most_bins", most_bins)
            patch.setattr(
                binned_rows, "_CELLS", 1
            )  # one feature a block: threads have work to share
            assert refine(tree, X, objective, n_jobs=2, **options) == expected


def test_centres_keep_their_leaves():
    random = np.random.default_rng(3)
    labels = np.repeat(np.arange(4), 50)
    X = random.normal(size=(4, 3))[labels] * 2 + random.normal(size=(200, 3))
    centers = np.stack([X[labels == code].mean(axis=0) for code in range(4)])
    objective = emn(StarGraph(labels, centers))
    tree = grow(NumpyEngine().bind(X, objective), max_leaves=4)
    after = refine(tree, X, objective)
    assert np.array_equal(after.apply(centers), tree.apply(centers))
    mistakes = [np.sum(each.apply(X) != each.apply(centers)[labels]) for each in (tree, after)]
    assert mistakes[1] <= mistakes[0]
    assert after.value[after.leaves].sum() == mistakes[1]


def test_costs_of_centres_fall():
    X, labels = table(5, n_rows=60, noise=False)
    centers = np.stack([X[labels == code].mean(axis=0) for code in range(3)])
    objective = exkmc(CenterCosts.from_centers(X, centers))
    tree = revalued(random_tree(X, 5, 5), X, objective)
    after = refine(tree, X, objective)

    def cost(each):
        distances = ((X[:, None] - centers[None]) ** 2).sum(axis=2)
        return sum(distances[each.apply(X) == leaf].sum(axis=0).min() for leaf in range(5))

    best = oracle.refined(tree, X, lambda each: -round(cost(each), 9))
    assert after.value[after.leaves].sum() == pytest.approx(cost(after))
    assert cost(after) == pytest.approx(cost(best))


def test_scores_and_values_are_those_of_growth():
    X, labels = table(1, n_rows=80, noise=True)
    objective = spex(CliqueGraph.from_labels(labels))
    tree = grow(NumpyEngine().bind(X, objective), max_leaves=5)
    again = revalued(tree, X, objective)
    assert same_cuts(again, tree)
    assert np.array_equal(again.size, tree.size)
    assert again.value == pytest.approx(tree.value)
    assert again.score == pytest.approx(tree.score, nan_ok=True)


def test_no_leaf_is_emptied_of_edges():
    X = np.arange(6.0)[:, None]
    path = np.diag([1.0, 1.0, 0.0, 0.0, 1.0], 1)
    graph = SparseGraph.from_adjacency(path + path.T)  # row 3 is isolated
    tree = random_tree(X, 0, 1).split(0, feature=0, threshold=1.5)
    after = refine(tree, X, spex(graph))
    labels = after.apply(X)
    assert all(graph.degrees[labels == leaf].sum() > 0 for leaf in (0, 1))


def test_neighbour_graphs_are_refined():
    random = np.random.default_rng(1)
    X = random.normal(size=(120, 3))
    objective = spex(knn_graph(X, 5))
    tree = grow(NumpyEngine().bind(X, objective), max_leaves=5)
    after = refine(tree, X, objective)
    assert after.value[after.leaves].sum() <= tree.value[tree.leaves].sum()


def test_misuse_is_refused():
    X, labels = table(0)
    objective = spex(CliqueGraph.from_labels(labels))
    tree = random_tree(X, 0, 3)
    with pytest.raises(ValueError, match="needs labels"):
        refine(tree, X, objective, goal="agreement")
    with pytest.raises(ValueError, match='must be "objective", "fidelity"'):
        refine(tree, X, objective, goal="beauty")


@pytest.mark.parametrize("n_leaves", [1, 3])
def test_graphs_whose_moves_cannot_be_followed_are_refused(n_leaves):
    X, _ = table(0)
    objective = spex(ProductGraph.from_masses(X[:, 0] - X[:, 0].min()))
    with pytest.raises(TypeError, match=r'refine="objective" is not supported .* ProductGraph;'):
        refine(random_tree(X, 0, n_leaves), X, objective)


def test_one_leaf_stays():
    X, labels = table(0)
    tree = random_tree(X, 0, 1)
    after = refine(tree, X, spex(CliqueGraph.from_labels(labels)), goal="agreement", labels=labels)
    assert after.n_leaves == 1
    assert after.feature[0] == LEAF
