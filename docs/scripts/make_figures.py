"""Draw the pictures of the method pages and of the gallery: python docs/scripts/make_figures.py [names].

Every picture of a method is made from a small generated table, so it needs no download and always looks
the same. The pictures of the gallery are made by the scripts in examples/gallery.
"""

import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import spexplain as spx
from spexplain import datasets, graphs, objectives
from spexplain.metrics import agreement
from spexplain.records import Side

IMAGES = Path(__file__).parents[1] / "images"
GALLERY = Path(__file__).parents[2] / "examples" / "gallery"
CUT, KEPT, DARK = "#d55e00", "#9aa5b1", "#333333"
NAMES = ["x0", "x1"]


def blobs(
    centers: list[tuple[float, float]], spread: list[float], size: int = 45, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Return points around centres, and the number of each point's centre."""
    random = np.random.default_rng(seed)
    parts = [random.normal(at, width, (size, 2)) for at, width in zip(centers, spread, strict=True)]
    return np.vstack(parts), np.repeat(np.arange(len(centers)), size)


def three_blobs() -> tuple[np.ndarray, np.ndarray]:
    """Return three clusters that no three boxes part without a mistake."""
    return blobs([(0, 0), (2.4, 2.0), (4.0, -0.4)], [0.62, 0.7, 0.62])


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
    """Draw edges, those whose ends are in different leaves in another colour; return their number."""
    from matplotlib.collections import LineCollection

    parted = leaves[edges[:, 0]] != leaves[edges[:, 1]]
    for chosen, color, width, see in ((~parted, KEPT, 0.5, alpha), (parted, CUT, 0.9, 0.85)):
        some = 1 + chosen.sum() // (300 if color == CUT else 1500)  # of very many edges
        drawn = edges[chosen][::some]
        lines = LineCollection(points[drawn], colors=color, linewidths=width, alpha=see)
        ax.add_collection(lines, autolim=False)
    return int(parted.sum())


def edges_of(adjacency: Any) -> np.ndarray:
    """Return the pairs of joined rows, each once."""
    return np.argwhere(np.triu(np.asarray(adjacency) > 0, 1))


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
) -> None:
    """Draw the score of every first cut, one curve per column, and mark the lowest."""
    lowest = (np.inf, 0.0, "")
    for column, color in ((0, "#0072b2"), (1, "#009e73")):
        at, left, right, node = sides(adjacency, sizes, points[:, column])
        with np.errstate(divide="ignore", invalid="ignore"):
            score = np.asarray(objective.score(left, right, node), dtype=float)
        score[~np.isfinite(score)] = np.nan
        ax.plot(at, score, color=color, lw=1.4, label=f"cuts of {NAMES[column]}")
        best = int(np.nanargmin(score))
        if score[best] < lowest[0]:
            lowest = (float(score[best]), float(at[best]), f"{NAMES[column]} ≤ {at[best]:.2f}")
    ax.plot(lowest[1], lowest[0], "o", color=CUT, ms=6, zorder=4)
    ax.annotate(
        lowest[2],
        (lowest[1], lowest[0]),
        (8, 9),
        textcoords="offset points",
        color=CUT,
        bbox={"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none", "alpha": 0.85},
    )
    ax.set_xlabel("threshold")
    ax.set_ylabel(label)
    ax.set_ylim(bottom=min(0.0, lowest[0]))
    ax.legend(frameon=False, fontsize=8)


def spex_clique() -> Any:
    """Draw the cliques of three clusters and the edges that two cuts part."""
    X, y = three_blobs()
    explainer = spx.SpexClique().fit(X, y)
    adjacency = (y[:, None] == y[None, :]).astype(np.int64)
    np.fill_diagonal(adjacency, 0)
    figure, left, right = panels("cliques and the tree's cuts", "score of the first cut")
    draw_cuts(left, explainer, X)
    draw_edges(left, X, edges_of(adjacency), explainer.labels_, 0.15)
    objective = objectives.spex(graphs.CliqueGraph.from_labels(y))
    ones = np.ones(len(X), dtype=np.int64)
    draw_scores(right, objective, adjacency, ones, X, "ψ(left) + ψ(right)")
    return figure


def spex_knn() -> Any:
    """Draw the nearest-neighbour graph of two moons, cut without labels."""
    moons = datasets.two_moons(260, noise=0.05)
    X = moons.data
    explainer = spx.SpexKNN(n_leaves=5, n_neighbors=10).fit(X)
    adjacency = dense(explainer.graph_)
    figure, left, right = panels("10 nearest neighbours, 5 leaves", "score of the first cut")
    draw_cuts(left, explainer, X)
    draw_edges(left, X, edges_of(adjacency), explainer.labels_)
    objective = objectives.spex(explainer.graph_)
    ones = np.ones(len(X), dtype=np.int64)
    draw_scores(right, objective, adjacency, ones, X, "ψ(left) + ψ(right)")
    return figure


def spex_graph() -> Any:
    """Draw two lines of stops that lie close together but are not connected."""
    random = np.random.default_rng(3)
    x = np.sort(random.uniform(0, 10, 60))
    X = np.vstack([np.c_[x, 1.0 + 0.12 * random.normal(size=60)], np.c_[x, 1.8 + 0 * x]])
    X[60:, 1] += 0.12 * random.normal(size=60)
    adjacency = np.zeros((120, 120))
    for start in (0, 60):
        for first, second in pairwise(range(start, start + 60)):
            adjacency[first, second] = adjacency[second, first] = 1
    figure, left, right = panels("own graph: stops of two lines", "nearest neighbours instead")
    given = spx.SpexGraph(2, graph=adjacency).fit(X)
    near = spx.SpexKNN(2, n_neighbors=10, standardize=False).fit(X)
    for ax, explainer, edges in (
        (left, given, edges_of(adjacency)),
        (right, near, edges_of(dense(near.graph_))),
    ):
        draw_cuts(ax, explainer, X)
        parted = draw_edges(ax, X, edges, explainer.labels_, 0.7)
        ax.set_title(f"{ax.get_title()}: {parted} edges cut")
    return figure


def non_uniform_cut() -> Any:
    """Draw a graph to cut little of, and pairs of rows to part."""
    X, y = blobs([(0, 0), (2.2, 0.2), (1.2, 2.2)], [0.6, 0.6, 0.6], size=40, seed=4)
    graph, apart = graphs.knn_graph(X, 10), pairs_apart(y)
    explainer = spx.NonUniformCut(3, graph=graph, against=apart).fit(X)
    figure, left, right = panels("cut few neighbours", "part many of these pairs")
    for ax, adjacency in ((left, dense(graph)), (right, apart)):
        draw_cuts(ax, explainer, X)
        edges = edges_of(adjacency)
        parted = draw_edges(ax, X, edges, explainer.labels_, 0.7)
        ax.set_title(f"{ax.get_title()}: {parted} of {len(edges)}")
    return figure


def pairs_apart(y: np.ndarray, seed: int = 0) -> np.ndarray:
    """Return pairs of rows that somebody wants in different leaves."""
    apart = np.zeros((len(y), len(y)))
    for first, second in np.random.default_rng(seed).integers(len(y), size=(120, 2)):
        if y[first] != y[second]:
            apart[first, second] = apart[second, first] = 1
    return apart


def cart() -> Any:
    """Draw three clusters whose impurity drops most if one of them is cut in two."""
    table = datasets.three_clusters(400)
    X, y = table.data[:, :2], table.target
    figure, left, right = panels("CART, 2 leaves", "SpEx-Clique, 2 leaves")
    for ax, method in ((left, spx.CART(n_leaves=2)), (right, spx.SpexClique(n_leaves=2))):
        draw_cuts(ax, method.fit(X, y), X)
    return figure


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
    left.set_title(f"samples joined to their centres: {parted} mistakes")
    points, adjacency, is_center = star(X, y)
    objective = objectives.imm(graphs.StarGraph(y, points[len(X) :]))
    draw_scores(right, objective, adjacency, is_center, points, "mistakes")
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


def eight_blobs() -> tuple[np.ndarray, np.ndarray]:
    """Return eight clusters, wider towards the middle."""
    centers = [(1.9 * step, 0.9 * ((step * 3) % 8)) for step in range(8)]
    spread = [0.35, 0.5, 0.65, 0.8, 0.8, 0.65, 0.5, 0.35]
    return blobs([(float(a), float(b)) for a, b in centers], spread, size=35, seed=2)


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


def ring(size: int = 110, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return a disc inside a ring."""
    random = np.random.default_rng(seed)
    angle = random.uniform(0, 2 * np.pi, 2 * size)
    radius = np.r_[0.8 * np.sqrt(random.uniform(size=size)), random.normal(2.2, 0.12, size)]
    return np.c_[radius * np.cos(angle), radius * np.sin(angle)], np.repeat([0, 1], size)


def random_cuts() -> Any:
    """Draw the cuts of many draws, and what each draw costs."""
    X, y = three_blobs()
    draws = [spx.RandomCuts(n_init=1, random_state=seed).fit(X, y) for seed in range(40)]
    kept = min(draws, key=lambda each: each.objective_)
    figure, left, right = panels("40 draws, the cheapest in black", "cost of each draw")
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


def best_tree() -> Any:
    """Draw five leaves for an arc around two discs: grown greedily, and searched for."""
    X, y = arc()
    figure, left, right = panels("", "")
    for ax, method in ((left, spx.SpexClique(n_leaves=5)), (right, spx.BestTree(n_leaves=5))):
        draw_cuts(ax, method.fit(X, y), X)
        found = agreement(method.labels_, y).ari
        ax.set_title(f"{type(method).__name__}: adjusted Rand index {found:.2f}")
    return figure


def arc(seed: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Return two discs and an arc around them."""
    random = np.random.default_rng(seed)
    angle = random.uniform(-0.25 * np.pi, 1.25 * np.pi, 90)
    around = 3 * np.c_[np.cos(angle), np.sin(angle)] + random.normal(0, 0.25, (90, 2))
    discs = [random.normal((at, 0), 0.45, (60, 2)) for at in (-1.2, 1.2)]
    return np.vstack([around, *discs]), np.repeat([0, 1, 2], [90, 60, 60])


FIGURES: dict[str, Callable[[], Any]] = {
    "spex-clique": spex_clique,
    "spex-knn": spex_knn,
    "spex-graph": spex_graph,
    "non-uniform-cut": non_uniform_cut,
    "cart": cart,
    "imm": imm,
    "emn": emn,
    "exkmc": exkmc,
    "kernel-imm": kernel_imm,
    "random-cuts": random_cuts,
    "ex-greedy": ex_greedy,
    "best-tree": best_tree,
}


def save(figure: Any, path: Path) -> None:
    """Write a picture of few colours: a third of the bytes, and no visible difference."""
    from io import BytesIO

    import matplotlib.pyplot as plt
    from PIL import Image

    raw = BytesIO()
    figure.savefig(raw, dpi=120)
    plt.close(figure)
    Image.open(raw).convert("RGB").quantize(128).save(path, optimize=True)


def draw_gallery(script: Path, path: Path) -> None:
    """Let a script of the gallery draw its picture."""
    from runpy import run_path

    import matplotlib as mpl

    mpl.rcdefaults()
    run_path(str(script))["main"](str(path))


def main(names: list[str]) -> None:
    """Draw the named pictures, or all."""
    scripts = {script.stem: script for script in sorted(GALLERY.glob("*.py"))}
    for name in names or [*FIGURES, *scripts]:
        path = IMAGES / ("methods" if name in FIGURES else "gallery") / f"{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        if name in FIGURES:
            save(FIGURES[name](), path)
        else:
            draw_gallery(scripts[name], path)
        print(f"{path.relative_to(IMAGES.parents[1])}: {path.stat().st_size / 1024:.0f} KiB")


if __name__ == "__main__":
    main(sys.argv[1:])
