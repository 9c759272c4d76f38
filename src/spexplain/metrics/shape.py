"""How complex a tree is to read: tests on the path to a leaf, and conditions in its rule."""

from math import isfinite
from typing import Any

import numpy as np

from spexplain.aliases import Floats
from spexplain.arguments import check_weights
from spexplain.metrics.inputs import table_of
from spexplain.tree import Tree
from spexplain.tree.boxes import Box, leaf_boxes


def weighted_average_depth(
    tree: Tree, X: Any = None, *, sizes: Any = None, sample_weight: Any = None
) -> float:
    """Return the mean number of tests that a row passes before it reaches its leaf.

    Parameters
    ----------
    tree : Tree
        The tree, for example ``explainer.tree_``.
    X : array or data frame of shape (n_rows, n_features), optional
        Rows to average over; by default the training rows, as counted in ``tree.size``.
    sizes : array of shape (n_leaves,), optional
        Instead of `X`: the number of rows, or their weight, in each leaf from left to right.
    sample_weight : array of shape (n_rows,), optional
        Weights of the rows of `X`.

    Returns
    -------
    depth : float

    Examples
    --------
    >>> from spexplain import Tree, metrics
    >>> tree = Tree.root(n_features=1, size=10).split(0, feature=0, threshold=1.0, sizes=(4, 6))
    >>> deeper = tree.split(2, feature=0, threshold=2.0, sizes=(3, 3))
    >>> metrics.weighted_average_depth(deeper)
    1.6
    """
    weights = _leaf_weights(tree, X, sizes, sample_weight)
    return float(weights @ tree.node_depths[tree.leaves] / weights.sum())


def weighted_average_explanation_size(
    tree: Tree, X: Any = None, *, sizes: Any = None, sample_weight: Any = None
) -> float:
    """Return the mean number of conditions in the rule that explains a row's cluster.

    Several tests of one feature in the same direction count as one condition, the tightest. An interval
    test has two thresholds and counts as two conditions, less those that other tests of the feature make
    redundant.

    Parameters
    ----------
    tree : Tree
        The tree, for example ``explainer.tree_``.
    X : array or data frame of shape (n_rows, n_features), optional
        Rows to average over; by default the training rows, as counted in ``tree.size``.
    sizes : array of shape (n_leaves,), optional
        Instead of `X`: the number of rows, or their weight, in each leaf from left to right.
    sample_weight : array of shape (n_rows,), optional
        Weights of the rows of `X`.

    Returns
    -------
    size : float

    Examples
    --------
    The rules are x ≤ 1, then 1 < x ≤ 2, then x > 2:

    >>> from spexplain import Tree, metrics
    >>> tree = Tree.root(n_features=1, size=10).split(0, feature=0, threshold=1.0, sizes=(4, 6))
    >>> deeper = tree.split(2, feature=0, threshold=2.0, sizes=(3, 3))
    >>> metrics.weighted_average_explanation_size(deeper)
    1.3
    """
    weights = _leaf_weights(tree, X, sizes, sample_weight)
    counts = np.array([count_thresholds(box) for box in leaf_boxes(tree)])
    return float(weights @ counts / weights.sum())


def _leaf_weights(tree: Tree, X: Any, sizes: Any, sample_weight: Any) -> Floats:
    """Return the weight of every leaf, from left to right."""
    if X is None and sample_weight is not None:
        raise ValueError("sample_weight holds weights of rows; give X, too.")
    if X is not None and sizes is not None:
        raise ValueError("Give either X or sizes, not both.")
    if X is not None:
        table = table_of(X)
        if table.shape[1] != tree.n_features:
            raise ValueError(
                f"X has {table.shape[1]} columns, but the tree tests {tree.n_features}."
            )
        own = check_weights(sample_weight, len(table))
        return np.bincount(tree.apply(table), own, minlength=tree.n_leaves).astype(np.float64)
    weights = np.asarray(tree.size[tree.leaves] if sizes is None else sizes, dtype=np.float64)
    if weights.shape != (tree.n_leaves,):
        raise ValueError(
            f"sizes must hold one number per leaf, {tree.n_leaves} in all, got shape {weights.shape}."
        )
    if not (np.isfinite(weights).all() and weights.min() >= 0 and weights.sum() > 0):
        raise ValueError(
            "sizes must be finite, at least 0 and not all 0; a tree without training rows needs X or sizes."
        )
    return weights


def count_thresholds(box: Box) -> int:
    """Return the number of finite ends of the intervals that the features may lie in."""
    ends = (end for region in box.values() for interval in region.intervals for end in interval)
    return sum(isfinite(end) for end in ends)
