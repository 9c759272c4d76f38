"""Refinement: equal to brute force, never worse, no leaf lost, deterministic."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle_refine as oracle
from spexplain.engines import NumpyEngine
from spexplain.graphs import CenterCosts, CliqueGraph, SparseGraph, StarGraph, knn_graph
from spexplain.grow import grow
from spexplain.objectives import emn, exkmc, gini_cart, spex
from spexplain.refine import binned, local, refine, revalued
from spexplain.refine.agreement import RandIndex, leaf_table
from spexplain.refine.exchange import Ground
from spexplain.refine.growth import AgreementSearch
from spexplain.refine.orders import Orders, sorted_table
from spexplain.refine.shape import in_order_of_gain, without
from spexplain.tree import LEAF


def table(seed, *, n_rows=30, n_features=3, n_values=6, n_clusters=3, noise=True, dtype=np.float64):
    """Return a table with ties and duplicates, and labels with noise that follow it loosely."""
    random = np.random.default_rng(seed)
    X = random.integers(0, n_values, (n_rows, n_features)).astype(dtype)
    X[: n_rows // 5] = X[n_rows // 5 : 2 * (n_rows // 5)]
    labels = (X[:, 0] + random.integers(0, 3, n_rows)).astype(np.int64) % n_clusters
    labels[:n_clusters] = np.arange(n_clusters)
    if noise:
        labels[random.random(n_rows) < 0.1] = -1
        labels[-n_clusters:] = np.arange(n_clusters)
    return X, labels


def random_tree(X, seed, n_leaves, min_samples_leaf=1):
    """Return a tree of random cuts between values, each leaf with enough rows."""
    from spexplain.tree import Tree

    random = np.random.default_rng(seed)
    tree = Tree.root(n_features=X.shape[1], size=len(X))
    for _ in range(200):
        if tree.n_leaves == n_leaves:
            break
        node = int(random.choice(tree.leaves))
        rows = oracle.rows_of(tree, X, node)
        cuts = list(oracle.cuts_of(X, rows))
        if cuts:
            feature, threshold = cuts[random.integers(len(cuts))]
            n_left = np.count_nonzero(X[rows, feature] <= threshold)
            if min(n_left, len(rows) - n_left) >= min_samples_leaf:
                tree = tree.split(node, feature=feature, threshold=threshold)
    return tree


def same_cuts(one, other):
    names = ("feature", "threshold", "lower", "left", "right")
    return all(np.array_equal(getattr(one, n), getattr(other, n), equal_nan=True) for n in names)


@pytest.fixture(params=["sorted", "2 bins", "7 bins in 2", "255 bins"])
def path(request, monkeypatch):
    """Sort the table, as for small ones, or look at bins first, as in large ones."""
    if request.param == "sorted":
        return
    n_bins = int(request.param.split()[0])
    monkeypatch.setattr(local, "SMALL_TABLE", 0)
    monkeypatch.setattr(binned, "_N_BINS", n_bins)
    monkeypatch.setattr(binned.Binned, "rows_per_bin", 1)
    if request.param.endswith("in 2"):
        monkeypatch.setattr(binned.Binned, "most_bins", 2)


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
            patch.setattr(local, "SMALL_TABLE", 0)
            patch.setattr(binned, "_N_BINS", n_bins)
            patch.setattr(binned.Binned, "most_bins", most_bins)
            patch.setattr(binned, "_CELLS", 1)  # one feature a block: threads have work to share
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


@pytest.mark.parametrize("seed", range(10))
def test_growth_by_agreement_equals_brute_force(seed):
    X, labels = table(seed, n_rows=24, noise=seed % 2 == 0)
    least = 1 + seed % 3
    with sorted_table(X, None, None) as orders:
        search = AgreementSearch(orders, labels, min_samples_leaf=least)
        found = grow(search, max_leaves=5)
    wanted = oracle.grown_by_agreement(X, labels, 5, least)
    reached = [oracle.rand_index(each.apply(X), labels) for each in (found, wanted)]
    assert reached[0] == reached[1]
    assert same_cuts(found, wanted)


@pytest.mark.parametrize("seed", range(10))
def test_exchanges_keep_the_number_of_leaves_and_never_hurt(seed):
    X, labels = table(seed, n_rows=60, n_features=4, n_values=12, n_clusters=4)
    tree = random_tree(X, seed, 5, min_samples_leaf=2)
    with sorted_table(X, None, None) as orders:
        ground = Ground(orders, labels, min_samples_leaf=2, max_depth=4)
        if tree.depth > 4:
            pytest.skip("the random tree is too deep")
        after, score = ground.exchanged(tree)
    assert after.n_leaves == tree.n_leaves
    assert after.depth <= 4
    assert np.bincount(after.apply(X)).min() >= 2
    assert score == oracle.rand_index(after.apply(X), labels)
    assert score >= oracle.rand_index(tree.apply(X), labels)


def test_drops_and_orders_of_splits():
    X, labels = table(2, n_rows=60)
    tree = random_tree(X, 2, 6)
    fewer = without(tree, int(tree.leaves[2]))
    assert fewer.n_leaves == 5
    moved = tree.apply(X) != 2
    groups = set(zip(tree.apply(X)[moved].tolist(), fewer.apply(X)[moved].tolist(), strict=True))
    assert len(groups) == 5  # rows of the other leaves stay together
    ordered = in_order_of_gain(tree, X, labels)
    assert np.array_equal(ordered.apply(X), tree.apply(X))
    grown = [oracle.rand_index(ordered.truncate(m).apply(X), labels) for m in (2, 3)]
    others = [tree.truncate(3), ordered.truncate(3)]
    assert grown[1] == max(oracle.rand_index(each.apply(X), labels) for each in others)


def test_orders_sort_both_precisions_alike():
    random = np.random.default_rng(0)
    X = random.normal(size=(50, 4)).round(1)
    X[0], X[1] = 0.0, -0.0
    one = Orders(np.ascontiguousarray(X.T.astype(np.float32)))
    other = Orders(np.ascontiguousarray(X.T.astype(np.float32).astype(np.float64)))
    assert np.array_equal(one.sorted, other.sorted)


def test_rand_index_of_degenerate_tables():
    assert RandIndex.of(np.array([0, 0, 0])).exact(3, 3) == 1
    assert RandIndex.of(np.array([0, 1, 2])).exact(0, 0) == 1
    table_ = leaf_table(np.array([0, 0, 1]), np.array([0, -1, 1]), 2)
    assert table_.tolist() == [[1, 0], [0, 1]]


def test_misuse_is_refused():
    X, labels = table(0)
    objective = spex(CliqueGraph.from_labels(labels))
    tree = random_tree(X, 0, 3)
    with pytest.raises(ValueError, match="needs labels"):
        refine(tree, X, objective, goal="agreement")
    with pytest.raises(ValueError, match='must be "objective" or "agreement"'):
        refine(tree, X, objective, goal="beauty")


def test_one_leaf_stays():
    X, labels = table(0)
    tree = random_tree(X, 0, 1)
    after = refine(tree, X, spex(CliqueGraph.from_labels(labels)), goal="agreement", labels=labels)
    assert after.n_leaves == 1
    assert after.feature[0] == LEAF
