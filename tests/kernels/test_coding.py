"""Bins and values of rows equal one-line definitions in NumPy; kernels compile where nothing can be kept."""

import numpy as np
import pytest

from kernel_sums import EXTRA, N_BINS
from spexplain.kernels import coding, jit


def test_code_features_by_bisection_and_by_grid(run):
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(70, 600))
    column_of, features = np.arange(70)[::-1].copy(), np.arange(1, 69)
    edges_ = np.full((70, 255), np.inf)
    edges_[:, :9] = np.sort(rng.normal(size=(70, 9)), axis=1)
    origin, scale = np.full(70, -2.0), np.where(np.arange(70) % 2, 0.0, 3.0)
    cells = np.tile(np.append(np.arange(12) * 2, coding.MISSING).astype(np.uint8), (70, 1))
    codes = np.zeros((70, 600), dtype=np.uint8)
    values = columns[::-1].T
    run(
        coding.code_features, values, column_of, features, edges_, origin, scale, cells, codes
    )  # fmt: skip
    counted = np.sum(edges_[:, None, :] < columns[:, :, None], axis=2)
    looked_up = 2 * np.clip((columns + 2) * 3, 0, 11).astype(int)
    expected = np.where(scale[:, None] > 0, looked_up, counted)
    assert np.array_equal(codes[1:69], expected[1:69])
    assert not codes[[0, 69]].any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [0.0, 3.0], ids=["bisected", "looked up"])
def test_nan_has_the_code_of_missing_values_and_nothing_else_has(run, dtype, scale):
    columns = np.linspace(-9, 9, 180, dtype=dtype).reshape(1, -1)
    columns[0, [0, 70, 179]] = np.nan
    edges_ = np.append(np.linspace(-8, 8, 254), np.inf)[None]
    cells = np.append(np.full(254, 254), coding.MISSING).astype(np.uint8)[None]
    codes = np.zeros((1, 180), dtype=np.uint8)
    grid, first = (np.zeros(1), np.array([scale]), cells), np.zeros(1, dtype=np.int64)
    run(coding.code_features, columns.T, first, first, edges_, *grid, codes)
    assert np.array_equal(codes == coding.MISSING, np.isnan(columns))


@pytest.mark.parametrize("n_edges", [0, 1, 2, 127, 128, 254, 255])
def test_bisect(run, n_edges):
    edges_ = np.zeros((2, 255))
    edges_[1] = np.r_[np.arange(n_edges) * 1.0, np.full(255 - n_edges, np.inf)]
    for value in (-1.0, 0.0, 0.5, 100.0, 126.5, 127.0, 300.0):
        assert run(coding.bisect, edges_, 1, value) == np.sum(edges_[1] < value)


def test_values_and_sides(run, table):
    matrix, values, codes, rows = table
    for feature, row in np.ndindex(3, 40):
        assert run(coding.value_of, matrix, EXTRA, feature, row) == values[feature, row]
    assert run(coding.value_of, matrix, EXTRA, 1, 41) == EXTRA[1, 1]
    is_left = np.empty(len(rows), dtype=bool)
    run(coding.sides_of, matrix, EXTRA, codes, 2, -0.5, 0.5, rows, is_left)
    assert np.array_equal(is_left, (values[2, rows] > -0.5) & (values[2, rows] <= 0.5))
    low, high = run(coding.values_around, matrix, EXTRA, codes, 0, rows, 2)
    below = codes[0, rows] <= 2
    assert (low, high) == (values[0, rows][below].max(), values[0, rows][~below].min())
    lows, highs = np.full(256, np.inf), np.full(256, -np.inf)
    run(coding.spread_of_bins, matrix.values, 1, -1.25, codes, 1, lows, highs)
    for b in range(N_BINS):
        inside = values[1, :40][codes[1, :40] == b]
        assert (lows[b], highs[b]) == (inside.min(initial=np.inf), inside.max(initial=-np.inf))


def test_kernels_compile_where_nothing_can_be_kept(monkeypatch):
    real = jit.numba.njit

    def without_cache(**options):
        if options.pop("cache", False):
            raise RuntimeError("cannot cache function: no locator available")
        return real(**options)

    monkeypatch.setattr(jit.numba, "njit", without_cache)
    assert jit.jit(lambda x: x + 1)(1) == 2
