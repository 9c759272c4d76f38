"""What a tree explains, and its path: growth nests, so one tree holds those of all smaller numbers of leaves."""

from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np

from spexplain.aliases import Floats, Ints, Matrix
from spexplain.kernels.readiness import compiled_pays
from spexplain.memory import check_memory
from spexplain.metrics.agreement import RandIndex
from spexplain.metrics.shape import weighted_average_explanation_size
from spexplain.table.device import group_sums, is_on_device, leaf_ids, on_host
from spexplain.table.partitions import is_partitioned, lazy_leaf_sums, look_up
from spexplain.table.reference import Reference
from spexplain.tree import LEAF, Tree

# "auto" grows this many leaves per cluster; a leaf must explain this share of the rows anew.
AUTO_LEAVES_PER_CLUSTER = 3
AUTO_GAIN = 0.01


class PathStep(NamedTuple):
    """One tree of the path. What compares with a reference is NaN where there is none."""

    n_leaves: int
    objective: float
    agreement: float  # adjusted Rand index of leaves and reference
    fidelity: float  # share of clustered rows that carry their leaf's commonest label
    price: (
        float  # k-means cost, each leaf served by one reference centre, over that of the reference
    )
    depth: int
    explanation_size: float  # mean number of conditions that explain a row


class Explained(NamedTuple):
    """A tree and what it does to the training rows: enough to describe it and all smaller trees."""

    tree: Tree
    labels: Ints  # leaf id of every row
    reference: Reference | None
    node_counts: Ints  # rows of each cluster in every node, shape (n_nodes, k)
    node_costs: Floats  # their summed squared distances to each centre, shape (n_nodes, k)
    cluster_costs: Floats  # the same for the clusters of the reference, shape (k, k)

    @classmethod
    def of(cls, tree: Tree, X: Matrix, reference: Reference | None) -> Self:
        """Return what a tree does to the rows of X."""
        labels = on_host(leaf_ids(tree, X))
        if reference is None:
            nothing = np.zeros((tree.n_nodes, 0))
            return cls(tree, labels, None, nothing.astype(np.int64), nothing, nothing)
        n_clusters = reference.n_clusters
        if is_partitioned(X):
            counts, sums, squares, origin = lazy_leaf_sums(X, tree, reference.codes, n_clusters)
            of_leaves, of_clusters = _margins(sums, squares, counts.shape)
        else:
            counts = reference.counts(labels, tree.n_leaves)
            origin = on_host(X[0]).astype(np.float64)  # near the rows, squares lose few digits
            with np.errstate(over="ignore", invalid="ignore"):  # huge values have no price
                of_leaves, of_clusters = _margin_sums(
                    X, origin, labels, reference.codes, counts.shape
                )
        if reference.centers is None:
            centers = of_clusters[0] / counts.sum(axis=0)[:, None]
        else:
            centers = reference.centers - origin

        def costs(group: tuple[Floats, Floats], sizes: Ints) -> Floats:
            """Squared distances of every group of rows to every centre."""
            summed, lengths = group
            with np.errstate(over="ignore", invalid="ignore"):
                near = lengths[:, None] - 2 * summed @ centers.T
                far = np.outer(sizes, np.sum(centers**2, axis=1))
                total: Floats = np.maximum(near + far, 0.0)
            return total

        leaf_costs = costs(of_leaves, counts.sum(axis=1))
        cluster_costs = costs(of_clusters, counts.sum(axis=0))
        node_counts = _totals(tree, counts)
        return cls(tree, labels, reference, node_counts, _totals(tree, leaf_costs), cluster_costs)

    @property
    def counts(self) -> Ints:
        """Rows of each cluster in every leaf, shape (n_leaves, k)."""
        return self.node_counts[self.tree.leaves]

    @property
    def costs(self) -> Floats:
        """Summed squared distances of every leaf to each centre, shape (n_leaves, k)."""
        return self.node_costs[self.tree.leaves]

    def truncated(self, n_leaves: int) -> Self:
        """Return the same for the tree as it was with `n_leaves` leaves."""
        smaller = self.tree.truncate(n_leaves)
        n_nodes = smaller.n_nodes
        leaf_id = np.full(n_nodes, LEAF)
        leaf_id[smaller.leaves] = np.arange(smaller.n_leaves)
        home = np.arange(self.tree.n_nodes)
        for node in range(n_nodes, self.tree.n_nodes):  # parents are older
            home[node] = home[self.tree.parents[node]]
        return self._replace(
            tree=smaller,
            labels=look_up(leaf_id[home[self.tree.leaves]], self.labels),
            node_counts=self.node_counts[:n_nodes],
            node_costs=self.node_costs[:n_nodes],
        )


def _totals(tree: Tree, leaf_amounts: Any) -> Any:
    """Return the amounts of all nodes from those of the leaves."""
    totals = np.zeros((tree.n_nodes, *leaf_amounts.shape[1:]), dtype=leaf_amounts.dtype)
    totals[tree.leaves] = leaf_amounts
    for node in range(tree.n_nodes - 1, 0, -1):  # children are younger than their parents
        totals[tree.parents[node]] += totals[node]
    return totals


def check_size(n_leaves: int, n_clusters: int) -> None:
    """Refuse trees whose tables of leaves by clusters do not fit into memory."""
    n_nodes = 2 * n_leaves - 1
    check_memory(
        8 * n_clusters * (3 * n_nodes + 2 * n_clusters),
        f"Tables of {n_leaves:,} leaves by {n_clusters:,} clusters",
        "pass a smaller n_leaves, or labels (y) with fewer different values: so many are rarely clusters",
    )


_Group: TypeAlias = tuple[Floats, Floats]  # sums of rows, and of their squared lengths


def _margins(sums: Floats, squares: Floats, shape: tuple[int, ...]) -> tuple[_Group, _Group]:
    """Return the sums by leaf and by cluster from those by both."""
    sums, squares = sums.reshape(*shape, sums.shape[-1]), squares.reshape(shape)
    by_leaf, by_cluster = ((sums.sum(axis=axis), squares.sum(axis=axis)) for axis in (1, 0))
    return by_leaf, by_cluster


def _margin_sums(
    X: Matrix, origin: Floats, leaves: Ints, codes: Ints, shape: tuple[int, ...]
) -> tuple[_Group, _Group]:
    """Return the sums by leaf and by cluster of the rows that have a cluster.

    In one pass by both, or in two where there are so many pairs that their sums would take memory.
    """
    n_leaves, n_clusters = shape
    if n_leaves * n_clusters * X.shape[1] * 8 < X.nbytes / 8:
        cells = np.where(codes < 0, -1, leaves * n_clusters + codes)
        return _margins(*_group_sums(X, origin, cells, n_leaves * n_clusters), shape)
    clustered = np.where(codes < 0, -1, leaves)
    return (
        _group_sums(X, origin, clustered, n_leaves),
        _group_sums(X, origin, codes, n_clusters),
    )


def _group_sums(X: Matrix, origin: Floats, groups: Ints, n_groups: int) -> tuple[Floats, Floats]:
    """Return the sums of rows and of squared lengths of every group, measured from `origin`."""
    sums, squares = np.zeros((n_groups, X.shape[1])), np.zeros(n_groups)
    if is_on_device(X):
        return group_sums(X, origin, groups, n_groups)
    if not compiled_pays(X.size, "groups.sum_groups"):
        for group in np.unique(groups[groups >= 0]):
            rows = X[groups == group] - origin
            sums[group], squares[group] = rows.sum(axis=0), np.sum(rows * rows)
    else:
        from spexplain.kernels.groups import sum_groups

        sum_groups(X, origin, groups, sums, squares)
    return sums, squares


def path_of(grown: Explained) -> list[PathStep]:
    """Return the description of the trees of 1, 2, ... leaves."""
    reference = grown.reference
    index = None if reference is None else RandIndex.of_sizes(grown.node_counts[0])
    steps = []
    for n_leaves in range(1, grown.tree.n_leaves + 1):
        tree = grown.tree.truncate(n_leaves)
        agreement = fidelity = price = float("nan")
        if index is not None:
            counts = grown.node_counts[tree.leaves]
            agreement = float(index.of_table(counts))
            fidelity = float(counts.max(axis=1).sum() / counts.sum())
            price = _price(grown.node_costs[tree.leaves], grown.cluster_costs)
        objective = float(tree.value[tree.leaves].sum())
        size = weighted_average_explanation_size(tree)
        step = PathStep(n_leaves, objective, agreement, fidelity, price, tree.depth, size)
        steps.append(step)
    return steps


def _price(costs: Floats, reference_costs: Floats) -> float:
    """Return the price when every leaf is served as a whole by its cheapest centre."""
    above, below = float(costs.min(axis=1).sum()), float(reference_costs.min(axis=1).sum())
    if below == 0:
        return 1.0 if above == 0 else float("inf")
    return above / below


def plateau(steps: list[PathStep]) -> int:
    """Return the number of leaves that ``n_leaves="auto"`` takes.

    With a reference: the smallest tree to which no number of further leaves adds `AUTO_GAIN` of
    fidelity per leaf. Without: the tree of at least two leaves at the sharpest bend of the objective,
    after which a further leaf suddenly costs more than the last one did.
    """
    if np.isnan(steps[-1].fidelity):
        bends = np.diff([step.objective for step in steps], n=2)
        return 2 + int(np.argmax(bends)) if len(bends) else steps[-1].n_leaves
    fidelity = np.array([step.fidelity for step in steps])
    for place in range(len(steps) - 1):
        gains = fidelity[place + 1 :] - fidelity[place]
        if np.all(gains < AUTO_GAIN * np.arange(1, len(gains) + 1)):
            return steps[place].n_leaves
    return steps[-1].n_leaves
