"""How much two clusterings of the same rows agree, computed from their contingency table."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from spexplain.aliases import Array, Floats, Ints
from spexplain.arguments import check_weights
from spexplain.graphs.base import to_fixed_point

_MANY_CELLS = 2**22  # a contingency table with more cells than this and than rows is kept sparse
_BLOCK_ENTRIES = 2**18  # 2 MB, which a processor's cache can hold
_BITS = 30  # of sums of counts, whose squares fit int64 then
_TAIL = 40.0  # outcomes less likely than exp(-40) together add less than rounding does


class Agreement(NamedTuple):
    """Agreement of two clusterings of the same rows; 1 is best."""

    ari: float  # adjusted Rand index (Hubert and Arabie)
    ami: float  # adjusted mutual information, arithmetic mean
    purity: float  # share of rows in the commonest reference cluster of their own cluster


def agreement(labels: Array, reference: Array, *, sample_weight: Any = None) -> Agreement:
    """Compare a clustering with a reference clustering.

    Parameters
    ----------
    labels, reference : array of shape (n_samples,)
        Cluster labels of any type.
    sample_weight : array of shape (n_samples,), optional
        A row of weight w counts as w rows.

    Returns
    -------
    Agreement

    See Also
    --------
    agreement_of_counts : The same from a contingency table.

    Examples
    --------
    >>> from spexplain import metrics
    >>> metrics.agreement([0, 0, 1, 1], ["a", "a", "b", "b"]).ari
    1.0
    """
    rows, n_rows = _codes("labels", labels)
    columns, n_columns = _codes("reference", reference)
    if len(rows) != len(columns):
        raise ValueError(
            f"labels and reference must be of equal length, got {len(rows)} and {len(columns)}."
        )
    cells = rows * n_columns + columns
    weights = check_weights(sample_weight, len(cells))
    if weights is not None:
        filled, places = np.unique(cells, return_inverse=True)
        table = sparse.coo_array(
            (np.bincount(places, weights), np.divmod(filled, n_columns)), shape=(n_rows, n_columns)
        )
        return agreement_of_counts(table)
    if n_rows * n_columns <= max(_MANY_CELLS, len(cells)):
        counts = np.bincount(cells, minlength=n_rows * n_columns)
        return agreement_of_counts(counts.reshape(n_rows, n_columns))
    filled, amounts = np.unique(cells, return_counts=True)
    places = np.divmod(filled, n_columns)
    return agreement_of_counts(sparse.coo_array((amounts, places), shape=(n_rows, n_columns)))


def agreement_of_counts(counts: Any) -> Agreement:
    """Compare two clusterings, given their contingency table.

    Parameters
    ----------
    counts : array or sparse array of shape (n_clusters, n_reference_clusters)
        Number of rows in every cluster, by reference cluster, or their weight: fractions count as
        many tiny rows. Empty clusters do not matter.

    Returns
    -------
    Agreement
        The same values as scikit-learn's ``adjusted_rand_score`` and ``adjusted_mutual_info_score``. The
        cost depends on the number of clusters, hardly on the number of rows.

    Examples
    --------
    >>> from spexplain.metrics import agreement_of_counts
    >>> agreement_of_counts([[3, 0], [1, 4]]).purity
    0.875
    """
    given: Any = counts if sparse.issparse(counts) else np.asarray(counts)
    if given.ndim != 2 or not given.shape[0]:
        raise ValueError("counts must be a table of two axes that counts at least one row.")
    table = sparse.coo_array(given)
    is_filled = table.data != 0
    cells: Ints = whole_counts(table.data[is_filled])
    if not len(cells):
        raise ValueError("counts must be a table of two axes that counts at least one row.")
    rows, columns = table.row[is_filled], table.col[is_filled]
    clusters = _sizes(rows, cells)
    references = _sizes(columns, cells)
    commonest = np.zeros_like(clusters)
    np.maximum.at(commonest, rows, cells)
    purity = int(commonest.sum()) / int(cells.sum())
    n_clusters, n_references = np.count_nonzero(clusters), np.count_nonzero(references)
    if len(cells) == n_clusters == n_references:
        return Agreement(1.0, 1.0, purity)
    if 1 in (n_clusters, n_references):
        return Agreement(0.0, 0.0, purity)
    return Agreement(
        _adjusted_rand_index(cells, clusters, references),
        _adjusted_information(
            cells, clusters[rows] * (references[columns] / cells.sum()), clusters, references
        ),
        purity,
    )


def whole_counts(counts: Array) -> Ints:
    """Return counts as whole numbers; fractions by the fixed-point rule, as the number of tiny rows they stand for.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain.metrics.agreement import whole_counts
    >>> whole_counts(np.array([2.0, 1.0])).tolist(), whole_counts(np.array([0.5, 0.25])).tolist()
    ([2, 1], [536870912, 268435456])
    """
    if counts.dtype.kind in "iub":
        return counts.astype(np.int64)
    given = counts.astype(np.float64)
    return to_fixed_point(given, float(given.sum()), bits=_BITS)[0]


def _codes(name: str, labels: Any) -> tuple[Ints, int]:
    """Return whole numbers from 0 on as codes of the labels, and an upper bound on them."""
    given = np.asarray(labels)
    if given.ndim != 1 or not len(given):
        raise ValueError(f"{name} must hold one label per row, got shape {given.shape}.")
    if given.dtype.kind in "biu":
        least, most = int(given.min()), int(given.max())
        # Labels that are small numbers already need no sorting.
        if most - least <= max(len(given), 1024):
            codes = given.astype(np.int64, copy=False)
            shifted = codes - np.array(least).astype(np.int64) if least else codes
            return shifted, most - least + 1
    if given.dtype.kind in "fc" and np.isnan(given).any():
        raise ValueError(f"{name} contains NaN; every row must have a label.")
    try:
        classes, codes = np.unique(given, return_inverse=True)
    except TypeError:
        raise ValueError(f"{name} mixes labels that cannot be sorted together.") from None
    return codes.astype(np.int64), len(classes)


def _sizes(places: Ints, cells: Ints) -> Ints:
    """Return the rows of every cluster."""
    sizes = np.zeros(int(places.max()) + 1, dtype=np.int64)
    np.add.at(sizes, places, cells)
    return sizes


def _adjusted_rand_index(cells: Ints, clusters: Ints, references: Ints) -> float:
    """Return the adjusted Rand index, rounded once."""
    same, both, together, n_pairs = (
        _total_pairs(sizes) for sizes in (cells, clusters, references, cells.sum(keepdims=True))
    )
    return float(RandIndex(n_pairs, together).exact(same, both))


def _total_pairs(sizes: Ints) -> int:
    """Return Σ C(size, 2), exactly."""
    if int(sizes.sum()) < 2**31:
        return int(pairs(sizes).sum())
    return sum(map(pairs, sizes.tolist()))


def _adjusted_information(cells: Ints, means: Floats, clusters: Ints, references: Ints) -> float:
    """Return the mutual information less its mean over all tables with these sizes, normalised.

    `means` are the expected values of the cells if the clusterings were independent.
    """
    n_rows = int(cells.sum())
    information = float(cells @ np.log(cells / means)) / n_rows
    expected = _expected_information(clusters, references)
    entropies = [
        -float(p @ np.log(p))
        for p in (sizes[sizes > 0] / n_rows for sizes in (clusters, references))
    ]
    # Only equal clusterings make this zero, though rounding may leave it just above.
    return (information - expected) / max(
        sum(entropies) / 2 - expected, float(np.finfo(np.float64).eps)
    )


def _expected_information(clusters: Ints, references: Ints) -> float:
    """Return the mean mutual information of random clusterings of these sizes.

    A cell n of the table follows a hypergeometric distribution with mean μ. As Σ (n - μ) has mean 0,
    n log(n/μ) - (n - μ) may stand for n log(n/μ): its values are not negative, so their sum does not
    cancel. Clusters of equal size share their distributions, and only likely values of n are visited.
    """
    n_rows = int(clusters.sum())
    sizes, repeats = np.unique(clusters[clusters > 0], return_counts=True)
    other_sizes, other_repeats = np.unique(references[references > 0], return_counts=True)
    a, b = (
        grid.ravel().astype(np.float64) for grid in np.meshgrid(sizes, other_sizes, indexing="ij")
    )
    times = np.outer(repeats, other_repeats).ravel()
    variance = a * b / n_rows * (1 - np.maximum(a, b) / n_rows)
    # Bernstein's inequality: at most exp(-_TAIL) lies further than this from the mean, on each side.
    reach = np.ceil(_TAIL / 3 + np.sqrt(_TAIL**2 / 9 + 2 * _TAIL * variance)) + 1
    reach = np.minimum(reach, np.minimum(a, b) + 1).astype(np.int64)
    order = np.argsort(-reach, kind="stable")
    total, start = 0.0, 0
    while start < len(order):
        width = int(reach[order[start]])
        block = order[start : start + max(1, _BLOCK_ENTRIES // width)]
        total += float(times[block] @ _expected_excess(a[block], b[block], n_rows, width))
        start += len(block)
    return total / n_rows


def _expected_excess(a: Floats, b: Floats, n_rows: int, width: int) -> Floats:
    """Return the mean of n log(n/μ) - (n - μ) for hypergeometric n, `width` steps around the mode."""
    a, b = a[:, np.newaxis], b[:, np.newaxis]
    rest = n_rows - a - b
    mean = a * b / n_rows
    mode = np.floor((a + 1) * (b + 1) / (n_rows + 2))
    mode = np.clip(mode, np.maximum(0, -rest), np.minimum(a, b))
    steps = np.arange(width)
    # Probabilities relative to the mode's, from the quotients of neighbouring ones; a quotient of 0
    # ends the range of possible values.
    below, above = mode - steps, mode + steps
    down = np.cumprod(below * (rest + below) / ((a - below + 1) * (b - below + 1)), axis=1)
    up = np.cumprod((a - above) * (b - above) / ((above + 1) * (rest + above + 1)), axis=1)
    weights = np.hstack([down, np.ones_like(mode), up])
    values = np.maximum(np.hstack([below - 1, mode, above + 1]), 0)
    gaps = values - mean
    logs = np.log1p(gaps / mean, where=values > 0, out=np.zeros_like(gaps))
    excess = values * logs - gaps
    return np.asarray(np.einsum("ij,ij->i", weights, excess) / weights.sum(axis=1))


def index_of(ratio: tuple[float, float, float, float], same: Floats, both: Floats) -> Floats:
    """Return the adjusted Rand index from pairs in cells and in leaves, as the kernels compute it."""
    r0, r1, r2, r3 = ratio
    return (r0 * same + r1 * both) / (r2 + r3 * both)


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
    >>> from spexplain.metrics.agreement import RandIndex
    >>> index = RandIndex.of(np.array([0, 0, 1, 1, -1]))
    >>> index.exact(same=2, both=2), index.exact(same=1, both=3)
    (Fraction(1, 1), Fraction(0, 1))
    """

    n_pairs: int
    together: int

    @classmethod
    def of(cls, codes: Ints, amounts: Ints | None = None) -> Self:
        """Return the index for reference clusters 0..k-1; rows of no cluster (-1) do not count.

        With `amounts`, a row counts as that many rows.
        """
        return cls.of_sizes(leaf_table(np.zeros_like(codes), codes, 1, amounts)[0])

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
        """Return the index as a float, by the same expression as the kernels."""
        with np.errstate(invalid="ignore", divide="ignore"):
            index = index_of(self.ratio, np.asarray(same), np.asarray(both))
        # NaN or infinite only for two equal clusterings: one cluster, or singletons.
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


def pairs(counts: Any) -> Any:
    """C(counts, 2)."""
    return counts * (counts - 1) // 2


def pair_sums(table: Ints) -> tuple[int, int]:
    """Return the pairs within cells and within leaves of a table of leaves × clusters."""
    return int(pairs(table).sum()), int(pairs(table.sum(axis=1)).sum())


def leaf_table(labels: Array, codes: Ints, n_leaves: int, amounts: Ints | None = None) -> Ints:
    """Return the table of leaves × clusters; rows of no cluster (-1) are left out.

    With `amounts`, a row counts as that many rows.
    """
    n_clusters = int(codes.max(initial=-1)) + 1
    known = codes >= 0
    cells = labels[known].astype(np.int64) * n_clusters + codes[known]
    own = None if amounts is None else amounts[known]
    return cell_totals(cells, own, n_leaves * n_clusters).reshape(n_leaves, n_clusters)


def cell_totals(cells: Ints, amounts: Ints | None, n_cells: int) -> Ints:
    """Return the number of rows in each cell, or the sum of their amounts; their sum is below 2**53."""
    return np.bincount(cells, amounts, minlength=n_cells).astype(np.int64)
