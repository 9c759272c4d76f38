"""Nearest-neighbour graphs, with ties between equidistant neighbours resolved by the lowest index."""

import numpy as np
from scipy import sparse

from spexplain.graphs.sparse import SparseGraph
from spexplain.typing import Bools, Floats, Ints, Matrix, Symmetrization

_BLOCK = 1 << 22  # floats in the largest temporary array
_SPARE = 8  # candidates asked for beyond the wanted neighbours, to see ties at the border


def knn_graph(
    X: Matrix,
    n_neighbors: int = 20,
    *,
    standardize: bool = True,
    symmetrize: Symmetrization = "sum",
    n_jobs: int | None = None,
) -> SparseGraph:
    """Return the symmetrised graph of nearest neighbours by Euclidean distance.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The samples.
    n_neighbors : int, default=20
        Neighbours of each sample, itself excluded.
    standardize : bool, default=True
        Bring every feature to mean 0 and variance 1 first (constant features stay as they are).
    symmetrize : {"sum", "union", "mutual"}, default="sum"
        An edge weighs the number of directions in which it is a nearest-neighbour pair ("sum": 1 or
        2), or 1 if at least one ("union") or both ("mutual") hold.
    n_jobs : int, optional
        Threads of the neighbour search, as in scikit-learn.

    Returns
    -------
    SparseGraph

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain.graphs import knn_graph
    >>> graph = knn_graph(np.array([[0.0], [1.0], [5.0], [7.0]]), n_neighbors=1)
    >>> graph.to_adjacency().toarray()
    array([[0., 2., 0., 0.],
           [2., 0., 0., 0.],
           [0., 0., 0., 2.],
           [0., 0., 2., 0.]])
    """
    if symmetrize not in ("sum", "union", "mutual"):
        raise ValueError(f'symmetrize={symmetrize!r} must be "sum", "union" or "mutual".')
    X = np.asarray(X)
    if standardize:
        X = _to_unit_range(X.astype(np.float64), axis=0)
        deviation = X.std(axis=0)
        X = (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    neighbors = nearest_neighbors(X, n_neighbors, n_jobs=n_jobs)
    n_samples = len(X)
    indptr = np.arange(n_samples + 1) * n_neighbors
    ones = np.ones(neighbors.size)
    directed = sparse.csr_array((ones, neighbors.ravel(), indptr), shape=(n_samples, n_samples))
    if symmetrize == "sum":
        return SparseGraph.from_adjacency(directed + directed.T)
    if symmetrize == "union":
        return SparseGraph.from_adjacency(directed.maximum(directed.T))
    return SparseGraph.from_adjacency(directed.minimum(directed.T))


def nearest_neighbors(X: Matrix, n_neighbors: int, *, n_jobs: int | None = None) -> Ints:
    """Return the exact nearest neighbours of every row, nearest first, shape (n_samples, n_neighbors).

    A row is never its own neighbour, but a duplicate of it may be. Distances that agree to ten
    digits are ties, and the lowest row index wins them.
    """
    n_samples = len(X)
    if not 1 <= n_neighbors < n_samples:
        raise ValueError(
            f"n_neighbors={n_neighbors} must be at least 1 and below the number of rows, {n_samples}."
        )
    from sklearn.neighbors import NearestNeighbors

    points = np.ascontiguousarray(_to_unit_range(np.asarray(X, dtype=np.float64)))
    index = NearestNeighbors(n_jobs=n_jobs).fit(points)
    found = np.empty((n_samples, n_neighbors), dtype=np.int64)
    open_rows, n_candidates = np.arange(n_samples), n_neighbors + 1 + _SPARE
    while len(open_rows):
        n_candidates = min(n_candidates, n_samples)
        step = max(1, _BLOCK // (n_candidates * points.shape[1]))
        still_open = []
        for start in range(0, len(open_rows), step):
            rows = open_rows[start : start + step]
            candidates = index.kneighbors(points[rows], n_candidates, return_distance=False)
            found[rows], settled = _nearest_of(points, rows, candidates, n_neighbors)
            still_open.append(rows[~settled])
        # Rows whose border falls into a tie need more candidates; with all rows as candidates
        # everything is settled.
        open_rows = np.concatenate(still_open)
        n_candidates *= 4
    return found


def _to_unit_range(X: Floats, axis: int | None = None) -> Floats:
    """Return X divided by the power of two, an exact step, with which squares neither overflow nor vanish."""
    exponent = np.frexp(np.abs(X).max(axis=axis))[1]
    return np.asarray(np.ldexp(X, -exponent))


def _nearest_of(X: Floats, rows: Ints, candidates: Ints, n_neighbors: int) -> tuple[Ints, Bools]:
    """Return the nearest candidates of each row, and whether a row left out could be as near.

    Distances are computed anew, difference by difference: search structures trade digits for speed.
    """
    gaps = X[rows, None, :] - X[candidates]
    distances = np.einsum("rcj,rcj->rc", gaps, gaps)
    furthest = distances.max(axis=1)
    mantissa, exponent = np.frexp(distances)
    distances = np.ldexp(np.rint(np.ldexp(mantissa, 34)), exponent - 34)
    distances[candidates == rows[:, None]] = np.inf
    order = np.lexsort((candidates, distances), axis=1)[:, :n_neighbors]
    last = np.take_along_axis(distances, order[:, -1:], axis=1)[:, 0]
    settled = last < furthest * (1 - 1e-6)
    if candidates.shape[1] == len(X):
        settled[:] = True
    return np.take_along_axis(candidates, order, axis=1), settled
