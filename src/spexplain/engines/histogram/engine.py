"""The exact engine at histogram speed: bin, count, bound, and look closely only where a cut can win.

Every feature is binned once. The sums at the borders of the bins give the scores of the cuts there,
and bounds for all cuts in between; only bins whose bound is below the best score so far are sorted
and swept. The cut is the one that the exhaustive `NumpyEngine` finds, to the last bit and tie.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from spexplain.aliases import Array, Matrix
from spexplain.engines.base import Search
from spexplain.engines.exhaustive import NumpyEngine, midpoint
from spexplain.engines.histogram.counts import Coded, Counts, Place
from spexplain.engines.histogram.edges import EdgeCounts
from spexplain.engines.histogram.labels import LabelCounts
from spexplain.engines.histogram.node import Found, Frame, Node, NodeSearch
from spexplain.engines.histogram.pairs import PairCounts
from spexplain.engines.histogram.scoring import scoring_of
from spexplain.engines.histogram.stars import StarCounts
from spexplain.engines.histogram.sums import CostCounts, ProductCounts
from spexplain.graphs import (
    CenterCosts,
    CliqueGraph,
    Graph,
    PairGraph,
    ProductGraph,
    SparseGraph,
    StarGraph,
)
from spexplain.kernels.coding import sides_of, values_around
from spexplain.objectives import Objective
from spexplain.records import Cut, Promise
from spexplain.table.coding import bin_table
from spexplain.threads import Threads, count_threads

_N_SMALL = 20  # members up to which sorting all of a node beats bounding first


@singledispatch
def counts_of(graph: Graph, trend: Any) -> Counts | None:
    """Return the counts for a graph's type, or None if there are none; register with ``@counts_of.register``."""
    return None


@counts_of.register
def _(graph: CliqueGraph, trend: Any) -> Counts:
    return LabelCounts(graph, trend)


@counts_of.register
def _(graph: SparseGraph, trend: Any) -> Counts:
    return EdgeCounts(graph)


@counts_of.register
def _(graph: StarGraph, trend: Any) -> Counts:
    return StarCounts(graph)


@counts_of.register
def _(graph: CenterCosts, trend: Any) -> Counts:
    return CostCounts(graph)


@counts_of.register
def _(graph: ProductGraph, trend: Any) -> Counts:
    return ProductCounts(graph)


@counts_of.register
def _(graph: PairGraph, trend: Any) -> Counts | None:
    first, second = counts_of(graph.graph, None), counts_of(graph.against, None)
    return None if first is None or second is None else PairCounts(first, second)


@dataclass(frozen=True)
class HistogramEngine:
    """Exact search by histograms, bounds and refinement; compiled, and shared by threads.

    Graphs without counts of their own are left to `NumpyEngine`.

    Parameters
    ----------
    n_jobs : int, optional
        Threads; None means 1, -1 all processors. The tree does not depend on it.
    max_bins : int, default=255
        Bins of a feature, 2 to 255. The tree does not depend on it.
    """

    n_jobs: int | None = None
    max_bins: int = 255

    def bind(self, X: Matrix, objective: Objective, *, min_samples_leaf: int = 1) -> Search:
        """Return the search for the cuts of one table under one objective."""
        if not 2 <= self.max_bins <= 255:
            raise ValueError(f"max_bins={self.max_bins} must be from 2 to 255.")
        counts = counts_of(objective.graph, objective.trend)
        if counts is None:
            exhaustive = NumpyEngine(n_jobs=self.n_jobs)
            return exhaustive.bind(X, objective, min_samples_leaf=min_samples_leaf)
        with Threads(count_threads(self.n_jobs)) as threads:
            frame = _framed(X, objective, counts, self.max_bins, threads)
        return HistogramSearch(frame, min_samples_leaf)


def _framed(
    X: Matrix, objective: Objective, counts: Counts, n_bins: int, threads: Threads
) -> Frame:
    """Return the table in bins. Both memory orders of float32 and float64 are taken as they are."""
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    if not (X.flags.c_contiguous or X.flags.f_contiguous):
        X = np.ascontiguousarray(X)
    extra = objective.graph.extra
    points = np.empty((0, X.shape[1])) if extra is None else extra
    more = np.ascontiguousarray(points.T, dtype=np.float64)
    codes, solid = bin_table(X.T, more, n_bins, threads, row_major=counts.row_major)
    table = Coded(X.T, more, codes, n_bins)
    n_borders = X.shape[1] * (table.to_bound(codes.shape[1], counts).n_bins + 1)
    ints, floats = np.empty(counts.n_fields * n_borders, dtype=np.int64), np.empty(3 * n_borders)
    scoring = scoring_of(objective, counts)
    return Frame(table, solid, objective, counts, scoring, threads, ints, floats)


class HistogramSearch:
    """The cuts of one table under one objective."""

    def __init__(self, frame: Frame, min_samples_leaf: int) -> None:
        self.frame = frame
        self.n_features, self.n_samples = frame.table.columns.shape
        self.min_samples_leaf = min_samples_leaf
        self.has_extra = frame.objective.graph.extra is not None
        self.n_bounded = 0  # bins bounded in all nodes so far
        self.n_refined = 0  # bins swept because their bound did not rule them out

    def root(self) -> Node:
        rows = np.arange(self.frame.table.codes.shape[1], dtype=np.int32)
        return self._node(rows, self.frame.counts.root(rows))

    def _node(self, rows: Array, state: Any) -> Node:
        return Node(rows, state, self.frame.counts.node(state, rows))

    def size(self, node: Node) -> int:
        return int(np.searchsorted(node.rows, self.n_samples))

    def value(self, node: Node) -> float:
        with np.errstate(divide="ignore", invalid="ignore"):
            value = float(self.frame.objective.value(node.side))
        # Nothing to cut (isolated vertices only): such a leaf adds nothing.
        return 0.0 if np.isnan(value) else value

    def split(self, node: Node, cut: Cut) -> tuple[Node, Node]:
        columns, extra, *_ = self.frame.table
        is_left = np.empty(len(node.rows), dtype=np.bool_)
        with self.frame.threads:
            sides_of(columns, extra, cut.feature, cut.lower, cut.threshold, node.rows, is_left)
            left, right = self.frame.counts.split(node.state, node.rows, is_left)
        return self._node(node.rows[is_left], left), self._node(node.rows[~is_left], right)

    def best_cuts(self, nodes: Sequence[Node], rival: float = np.inf) -> list[Cut | Promise | None]:
        table, counts = self.frame.table, self.frame.counts
        places = [
            Place(state, rows, table.to_bound(len(rows), counts, counts.n_cells(state)))
            for rows, state, _ in nodes
        ]
        found: list[Cut | Promise | None] = [None] * len(nodes)
        with self.frame.threads as threads:
            counts.prepare(places, threads)
            # The largest first: its cut often spares the search for those of the others.
            for i in sorted(range(len(nodes)), key=lambda i: -len(nodes[i].rows)):
                found[i] = self._best_cut(nodes[i], rival)
                rival = rival if (cut := found[i]) is None else min(rival, cut.priority)
        return found

    def _best_cut(self, node: Node, rival: float) -> Cut | Promise | None:
        cut = self._best_with(node, self.min_samples_leaf, rival)
        if cut is None and self.has_extra and self.min_samples_leaf == 1:
            # Centres without samples between them: part the centres all the same.
            cut = self._best_with(node, 0, rival)
        return cut

    def _best_with(self, node: Node, min_samples: int, rival: float) -> Cut | Promise | None:
        table, _, objective, counts, *_ = self.frame
        if len(node.rows) < 2:
            return None
        search = NodeSearch(self.frame, node, self.size(node), min_samples)
        best: Found | Promise
        if objective.flat_if_pure and counts.is_pure(node.state):
            best = search.first_of_all()
        elif len(node.rows) <= _N_SMALL:
            best = search.best_of_all()
        else:
            best = search.best_by_bounds(rival)
            self.n_bounded += search.n_bounded
            self.n_refined += search.n_refined
        if isinstance(best, Promise):
            return best
        if best.score == np.inf:
            return None
        low, high = best.low, best.high
        if best.last_code >= 0:
            columns, extra, codes, *_ = table
            low, high = values_around(
                columns, extra, codes, best.feature, node.rows, best.last_code
            )
        priority = float(objective.priority(best.score, node.side))
        return Cut(best.feature, midpoint(low, high), best.score, priority)
