"""Kernel k-means: k-means in the feature space of a kernel, in blocks of the kernel matrix."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from spexplain.aliases import Floats, Ints
from spexplain.arguments import check_integer, check_number, check_weights
from spexplain.memory import check_memory
from spexplain.metrics.price import gaussian_kernel
from spexplain.references.lloyd import (
    ROUNDING,
    Assignment,
    check_enough_samples,
    check_magnitude,
    lloyd,
    members_of,
    spawn_generators,
    spread_rows,
    warn_about,
)

# Entries of one block of the kernel matrix: 8 MB, which a processor's cache can hold.
_BLOCK_ENTRIES = 2**20
_KERNELS = ("rbf", "laplacian", "polynomial", "linear", "precomputed")


class KernelKMeans(ClusterMixin, BaseEstimator):
    """Kernel k-means: minimises the sum of squared distances to cluster means in feature space.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    kernel : {"rbf", "laplacian", "polynomial", "linear", "precomputed"} or callable, default="rbf"
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
        How a start is initialised. "k-means++" draws rows one after the other with probability
        proportional to their squared feature-space distance from the nearest row drawn
        before, "random" draws every row's label. An array holds labels from 0 to
        n_clusters - 1 and makes a single start.
    cache_size : float, default=512
        The kernel matrix is kept if it needs at most this many megabytes (512 is enough for about 8,000 rows);
        otherwise its blocks are recomputed in every iteration, once for all starts.
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

    See Also
    --------
    KernelIMM : Explains such clusters by intervals.
    KMedians : Clusters around medians, in ℓ1 distances.

    Notes
    -----
    All rows change clusters simultaneously. A start ends when its labels repeat or its cost
    does not fall. An empty cluster moves to the row furthest from its mean. The squared
    distance of x to the mean of cluster i, of N_i rows, is
    K_xx - (2 / N_i) Σ_y K_xy + (1 / N_i²) Σ_yz K_yz, with y and z in the cluster.

    References
    ----------
    .. [1] Inderjit Dhillon, Yuqiang Guan and Brian Kulis. Kernel k-means, Spectral Clustering and Normalized Cuts.
       KDD 2004.

    Examples
    --------
    An even polynomial gives x and -x the same values, so the two outer groups are one cluster:

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

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelKMeans:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            Rows to cluster, or their kernel matrix if `kernel="precomputed"`.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows: one of weight w counts as w rows.

        Returns
        -------
        self : KernelKMeans

        Examples
        --------
        >>> from spexplain import KernelKMeans
        >>> X = [[0.0, 1.0], [1.0, 0.0], [9.0, 8.0], [8.0, 9.0]]
        >>> model = KernelKMeans(2, random_state=0).fit(X)
        >>> model.labels_
        array([0, 0, 1, 1])
        """
        n_clusters = check_integer("n_clusters", self.n_clusters)
        n_init = check_integer("n_init", self.n_init)
        max_iter = check_integer("max_iter", self.max_iter)
        cache_size = check_number("cache_size", self.cache_size)
        params = self._check_kernel()
        X = validate_data(self, X, dtype=np.float64, order="C")
        check_enough_samples(X.shape[0], n_clusters)
        check_magnitude(X)
        check_memory(
            2 * 8 * n_init * n_clusters * X.shape[0],
            f"Similarities of {X.shape[0]:,} rows to the {n_clusters:,} clusters of {n_init} starts",
            "take fewer rows or clusters, or a smaller n_init",
        )
        self._kernel = Kernel.over(X, self.kernel, params)
        self._weights = check_weights(sample_weight, X.shape[0])
        if self._weights is not None:
            # So small that it never matters next to others, but a start from such rows alone has a mean.
            self._weights = np.maximum(self._weights, 1e-200 * self._weights.max())
        problem = _Means(
            self._kernel, n_clusters, cache_bytes=cache_size * 2**20, weights=self._weights
        )
        starts = self._starts(problem, n_init)
        run = lloyd(problem, starts, max_iter=max_iter, verbose=self.verbose)
        self._clusters = run.centers
        self.labels_ = run.labels
        self.inertia_ = run.cost
        self.n_iter_ = run.n_iter
        warn_about(run, n_clusters, max_iter)
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

        Examples
        --------
        >>> from spexplain import KernelKMeans
        >>> X = [[0.0, 1.0], [1.0, 0.0], [9.0, 8.0], [8.0, 9.0]]
        >>> model = KernelKMeans(2, random_state=0).fit(X)
        >>> model.predict([[0.0, 0.0], [9.0, 9.0]])
        array([0, 1])
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        labels = np.empty(X.shape[0], dtype=np.int64)
        indicator = indicator_of(self._clusters.members, self._kernel.X.shape[0], self._weights)
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

    def _starts(self, problem: _Means, n_init: int) -> list[KernelCenters]:
        """Return the clusters that each start begins with."""
        n_samples, n_clusters = problem.squares.size, problem.n_clusters
        if not isinstance(self.init, str):
            labels = np.asarray(self.init)
            if labels.shape != (n_samples,) or set(labels.tolist()) != set(range(n_clusters)):
                raise ValueError(
                    f"init must hold {n_samples} labels that use all of 0 to {n_clusters - 1}."
                )
            return [KernelCenters(members_of(labels.astype(np.int64), n_clusters))]
        generators = spawn_generators(self.random_state, n_init)
        if self.init == "random":
            drawn = [_random_labels(n_samples, n_clusters, rng) for rng in generators]
            return [KernelCenters(members_of(labels, n_clusters)) for labels in drawn]
        if self.init == "k-means++":
            rows = spread_rows(
                problem.distances_to, n_samples, n_clusters, generators, problem.weights
            )
            return [KernelCenters(list(start[:, np.newaxis])) for start in rows]
        raise ValueError(
            f'init must be "k-means++", "random" or an array of labels, got {self.init!r}.'
        )


def _random_labels(n_samples: int, n_clusters: int, rng: np.random.RandomState) -> Ints:
    """Draw labels uniformly, but give every cluster at least one row."""
    labels = rng.randint(n_clusters, size=n_samples).astype(np.int64)
    labels[rng.permutation(n_samples)[:n_clusters]] = np.arange(n_clusters)
    return labels


class KernelBlock(NamedTuple):
    """Some rows, their kernel columns (n_train, n_rows), and the largest entry of each."""

    rows: slice
    columns: Floats
    scale: Floats


@dataclass(frozen=True)
class Kernel:
    """The kernel between the training rows X and any other rows."""

    X: Floats
    metric: Any
    params: dict[str, Any]
    shift: Floats | float

    @classmethod
    def over(cls, X: Floats, metric: Any, params: dict[str, Any]) -> Kernel:
        """Check a precomputed matrix, and move rows to where their kernel is accurate."""
        kernel = cls(X, metric, params, 0.0)
        if metric == "precomputed":
            if X.shape[0] != X.shape[1]:
                raise ValueError(f"A precomputed kernel must be a square matrix, got {X.shape}.")
            if not all(np.allclose(X[block], X[:, block].T) for block in kernel.cuts(X)):
                raise ValueError("A precomputed kernel must be a symmetric matrix.")
        elif metric in ("rbf", "linear"):
            # Distances do not change by translation, but their sums of products lose digits far from 0.
            shift = (X / X.shape[0]).sum(axis=0) if np.abs(X).max() > 1e300 else X.mean(axis=0)
            return cls(X - shift, metric, params, shift)
        return kernel

    def prepare(self, rows: Floats) -> Floats:
        """Return new rows in the coordinates of X."""
        return rows if self.metric == "precomputed" else rows - self.shift

    def blocks(self, rows: Floats) -> Iterator[KernelBlock]:
        """Yield the kernel of prepared rows in blocks of bounded size."""
        for cut in self.cuts(rows):
            columns = self.columns(rows[cut])
            scale = np.maximum(columns.max(axis=0), -columns.min(axis=0))
            yield KernelBlock(cut, columns, scale)

    def cuts(self, rows: Floats) -> Iterator[slice]:
        """Cut rows into blocks whose kernel columns fit `_BLOCK_ENTRIES`.

        The cut depends on the number of training rows only. The last bit of a matrix product may depend
        on the shapes, so this is why `predict` repeats the labels of `fit`, and why a cached kernel
        gives the same result as a recomputed one.
        """
        height = max(1, _BLOCK_ENTRIES // self.X.shape[0])
        return (slice(i, i + height) for i in range(0, rows.shape[0], height))

    def columns(self, rows: Floats) -> Floats:
        """Return the kernel between X and prepared rows, (n_train, n_rows)."""
        if self.metric == "precomputed":
            return np.ascontiguousarray(rows.T)
        # A copy, as NumPy uses another routine to multiply an array by its own transpose.
        return self._evaluate(self.X, rows.copy())

    def diagonal(self) -> Floats:
        """Return K_xx of the training rows."""
        if self.metric == "precomputed":
            return self.X.diagonal().copy()
        parts = np.array_split(self.X, max(1, self.X.shape[0] // 128))
        return np.concatenate([self._evaluate(part, part).diagonal() for part in parts])

    def _evaluate(self, rows: Floats, others: Floats) -> Floats:
        """Return the kernel matrix between two sets of prepared rows."""
        from sklearn import config_context
        from sklearn.metrics.pairwise import pairwise_kernels

        with config_context(assume_finite=True), np.errstate(over="ignore", invalid="ignore"):
            if callable(self.metric):
                values = self.metric(rows, others, **self.params)
            elif self.metric == "rbf":
                values = gaussian_kernel(rows, others, self.params["gamma"])
            else:
                values = pairwise_kernels(rows, others, metric=self.metric, **self.params)
        matrix: Floats = np.ascontiguousarray(values, dtype=np.float64)
        if matrix.shape != (rows.shape[0], others.shape[0]) or not np.isfinite(matrix).all():
            raise ValueError("kernel must return a finite value for every pair of rows.")
        return matrix


@dataclass
class KernelCenters:
    """Rows whose mean is the centre of each cluster, and the squared norms of these means."""

    members: list[Ints]
    # Known only after a pass over the kernel; every assignment sets it.
    within: Floats = field(default_factory=lambda: np.empty(0))


class _Means:
    """The kernel k-means problem on the rows of a kernel."""

    def __init__(
        self,
        kernel: Kernel,
        n_clusters: int,
        cache_bytes: float,
        weights: Floats | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_clusters = n_clusters
        self.weights = weights
        self.squares = kernel.diagonal()
        fits = 8 * self.squares.size**2 <= cache_bytes
        self.cache = list(kernel.blocks(kernel.X)) if fits else None

    def assign(self, starts: Sequence[KernelCenters]) -> list[Assignment]:
        members = [rows for start in starts for rows in start.members]
        indicator = indicator_of(members, self.squares.size, self.weights)
        similarities = np.empty(indicator.shape)
        scale = np.empty(self.squares.size)
        for block in self.cache or self.kernel.blocks(self.kernel.X):
            similarities[:, block.rows] = mean_similarities(indicator, block.columns)
            scale[block.rows] = block.scale
        found = []
        for start, own in zip(starts, np.split(similarities, len(starts)), strict=True):
            start.within = np.array(
                [self._mean(own[i, rows], rows) for i, rows in enumerate(start.members)]
            )
            labels, low = nearest(own, start.within, scale)
            found.append(Assignment(labels, without_noise(self.squares + low, scale)))
        return found

    def _mean(self, values: Floats, rows: Ints) -> float:
        """Return the mean of one value for each of some rows."""
        if self.weights is None:
            return float(values.mean())
        return float(np.average(values, weights=self.weights[rows]))

    def update(self, labels: Ints, centers: KernelCenters) -> KernelCenters:
        members = members_of(labels, self.n_clusters)
        if self.weights is not None:
            members = [rows[self.weights[rows] > 1e-200 * self.weights.max()] for rows in members]
        pairs = zip(members, centers.members, strict=True)
        return KernelCenters([new if new.size else old for new, old in pairs])

    def place(self, centers: KernelCenters, clusters: Ints, rows: Ints) -> KernelCenters:
        members = list(centers.members)
        for cluster, row in zip(clusters, rows, strict=True):
            members[cluster] = np.array([row])
        return KernelCenters(members)

    def distances_to(self, rows: Ints) -> Floats:
        """Return the squared distances of all rows to some of them, (n_samples, n_rows)."""
        squares = self.squares[:, np.newaxis] + self.squares[rows]
        columns = self.kernel.columns(self.kernel.X[rows])
        return without_noise(squares - 2 * columns, squares)


def indicator_of(members: Sequence[Ints], n_samples: int, weights: Floats | None = None) -> Any:
    """Return the sparse matrix (n_clusters, n_samples) with a 1, or the weight, for every member."""
    bounds, rows = np.cumsum([0, *(rows.size for rows in members)]), np.concatenate(members)
    entries = (np.ones(bounds[-1]) if weights is None else weights[rows], rows, bounds)
    return csr_array(entries, shape=(len(members), n_samples))


def mean_similarities(indicator: Any, columns: Floats) -> Floats:
    """Return the mean kernel value of every column with every cluster, (n_clusters, n_columns).

    A sparse product adds each cluster's rows one by one, so a column's result does not depend
    on the other columns and clusters; its cost does not grow with the number of clusters.
    """
    sizes = np.asarray(indicator.sum(axis=1)).reshape(-1, 1)
    means: Floats = (indicator @ columns) / sizes
    return means


def nearest(similarities: Floats, within: Floats, scale: Floats) -> tuple[Ints, Floats]:
    """Return every column's nearest mean, and its squared distance less K_xx.

    Distances that differ by rounding only are ties, and go to the lowest index.
    """
    scores = within[:, np.newaxis] - 2 * similarities
    low = scores.min(axis=0)
    return (scores <= low + ROUNDING * scale).argmax(axis=0), low


def without_noise(distances: Floats, scale: Floats) -> Floats:
    """Set distances to 0 that are rounding errors of kernel values of this scale.

    The margin of 10 lets a row whose distance stays positive win the ties of `nearest`.
    """
    distances[np.abs(distances) <= 10 * ROUNDING * np.abs(scale)] = 0
    return distances
