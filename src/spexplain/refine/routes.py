"""Where rows go in a tree whose tests change: the leaf that every row reaches from every node, and other shapes."""

from typing import NamedTuple

import numpy as np

from spexplain.aliases import Array, Bools, Ints, Matrix
from spexplain.metrics.agreement import RandIndex, leaf_table
from spexplain.records import Cut
from spexplain.refine.scores import LeafScore
from spexplain.table.sparse import leaves_of
from spexplain.tree import LEAF, Test, Tree

NEW = -1  # number of nodes that no tree has yet


def tests_of(tree: Tree) -> dict[int, Test]:
    """Return the tests of the inner nodes."""
    return {node: tree.test(node) for node in np.flatnonzero(tree.feature != LEAF).tolist()}


class Routes:
    """The tests of a tree's inner nodes, and the leaf that each row would reach from each node.

    Parameters
    ----------
    tree : Tree
        The tree; its shape stays.
    columns : array of shape (n_features, n_rows)
        The table, feature by feature.
    """

    def __init__(self, tree: Tree, columns: Matrix) -> None:
        self.tree, self.columns = tree, columns
        self.tests = tests_of(tree)
        self.parent = {int(tree.left[node]): node for node in self.tests}
        self.parent |= {int(tree.right[node]): node for node in self.tests}
        # Left to right, the leaves below a node have neighbouring ids: first to last + 1.
        self.leaves: dict[int, tuple[int, int]] = {
            int(node): (leaf, leaf + 1) for leaf, node in enumerate(tree.leaves)
        }
        self.goes_left: dict[int, Bools] = {}
        self._reached: dict[int, Array] = {}
        for node in sorted(self.tests, reverse=True):  # children are younger than their parents
            left, right = self.children(node)
            self.leaves[node] = self.leaves[left][0], self.leaves[right][1]
            self.goes_left[node] = self._passes(self.tests[node])
            self._route(node)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return self.tree.n_leaves

    @property
    def labels(self) -> Array:
        """Leaf id of every row."""
        return self.reached(0)

    def children(self, node: int) -> tuple[int, int]:
        """Return both children of an inner node."""
        return int(self.tree.left[node]), int(self.tree.right[node])

    def reached(self, node: int) -> Array:
        """Return the leaf id that every row reaches when it starts in a node."""
        if node in self._reached:
            return self._reached[node]
        return np.broadcast_to(np.int32(self.leaves[node][0]), self.columns.shape[1:])

    def change(self, node: int, test: Test) -> None:
        """Give an inner node another test."""
        self.tests[node] = test
        self.goes_left[node] = self._passes(test)
        at: int | None = node
        while at is not None:
            self._route(at)
            at = self.parent.get(at)

    def _route(self, node: int) -> None:
        left, right = self.children(node)
        self._reached[node] = np.where(
            self.goes_left[node], self.reached(left), self.reached(right)
        )

    def _passes(self, test: Test) -> Bools:
        x = self.columns[test.feature].astype(np.float64, copy=False)
        return np.asarray(test.passes(x))


class Subtree(NamedTuple):
    """A node and all below it: a test and two branches, or a leaf."""

    number: int  # of the node in the tree it comes from
    test: Test | None = None
    parts: "tuple[Subtree, ...]" = ()


def tree_of(root: Subtree, n_features: int) -> tuple[Tree, dict[int, int]]:
    """Return the tree of a branch, level by level, without sizes and values; and the new node numbers."""
    splits, level = [], [root]
    for node, branch in enumerate(level):  # grows while it is walked
        if branch.test is not None:
            test = branch.test
            cut = Cut(test.feature, test.upper, np.nan, np.nan, test.lower)
            splits.append((node, cut, (0, 0), (np.nan, np.nan)))
            level += branch.parts
    numbers = {branch.number: node for node, branch in enumerate(level) if branch.number != NEW}
    return Tree.root(n_features=n_features, size=0).grown(splits), numbers


def without(tree: Tree, dropped: int) -> Tree:
    """Return the tree without a leaf, given by its node number; its sibling takes their parent's place."""
    return exchanged(tree, dropped, NEW, Test(0, upper=0.0), new_left=True)[0]


def exchanged(
    tree: Tree, dropped: int, above: int, test: Test, *, new_left: bool
) -> tuple[Tree, dict[int, int]]:
    """Return the tree with a new leaf above a node, and without another leaf.

    Parameters
    ----------
    tree : Tree
        A tree of two leaves or more.
    dropped : int
        Node number of a leaf; its sibling takes the place of their parent.
    above : int
        Node number; a new test takes its place, with the node on one side and a new leaf on the
        other.
    test : Test
        The new test.
    new_left : bool
        Whether the rows that pass it go to the new leaf.

    Returns
    -------
    tree, numbers
        The tree, and the new number of every old node that is still there.
    """
    tests = tests_of(tree)

    def rebuilt(node: int) -> Subtree:
        children = (int(tree.left[node]), int(tree.right[node]))
        if node not in tests:
            branch = Subtree(node)
        elif dropped in children:
            branch = rebuilt(children[1] if children[0] == dropped else children[0])
        else:
            branch = Subtree(node, tests[node], tuple(rebuilt(child) for child in children))
        if node != above:
            return branch
        new = Subtree(NEW)
        return Subtree(NEW, test, (new, branch) if new_left else (branch, new))

    return tree_of(rebuilt(0), tree.n_features)


def with_subtree(tree: Tree, node: int, subtree: Subtree) -> Tree:
    """Return the tree with another subtree in place of a node."""
    tests = tests_of(tree)

    def rebuilt(at: int) -> Subtree:
        if at == node:
            return subtree
        if at not in tests:
            return Subtree(at)
        children = (int(tree.left[at]), int(tree.right[at]))
        return Subtree(at, tests[at], tuple(rebuilt(child) for child in children))

    return tree_of(rebuilt(0), tree.n_features)[0]


def in_order_of_gain(
    tree: Tree, X: Matrix, codes: Ints, amounts: Ints | None = None, score: LeafScore | None = None
) -> Tree:
    """Return the same tree with its splits in another order: each step the one that helps most.

    So `Tree.truncate` gives good trees. With `amounts`, a row counts for that many. Without a score,
    trees are as good as their leaves agree with the clusters.
    """
    leaf_of = np.full(tree.n_nodes, LEAF)
    leaf_of[tree.leaves] = np.arange(tree.n_leaves)
    tables: dict[int, Array] = {}
    leaves = leaves_of(tree, X)
    if score is None:
        table: Array = leaf_table(leaves, codes, tree.n_leaves, amounts)
    else:
        table = score.table(leaves, tree.n_leaves)
    index = RandIndex.of(codes, amounts)
    for node in range(tree.n_nodes - 1, -1, -1):  # children are younger than their parents
        is_leaf = tree.feature[node] == LEAF
        left, right = int(tree.left[node]), int(tree.right[node])
        tables[node] = table[leaf_of[node]] if is_leaf else tables[left] + tables[right]
    tests = tests_of(tree)
    splits, open_, young = [], {0: 0}, 1  # old node number → new node number

    def gain(node: int) -> tuple[float, int]:
        children = int(tree.left[node]), int(tree.right[node])
        if score is not None:
            both = sum(float(score.of_table(tables[child])) for child in children)
            return both - float(score.of_table(tables[node])), -node
        leaves = [each for each in open_ if each != node]
        leaves += children
        return float(index.of_table(np.stack([tables[leaf] for leaf in leaves]))), -node

    while inner := [node for node in open_ if tree.feature[node] != LEAF]:
        node = max(inner, key=gain)
        test = tests[node]
        cut = Cut(test.feature, test.upper, np.nan, np.nan, test.lower)
        splits.append((open_.pop(node), cut, (0, 0), (np.nan, np.nan)))
        open_ |= {int(tree.left[node]): young, int(tree.right[node]): young + 1}
        young += 2
    return Tree.root(n_features=tree.n_features, size=0).grown(splits)
