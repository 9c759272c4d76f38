"""The tree as a fitted scikit-learn classifier, for plots and explainers made for scikit-learn."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from math import inf, isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spexplain.aliases import Array, Floats, Ints, Matrix
from spexplain.export.encoding import encodings
from spexplain.export.labels import LabelKind
from spexplain.table.sparse import densified
from spexplain.table.storage import is_sparse
from spexplain.tree import EVERYWHERE, LEAF, Column, Region, Tree

if TYPE_CHECKING:
    from spexplain.explanation import Explanation

_MAX_NODES = 100_000
_NOWHERE = Region((), missing=False)
_NO_ROWS = 1e-6  # weight of a leaf without training rows: explainers divide by weights


class _Nodes(NamedTuple):
    """Nodes of a tree of plain tests in preorder; `leaf` is -1 in inner nodes, the others in leaves."""

    left: list[int]
    right: list[int]
    feature: list[int]
    threshold: list[float]
    missing: list[bool]
    leaf: list[int]


def to_sklearn(explanation: "Explanation", X: Any = None, *, label: LabelKind = "leaf") -> Any:
    """Return the tree as a fitted `sklearn.tree.DecisionTreeClassifier`.

    Every node holds the class shares of its training rows, so that `predict_proba`, `plot_tree` and SHAP
    show them correctly; without counts in the model, every leaf counts as pure. If a leaf stands for
    another class than its commonest one, the classifier predicts the class it stands for.

    scikit-learn rounds rows to float32 before it compares them with a (float64) threshold. Float32
    rows therefore get exactly the labels of `predict`. Among float64 rows, those that round to the
    same float32 as a threshold may not; with `X`, each threshold is moved within this gap to where
    the fewest rows of `X` go the wrong way, and a warning tells how many rows still do.

    An interval test becomes two tests, and a test of several categories as many as it needs; the
    subtrees below are repeated.

    The classifier reads numbers: categories as their place in the list of categories, dates as
    microseconds since 1970, booleans as 0 and 1, missing values and categories never seen in training
    as NaN. Its attribute ``encoding_`` describes every such column.

    Parameters
    ----------
    explanation : Explanation
        The explanation to export.
    X : array or sparse matrix of shape (n_rows, n_features), optional
        Rows on which the two must agree, usually the training rows; as numbers, like those that the
        classifier reads.
    label : {"leaf", "reference"}
        The classes: leaf ids, or the labels of the reference, with the class -1 for rows of no cluster.

    Returns
    -------
    classifier : sklearn.tree.DecisionTreeClassifier

    Examples
    --------
    >>> from spexplain.explanation import Explanation
    >>> from spexplain.export import to_sklearn
    >>> from spexplain.tree import Tree
    >>> tree = Tree.root(n_features=1, size=10).split(0, feature=0, threshold=0.5, sizes=(4, 6))
    >>> to_sklearn(Explanation(tree)).predict([[0.5], [0.6]])
    array([0, 1])
    """
    classes, codes, counts = _classes(explanation, label)
    tree, rows = explanation.tree, None if X is None else _rows(explanation, X)
    if rows is not None:
        tree = _moved(tree, rows)
    nodes = _plain_nodes(tree, explanation.fields)
    classifier = _classifier(explanation, classes, _state(tree, nodes, codes, counts))
    node_codes = codes[np.array(nodes.leaf)]  # the entries of inner nodes are not used
    is_leaf = np.array(nodes.leaf) != LEAF
    if np.any(classifier.tree_.value[is_leaf, 0].argmax(axis=1) != node_codes[is_leaf]):
        from spexplain.export.sklearn_classifier import LabelledTreeClassifier

        labelled = LabelledTreeClassifier()
        labelled.__dict__.update(classifier.__dict__)
        labelled.node_classes_ = classes[node_codes]
        classifier = labelled
    classifier.encoding_ = encodings(explanation)
    if rows is not None:
        _warn_of_differences(explanation, classifier, rows, node_codes, codes)
    return classifier


def _rows(explanation: "Explanation", X: Any) -> Matrix:
    """Return rows as a matrix with the columns of the tree."""
    if is_sparse(X):
        X = densified(X, "The comparison on X", "pass fewer rows as X, or none")
    rows: Matrix = np.asarray(X)
    if rows.ndim != 2 or rows.shape[1] != explanation.tree.n_features:
        raise ValueError(
            f"X has the shape {rows.shape}, but this {explanation.method} needs rows of "
            f"{explanation.tree.n_features} columns."
        )
    return rows if rows.dtype == np.float32 else rows.astype(np.float64)


def _classes(explanation: "Explanation", label: LabelKind) -> tuple[Array, Ints, Array]:
    """Return the classes, the class of every leaf, and the rows of every leaf by class."""
    labels = np.array(explanation.leaf_labels(label))
    sizes = explanation.node_sizes[explanation.tree.leaves]
    known = explanation.classes
    if label == "leaf" or known is None or explanation.node_codes is None:
        if label == "reference" and np.array_equal(labels, explanation.needed_reference()):
            labels = explanation.needed_reference()  # the caller's own type
        classes, codes = np.unique(labels, return_inverse=True)
        pure = np.zeros((len(labels), len(classes)))
        pure[np.arange(len(labels)), codes] = sizes
        return classes, codes, pure
    own, counts = explanation.node_codes[explanation.tree.leaves], explanation.leaf_counts
    noise = sizes - counts.sum(axis=1)
    if noise.any() or (own < 0).any():
        # Noise is the integer -1, which sorts before all clusters.
        known = np.concatenate([[-1], known]) if len(known) else np.array([-1])
        own, counts = own + 1, np.column_stack([noise, counts])
    return known, own, counts


def _classifier(explanation: "Explanation", classes: Array, state: dict[str, Any]) -> Any:
    """Return a classifier with the given nodes in the format of the installed scikit-learn."""
    from sklearn.tree import DecisionTreeClassifier

    n_features = explanation.tree.n_features
    tiny = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    make, (_, n_classes, n_outputs), tiny_state = tiny.tree_.__reduce__()
    nodes = np.zeros(state["node_count"], dtype=tiny_state["nodes"].dtype)
    for name, values in state["nodes"].items():
        nodes[name] = values
    leaves = nodes["left_child"] == LEAF
    for name in ("feature", "threshold"):
        # The last node of the tiny tree is a leaf.
        nodes[name][leaves] = tiny_state["nodes"][name][-1]
    tree = make(n_features, np.array([len(classes)], dtype=n_classes.dtype), n_outputs)
    tree.__setstate__(tiny_state | state | {"nodes": nodes})
    classifier = DecisionTreeClassifier()
    classifier.n_features_in_ = classifier.max_features_ = n_features
    columns = explanation.columns
    if columns is not None and all(isinstance(each, str) for each in columns):
        classifier.feature_names_in_ = np.array(columns, dtype=object)
    classifier.n_outputs_ = n_outputs
    classifier.classes_, classifier.n_classes_ = classes, len(classes)
    classifier.tree_ = tree
    return classifier


def _plain_nodes(tree: Tree, columns: Sequence[Column]) -> _Nodes:
    """Return the tree with every test written as tests ``x <= threshold``, perhaps several."""
    nodes = _Nodes([], [], [], [], [], [])
    leaf_ids = {int(node): leaf for leaf, node in enumerate(tree.leaves)}
    everywhere = {j: _possible(columns[j]) for j in set(tree.feature.tolist()) - {LEAF}}
    stack = [(0, everywhere, ([LEAF], 0))]  # with the place that waits for the node's number
    while stack:
        node, known, (children, place) = stack.pop()
        node = _settled(tree, node, known)
        children[place] = own = len(nodes.leaf)
        if own >= _MAX_NODES:
            raise ValueError(
                f"The tests of intervals and categories of this tree would need more than {_MAX_NODES} nodes "
                "in scikit-learn; use to_onnx or to_python, which have such tests."
            )
        nodes.leaf.append(leaf_ids.get(node, LEAF))
        nodes.left.append(LEAF)
        nodes.right.append(LEAF)
        if node in leaf_ids:
            nodes.feature.append(LEAF)
            nodes.threshold.append(0.0)
            nodes.missing.append(False)
            continue
        test = tree.test(node)
        threshold, missing = _plain_test(known[test.feature], test.region())
        nodes.feature.append(test.feature)
        nodes.threshold.append(threshold)
        nodes.missing.append(missing)
        passed = Region(((-inf, threshold),), missing)
        for side, waiting in ((passed.rest(), nodes.right), (passed, nodes.left)):
            # The test is repeated on each side, where it may be decided by now.
            below = known | {test.feature: known[test.feature].common(side)}
            stack.append((node, below, (waiting, own)))
    return nodes


def _possible(column: Column) -> Region:
    """Return the numbers that a column can hold."""
    n_categories = len(column.categories)
    return Region(((-1.0, n_categories - 1.0),)) if column.kind == "category" else EVERYWHERE


def _settled(tree: Tree, node: int, known: dict[int, Region]) -> int:
    """Return the node that rows reach by tests whose outcome the tests above already decide."""
    while tree.feature[node] != LEAF:
        test = tree.test(node)
        inside, outside = (
            known[test.feature].common(test.region(passed=passed)) for passed in (True, False)
        )
        if _NOWHERE not in (inside, outside):
            break
        node = int((tree.right if inside == _NOWHERE else tree.left)[node])
    return node


def _plain_test(known: Region, region: Region) -> tuple[float, bool]:
    """Return the first threshold between a region and the other possible values, and whether missing goes left."""
    inside, outside = known.common(region), known.common(region.rest())
    pieces = sorted(
        [(low, high, True) for low, high in inside.intervals]
        + [(low, high, False) for low, high in outside.intervals]
    )
    first = pieces[0][2]
    if all(is_inside == first for _, _, is_inside in pieces):
        return inf, False  # all numbers go left, and missing values right
    ends = [high for _, high, is_inside in pieces if is_inside == first]
    turns = [low for low, _, is_inside in pieces if is_inside != first]
    # The last end of the first side before the other side begins.
    return max(end for end in ends if end <= turns[0]), region.missing == first


def _state(tree: Tree, nodes: _Nodes, codes: Ints, leaf_counts: Array) -> dict[str, Any]:
    """Return the nodes as scikit-learn keeps them: with weights, shares of classes, impurities."""
    leaf = np.array(nodes.leaf)
    is_leaf = leaf != LEAF
    copies = np.bincount(leaf[is_leaf], minlength=tree.n_leaves)
    amounts = leaf_counts.astype(np.float64)
    empty = amounts.sum(axis=1) == 0
    amounts[empty, codes[empty]] = _NO_ROWS
    counts = np.zeros((len(leaf), amounts.shape[1]))
    counts[is_leaf] = (amounts / np.maximum(copies, 1)[:, None])[leaf[is_leaf]]
    depths = np.zeros(len(leaf), dtype=np.int64)
    for node in np.flatnonzero(~is_leaf):
        depths[[nodes.left[node], nodes.right[node]]] = depths[node] + 1
    for node in np.flatnonzero(~is_leaf)[::-1]:  # preorder: children come after their parents
        counts[node] = counts[nodes.left[node]] + counts[nodes.right[node]]
    weights = counts.sum(axis=1)
    shares = counts / weights[:, None]
    return {
        "max_depth": int(depths.max()),
        "node_count": len(leaf),
        "values": shares[:, None, :],
        "nodes": {
            "left_child": nodes.left,
            "right_child": nodes.right,
            "feature": nodes.feature,
            "threshold": nodes.threshold,
            "missing_go_to_left": nodes.missing,
            "impurity": 1 - np.sum(shares**2, axis=1),
            "n_node_samples": np.rint(weights),
            "weighted_n_node_samples": weights,
        },
    }


def _moved(tree: Tree, rows: Matrix) -> Tree:
    """Return the tree with thresholds that fit the rows after their rounding to float32."""
    if rows.dtype == np.float32:
        return tree
    lower, threshold = tree.lower.copy(), tree.threshold.copy()
    visits = tree.decision_path(rows).tocsc()
    for node in np.flatnonzero((tree.feature != LEAF) & ~np.isnan(tree.threshold)):
        here = visits.indices[visits.indptr[node] : visits.indptr[node + 1]]
        x = rows[here, tree.feature[node]]
        if isfinite(threshold[node]):
            threshold[node] = _moved_threshold(x, float(threshold[node]))
        if isfinite(lower[node]):
            moved = _moved_threshold(x, float(lower[node]))
            lower[node] = min(moved, float(np.nextafter(threshold[node], -inf)))
    return replace(tree, lower=lower, threshold=threshold)


def _moved_threshold(x: Floats, threshold: float) -> float:
    """Return the threshold, or its neighbour on the other side of the float32 it rounds to."""
    with np.errstate(over="ignore"):
        shared = float(np.float32(threshold))
        torn = x[x.astype(np.float32) == shared]  # scikit-learn cannot distinguish these
    n_left = int(np.sum(torn <= threshold))
    n_right = len(torn) - n_left
    if n_left > n_right:
        return max(threshold, shared)
    if n_right > n_left and threshold >= shared:
        return float(np.nextafter(shared, -inf))
    return threshold


def _warn_of_differences(
    explanation: "Explanation", classifier: Any, rows: Matrix, node_codes: Ints, codes: Ints
) -> None:
    with np.errstate(over="ignore"):
        rounded = np.ascontiguousarray(rows, dtype=np.float32)
    found = node_codes[classifier.tree_.apply(rounded)]
    n_different = int(np.sum(found != codes[explanation.tree.apply(rows)]))
    if n_different:
        warnings.warn(
            f"{n_different} of {len(rows)} rows of X get another label from scikit-learn, which "
            "rounds them to float32; predict gives the correct labels.",
            stacklevel=3,
        )
