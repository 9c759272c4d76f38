"""JSON brings a model back exactly, and only a model."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from export.edges import edge_rows
from spexplain import CART
from spexplain.explanation import Explanation, LoadedModel, from_json
from spexplain.export import serialize, to_json
from spexplain.tree import Tree


def changed(text: str, **entries: object) -> str:
    return json.dumps(json.loads(text) | entries)


def changed_tree(text: str, **entries: object) -> str:
    data = json.loads(text)
    return json.dumps(data | {"tree": data["tree"] | entries})


@pytest.fixture
def text(interval_model):
    return to_json(interval_model)


def test_round_trip_of_an_estimator(iris):
    estimator, X = iris
    loaded = from_json(to_json(estimator.explanation_))
    assert loaded.tree_ == estimator.tree_
    np.testing.assert_array_equal(loaded.predict(X), estimator.predict(X))
    labels = loaded.predict_reference(X)
    np.testing.assert_array_equal(labels, estimator.predict_reference(X))
    assert labels.dtype.kind == "U"
    assert loaded.to_text() == estimator.to_text()
    assert [record["rule"] for record in loaded.rules()] == [
        record["rule"] for record in estimator.rules(output="records")
    ]
    assert list(loaded.feature_names_in_) == list(X.columns)
    assert (loaded.n_leaves_, loaded.n_features_in_) == (5, 4)


def test_round_trip_of_the_text(text):
    loaded = from_json(text)
    assert loaded.to_json() == text
    assert from_json(text.encode()).to_json() == text
    assert repr(loaded) == "LoadedModel(KernelIMM, 4 leaves, 3 columns)"


def test_floats_are_exact(interval_model, text):
    rows = edge_rows(interval_model.tree)
    np.testing.assert_array_equal(from_json(text).predict(rows), interval_model.tree.apply(rows))


def test_exports_of_a_loaded_model(interval_model, text):
    loaded = from_json(text)
    again = loaded.explanation_
    assert (again.method, again.version, again.names) == (
        interval_model.method,
        interval_model.version,
        interval_model.names,
    )
    assert "CASE" in loaded.to_sql(dialect="sqlite", table="t", feature_names=["a", "b", "c"])
    assert "def predict" in loaded.to_python(label="reference")
    rows = edge_rows(loaded.tree_, dtype=np.float32)
    frame = pd.DataFrame(rows, columns=loaded.feature_names_in_)
    np.testing.assert_array_equal(loaded.to_sklearn().predict(frame), loaded.predict(rows))
    assert loaded.to_onnx().graph.output[0].name == "leaf"


def test_rules_under_other_names(text):
    loaded = from_json(text)
    assert "a" in loaded.to_text(["a", "b", "c"]).splitlines()[0]
    assert (
        loaded.rules(["a", "b", "c"])[0]["rule"] == "-0.3333333333333333 < a ≤ 0.30000000000000004"
    )
    with pytest.raises(ValueError, match=r"^feature_names has 1 entries"):
        loaded.rules(["a"])


@pytest.mark.parametrize(
    ("labels", "dtype"),
    [
        (np.array(["a", "ü\n\ud800"]), "<U3"),
        (np.array(["a", "b"], dtype=object), "<U1"),
        (np.array(["a\0", "\0"], dtype=object), "O"),
        (np.array([1, -(2**63)]), "int64"),
        (np.array([1, 255], dtype=np.uint8), "int64"),
        (np.array([0.1, 1e-320]), "float64"),
        (np.array([0.1, 2.0], dtype=np.float32), "float64"),
        (np.array([True, False]), "bool"),
        (np.array([np.int32(7), 3], dtype=object), "int64"),
    ],
)
def test_labels_keep_their_type(labels, dtype):
    tree = Tree.root(n_features=1, size=2).split(0, feature=0, threshold=0.5)
    found = from_json(to_json(Explanation(tree, leaf_reference=labels))).predict_reference(
        [[0], [1]]
    )
    assert found.dtype == np.dtype(dtype)
    assert found.tolist() == labels.tolist()


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["2024-01-01", "2024-01-02"], dtype="M8[D]"),
        np.array([1, "a"], dtype=object),
        np.array([(1,), (2,)], dtype=[("field", "i8")]),
        np.array([b"a", b"b"]),
        np.array([np.inf, 0.0]),
        np.array([2**64 - 1, 0], dtype=np.uint64),
    ],
)
def test_other_labels_are_refused(labels):
    tree = Tree.root(n_features=1, size=2).split(0, feature=0, threshold=0.5)
    with pytest.raises(ValueError, match=r"^The reference labels .* which is what JSON can hold"):
        to_json(Explanation(tree, leaf_reference=labels))


def test_no_pickle_no_nan_only_ascii(text):
    assert text.isascii()
    assert "NaN" not in text
    assert "Infinity" not in text
    assert json.loads(text)["version"] == 3


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("", "Expecting value"),
        ("{}", 'an object with "format"'),
        ("[]", 'an object with "format"'),
        ("null", 'an object with "format"'),
        ('{"format": "spexplain.tree"}', 'an object with "format"'),
        ('{"format": "spexplain.model", "version": 4}', "format version 4"),
        ('{"format": "spexplain.model", "version": true}', "format version True"),
        ('{"format": "spexplain.model", "version": 1}', "missing or unknown entries: 'estimator'"),
        ('{"a": NaN}', "NaN is not a JSON number"),
        ('{"a": -Infinity}', "-Infinity is not a JSON number"),
        ('{"a": 1e999}', "the number 1e999 is too large"),
        ('{"a": ' + "9" * 5000 + "}", "9 is too large"),
        ('{"a": 1, "a": 2}', "an entry occurs twice"),
        ("[" * 200_000, "nested too deeply"),
        (b"\xff", "can't decode byte"),
    ],
)
def test_other_texts_are_refused(bad, message):
    with pytest.raises(ValueError, match=message) as caught:
        from_json(bad)
    assert str(caught.value).startswith("text is not a spexplain model: ")
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"extra": 1}, "missing or unknown entries: 'extra'"),
        ({"x" * 5000: 1}, "missing or unknown entries"),
        ({"tree": []}, "tree must be an object"),
        ({"tree": {}}, "This is not a tree"),
        ({"estimator": 3}, "estimator must be a string"),
        ({"estimator": '"""; import os'}, "method=.* must be the name of a class"),
        ({"estimator": "x" * 101}, "must be the name of a class"),
        ({"written_by": "1\n2"}, "version=.* must be a version number"),
        ({"feature_names": "abc"}, "feature_names must be a list of strings or null"),
        ({"feature_names": ["a", 1, "b"]}, "feature_names must hold strings only"),
        ({"feature_names": ["a"]}, "feature_names has 1 entries"),
        ({"reference": []}, "reference must be null, or hold exactly"),
        ({"reference": {"type": "str"}}, "reference must be null, or hold exactly"),
        ({"reference": {"type": "O", "labels": [], "purity": None}}, "type of reference"),
        ({"reference": {"type": [], "labels": [], "purity": None}}, "type of reference"),
        ({"reference": {"type": "int", "labels": [True], "purity": None}}, "list of type int"),
        ({"reference": {"type": "str", "labels": ["a"], "purity": None}}, "one label for each"),
        (
            {"reference": {"type": "int", "labels": [10**19] * 4, "purity": None}},
            "integer that is too large",
        ),
        (
            {"reference": {"type": "str", "labels": ["a"] * 4, "purity": [2] * 4}},
            "purity of reference",
        ),
        (
            {"reference": {"type": "str", "labels": ["a"] * 4, "purity": [1]}},
            "leaf_purity must hold one entry",
        ),
    ],
)
def test_other_entries_are_refused(text, entries, message):
    with pytest.raises(ValueError, match=rf"^text is not a spexplain model: .*{message}"):
        from_json(changed(text, **entries))


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"size": [-1] * 7}, "size of this tree must not be negative"),
        ({"threshold": ["a"] * 7}, "threshold of this tree must be a list of numbers"),
        ({"feature": [9] * 7}, "feature of this tree must be -1 or"),
        ({"left": [0] * 7}, "do not describe a binary tree"),
        ({"n_features": 0}, "n_features=0"),
        ({"code": "print()"}, "missing or unknown entries: 'code'"),
        ({"\x1b[31m\n": 1}, r"missing or unknown entries: '\\x1b\[31m\\n'"),
        ({"y" * 5000: 1}, r"missing or unknown entries: 'y{39}\.$"),
        ({"version": "1" * 5000}, r"version '1{39}\.\.\., but"),
    ],
)
def test_other_trees_are_refused(text, entries, message):
    with pytest.raises(ValueError, match=message):
        from_json(changed_tree(text, **entries))


def test_hostile_sizes(text, monkeypatch):
    with pytest.raises(ValueError, match=r"too large for JSON"):
        from_json(changed_tree(text, n_features=10**12))
    with pytest.raises(ValueError, match=r"too large for JSON"):
        from_json(changed_tree(text, feature=[-1] * 200_001))
    with pytest.raises(ValueError, match=r"too large for JSON"):
        to_json(Explanation(Tree.root(n_features=10**7, size=1)))
    monkeypatch.setattr(serialize, "MAX_CHARACTERS", 100)
    with pytest.raises(ValueError, match=r"longer than 100 characters"):
        from_json(text)


def test_text_must_be_text():
    with pytest.raises(TypeError, match=r"^text must be a string of JSON, got dict"):
        from_json({})


@pytest.fixture
def loaded() -> LoadedModel:
    tree = Tree.root(n_features=2, size=0).split(0, feature=1, threshold=0.5)
    return LoadedModel(Explanation(tree, ("a", "b")))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_are_taken_by_name(loaded, frame):
    table = frame({"b": [0.5, 0.75], "other": ["x", "y"], "a": [9, 9]})
    assert loaded.predict(table).tolist() == [0, 1]
    assert loaded.predict(table[["b"]]).tolist() == [0, 1]
    assert loaded.predict(frame({"a": [1.0, None], "b": [0.5, None]})).tolist() == [0, 1]
    assert loaded.predict(frame({"a": ["x"], "b": [0.5]})).tolist() == [0]
    with pytest.raises(ValueError, match=r"^X lacks the column 'b', which the tree tests"):
        loaded.predict(frame({"a": [0.5], "B": [1.0]}))
    with pytest.raises(ValueError, match=r"^X holds values in column 'b' that are not numbers"):
        loaded.predict(frame({"a": [1.0], "b": ["x"]}))
    with pytest.raises(ValueError, match=r"^X contains infinity, first in row 1, column 'b'"):
        loaded.predict(frame({"a": [1.0, 1.0], "b": [0.5, np.inf]}))


def test_frames_without_known_names(loaded):
    assert loaded.predict(pd.DataFrame([[0, 0.75]])).tolist() == [1]
    twice = pd.DataFrame([[0.0, 0.75, 0.0]], columns=["a", "b", "a"])
    assert loaded.predict(twice).tolist() == [1]
    with pytest.raises(ValueError, match=r"^X has more than one column 'b', which the tree tests"):
        loaded.predict(twice.set_axis(["b", "b", "a"], axis=1))
    nameless = LoadedModel(Explanation(loaded.tree_))
    assert nameless.predict(pd.DataFrame({"q": [0], "r": [1]})).tolist() == [1]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1.0]], "^X has 1 features, but LoadedModel is expecting 2"),
        ([1.0, 2.0], "^X must be a table of two dimensions, got 1"),
        ([[1.0, np.inf]], "^X contains infinity, first in row 0, column 'b'"),
        ([["a", "b"]], "^X holds values in column 'b' that are not numbers"),
        ([[1.0], [1.0, 2.0]], "^X must be a table of numbers"),
        ([[1j, 2.0]], "^X holds values of type complex128"),
        (
            np.array([["2024", "2025"]], dtype="M8[Y]"),
            "^X holds values in column 'b' that are not n",
        ),
        (sparse.csr_array(np.ones((1, 3))), "^X has 3 features, but"),
        ([[1, 10**400]], "^X holds values in column 'b' that are not numbers"),
    ],
)
def test_bad_rows(loaded, X, message):
    with pytest.raises(ValueError, match=message):
        loaded.predict(X)


def test_odd_but_good_rows(loaded):
    assert loaded.predict(np.empty((0, 2))).tolist() == []
    assert loaded.predict([[True, False], [0, 1]]).tolist() == [0, 1]
    assert loaded.predict(np.array([[0, 0.5]], dtype=np.float16)).tolist() == [0]
    assert loaded.rules()[0]["share"] == 0
    with pytest.raises(ValueError, match=r"was fitted without reference labels"):
        loaded.predict_reference([[0, 0]])


def test_bad_models():
    tree = Tree.root(n_features=1, size=1)
    with pytest.raises(ValueError, match=r"^leaf_reference must hold one entry"):
        Explanation(tree, leaf_reference=np.array([1, 2]))
    with pytest.raises(ValueError, match=r"^This CART instance is not fitted yet"):
        CART().to_json()
