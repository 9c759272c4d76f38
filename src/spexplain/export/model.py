"""The record that all exports read: a finished tree, the names of its columns, and of its leaves."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from spexplain._version import __version__
from spexplain.aliases import Array, Floats
from spexplain.exceptions import quoted
from spexplain.export.labels import LabelKind, check_label, plain_labels
from spexplain.tree import LEAF, Tree

_VERSION = re.compile(r"[0-9A-Za-z.+!_-]{1,64}")
_LONGEST_KIND = 100


@dataclass(frozen=True, eq=False)
class Model:
    """A fitted tree without its estimator.

    Parameters
    ----------
    tree : Tree
        The tests.
    feature_names : tuple of str, optional
        A name for each column; without them, columns are called x0, x1, ...
    leaf_reference : array of shape (n_leaves,), optional
        The reference label that each leaf stands for.
    leaf_purity : array of float, shape (n_leaves,), optional
        Share of a leaf's training rows that carry that label.
    kind : str
        Name of the estimator that was fitted.
    version : str
        Version of spexplain that fitted it.

    Examples
    --------
    >>> from spexplain.export import Model
    >>> from spexplain.tree import Tree
    >>> tree = Tree.root(n_features=2, size=10).split(0, feature=1, threshold=0.5, sizes=(4, 6))
    >>> Model(tree, feature_names=("width", "height")).used
    [1]
    """

    tree: Tree
    feature_names: tuple[str, ...] | None = None
    leaf_reference: Array | None = None
    leaf_purity: Floats | None = None
    kind: str = "Tree"
    version: str = __version__

    def __post_init__(self) -> None:
        tree = self.tree
        if self.feature_names is not None:
            if not all(isinstance(name, str) for name in self.feature_names):
                raise ValueError("feature_names must hold strings only.")
            if len(self.feature_names) != tree.n_features:
                raise ValueError(
                    f"feature_names has {len(self.feature_names)} entries, "
                    f"but the table has {tree.n_features} columns."
                )
        for name in ("leaf_reference", "leaf_purity"):
            values = getattr(self, name)
            if values is not None and np.shape(values) != (tree.n_leaves,):
                raise ValueError(
                    f"{name} must hold one entry for each of the {tree.n_leaves} leaves."
                )
        # Both are written into sources and comments, where only harmless characters may stand.
        if not (self.kind.isidentifier() and len(self.kind) <= _LONGEST_KIND):
            raise ValueError(f"kind={quoted(self.kind)} must be the name of a class.")
        if not _VERSION.fullmatch(self.version):
            raise ValueError(f"version={quoted(self.version)} must be a version number.")

    @classmethod
    def of(cls, estimator: Any, feature_names: Sequence[str] | None = None) -> Self:
        """Return the record of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator
            Anything with a `tree_`; `feature_names_in_` and `leaf_reference_` are read if there.
        feature_names : list of str, optional
            Names of the columns; by default those of the training table.

        Returns
        -------
        model : Model
        """
        if not isinstance(getattr(estimator, "tree_", None), Tree):
            from sklearn.exceptions import NotFittedError

            raise NotFittedError(
                f"This {type(estimator).__name__} is not fitted yet: call fit before exporting it."
            )
        names = getattr(estimator, "feature_names_in_", None)
        if feature_names is not None:
            names = feature_names
        reference = getattr(estimator, "leaf_reference_", None)
        return cls(
            tree=estimator.tree_,
            feature_names=None if names is None else tuple(str(name) for name in names),
            leaf_reference=None if reference is None else np.asarray(reference),
            leaf_purity=_purity(estimator),
            kind=getattr(estimator, "kind_", type(estimator).__name__),
            version=getattr(estimator, "version_", __version__),
        )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The name of every column."""
        if self.feature_names is not None:
            return self.feature_names
        return tuple(f"x{column}" for column in range(self.tree.n_features))

    @cached_property
    def used(self) -> list[int]:
        """The columns that some test reads, in increasing order."""
        return sorted({int(feature) for feature in self.tree.feature if feature != LEAF})

    @cached_property
    def leaf_ids(self) -> dict[int, int]:
        """The leaf id of every node that is a leaf."""
        return {int(node): leaf for leaf, node in enumerate(self.tree.leaves)}

    def labels(self, label: LabelKind) -> list[Any]:
        """Return the label of every leaf as a Python value; what has no plain type, as text."""
        check_label(label)
        if label == "leaf":
            return list(range(self.tree.n_leaves))
        plain = plain_labels(self.reference())
        return [str(each) for each in self.reference()] if plain is None else plain[1]

    def reference(self) -> Array:
        """Return the reference labels; refuse if there are none."""
        if self.leaf_reference is None:
            raise ValueError(
                f'label="reference" needs reference labels, but this {self.kind} was fitted without; '
                'take label="leaf", or pass labels to fit as y.'
            )
        return self.leaf_reference


def _purity(estimator: Any) -> Floats | None:
    """Return the share of each leaf's rows that carry its label, where the estimator can tell."""
    if hasattr(estimator, "leaf_purity_"):
        return np.asarray(estimator.leaf_purity_, dtype=np.float64)
    if not all(hasattr(estimator, name) for name in ("leaf_reference_", "reference_labels_")):
        return None
    labels, tree = estimator.labels_, estimator.tree_
    own = estimator.reference_labels_ == estimator.leaf_reference_[labels]
    hits = np.bincount(labels[own], minlength=tree.n_leaves)
    return np.asarray(hits / np.maximum(tree.size[tree.leaves], 1))
