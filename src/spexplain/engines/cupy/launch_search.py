"""Launches that find the best cut: from scores to jobs, sums between values, the best of all."""

from typing import Any

import numpy as np

from spexplain.engines.cupy.launch import Launcher, values_of
from spexplain.engines.cupy.launch_sums import BinKernels, BorderKernels
from spexplain.engines.cupy.records import Block, Borders, Csr, Jobs, Places
from spexplain.records import Side

_N_ROOM = 1 << 14  # rows of a job that a block sorts in shared memory
_N_PICKS = 64  # blocks that look for the best cut of a node


class JobKernels(Launcher):
    """Bins that are looked at closely: chosen, gathered, sorted."""

    def make_sides(self, borders: Borders, trend: Side) -> Any:
        """Return the sides of all cuts at borders, and at their best in between, see ``search.cu``."""
        fields, caps, moves, _ = borders
        _, n, d, n_borders = fields.shape
        shape = 6, 2 if moves is None else 3, n, d, n_borders
        sides = self.xp.empty(shape, dtype=np.int64 if caps is None else np.float64)
        head = (fields, *(0 if each is None else each for each in (caps, moves)), n, d, n_borders)
        grid = (max(1, min(8 * self.n_processors, n * d * n_borders // 256)),)
        self.run("make_sides", grid, 256, (*head, *map(int, trend), sides))
        return sides

    def pick_borders(self, scores: Any, fields: Any, min_samples: int, counters: Any) -> Any:
        """Return the best cuts at borders, as parts to be compared further; clear the counters."""
        _, n, d, n_borders = fields.shape
        parts = self.xp.empty((n, _N_PICKS, 3), dtype=np.int64)
        args = (scores, fields, d, n_borders, min_samples, parts, counters)
        self.run("pick_borders", (_N_PICKS, n), 256, args)
        return parts

    def select_bins(
        self,
        bounds: Any,
        fields: Any,
        solid: Any,
        prior: Any,
        parts: Any,
        features: tuple[int, int],
        min_samples: int,
        counters: Any,
    ) -> Jobs:
        """List the bins whose bound, if there are bounds, does not rule them out; else whole features."""
        xp, (_, n, d, n_borders) = self.xp, fields.shape
        everything = bounds is None
        n_most = n * (features[1] - features[0]) * (1 if everything else n_borders - 1)
        jobs = Jobs(
            xp.empty((n, d, n_borders - 1), dtype=np.int32),
            xp.empty((n_most, 5), dtype=np.int32),
            everything,
        )
        head = (*((0, 0) if everything else (bounds, len(bounds))), fields, solid, prior)
        middle = (0, 0) if parts is None else (parts, parts.shape[1])
        args = (*head, *middle, *features, d, n_borders, min_samples, int(everything))
        n_blocks = max(1, min(2 * self.n_processors, d * n_borders // 256))
        self.run("select_bins", (n_blocks, n), 256, (*args, jobs.at, jobs.entries, counters))
        return jobs

    def gather_jobs(
        self, block: Block, rows: list[Any], jobs: Jobs, n_jobs: int, n_places: int
    ) -> Places:
        """Return the rows of all jobs, job by job, in any order within."""
        xp = self.xp
        places = Places(
            xp.empty(n_places),
            xp.empty(n_places, dtype=np.int32),
            xp.empty(n_places, dtype=np.int32),
        )
        taken = xp.zeros(n_jobs, dtype=np.int32)
        codes = block.codes
        lists = (rows[0], len(rows[0]), rows[-1], len(rows[-1]))
        _, d, n_bins = jobs.at.shape
        args = (*values_of(block), codes, codes.shape[1], *lists, d, n_bins, int(jobs.everything))
        n_parts = max(1, min(4 * self.n_processors // codes.shape[0] + 1, -(-len(rows[-1]) // 512)))
        grid = (codes.shape[0], n_parts, len(rows))
        self.run("gather_jobs", grid, 256, (*args, jobs.at, jobs.entries, taken, *places))
        return places

    def sort_jobs(self, jobs: Jobs, n_jobs: int, longest: int, places: Places) -> None:
        """Sort the rows of every job by value, in place."""
        room = min(_N_ROOM, 1 << max(1, (longest - 1).bit_length()))
        args = (jobs.entries, room, places.values, places.members)
        threads = max(32, min(1024, room // 2))
        self.run("sort_jobs", (n_jobs,), threads, args, shared=room * 12)
        if longest > room:
            for _, _, _, first, n in self.fetch(jobs.entries[:n_jobs]).tolist():
                if n > room:
                    part = slice(first, first + n)
                    order = self.xp.argsort(places.values[part])
                    places.values[part] = places.values[part][order]
                    places.members[part] = places.members[part][order]


class GapKernels(Launcher):
    """Sums between neighbouring values of the sorted jobs."""

    def walk_labels(
        self,
        jobs: Jobs,
        n_jobs: int,
        fields: Any,
        min_samples: int,
        places: Places,
        histograms: list[Any],
        labels: Any,
        clusters: Any,
    ) -> tuple[Any, Any]:
        """Return the sums at all gaps, shape (10, n_places), and which gaps are valid."""
        n_labels = histograms[0].shape[1]
        args = (histograms[0], histograms[-1], labels, n_labels, clusters)
        n_warps = 8 if n_labels <= 1024 else 1
        return self._walk(
            "walk_labels", jobs, n_jobs, fields, min_samples, places, args, n_warps * n_labels,
            n_warps,
        )  # fmt: skip

    def walk_stars(
        self,
        jobs: Jobs,
        n_jobs: int,
        fields: Any,
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
        args = (histograms[0], histograms[-1], labels, n_labels, center_codes)
        more = (center_codes.strides[0], centers, n_samples)
        return self._walk(
            "walk_stars", jobs, n_jobs, fields, min_samples, places, (*args, *more), 2 * n_labels
        )

    def walk_edges(
        self,
        jobs: Jobs,
        n_jobs: int,
        fields: Any,
        min_samples: int,
        places: Places,
        block: Block,
        csr: Csr,
        part_of: Any,
        parts: tuple[int, int],
    ) -> tuple[Any, Any]:
        """Return the same for listed edges."""
        n_places = len(places.values)
        joined, parted = self.xp.empty((2, n_places), dtype=np.int64)
        codes = (block.codes, block.codes.shape[1])
        args = (
            *values_of(block),
            *codes,
            *places,
            n_places,
            jobs.entries,
            *csr[:3],
            part_of,
            *parts,
        )
        self.run("move_edges", (-(-n_places // 32),), 256, (*args, joined, parted))
        own = (joined, parted, csr.degrees)
        return self._walk("walk_edges", jobs, n_jobs, fields, min_samples, places, own, 0)

    def _walk(
        self,
        name: str,
        jobs: Jobs,
        n_jobs: int,
        fields: Any,
        min_samples: int,
        places: Places,
        own: tuple[Any, ...],
        n_counters: int,
        n_warps: int = 1,
    ) -> tuple[Any, Any]:
        n_places = len(places.values)
        gaps = self.xp.empty((10, n_places), dtype=np.int64)
        valid = self.xp.empty(n_places, dtype=np.uint8)
        head = (jobs.entries, fields, *fields.shape[1:], min_samples, *places[:2], n_places)
        self.run(name, (n_jobs,), 32 * n_warps, (*head, gaps, valid, *own), shared=4 * n_counters)
        return gaps, valid


class CutKernels(Launcher):
    """The best cut, and the parts of a node."""

    def pick_gaps(
        self, scores: Any, valid: Any, places: Places, jobs: Jobs, shape: Any, *, first_wins: bool
    ) -> Any:
        """Return the best gaps of every node, as parts to be compared further."""
        _, n, _, n_borders = shape
        n_places = len(scores)
        n_parts = max(1, min(_N_PICKS, -(-n_places // 256)))
        parts = self.xp.empty((n, n_parts, 3), dtype=np.int64)
        args = (scores, valid, places.job_of, jobs.entries, n_places, n_borders, int(first_wins))
        self.run("pick_gaps", (n_parts, n), 256, (*args, parts))
        return parts

    def finish(
        self,
        block: Block,
        rows: list[Any],
        fields: Any,
        border_parts: Any,
        gap_parts: Any,
        found: tuple[Any, Any, Jobs, Places] | None,
    ) -> Any:
        """Return one record a node, see ``walk.cu``, on the host."""
        _, n, d, n_borders = fields.shape
        records = self.xp.empty((n, 12), dtype=np.int64)
        borders = (0, 0) if border_parts is None else (border_parts, border_parts.shape[1])
        if found is None:
            middle = (0, 0, 0, 0, 0, 0, fields, 0, 0)
        else:
            scores, gaps, jobs, places = found
            middle = (
                gap_parts, gap_parts.shape[1], scores, places.job_of, jobs.entries, places.values,
                fields, gaps, len(scores),
            )  # fmt: skip
        self.run("finish", (n,), 256, (*borders, *middle, d, n_borders, records))
        if border_parts is not None:
            lists = (rows[0], len(rows[0]), rows[-1], len(rows[-1]))
            args = (*values_of(block), block.codes, block.codes.shape[1], *lists, records)
            n_parts = max(1, min(2 * self.n_processors, -(-len(rows[-1]) // 1024)))
            self.run("find_around", (n_parts, n), 256, args)
        return self.fetch(records)

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
