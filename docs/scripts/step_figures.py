"""The pictures of "How it works": one per step, on one small table."""

from typing import Any

import numpy as np
from figure_parts import DARK, draw_edges, edges_of, panels
from figure_tables import three_blobs

import spexplain as spx

COLORS = np.array(["#0072b2", "#e69f00", "#009e73"])
BEST = "#c1121f"


def _panel() -> tuple[Any, Any]:
    import matplotlib.pyplot as plt

    plt.close(panels("", "")[0])  # sets the style of all pictures
    return plt.subplots(figsize=(5.2, 3.1), layout="constrained")


def _rows(ax: Any, X: np.ndarray, y: np.ndarray) -> None:
    ax.scatter(*X.T, s=16, c=COLORS[y], linewidths=0, zorder=3)
    ax.set_xlabel("x0")
    ax.set_ylabel("x1")


def clusters() -> Any:
    """Draw the table and its clusters."""
    X, y = three_blobs()
    figure, ax = _panel()
    _rows(ax, X, y)
    ax.set_title("A table, and clusters that somebody found")
    return figure


def graph() -> Any:
    """Draw the cliques of the clusters."""
    X, y = three_blobs()
    adjacency = (y[:, None] == y[None, :]).astype(np.int64)
    np.fill_diagonal(adjacency, 0)
    figure, ax = _panel()
    draw_edges(ax, X, edges_of(adjacency), y, 0.6)
    _rows(ax, X, y)
    ax.set_title("Edges join rows of one cluster (a part of them drawn)")
    return figure


def cuts() -> Any:
    """Draw the score of every cut of both columns, the best marked."""
    X, y = three_blobs()
    tree = spx.SpexClique().fit(X, y).tree_
    figure, left, right = panels("cuts of x0", "cuts of x1", sharey=True)
    for column, ax in enumerate((left, right)):
        values = np.unique(X[:, column])
        thresholds = (values[1:] + values[:-1]) / 2
        scores = [_score(y, X[:, column] <= each) for each in thresholds]
        ax.plot(thresholds, scores, color=DARK, linewidth=1.2)
        ax.set_xlabel(f"x{column} ≤ …")
        if tree.feature[0] == column:
            ax.axvline(tree.threshold[0], color=BEST, linewidth=1.4)
            ax.text(
                tree.threshold[0], max(scores), f"  x{column} ≤ {tree.threshold[0]:g}", color=BEST
            )
    left.set_ylabel("score: lower is better")
    return figure


def _score(y: np.ndarray, goes_left: np.ndarray) -> float:
    """Return the conductances of both sides of a cut, added up."""
    total = 0.0
    sizes = np.bincount(y)
    for side in (goes_left, ~goes_left):
        counts = np.bincount(y[side], minlength=len(sizes))
        volume = (counts * (sizes - 1)).sum()
        inner = (counts * (counts - 1)).sum()
        total += 1 - inner / volume
    return float(total)


def tree() -> Any:
    """Draw the regions of the leaves, and ring the rows that are wrong."""
    from matplotlib.colors import ListedColormap

    X, y = three_blobs()
    explainer = spx.SpexClique().fit(X, y)
    low, high = X.min(axis=0) - 0.5, X.max(axis=0) + 0.5
    across, up = np.meshgrid(np.linspace(low[0], high[0], 400), np.linspace(low[1], high[1], 400))
    regions = explainer.predict_reference(np.column_stack([across.ravel(), up.ravel()]))
    figure, ax = _panel()
    ax.imshow(
        np.asarray(regions).reshape(across.shape),
        extent=(low[0], high[0], low[1], high[1]),
        origin="lower",
        cmap=ListedColormap(list(COLORS)),
        vmin=0,
        vmax=2,
        alpha=0.16,
        aspect="auto",
        interpolation="nearest",
    )
    _rows(ax, X, y)
    wrong = explainer.predict_reference(X) != y
    ax.scatter(*X[wrong].T, s=60, facecolors="none", edgecolors=BEST, linewidths=1.3, zorder=4)
    ax.set_title(f"Three leaves; {wrong.sum()} of {len(X)} rows in a wrong one (ringed)")
    return figure


STEPS = {
    "step-1-clusters": clusters,
    "step-2-graph": graph,
    "step-3-cuts": cuts,
    "step-4-tree": tree,
}
