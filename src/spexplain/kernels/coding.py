"""Values to bins, and nodes to parts."""

from typing import Any

import numpy as np

from spexplain.aliases import Array, Floats, Ints, Matrix
from spexplain.kernels.jit import jit, jit_inline

MISSING = 255  # the code of a missing value that counts as no number; bins have the codes below

_N_PROBES = 256  # rows whose values tell on which side of a threshold the others lie

# Values are brought together feature by feature in a tile that stays in the first-level cache. All tiles of some
# rows come one after the other: their pages are read once.
_TILE_FEATURES = 8
_TILE_ROWS = 272  # no power of two: else columns would share the same few places of the cache


def code_features(
    values: Matrix,
    column_of: Ints,
    features: Ints,
    edges: Floats,
    origin: Floats,
    scale: Floats,
    cells: Array,
    codes: Array,
) -> None:
    """Write the bins of some features f to ``codes[f, :n_samples]``; they are columns of a table.

    A feature with positive scale looks up its bin in ``cells[f]``, a table over a regular grid; the
    others count, by bisection without branches, how many of their 255 sorted ``edges[f]``, of which
    the last is infinite, are below a value. Both never decrease with the value. NaN gets the code
    that the last entry of ``cells[f]``, behind the grid, holds.

    Shapes: values (n, n_columns), column_of (d,), features (m,), edges (d, 255), origin and scale (d,),
    cells (d, n_cells + 1), codes (d, >= n). Cost O(m n).
    """
    by_grid = scale[features] > 0
    if by_grid.any():
        own = features[by_grid]
        columns = column_of[own]
        tile = np.empty(_TILE_FEATURES * _TILE_ROWS, dtype=values.dtype)
        cell = np.empty(_TILE_ROWS, dtype=np.int32)
        is_run = bool(np.all(np.diff(columns) == 1))
        code_tiles(values, columns, is_run, own, origin, scale, cells, tile, cell, codes)
    if not by_grid.all():
        others = features[~by_grid]
        code_by_edges(values, column_of[others], others, edges, cells, codes)


@jit
def code_tiles(
    values: Matrix,
    columns: Ints,
    is_run: bool,
    features: Ints,
    origin: Floats,
    scale: Floats,
    cells: Array,
    tile: Array,
    cell: Array,
    codes: Array,
) -> None:
    """Look up the bins of features in their grids; `tile` and `cell` are room, a run of columns are neighbours."""
    n_samples, n_features = values.shape[0], len(features)
    missing = np.float64(cells.shape[1] - 1)
    top = missing - 1.0
    for i0 in range(0, n_samples, _TILE_ROWS):
        height = n_samples - i0 if n_samples - i0 < _TILE_ROWS else _TILE_ROWS
        for f0 in range(0, n_features, _TILE_FEATURES):
            width = n_features - f0 if n_features - f0 < _TILE_FEATURES else _TILE_FEATURES
            first = columns[f0]  # of a run, which is read several columns at a time
            # Unsigned indices spare the check for negative ones.
            for i in range(height):
                row = np.uint64(i0 + i)
                for j in range(width):
                    column = np.uint64(first + j if is_run else columns[np.uint64(f0 + j)])
                    tile[np.uint64(j * _TILE_ROWS + i)] = values[row, column]
            for j in range(width):
                f, start = np.uint64(features[f0 + j]), j * _TILE_ROWS
                low, step = origin[f], scale[f]
                # Two loops: the first is vectorised, the second cannot be.
                for i in range(height):
                    value = tile[np.uint64(start + i)]
                    place = (value - low) * step
                    place = place if place > 0.0 else 0.0
                    place = place if place < top else top
                    cell[i] = np.int32(place if value == value else missing)  # noqa: PLR0124
                for i in range(height):
                    codes[f, np.uint64(i0 + i)] = cells[f, np.uint32(cell[i])]


@jit
def code_by_edges(
    values: Matrix, columns: Ints, features: Ints, edges: Floats, cells: Array, codes: Array
) -> None:
    """Find the bins of features by bisection; a kernel of its own, which few tables need."""
    for i0 in range(0, values.shape[0], _TILE_ROWS):
        stop = min(i0 + _TILE_ROWS, values.shape[0])
        for j in range(len(features)):
            f, column = features[j], columns[j]
            missing = cells[f, cells.shape[1] - 1]
            for i in range(i0, stop):
                value = np.float64(values[i, column])
                is_known = value == value  # noqa: PLR0124
                codes[f, i] = bisect(edges, f, value) if is_known else missing


@jit_inline
def bisect(edges: Floats, feature: Any, value: float) -> int:
    """Return how many of a feature's 255 sorted edges are below the value, in eight steps without branches."""
    below, half = 0, 128
    while half > 0:
        below += half if edges[feature, below + half - 1] < value else 0
        half >>= 1
    return below


@jit
def spread_of_bins(
    values: Matrix,
    column: int,
    filling: float,
    codes: Array,
    feature: int,
    low: Floats,
    high: Floats,
) -> None:
    """Write the least and the greatest value of every bin of a feature to `low` and `high`.

    The feature is a column of a table in which a missing value counts as the filling. Shapes: values (n,
    n_columns), codes (d, >= n), low and high (256,), preset to inf and -inf. Cost O(n).
    """
    for i in range(values.shape[0]):
        code = codes[feature, i]
        own = np.float64(values[i, column])
        value = own if own == own else filling  # noqa: PLR0124
        low[code] = min(low[code], value)
        high[code] = max(high[code], value)


@jit_inline
def value_of(matrix: Any, extra: Floats, feature: int, vertex: int) -> float:
    """Return the value of a sample in a `SearchedMatrix`, or of an extra vertex, as float64."""
    n_samples = matrix.values.shape[0]
    if vertex < n_samples:
        value = np.float64(matrix.values[vertex, matrix.column_of[feature]])
        return value if value == value else matrix.filling[feature]  # noqa: PLR0124
    return np.float64(extra[feature, vertex - n_samples])


def values_of(matrix: Any, extra: Floats, feature: int, rows: Array) -> Floats:
    """Return the values of samples, and of extra vertices behind them, in ascending order, as float64."""
    n_samples, column = len(matrix.values), matrix.values[:, matrix.column_of[feature]]
    n_rows = int(rows.searchsorted(n_samples))
    chosen = column if n_rows == n_samples else column[rows[:n_rows]]
    values: Floats = chosen.astype(np.float64)
    if not np.isnan(matrix.filling[feature]):
        np.copyto(values, matrix.filling[feature], where=np.isnan(values))
    if n_rows < len(rows):
        values = np.concatenate([values, extra[feature, rows[n_rows:] - n_samples]])
    return values


def sides_of(
    matrix: Any,
    extra: Floats,
    codes: Array,
    feature: int,
    lower: float,
    upper: float,
    rows: Array,
    is_left: Array,
) -> None:
    """Write to `is_left` which of the ascending rows have ``lower < value <= upper``.

    Few values are read where there is no lower end: codes, which never decrease with the value, tell the rest.
    Shapes: codes (d, n), rows and is_left (n_rows,). Cost O(n_rows).
    """
    step = len(rows) // _N_PROBES
    if lower > -np.inf or step < 2:
        values = values_of(matrix, extra, feature, rows)
        np.less_equal(values, upper, out=is_left)
        if lower > -np.inf:
            is_left &= lower < values
        return
    own = codes[feature].take(rows)
    probed = values_of(matrix, extra, feature, rows[::step]) <= upper
    last_left = own[::step].max(where=probed, initial=0)
    first_right = own[::step].min(where=~probed, initial=MISSING)
    np.less(own, last_left, out=is_left)
    unsure = np.flatnonzero((own >= last_left) & (own <= first_right))
    is_left[unsure] = values_of(matrix, extra, feature, rows[unsure]) <= upper


def values_around(
    matrix: Any, extra: Floats, codes: Array, feature: int, rows: Array, last_bin: int
) -> tuple[float, float]:
    """Return the greatest value in bins up to `last_bin` and the least beyond, among ascending rows. Cost O(n_rows)."""
    own = codes[feature].take(rows)
    is_low = own <= last_bin
    below = own.compress(is_low).max(initial=0)
    above = own.compress(~is_low).min(initial=MISSING)
    # Only the bins next to the border are read.
    low = values_of(matrix, extra, feature, rows[is_low & (own == below)])
    high = values_of(matrix, extra, feature, rows[~is_low & (own == above)])
    return float(low.max(initial=-np.inf)), float(high.min(initial=np.inf))
