"""Moves between leaves when each leaf is served by one of several centres."""

import numpy as np

from spexplain.aliases import Array, Ints
from spexplain.graphs import CenterCosts
from spexplain.records import Costs
from spexplain.refine.moves import Crossroads, Moved, Moves, moves_of


class CostMoves:
    """Costs of serving leaves from centres: one sum per centre."""

    def __init__(self, graph: CenterCosts) -> None:
        self.costs = np.ascontiguousarray(graph.costs, dtype=np.int64)

    def leaf_sums(self, labels: Array, n_leaves: int) -> Ints:
        """Return the cost of serving every leaf from each centre."""
        sums = np.zeros((n_leaves, self.costs.shape[1]), dtype=np.int64)
        np.add.at(sums, labels, self.costs)
        return sums.T

    def record(self, sums: Array) -> Costs:
        """Return the costs with the centres on the last axis."""
        return Costs(np.moveaxis(sums, 0, -1))

    def sweep(self, at: Crossroads) -> "CostSweep":
        """Return the moves of one node."""
        return CostSweep(self, at)


class CostSweep:
    """The moves of one node, by adding up costs."""

    def __init__(self, moves: CostMoves, at: Crossroads) -> None:
        self.costs, self.need = moves.costs, at.need
        self.routes = np.full((2, len(moves.costs)), -1, dtype=np.int32)
        self.routes[:, at.members] = at.left, at.right
        sums = np.zeros((at.n_leaves, self.costs.shape[1]), dtype=np.int64)
        np.add.at(sums, at.right, self.costs[at.members])
        self.start = np.ascontiguousarray(sums.T)
        self.rows = np.bincount(at.right, minlength=at.n_leaves)

    def walk(self, orders: Array) -> Moved:
        """Return the sums after every move along every order."""
        from spexplain.kernels.refine import cost_moves

        moved = Moved(orders.shape, len(self.start))
        cost_moves(
            orders,
            self.routes,
            self.costs,
            self.start,
            self.rows,
            self.need,
            int(np.sum(self.rows < self.need)),
            moved.leaves,
            moved.sums,
            moved.valid,
        )
        return moved


@moves_of.register
def _(graph: CenterCosts) -> Moves:
    return CostMoves(graph)
