"""The tree as Python: the source of a function that needs nothing but the language."""

from collections.abc import Iterator
from math import inf

from spexplain.export.labels import LabelKind
from spexplain.export.model import Model
from spexplain.tree import LEAF
from spexplain.tree.words import Condition, conditions, node_test

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


def to_python(model: Model, *, label: LabelKind = "leaf") -> str:
    """Return the source of a function ``predict(row)`` without dependencies.

    The function takes a sequence with the values of all columns, or a mapping (a dict, a pandas
    Series) by column name, of which only the tested columns are read. NaN and infinity are refused.

    Parameters
    ----------
    model : Model
        What is exported.
    label : {"leaf", "reference"}
        What the function returns: leaf ids, or the reference label that each leaf stands for
        (text, if it is no string, integer, float or boolean).

    Returns
    -------
    source : str

    Examples
    --------
    >>> from spexplain.export import Model, to_python
    >>> from spexplain.tree import Tree
    >>> tree = Tree.root(n_features=2, size=10).split(0, feature=1, threshold=0.5)
    >>> space = {}
    >>> exec(to_python(Model(tree, ("width", "height"))), space)
    >>> space["predict"]([9.0, 0.5]), space["predict"]({"height": 0.6})
    (0, 1)
    """
    labels = [_literal(each) for each in model.labels(label)]
    meaning = "leaf id" if label == "leaf" else "reference label"
    source = _HEADER.format(
        kind=model.kind,
        version=model.version,
        meaning=meaning,
        n_features=model.tree.n_features,
    )
    for column in model.used:
        source += _VALUE.format(column=column, name=_literal(model.names[column]))
    if model.used:
        source += _FINITE.format(values=", ".join(f"x{column}" for column in model.used))
    lines = _nested(model, labels) if model.tree.depth <= _NESTED_DEPTH else _flat(model, labels)
    return source + "".join(f"{line}\n" for line in lines)


def _literal(value: object) -> str:
    """Return a value as Python source, in ASCII: any text is safe in any file."""
    return ascii(value)


def _nested(model: Model, labels: list[str]) -> Iterator[str]:
    """Yield an ``if`` for every inner node, in the tree's own shape."""
    tree = model.tree
    stack = [(0, "    ")]
    while stack:
        node, indent = stack.pop()
        if tree.feature[node] == LEAF:
            yield f"{indent}return {labels[model.leaf_ids[node]]}"
            continue
        test = _condition(node_test(tree, node))
        yield f"{indent}if {test}:"
        # What follows an `if` that returns needs no `else`.
        stack += [(int(tree.right[node]), indent), (int(tree.left[node]), indent + "    ")]


def _flat(model: Model, labels: list[str]) -> Iterator[str]:
    """Yield one ``if`` with the rule of every leaf."""
    for leaf, label in enumerate(labels[:-1]):
        tests = [_condition(each) for each in conditions(model.tree, leaf)]
        yield f"    if {' and '.join(tests)}:"
        yield f"        return {label}"
    yield f"    return {labels[-1]}"


def _condition(test: Condition) -> str:
    x = f"x{test.feature}"
    if not test.inside:
        return f"not {test.lower!r} < {x} <= {test.upper!r}"
    if test.lower == -inf:
        return f"{x} <= {test.upper!r}"
    if test.upper == inf:
        return f"{x} > {test.lower!r}"
    return f"{test.lower!r} < {x} <= {test.upper!r}"
