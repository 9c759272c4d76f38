"""Numbers that describe the rows of the leaves: one pass for all features, another for the few that matter."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from spexplain.aliases import Array, Floats, Ints, Matrix
from spexplain.table.host import HostTable
from spexplain.table.places import is_sparse

QUANTILES = {"q05": 0.05, "q25": 0.25, "median": 0.5, "q75": 0.75, "q95": 0.95}
_BLOCK = 1 << 22  # values that are held as float64 at once: 32 MB


class Moments(NamedTuple):
    """Sums over groups of rows, for every feature. Values are measured from `origin`."""

    origin: Floats  # (n_features,)
    counts: Array  # (n_groups,): rows, or their weight
    sums: Floats  # (n_groups, n_features)
    squares: Floats
    low: Floats  # least value; infinity in empty groups
    high: Floats

    @classmethod
    def of(cls, X: Matrix, groups: list[Ints], weights: Floats | None = None) -> "Moments":
        """Return the sums of groups of rows, given by their row numbers, times their weights.

        O(n d), or O(entries + groups · d).
        """
        if is_sparse(X):
            return cls._of_entries(X, groups, weights)
        shape = (len(groups), X.shape[1])
        sums, squares = np.zeros(shape), np.zeros(shape)
        low, high = np.full(shape, np.inf), np.full(shape, -np.inf)
        # Near the rows, squares lose few digits.
        origin = X.mean(axis=0, dtype=np.float64)
        for group, rows in enumerate(groups):
            for part, block in _blocks(X, rows):
                low[group] = np.minimum(low[group], block.min(axis=0))
                high[group] = np.maximum(high[group], block.max(axis=0))
                gaps = block - origin
                if weights is None:
                    sums[group] += gaps.sum(axis=0)
                    squares[group] += np.einsum("ij,ij->j", gaps, gaps)
                else:
                    sums[group] += weights[part] @ gaps
                    squares[group] += np.einsum("i,ij,ij->j", weights[part], gaps, gaps)
        counts: Array = np.array([len(rows) for rows in groups], dtype=np.int64)
        if weights is not None:
            counts = np.array([weights[rows].sum() for rows in groups])
        return cls(origin, counts, sums, squares, low, high)

    @classmethod
    def _of_entries(cls, X: Any, groups: list[Ints], weights: Floats | None = None) -> "Moments":
        """Return the sums of groups of rows of a sparse table."""
        sums, squares, low, high = np.zeros((4, len(groups), X.shape[1]))
        low[:], high[:] = np.inf, -np.inf
        for group, rows in enumerate(groups):
            if len(rows):
                own = X[rows].astype(np.float64)
                low[group], high[group] = own.min(axis=0).toarray(), own.max(axis=0).toarray()
                mass = np.ones(len(rows)) if weights is None else weights[rows]
                sums[group], squares[group] = mass @ own, mass @ own.power(2)
        counts: Array = np.array([len(rows) for rows in groups], dtype=np.int64)
        if weights is not None:
            counts = np.array([weights[rows].sum() for rows in groups])
        return cls(np.zeros(X.shape[1]), counts, sums, squares, low, high)

    @property
    def means(self) -> Floats:
        """Mean of every group, NaN in empty ones."""
        means: Floats = self.origin + self.sums / self.counts[:, None]
        return np.clip(means, self.low, self.high)  # rounding may step out of a constant group

    @property
    def stds(self) -> Floats:
        """Standard deviation of every group, NaN in empty ones and exactly 0 where all is equal."""
        counts = self.counts[:, None]
        variances = self.squares / counts - (self.sums / counts) ** 2
        stds: Floats = np.sqrt(np.maximum(variances, 0.0))
        return np.where(self.low == self.high, 0.0, stds)

    def total(self) -> "Moments":
        """Return the sums of all rows as one group."""
        return Moments(
            self.origin,
            self.counts.sum(keepdims=True),
            self.sums.sum(axis=0, keepdims=True),
            self.squares.sum(axis=0, keepdims=True),
            self.low.min(axis=0, keepdims=True),
            self.high.max(axis=0, keepdims=True),
        )

    def differences(self) -> Floats:
        """Return mean inside less mean outside, in standard deviations of all rows.

        The deviation of all rows, not of the group, keeps a group of equal rows finite and makes
        groups comparable. NaN for constant features, empty groups, and a group of all rows.
        """
        total = self.total()
        counts = self.counts[:, None]
        outside = (total.sums - self.sums) / (total.counts[0] - counts)
        gaps: Floats = (self.sums / counts - outside) / total.stds
        return np.where(total.stds > 0, gaps, np.nan)


def _blocks(X: Matrix, rows: Ints) -> Iterator[tuple[Ints, Floats]]:
    """Give the numbers of some rows, and these as float64, a few megabytes at a time."""
    step = max(1, _BLOCK // X.shape[1])
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        yield part, X[part].astype(np.float64)


def quantiles_of(columns: Floats, shares: list[float], weights: Floats | None = None) -> Floats:
    """Return the quantiles of every column, shape (n_shares, n_columns), of rows with weights.

    Those of rows that stand as often as they weigh; with fractions, the value at that share of the weight.

    Parameters
    ----------
    columns : array of shape (n_columns, n_rows)
        The values.
    shares : list of float
        From 0 to 1.
    weights : array of shape (n_rows,), optional
        Positive weights.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain.facts.statistics import quantiles_of
    >>> quantiles_of(np.array([[1.0, 5.0]]), [0.5], np.array([3.0, 1.0]))
    array([[1.]])
    """
    if weights is None:
        return np.asarray(np.quantile(columns, shares, axis=1))
    order = np.argsort(columns, axis=1, kind="stable")
    values, found = (
        np.take_along_axis(columns, order, axis=1),
        np.empty((len(shares), len(columns))),
    )
    is_whole, last = np.array_equal(weights, np.floor(weights)), columns.shape[1] - 1
    for at, (own, running) in enumerate(
        zip(values, np.cumsum(weights[order], axis=1), strict=True)
    ):
        if is_whole:
            places = (running[-1] - 1) * np.asarray(shares)
            low = own[np.searchsorted(running, np.floor(places), side="right")]
            high = own[np.minimum(np.searchsorted(running, np.ceil(places), side="right"), last)]
            found[:, at] = low + (places - np.floor(places)) * (high - low)
        else:
            places = running[-1] * np.asarray(shares)
            found[:, at] = own[np.minimum(np.searchsorted(running, places, side="left"), last)]
    return found


def rows_of_groups(labels: Ints, n_groups: int) -> list[Ints]:
    """Return the row numbers of every group in increasing order."""
    order = np.argsort(labels, kind="stable")
    ends = np.cumsum(np.bincount(labels, minlength=n_groups))
    return np.split(order, ends[:-1])


def feature_scales(X: Matrix, features: Ints) -> Floats:
    """Return the standard deviations of some columns; NaN elsewhere.

    Enough for `explain_row`, which moves a row along tested features only. O(n) a feature.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain.facts import feature_scales
    >>> feature_scales(np.array([[0.0, 5.0], [2.0, 7.0]]), np.array([0]))
    array([ 1., nan])
    """
    return HostTable(X).scales(features)


def nearest_rows(columns: Floats, middle: Floats, scales: Floats, n_nearest: int) -> Ints:
    """Return which rows are nearest to a middle, in standard deviations; of equals the first.

    `columns` has shape (n_features, n_rows), the other arrays one entry per feature.
    """
    distances = np.zeros(columns.shape[1])
    for column, center, scale in zip(columns, middle, scales, strict=True):
        if scale > 0:  # constant features tell nothing
            distances += ((column - center) / scale) ** 2
    if n_nearest >= len(distances):
        return np.argsort(distances, kind="stable")
    # Sorting only those within the n-th distance: O(n).
    near = np.flatnonzero(distances <= np.partition(distances, n_nearest)[n_nearest])
    nearest: Ints = near[np.argsort(distances[near], kind="stable")[:n_nearest]]
    return nearest
