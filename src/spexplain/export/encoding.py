"""How values of the table are encoded as numbers, for exports that handle numbers only."""

from typing import TYPE_CHECKING, Any

from spexplain.tree import Column, python_value

if TYPE_CHECKING:
    from spexplain.explanation import Explanation


def encodings(explanation: "Explanation") -> dict[str | int, Any]:
    """Return, for every tested column that holds no numbers, how its values become numbers.

    A list gives the values with the codes 0, 1, ...; a text describes the encoding. Missing values, and
    values that are not in the list, are NaN.

    Examples
    --------
    >>> from spexplain.explanation import Explanation
    >>> from spexplain.export.encoding import encodings
    >>> from spexplain.tree import Column, Tree
    >>> tree = Tree.root(n_features=1, size=2).split(0, feature=0, threshold=float("nan"), categories=(1,))
    >>> encodings(Explanation(tree, described=(Column("channel", "category", ("app", "web")),)))
    {'x0': ['app', 'web']}
    """
    found = {j: _encoding(explanation.fields[j]) for j in explanation.used}
    return {explanation.keys[j]: each for j, each in found.items() if each is not None}


def _encoding(column: Column) -> list[Any] | str | None:
    if column.kind == "category":
        return list(map(python_value, column.categories))
    if column.kind == "boolean":
        return [False, True]
    if column.kind == "date":
        return "microseconds since 1970-01-01" + (" 00:00 UTC" if column.zone else "")
    return "microseconds" if column.kind == "duration" else None
