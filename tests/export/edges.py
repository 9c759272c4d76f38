"""Rows on the edge: values equal to thresholds, and the floats next to them."""

import numpy as np

from spexplain.tree import LEAF, Tree


def edge_values(tree: Tree, dtype: type = np.float64) -> np.ndarray:
    """All bounds of all tests and their neighbours, as floats of a type."""
    inner = tree.feature != LEAF
    bounds = np.concatenate([tree.threshold[inner], tree.lower[inner], [0.0]])
    with np.errstate(over="ignore"):  # beyond the largest float lies infinity, left out below
        values = bounds[np.isfinite(bounds)].astype(dtype)
        above, below = (np.nextafter(values, dtype(end)) for end in (np.inf, -np.inf))
    values = np.concatenate([values, above, below])
    return np.unique(values[np.isfinite(values)])


def edge_rows(tree: Tree, n_rows: int = 200, dtype: type = np.float64, seed: int = 0) -> np.ndarray:
    """Rows of such values, in any mixture."""
    rng = np.random.default_rng(seed)
    return rng.choice(edge_values(tree, dtype), size=(n_rows, tree.n_features))
