"""The exported function needs nothing and agrees with predict."""

import ast

import numpy as np
import pandas as pd
import pytest

from export.edges import edge_rows
from spexplain.explanation import Explanation
from spexplain.export import python_source, to_python
from spexplain.tree import Tree


def function(source: str):
    space: dict = {}
    exec(compile(source, "exported", "exec"), space)
    return space["predict"]


def stump(name: str = "x", labels: object = None) -> Explanation:
    tree = Tree.root(n_features=2, size=2).split(0, feature=1, threshold=0.5, sizes=(1, 1))
    return Explanation(tree, ("other", name), None if labels is None else np.array(labels))


def test_an_estimator(iris):
    estimator, X = iris
    source = to_python(estimator.explanation_, label="reference")
    predict = function(source)
    assert "import" not in source
    expected = estimator.predict_reference(X).tolist()
    assert [predict(row) for row in X.to_numpy()] == expected
    assert [predict(row) for _, row in X.iterrows()] == expected
    assert [predict(row) for row in X.to_dict("records")] == expected


@pytest.mark.parametrize("is_flat", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_edges(interval_model, dtype, is_flat, monkeypatch):
    if is_flat:
        monkeypatch.setattr(python_source, "_NESTED_DEPTH", 0)
    predict = function(to_python(interval_model))
    rows = edge_rows(interval_model.tree, dtype=dtype)
    # Rows of NumPy scalars: a float32 must not pull the threshold to its own precision.
    assert [predict(row) for row in rows] == interval_model.tree.apply(rows).tolist()


def test_deep_trees():
    tree = Tree.root(n_features=1, size=1)
    for level in range(300):
        tree = tree.split(0 if level == 0 else 2 * level, feature=0, threshold=level + 0.5)
    predict = function(to_python(Explanation(tree)))
    assert [predict([x]) for x in range(301)] == list(range(301))


@pytest.mark.parametrize(
    "text", ['"', "'", '"""', "\\", "a\nb\r", "\0", "\ud800", "", "{x}", "%s", "#", "ü"]
)
def test_hostile_names_and_labels(text):
    source = to_python(stump(text, np.array([text, "z"], dtype=object)), label="reference")
    assert source.isascii()
    assert function(source)({text: 0.5}) == text
    assert isinstance(ast.parse(source).body[-1], ast.FunctionDef)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([3, 4], 3),
        ([0.1 + 0.2, 1.0], 0.1 + 0.2),
        ([True, False], True),
        (np.array(["2024-01-01", "2025-01-01"], dtype="M8[D]"), "2024-01-01"),
    ],
)
def test_label_types(labels, expected):
    found = function(to_python(stump(labels=labels), label="reference"))([0, 0])
    assert found == expected
    assert type(found) is type(expected)


def test_bad_rows():
    predict = function(to_python(stump()))
    with pytest.raises(ValueError, match=r"row has 1 values, but 2 are needed\."):
        predict([1.0])
    for bad in (float("inf"), -np.inf):
        with pytest.raises(ValueError, match=r"row holds infinity"):
            predict([0.0, bad])
    with pytest.raises(KeyError):
        predict({"other": 1.0})


def test_one_leaf():
    assert function(to_python(Explanation(Tree.root(n_features=1, size=1))))([1]) == 0


def test_bad_arguments():
    with pytest.raises(ValueError, match=r"^label='x' must be"):
        to_python(stump(), label="x")


def test_series_of_a_frame():
    row = pd.Series({"x": np.float32(0.1), "other": 7.0})
    assert function(to_python(stump()))(row) == 0
