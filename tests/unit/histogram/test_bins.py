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
from spexplain.objectives import spex
from spexplain.table import coding as binning
from spexplain.threads import Threads
from strategies import columns


@given(column=columns(30), extreme=st.booleans())
def test_bins_never_decrease_with_the_value(max_bins, column, extreme):
    values = np.array(column, dtype=np.float64)
    if extreme:
        values[:3] = [1e308, -1e308, 5e-324]
    extra = np.array([[0.5, values.max(), -2.5]])
    for row_major in (False, True):
        codes, solid = binning.bin_table(
            values[None], extra, max_bins, Threads(1), row_major=row_major
        )
        everything = np.r_[values, extra[0]]
        order = np.argsort(everything, kind="stable")
        assert np.all(np.diff(codes[0, order].astype(int)) >= 0)
        assert np.all(codes[0][everything == values.max()] == codes[0, np.argmax(values)])
        for b in np.flatnonzero(solid[0]):
            assert len(set(everything[codes[0] == b])) == 1


def test_bins_are_balanced_and_single_values_known():
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [rng.normal(size=20_000), rng.standard_cauchy(20_000), rng.integers(0, 9, 20_000)]
    )
    codes, solid = binning.bin_table(
        np.ascontiguousarray(X.T), np.empty((3, 0)), 255, Threads(2), row_major=False
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
