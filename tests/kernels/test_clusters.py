"""Sums of clusters and of stars at borders and gaps equal those over all pairs."""

import numpy as np
import pytest

from kernel_sums import (
    EXTRA,
    N_BINS,
    WANTED,
    clique_sums,
    edge_sums,
    expected_borders,
    expected_gaps,
    read_gaps,
)
from spexplain.kernels import labels, stars


@pytest.fixture
def counted(run, table, clustered):
    """Histograms of features 1 and 2."""
    _, _, codes, rows = table
    label_of, _ = clustered
    histograms = np.zeros((2, N_BINS, 4), dtype=np.int32)
    run(
        labels.fill_histograms,
        2 * codes + 1,
        1,
        np.arange(1, 3),
        rows,
        label_of[rows],
        1,
        histograms,
    )
    return histograms


def test_histograms(run, table, clustered, counted):
    _, _, codes, rows = table
    label_of, _ = clustered
    for f, b, c in np.ndindex(counted.shape):
        inside = (codes[f + 1, rows] == b) & (label_of[rows] == c)
        assert counted[f, b, c] == np.count_nonzero(inside)
    features = np.array([2, 1])
    run(labels.fill_histograms, codes, 0, features, rows, label_of[rows], -1, counted[::-1])
    assert not counted.any()


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_label_borders(run, table, clustered, counted, dtype):
    _, _, codes, rows = table
    label_of, clusters = clustered
    rates = np.array([0.5, 0.25, 0.1, 0.0])
    sums, caps = np.empty((2, 6, N_BINS + 1), np.int64), np.empty((2, 2, N_BINS + 1))
    starts = np.zeros((2, 4), dtype=np.int32)
    run(labels.scan_histograms, counted, starts, clusters.astype(dtype), rates, sums, caps)
    expected = expected_borders(
        codes[1:], rows, lambda left: clique_sums(left, rows, label_of, *clusters[1:])
    )
    assert np.swapaxes(sums, 1, 2).tolist() == expected
    for f, b in np.ndindex(2, N_BINS + 1):
        is_left = codes[f + 1, rows] < b
        for side, part in enumerate((rows[is_left], rows[~is_left])):
            n_inside = np.bincount(label_of[part], minlength=4)
            assert caps[f, side, b] == np.max((n_inside - 1) * rates * (n_inside > 0), initial=0.0)


@pytest.fixture
def paired(counted):
    """The same with twins behind them, histograms of all and of those that are counted."""
    counted[:, -1] = (
        0  # what lies apart from the rest, in the first bin, lies in the last of a twin
    )
    histograms = np.repeat(counted, 2, axis=0)
    histograms[1::2, -1] = histograms[::2, 0]
    histograms[1::2, 0] = 0
    return histograms, counted, np.array([0, 0, 1, 1])


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_borders_of_twins_follow_from_those_before_them(run, clustered, paired, dtype):
    _, clusters = clustered
    histograms, counted, cells_of = paired
    totals, rates = counted[0].sum(axis=0), np.array([0.5, 0.25, 0.1, 0.0])
    own = np.vstack([totals, clusters[1:]]).astype(dtype)
    starts, found = np.zeros((4, 4), dtype=np.int32), []
    for cells, places in ((histograms, None), (counted, cells_of)):
        sums, caps = np.empty((4, 6, N_BINS + 1), np.int64), np.empty((4, 2, N_BINS + 1))
        run(labels.scan_histograms, cells, starts, own, rates, sums, caps, places)
        found.append((sums[:2], caps[:2]))  # the others have other totals
    (sums, caps), (shared_sums, shared_caps) = found
    assert np.array_equal(sums, shared_sums)
    assert np.array_equal(caps[0], shared_caps[0])
    assert np.all(shared_caps[1] >= caps[1])


def test_corners_and_zooms_of_twins_follow_from_those_before_them(run, table, clustered, paired):
    _, _, codes, rows = table
    label_of, clusters = clustered
    histograms, counted, cells_of = paired
    wanted, starts = np.ones((4, N_BINS), dtype=bool), np.zeros((4, 4), np.int32)
    wanted[0, 2:] = False
    borders, caps = np.empty((4, 6, N_BINS + 1), np.int64), np.empty((4, 2, N_BINS + 1))
    run(labels.scan_histograms, histograms, starts, clusters, np.ones(4), borders, caps)
    found = []
    for cells, places in ((histograms, np.arange(4)), (counted, cells_of)):
        sums = np.empty((np.count_nonzero(wanted), 2, 4, 4), np.int64)
        args = starts, np.arange(4), wanted, clusters, 2, borders, sums
        run(labels.corner_sums, cells, places, *args)
        lower = np.zeros((4, 4), dtype=np.int32)
        features, bins, of_rows = np.arange(4) % 3, np.array([0, 2, 1, 3]), label_of[rows]
        is_twin = labels.is_twin_of(places)
        narrow = np.zeros((4, 2, 4), np.int32)
        run(
            labels.zoom_histograms, 2 * codes, 1, features, bins, rows, of_rows, cells, places, is_twin,
            lower, narrow,
        )  # fmt: skip
        found.append((sums.tolist(), lower.tolist()))
    assert found[0] == found[1]
    assert found[0][1] == [histograms[f, :b].sum(axis=0).tolist() for f, b in enumerate(bins)]


def test_zoomed_label_borders(run, table, clustered):
    """Single bins of two codes each, looked at code by code, have the borders of the whole feature."""
    _, _, codes, rows = table
    label_of, clusters = clustered
    n_wide = (N_BINS + 1) // 2
    wide = np.zeros((3, n_wide, 4), dtype=np.int32)
    run(labels.fill_histograms, codes, 1, np.arange(3), rows, label_of[rows], 1, wide)
    features, bins = np.array([0, 0, 2]), np.array([0, 2, 1])
    histograms, starts = np.zeros((3, 2, 4), np.int32), np.zeros((3, 4), np.int32)
    of_rows = label_of[rows]
    own = features, np.zeros(3, dtype=bool)
    run(
        labels.zoom_histograms, codes, 1, features, bins, rows, of_rows, wide, *own, starts, histograms
    )  # fmt: skip
    sums, caps = np.empty((3, 6, 3), np.int64), np.empty((3, 2, 3))
    run(labels.scan_histograms, histograms, starts, clusters, np.ones(4), sums, caps)
    for s, (f, wide_bin) in enumerate(zip(features, bins, strict=True)):
        for b in range(3):
            left = rows[codes[f, rows] < 2 * wide_bin + b]
            assert sums[s, :, b].tolist() == clique_sums(left, rows, label_of, *clusters[1:])


def test_sweep_labels(run, table, clustered):
    matrix, values, codes, rows = table
    label_of, clusters = clustered

    def sums_of(left):
        return clique_sums(left, rows, label_of, *clusters[1:])

    wanted, features = np.array(WANTED, dtype=bool), np.array([0, 1, 2])
    borders = np.swapaxes(expected_borders(codes, rows, sums_of), 1, 2)
    gaps = np.empty((6, 200), np.int64), np.empty((2, 200)), np.empty(200, np.int64)
    n_gaps = run(
        labels.sweep_labels, matrix, EXTRA, 2 * codes, 1, features, wanted, rows, label_of,
        np.arange(4), clusters, np.ascontiguousarray(borders), *gaps,
    )  # fmt: skip
    expected = expected_gaps(values, codes, rows, wanted, features, sums_of)
    assert read_gaps(n_gaps, *gaps) == expected


@pytest.mark.parametrize("n_top", [1, 2, 3])
def test_corner_sums(run, table, clustered, n_top):
    _, _, codes, rows = table
    label_of, clusters = clustered
    wanted, features = np.array(WANTED, dtype=bool), np.array([0, 1, 2])
    wanted[1] = False
    histograms, starts = np.zeros((3, N_BINS, 4), np.int32), np.zeros((3, 4), np.int32)
    run(labels.fill_histograms, codes, 0, np.arange(3), rows, label_of[rows], 1, histograms)
    borders, caps = np.empty((3, 6, N_BINS + 1), np.int64), np.empty((3, 2, N_BINS + 1))
    run(labels.scan_histograms, histograms, starts, clusters, np.ones(4), borders, caps)
    sums = np.empty((np.count_nonzero(wanted), 2, 4, 1 << n_top), np.int64)
    places = np.array([0, 2])
    run(
        labels.corner_sums, histograms, features, starts, places, wanted, clusters, n_top, borders,
        sums,
    )  # fmt: skip
    for w, (j, b) in enumerate(np.argwhere(wanted)):
        bins = codes[features[j], rows]
        here = np.bincount(label_of[rows[bins == b]], minlength=4)[:3]
        top = np.argsort(-here, kind="stable")[:n_top]
        is_top = (bins == b) & np.isin(label_of[rows], top)
        for subset in range(1 << n_top):
            moved = [c for bit, c in enumerate(top) if subset >> bit & 1]
            is_moved = is_top & np.isin(label_of[rows], moved)
            for rest, is_left in enumerate(
                ((bins < b) | is_moved, (bins <= b) & (~is_top | is_moved))
            ):
                expected = clique_sums(rows[is_left], rows, label_of, *clusters[1:])
                assert sums[w, rest, :, subset].tolist() == expected[:4]


@pytest.fixture(params=[(40, 41), (41,), ()], ids=str)
def starred(request, table):
    """Samples joined to two centres, of which some are in the node; one label has no centre."""
    rows = np.append(table[3][table[3] < 40], request.param).astype(np.int32)
    label_of = np.random.default_rng(6).integers(0, 3, size=42).astype(np.uint16)
    label_of[40:] = 2
    adjacency = np.zeros((42, 42), dtype=np.int64)
    for x in range(40):
        if label_of[x] < 2:
            adjacency[x, 40 + label_of[x]] = adjacency[40 + label_of[x], x] = 1
    vertices = np.stack([adjacency.sum(axis=1), np.arange(42) >= 40, np.arange(42) < 40])
    centers = np.array(request.param, dtype=np.int64)
    joins = np.array([2 * (40 in request.param), 2 * (41 in request.param), 0])
    clusters = np.stack([np.bincount(label_of[rows], minlength=3), joins, [1, 1, 0]])
    of_centers = np.stack([centers - 40, vertices[0, centers], np.ones_like(centers)])
    return rows, label_of, clusters, of_centers, adjacency, vertices.astype(np.int64)


def test_star_borders_and_gaps(run, table, starred):
    matrix, values, codes, _ = table
    rows, label_of, clusters, centers, adjacency, vertices = starred

    def sums_of(left):
        return edge_sums(left, rows, adjacency, vertices)

    histograms, starts = np.zeros((3, N_BINS, 3), np.int32), np.zeros((3, 3), np.int32)
    wide = 2 * codes + 1
    run(labels.fill_histograms, wide, 1, np.arange(3), rows, label_of[rows], 1, histograms)
    sums_ = np.empty((3, 6, N_BINS + 1), np.int64)
    center_codes = np.ascontiguousarray(wide[:, rows[rows >= 40]])
    first = np.zeros(3, np.int64)
    run(stars.scan_stars, histograms, starts, first, 1, center_codes, clusters, centers, sums_)
    assert np.swapaxes(sums_, 1, 2).tolist() == expected_borders(codes, rows, sums_of)
    wanted, features = np.array(WANTED, dtype=bool), np.array([0, 1, 2])
    gaps = np.empty((6, 200), np.int64), np.empty((2, 200)), np.empty(200, np.int64)
    n_gaps = run(
        stars.sweep_stars, matrix, EXTRA, wide, 1, features, wanted, rows, label_of, np.arange(3),
        clusters, centers, sums_, *gaps,
    )  # fmt: skip
    expected = expected_gaps(values, codes, rows, wanted, features, sums_of)
    assert read_gaps(n_gaps, *gaps) == expected
