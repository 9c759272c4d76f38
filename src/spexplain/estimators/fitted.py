"""What can be asked of a fitted estimator: leaves of rows, rules, smaller trees."""

from collections.abc import Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from spexplain.aliases import Array, Ints
from spexplain.estimators.explained import Explained, PathStep, path_of
from spexplain.estimators.showing import Showing
from spexplain.table.places import is_collection, look_up
from spexplain.table.read import read_rows
from spexplain.table.records_out import TableKind, as_table
from spexplain.tree import Tree
from spexplain.tree.words import rule_text, tree_text


class FittedTree(Showing):
    """An estimator whose fit ends in a tree."""

    tree_: Tree
    n_leaves_: int
    labels_: Ints
    objective_: float
    _grown: Explained  # as grown, before "auto" or a refinement changed it

    def _set_fitted(self, explained: Explained) -> None:
        """Set the fitted attributes."""
        tree, reference = explained.tree, explained.reference
        self._explained = explained
        self.tree_ = tree
        self.n_leaves_ = tree.n_leaves
        self.labels_ = explained.labels
        self.objective_ = float(tree.value[tree.leaves].sum())
        for stale in ("reference_labels_", "leaf_reference_"):
            self.__dict__.pop(stale, None)
        if reference is not None:
            self.reference_labels_ = reference.labels
            self.leaf_reference_ = self._leaf_reference(explained)

    def _leaf_reference(self, explained: Explained) -> Array:
        """Return the reference label that each leaf stands for: the commonest."""
        assert explained.reference is not None
        return explained.reference.majority(explained.counts)

    @property
    def path_(self) -> list[PathStep]:
        """The trees of 1, 2, ... leaves that growth passed, before any refinement."""
        check_is_fitted(self, "_grown")
        return path_of(self._grown)

    def truncated(self, n_leaves: int) -> Self:
        """Return a copy of the fitted estimator with the tree as it was with fewer leaves.

        Parameters
        ----------
        n_leaves : int
            Between 1 and the number of leaves that were grown.

        Returns
        -------
        explainer : estimator of the same type
            Fitted; its tree is the grown one, before any refinement.
        """
        check_is_fitted(self)
        smaller = copy(self)
        smaller._set_fitted(self._grown.truncated(n_leaves))
        return smaller

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
        """
        check_is_fitted(self)
        labels: Ints = read_rows(X, self).leaves(self.tree_)
        return labels

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
        """
        check_is_fitted(self)
        if not hasattr(self, "leaf_reference_"):
            raise ValueError(
                f"{type(self).__name__} was fitted without reference labels; pass them to fit as y to have "
                "leaves named after them."
            )
        return look_up(self.leaf_reference_, self.predict(X))  # type: ignore[no-any-return]

    def rules(
        self, feature_names: Sequence[str] | None = None, *, output: TableKind = "auto"
    ) -> Any:
        """Return one record per leaf: its rule in words, samples, share, reference label and purity.

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
        """
        check_is_fitted(self)
        names, tree = self._names(feature_names), self.tree_
        sizes = tree.size[tree.leaves]
        records = [
            {
                "leaf": leaf,
                "rule": rule_text(tree, leaf, names),
                "size": int(sizes[leaf]),
                "share": float(sizes[leaf] / tree.size[0]),
            }
            for leaf in range(tree.n_leaves)
        ]
        if hasattr(self, "leaf_reference_"):
            hits = self._hits()
            for leaf, record in enumerate(records):
                record["reference"] = self.leaf_reference_[leaf]
                record["purity"] = float(hits[leaf] / max(sizes[leaf], 1))
        return as_table(records, output)

    def _hits(self) -> Ints:
        """Return how many rows of every leaf carry the label that it stands for."""
        if not is_collection(self.labels_):
            own = self.reference_labels_ == self.leaf_reference_[self.labels_]
            return np.bincount(self.labels_[own], minlength=self.n_leaves_)
        assert self._explained.reference is not None
        is_own = self._explained.reference.classes == self.leaf_reference_[:, None]
        noise = self.tree_.size[self.tree_.leaves] - self._explained.counts.sum(axis=1)
        hits = np.sum(self._explained.counts, axis=1, where=is_own)
        return np.asarray(np.where(is_own.any(axis=1), hits, noise))

    def to_text(self, feature_names: Sequence[str] | None = None) -> str:
        """Return the tree as an indented drawing.

        Parameters
        ----------
        feature_names : list of str, optional
            Names of the columns; by default those of the training table, or x0, x1, ...

        Returns
        -------
        text : str
        """
        texts = []
        for record in self.rules(output="records"):
            text = f"leaf {record['leaf']} ({record['size']} rows"
            if "reference" in record:
                text += f", {record['purity']:.0%} {record['reference']}"
            texts.append(text + ")")
        return tree_text(self.tree_, self._names(feature_names), texts)
