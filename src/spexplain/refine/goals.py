"""What refinement improves: the agreement of leaves and clusters, or the objective of the tree."""

from fractions import Fraction
from math import fsum

import numpy as np

from spexplain.aliases import Array, Floats, Ints
from spexplain.graphs import CliqueGraph, MembershipGraph
from spexplain.ledgers import ledger_of
from spexplain.metrics.agreement import RandIndex, cell_totals, pair_sums
from spexplain.objectives import Objective
from spexplain.refine.moves import NodeMoves, check_walk, packed, walk_of
from spexplain.refine.routes import Routes
from spexplain.refine.rows import NodeRows, Orders, PairMoveTable, SortedRows
from spexplain.refine.scores import CostScore, LeafScore
from spexplain.tree import Test

_BLOCK = 1 << 16  # moves in the arrays of a block: a few megabytes a thread
_MARGIN = 1e-12  # share of the objective that counts as rounding


class AgreementGoal:
    """Re-optimise cuts of a tree for the adjusted Rand index between its leaves and reference clusters."""

    def __init__(
        self,
        codes: Ints,
        routes: Routes,
        min_samples_leaf: int,
        amounts: Ints | None = None,
    ) -> None:
        self.index, self.amounts = RandIndex.of(codes, amounts), amounts
        self.routes = routes
        self.n_columns = int(codes.max(initial=-1)) + 2
        # The last column of the table counts rows of no cluster.
        self.codes = np.where(codes < 0, self.n_columns - 1, codes)
        self.table = self._table()
        rows = np.bincount(routes.labels, minlength=routes.n_leaves)
        self.need = np.minimum(rows, min_samples_leaf)
        self.best = self._score(self.table)

    def _table(self) -> Ints:
        cells = self.routes.labels * self.n_columns + self.codes
        counts = cell_totals(cells, self.amounts, self.routes.n_leaves * self.n_columns)
        return counts.reshape(-1, self.n_columns)

    def _score(self, table: Ints) -> Fraction:
        return self.index.of_table(table[:, :-1])

    def accept(self) -> bool:
        """Count anew after a change; say whether the index has risen."""
        table = self._table()
        score = self._score(table)
        if score <= self.best:
            return False
        self.table, self.best = table, score
        return True

    def proposal(self, node: int, table: NodeRows, start: int, stop: int) -> Test | None:
        """Return the best other cut of a node, if it seems to raise the index."""
        first, last = self.routes.leaves[node]
        left, right = (self.routes.reached(child) - first for child in self.routes.children(node))
        outside = np.delete(self.table, np.s_[first:last], axis=0)
        need = self.need[first:last]
        rows = table.rows(start, stop)
        moving = self.moving(rows, (left, right), need, outside, float(self.best))
        return table.best_move(start, stop, moving)[1]

    def moving(
        self, rows: Ints, routes: tuple[Array, Array], need: Ints, outside: Ints, least: float
    ) -> PairMoveTable:
        """Return what happens when rows of a node move from their right to their left leaf.

        Parameters
        ----------
        rows : array of int
            The rows of the node.
        routes : pair of arrays of int, shape (n_samples,)
            Left and right leaf of each row, counted from 0 among the leaves that rows move between.
        need : array of int, shape (n_moving_leaves,)
            Rows that these leaves must have.
        outside : array of int, shape (n_other_leaves, n_columns)
            Table of all other leaves.
        least : float
            Only a higher index counts.
        """
        pairs_outside = pair_sums(outside[:, :-1])
        return moving_rows(
            self.codes,
            self.n_columns,
            self.amounts,
            rows,
            routes,
            need,
            pairs_outside,
            self.index,
            least,
        )


def moving_rows(
    codes: Ints,
    n_columns: int,
    amounts: Ints | None,
    rows: Ints,
    routes: tuple[Array, Array],
    need: Ints,
    pairs_outside: tuple[int, int],
    index: RandIndex,
    least: float,
) -> PairMoveTable:
    """Return what happens when rows move from their right to their left leaf; see `AgreementGoal.moving`.

    `pairs_outside` are the pairs within cells and within leaves of all other leaves.
    """
    own, n_leaves = codes[rows], len(need)
    into, out = (route[rows].astype(np.int64) * n_columns + own for route in routes)
    n_cells = n_leaves * n_columns
    table = cell_totals(out, None if amounts is None else amounts[rows], n_cells).reshape(
        -1, n_columns
    )
    n_rows = np.bincount(routes[1][rows], minlength=n_leaves)
    same, both = pair_sums(table[:, :-1])
    return PairMoveTable(
        packed(len(codes), rows, into, out, n_cells),
        np.repeat(np.arange(n_leaves, dtype=np.int32), n_columns),
        np.tile(np.arange(n_columns) < n_columns - 1, n_leaves),
        table.ravel(),
        table[:, :-1].sum(axis=1),
        n_rows,
        need,
        (pairs_outside[0] + same, pairs_outside[1] + both, int(np.sum(n_rows < need))),
        index.ratio,
        least,
        amounts,
    )


class RightGoal:
    """Re-optimise cuts of a tree for the amounts of rows in leaves that stand for their cluster.

    Every row of a node votes for the side where it would be right; the cut with the most votes wins.

    Parameters
    ----------
    score : LeafScore
        Clusters and amounts of the rows.
    routes : Routes
        The tree.
    min_samples_leaf : int
        Fewest rows in a leaf, or as many as it has.
    keep_clusters : bool
        Whether trees in which more clusters have a leaf are better, whatever else.
    """

    def __init__(
        self,
        score: LeafScore,
        routes: Routes,
        min_samples_leaf: int,
        *,
        keep_clusters: bool = False,
    ) -> None:
        self.score, self.routes, self.keep_clusters = score, routes, keep_clusters
        self.codes, self.amounts = score.codes, score.amounts
        self.n_columns = score.n_clusters
        rows = np.bincount(routes.labels, minlength=routes.n_leaves)
        self.need = np.minimum(rows, min_samples_leaf)
        self.table = score.table(routes.labels, routes.n_leaves)
        self.best = self.value(self.table)

    def value(self, table: Floats) -> tuple[int, float]:
        """Return how many clusters have a leaf, if that counts, and the amounts that are right."""
        return len(self.kept(table)) if self.keep_clusters else 0, float(table.max(axis=1).sum())

    def kept(self, table: Floats) -> Ints:
        """Return the clusters that some leaf stands for."""
        return np.unique(self.score.labels(table)[table.max(axis=1) > 0])

    def seems_better(self, value: tuple[int, float]) -> bool:
        """Whether a tree of this value is better."""
        more = value[1] > self.best[1] + self.score.unit / 2
        return value[0] > self.best[0] or (value[0] == self.best[0] and more)

    def accept(self) -> bool:
        """Count anew after a change; say whether the tree is better."""
        table = self.score.table(self.routes.labels, self.routes.n_leaves)
        value = self.value(table)
        if not self.seems_better(value):
            return False
        self.table, self.best = table, value
        return True

    def right(self, leaves: Array) -> Floats:
        """Return what every row counts for in the leaf that is given for it."""
        return np.where(self.score.labels(self.table)[leaves] == self.codes, self.amounts, 0.0)

    def proposal(self, node: int, orders: Orders, start: int, stop: int) -> Test | None:
        """Return the cut of a node with the most votes, if it seems better."""
        from spexplain.kernels.solver import best_votes

        first, last = self.routes.leaves[node]
        reached = [self.routes.reached(child) for child in self.routes.children(node)]
        votes = self.right(reached[0]) - self.right(reached[1])
        here = orders.node(start, stop)
        everything = float(votes[here.rows].sum())
        now = float(votes[here.rows[self.routes.goes_left[node][here.rows]]].sum())
        ways = np.stack(reached).astype(np.int32) - np.int32(first)
        n_orders, need = len(orders.feature_of), self.need[first:last]
        best, cuts = np.empty(n_orders), np.empty((n_orders, 2), dtype=np.int64)
        least = now + self.score.unit / 2
        if self.score.counts_rows:  # small numbers are soon read
            votes, least, everything = (
                votes.astype(np.int8),
                int(np.floor(least)),
                int(everything),
            )

        def search(block: slice, is_mirrored: bool) -> None:
            # Rows before the cut of a mirrored order go right: as if votes were for that side.
            both, own, base = (
                (ways[::-1].copy(), -votes, everything) if is_mirrored else (ways, votes, 0)
            )
            rows = np.bincount(both[1, here.rows], minlength=last - first)
            best_votes(
                here.block(block),
                both,
                own,
                rows,
                need,
                least - base,
                is_mirrored,
                best[block],
                cuts[block],
            )
            best[block] += base

        orders.map_orders(search, here)
        return orders.best_gap(best, cuts, here.rows)[1]


class CostGoal:
    """Re-optimise cuts of a tree for the k-means cost of its leaves, each served by its own mean.

    Parameters
    ----------
    score : CostScore
        Points and amounts of the rows.
    routes : Routes
        The tree.
    min_samples_leaf : int
        Fewest rows in a leaf, or as many as it has.
    """

    def __init__(self, score: CostScore, routes: Routes, min_samples_leaf: int) -> None:
        self.score, self.routes = score, routes
        rows = np.bincount(routes.labels, minlength=routes.n_leaves)
        self.need = np.minimum(rows, min_samples_leaf)
        self.best = self._value()

    def _value(self) -> float:
        table = self.score.table(self.routes.labels, self.routes.n_leaves)
        return fsum(self.score.of_table(table)) - self.score.square

    def accept(self) -> bool:
        """Sum up anew after a change; say whether the cost has fallen."""
        value = self._value()
        if not value > self.best + self.score.unit:
            return False
        self.best = value
        return True

    def proposal(self, node: int, orders: SortedRows, start: int, stop: int) -> Test | None:
        """Return the best other cut of a node, if it seems to lower the cost."""
        from spexplain.kernels.solver import best_mean_moves

        first, last = self.routes.leaves[node]
        here = orders.node(start, stop)
        ways = np.stack([self.routes.reached(child) for child in self.routes.children(node)])
        ways = ways.astype(np.int32) - np.int32(first)
        n_leaves, n_orders, members = last - first, len(orders.feature_of), here.rows
        behind = self.score.table(ways[1, members], n_leaves, members)
        now = self.score.table(self.routes.labels[members] - first, n_leaves, members)
        least = fsum(self.score.of_table(now)) + self.score.unit
        rows = np.bincount(ways[1, members], minlength=n_leaves)
        best, cuts = np.empty(n_orders), np.empty((n_orders, 2), dtype=np.int64)

        def search(block: slice, is_mirrored: bool) -> None:
            best_mean_moves(
                here.block(block),
                self.score.arrays,
                ways,
                behind,
                rows,
                self.need[first:last],
                least,
                best[block],
                cuts[block],
            )

        orders.map_orders(search, here)
        return orders.best_gap(best, cuts, members)[1]


class ObjectiveGoal:
    """Re-optimise cuts of a tree for its objective.

    A leaf whose value is undefined (a graph without edge ends there) counts as nothing, but no move
    may bring a leaf into this state: it would look like a gain.
    """

    def __init__(self, objective: Objective, routes: Routes, min_samples_leaf: int) -> None:
        self.objective, self.routes = objective, routes
        self.ledger = ledger_of(objective.graph, objective.trend)
        check_walk(self.ledger)
        self.n_samples = objective.graph.n_samples
        sizes = np.bincount(routes.labels[: self.n_samples], minlength=routes.n_leaves)
        self.need = np.minimum(sizes, min_samples_leaf)
        self.values = self._values()
        self.may_be_nan = np.isnan(self.values)

    def _values(self) -> Floats:
        return self._value(self.ledger.leaf_sums(self.routes.labels, self.routes.n_leaves))

    def _value(self, sums: Array) -> Floats:
        with np.errstate(all="ignore"):
            values = self.objective.value(self.ledger.record(sums))
        return np.broadcast_to(np.asarray(values, dtype=np.float64), sums.shape[1:])

    @property
    def best(self) -> float:
        """The objective of the tree, with its sign changed: higher is better."""
        return -_total(self.values)

    def accept(self) -> bool:
        """Sum up anew after a change; say whether the objective has fallen."""
        values = self._values()
        before, after = _total(self.values), _total(values)
        lost = np.isnan(values) & ~self.may_be_nan
        if lost.any() or not after < before - _MARGIN * abs(before):
            return False
        self.values = values
        return True

    def proposal(self, node: int, orders: SortedRows, start: int, stop: int) -> Test | None:
        """Return the best other cut of a node, if it seems to lower the objective."""
        from spexplain.kernels.refine import best_totals

        first, last = self.routes.leaves[node]
        members = orders.rows(start, stop)
        left, right = (
            self.routes.reached(child)[members].astype(np.int64) - first
            for child in self.routes.children(node)
        )
        now = self.routes.labels[members].astype(np.int64) - first
        moves = NodeMoves(members, left, right, now, last - first, self.need[first:last])
        walk, may_be_nan = walk_of(self.ledger, moves), self.may_be_nan[first:last]
        starts = self._value(walk.start).copy()
        present = _total(self.values[first:last])
        unit = 1e-11 * (abs(present) + float(np.nansum(np.abs(starts)))) or 1.0

        best, places = np.empty(len(orders.columns)), np.empty(len(orders.columns), dtype=np.int64)

        def search(features: slice) -> None:
            moved = walk.walk(orders.now[features, start:stop])
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
        node_orders = orders.node(start, stop)
        for feature in np.flatnonzero(places >= 0).tolist():
            # Sums carry rounding: of those that tie on paper the first is taken.
            if best[feature] < lowest - unit:
                where = node_orders.first[feature] + int(places[feature])
                lowest, found = best[feature], orders.test_at(node_orders, feature, where)
        return found


def cliques(codes: Ints, amounts: Ints | None = None) -> CliqueGraph | MembershipGraph:
    """Return the cliques of clusters 0..k-1, of rows that count for several where amounts are given."""
    if amounts is None:
        return CliqueGraph.from_labels(codes)
    return MembershipGraph.from_amounts(by_cluster(codes, amounts))


def by_cluster(codes: Ints, amounts: Ints) -> Floats:
    """Return what every row counts for in every cluster."""
    table = np.zeros((len(codes), int(codes.max()) + 1))
    known = np.flatnonzero(codes >= 0)
    table[known, codes[known]] = amounts[known]
    return table


def _total(values: Floats) -> float:
    return fsum(values[~np.isnan(values)])
