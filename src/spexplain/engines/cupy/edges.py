"""Sums over listed edges on the device, from the neighbours of every vertex."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from spexplain.engines.cupy.memory import Kept
from spexplain.engines.cupy.records import Block, Borders, Csr, Jobs, Node, Places
from spexplain.graphs import SparseGraph
from spexplain.graphs.device import device_edges
from spexplain.records import Side
from spexplain.typing import Ints


class EdgeCounts:
    """Listed edges: each joins the left side with its later end and leaves the right with its earlier one."""

    needs_parts = True
    is_wide = True

    def __init__(self, kernels: Any, graph: SparseGraph, n_borders: int, kept: Kept) -> None:
        self.kernels, self.graph, self.n_borders = kernels, graph, n_borders
        self.csr: Csr = neighbor_lists(kernels, graph)
        self.kept = kept
        self.part_of = kernels.xp.zeros(graph.n_samples, dtype=np.int32)

    def order(self) -> Any:
        """Rows of many neighbours first: warps whose rows have equally many do not wait."""
        indptr = self.csr.indptr
        return self.kernels.xp.argsort(indptr[:-1] - indptr[1:]).astype(np.int32)

    @property
    def work(self) -> int:
        """Bytes of arrays a feature."""
        return self.n_borders * 8 * (2 * 24 + 12)

    def root_side(self) -> Side:
        ends = 2 * np.sum(self.graph.weights)
        return Side(ends, ends, np.int64(self.graph.n_samples))

    def borders(self, nodes: Sequence[Node], block: Block, counters: Any, *, keep: bool) -> Borders:
        xp, d = self.kernels.xp, block.n_features
        of_parent = self.kept.of_parent(nodes) if keep else None
        crossing = xp.zeros((d, 2, self.n_borders), dtype=np.int64)
        counted = []
        for node in nodes if of_parent is None else nodes[:1]:
            counted.append(xp.zeros((d, 4, self.n_borders), dtype=np.int64))
            parts = node.part, -1 if of_parent is None else nodes[1].part
            head = block, node.rows, self.csr, self.part_of, parts
            self.kernels.count_edges(*head, counted[-1], crossing)
        if of_parent is not None:
            counted.append(of_parent)
        if keep:
            self.kept.keep(nodes, counted)
        return Borders(self.kernels.scan_edges(counted, crossing, of_parent is not None))

    def gaps(
        self,
        nodes: Sequence[Node],
        block: Block,
        borders: Borders,
        jobs: Jobs,
        n_jobs: int,
        places: Places,
        min_samples: int,
    ) -> Any:
        parts = nodes[0].part, nodes[-1].part
        return self.kernels.walk_edges(
            jobs, n_jobs, borders.fields, min_samples, places, block, self.csr, self.part_of, parts
        )

    def child_side(self, side: Side, centers: Ints | None) -> Side:
        return side

    def is_pure(self, n_kinds: int) -> bool:
        return False


def needs_wide_sums(graph: SparseGraph) -> bool:
    """Whether sums of edge weights exceed 32 bits."""
    return bool(4 * int(np.sum(graph.weights)) >= 2**31)


def neighbor_lists(kernels: Any, graph: SparseGraph) -> Any:
    """Return the neighbours of every vertex, on the device."""
    xp, n = kernels.xp, graph.n_samples
    heads, tails, weights = device_edges(xp, graph)
    counts = xp.bincount(heads, minlength=n) + xp.bincount(tails, minlength=n)
    indptr = xp.zeros(n + 1, dtype=np.int64)
    xp.cumsum(counts, out=indptr[1:])
    return kernels.list_neighbors(heads, tails, weights, indptr)
