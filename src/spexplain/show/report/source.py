"""A summary together with what every part of the report needs from it."""

from collections.abc import Iterable, Sequence
from math import inf
from typing import NamedTuple, Self

import numpy as np

from spexplain.aliases import Ints
from spexplain.facts.schema import Leaf, Node, Summary
from spexplain.show.report.phrases import (
    Condition,
    Piece,
    Rule,
    condition_of,
    shown_labels,
    shown_names,
)
from spexplain.tree import LEAF, Tree
from spexplain.tree.boxes import EVERYWHERE, Box, Interval, node_boxes

NOISE = -1
N_COLORS = 21  # as many as `spexplain.facts.palette` tells apart


class Source(NamedTuple):
    """What is shown, with names and labels fit to be read."""

    summary: Summary
    names: dict[int, str]  # of features, short and distinct
    labels: list[str]  # of reference clusters, likewise
    boxes: list[Box]  # where the rows of every node lie
    spans: list[tuple[int, int]]  # first and last leaf below every node

    @classmethod
    def of(cls, summary: Summary) -> Self:
        """Prepare a summary."""
        reference = summary["reference"]
        return cls(
            summary,
            shown_names(summary),
            [] if reference is None else shown_labels(reference["labels"]),
            node_boxes(_tree_of(summary)),
            _spans(summary["nodes"]),
        )

    @property
    def has_reference(self) -> bool:
        """Whether there are clusters to compare with."""
        return self.summary["reference"] is not None

    def test(self, node: Node) -> Condition:
        """Return the test of an inner node."""
        if node["feature"] is None:
            return []
        return condition_of([_test_interval(node)], self.names[node["feature"]])

    def rule(self, node: int) -> Rule:
        """Return what holds for exactly the rows of a node."""
        return [
            condition_of(intervals, self.names[feature])
            or [Piece("no value of ", self.names[feature], "")]
            for feature, intervals in self.boxes[node].items()
            if intervals != EVERYWHERE
        ]

    def label(self, code: int | None) -> str:
        """Return what a cluster is called; nothing for none."""
        if code is None:
            return ""
        return "noise" if code == NOISE else self.labels[code]

    def leaf_label(self, leaf: Leaf) -> str:
        """Return what a leaf stands for; nothing where there is no reference."""
        return self.label(leaf["code"])

    def leaf_color(self, leaf: Leaf) -> str:
        """Return the colour class of a leaf: its cluster's, or its own where there are no clusters."""
        return color_class(leaf["code"] if self.has_reference else leaf["leaf"])


def color_class(code: int | None) -> str:
    """Return the class that colours a cluster.

    Examples
    --------
    >>> from spexplain.show.report.source import color_class
    >>> color_class(0), color_class(22), color_class(-1), color_class(None)
    ('k0', 'k1', 'k-noise', 'k-none')
    """
    if code is None:
        return "k-none"
    return "k-noise" if code == NOISE else f"k{code % N_COLORS}"


def bounds(interval: Sequence[float | None]) -> Interval:
    """Return an interval of a summary with infinities in place of None."""
    lower, upper = interval
    return -inf if lower is None else lower, inf if upper is None else upper


def commonest(counts: Iterable[int] | None) -> int | None:
    """Return the cluster of most rows, the first of equals; None if there are no rows."""
    known = list(counts or [])
    most = max(known, default=0)
    return known.index(most) if most else None


def _test_interval(node: Node) -> Interval:
    return bounds([node["lower"], node["threshold"]])


def _tree_of(summary: Summary) -> Tree:
    """Return the tree that a summary describes."""
    nodes = summary["nodes"]
    tests = np.array([_test_interval(each) for each in nodes])
    nothing = np.full(len(nodes), np.nan)
    return Tree(
        n_features=summary["n_features"],
        feature=_numbers(each["feature"] for each in nodes),
        threshold=tests[:, 1],
        lower=tests[:, 0],
        left=_numbers(each["left"] for each in nodes),
        right=_numbers(each["right"] for each in nodes),
        size=_numbers(each["size"] for each in nodes),
        score=nothing,
        value=nothing,
    )


def _numbers(values: Iterable[int | None]) -> Ints:
    return np.array([LEAF if each is None else each for each in values], dtype=np.int64)


def _spans(nodes: Sequence[Node]) -> list[tuple[int, int]]:
    """Return the first and last leaf below every node: leaves are numbered from left to right."""
    spans: list[tuple[int, int]] = [(0, 0)] * len(nodes)
    for node in reversed(nodes):  # children are younger than their parents
        if node["left"] is None or node["right"] is None:
            leaf = node["leaf"] or 0
            spans[node["node"]] = leaf, leaf
        else:
            spans[node["node"]] = spans[node["left"]][0], spans[node["right"]][1]
    return spans
