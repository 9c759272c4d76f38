"""SpEx: trees whose leaves are cut out of a graph as cleanly as tests of single columns allow."""

from typing import Any, ClassVar, Unpack

import numpy as np

from spexplain.aliases import Floats, Ints, Matrix, Symmetrization
from spexplain.arguments import check_choice, check_flag, check_integer
from spexplain.estimators.base import Explainer, Shared
from spexplain.estimators.reading import ALL_ROWS, RowWeights
from spexplain.graphs import (
    CliqueGraph,
    Graph,
    MembershipGraph,
    Neighbors,
    PairGraph,
    ProductGraph,
    SparseGraph,
    knn_graph,
)
from spexplain.graphs.clique import CliqueWeights
from spexplain.graphs.neighbors import weighted_knn_graph
from spexplain.graphs.sparse import check_vertices, graph_of
from spexplain.objectives import Objective, non_uniform_cut, spex
from spexplain.table.reference import Reference


class SpexClique(Explainer):
    """Explain a reference clustering: every cluster is a clique, and the tree cuts as few of its edges as it can.

    A cluster of a single row has no edges, so no leaf is made for it.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters to find when `fit` gets no labels.
    reference : {"spectral", "kmeans", "kmedians", "kernel_kmeans"} or clusterer
        How to cluster the table when `fit` gets no labels; or any object with `fit_predict`.
    clique_weights : {"unit", "inverse_size"}, default="unit"
        Weight of an edge inside a cluster: 1, or 1/(N-1) in a cluster of N rows, so that small
        clusters count as much as large ones.
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
    BestTree : The best tree of a size, which starts from this one.
    SpexKNN : Explains the table itself, without clusters.
    CART : The same cliques under the Gini impurity.

    References
    ----------
    .. [1] Tal Argov and Tal Wagner. SpEx: A Spectral Approach to Explainable Clustering. NeurIPS 2025.

    Examples
    --------
    >>> from spexplain import SpexClique, datasets
    >>> iris = datasets.load("iris")
    >>> explainer = SpexClique().fit(iris.data, iris.target_names[iris.target])
    >>> print(explainer.to_text())
    x2 ≤ 2
    ├─ yes: leaf 0 (50 rows, 100% setosa)
    └─ no:  x3 ≤ 1.7
       ├─ yes: leaf 1 (54 rows, 91% versicolor)
       └─ no:  leaf 2 (46 rows, 98% virginica)
    >>> explainer.predict_reference(iris.data[:1])
    array(['setosa'], ...)
    """

    _remote_engines: ClassVar[tuple[str, ...]] = ("cupy", "dask")
    _takes_weights_on_device: ClassVar[bool] = True
    _needs_labels_only: ClassVar[bool] = True

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        reference: Any = "spectral",
        clique_weights: CliqueWeights = "unit",
        **shared: Unpack[Shared],
    ) -> None:
        super().__init__(n_clusters, **shared)
        self.reference = reference
        self.clique_weights = clique_weights

    def _objective(
        self, X: Matrix, reference: Reference | None, weights: RowWeights = ALL_ROWS
    ) -> Objective:
        assert reference is not None
        check_choice("clique_weights", self.clique_weights, ("unit", "inverse_size"))
        return spex(clique_graph(reference, weights, self.clique_weights))


class SpexGraph(Explainer):
    """Cut any graph over the rows into leaves of small conductance; no reference clustering is needed.

    Parameters
    ----------
    n_clusters : int, default=8
        Leaves of the tree, unless `n_leaves` says otherwise.
    graph : scipy.sparse matrix or array, graph, transformer, callable, or None
        Symmetric, non-negative adjacency of the rows; or a graph of `spexplain.graphs`; or a
        transformer such as `sklearn.neighbors.KNeighborsTransformer`, whose neighbours are joined
        by unit edges; or a function from X to one of these. None: the 10-nearest-neighbour graph of
        the standardised table.
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
    SpexKNN : The same on the graph of nearest neighbours.
    NonUniformCut : Cuts one graph relative to another.

    References
    ----------
    .. [1] Tal Argov and Tal Wagner. SpEx: A Spectral Approach to Explainable Clustering. NeurIPS 2025.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain import SpexGraph
    >>> X = np.array([[0.0], [1.0], [2.0], [7.0], [8.0]])
    >>> ring = np.abs(X - X.T) <= 1
    >>> SpexGraph(2, graph=ring).fit_predict(X)
    array([0, 0, 0, 1, 1])
    """

    _remote_engines: ClassVar[tuple[str, ...]] = ("cupy", "dask")
    _needs_reference: ClassVar[bool] = False

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        graph: Any = None,
        **shared: Unpack[Shared],
    ) -> None:
        super().__init__(n_clusters, **shared)
        self.graph = graph

    def _objective(
        self, X: Matrix, reference: Reference | None, weights: RowWeights = ALL_ROWS
    ) -> Objective:
        return spex(given_graph(self.graph, X, self.n_jobs, weights))


class SpexKNN(Explainer):
    """Cut the nearest-neighbour graph of the rows into leaves of small conductance; needs no reference.

    Parameters
    ----------
    n_clusters : int, default=8
        Leaves of the tree, unless `n_leaves` says otherwise.
    n_neighbors : int or Neighbors, default=20
        Neighbours of each row, itself excluded; at most all others. Or neighbours found before
        (`spexplain.graphs.Neighbors`), to share them with a spectral reference or another fit.
    standardize : bool, default=True
        Measure distances with every column scaled to variance 1. The tree always tests the columns as
        they are.
    symmetrize : {"sum", "union", "mutual"}, default="sum"
        Weight of an edge: the number of directions in which it is a nearest-neighbour pair, or 1 if
        at least one or both hold.
    approximate : bool, default=False
        Search neighbours faster and miss some (extra ``knn``); `recall_` is the share that was found.
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
    graph_ : SparseGraph
        The nearest-neighbour graph.
    recall_ : float
        Share of the true neighbours in it: 1, or as measured on some rows if `approximate`.
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
    SpexGraph : The same on a graph of your own.
    SpexClique : Explains given clusters.

    References
    ----------
    .. [1] Tal Argov and Tal Wagner. SpEx: A Spectral Approach to Explainable Clustering. NeurIPS 2025.

    Examples
    --------
    >>> from spexplain import SpexKNN, datasets
    >>> iris = datasets.load("iris")
    >>> print(SpexKNN(2).fit(iris.data).to_text(iris.feature_names))
    petal length (cm) ≤ 2
    ├─ yes: leaf 0 (50 rows)
    └─ no:  leaf 1 (100 rows)
    """

    _remote_engines: ClassVar[tuple[str, ...]] = ("cupy",)
    _needs_reference: ClassVar[bool] = False
    graph_: SparseGraph

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_neighbors: int | Neighbors = 20,
        standardize: bool = True,
        symmetrize: Symmetrization = "sum",
        approximate: bool = False,
        **shared: Unpack[Shared],
    ) -> None:
        super().__init__(n_clusters, **shared)
        self.n_neighbors = n_neighbors
        self.standardize = standardize
        self.symmetrize = symmetrize
        self.approximate = approximate

    def _objective(
        self, X: Matrix, reference: Reference | None, weights: RowWeights = ALL_ROWS
    ) -> Objective:
        if weights.values is not None:
            self.graph_, self.recall_ = self._weighted_graph(X, weights.values, weights.rows)
            return spex(self.graph_)
        if isinstance(self.n_neighbors, Neighbors):
            neighbors = self.n_neighbors
        else:
            check_integer("n_neighbors", self.n_neighbors, 1)
            check_flag("standardize", self.standardize)
            check_flag("approximate", self.approximate)
            neighbors = Neighbors.of(
                X,
                min(self.n_neighbors, len(X) - 1),
                standardize=self.standardize,
                approximate=self.approximate,
                n_jobs=self.n_jobs,
            )
        self.recall_ = neighbors.recall
        self.graph_ = neighbors.graph(symmetrize=self.symmetrize)
        check_vertices("n_neighbors", self.graph_.n_samples, len(X))
        return spex(self.graph_)

    def _weighted_graph(
        self, X: Matrix, weights: Floats, rows: Ints | None
    ) -> tuple[SparseGraph, float]:
        """Return the graph of rows that count for several, and its recall."""
        if not isinstance(self.n_neighbors, Neighbors):
            check_integer("n_neighbors", self.n_neighbors, 1)
            return weighted_knn_graph(
                X,
                weights,
                self.n_neighbors,
                standardize=self.standardize,
                symmetrize=self.symmetrize,
                approximate=self.approximate,
                n_jobs=self.n_jobs,
            )
        known = self.n_neighbors
        if rows is not None:
            raise ValueError(
                "n_neighbors holds neighbours of all rows, but sample_weight is 0 for some; pass their number instead."
            )
        check_vertices("n_neighbors", len(known.indices), len(X))
        return known.weighted_graph(weights, symmetrize=self.symmetrize), known.recall

    def _search_objective(self, table: Matrix) -> Objective:
        return spex(self.graph_)  # also after a pickle: no neighbours are searched again


class NonUniformCut(Explainer):
    """Minimise the non-uniform sparse cut Ψ: the share of `graph` that is cut over the share of `against`.

    IMM, EMN and CART are special cases of this frame, with stars or independent sets of a reference
    clustering as graphs; with the default `against` it is the normalised cut of `graph`.

    Parameters
    ----------
    n_clusters : int, default=8
        Leaves of the tree, unless `n_leaves` says otherwise.
    graph : scipy.sparse matrix or array, graph, transformer, callable, or None
        The graph to cut little of, in any form that `SpexGraph` takes. None: the 10-nearest-neighbour
        graph of the standardised table.
    against : as `graph`
        The graph to cut much of. None: the clique whose edges weigh the product of the degrees of
        their ends in `graph`.
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
    SpexGraph : The same where the second graph is that of the degrees.
    IMM : A non-uniform cut of two particular graphs.

    References
    ----------
    .. [1] Tal Argov and Tal Wagner. SpEx: A Spectral Approach to Explainable Clustering. NeurIPS 2025.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain import NonUniformCut
    >>> X = np.array([[0.0], [1.0], [2.0], [7.0], [8.0]])
    >>> NonUniformCut(2, graph=np.abs(X - X.T) <= 1).fit_predict(X)
    array([0, 0, 0, 1, 1])
    """

    _needs_reference: ClassVar[bool] = False

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        graph: Any = None,
        against: Any = None,
        **shared: Unpack[Shared],
    ) -> None:
        super().__init__(n_clusters, **shared)
        self.graph = graph
        self.against = against

    def _objective(
        self, X: Matrix, reference: Reference | None, weights: RowWeights = ALL_ROWS
    ) -> Objective:
        graph = given_graph(self.graph, X, self.n_jobs, weights)
        values, rows = weights
        against = (
            ProductGraph.from_masses(np.asarray(graph.degrees * graph.unit), values)
            if self.against is None
            else graph_of(self.against, X, name="against", sample_weight=values, rows=rows)
        )
        for name, each in (("graph", graph), ("against", against)):
            if not each.degrees.any():
                raise ValueError(f"{name} has no edges, so every cut of it is the same.")
        return non_uniform_cut(PairGraph(graph, against))


def clique_graph(
    reference: Reference, weights: RowWeights, clique_weights: CliqueWeights = "unit"
) -> CliqueGraph | MembershipGraph:
    """Return the cliques of the clusters: of rows as they are, or of weighted or shared ones."""
    if weights.values is None and reference.memberships is None:
        return CliqueGraph.from_labels(reference.codes, clique_weights)
    return MembershipGraph.from_amounts(reference.amounts(weights.values), clique_weights)


def given_graph(graph: Any, X: Matrix, n_jobs: int | None, weights: RowWeights = ALL_ROWS) -> Graph:
    """Return the graph that a caller gave, or the 10-nearest-neighbour graph if there is none."""
    values, rows = weights
    if graph is not None:
        return graph_of(graph, X, sample_weight=values, rows=rows)
    if values is not None:
        return weighted_knn_graph(X, values, 10, n_jobs=n_jobs)[0]
    return knn_graph(X, min(10, len(X) - 1), n_jobs=n_jobs)
