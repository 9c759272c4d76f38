"""The kernels of the CuPy engine once more, slowly and in NumPy: every method does what its CUDA twin does.

With them the search runs where there is no GPU, and on a GPU each kernel is compared with its twin.
"""

import numpy as np

from gpu.twin_bins import BinTwins
from gpu.twin_borders import BorderTwins
from gpu.twin_gaps import GapTwins
from gpu.twin_values import key_of, six, unpacked, values_of
from spexplain.kernels.cuda.kernels import EdgeTypes


class TwinKernels(BinTwins, BorderTwins, GapTwins):
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
