"""Rules and trees in words; every text about tests is made by `Region.text`."""

from collections.abc import Sequence

from spexplain.tree import LEAF, Column, Tree
from spexplain.tree.boxes import Box, leaf_boxes

__all__ = [
    "has_or",
    "joined_by_and",
    "joined_by_or",
    "joined_text",
    "leaf_rules",
    "rule_text",
    "tree_text",
]


_DEEPEST_INDENT = 40  # levels


def rule_text(box: Box, columns: Sequence[Column | str], most: int | None = None) -> str:
    """Return the rule of a box in one line: the conditions on each column, joined by "and".

    Sentences about rules name at most so many values of a list; the rule itself has all of them.

    Examples
    --------
    >>> from spexplain.tree import Region
    >>> from spexplain.tree.words import rule_text
    >>> box = {0: Region(((4.0, 6.0), (9.0, float("inf")))), 1: Region(((2.0, 3.0),))}
    >>> rule_text(box, ["age", "pay"])
    '(4 < age ≤ 6 or age > 9) and 2 < pay ≤ 3'
    """
    return joined_by_and([region.text(columns[feature], most) for feature, region in box.items()])


def joined_by_and(conditions: Sequence[str]) -> str:
    """Return conditions in one line, all of which must hold."""
    several = len(conditions) > 1  # "or" binds less than "and"
    texts = (f"({text})" if several and has_or(text) else text for text in conditions)
    return " and ".join(texts) or "all rows"


def joined_text(
    boxes: Sequence[Box], columns: Sequence[Column | str], most: int | None = None
) -> str:
    """Return the rule of several boxes in one line, joined by "or"; see `spexplain.tree.joins.joined`.

    Examples
    --------
    >>> from spexplain.tree import Region
    >>> from spexplain.tree.words import joined_text
    >>> young, rich = Region(((0.0, 6.0),)), Region(((9.0, float("inf")),))
    >>> joined_text([{0: young, 1: rich}, {1: Region(((2.0, 3.0),))}], ["age", "pay"])
    '(0 < age ≤ 6 and pay > 9) or 2 < pay ≤ 3'
    """
    rules = [rule_text(box, columns, most) for box in boxes]
    return joined_by_or(rules, [len(box) for box in boxes])


def joined_by_or(rules: Sequence[str], sizes: Sequence[int]) -> str:
    """Return several rules, given by their conditions, in one line joined by "or"."""
    several = len(rules) > 1
    texts = (
        f"({text})" if several and (size > 1 or has_or(text)) else text
        for text, size in zip(rules, sizes, strict=True)
    )
    return " or ".join(texts) or "no rows"


def has_or(text: str) -> bool:
    """Whether a condition contains "or", which binds less than "and"; names in it may contain it, too."""
    return " or " in text


def leaf_rules(tree: Tree, columns: Sequence[Column | str]) -> list[str]:
    """Return the rules of the leaves from left to right."""
    return [rule_text(box, columns) for box in leaf_boxes(tree)]


def tree_text(tree: Tree, columns: Sequence[Column | str], leaf_texts: Sequence[str]) -> str:
    """Return the tree as an indented drawing, one line a branch.

    Below the fortieth level, lines are not indented further but begin with their level, so that a drawing
    grows with the number of nodes, however deep they lie.
    """
    leaf_id = {int(node): leaf for leaf, node in enumerate(tree.leaves)}

    def label(node: int) -> str:
        if tree.feature[node] == LEAF:
            return leaf_texts[leaf_id[node]]
        test = tree.test(node)
        return test.text(columns[test.feature])

    lines = [_one_line(label(0))]
    stack = [(int(node), "", 1) for node in (tree.right[0], tree.left[0]) if node != LEAF]
    while stack:
        node, indent, level = stack.pop()
        is_left = node % 2 == 1  # birth order: left children have odd numbers
        branch, below = ("├─ yes: ", "│  ") if is_left else ("└─ no:  ", "   ")
        numbered = f"[{level}] " if level > _DEEPEST_INDENT else ""
        lines.append(indent + numbered + branch + _one_line(label(node)))
        if tree.feature[node] != LEAF:
            if level < _DEEPEST_INDENT:
                indent += below
            stack += [
                (int(tree.right[node]), indent, level + 1),
                (int(tree.left[node]), indent, level + 1),
            ]
    return "\n".join(lines)


def _one_line(text: str) -> str:
    """Return a text without line breaks and escape sequences, which names may contain."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
