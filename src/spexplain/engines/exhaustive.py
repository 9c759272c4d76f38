"""The exhaustive engine: every cut of every feature, by prefix sums in NumPy.

It compiles nothing, and is the readable twin of the fast engines.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from spexplain.aliases import Bools, Floats, Ints, Matrix
from spexplain.engines.base import searches_empty_sides
from spexplain.ledgers import ledger_of
from spexplain.memory import check_memory
from spexplain.objectives import Objective
from spexplain.records import Cut
from spexplain.table.storage import is_sparse
from spexplain.threads import Threads, count_threads

_BLOCK = 1 << 17  # entries of a block's arrays: a few megabytes of temporaries a thread


@dataclass(frozen=True)
class NumpyEngine:
    """Exhaustive sweep over all cuts, vectorised over blocks of features that threads share.

    Parameters
    ----------
    n_jobs : int, optional
        Number of threads; None means 1, -1 all processors. The tree does not depend on it.
    """

    n_jobs: int | None = None
    takes_entries: ClassVar[bool] = True

    def bind(self, X: Matrix, objective: Objective, *, min_samples_leaf: int = 1) -> "NumpySearch":
        """Return the search for the cuts of one table under one objective."""
        if is_sparse(X):
            from spexplain.engines.sparse import SparseSearch, searched_entries

            # Callers with a sparse table use only the methods that every search has.
            return searched_entries(self, SparseSearch, X, objective, min_samples_leaf)  # type: ignore[return-value]
        return NumpySearch(X, objective, min_samples_leaf, count_threads(self.n_jobs))


class SortedNode(NamedTuple):
    """The vertices of a node, sorted by every feature, and what the ledger remembers of them."""

    order: Ints  # shape (n_features, n_members)
    state: Any
    record: Any

    @property
    def members(self) -> Ints:
        members: Ints = self.order[0]
        return members


class NumpySearch:
    """The cuts of one table under one objective."""

    def __init__(
        self, X: Matrix, objective: Objective, min_samples_leaf: int, n_threads: int
    ) -> None:
        graph = objective.graph
        self.n_samples, self.n_features = X.shape
        check_memory(
            (X.dtype.itemsize + 2 * 8) * X.size,
            f"The sorted orders of {self.n_samples:,} rows by {self.n_features:,} columns",
            'take fewer rows or columns, or engine="histogram" if the method has it',
        )
        table = X if graph.extra is None else np.concatenate([X, graph.extra])
        self.columns = np.ascontiguousarray(table.T)
        self.objective = objective
        self.min_samples_leaf = min_samples_leaf
        self.threads = Threads(n_threads)
        self.ledger = ledger_of(graph, objective.trend)

    def root(self) -> SortedNode:
        # One by one, so that Ctrl-C does not wait for all.
        order = np.empty(self.columns.shape, dtype=np.int64)
        for place, column in enumerate(self.columns):
            order[place] = np.argsort(column, kind="stable")
        return self._node(order, self.ledger.root())

    def _node(self, order: Ints, state: Any) -> SortedNode:
        return SortedNode(order, state, self.ledger.node(state, order[0]))

    def size(self, node: SortedNode) -> int:
        return int(np.count_nonzero(node.members < self.n_samples))

    def value(self, node: SortedNode) -> float:
        return self.objective.leaf_value(node.record)

    def members(self, node: SortedNode) -> Ints:
        """Return the vertices of a node."""
        return node.members

    def split(self, node: SortedNode, cut: Cut) -> tuple[SortedNode, SortedNode]:
        return self.part(node, self.sides(node, cut), cut)

    def sides(self, node: SortedNode, cut: Cut) -> Bools:
        """Return which members of a node go left."""
        x = self.columns[cut.feature].astype(np.float64, copy=False)
        goes_left = (cut.lower < x) & (x <= cut.threshold)
        return np.asarray(goes_left[node.members])

    def part(self, node: SortedNode, is_left: Bools, cut: Cut) -> tuple[SortedNode, SortedNode]:
        """Return the two parts of a node, from the members that go left."""
        members = node.members
        left, right = self.ledger.split(node.state, members, is_left, cut)
        goes_left = np.zeros(self.columns.shape[1], dtype=np.bool_)
        goes_left[members[is_left]] = True
        is_left = goes_left[node.order]
        return (
            self._node(node.order[is_left].reshape(self.n_features, -1), left),
            self._node(node.order[~is_left].reshape(self.n_features, -1), right),
        )

    def best_cuts(self, nodes: Sequence[SortedNode], rival: float = np.inf) -> list[Cut | None]:
        return [self._best_cut(node) for node in nodes]

    def _best_cut(self, node: SortedNode) -> Cut | None:
        if self.objective.is_leaf(node.record):
            return None
        cut = self._best_with(node, self.min_samples_leaf)
        if cut is None and searches_empty_sides(self.objective, self.min_samples_leaf):
            cut = self._best_with(node, 0)
        return cut

    def _best_with(self, node: SortedNode, min_samples: int) -> Cut | None:
        side = node.record
        n_members = node.order.shape[1]
        if n_members < 2:
            return None
        step = max(1, _BLOCK // self.ledger.sorted_entries(node.state, n_members))
        blocks = [slice(start, start + step) for start in range(0, self.n_features, step)]

        def search(block: slice) -> Cut | None:
            return self._best_in_block(node, side, block, min_samples)

        if self.objective.flat_if_pure and self.ledger.is_pure(node.state):
            # All cuts tie: the first one found is the answer.
            return next((cut for cut in map(search, blocks) if cut is not None), None)
        with self.threads as threads:
            cuts = [cut for cut in threads.map(search, blocks) if cut is not None]
        return min(cuts, key=lambda cut: cut.score, default=None)  # min keeps the first of equals

    def _best_in_block(
        self, node: SortedNode, side: Any, block: slice, min_samples: int
    ) -> Cut | None:
        order = node.order[block]
        values = self.columns[block][np.arange(len(order))[:, None], order]
        valid = self._valid(values, order, min_samples)
        if not valid.any():
            return None
        features = np.arange(block.start, block.start + len(order))
        left, right = self.ledger.sorted_sides(node.state, side, order, features)
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = np.asarray(self.objective.score(left, right, side), dtype=np.float64)
        scores = np.where(valid & (scores < np.inf), scores, np.inf)  # NaN compares false
        if self.objective.flat_if_pure and self.ledger.is_pure(node.state):
            best = int(np.argmax(scores < np.inf))
        else:
            best = int(np.argmin(scores))
        if scores.flat[best] == np.inf:
            return None
        row, gap = divmod(best, scores.shape[1])
        score = float(scores[row, gap])
        return Cut(
            feature=block.start + row,
            threshold=midpoint(float(values[row, gap]), float(values[row, gap + 1])),
            score=score,
            priority=float(self.objective.priority(score, side)),
        )

    def _valid(self, values: Floats, order: Ints, min_samples: int) -> Bools:
        """Return which gaps part distinct values and leave enough samples on both sides."""
        n_left, n_samples = np.arange(1, order.shape[1]), order.shape[1]
        if self.objective.graph.extra is not None:
            is_sample = order < self.n_samples
            n_left, n_samples = is_sample[:, :-1].cumsum(axis=1), np.count_nonzero(is_sample[0])
        enough = (n_left >= min_samples) & (n_samples - n_left >= min_samples)
        return np.asarray((values[:, :-1] < values[:, 1:]) & enough)


def midpoint(low: float, high: float) -> float:
    """Return the float64 threshold that parts two values: ``low <= threshold < high``."""
    middle = low + (high - low) / 2
    if not np.isfinite(middle):
        middle = low / 2 + high / 2
    return middle if low <= middle < high else low
