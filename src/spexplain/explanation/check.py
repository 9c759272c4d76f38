"""Compares new rows with those that a model was fitted to."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from spexplain.aliases import Array, Ints
from spexplain.arguments import check_number
from spexplain.explanation.explanation import Explanation
from spexplain.explanation.rule_set import Decision, RuleSet
from spexplain.facts.drift import (
    KINDS,
    CheckFacts,
    FindingFacts,
    KnownLeaves,
    check_text,
    compare,
)
from spexplain.facts.profiles import MAX_PSI, ColumnProfile
from spexplain.facts.tally import ColumnTally, Tally, Watched, merged
from spexplain.messages import closest
from spexplain.table.columns import (
    Cells,
    cells_of,
    column_names,
    is_frame,
    is_missing,
    unmasked,
)
from spexplain.table.read import checked_type
from spexplain.table.storage import is_collection, is_on_device, is_sparse, on_host
from spexplain.tree import Column, Tree

_MAX_GUESSES = 20  # columns that are considered as new names of a missing one
_WORDS = ("alarm", "any", "none")


@dataclass(frozen=True)
class Check:
    """The result of a check of new rows.

    Parameters
    ----------
    facts : dict
        All results, ready for JSON; described in `spexplain.facts.drift.CheckFacts`.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain import CART
    >>> rng = np.random.default_rng(0)
    >>> spent = np.concatenate([rng.normal(20, 4, 300), rng.normal(90, 9, 100)])[:, None]
    >>> model = CART(feature_names=["spent"]).fit(spent, spent[:, 0] > 50)
    >>> model.check(spent + 1).passed
    True
    >>> print(model.check(100 * spent).findings[0]["text"])
    spent is about 100× what it was (median about 21 then, 2200 now): cents, or percent?
    """

    facts: CheckFacts

    @property
    def passed(self) -> bool:
        """Whether there are no findings of the kinds given by `fail_on`.

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> check = explainer.check([[20, 1], [61, 9]] * 30)
        >>> check.passed
        False
        """
        return self.facts["passed"]

    @property
    def findings(self) -> list[FindingFacts]:
        """The differences found, alarms first: kind, level, column or segment, and a sentence.

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> check = explainer.check([[20, 1], [61, 9]] * 30)
        >>> [(each["level"], each["kind"]) for each in check.findings]
        [('alarm', 'drift'), ('notice', 'out-of-range')]
        """
        return self.facts["findings"]

    def __bool__(self) -> bool:
        return self.passed

    def to_text(self) -> str:
        """Return the findings as plain text, one line each.

        Returns
        -------
        text : str

        Examples
        --------
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> check = explainer.check([[20, 1], [61, 9]] * 30)
        >>> print(check.to_text())
        Check failed: 60 rows against BestTree, which saw 6; 1 alarm and 1 notice.
          alarm   drift: age is distributed differently: PSI 2.6, limit 0.2.
          notice  out-of-range: age: 30 of 60 values lie above the greatest value seen, 60 (now up to 61).
        """
        return check_text(self.facts)

    def to_json(self) -> str:
        """Return all results as JSON.

        Returns
        -------
        text : str

        Examples
        --------
        >>> import json
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> check = explainer.check([[20, 1], [61, 9]] * 30)
        >>> json.loads(check.to_json())["passed"]
        False
        """
        return json.dumps(self.facts, indent=1, ensure_ascii=True, allow_nan=False) + "\n"

    def report(self, path: str | PathLike[str], *, title: str | None = None) -> Path:
        """Write the check as one HTML page that needs no network (extra ``report``).

        Parameters
        ----------
        path : str or path
            The file; it is replaced if it exists, and never left half-written.
        title : str, optional
            Heading of the page.

        Returns
        -------
        path : Path
            Where it was written.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from spexplain import BestTree
        >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
        >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
        >>> check = explainer.check([[20, 1], [61, 9]] * 30)
        >>> with TemporaryDirectory() as folder:
        ...     check.report(Path(folder, "check.html")).name
        'check.html'
        """
        from spexplain.show.report import render_check, write

        return write(path, render_check(self.facts, title=title))

    def __str__(self) -> str:
        return self.to_text()


class Plan(NamedTuple):
    """What a check looks at in new rows; small enough to be sent to every worker."""

    watched: tuple[tuple[int, Watched], ...]  # by the number of the column
    tested: tuple[int, ...]
    tree: Tree | Decision  # over the tested columns
    names: tuple[str, ...] | None  # of all columns; None: columns are found by position
    classes: tuple[Any, ...] | None  # labels of the clusters, if rows come with labels
    allow_missing: bool

    @classmethod
    def of(cls, explanation: Explanation | RuleSet, *, with_labels: bool = False) -> "Plan":
        """Return what a check of a model looks at in new rows."""
        tree: Tree | Decision
        classes: Array | None
        seen = explanation.profile
        if isinstance(explanation, RuleSet):
            tree, used, classes = explanation.decision, explanation.deciding, explanation.classes
        else:
            seen = explanation.seen if seen is None else seen
            tree, used, classes = explanation.tree, explanation.used, _classes(explanation)
        known: Mapping[int, ColumnProfile] = {} if seen is None else seen.columns
        fields = explanation.fields
        watched = tuple(
            (each, Watched(fields[each], known.get(each))) for each in sorted({*used, *known})
        )
        is_named = explanation.columns is not None and all(
            isinstance(each, str) for each in explanation.columns
        )
        return cls(
            watched,
            tuple(used),
            tree.over(used),
            explanation.names if is_named else None,
            tuple(classes.tolist()) if with_labels and classes is not None else None,
            explanation.parameters.get("missing", "allow") != "error",
        )

    def empty(self) -> Tally:
        """Return counts of no rows."""
        n_clusters = None if self.classes is None else len(self.classes)
        return Tally.of([each for _, each in self.watched], self.tree.n_leaves, n_clusters)

    @property
    def tested_columns(self) -> list[Column]:
        """What the tested columns hold."""
        fields = {number: each.column for number, each in self.watched}
        return [fields[number] for number in self.tested]


def check_rows(
    explanation: Explanation | RuleSet,
    X: Any,
    y: Any = None,
    *,
    max_psi: float = MAX_PSI,
    fail_on: str | Sequence[str] = "alarm",
) -> Check:
    """Return how new rows differ from those that a model was fitted to; see `FittedModel.check`."""
    limits = checked_limits(max_psi, fail_on)
    check_profile(explanation)
    X = checked_type(X)
    plan = Plan.of(explanation, with_labels=y is not None)
    if y is not None and plan.classes is None:
        raise ValueError(
            f"y is compared with the clusters of the leaves, but this {explanation.method} was fitted without "
            "reference labels; leave y out."
        )
    tally = _tally_of_collection(X, y, plan) if is_collection(X) else tally_of(X, y, plan)
    if not tally.n_rows:
        raise ValueError(
            "X has no rows; pass at least one new row to compare with the training rows."
        )
    return compared(explanation, tally, plan, limits)


def check_profile(explanation: Explanation | RuleSet) -> None:
    """Refuse rules from a file without a profile of the training rows."""
    if isinstance(explanation, RuleSet) and explanation.profile is None:
        raise ValueError(
            "These rules have no profile of their training rows to compare new rows with: their file "
            'was written with profile="none" or by an older version; fit ClusterRules and write them again.'
        )


def checked_limits(max_psi: float, fail_on: str | Sequence[str]) -> tuple[float, tuple[str, ...]]:
    """Return the limits of a check; refuse invalid ones."""
    check_number("max_psi", max_psi)
    given = [fail_on] if isinstance(fail_on, str) else list(fail_on)
    names = [part.strip() for each in given for part in str(each).split(",") if part.strip()]
    for name in names:
        if name not in (*KINDS, *_WORDS):
            raise ValueError(
                f"fail_on={name!r} is not a kind of finding{closest(name, (*_WORDS, *KINDS))}"
            )
    return float(max_psi), tuple(names)


def compared(
    explanation: Explanation | RuleSet,
    tally: Tally,
    plan: Plan,
    limits: tuple[float, tuple[str, ...]],
) -> Check:
    """Return the check of rows that have been counted."""
    absent = [each for each in plan.tested_columns if each.name not in tally.columns]
    max_psi, fail_on = limits
    facts = compare(tally, absent, _known(explanation), max_psi=max_psi, fail_on=fail_on)
    return Check(facts)


def _classes(explanation: Explanation) -> Array | None:
    """Return the clusters; if they are not known, those that leaves stand for."""
    if explanation.classes is not None or explanation.leaf_reference is None:
        return explanation.classes
    return np.unique(explanation.leaf_reference)


def _known(explanation: Explanation | RuleSet) -> KnownLeaves:
    """Return the segments: the leaves of a model, or the rows that rules put into every cluster and into none."""
    if isinstance(explanation, RuleSet):
        codes = np.append(np.arange(len(explanation.classes)), -1)
        sizes = np.array(explanation.decided, dtype=np.int64)
        right = np.append(np.array(explanation.right, dtype=np.float64), 0.0)
        return KnownLeaves(
            explanation.method,
            sizes,
            [*explanation.labels, None],
            codes,
            right / np.maximum(sizes, 1),
            int(sizes.sum()) * len(explanation.fields),
            has_leaves=False,
        )
    classes, labels = _classes(explanation), explanation.leaf_reference
    codes = np.full(explanation.tree.n_leaves, -1)
    if classes is not None and labels is not None:
        number = {label: code for code, label in enumerate(classes.tolist())}
        codes = np.array([number.get(label, -1) for label in labels.tolist()], dtype=np.int64)
    sizes = np.asarray(explanation.node_sizes)[explanation.tree.leaves].astype(np.int64)
    return KnownLeaves(
        explanation.method,
        sizes,
        None if labels is None else labels.tolist(),
        codes,
        explanation.leaf_purity,
        int(sizes.sum()) * explanation.tree.n_features,
    )


def tally_of(X: Any, y: Any, plan: Plan) -> Tally:
    """Return the counts of rows in memory.

    Parameters
    ----------
    X : array or data frame
        The rows.
    y : array, optional
        Their labels.
    plan : Plan
        What is looked at.
    """
    by_name = plan.names is not None and is_frame(X)
    if not by_name:
        X = _as_array(X, len(plan.names or ()) or None)
    if y is not None and len(y) != X.shape[0]:
        raise ValueError(f"y has {len(y):,} labels, but X has {X.shape[0]:,} rows.")
    names = [str(name) for name in column_names(X)] if by_name else []
    counts, known = Counter(names), set(plan.names or ())
    cells = {}
    for number, each in plan.watched:
        name = each.column.name
        if by_name and counts[name] != 1:
            continue
        if not by_name and number >= X.shape[1]:
            raise ValueError(
                f"X has {X.shape[1]} columns, but the model tests column {number}; pass all columns in their order."
            )
        cells[number] = _cells(X, name if by_name else number, each.column)
    extra = [name for name in names if name not in known]
    codes = _codes_of(y, plan)
    tally = count_cells(cells, codes, plan, X.shape[0], extra)
    if codes is not None:
        _count_other_labels(tally, y, codes)
    for number in plan.tested if not tally.has_leaves else ():
        watched = dict(plan.watched)[number]
        if number in cells:
            continue
        for name in extra[:_MAX_GUESSES]:
            guess = ColumnTally.of(watched)
            found = cells_of(X, name, watched.column)
            guess.add(found.values, found.is_missing, {}, found.kind)
            tally.guesses[watched.column.name, name] = guess
    return tally


def count_cells(
    cells: Mapping[int, Cells],
    codes: Ints | None,
    plan: Plan,
    n_rows: int,
    extra: Sequence[str] = (),
) -> Tally:
    """Return the counts of rows whose columns have been read, by the numbers of the columns."""
    tally = plan.empty()
    tally.n_rows, tally.extra = n_rows, list(extra)
    for number, each in plan.watched:
        if number in cells:
            tally.columns[each.column.name].add(*cells[number])
        else:
            del tally.columns[each.column.name]
    tally.has_leaves = all(number in cells for number in plan.tested)
    if tally.has_leaves:
        tally.add_leaves(leaves_of_cells(cells, plan, n_rows), codes)
    return tally


def leaves_of_cells(cells: Mapping[int, Cells], plan: Plan, n_rows: int) -> Ints:
    """Return the leaf of every row, -1 for rows with a value that could not be read."""
    if not plan.tested:
        return np.zeros(n_rows, dtype=np.int64)
    fields = dict(plan.watched)
    values = np.column_stack([cells[number].values for number in plan.tested])
    leaves = plan.tree.apply(values)
    for number in plan.tested:
        found = cells[number]
        is_empty = np.isnan(found.values)
        if fields[number].column.kind == "category":  # never seen: it goes where missing values go
            is_empty = found.is_missing
        leaves[is_empty & (~found.is_missing | (not plan.allow_missing))] = -1
    return leaves


def _cells(X: Any, place: int | str, column: Column) -> Cells:
    if not is_sparse(X):
        return cells_of(X, place, column)
    dense = np.asarray(X[:, [place]].toarray(), dtype=np.float64)
    return cells_of(dense, 0, column)


def _as_array(X: Any, n_columns: int | None) -> Any:
    """Return rows whose columns are found by position."""
    if is_sparse(X):
        return X.tocsc()
    if is_on_device(X):
        X = on_host(X)
    if is_frame(X):
        return X
    table = np.asarray(X)
    if table.dtype.kind not in "biufmM":
        table = np.asarray(X, dtype=object)
    if table.ndim != 2:
        raise ValueError(f"X must be a table of two dimensions, got {table.ndim}.")
    if n_columns is not None and table.shape[1] != n_columns:
        raise ValueError(
            f"X has {table.shape[1]} columns without names, but the model knows {n_columns}; pass a data frame, or "
            "all columns in their order."
        )
    return table


def _codes_of(y: Any, plan: Plan) -> Ints | None:
    """Return the number of the cluster of every label, -1 for other labels.

    A label may be a number where the cluster is a text, and the other way round, and 1.0 is 1: labels become floats
    where one of them is missing.
    """
    if y is None or plan.classes is None:
        return None
    number: dict[Any, int] = {}
    for code, label in enumerate(plan.classes):
        for key in (label, _label_text(label), str(label)):
            number.setdefault(key, code)
    codes = [
        number[label] if label in number else number.get(_label_text(label), -1)
        for label in _plain_labels(y)
    ]
    return np.array(codes, dtype=np.int64)


def _label_text(label: Any) -> str:
    """Return a label as text, whole numbers without a point."""
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def _count_other_labels(tally: Tally, y: Any, codes: Ints) -> None:
    for label, code in zip(_plain_labels(y), codes.tolist(), strict=True):
        if code < 0 and not is_missing(label) and _label_text(label) not in ("-1", "-1.0"):
            tally.other_labels[_label_text(label)] += 1


def _plain_labels(y: Any) -> list[Any]:
    return list(np.asarray(on_host(y) if is_on_device(y) else unmasked(y)).ravel().tolist())


def _tally_of_collection(X: Any, y: Any, plan: Plan) -> Tally:
    """Return the counts of a Dask collection: one pass, and only counts are transferred."""
    from spexplain.table.workers import Workers

    if hasattr(X, "columns"):
        names = list(X.columns)
        if plan.names is not None:
            known = set(plan.names)
            wanted = {each.column.name for _, each in plan.watched}
            needs_guesses = any(each.name not in names for each in plan.tested_columns)
            extra = [each for each in names if each not in known][:_MAX_GUESSES]
            kept = [each for each in names if each in wanted or (needs_guesses and each in extra)]
            X = X[kept or names[:1]]
        blocks = list(X.to_delayed())
    else:
        blocks = list(X.rechunk({1: X.shape[1]}).to_delayed()[:, 0])
    workers = Workers()
    held = workers.hold(plan)
    labels = [None] * len(blocks) if y is None else _label_blocks(y, blocks)
    arguments = [(block, each, held) for block, each in zip(blocks, labels, strict=True)]
    whole: Tally = workers.ask("check", tally_of, arguments, merged)
    return whole


def _label_blocks(y: Any, blocks: list[Any]) -> list[Any]:
    """Return the labels of every partition."""
    import dask

    if hasattr(y, "to_delayed"):
        found = list(np.ravel(y.to_delayed()))
        if len(found) == len(blocks):
            return found
        y = y.compute()
    lengths = dask.compute(*[dask.delayed(len)(block) for block in blocks])
    labels, ends = np.asarray(y), np.cumsum(lengths)
    if len(labels) != ends[-1]:
        raise ValueError(f"y has {len(labels):,} labels, but X has {ends[-1]:,} rows.")
    return [labels[end - length : end] for length, end in zip(lengths, ends, strict=True)]
