"""What a worker does with its partition of a table: its bins, leaves, sums, and labels.

These functions run on the workers. They keep nothing: a partition can be computed anew wherever its
worker was lost. Sums of floats are taken in exact integers where a tree depends on them.
"""

import warnings
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from spexplain.aliases import Array, Floats, Ints, Matrix
from spexplain.kernels.coding import spread_of_bins
from spexplain.table.base import GroupSums, NodeValues
from spexplain.table.checks import check_finite, first_flaw
from spexplain.table.coding import N_CODES, Binning, code
from spexplain.table.distances import CostName, service_costs
from spexplain.table.host import group_sizes, node_values
from spexplain.table.reference import NOISE, Reference, missing_labels, mixed_labels
from spexplain.tree import Tree

LIMB = 34  # bits of either half of a number: with 2**28 rows a partition, sums fit 63 bits


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


# --- Bins -----------------------------------------------------------------------------------------


def sample_rows(block: Any, place: int, n_wanted: int) -> tuple[list[Matrix], list[int]]:
    """Return some rows of a block, always the same ones for this partition, and how many it has."""
    X = as_matrix(block)
    n_rows = len(X)
    if n_rows > n_wanted:
        X = X[np.sort(np.random.default_rng(place).choice(n_rows, n_wanted, replace=False))]
    # Rows in random order: a partition with fewer rows than others gives the first of them.
    return [np.random.default_rng(place).permutation(X.astype(np.float64))], [n_rows]


def merge_samples(found: list[tuple[list[Matrix], list[int]]]) -> tuple[list[Matrix], list[int]]:
    """Return the samples of several partitions."""
    rows, sizes = zip(*found, strict=True)
    return list(chain.from_iterable(rows)), list(chain.from_iterable(sizes))


def code_part(block: Any, binning: Binning) -> Part:
    """Return a partition in bins."""
    X = as_matrix(block)
    n_features = X.shape[1]
    if n_features != len(binning.edges):
        raise ValueError(
            f"X has partitions of different widths: {len(binning.edges)} and {n_features} columns."
        )
    with np.errstate(over="ignore", invalid="ignore"):
        is_finite = bool(np.isfinite(X.sum(dtype=np.float64)))
    flaw = None if is_finite else first_flaw(X)
    codes = code(X if flaw is None else np.zeros(X.shape), binning)
    low = np.full((len(binning.discrete), N_CODES), np.inf)
    high = np.full((len(binning.discrete), N_CODES), -np.inf)
    for place, feature in enumerate(binning.discrete.tolist()):
        if flaw is None:
            spread_of_bins(X.T, codes, feature, low[place], high[place])
    return Part(codes, low, high, flaw)


def summary_of(part: Part) -> tuple[Any, ...]:
    """Return what the client must know of a partition: rows, first flaw, extremes of its bins."""
    return [part.codes.shape[1]], [part.flaw], part.low, part.high


def merge_summaries(parts: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Return the summary of several partitions."""
    sizes, flaws, lows, highs = zip(*parts, strict=True)
    joined = [list(chain.from_iterable(each)) for each in (sizes, flaws)]
    return *joined, np.min(lows, axis=0), np.max(highs, axis=0)


# --- Rows -----------------------------------------------------------------------------------------


def leaf_of_rows(block: Any, tree: Tree) -> Ints:
    """Return the leaf id of every row of a block."""
    X = as_matrix(block)
    check_finite(X, first_row=None)
    return tree.apply(X)


def values_at_tests(block: Any, columns: list[int], tree: Tree) -> NodeValues:
    """Return which values of a block meet the tests of a tree over some of its columns."""
    return node_values(as_matrix(block)[:, columns], tree)


def merge_values(parts: list[NodeValues]) -> NodeValues:
    """Return which values of several blocks meet the tests of a tree."""
    below, above, lower_below, lower_above, n_missing, present = zip(*parts, strict=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # where no block has a value
        greatest = [np.nanmax(each, axis=0) for each in (below, lower_below)]
        least = [np.nanmin(each, axis=0) for each in (above, lower_above)]
    codes = {node: frozenset().union(*(each[node] for each in present)) for node in present[0]}
    return NodeValues(
        greatest[0], least[0], greatest[1], least[1], np.sum(n_missing, axis=0), codes
    )


def nearest_centers(block: Any, centers: Floats, cost: CostName) -> Ints:
    """Return the nearest centre of every row of a block."""
    return np.asarray(np.argmin(service_costs(as_matrix(block), centers, cost), axis=1))


def sums_of_groups(block: Any, groups: Array, request: tuple[int, Floats]) -> GroupSums:
    """Return the sums over groups of rows, measured from an origin."""
    from spexplain.kernels.groups import sum_groups

    n_groups, origin = request
    X, groups = as_matrix(block), np.asarray(groups, dtype=np.int64)
    sums, squares = np.zeros((n_groups, X.shape[1])), np.zeros(n_groups)
    sum_groups(X, origin, np.zeros(X.shape[1]), groups, sums, squares)
    return GroupSums(group_sizes(groups, n_groups), sums, squares)


def moments_of(block: Any, columns: list[int], origin: Floats) -> tuple[Any, ...]:
    """Return the number of rows, and the sums and squares of some columns, measured from an origin."""
    X = as_matrix(block)[:, columns] - origin
    return np.array([float(len(X))]), X.sum(axis=0), np.sum(X * X, axis=0)


def largest_of(block: Any) -> Floats:
    """Return the largest magnitude of every column."""
    largest: Floats = np.abs(as_matrix(block)).max(axis=0, initial=0.0).astype(np.float64)
    return largest


def merge_largest(parts: list[Floats]) -> Floats:
    """Return the largest magnitudes in several partitions."""
    return np.asarray(np.max(parts, axis=0))


def exact_sums(block: Any, codes: Array, n_clusters: int, exponents: Ints) -> tuple[Any, ...]:
    """Return the rows of each cluster, and their sums in two halves of integers of any size."""
    X = np.ldexp(as_matrix(block).astype(np.float64), LIMB - exponents)
    whole = np.floor(X)
    halves = whole.astype(np.int64), np.rint(np.ldexp(X - whole, LIMB)).astype(np.int64)
    inside = codes >= 0
    found = []
    for half in halves:
        sums = np.zeros((n_clusters, X.shape[1]), dtype=np.int64)
        np.add.at(sums, codes[inside], half[inside])
        found.append(sums.astype(object))
    return np.bincount(codes[inside], minlength=n_clusters).astype(np.int64), *found


# --- Labels ---------------------------------------------------------------------------------------


def classes_of(block: Any) -> list[Array]:
    """Return the distinct labels of a block, and how many are missing."""
    labels = np.asarray(block)
    is_missing = missing_labels(labels)
    known = Reference.from_labels(
        labels[~is_missing], n_samples=int(np.count_nonzero(~is_missing)), noise="cluster"
    )
    return [known.classes, np.array([np.count_nonzero(is_missing)])]


def merge_classes(parts: list[list[Array]]) -> list[Array]:
    """Return the distinct labels of several blocks, and how many are missing."""
    found = [classes for classes, _ in parts if len(classes)]
    n_missing = np.sum([missing for _, missing in parts], axis=0)
    if not found:
        return [parts[0][0], n_missing]
    try:
        return [np.unique(np.concatenate(found)), n_missing]
    except TypeError:
        raise mixed_labels() from None


def encode(block: Array, classes: Array) -> Array:
    """Return labels as places among the classes; -1 for those that are none of them: noise."""
    codes = np.full(len(block), NOISE, dtype=np.int32)
    known = np.flatnonzero(~missing_labels(block))
    if len(classes):
        places = np.minimum(np.searchsorted(classes, block[known]), len(classes) - 1)
        is_class = classes[places] == block[known]
        codes[known[is_class]] = places[is_class]
    return codes
