"""Growth by agreement: each step takes the leaf and the cut that raise the adjusted Rand index most."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from spexplain.aliases import Ints
from spexplain.records import Cut
from spexplain.refine.agreement import RandIndex, pairs
from spexplain.refine.orders import Orders


class Node(NamedTuple):
    """A node as a range of columns of the orders."""

    start: int
    stop: int


class Front(NamedTuple):
    """The best cut of a node for every size of its smaller side: all that can ever be its best cut.

    How many pairs a cut parts depends on that size alone, so among equal sizes the cut that keeps
    most pairs of clusters together wins, whatever the rest of the tree looks like.
    """

    same: Ints  # pairs within clusters on either side, -1 if there is no such cut
    features: Ints
    places: Ints  # index of the row after the gap
    both: Ints  # pairs on either side
    node_same: int
    node_both: int


class AgreementSearch:
    """The cuts that raise the adjusted Rand index of a growing tree most; a `Search` for `grow`.

    One sweep per node answers for good: the index depends on the rest of the tree through two sums
    only, and its best cut for other sums stands on the same `Front`.

    Parameters
    ----------
    orders : Orders
        The sorted table.
    codes : array of int, shape (n_samples,)
        Reference clusters 0..k-1; rows with -1 do not count.
    min_samples_leaf : int, default=1
        Fewest rows in a leaf.
    """

    depends_on_tree = True

    def __init__(self, orders: Orders, codes: Ints, min_samples_leaf: int = 1) -> None:
        self.orders, self.min_samples_leaf = orders, min_samples_leaf
        self.index = RandIndex.of(codes)
        self.n_clusters = int(codes.max(initial=-1)) + 1
        self.codes = np.where(codes < 0, self.n_clusters, codes)
        self.n_features = len(orders.columns)

    def root(self) -> Node:
        """Return the node of all rows."""
        self.orders.restart()
        root = Node(0, len(self.codes))
        self.fronts: dict[Node, Front] = {}
        self.same, self.both = self._sums(self._totals(root))
        return root

    def size(self, node: Node) -> int:
        """Return the number of rows."""
        return node.stop - node.start

    def value(self, node: Node) -> float:
        """Agreement is no sum over leaves."""
        return 0.0

    def split(self, node: Node, cut: Cut) -> tuple[Node, Node]:
        """Part the rows of a node, for good."""
        x = self.orders.columns[cut.feature].astype(np.float64, copy=False)
        goes_left = (cut.lower < x) & (x <= cut.threshold)
        n_left = int(np.count_nonzero(goes_left[self.orders.rows(*node)]))
        self.orders.part(*node, goes_left)
        parts = Node(node.start, node.start + n_left), Node(node.start + n_left, node.stop)
        for part, sign in ((node, -1), (parts[0], 1), (parts[1], 1)):
            same, both = self._sums(self._totals(part))
            self.same += sign * same
            self.both += sign * both
        self.fronts.pop(node, None)
        return parts

    def best_cuts(self, nodes: Sequence[Node], rival: float = np.inf) -> list[Cut | None]:
        """Return the cut of each node after which the index is highest, the rest of the tree as it is."""
        return [self._best_cut(node) for node in nodes]

    def _best_cut(self, node: Node) -> Cut | None:
        if node not in self.fronts:
            self.fronts[node] = self._front(node)
        front = self.fronts[node]
        known = np.flatnonzero(front.same >= 0)
        if len(known) == 0:
            return None
        same = self.same - front.node_same + front.same[known]
        scores = self.index.rounded(same, self.both - front.node_both + front.both[known])
        ties = known[scores == scores.max()]
        # A feature's place grows with its threshold.
        best = ties[np.lexsort((front.places[ties], front.features[ties]))[0]]
        feature, place = int(front.features[best]), node.start + int(front.places[best])
        score = -float(scores.max())
        return Cut(feature, self.orders.threshold(feature, place), score, score)

    def _front(self, node: Node) -> Front:
        from spexplain.kernels.agreement import split_sums

        totals = self._totals(node)
        n_clustered = int(totals[:-1].sum())
        n_sizes = n_clustered // 2 + 1

        def search(features: slice) -> tuple[Ints, Ints, Ints]:
            found = np.full(n_sizes, -1), np.full(n_sizes, -1), np.full(n_sizes, -1)
            orders = self.orders.now[features, node.start : node.stop]
            split_sums(orders, features.start, self.codes, totals, self.min_samples_leaf, *found)
            return found

        blocks = self.orders.map_features(search, node.stop - node.start)
        same, features, places = blocks[0]
        for block in blocks[1:]:
            better = block[0] > same  # equal sums keep the lower feature
            for mine, other in zip((same, features, places), block, strict=True):
                mine[better] = other[better]
        small = np.arange(n_sizes)
        both = pairs(small) + pairs(n_clustered - small)
        return Front(same, features, places, both, *self._sums(totals))

    def _totals(self, node: Node) -> Ints:
        return np.bincount(self.codes[self.orders.rows(*node)], minlength=self.n_clusters + 1)

    def _sums(self, totals: Ints) -> tuple[int, int]:
        clustered = totals[:-1]
        return int(pairs(clustered).sum()), int(pairs(int(clustered.sum())))
