"""Methods that are fitted again: to two clusters, to folds, to rows drawn at random."""

import warnings
from typing import Any

import numpy as np

from spexplain.aliases import Floats, Ints
from spexplain.estimators.best import BestTree
from spexplain.table.base import Table
from spexplain.tree import Tree

_PARTED_ROWS = 20_000
_PARTED_TESTS = 3
_PARTED_GAIN = 0.01  # of the mean recall, that a further test must add


def parted(
    table: Table,
    codes: Ints,
    pair: tuple[int, int],
    weights: Floats | None,
    columns: Ints | None,
) -> tuple[Tree, Floats]:
    """Return the smallest good tree of up to three tests over the rows of two clusters.

    Parameters
    ----------
    table : Table
        The training rows, in memory.
    codes : array of int, shape (n_rows,)
        Their clusters.
    pair : tuple of int
        The two clusters.
    weights : array of shape (n_rows,), optional
        Weights of the rows.
    columns : array of int, optional
        Columns that may be tested; all by default.

    Returns
    -------
    tree : Tree
    shares : array of float, shape (n_leaves, 2)
        How the rows of both clusters are shared between its leaves.
    """
    rows = np.flatnonzero(np.isin(codes, pair) & (True if weights is None else weights > 0))
    if len(rows) > _PARTED_ROWS:
        rows = rows[np.linspace(0, len(rows) - 1, _PARTED_ROWS).astype(np.int64)]
    own = (codes[rows] == pair[1]).astype(np.int64)
    mass = None if weights is None else weights[rows]
    some = table.take(rows)
    options: dict[str, Any] = {"features": None if columns is None else columns.tolist()}
    best = Tree.root(n_features=table.shape[1], size=len(rows)), np.ones((1, 2))
    for n_leaves in range(2, _PARTED_TESTS + 2):
        tree = BestTree(2, n_leaves=n_leaves, goal="balanced", n_jobs=1, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree.fit(some, own, sample_weight=mass)
        counts = tree.explanation_.leaf_counts
        shares: Floats = counts / counts.sum(axis=0)
        more_tests = tree.n_leaves_ - best[0].n_leaves
        if _balanced(shares) >= _balanced(best[1]) + _PARTED_GAIN * max(more_tests, 1):
            best = tree.tree_, shares
    return best


def _balanced(shares: Floats) -> float:
    """Return the mean recall of two clusters, each leaf standing for the one with the larger share."""
    return float(shares.max(axis=1).sum()) / 2
