"""Best trees of few leaves under an additive score, with proof: branch and bound over first cuts.

A tree of one or two leaves is found in one walk over the sorted columns, one of three or four leaves
and depth two by looking at first cuts: one walk gives the best second cuts of both sides. Larger trees
are searched by first cuts whose sides are solved in turn. First cuts whose neighbours are known need
not be looked at where the rows between cannot make up for what is missing.
"""

import time
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

import numpy as np

from spexplain.aliases import Array, Floats, Ints, Matrix
from spexplain.engines.exhaustive import midpoint
from spexplain.refine.routes import NEW, Subtree
from spexplain.refine.scores import LARGEST, OWN_MEANS, CostScore, LeafScore
from spexplain.tree import Test

_LOOK_WORK = 1e5  # what a look at a first cut takes beside, where sides are solved one by one
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
    tell : callable (n_rows, value, bound) -> None, optional
        Told how far the search for the best tree of a node of so many rows has come.
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
        is_few = n_leaves == 3 or (n_leaves == 4 and depth == 2)
        if isinstance(self.score, CostScore):
            work = self._work_of_means(self.score, orders, start, stop)
            if is_few and work < self.budget.work:
                return self._few_means(self.score, orders, start, stop, n_leaves, known)
        elif is_few:
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
        if isinstance(self.score, CostScore):
            return self._two_means(self.score, orders, start, stop)
        scores, cut = self._halves(orders, start, stop)
        if cut[0] >= 0:
            leaves = Subtree(NEW), Subtree(NEW)
            return Solved(scores[1], scores[1], Subtree(NEW, self._test(cut), leaves))
        if self.score.kind == LARGEST:
            return self._leaf(orders, start, stop)
        return Solved(-np.inf, -np.inf, None)

    def _two_means(self, score: CostScore, orders: Array, start: int, stop: int) -> Solved:
        """Return the best tree of two leaves by k-means cost."""
        from spexplain.kernels.cost import best_means

        totals, d = score.rows(orders[0, start:stop] >> 1), score.points.shape[1]
        best, cut = np.array([-np.inf]), np.empty(3, dtype=np.int64)
        best_means(
            orders,
            start,
            stop,
            score.amounts,
            score.points,
            totals[1 : 1 + d],
            float(totals[0]),
            self.least,
            best,
            cut,
        )
        self.budget.spend(len(orders) * (stop - start) * max(d / 4, 1.0))
        if cut[0] < 0:
            return Solved(-np.inf, -np.inf, None)
        value = float(best[0])
        return Solved(value, value, Subtree(NEW, self._test(cut), (Subtree(NEW), Subtree(NEW))))

    def _work_of_means(self, score: CostScore, orders: Array, start: int, stop: int) -> float:
        """Return what it costs to look at all first cuts."""
        n_gaps = int(np.count_nonzero(orders[:, start + 1 : stop] & 1))
        d = int(score.points.shape[1])
        return float(n_gaps) * len(orders) * (stop - start) * max(d / 4, 1.0)

    def _few_means(
        self, score: CostScore, orders: Array, start: int, stop: int, n_leaves: int, known: float
    ) -> Solved:
        """Return the best tree of three leaves, or of four and depth two, by k-means cost."""
        from spexplain.kernels.cost import best_few_means

        best, cuts = np.array([known]), np.empty((3, 3), dtype=np.int64)
        best_few_means(
            orders, start, stop, score.amounts, score.points, self.least, n_leaves, best, cuts
        )
        self.budget.spend(self._work_of_means(score, orders, start, stop))
        value = float(best[0])
        if cuts[0, 0] < 0:
            return Solved(-np.inf, value, None)
        return Solved(value, value, self._depth_two(cuts))

    def _depth_two(self, cuts: Ints) -> Subtree:
        """Return the tree of a first cut and of those of its sides; -1 where a side is a leaf."""
        parts = [
            Subtree(NEW, self._test(cut), (Subtree(NEW), Subtree(NEW)))
            if cut[0] >= 0
            else Subtree(NEW)
            for cut in cuts[1:]
        ]
        return Subtree(NEW, self._test(cuts[0]), tuple(parts))

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
        tree = self._depth_two(cuts) if cuts[0, 0] >= 0 else None
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
        if self.score.kind == OWN_MEANS:
            return self._coarse_cuts(orders, start, stop)
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

    def _coarse_cuts(self, orders: Array, start: int, stop: int) -> list[tuple[int, int]]:
        """Return some first cuts of every order, those that save most first."""
        found = []
        for order in range(len(orders)):
            gaps = np.flatnonzero(orders[order, start + 1 : stop] & 1) + start + 1
            for place in gaps[:: max(1, len(gaps) // 8)].tolist():
                sides = orders[order, start:place] >> 1, orders[order, place:stop] >> 1
                saved = sum(float(self.score.of_table(self.score.rows(side))) for side in sides)
                found.append((-saved, order, place))
        return [(order, place) for _, order, place in sorted(found)[:_N_TRIED]]


class Profile(list[Solved]):
    """The best trees found of one leaf, of two, and so on."""

    def offer(self, n_leaves: int, value: float, tree: Subtree | None) -> None:
        """Keep a tree if it is better than the one of its size that is known."""
        known = self[n_leaves - 1]
        if tree is not None and value > known.value + 1e-11 * abs(value):
            self[n_leaves - 1] = Solved(value, np.inf, tree)


class BinnedSolver(Solver):
    """Good trees of nodes of a table, soon: first cuts are looked at between bins only, and only the best of them.

    A table of all pairs of cuts between bins gives the best trees of up to four leaves. Larger ones
    are joined from the sides of some first cuts, those with the best trees of four leaves. Nothing is
    proved.

    Parameters
    ----------
    columns, score, min_samples_leaf, budget
        As in `Solver`.
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
        columns: Matrix,
        score: LeafScore,
        min_samples_leaf: int = 1,
        budget: Budget | None = None,
        *,
        n_bins: int = 16,
        widths: Sequence[int] = (24, 4, 2),
        n_features: int = 24,
    ) -> None:
        super().__init__(columns, score, min_samples_leaf, budget)
        self.n_bins, self.widths, self.n_features = n_bins, widths, n_features
        self.seen: list[Solved] = []  # the best tree of each first cut that was followed

    def solve(
        self,
        orders: Array,
        start: int,
        stop: int,
        n_leaves: int,
        depth: int,
        known: float = -np.inf,
    ) -> Solved:
        """Return the best tree found of a node."""
        profile = self.profile(orders, start, stop, n_leaves, depth)
        found = profile[-1]
        if self.score.kind == LARGEST:
            found = max(profile, key=lambda each: each.value)
        return found if found.value > known else Solved(-np.inf, np.inf, None)

    def profile(
        self,
        orders: Array,
        start: int,
        stop: int,
        most: int,
        depth: int,
        level: int = 0,
        features: Ints | None = None,
    ) -> Profile:
        """Return the best trees found of up to so many leaves.

        `features` says which columns the orders are of; by default all.
        """
        most = max(1, min(most, 2 ** min(depth, 30), stop - start))
        found = Profile([Solved(-np.inf, np.inf, None)] * most)
        leaf = self._leaf(orders, start, stop)
        found.offer(1, leaf.value, leaf.tree)
        features = np.arange(len(orders)) if features is None else features
        if most == 2:
            scores, cut = self._halves(orders, start, stop)
            if cut[0] >= 0:
                test = self._test(np.append(features[cut[0]], cut[1:]))
                found.offer(2, float(scores[1]), Subtree(NEW, test, (Subtree(NEW), Subtree(NEW))))
        if most < 3:
            return found
        pairs = _Pairs(self, orders, start, stop, features)
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
        found: Profile,
        pairs: "_Pairs",
        cut: tuple[int, int],
        kept: Ints,
        depth: int,
        level: int,
    ) -> None:
        """Offer the trees that begin with a cut, and go on with some of the columns."""
        from spexplain.kernels.refine import part_orders

        most, middle = len(found), int(pairs.borders[cut[0], cut[1] + 1]) - pairs.start
        goes_left = np.zeros(len(self.score.codes), dtype=np.bool_)
        goes_left[pairs.orders[cut[0], pairs.start : pairs.start + middle] >> 1] = True
        parted = pairs.orders[kept, pairs.start : pairs.stop]
        part_orders(parted, 0, parted.shape[1], goes_left)
        sides = [
            self.profile(parted, first, last, most - 1, depth, level, pairs.features[kept])
            for first, last in ((0, middle), (middle, parted.shape[1]))
        ]
        test = pairs.test(cut)
        for a, left in enumerate(sides[0], start=1):
            for b, right in enumerate(sides[1][: most - a], start=1):
                if left.tree is not None and right.tree is not None:
                    tree = Subtree(NEW, test, (left.tree, right.tree))
                    found.offer(a + b, left.value + right.value, tree)
                    if level == 1 and a + b == most:
                        self.seen.append(Solved(left.value + right.value, np.inf, tree))


class _Pairs:
    """The best second cuts for all first cuts of a node, between bins."""

    def __init__(
        self, solver: BinnedSolver, orders: Array, start: int, stop: int, features: Ints
    ) -> None:
        from spexplain.kernels.solver import binned_first_cuts

        self.solver, self.orders, self.start, self.stop = solver, orders, start, stop
        self.features = features
        score, shape = solver.score, (len(orders), min(solver.n_bins, stop - start), 2, 2)
        self.borders = np.zeros((shape[0], shape[1] + 1), dtype=np.int64)
        self.values, self.cuts = np.empty(shape), np.empty(shape, dtype=np.int64)
        binned_first_cuts(
            orders,
            start,
            stop,
            score.codes,
            score.amounts,
            score.degrees,
            score.kind,
            score.factor,
            solver.least,
            self.borders,
            self.values,
            self.cuts,
        )
        pairs_of_bins = (shape[0] * shape[1]) ** 2 * score.n_clusters / 4
        solver.budget.spend(shape[0] ** 2 * (stop - start) + pairs_of_bins)

    def test(self, cut: tuple[int, int] | Ints) -> Test:
        """Return the test of a cut, given by order and the bin before it."""
        order, place = int(cut[0]), int(self.borders[int(cut[0]), int(cut[1]) + 1])
        rows = self.orders[order, place - 1 : place + 1] >> 1
        return self.solver._test(np.array([self.features[order], *rows]))

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
        n_orders = len(self.orders)
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
        self.look_work = _LOOK_WORK if self.score.kind == OWN_MEANS else 0.0
        self.open = -np.inf  # what trees of the cuts that were looked at may reach

    def try_first(self, cuts: list[tuple[int, int]]) -> None:
        """Look at some cuts, given by order and place."""
        for order, place in cuts:
            if self.solver.budget.is_over():
                return
            self.look(order, place - self.start)

    def look(self, order: int, place: int) -> _Looked:
        """Solve both sides of a cut."""
        from spexplain.kernels.refine import part_orders

        if place in self.looked[order]:
            return self.looked[order][place]
        rows = self.orders[order] >> 1
        amounts = [self.score.rows(rows[:place]), self.score.rows(rows[place:])]
        ranges = (0, place), (place, len(rows))
        before = float(amounts[0].sum())
        self.solver.budget.spend(self.look_work)
        ceilings = {
            (a, b): (self.score.bound(amounts[0], a), self.score.bound(amounts[1], b))
            for a, b in self.shares
        }
        if not self.is_bounded and not any(map(self._can_win, ceilings.values())):
            self.looked[order][place] = _Looked(before, -np.inf, -np.inf, -np.inf)
            return self.looked[order][place]
        goes_left = np.zeros(len(self.score.codes), dtype=np.bool_)
        goes_left[rows[:place]] = True
        parted = self.orders.copy()
        part_orders(parted, 0, len(rows), goes_left)
        self.solver.budget.spend(parted.size)
        solved: dict[tuple[int, int], Solved] = {}

        def side(which: int, n_leaves: int, ceiling: float, known: float) -> Solved:
            if (which, n_leaves) not in solved:
                if self.solver.budget.is_over():  # nothing is known but what holds for all trees
                    return Solved(-np.inf, ceiling, None)
                solved[which, n_leaves] = self.solver.solve(
                    parted, *ranges[which], n_leaves, self.depth, known
                )
            return solved[which, n_leaves]

        sides = [-np.inf, -np.inf]
        both = -np.inf
        for (a, b), (most_left, most_right) in ceilings.items():
            if not self.is_bounded and not self._can_win((most_left, most_right)):
                continue
            # What neighbours are bounded by are the best sides there are; else only better trees count.
            left = side(0, a, most_left, -np.inf if self.is_bounded else self.best - most_right)
            own = max(min(left.bound, most_left), left.value)
            if not self.is_bounded and left.tree is None:
                both = max(both, own + most_right)
                continue
            right = side(1, b, most_right, -np.inf if self.is_bounded else self.best - own)
            bounds = own, max(min(right.bound, most_right), right.value)
            sides = [max(sides[0], bounds[0]), max(sides[1], bounds[1])]
            both = max(both, sum(bounds))
            value = left.value + right.value
            if left.tree and right.tree and value > self.best + 1e-11 * abs(value):
                low, high = rows[place - 1], rows[place]
                test = self.solver._test(np.array([order, low, high]))
                self.best, self.tree = value, Subtree(NEW, test, (left.tree, right.tree))
        seen = _Looked(before, sides[0], sides[1], both)
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
                break
            if self.solver.budget.is_over():
                return self._remaining(-heap[0][0], ceiling)
            if self.solver.budget.tell is not None:
                self.solver.budget.tell(self.orders.shape[1], self.best, min(ceiling, -heap[0][0]))
            _, _, order, low, high, first, last = heappop(heap)
            middle = (low + high) // 2
            here = self.look(order, int(self.gaps[order][middle]))
            add(order, low, middle, first, here)
            add(order, middle + 1, high, here, last)
        return self._remaining(-np.inf, ceiling)
