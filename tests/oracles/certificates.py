"""Slow twins of certificates and prices: double sums, all cuts one by one, explicit matrices.

A graph is a dense adjacency matrix without self-loops.
"""

from collections.abc import Iterator

import numpy as np

from spexplain.tree import LEAF, Tree

# --- Random instances ---------------------------------------------------------------------------


def random_table(rng: np.random.Generator, n_rows: int, n_columns: int) -> np.ndarray:
    """A table with ties in one half of all cases."""
    if rng.random() < 0.5:
        return rng.integers(0, 4, (n_rows, n_columns)).astype(float)
    return rng.normal(size=(n_rows, n_columns)) * 10.0 ** rng.integers(-3, 4)


def random_adjacency(rng: np.random.Generator, n_vertices: int) -> np.ndarray:
    """Symmetric weights; sparse and disconnected, unit, or wide-ranging."""
    weights = rng.choice([0.0, 1.0], (n_vertices, n_vertices), p=[0.5, 0.5])
    if rng.random() < 0.5:
        weights *= rng.integers(1, 40, (n_vertices, n_vertices)) / 4
    upper = np.triu(weights, 1)
    return upper + upper.T


def random_graph(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A table and a graph over its rows."""
    n_rows = int(rng.integers(2, 9))
    X = random_table(rng, n_rows, int(rng.integers(1, 4)))
    return random_adjacency(rng, n_rows), X


def random_labels(rng: np.random.Generator, n_rows: int) -> np.ndarray:
    """Clusters 0..k-1, singletons among them, and -1 for noise."""
    drawn = rng.integers(-1, 4, n_rows)
    classes = sorted(set(drawn.tolist()) - {-1})
    return np.array([classes.index(each) if each >= 0 else -1 for each in drawn.tolist()])


def random_tree(rng: np.random.Generator, X: np.ndarray, n_leaves: int) -> Tree:
    """Cuts at values of random rows; leaves may be empty."""
    tree = Tree.root(n_features=X.shape[1], size=len(X))
    for _ in range(n_leaves - 1):
        feature = int(rng.integers(X.shape[1]))
        threshold = float(X[rng.integers(len(X)), feature])
        leaf = int(rng.choice(tree.leaves))
        tree = tree.split(leaf, feature=feature, threshold=threshold)
    return tree


# --- Graphs -------------------------------------------------------------------------------------


def clique_matrix(labels: np.ndarray, weights: str = "unit") -> np.ndarray:
    """Join every two samples of a cluster, by 1 or 1/(N-1)."""
    same = (labels[:, None] == labels[None, :]) & (labels[:, None] >= 0)
    np.fill_diagonal(same, False)
    sizes = same.sum(axis=1, keepdims=True)
    return same.astype(float) if weights == "unit" else same / np.maximum(sizes, 1)


def ratios_by_double_sums(adjacency: np.ndarray, X: np.ndarray) -> np.ndarray:
    """R_j as E_adj / E_all: squared differences of the ends of an edge, and of two independent vertices."""
    volume = adjacency.sum()
    degrees = adjacency.sum(axis=1)
    gaps = (X[:, None, :] - X[None, :, :]) ** 2
    if volume == 0:
        return np.full(X.shape[1], np.nan)
    adjacent = np.einsum("xy,xyj->j", adjacency, gaps) / volume
    anywhere = np.einsum("x,y,xyj->j", degrees, degrees, gaps) / volume**2
    return np.where(anywhere > 0, adjacent, np.nan) / np.where(anywhere > 0, anywhere, 1)


def pooled_ratio(adjacency: np.ndarray, X: np.ndarray) -> float:
    """R of all features: the same expectations of squared Euclidean distances."""
    volume, degrees = adjacency.sum(), adjacency.sum(axis=1)
    gaps = ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)
    return float((adjacency * gaps).sum() * volume / (np.outer(degrees, degrees) * gaps).sum())


def coordinate_cuts(X: np.ndarray, feature: int) -> Iterator[np.ndarray]:
    """Every way in which one feature parts the rows, as the mask of the left side."""
    for value in np.unique(X[:, feature])[:-1]:
        yield X[:, feature] <= value


def psi_and_h(adjacency: np.ndarray, left: np.ndarray) -> tuple[float, float]:
    """Ψ and h of a cut; infinite if a side has no edge ends."""
    crossing = adjacency[left][:, ~left].sum()
    volumes = adjacency[left].sum(), adjacency[~left].sum()
    if min(volumes) == 0:
        return np.inf, np.inf
    return crossing / volumes[0] + crossing / volumes[1], crossing / min(volumes)


def least_psi_and_h(adjacency: np.ndarray, X: np.ndarray, feature: int) -> tuple[float, float]:
    """The least Ψ and the least h among all cuts of a feature."""
    pairs = [psi_and_h(adjacency, left) for left in coordinate_cuts(X, feature)]
    return min((p for p, _ in pairs), default=np.inf), min((h for _, h in pairs), default=np.inf)


def eigenvalues(adjacency: np.ndarray) -> np.ndarray:
    """Spectrum of the normalised Laplacian over the vertices with edges."""
    joined = adjacency.sum(axis=1) > 0
    inside = adjacency[joined][:, joined]
    roots = np.sqrt(inside.sum(axis=1))
    return np.linalg.eigvalsh(np.eye(len(inside)) - inside / np.outer(roots, roots))


def conductance_sum(adjacency: np.ndarray, labels: np.ndarray) -> tuple[float, int]:
    """Σ ψ over the parts of positive volume, and their number."""
    total, n_parts = 0.0, 0
    for part in np.unique(labels):
        inside = labels == part
        volume = adjacency[inside].sum()
        if volume > 0:
            total += adjacency[inside][:, ~inside].sum() / volume
            n_parts += 1
    return total, n_parts


# --- IMM ----------------------------------------------------------------------------------------


def imm_tree(X: np.ndarray, centers: np.ndarray, labels: np.ndarray) -> Tree:
    """IMM by trying every gap of the merged values: fewest mistakes, at least one centre on each side."""
    tree = Tree.root(n_features=X.shape[1], size=len(X))
    todo = [(0, np.arange(len(X)), np.arange(len(centers)))]
    while todo:
        node, rows, held = todo.pop()
        best = None
        for feature in range(X.shape[1]):
            merged = np.unique(np.r_[X[rows, feature], centers[held, feature]])
            for threshold in merged[:-1]:
                center_left = centers[:, feature] <= threshold
                if len(set(center_left[held].tolist())) < 2:
                    continue
                counted = rows[np.isin(labels[rows], held)]
                parted = (X[counted, feature] <= threshold) != center_left[labels[counted]]
                if best is None or parted.sum() < best[0]:
                    best = parted.sum(), feature, float(threshold)
        if best is None:
            continue
        _, feature, threshold = best
        tree = tree.split(node, feature=feature, threshold=threshold)
        row_left, center_left = X[:, feature] <= threshold, centers[:, feature] <= threshold
        children = int(tree.left[node]), int(tree.right[node])
        todo.append((children[0], rows[row_left[rows]], held[center_left[held]]))
        todo.append((children[1], rows[~row_left[rows]], held[~center_left[held]]))
    return tree


def has_lone_centers(X: np.ndarray, tree: Tree, centers: np.ndarray) -> bool:
    """Whether every leaf that holds rows holds one distinct centre."""
    own, of_row = tree.apply(centers), tree.apply(X)
    return all(len(np.unique(centers[own == leaf], axis=0)) == 1 for leaf in np.unique(of_row))


def mistake_sum(X: np.ndarray, tree: Tree, centers: np.ndarray, labels: np.ndarray) -> float:
    """Σ over nodes of mistakes times the largest l1 distance of the node's centres, row by row."""
    total, visited = 0.0, tree.decision_path(X).toarray().astype(bool)
    held = tree.decision_path(centers).toarray().astype(bool)
    for node in np.flatnonzero(tree.feature != LEAF):
        child = int(tree.left[node])
        mistakes = sum(
            held[label, node] and visited[row, child] != held[label, child]
            for row, label in enumerate(labels)
            if visited[row, node] and label >= 0
        )
        inside = centers[held[:, node]]
        gaps = np.abs(inside[:, None] - inside[None, :]).sum(axis=2)
        total += mistakes * gaps.max(initial=0)
    return total


# --- Costs --------------------------------------------------------------------------------------


def center_of(rows: np.ndarray, cost: str) -> np.ndarray:
    """Mean or coordinate-wise median."""
    return rows.mean(axis=0) if cost == "kmeans" else np.median(rows, axis=0)


def cost_to(rows: np.ndarray, center: np.ndarray, cost: str) -> float:
    """Summed squared Euclidean or l1 distance."""
    gaps = rows - center
    return float((gaps**2).sum() if cost == "kmeans" else np.abs(gaps).sum())


def kernel_cost_to(K: np.ndarray, rows: np.ndarray, members: np.ndarray) -> float:
    """Summed squared feature-space distance of rows to the mean of members, row by row."""
    within = K[np.ix_(members, members)].mean()
    return float(sum(K[x, x] - 2 * K[x, members].mean() + within for x in rows))


def serving_costs(
    X: np.ndarray, labels: np.ndarray, reference: np.ndarray, cost: str
) -> tuple[dict, dict]:
    """Costs of every tree cluster: by its own centre, and by every reference cluster's; X is K for kernels."""
    alone, served = {}, {}
    for label in np.unique(labels).tolist():
        rows = np.flatnonzero(labels == label)
        others = [np.flatnonzero(reference == each) for each in np.unique(reference)]
        if cost == "kernel_kmeans":
            alone[label] = kernel_cost_to(X, rows, rows)
            served[label] = [kernel_cost_to(X, rows, other) for other in others]
        else:
            alone[label] = cost_to(X[rows], center_of(X[rows], cost), cost)
            served[label] = [cost_to(X[rows], center_of(X[other], cost), cost) for other in others]
    return alone, served
