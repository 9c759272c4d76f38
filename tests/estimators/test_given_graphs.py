"""Graphs in every form that a user may bring."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsTransformer

from spexplain import SpexClique, SpexGraph, SpexKNN, datasets
from spexplain.graphs import CliqueGraph, knn_graph

IRIS = datasets.load("iris")
X, Y = IRIS.data, IRIS.target


def test_graph_in_every_form_means_the_same():
    graph = knn_graph(X, 5, standardize=False)
    adjacency = graph.to_adjacency()
    expected = SpexGraph(3, graph=graph).fit(X).tree_
    for form in (
        adjacency,
        adjacency.tocoo(),
        adjacency.toarray(),
        lambda X: knn_graph(X, 5, standardize=False),
    ):
        assert SpexGraph(3, graph=form).fit(X).tree_ == expected
    assert SpexKNN(3, n_neighbors=5, standardize=False).fit(X).tree_ == expected


@pytest.mark.parametrize("mode", ["distance", "connectivity"])
def test_graph_by_neighbour_transformer(mode):
    # Random rows without equidistant neighbours: no tie leaves a choice.
    table = np.random.default_rng(0).normal(size=(60, 3))
    transformer = KNeighborsTransformer(n_neighbors=6, mode=mode)
    fitted = SpexGraph(3, graph=transformer).fit(table)
    # In "connectivity" mode scikit-learn counts the row itself among its neighbours.
    n_neighbors = 6 if mode == "distance" else 5
    expected = SpexKNN(3, n_neighbors=n_neighbors, standardize=False).fit(table)
    assert fitted.tree_ == expected.tree_
    assert not hasattr(transformer, "n_features_in_")


def test_graph_by_default_joins_ten_neighbours():
    assert SpexGraph(3).fit(X).tree_ == SpexKNN(3, n_neighbors=10).fit(X).tree_


def test_clique_graph_gives_spex_clique():
    by_graph = SpexGraph(3, graph=CliqueGraph.from_labels(Y)).fit(X)
    assert by_graph.tree_ == SpexClique().fit(X, Y).tree_


def test_diagonal_of_the_graph_is_ignored():
    adjacency = knn_graph(X, 5).to_adjacency().toarray()
    looped = adjacency + np.diag(np.arange(len(X)))
    assert SpexGraph(3, graph=looped).fit(X).tree_ == SpexGraph(3, graph=adjacency).fit(X).tree_
