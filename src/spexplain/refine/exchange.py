"""Search over shapes: a new leaf where it helps most, in exchange for the leaf that is missed least."""

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from spexplain.aliases import Bools, Ints
from spexplain.refine.agreement import AgreementGoal, pair_sums
from spexplain.refine.local import improve, retested
from spexplain.refine.orders import Orders
from spexplain.refine.routes import Routes, Test
from spexplain.refine.shape import exchanged
from spexplain.tree import Tree

_N_INSERTIONS = 24  # new leaves that are tried with every leaf to drop


class Insertion(NamedTuple):
    """A new leaf: cut off above a node by a test."""

    score: float  # the index with the leaf, before another one is dropped
    node: int
    test: Test
    new_left: bool


class Exchange(NamedTuple):
    """A new leaf, and the node number of the leaf that is dropped for it."""

    score: float
    insertion: Insertion
    dropped: int


class Ground:
    """A sorted table and reference clusters on which trees are improved by agreement.

    Parameters
    ----------
    orders : Orders
        The sorted table.
    codes : array of int, shape (n_samples,)
        Reference clusters 0..k-1; rows with -1 do not count.
    min_samples_leaf : int, default=1
        Fewest rows in a leaf.
    max_depth : int, optional
        Most tests on a path.
    """

    def __init__(
        self,
        orders: Orders,
        codes: Ints,
        *,
        min_samples_leaf: int = 1,
        max_depth: int | None = None,
    ) -> None:
        self.orders, self.codes = orders, codes
        self.min_samples_leaf, self.max_depth = min_samples_leaf, max_depth

    def agreement(self, tree: Tree) -> Fraction:
        """Return the adjusted Rand index of a tree's leaves and the clusters."""
        return AgreementGoal(self.codes, Routes(tree, self.orders.columns), 1).best

    def refined(self, tree: Tree, passes: int | None = None) -> tuple[Tree, Fraction]:
        """Return the tree with its cuts re-optimised, and its agreement."""
        routes = Routes(tree, self.orders.columns)
        goal = AgreementGoal(self.codes, routes, self.min_samples_leaf)
        improve(routes, self.orders, goal, passes)
        return retested(tree, routes), goal.best

    def exchanged(self, tree: Tree) -> tuple[Tree, Fraction]:
        """Return the tree after exchanges of leaves that raise the agreement, as far as one look around finds them."""
        routes = Routes(tree, self.orders.columns)
        goal = AgreementGoal(self.codes, routes, self.min_samples_leaf)
        if tree.n_leaves < 3:
            return tree, goal.best
        insertions = sorted(self._insertions(routes, goal), key=lambda new: -new.score)
        insertions = insertions[:_N_INSERTIONS]
        while (found := self._best_exchange(routes, goal, insertions)) is not None:
            new = found.insertion
            other, numbers = exchanged(
                routes.tree, found.dropped, new.node, new.test, new_left=new.new_left
            )
            other_routes = Routes(other, self.orders.columns)
            other_goal = AgreementGoal(self.codes, other_routes, self.min_samples_leaf)
            if other_goal.best <= goal.best:
                break
            routes, goal = other_routes, other_goal
            insertions = [
                each._replace(node=numbers[each.node])
                for each in insertions
                if each is not new and each.node in numbers
            ]
        return routes.tree, goal.best

    def _best_exchange(
        self, routes: Routes, goal: AgreementGoal, insertions: list[Insertion]
    ) -> Exchange | None:
        """Return the exchange with the highest agreement, if it seems higher than it is."""
        room = self._room(routes)
        drops = (
            drop
            for new in insertions
            if room[new.node]
            for drop in _drops(routes, goal, new, self.min_samples_leaf)
        )
        best = max(drops, key=lambda drop: drop.score, default=None)
        return best if best is not None and best.score > float(goal.best) else None

    def _insertions(self, routes: Routes, goal: AgreementGoal) -> Iterator[Insertion]:
        """Give the best new leaf on either side above every node."""
        room = self._room(routes)
        for node, start, stop in self._segments(routes):
            if not room[node]:
                continue
            first, last = routes.leaves[node]
            outside = np.delete(goal.table, np.s_[first:last], axis=0)
            need = np.append(goal.need[first:last], self.min_samples_leaf)
            stay = routes.reached(node) - first
            leave = np.full(len(stay), last - first)
            for new_left in (True, False):
                ways = (leave, stay) if new_left else (stay, leave)
                rows = self.orders.rows(start, stop)
                moving = goal.moving(rows, ways, need, outside, -np.inf)
                score, test = self.orders.best_move(start, stop, moving)
                if test is not None:
                    yield Insertion(score, node, test, new_left)

    def _room(self, routes: Routes) -> list[bool]:
        """Return which nodes may have one more test above them."""
        depths, heights = routes.tree.node_depths, np.zeros(routes.tree.n_nodes, dtype=np.int64)
        for node in sorted(routes.tests, reverse=True):  # children are younger
            heights[node] = 1 + heights[list(routes.children(node))].max()
        deepest = np.inf if self.max_depth is None else self.max_depth
        room: list[bool] = (depths + heights + 1 <= deepest).tolist()
        return room

    def _segments(self, routes: Routes) -> Iterator[tuple[int, int, int]]:
        """Give every node with its range of the orders, parents first."""
        self.orders.restart()
        waiting = [(0, 0, len(self.codes))]
        while waiting:
            node, start, stop = waiting.pop()
            yield node, start, stop
            if node in routes.tests:
                goes_left = routes.goes_left[node]
                self.orders.part(start, stop, goes_left)
                middle = start + int(np.count_nonzero(goes_left[self.orders.rows(start, stop)]))
                left, right = routes.children(node)
                waiting += [(right, middle, stop), (left, start, middle)]


def _drops(
    routes: Routes, goal: AgreementGoal, new: Insertion, min_samples_leaf: int
) -> Iterator[Exchange]:
    """Give the agreement after an insertion and the drop of each other leaf."""
    n_leaves, n_columns = routes.n_leaves, goal.n_columns
    chipped = _passes(routes, new)
    first, last = routes.leaves[new.node]
    labels = routes.labels.astype(np.int64)
    in_node = (first <= labels) & (labels < last)
    labels[in_node & chipped] = n_leaves
    table = np.bincount(labels * n_columns + goal.codes, minlength=(n_leaves + 1) * n_columns)
    table = table.reshape(-1, n_columns)
    if np.any(table.sum(axis=1) < np.append(goal.need, min_samples_leaf)):
        return
    for leaf, node in enumerate(routes.tree.leaves.tolist()):
        if node == new.node:
            continue
        rows = np.flatnonzero(labels == leaf)
        parent = routes.parent[node]
        left, right = routes.children(parent)
        target = routes.reached(right if node == left else left)[rows].astype(np.int64)
        if not (first <= leaf < last):
            # Rows that come through the node by their new way meet the new test, too.
            target[(first <= target) & (target < last) & chipped[rows]] = n_leaves
        after = table.copy()
        after[leaf] = 0
        np.add.at(after, (target, goal.codes[rows]), 1)
        score = float(goal.index.rounded(*pair_sums(after[:, :-1])))
        yield Exchange(score, new, node)


def _passes(routes: Routes, new: Insertion) -> Bools:
    """Return which rows the new test sends to the new leaf."""
    x = routes.columns[new.test.feature].astype(np.float64, copy=False)
    return np.asarray((x <= new.test.threshold) == new.new_left)
