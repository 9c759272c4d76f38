"""Local search after growth: re-optimise the cut of one inner node while both subtrees stay."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from spexplain.aliases import Floats, Ints, Matrix
from spexplain.arguments import check_choice
from spexplain.ledgers import ledger_of
from spexplain.metrics.agreement import whole_counts
from spexplain.objectives import Objective, spex
from spexplain.records import Cut
from spexplain.refine.goals import AgreementGoal, CostGoal, ObjectiveGoal, RightGoal, cliques
from spexplain.refine.moves import check_walk
from spexplain.refine.routes import Routes
from spexplain.refine.rows import NodeRows, sorted_table
from spexplain.refine.scores import AIMS, COUNTING_GOALS, AimName, CostScore, LeafScore
from spexplain.table.sparse import dense
from spexplain.threads import Threads, count_threads
from spexplain.tree import LEAF, Test, Tree

# Values of a table from which on bins spare more sorting than they cost; both ways are compiled.
_MANY_VALUES = 400_000


class Goal(Protocol):
    """What refinement improves."""

    def proposal(self, node: int, table: Any, start: int, stop: int) -> Test | None:
        """Return the node's best other cut, or None if none seems better."""

    def accept(self) -> bool:
        """Score the tree anew after a change; say whether it is strictly better, and remember it then."""


def refine(
    tree: Tree,
    X: Matrix,
    objective: Objective,
    *,
    goal: AimName = "objective",
    labels: Ints | None = None,
    sample_weight: Floats | None = None,
    points: Matrix | None = None,
    passes: int | None = None,
    min_samples_leaf: int = 1,
    n_jobs: int | None = None,
) -> Tree:
    """Return the tree with better cuts: same shape, same number of leaves, never worse.

    The inner nodes are visited from the root down, left before right. A node's cut is replaced by
    the best other cut, while the subtrees below stay as they are, if that strictly improves the
    tree; equal cuts resolve to the lowest feature, then the lowest threshold. Passes are made until
    one changes nothing. No leaf falls below `min_samples_leaf` rows (or its own rows, if it had
    fewer). One visit costs O(rows) a feature.

    Parameters
    ----------
    tree : Tree
        The tree to start from, over the columns of `X`.
    X : array of shape (n_samples, n_features)
        The table that the tree was grown on.
    objective : Objective
        What the scores and values of the returned tree mean, and what ``goal="objective"`` lowers:
        the sum of the leaves' values. With centres as extra vertices, only cuts that leave every
        centre in its leaf are looked at.
    goal : {"objective", "fidelity", "balanced", "agreement", "cost", "conductance"}, default="objective"
        Lower the objective; raise the rows in leaves that stand for their cluster, the mean recall of the
        clusters, or the adjusted Rand index between leaves and `labels`; lower the k-means cost of the
        leaves, or their conductances in the graph of the cliques of `labels`.
    labels : array of int, shape (n_samples,), optional
        Reference clusters 0..k-1, for all goals but the objective; rows with -1 do not count.
    sample_weight : array of shape (n_samples,), optional
        Weights of the rows, for the same goals: one of weight w counts as w rows. An objective has
        them in its graph.
    points : array of shape (n_samples, d), optional
        The rows as points, for ``goal="cost"``; by default those of `X`.
    passes : int, optional
        Most passes over the tree; by default as many as change something.
    min_samples_leaf : int, default=1
        Fewest rows in a leaf.
    n_jobs : int, optional
        Number of threads; None means 1, -1 all processors. The tree does not depend on it.

    Returns
    -------
    tree : Tree
        Sizes, scores and values are those of the new cuts: the score is what the objective's
        formula says of a node's cut, which growth would have minimised.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain.graphs import CliqueGraph
    >>> from spexplain.objectives import spex
    >>> from spexplain.refine import refine
    >>> from spexplain.tree import Tree
    >>> X = np.array([[0.0], [1.0], [2.0], [7.0], [8.0]])
    >>> labels = np.array([0, 0, 0, 1, 1])
    >>> poor = Tree.root(n_features=1, size=5).split(0, feature=0, threshold=0.5)
    >>> better = refine(poor, X, spex(CliqueGraph.from_labels(labels)))
    >>> better.threshold[:1].tolist(), better.size.tolist(), better.value.tolist()
    ([4.5], [5, 3, 2], [0.0, 0.0, 0.0])
    """
    check_choice("goal", goal, AIMS)
    if labels is None and goal not in ("objective", "cost"):
        raise ValueError(f'goal="{goal}" needs labels to compare with.')
    if labels is None:
        labels = np.zeros(X.shape[0], dtype=np.int64)
    if goal == "objective":
        check_walk(ledger_of(objective.graph))  # also where there is nothing to refine
    extra = objective.graph.extra if goal == "objective" else None
    amounts = None if sample_weight is None else whole_counts(sample_weight)
    if tree.n_leaves > 1 and (passes is None or passes > 0):
        in_bins = goal == "agreement" and amounts is None and X.size >= _MANY_VALUES
        needs_zeros = goal not in COUNTING_GOALS
        with _parted(X, extra, n_jobs, in_bins=in_bins, needs_zeros=needs_zeros) as table:
            routes = Routes(tree, table.columns)
            codes = np.asarray(labels, dtype=np.int64)
            where = X if points is None else points
            aim = _goal(goal, objective, codes, amounts, where, routes, min_samples_leaf)
            improve(routes, table, aim, passes)
            tree = retested(tree, routes)
    return revalued(tree, X, objective)


@contextmanager
def _parted(
    X: Matrix, extra: Matrix | None, n_jobs: int | None, *, in_bins: bool, needs_zeros: bool
) -> Iterator[NodeRows]:
    """Give the rows of a table, sorted or in bins."""
    if in_bins:
        from spexplain.refine.binned_rows import BinnedRows

        with Threads(count_threads(n_jobs)) as threads:
            yield BinnedRows(X, threads)
        return
    with sorted_table(X, extra, n_jobs, needs_zeros=needs_zeros) as orders:
        yield orders


def _goal(
    goal: AimName,
    objective: Objective,
    codes: Ints,
    amounts: Ints | None,
    points: Matrix,
    routes: Routes,
    min_samples_leaf: int,
) -> Goal:
    if goal == "objective":
        return ObjectiveGoal(objective, routes, min_samples_leaf)
    if goal == "agreement":
        return AgreementGoal(codes, routes, min_samples_leaf, amounts)
    if goal == "conductance":
        return ObjectiveGoal(spex(cliques(codes, amounts)), routes, min_samples_leaf)
    score = LeafScore.of(goal, codes, amounts, points)
    if isinstance(score, CostScore):
        return CostGoal(score, routes, min_samples_leaf)
    return RightGoal(score, routes, min_samples_leaf)


def improve(routes: Routes, table: NodeRows, goal: Goal, passes: int | None = None) -> None:
    """Visit the inner nodes, pass after pass, until as many visits in a row as there are nodes change nothing."""
    n_idle, n_passes = 0, 0
    while n_idle < len(routes.tests) and (passes is None or n_passes < passes):
        table.restart()
        waiting = [(0, 0, table.columns.shape[1])]
        while waiting and n_idle < len(routes.tests):
            node, start, stop = waiting.pop()
            n_idle = 0 if _visit(node, routes, table, goal, start, stop) else n_idle + 1
            left, right = routes.children(node)
            inner = [child in routes.tests for child in (left, right)]
            if any(inner):
                goes_left = routes.goes_left[node]
                table.part(start, stop, goes_left)
                middle = start + int(np.count_nonzero(goes_left[table.rows(start, stop)]))
                parts = [(left, start, middle), (right, middle, stop)]
                waiting += [part for part, keep in zip(parts, inner, strict=True) if keep][::-1]
        n_passes += 1


def _visit(node: int, routes: Routes, table: NodeRows, goal: Goal, start: int, stop: int) -> bool:
    """Give a node its best cut; say whether the tree became better."""
    if stop - start < 2:
        return False
    found = goal.proposal(node, table, start, stop)
    if found is None:
        return False
    before = routes.tests[node]
    routes.change(node, found)
    # Proposals may rest on rounded sums; what counts is the score computed from scratch.
    if goal.accept():
        return True
    routes.change(node, before)
    return False


def retested(tree: Tree, routes: Routes) -> Tree:
    """Return the tree with the tests of `routes`."""
    return tree.retested(routes.tests)


def revalued(tree: Tree, X: Matrix, objective: Objective) -> Tree:
    """Return the tree with sizes, scores and values of an objective on the rows of a table.

    Parameters
    ----------
    tree : Tree
        Any tree over the columns of `X`.
    X : array of shape (n_samples, n_features)
        The table, perhaps sparse.
    objective : Objective
        The graph and the formulas.
    """
    ledger, extra = ledger_of(objective.graph), objective.graph.extra
    table = X if extra is None else np.concatenate([X, extra])
    states = {0: (ledger.root(), np.arange(table.shape[0]))}
    size, score, value = tree.size.copy(), tree.score.copy(), tree.value.copy()
    sides = {}
    for node in range(tree.n_nodes):
        state, members = states.pop(node)
        size[node] = np.count_nonzero(members < X.shape[0])
        sides[node] = ledger.node(state, members)
        value[node] = objective.leaf_value(sides[node])
        if tree.feature[node] == LEAF:
            continue
        test = tree.test(node)
        cut = Cut(test.feature, test.upper, 0.0, 0.0, test.lower)
        x = dense(table[:, [test.feature]])[members, 0]
        is_left = test.passes(x.astype(np.float64, copy=False))
        parts = ledger.split(state, members, is_left, cut)
        states[int(tree.left[node])] = parts[0], members[is_left]
        states[int(tree.right[node])] = parts[1], members[~is_left]
    with np.errstate(all="ignore"):
        for node in np.flatnonzero(tree.feature != LEAF).tolist():
            left, right = sides[int(tree.left[node])], sides[int(tree.right[node])]
            score[node] = float(objective.score(left, right, sides[node]))
    return replace(tree, size=size, score=score, value=value)
