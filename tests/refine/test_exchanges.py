"""Growth by agreement and exchanges of splits: equal to brute force, no leaf lost, never worse."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loose_trees import random_tree, same_cuts, table
from oracles import refine as oracle
from spexplain.grow import grow
from spexplain.metrics.agreement import RandIndex, leaf_table
from spexplain.refine import best_tree
from spexplain.refine.best_tree import AgreementSearch, Improver
from spexplain.refine.goals import RightGoal
from spexplain.refine.routes import Routes, exchanged, in_order_of_gain, without
from spexplain.refine.rows import SortedRows, StoredRows, sorted_table
from spexplain.refine.scores import GOALS, LeafScore
from spexplain.tree import Test as Asked

COUNTED = tuple(goal for goal in GOALS if goal != "cost")  # goals whose trees exchange leaves


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


@pytest.mark.parametrize("goal", COUNTED)
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_exchanges_keep_the_number_of_leaves_and_never_hurt(seed, keep, goal):
    X, labels = table(seed, n_rows=60, n_features=4, n_values=12, n_clusters=4)
    tree = random_tree(X, seed, 5, min_samples_leaf=2)
    weights = np.random.default_rng(seed).integers(1, 4, len(X)) if seed % 2 else None
    with sorted_table(X, None, None) as orders:
        improver = Improver(
            orders,
            labels,
            goal=goal,
            min_samples_leaf=2,
            max_depth=4,
            keep_clusters=keep,
            amounts=weights,
            points=X if goal == "cost" else None,
        )
        if tree.depth > 4:
            pytest.skip("the random tree is too deep")
        before, (after, score) = improver.value(tree), improver.exchanged(tree)
        assert score == improver.value(after)
    assert after.n_leaves == tree.n_leaves
    assert after.depth <= 4
    assert np.bincount(after.apply(X)).min() >= 2
    assert score >= before
    if goal == "agreement" and not keep and weights is None:
        assert score == oracle.rand_index(after.apply(X), labels)


@pytest.mark.parametrize("goal", COUNTED)
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_the_best_exchange_is_the_best_of_all(seed, keep, goal):
    X, labels = table(seed, n_rows=50, n_features=3, n_values=10, n_clusters=4, noise=False)
    if seed % 2:  # neighbouring numbers: those between have no single precision
        X = (1 + X * 2**-23).astype(np.float32)
    tree = random_tree(X.astype(np.float64), seed, 6)
    with sorted_table(X, None, None) as orders:
        improver = Improver(orders, labels, goal=goal, keep_clusters=keep)
        routes = Routes(tree, orders.columns)
        aim = improver._goal(routes)
        insertions = list(improver._insertions(routes, aim))
        found = improver._best_exchange(routes, aim, insertions)

        def after(new, leaf):
            test, left = new.test, new.new_left
            return improver.value(exchanged(tree, leaf, new.node, test, new_left=left)[0])

        values = [
            after(new, leaf)
            for new in insertions
            for leaf in tree.leaves.tolist()
            if leaf != new.node
        ]
        best = max([improver.value(tree), *values])
        if found is None:
            assert best == pytest.approx(improver.value(tree))
        else:
            assert after(found.insertion, found.dropped) == pytest.approx(best)


@pytest.mark.parametrize("seed", range(6))
def test_new_leaves_by_conductance_are_the_best_there_are(seed):
    X, labels = table(seed, n_rows=40, n_features=3, n_values=8, n_clusters=3, noise=False)
    tree = random_tree(X, seed, 4)
    with sorted_table(X, None, None) as orders:
        improver = Improver(orders, labels, goal="conductance", min_samples_leaf=2)
        routes = Routes(tree, orders.columns)
        gains = {
            (new.node, new.new_left): new.score
            for new in improver._insertions(routes, improver._goal(routes))
        }
    score, leaves = improver.score, tree.apply(X)
    now = score.of_table(score.table(leaves, 4)).sum()
    need = np.minimum(np.bincount(leaves, minlength=4), 2)
    for node in range(tree.n_nodes):
        inside = np.isin(np.arange(len(X)), oracle.rows_of(tree, X, node))
        for new_left in (True, False):
            best = -np.inf
            for feature in range(X.shape[1]):
                for low in np.unique(X[inside, feature])[:-1]:
                    moved = inside & ((X[:, feature] <= low) == new_left)
                    after = np.where(moved, 4, leaves)
                    rows = np.bincount(after, minlength=5)
                    if np.all(rows >= np.append(need, 2)):
                        best = max(best, score.of_table(score.table(after, 5)).sum() - now)
            assert gains.get((node, new_left), -np.inf) == pytest.approx(best)


def asked(X, rows):
    """All tests that part some rows: by ascending features, then thresholds."""
    return [Asked(feature, upper=upper) for feature, upper in oracle.cuts_of(X, rows)]


def counted_case(seed, *, n_leaves, is_sparse, is_weighted):
    """A table with ties, in orders of all rows or of those that are not zero, and a tree over it."""
    n_rows = 200 if seed % 4 == 3 else 40  # many, whose votes are added up in runs
    X, labels = table(
        seed, n_rows=n_rows, n_features=3, n_values=9, n_clusters=4, noise=seed % 2 == 0
    )
    random = np.random.default_rng(seed)
    if is_sparse:
        X[random.random(X.shape) < 0.6] = 0.0
        X[:, 0] -= 3.0 * (X[:, 0] > 4)  # of both signs
        X[0] = np.arange(1, 4)  # not all rows are equal
    weights = random.integers(1, 4, len(X)) if is_weighted else None
    tree = random_tree(X, seed, n_leaves)
    orders = StoredRows(X) if is_sparse else SortedRows(np.ascontiguousarray(X.T))
    return X, labels, weights, tree, orders


COUNTED_CASES = given(
    seed=st.integers(0, 10_000),
    n_leaves=st.integers(2, 6),
    least=st.integers(1, 6),
    is_sparse=st.booleans(),
    is_weighted=st.booleans(),
)


@COUNTED_CASES
def test_equal_exchanges_resolve_to_the_first_new_leaf_and_the_first_to_drop(
    seed, n_leaves, least, is_sparse, is_weighted
):
    X, labels, weights, tree, orders = counted_case(
        seed, n_leaves=n_leaves + 1, is_sparse=is_sparse, is_weighted=is_weighted
    )
    improver = Improver(
        orders,
        labels,
        goal="fidelity" if seed % 3 else "balanced",
        min_samples_leaf=least,
        amounts=weights,
        keep_clusters=seed % 2 == 0,
        max_depth=tree.depth if seed % 5 == 0 else None,
    )
    routes = Routes(tree, orders.columns)
    aim, leaves = improver._goal(routes), tree.apply(X)
    # In other orders, others come first.
    insertions = [*improver._insertions(routes, aim), *improver._returns(routes, aim)]
    insertions = [insertions[i] for i in np.random.default_rng(seed).permutation(len(insertions))]
    best, wanted = (aim.best[0], aim.best[1] + improver.score.unit / 2), None
    for new in insertions:
        inside = np.isin(np.arange(len(X)), oracle.rows_of(tree, X, new.node))
        passes = new.test.passes(X[:, new.test.feature])
        sizes = np.bincount(
            np.where(inside & (passes == new.new_left), tree.n_leaves, leaves),
            minlength=tree.n_leaves + 1,
        )
        if not improver._room(routes)[new.node] or np.any(sizes < np.append(aim.need, least)):
            continue
        for leaf in tree.leaves.tolist():
            if leaf == new.node:
                continue
            other, _ = exchanged(tree, leaf, new.node, new.test, new_left=new.new_left)
            value = improver.value(other)
            if value > best:
                best, wanted = value, (new, leaf)
    with patch.object(best_tree, "_CELLS", 1 if seed % 7 else 100):  # one by one, or a few together
        few = improver._best_exchange(routes, aim, insertions)
    found = improver._best_exchange(routes, aim, insertions)
    assert found == few
    assert (found is None) == (wanted is None)
    if found is not None:
        assert found.score == best
        assert (found.insertion, found.dropped) == wanted


@COUNTED_CASES
def test_cuts_of_most_votes_equal_brute_force(seed, n_leaves, least, is_sparse, is_weighted):
    X, labels, weights, tree, orders = counted_case(
        seed, n_leaves=n_leaves, is_sparse=is_sparse, is_weighted=is_weighted
    )
    goal = "fidelity" if seed % 3 else "balanced"
    score, routes = LeafScore.of(goal, labels, weights), Routes(tree, orders.columns)
    aim = RightGoal(score, routes, least)
    stands_for = score.labels(aim.table)

    def right(leaves):
        return float(score.amounts[stands_for[leaves] == score.codes].sum())

    improver = Improver(orders, labels)
    for node, start, stop in improver._segments(routes):
        if node not in routes.tests:
            continue
        found = aim.proposal(node, orders, start, stop)
        inside = np.zeros(len(X), dtype=bool)
        inside[oracle.rows_of(tree, X, node)] = True
        left, right_ = (routes.reached(child) for child in routes.children(node))
        best, wanted = right(routes.labels) + score.unit / 2, None
        for test in asked(X, inside):
            ways = np.where(test.passes(X[:, test.feature]), left, right_)
            leaves = np.where(inside, ways, routes.labels)
            fits = np.all(np.bincount(leaves, minlength=tree.n_leaves) >= aim.need)
            if fits and right(leaves) > best:
                best, wanted = right(leaves), test
        assert (found is None) == (wanted is None)
        if wanted is not None:
            assert found.feature == wanted.feature
            parted = [each.passes(X[inside, each.feature]) for each in (found, wanted)]
            np.testing.assert_array_equal(*parted)


@COUNTED_CASES
def test_new_leaves_by_rows_right_are_the_best_there_are(
    seed, n_leaves, least, is_sparse, is_weighted
):
    X, labels, weights, tree, orders = counted_case(
        seed, n_leaves=n_leaves, is_sparse=is_sparse, is_weighted=is_weighted
    )
    improver = Improver(orders, labels, goal="fidelity", min_samples_leaf=least, amounts=weights)
    routes, score = Routes(tree, orders.columns), improver.score
    aim = improver._goal(routes)
    stands_for = score.labels(aim.table)
    right = score.amounts * (stands_for[routes.labels] == score.codes)
    wanted = np.arange(score.n_clusters) == seed % score.n_clusters
    if seed % 3:
        wanted[:] = True
    for node, start, stop in improver._segments(routes):
        rows = oracle.rows_of(tree, X, node)
        found = {
            new.new_left: new for new in improver._peels(routes, aim, node, start, stop, wanted)
        }
        for new_left in (True, False):
            best, first = -np.inf, None
            for test in asked(X, rows):
                new = test.passes(X[rows, test.feature]) == new_left
                if min(np.sum(new), np.sum(~new)) < least:
                    continue
                rest = score.rows(rows[~new]).max() if node not in routes.tests else None
                kept = right[rows[~new]].sum() if rest is None else rest
                gain = score.rows(rows[new])[wanted].max() + kept - right[rows].sum()
                if gain > best:
                    best, first = gain, test
            assert (new_left in found) == (first is not None)
            if first is not None:
                assert found[new_left].score == best
                test = found[new_left].test
                assert test.feature == first.feature
                np.testing.assert_array_equal(
                    test.passes(X[rows, test.feature]), first.passes(X[rows, first.feature])
                )


@pytest.mark.parametrize("goal", ["agreement", "conductance"])
@pytest.mark.parametrize("seed", range(4))
def test_refinement_goes_on_where_one_change_would_lose_a_cluster(seed, goal):
    X, labels = table(seed, n_rows=80, n_features=4, n_values=20, n_clusters=5)
    tree = random_tree(X, seed, 6)
    with sorted_table(X, None, None) as orders:
        improver = Improver(orders, labels, goal=goal, keep_clusters=True)
        before, (after, value) = improver.value(tree), improver.refined(tree)
        assert value == improver.value(after) >= before
        assert value[0] >= before[0]
        assert value > before


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
