"""Kernel k-means: k-means in the feature space of a kernel, in blocks of the kernel matrix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from spexplain.aliases import Ints
from spexplain.arguments import check_integer, check_number
from spexplain.memory import check_memory
from spexplain.references._kernel import (
    Clusters,
    Kernel,
    Means,
    indicator_of,
    mean_similarities,
    nearest,
)
from spexplain.references._lloyd import (
    check_enough_samples,
    lloyd,
    members_of,
    spawn_generators,
    spread_rows,
    warn_if_fewer_clusters,
)

_KERNELS = ("rbf", "laplacian", "polynomial", "linear", "precomputed")


class KernelKMeans(ClusterMixin, BaseEstimator):
    """Kernel k-means: least sum of squared distances to cluster means in feature space.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    kernel : {"rbf", "laplacian", "polynomial", "linear", "precomputed"} or callable, \
            default="rbf"
        The kernel K(x, y). "precomputed": X is the matrix K itself, and `predict` takes the
        kernel values between new and training rows. A callable takes two arrays of rows and
        returns the matrix of their kernel values, as the functions of
        `sklearn.metrics.pairwise` do.
    gamma : float or None, default=None
        Scale of the rbf kernel exp(-gamma ‖x - y‖²), the laplacian kernel
        exp(-gamma ‖x - y‖₁) and the polynomial kernel; None means 1 / n_features.
    degree : int, default=3
        Degree of the polynomial kernel (gamma ⟨x, y⟩ + coef0) ** degree.
    coef0 : float, default=1
        Constant of the polynomial kernel.
    kernel_params : dict or None, default=None
        Keyword arguments for a callable kernel.
    n_init : int, default=10
        Number of starts; the cheapest result is kept, the first of equally cheap ones.
    max_iter : int, default=300
        Largest number of iterations of one start.
    init : {"k-means++", "random"} or array of shape (n_samples,), default="k-means++"
        Where a start begins. "k-means++" draws rows one after the other with probability
        proportional to their squared feature-space distance from the nearest row drawn
        before, "random" draws every row's label. An array holds labels from 0 to
        n_clusters - 1 and makes a single start.
    cache_size : float, default=512
        The kernel matrix is kept when it needs at most so many megabytes (about 8,000 rows);
        otherwise its blocks are computed anew in every iteration, once for all starts.
    random_state : int, RandomState instance or None, default=None
        Makes the starts reproducible.
    verbose : int, default=0
        Whether to print the progress.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of every training row, the lowest index of equally near ones.
    inertia_ : float
        Sum of the squared feature-space distances of the training rows to their means.
    n_iter_ : int
        Number of iterations of the start that was kept.
    n_features_in_ : int
        Number of columns of X.

    Notes
    -----
    All rows change clusters simultaneously. A start ends when its labels repeat or its cost
    does not fall. An empty cluster moves to the row furthest from its mean. The squared
    distance of x to the mean of cluster i, of N_i rows, is
    K_xx - (2 / N_i) Σ_y K_xy + (1 / N_i²) Σ_yz K_yz, with y and z in the cluster.

    Examples
    --------
    An even polynomial cannot tell x from -x, so the two outer groups are one cluster:

    >>> import numpy as np
    >>> from spexplain.references.kernel_kmeans import KernelKMeans
    >>> X = np.array([[-3.1], [-3.0], [-0.1], [0.0], [0.1], [3.0], [3.1]])
    >>> model = KernelKMeans(n_clusters=2, kernel="polynomial", degree=2, coef0=0, random_state=0)
    >>> labels = model.fit_predict(X)
    >>> labels == labels[0]
    array([ True,  True, False, False, False,  True,  True])
    >>> bool(model.predict([[2.5]])[0] == labels[0])
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: Any = "rbf",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1,
        kernel_params: Mapping[str, Any] | None = None,
        n_init: int = 10,
        max_iter: int = 300,
        init: Any = "k-means++",
        cache_size: float = 512,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_init = n_init
        self.max_iter = max_iter
        self.init = init
        self.cache_size = cache_size
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags

    def fit(self, X: Any, y: Any = None) -> KernelKMeans:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            Rows to cluster, or their kernel matrix if `kernel="precomputed"`.
        y : None
            Ignored.

        Returns
        -------
        self : KernelKMeans
        """
        n_clusters = check_integer("n_clusters", self.n_clusters)
        n_init = check_integer("n_init", self.n_init)
        max_iter = check_integer("max_iter", self.max_iter)
        cache_size = check_number("cache_size", self.cache_size)
        params = self._check_kernel()
        X = validate_data(self, X, dtype=np.float64, order="C")
        check_enough_samples(X.shape[0], n_clusters)
        check_memory(
            2 * 8 * n_init * n_clusters * X.shape[0],
            f"Similarities of {X.shape[0]:,} rows to the {n_clusters:,} clusters of {n_init} starts",
            "take fewer rows or clusters, or a smaller n_init",
        )
        self._kernel = Kernel.over(X, self.kernel, params)
        problem = Means(self._kernel, n_clusters, cache_bytes=cache_size * 2**20)
        starts = self._starts(problem, n_init)
        run = lloyd(problem, starts, max_iter=max_iter, verbose=self.verbose)
        self._clusters = run.centers
        self.labels_ = run.labels
        self.inertia_ = run.cost
        self.n_iter_ = run.n_iter
        warn_if_fewer_clusters(run.labels, n_clusters)
        return self

    def predict(self, X: Any) -> Ints:
        """Return the cluster with the nearest mean for every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_train)
            Rows to assign, or their kernel values with the training rows if
            `kernel="precomputed"`.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        labels = np.empty(X.shape[0], dtype=np.int64)
        indicator = indicator_of(self._clusters.members, self._kernel.X.shape[0])
        for block in self._kernel.blocks(self._kernel.prepare(X)):
            similarities = mean_similarities(indicator, block.columns)
            labels[block.rows], _ = nearest(similarities, self._clusters.within, block.scale)
        return labels

    def _check_kernel(self) -> dict[str, Any]:
        """Check the parameters of the kernel; return those that it takes."""
        if not callable(self.kernel) and self.kernel not in _KERNELS:
            names = ", ".join(f'"{name}"' for name in _KERNELS)
            raise ValueError(f"kernel must be one of {names} or a callable, got {self.kernel!r}.")
        if self.kernel_params is not None and not isinstance(self.kernel_params, Mapping):
            raise ValueError(f"kernel_params must be a dict or None, got {self.kernel_params!r}.")
        gamma = None if self.gamma is None else check_number("gamma", self.gamma)
        degree = check_integer("degree", self.degree)
        coef0 = check_number("coef0", self.coef0)
        if callable(self.kernel):
            return dict(self.kernel_params or {})
        if self.kernel == "polynomial":
            return {"gamma": gamma, "degree": degree, "coef0": coef0}
        return {"gamma": gamma} if self.kernel in ("rbf", "laplacian") else {}

    def _starts(self, problem: Means, n_init: int) -> list[Clusters]:
        """Return the clusters that each start begins with."""
        n_samples, n_clusters = problem.squares.size, problem.n_clusters
        if not isinstance(self.init, str):
            labels = np.asarray(self.init)
            if labels.shape != (n_samples,) or set(labels.tolist()) != set(range(n_clusters)):
                raise ValueError(
                    f"init must hold {n_samples} labels that use all of 0 to {n_clusters - 1}."
                )
            return [Clusters(members_of(labels.astype(np.int64), n_clusters))]
        generators = spawn_generators(self.random_state, n_init)
        if self.init == "random":
            drawn = [_random_labels(n_samples, n_clusters, rng) for rng in generators]
            return [Clusters(members_of(labels, n_clusters)) for labels in drawn]
        if self.init == "k-means++":
            rows = spread_rows(problem.distances_to, n_samples, n_clusters, generators)
            return [Clusters(list(start[:, np.newaxis])) for start in rows]
        raise ValueError(
            f'init must be "k-means++", "random" or an array of labels, got {self.init!r}.'
        )


def _random_labels(n_samples: int, n_clusters: int, rng: np.random.RandomState) -> Ints:
    """Draw labels uniformly, but give every cluster at least one row."""
    labels = rng.randint(n_clusters, size=n_samples).astype(np.int64)
    labels[rng.permutation(n_samples)[:n_clusters]] = np.arange(n_clusters)
    return labels
