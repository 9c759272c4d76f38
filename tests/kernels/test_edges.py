"""Sums of edges and of amounts at borders and gaps equal those of the adjacency."""

import numpy as np

from kernel_sums import (
    EXTRA,
    N_BINS,
    WANTED,
    edge_sums,
    expected_borders,
    expected_gaps,
    neighbors_of,
    read_gaps,
)
from spexplain.kernels import edges, sums


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


def test_edge_borders(run, table, joined):
    _, _, codes, rows = table
    adjacency, vertices, neighbors, most = joined
    padded = np.zeros((42, 32), dtype=np.uint8)
    padded[:, :3] = 4 * codes.T + np.arange(42)[:, None] % 4  # all codes of a bin
    sums = np.empty((3, 6, N_BINS + 1), dtype=np.int64)
    cells, others = np.zeros((3, N_BINS, 4), dtype=np.int64), np.zeros((3, N_BINS), dtype=np.int64)
    run(edges.count_edges, padded, 2, 0, rows, *neighbors, most, vertices, cells, others)
    run(edges.add_up, cells, others, sums)
    expected = expected_borders(
        codes, rows, lambda left: edge_sums(left, rows, adjacency, vertices)
    )
    assert np.swapaxes(sums, 1, 2).tolist() == expected


def test_parts_and_what_lies_between_are_the_whole(run, table, joined):
    _, _, codes, rows = table
    adjacency, vertices, _, most = joined
    padded = np.zeros((42, 32), dtype=np.uint8)
    padded[:, :3] = codes.T
    is_left = np.arange(len(rows)) % 3 == 0

    def counted(members):
        near = neighbors_of(adjacency, members, joined[2][2].dtype)
        cells, others = (np.zeros((3, N_BINS, *more), dtype=np.int64) for more in ((4,), ()))
        run(edges.count_edges, padded, 0, 0, members, *near, most, vertices, cells, others)
        return cells

    left, right = rows[is_left], rows[~is_left]
    between = np.zeros_like(adjacency)
    between[np.ix_(left, right)] = adjacency[np.ix_(left, right)]
    ends = [np.flatnonzero(between[x]) for x in left]
    indptr = np.append(0, np.cumsum([len(each) for each in ends]))
    neighbors = np.concatenate(ends).astype(np.int32)
    weights = np.concatenate([between[x, each] for x, each in zip(left, ends, strict=True)])
    cells = counted(rows)
    run(edges.take_crossing, padded, 0, 0, left, indptr, neighbors, weights, cells)
    assert np.array_equal(cells, counted(left) + counted(right))


def test_sweep_edges(run, table, joined):
    matrix, values, codes, rows = table
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
        edges.sweep_edges, matrix, EXTRA, np.ascontiguousarray(2 * codes.T + 1), 1, features, wanted, rows,
        number_of, *neighbors, vertices, np.append(0, np.cumsum(n_chosen)), np.ascontiguousarray(borders), *gaps,
    )  # fmt: skip
    expected = expected_gaps(values, codes, rows, wanted, features, sums_of)
    assert read_gaps(n_gaps, *gaps) == expected


def test_sums_at_borders_and_gaps(run, table):
    matrix, values, codes, rows = table
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
        sums.sweep_sums, matrix, EXTRA, 2 * codes, 1, features, wanted, rows, amounts,
        np.ascontiguousarray(borders), *gaps,
    )  # fmt: skip
    assert read_gaps(n_gaps, *gaps) == expected_gaps(values, codes, rows, wanted, features, sums_of)
