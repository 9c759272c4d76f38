"""Rows of chosen bins in the order of their values."""

from typing import Any, NamedTuple

import numpy as np

from spexplain.aliases import Array, Floats, Matrix
from spexplain.kernels.coding import value_of
from spexplain.kernels.jit import jit_inline, jit_part

_RUN = 16  # below this length, moving entries one by one beats merging


class Sorted(NamedTuple):
    """Room for the rows of wanted bins: bin b fills the places ``starts[b]:starts[b + 1]``."""

    starts: Array  # shape (n_bins + 1,)
    values: Floats  # ascending within a bin; this and the others as long as the rows
    members: Array
    spare_values: Floats
    spare_members: Array


@jit_inline
def room_for(n_rows: int, n_bins: int) -> Sorted:
    """Return arrays of unknown content."""
    return Sorted(
        np.empty(n_bins + 1, dtype=np.int64),
        np.empty(n_rows, dtype=np.float64),
        np.empty(n_rows, dtype=np.int32),
        np.empty(n_rows, dtype=np.float64),
        np.empty(n_rows, dtype=np.int32),
    )


@jit_inline
def sort_pairs(
    keys: Floats, items: Array, start: int, stop: int, spare_keys: Floats, spare_items: Array
) -> None:
    """Sort ``keys[start:stop]`` in place, and `items` along with them. Stable; cost O(m log m)."""
    for i in range(start + 1, stop):
        key, item = keys[i], items[i]
        run = i - (i - start) % _RUN
        j = i
        while j > run and keys[j - 1] > key:
            keys[j], items[j] = keys[j - 1], items[j - 1]
            j -= 1
        keys[j], items[j] = key, item
    width = _RUN
    while width < stop - start:
        low = start
        while low + width < stop:
            middle = low + width
            high = middle + width if middle + width < stop else stop
            if keys[middle - 1] > keys[middle]:
                for i in range(low, middle):
                    spare_keys[i], spare_items[i] = keys[i], items[i]
                i, j, k = low, middle, low
                while i < middle:
                    if j < high and keys[j] < spare_keys[i]:
                        keys[k], items[k] = keys[j], items[j]
                        j += 1
                    else:
                        keys[k], items[k] = spare_keys[i], spare_items[i]
                        i += 1
                    k += 1
            low = high
        width *= 2


@jit_part
def sort_bins(
    columns: Matrix,
    extra: Floats,
    feature: int,
    codes: Array,
    shift: int,
    rows: Array,
    wanted: Array,
    place: int,
    room: Sorted,
) -> None:
    """Write the rows of the bins ``wanted[place]`` of a feature, sorted by value, and their values to `room`.

    The bin of a vertex is its code shifted to the right. Shapes: codes (d, n), wanted (m, n_bins).
    Cost O(n_rows + m log(m / n_bins)) for m rows in wanted bins.
    """
    starts, values, members, spare_values, spare_members = room
    n_bins, down, n_wanted = wanted.shape[1], np.uint64(shift), 0
    for i in range(len(rows)):
        # Writing always and advancing for some is faster than a branch that guesses wrong; unsigned
        # indices spare the check for negative ones.
        row = rows[i]
        spare_members[n_wanted] = row
        n_wanted += wanted[place, np.uint64(codes[feature, np.uint32(row)]) >> down]
    for b in range(n_bins + 1):
        starts[b] = 0
    for i in range(n_wanted):
        starts[np.uint64(codes[feature, np.uint32(spare_members[i])]) >> down] += 1
    # Where bins end; placing the rows from the last to the first turns that into where they begin.
    end = 0
    for b in range(n_bins + 1):
        end += starts[b]
        starts[b] = end
    for i in range(n_wanted - 1, -1, -1):
        row = spare_members[i]
        own = np.uint64(codes[feature, np.uint32(row)]) >> down
        at = starts[own] - 1
        starts[own] = at
        values[at] = value_of(columns, extra, feature, row)
        members[at] = row
    for b in range(n_bins):
        sort_pairs(values, members, starts[b], starts[b + 1], spare_values, spare_members)


@jit_inline
def end_of_run(wanted: Array, place: int, first_bin: int, starts: Array) -> Any:
    """Return where the members of the run of bins ``wanted[place]`` that begins with `first_bin` end."""
    b = first_bin
    while b < wanted.shape[1] and wanted[place, b]:
        b += 1
    return starts[b]
