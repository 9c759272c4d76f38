"""Fitted trees for the tests of summaries and plots: a known one, and strategies for odd ones."""

import numpy as np
from hypothesis import strategies as st

from spexplain import SpexClique, datasets
from spexplain.explanation import Explanation
from spexplain.facts import summarize
from spexplain.table.reference import Reference
from spexplain.tree import Tree
from strategies import labels_for, tables, trees

HOSTILE = [
    "<script>alert(1)</script>",
    "\"quoted\" & 'single'",
    "two\nlines\tand\x00more",
    "x" * 120,
    "größe 大小 😀 \u202e",
    "$\\frac{1}{$",
    "_hidden",
    "",
    "100%",
]


def explained(tree, X, labels=None):
    reference = None if labels is None else Reference.from_labels(labels, n_samples=len(X))
    return Explanation.of(tree, np.asarray(X), reference)


def iris_explainer():
    iris = datasets.load("iris")
    explainer = SpexClique().fit(iris.data, iris.target_names[iris.target])
    return explainer, iris.data, list(iris.feature_names)


def iris_summary(**options):
    explainer, X, names = iris_explainer()
    given = {"names": names, "path": explainer.path_, "method": "SpexClique"}
    return summarize(explainer._grown, X, **given, **options)


def hostile_summary(with_rows=True):
    """Nine columns and nine clusters with the worst names, one leaf each."""
    X = np.eye(9)
    labels = np.array(HOSTILE, dtype=object)
    tree = Tree.root(n_features=9, size=9)
    for column in range(8):
        # Rows with a zero go left and are split again: the left child of split s is node 2s + 1.
        node = 2 * column - 1 if column else 0
        tree = tree.split(node, feature=column, threshold=0.5, sizes=(8 - column, 1))
    return summarize(explained(tree, X, labels), X if with_rows else None, names=HOSTILE)


@st.composite
def explained_tables(draw):
    """A table, a tree over it with interval tests and empty leaves, and perhaps labels with noise."""
    X = draw(tables(max_columns=3))
    tree = draw(trees(n_features=X.shape[1]))
    labels = draw(st.none() | labels_for(len(X)))
    return X, explained(tree, X, labels)
