"""Estimators: thin scikit-learn shells, one per method; each names its graph and its formula.

Import them from here, or from `spexplain` itself; the base class of a method of your own is
`spexplain.estimators.base.Explainer`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from spexplain import _importing  # one lock for both: two could wait for each other

if TYPE_CHECKING:
    from spexplain.estimators.best import BestTree
    from spexplain.estimators.cart import CART
    from spexplain.estimators.centers import EMN, IMM, ExGreedy, ExKMC, ExShallow, RandomCuts
    from spexplain.estimators.kernel import KernelIMM
    from spexplain.estimators.spex import NonUniformCut, SpexClique, SpexGraph, SpexKNN

# The module of each method: who fits one does not wait for the others.
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


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with _importing:
        found = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = found
    return found
