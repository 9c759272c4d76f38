"""A model that was loaded, not fitted: it labels rows, tells its rules, and can be exported again."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from spexplain.aliases import Array, Ints
from spexplain.export.methods import Exports
from spexplain.export.model import Model
from spexplain.export.rows import read_rows
from spexplain.export.serialize import model_from_json
from spexplain.tree.words import rule_text, tree_text


class LoadedModel(Exports):
    """A fitted tree without its training data.

    Parameters
    ----------
    model : Model
        The tree and its names.

    Attributes
    ----------
    tree_ : Tree
        The tree.
    n_leaves_, n_features_in_ : int
        Its number of leaves, and of the columns that rows must have.
    kind_, version_ : str
        The estimator that was fitted, and the version of spexplain that did it.
    feature_names_in_ : array of str, shape (n_features,)
        Only if the training table had names.
    leaf_reference_ : array of shape (n_leaves,)
        The label each leaf stands for; only if the estimator knew reference labels.
    leaf_purity_ : array of float, shape (n_leaves,)
        Share of a leaf's training rows with that label; only if known.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self.tree_ = model.tree
        self.n_leaves_ = model.tree.n_leaves
        self.n_features_in_ = model.tree.n_features
        self.kind_, self.version_ = model.kind, model.version
        if model.feature_names is not None:
            self.feature_names_in_ = np.array(model.feature_names, dtype=object)
        if model.leaf_reference is not None:
            self.leaf_reference_ = model.leaf_reference
        if model.leaf_purity is not None:
            self.leaf_purity_ = model.leaf_purity

    def __repr__(self) -> str:
        return f"LoadedModel({self.kind_}, {self.n_leaves_} leaves, {self.n_features_in_} columns)"

    def predict(self, X: Any) -> Ints:
        """Return the leaf id of every row, as the fitted estimator did.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
            Columns of a data frame are taken by name where names are known, in any order.

        Returns
        -------
        labels : array of int, shape (n_rows,)
        """
        return self.tree_.apply(read_rows(self._model, X))

    def predict_reference(self, X: Any) -> Array:
        """Return the reference label that each row's leaf stands for.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
            As for `predict`.

        Returns
        -------
        labels : array of shape (n_rows,)
        """
        if self._model.leaf_reference is None:
            raise ValueError(f"This {self.kind_} was fitted without reference labels.")
        return np.asarray(self._model.leaf_reference[self.predict(X)])

    def rules(self, feature_names: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Return one record per leaf: leaf id, rule in words, training rows, share, label and purity.

        Parameters
        ----------
        feature_names : list of str, optional
            Names of the columns; by default the model's own.

        Returns
        -------
        records : list of dict
        """
        model = Model.of(self, feature_names)
        sizes = self.tree_.size[self.tree_.leaves].tolist()
        total = max(int(self.tree_.size[0]), 1)
        records = [
            {
                "leaf": leaf,
                "rule": rule_text(self.tree_, leaf, model.names),
                "size": size,
                "share": size / total,
            }
            for leaf, size in enumerate(sizes)
        ]
        for leaf, record in enumerate(records):
            if model.leaf_reference is not None:
                record["reference"] = model.leaf_reference[leaf]
            if model.leaf_purity is not None:
                record["purity"] = float(model.leaf_purity[leaf])
        return records

    def to_text(self, feature_names: Sequence[str] | None = None) -> str:
        """Return the tree as an indented drawing.

        Parameters
        ----------
        feature_names : list of str, optional
            Names of the columns; by default the model's own.

        Returns
        -------
        text : str
        """
        texts = []
        for record in self.rules():
            text = f"leaf {record['leaf']} ({record['size']} rows"
            if "reference" in record:
                share = f"{record['purity']:.0%} " if "purity" in record else ""
                text += f", {share}{record['reference']}"
            texts.append(text + ")")
        return tree_text(self.tree_, Model.of(self, feature_names).names, texts)


def from_json(text: str | bytes) -> LoadedModel:
    """Return the model that `to_json` wrote; anything else is refused in one sentence.

    Nothing in the text is executed, and scikit-learn fits nothing.

    Parameters
    ----------
    text : str or bytes
        JSON of this format and version.

    Returns
    -------
    model : LoadedModel

    Examples
    --------
    >>> from spexplain.export import Model, from_json, to_json
    >>> from spexplain.tree import Tree
    >>> tree = Tree.root(n_features=1, size=10).split(0, feature=0, threshold=0.1, sizes=(4, 6))
    >>> from_json(to_json(Model(tree, ("width",)))).predict([[0.1], [0.2]])
    array([0, 1])
    """
    return LoadedModel(model_from_json(text))
