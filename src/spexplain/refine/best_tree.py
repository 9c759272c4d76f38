"""The search for the best tree: several starts, growth by agreement, exchanges of leaves, exact subtrees."""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from spexplain.aliases import Bools, Floats, Ints, Matrix
from spexplain.engines import Engine
from spexplain.graphs import StarGraph, WeightedStar
from spexplain.grow import grow
from spexplain.metrics.agreement import RandIndex, cell_totals, pairs
from spexplain.objectives import Objective, emn, gini_cart, spex
from spexplain.records import Cut
from spexplain.refine.goals import (
    AgreementGoal,
    CostGoal,
    ObjectiveGoal,
    RightGoal,
    by_cluster,
    cliques,
    moving_rows,
)
from spexplain.refine.local import improve, retested
from spexplain.refine.routes import Routes, exchanged, tests_of, tree_of, with_subtree, without
from spexplain.refine.rows import NodeOrders, Orders
from spexplain.refine.scores import (
    INNER_SHARE,
    LARGEST,
    OWN_MEANS,
    PAIRS,
    CostScore,
    GoalName,
    LeafScore,
)
from spexplain.refine.solver import BinnedSolver, Budget, SmallSolver, Solved, Solver
from spexplain.table.distances import weighted_centers
from spexplain.table.sparse import dense
from spexplain.threads import blocks_of
from spexplain.tree import Test, Tree

START_NAMES = ("spex", "emn", "cart", "agreement")
_N_INSERTIONS = 24  # new leaves that are tried with every leaf to drop
_N_RETURNS = 8  # clusters without a leaf that are looked after at a time
_LARGE_NODE = 2_000_000  # rows × columns from which on looking for lost clusters takes time
_EXACT_LEAVES = 4  # of subtrees that are solved exactly on the way
_SKETCHED_ROWS = 3000
_SKETCHED_FEATURES = 48
_SKETCHED_COLUMNS = 128  # that sketches begin with
_SKETCH_WORK = 1.25e6  # a column, beside what exact solutions may take
_WIDTHS = (12, 2, 1)  # first cuts that are followed in a sketch, by depth
_N_SKETCHES = 6  # that are refined among these rows
_N_RESOLVED = 3  # and solved in their subtrees
_CELLS = 1 << 18  # of tables that are made together
_NODE_WORK = 2e7  # visits of sorted places that one of them may take


class Insertion(NamedTuple):
    """A new leaf: cut off above a node by a test."""

    score: float  # the value with the leaf, before another one is dropped, or what it gains
    node: int
    test: Test
    new_left: bool


class Exchange(NamedTuple):
    """A new leaf, and the node number of the leaf that is dropped for it."""

    score: Any  # as the goal counts it
    insertion: Insertion
    dropped: int


class _Keeping:
    """A goal that rejects every change after which fewer clusters have a leaf."""

    def __init__(self, goal: Any, n_kept: Callable[[], int]) -> None:
        self.proposal, self._accept = goal.proposal, goal.accept
        self.n_kept, self.kept = n_kept, n_kept()

    def accept(self) -> bool:
        """Score the tree anew after a change; say whether it is better."""
        kept = self.n_kept()
        if kept < self.kept or not self._accept():
            return False
        self.kept = kept
        return True


class Improver:
    """A sorted table and reference clusters on which trees are improved for a goal.

    Parameters
    ----------
    orders : Orders
        The sorted table.
    codes : array of int, shape (n_samples,)
        Reference clusters 0..k-1; rows with -1 do not count.
    goal : {"fidelity", "balanced", "agreement", "cost", "conductance"}, default="agreement"
        What makes a tree better.
    min_samples_leaf : int, default=1
        Fewest rows in a leaf.
    max_depth : int, optional
        Most tests on a path.
    amounts : array of int, shape (n_samples,), optional
        How many rows each row counts for; by default one.
    keep_clusters : bool, default=False
        Whether trees in which more clusters have a leaf are better, whatever else.
    budget : Budget, optional
        What exact solutions of subtrees may cost.
    points : array of shape (n_samples, d), optional
        The rows as points, for the goal "cost".
    """

    def __init__(
        self,
        orders: Orders,
        codes: Ints,
        *,
        goal: GoalName = "agreement",
        min_samples_leaf: int = 1,
        max_depth: int | None = None,
        amounts: Ints | None = None,
        keep_clusters: bool = False,
        budget: Budget | None = None,
        points: Matrix | None = None,
    ) -> None:
        self.orders, self.codes, self.amounts = orders, codes, amounts
        self.min_samples_leaf, self.max_depth = min_samples_leaf, max_depth
        self.goal, self.keep_clusters = goal, keep_clusters
        self.score = LeafScore.of(goal, codes, amounts, points)
        self.budget = Budget() if budget is None else budget
        # By rows, leaves, depth and factor: what is known of nodes that were solved.
        self._known: dict[tuple[bytes, int, int, float], Solved] = {}

    def keeping(self, keep_clusters: bool) -> "Improver":
        """Return a copy for which trees with a leaf for more clusters are better, or no longer are."""
        other = copy(self)
        other.keep_clusters = keep_clusters
        return other

    def for_agreement(self) -> "Improver":
        """Return a copy that prefers trees with a leaf for more clusters, and among these the agreeing ones."""
        return Improver(
            self.orders,
            self.codes,
            min_samples_leaf=self.min_samples_leaf,
            max_depth=self.max_depth,
            amounts=self.amounts,
            keep_clusters=True,
            budget=self.budget,
        )

    @cached_property
    def _objective(self) -> Objective:
        return spex(cliques(self.codes, self.amounts))

    def value(self, tree: Tree) -> Any:
        """Return what a tree is worth: numbers, or pairs of numbers, that are higher in better trees."""
        routes = Routes(tree, self.orders.columns)
        return self._value(self._goal(routes, 1), routes)

    def _value(self, goal: Any, routes: Routes) -> Any:
        if not self.keep_clusters or isinstance(goal, RightGoal):
            return goal.best
        return len(self._own(routes)), goal.best

    def lost(self, tree: Tree) -> Ints:
        """Return the clusters that no leaf stands for."""
        own = self._own(Routes(tree, self.orders.columns))
        return np.setdiff1d(np.flatnonzero(self._rows_right.totals), own)

    def _own(self, routes: Routes) -> Ints:
        """Return the clusters that leaves stand for."""
        own = self._labels(self._counted.table(routes.labels, routes.n_leaves))
        return np.unique(own[own < self.score.n_clusters])

    @property
    def _counted(self) -> LeafScore:
        """What says which cluster a leaf stands for."""
        return self._rows_right if self.goal == "cost" else self.score

    def _goal(self, routes: Routes, min_samples_leaf: int | None = None) -> Any:
        need = self.min_samples_leaf if min_samples_leaf is None else min_samples_leaf
        if self.goal == "agreement":
            return AgreementGoal(self.codes, routes, need, self.amounts)
        if self.goal == "conductance":
            return ObjectiveGoal(self._objective, routes, need)
        if isinstance(self.score, CostScore):
            return CostGoal(self.score, routes, need)
        return RightGoal(self.score, routes, need, keep_clusters=self.keep_clusters)

    def refined(self, tree: Tree, passes: int | None = None) -> tuple[Tree, Any]:
        """Return the tree with its cuts re-optimised, and what it is worth."""
        routes = Routes(tree, self.orders.columns)
        goal = self._goal(routes)
        before = self._value(goal, routes)
        keeps = self.keep_clusters and not isinstance(goal, RightGoal)
        aim = _Keeping(goal, lambda: self._value(goal, routes)[0]) if keeps else goal
        improve(routes, self.orders, aim, passes)
        after = self._value(goal, routes)
        return (tree, before) if after < before else (retested(tree, routes), after)

    def exchanged(self, tree: Tree) -> tuple[Tree, Any]:
        """Return the tree after the exchanges of leaves that make it better and are found in one round."""
        routes = Routes(tree, self.orders.columns)
        goal = self._goal(routes)
        value = self._value(goal, routes)
        if tree.n_leaves < 3:
            return tree, value
        insertions = sorted(self._insertions(routes, goal), key=lambda new: -new.score)
        insertions = insertions[:_N_INSERTIONS]
        if isinstance(goal, RightGoal) and self.keep_clusters:
            insertions += self._returns(routes, goal)
        start = tree, value
        while (found := self._best_exchange(routes, goal, insertions)) is not None:
            new = found.insertion
            other, numbers = exchanged(
                routes.tree, found.dropped, new.node, new.test, new_left=new.new_left
            )
            other_routes = Routes(other, self.orders.columns)
            other_goal = self._goal(other_routes)
            after = self._value(other_goal, other_routes)
            if not after > value:
                break
            routes, goal, value = other_routes, other_goal, after
            insertions = [
                each._replace(node=numbers[each.node])
                for each in insertions
                if each is not new and each.node in numbers
            ]
        return (routes.tree, value) if value > start[1] else start

    def _best_exchange(
        self, routes: Routes, goal: Any, insertions: list[Insertion]
    ) -> Exchange | None:
        """Return the best exchange, if it seems to make the tree better."""
        room, drops = self._room(routes), _Drops(routes, self._scores)
        table = drops.tables[0]
        margin = 0.0 if self.goal == "agreement" else self.score.unit / 2
        total = self._sums(table).sum(axis=0, keepdims=True)
        highest = float(self._of_sums(total)[0]) + margin
        own = self._labels(drops.tables[-1])
        most_kept = len(np.unique(own[own < self.score.n_clusters])) if self.keep_clusters else 0
        best, possible = None, [new for new in insertions if room[new.node]]
        for some in blocks_of(len(possible), drops.n_together):
            for found in self._best_drops(routes, goal, possible[some], drops):
                if found.score > (most_kept, highest):
                    (most_kept, highest), best = found.score, found
        return best

    @property
    def _scores(self) -> list[LeafScore]:
        """The score, and what says which cluster a leaf stands for if that is another one."""
        return [self.score] if self._counted is self.score else [self.score, self._counted]

    def _best_drops(
        self, routes: Routes, goal: Any, insertions: list[Insertion], drops: "_Drops"
    ) -> Iterator[Exchange]:
        """Give the best leaf to drop for every new one that has its rows and leaves the others theirs.

        Its score is how many clusters have a leaf then, if that counts, and what `_of_sums` says.
        """
        n_leaves = routes.n_leaves
        after = drops.after(insertions)
        leaf, to = np.divmod(drops.ways, n_leaves + 1)
        table, moved = after.tables[0], after.moved[0]
        now = self._sums(table)
        change = np.zeros((len(insertions), n_leaves, now.shape[2]))
        each = np.arange(len(insertions))[:, None]
        np.add.at(change, (each, leaf), self._sums(table[:, to] + moved) - now[:, to])
        values = self._of_sums(now.sum(axis=1, keepdims=True) - now[:, :n_leaves] + change)
        kept = np.zeros(values.shape, dtype=np.int64)
        if self.keep_clusters:
            table, moved = after.tables[-1], after.moved[-1]
            own, then = self._labels(table), self._labels(table[:, to] + moved)
            n_columns = self.score.n_clusters + 1  # the last: leaves without rows of any cluster
            counts = np.zeros((len(insertions), n_columns), dtype=np.int64)
            np.add.at(counts, (each, own), 1)
            counts = np.repeat(counts[:, None], n_leaves, axis=1)
            counts[each, np.arange(n_leaves), own[:, :n_leaves]] -= 1
            np.subtract.at(counts, (each, leaf, own[:, to]), 1)
            np.add.at(counts, (each, leaf, then), 1)
            kept = np.count_nonzero(counts[..., :-1] > 0, axis=2)
        itself = routes.tree.leaves == np.array([[new.node] for new in insertions])
        kept[itself], values[itself] = -1, -np.inf
        fits = np.all(after.n_rows >= np.append(goal.need, self.min_samples_leaf), axis=1)
        first = np.broadcast_to(np.arange(n_leaves)[::-1], values.shape)
        at = np.lexsort((first, values, kept))[:, -1]
        for number in np.flatnonzero(fits & (values[np.arange(len(at)), at] > -np.inf)).tolist():
            best = int(at[number])
            score = int(kept[number, best]), float(values[number, best])
            yield Exchange(score, insertions[number], int(routes.tree.leaves[best]))

    def _sums(self, table: Floats) -> Floats:
        """Return what adds up over leaves: their scores, or their pairs within clusters and all pairs."""
        if self.goal != "agreement":
            return self.score.of_table(table)[..., None]
        total = table.sum(axis=-1)
        same = (table * (table - 1)).sum(axis=-1) / 2
        return np.stack([same, total * (total - 1) / 2], axis=-1)

    def _of_sums(self, sums: Floats) -> Floats:
        """Return the goal from these sums of a tree, up to a constant."""
        if self.goal != "agreement":
            return np.array(sums[..., 0])
        return np.array(self._index.rounded(sums[..., 0], sums[..., 1]), dtype=np.float64)

    def _labels(self, table: Floats) -> Ints:
        """Return the cluster that each leaf stands for; one more than there are for leaves that have none."""
        labels = self._counted.labels(table)
        return np.where(table.max(axis=-1) > 0, labels, self.score.n_clusters)

    @cached_property
    def _index(self) -> RandIndex:
        return RandIndex.of(self.codes, self.amounts)

    def _insertions(self, routes: Routes, goal: Any) -> Iterator[Insertion]:
        """Give the best new leaf on either side above every node."""
        room, table = self._room(routes), self.score.table(routes.labels, routes.n_leaves)
        for node, start, stop in self._segments(routes):
            if not room[node]:
                continue
            if isinstance(goal, RightGoal):
                wanted = np.ones(goal.n_columns, dtype=np.bool_)
                yield from self._peels(routes, goal, node, start, stop, wanted)
                continue
            if self.goal != "agreement":
                yield from self._summed_peels(routes, table, goal.need, node, start, stop)
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

    def _returns(self, routes: Routes, goal: RightGoal) -> list[Insertion]:
        """Return new leaves for clusters that have none."""
        lost = np.setdiff1d(np.flatnonzero(self.score.totals), goal.kept(goal.table))[:_N_RETURNS]
        found: dict[int, list[Insertion]] = {int(each): [] for each in lost}
        room = self._room(routes)
        for node, start, stop in self._segments(routes) if len(lost) else ():
            if not room[node]:
                continue
            amounts = self.score.rows(self.orders.rows(start, stop))
            is_large = node > 0 and (stop - start) * self.orders.n_features > _LARGE_NODE
            for each, peels in found.items():
                # Where looking is dear, only nodes with much of the cluster are looked at.
                if is_large and amounts[each] < self.score.totals[each] / 2:
                    continue
                wanted = np.arange(goal.n_columns) == each
                peels.extend(self._peels(routes, goal, node, start, stop, wanted))
        return [
            new for peels in found.values() for new in sorted(peels, key=lambda new: -new.score)[:4]
        ]

    def leaves_for_all(self, tree: Tree, max_depth: int | None = None) -> int | None:
        """Return with how many leaves more or less every cluster has one, if that is found soon and not too deep.

        The leaf with most of a lost cluster is cut as if that cluster had half of its rows.
        """
        score = self.score if self.score.kind == LARGEST else self._rows_right
        n_leaves, leaves = tree.n_leaves, self.orders.leaves(tree).astype(np.int64)
        depths = tree.node_depths[tree.leaves].tolist()
        for _ in range(4 * score.n_clusters):
            table = score.table(leaves, n_leaves)
            kept = score.labels(table)[table.max(axis=1) > 0]
            lost = np.setdiff1d(np.flatnonzero(score.totals), kept)
            if not len(lost):
                return n_leaves
            leaf = int(table[:, lost[0]].argmax())
            if max_depth is not None and depths[leaf] >= max_depth:
                return None
            depths[leaf] += 1
            depths.append(depths[leaf])
            share = float(table[leaf].sum() / table[leaf, lost[0]])
            heavy = np.where(score.codes == lost[0], share * score.amounts, score.amounts)
            solver = Solver(self.orders, replace(score, amounts=heavy), self.min_samples_leaf)
            self.orders.restart()
            inside = leaves == leaf
            self.orders.part(0, len(leaves), inside)
            solved = solver.solve(self.orders.node(0, int(np.count_nonzero(inside))), 2, 1)
            if solved.tree is None or solved.tree.test is None:
                return None
            test = solved.tree.test
            x = np.asarray(self.orders.columns[test.feature], dtype=np.float64)
            leaves[inside & ~test.passes(x)] = n_leaves
            n_leaves += 1
        return None

    @cached_property
    def _rows_right(self) -> LeafScore:
        return LeafScore.of("fidelity", self.codes, self.amounts)

    def _peels(
        self, routes: Routes, goal: RightGoal, node: int, start: int, stop: int, wanted: Bools
    ) -> Iterator[Insertion]:
        """Give the new leaves for some clusters that gain most above a node."""
        from spexplain.kernels.solver import best_peels

        orders, here = self.orders, self.orders.node(start, stop)
        right, n_orders = goal.right(routes.reached(node)), len(orders.feature_of)
        totals = self.score.rows(here.rows)
        best, cuts = np.empty((n_orders, 2)), np.empty((n_orders, 2, 2), dtype=np.int64)

        def search(block: slice, is_mirrored: bool) -> None:
            best_peels(
                here.block(block),
                self.score.codes,
                self.score.amounts,
                right,
                totals,
                wanted,
                node not in routes.tests,
                self.min_samples_leaf,
                is_mirrored,
                best[block],
                cuts[block],
                np.empty_like(totals),
            )

        orders.map_orders(search, here)
        yield from self._new_leaves(node, here, best, cuts)

    def _new_leaves(
        self, node: int, here: NodeOrders, best: Floats, cuts: Ints
    ) -> Iterator[Insertion]:
        """Give the best new leaves on either side of a node, from those before and behind the cuts of all orders."""
        n_plain = self.orders.n_plain
        for side in range(2):  # of mirrored orders, what is before a cut is on the right
            gains = np.append(best[:n_plain, side], best[n_plain:, 1 - side])
            gaps = np.concatenate([cuts[:n_plain, side], cuts[n_plain:, 1 - side]])
            gain, test = self.orders.best_gap(gains, gaps, here.rows)
            if test is not None:
                yield Insertion(gain, node, test, side == 0)

    def _summed_peels(
        self, routes: Routes, table: Floats, need: Ints, node: int, start: int, stop: int
    ) -> Iterator[Insertion]:
        """Give the new leaves that raise the score most above a node."""
        from spexplain.kernels.solver import best_summed_peels

        here, arrays, n_orders = (
            self.orders.node(start, stop),
            self.score.arrays,
            len(self.orders.feature_of),
        )
        first, last = routes.leaves[node]
        leaf_of_row = np.asarray(routes.reached(node) - first, dtype=np.int32)
        rows = np.bincount(leaf_of_row[here.rows], minlength=last - first)
        best, cuts = np.empty((n_orders, 2)), np.empty((n_orders, 2, 2), dtype=np.int64)

        def search(block: slice, is_mirrored: bool) -> None:
            best_summed_peels(
                here.block(block),
                arrays,
                leaf_of_row,
                table[first:last],
                rows,
                need[first:last],
                self.min_samples_leaf,
                best[block],
                cuts[block],
            )

        self.orders.map_orders(search, here)
        yield from self._new_leaves(node, here, best, cuts)

    @property
    def n_present(self) -> int:
        """How many clusters have rows that count."""
        return int(np.count_nonzero(self._rows_right.totals))

    def rank(self, value: Any, tree: Tree) -> tuple[Any, ...]:
        """Return what says which of two trees is better, if they may have different numbers of leaves.

        More leaves make agreement lower at times and conductance higher always, so there they come first.
        """
        if self.score.kind in (LARGEST, OWN_MEANS):
            return value, tree.n_leaves
        return tree.n_leaves, value

    def is_best(self, value: Any, bound: float) -> bool:
        """Whether nothing better than a value can be hoped for: it reaches the bound, and no cluster is lost."""
        kept, own = value if isinstance(value, tuple) else (None, value)
        if self.keep_clusters and kept != self.n_present:
            return False
        margin = 1e-12 if self.goal == "agreement" else self.score.unit
        return bool(bound < float(own) + margin)

    def sketched(self, tree: Tree, n_leaves: int, number: int = 0) -> list[Tree]:
        """Return good trees of a few leaves, soon found in bins of some rows; best first.

        Parameters
        ----------
        tree : Tree
            A known tree: how high its agreement is decides what better ones look like.
        n_leaves : int
            Leaves of the trees.
        number : int
            Sketches of higher numbers look at other rows, finer bins and more first cuts.
        """
        if self.score.kind not in (LARGEST, PAIRS, INNER_SHARE):
            return []
        routes = Routes(tree, self.orders.columns)
        clustered = np.flatnonzero(self.codes >= 0)
        step = max(1, len(clustered) // _SKETCHED_ROWS)
        rows = clustered[number % step :: step]
        amounts = None if self.amounts is None else self.amounts[rows]
        features = self._promising(_SKETCHED_COLUMNS * (1 + number))
        orders = self.orders.taken(rows, features)
        score = LeafScore.of(self.goal, self.codes[rows], amounts)
        score = replace(score, factor=self._score_now(routes).factor)
        least = -(-self.min_samples_leaf // step)
        share = Budget(
            min(self.budget.work, _SKETCH_WORK * max(16, len(features))), self.budget.deadline
        )
        solver = BinnedSolver(
            orders,
            score,
            least,
            share if number == 0 else self.budget,
            n_bins=16 * (1 + number % 3),
            widths=[width * (1 + number) for width in _WIDTHS],
            n_features=_SKETCHED_FEATURES * (1 + number),
        )
        depth = n_leaves - 1 if self.max_depth is None else self.max_depth
        solver.solve(orders.node(0, len(rows)), n_leaves, depth)
        best = sorted(solver.seen, key=lambda solved: -solved.value)[: _N_SKETCHES * (1 + number)]
        improver = Improver(
            orders,
            self.codes[rows],
            goal=self.goal,
            min_samples_leaf=least,
            max_depth=self.max_depth,
            amounts=amounts,
            keep_clusters=self.keep_clusters,
            budget=share if number == 0 else self.budget,
        )
        found = [
            improver.refined(tree_of(each.tree, len(features))[0])
            for each in best
            if each.tree is not None
        ]
        found.sort(key=lambda pair: pair[1], reverse=True)
        found = found[: _N_RESOLVED * (1 + number)]
        for at, (each, _) in enumerate(found):
            if not self.budget.is_over():
                found[at] = improver.resolved(each)
        found.sort(key=lambda pair: pair[1], reverse=True)
        different = {str(value): each for each, value in reversed(found)}
        return [
            replace(each, n_features=tree.n_features).retested(
                {
                    node: replace(test, feature=int(features[test.feature]))
                    for node, test in tests_of(each).items()
                }
            )
            for each in reversed(different.values())
        ]

    def _promising(self, most: int) -> Ints:
        """Return the columns in which sketches look for cuts: those of the best single cuts, or all if they are few."""
        n_features = self.orders.n_features
        if n_features <= most:
            return np.arange(n_features)
        from spexplain.kernels.solver import best_cuts

        self.orders.restart()
        node = self.orders.node(0, len(self.codes))
        values = np.full(len(self.orders.feature_of), -np.inf)
        totals = self.score.sums(node.rows)
        best_cuts(node, self.score.arrays, self.min_samples_leaf, totals, values)
        own = np.full(n_features, -np.inf)
        np.maximum.at(own, self.orders.feature_of, values)
        return np.sort(np.argsort(-own, kind="stable")[:most])

    def resolved(self, tree: Tree, most: int = _EXACT_LEAVES) -> tuple[Tree, Any]:
        """Return the tree with the best subtrees of few leaves that are found within the budget."""
        value, changed = self.value(tree), True
        while changed and not self.budget.is_over():
            changed = False
            routes = Routes(tree, self.orders.columns)
            depths = tree.node_depths
            for node, start, stop in self._segments(routes):
                first, last = routes.leaves[node]
                if not 2 <= last - first <= most:
                    continue
                parent = routes.parent.get(node)
                if last - first < most and parent is not None:
                    low, high = routes.leaves[parent]
                    if high - low <= most:
                        continue  # a part of what is solved anyway
                if self.budget.is_over():
                    break
                found = self._solved(routes, node, start, stop, int(depths[node]))
                if found is None:
                    continue
                if found[1] > value:
                    tree, value, changed = *found, True
                    break
        return tree, value

    def _solved(
        self, routes: Routes, node: int, start: int, stop: int, depth: int
    ) -> tuple[Tree, Any] | None:
        """Return the tree with the best subtree in place of a node, if that seems better."""
        first, last = routes.leaves[node]
        room = last - first - 1 if self.max_depth is None else self.max_depth - depth
        score = self._score_now(routes)
        table = score.table(routes.labels, routes.n_leaves)[first:last]
        known = float(score.of_table(table).sum())
        n_leaves = last - first
        solved = self._solve(score, start, stop, n_leaves, min(room, 2), known, _NODE_WORK)
        if solved.tree is None or solved.value <= known + score.unit / 2:
            return None
        other = with_subtree(routes.tree, node, solved.tree)
        return None if other.n_leaves < routes.n_leaves else (other, self.value(other))

    def _solve(
        self,
        score: LeafScore,
        start: int,
        stop: int,
        n_leaves: int,
        depth: int,
        known: float,
        work: float = np.inf,
    ) -> Solved:
        """Return the best tree of a node that is better than a known one; what was solved before is remembered."""
        members = np.zeros(len(self.codes), dtype=np.bool_)
        members[self.orders.rows(start, stop)] = True
        key = np.packbits(members).tobytes(), n_leaves, depth, score.factor
        before = self._known.get(key)
        is_known = before is not None and (before.bound <= max(before.value, known))
        if before is not None and (is_known or work < np.inf):
            return before
        if self._is_small(score, stop - start, n_leaves, depth):
            small = SmallSolver(self.orders.columns, score, self.min_samples_leaf)
            self._known[key] = small.solve(n_leaves, known)
            return self._known[key]
        share = Budget(min(self.budget.work, work), self.budget.deadline, self.budget.tell)
        granted = share.work
        solver = Solver(self.orders, score, self.min_samples_leaf, share)
        solved = solver.solve(self.orders.node(start, stop), n_leaves, depth, known)
        if granted < np.inf:
            self.budget.spend(granted - share.work)
        self._known[key] = solved
        return solved

    def is_soon_solved(self, n_leaves: int) -> bool:
        """Whether the best tree of a size is found at once, whatever is known before."""
        depth = n_leaves - 1 if self.max_depth is None else self.max_depth
        return self._is_small(self.score, len(self.codes), n_leaves, depth)

    def _is_small(self, score: LeafScore, n_rows: int, n_leaves: int, depth: int) -> bool:
        is_whole = n_rows == len(self.codes)
        return is_whole and SmallSolver.suits(self.orders.columns, score, n_leaves, depth)

    def _score_now(self, routes: Routes) -> LeafScore:
        """Return the additive score in which trees that are better than this one score higher."""
        if self.goal != "agreement":
            return self.score
        goal = self._goal(routes, 1)
        return self.score.at_index(max(float(goal.best), 0.0), goal.index)

    def proved(self, tree: Tree, n_leaves: int) -> tuple[Tree, Any, float]:
        """Return the best tree of so many leaves found within the budget; its value; and what no tree exceeds.

        The bound is one of the goal's own measure: rows right, mean recall, adjusted Rand index, or
        conductance with its sign changed.
        """
        value, columns = self.value(tree), self.orders.columns
        depth = n_leaves - 1 if self.max_depth is None else self.max_depth
        while True:
            routes = Routes(tree, columns)
            score = self._score_now(routes)
            now = -np.inf  # a tree with fewer leaves is not one to beat
            if tree.n_leaves >= n_leaves:
                now = float(score.of_table(score.table(routes.labels, routes.n_leaves)).sum())
            bound = score.bound(score.totals, min(n_leaves, 2 ** min(depth, 30)))
            if bound > now + score.unit / 2 and not self.budget.is_over():
                self.orders.restart()
                solved = self._solve(score, 0, len(self.codes), n_leaves, depth, now)
                if max(solved.bound, now) > -np.inf:  # else there is no such tree
                    bound = min(bound, max(solved.bound, now))
                if solved.tree is not None:
                    other, _ = tree_of(solved.tree, tree.n_features)
                    if other.n_leaves < n_leaves:
                        other = grown_by_agreement(self, n_leaves, other)
                    other_value = self.value(other)
                    if self.rank(other_value, other) > self.rank(value, tree):
                        tree, value = other, other_value
                        if self.goal == "agreement":
                            continue  # a higher index to beat
            return tree, value, self._bound(score, bound, n_leaves, tree)

    def _bound(self, score: LeafScore, bound: float, n_leaves: int, tree: Tree) -> float:
        """Return a bound of the goal from one of its additive score."""
        if self.goal != "agreement":
            return bound - score.offset(n_leaves)
        goal = self._goal(Routes(tree, self.orders.columns), 1)
        index, value = goal.index, max(float(goal.best), 0.0)
        if not index.n_pairs:
            return 1.0
        share, half = index.together / index.n_pairs, index.together / 2
        total = float(score.totals.sum())
        fewest = max(total * (total / n_leaves - 1) / 2, 0.0)
        below = (0.5 - share) * (fewest if share <= 0.5 else index.n_pairs) + half
        excess = bound - value * half
        return value if excess <= score.unit else min(1.0, value + excess / below)

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


class _Dropped(NamedTuple):
    """Where rows are with some new leaves, one at a time, and where those of any one leaf go when it is dropped."""

    n_rows: Ints  # rows of the leaves for each new one, which comes last
    tables: list[Floats]  # totals of the leaves, by each score
    moved: list[Floats]  # totals of the rows of every way


class _Drops:
    """Where the rows of every leaf go when it is dropped; a new leaf changes that for some rows only.

    Parameters
    ----------
    routes : Routes
        The tree.
    scores : list of LeafScore
        What is added up of rows.
    """

    def __init__(self, routes: Routes, scores: list[LeafScore]) -> None:
        self.routes, self.scores = routes, scores
        n_leaves = self.n_leaves = routes.n_leaves
        self.leaves = routes.labels.astype(np.int64)
        # The leaf that every row reaches without its own.
        self.fallback = np.zeros(len(self.leaves), dtype=np.int64)
        for leaf, node in enumerate(routes.tree.leaves.tolist()):
            left, right = routes.children(routes.parent[node])
            rows = np.flatnonzero(self.leaves == leaf)
            self.fallback[rows] = routes.reached(right if node == left else left)[rows]
        self.n_rows = np.bincount(self.leaves, minlength=n_leaves)
        self.tables = [score.table(self.leaves, n_leaves) for score in scores]
        ways = self.leaves * (n_leaves + 1) + self.fallback
        is_taken = np.bincount(ways, minlength=n_leaves * (n_leaves + 1)) > 0
        is_taken[n_leaves :: n_leaves + 1] = (
            True  # of every leaf the last: its way into the new one
        )
        self.ways = np.flatnonzero(is_taken)
        self.begins = np.searchsorted(self.ways, np.arange(n_leaves) * (n_leaves + 1))
        self.ends = np.append(self.begins[1:], len(self.ways)) - 1
        number = np.zeros(len(is_taken), dtype=np.int64)
        number[self.ways] = np.arange(len(self.ways))
        self.way = number[ways]  # of every row
        self.moved = [score.table(self.way, len(self.ways)) for score in scores]
        widest = max(moved.shape[1] for moved in self.moved)
        # New leaves whose tables are made together: most of them are shorter than a call.
        self.n_together = max(1, _CELLS // (len(self.ways) * widest))
        self._near: dict[int, tuple[Ints, Ints]] = {}

    def near(self, node: int) -> tuple[Ints, Ints]:
        """Return the rows of a node, and those that come there when their leaf is dropped."""
        if node not in self._near:
            first, last = self.routes.leaves[node]
            inside = (first <= self.leaves) & (self.leaves < last)
            comes = (first <= self.fallback) & (self.fallback < last)
            self._near[node] = np.flatnonzero(inside), np.flatnonzero(comes & ~inside)
        return self._near[node]

    def after(self, insertions: list[Insertion]) -> _Dropped:
        """Return what new leaves make of it, each by itself."""
        n_new, n_ways = len(insertions), len(self.ways)
        joins, turns = zip(*(self._met(new) for new in insertions), strict=True)
        tables, moved = [], []
        for score, table, before in zip(self.scores, self.tables, self.moved, strict=True):
            own, turned = (
                score.table(self._ways_of(parts), n_new * n_ways, np.concatenate(parts)).reshape(
                    n_new, n_ways, -1
                )
                for parts in (joins, turns)
            )
            joined = np.add.reduceat(own, self.begins, axis=1)
            tables.append(np.concatenate([table - joined, joined.sum(axis=1, keepdims=True)], 1))
            left = before - own - turned
            left[:, self.ends] += np.add.reduceat(turned, self.begins, axis=1)
            moved.append(left)
        n_joined = np.stack(
            [np.bincount(self.leaves[rows], minlength=self.n_leaves) for rows in joins]
        )
        n_rows = np.concatenate([self.n_rows - n_joined, n_joined.sum(axis=1, keepdims=True)], 1)
        return _Dropped(n_rows, tables, moved)

    def _met(self, new: Insertion) -> list[Ints]:
        """Return the rows that a new leaf takes from a node, and of those that come there when theirs is dropped."""
        x = self.routes.columns[new.test.feature]
        # Rows that come through the node by their new way meet the new test, too.
        return [
            rows[new.test.passes(x[rows].astype(np.float64, copy=False)) == new.new_left]
            for rows in self.near(new.node)
        ]

    def _ways_of(self, parts: Sequence[Ints]) -> Ints:
        """Return the way of all rows of some parts, numbered on from part to part."""
        n_ways = len(self.ways)
        return np.concatenate(
            [number * n_ways + self.way[rows] for number, rows in enumerate(parts)]
        )


class RowRange(NamedTuple):
    """A node as a range of columns of the orders."""

    start: int
    stop: int


class BestBySize(NamedTuple):
    """The best cut of a node for every size of its smaller side: all that can ever be its best cut.

    How many pairs a cut parts depends on that size alone, so among equal sizes the cut that keeps
    most pairs of clusters together wins, whatever the rest of the tree looks like.
    """

    same: Ints  # pairs within clusters on either side, -1 if there is no such cut
    orders: Ints
    places: Ints  # where the entry after the gap is, or would be
    both: Ints  # pairs on either side
    node_same: int
    node_both: int


class AgreementSearch:
    """The cuts that raise the adjusted Rand index of a growing tree most; a `Search` for `grow`.

    One sweep per node answers for good: the index depends on the rest of the tree through two sums
    only, and its best cut for other sums stands on the same `BestBySize`.

    Parameters
    ----------
    orders : Orders
        The sorted table.
    codes : array of int, shape (n_samples,)
        Reference clusters 0..k-1; rows with -1 do not count.
    min_samples_leaf : int, default=1
        Fewest rows in a leaf.
    amounts : array of int, shape (n_samples,), optional
        How many rows each row counts for. With them a node is swept whenever the rest of the tree has
        changed, because sizes are then not small numbers.
    """

    depends_on_tree = True

    def __init__(
        self,
        orders: Orders,
        codes: Ints,
        min_samples_leaf: int = 1,
        amounts: Ints | None = None,
    ) -> None:
        self.orders, self.min_samples_leaf, self.amounts = orders, min_samples_leaf, amounts
        self.index = RandIndex.of(codes, amounts)
        self.n_clusters = int(codes.max(initial=-1)) + 1
        self.codes = np.where(codes < 0, self.n_clusters, codes)
        self.n_features = orders.n_features

    def root(self) -> RowRange:
        """Return the node of all rows."""
        self.orders.restart()
        root = RowRange(0, len(self.codes))
        self.fronts: dict[RowRange, BestBySize] = {}
        self.same, self.both = self._sums(self._totals(root))
        return root

    def size(self, node: RowRange) -> int:
        """Return the number of rows."""
        return node.stop - node.start

    def value(self, node: RowRange) -> float:
        """Agreement is not a sum over leaves."""
        return 0.0

    def split(self, node: RowRange, cut: Cut) -> tuple[RowRange, RowRange]:
        """Part the rows of a node, for good."""
        x = self.orders.columns[cut.feature].astype(np.float64, copy=False)
        goes_left = (cut.lower < x) & (x <= cut.threshold)
        n_left = int(np.count_nonzero(goes_left[self.orders.rows(*node)]))
        self.orders.part(*node, goes_left)
        parts = RowRange(node.start, node.start + n_left), RowRange(node.start + n_left, node.stop)
        for part, sign in ((node, -1), (parts[0], 1), (parts[1], 1)):
            same, both = self._sums(self._totals(part))
            self.same += sign * same
            self.both += sign * both
        self.fronts.pop(node, None)
        return parts

    def best_cuts(self, nodes: Sequence[RowRange], rival: float = np.inf) -> list[Cut | None]:
        """Return the cut of each node after which the index is highest, the rest of the tree as it is."""
        find = self._best_cut if self.amounts is None else self._best_weighted_cut
        return [find(node) for node in nodes]

    def _best_weighted_cut(self, node: RowRange) -> Cut | None:
        rows = self.orders.rows(*node)
        ways = np.zeros(len(self.codes), dtype=np.int64), np.ones(len(self.codes), dtype=np.int64)
        need = np.full(2, self.min_samples_leaf)
        same, both = self._sums(self._totals(node))
        outside = self.same - same, self.both - both
        moving = moving_rows(
            self.codes,
            self.n_clusters + 1,
            self.amounts,
            rows,
            ways,
            need,
            outside,
            self.index,
            -np.inf,
        )
        score, test = self.orders.best_move(*node, moving)
        return None if test is None else Cut(test.feature, test.upper, -score, -score)

    def _best_cut(self, node: RowRange) -> Cut | None:
        if node not in self.fronts:
            self.fronts[node] = self._front(node)
        front = self.fronts[node]
        known = np.flatnonzero(front.same >= 0)
        if len(known) == 0:
            return None
        same = self.same - front.node_same + front.same[known]
        scores = self.index.rounded(same, self.both - front.node_both + front.both[known])
        ties = known[scores == scores.max()]
        features = self.orders.feature_of[front.orders[ties]]
        ties = ties[features == features.min()]
        here, score = self.orders.node(*node), -float(scores.max())
        test = min(
            (
                self.orders.test_at(here, order, place)
                for order, place in zip(
                    front.orders[ties].tolist(), front.places[ties].tolist(), strict=True
                )
            ),
            key=lambda test: test.upper,
        )
        return Cut(test.feature, test.upper, score, score)

    def _front(self, node: RowRange) -> BestBySize:
        from spexplain.kernels.agreement import split_sums

        totals, here = self._totals(node), self.orders.node(*node)
        n_clustered = int(totals[:-1].sum())
        n_sizes = n_clustered // 2 + 1

        def search(block: slice, is_mirrored: bool) -> tuple[Ints, Ints, Ints]:
            found = np.full(n_sizes, -1), np.full(n_sizes, -1), np.full(n_sizes, -1)
            least = self.min_samples_leaf
            split_sums(
                here.block(block), block.start, self.codes, totals, least, is_mirrored, *found
            )
            return found

        blocks = self.orders.map_orders(search, here)
        best, feature_of = blocks[0], self.orders.feature_of
        for block in blocks[1:]:
            # Equal sums keep the lower feature.
            better = (block[0] == best[0]) & (feature_of[block[1]] < feature_of[best[1]])
            better |= block[0] > best[0]
            for mine, other in zip(best, block, strict=True):
                mine[better] = other[better]
        small = np.arange(n_sizes)
        both = pairs(small) + pairs(n_clustered - small)
        return BestBySize(*best, both, *self._sums(totals))

    def _totals(self, node: RowRange) -> Ints:
        rows = self.orders.rows(*node)
        own = None if self.amounts is None else self.amounts[rows]
        return cell_totals(self.codes[rows], own, self.n_clusters + 1)

    def _sums(self, totals: Ints) -> tuple[int, int]:
        clustered = totals[:-1]
        return int(pairs(clustered).sum()), int(pairs(int(clustered.sum())))


def started(name: str, X: Matrix, improver: Improver, engine: Engine, n_leaves: int) -> Tree:
    """Return the tree grown by one method; leaves that it cannot give are grown by agreement.

    Parameters
    ----------
    name : {"spex", "emn", "cart", "agreement"}
        The method.
    X : array of shape (n_samples, n_features)
        The table.
    improver : Improver
        The same table, sorted, and the reference clusters.
    engine : Engine
        Finds the cuts of all methods but "agreement".
    n_leaves : int
        Leaves wanted.
    """
    tree = None
    if name != "agreement":
        objective = start_objective(name, X, improver.codes, improver.amounts)
        search = engine.bind(X, objective, min_samples_leaf=improver.min_samples_leaf)
        tree = _without_small_leaves(
            improver, grow(search, max_leaves=n_leaves, max_depth=improver.max_depth)
        )
    return grown_by_agreement(improver, n_leaves, tree)


def _without_small_leaves(improver: Improver, tree: Tree) -> Tree:
    """Return the tree without leaves of too few rows, which cuts between centres can have."""
    while tree.n_leaves > 1:
        sizes = np.bincount(improver.orders.leaves(tree), minlength=tree.n_leaves)
        if sizes.min() >= max(improver.min_samples_leaf, 1):
            break
        tree = without(tree, int(tree.leaves[sizes.argmin()]))
    return tree


def grown_by_agreement(improver: Improver, n_leaves: int, start: Tree | None = None) -> Tree:
    """Return a tree grown by agreement, from one leaf or from a given tree."""
    if start is not None and start.n_leaves >= n_leaves:
        return start
    search = AgreementSearch(
        improver.orders, improver.codes, improver.min_samples_leaf, improver.amounts
    )
    return grow(search, max_leaves=n_leaves, max_depth=improver.max_depth, start=start)


def _spex(X: Matrix, codes: Ints, amounts: Ints | None) -> Objective:
    return spex(cliques(codes, amounts))


def _cart(X: Matrix, codes: Ints, amounts: Ints | None) -> Objective:
    return gini_cart(cliques(codes, amounts), "size")


def _emn(X: Matrix, codes: Ints, amounts: Ints | None) -> Objective:
    if amounts is not None:
        table = by_cluster(codes, amounts)
        return emn(WeightedStar.from_amounts(table, weighted_centers(dense(X), table, "kmeans")))
    X = dense(X)
    centers = [
        np.mean(X[codes == code], axis=0, dtype=np.float64) for code in range(codes.max() + 1)
    ]
    return emn(StarGraph(codes, np.stack(centers)))


def start_objective(name: str, X: Matrix, codes: Ints, amounts: Ints | None) -> Objective:
    """Return what the method of a start minimises."""
    return _OBJECTIVES[name](X, codes, amounts)


_OBJECTIVES: dict[str, Callable[[Matrix, Ints, Ints | None], Objective]] = {
    "spex": _spex,
    "emn": _emn,
    "cart": _cart,
}
