"""Trees for any two graphs: cut little of one and much of the other."""

from typing import Any, ClassVar, Unpack

import numpy as np

from spexplain.aliases import Matrix
from spexplain.estimators.base import Explainer
from spexplain.estimators.parameters import Shared, explainer
from spexplain.estimators.spex import given_graph
from spexplain.graphs import PairGraph, ProductGraph
from spexplain.graphs.sparse import graph_of
from spexplain.objectives import Objective, non_uniform_cut
from spexplain.table.reference import Reference


@explainer
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
    <shared>

    Attributes
    ----------
    <attributes>

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

    def _objective(self, X: Matrix, reference: Reference | None) -> Objective:
        graph = given_graph(self.graph, X, self.n_jobs)
        against = (
            ProductGraph.from_masses(np.asarray(graph.degrees * graph.unit))
            if self.against is None
            else graph_of(self.against, X, name="against")
        )
        for name, each in (("graph", graph), ("against", against)):
            if not each.degrees.any():
                raise ValueError(f"{name} has no edges, so every cut of it is the same.")
        return non_uniform_cut(PairGraph(graph, against))
