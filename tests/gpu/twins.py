"""The kernels of the CuPy engine once more, slowly and in NumPy: every method does what its CUDA twin does.

With them the search runs where there is no GPU, and on a GPU each kernel is compared with its twin.
"""

from itertools import product

import numpy as np

from spexplain.kernels.cuda.kernels import EdgeTypes, MetTests
from spexplain.kernels.cuda.records import (
    CELLS,
    JOB,
    LANES,
    BinEdges,
    BinJobs,
    FeatureBlock,
    JobRows,
    NeighborLists,
    ScoredBorders,
)
from spexplain.objectives.bounds import capped_side, optimistic_side
from spexplain.records import Side
from spexplain.table.host import node_values

# What texts of formulas say in C.
IN_C = {
    "real": lambda value: np.asarray(value, dtype=np.float64),
    "floored": np.floor_divide,
    "least": np.minimum,
    "most": np.maximum,
}


class TwinKernels:
    xp = np
    n_picks = 1

    def __init__(self, *, wide=False):
        sums = np.uint64 if wide else np.uint32
        self.edges = EdgeTypes(sums, sums)

    def fetch(self, array):
        return np.array(array)

    def improve(self, records, fields, border_parts, found):
        fields, parts = six(fields), None if found is None else found[0]
        _, n, _, n_borders = fields.shape
        fresh = records is None
        if fresh:
            records = np.zeros((n, 12), dtype=np.int64)
        for v, record in enumerate(records):
            rivals = [
                (float(part[:1].view(np.float64)[0]), int(part[1]), int(part[2]))
                for several in (border_parts, parts)
                if several is not None
                for part in several[v]
            ]
            score, rank, place = min(rivals)
            before = float(record[:1].view(np.float64)[0]), int(record[11])
            if not fresh and (score, rank) >= before:
                continue
            f, b = divmod(rank, n_borders)
            is_gap = place >= 0 and score < np.inf
            record[3], record[4:9] = fields[4, v, f, b], fields[[0, 1, 2, 3, 5], v, f, b]
            record[9:11] = 0, -1
            if is_gap:
                _, scores, gaps, jobs, places = found
                record[3] += place - jobs.entries[places.job_of[place], 3] + 1
                record[4:9] = gaps[[0, 3, 1, 2, 9], place]
                record[9:11] = [key_of(each) for each in places.values[place : place + 2]]
                score = scores[place]
            record[:3] = np.float64(score).view(np.int64), f, -1 if is_gap else b
            record[11] = rank
        return records

    def find_around(self, block, rows, records):
        for v, record in enumerate(records):
            f, b = record[1:3]
            if b < 0 or not record[:1].view(np.float64)[0] < np.inf:
                continue
            codes = unpacked(block.codes, block.n_features)[f, rows[v]]
            values = values_of(block, rows[v], f)
            low, high = values[codes < b].max(), values[codes >= b].min()
            record[9:11] = key_of(low), key_of(high)

    def split_rows(self, block, rows, feature, limits, sizes, part_of, parts):
        x = values_of(block, rows, feature)
        is_left = (limits[0] < x) & (x <= limits[1])
        if part_of is not None:
            part_of[rows] = np.where(is_left, parts[0], parts[1])
        counted = np.array([is_left.sum(), (~is_left).sum()])
        assert counted[0] <= sizes[0]
        assert counted[1] <= sizes[1]
        return rows[is_left], rows[~is_left], counted

    def route_rows(self, table, tree, leaf_id):
        return tree.apply(table)

    def meet_tests(self, table, tree, leaf_id):
        found = node_values(table, tree)
        return MetTests(np.array(found[:4]), found.n_missing, found.leaves)

    def deviations(self, table, columns):
        X = np.asarray(table)[:, columns].astype(np.float64)
        return np.where((X[0] == X).all(axis=0), 0.0, X.std(axis=0))

    def sum_bits(self, table):
        by_row = table.strides[1] <= table.strides[0]
        lines = np.asarray(table if by_row else table.T).astype(np.float64)
        bits = np.ascontiguousarray(lines).view(np.uint64).ravel()
        places = 2 * np.arange(len(bits), dtype=np.uint64) + np.uint64(1)
        return int((bits * places).sum(dtype=np.uint64))

    def choose_edges(self, table, sample, n_bins):
        keys = np.sort(table[sample], axis=0)
        n, d = keys.shape
        edges = np.full((d, 256), np.inf, dtype=table.dtype)
        picks = np.maximum(np.arange(1, n_bins) * n // n_bins, 1) - 1
        chosen = keys[picks].T.copy()
        again = np.zeros(chosen.shape, dtype=bool)
        again[:, :-1] = chosen[:, 1:] == chosen[:, :-1]
        for f, i in zip(*np.nonzero(again), strict=True):
            value = keys[picks[i], f]
            if i == 0 or keys[picks[i - 1], f] != value:
                low = np.searchsorted(keys[:, f], value)
                chosen[f, i] = keys[low - 1, f] if low else value
        edges[:, : n_bins - 1] = chosen
        is_discrete = again.any(axis=1) | (n < n_bins)
        grid, cells = np.zeros((d, 2)), np.zeros((d, CELLS), dtype=np.uint8)
        for f in range(d):
            own = chosen[f].astype(np.float64)
            grid[f, 0] = own[0]
            with np.errstate(divide="ignore", over="ignore"):
                scale = (CELLS - 2) / (own[-1] - own[0])
            if is_discrete[f] or not 0 < scale < np.inf:
                continue
            places = np.clip((own - own[0]) * scale, 0, CELLS - 1).astype(int)
            if 10 * (1 + np.count_nonzero(np.diff(places) > 0)) >= 9 * len(own):
                grid[f, 1] = scale
                cells[f] = np.searchsorted(places, np.arange(CELLS))
        return BinEdges(edges, is_discrete.astype(np.uint8), grid, cells)

    def code_table(self, table, bins, codes):
        n, d = table.shape
        codes[:, :n] = 0
        for f in range(d):
            origin, scale = bins.grid[f]
            found = np.searchsorted(bins.edges[f, :255], table[:, f])
            if scale > 0:
                with np.errstate(over="ignore"):
                    places = (table[:, f].astype(np.float64) - origin) * scale
                found = bins.cells[f, np.clip(places, 0, CELLS - 1).astype(int)]
            codes[f // LANES, :n, f % LANES] = found

    def spread_bins(self, table, codes, is_discrete):
        d = table.shape[1]
        solid = np.zeros((d, 256), dtype=np.uint8)
        for f in np.flatnonzero(is_discrete):
            code = codes[f // LANES, : len(table), f % LANES]
            for b in np.unique(code):
                inside = table[code == b, f].astype(np.float64)
                solid[f, b] = inside.min() == inside.max()
        return solid

    def count_labels(self, block, rows, labels, amounts, histograms):
        d, n_labels, _ = histograms.shape
        code = unpacked(block.codes, d)
        counted = rows[labels[rows] < (n_labels if amounts is None else n_labels - 1)]
        own = 1 if amounts is None else amounts[counted]
        for f in range(d):
            np.add.at(histograms[f], (labels[counted], code[f, counted].astype(int) + 1), own)
            if amounts is not None:
                np.add.at(histograms[f, -1], code[f, rows].astype(int) + 1, 1)

    @staticmethod
    def _scanned(histograms, subtract, crossing=None):
        first = histograms[0]
        np.cumsum(first, axis=2, out=first)
        if len(histograms) > 1 and subtract:
            second = histograms[1]
            second -= first
            if crossing is not None:
                second[:, :2] -= np.cumsum(crossing, axis=2)
        elif len(histograms) > 1:
            np.cumsum(histograms[1], axis=2, out=histograms[1])
        return np.stack(histograms).astype(np.int64)  # (nodes, d, labels, borders)

    def scan_labels(
        self, histograms, subtract, clusters, rates, *, has_amounts, with_moves, counters
    ):
        left = self._scanned(histograms, subtract)
        right = left[..., -1:] - left
        weights, degrees, counted = (row[None, None, :, None] for row in clusters)
        joined = np.sum(weights * left * (left - 1), axis=2)
        rest = np.sum(weights * right * (right - 1), axis=2)
        members = left[:, :, -1] if has_amounts else left.sum(axis=2)
        volume, size = np.sum(degrees * left, axis=2), np.sum(counted * left, axis=2)
        fields = np.stack([joined, rest, volume, size, members, members])
        rate = rates[None, None, :, None]
        caps = np.stack(
            [np.max(np.where(a > 0, (a - 1) * rate, 0.0), axis=2) for a in (left, right)]
        )
        counters[4 : 4 + len(left)] = np.count_nonzero(left[:, 0, :-1, -1], axis=1)
        if not with_moves:
            return list(fields.swapaxes(0, 1)), caps, None
        inside = np.diff(left, axis=3, append=left[..., -1:])
        top = np.argmax(inside[:, :, :-1], axis=2)[:, :, None]
        n = np.take_along_axis(inside, top, axis=2)[:, :, 0]
        a = np.take_along_axis(left, top, axis=2)[:, :, 0]
        r = np.take_along_axis(right, top, axis=2)[:, :, 0]
        w, g, c = (row[top[:, :, 0]] for row in clusters)
        moves = np.stack([w * n * (2 * a + n - 1), -w * n * (2 * r - n - 1), g * n, c * n])
        return list(fields.swapaxes(0, 1)), caps, moves

    def make_sides(self, borders, trend, features, totals):
        _, caps, moves, _ = borders
        fields, here = six(borders.fields), slice(*features)
        if features[0] == 0:
            totals[:, :, 0, 0] = fields[[0, 2, 3], :, 0, -1]
        fields = fields[:, :, here]
        caps, moves = (None if each is None else each[:, :, here] for each in (caps, moves))
        after = np.concatenate([fields[..., 1:], fields[..., -1:]], axis=-1)[:4]
        now, total = fields[:4], fields[:4, ..., -1:]

        def both(sums):
            left = np.stack([sums[0], sums[2], sums[3]])
            return left, np.stack([sums[1], total[2] - sums[2], total[3] - sums[3]])

        def best(low, high, cap):
            side = optimistic_side(Side(*low), Side(*high), trend)
            return np.stack(side if cap is None else capped_side(side, trend, cap))

        variants = [np.concatenate(both(now))]
        cap_left = cap_right = None
        if caps is not None:
            cap_left = np.concatenate([caps[0, ..., 1:], caps[0, ..., -1:]], axis=-1)
            cap_right = caps[1]
        moved = [(now, after)] if moves is None else [(now, after - moves), (now + moves, after)]
        for low, high in moved:
            (left_low, right_high), (left_high, right_low) = both(low), both(high)
            left, right = (
                best(left_low, left_high, cap_left),
                best(right_low, right_high, cap_right),
            )
            variants.append(np.concatenate([left, right]))
        return np.stack(variants, axis=1)

    def scan_stars(self, histograms, subtract, center_codes, centers):
        left = self._scanned(histograms, subtract)
        _, d, n_labels, n_borders = left.shape
        k = n_labels - 1
        samples = left.sum(axis=2)
        total = left[..., -1:]
        code = unpacked(np.ascontiguousarray(center_codes), d)
        is_left = code[:, :, None] < np.arange(n_borders)
        present, counted, degree = (centers[:, i, None, :, None] for i in range(3))
        inside = present.astype(bool) & is_left
        joined = np.sum(2 * left[:, :, :k] * inside, axis=2)
        beyond = present.astype(bool) & ~is_left
        rest = np.sum(2 * (total - left)[:, :, :k] * beyond, axis=2)
        volume = left[:, :, :k].sum(axis=2) + np.sum(inside * degree, axis=2)
        members = samples + inside.sum(axis=2)
        size = np.sum(inside * counted, axis=2)
        return list(np.stack([joined, rest, volume, size, members, samples], axis=1))

    def count_edges(self, block, rows, csr: NeighborLists, part_of, parts, histograms, crossing):
        d = histograms.shape[0]
        code = unpacked(block.codes, d).astype(int)
        for x in rows:
            for e in range(csr.indptr[x], csr.indptr[x + 1]):
                y, w = csr.neighbors[e], int(csr.weights[e])
                for f in range(d):
                    mine, its = code[f, x], code[f, y]
                    lower = w * (int(its < mine) + int(its <= mine))
                    if part_of[y] == parts[0]:
                        add(histograms, (f, 0, mine + 1), lower)
                        add(histograms, (f, 1, mine + 1), 2 * w)
                    elif part_of[y] == parts[1]:
                        add(crossing, (f, 0, mine + 1), lower)
                        add(crossing, (f, 1, mine + 1), 2 * w)
                        add(crossing, (f, 0, its + 1), 2 * w - lower)
                        add(crossing, (f, 1, its + 1), 2 * w)
            for f in range(d):
                add(histograms, (f, 2, code[f, x] + 1), int(csr.degrees[x]))
                add(histograms, (f, 3, code[f, x] + 1), 1)

    def list_neighbors(self, heads, tails, weights, n):
        ends, others = np.append(heads, tails), np.append(tails, heads)
        order = np.argsort(ends, kind="stable")
        both = np.append(weights, weights)
        indptr = np.append(0, np.cumsum(np.bincount(ends, minlength=n)))
        degrees = np.zeros(n, dtype=np.int64)
        np.add.at(degrees, ends, both.astype(np.int64))
        return NeighborLists(indptr, others[order], both[order].astype(self.edges.weights), degrees)

    def scan_edges(self, histograms, crossing, subtract):
        def swap(joined, other):
            """Edge ends from the rest, or the rest from edge ends."""
            other[:] = joined[:, -1:] - other + joined

        if len(histograms) > 1 and subtract:
            swap(*histograms[1].swapaxes(0, 1)[:2])
        self._scanned(histograms, subtract, crossing)
        for each in histograms:
            swap(*each.swapaxes(0, 1)[:2])

    def score_borders(self, borders, formula, trend, min_samples, counters):
        fields = six(borders.fields)
        _, n, d, n_borders = fields.shape
        totals = np.empty((3, n, 1, 1), dtype=np.int64)
        sides = self.make_sides(borders, trend, (0, d), totals)
        joined, rest, volume, size = fields[:4]
        node = totals[1:]
        exact = [joined, volume, size, rest, node[0] - volume, node[1] - size]
        scored = ScoredBorders(np.empty((n, 1, 3), dtype=np.int64), np.empty((n, d, n_borders)))
        exact, best = (scored_by(formula, [*each, *totals]) for each in (exact, sides[:, 1:]))
        scores = np.concatenate([exact[None], best])
        self.pick_borders(scores, borders.fields, (0, d), min_samples, scored, 0, counters)
        return scored

    def pick_borders(self, scores, fields, features, min_samples, scored, part, counters):
        with np.errstate(invalid="ignore"):
            bounds = np.fmin.reduce(scores[1:], axis=0)
            bounds = bounds - np.where(np.isfinite(bounds), 1e-12 * np.abs(bounds), 0.0)
        scored.bounds[:, slice(*features)] = bounds
        scores, parts = scores[0], scored.parts[:, part : part + 1]
        fields = six(fields)[:, :, slice(*features)]
        _, n, _, n_borders = fields.shape
        counters[:4] = 0
        for v in range(n):
            members, samples = fields[4, v], fields[5, v]
            n_samples = samples[0, -1]
            with np.errstate(invalid="ignore"):
                valid = (scores[v] < np.inf) & (members > 0) & (members < members[0, -1])
            valid &= (samples >= min_samples) & (samples <= n_samples - min_samples)
            own = np.where(valid, scores[v], np.inf).ravel()
            best = int(np.argmin(own))
            found = own[best] < np.inf
            rank, place = (features[0] * n_borders + best, -1) if found else (0, 0)
            parts[v, 0] = [np.float64(own[best]).view(np.int64), rank, place]

    def select_bins(
        self, scored, fields, solid, prior, features, min_samples, a_portion, counters
    ):  # fmt: skip
        fields = six(fields)
        _, n, d, n_borders = fields.shape
        everything = scored is None
        bounds = None if everything else scored.bounds
        at = np.full((n, d, n_borders - 1), -1, dtype=np.int32)
        entries = []
        for v in range(n):
            score, rank = np.inf, 0
            if not everything:
                score, rank = min(
                    (float(part[:1].view(np.float64)[0]), part[1]) for part in scored.parts[v]
                )
            limit = min(score, prior[0, v])
            last = d
            if not everything and score == limit:
                last = rank // n_borders
            if prior[0, v] == limit:
                last = min(last, prior[1, v])
            members, samples = fields[4, v], fields[5, v]
            for f in range(features[0], features[1]):
                for b in range(1 if everything else n_borders - 1):
                    inside = members[f, b + 1] - members[f, b]
                    wanted = prior[0, v] > -np.inf
                    if everything:
                        inside = members[f, -1]
                    else:
                        bound = bounds[v, f, b]
                        wanted &= not solid[f, b] and samples[f, b + 1] >= min_samples
                        wanted &= samples[f, b] <= samples[f, -1] - min_samples
                        tie = bound == limit and limit < np.inf and f <= last
                        wanted &= bool(bound < limit or tie)
                    if wanted and inside > 1:
                        at[v, f, b] = counters[0]
                        portion, first = divmod(int(counters[1]), a_portion)
                        entries.append([v, f, b, first, inside, portion, 0])
                        counters[0] += 1
                        counters[1] += inside
                        counters[2] = max(counters[2], inside)
        return BinJobs(at, np.array(entries, dtype=np.int32).reshape(-1, JOB), everything)

    @staticmethod
    def _of(jobs, portion):
        """The jobs of a portion, numbered among all."""
        return [
            (number, *entry[:5])
            for number, entry in enumerate(jobs.entries.tolist())
            if entry[5] == portion
        ]

    def gather_jobs(self, block, rows, jobs, portion, n_places):
        places = JobRows(
            np.empty(n_places),
            np.empty(n_places, dtype=np.int32),
            np.full(n_places, -1, dtype=np.int32),
        )
        code = unpacked(block.codes, jobs.at.shape[1])
        for number, v, f, b, first, n in self._of(jobs, portion):
            inside = rows[v] if jobs.everything else rows[v][code[f, rows[v]] == b]
            part = slice(first, first + n)
            places.members[part] = inside
            places.values[part] = values_of(block, inside, f)
            places.job_of[part] = number
        return places

    def sort_jobs(self, jobs, portion, longest, places):
        for *_, first, n in self._of(jobs, portion):
            part = slice(first, first + n)
            order = np.argsort(places.values[part])
            places.values[part] = places.values[part][order]
            places.members[part] = places.members[part][order]

    def _walk(self, jobs, portion, fields, min_samples, places, moves):
        """`moves(job, sofar members)` yields joins, parts, volume, size, samples for each member."""
        n_places, fields = len(places.values), six(fields)
        gaps = np.zeros((10, n_places), dtype=np.int64)
        valid = np.zeros(n_places, dtype=np.uint8)
        for _, *job in self._of(jobs, portion):
            v, f, b, first, n = job
            now = fields[[0, 1, 2, 3, 5], v, f, b].copy()
            n_samples = fields[5, v, f, -1]
            for i, move in enumerate(moves(job)):
                now += [move[0], -move[1], *move[2:]]
                place = first + i
                end = fields[:, v, f, -1]
                sides = [now[0], now[2], now[3], now[1], end[2] - now[2], end[3] - now[3]]
                gaps[:, place] = [*sides, end[0], end[2], end[3], now[4]]
                enough = min_samples <= now[4] <= n_samples - min_samples
                apart = i + 1 < n and places.values[place] < places.values[place + 1]
                valid[place] = enough and apart
        return gaps, valid

    def walk_labels(
        self, jobs, portion, fields, min_samples, places, histograms, labels, amounts, clusters
    ):
        def moves(job):
            v, f, b, first, n = job
            seen, total = histograms[v][f, :, b].copy(), histograms[v][f, :, -1]
            for x in places.members[first : first + n]:
                c, own = labels[x], 1 if amounts is None else int(amounts[x])
                w, rest = clusters[0, c] * own, total[c] - seen[c]
                joins, parts = w * (2 * seen[c] + own - 1), w * (2 * rest - own - 1)
                yield joins, parts, own * clusters[1, c], own * clusters[2, c], 1
                seen[c] += own

        return self._walk(jobs, portion, fields, min_samples, places, moves)

    def walk_stars(
        self, jobs, portion, fields, min_samples, places, histograms, labels, center_codes,
        centers, n_samples,
    ):  # fmt: skip
        code = unpacked(np.ascontiguousarray(center_codes), fields[0].shape[1])

        def moves(job):
            v, f, b, first, n = job
            k = centers.shape[2]
            seen, total = histograms[v][f, :, b].copy(), histograms[v][f, :, -1]
            is_left = (code[f] < b) & (centers[v, 0] > 0)
            for x in places.members[first : first + n]:
                c = labels[x] if x < n_samples else x - n_samples
                if x >= n_samples:
                    yield (
                        2 * seen[c],
                        2 * (total[c] - seen[c]),
                        centers[v, 2, c],
                        centers[v, 1, c],
                        0,
                    )
                    is_left[c] = True
                    continue
                seen[c] += 1
                if c < k and centers[v, 0, c]:
                    yield (2, 0, 1, 0, 1) if is_left[c] else (0, 2, 1, 0, 1)
                else:
                    yield 0, 0, int(c < k), 0, 1

        return self._walk(jobs, portion, fields, min_samples, places, moves)

    def walk_edges(self, jobs, portion, fields, min_samples, places, block, csr, part_of, parts):
        def moves(job):
            v, f, _, first, n = job
            for x in places.members[first : first + n].tolist():
                near = slice(csr.indptr[x], csr.indptr[x + 1])
                y, w = csr.neighbors[near], 2 * csr.weights[near].astype(np.int64)
                inside = part_of[y] == parts[min(v, len(parts) - 1)]
                mine, its = values_of(block, x, f), values_of(block, y, f)
                earlier = (its < mine) | ((its == mine) & (y < x))
                joined, left_over = int(w[inside & earlier].sum()), int(w[inside & ~earlier].sum())
                yield joined, left_over, int(csr.degrees[x]), 1, 1

        return self._walk(jobs, portion, fields, min_samples, places, moves)

    def score_gaps(self, formula, gaps, valid, places, jobs, fields, *, first_wins):
        scores = scored_by(formula, gaps[:9])
        return scores, self.pick_gaps(scores, valid, places, jobs, fields, first_wins=first_wins)

    def pick_gaps(self, scores, valid, places, jobs, fields, *, first_wins):
        n, n_borders = len(fields), fields[0].shape[2]
        parts = np.zeros((n, 1, 3), dtype=np.int64)
        for v in range(n):
            best = (np.inf, 0, 0)
            for i in range(len(scores)):
                owner, f, b = jobs.entries[places.job_of[i], :3].tolist()
                if places.job_of[i] >= 0 and owner == v and valid[i] and scores[i] < np.inf:
                    best = min(best, (0.0 if first_wins else scores[i], f * n_borders + b, i))
            parts[v, 0] = [np.float64(best[0]).view(np.int64), best[1], best[2]]
        return parts


def scored_by(formula, sums):
    """Scores by the text of a formula, of sums of left, right and node."""
    names = ["_".join(each) for each in product(("left", "right", "node"), Side._fields)]
    with np.errstate(divide="ignore", invalid="ignore"):
        return eval(formula, IN_C, dict(zip(names, sums, strict=True)))


def unpacked(codes, n_features):
    """Codes as (n_features, n_vertices)."""
    n_groups, n_vertices, _ = codes.shape
    return codes.transpose(0, 2, 1).reshape(n_groups * LANES, n_vertices)[:n_features]


def values_of(block: FeatureBlock, vertices, feature):
    table = block.table[:, feature].astype(np.float64)
    if block.extra is not None:
        table = np.append(table, block.extra[:, feature])
    return table[vertices]


def key_of(value):
    bits = int(np.array([value], dtype=np.float64).view(np.uint64)[0])
    key = (~bits & (2**64 - 1)) if bits >> 63 else bits | 2**63
    return key - 2**64 if key >= 2**63 else key  # as int64


def six(fields):
    """All six fields of all nodes, shape (6, nodes, d, borders)."""
    stored = [each[np.minimum(np.arange(6), len(each) - 1)] for each in fields]
    return np.stack(stored, axis=1).astype(np.int64)


def add(sums, place, amount):
    """Add to one sum as a whole number: old NumPy adds unsigned scalars and integers as floats."""
    sums[place] = int(sums[place]) + amount
