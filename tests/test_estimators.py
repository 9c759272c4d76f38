"""The estimators keep scikit-learn's contract, take what users bring, and give it back as it was."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.neighbors import KNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import spexplain
from spexplain import CART, SpexClique, SpexGraph, SpexKNN, datasets, estimators
from spexplain.graphs import CliqueGraph, knn_graph

CLASSES = [
    each
    for name in estimators.__all__
    if isinstance(each := getattr(estimators, name), type) and issubclass(each, BaseEstimator)
]
IRIS = datasets.load("iris")
X, Y = IRIS.data, IRIS.target
NAMES = IRIS.target_names[Y]


# --- scikit-learn's contract ----------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::spexplain.exceptions.LeafCountWarning")
@parametrize_with_checks([each() for each in CLASSES])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("cls", CLASSES)
def test_every_estimator_is_public_and_documented(cls):
    assert getattr(spexplain, cls.__name__) is cls
    assert "Parameters" in cls.__doc__
    assert "Examples" in cls.__doc__
    for parameter in cls().get_params(deep=False):
        assert f"\n{parameter} : " in cls.__doc__, parameter
    assert "<" not in cls.__doc__.split("Examples")[0].replace("<=", "")


@pytest.mark.parametrize("cls", CLASSES)
def test_fitted_state(cls):
    fitted = cls(3, random_state=0).fit(X, Y)
    assert fitted.labels_.dtype == np.int64
    assert sorted(set(fitted.labels_)) == list(range(fitted.n_leaves_))
    assert fitted.predict(X).tolist() == fitted.labels_.tolist()
    assert clone(fitted).fit_predict(X, Y).tolist() == fitted.labels_.tolist()
    assert fitted.reference_labels_.tolist() == Y.tolist()
    assert fitted.predict_reference(X).tolist() == fitted.leaf_reference_[fitted.labels_].tolist()
    assert np.isfinite(fitted.objective_)
    assert len(fitted.rules()) == fitted.n_leaves_ == fitted.to_text().count("leaf ")


@pytest.mark.parametrize("cls", CLASSES)
def test_one_row_alone_gets_the_label_it_gets_in_a_batch(cls):
    fitted = cls(3).fit(X, Y)
    alone = [int(fitted.predict(row[None])[0]) for row in X[::10]]
    assert alone == fitted.predict(X)[::10].tolist()
    assert alone == fitted.predict(X[::10]).tolist()


@pytest.mark.parametrize("cls", CLASSES)
def test_copies_behave_alike(cls):
    fitted = cls(3, random_state=0).fit(X, NAMES)
    revived = pickle.loads(pickle.dumps(fitted))
    assert revived.tree_ == fitted.tree_
    assert revived.predict_reference(X).tolist() == fitted.predict_reference(X).tolist()
    again = clone(fitted)
    assert not hasattr(again, "tree_")
    assert again.get_params() == fitted.get_params()
    assert again.set_params(n_leaves=2).fit(X, NAMES).n_leaves_ == 2


def test_refit_forgets_what_no_longer_holds():
    explainer = SpexKNN(3).fit(pd.DataFrame(X, columns=IRIS.feature_names), Y)
    assert hasattr(explainer, "leaf_reference_")
    explainer.set_params(n_clusters=2).fit(X[:, :2])
    assert explainer.n_features_in_ == 2
    assert explainer.n_leaves_ == 2
    for gone in ("leaf_reference_", "reference_labels_", "feature_names_in_"):
        assert not hasattr(explainer, gone)


@pytest.mark.parametrize("cls", CLASSES)
def test_fit_changes_neither_table_nor_labels(cls):
    table, labels = X.copy(), Y.copy()
    table.setflags(write=False)
    labels.setflags(write=False)
    cls(3).fit(table, labels).predict(table)


def test_engine_may_be_an_object(engine):
    assert SpexClique(engine=engine).fit(X, Y).tree_ == SpexClique().fit(X, Y).tree_


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
    assert SpexClique(7, reference="nope").fit(X, Y).n_leaves_ == 3


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


def test_noise_is_routed_but_neither_attracts_nor_repels():
    ignoring = SpexClique().fit(X, NOISY)
    without = SpexClique().fit(X[NOISY >= 0], NOISY[NOISY >= 0])
    assert ignoring.n_leaves_ == 3
    # Thresholds may differ, as noise rows are values to cut between.
    assert ignoring.predict(X[NOISY >= 0]).tolist() == without.labels_.tolist()
    assert ignoring.leaf_reference_.tolist() == [0, 1, 2]
    assert ignoring.tree_.size[0] == len(X)


def test_noise_as_a_cluster():
    explainer = SpexClique(noise="cluster").fit(X, NOISY)
    assert explainer.n_leaves_ == 4
    shifted = SpexClique().fit(X, NOISY + 1)
    assert explainer.tree_ == shifted.tree_
    assert explainer.leaf_reference_.tolist() == (shifted.leaf_reference_ - 1).tolist()


def test_minus_one_is_noise_only_among_integers():
    texts = np.array(["-1", "0", "1", "2"])[NOISY + 1]
    assert SpexClique().fit(X, texts).n_leaves_ == 4
    assert SpexClique().fit(X, NOISY.astype(float)).n_leaves_ == 4


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


# --- The table ------------------------------------------------------------------------------------

TABLES = {
    "C order": np.ascontiguousarray(X),
    "Fortran order": np.asfortranarray(X),
    "view": np.repeat(X, 2, axis=1)[:, ::2],
    "lists": X.tolist(),
    "pandas": pd.DataFrame(X, columns=IRIS.feature_names),
    "pandas, nullable": pd.DataFrame(X, columns=IRIS.feature_names).astype("Float64"),
    "polars": pl.DataFrame(X, schema=IRIS.feature_names),
    "object": X.astype(object),
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES.keys())
@pytest.mark.parametrize("cls", [SpexClique, SpexKNN, CART])
def test_containers_of_tables(cls, table):
    expected = cls(3).fit(X, Y)
    fitted = cls(3).fit(table, Y)
    assert fitted.tree_ == expected.tree_
    assert fitted.predict(table).tolist() == expected.labels_.tolist()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8, np.int64, np.uint8, bool])
def test_number_types_of_tables(dtype):
    table = (X.mean(axis=0) < X) if dtype is bool else (X * 8).astype(dtype)
    fitted = SpexClique().fit(table, Y)
    assert fitted.tree_ == SpexClique().fit(table.astype(np.float64), Y).tree_
    assert fitted.predict(table).tolist() == fitted.predict(table.astype(np.float64)).tolist()


@pytest.mark.parametrize("table", [TABLES["pandas"], TABLES["polars"]], ids=["pandas", "polars"])
def test_feature_names_are_kept(table):
    explainer = SpexClique().fit(table, NAMES)
    assert explainer.feature_names_in_.tolist() == IRIS.feature_names
    assert explainer.rules(output="records")[0]["rule"] == "petal length (cm) ≤ 2.45"
    assert explainer.to_text().startswith("petal length (cm) ≤ 2.45\n├─ yes: leaf 0")
    assert explainer.rules(["a", "b", "c", "d"], output="records")[0]["rule"] == "c ≤ 2.45"
    assert SpexClique().fit(X, Y).rules(output="records")[0]["rule"] == "x2 ≤ 2.45"


def test_features_by_name_and_number():
    frame = TABLES["pandas"]
    by_name = SpexClique(features=["sepal width (cm)", "sepal length (cm)"]).fit(frame, Y)
    by_number = SpexClique(features=np.array([1, 0])).fit(X, Y)
    mixed = SpexClique(features=[0, "sepal width (cm)", 0]).fit(frame, Y)
    assert by_name.tree_ == by_number.tree_ == mixed.tree_
    assert set(by_name.tree_.feature) <= {-1, 0, 1}
    assert by_name.n_features_in_ == 4
    narrow = SpexClique().fit(X[:, :2], Y)
    assert narrow.labels_.tolist() == by_number.predict(X).tolist()
    assert SpexClique(features=[3]).fit(X, Y).tree_.feature.max() == 3


def test_limits_of_the_tree():
    assert SpexClique(n_leaves=6, max_depth=3).fit(X, Y).tree_.depth == 3
    assert SpexClique(n_leaves=6, min_samples_leaf=20).fit(X, Y).tree_.size.min() >= 20
    assert SpexClique(n_leaves=1).fit(X, Y).labels_.tolist() == [0] * len(X)


# --- Graphs ---------------------------------------------------------------------------------------


def test_graph_in_every_form_means_the_same():
    graph = knn_graph(X, 5, standardize=False)
    adjacency = graph.to_adjacency()
    expected = SpexGraph(3, graph=graph).fit(X).tree_
    for form in (
        adjacency,
        adjacency.tocoo(),
        adjacency.toarray(),
        lambda X: knn_graph(X, 5, standardize=False),
    ):
        assert SpexGraph(3, graph=form).fit(X).tree_ == expected
    assert SpexKNN(3, n_neighbors=5, standardize=False).fit(X).tree_ == expected


@pytest.mark.parametrize("mode", ["distance", "connectivity"])
def test_graph_by_neighbour_transformer(mode):
    # Random rows without equidistant neighbours: no tie leaves a choice.
    table = np.random.default_rng(0).normal(size=(60, 3))
    transformer = KNeighborsTransformer(n_neighbors=6, mode=mode)
    fitted = SpexGraph(3, graph=transformer).fit(table)
    # In "connectivity" mode scikit-learn counts the row itself among its neighbours.
    n_neighbors = 6 if mode == "distance" else 5
    expected = SpexKNN(3, n_neighbors=n_neighbors, standardize=False).fit(table)
    assert fitted.tree_ == expected.tree_
    assert not hasattr(transformer, "n_features_in_")


def test_graph_by_default_joins_ten_neighbours():
    assert SpexGraph(3).fit(X).tree_ == SpexKNN(3, n_neighbors=10).fit(X).tree_


def test_clique_graph_gives_spex_clique():
    by_graph = SpexGraph(3, graph=CliqueGraph.from_labels(Y)).fit(X)
    assert by_graph.tree_ == SpexClique().fit(X, Y).tree_


def test_diagonal_of_the_graph_is_ignored():
    adjacency = knn_graph(X, 5).to_adjacency().toarray()
    looped = adjacency + np.diag(np.arange(len(X)))
    assert SpexGraph(3, graph=looped).fit(X).tree_ == SpexGraph(3, graph=adjacency).fit(X).tree_


# --- What is printed ------------------------------------------------------------------------------


def test_verbose_prints_one_line_per_stage(capsys):
    SpexClique(verbose=1).fit(X, Y)
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert [line.split()[:2] for line in lines] == [
        ["[SpexClique]", stage] for stage in ("reference", "graph", "tree")
    ]
    assert all(line.endswith(" s") for line in lines)
    SpexClique().fit(X, Y)
    assert capsys.readouterr() == ("", "")


def test_text_of_the_tree():
    assert SpexKNN(2).fit(X).to_text(IRIS.feature_names).splitlines() == [
        "petal length (cm) ≤ 2.45",
        "├─ yes: leaf 0 (50 rows)",
        "└─ no:  leaf 1 (100 rows)",
    ]
