"""What it costs to serve each sample from each centre, in fixed-point integers."""

from dataclasses import dataclass
from typing import Literal, Self, TypeAlias

import numpy as np

from spexplain.aliases import Floats, Ints, Matrix
from spexplain.graphs.base import to_fixed_point
from spexplain.memory import check_memory

_BLOCK = 1 << 12  # rows

CostName: TypeAlias = Literal["kmeans", "kmedians"]


def service_costs(X: Matrix, centers: Matrix, cost: CostName) -> Floats:
    """Return ‖x − c‖² ("kmeans") or ‖x − c‖₁ ("kmedians") for every sample and centre.

    Summed difference by difference: no digits are lost to cancelling squares.
    """
    from scipy.spatial.distance import cdist

    metric: Literal["sqeuclidean", "cityblock"]
    metric = "sqeuclidean" if cost == "kmeans" else "cityblock"
    check_costs(len(X), len(centers))
    costs = np.empty((len(X), len(centers)))
    for start in range(0, len(X), _BLOCK):  # no copy of the whole table in float64
        block = slice(start, start + _BLOCK)
        costs[block] = cdist(X[block].astype(np.float64, copy=False), centers, metric)
    with np.errstate(over="ignore"):
        if not np.isfinite(costs.sum()):
            raise ValueError(
                "X holds values so large that the costs of serving its rows overflow; scale its columns, for "
                "example with scikit-learn's StandardScaler."
            )
    return costs


def check_costs(n_samples: int, n_centers: int) -> None:
    """Refuse more costs than memory holds, as floats and in fixed point at the same time."""
    check_memory(
        3 * 8 * n_samples * n_centers,
        f"Costs of serving {n_samples:,} rows from {n_centers:,} centres",
        "take fewer rows or clusters, or a method without such costs, as SpexClique, CART and IMM are",
    )


@dataclass(frozen=True, eq=False)
class CenterCosts:
    """Costs of serving samples from fixed centres; a side is served by the single cheapest one.

    Parameters
    ----------
    costs : array of int, shape (n_samples, n_centers)
        Fixed-point costs.
    unit : float
        Cost of one fixed-point unit.
    """

    costs: Ints
    unit: float = 1.0

    @classmethod
    def from_centers(cls, X: Matrix, centers: Matrix) -> Self:
        """Return the squared Euclidean costs."""
        return cls(*_fixed_costs(X, centers, "kmeans"))

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.costs)

    @property
    def extra(self) -> None:
        """No vertices beyond the samples."""
        return

    @property
    def degrees(self) -> Ints:
        """There are no edges."""
        return np.zeros(self.n_samples, dtype=np.int64)

    @property
    def sizes(self) -> Ints:
        """Every sample counts."""
        return np.ones(self.n_samples, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class ServingCenters:
    """Samples and centres that are split together; each sample is served by the nearest centre of its side.

    Parameters
    ----------
    costs : array of int, shape (n_samples, n_centers)
        Fixed-point costs.
    firsts : array of int, shape (n_samples,)
        1 for the first of every group of identical rows, else 0: sums count distinct points.
    centers : array of float, shape (n_centers, n_features)
        Coordinates of the centres, the extra vertices.
    unit : float
        Cost of one fixed-point unit.
    """

    costs: Ints
    firsts: Ints
    centers: Matrix
    unit: float = 1.0

    @classmethod
    def from_centers(cls, X: Matrix, centers: Matrix, cost: CostName = "kmeans") -> Self:
        """Return squared Euclidean or ℓ1 costs."""
        costs, unit = _fixed_costs(X, centers, cost)
        firsts = np.zeros(len(X), dtype=np.int64)
        firsts[np.unique(X, axis=0, return_index=True)[1]] = 1
        return cls(costs, firsts, centers, unit)

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.costs)

    @property
    def extra(self) -> Matrix:
        """The centres."""
        return self.centers

    @property
    def degrees(self) -> Ints:
        """There are no edges."""
        return np.zeros(self.n_samples + len(self.centers), dtype=np.int64)

    @property
    def sizes(self) -> Ints:
        """0 for samples, 1 for centres."""
        return np.repeat([0, 1], [self.n_samples, len(self.centers)]).astype(np.int64)


def _fixed_costs(X: Matrix, centers: Matrix, cost: CostName) -> tuple[Ints, float]:
    if hasattr(X, "fixed_costs"):  # a table in partitions: the costs stay there
        fixed: tuple[Ints, float] = X.fixed_costs(centers, cost)
        return fixed
    costs = service_costs(X, centers, cost)
    return to_fixed_point(costs, total=float(costs.sum(axis=0).max()))
