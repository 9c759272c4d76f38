"""The pictures of the methods that cut a graph of rows."""

from itertools import pairwise
from typing import Any

import numpy as np
from figure_parts import (
    dense,
    draw_cuts,
    draw_edges,
    draw_scores,
    edges_of,
    panels,
    root_test,
)
from figure_tables import blobs, three_blobs

import spexplain as spx
from spexplain import datasets, graphs, objectives


def spex_clique() -> Any:
    """Draw the cliques of three clusters and the edges that two cuts part."""
    X, y = three_blobs()
    explainer = spx.SpexClique().fit(X, y)
    adjacency = (y[:, None] == y[None, :]).astype(np.int64)
    np.fill_diagonal(adjacency, 0)
    figure, left, right = panels(
        "edges of the cliques; those cut in orange", "score of the first cut"
    )
    draw_cuts(left, explainer, X)
    draw_edges(left, X, edges_of(adjacency), explainer.labels_, 0.5)
    objective = objectives.spex(graphs.CliqueGraph.from_labels(y))
    ones = np.ones(len(X), dtype=np.int64)
    told = root_test(explainer)
    draw_scores(right, objective, adjacency, ones, X, "ψ(left) + ψ(right)", told=told)
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
    draw_scores(
        right,
        objective,
        adjacency,
        ones,
        X,
        "ψ(left) + ψ(right)",
        told=root_test(explainer),
        offset=(6, 20),  # above the curves
    )
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
    near = spx.SpexKNN(2, n_neighbors=8, standardize=False).fit(X)
    for ax, explainer, edges in (
        (left, given, edges_of(adjacency)),
        (right, near, edges_of(dense(near.graph_))),
    ):
        draw_cuts(ax, explainer, X)
        parted = draw_edges(ax, X, edges, explainer.labels_, 0.7)
        ax.set_title(f"{ax.get_title()}: {parted} edges cut")
    return figure


def non_uniform_cut() -> Any:
    """Draw a graph to cut little of, and pairs of rows to separate."""
    X, y = blobs([(0, 0), (2.2, 0.2), (1.2, 2.2)], [0.6, 0.6, 0.6], size=30, seed=4)
    graph, apart = graphs.knn_graph(X, 4), pairs_apart(y)
    explainer = spx.NonUniformCut(3, graph=graph, against=apart).fit(X)
    figure, left, right = panels("cut few neighbours", "separate many of these pairs")
    for ax, adjacency in ((left, dense(graph)), (right, apart)):
        draw_cuts(ax, explainer, X)
        edges = edges_of(adjacency)
        parted = draw_edges(ax, X, edges, explainer.labels_, 0.7)
        ax.set_title(f"{ax.get_title()}: {parted} of {len(edges)}")
    return figure


def pairs_apart(y: np.ndarray, seed: int = 0) -> np.ndarray:
    """Return pairs of rows that somebody wants in different leaves."""
    apart = np.zeros((len(y), len(y)))
    for first, second in np.random.default_rng(seed).integers(len(y), size=(24, 2)):
        if y[first] != y[second]:
            apart[first, second] = apart[second, first] = 1
    return apart


def cart() -> Any:
    """Draw three clusters whose impurity drops most if one of them is cut in two."""
    table = datasets.three_clusters(400)
    X, y = table.data[:, :2], table.target
    figure, left, right = panels("CART", "SpEx-Clique")
    for ax, method in ((left, spx.CART()), (right, spx.SpexClique())):
        explainer = method.fit(X, y)
        draw_cuts(ax, explainer, X)
        wrong = int((explainer.predict_reference(X) != y).sum())
        ax.set_title(f"{ax.get_title()}: {root_test(explainer)} first, {wrong} rows wrong")
    return figure
