"""Slow definitions of tests on columns of every kind, independent of the package.

A column is a list with one value a row, None for a missing one: numbers, or texts. Cuts are listed one by one
and scored by the sums over pairs of `oracle`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from oracles.definitions import Method

Columns = Sequence[Sequence[Any]]
# (rows of every group) -> amounts of every group, by whose shares categories are ordered
Profile = Callable[[list[list[int]]], list[list[float]]]


class AmbiguousOrderError(Exception):
    """Two principal components are equally strong, or two shares differ by rounding alone."""


def cluster_profile(labels: Sequence[int]) -> Profile:
    """Rows of every group by cluster; noise does not count."""
    clusters = sorted(set(labels) - {-1})

    def profile(groups: list[list[int]]) -> list[list[float]]:
        return [[sum(labels[x] == each for x in rows) for each in clusters] for rows in groups]

    return profile


def edge_profile(adjacency: np.ndarray) -> Profile:
    """Weight of the edges from every group to every group."""

    def profile(groups: list[list[int]]) -> list[list[float]]:
        return [
            [float(sum(adjacency[x, y] for x in own for y in other)) for other in groups]
            for own in groups
        ]

    return profile


def in_order_of_shares(amounts: list[list[float]]) -> list[int]:
    """The groups along the first principal component of their shares, those without amounts last."""
    table = np.array(amounts, dtype=float)
    sizes = table.sum(axis=1)
    counted = [group for group in range(len(table)) if sizes[group] > 0]
    others = [group for group in range(len(table)) if sizes[group] == 0]
    if not counted:
        return others
    shares = {group: table[group] / sizes[group] for group in counted}
    mean = sum(sizes[group] * shares[group] for group in counted) / sizes.sum()
    spread = sum(
        sizes[group] * np.outer(shares[group] - mean, shares[group] - mean) for group in counted
    )
    strengths, directions = np.linalg.eigh(spread)
    if strengths[-1] < 1e-12 * sizes.sum():  # all shares are equal
        return counted + others
    if len(strengths) > 1 and strengths[-2] > strengths[-1] * (1 - 1e-6):
        raise AmbiguousOrderError
    along = {group: float((shares[group] - mean) @ directions[:, -1]) for group in counted}
    places = sorted(along.values())
    steps = np.diff(places)
    if np.any((steps > 1e-14) & (steps < 1e-9)) or any(1e-14 < abs(x) < 1e-9 for x in places):
        raise AmbiguousOrderError
    first = next((x for x in along.values() if abs(x) > 1e-9), 0.0)
    sign = -1 if first > 0 else 1  # a component has no sign of its own: the first group comes early
    return sorted(counted, key=lambda group: (round(sign * along[group], 10), group)) + others


@dataclass
class Cut:
    """Rows on both sides of a test of one column."""

    column: int
    left: list[int]
    right: list[int]
    score: float = float("nan")


def is_of_texts(column: Sequence[Any]) -> bool:
    """Whether a column holds categories."""
    return any(isinstance(value, str) for value in column)


def groups_of(column: Sequence[Any], node: list[int]) -> list[list[int]]:
    """The rows of every category of a node in the order of the categories; missing values last."""
    present = sorted({column[x] for x in node if column[x] is not None})
    groups = [[x for x in node if column[x] == value] for value in present]
    missing = [x for x in node if column[x] is None]
    return [*groups, missing] if missing else groups


def set_cuts(column: Sequence[Any], node: list[int], profile: Profile) -> list[list[int]]:
    """The left sides of single categories, then of runs of categories of similar shares."""
    groups = groups_of(column, node)
    lefts = groups[:1] if len(groups) == 2 else list(groups) if len(groups) > 2 else []
    if len(groups) > 3:
        order = in_order_of_shares(profile(groups))
        for size in range(2, len(groups) - 1):
            lefts.append([x for group in order[:size] for x in groups[group]])
    return lefts


def all_sets(column: Sequence[Any], node: list[int]) -> list[list[int]]:
    """The left sides of all sets of categories but none and all."""
    groups = groups_of(column, node)
    return [
        [x for rows in chosen for x in rows]
        for size in range(1, len(groups))
        for chosen in combinations(groups, size)
    ]


def threshold_cuts(
    column: Sequence[Any], node: list[int], *, missing_left: bool
) -> list[list[int]]:
    """The left sides of thresholds from the lowest on; "is missing", or is not, is among them."""
    missing = [x for x in node if column[x] is None]
    values = sorted({column[x] for x in node if column[x] is not None})
    lefts = [[x for x in node if column[x] is not None and column[x] <= low] for low in values]
    if missing_left:
        return ([missing] if missing and values else []) + [missing + left for left in lefts[:-1]]
    return lefts if missing else lefts[:-1]


def best_cut(
    columns: Columns, node: list[int], method: Method, profile: Profile, min_samples: int = 1
) -> Cut | None:
    """The first cut of the lowest score; where all tie on paper, the very first.

    Missing values go with the larger of the known sides if that is as good.
    """

    def scored(number: int, left: list[int]) -> Cut | None:
        right = [x for x in node if x not in set(left)]
        if min(len(left), len(right)) < max(1, min_samples):
            return None
        score = method.score(left, right)
        return None if score is None else Cut(number, left, right, score)

    best, is_flat = None, method.is_flat(node)
    for number, column in enumerate(columns):
        if is_of_texts(column):
            lefts = set_cuts(column, node, profile)
        else:
            lefts = threshold_cuts(column, node, missing_left=True)
            lefts += threshold_cuts(column, node, missing_left=False)
        for left in lefts:
            cut = scored(number, left)
            if cut is not None and (best is None or (cut.score < best.score and not is_flat)):
                best = cut
    if best is None or is_of_texts(columns[best.column]):
        return best
    column = columns[best.column]
    missing = [x for x in node if column[x] is None]
    known = [x for x in best.left if column[x] is not None]
    if not missing or not known or missing[0] not in best.left or len(best.right) <= len(known):
        return best
    other = scored(best.column, known)
    return other if other is not None and (is_flat or other.score == best.score) else best


@dataclass
class Leaf:
    """A node that is a leaf so far."""

    number: int
    members: list[int]
    depth: int
    best: Cut | None
    priority: float


def grow(
    columns: Columns,
    method: Method,
    profile: Profile,
    *,
    max_leaves: int,
    min_samples_leaf: int = 1,
    max_depth: int | None = None,
) -> list[tuple[Leaf, Cut]]:
    """Split the leaf of the lowest priority, the older of equals, until there are enough leaves."""

    def opened(number: int, members: list[int], depth: int) -> Leaf:
        best = None
        if max_depth is None or depth < max_depth:
            best = best_cut(columns, members, method, profile, min_samples_leaf)
        turn = float("inf") if best is None else method.priority(best.score, members)
        return Leaf(number, members, depth, best, turn)

    leaves, splits = [opened(0, list(range(len(columns[0]))), 0)], []
    while len(leaves) < max_leaves and any(leaf.best for leaf in leaves):
        rivals = sorted((leaf for leaf in leaves if leaf.best), key=lambda leaf: leaf.number)
        lowest = min(leaf.priority for leaf in rivals)
        leaf = next(leaf for leaf in rivals if leaf.priority <= lowest + 1e-12)
        young = 2 * len(splits) + 1
        splits.append((leaf, leaf.best))
        leaves.remove(leaf)
        leaves.append(opened(young, leaf.best.left, leaf.depth + 1))
        leaves.append(opened(young + 1, leaf.best.right, leaf.depth + 1))
    return splits
