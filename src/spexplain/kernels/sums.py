"""Sums of amounts that every vertex adds on its own: no edges, no labels.

Sums are written to one field per amount, then members left and samples left. The bin of a vertex is
its code shifted to the right.
"""

import numpy as np

from spexplain.aliases import Array, Floats, Ints, Matrix
from spexplain.kernels.jit import jit
from spexplain.kernels.ordering import end_of_run, room_for, sort_bins, write_gap


@jit
def scan_sums(
    codes: Array,
    shift: int,
    first: int,
    last: int,
    rows: Array,
    amounts: Ints,
    n_samples: int,
    sums: Ints,
) -> None:
    """Write the sums left of every bin border to `sums`, for the features ``first <= f < last``.

    Vertices from `n_samples` on are no samples. Shapes: codes (d, n), amounts (n, n_amounts), sums
    (last - first, n_amounts + 2, n_bins + 1). Cost O(n_rows n_amounts) a feature.
    """
    n_amounts, n_bins = amounts.shape[1], sums.shape[2] - 1
    histogram = np.empty((n_bins, n_amounts + 2), dtype=np.int64)
    running = np.empty(n_amounts + 2, dtype=np.int64)
    for f in range(last - first):
        histogram[:] = 0
        for i in range(len(rows)):
            x = rows[i]
            cell, amount = histogram[codes[first + f, x] >> shift], amounts[x]
            for a in range(n_amounts):
                cell[a] += amount[a]
            cell[n_amounts] += 1
            cell[n_amounts + 1] += int(x < n_samples)
        running[:] = 0
        for b in range(n_bins):
            sums[f, :, b] = running
            running += histogram[b]
        sums[f, :, n_bins] = running


@jit
def sweep_sums(
    columns: Matrix,
    extra: Floats,
    codes: Array,
    shift: int,
    features: Array,
    wanted: Array,
    rows: Array,
    amounts: Ints,
    borders: Ints,
    sums: Ints,
    around: Floats,
    which: Array,
) -> int:
    """Write the sums left of every gap between distinct values within runs of wanted bins.

    Runs start from the sums at their first border. ``around[:, g]`` are the values that gap g parts,
    ``which[g]`` is its place in `features`. Shapes: features (m,), wanted (m, n_bins), amounts (n,
    n_amounts), borders (m, n_amounts + 2, n_bins + 1), sums (n_amounts + 2, n_gaps), around (2,
    n_gaps), which (n_gaps,), with room for a gap per row in wanted bins. Returns the number of gaps.
    Cost O(n_rows) a feature, the sorting of the rows in wanted bins and O(n_amounts) for each.
    """
    n_bins, n_rows, n_amounts = wanted.shape[1], len(rows), amounts.shape[1]
    n_samples = columns.shape[1]
    room = room_for(n_rows, n_bins)
    starts, members = room.starts, room.members
    now = np.empty(n_amounts + 2, dtype=np.int64)
    n_gaps = 0
    for j in range(len(features)):
        f = features[j]
        sort_bins(columns, extra, f, codes, shift, rows, wanted, j, room)
        run_stop = 0
        for b in range(n_bins):
            if wanted[j, b] and (b == 0 or not wanted[j, b - 1]):
                run_stop = end_of_run(wanted[j], b, starts)
                now[:] = borders[j, :, b]
            for i in range(starts[b], starts[b + 1]):
                amount = amounts[members[i]]
                for a in range(n_amounts):
                    now[a] += amount[a]
                now[n_amounts] += 1
                now[n_amounts + 1] += int(members[i] < n_samples)
                if i + 1 < run_stop:
                    n_gaps = write_gap(now, room, i, j, sums, around, which, n_gaps)
    return n_gaps
