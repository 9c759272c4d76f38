"""Lower bounds by eigenvalues."""

from __future__ import annotations

import numpy as np
import pytest

from facts.certificates.instances import SLACK, graph_of, n_instances
from oracles import certificates as oracle
from spexplain import SpexClique, Tree
from spexplain.facts.certificates import (
    certify,
    smallest_eigenvalues,
    spectrum,
)
from spexplain.graphs import CliqueGraph


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
