"""The finished tree, its tests, descriptions of columns, and how all of these are put into words.

Import `Tree`, `Test`, `Column`, `Region`, `LEAF`, `number` and `python_value` from here, boxes of leaves from
`spexplain.tree.boxes`, and rules in words from `spexplain.tree.words`.
"""

from spexplain.tree.arrays import LEAF
from spexplain.tree.column import Column, Kind, about, number, python_value
from spexplain.tree.region import EVERYWHERE, Interval, Region
from spexplain.tree.tree import Test, Tree

__all__ = [
    "EVERYWHERE",
    "LEAF",
    "Column",
    "Interval",
    "Kind",
    "Region",
    "Test",
    "Tree",
    "about",
    "number",
    "python_value",
]
