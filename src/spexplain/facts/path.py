"""The trees of 1, 2, ... leaves that one tree holds, and how good each of them is."""

from collections.abc import Iterator
from math import inf, nan
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spexplain.aliases import Array, Floats, Ints
from spexplain.metrics.agreement import RandIndex, whole_counts
from spexplain.metrics.shape import count_thresholds
from spexplain.tree import Tree
from spexplain.tree.boxes import node_boxes

if TYPE_CHECKING:
    from spexplain.explanation import Explanation

from collections.abc import Sequence

# n_leaves="auto" grows this many leaves per cluster; a leaf must explain this share of the rows anew.
AUTO_LEAVES_PER_CLUSTER = 3
AUTO_GAIN = 0.01
_MANY_LEAVES = 1_000  # above, the leaves of every tree are not looked at one by one


class PathStep(NamedTuple):
    """One tree of the path. What compares with a reference is NaN where there is none.

    Attributes
    ----------
    n_leaves, depth : int
        The size of the tree.
    objective : float
        What the method minimises.
    agreement : float
        Adjusted Rand index of leaves and reference.
    fidelity : float
        Share of the clustered rows whose leaf stands for their own cluster.
    price : float
        Cost ratio: the k-means cost, each leaf served by one reference centre, over the reference's.
    explanation_size : float
        Mean number of conditions that explain a row.
    """

    n_leaves: int
    objective: float
    agreement: float  # adjusted Rand index of leaves and reference
    fidelity: float  # share of clustered rows whose leaf stands for their cluster
    price: float  # k-means cost, each leaf served by one reference centre, over the reference's
    depth: int
    explanation_size: float  # mean number of conditions that explain a row


def path_of(explanation: "Explanation", codes: Ints | None = None) -> list[PathStep]:
    """Return the figures of the trees of 1, 2, ... leaves: growth nests, so one tree holds them all.

    Parameters
    ----------
    explanation : Explanation
        A tree and what is known about it.
    codes : array of int, shape (n_nodes,), optional
        The cluster that each node stands for, -1 for none, where rows other than those of training are
        counted; by default its commonest.

    Returns
    -------
    steps : list of PathStep
        The last one is the tree itself. Figures that need what is not known are NaN.
    """
    tree, sizes = explanation.tree, explanation.node_totals.astype(np.float64)
    n_conditions = np.array([count_thresholds(box) for box in node_boxes(tree)])
    depths = np.maximum.accumulate(tree.node_depths)
    node_counts, node_costs = explanation.node_counts, explanation.node_costs
    index = None
    if node_counts.any():
        whole = tree.totals(whole_counts(node_counts[tree.leaves]))
        index = RandIndex.of_sizes(whole[0])
    own = explanation.node_codes if codes is None else codes
    if index is None and tree.n_leaves > _MANY_LEAVES:
        return _steps_of_sums(tree, sizes, n_conditions, depths)
    steps = []
    for leaves in _leaves_of_trees(tree):
        agreement = fidelity = price = nan
        if index is not None:
            counts = node_counts[leaves]
            agreement = float(index.of_table(whole[leaves]))
            fidelity = float(right_rows(counts, own, leaves).sum() / counts.sum())
        if index is not None and node_costs is not None and explanation.cluster_costs is not None:
            price = price_of_costs(node_costs[leaves], explanation.cluster_costs)
        step = PathStep(
            n_leaves=len(leaves),
            objective=float(tree.value[leaves].sum()),
            agreement=agreement,
            fidelity=fidelity,
            price=price,
            depth=int(depths[2 * len(leaves) - 2]),
            explanation_size=float(sizes[leaves] @ n_conditions[leaves] / sizes[0])
            if sizes[0]
            else nan,
        )
        steps.append(step)
    return steps


def _steps_of_sums(tree: Tree, sizes: Floats, n_conditions: Ints, depths: Ints) -> list[PathStep]:
    """Return the figures that are sums over leaves, each from the one before: for trees of very many leaves."""
    splits = np.arange(1, tree.n_nodes, 2)
    parents = tree.parents[splits]

    def summed(amounts: Floats) -> Floats:
        added = amounts[splits] + amounts[splits + 1] - amounts[parents]
        return np.cumsum(np.concatenate([amounts[:1], added]))

    objectives = summed(tree.value)
    conditions = summed(sizes * n_conditions) / (sizes[0] or nan)
    return [
        PathStep(place + 1, float(value), nan, nan, nan, int(depths[2 * place]), float(mean))
        for place, (value, mean) in enumerate(zip(objectives, conditions, strict=True))
    ]


def right_rows(counts: Array, node_codes: Ints | None, leaves: Ints) -> Array:
    """Return the rows of each leaf that carry the label it stands for, by default its commonest."""
    if node_codes is None:
        return np.asarray(counts.max(axis=1, initial=0))
    codes = node_codes[leaves]
    own = counts[np.arange(len(leaves)), np.maximum(codes, 0)]
    return np.where(codes < 0, 0, own)


def mean_recall(counts: Array, node_codes: Ints | None, leaves: Ints) -> float:
    """Return the mean over the clusters of the share of their rows whose leaf stands for them.

    Parameters
    ----------
    counts : array of shape (n_leaves, k)
        Rows of the leaves by cluster.
    node_codes : array of int, optional
        Cluster that each node stands for; by default its commonest.
    leaves : array of int, shape (n_leaves,)
        The nodes that are leaves.

    Returns
    -------
    recall : float
        NaN without any rows.
    """
    totals = counts.sum(axis=0)
    if not totals.any():
        return nan
    codes = counts.argmax(axis=1) if node_codes is None else node_codes[leaves]
    right = np.zeros(len(totals))
    np.add.at(right, np.maximum(codes, 0), right_rows(counts, node_codes, leaves))
    return float((right[totals > 0] / totals[totals > 0]).mean())


def _leaves_of_trees(tree: Tree) -> Iterator[Ints]:
    """Yield the nodes that are leaves, from left to right, of the trees of 1, 2, ... leaves."""
    leaves = np.zeros(1, dtype=np.int64)
    yield leaves
    for left in range(1, tree.n_nodes, 2):  # every split adds two nodes
        place = int(np.argmax(leaves == tree.parents[left]))
        leaves = np.concatenate([leaves[:place], [left, left + 1], leaves[place + 1 :]])
        yield leaves


def price_of_costs(leaf_costs: Floats, cluster_costs: Floats) -> float:
    """Return the price if every leaf is served as a whole by its cheapest centre.

    Parameters
    ----------
    leaf_costs : array of float, shape (n_leaves, k)
        Cost of the rows of every leaf if each of the k centres served them.
    cluster_costs : array of float, shape (k, k)
        The same for the clusters of the reference.

    Returns
    -------
    price : float
        1 if neither costs anything, infinity if only the reference does not.
    """
    above, below = float(leaf_costs.min(axis=1).sum()), float(cluster_costs.min(axis=1).sum())
    if below == 0:
        return 1.0 if above == 0 else inf
    return above / below


__all__ = [
    "AUTO_GAIN",
    "AUTO_LEAVES_PER_CLUSTER",
    "PathStep",
    "path_of",
    "plateau",
    "plateau_at",
]


def plateau(steps: list[PathStep]) -> int:
    """Return the number of leaves that ``n_leaves="auto"`` takes.

    With a reference: the smallest tree to which no number of further leaves adds `AUTO_GAIN` of
    fidelity per leaf. Without: the tree of at least two leaves at the sharpest bend of the objective,
    after which a further leaf suddenly costs more than the last one did.
    """
    if np.isnan(steps[-1].fidelity):
        bends = np.diff([step.objective for step in steps], n=2)
        return 2 + int(np.argmax(bends)) if len(bends) else steps[-1].n_leaves
    sizes = [step.n_leaves for step in steps]
    return sizes[plateau_at(sizes, [step.fidelity for step in steps])]


def plateau_at(sizes: Sequence[int], values: Sequence[float]) -> int:
    """Return the place of the first size to which no number of further leaves adds `AUTO_GAIN` per leaf.

    Examples
    --------
    >>> from spexplain.facts.path import plateau_at
    >>> plateau_at([2, 3, 4, 6], [0.5, 0.9, 0.905, 0.91])
    1
    """
    leaves, reached = np.asarray(sizes), np.asarray(values)
    for place in range(len(sizes)):
        more = leaves[place + 1 :] - leaves[place]
        if np.all(reached[place + 1 :] - reached[place] < AUTO_GAIN * more):
            return place
    raise AssertionError("nothing is larger than the last")
