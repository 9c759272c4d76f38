"""Best trees of few leaves under an additive score, with proof: branch and bound over first cuts.

A tree of one or two leaves is found in one walk over the sorted columns, one of three or four leaves
and depth two by looking at first cuts: one walk gives the best second cuts of both sides. Larger trees
are searched by first cuts whose sides are solved in turn. First cuts whose neighbours are known need
not be looked at where the rows between cannot make up for what is missing.
"""

import hashlib
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from heapq import heappop, heappush
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from spexplain.aliases import Bools, Floats, Ints
from spexplain.engines.exhaustive import midpoint
from spexplain.refine.routes import NEW, Subtree
from spexplain.refine.rows import NodeOrders, Orders
from spexplain.refine.scores import LARGEST, OWN_MEANS, PAIRS, LeafScore
from spexplain.tree import Test

_LOOK_WORK = 1e5  # what a look at a first cut takes beside, where sides are solved one by one
_STEP_WORK = 2e6  # places that are visited between two looks at the clock
_N_REMEMBERED = 500_000  # nodes whose solutions are kept
_N_RECORDED = 4096  # first cuts whose values are kept, to begin larger trees with
_N_CLIMBED = 4  # orders whose best first cut is moved back and forth
_N_TRIED = 24  # of them are tried before bounds decide what is looked at
_N_BINS = 16  # of a column in sketches
_RANKED_ROWS = 3000  # in which whole trees are sketched to rank first cuts
_RANK_WORK = 1e9
_N_SMALL = 5_000  # rows × columns of tables that are solved without compiled code
_N_PAIRS = 300_000  # and pairs of their cuts × clusters
_ROUNDING = 1e-11


class Solved(NamedTuple):
    """What is known about the best tree of a node."""

    value: float  # of the best tree found; -inf if none is valid
    bound: float  # no tree is better
    tree: Subtree | None

    @property
    def is_optimal(self) -> bool:
        """Whether no tree is better than the one found, by more than rounding."""
        return self.bound <= self.value or self.bound <= self.value + _ROUNDING * abs(self.value)


class Budget:
    """How much a search may do: places visited in sorted columns, and seconds.

    Parameters
    ----------
    work : float
        Visits that are left.
    deadline : float
        `time.perf_counter` at the end.
    tell : callable (n_rows, value, bound) -> None, optional
        Called with how far the search for the best tree of a node of so many rows has come.
    """

    def __init__(
        self,
        work: float = np.inf,
        deadline: float = np.inf,
        tell: Callable[[int, float, float], None] | None = None,
    ) -> None:
        self.work, self.deadline = work, deadline
        self.tell = tell

    def spend(self, work: float) -> None:
        """Count visits."""
        self.work -= work

    def is_over(self) -> bool:
        """Whether nothing more may be begun."""
        return self.work <= 0 or time.perf_counter() > self.deadline


class Solver:
    """The best trees of nodes of a table.

    Parameters
    ----------
    orders : Orders
        The table: what the numbers of orders and rows mean.
    score : LeafScore
        What trees are worth.
    min_samples_leaf : int
        Fewest rows in a leaf.
    budget : Budget
        What may be spent; trees found when it is over are still good ones.
    """

    def __init__(
        self,
        orders: Orders,
        score: LeafScore,
        min_samples_leaf: int = 1,
        budget: Budget | None = None,
    ) -> None:
        self.orders, self.score, self.least = orders, score, min_samples_leaf
        self.budget = Budget() if budget is None else budget
        self._solved: dict[tuple[bytes, int, int], Solved] = {}

    def solve(self, node: NodeOrders, n_leaves: int, depth: int, known: float = -np.inf) -> Solved:
        """Return the best tree of a node.

        Parameters
        ----------
        node : NodeOrders
            The node.
        n_leaves, depth : int
            Leaves of the tree, and most tests on a path. For rows right it may have fewer leaves where
            others do not help.
        known : float
            Only better trees are wanted.
        """
        n_leaves = min(n_leaves, 2 ** min(depth, 30))
        if n_leaves > len(node.rows):
            if self.score.kind != LARGEST:
                return Solved(-np.inf, -np.inf, None)
            n_leaves = max(len(node.rows), 1)
        depth = min(depth, n_leaves - 1)  # no tree is deeper
        if n_leaves == 1:
            return self._leaf(node)
        if n_leaves == 2:
            return self._two(node)
        # The same rows are left by the same cuts in another order.
        key = hashlib.blake2b(node.rows.tobytes(), digest_size=16).digest(), n_leaves, depth
        before = self._solved.get(key)
        if before is not None and (before.is_optimal or before.bound <= known):
            return before
        if n_leaves == 3 or (n_leaves == 4 and depth == 2):
            found = self._few(node, n_leaves, known)[0]
        else:
            found = self._many(node, n_leaves, depth, known)
        if len(self._solved) < _N_REMEMBERED:
            self._solved[key] = found
        return found

    def _leaf(self, node: NodeOrders) -> Solved:
        if len(node.rows) < self.least:
            return Solved(-np.inf, -np.inf, None)
        value = float(self.score.of_table(self.score.rows(node.rows)))
        return Solved(value, value, Subtree(NEW))

    def _work(self, node: NodeOrders) -> float:
        """Return what one walk over a node costs."""
        a_row = max(self.score.arrays.points.shape[1] / 4, 1.0)
        return float((node.n_entries + len(node.rows)) * a_row)

    def _halves(self, node: NodeOrders) -> tuple[Floats, Ints]:
        """Return the scores of a node as one leaf and as the best two, and the cut."""
        from spexplain.kernels.solver import best_halves

        own, n_rows = self.score.sums(node.rows), len(node.rows)
        totals = np.stack([own, np.zeros_like(own)])
        scores, cuts = np.empty((2, 3)), np.empty((2, 3), dtype=np.int64)
        best_halves(
            node,
            np.zeros(len(self.score.codes), dtype=np.uint8),
            np.array([n_rows, 0]),
            self.score.arrays,
            self.least,
            totals,
            scores,
            cuts,
            np.empty((2, n_rows + 1), dtype=np.int32),
            np.empty(len(own)),
        )
        self.budget.spend(self._work(node))
        return scores[0], cuts[0]

    def _two(self, node: NodeOrders) -> Solved:
        scores, cut = self._halves(node)
        if cut[0] >= 0:
            value = float(scores[1])
            return Solved(value, value, self._split(cut, node.rows))
        if self.score.kind == LARGEST:
            return self._leaf(node)
        return Solved(-np.inf, -np.inf, None)

    def _split(
        self,
        cut: Ints,
        rows: Ints,
        parts: tuple[Subtree, ...] = (Subtree(NEW), Subtree(NEW)),
    ) -> Subtree:
        """Return the tree of a cut of some rows, given by its order and the rows at its gap.

        The first part holds the rows before the cut: in mirrored orders they go right.
        """
        order, before, after = cut.tolist()
        test = self.orders.test(order, before, after, rows)
        return Subtree(NEW, test, parts if order < self.orders.n_plain else parts[::-1])

    def _few(self, node: NodeOrders, n_leaves: int, known: float) -> tuple[Solved, Floats]:
        """Return the best tree of three leaves, or of four and depth two; and the first cuts looked at."""
        from spexplain.kernels.solver import list_gaps, search_first_cuts, sum_along

        score, arrays, n_orders = self.score, self.score.arrays, len(node.first)
        scores, _ = self._halves(node)
        gaps, ends = np.empty(node.n_entries, dtype=np.int64), np.empty(n_orders, dtype=np.int64)
        list_gaps(node, gaps, ends)
        gaps = gaps[: int(ends[-1])]
        sums = np.empty(len(gaps))
        sum_along(node, score.amounts, gaps, ends, sums)
        total, whole = float(score.amounts[node.rows].sum()), float(scores[2])
        heap = _Heap(ends, whole, total)
        best, cuts = np.array([known, np.inf]), np.full((3, 3), -1, dtype=np.int64)
        record = np.empty((_N_RECORDED, 4))
        work = self._work(node)
        steps = max(1, int(_STEP_WORK / work))
        while best[1] > -np.inf and not (self.budget.is_over() and heap.state[1]):
            heap.make_room(steps)
            search_first_cuts(
                node,
                arrays,
                self.least,
                n_leaves,
                gaps,
                ends,
                sums,
                score.is_bounded,
                score.unit,
                steps,
                heap.bounds,
                heap.places,
                heap.values,
                heap.state,
                best,
                cuts,
                record,
            )
            self.budget.spend(steps * work)
        tree = self._depth_two(cuts, node.rows) if cuts[0, 0] >= 0 else None
        value = float(best[0]) if tree is not None else -np.inf
        ceiling = score.bound(score.rows(node.rows), n_leaves)
        bound = max(float(best[0]), min(float(best[1]), ceiling))
        solved = Solved(value, bound, tree)
        if tree is None and score.kind == LARGEST and len(node.rows) >= self.least:
            solved = self._two(node)
            if solved.value <= known:
                solved = Solved(-np.inf, bound, None)
        return solved, record[: heap.state[1]]

    def _depth_two(self, cuts: Ints, rows: Ints) -> Subtree:
        """Return the tree of a first cut and of those of its sides; -1 where a side is a leaf."""
        parts = [self._split(cut, rows) if cut[0] >= 0 else Subtree(NEW) for cut in cuts[1:]]
        return self._split(cuts[0], rows, tuple(parts))

    def _many(self, node: NodeOrders, n_leaves: int, depth: int, known: float) -> Solved:
        """Return the best tree whose sides are solved in turn."""
        half = 2 ** min(depth - 1, 30)
        shares = [(a, n_leaves - a) for a in range(1, n_leaves) if max(a, n_leaves - a) <= half]
        search = _Node(self, node, shares, depth - 1, known)
        ceiling = self.score.bound(self.score.rows(node.rows), n_leaves)
        if search.n_promising() > _N_TRIED:
            search.try_first(self._first_cuts(node, n_leaves, depth))
            search.climb()
        remaining = search.search(ceiling)
        tree = search.tree
        value = search.best if tree is not None else -np.inf
        bound = max(search.best, remaining)
        if tree is None and self.score.kind == LARGEST and remaining == -np.inf:
            fewer = self.solve(node, n_leaves - 1, depth, known)
            return Solved(fewer.value, max(fewer.bound, known), fewer.tree)
        return Solved(value, bound, tree)

    def _first_cuts(self, node: NodeOrders, n_leaves: int, depth: int) -> list[tuple[int, int]]:
        """Return the first cuts of the best trees that are sketched, or of the best trees of four leaves."""
        ranked = self._sketched_first_cuts(node, n_leaves, depth)
        most = 2  # neighbours are alike, those between bins less so
        if len(ranked) < _N_TRIED:
            ranked, most = self._first_cuts_of_four(node), _N_TRIED // 4
        found: list[tuple[int, int]] = []
        per_order = np.zeros(len(node.first), dtype=np.int64)
        for order, place in ranked:
            per_order[order] += 1
            if per_order[order] <= most:
                found.append((order, place))
        return found[:_N_TRIED]

    def _first_cuts_of_four(self, node: NodeOrders) -> list[tuple[int, int]]:
        """Return the first cuts of trees of four leaves that are seen on the way to the best; best first."""
        whole, self.budget = (
            self.budget,
            Budget(min(self.budget.work / 4, 200.0 * self._work(node)), self.budget.deadline),
        )
        granted = self.budget.work
        _, record = self._few(node, 4, -np.inf)
        whole.spend(granted - self.budget.work)
        self.budget = whole
        best = np.argsort(-record[:, 3], kind="stable")
        return [(int(order), int(place)) for order, place, _, _ in record[best].tolist()]

    def _sketched_first_cuts(
        self, node: NodeOrders, n_leaves: int, depth: int
    ) -> list[tuple[int, int]]:
        """Return the first cuts of trees of all leaves, sketched in bins of some rows; best first.

        A cut that begins a good tree of eight leaves may begin none of four. Empty where sketches are
        dear, or not known to resemble what is searched.
        """
        n_orders, n_rows = len(node.first), len(node.rows)
        if self.score.kind not in (LARGEST, PAIRS) or node.n_entries < n_orders * n_rows:
            return []
        step = max(1, n_rows // _RANKED_ROWS)
        taken = np.zeros(len(self.score.codes), dtype=np.bool_)
        taken[node.rows[::step]] = True
        sample, _ = node.parted(taken)
        work, now = min(self.budget.work / 4, _RANK_WORK), time.perf_counter()
        sketches = BinnedSolver(
            self.orders,
            self.score,
            -(-self.least // step),
            Budget(work, now + (self.budget.deadline - now) / 8),
            widths=(n_orders * _N_BINS, 2, 1),
            n_features=2 * _N_TRIED,
        )
        if _N_TRIED * sketches.table_work(sample) > work:
            return []
        sketches.solve(sample, n_leaves, depth)
        self.budget.spend(work - sketches.budget.work)
        ranked = sorted(sketches.seen, key=lambda each: -each.value)
        return [
            (each.order, 1 + int(np.argmax(node.before(each.order, n_rows) == each.row)))
            for each in ranked
        ]


class Followed(NamedTuple):
    """The best tree that begins with a cut, and that cut: its order, and the row before it."""

    value: float
    tree: Subtree
    order: int
    row: int


class TreesBySize(list[Solved]):
    """The best trees found of one leaf, of two, and so on."""

    def offer(self, n_leaves: int, value: float, tree: Subtree | None) -> None:
        """Keep a tree if it is better than the one of its size that is known."""
        known = self[n_leaves - 1]
        if tree is not None and value > known.value + _ROUNDING * abs(value):
            self[n_leaves - 1] = Solved(value, np.inf, tree)


class BinnedSolver(Solver):
    """Good trees of nodes of a table, soon: first cuts are looked at between bins only, and only the best of them.

    A table of all pairs of cuts between bins gives the best trees of up to four leaves. Larger ones
    are joined from the sides of some first cuts, those with the best trees of four leaves. Nothing is
    proved.

    Parameters
    ----------
    orders, score, min_samples_leaf, budget
        As in `Solver`; orders name all rows.
    n_bins : int
        Most bins of a column in a node.
    widths : sequence of int
        First cuts that are followed in the node itself, in its sides, and so on; the last number
        holds for all below.
    n_features : int
        Columns that the sides of first cuts are searched in: those that helped most before.
    """

    def __init__(
        self,
        orders: Orders,
        score: LeafScore,
        min_samples_leaf: int = 1,
        budget: Budget | None = None,
        *,
        n_bins: int = _N_BINS,
        widths: Sequence[int] = (24, 4, 2),
        n_features: int = 24,
    ) -> None:
        super().__init__(orders, score, min_samples_leaf, budget)
        self.n_bins, self.widths, self.n_features = n_bins, widths, n_features
        self.seen: list[Followed] = []  # the first cuts of the node that were followed

    def table_work(self, node: NodeOrders) -> float:
        """Return what a table of all pairs of cuts between bins takes."""
        n_orders, n_rows = len(node.first), len(node.rows)
        pairs_of_bins = (n_orders * min(self.n_bins, n_rows)) ** 2 * self.score.n_clusters / 4
        return float(n_orders**2 * n_rows + pairs_of_bins)

    def solve(self, node: NodeOrders, n_leaves: int, depth: int, known: float = -np.inf) -> Solved:
        """Return the best tree found of a node."""
        profile = self.profile(node, n_leaves, depth)
        found = profile[-1]
        if self.score.kind == LARGEST:
            found = max(profile, key=lambda each: each.value)
        return found if found.value > known else Solved(-np.inf, np.inf, None)

    def profile(
        self,
        node: NodeOrders,
        most: int,
        depth: int,
        level: int = 0,
        features: Ints | None = None,
    ) -> TreesBySize:
        """Return the best trees found of up to so many leaves.

        `features` says which columns the orders are of; by default all.
        """
        most = max(1, min(most, 2 ** min(depth, 30), len(node.rows)))
        found = TreesBySize([Solved(-np.inf, np.inf, None)] * most)
        leaf = self._leaf(node)
        found.offer(1, leaf.value, leaf.tree)
        features = np.arange(len(node.first)) if features is None else features
        if most == 2:
            scores, cut = self._halves(node)
            if cut[0] >= 0:
                cut[0] = features[cut[0]]
                found.offer(2, float(scores[1]), self._split(cut, node.rows))
        if most < 3:
            return found
        pairs = _SecondCuts(self, node, features)
        for n_leaves in range(2, min(most, 4) + 1):
            found.offer(n_leaves, *pairs.best(n_leaves))
        if most > 4 or (most == 4 and depth > 2):
            width = self.widths[min(level, len(self.widths) - 1)]
            kept = pairs.useful(self.n_features)
            for first in pairs.ranked()[:width]:
                if self.budget.is_over():
                    break
                self._join(found, pairs, first, kept, depth - 1, level + 1)
        return found

    def _join(
        self,
        found: TreesBySize,
        pairs: "_SecondCuts",
        cut: tuple[int, int],
        kept: Ints,
        depth: int,
        level: int,
    ) -> None:
        """Offer the trees that begin with a cut, and go on with some of the columns."""
        most = len(found)
        goes_left = np.zeros(len(self.score.codes), dtype=np.bool_)
        before = pairs.node.before(cut[0], int(pairs.borders[cut[0], cut[1] + 1]))
        goes_left[before] = True
        sides = [
            self.profile(part, most - 1, depth, level, pairs.features[kept])
            for part in pairs.node.block(kept).parted(goes_left)
        ]
        test = pairs.test(cut)
        for a, left in enumerate(sides[0], start=1):
            for b, right in enumerate(sides[1][: most - a], start=1):
                if left.tree is not None and right.tree is not None:
                    tree = Subtree(NEW, test, (left.tree, right.tree))
                    found.offer(a + b, left.value + right.value, tree)
                    if level == 1 and a + b == most:
                        value = left.value + right.value
                        self.seen.append(Followed(value, tree, cut[0], int(before[-1])))


class SmallSolver:
    """The best tree of a small table, from all pairs of its cuts at once and without compiled code.

    Trees have up to four leaves and depth two. Of equal trees, that of the lowest features and thresholds
    is taken.

    Parameters
    ----------
    columns : array of shape (n_features, n_rows)
        The table; of a feature, all values.
    score : LeafScore
        What trees are worth: one that is made of amounts by cluster.
    min_samples_leaf : int
        Fewest rows in a leaf.
    """

    def __init__(self, columns: Any, score: LeafScore, min_samples_leaf: int = 1) -> None:
        self.columns, self.score, self.least = columns, score, min_samples_leaf
        cuts = [columns[feature][None] for feature in range(columns.shape[0])]
        passes = [x <= np.unique(x)[:-1, None] for x in cuts]
        self.features = np.repeat(np.arange(len(passes)), [len(each) for each in passes])
        self.passes = np.concatenate(passes)  # of every cut, the rows

    @classmethod
    def suits(cls, columns: Any, score: LeafScore, n_leaves: int, depth: int) -> bool:
        """Whether trees of this size can be found from pairs of cuts, and these are few."""
        n_features, n_rows = columns.shape
        if score.kind == OWN_MEANS or n_leaves > 4 or (n_leaves == 4 and depth != 2):
            return False
        if not 2 <= n_leaves <= min(n_rows, 2 ** min(depth, 30)) or n_features * n_rows > _N_SMALL:
            return False
        n_cuts = sum(len(np.unique(columns[feature])) - 1 for feature in range(n_features))
        return 0 < n_cuts**2 * score.n_clusters <= _N_PAIRS

    def solve(self, n_leaves: int, known: float = -np.inf) -> Solved:
        """Return the best tree, if it is better than a known one."""
        left, right, seconds = self._sides()
        four, none = (left[1] + right[1], (True, True)), (left[0] + right[0], (False, False))
        three = [(left[1] + right[0], (True, False)), (left[0] + right[1], (False, True))]
        sizes = {2: [[none]], 3: [three, [none]], 4: [[four], three, [none]]}[n_leaves]
        if self.score.kind != LARGEST:
            sizes = sizes[:1]  # else more leaves never hurt, but may not be there
        best = max(float(values.max()) for ways in sizes for values, _ in ways)
        if best == -np.inf and self.score.kind == LARGEST and self.passes.shape[1] >= self.least:
            best = float(self.score.of_table(self.score.totals))
            sizes = []
        if not best > known + _ROUNDING * abs(best):
            return Solved(-np.inf, max(best, known), None)
        tree = Subtree(NEW)
        for ways in sizes:
            is_best = [values >= best - _ROUNDING * abs(best) for values, _ in ways]
            if not np.any(is_best):
                continue
            first, way = divmod(int(np.argmax(np.stack(is_best, axis=1))), len(ways))
            sides = [Subtree(NEW), Subtree(NEW)]
            for side, rows in enumerate((self.passes[first], ~self.passes[first])):
                if ways[way][1][side]:
                    sides[side] = self._split(int(seconds[side][first]), rows, (Subtree(NEW),) * 2)
            tree = self._split(first, np.ones_like(self.passes[first]), tuple(sides))
            break
        return Solved(best, best, tree)

    def _split(self, cut: int, rows: Bools, parts: tuple[Subtree, ...]) -> Subtree:
        """Return the tree of a cut of some rows: its threshold is in the middle between theirs."""
        feature, passes = int(self.features[cut]), self.passes[cut]
        x = self.columns[feature]
        low, high = float(x[rows & passes].max()), float(x[rows & ~passes].min())
        return Subtree(NEW, Test(feature, upper=midpoint(low, high)), parts)

    def _sides(self) -> tuple[Floats, Floats, list[Ints]]:
        """Return the scores of both sides of all first cuts as one leaf and as the best two, and the cuts of these."""
        passes, score = self.passes.astype(np.float64), self.score
        amounts = np.zeros((passes.shape[1], score.n_clusters))
        amounts[np.arange(len(amounts)), score.codes] = score.amounts
        own, n_own = passes @ amounts, passes.sum(axis=1)
        # Rows that two cuts both let pass, by cluster; and all of them.
        both = np.stack([(passes * each) @ passes.T for each in amounts.T], axis=-1)
        n_both = passes @ passes.T
        everything, n_rows = amounts.sum(axis=0), passes.shape[1]
        found, seconds = [], []
        for total, n_total, part, n_part in (
            (own, n_own, both, n_both),
            (everything - own, n_rows - n_own, own - both, n_own - n_both),
        ):
            rest, n_rest = total[:, None] - part, n_total[:, None] - n_part
            two = score.of_table(part) + score.of_table(rest)
            two[(n_part < max(self.least, 1)) | (n_rest < max(self.least, 1))] = -np.inf
            second = two.argmax(axis=1)
            ones = np.where(n_total >= self.least, score.of_table(total), -np.inf)
            found.append(np.stack([ones, two[np.arange(len(two)), second]]))
            seconds.append(second)
        return found[0], found[1], seconds


class _SecondCuts:
    """The best second cuts for all first cuts of a node, between bins."""

    def __init__(self, solver: BinnedSolver, node: NodeOrders, features: Ints) -> None:
        from spexplain.kernels.solver import binned_first_cuts

        self.solver, self.node, self.features = solver, node, features
        n_rows, score = len(node.rows), solver.score
        shape = len(node.first), min(solver.n_bins, n_rows), 2, 2
        self.borders = np.zeros((shape[0], shape[1] + 1), dtype=np.int64)
        self.values, self.cuts = np.empty(shape), np.empty(shape, dtype=np.int64)
        binned_first_cuts(node, score.arrays, solver.least, self.borders, self.values, self.cuts)
        solver.budget.spend(solver.table_work(node))

    def test(self, cut: tuple[int, int] | Ints) -> Test:
        """Return the test of a cut, given by order and the bin before it."""
        order, place = int(cut[0]), int(self.borders[int(cut[0]), int(cut[1]) + 1])
        before, after = self.node.before(order, place + 1)[-2:].tolist()
        return self.solver.orders.test(int(self.features[order]), before, after, self.node.rows)

    def best(self, n_leaves: int) -> tuple[float, Subtree | None]:
        """Return the best tree of two, three or four leaves and depth two."""
        one, two = self.values[..., 0], self.values[..., 1]
        ways = {
            2: [(one[..., 0] + one[..., 1], (False, False))],
            3: [
                (two[..., 0] + one[..., 1], (True, False)),
                (one[..., 0] + two[..., 1], (False, True)),
            ],
            4: [(two[..., 0] + two[..., 1], (True, True))],
        }[n_leaves]
        values, parts = max(ways, key=lambda way: way[0].max())
        cut = np.unravel_index(int(np.argmax(values)), values.shape)
        value = float(values[cut])
        if value == -np.inf:
            return value, None
        sides = [
            Subtree(NEW, self.test(self.cuts[cut][s]), (Subtree(NEW), Subtree(NEW)))
            if parts[s]
            else Subtree(NEW)
            for s in range(2)
        ]
        return value, Subtree(NEW, self.test((int(cut[0]), int(cut[1]))), tuple(sides))

    def ranked(self) -> list[tuple[int, int]]:
        """Return first cuts, those with the best trees of few leaves first; neighbours, which are alike, later."""
        both = self.values.max(axis=3).sum(axis=2)
        order, place = np.unravel_index(np.argsort(-both, axis=None, kind="stable"), both.shape)
        usable = both[order, place] > -np.inf
        near: dict[tuple[int, int], None] = {}
        late: list[tuple[int, int]] = []
        for o, b in zip(order[usable].tolist(), place[usable].tolist(), strict=True):
            if (o, b - 1) in near or (o, b + 1) in near:
                late.append((o, b))
            else:
                near[o, b] = None
        return [*near, *late]

    def useful(self, most: int) -> Ints:
        """Return the orders that begin the best trees, or are the best second cuts most often."""
        n_orders = len(self.node.first)
        if n_orders <= most:
            return np.arange(n_orders)
        both = self.values.max(axis=3).sum(axis=2).max(axis=1)
        firsts = np.argsort(-both, kind="stable")[: most // 2]
        seconds = self.cuts[..., 0].ravel()
        often = np.bincount(seconds[seconds >= 0], minlength=n_orders).astype(np.float64)
        often[firsts] = -1.0
        return np.sort(np.append(firsts, np.argsort(-often, kind="stable")[: most - len(firsts)]))


class _Heap:
    """Intervals of first cuts, that with the highest bound first, as kernels read them."""

    def __init__(self, ends: Ints, whole: float, total: float) -> None:
        n = len(ends)
        self.bounds = np.full(n, np.inf)
        self.places = np.stack([np.arange(n), np.append(0, ends[:-1]), ends], axis=1)
        self.values = np.empty((n, 2, 4))
        # Before the first cut all rows are on the right, behind the last all are on the left.
        self.values[:, 0] = [0.0, 0.0, whole, whole]
        self.values[:, 1] = [total, whole, 0.0, whole]
        kept = self.places[:, 1] < self.places[:, 2]
        self.bounds, self.places, self.values = (
            self.bounds[kept],
            self.places[kept],
            self.values[kept],
        )
        self.state = np.array([len(self.bounds), 0])

    def make_room(self, n_steps: int) -> None:
        """Make room for the intervals of some more steps."""
        size = int(self.state[0])
        needed = size + n_steps + 2
        if needed <= len(self.bounds):
            return
        room = 2 * needed
        for name in ("bounds", "places", "values"):
            old = getattr(self, name)
            new = np.empty((room, *old.shape[1:]), dtype=old.dtype)
            new[:size] = old[:size]
            setattr(self, name, new)


class _Looked(NamedTuple):
    """A first cut that was looked at: amounts before it, the bounds of its sides and of both; and its best tree."""

    before: float
    left: float
    right: float
    both: float
    value: float = -np.inf


class _Node:
    """A node whose first cuts are looked at one by one, their sides solved by a `Solver`."""

    def __init__(
        self,
        solver: Solver,
        node: NodeOrders,
        shares: list[tuple[int, int]],
        depth: int,
        known: float,
    ) -> None:
        self.solver, self.score, self.node = solver, solver.score, node
        self.shares, self.depth = shares, depth
        self.most = max(max(pair) for pair in shares)  # leaves of a side
        self.best, self.tree = known, None  # type: float, Subtree | None
        self.gaps = self._gaps()
        self.looked: list[dict[int, _Looked]] = [{} for _ in self.gaps]
        # Leaves may be empty in what a bound of neighbours rests on, and of fewer rows.
        self.is_bounded = self.score.kind == LARGEST and solver.least == 1
        # Else cuts are ranked by what amounts allow, where that is quick to compute.
        n_gaps = sum(len(gaps) for gaps in self.gaps)
        self.rank_work = float(n_gaps * self.score.n_clusters * self.most)
        is_cheap = self.score.kind != OWN_MEANS and self.rank_work <= solver.budget.work
        self.is_ranked = not self.is_bounded and is_cheap
        self.look_work = _LOOK_WORK if self.score.kind == OWN_MEANS else 0.0
        self.open = -np.inf  # what trees of the cuts that were looked at may reach

    def _gaps(self) -> list[Ints]:
        """Return the places of the cuts of every order."""
        from spexplain.kernels.solver import list_gaps

        gaps, ends = np.empty(self.node.n_entries, dtype=np.int64), np.empty_like(self.node.first)
        list_gaps(self.node, gaps, ends)
        return np.split(gaps[: int(ends[-1])], ends[:-1])

    def try_first(self, cuts: list[tuple[int, int]]) -> None:
        """Look at some cuts, given by order and a place from which on the next cut is taken."""
        for order, place in cuts:
            if self.solver.budget.is_over():
                return
            at = int(np.searchsorted(self.gaps[order], place))
            if at < len(self.gaps[order]):
                self.look(order, int(self.gaps[order][at]))

    def climb(self) -> None:
        """Move the best cuts of some orders back and forth, in ever smaller steps, as long as this helps."""
        tops = [
            max(((seen.value, place) for place, seen in looked.items()), default=(-np.inf, 0))
            for looked in self.looked
        ]
        for order in sorted(range(len(tops)), key=lambda each: -tops[each][0])[:_N_CLIMBED]:
            value, place = tops[order]
            gaps = self.gaps[order]
            at, step = int(np.searchsorted(gaps, place)), max(len(gaps) // 16, 1)
            while value > -np.inf and step:
                around = [each for each in (at - step, at + step) if 0 <= each < len(gaps)]
                for each in around:
                    if self.solver.budget.is_over():
                        return
                    other = self.look(order, int(gaps[each])).value
                    if other > value:
                        value, at = other, each
                        break
                else:
                    step //= 2

    def look(self, order: int, place: int) -> _Looked:
        """Solve both sides of a cut."""
        if place in self.looked[order]:
            return self.looked[order][place]
        first = self.node.before(order, place)
        goes_left = np.zeros(len(self.score.codes), dtype=np.bool_)
        goes_left[first] = True
        amounts = [
            self.score.rows(first),
            self.score.rows(self.node.rows[~goes_left[self.node.rows]]),
        ]
        before = float(amounts[0].sum())
        self.solver.budget.spend(self.look_work)
        left, right = self.score.bounds(np.stack(amounts), self.most).tolist()
        ceilings = {(a, b): (left[a - 1], right[b - 1]) for a, b in self.shares}
        if not self.is_bounded and not any(map(self._can_win, ceilings.values())):
            self.looked[order][place] = _Looked(before, -np.inf, -np.inf, -np.inf)
            return self.looked[order][place]
        parted = self.node.parted(goes_left)
        self.solver.budget.spend(self.node.n_entries)
        solved: dict[tuple[int, int], Solved] = {}

        def side(which: int, n_leaves: int, ceiling: float, known: float) -> Solved:
            if (which, n_leaves) not in solved:
                if self.solver.budget.is_over():  # nothing is known but what holds for all trees
                    return Solved(-np.inf, ceiling, None)
                solved[which, n_leaves] = self.solver.solve(
                    parted[which], n_leaves, self.depth, known
                )
            return solved[which, n_leaves]

        sides = [-np.inf, -np.inf]
        both = top = -np.inf
        for (a, b), (most_left, most_right) in ceilings.items():
            if not self.is_bounded and not self._can_win((most_left, most_right)):
                continue
            # What neighbours are bounded by are the best sides there are; else only better trees count.
            first_side = side(
                0, a, most_left, -np.inf if self.is_bounded else self.best - most_right
            )
            own = max(min(first_side.bound, most_left), first_side.value)
            if not self.is_bounded and first_side.tree is None:
                both = max(both, own + most_right)
                continue
            second_side = side(1, b, most_right, -np.inf if self.is_bounded else self.best - own)
            bounds = own, max(min(second_side.bound, most_right), second_side.value)
            sides = [max(sides[0], bounds[0]), max(sides[1], bounds[1])]
            both = max(both, sum(bounds))
            value = first_side.value + second_side.value
            top = max(top, value)
            trees = first_side.tree, second_side.tree
            if trees[0] and trees[1] and value > self.best + _ROUNDING * abs(value):
                at = int(self.node.first[order]) + place
                after = self.node.entries[at] >> 1 if at < self.node.last[order] else -1
                cut = np.array([order, first[-1], after])
                self.best = value
                self.tree = self.solver._split(cut, self.node.rows, (trees[0], trees[1]))
        seen = _Looked(before, sides[0], sides[1], both, top)
        self.looked[order][place] = seen
        self.open = max(self.open, both)
        return seen

    def _can_win(self, ceilings: tuple[float, float]) -> bool:
        """Whether trees whose sides reach these values would be better."""
        return sum(ceilings) >= self.best + self.score.unit

    def _remaining(self, bound: float, ceiling: float) -> float:
        """Return the highest bound that is left, also of cuts whose sides were not solved to the end."""
        if self.open >= self.best + self.score.unit:
            bound = max(bound, self.open)
        return min(bound, ceiling)

    def search(self, ceiling: float) -> float:
        """Look at cuts until none can be better or the budget is over; return the highest bound that is left."""
        if self.is_ranked:
            return self._search_by_ceilings(ceiling)
        total = float(self.score.rows(self.node.rows).sum())
        numbers, heap = count(), []  # type: count[int], list[tuple[float, int, int, int, int, _Looked, _Looked]]

        def add(order: int, low: int, high: int, first: _Looked, last: _Looked) -> None:
            if low < high:
                bound = ceiling
                if self.is_bounded:
                    width = last.before - first.before
                    bound = min(
                        bound, (first.both + last.both + width) / 2, last.left + first.right
                    )
                if bound >= self.best + self.score.unit:
                    heappush(heap, (-bound, next(numbers), order, low, high, first, last))

        for order, gaps in enumerate(self.gaps):
            at, first = 0, _Looked(0.0, 0.0, ceiling, ceiling)
            for place in sorted(self.looked[order]):
                number = int(np.searchsorted(gaps, place))
                add(order, at, number, first, self.looked[order][place])
                at, first = number + 1, self.looked[order][place]
            add(order, at, len(gaps), first, _Looked(total, ceiling, 0.0, ceiling))
        while heap:
            if -heap[0][0] < self.best + self.score.unit:
                break
            if self.solver.budget.is_over():
                return self._remaining(-heap[0][0], ceiling)
            if self.solver.budget.tell is not None:
                self.solver.budget.tell(len(self.node.rows), self.best, min(ceiling, -heap[0][0]))
            _, _, order, low, high, first, last = heappop(heap)
            middle = (low + high) // 2
            here = self.look(order, int(self.gaps[order][middle]))
            add(order, low, middle, first, here)
            add(order, middle + 1, high, here, last)
        return self._remaining(-np.inf, ceiling)

    def _search_by_ceilings(self, ceiling: float) -> float:
        """Look at the cuts of the highest ceilings first, as `search` does."""
        ceilings = self._all_ceilings
        orders = np.repeat(np.arange(len(self.gaps)), [len(gaps) for gaps in self.gaps])
        places = np.concatenate(self.gaps)
        for at in np.argsort(-ceilings, kind="stable").tolist():
            bound = min(float(ceilings[at]), ceiling)
            if bound < self.best + self.score.unit:
                break
            if self.solver.budget.is_over():
                return self._remaining(bound, ceiling)
            if self.solver.budget.tell is not None:
                self.solver.budget.tell(len(self.node.rows), self.best, bound)
            self.look(int(orders[at]), int(places[at]))
        return self._remaining(-np.inf, ceiling)

    def n_promising(self) -> float:
        """Return how many cuts may begin better trees, by bounds that are quick to compute."""
        if not self.is_ranked:
            return np.inf
        return int(np.count_nonzero(self._all_ceilings >= self.best + self.score.unit))

    @cached_property
    def _all_ceilings(self) -> Floats:
        found = np.concatenate([self._ceilings(order) for order in range(len(self.gaps))])
        self.solver.budget.spend(self.rank_work)
        return found

    def _ceilings(self, order: int) -> Floats:
        """Return what no tree that begins with a cut of an order can exceed, from amounts alone."""
        gaps, score = self.gaps[order], self.score
        if not len(gaps) or self.solver.budget.is_over():
            return np.full(len(gaps), np.inf)  # not known
        rows = self.node.before(order, int(gaps[-1]))
        amounts = np.zeros((len(rows), score.n_clusters))
        amounts[np.arange(len(rows)), score.codes[rows]] = score.amounts[rows]
        before = np.cumsum(amounts, axis=0)[gaps - 1]
        behind = score.rows(self.node.rows) - before
        left, right = score.bounds(before, self.most), score.bounds(behind, self.most)
        numbers = np.array(self.shares) - 1
        return np.asarray((left[:, numbers[:, 0]] + right[:, numbers[:, 1]]).max(axis=1))
