"""The tree builder: it splits the leaf with the best cut until there are enough leaves."""

import heapq
from collections.abc import Callable
from math import inf
from typing import Any, NamedTuple

import numpy as np

from spexplain.engines import Search
from spexplain.records import Cut, Promise
from spexplain.tree import LEAF, Tree


class _Leaf(NamedTuple):
    """A leaf waiting to be split; compared by priority, then age."""

    key: float
    node: int  # numbered in birth order, so equal keys resolve to the older leaf
    depth: int
    cut: Cut | Promise
    rows: Any


class _Young(NamedTuple):
    """A leaf whose best cut has not been requested yet."""

    node: int
    depth: int
    rows: Any


def grow(
    search: Search,
    *,
    max_leaves: int,
    max_depth: int | None = None,
    start: Tree | None = None,
    progress: Callable[[int], None] | None = None,
) -> Tree:
    """Return the tree grown best-first.

    Parameters
    ----------
    search : Search
        Returns the best cut of a node, or a promise of it, which is resolved when its leaf comes
        first. If it has a true attribute `depends_on_tree`, all leaves are searched again after
        every split.
    max_leaves : int
        Leaves wanted; the tree has fewer if no valid cut is left.
    max_depth : int, optional
        Most tests on a path.
    start : Tree, optional
        A tree over the same columns whose leaves are split further; by default a single leaf.
    progress : callable (n_leaves) -> None, optional
        Called with the number of leaves after every split.
    """
    splits: list[tuple[int, Cut, tuple[int, int], tuple[float, float]]] = []
    waiting: list[_Leaf] = []

    def split(leaf: _Young, cut: Cut) -> list[_Young]:
        parts = search.split(leaf.rows, cut)
        sizes = (search.size(parts[0]), search.size(parts[1]))
        values = (search.value(parts[0]), search.value(parts[1]))
        first = 2 * len(splits) + 1
        splits.append((leaf.node, cut, sizes, values))
        return [_Young(first + side, leaf.depth + 1, parts[side]) for side in (0, 1)]

    def open_leaves(leaves: list[_Young]) -> None:
        if len(splits) + 1 >= max_leaves:
            return
        open_ = [leaf for leaf in leaves if max_depth is None or leaf.depth < max_depth]
        rival = waiting[0].key if waiting else inf
        cuts = search.best_cuts([leaf.rows for leaf in open_], rival)
        for leaf, cut in zip(open_, cuts, strict=True):
            if cut is not None:
                key = cut.priority if isinstance(cut, Promise) else _tie_safe(cut)
                heapq.heappush(waiting, _Leaf(key, leaf.node, leaf.depth, cut, leaf.rows))

    root = search.root()
    tree = Tree.root(n_features=search.n_features, size=search.size(root), value=search.value(root))
    leaves = {0: _Young(0, 0, root)}
    for node, cut in [] if start is None else _cuts_of(start):
        leaves |= {leaf.node: leaf for leaf in split(leaves.pop(node), cut)}
    open_leaves(list(leaves.values()))
    del root, leaves  # data held for a node is freed once it is split
    while waiting and len(splits) + 1 < max_leaves:
        best = heapq.heappop(waiting)
        leaf = _Young(best.node, best.depth, best.rows)
        if isinstance(best.cut, Promise):
            open_leaves([leaf])
            continue
        young = split(leaf, best.cut)
        del leaf, best  # frees the data held for the node before its parts are searched
        if progress is not None:
            progress(len(splits) + 1)
        if getattr(search, "depends_on_tree", False):
            # The split changes what the cuts of all other leaves are worth: ask again.
            young += [_Young(leaf.node, leaf.depth, leaf.rows) for leaf in waiting]
            waiting.clear()
        open_leaves(young)
    return tree.grown(splits)


def _cuts_of(tree: Tree) -> list[tuple[int, Cut]]:
    """Return the splits of a tree in the order in which they were made."""
    inner = np.flatnonzero(tree.feature != LEAF)
    by_birth = inner[np.argsort(tree.left[inner])]
    cuts = []
    for node in by_birth.tolist():
        test, score = tree.test(node), float(tree.score[node])
        cut = Cut(test.feature, test.upper, score, score, test.lower, test.missing, test.values)
        cuts.append((node, cut))
    return cuts


def _tie_safe(cut: Cut) -> float:
    """Return the priority without its last digits: rounding errors must not rank leaves that are exactly tied."""
    if abs(cut.priority) < 1e-12 * abs(cut.score):
        return 0.0
    return float(f"{cut.priority:.12g}")
