"""Where candidates for nearest neighbours come from: scikit-learn, or faiss for large tables of many columns."""

from importlib.util import find_spec
from typing import Any, NamedTuple, Protocol

import numpy as np

from spexplain.aliases import Floats, Ints
from spexplain.openmp import fork_safe, is_forked

# k-d trees beat matrix products up to this many columns, as in scikit-learn.
_FEW_COLUMNS = 15
# Rows from which faiss pays for its import.
_MANY_ROWS = 10_000


class Searcher(Protocol):
    """Finds candidates; its own squared distances are off by at most `error`."""

    @property
    def error(self) -> float:
        """Bound on the error of a squared distance."""

    def candidates(self, rows: Ints, count: int) -> Ints:
        """Return the numbers of the `count` nearest points of each row, itself among them."""


class _ScikitSearcher(NamedTuple):
    points: Floats
    index: Any
    error: float

    def candidates(self, rows: Ints, count: int) -> Ints:
        with fork_safe():
            found: Ints = self.index.kneighbors(self.points[rows], count, return_distance=False)
        return found


class _FaissSearcher(NamedTuple):
    points: Any  # float32
    index: Any
    n_threads: int
    error: float

    def candidates(self, rows: Ints, count: int) -> Ints:
        import faiss

        faiss.omp_set_num_threads(self.n_threads)
        return np.asarray(self.index.search(self.points[rows], count)[1], dtype=np.int64)


def exact_searcher(points: Floats, n_jobs: int | None) -> Searcher:
    """Return the faster of the exact searches for this table."""
    n_points, n_columns = points.shape
    is_large = n_points >= _MANY_ROWS and n_columns > _FEW_COLUMNS
    if is_large and find_spec("faiss") is not None:
        import faiss

        return _faiss_searcher(points, faiss.IndexFlatL2(n_columns), n_jobs)
    from sklearn.neighbors import NearestNeighbors

    index = NearestNeighbors(n_jobs=n_jobs).fit(points)
    return _ScikitSearcher(points, index, _rounding(points, np.finfo(np.float64).eps))


def inverted_searcher(points: Floats, n_jobs: int | None) -> Searcher:
    """Return an approximate search that looks into the nearest of about 4·√n cells only."""
    if find_spec("faiss") is None:
        raise ImportError(
            'approximate=True needs faiss; install it with: pip install "spexplain[knn]"'
        )
    import faiss

    n_points, n_columns = points.shape
    n_cells = max(1, min(int(4 * np.sqrt(n_points)), n_points // 39))
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(n_columns), n_columns, n_cells)
    index.nprobe = max(1, n_cells // 16)
    return _faiss_searcher(points, index, n_jobs)


def _faiss_searcher(points: Floats, index: Any, n_jobs: int | None) -> Searcher:
    import faiss
    from joblib import effective_n_jobs

    n_threads = 1 if is_forked() else effective_n_jobs(n_jobs)
    faiss.omp_set_num_threads(n_threads)
    # Near the origin float32 keeps more digits of a difference.
    near = np.ascontiguousarray(points - points.mean(axis=0), dtype=np.float32)
    if not index.is_trained:
        index.train(near)
    index.add(near)
    return _FaissSearcher(near, index, n_threads, _rounding(near, np.finfo(np.float32).eps))


def _rounding(points: Any, epsilon: Any) -> float:
    """Return a bound on the error of ‖x‖² − 2⟨x, y⟩ + ‖y‖² in floating point."""
    squared = np.einsum("ij,ij->i", points, points, dtype=np.float64)
    return float(4 * (points.shape[1] + 8) * float(epsilon) * squared.max())
