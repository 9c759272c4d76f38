"""Neighbours listed from edges, and kept within a node, are those of the adjacency."""

import numpy as np

from kernel_sums import neighbors_of
from spexplain.kernels.edges import keep_neighbors, list_neighbors


def test_list_neighbors(run, table, joined):
    adjacency = joined[0]
    heads, tails = np.nonzero(np.triu(adjacency))
    n_ends = 2 * len(heads)
    found = np.empty(43, np.int64), np.empty(n_ends, np.int32), np.empty(n_ends, np.uint8)
    run(list_neighbors, heads, tails, adjacency[heads, tails], *found)
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
    run(keep_neighbors, rows, indptr, neighbors, weights, part_of, 1, 1, *found)
    expected = neighbors_of(adjacency, kept, weights.dtype)
    assert found[0].tolist() == expected[0].tolist()
    assert found[1][: found[0][-1]].tolist() == expected[1].tolist()
    assert found[2][: found[0][-1]].tolist() == expected[2].tolist()
    run(keep_neighbors, rows, indptr, neighbors, weights, part_of, 1, 0, *found)
    others = rows[part_of[rows] == 0]
    for i, x in enumerate(kept):
        near = slice(*found[0][i : i + 2])
        assert sorted(found[1][near]) == [y for y in others if adjacency[x, y]]
        assert found[2][near].tolist() == adjacency[x, found[1][near]].tolist()
