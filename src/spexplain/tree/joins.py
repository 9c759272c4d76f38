"""Several leaves as one rule: the fewest boxes with the same rows, and among these the fewest conditions."""

from collections.abc import Iterable, Sequence
from math import inf
from typing import NamedTuple, TypeAlias

from spexplain.tree import LEAF, Column, Tree
from spexplain.tree.boxes import Box, node_boxes
from spexplain.tree.column import as_columns
from spexplain.tree.region import EVERYWHERE, Interval, Region

__all__ = ["Joins", "joined"]

# A box as one whole number per tested column, with a bit for every piece of its values that some test tells
# apart; the highest is for missing values.
_Masks: TypeAlias = tuple[int, ...]

_MOST_CANDIDATES = 300  # boxes that are considered for the best cover
_MOST_STEPS = 20_000  # of that search
_MOST_NODES = 400  # parts of the tree beyond which boxes are only the tree's own


def joined(tree: Tree, leaves: Iterable[int], columns: Sequence[Column | str]) -> list[Box]:
    """Return boxes that together hold exactly the rows of some leaves: one rule, its parts joined by "or".

    There are as few boxes as possible; among such covers the one with the fewest conditions is taken (both
    are exact except for large trees, where boxes are widened one after the other). Missing values of columns
    that had none in training are ignored, as rules do not mention them.

    Parameters
    ----------
    tree : Tree
        The tree.
    leaves : iterable of int
        Leaf ids.
    columns : sequence of Column or str
        The columns of the table.

    Returns
    -------
    boxes : list of dict
        Regions by column, in the order in which the tree first tests the columns; boxes of most training rows
        first. An empty list for no leaf; one empty box for all rows.

    Examples
    --------
    >>> from spexplain.tree import Tree
    >>> from spexplain.tree.joins import joined
    >>> from spexplain.tree.words import joined_text
    >>> tree = Tree.root(n_features=2, size=9).split(0, feature=0, threshold=5.0, sizes=(4, 5))
    >>> tree = tree.split(2, feature=1, threshold=3.0, sizes=(2, 3))
    >>> joined_text(joined(tree, [0, 2], ["age", "pay"]), ["age", "pay"])
    'age ≤ 5 or pay > 3'
    """
    return Joins(tree, columns).of(leaves)


class Joins:
    """Data about a tree that `joined` needs, reusable for several sets of its leaves.

    Parameters
    ----------
    tree : Tree
        The tree.
    columns : sequence of Column or str
        The columns of the table.
    """

    def __init__(self, tree: Tree, columns: Sequence[Column | str]) -> None:
        self.tree = tree
        self._boxes = node_boxes(tree)
        self._axes = _axes(tree, as_columns(columns))
        self._coded: dict[int, _Masks] = {}  # boxes of nodes, cached as all clusters need them

    def _of_node(self, node: int) -> _Masks:
        if node not in self._coded:
            self._coded[node] = _coded(self._axes, self._boxes[node])
        return self._coded[node]

    def of(self, leaves: Iterable[int]) -> list[Box]:
        """Return the boxes of some leaves, see `joined`."""
        tree, boxes, axes = self.tree, self._boxes, self._axes
        own, others = _parts(tree, set(leaves))
        coded = [self._of_node(node) for node in own]
        kept = [place for place, masks in enumerate(coded) if all(masks)]
        inside = [coded[place] for place in kept]
        if not inside:  # no leaves, or none that a row can reach
            return []
        outside = [masks for masks in map(self._of_node, others) if all(masks)]
        chosen = _cover(inside, outside, tuple(axis.whole for axis in axes))
        chosen = _simplified(chosen, inside, axes)
        sizes = [int(tree.size[own[place]]) for place in kept]
        chosen.sort(key=lambda masks: _rank(masks, inside, sizes))
        elsewhere = [(boxes[node], self._of_node(node)) for node in others]
        return [_box(masks, axes, elsewhere) for masks in chosen]


class _Axis(NamedTuple):
    """The pieces of one column's values that the tree distinguishes."""

    feature: int
    column: Column
    cuts: tuple[float, ...]  # piece i lies in (cuts[i - 1], cuts[i]]; of a category it is code i
    whole: int  # all pieces, missing values among them where training rows lack some

    @property
    def n_pieces(self) -> int:
        if self.column.kind == "category":
            return len(self.column.categories)
        return len(self.cuts) + 1

    def coded(self, region: Region) -> int:
        """Return the pieces of a region, all that matter or none of a piece."""
        if self.column.kind == "category":
            pieces = region.codes(self.n_pieces)
        else:
            pieces = [place for place, end in enumerate((*self.cuts, inf)) if region.holds(end)]
        mask = sum(1 << place for place in pieces)
        if region.missing:
            mask |= 1 << self.n_pieces
        return mask & self.whole

    def runs(self, mask: int) -> list[int]:
        """Return neighbouring pieces as separate masks, from low to high."""
        found, run = [], 0
        for place in range(self.n_pieces):
            if mask >> place & 1:
                run |= 1 << place
            elif run:
                found.append(run)
                run = 0
        return [*found, run] if run else found

    def region(self, mask: int, *, missing: bool) -> Region:
        """Return the values of some pieces."""
        if self.column.kind == "category":
            codes = [code for code in range(self.n_pieces) if mask >> code & 1]
            return Region.of_codes(codes, missing=missing)
        ends = (-inf, *self.cuts, inf)
        intervals: list[Interval] = []
        for run in self.runs(mask):
            first, last = (run & -run).bit_length() - 1, run.bit_length() - 1
            intervals.append((ends[first], ends[last + 1]))
        return Region(tuple(intervals), missing)


def _parts(tree: Tree, leaves: set[int]) -> tuple[list[int], list[int]]:
    """Return the nodes whose leaves are all among the given ones, and those with none; the largest of each."""
    kind: dict[int, bool | None] = {
        int(node): leaf in leaves for leaf, node in enumerate(tree.leaves)
    }
    for node in range(tree.n_nodes - 1, -1, -1):  # children are younger than their parents
        if tree.feature[node] != LEAF:
            left, right = kind[int(tree.left[node])], kind[int(tree.right[node])]
            kind[node] = left if left == right else None
    found: tuple[list[int], list[int]] = ([], [])
    stack = [0]
    while stack:
        node = stack.pop()
        here = kind[node]
        if here is None:
            stack += [int(tree.right[node]), int(tree.left[node])]
        else:
            found[not here].append(node)
    return found


def _axes(tree: Tree, columns: Sequence[Column]) -> list[_Axis]:
    """Return the tested columns in the order of their first tests."""
    ends: dict[int, set[float]] = {}
    for test in tree.tests.values():
        own = ends.setdefault(test.feature, set())
        for low, high in test.region().intervals:
            own |= {end for end in (low, high) if abs(end) < inf}
    axes = []
    for feature, own in ends.items():
        axis = _Axis(feature, columns[feature], tuple(sorted(own)), 0)
        n_bits = axis.n_pieces + columns[feature].has_missing
        axes.append(axis._replace(whole=(1 << n_bits) - 1))
    return axes


def _coded(axes: Sequence[_Axis], box: Box) -> _Masks:
    return tuple(axis.coded(box.get(axis.feature, EVERYWHERE)) for axis in axes)


def _meet(one: _Masks, other: _Masks) -> bool:
    """Whether some row lies in both boxes."""
    return all(a & b for a, b in zip(one, other, strict=True))


def _holds(one: _Masks, other: _Masks) -> bool:
    """Whether a box holds another."""
    return all(not b & ~a for a, b in zip(one, other, strict=True))


def _n_conditions(masks: _Masks, wholes: _Masks) -> int:
    return sum(mask != whole for mask, whole in zip(masks, wholes, strict=True))


def _cover(inside: list[_Masks], outside: list[_Masks], wholes: _Masks) -> list[_Masks]:
    """Return few boxes that hold all boxes inside and meet none outside."""
    if not outside:
        return [wholes]
    if len(inside) + len(outside) > _MOST_NODES:
        return inside
    candidates = _largest(outside, wholes)
    if candidates is None:  # too many: only some large ones
        candidates = list(dict.fromkeys(_widened(each, outside, wholes) for each in inside))
    candidates.sort(key=lambda masks: (_n_conditions(masks, wholes), [-mask for mask in masks]))
    costs = [_n_conditions(masks, wholes) for masks in candidates]
    points: list[_Masks] = []
    while True:
        chosen = _fewest(candidates, costs, points)
        left = next((found for box in inside if (found := _left_over(box, chosen))), None)
        if left is None:
            return chosen
        # One piece of every column: its bits show which boxes hold it.
        points.append(tuple(mask & -mask for mask in left))


def _largest(outside: list[_Masks], wholes: _Masks) -> list[_Masks] | None:
    """Return all boxes that meet none outside and cannot be widened; None if there are too many."""
    found = [wholes]
    for box in sorted(outside, key=lambda masks: _n_conditions(masks, wholes)):
        apart = [each for each in found if not _meet(each, box)]
        cut = []
        for each in found:
            if not _meet(each, box):
                continue
            for at, mask in enumerate(box):
                rest = each[at] & ~mask
                if rest:
                    cut.append((*each[:at], rest, *each[at + 1 :]))
        found = apart
        for each in sorted(set(cut), key=lambda masks: -sum(mask.bit_count() for mask in masks)):
            if not any(_holds(other, each) for other in found):
                found.append(each)
        if len(found) > _MOST_CANDIDATES:
            return None
    return found


def _widened(box: _Masks, outside: list[_Masks], wholes: _Masks) -> _Masks:
    """Return a box widened in one column after the other, as long as it meets none outside."""
    for at in range(len(box)):
        free = wholes[at]
        for other in outside:
            if all(
                a & b for place, (a, b) in enumerate(zip(box, other, strict=True)) if place != at
            ):
                free &= ~other[at]
        box = (*box[:at], free, *box[at + 1 :])
    return box


def _fewest(candidates: list[_Masks], costs: list[int], points: list[_Masks]) -> list[_Masks]:
    """Return the fewest boxes, of least cost in all, that hold all points."""
    holders = [
        [place for place, box in enumerate(candidates) if _holds(box, point)] for point in points
    ]
    best: list[int] = []
    left = points_left = set(range(len(points)))
    while left:  # greedy: a bound for the search
        gains: dict[int, int] = {}
        for point in left:
            for place in holders[point]:
                gains[place] = gains.get(place, 0) + 1
        taken = min(gains, key=lambda place: (-gains[place], costs[place], place))
        best.append(taken)
        left = {point for point in left if taken not in holders[point]}
    worth = (len(best), sum(costs[place] for place in best))
    steps = 0
    stack: list[tuple[list[int], set[int]]] = [([], points_left)]
    while stack and steps < _MOST_STEPS:
        chosen, open_points = stack.pop()
        steps += 1
        cost = (len(chosen), sum(costs[place] for place in chosen))
        if not open_points:
            if cost < worth:
                best, worth = chosen, cost
            continue
        if (cost[0] + 1, cost[1]) >= worth:
            continue
        hardest = min(open_points, key=lambda point: (len(holders[point]), point))
        for place in reversed(holders[hardest]):
            rest = {point for point in open_points if place not in holders[point]}
            stack.append(([*chosen, place], rest))
    return [candidates[place] for place in sorted(best)]


def _left_over(box: _Masks, cover: list[_Masks]) -> _Masks | None:
    """Return a part of a box that no box of the cover meets; None if there is none."""
    stack = [(box, 0)]
    while stack:
        part, number = stack.pop()
        while number < len(cover) and not _meet(part, cover[number]):
            number += 1
        if number == len(cover):
            return part
        for at, mask in enumerate(cover[number]):
            rest = part[at] & ~mask
            if rest:
                stack.append(((*part[:at], rest, *part[at + 1 :]), number + 1))
            part = (*part[:at], part[at] & mask, *part[at + 1 :])
    return None


def _simplified(chosen: list[_Masks], inside: list[_Masks], axes: Sequence[_Axis]) -> list[_Masks]:
    """Return the boxes without pieces that other boxes hold too, if this shortens conditions."""
    for number in range(len(chosen)):
        for at, axis in enumerate(axes):
            for smaller in _shorter(chosen[number][at], axis):
                box = (*chosen[number][:at], smaller, *chosen[number][at + 1 :])
                others = [*chosen[:number], box, *chosen[number + 1 :]]
                if all(_left_over(each, others) is None for each in inside):
                    chosen = others
                    break
    return chosen


def _shorter(mask: int, axis: _Axis) -> list[int]:
    """Return parts of a region that need fewer words, the shortest first."""
    if mask == axis.whole:
        return []
    missing = mask & (1 << axis.n_pieces)
    values = mask & ~missing
    found: list[int] = []
    if axis.column.kind == "category":
        codes = [1 << code for code in range(axis.n_pieces) if values >> code & 1]
        if len(codes) > 1:
            found += codes
            if len(codes) <= 12:
                found += [values & ~code for code in codes]
    else:
        runs = axis.runs(values)
        found += runs if len(runs) > 1 else []
    parts = [part | missing for part in found]
    if missing and values and values != axis.whole & ~missing:
        parts = [*found, values, *parts]
    return parts


def _rank(masks: _Masks, inside: list[_Masks], sizes: list[int]) -> tuple[int, int]:
    """Return the place of a box: most training rows first, then from left to right."""
    met = [place for place, each in enumerate(inside) if _meet(masks, each)]
    held = [place for place in met if _holds(masks, inside[place])]
    return -sum(sizes[place] for place in held), min(held or met)


def _box(masks: _Masks, axes: Sequence[_Axis], others: list[tuple[Box, _Masks]]) -> Box:
    """Return the regions of a box by column, without unrestricted columns."""
    return {
        axis.feature: axis.region(mask, missing=_takes_missing(masks, at, axes, others))
        for at, (axis, mask) in enumerate(zip(axes, masks, strict=True))
        if mask != axis.whole
    }


def _takes_missing(
    masks: _Masks, at: int, axes: Sequence[_Axis], others: list[tuple[Box, _Masks]]
) -> bool:
    """Whether rows with a missing value in one column belong to a box.

    If the column has no missing values in training, they do, unless the tree may send them elsewhere.
    """
    axis = axes[at]
    if axis.column.has_missing:
        return bool(masks[at] >> axis.n_pieces & 1)
    for other, coded in others:
        if not other.get(axis.feature, EVERYWHERE).missing:
            continue
        elsewhere = (
            a & b for place, (a, b) in enumerate(zip(masks, coded, strict=True)) if place != at
        )
        if all(elsewhere):
            return False
    return True
