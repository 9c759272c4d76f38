"""Estimators: thin scikit-learn shells, one per method; each names its graph and its formula."""

from spexplain.estimators.cart import CART
from spexplain.estimators.spex import SpexClique, SpexGraph, SpexKNN

__all__ = ["CART", "SpexClique", "SpexGraph", "SpexKNN"]
