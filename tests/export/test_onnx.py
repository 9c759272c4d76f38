"""The ONNX model runs in onnxruntime with float64 thresholds."""

import json
import sys

import numpy as np
import pytest

from export.edges import edge_rows
from spexplain import CART
from spexplain.explanation import Explanation
from spexplain.export import to_onnx
from spexplain.tree import Tree

onnxruntime = pytest.importorskip("onnxruntime")


def run(proto, X):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    (found,) = session.run(None, {"X": X})
    return found


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_same_labels_as_predict(iris, dtype):
    estimator, X = iris
    X = X.to_numpy().astype(dtype)
    rows = np.concatenate([X, edge_rows(estimator.tree_, dtype=dtype)])
    model = estimator.explanation_
    input_type = np.dtype(dtype).name
    leaves = run(to_onnx(model, input_type=input_type), rows)
    assert leaves.dtype == np.int64
    np.testing.assert_array_equal(leaves, estimator.tree_.apply(rows))
    proto = to_onnx(model, label="reference", input_type=input_type)
    labels = run(proto, rows)
    assert labels.tolist() == estimator.leaf_reference_[leaves].tolist()
    assert json.loads(proto.metadata_props[0].value) == list(model.names)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_rows", [1, 2000])
def test_interval_tests(interval_model, dtype, n_rows):
    rows = edge_rows(interval_model.tree, n_rows, dtype)
    found = run(to_onnx(interval_model, input_type=np.dtype(dtype).name), rows)
    np.testing.assert_array_equal(found, interval_model.tree.apply(rows))


def test_many_leaves():
    rng = np.random.default_rng(0)
    tree = Tree.root(n_features=4, size=1)
    for _ in range(300):
        threshold = float(rng.normal())
        lower = -np.inf if rng.random() < 0.5 else threshold - float(rng.random())
        leaf = int(rng.choice(tree.leaves))
        tree = tree.split(leaf, feature=int(rng.integers(4)), threshold=threshold, lower=lower)
    rows = np.concatenate([rng.normal(size=(3000, 4)), edge_rows(tree, 3000)])
    np.testing.assert_array_equal(run(to_onnx(Explanation(tree)), rows), tree.apply(rows))


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["it's \\ \"ü\n", ""], ["it's \\ \"ü\n", ""]),
        ([2**63 - 1, -1], [2**63 - 1, -1]),
        ([0.1 + 0.2, -1.0], [0.1 + 0.2, -1.0]),
        ([True, False], [True, False]),
        (np.array(["2024", "2025"], dtype="M8[Y]"), ["2024", "2025"]),
    ],
)
def test_label_types(labels, expected):
    tree = Tree.root(n_features=1, size=2).split(0, feature=0, threshold=0.5)
    proto = to_onnx(Explanation(tree, leaf_reference=np.array(labels)), label="reference")
    found = run(proto, np.array([[0.5], [0.75]]))
    assert found.tolist() == expected


def test_one_leaf():
    found = run(to_onnx(Explanation(Tree.root(n_features=2, size=1))), np.ones((3, 2)))
    assert found.tolist() == [0, 0, 0]


def test_bad_arguments():
    model = Explanation(Tree.root(n_features=1, size=1), leaf_reference=np.array(["\ud800"]))
    with pytest.raises(ValueError, match=r"^label='x' must be"):
        to_onnx(model, label="x")
    with pytest.raises(ValueError, match=r"^input_type='int' must be"):
        to_onnx(model, input_type="int")
    with pytest.raises(ValueError, match=r"^label holds .* not valid Unicode text"):
        to_onnx(model, label="reference")


def test_absent_onnx(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(
        ImportError, match=r'^to_onnx needs onnx: pip install "spexplain\[onnx\]"\.$'
    ):
        to_onnx(Explanation(Tree.root(n_features=1, size=1)))


def test_rows_that_float32_changes_are_counted():
    X = np.array([[0.1], [0.1 + 1e-12], [0.2], [0.3]])
    model = CART().fit(X, [0, 1, 1, 1])
    assert 0.1 <= model.tree_.threshold[0] < 0.1 + 1e-12
    narrow = run(model.to_onnx(input_type="float32"), X.astype(np.float32))
    wrong = int(np.count_nonzero(narrow != model.labels_))
    assert wrong == 1
    with pytest.warns(UserWarning, match=r"^1 of 4 rows get another label from the ONNX model"):
        model.to_onnx(X, input_type="float32")
    assert run(model.to_onnx(X), X).tolist() == model.labels_.tolist()  # float64: nothing to say
    apart = CART().fit(X, [0, 0, 1, 1])
    apart.to_onnx(X, input_type="float32")  # no row changes its label: nothing is said
