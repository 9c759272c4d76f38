"""Loops of the search for rules: sums over the values of a column, and the best two conditions at once.

A measure of a rule is a fraction of two linear forms of what it covers, ``form = (a, b, c, d, e, f)``:
``(a tp + b fp + c) / (d tp + e fp + f)``, where tp and fp are the weights of rows inside and outside the
cluster. A rule is better than a value v if ``(a - v d) tp + (b - v e) fp + (c - v f) > 0``: sums of gains,
of which those of rows outside the cluster are never positive. So the best interval is the stretch of the
largest sum, the best set has all values of positive gain, and a bound counts only the gains of rows whose
side is open. Values of a column are numbered from low to high; the last number is that of missing ones.
"""

from spexplain.aliases import Array, Bools, Floats, Ints
from spexplain.kernels.jit import jit

ORDERED, SET = 0, 1
TINY = 1e-12  # gains below are rounding errors
N_STACK = 256  # far beyond twice the logarithm of any number of values


@jit
def sum_values(
    codes: Array, rows: Ints, wp: Floats, wn: Floats, size: int, tp: Floats, fp: Floats
) -> None:
    """Sum the weights of rows by the value of one column."""
    for a in range(size + 1):
        tp[a] = 0.0
        fp[a] = 0.0
    for place in range(rows.shape[0]):
        r = rows[place]
        a = codes[r]
        tp[a] += wp[r]
        fp[a] += wn[r]


@jit
def solve(
    kind: int, size: int, tp: Floats, fp: Floats, up: float, down: float, found: Floats
) -> float:
    """Return the largest gain of a region of one column; `found` gets its tp, fp, first and last value, missing.

    An empty region gains nothing: -1 says so.
    """
    gain = 0.0
    best_tp = 0.0
    best_fp = 0.0
    first = 0
    last = -1
    missing = 0
    if kind == 1:
        for a in range(size + 1):
            g = up * tp[a] + down * fp[a]
            if g > 0.0:
                gain += g
                best_tp += tp[a]
                best_fp += fp[a]
                last = a
    else:
        run = 0.0
        run_tp = 0.0
        run_fp = 0.0
        start = 0
        for a in range(size):
            if run <= 0.0:
                run = 0.0
                run_tp = 0.0
                run_fp = 0.0
                start = a
            run += up * tp[a] + down * fp[a]
            run_tp += tp[a]
            run_fp += fp[a]
            if run > gain:
                gain = run
                best_tp = run_tp
                best_fp = run_fp
                first = start
                last = a
        g = up * tp[size] + down * fp[size]
        if g > 0.0:
            gain += g
            best_tp += tp[size]
            best_fp += fp[size]
            missing = 1
    found[0] = best_tp
    found[1] = best_fp
    found[2] = first
    found[3] = last
    found[4] = missing
    return gain if gain > 0.0 else -1.0


@jit
def best_values(
    codes: Array,
    kinds: Ints,
    sizes: Ints,
    rows: Ints,
    wp: Floats,
    wn: Floats,
    form: Floats,
    tp: Floats,
    fp: Floats,
    found: Floats,
    values: Floats,
) -> None:
    """Find for every column the value of the measure that its best region has."""
    for column in range(codes.shape[0]):
        size = sizes[column]
        sum_values(codes[column], rows, wp, wn, size, tp, fp)
        value = form[2] / form[5] if form[5] > 0.0 else 0.0
        while True:
            up = form[0] - value * form[3]
            down = form[1] - value * form[4]
            gain = solve(kinds[column], size, tp, fp, up, down, found)
            if gain <= 0.0:
                break
            below = form[3] * found[0] + form[4] * found[1] + form[5]
            better = (form[0] * found[0] + form[1] * found[1] + form[2]) / below
            if better <= value:
                break
            value = better
        values[column] = value


@jit
def bound_bins(
    kind: int, n_bins: int, whole: Bools, tp: Floats, fp: Floats, up: float, down: float
) -> float:
    """Return a bound of the gain of a region of a column in bins; inside a bin at its ends any row may be taken."""
    bound = 0.0
    if kind == 1:
        for b in range(n_bins + 1):
            g = up * tp[b] + down * fp[b]
            if g > 0.0:
                bound += g
        return bound
    run = 0.0
    for b in range(n_bins):
        g = up * tp[b] + down * fp[b]
        part = g if whole[b] else up * tp[b]
        bound = max(bound, run + part)
        run = max(run + g, part, 0.0)
    g = up * tp[n_bins] + down * fp[n_bins]
    return bound + g if g > 0.0 else bound


@jit
def refine_pair(
    a_codes: Array,
    b_codes: Array,
    rows: Ints,
    wp: Floats,
    wn: Floats,
    a_size: int,
    b_kind: int,
    b_size: int,
    a_has: Bools,
    ends: Floats,
    missing: int,
    form: Floats,
    room: tuple[Floats, ...],
    found: Floats,
    best: Floats,
    work: Ints,
) -> None:
    """Find the best interval of column A between given ends, with the best region of B; keep it if it is better.

    `ends` are the least and largest first value, and the least and largest last value; `missing` says
    whether missing values of A are taken. `a_has` tells which values of A rows of the cluster have: others
    are no ends.
    """
    tp, fp, stack = room[0], room[1], room[2]
    for place in range(4):
        stack[place] = ends[place]
    depth = 1
    while depth > 0:
        depth -= 1
        l1 = int(stack[4 * depth])
        l2 = int(stack[4 * depth + 1])
        h1 = int(stack[4 * depth + 2])
        h2 = int(stack[4 * depth + 3])
        while l1 <= l2 and not a_has[l1]:
            l1 += 1
        while l2 >= l1 and not a_has[l2]:
            l2 -= 1
        h1 = max(h1, l1)
        while h1 <= h2 and not a_has[h1]:
            h1 += 1
        while h2 >= h1 and not a_has[h2]:
            h2 -= 1
        l2 = min(l2, h2)
        while l2 >= l1 and not a_has[l2]:
            l2 -= 1
        if l1 > l2 or h1 > h2:
            continue
        for b in range(b_size + 1):
            tp[b] = 0.0
            fp[b] = 0.0
        work[0] -= rows.shape[0] + b_size
        if work[0] < 0:
            return
        for place in range(rows.shape[0]):
            r = rows[place]
            a = a_codes[r]
            if a == a_size:
                if missing:
                    tp[b_codes[r]] += wp[r]
                    fp[b_codes[r]] += wn[r]
            elif l1 <= a <= h2:
                tp[b_codes[r]] += wp[r]
                if l2 <= a <= h1:
                    fp[b_codes[r]] += wn[r]
        up = form[0] - best[0] * form[3]
        down = form[1] - best[0] * form[4]
        gain = solve(b_kind, b_size, tp, fp, up, down, found)
        if gain <= 0.0 or gain + (form[2] - best[0] * form[5]) <= TINY:
            continue
        if l1 == l2 and h1 == h2:
            while True:  # the same interval may do still better with another region of B
                below = form[3] * found[0] + form[4] * found[1] + form[5]
                value = (form[0] * found[0] + form[1] * found[1] + form[2]) / below
                if value <= best[0]:
                    break
                best[0] = value
                best[3] = l1
                best[4] = h1
                best[5] = missing
                best[6] = 1.0
                up = form[0] - value * form[3]
                down = form[1] - value * form[4]
                if solve(b_kind, b_size, tp, fp, up, down, found) <= 0.0:
                    break
            continue
        if l2 - l1 >= h2 - h1:
            middle = (l1 + l2) // 2
            stack[4 * depth] = middle + 1
            stack[4 * depth + 1] = l2
            stack[4 * depth + 4] = l1
            stack[4 * depth + 5] = middle
            for place in (0, 4):
                stack[4 * depth + place + 2] = h1
                stack[4 * depth + place + 3] = h2
        else:
            middle = (h1 + h2) // 2
            stack[4 * depth + 2] = h1
            stack[4 * depth + 3] = middle
            stack[4 * depth + 6] = middle + 1
            stack[4 * depth + 7] = h2
            for place in (0, 4):
                stack[4 * depth + place] = l1
                stack[4 * depth + place + 1] = l2
        depth += 2


@jit
def search_interval(
    codes: Array,
    binned: Array,
    kinds: Ints,
    sizes: Ints,
    n_bins: Ints,
    starts: Ints,
    whole: Bools,
    pair: Ints,
    rows: Ints,
    wp: Floats,
    wn: Floats,
    a_has: Bools,
    form: Floats,
    cells: tuple[Floats, Floats],
    room: tuple[Floats, ...],
    found: Floats,
    best: Floats,
    work: Ints,
) -> None:
    """Search the pairs of an interval of column A and a region of column B by bounds over bins of both."""
    A, B = pair[0], pair[1]
    n_a, n_b, kind = n_bins[A], n_bins[B], kinds[B]
    cell_tp, cell_fp = cells[0], cells[1]
    for a in range(n_a + 1):
        for b in range(n_b + 1):
            cell_tp[a, b] = 0.0
            cell_fp[a, b] = 0.0
    for place in range(rows.shape[0]):
        r = rows[place]
        cell_tp[binned[A, r], binned[B, r]] += wp[r]
        cell_fp[binned[A, r], binned[B, r]] += wn[r]
    work[0] -= rows.shape[0]
    has_missing = False
    for b in range(n_b + 1):
        if cell_tp[n_a, b] > 0.0:
            has_missing = True
    inner_tp, inner_fp, tp, fp = room[3], room[4], room[0], room[1]
    ends = room[5]
    for missing in range(2 if has_missing else 1):
        for low in range(n_a):
            for b in range(n_b + 1):
                inner_tp[b] = cell_tp[n_a, b] if missing else 0.0
                inner_fp[b] = cell_fp[n_a, b] if missing else 0.0
            for high in range(low, n_a):
                for b in range(n_b + 1):
                    if high > low + 1:  # the bin before the last is whole now
                        inner_tp[b] += cell_tp[high - 1, b]
                        inner_fp[b] += cell_fp[high - 1, b]
                    tp[b] = inner_tp[b] + cell_tp[low, b]
                    fp[b] = inner_fp[b] + (cell_fp[low, b] if whole[A, low] else 0.0)
                    if high > low:
                        tp[b] += cell_tp[high, b]
                        fp[b] += cell_fp[high, b] if whole[A, high] else 0.0
                up = form[0] - best[0] * form[3]
                down = form[1] - best[0] * form[4]
                bound = bound_bins(kind, n_b, whole[B], tp, fp, up, down)
                if bound + (form[2] - best[0] * form[5]) <= TINY:
                    continue
                ends[0] = starts[A, low]
                ends[1] = starts[A, low + 1] - 1
                ends[2] = starts[A, high]
                ends[3] = starts[A, high + 1] - 1
                refine_pair(
                    codes[A], codes[B], rows, wp, wn, sizes[A], kind, sizes[B], a_has, ends, missing, form, room,
                    found, best, work,
                )  # fmt: skip
                if work[0] < 0:
                    return
            work[0] -= n_a * n_b


@jit
def search_sets(
    n_a: int,
    n_b: int,
    order: Ints,
    cell_tp: Floats,
    cell_fp: Floats,
    form: Floats,
    rest: Floats,
    fixed_tp: Floats,
    fixed_fp: Floats,
    marks: Ints,
    best: Floats,
    best_marks: Bools,
    work: Ints,
) -> None:
    """Search the pairs of a set of column A and a set of column B: values of A are taken or left one by one.

    `rest` has the gains that the values of A that come later can still bring for each value of B.
    """
    start = best[0]
    up = form[0] - start * form[3]
    down = form[1] - start * form[4]
    for b in range(n_b):
        rest[n_a, b] = 0.0
        fixed_tp[0, b] = 0.0
        fixed_fp[0, b] = 0.0
    for place in range(n_a - 1, -1, -1):
        for b in range(n_b):
            g = up * cell_tp[order[place], b] + down * cell_fp[order[place], b]
            rest[place, b] = rest[place + 1, b] + max(g, 0.0)
    depth = 0
    marks[0] = -1
    while depth >= 0:
        marks[depth] += 1  # 0: just arrived, 1: take the value, 2: leave it, 3: done
        work[0] -= n_b
        if work[0] < 0:
            return
        if marks[depth] == 0:
            up = form[0] - best[0] * form[3]
            down = form[1] - best[0] * form[4]
            bound = form[2] - best[0] * form[5]
            tp = 0.0
            fp = 0.0
            for b in range(n_b):
                g = up * fixed_tp[depth, b] + down * fixed_fp[depth, b]
                if depth == n_a and g > 0.0:
                    tp += fixed_tp[depth, b]
                    fp += fixed_fp[depth, b]
                bound += max(g + rest[depth, b], 0.0)
            if bound <= TINY:
                depth -= 1
                continue
            if depth == n_a:
                value = (form[0] * tp + form[1] * fp + form[2]) / (
                    form[3] * tp + form[4] * fp + form[5]
                )
                if value > best[0]:
                    best[0] = value
                    best[6] = 1.0
                    for place in range(n_a):
                        best_marks[order[place]] = marks[place] == 1
                depth -= 1
                continue
        elif marks[depth] == 3:
            depth -= 1
            continue
        if marks[depth] == 0:
            marks[depth] = 1
        taken = 1.0 if marks[depth] == 1 else 0.0
        for b in range(n_b):
            fixed_tp[depth + 1, b] = fixed_tp[depth, b] + taken * cell_tp[order[depth], b]
            fixed_fp[depth + 1, b] = fixed_fp[depth, b] + taken * cell_fp[order[depth], b]
        depth += 1
        marks[depth] = -1


@jit
def sum_words(
    indptr: Array, indices: Array, rows: Ints, wp: Floats, wn: Floats, tp: Floats, fp: Floats
) -> None:
    """Sum the weights of the rows that have each word."""
    for word in range(tp.shape[0]):
        tp[word] = 0.0
        fp[word] = 0.0
    for place in range(rows.shape[0]):
        r = rows[place]
        p = wp[r]
        n = wn[r]
        for entry in range(indptr[r], indptr[r + 1]):
            tp[indices[entry]] += p
            fp[indices[entry]] += n


@jit
def best_words(
    tp: Floats,
    fp: Floats,
    start_tp: float,
    start_fp: float,
    sign: float,
    allowed: Bools,
    alone: Floats,
    tie: float,
    everything: float,
    form: Floats,
    nothing: float,
    words: Ints,
    values: Floats,
) -> int:
    """Find the words whose sums, added to a start or taken from it, do best; return how many were found.

    `words` and `values` get them, the best first; `alone` breaks ties. Rules that leave nothing out, or are no
    better than `nothing`, do not count.
    """
    n_best = words.shape[0]
    n_found = 0
    for word in range(tp.shape[0]):
        if not allowed[word]:
            continue
        own_tp = start_tp + sign * tp[word]
        own_fp = start_fp + sign * fp[word]
        value = (form[0] * own_tp + form[1] * own_fp + form[2]) / (
            form[3] * own_tp + form[4] * own_fp + form[5]
        )
        if value <= nothing or own_tp + own_fp >= everything:
            continue
        rank = value + tie * alone[word]
        place = n_found
        while place > 0 and rank > values[place - 1] + tie * alone[words[place - 1]]:
            place -= 1
        if place == n_best:
            continue
        n_found = min(n_found + 1, n_best)
        for other in range(n_found - 1, place, -1):
            words[other] = words[other - 1]
            values[other] = values[other - 1]
        words[place] = word
        values[place] = value
    return n_found
