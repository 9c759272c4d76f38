"""Fits a method again: to two clusters, to folds, or to rows drawn at random."""

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy

from spexplain.aliases import Array, Floats, Ints
from spexplain.estimators.best import BestTree
from spexplain.estimators.cart import CART
from spexplain.facts.validation import HeldOut, Stability
from spexplain.metrics.agreement import agreement_of_counts
from spexplain.table.base import Table
from spexplain.table.reference import NOISE
from spexplain.tree import Tree

if TYPE_CHECKING:
    from spexplain.estimators.base import Explainer

_PARTED_ROWS = 20_000
_FEW_ROWS = 2_000
_FEWEST_ROWS = 1_000  # of tables with very many columns
_PARTED_TESTS = 3
_MOST_PARTED = 3  # leaves of a tree for which a further split is tried
_PARTED_GAIN = 0.01  # of mean recall, the least that a further test must add


def parted(
    table: Table,
    codes: Ints,
    pair: tuple[int, int],
    weights: Floats | None,
    columns: Ints | None,
    *,
    quick: bool = False,
) -> tuple[Tree, Floats]:
    """Return the smallest good tree of up to three tests over the rows of two clusters.

    Parameters
    ----------
    table : Table
        The training rows, in memory.
    codes : array of int, shape (n_rows,)
        Their clusters.
    pair : tuple of int
        The two clusters.
    weights : array of shape (n_rows,), optional
        Weights of the rows.
    columns : array of int, optional
        Columns that may be tested; all by default.
    quick : bool, default=False
        Whether to search greedily and on a sample of the rows only.

    Returns
    -------
    tree : Tree
    shares : array of float, shape (n_leaves, 2)
        How the rows of each cluster are distributed over the leaves.
    """
    rows = np.flatnonzero(np.isin(codes, pair) & (True if weights is None else weights > 0))
    most_rows = _FEW_ROWS if quick else _PARTED_ROWS
    if len(rows) > most_rows:
        rows = rows[np.linspace(0, len(rows) - 1, most_rows).astype(np.int64)]
    own = (codes[rows] == pair[1]).astype(np.int64)
    mass = None if weights is None else weights[rows]
    some = table.take(rows)
    options: dict[str, Any] = {"features": None if columns is None else columns.tolist()}
    best = Tree.root(n_features=table.shape[1], size=len(rows)), np.ones((1, 2))
    for n_leaves in range(2, _PARTED_TESTS + 2):
        if quick:
            tree: Explainer = CART(2, n_leaves=n_leaves, cluster_weight="balanced", **options)
        else:
            tree = BestTree(2, n_leaves=n_leaves, goal="balanced", **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree.fit(some, own, sample_weight=mass)
        counts = tree.explanation_.leaf_counts
        shares: Floats = counts / counts.sum(axis=0)
        more_tests = tree.n_leaves_ - best[0].n_leaves
        if _balanced(shares) >= _balanced(best[1]) + _PARTED_GAIN * max(more_tests, 1):
            best = tree.tree_, shares
    return best


def grown_on(
    table: Table,
    codes: Ints,
    leaves: Ints,
    stands: Ints,
    weights: Floats | None,
    columns: Ints | None,
    min_samples_leaf: int,
) -> list[float]:
    """Return the share of rows right once one leaf, or two leaves, of a tree are split further.

    Cheap on large tables: only the few leaves with most mistakes are considered, and only some of their rows
    are searched; all rows are counted.

    Parameters
    ----------
    table : Table
        The training rows, in memory.
    codes, leaves : array of int, shape (n_rows,)
        Their clusters, and the leaves they are in.
    stands : array of int, shape (n_leaves,)
        The cluster that each leaf stands for.
    weights : array of shape (n_rows,), optional
        Weights of the rows.
    columns : array of int, optional
        Columns that may be tested; all by default.
    min_samples_leaf : int
        Fewest rows of a leaf.

    Returns
    -------
    shares : list of float
        With one more leaf, and with two.
    """
    mass = np.ones(len(codes)) if weights is None else weights
    mass = np.where(codes >= 0, mass, 0.0)
    is_right = stands[leaves] == codes
    wrong = np.bincount(leaves, mass * ~is_right, len(stands))
    gains = []  # by leaf: with one more leaf, and with two
    for leaf in np.argsort(-wrong, kind="stable")[:_MOST_PARTED].tolist():
        rows = np.flatnonzero((leaves == leaf) & (mass > 0))
        if not wrong[leaf] or len(np.unique(codes[rows])) < 2:
            continue
        right = float(mass[rows] @ is_right[rows])
        gains.append(
            [
                max(_right_below(table, codes, rows, mass, n, columns, min_samples_leaf) - right, 0)
                for n in (2, 3)
            ]
        )
    total, right = float(mass.sum()), float(mass @ is_right)
    if not gains or not total:
        return []
    ones = sorted((one for one, _ in gains), reverse=True)
    most = max(sum(ones[:2]), *(two for _, two in gains))
    return [(right + gain) / total for gain in (ones[0], most)]


def _right_below(
    table: Table,
    codes: Ints,
    rows: Ints,
    mass: Floats,
    n_leaves: int,
    columns: Ints | None,
    min_samples_leaf: int,
) -> float:
    """Return how many rows of a leaf are right once it is split into so many leaves."""
    most = max(_FEWEST_ROWS, _FEW_ROWS * 50 // max(table.shape[1], 1))
    some = rows[np.linspace(0, len(rows) - 1, min(most, len(rows))).astype(np.int64)]
    options: dict[str, Any] = {"features": None if columns is None else columns.tolist()}
    tree = CART(2, n_leaves=n_leaves, refine="fidelity", **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree.fit(table.take(some), codes[some], sample_weight=mass[some])
    found = np.asarray(table.take(rows).leaves(tree.tree_))
    counts = np.zeros((tree.n_leaves_, int(codes.max()) + 1))
    np.add.at(counts, (found, codes[rows]), mass[rows])
    sizes = np.bincount(found, minlength=tree.n_leaves_)
    return float(counts.max(axis=1).sum()) if sizes.min() >= min_samples_leaf else 0.0


def _balanced(shares: Floats) -> float:
    """Return the mean recall of two clusters, each leaf standing for the one with the larger share."""
    return float(shares.max(axis=1).sum()) / 2


def refitted(
    estimator: "Explainer",
    table: Table,
    rows: Ints,
    labels: Any,
    weights: Floats | None,
    **given: Any,
) -> "Explainer":
    """Return the method fitted to some rows of a table, without repeating its warnings.

    Parameters
    ----------
    estimator : Explainer
        The method and its settings.
    table : Table
        The training rows, in memory.
    rows : array of int
        Rows to fit to; they may occur more than once.
    labels : array, optional
        Their labels; without them the method finds clusters itself.
    weights : array, optional
        Weights of the rows of the table.
    **given
        Parameters of the method to change.
    """
    from sklearn.base import clone

    other: Explainer = clone(estimator).set_params(**given)
    if other.feature_names is not None:  # the table has them
        other.feature_names = None
    mass = None if weights is None else weights[rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return other.fit(table.take(rows), labels, sample_weight=mass)


class FittedData(NamedTuple):
    """What a method is fitted to again."""

    table: Table
    codes: Ints  # clusters of the rows, or their leaves where there is no reference
    labels: Array | None  # as they were given; None: the method finds clusters by itself
    weights: Floats | None
    n_clusters: int


def held_out(
    estimator: "Explainer", known: FittedData, folds: Sequence[tuple[Ints, Ints]]
) -> list[HeldOut]:
    """Return the predictions for the held-out rows of every fold, given as (rows to fit to, held-out rows)."""
    return [_judged(estimator, known, train, test) for train, test in folds]


def _judged(estimator: "Explainer", known: FittedData, train: Ints, test: Ints) -> HeldOut:
    labels = None if known.labels is None else known.labels[train]
    fitted = refitted(estimator, known.table, train, labels, known.weights)
    leaves = np.asarray(known.table.take(test).leaves(fitted.tree_))
    stands, clustering = stands_for(fitted, known, train)
    return HeldOut(test, stands[leaves], leaves, clustering)


def stands_for(fitted: "Explainer", known: FittedData, train: Ints) -> tuple[Ints, float | None]:
    """Return the cluster that every leaf of a refit stands for.

    Where the clusters were found anew, they are matched one to one with the clusters of the explanation, so that
    they have most rows in common. Also return how well the two clusterings agree.
    """
    explanation = fitted.explanation_
    codes = known.codes[train]
    n_found = fitted.n_leaves_ if explanation.classes is None else len(explanation.classes)
    found = fitted.labels_
    leaf_codes = np.arange(fitted.n_leaves_)
    if explanation.classes is not None:
        assert explanation.row_reference is not None
        assert explanation.leaf_reference is not None
        places = {label: code for code, label in enumerate(explanation.classes.tolist())}
        leaf_codes = np.array(
            [places.get(each, NOISE) for each in explanation.leaf_reference.tolist()]
        )
        found = explanation.row_reference.codes
    if known.labels is not None:
        # The same labels: only their numbers differ where a fold lacks a cluster.
        numbers = np.full(n_found + 1, NOISE)
        numbers[found] = np.where(found >= 0, codes, NOISE)
        return numbers[leaf_codes], None
    table = np.zeros((n_found, known.n_clusters))
    both = (found >= 0) & (codes >= 0)
    np.add.at(table, (found[both], codes[both]), 1.0)
    ours, theirs = scipy.optimize.linear_sum_assignment(-table)
    numbers = np.full(n_found + 1, NOISE)
    numbers[ours] = theirs
    return numbers[leaf_codes], float(agreement_of_counts(table).ari)


def drawn(
    estimator: "Explainer",
    known: FittedData,
    stability: Stability,
    n_drawn: int,
    random: np.random.Generator,
) -> None:
    """Fit the method to rows drawn with replacement, and compare its trees with the tree itself."""
    n_rows = len(known.table)
    for _ in range(n_drawn):
        rows = np.sort(random.integers(0, n_rows, n_rows))
        labels = None if known.labels is None else known.labels[rows]
        if known.labels is not None and len(np.unique(known.codes[rows])) < 2:
            continue
        fitted = refitted(estimator, known.table, rows, labels, known.weights)
        leaves = np.asarray(known.table.leaves(fitted.tree_))
        stands, _ = stands_for(fitted, known, rows)
        stability.add(fitted.tree_, leaves, stands[leaves], known.n_clusters)
