"""What it costs to serve each cluster: by its own mean or median, or by given centres."""

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

from spexplain.aliases import Array, Floats, Ints, Matrix

Cost: TypeAlias = Literal["kmeans", "kmedians", "kernel_kmeans"]
Kernel: TypeAlias = str | Callable[..., Any]

_BLOCK = 1 << 20  # entries of one block of the kernel matrix: 8 MB
# Feature-space distances are differences of kernel sums: below this relative size they are noise.
_ROUNDING = 1e-12


class Costs(NamedTuple):
    """Summed cost of the rows of every cluster."""

    alone: Floats  # served by the cluster's own mean or median, shape (n_clusters,)
    by_center: Floats  # served by each centre, shape (n_clusters, n_centers)


def own_centers(X: Matrix, codes: Ints, cost: Cost) -> Floats:
    """Return the mean (k-means) or coordinate-wise median (k-medians) of every cluster."""
    if cost == "kmedians":
        return np.array([np.median(rows, axis=0) for rows in _clusters(X, codes)])
    return np.array([rows[0] + (rows - rows[0]).mean(axis=0) for rows in _clusters(X, codes)])


def point_costs(X: Matrix, codes: Ints, centers: Floats, cost: Cost) -> Costs:
    """Return the k-means or k-medians costs of clusters 0, 1, ..., none of them empty."""
    serve = _serve_by_medians if cost == "kmedians" else _serve_by_means
    alone, by_center = zip(*(serve(rows, centers) for rows in _clusters(X, codes)), strict=True)
    return Costs(np.array(alone), np.array(by_center))


def _clusters(X: Matrix, codes: Ints) -> list[Floats]:
    """Return the rows of every cluster, as float64 and in their order in X."""
    members = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
    return [X[rows].astype(np.float64) for rows in members]


def _serve_by_means(rows: Floats, centers: Floats) -> tuple[float, Floats]:
    """Return Σ‖x − c‖² for the mean and for each centre: the latter adds N‖mean − c‖²."""
    # Measured from one of its rows, a cluster of equal rows costs exactly zero.
    offsets = rows - rows[0]
    mean = offsets.mean(axis=0)
    alone = float(np.sum((offsets - mean) ** 2))
    gaps = centers - rows[0] - mean
    return alone, alone + len(rows) * np.sum(gaps**2, axis=1)


def _serve_by_medians(rows: Floats, centers: Floats) -> tuple[float, Floats]:
    """Return Σ‖x − c‖₁ for the coordinate-wise median and for each centre."""
    alone = float(np.abs(rows - np.median(rows, axis=0)).sum())
    return alone, np.array([np.abs(rows - center).sum() for center in centers])


def kernel_costs(
    X: Matrix,
    codes: Ints,
    reference: Ints,
    kernel: Kernel,
    parameters: Mapping[str, Any],
) -> tuple[Costs, Costs]:
    """Return the kernel k-means costs of both partitions; the centres are the means of the reference.

    All of them follow from the kernel sums G between clusters: serving the rows of U by the mean of
    C costs Σ_U K_xx − (2/|C|) G(U, C) + (|U|/|C|²) G(C, C).
    """
    n_clusters = int(codes.max()) + 1
    groups = sparse.hstack([_indicator(codes), _indicator(reference)], format="csr")
    sums, squares = _kernel_sums(X, groups, kernel, parameters)
    sizes = np.asarray(groups.sum(axis=0)).ravel()
    own = np.diagonal(sums)
    served = squares[:, None] - 2 * sums / sizes + np.outer(sizes, own / sizes**2)
    alone, by_center = squares - own / sizes, served[:, n_clusters:]
    noise = _ROUNDING * np.abs(squares)
    alone = np.where(alone <= noise, 0.0, alone)
    by_center = np.where(by_center <= noise[:, None], 0.0, by_center)
    return (
        Costs(alone[:n_clusters], by_center[:n_clusters]),
        Costs(alone[n_clusters:], by_center[n_clusters:]),
    )


def _indicator(codes: Ints) -> sparse.csr_array:
    n_samples = len(codes)
    entries = np.ones(n_samples), codes, np.arange(n_samples + 1)
    return sparse.csr_array(entries, shape=(n_samples, int(codes.max()) + 1))


def _kernel_sums(
    X: Matrix, groups: Any, kernel: Kernel, parameters: Mapping[str, Any]
) -> tuple[Floats, Floats]:
    """Return Σ K_xy over x in one group and y in another, and Σ K_xx over each group."""
    n_samples, n_groups = groups.shape
    rows_of = _kernel_rows(X, kernel, parameters)
    sums, squares = np.zeros((n_groups, n_groups)), np.zeros(n_groups)
    height = max(1, _BLOCK // n_samples)
    for start in range(0, n_samples, height):
        block = slice(start, min(start + height, n_samples))
        values = rows_of(block)
        members = groups[block].T
        sums += members @ (groups.T @ values.T).T
        squares += members @ values[np.arange(len(values)), np.arange(block.start, block.stop)]
    return sums, squares


def _kernel_rows(
    X: Matrix, kernel: Kernel, parameters: Mapping[str, Any]
) -> Callable[[slice], Array]:
    """Return the function that computes a block of rows of the kernel matrix."""
    from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels

    table = X.astype(np.float64)
    if callable(kernel):
        return lambda block: _checked(kernel(table[block], table, **parameters), block, len(table))
    if kernel == "precomputed":
        if table.shape[0] != table.shape[1]:
            raise ValueError(f"X must be a square matrix of kernel values, got shape {X.shape}.")
        return lambda block: table[block]
    if kernel not in PAIRWISE_KERNEL_FUNCTIONS:
        known = ", ".join(f'"{name}"' for name in sorted(PAIRWISE_KERNEL_FUNCTIONS))
        raise ValueError(f'kernel={kernel!r} must be a callable, "precomputed", or one of {known}.')
    if kernel in ("rbf", "linear"):
        # Blind to translation, but their sums of products cancel far from the origin.
        table = table - table.mean(axis=0)
    return lambda block: np.asarray(
        pairwise_kernels(table[block], table, metric=kernel, filter_params=True, **parameters)
    )


def _checked(values: Any, block: slice, n_samples: int) -> Floats:
    """Return what a user's kernel answered; refuse what is no matrix of values."""
    matrix = np.asarray(values, dtype=np.float64)
    wanted = block.stop - block.start, n_samples
    if matrix.shape != wanted or not np.isfinite(matrix).all():
        raise ValueError(
            "kernel must return one finite value for every pair of rows of its two arguments: "
            f"shape {wanted} was expected, {matrix.shape} came."
        )
    return matrix
