"""The finished tree, its tests, and the words for both.

Import `Tree`, `Test`, `LEAF` and `number` from here, boxes of leaves from `spexplain.tree.boxes`, and
rules in words from `spexplain.tree.words`.
"""

from spexplain.tree.arrays import LEAF
from spexplain.tree.tree import Interval, Test, Tree, number

__all__ = ["LEAF", "Interval", "Test", "Tree", "number"]
