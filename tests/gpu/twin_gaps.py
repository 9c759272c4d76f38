"""Twins of the kernels that look at every gap within some bins."""

import numpy as np

from gpu.twin_values import six, unpacked, values_of
from spexplain.kernels.cuda.records import JOB, BinJobs, JobRows


class GapTwins:
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
                        entries.append([v, f, b, first, inside, portion])
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

    def gather_jobs(self, block, rows, jobs, portion, taken, n_places):
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

    def walk_labels(self, jobs, portion, fields, min_samples, places, histograms, labels, clusters):
        def moves(job):
            v, f, b, first, n = job
            seen, total = histograms[v][f, :, b].copy(), histograms[v][f, :, -1]
            for x in places.members[first : first + n]:
                c = labels[x]
                w = 2 * clusters[0, c]
                yield w * seen[c], w * (total[c] - seen[c] - 1), clusters[1, c], clusters[2, c], 1
                seen[c] += 1

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
