"""The paper's section on non-uniform sparse cuts as equalities: IMM, EMN, CART and the normalised cut."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oracles import graphs as oracle
from spexplain import NonUniformCut
from spexplain.engines import Engine
from spexplain.graphs import CliqueGraph, PairGraph, ProductGraph, SparseGraph, StarGraph
from spexplain.ledgers import ledger_of
from spexplain.objectives import Objective, emn, imm, non_uniform_cut, volume_cart
from strategies import adjacencies_for, labels_for, tables


def pair_cut(G: np.ndarray, H: np.ndarray, left: list[int]) -> float:
    """Ψ_{G,H} of a set by its definition; infinite if no edge of H is cut."""
    parted = oracle.outer(H, left) / H.sum()
    return oracle.outer(G, left) / G.sum() / parted if parted else np.inf


def scored_cuts(objective: Objective, table: np.ndarray) -> list[tuple[list[int], float]]:
    """The left side and the score of every cut of all vertices."""
    ledger = ledger_of(objective.graph)
    order = np.argsort(table.T, axis=1, kind="stable")
    state, node = ledger.root(), ledger.node(ledger.root(), order[0])
    left, right = ledger.sorted_sides(state, node, order, np.arange(len(order)))
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = objective.score(left, right, node)
    scores = np.where(np.isnan(scores), np.inf, scores)
    values = np.take_along_axis(table.T, order, axis=1)
    return [
        (order[row, : gap + 1].tolist(), float(scores[row, gap]))
        for row, gap in zip(*np.nonzero(values[:, 1:] > values[:, :-1]), strict=True)
    ]


@st.composite
def stars(draw: st.DrawFn) -> StarGraph:
    """Samples and distinct centres; the coordinates are the table of all vertices."""
    X = draw(tables(max_rows=8))
    labels = draw(labels_for(len(X), noise=False))
    corners = st.lists(st.integers(-3, 3), min_size=X.shape[1], max_size=X.shape[1])
    k = int(labels.max()) + 1
    centers = draw(st.lists(corners, min_size=k, max_size=k, unique_by=tuple))
    return X, StarGraph(labels, np.array(centers, dtype=float))


@given(drawn=stars())
def test_modified_imm_is_the_star_against_a_single_edge(drawn: tuple) -> None:
    X, star = drawn
    n, k = star.n_samples, len(star.centers)
    furthest = StarGraph(star.labels, star.centers, "furthest_l2")
    G, H = oracle.star_adjacency(star.labels, k), np.zeros((n + k, n + k))
    distances = ((star.centers[:, None] - star.centers) ** 2).sum(axis=2)
    one, other = np.unravel_index(np.argmax(distances), distances.shape)
    H[n + one, n + other] = H[n + other, n + one] = 1
    for left, score in scored_cuts(imm(furthest), np.concatenate([X, star.centers])):
        assert score / n == pytest.approx(pair_cut(G, H, left))


@given(drawn=stars())
def test_product_emn_is_the_star_against_the_clique_of_centres(drawn: tuple) -> None:
    X, star = drawn
    n, k = star.n_samples, len(star.centers)
    G, H = oracle.star_adjacency(star.labels, k), np.zeros((n + k, n + k))
    H[n:, n:] = 1 - np.eye(k)
    for left, score in scored_cuts(emn(star, "product"), np.concatenate([X, star.centers])):
        assert score * k * (k - 1) / (2 * n) == pytest.approx(pair_cut(G, H, left))


@given(data=st.data())
def test_volume_cart_is_the_degree_clique_against_the_independent_set(data: st.DataObject) -> None:
    X = data.draw(tables())
    labels = data.draw(labels_for(len(X), noise=False))
    H = oracle.independent_set_adjacency(labels)
    degrees = H.sum(axis=1)
    G = np.outer(degrees, degrees) * (1 - np.eye(len(X)))
    for left, score in scored_cuts(volume_cart(CliqueGraph.from_labels(labels)), X):
        normalised_cut = 2 - score
        assert H.sum() ** 2 / G.sum() / normalised_cut == pytest.approx(pair_cut(G, H, left))


@given(data=st.data())
def test_normalised_cut_is_the_graph_against_its_degree_clique(data: st.DataObject) -> None:
    X = data.draw(tables())
    G = data.draw(adjacencies_for(len(X)))
    assume(G.any())
    degrees = G.sum(axis=1)
    graph = SparseGraph.from_adjacency(G)
    product = ProductGraph.from_masses(degrees)
    everyone = list(range(len(X)))
    for left, score in scored_cuts(non_uniform_cut(PairGraph(graph, product)), X):
        right = [x for x in everyone if x not in left]
        volumes = oracle.volume(G, left) * oracle.volume(G, right)
        if volumes == 0:
            assert score == np.inf
            continue
        normalised_cut = oracle.outer(G, left) * G.sum() / volumes
        assert score == pytest.approx(normalised_cut * (1 - (degrees**2).sum() / G.sum() ** 2))


@given(data=st.data())
def test_tree_takes_the_least_cut_of_any_two_graphs(data: st.DataObject, engine: Engine) -> None:
    X = data.draw(tables())
    G, H = data.draw(adjacencies_for(len(X))), data.draw(adjacencies_for(len(X)))
    assume(G.any() and H.any())
    least = min(
        pair_cut(G, H, np.flatnonzero(X[:, feature] <= low).tolist())
        for feature in range(X.shape[1])
        for low in X[:, feature]
    )
    explainer = NonUniformCut(graph=G, against=H, n_leaves=2, engine=engine)
    if least == np.inf:
        with pytest.warns(UserWarning, match="1 leaf instead of 2"):
            explainer.fit(X)
        return
    tree = explainer.fit(X).tree_
    assert tree.score[0] == pytest.approx(least)


def test_a_graph_without_edges_is_refused() -> None:
    X, nothing = np.arange(3.0)[:, None], np.zeros((3, 3))
    with pytest.raises(ValueError, match="graph has no edges"):
        NonUniformCut(2, graph=nothing).fit(X)
    with pytest.raises(ValueError, match="against has no edges"):
        NonUniformCut(2, graph=1 - np.eye(3), against=nothing).fit(X)


def test_masses_are_rounded_to_fit() -> None:
    masses = np.array([0.1, 0.2, 1e3, 0.0])
    graph = ProductGraph.from_masses(masses)
    assert graph.masses.sum() < 2**31
    assert graph.degrees * graph.unit == pytest.approx(masses * (masses.sum() - masses), rel=1e-4)
