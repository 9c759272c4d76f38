"""Interval cuts of the columns themselves: every ``lower < x <= threshold``, by differences of running sums."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from spexplain.aliases import Floats, Ints, Matrix
from spexplain.engines.exhaustive import NumpySearch, SortedNode, midpoint
from spexplain.graphs import CenterCosts
from spexplain.objectives import Objective
from spexplain.records import Costs, Cut
from spexplain.threads import count_threads

_BLOCK = 1 << 18  # sums in the arrays of a block: a few megabytes of temporaries a thread


@dataclass(frozen=True)
class IntervalEngine:
    """Exhaustive search over the pairs of values of each column.

    Parameters
    ----------
    n_jobs : int, optional
        Number of threads; None means 1, -1 all processors. The tree does not depend on it.
    """

    n_jobs: int | None = None

    def bind(
        self, X: Matrix, objective: Objective, *, min_samples_leaf: int = 1
    ) -> "IntervalSearch":
        """Return the search for the cuts of one table under one objective on service costs."""
        return IntervalSearch(X, objective, min_samples_leaf, count_threads(self.n_jobs))


class IntervalSearch(NumpySearch):
    """The interval cuts of one table. O(q² k) a column with q distinct values in the node.

    Equal scores resolve to the lowest column, then the lowest lower end, then the lowest threshold;
    an ordinary test has the lower end −∞, so it is preferred to an interval of the same column.
    """

    def __init__(
        self, X: Matrix, objective: Objective, min_samples_leaf: int, n_threads: int
    ) -> None:
        super().__init__(X, objective, min_samples_leaf, n_threads)
        assert isinstance(objective.graph, CenterCosts)  # its sums can be subtracted
        self.costs = objective.graph.costs

    def _best_with(self, node: SortedNode, min_samples: int) -> Cut | None:
        served = self.costs[node.members]
        if served.min(axis=1).sum() == served.sum(axis=0).min():
            return None  # every sample is served best by the same centre: nothing can be gained
        return super()._best_with(node, min_samples)

    def _best_in_block(
        self, node: SortedNode, side: Any, block: slice, min_samples: int
    ) -> Cut | None:
        best: Cut | None = None
        for feature in range(block.start, min(block.stop, self.n_features)):
            cut = self._best_of_column(node, side, feature, min_samples)
            if cut is not None and (best is None or cut.score < best.score):
                best = cut
        return best

    def _best_of_column(
        self, node: SortedNode, side: Any, feature: int, min_samples: int
    ) -> Cut | None:
        order = node.order[feature]
        values = self.columns[feature, order].astype(np.float64)
        gaps = np.flatnonzero(values[:-1] < values[1:])
        if not len(gaps):
            return None
        # Sums and samples before the first value and before every gap; centres on the first axis,
        # where NumPy finds the cheapest several times faster than on the last.
        sums = np.zeros((self.costs.shape[1], len(gaps) + 1), dtype=np.int64)
        sums[:, 1:] = np.cumsum(self.costs[order], axis=0)[gaps].T
        counts = np.concatenate([[0], gaps + 1])
        best, lower, upper = np.inf, 0, 0
        for starts in _blocks_of_starts(sums):
            n_inside = counts[starts.start + 1 :] - counts[starts, None]
            enough = (n_inside >= min_samples) & (len(order) - n_inside >= min_samples)
            scores = np.where(enough, self._scores(sums, starts, side), np.inf)
            row, column = divmod(int(np.argmin(scores)), scores.shape[1])
            if scores[row, column] < best:
                best = float(scores[row, column])
                lower, upper = starts.start + row, starts.start + 1 + column
        if best == np.inf:
            return None
        ends = [
            midpoint(float(values[gap]), float(values[gap + 1]))
            for gap in (gaps[lower - 1], gaps[upper - 1])
        ]
        priority = float(self.objective.priority(best, side))
        return Cut(feature, ends[1], best, priority, ends[0] if lower else -np.inf)

    def _scores(self, sums: Ints, starts: slice, side: Any) -> Floats:
        """Return the scores for all lower ends in `starts` and all upper ends after the first of them."""
        inside = np.moveaxis(sums[:, None, starts.start + 1 :] - sums[:, starts, None], 0, -1)
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = self.objective.score(Costs(inside), Costs(side.total - inside), side)
        return np.asarray(scores, dtype=np.float64)


def _blocks_of_starts(sums: Ints) -> list[slice]:
    """Return blocks of lower ends whose pairs with all upper ends fit into memory."""
    n_starts, step = sums.shape[1] - 1, max(1, _BLOCK // sums.size)
    return [slice(start, min(start + step, n_starts)) for start in range(0, n_starts, step)]
