"""Distances of rows to centres."""

from typing import Literal, TypeAlias

import numpy as np

from spexplain.aliases import Floats, Matrix
from spexplain.memory import check_memory

_BLOCK = 1 << 12  # rows

CostName: TypeAlias = Literal["kmeans", "kmedians"]


def service_costs(X: Matrix, centers: Matrix, cost: CostName) -> Floats:
    """Return ‖x − c‖² ("kmeans") or ‖x − c‖₁ ("kmedians") for every row and centre.

    Sums the differences one by one, so that no digits are lost by cancellation.
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
        "take fewer rows or clusters, or a method without such costs, such as SpexClique, CART or IMM",
    )


def weighted_centers(X: Matrix, amounts: Floats, cost: CostName) -> Floats:
    """Return the mean ("kmeans") or coordinate-wise median ("kmedians") of clusters of weighted rows.

    A row of weight w counts as w rows. Shapes: amounts (n_rows, n_clusters), result (n_clusters, n_columns).

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain.table.distances import weighted_centers
    >>> weighted_centers(np.array([[0.0], [4.0]]), np.array([[3.0], [1.0]]), "kmeans")
    array([[1.]])
    """
    centers = []
    with np.errstate(over="ignore", invalid="ignore"):
        for own in amounts.T:
            rows = np.flatnonzero(own)
            points, weights = X[rows].astype(np.float64), own[rows]
            if cost == "kmedians":
                centers.append(weighted_medians(points, weights))
            else:
                centers.append(weights @ points / weights.sum())
    found = np.array(centers)
    if not np.isfinite(found).all():
        raise ValueError(
            "X holds values so large that the centres of its clusters overflow; scale its columns, for example with "
            "scikit-learn's StandardScaler."
        )
    return found


def weighted_medians(points: Floats, weights: Floats) -> Floats:
    """Return the median of every column: the middle of the values around half of the weight."""
    medians = np.empty(points.shape[1])
    for column, values in enumerate(points.T):
        order = np.argsort(values, kind="stable")
        running = np.cumsum(weights[order])
        half = running[-1] / 2
        last = len(order) - 1
        low = min(int(np.searchsorted(running, half, side="left")), last)
        high = min(int(np.searchsorted(running, half, side="right")), last)
        medians[column] = np.mean(values[order[[low, high]]])
    return medians
