"""What a user can get wrong, and the one sentence that says so."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError

from spexplain import CART, SpexClique, SpexGraph, SpexKNN
from spexplain.exceptions import LeafCountWarning

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 3))
Y = np.repeat([0, 1], 10)
RING = (np.abs(X[:, :1] - X[:, 0]) < 1).astype(float)


def with_entry(table: np.ndarray, row: int, column: int, entry: float) -> np.ndarray:
    changed = table.copy()
    changed[row, column] = entry
    return changed


def refused(call, *, words, error=ValueError):
    """Assert that the call fails with one sentence that holds all the words."""
    with pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith(".")
    assert not re.search(r"[.!?] [A-Z]", message), "more than one sentence"
    for word in words:
        assert word in message


# --- X --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", [np.nan, np.inf, -np.inf])
def test_x_not_finite(entry):
    broken = with_entry(X, 3, 1, entry)
    refused(
        lambda: SpexClique().fit(broken, Y), words=["X", "NaN or infinity", "row 3", "column 1"]
    )
    frame = pd.DataFrame(broken, columns=["a", "b", "c"])
    refused(lambda: SpexClique().fit(frame, Y), words=["X", "row 3", "column 'b'"])
    fitted = SpexClique().fit(X, Y)
    refused(lambda: fitted.predict(broken), words=["X", "NaN or infinity", "row 3"])


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (np.array([["a", "b"]] * 20), ["X", "text", "'a'", "encode"]),
        (pd.DataFrame({"n": range(20), "s": ["u", "v"] * 10}), ["X", "text", "'u'"]),
        ("abc", ["X", "text"]),
        (X * 1j, ["X", "Complex", "real"]),
        (np.ones((20, 3)), ["X", "constant"]),
        (X[:, :, None], ["dim 3", "SpexClique"]),
        (np.empty((0, 3)), ["0 sample", "SpexClique"]),
        (np.empty((20, 0)), ["0 feature", "SpexClique"]),
        (X[:1], ["1 sample", "minimum of 2", "SpexClique"]),
    ],
    ids=[
        "text",
        "text column",
        "string",
        "complex",
        "constant",
        "3-D",
        "no rows",
        "no columns",
        "row",
    ],
)
def test_x_no_table_of_numbers(table, words):
    refused(lambda: SpexClique().fit(table, Y), words=words)


def test_x_one_dimensional():
    # scikit-learn's own words: several lines, but they say what to do.
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        SpexClique().fit(X[:, 0], Y)


def test_x_of_another_type():
    refused(lambda: SpexClique().fit({"a": [1, 2]}, Y), words=["X", "dict"], error=TypeError)
    refused(lambda: SpexClique().fit([[10**400], [1]], [0, 1]), words=["X", "too large"])


def test_x_sparse():
    # scikit-learn's own words: two sentences, the second says what to do.
    with pytest.raises(TypeError, match=r"Sparse data was passed for X.*toarray\(\)"):
        SpexClique().fit(sparse.csr_array(X), Y)


@pytest.mark.parametrize("estimator", [SpexClique(), CART(), SpexKNN(2), SpexGraph(2)])
def test_predict_of_another_table(estimator):
    fitted = estimator.fit(X, Y)
    name = type(estimator).__name__
    words = ["X has 2 features", name, "3 features"]
    refused(lambda: fitted.predict(X[:, :2]), words=words)
    refused(lambda: fitted.predict(X[:0]), words=["0 sample", name])
    named = estimator.fit(pd.DataFrame(X, columns=["a", "b", "c"]), Y)
    with pytest.raises(ValueError, match="feature names should match"):
        named.predict(pd.DataFrame(X, columns=["a", "b", "d"]))


@pytest.mark.parametrize("method", ["predict", "predict_reference", "rules", "to_text"])
def test_not_fitted(method):
    arguments = [X] if method.startswith("predict") else []
    with pytest.raises(NotFittedError, match="This SpexClique instance is not fitted yet"):
        getattr(SpexClique(), method)(*arguments)


# --- y --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (Y[:-1], ["y has 19 labels", "X has 20 rows"]),
        (np.c_[Y, Y], ["y", "one label per row", "(20, 2)"]),
        (3, ["y", "one label per row"]),
        ([[0], [0, 1]] * 10, ["y", "one label per row"]),
        (np.zeros(20), ["y", "two clusters", "has 1"]),
        (np.full(20, -1), ["y", "two clusters", "has 0"]),
        (np.array([0, "a"] * 10, dtype=object), ["y mixes", "strings"]),
        ([0, "a"] * 10, ["y mixes", "strings"]),
    ],
    ids=["length", "2-D", "scalar", "ragged", "one cluster", "noise", "mixed", "mixed list"],
)
def test_y_no_clustering(y, words):
    refused(lambda: SpexClique().fit(X, y), words=words)


@pytest.mark.parametrize(
    "y",
    [
        [0.0, np.nan],
        [0, None],
        ["a", None],
        ["a", np.nan],
        pd.Series(["a", None]),
        pd.Series([0, None], dtype="Int64"),
        pd.Series(["a", None], dtype="category"),
        pl.Series([0, None]),
        pl.Series(["a", None]),
        np.array(["2024-01-01", "NaT"], dtype="datetime64[D]"),
    ],
    ids=repr,
)
def test_y_with_missing_labels(y):
    refused(lambda: SpexClique().fit(X[:2], y), words=["y", "missing", "-1"])


def test_labels_asked_for_where_there_were_none():
    fitted = SpexKNN(2).fit(X)
    refused(lambda: fitted.predict_reference(X), words=["SpexKNN", "without reference", "y"])


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
