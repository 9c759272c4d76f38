"""Rows are sorted as NumPy sorts them, whole and within bins."""

import numpy as np
import pytest

from kernel_sums import EXTRA, N_BINS
from spexplain.kernels import ordering
from spexplain.table.views import SearchedMatrix


@pytest.mark.parametrize("length", [0, 1, 8, 9, 40, 41, 100, 1000])
def test_sort_bins(run, length):
    """Two bins of values with ties; what lies outside stays."""
    n = 2 * length + 4
    values = np.random.default_rng(length).integers(0, 20, size=n) / 2
    members = np.arange(n, dtype=np.int32)
    starts = np.array([[2, length + 2, n - 2]])
    expected = values.copy()
    for start, stop in ((2, length + 2), (length + 2, n - 2)):
        order = start + np.argsort(values[start:stop], kind="stable")
        expected[start:stop] = values[order]
    before = values.copy()
    run(ordering.sort_bins, starts, values, members)
    assert np.array_equal(values, expected)
    assert np.array_equal(before[members], values)
    for start, stop in ((0, 2), (2, length + 2), (length + 2, n - 2), (n - 2, n)):
        assert sorted(members[start:stop]) == list(range(start, stop))


def test_sort_bins_in_order_already(run):
    values, members = np.arange(64.0), np.arange(64, dtype=np.int32)
    run(ordering.sort_bins, np.array([[0, 64]]), values, members)
    assert np.array_equal(values, np.arange(64))


def test_sort_rows(run, table):
    matrix, values, codes, rows = table
    features = np.array([2, 0])
    wanted = np.array([[False, True, False, False, False], [True, False, False, True, True]])
    found = run(
        ordering.sort_rows, matrix, EXTRA, 2 * codes, 1, features, wanted, rows, 2 * len(rows)
    )
    for j, f in enumerate(features):
        chosen = rows[wanted[j, codes[f, rows]]]
        here = slice(found.starts[j, 0], found.starts[j, -1])
        assert found.values[here].tolist() == np.sort(values[f, chosen]).tolist()
        assert np.array_equal(values[f, found.members[here]], found.values[here])
        assert sorted(found.members[here]) == chosen.tolist()
        counts = [np.count_nonzero(codes[f, chosen] == b) for b in range(N_BINS)]
        assert np.diff(found.starts[j]).tolist() == counts


def test_tables_of_two_types_take_turns():
    """Numba 0.60 took the one for the other after some hundred calls."""
    rng = np.random.default_rng(0)
    features, offsets = np.array([0, 1]), np.array([0, 6, 12])
    chosen = np.tile(np.arange(6, dtype=np.int32), 2)
    for turn in range(1000):
        X = rng.normal(size=(6, 2)).astype(np.float64 if turn % 2 else np.float32)
        codes = rng.integers(0, 4, size=(2, 6)).astype(np.uint8)
        found = ordering.sort_chosen(
            SearchedMatrix.of(X), np.empty((2, 0)), codes, 0, features, 4, offsets, chosen
        )
        for feature in features:
            order = np.lexsort((X[:, feature], codes[feature]))
            members = found.members[6 * feature : 6 * feature + 6]
            assert members.tolist() == order.tolist()
            assert (
                found.values[6 * feature : 6 * feature + 6].tolist() == X[order, feature].tolist()
            )
