"""Methods that separate the centres of a clustering: IMM, EMN, ExKMC, random cuts, ExGreedy, ExShallow."""

from collections import Counter
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self, TypeAlias, Unpack

import narwhals as nw
import numpy as np
from sklearn.utils import check_random_state

from spexplain.aliases import Floats, Ints, Matrix
from spexplain.arguments import check_centers, check_choice, check_integer, check_number
from spexplain.engines.random_cuts import RandomEngine
from spexplain.estimators.base import Explainer, Shared
from spexplain.estimators.reading import ALL_ROWS, RowWeights, row_mass
from spexplain.explanation import Explanation
from spexplain.graphs import CenterCosts, Graph, ServingCenters, StarGraph, WeightedStar
from spexplain.grow import grow
from spexplain.objectives import (
    Denominator,
    Objective,
    emn,
    exkmc,
    greedy_service,
    imm,
    shallow_service,
)
from spexplain.table.base import Table
from spexplain.table.columns import column_names, is_frame
from spexplain.table.distances import CostName, weighted_centers
from spexplain.table.reference import Reference
from spexplain.table.storage import look_up
from spexplain.table.views import SearchedTree, written_out
from spexplain.tree import Tree

Pairs: TypeAlias = Literal["any", "furthest"]


class CenterExplainer(Explainer):
    """Separate the centres of a clustering; every leaf stands for the centre in it."""

    objective: CostName = "kmeans"

    _searches_sets: ClassVar[bool] = False

    def fit(  # type: ignore[override]  # centres were there first
        self, X: Any, y: Any = None, centers: Any = None, sample_weight: Any = None
    ) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            The table; its columns appear in the rules.
        y : array of shape (n_samples,) or (n_samples, n_clusters), optional
            Reference labels of any type, or memberships: how much of each row belongs to every cluster.
            Without them, each row belongs to the nearest of `centers`, or `reference` computes the
            clustering.
        centers : array of shape (n_clusters, n_features), optional
            Centres in the order of the sorted labels; if the labels are integers from 0, the label is the
            row of its centre. By default the means (k-medians: medians) of the clusters.
        sample_weight : array of shape (n_samples,), optional
            A row of weight w counts as w rows, in the search, in the centres and in all measures; rows
            of weight 0 only get a leaf.

        Returns
        -------
        self

        Examples
        --------
        >>> from spexplain import IMM
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = IMM().fit(X, ["new"] * 3 + ["VIP"] * 3, centers=[[56.0, 8.0], [25.0, 1.0]])
        >>> print(explainer.to_text(["age", "orders"]))
        age ≤ 40
        ├─ yes: leaf 0 (3 rows, 100% new)
        └─ no:  leaf 1 (3 rows, 100% VIP)
        """
        return self._run(X, y, centers=centers, sample_weight=sample_weight)

    def _reference(self, table: Table, y: Any, **given: Any) -> Reference | None:
        check_choice("objective", self.objective, ("kmeans", "kmedians"))
        centers, weights = given.get("centers"), given.get("weights")
        if centers is None:
            reference = super()._reference(table, y, weights=weights)
            assert reference is not None
            if weights is None and reference.memberships is None:
                centers = table.as_points().centers(
                    reference.codes, reference.n_clusters, self.objective
                )
            else:
                rows = table.as_points().to_host(
                    "The centre of weighted rows", "pass the centres as centers"
                )
                centers = weighted_centers(rows, reference.amounts(weights), self.objective)
            return replace(reference, centers=centers)
        centers = _in_order(centers, table.names)
        centers = check_centers(centers, table.as_points().shape[1])
        if len(centers) < 2:
            raise ValueError("centers holds fewer than two centres; pass two or more.")
        if y is None:
            codes = table.as_points().nearest(centers, self.objective)
            return Reference(codes, codes, np.arange(len(centers)), centers)
        reference = table.reference(y, self.noise)
        return _with_centers(reference, centers)

    def _node_codes(self, explanation: Explanation, searched: SearchedTree) -> Ints:
        """Return the cluster of the centre in each node; if there are several, the one with most rows there.

        Refinement may leave a leaf without a centre: it stands for its commonest cluster.
        """
        reference = explanation.row_reference
        assert reference is not None
        centers = centers_of(reference)
        first = first_of_equals(centers)
        is_inside = np.zeros(explanation.node_counts.shape, dtype=bool)
        center, node = searched.nodes_of_points(centers[first])
        is_inside[node, first[center]] = True
        is_inside[~is_inside.any(axis=1)] = True
        codes = [
            np.where(inside, counts, -1).argmax()
            for inside, counts in zip(is_inside, explanation.node_counts, strict=True)
        ]
        return np.array(codes)

    def _certified_graph(self, objective: Objective, reference: Reference | None) -> Graph:
        """Return the graph of samples and their centres; the bound on the price needs it."""
        assert reference is not None
        return self._star(reference)

    def _star(
        self, reference: Reference, pairs: Any = "any", weights: RowWeights = ALL_ROWS
    ) -> StarGraph:
        """Return the star graph; centres that coincide cannot be separated and count as one."""
        centers = centers_of(reference)
        first = first_of_equals(centers)
        distinct, place = np.unique(first, return_inverse=True)
        if weights.values is not None or reference.memberships is not None:
            shares = np.zeros((len(reference.codes), len(distinct)))
            np.add.at(shares.T, place, reference.amounts(weights.values).T)
            return WeightedStar.from_amounts(shares, centers[distinct], pairs)
        # Code -1 finds the appended -1.
        labels = look_up(np.append(place, -1), reference.codes)
        return StarGraph(labels, centers[distinct], pairs)


def _in_order(centers: Any, names: tuple[str, ...] | None) -> Any:
    """Return centres in a data frame with their columns in the order of the table, which finds columns by name, too."""
    if names is None or not is_frame(centers):
        return centers
    own = column_names(centers)
    is_permuted = own != list(names) and Counter(own) == Counter(names)
    return nw.from_native(centers).select(*names).to_native() if is_permuted else centers


class IMM(CenterExplainer):
    """Separate all centres, with as few rows as possible cut off from their own (iterative mistake minimisation).

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters to find when `fit` gets no labels.
    reference : {"spectral", "kmeans", "kmedians", "kernel_kmeans"} or clusterer
        How to cluster the table when `fit` gets no labels; or any object with `fit_predict`.
    pairs : {"any", "furthest"}, default="any"
        A cut must separate any two centres of the node, or the two that are furthest apart (modified IMM).
    objective : {"kmeans", "kmedians"}, default="kmeans"
        Centres are means and distances Euclidean, or medians and ℓ1.
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

    See Also
    --------
    EMN : Divides the mistakes of a cut by the number of centres on the smaller side.
    ExKMC : Grows this tree beyond one leaf per centre.

    References
    ----------
    .. [1] Michal Moshkovitz, Sanjoy Dasgupta, Cyrus Rashtchian and Nave Frost. Explainable k-Means and k-Medians
       Clustering. ICML 2020.

    Examples
    --------
    >>> from spexplain import IMM, datasets
    >>> iris = datasets.load("iris")
    >>> IMM().fit(iris.data, iris.target).objective_  # rows parted from their centre
    6.0
    """

    _remote_engines: ClassVar[tuple[str, ...]] = ("cupy", "dask")

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        reference: Any = "kmeans",
        pairs: Pairs = "any",
        objective: CostName = "kmeans",
        **shared: Unpack[Shared],
    ) -> None:
        super().__init__(n_clusters, **shared)
        self.reference = reference
        self.pairs = pairs
        self.objective = objective

    def _objective(
        self, X: Matrix, reference: Reference | None, weights: RowWeights = ALL_ROWS
    ) -> Objective:
        assert reference is not None
        check_choice("pairs", self.pairs, ("any", "furthest"))
        metric = "furthest_l1" if self.objective == "kmedians" else "furthest_l2"
        return imm(self._star(reference, "any" if self.pairs == "any" else metric, weights))


class EMN(CenterExplainer):
    """Separate all centres by balanced cuts: few rows cut off from their own, per centre on the smaller side.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters to find when `fit` gets no labels.
    reference : {"spectral", "kmeans", "kmedians", "kernel_kmeans"} or clusterer
        How to cluster the table when `fit` gets no labels; or any object with `fit_predict`.
    denominator : {"min", "product"}, default="min"
        Rows cut off are divided by the smaller number of centres on one side, or by the product of both numbers.
    objective : {"kmeans", "kmedians"}, default="kmeans"
        Centres are means or medians.
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

    See Also
    --------
    IMM : Counts only the mistakes of a cut.
    RandomCuts : Cuts drawn at random, with the best known guarantee for k-medians.

    References
    ----------
    .. [1] Hossein Esfandiari, Vahab Mirrokni and Shyam Narayanan. Almost Tight Approximation Algorithms for Explainable
       Clustering. SODA 2022.

    Examples
    --------
    >>> from spexplain import EMN, datasets
    >>> iris = datasets.load("iris")
    >>> EMN().fit(iris.data, iris.target).leaf_reference_
    array([0, 1, 2])
    """

    _remote_engines: ClassVar[tuple[str, ...]] = ("cupy", "dask")

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        reference: Any = "kmeans",
        denominator: Denominator = "min",
        objective: CostName = "kmeans",
        **shared: Unpack[Shared],
    ) -> None:
        super().__init__(n_clusters, **shared)
        self.reference = reference
        self.denominator = denominator
        self.objective = objective

    def _objective(
        self, X: Matrix, reference: Reference | None, weights: RowWeights = ALL_ROWS
    ) -> Objective:
        assert reference is not None
        check_choice("denominator", self.denominator, ("min", "product"))
        return emn(self._star(reference, weights=weights), self.denominator)


class ExKMC(CenterExplainer):
    """Grow the IMM tree beyond one leaf per cluster; each leaf is served by the cheapest reference centre.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters to find when `fit` gets no labels.
    reference : {"spectral", "kmeans", "kmedians", "kernel_kmeans"} or clusterer
        How to cluster the table when `fit` gets no labels; or any object with `fit_predict`.
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

    See Also
    --------
    IMM : The tree of one leaf per centre that it starts from.
    ExGreedy : Low cost with one leaf per centre.

    References
    ----------
    .. [1] Nave Frost, Michal Moshkovitz and Cyrus Rashtchian. ExKMC: Expanding Explainable k-Means Clustering.
       arXiv:2006.02399, 2020.

    Examples
    --------
    >>> from spexplain import ExKMC, datasets
    >>> iris = datasets.load("iris")
    >>> explainer = ExKMC(n_leaves=6).fit(iris.data, iris.target)
    >>> explainer.n_leaves_, len(set(explainer.leaf_reference_))
    (6, 3)
    """

    _remote_engines: ClassVar[tuple[str, ...]] = ("dask",)

    def __init__(
        self, n_clusters: int = 8, *, reference: Any = "kmeans", **shared: Unpack[Shared]
    ) -> None:
        super().__init__(n_clusters, **shared)
        self.reference = reference

    def _objective(
        self, X: Matrix, reference: Reference | None, weights: RowWeights = ALL_ROWS
    ) -> Objective:
        assert reference is not None
        mass = row_mass(reference, weights)
        costs = CenterCosts.from_centers(X, centers_of(reference), mass)
        return replace(exkmc(costs), start=imm(self._star(reference, weights=weights)))

    def _node_codes(self, explanation: Explanation, searched: SearchedTree) -> Ints:
        """Return the centre of each node of the IMM tree, and the cheapest centre of each node grown later."""
        assert explanation.row_reference is not None
        assert explanation.node_costs is not None
        n_parted = len(np.unique(first_of_equals(centers_of(explanation.row_reference))))
        is_later = np.arange(explanation.tree.n_nodes) >= 2 * n_parted - 1
        cheapest = explanation.node_costs.argmin(axis=1)
        return np.where(is_later, cheapest, super()._node_codes(explanation, searched))


class RandomCuts(CenterExplainer):
    """Separate the centres by random cuts that ignore the rows, and keep the cheapest of several draws.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters to find when `fit` gets no labels.
    reference : {"spectral", "kmeans", "kmedians", "kernel_kmeans"} or clusterer
        How to cluster the table when `fit` gets no labels; or any object with `fit_predict`.
    objective : {"kmedians", "kmeans"}, default="kmedians"
        The distribution of the cuts, and the cost by which the best draw is chosen.
    n_init : int, default=10
        Number of draws.
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

    See Also
    --------
    EMN : Deterministic, with a similar guarantee.
    ExGreedy : No guarantee, but usually a lower cost.

    References
    ----------
    .. [1] Buddhima Gamlath, Xinrui Jia, Adam Polak and Ola Svensson. Nearly-Tight and Oblivious
       Algorithms for Explainable Clustering. NeurIPS 2021.
    .. [2] Konstantin Makarychev and Liren Shan. Near-Optimal Algorithms for Explainable k-Medians
       and k-Means. ICML 2021.

    Examples
    --------
    >>> from spexplain import RandomCuts, datasets
    >>> iris = datasets.load("iris")
    >>> RandomCuts(random_state=0).fit(iris.data, iris.target).n_leaves_
    3
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        reference: Any = "kmedians",
        objective: CostName = "kmedians",
        n_init: int = 10,
        **shared: Unpack[Shared],
    ) -> None:
        super().__init__(n_clusters, **shared)
        self.reference = reference
        self.objective = objective
        self.n_init = n_init

    def _objective(
        self, X: Matrix, reference: Reference | None, weights: RowWeights = ALL_ROWS
    ) -> Objective:
        assert reference is not None
        check_integer("n_init", self.n_init, 1)
        centers, mass = centers_of(reference), row_mass(reference, weights)
        return greedy_service(ServingCenters.from_centers(X, centers, self.objective, mass))

    def _grow(self, X: Matrix, objective: Objective, n_leaves: int) -> Tree:
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=self.n_init)
        X = written_out(X)
        searches = (RandomEngine(int(seed), self.objective).bind(X, objective) for seed in seeds)
        trees = [grow(each, max_leaves=n_leaves, max_depth=self.max_depth) for each in searches]
        return min(trees, key=lambda tree: float(tree.value[tree.leaves].sum()))


class ExGreedy(CenterExplainer):
    """Separate the centres so that serving each row from the nearest centre on its side costs least.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters to find when `fit` gets no labels.
    reference : {"spectral", "kmeans", "kmedians", "kernel_kmeans"} or clusterer
        How to cluster the table when `fit` gets no labels; or any object with `fit_predict`.
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

    See Also
    --------
    ExShallow : The same with shorter rules.
    ExKMC : Low cost with more leaves than centres.

    References
    ----------
    .. [1] Eduardo Laber and Lucas Murtinho. On the Price of Explainability for Some Clustering Problems. ICML 2021.

    Examples
    --------
    >>> from spexplain import ExGreedy, datasets
    >>> iris = datasets.load("iris")
    >>> ExGreedy().fit(iris.data, iris.target).n_leaves_
    3
    """

    def __init__(
        self, n_clusters: int = 8, *, reference: Any = "kmeans", **shared: Unpack[Shared]
    ) -> None:
        super().__init__(n_clusters, **shared)
        self.reference = reference

    def _objective(
        self, X: Matrix, reference: Reference | None, weights: RowWeights = ALL_ROWS
    ) -> Objective:
        assert reference is not None
        centers, mass = centers_of(reference), row_mass(reference, weights)
        return greedy_service(ServingCenters.from_centers(X, centers, sample_weight=mass))


class ExShallow(CenterExplainer):
    """ExGreedy with a penalty on the expected depth of the leaves, for shorter rules.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters to find when `fit` gets no labels.
    reference : {"spectral", "kmeans", "kmedians", "kernel_kmeans"} or clusterer
        How to cluster the table when `fit` gets no labels; or any object with `fit_predict`.
    depth_weight : float, default=0.03
        Weight of the expected depth relative to the cost; 0 gives ExGreedy.
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

    See Also
    --------
    ExGreedy : The same without regard to the length of rules.
    SpexClique : Explains clusters of any shape.

    References
    ----------
    .. [1] Eduardo Laber, Lucas Murtinho and Felipe Oliveira. Shallow Decision Trees for Explainable k-Means Clustering.
       Pattern Recognition 137, 2023.

    Examples
    --------
    >>> from spexplain import ExShallow, datasets
    >>> iris = datasets.load("iris")
    >>> ExShallow().fit(iris.data, iris.target).tree_.depth
    2
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        reference: Any = "kmeans",
        depth_weight: float = 0.03,
        **shared: Unpack[Shared],
    ) -> None:
        super().__init__(n_clusters, **shared)
        self.reference = reference
        self.depth_weight = depth_weight

    def _objective(
        self, X: Matrix, reference: Reference | None, weights: RowWeights = ALL_ROWS
    ) -> Objective:
        assert reference is not None
        depth_weight = check_number("depth_weight", self.depth_weight)
        centers, mass = centers_of(reference), row_mass(reference, weights)
        graph = ServingCenters.from_centers(X, centers, sample_weight=mass)
        return shallow_service(graph, depth_weight)


def first_of_equals(centers: Floats) -> Ints:
    """Return for every centre the lowest index of a centre at the same place."""
    _, first, place = np.unique(centers, axis=0, return_index=True, return_inverse=True)
    return np.asarray(first[place.reshape(-1)], dtype=np.int64)


def centers_of(reference: Reference) -> Floats:
    """Return the centres of a reference that has them."""
    assert reference.centers is not None
    return reference.centers


def _with_centers(reference: Reference, centers: Floats) -> Reference:
    """Return the reference with given centres, matched by sorted label or by number."""
    if reference.n_clusters == len(centers):
        return replace(reference, centers=centers)
    classes = reference.classes
    if classes.dtype.kind in "iu" and classes.min() >= 0 and classes.max() < len(centers):
        # Labels are row numbers of `centers`, some of which have no samples.
        codes = look_up(np.append(classes.astype(np.int64), -1), reference.codes)
        return replace(reference, codes=codes, classes=np.arange(len(centers)), centers=centers)
    raise ValueError(
        f"centers has {len(centers)} rows, but y has {reference.n_clusters} clusters; give one row per "
        "cluster, or label rows with the numbers of their centres."
    )
