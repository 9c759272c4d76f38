"""Refinement by brute force: every cut of a node, the whole tree scored from its definition."""

from fractions import Fraction
from itertools import pairwise
from math import comb, nan

import numpy as np

from spexplain.tree import LEAF, Tree


def rand_index(leaves, labels):
    """Adjusted Rand index of two labelings as a fraction; rows with label -1 do not count."""
    known = [(int(a), int(b)) for a, b in zip(leaves, labels, strict=True) if b >= 0]
    n_pairs = comb(len(known), 2)
    cells, rows, columns = {}, {}, {}
    for a, b in known:
        cells[a, b] = cells.get((a, b), 0) + 1
        rows[a] = rows.get(a, 0) + 1
        columns[b] = columns.get(b, 0) + 1
    same, both, together = (
        sum(comb(count, 2) for count in each.values()) for each in (cells, rows, columns)
    )
    expected = Fraction(both * together, n_pairs) if n_pairs else Fraction(0)
    most = Fraction(both + together, 2)
    return Fraction(1) if most == expected else (same - expected) / (most - expected)


def adjacency_of_cliques(labels):
    labels = np.asarray(labels)
    joined = (labels[:, None] == labels[None, :]) & (labels[:, None] >= 0)
    return joined.astype(float) - np.diag(np.diag(joined).astype(float))


def multiway_cut(adjacency, leaves):
    """Sum of the conductances of the leaves; NaN if a leaf has no edge ends."""
    total = 0.0
    for leaf in np.unique(leaves):
        inside = leaves == leaf
        volume = adjacency[inside].sum()
        if volume == 0:
            return nan
        total += (volume - adjacency[np.ix_(inside, inside)].sum()) / volume
    return total


def with_cut(tree, node, feature, threshold):
    arrays = {
        name: getattr(tree, name).copy()
        for name in ("feature", "threshold", "lower", "left", "right", "size", "score", "value")
    }
    arrays["feature"][node], arrays["threshold"][node] = feature, threshold
    arrays["lower"][node] = -np.inf
    return Tree(n_features=tree.n_features, **arrays)


def rows_of(tree, X, node):
    """Rows that reach a node."""
    path = tree.decision_path(X).toarray()
    return np.flatnonzero(path[:, node])


def cuts_of(X, rows):
    """All cuts of some rows in the order of features and thresholds."""
    for feature in range(X.shape[1]):
        for low, high in pairwise(np.unique(X[rows, feature]).tolist()):
            middle = low + (high - low) / 2
            yield feature, middle if low <= middle < high else low


def best_visit(tree, X, node, score, min_samples_leaf):
    """Return the tree with the best cut in a node: strictly better by `score` (higher wins), or as it was."""
    sizes = np.bincount(tree.apply(X), minlength=tree.n_leaves)
    need = np.minimum(sizes, min_samples_leaf)
    best, best_score = tree, score(tree)
    for feature, threshold in cuts_of(X, rows_of(tree, X, node)):
        other = with_cut(tree, node, feature, threshold)
        enough = np.bincount(other.apply(X), minlength=tree.n_leaves) >= need
        if enough.all():
            other_score = score(other)
            if other_score > best_score:
                best, best_score = other, other_score
    return best


def preorder(tree):
    waiting = [0]
    while waiting:
        node = waiting.pop()
        if tree.feature[node] != LEAF:
            yield node
            waiting += [int(tree.right[node]), int(tree.left[node])]


def refined(tree, X, score, passes=None, min_samples_leaf=1):
    """Return the tree after visits in preorder, until a pass changes nothing."""
    n_passes = 0
    while passes is None or n_passes < passes:
        before = tree
        for node in preorder(tree):
            tree = best_visit(tree, X, node, score, min_samples_leaf)
        n_passes += 1
        if tree is before:
            break
    return tree


def grown_by_agreement(X, labels, n_leaves, min_samples_leaf=1):
    """Grow a tree: each step the leaf and cut with the highest Rand index; ties to the older leaf."""
    tree = Tree.root(n_features=X.shape[1], size=len(X))
    while tree.n_leaves < n_leaves:
        found = []
        for node in np.sort(tree.leaves).tolist():
            rows = rows_of(tree, X, node)
            for feature, threshold in cuts_of(X, rows):
                other = tree.split(node, feature=feature, threshold=threshold)
                n_left = np.count_nonzero(X[rows, feature] <= threshold)
                if min(n_left, len(rows) - n_left) >= min_samples_leaf:
                    found.append((rand_index(other.apply(X), labels), other))
        if not found:
            break
        tree = max(found, key=lambda each: each[0])[1]
    return tree
