"""Moves of a border between two leaves when centres, which must stay in their leaf, are among the vertices."""

import numpy as np
import pytest

from spexplain.kernels import refine


@pytest.fixture(params=["compiled", "python"])
def edge_moves(request):
    compiled = refine.edge_moves
    # Where compiling is switched off there is the plain function only.
    return compiled if request.param == "compiled" else getattr(compiled, "py_func", compiled)


@pytest.mark.parametrize(
    ("homes", "expected"),
    [
        ([0, 0], [False, False, False, False, True]),  # both centres must have passed to the left
        ([1, 1], [False, True, False, False, False]),  # neither may
        ([0, 1], [False, False, True, True, False]),  # the first must, the second may not
        ([1, 0], [False] * 5),
    ],
)
def test_centres_stay_in_their_leaves(edge_moves, homes, expected):
    # Vertices 0, 1, 2 are samples and 3, 4 centres; along the feature: 0, 3, 1, 4, 2.
    n_samples, along = 3, np.array([0, 3, 1, 4, 2])
    adjacency = np.zeros((5, 5), dtype=np.int64)
    for x, y, weight in ((0, 3, 1), (1, 3, 2), (2, 4, 4), (0, 1, 8)):
        adjacency[x, y] = adjacency[y, x] = weight
    indices = [np.flatnonzero(row) for row in adjacency]
    edges = (
        np.cumsum([0, *map(len, indices)]),
        np.concatenate(indices).astype(np.int32),
        adjacency[adjacency > 0],
    )
    loops = np.array([2, 0, 6, 0, 0])
    degrees, sizes = adjacency.sum(axis=0) + loops, np.array([0, 0, 0, 1, 1])
    places = np.array([1, 1, 1, *homes], dtype=np.int32)  # before any move all samples are right

    def sums(leaf, places):
        inside = places == leaf
        return [
            int(adjacency[np.ix_(inside, inside)].sum() + loops[inside].sum()),
            degrees[inside].sum(),
            sizes[inside].sum(),
        ]

    before = np.array([sums(0, places), sums(1, places)]).T
    leaves = np.zeros((2, 1, 5), dtype=np.int32)
    moved, valid = np.zeros((3, 2, 1, 5), dtype=np.int64), np.zeros((1, 5), dtype=bool)
    edge_moves(
        (2 * along + 1).astype(np.int32)[None],  # a border may stand before every vertex
        np.repeat(np.array([[0], [1]], dtype=np.int32), 5, axis=1),
        places,
        edges,
        np.array([loops, degrees, sizes]),
        n_samples,
        before,
        np.array([0, 3]),
        np.array([0, 0]),
        0,
        leaves,
        moved,
        valid,
    )
    assert valid[0].tolist() == expected
    for p, vertex in enumerate(along):
        if vertex >= n_samples:
            assert leaves[:, 0, p].tolist() == [-1, -1]
            continue
        places[vertex] = 0
        assert leaves[:, 0, p].tolist() == [0, 1]
        assert moved[:, 0, 0, p].tolist() == sums(0, places)
        assert moved[:, 1, 0, p].tolist() == sums(1, places)
