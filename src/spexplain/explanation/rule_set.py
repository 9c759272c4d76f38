"""Rules per cluster: the record, and all methods that answer from it."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np

from spexplain._version import __version__
from spexplain.aliases import Array, Bools, Floats, Ints
from spexplain.arguments import check_choice, check_texts
from spexplain.export.dialects import DialectName
from spexplain.export.rules import rules_to_json, rules_to_sql, stored_rules
from spexplain.facts.profiles import MAX_PSI, Profile
from spexplain.facts.text import percent
from spexplain.messages import counted, one_line
from spexplain.table.base import Rows
from spexplain.table.columns import FrameKind, as_frame
from spexplain.table.read import read_rows
from spexplain.table.reference import labels_of_codes
from spexplain.table.storage import look_up
from spexplain.tree import Column, Tree
from spexplain.tree.column import renamed
from spexplain.tree.rule import Rule
from spexplain.tree.words import joined_by_or

if TYPE_CHECKING:
    from spexplain.explanation.check import Check


class ClusterRule(NamedTuple):
    """The rule of one cluster, or a few rules of which one must hold, and how well they fit.

    Without weights, every row counts as 1. Rows of no cluster do not count.
    """

    rules: tuple[Rule, ...]  # empty: no rule separates the cluster
    covered: float  # weight of the rows that it holds for
    hits: float  # of those, the rows of the cluster
    total: float  # weight of the cluster
    is_optimal: bool = False  # whether no rule with as many conditions is better
    alternatives: tuple["ClusterRule", ...] = ()  # on other columns, best first

    @property
    def precision(self) -> float:
        """Share of the rows that it holds for which belong to the cluster."""
        return self.hits / self.covered if self.covered else 0.0

    @property
    def recall(self) -> float:
        """Share of the cluster's rows that it holds for."""
        return self.hits / self.total if self.total else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        both = self.covered + self.total
        return 2 * self.hits / both if both else 0.0

    @property
    def used(self) -> list[int]:
        """The columns that it uses, in increasing order."""
        return sorted({column for rule in self.rules for column in rule.used})

    def text(self, columns: Sequence[Column | str], most: int | None = None) -> str:
        """Return it in one line; if asked for, with at most so many values of a list."""
        texts = [rule.text(columns, most) for rule in self.rules]
        return (
            joined_by_or(texts, [len(rule.conditions) for rule in self.rules])
            if texts
            else "no rule"
        )


class Decision(NamedTuple):
    """The rules as one function of rows: it gives the number of the cluster, of which the last means none.

    Trees send rows to leaves in the same way.
    """

    rules: tuple[
        tuple[int, Tree, Bools], ...
    ]  # a cluster, its rule as a tree, and leaves that meet it
    n_leaves: int

    def over(self, columns: Sequence[int]) -> "Decision":
        """Return the same for rows with only some of the columns, including those that are used."""
        return self._replace(
            rules=tuple((code, tree.over(columns), meets) for code, tree, meets in self.rules)
        )

    def apply(self, X: Any) -> Ints:
        """Return the number of the cluster of every row."""
        codes = np.full(len(X), self.n_leaves - 1, dtype=np.int64)
        for code, tree, meets in self.rules:
            codes[meets[tree.apply(X)]] = code
        return codes


@dataclass(frozen=True, eq=False)
class RuleSet:
    """The rules of all clusters and what they do to the training rows.

    Parameters
    ----------
    fields : sequence of Column
        All columns of the table, under the names that rules say.
    columns : tuple of str or int, optional
        Names of the columns in the table; None if they have none.
    classes : array of shape (k,)
        The labels of the clusters.
    clusters : tuple of ClusterRule
        The rule of each.
    order : tuple of int
        The clusters by precedence: where rules of several hold, the first decides.
    overlap : array of float, shape (k, k)
        Weight of the rows that the rules of both clusters hold for.
    total, uncovered, shared : float
        Weight of all clustered rows, of those that no rule holds for, and of those that several do.
    macro_f1 : float
        Mean over the clusters of the F1 of the predictions for the training rows.
    measure : str
        The measure that was maximised.
    parameters : mapping
        The settings of the estimator.
    is_weighted : bool
        Whether rows have weights.
    version : str
        The version of spexplain that found them.
    n_rows : int, optional
        Number of training rows, if they are known.
    examples : tuple of tuple of int
        Typical training rows of every cluster, if the rows are known.
    example_names : tuple of tuple of str
        Names of these rows in the user's table.
    profile : Profile, optional
        Statistics of the columns that the rules use, over the training rows.
    decided : tuple of int
        Number of training rows that the rules put into every cluster; the last entry is for none.
    right : tuple of int
        Number of those rows that belong to their cluster.
    """

    fields: Sequence[Column]
    columns: tuple[str | int, ...] | None
    classes: Array
    clusters: tuple[ClusterRule, ...]
    order: tuple[int, ...]
    overlap: Floats
    total: float
    uncovered: float
    shared: float
    macro_f1: float
    measure: str = "f1"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    is_weighted: bool = False
    version: str = __version__
    n_rows: int | None = None
    examples: tuple[tuple[int, ...], ...] = ()
    example_names: tuple[tuple[str, ...], ...] = ()
    method: str = "ClusterRules"
    profile: Profile | None = None
    decided: tuple[int, ...] = ()
    right: tuple[int, ...] = ()

    @cached_property
    def used(self) -> list[int]:
        """The columns that the rules use, including alternatives, in increasing order."""
        every = (rule for each in self.clusters for rule in (each, *each.alternatives))
        return sorted({column for rule in every for column in rule.used})

    @property
    def tested(self) -> list[int]:
        """The same, under its name in explanations by trees."""
        return self.used

    @property
    def described(self) -> Sequence[Column]:
        """What the columns hold."""
        return self.fields

    @property
    def names(self) -> tuple[str, ...]:
        """The name of every column for output."""
        return tuple(each.name for each in self.fields)

    @property
    def keys(self) -> tuple[str | int, ...]:
        """The name of every column as it stands in the table."""
        return self.names if self.columns is None else self.columns

    @property
    def has_objects(self) -> bool:
        """Whether some rule uses categories, dates or durations rather than numbers."""
        return any(self.fields[each].kind in ("category", "date", "duration") for each in self.used)

    def named(self, feature_names: Sequence[str] | None) -> Self:
        """Return the record with other names of the columns, if any are given."""
        if feature_names is None:
            return self
        names = [str(name) for name in feature_names]
        if len(names) != len(self.fields):
            raise ValueError(
                f"feature_names has {len(names)} entries, but the table has {len(self.fields)} columns."
            )
        return replace(self, fields=renamed(self.fields, names), columns=tuple(names))

    @property
    def labels(self) -> list[Any]:
        """The labels of the clusters as Python values."""
        return list(self.classes.tolist())

    def code(self, cluster: Any) -> int:
        """Return the number of a cluster; refuse an unknown label."""
        for code, label in enumerate(self.labels):
            if label == cluster or str(label) == str(cluster):
                return code
        known = ", ".join(one_line(str(label)) for label in self.labels[:12])
        raise ValueError(f"There is no cluster {cluster!r}; the clusters are {known}.")

    def masks(self, rows: Rows) -> list[Any]:
        """Return which rows the rule of each cluster holds for, where the rows lie."""
        return [self._mask(rows, each) for each in self.clusters]

    def _mask(self, rows: Rows, cluster: ClusterRule) -> Any:
        found: Any = None
        for rule in cluster.rules:
            tree, meets = rule.tree(self.fields)
            holds = look_up(meets, rows.leaves(tree))
            found = holds if found is None else found | holds
        if found is None:
            tree, meets = Rule(()).tree(self.fields)
            found = look_up(np.zeros(1, dtype=np.bool_), rows.leaves(tree))
        return found

    @property
    def decision(self) -> Decision:
        """The rules as one function of rows, without alternatives."""
        rules = [
            (code, *rule.tree(self.fields))
            for code in reversed(self.order)  # the first decides, so it comes last
            for rule in self.clusters[code].rules
        ]
        return Decision(tuple(rules), len(self.clusters) + 1)

    @property
    def deciding(self) -> list[int]:
        """The columns that must be known to predict, in increasing order."""
        return sorted({column for each in self.clusters for column in each.used})

    def decided_codes(self, masks: Sequence[Any]) -> Any:
        """Return the cluster of every row, -1 for none; of the rules that hold, the first in order decides."""
        codes: Any = masks[0] * 0 - 1
        for code in reversed(self.order):
            codes = np.where(masks[code], code, codes)
        return codes

    def records(self, *, alternatives: bool = False) -> list[dict[str, Any]]:
        """Return one record per cluster, and per alternative if asked for."""
        found = []
        for label, cluster in zip(self.labels, self.clusters, strict=True):
            every = (cluster, *cluster.alternatives) if alternatives else (cluster,)
            for number, rule in enumerate(every):
                record = {"cluster": label, "rule": rule.text(self.fields)}
                if alternatives:
                    record["alternative"] = number
                found.append(record | self._figures(rule))
        return found

    def _figures(self, rule: ClusterRule) -> dict[str, Any]:
        share = rule.total / self.total if self.total else 0.0
        return {
            "rows": _plain(rule.covered),
            "share": rule.covered / self.total if self.total else 0.0,
            "precision": rule.precision,
            "recall": rule.recall,
            "f1": rule.f1,
            "lift": rule.precision / share if share else 0.0,
            "proved": rule.is_optimal,
        }

    def text(self, clusters: Sequence[int] | None = None, most: int | None = None) -> str:
        """Return the rules in words, one paragraph per cluster; if asked for, with at most so many values of a list."""
        chosen = range(len(self.clusters)) if clusters is None else clusters
        parts = []
        for code in chosen:
            cluster, label = self.clusters[code], one_line(str(self.labels[code]))
            lines = [
                f"{label} ({self._amount_text(cluster.total)}): {cluster.text(self.fields, most)}"
            ]
            if cluster.rules:
                lines.append(f"  {_figures_text(cluster, self._amount_text(cluster.covered))}")
            for other in cluster.alternatives:
                lines.append(f"  also: {other.text(self.fields, most)}")
                lines.append(f"        {_figures_text(other, self._amount_text(other.covered))}")
            parts.append("\n".join(one_line_each(lines)))
        if clusters is not None:
            return "\n".join(parts)
        return "\n".join([*parts, "", self.closing_text()])

    def _amount_text(self, weight: float) -> str:
        """Return a number of rows, or their weight, with its noun."""
        return f"{_plain(weight):,} weight" if self.is_weighted else counted(int(weight), "row")

    def closing_text(self) -> str:
        """Return in one line how many rows meet no rule or several."""
        if self.is_weighted:
            nothing, several = (
                f"{_plain(each):,} of the weight" for each in (self.uncovered, self.shared)
            )
        else:
            nothing, several = (counted(int(each), "row") for each in (self.uncovered, self.shared))
        verb = "meets" if not self.is_weighted and self.uncovered == 1 else "meet"
        return f"{nothing} {verb} no rule, {several} more than one; macro-F1 {self.macro_f1:.3f}."


def one_line_each(lines: list[str]) -> Iterator[str]:
    """Yield lines without characters that could break or hide them."""
    for line in lines:
        indent = line[: len(line) - len(line.lstrip())]
        yield indent + one_line(line)


def _figures_text(rule: ClusterRule, amount: str) -> str:
    return (
        f"precision {percent(rule.precision)}, recall {percent(rule.recall)}, F1 {rule.f1:.2f}; "
        f"holds for {amount}"
    )


def _plain(weight: float) -> int | float:
    """Return a weight as a whole number where it is one."""
    return int(weight) if float(weight).is_integer() else round(float(weight), 6)


class RulesModel(ABC):
    """The methods of a model that holds a `RuleSet`, whether it was fitted here or read from JSON."""

    explanation_: RuleSet

    @abstractmethod
    def _check_rows(self, X: Any, *, whole: bool = False) -> Rows:
        """Return rows as a table with the model's columns; refuse other tables in one sentence."""

    def _fitted(self, feature_names: Sequence[str] | None = None) -> RuleSet:
        found: RuleSet | None = vars(self).get("explanation_")
        if found is None:
            from sklearn.exceptions import NotFittedError

            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet: call fit first."
            )
        return found.named(feature_names)

    def rules(
        self,
        feature_names: Sequence[str] | None = None,
        *,
        alternatives: bool = False,
        output: FrameKind = "auto",
    ) -> Any:
        """Return one record per cluster: its rule in words, and how well it fits.

        Parameters
        ----------
        feature_names : list of str, optional
            Names of the columns; by default those of the training table, or x0, x1, ...
        alternatives : bool, default=False
            Whether to include the rules on other columns, numbered 1, 2, ... in the entry "alternative".
        output : {"auto", "pandas", "polars", "records"}, default="auto"
            A data frame, or a list of dicts; "auto" takes pandas if it is installed, else polars, else
            a list.

        Returns
        -------
        rules : DataFrame or list of dict
            With the entries cluster, rule, rows (that it holds for), share, precision, recall, f1, lift, and
            proved: whether it is proved that no rule of at most `max_conditions` conditions is better, which
            is never so for more than two.

        Examples
        --------
        >>> from spexplain import ClusterRules
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> rules = ClusterRules(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> rules.rules()[["cluster", "rule", "precision", "recall"]]
          cluster      rule  precision  recall
        0     VIP  age > 40        1.0     1.0
        1     new  age ≤ 40        1.0     1.0
        """
        return as_frame(self._fitted(feature_names).records(alternatives=alternatives), output)

    def matches(self, X: Any) -> Any:
        """Return which rules hold for which rows.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
            Rows with the columns of the training table; columns that no rule uses may be absent from a data
            frame.

        Returns
        -------
        matches : array of bool, shape (n_rows, n_clusters)
            Clusters in the order of ``classes_``.

        Examples
        --------
        >>> from spexplain import ClusterRules
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> rules = ClusterRules(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> rules.matches([[22, 1], [70, 3]])
        array([[False,  True],
               [ True, False]])
        """
        masks = self._fitted().masks(self._check_rows(X))
        return np.stack(masks, axis=1)

    def predict(self, X: Any) -> Any:
        """Return the cluster of every row by the rules, in the caller's own label type.

        Where rules of several clusters hold, the one that stands first in ``order_`` decides. Rows that
        meet no rule get -1 among numbers, "-1" among texts, None among others.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
            Rows with the columns of the training table.

        Returns
        -------
        labels : array of shape (n_rows,)

        Examples
        --------
        >>> from spexplain import ClusterRules
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> rules = ClusterRules(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> rules.predict([[22, 1], [70, 3]]).tolist()
        ['new', 'VIP']
        """
        found = self._fitted()
        codes = found.decided_codes(found.masks(self._check_rows(X)))
        labels = labels_of_codes(found.classes, np.arange(-1, len(found.classes)))
        return look_up(labels, codes + 1)

    def to_text(self, feature_names: Sequence[str] | None = None) -> str:
        """Return the rules in words, with precision, recall, F1, and the numbers of rows that meet no rule or several.

        Parameters
        ----------
        feature_names : list of str, optional
            Names of the columns; by default those of the training table, or x0, x1, ...

        Returns
        -------
        text : str

        Examples
        --------
        >>> from spexplain import ClusterRules
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> rules = ClusterRules(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> print(rules.to_text())
        VIP (3 rows): age > 40
          precision 100%, recall 100%, F1 1.00; holds for 3 rows
          also: orders > 4
                precision 100%, recall 100%, F1 1.00; holds for 3 rows
        new (3 rows): age ≤ 40
          precision 100%, recall 100%, F1 1.00; holds for 3 rows
          also: orders ≤ 4
                precision 100%, recall 100%, F1 1.00; holds for 3 rows
        <BLANKLINE>
        0 rows meet no rule, 0 rows more than one; macro-F1 1.000.
        """
        return self._fitted(feature_names).text()

    def to_sql(
        self,
        *,
        dialect: DialectName = "duckdb",
        table: str | Sequence[str] | None = None,
        name: str = "cluster",
        prefix: str = "is_",
        view: str | Sequence[str] | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> str:
        """Return the rules as SQL: a boolean column for every cluster, and one with the cluster.

        Missing values (NULL, or NaN) and categories never seen in training meet a condition only if the
        condition includes them. Rows that meet no rule have the cluster NULL.

        Parameters
        ----------
        dialect : {"duckdb", "postgresql", "sqlite", "bigquery", "snowflake", "mysql"}
            The database.
        table : str or sequence of str, optional
            The table to label (dots separate its schema); if it is given, a complete query is returned, else
            the columns for a query of your own.
        name : str, default="cluster"
            Name of the column with the cluster.
        prefix : str, default="is_"
            Prefix for the names of the boolean columns; the label follows.
        view : str or sequence of str, optional
            Name of a view over `table` to create.
        feature_names : list of str, optional
            Names of the columns in the database; by default those of the training table.

        Returns
        -------
        sql : str

        Examples
        --------
        >>> from spexplain import ClusterRules
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> rules = ClusterRules(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> print(rules.to_sql(table="customers"))
        SELECT *,
          CASE WHEN "age" > 40 AND NOT isnan("age") THEN TRUE ELSE FALSE END AS "is_VIP",
          CASE WHEN "age" <= 40 THEN TRUE ELSE FALSE END AS "is_new",
          CASE
            WHEN "age" > 40 AND NOT isnan("age") THEN 'VIP'
            WHEN "age" <= 40 THEN 'new'
            ELSE NULL
          END AS "cluster"
        FROM "customers";
        """
        return rules_to_sql(
            self._fitted(feature_names),
            dialect=dialect,
            table=table,
            name=name,
            prefix=prefix,
            view=view,
        )

    def report(
        self,
        path: str | PathLike[str],
        *,
        title: str | None = None,
        texts: Sequence[str] | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> Path:
        """Write the rules as one HTML file that needs no network (extra ``report``).

        Parameters
        ----------
        path : str or path
            The file; it is replaced if it exists, and never left half-written.
        title : str, optional
            Heading of the report.
        texts : sequence of str, optional
            The documents, one per training row: the report shows three for every cluster and marks words of the rules.
        feature_names : list of str, optional
            Names of the columns; by default those of the training table, or x0, x1, ...

        Returns
        -------
        path : Path
            Where it was written.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from spexplain import ClusterRules
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> rules = ClusterRules(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> with TemporaryDirectory() as folder:
        ...     rules.report(Path(folder, "rules.html")).name
        'rules.html'
        """
        from spexplain.show.report import write
        from spexplain.show.report.rule_cards import render_rules

        found = self._fitted(feature_names)
        if texts is not None:
            texts = list(texts)
            if found.n_rows is None:
                raise ValueError(
                    "texts belong to training rows, which rules read from JSON do not know; pass texts to the report "
                    "of the fitted ClusterRules."
                )
            check_texts(texts, found.n_rows)
        return write(path, render_rules(found, title=title, texts=texts))

    def to_json(self, *, profile: Literal["tested", "none"] = "tested") -> str:
        """Return the rules as JSON text that `spexplain.from_json` reads.

        Parameters
        ----------
        profile : {"tested", "none"}, default="tested"
            What is stored about the training rows, for `check` to compare new rows with: counts and quantiles of the
            columns that the rules use, or nothing.

        Returns
        -------
        text : str

        Examples
        --------
        >>> from spexplain import from_json
        >>> from spexplain import ClusterRules
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> rules = ClusterRules(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> from_json(rules.to_json()).predict([[22, 1], [70, 3]]).tolist()
        ['new', 'VIP']
        """
        check_choice("profile", profile, ("tested", "none"))
        return rules_to_json(self._fitted(), with_profile=profile == "tested")

    def check(
        self,
        X: Any,
        y: Any = None,
        *,
        max_psi: float = MAX_PSI,
        fail_on: str | Sequence[str] = "alarm",
    ) -> "Check":
        """Return how new rows differ from those that the rules were fitted to.

        Checks the same as for trees: columns that are missing, renamed or of another kind, values out of range,
        units, new categories, missing values, drift of the columns that rules use, and the shares of the rows that
        the rules put into every cluster, and into none.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
            The rows: NumPy, any data frame, sparse, or a Dask collection, from which only counts are transferred.
        y : array of shape (n_rows,), optional
            Labels of the rows, to check whether the rules still fit them.
        max_psi : float, default=0.2
            Population stability index above which a column, or the segments, have drifted.
        fail_on : str or list of str, default="alarm"
            What makes the check fail: "alarm", "any", "none", or kinds of findings such as "new-category".

        Returns
        -------
        check : Check
            The result, with `passed`, `findings`, `to_text()`, `to_json()` and `report(path)`.

        Examples
        --------
        >>> from spexplain import ClusterRules
        >>> X = [[20], [25], [31], [52], [58], [60]] * 20
        >>> rules = ClusterRules(1, feature_names=["age"]).fit(X, (["young"] * 3 + ["old"] * 3) * 20)
        >>> rules.check(X).passed
        True
        >>> print(rules.check([[100 * age] for [age] in X]).findings[0]["text"])
        age is about 100× what it was (median about 31 then, 3100 now): cents, or percent?
        """
        from spexplain.explanation.check import check_rows

        return check_rows(self._fitted(), X, y, max_psi=max_psi, fail_on=fail_on)

    def overlaps(self, *, output: FrameKind = "auto") -> Any:
        """Return how many rows the rules of any two clusters both hold for, or their weight.

        Parameters
        ----------
        output : {"auto", "pandas", "polars", "records"}, default="auto"
            As for `rules`.

        Returns
        -------
        overlaps : DataFrame or list of dict
            One record per cluster, with an entry for every cluster.

        Examples
        --------
        >>> from spexplain import ClusterRules
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> rules = ClusterRules(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> rules.overlaps(output="records")
        [{'cluster': 'VIP', 'VIP': 3, 'new': 0}, {'cluster': 'new', 'VIP': 0, 'new': 3}]
        """
        found = self._fitted()
        records = [
            {"cluster": label}
            | {str(other): _plain(x) for other, x in zip(found.labels, row, strict=True)}
            for label, row in zip(found.labels, found.overlap.tolist(), strict=True)
        ]
        return as_frame(records, output)


class LoadedRules(RulesModel):
    """Rules that were read from JSON instead of fitted; all methods work that need no training rows.

    Parameters
    ----------
    rule_set : RuleSet
        The rules and what is known about them.

    Attributes
    ----------
    explanation_ : RuleSet
        The result of the fit; all methods of the model read it.
    classes_ : array of shape (k,)
        The labels of the clusters.
    order_ : list
        The labels by precedence.
    n_features_in_ : int
        Number of columns that rows must have.
    feature_names_in_ : array of str, shape (n_features,)
        Names of the columns; only if the training table had names.
    """

    def __init__(self, rule_set: RuleSet) -> None:
        self.explanation_ = rule_set
        self.classes_ = rule_set.classes
        self.order_ = [rule_set.labels[code] for code in rule_set.order]
        self.n_features_in_ = len(rule_set.fields)
        if rule_set.columns is not None:
            self.feature_names_in_ = np.array(rule_set.columns, dtype=object)

    def _check_rows(self, X: Any, *, whole: bool = False) -> Rows:
        return read_rows(X, self, whole=whole)

    def __repr__(self) -> str:
        return f"LoadedRules({len(self.classes_)} clusters, {self.n_features_in_} columns)"


def read_rules(text: str | bytes) -> RuleSet:
    """Return the record that `to_json` of `ClusterRules` wrote; anything else is refused in one sentence."""
    parts = stored_rules(text)
    clusters = tuple(_cluster_rule(each) for each in parts.pop("clusters"))
    return RuleSet(clusters=clusters, **parts)


def _cluster_rule(parts: dict[str, Any]) -> ClusterRule:
    others = tuple(_cluster_rule(each) for each in parts.pop("alternatives"))
    return ClusterRule(**parts, alternatives=others)
