"""Goals as scores of leaves: each is a sum over the leaves of a function of their amounts by cluster."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np

from spexplain.aliases import Array, Floats, Ints, Matrix
from spexplain.metrics.agreement import RandIndex

GoalName: TypeAlias = Literal["fidelity", "balanced", "agreement", "cost", "conductance"]
GOALS: tuple[GoalName, ...] = ("fidelity", "balanced", "agreement", "cost", "conductance")
# What `refine` improves: the objective of the method, or a goal.
AimName: TypeAlias = Literal["objective"] | GoalName
AIMS: tuple[AimName, ...] = ("objective", *GOALS)
# Goals that count rows by cluster: how they move between leaves can be followed among stored entries.
COUNTING_GOALS: tuple[GoalName, ...] = ("fidelity", "balanced", "agreement")
LOW_GOALS: tuple[GoalName, ...] = ("cost", "conductance")  # low in good trees
# Numbers of the scores in `spexplain.kernels.solver`.
LARGEST, PAIRS, INNER_SHARE, OWN_MEANS = 0, 1, 2, 3
_FEW_COLUMNS = 32  # of points whose products are summed, for bounds
_FEW_CLUSTERS = 32  # any two of which are looked at, for bounds
_ROUNDING = 1e-9
_ALL = slice(None)
WHOLE = 2.0**52  # what the shares of all clusters sum to, nearly


class ScoreArrays(NamedTuple):
    """A score as kernels read it; see `LeafScore`."""

    kind: int
    factor: float
    codes: Array
    amounts: Floats
    degrees: Floats
    points: Floats


@dataclass(frozen=True, eq=False)
class LeafScore:
    """What a tree is worth: the sum over its leaves of a score of their amounts by cluster.

    Parameters
    ----------
    kind : int
        0: the largest amount; 1: pairs within clusters less `factor` times all pairs; 2: the share of
        edge ends of the cliques of clusters that stay inside. `CostScore` has another.
    codes : array of int32, shape (n_rows,)
        Cluster of every row, 0..k-1; rows of no cluster have any, and amount 0.
    amounts : array of float, shape (n_rows,)
        What every row counts.
    n_clusters : int
        Number of clusters.
    factor : float
        Of score 1.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain.refine.scores import LeafScore
    >>> score = LeafScore.of("fidelity", np.array([0, 0, 1, 1, -1]))
    >>> score.of_table(np.array([[2.0, 1.0], [0.0, 1.0]])).tolist()
    [2.0, 1.0]
    """

    kind: int
    codes: Array
    amounts: Floats
    n_clusters: int
    factor: float = 0.0

    @classmethod
    def of(
        cls,
        goal: GoalName,
        codes: Ints,
        weights: Array | None = None,
        points: Matrix | None = None,
    ) -> "LeafScore":
        """Return the score of a goal.

        Parameters
        ----------
        goal : {"fidelity", "balanced", "agreement", "cost", "conductance"}
            Rows right, mean recall of the clusters, adjusted Rand index (of a factor that is set by
            `at_index`), k-means cost, or conductance in the graph of cliques.
        codes : array of int, shape (n_rows,)
            Cluster of every row, 0..k-1; -1 for none.
        weights : array of shape (n_rows,), optional
            What every row counts; by default one.
        points : array of shape (n_rows, d), optional
            The rows as points, for "cost".
        """
        known = codes >= 0
        amounts = np.ones(len(codes)) if weights is None else np.asarray(weights, dtype=np.float64)
        amounts = np.where(known, amounts, 0.0)
        own = np.where(known, codes, 0).astype(np.int32)
        n_clusters = int(codes.max(initial=0)) + 1
        if goal == "cost":
            assert points is not None
            return CostScore.at(points, own, amounts, n_clusters)
        kind = {"fidelity": LARGEST, "balanced": LARGEST, "agreement": PAIRS}.get(goal, INNER_SHARE)
        if goal == "balanced":
            # Shares of clusters as whole numbers: sums of them are exact, in any order.
            totals = np.bincount(own, amounts, minlength=n_clusters)
            n_present = max(int(np.count_nonzero(totals)), 1)
            amounts = amounts * np.rint(WHOLE / n_present / np.where(totals > 0, totals, 1.0))[own]
        return cls(kind, own, amounts, n_clusters)

    @cached_property
    def totals(self) -> Floats:
        """Amounts of the clusters."""
        return self.rows(np.arange(len(self.codes)))

    @cached_property
    def degrees(self) -> Floats:
        """Edge ends of one row of each cluster in the graph of cliques."""
        return self.totals - 1.0

    @property
    def arrays(self) -> ScoreArrays:
        """The score as kernels read it."""
        nothing = np.zeros((0, 0))
        return ScoreArrays(
            self.kind, float(self.factor), self.codes, self.amounts, self.degrees, nothing
        )

    def sums(self, rows: Ints) -> Floats:
        """Return the totals of some rows, as kernels add them up."""
        return self.rows(rows)

    @cached_property
    def unit(self) -> float:
        """Trees whose values differ by less are equal."""
        if self.kind == LARGEST and np.all(self.amounts == np.floor(self.amounts)):
            return 1.0 - 1e-6
        scale = {LARGEST: self.totals.sum(), PAIRS: self.totals @ self.totals, INNER_SHARE: 1.0}
        return _ROUNDING * float(scale[self.kind] or 1.0)

    @cached_property
    def counts_rows(self) -> bool:
        """Whether every row counts as one, or for nothing."""
        return bool(np.all((self.amounts == 1) | (self.amounts == 0)))

    @property
    def is_bounded(self) -> bool:
        """Whether one row that changes sides changes the optimum by a known amount at most."""
        return self.kind != INNER_SHARE

    def rows(self, rows: Ints) -> Floats:
        """Return the amounts of some rows by cluster."""
        own: Any = np.bincount(self.codes[rows], self.amounts[rows], minlength=self.n_clusters)
        return np.asarray(own, dtype=np.float64)

    def table(self, leaves: Ints, n_leaves: int, rows: Ints | slice = _ALL) -> Floats:
        """Return the amounts of all leaves by cluster, from the leaf of every row, or of some."""
        cells = leaves.astype(np.int64) * self.n_clusters + self.codes[rows]
        sums: Any = np.bincount(cells, self.amounts[rows], minlength=n_leaves * self.n_clusters)
        return np.asarray(sums, dtype=np.float64).reshape(n_leaves, self.n_clusters)

    def of_table(self, table: Floats) -> Floats:
        """Return the scores of leaves, from their amounts by cluster along the last axis."""
        if self.kind == LARGEST:
            return np.asarray(table.max(axis=-1))
        inner, total = (table * (table - 1)).sum(axis=-1), table.sum(axis=-1)
        if self.kind == PAIRS:
            return np.asarray(0.5 * inner - self.factor * 0.5 * total * (total - 1))
        volume = table @ self.degrees
        return np.where(volume > 0, inner / np.where(volume > 0, volume, 1.0), 0.0)

    def offset(self, n_leaves: int) -> float:
        """Return what the goal's own measure is less than the sum of the scores of so many leaves."""
        return float(n_leaves) if self.kind == INNER_SHARE else 0.0

    def labels(self, table: Floats) -> Ints:
        """Return the cluster that each leaf stands for."""
        return np.asarray(table.argmax(axis=-1), dtype=np.int64)

    def bound(self, totals: Floats, n_leaves: int) -> float:
        """Return what no tree of so many leaves over rows of these amounts can exceed."""
        return float(self.bounds(totals[None], n_leaves)[0, -1])

    def bounds(self, totals: Floats, most: int) -> Floats:
        """Return the same for many sets of rows, and for trees of one leaf, of two, and so on.

        Parameters
        ----------
        totals : array of float, shape (n_sets, n_clusters)
            Amounts by cluster.
        most : int
            Leaves of the largest trees.
        """
        if self.kind == INNER_SHARE:
            from spexplain.kernels.solver import bound_shares

            found = np.empty((len(totals), most))
            bound_shares(np.ascontiguousarray(totals), self.degrees, _FEW_CLUSTERS, found)
            return found
        sizes = np.arange(1, most + 1)
        if self.kind == LARGEST:
            best = np.cumsum(np.sort(totals)[:, ::-1], axis=1)
            return np.asarray(best[:, np.minimum(sizes, totals.shape[1]) - 1])
        total = totals.sum(axis=1, keepdims=True)
        inner = 0.5 * (totals * np.maximum(totals - 1, 0)).sum(axis=1, keepdims=True)
        fewest = np.maximum(0.5 * total * (total / sizes - 1), 0.0)
        return np.asarray(inner - self.factor * fewest)

    def at_index(self, value: float, index: RandIndex) -> Self:
        """Return the score whose best tree has a higher adjusted Rand index than a value, if any has.

        Dinkelbach's method: (S - cA) / ((1/2 - c) A + B/2) exceeds μ where S - (c + μ (1/2 - c)) A
        exceeds μB/2.
        """
        share = index.together / index.n_pairs if index.n_pairs else 0.0
        return replace(self, factor=share + value * (0.5 - share))


@dataclass(frozen=True, eq=False)
class CostScore(LeafScore):
    """What a tree saves of the k-means cost: Σ |Σ w x|² / Σ w over the leaves, each served by its mean.

    "Amounts" of rows are their weight, the sums of their points, and those of the squares, or of the
    products of any two columns where these are few.

    Parameters
    ----------
    points : array of float, shape (n_rows, d)
        The rows, moved so that their mean is zero.
    """

    points: Floats = field(default_factory=lambda: np.zeros((0, 0)))

    @classmethod
    def at(cls, points: Matrix, codes: Array, amounts: Floats, n_clusters: int) -> Self:
        """Return the score of rows at some points."""
        where = np.asarray(points, dtype=np.float64)
        weight = amounts.sum()
        mean = amounts @ where / weight if weight else np.zeros(where.shape[1])
        moved = np.ascontiguousarray(where - mean)
        return cls(OWN_MEANS, codes, amounts, n_clusters, points=moved)

    @cached_property
    def square(self) -> float:
        """The cost of the tree of one leaf."""
        return float(self.amounts @ (self.points**2).sum(axis=1))

    @cached_property
    def unit(self) -> float:
        """Trees whose values differ by less are equal."""
        return _ROUNDING * (self.square or 1.0)

    @property
    def arrays(self) -> ScoreArrays:
        """The score as kernels read it."""
        return ScoreArrays(self.kind, 0.0, self.codes, self.amounts, np.zeros(0), self.points)

    def sums(self, rows: Ints) -> Floats:
        """Return the weight of some rows, and the sums of their points."""
        return np.asarray(self.table(np.zeros(len(rows), dtype=np.int64), 1, rows)[0])

    @property
    def is_bounded(self) -> bool:
        """Whether one row that changes sides changes the optimum by a known amount at most."""
        return False

    def rows(self, rows: Ints) -> Floats:
        """Return weight, sums and products of some rows."""
        own, where = self.amounts[rows], self.points[rows]
        weighted = where * own[:, None]
        if where.shape[1] <= _FEW_COLUMNS:
            products: Floats = (weighted.T @ where).ravel()
        else:
            products = np.array([(weighted * where).sum()])
        return np.concatenate([[own.sum()], weighted.sum(axis=0), products])

    def table(self, leaves: Ints, n_leaves: int, rows: Ints | slice = _ALL) -> Floats:
        """Return weights and sums of all leaves, from the leaf of every row, or of some."""
        own, table = self.amounts[rows], np.zeros((n_leaves, 1 + self.points.shape[1]))
        table[:, 0] = np.bincount(leaves, own, minlength=n_leaves)
        np.add.at(table[:, 1:], leaves, self.points[rows] * own[:, None])
        return table

    def of_table(self, table: Floats) -> Floats:
        """Return the scores of leaves, from their weights and sums along the last axis."""
        weight, sums = table[..., 0], table[..., 1 : 1 + self.points.shape[1]]
        square = (sums**2).sum(axis=-1)
        return np.where(weight > 0, square / np.where(weight > 0, weight, 1.0), 0.0)

    def bound(self, totals: Floats, n_leaves: int) -> float:
        """Return what no partition of rows of these sums into so many parts can exceed.

        The means of k parts, seen from the mean of all, span k - 1 dimensions: what they save is at
        most what the k - 1 first principal components hold.
        """
        d = self.points.shape[1]
        weight, sums, products = totals[0], totals[1 : 1 + d], totals[1 + d :]
        if not weight > 0:
            return 0.0
        alone = float(sums @ sums / weight)
        if len(products) < d * d:
            return float(products[0]) + self.unit
        scatter = products.reshape(d, d) - np.outer(sums, sums) / weight
        if n_leaves > d:
            return alone + float(np.trace(scatter)) + self.unit
        held = np.linalg.eigvalsh(scatter)[::-1][: n_leaves - 1]
        return alone + float(np.maximum(held, 0.0).sum()) + self.unit

    def bounds(self, totals: Floats, most: int) -> Floats:
        """Return the same for many sets of rows, and for one part, for two, and so on."""
        sizes = range(1, most + 1)
        return np.array([[self.bound(each, size) for size in sizes] for each in totals])

    def offset(self, n_leaves: int) -> float:
        """Return what the cost, with its sign changed, is less than the sum of the scores."""
        return self.square
