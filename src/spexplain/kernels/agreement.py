"""Sums over the table of leaves × clusters, while rows move from leaf to leaf or a leaf is cut.

An *order* holds the rows of a node sorted by one feature, each as ``2 * row + starts``: `starts` is
1 where another value than that of the row before begins. Rows that it does not name all stand behind
the others, and are not parted; see `NodeOrders` in `spexplain.refine.rows`. A *cell* is an entry of the table; its
last column counts rows of no cluster.
"""

from typing import Any

import numpy as np

from spexplain.aliases import Array
from spexplain.kernels.jit import jit

_ROUNDING = 1e-14


@jit
def transfer(rows: Array, need: Array, to: Any, origin: Any) -> int:
    """Count one row from a leaf to another; return how many more leaves are below their need."""
    rows[to] += 1
    change = int(rows[origin] == need[origin]) - int(rows[to] == need[to])
    rows[origin] -= 1
    return change


@jit
def best_moves(
    node: Any,
    cells: Array,
    leaf_of_cell: Array,
    weights: Array,
    counts: Array,
    sizes: Array,
    rows: Array,
    need: Array,
    start: tuple[int, int, int],
    ratio: tuple[float, float, float, float],
    least: float,
    amounts: Array | None,
    takes_last: bool,
    best: Array,
    places: Array,
) -> None:
    """Find, for every order, the gap with the best ratio of two linear forms of the pair sums.

    Walking an order moves its rows one by one from their right leaf to their left leaf; rows that it
    does not name stay. The pair
    sums are S = Σ C(cell, 2) and B = Σ C(leaf, 2) without rows of no cluster; the score of a gap is
    (r0·S + r1·B) / (r2 + r3·B). O(1) a row, plus a copy of the table an order.

    Parameters
    ----------
    node : NodeOrders
    cells : uint32 or uint64 (n_all_rows,)
        Left cell in the upper half of the bits, right cell in the lower half, of each row.
    leaf_of_cell : int32 (n_cells,), weights : bool (n_cells,)
        Leaf of a cell, and whether its rows count: not those of no cluster.
    counts, sizes, rows : int64 (n_cells,), (n_leaves,), (n_leaves,)
        The table, the leaves' clustered rows and all their rows, while all rows are right.
    need : int64 (n_leaves,)
        Rows that every leaf must have.
    start : S, B and the number of leaves below their need, while all rows are right.
    ratio : r0, r1, r2, r3.
    least : only better scores count.
    amounts : int64 (n_all_rows,), or None
        How many rows each row counts for in the pair sums; None, which compiles to other code: one.
    takes_last : whether the last of equal gaps is taken, not the first.
    best, places : float64, int64 (n_orders,)
        Written: the best score, and where the entry after its gap is, or would be; -1 if there is none.
    """
    n_rows = len(node.rows)
    count, size, row_count = counts.copy(), sizes.copy(), rows.copy()
    r0, r1, r2, r3 = ratio
    half = np.uint64(4 * cells.itemsize)
    low = (np.uint64(1) << half) - np.uint64(1)
    for o in range(len(node.first)):
        count[:] = counts
        size[:] = sizes
        row_count[:] = rows
        same, both, short = start
        top, place = least, -1
        first, last = node.first[o], node.last[o]
        end = last if last - first == n_rows else last + 1
        for p in range(first, end):
            entry = node.entries[p] if p < last else -1
            if entry & 1 and short == 0 and p > first:
                above, below = r0 * same + r1 * both, r2 + r3 * both
                # The first test spares divisions; it must not rule out by rounding alone.
                limit = top * below
                if above >= limit - _ROUNDING * abs(limit):
                    score = above / below
                    if score > top or (takes_last and place >= 0 and score == top):
                        top, place = score, p
            if entry < 0:
                break
            # Unsigned indices spare the check for negative ones: a quarter of the time.
            pair = np.uint64(cells[np.uint64(entry >> 1)])
            into, out = pair >> half, pair & low
            to, origin = np.uint64(leaf_of_cell[into]), np.uint64(leaf_of_cell[out])
            if weights[into]:
                if amounts is None:
                    n_out, n_origin = count[out] - 1, size[origin] - 1
                    same += count[into] - n_out
                    both += size[to] - n_origin
                    count[into] += 1
                    size[to] += 1
                else:
                    amount = amounts[np.uint64(entry >> 1)]
                    n_out, n_origin = count[out] - amount, size[origin] - amount
                    same += amount * (count[into] - n_out)
                    both += amount * (size[to] - n_origin)
                    count[into] += amount
                    size[to] += amount
                count[out] = n_out
                size[origin] = n_origin
            short += transfer(row_count, need, to, origin)
        best[o] = top
        places[o] = place


@jit
def scan_moves(
    histograms: Array,
    into: Array,
    out: Array,
    is_left: Array,
    leaf_of_cell: Array,
    weights: Array,
    counts: Array,
    sizes: Array,
    rows: Array,
    need: Array,
    start: tuple[int, int],
    sums: Array,
) -> None:
    """Write the pair sums at every border of bins, with all rows before it moved to their left leaf.

    Rows come in kinds that move alike. Left and right parts of the sums rise and fall, so that both
    ends of a bin bound what lies between. O(size of the histograms).

    Parameters
    ----------
    histograms : int32 (n_features, n_bins, n_kinds)
    into, out : int64 (n_kinds,)
        Left and right cell of each kind.
    is_left : bool (n_leaves,)
        Leaves to which rows move.
    leaf_of_cell, weights, counts, sizes, rows, need
        As in `best_moves`.
    start : S and B while all rows are right.
    sums : int64 (n_features, 7, n_bins + 1)
        Written: S and B of left and of right leaves (S left, S right, B left, B right), rows moved,
        and leaves below their need on the left and on the right.
    """
    n_features, n_bins, n_kinds = histograms.shape
    count, size, row_count = counts.copy(), sizes.copy(), rows.copy()
    short_left = int(np.sum((rows < need) & is_left))
    short_right = int(np.sum((rows < need) & ~is_left))
    for f in range(n_features):
        count[:] = counts
        size[:] = sizes
        row_count[:] = rows
        same_left, same_right, both_left, both_right = 0, start[0], 0, start[1]
        moved, few_left, few_right = 0, short_left, short_right
        for b in range(n_bins + 1):
            sums[f, 0, b], sums[f, 1, b] = same_left, same_right
            sums[f, 2, b], sums[f, 3, b] = both_left, both_right
            sums[f, 4, b], sums[f, 5, b], sums[f, 6, b] = moved, few_left, few_right
            for t in range(n_kinds if b < n_bins else 0):
                n = int(histograms[f, b, t])
                if n == 0:
                    continue
                to, origin = leaf_of_cell[into[t]], leaf_of_cell[out[t]]
                if weights[into[t]]:
                    own = n * (n - 1) // 2
                    same_left += n * count[into[t]] + own
                    same_right -= n * (count[out[t]] - n) + own
                    both_left += n * size[to] + own
                    both_right -= n * (size[origin] - n) + own
                    count[into[t]] += n
                    count[out[t]] -= n
                    size[to] += n
                    size[origin] -= n
                moved += n
                few_left -= int(row_count[to] < need[to] <= row_count[to] + n)
                few_right += int(row_count[origin] >= need[origin] > row_count[origin] - n)
                row_count[to] += n
                row_count[origin] -= n


@jit
def split_sums(
    node: Any,
    number: int,
    codes: Array,
    totals: Array,
    min_rows: int,
    takes_last: bool,
    best: Array,
    orders: Array,
    places: Array,
) -> None:
    """Find, for every size of the smaller side, the cut that keeps most pairs of clusters together.

    Parameters
    ----------
    node : NodeOrders
    number : number of its first order.
    codes : int64 (n_all_rows,)
        Cluster of each row, k for rows of no cluster.
    totals : int64 (k + 1,)
        Rows of the node in each cluster.
    min_rows : fewest rows on each side.
    takes_last : whether of equal cuts of an order the last is taken, not the first.
    best, orders, places : int64 (n_clustered // 2 + 1,)
        Updated: the largest Σ C(·, 2) over clusters of both sides, -1 if none; its order, and
        where the entry after its gap is, or would be. Equal sums of several orders keep what came first.
    """
    n_rows = len(node.rows)
    k = len(totals) - 1
    n_clustered = np.sum(totals[:k])
    whole = np.sum(totals[:k] * (totals[:k] - 1)) // 2
    left = np.zeros_like(totals)
    for o in range(len(node.first)):
        left[:] = 0
        same, n_left = whole, 0
        first, last = node.first[o], node.last[o]
        end = last if last - first == n_rows else last + 1
        for p in range(first, end):
            entry = node.entries[p] if p < last else -1
            n = p - first
            if entry & 1 and n > 0 and n >= min_rows and n_rows - n >= min_rows:
                side = min(n_left, n_clustered - n_left)
                again = takes_last and orders[side] == number + o and same == best[side]
                if same > best[side] or again:
                    best[side] = same
                    orders[side] = number + o
                    places[side] = p
            if entry < 0:
                break
            code = codes[np.uint64(entry >> 1)]
            if code < k:
                # Joins `left` earlier rows of its cluster, leaves `totals - left - 1` later ones.
                same += 2 * left[code] + 1 - totals[code]
                left[code] += 1
                n_left += 1
