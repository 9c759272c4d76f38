"""Explanations as data: facts, why a row is where it is, what is proved."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from spexplain.aliases import Floats, Ints, Matrix
from spexplain.estimators.explained import Explained, PathStep
from spexplain.export import Exports
from spexplain.facts import Summary, feature_importances, summarize
from spexplain.facts.certificates import Certificate, certify
from spexplain.facts.counterfactual import explain_row
from spexplain.facts.row_schema import RowExplanation
from spexplain.graphs import Graph
from spexplain.table.base import Table
from spexplain.table.columns import column_numbers
from spexplain.table.read import read_rows
from spexplain.tree import Tree

_SMALL = 1_000_000  # entries of a table up to which everything is computed without being asked for


class Explaining(Exports, ClusterMixin, BaseEstimator):
    """Methods of a fitted estimator that explain and write its tree.

    Those that describe rows take the training table as `X`. An estimator remembers the table that it
    was fitted to, so `X` is needed only after loading it from a pickle, which leaves the table out.
    """

    tree_: Tree
    n_features_in_: int
    _explained: Explained
    _table: Table | None
    _scales: Floats
    _graph: Graph
    _words_for_features: ClassVar[tuple[str, ...]] = ()

    @property
    @abstractmethod
    def path_(self) -> list[PathStep]:
        """The trees of 1, 2, ... leaves that growth passed."""

    def summary(
        self,
        X: Any = None,
        *,
        feature_names: Sequence[str] | None = None,
        runner_up: bool | None = None,
        certificate: bool | None = None,
    ) -> Summary:
        """Return all facts about the explanation as plain data, ready for JSON.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features), optional
            The training rows, if the estimator does not remember them.
        feature_names : list of str, optional
            Names of the columns; by default those of the training table, or x0, x1, ...
        runner_up : bool, optional
            Also find the best cut of every node on another feature, which takes a second search; by
            default for tables of up to a million entries.
        certificate : bool, optional
            Also compute what is proved about the tree; by default likewise.

        Returns
        -------
        summary : dict
            Its entries are described in `spexplain.facts.schema`.
        """
        check_is_fitted(self)
        table = self._rows(X)
        is_small = table.size <= _SMALL
        proof = seconds = None
        if certificate or (certificate is None and is_small):
            proof = self._certified(table, feature_names)
        if runner_up or (runner_up is None and is_small):
            seconds = self._runner_ups(table)
        return self._summary(table, feature_names, certificate=proof, seconds=seconds)

    def outline(self, feature_names: Sequence[str] | None = None) -> Summary:
        """Return the facts that need no rows: a summary without profiles, examples and points.

        Parameters
        ----------
        feature_names : list of str, optional
            Names of the columns; by default those of the training table, or x0, x1, ...

        Returns
        -------
        summary : dict
            With the same entries as `summary`, those about rows None or empty.
        """
        check_is_fitted(self)
        return self._summary(None, feature_names)

    def _summary(
        self, table: Matrix | None, feature_names: Sequence[str] | None = None, **more: Any
    ) -> Summary:
        return summarize(
            self._explained,
            table,
            names=self._names(feature_names),
            leaf_reference=getattr(self, "leaf_reference_", None),
            path=self.path_,
            method=type(self).__name__,
            parameters=self.get_params(deep=False),
            **more,
        )

    @abstractmethod
    def _runner_ups(self, table: Matrix) -> Any:
        """Return the second-best cut of every node, on another feature."""

    def _names(self, given: Sequence[str] | None) -> list[str]:
        """Return the names of the columns: given, of the training table, or x0, x1, ..."""
        if given is not None:
            if len(given) != self.n_features_in_:
                raise ValueError(
                    f"feature_names has {len(given)} entries, but the table has {self.n_features_in_} columns."
                )
            return list(given)
        if hasattr(self, "feature_names_in_"):
            return [str(name) for name in self.feature_names_in_]
        return [f"x{column}" for column in range(self.n_features_in_)]

    def _rows(self, X: Any) -> Matrix:
        """Return the training rows on the host: given, or remembered."""
        if X is not None:
            return read_rows(X, self).to_host()
        remembered: Table | None = getattr(self, "_table", None)
        if remembered is None:
            raise ValueError("This estimator does not remember its training rows; pass them as X.")
        return remembered.training_rows()

    def _column_numbers(self) -> Ints:
        """Return the columns that cuts may use, in increasing order."""
        # KernelIMM takes some words here that say which features it makes, not which columns it uses.
        features: Any = self.get_params(deep=False)["features"]
        is_word = isinstance(features, str) and features in self._words_for_features
        names = getattr(self, "feature_names_in_", None)
        return column_numbers(None if is_word else features, names, self.n_features_in_)

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
            The path with the margin at each threshold, and changes of one and of two features that
            reach another leaf and another label; `spexplain.facts.counterfactual.row_text` puts it into
            words.
        """
        check_is_fitted(self)
        given = row if hasattr(row, "columns") else np.atleast_2d(np.asarray(row))
        table = read_rows(given, self).to_host()
        if len(table) != 1:
            raise ValueError(f"row must be a single row, got {len(table)}.")
        return explain_row(
            self.tree_,
            table[0],
            names=self._names(feature_names),
            scales=self._scales,
            leaf_labels=getattr(self, "leaf_reference_", None),
        )

    def certificate(
        self, X: Any = None, *, feature_names: Sequence[str] | None = None
    ) -> Certificate:
        """Return what is proved about the tree on the graph it was grown for.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features), optional
            The training rows, if the estimator does not remember them.
        feature_names : list of str, optional
            Names of the columns; by default those of the training table, or x0, x1, ...

        Returns
        -------
        certificate : Certificate
        """
        check_is_fitted(self)
        return self._certified(self._rows(X), feature_names)

    def _certified(self, table: Matrix, feature_names: Sequence[str] | None) -> Certificate:
        return certify(
            self._graph,
            table,
            self.tree_,
            features=self._column_numbers().tolist(),
            feature_names=self._names(feature_names),
        )

    @property
    def feature_importances_(self) -> Floats:
        """Share of each feature in what the tests achieve: the drop of impurity of the reference.

        Without a reference, of the leaves themselves. Never negative; the sum is 1, or 0 if no test
        achieves anything.
        """
        check_is_fitted(self, "tree_")
        counts = None if self._explained.reference is None else self._explained.node_counts
        return feature_importances(self.tree_, counts)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the training rows out of pickles."""
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_table"}
