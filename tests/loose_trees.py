"""Tables with ties, and random trees on them, for refinement to start from."""

import numpy as np

from oracles import refine as oracle


def table(seed, *, n_rows=30, n_features=3, n_values=6, n_clusters=3, noise=True, dtype=np.float64):
    """Return a table with ties and duplicates, and labels with noise that follow it loosely."""
    random = np.random.default_rng(seed)
    X = random.integers(0, n_values, (n_rows, n_features)).astype(dtype)
    X[: n_rows // 5] = X[n_rows // 5 : 2 * (n_rows // 5)]
    labels = (X[:, 0] + random.integers(0, 3, n_rows)).astype(np.int64) % n_clusters
    labels[:n_clusters] = np.arange(n_clusters)
    if noise:
        labels[random.random(n_rows) < 0.1] = -1
        labels[-n_clusters:] = np.arange(n_clusters)
    return X, labels


def random_tree(X, seed, n_leaves, min_samples_leaf=1):
    """Return a tree of random cuts between values, each leaf with enough rows."""
    from spexplain.tree import Tree

    random = np.random.default_rng(seed)
    tree = Tree.root(n_features=X.shape[1], size=len(X))
    for _ in range(200):
        if tree.n_leaves == n_leaves:
            break
        node = int(random.choice(tree.leaves))
        rows = oracle.rows_of(tree, X, node)
        cuts = list(oracle.cuts_of(X, rows))
        if cuts:
            feature, threshold = cuts[random.integers(len(cuts))]
            n_left = np.count_nonzero(X[rows, feature] <= threshold)
            if min(n_left, len(rows) - n_left) >= min_samples_leaf:
                tree = tree.split(node, feature=feature, threshold=threshold)
    return tree


def same_cuts(one, other):
    names = ("feature", "threshold", "lower", "left", "right")
    return all(np.array_equal(getattr(one, n), getattr(other, n), equal_nan=True) for n in names)
