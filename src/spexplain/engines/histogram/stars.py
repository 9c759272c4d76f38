"""Sums over sample-centre stars for the histogram engine."""

from typing import NamedTuple

import numpy as np

from spexplain.aliases import Array, Floats, Ints
from spexplain.engines.histogram.counts import Gaps, Place, Segments, Wanted
from spexplain.engines.histogram.tally import Tallies, Tally
from spexplain.graphs import StarGraph
from spexplain.kernels.stars import scan_stars, sweep_stars
from spexplain.records import Side


class _Star(NamedTuple):
    """The labels and the centres of a node, as `spexplain.kernels.stars` reads them."""

    clusters: Ints
    centers: Ints
    vertices: Ints  # of the centres


class StarCounts(Tallies):
    """Stars: counting labels and placing the few centres replaces walking edges. State: a tally."""

    def __init__(self, graph: StarGraph) -> None:
        self.graph, self.degrees = graph, graph.degrees
        n_centers = len(graph.centers)
        # Centres, and samples without one, share a label without edges.
        labels = np.concatenate([graph.labels, np.full(n_centers, -1)])
        labels = np.where(labels < 0, n_centers, labels)
        dtype = np.uint16 if n_centers < 2**16 else np.uint32
        super().__init__(labels.astype(dtype), n_centers + 1)
        self._of_node: tuple[Array, Ints] | None = None

    def _star(self, state: Tally, rows: Array) -> _Star:
        n_samples = self.graph.n_samples
        vertices = rows[np.searchsorted(rows, n_samples) :].astype(np.int64)
        inside = vertices - n_samples
        joins, degrees = np.zeros((2, self.n_labels), dtype=np.int64)
        joins[inside], degrees[:-1] = 2, 1
        # The centre of nobody in the node joins nothing, like the label of the centres themselves.
        labels = np.where(state.totals[inside] > 0, inside, self.n_labels - 1)
        numbers = state.kinds.number_of[labels].astype(np.int64)
        sizes = self._sizes(rows)[vertices]
        return _Star(
            state.kinds.spread(np.stack([state.totals, joins, degrees])),
            np.stack([numbers, self.degrees[vertices], sizes]),
            vertices,
        )

    def _sizes(self, rows: Array) -> Ints:
        """Return what every vertex adds to the size of a side in this node."""
        if self._of_node is None or self._of_node[0] is not rows:
            self._of_node = rows, self.graph.sizes_in(rows)
        return self._of_node[1]

    def node(self, state: Tally, rows: Array) -> Side:
        clusters, centers, _ = self._star(state, rows)
        inner = np.sum(clusters[0] * clusters[1])
        volume = np.sum(clusters[0] * clusters[2]) + np.sum(centers[1])
        return Side(inner, volume, np.sum(centers[2]))

    def borders(self, place: Place, segments: Segments, fields: Ints, caps: Floats) -> None:
        state, rows, table = place
        histograms, starts = self.parts(place, segments)
        first_codes, shift = np.zeros(len(segments.features), dtype=np.int64), table.shift
        if segments.bins is not None:
            first_codes, shift = segments.bins << shift, 0
        clusters, centers, vertices = self._star(state, rows)
        codes = table.codes[segments.features[:, None], vertices]
        scan_stars(histograms, starts, first_codes, shift, codes, clusters, centers, fields)

    def gaps(self, place: Place, wanted: Wanted, gaps: Gaps) -> int:
        state, rows, table = place
        features, bins, start = wanted
        clusters, centers, _ = self._star(state, rows)
        return sweep_stars(
            table.columns,
            table.extra,
            table.codes,
            table.shift,
            features,
            bins,
            rows,
            self.labels,
            state.kinds.number_of,
            clusters,
            centers,
            start,
            *gaps,
        )
