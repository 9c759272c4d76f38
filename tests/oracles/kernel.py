"""Kernel IMM and its expansions by brute force: explicit surrogate features, explicit interval cuts.

Independent of the package. Values of features are floats, their means exact fractions; a mean counts
as below a level only if it is so by more than rounding.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from math import factorial, inf

import numpy as np

MARGIN = Fraction(1, 10**12)
Leaf = tuple[frozenset[int], frozenset[int]]  # rows, centres


def kernel_features(X: np.ndarray, kernel: str, gamma: float) -> list[tuple[int, np.ndarray]]:
    """(column, values at all rows) of K_j(x_j, a), for all columns j and distinct values a of them."""
    features = []
    for j, column in enumerate(X.astype(float).T):
        for anchor in sorted(set(column.tolist())):
            gaps = np.abs(column - anchor)
            features.append((j, np.exp(-gamma * (gaps * gaps if kernel == "rbf" else gaps))))
    return features


def taylor_features(X: np.ndarray, gamma: float) -> list[tuple[int, np.ndarray]]:
    """(column, values at all rows) of the first five Taylor features of each column, shifted to start at 0."""
    features = []
    for j, column in enumerate(X.astype(float).T):
        z = column - column.min()
        for m in range(5):
            scale = np.sqrt((2 * gamma) ** m / factorial(m))
            features.append((j, scale * z**m * np.exp(-gamma * z * z)))
    return features


def kernel_imm(
    X: np.ndarray,
    labels: Sequence[int],
    features: list[tuple[int, np.ndarray]],
    *,
    half_lines: bool = False,
    min_samples: int = 1,
) -> set[Leaf]:
    """Plain IMM on the features until no cut parts centres."""
    k = max(labels) + 1
    centers = [
        [mean([values[x] for x in range(len(labels)) if labels[x] == i]) for i in range(k)]
        for _, values in features
    ]
    leaves, waiting = set(), [(frozenset(range(len(labels))), frozenset(range(k)))]
    while waiting:
        node = waiting.pop()
        found = None
        for fallback in (False, True):
            best = None
            for number, level in _levels(node, labels, features, centers, fallback=fallback):
                column, values = features[number]
                rows = frozenset(x for x in node[0] if values[x] >= level)
                if not _is_admissible(X, node[0], rows, column, half_lines, min_samples, fallback):
                    continue
                inside = frozenset(i for i in node[1] if not is_below(centers[number][i], level))
                parted = sum(
                    labels[x] in node[1] and (x in rows) != (labels[x] in inside) for x in node[0]
                )
                if best is None or parted < best[0]:
                    best = parted, rows, inside
            found = found or best
            if found:
                break
        if found is None:
            leaves.add(node)
        else:
            _, rows, inside = found
            waiting += [(rows, inside), (node[0] - rows, node[1] - inside)]
    return leaves


def mean(values: Sequence[float]) -> Fraction:
    """The exact mean of floats."""
    return sum(map(Fraction, values), Fraction(0)) / len(values)


def is_below(center: Fraction, level: float) -> bool:
    """Whether a centre is below a level by more than rounding."""
    return center < Fraction(level) * (1 - MARGIN)


def level_between(low: float, high: float) -> float:
    """The midpoint, or the upper value if rounding leaves no room."""
    middle = low + (high - low) / 2
    return middle if middle > low else high


def _levels(
    node: Leaf,
    labels: Sequence[int],
    features: list[tuple[int, np.ndarray]],
    centers: list[list[Fraction]],
    *,
    fallback: bool,
) -> Iterator[tuple[int, float]]:
    """All candidates (feature, level), in the order in which ties resolve."""
    for number, (_, values) in enumerate(features):
        own = sorted(centers[number][i] for i in node[1])
        if fallback:
            for low, high in pairwise(own):
                if high > low * (1 + 2 * MARGIN):
                    yield number, level_between(float(low), float(high))
            continue
        for low, high in pairwise(sorted({values[x] for x in node[0] if labels[x] in node[1]})):
            level = level_between(low, high)
            if is_below(own[0], level) and own[-1] > Fraction(level) * (1 + MARGIN):
                yield number, level


def _is_admissible(
    X: np.ndarray,
    node: frozenset[int],
    inside: frozenset[int],
    column: int,
    half_lines: bool,
    min_samples: int,
    fallback: bool,
) -> bool:
    if fallback and len(inside) in (0, len(node)):
        return min_samples <= 1
    if min(len(inside), len(node) - len(inside)) < min_samples:
        return fallback and min_samples <= 1
    if not half_lines:
        return True
    xs = [X[x, column] for x in inside]
    all_xs = [X[x, column] for x in node]
    return min(xs) == min(all_xs) or max(xs) == max(all_xs)


# --- Expansions -----------------------------------------------------------------------------------


def interval_cuts(
    X: np.ndarray, rows: Sequence[int], *, only_thresholds: bool = False
) -> Iterator[frozenset[int]]:
    """Rows inside of every interval cut of a leaf, in the order in which ties resolve."""
    for j in range(X.shape[1]):
        values = sorted({X[x, j] for x in rows})
        for low in [-inf] if only_thresholds else [-inf, *values]:
            for high in values[:-1]:
                if low < high:
                    yield frozenset(x for x in rows if low < X[x, j] <= high)


def mistakes(labels: Sequence[int], rows: frozenset[int]) -> int:
    """Rows that are not in the commonest cluster, those of no cluster (-1) aside."""
    own = [labels[x] for x in rows if labels[x] >= 0]
    return len(own) - max((own.count(i) for i in set(own)), default=0)


def service_cost(
    X: np.ndarray, labels: Sequence[int], kernel: str, gamma: float, rows: frozenset[int]
) -> float:
    """min_i [ΣK_xx − (2/N_i) ΣK_xy + |U| (1/N_i²) ΣK_yz], term by term; rows of no cluster cost nothing."""
    k = max(labels) + 1
    gaps = np.abs(X[:, None, :] - X[None, :, :]).astype(float)
    K = np.exp(-gamma * (gaps**2 if kernel == "rbf" else gaps).sum(axis=2))
    own = [x for x in rows if labels[x] >= 0]
    totals = []
    for i in range(k):
        members = [y for y in range(len(labels)) if labels[y] == i]
        near = sum(K[x, y] for x in own for y in members) / len(members)
        norm = sum(K[y, z] for y in members for z in members) / len(members) ** 2
        totals.append(sum(K[x, x] for x in own) - 2 * near + len(own) * norm)
    return min(totals)
