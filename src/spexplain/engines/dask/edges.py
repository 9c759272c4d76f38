"""Sparse graphs over partitions: workers share the edges, and every one of them sees all bins.

What a row adds on its own is counted as always; the two sums over edges, of those whose upper end and
of those whose lower end lies in a bin, are counted here and added.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from spexplain.aliases import Array, Bools, Ints
from spexplain.engines.dask.looks import Look
from spexplain.engines.dask.records import Fields, Node, Segments
from spexplain.engines.dask.tallies import AmountTally
from spexplain.graphs import SparseGraph
from spexplain.objectives import Objective
from spexplain.objectives.bounds import both_sides
from spexplain.records import Side
from spexplain.table import partition_tasks as parts
from spexplain.table.partition_tasks import Part, Path
from spexplain.table.partitioned import DaskTable

_EDGES_PER_PART = 1 << 22
_INDEX_BITS = 22  # of a place on a feature: which stretch between edges; above them, the bin


class EdgePart(NamedTuple):
    """A share of the edges: both ends, and twice the weight."""

    heads: Array
    tails: Array
    twice: Ints


class EdgeSums:
    """Cells: twice the weight of edges by their upper end, by their lower end, volume, and rows."""

    tally = AmountTally(4)

    def __init__(self, graph: SparseGraph) -> None:
        self.graph = graph

    def marks(self, table: DaskTable) -> list[Any]:
        self.table = table
        graph, workers = self.graph, table.workers
        n_parts = max(len(table.parts), -(-len(graph.heads) // _EDGES_PER_PART))
        shares = [
            EdgePart(*share)
            for share in zip(
                np.array_split(graph.heads.astype(np.int32), n_parts),
                np.array_split(graph.tails.astype(np.int32), n_parts),
                np.array_split(2 * graph.weights, n_parts),
                strict=True,
            )
        ]
        held = [workers.hold(share, "edges") for share in shares]
        self.edges = workers.keep(workers.tasks("edges", _itself, [(each,) for each in held]))
        every = workers.tasks("all-codes", _all_codes, [(table.parts, table.columns)])
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

    def _nodes(self, sides: list[dict[int, Any]], paths: Sequence[Path]) -> Any:
        """Return a task for the number of the node of every row."""
        workers, held = self.table.workers, self.table.workers.hold(paths)
        arguments = [(part, each, held) for part, each in zip(self.table.parts, sides, strict=True)]
        numbers = workers.tasks("nodes", node_numbers, arguments)
        return workers.tasks("all-nodes", _concatenated, [(numbers,)])[0]

    def add_histograms(
        self, cells: Array, sides: list[dict[int, Any]], paths: Sequence[Path], shift: int
    ) -> None:
        """Add the sums over edges to histograms of shape (n_nodes, n_features, n_bins, 4)."""
        workers, nodes = self.table.workers, self._nodes(sides, paths)
        arguments = [(edges, self.codes, nodes, cells.shape[:3], shift) for edges in self.edges]
        cells[..., :2] += workers.ask("edge-histograms", edge_histograms, arguments)

    def add_totals(self, totals: Ints, sides: list[dict[int, Any]], paths: Sequence[Path]) -> None:
        """Add the sums over edges to the cells of whole nodes."""
        nodes = self._nodes(sides, paths)
        arguments = [(edges, nodes, len(paths)) for edges in self.edges]
        totals[:, :2] += self.table.workers.ask("edge-totals", edge_totals, arguments)[:, None]

    def look(
        self, look: Look, blocks: list[Any], sides: list[dict[int, Any]], n_places: int
    ) -> Ints:
        """Return the sums over edges in numbered places, shape (n_places, 2)."""
        workers = self.table.workers
        held = workers.hold(look)
        arguments = [
            (part, block, each, held)
            for part, block, each in zip(self.table.parts, blocks, sides, strict=True)
        ]
        places = workers.tasks("places", places_of, arguments)
        everywhere = workers.tasks("all-places", _concatenated, [(places,)])[0]
        meanings = [group.meaning for group in look.groups]
        request = workers.hold((meanings, n_places))
        found: Ints = workers.ask(
            "edge-look", edge_look, [(edges, everywhere, request) for edges in self.edges]
        )
        return found


def _itself(value: Any) -> Any:
    return value


def _all_codes(all_parts: list[Part], columns: Ints) -> Array:
    return np.concatenate([part.codes[columns] for part in all_parts], axis=1)


def _concatenated(pieces: list[Array]) -> Array:
    return np.concatenate(pieces, axis=-1)


def node_numbers(part: Part, sides: Mapping[int, Array], paths: Sequence[Path]) -> Array:
    """Return which of the nodes each row of a partition lies in; -1 for none."""
    numbers = np.full(part.codes.shape[1], -1, dtype=np.int16)
    for number, path in enumerate(paths):
        numbers[parts.rows_of(len(numbers), path, sides)] = number
    return numbers


def edge_histograms(
    edges: EdgePart, codes: Array, nodes: Array, shape: tuple[int, int, int], shift: int
) -> Ints:
    """Return the sums over edges inside nodes by the bins of their upper and of their lower ends."""
    node, inside = _inside(edges, nodes)
    heads, tails, twice = (each[inside] for each in edges)
    found = np.zeros((*shape, 2), dtype=np.int64)
    for feature in range(shape[1]):
        first, second = codes[feature, heads] >> shift, codes[feature, tails] >> shift
        flat = found[:, feature].reshape(-1, 2)  # a copy unless there is one feature
        np.add.at(flat[:, 0], node * shape[2] + np.maximum(first, second), twice)
        np.add.at(flat[:, 1], node * shape[2] + np.minimum(first, second), twice)
        found[:, feature] = flat.reshape(shape[0], shape[2], 2)
    return found


def edge_totals(edges: EdgePart, nodes: Array, n_nodes: int) -> Ints:
    """Return twice the weight of the edges inside each node."""
    node, inside = _inside(edges, nodes)
    found = np.zeros(n_nodes, dtype=np.int64)
    np.add.at(found, node, edges.twice[inside])
    return found


def _inside(edges: EdgePart, nodes: Array) -> tuple[Array, Bools]:
    """Return the nodes of the edges that lie inside one, and which these are."""
    node = nodes[edges.heads]
    inside = (node >= 0) & (node == nodes[edges.tails])
    return node[inside].astype(np.int64), inside


def places_of(part: Part, block: Any, sides: Mapping[int, Array], look: Look) -> Array:
    """Return where every row lies on the feature of each group: bin, then stretch; -1 outside the node."""
    X = parts.as_matrix(block)
    n_rows = part.codes.shape[1]
    found = np.full((len(look.groups), n_rows), -1, dtype=np.int32)
    rows_in = [parts.rows_of(n_rows, path, sides) for path in look.paths]
    for place, group in enumerate(look.groups):
        rows = rows_in[group.node]
        codes = part.codes[group.feature, rows].astype(np.int32)
        values = X[rows, look.columns[group.feature]].astype(np.float64, copy=False)
        stretch = np.where(group.codes[codes], np.searchsorted(group.edges, values), 0)
        found[place, rows] = codes << _INDEX_BITS | stretch
    return found


def edge_look(edges: EdgePart, places: Array, request: tuple[list[Ints], int]) -> Ints:
    """Return the sums over edges by the places of their upper and of their lower ends."""
    meanings, n_places = request
    found = np.zeros((n_places, 2), dtype=np.int64)
    for place, meaning in zip(places, meanings, strict=True):
        first, second = place[edges.heads], place[edges.tails]
        inside = (first >= 0) & (second >= 0)
        first, second, twice = first[inside], second[inside], edges.twice[inside]
        for end, which in enumerate((np.maximum(first, second), np.minimum(first, second))):
            number = meaning[which & ((1 << _INDEX_BITS) - 1)]
            np.add.at(found[:, end], number[number >= 0], twice[number >= 0])
    return found
