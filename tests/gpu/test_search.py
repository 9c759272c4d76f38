"""The search of the CuPy engine, run by the NumPy twins of its kernels: no GPU is needed."""

import warnings

import numpy as np
import pytest

from gpu import cases
from gpu.twins import TwinKernels
from spexplain.engines import NumpyEngine, resolve_engine
from spexplain.engines.categories import KindSearch
from spexplain.engines.cupy import CupyEngine
from spexplain.engines.cupy.engine import check_graph, search_with
from spexplain.estimators.base import on_views
from spexplain.graphs import CenterCosts, CliqueGraph, MembershipGraph, SparseGraph
from spexplain.grow import grow
from spexplain.objectives import exkmc, spex
from spexplain.table.views import CategoryColumn, View


def check(seed, name, n_bins, *, memory=2**40, n_places=None, work=None):
    rng = np.random.default_rng(seed)
    n, d, k = int(rng.integers(2, 60)), int(rng.integers(1, 20)), int(rng.integers(2, 7))
    dtype, order = rng.choice([np.float32, np.float64]), str(rng.choice(["C", "F"]))
    X = cases.table(rng, n, d, dtype, order)
    objective = cases.objective(rng, name, X, k)
    least = int(rng.integers(1, 3))
    kernels = TwinKernels(wide=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = search_with(kernels, X, objective, least, n_bins, memory)
    if n_places is not None:
        search.n_places = n_places
    if work is not None:
        search.work = work
    expected = NumpyEngine().bind(X, objective, min_samples_leaf=least)
    assert grow(search, max_leaves=8) == grow(expected, max_leaves=8)


@pytest.mark.parametrize("n_bins", [2, 3, 7, 255])
@pytest.mark.parametrize("name", cases.NAMES)
def test_tree_is_that_of_the_exhaustive_engine(name, n_bins):
    for seed in range(6):
        check(seed, name, n_bins)


@pytest.mark.parametrize("name", cases.NAMES)
def test_streaming_and_small_portions(name):
    for seed in range(3):
        check(seed, name, 5, memory=1, n_places=40)


@pytest.mark.parametrize("name", cases.NAMES)
def test_borders_of_a_few_features_at_a_time(name):
    for seed in range(3):
        check(seed, name, 7, n_places=11, work=1)
        check(seed, name, 7, work=20_000)


def test_trees_grown_from_a_start_and_without_a_trend():
    rng = np.random.default_rng(2)
    X = cases.table(rng, 40, 6, np.float64, "C")
    for name in ("spex", "plain", "sparse", "imm"):
        objective = cases.objective(rng, name, X, 4)
        start = grow(NumpyEngine().bind(X, objective), max_leaves=3)
        search = search_with(TwinKernels(), X, objective, 1, 9, 2**40)
        expected = grow(NumpyEngine().bind(X, objective), max_leaves=6, start=start)
        assert grow(search, max_leaves=6, start=start) == expected


@pytest.mark.parametrize("name", cases.NAMES)
def test_missing_values(name):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        n, d, k = int(rng.integers(4, 40)), int(rng.integers(1, 9)), int(rng.integers(2, 5))
        X = cases.table(rng, n, d, rng.choice([np.float32, np.float64]), "C")
        objective = cases.objective(rng, name, X, k)
        _, views = cases.with_gaps(rng, X)
        if views.table.is_plain:
            continue
        placed, least = on_views(objective, views), int(rng.integers(1, 3))
        matrix = views.matrix.written_out()
        search = search_with(TwinKernels(wide=True), matrix, placed, least, 7, 2**40)
        expected = NumpyEngine().bind(matrix, placed, min_samples_leaf=least)
        grown, twin = (
            grow(KindSearch(each, views.views, ()), max_leaves=8) for each in (search, expected)
        )
        assert grown == twin


def test_categories_are_left_to_other_engines():
    graph = CliqueGraph.from_labels(np.arange(6) % 2)
    X = np.arange(6.0)[:, None]
    search = search_with(TwinKernels(), X, spex(graph), 1, 9, 2**40)
    letters = CategoryColumn(1, np.arange(6) % 3, 3)
    with pytest.raises(NotImplementedError, match='use engine="histogram"'):
        KindSearch(search, [View(0)], [letters])


def test_absent_cupy_is_said_in_one_sentence(monkeypatch):
    monkeypatch.setattr("spexplain.engines.base.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r'pip install "spexplain\[gpu\]"'):
        resolve_engine("cupy")


def test_graphs_that_the_device_does_not_know():
    graph = CenterCosts.from_centers(np.eye(3), np.eye(3)[:2])
    with pytest.raises(NotImplementedError, match='use engine="histogram"'):
        check_graph(exkmc(graph))
    with pytest.raises(ValueError, match="from 2 to 255"):
        CupyEngine(max_bins=256).bind(np.eye(3), exkmc(graph))
    weights = np.array([1.0, 2.0, 1.0])
    for weighted, why in (
        (MembershipGraph.from_amounts(np.ones((3, 2))), "several clusters share"),
        (SparseGraph.from_adjacency(np.ones((3, 3)), sample_weight=weights), "no weights of rows"),
    ):
        with pytest.raises(NotImplementedError, match=rf'{why}.* use engine="histogram"'):
            check_graph(spex(weighted))


def test_too_many_clusters():
    graph = CliqueGraph.from_labels(np.arange(50_000))
    with pytest.raises(ValueError, match="counts up to 40000 clusters"):
        search_with(TwinKernels(), np.zeros((50_000, 1)), spex(graph), 1, 9, 2**40)
