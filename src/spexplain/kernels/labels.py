"""Sums over cliques: counting labels replaces walking edges.

`clusters` holds, cluster by cluster, the members of the node, the weight of an edge, the degree of a
member and what it adds to the size; isolated samples form one more cluster of zeros. Sums are
written to six fields: inner left, inner right, volume left, size left, members left, samples left.
The bin of a vertex is its code shifted to the right: each `shift` halves the number of bins.
"""

import numpy as np

from spexplain.kernels.jit import jit
from spexplain.kernels.ordering import end_of_run, sort_bins
from spexplain.typing import Array, Floats, Ints, Matrix


@jit
def fill_histograms(
    codes: Array, first: int, last: int, rows: Array, labels: Array, histograms: Array
) -> None:
    """Add the rows to ``histograms[f - first, bin, label]`` for the features ``first <= f < last``.

    Shapes: codes (d, n), labels (n_rows,): those of the rows, histograms (last - first, n_bins,
    n_labels). Cost O((last - first) n_rows).
    """
    for f in range(first, last):
        histogram = histograms[f - first]
        for i in range(len(rows)):
            histogram[codes[f, rows[i]], labels[i]] += 1


@jit
def scan_histograms(
    histograms: Array, clusters: Ints, rates: Floats, sums: Ints, caps: Floats
) -> None:
    """Write the sums left and right of every bin border to `sums`, and caps of inner weight to `caps`.

    Border b lies before bin b. A member of cluster c has at most (members there - 1) inner edges;
    ``caps[:, 0]`` is the largest of these numbers times ``rates[c]`` left of a border, ``caps[:, 1]``
    right of it. Shapes: histograms (n_features, n_bins, n_labels), clusters (4, n_labels), rates
    (n_labels,), sums (n_features, 6, n_bins + 1), caps (n_features, 2, n_bins + 1). Cost O(size of
    the histograms).
    """
    n_features, n_bins, n_labels = histograms.shape
    totals, weights, degrees, counted = clusters[0], clusters[1], clusters[2], clusters[3]
    left = np.empty(n_labels, dtype=np.int64)
    node_inner = np.sum(weights * totals * (totals - 1))
    for f in range(n_features):
        left[:] = 0
        joined, rest, volume, size, members, cap = 0, node_inner, 0, 0, 0, 0.0
        for b in range(n_bins + 1):
            sums[f, 0, b], sums[f, 1, b], sums[f, 2, b] = joined, rest, volume
            sums[f, 3, b], sums[f, 4, b], sums[f, 5, b] = size, members, members
            caps[f, 0, b] = cap
            for c in range(n_labels if b < n_bins else 0):
                n = int(histograms[f, b, c])
                if n > 0:
                    here = left[c]
                    joined += weights[c] * n * (2 * here + n - 1)
                    rest -= weights[c] * n * (2 * (totals[c] - here) - n - 1)
                    volume += degrees[c] * n
                    size += counted[c] * n
                    members += n
                    left[c] = here + n
                    cap = max(cap, (here + n - 1) * rates[c])
        cap = 0.0
        for b in range(n_bins, -1, -1):
            for c in range(n_labels if b < n_bins else 0):
                n = int(histograms[f, b, c])
                if n > 0:
                    left[c] -= n
                    cap = max(cap, (totals[c] - left[c] - 1) * rates[c])
            caps[f, 1, b] = cap


@jit
def scan_rows(
    codes: Array,
    shift: int,
    first: int,
    last: int,
    rows: Array,
    labels: Array,
    clusters: Ints,
    rates: Floats,
    sums: Ints,
    caps: Floats,
) -> None:
    """Write what `scan_histograms` writes, without histograms: cheaper for few rows or many labels.

    Shapes: codes (d, n), labels (n_rows,), the others as there. Cost O(n_rows + n_bins) a feature.
    """
    n_bins, n_labels = sums.shape[2] - 1, clusters.shape[1]
    totals, weights = clusters[0], clusters[1]
    starts = np.empty(n_bins + 1, dtype=np.int64)
    places = np.empty(n_bins, dtype=np.int64)
    bins = np.empty(len(rows), dtype=np.uint8)
    ordered = np.empty(len(rows), dtype=labels.dtype)
    # What a row of a label adds, side by side. With a of t members on the left, the inner weight is
    # w a (a - 1) left and that less 2 w (t - 1) a, but for a constant, right.
    adds = np.empty((n_labels, 4), dtype=np.int64)
    adds[:, 0], adds[:, 1] = 2 * weights, 2 * weights * (totals - 1)
    adds[:, 2], adds[:, 3] = clusters[2], clusters[3]
    seen = np.empty(n_labels, dtype=np.int64)
    node_inner = np.sum(weights * totals * (totals - 1))
    # Unsigned indices spare the check for negative ones.
    down = np.uint64(shift)
    for f in range(last - first):
        starts[:] = 0
        code = codes[first + f]
        for i in range(len(rows)):
            bin_of_row = np.uint64(code[np.uint32(rows[i])]) >> down
            bins[i] = bin_of_row
            starts[bin_of_row + np.uint64(1)] += 1
        for b in range(n_bins):
            starts[b + 1] += starts[b]
            places[b] = starts[b]
        sums[f, 4] = starts
        sums[f, 5] = starts
        for i in range(len(rows)):
            place = np.uint64(places[bins[i]])
            ordered[place] = labels[i]
            places[bins[i]] = place + np.uint64(1)
        seen[:] = 0
        joined, parted, volume, size, cap = 0, 0, 0, 0, 0.0
        for b in range(n_bins + 1):
            sums[f, 0, b], sums[f, 1, b] = joined, node_inner + joined - parted
            sums[f, 2, b], sums[f, 3, b] = volume, size
            caps[f, 0, b] = cap
            for i in range(starts[b], starts[b + 1] if b < n_bins else 0):
                c = ordered[i]
                here = seen[c]
                seen[c] = here + 1
                joined += adds[c, 0] * here
                parted += adds[c, 1]
                volume += adds[c, 2]
                size += adds[c, 3]
                bound = here * rates[c]
                cap = bound if bound > cap else cap
        seen[:] = 0
        cap = 0.0
        for b in range(n_bins, -1, -1):
            for i in range(starts[b], starts[b + 1] if b < n_bins else 0):
                c = ordered[i]
                bound = seen[c] * rates[c]
                seen[c] += 1
                cap = bound if bound > cap else cap
            caps[f, 1, b] = cap


@jit
def sweep_labels(
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
    sums: Ints,
    around: Floats,
    which: Array,
) -> int:
    """Write the sums left and right of every gap between distinct values within runs of wanted bins.

    ``around[:, g]`` are the values that gap g parts, ``which[g]`` is its place in `features`.
    Shapes: features (m,), wanted (m, n_bins), labels (n,), number_of (n_labels,):
    where a label stands in the clusters, clusters (4, n_kinds), sums (6, n_gaps),
    around (2, n_gaps), which (n_gaps,), with room for a gap per row in wanted bins. Returns the
    number of gaps. Cost O(n_rows) a feature and the sorting of the rows in wanted bins.
    """
    n_bins = wanted.shape[1]
    n_rows, n_labels = len(rows), clusters.shape[1]
    totals, weights, degrees, counted = clusters[0], clusters[1], clusters[2], clusters[3]
    starts = np.empty(n_bins + 1, dtype=np.int64)
    values, spare_values = np.empty(n_rows), np.empty(n_rows)
    members, spare_members = np.empty(n_rows, np.int32), np.empty(n_rows, np.int32)
    # Unwanted bins between two wanted ones are moved to the left at once, as one stretch.
    stretch_of = np.empty(n_bins, dtype=np.int64)
    stretches = np.empty((n_bins // 2 + 1, n_labels), dtype=np.int64)
    left = np.empty(n_labels, dtype=np.int64)
    node_inner = np.sum(weights * totals * (totals - 1))
    n_gaps = 0
    for j in range(len(features)):
        f = features[j]
        bins = codes[f]
        sort_bins(
            columns,
            extra,
            f,
            bins,
            shift,
            rows,
            wanted[j],
            starts,
            values,
            members,
            spare_values,
            spare_members,
        )
        n_stretches = 0
        for b in range(n_bins):
            if not wanted[j, b]:
                n_stretches += 1 if b == 0 or wanted[j, b - 1] else 0
                stretch_of[b] = n_stretches - 1
        if n_stretches > 0:
            stretches[:n_stretches] = 0
            for i in range(n_rows):
                b = bins[rows[i]] >> shift
                if not wanted[j, b]:
                    stretches[stretch_of[b], number_of[labels[rows[i]]]] += 1
        left[:] = 0
        joined, rest, volume, size, n_left, run_stop = 0, node_inner, 0, 0, 0, 0
        for b in range(n_bins):
            if not wanted[j, b]:
                for c in range(n_labels if b == 0 or wanted[j, b - 1] else 0):
                    n = stretches[stretch_of[b], c]
                    joined += weights[c] * n * (2 * left[c] + n - 1)
                    rest -= weights[c] * n * (2 * (totals[c] - left[c]) - n - 1)
                    volume += degrees[c] * n
                    size += counted[c] * n
                    n_left += n
                    left[c] += n
                continue
            if b == 0 or not wanted[j, b - 1]:
                run_stop = end_of_run(wanted[j], b, starts)
            for i in range(starts[b], starts[b + 1]):
                c = number_of[labels[members[i]]]
                joined += 2 * weights[c] * left[c]
                rest -= 2 * weights[c] * (totals[c] - left[c] - 1)
                volume += degrees[c]
                size += counted[c]
                n_left += 1
                left[c] += 1
                if i + 1 < run_stop and values[i] < values[i + 1]:
                    sums[0, n_gaps], sums[1, n_gaps], sums[2, n_gaps] = joined, rest, volume
                    sums[3, n_gaps], sums[4, n_gaps], sums[5, n_gaps] = size, n_left, n_left
                    around[0, n_gaps], around[1, n_gaps] = values[i], values[i + 1]
                    which[n_gaps] = j
                    n_gaps += 1
    return n_gaps


@jit
def corner_sums(
    codes: Array,
    shift: int,
    features: Array,
    wanted: Array,
    rows: Array,
    labels: Array,
    clusters: Ints,
    n_top: int,
    sums: Ints,
) -> None:
    """Write, for each wanted bin, the sums with its largest clusters moved to the left or not.

    ``sums[w, 0, :, subset]`` are inner left, inner right, volume left and size left of the border before
    the bin, with those of the bin's `n_top` largest clusters moved whose bits are set in `subset`;
    ``sums[w, 1, :, subset]`` the same with all smaller clusters moved too. Shapes: codes (d, n),
    features (m,), wanted (m, n_bins), labels (n_rows,), clusters (4, n_labels), sums (n_wanted, 2, 4,
    2 ** n_top). Cost O(n_rows + n_bins n_labels) a feature and O(2 ** n_top) a wanted bin.
    """
    n_bins, n_labels = wanted.shape[1], clusters.shape[1]
    totals, weights = clusters[0], clusters[1]
    histogram = np.empty((n_bins, n_labels), dtype=np.int32)
    left = np.empty(n_labels, dtype=np.int64)
    now, after, moves = (
        np.empty(4, dtype=np.int64),
        np.empty(4, dtype=np.int64),
        np.empty((n_top, 4), dtype=np.int64),
    )
    change = np.empty((n_labels, 4), dtype=np.int64)
    node_inner = np.sum(weights * totals * (totals - 1))
    w = 0
    for j in range(len(features)):
        histogram[:] = 0
        for i in range(len(rows)):
            histogram[codes[features[j], rows[i]] >> shift, labels[i]] += 1
        left[:] = 0
        now[:] = 0
        now[1] = node_inner
        for b in range(n_bins):
            after[:] = now
            for c in range(n_labels):
                n = int(histogram[b, c])
                change[c, 0] = weights[c] * n * (2 * left[c] + n - 1)
                change[c, 1] = -weights[c] * n * (2 * (totals[c] - left[c]) - n - 1)
                change[c, 2] = clusters[2, c] * n
                change[c, 3] = clusters[3, c] * n
                left[c] += n
                for field in range(4):
                    after[field] += change[c, field]
            if wanted[j, b]:
                for top in range(n_top):
                    # Isolated samples, the last label, change nothing.
                    largest = np.argmax(histogram[b, : n_labels - 1])
                    moves[top] = change[largest]
                    histogram[b, largest] = 0
                    change[largest] = 0
                for subset in range(1 << n_top):
                    for field in range(4):
                        low, high = now[field], after[field]
                        for top in range(n_top):
                            if subset >> top & 1:
                                low += moves[top, field]
                            else:
                                high -= moves[top, field]
                        sums[w, 0, field, subset] = low
                        sums[w, 1, field, subset] = high
                w += 1
            now[:] = after
