"""BestTree: the figures it must reach, and what its parameters do."""

import os
from functools import partial

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler

from spexplain import CART, EMN, IMM, BestTree, ExKMC, SpexClique, datasets, metrics
from spexplain.exceptions import LeafCountWarning, LostClusterWarning
from spexplain.references.spectral import SpectralReference
from spexplain.refine.scores import GOALS

needs_data = pytest.mark.skipif("SPEXPLAIN_DATA" not in os.environ, reason="no data folder")


faithful = partial(BestTree, goal="agreement", keep_clusters=False)


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
    best = faithful().fit(ecoli.data, kmeans_of(ecoli.data, 5))
    assert round(best.agreement_, 3) >= 0.930
    assert best.n_leaves_ == 5


@needs_data
def test_beans_reaches_the_figure():
    beans = datasets.load("beans")
    best = faithful(n_jobs=-1).fit(beans.data, spectral_of(beans.data, 7))
    assert best.agreement_ >= 0.765


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize(("reference", "least"), [("spectral", 0.28), ("kmeans", 0.185)])
def test_newsgroups_reaches_the_figure(reference, least):
    news = datasets.load("newsgroups")
    best = faithful(n_jobs=-1, starts=["agreement"], exchange="none").fit(
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
    best = faithful().fit(data.data, labels)
    assert best.agreement_ == pytest.approx(agreement(best, labels))
    for method in (SpexClique, CART, EMN, IMM, ExKMC):
        for refine in (None, "agreement"):
            other = method(refine=refine).fit(data.data, labels)
            assert best.agreement_ >= agreement(other, labels) - 1e-12


def test_starts_are_reported():
    X, labels = blobs()
    best = faithful(starts=["cart", "spex"], random_state=0).fit(X, labels)
    assert [record.start for record in best.starts_] == ["cart", "spex"]
    for record in best.starts_:
        assert record.grown <= record.refined <= record.value <= best.agreement_
        assert record.n_leaves == 6
        assert record.seconds > 0
    assert best.objective_ in [pytest.approx(record.objective) for record in best.starts_]


def test_the_start_of_cart_is_cart_as_it_is_by_default():
    X, labels = blobs(n_clusters=12)
    (record,) = faithful(starts=["cart"], random_state=0).fit(X, labels).starts_
    by_size, paper = (CART(leaf_weight=weight).fit(X, labels) for weight in ("size", "none"))
    assert by_size.tree_ == CART().fit(X, labels).tree_ != paper.tree_
    assert record.grown == pytest.approx(agreement(by_size, labels))
    assert record.grown != pytest.approx(agreement(paper, labels))


def test_deterministic_whatever_the_threads():
    X, labels = blobs(seed=3)
    options = {"n_restarts": 2, "random_state": 5}
    trees = [faithful(n_jobs=jobs, **options).fit(X, labels).tree_ for jobs in (None, 2, None)]
    assert trees[0] == trees[1] == trees[2]


def test_more_search_is_never_worse():
    X, labels = blobs(seed=1)
    refined = faithful(exchange="none").fit(X, labels).agreement_
    exchanged = faithful(exchange="best").fit(X, labels).agreement_
    everywhere = faithful(exchange="all").fit(X, labels).agreement_
    restarted = faithful(exchange="all", n_restarts=3, random_state=0).fit(X, labels).agreement_
    assert refined <= exchanged <= everywhere <= restarted
    hurried = faithful(time_budget=1e-9).fit(X, labels)
    assert hurried.n_leaves_ == 6
    assert faithful(time_budget=0.5).fit(X, labels).agreement_ >= hurried.agreement_


def test_a_time_budget_is_a_cap():
    X, labels = blobs(seed=1)
    patient = faithful(time_budget=2.0).fit(X, labels)
    assert patient.agreement_ >= faithful().fit(X, labels).agreement_
    assert "restart" not in [record.start for record in patient.starts_]


@pytest.mark.parametrize("n_leaves", [2, 4, 9])
def test_any_number_of_leaves(n_leaves):
    X, labels = blobs(seed=2)
    best = faithful(n_leaves=n_leaves, max_depth=4, min_samples_leaf=5).fit(X, labels)
    assert best.n_leaves_ == n_leaves
    assert best.tree_.depth <= 4
    assert best.tree_.size[best.tree_.leaves].min() >= 5
    assert np.array_equal(best.predict(X), best.labels_)


def test_noise_and_few_columns():
    X, labels = blobs(seed=4)
    labels[::10] = -1
    best = faithful(features=[1, 3, 6]).fit(X, labels)
    assert set(best.tree_.feature.tolist()) <= {-1, 1, 3, 6}
    known = labels >= 0
    ari = metrics.agreement(best.labels_[known], labels[known]).ari
    assert best.agreement_ == pytest.approx(ari)


def test_too_few_distinct_rows():
    X = np.repeat([[0.0], [1.0]], 5, axis=0)
    with pytest.warns(LeafCountWarning):
        best = faithful(n_leaves=3).fit(X, np.repeat([0, 1], 5))
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
        ({"goal": "speed"}, "goal='speed' must be"),
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
    sampled = faithful(max_rows=60).fit(X, labels)
    assert sampled.n_leaves_ == 5
    assert sampled.agreement_ == pytest.approx(metrics.agreement(sampled.labels_, labels).ari)
    assert sampled.agreement_ > 0.8 * faithful(max_rows=None).fit(X, labels).agreement_
    with pytest.raises(ValueError, match="max_rows=1 must be an integer of at least 2"):
        faithful(max_rows=1).fit(X, labels)


def test_agreement_is_that_of_the_tree_returned():
    cancer = datasets.load("cancer")
    for n_leaves in ("auto", 4):
        best = faithful(n_leaves=n_leaves).fit(cancer.data, cancer.target)
        assert best.agreement_ == pytest.approx(agreement(best, cancer.target), abs=1e-12)
        smaller = best.truncated(2)
        assert smaller.agreement_ == pytest.approx(agreement(smaller, cancer.target), abs=1e-12)


def measured(explainer, labels, goal):
    """Return what a goal measures of a fitted tree, from its labels alone."""
    leaves = explainer.labels_
    if goal == "agreement":
        return agreement(explainer, labels)
    table = np.array(
        [
            [np.sum((leaves == leaf) & (labels == j)) for j in np.unique(labels)]
            for leaf in np.unique(leaves)
        ]
    )
    if goal == "fidelity":
        return table.max(axis=1).sum() / table.sum()
    totals = table.sum(axis=0)
    if goal == "balanced":
        return (table / totals).max(axis=1).sum() / len(totals)
    inner, volume = (table * (table - 1)).sum(axis=1), table @ (totals - 1)
    return (1 - inner / volume).sum()


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("n_leaves", [3, 4, 7])
def test_every_goal_is_best_by_its_own_measure(goal, n_leaves):
    X, labels = blobs(n_rows=150, n_clusters=3, seed=5)
    trees = {
        each: BestTree(goal=each, n_leaves=n_leaves, keep_clusters=False).fit(X, labels)
        for each in GOALS
    }
    best = trees[goal]
    sign = -1 if goal == "conductance" else 1
    assert best.value_ == pytest.approx(measured(best, labels, goal))
    assert sign * best.value_ <= sign * best.bound_
    assert best.n_leaves_ == n_leaves
    others = [*trees.values(), SpexClique(n_leaves=n_leaves).fit(X, labels)]
    others.append(CART(n_leaves=n_leaves).fit(X, labels))
    if best.optimal_ or goal != "conductance":
        for other in others:
            assert sign * best.value_ >= sign * measured(other, labels, goal) - 1e-9
    if n_leaves == 3:
        assert best.optimal_
    assert best.certificate().to_text().splitlines()[1].startswith("  No tree of")


def test_the_bound_in_words():
    X, labels = blobs(n_rows=120, n_clusters=3)
    best = BestTree(max_depth=2).fit(X, labels)
    right = round(best.value_ * 120)
    assert best.optimal_
    said = best.certificate().size_bound
    assert said == (
        f"No tree of 3 leaves and depth 2 puts more than {right} of 120 rows right; "
        "so this one is the best."
    )


def test_balanced_leaves_stand_for_the_largest_share():
    X = np.array([[0.0]] * 90 + [[1.0]] * 20 + [[1.0]] * 9 + [[0.0]])
    labels = np.array(["large"] * 110 + ["small"] * 10)
    balanced = BestTree(goal="balanced").fit(X, labels)
    assert balanced.leaf_reference_.tolist() == ["large", "small"]
    assert balanced.value_ == pytest.approx((90 / 110 + 9 / 10) / 2)
    with pytest.warns(LostClusterWarning, match="small"):
        right = BestTree(goal="fidelity").fit(X, labels)
    assert right.unexplained_clusters_ == ["small"]
    assert right.to_text().startswith("Cluster without a leaf of its own: small")


def test_clusters_keep_a_leaf():
    random = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2, 3], [300, 300, 300, 12])
    X = np.array([[0, 0], [3, 0], [0, 3], [1.2, 1.4]])[labels] + random.normal(size=(912, 2))
    X[900:] = 6.0 + random.normal(scale=0.1, size=(12, 2))
    X[:9] = [6.0, 6.0]
    free = BestTree(keep_clusters=False).fit(X, labels)
    kept = BestTree().fit(X, labels)
    assert kept.unexplained_clusters_ == []
    assert kept.value_ <= free.value_ + 1e-12
    assert kept.bound_ >= free.value_ - 1e-12


def test_lost_clusters_are_named_with_the_leaves_they_need():
    random = np.random.default_rng(1)
    X = random.normal(size=(400, 2))
    labels = (X[:, 0] > 0) + 2 * (X[:, 1] > 0)
    X[:3], labels[:3] = [[0.11, 0.1], [0.12, 0.11], [0.13, 0.1]], 4
    found = BestTree(n_leaves=4).fit(X, labels)  # fewer leaves than clusters: no promise, but said
    assert found.unexplained_clusters_ == [4]
    first = found.to_text().splitlines()[0]
    assert first.startswith("Cluster without a leaf of its own: 4; with ")
    n_leaves = int(first.split("with ")[-1].split()[0])
    assert n_leaves > 4
    assert SpexClique(n_leaves=2).fit(X, labels).unexplained_clusters_ != []
    assert SpexClique(n_leaves=2).fit(X, labels).to_text().startswith("Clusters without a leaf")
