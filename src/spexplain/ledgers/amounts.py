"""Sums of amounts that every vertex adds on its own, and the cost of serving samples from centres."""

from abc import abstractmethod
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from spexplain.aliases import Array, Bools, Floats, Ints
from spexplain.graphs import CenterCosts, Graph, MembershipGraph, ProductGraph, ServingCenters
from spexplain.ledgers.base import Ledger, border_cells, ledger_of, running_sums, sums_by_leaf
from spexplain.ledgers.bins import BinRanges, Gaps, NodeBins, WantedBins
from spexplain.records import Costs, Cut, Service, Side


class AmountLedger(Ledger):
    """A ledger that adds up amounts, one sum each. State: their sums over the node.

    Parameters
    ----------
    graph : Graph
        The graph.
    amounts : array of int, shape (n_vertices, n_amounts)
        What every vertex adds.
    trend : Side, Pair or Costs, optional
        See `Ledger`.
    """

    has_bins = True
    most_bins = 64
    rows_per_bin = 16

    def __init__(self, graph: Graph, amounts: Any, trend: Any = None) -> None:
        super().__init__(graph, trend)
        self.amounts = amounts
        self.row_cost = 1 + amounts.shape[1] // 8

    @cached_property
    def binned_amounts(self) -> Any:
        """What is added up in bins."""
        return self.amounts

    @property
    def n_fields(self) -> int:  # type: ignore[override]
        return int(self.binned_amounts.shape[1]) + 2

    @abstractmethod
    def record_of(self, amounts: Ints) -> Any:
        """Return the record of summed amounts, which come along the last axis."""

    def record(self, sums: Array) -> Any:
        return self.record_of(np.moveaxis(sums, 0, -1))

    def root(self, *, for_bins: bool = False) -> Ints:
        return np.asarray(np.sum(self.amounts, axis=0))

    def split(self, state: Ints, members: Array, is_left: Bools, cut: Cut) -> tuple[Ints, Ints]:
        left = np.sum(self.amounts[members[is_left]], axis=0)
        return left, state - left

    def node(self, state: Ints, members: Array) -> Any:
        return self.record_of(state)

    def sorted_sides(self, state: Ints, node: Any, order: Ints, features: Ints) -> tuple[Any, Any]:
        left = running_sums(self.amounts, order)
        return self.record_of(left), self.record_of(state - left)

    def sorted_entries(self, state: Ints, n_members: int) -> int:
        return n_members * int(self.amounts.shape[1])

    def group_profiles(self, state: Ints, members: Array, groups: Ints, n_groups: int) -> Ints:
        """Return the sums of every group."""
        return sums_by_leaf(groups, self.amounts[members].T, n_groups).T

    def group_sides(
        self, state: Ints, node: Any, members: Array, groups: Ints, subsets: Bools
    ) -> tuple[Any, Any]:
        sums = self.group_profiles(state, members, groups, subsets.shape[1])
        left = subsets.astype(np.int64) @ sums
        return self.record_of(left), self.record_of(state - left)

    def leaf_sums(self, leaves: Array, n_leaves: int) -> Ints:
        return sums_by_leaf(leaves, self.amounts.T, n_leaves)

    @staticmethod
    def fields_of(cells: Array, starts: Array) -> Ints:
        """Return the fields at the borders of bins with these cells, `starts` left of the first.

        A cell holds the amounts and, last, the number of rows.
        """
        left = border_cells(cells, starts)
        fields = np.concatenate([left, left[..., -1:]], axis=2)
        return np.ascontiguousarray(np.moveaxis(fields, 1, 2))

    def empty_fields(self, node: Any) -> Ints:
        return np.zeros(self.n_fields, dtype=np.int64)

    def sides(self, state: Ints, node: Any, fields: Ints) -> tuple[Any, Any]:
        left = np.moveaxis(fields[..., :-2, :], -2, -1)
        return self.record_of(left), self.record_of(state - left)

    def border_fields(self, node: NodeBins, ranges: BinRanges, fields: Ints, caps: Floats) -> None:
        from spexplain.kernels.sums import scan_sums

        _, rows, table = node
        first, last = int(ranges.features[0]), int(ranges.features[-1]) + 1
        n_samples = len(table.matrix.values)
        amounts = self.binned_amounts
        scan_sums(table.codes, table.shift, first, last, rows, amounts, n_samples, fields)

    def gaps(self, node: NodeBins, wanted: WantedBins, gaps: Gaps) -> int:
        from spexplain.kernels.sums import sweep_sums

        _, rows, table = node
        values = table.matrix, table.extra, table.codes, table.shift
        features, bins, start = wanted
        return sweep_sums(*values, features, bins, rows, self.binned_amounts, start, *gaps)


@ledger_of.register(CenterCosts)
class CostLedger(AmountLedger):
    """The ledger of the costs of serving samples from every centre.

    In bins, what the samples cost from their nearest centres is added up as well: that bounds the cost of
    those of one bin, whatever cut parts them.
    """

    def __init__(self, graph: CenterCosts, trend: Any = None) -> None:
        # Costs that lie in partitions stay there.
        is_local = isinstance(graph.costs, np.ndarray)
        super().__init__(
            graph, np.ascontiguousarray(graph.costs) if is_local else graph.costs, trend
        )

    @cached_property
    def binned_amounts(self) -> Ints:
        return np.column_stack([self.amounts, self.amounts.min(axis=1)])

    def record_of(self, amounts: Ints) -> Costs:
        return Costs(amounts)

    def sides(self, state: Ints, node: Costs, fields: Ints) -> tuple[Costs, Costs]:
        n_centers = self.amounts.shape[1]
        left = np.moveaxis(fields[..., :n_centers, :], -2, -1)
        # Costs in partitions come without.
        least = fields[..., n_centers, :] if fields.shape[-2] > n_centers + 2 else 0
        return Costs(left, least), Costs(state - left, -least)


@ledger_of.register(ProductGraph)
class ProductLedger(AmountLedger):
    """The ledger of edge weights d(x)·d(y): inner weight is the square of the mass less the squares of the masses."""

    def __init__(self, graph: ProductGraph, trend: Any = None) -> None:
        amounts = np.column_stack([graph.masses, graph.squares, graph.degrees, graph.sizes])
        super().__init__(graph, amounts, trend)

    def record_of(self, amounts: Ints) -> Side:
        mass, squares, volume, size = np.moveaxis(amounts, -1, 0)
        return Side(mass * mass - squares, volume, size)


@ledger_of.register(MembershipGraph)
class MembershipLedger(AmountLedger):
    """The ledger of cliques of weighted or shared samples: all sums follow from the amounts of each cluster."""

    graph: MembershipGraph

    def __init__(self, graph: MembershipGraph, trend: Any = None) -> None:
        super().__init__(graph, np.ascontiguousarray(graph.amounts), trend)
        self.degrees = graph.weights * (graph.cluster_sizes - 1)

    def record_of(self, amounts: Ints) -> Side:
        inner = amounts * (amounts - 1) @ self.graph.weights
        return Side(inner, amounts @ self.degrees, amounts.sum(axis=-1))

    def is_pure(self, state: Ints) -> bool:
        return bool(np.count_nonzero(state) <= 1)


class UsedFeatures(NamedTuple):
    """Features that the tests above a node have used, by the side taken."""

    left: frozenset[int]
    right: frozenset[int]


@ledger_of.register(ServingCenters)
class ServiceLedger(Ledger):
    """The ledger of samples served by the nearest centre of their side. State: `UsedFeatures` above the node.

    Between two centres the sides' centres stay the same, so one running sum of the cheapest left and
    of the cheapest right service answers all gaps there: O(n k) a feature.
    """

    def __init__(self, graph: ServingCenters, trend: Any = None) -> None:
        super().__init__(graph, trend)
        self.n_samples = graph.n_samples
        self.costs, self.firsts = graph.costs, graph.firsts

    def root(self, *, for_bins: bool = False) -> UsedFeatures:
        return UsedFeatures(frozenset(), frozenset())

    def split(
        self, state: UsedFeatures, members: Array, is_left: Bools, cut: Cut
    ) -> tuple[UsedFeatures, UsedFeatures]:
        return (
            UsedFeatures(state.left | {cut.feature}, state.right),
            UsedFeatures(state.left, state.right | {cut.feature}),
        )

    def node(self, state: UsedFeatures, members: Array) -> Service:
        samples, centers = self._samples_and_centers(members)
        cost = np.sum(self.costs[np.ix_(samples, centers)].min(axis=1)) if len(centers) else 0
        return Service(cost, np.sum(self.firsts[samples]), np.int64(len(centers)), np.int64(0))

    def _samples_and_centers(self, members: Array) -> tuple[Array, Array]:
        """Return the samples and the numbers of the centres among some vertices."""
        is_sample = members < self.n_samples
        return members[is_sample], members[~is_sample] - self.n_samples

    def sorted_sides(
        self, state: UsedFeatures, node: Service, order: Ints, features: Ints
    ) -> tuple[Service, Service]:
        costs = np.array([self._served(vertices) for vertices in order])
        is_sample = order < self.n_samples
        firsts = np.where(is_sample, self.firsts[np.where(is_sample, order, 0)], 0)
        points = np.cumsum(firsts[:, :-1], axis=1)
        centers = np.cumsum(~is_sample[:, :-1], axis=1)
        used_left = np.isin(features, list(state.left)).astype(np.int64)[:, None]
        used_right = np.isin(features, list(state.right)).astype(np.int64)[:, None]
        return (
            Service(costs[:, 0], points, centers, used_left),
            Service(costs[:, 1], node.points - points, node.centers - centers, used_right),
        )

    def _served(self, vertices: Ints) -> Ints:
        """Return the cost of serving the left and the right of every gap, shape (2, n_gaps)."""
        is_sample = vertices < self.n_samples
        samples, centers = self._samples_and_centers(vertices)
        table = self.costs[np.ix_(samples, centers)]  # centres in order of the feature
        cheapest_left = np.minimum.accumulate(table, axis=1)
        cheapest_right = np.minimum.accumulate(table[:, ::-1], axis=1)[:, ::-1]
        n_samples_left = np.cumsum(is_sample)[:-1]
        n_centers_left = np.cumsum(~is_sample)[:-1]
        served = np.zeros((2, len(vertices) - 1), dtype=np.int64)
        for n_left in range(1, len(centers)):
            gaps = n_centers_left == n_left
            before = np.append(0, np.cumsum(cheapest_left[:, n_left - 1]))
            after = np.append(0, np.cumsum(cheapest_right[:, n_left]))
            served[0, gaps] = before[n_samples_left[gaps]]
            served[1, gaps] = after[-1] - after[n_samples_left[gaps]]
        return served

    def sorted_entries(self, state: UsedFeatures, n_members: int) -> int:
        return n_members * int(self.costs.shape[1])
