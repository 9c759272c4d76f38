"""BestTree: the figures it must reach, and what its parameters do."""

import os

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler

from spexplain import CART, EMN, IMM, BestTree, ExKMC, SpexClique, datasets, metrics
from spexplain.exceptions import LeafCountWarning
from spexplain.references.spectral import SpectralReference

needs_data = pytest.mark.skipif("SPEXPLAIN_DATA" not in os.environ, reason="no data folder")


def agreement(explainer, reference):
    return metrics.agreement(explainer.labels_, reference).ari


def kmeans_of(X, n_clusters):
    return KMeans(n_clusters, random_state=0).fit_predict(StandardScaler().fit_transform(X))


def spectral_of(X, n_clusters):
    return SpectralReference(n_clusters, eigen_solver="amg", random_state=570).fit_predict(X)


def blobs(n_rows=400, n_clusters=6, seed=0):
    random = np.random.default_rng(seed)
    labels = random.integers(0, n_clusters, n_rows)
    X = random.normal(scale=2, size=(n_clusters, 8))[labels] + random.normal(size=(n_rows, 8))
    return X, labels


@needs_data
def test_ecoli_reaches_the_figure():
    ecoli = datasets.load("ecoli")
    best = BestTree().fit(ecoli.data, kmeans_of(ecoli.data, 5))
    assert round(best.agreement_, 3) >= 0.930
    assert best.n_leaves_ == 5


@needs_data
def test_beans_reaches_the_figure():
    beans = datasets.load("beans")
    best = BestTree(n_jobs=-1).fit(beans.data, spectral_of(beans.data, 7))
    assert best.agreement_ >= 0.765


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize(("reference", "least"), [("spectral", 0.28), ("kmeans", 0.185)])
def test_newsgroups_reaches_the_figure(reference, least):
    news = datasets.load("newsgroups")
    best = BestTree(n_jobs=-1, starts=["agreement"], exchange="none").fit(
        news.data, news[reference]
    )
    assert best.agreement_ >= least


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "reference", "least"),
    [
        ("newsgroups", "spectral", 0.27),
        ("newsgroups", "kmeans", 0.17),
        ("caltech101", "kmeans", 0.5),
    ],
)
def test_refined_spex_reaches_the_figure(name, reference, least):
    data = datasets.load(name)
    explainer = SpexClique(refine="agreement", n_jobs=-1).fit(data.data, data[reference])
    assert agreement(explainer, data[reference]) >= least


@needs_data
@pytest.mark.parametrize("name", ["r15", "pathbased", "ecoli", "cancer", "iris"])
@pytest.mark.parametrize("reference", [kmeans_of, spectral_of])
def test_at_least_as_faithful_as_every_other_method(name, reference):
    data = datasets.load(name)
    labels = reference(data.data, len(data.target_names))
    best = BestTree().fit(data.data, labels)
    assert best.agreement_ == pytest.approx(agreement(best, labels))
    for method in (SpexClique, CART, EMN, IMM, ExKMC):
        for refine in (None, "agreement"):
            other = method(refine=refine).fit(data.data, labels)
            assert best.agreement_ >= agreement(other, labels) - 1e-12


def test_starts_are_reported():
    X, labels = blobs()
    best = BestTree(starts=["cart", "spex"], random_state=0).fit(X, labels)
    assert [record.start for record in best.starts_] == ["cart", "spex"]
    for record in best.starts_:
        assert record.grown <= record.refined <= record.agreement <= best.agreement_
        assert record.n_leaves == 6
        assert record.seconds > 0
    assert best.objective_ in [pytest.approx(record.objective) for record in best.starts_]


def test_the_start_of_cart_is_cart_as_it_is_by_default():
    X, labels = blobs(n_clusters=12)
    (record,) = BestTree(starts=["cart"], random_state=0).fit(X, labels).starts_
    by_size, paper = (CART(leaf_weight=weight).fit(X, labels) for weight in ("size", "none"))
    assert by_size.tree_ == CART().fit(X, labels).tree_ != paper.tree_
    assert record.grown == pytest.approx(agreement(by_size, labels))
    assert record.grown != pytest.approx(agreement(paper, labels))


def test_deterministic_whatever_the_threads():
    X, labels = blobs(seed=3)
    options = {"n_restarts": 2, "random_state": 5}
    trees = [BestTree(n_jobs=jobs, **options).fit(X, labels).tree_ for jobs in (None, 2, None)]
    assert trees[0] == trees[1] == trees[2]


def test_more_search_is_never_worse():
    X, labels = blobs(seed=1)
    refined = BestTree(exchange="none").fit(X, labels).agreement_
    exchanged = BestTree(exchange="best").fit(X, labels).agreement_
    everywhere = BestTree(exchange="all").fit(X, labels).agreement_
    restarted = BestTree(exchange="all", n_restarts=3, random_state=0).fit(X, labels).agreement_
    assert refined <= exchanged <= everywhere <= restarted
    hurried = BestTree(time_budget=1e-9).fit(X, labels)
    assert hurried.n_leaves_ == 6
    assert BestTree(time_budget=0.5).fit(X, labels).agreement_ >= hurried.agreement_


def test_a_time_budget_is_a_cap():
    X, labels = blobs(seed=1)
    patient = BestTree(time_budget=1000.0).fit(X, labels)
    assert patient.tree_ == BestTree().fit(X, labels).tree_
    assert "restart" not in [record.start for record in patient.starts_]


@pytest.mark.parametrize("n_leaves", [2, 4, 9])
def test_any_number_of_leaves(n_leaves):
    X, labels = blobs(seed=2)
    best = BestTree(n_leaves=n_leaves, max_depth=4, min_samples_leaf=5).fit(X, labels)
    assert best.n_leaves_ == n_leaves
    assert best.tree_.depth <= 4
    assert best.tree_.size[best.tree_.leaves].min() >= 5
    assert np.array_equal(best.predict(X), best.labels_)


def test_noise_and_few_columns():
    X, labels = blobs(seed=4)
    labels[::10] = -1
    best = BestTree(features=[1, 3, 6]).fit(X, labels)
    assert set(best.tree_.feature.tolist()) <= {-1, 1, 3, 6}
    known = labels >= 0
    ari = metrics.agreement(best.labels_[known], labels[known]).ari
    assert best.agreement_ == pytest.approx(ari)


def test_too_few_distinct_rows():
    X = np.repeat([[0.0], [1.0]], 5, axis=0)
    with pytest.warns(LeafCountWarning):
        best = BestTree(n_leaves=3).fit(X, np.repeat([0, 1], 5))
    assert best.n_leaves_ == 2
    assert best.agreement_ == 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"starts": "spex"}, "must be a list"),
        ({"starts": []}, "must be a list"),
        ({"starts": ["oak"]}, "only spex, emn, cart, agreement"),
        ({"exchange": "some"}, "exchange='some' must be"),
        ({"n_restarts": -1}, "n_restarts=-1 must be"),
        ({"time_budget": 0}, "time_budget=0 must be"),
    ],
)
def test_misuse_is_refused(options, message):
    X, labels = blobs(50)
    with pytest.raises(ValueError, match=message):
        BestTree(**options).fit(X, labels)


def test_large_tables_are_searched_on_a_sample():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 600)
    labels[7] = 4  # a cluster that the sample misses
    X = np.array([[0, 0], [4, 0], [0, 4], [4, 4], [9, 9]])[labels] + rng.normal(size=(600, 2))
    sampled = BestTree(max_rows=60).fit(X, labels)
    assert sampled.n_leaves_ == 5
    assert sampled.agreement_ == pytest.approx(metrics.agreement(sampled.labels_, labels).ari)
    assert sampled.agreement_ > 0.8 * BestTree(max_rows=None).fit(X, labels).agreement_
    with pytest.raises(ValueError, match="max_rows=1 must be an integer of at least 2"):
        BestTree(max_rows=1).fit(X, labels)


def test_agreement_is_that_of_the_tree_returned():
    cancer = datasets.load("cancer")
    for n_leaves in ("auto", 4):
        best = BestTree(n_leaves=n_leaves).fit(cancer.data, cancer.target)
        assert best.agreement_ == pytest.approx(agreement(best, cancer.target), abs=1e-12)
        smaller = best.truncated(2)
        assert smaller.agreement_ == pytest.approx(agreement(smaller, cancer.target), abs=1e-12)
