"""How often each label occurs in every bin of a node: kept for the children where that pays.

Nodes that keep nothing are counted block by block of features, each looked at while it is in the caches.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from spexplain.aliases import Array, Bools, Ints
from spexplain.engines.histogram.counts import Coded, Place, Segments, SideCounts
from spexplain.kernels.labels import fill_histograms, zoom_histograms
from spexplain.threads import Threads, blocks_of

# Only nodes with more rows per cell keep their histograms for their children: all that is kept stays
# below the size of a float32 table.
_ROWS_PER_KEPT_CELL = 1.0
_MANY_LABELS = 32
_LANES = 8  # labels that are counted at a time
_BLOCK = 16  # features whose histograms a thread fills at a time
_N_VISITS = 1 << 19  # rows times features from which on threads share them


class Kinds(NamedTuple):
    """Labels numbered anew, because small nodes have few of them, and padded to full lanes."""

    labels: Ints
    number_of: Array  # of every label

    def spread(self, values: Array) -> Array:
        """Return the values of the numbered labels along the last axis, zeros for the padding."""
        n_padded = -(-len(self.labels) // _LANES) * _LANES
        padded = np.zeros((*values.shape[:-1], n_padded), dtype=values.dtype)
        padded[..., : len(self.labels)] = values[..., self.labels]
        return padded


@dataclass
class Tally:
    """Rows of each label in a node and, in large nodes, by feature and bin."""

    totals: Ints
    kinds: Kinds
    histograms: Array | None = None
    clusters: Ints | None = None  # what `LabelCounts` knows of the numbered labels
    parent: "Tally | None" = None  # until the first search below it


class _Change(NamedTuple):
    """Rows that join histograms or leave them, and their own histograms if these are known."""

    rows: Array
    step: int
    histograms: Array | None = None


class Tallies(SideCounts):
    """Counts that rest on the labels of rows: the tallies of all nodes of a fit.

    Parameters
    ----------
    labels : array of unsigned int, shape (n_vertices,)
        Label of every vertex.
    n_labels : int
        Number of labels.
    """

    most_bins = 64
    most_bins_of_many = 32  # where every bin costs more
    rows_per_bin = 8

    def __init__(self, labels: Array, n_labels: int) -> None:
        self.labels, self.n_labels = labels, n_labels
        if n_labels > _MANY_LABELS:
            self.most_bins = min(self.most_bins, self.most_bins_of_many)

    def root(self, rows: Array) -> Tally:
        """Return the tally of the node of all vertices."""
        return self._tally(self._count(rows))

    def split(self, tally: Tally, rows: Array, is_left: Bools) -> tuple[Tally, Tally]:
        """Return the tallies of both parts of a node."""
        left = self._count(rows[is_left])
        return self._tally(left, tally), self._tally(tally.totals - left, tally)

    def _count(self, rows: Array) -> Ints:
        return np.bincount(self.labels[rows], minlength=self.n_labels).astype(np.int64)

    def _tally(self, totals: Ints, parent: Tally | None = None) -> Tally:
        return Tally(totals, self._kinds(np.flatnonzero(totals)), parent=parent)

    def _kinds(self, labels: Ints) -> Kinds:
        number_of = np.zeros(self.n_labels, dtype=self.labels.dtype)
        number_of[labels] = np.arange(len(labels))
        return Kinds(labels, number_of)

    def n_cells(self, tally: Tally) -> int:
        """Return how many labels a node has."""
        return int(np.count_nonzero(tally.totals))

    def prepare(self, nodes: Sequence[Place], threads: Threads) -> None:
        """Count in large nodes; of siblings only the smaller, where the parent was counted."""
        if not nodes:
            return
        by_size = sorted(nodes, key=lambda place: len(place.rows))
        smaller, its_rows, _ = by_size[0]
        are_siblings = len({id(place.state.parent) for place in nodes}) == 1 < len(nodes)
        for place in by_size:
            tally, rows, table = place
            parent, tally.parent = tally.parent, None
            if tally.histograms is not None or not self._is_kept(rows, table):
                continue
            # Parents, children and siblings that keep theirs number the labels alike.
            tally.kinds, tally.clusters = self._kinds(np.arange(self.n_labels)), None
            if (
                are_siblings
                and tally is not smaller
                and parent is not None
                and parent.histograms is not None
                and parent.histograms.shape == self._shape(tally, table)
            ):
                tally.histograms, parent.histograms = parent.histograms, None
                self._apply(_Change(its_rows, -1, smaller.histograms), tally, table, threads)
            else:
                self.open(place, threads)

    def open(self, place: Place, threads: Threads) -> None:
        """Count in a node that is about to be searched, if it keeps that for its children."""
        tally, rows, table = place
        if tally.histograms is None and self._is_kept(rows, table):
            tally.histograms = np.zeros(self._shape(tally, table), dtype=np.int32)
            self._apply(_Change(rows, 1), tally, table, threads)

    def zooms(self, tally: Tally) -> bool:
        """Whether single bins of the node can be told apart into codes."""
        return tally.histograms is not None

    def _is_kept(self, rows: Array, table: Coded) -> bool:
        return len(rows) > _ROWS_PER_KEPT_CELL * table.n_bins * self.n_labels

    def _shape(self, tally: Tally, table: Coded) -> tuple[int, int, int]:
        return len(table.columns), table.n_bins, self._width(tally)

    def _width(self, tally: Tally) -> int:
        return -(-len(tally.kinds.labels) // _LANES) * _LANES

    def _apply(self, change: _Change, tally: Tally, table: Coded, threads: Threads) -> None:
        """Add rows to the histograms of a node, or take them away."""
        rows, step, known = change
        histograms, labels = tally.histograms, tally.kinds.number_of[self.labels[rows]]
        assert histograms is not None

        def apply(block: slice) -> None:
            part = histograms[block]
            if known is not None and known.shape == histograms.shape:
                part += step * known[block]
            else:
                fill_histograms(table.codes, table.shift, block.start, rows, labels, step, part)

        # Few visits are not worth waking another thread.
        width = _BLOCK if len(rows) * len(histograms) > _N_VISITS else len(histograms)
        threads.map(apply, blocks_of(len(histograms), width))

    def parts(self, place: Place, segments: Segments) -> tuple[Array, Array]:
        """Return the histograms of some segments, and the labels that lie left of each."""
        tally, rows, table = place
        wide, (features, bins) = tally.histograms, segments
        starts = np.zeros((len(features), self._width(tally)), dtype=np.int32)
        if wide is not None and bins is None:
            return wide[features[0] : features[-1] + 1], starts
        labels = tally.kinds.number_of[self.labels[rows]]
        n_bins = table.n_bins if bins is None else 1 << table.shift
        histograms = np.zeros((len(features), n_bins, self._width(tally)), dtype=np.int32)
        codes, shift = table.codes, table.shift
        if wide is None or bins is None:
            fill_histograms(codes, shift, features[0], rows, labels, 1, histograms)
        else:
            zoom_histograms(codes, shift, features, bins, rows, labels, wide, starts, histograms)
        return histograms, starts
