"""Numbers that describe the rows of the leaves: one pass for all features, another for the few that matter."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from spexplain.aliases import Array, Bools, Floats, Ints, Matrix
from spexplain.table.host import HostTable
from spexplain.table.storage import is_sparse

QUANTILES = {"q05": 0.05, "q25": 0.25, "median": 0.5, "q75": 0.75, "q95": 0.95}
_BLOCK = 1 << 17  # values that are held as float64 at once: they stay in the cache


class Moments(NamedTuple):
    """Sums over groups of rows, for every feature; missing values do not count.

    Values are measured from `origin`; for words it is counted which rows have them.
    """

    origin: Floats  # (n_features,)
    sizes: Array  # rows of every group, or their weight, (n_groups,)
    counts: Array  # of those with a value, as all below (n_groups, n_features)
    sums: Floats
    squares: Floats
    low: Floats  # least value; infinity in empty groups
    high: Floats

    @classmethod
    def of(
        cls,
        X: Matrix,
        groups: list[Ints],
        weights: Floats | None = None,
        is_word: Bools | None = None,
    ) -> "Moments":
        """Return the sums of groups of rows, given by their row numbers, times their weights.

        O(n d), or O(entries + groups · d).
        """
        words = np.zeros(X.shape[1], dtype=np.bool_) if is_word is None else is_word
        if is_sparse(X):
            return cls._of_entries(X, groups, weights, words)
        shape = (len(groups), X.shape[1])
        sums, squares = np.zeros(shape), np.zeros(shape)
        low, high = np.full(shape, np.inf), np.full(shape, -np.inf)
        sizes = _sizes(groups, weights)
        counts = np.repeat(sizes[:, None], shape[1], axis=1)
        # Near the rows, squares lose few digits.
        origin = np.where(words, 0.0, _means(X))
        for group, rows in enumerate(groups):
            for part, block in _blocks(X, rows):
                if words.any():
                    block[:, words] = has_word(block[:, words])
                low[group] = np.fmin(low[group], _end(np.fmin, block))
                high[group] = np.fmax(high[group], _end(np.fmax, block))
                gaps = block - origin
                is_missing = np.isnan(block)
                mass = None if weights is None else weights[part]
                if is_missing.any():
                    lacking = is_missing.sum(axis=0) if mass is None else mass @ is_missing
                    counts[group] -= lacking
                    gaps[is_missing] = 0.0
                if mass is None:
                    sums[group] += gaps.sum(axis=0)
                    squares[group] += np.einsum("ij,ij->j", gaps, gaps)
                else:
                    sums[group] += mass @ gaps
                    squares[group] += np.einsum("i,ij,ij->j", mass, gaps, gaps)
        return cls(origin, sizes, counts, sums, squares, low, high)

    @classmethod
    def _of_entries(
        cls, X: Any, groups: list[Ints], weights: Floats | None, is_word: Bools
    ) -> "Moments":
        """Return the sums of groups of rows of a sparse table."""
        sums, squares, low, high = np.zeros((4, len(groups), X.shape[1]))
        low[:], high[:] = np.inf, -np.inf
        sizes = _sizes(groups, weights)
        counts = np.repeat(sizes[:, None], X.shape[1], axis=1)
        for group, rows in enumerate(groups):
            if not len(rows):
                continue
            own = X[rows].astype(np.float64).tocsr()
            in_words = is_word[own.indices]
            own.data[in_words] = has_word(own.data[in_words])
            mass = np.ones(len(rows)) if weights is None else weights[rows]
            low[group], high[group] = own.nanmin(axis=0).toarray(), own.nanmax(axis=0).toarray()
            is_missing = np.isnan(own.data)
            if is_missing.any():
                lacking = own.copy()
                lacking.data = is_missing.astype(np.float64)
                counts[group] -= (mass @ lacking).astype(counts.dtype)
                own.data[is_missing] = 0.0
            sums[group], squares[group] = mass @ own, mass @ own.power(2)
        return cls(np.zeros(X.shape[1]), sizes, counts, sums, squares, low, high)

    @property
    def means(self) -> Floats:
        """Mean of every group, NaN in empty ones."""
        means: Floats = self.origin + self.sums / self.counts
        return np.clip(means, self.low, self.high)  # rounding may step out of a constant group

    @property
    def stds(self) -> Floats:
        """Standard deviation of every group, NaN in empty ones and exactly 0 where all is equal."""
        variances = self.squares / self.counts - (self.sums / self.counts) ** 2
        stds: Floats = np.sqrt(np.maximum(variances, 0.0))
        return np.where(self.low == self.high, 0.0, stds)

    def total(self) -> "Moments":
        """Return the sums of all rows as one group."""
        return Moments(
            self.origin,
            self.sizes.sum(keepdims=True),
            self.counts.sum(axis=0, keepdims=True),
            self.sums.sum(axis=0, keepdims=True),
            self.squares.sum(axis=0, keepdims=True),
            self.low.min(axis=0, keepdims=True),
            self.high.max(axis=0, keepdims=True),
        )

    def flags(self) -> Bools:
        """Return which features hold only 0 and 1: no other values from 0 to 1 of that mean vary as much."""
        total = self.total()
        means = total.means[0]
        has_ends = (total.low[0] == 0) & (total.high[0] == 1)
        found: Bools = has_ends & np.isclose(
            total.stds[0] ** 2, means * (1 - means), rtol=1e-9, atol=0.0
        )
        return found

    def outside(self) -> Floats:
        """Return the mean of all other rows for every group; NaN where there are none."""
        total = self.total()
        means: Floats = self.origin + (total.sums - self.sums) / (total.counts - self.counts)
        return np.clip(means, total.low, total.high)  # rounding may step out

    def differences(self) -> Floats:
        """Return mean inside less mean outside, in standard deviations of all rows.

        The deviation of all rows, not of the group, keeps a group of equal rows finite and makes
        groups comparable. NaN for constant features, empty groups, and a group of all rows.
        """
        total = self.total()
        outside = (total.sums - self.sums) / (total.counts - self.counts)
        gaps: Floats = (self.sums / self.counts - outside) / total.stds
        return np.where(total.stds > 0, gaps, np.nan)

    def missing(self) -> tuple[Floats, Floats]:
        """Return the share of missing values in every group, and among all other rows."""
        total = self.total()
        lacking, sizes = self.sizes[:, None] - self.counts, self.sizes[:, None]
        all_lacking = total.sizes[:, None] - total.counts
        outside = (all_lacking - lacking) / (total.sizes[:, None] - sizes)
        return lacking / sizes, outside


class Shares(NamedTuple):
    """How common the values of one category are in groups of rows."""

    counts: Array  # rows, or their weight, (n_groups, n_categories)
    inside: Floats  # shares of the rows with a value; NaN where there are none
    outside: Floats  # the same of all other rows
    differences: Floats  # in standard deviations of all rows, as in `Moments`

    @classmethod
    def of(
        cls,
        column: Floats,
        labels: Ints,
        n_groups: int,
        n_categories: int,
        weights: Floats | None = None,
    ) -> "Shares":
        """Return the shares in groups of rows, given by the group of every row. O(n)."""
        known = ~np.isnan(column)
        cells = labels[known] * n_categories + column[known].astype(np.int64)
        mass = None if weights is None else weights[known]
        counts = np.bincount(cells, mass, minlength=n_groups * n_categories)
        counts = counts.reshape(n_groups, n_categories)
        total, sizes = counts.sum(axis=0), counts.sum(axis=1, keepdims=True)
        inside, outside = counts / sizes, (total - counts) / (sizes.sum() - sizes)
        overall = total / sizes.sum()
        deviations = np.sqrt(overall * (1 - overall))
        gaps = np.where(deviations > 0, (inside - outside) / deviations, np.nan)
        return cls(counts, inside, outside, gaps)

    def telling(self, group: int) -> int | None:
        """Return the value whose share in a group differs most, the first of equals; None if none does."""
        gaps = np.nan_to_num(np.abs(self.differences[group]), nan=-1.0)
        return int(gaps.argmax()) if gaps.size and gaps.max() >= 0 else None


def has_word(values: Floats) -> Floats:
    """Return 1 where a document has a word, 0 where not, NaN where that is unknown."""
    return np.where(np.isnan(values), np.nan, values > 0)


def quantiles_of(
    columns: Floats,
    shares: list[float],
    weights: Floats | None = None,
    *,
    is_between: bool = True,
) -> Floats:
    """Return the quantiles of every column, shape (n_shares, n_columns), of rows with weights.

    A row counts as often as it weighs; where weights are fractions, the value at that share of the weight is taken.

    Parameters
    ----------
    columns : array of shape (n_columns, n_rows)
        The values.
    shares : list of float
        From 0 to 1.
    weights : array of shape (n_rows,), optional
        Positive weights.
    is_between : bool, default=True
        Whether a quantile may lie between two values; otherwise it is the lower one.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain.facts.leaf_statistics import quantiles_of
    >>> quantiles_of(np.array([[1.0, 5.0]]), [0.5], np.array([3.0, 1.0]))
    array([[1.]])
    """
    if weights is None:
        method: Any = "linear" if is_between else "lower"
        return np.asarray(np.quantile(columns, shares, axis=1, method=method))
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
            parts = places - np.floor(places) if is_between else 0.0
            found[:, at] = low + parts * (high - low)
        else:
            places = running[-1] * np.asarray(shares)
            found[:, at] = own[np.minimum(np.searchsorted(running, places, side="left"), last)]
    return found


def leaf_quantiles(
    columns: Floats, is_category: Bools, is_time: Bools, weights: Floats | None = None
) -> Floats:
    """Return the `QUANTILES` (first axis) of some columns, shape (n_features, n_rows).

    Missing values do not count. For categories, all quantiles are their commonest value; those of dates
    and durations are values that occur, so that they are as round as these.
    """
    shares = list(QUANTILES.values())
    found = np.full((len(shares), len(columns)), np.nan)
    is_plain = ~(np.isnan(columns).any(axis=1) | is_category | is_time)
    if is_plain.any():
        found[:, is_plain] = quantiles_of(columns[is_plain], shares, weights)
    for at in np.flatnonzero(~is_plain).tolist():
        is_known = ~np.isnan(columns[at])
        known, mass = columns[at][is_known], None if weights is None else weights[is_known]
        if not len(known):
            continue
        if is_category[at]:
            found[:, at] = np.bincount(known.astype(np.int64), mass).argmax()
        else:
            between = not is_time[at]
            found[:, at] = quantiles_of(known[None], shares, mass, is_between=between)[:, 0]
    return found


def _means(X: Matrix) -> Floats:
    """Return the mean of every column; 0 where there is no value."""
    means: Floats = X.mean(axis=0, dtype=np.float64)
    for column in np.flatnonzero(np.isnan(means)).tolist():
        known = X[:, column][~np.isnan(X[:, column])]
        means[column] = known.mean(dtype=np.float64) if len(known) else 0.0
    return means


def _end(extreme: Any, rows: Floats) -> Floats:
    """Return the least or the greatest value of every column, halving the rows: whole blocks are vectorised."""
    while len(rows) > 1:
        half = (len(rows) + 1) // 2
        rows = extreme(rows[:half], rows[-half:])  # of an odd number the middle one counts twice
    return np.asarray(rows[0])


def _sizes(groups: list[Ints], weights: Floats | None) -> Array:
    """Return the rows of every group, or their weight."""
    if weights is None:
        return np.array([len(rows) for rows in groups], dtype=np.int64)
    return np.array([weights[rows].sum() for rows in groups])


def _blocks(X: Matrix, rows: Ints) -> Iterator[tuple[Ints, Floats]]:
    """Give the numbers of some rows, and these as float64, a few megabytes at a time."""
    step = max(1, _BLOCK // X.shape[1])
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        yield part, X[part].astype(np.float64)


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


def nearest_rows(
    columns: Floats, middle: Floats, scales: Floats, n_nearest: int, is_listed: Bools
) -> Ints:
    """Return which rows are nearest to a middle, in standard deviations; of equals the first.

    `columns` has shape (n_features, n_rows), the other arrays one entry per feature. Another category
    than the middle's is one deviation away, and so is a missing value.
    """
    distances = np.zeros(columns.shape[1])
    for column, center, scale, listed in zip(columns, middle, scales, is_listed, strict=True):
        if np.isnan(center):
            continue  # nobody has a value
        if listed:
            distances += column != center
        elif scale > 0:  # constant features tell nothing
            distances += np.nan_to_num(((column - center) / scale) ** 2, nan=1.0, posinf=np.inf)
    if n_nearest >= len(distances):
        return np.argsort(distances, kind="stable")
    # Sorting only those within the n-th distance: O(n).
    near = np.flatnonzero(distances <= np.partition(distances, n_nearest)[n_nearest])
    nearest: Ints = near[np.argsort(distances[near], kind="stable")[:n_nearest]]
    return nearest
