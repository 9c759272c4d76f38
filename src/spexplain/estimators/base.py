"""What all estimators share: one walk from a table to a tree."""

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from inspect import signature
from typing import Any, ClassVar, Literal, Self

from spexplain.aliases import EngineName, Ints, Matrix, NoisePolicy
from spexplain.arguments import check_choice, check_integer
from spexplain.engines import Engine, resolve_engine
from spexplain.estimators.explained import (
    AUTO_LEAVES_PER_CLUSTER,
    Explained,
    check_size,
    plateau,
)
from spexplain.estimators.fitted import FittedTree
from spexplain.estimators.progress import leaf_bar, stage
from spexplain.exceptions import ClusterCountWarning, LeafCountWarning
from spexplain.graphs import Graph
from spexplain.grow import grow
from spexplain.objectives import Objective, on_columns
from spexplain.references.named import cluster
from spexplain.table.base import Table
from spexplain.table.read import read_table
from spexplain.table.reference import Reference
from spexplain.tree import Tree


class Explainer(FittedTree):
    """Explain a clustering with a small tree; a subclass says which graph and formula by `_objective`."""

    _needs_reference: ClassVar[bool] = True
    # Which engines beyond the memory of one process know the method's graph: "cupy", "dask".
    _beyond: ClassVar[tuple[str, ...]] = ()
    reference: Any  # how to compute it; a parameter of the methods that need one

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_leaves: int | Literal["auto"] | None = None,
        max_depth: int | None = None,
        min_samples_leaf: int = 1,
        features: Sequence[int | str] | None = None,
        noise: NoisePolicy = "ignore",
        refine: Literal["objective", "agreement"] | None = None,
        refine_passes: int | None = None,
        engine: EngineName | Engine = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_leaves = n_leaves
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.features = features
        self.noise = noise
        self.refine = refine
        self.refine_passes = refine_passes
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @abstractmethod
    def _objective(self, X: Matrix, reference: Reference | None) -> Objective:
        """Return the graph and formula of the method."""

    def _certified_graph(self, objective: Objective, reference: Reference | None) -> Graph:
        """Return the graph that `certificate` speaks about: the objective's own."""
        return objective.graph

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
        return self._fit(X, y)

    def fit_predict(self, X: Any, y: Any = None, **given: Any) -> Ints:
        """Grow the tree and return the leaf id of every row, `labels_`.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            The table in whose columns the explanation speaks.
        y : array of shape (n_samples,), optional
            Reference labels, as in `fit`.
        **given
            What else the estimator's `fit` takes.

        Returns
        -------
        labels : array of int, shape (n_samples,)
        """
        return self.fit(X, y, **given).labels_

    def _fit(self, X: Any, y: Any, **given: Any) -> Self:
        """Walk from the table to the tree."""
        self._check_parameters()
        table = read_table(X, self)
        self._table = table
        columns = self._column_numbers()
        chosen = table.select(columns.tolist()).values
        with self._stage("reference"):
            reference = self._reference(table, y, **given)
        if y is not None and reference is not None and self._needs_reference:
            self._warn_of_other_clusters(reference)
        n_leaves = self._wanted_leaves(reference)
        if reference is not None:  # said before the work is done
            check_size(min(n_leaves, len(table)), reference.n_clusters)
        with self._stage("graph"):
            objective = self._objective(table.values, reference)
        self._graph = self._certified_graph(objective, reference)
        objective = on_columns(objective, columns)
        with self._stage("tree"):
            tree = self._grow(chosen, objective, n_leaves)
        self._grown = Explained.of(tree.renumbered(columns, table.shape[1]), table, reference)
        if self.n_leaves == "auto":
            n_leaves = plateau(self.path_)
        final = self._grown
        if n_leaves < tree.n_leaves:
            tree, final = tree.truncate(n_leaves), final.truncated(n_leaves)
        if self.refine is not None:
            with self._stage("refine"):
                tree = self._refined(tree, chosen, objective, reference)
            final = Explained.of(tree.renumbered(columns, table.shape[1]), table, reference)
        self._scales = table.scales(final.tree.feature[final.tree.feature >= 0])
        self._set_fitted(final)
        self._warn_of_missing_leaves(n_leaves)
        return self

    def _grow(self, X: Matrix, objective: Objective, n_leaves: int) -> Tree:
        """Return the tree over the columns that cuts may use."""
        engine = resolve_engine(self.engine, n_jobs=self.n_jobs)
        start = None if objective.start is None else self._grow(X, objective.start, n_leaves)
        search = engine.bind(X, objective, min_samples_leaf=self.min_samples_leaf)
        with leaf_bar(type(self).__name__, n_leaves, self.verbose) as progress:
            return grow(
                search,
                max_leaves=n_leaves,
                max_depth=self.max_depth,
                start=start,
                progress=progress,
            )

    def _refined(
        self, tree: Tree, X: Matrix, objective: Objective, reference: Reference | None
    ) -> Tree:
        """Return the tree with its cuts re-optimised."""
        from spexplain.refine import refine

        if self.refine == "agreement" and reference is None:
            raise ValueError(
                'refine="agreement" needs a clustering to agree with; pass its labels to fit as y.'
            )
        return refine(
            tree,
            X,
            objective,
            goal="agreement" if self.refine == "agreement" else "objective",
            labels=None if reference is None else reference.codes,
            passes=self.refine_passes,
            min_samples_leaf=self.min_samples_leaf,
            n_jobs=self.n_jobs,
        )

    def _runner_ups(self, table: Matrix) -> Any:
        from spexplain.facts import runner_ups

        return runner_ups(
            self.tree_,
            table,
            self._objective(table, self._explained.reference),
            columns=self._column_numbers(),
            min_samples_leaf=self.min_samples_leaf,
            n_jobs=self.n_jobs,
        )

    def _warn_of_missing_leaves(self, n_leaves: int) -> None:
        if self.n_leaves_ < n_leaves:
            found = "1 leaf" if self.n_leaves_ == 1 else f"{self.n_leaves_} leaves"
            warnings.warn(
                f"The tree has {found} instead of {n_leaves}: no other valid cut was left.",
                LeafCountWarning,
                stacklevel=4,
            )

    def _check_parameters(self) -> None:
        """Refuse parameters out of range in one sentence."""
        for name in ("n_clusters", "min_samples_leaf"):
            check_integer(name, getattr(self, name), 1)
        if self.n_leaves is not None and self.n_leaves != "auto":
            check_integer("n_leaves", self.n_leaves, 1)
        for name in ("max_depth", "refine_passes"):
            if getattr(self, name) is not None:
                check_integer(name, getattr(self, name), 1)
        check_choice("noise", self.noise, ("ignore", "cluster"))
        if self.refine is not None:
            check_choice("refine", self.refine, ("objective", "agreement"))

    def _reference(self, table: Table, y: Any, **given: Any) -> Reference | None:
        """Return the clustering to explain, or to compare with, or None."""
        if y is None and not self._needs_reference:
            return None
        if y is None:
            rows = self._rows_to_cluster(table)
            y = cluster(self.reference, rows, self.n_clusters, self.random_state)
        reference = table.reference(y, self.noise)
        if self._needs_reference and reference.n_clusters < 2:
            raise ValueError(
                f"The reference (y) needs two clusters or more to tell apart, but has {reference.n_clusters}."
            )
        return reference

    def _rows_to_cluster(self, table: Table) -> Matrix:
        """Return the rows that the reference is computed from, on the host."""
        return table.to_host(
            f"reference={self.reference!r}",
            "pass reference labels as y, for example those of a clusterer that was fitted to a sample",
        )

    def _warn_of_other_clusters(self, reference: Reference) -> None:
        """Say that a number of clusters that was asked for is not that of the labels."""
        default = signature(type(self)).parameters["n_clusters"].default
        n_labels = reference.n_clusters + int(reference.has_noise)
        if self.n_clusters not in (default, reference.n_clusters, n_labels):
            warnings.warn(
                f"n_clusters={self.n_clusters} is not used: y has {reference.n_clusters} clusters.",
                ClusterCountWarning,
                stacklevel=4,
            )

    def _wanted_leaves(self, reference: Reference | None) -> int:
        per_cluster = AUTO_LEAVES_PER_CLUSTER if self.n_leaves == "auto" else 1
        if self.n_leaves is not None and self.n_leaves != "auto":
            return int(self.n_leaves)
        if reference is not None and self._needs_reference:
            return per_cluster * reference.n_clusters
        return per_cluster * int(self.n_clusters)

    def _stage(self, name: str) -> AbstractContextManager[None]:
        """Time a part of the fit, and say so if asked to."""
        return stage(type(self).__name__, name, self.verbose)
