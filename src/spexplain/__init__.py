"""Explain any clustering of a table with a small decision tree.

>>> from spexplain import SpexClique, datasets
>>> iris = datasets.load("iris")
>>> explainer = SpexClique(3, random_state=0).fit(iris.data)
>>> explainer.n_leaves_
3
"""

from spexplain import datasets, graphs, metrics
from spexplain._version import __version__
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
from spexplain.export import from_json
from spexplain.references import KernelKMeans, KMedians
from spexplain.tree import Tree

__all__ = [
    "CART",
    "EMN",
    "IMM",
    "BestTree",
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
]
