"""Cheeger ratios of features, and the upper bounds that follow from them."""

from __future__ import annotations

import numpy as np
import pytest

from facts.certificates.instances import SLACK, graph_of, n_instances
from oracles import certificates as oracle
from spexplain import Tree
from spexplain.facts.certificates import (
    certify,
    cheeger_ratios,
)
from spexplain.graphs import CliqueGraph, StarGraph


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
    # Of the last but one, even the differences overflow.
    largest = (column - 4) * 2.0**1021
    X = np.column_stack(
        [column, column * 1e200, column * 1e-200, column + 2.0**40, largest, column * 0]
    )
    ratios = cheeger_ratios(adjacency, X)
    np.testing.assert_allclose(ratios[1:5], ratios[0], rtol=1e-12)
    assert np.isnan(ratios[5])


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
