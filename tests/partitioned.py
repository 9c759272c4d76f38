"""Tables and objectives for the Dask engine."""

import numpy as np

from spexplain.engines import NumpyEngine
from spexplain.graphs import CenterCosts, CliqueGraph, SparseGraph, StarGraph
from spexplain.grow import grow
from spexplain.objectives import Objective, emn, exkmc, gini_cart, imm, spex, volume_cart
from spexplain.tree import Tree


def mixture(n_rows: int, *, seed: int = 0, n_features: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Clusters with ties, rounded columns, and rows of no cluster."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(-1, 4, n_rows)
    X = rng.normal(size=(n_rows, n_features)) + 2 * rng.normal(size=(5, n_features))[labels]
    X[:, 0] = np.round(X[:, 0])
    X[: n_rows // 5] = X[0]
    return X.astype(np.float32), labels


def centers_of(X: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return np.array(
        [X[labels == each].mean(axis=0, dtype=float) for each in range(labels.max() + 1)]
    )


def objectives(X: np.ndarray, labels: np.ndarray, *, seed: int = 0) -> dict[str, Objective]:
    """One of each kind that the engine knows."""
    cliques, centers = CliqueGraph.from_labels(labels), centers_of(X, labels)
    star = StarGraph(labels, centers)
    rng = np.random.default_rng(seed)
    weights = rng.choice([0.0, 1.0, 2.5], p=[0.96, 0.02, 0.02], size=(len(X), len(X)))
    return {
        "spex": spex(cliques),
        "weighted": spex(CliqueGraph.from_labels(labels, "inverse_size")),
        "gini": gini_cart(cliques),
        "volume": volume_cart(cliques),
        "imm": imm(star),
        "furthest": imm(StarGraph(labels, centers, "furthest_l2")),
        "emn": emn(star),
        "exkmc": exkmc(CenterCosts.from_centers(X, centers)),
        "edges": spex(SparseGraph.from_adjacency(np.maximum(weights, weights.T))),
    }


def expected(X: np.ndarray, objective: Objective, **limits: int) -> Tree:
    min_samples_leaf = limits.pop("min_samples_leaf", 1)
    search = NumpyEngine().bind(X, objective, min_samples_leaf=min_samples_leaf)
    return grow(search, max_leaves=8, **limits)
