"""Part centres so that samples are served cheaply: ExKMC, random cuts, ExGreedy, ExShallow."""

from dataclasses import replace
from typing import Any, ClassVar, Unpack

import numpy as np
from sklearn.utils import check_random_state

from spexplain.aliases import Array, Matrix
from spexplain.arguments import check_integer, check_number
from spexplain.engines.random_cuts import RandomEngine
from spexplain.estimators.center_based import CenterExplainer, centers_of, first_of_equals
from spexplain.estimators.explained import Explained
from spexplain.estimators.parameters import Shared, explainer
from spexplain.graphs import CenterCosts, ServingCenters
from spexplain.grow import grow
from spexplain.objectives import Objective, exkmc, greedy_service, imm, shallow_service
from spexplain.table.distances import CostName
from spexplain.table.reference import Reference
from spexplain.tree import Tree


@explainer
class ExKMC(CenterExplainer):
    """Grow an IMM tree on to more leaves than clusters, each served by the best of the reference centres.

    Parameters
    ----------
    n_clusters : int, default=8
        Clusters to look for when `fit` gets no labels.
    <reference>
    <shared>

    Attributes
    ----------
    <attributes>

    Examples
    --------
    >>> from spexplain import ExKMC, datasets
    >>> iris = datasets.load("iris")
    >>> explainer = ExKMC(n_leaves=6).fit(iris.data, iris.target)
    >>> explainer.n_leaves_, len(set(explainer.leaf_reference_))
    (6, 3)
    """

    _beyond: ClassVar[tuple[str, ...]] = ("dask",)

    def __init__(
        self, n_clusters: int = 8, *, reference: Any = "kmeans", **shared: Unpack[Shared]
    ) -> None:
        super().__init__(n_clusters, **shared)
        self.reference = reference

    def _objective(self, X: Matrix, reference: Reference | None) -> Objective:
        assert reference is not None
        costs = CenterCosts.from_centers(X, centers_of(reference))
        return replace(exkmc(costs), start=imm(self._star(reference)))

    def _leaf_reference(self, explained: Explained) -> Array:
        """Return the centre of each IMM leaf, and the cheapest centre of each leaf grown later."""
        assert explained.reference is not None
        n_parted = len(np.unique(first_of_equals(centers_of(explained.reference))))
        grown_later = explained.tree.leaves >= 2 * n_parted - 1
        cheapest = explained.reference.classes[explained.costs.argmin(axis=1)]
        return np.where(grown_later, cheapest, super()._leaf_reference(explained))


@explainer
class RandomCuts(CenterExplainer):
    """Part the centres by random cuts, blind to the samples; the cheapest of several draws is kept.

    Parameters
    ----------
    n_clusters : int, default=8
        Clusters to look for when `fit` gets no labels.
    <reference>
    objective : {"kmedians", "kmeans"}, default="kmedians"
        Law of the cuts and cost that decides between draws.
    n_init : int, default=10
        Number of draws.
    <shared>

    Attributes
    ----------
    <attributes>

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

    def _objective(self, X: Matrix, reference: Reference | None) -> Objective:
        assert reference is not None
        check_integer("n_init", self.n_init, 1)
        return greedy_service(ServingCenters.from_centers(X, centers_of(reference), self.objective))

    def _grow(self, X: Matrix, objective: Objective, n_leaves: int) -> Tree:
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=self.n_init)
        searches = (RandomEngine(int(seed), self.objective).bind(X, objective) for seed in seeds)
        trees = [grow(each, max_leaves=n_leaves, max_depth=self.max_depth) for each in searches]
        return min(trees, key=lambda tree: float(tree.value[tree.leaves].sum()))


@explainer
class ExGreedy(CenterExplainer):
    """Part the centres so that serving each sample from the nearest centre of its side costs least.

    Parameters
    ----------
    n_clusters : int, default=8
        Clusters to look for when `fit` gets no labels.
    <reference>
    <shared>

    Attributes
    ----------
    <attributes>

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

    def _objective(self, X: Matrix, reference: Reference | None) -> Objective:
        assert reference is not None
        return greedy_service(ServingCenters.from_centers(X, centers_of(reference)))


@explainer
class ExShallow(CenterExplainer):
    """As ExGreedy, with a weight on how deep the leaves are expected to lie: shorter rules.

    Parameters
    ----------
    n_clusters : int, default=8
        Clusters to look for when `fit` gets no labels.
    <reference>
    depth_weight : float, default=0.03
        Weight of the expected depth beside the relative cost; 0 is ExGreedy.
    <shared>

    Attributes
    ----------
    <attributes>

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

    def _objective(self, X: Matrix, reference: Reference | None) -> Objective:
        assert reference is not None
        depth_weight = check_number("depth_weight", self.depth_weight)
        graph = ServingCenters.from_centers(X, centers_of(reference))
        return shallow_service(graph, depth_weight)
