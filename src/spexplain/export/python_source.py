"""The tree as Python: the source of a function that needs nothing but the language."""

from collections.abc import Iterator, Sequence
from math import inf
from typing import TYPE_CHECKING

from spexplain.export.labels import LabelKind
from spexplain.tree import LEAF, Interval
from spexplain.tree.boxes import leaf_boxes

if TYPE_CHECKING:
    from spexplain.explanation import Explanation

# Python refuses 100 levels of indentation; long before, one line a leaf is easier to read.
_NESTED_DEPTH = 12
_HEADER = '''"""The tree of a fitted {kind}, written by spexplain {version}; needs nothing but Python."""


def predict(row):
    """Return the {meaning} of a row: its {n_features} values in order, or a mapping by column name."""
    named = hasattr(row, "keys")
    if not named and len(row) != {n_features}:
        raise ValueError(f"row has {{len(row)}} values, but {n_features} are needed.")
'''
_FINITE = """    if not all(abs(x) <= 1.7976931348623157e308 for x in [{values}]):
        raise ValueError("row holds NaN or infinity; remove or replace such values.")
"""
# float() matters: NumPy would round a threshold to the precision of a float32 value beside it.
_VALUE = "    x{column} = float(row[{name} if named else {column}])\n"


def to_python(explanation: "Explanation", *, label: LabelKind = "leaf") -> str:
    """Return the source of a function ``predict(row)`` without dependencies.

    The function takes a sequence with the values of all columns, or a mapping (a dict, a pandas
    Series) by column name, of which only the tested columns are read. NaN and infinity are refused.

    Parameters
    ----------
    explanation : Explanation
        What is exported.
    label : {"leaf", "reference"}
        What the function returns: leaf ids, or the reference label that each leaf stands for
        (text, if it is no string, integer, float or boolean).

    Returns
    -------
    source : str

    Examples
    --------
    >>> from spexplain.explanation import Explanation
    >>> from spexplain.export import to_python
    >>> from spexplain.tree import Tree
    >>> tree = Tree.root(n_features=2, size=10).split(0, feature=1, threshold=0.5)
    >>> space = {}
    >>> exec(to_python(Explanation(tree, ("width", "height"))), space)
    >>> space["predict"]([9.0, 0.5]), space["predict"]({"height": 0.6})
    (0, 1)
    """
    labels = [_literal(each) for each in explanation.leaf_labels(label)]
    meaning = "leaf id" if label == "leaf" else "reference label"
    source = _HEADER.format(
        kind=explanation.method,
        version=explanation.version,
        meaning=meaning,
        n_features=explanation.tree.n_features,
    )
    for column in explanation.used:
        source += _VALUE.format(column=column, name=_literal(explanation.keys[column]))
    if explanation.used:
        source += _FINITE.format(values=", ".join(f"x{column}" for column in explanation.used))
    write = _nested if explanation.tree.depth <= _NESTED_DEPTH else _flat
    return source + "".join(f"{line}\n" for line in write(explanation, labels))


def _literal(value: object) -> str:
    """Return a value as Python source, in ASCII: any text is safe in any file."""
    return ascii(value)


def _nested(explanation: "Explanation", labels: list[str]) -> Iterator[str]:
    """Yield an ``if`` for every inner node, in the tree's own shape."""
    tree = explanation.tree
    stack = [(0, "    ")]
    while stack:
        node, indent = stack.pop()
        if tree.feature[node] == LEAF:
            yield f"{indent}return {labels[explanation.leaf_ids[node]]}"
            continue
        test = tree.test(node)
        yield f"{indent}if {_condition(test.feature, test.region().intervals)}:"
        # What follows an `if` that returns needs no `else`.
        stack += [(int(tree.right[node]), indent), (int(tree.left[node]), indent + "    ")]


def _flat(explanation: "Explanation", labels: list[str]) -> Iterator[str]:
    """Yield one ``if`` with the rule of every leaf."""
    for box, label in zip(leaf_boxes(explanation.tree)[:-1], labels[:-1], strict=True):
        tests = [_condition(feature, region.intervals) for feature, region in box.items()]
        yield f"    if {' and '.join(tests)}:"
        yield f"        return {label}"
    yield f"    return {labels[-1]}"


def _condition(feature: int, intervals: Sequence[Interval]) -> str:
    """Return an expression that is true of the values in some intervals."""
    texts = [_inside(f"x{feature}", *each) for each in intervals]
    return f"({' or '.join(texts)})" if len(texts) > 1 else "".join(texts) or "False"


def _inside(x: str, low: float, high: float) -> str:
    if low == -inf:
        return f"{x} <= {high!r}"
    return f"{x} > {low!r}" if high == inf else f"{low!r} < {x} <= {high!r}"
