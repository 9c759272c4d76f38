"""The CUDA kernels as functions of CuPy arrays: compiled for the device at first use, cached by CuPy."""

from functools import lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from spexplain.aliases import Array, Floats, Ints
from spexplain.kernels.cuda.records import (
    CELLS,
    JOB,
    LANES,
    BinEdges,
    BinJobs,
    BorderSums,
    FeatureBlock,
    JobRows,
    NeighborLists,
    ScoredBorders,
)
from spexplain.records import Side

SHARED = 200 * 1024  # bytes of shared memory that a block may take
_USUAL_SHARED = 32 * 1024  # what every kernel gets beside its own
EDGES = 256  # room for the edges between the bins of a feature
_C_NAMES = {1: "unsigned char", 4: "unsigned int", 8: "unsigned long long"}
_N_ROOM = 1 << 14  # rows of a job that a block sorts in shared memory
_PARTS = ("common.cuh", "coding.cu", "labels.cu", "edges.cu", "picks.cu", "search.cu", "walk.cu")
_SCORING = ("common.cuh", "picks.cu", "scores.cu")


class _Types(NamedTuple):
    """Names in C of the number types of table, counters, weights and fields."""

    real: str
    counter: str
    weight: str
    field: str


@lru_cache(maxsize=64)
def _module(types: _Types, formula: str | None = None) -> Any:
    """Return all kernels for some types; with a formula, those that score by it."""
    import cupy

    folder = files("spexplain.kernels.cuda")
    parts = [
        folder.joinpath(name).read_text() for name in (_PARTS if formula is None else _SCORING)
    ]
    if formula is not None:
        parts.insert(0, f"#define FORMULA {formula}")
    names = zip(("REAL", "SUM", "WEIGHT", "FIELD"), types, strict=True)
    options = ("-std=c++17", "--fmad=false", *(f"-D{name}={type_}" for name, type_ in names))
    return cupy.RawModule(code="\n".join(parts), options=options)


@lru_cache(maxsize=16)
def _n_processors(device: int) -> int:
    import cupy

    return int(cupy.cuda.Device(device).attributes["MultiProcessorCount"])


class MetTests(NamedTuple):
    """What the rows of a table do to a tree."""

    ends: Floats  # shape (4, n_nodes): see `NodeValues`
    n_missing: Ints  # shape (n_nodes,)
    leaves: Any  # of every row, on the device


class EdgeTypes(NamedTuple):
    """The least number types that hold what is added up over edges."""

    sums: Any
    weights: Any


class CudaKernels:
    """Kernels for tables of one number type, and edges of the given types if there are some.

    Tests put a twin in NumPy in its place.
    """

    n_picks = 256  # blocks that look for the best cut of a node

    def __init__(self, dtype: Any, edges: EdgeTypes | None = None) -> None:
        import cupy

        self.xp = cupy
        self.edges = EdgeTypes(np.uint32, np.uint8) if edges is None else edges
        real = "float" if np.dtype(dtype) == np.float32 else "double"
        sums, weights = (_C_NAMES[np.dtype(each).itemsize] for each in self.edges)
        self._types = _Types(real, sums, weights, "long long" if edges is None else sums)
        self._functions: dict[str, Any] = {}
        self._scoring: dict[tuple[str, str], Any] = {}  # by the text of their formula
        self._rooms: dict[str, int] = {}  # shared memory that kernels may take
        self.n_processors = _n_processors(cupy.cuda.Device().id)

    def run(
        self, name: str, grid: tuple[int, ...], block: int, args: tuple[Any, ...], shared: int = 0
    ) -> None:
        """Launch a kernel; more than the usual shared memory must be asked for."""
        function = self._functions.get(name)
        if function is None:
            function = self._functions[name] = _module(self._types).get_function(name)
        if shared > self._rooms.get(name, _USUAL_SHARED):
            function.max_dynamic_shared_size_bytes = self._rooms[name] = shared
        function(grid, (block,), args, shared_mem=shared)

    def fetch(self, array: Any) -> Any:
        """Return a small array on the host; waits for the device."""
        return array.get()

    # Bins of a table, and what is done with its rows beside the search.

    def choose_edges(self, table: Any, sample: Any, n_bins: int) -> BinEdges:
        """Return the bins of all features, from a sample of the rows."""
        xp, d = self.xp, table.shape[1]
        bins = BinEdges(
            xp.empty((d, EDGES), dtype=table.dtype),
            xp.empty(d, dtype=np.uint8),
            xp.empty((d, 2)),
            xp.empty((d, CELLS), dtype=np.uint8),
        )
        n_padded = 1 << max(1, (len(sample) - 1).bit_length())
        args = (*steps_of(table), sample, len(sample), n_padded, n_bins, *bins)
        self.run("choose_edges", (d,), 512, args, shared=n_padded * table.dtype.itemsize)
        return bins

    def code_table(self, table: Any, bins: BinEdges, codes: Any) -> None:
        """Write the codes of all samples, shape (d / 16, n_vertices, 16)."""
        (n, d), n_vertices = table.shape, codes.shape[1]
        rows = 8192
        args = (*steps_of(table), bins.edges, bins.grid, bins.cells, n, n_vertices, d, rows, codes)
        shared = LANES * (16 + (EDGES + 1) * table.dtype.itemsize + CELLS)
        self.run("code_table", (-(-n // rows), codes.shape[0]), 512, args, shared=shared)

    def spread_bins(self, table: Any, codes: Any, is_discrete: Any) -> Any:
        """Return which bins hold a single value, shape (d, 256)."""
        xp, (n, d) = self.xp, table.shape
        low = xp.full((d, EDGES), 2**64 - 1, dtype=np.uint64)
        high = xp.zeros((d, EDGES), dtype=np.uint64)
        args = (*steps_of(table), codes, n, codes.shape[1], is_discrete, low, high)
        self.run("spread_bins", (d, max(1, min(64, n // 4096))), 256, args)
        return (low == high).view(np.uint8)

    def route_rows(self, table: Any, tree: Any, leaf_id: Any) -> Any:
        """Return the leaf id of every row of a table, down a tree without sets of categories."""
        xp, n = self.xp, len(table)
        out = xp.empty(n, dtype=np.int64)
        args = (*steps_of(table), n, *map(xp.asarray, tests_of(tree)), xp.asarray(leaf_id), out)
        self.run("route_rows", (-(-n // 256),), 256, args)
        return out

    def meet_tests(self, table: Any, tree: Any, leaf_id: Any) -> MetTests:
        """Return the same, and the values around the tests of the tree."""
        xp, n, n_nodes = self.xp, len(table), len(leaf_id)
        ends = xp.zeros((4, n_nodes), dtype=np.uint64)
        ends[1::2] = 2**64 - 1
        n_missing, out = xp.zeros(n_nodes, dtype=np.uint64), xp.empty(n, dtype=np.int64)
        shared = 5 * 8 * n_nodes
        in_shared = shared <= _USUAL_SHARED
        head = (*steps_of(table), n, *map(xp.asarray, tests_of(tree)), xp.asarray(leaf_id))
        args = (*head, n_nodes, int(in_shared), ends, n_missing, out)
        n_blocks = max(1, min(4 * self.n_processors, -(-n // 256)))
        self.run("meet_tests", (n_blocks,), 256, args, shared=shared if in_shared else 0)
        return MetTests(numbers_of(ends.get()), n_missing.get().astype(np.int64), out)

    def sum_bits(self, table: Any) -> int:
        """Return a number that changes with nearly every change of a table."""
        total = self.xp.zeros(1, dtype=np.uint64)
        grid = (8 * self.n_processors,)
        self.run("sum_bits", grid, 256, (*steps_of(table), *table.shape, total))
        return int(total.get()[0])

    def sum_groups(self, table: Any, origin: Any, rows: Any, starts: Any) -> tuple[Any, Any]:
        """Return the sums of rows less an origin, and of their squared lengths, group by group."""
        (n, d), n_groups, n_chunks = table.shape, len(starts) - 1, -(-table.shape[1] // 32)
        # Large groups are shared between blocks; sums of parts are added in one order.
        n_parts = max(1, min(16, n // (256 * max(n_groups, 1))))
        sums = self.xp.empty((n_parts, n_groups, d))
        squares = self.xp.empty((n_parts * n_chunks, n_groups))
        args = (*steps_of(table), d, origin, rows, starts, sums, squares)
        self.run("sum_groups", (n_groups, n_chunks, n_parts), 256, args)
        return sums.sum(axis=0), squares.sum(axis=0)

    def deviations(self, table: Any, columns: Ints) -> Floats:
        """Return the standard deviations of some columns without missing values."""
        xp, n = self.xp, len(table)
        chosen = xp.asarray(columns)
        n_parts = max(1, min(2 * self.n_processors, -(-n // 2048)))
        out = xp.empty((n_parts, len(columns), 2))

        def sums(origin: Floats) -> Floats:
            args = (*steps_of(table), n, chosen, xp.asarray(origin), out)
            self.run("sum_columns", (n_parts, len(columns)), 256, args)
            return np.asarray(out.get().sum(axis=0).T / n)

        first = table[0, chosen].get().astype(np.float64)
        gaps, squares = sums(first)
        means = first + gaps
        left, around = sums(means)
        return np.where(squares > 0, np.sqrt(np.maximum(around - left**2, 0)), 0.0)

    # Sums at the borders of all bins.

    def count_labels(
        self, block: FeatureBlock, rows: Any, labels: Any, amounts: Any, histograms: Any
    ) -> None:
        """Add rows to histograms of shape (d, n_labels, n_borders), at the border after their bin.

        Where rows have amounts, these are added up, and the last label counts all rows.
        """
        d, n_labels, n_borders = histograms.shape
        of_rows = (labels, 0 if amounts is None else amounts)
        head = (block.codes, block.codes.shape[1], rows, len(rows), *of_rows, n_labels, n_borders)
        one = n_labels * (n_borders | 1) * 4
        if one > SHARED:
            grid = (d, max(1, min(64, len(rows) // 2048)))
            self.run("count_many_labels", grid, 256, (*head, histograms))
            return
        together = LANES
        while together * one > SHARED:
            together //= 2
        n_groups = -(-d // together)
        n_parts = max(1, min(self.n_processors // n_groups, -(-len(rows) // 2048)))
        args = (*head, d, together, histograms)
        self.run("count_labels", (n_groups, n_parts), 1024, args, shared=together * one)

    def scan_labels(
        self,
        histograms: list[Any],
        subtract: bool,
        clusters: Any,
        rates: Any,
        *,
        has_amounts: bool,
        with_moves: bool,
        counters: Any,
    ) -> tuple[list[Any], Any, Any]:
        """Scan histograms in place; return fields, caps and moves, see ``labels.cu``."""
        xp, n = self.xp, len(histograms)
        d, n_labels, n_borders = histograms[0].shape
        fields = xp.empty((6, n, d, n_borders), dtype=np.int64)
        caps = xp.empty((2, n, d, n_borders))
        moves = xp.empty((4, n, d, n_borders), dtype=np.int64) if with_moves else None
        args = (
            histograms[0],
            histograms[-1],
            n,
            int(subtract),
            int(has_amounts),
            n_labels,
            n_borders,
            clusters,
            rates,
        )
        more = (fields, caps, 0 if moves is None else moves, counters[4:])
        self.run("scan_labels", (d,), 256, (*args, *more))
        return list(fields.swapaxes(0, 1)), caps, moves

    def scan_stars(
        self, histograms: list[Any], subtract: bool, center_codes: Any, centers: Any
    ) -> list[Any]:
        """Scan histograms in place; return the fields of stars."""
        n, (d, n_labels, n_borders) = len(histograms), histograms[0].shape
        fields = self.xp.empty((6, n, d, n_borders), dtype=np.int64)
        args = (histograms[0], histograms[-1], n, int(subtract), n_labels, n_borders)
        more = (center_codes, center_codes.strides[0], centers, fields)
        self.run("scan_stars", (d,), 256, (*args, *more))
        return list(fields.swapaxes(0, 1))

    def count_edges(
        self,
        block: FeatureBlock,
        rows: Any,
        csr: NeighborLists,
        part_of: Any,
        parts: tuple[int, int],
        histograms: Any,
        crossing: Any,
    ) -> None:
        """Add rows to histograms of shape (d, 4, n_borders); their edges to the sibling to `crossing`."""
        d, _, n_borders = histograms.shape
        head = (block.codes, block.codes.shape[1], rows, len(rows), *csr, part_of, *parts)
        taken = self.xp.zeros(block.codes.shape[0], dtype=np.int32)
        args = (*head, n_borders, d, taken, histograms, crossing)
        n_groups = block.codes.shape[0]
        n_parts = max(1, min(2 * self.n_processors // n_groups, -(-len(rows) // 512)))
        shared = LANES * 6 * (n_borders | 1) * np.dtype(self.edges.sums).itemsize
        self.run("count_edges", (n_groups, n_parts), 512, args, shared=shared)

    def scan_edges(self, histograms: list[Any], crossing: Any, subtract: bool) -> None:
        """Make fields of histograms, in place."""
        n, (d, _, n_borders) = len(histograms), histograms[0].shape
        args = (histograms[0], histograms[-1], crossing, n, int(subtract), n_borders)
        self.run("scan_edges", (d,), 256, args)

    def list_neighbors(
        self, heads: Any, tails: Any, weights: Any, n_vertices: int
    ) -> NeighborLists:
        """Return the neighbours of every vertex."""
        xp, n_edges, grid = self.xp, len(heads), (-(-len(heads) // 256),)
        counts = xp.zeros(n_vertices + 1, dtype=np.int64)
        if n_edges:
            self.run("count_neighbors", grid, 256, (heads, tails, n_edges, counts[1:]))
        csr = NeighborLists(
            xp.cumsum(counts),
            xp.empty(2 * n_edges, dtype=np.int32),
            xp.empty(2 * n_edges, dtype=self.edges.weights),
            xp.zeros(n_vertices, dtype=np.int64),
        )
        if n_edges:
            args = (heads, tails, weights, n_edges, csr.indptr[:-1].copy(), *csr[1:])
            self.run("list_neighbors", grid, 256, args)
        return csr

    # Bins that are looked at closely: chosen, gathered, sorted.

    def make_sides(
        self, borders: BorderSums, trend: Side, features: tuple[int, int], totals: Any
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

    def score_borders(
        self,
        borders: BorderSums,
        formula: str,
        trend: Side,
        min_samples: int,
        counters: Any,
    ) -> ScoredBorders:
        """Score the cuts at all borders and bound those in between, by a formula given as text in C.

        Also clear the counters.
        """
        fields, caps, moves, _ = borders
        n, (_, d, n_borders) = len(fields), fields[0].shape
        scored = ScoredBorders(
            self.xp.empty((n, self.n_picks, 3), dtype=np.int64), self.xp.empty((n, d, n_borders))
        )
        more = (0 if each is None else each for each in (caps, moves))
        args = (*fields_of(fields), *more, d, n_borders, *map(int, trend), min_samples)
        self._score("score_borders", formula, (self.n_picks, n), (*args, *scored, counters))
        return scored

    def _score(self, name: str, formula: str, grid: tuple[int, ...], args: tuple[Any, ...]) -> None:
        """Launch a kernel that scores by a formula."""
        function = self._scoring.get((name, formula))
        if function is None:
            function = _module(self._types, formula).get_function(name)
            self._scoring[name, formula] = function
        function(grid, (256,), args)

    def pick_borders(
        self,
        scores: Any,
        fields: list[Any],
        features: tuple[int, int],
        min_samples: int,
        scored: ScoredBorders,
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
        scored: ScoredBorders | None,
        fields: list[Any],
        solid: Any,
        prior: Any,
        features: tuple[int, int],
        min_samples: int,
        a_portion: int,
        counters: Any,
    ) -> BinJobs:
        """List the bins whose bound, if there are bounds, does not rule them out; else whole features."""
        xp, n, (_, d, n_borders) = self.xp, len(fields), fields[0].shape
        everything = scored is None
        n_most = n * (features[1] - features[0]) * (1 if everything else n_borders - 1)
        jobs = BinJobs(
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
        self,
        block: FeatureBlock,
        rows: list[Any],
        jobs: BinJobs,
        portion: int,
        n_places: int,
    ) -> JobRows:
        """Return the rows of a portion's jobs, job by job, in any order within."""
        xp = self.xp
        members, job_of = (xp.empty(n_places, dtype=np.int32) for _ in range(2))
        if jobs.n_portions > 1:
            job_of.fill(-1)
        places = JobRows(xp.empty(n_places), members, job_of)
        codes = block.codes
        lists = (rows[0], len(rows[0]), rows[-1], len(rows[-1]))
        _, d, n_bins = jobs.at.shape
        args = (*values_of(block), codes, codes.shape[1], *lists, d, n_bins, int(jobs.everything))
        n_parts = max(
            1, min(8 * self.n_processors // codes.shape[0] + 1, -(-len(rows[-1]) // 1024))
        )
        grid = (codes.shape[0], n_parts, len(rows))
        self.run("gather_jobs", grid, 512, (*args, jobs.at, jobs.entries, portion, *places))
        return places

    def sort_jobs(self, jobs: BinJobs, portion: int, longest: int, places: JobRows) -> None:
        """Sort the rows of a portion's jobs by value, in place."""
        if longest > _N_ROOM:
            self._sort_everything(jobs, places)
            return
        room = 1 << (longest - 1).bit_length()
        a_thread = max(4, room // 1024)
        threads = max(32, room // a_thread)
        args = (jobs.entries, portion, places.values, places.members)
        shared = 12 * a_thread * threads
        self.run(f"sort_jobs_of_{a_thread}", (len(jobs.entries),), threads, args, shared=shared)

    def _sort_everything(self, jobs: BinJobs, places: JobRows) -> None:
        """Sort the rows of all jobs at once: by value, then, stably, by where their jobs start."""
        xp, n = self.xp, len(places.values)
        order = xp.argsort(places.values)
        starts = jobs.entries[xp.maximum(places.job_of, 0), 3]
        # Places that no job of this portion takes stay where they are.
        starts = xp.where(places.job_of < 0, xp.arange(n, dtype=np.int32), starts)
        order = order[xp.argsort(starts[order])]
        places.values[:] = places.values[order]
        places.members[:] = places.members[order]

    # Sums between neighbouring values of the sorted bins.

    def walk_labels(
        self,
        jobs: BinJobs,
        portion: int,
        fields: list[Any],
        min_samples: int,
        places: JobRows,
        histograms: list[Any],
        labels: Any,
        amounts: Any,
        clusters: Any,
    ) -> tuple[Any, Any]:
        """Return the sums at all gaps, shape (10, n_places), and which gaps are valid."""
        n_labels = histograms[0].shape[1]
        of_rows = (labels, 0 if amounts is None else amounts)
        own = (histograms[0], histograms[-1], *of_rows, n_labels, clusters)
        n_warps = 8 if n_labels <= 1024 else 1
        head = jobs, portion, fields, min_samples, places
        return self._walk("walk_labels", *head, own, n_warps * n_labels, n_warps)

    def walk_stars(
        self,
        jobs: BinJobs,
        portion: int,
        fields: list[Any],
        min_samples: int,
        places: JobRows,
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
        jobs: BinJobs,
        portion: int,
        fields: list[Any],
        min_samples: int,
        places: JobRows,
        block: FeatureBlock,
        csr: NeighborLists,
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
        jobs: BinJobs,
        portion: int,
        fields: list[Any],
        min_samples: int,
        places: JobRows,
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

    # The best cut, and the parts of a node.

    def pick_gaps(
        self,
        scores: Any,
        valid: Any,
        places: JobRows,
        jobs: BinJobs,
        fields: list[Any],
        *,
        first_wins: bool,
    ) -> Any:
        """Return the best gaps of every node, as parts to be compared further."""
        parts, args = self._gap_parts(valid, places, jobs, fields, first_wins=first_wins)
        self.run("pick_gaps", parts.shape[1::-1], 256, (scores, *args, parts))
        return parts

    def score_gaps(
        self,
        formula: str,
        gaps: Any,
        valid: Any,
        places: JobRows,
        jobs: BinJobs,
        fields: list[Any],
        *,
        first_wins: bool,
    ) -> tuple[Any, Any]:
        """Return the scores of all valid gaps by a formula given as text in C, and the best gaps of every node."""
        parts, args = self._gap_parts(valid, places, jobs, fields, first_wins=first_wins)
        scores = self.xp.empty(len(valid))
        self._score("score_gaps", formula, parts.shape[1::-1], (gaps, *args, parts, scores))
        return scores, parts

    def _gap_parts(
        self, valid: Any, places: JobRows, jobs: BinJobs, fields: list[Any], *, first_wins: bool
    ) -> tuple[Any, tuple[Any, ...]]:
        """Return room for the best gaps, a part for every block, and what the blocks read."""
        n, n_borders, n_places = len(fields), fields[0].shape[2], len(valid)
        n_parts = max(1, min(2 * self.n_processors, -(-n_places // 256)))
        args = (valid, places.job_of, jobs.entries, n_places, n_borders, int(first_wins))
        return self.xp.empty((n, n_parts, 3), dtype=np.int64), args

    def improve(
        self,
        records: Any,
        fields: list[Any],
        border_parts: Any,
        found: tuple[Any, Any, Any, BinJobs, JobRows] | None,
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

    def find_around(self, block: FeatureBlock, rows: list[Any], records: Any) -> None:
        """Write the values around those cuts that are at borders."""
        lists = (rows[0], len(rows[0]), rows[-1], len(rows[-1]))
        args = (*values_of(block), block.codes, block.codes.shape[1], *lists, records)
        n_parts = max(1, min(2 * self.n_processors, -(-len(rows[-1]) // 1024)))
        self.run("find_around", (n_parts, len(rows)), 256, args)

    def split_rows(
        self,
        block: FeatureBlock,
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


def steps_of(table: Any) -> tuple[Any, int, int]:
    """Return a table and its steps in numbers."""
    size = table.dtype.itemsize
    return table, table.strides[0] // size, table.strides[1] // size


def tests_of(tree: Any) -> tuple[Array, ...]:
    """Return the arrays of a tree that rows are routed by."""
    tests = (tree.feature, tree.threshold, tree.lower, tree.missing)
    return *tests, tree.left, tree.right


def numbers_of(keys: Array) -> Floats:
    """Return the numbers that ordered integers stand for, see ``value_of``; NaN for 0 and the largest."""
    is_none = (keys == 0) | (keys == 2**64 - 1)
    high = np.uint64(2**63)
    bits = np.where(keys >= high, keys ^ high, ~keys)
    return np.where(is_none, np.nan, bits.view(np.float64))


def fields_of(fields: list[Any]) -> tuple[Any, ...]:
    """Return the fields of one or two nodes, their steps in numbers, and how many are stored."""
    size = fields[0].itemsize
    steps = (step // size for step in fields[0].strides[:2])
    return fields[0], fields[-1], *steps, len(fields[0])


def values_of(block: FeatureBlock) -> tuple[Any, ...]:
    """Return where the values of samples and extra vertices lie."""
    extra = (0, 0) if block.extra is None else (block.extra, block.extra.strides[0] // 8)
    return *steps_of(block.table), *extra, len(block.table)
