"""Trees keep what must not change, and some things hold of every tree."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from growing import check_is_greedy, grown
from oracles import definitions as oracle
from oracles import graphs as oracle_graphs
from spexplain import metrics
from spexplain.engines import exhaustive as numpy_engine
from spexplain.graphs import CliqueGraph, SparseGraph
from spexplain.objectives import gini_cart, spex, volume_cart
from spexplain.tree import LEAF, Tree
from spexplain.tree.boxes import leaf_box
from strategies import graph_tables, labelled_tables, tables, trees

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
    assert reported == pytest.approx(
        oracle_graphs.multiway_cut(adjacency, labels.tolist()), abs=1e-9
    )
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
            if all(region.holds(row[feature]) for feature, region in leaf_box(tree, each).items())
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
