"""Estimators: thin scikit-learn shells, one per method; each names its graph and its formula.

Import them from here, or from `spexplain` itself; the base class of a method of your own is
`spexplain.estimators.base.Explainer`.
"""

from spexplain.estimators.best import BestTree
from spexplain.estimators.cart import CART
from spexplain.estimators.centers import EMN, IMM, ExGreedy, ExKMC, ExShallow, RandomCuts
from spexplain.estimators.kernel import KernelIMM
from spexplain.estimators.spex import NonUniformCut, SpexClique, SpexGraph, SpexKNN

__all__ = [
    "CART",
    "EMN",
    "IMM",
    "BestTree",
    "ExGreedy",
    "ExKMC",
    "ExShallow",
    "KernelIMM",
    "NonUniformCut",
    "RandomCuts",
    "SpexClique",
    "SpexGraph",
    "SpexKNN",
]
