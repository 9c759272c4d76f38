"""The trees of 1, 2, ... leaves that one tree holds, and how good each of them is."""

from collections.abc import Iterator
from math import inf, nan
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spexplain.aliases import Floats, Ints
from spexplain.metrics.agreement import RandIndex, whole_counts
from spexplain.metrics.shape import count_thresholds
from spexplain.tree import Tree
from spexplain.tree.boxes import node_boxes

if TYPE_CHECKING:
    from spexplain.explanation import Explanation


class PathStep(NamedTuple):
    """One tree of the path. What compares with a reference is NaN where there is none."""

    n_leaves: int
    objective: float
    agreement: float  # adjusted Rand index of leaves and reference
    fidelity: float  # share of clustered rows that carry their leaf's commonest label
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
    steps = []
    for leaves in _leaves_of_trees(tree):
        agreement = fidelity = price = nan
        if index is not None:
            counts = node_counts[leaves]
            agreement = float(index.of_table(whole[leaves]))
            hits = counts.max(axis=1)
            if codes is not None:
                own = codes[leaves]
                hits = np.where(own < 0, 0, counts[np.arange(len(leaves)), own])
            fidelity = float(hits.sum() / counts.sum())
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


def _leaves_of_trees(tree: Tree) -> Iterator[Ints]:
    """Yield the nodes that are leaves, from left to right, of the trees of 1, 2, ... leaves."""
    leaves = [0]
    yield np.array(leaves)
    for left in range(1, tree.n_nodes, 2):  # every split adds two nodes
        place = leaves.index(int(tree.parents[left]))
        leaves[place : place + 1] = [left, left + 1]
        yield np.array(leaves)


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
