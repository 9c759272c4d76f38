"""Sums over sample-centre stars: from the labels in every bin and the bins of the centres."""

import numpy as np

from spexplain.aliases import Array, Floats, Ints, Matrix
from spexplain.kernels.jit import jit
from spexplain.kernels.labels import labels_before
from spexplain.kernels.ordering import end_of_run, room_for, sort_bins, write_gap


@jit
def scan_stars(
    histograms: Array,
    starts: Array,
    first_codes: Ints,
    shift: int,
    center_codes: Array,
    clusters: Ints,
    centers: Ints,
    sums: Ints,
) -> None:
    """Write the sums left and right of every bin border to `sums`.

    Border b of part j lies before the codes from ``first_codes[j] + (b << shift)`` on, and the first
    has the labels in `starts` on its left. `clusters` holds, label by label, the vertices of the node,
    twice the weight of their edge to a centre inside it, and their degree; `centers` the label,
    degree and size of every centre of the node. Sums go to six fields: inner left, inner right,
    volume left, size left, members left, samples left. Shapes: histograms (m, n_bins, n_labels),
    starts (m, n_labels), center_codes (m, n_centers), clusters (3, n_labels), centers (3,
    n_centers), sums (m, 6, n_bins + 1). Cost O(m n_bins (n_labels + n_centers)).
    """
    n_parts, n_bins, n_labels = histograms.shape
    n_centers = centers.shape[1]
    totals, joins, degrees = clusters[0], clusters[1], clusters[2]
    left = np.empty(n_labels, dtype=np.int64)
    for j in range(n_parts):
        left[:] = 0
        volume, members = 0, 0
        here = starts[j]
        for b in range(n_bins + 1):
            for c in range(n_labels):
                left[c] += here[c]
                members += here[c]
                volume += degrees[c] * here[c]
            joined, rest, others, size, ends = 0, 0, 0, 0, 0
            border = first_codes[j] + (b << shift)
            for i in range(n_centers):
                c = centers[0, i]
                if center_codes[j, i] < border:
                    joined += joins[c] * left[c]
                    ends += centers[1, i]
                    size += centers[2, i]
                    others += 1
                else:
                    rest += joins[c] * (totals[c] - left[c])
            sums[j, 0, b], sums[j, 1, b], sums[j, 2, b] = joined, rest, volume + ends
            sums[j, 3, b], sums[j, 4, b], sums[j, 5, b] = size, members, members - others
            if b < n_bins:
                here = histograms[j, b]


@jit
def sweep_stars(
    columns: Matrix,
    extra: Floats,
    codes: Array,
    shift: int,
    features: Array,
    wanted: Array,
    rows: Array,
    labels: Array,
    number_of: Array,
    clusters: Ints,
    centers: Ints,
    borders: Ints,
    sums: Ints,
    around: Floats,
    which: Array,
) -> int:
    """Write the sums left and right of every gap between distinct values within runs of wanted bins.

    The centres of the node are its last rows, in the order of `centers`. Shapes: codes (d, n),
    clusters and centers as in `scan_stars`, the others as in `sweep_labels`. Returns the number of
    gaps. Cost O(n_rows) a feature and the sorting of the rows in wanted bins.
    """
    n_bins, n_samples = wanted.shape[1], columns.shape[1]
    n_rows, n_labels, n_centers = len(rows), clusters.shape[1], centers.shape[1]
    totals, joins, degrees = clusters[0], clusters[1], clusters[2]
    room = room_for(n_rows, n_bins)
    starts, members = room.starts, room.members
    before = np.empty((n_bins // 2 + 2, n_labels), dtype=np.int64)
    is_left = np.zeros(n_labels, dtype=np.bool_)  # whether the centre of a label lies left
    first_center = n_rows - n_centers
    n_gaps = 0
    for j in range(len(features)):
        f = features[j]
        sort_bins(columns, extra, f, codes, shift, rows, wanted, j, room)
        labels_before(codes, shift, f, wanted, j, rows, labels, number_of, before)
        run, run_stop = -1, 0
        left, now = before[0], borders[j, :, 0].copy()
        for b in range(n_bins):
            if wanted[j, b] and (b == 0 or not wanted[j, b - 1]):
                run += 1
                run_stop = end_of_run(wanted[j], b, starts)
                left, now = before[run], borders[j, :, b].copy()
                for i in range(n_centers):
                    is_left[centers[0, i]] = (codes[f, rows[first_center + i]] >> shift) < b
            for i in range(starts[b], starts[b + 1]):
                x = members[i]
                if x < n_samples:
                    c = number_of[labels[x]]
                    now[0] += joins[c] if is_left[c] else 0
                    now[1] -= 0 if is_left[c] else joins[c]
                    now[2] += degrees[c]
                    now[5] += 1
                    left[c] += 1
                else:
                    center = np.searchsorted(rows[first_center:], x)
                    c = centers[0, center]
                    now[0] += joins[c] * left[c]
                    now[1] -= joins[c] * (totals[c] - left[c])
                    now[2] += centers[1, center]
                    now[3] += centers[2, center]
                    is_left[c] = True
                now[4] += 1
                if i + 1 < run_stop:
                    n_gaps = write_gap(now, room, i, j, sums, around, which, n_gaps)
    return n_gaps
