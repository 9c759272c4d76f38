"""Edges that every cut of a node parts, kept up to date while vertices leave the node.

The vertices of a node have local numbers. For every feature they lie in the order of their values, and gap g
is the one behind place g. An edge is parted by all gaps between its ends, so an edge that goes lowers a range
of sums. Sums lie in buckets, above which a binary tree holds, for its node v, the least sum below it in
``least[f, v]`` and what is still to be added to all of them in ``added[f, v]``: that is part of the least sum
of v itself, but of nothing below. Bucket b is node ``n + b`` of a tree of 2n nodes, whose root is 1.
"""

from typing import Any

from spexplain.aliases import Array, Floats, Ints
from spexplain.kernels.coding import value_of
from spexplain.kernels.jit import jit, jit_inline

BUCKET = 32  # gaps whose sums are looked at one by one
NEVER = 1 << 62  # what a gap between equal values parts; all edges together weigh a quarter at most


@jit
def sum_gaps(
    matrix: Any,
    extra: Floats,
    members: Array,
    indptr: Ints,
    neighbors: Array,
    weights: Ints,
    first: int,
    order: Array,
    place: Array,
    sums: Ints,
    least: Ints,
    added: Ints,
) -> None:
    """Write the weight that every gap parts, and the trees above; and the place of every vertex from the order.

    The features are those from `first` on. Shapes: members (m,), indptr (m + 1,), order, place and sums (d, m),
    least and added (d, 2 n_buckets), where `added` must be zeros. Cost O(d (m + n_edges)).
    """
    n_features, m = order.shape
    n_buckets = least.shape[1] // 2
    for f in range(n_features):
        for i in range(m):
            place[f, order[f, i]] = i
            sums[f, i] = 0
        for x in range(m):
            for j in range(indptr[x], indptr[x + 1]):
                # Seen from both of its ends: from the lower one on it is parted.
                ahead = place[f, neighbors[j]] > place[f, x]
                sums[f, place[f, x]] += weights[j] if ahead else -weights[j]
        for v in range(2 * n_buckets):
            least[f, v] = NEVER
        parted = 0
        high = value_of(matrix, extra, first + f, members[order[f, 0]])
        for i in range(m):
            parted += sums[f, i]
            low = high
            if i + 1 < m:
                high = value_of(matrix, extra, first + f, members[order[f, i + 1]])
            sums[f, i] = parted if low < high else NEVER
            bucket = n_buckets + i // BUCKET
            least[f, bucket] = min(least[f, bucket], sums[f, i])
        for v in range(n_buckets - 1, 0, -1):
            least[f, v] = min(least[f, 2 * v], least[f, 2 * v + 1])


@jit
def list_edges(
    leaving: Array,
    is_leaving: Array,
    is_inside: Array,
    indptr: Ints,
    neighbors: Array,
    weights: Ints,
    ends: Array,
    edge_weights: Ints,
) -> tuple[int, int, int]:
    """Write the edges that leave a node with some of its vertices; return their number and two weights.

    These are the weight of the edges between vertices that leave, and of those to vertices that stay. Shapes:
    is_leaving and is_inside (m,), ends (2, room), edge_weights (room,). Cost O(n_edges of these vertices).
    """
    n, together, parted = 0, 0, 0
    for i in range(len(leaving)):
        x = leaving[i]
        for j in range(indptr[x], indptr[x + 1]):
            y = neighbors[j]
            if not is_inside[y]:
                continue
            if not is_leaving[y]:
                parted += weights[j]
            elif x < y:
                together += weights[j]
            else:  # seen from its other end
                continue
            ends[0, n], ends[1, n], edge_weights[n] = x, y, weights[j]
            n += 1
    return n, together, parted


@jit
def drop_edges(
    ends: Array, edge_weights: Ints, place: Array, sums: Ints, least: Ints, added: Ints
) -> None:
    """Take edges away from the sums of the gaps that part them.

    Shapes: ends (2, n_edges), edge_weights (n_edges,), the others as in `sum_gaps`. Cost O(d n_edges log m).
    """
    n_buckets = least.shape[1] // 2
    m = place.shape[1]
    for f in range(len(place)):
        for e in range(len(edge_weights)):
            start, stop = place[f, ends[0, e]], place[f, ends[1, e]]
            if start > stop:
                start, stop = stop, start
            weight = edge_weights[e]
            first, last = start // BUCKET, (stop - 1) // BUCKET
            # Of the first and the last bucket some gaps; of those between, all at once.
            for side in range(1 if first == last else 2):
                begin = (last if side else first) * BUCKET
                end = min(begin + BUCKET, m)
                lowest = NEVER
                for g in range(begin, end):
                    if start <= g < stop:
                        sums[f, g] -= weight
                    lowest = min(lowest, sums[f, g])
                own = n_buckets + begin // BUCKET
                least[f, own] = lowest + added[f, own]
            left, right = n_buckets + first + 1, n_buckets + last
            while left < right:
                if left & 1:
                    least[f, left] -= weight
                    added[f, left] -= weight
                    left += 1
                if right & 1:
                    right -= 1
                    least[f, right] -= weight
                    added[f, right] -= weight
                left >>= 1
                right >>= 1
            for side in range(2):
                v = (n_buckets + (last if side else first)) >> 1
                while v > 0:
                    least[f, v] = min(least[f, 2 * v], least[f, 2 * v + 1]) + added[f, v]
                    v >>= 1


@jit_inline
def added_above(added: Ints, f: int, node: int) -> int:
    """Return what is still to be added to the least sum of a node."""
    total, v = 0, node >> 1
    while v > 0:
        total += added[f, v]
        v >>= 1
    return total


@jit
def least_gaps(
    sums: Ints, least: Ints, added: Ints, starts: Ints, stops: Ints, best: Ints, gaps: Ints
) -> None:
    """Write the least sum of the gaps from ``starts[f]`` to before ``stops[f]``, and the first gap that has it.

    Where there are none, the sum is `NEVER`. Shapes: starts, stops, best and gaps (d,), the others as in
    `sum_gaps`. Cost O(d log² m).
    """
    n_buckets = least.shape[1] // 2
    for f in range(len(sums)):
        best[f], gaps[f] = NEVER, -1
        start, stop = starts[f], stops[f]
        while start < stop:
            node = n_buckets + start // BUCKET
            if start % BUCKET == 0 and start + BUCKET <= stop:
                # The largest part of the tree that begins here and ends in time; the tree has 2 n_buckets nodes.
                size = BUCKET
                while node & 1 == 0 and node > 1 and start + 2 * size <= stop:
                    node >>= 1
                    size *= 2
                lowest = least[f, node] + added_above(added, f, node)
                if lowest < best[f] and lowest < NEVER // 2:
                    best[f], gaps[f] = lowest, -1 - node
                start += size
            else:
                own = added[f, node] + added_above(added, f, node)
                end = min(stop, (start // BUCKET + 1) * BUCKET)
                for g in range(start, end):
                    lowest = sums[f, g] + own
                    if lowest < best[f] and lowest < NEVER // 2:
                        best[f], gaps[f] = lowest, g
                start = end
        if gaps[f] < -1:
            node = -1 - gaps[f]
            while node < n_buckets:
                node = 2 * node if least[f, 2 * node] <= least[f, 2 * node + 1] else 2 * node + 1
            own = added[f, node] + added_above(added, f, node)
            g = (node - n_buckets) * BUCKET
            while sums[f, g] + own != best[f]:
                g += 1
            gaps[f] = g


@jit
def find_ends(
    members: Array,
    is_inside: Array,
    order: Array,
    n_samples: int,
    min_samples: int,
    ends: Ints,
    starts: Ints,
    stops: Ints,
) -> None:
    """Write the first gap with enough samples and a centre left of it, and behind the last with them right of it.

    `ends` are the first and the last place of a sample and of a centre, which only move inwards: they are
    searched from where they were. Shapes: ends (4, d), starts and stops (d,). Cost O(d) and the places that
    are passed for the last time, and those of `min_samples` samples.
    """
    m = order.shape[1]
    for f in range(len(order)):
        for kind in range(2):
            i = ends[2 * kind, f]
            while i < m and not (
                is_inside[order[f, i]] and (members[order[f, i]] >= n_samples) == (kind == 1)
            ):
                i += 1
            ends[2 * kind, f] = i
            i = ends[2 * kind + 1, f]
            while i >= 0 and not (
                is_inside[order[f, i]] and (members[order[f, i]] >= n_samples) == (kind == 1)
            ):
                i -= 1
            ends[2 * kind + 1, f] = i
        starts[f], stops[f] = ends[2, f], ends[3, f]
        if min_samples > 0:
            i, n_left = ends[0, f] - 1, 0
            while n_left < min_samples and i + 1 < m:
                i += 1
                if is_inside[order[f, i]] and members[order[f, i]] < n_samples:
                    n_left += 1
            starts[f] = max(starts[f], i) if n_left == min_samples else m
            i, n_right = ends[1, f] + 1, 0
            while n_right < min_samples and i > 0:
                i -= 1
                if is_inside[order[f, i]] and members[order[f, i]] < n_samples:
                    n_right += 1
            stops[f] = min(stops[f], i) if n_right == min_samples else 0


@jit
def smaller_side(
    matrix: Any,
    extra: Floats,
    members: Array,
    is_inside: Array,
    order: Array,
    ends: Ints,
    feature: int,
    threshold: float,
    side: Array,
) -> tuple[int, bool]:
    """Write the vertices of the side that takes fewer places; return their number and whether it is the left one.

    Shapes: side (m,), the others as in `find_ends`. Cost O(places of that side + log m).
    """
    low, high = 0, order.shape[1]
    while low < high:
        middle = (low + high) // 2
        value = value_of(matrix, extra, feature, members[order[feature, middle]])
        if value <= threshold:
            low = middle + 1
        else:
            high = middle
    # All members lie between the first and the last sample or centre.
    start = min(ends[0, feature], ends[2, feature])
    stop = max(ends[1, feature], ends[3, feature]) + 1
    is_left = low - start <= stop - low
    first, last = (start, low) if is_left else (low, stop)
    n = 0
    for i in range(first, last):
        if is_inside[order[feature, i]]:
            side[n] = order[feature, i]
            n += 1
    return n, is_left


@jit
def vertices_around(order: Array, is_inside: Array, feature: int, gap: int) -> tuple[int, int]:
    """Return the vertices of the node on either side of a gap. Cost O(places between them)."""
    low, high = gap, gap + 1
    while not is_inside[order[feature, low]]:
        low -= 1
    while not is_inside[order[feature, high]]:
        high += 1
    return order[feature, low], order[feature, high]


@jit
def number_neighbors(
    members: Array,
    indptr: Ints,
    neighbors: Array,
    weights: Ints,
    local_of: Array,
    local_indptr: Ints,
    local_neighbors: Array,
    local_weights: Ints,
) -> int:
    """Write the neighbours of members among each other, in local numbers; return how many there are.

    `local_of` has the local number of every vertex of the graph, -1 for those elsewhere; it is -1 throughout
    before and after. Shapes: local_of (n,), local_indptr (m + 1,), the others with room for all. Cost O(edges of
    members).
    """
    for i in range(len(members)):
        local_of[members[i]] = i
    n = 0
    local_indptr[0] = 0
    for i in range(len(members)):
        x = members[i]
        for j in range(indptr[x], indptr[x + 1]):
            y = local_of[neighbors[j]]
            if y >= 0:
                local_neighbors[n], local_weights[n] = y, weights[j]
                n += 1
        local_indptr[i + 1] = n
    for i in range(len(members)):
        local_of[members[i]] = -1
    return n
