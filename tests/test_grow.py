"""The builder: which leaf is split next, and when to stop."""

from typing import NamedTuple

import pytest

from spexplain.grow import grow
from spexplain.records import Cut, Promise


class Interval(NamedTuple):
    """A node: the numbers low, low + 1, ..., high."""

    low: int
    high: int


class Halving:
    """A search that halves intervals; the given function ranks them."""

    n_features = 1

    def __init__(self, n: int, priority) -> None:
        self.n, self.priority = n, priority
        self.asked: list[Interval] = []

    def root(self) -> Interval:
        return Interval(0, self.n - 1)

    def size(self, node: Interval) -> int:
        return node.high - node.low + 1

    def value(self, node: Interval) -> float:
        return node.low / 2

    def best_cuts(self, nodes, rival) -> list[Cut | None]:
        self.asked += nodes
        return [self.cut(node) if node.low < node.high else None for node in nodes]

    def cut(self, node: Interval) -> Cut:
        middle = (node.low + node.high) // 2
        return Cut(0, middle + 0.5, score=1.0, priority=self.priority(node))

    def split(self, node: Interval, cut: Cut) -> tuple[Interval, Interval]:
        middle = int(cut.threshold)
        return Interval(node.low, middle), Interval(middle + 1, node.high)


def always(priority):
    return lambda node: priority


def test_older_leaf_first_on_ties():
    tree = grow(Halving(16, always(0.5)), max_leaves=8)
    assert tree.left.tolist()[:7] == [1, 3, 5, 7, 9, 11, 13]


def test_rounding_does_not_break_ties():
    # The right half is better by rounding only; on paper it ties with the older left half.
    tree = grow(Halving(4, lambda node: 0.1 + 0.2 if node.low < 2 else 0.3), max_leaves=3)
    assert tree.left.tolist() == [1, 3, -1, -1, -1]
    # Neither does the noise of a difference that is zero on paper.
    tree = grow(Halving(4, lambda node: 0.0 if node.low < 2 else -1e-16), max_leaves=3)
    assert tree.left.tolist() == [1, 3, -1, -1, -1]


def test_lowest_priority_first():
    tree = grow(Halving(8, lambda node: -node.low), max_leaves=4)
    assert tree.left.tolist() == [1, -1, 3, -1, 5, -1, -1]
    assert tree.threshold[[0, 2, 4]].tolist() == [3.5, 5.5, 6.5]
    assert tree.size.tolist() == [8, 4, 4, 2, 2, 1, 1]
    assert tree.value.tolist() == [0, 0, 2, 2, 3, 3, 3.5]


def test_stops_when_no_cut_is_left():
    tree = grow(Halving(3, always(0.0)), max_leaves=10)
    assert tree.n_leaves == 3
    assert grow(Halving(1, always(0.0)), max_leaves=10).n_leaves == 1


@pytest.mark.parametrize("max_depth", [1, 2, 3])
def test_depth(max_depth):
    tree = grow(Halving(16, always(0.0)), max_leaves=100, max_depth=max_depth)
    assert (tree.depth, tree.n_leaves) == (max_depth, 2**max_depth)


def test_no_cut_is_sought_that_cannot_be_used():
    search = Halving(16, always(0.0))
    grow(search, max_leaves=2)
    assert search.asked == [Interval(0, 15)]
    search = Halving(16, always(0.0))
    assert grow(search, max_leaves=1).n_leaves == 1
    assert search.asked == []
    search = Halving(16, always(0.0))
    grow(search, max_leaves=9, max_depth=1)
    assert search.asked == [Interval(0, 15)]


class Promising(Halving):
    """The same, but promises what comes after the rival: first half of the way to its priority, then all."""

    def __init__(self, n: int, priority) -> None:
        super().__init__(n, priority)
        self.promised: dict[Interval, float] = {}
        self.found: list[Interval] = []

    def best_cuts(self, nodes, rival) -> list[Cut | Promise | None]:
        answers: list[Cut | Promise | None] = []
        for node in nodes:
            exact = self.priority(node)
            bound = exact if node in self.promised else exact - 0.25
            if node.low < node.high and bound > rival:
                self.promised[node] = bound
                answers.append(Promise(bound))
            else:
                self.found.append(node)
                (cut,) = super().best_cuts([node], rival)
                answers.append(cut)
        return answers


@pytest.mark.parametrize("max_leaves", [2, 5, 9, 16, 40])
@pytest.mark.parametrize("modulus", [1, 3, 7, 31])
def test_promises_change_nothing(max_leaves, modulus):
    def priority(node: Interval) -> float:
        return (node.low * 5 + node.high * 3) % modulus / modulus

    eager, lazy = Halving(32, priority), Promising(32, priority)
    assert grow(lazy, max_leaves=max_leaves) == grow(eager, max_leaves=max_leaves)
    assert set(lazy.found) <= set(eager.asked)


def test_a_promised_leaf_that_never_comes_first_is_not_looked_at():
    ranks = {(0, 7): 0.0, (0, 3): 1.0, (4, 7): 0.0, (4, 5): 2.0, (6, 7): 0.5}
    search = Promising(8, ranks.__getitem__)
    assert grow(search, max_leaves=4).threshold[[0, 2, 4]].tolist() == [3.5, 5.5, 6.5]
    assert search.promised == {Interval(4, 5): 1.75}
    assert Interval(4, 5) not in search.found


class Moody(Halving):
    """A split turns the ranks of all waiting leaves round."""

    depends_on_tree = True

    def __init__(self, n: int) -> None:
        super().__init__(n, lambda node: float(node.low * (-1) ** len(self.splits)))
        self.splits: list[Interval] = []

    def split(self, node, cut):
        self.splits.append(node)
        return super().split(node, cut)


def test_all_leaves_are_asked_for_again_where_cuts_depend_on_the_tree():
    search = Moody(8)
    tree = grow(search, max_leaves=8)
    assert tree.n_leaves == 8
    # After the first split the right half ranks first, after the second the left one.
    assert search.splits[:3] == [Interval(0, 7), Interval(4, 7), Interval(0, 3)]
    assert search.asked.count(Interval(0, 3)) == 2


def test_progress_counts_leaves():
    told: list[int] = []
    grow(Halving(8, always(0.0)), max_leaves=5, progress=told.append)
    assert told == [2, 3, 4, 5]


def test_a_search_is_told_the_rank_of_the_leaf_that_comes_first():
    class Listening(Halving):
        def best_cuts(self, nodes, rival):
            rivals.append(rival)
            return super().best_cuts(nodes, rival)

    rivals: list[float] = []
    ranks = {(0, 7): 0.0, (0, 3): 1.0, (4, 7): 2.0, (0, 1): 3.0, (2, 3): 1.5, (2, 2): 9.0}
    grow(Listening(8, lambda node: ranks.get(node, 4.0)), max_leaves=5)
    # Waiting leaves after each split: none; none; (4, 7); (4, 7) and (0, 1).
    assert rivals == [float("inf"), float("inf"), 2.0, 2.0]
