"""The tree as SQL: an expression that gives every row of a table its label."""

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from spexplain.arguments import check_choice
from spexplain.export.dialects import DIALECTS, Dialect, DialectName
from spexplain.export.labels import LabelKind
from spexplain.tree import LEAF, Column, Region, Tree, python_value
from spexplain.tree.boxes import leaf_boxes

if TYPE_CHECKING:
    from spexplain.explanation import Explanation

# With more CASEs inside each other there is one line a leaf: SQLite's parser gives up at 20 (version 3.40).
_NESTED_DEPTH = 12
_ALWAYS, _NEVER = "1 = 1", "1 = 0"


def to_sql(
    explanation: "Explanation",
    *,
    dialect: DialectName = "duckdb",
    table: str | Sequence[str] | None = None,
    label: LabelKind = "leaf",
    name: str = "cluster",
    view: str | Sequence[str] | None = None,
    booleans: bool = False,
) -> str:
    """Return the tree as a CASE expression, a query or a view.

    It reads the columns as they are and gives the labels that `predict` gives: thresholds are read
    back as the same float64 next to columns of any number type; missing values (NULL, and NaN if
    the database has it) and categories never seen in training go where the tree sends them. Columns of 0
    and 1 are compared with ``= 1``, booleans with ``= TRUE`` (in SQLite ``= 1``). SQLite has no dates: it compares
    texts such as 1997-05-26 or 1997-05-26 12:30:00. A model that refuses missing values
    (``missing="error"``) gives NULL where a test needs one.

    Parameters
    ----------
    explanation : Explanation
        The explanation to export.
    dialect : {"duckdb", "postgresql", "sqlite", "bigquery", "snowflake", "mysql"}
        The database.
    table : str or sequence of str, optional
        The table to label; if it is given, a complete query is returned. Dots separate a schema from its
        table; pass a name that contains a dot itself as a sequence of parts.
    label : {"leaf", "reference"}
        Leaf ids, or the reference label that each leaf stands for.
    name : str
        Name of the new column in a query or view.
    view : str or sequence of str, optional
        Name of a view over `table` to create.
    booleans : bool, default=False
        Whether to add a boolean column per label that tells whether a row has it, such as ``cluster_vip``;
        needs a `table`.

    Returns
    -------
    sql : str
        An expression; with `table`, a statement.

    Examples
    --------
    >>> from spexplain.explanation import Explanation
    >>> from spexplain.export import to_sql
    >>> from spexplain.tree import Tree
    >>> tree = Tree.root(n_features=2, size=10).split(0, feature=1, threshold=0.5)
    >>> print(to_sql(Explanation(tree, ("width", "height")), dialect="mysql", table="boxes"))
    SELECT *,
      CASE
        WHEN `height` <= 0.5 THEN 0
        ELSE 1
      END AS `cluster`
    FROM `boxes`;
    """
    check_choice("dialect", dialect, DIALECTS)
    spelling = DIALECTS[dialect]
    if table is None:
        if view is not None:
            raise ValueError(f"view={view!r} needs a table to look at: pass table as well.")
        if booleans:
            raise ValueError("booleans=True gives several columns: pass the table as well.")
        return "\n".join(_case(explanation, spelling, label))
    source = path_sql(spelling, table, "table")
    query = query_of(explanation, source, spelling, label=label, name=name, booleans=booleans)
    if view is not None:
        query = f"CREATE VIEW {path_sql(spelling, view, 'view')} AS\n{query}"
    return query + ";"


def query_of(
    explanation: "Explanation",
    source: str,
    dialect: Dialect,
    *,
    label: LabelKind,
    name: str,
    booleans: bool,
) -> str:
    """Return a query that labels the rows of `source`, which is already quoted for the database."""
    check_new_column(explanation, dialect, name)
    lines = ["  " + line for line in _case(explanation, dialect, label)]
    new = dialect.identifier(name, "name")
    lines[-1] += f" AS {new}"
    query = ["SELECT *,", *lines, f"FROM {source}"]
    if booleans:
        flags = boolean_columns(explanation, dialect, label, name)
        tests = [
            f"  {new} = {literal} AS {dialect.identifier(column, 'name')}"
            for column, literal in flags.items()
        ]
        inner = ["  " + line for line in query]
        query = ["SELECT *,", ",\n".join(tests), "FROM (", *inner, ") AS labelled"]
    return "\n".join(query)


def boolean_columns(
    explanation: "Explanation", dialect: Dialect, label: LabelKind, name: str
) -> dict[str, str]:
    """Return, for every label, the name of its boolean column and the label as a literal of the database."""
    found: dict[str, str] = {}
    for each in dict.fromkeys(explanation.leaf_labels(label)):
        column = f"{name}_{each}"
        check_new_column(explanation, dialect, column)
        known = {other.lower() if dialect.folds_case else other for other in found}
        if (column.lower() if dialect.folds_case else column) in known:
            raise ValueError(
                f"Two labels would give the column {column!r}, which {dialect.title} has once; rename one."
            )
        found[column] = dialect.literal(each)
    return found


def _case(explanation: "Explanation", dialect: Dialect, label: LabelKind) -> list[str]:
    """Return the lines of an expression that gives every row its label."""
    columns = quoted_columns(explanation, dialect)
    labels = [dialect.literal(each) for each in explanation.leaf_labels(label)]
    write = _nested if _n_cases(explanation.tree) <= _NESTED_DEPTH else _flat
    return write(explanation, dialect, columns, labels)


def quoted_columns(explanation: Any, dialect: Dialect) -> dict[int, str]:
    """Return the quoted names of the tested columns; refuse names that mean two columns."""
    names, used = _names(explanation), explanation.used
    owners: dict[str, int] = {}
    for column, name in enumerate(names):
        key = name.lower() if dialect.folds_case else name
        other = owners.setdefault(key, column)
        if other != column and not {column, other}.isdisjoint(used):
            raise ValueError(
                f"feature_names holds {names[other]!r} and {name!r}, "
                f"which {dialect.title} cannot tell apart."
            )
    return {column: dialect.identifier(names[column], "feature_names") for column in used}


def _names(explanation: Any) -> list[str]:
    """Return the names of the columns in the database; numbers stay numbers."""
    return [str(each) for each in explanation.keys]


def check_new_column(explanation: Any, dialect: Dialect, name: Any) -> None:
    """Refuse a new column that would hide one of the table."""
    if not isinstance(name, str):
        raise ValueError(f"name={name!r} must be a string.")
    taken = {each.lower() if dialect.folds_case else each for each in _names(explanation)}
    if (name.lower() if dialect.folds_case else name) in taken:
        raise ValueError(f"name={name!r} is already a column of the table; choose another name.")


def path_sql(dialect: Dialect, path: Any, argument: str) -> str:
    """Return a table's quoted name with its schema, if it has one."""
    parts = path.split(".") if isinstance(path, str) else path
    if (
        not isinstance(parts, Sequence)
        or not parts
        or not all(isinstance(part, str) and part for part in parts)
    ):
        raise ValueError(f"{argument}={path!r} must be a name, or a sequence of its parts.")
    return ".".join(dialect.identifier(part, argument) for part in parts)


def _n_cases(tree: Tree) -> int:
    """Return how many CASEs stand inside each other: one more with every test below a yes."""
    depths = np.ones(tree.n_nodes, dtype=np.int64)
    inner = np.flatnonzero(tree.feature != LEAF)
    for node in inner:  # parents come first
        depths[tree.left[node]], depths[tree.right[node]] = depths[node] + 1, depths[node]
    return int(depths[inner].max(initial=0))


def _nested(
    explanation: "Explanation", dialect: Dialect, columns: dict[int, str], labels: list[str]
) -> list[str]:
    """Return the tree in its own shape: the no branch is the next WHEN, the yes branch a nested CASE."""
    tree, lines = explanation.tree, []

    def label(node: int) -> str:
        return labels[explanation.leaf_ids[node]]

    def write(node: int, indent: str, asked: frozenset[int]) -> None:
        lines.append(f"{indent}CASE")
        while tree.feature[node] != LEAF:
            test = tree.test(node)
            x, column = columns[test.feature], explanation.fields[test.feature]
            if _refuses_missing(explanation) and test.feature not in asked:
                is_missing, _ = condition_sql(dialect, x, Region(()), column)
                lines.append(f"{indent}  WHEN {is_missing} THEN NULL")
            asked |= {test.feature}
            condition, _ = condition_sql(dialect, x, test.region(), column)
            left, node = int(tree.left[node]), int(tree.right[node])
            if tree.feature[left] == LEAF:
                lines.append(f"{indent}  WHEN {condition} THEN {label(left)}")
            else:
                lines.append(f"{indent}  WHEN {condition} THEN")
                write(left, indent + "    ", asked)
        lines.extend([f"{indent}  ELSE {label(node)}", f"{indent}END"])

    if tree.n_leaves == 1:
        return [label(0)]
    write(0, "", frozenset())
    return lines


def _flat(
    explanation: "Explanation", dialect: Dialect, columns: dict[int, str], labels: list[str]
) -> list[str]:
    """Return one CASE with the rule of every leaf."""
    lines = ["CASE"]
    for box, label in zip(leaf_boxes(explanation.tree), labels, strict=True):
        texts = []
        for feature, region in box.items():
            wanted = region._replace(missing=False) if _refuses_missing(explanation) else region
            text, has_or = condition_sql(
                dialect, columns[feature], wanted, explanation.fields[feature]
            )
            texts.append(f"({text})" if has_or and len(box) > 1 else text)
        lines.append(f"  WHEN {' AND '.join(texts)} THEN {label}")
    if not _refuses_missing(explanation):
        lines[-1] = f"  ELSE {labels[-1]}"
    return [*lines, "END"]


def _refuses_missing(explanation: "Explanation") -> bool:
    """Whether rows get no label if a test needs a missing value, since `predict` refuses them."""
    return explanation.parameters.get("missing") == "error"


def condition_sql(dialect: Dialect, x: str, region: Region, column: Column) -> tuple[str, bool]:
    """Return a condition that is true exactly in a region, and whether it is joined by OR."""
    if region.is_all:
        return _ALWAYS, False
    if not region.intervals and not region.missing:
        return _NEVER, False
    x = _read(dialect, x, column)
    if column.kind == "category":
        parts = _categories(dialect, x, region, column)
    elif column.kind in ("boolean", "flag"):
        parts = _yes_or_no(dialect, x, region, column)
    else:
        parts = _numbers(dialect, x, region, column)
    return " OR ".join(parts) or _NEVER, len(parts) > 1


def _read(dialect: Dialect, x: str, column: Column) -> str:
    """Return a column as `predict` reads it, since the database may store its values in other types."""
    if column.kind == "category":
        types = {type(each) for each in column.categories}
        if types == {bool}:
            return dialect.as_truth(x)
        return dialect.as_number(x) if types <= {int, float} else x
    if column.kind == "duration":
        return x
    kinds = {"boolean": dialect.as_truth, "date": dialect.as_date}
    return kinds.get(column.kind, dialect.as_number)(x)


def _categories(dialect: Dialect, x: str, region: Region, column: Column) -> list[str]:
    """Return the conditions, one of which holds, of categories; unseen categories count as missing."""
    argument = f"Column {column.name!r}"
    values = list(map(python_value, column.categories))
    types = {_TYPES.get(type(value), type(value).__name__) for value in values}
    if len(types) > 1 or not types <= set(_TYPES.values()):
        raise ValueError(
            f"{argument} has categories of type {', '.join(sorted(types))}, which no column of {dialect.title} "
            "can hold; turn them into texts before fit."
        )
    read = dialect.exact_text(x) if types == {"text"} else x
    inside = region.codes(len(values))
    listed = [code for code in range(len(values)) if (code in inside) != region.missing]
    texts = [
        dialect.number(values[code])
        if isinstance(values[code], float)
        else dialect.literal(values[code], argument)
        for code in listed
    ]
    no = "NOT " if region.missing else ""
    if not texts:
        return [_ALWAYS if region.missing else _NEVER]
    if len(texts) == 1:
        found = f"{read} {'<>' if region.missing else '='} {texts[0]}"
    else:
        found = f"{read} {no}IN ({', '.join(texts)})"
    return [found, f"{x} IS NULL"] if region.missing else [found]


_TYPES: dict[type, str] = {str: "text", int: "number", float: "number", bool: "boolean"}


def _yes_or_no(dialect: Dialect, x: str, region: Region, column: Column) -> list[str]:
    """Return the conditions, one of which holds, of booleans and of columns of 0 and 1."""
    codes = region.codes(2)
    if len(codes) == 1:
        value = codes == [1] if column.kind == "boolean" else codes[0]
        return [f"{x} = {dialect.literal(value)}", *_missing(dialect, x, region, column)]
    both = Region().intervals if codes else ()
    return _numbers(dialect, x, Region(both, region.missing), column)


def _missing(dialect: Dialect, x: str, region: Region, column: Column) -> list[str]:
    """Return the conditions that hold for missing values, if the region includes them."""
    if not region.missing:
        return []
    is_nan = [] if dialect.nan is None or column.kind in _WITHOUT_NAN else [dialect.nan(x)[0]]
    return [f"{x} IS NULL", *is_nan]


_WITHOUT_NAN = ("boolean", "date", "duration")


def _numbers(dialect: Dialect, x: str, region: Region, column: Column) -> list[str]:
    """Return the conditions, one of which holds, of intervals and missing values."""
    not_nan = (
        dialect.nan(x)[1] if dialect.nan is not None and column.kind not in _WITHOUT_NAN else None
    )
    parts = []
    for low, high in region.intervals:
        bounds = _bounds(dialect, x, low, high, column)
        if not bounds:
            if region.missing:
                return [_ALWAYS]
            bounds = [f"{x} IS NOT NULL"]
            bounds += [not_nan] if not_nan else []
        elif high == inf and dialect.nan_is_largest and not_nan and not region.missing:
            bounds.append(not_nan)  # NaN would pass as a number above all others
        parts.append(" AND ".join(bounds))
    # Above the largest number NaN has passed already.
    is_open = bool(region.intervals) and region.intervals[-1][1] == inf and dialect.nan_is_largest
    missing = _missing(dialect, x, region, column)
    return parts + (missing[:1] if is_open else missing)


def _bounds(dialect: Dialect, x: str, low: float, high: float, column: Column) -> list[str]:
    """Return what must hold of x for it to lie in an interval."""
    above, below = ">", "<="
    if column.kind == "date":  # at most t is before the microsecond after t
        above, below = ">=", "<"

    def spelled(end: float) -> str:
        if column.kind == "date":
            return dialect.moment(end + 1, column)
        if column.kind == "duration":
            return dialect.duration(end, column)
        return dialect.number(end)

    found = [] if low == -inf else [f"{x} {above} {spelled(low)}"]
    return found if high == inf else [*found, f"{x} {below} {spelled(high)}"]
