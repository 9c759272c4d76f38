"""Sums of the two leaves that every move touches, while rows move from their right leaf to their left leaf.

Orders are those of `spexplain.kernels.agreement`. All outputs have a leading axis of two, for the
leaf that a row joins and the leaf that it leaves, then the shape of the orders.
"""

import numpy as np

from spexplain.aliases import Array
from spexplain.kernels.agreement import transfer
from spexplain.kernels.jit import jit


@jit
def part_orders(
    entries: Array,
    first: Array,
    last: Array,
    goes_left: Array,
    parted: Array,
    begins: Array,
    middles: Array,
) -> None:
    """Part every order of a node: rows that go left first, both parts in order. O(1) an entry.

    Parameters
    ----------
    entries : int32 (n,)
    first, last : int64 (n_orders,)
        Where the entries of each order begin and end.
    goes_left : bool (n_all_rows,)
    parted, begins : int32, int64 (n_orders,)
        Written: the parted entries, each order from where it is to begin; may be `entries` and `first`.
    middles : int64 (n_orders,)
        Written: where the second part of each order begins.
    """
    longest, one = 0, np.uint64(1)
    for o in range(len(first)):
        longest = max(longest, last[o] - first[o])
    scratch = np.empty(longest, dtype=entries.dtype)
    for o in range(len(first)):
        n_left, n_right = np.uint64(begins[o]), np.uint64(0)
        all_start = np.int32(1)
        for p in range(first[o] + 1, last[o]):
            all_start &= entries[np.uint64(p)]
        # Writing to both sides and advancing one is faster than a branch that guesses wrong.
        if (
            all_start
        ):  # no two values are equal, so that all that is written starts another one, too
            for p in range(first[o], last[o]):
                entry = entries[np.uint64(p)]
                left = np.uint64(goes_left[np.uint64(entry >> 1)])
                parted[n_left] = entry
                scratch[n_right] = entry
                n_left += left
                n_right += one - left
        else:
            left_starts, right_starts = np.int32(0), np.int32(0)
            for p in range(first[o], last[o]):
                entry = entries[np.uint64(p)]
                is_left = np.int32(goes_left[np.uint64(entry >> 1)])
                row, starts = entry & np.int32(-2), entry & np.int32(1)
                left_starts |= starts
                right_starts |= starts
                parted[n_left] = row | left_starts
                scratch[n_right] = row | right_starts
                n_left += np.uint64(is_left)
                n_right += one - np.uint64(is_left)
                left_starts &= ~is_left
                right_starts &= is_left
        middles[o] = np.int64(n_left)
        for i in range(np.int64(n_right)):
            parted[n_left + np.uint64(i)] = scratch[np.uint64(i)]


@jit
def label_moves(
    orders: Array,
    cells: Array,
    leaf_of_cell: Array,
    per_cell: Array,
    counts: Array,
    sums: Array,
    rows: Array,
    need: Array,
    n_short: int,
    leaves: Array,
    moved: Array,
    valid: Array,
) -> None:
    """Write the sums of both leaves after every move, from counts of labels. O(1) a row.

    Parameters
    ----------
    orders : int32 (n_orders, n_rows)
    cells : uint32 or uint64 (n_all_rows,)
        Left cell in the upper half of the bits, right cell in the lower half, of each row.
    leaf_of_cell : int32 (n_cells,)
    per_cell : int64 (3, n_cells)
        Weight of an edge, degree and size of a row of the cell's cluster.
    counts : int64 (n_cells,), sums : int64 (3, n_leaves), rows : int64 (n_leaves,)
        Rows of each cell; inner, volume and size of each leaf; rows of each leaf; all rows right.
    need : int64 (n_leaves,), n_short : leaves that have fewer rows than they need.
    leaves : int32 (2, n_orders, n_rows), moved : float64 (3, 2, n_orders, n_rows)
        Written: the leaves, and their inner, volume and size: exact below 2**53, rounded above.
    valid : bool (n_orders, n_rows)
        Written: whether the gap *before* this row is a cut that leaves every leaf its rows.
    """
    count, total, row_count = counts.copy(), sums.copy(), rows.copy()
    half = np.uint64(4 * cells.itemsize)
    low = (np.uint64(1) << half) - np.uint64(1)
    for o in range(orders.shape[0]):
        count[:] = counts
        total[:] = sums
        row_count[:] = rows
        short = n_short
        for p in range(orders.shape[1]):
            entry = orders[o, p]
            valid[o, p] = entry & 1 and short == 0 and p > 0
            pair = np.uint64(cells[np.uint64(entry >> 1)])
            into, out = pair >> half, pair & low
            to, origin = np.uint64(leaf_of_cell[into]), np.uint64(leaf_of_cell[out])
            weight = 2 * per_cell[0, into]
            count[out] -= 1
            total[0, to] += weight * count[into]
            total[0, origin] -= weight * count[out]
            count[into] += 1
            for s in range(1, 3):
                total[s, to] += per_cell[s, into]
                total[s, origin] -= per_cell[s, into]
            short += transfer(row_count, need, to, origin)
            leaves[0, o, p], leaves[1, o, p] = to, origin
            for s in range(3):
                moved[s, 0, o, p], moved[s, 1, o, p] = total[s, to], total[s, origin]


@jit
def edge_moves(
    orders: Array,
    routes: Array,
    places: Array,
    edges: tuple[Array, Array, Array],
    per_vertex: Array,
    n_samples: int,
    sums: Array,
    rows: Array,
    need: Array,
    n_short: int,
    leaves: Array,
    moved: Array,
    valid: Array,
) -> None:
    """Write the sums of both leaves after every move, from listed edges. O(degree) a row.

    Extra vertices stay in their leaf; gaps that would send one elsewhere are not valid.

    Parameters
    ----------
    orders : int32 (n_orders, n_members)
    routes : int32 (2, n_vertices)
        Left and right leaf of each member.
    places : int32 (n_vertices,)
        Leaf of every vertex now; vertices outside the node are in no leaf of it (-1).
    edges : int64 indptr, int32 indices, int64 weights of the symmetric adjacency
    per_vertex : int64 (3, n_vertices)
        Weight of the ends of loops, degree and size.
    n_samples : vertices beyond it are extra.
    sums, rows, need, n_short, leaves, moved, valid
        As in `label_moves`; an extra vertex writes leaf -1.
    """
    indptr, indices, weights = edges
    total, row_count, place = sums.copy(), rows.copy(), places.copy()
    n_members = orders.shape[1]
    n_astray = 0
    for p in range(n_members):
        vertex = orders[0, p] >> 1
        if vertex >= n_samples and places[vertex] == routes[0, vertex]:
            n_astray += 1
    for o in range(orders.shape[0]):
        total[:] = sums
        row_count[:] = rows
        for p in range(n_members):
            vertex = orders[o, p] >> 1
            if vertex < n_samples:
                place[vertex] = routes[1, vertex]
        short, astray = n_short, n_astray
        for p in range(n_members):
            entry = orders[o, p]
            vertex = entry >> 1
            valid[o, p] = entry & 1 and short == 0 and astray == 0 and p > 0
            to, origin = routes[0, vertex], routes[1, vertex]
            if vertex >= n_samples:
                astray += -1 if places[vertex] == to else 1
                leaves[0, o, p], leaves[1, o, p] = -1, -1
                continue
            for e in range(indptr[vertex], indptr[vertex + 1]):
                at = place[indices[e]]
                if at == to:
                    total[0, to] += 2 * weights[e]
                elif at == origin:
                    total[0, origin] -= 2 * weights[e]
            place[vertex] = to
            for s in range(3):
                total[s, to] += per_vertex[s, vertex]
                total[s, origin] -= per_vertex[s, vertex]
            short += transfer(row_count, need, to, origin)
            leaves[0, o, p], leaves[1, o, p] = to, origin
            for s in range(3):
                moved[s, 0, o, p], moved[s, 1, o, p] = total[s, to], total[s, origin]


@jit
def cost_moves(
    orders: Array,
    routes: Array,
    costs: Array,
    sums: Array,
    rows: Array,
    need: Array,
    n_short: int,
    leaves: Array,
    moved: Array,
    valid: Array,
) -> None:
    """Write the cost of serving both leaves from every centre after every move. O(centres) a row.

    Parameters
    ----------
    orders : int32 (n_orders, n_rows)
    routes : int32 (2, n_all_rows)
        Left and right leaf of each row.
    costs : int64 (n_all_rows, n_centers), sums : int64 (n_centers, n_leaves)
    rows, need, n_short, leaves, moved, valid
        As in `label_moves`.
    """
    total, row_count = sums.copy(), rows.copy()
    for o in range(orders.shape[0]):
        total[:] = sums
        row_count[:] = rows
        short = n_short
        for p in range(orders.shape[1]):
            entry = orders[o, p]
            row = entry >> 1
            valid[o, p] = entry & 1 and short == 0 and p > 0
            to, origin = routes[0, row], routes[1, row]
            short += transfer(row_count, need, to, origin)
            leaves[0, o, p], leaves[1, o, p] = to, origin
            for c in range(len(total)):
                total[c, to] += costs[row, c]
                total[c, origin] -= costs[row, c]
                moved[c, 0, o, p], moved[c, 1, o, p] = total[c, to], total[c, origin]


@jit
def best_totals(
    leaves: Array,
    values: Array,
    valid: Array,
    starts: Array,
    may_be_nan: Array,
    least: float,
    unit: float,
    best: Array,
    places: Array,
) -> None:
    """Add up the values of all leaves along every order, and find the lowest sum at a valid gap. O(1) a move.

    Parameters
    ----------
    leaves : int32 (2, n_orders, n_rows), values : float64 (2, n_orders, n_rows)
        The leaves that a move touches (-1: none) and their values after it.
    valid : bool (n_orders, n_rows)
        Whether the gap before a row may be a cut.
    starts : float64 (n_leaves,)
        Values before the first move. NaN counts as nothing.
    may_be_nan : bool (n_leaves,)
        Leaves whose value may be NaN; while that of another leaf is, no gap is valid.
    least, unit : only sums below `least` count; of sums that differ by less than `unit`, the first.
    best, places : float64, int64 (n_orders,)
        Written: the lowest sum, and the index of the row after its gap; -1 if there is none.
    """
    value, is_bad = starts.copy(), np.isnan(starts)
    for o in range(valid.shape[0]):
        total, n_bad = 0.0, 0
        for leaf in range(len(starts)):
            is_bad[leaf] = np.isnan(starts[leaf]) and not may_be_nan[leaf]
            n_bad += int(is_bad[leaf])
            value[leaf] = 0.0 if np.isnan(starts[leaf]) else starts[leaf]
            total += value[leaf]
        lowest, place = least, -1
        for p in range(valid.shape[1]):
            if valid[o, p] and total < lowest - unit and n_bad == 0:
                lowest, place = total, p
            if leaves[0, o, p] < 0:
                continue
            for side in range(2):
                leaf, new = leaves[side, o, p], values[side, o, p]
                bad = False
                if np.isnan(new):
                    new, bad = 0.0, not may_be_nan[leaf]
                n_bad += int(bad) - int(is_bad[leaf])
                is_bad[leaf] = bad
                total += new - value[leaf]
                value[leaf] = new
        best[o] = lowest
        places[o] = place
