"""Where the rows of a node lie: for every tested feature the intervals that its value may fall in."""

from collections.abc import Mapping
from math import inf
from typing import TypeAlias

from spexplain.rules import Condition
from spexplain.tree import LEAF, Tree

Interval: TypeAlias = tuple[float, float]  # lower < x ≤ upper
Box: TypeAlias = Mapping[int, tuple[Interval, ...]]  # by feature; what is not there is free

EVERYWHERE: tuple[Interval, ...] = ((-inf, inf),)


def node_boxes(tree: Tree) -> list[Box]:
    """Return the box of every node; features stand in the order of their first test on the way.

    Examples
    --------
    >>> from spexplain.summary.boxes import node_boxes
    >>> from spexplain.tree import Tree
    >>> tree = Tree.root(n_features=1, size=0).split(0, feature=0, threshold=9.0, lower=6.0)
    >>> node_boxes(tree)
    [{}, {0: ((6.0, 9.0),)}, {0: ((-inf, 6.0), (9.0, inf))}]
    """
    boxes: list[Box] = [{}] * tree.n_nodes
    for node in range(tree.n_nodes):  # parents come first
        if tree.feature[node] == LEAF:
            continue
        feature = int(tree.feature[node])
        lower, upper = float(tree.lower[node]), float(tree.threshold[node])
        now = boxes[node].get(feature, EVERYWHERE)
        inside = _common(now, ((lower, upper),))
        outside = _common(now, ((-inf, lower), (upper, inf)))
        boxes[int(tree.left[node])] = {**boxes[node], feature: inside}
        boxes[int(tree.right[node])] = {**boxes[node], feature: outside}
    return boxes


def leaf_boxes(tree: Tree) -> list[Box]:
    """Return the boxes of the leaves from left to right."""
    boxes = node_boxes(tree)
    return [boxes[node] for node in tree.leaves.tolist()]


def _common(first: tuple[Interval, ...], second: tuple[Interval, ...]) -> tuple[Interval, ...]:
    """Return the intervals in which both hold, from low to high."""
    pieces = [(max(a, c), min(b, d)) for a, b in first for c, d in second]
    return tuple(sorted((low, high) for low, high in pieces if low < high))


def contains(intervals: tuple[Interval, ...], x: float) -> bool:
    """Whether a value lies in one of the intervals."""
    return any(low < x <= high for low, high in intervals)


def interval_text(intervals: tuple[Interval, ...], name: str) -> str:
    """Return what the intervals of a feature say, in words.

    Examples
    --------
    >>> from spexplain.summary.boxes import interval_text
    >>> interval_text(((2.45, 4.75),), "petal length")
    '2.45 < petal length ≤ 4.75'
    >>> interval_text(((4.0, 6.0), (9.0, float("inf"))), "age")
    '4 < age ≤ 6 or age > 9'
    """
    if not intervals:
        return f"no {name}"
    return " or ".join(Condition(0, low, high).to_text(name) for low, high in intervals)
