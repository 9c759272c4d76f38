"""Rules per cluster, without a tree."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator

from spexplain.aliases import Array, Bools, Floats, Ints, NoisePolicy
from spexplain.arguments import check_choice, check_integer
from spexplain.estimators.progress import messages, stage
from spexplain.estimators.reading import TableReader, unchanged_by_failure
from spexplain.explanation.rule_set import ClusterRule, RuleSet, RulesModel
from spexplain.facts.profiles import profile_of
from spexplain.rules import MEASURES, FoundRule, MeasureName, Space, Task, best_rule, space_of
from spexplain.table.base import Table
from spexplain.table.columns import row_names
from spexplain.table.reference import Reference, labels_of_codes, warn_of_labels
from spexplain.threads import Threads, count_threads

_WIDTH_OF_OTHERS = 3  # rules that are kept at each length in searches for alternatives
_N_EXAMPLES = 3  # typical rows of a cluster
_PRECISE = (0.5, 0.25)  # how much recall counts for the first of several rules
_WORTH_SAYING = 0.1  # how far an alternative must get from the empty rule (0) to a perfect one (1)
_MOST_MOVED = 30  # clusters up to which every position in the order is tried
_SAME = 1e-12


class ClusterRules(TableReader, RulesModel, BaseEstimator):
    """Find for every cluster the best rule of a few conditions, without a tree.

    A rule is a conjunction of conditions: intervals of numbers and dates, and sets of categories, each with or
    without missing values. A condition on a column of words (see `feature_names`) says whether a document contains
    the word; "any of" can join several words. With at most two conditions rules are optimal; longer ones are built
    from the best shorter ones, and each of their conditions is re-optimised in turn until nothing improves.

    Parameters
    ----------
    max_conditions : int, default=3
        Greatest number of conditions of a rule; an interval or a set of values counts as one, and so does every word.
    n_rules : int, default=1
        Greatest number of rules per cluster; a row matches if one of them holds. A rule is added only if it
        improves the measure.
    max_total_conditions : int, optional
        Greatest number of conditions in all rules of a cluster together, if `n_rules` allows several: with 3, the
        best of one rule of three conditions, two rules of two and one, or three rules of one.
    n_alternatives : int, default=2
        Further rules for every cluster, each on columns that no earlier one uses; rules that are hardly better
        than no condition are left out.
    measure : {"f1", "f2", "f0.5", "balanced"}, default="f1"
        What a rule maximises: the harmonic mean of precision and recall, the same with recall or precision
        counting more, or the mean of the recalls of the cluster and of all other rows.
    overlap : bool, default=True
        Whether rules of different clusters may hold for the same training rows. If not, the clusters with the
        best rules choose first.
    features : list of int or str, optional
        Columns that rules may use, by number or name; by default all but ids and copies of the labels.
    feature_names : list of str, or fitted vectorizer, optional
        Names of the columns of a table that has none: a list, or an object with `get_feature_names_out`, such as
        scikit-learn's `CountVectorizer`, whose columns are words.
    noise : {"ignore", "cluster"}, label or list of labels, default="ignore"
        How to treat rows that belong to no cluster, whose label is -1, "-1" or missing: "ignore" leaves them out,
        "cluster" treats them as a cluster. Or the labels of such rows.
    missing : {"allow", "error"}, default="allow"
        What to do with missing values: "allow" lets conditions include them, "error" refuses them.
    n_jobs : int, optional
        Number of threads; None means 1, -1 all processors. The rules do not depend on it.
    verbose : int, default=0
        1 shows one line per stage with its time, through the logger "spexplain".

    Attributes
    ----------
    explanation_ : RuleSet
        The result of the fit; all methods of the estimator read it.
    classes_ : array of shape (k,)
        The labels of the clusters.
    order_ : list
        The labels by precedence: where rules of several clusters hold, the first decides. The order is chosen by
        a local search that moves one cluster at a time and maximises the mean F1 of the clusters on the
        training rows.
    labels_ : array of shape (n_samples,)
        The predictions of the rules for the training rows.
    macro_f1_ : float
        Mean over the clusters of the F1 of these predictions.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : array of str
        Names of these columns, if the table had string names.

    See Also
    --------
    BestTree : One tree for all clusters; every row gets a leaf.
    spexplain.from_json : Reads what `to_json` writes.

    References
    ----------
    .. [1] William Cohen. Fast Effective Rule Induction. ICML 1995. RIPPER, with which the documentation compares these
       rules; it has no limit on conditions.

    Examples
    --------
    >>> from spexplain import ClusterRules, datasets
    >>> iris = datasets.load("iris")
    >>> rules = ClusterRules(max_conditions=2, n_alternatives=0).fit(iris.data, iris.target)
    >>> print(rules.to_text(["sepal length", "sepal width", "petal length", "petal width"]))
    0 (50 rows): petal length ≤ 2
      precision 100%, recall 100%, F1 1.00; holds for 50 rows
    1 (50 rows): 0.8 < petal width ≤ 1.6 and petal length ≤ 4.9
      precision 100%, recall 94%, F1 0.97; holds for 47 rows
    2 (50 rows): petal width > 1.6
      precision 96%, recall 92%, F1 0.94; holds for 48 rows
    <BLANKLINE>
    5 rows meet no rule, 0 rows more than one; macro-F1 0.969.
    """

    def __init__(
        self,
        max_conditions: int = 3,
        *,
        n_rules: int = 1,
        max_total_conditions: int | None = None,
        n_alternatives: int = 2,
        measure: MeasureName = "f1",
        overlap: bool = True,
        features: Sequence[int | str] | None = None,
        feature_names: Any = None,
        noise: NoisePolicy = "ignore",
        missing: Literal["allow", "error"] = "allow",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.max_conditions = max_conditions
        self.n_rules = n_rules
        self.max_total_conditions = max_total_conditions
        self.n_alternatives = n_alternatives
        self.measure = measure
        self.overlap = overlap
        self.features = features
        self.feature_names = feature_names
        self.noise = noise
        self.missing = missing
        self.n_jobs = n_jobs
        self.verbose = verbose

    _takes_entries = True  # sparse tables stay sparse
    _remote_engines: ClassVar[tuple[str, ...]] = ()

    def __sklearn_tags__(self) -> Any:
        tags: Any = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "allow"
        tags.input_tags.categorical = tags.input_tags.string = True
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the rules.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            The table; its columns appear in the rules.
        y : array of shape (n_samples,) or (n_samples, n_clusters)
            Labels of any type; or memberships, which say how much of each row belongs to every cluster.
        sample_weight : array of shape (n_samples,), optional
            A row of weight w counts as w rows.

        Returns
        -------
        self

        Examples
        --------
        >>> from spexplain import ClusterRules
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> rules = ClusterRules(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> [each["rule"] for each in rules.rules(output="records")]
        ['age > 40', 'age ≤ 40']
        """
        self._check_parameters()
        if y is None:
            raise ValueError(
                "y must hold the label of every row: ClusterRules explains given clusters and does not find any."
            )
        with messages(self.verbose), unchanged_by_failure(self):
            table, names = self._read(X, y=y, sample_weight=sample_weight)
            if table.engine is not None:
                raise ValueError(
                    f"ClusterRules works on tables in memory, but X is a {type(X).__module__.partition('.')[0]} "
                    "table; pass a sample of it as a data frame or array."
                )
            weights = table.weights(sample_weight)
            reference = table.reference(y, self.noise)
            if weights is not None:
                reference = reference.weighed(weights)
            if reference.n_clusters < 2:
                raise ValueError(
                    f"The labels (y) need two clusters or more to tell apart, but have {reference.n_clusters}."
                )
            warn_of_labels(reference.classes, len(table))
            columns = self._searched_columns(table, reference)
            with stage(type(self).__name__, "rules"):
                found = self._searched(table, reference, weights, columns)
            self._set_rules(found, table, names, reference, weights, row_names(X))
        return self

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Find the rules and return what they predict for the rows, `labels_`.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            The table; its columns appear in the rules.
        y : array of shape (n_samples,) or (n_samples, n_clusters)
            Labels or memberships, as in `fit`.
        sample_weight : array of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        labels : array of shape (n_samples,)

        Examples
        --------
        >>> from spexplain import ClusterRules
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> ClusterRules().fit_predict(X, ["new"] * 3 + ["VIP"] * 3).tolist()
        ['new', 'new', 'new', 'VIP', 'VIP', 'VIP']
        """
        return self.fit(X, y, sample_weight).labels_

    def _check_parameters(self) -> None:
        """Refuse parameters out of range in one sentence."""
        check_integer("max_conditions", self.max_conditions, 1)
        check_integer("n_rules", self.n_rules, 1)
        if self.max_total_conditions is not None:
            check_integer("max_total_conditions", self.max_total_conditions, 1)
        check_integer("n_alternatives", self.n_alternatives, 0)
        check_choice("measure", self.measure, MEASURES)
        check_choice("missing", self.missing, ("allow", "error"))
        if not isinstance(self.overlap, bool | np.bool_):
            raise ValueError(f"overlap={self.overlap!r} must be True or False.")
        count_threads(self.n_jobs)

    def _searched(
        self, table: Table, reference: Reference, weights: Floats | None, columns: Ints
    ) -> list[ClusterRule]:
        """Return the rule of every cluster."""
        amounts = reference.amounts(weights)
        counts = np.flatnonzero(amounts.sum(axis=1) > 0)
        if len(counts) < len(table):  # rows without a cluster or of weight 0 do not count
            table, reference, amounts = table.take(counts), reference.rows(counts), amounts[counts]
        space = space_of(table, columns, reference.codes)
        search = _Search(self, space, amounts)
        codes = list(range(reference.n_clusters))
        with Threads(count_threads(self.n_jobs)) as threads:
            found = threads.map(search.best, codes)
            if not self.overlap:
                found = search.apart(found)
            others = threads.map(lambda code: search.others(code, found[code]), codes)
        self._examples = tuple(
            tuple(counts[search.typical(code, one, more)].tolist())
            for code, (one, more) in enumerate(zip(found, others, strict=True))
        )
        return [
            search.rule(code, one)._replace(
                alternatives=tuple(search.rule(code, [other]) for other in more)
            )
            for code, (one, more) in enumerate(zip(found, others, strict=True))
        ]

    def _set_rules(
        self,
        clusters: list[ClusterRule],
        table: Table,
        names: tuple[str | int, ...] | None,
        reference: Reference,
        weights: Floats | None,
        row_ids: Array | None,
    ) -> None:
        """Set the fitted attributes."""
        examples: tuple[tuple[int, ...], ...] = self.__dict__.pop("_examples")
        amounts = reference.amounts(weights)
        used = sorted(
            {c for each in clusters for one in (each, *each.alternatives) for c in one.used}
        )
        nothing = np.zeros((len(clusters), len(clusters)))
        found = RuleSet(
            table.settled_columns(used),
            names,
            reference.classes,
            tuple(clusters),
            tuple(range(len(clusters))),
            nothing,
            float(amounts.sum()),
            0.0,
            0.0,
            0.0,
            str(self.measure),
            self._settings(),
            weights is not None or reference.memberships is not None,
            n_rows=len(table),
            examples=examples,
            example_names=tuple(
                tuple(str(row if row_ids is None else row_ids[row]) for row in rows)
                for rows in examples
            ),
        )
        found = replace(found, profile=profile_of(table, found.fields, found.deciding))
        masks = np.stack(found.masks(table), axis=1)
        mass = amounts.sum(axis=1)
        n_rules = masks.sum(axis=1)
        order, macro_f1 = best_order(masks, amounts, [each.f1 for each in clusters])
        self.explanation_ = found = replace(
            found,
            order=order,
            overlap=np.array([mass[holds] @ masks[holds] for holds in masks.T], dtype=np.float64),
            uncovered=float(mass[n_rules == 0].sum()),
            shared=float(mass[n_rules > 1].sum()),
            macro_f1=macro_f1,
        )
        self.classes_ = found.classes
        self.order_ = [found.labels[code] for code in order]
        self.macro_f1_ = macro_f1
        codes = found.decided_codes(list(masks.T))
        n_clusters = len(clusters)
        is_right = (codes >= 0) & (codes == reference.codes)
        self.explanation_ = found = replace(
            found,
            decided=tuple(np.bincount(codes % (n_clusters + 1), minlength=n_clusters + 1).tolist()),
            right=tuple(np.bincount(codes[is_right], minlength=n_clusters).tolist()),
        )
        self.labels_ = labels_of_codes(found.classes, codes)


class _Search:
    """The searches of one fit."""

    def __init__(self, estimator: ClusterRules, space: Space, amounts: Floats) -> None:
        self.estimator, self.space, self.amounts = estimator, space, amounts
        self.mass = amounts.sum(axis=1)

    def _task(
        self,
        code: int,
        covered: Bools | None = None,
        taken: Bools | None = None,
        beta: float | None = None,
    ) -> Task:
        inside = self.amounts[:, code]
        barred = None if taken is None else taken & (self.mass > 0)
        measure = self.estimator.measure if beta is None else beta
        return Task.of(inside, self.mass - inside, measure, covered, barred)

    def _found(
        self,
        task: Task,
        *,
        beside: Sequence[FoundRule] = (),
        most: int | None = None,
        without: frozenset[int] = frozenset(),
        is_first: bool,
    ) -> FoundRule:
        """Return the best rule within the conditions that the other rules of the cluster leave."""
        return best_rule(
            self.space,
            task,
            max_conditions=min(self._room(beside), self._most if most is None else most),
            width=self.space.width if is_first else _WIDTH_OF_OTHERS,
            without=without,
            exact=is_first,
        )

    @property
    def _most(self) -> int:
        """Most conditions of a rule."""
        return int(self.estimator.max_conditions)

    def _room(self, found: Sequence[FoundRule]) -> int:
        """Return how many conditions a rule may have, given the others of its cluster."""
        total = self.estimator.max_total_conditions
        if total is None:
            return self._most
        return min(self._most, int(total) - sum(each.size for each in found))

    def best(self, code: int, taken: Bools | None = None) -> list[FoundRule]:
        """Return the rules of a cluster, one of which must hold."""
        first = self._found(self._task(code, taken=taken), is_first=True)
        if not first.clauses or self.estimator.n_rules == 1:
            return [first] if first.clauses else []
        # Each of several rules may be precise, and miss rows that the others find.
        lists = [self._several(code, [first], taken, None)]
        total = self.estimator.max_total_conditions
        if total is None or total > self._most:
            lists += [self._several(code, [], taken, beta) for beta in _PRECISE]
        if total is not None:
            # A short first rule leaves room for others.
            lists += [
                self._several(code, [], taken, beta, most)
                for most in range(1, self._room([]))
                for beta in (None, *_PRECISE)
            ]
        task = self._task(code, taken=taken)
        return max(lists, key=lambda found: (task.covered(self._rows(found)), -len(found)))

    def _several(
        self,
        code: int,
        found: list[FoundRule],
        taken: Bools | None,
        beta: float | None,
        most: int | None = None,
    ) -> list[FoundRule]:
        """Return rules that were found one after the other and then exchanged, the first ones precise.

        `most` is the greatest number of conditions of the first rule.
        """
        task = self._task(code, taken=taken)
        while len(found) < self.estimator.n_rules and self._room(found) > 0:
            more = self._found(
                self._task(code, self._rows(found), taken, beta),
                beside=found,
                most=None if found else most,
                is_first=not found and most is None,
            )
            value = task.covered(self._rows([*found, more]))
            if not more.clauses or value <= task.covered(self._rows(found)) + _SAME:
                break
            found = [*found, more]
        return self._exchanged(code, found, taken) if len(found) > 1 else found

    def _rows(self, found: list[FoundRule]) -> Bools:
        covered = np.zeros(len(self.mass), dtype=np.bool_)
        for each in found:
            covered |= self.space.rows(each.clauses)
        return covered

    def _exchanged(self, code: int, found: list[FoundRule], taken: Bools | None) -> list[FoundRule]:
        """Return the rules, each re-optimised while the others are fixed."""
        value = self._task(code, taken=taken).covered(self._rows(found))
        for _ in range(len(found)):
            before = value
            for place in range(len(found)):
                others = found[:place] + found[place + 1 :]
                other = self._found(
                    self._task(code, self._rows(others), taken), beside=others, is_first=False
                )
                if other.clauses and other.value > value + _SAME:
                    found[place], value = other, other.value
            if value <= before + _SAME:
                break
        return [each._replace(is_optimal=False) for each in found]

    def apart(self, found: list[list[FoundRule]]) -> list[list[FoundRule]]:
        """Return rules that hold for no training row of another cluster's rule."""
        value = [self._task(code).covered(self._rows(rules)) for code, rules in enumerate(found)]
        taken = np.zeros(len(self.mass), dtype=np.bool_)
        for code in sorted(range(len(found)), key=lambda each: (-value[each], each)):
            if self._rows(found[code])[taken].any():
                found[code] = self.best(code, taken)
                if self._rows(found[code])[taken & (self.mass > 0)].any():
                    found[code] = []  # no row is left for it
            taken |= self._rows(found[code])
        return found

    def others(self, code: int, found: list[FoundRule]) -> list[FoundRule]:
        """Return rules on other columns."""
        used = {column for each in found for clause in each.clauses for column, _ in clause}
        others: list[FoundRule] = []
        while found and len(others) < int(self.estimator.n_alternatives):
            task = self._task(code)
            other = self._found(task, without=frozenset(used), is_first=False)
            least = task.everything + _WORTH_SAYING * (1 - task.everything)
            if not other.clauses or other.value < least:
                break
            others.append(other)
            used |= {column for clause in other.clauses for column, _ in clause}
        return others

    def typical(self, code: int, found: list[FoundRule], others: list[FoundRule]) -> Ints:
        """Return a few rows of a cluster that meet its rule, those first that meet most conditions of other rules."""
        own = np.flatnonzero(self._rows(found) & (self.amounts.argmax(axis=1) == code))
        met = np.zeros(len(own), dtype=np.int64)
        for each in (*found, *others):
            for clause in each.clauses:
                for literal in clause:
                    met += self.space.rows(((literal,),))[own]
        alike = self.space.affinity(self._task(code))[own]
        return own[np.lexsort((-alike, -met))[:_N_EXAMPLES]]

    def rule(self, code: int, found: list[FoundRule]) -> ClusterRule:
        """Return the record of rules, one of which must hold."""
        covered = self._rows(found)
        inside = self.amounts[:, code]
        return ClusterRule(
            tuple(self.space.to_rule(each.clauses) for each in found),
            float(self.mass[covered].sum()),
            float(inside[covered].sum()),
            float(inside.sum()),
            len(found) == 1 == self.estimator.n_rules
            and found[0].is_optimal
            and bool(self.estimator.overlap),
        )


def best_order(
    masks: Bools, amounts: Floats, values: Sequence[float]
) -> tuple[tuple[int, ...], float]:
    """Return the order in which rules decide where several hold, and the mean F1 of the predictions.

    The order begins with the values of the rules. Then one cluster at a time is moved to the place with the
    highest mean F1 over the clusters, until no move improves it.

    Parameters
    ----------
    masks : array of bool, shape (n_rows, k)
        Which rules hold for which rows.
    amounts : array of float, shape (n_rows, k)
        What each row adds to every cluster.
    values : sequence of float, length k
        How good each rule is.
    """
    k = masks.shape[1]
    # Rows that meet the same rules always get the same prediction, so they are counted together.
    patterns, place = np.unique(np.packbits(masks, axis=1), axis=0, return_inverse=True)
    holds = np.unpackbits(patterns, axis=1, count=k).astype(np.bool_)
    cells = np.zeros((len(patterns), k))
    np.add.at(cells, place.ravel(), amounts)
    mass, totals = cells.sum(axis=1), amounts.sum(axis=0)

    def macro_f1(order: Sequence[int]) -> float:
        rank = np.empty(k, dtype=np.int64)
        rank[list(order)] = np.arange(k)
        winner = np.where(holds, rank, k).argmin(axis=1)
        decided = holds[np.arange(len(holds)), winner]
        own = cells[np.arange(len(cells)), winner] * decided
        hits = np.bincount(winner, own, k)
        covered = np.bincount(winner, mass * decided, k)
        return float(np.mean(2 * hits / (covered + totals)))

    order = sorted(range(k), key=lambda code: (-values[code], code))
    best, is_better = macro_f1(order), True
    while is_better:
        is_better = False
        for start in range(k):
            ends = range(k) if k <= _MOST_MOVED else range(start + 1, min(start + 2, k))
            for end in ends:
                moved = order.copy()
                moved.insert(end, moved.pop(start))
                value = macro_f1(moved)
                if value > best + _SAME:
                    order, best, is_better = moved, value, True
    return tuple(order), best
