"""Sums of amounts that every vertex adds on its own, for the histogram engine: costs, and products of masses."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from spexplain.engines.histogram.counts import Coded, Gaps, Segments
from spexplain.engines.threads import Threads
from spexplain.graphs import CenterCosts, ProductGraph
from spexplain.kernels.sums import scan_sums, sweep_sums
from spexplain.records import Costs, Side
from spexplain.typing import Array, Bools, Floats, Ints


class SumCounts(ABC):
    """Amounts of shape (n_vertices, n_amounts). State: their sums over the node."""

    row_major = False
    has_sides = False
    has_caps = False
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

    @abstractmethod
    def node(self, state: Ints, rows: Array) -> Any:
        """Return the record of sums over a node."""

    def nothing(self, node: Any) -> Ints:
        return np.zeros(self.n_fields, dtype=np.int64)

    @abstractmethod
    def sides(self, state: Ints, node: Any, fields: Ints) -> tuple[Any, Any]:
        """Return the records left and right of the cuts that have these fields."""

    def is_pure(self, state: Ints) -> bool:
        return False

    def n_cells(self, state: Ints) -> int:
        return 1

    def prepare(self, nodes: Sequence[tuple[Ints, Array, Coded]], threads: Threads) -> None:
        return

    def open(self, state: Ints, rows: Array, table: Coded, threads: Threads) -> None:
        return

    def zooms(self, state: Ints) -> bool:
        return False

    def borders(
        self,
        state: Ints,
        rows: Array,
        table: Coded,
        segments: Segments,
        fields: Ints,
        caps: Floats,
    ) -> None:
        first, last = int(segments.features[0]), int(segments.features[-1]) + 1
        n_samples = table.columns.shape[1]
        scan_sums(table.codes, table.shift, first, last, rows, self.amounts, n_samples, fields)

    def corners(self, state: Ints, counted: None, wanted: Bools, n_top: int) -> None:
        return

    def gaps(
        self,
        state: Ints,
        rows: Array,
        table: Coded,
        features: Ints,
        wanted: Bools,
        start: Ints,
        gaps: Gaps,
    ) -> int:
        columns, extra, codes, _, shift = table
        return sweep_sums(
            columns, extra, codes, shift, features, wanted, rows, self.amounts, start, *gaps
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
