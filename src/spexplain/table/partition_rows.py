"""What else is asked of the rows of partitions: leaves, sums of groups, centres, costs, classes of labels.

Sums of floats are taken in exact integers where a tree depends on them: centres and costs are the same
for every partitioning.
"""

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from spexplain.aliases import Array, Floats, Ints
from spexplain.graphs.base import to_fixed_point
from spexplain.graphs.centers import CostName, service_costs
from spexplain.table.partition_tasks import as_matrix
from spexplain.table.partitioned import DaskTable
from spexplain.table.workers import add_up
from spexplain.tree import Tree

_LIMB = 34  # bits of either half of a number: with 2**28 rows a partition, sums fit 63 bits


def map_rows(
    table: DaskTable,
    function: Any,
    arguments: tuple[Any, ...],
    dtype: Any,
    width: int | None = None,
) -> Any:
    """Return a function of every block of rows as one lazy Dask array."""
    import dask.array as da

    blocks, _ = table.read(range(len(table.low)))
    workers = table.workers
    held = [workers.hold(argument) for argument in arguments]
    tasks = workers.tasks("rows", function, [(block, *held) for block in blocks])
    more = () if width is None else (width,)
    arrays = [
        da.from_delayed(
            task, (length, *more), dtype=dtype, meta=np.empty((0,) * (1 + len(more)), dtype)
        )
        for task, length in zip(tasks, table.lengths, strict=True)
    ]
    return da.concatenate(arrays)


def leaf_of_rows(block: Any, tree: Tree) -> Ints:
    """Return the leaf id of every row of a block."""
    X = as_matrix(block)
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.isfinite(X.sum(dtype=np.float64)) and not np.isfinite(X).all():
            raise ValueError("X contains NaN or infinity; remove or replace such values.")
    return tree.apply(X)


def take_labels(codes: Array, values: Array) -> Array:
    """Return the value of every code."""
    return values[codes]


class LeafSums(NamedTuple):
    """Rows, summed coordinates and summed squared lengths of every (leaf, cluster), from an origin."""

    counts: Ints  # shape (n_leaves, n_clusters)
    sums: Floats  # shape (n_leaves * n_clusters, n_features)
    squares: Floats


def leaf_sums(
    table: DaskTable, tree: Tree, codes: Any, n_clusters: int, origin: Floats
) -> LeafSums:
    """Return the sums of all rows that belong to a cluster."""
    blocks, _ = table.read(range(len(table.low)))
    held = table.workers.hold((tree, n_clusters, origin))
    pieces = table.part_of_rows(codes, np.int64)
    arguments = [(block, piece, held) for block, piece in zip(blocks, pieces, strict=True)]
    return LeafSums(*table.workers.ask("leaves", _leaf_sums, arguments, _add_tuples))


def _leaf_sums(block: Any, codes: Array, request: tuple[Tree, int, Floats]) -> tuple[Any, ...]:
    from spexplain.kernels.groups import sum_groups

    tree, n_clusters, origin = request
    X = as_matrix(block)
    cells = np.where(codes < 0, -1, tree.apply(X) * n_clusters + codes).astype(np.int64)
    n_cells = tree.n_leaves * n_clusters
    sums, squares = np.zeros((n_cells, X.shape[1])), np.zeros(n_cells)
    sum_groups(X, origin, cells, sums, squares)
    counts = np.bincount(cells[cells >= 0], minlength=n_cells).reshape(tree.n_leaves, n_clusters)
    return counts.astype(np.int64), sums, squares


def _add_tuples(parts: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    return tuple(add_up(list(each)) for each in zip(*parts, strict=True))


def scales_of(table: DaskTable, features: Ints) -> Floats:
    """Return the standard deviations of some columns; NaN elsewhere."""
    scales = np.full(len(table.low), np.nan)
    chosen = np.unique(features).tolist()
    if not chosen:
        return scales
    blocks, places = table.read(chosen)
    columns = [places[column] for column in chosen]
    origin = table.sample[chosen, table.sample.shape[1] // 2]
    arguments = [(block, columns, origin) for block in blocks]
    size, sums, squares = table.workers.ask("scales", _moments, arguments, _add_tuples)
    scales[chosen] = np.sqrt(np.maximum(squares / size - (sums / size) ** 2, 0.0))
    return scales


def _moments(block: Any, columns: list[int], origin: Floats) -> tuple[Any, ...]:
    X = as_matrix(block)[:, columns] - origin
    return np.array([float(len(X))]), X.sum(axis=0), np.sum(X * X, axis=0)


def cluster_means(table: DaskTable, codes: Any, n_clusters: int) -> Floats:
    """Return the mean of every cluster, rounded once: the same for every partitioning."""
    blocks, _ = table.read(range(len(table.low)))
    largest = table.workers.ask("largest", _largest, [(block,) for block in blocks], _maximum)
    exponents = np.frexp(largest)[1].astype(np.int64)
    pieces = table.part_of_rows(codes, np.int64)
    arguments = [
        (block, piece, n_clusters, exponents) for block, piece in zip(blocks, pieces, strict=True)
    ]
    # Python's integers hold sums of any size.
    counts, high, low = table.workers.ask("means", _limbs, arguments, _add_tuples)
    means = np.full((n_clusters, len(exponents)), np.nan)
    for cluster, feature in np.ndindex(means.shape):
        if counts[cluster]:
            total = (int(high[cluster, feature]) << _LIMB) + int(low[cluster, feature])
            scale = Fraction(2) ** int(exponents[feature] - 2 * _LIMB)
            means[cluster, feature] = float(total * scale / int(counts[cluster]))
    return means


def _largest(block: Any) -> Floats:
    largest: Floats = np.abs(as_matrix(block)).max(axis=0, initial=0.0).astype(np.float64)
    return largest


def _maximum(parts: list[Floats]) -> Floats:
    return np.asarray(np.max(parts, axis=0))


def _limbs(block: Any, codes: Array, n_clusters: int, exponents: Ints) -> tuple[Any, ...]:
    """Return the rows of each cluster, and their sums in two halves of integers."""
    X = np.ldexp(as_matrix(block).astype(np.float64), _LIMB - exponents)
    whole = np.floor(X)
    halves = whole.astype(np.int64), np.rint(np.ldexp(X - whole, _LIMB)).astype(np.int64)
    inside = codes >= 0
    found = []
    for half in halves:
        sums = np.zeros((n_clusters, X.shape[1]), dtype=np.int64)
        np.add.at(sums, codes[inside], half[inside])
        found.append(sums.astype(object))
    return np.bincount(codes[inside], minlength=n_clusters).astype(np.int64), *found


def fixed_costs(table: DaskTable, centers: Floats, cost: CostName) -> tuple[Any, float]:
    """Return what it costs to serve each row from each centre, in lazy fixed-point integers, and their unit."""
    blocks, _ = table.read(range(len(table.low)))
    held = table.workers.hold((centers, cost))
    arguments = [(block, held) for block in blocks]
    totals, n_fractions = table.workers.ask("costs", _cost_totals, arguments, _add_tuples)
    # One number that stands for all: whole numbers stay as they are, others are scaled alike.
    total, is_whole = float(totals.max()), not int(n_fractions[0])
    probe = np.array([1.0 if is_whole else 0.5])
    _, unit = to_fixed_point(probe, total)
    request = centers, cost, total, is_whole
    return map_rows(table, _fixed, (request,), np.int64, len(centers)), unit


def _cost_totals(block: Any, request: tuple[Floats, CostName]) -> tuple[Floats, Ints]:
    costs = service_costs(as_matrix(block), *request)
    return costs.sum(axis=0), np.array([np.count_nonzero(costs != np.floor(costs))])


def _fixed(block: Any, request: tuple[Floats, CostName, float, bool]) -> Ints:
    centers, cost, total, is_whole = request
    costs = service_costs(as_matrix(block), centers, cost)
    # A partition of whole numbers must be scaled like all others.
    probe = np.full((1, len(centers)), 1.0 if is_whole else 0.5)
    return to_fixed_point(np.concatenate([costs, probe]), total)[0][:-1]


def nearest_centers(block: Any, centers: Floats, cost: CostName) -> Ints:
    """Return the nearest centre of every row of a block."""
    return np.asarray(np.argmin(service_costs(as_matrix(block), centers, cost), axis=1))
