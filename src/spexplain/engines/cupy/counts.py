"""Sums of cliques and stars on the device: counting labels replaces walking edges."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from spexplain.aliases import Array, Bools, Ints
from spexplain.engines.cupy.memory import Kept
from spexplain.graphs import CliqueGraph, StarGraph
from spexplain.kernels.cuda.records import Block, Borders, Jobs, Node, Places
from spexplain.records import Side

_MOST_LABELS = 40_000  # whose counters fit shared memory


class LabelCounts:
    """What cliques and stars share: histograms of labels, the larger sibling's by subtraction."""

    needs_parts = False
    is_wide = False  # whether sums exceed what doubles hold

    def __init__(
        self, kernels: Any, labels: Array, n_labels: int, n_borders: int, kept: Kept
    ) -> None:
        if n_labels > _MOST_LABELS:
            raise ValueError(
                f'engine="cupy" counts up to {_MOST_LABELS} clusters, got {n_labels - 1}; use '
                'engine="histogram".'
            )
        self.kernels, self.n_labels, self.n_borders = kernels, n_labels, n_borders
        # Samples of no cluster, -1, become one more cluster whose edges weigh nothing.
        on_device = kernels.xp.asarray(labels.astype(np.uint16, copy=False))
        self.labels = kernels.xp.where(on_device == 2**16 - 1, np.uint16(n_labels - 1), on_device)
        self.kept = kept

    def order(self) -> None:
        """Any order of the rows will do."""
        return

    def histograms(
        self, nodes: Sequence[Node], block: Block, *, keep: bool
    ) -> tuple[list[Any], bool]:
        """Return the counted histograms of one node or of siblings, the smaller first.

        Also whether the second is its parent's still, from which the first is to be taken away.
        """
        shape = block.n_features, self.n_labels, self.n_borders
        of_parent = self.kept.of_parent(nodes) if keep else None
        counted = []
        for node in nodes if of_parent is None else nodes[:1]:
            counted.append(self.kernels.xp.zeros(shape, dtype=np.int32))
            self.kernels.count_labels(block, node.rows, self.labels, counted[-1])
        if of_parent is not None:
            counted.append(of_parent)
        if keep:
            self.kept.keep(nodes, counted)
        return counted, of_parent is not None


class CliqueCounts(LabelCounts):
    """Cliques: a sample adds to the inner weight with every earlier one of its cluster."""

    def __init__(
        self, kernels: Any, graph: CliqueGraph, trend: Any, n_borders: int, kept: Kept
    ) -> None:
        n_clusters = graph.n_clusters
        super().__init__(kernels, graph.labels, n_clusters + 1, n_borders, kept)
        self.graph = graph
        degrees = graph.weights * (graph.cluster_sizes - 1)
        self.is_wide = float(np.sum(degrees * graph.cluster_sizes)) >= 2.0**52
        of_clusters = np.zeros((3, n_clusters + 1), dtype=np.int64)
        of_clusters[:, :-1] = graph.weights, degrees, np.ones_like(degrees)
        rates = graph.weights.astype(np.float64)
        if trend is not None and trend.volume > 0:
            rates = 1 / np.maximum(graph.cluster_sizes - 1, 1)
        # Where the score is concave in the samples of one cluster, bins are bounded with their
        # largest cluster wholly on either side.
        self.with_moves = (
            trend is not None and trend.inner < 0 and max(trend.volume, trend.size) > 0
        )
        self.clusters = kernels.xp.asarray(of_clusters)
        # Enlarged by more than rounding can take away.
        self.rates = kernels.xp.asarray(np.append(rates, 0.0) * (1 + 1e-12))

    @property
    def work(self) -> int:
        """Bytes of arrays a feature: fields, caps, moves, sides and what the formula makes of them."""
        return self.n_borders * (2 * 8 * (48 if self.with_moves else 24) + 8 * self.n_labels)

    def root_side(self) -> Side:
        sizes, weights = self.graph.cluster_sizes, self.graph.weights
        degrees = weights * (sizes - 1)
        return Side(np.sum(degrees * sizes), np.sum(degrees * sizes), np.sum(sizes))

    def borders(self, nodes: Sequence[Node], block: Block, counters: Any, *, keep: bool) -> Borders:
        counted, subtract = self.histograms(nodes, block, keep=keep)
        sums = self.kernels.scan_labels(
            counted,
            subtract,
            self.clusters,
            self.rates,
            with_moves=self.with_moves,
            counters=counters,
        )
        return Borders(sums[0], sums[1], sums[2], counted)

    def gaps(
        self,
        nodes: Sequence[Node],
        block: Block,
        borders: Borders,
        jobs: Jobs,
        portion: int,
        places: Places,
        min_samples: int,
    ) -> Any:
        return self.kernels.walk_labels(
            jobs, portion, borders.fields, min_samples, places, borders.histograms, self.labels,
            self.clusters,
        )  # fmt: skip

    def child_side(self, side: Side, centers: Ints | None) -> Side:
        return side

    def is_pure(self, n_kinds: int) -> bool:
        return n_kinds <= 1


class StarCounts(LabelCounts):
    """Stars: a sample is joined to its centre once both are on the same side."""

    def __init__(self, kernels: Any, graph: StarGraph, n_borders: int, kept: Kept) -> None:
        n_centers = len(graph.centers)
        # Centres carry a label that is never counted.
        uncounted = np.full(n_centers, 2**16 - 2, dtype=np.uint16)
        labels = np.append(graph.labels.astype(np.uint16), uncounted)
        super().__init__(kernels, labels, n_centers + 1, n_borders, kept)
        self.graph = graph
        self.center_degrees = np.bincount(graph.labels + 1, minlength=n_centers + 1)[1:]
        # The same star without its samples: tells which centres count, at no cost in samples.
        self.bare = StarGraph(np.empty(0, dtype=np.int64), graph.centers, graph.pairs)

    @property
    def work(self) -> int:
        """Bytes of arrays a feature."""
        return self.n_borders * (2 * 8 * 24 + 8 * self.n_labels)

    def root_side(self) -> Side:
        n_edges = np.int64(self.center_degrees.sum())
        everything = np.arange(len(self.bare.centers))
        return Side(2 * n_edges, 2 * n_edges, np.sum(self.bare.sizes_in(everything)))

    def _centers(self, nodes: Sequence[Node]) -> Any:
        """Return, for every node, which centres are there, count, and their degrees."""
        of_nodes = np.zeros((len(nodes), 3, len(self.bare.centers)), dtype=np.int64)
        for own, node in zip(of_nodes, nodes, strict=True):
            assert node.centers is not None
            own[0, node.centers] = 1
            own[1, node.centers] = self.bare.sizes_in(node.centers)[node.centers]
            own[2] = self.center_degrees
        return self.kernels.xp.asarray(of_nodes)

    def borders(self, nodes: Sequence[Node], block: Block, counters: Any, *, keep: bool) -> Borders:
        counted, subtract = self.histograms(nodes, block, keep=keep)
        codes = block.codes[:, self.graph.n_samples :]
        fields = self.kernels.scan_stars(counted, subtract, codes, self._centers(nodes))
        return Borders(fields, histograms=counted)

    def gaps(
        self,
        nodes: Sequence[Node],
        block: Block,
        borders: Borders,
        jobs: Jobs,
        portion: int,
        places: Places,
        min_samples: int,
    ) -> Any:
        n_samples = self.graph.n_samples
        return self.kernels.walk_stars(
            jobs, portion, borders.fields, min_samples, places, borders.histograms, self.labels,
            block.codes[:, n_samples:], self._centers(nodes), n_samples,
        )  # fmt: skip

    def child_side(self, side: Side, centers: Ints | None) -> Side:
        """Return the sums of a child: which of its centres count is seen only now."""
        assert centers is not None
        return side._replace(size=np.sum(self.bare.sizes_in(centers)))

    def is_pure(self, n_kinds: int) -> bool:
        return False


def goes_left(points: Any, feature: int, lower: float, threshold: float) -> Bools:
    """Return which points a cut sends to the left."""
    x = points[:, feature].astype(np.float64)
    return np.asarray((lower < x) & (x <= threshold))
