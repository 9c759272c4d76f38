"""Sums of cliques: counting labels replaces walking edges."""

import numpy as np

from spexplain.aliases import Bools, Ints
from spexplain.graphs import CliqueGraph
from spexplain.ledgers.base import running_sums, sweep_of
from spexplain.records import Cut, Side


@sweep_of.register(CliqueGraph)
class LabelSweep:
    """Cliques: counting labels replaces walking edges. State: samples of each cluster in the node."""

    def __init__(self, graph: CliqueGraph) -> None:
        n_clusters = graph.n_clusters
        # Isolated samples become one more cluster whose edges weigh nothing. Few bits make the
        # stable sort a radix sort.
        labels = np.where(graph.labels < 0, n_clusters, graph.labels)
        self.labels = labels.astype(np.min_scalar_type(n_clusters))
        self.weights = np.append(graph.weights, 0)
        self.degrees = graph.degrees
        self.sizes = graph.sizes
        self.cluster_degrees = np.append(graph.weights * (graph.cluster_sizes - 1), 0)

    def root(self) -> Ints:
        return self._count(np.arange(len(self.labels)))

    def _count(self, members: Ints) -> Ints:
        return np.bincount(self.labels[members], minlength=len(self.weights)).astype(np.int64)

    def split(self, state: Ints, members: Ints, goes_left: Bools, cut: Cut) -> tuple[Ints, Ints]:
        left = self._count(members[goes_left[members]])
        return left, state - left

    def node(self, state: Ints, members: Ints) -> Side:
        inner = np.sum(self.weights * state * (state - 1))
        return Side(inner, np.sum(self.cluster_degrees * state), np.sum(state[:-1]))

    def sides(self, state: Ints, node: Side, order: Ints, features: Ints) -> tuple[Side, Side]:
        labels = self.labels[order]
        by_cluster = np.argsort(labels, axis=1, kind="stable")
        # Grouped by cluster, the t-th sample of a cluster meets t earlier ones; the same row serves
        # every feature.
        first = np.repeat(np.cumsum(state) - state, state)
        n_earlier_grouped = np.arange(order.shape[1]) - first
        n_earlier = np.empty(order.shape, dtype=np.int64)
        np.put_along_axis(n_earlier, by_cluster, n_earlier_grouped[None, :], axis=1)
        n_earlier, labels = n_earlier[:, :-1], labels[:, :-1]
        twice_weight = 2 * self.weights[labels]
        joined = np.cumsum(twice_weight * n_earlier, axis=1)
        parted = np.cumsum(twice_weight * (state[labels] - 1 - n_earlier), axis=1)
        volume = running_sums(self.degrees, order)
        size = running_sums(self.sizes, order)
        left = Side(joined, volume, size)
        return left, Side(node.inner - parted, node.volume - volume, node.size - size)

    def entries(self, state: Ints, n_members: int) -> int:
        return n_members

    def is_pure(self, state: Ints) -> bool:
        return bool(np.count_nonzero(state[:-1]) <= 1)
