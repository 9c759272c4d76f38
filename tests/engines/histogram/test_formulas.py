"""The histogram engine grows the tree of the exhaustive engine on a hard table, for every formula and way to count."""

from dataclasses import replace

import numpy as np
import pytest

from binned import ON_LABELS, ON_STARS, check, heavy_tailed, star
from growing import grown
from spexplain.engines import NumpyEngine
from spexplain.engines.exhaustive import NumpySearch
from spexplain.engines.histogram import HistogramEngine, HistogramSearch
from spexplain.engines.histogram.scores import CompiledScores, scores_of
from spexplain.graphs import (
    CenterCosts,
    CliqueGraph,
    PairGraph,
    ProductGraph,
    ServingCenters,
    SparseGraph,
)
from spexplain.ledgers import labels as ledger_labels
from spexplain.ledgers import ledger_of
from spexplain.objectives import (
    Objective,
    compilable,
    exkmc,
    greedy_service,
    non_uniform_cut,
    spex,
)
from spexplain.records import Side


@pytest.mark.parametrize(
    ("n_jobs", "order", "dtype"),
    [(1, "C", np.float32), (2, "F", np.float64), (3, "neither", np.float32), (2, "C", np.float64)],
)
def test_heavy_tails_and_ties(max_bins, n_jobs, order, dtype):
    X, labels = heavy_tailed(dtype=dtype)
    X = np.repeat(X, 2, axis=1)[:, ::2] if order == "neither" else np.asarray(X, order=order)
    rng = np.random.default_rng(1)
    weights = rng.choice([0.0, 1.0, 2.0], p=[0.99, 0.005, 0.005], size=(len(X), len(X)))
    engine = HistogramEngine(n_jobs=n_jobs, max_bins=max_bins)
    edges = SparseGraph.from_adjacency(np.maximum(weights, weights.T))
    others = SparseGraph.from_adjacency(0.3 * np.maximum(weights, weights.T)[::-1, ::-1])
    for objective in [
        *(make(labels) for make in ON_LABELS.values()),
        spex(edges),
        spex(others),
        exkmc(CenterCosts.from_centers(X, star(X, labels).centers)),
        *(
            non_uniform_cut(PairGraph(*pair))
            for pair in [
                (edges, others),
                (edges, ProductGraph.from_masses(edges.degrees)),
                (CliqueGraph.from_labels(labels), others),
                (CliqueGraph.from_labels(labels), ProductGraph.from_masses(np.ones(len(X)))),
            ]
        ),
        *(make(star(X, labels, "furthest_l2")) for make in ON_STARS.values()),
    ]:
        expected = grown(NumpyEngine(), X, objective, min_samples_leaf=2)
        assert grown(engine, X, objective, min_samples_leaf=2) == expected


def test_every_way_to_count(path, monkeypatch):
    X, labels = heavy_tailed(n_rows=3000)
    objective = spex(CliqueGraph.from_labels(labels))
    expected = grown(NumpyEngine(), X, objective, max_leaves=12)
    for rows_per_kept_cell in (0.1, 1.0, 9e9):
        monkeypatch.setattr(ledger_labels, "_ROWS_PER_KEPT_CELL", rows_per_kept_cell)
        for max_bins in (16, 255):
            assert (
                grown(HistogramEngine(max_bins=max_bins), X, objective, max_leaves=12) == expected
            )


def test_formula_without_a_trend_is_searched_exhaustively(max_bins):
    X, labels = heavy_tailed(n_rows=200)

    def score(left, right, node):
        return np.abs(np.sin(left.inner) + np.cos(right.volume))

    for graph in (CliqueGraph.from_labels(labels), star(X, labels)):
        check(X, Objective("wild", graph, score, lambda node: 0.0), max_bins)


def test_a_formula_of_somebody_else_is_scored_by_arrays(max_bins):
    X, labels = heavy_tailed(n_rows=200)
    objectives = [make(labels) for make in ON_LABELS.values()]
    objectives += [make(star(X, labels)) for make in ON_STARS.values()]
    for objective in objectives:
        strange = replace(objective, score=lambda *sides, known=objective.score: known(*sides))
        check(X, strange, max_bins, min_samples_leaf=2)


@compilable
def parted_weight(left, right, node):
    return (node.inner - left.inner - right.inner) // 2


@compilable
def sparsest_cut(left, right, node):
    return parted_weight(left, right, node) / np.minimum(left.size, right.size)


def test_a_formula_of_somebody_else_may_be_compiled(max_bins):
    X, labels = heavy_tailed(n_rows=200)
    graph = CliqueGraph.from_labels(labels)
    trend = Side(inner=-1, volume=0, size=-1)
    objective = Objective("sparsest cut", graph, sparsest_cut, lambda node: 0.0, trend=trend)
    assert isinstance(scores_of(objective, ledger_of(graph, trend)), CompiledScores)
    check(X, objective, max_bins, min_samples_leaf=2)


def test_nodes_may_be_asked_for_one_by_one_and_again():
    X, labels = heavy_tailed()
    objective = spex(CliqueGraph.from_labels(labels))
    search, twin = (
        engine.bind(X, objective) for engine in (HistogramEngine(max_bins=7), NumpyEngine())
    )
    node, other = search.root(), twin.root()
    for _ in range(4):
        (cut,), (expected,) = search.best_cuts([node]), twin.best_cuts([other])
        assert search.best_cuts([node]) == [cut] == [expected]
        parts, others = search.split(node, cut), twin.split(other, cut)
        assert [search.best_cuts([part]) for part in parts] == [
            twin.best_cuts([part]) for part in others
        ]
        node, other = max(zip(parts, others, strict=True), key=lambda pair: search.size(pair[0]))


def test_graphs_without_bins_are_left_to_the_exhaustive_engine():
    class Other(CliqueGraph):
        """A graph type that the engine has not met: it knows its base class."""

    X, labels = heavy_tailed(n_rows=50)
    other = Other.from_labels(labels)
    assert ledger_of(other).has_bins
    assert isinstance(HistogramEngine().bind(X, spex(other)), HistogramSearch)
    served = ServingCenters.from_centers(X, star(X, labels).centers)
    for without in (served, PairGraph(other, served)):
        assert not ledger_of(without).has_bins
    assert isinstance(HistogramEngine().bind(X, greedy_service(served)), NumpySearch)
    with pytest.raises(TypeError, match=r"No ledger is known for graphs of type object; register"):
        HistogramEngine().bind(X, spex(object()))
