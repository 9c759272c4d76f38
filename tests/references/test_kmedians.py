import pickle
import warnings
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from spexplain.references import kmedians
from spexplain.references.kmedians import KMedians


def oracle_assign(X, centers):
    """Return labels, distances and centres after an empty cluster took the furthest row."""
    centers = [np.array(center) for center in centers]
    while True:
        table = [[float(np.abs(x - c).sum()) for c in centers] for x in X]
        labels = np.array([row.index(min(row)) for row in table])
        distances = np.array([min(row) for row in table])
        empty = [i for i in range(len(centers)) if i not in labels]
        order = sorted(range(len(X)), key=lambda r: -distances[r])
        moves = [(i, r) for i, r in zip(empty, order, strict=False) if distances[r] > 0]
        if not moves:
            return labels, distances.sum(), centers
        for i, r in moves:
            centers[i] = X[r]


def oracle_kmedians(X, centers, max_iter=300):
    """Lloyd's alternation for k-medians with plain loops."""
    labels, cost, centers = oracle_assign(X, centers)
    for _ in range(max_iter):
        medians = [
            np.median(X[labels == i], axis=0) if i in labels else center
            for i, center in enumerate(centers)
        ]
        new_labels, new_cost, medians = oracle_assign(X, medians)
        if np.array_equal(labels, new_labels):
            return new_labels, new_cost, medians
        if new_cost >= cost:
            break
        labels, cost, centers = new_labels, new_cost, medians
    return labels, cost, centers


def oracle_optimum(X, n_clusters):
    """Least k-medians cost over all partitions."""

    def cost(labels):
        groups = [X[np.array(labels) == i] for i in set(labels)]
        return sum(np.abs(g - np.median(g, axis=0)).sum() for g in groups)

    return min(cost(labels) for labels in product(range(n_clusters), repeat=len(X)))


def fit_quietly(model, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X)


@st.composite
def tables(draw, max_rows=12):
    """Small tables on a coarse grid: many ties and duplicates, and all sums exact."""
    shape = draw(st.tuples(st.integers(1, max_rows), st.integers(1, 3)))
    return draw(arrays(np.float64, shape, elements=st.integers(-3, 3).map(float)))


@st.composite
def problems(draw):
    X = draw(tables())
    return X, draw(st.integers(1, len(X)))


# The tables of some checks have fewer distinct rows than clusters, and starts are drawn at random.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [KMedians()],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": "as of scikit-learn's KMeans"
    },
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@settings(max_examples=80, deadline=None)
@given(problems(), st.data())
def test_equals_the_oracle_from_given_centres(problem, data):
    X, k = problem
    values = st.integers(-3, 3).map(float)
    centers = data.draw(arrays(np.float64, (k, X.shape[1]), elements=values))
    max_iter = data.draw(st.integers(1, 5))
    model = fit_quietly(KMedians(k, init=centers, max_iter=max_iter), X)
    labels, cost, expected = oracle_kmedians(X, centers, max_iter)
    np.testing.assert_array_equal(model.labels_, labels)
    np.testing.assert_array_equal(model.cluster_centers_, expected)
    assert model.inertia_ == cost


@settings(max_examples=60, deadline=None)
@given(
    problems(), st.sampled_from(["k-medians++", "random"]), st.integers(1, 4), st.integers(0, 99)
)
def test_invariants(problem, init, max_iter, seed):
    X, k = problem
    model = KMedians(k, init=init, max_iter=max_iter, n_init=2, random_state=seed)
    fit_quietly(model, X)
    assert np.unique(model.labels_).size == min(k, len(np.unique(X, axis=0)))
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(model.transform(X).argmin(axis=1), model.labels_)
    assert model.inertia_ == np.abs(X - model.cluster_centers_[model.labels_]).sum()
    assert model.score(X) == -model.inertia_
    assert 1 <= model.n_iter_ <= max_iter
    again = fit_quietly(KMedians(**model.get_params()), X)
    np.testing.assert_array_equal(again.labels_, model.labels_)


@settings(max_examples=25, deadline=None)
@given(tables(max_rows=6), st.integers(1, 3))
def test_never_below_the_optimum(X, k):
    k = min(k, len(X))
    optimum = oracle_optimum(X, k)
    model = fit_quietly(KMedians(k, n_init=30, random_state=0), X)
    assert model.inertia_ >= optimum
    if k in (1, len(X)):
        assert model.inertia_ == optimum


def test_finds_the_optimum_of_small_random_tables():
    rng = np.random.default_rng(0)
    for _ in range(5):
        X = rng.normal(size=(7, 2))
        model = KMedians(3, n_init=50, random_state=0).fit(X)
        assert model.inertia_ == pytest.approx(oracle_optimum(X, 3))


def test_real_valued_table_against_the_oracle_and_a_fixed_point():
    X = np.random.default_rng(1).normal(size=(150, 4))
    model = KMedians(5, init=X[:5]).fit(X)
    labels, cost, centers = oracle_kmedians(X, X[:5])
    np.testing.assert_array_equal(model.labels_, labels)
    np.testing.assert_allclose(model.cluster_centers_, centers)
    assert model.inertia_ == pytest.approx(cost)
    medians = [np.median(X[model.labels_ == i], axis=0) for i in range(5)]
    np.testing.assert_array_equal(model.cluster_centers_, medians)


def test_more_starts_are_never_worse():
    X = np.random.default_rng(2).uniform(size=(200, 2))
    costs = [KMedians(9, n_init=n, random_state=3).fit(X).inertia_ for n in (1, 2, 5, 10)]
    assert costs == pytest.approx(sorted(costs, reverse=True))
    assert costs[-1] < costs[0]


def test_median_of_an_even_count_is_the_midpoint():
    model = KMedians(1).fit([[0.0], [1.0], [3.0], [100.0]])
    assert model.cluster_centers_[0, 0] == 2
    assert model.inertia_ == 102


def test_tie_goes_to_the_lowest_centre():
    model = KMedians(2, init=[[2.0], [0.0]], max_iter=1).fit([[0.0], [1.0], [2.0]])
    np.testing.assert_array_equal(model.labels_, [1, 0, 0])


def test_empty_cluster_moves_to_the_furthest_row():
    model = KMedians(2, init=[[0.0], [-50.0]]).fit([[0.0], [1.0], [2.0], [9.0]])
    np.testing.assert_array_equal(model.labels_, [0, 0, 0, 1])
    np.testing.assert_array_equal(model.cluster_centers_, [[1.0], [9.0]])


def test_too_few_iterations_warn():
    X = np.random.default_rng(0).normal(size=(300, 2))
    with pytest.warns(ConvergenceWarning, match="did not converge in max_iter=1 iterations"):
        KMedians(6, init="random", max_iter=1, random_state=0).fit(X)


@pytest.mark.parametrize("scale", [5e-324, 1e-200, 1e100, 1e300])
def test_values_of_any_magnitude(scale):
    X = scale * np.random.default_rng(0).integers(-50, 50, size=(30, 2))
    model = fit_quietly(KMedians(5, random_state=0), X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_values_whose_distances_overflow_are_refused():
    with pytest.raises(ValueError, match="distances overflow"):
        KMedians(2).fit([[-1e308], [1e308], [0.0]])


def test_fewer_distinct_rows_than_clusters_warn():
    X = np.repeat([[0.0, 1.0], [2.0, 3.0]], 4, axis=0)
    with pytest.warns(ConvergenceWarning, match=r"clusters \(2\) found smaller than n_clusters"):
        model = KMedians(3, random_state=0).fit(X)
    assert model.inertia_ == 0
    assert model.cluster_centers_.shape == (3, 2)


def test_blocks_change_nothing(monkeypatch):
    X = np.random.default_rng(3).normal(size=(60, 3))
    whole = KMedians(4, random_state=0).fit(X)
    monkeypatch.setattr(kmedians, "_BLOCK_ENTRIES", 28)
    blocked = KMedians(4, random_state=0).fit(X)
    np.testing.assert_array_equal(whole.labels_, blocked.labels_)
    assert whole.inertia_ == blocked.inertia_


def test_outputs_pickle_and_progress(capsys):
    X = np.random.default_rng(4).normal(size=(30, 2))
    model = KMedians(3, random_state=0, verbose=1).fit(X)
    assert "iteration 1: 10 active starts" in capsys.readouterr().out
    assert list(model.get_feature_names_out()) == ["kmedians0", "kmedians1", "kmedians2"]
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(X), model.labels_)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_clusters": 0}, "n_clusters=0 must be an integer of at least 1"),
        ({"n_clusters": 2.0}, "n_clusters=2.0 must be an integer"),
        ({"n_clusters": True}, "n_clusters=True must be an integer"),
        ({"n_clusters": 9}, "n_samples=4 should be >= n_clusters=9"),
        ({"n_init": 0}, "n_init=0 must be"),
        ({"max_iter": 0}, "max_iter=0 must be"),
        ({"init": "k-means++"}, 'init must be "k-medians\\+\\+", "random" or an array'),
        ({"init": [[0.0]]}, r"init must have shape \(2, 1\)"),
        ({"init": [[0.0], [np.nan]]}, "init contains NaN"),
    ],
)
def test_bad_parameters_are_named(params, message):
    with pytest.raises(ValueError, match=message):
        KMedians(**{"n_clusters": 2, **params}).fit([[0.0], [1.0], [2.0], [3.0]])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_rejects_non_finite_and_sparse_input(bad):
    with pytest.raises(ValueError, match="contains"):
        KMedians(2).fit([[0.0], [bad], [1.0]])
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        KMedians(2).fit(csr_array(np.eye(3)))
