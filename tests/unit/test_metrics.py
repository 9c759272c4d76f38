"""Agreement of clusterings, and cuts of graphs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle_graphs as oracle
from spexplain.graphs import CliqueGraph, SparseGraph
from spexplain.metrics import agreement, conductance, multiway_cut, sparsity
from strategies import adjacencies_for


def test_agreement_of_equal_clusterings():
    assert agreement([0, 0, 1, 2], ["b", "b", "a", "c"]) == pytest.approx((1.0, 1.0, 1.0))


def test_agreement_by_hand():
    # Pairs together in both: 1; in the first: 2; in the second: 3; of 6 pairs in all.
    found = agreement([0, 0, 1, 1], ["a", "a", "a", "b"])
    expected = 2 * 3 / 6
    assert found.ari == pytest.approx((1 - expected) / ((2 + 3) / 2 - expected))
    assert found.purity == 3 / 4


def test_purity_counts_the_commonest_reference_cluster_of_each_cluster():
    assert agreement([0, 0, 0, 0], ["a", "a", "a", "b"]).purity == 3 / 4
    assert agreement(["a", "a", "a", "b"], [0, 0, 0, 0]).purity == 1


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
