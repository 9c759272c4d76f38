"""Bins keep the order of values, are balanced, and are counted; impossible numbers of them are refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binned import heavy_tailed
from spexplain.engines import resolve_engine
from spexplain.engines.histogram import HistogramEngine
from spexplain.graphs import CliqueGraph
from spexplain.grow import grow
from spexplain.kernels.coding import sides_of, values_around
from spexplain.objectives import spex
from spexplain.table import coding as binning
from spexplain.table.views import SearchedMatrix
from spexplain.threads import Threads
from strategies import columns


@given(column=columns(30), extreme=st.booleans())
def test_bins_never_decrease_with_the_value(max_bins, column, extreme):
    values = np.array(column, dtype=np.float64)
    if extreme:
        values[:3] = [1e308, -1e308, 5e-324]
    extra = np.array([[0.5, values.max(), -2.5]])
    for row_major in (False, True):
        codes, solid, _ = binning.bin_table(
            SearchedMatrix.of(values[:, None]), extra, max_bins, Threads(1), row_major=row_major
        )
        everything = np.r_[values, extra[0]]
        order = np.argsort(everything, kind="stable")
        assert np.all(np.diff(codes[0, order].astype(int)) >= 0)
        assert np.all(codes[0][everything == values.max()] == codes[0, np.argmax(values)])
        for b in np.flatnonzero(solid[0]):
            assert len(set(everything[codes[0] == b])) == 1


@given(
    column=columns(30),
    missing=st.lists(st.integers(0, 29), min_size=1, max_size=30),
    extra=st.sampled_from([(), (-99.0, 0.5, 99.0)]),
    max_bins=st.sampled_from([2, 7, 64, 255]),
)
def test_twins_have_the_same_bins_but_for_missing_values(column, missing, extra, max_bins):
    values = np.array(column, dtype=np.float64)
    values[missing] = np.nan
    known = values[~np.isnan(values)]
    ends = [known.min(initial=0) - 1e-3, known.max(initial=0) + 1e-3]
    matrix = SearchedMatrix(
        np.column_stack([column, values]), np.array([0, 1, 1]), np.array([np.nan, *ends])
    )
    filled, points = matrix.written_out().T, np.tile(np.array(extra), (3, 1))
    for row_major in (False, True):
        codes, solid, twins = binning.bin_table(
            matrix, points, max_bins, Threads(1), row_major=row_major
        )
        assert twins.tolist() == [False, False, not extra and max_bins >= 64]
        for f in range(3):
            everything = np.r_[filled[f], points[f]]
            order = np.argsort(everything, kind="stable")
            assert np.all(np.diff(codes[f, order].astype(int)) >= 0)
            for b in np.flatnonzero(solid[f]):
                assert len(set(everything[codes[f] == b])) <= 1
        if twins[2]:
            is_missing = np.isnan(values)
            assert np.array_equal(codes[1, ~is_missing], codes[2, ~is_missing])
            for shift in range(4):  # missing values stay apart
                bins = codes[:3].astype(int) >> shift
                assert set(bins[1, is_missing]) == {0}
                assert 0 not in bins[1, ~is_missing]
                assert set(bins[2, is_missing]) == {max_bins - 1 >> shift}
                assert np.all(bins[2, ~is_missing] < max_bins - 1 >> shift)


@given(
    seed=st.integers(0, 2**32 - 1),
    n_values=st.sampled_from([1, 3, 200, 10**6]),
    share=st.sampled_from([0.0, 0.05, 1.0]),
    max_bins=st.sampled_from([2, 64, 255]),
    threshold=st.floats(-0.1, 1.1),
)
def test_codes_tell_the_sides_of_a_cut_and_the_values_around_it(
    seed, n_values, share, max_bins, threshold
):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, n_values + 1, size=(1500, 1)) / n_values
    values[rng.random(1500) < share] = np.nan
    matrix = SearchedMatrix(values, np.array([0, 0]), np.array([-0.5, 1.5]))
    extra = np.tile(rng.random(3), (2, 1))
    codes, *_ = binning.bin_table(matrix, extra, max_bins, Threads(1), row_major=False)
    rows = np.flatnonzero(rng.random(1503) < rng.choice([0.1, 0.5, 1.0])).astype(np.int32)
    for feature, column in enumerate(matrix.written_out().T):
        own = np.r_[column, extra[feature]][rows]
        is_left = np.empty(len(rows), dtype=bool)
        for cut in (threshold, *own[:3]):
            sides_of(matrix, extra, codes, feature, -np.inf, cut, rows, is_left)
            assert np.array_equal(is_left, own <= cut)
        for last_code in (0, max_bins // 2, max_bins - 2, 255):
            below = codes[feature, rows] <= last_code
            expected = own[below].max(initial=-np.inf), own[~below].min(initial=np.inf)
            assert values_around(matrix, extra, codes, feature, rows, last_code) == expected


def test_bins_are_balanced_and_single_values_known():
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [rng.normal(size=20_000), rng.standard_cauchy(20_000), rng.integers(0, 9, 20_000)]
    )
    codes, solid, _ = binning.bin_table(
        SearchedMatrix.of(X), np.empty((3, 0)), 255, Threads(2), row_major=False
    )
    for f in range(2):
        counts = np.bincount(codes[f], minlength=255)
        assert np.count_nonzero(counts) > 240
        assert counts.max() < 4 * 20_000 / 255
    assert np.count_nonzero(solid[2]) == len(np.unique(codes[2])) == 9


def test_bins_are_counted(path):
    X, labels = heavy_tailed(n_rows=3000)
    search = HistogramEngine().bind(X, spex(CliqueGraph.from_labels(labels)))
    assert (search.n_bounded, search.n_refined) == (0, 0)
    grow(search, max_leaves=8)
    assert 0 < search.n_refined < search.n_bounded


def test_names_and_refusals():
    assert isinstance(resolve_engine("histogram", n_jobs=2), HistogramEngine)
    for max_bins in (1, 256):
        with pytest.raises(ValueError, match="max_bins"):
            HistogramEngine(max_bins=max_bins).bind(np.zeros((2, 1)), None)
