"""The best cut of a node on another feature than that of its test."""

from typing import NamedTuple

import numpy as np

from spexplain.aliases import Ints, Matrix
from spexplain.engines.exhaustive import NumpyEngine, NumpySearch, SortedNode
from spexplain.objectives import Objective, on_columns
from spexplain.records import Cut
from spexplain.table.storage import is_sparse
from spexplain.tree import LEAF, Tree
from spexplain.tree.column import roundest


class RunnerUp(NamedTuple):
    """The best cut of a node on another feature, and the score of its own test."""

    cut: Cut
    own_score: float  # NaN if the formula does not admit the test
    objective: str


def runner_ups(
    tree: Tree,
    X: Matrix,
    objective: Objective,
    *,
    columns: Ints | None = None,
    min_samples_leaf: int = 1,
    n_jobs: int | None = None,
) -> dict[int, RunnerUp]:
    """Return the best cut on a different feature of every inner node that has one.

    Parameters
    ----------
    tree : Tree
        The tree.
    X : array of shape (n_samples, n_features)
        The training rows.
    objective : Objective
        What the tree was grown for. One that starts with another tree's objective is asked where
        the first knows no cut.
    columns : array of int, optional
        Columns that cuts may use; all by default.
    min_samples_leaf, n_jobs
        As in the estimators.

    Returns
    -------
    runner_ups : dict
        By node number. The search is exhaustive: O(n_features · n · depth) beyond one sort. Empty
        for sparse rows, for missing values, and where the tree tests categories.

    Raises
    ------
    TypeError
        For graphs whose nodes only their own search can split, as those of kernel methods.
    """
    if is_sparse(X) or tree.values or np.isnan(X).any():
        return {}
    if columns is None:
        columns = np.arange(tree.n_features)
    table = np.ascontiguousarray(X[:, columns])
    place = {int(column): at for at, column in enumerate(columns)}
    chain = [objective] if objective.start is None else [objective.start, objective]
    engine = NumpyEngine(n_jobs)
    found: dict[int, RunnerUp] = {}
    for each in chain:
        search = engine.bind(table, on_columns(each, columns), min_samples_leaf=min_samples_leaf)
        nodes = {0: search.root()}
        for node in np.flatnonzero(tree.feature != LEAF).tolist():  # parents come first
            rows = nodes.pop(node)
            test = _test_of(tree, node, place)
            nodes[int(tree.left[node])], nodes[int(tree.right[node])] = search.split(rows, test)
            if node in found:
                continue
            cut = _best_without(search, rows, test.feature)
            if cut is not None:
                own = _score(search, rows, test)
                said = cut._replace(
                    feature=int(columns[cut.feature]), threshold=_rounder(search, rows, cut)
                )
                found[node] = RunnerUp(said, own, each.name)
    return found


def _test_of(tree: Tree, node: int, place: dict[int, int]) -> Cut:
    feature = place[int(tree.feature[node])]
    test = tree.test(node)
    return Cut(feature, test.upper, np.nan, np.nan, test.lower, test.missing, test.values)


def _rounder(search: NumpySearch, rows: SortedNode, cut: Cut) -> float:
    """Return the roundest threshold that parts the rows as a cut does, as tests have it."""
    values = search.columns[cut.feature, rows.order[cut.feature]]
    first = int(np.searchsorted(values, cut.threshold, side="right"))
    if not 0 < first < len(values):
        return cut.threshold
    return roundest(float(values[first - 1]), float(values[first]))


def _best_without(search: NumpySearch, rows: SortedNode, feature: int) -> Cut | None:
    """Return the best cut of a node on other features."""
    values = search.columns[feature].copy()
    search.columns[feature] = 0.0  # a constant column has no cut
    try:
        return search.best_cuts([rows])[0]
    finally:
        search.columns[feature] = values


def _score(search: NumpySearch, rows: SortedNode, test: Cut) -> float:
    """Return the score of a given cut, NaN where it is undefined."""
    node = search.ledger.node(rows.state, rows.members)
    order = rows.order[[test.feature]]
    if np.isfinite(test.lower):
        parts = search.split(rows, test)
        left, right = (search.ledger.node(each.state, each.members) for each in parts)
    else:
        # The sums of all gaps, not of the parts: some formulas look at the tests above the node.
        left, right = search.ledger.sorted_sides(rows.state, node, order, np.array([test.feature]))
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = np.ravel(search.objective.score(left, right, node))
    if np.isfinite(test.lower):
        return float(scores[0])
    n_left = int(np.count_nonzero(search.columns[test.feature, order] <= test.threshold))
    return float(scores[n_left - 1]) if 0 < n_left < order.size else np.nan
