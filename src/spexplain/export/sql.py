"""The tree as SQL: an expression that gives every row of a table its label."""

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING, Any

from spexplain.arguments import check_choice
from spexplain.export.dialects import DIALECTS, Dialect, DialectName
from spexplain.export.labels import LabelKind
from spexplain.tree import LEAF, Interval
from spexplain.tree.boxes import leaf_boxes

if TYPE_CHECKING:
    from spexplain.explanation import Explanation

# Deeper trees become one line a leaf: SQLite's parser gives up at 20 nested CASEs (version 3.40).
_NESTED_DEPTH = 12


def to_sql(
    explanation: "Explanation",
    *,
    dialect: DialectName = "duckdb",
    table: str | Sequence[str] | None = None,
    label: LabelKind = "leaf",
    name: str = "cluster",
    view: str | Sequence[str] | None = None,
) -> str:
    """Return the tree as a CASE expression, a query or a view.

    A row whose value is missing (NULL or NaN) where a test needs it gets NULL. Thresholds are read
    back as the same float64, so columns of any number type give the labels that `predict` gives.

    Parameters
    ----------
    explanation : Explanation
        What is exported.
    dialect : {"duckdb", "postgresql", "sqlite", "bigquery", "snowflake", "mysql"}
        The database.
    table : str or sequence of str, optional
        The table to label; given, a complete query is returned. Dots separate a schema from its
        table; a name that itself holds a dot is passed as a sequence of its parts.
    label : {"leaf", "reference"}
        Leaf ids, or the reference label that each leaf stands for.
    name : str
        Name of the new column in a query or view.
    view : str or sequence of str, optional
        Name of a view over `table` to create.

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
        WHEN `height` <= 0.5e0 THEN 0
        WHEN `height` > 0.5e0 THEN 1
      END AS `cluster`
    FROM `boxes`;
    """
    check_choice("dialect", dialect, DIALECTS)
    spelling = DIALECTS[dialect]
    columns = _columns(explanation, spelling)
    labels = [spelling.literal(each) for each in explanation.leaf_labels(label)]
    case = _nested if explanation.tree.depth <= _NESTED_DEPTH else _flat
    if table is None:
        if view is not None:
            raise ValueError(f"view={view!r} needs a table to look at: pass table as well.")
        return "\n".join(case(explanation, spelling, columns, labels))
    _check_new_column(explanation, spelling, name)
    lines = ["  " + line for line in case(explanation, spelling, columns, labels)]
    lines[-1] += f" AS {spelling.identifier(name, 'name')}"
    query = ["SELECT *,", *lines, f"FROM {_path(spelling, table, 'table')};"]
    if view is not None:
        query.insert(0, f"CREATE VIEW {_path(spelling, view, 'view')} AS")
    return "\n".join(query)


def _columns(explanation: "Explanation", dialect: Dialect) -> dict[int, str]:
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


def _names(explanation: "Explanation") -> list[str]:
    """Return what the columns are called in the database: numbers stay themselves."""
    return [str(each) for each in explanation.keys]


def _check_new_column(explanation: "Explanation", dialect: Dialect, name: Any) -> None:
    """Refuse a new column that would hide one of the table."""
    if not isinstance(name, str):
        raise ValueError(f"name={name!r} must be a string.")
    taken = {each.lower() if dialect.folds_case else each for each in _names(explanation)}
    if (name.lower() if dialect.folds_case else name) in taken:
        raise ValueError(f"name={name!r} is already a column of the table; choose another name.")


def _path(dialect: Dialect, path: Any, argument: str) -> str:
    """Return a table's quoted name with its schema, if it has one."""
    parts = path.split(".") if isinstance(path, str) else path
    if (
        not isinstance(parts, Sequence)
        or not parts
        or not all(isinstance(part, str) and part for part in parts)
    ):
        raise ValueError(f"{argument}={path!r} must be a name, or a sequence of its parts.")
    return ".".join(dialect.identifier(part, argument) for part in parts)


def _nested(
    explanation: "Explanation", dialect: Dialect, columns: dict[int, str], labels: list[str]
) -> list[str]:
    """Return a CASE for every inner node, in the tree's own shape."""
    tree, lines = explanation.tree, []

    def write(node: int, indent: str, start: str) -> None:
        if tree.feature[node] == LEAF:
            lines.append(f"{start}{labels[explanation.leaf_ids[node]]}")
            return
        if start.strip():  # a WHEN: the CASE gets its own line
            lines.append(start.rstrip())
            indent += "  "
        lines.append(f"{indent}CASE")
        test = tree.test(node)
        for child, passed in ((tree.left[node], True), (tree.right[node], False)):
            text = _condition(dialect, columns[test.feature], test.region(passed=passed).intervals)
            write(int(child), indent + "  ", f"{indent}  WHEN {text} THEN ")
        lines.append(f"{indent}END")

    write(0, "", "")
    return lines


def _flat(
    explanation: "Explanation", dialect: Dialect, columns: dict[int, str], labels: list[str]
) -> list[str]:
    """Return one CASE with the rule of every leaf."""
    lines = ["CASE"]
    for box, label in zip(leaf_boxes(explanation.tree), labels, strict=True):
        texts = [_condition(dialect, columns[each], box[each].intervals) for each in box]
        lines.append(f"  WHEN {' AND '.join(texts)} THEN {label}")
    return [*lines, "END"]


def _condition(dialect: Dialect, x: str, intervals: Sequence[Interval]) -> str:
    """Return a condition that holds in some intervals, and is never true of a missing value."""
    texts = [_inside(dialect, x, *each) for each in intervals]
    if not texts:
        return "1 = 0"
    # NaN would pass as a number above all others.
    is_open = intervals[-1][1] == inf and dialect.nan is not None
    guard = f" AND {x} <> {dialect.nan}" if is_open else ""
    return f"({' OR '.join(texts)}){guard}" if len(texts) > 1 else texts[0] + guard


def _inside(dialect: Dialect, x: str, low: float, high: float) -> str:
    if low == -inf:
        return f"{x} <= {dialect.number(high)}"
    above = f"{x} > {dialect.number(low)}"
    return above if high == inf else f"{above} AND {x} <= {dialect.number(high)}"
