"""Sums over listed edges for the histogram engine."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from spexplain.engines.histogram.bounds import both_sides
from spexplain.engines.histogram.counts import Coded, Gaps, Segments
from spexplain.engines.threads import Threads
from spexplain.graphs import EdgeGraph
from spexplain.kernels.edges import keep_neighbors, list_neighbors, scan_edges, sweep_edges
from spexplain.records import Side
from spexplain.typing import Array, Bools, Floats, Ints


class _Joined(NamedTuple):
    """The neighbours, inside a node, of its rows."""

    indptr: Ints
    neighbors: Array
    weights: Array


class EdgeCounts:
    """Listed edges, as the neighbours of every vertex inside its node."""

    n_fields = 6
    row_major = True
    cost = 4
    has_sides = True
    has_caps = False
    most_bins = 255
    rows_per_bin = 2

    def __init__(self, graph: EdgeGraph) -> None:
        self.graph = graph
        self.degrees = graph.degrees
        n_vertices = len(self.degrees)
        self.is_sample = (np.arange(n_vertices) < graph.n_samples).astype(np.int64)
        # Bytes for small weights: many at a time.
        is_small = int(graph.weights.max(initial=0)) < 128
        self.dtype = np.dtype(np.uint8 if is_small else np.int64)
        self.most = 127 if is_small else 2**62
        self._of_node: tuple[Array, Ints, Array] | None = None

    def root(self, rows: Array) -> _Joined:
        heads, tails, edge_weights = self.graph.heads, self.graph.tails, self.graph.weights
        indptr = np.empty(len(rows) + 1, dtype=np.int64)
        neighbors = np.empty(2 * len(heads), dtype=np.int32)
        weights = np.empty(2 * len(heads), dtype=self.dtype)
        list_neighbors(heads, tails, edge_weights, indptr, neighbors, weights)
        return _Joined(indptr, neighbors, weights)

    def split(self, state: _Joined, rows: Array, is_left: Bools) -> tuple[_Joined, _Joined]:
        part_of = np.full(len(self.degrees), -1, dtype=np.int8)
        part_of[rows] = is_left
        return (
            self._part(state, rows, part_of, 1, is_left),
            self._part(state, rows, part_of, 0, ~is_left),
        )

    def _part(
        self, state: _Joined, rows: Array, part_of: Array, part: int, is_inside: Bools
    ) -> _Joined:
        indptr = np.empty(np.count_nonzero(is_inside) + 1, dtype=np.int64)
        # Room for the neighbours in the other part too: they are few.
        room = int(np.sum(np.diff(state.indptr), where=is_inside))
        neighbors, weights = np.empty(room, dtype=np.int32), np.empty(room, dtype=self.dtype)
        keep_neighbors(rows, *state, part_of, part, indptr, neighbors, weights)
        return _Joined(indptr, neighbors[: indptr[-1]], weights[: indptr[-1]])

    def node(self, state: _Joined, rows: Array) -> Side:
        inner = np.sum(state.weights, dtype=np.int64)
        volume, size, _ = np.sum(self._vertices(rows)[0][:, rows], axis=1)
        return Side(inner, volume, size)

    def nothing(self, node: Side) -> Ints:
        return np.array([0, node.inner, 0, 0, 0, 0])

    def sides(self, state: _Joined, node: Side, fields: Ints) -> tuple[Side, Side]:
        return both_sides(fields, node)

    def is_pure(self, state: _Joined) -> bool:
        return False

    def n_cells(self, state: _Joined) -> int:
        return 1

    def prepare(self, nodes: Sequence[tuple[_Joined, Array, Coded]], threads: Threads) -> None:
        return

    def _vertices(self, rows: Array) -> tuple[Ints, Array]:
        """Return what every vertex adds to the sums in this node, and its place in the rows."""
        known = self._of_node
        if known is None or known[0] is not rows:
            sums = np.stack([self.degrees, self.graph.sizes_in(rows), self.is_sample])
            number_of = np.zeros(len(self.degrees), dtype=np.int32)
            number_of[rows] = np.arange(len(rows), dtype=np.int32)
            known = self._of_node = rows, sums, number_of
        return known[1:]

    def open(self, state: _Joined, rows: Array, table: Coded, threads: Threads) -> None:
        return

    def zooms(self, state: _Joined) -> bool:
        return False

    def borders(
        self,
        state: _Joined,
        rows: Array,
        table: Coded,
        segments: Segments,
        fields: Ints,
        caps: Floats,
    ) -> None:
        sums, _ = self._vertices(rows)
        first, last = int(segments.features[0]), int(segments.features[-1]) + 1
        scan_edges(table.codes.T, table.shift, first, last, rows, *state, self.most, sums, fields)

    def corners(self, state: _Joined, counted: None, wanted: Bools, n_top: int) -> None:
        return

    def gaps(
        self,
        state: _Joined,
        rows: Array,
        table: Coded,
        features: Ints,
        wanted: Bools,
        start: Ints,
        gaps: Gaps,
    ) -> int:
        sums, number_of = self._vertices(rows)
        n_chosen = np.full(len(features), len(rows))
        if not wanted.all():
            n_chosen = np.sum(np.diff(start[:, -2], axis=1), axis=1, where=wanted)
        return sweep_edges(
            table.columns,
            table.extra,
            table.codes.T,
            table.shift,
            features,
            wanted,
            rows,
            number_of,
            *state,
            sums,
            np.append(0, np.cumsum(n_chosen)),
            start,
            *gaps,
        )
