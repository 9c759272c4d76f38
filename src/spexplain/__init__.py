"""Explain any clustering of a table with a small decision tree.

>>> from spexplain import SpexClique, datasets
>>> iris = datasets.load("iris")
>>> explainer = SpexClique(3, random_state=0).fit(iris.data)
>>> explainer.n_leaves_
3
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from spexplain._version import __version__
from spexplain.lazy import names_of

if TYPE_CHECKING:
    from spexplain import datasets, graphs, metrics
    from spexplain.estimators import (
        CART,
        EMN,
        IMM,
        BestTree,
        ExGreedy,
        ExKMC,
        ExShallow,
        KernelIMM,
        NonUniformCut,
        RandomCuts,
        SpexClique,
        SpexGraph,
        SpexKNN,
    )
    from spexplain.estimators.classifier import ClusterClassifier
    from spexplain.estimators.raw_units import raw_units
    from spexplain.estimators.rules import ClusterRules
    from spexplain.explanation import from_json
    from spexplain.references import KernelKMeans, KMedians
    from spexplain.tree import Tree

# Where each public name is defined. Names are loaded on first use, so that the command line starts at
# once and does not import scikit-learn unless it is needed.
_HOMES = {
    "BestTree": "estimators",
    "CART": "estimators",
    "ClusterClassifier": "estimators.classifier",
    "ClusterRules": "estimators.rules",
    "EMN": "estimators",
    "ExGreedy": "estimators",
    "ExKMC": "estimators",
    "ExShallow": "estimators",
    "IMM": "estimators",
    "KMedians": "references",
    "KernelIMM": "estimators",
    "KernelKMeans": "references",
    "NonUniformCut": "estimators",
    "RandomCuts": "estimators",
    "SpexClique": "estimators",
    "SpexGraph": "estimators",
    "SpexKNN": "estimators",
    "Tree": "tree",
    "from_json": "explanation",
    "raw_units": "estimators.raw_units",
}
_MODULES = ("datasets", "graphs", "metrics")

__all__ = [
    "CART",
    "EMN",
    "IMM",
    "BestTree",
    "ClusterClassifier",
    "ClusterRules",
    "ExGreedy",
    "ExKMC",
    "ExShallow",
    "KMedians",
    "KernelIMM",
    "KernelKMeans",
    "NonUniformCut",
    "RandomCuts",
    "SpexClique",
    "SpexGraph",
    "SpexKNN",
    "Tree",
    "__version__",
    "datasets",
    "from_json",
    "graphs",
    "metrics",
    "raw_units",
]


_find = names_of(__name__, _HOMES)


def __getattr__(name: str) -> Any:
    return import_module(f"spexplain.{name}") if name in _MODULES else _find(name)


def __dir__() -> list[str]:
    return sorted(__all__)
