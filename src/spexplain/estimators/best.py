"""The best tree of a given size by a chosen goal: several starts, local search, exact solutions and proofs."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeAlias, Unpack

import numpy as np
from sklearn.utils import check_random_state

from spexplain.aliases import Ints, Matrix
from spexplain.arguments import check_choice, check_flag, check_integer
from spexplain.engines import resolve_engine
from spexplain.estimators.base import Explainer, Shared
from spexplain.estimators.progress import search_line
from spexplain.estimators.reading import ALL_ROWS, RowWeights, Searched, row_mass
from spexplain.estimators.spex import clique_graph
from spexplain.exceptions import LostClusterWarning, warn_caller
from spexplain.explanation import Explanation
from spexplain.facts.goal import GoalRecord, SizeStep
from spexplain.facts.path import AUTO_GAIN, plateau_at
from spexplain.facts.text import lost_text
from spexplain.messages import one_line
from spexplain.metrics.agreement import RandIndex, leaf_table, whole_counts
from spexplain.objectives import Objective, spex
from spexplain.refine import revalued
from spexplain.refine.best_tree import (
    START_NAMES,
    Improver,
    grown_by_agreement,
    start_objective,
    started,
)
from spexplain.refine.goals import cliques
from spexplain.refine.routes import in_order_of_gain, without
from spexplain.refine.rows import Orders, is_mostly_zero, sorted_table
from spexplain.refine.scores import (
    COUNTING_GOALS,
    GOALS,
    LARGEST,
    LOW_GOALS,
    OWN_MEANS,
    WHOLE,
    CostScore,
    GoalName,
    LeafScore,
)
from spexplain.refine.solver import Budget
from spexplain.table.base import Table
from spexplain.table.reference import Reference
from spexplain.table.sparse import canonical, leaves_of
from spexplain.table.storage import is_sparse
from spexplain.table.views import SearchColumns, written_out
from spexplain.tree import Tree

ExchangeFrom: TypeAlias = Literal["auto", "all", "best", "none"]
# Up to this many rows × columns × leaves, exchanging leaves in the trees of all starts takes no noticeable time.
_SMALL = 2_000_000
_TINY = 200_000  # up to this many, exact solutions of subtrees take no noticeable time either
_PASSES = 2
# Positions that exact solutions may visit without a time budget: about a second.
_WORK = 1e8
_EXACT_LEAVES = 4  # of trees that are solved exactly before anything else is tried
_PATIENCE = 4  # after so many sizes that add little, no larger one is searched
_MOST_SIZES = 12  # that n_leaves="auto" searches
_PROVED_LEAVES = 8  # of the largest trees that are solved exactly as a whole
# The same by goal: a row in a leaf of another cluster costs so much conductance that few first cuts are left.
_MOST_PROVED: dict[GoalName, int] = {"conductance": 16}


class StartRecord(NamedTuple):
    """The results of one start of `BestTree`; values are those of the goal, see `BestTree.value_`.

    Attributes
    ----------
    start : str
        Which start it is: a method, "sketch" or a restart.
    n_leaves : int
        Leaves of its tree.
    grown, refined, value : float
        The value of the tree as it was grown, after its cuts were re-optimised, and in the end.
    objective : float
        Sum of the leaves' conductances in the graph of the clusters' cliques, in the end.
    seconds : float
        How long it took.
    """

    start: str
    n_leaves: int
    grown: float  # value of the grown tree
    refined: float  # after its cuts were re-optimised
    value: float  # final: after any exchanges of leaves and exact solutions of subtrees
    objective: float  # sum of the leaves' conductances in the clique graph, finally
    seconds: float


class _Candidate(NamedTuple):
    """A tree during the search; values as `Improver.value` gives them."""

    start: str
    tree: Tree
    grown: Any
    refined: Any
    value: Any
    seconds: float


class _GoalResult(NamedTuple):
    """What the goal measures of a tree, and what is proved about it."""

    value: float
    bound: float
    optimal: bool


class _SearchRows(NamedTuple):
    """The rows of a search."""

    X: Matrix  # the columns that are searched
    labels: Ints
    amounts: Ints | None  # how many rows each counts for
    points: Matrix | None  # where they lie, for the goal "cost"

    def take(self, rows: Ints) -> "_SearchRows":
        """Return some of the rows; clusters without a row among them are not numbered."""
        numbers = np.unique(self.labels[rows], return_inverse=True)[1]
        amounts = None if self.amounts is None else self.amounts[rows]
        return _SearchRows(
            _rows_of(self.X, rows),
            numbers,
            amounts,
            None if self.points is None else self.points[rows],
        )

    def score(self, goal: GoalName) -> LeafScore:
        """Return the score of a goal."""
        return LeafScore.of(goal, self.labels, self.amounts, self.points)

    def n_kept(self, leaves: Ints, goal: GoalName) -> int:
        """Return how many clusters some leaf stands for."""
        score = self.score("balanced" if goal == "balanced" else "fidelity")
        table = score.table(leaves, int(leaves.max()) + 1)
        return len(np.unique(score.labels(table)[table.max(axis=1) > 0]))


class BestTree(Explainer):
    """Explain a reference clustering with the best tree of a given size that can be found.

    `goal` says what is best. Trees grown by several methods are improved: cuts are moved, leaves are
    exchanged (a new leaf is split off above any node, and the leaf that is missed least is removed), and
    subtrees of up to four leaves are replaced by the best possible ones, as long as this helps. Trees of
    up to eight leaves are searched exactly while time allows. No tree of this size is better than
    `bound_`, and `optimal_` tells whether the tree reaches it.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters to find when `fit` gets no labels.
    reference : {"spectral", "kmeans", "kmedians", "kernel_kmeans"} or clusterer
        How to cluster the table when `fit` gets no labels; or any object with `fit_predict`.
    goal : {"fidelity", "balanced", "agreement", "cost", "conductance"}, default="fidelity"
        What the tree maximises: "fidelity", the rows in leaves that stand for their cluster; "balanced", the
        mean over the clusters of the share of such rows; or "agreement", the adjusted Rand index of leaves
        and clusters. Or what it minimises: "cost", the k-means cost with every leaf served by its own mean; or
        "conductance", the sum of the leaves' conductances in the graph of the clusters' cliques, as SpEx does.
    keep_clusters : bool, default=True
        Prefer trees in which some leaf stands for every cluster, if there are as many leaves as clusters.
        A `LostClusterWarning` and `unexplained_clusters_` name the clusters without a leaf.
    starts : sequence of {"spex", "emn", "cart", "agreement"}, optional
        Methods that the search starts from; "agreement" is a tree grown by the adjusted Rand index
        itself. By default all; in large tables "cart" and "spex", unless `goal` is "agreement". If a method
        cannot give all leaves, the rest are grown by agreement.
    exchange : {"auto", "all", "best", "none"}, default="auto"
        Which refined trees exchange leaves: all, the best one, or none; "auto" means all in small
        tables.
    n_restarts : int, default=0
        How often the best tree loses a random quarter of its leaves, is grown again and searched
        from there.
    time_budget : float, optional
        Seconds after which no further step of the search begins; the tree may then depend on the
        speed of the machine. Proofs use what time is left, and about a second if no budget is given.
    max_rows : int, optional, default=100_000
        Larger tables are searched on that many evenly spaced rows, and the tree found is refined on
        all rows; None searches on all rows whatever their number. `starts_` speaks of the search.
    n_leaves : int or "auto", optional
        Leaves of the tree; by default one per cluster. There are fewer, with a warning, if no valid cut is
        left. "auto" searches trees of up to three per cluster (see `curve_`) and takes the smallest to
        which further leaves add less than 1 % each of what `goal` measures; if every cluster should
        have a leaf, there are at least as many leaves as clusters.
    max_depth : int, optional
        Greatest number of tests on the way to a leaf.
    min_samples_leaf : int, default=1
        Smallest number of training rows in a leaf; rows of no cluster count, those of weight 0 do not.
    features : list of int or str, optional
        Columns that the tree may use, by number or name; by default all.
    start : Explanation or fitted model, optional
        An earlier tree. The new tree begins with its locked tests and does not use the columns that it
        forbids; see `Explanation.lock` and `Explanation.forbid`.
    feature_names : list of str, or fitted vectorizer, optional
        Names of the columns of a table that has none: a list, or an object with `get_feature_names_out`, such as
        scikit-learn's `CountVectorizer`. The columns of a text vectorizer are words, and tests read
        ``contains "hockey"``.
    noise : {"ignore", "cluster"}, label or list of labels, default="ignore"
        How to treat rows that belong to no cluster, whose label is -1, "-1" or missing: "ignore" sends them down
        the tree but makes no cuts for them, "cluster" treats them as a cluster. Or the labels of such rows.
    cluster_weight : None, "balanced" or dict, default=None
        Factors for the row weights of each cluster, used in the search but not in any measure: "balanced"
        gives all clusters the same total weight, a dict maps some labels to factors. No effect in methods
        that need no reference.
    missing : {"allow", "error"}, default="allow"
        What to do with missing values: "allow" makes every test also say where they go, "error" refuses them.
    round_to : float, optional
        Share of the rows, for example 0.005, that may change sides at a test to give it a rounder threshold;
        see `rounding_`. By default no row may: a threshold is the roundest number between two training values.
    refine : {"objective", "fidelity", "balanced", "agreement", "cost", "conductance"}, optional
        Re-optimise the cuts of the grown tree one after the other, with the rest of the tree fixed, until
        nothing improves the method's own objective ("objective") or the given goal of `BestTree`.
    refine_passes : int, optional
        Greatest number of rounds of `refine` over all nodes; by default until nothing improves.
    engine : {"auto", "numpy", "histogram", "cupy", "dask"} or Engine, default="auto"
        How the best cuts are found; all engines give the same tree.
    n_jobs : int, optional
        Number of threads; None means 1, -1 all processors. The tree does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the reference clustering and of methods that draw at random.
    verbose : int, default=0
        1 shows one line per stage with its time, through the logger "spexplain".

    Attributes
    ----------
    starts_ : list of StartRecord
        Start, leaves, value when grown, refined and in the end, objective, seconds. With `start`, the list is
        empty, and `bound_` is what holds for every tree.
    value_ : float
        Value of the goal: fidelity, mean recall of the clusters, or adjusted Rand index, for which high is
        good; or cost or sum of conductances, for which low is good. Rows count as in the search, that is,
        with `cluster_weight`.
    bound_ : float
        The best value that is possible for a tree of this size, according to the proof so far. Trees that were
        truncated or edited since have no bound.
    optimal_ : bool
        Whether it is proved that no tree of this size is better, with or without a leaf for every cluster;
        like `bound_` only of the tree that was searched.
    curve_ : list of SizeStep
        With ``n_leaves="auto"``, the best tree found for every size that was searched: leaves, value,
        bound, whether it is optimal, and clusters without a leaf.
    explanation_ : Explanation
        The result of the fit; all methods of the estimator read it.
    tree_ : Tree
        The tree, as immutable arrays.
    labels_ : array of int, shape (n_samples,)
        Leaf id of every training row, 0 to ``n_leaves_ - 1`` from left to right.
    n_leaves_ : int
        Number of leaves.
    objective_ : float
        What the tree minimised: the sum of the values of its leaves.
    path_ : list of PathStep
        The trees of 1, 2, ... leaves on the way to the final tree: objective, agreement, fidelity, price,
        depth, size. After a refinement, the refined tree is the last.
    agreement_ : float
        Adjusted Rand index of the leaves and the reference, if there was one; rows of no cluster do not
        count.
    reference_labels_ : array of shape (n_samples,)
        The reference clustering, if there was one.
    leaf_reference_ : array of shape (n_leaves_,)
        The reference label that each leaf stands for.
    rounding_ : list of RoundedTest
        With `round_to`: the tests whose thresholds were rounded, and the rows that changed sides.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : array of str
        Names of these columns, if the table had string names.

    See Also
    --------
    SpexClique : Grown greedily by SpEx, many times faster.
    CART : Grown greedily by the Gini impurity.
    ClusterRules : One rule per cluster, without a tree.

    References
    ----------
    .. [1] Catalin E. Brita, Jacobus G. M. van der Linden and Emir Demirović. Optimal Classification
       Trees for Continuous Feature Data Using Dynamic Programming with Branch-and-Bound. AAAI 2025.
    .. [2] Miguel Á. Carreira-Perpiñán and Pooya Tavallali. Alternating Optimization of Decision Trees,
       with Application to Learning Sparse Oblique Trees. NeurIPS 2018.
    .. [3] Werner Dinkelbach. On Nonlinear Fractional Programming. Management Science 13(7), 1967.

    Examples
    --------
    >>> from spexplain import BestTree, SpexClique, datasets, metrics
    >>> cancer = datasets.load("cancer")
    >>> best = BestTree(2, reference="kmeans", n_leaves=3, random_state=0).fit(cancer.data)
    >>> greedy = SpexClique(n_leaves=3).fit(cancer.data, best.reference_labels_)
    >>> best.value_ >= metrics.agreement(greedy.labels_, best.reference_labels_).purity
    True
    >>> best.optimal_, best.value_ == best.bound_
    (True, True)
    """

    _searches_sets: ClassVar[bool] = False

    @property
    def _needs_labels_only(self) -> bool:  # type: ignore[override]
        return self.goal in COUNTING_GOALS

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        reference: Any = "spectral",
        goal: GoalName = "fidelity",
        keep_clusters: bool = True,
        starts: Sequence[str] | None = None,
        exchange: ExchangeFrom = "auto",
        n_restarts: int = 0,
        time_budget: float | None = None,
        max_rows: int | None = 100_000,
        **shared: Unpack[Shared],
    ) -> None:
        super().__init__(n_clusters, **shared)
        self.reference = reference
        self.goal = goal
        self.keep_clusters = keep_clusters
        self.starts = starts
        self.exchange = exchange
        self.n_restarts = n_restarts
        self.time_budget = time_budget
        self.max_rows = max_rows

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("goal", self.goal, GOALS)
        check_flag("keep_clusters", self.keep_clusters)
        check_choice("exchange", self.exchange, ("auto", "all", "best", "none"))
        check_integer("n_restarts", self.n_restarts, 0)
        if self.max_rows is not None:
            check_integer("max_rows", self.max_rows, 2)
        if self.starts is not None:
            _check_starts(self.starts)
        if self.time_budget is not None and not self.time_budget > 0:
            raise ValueError(f"time_budget={self.time_budget!r} must be a positive number.")

    def _objective(
        self, X: Matrix, reference: Reference | None, weights: RowWeights = ALL_ROWS
    ) -> Objective:
        assert reference is not None
        return spex(clique_graph(reference, weights))

    @property
    def _stands_for_shares(self) -> bool:
        return self.goal == "balanced" or super()._stands_for_shares

    def _search_rows(self, X: Matrix) -> "_SearchRows":
        """Return the rows of this fit, over the columns X."""
        labels, amounts = self._labels_searched()
        points = None
        if self.goal == "cost":
            points = self._rows_searched.table.as_points().to_host(
                'goal="cost"', "take another goal"
            )
        return _SearchRows(X, labels, amounts, points)

    def _grow(self, X: Matrix, objective: Objective, n_leaves: int) -> Tree:
        rows = self._given_rows = self._search_rows(written_out(X))
        self.__dict__.pop("curve_", None)
        begin = time.perf_counter()
        self._deadline, self._work = begin + (self.time_budget or np.inf), _WORK
        if self.n_leaves == "auto":
            reference = self._rows_searched.reference
            assert reference is not None
            tree = self._of_best_size(rows, reference.n_clusters, n_leaves)
        else:
            tree = self._of_size(rows, n_leaves)
        return revalued(tree, rows.X, objective)

    def _labels_searched(self) -> tuple[Ints, Ints | None]:
        """Return the cluster of each row that is searched, and how many rows it counts for; None: one each."""
        reference, weights = self._rows_searched[1:]
        assert reference is not None
        labels, mass = reference.codes, row_mass(reference, weights)
        # A row that several clusters share counts for the one that has most of it.
        amounts = None if mass is None else whole_counts(np.where(labels < 0, 1.0, mass))
        if amounts is not None and np.all(amounts == 1):  # weights of noise rows do not count
            amounts = None
        return labels, amounts

    def _search_columns(self, searched: Searched, columns: Ints, n_leaves: int) -> SearchColumns:
        views = super()._search_columns(searched, columns, n_leaves)
        if views.has_all_tests:
            return views
        # Not all sets of categories can be searched, but those that greedy growth finds in its nodes are.
        sets = self._views = SearchColumns.of(searched.table, columns, one_by_one=False)
        labels, amounts = self._labels_searched()
        grown = {
            name: super(BestTree, self)._grow(
                sets.matrix, start_objective(name, sets.matrix, labels, amounts), n_leaves
            )
            for name in ("spex", "cart")
        }
        views = views.with_views(
            [view for tree in grown.values() for _, view in sets.sets_of(tree)]
        )
        self._grown_with_sets = {name: views.taken_over(tree, sets) for name, tree in grown.items()}
        return views

    def _of_size(self, rows: "_SearchRows", n_leaves: int, smaller: Tree | None = None) -> Tree:
        """Return the best tree of a size, and set what it reaches; `smaller` is a tree to start from."""
        if self.max_rows is not None and rows.X.shape[0] > self.max_rows:
            tree = self._grow_from_sample(rows, n_leaves, self.max_rows, smaller)
        else:
            tree = self._search(rows, n_leaves, smaller)
        score = None if self.goal == "agreement" else rows.score(self.goal)
        ordered = in_order_of_gain(tree, rows.X, rows.labels, rows.amounts, score)
        self._set_value(rows, leaves_of(ordered, rows.X), ordered.n_leaves)
        return ordered

    def _of_best_size(self, rows: "_SearchRows", n_clusters: int, most: int) -> Tree:
        """Search trees of some sizes, set the curve, and return the tree after which leaves add little."""
        first = n_clusters if self.keep_clusters else 2
        most = max(most, first)
        sizes = np.unique(np.geomspace(first, most, _MOST_SIZES).round().astype(np.int64)).tolist()
        if most - first < _MOST_SIZES:
            sizes = list(range(first, most + 1))
        end, curve, found = self._deadline, list[SizeStep](), list[tuple[Tree, float]]()
        self._work = _WORK / len(sizes)
        for number, size in enumerate(sizes):
            now = time.perf_counter()
            if found and (now > end or found[-1][0].n_leaves < sizes[number - 1]):
                break  # no time, or no valid cut, is left
            if number - _plateau(found) >= _PATIENCE or (found and found[-1][1] > 1 - AUTO_GAIN):
                break  # enough leaves have added little
            # The chosen size is searched once more, so it needs a share of the time too.
            self._deadline = now + (end - now) / (len(sizes) - number + 1)
            tree = self._of_size(rows, size, found[-1][0] if found else None)
            leaves = leaves_of(tree, rows.X)
            found.append((tree, self._worth(rows, leaves, tree.n_leaves)))
            n_lost = n_clusters - rows.n_kept(leaves, self.goal)
            value, bound, optimal = self._reached
            curve.append(SizeStep(tree.n_leaves, value, bound, optimal, n_lost))
        at = _plateau(found)
        if self.keep_clusters:
            fewest = min(step.n_lost for step in curve[at:])
            at = next(n for n in range(at, len(curve)) if curve[n].n_lost == fewest)
        self._deadline, self._work = end, _WORK
        tree = self._of_size(rows, curve[at].n_leaves, found[at][0])
        curve[at] = curve[at]._replace(**self._reached._asdict())
        self.curve_ = curve
        return tree

    def _auto_leaves(self, grown: Explanation) -> int:
        return grown.tree.n_leaves

    def _worth(self, rows: "_SearchRows", leaves: Ints, n_leaves: int) -> float:
        """Return a share that grows with the number of leaves, for comparing sizes."""
        if self.goal not in LOW_GOALS:
            return self._reached.value
        # Conductances grow with every leaf, so rows right decide. For the cost: the share that the tree saves.
        score = rows.score("cost" if self.goal == "cost" else "fidelity")
        total = score.square if isinstance(score, CostScore) else score.totals.sum()
        return float(score.of_table(score.table(leaves, n_leaves)).sum() / (total or 1.0))

    def _sorted(self, X: Any) -> AbstractContextManager[Orders]:
        return sorted_table(X, None, self.n_jobs, needs_zeros=self.goal not in COUNTING_GOALS)

    def _improver(self, orders: Orders, rows: "_SearchRows", n_leaves: int) -> Improver:
        # A depth that no tree of this size exceeds must not stop trees that are larger for a while.
        is_free = self.max_depth is None or self.max_depth >= n_leaves - 1
        work = self._work if self.time_budget is None else np.inf
        return Improver(
            orders,
            rows.labels,
            goal=self.goal,
            min_samples_leaf=self.min_samples_leaf,
            max_depth=None if is_free else self.max_depth,
            amounts=rows.amounts,
            keep_clusters=self.keep_clusters,
            budget=Budget(work, self._deadline),
            points=rows.points,
        )

    def _grow_from_sample(
        self, given: "_SearchRows", n_leaves: int, n_rows: int, smaller: Tree | None
    ) -> Tree:
        """Search on evenly spaced rows, then refine what was found on all rows."""
        clustered = np.flatnonzero(given.labels >= 0)
        rows = clustered[np.linspace(0, len(clustered) - 1, n_rows).astype(np.int64)]
        tree = self._search(given.take(rows), n_leaves, smaller)
        with self._stage("all rows"), self._sorted(given.X) as orders:
            improver = self._improver(orders, given, n_leaves)
            if tree.n_leaves < n_leaves:
                tree = grown_by_agreement(improver, n_leaves, tree)
            tree, _ = improver.refined(tree, self.refine_passes)
        self._bound = np.inf  # a proof for a sample says nothing about all rows
        return tree

    def _search(self, rows: "_SearchRows", n_leaves: int, smaller: Tree | None = None) -> Tree:
        """Return the best tree found from all starts."""
        X = rows.X
        self._best_shown: Any = None
        with self._sorted(X) as orders:
            improver = self._improver(orders, rows, n_leaves)
            candidates, tree = self._candidates(X, improver, n_leaves, smaller)
            # A proof holds only for the sets of categories that were searched.
            if not self._views.has_all_tests:
                self._bound = self._bound_of_sizes(improver, n_leaves)
            self._n_for_all = self._leaves_needed(improver, tree)
            objective = spex(cliques(rows.labels, rows.amounts))
            self.starts_ = [self._record(each, improver, X, objective) for each in candidates]
        return tree

    def _candidates(
        self, X: Matrix, improver: Improver, n_leaves: int, smaller: Tree | None
    ) -> tuple[list[_Candidate], Tree]:
        """Return the results of all starts, and the best tree."""
        names = list(self._starts(X, n_leaves))
        if smaller is not None:  # in large tables no other start is needed
            names = ["smaller", *names] if _size(X) * n_leaves <= _SMALL else ["smaller"]
        if self.starts is None and n_leaves <= _EXACT_LEAVES:
            # If a proof settles it at once, no better start is needed.
            passes = 0 if improver.is_soon_solved(n_leaves) else self.refine_passes
            first = self._refined_starts(X, improver, n_leaves, names[:1], smaller, passes)
            candidates = list(first)
            tree, value = self._proved(improver, candidates[0].tree, n_leaves)
            if improver.is_best(value, self._bound):
                return [candidates[0]._replace(tree=tree, value=value)], tree
            names = names[1:]
            candidates[0] = candidates[0]._replace(tree=tree, value=value)
        else:
            candidates = []
        candidates += self._refined_starts(
            X, improver, n_leaves, names, smaller, self.refine_passes
        )
        if self._exchanges_all(X, n_leaves):
            candidates = self._exchanged(X, improver, candidates, n_leaves)
            if not self.keep_clusters and self._seeks_more_starts(n_leaves):
                candidates.append(self._through_kept(X, improver, n_leaves, names, smaller))
        if self.starts is None and self.exchange != "none":
            candidates += self._sketches(improver, _best_of(improver, candidates), n_leaves)
        at = candidates.index(_best_of(improver, candidates))
        if self.exchange != "none":
            candidates[at] = self._searched(improver, candidates[at])
            # In large tables this takes as long as everything else, so only with a time budget.
            if self.time_budget is not None or self._exchanges_all(X, n_leaves):
                candidates[at] = self._searched_in_turn(improver, candidates[at])
        candidates += self._restarts(improver, _best_of(improver, candidates), n_leaves)
        best = _best_of(improver, candidates)
        improver.budget.work = min(improver.budget.work, self._proof_work(n_leaves))
        tree, value = self._proved(improver, best.tree, n_leaves)
        is_better = improver.rank(value, tree) > improver.rank(best.value, best.tree)
        if is_better and n_leaves > _EXACT_LEAVES and not self._is_over():
            solved = _Candidate("exact", tree, value, value, value, 0.0)
            solved = self._searched(improver, solved)
            tree, candidates = solved.tree, [*candidates, solved]
        return candidates, tree

    def _seeks_more_starts(self, n_leaves: int) -> bool:
        """Whether to add starts from other searches; smaller trees start from sketches or are solved as a whole."""
        return n_leaves > _PROVED_LEAVES and self.starts is None and self.goal == "fidelity"

    def _exchanged(
        self, X: Matrix, improver: Improver, candidates: list[_Candidate], n_leaves: int
    ) -> list[_Candidate]:
        """Improve the trees of all starts, and add the one found by a search for agreement."""
        solves = _size(X) * n_leaves <= _TINY
        candidates = [self._searched(improver, each, solves=solves) for each in candidates]
        if not improver.keep_clusters:  # trees that lose no cluster then take no extra time
            candidates = [
                self._searched_in_turn(improver, each, solves=solves) for each in candidates
            ]
        if self._seeks_more_starts(n_leaves):
            candidates.append(self._through_agreement(X, improver, n_leaves))
        return candidates

    def _through_kept(
        self,
        X: Matrix,
        improver: Improver,
        n_leaves: int,
        names: Sequence[str],
        smaller: Tree | None,
    ) -> _Candidate:
        """Return the best tree found in which every cluster keeps a leaf, then improved without that condition."""
        kept = improver.keeping(True)
        starts = self._refined_starts(X, kept, n_leaves, names, smaller, self.refine_passes)
        best = _best_of(kept, self._exchanged(X, kept, list(starts), n_leaves))
        best = self._searched_in_turn(kept, self._searched(kept, best))
        found = best._replace(
            start=f"{best.start} keeping clusters", value=improver.value(best.tree)
        )
        return self._searched(improver, found, solves=False)

    def _through_agreement(self, X: Matrix, improver: Improver, n_leaves: int) -> _Candidate:
        """Return the tree found by a search for agreement and then improved for the goal.

        Where only the majority of a leaf counts, many changes of a tree gain nothing; agreement shows which are useful.
        """
        other = improver.for_agreement()
        (start,) = self._refined_starts(X, other, n_leaves, ["cart"], None, self.refine_passes)
        agreeing = self._searched(other, start, solves=False)
        value = improver.value(agreeing.tree)
        found = agreeing._replace(
            start="cart by agreement", grown=value, refined=value, value=value
        )
        return self._searched(improver, found, solves=False)

    def _proof_work(self, n_leaves: int) -> float:
        """Return how much work a proof may take; without a time budget, little for larger trees."""
        return np.inf if self.time_budget is not None or n_leaves <= _EXACT_LEAVES else _WORK / 5

    def _sketches(
        self, improver: Improver, best: _Candidate, n_leaves: int
    ) -> Iterator[_Candidate]:
        """Yield trees that start from sketches, as long as these lead to better trees."""
        if self.goal == "cost" or not _EXACT_LEAVES < n_leaves <= _PROVED_LEAVES:
            return
        patience = 1 if self.time_budget is None else 3
        number, idle, value = 0, 0, best.value
        most = 1.0
        if self.goal != "agreement":
            most = improver.score.bound(improver.score.totals, n_leaves) - improver.score.offset(
                n_leaves
            )
        while idle < patience and not self._is_over() and not improver.is_best(value, most):
            begin = time.perf_counter()
            with self._stage("sketch", always=False) as tell:
                found = improver.sketched(best.tree, n_leaves, number)
                trees = [improver.refined(each, self.refine_passes) for each in found]
                for _, refined in trees:
                    self._show(tell, improver, refined)
            idle, number = idle + 1, number + 1
            for tree, refined in trees:
                if refined > value or (refined == value and idle == 1 == number):
                    seconds = time.perf_counter() - begin
                    candidate = _Candidate("sketch", tree, refined, refined, refined, seconds)
                    if self.time_budget is not None:
                        candidate = self._searched(improver, candidate)
                    yield candidate
                    idle, value = 0, candidate.value

    def _proved(self, improver: Improver, tree: Tree, n_leaves: int) -> tuple[Tree, Any]:
        """Return the best tree, and set the bound that can be proved for all trees of its size."""
        self._bound = np.inf
        most = _MOST_PROVED.get(self.goal, _PROVED_LEAVES)
        if n_leaves > most or self._is_over():
            self._bound = self._bound_of_sizes(improver, n_leaves)
            return tree, improver.value(tree)
        with (
            self._stage("proof") as tell,
            search_line(type(self).__name__, self.verbose) as draw,
        ):
            if draw is not None:
                improver.budget.tell = self._reports_of(draw, improver, n_leaves)
            tree, value, self._bound = improver.proved(tree, n_leaves)
            improver.budget.tell = None
            tell(self._progress_with_bound(improver, value, self._bound))
        return tree, value

    def _bound_of_sizes(self, improver: Improver, n_leaves: int) -> float:
        """Return what no tree exceeds, from the sizes of the clusters alone."""
        score = improver.score
        if score.kind not in (LARGEST, OWN_MEANS):
            return np.inf
        return float(score.bound(score.totals, n_leaves) - score.offset(n_leaves))

    def _reports_of(
        self, draw: Callable[[str], None], improver: Improver, n_leaves: int
    ) -> Callable[[int, float, float], None]:
        """Return the function that shows the best tree and the bound while all rows are searched."""
        n_rows, offset = len(improver.codes), improver.score.offset(n_leaves)

        def tell(n_here: int, value: float, bound: float) -> None:
            if n_here == n_rows and self.goal != "agreement":  # whose score changes on the way
                draw(self._progress_with_bound(improver, value - offset, bound - offset))

        return tell

    def _show(self, tell: Callable[[str], None], improver: Improver, value: Any) -> None:
        """Report the result of a step if it is the best so far, by the value that the search improves."""
        if self._is_as_asked(improver) and (self._best_shown is None or value > self._best_shown):
            self._best_shown = value
            tell(self._progress_text(improver, value))

    def _is_as_asked(self, improver: Improver) -> bool:
        """Whether this improver values trees as the user asked."""
        return improver.goal == self.goal and improver.keep_clusters == self.keep_clusters

    def _progress_text(self, improver: Improver, value: Any) -> str:
        """Return the value of the goal, and the clusters without a leaf if they count, for progress output."""
        text, lost = self._goal_text(improver, value), 0
        if self.goal == "fidelity":
            rows = f"{round(float(improver.score.totals.sum())):,}"
            text += f" of {rows if improver.amounts is None else 'the weighted'} rows right"
        if self.keep_clusters and isinstance(value, tuple):
            lost = improver.n_present - value[0]
        return f"{text}, {lost} cluster{'s' * (lost > 1)} lost" if lost else text

    def _progress_with_bound(self, improver: Improver, value: Any, bound: float) -> str:
        """Return the best value and the bound, if there is one, for progress output."""
        if not self._views.has_all_tests:
            return self._progress_text(improver, value)
        return f"{self._progress_text(improver, value)}, bound {self._goal_text(improver, bound)}"

    def _goal_text(self, improver: Improver, value: Any) -> str:
        own = float(value[1] if isinstance(value, tuple) else value)
        total = float(improver.score.totals.sum())
        if self.goal == "fidelity":
            own = min(own, total)
            return f"{round(own):,}" if improver.amounts is None else f"{own / total:.1%}"
        if self.goal == "balanced":
            own = min(own / total, 1.0)
        return f"{abs(own) if self.goal in LOW_GOALS else own:.4f}"

    def _leaves_needed(self, improver: Improver, tree: Tree) -> int | None:
        """Return the number of leaves with which every cluster has one, if that is known and more than the tree has."""
        with self._stage("lost", always=False) as tell:
            needed = improver.leaves_for_all(tree, self.max_depth)
            if needed == tree.n_leaves:
                return None
            if needed is not None:
                tell(f"with {needed:,} leaves every cluster has one")
        return needed

    def _grow_on(self, explanation: Explanation) -> int | None:
        return None  # all that is known comes from the search

    def _fit(self, X: Any, y: Any, **given: Any) -> Self:
        super()._fit(X, y, **given)
        self._set_goal()
        lost, classes = self.unexplained_clusters_, self.explanation_.classes
        if lost and self.keep_clusters and classes is not None and self.n_leaves_ >= len(classes):
            named = [one_line(str(label)) for label in lost]
            warn_caller(lost_text(named, self._leaves_for_all()), LostClusterWarning)
        return self

    def _missing_leaves_text(self, found: str, n_leaves: int) -> str:
        return f"The tree has {found} instead of {n_leaves}: no better tree of {n_leaves} leaves was found."

    def _set_goal(self) -> None:
        """Add the goal of the search and its result to the explanation."""
        explanation, rows = self.explanation_, self._given_rows
        # The tree was changed after the search, or was put together from several.
        if self.refine is not None or vars(self).get("rounding_") or self.start is not None:
            kept = self._rows_searched.weights.rows
            leaves = np.asarray(explanation.labels)
            self._set_value(
                rows, leaves if kept is None else leaves[kept], explanation.tree.n_leaves
            )
        del self._given_rows
        # Weighted rows, and clusters of other weights, have no number of rows.
        is_counted = explanation.node_weights is None and self.cluster_weight is None
        total = float(explanation.node_counts[0].sum()) if is_counted else 0.0
        goal = GoalRecord(
            self.goal,
            *self._reached,
            total=total,
            max_depth=self.max_depth,
            curve=tuple(vars(self).get("curve_", ())),
        )
        self._set_explanation(replace(explanation, goal=goal, leaves_for_all=self._n_for_all))

    def _fit_from_start(self, X: Any, table: Table, *given: Any) -> Self:
        super()._fit_from_start(X, table, *given)
        training = self.explanation_.training
        assert training is not None
        searched = self._rows_to_search(table, training.reference, training.weights)
        self._rows_searched = searched
        self._given_rows = self._search_rows(searched.table.values)
        # The parts below the locked tests were searched one by one, so nothing is proved about the whole tree.
        self._bound, self._n_for_all, self.starts_ = np.inf, None, []
        self.__dict__.pop("curve_", None)
        return self

    def _set_value(self, rows: "_SearchRows", leaves: Ints, n_leaves: int) -> None:
        """Set what is reached: the value of the goal, and its bound."""
        total: float = 1.0
        if self.goal == "agreement":
            table = leaf_table(leaves, rows.labels, n_leaves, rows.amounts)
            value = float(RandIndex.of(rows.labels, rows.amounts).of_table(table))
            margin, most = 1e-12, 1.0
        else:
            score = rows.score(self.goal)
            value = float(score.of_table(score.table(leaves, n_leaves)).sum())
            value -= score.offset(n_leaves)
            margin = score.unit
            most = 0.0 if self.goal in LOW_GOALS else float(score.totals.sum())
            value = min(value, most)  # shares that add up to one may be rounded
            if score.kind == LARGEST:
                total = most
        bound = max(min(self._bound, most), value)
        optimal = bool(bound < value + margin)
        sign = -1.0 if self.goal in LOW_GOALS else 1.0
        reached = sign * value / total + 0.0  # no -0.0
        bound = reached if optimal else sign * bound / total + 0.0
        if self.goal == "balanced":  # the search rounds the shares of clusters
            table = leaf_table(leaves, rows.labels, n_leaves, rows.amounts)
            totals = table.sum(axis=0)
            n_present = np.count_nonzero(totals)
            shares = table / np.where(totals > 0, totals, 1)
            reached = min(float(shares.max(axis=1).sum() / n_present), 1.0)
            rounded = n_present * totals.max() / WHOLE
            bound = reached if optimal else max(min(bound * (1 + rounded), 1.0), reached)
        self._reached = _GoalResult(reached, bound, optimal)

    def _exchanges_all(self, X: Matrix, n_leaves: int) -> bool:
        if self.exchange == "auto":
            return _size(X) * n_leaves <= _SMALL
        return self.exchange == "all"

    def _starts(self, X: Matrix, n_leaves: int) -> Sequence[str]:
        if self.starts is not None:
            return self.starts
        if _size(X) * n_leaves <= _SMALL:
            return START_NAMES
        if self.goal != "agreement":
            return ("cart", "spex")
        # Centres have few zeros, so they are dense.
        return tuple(name for name in START_NAMES if name != "emn" or not is_mostly_zero(X))

    def _refined_starts(
        self,
        X: Matrix,
        improver: Improver,
        n_leaves: int,
        names: Sequence[str],
        smaller: Tree | None,
        passes: int | None,
    ) -> Iterator[_Candidate]:
        """Yield the tree of every start, grown and refined; the first one even if time is short."""
        engine = resolve_engine(self.engine, n_jobs=self.n_jobs)
        for number, start in enumerate(names):
            if number and self._is_over():
                return
            with self._stage(start, always=False) as tell:
                begin = time.perf_counter()
                if start == "smaller":
                    tree = grown_by_agreement(improver, n_leaves, smaller)
                elif start in (known := vars(self).get("_grown_with_sets", {})):
                    most = min(n_leaves, known[start].n_leaves)
                    tree = grown_by_agreement(improver, n_leaves, known[start].truncate(most))
                else:
                    tree = started(start, X, improver, engine, n_leaves)
                grown = improver.value(tree)
                tree, refined = improver.refined(tree, passes)
                seconds = time.perf_counter() - begin
                if self._is_as_asked(improver):
                    tell(self._progress_text(improver, refined))
                    self._show(tell, improver, refined)
            yield _Candidate(start, tree, grown, refined, refined, seconds)

    def _searched(
        self, improver: Improver, candidate: _Candidate, *, solves: bool = True
    ) -> _Candidate:
        """Exchange leaves, refine and solve subtrees in turn, as long as this helps."""
        begin = time.perf_counter()
        tree, best = candidate.tree, candidate.value
        with self._stage("exchange", always=False) as tell:
            while not self._is_over():
                tree, value = improver.exchanged(tree)
                # A few passes between exchanges; at the end as many as help.
                passes = _PASSES if value > best else self.refine_passes
                tree, value = improver.refined(tree, passes)
                if value == best and solves:
                    tree, value = improver.resolved(tree)
                if value == best:
                    break
                best = value
            self._show(tell, improver, best)
        seconds = candidate.seconds + time.perf_counter() - begin
        return candidate._replace(tree=tree, value=best, seconds=seconds)

    def _searched_in_turn(
        self, improver: Improver, best: _Candidate, *, solves: bool = True
    ) -> _Candidate:
        """Search in turn with and without the preference for a leaf per cluster, as long as this helps.

        Each of the two searches can leave trees in which the other one gets stuck.
        """
        other = improver.keeping(not improver.keep_clusters)
        while not self._is_over() and (improver.keep_clusters or len(improver.lost(best.tree))):
            value = other.value(best.tree)
            away = self._searched(other, best._replace(value=value), solves=solves)
            if away.value == value:
                break
            back = away._replace(value=improver.value(away.tree))
            back = self._searched(improver, back, solves=solves)
            if not back.value > best.value:
                break
            best = back
        return best

    def _restarts(self, improver: Improver, best: _Candidate, n_leaves: int) -> list[_Candidate]:
        """Return the best tree found from random changes of the best one so far, if this improves it."""
        random, found = check_random_state(self.random_state), best
        for _ in range(self.n_restarts):
            if self._is_over():
                break
            begin = time.perf_counter()
            tree = found.tree
            for _ in range(max(1, tree.n_leaves // 4)):
                if tree.n_leaves > 2:
                    tree = without(tree, int(random.choice(tree.leaves)))
            tree = grown_by_agreement(improver, n_leaves, tree)
            grown = improver.value(tree)
            tree, refined = improver.refined(tree, self.refine_passes)
            seconds = time.perf_counter() - begin
            candidate = _Candidate("restart", tree, grown, refined, refined, seconds)
            found = max(found, self._searched(improver, candidate), key=lambda each: each.value)
        return [] if found is best else [found]

    def _is_over(self) -> bool:
        return time.perf_counter() > self._deadline

    def _record(
        self, candidate: _Candidate, improver: Improver, X: Matrix, objective: Objective
    ) -> StartRecord:
        tree = revalued(candidate.tree, X, objective)
        total = float(improver.score.totals.sum()) if improver.score.kind == LARGEST else 1.0
        sign = -1.0 if self.goal in LOW_GOALS else 1.0

        def number(value: Any) -> float:
            return sign * float(value[1] if isinstance(value, tuple) else value) / total

        return StartRecord(
            candidate.start,
            tree.n_leaves,
            number(candidate.grown),
            number(candidate.refined),
            number(candidate.value),
            float(tree.value[tree.leaves].sum()),
            candidate.seconds,
        )


def _rows_of(X: Any, rows: Ints) -> Any:
    """Return some rows of a table, sparse if it is."""
    return canonical(X.tocsr()[rows]) if is_sparse(X) else X[rows]


def _size(X: Any) -> int:
    """Return the number of values of a table, zeros and all."""
    return int(X.shape[0]) * int(X.shape[1])


def _plateau(found: list[tuple[Tree, float]]) -> int:
    """Return the place of the tree to which larger trees add little; 0 if there is none."""
    sizes, values = [tree.n_leaves for tree, _ in found], [worth for _, worth in found]
    return plateau_at(sizes, values) if found else 0


def _check_starts(starts: Any) -> None:
    if isinstance(starts, str) or not len(starts):
        raise ValueError(f"starts={starts!r} must be a list of some of {', '.join(START_NAMES)}.")
    for start in starts:
        if start not in START_NAMES:
            raise ValueError(
                f"starts holds {start!r}, but only {', '.join(START_NAMES)} are known."
            )


def _best_of(improver: Improver, candidates: list[_Candidate]) -> _Candidate:
    """Return the best candidate; the first of equals."""
    return max(candidates, key=lambda each: improver.rank(each.value, each.tree))
