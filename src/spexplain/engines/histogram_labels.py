"""Sums over cliques for the histogram engine."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from spexplain.engines.histogram_bounds import both_sides
from spexplain.engines.histogram_counts import Coded, Gaps
from spexplain.engines.histogram_threads import Threads, blocks_of
from spexplain.graphs import CliqueGraph
from spexplain.kernels.labels import (
    corner_sums,
    fill_histograms,
    scan_histograms,
    scan_rows,
    sweep_labels,
)
from spexplain.records import Side
from spexplain.typing import Array, Bools, Floats, Ints

# Below this many rows per cell of a histogram, going through the rows is cheaper than through the
# cells.
_ROWS_PER_CELL = 0.5
# Only nodes with more rows per cell keep their histogram for their children: all that is kept stays
# below half of a float32 table.
_ROWS_PER_KEPT_CELL = 2.0


class _Kinds(NamedTuple):
    """The clusters that a node has samples of, numbered anew: small nodes have few of them."""

    number_of: Array  # of every label; isolated samples keep the last
    clusters: Ints  # shape (4, n_kinds): members, weight, degree and size
    rates: Floats


@dataclass
class _Labelled:
    """Samples of each cluster in a node and, in large nodes, the histograms of all features."""

    totals: Ints
    kinds: "_Kinds"
    histograms: Array | None = None
    parent: "_Labelled | None" = None  # until the first search below it


class LabelCounts:
    """Cliques: counting labels replaces walking edges."""

    n_fields = 6
    row_major = False
    has_caps = True
    takes_shift = True

    def __init__(self, graph: CliqueGraph, trend: Side | None) -> None:
        n_clusters = graph.n_clusters
        # Isolated samples become one more cluster whose edges weigh nothing.
        labels = np.where(graph.labels < 0, n_clusters, graph.labels)
        self.labels = labels.astype(np.uint16 if n_clusters < 2**16 else np.uint32)
        degrees = graph.weights * (graph.cluster_sizes - 1)
        counted = np.ones(n_clusters, dtype=np.int64)
        self.clusters = np.column_stack(
            [np.stack([graph.weights, degrees, counted]), np.zeros(3, dtype=np.int64)]
        )
        if trend is not None and trend.volume > 0:
            rates = 1 / np.maximum(graph.cluster_sizes - 1, 1)
        else:
            rates = graph.weights.astype(np.float64)
        self.is_concave = (
            trend is not None and trend.inner < 0 and max(trend.volume, trend.size) > 0
        )
        # Enlarged by more than rounding can take away.
        self.rates = np.append(rates, 0.0) * (1 + 1e-12)

    def root(self, rows: Array) -> _Labelled:
        return self._state(self._count(rows))

    def _state(self, totals: Ints, parent: _Labelled | None = None) -> _Labelled:
        is_here = totals > 0
        is_here[-1] = True
        number_of = (np.cumsum(is_here) - 1).astype(self.labels.dtype)
        clusters = np.concatenate([totals[None], self.clusters])[:, is_here]
        return _Labelled(totals, _Kinds(number_of, clusters, self.rates[is_here]), parent=parent)

    def _count(self, rows: Array) -> Ints:
        n_labels = self.clusters.shape[1]
        return np.bincount(self.labels[rows], minlength=n_labels).astype(np.int64)

    def split(self, state: _Labelled, rows: Array, is_left: Bools) -> tuple[_Labelled, _Labelled]:
        left = self._count(rows[is_left])
        return self._state(left, state), self._state(state.totals - left, state)

    def node(self, state: _Labelled, rows: Array) -> Side:
        totals, (weights, degrees, counted) = state.totals, self.clusters
        inner = np.sum(weights * totals * (totals - 1))
        return Side(inner, np.sum(degrees * totals), np.sum(counted * totals))

    def nothing(self, node: Side) -> Ints:
        return np.array([0, node.inner, 0, 0, 0, 0])

    def sides(self, state: _Labelled, node: Side, fields: Ints) -> tuple[Side, Side]:
        return both_sides(fields, node)

    def is_pure(self, state: _Labelled) -> bool:
        return bool(np.count_nonzero(state.totals[:-1]) <= 1)

    def prepare(
        self, nodes: Sequence[tuple[_Labelled, Array]], table: Coded, threads: Threads
    ) -> None:
        shape = len(table.columns), table.n_bins, self.clusters.shape[1]
        by_size = sorted(nodes, key=lambda node: len(node[1]))
        for state, rows in by_size:
            parent, state.parent = state.parent, None
            if state.histograms is None and len(rows) > _ROWS_PER_KEPT_CELL * shape[1] * shape[2]:
                smaller = by_size[0][0]
                if (
                    parent is not None
                    and parent.histograms is not None
                    and len(nodes) == 2
                    and state is not smaller
                    and np.array_equal(parent.totals, state.totals + smaller.totals)
                ):
                    state.histograms, parent.histograms = parent.histograms, None
                    self._subtract(state.histograms, smaller, by_size[0][1], table, threads)
                else:
                    state.histograms = np.zeros(shape, dtype=np.int32)
                    self._fill(state.histograms, rows, table, threads)

    def _fill(self, histograms: Array, rows: Array, table: Coded, threads: Threads) -> None:
        labels = self.labels[rows]

        def fill(block: slice) -> None:
            fill_histograms(table.codes, block.start, block.stop, rows, labels, histograms[block])

        threads.map(fill, blocks_of(len(histograms), 16))

    def _subtract(
        self, histograms: Array, state: _Labelled, rows: Array, table: Coded, threads: Threads
    ) -> None:
        """Take the histograms of a part away from those of the whole."""
        labels = self.labels[rows]

        def subtract(block: slice) -> None:
            if state.histograms is not None:
                histograms[block] -= state.histograms[block]
                return
            part = np.zeros(histograms[block].shape, dtype=np.int32)
            fill_histograms(table.codes, block.start, block.stop, rows, labels, part)
            histograms[block] -= part

        threads.map(subtract, blocks_of(len(histograms), 16))

    def borders(
        self, state: _Labelled, rows: Array, table: Coded, block: slice, fields: Ints, caps: Floats
    ) -> None:
        clusters = np.concatenate([state.totals[None], self.clusters])
        n_cells = table.n_bins * clusters.shape[1]
        if table.shift == 0 and state.histograms is not None:
            scan_histograms(state.histograms[block], clusters, self.rates, fields, caps)
        elif table.shift == 0 and len(rows) >= _ROWS_PER_CELL * n_cells:
            shape = block.stop - block.start, table.n_bins, clusters.shape[1]
            histograms = np.zeros(shape, dtype=np.int32)
            fill_histograms(
                table.codes, block.start, block.stop, rows, self.labels[rows], histograms
            )
            scan_histograms(histograms, clusters, self.rates, fields, caps)
        else:
            number_of, kinds, rates = state.kinds
            scan_rows(
                table.codes,
                table.shift,
                block.start,
                block.stop,
                rows,
                number_of[self.labels[rows]],
                kinds,
                rates,
                fields,
                caps,
            )

    def corners(
        self,
        state: _Labelled,
        rows: Array,
        table: Coded,
        features: Ints,
        wanted: Bools,
        n_top: int,
    ) -> Ints | None:
        number_of, kinds, _ = state.kinds
        if not self.is_concave or kinds.shape[1] == 1:
            return None
        n_wanted = np.count_nonzero(wanted)
        sums = np.empty((n_wanted, 2, 4, 1 << n_top), dtype=np.int64)
        labels = number_of[self.labels[rows]]
        corner_sums(table.codes, table.shift, features, wanted, rows, labels, kinds, n_top, sums)
        return sums

    def gaps(
        self,
        state: _Labelled,
        rows: Array,
        table: Coded,
        features: Ints,
        wanted: Bools,
        start: Ints,
        gaps: Gaps,
    ) -> int:
        number_of, kinds, _ = state.kinds
        return sweep_labels(
            table.columns,
            table.extra,
            table.codes,
            table.shift,
            features,
            wanted,
            rows,
            self.labels,
            number_of,
            kinds,
            *gaps,
        )
