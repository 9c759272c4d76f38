"""Best cuts by k-means cost: every leaf is served by its own mean.

The cost of a leaf is Σ w |x|² - |Σ w x|² / Σ w, and the first sum is the same for all trees: these loops
look for the highest Σ |Σ w x|² / Σ w over the leaves. Orders are those of `spexplain.kernels.agreement`.
"""

import numpy as np

from spexplain.aliases import Array
from spexplain.kernels.jit import jit

_ROUNDING = 1e-11


@jit
def scan_means(
    entries: Array,
    first: int,
    last: int,
    order: int,
    amounts: Array,
    points: Array,
    total: Array,
    weight: float,
    least: int,
    best: Array,
    cut: Array,
    left: Array,
) -> None:
    """Look for a better cut of a node in one order; see `best_means`. `left` is overwritten."""
    d, own = len(total), 0.0
    for c in range(d):
        left[c] = 0.0
    for p in range(first, last):
        entry = entries[p]
        row = entry >> 1
        if entry & 1 and p - first >= least and last - p >= least and p > first:
            a, b = 0.0, 0.0
            for c in range(d):
                a += left[c] * left[c]
                b += (total[c] - left[c]) * (total[c] - left[c])
            rest = weight - own
            value = (a / own if own > 0 else 0.0) + (b / rest if rest > 0 else 0.0)
            if value > best[0] + _ROUNDING * abs(value):
                best[0] = value
                cut[0], cut[1], cut[2] = order, entries[p - 1] >> 1, row
        w = amounts[row]
        own += w
        for c in range(d):
            left[c] += w * points[row, c]


@jit
def best_means(
    orders: Array,
    start: int,
    stop: int,
    amounts: Array,
    points: Array,
    total: Array,
    weight: float,
    least: int,
    best: Array,
    cut: Array,
) -> None:
    """Find the best cut of a node into two leaves. O(columns of the points) a row and order.

    Parameters
    ----------
    orders, start, stop : the node.
    amounts, points : float64 (n_rows,), (n_rows, d)
    total, weight : float64 (d,), float
        Sums of the amounts times the points of the node, and of its amounts.
    least : rows that a leaf must have.
    best : float64 (1,)
        Only higher scores count; written.
    cut : int64 (3,)
        Written: order, row before and row after the gap; -1 without.
    """
    left = np.empty(len(total))
    cut[0], cut[1], cut[2] = -1, -1, -1
    for o in range(len(orders)):
        scan_means(
            orders[o], start, stop, o, amounts, points, total, weight, least, best, cut, left
        )


@jit
def best_few_means(
    orders: Array,
    start: int,
    stop: int,
    amounts: Array,
    points: Array,
    least: int,
    n_leaves: int,
    best: Array,
    cuts: Array,
) -> None:
    """Find the best tree of three leaves, or of four and depth two, by all its first cuts.

    Parameters
    ----------
    orders, start, stop, amounts, points, least
        As in `best_means`.
    n_leaves : 3 or 4.
    best : float64 (1,)
        Only higher scores count; written.
    cuts : int64 (3, 3)
        Written: order, row before and row after of the first cut and of those of its sides; -1 where a
        side is a leaf, and everywhere if there is no tree.
    """
    n_orders, d = len(orders), points.shape[1]
    entries = np.zeros((2, stop - start + 1), np.int32)
    sides = np.zeros(len(amounts), np.uint8)
    totals, weights, left = np.zeros((2, d)), np.zeros(2), np.empty(d)
    ones, twos = np.zeros(2), np.zeros((2, 1))
    halves = np.zeros((2, 3), np.int64)
    cuts[:] = -1
    for first in range(n_orders):
        for place in range(start + 1, stop):
            if not orders[first, place] & 1:
                continue
            if place - start < least or stop - place < least:
                continue
            totals[:] = 0.0
            weights[:] = 0.0
            for p in range(start, stop):
                row = orders[first, p] >> 1
                s = 0 if p < place else 1
                sides[row] = s
                w = amounts[row]
                weights[s] += w
                for c in range(d):
                    totals[s, c] += w * points[row, c]
            for s in range(2):
                square = 0.0
                for c in range(d):
                    square += totals[s, c] * totals[s, c]
                ones[s] = square / weights[s] if weights[s] > 0 else 0.0
                twos[s, 0] = -np.inf
                halves[s] = -1
            for o in range(n_orders):
                n_left, n_right, left_starts, right_starts = 0, 0, 0, 0
                for p in range(start, stop):
                    entry = orders[o, p]
                    row, starts = entry >> 1, entry & 1
                    left_starts |= starts
                    right_starts |= starts
                    side = int(sides[row])
                    entries[0, n_left] = 2 * row + left_starts
                    entries[1, n_right] = 2 * row + right_starts
                    n_left += 1 - side
                    n_right += side
                    left_starts &= side
                    right_starts &= 1 - side
                for s in range(2):
                    scan_means(
                        entries[s],
                        0,
                        n_left if s == 0 else n_right,
                        o,
                        amounts,
                        points,
                        totals[s],
                        weights[s],
                        least,
                        twos[s],
                        halves[s],
                        left,
                    )
            value, which = twos[0, 0] + twos[1, 0], 3
            if n_leaves == 3:
                value, which = twos[0, 0] + ones[1], 1
                if ones[0] + twos[1, 0] > value:
                    value, which = ones[0] + twos[1, 0], 2
            if value > best[0] + _ROUNDING * abs(value):
                best[0] = value
                cuts[0, 0] = first
                cuts[0, 1], cuts[0, 2] = orders[first, place - 1] >> 1, orders[first, place] >> 1
                for s in range(2):
                    for i in range(3):
                        cuts[s + 1, i] = halves[s, i] if which >> s & 1 else -1


@jit
def best_mean_moves(
    orders: Array,
    start: int,
    stop: int,
    ways: Array,
    amounts: Array,
    points: Array,
    sums: Array,
    weights: Array,
    rows: Array,
    need: Array,
    least: float,
    best: Array,
    cuts: Array,
) -> None:
    """Find, for every order, the cut of a node after which its leaves score highest, the subtrees as they are.

    Parameters
    ----------
    orders, start, stop : the node.
    ways : int32 (2, n_rows)
        Leaf that each row reaches on the left and on the right.
    amounts, points : float64 (n_rows,), (n_rows, d)
    sums, weights : float64 (n_leaves, d), (n_leaves,)
        Sums of the amounts times the points of the leaves, and of their amounts, while all rows go right.
    rows, need : int64 (n_leaves,)
        Rows of the leaves while all rows go right, and rows that they must have.
    least : only a higher score counts.
    best, cuts : float64 (n_orders,), int64 (n_orders, 2)
        Written: the highest score, and the rows before and after the gap; -1 if there is none.
    """
    n_leaves, d = sums.shape
    now, own = np.empty_like(sums), np.empty(n_leaves)
    part, count = np.empty(n_leaves), np.empty(n_leaves, np.int64)
    for o in range(len(orders)):
        short, value = 0, 0.0
        for leaf in range(n_leaves):
            count[leaf] = rows[leaf]
            short += int(rows[leaf] < need[leaf])
            own[leaf] = weights[leaf]
            square = 0.0
            for c in range(d):
                now[leaf, c] = sums[leaf, c]
                square += now[leaf, c] * now[leaf, c]
            part[leaf] = square / own[leaf] if own[leaf] > 0 else 0.0
            value += part[leaf]
        top, place = least, -1
        for p in range(start, stop):
            entry = orders[o, p]
            if entry & 1 and short == 0 and value > top and p > start:
                top, place = value, p
            row = entry >> 1
            to, origin = ways[0, row], ways[1, row]
            if to == origin:
                continue
            count[to] += 1
            short -= int(count[to] == need[to])
            short += int(count[origin] == need[origin])
            count[origin] -= 1
            w = amounts[row]
            if w == 0:
                continue
            own[to] += w
            own[origin] -= w
            a, b = 0.0, 0.0
            for c in range(d):
                x = w * points[row, c]
                now[to, c] += x
                now[origin, c] -= x
                a += now[to, c] * now[to, c]
                b += now[origin, c] * now[origin, c]
            value -= part[to] + part[origin]
            part[to] = a / own[to] if own[to] > 1e-12 else 0.0
            part[origin] = b / own[origin] if own[origin] > 1e-12 else 0.0
            value += part[to] + part[origin]
        best[o] = top
        cuts[o, 0], cuts[o, 1] = -1, -1
        if place >= 0:
            cuts[o, 0], cuts[o, 1] = orders[o, place - 1] >> 1, orders[o, place] >> 1
