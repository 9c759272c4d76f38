"""Launches that find the best cut: from scores to jobs, sums between values, the best of all."""

from typing import Any

import numpy as np

from spexplain.kernels.cuda.launch import Launcher, fields_of, values_of
from spexplain.kernels.cuda.launch_sums import BinKernels, BorderKernels
from spexplain.kernels.cuda.records import JOB, Block, Borders, Csr, Jobs, Places, Scored
from spexplain.records import Side

_N_ROOM = 1 << 14  # rows of a job that a block sorts in shared memory


class JobKernels(Launcher):
    """Bins that are looked at closely: chosen, gathered, sorted."""

    n_picks = 64  # blocks that look for the best cut of a node

    def make_sides(
        self, borders: Borders, trend: Side, features: tuple[int, int], totals: Any
    ) -> Any:
        """Return the sides of cuts at the borders of some features, and at their best in between.

        Also write the totals of the nodes, with the first feature; see ``search.cu``.
        """
        fields, caps, moves, _ = borders
        n, (_, d, n_borders), n_here = len(fields), fields[0].shape, features[1] - features[0]
        shape = 6, 2 if moves is None else 3, n, n_here, n_borders
        sides = self.xp.empty(shape, dtype=np.int64 if caps is None else np.float64)
        more = (0 if each is None else each for each in (caps, moves))
        args = (*fields_of(fields), *more, n, d, n_borders, features[0], n_here)
        grid = (max(1, min(8 * self.n_processors, n * n_here * n_borders // 256)),)
        self.run("make_sides", grid, 256, (*args, *map(int, trend), sides, totals))
        return sides

    def pick_borders(
        self,
        scores: Any,
        fields: list[Any],
        features: tuple[int, int],
        min_samples: int,
        scored: Scored,
        part: int,
        counters: Any,
    ) -> None:
        """Write the best cuts at the borders of some features, and the bounds; clear the counters."""
        _, d, n_borders = fields[0].shape
        start, n_here = features[0], features[1] - features[0]
        args = (scores, len(scores) - 1, *fields_of(fields), start, n_here, d, n_borders)
        parts = (scored.parts[:, part * self.n_picks :], scored.parts.shape[1])
        more = (min_samples, *parts, scored.bounds, counters)
        self.run("pick_borders", (self.n_picks, len(fields)), 256, (*args, *more))

    def select_bins(
        self,
        scored: Scored | None,
        fields: list[Any],
        solid: Any,
        prior: Any,
        features: tuple[int, int],
        min_samples: int,
        a_portion: int,
        counters: Any,
    ) -> Jobs:
        """List the bins whose bound, if there are bounds, does not rule them out; else whole features."""
        xp, n, (_, d, n_borders) = self.xp, len(fields), fields[0].shape
        everything = scored is None
        n_most = n * (features[1] - features[0]) * (1 if everything else n_borders - 1)
        jobs = Jobs(
            xp.empty((n, d, n_borders - 1), dtype=np.int32),
            xp.empty((n_most, JOB), dtype=np.int32),
            everything,
        )
        parts = (0, 0) if scored is None else (scored.parts, scored.parts.shape[1])
        head = (0 if scored is None else scored.bounds, *fields_of(fields), solid, prior, *parts)
        args = (*head, *features, d, n_borders, min_samples, a_portion)
        n_blocks = max(1, min(2 * self.n_processors, d * n_borders // 256))
        self.run("select_bins", (n_blocks, n), 256, (*args, jobs.at, jobs.entries, counters))
        return jobs

    def gather_jobs(
        self, block: Block, rows: list[Any], jobs: Jobs, portion: int, taken: Any, n_places: int
    ) -> Places:
        """Return the rows of a portion's jobs, job by job, in any order within."""
        xp = self.xp
        members, job_of = (xp.empty(n_places, dtype=np.int32) for _ in range(2))
        if jobs.n_portions > 1:
            job_of.fill(-1)
        places = Places(xp.empty(n_places), members, job_of)
        codes = block.codes
        lists = (rows[0], len(rows[0]), rows[-1], len(rows[-1]))
        _, d, n_bins = jobs.at.shape
        args = (*values_of(block), codes, codes.shape[1], *lists, d, n_bins, int(jobs.everything))
        n_parts = max(1, min(4 * self.n_processors // codes.shape[0] + 1, -(-len(rows[-1]) // 512)))
        grid = (codes.shape[0], n_parts, len(rows))
        self.run("gather_jobs", grid, 256, (*args, jobs.at, jobs.entries, portion, taken, *places))
        return places

    def sort_jobs(self, jobs: Jobs, portion: int, longest: int, places: Places) -> None:
        """Sort the rows of a portion's jobs by value, in place."""
        room = min(_N_ROOM, 1 << max(1, (longest - 1).bit_length()))
        args = (jobs.entries, portion, room, places.values, places.members)
        threads = max(32, min(1024, room // 2))
        self.run("sort_jobs", (len(jobs.entries),), threads, args, shared=room * 12)
        if longest > room:
            for *_, first, n, owner in self.fetch(jobs.entries).tolist():
                if n > room and owner == portion:
                    part = slice(first, first + n)
                    order = self.xp.argsort(places.values[part])
                    places.values[part] = places.values[part][order]
                    places.members[part] = places.members[part][order]


class GapKernels(Launcher):
    """Sums between neighbouring values of the sorted jobs."""

    def walk_labels(
        self,
        jobs: Jobs,
        portion: int,
        fields: list[Any],
        min_samples: int,
        places: Places,
        histograms: list[Any],
        labels: Any,
        clusters: Any,
    ) -> tuple[Any, Any]:
        """Return the sums at all gaps, shape (10, n_places), and which gaps are valid."""
        n_labels = histograms[0].shape[1]
        own = (histograms[0], histograms[-1], labels, n_labels, clusters)
        n_warps = 8 if n_labels <= 1024 else 1
        head = jobs, portion, fields, min_samples, places
        return self._walk("walk_labels", *head, own, n_warps * n_labels, n_warps)

    def walk_stars(
        self,
        jobs: Jobs,
        portion: int,
        fields: list[Any],
        min_samples: int,
        places: Places,
        histograms: list[Any],
        labels: Any,
        center_codes: Any,
        centers: Any,
        n_samples: int,
    ) -> tuple[Any, Any]:
        """Return the same for stars."""
        n_labels = histograms[0].shape[1]
        own = (histograms[0], histograms[-1], labels, n_labels, center_codes)
        more = (center_codes.strides[0], centers, n_samples)
        head = jobs, portion, fields, min_samples, places
        return self._walk("walk_stars", *head, (*own, *more), 2 * n_labels)

    def walk_edges(
        self,
        jobs: Jobs,
        portion: int,
        fields: list[Any],
        min_samples: int,
        places: Places,
        block: Block,
        csr: Csr,
        part_of: Any,
        parts: tuple[int, int],
    ) -> tuple[Any, Any]:
        """Return the same for listed edges."""
        n_places = len(places.values)
        joined, parted = self.xp.empty((2, n_places), dtype=self.edges.sums)
        args = (*values_of(block), block.codes, block.codes.shape[1], *places, n_places)
        more = (jobs.entries, *csr[:3], part_of, *parts, joined, parted)
        self.run("move_edges", (-(-n_places // 32),), 256, (*args, *more))
        own = (joined, parted, csr.degrees)
        return self._walk("walk_edges", jobs, portion, fields, min_samples, places, own, 0)

    def _walk(
        self,
        name: str,
        jobs: Jobs,
        portion: int,
        fields: list[Any],
        min_samples: int,
        places: Places,
        own: tuple[Any, ...],
        n_counters: int,
        n_warps: int = 1,
    ) -> tuple[Any, Any]:
        n_places, grid = len(places.values), (len(jobs.entries),)
        # Formulas that want plain numbers are asked once for every distinct node: places that no job
        # of this portion takes must not look like many.
        room = self.xp.empty if jobs.n_portions == 1 else self.xp.zeros
        gaps = room((10, n_places), dtype=np.int64)
        valid = self.xp.empty(n_places, dtype=np.uint8)
        head = (jobs.entries, portion, *fields_of(fields), fields[0].shape[2], min_samples)
        args = (*head, *places[:2], n_places, gaps, valid, *own)
        self.run(name, grid, 32 * n_warps, args, shared=4 * n_counters)
        return gaps, valid


class CutKernels(Launcher):
    """The best cut, and the parts of a node."""

    def pick_gaps(
        self,
        scores: Any,
        valid: Any,
        places: Places,
        jobs: Jobs,
        fields: list[Any],
        *,
        first_wins: bool,
    ) -> Any:
        """Return the best gaps of every node, as parts to be compared further."""
        n, n_borders, n_places = len(fields), fields[0].shape[2], len(scores)
        n_parts = max(1, min(64, -(-n_places // 256)))
        parts = self.xp.empty((n, n_parts, 3), dtype=np.int64)
        args = (scores, valid, places.job_of, jobs.entries, n_places, n_borders, int(first_wins))
        self.run("pick_gaps", (n_parts, n), 256, (*args, parts))
        return parts

    def improve(
        self,
        records: Any,
        fields: list[Any],
        border_parts: Any,
        found: tuple[Any, Any, Any, Jobs, Places] | None,
    ) -> Any:
        """Return the records of the best cuts, one a node: of those before, if any, and those now.

        See ``finish`` in ``walk.cu``.
        """
        fresh = records is None
        if fresh:
            records = self.xp.empty((len(fields), 12), dtype=np.int64)
        borders = (0, 0) if border_parts is None else (border_parts, border_parts.shape[1])
        head: tuple[Any, ...] = (0, 0, 0, 0, 0, 0)
        tail: tuple[Any, ...] = (0, 0)
        if found is not None:
            parts, scores, gaps, jobs, places = found
            head = (parts, parts.shape[1], scores, places.job_of, jobs.entries, places.values)
            tail = gaps, len(scores)
        args = (*borders, *head, *fields_of(fields), *tail, fields[0].shape[2], int(fresh))
        self.run("finish", (len(fields),), 256, (*args, records))
        return records

    def find_around(self, block: Block, rows: list[Any], records: Any) -> None:
        """Write the values around those cuts that are at borders."""
        lists = (rows[0], len(rows[0]), rows[-1], len(rows[-1]))
        args = (*values_of(block), block.codes, block.codes.shape[1], *lists, records)
        n_parts = max(1, min(2 * self.n_processors, -(-len(rows[-1]) // 1024)))
        self.run("find_around", (n_parts, len(rows)), 256, args)

    def split_rows(
        self,
        block: Block,
        rows: Any,
        feature: int,
        limits: tuple[float, float],
        sizes: tuple[int, int],
        part_of: Any,
        parts: tuple[int, int],
    ) -> tuple[Any, Any, Any]:
        """Return the rows of both parts, in room for `sizes`, and on the device how many there are."""
        xp = self.xp
        left, right = (xp.empty(size, dtype=np.int32) for size in sizes)
        counted = xp.zeros(2, dtype=np.int64)
        args = (
            *values_of(block),
            rows,
            len(rows),
            feature,
            *map(float, limits),
            left,
            right,
            counted,
        )
        more = (0 if part_of is None else part_of, *parts)
        self.run("split_rows", (-(-len(rows) // 1024),), 1024, (*args, *more))
        return left, right, counted


class Kernels(BinKernels, BorderKernels, JobKernels, GapKernels, CutKernels):
    """All kernels of the engine as functions of CuPy arrays; tests put a NumPy twin in their place."""
