"""Sums of what it costs to serve samples from centres."""

from typing import NamedTuple

import numpy as np

from spexplain.aliases import Bools, Ints
from spexplain.graphs import CenterCosts, ServingCenters
from spexplain.ledgers.base import running_sums, sweep_of
from spexplain.records import Costs, Cut, Service


@sweep_of.register(CenterCosts)
class CostSweep:
    """One running sum per centre. No state."""

    def __init__(self, graph: CenterCosts) -> None:
        self.costs = graph.costs

    def root(self) -> None:
        return

    def split(self, state: None, members: Ints, goes_left: Bools, cut: Cut) -> tuple[None, None]:
        return None, None

    def node(self, state: None, members: Ints) -> Costs:
        return Costs(np.sum(self.costs[members], axis=0))

    def sides(self, state: None, node: Costs, order: Ints, features: Ints) -> tuple[Costs, Costs]:
        left = running_sums(self.costs, order)
        return Costs(left), Costs(node.total - left)

    def entries(self, state: None, n_members: int) -> int:
        return n_members * int(self.costs.shape[1])

    def is_pure(self, state: None) -> bool:
        return False


class Turns(NamedTuple):
    """Features that the tests above a node have used, by the side taken."""

    left: frozenset[int]
    right: frozenset[int]


@sweep_of.register(ServingCenters)
class ServiceSweep:
    """Every sample is served by the nearest centre of its side. State: the turns above the node.

    Between two centres the sides' centres stay the same, so one running sum of the cheapest left and
    of the cheapest right service answers all gaps there: O(n k) a feature.
    """

    def __init__(self, graph: ServingCenters) -> None:
        self.n_samples = graph.n_samples
        self.costs, self.firsts = graph.costs, graph.firsts

    def root(self) -> Turns:
        return Turns(frozenset(), frozenset())

    def split(self, state: Turns, members: Ints, goes_left: Bools, cut: Cut) -> tuple[Turns, Turns]:
        return (
            Turns(state.left | {cut.feature}, state.right),
            Turns(state.left, state.right | {cut.feature}),
        )

    def node(self, state: Turns, members: Ints) -> Service:
        samples, centers = self._parted(members)
        cost = np.sum(self.costs[np.ix_(samples, centers)].min(axis=1)) if len(centers) else 0
        return Service(cost, np.sum(self.firsts[samples]), np.int64(len(centers)), np.int64(0))

    def _parted(self, members: Ints) -> tuple[Ints, Ints]:
        """Return the samples and the numbers of the centres among some vertices."""
        is_sample = members < self.n_samples
        return members[is_sample], members[~is_sample] - self.n_samples

    def sides(
        self, state: Turns, node: Service, order: Ints, features: Ints
    ) -> tuple[Service, Service]:
        costs = np.array([self._served(vertices) for vertices in order])
        is_sample = order < self.n_samples
        firsts = np.where(is_sample, self.firsts[np.where(is_sample, order, 0)], 0)
        points = np.cumsum(firsts[:, :-1], axis=1)
        centers = np.cumsum(~is_sample[:, :-1], axis=1)
        used_left = np.isin(features, list(state.left)).astype(np.int64)[:, None]
        used_right = np.isin(features, list(state.right)).astype(np.int64)[:, None]
        return (
            Service(costs[:, 0], points, centers, used_left),
            Service(costs[:, 1], node.points - points, node.centers - centers, used_right),
        )

    def _served(self, vertices: Ints) -> Ints:
        """Return the cost of serving the left and the right of every gap, shape (2, n_gaps)."""
        is_sample = vertices < self.n_samples
        samples, centers = self._parted(vertices)
        table = self.costs[np.ix_(samples, centers)]  # centres in order of the feature
        cheapest_left = np.minimum.accumulate(table, axis=1)
        cheapest_right = np.minimum.accumulate(table[:, ::-1], axis=1)[:, ::-1]
        n_samples_left = np.cumsum(is_sample)[:-1]
        n_centers_left = np.cumsum(~is_sample)[:-1]
        served = np.zeros((2, len(vertices) - 1), dtype=np.int64)
        for n_left in range(1, len(centers)):
            gaps = n_centers_left == n_left
            before = np.append(0, np.cumsum(cheapest_left[:, n_left - 1]))
            after = np.append(0, np.cumsum(cheapest_right[:, n_left]))
            served[0, gaps] = before[n_samples_left[gaps]]
            served[1, gaps] = after[-1] - after[n_samples_left[gaps]]
        return served

    def entries(self, state: Turns, n_members: int) -> int:
        return n_members * int(self.costs.shape[1])

    def is_pure(self, state: Turns) -> bool:
        return False
