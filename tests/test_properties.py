"""Engines equal the definitions, and trees keep what must not change."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from spexplain import metrics
from spexplain.engines import Engine, NumpyEngine
from spexplain.engines import numpy as numpy_engine
from spexplain.graphs import CliqueGraph, Graph, SparseGraph, StarGraph
from spexplain.grow import grow
from spexplain.objectives import Objective, gini_cart, spex, volume_cart
from spexplain.records import Cut, Side
from spexplain.rules import conditions
from spexplain.tree import LEAF, Tree
from strategies import (
    adjacencies_for,
    columns,
    graph_tables,
    labelled_tables,
    labels_for,
    tables,
    trees,
)

N_LEAVES = st.integers(1, 8)
LIMITS = st.fixed_dictionaries(
    {"max_leaves": N_LEAVES, "max_depth": st.none() | st.integers(1, 3)},
    optional={"min_samples_leaf": st.integers(1, 3)},
)
CARTS = {
    "gini": (gini_cart, oracle.gini_cart),
    "volume": (volume_cart, oracle.volume_cart),
}


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


# --- Engine = oracle ------------------------------------------------------------------------------


@given(labelled_tables(), LIMITS)
def test_spex_on_unit_cliques(engine, case, limits):
    X, labels = case
    objective = spex(CliqueGraph.from_labels(labels))
    check_against_oracle(engine, X, objective, oracle.spex_clique(labels), limits)


@given(labelled_tables(), LIMITS)
def test_spex_on_weighted_cliques(engine, case, limits):
    # Weights 1/(N-1) are no binary fractions: ties on paper may resolve either way.
    X, labels = case
    tree = grown(engine, X, spex(CliqueGraph.from_labels(labels, "inverse_size")), **limits)
    check_is_greedy(tree, X, oracle.spex_clique(labels, "inverse_size"), limits)


@given(graph_tables(), LIMITS)
def test_spex_on_sparse_graphs(engine, case, limits):
    X, adjacency = case
    objective = spex(SparseGraph.from_adjacency(adjacency))
    check_against_oracle(engine, X, objective, oracle.spex(adjacency), limits)


@given(graph_tables(any_weight=True), LIMITS)
def test_spex_on_graphs_of_any_weights(engine, case, limits):
    X, adjacency = case
    tree = grown(engine, X, spex(SparseGraph.from_adjacency(adjacency)), **limits)
    check_is_greedy(tree, X, oracle.spex(adjacency), limits)


@pytest.mark.parametrize("leaf_weight", ["none", "size"])
@pytest.mark.parametrize("criterion", CARTS)
@given(labelled_tables(), LIMITS)
def test_cart(engine, criterion, leaf_weight, case, limits):
    X, labels = case
    formula, definition = CARTS[criterion]
    objective = formula(CliqueGraph.from_labels(labels), leaf_weight)
    check_against_oracle(engine, X, objective, definition(labels, leaf_weight), limits)


def imm_like(graph: StarGraph) -> Objective:
    """The fewest samples parted from their centres, among cuts that part centres."""

    def score(left: Side, right: Side, node: Side) -> np.ndarray:
        crossing = (node.inner - left.inner - right.inner) / 2
        return np.where((left.size > 0) & (right.size > 0), crossing, np.inf)

    return Objective("imm-like", graph, score, value=lambda node: 0.0)


@given(st.data())
def test_star_graph_with_centres_as_extra_vertices(engine, data):
    X = data.draw(tables())
    labels = data.draw(labels_for(len(X)))
    n_centers = int(labels.max()) + 1
    drawn = [data.draw(columns(n_centers)) for _ in range(X.shape[1])]
    centers = (np.array(drawn).T * 0.25).astype(X.dtype)
    adjacency = oracle.star_adjacency(labels.tolist(), n_centers)
    method = oracle.fewest_mistakes(adjacency, n_samples=len(X))
    check_against_oracle(engine, X, imm_like(StarGraph(labels, centers)), method, {"max_leaves": 5})


@given(labelled_tables(), graph_tables(any_weight=True), LIMITS)
def test_all_engines_grow_the_same_tree(engine, labelled, joined, limits):
    X, labels = labelled
    cliques = CliqueGraph.from_labels(labels, "inverse_size")
    for table, objective in [
        (X, spex(cliques)),
        (joined[0], spex(SparseGraph.from_adjacency(joined[1]))),
    ]:
        expected = grown(NumpyEngine(), table, objective, **limits)
        assert grown(engine, table, objective, **limits) == expected


# --- Sums -----------------------------------------------------------------------------------------


def check_sums(graph: Graph, adjacency: np.ndarray, seed: int) -> None:
    """The sums that a formula sees left and right of every gap are the oracle's, in a node and below it."""
    rng = np.random.default_rng(seed)
    n, extra = len(adjacency), 0 if graph.extra is None else len(graph.extra)
    ranks = np.column_stack([rng.permutation(n) for _ in range(3)]).astype(np.float64)
    if extra:
        graph = replace(graph, centers=ranks[n - extra :])
    seen = []

    def spy(left: Side, right: Side, node: Side) -> np.ndarray:
        seen.append((left, right, node))
        return np.zeros(np.shape(left.volume))

    search = NumpyEngine().bind(ranks[: n - extra], Objective("spy", graph, spy, lambda node: 0.0))
    root, middle = search.root(), n // 2 - 0.5
    below = [ranks[:, 0] <= middle, ranks[:, 0] > middle]
    parts = search.split(root, Cut(0, middle, 0.0, 0.0))
    for part, inside in [(root, np.full(n, True)), *zip(parts, below, strict=True)]:
        seen.clear()
        search.best_cuts([part])
        for left, right, node in seen[:1]:
            assert node.inner * graph.unit == oracle.inner(adjacency, np.flatnonzero(inside))
            for feature, gap in np.ndindex(left.volume.shape):
                order = [x for x in np.argsort(ranks[:, feature]) if inside[x]]
                sides = order[: gap + 1], order[gap + 1 :]
                for sums, members in zip((left, right), sides, strict=True):
                    inner, volume, size = (int(field[feature, gap]) for field in sums[:3])
                    assert inner * graph.unit == oracle.inner(adjacency, members)
                    assert volume * graph.unit == oracle.volume(adjacency, members)
                    assert size == graph.sizes[members].sum()
                crossing = oracle.weight_between(adjacency, *sides) / graph.unit
                both = left.inner[feature, gap] + right.inner[feature, gap]
                assert both + 2 * crossing == node.inner


@given(st.data(), st.integers(0, 999))
def test_sums_of_all_graphs(data, seed):
    n = data.draw(st.integers(2, 9))
    labels = np.array(data.draw(st.lists(st.integers(-1, 3), min_size=n, max_size=n)))
    adjacency = data.draw(adjacencies_for(n))
    n_centers = max(int(labels.max()) + 1, 1)
    star = oracle.star_adjacency(labels.tolist(), n_centers)
    check_sums(CliqueGraph.from_labels(labels), oracle.clique_adjacency(labels.tolist()), seed)
    check_sums(SparseGraph.from_adjacency(adjacency), adjacency, seed)
    check_sums(StarGraph(labels, np.zeros((n_centers, 3))), star, seed)


# --- What must not change the partition -----------------------------------------------------------


@given(graph_tables(any_weight=True), labelled_tables(), st.randoms(use_true_random=False))
def test_order_of_rows(engine, joined, labelled, random):
    X, adjacency = joined
    order = random.sample(range(len(X)), len(X))
    tree = grown(engine, X, spex(SparseGraph.from_adjacency(adjacency)))
    shuffled = SparseGraph.from_adjacency(adjacency[np.ix_(order, order)])
    assert grown(engine, X[order], spex(shuffled)) == tree

    X, labels = labelled
    order = random.sample(range(len(X)), len(X))
    tree = grown(engine, X, gini_cart(CliqueGraph.from_labels(labels)))
    assert grown(engine, X[order], gini_cart(CliqueGraph.from_labels(labels[order]))) == tree


@given(graph_tables(), st.randoms(use_true_random=False))
def test_order_of_columns(engine, case, random):
    X, adjacency = case
    order = np.array(random.sample(range(X.shape[1]), X.shape[1]))
    objective = spex(SparseGraph.from_adjacency(adjacency))
    tree = grown(engine, X, objective)
    shuffled = grown(engine, X[:, order], objective).renumbered(order, X.shape[1])
    # Ties fall to another column, so the trees may differ, but not in how good their steps are.
    assert shuffled.score[0] == pytest.approx(tree.score[0], abs=1e-12, nan_ok=True)
    check_is_greedy(shuffled, X, oracle.spex(adjacency), {"max_leaves": 8})


@pytest.mark.parametrize(
    "formula",
    [
        lambda labels: spex(CliqueGraph.from_labels(labels)),
        lambda labels: spex(CliqueGraph.from_labels(labels, "inverse_size")),
        lambda labels: gini_cart(CliqueGraph.from_labels(labels)),
        lambda labels: volume_cart(CliqueGraph.from_labels(labels), "size"),
    ],
    ids=["unit", "inverse_size", "gini", "volume"],
)
@given(labelled_tables(), st.randoms(use_true_random=False))
def test_names_of_labels(engine, formula, case, random):
    X, labels = case
    n_clusters = int(labels.max()) + 1
    names = random.sample(range(n_clusters), n_clusters)
    renamed = np.array([names[label] if label >= 0 else -1 for label in labels])
    assert grown(engine, X, formula(renamed)) == grown(engine, X, formula(labels))


@given(graph_tables(any_weight=True), st.sampled_from([-200, -60, -3, 1, 40, 200]))
def test_scale_of_weights(engine, case, exponent):
    X, adjacency = case
    tree = grown(engine, X, spex(SparseGraph.from_adjacency(adjacency)))
    scaled = SparseGraph.from_adjacency(adjacency * 2.0**exponent)
    assert grown(engine, X, spex(scaled)) == tree


@given(graph_tables(), st.data())
def test_monotone_change_of_a_feature(engine, case, data):
    X, adjacency = case
    changed = X.astype(np.float64)
    column = data.draw(st.integers(0, X.shape[1] - 1))
    changed[:, column] = np.sinh(changed[:, column]) * 5 - 1
    objective = spex(SparseGraph.from_adjacency(adjacency))
    before, after = grown(engine, X, objective), grown(engine, changed, objective)
    assert before.apply(X).tolist() == after.apply(changed).tolist()
    assert before.feature.tolist() == after.feature.tolist()


@given(labelled_tables(), graph_tables(), st.data())
def test_truncated_tree_is_the_tree_grown_smaller(engine, labelled, joined, data):
    for X, objective in [
        (labelled[0], spex(CliqueGraph.from_labels(labelled[1]))),
        (joined[0], spex(SparseGraph.from_adjacency(joined[1]))),
    ]:
        tree = grown(engine, X, objective)
        m = data.draw(st.integers(1, tree.n_leaves))
        assert tree.truncate(m) == grown(engine, X, objective, max_leaves=m)


@given(labelled_tables())
def test_number_type_of_the_table(engine, case):
    X, labels = case
    single, objective = X.astype(np.float32), spex(CliqueGraph.from_labels(labels))
    tree = grown(engine, single, objective)
    assert grown(engine, single.astype(np.float64), objective) == tree
    assert tree.apply(single).tolist() == tree.apply(single.astype(np.float64)).tolist()


@given(trees(), tables(min_rows=3, max_columns=1), st.data())
def test_rows_are_routed_one_by_one(tree, column, data):
    X = np.hstack([column, column[::-1] + 0.25])
    rows = np.array(data.draw(st.lists(st.integers(0, len(X) - 1))), dtype=int)
    together = tree.apply(X)
    assert tree.apply(X[rows]).tolist() == together[rows].tolist()
    assert [int(tree.apply(row[None])[0]) for row in X] == together.tolist()


@pytest.mark.parametrize("n_jobs", [2, 4, -1])
@given(labelled_tables(), graph_tables())
def test_number_of_threads(engine, n_jobs, labelled, joined):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numpy_engine, "_BLOCK", 1)  # one feature a block: threads have work to share
        for X, objective in [
            (labelled[0], spex(CliqueGraph.from_labels(labelled[1]))),
            (joined[0], spex(SparseGraph.from_adjacency(joined[1]))),
        ]:
            alone = grown(engine, X, objective)
            assert grown(replace(engine, n_jobs=n_jobs), X, objective) == alone


# --- What holds of every tree ---------------------------------------------------------------------


@given(graph_tables())
def test_sum_of_conductances_never_falls_with_more_leaves(engine, case):
    X, adjacency = case
    tree = grown(engine, X, spex(SparseGraph.from_adjacency(adjacency)))
    for node in np.flatnonzero(tree.feature != LEAF):
        children = tree.value[[tree.left[node], tree.right[node]]]
        assert children.sum() >= tree.value[node] - 1e-12
    reported = tree.value[tree.leaves].sum()
    labels = tree.apply(X)
    assert reported == pytest.approx(oracle.multiway_cut(adjacency, labels.tolist()), abs=1e-9)
    assert reported == pytest.approx(metrics.multiway_cut(adjacency, labels), abs=1e-9)


@given(trees())
def test_json_keeps_every_bit(tree):
    text = json.dumps(tree.to_dict(), allow_nan=False)
    assert Tree.from_dict(json.loads(text)) == tree


@given(trees(), tables(min_rows=3, max_columns=1))
def test_every_row_satisfies_the_rule_of_its_leaf_alone(tree, column):
    X = np.hstack([column, column[::-1] + 0.25])
    for row, leaf in zip(X, tree.apply(X), strict=True):
        satisfied = [
            each
            for each in range(tree.n_leaves)
            if all(
                (rule.lower < row[rule.feature] <= rule.upper) == rule.inside
                for rule in conditions(tree, each)
            )
        ]
        assert satisfied == [leaf]


@given(trees(), tables(min_rows=3, max_columns=1))
def test_decision_path_ends_in_the_leaf(tree, column):
    X = np.hstack([column, column[::-1] + 0.25])
    visited = tree.decision_path(X).toarray()
    depths = tree.node_depths[tree.leaves[tree.apply(X)]]
    assert visited.shape == (len(X), tree.n_nodes)
    assert visited.sum(axis=1).tolist() == (depths + 1).tolist()
    assert np.all(visited[np.arange(len(X)), tree.leaves[tree.apply(X)]] == 1)
