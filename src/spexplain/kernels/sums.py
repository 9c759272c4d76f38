"""Sums of amounts that every vertex adds on its own: no edges, no labels.

Sums are written to one field per amount, then members left and samples left. The bin of a vertex is
its code shifted to the right.
"""

from typing import Any

import numpy as np

from spexplain.aliases import Array, Floats, Ints
from spexplain.kernels.jit import jit
from spexplain.kernels.ordering import sort_rows


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
    n_amounts, n_bins, down = amounts.shape[1], sums.shape[2] - 1, np.uint64(shift)
    n_fields = n_amounts + 2
    # Bin by bin; the border behind the last one has room too.
    histogram = np.empty((n_bins + 1) * n_fields, dtype=np.int64)
    for f in range(last - first):
        for i in range((n_bins + 1) * n_fields):
            histogram[i] = 0
        for i in range(len(rows)):
            # Unsigned indices spare the check for negative ones.
            x = np.uint32(rows[i])
            cell = (np.int64(np.uint64(codes[first + f, x]) >> down) + 1) * n_fields
            for a in range(n_amounts):
                histogram[np.uint64(cell + a)] += amounts[x, np.uint64(a)]
            histogram[np.uint64(cell + n_amounts)] += 1
            histogram[np.uint64(cell + n_amounts + 1)] += x < n_samples
        for i in range(n_fields, (n_bins + 1) * n_fields):
            histogram[i] += histogram[i - n_fields]
        for a in range(n_fields):
            for b in range(n_bins + 1):
                sums[f, a, b] = histogram[b * n_fields + a]


def sweep_sums(
    matrix: Any,
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
    in_order = sort_rows(matrix, extra, codes, shift, features, wanted, rows, len(which))
    now = np.empty(amounts.shape[1] + 2, dtype=np.int64)
    return walk_sums(
        len(matrix.values), wanted, amounts, *in_order, now, borders, sums, around, which
    )


@jit
def walk_sums(
    n_samples: int,
    wanted: Array,
    amounts: Ints,
    starts: Ints,
    values: Floats,
    members: Array,
    now: Ints,
    borders: Ints,
    sums: Ints,
    around: Floats,
    which: Array,
) -> int:
    """Do the work of `sweep_sums` once the rows are sorted; `now` is room."""
    n_bins, n_amounts = wanted.shape[1], amounts.shape[1]
    n = 0
    for j in range(len(wanted)):
        b = 0
        while b < n_bins:
            if not wanted[j, b]:
                b += 1
                continue
            for a in range(n_amounts + 2):
                now[a] = borders[j, a, b]
            first = starts[j, b]
            while b < n_bins and wanted[j, b]:
                b += 1
            for i in range(first, starts[j, b] - 1):
                x = members[i]
                for a in range(n_amounts):
                    now[a] += amounts[x, a]
                now[n_amounts] += 1
                now[n_amounts + 1] += x < n_samples
                low, high = values[i], values[i + 1]
                if low < high:
                    for a in range(n_amounts + 2):
                        sums[a, n] = now[a]
                    around[0, n], around[1, n], which[n] = low, high, j
                    n += 1
    return n
