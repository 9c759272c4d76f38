"""Edits of a tree's shape: branches cut off, swapped or added, with nodes in birth order again."""

from collections.abc import Mapping, Set
from typing import NamedTuple

import numpy as np

from spexplain.aliases import Ints
from spexplain.records import Cut
from spexplain.tree.arrays import LEAF
from spexplain.tree.tree import Test, Tree


class Reshaped(NamedTuple):
    """A tree of another shape, without sizes and values, and the new numbers of the old nodes."""

    tree: Tree
    homes: dict[int, int]  # old node -> new node, for those that are left

    def moved(self, nodes: Set[int]) -> frozenset[int]:
        """Return nodes of the old tree by their new numbers; removed nodes are left out."""
        return frozenset(self.homes[node] for node in nodes if node in self.homes)


def below(tree: Tree, node: int) -> list[int]:
    """Return the nodes below a node, including itself, parents first."""
    found = [node]
    for each in found:  # grows while it is walked
        if tree.feature[each] != LEAF:
            found += [int(tree.left[each]), int(tree.right[each])]
    return sorted(found)


def ancestors(tree: Tree, node: int) -> list[int]:
    """Return the nodes on the path from the root to a node, without the node itself."""
    found = []
    while node:
        node = int(tree.parents[node])
        found.append(node)
    return found[::-1]


def leaves_below(tree: Tree, node: int) -> Ints:
    """Return the ids of the leaves below a node."""
    leaf_ids = {int(each): leaf for leaf, each in enumerate(tree.leaves)}
    return np.array(sorted(leaf_ids[each] for each in below(tree, node) if each in leaf_ids))


def reshaped(
    tree: Tree,
    *,
    tests: Mapping[int, Test] | None = None,
    cut_off: Set[int] = frozenset(),
    turned: Set[int] = frozenset(),
    grafts: Mapping[int, Tree] | None = None,
) -> Reshaped:
    """Return a tree with other tests, branches cut off, sides exchanged and trees grafted onto leaves.

    Parameters
    ----------
    tree : Tree
        The tree.
    tests : mapping, optional
        Other tests of some inner nodes.
    cut_off : set of int
        Nodes that become leaves.
    turned : set of int
        Nodes whose branches are exchanged.
    grafts : mapping, optional
        Trees over the same columns, by the node that they replace, which is or becomes a leaf.

    Examples
    --------
    >>> from spexplain.tree import Tree
    >>> from spexplain.tree.reshaping import reshaped
    >>> two = Tree.root(n_features=1, size=9).split(0, feature=0, threshold=2.0)
    >>> three = two.split(1, feature=0, threshold=1.0)
    >>> reshaped(three, cut_off={1}).tree == reshaped(two).tree
    True
    """
    tests, grafts = tests or {}, grafts or {}
    dead = {each for node in cut_off for each in below(tree, node) if each != node}
    inner = np.flatnonzero(tree.feature != LEAF)
    by_birth = inner[np.argsort(tree.left[inner])].tolist()
    homes = {0: 0}
    splits: list[tuple[int, Cut, tuple[int, int], tuple[float, float]]] = []

    def split(node: int, test: Test) -> tuple[int, int]:
        first = 2 * len(splits) + 1
        cut = Cut(test.feature, test.upper, np.nan, np.nan, test.lower, test.missing, test.values)
        splits.append((node, cut, (0, 0), (np.nan, np.nan)))
        return first, first + 1

    for node in by_birth:
        if node in dead or node in cut_off:
            continue
        first, second = split(homes[node], tests.get(node, tree.test(node)))
        left, right = int(tree.left[node]), int(tree.right[node])
        homes[right if node in turned else left] = first
        homes[left if node in turned else right] = second
    for node, graft in grafts.items():
        own = {0: homes[node]}
        own_inner = np.flatnonzero(graft.feature != LEAF)
        for each in own_inner[np.argsort(graft.left[own_inner])].tolist():
            own[int(graft.left[each])], own[int(graft.right[each])] = split(
                own[each], graft.test(each)
            )
    return Reshaped(Tree.root(n_features=tree.n_features, size=0).grown(splits), homes)
