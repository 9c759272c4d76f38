"""Part centres with few samples parted from their own: IMM and EMN."""

from typing import Any, ClassVar, Literal, TypeAlias, Unpack

from spexplain.aliases import Matrix
from spexplain.arguments import check_choice
from spexplain.estimators.center_based import CenterExplainer
from spexplain.estimators.parameters import Shared, explainer
from spexplain.objectives import Denominator, Objective, emn, imm
from spexplain.table.distances import CostName
from spexplain.table.reference import Reference

Pairs: TypeAlias = Literal["any", "furthest"]


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

    _beyond: ClassVar[tuple[str, ...]] = ("cupy", "dask")

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
        check_choice("pairs", self.pairs, ("any", "furthest"))
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

    _beyond: ClassVar[tuple[str, ...]] = ("cupy", "dask")

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
        check_choice("denominator", self.denominator, ("min", "product"))
        return emn(self._star(reference), self.denominator)
