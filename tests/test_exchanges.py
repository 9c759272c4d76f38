"""Growth by agreement and exchanges of splits: equal to brute force, no leaf lost, never worse."""

import numpy as np
import pytest

import oracle_refine as oracle
from loose_trees import random_tree, same_cuts, table
from spexplain.grow import grow
from spexplain.metrics.agreement import RandIndex, leaf_table
from spexplain.refine.best_tree import AgreementSearch, Improver
from spexplain.refine.routes import in_order_of_gain, without
from spexplain.refine.rows import SortedRows, sorted_table


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
        ground = Improver(orders, labels, min_samples_leaf=2, max_depth=4)
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
    one = SortedRows(np.ascontiguousarray(X.T.astype(np.float32)))
    other = SortedRows(np.ascontiguousarray(X.T.astype(np.float32).astype(np.float64)))
    assert np.array_equal(one.sorted, other.sorted)


def test_rand_index_of_degenerate_tables():
    assert RandIndex.of(np.array([0, 0, 0])).exact(3, 3) == 1
    assert RandIndex.of(np.array([0, 1, 2])).exact(0, 0) == 1
    table_ = leaf_table(np.array([0, 0, 1]), np.array([0, -1, 1]), 2)
    assert table_.tolist() == [[1, 0], [0, 1]]
