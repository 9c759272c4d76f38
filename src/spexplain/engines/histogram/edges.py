"""Sums over listed edges for the histogram engine."""

from typing import NamedTuple

import numpy as np

from spexplain.aliases import Array, Bools, Floats, Ints
from spexplain.engines.histogram.counts import Gaps, Place, Segments, SideCounts, Wanted
from spexplain.graphs import EdgeGraph
from spexplain.kernels.edges import scan_edges, sweep_edges
from spexplain.kernels.neighbors import keep_neighbors, list_neighbors
from spexplain.records import Side


class _Joined(NamedTuple):
    """The neighbours, inside a node, of its rows."""

    indptr: Ints
    neighbors: Array
    weights: Array


class EdgeCounts(SideCounts):
    """Listed edges, as the neighbours of every vertex inside its node."""

    row_major = True
    cost = 4
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

    def _vertices(self, rows: Array) -> tuple[Ints, Array]:
        """Return what every vertex adds to the sums in this node, and its place in the rows."""
        known = self._of_node
        if known is None or known[0] is not rows:
            sums = np.stack([self.degrees, self.graph.sizes_in(rows), self.is_sample])
            number_of = np.zeros(len(self.degrees), dtype=np.int32)
            number_of[rows] = np.arange(len(rows), dtype=np.int32)
            known = self._of_node = rows, sums, number_of
        return known[1:]

    def borders(self, place: Place, segments: Segments, fields: Ints, caps: Floats) -> None:
        state, rows, table = place
        sums, _ = self._vertices(rows)
        first, last = int(segments.features[0]), int(segments.features[-1]) + 1
        joined: _Joined = state
        scan_edges(table.codes.T, table.shift, first, last, rows, *joined, self.most, sums, fields)

    def gaps(self, place: Place, wanted: Wanted, gaps: Gaps) -> int:
        state, rows, table = place
        features, bins, start = wanted
        sums, number_of = self._vertices(rows)
        joined: _Joined = state
        n_chosen = np.full(len(features), len(rows))
        if not bins.all():
            n_chosen = np.sum(np.diff(start[:, -2], axis=1), axis=1, where=bins)
        return sweep_edges(
            table.columns,
            table.extra,
            table.codes.T,
            table.shift,
            features,
            bins,
            rows,
            number_of,
            *joined,
            sums,
            np.append(0, np.cumsum(n_chosen)),
            start,
            *gaps,
        )
