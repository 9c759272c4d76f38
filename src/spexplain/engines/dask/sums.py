"""How the sums left and right of cuts follow from what the workers counted, for each kind of graph."""

from collections.abc import Sequence
from dataclasses import replace
from functools import singledispatch
from typing import Any, Protocol

import numpy as np

from spexplain.aliases import Array, Bools, Ints
from spexplain.engines.dask import worker
from spexplain.engines.dask.bounds import Falls, Fields, Node, Segments, clique_falls
from spexplain.engines.dask.worker import AmountTally, LabelTally, Tally
from spexplain.graphs import CenterCosts, CliqueGraph, Graph, SparseGraph, StarGraph
from spexplain.kernels.labels import corner_sums, scan_histograms
from spexplain.ledgers import LabelLedger
from spexplain.objectives import Objective
from spexplain.objectives.bounds import both_sides
from spexplain.records import Costs, Side
from spexplain.table.partitioned import PartitionedTable

_EDGES_PER_PART = 1 << 22


class Sums(Protocol):
    """What the search asks of a kind of graph."""

    @property
    def tally(self) -> Tally:
        """What the workers count."""

    def marks(self, table: PartitionedTable) -> list[Any]:
        """Return what the workers count of every row, partition by partition."""

    def record(self, node: Node) -> Any:
        """Return the record of sums over a node."""

    def fields(self, node: Node, segments: Segments) -> Fields:
        """Return the sums at all borders of the segments."""

    def sides(self, node: Node, sums: Ints) -> tuple[Any, Any]:
        """Return the records left and right of the cuts that have these sums."""

    def corners(
        self, node: Node, segments: Segments, fields: Fields, wanted: Bools, n_top: int
    ) -> Ints | None:
        """Return the sums of bins with their largest clusters on either side; see `corner_bounds`."""

    def falls(self, node: Node, objective: Objective, left: Ints, inside: Ints) -> Falls | None:
        """Return how fast the score can fall inside bins; see `clique_falls`."""

    def is_pure(self, node: Node) -> bool:
        """Whether all counted samples of the node belong to one cluster."""


def _count_type(n_samples: int) -> Any:
    return np.int32 if n_samples < 2**31 else np.int64


def _mark_labels(labels: Any, n_clusters: int) -> Any:
    """Return labels of a partition as the kernels take them: the last one stands for no cluster."""
    marked = np.where(labels < 0, n_clusters, labels)
    return np.ascontiguousarray(marked, dtype=_label_type(n_clusters))


def _label_type(n_clusters: int) -> Any:
    return np.uint16 if n_clusters < 2**16 else np.uint32


def _label_marks(table: PartitionedTable, labels: Any, n_clusters: int) -> list[Any]:
    pieces = table.part_of_rows(labels, np.int64)
    tasks = table.workers.tasks("labels", _mark_labels, [(each, n_clusters) for each in pieces])
    return table.workers.keep(tasks)


class LabelSums:
    """Cliques: the labels of the rows tell everything."""

    def __init__(self, graph: CliqueGraph, trend: Side | None) -> None:
        self.labels, self.n_clusters = graph.labels, graph.n_clusters
        self.ledger = LabelLedger(graph, trend)
        self.tally = LabelTally(graph.n_clusters + 1, _count_type(graph.n_samples))

    def marks(self, table: PartitionedTable) -> list[Any]:
        return _label_marks(table, self.labels, self.n_clusters)

    def _clusters(self, node: Node) -> Ints:
        return np.concatenate([node.totals[None], self.ledger.per_cluster])

    def record(self, node: Node) -> Side:
        totals, weights, degrees, counted = self._clusters(node)
        inner = np.sum(weights * totals * (totals - 1))
        return Side(inner, np.sum(degrees * totals), np.sum(counted * totals))

    def fields(self, node: Node, segments: Segments) -> Fields:
        m, n_bins, _ = segments.cells.shape
        sums = np.empty((m, 6, n_bins + 1), dtype=np.int64)
        caps = np.empty((m, 2, n_bins + 1))
        clusters = self._clusters(node).astype(self.ledger.dtype)
        cells, starts = map(np.ascontiguousarray, (segments.cells, segments.starts))
        scan_histograms(cells, starts, clusters, self.ledger.rates, sums, caps)
        return Fields(sums, caps)

    def sides(self, node: Node, sums: Ints) -> tuple[Side, Side]:
        return both_sides(sums, self.record(node))

    def corners(
        self, node: Node, segments: Segments, fields: Fields, wanted: Bools, n_top: int
    ) -> Ints | None:
        if not self.ledger.is_concave:
            return None
        places = np.flatnonzero(wanted.any(axis=1))
        found = np.empty((np.count_nonzero(wanted), 2, 4, 1 << n_top), dtype=np.int64)
        cells, starts = map(np.ascontiguousarray, (segments.cells, segments.starts))
        clusters = self._clusters(node)
        corner_sums(cells, starts, places, wanted, clusters, n_top, fields.sums, found)
        return found

    def falls(self, node: Node, objective: Objective, left: Ints, inside: Ints) -> Falls | None:
        if not self.ledger.is_concave:
            return None
        return clique_falls(objective, self.record(node), self._clusters(node), left, inside)

    def is_pure(self, node: Node) -> bool:
        return bool(np.count_nonzero(node.totals[:-1]) <= 1)


class StarSums:
    """Samples joined to centres: the labels of the rows, and where the centres lie, tell everything."""

    def __init__(self, graph: StarGraph) -> None:
        self.graph = graph
        self.n_clusters = len(graph.centers)
        self.tally = LabelTally(self.n_clusters + 1, _count_type(graph.n_samples))
        self.degrees = np.zeros(self.n_clusters, dtype=np.int64)  # known once the root is counted

    def marks(self, table: PartitionedTable) -> list[Any]:
        return _label_marks(table, self.graph.labels, self.n_clusters)

    def _sizes(self, node: Node) -> Ints:
        """Return what every centre adds to the size."""
        sizes = np.zeros(self.n_clusters, dtype=np.int64)
        if self.graph.pairs == "any":
            sizes[node.centers] = 1
            return sizes
        bare = replace(self.graph, labels=np.zeros(0, dtype=np.int64))
        return bare.sizes_in(node.centers)

    def record(self, node: Node) -> Side:
        if not node.path:
            self.degrees = node.totals[:-1].astype(np.int64)
        inner = 2 * np.sum(node.totals[node.centers])
        volume = np.sum(node.totals[:-1]) + np.sum(self.degrees[node.centers])
        return Side(inner, volume, np.sum(self._sizes(node)))

    def fields(self, node: Node, segments: Segments) -> Fields:
        m, n_bins, _ = segments.cells.shape
        left = np.empty((m, n_bins + 1, self.n_clusters + 1), dtype=np.int64)
        left[:, 0] = segments.starts
        np.cumsum(segments.cells, axis=1, out=left[:, 1:])
        left[:, 1:] += segments.starts[:, None]
        inside = np.zeros(self.n_clusters, dtype=np.bool_)
        inside[node.centers] = True
        is_left = segments.centers[:, None, :] < np.arange(n_bins + 1)[:, None]
        is_left &= inside
        rows, totals = left[..., :-1], node.totals[:-1]
        samples = left.sum(axis=2)
        sums = [
            2 * np.sum(rows, axis=2, where=is_left),
            2 * np.sum(totals - rows, axis=2, where=inside & ~is_left),
            rows.sum(axis=2) + is_left @ self.degrees,
            is_left @ self._sizes(node),
            samples + np.count_nonzero(is_left, axis=2),
            samples,
        ]
        return Fields(np.stack(sums, axis=1).astype(np.int64), None)

    def sides(self, node: Node, sums: Ints) -> tuple[Side, Side]:
        return both_sides(sums, self.record(node))

    def corners(
        self, node: Node, segments: Segments, fields: Fields, wanted: Bools, n_top: int
    ) -> None:
        return

    def falls(self, node: Node, objective: Objective, left: Ints, inside: Ints) -> None:
        return

    def is_pure(self, node: Node) -> bool:
        return False


class CostSums:
    """Costs of serving the rows from every centre."""

    def __init__(self, graph: CenterCosts) -> None:
        self.graph = graph
        self.tally = AmountTally(graph.costs.shape[1] + 1)

    def marks(self, table: PartitionedTable) -> list[Any]:
        return table.workers.keep(table.part_of_rows(self.graph.costs, np.int64))

    def record(self, node: Node) -> Costs:
        return Costs(node.totals[:-1])

    def fields(self, node: Node, segments: Segments) -> Fields:
        m, n_bins, width = segments.cells.shape
        sums = np.empty((m, n_bins + 1, width + 1), dtype=np.int64)
        sums[:, 0, :-1] = segments.starts
        np.cumsum(segments.cells, axis=1, out=sums[:, 1:, :-1])
        sums[:, 1:, :-1] += segments.starts[:, None]
        sums[..., -1] = sums[..., -2]
        return Fields(np.ascontiguousarray(np.moveaxis(sums, 1, 2)), None)

    def sides(self, node: Node, sums: Ints) -> tuple[Costs, Costs]:
        left = np.moveaxis(sums[..., :-2, :], -2, -1)
        return Costs(left), Costs(node.totals[:-1] - left)

    def corners(
        self, node: Node, segments: Segments, fields: Fields, wanted: Bools, n_top: int
    ) -> None:
        return

    def falls(self, node: Node, objective: Objective, left: Ints, inside: Ints) -> None:
        return

    def is_pure(self, node: Node) -> bool:
        return False


class EdgeSums:
    """Sparse graphs: workers share the edges, and every one of them sees all bins.

    What a row adds on its own is counted as always; the two sums over edges, of those whose upper end and
    of those whose lower end lies in a bin, are counted apart and added. Cells:
    twice the weight of edges by their upper end, by their lower end, volume, and rows.
    """

    tally = AmountTally(4)

    def __init__(self, graph: SparseGraph) -> None:
        self.graph = graph

    def marks(self, table: PartitionedTable) -> list[Any]:
        self.table = table
        graph, workers = self.graph, table.workers
        n_parts = max(len(table.parts), -(-len(graph.heads) // _EDGES_PER_PART))
        shares = [
            worker.EdgePart(*share)
            for share in zip(
                np.array_split(graph.heads.astype(np.int32), n_parts),
                np.array_split(graph.tails.astype(np.int32), n_parts),
                np.array_split(2 * graph.weights, n_parts),
                strict=True,
            )
        ]
        held = [workers.hold(share, "edges") for share in shares]
        self.edges = workers.keep(workers.tasks("edges", worker.itself, [(each,) for each in held]))
        every = workers.tasks("all-codes", worker.all_codes, [(table.used, *table.parts)])
        self.codes = workers.keep(every)[0]
        nothing = np.zeros(table.shape[0], dtype=np.int64)
        amounts = np.column_stack([nothing, nothing, graph.degrees])
        return workers.keep(table.part_of_rows(amounts, np.int64))

    def record(self, node: Node) -> Side:
        inner, _, volume, size = node.totals
        return Side(inner, volume, size)

    def fields(self, node: Node, segments: Segments) -> Fields:
        m, n_bins, width = segments.cells.shape
        left = np.empty((m, n_bins + 1, width), dtype=np.int64)
        left[:, 0] = segments.starts
        np.cumsum(segments.cells, axis=1, out=left[:, 1:])
        left[:, 1:] += segments.starts[:, None]
        joined, parted, volume, rows = np.moveaxis(left, 2, 0)
        sums = joined, node.totals[0] - parted, volume, rows, rows, rows
        return Fields(np.stack(sums, axis=1), None)

    def sides(self, node: Node, sums: Ints) -> tuple[Side, Side]:
        return both_sides(sums, self.record(node))

    def corners(
        self, node: Node, segments: Segments, fields: Fields, wanted: Bools, n_top: int
    ) -> None:
        return

    def falls(self, node: Node, objective: Objective, left: Ints, inside: Ints) -> None:
        return

    def is_pure(self, node: Node) -> bool:
        return False

    def _nodes(self, sides: list[Any], paths: Sequence[worker.Path]) -> Any:
        """Return a task for the number of the node of every row."""
        workers, held = self.table.workers, self.table.workers.hold(paths)
        arguments = [(part, each, held) for part, each in zip(self.table.parts, sides, strict=True)]
        numbers = workers.tasks("nodes", worker.node_numbers, arguments)
        return workers.tasks("all-nodes", worker.concatenated, [tuple(numbers)])[0]

    def add_histograms(
        self, cells: Array, sides: list[Any], paths: Sequence[worker.Path], shift: int
    ) -> None:
        """Add the sums over edges to histograms of shape (n_nodes, n_features, n_bins, 4)."""
        workers, nodes = self.table.workers, self._nodes(sides, paths)
        arguments = [(edges, self.codes, nodes, cells.shape[:3], shift) for edges in self.edges]
        cells[..., :2] += workers.ask("edge-histograms", worker.edge_histograms, arguments)

    def add_totals(self, totals: Ints, sides: list[Any], paths: Sequence[worker.Path]) -> None:
        """Add the sums over edges to the cells of whole nodes."""
        nodes = self._nodes(sides, paths)
        arguments = [(edges, nodes, len(paths)) for edges in self.edges]
        totals[:, :2] += self.table.workers.ask("edge-totals", worker.edge_totals, arguments)[
            :, None
        ]

    def look(self, look: worker.Look, blocks: list[Any], sides: list[Any], n_places: int) -> Ints:
        """Return the sums over edges in numbered places, shape (n_places, 2)."""
        workers = self.table.workers
        held = workers.hold(look)
        arguments = [
            (part, block, each, held)
            for part, block, each in zip(self.table.parts, blocks, sides, strict=True)
        ]
        places = workers.tasks("places", worker.places_of, arguments)
        everywhere = workers.tasks("all-places", worker.concatenated, [tuple(places)])[0]
        meanings = [group.meaning for group in look.groups]
        request = workers.hold((meanings, n_places))
        found: Ints = workers.ask(
            "edge-look", worker.edge_look, [(edges, everywhere, request) for edges in self.edges]
        )
        return found


@singledispatch
def sums_of(graph: Graph, trend: Any) -> Sums | None:
    """Return how sums follow from counts for a graph's type, or None if it cannot be partitioned."""
    return None


@sums_of.register
def _(graph: CliqueGraph, trend: Any) -> Sums:
    return LabelSums(graph, trend)


@sums_of.register
def _(graph: StarGraph, trend: Any) -> Sums:
    return StarSums(graph)


@sums_of.register
def _(graph: CenterCosts, trend: Any) -> Sums:
    return CostSums(graph)


@sums_of.register
def _(graph: SparseGraph, trend: Any) -> Sums:
    return EdgeSums(graph)
