"""The tree as a dbt model: a query over another model or source, a description of its columns, and tests."""

import json
import re
from typing import TYPE_CHECKING, Any

from spexplain.arguments import check_choice
from spexplain.export.dialects import DIALECTS, Dialect, DialectName
from spexplain.export.labels import LabelKind
from spexplain.export.sql import boolean_columns, query_of
from spexplain.tree.words import leaf_rules

if TYPE_CHECKING:
    from spexplain.explanation import Explanation

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def dbt_files(
    explanation: "Explanation",
    *,
    table: str,
    model: str | None = None,
    dialect: DialectName = "duckdb",
    label: LabelKind = "leaf",
    name: str = "cluster",
    booleans: bool = True,
) -> dict[str, str]:
    """Return the files of a dbt model that labels the rows of another model, or of a source.

    The model has the columns of that table, the label, and one boolean per label. Its tests check that
    every row has one of the known labels, and that it has as many rows as the table.

    Parameters
    ----------
    explanation : Explanation
        The explanation to export.
    table : str
        The dbt model to label, or ``source.table``, which must be declared in the project as a source.
    model : str, optional
        Name of the new model; by default the name of the table followed by ``_clusters``.
    dialect : {"duckdb", "postgresql", "sqlite", "bigquery", "snowflake", "mysql"}
        The database.
    label : {"leaf", "reference"}
        Leaf ids, or the reference label that each leaf stands for.
    name : str
        Name of the new column.
    booleans : bool, default=True
        Whether to add a boolean column per label that tells whether a row has it.

    Returns
    -------
    files : dict of str to str
        The content of every file, by its path in a dbt project.

    Examples
    --------
    >>> from spexplain.explanation import Explanation
    >>> from spexplain.export import dbt_files
    >>> from spexplain.tree import Tree
    >>> tree = Tree.root(n_features=1, size=10).split(0, feature=0, threshold=0.5)
    >>> files = dbt_files(Explanation(tree, ("height",)), table="boxes", booleans=False)
    >>> sorted(files)
    ['models/boxes_clusters.sql', 'models/boxes_clusters.yml', 'tests/boxes_clusters_has_all_rows.sql',
     'tests/boxes_clusters_has_known_labels.sql']
    >>> print(files["models/boxes_clusters.sql"])
    SELECT *,
      CASE
        WHEN "height" <= 0.5 THEN 0
        ELSE 1
      END AS "cluster"
    FROM {{ ref('boxes') }}
    <BLANKLINE>
    """
    check_choice("dialect", dialect, DIALECTS)
    spelling = DIALECTS[dialect]
    query_place, schema_place, rows_place, labels_place = dbt_places(table, model)
    parts, model = _checked_table(table), query_place[len("models/") : -len(".sql")]
    relation = "ref" if len(parts) == 1 else "source"
    source = f"{{{{ {relation}({', '.join(map(repr, parts))}) }}}}"
    this = f"{{{{ ref({model!r}) }}}}"
    mark = "\0source\0"  # no name or text may hold it
    query = query_of(explanation, mark, spelling, label=label, name=name, booleans=booleans)
    known = [spelling.literal(each) for each in dict.fromkeys(explanation.leaf_labels(label))]
    is_unknown = f"{spelling.identifier(name, 'name')} NOT IN ({', '.join(known)})"
    return {
        query_place: _escaped(query).replace(mark, source) + "\n",
        schema_place: _schema(explanation, spelling, model, label, name, booleans),
        rows_place: (
            "-- Every row is labelled once: this query gives no row.\n"
            "SELECT labelled.n AS n_labelled, given.n AS n_given\n"
            f"FROM (SELECT COUNT(*) AS n FROM {this}) AS labelled\n"
            f"CROSS JOIN (SELECT COUNT(*) AS n FROM {source}) AS given\n"
            "WHERE labelled.n <> given.n\n"
        ),
        labels_place: (
            "-- Every label is one of the model's: this query gives no row.\n"
            f"SELECT *\nFROM {this}\nWHERE {_escaped(is_unknown)}\n"
        ),
    }


def dbt_places(table: str, model: str | None = None) -> tuple[str, str, str, str]:
    """Return the places of the files in a dbt project: model, description and two tests."""
    model = f"{_checked_table(table)[-1]}_clusters" if model is None else model
    if not isinstance(model, str) or not _NAME.fullmatch(model):
        raise ValueError(f"model={model!r} must be a name of letters, digits and underscores.")
    return (
        f"models/{model}.sql",
        f"models/{model}.yml",
        f"tests/{model}_has_all_rows.sql",
        f"tests/{model}_has_known_labels.sql",
    )


def _checked_table(table: Any) -> list[str]:
    """Return the parts of a table's name in dbt."""
    parts = table.split(".") if isinstance(table, str) else []
    if not 1 <= len(parts) <= 2 or not all(map(_NAME.fullmatch, parts)):
        raise ValueError(
            f"table={table!r} must be the name of a dbt model, or source.table, of letters, digits and underscores."
        )
    return parts


def _escaped(text: str) -> str:
    """Return a text escaped for dbt's templates."""
    return text.replace("{", "{{ '{' }}")


def _schema(
    explanation: "Explanation",
    dialect: Dialect,
    model: str,
    label: LabelKind,
    name: str,
    booleans: bool,
) -> str:
    """Return the description of the columns and their tests as YAML (JSON, which is valid YAML)."""
    labels = explanation.leaf_labels(label)
    rules: dict[Any, list[str]] = {}
    for each, rule in zip(labels, leaf_rules(explanation.tree, explanation.fields), strict=True):
        rules.setdefault(each, []).append(rule)
    tests = [] if explanation.parameters.get("missing") == "error" else ["not_null"]
    told = f"Labels of {explanation.method}, written by spexplain {explanation.version}."
    columns: list[dict[str, Any]] = [
        {"name": _escaped(name), "description": _escaped(told), "data_tests": tests}
    ]
    if booleans:
        names = boolean_columns(explanation, dialect, label, name)
        for column, (_, own) in zip(names, rules.items(), strict=True):
            said = " or ".join(f"({rule})" for rule in own) if len(own) > 1 else own[0]
            columns.append({"name": _escaped(column), "description": _escaped(said)})
    document = {"version": 2, "models": [{"name": model, "columns": columns}]}
    return json.dumps(document, indent=2) + "\n"
