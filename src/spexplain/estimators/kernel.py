"""Kernel IMM: explain kernel k-means by interval tests of single columns."""

from dataclasses import replace
from typing import Any, ClassVar, Literal, TypeAlias, Unpack

import numpy as np

from spexplain.aliases import Ints, Matrix
from spexplain.arguments import check_choice, check_integer
from spexplain.engines import resolve_engine
from spexplain.engines.intervals import IntervalEngine
from spexplain.engines.surrogates import SurrogateEngine
from spexplain.estimators.base import Explainer, Shared
from spexplain.estimators.reading import ALL_ROWS, RowWeights, Searched, row_mass
from spexplain.explanation import Explanation
from spexplain.graphs import CenterCosts, CliqueGraph, Graph
from spexplain.graphs.base import to_fixed_point
from spexplain.graphs.kernel import (
    Family,
    KernelName,
    SurrogateStar,
    feature_space_costs,
    majority_costs,
)
from spexplain.grow import grow
from spexplain.metrics import price_of_explainability
from spexplain.objectives import Objective, exkmc, imm
from spexplain.table.base import Table
from spexplain.table.reference import Reference
from spexplain.table.views import SearchedTree, written_out
from spexplain.tree import Tree

Surrogate: TypeAlias = Literal["kernel", "taylor", "best"]
Expansion: TypeAlias = Literal["exkmc", "mistakes"]


class KernelIMM(Explainer):
    """Explain kernel k-means with a tree of interval tests, each of one column.

    Kernel IMM separates the clusters' means in a space of surrogate features, with as few rows as possible
    cut off from their own mean. Each surrogate feature is a function of a single column that rises to one
    peak and falls again, so a threshold on it is an interval of the column, which the tree can test
    directly. `expand` decides how the tree grows to more leaves than clusters.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters to find when `fit` gets no labels.
    reference : {"spectral", "kmeans", "kmedians", "kernel_kmeans"} or clusterer
        How to cluster the table when `fit` gets no labels; or any object with `fit_predict`.
        "kernel_kmeans" takes `kernel` and `gamma` from here.
    kernel : {"rbf", "laplacian"}, default="rbf"
        exp(-gamma ‖x - y‖²) or exp(-gamma ‖x - y‖₁).
    gamma : float, default=1.0
        Scale of the kernel.
    surrogate : {"kernel", "taylor", "best"}, default="kernel"
        Surrogate features: the kernel of one column between a row and every anchor, a value of that
        column in the training rows; or, for the rbf kernel, five Taylor features per column; or
        whichever of the two leads to the cheaper clustering by kernel k-means. May also be given as
        `features`.
    max_anchors : int, optional
        Anchors per column, spread evenly over its distinct values: an approximation that makes a node
        of m rows cost O(m · max_anchors) per column instead of O(m²). By default all distinct values.
    expand : {"exkmc", "mistakes"} or None, default="exkmc"
        How to grow to more leaves than clusters, by intervals of columns. "exkmc": by the least squared
        distance in feature space to the mean that serves a leaf, with the clusters' means fixed; "mistakes":
        by the fewest rows outside the commonest cluster of their leaf; None: not at all.
    intervals : bool, default=True
        Whether tests may be intervals. If not, only tests that act as ordinary thresholds on the rows
        of their node are allowed.
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
    surrogate_ : {"kernel", "taylor"}
        The surrogate features of the tree.
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

    Notes
    -----
    No matrix of rows × rows is kept; the time is O(n_features · m²) for a node of m rows, so a table of
    more than about 20,000 rows needs `max_anchors`. A leaf stands for the cluster whose mean is in it
    (of several, the one with most rows there), a leaf of the expansion for the cluster that serves
    it best, a leaf of a refined tree for its commonest cluster. `refine="objective"` lowers the
    number of rows outside the commonest cluster of their leaf.

    See Also
    --------
    IMM : The same for k-means in the columns themselves.
    SpexClique : Explains kernel k-means clusters by tests with a single threshold.

    References
    ----------
    .. [1] Maximilian Fleissner, Leena Chennuru Vankadara and Debarghya Ghoshdastidar. Explaining Kernel Clustering via
       Decision Trees. ICLR 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain import KernelIMM
    >>> x = np.array([0.0, 0.1, 0.2, 2.0, 2.1, 2.2, 4.0, 4.1, 4.2])
    >>> explainer = KernelIMM().fit(x[:, None], ["outer"] * 3 + ["inner"] * 3 + ["outer"] * 3)
    >>> print(explainer.to_text(["width"]))
    1 < width ≤ 3
    ├─ yes: leaf 0 (3 rows, 100% inner)
    └─ no:  leaf 1 (6 rows, 100% outer)
    """

    # The issue tracker's name for `surrogate`; lists of columns keep their meaning.
    _words_for_features: ClassVar[tuple[str, ...]] = ("kernel", "taylor", "best")
    surrogate_: Family
    _node_centers: list[Ints]  # clusters whose mean is in a node of the Kernel IMM tree

    _searches_sets: ClassVar[bool] = False

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        reference: Any = "kernel_kmeans",
        kernel: KernelName = "rbf",
        gamma: float = 1.0,
        surrogate: Surrogate = "kernel",
        max_anchors: int | None = None,
        expand: Expansion | None = "exkmc",
        intervals: bool = True,
        **shared: Unpack[Shared],
    ) -> None:
        super().__init__(n_clusters, **shared)
        self.reference = reference
        self.kernel = kernel
        self.gamma = gamma
        self.surrogate = surrogate
        self.max_anchors = max_anchors
        self.expand = expand
        self.intervals = intervals

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("kernel", self.kernel, ("rbf", "laplacian"))
        check_choice("surrogate", self.surrogate, self._words_for_features)
        if not _is_positive(self.gamma):
            raise ValueError(f"gamma={self.gamma!r} must be a positive number.")
        if self.kernel == "laplacian" and self._surrogate_choice() == "taylor":
            name = "surrogate" if self.surrogate == "taylor" else "features"
            raise ValueError(
                f'{name}="taylor" needs kernel="rbf": the laplacian kernel has no Taylor features.'
            )
        if self.max_anchors is not None:
            check_integer("max_anchors", self.max_anchors, 1)
        if self.expand is not None:
            check_choice("expand", self.expand, ("exkmc", "mistakes"))
        if not isinstance(self.intervals, bool | np.bool_):
            raise ValueError(f"intervals={self.intervals!r} must be True or False.")

    def _surrogate_choice(self) -> Any:
        """Return the surrogate features asked for, by either parameter."""
        is_word = isinstance(self.features, str) and self.features in self._words_for_features
        return self.features if is_word else self.surrogate

    def _reference(self, table: Table, y: Any, **given: Any) -> Reference | None:
        if y is None and isinstance(self.reference, str) and self.reference == "kernel_kmeans":
            from spexplain.references.kernel_kmeans import KernelKMeans

            if self.n_clusters > len(table):
                raise ValueError(
                    f"n_clusters={self.n_clusters} is more than the {len(table)} rows of X."
                )
            clusterer = KernelKMeans(
                self.n_clusters,
                kernel=self.kernel,
                gamma=self.gamma,
                random_state=self.random_state,
            )
            y = clusterer.fit_predict(
                table.as_points().to_host(), sample_weight=given.get("weights")
            )
        return super()._reference(table, y, **given)

    def _objective(
        self, X: Matrix, reference: Reference | None, weights: RowWeights = ALL_ROWS
    ) -> Objective:
        assert reference is not None
        codes, gamma = reference.codes, float(self.gamma)
        star = SurrogateStar(codes, self.kernel, gamma, max_anchors=self.max_anchors)
        mass = row_mass(reference, weights)  # a shared row counts for the cluster with most of it
        if mass is not None:
            fixed, unit = to_fixed_point(mass, total=4.0 * float(mass.sum()))
            star = replace(star, sample_weights=fixed, unit=unit)
        if self._surrogate_choice() == "taylor":
            star = replace(star, family="taylor")
        base = imm(star)
        if self.expand is None or self._wanted_leaves(reference) <= reference.n_clusters:
            return base
        if self.expand == "exkmc":
            costs = feature_space_costs(X, codes, self.kernel, gamma, mass)
            return replace(exkmc(costs), start=base)
        return replace(exkmc(majority_costs(codes, mass)), name="mistakes", start=base)

    def _grow(self, X: Matrix, objective: Objective, n_leaves: int) -> Tree:
        X = written_out(X)
        if isinstance(objective.graph, SurrogateStar):
            return self._grow_surrogate(X, objective.graph, n_leaves)
        if not self.intervals:
            return super()._grow(X, objective, n_leaves)
        assert objective.start is not None
        start = self._grow(X, objective.start, n_leaves)
        search = IntervalEngine(self.n_jobs).bind(
            X, objective, min_samples_leaf=self.min_samples_leaf
        )
        return grow(search, max_leaves=n_leaves, max_depth=self.max_depth, start=start)

    def _grow_surrogate(self, X: Matrix, star: SurrogateStar, n_leaves: int) -> Tree:
        """Return the tree of the surrogate features that were asked for, or of the better ones."""
        resolve_engine(self.engine, n_jobs=self.n_jobs)  # refuses unknown names
        engine = SurrogateEngine(half_lines=not self.intervals, n_jobs=self.n_jobs)
        both = self._surrogate_choice() == "best" and self.kernel == "rbf"
        stars = [star, replace(star, family="taylor")] if both else [star]
        grown: list[tuple[float, Tree, SurrogateStar, list[Ints]]] = []
        for each in stars:
            search = engine.bind(X, imm(each), min_samples_leaf=self.min_samples_leaf)
            tree = grow(search, max_leaves=n_leaves, max_depth=self.max_depth)
            price = self._price(tree.apply(X), star.labels) if both else 0.0
            grown.append((price, tree, each, search.node_centers))
        _, tree, best, self._node_centers = min(grown, key=lambda each: each[0])
        self.surrogate_ = best.family
        return tree

    def _price(self, labels: Ints, codes: Ints) -> float:
        """Return the kernel k-means cost of a tree's clusters over that of the reference."""
        known = codes >= 0
        table, reference, weights = self._rows_searched
        assert reference is not None
        rows = table.as_points().to_host()  # all columns, whichever the tree may use
        mass = row_mass(reference, weights)
        return price_of_explainability(
            rows[known],
            labels[known],
            codes[known],
            sample_weight=None if mass is None else mass[known],
            cost="kernel_kmeans",
            convention="reoptimized",
            kernel=self.kernel,
            gamma=float(self.gamma),
        )

    def _refined(self, tree: Tree, X: Matrix, objective: Objective, searched: Searched) -> Tree:
        return super()._refined(tree, X, self._of_given_leaves(objective), searched)

    def _rounded(self, tree: Tree, grown_as: SearchedTree, objective: Objective) -> Tree:
        return super()._rounded(tree, grown_as, self._of_given_leaves(objective))

    def _of_given_leaves(self, objective: Objective) -> Objective:
        """Return the objective for leaves that the search did not make, which stand for their commonest cluster.

        Only the search knows which leaf holds a mean.
        """
        if not isinstance(objective.graph, SurrogateStar):
            return objective
        searched = self._rows_searched
        assert searched.reference is not None
        mass = row_mass(searched.reference, searched.weights)
        return replace(exkmc(majority_costs(objective.graph.labels, mass)), name="mistakes")

    def _search_objective(self, table: Matrix) -> None:
        """Return nothing: interval tests on kernel features have no runner-up on another column."""

    def _certified_graph(self, objective: Objective, reference: Reference | None) -> Graph:
        """Return the cliques of the clusters; remember the costs that name expanded leaves."""
        assert reference is not None
        self._service = objective.graph
        return CliqueGraph.from_labels(reference.codes)

    def _node_codes(self, explanation: Explanation, searched: SearchedTree) -> Ints:
        """Return the cluster whose mean is in each node, or, for nodes grown later, the one that serves it best."""
        reference, tree = explanation.row_reference, explanation.tree
        labels = explanation.labels
        if explanation.is_refined:
            return super()._node_codes(explanation, searched)
        assert reference is not None
        assert labels is not None
        is_inside = np.zeros(explanation.node_counts.shape, dtype=bool)
        for node, inside in enumerate(self._node_centers):
            is_inside[node, inside] = True
        codes: Ints = np.where(is_inside, explanation.node_counts, -1).argmax(axis=1)
        is_later = np.arange(tree.n_nodes) >= len(self._node_centers)
        if is_later.any():
            assert isinstance(self._service, CenterCosts)
            totals = np.zeros((tree.n_leaves, reference.n_clusters), dtype=np.int64)
            rows = self._rows_searched.weights.rows
            np.add.at(totals, labels if rows is None else labels[rows], self._service.costs)
            codes = np.where(is_later, tree.totals(totals).argmin(axis=1), codes)
        return codes


def _is_positive(value: Any) -> bool:
    is_number = isinstance(value, int | float | np.integer | np.floating)
    return is_number and not isinstance(value, bool) and 0 < value < np.inf
