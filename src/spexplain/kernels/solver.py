"""Best small subtrees of a node under an additive score of leaves, over all thresholds of all columns.

A node is a `NodeOrders` (`spexplain.refine.rows`): its rows, and the entries ``2 * row + starts`` of each of
its orders. An order may end before all rows are named; those that are left all stand behind the others,
and are not parted. A score is a `ScoreArrays` (`spexplain.refine.scores`): amounts of a row count for its
cluster; rows of no cluster have amount 0 and any cluster. Scores of a leaf with amounts n_j of the
clusters, a of all:

0. the largest n_j;
1. Σ_j C(n_j, 2) - λ C(a, 2);
2. Σ_j n_j (n_j - 1) / Σ_j n_j d_j, with a degree d_j for each cluster (nothing, where that is 0);
3. |Σ w x|² / Σ w over rows of amounts w at points x, what the mean of the leaf saves of the k-means cost.

Totals of some rows are their amounts by cluster; for score 3 the sum of their amounts, and those of their
points.
"""

from typing import Any

import numpy as np

from spexplain.aliases import Array
from spexplain.kernels.jit import jit

_ROUNDING = 1e-11
_RUN = 32  # rows of an order whose votes are added up before they are looked at one by one


@jit
def score_of_sums(inner: float, total: float, volume: float, kind: int, factor: float) -> float:
    """Return score 1 or 2 of a leaf from its Σ n_j (n_j - 1), Σ n_j and Σ n_j d_j."""
    if kind == 1:
        return 0.5 * inner - factor * 0.5 * total * (total - 1)
    return inner / volume if volume > 0 else 0.0


@jit
def leaf_score(totals: Array, degrees: Array, kind: int, factor: float) -> float:
    """Return the score of a leaf from its totals."""
    total, inner, volume, top = 0.0, 0.0, 0.0, 0.0
    if kind == 3:
        for c in range(1, len(totals)):
            inner += totals[c] * totals[c]
        return inner / totals[0] if totals[0] > 0 else 0.0
    for j in range(len(totals)):
        n = totals[j]
        top = max(top, n)
        total += n
        inner += n * (n - 1)
        volume += n * degrees[j]
    return top if kind == 0 else score_of_sums(inner, total, volume, kind, factor)


@jit
def bound_shares(totals: Array, degrees: Array, few: int, bounds: Array) -> None:
    """Write what trees of one leaf, of two, and so on over some rows cannot exceed by score 2.

    A leaf scores a mean of the shares (n_j - 1) / d_j that it has of the clusters, weighted by n_j d_j.
    As a sum over leaves that is convex in how clusters are shared out between them, so it is highest
    where none is split. Where there are more clusters than leaves, some two are together; without the
    lowest of three or more its mean is higher, so that one pair and other clusters alone are as good as
    any groups.

    Parameters
    ----------
    totals : float64 (n_sets, n_clusters)
    degrees : float64 (n_clusters,)
    few : clusters up to which pairs are looked at.
    bounds : float64 (n_sets, n_sizes)
        Written.
    """
    n_clusters, n_sizes = totals.shape[1], bounds.shape[1]
    shares, weights = np.empty(n_clusters), np.empty(n_clusters)
    sums = np.zeros(n_clusters + 1)
    for t in range(len(totals)):
        n, weight, mean = 0, 0.0, 0.0
        for j in range(n_clusters):
            if totals[t, j] <= 0 or degrees[j] <= 0:
                continue
            share, own = max(totals[t, j] - 1, 0.0) / degrees[j], totals[t, j] * degrees[j]
            weight += own
            mean += own * share
            at = n
            while at > 0 and shares[at - 1] < share:
                shares[at], weights[at] = shares[at - 1], weights[at - 1]
                at -= 1
            shares[at], weights[at] = share, own
            n += 1
        for i in range(n):
            sums[i + 1] = sums[i] + shares[i]
        for s in range(n_sizes):
            size = s + 1
            if n <= size or n_clusters > few:
                bounds[t, s] = sums[min(n, size)]
                continue
            if size == 1:
                bounds[t, s] = mean / weight
                continue
            best = 0.0
            for i in range(n - 1):
                for j in range(i + 1, n):
                    pair = (weights[i] * shares[i] + weights[j] * shares[j]) / (
                        weights[i] + weights[j]
                    )
                    # The best others, one fewer than there are leaves.
                    if i >= size - 1:
                        pair += sums[size - 1]
                    elif j < size:
                        pair += sums[size + 1] - shares[i] - shares[j]
                    else:
                        pair += sums[size] - shares[i]
                    best = max(best, pair)
            bounds[t, s] = best


@jit
def add_row(row: int, score: Any, totals: Array) -> None:
    """Add a row to the totals of some."""
    w = score.amounts[row]
    if score.kind == 3:
        totals[0] += w
        for c in range(score.points.shape[1]):
            totals[c + 1] += w * score.points[row, c]
    else:
        totals[score.codes[row]] += w


@jit
def scan_order(
    entries: Array,
    first: int,
    last: int,
    n_rows: int,
    order: int,
    score: Any,
    least: int,
    totals: Array,
    scores: Array,
    cut: Array,
    room: Array,
) -> None:
    """Look for a better cut of a node in one order; see `best_halves`."""
    n_sums, kind, factor = len(totals), score.kind, score.factor
    top, total, inner, volume = 0.0, 0.0, 0.0, 0.0
    for j in range(n_sums):
        room[j] = 0.0
    if kind < 3:
        for j in range(n_sums):
            n = totals[j]
            top = max(top, n)
            total += n
            inner += n * (n - 1)
            volume += n * score.degrees[j]
    valid, relaxed = scores[1], scores[2]
    before, after = -1, -1
    end = last if last - first == n_rows else last + 1  # behind the last one may be the other rows
    if kind == 0:
        most, stale = 0.0, top
        needed = min(valid, relaxed)
        for p in range(first, end):
            entry = entries[np.uint64(p)] if p < last else -1
            if entry & 1 and most + stale > needed and p > first:
                # The largest amount on the right only falls: an old one is a bound.
                stale = 0.0
                for j in range(n_sums):
                    stale = max(stale, totals[j] - room[j])
                value = most + stale
                relaxed = max(relaxed, value)
                if value > valid and p - first >= least and n_rows - (p - first) >= least:
                    valid = value
                    before, after = entries[p - 1] >> 1, entry >> 1
                needed = min(valid, relaxed)
            if entry < 0:
                break
            row = np.uint64(entry >> 1)
            j_ = np.uint64(score.codes[row])
            n = room[j_] + score.amounts[row]
            room[j_] = n
            most = max(most, n)
    else:
        a, inside, own = 0.0, 0.0, 0.0
        for p in range(first, end):
            entry = entries[np.uint64(p)] if p < last else -1
            if entry & 1 and p > first:
                value = 0.0
                if kind == 1:
                    b = total - a
                    value = 0.5 * (inside + inner) - factor * 0.5 * (a * (a - 1) + b * (b - 1))
                elif kind == 2:
                    rest = volume - own
                    value = inside / own if own > 0 else 0.0
                    value += inner / rest if rest > 0 else 0.0
                else:
                    left, right = 0.0, 0.0
                    for c in range(1, n_sums):
                        left += room[c] * room[c]
                        right += (totals[c] - room[c]) * (totals[c] - room[c])
                    rest = totals[0] - room[0]
                    value = left / room[0] if room[0] > 0 else 0.0
                    value += right / rest if rest > 0 else 0.0
                relaxed = max(relaxed, value)
                fits = p - first >= least and n_rows - (p - first) >= least
                if fits and value > valid + _ROUNDING * abs(value):
                    valid = value
                    before, after = entries[p - 1] >> 1, entry >> 1
            if entry < 0:
                break
            row = np.uint64(entry >> 1)
            w = score.amounts[row]
            if kind == 3:
                room[0] += w
                for c in range(1, n_sums):
                    room[c] += w * score.points[row, c - 1]
                continue
            j_ = np.uint64(score.codes[row])
            n = room[j_] + w
            room[j_] = n
            a += w
            inside += w * (2 * n - w - 1)
            inner -= w * (2 * (totals[j_] - n) + w - 1)
            own += w * score.degrees[j_]
    scores[2] = relaxed
    if before >= 0:
        scores[1] = valid
        cut[0], cut[1], cut[2] = order, before, after


@jit
def best_halves(
    node: Any,
    sides: Array,
    sizes: Array,
    score: Any,
    least: int,
    totals: Array,
    scores: Array,
    cuts: Array,
    entries: Array,
    room: Array,
) -> None:
    """Find the best cut of both sides of a node in one walk over every order. O(1) a row and order, mostly.

    Parameters
    ----------
    node, score : NodeOrders, ScoreArrays
    sides : uint8 (n_all_rows,)
        Side of every row of the node, 0 or 1.
    sizes : int64 (2,)
        Rows of both sides.
    least : rows that a leaf must have.
    totals : float64 (2, n_sums)
        Totals of both sides.
    scores : float64 (2, 3)
        Written for each side: the score as one leaf, as the best two that have their rows (or -inf),
        and as the best two that may lack some.
    cuts : int64 (2, 3)
        Written for each side: order, row before and row after the gap of the second; -1 without, and
        for the row after where the order has no more.
    entries, room : int32 (2, n_rows + 1), float64 (n_sums,)
        Overwritten.
    """
    for s in range(2):
        scores[s, 0] = leaf_score(totals[s], score.degrees, score.kind, score.factor)
        scores[s, 1], scores[s, 2] = -np.inf, scores[s, 0]
        cuts[s, 0], cuts[s, 1], cuts[s, 2] = -1, -1, -1
    for o in range(len(node.first)):
        n_left, n_right, left_starts, right_starts = 0, 0, 0, 0
        for p in range(node.first[o], node.last[o]):
            entry = node.entries[np.uint64(p)]
            row, starts = entry >> 1, entry & 1
            left_starts |= starts
            right_starts |= starts
            side = int(sides[np.uint64(row)])
            entries[0, n_left] = 2 * row + left_starts
            entries[1, n_right] = 2 * row + right_starts
            n_left += 1 - side
            n_right += side
            left_starts &= side
            right_starts &= 1 - side
        for s in range(2):
            n = n_left if s == 0 else n_right
            scan_order(
                entries[s], 0, n, sizes[s], o, score, least, totals[s], scores[s], cuts[s], room
            )


@jit
def best_cuts(node: Any, score: Any, least: int, totals: Array, values: Array) -> None:
    """Write the value of the best cut of a node in every order into two leaves; -inf where there is none."""
    scores, cut, room = np.empty(3), np.empty(3, np.int64), np.empty(len(totals))
    for o in range(len(node.first)):
        scores[1], scores[2] = -np.inf, np.inf
        scan_order(
            node.entries,
            node.first[o],
            node.last[o],
            len(node.rows),
            o,
            score,
            least,
            totals,
            scores,
            cut,
            room,
        )
        values[o] = scores[1]


@jit
def list_gaps(node: Any, gaps: Array, ends: Array) -> None:
    """Write the places of all cuts of a node, order by order, and where each order's end.

    The place of a cut is that of the entry behind it, counted from the first of the order.
    """
    n = 0
    for o in range(len(node.first)):
        first, last = node.first[o], node.last[o]
        for p in range(first + 1, last):
            if node.entries[p] & 1:
                gaps[n] = p - first
                n += 1
        if first < last < first + len(node.rows):
            gaps[n] = last - first
            n += 1
        ends[o] = n


@jit
def sum_along(node: Any, amounts: Array, gaps: Array, ends: Array, sums: Array) -> None:
    """Write the amounts before every gap of a node."""
    n = 0
    for o in range(len(node.first)):
        total, p = 0.0, 0
        while n < ends[o]:
            while p < gaps[n]:
                total += amounts[node.entries[node.first[o] + p] >> 1]
                p += 1
            sums[n] = total
            n += 1


@jit
def split_sides(
    node: Any, order: int, place: int, score: Any, sides: Array, totals: Array, sizes: Array
) -> None:
    """Write the side of every row of a node for a cut before a place of one order, and both sides' totals."""
    for s in range(2):
        for j in range(totals.shape[1]):
            totals[s, j] = 0.0
    for i in range(len(node.rows)):
        sides[node.rows[i]] = 1
    first = node.first[order]
    for p in range(first, first + place):
        sides[node.entries[p] >> 1] = 0
    for i in range(len(node.rows)):
        row = node.rows[i]
        add_row(row, score, totals[sides[row]])
    sizes[0], sizes[1] = place, len(node.rows) - place


@jit
def interval_bound(
    kind: int, factor: float, total: float, most: float, at: Array, low: int, high: int
) -> float:
    """Return what no first cut between two others can exceed, from the values of those.

    `at` holds for both: amounts before the cut, and the relaxed values of the left side, the right
    side and both together. One row of amount w that changes sides raises the sum of both optima by
    at most w (score 0), or by w times the largest cluster plus λ times the side that it leaves (1).
    """
    bound: float
    before, after = at[low, 0], at[high, 0]
    width = after - before
    if kind == 0:
        ahead = back = 1.0
    else:
        ahead = min(most, after) + factor * (total - before)
        back = min(most, total - before) + factor * after
    first, second = at[low, 3], at[high, 3]
    if ahead + back <= 0:
        bound = max(first, second)
        return bound
    share = (second - first + back * width) / (ahead + back)
    bound = first + ahead * min(max(share, 0.0), width)
    known = at[high, 1] + at[low, 2]
    bound = min(bound, known) if kind == 0 else max(bound, first, second)
    return bound


@jit
def push(bounds: Array, places: Array, values: Array, size: int) -> None:
    """Let the last entry of a heap of bounds rise to its place; the highest bound stands first."""
    at = size - 1
    while at > 0:
        parent = (at - 1) >> 1
        if bounds[parent] >= bounds[at]:
            return
        swap(bounds, places, values, at, parent)
        at = parent


@jit
def swap(bounds: Array, places: Array, values: Array, a: int, b: int) -> None:
    """Exchange two entries of a heap."""
    bounds[a], bounds[b] = bounds[b], bounds[a]
    for i in range(places.shape[1]):
        places[a, i], places[b, i] = places[b, i], places[a, i]
    for i in range(values.shape[1]):
        for j in range(values.shape[2]):
            values[a, i, j], values[b, i, j] = values[b, i, j], values[a, i, j]


@jit
def sink(bounds: Array, places: Array, values: Array, size: int) -> None:
    """Let the first entry of a heap sink to its place."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            return
        if child + 1 < size and bounds[child + 1] > bounds[child]:
            child += 1
        if bounds[at] >= bounds[child]:
            return
        swap(bounds, places, values, at, child)
        at = child


@jit
def search_first_cuts(
    node: Any,
    score: Any,
    least: int,
    n_leaves: int,
    gaps: Array,
    ends: Array,
    sums: Array,
    is_bounded: bool,
    unit: float,
    n_steps: int,
    bounds: Array,
    places: Array,
    values: Array,
    state: Array,
    best: Array,
    cuts: Array,
    record: Array,
) -> None:
    """Look at some more first cuts of the best tree of three or four leaves and depth two.

    A heap holds intervals of the cuts of one order, both ends looked at or at the border, with the
    highest value that a cut inside may have; the interval with the highest bound is halved next.

    Parameters
    ----------
    node, score, least
        As in `best_halves`.
    n_leaves : 3 or 4.
    gaps, ends : int64 (n_gaps,), (n_orders,)
        From `list_gaps`.
    sums : float64 (n_gaps,)
        From `sum_along`.
    is_bounded : whether intervals can be bounded at all; without, every cut is looked at.
    unit : values closer than this are equal.
    n_steps : how many cuts to look at.
    bounds, places, values : float64 (n,), int64 (n, 3), float64 (n, 2, 4)
        The heap: bound; order and the numbers of the first gap and the one after the last of the
        interval; what `interval_bound` reads of its ends.
    state : int64 (2,)
        Entries in the heap, and in `record`.
    best : float64 (2,)
        The best value, and the highest bound that is left (-inf: none).
    cuts : int64 (3, 3)
        Written where a better tree is found: order, row before and row after of the first cut and of
        those of its sides; -1 where a side is a leaf.
    record : float64 (n_kept, 4)
        Written: order, place, amounts before and value of the cuts looked at, as far as there is room.
    """
    kind, n_rows = score.kind, len(node.rows)
    n_sums = score.points.shape[1] + 1 if kind == 3 else len(score.degrees)
    sides = np.zeros(len(score.codes), dtype=np.uint8)
    totals, sizes = np.zeros((2, n_sums)), np.zeros(2, np.int64)
    scores, halves = np.zeros((2, 3)), np.zeros((2, 3), np.int64)
    entries, room = np.zeros((2, n_rows + 1), np.int32), np.zeros(n_sums)
    total = 0.0
    for i in range(n_rows):
        total += score.amounts[node.rows[i]]
        add_row(node.rows[i], score, totals[0])
    most = 0.0
    for j in range(n_sums):
        most = max(most, totals[0, j])
    here = np.zeros(4)
    for _ in range(n_steps):
        while state[0] > 0 and bounds[0] < best[0] + unit:
            state[0] = 0  # no other bound is higher
        if state[0] == 0:
            break
        o, low, high = places[0]
        ends_of = values[0].copy()
        state[0] -= 1
        swap(bounds, places, values, 0, state[0])
        sink(bounds, places, values, state[0])
        middle = (low + high) >> 1
        place = gaps[middle]
        split_sides(node, o, place, score, sides, totals, sizes)
        best_halves(node, sides, sizes, score, least, totals, scores, halves, entries, room)
        valid = sizes[0] >= least and sizes[1] >= least
        here[0] = sums[middle]
        value, which = -np.inf, 0
        here[1], here[2] = scores[0, 2], scores[1, 2]
        if n_leaves == 4:
            here[3] = here[1] + here[2]
            first, second = scores[0, 1], scores[1, 1]
            which = 3
            if kind == 0:  # more leaves never hurt, but may not be there
                which = (1 if first > -np.inf else 0) + (2 if second > -np.inf else 0)
                first, second = max(first, scores[0, 0]), max(second, scores[1, 0])
            value = first + second
        else:
            here[3] = max(scores[0, 0] + scores[1, 2], scores[0, 2] + scores[1, 0])
            first, second = scores[0, 1] + scores[1, 0], scores[0, 0] + scores[1, 1]
            value, which = (first, 1) if first >= second else (second, 2)
            if kind == 0 and value == -np.inf:
                value, which = scores[0, 0] + scores[1, 0], 0
        if valid and state[1] < len(record):
            at = state[1]
            record[at, 0], record[at, 1], record[at, 2] = o, place, here[0]
            record[at, 3] = value
            state[1] += 1
        if valid and value > best[0] + _ROUNDING * abs(value):
            best[0] = value
            at = node.first[o] + place
            cuts[0, 0], cuts[0, 1] = o, node.entries[at - 1] >> 1
            cuts[0, 2] = node.entries[at] >> 1 if at < node.last[o] else -1
            for s in range(2):
                for i in range(3):
                    cuts[s + 1, i] = halves[s, i] if which >> s & 1 else -1
        for s in range(2):
            a, b = (low, middle) if s == 0 else (middle + 1, high)
            if a >= b:
                continue
            at = state[0]
            for i in range(4):
                values[at, s, i] = ends_of[s, i]
                values[at, 1 - s, i] = here[i]
            bound = np.inf
            if is_bounded:
                bound = interval_bound(kind, score.factor, total, most, values[at], 0, 1)
            if bound < best[0] + unit:
                continue
            bounds[at] = bound
            places[at, 0], places[at, 1], places[at, 2] = o, a, b
            state[0] += 1
            push(bounds, places, values, state[0])
    best[1] = bounds[0] if state[0] > 0 and bounds[0] >= best[0] + unit else -np.inf


@jit
def valid_places(
    node: Any, order: int, ways: Array, rows: Array, need: Array, places: Array
) -> None:
    """Write the first and the last place where a cut of an order leaves every leaf its rows.

    Rows only join leaves before the cut, and only leave those behind it, so that all places between are
    valid, too. See `best_votes`; the last is before the first where there is none.
    """
    n_leaves, first, last = len(rows), node.first[order], node.last[order]
    count = np.empty(n_leaves, np.int64)
    short = 0
    for leaf in range(n_leaves):
        count[leaf] = rows[leaf]
        short += int(rows[leaf] < need[leaf])
    places[0], places[1] = last + 1, last
    for p in range(first, last + 1):
        if short == 0:
            places[0], places[1] = min(places[0], p), p
        elif places[0] <= last:
            break
        if p == last:
            break
        row = node.entries[p] >> 1
        to, origin = ways[0, row], ways[1, row]
        if to != origin:
            count[to] += 1
            short -= int(count[to] == need[to])
            short += int(count[origin] == need[origin])
            count[origin] -= 1


@jit
def best_votes(
    node: Any,
    ways: Array,
    votes: Array,
    rows: Array,
    need: Array,
    least: float,
    takes_last: bool,
    best: Array,
    cuts: Array,
) -> None:
    """Find, for every order, the cut with the most votes of the rows before it. O(1) a row.

    An order is left as soon as all votes that are still to come could not make a better cut.

    Parameters
    ----------
    node : NodeOrders
    ways : int32 (2, n_all_rows)
        Leaf that each row reaches before the cut, and behind it: no leaf is both.
    votes : float64 or int8 (n_all_rows,)
        What is gained where a row is before the cut instead of behind it. Sums of them are exact.
    rows, need : int64 (n_leaves,)
        Rows of the leaves while all rows are behind, and rows that they must have.
    least : only more votes count; a whole number where votes are.
    takes_last : whether the last of equal cuts is taken, not the first.
    best, cuts : float64 (n_orders,), int64 (n_orders, 2)
        Written: the most votes, and the rows before and after the gap; -1 if there is none, or none with
        more votes than in the orders before, and for the row after where the order has no more.
    """
    n_rows, entries = len(node.rows), node.entries
    places = np.zeros(2, np.int64)
    nothing = votes[0] * 0
    ahead, highest = nothing, least
    for i in range(n_rows):
        ahead += max(votes[node.rows[i]], nothing)
    for o in range(len(node.first)):
        first, last = node.first[o], node.last[o]
        total, against, top, place, is_known = nothing, nothing, highest, -1, False
        limit = top - ahead  # where so many have voted against it, no later cut is better
        start = first
        while start <= last and against >= limit:
            stop = start + _RUN
            if stop <= last:
                # If the votes for a cut in this run, without those against, reach no better sum, no cut of it does.
                step, gain = nothing, nothing
                for p in range(start, stop):
                    vote = votes[np.uint64(entries[np.uint64(p)] >> 1)]
                    step += vote
                    gain += vote * (vote > 0)  # no branch, which would guess wrong
                if total + gain < top:
                    total += step
                    against += step - gain
                    start = stop
                    continue
            else:
                stop = last + 1
            for p in range(start, stop):
                # Behind the last entry may be the other rows.
                entry = entries[np.uint64(p)] if p < last else -1
                if entry & 1 and (total > top or (takes_last and place >= 0 and total == top)):
                    if not is_known:
                        is_known = True
                        valid_places(node, o, ways, rows, need, places)
                    behind_all = p == last and last - first == n_rows
                    if first < p and places[0] <= p <= places[1] and not behind_all:
                        top, place = total, p
                        limit = top - ahead
                if entry >= 0:
                    vote = votes[np.uint64(entry >> 1)]
                    total += vote
                    against += min(vote, nothing)
            start = stop
        best[o] = top
        cuts[o, 0], cuts[o, 1] = -1, -1
        if place >= 0:
            highest = top
            cuts[o, 0] = entries[place - 1] >> 1
            cuts[o, 1] = entries[place] >> 1 if place < last else -1


@jit
def best_mean_moves(
    node: Any,
    score: Any,
    ways: Array,
    table: Array,
    rows: Array,
    need: Array,
    least: float,
    best: Array,
    cuts: Array,
) -> None:
    """Find, for every order, the cut of a node after which its leaves score highest, the subtrees as they are.

    Parameters
    ----------
    node, score
        As in `best_halves`; orders name all rows, and the score is 3.
    ways, rows, need, best, cuts
        As in `best_votes`.
    table : float64 (n_leaves, n_sums)
        Totals of the leaves while all rows are behind the cut.
    least : only a higher score counts.
    """
    n_leaves, n_sums = table.shape
    now = np.empty_like(table)
    part, count = np.empty(n_leaves), np.empty(n_leaves, np.int64)
    for o in range(len(node.first)):
        first, last = node.first[o], node.last[o]
        short, value = 0, 0.0
        for leaf in range(n_leaves):
            count[leaf] = rows[leaf]
            short += int(rows[leaf] < need[leaf])
            for c in range(n_sums):
                now[leaf, c] = table[leaf, c]
            part[leaf] = leaf_score(now[leaf], score.degrees, 3, 0.0)
            value += part[leaf]
        top, place = least, -1
        for p in range(first, last):
            entry = node.entries[p]
            if entry & 1 and short == 0 and value > top and p > first:
                top, place = value, p
            row = entry >> 1
            to, origin = ways[0, row], ways[1, row]
            if to == origin:
                continue
            count[to] += 1
            short -= int(count[to] == need[to])
            short += int(count[origin] == need[origin])
            count[origin] -= 1
            w = score.amounts[row]
            if w == 0:
                continue
            now[to, 0] += w
            now[origin, 0] -= w
            a, b = 0.0, 0.0
            for c in range(1, n_sums):
                x = w * score.points[row, c - 1]
                now[to, c] += x
                now[origin, c] -= x
                a += now[to, c] * now[to, c]
                b += now[origin, c] * now[origin, c]
            value -= part[to] + part[origin]
            part[to] = a / now[to, 0] if now[to, 0] > 1e-12 else 0.0
            part[origin] = b / now[origin, 0] if now[origin, 0] > 1e-12 else 0.0
            value += part[to] + part[origin]
        best[o] = top
        cuts[o, 0], cuts[o, 1] = -1, -1
        if place >= 0:
            cuts[o, 0], cuts[o, 1] = node.entries[place - 1] >> 1, node.entries[place] >> 1


@jit
def peel_leaf(
    node: Any,
    codes: Array,
    amounts: Array,
    totals: Array,
    wanted: Array,
    now: float,
    top_now: float,
    least: int,
    takes_last: bool,
    o: int,
    found: Array,
    best: Array,
    cuts: Array,
    room: Array,
) -> None:
    """Find the new leaves before and behind a cut of one order of a leaf, whose rest may stand for another cluster.

    See `best_peels`; `now` and `top_now` are what the leaf has now, and could have of one wanted cluster,
    `found` the highest gains so far.
    """
    n_clusters, n_rows = len(totals), len(node.rows)
    for j in range(n_clusters):
        room[j] = 0.0
    top, other, stale, rest = 0.0, 0.0, top_now, now
    first, last = node.first[o], node.last[o]
    end = last if last - first == n_rows else last + 1
    for p in range(first, end):
        entry = node.entries[p] if p < last else -1
        row = entry >> 1
        n = p - first
        if entry & 1 and n > 0 and n >= least and n_rows - n >= least:
            # The largest amounts behind only fall: old ones are bounds.
            gain = top + rest - now
            again = takes_last and cuts[o, 0, 0] >= 0
            if gain > found[0] or (again and gain == found[0]):
                rest = 0.0
                for j in range(n_clusters):
                    rest = max(rest, totals[j] - room[j])
                gain = top + rest - now
                if gain > found[0] or (again and gain == found[0]):
                    best[o, 0] = found[0] = gain
                    cuts[o, 0, 0], cuts[o, 0, 1] = node.entries[p - 1] >> 1, row
            again = takes_last and cuts[o, 1, 0] >= 0
            gain = stale + other - now
            if gain > found[1] or (again and gain == found[1]):
                stale = 0.0
                for j in range(n_clusters):
                    if wanted[j]:
                        stale = max(stale, totals[j] - room[j])
                gain = stale + other - now
                if gain > found[1] or (again and gain == found[1]):
                    best[o, 1] = found[1] = gain
                    cuts[o, 1, 0], cuts[o, 1, 1] = node.entries[p - 1] >> 1, row
        if entry < 0:
            break
        j = codes[row]
        room[j] += amounts[row]
        other = max(other, room[j])
        if wanted[j] and room[j] > top:
            top = room[j]


@jit
def best_peels(
    node: Any,
    codes: Array,
    amounts: Array,
    right: Array,
    totals: Array,
    wanted: Array,
    is_leaf: bool,
    least: int,
    takes_last: bool,
    best: Array,
    cuts: Array,
    room: Array,
) -> None:
    """Find, for every order, the new leaves before and behind a cut that gain most amounts. O(1) a row, mostly.

    Above an inner node, an order is left as soon as more is lost than any new leaf could gain.

    Parameters
    ----------
    node : NodeOrders
    codes, amounts : int32, float64 (n_all_rows,)
    right : float64 (n_all_rows,)
        What each row counts for where it is now.
    totals : float64 (n_clusters,)
        Amounts of the node by cluster.
    wanted : bool (n_clusters,)
        Clusters that a new leaf may stand for.
    is_leaf : whether the rest of the node is a leaf, which may stand for another cluster then.
    least : rows that the new leaf, and the rest, must have.
    takes_last : whether the last of equal cuts of an order is taken, not the first.
    best, cuts : float64 (n_orders, 2), int64 (n_orders, 2, 2)
        Written for new leaves before and behind the cut: the gain, and the rows before and after the
        gap; -1 if there is none, or none that gains more than those of the orders before.
    room : float64 (n_clusters,)
        Overwritten.
    """
    n_clusters, n_rows = len(totals), len(node.rows)
    found = np.full(2, -np.inf)
    now, top_now = 0.0, 0.0
    for i in range(n_rows):
        now += right[node.rows[i]]
    for j in range(n_clusters):
        if wanted[j]:
            top_now = max(top_now, totals[j])
    for o in range(len(node.first)):
        for s in range(2):
            best[o, s], cuts[o, s, 0], cuts[o, s, 1] = -np.inf, -1, -1
        first, last = node.first[o], node.last[o]
        is_whole = last - first == n_rows
        if is_leaf:
            peel_leaf(
                node, codes, amounts, totals, wanted, now, top_now, least, takes_last, o, found,
                best, cuts, room,
            )  # fmt: skip
            continue
        for s in range(2):
            for j in range(n_clusters):
                room[j] = 0.0
            gone, top, n = 0.0, 0.0, 0
            if s == 1 and not is_whole:
                # Behind the last cut are all rows that the order does not name.
                gone, n = now, n_rows - (last - first)
                for j in range(n_clusters):
                    room[j] = totals[j]
                for p in range(first, last):
                    row = node.entries[p] >> 1
                    gone -= right[row]
                    room[codes[row]] -= amounts[row]
                for j in range(n_clusters):
                    if wanted[j]:
                        top = max(top, room[j])
            takes_equal = takes_last == (s == 0)
            for step in range(last - first + 1):
                # Entries that are in the new leaf are those before `p`, or from it on.
                p = first + step if s == 0 else last - step
                is_gap = node.entries[p] & 1 == 1 if p < last else not is_whole
                gain = top - gone
                again = takes_equal and cuts[o, s, 0] >= 0
                wins = gain > found[s] or (again and gain == found[s])
                if wins and is_gap and first < p and max(least, 1) <= n <= n_rows - least:
                    best[o, s] = found[s] = gain
                    cuts[o, s, 0] = node.entries[p - 1] >> 1
                    cuts[o, s, 1] = node.entries[p] >> 1 if p < last else -1
                # What the new leaf may still gain, and what is lost by then.
                if step == last - first or top_now - gone < found[s]:
                    break
                row = np.uint64(node.entries[np.uint64(p if s == 0 else p - 1)] >> 1)
                gone += right[row]
                j = codes[row]
                n += 1
                room[j] += amounts[row]
                if wanted[j] and room[j] > top:
                    top = room[j]


@jit
def best_summed_peels(
    node: Any,
    score: Any,
    leaf_of_row: Array,
    table: Array,
    rows: Array,
    need: Array,
    least: int,
    best: Array,
    cuts: Array,
) -> None:
    """Find, for every order, the new leaves before and behind a cut that raise scores 1 to 3 most. O(1) a row.

    Score 3 takes O(columns of the points). Orders name all rows.

    Parameters
    ----------
    node, score
        As in `best_halves`.
    leaf_of_row : int32 (n_all_rows,)
        Leaf of every row of the node, from 0.
    table : float64 (n_leaves, n_sums)
        Totals of these leaves.
    rows, need : int64 (n_leaves,)
        Rows that they have, and must keep.
    least : rows that the new leaf must have.
    best, cuts : float64 (n_orders, 2), int64 (n_orders, 2, 2)
        As in `best_peels`.
    """
    n_leaves, n_sums = table.shape
    kind, factor, n_rows = score.kind, score.factor, len(node.rows)
    counts, size = np.empty((n_leaves + 1, n_sums)), np.empty(n_leaves + 1, np.int64)
    sums = np.zeros((n_leaves + 1, 3))  # inner, total, volume
    start = np.zeros(n_leaves + 1)
    for leaf in range(n_leaves):
        start[leaf] = leaf_score(table[leaf], score.degrees, kind, factor)
        if kind < 3:
            for j in range(n_sums):
                n = table[leaf, j]
                sums[leaf, 0] += n * (n - 1)
                sums[leaf, 1] += n
                sums[leaf, 2] += n * score.degrees[j]
    now, scores = np.empty((n_leaves + 1, 3)), np.empty(n_leaves + 1)
    highest = np.full(2, -np.inf)
    for o in range(len(node.first)):
        first = node.first[o]
        for s in range(2):
            best[o, s], cuts[o, s, 0], cuts[o, s, 1] = -np.inf, -1, -1
            gain, short = 0.0, 0
            for leaf in range(n_leaves + 1):
                scores[leaf] = start[leaf]
                size[leaf] = 0
                for j in range(n_sums):
                    counts[leaf, j] = table[leaf, j] if leaf < n_leaves else 0.0
                for i in range(3):
                    now[leaf, i] = sums[leaf, i]
                if leaf < n_leaves:
                    size[leaf] = rows[leaf]
                    short += int(rows[leaf] < need[leaf])
            for step in range(n_rows - 1):
                p = first + step if s == 0 else first + n_rows - 1 - step
                row = node.entries[p] >> 1
                w, leaf = score.amounts[row], leaf_of_row[row]
                for side in range(2):
                    at, change = (leaf, -w) if side == 0 else (n_leaves, w)
                    value = 0.0
                    if kind == 3:
                        counts[at, 0] += change
                        for c in range(1, n_sums):
                            x = counts[at, c] + change * score.points[row, c - 1]
                            counts[at, c] = x
                            value += x * x
                        value = value / counts[at, 0] if counts[at, 0] > 1e-12 else 0.0
                    else:
                        j = score.codes[row]
                        n = counts[at, j]
                        counts[at, j] = n + change
                        now[at, 0] += change * (2 * n + change - 1)
                        now[at, 1] += change
                        now[at, 2] += change * score.degrees[j]
                        value = score_of_sums(now[at, 0], now[at, 1], now[at, 2], kind, factor)
                    gain += value - scores[at]
                    scores[at] = value
                short += int(size[leaf] == need[leaf])
                size[leaf] -= 1
                after = p + 1 if s == 0 else p
                if step + 1 < least or short > 0 or not node.entries[after] & 1:
                    continue
                if gain > highest[s] + _ROUNDING * abs(gain):
                    best[o, s] = highest[s] = gain
                    cuts[o, s, 0] = node.entries[after - 1] >> 1
                    cuts[o, s, 1] = node.entries[after] >> 1


@jit
def put_in_bins(node: Any, local: Array, bins: Array, borders: Array, n_bins: Array) -> None:
    """Put the rows of a node into bins of about as many rows, order by order; one a value where these are few.

    Parameters
    ----------
    node : NodeOrders
        Its orders name all rows.
    local : int32 (n_all_rows,)
        Number of every row in the node.
    bins : uint8 (n_rows, n_orders)
        Written: bin of every row of the node.
    borders : int64 (n_orders, most + 1)
        Written: place in the order where each bin begins, and the end of the last.
    n_bins : int64 (n_orders,)
        Written: how many bins there are.
    """
    most, n_rows = borders.shape[1] - 1, len(node.rows)
    for o in range(len(node.first)):
        first = node.first[o]
        n_values = 1
        for p in range(1, n_rows):
            n_values += node.entries[first + p] & 1
        b = 0
        borders[o, 0] = 0
        for p in range(n_rows):
            entry = node.entries[first + p]
            wide = n_values <= most or p * most >= (b + 1) * n_rows
            if p > 0 and entry & 1 and wide and b + 1 < most:
                b += 1
                borders[o, b] = p
            bins[local[entry >> 1], o] = b
        borders[o, b + 1] = n_rows
        n_bins[o] = b + 1


@jit
def scan_bins(
    all_amounts: Array,
    all_rows: Array,
    amounts: Array,
    rows: Array,
    sign: float,
    n_bins: Array,
    totals: Array,
    n_rows: int,
    degrees: Array,
    kind: int,
    factor: float,
    least: int,
    found: Array,
    cut: Array,
    room: Array,
    highest: Array,
    floor: float,
) -> None:
    """Find the best cut between bins of one side of a node: of `amounts`, or of all without them (`sign` -1).

    `highest` says of every order what no cut of it exceeds by score 0, and `floor` what the best cut reaches:
    orders that cannot win are left out, and for the others `highest` is written anew.
    """
    n_clusters = len(totals)
    found[0] = leaf_score(totals, degrees, kind, factor)
    best = -np.inf
    cut[0], cut[1] = -1, -1
    ceiling = 0.0
    if kind == 0:
        second = 0.0
        for j in range(n_clusters):
            if totals[j] > ceiling:
                second, ceiling = ceiling, totals[j]
            else:
                second = max(second, totals[j])
        ceiling += second
    floor -= 2 * _ROUNDING * abs(floor)
    for o in range(len(n_bins)):
        if kind == 0 and (best >= ceiling or highest[o] <= best or highest[o] < floor):
            continue
        for j in range(n_clusters):
            room[j] = 0.0
        n, own_top = 0, found[0]
        for b in range(n_bins[o] - 1):
            here = rows[o, b] if sign > 0 else all_rows[o, b] - rows[o, b]
            if here == 0:
                continue
            n += here
            if n == n_rows:
                break
            if sign > 0:
                for j in range(n_clusters):
                    room[j] += amounts[o, b, j]
            else:
                for j in range(n_clusters):
                    room[j] += all_amounts[o, b, j] - amounts[o, b, j]
            value = 0.0
            if kind == 0:
                top, other = 0.0, 0.0
                for j in range(n_clusters):
                    top = max(top, room[j])
                    other = max(other, totals[j] - room[j])
                value = top + other
                own_top = max(own_top, value)
            if n < least or n_rows - n < least:
                continue
            if kind == 1:
                a, c, inner = 0.0, 0.0, 0.0
                for j in range(n_clusters):
                    x = room[j]
                    y = totals[j] - x
                    a += x
                    c += y
                    inner += x * (x - 1) + y * (y - 1)
                value = 0.5 * inner - factor * 0.5 * (a * (a - 1) + c * (c - 1))
            elif kind == 2:
                own, rest, inside, outside = 0.0, 0.0, 0.0, 0.0
                for j in range(n_clusters):
                    x = room[j]
                    y = totals[j] - x
                    inside += x * (x - 1)
                    outside += y * (y - 1)
                    own += x * degrees[j]
                    rest += y * degrees[j]
                value = (inside / own if own > 0 else 0.0) + (outside / rest if rest > 0 else 0.0)
            if value > best + _ROUNDING * abs(value):
                best = value
                cut[0], cut[1] = o, b
        highest[o] = own_top
    found[1] = best


@jit
def binned_first_cuts(
    node: Any,
    score: Any,
    least: int,
    borders: Array,
    values: Array,
    cuts: Array,
) -> None:
    """Find the best second cuts for every first cut of a node, all between bins.

    O(rows × orders²) for the counts, and O((orders × bins)² × clusters) for the cuts.

    Parameters
    ----------
    node, score, least
        As in `best_halves`; orders name all rows, and scores are 0 to 2.
    borders : int64 (n_orders, n_bins + 1)
        Written: place in each order where its bins begin.
    values : float64 (n_orders, n_bins, 2, 2)
        Written for the cut after each bin, and for both sides: the score as one leaf and as the best
        two; -inf where there is none.
    cuts : int64 (n_orders, n_bins, 2, 2)
        Written: order and last bin before the second cut on either side; -1 without.
    """
    n_orders, most, n_clusters = len(node.first), values.shape[1], len(score.degrees)
    n_rows, codes, amounts = len(node.rows), score.codes, score.amounts
    local = np.zeros(len(codes), np.int32)
    for i in range(n_rows):
        local[node.rows[i]] = i
    bins, n_bins = np.zeros((n_rows, n_orders), np.uint8), np.zeros(n_orders, np.int64)
    put_in_bins(node, local, bins, borders, n_bins)
    totals = np.zeros((2, n_clusters))
    all_amounts, all_rows = (
        np.zeros((n_orders, most, n_clusters)),
        np.zeros((n_orders, most), np.int64),
    )
    for i in range(n_rows):
        row = node.rows[i]
        j, w = codes[row], amounts[row]
        totals[1, j] += w
        for o in range(n_orders):
            b = bins[i, o]
            all_amounts[o, b, j] += w
            all_rows[o, b] += 1
    everything = totals[1].copy()
    left_amounts, left_rows = np.zeros_like(all_amounts), np.zeros_like(all_rows)
    room, highest, floors = np.zeros(n_clusters), np.empty((2, n_orders)), np.empty(2)
    values[:] = -np.inf
    cuts[:] = -1
    for first in range(n_orders):
        highest[:] = np.inf
        floors[:] = -np.inf
        left_amounts[:] = 0.0
        left_rows[:] = 0
        totals[0] = 0.0
        n_left = 0
        for b in range(n_bins[first] - 1):
            moved = 0.0
            for p in range(borders[first, b], borders[first, b + 1]):
                row = node.entries[node.first[first] + p] >> 1
                j, w = codes[row], amounts[row]
                totals[0, j] += w
                moved += w
                at = local[row]
                for o in range(n_orders):
                    other = bins[at, o]
                    left_amounts[o, other, j] += w
                    left_rows[o, other] += 1
            n_left = borders[first, b + 1]
            # Rows that move raise what is best on the left, and lower it on the right, by no more than their
            # amounts. Where leaves need rows, the best cut on the right may be none any more.
            highest[0] += moved
            floors[1] = floors[1] - moved if least <= 1 else -np.inf
            if n_left < least or n_rows - n_left < least:
                continue
            for j in range(n_clusters):
                totals[1, j] = everything[j] - totals[0, j]
            for s in range(2):
                scan_bins(
                    all_amounts,
                    all_rows,
                    left_amounts,
                    left_rows,
                    1.0 if s == 0 else -1.0,
                    n_bins,
                    totals[s],
                    n_left if s == 0 else n_rows - n_left,
                    score.degrees,
                    score.kind,
                    score.factor,
                    least,
                    values[first, b, s],
                    cuts[first, b, s],
                    room,
                    highest[s],
                    floors[s],
                )
                floors[s] = values[first, b, s, 1]
