"""Centre-based methods by their definitions: plain recursion over all cuts, exact on integer tables.

A tree is nested: a leaf is the tuple of its centres, an inner node (feature, threshold, left, right).
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from math import ceil, inf
from typing import Any, NamedTuple

import numpy as np


class Parting(NamedTuple):
    feature: int
    threshold: float
    left: tuple[list[int], list[int]]  # points, centres
    right: tuple[list[int], list[int]]


class Problem(NamedTuple):
    X: np.ndarray
    labels: np.ndarray
    centers: np.ndarray


def partings(problem: Problem, points: list[int], centers: list[int]) -> Iterator[Parting]:
    """All cuts between neighbouring values of points and centres, in the order of ties."""
    X, C = problem.X.astype(float), problem.centers.astype(float)
    for feature in range(X.shape[1]):
        values = sorted({X[x, feature] for x in points} | {C[c, feature] for c in centers})
        for low, high in pairwise(values):
            sides = [
                (
                    [x for x in points if (X[x, feature] <= low) == is_left],
                    [c for c in centers if (C[c, feature] <= low) == is_left],
                )
                for is_left in (True, False)
            ]
            yield Parting(feature, low + (high - low) / 2, *sides)


def mistakes(problem: Problem, parting: Parting, centers: list[int]) -> int:
    """Points parted from their own centre, where that is still in the node."""
    found = 0
    for points, near in (parting.left, parting.right):
        found += sum(problem.labels[x] in centers and problem.labels[x] not in near for x in points)
    return found


Score = Callable[[Parting, list[int], list[int], list[tuple[int, bool]]], float]


def part_centers(problem: Problem, score: Score, *, points_on_both_sides: bool = True) -> Any:
    """Part centres by the least score until none can be parted."""

    def grow(points: list[int], centers: list[int], turns: list[tuple[int, bool]]) -> Any:
        if len(centers) < 2:
            return tuple(centers)
        every = [
            each for each in partings(problem, points, centers) if each.left[1] and each.right[1]
        ]
        full = [each for each in every if each.left[0] and each.right[0]]
        best, best_score = None, inf
        for choice in (full, every) if points_on_both_sides else (full,):
            for each in choice:
                value = score(each, points, centers, turns)
                if value < best_score:
                    best, best_score = each, value
            if best is not None:
                break
        if best is None:
            return tuple(centers)
        return (
            best.feature,
            best.threshold,
            grow(*best.left, [*turns, (best.feature, True)]),
            grow(*best.right, [*turns, (best.feature, False)]),
        )

    return grow(list(range(len(problem.X))), list(range(len(problem.centers))), [])


def imm(problem: Problem, pairs: str = "any", metric: int = 2) -> Any:
    """Fewest mistakes among cuts that part some pair, or the furthest pair, of centres."""

    def score(each: Parting, points: list[int], centers: list[int], turns: Any) -> float:
        if pairs == "furthest":
            _, first, second = max(
                (float(np.sum(np.abs(problem.centers[a] - problem.centers[b]) ** metric)), -a, -b)
                for a in centers
                for b in centers
                if a < b
            )
            if (-first in each.left[1]) == (-second in each.left[1]):
                return inf
        return mistakes(problem, each, centers)

    return part_centers(problem, score)


def emn(problem: Problem, denominator: str = "min") -> Any:
    """Mistakes over the smaller number, or the product, of centres on both sides."""

    def score(each: Parting, points: list[int], centers: list[int], turns: Any) -> float:
        n_left, n_right = len(each.left[1]), len(each.right[1])
        below = min(n_left, n_right) if denominator == "min" else n_left * n_right
        return mistakes(problem, each, centers) / below

    return part_centers(problem, score)


def service(problem: Problem, points: list[int], centers: list[int]) -> float:
    """Cost when each point is served by the nearest of the centres."""
    return float(
        sum(min(np.sum((problem.X[x] - problem.centers[c]) ** 2) for c in centers) for x in points)
    )


def ex_greedy(problem: Problem, depth_weight: float | None = None) -> Any:
    """Least service cost; with a depth weight, relative cost plus expected depth."""

    def n_distinct(points: list[int]) -> int:
        return len({tuple(problem.X[x]) for x in points})

    def score(each: Parting, points: list[int], centers: list[int], turns: Any) -> float:
        if any(n_distinct(side) < len(near) for side, near in (each.left, each.right)):
            return inf
        cost = service(problem, *each.left) + service(problem, *each.right)
        if depth_weight is None:
            return cost
        uncut = service(problem, points, centers)
        n_points, n_centers = n_distinct(points), len(centers)
        n_left, n_right = n_distinct(each.left[0]), n_distinct(each.right[0])
        k_left, k_right = len(each.left[1]), len(each.right[1])

        def total(level: int, n: int, k: int) -> int:
            if k == 1:
                return n * level
            first = min(max(ceil(k_left * k / n_centers), 1), k - 1)
            lone = n if first > k - first else 0
            some = min(max(ceil(n_left * n / n_points), 1), n - 1) if n > 1 else lone
            return total(level + 1, some, first) + total(level + 1, n - some, k - first)

        depth = total(1, n_left, k_left) + total(1, n_right, k_right)
        depth -= n_left * ((each.feature, True) in turns)
        depth -= n_right * ((each.feature, False) in turns)
        return (cost / uncut if uncut else 0.0) + depth_weight * (depth / n_points)

    return part_centers(problem, score, points_on_both_sides=False)


def ex_kmc_costs(problem: Problem, leaves: list[list[int]], n_leaves: int) -> list[float]:
    """Surrogate cost after every further split of the leaves by the largest drop."""
    X, C = problem.X, problem.centers

    def served(points: list[int]) -> float:
        return (
            float(min(sum(np.sum((X[x] - c) ** 2) for x in points) for c in C)) if points else 0.0
        )

    leaves = [list(leaf) for leaf in leaves]
    costs = [sum(map(served, leaves))]
    while len(leaves) < n_leaves:
        best = (0.0, None, None)
        for number, leaf in enumerate(leaves):
            for each in partings(problem, leaf, []):
                drop = served(leaf) - served(each.left[0]) - served(each.right[0])
                if drop > best[0]:
                    best = (drop, number, each)
        if best[1] is None:
            break
        leaves[best[1] : best[1] + 1] = [best[2].left[0], best[2].right[0]]
        costs.append(sum(map(served, leaves)))
    return costs
