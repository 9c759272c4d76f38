"""Exports of rules per cluster: as SQL, and as JSON, which is fully checked when it is read."""

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from spexplain.arguments import check_choice
from spexplain.exceptions import quoted, quoted_list
from spexplain.export.dialects import DIALECTS, Dialect, DialectName
from spexplain.export.labels import plain_labels
from spexplain.export.serialize import (
    check_size,
    described_columns,
    json_lines,
    labels_from,
    names_from,
    parsed,
    read_columns,
    read_seen,
    refusal,
    seen_entries,
)
from spexplain.export.sql import check_new_column, condition_sql, path_sql, quoted_columns
from spexplain.facts.schema import plain_value
from spexplain.tree import Region
from spexplain.tree.rule import Condition, Rule

if TYPE_CHECKING:
    from spexplain.explanation.rule_set import ClusterRule, RuleSet

FORMAT = "spexplain.rules"
VERSION = 2
_ADDED = {"seen", "decided", "right"}  # entries that files of version 1 lack, which are still read
_KEYS = {
    "format",
    "version",
    "written_by",
    "measure",
    "feature_names",
    "columns",
    "n_columns",
    "clusters",
    "rules",
    "order",
    "overlap",
    "total",
    "uncovered",
    "shared",
    "macro_f1",
    "weighted",
    "parameters",
    *_ADDED,
}
_RULE_KEYS = {"any", "covered", "hits", "total", "optimal", "alternatives"}
_CONDITION_KEYS = {"columns", "intervals", "missing"}
_MOST_RULES = 10_000
_NOT_STORED = ("n_jobs", "verbose", "feature_names")


def rules_to_sql(
    rule_set: "RuleSet",
    *,
    dialect: DialectName = "duckdb",
    table: str | Sequence[str] | None = None,
    name: str = "cluster",
    prefix: str = "is_",
    view: str | Sequence[str] | None = None,
) -> str:
    """Return the rules as columns of a query, a whole query or a view.

    Parameters
    ----------
    rule_set : RuleSet
        The rules to export.
    dialect : {"duckdb", "postgresql", "sqlite", "bigquery", "snowflake", "mysql"}
        The database.
    table : str or sequence of str, optional
        The table to label; if it is given, a complete query is returned.
    name, prefix : str
        Name of the column with the cluster, and prefix of the boolean columns of the rules.
    view : str or sequence of str, optional
        Name of a view over `table` to create.
    """
    check_choice("dialect", dialect, DIALECTS)
    spelling = DIALECTS[dialect]
    columns = quoted_columns(rule_set, spelling)
    found = plain_labels(rule_set.classes)
    labels = [str(each) for each in rule_set.labels] if found is None else found[1]
    conditions = [_rules_sql(each, rule_set, spelling, columns) for each in rule_set.clusters]
    yes, no = spelling.literal(True), spelling.literal(False)
    names = [f"{prefix}{label}" for label in labels]
    taken = {name.lower() if spelling.folds_case else name}
    for each in names:
        check_new_column(rule_set, spelling, each)
        key = each.lower() if spelling.folds_case else each
        if key in taken:
            raise ValueError(
                f"Two columns of the query would be called {each!r}; pass another prefix or name, or other labels."
            )
        taken.add(key)
    check_new_column(rule_set, spelling, name)
    lines = []
    for each, condition in zip(names, conditions, strict=True):
        column = spelling.identifier(each, "prefix and labels")
        lines.append(f"  CASE WHEN {condition} THEN {yes} ELSE {no} END AS {column},")
    lines.append("  CASE")
    for code in rule_set.order:
        if rule_set.clusters[code].rules:
            lines.append(f"    WHEN {conditions[code]} THEN {spelling.literal(labels[code])}")
    if lines[-1] == "  CASE":
        lines[-1] = "  NULL"
    else:
        lines += ["    ELSE NULL", "  END"]
    lines[-1] += f" AS {spelling.identifier(name, 'name')}"
    if table is None:
        if view is not None:
            raise ValueError(f"view={view!r} needs a table to look at: pass table as well.")
        return "\n".join(line.removeprefix("  ") for line in lines)
    query = ["SELECT *,", *lines, f"FROM {path_sql(spelling, table, 'table')};"]
    if view is not None:
        query.insert(0, f"CREATE VIEW {path_sql(spelling, view, 'view')} AS")
    return "\n".join(query)


def _rules_sql(
    cluster: "ClusterRule", rule_set: "RuleSet", dialect: Dialect, columns: dict[int, str]
) -> str:
    """Return the condition that a cluster's rule holds."""
    texts = []
    for rule in cluster.rules:
        parts = []
        for condition in rule.conditions:
            found = [
                condition_sql(dialect, columns[each], condition.region, rule_set.fields[each])
                for each in condition.columns
            ]
            text = " OR ".join(f"({one})" if has_or else one for one, has_or in found)
            has_or = len(found) > 1 or found[0][1]
            parts.append(f"({text})" if has_or else text)
        texts.append(" AND ".join(parts))
    if len(texts) > 1:
        return " OR ".join(f"({text})" for text in texts)
    return texts[0] if texts else "1 = 0"


def rules_to_json(rule_set: "RuleSet", *, with_profile: bool = True) -> str:
    """Return the rules as JSON text, one line an entry.

    Parameters
    ----------
    rule_set : RuleSet
        The rules to export. Labels must be strings, integers (int64), finite floats or booleans.
    with_profile : bool
        Whether to include statistics of the training rows in the columns that rules use.
    """
    seen = rule_set.profile if with_profile else None
    labels = plain_labels(rule_set.classes)
    if labels is None:
        raise ValueError(
            f"The labels (dtype {rule_set.classes.dtype}) are not strings, int64 integers, finite floats or booleans, "
            "which is what JSON can hold; fit with such labels."
        )
    n_columns, columns = len(rule_set.fields), rule_set.columns
    check_size(n_columns, 1)
    is_named = columns is not None and all(isinstance(each, str) for each in columns)
    return json_lines(
        {
            "format": FORMAT,
            "version": VERSION,
            "written_by": rule_set.version,
            "measure": rule_set.measure,
            "feature_names": list(rule_set.names) if is_named else None,
            "columns": described_columns(rule_set),
            "n_columns": n_columns,
            "clusters": {"type": labels[0], "labels": labels[1]},
            "rules": [_cluster(each) for each in rule_set.clusters],
            "order": list(rule_set.order),
            "overlap": rule_set.overlap.tolist(),
            "total": float(rule_set.total),
            "uncovered": float(rule_set.uncovered),
            "shared": float(rule_set.shared),
            "macro_f1": float(rule_set.macro_f1),
            "weighted": rule_set.is_weighted,
            "parameters": {
                key: plain_value(each)
                for key, each in rule_set.parameters.items()
                if key not in _NOT_STORED
            },
            "seen": None if seen is None else seen_entries(seen),
            "decided": list(rule_set.decided) if seen is not None else [],
            "right": list(rule_set.right) if seen is not None else [],
        },
        f"Rules over {n_columns} columns with all their categories are",
    )


def _cluster(cluster: "ClusterRule") -> dict[str, Any]:
    return {
        "any": [[_condition(each) for each in rule.conditions] for rule in cluster.rules],
        "covered": float(cluster.covered),
        "hits": float(cluster.hits),
        "total": float(cluster.total),
        "optimal": cluster.is_optimal,
        "alternatives": [_cluster(each) for each in cluster.alternatives],
    }


def _condition(condition: Condition) -> dict[str, Any]:
    ends = [
        [None if abs(end) == inf else end for end in interval]
        for interval in condition.region.intervals
    ]
    return {
        "columns": list(condition.columns),
        "intervals": ends,
        "missing": condition.region.missing,
    }


def stored_rules(text: str | bytes) -> dict[str, Any]:
    """Return the parts of the record that `rules_to_json` wrote; anything else is refused in one sentence."""
    data = parsed(text)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise refusal(f'an object with "format": "{FORMAT}" is expected')
    if data.get("version") not in (1, VERSION):
        raise refusal(
            f"it has format version {quoted(data.get('version'))}, but this spexplain reads up to version {VERSION}"
        )
    if data["version"] == 1 and not _ADDED & set(data):
        data |= {"seen": None, "decided": [], "right": []}
    if set(data) != _KEYS:
        raise refusal(f"missing or unknown entries: {quoted_list(set(data) ^ _KEYS)}")
    try:
        return _parts(data)
    except ValueError as error:
        raise refusal(str(error).rstrip(".")) from None


def _parts(data: dict[str, Any]) -> dict[str, Any]:
    n_columns = data["n_columns"]
    if type(n_columns) is not int or n_columns < 1:
        raise ValueError("n_columns must be a number of columns")
    check_size(n_columns, 1)
    names = names_from(data["feature_names"])
    if names is not None and len(names) != n_columns:
        raise ValueError("feature_names must have one name per column")
    shown = [f"x{each}" for each in range(n_columns)] if names is None else list(names)
    fields = read_columns(data["columns"], shown)
    clusters = data["clusters"]
    if not isinstance(clusters, dict) or set(clusters) != {"type", "labels"}:
        raise ValueError("clusters must hold exactly type and labels")
    classes = labels_from(clusters["type"], clusters["labels"], "clusters")
    k = len(classes)
    rules = data["rules"]
    if not isinstance(rules, list) or len(rules) != k or not k:
        raise ValueError("rules must hold one entry per cluster")
    order = data["order"]
    if (
        not isinstance(order, list)
        or any(type(each) is not int for each in order)
        or sorted(order) != list(range(k))
    ):
        raise ValueError("order must hold the number of every cluster once")
    overlap = data["overlap"]
    is_square = isinstance(overlap, list) and len(overlap) == k
    if not is_square or any(not isinstance(row, list) or len(row) != k for row in overlap):
        raise ValueError("overlap must hold one number per pair of clusters")
    if not isinstance(data["parameters"], dict) or type(data["weighted"]) is not bool:
        raise ValueError("parameters must be an object, and weighted true or false")
    profile = read_seen(data["seen"], tuple(fields), n_columns)
    decided, right = data["decided"], data["right"]
    for counts, length in ((decided, k + 1), (right, k)):
        if not isinstance(counts, list) or len(counts) != (0 if profile is None else length):
            raise ValueError("decided and right must hold one number per cluster, decided one more")
        if any(type(each) is not int or each < 0 for each in counts):
            raise ValueError("decided and right must hold numbers of rows")
    if any(few > many for few, many in zip(right, decided, strict=False)):
        raise ValueError("right must hold no more rows than decided")
    texts = {key: data[key] for key in ("measure", "written_by")}
    if not all(isinstance(each, str) and len(each) <= 64 for each in texts.values()):
        raise ValueError("measure and written_by must be short strings")
    return {
        "fields": fields,
        "columns": names,
        "classes": classes,
        "clusters": [_read_cluster(each, fields, may_have_others=True) for each in rules],
        "order": tuple(order),
        "overlap": np.array([[_weight(x) for x in row] for row in overlap]),
        "total": _weight(data["total"]),
        "uncovered": _weight(data["uncovered"]),
        "shared": _weight(data["shared"]),
        "macro_f1": _weight(data["macro_f1"]),
        "measure": texts["measure"],
        "is_weighted": data["weighted"],
        "parameters": data["parameters"],
        "version": texts["written_by"],
        "profile": profile,
        "decided": tuple(decided),
        "right": tuple(right),
    }


def _weight(x: Any) -> float:
    if type(x) not in (int, float) or not 0 <= x < inf:
        raise ValueError("weights of rules must be numbers of at least 0")
    return float(x)


def _read_cluster(data: Any, fields: Sequence[Any], *, may_have_others: bool) -> dict[str, Any]:
    if not isinstance(data, dict) or set(data) != _RULE_KEYS:
        raise ValueError(f"a rule must hold exactly {', '.join(sorted(_RULE_KEYS))}")
    found, others = data["any"], data["alternatives"]
    if type(data["optimal"]) is not bool or not isinstance(found, list) or len(found) > _MOST_RULES:
        raise ValueError("a rule must hold lists of conditions, and optimal true or false")
    if not isinstance(others, list) or (others and not may_have_others):
        raise ValueError("alternatives must be a list of rules that have none themselves")
    rules = []
    for conditions in found:
        if not isinstance(conditions, list) or not 1 <= len(conditions) <= _MOST_RULES:
            raise ValueError("a rule must be a list of conditions")
        rules.append(Rule(tuple(_read_condition(each, fields) for each in conditions)))
    return {
        "rules": tuple(rules),
        "covered": _weight(data["covered"]),
        "hits": _weight(data["hits"]),
        "total": _weight(data["total"]),
        "is_optimal": data["optimal"],
        "alternatives": [_read_cluster(each, fields, may_have_others=False) for each in others],
    }


def _read_condition(data: Any, fields: Sequence[Any]) -> Condition:
    if not isinstance(data, dict) or set(data) != _CONDITION_KEYS:
        raise ValueError(f"a condition must hold exactly {', '.join(sorted(_CONDITION_KEYS))}")
    columns, intervals, missing = data["columns"], data["intervals"], data["missing"]
    is_good = (
        isinstance(columns, list)
        and 1 <= len(columns) <= _MOST_RULES
        and all(type(each) is int and 0 <= each < len(fields) for each in columns)
        and isinstance(intervals, list)
        and type(missing) is bool
        and all(isinstance(each, list) and len(each) == 2 for each in intervals)
    )
    if not is_good:
        raise ValueError("a condition must have columns of the table, intervals, and missing")
    ends = []
    for low, high in intervals:
        if any(end is not None and type(end) not in (int, float) for end in (low, high)):
            raise ValueError("intervals of a condition must have numbers or null as ends")
        ends.append((-inf if low is None else float(low), inf if high is None else float(high)))
    flat = [end for interval in ends for end in interval]
    if flat != sorted(flat) or any(low == high for low, high in ends):
        raise ValueError("intervals of a condition must stand from low to high")
    is_set = any(fields[each].kind == "category" for each in columns)
    if len(ends) > 1 and not is_set:
        raise ValueError("a condition on numbers must have one interval")
    return Condition(tuple(columns), Region(tuple(ends), missing))
