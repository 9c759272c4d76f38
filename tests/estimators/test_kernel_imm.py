"""Kernel IMM equals brute force; ``tests/paper`` has its published numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import kernel as oracle
from spexplain import KernelIMM, KernelKMeans, datasets
from spexplain.engines import surrogates
from spexplain.exceptions import LeafCountWarning
from spexplain.graphs.kernel import KernelBumps, TaylorBumps
from spexplain.kernels import intervals
from spexplain.metrics import price_of_explainability
from strategies import kernel_problems

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


def parts_of(fitted):
    """Rows and centres of every leaf."""
    return {
        (
            frozenset(np.flatnonzero(fitted.labels_ == leaf).tolist()),
            frozenset(fitted._node_centers[node].tolist()),
        )
        for leaf, node in enumerate(fitted.tree_.leaves)
    }


@both_walks
@ignores_leaf_counts
@given(kernel_problems(), st.sampled_from(["rbf", "laplacian"]), st.booleans(), st.integers(1, 3))
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
@given(kernel_problems(), st.booleans())
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
    weights = np.array(data.draw(st.lists(st.integers(1, 3), min_size=m, max_size=m)))
    written = []
    for walk in (surrogates.least_parted, intervals.least_parted):
        parted, at = np.full(n_bumps, -1), np.zeros(n_bumps)
        walk(table, labels, weights, centers, 1e-12, min_samples, half_lines, parted, at)
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
        "1 < width ≤ 3",
        "width ≤ 1 or width > 3",
    ]
    assert fitted.predict_reference([[1.0], [1.01], [3.0], [3.01]]).tolist() == [
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
        assert "_table" not in fitted.__getstate__()
        rows_kept = fitted.explanation_.training.__getstate__()["table"]
        assert rows_kept is None  # pickles leave the rows out


def test_features_may_name_the_surrogate_or_the_columns():
    by_name = KernelIMM(features="taylor").fit(X, Y)
    assert by_name.surrogate_ == "taylor"
    assert by_name.tree_ == KernelIMM(surrogate="taylor").fit(X, Y).tree_
    assert by_name.get_params()["features"] == "taylor"
    narrow = KernelIMM(features=[1, 3], surrogate="best", n_leaves=5).fit(X, Y)
    assert set(narrow.tree_.feature) <= {-1, 1, 3}


def test_rounded_cuts_have_the_costs_of_their_leaves():
    random = np.random.default_rng(0)
    X, labels = random.normal(size=(60, 3)), random.integers(0, 4, 60)
    rounded = KernelIMM(4, round_to=1).fit(X, labels)
    tree = rounded.tree_
    cuts = np.append(tree.threshold[tree.threshold == tree.threshold], tree.lower)
    assert any(f"{cut:.1f}" == f"{cut:.15g}" for cut in cuts)
    table = np.zeros((tree.n_leaves, 4))
    np.add.at(table, (rounded.predict(X), labels), 1)
    assert np.bincount(rounded.predict(X)).tolist() == tree.size[tree.leaves].tolist()
    mistakes = table.sum(axis=1) - table.max(axis=1)
    assert tree.value[tree.leaves].sum() == pytest.approx(mistakes.sum())


def test_reference_is_kernel_k_means_with_the_same_kernel():
    for kernel in ("rbf", "laplacian"):
        fitted = KernelIMM(3, kernel=kernel, gamma=0.3, random_state=0).fit(X)
        labels = KernelKMeans(3, kernel=kernel, gamma=0.3, random_state=0).fit_predict(X)
        assert fitted.reference_labels_.tolist() == labels.tolist()
        assert fitted.surrogate_ == "kernel"
