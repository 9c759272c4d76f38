"""Exact nearest neighbours on the GPU, by products of rounded points and distances computed anew."""

from collections.abc import Callable
from functools import lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

_SPARE = 11  # candidates asked for beyond the wanted neighbours and the row itself
_MOST_CANDIDATES = 256  # beyond, all distances are computed exactly
_THREADS = 512  # of a block that notes candidates; the kernel counts on it
_WIDTH = 16 * _THREADS  # rows that such a block takes at a time
_LEAST_ROOM = 1 << 22  # bytes of products at a time, or a part of the table
_LEAST_BLOCK = 1 << 25  # bytes of exact distances at a time
_MOST_COLUMNS = 24_000  # a row of doubles must fit shared memory
_LARGEST = 1024.0  # of the rounded numbers: far from what half precision overflows at


class _Points(NamedTuple):
    """A table and the steps that make points of it: what kernels take."""

    table: Any
    row_step: int
    column_step: int
    n_columns: int
    before: Any
    mean: Any
    deviation: Any
    after: float


def device_neighbors(X: Any, n_neighbors: int, *, standardize: bool = True) -> Any:
    """Return the exact nearest neighbours of every row, nearest first, as `nearest_neighbors` does.

    Half-precision products on the tensor cores find candidates. Their distances are computed anew in
    double precision, and rows for which rounding could have hidden a neighbour are searched again with
    more candidates, at last with all.
    """
    import cupy as xp

    n = len(X)
    if X.shape[1] > _MOST_COLUMNS:
        raise ValueError(
            f"On the GPU, neighbours are searched in tables of up to {_MOST_COLUMNS} columns, got "
            f"{X.shape[1]}; pass X as a NumPy array."
        )
    points = _points(X, standardize=standardize)
    found = xp.empty((n, n_neighbors), dtype=np.int32)
    still_open = xp.arange(n, dtype=np.int32)
    n_wanted = n_neighbors + 1 + _SPARE
    rounded = _rounded(points, n) if n_wanted <= _MOST_CANDIDATES else None
    while len(still_open) and n_wanted <= _MOST_CANDIDATES:
        assert rounded is not None
        settled = _rank(points, rounded, still_open, n_wanted, found)
        still_open = still_open[settled == 0]
        n_wanted *= 4
    _rank_all(points, still_open, found)
    return found


@lru_cache(maxsize=2)
def _module(real: str) -> Any:
    import cupy

    source = files("spexplain.graphs").joinpath("neighbors.cu").read_text()
    return cupy.RawModule(code=source, options=("-std=c++17", f"-DREAL={real}"))


@lru_cache(maxsize=16)
def _kernel(real: str, name: str) -> Any:
    return _module(real).get_function(name)


def _real(points: _Points) -> str:
    return "float" if points.table.dtype == np.float32 else "double"


def _run(
    name: str, points: _Points, grid: tuple[int, ...], args: tuple[Any, ...], shared: int = 0
) -> None:
    kernel = _kernel(_real(points), name)
    kernel.max_dynamic_shared_size_bytes = max(kernel.max_dynamic_shared_size_bytes, shared)
    threads = 256 if name in ("sum_columns", "round_points") else _THREADS
    kernel(grid, (threads,), args, shared_mem=shared)


def _points(X: Any, *, standardize: bool) -> _Points:
    """Return how the table's values become points: standardised, and scaled for half precision."""
    import cupy as xp

    n, d = X.shape
    size = X.dtype.itemsize
    steps = X, X.strides[0] // size, X.strides[1] // size, d
    high, low = (each.astype(np.float64) for each in (X.max(axis=0), X.min(axis=0)))
    spread = xp.maximum(abs(high), abs(low))
    exponent = xp.frexp(spread if standardize else xp.full(d, spread.max()))[1]
    before, zeros = xp.ldexp(xp.ones(d), -exponent), xp.zeros(d)
    points = _Points(*steps, before, zeros, xp.ones(d), 1.0)
    if standardize:
        points = points._replace(mean=_column_sums(points, n, squared=False) / n)
        deviation = xp.sqrt(_column_sums(points, n, squared=True) / n)
        points = points._replace(deviation=xp.where(deviation > 0, deviation, 1.0))
    ends = (abs(each * before - points.mean) / points.deviation for each in (high, low))
    largest = float(xp.maximum(*ends).max())
    after = _LARGEST / 2.0 ** float(np.frexp(largest)[1]) if largest > 0 else 1.0
    return points._replace(after=after)


def _column_sums(points: _Points, n: int, *, squared: bool) -> Any:
    import cupy as xp

    n_parts = max(1, min(256, n // 64))
    sums = xp.empty((n_parts, points.n_columns))
    args = (*points[:4], n, points.before, points.mean, int(squared), sums)
    _run("sum_columns", points, (-(-points.n_columns // 32), n_parts), args)
    return sums.sum(axis=0)


class _Rounded(NamedTuple):
    """Points in half precision, their squared lengths, and their distances from the points."""

    points: Any
    lengths: Any
    errors: Any
    largest_length: float
    largest_error: float


def _rounded(points: _Points, n: int) -> _Rounded:
    import cupy as xp

    n_padded = -(-points.n_columns // 8) * 8  # what tensor cores take at a time
    rounded = xp.empty((n, n_padded), dtype=np.float16)
    lengths, errors = xp.empty((2, n), dtype=np.float32)
    _run("round_points", points, (-(-n // 8),), (*points, n, n_padded, rounded, lengths, errors))
    largest = xp.stack([lengths.max(), errors.max()]).get()
    return _Rounded(rounded, lengths, errors, float(largest[0]), float(largest[1]))


class _Notes(NamedTuple):
    """What is noted of the candidates of some rows."""

    least: Any  # float32, shape (n_rows, 512)
    candidates: Any  # int32, shape (n_rows, 1024)
    rounded: Any  # float32, the same shape
    counts: Any  # int32, shape (n_rows,)
    limits: Any  # float32, shape (n_rows,)

    @classmethod
    def room(cls, xp: Any, n_rows: int) -> "_Notes":
        """Return room for that many rows."""
        return cls(
            xp.empty((n_rows, _THREADS), dtype=np.float32),
            xp.empty((n_rows, 1024), dtype=np.int32),
            xp.empty((n_rows, 1024), dtype=np.float32),
            xp.empty(n_rows, dtype=np.int32),
            xp.empty(n_rows, dtype=np.float32),
        )


def _rank(points: _Points, rounded: _Rounded, rows: Any, n_wanted: int, found: Any) -> Any:
    """Write the nearest of the candidates of some rows; return which rows are settled."""
    import cupy as xp

    n, k = len(rounded.points), found.shape[1]
    width = min(n, _WIDTH)
    step = max(1, min(len(rows), max(_LEAST_ROOM, points.table.nbytes // 32) // (4 * width)))
    notes = _Notes.room(xp, step)
    note_all = _noter(points, rounded, notes, width, n_wanted)
    settled = xp.empty(len(rows), dtype=np.uint8)
    is_all = len(rows) == n
    of_rows = found if is_all else xp.empty((len(rows), k), dtype=np.int32)
    # Products of 11 bits are exact; adding d of them in single precision is not. Twice the product
    # enters a distance, and the lengths beside it are rounded too.
    relative = (2 * (rounded.points.shape[1] + 16) + 16) * 2.0**-22
    sizes = rounded.largest_length, rounded.largest_error, relative, rounded.errors
    for start in range(0, len(rows), step):
        here = slice(start, start + step)
        part = rows[here]
        note_all(rounded.points[here] if is_all else rounded.points[part])
        noted = (*points, *notes[1:], rounded.lengths, part, k, *sizes)
        out = (of_rows[here], settled[here])
        _run("rank_nearest", points, (len(part),), (*noted, *out), 8 * points.n_columns)
    if not is_all:
        found[rows] = of_rows
    return settled


def _noter(
    points: _Points, rounded: _Rounded, notes: _Notes, width: int, n_wanted: int
) -> Callable[[Any], None]:
    """Return what notes the candidates of some rounded points among all, `width` at a time.

    These are thousands of short launches: what they share is prepared once.
    """
    import cupy as xp

    n, n_columns = rounded.points.shape
    products = xp.empty(len(notes.counts) * width, dtype=np.float32)
    tiles = [(first, rounded.points[first : first + width]) for first in range(0, n, width)]
    multiply = _multiplier(n_columns, products)
    note = _kernel(_real(points), "note_candidates")
    calls = [
        (others, (products, rounded.lengths, first, len(others), n_wanted, *notes))
        for first, others in tiles
    ]

    def note_all(own: Any) -> None:
        grid = (len(own),)
        for others, args in calls:
            multiply(own, others)
            note(grid, (_THREADS,), args)

    return note_all


def _multiplier(n_columns: int, products: Any) -> Callable[[Any, Any], None]:
    """Return what writes the products of some rounded points with others, in single precision."""
    from cupy.cuda import cublas, device, runtime

    one, zero = np.ones(1, dtype=np.float32), np.zeros(1, dtype=np.float32)
    half, single = runtime.CUDA_R_16F, runtime.CUDA_R_32F
    handle, out, d = device.get_cublas_handle(), products.data.ptr, n_columns
    transposed, plain = cublas.CUBLAS_OP_T, cublas.CUBLAS_OP_N
    kind, how = cublas.CUBLAS_COMPUTE_32F, cublas.CUBLAS_GEMM_DEFAULT
    gemm = cublas.gemmEx
    by, plus = one.ctypes.data, zero.ctypes.data

    def multiply(own: Any, others: Any, keep: Any = (one, zero)) -> None:
        n = len(others)
        gemm(
            handle, transposed, plain, n, len(own), d, by, others.data.ptr, half, d, own.data.ptr,
            half, d, plus, out, single, n, kind, how,
        )  # fmt: skip

    return multiply


def _rank_all(points: _Points, rows: Any, found: Any) -> None:
    """Write the nearest of all rows to some rows, by exact distances to every one."""
    import cupy as xp

    n, k = found.shape
    step = max(1, _LEAST_BLOCK // (8 * n))
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        distances = xp.empty((len(part), n))
        args = (*points, n, part, distances)
        grid = (max(1, min(64, n // 64)), len(part))
        _run("all_distances", points, grid, args, 8 * points.n_columns)
        # Equal distances stand in the order of the rows: the sort is stable.
        for place, row in enumerate(part.tolist()):
            found[row] = xp.argsort(distances[place], kind="stable")[:k]
