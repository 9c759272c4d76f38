"""SpEx: trees whose leaves are cut out of a graph as cleanly as coordinate cuts allow."""

from typing import Any, ClassVar, Unpack

from spexplain.aliases import Matrix, Symmetrization
from spexplain.arguments import check_choice, check_integer
from spexplain.estimators.base import Explainer
from spexplain.estimators.parameters import Shared, explainer
from spexplain.graphs import CliqueGraph, Graph, Neighbors, SparseGraph, knn_graph
from spexplain.graphs.clique import CliqueWeights
from spexplain.graphs.sparse import check_vertices, graph_of
from spexplain.objectives import Objective, spex
from spexplain.table.reference import Reference


@explainer
class SpexClique(Explainer):
    """Explain a reference clustering: every cluster is a clique, and the tree cuts as few of its edges as it can.

    A cluster of a single sample has no edges: it never gets a leaf of its own.

    Parameters
    ----------
    n_clusters : int, default=8
        Clusters to look for when `fit` gets no labels.
    <reference>
    clique_weights : {"unit", "inverse_size"}, default="unit"
        Weight of an edge inside a cluster: 1, or 1/(N-1) in a cluster of N samples, so that small
        clusters have the same say as large ones.
    <shared>

    Attributes
    ----------
    <attributes>

    Examples
    --------
    >>> from spexplain import SpexClique, datasets
    >>> iris = datasets.load("iris")
    >>> explainer = SpexClique().fit(iris.data, iris.target_names[iris.target])
    >>> print(explainer.to_text())
    x2 ≤ 2.45
    ├─ yes: leaf 0 (50 rows, 100% setosa)
    └─ no:  x3 ≤ 1.75
       ├─ yes: leaf 1 (54 rows, 91% versicolor)
       └─ no:  leaf 2 (46 rows, 98% virginica)
    >>> explainer.predict_reference(iris.data[:1])
    array(['setosa'], ...)
    """

    _beyond: ClassVar[tuple[str, ...]] = ("cupy", "dask")

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

    def _objective(self, X: Matrix, reference: Reference | None) -> Objective:
        assert reference is not None
        check_choice("clique_weights", self.clique_weights, ("unit", "inverse_size"))
        return spex(CliqueGraph.from_labels(reference.codes, self.clique_weights))


@explainer
class SpexGraph(Explainer):
    """Cut any graph over the samples into leaves of small conductance; no reference clustering is needed.

    Parameters
    ----------
    n_clusters : int, default=8
        Leaves of the tree, unless `n_leaves` says otherwise.
    graph : scipy.sparse matrix or array, graph, transformer, callable, or None
        Symmetric, non-negative adjacency of the samples; or a graph of `spexplain.graphs`; or a
        transformer such as `sklearn.neighbors.KNeighborsTransformer`, whose neighbours are joined
        by unit edges; or a function from X to one of these. None: the 10-nearest-neighbour graph of
        the standardised table.
    <shared>

    Attributes
    ----------
    <attributes>

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain import SpexGraph
    >>> X = np.array([[0.0], [1.0], [2.0], [7.0], [8.0]])
    >>> ring = np.abs(X - X.T) <= 1
    >>> SpexGraph(2, graph=ring).fit_predict(X)
    array([0, 0, 0, 1, 1])
    """

    _beyond: ClassVar[tuple[str, ...]] = ("cupy", "dask")
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

    def _objective(self, X: Matrix, reference: Reference | None) -> Objective:
        return spex(given_graph(self.graph, X, self.n_jobs))


@explainer
class SpexKNN(Explainer):
    """Cut the nearest-neighbour graph of the samples into leaves of small conductance; needs no reference.

    Parameters
    ----------
    n_clusters : int, default=8
        Leaves of the tree, unless `n_leaves` says otherwise.
    n_neighbors : int or Neighbors, default=20
        Neighbours of each sample, itself excluded; at most all others. Or neighbours found before
        (`spexplain.graphs.Neighbors`), to share them with a spectral reference or another fit.
    standardize : bool, default=True
        Measure distances with every feature brought to variance 1. The tree always speaks of the
        table as it is.
    symmetrize : {"sum", "union", "mutual"}, default="sum"
        Weight of an edge: the number of directions in which it is a nearest-neighbour pair, or 1 if
        at least one or both hold.
    approximate : bool, default=False
        Search neighbours faster and miss some (extra ``knn``); `recall_` tells how many.
    <shared>

    Attributes
    ----------
    graph_ : SparseGraph
        The nearest-neighbour graph.
    recall_ : float
        Share of the true neighbours in it: 1, or as measured on some rows if `approximate`.
    <attributes>

    Examples
    --------
    >>> from spexplain import SpexKNN, datasets
    >>> iris = datasets.load("iris")
    >>> print(SpexKNN(2).fit(iris.data).to_text(iris.feature_names))
    petal length (cm) ≤ 2.45
    ├─ yes: leaf 0 (50 rows)
    └─ no:  leaf 1 (100 rows)
    """

    _beyond: ClassVar[tuple[str, ...]] = ("cupy",)
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

    def _objective(self, X: Matrix, reference: Reference | None) -> Objective:
        if isinstance(self.n_neighbors, Neighbors):
            neighbors = self.n_neighbors
        else:
            check_integer("n_neighbors", self.n_neighbors, 1)
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


def given_graph(graph: Any, X: Matrix, n_jobs: int | None) -> Graph:
    """Return the graph that a caller gave, or the 10-nearest-neighbour graph if there is none."""
    if graph is None:
        return knn_graph(X, min(10, len(X) - 1), n_jobs=n_jobs)
    return graph_of(graph, X)
