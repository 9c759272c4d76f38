"""The Dask engine finds the trees of the exhaustive engine, whatever the partitions; few bytes travel."""

import pickle
from dataclasses import replace
from itertools import pairwise

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from partitioned import expected, mixture, objectives
from spexplain.engines import NumpyEngine, base, resolve_engine
from spexplain.engines.dask import DaskEngine, search, worker, zoom
from spexplain.engines.dask.zoom import look_bytes
from spexplain.engines.histogram import HistogramEngine
from spexplain.graphs import CliqueGraph, PairGraph, SparseGraph
from spexplain.grow import grow
from spexplain.objectives import Objective, non_uniform_cut, spex
from spexplain.records import Cut
from spexplain.table.coding import binning_of, code, limits_of
from spexplain.table.partition_worker import code_part
from strategies import labelled_tables

pytestmark = pytest.mark.usefixtures("synchronous")
quick = settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])


def chunked(X, cuts):
    """A Dask array with chunks that end at these rows; some may be empty."""
    ends = [0, *sorted(cuts), len(X)]
    blocks = [X[start:stop] for start, stop in pairwise(ends)]
    return da.concatenate(
        [
            da.from_delayed(dask.delayed(block, traverse=False), block.shape, dtype=block.dtype)
            for block in blocks
        ]
    )


def grown(engine, X, objective, *, min_samples_leaf=1):
    bound = engine.bind(X, objective, min_samples_leaf=min_samples_leaf)
    return grow(bound, max_leaves=8), bound


@pytest.fixture(params=[False, True], ids=["plain", "finely"])
def depth(request, monkeypatch):
    """Short lists and few places: small tables are looked at again and again, as large ones are."""
    if request.param:
        monkeypatch.setattr(zoom, "_ENOUGH", 2)
        for module in (zoom, search):
            monkeypatch.setattr(module, "N_PLACES", 3)
        monkeypatch.setattr(search, "_MOST_ASKED", 200)
        monkeypatch.setattr(search, "_FEW", 0)
        monkeypatch.setattr(search, "row_bytes", lambda tally: look_bytes(tally) // 2)
        monkeypatch.setattr(search, "_MOST_CELLS", 2000)  # bins are joined


@quick
@given(
    labelled_tables(),
    st.lists(st.integers(0, 12), max_size=4),
    st.integers(2, 6),
    st.integers(1, 2),
)
def test_any_partitions_give_the_same_tree(case, cuts, max_bins, min_samples_leaf):
    X, labels = case
    objective = spex(CliqueGraph.from_labels(labels))
    rows = chunked(X, [min(cut, len(X)) for cut in cuts])
    chunks = da.from_array(labels, chunks=2)  # other chunks than the rows have
    lazy = replace(objective, graph=replace(objective.graph, labels=chunks))
    tree, _ = grown(DaskEngine(max_bins), rows, lazy, min_samples_leaf=min_samples_leaf)
    assert tree == expected(X, objective, min_samples_leaf=min_samples_leaf)


@pytest.mark.parametrize("seed", range(3))
def test_every_kind_of_graph(depth, seed):
    X, labels = mixture(90, seed=seed)
    for name, objective in objectives(X, labels, seed=seed).items():
        engine = DaskEngine(max_bins=(3, 16, 255)[seed], rows_per_partition=(40, 90, 17)[seed])
        tree, _ = grown(engine, X, objective, min_samples_leaf=1 + seed % 2)
        assert tree == expected(X, objective, min_samples_leaf=1 + seed % 2), name


@pytest.mark.parametrize("width", [1, 7, 5000])
def test_partitions_of_one_row_and_of_all(width):
    X, labels = mixture(60)
    objective = spex(CliqueGraph.from_labels(labels))
    tree, _ = grown(DaskEngine(rows_per_partition=width), X, objective)
    assert tree == expected(X, objective)


def test_formula_without_a_trend_is_searched_exhaustively():
    X, labels = mixture(80)
    graph = CliqueGraph.from_labels(labels)
    wild = Objective("wild", graph, lambda left, right, node: np.sin(left.inner), lambda node: 0.0)
    assert grown(DaskEngine(7, 30), X, wild)[0] == expected(X, wild)


def test_extreme_values():
    X = np.array(
        [[1e308], [-1e308], [5e-324], [0.0], [-0.0], [1.0], [np.nextafter(1.0, 2)], [3e300]]
    )
    objective = spex(CliqueGraph.from_labels([0, 1, 0, 1, 1, 0, 1, 0]))
    for max_bins in (2, 255):
        assert grown(DaskEngine(max_bins, 3), X, objective)[0] == expected(X, objective)


def test_intervals_of_a_single_repeated_value_end(monkeypatch):
    monkeypatch.setattr(search, "_FEW", 0)
    monkeypatch.setattr(search, "row_bytes", lambda tally: look_bytes(tally) // 2)
    X = np.repeat([[1.0], [np.nextafter(1.0, 2)], [2.0]], 40, axis=0)
    objective = spex(CliqueGraph.from_labels(np.repeat([0, 1, 0], 40)))
    assert grown(DaskEngine(2, 50), X, objective)[0] == expected(X, objective)


def test_limits_of_bins_are_exact():
    rng = np.random.default_rng(0)
    sample = np.sort([rng.normal(size=3000), rng.standard_cauchy(3000), rng.integers(0, 9, 3000)])
    binning = binning_of(sample, 255)
    low, high = limits_of(binning)
    for ends in (low, high):
        codes = code(np.ascontiguousarray(ends.T), binning)
        for f in range(3):
            used = np.unique(code(np.ascontiguousarray(sample.T), binning)[f])
            assert np.array_equal(codes[f, used], used)


def test_few_bytes_travel_and_no_more_for_more_rows(monkeypatch):
    monkeypatch.setattr(search, "_FEW", 0)
    moved = []
    for n_rows in (64_000, 512_000):
        rng = np.random.default_rng(1)
        labels = rng.integers(0, 4, n_rows)
        X = rng.normal(size=(n_rows, 3)) + 2 * np.random.default_rng(2).normal(size=(4, 3))[labels]
        objective = spex(CliqueGraph.from_labels(labels))
        tree, found = grown(DaskEngine(rows_per_partition=n_rows // 4), X, objective)
        assert tree == grown(HistogramEngine(), X, objective)[0]
        traffic = found.workers.traffic
        assert (
            traffic.answers["histograms"] <= 3 * 256 * (4 + 1) * 8 * traffic.requests["histograms"]
        )
        moved.append(traffic)
    assert moved[0].answers["histograms"] == moved[1].answers["histograms"]
    # Bounds that count rows without regard to their order take 2.5 times as much.
    assert moved[1].answers["look"] < 2 * moved[0].answers["look"]


def test_absent_dask_is_said(monkeypatch):
    monkeypatch.setattr(base, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"spexplain\[dask\]"):
        resolve_engine("dask")


def test_names_and_refusals():
    assert isinstance(resolve_engine("dask"), DaskEngine)
    with pytest.raises(ValueError, match="max_bins"):
        DaskEngine(max_bins=1).bind(np.zeros((2, 1)), None)
    X, labels = mixture(40)
    pair = PairGraph(SparseGraph.from_adjacency(1 - np.eye(40)), CliqueGraph.from_labels(labels))
    objective = non_uniform_cut(pair)
    with pytest.raises(ValueError, match="PairGraph"):
        DaskEngine().bind(da.from_array(X), objective)
    cliques = spex(CliqueGraph.from_labels([0, 1]))
    with pytest.raises(ValueError, match="holds categories or missing values; fit an estimator"):
        DaskEngine().bind(dd.from_pandas(pd.DataFrame({"where": ["a", "b"]}), 1), cliques)
    tree = grow(DaskEngine().bind(X, objective), max_leaves=3)
    assert tree == grow(NumpyEngine().bind(X, objective), max_leaves=3)


def test_sides_are_remembered_beside_a_partition_and_made_anew_where_it_came_without_them():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(21, 2))
    categories = rng.integers(0, 3, size=21)
    binning = binning_of(np.sort(X.T), 256)
    part = code_part(X, binning, 1e9, is_held=False)
    cut = Cut(1, 0.25, 0.0, 0.0)
    is_left = np.array([True, False, True])
    by_number = {
        3: worker.Split(worker.side_of, (1, cut)),
        7: worker.Split(worker.side_of_categories, (is_left,), 0),
        8: worker.Split(worker.side_of_codes, (0, int(part.codes[0, 4]))),
    }
    expected = {3: X[:, 1] <= 0.25, 7: is_left[categories], 8: X[:, 0] <= X[4, 0]}
    splits = worker.Splits("one search", by_number)

    def told(part, splits, blocks):
        found = worker.sides_of(part, splits, blocks)
        return {
            number: np.unpackbits(found[number], count=21).astype(bool)
            for number in splits.by_number
        }

    def unknown(*_):
        raise AssertionError("made anew")

    for kept in (part, pickle.loads(pickle.dumps(part))):
        for number, sides in told(kept, splits, [categories]).items():
            np.testing.assert_array_equal(sides, expected[number])
        again = {number: split._replace(side=unknown) for number, split in by_number.items()}
        told(kept, splits._replace(by_number=again), [])
        with pytest.raises(AssertionError, match="made anew"):  # another search has other splits
            told(kept, worker.Splits("another search", again), [categories])
