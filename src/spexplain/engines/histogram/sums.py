"""Sums of amounts that every vertex adds on its own, for the histogram engine: costs, and products of masses."""

from typing import Any

import numpy as np

from spexplain.aliases import Array, Bools, Floats, Ints
from spexplain.engines.histogram.counts import Counts, Gaps, Place, Segments, Wanted
from spexplain.graphs import CenterCosts, ProductGraph
from spexplain.kernels.sums import scan_sums, sweep_sums
from spexplain.records import Costs, Side


class SumCounts(Counts):
    """Amounts of shape (n_vertices, n_amounts). State: their sums over the node."""

    most_bins = 64
    rows_per_bin = 16

    def __init__(self, amounts: Ints) -> None:
        self.amounts = np.ascontiguousarray(amounts)
        self.n_fields = amounts.shape[1] + 2
        self.cost = 1 + amounts.shape[1] // 8

    def root(self, rows: Array) -> Ints:
        return np.asarray(np.sum(self.amounts, axis=0))

    def split(self, state: Ints, rows: Array, is_left: Bools) -> tuple[Ints, Ints]:
        left = np.sum(self.amounts[rows[is_left]], axis=0)
        return left, state - left

    def nothing(self, node: Any) -> Ints:
        return np.zeros(self.n_fields, dtype=np.int64)

    def borders(self, place: Place, segments: Segments, fields: Ints, caps: Floats) -> None:
        _, rows, table = place
        first, last = int(segments.features[0]), int(segments.features[-1]) + 1
        n_samples = table.columns.shape[1]
        scan_sums(table.codes, table.shift, first, last, rows, self.amounts, n_samples, fields)

    def gaps(self, place: Place, wanted: Wanted, gaps: Gaps) -> int:
        _, rows, (columns, extra, codes, _, shift) = place
        features, bins, start = wanted
        return sweep_sums(
            columns, extra, codes, shift, features, bins, rows, self.amounts, start, *gaps
        )


class CostCounts(SumCounts):
    """Costs of serving the samples from every centre."""

    def __init__(self, graph: CenterCosts) -> None:
        super().__init__(graph.costs)

    def node(self, state: Ints, rows: Array) -> Costs:
        return Costs(state)

    def sides(self, state: Ints, node: Costs, fields: Ints) -> tuple[Costs, Costs]:
        left = np.moveaxis(fields[..., :-2, :], -2, -1)
        return Costs(left), Costs(state - left)


class ProductCounts(SumCounts):
    """Edge weights d(x)·d(y): inner weight is the square of the mass less the squares of the masses."""

    def __init__(self, graph: ProductGraph) -> None:
        masses = graph.masses
        super().__init__(np.column_stack([masses, masses**2, graph.degrees, graph.sizes]))

    def node(self, state: Ints, rows: Array) -> Side:
        mass, squares, volume, size = state
        return Side(mass * mass - squares, volume, size)

    def sides(self, state: Ints, node: Side, fields: Ints) -> tuple[Side, Side]:
        left = np.moveaxis(fields[..., :4, :], -2, 0)
        return self._side(left), self._side(state.reshape((4,) + (1,) * (left.ndim - 1)) - left)

    @staticmethod
    def _side(amounts: Ints) -> Side:
        mass, squares, volume, size = amounts
        return Side(mass * mass - squares, volume, size)
