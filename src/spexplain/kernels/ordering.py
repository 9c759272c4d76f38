"""Rows of chosen bins in the order of their values."""

from typing import NamedTuple

import numpy as np

from spexplain.aliases import Array, Floats, Matrix
from spexplain.kernels.coding import value_of
from spexplain.kernels.jit import jit

_RUN = 16  # below this length, moving entries one by one beats merging


class Sorted(NamedTuple):
    """Room for the rows of wanted bins: bin b fills the places ``starts[b]:starts[b + 1]``."""

    starts: Array  # shape (n_bins + 1,)
    values: Floats  # ascending within a bin; this and the others as long as the rows
    members: Array
    spare_values: Floats
    spare_members: Array


@jit
def room_for(n_rows: int, n_bins: int) -> Sorted:
    """Return arrays of unknown content."""
    return Sorted(
        np.empty(n_bins + 1, dtype=np.int64),
        np.empty(n_rows),
        np.empty(n_rows, dtype=np.int32),
        np.empty(n_rows),
        np.empty(n_rows, dtype=np.int32),
    )


@jit
def sort_pairs(
    keys: Floats, items: Array, start: int, stop: int, spare_keys: Floats, spare_items: Array
) -> None:
    """Sort ``keys[start:stop]`` in place, and `items` along with them. Stable; cost O(m log m)."""
    for run in range(start, stop, _RUN):
        for i in range(run + 1, min(run + _RUN, stop)):
            key, item = keys[i], items[i]
            j = i - 1
            while j >= run and keys[j] > key:
                keys[j + 1], items[j + 1] = keys[j], items[j]
                j -= 1
            keys[j + 1], items[j + 1] = key, item
    width = _RUN
    while width < stop - start:
        for low in range(start, stop - width, 2 * width):
            middle, high = low + width, min(low + 2 * width, stop)
            if keys[middle - 1] <= keys[middle]:
                continue
            spare_keys[low:middle] = keys[low:middle]
            spare_items[low:middle] = items[low:middle]
            i, j, k = low, middle, low
            while i < middle and j < high:
                if keys[j] < spare_keys[i]:
                    keys[k], items[k] = keys[j], items[j]
                    j += 1
                else:
                    keys[k], items[k] = spare_keys[i], spare_items[i]
                    i += 1
                k += 1
            keys[k : k + middle - i] = spare_keys[i:middle]
            items[k : k + middle - i] = spare_items[i:middle]
        width *= 2


@jit
def sort_bins(
    columns: Matrix,
    extra: Floats,
    feature: int,
    codes: Array,
    shift: int,
    rows: Array,
    wanted: Array,
    room: Sorted,
) -> None:
    """Write the rows of the wanted bins, sorted by value, and their values to `room`.

    The bin of a vertex is its code shifted to the right. Shapes: codes (n,), wanted (n_bins,). Cost
    O(n_rows + m log(m / n_bins)) for m rows in wanted bins.
    """
    starts, values, members, spare_values, spare_members = room
    n_bins, down, n_wanted = len(wanted), np.uint64(shift), 0
    for i in range(len(rows)):
        # Writing always and advancing for some is faster than a branch that guesses wrong; unsigned
        # indices spare the check for negative ones.
        spare_members[n_wanted] = rows[i]
        n_wanted += int(wanted[np.uint64(codes[np.uint32(rows[i])]) >> down])
    starts[:] = 0
    for i in range(n_wanted):
        starts[(np.uint64(codes[np.uint32(spare_members[i])]) >> down) + np.uint64(1)] += 1
    for b in range(n_bins):
        starts[b + 1] += starts[b]
    place = starts[:n_bins].copy()
    for i in range(n_wanted):
        row = spare_members[i]
        bin_of_row = np.uint64(codes[np.uint32(row)]) >> down
        values[place[bin_of_row]] = value_of(columns, extra, feature, row)
        members[place[bin_of_row]] = row
        place[bin_of_row] += 1
    for b in range(n_bins):
        sort_pairs(values, members, starts[b], starts[b + 1], spare_values, spare_members)


@jit
def end_of_run(wanted: Array, first_bin: int, starts: Array) -> int:
    """Return the place behind the last member of the run of wanted bins that begins with `first_bin`."""
    b = first_bin
    while b < len(wanted) and wanted[b]:
        b += 1
    return int(starts[b])


@jit
def write_gap(
    now: Array,
    room: Sorted,
    place: int,
    feature: int,
    sums: Array,
    around: Floats,
    which: Array,
    n: int,
) -> int:
    """Write the n-th gap if the values behind and before it differ; return how many there are then."""
    low, high = room.values[place], room.values[place + 1]
    if not low < high:
        return n
    for field in range(len(now)):
        sums[field, n] = now[field]
    around[0, n], around[1, n], which[n] = low, high, feature
    return n + 1
