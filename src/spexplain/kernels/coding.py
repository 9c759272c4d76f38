"""Values to bins, and nodes to parts."""

from typing import Any

import numpy as np

from spexplain.aliases import Array, Floats, Matrix
from spexplain.kernels.jit import jit, jit_inline

MISSING = 255  # the code of a missing value; bins have the codes below

# Values are brought together feature by feature in a tile that stays in the first-level cache.
_TILE_FEATURES = 64
_TILE_ROWS = 80  # no power of two: columns of the tile would share the same few places of the cache


def code_features(
    columns: Matrix,
    first: int,
    last: int,
    edges: Floats,
    origin: Floats,
    scale: Floats,
    cells: Array,
    codes: Array,
) -> None:
    """Write the bins of the features ``first <= f < last`` to ``codes[f, :n_samples]``.

    A feature with positive scale looks up its bin in ``cells[f]``, a table over a regular grid; the
    others count, by bisection without branches, how many of their 255 sorted ``edges[f]``, of which
    the last is infinite, are below a value. Both never decrease with the value. NaN gets the code
    `MISSING`, which the last entry of ``cells[f]``, behind the grid, must hold.

    Shapes: columns (d, n), edges (d, 255), origin and scale (d,), cells (d, n_cells + 1), codes (d,
    >= n). Cost O((last - first) n).
    """
    tile = np.empty(_TILE_FEATURES * _TILE_ROWS)
    cell = np.empty(_TILE_ROWS, dtype=np.int32)
    code_tiles(columns, first, last, edges, origin, scale, cells, tile, cell, codes)


@jit
def code_tiles(
    columns: Matrix,
    first: int,
    last: int,
    edges: Floats,
    origin: Floats,
    scale: Floats,
    cells: Array,
    tile: Floats,
    cell: Array,
    codes: Array,
) -> None:
    """Do the work of `code_features`; `tile` and `cell` are room."""
    n_samples = columns.shape[1]
    missing = np.float64(cells.shape[1] - 1)
    top = missing - 1.0
    for f0 in range(first, last, _TILE_FEATURES):
        width = last - f0 if last - f0 < _TILE_FEATURES else _TILE_FEATURES
        for i0 in range(0, n_samples, _TILE_ROWS):
            height = n_samples - i0 if n_samples - i0 < _TILE_ROWS else _TILE_ROWS
            # Unsigned indices spare the check for negative ones.
            for i in range(height):
                row = np.uint64(i0 + i)
                for j in range(width):
                    tile[np.uint64(j * _TILE_ROWS + i)] = columns[np.uint64(f0 + j), row]
            for j in range(width):
                f, start = np.uint64(f0 + j), j * _TILE_ROWS
                low, step = origin[f], scale[f]
                if step > 0:
                    # Two loops: the first is vectorised, the second cannot be.
                    for i in range(height):
                        value = tile[np.uint64(start + i)]
                        place = (value - low) * step
                        place = place if place > 0.0 else 0.0
                        place = place if place < top else top
                        cell[i] = np.int32(place if value == value else missing)  # noqa: PLR0124
                    for i in range(height):
                        codes[f, np.uint64(i0 + i)] = cells[f, np.uint32(cell[i])]
                else:
                    for i in range(height):
                        value = tile[start + i]
                        below = bisect(edges, f, value)
                        codes[f, i0 + i] = below if value == value else MISSING  # noqa: PLR0124


@jit_inline
def bisect(edges: Floats, feature: Any, value: float) -> int:
    """Return how many of a feature's 255 sorted edges are below the value, in eight steps without branches."""
    below, half = 0, 128
    while half > 0:
        below += half if edges[feature, below + half - 1] < value else 0
        half >>= 1
    return below


@jit
def spread_of_bins(columns: Matrix, codes: Array, feature: int, low: Floats, high: Floats) -> None:
    """Write the least and the greatest value of every bin of a feature to `low` and `high`.

    Shapes: columns (d, n), codes (d, >= n), low and high (256,), preset to inf and -inf. Cost O(n).
    """
    for i in range(columns.shape[1]):
        code = codes[feature, i]
        value = np.float64(columns[feature, i])
        low[code] = min(low[code], value)
        high[code] = max(high[code], value)


@jit_inline
def value_of(columns: Matrix, extra: Floats, feature: int, vertex: int) -> float:
    """Return the value of a sample, or of an extra vertex, as float64."""
    n_samples = columns.shape[1]
    if vertex < n_samples:
        return np.float64(columns[feature, vertex])
    return np.float64(extra[feature, vertex - n_samples])


def values_of(columns: Matrix, extra: Floats, feature: int, rows: Array) -> Floats:
    """Return the values of samples, and of extra vertices behind them, in ascending order, as float64."""
    n_samples = columns.shape[1]
    n_rows = int(np.searchsorted(rows, n_samples))
    values: Floats = columns[feature, rows[:n_rows]].astype(np.float64)
    if n_rows < len(rows):
        values = np.concatenate([values, extra[feature, rows[n_rows:] - n_samples]])
    return values


def sides_of(
    columns: Matrix,
    extra: Floats,
    feature: int,
    lower: float,
    upper: float,
    rows: Array,
    is_left: Array,
) -> None:
    """Write to `is_left` which of the ascending rows have ``lower < value <= upper``. Cost O(n_rows)."""
    values = values_of(columns, extra, feature, rows)
    np.less_equal(values, upper, out=is_left)
    if lower > -np.inf:
        is_left &= lower < values


def values_around(
    columns: Matrix, extra: Floats, codes: Array, feature: int, rows: Array, last_bin: int
) -> tuple[float, float]:
    """Return the greatest value in bins up to `last_bin` and the least beyond, among ascending rows. Cost O(n_rows)."""
    values = values_of(columns, extra, feature, rows)
    is_low = codes[feature, rows] <= last_bin
    return float(values[is_low].max(initial=-np.inf)), float(values[~is_low].min(initial=np.inf))
