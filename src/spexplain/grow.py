"""The only tree builder: split the leaf whose best cut has the best priority, until there are enough leaves."""

import heapq
from typing import Any, NamedTuple

from spexplain.engines import Search
from spexplain.records import Cut
from spexplain.tree import Tree


class _Leaf(NamedTuple):
    """A leaf waiting to be split; compared by priority, then age."""

    key: float
    node: int  # numbered in birth order, so equal keys resolve to the older leaf
    depth: int
    cut: Cut
    rows: Any


def grow(search: Search, *, max_leaves: int, max_depth: int | None = None) -> Tree:
    """Return the tree grown best-first.

    Parameters
    ----------
    search : Search
        Answers for the best cut of a node.
    max_leaves : int
        Leaves wanted; the tree has fewer if no valid cut is left.
    max_depth : int, optional
        Most tests on a path.
    """
    root = search.root()
    tree = Tree.root(n_features=search.n_features, size=search.size(root), value=search.value(root))
    splits: list[tuple[int, Cut, tuple[int, int], tuple[float, float]]] = []
    waiting: list[_Leaf] = []

    def open_leaves(first_node: int, depth: int, rows: list[Any]) -> None:
        is_last = len(splits) + 1 >= max_leaves
        if is_last or (max_depth is not None and depth >= max_depth):
            return
        for node, (part, cut) in enumerate(
            zip(rows, search.best_cuts(rows), strict=True), first_node
        ):
            if cut is not None:
                heapq.heappush(waiting, _Leaf(_tie_safe(cut), node, depth, cut, part))

    open_leaves(0, 0, [root])
    while waiting and len(splits) + 1 < max_leaves:
        leaf = heapq.heappop(waiting)
        parts = search.split(leaf.rows, leaf.cut)
        sizes = (search.size(parts[0]), search.size(parts[1]))
        values = (search.value(parts[0]), search.value(parts[1]))
        first_node = 2 * len(splits) + 1
        splits.append((leaf.node, leaf.cut, sizes, values))
        open_leaves(first_node, leaf.depth + 1, list(parts))
    return tree.grown(splits)


def _tie_safe(cut: Cut) -> float:
    """Return the priority without its last digits: rounding must not rank leaves that tie on paper."""
    if abs(cut.priority) < 1e-12 * abs(cut.score):
        return 0.0
    return float(f"{cut.priority:.12g}")
