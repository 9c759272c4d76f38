"""CART as explainable clustering uses it: the usual decision tree on the reference labels, a baseline."""

from typing import Any, ClassVar, Literal, TypeAlias, Unpack

from spexplain.aliases import LeafWeight, Matrix
from spexplain.arguments import check_choice
from spexplain.estimators.base import Explainer
from spexplain.estimators.parameters import Shared, explainer
from spexplain.graphs import CliqueGraph
from spexplain.objectives import Objective, gini_cart, volume_cart
from spexplain.table.reference import Reference

Criterion: TypeAlias = Literal["gini", "volume"]


@explainer
class CART(Explainer):
    """Explain a reference clustering with a classification tree grown best-first.

    Parameters
    ----------
    n_clusters : int, default=8
        Clusters to look for when `fit` gets no labels.
    <reference>
    criterion : {"gini", "volume"}, default="gini"
        Gini impurity, or its form with volumes of the independent-set graph in place of sizes.
    leaf_weight : {"size", "none"}, default="size"
        Which leaf is split next. "size": the one whose drop of impurity, weighted by its samples, is
        largest, as scikit-learn does with `max_leaf_nodes`. "none": the one whose impurity drops most
        whatever its size, as in the tables of the paper.
    <shared>

    Attributes
    ----------
    <attributes>

    Examples
    --------
    >>> from spexplain import CART, datasets
    >>> iris = datasets.load("iris")
    >>> CART().fit(iris.data, iris.target).rules(output="records")[0]["rule"]
    'x2 ≤ 2.45'
    """

    _beyond: ClassVar[tuple[str, ...]] = ("cupy", "dask")

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

    def _objective(self, X: Matrix, reference: Reference | None) -> Objective:
        assert reference is not None
        check_choice("criterion", self.criterion, ("gini", "volume"))
        check_choice("leaf_weight", self.leaf_weight, ("none", "size"))
        formula = gini_cart if self.criterion == "gini" else volume_cart
        return formula(CliqueGraph.from_labels(reference.codes), self.leaf_weight)
