"""Cuts drawn at random between the centres of a node, blind to the samples."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from spexplain.aliases import Floats, Matrix
from spexplain.engines.exhaustive import NumpySearch, SortedNode, midpoint
from spexplain.objectives import Objective
from spexplain.records import Cut

Law: TypeAlias = Literal["kmedians", "kmeans"]


@dataclass(frozen=True)
class RandomEngine:
    """Draws cuts instead of searching for the best.

    Parameters
    ----------
    seed : int
        Seed of the draws of one tree.
    law : {"kmedians", "kmeans"}
        Uniform over the extents of the node's centres in all features; or by squared gaps between the
        projections of all centres, with thresholds that keep away from both ends of a gap.
    """

    seed: int
    law: Law = "kmedians"

    def bind(self, X: Matrix, objective: Objective, *, min_samples_leaf: int = 1) -> "RandomSearch":
        """Return the draws for one table under one star objective."""
        return RandomSearch(X, objective, self.law, np.random.default_rng(self.seed))


class RandomSearch(NumpySearch):
    """Draws for one table. Every drawn threshold is moved to the middle of the gap of values it falls in."""

    def __init__(self, X: Matrix, objective: Objective, law: Law, rng: np.random.Generator) -> None:
        super().__init__(X, objective, min_samples_leaf=0, n_threads=1)
        self.law, self.rng = law, rng
        self.projections = np.sort(self.columns[:, self.n_samples :].astype(np.float64), axis=1)

    def best_cuts(self, nodes: Sequence[SortedNode], rival: float = np.inf) -> list[Cut | None]:
        return [self._drawn(node) for node in nodes]

    def _drawn(self, node: SortedNode) -> Cut | None:
        centers = node.members[node.members >= self.n_samples]
        values = self.columns[:, centers].astype(np.float64)
        low, high = values.min(axis=1), values.max(axis=1)
        if not np.any(low < high):
            return None  # one centre, or centres that coincide
        feature, point = (
            self._uniform(low, high) if self.law == "kmedians" else self._squared(low, high)
        )
        x = self.columns[feature, node.members].astype(np.float64)
        below, above = x[x <= point].max(), x[x > point].min()
        return Cut(feature, midpoint(float(below), float(above)), score=0.0, priority=0.0)

    def _uniform(self, low: Floats, high: Floats) -> tuple[int, float]:
        extents = high - low
        feature = int(self.rng.choice(len(extents), p=extents / extents.sum()))
        point = low[feature] + self.rng.random() * extents[feature]
        return feature, _below(float(point), float(high[feature]))

    def _squared(self, low: Floats, high: Floats) -> tuple[int, float]:
        starts, ends = self.projections[:, :-1], self.projections[:, 1:]
        inside = (starts >= low[:, None]) & (ends <= high[:, None])
        gaps = np.where(inside, ends - starts, 0.0)
        weights = (gaps / gaps.max()) ** 2
        drawn = int(self.rng.choice(weights.size, p=weights.ravel() / weights.sum()))
        feature, gap = divmod(drawn, weights.shape[1])
        start, end = float(starts[feature, gap]), float(ends[feature, gap])
        u = self.rng.random()
        # Density 4·min(t − start, end − t)/(end − start)²: a triangle over the gap.
        share = np.sqrt(u / 2) if u <= 0.5 else 1 - np.sqrt((1 - u) / 2)
        return feature, _below(float(start + share * (end - start)), end)


def _below(point: float, limit: float) -> float:
    """Return the point, or the float before the limit if rounding reached it."""
    return point if point < limit else float(np.nextafter(limit, -np.inf))
