"""Kernels equal one-line definitions in NumPy, compiled and as plain Python."""

from itertools import pairwise

import numpy as np
import pytest

from spexplain.kernels import agreement, coding, edges, jit, labels, ordering, stars, sums

EXTRA = np.array([[0.5, -1.0], [2.0, 0.25], [0.0, 1.0]])
N_BINS = 5


@pytest.fixture(params=["compiled", "python"])
def run(request):
    """Call a kernel compiled, or its plain body."""
    if request.param == "compiled":
        return lambda kernel, *arguments: kernel(*arguments)
    return lambda kernel, *arguments: kernel.py_func(*arguments)


@pytest.fixture(params=[(np.float32, "C"), (np.float64, "F")], ids=["float32-C", "float64-F"])
def table(request):
    """A table feature by feature with ties, extra vertices, their bins, and some of the rows."""
    dtype, order = request.param
    rng = np.random.default_rng(3)
    columns = np.asarray(rng.integers(-4, 5, size=(3, 40)) / 4, dtype=dtype, order=order)
    values = np.concatenate([columns, EXTRA], axis=1).astype(np.float64)
    codes = np.digitize(values, [-0.6, -0.1, 0.3, 0.8]).astype(np.uint8)
    rows = np.flatnonzero(rng.random(42) < 0.7).astype(np.int32)
    return columns, values, codes, rows


def clique_sums(members, node, label_of, weights, degrees, counted):
    """Sums of a set, and of the rest of the node, from all pairs."""
    rest = np.setdiff1d(node, members)

    def inner(subset):
        same = label_of[subset][:, None] == label_of[subset][None, :]
        return int(
            np.sum(same * weights[label_of[subset]][:, None]) - weights[label_of[subset]].sum()
        )

    volume, size = degrees[label_of[members]].sum(), counted[label_of[members]].sum()
    return [inner(members), inner(rest), volume, size, len(members), len(members)]


def edge_sums(members, node, adjacency, vertices):
    """Sums of a set, and of the rest of the node, from the adjacency."""
    rest = np.setdiff1d(node, members)
    inner = [int(adjacency[np.ix_(part, part)].sum()) for part in (members, rest)]
    volume, size, samples = vertices[:, members].sum(axis=1)
    return [*inner, volume, size, len(members), samples]


def neighbors_of(adjacency, node, dtype):
    """Compressed neighbours, inside the node, of its vertices."""
    inside = [[y for y in node if adjacency[x, y]] for x in node]
    indptr = np.cumsum([0] + [len(each) for each in inside])
    flat = np.array([y for each in inside for y in each], dtype=np.int32)
    weights = [adjacency[x, y] for x, each in zip(node, inside, strict=True) for y in each]
    return indptr, flat, np.array(weights, dtype=dtype)


def test_code_features_by_bisection_and_by_grid(run):
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(70, 200))
    edges_ = np.full((70, 255), np.inf)
    edges_[:, :9] = np.sort(rng.normal(size=(70, 9)), axis=1)
    origin, scale = np.full(70, -2.0), np.where(np.arange(70) % 2, 0.0, 3.0)
    cells = np.tile(np.arange(12, dtype=np.uint8) * 2, (70, 1))
    codes = np.zeros((70, 200), dtype=np.uint8)
    run(coding.code_features, columns, 1, 69, edges_, origin, scale, cells, codes)
    counted = np.sum(edges_[:, None, :] < columns[:, :, None], axis=2)
    looked_up = 2 * np.clip((columns + 2) * 3, 0, 11).astype(int)
    expected = np.where(scale[:, None] > 0, looked_up, counted)
    assert np.array_equal(codes[1:69], expected[1:69])
    assert not codes[[0, 69]].any()


@pytest.mark.parametrize("n_edges", [0, 1, 2, 127, 128, 254, 255])
def test_bisect(run, n_edges):
    edges_ = np.r_[np.arange(n_edges) * 1.0, np.full(255 - n_edges, np.inf)]
    for value in (-1.0, 0.0, 0.5, 100.0, 126.5, 127.0, 300.0):
        assert run(coding.bisect, edges_, value) == np.sum(edges_ < value)


def test_values_and_sides(run, table):
    columns, values, codes, rows = table
    assert run(coding.value_of, columns, EXTRA, 1, 3) == values[1, 3]
    assert run(coding.value_of, columns, EXTRA, 1, 41) == EXTRA[1, 1]
    is_left = np.empty(len(rows), dtype=bool)
    run(coding.sides_of, columns, EXTRA, 2, -0.5, 0.5, rows, is_left)
    assert np.array_equal(is_left, (values[2, rows] > -0.5) & (values[2, rows] <= 0.5))
    low, high = run(coding.values_around, columns, EXTRA, codes, 0, rows, 2)
    below = codes[0, rows] <= 2
    assert (low, high) == (values[0, rows][below].max(), values[0, rows][~below].min())
    lows, highs = np.full(256, np.inf), np.full(256, -np.inf)
    run(coding.spread_of_bins, columns, codes, 1, lows, highs)
    for b in range(N_BINS):
        inside = values[1, :40][codes[1, :40] == b]
        assert (lows[b], highs[b]) == (inside.min(initial=np.inf), inside.max(initial=-np.inf))


@pytest.mark.parametrize("length", [0, 1, 15, 16, 17, 33, 100, 1000])
def test_sort_pairs(run, length):
    keys = np.random.default_rng(length).integers(0, 20, size=length + 4) / 2
    items = np.arange(length + 4, dtype=np.int32)
    order = np.argsort(keys[2:-2], kind="stable") + 2
    expected = np.r_[keys[:2], keys[order], keys[-2:]], np.r_[items[:2], items[order], items[-2:]]
    run(ordering.sort_pairs, keys, items, 2, length + 2, np.empty_like(keys), np.empty_like(items))
    assert np.array_equal(keys, expected[0])
    assert np.array_equal(items, expected[1])


def test_end_of_chunk(run):
    weights = np.array([9, 3, 4, 5, 1, 2])
    found = [run(edges.end_of_chunk, weights, 1, 5, most) for most in (1, 3, 6, 7, 11, 12, 13, 99)]
    assert found == [2, 2, 2, 3, 3, 4, 5, 5]


def test_add_up(run):
    rng = np.random.default_rng(2)
    cells = rng.integers(0, 9, size=(2, N_BINS, 5))  # joined, ends, volume, sizes, vertices
    histograms = np.concatenate(
        [cells[:, :, :3], (cells[:, :, 3:4] << 32) + cells[:, :, 4:]], axis=2
    )
    extra = np.minimum(rng.integers(0, 9, size=(2, N_BINS)), cells[:, :, 4])
    sums = np.full((2, 6, N_BINS + 1), -7)
    run(edges.add_up, histograms, extra, sums)

    def up_to_borders(counted):
        return np.concatenate([np.zeros((2, 1), dtype=int), np.cumsum(counted, axis=1)], axis=1)

    for row, field in ((0, 0), (2, 2), (3, 3), (4, 4)):
        assert np.array_equal(sums[:, row], up_to_borders(cells[:, :, field]))
    assert np.array_equal(sums[:, 5], up_to_borders(cells[:, :, 4] - extra))


def test_sort_pairs_of_runs_in_order_already(run):
    keys, items = np.arange(64.0), np.arange(64, dtype=np.int32)
    run(ordering.sort_pairs, keys, items, 0, 64, np.empty(64), np.empty(64, np.int32))
    assert np.array_equal(keys, np.arange(64))


def test_sort_bins(run, table):
    columns, values, codes, rows = table
    wanted = np.array([True, False, False, True, True])
    room = run(ordering.room_for, len(rows), N_BINS)
    run(ordering.sort_bins, columns, EXTRA, 0, 2 * codes[0], 1, rows, wanted, room)
    starts, sorted_, members = room[:3]
    chosen = rows[wanted[codes[0, rows]]]
    assert sorted_[: starts[-1]].tolist() == np.sort(values[0, chosen]).tolist()
    assert sorted(members[: starts[-1]]) == chosen.tolist()
    counts = [np.count_nonzero(codes[0, chosen] == b) for b in range(N_BINS)]
    assert np.diff(starts).tolist() == counts
    assert run(ordering.end_of_run, wanted, 3, starts) == starts[5]
    assert run(ordering.end_of_run, wanted, 0, starts) == starts[1]


@pytest.fixture
def clustered(table):
    """Labels of all vertices, the last label isolated, and the clusters of the node of the rows."""
    label_of = np.random.default_rng(5).integers(0, 4, size=42).astype(np.uint16)
    weights, degrees, counted = (
        np.array([1, 3, 2, 0]),
        np.array([9, 8, 5, 0]),
        np.array([1, 1, 1, 0]),
    )
    totals = np.bincount(label_of[table[3]], minlength=4)
    return label_of, np.stack([totals, weights, degrees, counted])


def expected_borders(codes, rows, sums_of):
    return [
        [sums_of(rows[codes[f, rows] < b]) for b in range(N_BINS + 1)] for f in range(len(codes))
    ]


@pytest.fixture
def counted(run, table, clustered):
    """Histograms of features 1 and 2."""
    _, _, codes, rows = table
    label_of, _ = clustered
    histograms = np.zeros((2, N_BINS, 4), dtype=np.int32)
    run(labels.fill_histograms, 2 * codes + 1, 1, 1, rows, label_of[rows], 1, histograms)
    return histograms


def test_histograms(run, table, clustered, counted):
    _, _, codes, rows = table
    label_of, _ = clustered
    for f, b, c in np.ndindex(counted.shape):
        inside = (codes[f + 1, rows] == b) & (label_of[rows] == c)
        assert counted[f, b, c] == np.count_nonzero(inside)
    run(labels.fill_histograms, codes, 0, 1, rows, label_of[rows], -1, counted)
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


def test_zoomed_label_borders(run, table, clustered):
    """Single bins of two codes each, looked at code by code, have the borders of the whole feature."""
    _, _, codes, rows = table
    label_of, clusters = clustered
    n_wide = (N_BINS + 1) // 2
    wide = np.zeros((3, n_wide, 4), dtype=np.int32)
    run(labels.fill_histograms, codes, 1, 0, rows, label_of[rows], 1, wide)
    features, bins = np.array([0, 0, 2]), np.array([0, 2, 1])
    histograms, starts = np.zeros((3, 2, 4), np.int32), np.empty((3, 4), np.int32)
    of_rows = label_of[rows]
    run(labels.zoom_histograms, codes, 1, features, bins, rows, of_rows, wide, starts, histograms)
    sums, caps = np.empty((3, 6, 3), np.int64), np.empty((3, 2, 3))
    run(labels.scan_histograms, histograms, starts, clusters, np.ones(4), sums, caps)
    for s, (f, wide_bin) in enumerate(zip(features, bins, strict=True)):
        for b in range(3):
            left = rows[codes[f, rows] < 2 * wide_bin + b]
            assert sums[s, :, b].tolist() == clique_sums(left, rows, label_of, *clusters[1:])


def expected_gaps(values, codes, rows, wanted, features, sums_of):
    """Every gap between distinct values of the node within a run of wanted bins."""
    found = []
    for j, f in enumerate(features):
        distinct = np.unique(values[f, rows])
        for low, high in pairwise(distinct):
            bin_of = [codes[f, rows[values[f, rows] == value][0]] for value in (low, high)]
            if wanted[j, bin_of[0] : bin_of[1] + 1].all():
                found.append((j, low, high, sums_of(rows[values[f, rows] <= low])))
    return found


WANTED = [[1, 1, 1, 1, 1], [0, 1, 1, 0, 1], [1, 0, 0, 1, 0]]


def read_gaps(n_gaps, sums, around, which):
    return [(which[g], around[0, g], around[1, g], sums[:, g].tolist()) for g in range(n_gaps)]


def test_sweep_labels(run, table, clustered):
    columns, values, codes, rows = table
    label_of, clusters = clustered

    def sums_of(left):
        return clique_sums(left, rows, label_of, *clusters[1:])

    wanted, features = np.array(WANTED, dtype=bool), np.array([0, 1, 2])
    borders = np.swapaxes(expected_borders(codes, rows, sums_of), 1, 2)
    gaps = np.empty((6, 200), np.int64), np.empty((2, 200)), np.empty(200, np.int64)
    n_gaps = run(
        labels.sweep_labels, columns, EXTRA, 2 * codes, 1, features, wanted, rows, label_of,
        np.arange(4), clusters, np.ascontiguousarray(borders), *gaps,
    )  # fmt: skip
    expected = expected_gaps(values, codes, rows, wanted, features, sums_of)
    assert read_gaps(n_gaps, *gaps) == expected


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
    columns, values, codes, _ = table
    rows, label_of, clusters, centers, adjacency, vertices = starred

    def sums_of(left):
        return edge_sums(left, rows, adjacency, vertices)

    histograms, starts = np.zeros((3, N_BINS, 3), np.int32), np.zeros((3, 3), np.int32)
    wide = 2 * codes + 1
    run(labels.fill_histograms, wide, 1, 0, rows, label_of[rows], 1, histograms)
    sums_ = np.empty((3, 6, N_BINS + 1), np.int64)
    center_codes = np.ascontiguousarray(wide[:, rows[rows >= 40]])
    first = np.zeros(3, np.int64)
    run(stars.scan_stars, histograms, starts, first, 1, center_codes, clusters, centers, sums_)
    assert np.swapaxes(sums_, 1, 2).tolist() == expected_borders(codes, rows, sums_of)
    wanted, features = np.array(WANTED, dtype=bool), np.array([0, 1, 2])
    gaps = np.empty((6, 200), np.int64), np.empty((2, 200)), np.empty(200, np.int64)
    n_gaps = run(
        stars.sweep_stars, columns, EXTRA, wide, 1, features, wanted, rows, label_of, np.arange(3),
        clusters, centers, sums_, *gaps,
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
    run(labels.fill_histograms, codes, 0, 0, rows, label_of[rows], 1, histograms)
    borders, caps = np.empty((3, 6, N_BINS + 1), np.int64), np.empty((3, 2, N_BINS + 1))
    run(labels.scan_histograms, histograms, starts, clusters, np.ones(4), borders, caps)
    sums = np.empty((np.count_nonzero(wanted), 2, 4, 1 << n_top), np.int64)
    places = np.array([0, 2])
    run(
        labels.corner_sums, histograms, starts, places, wanted, clusters, n_top, borders, sums
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


@pytest.fixture(params=[(np.uint8, 3), (np.uint8, 127), (np.int64, 2**62)], ids=str)
def joined(request, table):
    """A weighted graph on all vertices, what these add to sums, and the neighbours inside the node."""
    dtype, most = request.param
    rng = np.random.default_rng(7)
    adjacency = np.triu(rng.integers(1, 4, size=(42, 42)) * (rng.random((42, 42)) < 0.3), 1)
    adjacency += adjacency.T
    vertices = np.stack([adjacency.sum(axis=1), np.arange(42) >= 40, np.arange(42) < 40]).astype(
        np.int64
    )
    return adjacency, vertices, neighbors_of(adjacency, table[3], dtype), most


def test_edge_borders(run, table, joined):
    _, _, codes, rows = table
    adjacency, vertices, neighbors, most = joined
    padded = np.zeros((42, 32), dtype=np.uint8)
    padded[:, :3] = 4 * codes.T + np.arange(42)[:, None] % 4  # all codes of a bin
    sums = np.empty((3, 6, N_BINS + 1), dtype=np.int64)
    run(edges.scan_edges, padded, 2, 0, 3, rows, *neighbors, most, vertices, sums)
    expected = expected_borders(
        codes, rows, lambda left: edge_sums(left, rows, adjacency, vertices)
    )
    assert np.swapaxes(sums, 1, 2).tolist() == expected


def test_sweep_edges(run, table, joined):
    columns, values, codes, rows = table
    adjacency, vertices, neighbors, _ = joined

    def sums_of(left):
        return edge_sums(left, rows, adjacency, vertices)

    wanted, features = np.array(WANTED, dtype=bool), np.array([2, 1, 0])
    borders = np.swapaxes(expected_borders(codes[features], rows, sums_of), 1, 2)
    number_of = np.zeros(42, dtype=np.int32)
    number_of[rows] = np.arange(len(rows))
    n_chosen = [np.count_nonzero(wanted[j, codes[f, rows]]) for j, f in enumerate(features)]
    gaps = np.empty((6, 200), np.int64), np.empty((2, 200)), np.empty(200, np.int64)
    n_gaps = run(
        edges.sweep_edges, columns, EXTRA, np.ascontiguousarray(2 * codes.T + 1), 1, features, wanted, rows,
        number_of, *neighbors, vertices, np.append(0, np.cumsum(n_chosen)), np.ascontiguousarray(borders), *gaps,
    )  # fmt: skip
    expected = expected_gaps(values, codes, rows, wanted, features, sums_of)
    assert read_gaps(n_gaps, *gaps) == expected


def test_sums_at_borders_and_gaps(run, table):
    columns, values, codes, rows = table
    amounts = np.random.default_rng(9).integers(0, 9, size=(42, 3))

    def sums_of(left):
        return [*amounts[left].sum(axis=0), len(left), np.count_nonzero(left < 40)]

    found = np.empty((2, 5, N_BINS + 1), dtype=np.int64)
    run(sums.scan_sums, 2 * codes + 1, 1, 1, 3, rows, amounts, 40, found)
    assert np.swapaxes(found, 1, 2).tolist() == expected_borders(codes[1:], rows, sums_of)
    wanted, features = np.array(WANTED, dtype=bool), np.array([2, 1, 0])
    borders = np.swapaxes(expected_borders(codes[features], rows, sums_of), 1, 2)
    gaps = np.empty((5, 200), np.int64), np.empty((2, 200)), np.empty(200, np.int64)
    n_gaps = run(
        sums.sweep_sums, columns, EXTRA, 2 * codes, 1, features, wanted, rows, amounts,
        np.ascontiguousarray(borders), *gaps,
    )  # fmt: skip
    assert read_gaps(n_gaps, *gaps) == expected_gaps(values, codes, rows, wanted, features, sums_of)


def test_list_neighbors(run, table, joined):
    adjacency = joined[0]
    heads, tails = np.nonzero(np.triu(adjacency))
    n_ends = 2 * len(heads)
    found = np.empty(43, np.int64), np.empty(n_ends, np.int32), np.empty(n_ends, np.uint8)
    run(edges.list_neighbors, heads, tails, adjacency[heads, tails], *found)
    listed = np.zeros((42, 42), dtype=int)
    listed[np.repeat(np.arange(42), np.diff(found[0])), found[1]] = found[2]
    assert np.array_equal(listed, adjacency)


def test_keep_neighbors(run, table, joined):
    rows = table[3]
    adjacency, _, (indptr, neighbors, weights), _ = joined
    part_of = np.full(42, -1, dtype=np.int8)
    part_of[rows] = np.arange(len(rows)) % 2
    kept = rows[part_of[rows] == 1]
    found = np.empty(len(kept) + 1, np.int64), np.empty_like(neighbors), np.empty_like(weights)
    run(edges.keep_neighbors, rows, indptr, neighbors, weights, part_of, 1, *found)
    expected = neighbors_of(adjacency, kept, weights.dtype)
    assert found[0].tolist() == expected[0].tolist()
    assert found[1][: found[0][-1]].tolist() == expected[1].tolist()
    assert found[2][: found[0][-1]].tolist() == expected[2].tolist()


def test_kernels_compile_where_nothing_can_be_kept(monkeypatch):
    real = jit.numba.njit

    def without_cache(**options):
        if options.pop("cache", False):
            raise RuntimeError("cannot cache function: no locator available")
        return real(**options)

    monkeypatch.setattr(jit.numba, "njit", without_cache)
    assert jit.jit(lambda x: x + 1)(1) == 2


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
