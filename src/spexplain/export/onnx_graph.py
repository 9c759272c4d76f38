"""The tree as an ONNX graph whose thresholds are float64."""

import json
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from spexplain.aliases import Floats, Ints, Matrix
from spexplain.arguments import check_choice
from spexplain.exceptions import quoted, warn_caller
from spexplain.export.encoding import encodings
from spexplain.export.labels import LabelKind, check_label, label_array, plain_labels
from spexplain.tree import LEAF, Tree

if TYPE_CHECKING:
    from spexplain.explanation import Explanation

InputType: TypeAlias = Literal["float64", "float32"]

# The oldest versions that are sufficient, so that older runtimes can read the model.
_OPSET, _ML_OPSET, _IR_VERSION = 18, 5, 9
_AT_MOST, _SUM = 0, 1  # ONNX's codes of the test x <= threshold, and of adding up a row's leaves


def to_onnx(
    explanation: "Explanation",
    X: Matrix | None = None,
    *,
    label: LabelKind = "leaf",
    input_type: InputType = "float64",
) -> Any:
    """Return the tree as an ONNX model with the input ``X`` and one output named after `label`.

    The input is a matrix of numbers. Categories are given by their place in the list of categories,
    dates as microseconds since 1970, booleans as 0 and 1; NaN is a missing value or a category never
    seen in training. ``encoding`` in the model's properties describes every such column.

    Parameters
    ----------
    explanation : Explanation
        The explanation to export.
    X : array of shape (n_rows, n_features), optional
        Rows as numbers; a warning tells how many of them get another label when rounded to float32.
    label : {"leaf", "reference"}
        The output, shape (n_rows,): leaf ids (int64), or the reference label that each leaf stands
        for (string, int64, double or bool; other labels as text).
    input_type : {"float64", "float32"}
        Type of ``X``, shape (n_rows, n_features). Thresholds are float64 in both cases: float32
        rows are widened, which is exact. Dates and durations need float64.

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
    _check_dates(explanation, input_type)
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
    properties = {}
    if explanation.columns is not None:
        properties["feature_names"] = json.dumps([str(each) for each in explanation.columns])
    encoded = encodings(explanation)
    if encoded:
        properties["encoding"] = json.dumps(encoded, default=str)
    helper.set_model_props(proto, properties)
    checker.check_model(proto, full_check=True)
    if X is not None and input_type == "float32":
        _warn_of_rounded_rows(explanation, X, label)
    return proto


def _warn_of_rounded_rows(explanation: "Explanation", X: Matrix, label: LabelKind) -> None:
    """Warn how many rows get another label because they are rounded to float32."""
    labels = np.array(explanation.leaf_labels(label), dtype=object)
    with np.errstate(over="ignore"):
        rounded = np.asarray(X, dtype=np.float32)
    exact, other = (labels[explanation.tree.apply(rows)] for rows in (X, rounded))
    n_changed = int(np.count_nonzero(exact != other))
    if n_changed:
        warn_caller(
            f"{n_changed:,} of {len(exact):,} rows get another label from the ONNX model, because its input is "
            "rounded to float32; use input_type='float64' where the runtime has it.",
            UserWarning,
        )


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
            f"label holds {error.object!r}, which is not valid Unicode text: ONNX cannot store it."
        ) from None
    return helper.make_tensor("labels", TensorProto.STRING, [len(texts)], texts)


def _check_dates(explanation: "Explanation", input_type: InputType) -> None:
    for j in explanation.used:
        if input_type == "float32" and explanation.fields[j].kind in ("date", "duration"):
            raise ValueError(
                f"input_type='float32' cannot hold the times of column {quoted(explanation.names[j])}; use "
                "input_type='float64'."
            )


def _tree_nodes(explanation: "Explanation") -> tuple[list[Any], list[Any]]:
    """Return the operators that lead from ``X`` to the leaf id ``id``, and their constants."""
    from onnx import TensorProto, helper, numpy_helper

    tree = explanation.tree
    nodes = [helper.make_node("Cast", ["X"], ["wide"], to=TensorProto.DOUBLE)]
    constants = {"flat": np.array([-1])}
    others = _other_tests(tree)
    if len(others):
        # ONNX has no tests of intervals and sets; written as several tests, they would repeat the subtrees
        # below. So every such test gets an extra column, which holds 1 for rows that pass it.
        pieces = [tree.test(node).region() for node in others.tolist()]
        owner = [each for each, region in enumerate(pieces) for _ in region.intervals]
        bounds = [interval for region in pieces for interval in region.intervals]
        belongs = np.zeros((len(owner), len(others)))
        belongs[np.arange(len(owner)), owner] = 1
        constants |= {
            "columns": tree.feature[others],
            "interval_columns": tree.feature[others][owner],
            "lower": np.array([low for low, _ in bounds], dtype=np.float64),
            "upper": np.array([high for _, high in bounds], dtype=np.float64),
            "belongs": belongs,
            "missing": tree.missing[others],
        }
        nodes += [
            helper.make_node("Gather", ["wide", "interval_columns"], ["bounded"], axis=1),
            helper.make_node("Greater", ["bounded", "lower"], ["above"]),
            helper.make_node("LessOrEqual", ["bounded", "upper"], ["below"]),
            helper.make_node("And", ["above", "below"], ["in_interval"]),
            helper.make_node("Cast", ["in_interval"], ["ones"], to=TensorProto.DOUBLE),
            helper.make_node("MatMul", ["ones", "belongs"], ["n_intervals"]),
            helper.make_node("Gather", ["wide", "columns"], ["tested"], axis=1),
            helper.make_node("IsNaN", ["tested"], ["is_missing"]),
            helper.make_node("And", ["is_missing", "missing"], ["passes_missing"]),
            helper.make_node("Cast", ["passes_missing"], ["more"], to=TensorProto.DOUBLE),
            helper.make_node("Add", ["n_intervals", "more"], ["extra"]),
            helper.make_node("Concat", ["wide", "extra"], ["table"], axis=1),
        ]
    source = "table" if len(others) else "wide"
    nodes += [
        _ensemble(explanation, others, source),
        helper.make_node("Cast", ["weight"], ["column"], to=TensorProto.INT64),
        helper.make_node("Reshape", ["column", "flat"], ["id"]),
    ]
    return nodes, [numpy_helper.from_array(value, name) for name, value in constants.items()]


def _other_tests(tree: Tree) -> Ints:
    """Return the inner nodes whose test is more than ``x <= threshold``."""
    is_plain = np.isneginf(tree.lower) & np.isfinite(tree.threshold)
    return np.flatnonzero((tree.feature != LEAF) & ~is_plain)


def _ensemble(explanation: "Explanation", others: Ints, source: str) -> Any:
    """Return the tree as one operator that gives every row the number of its leaf."""
    from onnx import TensorProto, helper

    tree = explanation.tree
    inner = np.flatnonzero(tree.feature != LEAF)
    feature, split = tree.feature.copy(), tree.threshold.copy()
    true, false = tree.left.copy(), tree.right.copy()
    missing = tree.missing.astype(np.int64)
    # The extra column is 1 where the test is passed, so rows with `column <= 0.5` go right.
    feature[others] = tree.n_features + np.arange(len(others))
    split[others], missing[others] = 0.5, 0
    true[others], false[others] = tree.right[others], tree.left[others]
    if not len(inner):  # the operator needs a test: both its sides are the only leaf
        inner, feature, split = np.array([0]), np.array([0]), np.array([0.0])
        true = false = missing = np.array([0])
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
        nodes_missing_value_tracks_true=missing[inner].tolist(),
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
