"""What a user can get wrong about tables and labels, and the one sentence that says so."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

from refusals import refused, with_entry
from spexplain import CART, SpexClique, SpexGraph, SpexKNN
from spexplain.exceptions import NoiseWarning

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 3))
Y = np.repeat([0, 1], 10)


# --- X --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "missing", "what"),
    [
        (np.nan, "error", "NaN or infinity"),
        (np.inf, "error", "NaN or infinity"),
        (np.inf, "allow", "infinity"),
        (-np.inf, "allow", "infinity"),
    ],
)
def test_x_not_finite(entry, missing, what):
    broken, explainer = with_entry(X, 3, 1, entry), SpexClique(missing=missing)
    refused(lambda: explainer.fit(broken, Y), words=[f"X contains {what}", "row 3", "column 1"])
    frame = pd.DataFrame(broken, columns=["a", "b", "c"])
    refused(lambda: explainer.fit(frame, Y), words=["X", "row 3", "column 'b'"])
    fitted = explainer.fit(X, Y)
    (tested,) = set(fitted.tree_.feature) - {-1}
    broken = with_entry(X, 3, tested, entry)
    refused(lambda: fitted.predict(broken), words=[f"X contains {what}", "row 3"])
    unread = with_entry(X, 3, (tested + 1) % 3, entry)  # no test looks there
    assert fitted.predict(unread).tolist() == fitted.labels_.tolist()


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (np.array([["a", "b"]] * 20), ["X", "constant"]),
        (np.full((20, 2), np.nan), ["X", "constant"]),
        (X * 1j, ["X", "Complex", "real"]),
        (np.ones((20, 3)), ["X", "constant"]),
        (X[:, :, None], ["dim 3", "SpexClique"]),
        (np.empty((0, 3)), ["0 sample", "SpexClique"]),
        (np.empty((20, 0)), ["0 feature", "SpexClique"]),
        (X[:1], ["1 sample", "minimum of 2", "SpexClique"]),
    ],
    ids=[
        "constant text",
        "nothing known",
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
    words = ["X is a dict", "pass a data frame"]
    refused(lambda: SpexClique().fit({"a": [1, 2]}, Y), words=words, error=TypeError)
    refused(lambda: SpexClique().fit([[10**400], [1]], [0, 1]), words=["X", "too large"])
    structured = np.array([(1, 2.0)] * 20, dtype=[("a", int), ("b", float)])
    fitted = SpexClique().fit(X, Y)
    for table, words in (
        ("abc.csv", ["X is a text or a path", "read_csv"]),
        (Path("abc.csv"), ["X is a text or a path", "read_csv"]),
        (structured, ["X is a structured array", "pandas.DataFrame(X)"]),
        (pl.LazyFrame({"a": [1, 2]}), ["X is a LazyFrame", "X.collect()"]),
    ):
        refused(lambda table=table: SpexClique().fit(table, Y), words=words, error=TypeError)
        refused(lambda table=table: fitted.predict(table), words=words, error=TypeError)


@pytest.mark.parametrize("cell", [[1], (1,), {"a": 1}, {1}, np.ones(2), 1j], ids=repr)
def test_cells_that_no_test_can_ask_for(cell):
    column = pd.Series([cell, None] * 10, dtype=object)
    table = pd.DataFrame({"size": X[:, 0], "tags": column})
    words = [f"type {type(cell).__name__} in column 'tags'", "leave it out"]
    refused(lambda: SpexClique().fit(table, Y), words=words)


@pytest.mark.parametrize("estimator", [SpexClique(), CART(), SpexKNN(2), SpexGraph(2)])
def test_predict_of_another_table(estimator):
    fitted = estimator.fit(X, Y)
    name = type(estimator).__name__
    words = ["X has 2 features", name, "3 features"]
    refused(lambda: fitted.predict(X[:, :2]), words=words)
    refused(lambda: fitted.predict(X[:0]), words=["0 sample", name])
    named = estimator.fit(pd.DataFrame(X, columns=["a", "b", "c"]), Y)
    (tested,) = set(named.tree_.feature) - {-1}
    other = pd.DataFrame(X, columns=["a", "b", "c"]).rename(columns={"abc"[tested]: "d"})
    words = ["X lacks the column", repr("abc"[tested]), "the tree tests"]
    refused(lambda: named.predict(other), words=words)


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
        (np.zeros((20, 2, 2)), ["y", "one label per row", "(20, 2, 2)"]),
        (3, ["y", "one label per row"]),
        ([[0], [0, 1]] * 10, ["y", "one label per row"]),
        (np.zeros(20), ["y", "two clusters", "has 1"]),
        (np.full(20, -1), ["y", "two clusters", "has 0"]),
        (np.array([0, "a"] * 10, dtype=object), ["y mixes", "strings"]),
        ([0, "a"] * 10, ["y mixes", "strings"]),
    ],
    ids=["length", "3-D", "scalar", "ragged", "one cluster", "noise", "mixed", "mixed list"],
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
    # Such rows are noise, and one cluster is left.
    with pytest.warns(NoiseWarning, match="1 row without a label"):
        refused(lambda: SpexClique().fit(X[:2], y), words=["y", "two clusters", "has 1"])


def test_labels_asked_for_where_there_were_none():
    fitted = SpexKNN(2).fit(X)
    refused(lambda: fitted.predict_reference(X), words=["SpexKNN", "without reference", "y"])
