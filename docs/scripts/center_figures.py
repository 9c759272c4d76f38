"""The pictures of the methods that keep rows with their centres, and of the best tree."""

from typing import Any

import numpy as np
from figure_parts import (
    CUT,
    DARK,
    draw_cuts,
    draw_edges,
    draw_scores,
    edges_of,
    panels,
    root_test,
)
from figure_tables import arc, blobs, eight_blobs, ring, three_blobs

import spexplain as spx
from spexplain import graphs, objectives
from spexplain.metrics import agreement


def star(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return points and centres together, which are joined, and which of them are centres."""
    centers = np.array([X[y == code].mean(axis=0) for code in np.unique(y)])
    points = np.vstack([X, centers])
    adjacency = np.zeros((len(points), len(points)), dtype=np.int64)
    own = len(X) + y
    adjacency[np.arange(len(X)), own] = adjacency[own, np.arange(len(X))] = 1
    return points, adjacency, (np.arange(len(points)) >= len(X)).astype(np.int64)


def draw_star(ax: Any, explainer: Any, X: np.ndarray, y: np.ndarray) -> int:
    """Draw rows joined to their centres; return how many are parted from theirs."""
    points, adjacency, is_center = star(X, y)
    draw_cuts(ax, explainer, X)
    served = explainer.predict_reference(points)
    parted = draw_edges(ax, points, edges_of(adjacency), served, 0.6)
    centers = points[is_center == 1]
    ax.scatter(*centers.T, marker="D", s=30, color=DARK, edgecolors="white", lw=0.8, zorder=5)
    return parted


def imm() -> Any:
    """Draw the star of three clusters and the mistakes of every first cut."""
    X, y = three_blobs()
    explainer = spx.IMM().fit(X, y)
    figure, left, right = panels("", "score of the first cut")
    parted = draw_star(left, explainer, X, y)
    left.set_title(f"rows joined to their centres: {parted} mistakes")
    points, adjacency, is_center = star(X, y)
    objective = objectives.imm(graphs.StarGraph(y, points[len(X) :]))
    told = root_test(explainer)
    draw_scores(right, objective, adjacency, is_center, points, "mistakes", told=told)
    return figure


def emn() -> Any:
    """Draw eight clusters on a slope: IMM takes one centre off at a time, EMN halves them."""
    X, y = eight_blobs()
    figure, left, right = panels("", "")
    for ax, method in ((left, spx.IMM()), (right, spx.EMN())):
        parted = draw_star(ax, method.fit(X, y), X, y)
        name, depth = type(method).__name__, method.tree_.depth
        ax.set_title(f"{name}: {parted} mistakes, depth {depth}")
    return figure


def exkmc() -> Any:
    """Draw eight leaves for three centres, and the cost of every number of leaves."""
    from sklearn.cluster import KMeans

    X = blobs([(0, 0), (2.4, 2.0), (4.0, -0.4)], [1.1, 1.1, 1.1], size=60)[0]
    y = KMeans(3, n_init=10, random_state=0).fit_predict(X)
    explainer = spx.ExKMC(n_leaves=8).fit(X, y)
    figure, left, right = panels("8 leaves for 3 centres", "cost of the trees on the way")
    draw_star(left, explainer, X, y)
    path = explainer.path_[2:]
    leaves = [step.n_leaves for step in path]
    right.plot(leaves, [step.objective for step in path], "o-", color="#0072b2", ms=4, lw=1.4)
    floor = sum(((X[y == c] - X[y == c].mean(axis=0)) ** 2).sum() for c in range(3))
    right.axhline(floor, color=DARK, ls="--", lw=1)
    right.annotate("k-means", (3, floor), (0, 4), textcoords="offset points")
    right.set_xticks(leaves)
    right.set_xlabel("leaves")
    right.set_ylabel("cost")
    return figure


def random_cuts() -> Any:
    """Draw the cuts of many draws, and what each draw costs."""
    X, y = three_blobs()
    draws = [spx.RandomCuts(n_init=1, random_state=seed).fit(X, y) for seed in range(40)]
    kept = min(draws, key=lambda each: each.objective_)
    figure, left, right = panels("40 draws, the cheapest in thick lines", "cost of each draw")
    draw_cuts(left, kept, X)
    for each in draws:
        feature, at = int(each.tree_.feature[0]), float(each.tree_.threshold[0])
        line = left.axvline if feature == 0 else left.axhline
        line(at, color=CUT, lw=0.6, alpha=0.35, zorder=1)
    costs = sorted(each.objective_ for each in draws)
    right.bar(range(len(costs)), costs, color=[DARK] + [CUT] * (len(costs) - 1), width=0.75)
    right.set_xlabel("draws, cheapest first")
    right.set_ylabel("k-medians cost")
    return figure


def ex_greedy() -> Any:
    """Draw eight clusters parted by cost alone, and with a weight on the depth."""
    X, y = eight_blobs()
    figure, left, right = panels("", "")
    methods = ((left, spx.ExGreedy()), (right, spx.ExShallow(depth_weight=0.1)))
    for ax, method in methods:
        draw_star(ax, method.fit(X, y), X, y)
        name, depth = type(method).__name__, method.tree_.depth
        ax.set_title(f"{name}: cost {method.objective_:.0f}, depth {depth}")
    return figure


def kernel_imm() -> Any:
    """Draw a ring around a disc: one interval per column explains it."""
    X, y = ring()
    figure, left, right = panels("", "")
    chosen = (
        (left, "IMM on the same clusters", spx.IMM()),
        (right, "Kernel IMM", spx.KernelIMM(gamma=0.5, n_leaves=3, expand="mistakes")),
    )
    for ax, name, method in chosen:
        method.fit(X, y)
        draw_cuts(ax, method, X)
        right_rows = np.mean(method.predict_reference(X) == y)
        ax.set_title(f"{name}: {method.n_leaves_} leaves, {right_rows:.0%} right")
    return figure


def best_tree() -> Any:
    """Draw five leaves for an arc around two discs: grown greedily, and searched for."""
    X, y = arc()
    figure, left, right = panels("", "")
    for ax, method in (
        (left, spx.SpexClique(n_leaves=5)),
        (right, spx.BestTree(n_leaves=5, goal="agreement")),
    ):
        draw_cuts(ax, method.fit(X, y), X)
        found = agreement(method.labels_, y).ari
        ax.set_title(f"{type(method).__name__}: agreement {found:.2f}")
    return figure
