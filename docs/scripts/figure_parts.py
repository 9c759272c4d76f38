"""What the pictures of methods are made of: panels, cuts, edges and scores."""

from typing import Any

import numpy as np

from spexplain import graphs, objectives
from spexplain.records import Side

CUT, KEPT, DARK = "#d55e00", "#9aa5b1", "#333333"
NAMES = ["x0", "x1"]
MOST_EDGES = 260  # in a panel


def panels(left: str, right: str, **options: Any) -> tuple[Any, Any, Any]:
    """Return a figure with two titled panels."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"font.size": 8.5, "axes.titlesize": 9.5, "axes.spines.top": False})
    plt.rcParams.update({"axes.spines.right": False, "axes.edgecolor": DARK})
    figure, axes = plt.subplots(1, 2, figsize=(7.4, 2.9), layout="constrained", **options)
    for ax, title in zip(axes, (left, right), strict=True):
        ax.set_title(title)
    return figure, axes[0], axes[1]


def draw_cuts(ax: Any, explainer: Any, X: np.ndarray, **options: Any) -> None:
    """Draw rows in the colours of their clusters, and the cuts of a tree, without a legend."""
    title = ax.get_title()
    explainer.plot_cuts(X, ax, names=NAMES, features=[0, 1], **options)
    ax.set_title(title)
    legend = ax.get_legend()
    if legend is not None:
        legend.remove()


def draw_edges(
    ax: Any, points: np.ndarray, edges: np.ndarray, leaves: np.ndarray, alpha: float = 0.35
) -> int:
    """Draw edges, those whose ends are in different leaves in another colour; return their number.

    Of very many edges some are drawn, the same share of both kinds: all would be a grey area.
    """
    from matplotlib.collections import LineCollection

    random = np.random.default_rng(0)
    shown = random.random(len(edges)) < MOST_EDGES / max(len(edges), MOST_EDGES)
    parted = leaves[edges[:, 0]] != leaves[edges[:, 1]]
    for chosen, color, width, see in ((~parted, KEPT, 0.5, alpha), (parted, CUT, 0.9, 0.85)):
        drawn = points[edges[chosen & shown]]
        lines = LineCollection(drawn, colors=color, linewidths=width, alpha=see)
        ax.add_collection(lines, autolim=False)
    return int(parted.sum())


def edges_of(adjacency: Any) -> np.ndarray:
    """Return the pairs of joined rows, each once."""
    return np.argwhere(np.triu(np.asarray(adjacency) > 0, 1))


def root_test(explainer: Any) -> str:
    """Return the test of the root as it is printed."""
    test = explainer.tree_.test(0)
    return str(test.text(NAMES[test.feature]))


def dense(graph: graphs.SparseGraph) -> np.ndarray:
    """Return the adjacency of a sparse graph as a plain array."""
    matrix = np.zeros((graph.n_samples, graph.n_samples))
    matrix[graph.heads, graph.tails] = matrix[graph.tails, graph.heads] = graph.weights
    return matrix


def sides(
    adjacency: np.ndarray, sizes: np.ndarray, column: np.ndarray
) -> tuple[np.ndarray, Side, Side, Side]:
    """Return the thresholds of a column, and the sums left and right of each and of all rows."""
    values = np.unique(column)
    thresholds = (values[1:] + values[:-1]) / 2
    below = column[None, :] <= thresholds[:, None]

    def sums(member: np.ndarray) -> Side:
        weight = member.astype(np.int64)
        return Side(
            inner=np.einsum("ti,ij,tj->t", weight, adjacency, weight, optimize=True),
            volume=weight @ adjacency.sum(axis=1),
            size=weight @ sizes,
        )

    whole = sums(np.ones((1, len(column)), dtype=bool))
    return thresholds, sums(below), sums(~below), Side(*(each[0] for each in whole))


def draw_scores(
    ax: Any,
    objective: objectives.Objective,
    adjacency: np.ndarray,
    sizes: np.ndarray,
    points: np.ndarray,
    label: str,
    *,
    told: str,
    offset: tuple[int, int] = (8, -4),
) -> None:
    """Draw the score of every first cut, one curve per column, and mark the lowest: the root's test."""
    lowest = (np.inf, 0.0)
    for column, color in ((0, "#0072b2"), (1, "#009e73")):
        at, left, right, node = sides(adjacency, sizes, points[:, column])
        with np.errstate(divide="ignore", invalid="ignore"):
            score = np.asarray(objective.score(left, right, node), dtype=float)
        score[~np.isfinite(score)] = np.nan
        ax.plot(at, score, color=color, lw=1.4, label=f"cuts of {NAMES[column]}")
        best = int(np.nanargmin(score))
        if score[best] < lowest[0]:
            lowest = (float(score[best]), float(at[best]))
    ax.plot(lowest[1], lowest[0], "o", color=CUT, ms=6, zorder=4)
    ax.annotate(told, (lowest[1], lowest[0]), offset, textcoords="offset points", color=CUT)
    ax.set_xlabel("threshold")
    ax.set_ylabel(label)
    ax.set_ylim(bottom=min(0.0, lowest[0]))
    ax.legend(frameon=False, fontsize=8)
