"""The nearest points of many points, by blocks of points that lie together.

A block holds `WIDTH` places, some perhaps empty, with its coordinates feature by feature: that lets many distances be
computed at a time. Whole blocks are left out where their box is further away than what was found.
"""

import math
from functools import partial
from typing import Any

import numpy as np

from spexplain.aliases import Array, Floats, Ints
from spexplain.kernels.jit import jit, jit_inline

WIDTH = 64  # points of a block
_WORTH = 6  # boxes that may be measured for one that is left out
_NOW_AND_THEN = 16
LANES = 4  # coordinates that are added at a time: their number is a multiple

# Multiplying and adding in one step changes the last digit, for which the callers allow.
_jit_fused = partial(jit, fastmath={"contract", "nnan", "nsz"})


@jit_inline
def box_distance(low: Array, high: Array, block: int, at_low: Array, at_high: Array, i: int) -> Any:
    """Return the least squared distance of a point or box i and the box of a block."""
    zero = np.float32(0.0)
    first, second, third, fourth = zero, zero, zero, zero  # four chains of sums run side by side
    for j in range(0, low.shape[1], LANES):
        gap = max(at_low[i, j] - high[block, j], low[block, j] - at_high[i, j], zero)
        first += gap * gap
        k = j + 1
        gap = max(at_low[i, k] - high[block, k], low[block, k] - at_high[i, k], zero)
        second += gap * gap
        k = j + 2
        gap = max(at_low[i, k] - high[block, k], low[block, k] - at_high[i, k], zero)
        third += gap * gap
        k = j + 3
        gap = max(at_low[i, k] - high[block, k], low[block, k] - at_high[i, k], zero)
        fourth += gap * gap
    return (first + second) + (third + fourth)


@_jit_fused
def order_blocks(low: Array, high: Array, own: int, bounds: Array) -> None:
    """Write the least squared distance of every block to one of them.

    Shapes: low and high (n_blocks, d), bounds (n_blocks,). Cost O(n_blocks d).
    """
    for block in range(len(bounds)):
        bounds[block] = box_distance(low, high, block, low, high, own)


@_jit_fused
def search_blocks(
    points: Array,
    norms: Array,
    numbers: Array,
    low: Array,
    high: Array,
    order: Ints,
    bounds: Array,
    queries: Array,
    query_norms: Array,
    heaps: Array,
    found: Array,
    active: Ints,
    room: Array,
) -> int:
    """Write the nearest points of some points, unordered; return how many blocks were looked into.

    The blocks in `order` come with the least distance, ascending, of any of the queries to them. `heaps` has
    the squared distances less the squared length of the query, the largest first; it must be infinite before.
    Shapes: points (n_blocks, d, WIDTH), norms and numbers (n_blocks, WIDTH), infinite norms where a place is
    empty, low and high (n_blocks, d), order and bounds (n_blocks,), queries (m, d), query_norms (m,), heaps and
    found (m, count), active (m + 1,), room (2, WIDTH). Cost O(m d n_points), less what the boxes leave out.
    """
    n_queries = len(queries)
    one, none = np.int32(1), np.int32(0)
    n_tested, n_spared = 1, 1  # boxes that were measured from points, and those that this left out
    for at in range(len(order)):
        block = order[at]
        # Where it spares little, the distance from every single point is measured now and then only.
        is_measured = _WORTH * n_spared >= n_tested or at % _NOW_AND_THEN == 0
        n_active, n_reached = 0, 0
        for q in range(n_queries):
            reach = heaps[q, 0] + query_norms[q]
            if bounds[at] > reach:
                continue
            n_reached += 1
            if is_measured and box_distance(low, high, block, queries, queries, q) > reach:
                continue
            active[n_active] = q
            n_active += 1
        if n_reached == 0:
            return at
        if is_measured:
            n_tested, n_spared = n_tested + n_reached, n_spared + n_reached - n_active
        active[n_active] = active[n_active - 1] if n_active else 0  # two at a time
        for i in range(0, n_active, 2):
            _measure(points, norms, block, queries, active[i], active[i + 1], room)
            for side in range(2 if i + 1 < n_active else 1):
                own = active[i + side]
                reach, n_near = heaps[own, 0], none
                for p in range(WIDTH):
                    n_near += one if room[side, p] < reach else none
                if n_near == 0:
                    continue
                for p in range(WIDTH):
                    if room[side, p] < heaps[own, 0]:
                        _replace_first(heaps, found, own, room[side, p], numbers[block, p])
    return len(order)


@jit_inline
def _measure(
    points: Array, norms: Array, block: int, queries: Array, q: int, r: int, room: Array
) -> None:
    """Write the squared distances of two queries to the points of a block, less their own squared lengths."""
    twice = np.float32(-2)  # not to leave 32 bits
    for p in range(WIDTH):
        room[0, p] = norms[block, p]
        room[1, p] = norms[block, p]
    for j in range(0, queries.shape[1], LANES):
        q0, r0 = twice * queries[q, j], twice * queries[r, j]
        q1, r1 = twice * queries[q, j + 1], twice * queries[r, j + 1]
        q2, r2 = twice * queries[q, j + 2], twice * queries[r, j + 2]
        q3, r3 = twice * queries[q, j + 3], twice * queries[r, j + 3]
        for p in range(WIDTH):
            y0, y1 = points[block, j, p], points[block, j + 1, p]
            y2, y3 = points[block, j + 2, p], points[block, j + 3, p]
            room[0, p] += q0 * y0 + q1 * y1 + q2 * y2 + q3 * y3
            room[1, p] += r0 * y0 + r1 * y1 + r2 * y2 + r3 * y3


@jit_inline
def _replace_first(heaps: Array, found: Array, own: int, value: Any, number: int) -> None:
    """Put a point in the place of the furthest one."""
    n, i = heaps.shape[1], 0
    while True:
        child = 2 * i + 1
        if child >= n:
            break
        if child + 1 < n and heaps[own, child + 1] > heaps[own, child]:
            child += 1
        if heaps[own, child] <= value:
            break
        heaps[own, i], found[own, i] = heaps[own, child], found[own, child]
        i = child
    heaps[own, i], found[own, i] = value, number


@jit
def rank_candidates(
    points: Floats,
    rows: Ints,
    candidates: Array,
    exact: Floats,
    rounded: Floats,
    places: Ints,
    found: Ints,
    furthest: Floats,
    last: Floats,
) -> None:
    """Write the nearest candidates of rows, by distances computed anew and rounded; see `nearest_of`.

    Shapes: points (n, d), rows (m,), candidates (m, count), exact, rounded and places (count,), found (m, n_neighbors),
    furthest and last (m,). Cost O(m count (d + n_neighbors)).
    """
    n_neighbors, count, d = found.shape[1], candidates.shape[1], points.shape[1]
    for i in range(len(rows)):
        x, most = rows[i], 0.0
        for c in range(count):
            y, total = candidates[i, c], 0.0
            if y < 0:
                total = np.inf
            else:
                for j in range(d):
                    gap = points[x, j] - points[y, j]
                    total += gap * gap
            exact[c] = total
            most = max(most, total)
        furthest[i] = most
        for c in range(count):
            rounded[c] = np.inf if candidates[i, c] == x else round_distance(exact[c])
            places[c] = c
        for k in range(n_neighbors):  # few: the least of what is left, one after the other
            best = k
            for c in range(k + 1, count):
                a, b = places[c], places[best]
                if rounded[a] < rounded[b] or (
                    rounded[a] == rounded[b] and candidates[i, a] < candidates[i, b]
                ):
                    best = c
            places[k], places[best] = places[best], places[k]
            found[i, k] = candidates[i, places[k]]
        last[i] = rounded[places[n_neighbors - 1]]


@jit_inline
def round_distance(value: float) -> float:
    """Return a distance to ten digits: 34 bits."""
    mantissa, exponent = math.frexp(value)
    return math.ldexp(np.rint(math.ldexp(mantissa, 34)), exponent - 34)
