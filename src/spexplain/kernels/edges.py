"""Lists of the neighbours of every vertex, and sums over the edges that they list.

The neighbours of ``rows[i]`` inside the node are ``neighbors[indptr[i]:indptr[i + 1]]``. Sums are
written to six fields: inner left, inner right, volume left, size left, members left, samples left.
"""

from typing import Any

import numpy as np

from spexplain.aliases import Array, Floats, Ints
from spexplain.kernels.jit import jit, jit_inline
from spexplain.kernels.ordering import sort_chosen

LANES = 32  # bytes that one instruction compares


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


@jit_inline
def end_of_chunk(weights: Array, start: int, stop: int, most: int) -> int:
    """Return how far the weights from `start` on go, at least one, before their sum exceeds `most`."""
    place, counted = start + 1, np.int64(weights[start])
    while place < stop and counted + weights[place] <= most:
        counted += weights[place]
        place += 1
    return place


@jit_inline
def add_lower(
    codes: Array,
    base: Any,
    low: Array,
    high: Array,
    neighbors: Array,
    weights: Array,
    start: int,
    stop: int,
    lanes: Array,
) -> None:
    """Add twice the weights of neighbours with codes below `low`, and once those up to `high`, to `lanes`.

    For the 32 features from `base` on. Shapes: codes (n, >= d), low, high and lanes (32,). Vectorised.
    """
    none = weights.dtype.type(0)
    for j in range(start, stop):
        weight, y = weights[j], np.uint64(neighbors[j])
        for f in range(LANES):
            other = codes[y, base + np.uint64(f)]
            lanes[f] += (weight if other < low[f] else none) + (
                weight if other <= high[f] else none
            )


@jit
def add_up(cells: Ints, no_samples: Ints, sums: Ints) -> None:
    """Write the sums at borders from what `count_edges` counted in every bin.

    Shapes: cells (width, n_bins, 4), no_samples (width, n_bins), sums (width, 6, n_bins + 1). Cost O(size of the
    cells).
    """
    width, n_bins = no_samples.shape
    for f in range(width):
        joined, ends, volume, counts, others = 0, 0, 0, 0, 0
        for b in range(n_bins + 1):
            sums[f, 0, b], sums[f, 1, b], sums[f, 2, b] = joined, joined - ends, volume
            sums[f, 3, b], sums[f, 4, b] = counts >> 32, counts & 0xFFFFFFFF
            sums[f, 5, b] = (counts & 0xFFFFFFFF) - others
            if b < n_bins:
                cell = cells[f, b]
                joined += cell[0]
                ends += cell[1]
                volume += cell[2]
                counts += cell[3]
                others += no_samples[f, b]
        # What has not left the right side by the last border.
        inner = sums[f, 1, n_bins]
        for b in range(n_bins + 1):
            sums[f, 1, b] -= inner


@jit
def count_edges(
    codes: Array,
    shift: int,
    first: int,
    rows: Array,
    indptr: Array,
    neighbors: Array,
    weights: Array,
    most: int,
    vertices: Ints,
    cells: Ints,
    no_samples: Ints,
) -> None:
    """Count the edges of some rows in every bin of the features from `first` on.

    A cell of a bin gets twice the weight to neighbours in lower bins and half of that within, twice all
    weight, volume, members and, from bit 32 on, size: it is one load and one store. Members that are no
    samples, which are few, are counted apart.

    Moving a vertex to the left joins it to its neighbours in lower bins and parts it from those in
    higher ones; half of either within its bin. One instruction compares the codes of many features;
    to that end codes have columns for a multiple of 32 features, `first` is one, and small weights
    come as bytes, which hold twice the weight of neighbours of up to `most`. Shapes: codes (n, >= d),
    vertices (4, n): degrees, sizes, whether they are samples, and weight of the ends of loops; cells
    (width, n_bins, 4), no_samples (width, n_bins). The bin of a vertex is its code shifted to the right.
    Cost O(n_neighbors) a feature.
    """
    width = len(cells)
    none = weights.dtype.type(0)
    own = np.empty(LANES, dtype=np.uint8)
    low, high = np.empty(LANES, dtype=np.uint8), np.empty(LANES, dtype=np.uint8)
    last_code = np.uint8((1 << shift) - 1)
    lanes = np.empty(LANES, dtype=weights.dtype)
    lower = np.empty(LANES, dtype=np.int64)
    for i in range(len(rows)):
        x = np.uint64(rows[i])  # unsigned indices spare the check for negative ones
        total = np.int64(0)
        for j in range(indptr[i], indptr[i + 1]):
            total += weights[j]
        volume, counts, loops = vertices[0, x], 1 + (vertices[1, x] << 32), vertices[3, x]
        for f0 in range(0, width, LANES):
            base = np.uint64(first + f0)
            for f in range(LANES):
                own[f] = codes[x, base + np.uint64(f)] >> shift
                low[f] = own[f] << shift
                high[f] = low[f] | last_code
                lower[f] = 0
            start = indptr[i]
            while start < indptr[i + 1]:
                stop = (
                    indptr[i + 1]
                    if total <= most
                    else end_of_chunk(weights, start, indptr[i + 1], most)
                )
                for f in range(LANES):
                    lanes[f] = none
                add_lower(codes, base, low, high, neighbors, weights, start, stop, lanes)
                for f in range(LANES):
                    lower[f] += lanes[f]
                start = stop
            for f in range(min(LANES, width - f0)):
                cell = cells[f0 + f, own[f]]
                cell[0] += lower[f] + loops
                cell[1] += 2 * (total + loops)
                cell[2] += volume
                cell[3] += counts
            if vertices[2, x] == 0:
                for f in range(min(LANES, width - f0)):
                    no_samples[f0 + f, own[f]] += 1


@jit
def take_crossing(
    codes: Array,
    shift: int,
    first: int,
    rows: Array,
    indptr: Array,
    neighbors: Array,
    weights: Array,
    cells: Ints,
) -> None:
    """Take edges off the cells of a node: those from some of its rows to the others, which are listed.

    Both ends are taken off, each as `count_edges` counts it. Shapes: codes (n, >= d), cells (width, n_bins, 4).
    Cost O(n_neighbors) a feature.
    """
    for i in range(len(rows)):
        x = np.uint64(rows[i])
        for j in range(indptr[i], indptr[i + 1]):
            y, weight = np.uint64(neighbors[j]), np.int64(weights[j])
            for f in range(len(cells)):
                column = np.uint64(first + f)
                mine, other = codes[x, column] >> shift, codes[y, column] >> shift
                lower = weight * (np.int64(other < mine) + np.int64(other <= mine))
                cells[f, mine, 0] -= lower
                cells[f, mine, 1] -= 2 * weight
                cells[f, other, 0] -= 2 * weight - lower
                cells[f, other, 1] -= 2 * weight


@jit
def choose_members(
    codes: Array,
    shift: int,
    features: Array,
    wanted: Array,
    rows: Array,
    place: Ints,
    chosen: Array,
) -> None:
    """Write the rows in wanted bins of feature j to `chosen` from ``place[j]`` on, which moves along.

    Vertex by vertex, because that is how the codes lie. Shapes: codes (n, >= d), features and place
    (m,), wanted (m, n_bins). Cost O(m n_rows).
    """
    down = np.uint64(shift)
    for i in range(len(rows)):
        x = np.uint32(rows[i])
        for j in range(len(features)):
            if wanted[j, np.uint64(codes[x, features[j]]) >> down]:
                chosen[place[j]] = rows[i]
                place[j] += 1


def sweep_edges(
    matrix: Any,
    extra: Floats,
    codes: Array,
    shift: int,
    features: Array,
    wanted: Array,
    rows: Array,
    number_of: Array,
    indptr: Array,
    neighbors: Array,
    weights: Array,
    vertices: Ints,
    offsets: Ints,
    borders: Ints,
    sums: Ints,
    around: Floats,
    which: Array,
) -> int:
    """Write the sums left and right of every gap between distinct values within runs of wanted bins.

    The bin of a vertex is its code shifted to the right. Runs start from the sums at their first
    border. ``around[:, g]`` are the values that gap g parts,
    ``which[g]`` is its place in `features`. Shapes: codes (n, >= d), features (m,), wanted (m, n_bins),
    number_of (n,): the place in rows of the node's vertices, offsets (m + 1,): where the rows in
    wanted bins of each feature begin, if written one after the other, borders (m, 6, n_bins + 1),
    sums (6, n_gaps), around (2, n_gaps), which (n_gaps,), with room for a gap per row in wanted bins. Returns
    the number of gaps. Cost O(n_rows) a feature, the sorting of the rows in wanted bins and a visit
    of their neighbours.
    """
    chosen = np.empty(offsets[-1], dtype=np.int32)
    choose_members(codes, shift, features, wanted, rows, offsets[:-1].copy(), chosen)
    in_order = sort_chosen(
        matrix, extra, codes.T, shift, features, wanted.shape[1], offsets, chosen
    )
    place = np.empty(len(rows), dtype=np.int64)
    return walk_edges(
        codes,
        shift,
        features,
        wanted,
        number_of,
        indptr,
        neighbors,
        weights,
        vertices,
        *in_order,
        place,
        borders,
        sums,
        around,
        which,
    )


@jit
def walk_edges(
    codes: Array,
    shift: int,
    features: Array,
    wanted: Array,
    number_of: Array,
    indptr: Array,
    neighbors: Array,
    weights: Array,
    vertices: Ints,
    starts: Ints,
    values: Floats,
    members: Array,
    place: Ints,
    borders: Ints,
    sums: Ints,
    around: Floats,
    which: Array,
) -> int:
    """Do the work of `sweep_edges` once the rows are sorted; `place` is room."""
    n_bins = wanted.shape[1]
    n = 0
    for j in range(len(features)):
        f = features[j]
        for i in range(starts[j, 0], starts[j, n_bins]):
            place[number_of[members[i]]] = i
        inner, rest, volume, size, n_left, n_left_samples, run_stop = 0, 0, 0, 0, 0, 0, 0
        for b in range(n_bins):
            if not wanted[j, b]:
                continue
            if b == 0 or not wanted[j, b - 1]:
                inner, rest, volume = borders[j, 0, b], borders[j, 1, b], borders[j, 2, b]
                size, n_left, n_left_samples = borders[j, 3, b], borders[j, 4, b], borders[j, 5, b]
                run_stop = b
                while run_stop < n_bins and wanted[j, run_stop]:
                    run_stop += 1
                run_stop = starts[j, run_stop]
            for i in range(starts[j, b], starts[j, b + 1]):
                x = members[i]
                number = number_of[x]
                for e in range(indptr[number], indptr[number + 1]):
                    y, weight = neighbors[e], 2 * weights[e]
                    bin_of_y = codes[y, f] >> shift
                    if bin_of_y < b or (bin_of_y == b and place[number_of[y]] < i):
                        inner += weight
                    else:
                        rest -= weight
                inner += vertices[3, x]
                rest -= vertices[3, x]
                volume += vertices[0, x]
                size += vertices[1, x]
                n_left += 1
                n_left_samples += vertices[2, x]
                if i + 1 < run_stop and values[i] < values[i + 1]:
                    sums[0, n], sums[1, n], sums[2, n] = inner, rest, volume
                    sums[3, n], sums[4, n], sums[5, n] = size, n_left, n_left_samples
                    around[0, n], around[1, n], which[n] = values[i], values[i + 1], j
                    n += 1
    return n
