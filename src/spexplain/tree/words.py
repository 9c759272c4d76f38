"""Rules in words: what a row must satisfy to reach a leaf."""

from collections.abc import Sequence
from itertools import pairwise
from math import inf
from typing import NamedTuple

from spexplain.tree import LEAF, Tree
from spexplain.tree.boxes import Interval, leaf_box


class Condition(NamedTuple):
    """``lower < x <= upper`` for one feature, or its opposite if `inside` is False."""

    feature: int
    lower: float
    upper: float
    inside: bool = True

    def to_text(self, name: str) -> str:
        """Return the condition in words.

        Examples
        --------
        >>> from math import inf
        >>> from spexplain.tree.words import Condition
        >>> Condition(0, 2.45, 4.75).to_text("petal length")
        '2.45 < petal length ≤ 4.75'
        >>> Condition(0, 2.45, inf).to_text("petal length")
        'petal length > 2.45'
        """
        if not self.inside:
            return f"{name} ≤ {number(self.lower)} or {name} > {number(self.upper)}"
        if self.lower == -inf:
            return f"{name} ≤ {number(self.upper)}"
        if self.upper == inf:
            return f"{name} > {number(self.lower)}"
        return f"{number(self.lower)} < {name} ≤ {number(self.upper)}"


def number(x: float) -> str:
    """Return a float for people: six significant digits."""
    return f"{x:.6g}"


def interval_text(intervals: Sequence[Interval], name: str) -> str:
    """Return what the intervals of a feature say, in words.

    Examples
    --------
    >>> from spexplain.tree.words import interval_text
    >>> interval_text(((2.45, 4.75),), "petal length")
    '2.45 < petal length ≤ 4.75'
    >>> interval_text(((4.0, 6.0), (9.0, float("inf"))), "age")
    '4 < age ≤ 6 or age > 9'
    """
    if not intervals:
        return f"no {name}"
    return " or ".join(Condition(0, low, high).to_text(name) for low, high in intervals)


def conditions(tree: Tree, leaf: int) -> list[Condition]:
    """Return what holds for exactly the rows of a leaf, the tests of one feature merged into one."""
    merged: list[Condition] = []
    outside: list[Condition] = []
    for feature, intervals in leaf_box(tree, leaf).items():
        if not intervals:  # no row passes all these tests: only they themselves can say so
            steps = (_taken(tree, *step) for step in tree.path(leaf))
            merged += [step for step in steps if step.feature == feature]
            continue
        whole = Condition(feature, intervals[0][0], intervals[-1][1])
        merged += [whole] if (whole.lower, whole.upper) != (-inf, inf) else []
        for (_, end), (start, _) in pairwise(intervals):
            outside.append(Condition(feature, end, start, inside=False))
    return merged + outside


def _taken(tree: Tree, node: int, went_left: bool) -> Condition:
    """Return one step of a path."""
    test = node_test(tree, node)
    if went_left:
        return test
    if test.lower == -inf:
        return Condition(test.feature, test.upper, inf)
    return test._replace(inside=False)


def node_test(tree: Tree, node: int) -> Condition:
    """Return the test of an inner node."""
    return Condition(int(tree.feature[node]), float(tree.lower[node]), float(tree.threshold[node]))


def rule_text(tree: Tree, leaf: int, names: Sequence[str]) -> str:
    """Return the rule of a leaf in one line."""
    own = conditions(tree, leaf)
    texts = [each.to_text(names[each.feature]) for each in own]
    if len(own) > 1:
        # "or" binds less than "and".
        texts = [
            text if each.inside else f"({text})" for each, text in zip(own, texts, strict=True)
        ]
    return " and ".join(texts) or "all rows"


def tree_text(tree: Tree, names: Sequence[str], leaf_texts: Sequence[str]) -> str:
    """Return the tree as an indented drawing, one line a branch."""
    leaf_id = {int(node): number for number, node in enumerate(tree.leaves)}

    def label(node: int) -> str:
        if tree.feature[node] == LEAF:
            return leaf_texts[leaf_id[node]]
        test = node_test(tree, node)
        return test.to_text(names[test.feature])

    lines = [label(0)]
    stack = [(int(node), "") for node in (tree.right[0], tree.left[0]) if node != LEAF]
    while stack:
        node, indent = stack.pop()
        is_left = node % 2 == 1  # birth order: left children have odd numbers
        branch, below = ("├─ yes: ", "│  ") if is_left else ("└─ no:  ", "   ")
        lines.append(indent + branch + label(node))
        if tree.feature[node] != LEAF:
            stack += [
                (int(tree.right[node]), indent + below),
                (int(tree.left[node]), indent + below),
            ]
    return "\n".join(_one_line(line) for line in lines)


def _one_line(text: str) -> str:
    """Return a text without line breaks and escape sequences, which names may bring along."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
