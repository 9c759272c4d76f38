"""A scikit-learn classifier around any explainer: it predicts clusters, not leaves."""

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from spexplain.aliases import Array, Floats, Ints
from spexplain.arguments import check_weights
from spexplain.estimators.base import Explainer
from spexplain.estimators.best import BestTree
from spexplain.explanation import Explanation
from spexplain.table.columns import is_missing, unmasked
from spexplain.table.storage import look_up


class ClusterClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Predict clusters with the tree of an explainer, as a scikit-learn classifier.

    scikit-learn treats explainers as clusterers: they predict leaves, whose numbers mean something else
    after every fit. This class predicts the cluster that a leaf stands for, so that cross-validation, grid
    search, calibration and all scores for classifiers work as usual.

    Parameters
    ----------
    explainer : Explainer, optional
        The explainer that grows the tree; by default ``BestTree()``. A copy of it is fitted. Every label of y
        is a class, even -1, unless its parameter `noise` names the labels of rows that belong to no cluster.

    Attributes
    ----------
    explainer_ : Explainer
        The fitted copy, with its rules, reports and exports.
    classes_ : array of shape (n_classes,)
        The clusters, sorted, in the caller's own label type.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : array of str
        Names of these columns, if the table had string names.

    See Also
    --------
    BestTree : The default explainer.
    raw_units : Translates the rules of a pipeline into the original units.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from spexplain import BestTree, ClusterClassifier, datasets
    >>> iris = datasets.load("iris")
    >>> names = iris.target_names[iris.target]
    >>> search = GridSearchCV(ClusterClassifier(BestTree()), {"explainer__n_leaves": [2, 3]}, cv=5)
    >>> search.fit(iris.data, names).best_params_
    {'explainer__n_leaves': 3}
    >>> search.predict(iris.data[:2]).tolist(), search.best_estimator_.explainer_.n_leaves_
    (['setosa', 'setosa'], 3)
    """

    def __init__(self, explainer: Any = None) -> None:
        self.explainer = explainer

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **given: Any) -> Self:
        """Grow the tree that explains y.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            The table, with columns of any kind that the explainer takes.
        y : array of shape (n_samples,)
            The cluster of every row, in any type.
        sample_weight : array of shape (n_samples,), optional
            A row of weight w counts as w rows.
        **given
            Further arguments of the explainer's `fit`, for example `centers`.

        Returns
        -------
        self

        Examples
        --------
        >>> from spexplain import BestTree, ClusterClassifier
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> classifier = ClusterClassifier(BestTree()).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> classifier.classes_.tolist()
        ['VIP', 'new']
        """
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        labels = _checked_labels(y, sample_weight)
        explainer = BestTree() if self.explainer is None else self.explainer
        if not isinstance(explainer, Explainer):
            raise TypeError(
                f"explainer={explainer!r} must be an explainer of spexplain, for example BestTree()."
            )
        fitted = clone(explainer)
        if isinstance(fitted.noise, str) and fitted.noise == "ignore":
            fitted.set_params(noise="cluster")
        if sample_weight is not None:
            given["sample_weight"] = sample_weight
        self.explainer_: Explainer = fitted.fit(X, labels, **given)
        explanation = self.explainer_.explanation_
        self.classes_: Array = explanation.classes
        self._codes = _leaf_codes(explanation)
        self._shares = _leaf_shares(explanation)
        return self

    def predict(self, X: Any) -> Array:
        """Return the cluster of every row: the one that its leaf stands for.

        For most explainers that is the commonest cluster among the leaf's training rows; methods that separate
        centres take the cluster of the centre in the leaf.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
            Rows with the columns of the training table.

        Returns
        -------
        clusters : array of shape (n_rows,)

        Examples
        --------
        >>> from spexplain import BestTree, ClusterClassifier
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> classifier = ClusterClassifier(BestTree()).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> classifier.predict([[22, 1], [70, 3]]).tolist()
        ['new', 'VIP']
        """
        leaves = self.apply(X)
        return look_up(self.classes_[self._codes], leaves)  # type: ignore[no-any-return]

    def predict_proba(self, X: Any) -> Floats:
        """Return the shares of all clusters among the training rows of each row's leaf.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
            Rows with the columns of the training table.

        Returns
        -------
        shares : array of float, shape (n_rows, n_classes)
            Columns in the order of `classes_`; every row adds up to 1.

        Examples
        --------
        >>> from spexplain import BestTree, ClusterClassifier
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> classifier = ClusterClassifier(BestTree()).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> classifier.predict_proba([[22, 1], [70, 3]])
        array([[0., 1.],
               [1., 0.]])
        """
        leaves = self.apply(X)
        return self._shares[np.asarray(leaves)]

    def apply(self, X: Any) -> Ints:
        """Return the leaf id of every row: 0 to ``n_leaves - 1``, numbered from left to right.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
            Rows with the columns of the training table.

        Returns
        -------
        leaves : array of int, shape (n_rows,)

        Examples
        --------
        >>> from spexplain import BestTree, ClusterClassifier
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> classifier = ClusterClassifier(BestTree()).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> classifier.apply([[22, 1], [70, 3]])
        array([0, 1])
        """
        check_is_fitted(self, "explainer_")
        return self.explainer_.apply(X)

    def decision_path(self, X: Any) -> sparse.csr_array:
        """Return which nodes every row visits.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
            Rows with the columns of the training table.

        Returns
        -------
        visits : sparse array of int, shape (n_rows, n_nodes)
            1 where the row visits the node.

        Examples
        --------
        >>> from spexplain import BestTree, ClusterClassifier
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> classifier = ClusterClassifier(BestTree()).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> classifier.decision_path([[22, 1]]).toarray()
        array([[1, 1, 0]])
        """
        check_is_fitted(self, "explainer_")
        return self.explainer_.decision_path(X)

    @property
    def feature_importances_(self) -> Floats:
        """Importance of each column: its share in the total drop of impurity; the sum is 1, or 0 without any drop.

        Examples
        --------
        >>> from spexplain import BestTree, ClusterClassifier
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> classifier = ClusterClassifier(BestTree()).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> classifier.feature_importances_
        array([1., 0.])
        """
        check_is_fitted(self, "explainer_")
        return self.explainer_.feature_importances_

    @property
    def n_features_in_(self) -> int:
        """Number of columns seen in `fit`."""
        return int(self._of_fitted("n_features_in_"))

    @property
    def feature_names_in_(self) -> Array:
        """Names of the columns seen in `fit`, if the table had string names."""
        return self._of_fitted("feature_names_in_")  # type: ignore[no-any-return]

    def _of_fitted(self, name: str) -> Any:
        fitted = vars(self).get("explainer_")
        if not hasattr(fitted, name):
            raise AttributeError(f"This {type(self).__name__} has no attribute {name!r}.")
        return getattr(fitted, name)

    def __sklearn_tags__(self) -> Any:
        tags: Any = super().__sklearn_tags__()
        explainer = BestTree() if self.explainer is None else self.explainer
        if isinstance(explainer, Explainer):
            tags.input_tags = get_tags(explainer).input_tags
        return tags

    def get_metadata_routing(self) -> Any:
        """Return the metadata requests: those of the explainer, unless they were set here.

        Returns
        -------
        routing : sklearn.utils.metadata_routing.MetadataRequest

        Examples
        --------
        >>> from spexplain import BestTree, ClusterClassifier
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> classifier = ClusterClassifier(BestTree()).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> type(classifier.get_metadata_routing()).__name__
        'MetadataRequest'
        """
        routing: Any = super().get_metadata_routing()
        own = routing.fit.requests
        if isinstance(self.explainer, Explainer) and own.get("sample_weight") is None:
            asked = self.explainer.get_metadata_routing().fit.requests
            own["sample_weight"] = asked.get("sample_weight")
        return routing

    def _html_repr(self) -> str:
        """Return the tree as HTML for notebooks; before `fit`, scikit-learn's own display."""
        fitted = vars(self).get("explainer_")
        shown: str = super()._html_repr() if fitted is None else fitted._html_repr()
        return shown

    def _repr_html_inner(self) -> str:
        # scikit-learn before 1.7 has no `_html_repr` of its own.
        fitted = vars(self).get("explainer_")
        shown: str = super()._repr_html_inner() if fitted is None else fitted._html_repr()
        return shown


def _checked_labels(y: Any, sample_weight: Any) -> Array:
    """Return labels that scikit-learn accepts as classes."""
    labels: Array = column_or_1d(unmasked(y), warn=True)
    has_gaps = labels.dtype == object and any(map(is_missing, labels))
    if has_gaps or (labels.dtype.kind == "f" and not np.isfinite(labels).all()):
        raise ValueError(
            "Input y contains NaN or infinity: leave out rows without a label, or give them one."
        )
    check_classification_targets(labels)
    weights = check_weights(sample_weight, len(labels))
    counted = labels if weights is None else labels[weights > 0]
    if len(counted) and all(each == counted[0] for each in counted):
        raise ValueError("y has one class only, but a classifier needs two or more to tell apart.")
    return labels


def _leaf_codes(explanation: Explanation) -> Ints:
    """Return the class of every leaf; a leaf of noise only takes the class of the nearest node above."""
    assert explanation.node_codes is not None
    tree, codes = explanation.tree, explanation.node_codes.copy()
    for node in range(1, tree.n_nodes):  # parents come first
        if codes[node] < 0:
            codes[node] = codes[tree.parents[node]]
    return codes[tree.leaves]


def _leaf_shares(explanation: Explanation) -> Floats:
    """Return the shares of the classes in every leaf; for a leaf without clustered rows, those of a node above."""
    tree, counts = explanation.tree, explanation.node_counts.astype(np.float64)
    for node in range(1, tree.n_nodes):
        if not counts[node].any():
            counts[node] = counts[tree.parents[node]]
    found = counts[tree.leaves]
    shares: Floats = found / found.sum(axis=1, keepdims=True)
    return shares
