"""Where candidates for nearest neighbours come from: blocks of points, scikit-learn, or faiss for many columns."""

from importlib.util import find_spec
from typing import Any, NamedTuple, Protocol

import numpy as np

from spexplain.aliases import Array, Floats, Ints
from spexplain.threads import Threads, blocks_of, count_threads, fork_safe, is_forked

# Rows from which compiled code pays for its start.
MANY_ROWS = 10_000
# Columns up to which blocks beat products of whole matrices.
_FEW_COLUMNS = 64
_GROUPS = 16  # blocks whose points a thread searches for at a time


class Searcher(Protocol):
    """Finds candidates; its own squared distances are off by less than `error` says."""

    def candidates(self, rows: Ints, count: int) -> Array:
        """Return the numbers of the `count` nearest points of each row, itself among them."""

    def error(self, rows: Ints, furthest: Floats) -> Floats:
        """Return a bound on the error of squared distances from rows to points that are no further than that."""


class Rounding(NamedTuple):
    """How far off squared distances are that were computed as ‖x‖² − 2⟨x, y⟩ + ‖y‖² in floating point."""

    squared: Floats  # ‖x‖² of every point
    factor: float

    @classmethod
    def of(cls, points: Any, epsilon: Any) -> "Rounding":
        """Return the rounding of points in numbers of that precision."""
        squared = np.einsum("ij,ij->i", points, points, dtype=np.float64)
        return cls(squared, 4 * (points.shape[1] + 8) * float(epsilon))

    def error(self, rows: Ints, furthest: Floats) -> Floats:
        """Return a bound for points no further than that: they are no longer than x and that distance together."""
        lengths = np.sqrt(self.squared[rows])
        found: Floats = self.factor * (lengths**2 + (lengths + np.sqrt(furthest)) ** 2)
        return found


class _ScikitSearcher(NamedTuple):
    points: Floats
    index: Any
    rounding: Rounding

    def candidates(self, rows: Ints, count: int) -> Ints:
        from joblib import parallel_backend

        # Processes are never worth it here, and inside the workers of a pool there must be none.
        with fork_safe(), parallel_backend("threading"):
            found: Ints = self.index.kneighbors(self.points[rows], count, return_distance=False)
        return found

    def error(self, rows: Ints, furthest: Floats) -> Floats:
        return self.rounding.error(rows, furthest)


class _FaissSearcher(NamedTuple):
    points: Any  # float32
    index: Any
    n_threads: int
    rounding: Rounding

    def candidates(self, rows: Ints, count: int) -> Ints:
        import faiss

        faiss.omp_set_num_threads(self.n_threads)
        return np.asarray(self.index.search(self.points[rows], count)[1], dtype=np.int64)

    def error(self, rows: Ints, furthest: Floats) -> Floats:
        return self.rounding.error(rows, furthest)


class _BlockSearcher(NamedTuple):
    """Points in blocks that lie together; see `spexplain.kernels.nearest`."""

    points: Any  # float32, shape (n_points, d)
    norms: Any  # float32
    numbers: Array  # shape (n_blocks, WIDTH): the points of every block, -1 for empty places
    block_of: Ints  # of every point
    blocks: Any  # float32, shape (n_blocks, d, WIDTH)
    block_norms: Any
    low: Any  # shape (n_blocks, d): the box around every block
    high: Any
    threads: Threads
    rounding: Rounding

    def candidates(self, rows: Ints, count: int) -> Array:
        found = np.empty((len(rows), count), dtype=np.int32)
        order = np.argsort(self.block_of[rows], kind="stable")
        own = self.block_of[rows[order]]
        starts = np.flatnonzero(np.diff(own, prepend=-1))
        groups = np.split(order, starts[1:])

        def search(part: slice) -> None:
            for group in groups[part]:
                found[group] = self._nearest(rows[group], count)

        with self.threads as threads:
            threads.map(search, blocks_of(len(groups), _GROUPS))
        return found

    def _nearest(self, rows: Ints, count: int) -> Array:
        """Return the candidates of rows of one block."""
        from spexplain.kernels.nearest import WIDTH, order_blocks, search_blocks

        bounds = np.empty(len(self.low), dtype=np.float32)
        order_blocks(self.low, self.high, int(self.block_of[rows[0]]), bounds)
        order = np.argsort(bounds)
        heaps = np.full((len(rows), count), np.inf, dtype=np.float32)
        found = np.full((len(rows), count), -1, dtype=np.int32)
        search_blocks(
            self.blocks,
            self.block_norms,
            self.numbers,
            self.low,
            self.high,
            order,
            bounds[order],
            self.points[rows],
            self.norms[rows],
            heaps,
            found,
            np.empty(len(rows) + 1, dtype=np.int64),
            np.empty((2, WIDTH), dtype=np.float32),
        )
        return found

    def error(self, rows: Ints, furthest: Floats) -> Floats:
        return self.rounding.error(rows, furthest)


def exact_searcher(points: Floats, n_jobs: int | None) -> Searcher:
    """Return the fastest of the exact searches for this table."""
    n_points, n_columns = points.shape
    if n_points >= MANY_ROWS and n_columns <= _FEW_COLUMNS:
        return block_searcher(points, n_jobs)
    if n_points >= MANY_ROWS and find_spec("faiss") is not None:
        import faiss

        return _faiss_searcher(points, faiss.IndexFlatL2(n_columns), n_jobs)
    from sklearn.neighbors import NearestNeighbors

    index = NearestNeighbors(n_jobs=n_jobs).fit(points)
    return _ScikitSearcher(points, index, Rounding.of(points, np.finfo(np.float64).eps))


def block_searcher(points: Floats, n_jobs: int | None) -> Searcher:
    """Return the search in blocks, which are cut along the principal axes of the table."""
    from spexplain.kernels.nearest import LANES, WIDTH

    # Near the origin float32 keeps more digits of a difference; turning the table leaves distances as they are.
    near = points - points.mean(axis=0)
    near = near @ np.linalg.eigh(near.T @ near)[1][:, ::-1]
    n_points, n_columns = near.shape
    padded = np.zeros((n_points, -(-n_columns // LANES) * LANES), dtype=np.float32)
    padded[:, :n_columns] = near
    parts = _halved(padded, WIDTH)
    numbers = np.full((len(parts), WIDTH), -1, dtype=np.int32)
    for place, part in enumerate(parts):
        numbers[place, : len(part)] = part
    block_of = np.empty(n_points, dtype=np.int64)
    block_of[numbers[numbers >= 0]] = np.nonzero(numbers >= 0)[0]
    blocks = np.ascontiguousarray(padded[numbers].transpose(0, 2, 1))
    norms = np.einsum("ij,ij->i", padded, padded)
    low, high = (
        np.stack([edge(padded[part], axis=0) for part in parts]) for edge in (np.min, np.max)
    )
    return _BlockSearcher(
        padded,
        norms,
        numbers,
        block_of,
        blocks,
        np.where(numbers < 0, np.float32(np.inf), norms[numbers]),
        low,
        high,
        Threads(count_threads(n_jobs)),
        Rounding.of(padded, np.finfo(np.float32).eps),
    )


def _halved(points: Any, width: int) -> list[Ints]:
    """Return the points in parts of at most that many, halved again and again where they spread most."""
    parts, waiting = [], [np.arange(len(points))]
    while waiting:
        part = waiting.pop()
        if len(part) <= width:
            parts.append(part)
            continue
        some = points[part]
        widest = some[:, int(np.argmax(np.ptp(some, axis=0)))]
        # Full blocks on the left, as many as on the right or one more.
        n_left = width * (-(-len(part) // width) // 2)
        order = np.argpartition(widest, n_left)
        waiting += [part[order[n_left:]], part[order[:n_left]]]
    return parts


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
    return _FaissSearcher(near, index, n_threads, Rounding.of(near, np.finfo(np.float32).eps))
