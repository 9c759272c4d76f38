"""Sums over cliques: counting labels replaces walking edges.

`clusters` holds, cluster by cluster, the members of the node, the weight of an edge, the degree of a
member and what it adds to the size; isolated samples form one more cluster of zeros. Sums are
written to six fields: inner left, inner right, volume left, size left, members left, samples left.
The bin of a vertex is its code shifted to the right: each `shift` halves the number of bins.
"""

from typing import Any

import numpy as np

from spexplain.aliases import Array, Floats, Ints
from spexplain.kernels.jit import jit, jit_any_order, jit_inline
from spexplain.kernels.ordering import sort_rows


@jit
def fill_histograms(
    codes: Array,
    shift: int,
    features: Ints,
    rows: Array,
    labels: Array,
    step: int,
    histograms: Array,
) -> None:
    """Add `step` to ``histograms[j, bin, label]`` for every row and each feature ``features[j]``.

    Shapes: codes (d, n), features (m,), labels (n_rows,): those of the rows, histograms (m, n_bins,
    n_labels). Cost O(m n_rows).
    """
    down, n_features = np.uint64(shift), len(features)
    for j in range(0, n_features, 2):
        # Two at a time, which wait for each other less; of an odd number the last is its own partner.
        has_other = j + 1 < n_features
        other = j + 1 if has_other else j
        feature, its_feature = features[j], features[other]
        its_step = step if has_other else 0
        for i in range(len(rows)):
            # Unsigned indices spare the check for negative ones.
            x, label = np.uint32(rows[i]), np.uint64(labels[i])
            histograms[j, np.uint64(codes[feature, x]) >> down, label] += step
            histograms[other, np.uint64(codes[its_feature, x]) >> down, label] += its_step


def zoom_histograms(
    codes: Array,
    shift: int,
    features: Ints,
    bins: Ints,
    rows: Array,
    labels: Array,
    wide: Array,
    cells_of: Ints,
    is_twin: Array,
    starts: Array,
    histograms: Array,
) -> None:
    """Write the histograms of single bins over the codes they hold, and what lies left of them.

    Bin ``bins[s]`` of feature ``features[s]`` has its counts in ``histograms[s, code - first code]``,
    which must be zeros before, and the labels of all rows in lower bins in ``starts[s]``. Bins of a
    feature stand together; its histogram over all bins is ``wide[cells_of[s]]``, for twins but for the first
    bin, see `scan_histograms`. Shapes: codes (d, n), features, bins, cells_of and is_twin (m,), labels
    (n_rows,), wide (>= m, n_bins, n_labels), starts (m, n_labels), histograms (m, 2 ** shift, n_labels). Cost
    O(n_rows) a feature.
    """
    begins = np.append(True, features[1:] != features[:-1])
    feature, place = features[begins], np.cumsum(begins) - 1
    segment_of = np.full((len(feature), wide.shape[1]), -1)
    segment_of[place, bins] = np.arange(len(bins))
    starts[:] = 0
    add_lower_bins(cells_of, is_twin.astype(np.int64), bins, wide, starts)
    fill_segments(codes, shift, feature, segment_of, rows, labels, histograms)


@jit
def add_lower_bins(cells_of: Ints, first: Ints, bins: Ints, wide: Array, starts: Array) -> None:
    """Add the labels of the bins from ``first[s]`` to below ``bins[s]`` of ``wide[cells_of[s]]`` to ``starts[s]``."""
    for s in range(len(bins)):
        place = cells_of[s]
        for b in range(first[s], bins[s]):
            for c in range(wide.shape[2]):
                starts[s, c] += wide[place, b, c]


@jit
def fill_segments(
    codes: Array,
    shift: int,
    features: Ints,
    segment_of: Ints,
    rows: Array,
    labels: Array,
    histograms: Array,
) -> None:
    """Count every row in the segment of its bin, if it has one; see `zoom_histograms`.

    Shapes: features (m,), segment_of (m, n_bins), with -1 for none. Cost O(m n_rows).
    """
    down, low = np.uint64(shift), np.uint64((1 << shift) - 1)
    for j in range(len(features)):
        f = features[j]
        for i in range(len(rows)):
            own = np.uint64(codes[f, np.uint32(rows[i])])
            segment = segment_of[j, own >> down]
            if segment >= 0:
                histograms[np.uint64(segment), own & low, np.uint64(labels[i])] += 1


def scan_histograms(
    histograms: Array,
    starts: Array,
    clusters: Array,
    rates: Floats,
    sums: Ints,
    caps: Floats,
    cells_of: Ints | None = None,
) -> None:
    """Write the sums left and right of every bin border to `sums`, and caps of inner weight to `caps`.

    Border b lies before bin b, and the first has the labels in `starts` on its left. A member of
    cluster c has at most (members there - 1) inner edges; ``caps[:, 0]`` is the largest of these
    numbers times ``rates[c]`` left of a border, ``caps[:, 1]`` right of it. The clusters come as
    floats where these hold all sums exactly, else as integers. Range j has the histogram ``cells_of[j]``, by
    default the j-th. That of a twin is the histogram of the range before it with the first bin in the
    place of the last, which is empty there, and the other way round; its sums follow from that one's, its caps
    may be too large. Shapes: histograms (<= m, n_bins, n_labels), starts (m, n_labels), clusters (4,
    n_labels), rates (n_labels,), sums (m, 6, n_bins + 1), caps (m, 2, n_bins + 1), cells_of (m,). Cost
    O(size of the histograms); two loops, because one for all is not vectorised.
    """
    room = np.empty(len(rates))
    if cells_of is None:
        scan_labels(
            histograms, starts, np.arange(len(histograms)), clusters, rates, room, sums, caps
        )
        return
    is_twin = is_twin_of(cells_of)
    scan_labels(histograms, starts, np.flatnonzero(~is_twin), clusters, rates, room, sums, caps)
    twins, moved, less = np.flatnonzero(is_twin), np.empty_like(clusters[0]), np.empty(6, np.int64)
    its_cells = cells_of[twins]
    move_twins(histograms, its_cells, starts, twins, clusters, rates, moved, less, sums, caps)


def is_twin_of(cells_of: Ints) -> Array:
    """Return which ranges have the histogram of the one before them."""
    return np.append(False, cells_of[1:] == cells_of[:-1])


@jit_any_order
def scan_labels(
    histograms: Array,
    starts: Array,
    which: Ints,
    clusters: Array,
    rates: Floats,
    left: Floats,
    sums: Ints,
    caps: Floats,
) -> None:
    """Do the work of `scan_histograms` for all but twins, whose places are `which`; `left` is room."""
    _, n_bins, n_labels = histograms.shape
    exact = clusters.dtype.type
    none = exact(0)
    for place in range(len(which)):
        j = which[place]
        node_inner = none
        for c in range(n_labels):
            left[c] = starts[j, c]
            node_inner += clusters[1, c] * clusters[0, c] * (clusters[0, c] - 1)
        for b in range(n_bins + 1):
            # With a of t members on the left, the inner weight is w a (a - 1) left and that less
            # 2 w (t - 1) a, but for a constant, right.
            joined, parted, volume, size, members = none, none, none, none, none
            for c in range(n_labels):
                a = exact(left[c])
                members += a
                weight = clusters[1, c]
                joined += weight * a * (a - 1)
                parted += weight * (clusters[0, c] - 1) * a
                volume += clusters[2, c] * a
                size += clusters[3, c] * a
            low, high = 0.0, 0.0
            following = (
                b if b < n_bins else n_bins - 1
            )  # behind the last border nothing is read any more
            for c in range(n_labels):
                a, rate = left[c], rates[c]
                on_left, on_right = (a - 1) * rate, (clusters[0, c] - 1 - a) * rate
                low = on_left if on_left > low else low
                high = on_right if on_right > high else high
                left[c] = a + histograms[place, following, c]
            sums[j, 0, b], sums[j, 1, b] = joined, node_inner + joined - 2 * parted
            sums[j, 2, b], sums[j, 3, b] = volume, size
            sums[j, 4, b], sums[j, 5, b] = members, members
            caps[j, 0, b], caps[j, 1, b] = low, high


@jit_any_order
def move_twins(
    histograms: Array,
    cells_of: Ints,
    starts: Array,
    twins: Ints,
    clusters: Array,
    rates: Floats,
    moved: Array,
    less: Ints,
    sums: Ints,
    caps: Floats,
) -> None:
    """Write the sums and caps of twins, from those of the ranges before them; `moved` and `less` are room.

    A kernel of its own, which only tables with missing values need.
    """
    _, n_bins, n_labels = histograms.shape
    none = clusters.dtype.type(0)
    for place in range(len(twins)):
        j, source = twins[place], cells_of[place]
        joined, parted, volume, size, members, spread = none, none, none, none, none, 0.0
        for c in range(n_labels):
            m = histograms[source, 0, c]
            moved[c] = clusters[1, c] * m
            # Without m of the a on the left: w (a - m) (a - m - 1), which is w m (m + 1) - 2 w m a more.
            joined += moved[c] * (m + 1 - 2 * starts[j - 1, c])
            parted += moved[c] * (clusters[0, c] - 1)
            volume += clusters[2, c] * m
            size += clusters[3, c] * m
            members += m
            spread = m * rates[c] if m * rates[c] > spread else spread
        less[0], less[1], less[2] = 0, -2 * parted, volume
        less[3], less[4], less[5] = size, members, members
        for field in range(6):
            by = less[field]
            for b in range(n_bins + 1):
                sums[j, field, b] = sums[j - 1, field, b] - by
            # Nothing is left of the first border, and nothing right of the last.
            sums[j, field, 0] = sums[j - 1, field, 0]
            sums[j, field, n_bins] = sums[j - 1, field, n_bins]
        for b in range(n_bins + 1):
            caps[j, 0, b], caps[j, 1, b] = caps[j - 1, 0, b], caps[j - 1, 1, b] + spread
        for b in range(1, n_bins):
            tied = none
            for c in range(n_labels):
                tied += moved[c] * histograms[source, b - 1, c]
            joined -= 2 * tied
            more = np.int64(joined)
            sums[j, 0, b] += more
            sums[j, 1, b] += more


def places_before(wanted: Array, n_kinds: int) -> tuple[Ints, Ints]:
    """Return where `labels_before` counts the rows of every bin, and room for the counts of a feature."""
    begins = wanted.copy()
    begins[:, 1:] &= ~wanted[:, :-1]
    return np.cumsum(begins, axis=1) * n_kinds, np.empty(
        (wanted.shape[1] // 2 + 2) * n_kinds, np.int64
    )


@jit_inline
def labels_before(
    codes: Array,
    shift: int,
    feature: int,
    places: Ints,
    j: int,
    rows: Array,
    labels: Array,
    number_of: Array,
    n_kinds: int,
    counts: Ints,
) -> None:
    """Write how often each label occurs before the r-th run of wanted bins to ``counts[r * n_kinds:]``.

    The rows in bin b of the feature count from place ``places[j, b]`` on: that of the first run to begin
    behind it. Shapes: codes (d, n), labels (n,), number_of (n_labels,): where a label stands in the
    counts. Cost O(n_rows + n_runs n_kinds).
    """
    n_counts, down = places[j, places.shape[1] - 1], np.uint64(shift)
    for i in range(n_counts + n_kinds):
        counts[i] = 0
    for i in range(len(rows)):
        x = np.uint32(rows[i])
        first = places[j, np.uint64(codes[feature, x]) >> down]
        counts[np.uint64(first + number_of[np.uint64(labels[x])])] += 1
    for i in range(n_kinds, n_counts):
        counts[i] += counts[i - n_kinds]


def sweep_labels(
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
    borders: Ints,
    sums: Ints,
    around: Floats,
    which: Array,
) -> int:
    """Write the sums left and right of every gap between distinct values within runs of wanted bins.

    Runs start from the sums at their first border. ``around[:, g]`` are the values that gap g parts,
    ``which[g]`` is its place in `features`. Shapes: features (m,), wanted (m, n_bins), labels (n,),
    number_of (n_labels,): where a label stands in the clusters, clusters (4, n_kinds), borders (m, 6,
    n_bins + 1), sums (6, n_gaps), around (2, n_gaps), which (n_gaps,), with room for a gap per row in
    wanted bins. Returns the number of gaps. Cost O(n_rows) a feature and the sorting of the rows in
    wanted bins.
    """
    in_order = sort_rows(matrix, extra, codes, shift, features, wanted, rows, len(which))
    places, before = places_before(wanted, clusters.shape[1])
    return walk_labels(
        codes,
        shift,
        features,
        wanted,
        rows,
        labels,
        number_of,
        clusters,
        *in_order,
        places,
        before,
        borders,
        sums,
        around,
        which,
    )


@jit
def walk_labels(
    codes: Array,
    shift: int,
    features: Array,
    wanted: Array,
    rows: Array,
    labels: Array,
    number_of: Array,
    clusters: Ints,
    starts: Ints,
    values: Floats,
    members: Array,
    places: Ints,
    before: Ints,
    borders: Ints,
    sums: Ints,
    around: Floats,
    which: Array,
) -> int:
    """Do the work of `sweep_labels` once the rows are sorted; see `places_before`."""
    n_bins, n_kinds = wanted.shape[1], clusters.shape[1]
    n = 0
    for j in range(len(features)):
        f = features[j]
        labels_before(codes, shift, f, places, j, rows, labels, number_of, n_kinds, before)
        run, b = 0, 0
        while b < n_bins:
            if not wanted[j, b]:
                b += 1
                continue
            inner, rest = borders[j, 0, b], borders[j, 1, b]
            volume, size, n_left = borders[j, 2, b], borders[j, 3, b], borders[j, 4, b]
            first = starts[j, b]
            while b < n_bins and wanted[j, b]:
                b += 1
            for i in range(first, starts[j, b] - 1):
                c = number_of[labels[members[i]]]
                n_before, weight = before[run + c], 2 * clusters[1, c]
                inner += weight * n_before
                rest -= weight * (clusters[0, c] - n_before - 1)
                volume += clusters[2, c]
                size += clusters[3, c]
                n_left += 1
                before[run + c] = n_before + 1
                low, high = values[i], values[i + 1]
                if low < high:
                    sums[0, n], sums[1, n], sums[2, n] = inner, rest, volume
                    sums[3, n], sums[4, n], sums[5, n] = size, n_left, n_left
                    around[0, n], around[1, n], which[n] = low, high, j
                    n += 1
            run += n_kinds
    return n


def corner_sums(
    histograms: Array,
    cells_of: Ints,
    starts: Array,
    places: Ints,
    wanted: Array,
    clusters: Ints,
    n_top: int,
    borders: Ints,
    sums: Ints,
) -> None:
    """Write, for each wanted bin, the sums with its largest clusters moved to the left or not.

    ``sums[w, 0, :, subset]`` are inner left, inner right, volume left and size left of the border before
    the bin, with those of the bin's `n_top` largest clusters moved whose bits are set in `subset`;
    ``sums[w, 1, :, subset]`` the same with all smaller clusters moved too. Shapes: histograms (<= m, n_bins,
    n_labels) and cells_of (m,), see `scan_histograms`, starts (m, n_labels): what lies left of the first bin,
    places: those of the m with wanted bins, wanted (m, n_bins), clusters (4, n_labels), borders (m, 6, n_bins +
    1): the sums that `scan_histograms` writes, sums (n_wanted, 2, 4, 2 ** n_top). Cost O(size of the
    histograms) and O(2 ** n_top) a wanted bin.
    """
    here, left = np.empty((2, clusters.shape[1]), dtype=np.int64)
    moves = np.empty(4 * n_top, dtype=np.int64)
    move_largest(
        histograms,
        cells_of,
        starts,
        places,
        wanted,
        clusters,
        n_top,
        here,
        left,
        moves,
        borders,
        sums,
    )


@jit
def move_largest(
    histograms: Array,
    cells_of: Ints,
    starts: Array,
    places: Ints,
    wanted: Array,
    clusters: Ints,
    n_top: int,
    here: Ints,
    left: Ints,
    moves: Ints,
    borders: Ints,
    sums: Ints,
) -> None:
    """Do the work of `corner_sums`; `here`, `left` and `moves` are room."""
    _, n_bins, n_labels = histograms.shape
    w = 0
    for place in range(len(places)):
        j = places[place]
        source = cells_of[j]
        last = n_bins - 1 if j > 0 and cells_of[j - 1] == source else -1  # bin of a twin
        for c in range(n_labels):
            left[c], here[c] = 0, starts[j, c]
        for b in range(n_bins):
            own = last - b if last > 0 and b * (last - b) == 0 else b
            for c in range(n_labels):
                left[c] += here[c]
                here[c] = histograms[source, own, c]
            if not wanted[j, b]:
                continue
            for top in range(n_top):
                largest, n = 0, 0
                for c in range(n_labels):
                    # Isolated samples change nothing.
                    if here[c] > n and clusters[1, c] > 0:
                        largest, n = c, here[c]
                weight, n_left = clusters[1, largest] * n, left[largest]
                moves[4 * top] = weight * (2 * n_left + n - 1)
                moves[4 * top + 1] = -weight * (2 * (clusters[0, largest] - n_left) - n - 1)
                moves[4 * top + 2] = clusters[2, largest] * n
                moves[4 * top + 3] = clusters[3, largest] * n
                # Not looked at again, and left of the next bin.
                left[largest] += n
                here[largest] -= n
            for entry in range(4 << n_top):
                field, subset = entry & 3, entry >> 2
                low, high = borders[j, field, b], borders[j, field, b + 1]
                for top in range(n_top):
                    move = moves[4 * top + field]
                    if subset >> top & 1:
                        low += move
                    else:
                        high -= move
                sums[w, 0, field, subset] = low
                sums[w, 1, field, subset] = high
            w += 1
