"""Rules in words: what a row must satisfy to reach a leaf."""

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

from spexplain.tree import LEAF, Tree


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
        >>> from spexplain.rules import Condition
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


def conditions(tree: Tree, leaf: int) -> list[Condition]:
    """Return what holds for exactly the rows of a leaf, the tests of one feature merged into one."""
    intervals: dict[int, tuple[float, float]] = {}
    outside: list[Condition] = []
    for node, went_left in tree.path(leaf):
        feature = int(tree.feature[node])
        lower, upper = float(tree.lower[node]), float(tree.threshold[node])
        low, high = intervals.setdefault(feature, (-inf, inf))
        if went_left:
            intervals[feature] = max(low, lower), min(high, upper)
        elif lower == -inf:
            intervals[feature] = max(low, upper), high
        else:
            outside.append(Condition(feature, lower, upper, inside=False))
    merged = [Condition(feature, *bounds) for feature, bounds in intervals.items()]
    return [each for each in merged if (each.lower, each.upper) != (-inf, inf)] + outside


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
        test = Condition(
            int(tree.feature[node]), float(tree.lower[node]), float(tree.threshold[node])
        )
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
