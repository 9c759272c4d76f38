"""Nearest neighbours and their graphs; ties between equidistant neighbours go to the lowest index."""

from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np
from scipy import sparse

from spexplain.aliases import Array, Bools, Floats, Ints, Matrix, Symmetrization
from spexplain.arguments import check_choice
from spexplain.graphs.device import device_graph
from spexplain.graphs.device_neighbors import device_neighbors
from spexplain.graphs.neighbor_search import (
    MANY_ROWS,
    Searcher,
    exact_searcher,
    inverted_searcher,
)
from spexplain.graphs.sparse import SparseGraph
from spexplain.memory import check_memory
from spexplain.table.storage import is_on_device, on_host
from spexplain.threads import beside

_BLOCK = 1 << 16  # distances that are computed while they are in the cache
_ROOM = 1 << 24  # candidates that are held at once
_SPARE = 8  # candidates asked for beyond the wanted neighbours, to see ties at the border
_BYTES_PER_NEIGHBOR = 5 * 8  # itself, and an edge with its weight in both directions
_CHECKED = 500  # rows on which the recall of an approximate search is measured


@dataclass(frozen=True, eq=False)
class Neighbors:
    """The nearest neighbours of every row, found once and shared by all graphs made of them.

    Parameters
    ----------
    indices : array of int, shape (n_samples, n_neighbors)
        Row numbers of the neighbours, nearest first; a row is not its own neighbour.
    recall : float
        Share of the true neighbours that were found: 1 for an exact search, measured on a sample of
        rows for an approximate one.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain.graphs import Neighbors
    >>> Neighbors.of(np.array([[0.0], [1.0], [5.0], [7.0]]), 2).indices
    array([[1, 2],
           [0, 2],
           [3, 1],
           [2, 1]])
    """

    indices: Ints
    recall: float = 1.0

    @classmethod
    def of(
        cls,
        X: Matrix,
        n_neighbors: int,
        *,
        standardize: bool = True,
        approximate: bool = False,
        n_jobs: int | None = None,
    ) -> Self:
        """Return the neighbours by Euclidean distance, of the standardised table unless told not to.

        An approximate search needs faiss (extra ``knn``). For a CuPy table the search is exact and
        the neighbours stay on the device.
        """
        if is_on_device(X):
            _check_number(n_neighbors, len(X))
            return cls(device_neighbors(X, n_neighbors, standardize=standardize))
        points = standardized(X) if standardize else _to_unit_range(np.asarray(X, dtype=np.float64))
        if not approximate:
            return cls(nearest_neighbors(points, n_neighbors, n_jobs=n_jobs))
        _check_number(n_neighbors, len(points))
        search = beside(partial(inverted_searcher, points, n_jobs))
        found, _ = _search(points, np.arange(len(points)), search, n_neighbors, n_neighbors + 1)
        sample = np.unique(np.linspace(0, len(points) - 1, _CHECKED).astype(np.int64))
        truth = nearest_neighbors(points, n_neighbors, rows=sample, n_jobs=n_jobs)
        hits = sum(len(np.intersect1d(a, b)) for a, b in zip(found[sample], truth, strict=True))
        return cls(found, hits / truth.size)

    def graph(
        self, n_neighbors: int | None = None, symmetrize: Symmetrization = "sum"
    ) -> SparseGraph:
        """Return the symmetrised graph of the first `n_neighbors` neighbours, by default of all."""
        check_choice("symmetrize", symmetrize, ("sum", "union", "mutual"))
        near = self.indices[:, :n_neighbors]
        if is_on_device(near):
            return device_graph(near, symmetrize)
        n_samples, n_near = near.shape
        indptr = np.arange(n_samples + 1) * n_near
        directed = sparse.csr_array(
            (np.ones(near.size), near.ravel(), indptr), shape=(n_samples, n_samples)
        )
        if symmetrize == "sum":
            return SparseGraph.from_adjacency(directed + directed.T)
        if symmetrize == "union":
            return SparseGraph.from_adjacency(directed.maximum(directed.T))
        return SparseGraph.from_adjacency(directed.minimum(directed.T))

    def weighted_graph(
        self,
        sample_weight: Floats,
        n_neighbors: float | None = None,
        symmetrize: Symmetrization = "sum",
        before_own: Ints | None = None,
    ) -> SparseGraph:
        """Return the graph of samples of which one of weight w counts as w copies of it.

        The first neighbours of a copy are the other copies; then come the neighbours with all their
        copies, until there are `n_neighbors`. All edges between copies of the same two samples are added
        up, those within a sample as its loops.

        Parameters
        ----------
        sample_weight : array of shape (n_samples,)
            Weights of at least 0.
        n_neighbors : float, optional
            Neighbours of a copy; by default as many as there are listed.
        symmetrize : {"sum", "union", "mutual"}
            As in `graph`.
        before_own : array of int, shape (n_samples,), optional
            How many listed neighbours come before the own copies: equal rows with lower numbers.
        """
        check_choice("symmetrize", symmetrize, ("sum", "union", "mutual"))
        taken, own = self._taken(sample_weight, n_neighbors, before_own)
        n_samples, n_near = self.indices.shape
        indptr = np.arange(n_samples + 1) * n_near
        directed = sparse.csr_array(
            (taken.ravel(), on_host(self.indices).ravel(), indptr), shape=(n_samples, n_samples)
        )
        copies = sparse.diags_array(sample_weight) @ directed
        # Of the copies of a sample, each takes the first few others: pairs that take each other.
        both, loops = directed.multiply(directed.T), 2 * sample_weight * own
        if symmetrize == "mutual":
            edges, loops = both, own * (own + 1)
        else:
            edges = copies + copies.T
            if symmetrize == "union":
                edges, loops = edges - both, loops - own * (own + 1)
        upper = sparse.triu(edges, k=1).tocoo()
        heads, tails = upper.row.astype(np.int64), upper.col.astype(np.int64)
        return SparseGraph.from_weights(n_samples, heads, tails, upper.data, np.maximum(loops, 0.0))

    def _taken(
        self, sample_weight: Floats, n_neighbors: float | None, before_own: Ints | None
    ) -> tuple[Floats, Floats]:
        """Return how many copies of every listed neighbour a copy takes, and how many of its own sample."""
        near = on_host(self.indices)
        wanted = near.shape[1] if n_neighbors is None else n_neighbors
        first = np.zeros(len(near), dtype=np.int64) if before_own is None else before_own
        others = np.maximum(sample_weight - 1, 0.0)
        offered = sample_weight[near]
        before = np.cumsum(offered, axis=1) - offered
        is_after = np.arange(near.shape[1]) >= first[:, None]
        taken = np.clip(wanted - before - is_after * others[:, None], 0.0, offered)
        padded = np.concatenate([before, before[:, -1:] + offered[:, -1:]], axis=1)
        ahead = np.take_along_axis(padded, first[:, None], axis=1)[:, 0]
        return taken, np.clip(wanted - ahead, 0.0, others)


def weighted_knn_graph(
    X: Matrix,
    sample_weight: Floats,
    n_neighbors: int = 20,
    *,
    standardize: bool = True,
    symmetrize: Symmetrization = "sum",
    approximate: bool = False,
    n_jobs: int | None = None,
) -> tuple[SparseGraph, float]:
    """Return the nearest-neighbour graph of samples of positive weight, and its recall.

    It is the graph of a table in which a row of weight w stands w times, with the copies of a row taken
    together; see `Neighbors.weighted_graph`.
    """
    rows = np.asarray(on_host(X), dtype=np.float64)
    points = standardized(rows, sample_weight) if standardize else _to_unit_range(rows)
    n_listed = min(n_neighbors, len(points) - 1)
    while True:
        found = Neighbors.of(
            points, n_listed, standardize=False, approximate=approximate, n_jobs=n_jobs
        )
        # Light samples: more of them are as many neighbours.
        total = sample_weight[found.indices].sum(axis=1) + np.maximum(sample_weight - 1, 0.0)
        if n_listed == len(points) - 1 or total.min() >= n_neighbors:
            break
        n_listed = min(2 * n_listed, len(points) - 1)
    is_equal = np.all(points[found.indices] == points[:, None, :], axis=2)
    is_lower = found.indices < np.arange(len(points))[:, None]
    before_own = np.count_nonzero(is_equal & is_lower, axis=1)
    graph = found.weighted_graph(sample_weight, n_neighbors, symmetrize, before_own)
    return graph, found.recall


def knn_graph(
    X: Matrix,
    n_neighbors: int = 20,
    *,
    standardize: bool = True,
    symmetrize: Symmetrization = "sum",
    approximate: bool = False,
    n_jobs: int | None = None,
) -> SparseGraph:
    """Return the symmetrised graph of nearest neighbours by Euclidean distance.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The samples.
    n_neighbors : int, default=20
        Neighbours of each row, itself excluded.
    standardize : bool, default=True
        Bring every feature to mean 0 and variance 1 first (constant features stay as they are).
    symmetrize : {"sum", "union", "mutual"}, default="sum"
        An edge weighs the number of directions in which it is a nearest-neighbour pair ("sum": 1 or
        2), or 1 if at least one ("union") or both ("mutual") hold.
    approximate : bool, default=False
        Search faster and miss some neighbours (extra ``knn``); see `Neighbors.recall`.
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
    neighbors = Neighbors.of(
        X, n_neighbors, standardize=standardize, approximate=approximate, n_jobs=n_jobs
    )
    return neighbors.graph(symmetrize=symmetrize)


def standardized(X: Matrix, sample_weight: Floats | None = None) -> Floats:
    """Return the table with every column at mean 0 and variance 1; constant columns become 0."""
    points = _to_unit_range(np.asarray(X, dtype=np.float64), axis=0)
    if sample_weight is None:
        points -= points.mean(axis=0)
        deviation = points.std(axis=0)
    else:
        points -= np.average(points, axis=0, weights=sample_weight)
        deviation = np.sqrt(np.average(points**2, axis=0, weights=sample_weight))
        deviation[np.ptp(points, axis=0) == 0] = 0.0
    points /= np.where(deviation > 0, deviation, 1.0)
    return points


def nearest_neighbors(
    X: Matrix, n_neighbors: int, *, rows: Ints | None = None, n_jobs: int | None = None
) -> Ints:
    """Return the exact nearest neighbours of some rows (by default all), nearest first.

    A row is never its own neighbour, but a duplicate of it may be. Distances that agree to ten digits
    are ties, and the lowest row index wins them. The result does not depend on which library found
    the candidates.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain.graphs import nearest_neighbors
    >>> nearest_neighbors(np.array([[0.0], [1.0], [3.0], [7.0]]), 2)
    array([[1, 2],
           [0, 2],
           [1, 0],
           [2, 1]])
    """
    _check_number(n_neighbors, len(X))
    n_wanted = len(X) if rows is None else len(rows)
    check_memory(
        _BYTES_PER_NEIGHBOR * n_wanted * n_neighbors,
        f"{n_neighbors:,} neighbours of each of {n_wanted:,} rows",
        "take fewer rows or a smaller n_neighbors",
    )
    points: Floats = np.ascontiguousarray(_to_unit_range(np.asarray(X, dtype=np.float64)))
    wanted = np.arange(len(points)) if rows is None else rows
    search = beside(partial(exact_searcher, points, n_jobs))
    found = np.empty((len(wanted), n_neighbors), dtype=np.int64)
    still_open, n_candidates = np.arange(len(wanted)), n_neighbors + 1 + _SPARE
    while len(still_open):
        n_candidates = min(n_candidates, len(points))
        found[still_open], settled = _search(
            points, wanted[still_open], search, n_neighbors, n_candidates
        )
        # Rows whose border falls into a tie need more candidates; with all rows everything is settled.
        still_open = still_open[~settled]
        n_candidates *= 4
    return found


def _to_unit_range(X: Floats, axis: int | None = None) -> Floats:
    """Return X divided by a power of two, an exact step, so that squares neither overflow nor vanish."""
    exponent = np.frexp(np.abs(X).max(axis=axis))[1]
    return np.asarray(np.ldexp(X, -exponent))


def _check_number(n_neighbors: int, n_samples: int) -> None:
    if not 1 <= n_neighbors < n_samples:
        raise ValueError(
            f"n_neighbors={n_neighbors} must be at least 1 and below the number of rows, {n_samples}."
        )


def _search(
    points: Floats, rows: Ints, search: Searcher, n_neighbors: int, n_candidates: int
) -> tuple[Ints, Bools]:
    """Return the nearest candidates of each row, and whether no other row can be as near."""
    found = np.empty((len(rows), n_neighbors), dtype=np.int64)
    settled = np.empty(len(rows), dtype=bool)
    rank = _rank_compiled if len(points) >= MANY_ROWS else rank_candidates
    step = max(1, _ROOM // n_candidates)
    for start in range(0, len(rows), step):
        block = slice(start, start + step)
        candidates = beside(partial(search.candidates, rows[block], n_candidates), breaks=True)
        found[block], last, furthest = rank(points, rows[block], candidates, n_neighbors)
        # Search structures trade digits for speed.
        error = search.error(rows[block], furthest)
        settled[block] = last + 2 * error < furthest * (1 - 1e-9)
    if n_candidates == len(points):
        settled[:] = True
    return found, settled


def rank_candidates(
    points: Floats, rows: Ints, candidates: Array, n_neighbors: int
) -> tuple[Ints, Floats, Floats]:
    """Rank candidates by distances computed anew, difference by difference, to ten digits.

    Returns the nearest of each row, the squared distance of the last of these, and that of the furthest
    candidate. Candidates of -1 do not count: an approximate search may return too few.
    """
    distances = np.zeros(candidates.shape)
    step = max(1, _BLOCK // max(1, candidates.shape[1]))
    for start in range(0, len(rows), step):
        block = slice(start, start + step)
        for column in points.T:  # one after the other, so that all ways to add them up agree
            gaps = column[rows[block], None] - column[candidates[block]]
            distances[block] += gaps * gaps
    distances[candidates < 0] = np.inf
    furthest = distances.max(axis=1)
    mantissa, exponent = np.frexp(distances)
    distances = np.ldexp(np.rint(np.ldexp(mantissa, 34)), exponent - 34)
    distances[candidates == rows[:, None]] = np.inf
    order = np.lexsort((candidates, distances), axis=1)[:, :n_neighbors]
    last = np.take_along_axis(distances, order[:, -1:], axis=1)[:, 0]
    return np.take_along_axis(candidates, order, axis=1), last, furthest


def _rank_compiled(
    points: Floats, rows: Ints, candidates: Array, n_neighbors: int
) -> tuple[Ints, Floats, Floats]:
    """Do what `rank_candidates` does, for many rows."""
    from spexplain.kernels import nearest

    found = np.empty((len(rows), n_neighbors), dtype=np.int64)
    last, furthest = np.empty((2, len(rows)))
    exact, rounded = np.empty((2, candidates.shape[1]))
    places = np.empty(candidates.shape[1], dtype=np.int64)
    nearest.rank_candidates(points, rows, candidates, exact, rounded, places, found, furthest, last)
    return found, last, furthest
