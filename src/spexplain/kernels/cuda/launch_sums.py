"""Launches that make bins of a table, and sums at the borders of these."""

from typing import Any

import numpy as np

from spexplain.kernels.cuda.launch import EDGES, SHARED, Launcher, steps_of
from spexplain.kernels.cuda.records import CELLS, LANES, Bins, Block, Csr


class BinKernels(Launcher):
    """Bins of a table, and what is done with its rows beside the search."""

    def choose_edges(self, table: Any, sample: Any, n_bins: int) -> Bins:
        """Return the bins of all features, from a sample of the rows."""
        xp, d = self.xp, table.shape[1]
        bins = Bins(
            xp.empty((d, EDGES), dtype=table.dtype),
            xp.empty(d, dtype=np.uint8),
            xp.empty((d, 2)),
            xp.empty((d, CELLS), dtype=np.uint8),
        )
        n_padded = 1 << max(1, (len(sample) - 1).bit_length())
        args = (*steps_of(table), sample, len(sample), n_padded, n_bins, *bins)
        self.run("choose_edges", (d,), 512, args, shared=n_padded * table.dtype.itemsize)
        return bins

    def code_table(self, table: Any, bins: Bins, codes: Any) -> None:
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
        """Return the leaf id of every row of a table."""
        xp, n = self.xp, len(table)
        out = xp.empty(n, dtype=np.int64)
        arrays = (tree.feature, tree.threshold, tree.lower, tree.left, tree.right, leaf_id)
        args = (*steps_of(table), n, *map(xp.asarray, arrays), out)
        self.run("route_rows", (-(-n // 256),), 256, args)
        return out

    def sum_groups(self, table: Any, origin: Any, rows: Any, starts: Any) -> tuple[Any, Any]:
        """Return the sums of rows less an origin, and of their squared lengths, group by group."""
        n_groups, d = len(starts) - 1, table.shape[1]
        sums = self.xp.empty((n_groups, d))
        squares = self.xp.empty((-(-d // 32), n_groups))
        args = (*steps_of(table), d, origin, rows, starts, sums, squares)
        self.run("sum_groups", (n_groups, -(-d // 32)), 256, args)
        return sums, squares.sum(axis=0)


class BorderKernels(Launcher):
    """Sums at the borders of all bins."""

    def count_labels(self, block: Block, rows: Any, labels: Any, histograms: Any) -> None:
        """Add rows to histograms of shape (d, n_labels, n_borders), at the border after their bin."""
        d, n_labels, n_borders = histograms.shape
        head = (block.codes, block.codes.shape[1], rows, len(rows), labels, n_labels, n_borders)
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
        block: Block,
        rows: Any,
        csr: Csr,
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

    def list_neighbors(self, heads: Any, tails: Any, weights: Any, n_vertices: int) -> Csr:
        """Return the neighbours of every vertex."""
        xp, n_edges, grid = self.xp, len(heads), (-(-len(heads) // 256),)
        counts = xp.zeros(n_vertices + 1, dtype=np.int64)
        if n_edges:
            self.run("count_neighbors", grid, 256, (heads, tails, n_edges, counts[1:]))
        csr = Csr(
            xp.cumsum(counts),
            xp.empty(2 * n_edges, dtype=np.int32),
            xp.empty(2 * n_edges, dtype=self.edges.weights),
            xp.zeros(n_vertices, dtype=np.int64),
        )
        if n_edges:
            args = (heads, tails, weights, n_edges, csr.indptr[:-1].copy(), *csr[1:])
            self.run("list_neighbors", grid, 256, args)
        return csr
