"""Bins for all partitions: quantiles of a sample, and exactly which values each bin takes."""

from typing import NamedTuple

import numpy as np

from spexplain.aliases import Array, Floats, Ints, Matrix
from spexplain.kernels.coding import code_features
from spexplain.table.coding import choose_edges, grid_over

N_CODES = 256
_LARGEST = np.finfo(np.float64).max


class Binning(NamedTuple):
    """How values become bins; see `spexplain.kernels.coding.code_features`."""

    edges: Floats  # shape (n_features, 255)
    origin: Floats
    scale: Floats
    cells: Array
    discrete: Ints  # features of so few values that bins may hold a single one


def binning_of(sample: Floats, max_bins: int) -> Binning:
    """Return quantile bins of a sample of shape (n_features, n_sample)."""
    edges = np.full((len(sample), N_CODES - 1), np.inf)
    is_discrete = choose_edges(sample, max_bins, edges)
    return Binning(edges, *grid_over(edges), np.flatnonzero(is_discrete))


def code(X: Matrix, binning: Binning) -> Array:
    """Return the bins of a table, shape (n_features, n_rows)."""
    if not (X.flags.c_contiguous or X.flags.f_contiguous):
        X = np.ascontiguousarray(X)
    codes = np.empty(X.shape[::-1], dtype=np.uint8)
    code_features(X.T, 0, X.shape[1], *binning[:4], codes)
    return codes


def limits_of(binning: Binning) -> tuple[Floats, Floats]:
    """Return the least and the greatest number that each bin takes, shape (n_features, 256).

    Found by bisection over the floats themselves: bins that are looked up in a grid end where rounding
    has it, not at their edges.
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
