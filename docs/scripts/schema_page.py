"""The reference of plain records: ``python docs/scripts/schema_page.py`` writes docs/reference/schemas.md.

The tables come from the source of spexplain.facts.schema: its classes, their docstrings, types and comments.
"""

import ast
import inspect
import re
from pathlib import Path

from spexplain.facts import schema

PAGE = Path(__file__).parents[1] / "reference" / "schemas.md"
HEAD = """# Schemas

What `summary()`, `explain(row)` and `to_json()` return, entry by entry. Everything is a plain JSON value: numbers, strings, booleans,
lists and dicts. None stands for what is absent or undefined; NaN and infinity never occur, and the same entries are always there, except
those marked *optional*. A new version of a format keeps the old entries readable; see
[promises](../promises.md#how-long-models-stay-readable).

In the tables, a `Label` is the label of a cluster or the value of a category (text, number or boolean), an `Amount` a number of rows or,
if rows have weights, their weight, and a `Kind` one of the kinds of `spexplain.tree.Column`.

## The JSON model

`to_json()` writes one object of the format `spexplain.model`; `spexplain.from_json` reads it, and those of all earlier versions.

| entry | what it holds |
|---|---|
| `format`, `version`, `written_by` | `"spexplain.model"`, the version of the format, the version of the package |
| `estimator` | name of the class that was fitted |
| `feature_names`, `columns` | names of the columns, and their kinds where they are not all numbers: categories, time zones, resolutions |
| `reference` | the labels that leaves stand for, their type, and the purity of each leaf |
| `tree` | arrays with one entry per node: `feature` (−1 in a leaf), `threshold`, `lower`, `left`, `right`, `size`, `score`, `value`, `missing` (whether missing values pass), and `values`, the categories of tests that name some |
| `seen` | of tested columns: kind, least and greatest value, quantiles, rows by decile, share missing, rows by category |
| `training` | counts of clusters in every node, parameters, the path of growth, and the goal of the search |
| `told` | optional: the telling columns of every cluster |
| `constraints`, `edits` | optional: locked nodes and forbidden columns; the journal of edits, for undo |
| `rows` | only with `to_json(profile="rows")`: the training rows, with labels, weights and names |

`summary()` returns a `Summary`, `explain(row)` a `RowExplanation`; their parts follow.
"""  # noqa: E501 -- rows of tables


def classes() -> list[str]:
    """Return one section for every class of the schema."""
    source = inspect.getsource(schema)
    lines = source.split("\n")
    sections = []
    for node in ast.parse(source).body:
        if not isinstance(node, ast.ClassDef):
            continue
        rows = []
        for entry in node.body:
            if not isinstance(entry, ast.AnnAssign) or not isinstance(entry.target, ast.Name):
                continue
            kind = ast.unparse(entry.annotation).strip("'").replace(" | ", " or ")
            told = _comment(lines, entry.lineno - 1, (entry.end_lineno or entry.lineno) - 1)
            if kind.startswith("NotRequired"):
                kind, told = kind[len("NotRequired[") : -1], f"optional: {told}"
            rows.append(f"| `{entry.target.id}` | `{kind}` | {told} |")
        if rows:
            text = " ".join((ast.get_docstring(node) or "").split())
            sections += [
                f"## {node.name}",
                "",
                text,
                "",
                "| entry | type | meaning |",
                "|---|---|---|",
                *rows,
                "",
            ]
    return sections


def _comment(lines: list[str], at: int, end: int) -> str:
    """Return the comment of an entry of one or more lines: behind it, or above it."""
    behind = [found[1] for each in lines[at : end + 1] if (found := re.search(r"#\s*(.*)", each))]
    if behind:
        return _cell(" ".join(behind))
    above = []
    while lines[at - 1].strip().startswith("#"):
        at -= 1
        above.append(lines[at].strip().lstrip("# "))
    return _cell(" ".join(reversed(above)))


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def page() -> str:
    """Return the text of the page."""
    return HEAD + "\n" + "\n".join(classes()).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
