"""Fits that keep parts of an earlier tree: the parameter `start`."""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from spexplain.aliases import Floats, Ints
from spexplain.explanation import Explanation, FittedModel, Training
from spexplain.explanation.explanation import majority_codes
from spexplain.table.base import Table
from spexplain.table.checks import rows_differ
from spexplain.table.reference import Reference
from spexplain.table.sparse import entries_differ
from spexplain.table.storage import is_sparse
from spexplain.tree import LEAF, Column, Test, Tree
from spexplain.tree.reshaping import Reshaped, reshaped

if TYPE_CHECKING:
    from spexplain.estimators.base import Explainer


class Kept(NamedTuple):
    """What an earlier explanation asks of a new tree."""

    tree: Tree  # the locked tests, over the columns of the new table
    shape: Reshaped  # where they come from
    closed: frozenset[int]  # leaves that are not split any further
    forbidden: dict[int, frozenset[int]]  # columns that tests below a node may not use


class _Region(NamedTuple):
    """A leaf of the locked tests, and the trees of 1, 2, ... leaves that fit its rows."""

    node: int
    trees: list[Tree]
    values: list[float]  # the more, the better


def check_start(start: Any) -> Explanation:
    """Return the explanation that a fit starts from."""
    found = getattr(start, "explanation_", start) if isinstance(start, FittedModel) else start
    if not isinstance(found, Explanation):
        raise ValueError(
            f"start={type(start).__name__} must be an explanation with locked nodes, or a fitted model that holds one."
        )
    return found


def kept_part(start: Explanation, table: Table) -> Kept:
    """Return the locked tests of an explanation for another table, whose columns are found by name."""
    inner = set(np.flatnonzero(start.tree.feature != LEAF).tolist())
    shape = reshaped(start.tree, cut_off=inner - start.locked)
    places = _places(start, table)
    tests = {
        node: _translated(test, start.fields[test.feature], table, places)
        for node, test in shape.tree.tests.items()
    }
    tree = shape.tree.retested(tests, n_features=table.shape[1])
    leaves = set(start.tree.leaves.tolist()) & start.locked
    forbidden = {
        shape.homes[node]: frozenset(places[each] for each in columns if each in places)
        for node, columns in start.forbidden.items()
        if node in shape.homes
    }
    return Kept(tree, shape, shape.moved(leaves), forbidden)


def _places(start: Explanation, table: Table) -> dict[int, int]:
    """Return the number of every column of an explanation in a table."""
    names = [column.name for column in table.columns]
    if start.columns is None:
        if start.tree.n_features != len(names):
            raise ValueError(
                f"start is about {start.tree.n_features} columns without names, but X has {len(names)}."
            )
        return {each: each for each in range(len(names))}
    place_of = {name: place for place, name in enumerate(names)}
    return {at: place_of[name] for at, name in enumerate(start.names) if name in place_of}


def _translated(test: Test, column: Column, table: Table, places: dict[int, int]) -> Test:
    """Return a locked test for a table whose categories may have other codes."""
    if test.feature not in places:
        raise ValueError(f"start has a locked test of column {column.name!r}, which X lacks.")
    place = places[test.feature]
    own = table.columns[place]
    if (column.kind == "category") != (own.kind == "category"):
        raise ValueError(
            f"start has a locked test of column {column.name!r} as a {column.kind}, which is a {own.kind} in X."
        )
    if test.values is None and column.kind != "category":
        return replace(test, feature=place)
    region = test.region()
    inside = {column.categories[code] for code in region.codes(len(column.categories))}
    known = set(column.categories)
    # What was never seen goes where missing values go.
    codes = tuple(
        code
        for code, value in enumerate(own.categories)
        if value in inside or (region.missing and value not in known)
    )
    return Test(place, missing=region.missing, values=codes)


def fitted_from(
    estimator: "Explainer",
    X: Any,
    table: Table,
    reference: Reference | None,
    weights: Floats | None,
    columns: Ints,
    n_leaves: int,
    about: Mapping[str, Any],
) -> Explanation:
    """Return the explanation of a tree that begins with the locked tests of another.

    The rows of every leaf of these tests are explained by a copy of the estimator. Leaves are shared out so
    that most rows are right; without clusters, so that the objective is lowest.
    """
    if table.engine is not None:
        raise ValueError(
            "start= needs the whole table in memory; pass a NumPy array or a data frame."
        )
    if reference is not None and reference.memberships is not None:
        raise ValueError("start= needs a label for every row; y holds memberships.")
    start = check_start(estimator.start)
    kept = kept_part(start, table)
    leaves = np.asarray(table.leaves(kept.tree))
    if len(np.unique(leaves)) < kept.tree.n_leaves:
        raise ValueError(
            "A locked test of start has no rows of X on one of its sides; unlock it first."
        )
    total = max(n_leaves, kept.tree.n_leaves)
    regions = []
    for leaf, node in enumerate(kept.tree.leaves.tolist()):
        rows = np.flatnonzero(leaves == leaf)
        most = 1 if node in kept.closed else total - kept.tree.n_leaves + 1
        regions.append(
            _region(estimator, kept, node, rows, X, table, reference, weights, columns, most)
        )
    sizes = _leaves_of_regions([each.values for each in regions], total)
    grafts = {
        each.node: each.trees[size - 1]
        for each, size in zip(regions, sizes, strict=True)
        if size > 1
    }
    whole = reshaped(kept.tree, grafts=grafts)
    training = Training(
        reference=reference,
        table=table,
        weights=weights,
        columns=columns,
        min_samples_leaf=estimator.min_samples_leaf,
        n_jobs=estimator.n_jobs,
    )
    found = Explanation.of(
        whole.tree, table, reference, weights=weights, training=training, **about
    )
    if reference is not None:
        balanced = getattr(estimator, "goal", None) == "balanced"
        counts = (
            found.node_counts / np.maximum(found.node_counts[0], 1)
            if balanced
            else found.node_counts
        )
        found = found.with_codes(majority_codes(counts))
    held = set(np.flatnonzero(kept.tree.feature != LEAF).tolist()) | kept.closed
    return replace(
        found,
        locked=frozenset(whole.homes[node] for node in held | ({0} if held else set())),
        forbidden={whole.homes[node]: each for node, each in kept.forbidden.items()},
    )


def _region(
    estimator: "Explainer",
    kept: Kept,
    node: int,
    rows: Ints,
    X: Any,
    table: Table,
    reference: Reference | None,
    weights: Floats | None,
    columns: Ints,
    most: int,
) -> _Region:
    """Return the trees for the rows of a leaf of the locked tests."""
    alone = [Tree.root(n_features=table.shape[1], size=0)]
    value = 0.0
    codes = None if reference is None else reference.codes[rows]
    mass = np.ones(len(rows)) if weights is None else weights[rows]
    if codes is not None and (codes >= 0).any():
        value = float(np.bincount(codes[codes >= 0], mass[codes >= 0]).max())
    barred: set[int] = set()
    at, depth = node, int(kept.tree.node_depths[node])
    while at >= 0:
        barred |= kept.forbidden.get(at, frozenset())
        at = int(kept.tree.parents[at]) if at else -1
    allowed = [each for each in columns.tolist() if each not in barred]
    is_full = estimator.max_depth is not None and depth >= estimator.max_depth
    counted = mass > 0
    is_pure = codes is not None and len(np.unique(codes[(codes >= 0) & counted])) < 2
    is_done = is_full or is_pure or not allowed or not _differ(table.take(rows[counted]))
    if most < 2 or is_done:
        return _Region(node, alone, [value])
    own = clone(estimator).set_params(start=None, n_leaves=most)
    if not isinstance(estimator.features, str):
        own.set_params(features=allowed)
    if estimator.max_depth is not None:
        own.set_params(max_depth=estimator.max_depth - depth)
    if (
        isinstance(estimator.cluster_weight, Mapping)
        and reference is not None
        and codes is not None
    ):
        here = set(reference.classes[np.unique(codes[codes >= 0])].tolist())
        own.set_params(
            cluster_weight={each: w for each, w in estimator.cluster_weight.items() if each in here}
        )
    labels = None if reference is None else reference.labels[rows]
    given = {} if weights is None else {"sample_weight": weights[rows]}
    for name in ("graph", "against"):  # adjacencies of all rows
        graph: Any = getattr(estimator, name, None)
        if hasattr(graph, "shape"):
            own.set_params(**{name: sparse.csr_array(graph)[rows][:, rows]})
    with warnings.catch_warnings():  # what is to be said of the whole tree is said at the end
        warnings.simplefilter("ignore")
        own.fit(_safe_indexing(X, rows), labels, **given)
    explained = own.explanation_
    n_clustered = float(mass.sum() if codes is None else mass[codes >= 0].sum())
    trees, values = [], []
    for size in range(1, explained.tree.n_leaves + 1):
        smaller = explained.truncate(size)
        step = smaller.step
        trees.append(_on_table(smaller, table))
        values.append(-step.objective if reference is None else step.fidelity * n_clustered)
    return _Region(node, trees, values)


def _differ(table: Table) -> bool:
    """Whether some rows of a table differ."""
    if len(table) < 2:
        return False
    return bool((entries_differ if is_sparse(table.values) else rows_differ)(table.values))


def _on_table(explained: Explanation, table: Table) -> Tree:
    """Return a tree of some rows in the codes of the whole table."""
    same = {each: each for each in range(table.shape[1])}
    fields = explained.fields
    tests = {
        node: _translated(test, fields[test.feature], table, same)
        for node, test in explained.tree.tests.items()
    }
    return explained.tree.retested(tests)


def _leaves_of_regions(values: list[list[float]], total: int) -> list[int]:
    """Return how many leaves every region gets: as many as there are in all, for the highest sum of values.

    Examples
    --------
    >>> from spexplain.estimators.starting import _leaves_of_regions
    >>> _leaves_of_regions([[5.0, 6.0, 9.0], [1.0, 3.0]], 4)
    [3, 1]
    """
    best: dict[int, tuple[float, list[int]]] = {0: (0.0, [])}
    for options in values:
        found: dict[int, tuple[float, list[int]]] = {}
        for used, (value, sizes) in best.items():
            for size, more in enumerate(options, 1):
                better = value + more
                if used + size not in found or better > found[used + size][0]:
                    found[used + size] = better, [*sizes, size]
        best = found
    return best[max(n for n in best if n <= max(total, len(values)))][1]
