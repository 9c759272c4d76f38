"""Rules and trees in words; every text about tests is made from `Test.text`."""

from collections.abc import Sequence

from spexplain.tree import LEAF, Interval, Test, Tree, number
from spexplain.tree.boxes import Box, leaf_boxes

__all__ = ["interval_text", "leaf_rules", "number", "rule_text", "tree_text"]


def interval_text(intervals: Sequence[Interval], name: str) -> str:
    """Return in words that a value lies in one of some intervals.

    Examples
    --------
    >>> from spexplain.tree.words import interval_text
    >>> interval_text(((2.45, 4.75),), "petal length")
    '2.45 < petal length ≤ 4.75'
    >>> interval_text(((4.0, 6.0), (9.0, float("inf"))), "age")
    '4 < age ≤ 6 or age > 9'
    """
    if not intervals:
        return f"no value of {name}"
    return " or ".join(Test(0, low, high).text(name) for low, high in intervals)


def rule_text(box: Box, names: Sequence[str]) -> str:
    """Return the rule of a box in one line: what is known of each feature, joined by "and".

    Examples
    --------
    >>> from spexplain.tree.words import rule_text
    >>> rule_text({0: ((4.0, 6.0), (9.0, float("inf"))), 1: ((2.0, 3.0),)}, ["age", "pay"])
    '(4 < age ≤ 6 or age > 9) and 2 < pay ≤ 3'
    """
    several = len(box) > 1  # "or" binds less than "and"
    texts = [
        f"({text})" if several and len(intervals) > 1 else text
        for feature, intervals in box.items()
        for text in [interval_text(intervals, names[feature])]
    ]
    return " and ".join(texts) or "all rows"


def leaf_rules(tree: Tree, names: Sequence[str]) -> list[str]:
    """Return the rules of the leaves from left to right."""
    return [rule_text(box, names) for box in leaf_boxes(tree)]


def tree_text(tree: Tree, names: Sequence[str], leaf_texts: Sequence[str]) -> str:
    """Return the tree as an indented drawing, one line a branch."""
    leaf_id = {int(node): leaf for leaf, node in enumerate(tree.leaves)}

    def label(node: int) -> str:
        if tree.feature[node] == LEAF:
            return leaf_texts[leaf_id[node]]
        test = tree.test(node)
        return test.text(names[test.feature])

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
