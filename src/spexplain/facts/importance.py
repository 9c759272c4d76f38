"""How much each test, and each feature, contributes to separating the clusters."""

import numpy as np

from spexplain.aliases import Array, Floats, Ints
from spexplain.tree import LEAF, Tree


def feature_importances(tree: Tree, node_counts: Ints | None = None) -> Floats:
    """Return the share of every feature in separating the clusters.

    A test earns the drop of the Gini impurity of its node, weighted by the node's rows. (The Gini
    impurity is how often two random rows are of different clusters.) This is never negative, whatever
    objective grew the tree (conductances, for instance, only rise with every split), and for CART
    it is the drop of the objective itself. Clusters are those of the reference; without a
    reference, the leaves themselves.

    Parameters
    ----------
    tree : Tree
        The tree; its sizes count where there is no reference.
    node_counts : array of int, shape (n_nodes, k), optional
        Rows of each reference cluster in every node.

    Returns
    -------
    importances : array of float, shape (n_features,)
        Non-negative with sum 1; all zero if no test lowers the impurity.

    Examples
    --------
    >>> from spexplain.facts import feature_importances
    >>> from spexplain.tree import Tree
    >>> tree = Tree.root(n_features=3, size=8).split(0, feature=2, threshold=0.0, sizes=(4, 4))
    >>> feature_importances(tree.split(1, feature=0, threshold=0.0, sizes=(2, 2)))
    array([0.4, 0. , 0.6])
    """
    inner = tree.feature != LEAF
    earned = node_importances(tree, node_counts)[inner]
    importances = np.zeros(tree.n_features)
    np.add.at(importances, tree.feature[inner], earned)
    return importances


def node_importances(
    tree: Tree, node_counts: Ints | None = None, leaf_weights: Array | None = None
) -> Floats:
    """Return what the test of every node earns, with sum 1 or all zero; see `feature_importances`.

    Without a reference, leaves may have weights other than their numbers of rows.
    """
    if node_counts is None or not node_counts.shape[1]:  # every leaf is a cluster
        amounts = tree.size[tree.leaves] if leaf_weights is None else leaf_weights
        leaf_sizes = amounts.astype(np.float64)
        sizes, squares = tree.totals(np.column_stack([leaf_sizes, leaf_sizes**2])).T
    else:
        counts = node_counts.astype(np.float64)
        sizes, squares = counts.sum(axis=1), np.sum(counts**2, axis=1)
    impurity = sizes - squares / np.maximum(sizes, 1)
    inner = np.flatnonzero(tree.feature != LEAF)
    drops = np.zeros(tree.n_nodes)
    drops[inner] = impurity[inner] - impurity[tree.left[inner]] - impurity[tree.right[inner]]
    # Rounding may leave a trace of either sign where nothing is separated.
    drops[drops <= 1e-12 * sizes[0]] = 0.0
    total = drops.sum()
    shares: Floats = drops / total if total else drops
    return shares
