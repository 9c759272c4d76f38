"""The box of a node: for every tested column, the region that the values of its rows can fall in."""

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from spexplain.tree import LEAF, Tree
from spexplain.tree.region import EVERYWHERE, Region

__all__ = ["Box", "Region", "leaf_box", "leaf_boxes", "node_boxes"]

Box: TypeAlias = Mapping[int, Region]  # by column; columns that are not in it are unrestricted


def node_boxes(tree: Tree) -> list[Box]:
    """Return the box of every node; columns are in the order of their first test on the path.

    Examples
    --------
    >>> from spexplain.tree.boxes import node_boxes
    >>> from spexplain.tree import Tree
    >>> tree = Tree.root(n_features=1, size=0).split(0, feature=0, threshold=9.0, lower=6.0)
    >>> [region.intervals for box in node_boxes(tree) for region in box.values()]
    [((6.0, 9.0),), ((-inf, 6.0), (9.0, inf))]
    """
    boxes: list[Box] = [{}] * tree.n_nodes
    for node in np.flatnonzero(tree.feature != LEAF).tolist():  # parents come first
        boxes[int(tree.left[node])] = _below(boxes[node], tree, node, passed=True)
        boxes[int(tree.right[node])] = _below(boxes[node], tree, node, passed=False)
    return boxes


def _below(box: Box, tree: Tree, node: int, *, passed: bool) -> Box:
    """Return the box of a child, from the box of its parent."""
    test = tree.test(node)
    before = box.get(test.feature, EVERYWHERE)
    return {**box, test.feature: before.common(test.region(passed=passed))}


def leaf_box(tree: Tree, leaf: int) -> Box:
    """Return the box of one leaf."""
    box: Box = {}
    for node, passed in tree.path(leaf):
        box = _below(box, tree, node, passed=passed)
    return box


def leaf_boxes(tree: Tree) -> list[Box]:
    """Return the boxes of the leaves from left to right."""
    boxes = node_boxes(tree)
    return [boxes[node] for node in tree.leaves.tolist()]
