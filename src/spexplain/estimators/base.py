"""What all estimators share: their parameters, and the steps from a table to an explanation."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypedDict

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, clone

from spexplain.aliases import Array, EngineName, Floats, Ints, Matrix, NoisePolicy
from spexplain.arguments import check_choice, check_integer, check_number
from spexplain.engines import Engine, resolve_engine
from spexplain.engines.categories import KindSearch
from spexplain.estimators.progress import leaf_bar, messages, stage
from spexplain.estimators.reading import (
    ALL_ROWS,
    RowWeights,
    Searched,
    TableReader,
    check_cluster_weight,
    parameters_of,
    row_mass,
    searched_rows,
    unchanged_by_failure,
    weighted_scales,
)
from spexplain.estimators.scorers import comparing_metric, metric_of_search
from spexplain.estimators.starting import check_start, fitted_from, kept_part
from spexplain.exceptions import (
    ClusterCountWarning,
    LeafCountWarning,
    warn_caller,
)
from spexplain.explanation import Explanation, FittedModel, Training
from spexplain.explanation.explanation import majority_codes
from spexplain.facts.path import AUTO_GAIN, AUTO_LEAVES_PER_CLUSTER, plateau
from spexplain.graphs import Graph
from spexplain.grow import grow
from spexplain.memory import check_memory
from spexplain.objectives import Objective, with_extra
from spexplain.references.named import cluster, takes_entries
from spexplain.refine.scores import AIMS, AimName
from spexplain.table.base import Table
from spexplain.table.columns import row_names
from spexplain.table.device import DeviceTable
from spexplain.table.host import HostTable
from spexplain.table.reference import NOISE, Reference, warn_of_labels
from spexplain.table.rounding import rounded, settled
from spexplain.table.storage import is_collection, is_sparse
from spexplain.table.views import SearchColumns, SearchedTree, written_out
from spexplain.tree import Tree

if TYPE_CHECKING:
    from spexplain.estimators.refits import FittedData
    from spexplain.facts.schema import StabilityFacts, ValidationFacts
    from spexplain.facts.verdict import OtherSize

_MORE_LEAVES = 2  # how many more leaves a verdict tries
_QUICK = 300_000  # rows × columns × leaves up to which a verdict tries more leaves
# Values of a table up to which a tree is grown on to see what clusters without a leaf need.
_GROWN_ON = 4_000_000


class Shared(TypedDict, total=False):
    """Keyword parameters of every estimator; the defaults stand in `Explainer.__init__`."""

    n_leaves: int | Literal["auto"] | None
    max_depth: int | None
    min_samples_leaf: int
    features: Sequence[int | str] | None
    start: Any
    feature_names: Any
    noise: NoisePolicy
    cluster_weight: Any
    missing: Literal["allow", "error"]
    round_to: float | None
    refine: AimName | None
    refine_passes: int | None
    engine: EngineName | Engine
    n_jobs: int | None
    random_state: Any
    verbose: int


class Explainer(TableReader, FittedModel, ClusterMixin, BaseEstimator):
    """Explain a clustering with a small tree; subclasses define the graph and the formula in `_objective`.

    The docstrings of all estimators repeat these descriptions of the parameters and attributes that
    they share.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters to find when `fit` gets no labels.
    n_leaves : int or "auto", optional
        Leaves of the tree; by default one per cluster. There are fewer, with a warning, if no valid cut is
        left. "auto" grows three per cluster and keeps the smallest tree on the path (see `path_`) after
        which further leaves add less than 1 % of fidelity each; without a reference, the tree at the
        sharpest bend of the objective.
    max_depth : int, optional
        Greatest number of tests on the way to a leaf.
    min_samples_leaf : int, default=1
        Smallest number of training rows in a leaf; rows of no cluster count, those of weight 0 do not.
    features : list of int or str, optional
        Columns that the tree may use, by number or name; by default all.
    start : Explanation or fitted model, optional
        An earlier tree. The new tree begins with its locked tests and does not use the columns that it
        forbids; see `Explanation.lock` and `Explanation.forbid`.
    feature_names : list of str, or fitted vectorizer, optional
        Names of the columns of a table that has none: a list, or an object with `get_feature_names_out`, such as
        scikit-learn's `CountVectorizer`. The columns of a text vectorizer are words, and tests read
        ``contains "hockey"``.
    noise : {"ignore", "cluster"}, label or list of labels, default="ignore"
        How to treat rows that belong to no cluster, whose label is -1, "-1" or missing: "ignore" sends them down
        the tree but makes no cuts for them, "cluster" treats them as a cluster. Or the labels of such rows.
    cluster_weight : None, "balanced" or dict, default=None
        Factors for the row weights of each cluster, used in the search but not in any measure: "balanced"
        gives all clusters the same total weight, a dict maps some labels to factors. No effect in methods
        that need no reference.
    missing : {"allow", "error"}, default="allow"
        What to do with missing values: "allow" makes every test also say where they go, "error" refuses them.
    round_to : float, optional
        Share of the rows, for example 0.005, that may change sides at a test to give it a rounder threshold;
        see `rounding_`. By default no row may: a threshold is the roundest number between two training values.
    refine : {"objective", "fidelity", "balanced", "agreement", "cost", "conductance"}, optional
        Re-optimise the cuts of the grown tree one after the other, with the rest of the tree fixed, until
        nothing improves the method's own objective ("objective") or the given goal of `BestTree`.
    refine_passes : int, optional
        Greatest number of rounds of `refine` over all nodes; by default until nothing improves.
    engine : {"auto", "numpy", "histogram", "cupy", "dask"} or Engine, default="auto"
        How the best cuts are found; all engines give the same tree.
    n_jobs : int, optional
        Number of threads; None means 1, -1 all processors. The tree does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the reference clustering and of methods that draw at random.
    verbose : int, default=0
        1 shows one line per stage with its time, through the logger "spexplain".

    Attributes
    ----------
    explanation_ : Explanation
        The result of the fit; all methods of the estimator read it.
    tree_ : Tree
        The tree, as immutable arrays.
    labels_ : array of int, shape (n_samples,)
        Leaf id of every training row, 0 to ``n_leaves_ - 1`` from left to right.
    n_leaves_ : int
        Number of leaves.
    objective_ : float
        What the tree minimised: the sum of the values of its leaves.
    path_ : list of PathStep
        The trees of 1, 2, ... leaves on the way to the final tree: objective, agreement, fidelity, price,
        depth, size. After a refinement, the refined tree is the last.
    agreement_ : float
        Adjusted Rand index of the leaves and the reference, if there was one; rows of no cluster do not
        count.
    reference_labels_ : array of shape (n_samples,)
        The reference clustering, if there was one.
    leaf_reference_ : array of shape (n_leaves_,)
        The reference label that each leaf stands for.
    rounding_ : list of RoundedTest
        With `round_to`: the tests whose thresholds were rounded, and the rows that changed sides.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : array of str
        Names of these columns, if the table had string names.
    """

    _needs_reference: ClassVar[bool] = True
    # Engines for values that lie on a device or in partitions and know the graph of the method: "cupy", "dask".
    _remote_engines: ClassVar[tuple[str, ...]] = ()
    _takes_weights_on_device: ClassVar[bool] = False
    # Whether only the labels matter, so that a sparse table is searched by its stored entries.
    _needs_labels_only: ClassVar[bool] = False
    # Whether tests of several categories are searched; other methods test one category at a time.
    _searches_sets: ClassVar[bool] = True
    reference: Any  # how to compute it; a parameter of the methods that need one
    _rows_searched: Searched  # while a fit goes on
    n_features_in_: int

    def __init_subclass__(cls, **options: Any) -> None:
        """Spell out the parameters behind ``**shared``: scikit-learn reads them from the signature."""
        super().__init_subclass__(**options)
        own = list(signature(cls.__init__).parameters.values())
        named = {parameter.name for parameter in own}
        declared = signature(Explainer.__init__).parameters
        shared = [declared[name] for name in Shared.__annotations__ if name not in named]
        kept = [parameter for parameter in own if parameter.kind is not Parameter.VAR_KEYWORD]
        if "__init__" in vars(cls):
            cls.__init__.__signature__ = Signature(kept + shared)  # type: ignore[attr-defined]

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_leaves: int | Literal["auto"] | None = None,
        max_depth: int | None = None,
        min_samples_leaf: int = 1,
        features: Sequence[int | str] | None = None,
        start: Any = None,
        feature_names: Any = None,
        noise: NoisePolicy = "ignore",
        cluster_weight: Any = None,
        missing: Literal["allow", "error"] = "allow",
        round_to: float | None = None,
        refine: AimName | None = None,
        refine_passes: int | None = None,
        engine: EngineName | Engine = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        **unknown: Any,
    ) -> None:
        if unknown:  # checked here: Python's own message would name this class
            raise TypeError(
                f"{type(self).__name__}.__init__() got an unexpected keyword argument {min(unknown)!r}"
            )
        self.n_clusters = n_clusters
        self.n_leaves = n_leaves
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.features = features
        self.start = start
        self.feature_names = feature_names
        self.noise = noise
        self.missing = missing
        self.round_to = round_to
        self.cluster_weight = cluster_weight
        self.refine = refine
        self.refine_passes = refine_passes
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags: Any = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "allow"
        tags.input_tags.categorical = tags.input_tags.string = True
        tags.input_tags.sparse = True
        return tags

    @property
    def _takes_entries(self) -> bool:
        """Whether sparse tables are searched as they are; otherwise they are made dense."""
        engine = resolve_engine(self.engine)
        takes = getattr(engine, "takes_entries", False)
        return bool(self._needs_labels_only and self.refine is None and takes)

    @abstractmethod
    def _objective(
        self, X: Matrix, reference: Reference | None, weights: RowWeights = ALL_ROWS
    ) -> Objective:
        """Return the graph and formula of the method, for rows of some weights."""

    def _certified_graph(self, objective: Objective, reference: Reference | None) -> Graph:
        """Return the graph that `certificate` speaks about: the objective's own."""
        return objective.graph

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            The table; its columns appear in the rules.
        y : array of shape (n_samples,) or (n_samples, n_clusters), optional
            Reference labels of any type, which the tree explains; or memberships, which say how much of each row
            belongs to every cluster. Without them, methods that need a reference compute it by `reference`.
            Methods that need none only compare their leaves with `y`.
        sample_weight : array of shape (n_samples,), optional
            A row of weight w counts as w rows, in the search and in all measures; rows of weight 0
            only get a leaf.

        Returns
        -------
        self

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> explainer.n_leaves_
        2
        """
        return self._run(X, y, sample_weight=sample_weight)

    def fit_predict(self, X: Any, y: Any = None, **given: Any) -> Ints:
        """Grow the tree and return the leaf id of every row, `labels_`.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            The table; its columns appear in the rules.
        y : array of shape (n_samples,) or (n_samples, n_clusters), optional
            Reference labels or memberships, as in `fit`.
        **given
            Further arguments of the estimator's `fit`, for example `sample_weight`.

        Returns
        -------
        labels : array of int, shape (n_samples,)

        Examples
        --------
        >>> from spexplain import SpexClique
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> SpexClique().fit_predict(X, ["new"] * 3 + ["VIP"] * 3)
        array([0, 0, 0, 1, 1, 1])
        """
        return self.fit(X, y, **given).labels_

    def _run(self, X: Any, y: Any, **given: Any) -> Self:
        """Fit, and log the stages if `verbose` asks for it."""
        self._refuse_metric(metric_of_search(self))
        is_shared = getattr(y, "ndim", 1) > 1
        weighs = given.get("sample_weight") is not None or self.cluster_weight is not None
        with messages(self.verbose), unchanged_by_failure(self):
            self._needs_host = is_shared or (weighs and not self._takes_weights_on_device)
            try:
                return self._fit(X, y, **given)
            finally:
                for held in (
                    "_table",
                    "_rows_searched",
                    "_views",
                    "_grown_with_sets",
                    "_needs_host",
                ):  # the explanation holds them
                    self.__dict__.pop(held, None)

    def _fit(self, X: Any, y: Any, *, sample_weight: Any = None, **given: Any) -> Self:
        """Walk from the table to the tree."""
        self._check_parameters()
        for stale in ("rounding_", "validation_"):
            self.__dict__.pop(stale, None)
        table, names = self._read(X, y=y, sample_weight=sample_weight)
        self._table, weights = table, table.weights(sample_weight)
        with self._stage("reference"):
            reference = self._reference(table, y, weights=weights, **given)
        # A column that equals the clusters found in the table is kept: it explains them best.
        columns = self._searched_columns(table, None if y is None else reference)
        n_leaves = self._checked_leaves(reference, len(table), is_given=y is not None)
        if self.start is not None:
            return self._fit_from_start(X, table, names, reference, weights, columns, n_leaves)
        searched = self._rows_searched = self._rows_to_search(table, reference, weights)
        with self._stage("graph"):
            # Where only the labels matter, the points are not needed.
            seen = searched.table if self._needs_labels_only else searched.table.as_points()
            objective = self._objective(seen.values, searched.reference, searched.weights)
            graph = self._certified_graph(objective, searched.reference)
        views = self._views = self._search_columns(searched, columns, n_leaves)
        with self._stage("tree"):
            tree = self._grow(views.matrix, on_views(objective, views), n_leaves)
        training = Training(
            reference=reference,
            table=table,
            objective=objective,
            graph=graph if searched.is_plain and weights is None else None,
            weights=weights,
            columns=columns,
            min_samples_leaf=self.min_samples_leaf,
            n_jobs=self.n_jobs,
            is_found=y is None,
            row_ids=row_names(X),
        )
        about: dict[str, Any] = {
            "columns": names,
            "parameters": self._settings(),
            "method": type(self).__name__,
        }

        def explanation_of(tree: Tree, grown_as: SearchedTree, **more: Any) -> Explanation:
            found = Explanation.of(tree, table, reference, weights=weights, **about, **more)
            if reference is None:
                return found
            return found.with_codes(self._node_codes(found, grown_as))

        def explained(grown_as: SearchedTree, **more: Any) -> Explanation:
            tree = grown_as.to_columns()
            around = searched.table.node_values(tree)
            more["training"] = replace(training, searched=tree)
            more["leaves"] = around.leaves if searched.table is table else None
            return explanation_of(
                settled(tree, searched.table, around, searched.weights.values), grown_as, **more
            )

        grown_as = SearchedTree(tree, views)
        final = grown = explained(grown_as)
        if self.n_leaves == "auto":
            n_leaves = self._auto_leaves(grown)
            self._warn_of_few_leaves(n_leaves, reference)
        if n_leaves < tree.n_leaves:
            tree, final = tree.truncate(n_leaves), grown.truncate(n_leaves)
            grown_as = SearchedTree(tree, views)
        if self.refine is not None:
            wider, tree = views.with_sets(tree)
            with self._stage("refine"):
                matrix = written_out(wider.matrix)
                tree = self._refined(tree, matrix, on_views(objective, wider), searched)
            grown_as = SearchedTree(tree, wider)
            final = explained(grown_as, grown=grown, is_refined=True)
        if self.round_to is not None:
            tree = self._rounded(final.tree, grown_as, objective)
            if self.rounding_:
                more: Any = {"grown": grown, "is_refined": True, "training": training}
                final = explanation_of(tree, grown_as, **more)
        self._set_explanation(_described(final, grown, table, weights))
        self._warn_of_missing_leaves(n_leaves)
        return self

    def _fit_from_start(
        self,
        X: Any,
        table: Table,
        names: tuple[str | int, ...] | None,
        reference: Reference | None,
        weights: Floats | None,
        columns: Ints,
        n_leaves: int,
    ) -> Self:
        """Fit the tree that begins with the locked tests of another."""
        about = {"columns": names, "parameters": self._settings(), "method": type(self).__name__}
        with self._stage("tree"):
            final = fitted_from(self, X, table, reference, weights, columns, n_leaves, about)
        if self.n_leaves == "auto":
            n_kept = kept_part(check_start(self.start), table).tree.n_leaves
            n_leaves = max(plateau(final.path), n_kept)
            final = final.truncate(n_leaves)
        self._set_explanation(_described(final, final, table, weights))
        self._warn_of_missing_leaves(n_leaves)
        return self

    def _search_columns(self, searched: Searched, columns: Ints, n_leaves: int) -> SearchColumns:
        """Return the matrix that engines search."""
        codes = None if searched.reference is None else searched.reference.codes
        one_by_one = not self._searches_sets
        return SearchColumns.of(searched.table, columns, one_by_one=one_by_one, codes=codes)

    def _rounded(self, tree: Tree, grown_as: SearchedTree, objective: Objective) -> Tree:
        """Return the tree with rounder thresholds, and its new values; record in `rounding_` what changed."""
        from spexplain.refine.local import revalued

        views = grown_as.views
        assert self.round_to is not None
        tree, self.rounding_ = rounded(tree, views.table, self.round_to, self.min_samples_leaf)
        if not self.rounding_:
            return tree
        views, searched = views.with_sets(grown_as.tree.truncate(tree.n_leaves))
        tests = searched.tests
        moved = {
            each.node: replace(tests[each.node], upper=float(tree.threshold[each.node]))
            for each in self.rounding_
        }
        same = searched.retested(moved)
        valued = revalued(same, written_out(views.matrix), on_views(objective, views))
        return replace(tree, size=valued.size, score=valued.score, value=valued.value)

    def _node_codes(self, explanation: Explanation, searched: SearchedTree) -> Ints:
        """Return the cluster that each node would stand for as a leaf: the commonest one.

        The explanation's tests and those of the searched tree separate the rows in the same way, but a centre
        that lies between two rows may be on different sides of them.
        """
        counts = explanation.node_counts
        if self._stands_for_shares:
            return majority_codes(counts / np.where(counts[0] > 0, counts[0], 1))
        return majority_codes(counts)

    @property
    def _stands_for_shares(self) -> bool:
        """Whether a leaf stands for the cluster of which it holds the largest share, not for its commonest cluster."""
        return self.refine == "balanced"

    def _auto_leaves(self, grown: Explanation) -> int:
        """Return how many leaves ``n_leaves="auto"`` takes of those that were grown."""
        return plateau(grown.path)

    def _check_caller(self) -> None:
        self._refuse_metric(comparing_metric())

    def _refuse_metric(self, metric: str | None) -> None:
        """Refuse scorers that would compare leaf ids with labels."""
        if metric is not None:
            name = type(self).__name__
            raise ValueError(
                f"{metric} would compare leaf ids with labels: {name} predicts leaves; score "
                f"ClusterClassifier({name}(...)), which predicts clusters, or leave scoring=None, which takes the "
                "share of rows whose leaf stands for their cluster."
            )

    def _grow(self, X: Matrix, objective: Objective, n_leaves: int) -> Tree:
        """Return the tree over the columns that cuts may use."""
        engine = resolve_engine(self.engine, n_jobs=self.n_jobs)
        start = None if objective.start is None else self._grow(X, objective.start, n_leaves)
        if not getattr(engine, "takes_views", False):
            X = written_out(X)
        search = engine.bind(X, objective, min_samples_leaf=self.min_samples_leaf)
        if not self._views.table.is_plain:
            weights = self._rows_searched.weights.values
            search = KindSearch(search, self._views.views, self._views.categories, weights)
        with leaf_bar(type(self).__name__, n_leaves, self.verbose) as progress:
            return grow(
                search,
                max_leaves=n_leaves,
                max_depth=self.max_depth,
                start=start,
                progress=progress,
            )

    def _refined(self, tree: Tree, X: Matrix, objective: Objective, searched: Searched) -> Tree:
        """Return the tree with its cuts re-optimised."""
        from spexplain.refine import refine

        reference, points = searched.reference, None
        assert self.refine is not None
        if self.refine not in ("objective", "cost") and reference is None:
            raise ValueError(
                f'refine="{self.refine}" needs a clustering to compare with; pass its labels to fit as y.'
            )
        if self.refine == "cost":
            points = searched.table.as_points().to_host('refine="cost"', "take another goal")
        return refine(
            tree,
            X,
            objective,
            goal=self.refine,
            labels=None if reference is None else reference.codes,
            sample_weight=row_mass(reference, searched.weights),
            points=points,
            passes=self.refine_passes,
            min_samples_leaf=self.min_samples_leaf,
            n_jobs=self.n_jobs,
        )

    def _rows_to_search(
        self, table: Table, reference: Reference | None, weights: Floats | None
    ) -> Searched:
        """Return the rows that a search sees, and what they weigh."""
        cluster_weight = self.cluster_weight if self._needs_reference else None
        return searched_rows(table, reference, weights, cluster_weight)

    def _search_objective(self, table: Matrix) -> Objective | None:
        """Return what was minimised; pickles do not hold it, but the method can build it again."""
        known, training = super()._search_objective(table), self.explanation_.training
        if known is not None or training is None:
            return known
        rows = self._rows_to_search(HostTable(table), training.reference, training.weights)
        return self._objective(rows.table.values, rows.reference, rows.weights)

    def validate(
        self, X: Any = None, y: Any = None, cv: Any = 5, *, random_state: Any = 0
    ) -> "ValidationFacts":
        """Cross-validate: fit the method without some rows, and measure how well it predicts them.

        Clusters that the method found itself are found again in every fold and matched with those of the
        explanation, which shows whether they are stable. Afterwards `verdict_` is about the rows left out.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features), optional
            Rows; by default the training rows.
        y : array of shape (n_samples,), optional
            Their labels; by default those of the training rows.
        cv : int or splitter, default=5
            Number of folds, stratified by cluster; or a splitter with scikit-learn's ``split``.
        random_state : int, default=0
            Seed of the folds.

        Returns
        -------
        validation : dict
            Fidelity, mean recall and adjusted Rand index on the rows left out and on the training rows, also by
            cluster; `spexplain.facts.schema.ValidationFacts` describes its entries.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from spexplain import CART
        >>> X, y = load_iris(return_X_y=True)
        >>> validation = CART().fit(X, y).validate(X, y, cv=5)
        >>> round(validation["held_out"]["fidelity"], 2), round(validation["in_sample"]["fidelity"], 2)
        (0.92, 0.96)
        """
        from spexplain.estimators.refits import held_out
        from spexplain.facts.segments import Clusters
        from spexplain.facts.validation import dealt, validation_facts

        known = self._known(X, y, "validate")
        if hasattr(cv, "split") and not isinstance(cv, str):
            folds = list(cv.split(np.zeros((len(known.table), 1)), known.codes))
        else:
            check_integer("cv", cv, 2)
            random = np.random.default_rng(random_state)
            n_folds = min(int(cv), len(known.table))
            tests = dealt(known.codes, n_folds, random)
            everything = np.arange(len(known.table))
            folds = [(np.setdiff1d(everything, rows), rows) for rows in tests]
        found = held_out(self, known, folds)
        clusters = Clusters.of(self._fitted())
        self.validation_ = validation_facts(clusters, known.codes, found, known.weights)
        return self.validation_

    def stability(self, n: int = 50, *, random_state: Any = 0) -> "StabilityFacts":
        """Fit the method to random samples of the training rows, and measure how much the tree changes.

        Parameters
        ----------
        n : int, default=50
            Number of samples, drawn with replacement.
        random_state : int, default=0
            Seed of the samples.

        Returns
        -------
        stability : dict
            Per test: how often a test in the same place uses the same column, which thresholds it has, and how
            far its threshold could move without changing a training row. Per rule: how often its rows stay
            together. `spexplain.facts.schema.StabilityFacts` describes its entries.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from spexplain import CART
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> found = CART().fit(X, y).stability(n=10)
        >>> print(found["tests"][0]["free_text"])
        Any threshold from 1.9 to less than 3 splits these rows in the same way.
        """
        from spexplain.estimators.refits import drawn, stands_for
        from spexplain.facts.segments import Clusters
        from spexplain.facts.validation import Stability

        check_integer("n", n, 1)
        known = self._known(None, None, "stability")
        explanation = self._fitted()
        everything = np.arange(len(known.table))
        leaves = np.asarray(self.labels_)
        stands, _ = stands_for(self, known, everything)
        found = Stability(explanation.tree, leaves, stands[leaves])
        drawn(self, known, found, n, np.random.default_rng(random_state))
        around = known.table.node_values(explanation.tree)
        return found.facts(Clusters.of(explanation), explanation.fields, around)

    def _known(self, X: Any, y: Any, what: str) -> "FittedData":
        """Return the rows and clusters to fit the method to again."""
        from spexplain.estimators.refits import FittedData

        explanation = self._fitted()
        training = explanation.training
        assert training is not None
        table, weights = training.table, training.weights
        if is_collection(training.labels):
            raise ValueError(
                f"{what} fits the method again and needs all rows in memory; fit the estimator to a sample of them."
            )
        reference = training.reference
        if X is not None:
            other: Explainer = clone(self)
            table, _ = other._read(X)
            weights = weights if len(table) == len(training.labels) else None
        if table is None:
            raise ValueError(
                f"{what} fits the method again, but this estimator does not remember its training rows; pass X and y."
            )
        if y is not None:
            reference = table.reference(y, self.noise)
        elif len(table) != len(training.labels):
            raise ValueError(
                f"{what} needs the labels of rows other than the training rows; pass them as y."
            )
        if reference is None:
            leaves = np.asarray(training.labels)
            return FittedData(table, leaves, None, weights, explanation.tree.n_leaves)
        classes = reference.classes.tolist()
        if explanation.classes is None or not set(classes) <= set(explanation.classes.tolist()):
            raise ValueError("y must hold the clusters that were explained, but it has others.")
        known = explanation.classes.tolist()
        places = np.array([known.index(each) for each in classes], dtype=np.int64)
        codes = np.where(reference.codes < 0, NOISE, places[reference.codes])
        labels: Array | None = reference.labels
        if reference.memberships is not None:
            labels = reference.memberships
        if training.is_found and y is None:
            labels = None
        return FittedData(table, codes, labels, weights, len(explanation.classes))

    def _parted(self, a: int, b: int, *, quick: bool = False) -> tuple[Tree, Floats] | None:
        """Search the rows of two clusters for the few tests that separate them best."""
        from spexplain.estimators.refits import parted

        training = self._fitted().training
        reference = None if training is None else training.reference
        if training is None or training.table is None or reference is None:
            return None
        if is_collection(training.labels):
            return None
        table, codes = training.table, np.asarray(reference.codes)
        return parted(table, codes, (a, b), training.weights, training.columns, quick=quick)

    def _larger_trees(self) -> "list[OtherSize]":
        from spexplain.estimators.refits import refitted
        from spexplain.facts.verdict import OtherSize

        found = super()._larger_trees()
        explanation = self._fitted()
        training = explanation.training
        if found or training is None or training.table is None or training.reference is None:
            return found
        n_leaves = explanation.tree.n_leaves
        size = training.table.shape[0] * training.table.shape[1] * (n_leaves + _MORE_LEAVES)
        takes_leaves = "n_leaves" in self.get_params(deep=False)
        if is_collection(training.labels) or not takes_leaves:
            return []
        if size > _QUICK:
            return self._grown_a_little(explanation, training)
        shared = training.reference.memberships
        labels = training.reference.labels if shared is None else shared
        everything = np.arange(len(training.table))
        for more in range(1, _MORE_LEAVES + 1):
            options: dict[str, Any] = {"n_leaves": n_leaves + more}
            larger = refitted(
                self, training.table, everything, labels, training.weights, **options
            ).explanation_
            if larger.tree.n_leaves == n_leaves + more:
                found.append(OtherSize(n_leaves + more, larger.step.fidelity))
        return found

    def _grown_a_little(self, explanation: Explanation, training: Training) -> "list[OtherSize]":
        """Return this tree with further splits of its leaves, where a new fit would take long."""
        from spexplain.estimators.refits import grown_on
        from spexplain.facts.segments import Clusters
        from spexplain.facts.verdict import OtherSize

        assert training.table is not None
        assert training.reference is not None
        if training.reference.memberships is not None:
            return []
        n_leaves = explanation.tree.n_leaves
        shares = grown_on(
            training.table,
            np.asarray(training.reference.codes),
            np.asarray(training.labels),
            Clusters.of(explanation).leaf_codes,
            training.weights,
            training.columns,
            training.min_samples_leaf,
        )
        return [OtherSize(n_leaves + more, share) for more, share in enumerate(shares, 1)]

    def _warn_of_missing_leaves(self, n_leaves: int) -> None:
        if self.n_leaves_ < n_leaves:
            found = "1 leaf" if self.n_leaves_ == 1 else f"{self.n_leaves_} leaves"
            warn_caller(self._missing_leaves_text(found, n_leaves), LeafCountWarning)

    def _missing_leaves_text(self, found: str, n_leaves: int) -> str:
        return f"The tree has {found} instead of {n_leaves}: no other valid cut was left."

    def _warn_of_few_leaves(self, n_leaves: int, reference: Reference | None) -> None:
        """Warn that "auto" takes fewer leaves than there are clusters, and why."""
        if reference is not None and self._needs_reference and n_leaves < reference.n_clusters:
            found = "1 leaf" if n_leaves == 1 else f"{n_leaves} leaves"
            warn_caller(
                f'n_leaves="auto" takes {found} for {reference.n_clusters} clusters, as each further leaf adds less '
                f"than {AUTO_GAIN:.0%}; n_leaves=None gives every cluster one.",
                LeafCountWarning,
            )

    def _check_parameters(self) -> None:
        """Refuse parameters out of range in one sentence."""
        for name in ("n_clusters", "min_samples_leaf"):
            check_integer(name, getattr(self, name), 1)
        if isinstance(self.n_leaves, str) and self.n_leaves != "auto":
            raise ValueError(
                f'n_leaves={self.n_leaves!r} must be an integer of at least 1, or "auto".'
            )
        if self.n_leaves is not None and self.n_leaves != "auto":
            check_integer("n_leaves", self.n_leaves, 1)
        for name in ("max_depth", "refine_passes"):
            if getattr(self, name) is not None:
                check_integer(name, getattr(self, name), 1)
        check_choice("missing", self.missing, ("allow", "error"))
        if not isinstance(self.verbose, bool):
            check_integer("verbose", self.verbose, 0)
        if self.round_to is not None:
            check_number("round_to", self.round_to)
        check_cluster_weight(self.cluster_weight)
        if self.start is not None:
            check_start(self.start)
            if self.round_to is not None:
                raise ValueError(
                    "round_to would move the locked tests of start; leave out one of the two."
                )
        if self.refine is not None:
            check_choice("refine", self.refine, AIMS)

    def _reference(self, table: Table, y: Any, **given: Any) -> Reference | None:
        """Return the clustering to explain, or to compare with, or None."""
        if y is None and not self._needs_reference:
            return None
        weights: Floats | None = given.get("weights")
        if y is None:
            rows = self._rows_to_cluster(table)
            y = cluster(self.reference, rows, self.n_clusters, self.random_state, weights)
        reference = table.reference(y, self.noise)
        if weights is not None:
            reference = reference.weighed(weights)
        if self._needs_reference and reference.n_clusters < 2:
            raise ValueError(
                f"The reference (y) needs two clusters or more to tell apart, but has {reference.n_clusters}."
            )
        return reference

    def _rows_to_cluster(self, table: Table) -> Matrix:
        """Return the rows for computing the reference, on the host."""
        if is_sparse(table.values) and takes_entries(self.reference):
            entries: Any = table.values
            return entries  # type: ignore[no-any-return]
        return table.as_points().to_host(
            f"reference={self.reference!r}",
            "pass reference labels as y, for example those of a clusterer that was fitted to a sample",
        )

    def _warn_of_other_clusters(self, reference: Reference) -> None:
        """Warn that `n_clusters` differs from the number of clusters in the labels."""
        default = parameters_of(type(self))["n_clusters"].default
        n_labels = reference.n_clusters + int(reference.has_noise)
        if self.n_clusters not in (default, reference.n_clusters, n_labels):
            warn_caller(
                f"n_clusters={self.n_clusters} is not used: y has {reference.n_clusters} clusters.",
                ClusterCountWarning,
            )

    def _checked_leaves(self, reference: Reference | None, n_rows: int, *, is_given: bool) -> int:
        """Return the number of leaves wanted; refuse or warn of a bad number before any work is done."""
        n_leaves = self._wanted_leaves(reference)
        if reference is not None:
            if is_given:
                warn_of_labels(reference.classes, n_rows)
            if is_given and self._needs_reference:
                self._warn_of_other_clusters(reference)
            _check_size(min(n_leaves, n_rows), reference.n_clusters)
        return n_leaves

    def _wanted_leaves(self, reference: Reference | None) -> int:
        per_cluster = AUTO_LEAVES_PER_CLUSTER if self.n_leaves == "auto" else 1
        if self.n_leaves is not None and self.n_leaves != "auto":
            return int(self.n_leaves)
        if reference is not None and self._needs_reference:
            return per_cluster * reference.n_clusters
        return per_cluster * int(self.n_clusters)

    def _leaves_for_all(self) -> int | None:
        """Return the number of leaves with which this method gives every cluster one, where some have none.

        The tree is grown further, to at most three leaves per cluster, when somebody asks. Large tables, and
        values that are not in memory, are left out.
        """
        explanation = self._fitted()
        if explanation.needed_leaves is not None or not explanation.unexplained:
            return explanation.needed_leaves
        known: tuple[Explanation, int | None] | None = vars(self).get("_grown_on")
        if known is None or known[0] is not explanation:
            known = self._grown_on = explanation, self._grow_on(explanation)
        return known[1]

    def _grow_on(self, explanation: Explanation) -> int | None:
        """Return the leaves of the first larger tree in which every cluster has one."""
        training = explanation.training
        table = None if training is None else training.table
        is_here = isinstance(table, HostTable | DeviceTable)
        if training is None or not is_here or table is None or training.objective is None:
            return None
        if table.values.size > _GROWN_ON or training.columns is None or explanation.classes is None:
            return None
        n_leaves, n_clusters = explanation.tree.n_leaves, len(explanation.classes)
        most = max(AUTO_LEAVES_PER_CLUSTER * n_clusters, 2 * n_leaves)
        searched = self._rows_searched = self._rows_to_search(
            table, training.reference, training.weights
        )
        views = self._views = self._search_columns(searched, training.columns, most)
        objective = training.objective
        try:
            grown = self._grow(views.matrix, on_views(objective, views), most)
            told = self._explanation_of(SearchedTree(grown, views), explanation)
            for size in range(n_leaves + 1, grown.n_leaves + 1):
                found = told.truncate(size)
                if self.refine is not None and not found.unexplained:
                    wider, tree = views.with_sets(grown.truncate(size))
                    matrix = written_out(wider.matrix)
                    tree = self._refined(tree, matrix, on_views(objective, wider), searched)
                    found = self._explanation_of(SearchedTree(tree, wider), explanation)
                if not found.unexplained:
                    return size
        finally:
            for held in ("_rows_searched", "_views"):
                self.__dict__.pop(held, None)
        return None

    def _explanation_of(self, seen: SearchedTree, explanation: Explanation) -> Explanation:
        """Return the explanation of another tree on the same training rows."""
        training = explanation.training
        assert training is not None
        assert training.table is not None
        found = Explanation.of(
            seen.to_columns(), training.table, training.reference, weights=training.weights
        )
        return found.with_codes(self._node_codes(found, seen))

    def _stage(
        self, name: str, *, always: bool = True
    ) -> AbstractContextManager[Callable[[str], None]]:
        """Time a stage of the fit and log it if `verbose` asks: always, or only if the stage reports a result."""
        return stage(type(self).__name__, name, always=always)

    def _html_repr(self) -> str:
        """Return the tree as HTML for notebooks; before `fit`, scikit-learn's own display."""
        if hasattr(self, "tree_"):
            from spexplain.show.notebook import html_repr

            return html_repr(self.outline())
        shown: str = super()._html_repr()
        return shown

    def _repr_html_inner(self) -> str:
        # scikit-learn before 1.7 has no `_html_repr` of its own.
        if not hasattr(self, "tree_"):
            shown: str = super()._repr_html_inner()
            return shown
        return self._html_repr()


def on_views(objective: Objective, views: SearchColumns) -> Objective:
    """Return the objective for the searched columns only, also for its extra vertices."""
    if objective.start is not None:
        objective = replace(objective, start=on_views(objective.start, views))
    extra = objective.graph.extra
    if extra is None:
        return objective
    placed = views.placed(extra, views.table.coordinates)
    return objective if np.array_equal(placed, extra) else with_extra(objective, placed)


def _described(
    final: Explanation, grown: Explanation, table: Table, weights: Floats | None
) -> Explanation:
    """Return the explanation with descriptions of the tested columns."""
    tested = np.union1d(grown.used, final.used).astype(np.int64)
    described = table.settled_columns(tested.tolist())
    if final.grown is not None:
        final = replace(final, grown=replace(final.grown, described=described))
    return replace(final, described=described, scales=weighted_scales(table, tested, weights))


def _check_size(n_leaves: int, n_clusters: int) -> None:
    """Refuse a tree whose table of leaves by clusters does not fit into memory."""
    n_nodes = 2 * n_leaves - 1
    check_memory(
        8 * n_clusters * (3 * n_nodes + 2 * n_clusters),
        f"Tables of {n_leaves:,} leaves by {n_clusters:,} clusters",
        "pass a smaller n_leaves, or labels (y) with fewer different values, since so many are rarely clusters",
    )
