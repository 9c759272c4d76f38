"""The exported classifier is a real one: what scikit-learn and its friends do, they do with it."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, export_text, plot_tree

from export.edges import edge_rows
from spexplain import CART, IMM
from spexplain.explanation import Explanation
from spexplain.export import sklearn_tree, to_sklearn
from spexplain.tree import Tree


@pytest.fixture
def nameless(interval_model):
    return Explanation(interval_model.tree, leaf_reference=interval_model.leaf_reference)


@pytest.mark.parametrize("label", ["leaf", "reference"])
def test_an_estimator(iris, label):
    estimator, X = iris
    classifier = to_sklearn(estimator.explanation_, X, label=label)
    assert isinstance(classifier, DecisionTreeClassifier)
    expected = estimator.predict(X) if label == "leaf" else estimator.predict_reference(X)
    found = classifier.predict(X)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype.kind == expected.dtype.kind
    probabilities = classifier.predict_proba(X)
    np.testing.assert_array_equal(classifier.classes_[probabilities.argmax(axis=1)], expected)
    np.testing.assert_array_equal(probabilities.sum(axis=1), 1)
    assert classifier.get_n_leaves() == estimator.n_leaves_
    assert classifier.get_depth() == estimator.tree_.depth
    assert classifier.score(X, expected) == 1
    assert classifier.decision_path(X).shape == (len(X), estimator.tree_.n_nodes)
    assert classifier.feature_importances_.sum() == pytest.approx(1)
    # Sizes are those of the training rows.
    np.testing.assert_array_equal(
        np.sort(classifier.tree_.n_node_samples), np.sort(estimator.tree_.size)
    )
    again = pickle.loads(pickle.dumps(classifier))
    np.testing.assert_array_equal(again.predict(X), expected)


def test_nodes_hold_the_classes_of_their_rows(iris):
    estimator, X = iris
    classifier = to_sklearn(estimator.explanation_, X, label="reference")
    counts = estimator.explanation_.node_counts
    assert np.any(np.count_nonzero(counts[estimator.tree_.leaves], axis=1) > 1)  # leaves are mixed
    found = classifier.tree_.value[:, 0] * classifier.tree_.n_node_samples[:, None]
    assert sorted(np.rint(found).tolist()) == sorted(counts.tolist())
    shares = classifier.predict_proba(X)
    own = estimator.explanation_.leaf_counts[estimator.labels_]
    np.testing.assert_allclose(shares, own / own.sum(axis=1, keepdims=True))
    leaves = to_sklearn(estimator.explanation_, X)
    assert set(leaves.predict_proba(X).ravel().tolist()) == {0.0, 1.0}


def test_rows_of_no_cluster_are_a_class(iris):
    _, X = iris
    y = np.where(X.iloc[:, 1] > 3.3, -1, np.repeat([0, 1, 2], 50))
    estimator = CART(3, n_leaves=4).fit(X, y)
    classifier = estimator.to_sklearn(X, label="reference")
    assert classifier.classes_.tolist() == [-1, 0, 1, 2]
    explanation = estimator.explanation_
    assert np.rint(classifier.tree_.value[0, 0] * 150).tolist() == [
        explanation.node_noise[0],
        *explanation.node_counts[0],
    ]
    np.testing.assert_array_equal(classifier.predict(X), estimator.predict_reference(X))


def test_leaves_that_stand_for_a_rarer_class(iris):
    _, X = iris
    labels = np.repeat(["a", "b"], [140, 10])
    centers = X.to_numpy()[[0, 149]]
    estimator = IMM(2).fit(X, labels, centers=centers)
    classifier = estimator.to_sklearn(X, label="reference")
    expected = estimator.predict_reference(X)
    np.testing.assert_array_equal(classifier.predict(X), expected)
    commonest = classifier.classes_[classifier.predict_proba(X).argmax(axis=1)]
    assert np.any(commonest != expected)
    assert isinstance(classifier, DecisionTreeClassifier)
    again = pickle.loads(pickle.dumps(classifier))
    np.testing.assert_array_equal(again.predict(X), expected)


def test_text_and_plot(iris):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    estimator, X = iris
    classifier = to_sklearn(estimator.explanation_, X, label="reference")
    text = export_text(classifier, feature_names=list(X.columns))
    assert text.count("class:") == estimator.n_leaves_
    figure, axes = pyplot.subplots()
    drawn = plot_tree(classifier, ax=axes, class_names=list(classifier.classes_))
    pyplot.close(figure)
    # sklearn adds the words True and False at the root's branches.
    assert len(drawn) >= estimator.tree_.n_nodes


def test_float32_rows_are_exact(nameless):
    rows = edge_rows(nameless.tree, 2000, np.float32)
    classifier = to_sklearn(nameless, rows)  # no warning
    np.testing.assert_array_equal(classifier.predict(rows), nameless.tree.apply(rows))
    labels = to_sklearn(nameless, label="reference").predict(rows)
    np.testing.assert_array_equal(labels, nameless.leaf_reference[nameless.tree.apply(rows)])


def test_interval_tests_become_two_nodes(nameless):
    classifier = to_sklearn(nameless)
    assert classifier.get_n_leaves() > nameless.tree.n_leaves
    weights = classifier.tree_.weighted_n_node_samples
    left, right = classifier.tree_.children_left, classifier.tree_.children_right
    inner = left >= 0
    np.testing.assert_allclose(weights[inner], weights[left[inner]] + weights[right[inner]])
    assert weights[0] == nameless.tree.size[0]


def test_redundant_copies_are_left_out():
    # Intervals of one column side by side: two tests each, and no copy survives.
    tree = Tree.root(n_features=1, size=1)
    for level in range(40):
        node = 0 if level == 0 else 2 * level
        tree = tree.split(node, feature=0, lower=float(level), threshold=level + 1.0)
    classifier = to_sklearn(Explanation(tree))
    assert classifier.tree_.node_count == 2 * 42 - 1
    rows = np.arange(-1, 42, 0.5)[:, None]
    np.testing.assert_array_equal(classifier.predict(rows), tree.apply(rows))


def test_too_many_copies(monkeypatch):
    monkeypatch.setattr(sklearn_tree, "_MAX_NODES", 50)
    tree = Tree.root(n_features=8, size=1)
    for level in range(8):
        node = 0 if level == 0 else 2 * level
        tree = tree.split(node, feature=level, lower=0.0, threshold=1.0)
    with pytest.raises(ValueError, match=r"would need more than 50 nodes in scikit-learn"):
        to_sklearn(Explanation(tree))


@pytest.mark.parametrize("shift", [-1, 1])
def test_thresholds_move_to_fit_rounded_rows(shift):
    # The threshold shares its float32 with the rows on one of its sides only.
    step = float(np.spacing(np.float32(1)))
    shared = 1 + step
    threshold = shared + shift * step / 8
    left, right = (1.0, shared) if shift < 0 else (shared, shared + step)
    nearby = threshold - step / 16 if shift < 0 else threshold + step / 16
    tree = Tree.root(n_features=1, size=3).split(0, feature=0, threshold=threshold)
    X = np.array([[left], [right], [nearby], [nearby], [nearby]])
    assert np.float32(nearby) == np.float32(shared)
    with pytest.warns(UserWarning, match=r"1 of 5 rows of X get another label"):
        classifier = to_sklearn(Explanation(tree), X)
    assert np.sum(classifier.predict(X) != tree.apply(X)) == 1
    assert np.sum(to_sklearn(Explanation(tree)).predict(X) != tree.apply(X)) == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        to_sklearn(Explanation(tree), X[2:])


def test_moved_intervals_stay_intervals():
    low = 1 + 1e-9
    tree = Tree.root(n_features=1, size=3).split(0, feature=0, lower=low, threshold=low + 1e-9)
    X = np.array([[low], [low + 5e-10], [low + 1e-9], [2.0], [low + 5e-10], [0.5]])
    with pytest.warns(UserWarning, match=r"of 6 rows of X"):
        classifier = to_sklearn(Explanation(tree), X)
    assert classifier.predict([[0.5], [2.0]]).tolist() == [1, 1]


def test_values_beyond_float32():
    tree = Tree.root(n_features=1, size=3).split(0, feature=0, threshold=1e300)
    X = np.array([[1.0], [2.0], [-5.0]])
    assert to_sklearn(Explanation(tree), X).predict(X).tolist() == [0, 0, 0]


def test_one_leaf_and_no_sizes():
    assert to_sklearn(Explanation(Tree.root(n_features=2, size=0))).predict([[1, 2]]).tolist() == [
        0
    ]
    tree = Tree.root(n_features=2, size=0).split(0, feature=0, threshold=0.5)
    classifier = to_sklearn(Explanation(tree))
    assert classifier.predict_proba([[0, 0], [1, 0]]).tolist() == [[1, 0], [0, 1]]
    assert np.isfinite(classifier.tree_.value).all()


def test_shap(iris):
    shap = pytest.importorskip("shap")
    estimator, X = iris
    classifier = to_sklearn(estimator.explanation_, X, label="reference")
    table = X.to_numpy()
    explainer = shap.TreeExplainer(classifier)
    values = np.asarray(explainer.shap_values(table[::10]))
    assert values.shape == (15, 4, 3)
    total = values.sum(axis=1) + explainer.expected_value
    np.testing.assert_allclose(total, classifier.predict_proba(X.iloc[::10]), atol=1e-9)


def test_dtreeviz(iris):
    pytest.importorskip("matplotlib").use("Agg")
    dtreeviz = pytest.importorskip("dtreeviz")
    estimator, X = iris
    classifier = to_sklearn(estimator.explanation_, X)
    drawing = dtreeviz.model(
        classifier,
        X_train=X,
        y_train=estimator.labels_,
        feature_names=list(X.columns),
        target_name="cluster",
        class_names=[str(each) for each in classifier.classes_],
    )
    shadow = drawing.shadow_tree
    assert shadow.nclasses() == estimator.n_leaves_
    assert len(shadow.leaves) == estimator.n_leaves_
    explained = drawing.explain_prediction_path(X.to_numpy()[0])
    assert "petal" in explained


def test_bad_arguments(nameless):
    with pytest.raises(ValueError, match=r"^label='x' must be"):
        to_sklearn(nameless, label="x")
    with pytest.raises(
        ValueError, match=r"^X has the shape \(1, 1\), but this Tree needs rows of 3 columns"
    ):
        to_sklearn(nameless, [[1.0]])
