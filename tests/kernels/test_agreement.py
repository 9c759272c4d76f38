"""Pair sums at borders equal those counted anew."""

import numpy as np

from spexplain.kernels import agreement


def test_scan_moves(run):
    """Pair sums at borders, from the table of leaves × clusters counted anew at each of them."""
    rng = np.random.default_rng(8)
    n_rows, n_bins = 60, 4
    bins = rng.integers(0, n_bins, size=(2, n_rows))
    cluster = rng.integers(0, 4, size=n_rows)  # the last column counts rows of no cluster
    right, left = rng.integers(2, 4, size=n_rows), rng.integers(0, 2, size=n_rows)
    cells = np.stack([left * 4 + cluster, right * 4 + cluster])
    pair, kinds = np.unique(cells, axis=1, return_inverse=True)
    histograms = np.zeros((2, n_bins, pair.shape[1]), dtype=np.int32)
    for f in range(2):
        np.add.at(histograms[f], (bins[f], kinds), 1)
    weights, leaf_of_cell = np.tile([True, True, True, False], 4), np.repeat(np.arange(4), 4)
    need = np.array([3, 25, 4, 20])

    def state(leaf):
        table = np.bincount(leaf * 4 + cluster, minlength=16).reshape(4, 4)
        counted = table[:, :3]
        pairs = [
            int(np.sum(part * (part - 1))) // 2
            for part in (counted[:2], counted[2:], counted[:2].sum(axis=1), counted[2:].sum(axis=1))
        ]
        short = table.sum(axis=1) < need
        return table, [*pairs], [int(short[:2].sum()), int(short[2:].sum())]

    table, pairs, _ = state(right)
    sums = np.empty((2, 7, n_bins + 1), dtype=np.int64)
    run(
        agreement.scan_moves, histograms, pair[0], pair[1], np.array([True, True, False, False]),
        leaf_of_cell, weights, table.ravel(), table[:, :3].sum(axis=1), table.sum(axis=1), need,
        (pairs[1], pairs[3]), sums,
    )  # fmt: skip
    for f, b in np.ndindex(2, n_bins + 1):
        _, pairs, short = state(np.where(bins[f] < b, left, right))
        assert sums[f, :, b].tolist() == [*pairs, np.count_nonzero(bins[f] < b), *short]
