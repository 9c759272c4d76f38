"""Exact trees of few leaves: equal to exhaustive search for every goal, and bounds that hold."""

import subprocess
import sys
import warnings
from functools import cache
from itertools import combinations, pairwise, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from loose_trees import table
from spexplain import BestTree
from spexplain.metrics.agreement import RandIndex
from spexplain.refine.best_tree import Improver, grown_by_agreement
from spexplain.refine.routes import tree_of
from spexplain.refine.rows import SortedRows
from spexplain.refine.scores import GOALS, LARGEST, LeafScore
from spexplain.refine.solver import BinnedSolver, Budget, SmallSolver, Solver, _Node, _SecondCuts

COUNTED = [goal for goal in GOALS if goal != "cost"]  # whose scores are made of counts by cluster


def leaf_value(score, goal, codes, weights, rows):
    """Return the score of a leaf from its definition."""
    known = rows[codes[rows] >= 0]
    if goal == "cost":  # what the leaf's own mean saves of the squares of all points
        if not len(known):
            return 0.0
        points, own = score.points[known], weights[known]
        mean = np.average(points, axis=0, weights=own)
        return own @ (points**2).sum(axis=1) - own @ ((points - mean) ** 2).sum(axis=1)
    amounts = np.array([weights[known][codes[known] == j].sum() for j in range(score.n_clusters)])
    if goal == "fidelity":
        return amounts.max(initial=0.0)
    everything = codes >= 0
    totals = np.array([weights[everything & (codes == j)].sum() for j in range(score.n_clusters)])
    if goal == "balanced":
        present = totals > 0
        shares = amounts[present] / totals[present]
        return shares.max(initial=0.0) / present.sum() * score.totals.sum()
    if goal == "agreement":
        total = amounts.sum()
        return (amounts * (amounts - 1)).sum() / 2 - score.factor * total * (total - 1) / 2
    volume = (amounts * (totals - 1)).sum()
    return (amounts * (amounts - 1)).sum() / volume if volume > 0 else 0.0


def exhaustive(X, rows, n_leaves, depth, least, value):
    """Return the best sum of leaf values over all trees of exactly so many leaves."""
    if n_leaves == 1:
        return value(rows) if len(rows) >= least else -np.inf
    best = -np.inf
    if depth == 0 or len(rows) < n_leaves * least:
        return best
    for feature in range(X.shape[1]):
        for low, _ in pairwise(np.unique(X[rows, feature])):
            left = X[rows, feature] <= low
            for a in range(1, n_leaves):
                best = max(
                    best,
                    exhaustive(X, rows[left], a, depth - 1, least, value)
                    + exhaustive(X, rows[~left], n_leaves - a, depth - 1, least, value),
                )
    return best


def solved(X, score, n_leaves, depth, least=1, budget=None):
    orders = SortedRows(np.ascontiguousarray(X.T))
    solver = Solver(orders, score, least, budget)
    return solver.solve(orders.node(0, len(X)), n_leaves, depth)


@given(
    seed=st.integers(0, 10_000),
    goal=st.sampled_from(GOALS),
    size=st.sampled_from([(2, 1), (3, 2), (4, 2), (4, 3)]),
    least=st.integers(1, 3),
    is_weighted=st.booleans(),
)
@example(seed=0, goal="conductance", size=(4, 3), least=1, is_weighted=False)
@example(seed=0, goal="cost", size=(4, 3), least=2, is_weighted=True)
@example(seed=1, goal="cost", size=(4, 2), least=1, is_weighted=False)
@example(seed=0, goal="agreement", size=(4, 3), least=3, is_weighted=True)
@settings(max_examples=60, deadline=None)
def test_equals_exhaustive_search(seed, goal, size, least, is_weighted):
    n_leaves, depth = size
    n_rows = 10 if depth == 3 else 16
    X, codes = table(seed, n_rows=n_rows, n_features=2, n_values=4)
    random = np.random.default_rng(seed)
    weights = random.integers(1, 4, n_rows) if is_weighted else np.ones(n_rows, dtype=np.int64)
    score = LeafScore.of(goal, codes, weights if is_weighted else None, X)
    if goal == "agreement":
        object.__setattr__(score, "factor", 0.1 + 0.6 * random.random())
    numbers = np.arange(n_rows)

    def value(rows):
        return leaf_value(score, goal, codes, weights.astype(float), rows)

    sizes = range(1, n_leaves + 1) if score.kind == LARGEST else [n_leaves]
    wanted = max(exhaustive(X, numbers, each, depth, least, value) for each in sizes)
    ways = [solved(X, score, n_leaves, depth, least)]
    if SmallSolver.suits(X.T, score, n_leaves, depth):
        ways.append(SmallSolver(X.T, score, least).solve(n_leaves))
    assert (len(ways) == 2) == (goal != "cost" and depth < 3 and np.ptp(X, axis=0).any())
    for found in ways:
        assert found.value == pytest.approx(wanted)
        assert found.is_optimal
        assert found.bound >= wanted - 1e-9 * abs(wanted) if np.isfinite(wanted) else True
        if found.tree is not None:
            tree, _ = tree_of(found.tree, X.shape[1])
            leaves = tree.apply(X)
            assert tree.depth <= depth
            assert np.bincount(leaves).min() >= least
            assert sum(value(np.flatnonzero(leaves == each)) for each in np.unique(leaves)) == (
                pytest.approx(wanted)
            )


@given(
    seed=st.integers(0, 10_000),
    goal=st.sampled_from(COUNTED),
    size=st.sampled_from([(2, 1), (3, 2), (3, 5), (4, 2)]),
    least=st.integers(1, 30),
)
def test_small_tables_are_solved_without_compiled_code_as_well(seed, goal, size, least):
    X, codes = table(seed, n_rows=90, n_features=3, n_values=12, n_clusters=4)
    score = LeafScore.of(goal, codes)
    if goal == "agreement":
        object.__setattr__(score, "factor", 0.4)
    small = SmallSolver(X.T, score, least)
    best, found = solved(X, score, *size, least), small.solve(size[0])
    assert found.value == pytest.approx(best.value)
    if found.tree is None:
        return
    assert small.solve(size[0], found.value).tree is None  # only better trees are wanted
    assert small.solve(size[0], found.value - 1e-6 * abs(found.value)).value == found.value
    tree, _ = tree_of(found.tree, X.shape[1])
    members, leaves = tree.decision_path(X).toarray().astype(bool), tree.leaves
    for node in np.setdiff1d(np.arange(tree.n_nodes), leaves):
        # Thresholds are in the middle between values of the node's own rows.
        test, x = tree.test(node), X[members[:, node], tree.feature[node]]
        low, high = x[x <= test.upper].max(), x[x > test.upper].min()
        assert test.upper == pytest.approx((low + high) / 2)
    lower = best.tree.test
    if tree.n_leaves == size[0] == tree_of(best.tree, X.shape[1])[0].n_leaves:
        # Of equal trees, that of the lowest first cut.
        assert (found.tree.test.feature, found.tree.test.upper) <= (lower.feature, lower.upper)


def test_the_first_fit_of_a_small_table_loads_no_compiler():
    program = (
        "import sys; from sklearn.datasets import load_iris; from spexplain import BestTree\n"
        "X, y = load_iris(return_X_y=True)\n"
        "best = BestTree(3).fit(X, y)\n"
        "print(best.optimal_, 'numba' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    )
    assert done.stdout == "True False\n"


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("seed", range(4))
def test_a_search_cut_short_has_a_true_bound(goal, seed):
    X, codes = table(seed, n_rows=80, n_features=4, n_values=40, n_clusters=5)
    score = LeafScore.of(goal, codes, None, X)
    for n_leaves, depth in ((4, 2), (5, 3)):
        best = solved(X, score, n_leaves, depth)
        assert best.is_optimal
        for work in (1.0, 1e4, 1e5, 1e6, 5e6):
            hurried = solved(X, score, n_leaves, depth, budget=Budget(work=work))
            assert hurried.value <= best.value + score.unit
            assert best.value <= hurried.bound + score.unit


@pytest.mark.parametrize("goal", GOALS)
def test_bounds_and_scores_of_tables(goal):
    X, codes = table(3, n_rows=60, n_clusters=4)
    score = LeafScore.of(goal, codes, None, X)
    leaves = (X[:, 0] > 2) + 2 * (X[:, 1] > 3)
    by_hand = [
        leaf_value(score, goal, codes, np.ones(len(X)), np.flatnonzero(leaves == each))
        for each in range(4)
    ]
    assert score.of_table(score.table(leaves, 4)).tolist() == pytest.approx(by_hand)
    assert score.bound(score.totals, 4) >= sum(by_hand)


@given(
    seed=st.integers(0, 10_000),
    goal=st.sampled_from(COUNTED),
    size=st.sampled_from([(2, 1), (3, 2), (4, 2)]),
    least=st.integers(1, 3),
    is_weighted=st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_bins_of_single_values_miss_nothing(seed, goal, size, least, is_weighted):
    X, codes = table(seed, n_rows=40, n_features=3, n_values=6)
    random = np.random.default_rng(seed)
    weights = random.integers(1, 4, len(X)) if is_weighted else None
    score = LeafScore.of(goal, codes, weights)
    if goal == "agreement":
        object.__setattr__(score, "factor", 0.1 + 0.6 * random.random())
    orders = SortedRows(np.ascontiguousarray(X.T))
    binned = BinnedSolver(orders, score, least)
    found = binned.solve(orders.node(0, len(X)), *size)
    assert found.value == pytest.approx(solved(X, score, *size, least).value)
    if found.tree is not None:
        leaves = tree_of(found.tree, X.shape[1])[0].apply(X)
        assert np.bincount(leaves).min() >= least
        values = score.of_table(score.table(leaves, leaves.max() + 1))
        assert values.sum() == pytest.approx(found.value)


@given(
    seed=st.integers(0, 10_000),
    goal=st.sampled_from(COUNTED),
    least=st.integers(1, 4),
    is_weighted=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_second_cuts_between_bins_are_the_first_of_the_best(seed, goal, least, is_weighted):
    random = np.random.default_rng(seed)
    X, codes = table(seed, n_rows=50, n_features=4, n_values=3 + seed % 9, n_clusters=3)
    weights = random.integers(0, 4, len(X)) if is_weighted else None  # some rows count for nothing
    score = LeafScore.of(goal, codes, weights)
    orders = SortedRows(np.ascontiguousarray(X.T))
    pairs = _SecondCuts(
        BinnedSolver(orders, score, least, n_bins=6), orders.node(0, len(X)), np.arange(4)
    )
    before = {  # rows that are before each cut
        (order, b): np.isin(
            np.arange(len(X)), pairs.node.before(order, int(pairs.borders[order, b + 1]))
        )
        for order in range(4)
        for b in range(6)
        if 0 < pairs.borders[order, b + 1] < len(X)
    }

    def value(*parts):
        return sum(float(score.of_table(score.rows(np.flatnonzero(part)))) for part in parts)

    for first, goes_left in before.items():
        for side, inside in enumerate((goes_left, ~goes_left)):
            if min(goes_left.sum(), (~goes_left).sum()) < least:
                assert np.all(pairs.values[first] == -np.inf)
                continue
            best, wanted = -np.inf, (-1, -1)
            for second, is_before in before.items():
                parts = inside & is_before, inside & ~is_before
                if min(part.sum() for part in parts) < max(least, 1):
                    continue
                if value(*parts) > best + 1e-9 * abs(best if best > -np.inf else 0.0):
                    best, wanted = value(*parts), second
            one, two = pairs.values[first][side]
            assert one == pytest.approx(value(inside))
            assert two == pytest.approx(best)
            if (
                best > -np.inf
            ):  # equal cuts: the first; its bins without rows of this side part alike
                parted = [
                    inside & before[tuple(each)] for each in (pairs.cuts[first][side], wanted)
                ]
                np.testing.assert_array_equal(*parted)


@pytest.mark.parametrize("goal", COUNTED)
@pytest.mark.parametrize("seed", range(3))
def test_binned_trees_are_what_they_say_and_no_better_than_the_best(goal, seed):
    X, codes = table(seed, n_rows=80, n_features=4, n_values=40, n_clusters=5)
    score = LeafScore.of(goal, codes)
    orders = SortedRows(np.ascontiguousarray(X.T))
    binned = BinnedSolver(orders, score, 2, n_bins=8, widths=(6, 2), n_features=3)
    for n_leaves, found in enumerate(binned.profile(orders.node(0, len(X)), 6, 3), start=1):
        leaves = tree_of(found.tree, X.shape[1])[0].apply(X)
        assert leaves.max() + 1 == n_leaves
        assert np.bincount(leaves).min() >= 2
        assert score.of_table(score.table(leaves, n_leaves)).sum() == pytest.approx(found.value)
    best = solved(X, score, 5, 3, 2)
    assert binned.solve(orders.node(0, len(X)), 5, 3).value <= best.value + 1e-9


@pytest.mark.parametrize("goal", COUNTED)
def test_sketches_have_the_size_and_depth_that_are_asked_for(goal):
    X, codes = table(5, n_rows=300, n_features=5, n_values=60, n_clusters=6)
    improver = Improver(
        SortedRows(np.ascontiguousarray(X.T)), codes, goal=goal, max_depth=3, min_samples_leaf=4
    )
    start = grown_by_agreement(improver, 6)
    for number in range(2):
        sketches = improver.sketched(start, 6, number)
        assert sketches
        for tree in sketches:
            assert tree.n_leaves == 6
            assert tree.depth <= 3
            assert np.bincount(tree.apply(X)).min() >= 4


@given(seed=st.integers(0, 10_000), n_leaves=st.integers(1, 5), n_clusters=st.integers(2, 5))
def test_no_leaves_share_more_than_the_bound(seed, n_leaves, n_clusters):
    random = np.random.default_rng(seed)
    codes = np.repeat(np.arange(n_clusters), random.integers(1, 12, n_clusters))
    score = LeafScore.of("conductance", codes)
    rows = np.flatnonzero(random.random(len(codes)) < 0.7)
    totals = score.rows(rows)
    bound = score.bound(totals, n_leaves)
    for _ in range(20):  # rows as they come
        leaves = random.integers(0, n_leaves, len(rows))
        assert score.of_table(score.table(leaves, n_leaves, rows)).sum() <= bound + 1e-9
    whole = []  # and clusters as a whole
    for groups in product(range(n_leaves), repeat=n_clusters):
        table = score.table(np.array(groups)[codes[rows]], n_leaves, rows)
        whole.append(score.of_table(table).sum())
    assert max(whole) <= bound + 1e-9
    n_present = np.count_nonzero((totals > 0) & (score.degrees > 0))
    if n_present <= n_leaves + 1:
        assert max(whole) == pytest.approx(bound)
    every = score.bounds(np.stack([totals, score.totals]), n_leaves)
    expected = [score.bound(score.totals, n + 1) for n in range(n_leaves)]
    np.testing.assert_allclose(every[1], expected)
    assert every[0, -1] == bound


@given(seed=st.integers(0, 10_000), n_leaves=st.integers(1, 5))
def test_no_partition_costs_less_than_the_bound(seed, n_leaves):
    random = np.random.default_rng(seed)
    points = random.integers(0, 4, (12, 3)).astype(float)
    codes, weights = random.integers(-1, 2, 12), random.integers(1, 4, 12)
    score = LeafScore.of("cost", codes, weights, points)
    bound = score.bound(score.totals, n_leaves)
    for _ in range(20):  # any parts, not only those of trees
        parts = random.integers(0, n_leaves, 12)
        value = score.of_table(score.table(parts, n_leaves)).sum()
        assert value <= bound
        known = codes >= 0
        cost = sum(
            float(
                weights[own]
                @ ((points[own] - np.average(points[own], axis=0, weights=weights[own])) ** 2).sum(
                    axis=1
                )
            )
            for part in range(n_leaves)
            if (own := known & (parts == part)).any()
        )
        assert score.square - value == pytest.approx(cost)


@pytest.mark.parametrize("seed", range(3))
def test_cost_without_the_products_of_columns(seed, monkeypatch):
    X, codes = table(seed, n_rows=40, n_features=3, n_values=12)
    known = solved(X, LeafScore.of("cost", codes, None, X), 4, 3)
    monkeypatch.setattr("spexplain.refine.scores._FEW_COLUMNS", 0)
    found = solved(X, LeafScore.of("cost", codes, None, X), 4, 3)
    assert found.value == pytest.approx(known.value)
    assert found.is_optimal


def mixed_table(seed):
    """Return a frame with a column of numbers, one with gaps, and one of categories with gaps; and labels."""
    random = np.random.default_rng(seed)
    n_rows = 13
    plain = random.integers(0, 4, n_rows).astype(float)
    gaps = np.where(random.random(n_rows) < 0.25, np.nan, random.integers(0, 4, n_rows))
    names = np.array(["a", "b", "c", "d", None], dtype=object)
    groups = random.integers(0, 3 + seed % 3, n_rows)
    labels = (plain.astype(int) + groups + random.integers(0, 2, n_rows)) % 3
    labels[:3] = range(3)
    frame = pd.DataFrame({"plain": plain, "gaps": gaps, "kind": pd.Categorical(names[groups])})
    return frame, labels


def all_splits(frame):
    """Return what every test that a tree can ask sends left."""
    splits = set()
    for name in ("plain", "gaps"):
        x = frame[name].to_numpy()
        for t in [-np.inf, *np.unique(x[~np.isnan(x)])]:
            splits |= {tuple(x <= t), tuple((x <= t) | np.isnan(x))}
    kind = frame["kind"].astype(object).where(frame["kind"].notna(), "missing").to_numpy()
    for size in range(1, len(set(kind))):
        splits |= {tuple(np.isin(kind, each)) for each in combinations(sorted(set(kind)), size)}
    return [np.array(each) for each in splits if 0 < sum(each) < len(frame)]


def reachable(frame, n_leaves, sums_of):
    """Return the sums over the leaves of all trees of exactly so many leaves."""
    splits = [frozenset(np.flatnonzero(each).tolist()) for each in all_splits(frame)]

    @cache
    def sums(rows, n):
        if n == 1:
            return frozenset([sums_of(rows)])
        found = set()
        for left in {rows & each for each in splits}:
            if not left or left == rows:
                continue
            for a in range(1, n):
                for x in sums(left, a):
                    found |= {tuple(np.add(x, y).tolist()) for y in sums(rows - left, n - a)}
        return frozenset(found)

    return sums(frozenset(range(len(frame))), n_leaves)


@pytest.mark.parametrize("goal", ["fidelity", "balanced", "agreement", "conductance"])
@pytest.mark.parametrize(("n_leaves", "seed"), [(2, 0), (2, 1), (3, 2), (3, 3), (3, 4), (4, 5)])
def test_missing_values_and_categories_equal_exhaustive_search(goal, n_leaves, seed):
    frame, labels = mixed_table(seed)
    weights = np.random.default_rng(seed).integers(1, 3, len(frame)) if seed % 2 else None
    own = np.ones(len(frame)) if weights is None else weights.astype(float)
    totals = np.array([own[labels == each].sum() for each in range(3)])

    def sums_of(rows):
        chosen = np.array(sorted(rows))
        n = np.array([own[chosen][labels[chosen] == each].sum() for each in range(3)])
        if goal == "fidelity":
            return (n.max() / own.sum(),)
        if goal == "balanced":
            return (round((n / totals).max() / 3, 9),)
        if goal == "agreement":
            return ((n * (n - 1)).sum() / 2, n.sum() * (n.sum() - 1) / 2)
        volume = (n * (totals - 1)).sum()
        return (round(1 - (n * (n - 1)).sum() / volume if volume else 1.0, 9),)

    found = reachable(frame, n_leaves, sums_of)
    if goal == "agreement":
        index = RandIndex.of(labels, weights)
        wanted = max(float(index.rounded(*each)) for each in found)
    else:
        wanted = (min if goal == "conductance" else max)(each[0] for each in found)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        best = BestTree(n_leaves=n_leaves, goal=goal, keep_clusters=False, features=list(frame))
        best.fit(frame, labels, sample_weight=weights)
    assert best.value_ == pytest.approx(wanted, abs=1e-6)
    assert best.optimal_
    assert best.bound_ == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("goal", ["fidelity", "balanced"])
def test_first_cuts_of_whole_trees_are_tried_where_four_leaves_see_nothing(goal):
    rng = np.random.default_rng(0)
    X = rng.random((4000, 6))
    codes = (X[:, [1, 3, 4]] > 0.5).sum(axis=1) % 2  # any two of the three columns say nothing
    orders, score = SortedRows(np.ascontiguousarray(X.T)), LeafScore.of(goal, codes)
    solver, node = Solver(orders, score), orders.node(0, len(X))
    cuts = solver._first_cuts(node, 8, 3)
    assert len(cuts) == 12  # two of each column
    assert {order for order, _ in cuts[:6]} == {1, 3, 4}
    search = _Node(solver, node, [(4, 4)], 2, -np.inf)
    search.try_first(cuts[:1])
    order, place = cuts[0]
    assert list(search.looked[order]) == [place]
    values = X[node.before(order, place), order]
    assert abs(values.max() - 0.5) < 0.05
    seen = solver._first_cuts_of_four(node)
    assert {order for order, _ in seen[:6]} != {1, 3, 4}


@given(seed=st.integers(0, 1000), least=st.integers(1, 4))
def test_first_cuts_are_cuts_of_the_node(seed, least):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, int(rng.integers(2, 12)), (200, 5)).astype(float)
    orders = SortedRows(np.ascontiguousarray(X.T))
    solver = Solver(orders, LeafScore.of("fidelity", rng.integers(0, 5, 200)), least)
    node = orders.node(0, 200)
    search = _Node(solver, node, [(4, 4)], 2, -np.inf)
    cuts = solver._first_cuts(node, 8, 3)
    search.try_first(cuts)
    looked = [(order, place) for order in range(5) for place in search.looked[order]]
    assert all(place in search.gaps[order] for order, place in looked)
    assert set(cuts) >= set(looked)
