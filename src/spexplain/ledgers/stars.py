"""Sums of stars: every sample is joined to the centre of its cluster."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from spexplain.aliases import Array, Bools, Floats, Ints
from spexplain.graphs import StarGraph, WeightedStar
from spexplain.graphs.kernel import SurrogateStar
from spexplain.ledgers.base import Ledger, ledger_of, running_sums, sums_by_leaf
from spexplain.ledgers.bins import BinRanges, Gaps, NodeBins, WantedBins
from spexplain.ledgers.edges import EdgeLedger, InnerNeighbors, edge_sums, neighbor_lists
from spexplain.ledgers.labels import CountingLedger, LabelCounts, label_type
from spexplain.records import Cut, Side


@dataclass
class StarCounts(LabelCounts):
    """Samples of each label in a node, and the centres in it."""

    centers: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # ascending


class StarTable(NamedTuple):
    """The labels and the centres of a node, as `spexplain.kernels.stars` reads them."""

    labels: (
        Ints  # shape (3, n_labels): vertices in the node, twice the weight of an edge there, degree
    )
    centers: Ints  # shape (3, n_centers): label, degree and size of the centres in the node


@ledger_of.register(StarGraph)
class StarLedger(CountingLedger):
    """The ledger of sample–centre stars: counting labels and placing the few centres replaces walking edges.

    Centres, and samples without one, share the last label, which has no edges. State: `StarCounts`. Sums that
    follow from counts alone (`sums`, `table`, `fields_of`) need no labels of rows, but the number of samples
    of every centre in `center_degrees`.
    """

    graph: StarGraph

    def __init__(self, graph: StarGraph, trend: Any = None) -> None:
        super().__init__(graph, len(graph.centers) + 1, trend)
        self._center_degrees: Ints | None = None

    @cached_property
    def labels(self) -> Array:
        n_centers = self.n_labels - 1
        labels = np.concatenate([self.graph.labels, np.full(n_centers, -1)])
        return np.where(labels < 0, n_centers, labels).astype(label_type(self.n_labels))

    @property
    def center_degrees(self) -> Ints:
        """Samples of every centre; set it where the labels of rows lie elsewhere."""
        if self._center_degrees is None:
            self._center_degrees = self._count(slice(None))[:-1]
        return self._center_degrees

    @center_degrees.setter
    def center_degrees(self, degrees: Ints) -> None:
        self._center_degrees = degrees

    @cached_property
    def vertices(self) -> Ints:
        """Degree of every vertex, what it adds to the size, and whether it is a sample; shape (3, n_vertices)."""
        is_sample = (np.arange(self.n_vertices) < self.graph.n_samples).astype(np.int64)
        of_samples = (self.labels[: self.graph.n_samples] < self.n_labels - 1).astype(np.int64)
        degrees = np.concatenate([of_samples, self.center_degrees])
        return np.stack([degrees, self.graph.sizes, is_sample])

    @cached_property
    def moved(self) -> Ints:
        """What a sample brings to a leaf by itself, as in `EdgeLedger`: there are no loops."""
        return np.stack([np.zeros_like(self.vertices[0]), *self.vertices[:2]])

    @cached_property
    def neighbors(self) -> InnerNeighbors:
        """The neighbours of all vertices."""
        return neighbor_lists(self.graph)

    # From counts.

    def sums(self, totals: Ints, centers: Ints) -> Ints:
        """Return inner weight, volume and size of a node with these samples of each label and these centres."""
        inner = 2 * np.sum(totals[centers])
        volume = np.sum(totals[:-1]) + np.sum(self.center_degrees[centers])
        return np.array([inner, volume, np.sum(self.graph.center_sizes(centers))])

    def table(self, totals: Ints, centers: Ints) -> StarTable:
        """Return the labels and centres of a node."""
        joins, degrees = np.zeros((2, self.n_labels), dtype=np.int64)
        joins[centers], degrees[:-1] = 2, 1
        sizes = self.graph.center_sizes(centers)
        return StarTable(
            np.stack([totals, joins, degrees]),
            np.stack([centers, self.center_degrees[centers], sizes]),
        )

    @staticmethod
    def fields_of(
        cells: Array,
        starts: Array,
        table: StarTable,
        center_codes: Ints,
        fields: Ints,
        first_codes: Ints | None = None,
        shift: int = 0,
        *,
        has_centers: bool,
    ) -> None:
        """Write the fields at the borders of bins with these counts, `starts` left of the first.

        Border b of range j lies before the codes from ``first_codes[j] + (b << shift)`` on; by default
        the codes are the numbers of the bins. Centre i of the node has ``center_codes[:, i]``;
        `has_centers` says whether the last label counts the centres too.
        """
        from spexplain.kernels.stars import scan_stars

        first = np.zeros(len(cells), dtype=np.int64) if first_codes is None else first_codes
        codes = np.ascontiguousarray(center_codes, dtype=np.int64)
        scan_stars(cells, starts, first, shift, codes, *table, fields)
        if not has_centers:
            n_centers_left = fields[:, 4] - fields[:, 5]
            fields[:, 5] = fields[:, 4]
            fields[:, 4] += n_centers_left

    # Of nodes and leaves.

    def root(self, *, for_bins: bool = False) -> StarCounts:
        return StarCounts(self._count(slice(None)), centers=np.arange(self.n_labels - 1))

    def split(
        self, state: LabelCounts, members: Array, is_left: Bools, cut: Cut
    ) -> tuple[StarCounts, StarCounts]:
        is_center = members >= self.graph.n_samples
        left = self._count(members[is_left])
        totals = left, state.totals - left
        centers = (members[is_center & side] for side in (is_left, ~is_left))
        first, second = (
            StarCounts(counts, state, centers=np.sort(each).astype(np.int64) - self.graph.n_samples)
            for counts, each in zip(totals, centers, strict=True)
        )
        return first, second

    def node(self, state: StarCounts, members: Array) -> Side:
        return Side(*self.sums(state.totals, state.centers))

    def leaf_sums(self, leaves: Array, n_leaves: int) -> Ints:
        n_samples = self.graph.n_samples
        of_samples, of_centers = leaves[:n_samples], np.append(leaves[n_samples:], -1)
        own = of_centers[self.labels[:n_samples]]
        inside = np.where(of_samples == own, own, -1)
        inner = sums_by_leaf(inside, np.full((1, n_samples), 2), n_leaves)
        return np.concatenate([inner, sums_by_leaf(leaves, self.vertices[:2], n_leaves)])

    def sorted_sides(
        self, state: StarCounts, node: Side, order: Ints, features: Ints
    ) -> tuple[Side, Side]:
        n_samples = self.graph.n_samples
        samples = order[0][order[0] < n_samples]
        is_inside = np.zeros(self.n_labels, dtype=np.bool_)
        is_inside[state.centers] = True
        samples = samples[is_inside[self.labels[samples]]]
        centers = n_samples + self.labels[samples].astype(np.int64)
        joined, parted = edge_sums(
            order, samples, centers, np.full(len(samples), 2), self.n_vertices
        )
        sizes = np.zeros(self.n_vertices, dtype=np.int64)
        sizes[n_samples + state.centers] = self.graph.center_sizes(state.centers)
        volume, size = running_sums(self.vertices[0], order), running_sums(sizes, order)
        left = Side(joined, volume, size)
        return left, Side(node.inner - parted, node.volume - volume, node.size - size)

    def sorted_entries(self, state: StarCounts, n_members: int) -> int:
        return 2 * n_members

    # In bins.

    def _table(self, state: StarCounts) -> StarTable:
        """Return labels and centres as the histograms of the node number them."""
        if state.per_label is None:
            numbers, (labels, centers) = (
                self.numbers(state),
                self.table(state.totals, state.centers),
            )
            # The centre of nobody in the node joins nothing, like the label of the centres themselves.
            known = np.where(state.totals[state.centers] > 0, state.centers, self.n_labels - 1)
            centers[0] = numbers.number_of[known]
            state.per_label = StarTable(numbers.spread(labels), centers)
        table: StarTable = state.per_label
        return table

    def border_fields(self, node: NodeBins, ranges: BinRanges, fields: Ints, caps: Floats) -> None:
        state, _, table = node
        histograms, starts, _ = self.histograms(node, ranges)
        first_codes, shift = None, table.shift
        if ranges.bins is not None:
            first_codes, shift = ranges.bins << shift, 0
        vertices = self.graph.n_samples + state.centers
        codes = table.codes[ranges.features[:, None], vertices]
        self.fields_of(
            histograms,
            starts,
            self._table(state),
            codes,
            fields,
            first_codes,
            shift,
            has_centers=True,
        )

    def gaps(self, node: NodeBins, wanted: WantedBins, gaps: Gaps) -> int:
        from spexplain.kernels.stars import sweep_stars

        state, rows, table = node
        features, bins, start = wanted
        labels, centers = self._table(state)
        return sweep_stars(
            table.matrix,
            table.extra,
            table.codes,
            table.shift,
            features,
            bins,
            rows,
            self.labels,
            self.numbers(state).number_of,
            labels,
            centers,
            start,
            *gaps,
        )


@ledger_of.register(WeightedStar)
class WeightedStarLedger(EdgeLedger):
    """The ledger of stars with weighted samples, whose edges are walked."""

    graph: WeightedStar  # type: ignore[assignment]

    def vertices_in(self, rows: Array) -> Ints:
        """Return degrees, sizes, samples and loops; which centres count depends on those in the node."""
        vertices = self.vertices
        if self.graph.pairs != "any":
            vertices = vertices.copy()
            vertices[1] = self.graph.sizes_in(rows.astype(np.int64))
        return vertices


class SurrogateCut(Cut):
    """A cut of the table that also says which centres of its node go left."""

    left_centers: Ints


@ledger_of.register(SurrogateStar)
class SurrogateLedger(Ledger):
    """The ledger of stars whose centres lie in a kernel's feature space. State: the centres in the node.

    Only the search that finds a cut knows how it parts the centres.
    """

    graph: SurrogateStar

    def __init__(self, graph: SurrogateStar, trend: Any = None) -> None:
        super().__init__(graph, trend)
        self.labels, self.cluster_sizes = graph.labels, graph.cluster_sizes

    def root(self, *, for_bins: bool = False) -> Ints:
        return np.arange(len(self.cluster_sizes))

    def split(self, state: Ints, members: Array, is_left: Bools, cut: Cut) -> tuple[Ints, Ints]:
        if not isinstance(cut, SurrogateCut):
            raise TypeError("Only cuts found by SurrogateSearch say where the centres go.")
        return cut.left_centers, np.setdiff1d(state, cut.left_centers)

    def node(self, state: Ints, members: Array) -> Side:
        labels, weights = self.labels[members], self.graph.weights[members]
        inner = 2 * np.sum(weights, where=np.isin(labels, state))
        volume = np.sum(weights, where=labels >= 0) + np.sum(self.cluster_sizes[state])
        return Side(inner, volume, len(state))

    def sorted_sides(
        self, state: Ints, node: Side, order: Ints, features: Ints
    ) -> tuple[Side, Side]:
        raise TypeError("Cuts of surrogate features are intervals: they follow no order.")
