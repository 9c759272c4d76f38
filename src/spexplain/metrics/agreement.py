"""How much two clusterings of the same rows agree."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, Self

import numpy as np

from spexplain.aliases import Array, Floats, Ints


class Agreement(NamedTuple):
    """Likeness of two clusterings of the same rows; 1 is best."""

    ari: float  # adjusted Rand index (Hubert and Arabie)
    ami: float  # adjusted mutual information, arithmetic mean
    purity: float  # share of rows in the commonest reference cluster of their own cluster


def agreement(labels: Array, reference: Array) -> Agreement:
    """Compare a clustering with a reference clustering.

    Parameters
    ----------
    labels, reference : array of shape (n_samples,)
        Cluster labels of any type.

    Returns
    -------
    Agreement

    Examples
    --------
    >>> from spexplain import metrics
    >>> metrics.agreement([0, 0, 1, 1], ["a", "a", "b", "b"]).ari
    1.0
    """
    from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score
    from sklearn.metrics.cluster import contingency_matrix

    table = contingency_matrix(reference, labels)
    return Agreement(
        ari=float(adjusted_rand_score(reference, labels)),
        ami=float(adjusted_mutual_info_score(reference, labels)),
        purity=float(table.max(axis=0).sum() / table.sum()),
    )


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
