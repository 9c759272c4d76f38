"""Engines equal the definitions, in their trees and in the sums that formulas see."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from growing import LIMITS, check_against_oracle, check_is_greedy, grown
from oracles import definitions as oracle
from oracles import graphs as oracle_graphs
from spexplain.engines import NumpyEngine
from spexplain.graphs import CliqueGraph, Graph, SparseGraph, StarGraph
from spexplain.objectives import Objective, gini_cart, spex, volume_cart
from spexplain.records import Cut, Side
from strategies import adjacencies_for, columns, graph_tables, labelled_tables, labels_for, tables

CARTS = {
    "gini": (gini_cart, oracle.gini_cart),
    "volume": (volume_cart, oracle.volume_cart),
}


# --- Engine = oracle ------------------------------------------------------------------------------


@given(labelled_tables(), LIMITS)
def test_spex_on_unit_cliques(engine, case, limits):
    X, labels = case
    objective = spex(CliqueGraph.from_labels(labels))
    check_against_oracle(engine, X, objective, oracle.spex_clique(labels), limits)


@given(labelled_tables(), LIMITS)
def test_spex_on_weighted_cliques(engine, case, limits):
    # Weights 1/(N-1) are no binary fractions: ties on paper may resolve either way.
    X, labels = case
    tree = grown(engine, X, spex(CliqueGraph.from_labels(labels, "inverse_size")), **limits)
    check_is_greedy(tree, X, oracle.spex_clique(labels, "inverse_size"), limits)


@given(graph_tables(), LIMITS)
def test_spex_on_sparse_graphs(engine, case, limits):
    X, adjacency = case
    objective = spex(SparseGraph.from_adjacency(adjacency))
    check_against_oracle(engine, X, objective, oracle.spex(adjacency), limits)


@given(graph_tables(any_weight=True), LIMITS)
def test_spex_on_graphs_of_any_weights(engine, case, limits):
    X, adjacency = case
    tree = grown(engine, X, spex(SparseGraph.from_adjacency(adjacency)), **limits)
    check_is_greedy(tree, X, oracle.spex(adjacency), limits)


@pytest.mark.parametrize("leaf_weight", ["none", "size"])
@pytest.mark.parametrize("criterion", CARTS)
@given(labelled_tables(), LIMITS)
def test_cart(engine, criterion, leaf_weight, case, limits):
    X, labels = case
    formula, definition = CARTS[criterion]
    objective = formula(CliqueGraph.from_labels(labels), leaf_weight)
    check_against_oracle(engine, X, objective, definition(labels, leaf_weight), limits)


def imm_like(graph: StarGraph) -> Objective:
    """The fewest samples parted from their centres, among cuts that part centres."""

    def score(left: Side, right: Side, node: Side) -> np.ndarray:
        crossing = (node.inner - left.inner - right.inner) / 2
        return np.where((left.size > 0) & (right.size > 0), crossing, np.inf)

    return Objective("imm-like", graph, score, value=lambda node: 0.0)


@given(st.data())
def test_star_graph_with_centres_as_extra_vertices(engine, data):
    X = data.draw(tables())
    labels = data.draw(labels_for(len(X)))
    n_centers = int(labels.max()) + 1
    drawn = [data.draw(columns(n_centers)) for _ in range(X.shape[1])]
    centers = (np.array(drawn).T * 0.25).astype(X.dtype)
    adjacency = oracle_graphs.star_adjacency(labels.tolist(), n_centers)
    method = oracle.fewest_mistakes(adjacency, n_samples=len(X))
    check_against_oracle(engine, X, imm_like(StarGraph(labels, centers)), method, {"max_leaves": 5})


@given(labelled_tables(), graph_tables(any_weight=True), LIMITS)
def test_all_engines_grow_the_same_tree(engine, labelled, joined, limits):
    X, labels = labelled
    cliques = CliqueGraph.from_labels(labels, "inverse_size")
    for table, objective in [
        (X, spex(cliques)),
        (joined[0], spex(SparseGraph.from_adjacency(joined[1]))),
    ]:
        expected = grown(NumpyEngine(), table, objective, **limits)
        assert grown(engine, table, objective, **limits) == expected


# --- Sums -----------------------------------------------------------------------------------------


def check_sums(graph: Graph, adjacency: np.ndarray, seed: int) -> None:
    """The sums that a formula sees left and right of every gap are the oracle's, in a node and below it."""
    rng = np.random.default_rng(seed)
    n, extra = len(adjacency), 0 if graph.extra is None else len(graph.extra)
    ranks = np.column_stack([rng.permutation(n) for _ in range(3)]).astype(np.float64)
    if extra:
        graph = replace(graph, centers=ranks[n - extra :])
    seen = []

    def spy(left: Side, right: Side, node: Side) -> np.ndarray:
        seen.append((left, right, node))
        return np.zeros(np.shape(left.volume))

    search = NumpyEngine().bind(ranks[: n - extra], Objective("spy", graph, spy, lambda node: 0.0))
    root, middle = search.root(), n // 2 - 0.5
    below = [ranks[:, 0] <= middle, ranks[:, 0] > middle]
    parts = search.split(root, Cut(0, middle, 0.0, 0.0))
    for part, inside in [(root, np.full(n, True)), *zip(parts, below, strict=True)]:
        seen.clear()
        search.best_cuts([part])
        for left, right, node in seen[:1]:
            assert node.inner * graph.unit == oracle_graphs.inner(adjacency, np.flatnonzero(inside))
            for feature, gap in np.ndindex(left.volume.shape):
                order = [x for x in np.argsort(ranks[:, feature]) if inside[x]]
                sides = order[: gap + 1], order[gap + 1 :]
                for sums, members in zip((left, right), sides, strict=True):
                    inner, volume, size = (int(field[feature, gap]) for field in sums[:3])
                    assert inner * graph.unit == oracle_graphs.inner(adjacency, members)
                    assert volume * graph.unit == oracle_graphs.volume(adjacency, members)
                    assert size == graph.sizes[members].sum()
                crossing = oracle_graphs.weight_between(adjacency, *sides) / graph.unit
                both = left.inner[feature, gap] + right.inner[feature, gap]
                assert both + 2 * crossing == node.inner


@given(st.data(), st.integers(0, 999))
def test_sums_of_all_graphs(data, seed):
    n = data.draw(st.integers(2, 9))
    labels = np.array(data.draw(st.lists(st.integers(-1, 3), min_size=n, max_size=n)))
    adjacency = data.draw(adjacencies_for(n))
    n_centers = max(int(labels.max()) + 1, 1)
    star = oracle_graphs.star_adjacency(labels.tolist(), n_centers)
    check_sums(
        CliqueGraph.from_labels(labels), oracle_graphs.clique_adjacency(labels.tolist()), seed
    )
    check_sums(SparseGraph.from_adjacency(adjacency), adjacency, seed)
    check_sums(StarGraph(labels, np.zeros((n_centers, 3))), star, seed)
