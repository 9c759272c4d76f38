"""Codes every feature in bins, once: up to 255 codes that increase with the value, and one for missing values.

The borders of the bins affect the speed only, never the tree. They are quantiles of a sample; most
features look up the bin of a value in a table over a regular grid.
"""

from typing import NamedTuple

import numpy as np

from spexplain.aliases import Array, Bools, Floats, Ints, Matrix
from spexplain.kernels.coding import MISSING, code_features, spread_of_bins
from spexplain.memory import check_memory
from spexplain.table.views import SearchedMatrix
from spexplain.threads import Threads, blocks_of

N_CODES = 256  # what a byte holds
MAX_BINS = N_CODES - 1  # codes for numbers
_N_SAMPLE = 4096  # rows whose quantiles are taken
_N_EDGES = 255  # what eight bisections can distinguish; at most 254 are used
_N_CELLS = 2048  # of the grid; its table stays in the first-level cache
_BLOCK = 64  # features that a thread codes at a time
_LARGEST = np.finfo(np.float64).max
_PADDING = 32  # features that one instruction compares
APART = 8  # codes between missing values and others: they stay apart where so many codes are joined
_FEWEST_CODES = 8 * APART  # where that is not too many


class Codes(NamedTuple):
    """The bins of all values of a table, and a mark for bins that hold a single value and need no closer look.

    A feature may be the twin of the one before it: the same column with missing values above all others
    rather than below. In both, missing values have a bin to themselves, the first or the last, and all
    other values are in the same bins.
    """

    codes: Array  # uint8, shape (>= n_features, n_vertices)
    solid: Bools  # shape (n_features, n_bins)
    twins: Bools  # shape (n_features,)


class _Grid(NamedTuple):
    """The cell of a value is ``(value - origin) * scale``; scale 0 means to bisect the edges instead."""

    origin: Floats  # shape (n_features,)
    scale: Floats  # shape (n_features,)
    cells: Array  # uint8, shape (n_features, _N_CELLS + 1): bin of every cell, and the code of missing values


def bin_table(
    matrix: SearchedMatrix, extra: Floats, n_bins: int, threads: Threads, *, row_major: bool
) -> Codes:
    """Return the bins of samples and extra vertices.

    Parameters
    ----------
    matrix : SearchedMatrix of shape (n_samples, n_features)
        The table; its values are C- or F-contiguous.
    extra : array of shape (n_features, n_extra)
        The values of extra vertices, feature by feature.
    n_bins : int
        Bins wanted, 1 to 255.
    threads : Threads
        Share the features.
    row_major : bool
        Lay the codes of a vertex side by side in memory, rather than those of a feature, and add
        features of zeros up to a multiple of 32.
    """
    n_samples, n_features = matrix.shape
    n_vertices = n_samples + extra.shape[1]
    n_padded = -(-n_features // _PADDING) * _PADDING
    check_memory(
        float(n_vertices) * (n_padded if row_major else n_features),
        f"The bins of {n_vertices:,} rows by {n_features:,} columns",
        "take fewer rows or columns, or a Dask collection, which is read part by part",
    )
    if row_major:
        codes = np.zeros((n_vertices, n_padded), dtype=np.uint8).T
    else:
        codes = np.empty((n_features, n_vertices), dtype=np.uint8)
    edges = np.empty((n_features, _N_EDGES))
    cells = np.empty((n_features, _N_CELLS + 1), dtype=np.uint8)
    grid = _Grid(np.empty(n_features), np.empty(n_features), cells)
    solid = np.zeros((n_features, n_bins), dtype=bool)
    values, column_of, filling = matrix
    sampled = _sample(n_samples)
    twins = np.zeros(n_features, dtype=bool)
    if n_bins >= _FEWEST_CODES and not extra.shape[1]:  # which may lie beyond missing values
        twins[1:] = (column_of[1:] == column_of[:-1]) & (filling[1:] > filling[:-1])
    coded = np.flatnonzero(~twins)
    has_twin = np.append(twins[1:], False)

    def code(block: slice) -> None:
        features = coded[block]
        shared, discrete = features[has_twin[features]], []
        for some, n_apart in ((features[~has_twin[features]], 0), (shared, APART)):
            if not len(some):
                continue
            columns = column_of[some]
            first = columns.min()
            near = values[:, first : columns.max() + 1][sampled]
            seen = np.ascontiguousarray(near[:, columns - first].T)
            edges[some], own, is_discrete = _choose_bins(seen, filling[some], n_bins, n_apart)
            grid.origin[some], grid.scale[some], grid.cells[some] = own
            discrete += some[is_discrete].tolist()
        code_features(values, column_of, features, edges, *grid, codes)
        part = _Grid(*(each[features] for each in grid))
        codes[features, n_samples:] = _code_extra(extra[features], edges[features], part)
        for feature in discrete:
            low, high = np.full(N_CODES, np.inf), np.full(N_CODES, -np.inf)
            column, number = int(column_of[feature]), float(filling[feature])
            spread_of_bins(values, column, number, codes, feature, low, high)
            solid[feature] = (low == high)[:n_bins]
        for feature in shared.tolist():
            is_missing = (codes[feature] == 0).view(np.uint8)
            np.add(codes[feature], is_missing * np.uint8(n_bins - 1), out=codes[feature + 1])
        solid[shared + 1] = solid[shared]
        solid[shared + 1, 0], solid[shared + 1, -1], solid[shared, 0] = False, True, True

    threads.map(code, blocks_of(len(coded), min(_BLOCK, -(-len(coded) // threads.n_threads))))
    if extra.shape[1]:
        solid[np.arange(n_features)[:, None], codes[:n_features, n_samples:]] = False
    return Codes(codes, solid, twins)


def _sample(n_samples: int) -> Array:
    """Return the rows whose quantiles are taken, always the same for a table of that length."""
    if n_samples <= _N_SAMPLE:
        return np.arange(n_samples)
    return np.sort(np.random.default_rng(0).integers(n_samples, size=_N_SAMPLE))


def _choose_bins(
    sample: Matrix, filling: Floats, n_bins: int, n_apart: int
) -> tuple[Floats, _Grid, Bools]:
    """Return the edges and grids of features from a sample of their columns, and say which features look discrete.

    A missing value counts as the filling or, if codes are to be kept apart, gets the code 0.
    """
    if not n_apart and not np.isnan(filling).all():
        sample = np.where(np.isnan(sample), filling[:, None], sample)
    edges = np.full((len(sample), _N_EDGES), -np.inf)
    edges[:, n_apart:] = np.inf
    is_discrete = choose_edges(sample, n_bins - 2 * n_apart, edges[:, n_apart:])
    grid = grid_over(edges[:, n_apart:])
    missing = 0 if n_apart else _code_extra(filling[:, None], edges, grid)[:, 0]
    grid.cells[:] += np.uint8(n_apart)
    grid.cells[:, -1] = missing
    return edges, grid, is_discrete


def choose_edges(sample: Matrix, n_bins: int, edges: Floats) -> Bools:
    """Write the upper edges of all bins but the last, and return which features look discrete."""
    ordered = np.sort(sample, axis=1)  # missing values come last
    n_known = np.count_nonzero(ordered == ordered, axis=1)[:, None]  # noqa: PLR0124
    picks = np.maximum(np.arange(1, n_bins) * n_known // n_bins, 1) - 1
    chosen = np.where(n_known > 0, np.take_along_axis(ordered, picks, axis=1), np.inf)
    edges[:, : chosen.shape[1]] = chosen
    has_ties = np.any((chosen[:, 1:] == chosen[:, :-1]) & (n_known > 0), axis=1)
    is_discrete = np.zeros(len(edges), dtype=bool)
    for feature in np.flatnonzero(has_ties):
        row = ordered[feature, : n_known[feature, 0]]
        starts = np.flatnonzero(np.append(True, row[1:] != row[:-1]))
        values, counts = row[starts], np.diff(starts, append=len(row))
        is_discrete[feature] = len(values) <= n_bins
        if is_discrete[feature]:
            upper = values[:-1]
        else:
            # A value that fills whole bins gets an edge below it, too, so that no other value shares its bin.
            common = np.flatnonzero(counts * n_bins > len(row))
            upper = np.union1d(chosen[feature], values[np.maximum(common - 1, 0)])[: n_bins - 1]
        edges[feature] = np.inf
        edges[feature, : len(upper)] = upper
    return is_discrete


def grid_over(edges: Floats) -> _Grid:
    """Return the regular grids between the outermost edges of every feature, where these separate most bins."""
    n_edges = np.sum(edges < np.inf, axis=1)
    low = edges[:, 0]
    high = np.take_along_axis(edges, np.maximum(n_edges - 1, 0)[:, None], axis=1)[:, 0]
    with np.errstate(all="ignore"):
        scale = (_N_CELLS - 2) / (high - low)
    usable = np.isfinite(scale) & (scale > 0) & (n_edges > 1)
    origin = np.where(usable, low, 0.0)
    scale = np.where(usable, scale, 0.0)
    places = _cells_of(edges, origin, scale)
    exists = edges < np.inf
    told_apart = 1 + np.sum((places[:, 1:] > places[:, :-1]) & exists[:, 1:], axis=1)
    scale[told_apart < 0.9 * n_edges] = 0.0
    # A cell's bin is the number of edges in cells before it.
    row = np.arange(len(edges))[:, None] * (_N_CELLS + 1)
    n_in_cell = np.bincount((row + places + 1)[exists], minlength=len(edges) * (_N_CELLS + 1))
    cells = np.cumsum(n_in_cell.reshape(len(edges), _N_CELLS + 1), axis=1, dtype=np.uint8)
    cells[:, -1] = MISSING
    return _Grid(origin, scale, cells)


def _cells_of(values: Floats, origin: Floats, scale: Floats) -> Array:
    """Return the cells of values, computed exactly as the kernel does."""
    with np.errstate(over="ignore", invalid="ignore"):
        cells = (values - origin[:, None]) * scale[:, None]
    return np.clip(np.nan_to_num(cells, nan=0.0), 0, _N_CELLS - 1).astype(np.int64)


def _code_extra(extra: Floats, edges: Floats, grid: _Grid) -> Array:
    """Return the bins of the extra vertices."""
    looked_up = np.take_along_axis(grid.cells, _cells_of(extra, grid.origin, grid.scale), axis=1)
    counted = np.sum(edges[:, None, :] < extra[:, :, None], axis=2)
    bins = np.where(grid.scale[:, None] > 0, looked_up, counted)
    return np.where(np.isnan(extra), MISSING, bins).astype(np.uint8)


class Binning(NamedTuple):
    """How values are put into bins, for rows in partitions; see `spexplain.kernels.coding.code_features`."""

    edges: Floats  # shape (n_features, 255)
    origin: Floats
    scale: Floats
    cells: Array
    discrete: Ints  # features of so few values that bins may hold a single one


def binning_of(sample: Floats, max_bins: int) -> Binning:
    """Return quantile bins of a sample of shape (n_features, n_sample)."""
    edges = np.full((len(sample), _N_EDGES), np.inf)
    is_discrete = choose_edges(sample, max_bins, edges)
    return Binning(edges, *grid_over(edges), np.flatnonzero(is_discrete))


def code(X: Matrix, binning: Binning) -> Array:
    """Return the bins of a table, shape (n_features, n_rows)."""
    if not (X.flags.c_contiguous or X.flags.f_contiguous):
        X = np.ascontiguousarray(X)
    codes = np.empty(X.shape[::-1], dtype=np.uint8)
    features = np.arange(X.shape[1])
    code_features(X, features, features, *binning[:4], codes)
    return codes


def limits_of(binning: Binning) -> tuple[Floats, Floats]:
    """Return the least and the greatest number that falls into each bin, shape (n_features, 256).

    Found by bisection over the floats themselves: bins looked up in a grid end where rounding puts the
    limit, not at their edges.
    """
    n_features = len(binning.edges)
    wanted = np.arange(N_CODES - 1)[:, None]
    inside = np.full((N_CODES - 1, n_features), to_place(np.array(-_LARGEST)))
    beyond = np.full(inside.shape, to_place(np.array(_LARGEST)))
    is_all = wanted >= code(to_float(beyond), binning).T
    for _ in range(64):
        middle = (inside & beyond) + ((inside ^ beyond) >> 1)
        fits = wanted >= code(to_float(middle), binning).T
        inside, beyond = np.where(fits, middle, inside), np.where(fits, beyond, middle)
    ends = np.where(is_all, _LARGEST, to_float(inside)).T
    with np.errstate(over="ignore"):
        after = np.nextafter(ends, np.inf)
    low = np.column_stack([np.full(n_features, -_LARGEST), after])
    high = np.column_stack([ends, np.full(n_features, _LARGEST)])
    return np.minimum(low, _LARGEST), high


def to_place(values: Floats) -> Ints:
    """Return the places of floats among all floats in their order."""
    bits = np.asarray(values, dtype=np.float64).view(np.int64)
    return np.asarray(bits ^ (bits >> 63 & np.int64(2**63 - 1)))


def to_float(places: Ints) -> Floats:
    """Return the floats at these places: the inverse of `to_place`."""
    bits = places ^ (places >> 63 & np.int64(2**63 - 1))
    return np.ascontiguousarray(bits).view(np.float64)
