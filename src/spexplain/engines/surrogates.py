"""Interval tests from surrogate features: fewest samples parted from their centre in feature space.

Small nodes take the vectorised twin of the compiled walk, which compiles nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from spexplain.aliases import Bools, Floats, Ints, Matrix
from spexplain.engines.exhaustive import NumpySearch, SortedNode, midpoint
from spexplain.graphs.kernel import Bumps, SurrogateStar
from spexplain.ledgers.stars import SurrogateCut
from spexplain.memory import check_memory
from spexplain.objectives import Objective
from spexplain.records import Cut
from spexplain.threads import count_threads

_BLOCK = 1 << 18  # values of bumps at samples that a thread holds at once: 2 MB
_SMALL = 1 << 19  # such values in a table below which compiled code does not pay
_MARGIN = 1e-12  # relative size of what is rounding in a mean of values


@dataclass(frozen=True)
class SurrogateEngine:
    """Binds the search for interval tests of a surrogate star.

    Parameters
    ----------
    half_lines : bool, default=False
        Only tests that are ordinary thresholds on the samples of their node.
    n_jobs : int, optional
        Number of threads; None means 1, -1 all processors. The tree does not depend on it.
    """

    half_lines: bool = False
    n_jobs: int | None = None

    def bind(
        self, X: Matrix, objective: Objective, *, min_samples_leaf: int = 1
    ) -> "SurrogateSearch":
        """Return the search for the cuts of one table."""
        n_threads = count_threads(self.n_jobs)
        return SurrogateSearch(X, objective, min_samples_leaf, n_threads, self.half_lines)


class _Test(NamedTuple):
    """Samples at or above a level of a bump against the others."""

    parted: int
    feature: int
    bump: int
    level: float


class SurrogateSearch(NumpySearch):
    """The interval tests of one table, by plain IMM on all surrogate features.

    Equal numbers (or weights) of parted samples resolve to the lowest column, then the lowest bump, then the
    lowest level.
    """

    def __init__(
        self,
        X: Matrix,
        objective: Objective,
        min_samples_leaf: int,
        n_threads: int,
        half_lines: bool,
    ) -> None:
        super().__init__(X.astype(np.float64), objective, min_samples_leaf, n_threads)
        graph = objective.graph
        assert isinstance(graph, SurrogateStar)
        self.labels, self.half_lines = graph.labels, half_lines
        self.weights, self.is_weighted = graph.weights, graph.sample_weights is not None
        self.bumps = [graph.bumps(column) for column in self.columns]
        n_bumps, n_clusters = sum(len(each.peaks) for each in self.bumps), len(self.ledger.root())
        check_memory(
            2 * 8 * n_bumps * n_clusters,
            f"The means of {n_clusters:,} clusters in {n_bumps:,} kernel features",
            "pass a smaller max_anchors, or explain fewer rows or columns",
        )
        self.is_small = n_bumps * len(X) < _SMALL
        with self.threads as threads:
            self.centers = threads.map(self._projected, self._each_feature())
        # Centres of the nodes in birth order: the builder splits in this order.
        self.node_centers: list[Ints] = [self.ledger.root()]

    def _each_feature(self) -> list[slice]:
        return [slice(feature, feature + 1) for feature in range(self.n_features)]

    def _blocks(self, feature: int, n_values: int) -> list[slice]:
        """Return blocks of a column's bumps whose values at so many samples fit into memory."""
        step, n_bumps = max(1, _BLOCK // max(n_values, 1)), len(self.bumps[feature].peaks)
        return [slice(start, min(start + step, n_bumps)) for start in range(0, n_bumps, step)]

    def _projected(self, features: slice) -> Floats:
        """Return the mean of every bump of a column over each cluster, shape (n_bumps, k)."""
        feature = features.start
        known = np.flatnonzero(self.labels >= 0)
        members = known[np.argsort(self.labels[known], kind="stable")]
        sizes = np.bincount(self.labels[known])
        x, starts = self.columns[feature, members], np.cumsum(sizes) - sizes
        own: Floats | float = 1.0
        if self.is_weighted:
            own = self.weights[members].astype(np.float64)
            sizes = np.add.reduceat(self.weights[members], starts)
        values = [
            np.add.reduceat(self.bumps[feature].at(x, block) * own, starts, axis=1)
            for block in self._blocks(feature, len(x))
        ]
        return np.concatenate(values) / sizes

    def split(self, node: SortedNode, cut: Cut) -> tuple[SortedNode, SortedNode]:
        parts = super().split(node, cut)
        self.node_centers += [part.state for part in parts]
        return parts

    def best_cuts(self, nodes: Sequence[SortedNode], rival: float = np.inf) -> list[Cut | None]:
        return [self._best_cut(node) for node in nodes]

    def _best_cut(self, node: SortedNode) -> Cut | None:
        if len(node.state) < 2:
            return None
        for search in (self._between_samples, self._between_centers):
            with self.threads as threads:
                tests = threads.map(partial(search, node), self._each_feature())
            found = [test for test in tests if test is not None]
            if found:
                # min keeps the first of equals: the lowest column.
                return self._cut(node, min(found, key=lambda test: test.parted))
        return None

    def _node_labels(self, node: SortedNode, feature: int) -> Ints:
        """Return the places of the samples' centres among those of the node; -1 for centres elsewhere."""
        places = np.full(len(self.ledger.root()) + 1, -1)  # the last serves samples of no cluster
        places[node.state] = np.arange(len(node.state))
        labels: Ints = places[self.labels[node.order[feature]]]
        return labels

    def _between_samples(self, node: SortedNode, features: slice) -> _Test | None:
        """Return the best test of a column at a level between the values of samples."""
        feature = features.start
        x = self.columns[feature, node.order[feature]]
        labels = self._node_labels(node, feature)
        centers = np.ascontiguousarray(self.centers[feature][:, node.state])
        if not len(x) or x[0] == x[-1]:
            return None
        parted, levels = np.full(len(centers), -1), np.zeros(len(centers))
        for block in self._blocks(feature, len(x)):
            self._walk()(
                self.bumps[feature].at(x, block),
                labels,
                self.weights[node.order[feature]],
                centers[block],
                _MARGIN,
                self.min_samples_leaf,
                self.half_lines,
                parted[block],
                levels[block],
            )
        if parted.max() < 0:
            return None
        bump = int(np.argmin(np.where(parted < 0, np.iinfo(np.int64).max, parted)))
        return _Test(int(parted[bump]), feature, bump, float(levels[bump]))

    def _walk(self) -> Callable[..., None]:
        if self.is_small:
            return least_parted
        from spexplain.kernels import intervals

        return intervals.least_parted

    def _between_centers(self, node: SortedNode, features: slice) -> _Test | None:
        """Return the best test of a column at a level between consecutive centres.

        For nodes in which no samples lie between centres: one side may be empty then.
        """
        feature = features.start
        x = self.columns[feature, node.order[feature]]
        labels = self._node_labels(node, feature)
        min_samples = self.min_samples_leaf if self.min_samples_leaf > 1 else 0
        best: _Test | None = None
        for block in self._blocks(feature, len(x)):
            centers = self.centers[feature][block][:, node.state]
            values = self.bumps[feature].at(x, block)
            ascending = np.sort(centers, axis=1)
            lows, highs = ascending[:, :-1], ascending[:, 1:]
            for row, rank in zip(*np.nonzero(highs > lows * (1 + 2 * _MARGIN)), strict=True):
                level = level_between(lows[row, rank], highs[row, rank])
                inside = values[row] >= level
                if not self._is_admissible(inside, min_samples):
                    continue
                known = labels >= 0
                own_inside = (centers[row] >= level * (1 - _MARGIN))[labels[known]]
                weights = self.weights[node.order[feature]][known]
                parted = int(np.sum(weights, where=inside[known] != own_inside))
                if best is None or parted < best.parted:
                    best = _Test(parted, feature, block.start + int(row), level)
                if best.parted == 0:
                    return best
        return best

    def _is_admissible(self, inside: Bools, min_samples: int) -> bool:
        n_inside = int(np.count_nonzero(inside))
        if n_inside in (0, len(inside)):
            return min_samples == 0
        enough = min(n_inside, len(inside) - n_inside) >= min_samples
        return enough and (not self.half_lines or bool(inside[0] or inside[-1]))

    def _cut(self, node: SortedNode, test: _Test) -> Cut:
        """Return a test as an interval of its column that holds the same samples of the node."""
        feature, bump, level = test.feature, test.bump, test.level
        x, bumps = self.columns[feature, node.order[feature]], self.bumps[feature]
        inside = np.flatnonzero(bumps.at(x, slice(bump, bump + 1))[0] >= level)
        is_inside = self.centers[feature][bump, node.state] >= level * (1 - _MARGIN)
        if 0 < len(inside) < len(x):
            lower, upper = bounds(x, int(inside[0]), int(inside[-1]))
        elif self.half_lines:
            # All samples on one side: everything above them is the other.
            lower, upper = -np.inf, float(x[-1] if len(x) else bumps.peaks[bump])
            is_inside = is_inside if len(inside) else ~is_inside
        else:
            lower, upper = bounds_around(x, bumps, bump, level, holds_all=len(inside) > 0)
        if upper == np.inf:
            lower, upper, is_inside = -np.inf, lower, ~is_inside
        cut = SurrogateCut(feature, upper, float(test.parted), float(test.parted), lower)
        cut.left_centers = node.state[is_inside]
        return cut


def least_parted(
    values: Floats,
    labels: Ints,
    weights: Ints,
    centers: Floats,
    margin: float,
    min_samples: int,
    half_lines: bool,
    parted: Ints,
    levels: Floats,
) -> None:
    """Write what the compiled walk of `spexplain.kernels.intervals` writes, by sorting."""
    known = np.flatnonzero(labels >= 0)
    n_bumps, n_known = len(values), len(known)
    if n_known < 2:
        return
    order = np.argsort(-values[:, known], axis=1, kind="stable")
    descending = np.take_along_axis(values[:, known], order, axis=1)
    highs, lows = descending[:, :-1], descending[:, 1:]
    middles = lows + (highs - lows) / 2
    gaps = np.where(middles > lows, middles, highs)
    below, above = gaps * (1 - margin), gaps * (1 + margin)
    # A sample is parted from its centre between the gap where one is taken in and that where the
    # other is: running sums of its weight added there and taken away here.
    taken_in = np.stack([np.sum(each[:, None] < below, axis=1) for each in centers.T], axis=1)
    place = np.broadcast_to(np.arange(n_known), order.shape)
    own = np.take_along_axis(taken_in, labels[known][order], axis=1)
    amounts, rows = weights[known][order], np.arange(n_bumps)[:, None]
    change = np.zeros((n_bumps, n_known + 1), dtype=np.int64)
    np.add.at(change, (rows, np.minimum(place, own)), amounts)
    np.subtract.at(change, (rows, np.maximum(place, own)), amounts)
    n_parted = np.cumsum(change, axis=1)[:, : n_known - 1]
    valid = (highs > lows) & (centers.min(axis=1)[:, None] < below)
    valid &= above < centers.max(axis=1)[:, None]
    if min_samples > 1:
        n_in = np.array(
            [_count_at_least(row, levels) for row, levels in zip(values, gaps, strict=True)]
        )
        valid &= np.minimum(n_in, len(labels) - n_in) >= min_samples
    if half_lines:
        valid &= (values[:, :1] >= gaps) | (values[:, -1:] >= gaps)
    # From the lowest level up, so that the first of equals is the lowest.
    scores = np.where(valid, n_parted, np.iinfo(np.int64).max)[:, ::-1]
    best = scores.shape[1] - 1 - scores.argmin(axis=1)[:, None]
    found = np.take_along_axis(valid, best, axis=1)[:, 0]
    parted[found] = np.take_along_axis(n_parted, best, axis=1)[found, 0]
    levels[found] = np.take_along_axis(gaps, best, axis=1)[found, 0]


def _count_at_least(values: Floats, levels: Floats) -> Ints:
    return np.asarray(len(values) - np.searchsorted(np.sort(values), levels, side="left"))


def level_between(low: float, high: float) -> float:
    """Return the level that parts two values: ``low < level <= high``."""
    middle = float(low + (high - low) / 2)
    return middle if middle > low else float(high)


def bounds(x: Floats, first: int, last: int) -> tuple[float, float]:
    """Return the interval of the samples `first` to `last` of a sorted column, open where none are beyond."""
    lower = midpoint(float(x[first - 1]), float(x[first])) if first > 0 else -np.inf
    upper = midpoint(float(x[last]), float(x[last + 1])) if last + 1 < len(x) else np.inf
    return lower, upper


def bounds_around(
    x: Floats, bumps: Bumps, bump: int, level: float, *, holds_all: bool
) -> tuple[float, float]:
    """Return the level set itself, rounded to twelve digits, moved so that it still holds all samples or none."""
    peak = float(bumps.peaks[bump])
    # The level comes from sums of floats: twelve digits of the ends do not depend on the order of adding.
    lower, upper = (float(f"{end:.12g}") for end in bumps.level_set(bump, level))
    outer = x if holds_all else np.array([peak])
    if len(outer):
        lower = min(lower, float(np.nextafter(outer[0], -np.inf)))
        upper = max(upper, float(outer[-1]))
    if not holds_all:
        before, after = x[x < peak], x[x > peak]
        lower = max(lower, float(before[-1])) if len(before) else lower
        upper = min(upper, float(np.nextafter(after[0], -np.inf))) if len(after) else upper
    return lower, upper
