"""Which bins can hold the best cut, and the rows of those bins in the order of their values."""

from typing import Any, NamedTuple

import numpy as np

from spexplain.aliases import Array, Floats, Ints
from spexplain.kernels.coding import value_of
from spexplain.kernels.jit import jit


@jit
def survey_bins(
    bounds: Floats,
    sums: Ints,
    score: float,
    feature: int,
    worth: Array,
    lowest: Floats,
    n_members: Ints,
) -> None:
    """Write which bins can hold a cut better than `score`, or an equal one of an earlier feature or the same.

    And, feature by feature, their lowest bound and the members that they hold, for which `sums` has
    the members left of every border in the last field but one. Shapes: bounds and worth (d, n_bins),
    sums (d, n_fields, n_bins + 1), lowest and n_members (d,). Cost O(d n_bins).
    """
    n_features, n_bins = bounds.shape
    field = sums.shape[1] - 2
    for f in range(n_features):
        least, n = np.inf, 0
        ties_win = f <= feature and score < np.inf
        for b in range(n_bins):
            bound = bounds[f, b]
            can_win = bound <= score if ties_win else bound < score
            worth[f, b] = can_win
            if can_win:
                least = bound if bound < least else least
                n += sums[f, field, b + 1] - sums[f, field, b]
        lowest[f], n_members[f] = least, n


class Sorted(NamedTuple):
    """The rows of the wanted bins of some features, in the order of their values.

    Those of bin b of the feature at place j are ``members[starts[j, b]:starts[j, b + 1]]``.
    """

    starts: Ints  # shape (n_features, n_bins + 1)
    values: Floats
    members: Array


def sort_rows(
    matrix: Any,
    extra: Floats,
    codes: Array,
    shift: int,
    features: Ints,
    wanted: Array,
    rows: Array,
    room: int,
) -> Sorted:
    """Return the rows of the wanted bins sorted by value, feature by feature.

    The bin of a vertex is its code shifted to the right. Shapes: matrix (n_samples, d), a `SearchedMatrix`,
    extra (d, n_extra), codes (d, n), features (m,), wanted (m, n_bins); `room` is no less than the number of all
    rows in wanted bins. Cost O(m n_rows), and the sorting.
    """
    offsets = np.empty(len(features) + 1, dtype=np.int64)
    chosen = np.empty(room + 1, dtype=np.int32)
    choose_rows(codes, shift, features, wanted, rows, offsets, chosen)
    return sort_chosen(matrix, extra, codes, shift, features, wanted.shape[1], offsets, chosen)


def sort_chosen(
    matrix: Any,
    extra: Floats,
    codes: Array,
    shift: int,
    features: Ints,
    n_bins: int,
    offsets: Ints,
    chosen: Array,
) -> Sorted:
    """Return the rows ``chosen[offsets[j]:offsets[j + 1]]`` of the j-th feature sorted by value."""
    n_rows = int(offsets[-1])
    starts = np.zeros((len(features), n_bins + 1), dtype=np.int64)
    values, members = np.empty(n_rows), np.empty(n_rows, dtype=np.int32)
    place_rows(matrix, extra, codes, shift, features, offsets, chosen, starts, values, members)
    sort_bins(starts, values, members)
    return Sorted(starts, values, members)


@jit
def choose_rows(
    codes: Array,
    shift: int,
    features: Ints,
    wanted: Array,
    rows: Array,
    offsets: Ints,
    chosen: Array,
) -> None:
    """Write the rows in wanted bins of feature j to ``chosen[offsets[j]:offsets[j + 1]]``, and the offsets.

    Shapes: codes (d, n), features (m,), wanted (m, n_bins), offsets (m + 1,), chosen: one more than is
    chosen. Cost O(m n_rows).
    """
    down, n = np.uint64(shift), 0
    offsets[0] = 0
    for j in range(len(features)):
        f = features[j]
        for i in range(len(rows)):
            # Writing always and advancing for some is faster than a branch that guesses wrong; unsigned
            # indices spare the check for negative ones.
            row = rows[i]
            chosen[np.uint64(n)] = row
            n += wanted[j, np.uint64(codes[f, np.uint32(row)]) >> down]
        offsets[j + 1] = n


@jit
def place_rows(
    matrix: Any,
    extra: Floats,
    codes: Array,
    shift: int,
    features: Ints,
    offsets: Ints,
    chosen: Array,
    starts: Ints,
    values: Floats,
    members: Array,
) -> None:
    """Write chosen rows and their values bin by bin, and where the bins begin to `starts`, which must be zeros.

    Shapes: codes (d, n), features (m,), offsets (m + 1,), starts (m, n_bins + 1). Cost O(n_chosen).
    """
    down, n_bins = np.uint64(shift), starts.shape[1] - 1
    for j in range(len(features)):
        f = features[j]
        for i in range(offsets[j], offsets[j + 1]):
            starts[j, np.uint64(codes[f, np.uint32(chosen[i])]) >> down] += 1
        # Where bins end; placing the rows from the last to the first turns that into where they begin.
        end = offsets[j]
        for b in range(n_bins + 1):
            end += starts[j, b]
            starts[j, b] = end
        for i in range(offsets[j + 1] - 1, offsets[j] - 1, -1):
            row = chosen[i]
            own = np.uint64(codes[f, np.uint32(row)]) >> down
            place = starts[j, own] - 1
            starts[j, own] = place
            values[place] = value_of(matrix, extra, f, row)
            members[place] = row


@jit
def sort_bins(starts: Ints, values: Floats, members: Array) -> None:
    """Sort the values of every bin in place, and the members along with them.

    Entries far apart change places first (Shell's way): few lines to compile, and bins are short. Shapes: starts
    (m, n_bins + 1). Cost about O(n ** 1.25) for bins of n members.
    """
    n_features, n_borders = starts.shape
    for place in range(n_features * (n_borders - 1)):
        feature, b = divmod(place, n_borders - 1)
        start, stop = starts[feature, b], starts[feature, b + 1]
        gap = 1
        while 8 * gap < stop - start:
            gap = 4 * gap + 1
        while gap > 0:
            for i in range(start + gap, stop):
                value, member = values[i], members[i]
                j = i - gap
                while j >= start and values[j] > value:
                    values[j + gap], members[j + gap] = values[j], members[j]
                    j -= gap
                values[j + gap], members[j + gap] = value, member
            gap //= 4
