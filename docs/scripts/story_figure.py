"""The first picture of the README: the same clusters, explained by the tree people fit today and by BestTree."""

from typing import Any

import numpy as np
from figure_parts import DARK, panels
from sklearn.tree import DecisionTreeClassifier

from spexplain import BestTree, datasets
from spexplain.references.named import cluster

COLORS = ("#0072b2", "#e69f00", "#009e73")
WRONG = "#c1121f"


def story() -> Any:
    """Draw a ring around two groups, found by spectral clustering, and two trees of three leaves."""
    X = datasets.load("pathbased").data
    clusters = np.asarray(cluster("spectral", X, 3, 0))
    usual = DecisionTreeClassifier(max_leaf_nodes=3, random_state=0).fit(X, clusters)
    ours = BestTree(n_leaves=3).fit(X, clusters)
    figure, left, right = panels("", "")
    figure.set_size_inches(8.2, 4.3)
    for ax, name, predict, rules in (
        (left, "DecisionTreeClassifier(max_leaf_nodes=3)", usual.predict, _rules_of(usual)),
        (right, "BestTree(n_leaves=3)", ours.predict_reference, _rules(ours)),
    ):
        _draw(ax, X, clusters, predict)
        wrong = np.asarray(predict(X)) != clusters
        ax.set_title(f"{name}\n{wrong.sum()} of {len(X)} rows wrong", fontsize=10.5)
        ax.set_xlabel(rules, fontsize=8.5, color=DARK, linespacing=1.4)
    return figure


def _draw(ax: Any, X: np.ndarray, clusters: np.ndarray, predict: Any) -> None:
    """Fill the regions of a tree with the colours of their clusters, and ring the rows it gets wrong."""
    from matplotlib.colors import ListedColormap

    low, high = X.min(axis=0) - 1, X.max(axis=0) + 1
    across, up = np.meshgrid(np.linspace(low[0], high[0], 500), np.linspace(low[1], high[1], 500))
    regions = np.asarray(predict(np.column_stack([across.ravel(), up.ravel()])))
    ax.imshow(
        regions.reshape(across.shape),
        extent=(low[0], high[0], low[1], high[1]),
        origin="lower",
        cmap=ListedColormap(COLORS),
        vmin=0,
        vmax=2,
        alpha=0.16,
        aspect="auto",
        interpolation="nearest",
    )
    wrong = np.asarray(predict(X)) != clusters
    ax.scatter(*X.T, s=12, c=[COLORS[each] for each in clusters], linewidths=0)
    ax.scatter(*X[wrong].T, s=46, facecolors="none", edgecolors=WRONG, linewidths=1.3)
    ax.set_xticks([])
    ax.set_yticks([])


def _rules_of(tree: Any) -> str:
    """Return the tests of scikit-learn's tree, in the order in which it asks them."""
    inner = np.flatnonzero(tree.tree_.feature >= 0)
    return "\n".join(
        f"x{tree.tree_.feature[node]} ≤ {tree.tree_.threshold[node]:.4g}?" for node in inner
    )


def _rules(explainer: Any) -> str:
    inner = np.flatnonzero(explainer.tree_.feature >= 0)
    tests = explainer.tree_
    return "\n".join(f"x{tests.feature[node]} ≤ {tests.threshold[node]:g}?" for node in inner)
