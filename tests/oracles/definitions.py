"""Slow definitions straight from the mathematics, independent of the package: what every engine must equal.

Graphs and sums are those of `oracle_graphs`; a set of vertices is a list of numbers.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from oracles.graphs import (
    clique_adjacency,
    conductance,
    independent_set_adjacency,
    inner,
    outer,
    volume,
    weight_between,
)

# --- Methods: how a cut of a node scores, and which leaf is split next ----------------------------


@dataclass
class Method:
    """Formulas on lists of vertices; lower is better, None marks an inadmissible cut."""

    score: Callable[[list[int], list[int]], float | None]
    priority: Callable[[float, list[int]], float]  # (score of the best cut, node)
    value: Callable[[list[int]], float]
    is_flat: Callable[[list[int]], bool]  # whether all cuts of the node tie on paper


def never(node: list[int]) -> bool:
    """No node is flat."""
    return False


def is_pure(labels: Sequence[int], node: list[int]) -> bool:
    """Whether the node holds samples of at most one cluster, noise aside."""
    return len({labels[x] for x in node} - {-1}) <= 1


def spex(adjacency: np.ndarray, is_flat: Callable[[list[int]], bool] = never) -> Method:
    """SpEx: ψ(left) + ψ(right), leaves by the increase over ψ(node)."""

    def score(left: list[int], right: list[int]) -> float | None:
        volumes = volume(adjacency, left), volume(adjacency, right)
        if 0 in volumes:
            return None
        return outer(adjacency, left) / volumes[0] + outer(adjacency, right) / volumes[1]

    def value(node: list[int]) -> float:
        return conductance(adjacency, node) if volume(adjacency, node) else 0.0

    return Method(score, lambda best, node: best - value(node), value, is_flat)


def spex_clique(labels: Sequence[int], weights: str = "unit") -> Method:
    """SpEx on the cliques of a clustering."""
    return spex(clique_adjacency(labels, weights), lambda node: is_pure(labels, node))


def gini(counts: Sequence[int]) -> float:
    """1 − Σ p², the chance that two draws differ; 0 for no samples."""
    size = sum(counts)
    return 1 - sum(count**2 for count in counts) / size**2 if size else 0.0


def gini_cart(labels: Sequence[int], leaf_weight: str = "size") -> Method:
    """CART: the mean Gini impurity of both sides, weighted by their samples; noise does not count."""
    n_clustered = sum(label != -1 for label in labels)

    def counts(node: list[int]) -> list[int]:
        return list(Counter(labels[x] for x in node if labels[x] != -1).values())

    def impurity(node: list[int]) -> float:  # size × Gini, as one division of integers
        inside = counts(node)
        return (sum(inside) ** 2 - sum(count**2 for count in inside)) / sum(inside)

    def score(left: list[int], right: list[int]) -> float | None:
        if not counts(left) or not counts(right):
            return None
        return (impurity(left) + impurity(right)) / sum(counts(left + right))

    def priority(best: float, node: list[int]) -> float:
        drop = best - gini(counts(node))
        return drop * sum(counts(node)) if leaf_weight == "size" else drop

    def value(node: list[int]) -> float:
        return gini(counts(node)) * sum(counts(node)) / n_clustered

    return Method(score, priority, value, lambda node: is_pure(labels, node))


def volume_cart(labels: Sequence[int], leaf_weight: str = "size") -> Method:
    """CART's volume form: 2 − Ψ of the independent-set graph of the node alone."""

    def score(left: list[int], right: list[int]) -> float | None:
        node = left + right
        adjacency = independent_set_adjacency([labels[x] for x in node])
        sides = list(range(len(left))), list(range(len(left), len(node)))
        volumes = [volume(adjacency, side) for side in sides]
        if 0 in volumes:
            return None
        return sum(inner(adjacency, side) / vol for side, vol in zip(sides, volumes, strict=True))

    def priority(best: float, node: list[int]) -> float:
        size = sum(labels[x] != -1 for x in node)
        return (best - 1) * size if leaf_weight == "size" else best - 1

    return Method(score, priority, gini_cart(labels).value, never)


def fewest_mistakes(adjacency: np.ndarray, n_samples: int) -> Method:
    """IMM: the edges of the star graph that a cut parts, among cuts that part some centres."""

    def score(left: list[int], right: list[int]) -> float | None:
        if max(left) < n_samples or max(right) < n_samples:
            return None
        return weight_between(adjacency, left, right)

    return Method(score, lambda best, node: best, lambda node: 0.0, never)


# --- Best cut and best-first growth ---------------------------------------------------------------


@dataclass
class Cut:
    """Rows with x[feature] <= threshold go left."""

    feature: int
    threshold: float
    score: float
    left: list[int]
    right: list[int]


def all_cuts(
    X: np.ndarray, node: list[int], method: Method, *, n_samples: int, min_samples: int = 1
) -> list[Cut]:
    """Every admissible cut, by feature, then threshold."""
    cuts = []
    for feature in range(X.shape[1]):
        values = sorted({float(X[x, feature]) for x in node})
        for low, high in pairwise(values):
            left = [x for x in node if X[x, feature] <= low]
            right = [x for x in node if X[x, feature] >= high]
            n_left, n_right = (sum(x < n_samples for x in side) for side in (left, right))
            if min(n_left, n_right) < min_samples:
                continue
            score = method.score(left, right)
            if score is not None:
                cuts.append(Cut(feature, low + (high - low) / 2, score, left, right))
    return cuts


def best_cut(cuts: list[Cut], *, is_flat: bool = False) -> Cut | None:
    """The first cut of the lowest score; the very first one where all tie on paper."""
    best = None
    for cut in cuts:
        if best is None or (cut.score < best.score and not is_flat):
            best = cut
    return best


@dataclass
class Leaf:
    """A node that is a leaf so far."""

    number: int
    members: list[int]
    depth: int
    cuts: list[Cut]
    best: Cut | None
    priority: float


@dataclass
class Split:
    """A leaf that became a test, and the choice there was."""

    leaf: Leaf
    cut: Cut
    rivals: list[Leaf]  # all leaves that could be split


def grow(
    X: np.ndarray,
    method: Method,
    *,
    max_leaves: int,
    n_samples: int | None = None,
    min_samples_leaf: int = 1,
    max_depth: int | None = None,
    choose: Callable[[int, list[Leaf]], tuple[int, Cut]] | None = None,
) -> list[Split]:
    """Split the leaf of the lowest priority, the older of equals, until there are enough leaves.

    `choose` (number of the split, leaves) -> (number of the leaf, cut) overrides the choice, so
    that a given tree can be followed and judged.
    """
    n_samples = len(X) if n_samples is None else n_samples

    def opened(number: int, members: list[int], depth: int) -> Leaf:
        cuts = all_cuts(X, members, method, n_samples=n_samples, min_samples=min_samples_leaf)
        if not cuts and n_samples < len(X) and min_samples_leaf == 1:
            # Centres without samples between them are parted all the same.
            cuts = all_cuts(X, members, method, n_samples=n_samples, min_samples=0)
        if max_depth is not None and depth >= max_depth:
            cuts = []
        best = best_cut(cuts, is_flat=method.is_flat(members))
        turn = float("inf") if best is None else method.priority(best.score, members)
        return Leaf(number, members, depth, cuts, best, turn)

    leaves, splits = [opened(0, list(range(len(X))), 0)], []
    while len(leaves) < max_leaves and any(leaf.best for leaf in leaves):
        rivals = sorted((leaf for leaf in leaves if leaf.best), key=lambda leaf: leaf.number)
        if choose is None:
            lowest = min(leaf.priority for leaf in rivals)
            leaf = next(leaf for leaf in rivals if leaf.priority <= lowest + 1e-12)
            cut = leaf.best
        else:
            number, cut = choose(len(splits), rivals)
            leaf = next(leaf for leaf in rivals if leaf.number == number)
        young = 2 * len(splits) + 1
        splits.append(Split(leaf, cut, rivals))
        leaves.remove(leaf)
        leaves.append(opened(young, cut.left, leaf.depth + 1))
        leaves.append(opened(young + 1, cut.right, leaf.depth + 1))
    return splits


def leaf_ids(splits: list[Split], X: np.ndarray) -> list[int]:
    """The leaf of every row by walking down; leaves count from left to right."""
    tests = {split.leaf.number: (number, split.cut) for number, split in enumerate(splits)}

    def leaves_below(node: int) -> list[int]:
        if node not in tests:
            return [node]
        young = 2 * tests[node][0] + 1
        return leaves_below(young) + leaves_below(young + 1)

    def walk(row: np.ndarray) -> int:
        node = 0
        while node in tests:
            number, cut = tests[node]
            node = 2 * number + (1 if float(row[cut.feature]) <= cut.threshold else 2)
        return node

    order = leaves_below(0)
    return [order.index(walk(row)) for row in X]
