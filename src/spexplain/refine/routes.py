"""Which leaf every row reaches from every node of a tree, kept up to date while cuts change."""

from typing import NamedTuple

import numpy as np

from spexplain.aliases import Array, Bools, Matrix
from spexplain.tree import LEAF, Tree


class Test(NamedTuple):
    """The test of an inner node, without its score."""

    feature: int
    threshold: float
    lower: float = -np.inf


def tests_of(tree: Tree) -> dict[int, Test]:
    """Return the tests of the inner nodes."""
    return {
        node: Test(int(tree.feature[node]), float(tree.threshold[node]), float(tree.lower[node]))
        for node in np.flatnonzero(tree.feature != LEAF).tolist()
    }


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
        return np.asarray((test.lower < x) & (x <= test.threshold))
