"""Sums over listed edges, from the neighbours of every vertex.

The neighbours of ``rows[i]`` inside the node are ``neighbors[indptr[i]:indptr[i + 1]]``. Sums are
written to six fields: inner left, inner right, volume left, size left, members left, samples left.
"""

import numpy as np

from spexplain.kernels.jit import jit
from spexplain.kernels.ordering import end_of_run, sort_bins
from spexplain.typing import Array, Floats, Ints, Matrix

_LANES = 32  # bytes that one instruction compares


@jit
def keep_neighbors(
    rows: Array,
    indptr: Array,
    neighbors: Array,
    weights: Array,
    part_of: Array,
    part: int,
    kept_indptr: Array,
    kept_neighbors: Array,
    kept_weights: Array,
) -> None:
    """Write the neighbours inside a part of the node, for the rows of that part.

    Shapes: part_of (n,): the part of every vertex of the node; kept_indptr (n_kept + 1,), the others
    with room for all. Cost O(n_rows + n_neighbors).
    """
    n_kept, place = 0, 0
    kept_indptr[0] = 0
    for i in range(len(rows)):
        if part_of[rows[i]] == part:
            for j in range(indptr[i], indptr[i + 1]):
                if part_of[neighbors[j]] == part:
                    kept_neighbors[place] = neighbors[j]
                    kept_weights[place] = weights[j]
                    place += 1
            n_kept += 1
            kept_indptr[n_kept] = place


@jit
def scan_edges(
    codes: Array,
    first: int,
    last: int,
    rows: Array,
    indptr: Array,
    neighbors: Array,
    weights: Array,
    most: int,
    vertices: Ints,
    sums: Ints,
) -> None:
    """Write the sums left and right of every bin border to `sums`, for the features ``first <= f < last``.

    Moving a vertex to the left joins it to its neighbours in lower bins and parts it from those in
    higher ones; half of either within its bin. One instruction compares the codes of many features;
    to that end codes have columns for a multiple of 32 features, `first` is one, and small weights
    come as bytes, which hold twice the weight of neighbours of up to `most`. Shapes: codes (n, >= d),
    vertices (3, n): degrees, sizes and whether they are samples, sums (last - first, 6, n_bins + 1). Cost
    O(n_neighbors) a feature.
    """
    width, n_bins = last - first, sums.shape[2] - 1
    histograms = np.zeros((width, n_bins, 6), dtype=np.int64)
    number = weights.dtype.type
    none = number(0)
    lanes = np.empty(_LANES, dtype=weights.dtype)
    lower = np.empty(_LANES, dtype=np.int64)
    for i in range(len(rows)):
        x = rows[i]
        total = np.int64(0)
        for j in range(indptr[i], indptr[i + 1]):
            total += weights[j]
        for f0 in range(0, width, _LANES):
            own = codes[x, first + f0 : first + f0 + _LANES]
            lower[:] = 0
            j = indptr[i]
            while j < indptr[i + 1]:
                lanes[:] = none
                counted = np.int64(0)
                while j < indptr[i + 1] and counted + weights[j] <= most:
                    weight = weights[j]
                    counted += weight
                    other = codes[neighbors[j], first + f0 : first + f0 + _LANES]
                    for f in range(_LANES):
                        lanes[f] += number(weight if other[f] < own[f] else none) + number(
                            weight if other[f] <= own[f] else none
                        )
                    j += 1
                for f in range(_LANES):
                    lower[f] += lanes[f]
            for f in range(min(_LANES, width - f0)):
                cell = histograms[f0 + f, own[f]]
                cell[0] += lower[f]
                cell[1] += 2 * total - lower[f]
                cell[2] += vertices[0, x]
                cell[3] += vertices[1, x]
                cell[4] += 1
                cell[5] += vertices[2, x]
    for f in range(width):
        for field in range(6):
            running = 0
            for b in range(n_bins):
                sums[f, field, b] = running
                running += histograms[f, b, field]
            sums[f, field, n_bins] = running
        # The second field ran over the weight that leaves the right side.
        for b in range(n_bins + 1):
            sums[f, 1, b] = sums[f, 1, n_bins] - sums[f, 1, b]


@jit
def sweep_edges(
    columns: Matrix,
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
    borders: Ints,
    sums: Ints,
    around: Floats,
    which: Array,
) -> int:
    """Write the sums left and right of every gap between distinct values within runs of wanted bins.

    The bin of a vertex is its code shifted to the right. Runs start from the sums at their first
    border. ``around[:, g]`` are the values that gap g parts,
    ``which[g]`` is its place in `features`. Shapes: codes (n, >= d), features (m,), wanted (m, n_bins),
    number_of (n,): the place in rows of the node's vertices, borders (m, 6, n_bins + 1), sums (6,
    n_gaps), around (2, n_gaps), which (n_gaps,), with room for a gap per row in wanted bins. Returns
    the number of gaps. Cost O(n_rows) a feature, the sorting of the rows in wanted bins and a visit
    of their neighbours.
    """
    n_bins, n_rows = wanted.shape[1], len(rows)
    starts = np.empty(n_bins + 1, dtype=np.int64)
    values, spare_values = np.empty(n_rows), np.empty(n_rows)
    members, spare_members = np.empty(n_rows, np.int32), np.empty(n_rows, np.int32)
    place = np.empty(n_rows, dtype=np.int64)
    bins = np.empty(len(codes), dtype=np.uint8)  # of this feature, side by side
    now = np.empty(6, dtype=np.int64)
    n_gaps = 0
    for j in range(len(features)):
        f = features[j]
        for i in range(n_rows):
            bins[rows[i]] = codes[rows[i], f] >> shift
        sort_bins(
            columns,
            extra,
            f,
            bins,
            0,
            rows,
            wanted[j],
            starts,
            values,
            members,
            spare_values,
            spare_members,
        )
        for i in range(starts[n_bins]):
            place[number_of[members[i]]] = i
        run_stop = 0
        for b in range(n_bins):
            if wanted[j, b] and (b == 0 or not wanted[j, b - 1]):
                run_stop = end_of_run(wanted[j], b, starts)
                now[:] = borders[j, :, b]
            for i in range(starts[b], starts[b + 1]):
                x = members[i]
                number = number_of[x]
                for e in range(indptr[number], indptr[number + 1]):
                    y = neighbors[e]
                    bin_of_y = bins[y]
                    if bin_of_y < b or (bin_of_y == b and place[number_of[y]] < i):
                        now[0] += 2 * weights[e]
                    else:
                        now[1] -= 2 * weights[e]
                now[2] += vertices[0, x]
                now[3] += vertices[1, x]
                now[4] += 1
                now[5] += vertices[2, x]
                if i + 1 < run_stop and values[i] < values[i + 1]:
                    sums[:, n_gaps] = now
                    around[0, n_gaps], around[1, n_gaps] = values[i], values[i + 1]
                    which[n_gaps] = j
                    n_gaps += 1
    return n_gaps
