"""CART as explainable clustering uses it: a decision tree fitted to the reference labels, as a baseline."""

from typing import Any, ClassVar, Literal, TypeAlias, Unpack

from spexplain.aliases import LeafWeight, Matrix
from spexplain.arguments import check_choice
from spexplain.estimators.base import Explainer, Shared
from spexplain.estimators.reading import ALL_ROWS, RowWeights
from spexplain.estimators.spex import clique_graph
from spexplain.objectives import Objective, gini_cart, volume_cart
from spexplain.table.reference import Reference

Criterion: TypeAlias = Literal["gini", "volume"]


class CART(Explainer):
    """Explain a reference clustering with a classification tree grown best-first.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters to find when `fit` gets no labels.
    reference : {"spectral", "kmeans", "kmedians", "kernel_kmeans"} or clusterer
        How to cluster the table when `fit` gets no labels; or any object with `fit_predict`.
    criterion : {"gini", "volume"}, default="gini"
        Gini impurity, or its variant with volumes in the independent-set graph in place of sizes.
    leaf_weight : {"size", "none"}, default="size"
        Which leaf is split next. "size": the leaf whose drop of impurity, weighted by its rows, is
        largest, as in scikit-learn with `max_leaf_nodes`. "none": the leaf whose impurity drops most,
        whatever its size, as in the tables of the paper.
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
    BestTree : Searches for the best tree of a size instead of growing it greedily.
    SpexClique : Cuts cliques of the same clusters by their conductance.

    References
    ----------
    .. [1] Leo Breiman, Jerome Friedman, Richard Olshen and Charles Stone. Classification and Regression Trees. 1984.
    .. [2] Tal Argov and Tal Wagner. SpEx: A Spectral Approach to Explainable Clustering. NeurIPS 2025.

    Examples
    --------
    >>> from spexplain import CART, datasets
    >>> iris = datasets.load("iris")
    >>> CART().fit(iris.data, iris.target).rules(output="records")[0]["rule"]
    'x2 ≤ 2'
    """

    _remote_engines: ClassVar[tuple[str, ...]] = ("cupy", "dask")
    _takes_weights_on_device: ClassVar[bool] = True
    _needs_labels_only: ClassVar[bool] = True

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        reference: Any = "spectral",
        criterion: Criterion = "gini",
        leaf_weight: LeafWeight = "size",
        **shared: Unpack[Shared],
    ) -> None:
        super().__init__(n_clusters, **shared)
        self.reference = reference
        self.criterion = criterion
        self.leaf_weight = leaf_weight

    def _objective(
        self, X: Matrix, reference: Reference | None, weights: RowWeights = ALL_ROWS
    ) -> Objective:
        assert reference is not None
        check_choice("criterion", self.criterion, ("gini", "volume"))
        check_choice("leaf_weight", self.leaf_weight, ("none", "size"))
        formula = gini_cart if self.criterion == "gini" else volume_cart
        return formula(clique_graph(reference, weights), self.leaf_weight)
