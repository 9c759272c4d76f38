"""Tests as people would write them: the roundest threshold in the gap, and a side for missing values."""

from dataclasses import replace
from math import isnan
from typing import NamedTuple

import numpy as np

from spexplain.aliases import Floats, Ints
from spexplain.table.base import NodeValues, Table
from spexplain.tree import Column, Test, Tree


class RoundedTest(NamedTuple):
    """A test whose threshold was moved out of the gap between training values to a rounder number.

    Attributes
    ----------
    node : int
        The node that asks it.
    exact, rounded : str
        The test in words, with a threshold in the gap and as it is.
    n_changed : int
        Training rows that changed sides.
    """

    node: int
    exact: str  # the test in words, with a threshold in the gap
    rounded: str  # the test in words, as it is
    n_changed: int  # training rows that changed sides


def settled(
    tree: Tree,
    table: Table,
    around: NodeValues | None = None,
    weights: Floats | None = None,
) -> Tree:
    """Return the tree with its final tests, as stored, applied and printed; no training row changes its leaf.

    A threshold becomes the roundest value between its neighbouring training values. If no training row
    of a node has a missing value, missing values go to the larger side; so do categories that no row has.

    Parameters
    ----------
    tree : Tree
        A tree over the columns of the table.
    table : Table
        The training rows.
    around : NodeValues, optional
        The result of `table.node_values` for the tree, if it is known.
    weights : array of shape (n_rows,), optional
        Weights of the rows, to find the larger of two sides.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain.table.host import HostTable
    >>> from spexplain.table.rounding import settled
    >>> from spexplain.tree import Tree
    >>> table = HostTable(np.array([[18.2], [31.7], [44.0]]))
    >>> tree = Tree.root(n_features=1, size=3).split(0, feature=0, threshold=24.95, sizes=(1, 2))
    >>> float(settled(tree, table).threshold[0])
    20.0
    """
    around = table.node_values(tree) if around is None else around
    columns = table.columns
    sizes = tree.size
    if weights is not None:
        leaves = np.asarray(table.fetch(table.leaves(tree)))
        sizes = tree.totals(np.bincount(leaves, weights, minlength=tree.n_leaves))
    is_left_larger = sizes[tree.left] >= sizes[tree.right]
    return tree.retested(
        {
            node: _settled_test(
                test, node, around, columns[test.feature], is_left_larger=bool(is_left_larger[node])
            )
            for node, test in tree.tests.items()
        }
    )


def _settled_test(
    test: Test, node: int, around: NodeValues, column: Column, *, is_left_larger: bool
) -> Test:
    missing = test.missing if around.n_missing[node] else is_left_larger
    if test.values is not None:
        codes = test.values
        if is_left_larger:  # categories that no row of the node has
            absent = set(range(len(column.categories))) - around.present[node]
            codes = tuple(sorted({*codes, *absent}))
        return replace(test, missing=missing, values=codes)
    below, above = float(around.below[node]), float(around.above[node])
    lower, upper = test.lower, test.upper
    if lower > -np.inf and not np.isnan(around.lower_below[node]):
        lower = column.between(float(around.lower_below[node]), float(around.lower_above[node]))
    if not (isnan(below) or isnan(above)):
        upper = column.between(below, above)
    elif around.n_missing[node] and lower == -np.inf and missing == isnan(below):
        # The test only separates missing values from others.
        upper = -np.inf if missing else np.inf
    if not lower < upper and upper > -np.inf:  # the bounds of an interval may round to one number
        lower, upper = test.lower, test.upper
    return replace(test, lower=lower, upper=upper, missing=missing)


def rounded(
    tree: Tree, table: Table, tolerance: float, least: int
) -> tuple[Tree, list[RoundedTest]]:
    """Return the tree with rounder thresholds, for which a few training rows may change sides.

    Parameters
    ----------
    tree : Tree
        A tree over the columns of the table.
    table : Table
        The training rows, on the host.
    tolerance : float
        Share of all rows that may change sides at one test.
    least : int
        Rows that every side, and every leaf below it, must keep.

    Returns
    -------
    tree : Tree
        Without sizes and values of the new tests.
    changes : list of RoundedTest
        The tests that left their gap, parents first.
    """
    n_most = int(tolerance * len(table))
    changes = []
    members: dict[int, Ints] = {0: np.arange(len(table))}
    fewest = np.minimum(_leaf_sizes(tree, table), max(1, least))
    for node, test in tree.tests.items():
        rows, column = members.pop(node), table.columns[test.feature]
        x = table.select([test.feature]).to_host("round_to", "use round_to=None")[rows, 0]
        x = x.astype(np.float64, copy=False)
        found = test
        if test.values is None and test.lower == -np.inf and np.isfinite(test.upper):
            found = _rounder(test, column, x, n_most, max(1, least))
        before, after = test.passes(x), found.passes(x)
        changed = tree.retested({node: found})
        if (before != after).any() and (_leaf_sizes(changed, table) < fewest).any():
            found, after, changed = test, before, tree  # a leaf below would be left with too few
        tree = changed
        if n_changed := int(np.count_nonzero(before != after)):
            changes.append(RoundedTest(node, test.text(column), found.text(column), n_changed))
        members[int(tree.left[node])], members[int(tree.right[node])] = rows[after], rows[~after]
    return tree, changes


def _leaf_sizes(tree: Tree, table: Table) -> Ints:
    return np.bincount(table.leaves(tree), minlength=tree.n_leaves)


def _rounder(test: Test, column: Column, x: Floats, n_most: int, least: int) -> Test:
    """Return a test with the roundest threshold for which at most `n_most` rows change sides."""
    ordered = np.sort(x[~np.isnan(x)])
    n_left = int(np.searchsorted(ordered, test.upper, side="right"))
    n_missing = len(x) - len(ordered)
    missing_left = n_missing if test.missing else 0
    first = max(n_left - n_most, 1, least - missing_left)
    last = min(n_left + n_most, len(ordered) - max(1, least - (n_missing - missing_left)))
    if not first <= n_left <= last:
        return test
    # Between the first value that must stay and the last that may change sides.
    threshold = column.between(float(ordered[first - 1]), float(ordered[last]))
    is_rounder = column.effort(threshold) < column.effort(test.upper)
    return replace(test, upper=threshold) if is_rounder else test
