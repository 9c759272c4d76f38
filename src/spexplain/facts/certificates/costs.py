"""What a tree with one centre per leaf can cost at most: the bound behind IMM."""

from dataclasses import dataclass
from textwrap import fill
from typing import Any, NamedTuple

import numpy as np
import scipy

from spexplain.aliases import Array, Floats, Ints, Matrix
from spexplain.metrics.inputs import table_of
from spexplain.tree import LEAF, Tree, about

_ROUNDING = 1e-12  # relative; both sides of the promise are often equal on paper


@dataclass(frozen=True)
class CostBound:
    """The k-medians cost of a tree, and two bounds of it. Distances are ℓ1.

    Parameters
    ----------
    reference_cost : float
        Distances of the rows to their own centres.
    tree_cost : float
        Distances of the rows to the centres of their leaves.
    mistake_bound : float
        `reference_cost` plus, for every node, its mistakes times the largest distance between its
        centres. Never below `tree_cost`.
    height : int
        Tests on the longest path of the tree.
    height_bound : float
        ``(1 + height) * reference_cost``.
    height_bound_applies : bool
        Whether every node keeps IMM's promise: its mistakes times the largest distance between its
        centres are at most the cost of its rows whose centre it holds. If so, `height_bound` is
        never below `tree_cost`. IMM's cuts keep it; other trees may.
    mistakes : tuple of int
        Rows that each node parts from their centres, in birth order; 0 for leaves.
    """

    reference_cost: float
    tree_cost: float
    mistake_bound: float
    height: int
    height_bound: float
    height_bound_applies: bool
    mistakes: tuple[int, ...]

    @property
    def price(self) -> float:
        """Own-centre price of explainability: 1 if both costs are zero, infinite if only the reference's is."""
        if self.reference_cost == 0:
            return 1.0 if self.tree_cost == 0 else float("inf")
        return self.tree_cost / self.reference_cost

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, ready for JSON."""
        return {
            "reference_cost": self.reference_cost,
            "tree_cost": self.tree_cost,
            "price": self.price if np.isfinite(self.price) else None,
            "mistake_bound": self.mistake_bound,
            "height": self.height,
            "height_bound": self.height_bound,
            "height_bound_applies": self.height_bound_applies,
            "mistakes": list(self.mistakes),
        }

    def to_text(self) -> str:
        """Return the bounds in plain words, at most 80 columns wide."""
        total = sum(self.mistakes)
        lines = [
            f"Serving every row by the centre of its leaf costs {about(self.tree_cost)} in summed l1 distance; by "
            f"its own centre it would cost {about(self.reference_cost)}. The price is {about(self.price)}.",
            f"The tree separates {total} {'row' if total == 1 else 'rows'} from their centres, which can cost at most "
            f"{about(self.mistake_bound)} in total (proved).",
        ]
        if self.height_bound_applies:
            lines.append(
                f"Every cut made as few mistakes as IMM promises, so 1 + height = {1 + self.height} times the "
                f"reference cost, {about(self.height_bound)}, is a bound too (proved)."
            )
        else:
            lines.append(
                "Some cut made more mistakes than IMM promises, so the bound by the tree's height does not apply."
            )
        return "\n".join(
            fill(line, 80, initial_indent="  ", subsequent_indent="  ") for line in lines
        )


def imm_bound(X: Any, tree: Tree, centers: Any, labels: Array, *, leaves: Any = None) -> CostBound:
    """Bound the k-medians cost of a tree whose leaves hold one centre each.

    A row is parted from its centre at most once, in some node; from then on it is served by another
    centre of that node, at most the node's diameter away from its own. So the mistakes, each times
    the diameter, bound what the tree costs more than the reference, whatever made the tree.

    Parameters
    ----------
    X : array or data frame of shape (n_samples, n_features)
        The rows.
    tree : Tree
        A tree that parts all centres; centres that coincide may share a leaf.
    centers : array of shape (n_centers, n_features)
        The reference's centres.
    labels : array of int, shape (n_samples,)
        Number of every row's centre; rows labelled -1 do not count.
    leaves : array of int, shape (n_samples + n_centers,), optional
        Leaf of every row, then of every centre; by default all of them walk down the tree. A threshold
        may lie on either side of a centre between the same two rows: the search knows which it meant.

    Returns
    -------
    bound : CostBound

    Examples
    --------
    >>> from spexplain import Tree
    >>> from spexplain.facts.certificates import imm_bound
    >>> X, centers = [[0.0], [1.0], [4.0], [6.0]], [[1.0], [6.0]]
    >>> tree = Tree.root(n_features=1, size=4).split(0, feature=0, threshold=2.5)
    >>> bound = imm_bound(X, tree, centers, labels=[0, 0, 0, 1])
    >>> bound.reference_cost, bound.tree_cost, bound.mistake_bound
    (4.0, 3.0, 9.0)
    """
    table, points, own = _checked(X, tree, centers, labels)
    rows, homes = leaves_of(tree, table, points, leaves)
    clustered = own >= 0
    walk = _walk(table, tree, points, own, rows, homes)
    leaf_center = lone_centers(tree, points, homes)
    alone = leaf_center[rows] >= 0
    if not np.all(alone | ~clustered):
        leaf = int(rows[clustered & ~alone].min())
        raise ValueError(
            f"tree must have one centre in every leaf that holds rows, but leaf {leaf} has none or several; the bound "
            "is about trees such as those of IMM."
        )
    reference_cost = _distance(table, points, own)
    tree_cost = _distance(table, points, np.where(clustered, leaf_center[rows], -1))
    spread = walk.mistakes * walk.diameters
    return CostBound(
        reference_cost=reference_cost,
        tree_cost=tree_cost,
        mistake_bound=reference_cost + float(spread.sum()),
        height=tree.depth,
        height_bound=(1 + tree.depth) * reference_cost,
        height_bound_applies=bool(np.all(spread <= walk.costs * (1 + _ROUNDING))),
        mistakes=tuple(walk.mistakes.tolist()),
    )


class _Walk(NamedTuple):
    """Per node: mistakes, diameter of its centres, cost of its rows whose centre it holds."""

    mistakes: Ints
    diameters: Floats
    costs: Floats


def _walk(table: Matrix, tree: Tree, points: Floats, own: Ints, leaves: Ints, homes: Ints) -> _Walk:
    """Send rows and centres down the tree together, to the leaves that they end in."""
    walk = _Walk(
        np.zeros(tree.n_nodes, dtype=np.int64), np.zeros(tree.n_nodes), np.zeros(tree.n_nodes)
    )
    every_leaf = np.arange(tree.n_leaves)[:, None]
    holds = tree.totals((every_leaf == homes).astype(np.int64)) > 0  # by node and centre
    last = np.zeros(tree.n_nodes, dtype=np.int64)  # leaf id below a node, the rightmost
    last[tree.leaves] = np.arange(tree.n_leaves)
    for node in np.flatnonzero(tree.feature != LEAF)[::-1]:  # children are younger
        last[node] = last[tree.right[node]]
    rows = {0: np.flatnonzero(own >= 0)}
    for node in np.flatnonzero(tree.feature != LEAF).tolist():
        members, inside = rows.pop(node), np.flatnonzero(holds[node])
        left, right = int(tree.left[node]), int(tree.right[node])
        goes_left = leaves[members] <= last[left]
        is_held = holds[node, own[members]]
        stays = np.where(goes_left, holds[left, own[members]], holds[right, own[members]])
        walk.mistakes[node] = np.count_nonzero(is_held & ~stays)
        walk.diameters[node] = (
            scipy.spatial.distance.pdist(points[inside], "cityblock").max()
            if len(inside) > 1
            else 0.0
        )
        walk.costs[node] = _distance(table[members[is_held]], points, own[members[is_held]])
        rows[left], rows[right] = members[goes_left], members[~goes_left]
    return walk


def leaves_of(tree: Tree, table: Matrix, extra: Matrix, leaves: Any) -> tuple[Ints, Ints]:
    """Return the leaves of rows and of extra vertices, as given or by walking down the tree."""
    if leaves is None:
        return tree.apply(table), tree.apply(extra)
    known = np.asarray(leaves)
    n_vertices = len(table) + len(extra)
    if known.shape != (n_vertices,) or known.dtype.kind not in "iu":
        raise ValueError(
            f"leaves must hold a leaf id for each of the {n_vertices} rows and centres, got shape {known.shape}."
        )
    return known[: len(table)], known[len(table) :]


def lone_centers(tree: Tree, points: Floats, homes: Ints) -> Ints:
    """Return the centre of every leaf, the lowest of those that coincide; -1 if none or several are there."""
    found = np.full(tree.n_leaves, -1, dtype=np.int64)
    for leaf in np.unique(homes).tolist():
        inside = np.flatnonzero(homes == leaf)
        if np.all(points[inside] == points[inside[0]]):
            found[leaf] = inside[0]
    return found


def _distance(table: Matrix, points: Floats, numbers: Ints) -> float:
    """Return the summed l1 distance of the rows to the centres of these numbers; -1 counts nothing."""
    counted = numbers >= 0
    gaps = table[counted].astype(np.float64) - points[numbers[counted]]
    return float(np.abs(gaps).sum())


def _checked(X: Any, tree: Tree, centers: Any, labels: Array) -> tuple[Matrix, Floats, Ints]:
    table = table_of(X)
    points = np.asarray(centers, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != table.shape[1] or not np.isfinite(points).all():
        raise ValueError(
            f"centers must be finite and have the {table.shape[1]} columns of X, got shape {points.shape}."
        )
    if tree.n_features != table.shape[1]:
        raise ValueError(f"X has {table.shape[1]} columns, but the tree tests {tree.n_features}.")
    own = np.asarray(labels)
    if own.shape != (len(table),) or own.dtype.kind not in "iu":
        raise ValueError("labels must hold the number of its centre for every row of X.")
    own = own.astype(np.int64)
    if own.min() < -1 or own.max() >= len(points):
        raise ValueError(
            f"labels must lie between 0 and {len(points) - 1}, the numbers of centers, or be -1."
        )
    return table, points, own
