"""Twins of the kernels that sum up to the borders of bins, and find the best of these."""

import numpy as np

from gpu.twin_values import add, six, unpacked
from spexplain.kernels.cuda.records import NeighborLists


class BorderTwins:
    def count_labels(self, block, rows, labels, histograms):
        d, n_labels, _ = histograms.shape
        code = unpacked(block.codes, d)
        counted = rows[labels[rows] < n_labels]
        for f in range(d):
            np.add.at(histograms[f], (labels[counted], code[f, counted].astype(int) + 1), 1)

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

    def scan_labels(self, histograms, subtract, clusters, rates, *, with_moves, counters):
        left = self._scanned(histograms, subtract)
        right = left[..., -1:] - left
        weights, degrees, counted = (row[None, None, :, None] for row in clusters)
        joined = np.sum(weights * left * (left - 1), axis=2)
        rest = np.sum(weights * right * (right - 1), axis=2)
        members = left.sum(axis=2)
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
            inner, volume, size = (high[i] if trend[i] < 0 else low[i] for i in range(3))
            if trend.inner < 0 and trend.volume > 0:
                volume = volume + (high[0] - low[0] + 1) // 2
            volume = np.maximum(volume, 1) if trend.volume > 0 else volume
            size = np.maximum(size, 1) if trend.size > 0 else size
            if trend.inner < 0 and trend.volume > 0:
                most = volume if cap is None else cap * volume
                inner = np.minimum(inner, most)
            elif trend.inner < 0 and trend.size > 0 and cap is not None:
                inner = np.minimum(inner, cap * size)
            return np.stack([inner, volume, size])

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
