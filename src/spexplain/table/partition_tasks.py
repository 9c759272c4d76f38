"""What a worker does with its partition: bins, sides of splits, histograms.

These functions run on the workers. They keep nothing: the rows of a node follow from the sides of the
splits above it, so that a partition can be computed anew wherever its worker was lost.
"""

from collections.abc import Mapping
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from spexplain.aliases import Array, Floats, Matrix
from spexplain.kernels.coding import spread_of_bins
from spexplain.records import Cut
from spexplain.table.partition_coding import N_CODES, Binning, code

Path = tuple[tuple[int, bool], ...]  # splits above a node, and whether it lies on their left


class Part(NamedTuple):
    """A partition in bins, with the least and the greatest value of each bin of discrete features."""

    codes: Array  # uint8, shape (n_features, n_rows)
    low: Floats  # shape (n_discrete, 256)
    high: Floats
    flaw: tuple[int, int] | None  # the first row and column that hold no finite number


def as_matrix(block: Any) -> Matrix:
    """Return a block of rows, an array or a data frame, as floats."""
    values = block.to_numpy() if hasattr(block, "to_numpy") else np.asarray(block)
    if values.ndim != 2:
        raise ValueError(f"X must be a table, but a partition has the shape {values.shape}.")
    if values.dtype == np.float32:
        return np.asarray(values)
    try:
        return values.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"X holds text or other things than numbers ({error}); encode such columns as numbers or "
            "leave them out."
        ) from None


def sample_rows(block: Any, place: int, n_wanted: int) -> tuple[Matrix, int]:
    """Return some rows of a block, always the same ones for this partition, and how many it has."""
    X = as_matrix(block)
    if len(X) > n_wanted:
        picked = np.random.default_rng(place).choice(len(X), n_wanted, replace=False)
        return X[np.sort(picked)].astype(np.float64), len(X)
    return X.astype(np.float64), len(X)


def code_part(block: Any, binning: Binning) -> Part:
    """Return a partition in bins."""
    X = as_matrix(block)
    n_features = X.shape[1]
    if n_features != len(binning.edges):
        raise ValueError(
            f"X has partitions of different widths: {len(binning.edges)} and {n_features} columns."
        )
    flaw = _flaw(X)
    codes = code(X if flaw is None else np.zeros(X.shape), binning)
    low = np.full((len(binning.discrete), N_CODES), np.inf)
    high = np.full((len(binning.discrete), N_CODES), -np.inf)
    for place, feature in enumerate(binning.discrete.tolist()):
        if flaw is None:
            spread_of_bins(X.T, codes, feature, low[place], high[place])
    return Part(codes, low, high, flaw)


def _flaw(X: Matrix) -> tuple[int, int] | None:
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(X.sum(dtype=np.float64)):
            return None
    rows, columns = np.nonzero(~np.isfinite(X))
    return (int(rows[0]), int(columns[0])) if len(rows) else None


def summary_of(part: Part) -> tuple[Any, ...]:
    """Return what the client must know of a partition: rows, first flaw, extremes of its bins."""
    return [part.codes.shape[1]], [part.flaw], part.low, part.high


def merge_summaries(parts: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Return the summary of several partitions."""
    sizes, flaws, lows, highs = zip(*parts, strict=True)
    joined = [list(chain.from_iterable(each)) for each in (sizes, flaws)]
    return *joined, np.min(lows, axis=0), np.max(highs, axis=0)


def side_of(block: Any, column: int, cut: Cut) -> Array:
    """Return which rows lie left of a cut, eight to a byte."""
    x = as_matrix(block)[:, column].astype(np.float64, copy=False)
    return np.packbits((cut.lower < x) & (x <= cut.threshold))


def side_of_codes(part: Part, feature: int, last_code: int) -> Array:
    """Return which rows lie in bins up to the last one of the left side, eight to a byte."""
    return np.packbits(part.codes[feature] <= last_code)


def rows_of(n_rows: int, path: Path, sides: Mapping[int, Array]) -> Array:
    """Return the rows of a partition that lie in a node."""
    if not path:
        return np.arange(n_rows, dtype=np.int32)
    inside: Any = None
    for split, is_left in path:
        here = sides[split] if is_left else ~sides[split]
        inside = here if inside is None else inside & here
    return np.flatnonzero(np.unpackbits(inside, count=n_rows).view(np.bool_)).astype(np.int32)


def histograms_of(
    part: Part, marks: Array, sides: Mapping[int, Array], request: tuple[Any, ...]
) -> Array:
    """Return the cells of all bins, shape (n_nodes, n_features, n_bins, width)."""
    tally, features, shift, paths = request
    codes = part.codes if features is None else part.codes[features]
    shape = len(paths), len(codes), (N_CODES - 1 >> shift) + 1, tally.width
    found = np.zeros(shape, dtype=tally.dtype)
    for place, path in enumerate(paths):
        rows = rows_of(codes.shape[1], path, sides)
        if len(rows):
            tally.histograms(codes, shift, rows, marks, found[place])
    return found


def totals_of(
    part: Part, marks: Array, sides: Mapping[int, Array], request: tuple[Any, ...]
) -> Array:
    """Return the cells of whole nodes, shape (n_nodes, width)."""
    tally, paths = request
    found = np.zeros((len(paths), tally.width), dtype=np.int64)
    for place, path in enumerate(paths):
        rows = rows_of(part.codes.shape[1], path, sides)
        found[place] = tally.cells(np.zeros(len(rows), dtype=np.int64), rows, marks, 1)[0]
    return found
