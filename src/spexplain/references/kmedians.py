"""k-medians: clusters around coordinate-wise medians, with ℓ1 distances."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from spexplain.aliases import Floats, Ints
from spexplain.arguments import check_integer, check_weights
from spexplain.references.lloyd import (
    Assignment,
    check_enough_samples,
    check_magnitude,
    lloyd,
    members_of,
    spawn_generators,
    spread_rows,
    warn_about,
)
from spexplain.table.distances import weighted_medians

# Entries of one block of distances: 8 MB, whatever the number of rows.
_BLOCK_ENTRIES = 2**20


class KMedians(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """k-medians clustering: minimises the sum of ℓ1 distances to coordinate-wise medians.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    n_init : int, default=10
        Number of starts; the cheapest result is kept, the first of equally cheap ones.
    max_iter : int, default=300
        Largest number of iterations of one start.
    init : {"k-medians++", "random"} or array of shape (n_clusters, n_features), default="k-medians++"
        How a start is initialised. "k-medians++" draws rows one after the other with probability
        proportional to their ℓ1 distance from the nearest row drawn before, "random" draws
        rows uniformly without replacement. An array holds the centres themselves and makes a
        single start.
    random_state : int, RandomState instance or None, default=None
        Makes the starts reproducible.
    verbose : int, default=0
        Whether to print the progress.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centres of the clusters.
    labels_ : ndarray of shape (n_samples,)
        Index of the nearest centre of every training row, the lowest of equally near ones.
    inertia_ : float
        Sum of the ℓ1 distances of the training rows to their centres.
    n_iter_ : int
        Number of iterations of the start that was kept.
    n_features_in_ : int
        Number of columns of X.

    See Also
    --------
    IMM : Explains such clusters, with ``objective="kmedians"``.
    KernelKMeans : Clusters of other shapes than those around a centre.

    Notes
    -----
    A start ends when its labels repeat or its cost does not fall. An empty cluster moves to
    the row furthest from its centre, so all clusters are used whenever there are as many
    distinct rows. Medians of an even number of rows are midpoints.

    References
    ----------
    .. [1] Paul Bradley, Olvi Mangasarian and Nick Street. Clustering via Concave Minimization. NIPS 1996.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain import KMedians
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [9.0, 5.0], [20.0, 5.0], [10.0, 5.0], [0.0, 1.0]])
    >>> model = KMedians(n_clusters=2, random_state=0).fit(X)
    >>> model.labels_ == model.labels_[0]
    array([ True,  True, False, False, False,  True])
    >>> model.inertia_
    13.0
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_init: int = 10,
        max_iter: int = 300,
        init: Any = "k-medians++",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.max_iter = max_iter
        self.init = init
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KMedians:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to cluster.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows: one of weight w counts as w rows.

        Returns
        -------
        self : KMedians

        Examples
        --------
        >>> from spexplain import KMedians
        >>> X = [[0.0, 1.0], [1.0, 0.0], [9.0, 8.0], [8.0, 9.0]]
        >>> model = KMedians(2, random_state=0).fit(X)
        >>> model.cluster_centers_
        array([[0.5, 0.5],
               [8.5, 8.5]])
        """
        n_clusters = check_integer("n_clusters", self.n_clusters)
        n_init = check_integer("n_init", self.n_init)
        max_iter = check_integer("max_iter", self.max_iter)
        X = validate_data(self, X, dtype=np.float64, order="C")
        check_enough_samples(X.shape[0], n_clusters)
        check_magnitude(X)
        weights = check_weights(sample_weight, X.shape[0])
        starts = self._starts(X, n_clusters, n_init, weights)
        problem = _Medians(X, n_clusters, weights)
        run = lloyd(problem, starts, max_iter=max_iter, verbose=self.verbose)
        self.cluster_centers_ = run.centers
        self.labels_ = run.labels
        self.inertia_ = run.cost
        self.n_iter_ = run.n_iter
        warn_about(run, n_clusters, max_iter)
        return self

    def predict(self, X: Any) -> Ints:
        """Return the index of the nearest centre of every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to assign.

        Returns
        -------
        labels : ndarray of shape (n_samples,)

        Examples
        --------
        >>> from spexplain import KMedians
        >>> X = [[0.0, 1.0], [1.0, 0.0], [9.0, 8.0], [8.0, 9.0]]
        >>> model = KMedians(2, random_state=0).fit(X)
        >>> model.predict([[0.0, 0.0], [9.0, 9.0]])
        array([0, 1])
        """
        return _nearest(self._check_rows(X), self.cluster_centers_).labels

    def transform(self, X: Any) -> Floats:
        """Return the ℓ1 distance of every row to every centre.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to measure.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)

        Examples
        --------
        >>> from spexplain import KMedians
        >>> X = [[0.0, 1.0], [1.0, 0.0], [9.0, 8.0], [8.0, 9.0]]
        >>> model = KMedians(2, random_state=0).fit(X)
        >>> model.transform([[0.0, 0.0]])
        array([[ 1., 17.]])
        """
        distances: Floats = scipy.spatial.distance.cdist(
            self._check_rows(X), self.cluster_centers_, "cityblock"
        )
        return distances

    def score(self, X: Any, y: Any = None) -> float:
        """Return minus the sum of the ℓ1 distances of the rows to their nearest centres.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to measure.
        y : None
            Ignored.

        Returns
        -------
        score : float

        Examples
        --------
        >>> from spexplain import KMedians
        >>> X = [[0.0, 1.0], [1.0, 0.0], [9.0, 8.0], [8.0, 9.0]]
        >>> model = KMedians(2, random_state=0).fit(X)
        >>> model.score(X)
        -4.0
        """
        return -float(_nearest(self._check_rows(X), self.cluster_centers_).distances.sum())

    @property
    def _n_features_out(self) -> int:
        """Number of columns that `transform` returns."""
        return int(self.cluster_centers_.shape[0])

    def _check_rows(self, X: Any) -> Floats:
        """Return new rows as the fitted model needs them."""
        check_is_fitted(self)
        rows: Floats = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        return rows

    def _starts(
        self, X: Floats, n_clusters: int, n_init: int, weights: Floats | None
    ) -> list[Floats]:
        """Return the centres that each start begins with."""
        if not isinstance(self.init, str):
            centers = check_array(self.init, dtype=np.float64, input_name="init")
            if centers.shape != (n_clusters, X.shape[1]):
                raise ValueError(
                    f"init must have shape {(n_clusters, X.shape[1])} (n_clusters, n_features), "
                    f"got {centers.shape}."
                )
            return [centers]
        generators = spawn_generators(self.random_state, n_init)
        if self.init == "random":
            n_samples = X.shape[0]
            return [X[rng.choice(n_samples, n_clusters, replace=False)] for rng in generators]
        if self.init == "k-medians++":
            rows = spread_rows(
                lambda rows: scipy.spatial.distance.cdist(X, X[rows], "cityblock"),
                X.shape[0],
                n_clusters,
                generators,
                weights,
            )
            return list(X[rows])
        raise ValueError(
            f'init must be "k-medians++", "random" or an array of centres, got {self.init!r}.'
        )


class _Medians:
    """The k-medians problem; a start's centres are an array (n_clusters, n_features)."""

    def __init__(self, X: Floats, n_clusters: int, weights: Floats | None = None) -> None:
        self.X = X
        self.n_clusters = n_clusters
        self.weights = weights

    def assign(self, starts: Sequence[Floats]) -> list[Assignment]:
        return [_nearest(self.X, centers) for centers in starts]

    def update(self, labels: Ints, centers: Floats) -> Floats:
        updated = centers.copy()
        for cluster, rows in enumerate(members_of(labels, self.n_clusters)):
            if self.weights is not None:
                known = rows[self.weights[rows] > 0]
                if known.size:
                    updated[cluster] = weighted_medians(self.X[known], self.weights[known])
            elif rows.size:
                # X[rows] is a copy, which the median may reorder in place.
                updated[cluster] = np.median(self.X[rows], axis=0, overwrite_input=True)
        return updated

    def place(self, centers: Floats, clusters: Ints, rows: Ints) -> Floats:
        placed = centers.copy()
        placed[clusters] = self.X[rows]
        return placed


def _nearest(X: Floats, centers: Floats) -> Assignment:
    """Return the nearest centre of every row, the lowest index among ties."""
    labels = np.empty(X.shape[0], dtype=np.int64)
    distances = np.empty(X.shape[0])
    for block in _row_blocks(X.shape[0], centers.shape[0]):
        block_distances = scipy.spatial.distance.cdist(X[block], centers, "cityblock")
        labels[block] = block_distances.argmin(axis=1)
        distances[block] = block_distances.min(axis=1)
    return Assignment(labels, distances)


def _row_blocks(n_samples: int, n_columns: int) -> Iterator[slice]:
    """Cut the rows into blocks whose distances fit `_BLOCK_ENTRIES`."""
    height = max(1, _BLOCK_ENTRIES // n_columns)
    for start in range(0, n_samples, height):
        yield slice(start, start + height)
