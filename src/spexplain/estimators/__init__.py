"""Estimators: thin scikit-learn shells, one per method; each names its graph and its formula."""

from spexplain.estimators.best import BestTree
from spexplain.estimators.cart import CART
from spexplain.estimators.centers import EMN, IMM
from spexplain.estimators.kernel import KernelIMM
from spexplain.estimators.nonuniform import NonUniformCut
from spexplain.estimators.service import ExGreedy, ExKMC, ExShallow, RandomCuts
from spexplain.estimators.spex import SpexClique, SpexGraph, SpexKNN

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
