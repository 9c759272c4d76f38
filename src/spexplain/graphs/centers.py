"""What it costs to serve each sample from each centre, in fixed-point integers."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from spexplain.aliases import Floats, Ints, Matrix
from spexplain.graphs.base import to_fixed_point
from spexplain.table.distances import CostName, service_costs
from spexplain.table.storage import engine_of


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
    def from_centers(cls, X: Matrix, centers: Matrix, sample_weight: Floats | None = None) -> Self:
        """Return the squared Euclidean costs, times the weights of the samples."""
        return cls(*_fixed_costs(X, centers, "kmeans", sample_weight))

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
    def from_centers(
        cls,
        X: Matrix,
        centers: Matrix,
        cost: CostName = "kmeans",
        sample_weight: Floats | None = None,
    ) -> Self:
        """Return squared Euclidean or ℓ1 costs, times the weights of the samples."""
        costs, unit = _fixed_costs(X, centers, cost, sample_weight)
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


def weighted_costs(costs: Floats, sample_weight: Floats | None) -> tuple[Ints, float]:
    """Return costs of samples by centre in fixed point, times the weights of the samples, and their unit."""
    if sample_weight is None:
        return to_fixed_point(costs, total=float(costs.sum(axis=0).max()))
    weighted = costs * sample_weight[:, None]
    total = float(weighted.sum(axis=0).max())
    if not np.array_equal(sample_weight, np.floor(sample_weight)):
        return to_fixed_point(weighted, total)
    # A sample of weight 3 costs exactly as much as three samples.
    fixed, unit = to_fixed_point(costs, total)
    return fixed * sample_weight.astype(np.int64)[:, None], unit


def _fixed_costs(
    X: Any, centers: Matrix, cost: CostName, sample_weight: Floats | None = None
) -> tuple[Ints, float]:
    if engine_of(X) == "dask":
        if sample_weight is not None:
            raise ValueError(
                "Costs of weighted rows cannot be computed in partitions; pass a table in memory, for which "
                'engine="histogram" takes sample_weight.'
            )
        return _costs_in_partitions(X, centers, cost)
    return weighted_costs(service_costs(X, centers, cost), sample_weight)


def _costs_in_partitions(table: Any, centers: Matrix, cost: CostName) -> tuple[Any, float]:
    """Return the costs of a table in partitions, in lazy integers, and their unit."""
    from spexplain.table.workers import add_tuples

    held = table.workers.hold((centers, cost))
    arguments = [(block, held) for block in table.read_all()]
    totals, n_fractions = table.workers.ask("costs", _cost_totals, arguments, add_tuples)
    # One number that stands for all: whole numbers stay as they are, others are scaled alike.
    total, is_whole = float(totals.max()), not int(n_fractions[0])
    _, unit = to_fixed_point(np.array([1.0 if is_whole else 0.5]), total)
    request = centers, cost, total, is_whole
    return table.map_rows(_fixed, (request,), np.int64, len(centers)), unit


def _cost_totals(block: Any, request: tuple[Matrix, CostName]) -> tuple[Floats, Ints]:
    from spexplain.table.partition_worker import as_matrix

    costs = service_costs(as_matrix(block), *request)
    return costs.sum(axis=0), np.array([np.count_nonzero(costs != np.floor(costs))])


def _fixed(block: Any, request: tuple[Matrix, CostName, float, bool]) -> Ints:
    from spexplain.table.partition_worker import as_matrix

    centers, cost, total, is_whole = request
    costs = service_costs(as_matrix(block), centers, cost)
    # A partition of whole numbers must be scaled like all others.
    probe = np.full((1, len(centers)), 1.0 if is_whole else 0.5)
    return to_fixed_point(np.concatenate([costs, probe]), total)[0][:-1]
