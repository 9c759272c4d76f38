"""The search of IMM among very many centres, whose cost hardly depends on the depth of the tree.

IMM often cuts off one centre after the other, so that searching every node anew costs the rows of the table
once per centre. Here the larger part of a node takes over what is known of it, less the edges that the cut
took away: a vertex that changes hands moves to a part of at most half the places, which happens O(log n) times,
and each time its edges cost O(log n) a feature (`spexplain.kernels.mistakes`).
The cut is the one that `NumpyEngine` finds, to the last tie.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spexplain.aliases import Array, Bools, Floats, Ints
from spexplain.engines.base import searches_empty_sides
from spexplain.engines.exhaustive import midpoint
from spexplain.graphs import StarGraph
from spexplain.kernels import mistakes
from spexplain.kernels.coding import values_of
from spexplain.ledgers.edges import InnerNeighbors, neighbor_lists
from spexplain.memory import check_memory
from spexplain.objectives import Objective
from spexplain.objectives.crossing import parted_samples
from spexplain.records import Cut, Side
from spexplain.table.views import SearchedMatrix
from spexplain.threads import Threads, blocks_of

_MANY_CENTERS = 256  # from which on sorting every column pays
_N_SHARED = 1 << 16  # entries times features from which on threads share the features


def takes_mistakes(matrix: SearchedMatrix, objective: Objective) -> bool:
    """Whether `MistakeSearch` finds the cuts of a table under an objective, and faster than bins do."""
    graph = objective.graph
    return (
        objective.score is parted_samples
        and isinstance(graph, StarGraph)
        and len(graph.centers) >= _MANY_CENTERS
        and bool(np.isnan(matrix.filling).all())  # a node with missing values is split in two ways
    )


@dataclass
class SortedGaps:
    """The vertices of a node, some of which may have left it, and what every gap between them parts.

    Shapes, for m vertices: order, place and sums (n_features, m), see `spexplain.kernels.mistakes`.
    """

    members: Array  # int32: the vertices by local number
    is_inside: Bools  # which of them are still in the node
    near: InnerNeighbors  # in local numbers
    order: Array
    place: Array
    sums: Ints
    least: Ints
    added: Ints
    ends: Ints  # shape (4, n_features)


@dataclass
class MistakeNode:
    """A node: the gaps between its vertices or, where nothing is to be searched, the vertices alone."""

    record: Side
    n_members: int
    n_samples: int
    gaps: SortedGaps | None
    rows: Array | None = None
    parts: "tuple[MistakeNode, MistakeNode] | None" = None  # one of which took the gaps over

    @property
    def n_centers(self) -> int:
        return self.n_members - self.n_samples

    def members(self) -> Array:
        """Return the vertices of the node, ascending."""
        found, waiting = [], [self]
        while waiting:
            node = waiting.pop()
            if node.parts is not None:
                waiting += node.parts
            elif node.gaps is not None:
                found.append(node.gaps.members[node.gaps.is_inside])
            else:
                assert node.rows is not None
                found.append(node.rows)
        return np.sort(np.concatenate(found))


class MistakeSearch:
    """The cuts of one table that part the fewest samples from their centres.

    Parameters
    ----------
    matrix : SearchedMatrix
        The table.
    extra : array of float, shape (n_features, n_centers)
        The centres.
    objective : Objective
        IMM's.
    threads : Threads
        Share the features.
    min_samples_leaf : int
        Samples that a cut must leave on both sides.
    """

    def __init__(
        self,
        matrix: SearchedMatrix,
        extra: Floats,
        objective: Objective,
        threads: Threads,
        min_samples_leaf: int,
    ) -> None:
        self.matrix, self.extra, self.objective = matrix, extra, objective
        self.threads, self.min_samples_leaf = threads, min_samples_leaf
        graph = objective.graph
        assert isinstance(graph, StarGraph)
        self.graph, self.n_features = graph, matrix.shape[1]
        n_values = self.n_features * self.n_vertices
        check_memory(
            3 * 8 * n_values,
            f"The sums of {n_values:,} gaps between values",
            "take fewer rows or columns",
        )
        self.near, self.degrees = neighbor_lists(graph), graph.degrees
        self._local_of = np.full(self.n_vertices, -1, dtype=np.int32)

    @property
    def n_vertices(self) -> int:
        """Number of samples and centres."""
        return self.graph.n_samples + len(self.graph.centers)

    def root(self) -> MistakeNode:
        return self._built(np.arange(self.n_vertices, dtype=np.int32))

    def size(self, node: MistakeNode) -> int:
        return node.n_samples

    def value(self, node: MistakeNode) -> float:
        return self.objective.leaf_value(node.record)

    def _built(self, rows: Array) -> MistakeNode:
        """Return a node of these ascending vertices, with its columns sorted."""
        order = np.empty((self.n_features, len(rows)), dtype=np.int32)

        def sort(block: slice) -> None:
            for feature in range(block.start, block.stop):
                values = values_of(self.matrix, self.extra, feature, rows)
                order[feature] = np.argsort(values, kind="stable")

        with self.threads as threads:
            threads.map(sort, self._blocks(len(rows)))
        gaps = self._gaps(rows, order)
        inner = int(gaps.near.weights.sum())  # every edge is listed at both of its ends
        n_samples = int(np.searchsorted(rows, self.graph.n_samples))
        return MistakeNode(self._record(rows, inner), len(rows), n_samples, gaps)

    def _record(self, rows: Array, inner: int) -> Side:
        centers = np.sort(rows[rows >= self.graph.n_samples]).astype(np.int64)
        size = int(self.graph.center_sizes(centers - self.graph.n_samples).sum())
        return Side(inner, int(self.degrees[rows].sum()), size)

    def _blocks(self, n_entries: int) -> list[slice]:
        """Return the features in blocks; few entries are not worth waking another thread."""
        n_threads = self.threads.n_threads if n_entries * self.n_features > _N_SHARED else 1
        return blocks_of(self.n_features, -(-self.n_features // n_threads))

    def _gaps(self, members: Array, order: Array) -> SortedGaps:
        """Return the gaps of a node from the orders of its vertices."""
        m, d, near = len(members), self.n_features, self.near
        room = int((near.indptr[members + 1] - near.indptr[members]).sum())
        local = InnerNeighbors(
            np.empty(m + 1, dtype=np.int64),
            np.empty(room, dtype=np.int32),
            np.empty(room, dtype=np.int64),
        )
        n_edges = mistakes.number_neighbors(members, *near, self._local_of, *local)
        local = InnerNeighbors(local.indptr, local.neighbors[:n_edges], local.weights[:n_edges])
        n_buckets = 1 << (-(-m // mistakes.BUCKET) - 1).bit_length()
        place, sums = np.empty((d, m), dtype=np.int32), np.empty((d, m), dtype=np.int64)
        least, added = np.zeros((2, d, 2 * n_buckets), dtype=np.int64)

        def sum_gaps(block: slice) -> None:
            some: Any = [each[block] for each in (order, place, sums, least, added)]
            mistakes.sum_gaps(self.matrix, self.extra, members, *local, block.start, *some)

        with self.threads as threads:
            threads.map(sum_gaps, self._blocks(m + n_edges))
        ends = np.repeat([[0], [m - 1], [0], [m - 1]], d, axis=1)
        return SortedGaps(
            members, np.ones(m, dtype=np.bool_), local, order, place, sums, least, added, ends
        )

    def best_cuts(self, nodes: Sequence[MistakeNode], rival: float = np.inf) -> list[Cut | None]:
        return [self._best_cut(node) for node in nodes]

    def _best_cut(self, node: MistakeNode) -> Cut | None:
        if node.n_centers < 2:
            return None
        gaps = self._gaps_of(node)
        cut = self._best_with(node, gaps, self.min_samples_leaf)
        if cut is None and searches_empty_sides(self.objective, self.min_samples_leaf):
            cut = self._best_with(node, gaps, 0)
        return cut

    def _gaps_of(self, node: MistakeNode) -> SortedGaps:
        """Return the gaps of a node, built anew if it was split already."""
        if node.gaps is None:
            built = self._built(node.members()).gaps
            assert built is not None
            return built
        return node.gaps

    def _best_with(self, node: MistakeNode, gaps: SortedGaps, min_samples: int) -> Cut | None:
        starts, stops, best, places = np.empty((4, self.n_features), dtype=np.int64)
        mistakes.find_ends(
            gaps.members, gaps.is_inside, gaps.order, self.graph.n_samples, min_samples, gaps.ends, starts, stops
        )  # fmt: skip
        if self.graph.pairs != "any":
            pair = self._furthest(gaps)
            np.maximum(starts, gaps.place[:, pair].min(axis=1), out=starts)
            np.minimum(stops, gaps.place[:, pair].max(axis=1), out=stops)
        mistakes.least_gaps(gaps.sums, gaps.least, gaps.added, starts, stops, best, places)
        feature = int(np.argmin(best))  # the first of equals
        if places[feature] < 0:
            return None
        around = mistakes.vertices_around(gaps.order, gaps.is_inside, feature, places[feature])
        low, high = (
            float(values_of(self.matrix, self.extra, feature, gaps.members[[each]])[0])
            for each in around
        )
        score = float(best[feature])
        return Cut(
            feature,
            midpoint(low, high),
            score,
            float(self.objective.priority(score, node.record)),
        )

    def _furthest(self, gaps: SortedGaps) -> Ints:
        """Return the local numbers of the two centres that a cut must part."""
        locals_ = np.flatnonzero(gaps.is_inside & (gaps.members >= self.graph.n_samples))
        locals_ = locals_[np.argsort(gaps.members[locals_])]
        sizes = self.graph.center_sizes(
            gaps.members[locals_].astype(np.int64) - self.graph.n_samples
        )
        return locals_[sizes > 0]

    def split(self, node: MistakeNode, cut: Cut) -> tuple[MistakeNode, MistakeNode]:
        gaps = self._gaps_of(node)
        if cut.lower > -np.inf:  # a test of an earlier tree
            rows = np.sort(gaps.members[gaps.is_inside])
            values = values_of(self.matrix, self.extra, cut.feature, rows)
            is_left = (cut.lower < values) & (values <= cut.threshold)
            leaves_left = 2 * int(np.count_nonzero(is_left)) <= len(rows)
            leaving = np.flatnonzero(np.isin(gaps.members, rows[is_left == leaves_left]))
            return self._parted(node, gaps, leaving, leaves_left=leaves_left)
        side = np.empty(len(gaps.members), dtype=np.int64)
        n, leaves_left = mistakes.smaller_side(
            self.matrix,
            self.extra,
            gaps.members,
            gaps.is_inside,
            gaps.order,
            gaps.ends,
            cut.feature,
            cut.threshold,
            side,
        )
        return self._parted(node, gaps, side[:n], leaves_left=leaves_left)

    def _parted(
        self, node: MistakeNode, gaps: SortedGaps, leaving: Ints, *, leaves_left: bool
    ) -> tuple[MistakeNode, MistakeNode]:
        """Return both parts of a node, one of which leaves it; the other takes the gaps over."""
        near, rows = gaps.near, gaps.members[leaving]
        is_leaving = np.zeros(len(gaps.members), dtype=np.bool_)
        is_leaving[leaving] = True
        room = int((near.indptr[leaving + 1] - near.indptr[leaving]).sum())
        ends, weights = np.empty((2, room), dtype=np.int32), np.empty(room, dtype=np.int64)
        n_edges, together, parted = mistakes.list_edges(
            leaving, is_leaving, gaps.is_inside, *near, ends, weights
        )
        n_samples = int(np.count_nonzero(rows < self.graph.n_samples))
        small = MistakeNode(
            self._record(rows, 2 * together), len(rows), n_samples, None, rows=np.sort(rows)
        )
        if small.n_centers > 1:
            order = np.argsort(gaps.place[:, leaving], axis=1).astype(np.int32)
            small.gaps = self._gaps(rows, order)
        record = node.record
        inner, volume = record.inner - 2 * (together + parted), record.volume - small.record.volume
        large = MistakeNode(
            Side(inner, volume, record.size - small.record.size),
            node.n_members - small.n_members,
            node.n_samples - small.n_samples,
            gaps,
        )
        gaps.is_inside[leaving] = False
        if large.n_centers < 2:
            large.gaps, large.rows = None, np.sort(gaps.members[gaps.is_inside])
        elif 2 * large.n_members < len(gaps.members):
            large.gaps = self._compacted(gaps)
        else:
            self._drop(gaps, ends[:, :n_edges], weights[:n_edges])
        if self.graph.pairs != "any":
            size = self._record(large.members(), 0).size
            large.record = large.record._replace(size=size)
        node.gaps, node.rows = None, None
        node.parts = (small, large) if leaves_left else (large, small)
        return node.parts

    def _compacted(self, gaps: SortedGaps) -> SortedGaps:
        """Return the gaps of the vertices that are left."""
        inside = np.flatnonzero(gaps.is_inside)
        order = np.argsort(gaps.place[:, inside], axis=1).astype(np.int32)
        return self._gaps(gaps.members[inside], order)

    def _drop(self, gaps: SortedGaps, ends: Array, weights: Ints) -> None:
        """Take edges away."""

        def drop(block: slice) -> None:
            some = (each[block] for each in (gaps.place, gaps.sums, gaps.least, gaps.added))
            mistakes.drop_edges(ends, weights, *some)

        if len(weights):
            with self.threads as threads:
                threads.map(drop, self._blocks(8 * len(weights)))
