"""Methods that part the centres of a reference clustering: IMM, EMN, ExKMC and their relatives."""

from dataclasses import replace
from typing import Any, Literal, Self, TypeAlias, Unpack

import numpy as np
from sklearn.utils import check_random_state

from spexplain.engines.random import RandomEngine
from spexplain.estimators.base import Explainer
from spexplain.estimators.checks import check_choice, check_integer
from spexplain.estimators.explained import Explained
from spexplain.estimators.parameters import Shared, explainer
from spexplain.estimators.reference import Reference
from spexplain.graphs import CenterCosts, Graph, ServingCenters, StarGraph
from spexplain.graphs.centers import CostName, service_costs
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
from spexplain.tree import Tree
from spexplain.typing import Array, Floats, Ints, Matrix

Pairs: TypeAlias = Literal["any", "furthest"]


class CenterExplainer(Explainer):
    """Part the centres of a clustering; every leaf stands for the centre in it."""

    objective: CostName = "kmeans"

    def fit(self, X: Any, y: Any = None, centers: Any = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            The table in whose columns the explanation speaks.
        y : array of shape (n_samples,), optional
            Reference labels of any type. Without them each row belongs to the nearest of `centers`,
            or the clustering is computed by `reference`.
        centers : array of shape (n_clusters, n_features), optional
            Centres in the order of the sorted labels, or, if the labels are integers from 0, in
            their order; by default the means (k-medians: medians) of the clusters.

        Returns
        -------
        self
        """
        return self._fit(X, y, centers=centers)

    def _reference(self, X: Matrix, y: Any, **given: Any) -> Reference | None:
        check_choice(self, "objective", ("kmeans", "kmedians"))
        centers = given.get("centers")
        if centers is None:
            reference = super()._reference(X, y)
            assert reference is not None
            return replace(reference, centers=cluster_centers(X, reference, self.objective))
        centers = _checked_centers(centers, X.shape[1])
        if y is None:
            codes = np.argmin(service_costs(X, centers, self.objective), axis=1)
            return Reference(codes, codes, np.arange(len(centers)), centers)
        reference = Reference.from_labels(y, n_samples=len(X), noise=self.noise)
        return _with_centers(reference, centers)

    def _leaf_reference(self, explained: Explained) -> Array:
        """Return the label of the centre in each leaf; of several, the one with most rows there."""
        reference = explained.reference
        assert reference is not None
        centers = _centers_of(reference)
        first = first_of_equals(centers)
        is_in_leaf = np.zeros(explained.counts.shape, dtype=bool)
        is_in_leaf[explained.tree.apply(centers[first]), first] = True
        counts = np.where(is_in_leaf, explained.counts, -1)
        return np.asarray(reference.classes[counts.argmax(axis=1)])

    def _certified_graph(self, objective: Objective, reference: Reference | None) -> Graph:
        """Return samples and their centres: the bound on the price of parting them is part of it."""
        assert reference is not None
        return self._star(reference)

    def _star(self, reference: Reference, pairs: Any = "any") -> StarGraph:
        """Return the star graph; centres that coincide cannot be parted and are taken as one."""
        centers = _centers_of(reference)
        first = first_of_equals(centers)
        distinct, place = np.unique(first, return_inverse=True)
        labels = np.where(reference.codes < 0, -1, place[reference.codes])
        return StarGraph(labels, centers[distinct], pairs)


@explainer
class IMM(CenterExplainer):
    """Part all centres with as few samples as possible parted from their own (iterative mistake minimisation).

    Parameters
    ----------
    n_clusters : int, default=8
        Clusters to look for when `fit` gets no labels.
    <reference>
    pairs : {"any", "furthest"}, default="any"
        A cut must part some two centres of the node, or the two that are furthest apart (modified IMM).
    objective : {"kmeans", "kmedians"}, default="kmeans"
        Centres are means and distances Euclidean, or medians and ℓ1.
    <shared>

    Attributes
    ----------
    <attributes>

    Examples
    --------
    >>> from spexplain import IMM, datasets
    >>> iris = datasets.load("iris")
    >>> IMM().fit(iris.data, iris.target).objective_  # samples parted from their centre
    6.0
    """

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

    def _objective(self, X: Matrix, reference: Reference | None) -> Objective:
        assert reference is not None
        check_choice(self, "pairs", ("any", "furthest"))
        metric = "furthest_l1" if self.objective == "kmedians" else "furthest_l2"
        return imm(self._star(reference, "any" if self.pairs == "any" else metric))


@explainer
class EMN(CenterExplainer):
    """Part all centres with few parted samples per parted centre.

    Parameters
    ----------
    n_clusters : int, default=8
        Clusters to look for when `fit` gets no labels.
    <reference>
    denominator : {"min", "product"}, default="min"
        Parted samples are divided by the smaller number of centres of both sides, or by the product.
    objective : {"kmeans", "kmedians"}, default="kmeans"
        Centres are means or medians.
    <shared>

    Attributes
    ----------
    <attributes>

    Examples
    --------
    >>> from spexplain import EMN, datasets
    >>> iris = datasets.load("iris")
    >>> EMN().fit(iris.data, iris.target).leaf_reference_
    array([0, 1, 2])
    """

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

    def _objective(self, X: Matrix, reference: Reference | None) -> Objective:
        assert reference is not None
        check_choice(self, "denominator", ("min", "product"))
        return emn(self._star(reference), self.denominator)


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

    def __init__(
        self, n_clusters: int = 8, *, reference: Any = "kmeans", **shared: Unpack[Shared]
    ) -> None:
        super().__init__(n_clusters, **shared)
        self.reference = reference

    def _objective(self, X: Matrix, reference: Reference | None) -> Objective:
        assert reference is not None
        costs = CenterCosts.from_centers(X, _centers_of(reference))
        return replace(exkmc(costs), start=imm(self._star(reference)))

    def _leaf_reference(self, explained: Explained) -> Array:
        """Return the centre of each IMM leaf, and the cheapest centre of each leaf grown later."""
        assert explained.reference is not None
        n_parted = len(np.unique(first_of_equals(_centers_of(explained.reference))))
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
        check_integer(self, "n_init", 1)
        return greedy_service(
            ServingCenters.from_centers(X, _centers_of(reference), self.objective)
        )

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
        return greedy_service(ServingCenters.from_centers(X, _centers_of(reference)))


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
        if not self.depth_weight >= 0:
            raise ValueError(f"depth_weight={self.depth_weight!r} must be a number of at least 0.")
        graph = ServingCenters.from_centers(X, _centers_of(reference))
        return shallow_service(graph, float(self.depth_weight))


def cluster_centers(X: Matrix, reference: Reference, cost: CostName) -> Floats:
    """Return the mean (k-medians: the coordinate-wise median) of every cluster."""
    middle = np.median if cost == "kmedians" else np.mean
    return np.array(
        [
            middle(X[reference.codes == code].astype(np.float64), axis=0)
            for code in range(reference.n_clusters)
        ]
    )


def first_of_equals(centers: Floats) -> Ints:
    """Return for every centre the lowest index of a centre at the same place."""
    _, first, place = np.unique(centers, axis=0, return_index=True, return_inverse=True)
    return np.asarray(first[place.reshape(-1)], dtype=np.int64)


def _centers_of(reference: Reference) -> Floats:
    assert reference.centers is not None
    return reference.centers


def _checked_centers(centers: Any, n_features: int) -> Floats:
    array = np.asarray(centers, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != n_features or not np.all(np.isfinite(array)):
        raise ValueError(
            f"centers must hold finite numbers, one row per cluster and {n_features} columns as X has, "
            f"got shape {array.shape}."
        )
    if len(array) < 2:
        raise ValueError("centers holds fewer than two centres; there is nothing to tell apart.")
    return array


def _with_centers(reference: Reference, centers: Floats) -> Reference:
    """Return the reference with given centres, matched by sorted label or by number."""
    if reference.n_clusters == len(centers):
        return replace(reference, centers=centers)
    classes = reference.classes
    if classes.dtype.kind in "iu" and classes.min() >= 0 and classes.max() < len(centers):
        # Labels are row numbers of `centers`; some centres have no samples.
        codes = np.where(reference.codes < 0, -1, classes[reference.codes])
        return replace(reference, codes=codes, classes=np.arange(len(centers)), centers=centers)
    raise ValueError(
        f"centers has {len(centers)} rows, but y has {reference.n_clusters} clusters; give one row per "
        "cluster, or label rows with the numbers of their centres."
    )
