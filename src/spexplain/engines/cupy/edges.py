"""Sums over listed edges on the device, from the neighbours of every vertex."""

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from spexplain.aliases import Ints
from spexplain.engines.cupy.memory import Kept
from spexplain.graphs import SparseGraph
from spexplain.graphs.device import device_edges, keep_lists, known_lists
from spexplain.kernels.cuda.launch import EdgeTypes
from spexplain.kernels.cuda.records import Block, Borders, Csr, Jobs, Node, Places
from spexplain.records import Side

_SUMS: WeakKeyDictionary[SparseGraph, tuple[int, int]] = WeakKeyDictionary()


class EdgeCounts:
    """Listed edges: each joins the left side with its later end and leaves the right with its earlier one."""

    needs_parts = True
    is_wide = True

    def __init__(self, kernels: Any, graph: SparseGraph, n_borders: int, kept: Kept) -> None:
        self.kernels, self.graph, self.n_borders = kernels, graph, n_borders
        self.csr: Csr = neighbor_lists(kernels, graph)
        self.kept = kept
        self.part_of = kernels.xp.zeros(graph.n_samples, dtype=np.int32)
        self.sums = np.dtype(kernels.edges.sums)

    def order(self) -> Any:
        """Rows of many neighbours first: warps whose rows have equally many do not wait."""
        indptr = self.csr.indptr
        return self.kernels.xp.argsort(indptr[:-1] - indptr[1:]).astype(np.int32)

    @property
    def work(self) -> int:
        """Bytes of arrays a feature: sums of two nodes and their crossing edges, bounds, jobs."""
        return self.n_borders * (10 * int(self.sums.itemsize) + 2 * (8 + 28))

    def root_side(self) -> Side:
        ends = np.int64(2 * edge_sums(self.graph)[0])
        return Side(ends, ends, np.int64(self.graph.n_samples))

    def borders(self, nodes: Sequence[Node], block: Block, counters: Any, *, keep: bool) -> Borders:
        xp, d, sums = self.kernels.xp, block.n_features, self.sums
        of_parent = self.kept.of_parent(nodes) if keep else None
        crossing = xp.zeros((d, 2, self.n_borders), dtype=sums)
        counted = []
        for node in nodes if of_parent is None else nodes[:1]:
            counted.append(xp.zeros((d, 4, self.n_borders), dtype=sums))
            parts = node.part, -1 if of_parent is None else nodes[1].part
            head = block, node.rows, self.csr, self.part_of, parts
            self.kernels.count_edges(*head, counted[-1], crossing)
        if of_parent is not None:
            counted.append(of_parent)
        if keep:
            self.kept.keep(nodes, counted)
        self.kernels.scan_edges(counted, crossing, of_parent is not None)
        return Borders([each.swapaxes(0, 1) for each in counted])

    def gaps(
        self,
        nodes: Sequence[Node],
        block: Block,
        borders: Borders,
        jobs: Jobs,
        portion: int,
        places: Places,
        min_samples: int,
    ) -> Any:
        parts = nodes[0].part, nodes[-1].part
        return self.kernels.walk_edges(
            jobs, portion, borders.fields, min_samples, places, block, self.csr, self.part_of, parts
        )

    def child_side(self, side: Side, centers: Ints | None) -> Side:
        return side

    def is_pure(self, n_kinds: int) -> bool:
        return False


def edge_types(graph: SparseGraph) -> EdgeTypes:
    """Return the least number types that hold the sums of edge weights, and these themselves."""
    total, most = edge_sums(graph)
    sums = np.uint64 if 4 * total >= 2**31 else np.uint32
    return EdgeTypes(sums, np.uint8 if most < 2**8 else sums)


def edge_sums(graph: SparseGraph) -> tuple[int, int]:
    """Return the sum of all weights and the largest of them, added up once a graph."""
    if graph not in _SUMS:
        _SUMS[graph] = int(np.sum(graph.weights)), int(np.max(graph.weights, initial=0))
    return _SUMS[graph]


def neighbor_lists(kernels: Any, graph: SparseGraph) -> Csr:
    """Return the neighbours of every vertex, on the device."""
    xp = kernels.xp
    known = known_lists(xp, graph)
    if known is not None:
        return Csr(*known)
    heads, tails, weights = device_edges(xp, graph)
    weights = weights.astype(kernels.edges.weights, copy=False)
    lists: Csr = kernels.list_neighbors(heads, tails, weights, graph.n_samples)
    keep_lists(graph, lists)
    return lists
