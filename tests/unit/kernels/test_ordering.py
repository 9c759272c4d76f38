"""Rows are sorted as NumPy sorts them, whole and within bins."""

import numpy as np
import pytest

from kernel_sums import EXTRA, N_BINS
from spexplain.kernels import ordering


@pytest.mark.parametrize("length", [0, 1, 15, 16, 17, 33, 100, 1000])
def test_sort_pairs(run, length):
    keys = np.random.default_rng(length).integers(0, 20, size=length + 4) / 2
    items = np.arange(length + 4, dtype=np.int32)
    order = np.argsort(keys[2:-2], kind="stable") + 2
    expected = np.r_[keys[:2], keys[order], keys[-2:]], np.r_[items[:2], items[order], items[-2:]]
    run(ordering.sort_pairs, keys, items, 2, length + 2, np.empty_like(keys), np.empty_like(items))
    assert np.array_equal(keys, expected[0])
    assert np.array_equal(items, expected[1])


def test_sort_pairs_of_runs_in_order_already(run):
    keys, items = np.arange(64.0), np.arange(64, dtype=np.int32)
    run(ordering.sort_pairs, keys, items, 0, 64, np.empty(64), np.empty(64, np.int32))
    assert np.array_equal(keys, np.arange(64))


def test_sort_bins(run, table):
    columns, values, codes, rows = table
    several = np.array([[False] * 5, [True, False, False, True, True]])
    wanted = several[1]
    room = run(ordering.room_for, len(rows), N_BINS)
    run(ordering.sort_bins, columns, EXTRA, 0, 2 * codes, 1, rows, several, 1, room)
    starts, sorted_, members = room[:3]
    chosen = rows[wanted[codes[0, rows]]]
    assert sorted_[: starts[-1]].tolist() == np.sort(values[0, chosen]).tolist()
    assert sorted(members[: starts[-1]]) == chosen.tolist()
    counts = [np.count_nonzero(codes[0, chosen] == b) for b in range(N_BINS)]
    assert np.diff(starts).tolist() == counts
    assert run(ordering.end_of_run, several, 1, 3, starts) == starts[5]
    assert run(ordering.end_of_run, several, 1, 0, starts) == starts[1]
