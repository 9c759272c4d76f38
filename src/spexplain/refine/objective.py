"""Cuts that lower the objective of a whole tree: the sum of the values of its leaves."""

from math import fsum

import numpy as np

from spexplain.aliases import Array, Floats
from spexplain.objectives import Objective
from spexplain.refine.moves import Crossroads, Moves, moves_of
from spexplain.refine.orders import Orders
from spexplain.refine.routes import Routes, Test

_BLOCK = 1 << 16  # moves in the arrays of a block: a few megabytes a thread
_MARGIN = 1e-12  # share of the objective that counts as rounding


class ObjectiveGoal:
    """Re-optimise cuts of a tree for its objective.

    A leaf whose value is undefined (a graph without edge ends there) counts as nothing, but no move
    may bring a leaf into this state: it would look like a gain.
    """

    def __init__(self, objective: Objective, routes: Routes, min_samples_leaf: int) -> None:
        self.objective, self.routes = objective, routes
        self.moves: Moves = moves_of(objective.graph)
        self.n_samples = objective.graph.n_samples
        sizes = np.bincount(routes.labels[: self.n_samples], minlength=routes.n_leaves)
        self.need = np.minimum(sizes, min_samples_leaf)
        self.values = self._values()
        self.may_be_nan = np.isnan(self.values)

    def _values(self) -> Floats:
        return self._value(self.moves.leaf_sums(self.routes.labels, self.routes.n_leaves))

    def _value(self, sums: Array) -> Floats:
        with np.errstate(all="ignore"):
            values = self.objective.value(self.moves.record(sums))
        return np.broadcast_to(np.asarray(values, dtype=np.float64), sums.shape[1:])

    def accept(self) -> bool:
        """Sum up anew after a change; say whether the objective has fallen."""
        values = self._values()
        before, after = _total(self.values), _total(values)
        lost = np.isnan(values) & ~self.may_be_nan
        if lost.any() or not after < before - _MARGIN * abs(before):
            return False
        self.values = values
        return True

    def proposal(self, node: int, orders: Orders, start: int, stop: int) -> Test | None:
        """Return the best other cut of a node, if it seems to lower the objective."""
        from spexplain.kernels.refine import best_totals

        first, last = self.routes.leaves[node]
        members = orders.rows(start, stop)
        left, right = (
            self.routes.reached(child)[members].astype(np.int64) - first
            for child in self.routes.children(node)
        )
        now = self.routes.labels[members].astype(np.int64) - first
        at = Crossroads(members, left, right, now, last - first, self.need[first:last])
        sweep, may_be_nan = self.moves.sweep(at), self.may_be_nan[first:last]
        starts = self._value(sweep.start).copy()
        present = _total(self.values[first:last])
        unit = 1e-11 * (abs(present) + float(np.nansum(np.abs(starts)))) or 1.0

        best, places = np.empty(len(orders.columns)), np.empty(len(orders.columns), dtype=np.int64)

        def search(features: slice) -> None:
            moved = sweep.walk(orders.now[features, start:stop])
            best_totals(
                moved.leaves,
                np.ascontiguousarray(self._value(moved.sums)),
                moved.valid,
                starts,
                may_be_nan,
                present,
                unit,
                best[features],
                places[features],
            )

        orders.map_features(search, stop - start, _BLOCK)
        lowest: float = present
        found: Test | None = None
        for feature in np.flatnonzero(places >= 0).tolist():
            # Sums carry rounding: of those that tie on paper the first is taken.
            if best[feature] < lowest - unit:
                threshold = orders.threshold(feature, start + int(places[feature]))
                lowest, found = best[feature], Test(feature, threshold)
        return found


def _total(values: Floats) -> float:
    return fsum(values[~np.isnan(values)])
