"""What kernels must find, from all pairs of rows and from every gap between values."""

from itertools import pairwise

import numpy as np

EXTRA = np.array([[0.5, -1.0], [2.0, 0.25], [0.0, 1.0]])
N_BINS = 5
WANTED = [[1, 1, 1, 1, 1], [0, 1, 1, 0, 1], [1, 0, 0, 1, 0]]


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
    """Sums of a set, and of the rest of the node, from the adjacency and perhaps loops."""
    rest = np.setdiff1d(node, members)
    inner = [
        int(adjacency[np.ix_(part, part)].sum() + vertices[3:, part].sum())
        for part in (members, rest)
    ]
    volume, size, samples = vertices[:3, members].sum(axis=1)
    return [*inner, volume, size, len(members), samples]


def neighbors_of(adjacency, node, dtype):
    """Compressed neighbours, inside the node, of its vertices."""
    inside = [[y for y in node if adjacency[x, y]] for x in node]
    indptr = np.cumsum([0] + [len(each) for each in inside])
    flat = np.array([y for each in inside for y in each], dtype=np.int32)
    weights = [adjacency[x, y] for x, each in zip(node, inside, strict=True) for y in each]
    return indptr, flat, np.array(weights, dtype=dtype)


def expected_borders(codes, rows, sums_of):
    return [
        [sums_of(rows[codes[f, rows] < b]) for b in range(N_BINS + 1)] for f in range(len(codes))
    ]


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


def read_gaps(n_gaps, sums, around, which):
    return [(which[g], around[0, g], around[1, g], sums[:, g].tolist()) for g in range(n_gaps)]
