"""Parameters and graphs that no fit can use, and the one sentence that says so."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.cluster import KMeans

from refusals import refused, with_entry
from spexplain import CART, BestTree, SpexClique, SpexGraph, SpexKNN
from spexplain.exceptions import LeafCountWarning

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 3))
Y = np.repeat([0, 1], 10)
RING = (np.abs(X[:, :1] - X[:, 0]) < 1).astype(float)


# --- Parameters -----------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [0, -1, 2.5, "3", True, np.nan], ids=repr)
@pytest.mark.parametrize(
    "name", ["n_clusters", "n_leaves", "max_depth", "min_samples_leaf", "n_neighbors"]
)
def test_counts(name, number):
    estimator = SpexKNN().set_params(**{name: number})
    refused(lambda: estimator.fit(X), words=[f"{name}={number!r}", "integer of at least 1"])


@pytest.mark.parametrize(
    "estimator",
    [
        SpexClique(noise="drop"),
        SpexClique(clique_weights="heavy"),
        SpexKNN(2, symmetrize="max"),
        CART(criterion="entropy"),
        CART(leaf_weight=["size"]),
    ],
    ids=str,
)
def test_choices(estimator):
    changed = re.search(
        r"(noise|clique_weights|symmetrize|criterion|leaf_weight)=", repr(estimator)
    )
    refused(lambda: estimator.fit(X, Y), words=[changed[0], '"', " or "])


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (BestTree, "keep_clusters", "no"),
        (SpexKNN, "standardize", 0),
        (SpexKNN, "approximate", "yes"),
    ],
)
def test_flags(kind, name, value):
    estimator = kind(2, **{name: value})
    refused(lambda: estimator.fit(X, Y), words=[f"{name}={value!r} must be True or False"])


@pytest.mark.parametrize("verbose", ["x", -1, 1.5], ids=repr)
def test_verbose(verbose):
    refused(lambda: SpexClique(verbose=verbose).fit(X, Y), words=[f"verbose={verbose!r}"])


@pytest.mark.parametrize("reference", ["k-means", 3], ids=repr)
def test_references(reference):
    refused(
        lambda: SpexClique(2, reference=reference).fit(X),
        words=[f"reference={reference!r}", "kmeans", "fit_predict"],
    )


@pytest.mark.parametrize("engine", ["nope", None, 3, ["numpy"]], ids=repr)
def test_engine(engine):
    refused(lambda: SpexClique(engine=engine).fit(X, Y), words=[f"engine={engine!r}", '"numpy"'])


@pytest.mark.parametrize("n_jobs", [0, 1.5, "two"], ids=repr)
def test_n_jobs(n_jobs):
    refused(lambda: SpexClique(n_jobs=n_jobs).fit(X, Y), words=[f"n_jobs={n_jobs!r}", "threads"])


@pytest.mark.parametrize("reference", ["nope", 3, None], ids=repr)
def test_reference(reference):
    words = [f"reference={reference!r}", "spectral", "fit_predict"]
    refused(lambda: SpexClique(2, reference=reference).fit(X), words=words)


@pytest.mark.parametrize("reference", ["spectral", "kmeans", "kmedians", "kernel_kmeans"])
def test_more_clusters_than_rows(reference):
    estimator = SpexClique(21, reference=reference)
    refused(lambda: estimator.fit(X), words=["n_clusters=21", "20 rows"])


@pytest.mark.parametrize(
    ("features", "words"),
    [
        (["b", "zz"], ["features", "'zz'", "known: a, b, c"]),
        ([3], ["features", "3", "0 to 2"]),
        ([-1], ["features", "-1", "0 to 2"]),
        ([0.5], ["features", "0.5"]),
        ([], ["features=[]", "list"]),
        ("b", ["features='b'", "list"]),
        (1, ["features=1", "list"]),
    ],
    ids=str,
)
def test_features(features, words):
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    refused(lambda: SpexClique(features=features).fit(frame, Y), words=words)


def test_features_by_name_of_a_table_without_names():
    refused(
        lambda: SpexClique(features=["a"]).fit(X, Y), words=["features", "'a'", "no column names"]
    )


@pytest.mark.parametrize("names", [["a"], ["a", "b", "c", "d"]])
def test_feature_names_of_another_table(names):
    fitted = SpexClique().fit(X, Y)
    refused(lambda: fitted.rules(names), words=["feature_names", str(len(names)), "3 columns"])


def test_feature_names_of_a_table_with_names():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    words = ["feature_names", "'a'", "leave feature_names out"]
    refused(lambda: SpexClique(feature_names=["x", "y", "z"]).fit(frame, Y), words=words)
    assert SpexClique(feature_names=["a", "b", "c"]).fit(frame, Y).predict(frame).shape == (20,)


def test_leaves_in_words():
    refused(lambda: SpexClique(n_leaves="few").fit(X, Y), words=["n_leaves='few'", '"auto"'])


def test_folds_in_words():
    fitted = SpexClique().fit(X, Y)
    refused(lambda: fitted.validate(X, Y, cv="split"), words=["cv='split'", "integer"])


@pytest.mark.parametrize("n_leaves", [0, 1.5, "two"], ids=repr)
def test_leaves_of_a_smaller_tree(n_leaves):
    fitted = SpexClique().fit(X, Y)
    refused(lambda: fitted.truncated(n_leaves), words=[f"n_leaves={n_leaves!r}", "integer"])


# --- Graphs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", [np.asarray, sparse.csr_array, sparse.coo_matrix, lambda a: lambda X: a]
)
@pytest.mark.parametrize(
    ("adjacency", "words"),
    [
        (np.ones((20, 19)), ["graph", "square", "(20, 19)"]),
        (np.ones((19, 19)), ["graph", "19 vertices", "20 rows"]),
        (-RING, ["graph", "negative", "non-negative"]),
        (with_entry(RING, 2, 1, np.nan), ["graph", "NaN"]),
        (with_entry(RING, 2, 1, np.inf), ["graph", "infinite"]),
        (
            with_entry(RING, 2, 1, 7.0),
            ["not symmetric", "graph.maximum(graph.T)", "graph + graph.T"],
        ),
        (RING * 1j, ["graph", "complex128"]),
        (RING * 1e307, ["graph", "overflows"]),
    ],
    ids=["shape", "size", "negative", "NaN", "infinite", "asymmetric", "complex", "huge"],
)
def test_graph(kind, adjacency, words):
    refused(lambda: SpexGraph(2, graph=kind(adjacency)).fit(X), words=words)


@pytest.mark.parametrize(
    ("graph", "kind"),
    [
        ("ring", "str"),
        (3, "int"),
        ({0: [1]}, "dict"),
        ([[1, 2], [3]], "list"),
        (lambda X: None, "None"),
    ],
    ids=["str", "int", "dict", "ragged", "callable"],
)
def test_graph_of_another_type(graph, kind):
    refused(lambda: SpexGraph(2, graph=graph).fit(X), words=["graph", "scipy.sparse", kind])


def test_graph_transformer_that_gives_no_neighbours():
    refused(
        lambda: SpexGraph(2, graph=KMeans(2)).fit(X), words=["graph=KMeans", "square", "(20, 2)"]
    )


# --- Fewer leaves than asked for ------------------------------------------------------------------


def test_more_leaves_than_distinct_rows():
    table = np.repeat([[0.0], [1.0], [2.0]], 4, axis=0)
    with pytest.warns(LeafCountWarning, match=r"3 leaves instead of 7.*\.$"):
        fitted = SpexClique(n_leaves=7).fit(table, np.repeat([0, 1], 6))
    assert fitted.n_leaves_ == fitted.tree_.n_leaves == 3


def test_only_constant_columns_allowed():
    table = np.c_[np.ones(20), X]
    with pytest.warns(LeafCountWarning, match="1 leaf instead of 2"):
        fitted = SpexClique(features=[0]).fit(table, Y)
    assert fitted.labels_.tolist() == [0] * 20
    assert fitted.rules(output="records")[0]["rule"] == "all rows"


def test_graph_without_edges_has_no_valid_cut():
    with pytest.warns(LeafCountWarning, match="1 leaf instead of 2"):
        fitted = SpexGraph(2, graph=np.zeros((20, 20))).fit(X)
    assert fitted.objective_ == 0


def test_too_few_rows_for_two_leaves():
    with pytest.warns(LeafCountWarning, match="1 leaf instead of 2"):
        SpexClique(min_samples_leaf=11).fit(X, Y)
