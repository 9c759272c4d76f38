"""The cost of a tree's clustering, compared with the clustering that it explains."""

from collections.abc import Callable, Mapping
from math import fsum, inf
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from scipy import sparse

from spexplain.aliases import Array, Floats, Ints, Matrix
from spexplain.arguments import check_centers, check_choice, check_number, check_weights
from spexplain.metrics.inputs import partition_of, table_of
from spexplain.table.distances import weighted_medians

Cost: TypeAlias = Literal["kmeans", "kmedians", "kernel_kmeans"]
Convention: TypeAlias = Literal["reference", "own", "reoptimized"]
KernelChoice: TypeAlias = str | Callable[..., Any]

_BLOCK = 1 << 20  # entries of one block of the kernel matrix: 8 MB
# Feature-space distances are differences of kernel sums: below this relative size they are rounding errors.
_ROUNDING = 1e-12
_EPSILON = float(np.finfo(np.float64).eps)
_VANISHING = 40.0  # from this exponent on, exp(-x) is less than the rounding of 1


class ClusterCosts(NamedTuple):
    """Summed cost of the rows of every cluster."""

    alone: Floats  # served by the cluster's own mean or median, shape (n_clusters,)
    by_center: Floats  # served by each centre, shape (n_clusters, n_centers)


def clustering_cost(
    X: Any,
    labels: Array,
    *,
    cost: Cost = "kmeans",
    centers: Any = None,
    kernel: KernelChoice = "rbf",
    gamma: float | None = None,
    kernel_params: Mapping[str, Any] | None = None,
    sample_weight: Any = None,
) -> float:
    """Return the summed cost of the rows of all clusters.

    Parameters
    ----------
    X : array or data frame of shape (n_samples, n_features)
        The rows; with ``kernel="precomputed"`` the matrix of their kernel values.
    labels : array of shape (n_samples,)
        Cluster labels of any type. A noise label counts as any other label, so leave such rows out
        first if they should not count.
    cost : {"kmeans", "kmedians", "kernel_kmeans"}, default="kmeans"
        Squared Euclidean distance, ℓ1 distance, or squared distance in the kernel's feature space.
    centers : array of shape (n_centers, n_features), optional
        Each cluster is served, as a whole, by the cheapest of these centres; by default by its own
        mean (coordinate-wise median for k-medians). Not for kernel k-means.
    kernel : str or callable, default="rbf"
        For kernel k-means: a kernel of scikit-learn, "precomputed", or a function of two arrays of
        rows that returns the matrix of their kernel values.
    gamma : float, optional
        Scale of the kernel, as in scikit-learn: 1 / n_features by default.
    kernel_params : dict, optional
        Further keyword arguments of the kernel.
    sample_weight : array of shape (n_samples,), optional
        A row of weight w counts as w rows.

    Returns
    -------
    cost : float

    Examples
    --------
    >>> from spexplain import metrics
    >>> metrics.clustering_cost([[0.0], [2.0], [9.0]], [0, 0, 1])
    2.0
    >>> metrics.clustering_cost([[0.0], [2.0], [9.0]], [0, 0, 1], centers=[[0.0], [9.0]])
    4.0
    """
    check_choice("cost", cost, get_args(Cost))
    table = table_of(X)
    _, codes = partition_of("labels", labels, len(table))
    weights = check_weights(sample_weight, len(table))
    if weights is not None and not weights.all():  # rows of weight 0 cost nothing
        known = np.flatnonzero(weights)
        table = _rows_of(table, known, kernel if cost == "kernel_kmeans" else None)
        _, codes = np.unique(codes[known], return_inverse=True)
        weights = weights[known]
    if cost == "kernel_kmeans":
        _refuse_centers(centers)
        parameters = _kernel_parameters(gamma, kernel_params)
        return fsum(kernel_costs(table, codes, codes, kernel, parameters, weights)[0].alone)
    if centers is None:
        nowhere = np.empty((0, table.shape[1]))
        return fsum(point_costs(table, codes, nowhere, cost, weights).alone)
    serving = check_centers(centers, table.shape[1])
    return fsum(point_costs(table, codes, serving, cost, weights).by_center.min(1))


def _rows_of(table: Matrix, rows: Ints, kernel: KernelChoice | None) -> Matrix:
    """Return some rows of a table, or of a matrix of kernel values."""
    return table[np.ix_(rows, rows)] if kernel == "precomputed" else table[rows]


def price_of_explainability(
    X: Any,
    labels: Array,
    reference_labels: Array,
    *,
    cost: Cost = "kmeans",
    convention: Convention = "reference",
    centers: Any = None,
    leaf_centers: Any = None,
    kernel: KernelChoice = "rbf",
    gamma: float | None = None,
    kernel_params: Mapping[str, Any] | None = None,
    sample_weight: Any = None,
) -> float:
    """Return the cost of a tree's clustering divided by the cost of the reference clustering.

    Parameters
    ----------
    X : array or data frame of shape (n_samples, n_features)
        The rows; with ``kernel="precomputed"`` the matrix of their kernel values.
    labels : array of shape (n_samples,)
        The tree's clusters, for example its leaf ids.
    reference_labels : array of shape (n_samples,)
        The clusters that the tree explains.
    cost : {"kmeans", "kmedians", "kernel_kmeans"}, default="kmeans"
        Squared Euclidean distance, ℓ1 distance, or squared distance in the kernel's feature space.
    convention : {"reference", "own", "reoptimized"}, default="reference"
        Which centre serves a cluster of the tree:

        - "reference": one reference centre for the whole cluster, the one with the least summed cost
          (several clusters may share one); clusters of the reference are priced by the same rule.
        - "own": the centre that the leaf stands for, `leaf_centers`. This is the price that the
          theorems on IMM and random cuts bound; clusters of the reference have their own centres.
          Never below "reference" if the reference's own centres are its cheapest.
        - "reoptimized": the cluster's own mean or median, on both sides. Never above "reference"
          if `centers` is left out; may be below 1 if the tree has more clusters than the
          reference, or the reference is not optimal. Leaves that stand for the same cluster should
          have the same label here. `centers` and `leaf_centers` are ignored.
    centers : array of shape (n_centers, n_features), optional
        The reference's centres, by default the means (coordinate-wise medians for k-medians) of its
        clusters. Row i belongs to the i-th reference label in sorted order; if there are more
        centres than labels, the labels must be the numbers of their centres. Not for kernel
        k-means, whose centres are the means in feature space.
    leaf_centers : array of int, or dict, optional
        Number of the centre that each cluster label stands for: entry ``leaf_centers[label]``.
        Required for the convention "own".
    kernel : str or callable, default="rbf"
        For kernel k-means: a kernel of scikit-learn, "precomputed", or a function of two arrays of
        rows that returns the matrix of their kernel values.
    gamma : float, optional
        Scale of the kernel, as in scikit-learn: 1 / n_features by default.
    kernel_params : dict, optional
        Further keyword arguments of the kernel.
    sample_weight : array of shape (n_samples,), optional
        A row of weight w counts as w rows.

    Returns
    -------
    price : float
        If the reference costs nothing: 1 if the tree's clustering costs nothing either, else
        infinity. A kernel cost below 1e-12 of the cluster's Σ K_xx is rounding and counts as zero.

    Examples
    --------
    Rows 0, 2 and 4 against 5 and 9; a tree that cuts between 2 and 4 moves one row:

    >>> from spexplain import metrics
    >>> X = [[0.0], [2.0], [4.0], [5.0], [9.0]]
    >>> tree, reference = [0, 0, 1, 1, 1], [0, 0, 0, 1, 1]
    >>> metrics.price_of_explainability(X, tree, reference)
    1.3125
    >>> metrics.price_of_explainability(X, tree, reference, convention="reoptimized")
    1.0
    >>> metrics.price_of_explainability(
    ...     X, tree, reference, cost="kmedians", convention="own", leaf_centers=[0, 1]
    ... )
    1.125
    """
    check_choice("cost", cost, get_args(Cost))
    check_choice("convention", convention, get_args(Convention))
    table = table_of(X)
    labels, reference_labels = np.asarray(labels), np.asarray(reference_labels)
    weights = check_weights(sample_weight, len(table))
    if weights is not None and not weights.all():  # rows of weight 0 cost nothing
        for name, each in (("labels", labels), ("reference_labels", reference_labels)):
            partition_of(name, each, len(table))
        known = np.flatnonzero(weights)
        table = _rows_of(table, known, kernel if cost == "kernel_kmeans" else None)
        labels, reference_labels, weights = labels[known], reference_labels[known], weights[known]
    classes, codes = partition_of("labels", labels, len(table))
    reference_classes, reference = partition_of("reference_labels", reference_labels, len(table))
    serving = _serving_centers(table, reference, cost, centers, weights)
    n_centers = len(reference_classes) if serving is None else len(serving)
    leaf_numbers, own_numbers = None, None
    if convention == "own":
        leaf_numbers = _leaf_numbers(classes, leaf_centers, n_centers)
        own_numbers = _reference_numbers(reference_classes, n_centers)
    if serving is None:
        parameters = _kernel_parameters(gamma, kernel_params)
        ours, theirs = kernel_costs(table, codes, reference, kernel, parameters, weights)
    else:
        ours = point_costs(table, codes, serving, cost, weights)
        theirs = point_costs(table, reference, serving, cost, weights)
    above = _served(ours, convention, leaf_numbers)
    below = _served(theirs, convention, own_numbers)
    if below == 0:
        return 1.0 if above == 0 else inf
    return above / below


def _served(costs: ClusterCosts, convention: Convention, numbers: Ints | None) -> float:
    """Return the cost of a clustering; the sum does not depend on the order of its clusters."""
    if convention == "reoptimized":
        return fsum(costs.alone)
    if numbers is None:
        return fsum(costs.by_center.min(axis=1))
    return fsum(costs.by_center[np.arange(len(numbers)), numbers])


def _serving_centers(
    table: Matrix, reference: Ints, cost: Cost, centers: Any, weights: Floats | None
) -> Floats | None:
    """Return the coordinates of the reference's centres; kernel k-means has none."""
    if cost == "kernel_kmeans":
        _refuse_centers(centers)
        return None
    return (
        own_centers(table, reference, cost, weights)
        if centers is None
        else check_centers(centers, table.shape[1])
    )


def _leaf_numbers(classes: Array, leaf_centers: Any, n_centers: int) -> Ints:
    """Return the number of the centre that each cluster of the tree stands for."""
    if leaf_centers is None:
        raise ValueError(
            'leaf_centers is needed for convention="own": the number of the centre that each cluster label stands for.'
        )
    try:
        numbers = np.array([leaf_centers[label] for label in classes.tolist()])
    except (IndexError, KeyError, TypeError):
        raise ValueError("leaf_centers must have an entry for every label in labels.") from None
    negative = classes.dtype.kind in "if" and classes[0] < 0
    if negative and not isinstance(leaf_centers, Mapping):
        raise ValueError("leaf_centers must be a dict if labels has negative entries.")
    if numbers.dtype.kind not in "iu" or numbers.min() < 0 or numbers.max() >= n_centers:
        raise ValueError(f"leaf_centers must hold numbers of centres, 0 to {n_centers - 1}.")
    return numbers.astype(np.int64)


def _reference_numbers(classes: Array, n_centers: int) -> Ints:
    """Return the number of each reference cluster's centre."""
    if len(classes) == n_centers:
        return np.arange(n_centers)
    if classes.dtype.kind in "iu" and classes[0] >= 0 and classes[-1] < n_centers:
        return classes.astype(np.int64)
    raise ValueError(
        f"centers has {n_centers} rows for {len(classes)} distinct reference_labels, so the labels must be the "
        f"numbers of their centres, 0 to {n_centers - 1}."
    )


def _refuse_centers(centers: Any) -> None:
    if centers is not None:
        raise ValueError(
            'centers cannot be given for cost="kernel_kmeans": its centres are the means of the reference clusters '
            "in feature space."
        )


def _kernel_parameters(gamma: float | None, parameters: Mapping[str, Any] | None) -> dict[str, Any]:
    given = dict(parameters or {})
    return given if gamma is None else {"gamma": check_number("gamma", gamma), **given}


def own_centers(X: Matrix, codes: Ints, cost: Cost, weights: Floats | None = None) -> Floats:
    """Return the mean (k-means) or coordinate-wise median (k-medians) of every cluster."""
    clusters = _clusters(X, codes, weights)
    if cost == "kmedians":
        return np.array([_median(*cluster) for cluster in clusters])
    return np.array([rows[0] + _mean(rows - rows[0], own) for rows, own in clusters])


def point_costs(
    X: Matrix, codes: Ints, centers: Floats, cost: Cost, weights: Floats | None = None
) -> ClusterCosts:
    """Return the k-means or k-medians costs of clusters 0, 1, ..., none of them empty."""
    serve = _serve_by_medians if cost == "kmedians" else _serve_by_means
    clusters = _clusters(X, codes, weights)
    alone, by_center = zip(*(serve(*cluster, centers) for cluster in clusters), strict=True)
    return ClusterCosts(np.array(alone), np.array(by_center))


def _clusters(X: Matrix, codes: Ints, weights: Floats | None) -> list[tuple[Floats, Floats | None]]:
    """Return the rows of every cluster, as float64 and in their order in X, and their weights."""
    members = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
    return [
        (X[rows].astype(np.float64), None if weights is None else weights[rows]) for rows in members
    ]


def _mean(rows: Floats, weights: Floats | None) -> Floats:
    return np.asarray(rows.mean(axis=0) if weights is None else weights @ rows / weights.sum())


def _median(rows: Floats, weights: Floats | None) -> Floats:
    return np.asarray(
        np.median(rows, axis=0) if weights is None else weighted_medians(rows, weights)
    )


def _total(costs: Floats, weights: Floats | None) -> float:
    """Return the costs of all rows and columns, added."""
    return float(np.sum(costs if weights is None else costs * weights[:, None]))


def _serve_by_means(rows: Floats, weights: Floats | None, centers: Floats) -> tuple[float, Floats]:
    """Return Σ‖x − c‖² for the mean and for each centre: the latter adds N‖mean − c‖²."""
    # Measured from one of its rows, a cluster of equal rows costs exactly zero.
    offsets = rows - rows[0]
    mean = _mean(offsets, weights)
    alone = _total((offsets - mean) ** 2, weights)
    gaps = centers - rows[0] - mean
    size = len(rows) if weights is None else weights.sum()
    return alone, alone + size * np.sum(gaps**2, axis=1)


def _serve_by_medians(
    rows: Floats, weights: Floats | None, centers: Floats
) -> tuple[float, Floats]:
    """Return Σ‖x − c‖₁ for the coordinate-wise median and for each centre."""
    alone = _total(np.abs(rows - _median(rows, weights)), weights)
    return alone, np.array([_total(np.abs(rows - center), weights) for center in centers])


def kernel_costs(
    X: Matrix,
    codes: Ints,
    reference: Ints,
    kernel: KernelChoice,
    parameters: Mapping[str, Any],
    weights: Floats | None = None,
) -> tuple[ClusterCosts, ClusterCosts]:
    """Return the kernel k-means costs of both partitions; the centres are the means of the reference.

    All of them follow from the kernel sums G between clusters: serving the rows of U by the mean of
    C costs Σ_U K_xx − (2/|C|) G(U, C) + (|U|/|C|²) G(C, C).
    """
    n_clusters = int(codes.max()) + 1
    groups = sparse.hstack(
        [_indicator(codes, weights), _indicator(reference, weights)], format="csr"
    )
    sums, squares = _kernel_sums(X, groups, kernel, parameters)
    sizes = np.asarray(groups.sum(axis=0)).ravel()
    own = np.diagonal(sums)
    served = squares[:, None] - 2 * sums / sizes + np.outer(sizes, own / sizes**2)
    alone, by_center = squares - own / sizes, served[:, n_clusters:]
    noise = _ROUNDING * np.abs(squares)
    alone = np.where(alone <= noise, 0.0, alone)
    by_center = np.where(by_center <= noise[:, None], 0.0, by_center)
    return (
        ClusterCosts(alone[:n_clusters], by_center[:n_clusters]),
        ClusterCosts(alone[n_clusters:], by_center[n_clusters:]),
    )


def _indicator(codes: Ints, weights: Floats | None) -> sparse.csr_array:
    n_samples = len(codes)
    entries = np.ones(n_samples) if weights is None else weights, codes, np.arange(n_samples + 1)
    return sparse.csr_array(entries, shape=(n_samples, int(codes.max()) + 1))


def _kernel_sums(
    X: Matrix, groups: Any, kernel: KernelChoice, parameters: Mapping[str, Any]
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
    X: Matrix, kernel: KernelChoice, parameters: Mapping[str, Any]
) -> Callable[[slice], Array]:
    """Return the function that computes a block of rows of the kernel matrix."""
    from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels

    table = X.astype(np.float64)
    if callable(kernel):
        return lambda block: _checked_kernel(
            kernel(table[block], table, **parameters), block, len(table)
        )
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
    if kernel == "rbf":
        return lambda block: gaussian_kernel(table[block], table, parameters.get("gamma"))
    return lambda block: np.asarray(
        pairwise_kernels(table[block], table, metric=kernel, filter_params=True, **parameters)
    )


def _checked_kernel(values: Any, block: slice, n_samples: int) -> Floats:
    """Return the values of a user's kernel; refuse anything but a matrix of finite values."""
    matrix = np.asarray(values, dtype=np.float64)
    wanted = block.stop - block.start, n_samples
    if matrix.shape != wanted or not np.isfinite(matrix).all():
        raise ValueError(
            "kernel must return one finite value for every pair of rows of its two arguments: "
            f"shape {wanted} was expected, got {matrix.shape}."
        )
    return matrix


def gaussian_kernel(rows: Floats, others: Floats, gamma: float | None) -> Floats:
    """Return exp(-gamma ‖x - y‖²), accurate for close rows however long they are.

    Matrix products give ‖x‖² - 2⟨x, y⟩ + ‖y‖², whose rounding error grows with the length of the rows
    instead of their distance. If it matters, and the kernel is not 0 anyway, the distance is computed
    from the differences, so that equal rows have the kernel value 1.
    """
    from sklearn.metrics.pairwise import euclidean_distances

    scale = 1 / rows.shape[1] if gamma is None else gamma
    exponents: Floats = scale * euclidean_distances(rows, others, squared=True)
    noises = [_EPSILON * scale * np.sum(table**2, axis=1) for table in (rows, others)]
    if not noises[0].max() + noises[1].max() <= _ROUNDING:
        noise = np.add.outer(*noises)
        # Written with "not", so that values that overflowed to NaN are recomputed, too.
        uncertain = np.argwhere(~(noise <= _ROUNDING) & ~(exponents > _VANISHING + 8 * noise))
        height = max(1, _BLOCK // rows.shape[1])
        for start in range(0, len(uncertain), height):
            i, j = uncertain[start : start + height].T
            exponents[i, j] = scale * np.sum((rows[i] - others[j]) ** 2, axis=1)
    values: Floats = np.exp(-exponents)
    return values
