"""Sums over cliques for the histogram engine."""

from typing import NamedTuple

import numpy as np

from spexplain.aliases import Array, Bools, Floats, Ints
from spexplain.engines.histogram.counts import Gaps, Place, Segments, Wanted
from spexplain.engines.histogram.tally import Tallies, Tally
from spexplain.graphs import CliqueGraph
from spexplain.kernels.labels import corner_sums, scan_histograms, sweep_labels
from spexplain.records import Side

_MOST_EXACT = 2**53  # floats hold whole numbers exactly up to here


class _Counted(NamedTuple):
    """Labels in every bin of some segments, and left of each segment."""

    histograms: Array
    starts: Array
    borders: Ints  # the sums that follow


class LabelCounts(Tallies):
    """Cliques: counting labels replaces walking edges. State: a tally."""

    has_caps = True

    def __init__(self, graph: CliqueGraph, trend: Side | None) -> None:
        n_clusters = graph.n_clusters
        # Isolated samples become one more cluster whose edges weigh nothing.
        labels = np.where(graph.labels < 0, n_clusters, graph.labels)
        super().__init__(
            labels.astype(np.uint16 if n_clusters < 2**16 else np.uint32), n_clusters + 1
        )
        degrees = graph.weights * (graph.cluster_sizes - 1)
        counted = np.ones(n_clusters, dtype=np.int64)
        self.clusters = np.column_stack(
            [np.stack([graph.weights, degrees, counted]), np.zeros(3, dtype=np.int64)]
        )
        most = 2.0 * float(np.sum(degrees.astype(np.float64) * graph.cluster_sizes))
        self.dtype = np.dtype(np.float64 if most < _MOST_EXACT else np.int64)
        if trend is not None and trend.volume > 0:
            rates = 1 / np.maximum(graph.cluster_sizes - 1, 1)
        else:
            rates = graph.weights.astype(np.float64)
        self.is_concave = (
            trend is not None and trend.inner < 0 and max(trend.volume, trend.size) > 0
        )
        # Enlarged by more than rounding can take away.
        self.rates = np.append(rates, 0.0) * (1 + 1e-12)

    def node(self, state: Tally, rows: Array) -> Side:
        totals, (weights, degrees, counted) = state.totals, self.clusters
        inner = np.sum(weights * totals * (totals - 1))
        return Side(inner, np.sum(degrees * totals), np.sum(counted * totals))

    def is_pure(self, state: Tally) -> bool:
        return bool(np.count_nonzero(state.totals[:-1]) <= 1)

    def _clusters(self, state: Tally) -> Ints:
        """Return members, weight, degree and size of the numbered clusters."""
        if state.clusters is None:
            known = np.concatenate([state.totals[None], self.clusters])
            state.clusters = state.kinds.spread(known)
        return state.clusters

    def borders(self, place: Place, segments: Segments, fields: Ints, caps: Floats) -> _Counted:
        state = place.state
        histograms, starts = self.parts(place, segments)
        clusters, rates = self._clusters(state).astype(self.dtype), state.kinds.spread(self.rates)
        scan_histograms(histograms, starts, clusters, rates, fields, caps)
        return _Counted(histograms, starts, fields)

    def corners(self, state: Tally, counted: _Counted, wanted: Bools, n_top: int) -> Ints | None:
        if not self.is_concave:
            return None
        histograms, starts, borders = counted
        places, clusters = np.flatnonzero(wanted.any(axis=1)), self._clusters(state)
        sums = np.empty((np.count_nonzero(wanted), 2, 4, 1 << n_top), dtype=np.int64)
        corner_sums(histograms, starts, places, wanted, clusters, n_top, borders, sums)
        return sums

    def gaps(self, place: Place, wanted: Wanted, gaps: Gaps) -> int:
        state, rows, table = place
        features, bins, start = wanted
        return sweep_labels(
            table.columns,
            table.extra,
            table.codes,
            table.shift,
            features,
            bins,
            rows,
            self.labels,
            state.kinds.number_of,
            self._clusters(state),
            start,
            *gaps,
        )
