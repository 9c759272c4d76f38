"""What certificates claim, tried on thousands of small random instances against slow twins."""

from __future__ import annotations

import doctest
import json
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import oracle_certificates as oracle
from spexplain import SpexClique, SpexKNN, Tree, datasets
from spexplain.certificates import (
    Certificate,
    certify,
    cheeger_ratios,
    imm_bound,
    smallest_eigenvalues,
    spectrum,
)
from spexplain.graphs import CliqueGraph, PairGraph, ProductGraph, SparseGraph, StarGraph, knn_graph

DOCS = Path(__file__).parents[1] / "docs" / "certificates.md"
SLACK = 1e-9


def n_instances(count: int, seed: int) -> list[np.random.Generator]:
    return [np.random.default_rng([seed, number]) for number in range(count)]


def graph_of(adjacency: np.ndarray) -> SparseGraph:
    return SparseGraph.from_adjacency(sparse.csr_array(adjacency))


# --- Cheeger ratios -------------------------------------------------------------------------------


def test_ratios_of_listed_edges_equal_the_two_expectations() -> None:
    for rng in n_instances(1000, 0):
        adjacency, X = oracle.random_graph(rng)
        expected = oracle.ratios_by_double_sums(adjacency, X)
        np.testing.assert_allclose(cheeger_ratios(adjacency, X), expected, rtol=1e-12)


@pytest.mark.parametrize("weights", ["unit", "inverse_size"])
def test_ratios_of_cliques_in_closed_form_equal_the_double_sums(weights: str) -> None:
    for rng in n_instances(1500, 1):
        X = oracle.random_table(rng, int(rng.integers(2, 12)), 3)
        labels = oracle.random_labels(rng, len(X))
        expected = oracle.ratios_by_double_sums(oracle.clique_matrix(labels, weights), X)
        found = cheeger_ratios(CliqueGraph.from_labels(labels, weights), X)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_weighted_cliques_have_the_ratio_of_costs_to_total_sum_of_squares() -> None:
    for rng in n_instances(300, 2):
        X = oracle.random_table(rng, 12, 3)
        labels = rng.integers(0, 4, 12)
        sizes = np.bincount(labels)
        joined = sizes[labels] > 1
        clusters = [X[labels == i] for i in np.flatnonzero(sizes > 1)]
        costs = [len(C) / (len(C) - 1) * ((C - C.mean(axis=0)) ** 2).sum() for C in clusters]
        total = ((X[joined] - X[joined].mean(axis=0)) ** 2).sum()
        graph = CliqueGraph.from_labels(labels, "inverse_size")
        root = Tree.root(n_features=3, size=12)
        assert certify(graph, X, root).pooled_ratio == pytest.approx(sum(costs) / total, rel=1e-12)


def test_pooled_ratio_is_the_quotient_of_expectations() -> None:
    for rng in n_instances(300, 3):
        adjacency, X = oracle.random_graph(rng)
        root = Tree.root(n_features=X.shape[1], size=len(X))
        certificate = certify(adjacency, X, root)
        if np.isnan(certificate.ratios).all():
            assert np.isnan(certificate.pooled_ratio)
            continue
        pooled = oracle.pooled_ratio(adjacency, X)
        assert certificate.pooled_ratio == pytest.approx(pooled, rel=1e-12)
        assert pooled >= np.nanmin(certificate.ratios) - SLACK


def test_ratios_bear_huge_tiny_and_shifted_columns() -> None:
    rng = np.random.default_rng(4)
    adjacency, column = oracle.random_adjacency(rng, 9), rng.integers(0, 9, 9).astype(float)
    X = np.column_stack([column, column * 1e200, column * 1e-200, column + 2.0**40, column * 0])
    ratios = cheeger_ratios(adjacency, X)
    np.testing.assert_allclose(ratios[1:4], ratios[0], rtol=1e-12)
    assert np.isnan(ratios[4])


def test_constant_columns_and_isolated_rows_leave_a_ratio_undefined() -> None:
    path = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    # The third row is isolated: the columns vary over it, but not over the edge.
    assert np.isnan(cheeger_ratios(path, [[0.1, 1.0], [0.1, 2.0], [7.0, 3.0]])).tolist() == [
        True,
        False,
    ]
    certificate = certify(path, [[0.1], [0.1], [7.0]], Tree.root(n_features=1, size=3))
    assert certificate.smoothest_feature is None
    assert certificate.best_psi is None
    assert "nothing is claimed" in certificate.to_text()


def test_all_three_kinds_of_graphs_agree() -> None:
    rng = np.random.default_rng(5)
    X, labels = rng.normal(size=(40, 3)), rng.integers(0, 4, 40)
    centers = np.array([X[labels == i].mean(axis=0) for i in range(4)])
    tree = oracle.random_tree(rng, X, 6)
    cliques = certify(CliqueGraph.from_labels(labels), X, tree)
    listed = certify(graph_of(oracle.clique_matrix(labels)), X, tree)
    for name in ("ratios", "pooled_ratio", "objective", "lower_bound", "h_bound", "lambda_2"):
        np.testing.assert_allclose(getattr(cliques, name), getattr(listed, name), atol=1e-12)
    assert (cliques.best_psi, cliques.best_h) == (listed.best_psi, listed.best_h)
    star = StarGraph(labels, centers)
    matrix = np.zeros((44, 44))
    matrix[np.arange(40), 40 + labels] = matrix[40 + labels, np.arange(40)] = 1
    table = np.concatenate([X, centers])
    expected = oracle.ratios_by_double_sums(matrix, table)
    np.testing.assert_allclose(certify(star, X, tree).ratios, expected, rtol=1e-12)


# --- Upper bounds ---------------------------------------------------------------------------------


def test_every_feature_has_a_cut_below_the_proved_bounds() -> None:
    for rng in n_instances(1500, 10):
        adjacency, X = oracle.random_graph(rng)
        for feature, ratio in enumerate(cheeger_ratios(adjacency, X)):
            if np.isfinite(ratio):
                psi, h = oracle.least_psi_and_h(adjacency, X, feature)
                assert h <= np.sqrt(2 * ratio) + SLACK
                assert psi <= 2 * np.sqrt(2 * ratio) + SLACK
                assert -SLACK <= ratio <= 2 + SLACK


def test_best_coordinate_cuts_are_those_of_the_exhaustive_search() -> None:
    for rng in n_instances(400, 11):
        adjacency, X = oracle.random_graph(rng)
        certificate = certify(adjacency, X, Tree.root(n_features=X.shape[1], size=len(X)))
        least = [oracle.least_psi_and_h(adjacency, X, j) for j in range(X.shape[1])]
        for cut, value in (
            (certificate.best_psi, min(psi for psi, _ in least)),
            (certificate.best_h, min(h for _, h in least)),
        ):
            assert (cut is None) == np.isinf(value)
            if cut is not None:
                assert cut.value == pytest.approx(value, abs=1e-12)
                left = X[:, cut.feature] <= cut.threshold
                found = oracle.psi_and_h(adjacency, left)
                assert min(abs(each - value) for each in found) <= 1e-12


def test_the_certificate_is_a_chain_of_inequalities() -> None:
    for rng in n_instances(400, 12):
        adjacency, X = oracle.random_graph(rng)
        tree = oracle.random_tree(rng, X, int(rng.integers(1, 6)))
        certificate = certify(adjacency, X, tree)
        assert certificate.lower_bound <= certificate.objective + SLACK
        if certificate.best_psi is not None:
            assert certificate.lambda_2 <= certificate.best_psi.value + SLACK
            assert certificate.best_psi.value <= certificate.psi_bound + SLACK
            assert certificate.best_h.value <= certificate.h_bound + SLACK
            assert certificate.best_h.value <= certificate.best_psi.value + SLACK


def test_the_printed_theorem_fails_on_a_single_edge() -> None:
    edge, X = np.array([[0, 1], [1, 0]]), np.array([[0.0], [1.0]])
    certificate = certify(edge, X, Tree.root(n_features=1, size=2))
    assert certificate.ratios == (2.0,)
    assert certificate.best_psi.value == 2.0 > np.sqrt(2.0)
    assert certificate.best_h.value == 1.0 <= certificate.h_bound == 2.0


@pytest.mark.parametrize("n_samples", range(2, 9))
def test_the_printed_theorem_fails_on_complete_graphs(n_samples: int) -> None:
    X = np.random.default_rng(n_samples).normal(size=(n_samples, 2))
    graph = CliqueGraph.from_labels(np.zeros(n_samples))
    certificate = certify(graph, X, Tree.root(n_features=2, size=n_samples))
    value = n_samples / (n_samples - 1)
    np.testing.assert_allclose(certificate.ratios, value)
    assert certificate.best_psi.value == pytest.approx(value)
    assert certificate.best_psi.value > np.sqrt(certificate.pooled_ratio)


def test_a_clustering_of_low_cost_has_a_good_cut() -> None:
    """The corrected corollary: h ≤ √(2 Σ N/(N-1) cost(C)/TSS) ≤ 2 √(cost/TSS), singletons left out."""
    for rng in n_instances(1000, 13):
        X = oracle.random_table(rng, int(rng.integers(4, 12)), int(rng.integers(1, 4)))
        labels = rng.integers(0, 4, len(X))
        kept = np.bincount(labels)[labels] > 1
        X, labels = X[kept], labels[kept]
        clusters = [X[labels == label] for label in np.unique(labels)]
        if not clusters or not np.ptp(X, axis=0).any():
            continue
        costs = np.array([((C - C.mean(axis=0)) ** 2).sum() for C in clusters])
        sizes = np.array([len(C) for C in clusters])
        total = ((X - X.mean(axis=0)) ** 2).sum()
        sharper = np.sqrt(2 * (sizes / (sizes - 1)) @ costs / total)
        matrix = oracle.clique_matrix(labels, "inverse_size")
        h = min(oracle.least_psi_and_h(matrix, X, j)[1] for j in range(X.shape[1]))
        assert h <= sharper + SLACK
        assert sharper <= 2 * np.sqrt(costs.sum() / total) + SLACK


# --- Lower bounds ---------------------------------------------------------------------------------


def test_no_cut_of_any_shape_beats_the_second_eigenvalue() -> None:
    for rng in n_instances(300, 20):
        adjacency = oracle.random_adjacency(rng, int(rng.integers(2, 8)))
        values = smallest_eigenvalues(graph_of(adjacency), 2).values
        n_rows = len(adjacency)
        subsets = (np.arange(1, 2 ** (n_rows - 1))[:, None] >> np.arange(n_rows)) & 1
        for left in subsets.astype(bool):
            psi, _ = oracle.psi_and_h(adjacency, left)
            assert np.isinf(psi) or values[1] <= psi + SLACK


def test_no_partition_beats_the_sum_of_eigenvalues() -> None:
    for rng in n_instances(500, 21):
        adjacency, X = oracle.random_graph(rng)
        found = smallest_eigenvalues(graph_of(adjacency), len(X))
        of_trees = [oracle.random_tree(rng, X, 4).apply(X) for _ in range(3)]
        for parts in [*rng.integers(0, 4, (3, len(X))), *of_trees]:
            total, n_parts = oracle.conductance_sum(adjacency, parts)
            assert found.bound(n_parts) <= total + SLACK


def test_dense_eigenvalues_are_lower_bounds_and_tight() -> None:
    for rng in n_instances(500, 22):
        adjacency, _ = oracle.random_graph(rng)
        expected = oracle.eigenvalues(adjacency)
        found = smallest_eigenvalues(graph_of(adjacency), len(adjacency)).values
        np.testing.assert_allclose(found, expected, atol=1e-12)
        assert np.all(found >= 0)


@pytest.mark.parametrize("weights", ["unit", "inverse_size"])
def test_clique_spectrum_in_closed_form(weights: str) -> None:
    for rng in n_instances(500, 23):
        labels = oracle.random_labels(rng, int(rng.integers(2, 14)))
        graph = CliqueGraph.from_labels(labels, weights)
        expected = oracle.eigenvalues(oracle.clique_matrix(labels, weights))
        count = int(rng.integers(1, 15))
        found = smallest_eigenvalues(graph, count).values
        np.testing.assert_allclose(found, expected[:count], atol=1e-12)


def test_more_leaves_than_clusters_cost_more_than_one_each() -> None:
    X = np.arange(8.0)[:, None]
    labels = np.repeat([0, 1], 4)
    tree = SpexClique(n_leaves=5).fit(X, labels).tree_
    certificate = certify(CliqueGraph.from_labels(labels), X, tree)
    assert certificate.lower_bound == pytest.approx(3 * 4 / 3)
    assert certificate.gap == pytest.approx(0, abs=1e-12)


def test_zero_volume_leaves_do_not_count() -> None:
    X = np.arange(5.0)[:, None]
    graph = CliqueGraph.from_labels([0, 0, 1, 1, -1])
    tree = Tree.root(n_features=1, size=5).split(0, feature=0, threshold=1.5)
    assert certify(graph, X, tree.split(2, feature=0, threshold=3.5)).n_parts == 2


def ring_of_groups(rng: np.random.Generator, n_groups: int, size: int) -> np.ndarray:
    """Groups of random graphs with a few edges from each to the next."""
    n_vertices = n_groups * size
    adjacency = np.zeros((n_vertices, n_vertices))
    for group in range(n_groups):
        block = slice(group * size, (group + 1) * size)
        adjacency[block, block] = rng.random((size, size)) < 0.3
        adjacency[group * size, (group * size + size) % n_vertices] = 1
    upper = np.triu(adjacency + adjacency.T, 1) > 0
    return (upper | upper.T).astype(float)


def test_lanczos_values_are_lower_bounds_and_tight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spectrum, "_DENSE", 20)
    for rng in n_instances(12, 24):
        adjacency = ring_of_groups(rng, 6, int(rng.integers(15, 30)))
        expected = oracle.eigenvalues(adjacency)[:8]
        found = smallest_eigenvalues(graph_of(adjacency), 8)
        assert found.method == "lanczos"
        assert np.all(found.values <= expected + 1e-12)
        np.testing.assert_allclose(found.values, expected, atol=1e-4)


def test_lanczos_finds_multiple_eigenvalues(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two equal components, complete graphs and stars: eigenvalues of high multiplicity."""
    monkeypatch.setattr(spectrum, "_DENSE", 10)
    rng = np.random.default_rng(25)
    part = ring_of_groups(rng, 3, 15)
    complete, star = np.ones((40, 40)) - np.eye(40), np.zeros((40, 40))
    star[0, 1:] = star[1:, 0] = 1
    cycle = np.roll(np.eye(60), 1, axis=1)  # every eigenvalue but the ends comes twice
    for adjacency in (
        np.kron(np.eye(2), part),
        complete,
        star,
        cycle + cycle.T,
        np.block([[complete, np.zeros((40, 60))], [np.zeros((60, 40)), cycle + cycle.T]]),
    ):
        expected = oracle.eigenvalues(adjacency)[:9]
        found = smallest_eigenvalues(graph_of(adjacency), 9).values
        assert np.all(found <= expected + 1e-12)
        np.testing.assert_allclose(found, expected, atol=1e-4)


def test_beyond_the_computed_pairs_the_last_one_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spectrum, "_DENSE", 10)
    monkeypatch.setattr(spectrum, "_PAIRS", 3)
    adjacency = ring_of_groups(np.random.default_rng(26), 5, 12)
    expected = oracle.eigenvalues(adjacency)[:10]
    found = smallest_eigenvalues(graph_of(adjacency), 10).values
    assert len(found) == 10
    assert np.all(found <= expected + 1e-12)
    np.testing.assert_allclose(found[:4], expected[:4], atol=1e-4)


def test_without_convergence_zero_is_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spectrum, "_DENSE", 10)
    monkeypatch.setattr(spectrum, "_RESTARTS", 1)
    cycle = np.roll(np.eye(900), 1, axis=1)
    assert smallest_eigenvalues(graph_of(cycle + cycle.T), 5).values.tolist() == [0.0] * 5


# --- The IMM bound --------------------------------------------------------------------------------


def random_clustering(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X = oracle.random_table(rng, int(rng.integers(4, 14)), int(rng.integers(1, 4)))
    centers = X[rng.choice(len(X), size=int(rng.integers(1, 5)), replace=False)]
    if rng.random() < 0.3:
        centers = np.concatenate([centers, centers[:1]])  # two centres coincide
    return X, centers, rng.integers(-1, len(centers), len(X))


def test_imm_costs_at_most_what_its_mistakes_and_its_height_allow() -> None:
    for rng in n_instances(400, 30):
        X, centers, labels = random_clustering(rng)
        tree = oracle.imm_tree(X, centers, labels)
        bound = imm_bound(X, tree, centers, labels)
        kept = labels >= 0
        assert bound.reference_cost == pytest.approx(np.abs(X - centers[labels])[kept].sum())
        center_leaf = tree.apply(centers).tolist()
        serving = [center_leaf.index(leaf) for leaf in tree.apply(X[kept])]
        assert bound.tree_cost == pytest.approx(np.abs(X[kept] - centers[serving]).sum())
        extra = oracle.mistake_sum(X, tree, centers, labels)
        assert bound.mistake_bound == pytest.approx(bound.reference_cost + extra)
        assert bound.tree_cost <= bound.mistake_bound * (1 + SLACK)
        assert bound.height_bound_applies
        assert bound.tree_cost <= bound.height_bound * (1 + SLACK)


def test_any_tree_that_parts_the_centres_keeps_the_mistake_bound() -> None:
    n_checked, n_without_promise = 0, 0
    for rng in n_instances(1000, 31):
        X, centers, labels = random_clustering(rng)
        tree = oracle.random_tree(rng, centers, len(centers))
        if not oracle.has_lone_centers(X[labels >= 0], tree, centers):
            with pytest.raises(ValueError, match="one centre in every leaf"):
                imm_bound(X, tree, centers, labels)
            continue
        bound = imm_bound(X, tree, centers, labels)
        n_checked += 1
        n_without_promise += not bound.height_bound_applies
        assert bound.tree_cost <= bound.mistake_bound * (1 + SLACK)
        if bound.height_bound_applies:
            assert bound.tree_cost <= bound.height_bound * (1 + SLACK)
    assert n_checked > 300
    assert n_without_promise > 10


def test_interval_tests_send_centres_like_rows() -> None:
    X, centers = np.array([[0.0], [2.0], [5.0]]), np.array([[2.0], [5.0]])
    tree = Tree.root(n_features=1, size=3).split(0, feature=0, threshold=3.0, lower=1.0)
    bound = imm_bound(X, tree, centers, np.array([0, 0, 1]))
    assert bound.mistakes == (1, 0, 0)
    assert (bound.reference_cost, bound.tree_cost, bound.mistake_bound) == (2.0, 5.0, 5.0)


def test_a_reference_without_cost_has_price_one_or_infinity() -> None:
    X = np.array([[0.0], [0.0], [4.0]])
    tree = Tree.root(n_features=1, size=3).split(0, feature=0, threshold=1.0)
    bound = imm_bound(X, tree, np.array([[0.0], [4.0]]), np.array([0, 0, 1]))
    assert bound.price == 1.0
    assert "price is 1" in bound.to_text()


def test_star_graphs_carry_the_cost_bound() -> None:
    rng = np.random.default_rng(32)
    X, labels = rng.normal(size=(30, 2)), rng.integers(-1, 3, 30)
    centers = np.array([[0.0, 1.0], [1.0, 0.0], [-1.0, -1.0]])
    tree = oracle.imm_tree(X, centers, labels)
    graph = StarGraph(labels, centers)
    assert certify(graph, X, tree).cost == imm_bound(X, tree, centers, labels)
    assert certify(graph, X, tree.truncate(2)).cost is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"centers": [[1.0], [2.0]]}, "centers must be finite and have the 2 columns"),
        ({"labels": [0, 1]}, "labels must hold the number of its centre"),
        ({"labels": [0, 1, 2, 0]}, "labels must lie between 0 and 1"),
        ({"tree": Tree.root(n_features=3, size=4)}, "the tree tests 3"),
        ({"tree": Tree.root(n_features=2, size=4)}, "leaf 0 has none or several"),
    ],
)
def test_imm_bound_refuses_what_does_not_fit(change: dict, message: str) -> None:
    given = {
        "X": np.arange(8.0).reshape(4, 2),
        "tree": Tree.root(n_features=2, size=4).split(0, feature=0, threshold=3.0),
        "centers": [[0.0, 1.0], [6.0, 7.0]],
        "labels": [0, 0, 1, 1],
    }
    with pytest.raises(ValueError, match=message):
        imm_bound(**(given | change))


# --- The record -----------------------------------------------------------------------------------


def iris_certificate() -> Certificate:
    iris = datasets.load("iris")
    graph = CliqueGraph.from_labels(iris.target)
    tree = SpexClique().fit(iris.data, iris.target).tree_
    return certify(graph, iris.data, tree, feature_names=iris.feature_names)


def test_text_is_plain_and_narrow() -> None:
    X = np.random.default_rng(40).normal(size=(60, 2))
    explainer = SpexKNN(3, n_neighbors=5).fit(X)
    centers = np.array([[0.0, 0.0], [1.0, 1.0]])
    labels = np.repeat([0, 1], 30)
    for certificate in (
        iris_certificate(),
        certify(knn_graph(X, 5), X, explainer.tree_),
        certify(StarGraph(labels, centers), X, oracle.imm_tree(X, centers, labels)),
    ):
        text = certificate.to_text()
        assert max(map(len, text.splitlines())) <= 80
        assert "nan" not in text
    assert "petal length (cm)" in iris_certificate().to_text()


def test_dicts_survive_json() -> None:
    certificate = iris_certificate()
    data = json.loads(json.dumps(certificate.to_dict(), allow_nan=False))
    assert data["gap"] == certificate.gap == certificate.objective
    assert data["best_psi"] == {"feature": 2, "threshold": 2.45, "value": 0.0}
    lonely = certify(
        CliqueGraph.from_labels([0, 1]), [[0.0], [1.0]], Tree.root(n_features=1, size=2)
    )
    data = json.loads(json.dumps(lonely.to_dict(), allow_nan=False))
    assert data["ratios"] == [None]
    assert data["psi_bound"] is None


def test_objective_is_the_estimators() -> None:
    iris = datasets.load("iris")
    explainer = SpexKNN(4, n_neighbors=10).fit(iris.data)
    certificate = certify(knn_graph(iris.data, 10), iris.data, explainer.tree_)
    assert certificate.objective == pytest.approx(explainer.objective_, rel=1e-12)


def test_only_the_named_features_count() -> None:
    iris = datasets.load("iris")
    graph, root = CliqueGraph.from_labels(iris.target), Tree.root(n_features=4, size=150)
    certificate = certify(graph, iris.data, root, features=[1, 0])
    assert certificate.smoothest_feature == 0
    assert {certificate.best_h.feature, certificate.best_psi.feature} <= {0, 1}
    assert len(certificate.ratios) == 4


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"X": [[0.0], [1.0]]}, ValueError, "the tree tests 2"),
        ({"X": [[0.0, np.nan]] * 3}, ValueError, "X contains NaN"),
        ({"X": [["a", "b"]] * 3}, ValueError, "X holds text"),
        ({"graph": np.zeros((4, 4))}, ValueError, "graph has 4 vertices"),
        ({"features": [2]}, ValueError, "features must hold column numbers, 0 to 1"),
        ({"feature_names": ["a"]}, ValueError, "feature_names has 1 entries"),
    ],
)
def test_certify_refuses_what_does_not_fit(
    change: dict, error: type[Exception], message: str
) -> None:
    given = {
        "graph": np.ones((3, 3)),
        "X": np.arange(6.0).reshape(3, 2),
        "tree": Tree.root(n_features=2, size=3),
    }
    with pytest.raises(error, match=message):
        certify(**(given | change))


def test_of_two_graphs_the_one_to_cut_little_of_is_certified() -> None:
    X = np.random.default_rng(41).normal(size=(30, 2))
    graph, tree = knn_graph(X, 4), oracle.random_tree(np.random.default_rng(42), X, 3)
    pair = PairGraph(graph, ProductGraph.from_masses(graph.degrees))
    assert certify(pair, X, tree) == certify(graph, X, tree)


def test_graphs_without_edges_are_refused() -> None:
    class Costs:
        n_samples, extra, unit = 2, None, 1.0
        degrees = sizes = np.zeros(2, dtype=np.int64)

    with pytest.raises(TypeError, match="graph is a Costs, which lists no edges"):
        certify(Costs(), [[0.0], [1.0]], Tree.root(n_features=1, size=2))


def test_the_documentation_runs() -> None:
    outcome = doctest.testfile(
        str(DOCS), module_relative=False, optionflags=doctest.ELLIPSIS, encoding="utf-8"
    )
    assert outcome.attempted > 5
    assert outcome.failed == 0
