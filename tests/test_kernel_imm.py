"""Kernel IMM equals brute force and says what it cannot do; ``tests/paper`` has its published numbers."""

import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import parametrize_with_checks

import oracle_kernel as oracle
from spexplain import KernelIMM, KernelKMeans, datasets
from spexplain.engines import levels, surrogates
from spexplain.exceptions import LeafCountWarning
from spexplain.graphs.kernel import KernelBumps, TaylorBumps, feature_space_costs
from spexplain.kernels import intervals
from spexplain.metrics import agreement, price_of_explainability
from strategies import labels_for, tables

ignores_leaf_counts = pytest.mark.filterwarnings("ignore::spexplain.exceptions.LeafCountWarning")
IRIS = datasets.load("iris")
X, Y = IRIS.data, IRIS.target


@pytest.fixture(params=["vectorised", "compiled"], scope="module")
def walk(request):
    """Walk down from the peaks of bumps in either way; small tables meet several blocks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(surrogates, "_SMALL", 1 << 40 if request.param == "vectorised" else 0)
        patch.setattr(surrogates, "_BLOCK", 1 << 6)
        yield


both_walks = pytest.mark.usefixtures("walk")


@st.composite
def problems(draw, *, noise=True):
    X = draw(tables(max_rows=10))
    return X, draw(labels_for(len(X), noise=noise)), draw(st.sampled_from([0.25, 1.0, 40.0]))


def parts_of(fitted):
    """Rows and centres of every leaf."""
    return {
        (
            frozenset(np.flatnonzero(fitted.labels_ == leaf).tolist()),
            frozenset(fitted._node_centers[node].tolist()),
        )
        for leaf, node in enumerate(fitted.tree_.leaves)
    }


# --- Kernel IMM -----------------------------------------------------------------------------------


@both_walks
@ignores_leaf_counts
@given(problems(), st.sampled_from(["rbf", "laplacian"]), st.booleans(), st.integers(1, 3))
def test_equals_plain_imm_on_the_explicit_features(problem, kernel, half_lines, min_samples):
    X, labels, gamma = problem
    fitted = KernelIMM(
        kernel=kernel, gamma=gamma, intervals=not half_lines, min_samples_leaf=min_samples
    ).fit(X, labels)
    features = oracle.kernel_features(X, kernel, gamma)
    expected = oracle.kernel_imm(
        X, labels.tolist(), features, half_lines=half_lines, min_samples=min_samples
    )
    assert parts_of(fitted) == expected
    assert fitted.predict(X).tolist() == fitted.labels_.tolist()
    assert fitted.objective_ == mistakes_of(fitted, labels)
    if half_lines:
        assert np.all(np.isneginf(fitted.tree_.lower[fitted.tree_.feature >= 0]))


def mistakes_of(fitted, labels):
    """Rows whose centre is not in their leaf."""
    return sum(
        1
        for rows, centers in parts_of(fitted)
        for x in rows
        if labels[x] >= 0 and labels[x] not in centers
    )


@both_walks
@ignores_leaf_counts
@given(problems(), st.booleans())
def test_equals_plain_imm_on_explicit_taylor_features(problem, half_lines):
    X, labels, gamma = problem
    fitted = KernelIMM(gamma=gamma, surrogate="taylor", intervals=not half_lines).fit(X, labels)
    features = [
        (j, TaylorBumps(float(column.min()), gamma).at(column.astype(float), slice(m, m + 1))[0])
        for j, column in enumerate(X.T)
        for m in range(5)
    ]
    for (_, values), (_, defined) in zip(features, oracle.taylor_features(X, gamma), strict=True):
        assert values == pytest.approx(defined, rel=1e-10, abs=1e-300)
    expected = oracle.kernel_imm(X, labels.tolist(), features, half_lines=half_lines)
    assert parts_of(fitted) == expected
    assert fitted.surrogate_ == "taylor"


@given(
    st.integers(1, 4),
    st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), min_size=2, max_size=12),
    st.integers(1, 3),
    st.booleans(),
    st.data(),
)
def test_both_walks_write_the_same(n_bumps, values, min_samples, half_lines, data):
    m = len(values)
    table = np.array([np.roll(values, shift) for shift in range(n_bumps)])
    peaks = [data.draw(st.integers(0, m - 1)) for _ in range(n_bumps)]
    table = np.array(
        [
            [*np.sort(row[:p]), 1.0, *np.sort(row[p + 1 :])[::-1]]
            for row, p in zip(table, peaks, strict=True)
        ]
    )
    labels = np.array(data.draw(st.lists(st.integers(-1, 2), min_size=m, max_size=m)))
    numbers = st.lists(st.sampled_from([0.0, 0.125, 0.3, 0.5, 0.625, 0.9]), min_size=3, max_size=3)
    centers = np.array([data.draw(numbers) for _ in range(n_bumps)])
    written = []
    for walk in (levels.least_parted, intervals.least_parted):
        parted, at = np.full(n_bumps, -1), np.zeros(n_bumps)
        walk(table, labels, centers, 1e-12, min_samples, half_lines, parted, at)
        written.append((parted.tolist(), at.tolist()))
    assert written[0] == written[1]


@both_walks
def test_threads_and_row_order_do_not_matter():
    fitted = KernelIMM(n_leaves=6).fit(X, Y)
    order = np.random.default_rng(0).permutation(len(X))
    assert KernelIMM(n_leaves=6, n_jobs=2).fit(X, Y).tree_ == fitted.tree_
    shuffled = KernelIMM(n_leaves=6).fit(X[order], Y[order])
    assert shuffled.predict(X).tolist() == fitted.labels_.tolist()


@both_walks
def test_rows_of_one_cluster_on_both_sides_of_another_get_one_interval():
    width = np.array([2.0, 2.2, 2.1, 0.0, 0.1, 4.1, 4.0, 3.9])[:, None]
    fitted = KernelIMM().fit(width, ["in"] * 3 + ["out"] * 5)
    assert [record["rule"] for record in fitted.rules(["width"], output="records")] == [
        "1.05 < width ≤ 3.05",
        "width ≤ 1.05 or width > 3.05",
    ]
    assert fitted.predict_reference([[1.05], [1.06], [3.05], [3.06]]).tolist() == [
        "out",
        "in",
        "in",
        "out",
    ]
    assert fitted.objective_ == 0
    plain = KernelIMM(intervals=False).fit(width, ["in"] * 3 + ["out"] * 5)
    assert plain.n_leaves_ == 2
    assert np.isneginf(plain.tree_.lower[0])


@both_walks
def test_an_interval_open_above_is_an_ordinary_test():
    fitted = KernelIMM().fit(np.array([[0.0], [1.0], [5.0], [6.0]]), [1, 1, 0, 0])
    assert fitted.tree_.lower[0] == -np.inf
    assert fitted.tree_.threshold[0] == 3.0
    assert fitted.leaf_reference_.tolist() == [1, 0]


@both_walks
def test_coincident_centres_share_a_leaf():
    table = np.array([[0.0], [1.0], [0.0], [1.0], [9.0]])
    with pytest.warns(LeafCountWarning):
        fitted = KernelIMM().fit(table, [0, 0, 1, 1, 2])
    assert fitted.n_leaves_ == 2
    assert fitted.leaf_reference_.tolist() == [0, 2]


@both_walks
def test_centres_that_no_rows_lie_between_are_parted_all_the_same():
    # Equal rows in different shares: the centres differ, but only one value lies between them.
    table = np.array([[0.0]] * 3 + [[1.0]] * 3)
    labels = [0, 0, 1, 0, 1, 2]
    fitted = KernelIMM().fit(table, labels)
    assert fitted.n_leaves_ == 3
    assert fitted.predict(table).tolist() == fitted.labels_.tolist()
    assert sorted(fitted.leaf_reference_) == [0, 1, 2]


@pytest.mark.parametrize("surrogate", ["kernel", "taylor"])
@pytest.mark.parametrize("gamma", [0.01, 1.0, 100.0])
def test_level_sets(surrogate, gamma):
    bumps = (
        KernelBumps(np.array([3.0]), gamma, 2) if surrogate == "kernel" else TaylorBumps(1.0, gamma)
    )
    for bump, peak in enumerate(bumps.peaks):
        level = 0.3 * bumps.at(np.array([peak]), slice(bump, bump + 1))[0, 0]
        lower, upper = bumps.level_set(bump, level)
        ends = np.array([upper] if np.isinf(lower) else [lower, upper])
        assert lower < peak < upper
        values = bumps.at(ends, slice(bump, bump + 1))[0]
        assert values == pytest.approx(np.full(len(ends), level), rel=1e-6)


@both_walks
def test_far_values_do_not_warn():
    table = np.array([[0.0, 1e100], [1.0, -1e100], [2.0, 3.0], [1e90, 0.0]])
    for bumps in (KernelBumps(np.array([0.0]), 1.0, 2), TaylorBumps(0.0, 1.0)):
        assert bumps.at(np.array([1e200]), slice(0, 1)).tolist() == [[0.0]]
    for surrogate in ("kernel", "taylor"):
        fitted = KernelIMM(surrogate=surrogate, n_leaves=2).fit(table, [0, 0, 1, 1])
        assert fitted.predict(table).tolist() == fitted.labels_.tolist()


@both_walks
def test_few_anchors_are_an_approximation_and_all_are_none():
    exact = KernelIMM(gamma=0.5).fit(X, Y)
    assert KernelIMM(gamma=0.5, max_anchors=1000).fit(X, Y).tree_ == exact.tree_
    few = KernelIMM(gamma=0.5, max_anchors=5).fit(X, Y)
    assert few.n_leaves_ == 3
    assert few.objective_ >= exact.objective_ - 5
    assert KernelIMM(gamma=0.5, max_anchors=5).fit(X, Y).tree_ == few.tree_


def test_best_keeps_the_cheaper_clustering():
    rng = np.random.default_rng(0)
    for _ in range(5):
        table = rng.normal(size=(60, 2))
        labels = KernelKMeans(3, gamma=1.0, random_state=0).fit_predict(table)
        prices = {}
        for surrogate in ("kernel", "taylor", "best"):
            fitted = KernelIMM(surrogate=surrogate).fit(table, labels)
            prices[surrogate] = price_of_explainability(
                table,
                fitted.labels_,
                labels,
                cost="kernel_kmeans",
                convention="reoptimized",
                gamma=1.0,
            )
        assert prices["best"] == min(prices["kernel"], prices["taylor"])
        assert prices[fitted.surrogate_] == prices["best"]
        assert "_table" not in fitted.__getstate__()  # pickles leave the rows out


def test_features_may_name_the_surrogate_or_the_columns():
    by_name = KernelIMM(features="taylor").fit(X, Y)
    assert by_name.surrogate_ == "taylor"
    assert by_name.tree_ == KernelIMM(surrogate="taylor").fit(X, Y).tree_
    assert by_name.get_params()["features"] == "taylor"
    narrow = KernelIMM(features=[1, 3], surrogate="best", n_leaves=5).fit(X, Y)
    assert set(narrow.tree_.feature) <= {-1, 1, 3}


def test_reference_is_kernel_k_means_with_the_same_kernel():
    for kernel in ("rbf", "laplacian"):
        fitted = KernelIMM(3, kernel=kernel, gamma=0.3, random_state=0).fit(X)
        labels = KernelKMeans(3, kernel=kernel, gamma=0.3, random_state=0).fit_predict(X)
        assert fitted.reference_labels_.tolist() == labels.tolist()
        assert fitted.surrogate_ == "kernel"


# --- Expansions -----------------------------------------------------------------------------------


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
@given(problems(), st.booleans())
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
@given(problems(), st.sampled_from(["rbf", "laplacian"]), st.booleans())
def test_exkmc_expansion_takes_the_largest_drop_of_cost(problem, kernel, use_intervals):
    X, labels, gamma = problem
    fitted = KernelIMM(
        kernel=kernel, gamma=gamma, n_leaves=labels.max() + 3, intervals=use_intervals
    ).fit(X, labels)

    def cost(rows):
        return oracle.service_cost(X, labels.tolist(), kernel, gamma, rows)

    for gain, best in greedy_gains(fitted, X, cost, only_thresholds=not use_intervals):
        assert gain > 0
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


# --- What users meet ------------------------------------------------------------------------------


@ignores_leaf_counts
@parametrize_with_checks(
    [
        KernelIMM(),
        KernelIMM(3, n_leaves=5, surrogate="best", expand="mistakes", intervals=False),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "linear"}, 'kernel=\'linear\' must be "rbf" or "laplacian".'),
        ({"gamma": 0}, "gamma=0 must be a positive number."),
        ({"gamma": "scale"}, "gamma='scale' must be a positive number."),
        ({"gamma": float("nan")}, "gamma=nan must be a positive number."),
        ({"surrogate": "fourier"}, "surrogate='fourier' must be"),
        ({"features": "fourier"}, "features='fourier' must be a list of column names"),
        ({"features": "taylor", "kernel": "laplacian"}, 'features="taylor" needs kernel="rbf"'),
        ({"surrogate": "taylor", "kernel": "laplacian"}, 'surrogate="taylor" needs kernel="rbf"'),
        ({"max_anchors": 0}, "max_anchors=0 must be an integer of at least 1."),
        ({"expand": "more"}, "expand='more' must be"),
        ({"intervals": "no"}, "intervals='no' must be True or False."),
        ({"engine": "fast"}, "engine='fast' is not known"),
        ({"n_clusters": 1000}, "n_clusters=1000 is more than the 150 rows of X."),
    ],
)
def test_bad_parameters_are_refused_in_one_sentence(parameters, message):
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        KernelIMM(**parameters).fit(X)
    assert "\n" not in str(error.value)


def test_small_fits_load_no_compiler():
    code = (
        "import sys, numpy as np, spexplain\n"
        "assert 'numba' not in sys.modules\n"
        "X = np.arange(20.0).reshape(10, 2)\n"
        "spexplain.KernelIMM(n_leaves=3).fit(X, np.repeat([0, 1], 5)).predict(X)\n"
        "assert 'numba' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)
