"""What all estimators share: one walk from a table to a tree, and reading the tree afterwards."""

import time
import warnings
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from numbers import Integral
from sys import stderr
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from spexplain.engines import Engine, resolve_engine
from spexplain.estimators.reference import Reference
from spexplain.exceptions import LeafCountWarning
from spexplain.grow import grow
from spexplain.objectives import Objective
from spexplain.references.named import cluster
from spexplain.rules import rule_text, tree_text
from spexplain.tree import Tree
from spexplain.typing import Array, EngineName, Ints, Matrix, NoisePolicy


class Explainer(ClusterMixin, BaseEstimator):
    """Explain a clustering with a small tree; a subclass says which graph and formula by `_objective`."""

    _needs_reference: ClassVar[bool] = True

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_leaves: int | None = None,
        reference: Any = "spectral",
        max_depth: int | None = None,
        min_samples_leaf: int = 1,
        features: Sequence[int | str] | None = None,
        noise: NoisePolicy = "ignore",
        engine: EngineName | Engine = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_leaves = n_leaves
        self.reference = reference
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.features = features
        self.noise = noise
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @abstractmethod
    def _objective(self, X: Matrix, reference: Reference | None) -> Objective:
        """Return the graph and formula of the method."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            The table in whose columns the explanation speaks.
        y : array of shape (n_samples,), optional
            Reference labels of any type, explained as they are. Without them, methods that need a
            reference compute it by `reference`; methods that need none only compare themselves with
            `y`.

        Returns
        -------
        self
        """
        self._check_parameters()
        X = self._checked(X, reset=True)
        columns = self._columns()
        with self._stage("reference"):
            reference = self._reference(X, y)
        with self._stage("graph"):
            objective = self._objective(X, reference)
        n_leaves = self._wanted_leaves(reference)
        with self._stage("tree"):
            engine = resolve_engine(self.engine, n_jobs=self.n_jobs)
            table = X if len(columns) == X.shape[1] else X[:, columns]
            search = engine.bind(table, objective, min_samples_leaf=self.min_samples_leaf)
            tree = grow(search, max_leaves=n_leaves, max_depth=self.max_depth)
        self._keep(tree.renumbered(columns, X.shape[1]), X, reference, n_leaves)
        return self

    def _keep(self, tree: Tree, X: Matrix, reference: Reference | None, n_leaves: int) -> None:
        """Set the fitted attributes."""
        if tree.n_leaves < n_leaves:
            warnings.warn(
                f"The tree has {tree.n_leaves} leaves instead of {n_leaves}: no other valid cut was left.",
                LeafCountWarning,
                stacklevel=3,
            )
        self.tree_ = tree
        self.n_leaves_ = tree.n_leaves
        self.labels_ = tree.apply(X)
        self.objective_ = float(tree.value[tree.leaves].sum())
        for stale in ("reference_labels_", "leaf_reference_"):
            self.__dict__.pop(stale, None)
        if reference is not None:
            self.reference_labels_ = reference.labels
            self.leaf_reference_ = reference.majority(self.labels_, tree.n_leaves)

    def predict(self, X: Any) -> Ints:
        """Return the leaf id of every row: 0 to ``n_leaves_ - 1``, numbered from left to right.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
            Rows with the columns of the training table.

        Returns
        -------
        labels : array of int, shape (n_rows,)
        """
        check_is_fitted(self)
        return self.tree_.apply(self._checked(X, reset=False))

    def predict_reference(self, X: Any) -> Array:
        """Return the reference label that each row's leaf stands for, in the caller's own label type.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
            Rows with the columns of the training table.

        Returns
        -------
        labels : array of shape (n_rows,)
        """
        check_is_fitted(self)
        if not hasattr(self, "leaf_reference_"):
            raise ValueError(
                f"{type(self).__name__} was fitted without reference labels; pass them to fit as y to have "
                "leaves named after them."
            )
        return np.asarray(self.leaf_reference_[self.predict(X)])

    def rules(self, feature_names: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Return one record per leaf: leaf id, rule in words, samples, share, and its reference label with purity.

        Parameters
        ----------
        feature_names : list of str, optional
            Names of the columns; by default those of the training table, or x0, x1, ...

        Returns
        -------
        records : list of dict
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
            own = self.reference_labels_ == self.leaf_reference_[self.labels_]
            hits = np.bincount(self.labels_[own], minlength=tree.n_leaves)
            for leaf, record in enumerate(records):
                record["reference"] = self.leaf_reference_[leaf]
                record["purity"] = float(hits[leaf] / max(sizes[leaf], 1))
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
        """
        texts = []
        for record in self.rules():
            text = f"leaf {record['leaf']} ({record['size']} rows"
            if "reference" in record:
                text += f", {record['purity']:.0%} {record['reference']}"
            texts.append(text + ")")
        return tree_text(self.tree_, self._names(feature_names), texts)

    def _names(self, given: Sequence[str] | None) -> list[str]:
        if given is not None:
            if len(given) != self.n_features_in_:
                raise ValueError(
                    f"feature_names has {len(given)} entries, but the table has {self.n_features_in_} columns."
                )
            return list(given)
        if hasattr(self, "feature_names_in_"):
            return [str(name) for name in self.feature_names_in_]
        return [f"x{column}" for column in range(self.n_features_in_)]

    def _check_parameters(self) -> None:
        """Refuse parameters out of range in one sentence."""
        for name in ("n_clusters", "min_samples_leaf"):
            self._check_integer(name, 1)
        for name in ("n_leaves", "max_depth"):
            if getattr(self, name) is not None:
                self._check_integer(name, 1)
        self._check_choice("noise", ("ignore", "cluster"))

    def _check_integer(self, name: str, least: int) -> None:
        value = getattr(self, name)
        if not _is_integer(value) or value < least:
            raise ValueError(f"{name}={value!r} must be an integer of at least {least}.")

    def _check_choice(self, name: str, choices: tuple[str, ...]) -> None:
        value = getattr(self, name)
        if value not in choices:
            listed = " or ".join(f'"{choice}"' for choice in choices)
            raise ValueError(f"{name}={value!r} must be {listed}.")

    def _checked(self, X: Any, *, reset: bool) -> Matrix:
        """Return X as a float matrix; refuse text, NaN, infinities, and at fit a table without a cut."""
        try:
            table: Matrix = validate_data(
                self,
                X,
                reset=reset,
                dtype=[np.float64, np.float32],
                ensure_all_finite=False,
                ensure_min_samples=2 if reset else 1,
            )
        except ValueError as error:
            if "could not convert string to float" not in str(error):
                raise
            raise ValueError(
                f"X holds text ({error}); encode such columns as numbers or leave them out."
            ) from None
        finite = np.isfinite(table)
        if not finite.all():
            row, column = (int(at[0]) for at in np.nonzero(~finite))
            raise ValueError(
                f"X contains NaN or infinity, first in row {row}, column {self._name_of(column)}; "
                "remove or replace such values."
            )
        if reset and not np.any(table[1:] != table[0]):
            raise ValueError("All columns of X are constant, so no cut can tell any rows apart.")
        return table

    def _name_of(self, column: int) -> str:
        names = getattr(self, "feature_names_in_", None)
        return str(column) if names is None else repr(str(names[column]))

    def _columns(self) -> Ints:
        """Return the columns that cuts may use, in increasing order."""
        if self.features is None:
            return np.arange(self.n_features_in_)
        if isinstance(self.features, str) or len(self.features) == 0:
            raise ValueError(
                f"features={self.features!r} must be a list of column names or numbers, or None for all."
            )
        names = list(getattr(self, "feature_names_in_", ()))
        columns = set()
        for feature in self.features:
            if isinstance(feature, str):
                if feature not in names:
                    known = ", ".join(map(str, names)) or "none: X has no column names"
                    raise ValueError(
                        f"features names the unknown column {feature!r} (known: {known})."
                    )
                columns.add(names.index(feature))
            elif _is_integer(feature) and 0 <= feature < self.n_features_in_:
                columns.add(int(feature))
            else:
                raise ValueError(
                    f"features holds {feature!r}, but X has columns 0 to {self.n_features_in_ - 1}."
                )
        return np.array(sorted(columns), dtype=np.int64)

    def _reference(self, X: Matrix, y: Any) -> Reference | None:
        """Return the clustering to explain, or to compare with, or None."""
        if y is None and not self._needs_reference:
            return None
        if y is None:
            y = cluster(self.reference, X, self.n_clusters, self.random_state)
        reference = Reference.from_labels(y, n_samples=len(X), noise=self.noise)
        if self._needs_reference and reference.n_clusters < 2:
            raise ValueError(
                f"The reference (y) has {reference.n_clusters} cluster; there is nothing to tell apart "
                "with fewer than two."
            )
        return reference

    def _wanted_leaves(self, reference: Reference | None) -> int:
        if self.n_leaves is not None:
            return int(self.n_leaves)
        if reference is not None and self._needs_reference:
            return reference.n_clusters
        return int(self.n_clusters)

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        """Say how long a stage took, if asked to."""
        start = time.perf_counter()
        yield
        if self.verbose:
            seconds = time.perf_counter() - start
            print(f"[{type(self).__name__}] {name:<9} {seconds:8.3f} s", file=stderr, flush=True)


def _is_integer(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)
