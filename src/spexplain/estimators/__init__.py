"""Estimators: thin scikit-learn shells, one per method; each names its graph and its formula.

Import them from here, or from `spexplain` itself. To write a method of your own, subclass
`spexplain.estimators.base.Explainer`.
"""

from typing import TYPE_CHECKING

from spexplain.lazy import names_of

if TYPE_CHECKING:
    from spexplain.estimators.best import BestTree
    from spexplain.estimators.cart import CART
    from spexplain.estimators.centers import EMN, IMM, ExGreedy, ExKMC, ExShallow, RandomCuts
    from spexplain.estimators.kernel import KernelIMM
    from spexplain.estimators.spex import NonUniformCut, SpexClique, SpexGraph, SpexKNN

# The module of each method, so that fitting one method does not import the others.
_HOMES = {
    "BestTree": "best",
    "CART": "cart",
    "EMN": "centers",
    "ExGreedy": "centers",
    "ExKMC": "centers",
    "ExShallow": "centers",
    "IMM": "centers",
    "KernelIMM": "kernel",
    "NonUniformCut": "spex",
    "RandomCuts": "centers",
    "SpexClique": "spex",
    "SpexGraph": "spex",
    "SpexKNN": "spex",
}

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

__getattr__ = names_of(__name__, _HOMES)
