"""What the workers count for each kind of graph; how the sums at cuts follow is left to the graph's ledger."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from spexplain.aliases import Array, Bools, Ints
from spexplain.engines.dask import worker
from spexplain.engines.dask.bounds import Falls, Fields, Node, Segments, clique_falls
from spexplain.engines.dask.worker import AmountTally, LabelTally, Tally
from spexplain.graphs import (
    CenterCosts,
    CliqueGraph,
    Graph,
    MembershipGraph,
    SparseGraph,
    StarGraph,
    WeightedStar,
)
from spexplain.ledgers import (
    AmountLedger,
    CostLedger,
    EdgeLedger,
    LabelLedger,
    Ledger,
    MembershipLedger,
    StarLedger,
)
from spexplain.ledgers.labels import CountedBins, label_type
from spexplain.objectives import Objective
from spexplain.records import Side
from spexplain.table.partitioned import CodedTable
from spexplain.table.workers import Held

_EDGES_PER_PART = 1 << 22


class Above(NamedTuple):
    """What the workers must know about the splits above some nodes to find the rows of these nodes."""

    splits: Held
    blocks: Sequence[Sequence[Any]]  # further ones that splits look at, each for all partitions

    def arguments(
        self, request: Held, *columns: Sequence[Any], last: Sequence[Sequence[Any]] = ()
    ) -> list[tuple[Any, ...]]:
        """Return what every partition's function takes: its columns, the splits, the request, and blocks."""
        n_columns = len(columns)
        return [
            (*each[:n_columns], self.splits, request, *each[n_columns:])
            for each in zip(*columns, *self.blocks, *last, strict=True)
        ]


class Sums(ABC):
    """What the search asks of a kind of graph.

    Attributes
    ----------
    tally : LabelTally or AmountTally
        What the workers count.
    ledger : Ledger
        How sums follow from what was counted.
    """

    tally: Tally
    ledger: Ledger

    @abstractmethod
    def marks(self, table: CodedTable) -> list[Any]:
        """Return what the workers count of every row, partition by partition."""

    @abstractmethod
    def record(self, node: Node) -> Any:
        """Return the record of sums over a node."""

    @abstractmethod
    def fields(self, node: Node, segments: Segments) -> Fields:
        """Return the sums at all borders of the segments."""

    def sides(self, node: Node, sums: Ints) -> tuple[Any, Any]:
        """Return the records left and right of the cuts that have these sums."""
        return self.ledger.sides(None, self.record(node), sums)

    def corners(
        self, node: Node, segments: Segments, fields: Fields, wanted: Bools, n_top: int
    ) -> Ints | None:
        """Return the sums of bins with their largest clusters on either side; see `corner_bounds`."""
        return None

    def falls(self, node: Node, objective: Objective, left: Ints, inside: Ints) -> Falls | None:
        """Return how fast the score can fall inside bins; see `clique_falls`."""
        return None

    def is_pure(self, node: Node) -> bool:
        """Whether all counted samples of the node belong to one cluster."""
        return False

    # Cells of shape (n_groups, width): what a node has of every category.

    def check_groups(self) -> None:
        """Refuse graphs whose sums do not follow from those of single categories."""
        raise NotImplementedError(
            f'engine="dask" finds sets of categories for labels, not for a {type(self.ledger.graph).__name__}; use '
            'engine="histogram" with a table in memory, or leave these columns out by features=.'
        )

    def group_profiles(self, cells: Ints) -> Ints:
        """Return amounts by which categories can be ordered."""
        raise NotImplementedError

    def group_sides(self, node: Node, cells: Ints, subsets: Bools) -> tuple[Any, Any]:
        """Return the records of both sides of cuts that send sets of categories left."""
        raise NotImplementedError


def _label_tally(n_labels: int, n_samples: int) -> LabelTally:
    return LabelTally(n_labels, np.int32 if n_samples < 2**31 else np.int64)


def _label_marks(table: CodedTable, labels: Any, n_labels: int) -> list[Any]:
    pieces = table.kept_rows(labels, np.int64)
    tasks = table.workers.tasks("labels", _mark_labels, [(each, n_labels) for each in pieces])
    return table.workers.keep(tasks)


def _mark_labels(labels: Any, n_labels: int) -> Any:
    """Return labels of a partition as the kernels take them: the last one stands for no cluster."""
    marked = np.where(labels < 0, n_labels - 1, labels)
    return np.ascontiguousarray(marked, dtype=label_type(n_labels))


class LabelSums(Sums):
    """Cliques: everything follows from the labels of the rows."""

    ledger: LabelLedger

    def __init__(self, graph: CliqueGraph, trend: Side | None) -> None:
        self.graph, self.ledger = graph, LabelLedger(graph, trend)
        self.tally = _label_tally(self.ledger.n_labels, graph.n_samples)

    def marks(self, table: CodedTable) -> list[Any]:
        return _label_marks(table, self.graph.labels, self.ledger.n_labels)

    def record(self, node: Node) -> Side:
        return Side(*self.ledger.sums(node.totals))

    def fields(self, node: Node, segments: Segments) -> Fields:
        m, n_bins, _ = segments.cells.shape
        sums = np.empty((m, self.ledger.n_fields, n_bins + 1), dtype=np.int64)
        caps = np.empty((m, 2, n_bins + 1))
        cells, starts = map(np.ascontiguousarray, (segments.cells, segments.starts))
        self.ledger.fields_of(cells, starts, self.ledger.clusters(node.totals), sums, caps)
        return Fields(sums, caps)

    def corners(
        self, node: Node, segments: Segments, fields: Fields, wanted: Bools, n_top: int
    ) -> Ints | None:
        cells, starts = map(np.ascontiguousarray, (segments.cells, segments.starts))
        counted = CountedBins(cells, starts, fields.sums)
        clusters = self.ledger.clusters(node.totals)
        return self.ledger.corners_of(counted, clusters, wanted, n_top)

    def falls(self, node: Node, objective: Objective, left: Ints, inside: Ints) -> Falls | None:
        if not self.ledger.is_concave:
            return None
        clusters = self.ledger.clusters(node.totals).sums
        return clique_falls(objective, self.record(node), clusters, left, inside)

    def is_pure(self, node: Node) -> bool:
        return self.ledger.has_one_cluster(node.totals)

    def check_groups(self) -> None:
        """Labels can be counted in every set."""

    def group_profiles(self, cells: Ints) -> Ints:
        return cells[:, :-1]

    def group_sides(self, node: Node, cells: Ints, subsets: Bools) -> tuple[Side, Side]:
        left = subsets.astype(np.int64) @ cells
        return Side(*self.ledger.sums(left)), Side(*self.ledger.sums(node.totals - left))


class StarSums(Sums):
    """Samples joined to centres: everything follows from the labels of the rows and the places of the centres."""

    ledger: StarLedger

    def __init__(self, graph: StarGraph) -> None:
        self.graph, self.ledger = graph, StarLedger(graph)
        self.tally = _label_tally(self.ledger.n_labels, graph.n_samples)

    def marks(self, table: CodedTable) -> list[Any]:
        return _label_marks(table, self.graph.labels, self.ledger.n_labels)

    def record(self, node: Node) -> Side:
        if not node.path:  # the root knows how many samples every centre has
            self.ledger.center_degrees = node.totals[:-1].astype(np.int64)
        return Side(*self.ledger.sums(node.totals, node.centers))

    def fields(self, node: Node, segments: Segments) -> Fields:
        m, n_bins, _ = segments.cells.shape
        sums = np.empty((m, 6, n_bins + 1), dtype=np.int64)
        cells, starts = map(np.ascontiguousarray, (segments.cells, segments.starts))
        table = self.ledger.table(node.totals, node.centers)
        places = segments.centers[:, node.centers]
        self.ledger.fields_of(cells, starts, table, places, sums, has_centers=False)
        return Fields(sums, None)


class AmountSums(Sums):
    """Amounts of the rows: what serving them from every centre costs, or what each cluster has of them."""

    ledger: AmountLedger

    def __init__(self, ledger: AmountLedger) -> None:
        self.ledger = ledger
        self.tally = AmountTally(ledger.amounts.shape[1] + 1)

    def marks(self, table: CodedTable) -> list[Any]:
        return table.workers.keep(table.part_of_rows(self.ledger.amounts, np.int64))

    def record(self, node: Node) -> Any:
        return self.ledger.record_of(node.totals[:-1])

    def fields(self, node: Node, segments: Segments) -> Fields:
        return Fields(AmountLedger.fields_of(segments.cells, segments.starts), None)

    def sides(self, node: Node, sums: Ints) -> tuple[Any, Any]:
        first, second = self.ledger.sides(node.totals[:-1], self.record(node), sums)
        return first, second

    def is_pure(self, node: Node) -> bool:
        return self.ledger.is_pure(node.totals[:-1])

    def check_groups(self) -> None:
        """Amounts can be summed over every set."""

    def group_profiles(self, cells: Ints) -> Ints:
        return cells[:, :-1]

    def group_sides(self, node: Node, cells: Ints, subsets: Bools) -> tuple[Any, Any]:
        left = subsets.astype(np.int64) @ cells[:, :-1]
        return self.ledger.record_of(left), self.ledger.record_of(node.totals[:-1] - left)


class EdgeSums(Sums):
    """Sparse graphs: workers share the edges, and every one of them sees all bins.

    What a row adds on its own is counted as always; the two sums over edges, of those whose upper end and
    of those whose lower end lies in a bin, are counted apart and added.
    """

    tally = AmountTally(4)
    ledger: EdgeLedger

    def __init__(self, graph: SparseGraph) -> None:
        self.graph, self.ledger = graph, EdgeLedger(graph)

    def marks(self, table: CodedTable) -> list[Any]:
        self.table = table
        graph, workers = self.graph, table.workers
        n_parts = max(len(table.parts), -(-len(graph.heads) // _EDGES_PER_PART))
        shares = [
            worker.EdgePart(*share)
            for share in zip(
                np.array_split(graph.heads.astype(np.int32), n_parts),
                np.array_split(graph.tails.astype(np.int32), n_parts),
                np.array_split(self.ledger.twice_weights, n_parts),
                strict=True,
            )
        ]
        held = [workers.hold(share, "edges") for share in shares]
        self.edges = workers.keep(workers.tasks("edges", worker.itself, [(each,) for each in held]))
        every = workers.tasks("all-codes", worker.all_codes, [(table.used, *table.parts)])
        self.codes = workers.keep(every)[0]
        # Loops join and leave where their vertex does.
        loops = self.ledger.loops
        amounts = np.column_stack([loops, loops, graph.degrees])
        return workers.keep(table.part_of_rows(amounts, np.int64))

    def record(self, node: Node) -> Side:
        inner, _, volume, size = node.totals
        return Side(inner, volume, size)

    def fields(self, node: Node, segments: Segments) -> Fields:
        record = self.record(node)
        return Fields(EdgeLedger.fields_of(segments.cells, segments.starts, record), None)

    def _nodes(self, above: Above, paths: Sequence[worker.Path]) -> Any:
        """Return a task for the number of the node of every row."""
        workers, held = self.table.workers, self.table.workers.hold(paths)
        arguments = above.arguments(held, self.table.parts)
        numbers = workers.tasks("nodes", worker.node_numbers, arguments)
        return workers.tasks("all-nodes", worker.concatenated, [tuple(numbers)])[0]

    def add_histograms(
        self, cells: Array, above: Above, paths: Sequence[worker.Path], shift: int
    ) -> None:
        """Add the sums over edges to histograms of shape (n_nodes, n_features, n_bins, 4)."""
        workers, nodes = self.table.workers, self._nodes(above, paths)
        arguments = [(edges, self.codes, nodes, cells.shape[:3], shift) for edges in self.edges]
        cells[..., :2] += workers.ask("edge-histograms", worker.edge_histograms, arguments)

    def add_totals(self, totals: Ints, above: Above, paths: Sequence[worker.Path]) -> None:
        """Add the sums over edges to the cells of whole nodes."""
        nodes = self._nodes(above, paths)
        arguments = [(edges, nodes, len(paths)) for edges in self.edges]
        totals[:, :2] += self.table.workers.ask("edge-totals", worker.edge_totals, arguments)[
            :, None
        ]

    def look(self, look: worker.Look, above: Above, n_places: int) -> Ints:
        """Return the sums over edges in numbered places, shape (n_places, 2)."""
        workers = self.table.workers
        arguments = above.arguments(workers.hold(look), self.table.parts)
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
    return AmountSums(CostLedger(graph, trend))


@sums_of.register
def _(graph: MembershipGraph, trend: Any) -> Sums:
    return AmountSums(MembershipLedger(graph, trend))


@sums_of.register
def _(graph: WeightedStar, trend: Any) -> None:
    """Their edges are walked, which partitions cannot."""
    return


@sums_of.register
def _(graph: SparseGraph, trend: Any) -> Sums:
    return EdgeSums(graph)
