"""Kernel k-means by its definition, on the full kernel matrix."""

import numpy as np
from scipy.spatial.distance import cdist


def kernel_matrix(kernel, params, X, Y):
    """Return the kernel matrix straight from its formula."""
    if kernel == "rbf":
        return np.exp(-params["gamma"] * cdist(X, Y, "sqeuclidean"))
    if kernel == "laplacian":
        return np.exp(-params["gamma"] * cdist(X, Y, "cityblock"))
    if kernel == "polynomial":
        return (params["gamma"] * X @ Y.T + params["coef0"]) ** params["degree"]
    return X @ Y.T


def distances(K, members):
    """Return the squared distances (n, k) of all rows to the means of the members."""
    columns = [
        K.diagonal() - 2 * K[:, rows].mean(axis=1) + K[np.ix_(rows, rows)].mean()
        for rows in members
    ]
    return np.column_stack(columns)


def assign(K, members, tolerance=1e-9):
    """Return labels, cost and members after an empty cluster took the furthest row."""
    members = list(members)
    while True:
        table = distances(K, members)
        low = table.min(axis=1)
        labels = (table <= low[:, None] + tolerance).argmax(axis=1)
        empty = [i for i in range(len(members)) if i not in labels]
        order = sorted(range(len(K)), key=lambda r: -round(low[r], 9))
        moves = [(i, r) for i, r in zip(empty, order, strict=False) if low[r] > tolerance]
        if not moves:
            return labels, low.sum(), members
        for i, r in moves:
            members[i] = np.array([r])


def kernel_kmeans(K, labels, n_clusters, max_iter=300):
    """Kernel k-means on the full kernel matrix, from labels, by the definition."""
    members = [np.flatnonzero(labels == i) for i in range(n_clusters)]
    labels, cost, members = assign(K, members)
    for _ in range(max_iter):
        groups = [np.flatnonzero(labels == i) for i in range(n_clusters)]
        groups = [new if new.size else old for new, old in zip(groups, members, strict=True)]
        new_labels, new_cost, groups = assign(K, groups)
        if np.array_equal(labels, new_labels):
            return new_labels, new_cost
        if new_cost >= cost - 1e-9:
            break
        labels, cost, members = new_labels, new_cost, groups
    return labels, cost


def kmeans(X, labels, n_clusters):
    """Lloyd's k-means from labels, with explicit means; no cluster may become empty."""
    while True:
        means = np.array([X[labels == i].mean(axis=0) for i in range(n_clusters)])
        squares = cdist(X, means, "sqeuclidean")
        if np.array_equal(labels, squares.argmin(axis=1)):
            return labels, squares.min(axis=1).sum()
        labels = squares.argmin(axis=1)
