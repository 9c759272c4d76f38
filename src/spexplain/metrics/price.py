"""What an explanation costs: the clustering of a tree beside the clustering that it explains."""

from collections.abc import Mapping
from math import fsum, inf
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from spexplain.aliases import Array, Floats, Ints, Matrix
from spexplain.arguments import check_centers, check_choice, check_number
from spexplain.metrics.costs import Cost, Costs, Kernel, kernel_costs, own_centers, point_costs
from spexplain.metrics.inputs import partition_of, table_of

Convention: TypeAlias = Literal["reference", "own", "reoptimized"]


def clustering_cost(
    X: Any,
    labels: Array,
    *,
    cost: Cost = "kmeans",
    centers: Any = None,
    kernel: Kernel = "rbf",
    gamma: float | None = None,
    kernel_params: Mapping[str, Any] | None = None,
) -> float:
    """Return the summed cost of the rows of all clusters.

    Parameters
    ----------
    X : array or data frame of shape (n_samples, n_features)
        The rows; with ``kernel="precomputed"`` the matrix of their kernel values.
    labels : array of shape (n_samples,)
        Cluster labels of any type. A noise label is a label like any other: leave such rows out
        first if they are not to count.
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
    if cost == "kernel_kmeans":
        _refuse_centers(centers)
        parameters = _kernel_parameters(gamma, kernel_params)
        return fsum(kernel_costs(table, codes, codes, kernel, parameters)[0].alone)
    if centers is None:
        return fsum(point_costs(table, codes, np.empty((0, table.shape[1])), cost).alone)
    return fsum(
        point_costs(table, codes, check_centers(centers, table.shape[1]), cost).by_center.min(1)
    )


def price_of_explainability(
    X: Any,
    labels: Array,
    reference_labels: Array,
    *,
    cost: Cost = "kmeans",
    convention: Convention = "reference",
    centers: Any = None,
    leaf_centers: Any = None,
    kernel: Kernel = "rbf",
    gamma: float | None = None,
    kernel_params: Mapping[str, Any] | None = None,
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
        Who serves a cluster of the tree:

        - "reference": as a whole, the reference centre with the least summed cost (several clusters
          may share one); clusters of the reference are priced by the same rule.
        - "own": the centre that the leaf stands for, `leaf_centers`, which is the price that the
          theorems on IMM and random cuts bound; clusters of the reference have their own centres.
          Never below "reference" when the reference's own centres are its cheapest.
        - "reoptimized": the cluster's own mean or median, on both sides. Never above "reference"
          when `centers` is left out; may be below 1 if the tree has more clusters than the
          reference, or the reference is not optimal. Leaves that stand for one cluster should have
          one label here. `centers` and `leaf_centers` play no part.
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
    classes, codes = partition_of("labels", labels, len(table))
    reference_classes, reference = partition_of("reference_labels", reference_labels, len(table))
    serving = _serving_centers(table, reference, cost, centers)
    n_centers = len(reference_classes) if serving is None else len(serving)
    leaf_numbers, own_numbers = None, None
    if convention == "own":
        leaf_numbers = _leaf_numbers(classes, leaf_centers, n_centers)
        own_numbers = _reference_numbers(reference_classes, n_centers)
    if serving is None:
        parameters = _kernel_parameters(gamma, kernel_params)
        ours, theirs = kernel_costs(table, codes, reference, kernel, parameters)
    else:
        ours = point_costs(table, codes, serving, cost)
        theirs = point_costs(table, reference, serving, cost)
    above = _served(ours, convention, leaf_numbers)
    below = _served(theirs, convention, own_numbers)
    if below == 0:
        return 1.0 if above == 0 else inf
    return above / below


def _served(costs: Costs, convention: Convention, numbers: Ints | None) -> float:
    """Return the cost of a clustering; the sum does not depend on the order of its clusters."""
    if convention == "reoptimized":
        return fsum(costs.alone)
    if numbers is None:
        return fsum(costs.by_center.min(axis=1))
    return fsum(costs.by_center[np.arange(len(numbers)), numbers])


def _serving_centers(table: Matrix, reference: Ints, cost: Cost, centers: Any) -> Floats | None:
    """Return the coordinates of the reference's centres; kernel k-means has none."""
    if cost == "kernel_kmeans":
        _refuse_centers(centers)
        return None
    return (
        own_centers(table, reference, cost)
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
