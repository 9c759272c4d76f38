"""All methods of a fitted model, whether it was fitted here or read from JSON."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from io import BytesIO
from os import PathLike
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from scipy import sparse

from spexplain.aliases import Array, Floats, Ints, Matrix
from spexplain.arguments import check_choice, check_texts, check_weights
from spexplain.explanation.explanation import Explanation, Training
from spexplain.facts.path import PathStep
from spexplain.facts.profiles import MAX_PSI
from spexplain.files import write_file
from spexplain.messages import counted, one_line
from spexplain.table.base import Rows, Table
from spexplain.table.columns import FrameKind, as_frame, encoded, is_frame
from spexplain.table.coordinates import coordinates_of
from spexplain.table.host import HostTable
from spexplain.table.read import unseen_categories
from spexplain.table.reference import Reference
from spexplain.table.sparse import SparseTable, densified
from spexplain.table.storage import is_collection, is_sparse, look_up, on_host
from spexplain.table.suspects import suspicious_columns
from spexplain.tree import Column, Tree
from spexplain.tree.words import leaf_rules, tree_text

if TYPE_CHECKING:
    from spexplain.explanation.check import Check
    from spexplain.export.dialects import DialectName
    from spexplain.export.labels import LabelKind
    from spexplain.export.onnx_graph import InputType
    from spexplain.export.serialize import ProfileName
    from spexplain.facts import Summary
    from spexplain.facts.certificates import Certificate
    from spexplain.facts.schema import (
        ContrastFacts,
        RowExplanation,
        SegmentFacts,
        StabilityFacts,
        ValidationFacts,
    )
    from spexplain.facts.segments import Clusters
    from spexplain.facts.verdict import Mixed, OtherSize, Verdict
    from spexplain.objectives import Objective

_REFITS = (
    "{} fits the method again, which a model read from JSON cannot do; ask the fitted estimator."
)
PICTURES = ("png", "svg", "pdf", "pptx")
_NO_DATE: dict[str, dict[str, Any]] = {
    "png": {},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}
_MOST_SEGMENTS = 200_000  # clusters × nodes up to which a summary has a record of every cluster
_MOST_TOLD = 50_000_000  # entries of a table up to which JSON holds the most telling columns
_SMALL = 1_000_000  # entries of a table up to which everything is computed by default


class FittedModel(ABC):
    """The methods of a model that holds an `Explanation`.

    Methods that describe rows take the training table as `X`. An estimator remembers the table that it
    was fitted to, so `X` is needed only for models loaded from a pickle or from JSON, which leave the
    table out.
    """

    explanation_: Explanation
    tree_: Tree
    n_leaves_: int
    objective_: float
    labels_: Ints

    def __init_subclass__(cls, **options: Any) -> None:
        """Make Python's own errors name the class that was called instead of the one that defines the method."""
        super().__init_subclass__(**options)
        for base in cls.__mro__[1:]:
            methods = vars(base) if issubclass(base, FittedModel) else {}
            for name in [each for each in methods if not each.startswith("_")]:
                if isinstance(methods[name], FunctionType) and name not in vars(cls):
                    setattr(cls, name, _renamed(methods[name], f"{cls.__name__}.{name}"))

    @abstractmethod
    def _check_rows(self, X: Any, *, whole: bool = False) -> Rows:
        """Return rows as a table with the model's columns; refuse other tables in one sentence."""

    def _set_explanation(self, explanation: Explanation) -> None:
        """Set the fitted attributes."""
        tree = explanation.tree
        self.explanation_ = explanation
        self.tree_ = tree
        self.n_leaves_ = tree.n_leaves
        self.objective_ = float(tree.value[tree.leaves].sum())
        for stale in ("labels_", "reference_labels_", "leaf_reference_"):
            vars(self).pop(stale, None)
        if explanation.labels is not None:
            self.labels_ = explanation.labels
        if explanation.row_reference is not None:
            self.reference_labels_ = explanation.row_reference.labels
        if explanation.leaf_reference is not None:
            self.leaf_reference_ = explanation.leaf_reference

    def _fitted(self, feature_names: Sequence[str] | None = None) -> Explanation:
        """Return the explanation, with other names of the columns if they are given."""
        found: Explanation | None = vars(self).get("explanation_")
        if found is None:
            from sklearn.exceptions import NotFittedError

            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet: call fit first."
            )
        return found.named(feature_names)

    def _rows(self, X: Any) -> Matrix:
        """Return the training table on the host, sparse if it is: given, or remembered."""
        if X is not None:
            rows = self._check_rows(X, whole=True)
            return rows.values if isinstance(rows, SparseTable) else rows.to_host()
        training = self._fitted().training
        table: Table | None = None if training is None else training.table
        if table is None:
            kind = "estimator" if hasattr(self, "fit") else "model"
            raise ValueError(f"This {kind} does not remember its training rows; pass them as X.")
        return table.training_rows()

    @property
    def path_(self) -> list[PathStep]:
        """The trees of 1, 2, ... leaves on the way to the final tree; after a refinement, the refined tree is the last.

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> [(step.n_leaves, round(step.fidelity, 2)) for step in explainer.path_]
        [(1, 0.5), (2, 1.0)]
        """
        return self._fitted().path

    @property
    def agreement_(self) -> float:
        """Adjusted Rand index of the leaves and the reference; rows of no cluster do not count.

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> explainer.agreement_
        1.0
        """
        agreement = self._fitted().step.agreement
        if np.isnan(agreement):
            raise AttributeError(
                f"This {type(self).__name__} knows no reference clustering to compare its leaves with."
            )
        return agreement

    @property
    def value_(self) -> float:
        """What the goal of `BestTree` measures of the tree; of a changed tree only where it can be counted.

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> explainer.value_, explainer.truncated(1).value_
        (1.0, 0.5)
        """
        value = self._fitted().goal_value
        if value is None:
            raise AttributeError(self._unproved("value_"))
        return value

    @property
    def bound_(self) -> float:
        """The best value of the goal that is possible for a tree of this size, as far as `BestTree` has proved it.

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> explainer.bound_
        1.0
        """
        goal = self._fitted().goal
        if goal is None:
            raise AttributeError(self._unproved("bound_"))
        return goal.bound

    @property
    def optimal_(self) -> bool:
        """Whether `BestTree` has proved that no tree of this size is better.

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> explainer.optimal_
        True
        """
        goal = self._fitted().goal
        if goal is None:
            raise AttributeError(self._unproved("optimal_"))
        return goal.optimal

    def _unproved(self, attribute: str) -> str:
        """Return why there is no result of a search."""
        explanation = self._fitted()
        if "goal" not in explanation.parameters:
            return (
                f"{attribute} is a result of BestTree, but this is a tree of {explanation.method}."
            )
        return (
            f"{attribute} is known only for the tree and the rows of a search, and this tree was changed, or is "
            f"counted on other rows; fit BestTree(n_leaves={explanation.tree.n_leaves}) to search this size."
        )

    @property
    def unexplained_clusters_(self) -> list[Any]:
        """The clusters of the reference that no leaf stands for.

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> explainer.unexplained_clusters_
        []
        """
        return self._fitted().unexplained

    @property
    def feature_importances_(self) -> Floats:
        """Importance of each feature: its share in the total drop of impurity of the reference.

        Without a reference, the impurity is that of the leaves themselves. Never negative; the sum is 1, or 0
        if no test lowers the impurity.

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> explainer.feature_importances_
        array([1., 0.])
        """
        from spexplain.facts import feature_importances

        explanation = self._fitted()
        return feature_importances(explanation.tree, explanation.node_counts)

    def renamed(self, segment_names: Mapping[Any, str]) -> Self:
        """Return a copy of the fitted model whose clusters have other names, in every output.

        Parameters
        ----------
        segment_names : mapping
            Names by label, for some clusters or all; labels may be given as texts.

        Returns
        -------
        model : same type
            A fitted copy, whose labels are texts.

        Examples
        --------
        >>> from spexplain import CART
        >>> explainer = CART().fit([[1.0], [2.0], [8.0], [9.0]], [0, 0, 1, 1]).renamed({0: "new", 1: "VIP"})
        >>> explainer.segments(output="records")[1]["sentences"][0]
        'VIP: 2 rows (50%), x0 > 5.'
        >>> explainer.predict_reference([[7.0]])
        array(['VIP'], dtype='<U3')
        """
        from spexplain.facts.segments import Clusters
        from spexplain.facts.validation import renamed_validation

        other = copy(self)
        vars(other).pop("validation_", None)
        validation = vars(self).get("validation_")
        other._set_explanation(self._fitted().with_segment_names(segment_names))
        if validation is not None:
            vars(other)["validation_"] = renamed_validation(
                validation, Clusters.of(other._fitted())
            )
        return other

    def truncated(self, n_leaves: int) -> Self:
        """Return a copy of the fitted model with the tree as it was with fewer leaves.

        Parameters
        ----------
        n_leaves : int
            Between 1 and the number of leaves that were grown.

        Returns
        -------
        model : same type
            A fitted copy. With fewer leaves its tree is the one before any refinement.

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> explainer.truncated(1).n_leaves_
        1
        """
        own, explanation = self._fitted().tree, self._fitted().truncate(n_leaves)
        smaller, tree = self.edited(explanation), explanation.tree
        if "rounding_" in vars(self) and tree != own:  # nodes have the same numbers
            vars(smaller)["rounding_"] = [
                each
                for each in vars(self)["rounding_"]
                if each.node < tree.n_nodes
                and tree.feature[each.node] == own.feature[each.node]
                and tree.threshold[each.node] == own.threshold[each.node]
            ]
        return smaller

    def edited(self, explanation: Explanation) -> Self:
        """Return a copy of the model that holds another explanation, such as an edited one.

        Parameters
        ----------
        explanation : Explanation
            Usually ``model.explanation_`` after some edits; see `Explanation.with_test`.

        Returns
        -------
        model : same type
            A fitted copy with the labels, rules, reports and exports of that explanation.

        Examples
        --------
        >>> from spexplain import CART, datasets
        >>> iris = datasets.load("iris")
        >>> explainer = CART(n_leaves=5).fit(iris.data, iris.target)
        >>> explainer.edited(explainer.explanation_.prune(2)).n_leaves_
        2
        """
        own, changed = self._fitted(), copy(self)
        is_same = explanation.tree == own.tree
        if not is_same or explanation.row_reference is not own.row_reference:
            vars(changed).pop("validation_", None)  # was measured on refits that gave another tree
        if not is_same:
            vars(changed).pop("rounding_", None)
        changed._set_explanation(explanation)
        return changed

    def studio(self) -> Any:
        """Show the studio in a notebook, for shaping the tree by hand with exact figures for every change.

        Needs the extra ``studio``. Edits in the studio appear in `edited_` at once, and a model assigned to
        `edited_` appears in the studio.

        Returns
        -------
        widget : anywidget.AnyWidget
            The widget; put it on the last line of a cell to show it.

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> widget = explainer.studio()
        >>> widget is not None
        True
        """
        from spexplain.studio.widget import session_of, widget_of

        explanation = self._fitted()
        if explanation.training is None or explanation.training.table is None:
            kind = "estimator" if hasattr(self, "fit") else "model"
            raise ValueError(
                f"This {kind} does not remember its rows, which the studio counts; call with_rows(X, y) first."
            )
        return widget_of(session_of(self))

    @property
    def edited_(self) -> Self:
        """The model as edited in its `studio`, or the model itself without edits.

        Another model of the same table, or an `Explanation`, can be assigned; open studios then show it.

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> explainer.edited_.n_leaves_
        2
        >>> explainer.edited_ = explainer.explanation_.with_test(0, "age > 35")
        >>> print(explainer.edited_.to_text())
        age > 35
        ├─ yes: leaf 0 (3 rows, 100% VIP)
        └─ no:  leaf 1 (3 rows, 100% new)
        """
        from spexplain.studio.widget import edited_model

        self._fitted()
        return edited_model(self)  # type: ignore[return-value]

    @edited_.setter
    def edited_(self, model: FittedModel | Explanation) -> None:
        from spexplain.studio.widget import session_of

        self._fitted()
        edited = self.edited(model) if isinstance(model, Explanation) else model
        if not isinstance(edited, FittedModel):
            raise ValueError(
                f"edited_ must be a model or an Explanation, not {type(model).__name__}."
            )
        session_of(self).adopt(edited)

    def with_rows(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Return a copy of the model that remembers rows, on which the figures of edits are counted.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
            The training rows, or other rows for which figures are wanted.
        y : array of shape (n_rows,), optional
            Their clusters.
        sample_weight : array of shape (n_rows,), optional
            Their weights.

        Returns
        -------
        model : same type

        Examples
        --------
        >>> from spexplain import from_json
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> model = from_json(explainer.to_json()).with_rows(X, ["new"] * 3 + ["VIP"] * 3)
        >>> model.explanation_.with_test(0, "age > 55").rows_right
        5
        """
        explanation = self._fitted()
        rows = self._check_rows(X, whole=True).to_host()
        weights = check_weights(on_host(sample_weight), len(rows))
        table = _rows_of_all_columns(X, rows, explanation)
        noise = explanation.parameters.get("noise", "ignore")
        reference = None
        if y is not None:
            reference = Reference.from_labels(
                y, n_samples=len(rows), noise=noise, must_occur=False
            ).weighed(weights)
        training = Training(reference=reference, table=table, weights=weights)
        return self.edited(explanation.counted(training))

    def predict(self, X: Any) -> Ints:
        """Return the leaf id of every row: 0 to ``n_leaves_ - 1``, numbered from left to right.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
            Rows with the columns of the training table.

        Returns
        -------
        labels : array of int, shape (n_rows,)
            On the GPU if `X` is a CuPy array; a lazy Dask array if it is a Dask collection.

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> explainer.predict([[22, 1], [70, 3]])
        array([0, 1])
        """
        self._check_caller()
        return self._leaves_of(X)

    def _check_caller(self) -> None:
        """Refuse to predict for scorers that compare leaf ids with labels."""
        return

    def _leaves_of(self, X: Any) -> Ints:
        tree = self._fitted().tree
        labels: Ints = self._check_rows(X).leaves(tree)
        return labels

    def apply(self, X: Any) -> Ints:
        """Return the leaf id of every row, as `predict` does.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
            Rows with the columns of the training table.

        Returns
        -------
        leaves : array of int, shape (n_rows,)
            On the GPU if `X` is a CuPy array; a lazy Dask array if it is a Dask collection.

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> explainer.apply([[22, 1], [70, 3]])
        array([0, 1])
        """
        return self._leaves_of(X)

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
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> explainer.decision_path([[22, 1], [70, 3]]).toarray()
        array([[1, 1, 0],
               [1, 0, 1]])
        """
        return self._fitted().tree.visits(np.asarray(on_host(self._leaves_of(X))))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the fidelity to given labels: the share of rows whose leaf stands for their own cluster.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
            Rows with the columns of the training table.
        y : array of shape (n_rows,)
            Their clusters, by the labels that were given to `fit`; rows of no cluster do not count.
        sample_weight : array of shape (n_rows,), optional
            Weights of the rows.

        Returns
        -------
        fidelity : float
            From 0 to 1.

        Examples
        --------
        >>> from spexplain import CART, datasets
        >>> iris = datasets.load("iris")
        >>> explainer = CART().fit(iris.data, iris.target)
        >>> round(explainer.score(iris.data, iris.target), 3)
        0.96
        """
        name = type(self).__name__
        if y is None:
            raise ValueError(
                f"{name}.score is the share of rows whose leaf stands for their own cluster; pass the clusters "
                "as y."
            )
        predicted = np.asarray(on_host(self.predict_reference(X)))
        noise = self._fitted().parameters.get("noise", "ignore")
        reference = Reference.from_labels(
            y, n_samples=len(predicted), noise=noise, must_occur=False
        )
        known = self._fitted().leaf_reference
        if known is not None and _is_text(known) != _is_text(reference.classes):
            raise ValueError(
                f"y holds {reference.classes.tolist()[:1]}, but the clusters that this {name} was fitted to are of "
                f"another type, such as {known.tolist()[0]!r}."
            )
        right = np.asarray(predicted == reference.labels)[reference.codes >= 0]
        weights = check_weights(on_host(sample_weight), len(predicted))
        if weights is not None:
            weights = weights[reference.codes >= 0]
        if not len(right) or (weights is not None and not weights.sum()):
            raise ValueError("y holds no row that belongs to a cluster.")
        return float(np.average(right, weights=weights))

    def predict_reference(self, X: Any) -> Array:
        """Return the reference label that each row's leaf stands for, in the caller's own label type.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
            Rows with the columns of the training table.

        Returns
        -------
        labels : array of shape (n_rows,)
            On the GPU if `X` is a CuPy array and labels are numbers; lazy for Dask collections.

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> explainer.predict_reference([[22, 1], [70, 3]]).tolist()
        ['new', 'VIP']
        """
        explanation = self._fitted()
        if explanation.leaf_reference is None:
            raise ValueError(
                f"These leaves have no labels: {explanation.method} was fitted without reference labels, or its file "
                "does not hold those of smaller trees; pass labels to fit as y."
            )
        return look_up(explanation.leaf_reference, self.predict(X))  # type: ignore[no-any-return]

    def check(
        self,
        X: Any,
        y: Any = None,
        *,
        max_psi: float = MAX_PSI,
        fail_on: str | Sequence[str] = "alarm",
    ) -> Check:
        """Return how new rows differ from those that the model was fitted to.

        Checks for columns that are missing, renamed or of another kind, values outside the range seen in
        training, changed units, new categories, missing values, drift of the tested columns (population
        stability index) and changed shares of the segments. A difference is an alarm if it is larger than
        chance explains for these numbers of rows, and large enough to matter.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
            The rows: NumPy, any data frame, sparse, or a Dask collection, from which only counts are transferred.
        y : array of shape (n_rows,), optional
            Labels of the rows, to check whether the segments still fit them.
        max_psi : float, default=0.2
            Population stability index above which a column, or the segments, have drifted.
        fail_on : str or list of str, default="alarm"
            What makes the check fail: "alarm", "any", "none", or kinds of findings such as
            "new-category".

        Returns
        -------
        check : Check
            The result, with `passed`, `findings`, `to_text()`, `to_json()` and `report(path)`.

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> print(explainer.check([[20, 1], [61, 9]] * 30).to_text())
        Check failed: 60 rows against BestTree, which saw 6; 1 alarm and 1 notice.
          alarm   drift: age is distributed differently: PSI 2.6, limit 0.2.
          notice  out-of-range: age: 30 of 60 values lie above the greatest value seen, 60 (now up to 61).
        """
        from spexplain.explanation.check import check_rows

        return check_rows(self._fitted(), X, y, max_psi=max_psi, fail_on=fail_on)

    def rules(
        self, feature_names: Sequence[str] | None = None, *, output: FrameKind = "auto"
    ) -> Any:
        """Return one record per leaf: its rule in words, rows, share, reference label, purity and recall.

        Recall is the share of that label's rows that are in the leaf. If rows have weights, the record also holds the
        leaf's weight, and shares are shares of weight.

        Parameters
        ----------
        feature_names : list of str, optional
            Names of the columns; by default those of the training table, or x0, x1, ...
        output : {"auto", "pandas", "polars", "records"}, default="auto"
            A data frame, or a list of dicts; "auto" takes pandas if it is installed, else polars, else
            a list.

        Returns
        -------
        rules : DataFrame or list of dict

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> explainer.rules()[["rule", "size", "reference"]]
               rule  size reference
        0  age ≤ 40     3       new
        1  age > 40     3       VIP
        """
        return as_frame(self._rule_records(feature_names), output)

    def segments(
        self,
        feature_names: Sequence[str] | None = None,
        output: FrameKind | Literal["frame"] = "frame",
        *,
        X: Any = None,
        y: Any = None,
    ) -> Any:
        """Return one record per cluster: one rule for all its leaves, how well it fits, and what its rows are like.

        Rows and share describe the cluster. Precision is the share of the rows selected by the rule that belong to the
        cluster, recall the share of the cluster that the rule selects. A cluster without a leaf has no rule. Without a
        reference, every leaf is a cluster.

        Parameters
        ----------
        feature_names : list of str, optional
            Names of the columns; by default those of the training table, or x0, x1, ...
        output : {"frame", "records", "pandas", "polars"}, default="frame"
            A data frame with one row per cluster, of pandas if it is installed, else of polars; or a list of
            dicts with all details, see `spexplain.facts.schema.SegmentFacts`.
        X, y : optional
            The training rows and their labels, if the model does not remember them: telling columns and
            typical rows need both.

        Returns
        -------
        segments : DataFrame or list of dict

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> explainer.segments()[["cluster", "rule", "rows", "recall"]]
          cluster      rule  rows  recall
        0     VIP  age > 40     3     1.0
        1     new  age ≤ 40     3     1.0
        """
        from spexplain.facts.segments import flat_record

        records = self._segments(feature_names, X=X, y=y)
        if output == "records":
            return records
        return as_frame(
            [flat_record(each) for each in records], "auto" if output == "frame" else output
        )

    def segment(
        self,
        cluster: Any,
        *,
        feature_names: Sequence[str] | None = None,
        X: Any = None,
        y: Any = None,
    ) -> SegmentFacts:
        """Return the record of one cluster, see `segments`.

        Parameters
        ----------
        cluster : label
            The cluster, by its label or its name.
        feature_names : list of str, optional
            Names of the columns; by default those of the training table, or x0, x1, ...
        X, y : optional
            As for `segments`.

        Returns
        -------
        segment : dict

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> [each["text"] for each in explainer.segment("VIP")["telling"]]
        ['orders 1.7× the average', 'age 56.7 on average, 41 overall']
        """
        from spexplain.facts.segments import Clusters

        records = self._segments(feature_names, X=X, y=y)
        code = Clusters.of(self._fitted()).code_of(cluster)
        return records[code]

    def contrast(
        self, a: Any, b: Any, *, feature_names: Sequence[str] | None = None
    ) -> ContrastFacts:
        """Return at most three conditions that separate two clusters, and how well they do it.

        An estimator searches the rows of both clusters; a model without rows takes the tests of its tree, and the
        text says so.

        Parameters
        ----------
        a, b : label
            The clusters, by their labels or names.
        feature_names : list of str, optional
            Names of the columns; by default those of the training table, or x0, x1, ...

        Returns
        -------
        contrast : dict
            Its entries are described in `spexplain.facts.schema.ContrastFacts`.

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> explainer.contrast("VIP", "new")["text"]
        'VIP: age > 40 (100% of them); new: age ≤ 40 (100% of them).'
        """
        from spexplain.facts.segments import Clusters, contrast_facts, contrast_in_tree

        explanation = self._fitted(feature_names)
        clusters = Clusters.of(explanation)
        pair = clusters.code_of(a, "a"), clusters.code_of(b, "b")
        if pair[0] == pair[1]:
            raise ValueError(f"a and b must be two clusters, but both are {a!r}.")
        found = self._parted(*pair)
        by_tree = contrast_in_tree(clusters, *pair, explanation.fields)
        if found is None:
            if by_tree is None:
                raise ValueError(
                    "A contrast of two clusters needs the rows of each in every leaf, which this model does not "
                    "hold; ask the fitted estimator."
                )
            by_tree["text"] += " Only tests of the tree were compared, as the rows are not known."
            return by_tree
        tree, shares = found
        own = [leaf for leaf, (x, y) in enumerate(shares) if x > y]
        searched = contrast_facts(
            clusters, pair, tree, own, shares, columns=explanation.fields, source="rows"
        )
        if by_tree is None:
            return searched
        gain = by_tree["balanced"] - searched["balanced"]
        is_shorter = len(by_tree["rule"]) < len(searched["rule"])
        return by_tree if gain > 0.01 or (gain >= 0 and is_shorter) else searched

    def _parted(self, a: int, b: int, *, quick: bool = False) -> tuple[Tree, Floats] | None:
        """Return a small tree that separates the rows of two clusters, and their shares in its leaves."""
        return None

    def validate(
        self, X: Any = None, y: Any = None, cv: Any = 5, *, random_state: Any = 0
    ) -> ValidationFacts:
        """Refuse cross-validation, which only an estimator can do."""
        raise ValueError(_REFITS.format("validate"))

    def stability(self, n: int = 50, *, random_state: Any = 0) -> StabilityFacts:
        """Refuse refits to samples of the rows, which only an estimator can do."""
        raise ValueError(_REFITS.format("stability"))

    @property
    def verdict_(self) -> Verdict:
        """How good the explanation is: a level, and sentences in plain words.

        It compares with always guessing the largest cluster (on the rows left out, after `validate`), names the weakest
        cluster and clusters that are lost or not separated, and suggests the next step with its expected gain.

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> explainer.verdict_.level
        'good'
        >>> print(explainer.verdict_.sentences[0])
        Good: 100% of the rows are put into their own cluster; always guessing VIP is right for 50%.
        """
        return self._verdict()

    def _verdict(self, *, quick: bool = False) -> Verdict:
        """Return the verdict; a quick one, for notebooks, does not search for the next step."""
        from spexplain.facts.segments import Clusters
        from spexplain.facts.verdict import GOOD_ENOUGH, verdict_of

        explanation, validation = self._fitted(), vars(self).get("validation_")
        known = explanation.remembered.get("verdict")
        if known is not None and known[0] is validation and (quick or not known[1]):
            verdict: Verdict = known[2]
            return verdict
        clusters = Clusters.of(explanation)
        training = explanation.training
        columns = None if training is None else training.columns
        n_columns = explanation.tree.n_features if columns is None else len(columns)
        verdict = verdict_of(clusters, explanation.fields, n_columns, validation=validation)
        if not quick and verdict.level != "none" and verdict.facts["fidelity"] is not None:
            is_open = verdict.facts["fidelity"] < GOOD_ENOUGH
            verdict = verdict_of(
                clusters,
                explanation.fields,
                n_columns,
                validation=validation,
                mixed=self._mixed(clusters, explanation.fields),
                more_leaves=self._larger_trees() if is_open else [],
                leaves_for_all=self._leaves_for_all(),
            )
        explanation.remembered["verdict"] = validation, quick, verdict
        return verdict

    def _mixed(self, clusters: Clusters, columns: Sequence[Column]) -> list[Mixed]:
        """Return clusters that the tree mixes up, and conditions that would separate them."""
        from spexplain.facts.segments import contrast_facts, contrast_in_tree
        from spexplain.facts.verdict import Mixed, is_separated, mixed_pairs

        found, clusters = [], clusters.marked
        for a, b, share in mixed_pairs(clusters)[:3]:
            contrast = contrast_in_tree(clusters, a, b, columns)
            parted = self._parted(a, b, quick=True)
            if parted is not None:
                tree, shares = parted
                own = [leaf for leaf, (x, y) in enumerate(shares) if x > y]
                contrast = contrast_facts(
                    clusters, (a, b), tree, own, shares, columns=columns, source="rows"
                )
            apart = contrast is not None and is_separated(contrast["balanced"])
            text = contrast["text"] if apart and contrast else None
            found.append(Mixed(a, b, share, text, is_searched=parted is not None))
        return found

    def _larger_trees(self) -> list[OtherSize]:
        """Return larger trees of the same method, if they are known."""
        from spexplain.facts.verdict import OtherSize

        n_leaves = self._fitted().tree.n_leaves
        return [
            OtherSize(step.n_leaves, step.fidelity)
            for step in self._fitted().path
            if n_leaves < step.n_leaves <= n_leaves + 2
        ]

    def _segments(
        self, feature_names: Sequence[str] | None = None, *, X: Any = None, y: Any = None
    ) -> list[SegmentFacts]:
        from spexplain.facts.segments import segment_facts

        explanation = self._fitted(feature_names)
        table = self._rows_if_known(X)
        if table is not None:
            explanation = explanation.with_rows(table).with_labels(y)
        return segment_facts(
            explanation,
            table,
            names=explanation.fields,
            telling_columns=self._telling_columns(explanation),
        )

    def _rows_if_known(self, X: Any) -> Matrix | None:
        """Return the training table on the host if it is given or remembered, and in one piece."""
        training = self._fitted().training
        if X is None and (training is None or training.table is None):
            return None
        if X is None and training is not None and is_collection(training.labels):
            return None
        return self._rows(X)

    def _telling_columns(self, explanation: Explanation) -> Ints | None:
        """Return the columns that may count as telling: all but those that number the rows or copy the labels."""
        training = explanation.training
        if training is None or training.columns is None:
            return None
        if training.table is None or explanation.parameters.get("features") is None:
            return training.columns
        # Columns that the tree may not test can still describe the clusters.
        reference = training.reference
        suspects = suspicious_columns(
            training.table, None if reference is None else reference.codes
        )
        kept = [
            each
            for each in range(explanation.tree.n_features)
            if each not in suspects or each in training.columns
        ]
        return np.array(kept, dtype=np.int64)

    def _rule_records(self, feature_names: Sequence[str] | None) -> list[dict[str, Any]]:
        explanation = self._fitted(feature_names)
        tree = explanation.tree
        sizes = explanation.node_sizes[tree.leaves].tolist()
        totals = explanation.node_totals
        shares = (totals[tree.leaves] / (totals[0] or 1)).tolist()
        records: list[dict[str, Any]] = [
            {"leaf": leaf, "rule": rule, "size": size, "share": share}
            for leaf, (rule, size, share) in enumerate(
                zip(leaf_rules(tree, explanation.fields), sizes, shares, strict=True)
            )
        ]
        recalls = explanation.leaf_recall
        for leaf, record in enumerate(records):
            if explanation.node_weights is not None:
                record["weight"] = explanation.node_weights[tree.leaves[leaf]].item()
            if explanation.leaf_reference is not None:
                record["reference"] = explanation.leaf_reference[leaf]
            if explanation.leaf_purity is not None:
                record["purity"] = float(explanation.leaf_purity[leaf])
            if recalls is not None:
                record["recall"] = recalls[leaf]
        return records

    def to_text(self, feature_names: Sequence[str] | None = None) -> str:
        """Return the tree as an indented drawing.

        Parameters
        ----------
        feature_names : list of str, optional
            Names of the columns; by default those of the training table, or x0, x1, ...

        Returns
        -------
        text : str

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> print(explainer.to_text())
        age ≤ 40
        ├─ yes: leaf 0 (3 rows, 100% new)
        └─ no:  leaf 1 (3 rows, 100% VIP)
        """
        from spexplain.facts.text import lost_text, percent

        texts = []
        for record in self._rule_records(feature_names):
            text = f"leaf {record['leaf']} ({counted(record['size'], 'row')}"
            if "reference" in record:
                share = f"{percent(record['purity'])} " if "purity" in record else ""
                text += f", {share}{record['reference']}"
            texts.append(text + ")")
        explanation = self._fitted(feature_names)
        drawing = tree_text(explanation.tree, explanation.fields, texts)
        lost = [one_line(str(label)) for label in self.unexplained_clusters_]
        return f"{lost_text(lost, self._leaves_for_all())}\n{drawing}" if lost else drawing

    def _leaves_for_all(self) -> int | None:
        """Return the number of leaves with which every cluster has one, if some have none and this is known."""
        return self._fitted().needed_leaves

    def _with_needed_leaves(self, feature_names: Sequence[str] | None = None) -> Explanation:
        """Return the explanation with all facts that need no rows."""
        explanation, n_leaves = self._fitted(feature_names), self._leaves_for_all()
        if n_leaves == explanation.leaves_for_all:
            return explanation
        return replace(explanation, leaves_for_all=n_leaves)

    def summary(
        self,
        X: Any = None,
        y: Any = None,
        *,
        feature_names: Sequence[str] | None = None,
        runner_up: bool | None = None,
        certificate: bool | None = None,
        row_ids: Any = None,
    ) -> Summary:
        """Return all facts about the explanation as plain data, ready for JSON.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features), optional
            The training rows, if the model does not remember them; or other rows, with their labels.
        y : array of shape (n_samples,), optional
            Labels of rows other than the training rows; the facts then describe those rows.
        feature_names : list of str, optional
            Names of the columns; by default those of the training table, or x0, x1, ...
        runner_up : bool, optional
            Whether to find the best cut of every node on another column, too, which takes a second search; by
            default for tables of up to a million values that are all numbers.
        certificate : bool, optional
            Whether to compute what is proved about the tree, too; same default, but values may be missing.
            A model that was read from JSON does not know the graph it was grown for, so both are left out.
        row_ids : array of shape (n_samples,), optional
            Names of the rows; by default those of a pandas frame, if it has any.

        Returns
        -------
        summary : dict
            Its entries are described in `spexplain.facts.schema`.

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> facts = explainer.summary()
        >>> [segment["rule"] for segment in facts["segments"]]
        ['age > 40', 'age ≤ 40']
        """
        explanation = self._with_needed_leaves(feature_names)
        table = self._rows(X)
        if y is not None:
            return summary_of_rows(self, explanation.on_rows(table, y), table)
        explanation = explanation.with_rows(table).with_row_ids(row_ids)
        is_small = table.shape[0] * table.shape[1] <= _SMALL
        proof = found = None
        knows_graph = self._graph_is_known() and not explanation.has_objects
        if certificate or (certificate is None and is_small and knows_graph):
            proof = self._certified(explanation, table)
        if runner_up or (runner_up is None and is_small and explanation.is_plain):
            found = self._runner_ups(explanation, table)
        return self._summarized(
            explanation,
            table,
            verdict=self._verdict(quick=True),
            certificate=proof,
            runner_ups=found,
        )

    def outline(self, feature_names: Sequence[str] | None = None) -> Summary:
        """Return the facts that need no rows: a summary without profiles, examples and points.

        Parameters
        ----------
        feature_names : list of str, optional
            Names of the columns; by default those of the training table, or x0, x1, ...

        Returns
        -------
        summary : dict
            The same entries as in `summary`; those about rows are None or empty.

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> explainer.outline()["n_leaves"]
        2
        """
        explanation = self._with_telling(self._with_needed_leaves(feature_names), most=_SMALL)
        return self._summarized(explanation, None, verdict=self._verdict(quick=True))

    def _summarized(
        self, explanation: Explanation, table: Matrix | None, *, verdict: Verdict, **more: Any
    ) -> Summary:
        """Return all facts, including those about whole clusters."""
        from spexplain.facts.segments import segment_facts

        segments: list[SegmentFacts] = []
        n_clusters = (
            explanation.tree.n_leaves if explanation.classes is None else len(explanation.classes)
        )
        if n_clusters * explanation.tree.n_nodes <= _MOST_SEGMENTS:
            segments = segment_facts(
                explanation,
                table,
                names=explanation.fields,
                telling_columns=self._telling_columns(explanation),
            )
        validation = vars(self).get("validation_")
        return _summarized(
            explanation,
            table,
            segments=segments,
            verdict=verdict.facts,
            validation=validation,
            described=self._telling_columns(explanation),
            **more,
        )

    def explain(self, row: Any, *, feature_names: Sequence[str] | None = None) -> RowExplanation:
        """Return why a row is in its leaf, and the smallest changes that would move it.

        Parameters
        ----------
        row : array or one-row data frame of shape (n_features,) or (1, n_features)
            The row.
        feature_names : list of str, optional
            Names of the columns; by default those of the training table, or x0, x1, ...

        Returns
        -------
        explanation : dict
            The path with the margin at each threshold, and the smallest changes of one or two columns that
            lead to another leaf or another label; `spexplain.facts.counterfactual.row_text` puts it into
            words.

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> from spexplain.facts.counterfactual import row_text
        >>> print(row_text(explainer.explain([31, 2])))
        Leaf 0 (new): age ≤ 40
          yes  age ≤ 40   age = 31, margin 9 (0.56 SD)
        Smallest changes
          to leaf 1 (VIP): age from 31 to more than 40 (0.56 SD)
        """
        from spexplain.facts.counterfactual import explain_row

        explanation = self._fitted(feature_names)
        if isinstance(row, Mapping) and not is_sparse(row):  # sparse rows of keys are mappings
            raise TypeError(
                "row is a dict; pass a data frame of it, such as pandas.DataFrame([row])."
            )
        is_table = hasattr(row, "columns") or is_sparse(row)
        given = row if is_table else np.atleast_2d(np.asarray(row))
        table = self._check_rows(given).to_host()
        if len(table) != 1:
            raise ValueError(f"row must be a single row, got {len(table)}.")
        return explain_row(
            explanation.tree,
            table[0],
            names=explanation.fields,
            scales=explanation.scales,
            leaf_labels=explanation.leaf_reference,  # type: ignore[arg-type]
            unseen=unseen_categories(given, self),
        )

    def certificate(
        self, X: Any = None, *, feature_names: Sequence[str] | None = None
    ) -> Certificate:
        """Return what is proved about the tree: by the search of `BestTree`, and on the graph it was grown for.

        In tables with categories, dates or durations, with weights, and without the graph, only `size_bound` is known.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features), optional
            The training rows, if the estimator does not remember them.
        feature_names : list of str, optional
            Names of the columns; by default those of the training table, or x0, x1, ...

        Returns
        -------
        certificate : Certificate

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> print(explainer.certificate().size_bound)
        No tree of 2 leaves puts more than 6 of 6 rows right; so this one is the best.
        """
        return self._certified(self._fitted(feature_names), self._rows(X))

    def _graph_is_known(self) -> bool:
        training = self._fitted().training
        return training is not None and training.graph is not None

    def _certified(self, explanation: Explanation, table: Matrix) -> Certificate:
        from spexplain.facts.certificates import Certificate, certify

        training, goal = explanation.training, explanation.goal
        size_bound = None if goal is None else goal.sentence(explanation.tree.n_leaves)
        reason = _why_no_graph(explanation)
        if reason is not None and (goal is None or not goal.says_something):
            raise ValueError(reason)
        if reason is not None or training is None or training.graph is None:
            return Certificate(size_bound=size_bound)
        graph, labels = training.graph, np.asarray(training.labels)
        searched = explanation.tree if training.searched is None else training.searched
        homes = () if graph.extra is None else searched.apply(graph.extra)
        points = _whole(table, "A certificate")
        if not explanation.is_plain:  # missing values are replaced by the column mean
            points = coordinates_of(points, explanation.fields).matrix
        known = certify(
            graph,
            points,
            explanation.tree,
            features=None if training.columns is None else training.columns.tolist(),
            feature_names=explanation.names,
            leaves=np.concatenate([labels, homes]).astype(np.int64),
        )
        return replace(known, size_bound=size_bound)

    def _search_objective(self, table: Matrix) -> Objective | None:
        """Return the objective that was minimised, for a second search; None if it is not known."""
        training = self._fitted().training
        return None if training is None else training.objective

    def _runner_ups(self, explanation: Explanation, table: Matrix) -> Any:
        """Return the best cut of every node on another feature, if the objective is known."""
        from spexplain.facts import runner_ups

        objective, training = self._search_objective(table), explanation.training
        if objective is None or training is None:
            return None
        if not explanation.is_plain:
            raise ValueError(
                "Runner-ups are searched in tables of numbers, but X holds other columns or lacks values; pass "
                "runner_up=False."
            )
        searched = explanation.tree if training.searched is None else training.searched
        whole, weights = _whole(table, "The search for runner-ups"), training.weights
        return runner_ups(
            searched,
            whole if weights is None else whole[weights > 0],
            objective,
            columns=training.columns,
            min_samples_leaf=training.min_samples_leaf,
            n_jobs=training.n_jobs,
        )

    def plot(
        self, ax: Any = None, *, feature_names: Sequence[str] | None = None, **options: Any
    ) -> Any:
        """Draw the tree with its leaves' compositions (extra ``plot``); returns the Axes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        feature_names : list of str, optional
            Names of the columns.
        **options
            As for `spexplain.show.plots.plot_tree`.

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> ax = explainer.plot()
        >>> [text.get_text() for text in ax.texts][:2]
        ['yes', 'no']
        """
        from spexplain.show.plots import plot_tree

        return plot_tree(self.outline(feature_names), ax, **options)

    def plot_cuts(self, X: Any = None, ax: Any = None, **options: Any) -> Any:
        """Draw rows and cuts in the plane of the two columns tested most; returns the Axes.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features), optional
            The training rows, if the model does not remember them.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        **options
            As for `spexplain.show.plots.plot_cuts`.

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> ax = explainer.plot_cuts()
        >>> ax.get_xlabel(), ax.get_ylabel()
        ('age', 'orders')
        """
        from spexplain.show.plots import plot_cuts

        explanation = self._fitted()
        reference = explanation.row_reference
        options.setdefault("names", explanation.fields)
        labels = None if reference is None else reference.labels
        return plot_cuts(
            _whole(self._rows(X), "This plot"), explanation.tree, labels, ax, **options
        )

    def plot_path(self, ax: Any = None) -> Any:
        """Draw fidelity and cost ratio against the number of leaves; returns the Axes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> ax = explainer.plot_path()
        >>> ax.get_xlabel()
        'leaves'
        """
        from spexplain.show.plots import plot_path

        return plot_path(self.outline(), ax)

    def plot_curve(self, ax: Any = None) -> Any:
        """Draw the value of the best tree of every size, for ``BestTree(n_leaves="auto")``; returns the Axes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
        >>> explainer = BestTree(n_leaves="auto").fit(X, ["a", "a", "b", "b", "a", "a"])
        >>> ax = explainer.plot_curve()
        >>> ax.get_xlabel()
        'leaves'
        """
        from spexplain.show.plots import plot_curve

        return plot_curve(self.outline(), ax)

    def plot_profiles(self, X: Any = None, ax: Any = None, **options: Any) -> Any:
        """Draw how the rows of each leaf differ from the others, column by column; returns the Axes.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features), optional
            The training rows, if the model does not remember them.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        **options
            As for `spexplain.show.plots.plot_profiles`.

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> ax = explainer.plot_profiles()
        >>> [tick.get_text() for tick in ax.get_yticklabels()]
        ['leaf 0: new (50%)', 'leaf 1: VIP (50%)']
        """
        from spexplain.show.plots import plot_profiles

        explanation = self._fitted()
        table = self._rows(X)
        return plot_profiles(_summarized(explanation.with_rows(table), table), ax, **options)

    def plot_segments(self, X: Any = None, *, title: str | None = None) -> Any:
        """Draw the segments side by side, in the size of a slide (extra ``plot``); returns the Figure.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features), optional
            The training rows, if the model does not remember them; without rows, cards have no telling columns.
        title : str, optional
            Heading of the picture.

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> figure = explainer.plot_segments()
        >>> figure.axes[0].texts[0].get_text()
        '2 segments, explained'
        """
        from spexplain.show.plots import plot_segments

        return plot_segments(self._card_facts(X), title=title)

    def picture(
        self, path: str | PathLike[str], X: Any = None, *, title: str | None = None
    ) -> Path:
        """Write the segments as one picture for slides.

        Parameters
        ----------
        path : str or path
            The file; its ending sets the format: .png, .svg or .pdf (extra ``plot``), or .pptx (extra
            ``office``), a slide with editable shapes and texts.
        X : array or data frame of shape (n_samples, n_features), optional
            The training rows, if the model does not remember them.
        title : str, optional
            Heading of the picture.

        Returns
        -------
        path : Path
            Where it was written.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> with TemporaryDirectory() as folder:
        ...     explainer.picture(Path(folder, "segments.svg")).name
        'segments.svg'
        """
        return write_file(path, self._picture(Path(path).suffix, X, title))

    def _picture(self, ending: str, X: Any = None, title: str | None = None) -> bytes:
        """Return the content of a picture of the segments."""
        ending = ending.lower().lstrip(".")
        check_choice("ending of path", ending, PICTURES)
        if ending == "pptx":
            from spexplain.show.slides import segments_slide

            return segments_slide(self._card_facts(X), title=title)
        from spexplain.show.plots.style import pyplot

        figure = self.plot_segments(X, title=title)
        file = BytesIO()
        # Dates and random names of clips would make every file differ.
        with pyplot().rc_context({"svg.hashsalt": "spexplain"}):
            figure.savefig(file, format=ending, dpi=150, metadata=_NO_DATE[ending])
        pyplot().close(figure)
        return file.getvalue()

    def _card_facts(self, X: Any) -> Summary:
        """Return the facts that the cards show."""
        from spexplain.facts.segments import segment_facts

        self._verdict()
        table = self._rows_if_known(X)
        explanation = self._fitted()
        if table is not None:
            explanation = explanation.with_rows(table)
        facts = self.outline()
        facts["segments"] = segment_facts(
            explanation,
            table,
            names=explanation.fields,
            telling_columns=self._telling_columns(explanation),
        )
        return facts

    def report(
        self,
        path: str | PathLike[str],
        X: Any = None,
        y: Any = None,
        *,
        title: str | None = None,
        feature_names: Sequence[str] | None = None,
        runner_up: bool | None = None,
        certificate: bool | None = None,
        segment_names: Mapping[Any, str] | None = None,
        row_ids: Any = None,
        texts: Sequence[str] | None = None,
    ) -> Path:
        """Write the explanation as one HTML file that needs no network (extra ``report``).

        Parameters
        ----------
        path : str or path
            The file; it is replaced if it exists, and never left half-written.
        X : array or data frame of shape (n_samples, n_features), optional
            The training rows, if the model does not remember them; without rows, the report only shows the
            statistics of values that the model holds. Or other rows, with their labels.
        y : array of shape (n_samples,), optional
            Labels of rows other than the training rows; the report then describes those rows.
        title : str, optional
            Heading of the report.
        feature_names : list of str, optional
            Names of the columns; by default those of the training table, or x0, x1, ...
        runner_up, certificate : bool, optional
            As for `summary`.
        segment_names : mapping, optional
            Names of the clusters by label, as for `renamed`.
        row_ids : array of shape (n_samples,), optional
            Names of the rows, for example customer numbers; by default those of a pandas frame, or the row numbers
            from 0.
        texts : sequence of str, optional
            A text for every row, such as the document that its word columns come from: the report shows three for every
            cluster, with words of the rule and telling words marked.

        Returns
        -------
        path : Path
            Where it was written.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> with TemporaryDirectory() as folder:
        ...     explainer.report(Path(folder, "customers.html"), title="Customers").name
        'customers.html'
        """
        from spexplain.facts.rows import add_profile
        from spexplain.show.report import render, write

        if segment_names is not None:
            given = {str(key): str(name) for key, name in segment_names.items()}
            return self.renamed(segment_names).report(
                path,
                X,
                None if y is None else [given.get(str(each), str(each)) for each in y],
                title=title,
                feature_names=feature_names,
                runner_up=runner_up,
                certificate=certificate,
                row_ids=row_ids,
                texts=texts,
            )
        self._verdict()  # includes the next step
        training = self._fitted().training
        if X is None and (training is None or training.table is None):
            facts = self.outline(feature_names)
            add_profile(facts, self._fitted().profile)
        else:
            facts = self.summary(
                X,
                y,
                feature_names=feature_names,
                runner_up=runner_up,
                certificate=certificate,
                row_ids=row_ids,
            )
        if texts is not None:
            texts = list(texts)
            if not facts["has_rows"]:
                raise ValueError(
                    "texts belong to training rows, which this model does not hold; pass those rows as X, too."
                )
            check_texts(texts, facts["n_rows"])
        return write(path, render(facts, title=title, texts=texts))

    def to_sql(
        self,
        *,
        dialect: DialectName = "duckdb",
        table: str | Sequence[str] | None = None,
        label: LabelKind = "leaf",
        name: str = "cluster",
        view: str | Sequence[str] | None = None,
        booleans: bool = False,
        feature_names: Sequence[str] | None = None,
    ) -> str:
        """Return the tree as a CASE expression, a query or a view.

        Missing values (NULL, or NaN) go where each test sends them; with ``missing="error"`` such rows get NULL.

        Parameters
        ----------
        dialect : {"duckdb", "postgresql", "sqlite", "bigquery", "snowflake", "mysql"}
            The database.
        table : str or sequence of str, optional
            The table to label (dots separate its schema); if it is given, a complete query is returned.
        label : {"leaf", "reference"}
            Leaf ids, or the reference label that each leaf stands for.
        name : str
            Name of the new column in a query or view.
        view : str or sequence of str, optional
            Name of a view over `table` to create.
        booleans : bool, default=False
            Whether to add a boolean column per label that tells whether a row has it, such as ``cluster_vip``.
        feature_names : list of str, optional
            Names of the columns in the database; by default those of the training table.

        Returns
        -------
        sql : str

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> print(explainer.to_sql(dialect="duckdb", table="customers", label="reference"))
        SELECT *,
          CASE
            WHEN "age" <= 40 OR "age" IS NULL OR isnan("age") THEN 'new'
            ELSE 'VIP'
          END AS "cluster"
        FROM "customers";
        """
        from spexplain.export.sql import to_sql

        return to_sql(
            self._fitted(feature_names),
            dialect=dialect,
            table=table,
            label=label,
            name=name,
            view=view,
            booleans=booleans,
        )

    def to_dbt(
        self,
        folder: str | PathLike[str],
        *,
        table: str,
        model: str | None = None,
        dialect: DialectName = "duckdb",
        label: LabelKind = "leaf",
        name: str = "cluster",
        booleans: bool = True,
        force: bool = False,
    ) -> list[Path]:
        """Write a dbt model that labels the rows of a table, its description and its tests.

        Parameters
        ----------
        folder : str or path
            The dbt project; files are written into its folders ``models`` and ``tests``.
        table : str
            The dbt model to label, or ``source.table``, which must be declared in the project as a source.
        model : str, optional
            Name of the new model; by default the name of the table followed by ``_clusters``.
        dialect : {"duckdb", "postgresql", "sqlite", "bigquery", "snowflake", "mysql"}
            The database.
        label : {"leaf", "reference"}
            Leaf ids, or the reference label that each leaf stands for.
        name : str
            Name of the new column.
        booleans : bool, default=True
            Whether to add a boolean column per label that tells whether a row has it.
        force : bool, default=False
            Whether existing files are replaced.

        Returns
        -------
        paths : list of Path
            The files that were written.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> with TemporaryDirectory() as folder:
        ...     [path.name for path in explainer.to_dbt(folder, table="customers")]
        ['customers_clusters.sql', 'customers_clusters.yml', 'customers_clusters_has_all_rows.sql',
        'customers_clusters_has_known_labels.sql']
        """
        from spexplain.export.dbt import dbt_files

        files = dbt_files(
            self._fitted(),
            table=table,
            model=model,
            dialect=dialect,
            label=label,
            name=name,
            booleans=booleans,
        )
        paths = {Path(folder) / place: content for place, content in files.items()}
        for path in paths:
            path.parent.mkdir(parents=True, exist_ok=True)
        return [write_file(path, content, force=force) for path, content in paths.items()]

    def to_polars(
        self,
        *,
        label: LabelKind = "leaf",
        name: str = "cluster",
        feature_names: Sequence[str] | None = None,
    ) -> Any:
        """Return the tree as an expression of polars, for eager and lazy frames.

        Parameters
        ----------
        label : {"leaf", "reference"}
            Leaf ids, or the reference label that each leaf stands for.
        name : str
            Name of the new column.
        feature_names : list of str, optional
            Names of the columns in the frame; by default those of the training table.

        Returns
        -------
        expression : polars.Expr

        Examples
        --------
        >>> import polars as pl
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> frame = pl.DataFrame({"age": [22, 70], "orders": [1, 3]})
        >>> frame.select(explainer.to_polars(label="reference"))["cluster"].to_list()
        ['new', 'VIP']
        """
        from spexplain.export.expressions import to_polars

        return to_polars(self._fitted(feature_names), label=label, name=name)

    def to_pyspark(
        self,
        *,
        label: LabelKind = "leaf",
        name: str = "cluster",
        feature_names: Sequence[str] | None = None,
    ) -> Any:
        """Return the tree as a column of PySpark, for `DataFrame.withColumn`; a session must be active.

        Parameters
        ----------
        label : {"leaf", "reference"}
            Leaf ids, or the reference label that each leaf stands for.
        name : str
            Name of the new column.
        feature_names : list of str, optional
            Names of the columns in the frame; by default those of the training table.

        Returns
        -------
        column : pyspark.sql.Column

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> frame.withColumn("cluster", explainer.to_pyspark(label="reference"))  # doctest: +SKIP
        """
        from spexplain.export.expressions import to_pyspark

        return to_pyspark(self._fitted(feature_names), label=label, name=name)

    def to_json(self, *, profile: ProfileName = "tested") -> str:
        """Return the model as JSON text that `spexplain.from_json` reads: exact floats, no pickle.

        Parameters
        ----------
        profile : {"tested", "all", "rows", "none"}, default="tested"
            Columns for which the model stores statistics of the training rows, for `check`: range, quantiles,
            share of missing values, categories with their counts. Unless it is "none", the model also stores the
            most telling columns of every cluster, for `segments`. Only "rows" stores the rows themselves, with
            labels and weights, so that the model read again can do all that this one can with rows, and edits
            have exact figures.

        Returns
        -------
        text : str

        Examples
        --------
        >>> from spexplain import from_json
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> from_json(explainer.to_json()).predict([[22, 1], [70, 3]])
        array([0, 1])
        """
        from spexplain.export.serialize import to_json

        explanation = self._with_needed_leaves()
        if profile != "none":
            explanation = self._with_telling(explanation)
        return to_json(explanation, profile=profile)

    def _with_telling(self, explanation: Explanation, *, most: int = _MOST_TOLD) -> Explanation:
        """Return the explanation with the most telling columns of its clusters, if its rows are available."""
        from spexplain.facts.segments import telling_columns_of

        try:
            table = self._rows_if_known(None)
        except ValueError:  # it has changed since the fit
            return explanation
        if table is None or explanation.classes is None:
            return explanation
        if table.shape[0] * table.shape[1] > most:
            return explanation
        memory = self._fitted().remembered
        if "told" not in memory:
            columns = self._telling_columns(explanation)
            memory["told"] = telling_columns_of(explanation, table, explanation.fields, columns)
        found = replace(explanation, told=memory["told"])
        vars(found)["trees"] = explanation.trees  # not to be computed again
        return found

    def to_python(
        self, *, label: LabelKind = "leaf", feature_names: Sequence[str] | None = None
    ) -> str:
        """Return the source of a function ``predict(row)`` that needs nothing but Python.

        Parameters
        ----------
        label : {"leaf", "reference"}
            What the function returns.
        feature_names : list of str, optional
            Keys, for rows that are mappings; by default the names of the training table.

        Returns
        -------
        source : str

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> names = {}
        >>> exec(explainer.to_python(label="reference"), names)
        >>> names["predict"]({"age": 22, "orders": 1})
        'new'
        """
        from spexplain.export.python_source import to_python

        return to_python(self._fitted(feature_names), label=label)

    def to_sklearn(self, X: Any = None, *, label: LabelKind = "leaf") -> Any:
        """Return the tree as a fitted scikit-learn classifier, for plots and explainers made for scikit-learn.

        Its nodes hold the class shares of the training rows, which `predict_proba` returns.
        scikit-learn rounds rows to float32; with `X`, thresholds are adapted to those rows, and a warning
        tells how many rows still get another label. The classifier reads numbers: its attribute
        ``encoding_`` describes how to pass categories, booleans, dates and durations.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features), optional
            Rows on which the two must agree, usually the training rows.
        label : {"leaf", "reference"}
            The classes: leaf ids, or the reference label that each leaf stands for.

        Returns
        -------
        classifier : sklearn.tree.DecisionTreeClassifier

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> tree = explainer.to_sklearn()
        >>> type(tree).__name__, int(tree.get_n_leaves())
        ('DecisionTreeClassifier', 2)
        """
        from spexplain.export.sklearn_tree import to_sklearn

        rows = None if X is None else self._rows(X)
        return to_sklearn(self._fitted(), rows, label=label)

    def to_onnx(
        self, X: Any = None, *, label: LabelKind = "leaf", input_type: InputType = "float64"
    ) -> Any:
        """Return the tree as an ONNX model; thresholds stay float64. Needs the extra ``onnx``.

        The model reads numbers: its property ``encoding`` describes how to pass categories, booleans, dates
        and durations; NaN is a missing value.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features), optional
            Rows, usually the training rows; a warning tells how many of them get another label when rounded to
            float32. No effect for float64, which rounds nothing.
        label : {"leaf", "reference"}
            The output, which also carries this name.
        input_type : {"float64", "float32"}
            Type of the input ``X``, shape (n_rows, n_features); float32 for runtimes without double.

        Returns
        -------
        model : onnx.ModelProto

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> explainer.to_onnx().graph.name
        'BestTree'
        """
        from spexplain.export.onnx_graph import to_onnx

        rows = None if X is None else self._check_rows(X).to_host()
        return to_onnx(self._fitted(), rows, label=label, input_type=input_type)


def _rows_of_all_columns(X: Any, rows: Matrix, explanation: Explanation) -> HostTable:
    """Return rows as a table that also holds the columns that no test uses, as they are in X."""
    values, fields = np.array(rows, dtype=np.float64), list(explanation.fields)
    if is_frame(X) and explanation.columns is not None:
        found, described = encoded(X)
        places = {column.name: place for place, column in enumerate(described)}
        for at, field in enumerate(fields):
            place = places.get(field.name)
            if at not in explanation.used and place is not None:
                values[:, at], fields[at] = found[:, place], described[place]
    lacks = np.asarray(np.isnan(values).any(axis=0)).tolist()
    kept = [
        replace(each, has_missing=bool(each.has_missing or gap))
        for each, gap in zip(fields, lacks, strict=True)
    ]
    return HostTable(values, described=tuple(kept))


def _why_no_graph(explanation: Explanation) -> str | None:
    """Return why nothing can be proved on the graph that a tree was grown for; None if it can."""
    if explanation.node_weights is not None:
        return (
            "Certificates are known for rows that all count once; fit without sample_weight and memberships to "
            "have one."
        )
    if explanation.training is None or explanation.training.graph is None:
        return (
            "A certificate is about the graph that the tree was grown for, which models from JSON, with start= or "
            "after edits do not hold; ask an estimator without these, or use "
            "spexplain.facts.certificates.certify with the graph."
        )
    if explanation.has_objects:
        return (
            "A certificate is about tables of numbers, but this one holds categories, dates or durations, so it "
            "has none."
        )
    return None


def _is_text(labels: Array) -> bool:
    return len(labels) > 0 and isinstance(labels.tolist()[0], str)


def _whole(table: Any, what: str) -> Matrix:
    """Return the table, made dense if it is sparse."""
    if not is_sparse(table):
        return table  # type: ignore[no-any-return]
    return densified(table, what, "leave it out")


def _summarized(explanation: Explanation, table: Matrix | None, **more: Any) -> Summary:
    from spexplain.facts import summarize

    return summarize(
        explanation,
        table,
        names=explanation.fields,
        leaf_reference=explanation.leaf_reference,
        path=explanation.path,
        method=explanation.method,
        parameters=explanation.parameters,
        **more,
    )


def summary_of_rows(model: FittedModel, explanation: Explanation, table: Matrix) -> Summary:
    """Return all facts about a model on rows other than the training rows."""
    other = copy(model)
    other._set_explanation(explanation)
    return other._summarized(explanation, table, verdict=other._verdict(quick=True))


def _renamed(function: FunctionType, qualname: str) -> FunctionType:
    """Return the same function under another qualified name."""
    same = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    same.__kwdefaults__ = function.__kwdefaults__
    same.__doc__, same.__module__ = function.__doc__, function.__module__
    same.__annotations__, same.__qualname__ = function.__annotations__, qualname
    return same
