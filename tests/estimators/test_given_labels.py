"""Reference clusterings by name, by clusterer and by labels of any type, with noise or without."""

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from spexplain import CART, IMM, BestTree, ClusterRules, SpexClique, SpexGraph, datasets, from_json
from spexplain.exceptions import (
    ClusterCountWarning,
    LeafCountWarning,
    LostClusterWarning,
    NoiseWarning,
    RowOrderWarning,
)

IRIS = datasets.load("iris")
X, Y = IRIS.data, IRIS.target
NAMES = IRIS.target_names[Y]


# --- The reference clustering ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "reference",
    [
        "spectral",
        "kmeans",
        "kmedians",
        "kernel_kmeans",
        KMeans(3, n_init=2, random_state=0),
        AgglomerativeClustering(3),
        make_pipeline(StandardScaler(), KMeans(3, n_init=2, random_state=0)),
    ],
    ids=lambda reference: reference if isinstance(reference, str) else type(reference).__name__,
)
def test_reference_by_name_or_clusterer(reference):
    explainer = SpexClique(3, reference=reference, random_state=0).fit(X)
    assert len(set(explainer.reference_labels_)) == explainer.n_leaves_ == 3
    assert np.mean(explainer.predict_reference(X) == explainer.reference_labels_) > 0.8
    again = SpexClique(3, reference=reference, random_state=0).fit(X)
    assert again.tree_ == explainer.tree_


def test_given_clusterer_is_not_touched():
    clusterer = KMeans(3, n_init=2, random_state=0)
    SpexClique(3, reference=clusterer).fit(X)
    assert not hasattr(clusterer, "labels_")


def test_labels_win_over_the_reference_parameter():
    assert SpexClique(3, reference="nope").fit(X, Y).n_leaves_ == 3


def test_another_number_of_clusters_than_the_labels_have_is_said():
    with pytest.warns(ClusterCountWarning, match=r"^n_clusters=7 is not used: y has 3 clusters\.$"):
        assert SpexClique(7).fit(X, Y).n_leaves_ == 3
    with pytest.warns(ClusterCountWarning, match="y has 3 clusters") as caught:
        IMM(5).fit(X, Y)
    assert caught[0].filename == __file__
    with pytest.warns(ClusterCountWarning, match="y has 3 clusters"):
        SpexClique(8, noise="ignore").set_params(n_clusters=9).fit(X, NOISY)
    for silent in (SpexClique(), SpexClique(3), SpexClique(4)):  # noise may be counted or not
        assert silent.fit(X, NOISY).n_leaves_ == 3
    assert SpexGraph(2).fit(X, Y).n_leaves_ == 2  # there it is the number of leaves


@pytest.mark.parametrize("cls", [CART, SpexClique, BestTree])
def test_rows_of_no_cluster_count_for_the_size_of_leaves(cls):
    random = np.random.default_rng(0)
    points = random.normal(size=(80, 3))
    y = (points[:, 0] > 0) + 2 * (points[:, 1] > 0.3)
    y[random.choice(80, 30, replace=False)] = -1
    explainer = cls(n_leaves=6, min_samples_leaf=8).fit(points, y)
    n_rows = np.bincount(explainer.labels_)
    assert n_rows.min() >= 8
    assert np.bincount(explainer.labels_[y >= 0], minlength=len(n_rows)).min() < 8


@pytest.mark.parametrize("estimator", [SpexClique(), SpexGraph(), ClusterRules(n_alternatives=0)])
@pytest.mark.parametrize(
    "y",
    [
        np.arange(150),
        [f"row {each}" for each in range(150)],
        np.arange(150) // 2 + 0.5,
        np.arange(150) // 6 / 8,
        pd.Series(np.arange(150) // 1.9),
    ],
    ids=["numbers", "names", "fractions", "measurement", "few rows each"],
)
def test_labels_that_are_no_clusters_are_said(estimator, y):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ClusterCountWarning)
        warnings.simplefilter("ignore", LeafCountWarning)
        warnings.simplefilter("ignore", LostClusterWarning)
        estimator.fit(X, y)
    (found,) = caught
    assert found.filename == __file__
    assert str(found.message) == (
        f"y has {len(set(y))} different labels in 150 rows, like row numbers or a measurement and unlike clusters; "
        "cut it into ranges, or pass cluster labels."
    )


@pytest.mark.parametrize(
    "y",
    [np.arange(150) // 2, np.arange(150) // 8 + 0.5, [f"model {each % 38}" for each in range(150)]],
    ids=["pairs", "few fractions", "many names"],
)
def test_many_clusters_are_clusters(y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeafCountWarning)
        warnings.simplefilter("ignore", LostClusterWarning)
        SpexClique().fit(X, y)


@pytest.mark.parametrize(
    "y",
    [
        Y,
        Y.tolist(),
        Y.astype(np.int8),
        Y.astype(np.uint16),
        Y.astype(float),
        Y * 1000 - 5000,
        NAMES,
        NAMES.tolist(),
        NAMES.astype(object),
        Y == 0,
        Y[:, None],
        pd.Series(NAMES),
        pd.Series(Y, index=range(500, 650), dtype="Int64"),
        pd.Series(pd.Categorical(NAMES)),
        pd.Categorical(NAMES),
        pl.Series(NAMES),
        pl.Series(Y),
        pl.Series(NAMES, dtype=pl.Categorical),
        np.array(["2024-01-01", "2024-02-01", "2024-03-01"], dtype="datetime64[D]")[Y],
    ],
    ids=lambda y: f"{type(y).__module__.split('.')[0]} {getattr(y, 'dtype', type(y).__name__)}",
)
def test_labels_of_any_type_come_back_as_they_were(y):
    explainer = SpexClique().fit(X, y)
    given = np.asarray(y).reshape(-1)
    assert explainer.predict_reference(X).dtype == explainer.leaf_reference_.dtype
    assert explainer.leaf_reference_.dtype.kind == given.dtype.kind
    assert set(explainer.predict_reference(X)) == set(given)
    assert np.mean(explainer.predict_reference(X) == given) > 0.9


def test_leaf_stands_for_its_commonest_label_the_lowest_of_equals():
    table = np.array([[0.0], [0.0], [5.0], [5.0], [5.0]])
    explainer = SpexClique(n_leaves=2).fit(table, ["b", "a", "b", "a", "b"])
    assert explainer.leaf_reference_.tolist() == ["a", "b"]
    assert [record["purity"] for record in explainer.rules(output="records")] == [
        0.5,
        pytest.approx(2 / 3),
    ]


# --- Noise ----------------------------------------------------------------------------------------


NOISY = np.where(np.arange(len(Y)) % 10 == 0, -1, Y)


def test_masked_labels_are_missing():
    is_masked = np.arange(len(Y)) % 10 == 0
    for labels, hole in ((Y, np.nan), (NAMES, None)):
        masked = np.ma.MaskedArray(labels, is_masked)
        with pytest.warns(NoiseWarning, match="15 rows without a label"):
            fitted = CART().fit(X, masked)
        with pytest.warns(NoiseWarning):
            expected = CART().fit(X, np.where(is_masked, hole, labels.astype(object)))
        assert fitted.tree_ == expected.tree_
        assert CART().fit(X, np.ma.MaskedArray(labels)).tree_ == CART().fit(X, labels).tree_


def test_spectral_clusters_are_fewer_than_rows():
    with pytest.raises(
        ValueError, match='n_clusters=9 must be below the 9 rows of X with reference="spectral"'
    ):
        SpexClique(9).fit(X[:9])


def test_rows_in_another_order_are_said():
    table, named = pd.DataFrame(X, columns=IRIS.feature_names), pd.Series(NAMES)
    turned = named.iloc[::-1]
    for method in (CART(), ClusterRules()):
        with pytest.warns(
            RowOrderWarning, match="^The index of y has the rows of X in another"
        ) as told:
            method.fit(table, turned)
        assert told[0].filename == __file__
        with pytest.warns(RowOrderWarning, match="^The index of sample_weight has the rows of X"):
            method.fit(table, named, sample_weight=pd.Series(1.0, index=turned.index))
        method.fit(table.iloc[::-1], turned)
        method.fit(table.iloc[::-1], named)  # new labels of these rows are numbered like that
        method.fit(table, turned.set_axis(np.arange(1000, 1150)))  # no rows of the table
        method.fit(table, named.set_axis([0] * 150))


def test_noise_is_routed_but_neither_attracts_nor_repels():
    ignoring = SpexClique().fit(X, NOISY)
    without = SpexClique().fit(X[NOISY >= 0], NOISY[NOISY >= 0])
    assert ignoring.n_leaves_ == 3
    # Thresholds may differ, as noise rows are values to cut between.
    assert ignoring.predict(X[NOISY >= 0]).tolist() == without.labels_.tolist()
    assert ignoring.leaf_reference_.tolist() == [0, 1, 2]
    assert ignoring.tree_.size[0] == len(X)


@pytest.mark.parametrize("noise", [-1, ["a"], "gone"], ids=str)
def test_noise_that_does_not_occur_is_quoted_as_given(noise):
    with pytest.raises(ValueError, match="^" + re.escape(f"noise={noise!r} must be")):
        CART(noise=noise).fit(X, NAMES)


def test_noise_as_a_cluster():
    explainer = SpexClique(noise="cluster").fit(X, NOISY)
    assert explainer.n_leaves_ == 4
    shifted = SpexClique().fit(X, NOISY + 1)
    assert explainer.tree_ == shifted.tree_
    assert explainer.leaf_reference_.tolist() == (shifted.leaf_reference_ - 1).tolist()


@pytest.mark.parametrize(
    "y",
    [
        NOISY.astype(float),
        np.where(NOISY < 0, np.nan, NOISY),
        np.array(["-1", "0", "1", "2"])[NOISY + 1],
        np.array([None, "0", "1", "2"], dtype=object)[NOISY + 1],
        pd.Series(NOISY, dtype="Int64").where(NOISY >= 0),
        pd.Series(np.array(["", "0", "1", "2"])[NOISY + 1]).where(NOISY >= 0),
        pl.Series(np.where(NOISY < 0, None, NOISY).tolist()),
    ],
    ids=["float", "NaN", "text", "None", "Int64", "pandas", "polars"],
)
def test_noise_that_went_through_a_join(y):
    with pytest.warns(NoiseWarning, match="^y: 15 rows with(out a label| the label)") as said:
        explainer = SpexClique().fit(X, y)
    assert said[0].filename == __file__
    assert explainer.tree_ == SpexClique().fit(X, NOISY).tree_
    assert explainer.leaf_reference_.astype(float).tolist() == [0, 1, 2]
    with pytest.warns(NoiseWarning):
        assert SpexClique().fit(X, y).agreement_ == SpexClique().fit(X, NOISY).agreement_


SEGMENTS = np.array(["unclear", "home", "city", "abroad"])[NOISY + 1]


def test_named_segments_and_ignored_noise_work_together(tmp_path):
    explainer = SpexClique(noise="unclear").fit(X, SEGMENTS)
    assert explainer.tree_ == SpexClique().fit(X, NOISY).tree_
    assert explainer.reference_labels_.tolist() == SEGMENTS.tolist()
    assert explainer.leaf_reference_.tolist() == ["home", "city", "abroad"]
    assert explainer.summary()["reference"]["n_noise"] == 15
    loaded = from_json(explainer.to_json())
    assert loaded.predict_reference(X).tolist() == explainer.predict_reference(X).tolist()
    assert "'home'" in explainer.to_sql(label="reference")
    assert explainer.report(tmp_path / "report.html").exists()


def test_leaf_of_named_noise_alone_has_a_label_everywhere(tmp_path):
    joined = np.abs(X[:, 2:3] - X[:, 2]) < 0.5
    y = np.where(X[:, 2] < 2.5, "unclear", SEGMENTS)
    explainer = SpexGraph(2, graph=joined, noise="unclear").fit(X, y)
    assert explainer.leaf_reference_[0] == "-1"
    assert explainer.summary()["leaves"][0]["code"] == -1
    assert (
        from_json(explainer.to_json()).leaf_reference_.tolist()
        == explainer.leaf_reference_.tolist()
    )
    assert "'-1'" in explainer.to_sql(label="reference")
    assert explainer.report(tmp_path / "report.html").exists()


def test_labels_of_a_density_clustering():
    labels = DBSCAN(eps=0.5).fit_predict(X)
    assert -1 in labels
    by_labels = SpexClique().fit(X, labels)
    by_clusterer = SpexClique(reference=DBSCAN(eps=0.5)).fit(X)
    assert by_labels.n_leaves_ == len(set(labels)) - 1
    assert by_labels.tree_ == by_clusterer.tree_


def test_leaf_of_noise_alone_stands_for_noise():
    joined = np.abs(X[:, 2:3] - X[:, 2]) < 0.5
    explainer = SpexGraph(2, graph=joined).fit(X, np.where(Y == 0, -1, Y))
    assert explainer.leaf_reference_[explainer.labels_[0]] == -1
    only_noise = SpexGraph(2, graph=joined).fit(X, np.full(len(X), -1))
    assert only_noise.leaf_reference_.tolist() == [-1, -1]


def test_labels_that_differ_in_a_final_nul_only():
    """NumPy's texts of fixed width drop it."""
    X, y = np.repeat([[0.0], [1.0], [2.0]], 4, axis=0), ["p"] * 4 + ["p\0"] * 4 + ["q"] * 4
    for given in (y, tuple(y), np.array(y, dtype=object), pl.Series(y), pd.Series(y)):
        explainer = CART().fit(X, given)
        assert explainer.n_leaves_ == 3
        assert explainer.predict_reference(X).tolist() == y
        assert from_json(explainer.to_json()).predict_reference(X).tolist() == y


def test_a_long_label_costs_its_length_once():
    """Not once for every leaf, or for every row."""
    long = "x" * 100_000
    X = np.arange(600.0)[:, None]
    y = np.array(["a", long, "c"])[np.arange(600) // 2 % 3]
    explainer = CART(n_leaves=300).fit(X, y.tolist())
    assert explainer.leaf_reference_.nbytes < 10_000
    assert explainer.predict_reference(X).nbytes < 10_000
    loaded = from_json(explainer.to_json())
    assert loaded.leaf_reference_.nbytes < 10_000
    assert loaded.predict_reference(X).tolist() == y.tolist()
    assert CART(n_leaves=300).fit(X, y).leaf_reference_.nbytes < 10_000  # of fixed width as given


def test_all_rows_are_noise(tmp_path):
    """A tree that needs no labels is summarised and reported all the same."""
    joined = np.abs(X[:, 2:3] - X[:, 2]) < 0.5
    explainer = SpexGraph(2, graph=joined).fit(X, np.full(len(X), -1))
    summary = explainer.summary()
    assert [leaf["code"] for leaf in summary["leaves"]] == [-1, -1]
    assert explainer.report(tmp_path / "report.html").exists()
    assert "-1" in from_json(explainer.to_json()).to_text()
    with pytest.raises(ValueError, match="needs two clusters or more"):
        CART().fit(X, np.full(len(X), -1))
