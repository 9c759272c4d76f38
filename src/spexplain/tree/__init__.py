"""The finished tree."""

from spexplain.tree.arrays import LEAF
from spexplain.tree.tree import Tree

__all__ = ["LEAF", "Tree"]
