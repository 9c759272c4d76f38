"""Clusters in the feature space of a kernel, seen through functions of one column each.

A cut in the feature space of a kernel is not a condition on one column. Kernel IMM therefore replaces
the kernel by surrogate features that each depend on a single column and rise to one peak and fall
again: *bumps*. A threshold on a bump is an interval of its column.
"""

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import numpy as np
import scipy

from spexplain.aliases import Floats, Ints, Matrix
from spexplain.graphs.centers import CenterCosts, weighted_costs
from spexplain.table.distances import check_costs

KernelName: TypeAlias = Literal["rbf", "laplacian"]
Family: TypeAlias = Literal["kernel", "taylor"]

_ORDERS = np.arange(5)  # of the Taylor features, as in the authors' experiments
_BLOCK = 1 << 20  # entries of one block of the kernel matrix: 8 MB


class Bumps(Protocol):
    """Surrogate features of one column, each with one peak."""

    @property
    def peaks(self) -> Floats:
        """Where each bump is highest, shape (n_bumps,)."""

    def at(self, x: Floats, which: slice | Ints) -> Floats:
        """Return the values of some bumps at the values x of the column, shape (n_bumps, n_values)."""

    def level_set(self, bump: int, level: float) -> tuple[float, float]:
        """Return the ends of the interval on which a bump is above the level, up to rounding."""


@dataclass(frozen=True, eq=False)
class KernelBumps:
    """The kernel of one column between its values and anchors: exp(−γ |x − a|^power)."""

    peaks: Floats
    gamma: float
    power: int

    def at(self, x: Floats, which: slice | Ints) -> Floats:
        """Return the values of some bumps."""
        with np.errstate(over="ignore", under="ignore"):
            values = x - self.peaks[which][:, None]
            values *= values if self.power == 2 else np.sign(values)
            values *= -self.gamma
            return np.exp(values, out=values)

    def level_set(self, bump: int, level: float) -> tuple[float, float]:
        """Return a ∓ r with exp(−γ r^power) = level."""
        radius = max(-np.log(level) / self.gamma, 0.0) ** (1 / self.power)
        return float(self.peaks[bump] - radius), float(self.peaks[bump] + radius)


@dataclass(frozen=True, eq=False)
class TaylorBumps:
    """Taylor features of the Gaussian kernel, sqrt((2γ)^m / m!) z^m exp(−γ z²), of z = x − origin.

    The kernel does not change when a column is shifted; with the column's smallest value as the
    origin every feature has a single peak.
    """

    origin: float
    gamma: float

    @property
    def peaks(self) -> Floats:
        """Where z^m exp(−γ z²) is highest."""
        return np.asarray(self.origin + np.sqrt(_ORDERS / (2 * self.gamma)))

    def at(self, x: Floats, which: slice | Ints) -> Floats:
        """Return the values of some bumps, by logarithms: large powers times tiny factors."""
        orders, z = _ORDERS[which][:, None], x - self.origin
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(
                np.exp(scipy.special.xlogy(orders, z) - self.gamma * z * z + self._scales(orders))
            )

    def _scales(self, orders: Ints) -> Floats:
        scales: Floats = (
            scipy.special.xlogy(orders, 2 * self.gamma) - scipy.special.gammaln(orders + 1)
        ) / 2
        return scales

    def level_set(self, bump: int, level: float) -> tuple[float, float]:
        """Return the ends by Lambert's W: with u = 2γz²/m, u exp(−u) is known."""
        order = int(_ORDERS[bump])
        log = float(np.log(level) - self._scales(_ORDERS[bump]))
        if order == 0:
            return -np.inf, float(self.origin + np.sqrt(max(-log / self.gamma, 0.0)))
        height = 2 * self.gamma / order * np.exp(2 * log / order)
        branches = scipy.special.lambertw(
            -np.clip(height, np.finfo(float).tiny, np.exp(-1)), [0, -1]
        )
        z = np.sqrt(np.maximum(-branches.real, 0.0) * order / (2 * self.gamma))
        return float(self.origin + z[0]), float(self.origin + z[1])


@dataclass(frozen=True, eq=False)
class SurrogateStar:
    """Unit edges from every sample to the mean of its cluster in the space of the bumps of all columns.

    The means have no place in the table; the engine projects the clusters on each bump.

    Parameters
    ----------
    labels : array of int, shape (n_samples,)
        Cluster of each sample, 0..k-1; -1 marks samples of none.
    kernel : {"rbf", "laplacian"}
        exp(−γ ‖x − y‖²) or exp(−γ ‖x − y‖₁).
    gamma : float
        Scale of the kernel.
    family : {"kernel", "taylor"}
        Kernel values between each column's value and those of the samples; or five Taylor features
        a column, for the Gaussian kernel only.
    max_anchors : int, optional
        Anchors a column, spread evenly over its distinct values; by default all of these.
    sample_weights : array of int, shape (n_samples,), optional
        Fixed-point weights of the samples; by default all are one.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain.graphs.kernel import SurrogateStar
    >>> star = SurrogateStar(np.array([0, 0, 1]), "rbf", 1.0)
    >>> star.bumps(np.array([0.0, 2.0, 2.0])).peaks
    array([0., 2.])
    """

    labels: Ints
    kernel: KernelName
    gamma: float
    family: Family = "kernel"
    max_anchors: int | None = None
    unit: float = 1.0
    sample_weights: Ints | None = None

    def bumps(self, column: Floats) -> Bumps:
        """Return the surrogate features of a column, in the order in which ties resolve."""
        if self.family == "taylor":
            return TaylorBumps(float(column.min()), self.gamma)
        anchors = np.unique(column)
        if self.max_anchors is not None and self.max_anchors < len(anchors):
            places = np.linspace(0, len(anchors) - 1, self.max_anchors)
            anchors = anchors[np.rint(places).astype(np.int64)]
        return KernelBumps(anchors, self.gamma, 2 if self.kernel == "rbf" else 1)

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.labels)

    @property
    def cluster_sizes(self) -> Ints:
        """Samples of each cluster, or their weight."""
        known = self.labels >= 0
        sizes = np.zeros(int(self.labels.max(initial=-1)) + 1, dtype=np.int64)
        np.add.at(sizes, self.labels[known], self.weights[known])
        return sizes

    @property
    def weights(self) -> Ints:
        """Weight of every sample."""
        if self.sample_weights is None:
            return np.ones(self.n_samples, dtype=np.int64)
        return self.sample_weights

    @property
    def extra(self) -> None:
        """No vertices with a place in the table beyond the samples."""
        return

    @property
    def degrees(self) -> Ints:
        """Weight of the samples of a cluster."""
        return np.where(self.labels >= 0, self.weights, 0)

    @property
    def sizes(self) -> Ints:
        """0 for samples: only centres count."""
        return np.zeros(self.n_samples, dtype=np.int64)


def feature_space_costs(
    X: Matrix,
    labels: Ints,
    kernel: KernelName,
    gamma: float,
    sample_weight: Floats | None = None,
) -> CenterCosts:
    """Return the squared distances ‖φ(x) − mean_i‖² of all samples to the means of all clusters.

    K_xx − (2/N_i) Σ_y K_xy + (1/N_i²) Σ_yz K_yz over y, z in the cluster, from blocks of rows of the
    kernel matrix. Samples of no cluster (-1) cost nothing.
    """
    from scipy.spatial.distance import cdist

    check_costs(len(X), int(labels.max()) + 1)
    table = X.astype(np.float64)
    known = np.flatnonzero(labels >= 0)
    members = known[np.argsort(labels[known], kind="stable")]
    counts = np.bincount(labels[known])
    starts = np.cumsum(counts) - counts
    clustered = table[members]
    own = np.ones(len(members)) if sample_weight is None else sample_weight[members]
    sizes = np.add.reduceat(own, starts)
    similarities = np.empty((len(table), len(sizes)))
    step = max(1, _BLOCK // len(table))
    for start in range(0, len(table), step):
        block = slice(start, start + step)
        distances = cdist(
            table[block], clustered, "sqeuclidean" if kernel == "rbf" else "cityblock"
        )
        with np.errstate(under="ignore"):
            similarities[block] = np.add.reduceat(np.exp(-gamma * distances) * own, starts, axis=1)
    similarities /= sizes
    weighted = similarities[members] * own[:, None]
    norms = np.add.reduceat(weighted, starts, axis=0).diagonal() / sizes
    costs = np.maximum(1 - 2 * similarities + norms, 0.0)
    costs[labels < 0] = 0.0
    return CenterCosts(*weighted_costs(costs, sample_weight))


def majority_costs(labels: Ints, sample_weight: Floats | None = None) -> CenterCosts:
    """Return 1 for every cluster that a sample is not in: the cheapest cluster is the commonest."""
    check_costs(len(labels), int(labels.max()) + 1)
    costs = (labels[:, None] != np.arange(labels.max() + 1)) & (labels >= 0)[:, None]
    return CenterCosts(*weighted_costs(costs.astype(np.float64), sample_weight))
