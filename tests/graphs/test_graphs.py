"""Graphs: exact weights, neighbours with their ties, and what adjacency matrices are taken for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from oracles import graphs as oracle
from spexplain.graphs import (
    CliqueGraph,
    SparseGraph,
    StarGraph,
    knn_graph,
    nearest_neighbors,
)
from spexplain.graphs.base import to_fixed_point
from strategies import adjacencies_for, tables

# --- Fixed-point weights --------------------------------------------------------------------------


def test_integers_are_kept():
    weights, unit = to_fixed_point(np.array([0.0, 1.0, 7.0]), total=16.0)
    assert (weights.tolist(), unit) == ([0, 1, 7], 1.0)
    assert weights.dtype == np.int64


def test_largest_integers_that_are_kept():
    assert to_fixed_point(np.array([2.0**60]), total=2.0**60)[1] == 1.0
    weights, unit = to_fixed_point(np.array([2.0**61]), total=2.0**61)
    assert weights[0] * unit == 2.0**61
    assert weights[0] < 2**62


@given(st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=30), st.integers(-300, 300))
def test_other_weights_are_as_exact_as_their_sum(values, exponent):
    values = np.ldexp(np.array(values), exponent)
    total = 2 * values.sum()
    weights, unit = to_fixed_point(values, total)
    assert np.frexp(unit)[0] == 0.5  # a power of two
    error = np.abs(weights * unit - values)
    assert np.all(error[weights > 1] <= total * 2.0**-61)
    assert np.all(error <= unit)
    assert 0 < 2 * sum(weights.tolist()) <= 2**61 + 2 * len(values)


def test_positive_weights_never_vanish():
    weights, _ = to_fixed_point(np.array([1e-300, 0.3, 0.0]), total=0.6)
    assert weights[0] == 1
    assert weights[2] == 0


def test_short_binary_fractions_are_exact():
    weights, unit = to_fixed_point(np.array([0.25, 1.75]), total=4.0)
    assert (weights * unit).tolist() == [0.25, 1.75]


# --- Cliques and stars ----------------------------------------------------------------------------


@pytest.mark.parametrize("weights", ["unit", "inverse_size"])
def test_clique_degrees(weights):
    labels = [0, 1, 1, -1, 2, 1, 0]
    graph = CliqueGraph.from_labels(labels, weights)
    adjacency = oracle.clique_adjacency(labels, weights)
    assert (graph.degrees * graph.unit).tolist() == pytest.approx(adjacency.sum(axis=1))
    assert graph.cluster_sizes.tolist() == [2, 3, 1]
    assert graph.sizes.tolist() == [1, 1, 1, 0, 1, 1, 1]
    assert (graph.n_samples, graph.n_clusters, graph.extra) == (7, 3, None)


def test_star_degrees():
    labels = np.array([1, 0, 1, -1])
    graph = StarGraph(labels, np.zeros((2, 3)))
    assert graph.degrees.tolist() == oracle.star_adjacency(labels.tolist(), 2).sum(axis=1).tolist()
    assert graph.sizes.tolist() == [0, 0, 0, 0, 1, 1]
    assert graph.n_samples == 4
    assert graph.extra.shape == (2, 3)


# --- Adjacency matrices ---------------------------------------------------------------------------

FORMS = [np.asarray, sparse.csr_array, sparse.csc_matrix, sparse.coo_array, sparse.lil_matrix]


@pytest.mark.parametrize("form", FORMS)
@given(adjacencies_for(6))
def test_adjacency_survives(form, adjacency):
    graph = SparseGraph.from_adjacency(form(adjacency))
    assert graph.to_adjacency().toarray().tolist() == adjacency.tolist()
    assert (graph.degrees * graph.unit).tolist() == adjacency.sum(axis=1).tolist()
    assert np.all(graph.heads != graph.tails)
    assert np.all(graph.weights > 0)


def test_self_loops_and_stored_zeros_are_dropped():
    matrix = sparse.csr_array(([3.0, 0.0, 0.0, 2.0, 2.0], ([0, 0, 1, 1, 2], [0, 1, 0, 2, 1])))
    graph = SparseGraph.from_adjacency(matrix)
    assert (graph.heads.tolist(), graph.tails.tolist(), graph.weights.tolist()) == ([1], [2], [2])


def test_repeated_entries_add_up():
    matrix = sparse.coo_array(([1.0, 2.0, 3.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    assert SparseGraph.from_adjacency(matrix).degrees.tolist() == [3, 3]


def test_boolean_and_integer_entries():
    for dtype in (bool, np.int8, np.uint8, np.float32):
        assert SparseGraph.from_adjacency(np.array([[0, 1], [1, 0]], dtype)).degrees.tolist() == [
            1,
            1,
        ]


def test_rounding_is_no_direction():
    nearly = np.array([[0.0, 0.1], [np.nextafter(0.1, 1), 0.0]])
    graph = SparseGraph.from_adjacency(nearly)
    assert graph.weights * graph.unit == pytest.approx([0.1])
    with pytest.raises(ValueError, match=r"not symmetric.*graph\.maximum\(graph\.T\)"):
        SparseGraph.from_adjacency(np.array([[0.0, 0.1], [0.1001, 0.0]]))


def test_the_given_matrix_is_not_touched():
    matrix = sparse.csr_array(np.array([[5.0, 1.0], [1.0, 0.0]]))
    SparseGraph.from_adjacency(matrix)
    assert matrix.toarray().tolist() == [[5.0, 1.0], [1.0, 0.0]]


# --- Nearest neighbours ---------------------------------------------------------------------------


@given(tables(min_rows=3, max_rows=30, max_columns=2, scale=1), st.data())
def test_neighbours_with_ties_and_duplicates(X, data):
    n_neighbors = data.draw(st.integers(1, len(X) - 1))
    expected = oracle.nearest_neighbors(X, n_neighbors, standardize=False)
    assert nearest_neighbors(X, n_neighbors).tolist() == expected


def directed(neighbors, n):
    matrix = np.zeros((n, n))
    for x, near in enumerate(neighbors):
        matrix[x, near] = 1
    return matrix


@pytest.mark.parametrize("symmetrize", ["sum", "union", "mutual"])
@given(tables(min_rows=3, max_rows=16, max_columns=2, scale=1), st.data(), st.booleans())
def test_knn_graph(symmetrize, X, data, standardize):
    n_neighbors = data.draw(st.integers(1, len(X) - 1))
    near = directed(oracle.nearest_neighbors(X, n_neighbors, standardize=standardize), len(X))
    combine = {"sum": np.add, "union": np.maximum, "mutual": np.minimum}[symmetrize]
    graph = knn_graph(X, n_neighbors, standardize=standardize, symmetrize=symmetrize)
    assert graph.to_adjacency().toarray().tolist() == combine(near, near.T).tolist()


def test_many_duplicates_are_neighbours_by_index():
    # More duplicates than the candidates first asked for.
    X = np.r_[np.zeros((40, 2)), np.ones((40, 2))]
    found = nearest_neighbors(X, 3)
    assert found[0].tolist() == [1, 2, 3]
    assert found[2].tolist() == [0, 1, 3]
    assert found[79].tolist() == [40, 41, 42]


def test_equidistant_neighbours_on_a_ring_of_rounded_points():
    # On paper all points are equally far from the centre; in floats they are not.
    angles = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    X = np.r_[[[0.0, 0.0]], np.c_[np.cos(angles), np.sin(angles)]]
    assert nearest_neighbors(X, 5)[0].tolist() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("scale", [1e-200, 1e-5, 1e200, 1e307])
@pytest.mark.parametrize("standardize", [True, False])
def test_scale_of_the_table_does_not_matter(scale, standardize):
    X = np.random.default_rng(0).normal(size=(40, 3))
    expected = knn_graph(X, 4, standardize=standardize).to_adjacency().toarray()
    scaled = knn_graph(X * scale, 4, standardize=standardize).to_adjacency().toarray()
    assert scaled.tolist() == expected.tolist()


def test_constant_columns_do_not_matter():
    X = np.random.default_rng(0).normal(size=(30, 2))
    with_constant = np.c_[X, np.full(30, 0.1)]
    expected = knn_graph(X, 4).to_adjacency().toarray()
    assert knn_graph(with_constant, 4).to_adjacency().toarray().tolist() == expected.tolist()


def test_threads_of_the_neighbour_search():
    X = np.random.default_rng(0).integers(0, 5, size=(200, 3)).astype(float)
    assert nearest_neighbors(X, 7, n_jobs=2).tolist() == nearest_neighbors(X, 7).tolist()


@pytest.mark.parametrize("n_neighbors", [0, 3, -1])
def test_impossible_numbers_of_neighbours(n_neighbors):
    with pytest.raises(ValueError, match=f"n_neighbors={n_neighbors} must be at least 1 and below"):
        nearest_neighbors(np.zeros((3, 1)), n_neighbors)


def test_unknown_symmetrization():
    with pytest.raises(ValueError, match='symmetrize=\'max\' must be "sum", "union" or "mutual"'):
        knn_graph(np.zeros((3, 1)), 1, symmetrize="max")
