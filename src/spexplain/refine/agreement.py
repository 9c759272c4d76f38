"""Agreement of leaves with clusters: the adjusted Rand index in exact integers, and cuts that raise it."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np

from spexplain.aliases import Array, Ints
from spexplain.refine.moving import Moving, Parted, index_of
from spexplain.refine.routes import Routes, Test


@dataclass(frozen=True)
class RandIndex:
    """The adjusted Rand index as a function of two sums over the table of leaves × clusters.

    With S = Σ C(n_vi, 2) over its cells, B = Σ C(n_v, 2) over leaves, A the same over clusters and
    T = C(n, 2), it is (2·T·S − 2·A·B) / (T·A + (T − 2·A)·B): a ratio of linear forms that rises in S
    and falls in B.

    Parameters
    ----------
    n_pairs : int
        T, pairs of clustered rows.
    together : int
        A, pairs within clusters.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain.refine.agreement import RandIndex
    >>> index = RandIndex.of(np.array([0, 0, 1, 1, -1]))
    >>> index.exact(same=2, both=2), index.exact(same=1, both=3)
    (Fraction(1, 1), Fraction(0, 1))
    """

    n_pairs: int
    together: int

    @classmethod
    def of(cls, codes: Ints) -> Self:
        """Return the index for reference clusters 0..k-1; rows of no cluster (-1) do not count."""
        return cls.of_sizes(np.bincount(codes[codes >= 0]))

    @classmethod
    def of_sizes(cls, sizes: Ints) -> Self:
        """Return the index for reference clusters of these sizes."""
        return cls(pairs(int(sizes.sum())), int(pairs(sizes).sum()))

    @property
    def ratio(self) -> tuple[float, float, float, float]:
        """Coefficients r of the index (r0·S + r1·B) / (r2 + r3·B)."""
        pairs, together = float(self.n_pairs), float(self.together)
        return 2 * pairs, -2 * together, pairs * together, pairs - 2 * together

    def rounded(self, same: Any, both: Any) -> Any:
        """Return the index as a float, by the expression that the kernels use, too."""
        with np.errstate(invalid="ignore", divide="ignore"):
            index = index_of(self.ratio, np.asarray(same), np.asarray(both))
        # No number, or none that is finite, only for two equal clusterings: one cluster, or singletons.
        return np.where(np.isfinite(index), index, 1.0)

    def exact(self, same: int, both: int) -> Fraction:
        """Return the index as a fraction."""
        below = self.n_pairs * self.together + (self.n_pairs - 2 * self.together) * both
        if below == 0:
            return Fraction(1)
        return Fraction(2 * (self.n_pairs * same - self.together * both), below)

    def of_table(self, table: Ints) -> Fraction:
        """Return the index of a table of leaves × clusters."""
        return self.exact(*pair_sums(table))


class AgreementGoal:
    """Re-optimise cuts of a tree for the adjusted Rand index between its leaves and reference clusters."""

    def __init__(self, codes: Ints, routes: Routes, min_samples_leaf: int) -> None:
        self.index = RandIndex.of(codes)
        self.routes = routes
        self.n_columns = int(codes.max(initial=-1)) + 2
        # The last column of the table counts rows of no cluster.
        self.codes = np.where(codes < 0, self.n_columns - 1, codes)
        self.table = self._table()
        self.need = np.minimum(self.table.sum(axis=1), min_samples_leaf)
        self.best = self._score(self.table)

    def _table(self) -> Ints:
        cells = self.routes.labels * self.n_columns + self.codes
        counts = np.bincount(cells, minlength=self.routes.n_leaves * self.n_columns)
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

    def proposal(self, node: int, table: Parted, start: int, stop: int) -> Test | None:
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
    ) -> Moving:
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
        codes, n_leaves = self.codes[rows], len(need)
        into, out = (route[rows].astype(np.int64) * self.n_columns + codes for route in routes)
        table = np.bincount(out, minlength=n_leaves * self.n_columns).reshape(-1, self.n_columns)
        same, both = pair_sums(np.concatenate([outside, table])[:, :-1])
        return Moving(
            packed(len(self.codes), rows, into, out, n_leaves * self.n_columns),
            np.repeat(np.arange(n_leaves, dtype=np.int32), self.n_columns),
            np.tile(np.arange(self.n_columns) < self.n_columns - 1, n_leaves),
            table.ravel(),
            table[:, :-1].sum(axis=1),
            table.sum(axis=1),
            need,
            (same, both, int(np.sum(table.sum(axis=1) < need))),
            self.index.ratio,
            least,
        )


def packed(n_rows: int, rows: Ints, into: Ints, out: Ints, n_cells: int) -> Array:
    """Return left and right cell of some rows in one number each, as narrow as their count allows."""
    half, dtype = (16, np.uint32) if n_cells <= 1 << 16 else (32, np.uint64)
    cells = np.zeros(n_rows, dtype=dtype)
    cells[rows] = (into << half) | out
    return cells


def pairs(counts: Any) -> Any:
    """C(counts, 2)."""
    return counts * (counts - 1) // 2


def pair_sums(table: Ints) -> tuple[int, int]:
    """Return the pairs within cells and within leaves of a table of leaves × clusters."""
    return int(pairs(table).sum()), int(pairs(table.sum(axis=1)).sum())


def leaf_table(labels: Array, codes: Ints, n_leaves: int) -> Ints:
    """Return the table of leaves × clusters; rows of no cluster (-1) are left out."""
    n_clusters = int(codes.max(initial=-1)) + 1
    known = codes >= 0
    cells = labels[known].astype(np.int64) * n_clusters + codes[known]
    return np.bincount(cells, minlength=n_leaves * n_clusters).reshape(n_leaves, n_clusters)
