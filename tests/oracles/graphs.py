"""Slow definitions straight from the mathematics, independent of the package: graphs and sums over vertices.

A graph is a dense adjacency matrix, a set of vertices a list of numbers. Sums are exact as long as
the weights are integers or short binary fractions.
"""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

# --- Graphs ---------------------------------------------------------------------------------------


def clique_adjacency(labels: Sequence[int], weights: str = "unit") -> np.ndarray:
    """Join every two samples of a cluster, by 1 or 1/(N-1); samples labelled -1 are isolated."""
    sizes = Counter(labels)
    adjacency = np.zeros((len(labels), len(labels)))
    for x, of_x in enumerate(labels):
        for y, of_y in enumerate(labels):
            if x != y and of_x == of_y != -1:
                adjacency[x, y] = 1 if weights == "unit" else 1 / (sizes[of_x] - 1)
    return adjacency


def star_adjacency(labels: Sequence[int], n_centers: int) -> np.ndarray:
    """Join every sample to its centre; the centres are the last vertices, label -1 has none."""
    n_samples = len(labels)
    adjacency = np.zeros((n_samples + n_centers, n_samples + n_centers))
    for x, label in enumerate(labels):
        if label != -1:
            adjacency[x, n_samples + label] = adjacency[n_samples + label, x] = 1
    return adjacency


def independent_set_adjacency(labels: Sequence[int]) -> np.ndarray:
    """Join every two samples of different clusters; samples labelled -1 are isolated."""
    adjacency = np.zeros((len(labels), len(labels)))
    for x, of_x in enumerate(labels):
        for y, of_y in enumerate(labels):
            adjacency[x, y] = of_x != of_y and -1 not in (of_x, of_y)
    return adjacency


def nearest_neighbors(X: np.ndarray, n_neighbors: int, *, standardize: bool) -> list[list[int]]:
    """Nearest other rows in exact rational arithmetic, nearest first, ties by the lowest index."""
    rows = [[Fraction(float(x)) for x in row] for row in X]
    spreads = []
    for column in zip(*rows, strict=True):
        mean = sum(column) / len(column)
        spreads.append(sum((x - mean) ** 2 for x in column) / len(column))
    scales = [1 / spread if standardize and spread else Fraction(1) for spread in spreads]

    def distance(x: int, y: int) -> Fraction:
        terms = zip(rows[x], rows[y], scales, strict=True)
        return sum((a - b) ** 2 * scale for a, b, scale in terms)

    nearest = []
    for x in range(len(rows)):
        others = sorted((distance(x, y), y) for y in range(len(rows)) if y != x)
        nearest.append([y for _, y in others[:n_neighbors]])
    return nearest


# --- Sums over a set of vertices ------------------------------------------------------------------


def degree(adjacency: np.ndarray, x: int) -> float:
    """deg(x): the weight of all edges at x."""
    return float(adjacency[x].sum())


def volume(adjacency: np.ndarray, subset: Sequence[int]) -> float:
    """vol(S): the sum of the degrees in S, counted in the whole graph."""
    return float(sum(degree(adjacency, x) for x in subset))


def weight_between(adjacency: np.ndarray, some: Sequence[int], others: Sequence[int]) -> float:
    """e(S, T): the weight of the edges from S to T; e(S, S) = in(S) counts inner edges twice."""
    return float(adjacency[np.ix_(some, others)].sum())


def inner(adjacency: np.ndarray, subset: Sequence[int]) -> float:
    """in(S): the weight of the edges inside S, each end counted."""
    return weight_between(adjacency, subset, subset)


def outer(adjacency: np.ndarray, subset: Sequence[int]) -> float:
    """e(S): the weight of the edges that leave S."""
    rest = sorted(set(range(len(adjacency))) - set(subset))
    return weight_between(adjacency, subset, rest)


def conductance(adjacency: np.ndarray, subset: Sequence[int]) -> float:
    """ψ(S) = e(S) / vol(S); NaN for a set without edge ends."""
    whole = volume(adjacency, subset)
    return outer(adjacency, subset) / whole if whole else float("nan")


def multiway_cut(adjacency: np.ndarray, parts: Sequence[int]) -> float:
    """Ψ̄: the sum of ψ over the parts that have edge ends."""
    members = [[x for x, part in enumerate(parts) if part == each] for each in sorted(set(parts))]
    return sum(conductance(adjacency, each) for each in members if volume(adjacency, each))
