"""Kernel k-means equals its definition, whatever the kernel, the start and the memory, and names bad input."""

import pickle
import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel, rbf_kernel
from sklearn.model_selection import cross_val_predict
from sklearn.utils.estimator_checks import parametrize_with_checks

from oracles import kernel_kmeans as oracle
from spexplain import CART
from spexplain.references import kernel_kmeans
from spexplain.references.kernel_kmeans import KernelKMeans
from spexplain.references.lloyd import lloyd, members_of

NAMED = [
    ("rbf", {"gamma": 0.3}),
    ("laplacian", {"gamma": 0.3}),
    ("polynomial", {"gamma": 0.5, "degree": 2, "coef0": 1}),
    ("linear", {}),
]


def fit_quietly(model, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X)


@st.composite
def problems(draw):
    """Small tables on a coarse grid, with ties and duplicates, and labels to start from."""
    shape = draw(st.tuples(st.integers(1, 12), st.integers(1, 2)))
    X = draw(arrays(np.float64, shape, elements=st.integers(-2, 2).map(float)))
    k = draw(st.integers(1, len(X)))
    labels = np.concatenate(
        [np.arange(k), draw(arrays(np.int64, len(X) - k, elements=st.integers(0, k - 1)))]
    )
    return X, labels, k


# The tables of some checks have fewer distinct rows than clusters, and starts are drawn at random.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [KernelKMeans(), KernelKMeans(kernel="laplacian", init="random", cache_size=0)],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": "as of scikit-learn's KMeans"
    },
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(("kernel", "params"), NAMED)
@settings(max_examples=40, deadline=None)
@given(problem=problems(), max_iter=st.integers(1, 6))
def test_equals_the_oracle_from_given_labels(kernel, params, problem, max_iter):
    X, labels, k = problem
    model = KernelKMeans(k, kernel=kernel, init=labels, max_iter=max_iter, **params)
    fit_quietly(model, X)
    expected, cost = oracle.kernel_kmeans(
        oracle.kernel_matrix(kernel, params, X, X), labels, k, max_iter
    )
    assert model.inertia_ == pytest.approx(cost, abs=1e-7)
    np.testing.assert_array_equal(model.labels_, expected)


@pytest.mark.parametrize(("kernel", "params"), NAMED)
@settings(max_examples=25, deadline=None)
@given(
    problem=problems(),
    init=st.sampled_from(["k-means++", "random"]),
    max_iter=st.integers(1, 3),
)
def test_invariants(kernel, params, problem, init, max_iter):
    X, _, k = problem
    model = KernelKMeans(
        k, kernel=kernel, init=init, max_iter=max_iter, n_init=2, random_state=len(X), **params
    )
    fit_quietly(model, X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    # These kernels tell all rows of the grid apart.
    assert np.unique(model.labels_).size == min(k, len(np.unique(X, axis=0)))
    assert 1 <= model.n_iter_ <= max_iter
    again = fit_quietly(KernelKMeans(**model.get_params()), X)
    np.testing.assert_array_equal(again.labels_, model.labels_)


@pytest.mark.parametrize("seed", range(5))
def test_linear_kernel_is_lloyds_kmeans(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 3))
    start = rng.permutation(np.arange(120) % 4)
    model = KernelKMeans(4, kernel="linear", init=start).fit(X)
    labels, cost = oracle.kmeans(X, start, 4)
    np.testing.assert_array_equal(model.labels_, labels)
    assert model.inertia_ == pytest.approx(cost)


@pytest.mark.parametrize(("kernel", "params"), NAMED)
def test_real_valued_table_new_rows_and_precomputed_kernel(kernel, params):
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(90, 3)), rng.normal(size=(40, 3))
    K, K_new = (oracle.kernel_matrix(kernel, params, rows, X) for rows in (X, new))
    start = np.arange(90) % 4
    model = KernelKMeans(4, kernel=kernel, init=start, **params).fit(X)
    labels, cost = oracle.kernel_kmeans(K, start, 4)
    np.testing.assert_array_equal(model.labels_, labels)
    assert model.inertia_ == pytest.approx(cost)
    members = [np.flatnonzero(labels == i) for i in range(4)]
    scores = [K[np.ix_(m, m)].mean() - 2 * K_new[:, m].mean(axis=1) for m in members]
    np.testing.assert_array_equal(model.predict(new), np.argmin(scores, axis=0))

    given = KernelKMeans(4, kernel="precomputed", init=start).fit(K)
    np.testing.assert_array_equal(given.labels_, labels)
    np.testing.assert_array_equal(given.predict(K), labels)
    np.testing.assert_array_equal(given.predict(K_new), model.predict(new))


@pytest.mark.parametrize(
    ("function", "params", "name"),
    [
        (rbf_kernel, {"gamma": 0.3}, "rbf"),
        (laplacian_kernel, {"gamma": 0.3}, "laplacian"),
        (polynomial_kernel, {"gamma": 0.5, "degree": 2}, "polynomial"),
    ],
)
def test_callable_kernel(function, params, name):
    X = np.random.default_rng(1).normal(size=(50, 2))
    called = KernelKMeans(3, kernel=function, kernel_params=params, random_state=0).fit(X)
    named = KernelKMeans(3, kernel=name, random_state=0, **params).fit(X)
    np.testing.assert_array_equal(called.labels_, named.labels_)
    np.testing.assert_array_equal(called.predict(X), called.labels_)


def test_default_gamma_is_one_over_the_number_of_features():
    X = np.random.default_rng(2).normal(size=(50, 4))
    default, explicit = (
        KernelKMeans(3, gamma=gamma, random_state=0).fit(X) for gamma in (None, 0.25)
    )
    assert default.inertia_ == explicit.inertia_


def test_cached_and_recomputed_kernels_agree_bit_for_bit(monkeypatch):
    monkeypatch.setattr(kernel_kmeans, "_BLOCK_ENTRIES", 1000)
    X = np.random.default_rng(3).normal(size=(130, 5))
    cached, blocked = (KernelKMeans(4, random_state=0, cache_size=size).fit(X) for size in (512, 0))
    np.testing.assert_array_equal(cached.labels_, blocked.labels_)
    assert cached.inertia_ == blocked.inertia_
    np.testing.assert_array_equal(blocked.predict(X), blocked.labels_)
    monkeypatch.undo()
    whole = KernelKMeans(4, random_state=0).fit(X)
    np.testing.assert_array_equal(whole.labels_, blocked.labels_)


def test_memory_stays_below_the_kernel_matrix():
    X = np.random.default_rng(4).normal(size=(3000, 4))
    tracemalloc.start()
    try:
        fit_quietly(KernelKMeans(3, n_init=2, max_iter=2, cache_size=0, random_state=0), X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.5 * 8 * 3000**2


def test_lockstep_equals_separate_starts():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(100, 3))
    kernel = kernel_kmeans.Kernel.over(X, "rbf", {"gamma": 0.5})
    problem = kernel_kmeans._Means(kernel, 5, cache_bytes=0)
    starts = [members_of(rng.permutation(np.arange(100) % 5), 5) for _ in range(6)]
    clusters = [kernel_kmeans.KernelCenters(members) for members in starts]
    separate = [lloyd(problem, [start], max_iter=100) for start in clusters]
    together = lloyd(problem, clusters, max_iter=100)
    best = min(separate, key=lambda run: round(run.cost, 9))
    np.testing.assert_array_equal(together.labels, best.labels)
    assert (together.cost, together.n_iter) == (best.cost, best.n_iter)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "linear"])
def test_far_from_the_origin(kernel):
    X = np.round(np.random.default_rng(6).normal(size=(80, 2)), 3)
    near, far = (
        KernelKMeans(3, kernel=kernel, random_state=0).fit(rows) for rows in (X, X + 2.0**30)
    )
    np.testing.assert_array_equal(near.labels_, far.labels_)
    assert near.inertia_ == pytest.approx(far.inertia_, rel=1e-4)


@pytest.mark.parametrize("spread", [1000, 2**20, 2**40, 2**50, 2**61])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "linear", "polynomial"])
def test_integers_near_the_largest_ones(kernel, spread):
    """Products of such rows lose their differences, which once moved empty clusters for ever."""
    random = np.random.default_rng(0)
    X = 2**62 + random.integers(-spread, spread, size=(40, 2))
    model = fit_quietly(KernelKMeans(10, kernel=kernel, random_state=0), X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    if kernel != "polynomial":  # whose values are equal up to rounding here
        assert np.unique(model.labels_).size == 10


def test_reference_of_integers_near_the_largest_ones():
    X = 2**62 + np.random.default_rng(0).integers(-(2**40), 2**40, size=(40, 2))
    assert CART(20, reference="kernel_kmeans", random_state=0).fit(X).n_leaves_ == 20


@pytest.mark.parametrize("scale", [5e-324, 1e-200, 1e100, 1e150, 1e300])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_values_of_any_magnitude(kernel, scale):
    X = scale * np.random.default_rng(0).integers(-50, 50, size=(30, 2))
    model = fit_quietly(KernelKMeans(5, kernel=kernel, random_state=0), X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_values_whose_distances_overflow_are_refused():
    with pytest.raises(ValueError, match="distances overflow"):
        KernelKMeans(2).fit([[-1e308], [1e308], [0.0]])


@pytest.mark.parametrize(
    "kernel",
    [
        lambda X, Y: np.zeros((len(X), len(Y))) - (len(X) == len(Y)),
        lambda X, Y: np.sin(1e6 * (X @ Y.T)),
        lambda X, Y: -((X @ Y.T) ** 2),
    ],
)
def test_a_function_that_is_no_kernel_ends_all_the_same(kernel):
    X = np.random.default_rng(0).normal(size=(30, 2))
    fit_quietly(KernelKMeans(10, kernel=kernel, random_state=0), X)


def test_too_few_iterations_warn():
    X = np.random.default_rng(0).normal(size=(300, 2))
    with pytest.warns(ConvergenceWarning, match="did not converge in max_iter=1 iterations"):
        KernelKMeans(6, init="random", max_iter=1, random_state=0).fit(X)


def test_empty_cluster_moves_to_the_furthest_row():
    X = np.array([[0.0], [0.0], [1.0], [9.0], [0.0], [0.0]])
    # Both means are near 0 and cluster 1 loses all its rows by ties.
    model = KernelKMeans(2, kernel="linear", init=[0, 0, 0, 0, 1, 1]).fit(X)
    np.testing.assert_array_equal(model.labels_ == model.labels_[3], X[:, 0] == 9)
    even = KernelKMeans(2, kernel="linear", init=[0, 1, 0, 1]).fit([[0.0], [0.0], [4.0], [4.0]])
    np.testing.assert_array_equal(even.labels_, [1, 1, 0, 0])


def test_fewer_distinct_rows_than_clusters_warn():
    X = np.repeat([[0.1, 1.3], [2.7, 3.9]], 5, axis=0)
    with pytest.warns(ConvergenceWarning, match=r"clusters \(2\) found smaller than n_clusters"):
        model = KernelKMeans(4, random_state=0).fit(X)
    assert model.inertia_ == 0
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_pairwise_tag_lets_cross_validation_cut_the_kernel():
    X = np.random.default_rng(7).normal(size=(40, 2))
    assert not KernelKMeans().__sklearn_tags__().input_tags.pairwise
    model = KernelKMeans(2, kernel="precomputed", random_state=0)
    assert model.__sklearn_tags__().input_tags.pairwise
    assert cross_val_predict(model, rbf_kernel(X), cv=4).shape == (40,)


def test_pickle_and_progress(capsys):
    X = np.random.default_rng(8).normal(size=(30, 2))
    model = KernelKMeans(3, random_state=0, verbose=1).fit(X)
    assert "iteration 1: 10 active starts" in capsys.readouterr().out
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.labels_)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_clusters": 0}, "n_clusters=0 must be an integer of at least 1"),
        ({"n_clusters": 9}, "n_samples=4 should be >= n_clusters=9"),
        ({"n_init": 0.5}, "n_init=0.5 must be"),
        ({"max_iter": 0}, "max_iter=0 must be"),
        ({"kernel": "gaussian"}, 'kernel must be one of "rbf", .* or a callable'),
        ({"kernel": None}, "kernel must be one of"),
        ({"gamma": -1.0}, "gamma=-1.0 must be a finite number of at least 0"),
        ({"gamma": "scale"}, "gamma='scale' must be a finite number"),
        ({"degree": 1.5}, "degree=1.5 must be an integer"),
        ({"coef0": np.inf}, "coef0=inf must be a finite number"),
        ({"cache_size": -1}, "cache_size=-1 must be"),
        ({"kernel_params": 3}, "kernel_params must be a dict or None"),
        ({"init": "k-medians++"}, 'init must be "k-means\\+\\+", "random" or an array'),
        ({"init": [0, 0, 0, 0]}, "init must hold 4 labels that use all of 0 to 1"),
        ({"init": [0, 1]}, "init must hold 4 labels"),
        ({"kernel": "precomputed"}, r"precomputed kernel must be a square matrix, got \(4, 1\)"),
        ({"kernel": lambda X, Y: X}, "kernel must return a finite value for every pair"),
        ({"kernel": lambda X, Y: np.log(X @ Y.T - 1e3)}, "kernel must return a finite value"),
    ],
)
def test_bad_parameters_are_named(params, message):
    with pytest.raises(ValueError, match=message), np.errstate(invalid="ignore"):
        KernelKMeans(**{"n_clusters": 2, **params}).fit([[0.0], [1.0], [2.0], [3.0]])


def test_rejects_asymmetric_kernels_and_bad_input():
    with pytest.raises(ValueError, match="symmetric"):
        KernelKMeans(2, kernel="precomputed").fit(np.arange(9.0).reshape(3, 3))
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="contains"):
            KernelKMeans(2).fit([[0.0], [bad], [1.0]])
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        KernelKMeans(2).fit(csr_array(np.eye(3)))
