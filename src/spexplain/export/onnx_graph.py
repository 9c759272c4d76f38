"""The tree as an ONNX graph whose thresholds are float64."""

import json
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from spexplain.aliases import Floats, Ints
from spexplain.arguments import check_choice
from spexplain.export.labels import LabelKind, check_label, label_array, plain_labels
from spexplain.tree import LEAF

if TYPE_CHECKING:
    from spexplain.explanation import Explanation

InputType: TypeAlias = Literal["float64", "float32"]

# The oldest that have what is used here, so that runtimes of some age still read the model.
_OPSET, _ML_OPSET, _IR_VERSION = 18, 5, 9
_AT_MOST, _SUM = 0, 1  # ONNX's codes of the test x <= threshold, and of adding up a row's leaves


def to_onnx(
    explanation: "Explanation", *, label: LabelKind = "leaf", input_type: InputType = "float64"
) -> Any:
    """Return the tree as an ONNX model with the input ``X`` and one output named after `label`.

    A row of NaNs is not refused, as `predict` does, but fails every test.

    Parameters
    ----------
    explanation : Explanation
        What is exported.
    label : {"leaf", "reference"}
        The output, shape (n_rows,): leaf ids (int64), or the reference label that each leaf stands
        for (string, int64, double or bool; other labels as text).
    input_type : {"float64", "float32"}
        Type of ``X``, shape (n_rows, n_features). Thresholds are float64 in both cases: float32
        rows are widened, which is exact.

    Returns
    -------
    model : onnx.ModelProto
        Write it with ``model.SerializeToString()``.

    Examples
    --------
    >>> import numpy as np
    >>> from onnxruntime import InferenceSession
    >>> from spexplain.explanation import Explanation
    >>> from spexplain.export import to_onnx
    >>> from spexplain.tree import Tree
    >>> tree = Tree.root(n_features=1, size=10).split(0, feature=0, threshold=0.1)
    >>> session = InferenceSession(to_onnx(Explanation(tree)).SerializeToString())
    >>> session.run(["leaf"], {"X": np.array([[0.1], [0.2]])})[0].tolist()
    [0, 1]
    """
    check_label(label)
    check_choice("input_type", input_type, get_args(InputType))
    try:
        from onnx import TensorProto, checker, helper
    except ImportError:
        raise ImportError('to_onnx needs onnx: pip install "spexplain[onnx]".') from None
    labels = _label_tensor(explanation, label)
    nodes, constants = _tree_nodes(explanation)
    nodes.append(helper.make_node("Gather", ["labels", "id"], [label]))
    given = TensorProto.DOUBLE if input_type == "float64" else TensorProto.FLOAT
    graph = helper.make_graph(
        nodes,
        explanation.method,
        [helper.make_tensor_value_info("X", given, ["n_rows", explanation.tree.n_features])],
        [helper.make_tensor_value_info(label, labels.data_type, ["n_rows"])],
        [labels, *constants],
    )
    opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid("ai.onnx.ml", _ML_OPSET)]
    proto = helper.make_model(
        graph,
        opset_imports=opsets,
        ir_version=_IR_VERSION,
        producer_name="spexplain",
        producer_version=explanation.version,
    )
    if explanation.columns is not None:
        names = [str(each) for each in explanation.columns]
        helper.set_model_props(proto, {"feature_names": json.dumps(names)})
    checker.check_model(proto, full_check=True)
    return proto


def _label_tensor(explanation: "Explanation", label: LabelKind) -> Any:
    """Return the label of every leaf as a constant."""
    from onnx import TensorProto, helper, numpy_helper

    values = explanation.leaf_labels(label)
    if not isinstance(values[0], str):
        plain = plain_labels(np.array(values))
        assert plain is not None
        return numpy_helper.from_array(label_array(*plain), "labels")
    try:
        texts = [value.encode() for value in values]
    except UnicodeEncodeError as error:
        raise ValueError(
            f"label holds {error.object!r}, which is no valid Unicode text: ONNX cannot store it."
        ) from None
    return helper.make_tensor("labels", TensorProto.STRING, [len(texts)], texts)


def _tree_nodes(explanation: "Explanation") -> tuple[list[Any], list[Any]]:
    """Return the operators that lead from ``X`` to the leaf id ``id``, and their constants."""
    from onnx import TensorProto, helper, numpy_helper

    tree = explanation.tree
    nodes = [helper.make_node("Cast", ["X"], ["wide"], to=TensorProto.DOUBLE)]
    constants = {"flat": np.array([-1])}
    intervals = np.flatnonzero(tree.lower > -np.inf)  # NaN in leaves is not
    if len(intervals):
        # ONNX has no interval test; written as two tests, it would double what follows it. So the
        # tree is given one more column for each, which holds 1 inside the interval.
        constants |= {
            "columns": tree.feature[intervals],
            "lower": tree.lower[intervals],
            "upper": tree.threshold[intervals],
        }
        nodes += [
            helper.make_node("Gather", ["wide", "columns"], ["tested"], axis=1),
            helper.make_node("Greater", ["tested", "lower"], ["above"]),
            helper.make_node("LessOrEqual", ["tested", "upper"], ["below"]),
            helper.make_node("And", ["above", "below"], ["inside"]),
            helper.make_node("Cast", ["inside"], ["extra"], to=TensorProto.DOUBLE),
            helper.make_node("Concat", ["wide", "extra"], ["table"], axis=1),
        ]
    source = "table" if len(intervals) else "wide"
    nodes += [
        _ensemble(explanation, intervals, source),
        helper.make_node("Cast", ["weight"], ["column"], to=TensorProto.INT64),
        helper.make_node("Reshape", ["column", "flat"], ["id"]),
    ]
    return nodes, [numpy_helper.from_array(value, name) for name, value in constants.items()]


def _ensemble(explanation: "Explanation", intervals: Ints, source: str) -> Any:
    """Return the tree as one operator that gives every row the number of its leaf."""
    from onnx import TensorProto, helper

    tree = explanation.tree
    inner = np.flatnonzero(tree.feature != LEAF)
    feature, split = tree.feature.copy(), tree.threshold.copy()
    true, false = tree.left.copy(), tree.right.copy()
    # Inside the interval the extra column is 1, so rows that pass `column <= 0.5` go right.
    feature[intervals] = tree.n_features + np.arange(len(intervals))
    split[intervals] = 0.5
    true[intervals], false[intervals] = tree.right[intervals], tree.left[intervals]
    if not len(inner):  # the operator needs a test: both its sides are the only leaf
        inner, feature, split = np.array([0]), np.array([0]), np.array([0.0])
        true = false = np.array([0])
    places = np.zeros(tree.n_nodes, dtype=np.int64)
    places[inner] = np.arange(len(inner))
    places[tree.leaves] = np.arange(tree.n_leaves)
    is_leaf = tree.feature == LEAF

    return helper.make_node(
        "TreeEnsemble",
        [source],
        ["weight"],
        domain="ai.onnx.ml",
        n_targets=1,
        aggregate_function=_SUM,
        tree_roots=[0],
        nodes_featureids=feature[inner].tolist(),
        nodes_splits=_doubles(split[inner]),
        nodes_modes=helper.make_tensor(
            "modes", TensorProto.UINT8, [len(inner)], [_AT_MOST] * len(inner)
        ),
        nodes_truenodeids=places[true[inner]].tolist(),
        nodes_falsenodeids=places[false[inner]].tolist(),
        nodes_trueleafs=is_leaf[true[inner]].astype(int).tolist(),
        nodes_falseleafs=is_leaf[false[inner]].astype(int).tolist(),
        leaf_targetids=[0] * tree.n_leaves,
        leaf_weights=_doubles(np.arange(float(tree.n_leaves))),
    )


def _doubles(values: Floats) -> Any:
    from onnx import numpy_helper

    return numpy_helper.from_array(values, "values")
