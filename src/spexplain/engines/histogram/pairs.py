"""Sums of two graphs over the same vertices, for the histogram engine."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from spexplain.aliases import Array, Bools, Floats, Ints
from spexplain.engines.histogram.counts import Counts, Gaps, Place, Segments, Wanted
from spexplain.records import Pair
from spexplain.threads import Threads


class PairCounts(Counts):
    """Both graphs counted side by side: the fields of the first, then those of the second. State: both states."""

    def __init__(self, first: Counts, second: Counts) -> None:
        self.both = first, second
        self.n_fields = first.n_fields + second.n_fields
        self.most_bins = min(first.most_bins, second.most_bins)
        self.rows_per_bin = max(first.rows_per_bin, second.rows_per_bin)
        self.cost = first.cost + second.cost
        self.row_major = first.row_major or second.row_major

    def _parts(self, fields: Ints) -> tuple[Ints, Ints]:
        """Return the fields of either graph."""
        n_first = self.both[0].n_fields
        return fields[..., :n_first, :], fields[..., n_first:, :]

    def root(self, rows: Array) -> tuple[Any, Any]:
        first, second = self.both
        return first.root(rows), second.root(rows)

    def split(
        self, state: tuple[Any, Any], rows: Array, is_left: Bools
    ) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        (left, right), (other_left, other_right) = (
            counts.split(each, rows, is_left) for counts, each in zip(self.both, state, strict=True)
        )
        return (left, other_left), (right, other_right)

    def node(self, state: tuple[Any, Any], rows: Array) -> Pair:
        first, second = self.both
        return Pair(first.node(state[0], rows), second.node(state[1], rows))

    def nothing(self, node: Pair) -> Ints:
        first, second = self.both
        return np.concatenate([first.nothing(node.graph), second.nothing(node.against)])

    def sides(self, state: tuple[Any, Any], node: Pair, fields: Ints) -> tuple[Pair, Pair]:
        (left, right), (other_left, other_right) = (
            counts.sides(*each)
            for counts, *each in zip(self.both, state, node, self._parts(fields), strict=True)
        )
        return Pair(left, other_left), Pair(right, other_right)

    def n_cells(self, state: tuple[Any, Any]) -> int:
        return max(counts.n_cells(each) for counts, each in zip(self.both, state, strict=True))

    def prepare(self, nodes: Sequence[Place], threads: Threads) -> None:
        for i, counts in enumerate(self.both):
            counts.prepare([place._replace(state=place.state[i]) for place in nodes], threads)

    def open(self, place: Place, threads: Threads) -> None:
        for counts, each in zip(self.both, place.state, strict=True):
            counts.open(place._replace(state=each), threads)

    def borders(self, place: Place, segments: Segments, fields: Ints, caps: Floats) -> None:
        for counts, each, part in zip(self.both, place.state, self._parts(fields), strict=True):
            room = np.empty(part.shape, dtype=np.int64)
            counts.borders(place._replace(state=each), segments, room, caps)
            part[:] = room

    def gaps(self, place: Place, wanted: Wanted, gaps: Gaps) -> int:
        n_gaps, starts = 0, self._parts(wanted.start)
        parts = zip(self.both, place.state, starts, self._parts(gaps.fields), strict=True)
        for counts, each, begin, fields in parts:
            # Both find the same gaps: these follow from the values alone.
            part = Gaps(fields, gaps.around, gaps.which)
            own = wanted._replace(start=np.ascontiguousarray(begin))
            n_gaps = counts.gaps(place._replace(state=each), own, part)
        return n_gaps
