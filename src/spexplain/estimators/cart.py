"""CART as explainable clustering uses it: the usual decision tree on the reference labels, a baseline."""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from spexplain.engines import Engine
from spexplain.estimators.base import Explainer
from spexplain.estimators.documentation import documented
from spexplain.estimators.reference import Reference
from spexplain.graphs import CliqueGraph
from spexplain.objectives import Objective, gini_cart, volume_cart
from spexplain.typing import EngineName, LeafWeight, Matrix, NoisePolicy

Criterion: TypeAlias = Literal["gini", "volume"]


@documented
class CART(Explainer):
    """Explain a reference clustering with a classification tree grown best-first.

    Parameters
    ----------
    n_clusters : int, default=8
        Clusters to look for when `fit` gets no labels.
    <leaves>
    <reference>
    criterion : {"gini", "volume"}, default="gini"
        Gini impurity, or its form with volumes of the independent-set graph in place of sizes.
    leaf_weight : {"none", "size"}, default="none"
        Which leaf is split next: the one whose impurity drops most, or most after weighting by its
        samples, as scikit-learn does.
    <shared>

    Attributes
    ----------
    <attributes>

    Examples
    --------
    >>> from spexplain import CART, datasets
    >>> iris = datasets.load("iris")
    >>> CART().fit(iris.data, iris.target).rules()[0]["rule"]
    'x2 ≤ 2.45'
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_leaves: int | None = None,
        reference: Any = "spectral",
        criterion: Criterion = "gini",
        leaf_weight: LeafWeight = "none",
        max_depth: int | None = None,
        min_samples_leaf: int = 1,
        features: Sequence[int | str] | None = None,
        noise: NoisePolicy = "ignore",
        engine: EngineName | Engine = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            n_clusters,
            n_leaves=n_leaves,
            reference=reference,
            max_depth=max_depth,
            min_samples_leaf=min_samples_leaf,
            features=features,
            noise=noise,
            engine=engine,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.criterion = criterion
        self.leaf_weight = leaf_weight

    def _objective(self, X: Matrix, reference: Reference | None) -> Objective:
        assert reference is not None
        self._check_choice("criterion", ("gini", "volume"))
        self._check_choice("leaf_weight", ("none", "size"))
        formula = gini_cart if self.criterion == "gini" else volume_cart
        return formula(CliqueGraph.from_labels(reference.codes), self.leaf_weight)
