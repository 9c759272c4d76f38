"""Best trees of few leaves under an additive score, with proof: branch and bound over first cuts.

A tree of one or two leaves is found in one walk over the sorted columns, one of three or four leaves
and depth two by looking at first cuts: one walk gives the best second cuts of both sides. Larger trees
are searched by first cuts whose sides are solved in turn. First cuts whose neighbours are known need
not be looked at where the rows between cannot make up for what is missing.
"""

import time
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

import numpy as np

from spexplain.aliases import Array, Floats, Ints, Matrix
from spexplain.engines.exhaustive import midpoint
from spexplain.refine.routes import NEW, Subtree
from spexplain.refine.scores import LARGEST, LeafScore
from spexplain.tree import Test

_STEP_WORK = 2e6  # places that are visited between two looks at the clock
_N_RECORDED = 4096  # first cuts whose values are kept, to begin larger trees with
_N_TRIED = 24  # of them are tried before bounds decide what is looked at


class Solved(NamedTuple):
    """What is known about the best tree of a node."""

    value: float  # of the best tree found; -inf if none is valid
    bound: float  # no tree is better
    tree: Subtree | None

    @property
    def is_optimal(self) -> bool:
        """Whether no tree is better than the one found."""
        return self.bound <= self.value


class Budget:
    """How much a search may do: places visited in sorted columns, and seconds.

    Parameters
    ----------
    work : float
        Visits that are left.
    deadline : float
        `time.perf_counter` at the end.
    """

    def __init__(self, work: float = np.inf, deadline: float = np.inf) -> None:
        self.work, self.deadline = work, deadline

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
    columns : array of shape (n_features, n_rows)
        The table, feature by feature.
    score : LeafScore
        What trees are worth.
    min_samples_leaf : int
        Fewest rows in a leaf.
    budget : Budget
        What may be spent; trees found when it is over are still good ones.
    """

    def __init__(
        self,
        columns: Matrix,
        score: LeafScore,
        min_samples_leaf: int = 1,
        budget: Budget | None = None,
    ) -> None:
        self.columns, self.score, self.least = columns, score, min_samples_leaf
        self.budget = Budget() if budget is None else budget

    def solve(
        self,
        orders: Array,
        start: int,
        stop: int,
        n_leaves: int,
        depth: int,
        known: float = -np.inf,
    ) -> Solved:
        """Return the best tree of a node.

        Parameters
        ----------
        orders : int32 array of shape (n_features, n_places)
            Sorted rows, as in `SortedRows`.
        start, stop : int
            Places of the node.
        n_leaves, depth : int
            Leaves of the tree, and most tests on a path. For rows right it may have fewer leaves where
            others do not help.
        known : float
            Only better trees are wanted.
        """
        n_leaves = min(n_leaves, 2 ** min(depth, 30))
        if n_leaves > stop - start:
            if self.score.kind != LARGEST:
                return Solved(-np.inf, -np.inf, None)
            n_leaves = max(stop - start, 1)
        if n_leaves == 1:
            return self._leaf(orders, start, stop)
        if n_leaves == 2:
            return self._two(orders, start, stop)
        if n_leaves == 3 or (n_leaves == 4 and depth == 2):
            return self._few(orders, start, stop, n_leaves, known)[0]
        return self._many(orders, start, stop, n_leaves, depth, known)

    def _leaf(self, orders: Array, start: int, stop: int) -> Solved:
        if stop - start < self.least:
            return Solved(-np.inf, -np.inf, None)
        amounts = self.score.rows(orders[0, start:stop] >> 1)
        value = float(self.score.of_table(amounts))
        return Solved(value, value, Subtree(NEW))

    def _halves(self, orders: Array, start: int, stop: int) -> tuple[Floats, Ints]:
        """Return the scores of a node as one leaf and as the best two, and the cut."""
        from spexplain.kernels.solver import best_halves

        score = self.score
        totals = np.zeros((2, score.n_clusters))
        totals[0] = score.rows(orders[0, start:stop] >> 1)
        scores, cuts = np.empty((2, 3)), np.empty((2, 3), dtype=np.int64)
        best_halves(
            orders,
            start,
            stop,
            np.zeros(len(score.codes), dtype=np.uint8),
            score.codes,
            score.amounts,
            score.degrees,
            score.kind,
            score.factor,
            self.least,
            totals,
            scores,
            cuts,
            np.empty((2, stop - start + 1), dtype=np.int32),
            np.empty(score.n_clusters),
        )
        self.budget.spend(len(orders) * (stop - start))
        return scores[0], cuts[0]

    def _two(self, orders: Array, start: int, stop: int) -> Solved:
        scores, cut = self._halves(orders, start, stop)
        if cut[0] >= 0:
            leaves = Subtree(NEW), Subtree(NEW)
            return Solved(scores[1], scores[1], Subtree(NEW, self._test(cut), leaves))
        if self.score.kind == LARGEST:
            return self._leaf(orders, start, stop)
        return Solved(-np.inf, -np.inf, None)

    def _test(self, cut: Ints) -> Test:
        feature, before, after = cut.tolist()
        column = self.columns[feature]
        return Test(feature, upper=midpoint(float(column[before]), float(column[after])))

    def _few(
        self, orders: Array, start: int, stop: int, n_leaves: int, known: float
    ) -> tuple[Solved, Floats]:
        """Return the best tree of three leaves, or of four and depth two; and the first cuts looked at."""
        from spexplain.kernels.solver import list_gaps, search_first_cuts, sum_along

        score, n_orders = self.score, len(orders)
        scores, _ = self._halves(orders, start, stop)
        gaps = np.empty(np.count_nonzero(orders[:, start + 1 : stop] & 1), dtype=np.int64)
        ends, sums = np.empty(n_orders, dtype=np.int64), np.empty((n_orders, stop - start))
        list_gaps(orders, start, stop, gaps, ends)
        sum_along(orders, start, stop, score.amounts, sums)
        total, whole = float(score.rows(orders[0, start:stop] >> 1).sum()), float(scores[2])
        heap = _Heap(ends, whole, total, score.is_bounded)
        best, cuts = np.array([known, np.inf]), np.full((3, 3), -1, dtype=np.int64)
        record = np.empty((_N_RECORDED, 4))
        work = float(n_orders * (stop - start))
        steps = max(1, int(_STEP_WORK / work))
        while best[1] > -np.inf and not (self.budget.is_over() and heap.state[1]):
            heap.make_room(steps)
            search_first_cuts(
                orders,
                start,
                stop,
                score.codes,
                score.amounts,
                score.degrees,
                score.kind,
                score.factor,
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
        tree = None
        if cuts[0, 0] >= 0:
            parts = [
                Subtree(NEW, self._test(cut), (Subtree(NEW), Subtree(NEW)))
                if cut[0] >= 0
                else Subtree(NEW)
                for cut in cuts[1:]
            ]
            tree = Subtree(NEW, self._test(cuts[0]), tuple(parts))
        value = float(best[0]) if tree is not None else -np.inf
        bound = max(float(best[0]), float(best[1]))
        solved = Solved(value, bound, tree)
        if tree is None and score.kind == LARGEST and stop - start >= self.least:
            solved = self._two(orders, start, stop)
            if solved.value <= known:
                solved = Solved(-np.inf, bound, None)
        return solved, record[: heap.state[1]]

    def _many(
        self, orders: Array, start: int, stop: int, n_leaves: int, depth: int, known: float
    ) -> Solved:
        """Return the best tree whose sides are solved in turn."""
        half = 2 ** min(depth - 1, 30)
        shares = [(a, n_leaves - a) for a in range(1, n_leaves) if max(a, n_leaves - a) <= half]
        node = _Node(self, orders, start, stop, shares, depth - 1, known)
        ceiling = self.score.bound(self.score.rows(orders[0, start:stop] >> 1), n_leaves)
        node.try_first(self._first_cuts(orders, start, stop))
        remaining = node.search(ceiling)
        tree = node.tree
        value = node.best if tree is not None else -np.inf
        bound = max(node.best, remaining)
        if tree is None and self.score.kind == LARGEST and remaining == -np.inf:
            fewer = self.solve(orders, start, stop, n_leaves - 1, depth, known)
            return Solved(fewer.value, max(fewer.bound, known), fewer.tree)
        return Solved(value, bound, tree)

    def _first_cuts(self, orders: Array, start: int, stop: int) -> list[tuple[int, int]]:
        """Return the first cuts of the best trees of four leaves that are seen on the way to these."""
        whole, self.budget = (
            self.budget,
            Budget(
                min(self.budget.work / 4, 200.0 * orders.shape[0] * (stop - start)),
                self.budget.deadline,
            ),
        )
        granted = self.budget.work
        _, record = self._few(orders, start, stop, 4, -np.inf)
        whole.spend(granted - self.budget.work)
        self.budget = whole
        found: list[tuple[int, int]] = []
        per_order = np.zeros(len(orders), dtype=np.int64)
        for order, place, _, _ in record[np.argsort(-record[:, 3], kind="stable")].tolist():
            per_order[int(order)] += 1
            if per_order[int(order)] <= _N_TRIED // 4:  # neighbours are alike
                found.append((int(order), int(place)))
        return found[:_N_TRIED]


class _Heap:
    """Intervals of first cuts, that with the highest bound first, as kernels read them."""

    def __init__(self, ends: Ints, whole: float, total: float, is_bounded: bool) -> None:
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
    """A first cut that was looked at: amounts before it, and the bounds of its sides and of both."""

    before: float
    left: float
    right: float
    both: float


class _Node:
    """A node whose first cuts are looked at one by one, their sides solved by a `Solver`."""

    def __init__(
        self,
        solver: Solver,
        orders: Array,
        start: int,
        stop: int,
        shares: list[tuple[int, int]],
        depth: int,
        known: float,
    ) -> None:
        self.solver, self.score = solver, solver.score
        self.orders = orders[:, start:stop].copy()
        self.shares, self.depth = shares, depth
        self.best, self.tree = known, None  # type: float, Subtree | None
        self.gaps = [np.flatnonzero(order[1:] & 1) + 1 for order in self.orders]
        self.looked: list[dict[int, _Looked]] = [{} for _ in self.orders]
        self.start = start
        # Leaves may be empty in what a bound of neighbours rests on, and of fewer rows.
        self.is_bounded = self.score.kind == LARGEST and solver.least == 1
        self.is_cut_short = False

    def try_first(self, cuts: list[tuple[int, int]]) -> None:
        """Look at some cuts, given by order and place."""
        for order, place in cuts:
            if self.tree is not None and self.solver.budget.is_over():
                return
            self.look(order, place - self.start)

    def look(self, order: int, place: int) -> _Looked:
        """Solve both sides of a cut."""
        from spexplain.kernels.refine import part_orders

        if place in self.looked[order]:
            return self.looked[order][place]
        rows = self.orders[order] >> 1
        goes_left = np.zeros(len(self.score.codes), dtype=np.bool_)
        goes_left[rows[:place]] = True
        parted = self.orders.copy()
        part_orders(parted, 0, len(rows), goes_left)
        self.solver.budget.spend(parted.size)
        amounts = [self.score.rows(rows[:place]), self.score.rows(rows[place:])]
        ranges = (0, place), (place, len(rows))
        known: dict[tuple[int, int], Solved] = {}

        def side(which: int, n_leaves: int) -> Solved:
            if (which, n_leaves) not in known:
                known[which, n_leaves] = self.solver.solve(
                    parted, *ranges[which], n_leaves, self.depth
                )
            return known[which, n_leaves]

        sides = [-np.inf, -np.inf]
        both = -np.inf
        for a, b in self.shares:
            ceilings = self.score.bound(amounts[0], a), self.score.bound(amounts[1], b)
            if not self.is_bounded and sum(ceilings) < self.best + self.score.unit:
                continue
            left, right = side(0, a), side(1, b)
            bounds = min(left.bound, ceilings[0]), min(right.bound, ceilings[1])
            sides = [max(sides[0], bounds[0]), max(sides[1], bounds[1])]
            both = max(both, sum(bounds))
            value = left.value + right.value
            if not (left.tree and right.tree):
                continue
            if value > self.best + 1e-11 * abs(value):
                low, high = rows[place - 1], rows[place]
                test = self.solver._test(np.array([order, low, high]))
                self.best, self.tree = value, Subtree(NEW, test, (left.tree, right.tree))
        before = float(amounts[0].sum())
        seen = _Looked(before, sides[0], sides[1], both)
        self.looked[order][place] = seen
        return seen

    def search(self, ceiling: float) -> float:
        """Look at cuts until none can be better or the budget is over; return the highest bound that is left."""
        total = float(self.score.rows(self.orders[0] >> 1).sum())
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
                return -np.inf
            if self.solver.budget.is_over():
                return min(ceiling, -heap[0][0])
            _, _, order, low, high, first, last = heappop(heap)
            middle = (low + high) // 2
            here = self.look(order, int(self.gaps[order][middle]))
            add(order, low, middle, first, here)
            add(order, middle + 1, high, here, last)
        return -np.inf
