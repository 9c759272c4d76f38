"""Sums of two graphs over the same vertices."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from spexplain.aliases import Array, Bools, Floats, Ints
from spexplain.graphs import PairGraph
from spexplain.ledgers.base import Ledger, ledger_of
from spexplain.ledgers.bins import BinRanges, Gaps, NodeBins, WantedBins
from spexplain.records import Cut, Pair, Side
from spexplain.threads import Threads


@ledger_of.register(PairGraph)
class PairLedger(Ledger):
    """The ledgers of two graphs side by side: the fields of the first, then those of the second.

    State: the states of both.
    """

    def __init__(self, graph: PairGraph, trend: Any = None) -> None:
        super().__init__(graph, trend)
        first, second = self.both = ledger_of(graph.graph), ledger_of(graph.against)
        self.has_bins = first.has_bins and second.has_bins
        if self.has_bins:
            self.n_fields = first.n_fields + second.n_fields
            self.most_bins = min(first.most_bins, second.most_bins)
            self.rows_per_bin = max(first.rows_per_bin, second.rows_per_bin)
            self.row_cost = first.row_cost + second.row_cost
            self.row_major = first.row_major or second.row_major

    def root(self, *, for_bins: bool = False) -> tuple[Any, Any]:
        first, second = self.both
        return first.root(for_bins=for_bins), second.root(for_bins=for_bins)

    def split(
        self, state: tuple[Any, Any], members: Array, is_left: Bools, cut: Cut
    ) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        (left, right), (other_left, other_right) = (
            ledger.split(each, members, is_left, cut)
            for ledger, each in zip(self.both, state, strict=True)
        )
        return (left, other_left), (right, other_right)

    def node(self, state: tuple[Any, Any], members: Array) -> Pair:
        first, second = self.both
        return Pair(first.node(state[0], members), second.node(state[1], members))

    def leaf_sums(self, leaves: Array, n_leaves: int) -> Ints:
        """Return the sums of the first graph: leaves are valued by it alone."""
        return self.both[0].leaf_sums(leaves, n_leaves)

    def record(self, sums: Array) -> Pair:
        """Return the sums of the first graph; those of the second are not followed."""
        unknown = np.full(sums.shape[1:], np.nan)
        return Pair(self.both[0].record(sums), Side(unknown, unknown, unknown))

    def sorted_sides(
        self, state: tuple[Any, Any], node: Pair, order: Ints, features: Ints
    ) -> tuple[Pair, Pair]:
        (left, right), (other_left, other_right) = (
            ledger.sorted_sides(each, record, order, features)
            for ledger, each, record in zip(self.both, state, node, strict=True)
        )
        return Pair(left, other_left), Pair(right, other_right)

    def group_profiles(
        self, state: tuple[Any, Any], members: Array, groups: Ints, n_groups: int
    ) -> Any:
        return self.both[0].group_profiles(state[0], members, groups, n_groups)

    def group_sides(
        self, state: tuple[Any, Any], node: Pair, members: Array, groups: Ints, subsets: Bools
    ) -> tuple[Pair, Pair]:
        (left, right), (other_left, other_right) = (
            ledger.group_sides(each, record, members, groups, subsets)
            for ledger, each, record in zip(self.both, state, node, strict=True)
        )
        return Pair(left, other_left), Pair(right, other_right)

    def sorted_entries(self, state: tuple[Any, Any], n_members: int) -> int:
        return max(
            ledger.sorted_entries(each, n_members)
            for ledger, each in zip(self.both, state, strict=True)
        )

    def _parts(self, fields: Ints) -> tuple[Ints, Ints]:
        """Return the fields of either graph."""
        n_first = self.both[0].n_fields
        return fields[..., :n_first, :], fields[..., n_first:, :]

    def empty_fields(self, node: Pair) -> Ints:
        first, second = self.both
        return np.concatenate([first.empty_fields(node.graph), second.empty_fields(node.against)])

    def sides(self, state: tuple[Any, Any], node: Pair, fields: Ints) -> tuple[Pair, Pair]:
        (left, right), (other_left, other_right) = (
            ledger.sides(*each)
            for ledger, *each in zip(self.both, state, node, self._parts(fields), strict=True)
        )
        return Pair(left, other_left), Pair(right, other_right)

    def n_cells(self, state: tuple[Any, Any]) -> int:
        return max(ledger.n_cells(each) for ledger, each in zip(self.both, state, strict=True))

    def prepare(self, nodes: Sequence[NodeBins], threads: Threads) -> None:
        for i, ledger in enumerate(self.both):
            ledger.prepare([node._replace(state=node.state[i]) for node in nodes], threads)

    def count(self, node: NodeBins, threads: Threads) -> None:
        for ledger, each in zip(self.both, node.state, strict=True):
            ledger.count(node._replace(state=each), threads)

    def border_fields(self, node: NodeBins, ranges: BinRanges, fields: Ints, caps: Floats) -> None:
        for ledger, each, part in zip(self.both, node.state, self._parts(fields), strict=True):
            room = np.empty(part.shape, dtype=np.int64)
            ledger.border_fields(node._replace(state=each), ranges, room, caps)
            part[:] = room

    def gaps(self, node: NodeBins, wanted: WantedBins, gaps: Gaps) -> int:
        n_gaps, starts = 0, self._parts(wanted.start)
        parts = zip(self.both, node.state, starts, self._parts(gaps.fields), strict=True)
        for ledger, each, begin, fields in parts:
            # Both find the same gaps: these follow from the values alone.
            part = Gaps(fields, gaps.around, gaps.which)
            own = wanted._replace(start=np.ascontiguousarray(begin))
            n_gaps = ledger.gaps(node._replace(state=each), own, part)
        return n_gaps
