"""The histogram engine grows the tree of the exhaustive engine, bit for bit, on tables and graphs of any kind."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from binned import ON_LABELS, ON_STARS, check, heavy_tailed
from growing import grown
from spexplain.engines import NumpyEngine
from spexplain.engines.histogram import HistogramEngine
from spexplain.graphs import (
    CenterCosts,
    CliqueGraph,
    PairGraph,
    ProductGraph,
    SparseGraph,
    StarGraph,
)
from spexplain.objectives import exkmc, non_uniform_cut, spex
from spexplain.table.host import HostTable
from spexplain.table.views import SearchColumns
from spexplain.tree import Column
from strategies import adjacencies_for, columns, graph_tables, labelled_tables, labels_for, tables

LIMITS = st.fixed_dictionaries(
    {"max_leaves": st.integers(2, 8), "min_samples_leaf": st.integers(1, 3)}
)


@pytest.mark.parametrize("objective", ON_LABELS.values(), ids=ON_LABELS.keys())
@given(case=labelled_tables(), limits=LIMITS)
def test_labels(objective, max_bins, case, limits):
    X, labels = case
    check(X, objective(labels), max_bins, **limits)


@pytest.mark.parametrize("objective", ON_LABELS.values(), ids=ON_LABELS.keys())
@pytest.mark.parametrize("share", [0.02, 0.5, 0.99])
def test_labels_of_columns_with_missing_values(objective, max_bins, share):
    rng = np.random.default_rng(int(100 * share))
    X, labels = heavy_tailed(n_rows=1200, dtype=rng.choice([np.float32, np.float64]))
    X[rng.random(X.shape) < share] = np.nan
    X[:, [2, 3]] = X[:, [3, 2]]
    X[:, 5] = rng.normal(size=len(X))
    described = tuple(Column(f"x{i}", has_missing=i < 5) for i in range(6))
    table = HostTable(X, described=described)
    searched = SearchColumns.of(table, np.arange(6), one_by_one=False).matrix
    assert searched.shape == (1200, 11)
    limits = {"max_leaves": 12, "min_samples_leaf": 2}
    expected = grown(NumpyEngine(), searched.written_out(), objective(labels), **limits)
    engine = HistogramEngine(max_bins=max_bins)
    assert grown(engine, searched, objective(labels), **limits) == expected


@given(case=graph_tables(any_weight=True), limits=LIMITS)
def test_weighted_edges(max_bins, case, limits):
    X, adjacency = case
    check(X, spex(SparseGraph.from_adjacency(adjacency)), max_bins, **limits)


@given(case=graph_tables(), limits=LIMITS)
def test_edges_of_small_weights(max_bins, case, limits):
    X, adjacency = case
    check(X, spex(SparseGraph.from_adjacency(np.ceil(adjacency))), max_bins, **limits)


@pytest.mark.parametrize("objective", ON_STARS.values(), ids=ON_STARS.keys())
@given(data=st.data(), limits=LIMITS)
def test_stars(objective, max_bins, data, limits):
    X = data.draw(tables())
    labels = data.draw(labels_for(len(X)))
    n_centers = int(labels.max()) + 1
    drawn = [data.draw(columns(n_centers)) for _ in range(X.shape[1])]
    centers = np.array(drawn).T * 0.25
    pairs = data.draw(st.sampled_from(["any", "furthest_l1", "furthest_l2"]))
    check(X, objective(StarGraph(labels, centers, pairs)), max_bins, **limits)


@given(data=st.data(), limits=LIMITS)
def test_costs(max_bins, data, limits):
    X = data.draw(tables())
    n_centers = data.draw(st.integers(1, 4))
    drawn = [data.draw(columns(n_centers)) for _ in range(X.shape[1])]
    centers = np.array(drawn).T * data.draw(st.sampled_from([0.25, 0.3]))
    check(X, exkmc(CenterCosts.from_centers(X, centers)), max_bins, **limits)


@given(data=st.data(), limits=LIMITS)
def test_pairs(max_bins, data, limits):
    X = data.draw(tables())
    kinds = st.sampled_from(["edges", "labels", "product", "star"])
    centers = np.array([data.draw(columns(5)) for _ in range(X.shape[1])]).T * 0.25
    labels = data.draw(labels_for(len(X)))

    def graph(kind):
        if kind == "edges":
            drawn = adjacencies_for(len(X), any_weight=data.draw(st.booleans()))
            return SparseGraph.from_adjacency(data.draw(drawn))
        if kind == "labels":
            return CliqueGraph.from_labels(labels)
        return ProductGraph.from_masses(
            data.draw(st.lists(st.integers(0, 9), min_size=len(X), max_size=len(X)))
        )

    kind = data.draw(kinds)
    if kind == "star":
        pair = PairGraph(StarGraph(labels, centers), StarGraph(labels[::-1].copy(), centers))
    else:
        pair = PairGraph(graph(kind), graph(data.draw(kinds.filter(lambda kind: kind != "star"))))
    assume(pair.graph.degrees.sum() > 0)
    check(X, non_uniform_cut(pair), max_bins, **limits)
