"""Cuts of graphs equal their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import graphs as oracle
from spexplain.graphs import CliqueGraph, SparseGraph
from spexplain.metrics import conductance, multiway_cut, sparsity
from strategies import adjacencies_for


@given(adjacencies_for(7), st.lists(st.integers(0, 3), min_size=7, max_size=7))
def test_cuts_of_a_graph(adjacency, parts):
    inside = np.array(parts) == parts[0]
    members = np.flatnonzero(inside)
    for graph in (adjacency, SparseGraph.from_adjacency(adjacency)):
        expected = oracle.conductance(adjacency, members)
        assert conductance(graph, inside) == pytest.approx(expected, nan_ok=True)
        expected = oracle.outer(adjacency, members) / len(members)
        assert sparsity(graph, inside) == pytest.approx(expected)
        assert multiway_cut(graph, parts) == pytest.approx(oracle.multiway_cut(adjacency, parts))


@pytest.mark.parametrize("weights", ["unit", "inverse_size"])
@given(
    st.lists(st.integers(-1, 3), min_size=8, max_size=8),
    st.lists(st.integers(0, 3), min_size=8, max_size=8),
)
def test_cuts_of_cliques(weights, labels, parts):
    graph = CliqueGraph.from_labels(np.array(labels), weights)
    adjacency = oracle.clique_adjacency(labels, weights)
    assert multiway_cut(graph, parts) == pytest.approx(
        oracle.multiway_cut(adjacency, parts), abs=1e-12
    )
    inside = np.array(parts) == parts[0]
    expected = oracle.conductance(adjacency, np.flatnonzero(inside))
    assert conductance(graph, inside) == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_weights_keep_their_scale():
    adjacency = np.array([[0.0, 0.3], [0.3, 0.0]])
    assert sparsity(adjacency, [True, False]) == pytest.approx(0.3)


def test_bad_input():
    path = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    with pytest.raises(ValueError, match="subset holds no sample"):
        sparsity(path, [False, False, False])
    assert np.isnan(conductance(path, [False, False, False]))
    for function in (conductance, sparsity, multiway_cut):
        with pytest.raises(ValueError, match=r"2 .*3 .*\.$"):
            function(path, [True, False])
