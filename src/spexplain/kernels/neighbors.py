"""The neighbours of every vertex, one after the other.

The neighbours of ``rows[i]`` inside the node are ``neighbors[indptr[i]:indptr[i + 1]]``.
"""

import numpy as np

from spexplain.aliases import Array, Ints
from spexplain.kernels.jit import jit


@jit
def list_neighbors(
    heads: Ints,
    tails: Ints,
    edge_weights: Ints,
    indptr: Ints,
    neighbors: Array,
    weights: Array,
) -> None:
    """Write the neighbours of all vertices from a list of edges.

    Shapes: heads, tails, edge_weights (n_edges,), indptr (n + 1,), neighbors and weights (2 n_edges,).
    Cost O(n + n_edges).
    """
    n_vertices = len(indptr) - 1
    place = np.empty(n_vertices, dtype=np.int64)
    for x in range(n_vertices + 1):
        indptr[x] = 0
    for e in range(len(heads)):
        indptr[heads[e] + 1] += 1
        indptr[tails[e] + 1] += 1
    for x in range(n_vertices):
        place[x] = indptr[x]
        indptr[x + 1] += indptr[x]
    for e in range(len(heads)):
        x, y = heads[e], tails[e]
        neighbors[place[x]], weights[place[x]] = y, edge_weights[e]
        place[x] += 1
        neighbors[place[y]], weights[place[y]] = x, edge_weights[e]
        place[y] += 1


@jit
def keep_neighbors(
    rows: Array,
    indptr: Array,
    neighbors: Array,
    weights: Array,
    part_of: Array,
    part: int,
    near: int,
    kept_indptr: Array,
    kept_neighbors: Array,
    kept_weights: Array,
) -> None:
    """Write the neighbours that lie in part `near` of the node, for the rows of a part.

    Shapes: part_of (n,): the part of every vertex of the node; kept_indptr (n_kept + 1,), the others
    with room for all. Cost O(n_rows + n_neighbors).
    """
    n_kept, place = 0, 0
    kept_indptr[0] = 0
    for i in range(len(rows)):
        if part_of[rows[i]] == part:
            for j in range(indptr[i], indptr[i + 1]):
                if part_of[neighbors[j]] == near:
                    kept_neighbors[place] = neighbors[j]
                    kept_weights[place] = weights[j]
                    place += 1
            n_kept += 1
            kept_indptr[n_kept] = place
