"""The part of the docstrings that all estimators share, written once."""

from inspect import cleandoc
from typing import TypeVar

_Class = TypeVar("_Class", bound=type)

_LEAVES = """
n_leaves : int, optional
    Leaves of the tree; by default one per cluster. Fewer come out, with a warning, if no valid cut
    is left.
"""

_REFERENCE = """
reference : {"spectral", "kmeans", "kmedians", "kernel_kmeans"} or clusterer, default="spectral"
    How to cluster the table when `fit` gets no labels; or any object with `fit_predict`.
"""

_SHARED = """
max_depth : int, optional
    Most tests on the way to a leaf.
min_samples_leaf : int, default=1
    Fewest training rows in a leaf.
features : list of int or str, optional
    Columns that the tree may use, by number or name; by default all.
noise : {"ignore", "cluster"}, default="ignore"
    What the label -1 of an integer reference means: rows of no cluster, which are routed but
    neither attract nor repel, or a cluster like others.
engine : {"auto", "numpy"} or Engine, default="auto"
    How the best cuts are found; all engines give the same tree.
n_jobs : int, optional
    Threads; None means 1, -1 all processors. The tree does not depend on it.
random_state : int, RandomState or None, default=None
    Seed of the reference clustering.
verbose : int, default=0
    1 prints one line per stage with its time.
"""

_ATTRIBUTES = """
tree_ : Tree
    The tree, as immutable arrays.
labels_ : array of int, shape (n_samples,)
    Leaf id of every training row, 0 to ``n_leaves_ - 1`` from left to right.
n_leaves_ : int
    Number of leaves.
objective_ : float
    What the tree minimised: the sum of the values of its leaves.
reference_labels_ : array of shape (n_samples,)
    The reference clustering, if there was one.
leaf_reference_ : array of shape (n_leaves_,)
    The reference label that each leaf stands for: the commonest in it.
n_features_in_ : int
    Number of columns seen in `fit`.
feature_names_in_ : array of str
    Names of these columns, if the table had string names.
"""

_PARTS = {
    "<leaves>": _LEAVES,
    "<reference>": _REFERENCE,
    "<shared>": _SHARED,
    "<attributes>": _ATTRIBUTES,
}


def documented(cls: _Class) -> _Class:
    """Put the shared parts in place of their marks in a class docstring."""
    text = cleandoc(cls.__doc__ or "")
    for mark, part in _PARTS.items():
        text = text.replace(mark, part.strip())
    cls.__doc__ = text
    return cls
