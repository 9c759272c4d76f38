"""Sums over sample-centre stars: from the labels in every bin and the bins of the centres."""

from typing import Any

import numpy as np

from spexplain.aliases import Array, Floats, Ints
from spexplain.kernels.jit import jit
from spexplain.kernels.labels import labels_before, places_before
from spexplain.kernels.ordering import sort_rows


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
    left = np.empty(n_labels, dtype=np.int64)
    for j in range(n_parts):
        for c in range(n_labels):
            left[c] = starts[j, c]
        for b in range(n_bins + 1):
            volume, members = 0, 0
            for c in range(n_labels):
                members += left[c]
                volume += clusters[2, c] * left[c]
            joined, rest, others, size = 0, 0, 0, 0
            border = first_codes[j] + (b << shift)
            for i in range(n_centers):
                c = centers[0, i]
                if center_codes[j, i] < border:
                    joined += clusters[1, c] * left[c]
                    volume += centers[1, i]
                    size += centers[2, i]
                    others += 1
                else:
                    rest += clusters[1, c] * (clusters[0, c] - left[c])
            sums[j, 0, b], sums[j, 1, b], sums[j, 2, b] = joined, rest, volume
            sums[j, 3, b], sums[j, 4, b], sums[j, 5, b] = size, members, members - others
            following = (
                b if b < n_bins else n_bins - 1
            )  # behind the last border nothing is read any more
            for c in range(n_labels):
                left[c] += histograms[j, following, c]


def sweep_stars(
    matrix: Any,
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
    in_order = sort_rows(matrix, extra, codes, shift, features, wanted, rows, len(which))
    places, before = places_before(wanted, clusters.shape[1])
    is_left = np.zeros(clusters.shape[1], dtype=np.int64)
    return walk_stars(
        len(matrix.values),
        codes,
        shift,
        features,
        wanted,
        rows,
        labels,
        number_of,
        clusters,
        centers,
        *in_order,
        places,
        before,
        is_left,
        borders,
        sums,
        around,
        which,
    )


@jit
def walk_stars(
    n_samples: int,
    codes: Array,
    shift: int,
    features: Array,
    wanted: Array,
    rows: Array,
    labels: Array,
    number_of: Array,
    clusters: Ints,
    centers: Ints,
    starts: Ints,
    values: Floats,
    members: Array,
    places: Ints,
    before: Ints,
    is_left: Ints,
    borders: Ints,
    sums: Ints,
    around: Floats,
    which: Array,
) -> int:
    """Do the work of `sweep_stars` once the rows are sorted; see `places_before`.

    ``is_left[c]`` is 1 where the centre of label c lies left; it must be zeros before.
    """
    n_bins = wanted.shape[1]
    n_kinds, n_centers = clusters.shape[1], centers.shape[1]
    first_center = len(rows) - n_centers
    n = 0
    for j in range(len(features)):
        f = features[j]
        labels_before(codes, shift, f, places, j, rows, labels, number_of, n_kinds, before)
        run, b = 0, 0
        while b < n_bins:
            if not wanted[j, b]:
                b += 1
                continue
            inner, rest, volume = borders[j, 0, b], borders[j, 1, b], borders[j, 2, b]
            size, n_left, n_left_samples = borders[j, 3, b], borders[j, 4, b], borders[j, 5, b]
            for i in range(n_centers):
                code = codes[f, rows[first_center + i]]
                is_left[centers[0, i]] = 1 if (code >> shift) < b else 0
            first = starts[j, b]
            while b < n_bins and wanted[j, b]:
                b += 1
            for i in range(first, starts[j, b] - 1):
                x = members[i]
                if x < n_samples:
                    c = number_of[labels[x]]
                    inner += clusters[1, c] * is_left[c]
                    rest -= clusters[1, c] * (1 - is_left[c])
                    volume += clusters[2, c]
                    n_left_samples += 1
                    before[run + c] += 1
                else:
                    center = 0
                    while rows[first_center + center] < x:
                        center += 1
                    c = centers[0, center]
                    inner += clusters[1, c] * before[run + c]
                    rest -= clusters[1, c] * (clusters[0, c] - before[run + c])
                    volume += centers[1, center]
                    size += centers[2, center]
                    is_left[c] = 1
                n_left += 1
                low, high = values[i], values[i + 1]
                if low < high:
                    sums[0, n], sums[1, n], sums[2, n] = inner, rest, volume
                    sums[3, n], sums[4, n], sums[5, n] = size, n_left, n_left_samples
                    around[0, n], around[1, n], which[n] = low, high, j
                    n += 1
            run += n_kinds
    return n
