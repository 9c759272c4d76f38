"""Loops over the stored entries of a sparse table; see `spexplain.engines.sparse` for what a piece is."""

from typing import Any

import numpy as np

from spexplain.aliases import Array, Floats, Ints
from spexplain.kernels.jit import jit


@jit
def number_pieces(
    starts: Array,
    rows: Array,
    ranks: Array,
    labels: Array,
    n_labels: int,
    room: Array,
    met: Array,
    of_entry: Array,
    keys: Array,
    column_starts: Ints,
) -> int:
    """Give numbers to the pieces of a table of few distinct values; return how many there are.

    The key of a piece is the rank of its value times the number of labels, and its label. Shapes: starts and
    column_starts (d + 1,), rows, ranks, of_entry and keys (n_entries,), room, zeros before and after,
    (n_values n_labels,), met one more. Cost O(n_entries + d), beside the sorting of a column's keys.
    """
    n_pieces = 0
    for f in range(len(starts) - 1):
        column_starts[f] = n_pieces
        n_met, low, top = 0, np.int64(len(room)), np.int64(0)
        for e in range(starts[f], starts[f + 1]):
            # Unsigned indices spare the check for negative ones. Every key is written, and the next one over
            # it if it was met before: that is not to be guessed, unlike a branch.
            entry = np.uint64(e)
            key = np.int64(ranks[entry]) * n_labels + np.int64(labels[np.uint64(rows[entry])])
            place = np.uint64(key)
            of_entry[entry] = key
            met[np.uint64(n_met)] = key
            n_met += room[place] == 0
            room[place] = 1
            low = key if key < low else low
            top = key if key > top else top
        if n_met * n_met < top - low:
            for j in range(1, n_met):
                key, at = met[j], j
                while at > 0 and met[at - 1] > key:
                    met[at] = met[at - 1]
                    at -= 1
                met[at] = key
        else:
            n_met = 0
            for each in range(low, top + 1):
                met[np.uint64(n_met)] = each
                n_met += room[np.uint64(each)] > 0
        for j in range(n_met):
            key = met[j]
            keys[n_pieces] = key
            room[key] = n_pieces
            n_pieces += 1
        for e in range(starts[f], starts[f + 1]):
            of_entry[e] = room[np.uint64(of_entry[e])]
        for j in range(n_met):
            room[met[j]] = 0
    column_starts[len(starts) - 1] = n_pieces
    return n_pieces


@jit
def turn_entries(rows: Array, of_entry: Array, places: Array, turned: Array) -> None:
    """Write what belongs to entries row by row.

    Shapes: rows, of_entry and turned (n_entries,), places (n,): where rows begin, then where they end. Cost
    O(n_entries).
    """
    for e in range(len(rows)):
        row = rows[e]
        turned[places[row]] = of_entry[e]
        places[row] += 1


@jit
def count_pieces(of_entry: Array, counts: Array) -> None:
    """Add the entries of every piece to its count. Shapes: of_entry (n_entries,), counts (n_pieces,)."""
    for e in range(len(of_entry)):
        counts[np.uint64(of_entry[e])] += 1


@jit
def sum_entries(
    starts: Array,
    rows: Array,
    values: Array,
    groups: Ints,
    sums: Floats,
    squares: Floats,
) -> None:
    """Add up the entries of every group of rows by column, and their squares.

    Shapes: starts (d + 1,), rows and values (n_entries,), groups (n,), sums (d, n_groups), squares (n_groups,).
    Cost O(n_entries + d).
    """
    for f in range(len(starts) - 1):
        for e in range(starts[f], starts[f + 1]):
            group, x = groups[rows[e]], float(values[e])
            sums[f, group] += x
            squares[group] += x * x


@jit
def part_pieces(
    starts: Array,
    piece_of: Array,
    rows: Array,
    row_amounts: Any,
    pieces: Array,
    counts: Array,
    amounts: Any,
    room: Array,
    amount_room: Any,
    own_pieces: Array,
    own_counts: Array,
    own_amounts: Any,
) -> tuple[int, int]:
    """Move the entries of some rows from the pieces of a node to lists of their own; return both lengths.

    What is left is written over the node's own lists. `room` holds zeros before and after. What is said of
    amounts is None where rows do not weigh. Shapes: starts (n + 1,), piece_of (n_entries,), rows (m,),
    row_amounts (n,), pieces, counts and amounts (n_own,), room and amount_room (n_pieces,), the lists to write to
    one longer than what they will hold. Cost O(n_own + entries of the rows).
    """
    for i in range(len(rows)):
        row = rows[i]
        for entry in range(starts[row], starts[row + 1]):
            place = np.uint64(piece_of[entry])
            room[place] += 1
            if row_amounts is not None:
                amount_room[place] += row_amounts[row]
    n_moved, n_left = 0, 0
    for i in range(len(pieces)):
        # Both lists get every piece, and the next one over it if they are not to keep it: see `number_pieces`.
        piece, count = pieces[i], counts[i]
        place, to, rest = np.uint64(piece), np.uint64(n_moved), np.uint64(n_left)
        moved = room[place]
        room[place] = 0
        own_pieces[to], own_counts[to] = piece, moved
        pieces[rest], counts[rest] = piece, count - moved
        if amounts is not None:
            its_moved = amount_room[place]
            amount_room[place] = 0
            own_amounts[to], amounts[rest] = its_moved, amounts[i] - its_moved
        n_moved += moved > 0
        n_left += moved < count
    return n_moved, n_left


@jit
def sweep_pieces(
    pieces: Array,
    counts: Array,
    amounts: Array,
    column_starts: Ints,
    values: Array,
    labels: Array,
    clusters: Ints,
    node: Ints,
    is_above: bool,
    moved: Ints,
    fields: Ints,
    around: Floats,
    which: Ints,
) -> int:
    """Write the gaps of a node above zero, or below, column by column; return how many there are.

    Those above zero are met from the highest value on, and the entries on their right added up; those below
    from the lowest on, with the entries on their left. `amounts` is what pieces add to sums: the counts, unless
    rows weigh something. Moving r of t samples of a cluster away takes
    w r (2 t - r - 1) from the inner weight of the others, which is 2 w r (t - 1) less what the moved ones have.

    Shapes: pieces, counts and amounts (m,), column_starts (d + 1,), values and labels (n_pieces,), clusters
    (n_labels, 4): edge weight w, twice w (t - 1), degree and size of a sample; node (4,): inner weight,
    volume, size and samples; moved (n_labels,), zeros before and after; fields (6, >= m), around (2, >= m),
    which (>= m,). Cost O(m + d).
    """
    n_pieces, n_gaps = len(pieces), 0
    i, step, feature = (n_pieces - 1, -1, len(column_starts) - 2) if is_above else (0, 1, 0)
    end, near, far = (-1, 0, 1) if is_above else (n_pieces, 1, 0)  # sides of a gap, as zero lies
    while i != end:
        while column_starts[feature] > pieces[i]:
            feature -= 1
        while column_starts[feature + 1] <= pieces[i]:
            feature += 1
        start, stop, first, behind = i, i, column_starts[feature], column_starts[feature + 1]
        while stop != end and first <= pieces[np.uint64(stop)] < behind:
            stop += step
        value = float(values[pieces[i]])
        inner, tied, volume, size, n = 0, 0, 0, 0, 0
        while i != stop and (value > 0) == is_above:
            before = value
            while i != stop and value == before:
                # Unsigned indices spare the check for negative ones.
                entry = np.uint64(i)
                m, c = amounts[entry], np.uint64(labels[np.uint64(pieces[entry])])
                inner += clusters[c, 0] * m * (2 * moved[c] + m - 1)
                tied += clusters[c, 1] * m
                volume += clusters[c, 2] * m
                size += clusters[c, 3] * m
                n += counts[entry]
                moved[c] += m
                i += step
                if i != stop:
                    value = float(values[np.uint64(pieces[np.uint64(i)])])
            if i == stop:
                if n == node[3]:
                    break  # nothing is on the other side
                value = 0.0
            apart = node[0] - tied + inner
            n_left = node[3] - n if is_above else n
            fields[near, n_gaps], fields[far, n_gaps] = apart, inner
            fields[2, n_gaps] = node[1] - volume if is_above else volume
            fields[3, n_gaps] = node[2] - size if is_above else size
            fields[4, n_gaps], fields[5, n_gaps] = n_left, n_left
            around[near, n_gaps], around[far, n_gaps], which[n_gaps] = value, before, feature
            n_gaps += 1
        last = i
        # What else the column holds lies beyond zero.
        while i != stop:
            n += counts[i]
            i += step
        if (i - last) * (last - start) != 0 and n < node[3]:
            around[near, n_gaps - 1] = 0.0
        for j in range(start, last, step):
            moved[np.uint64(labels[np.uint64(pieces[np.uint64(j)])])] = 0
    return n_gaps
