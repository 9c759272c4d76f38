"""The facts that need no training rows: nodes, rules, what the reference says, the path of leaves."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spexplain.aliases import Array, Floats, Ints
from spexplain.facts.importance import node_importances
from spexplain.facts.inputs import finite, plain_label
from spexplain.facts.leaves import NOISE, code_of, composition_of, conditions_of
from spexplain.facts.runner_up import Second
from spexplain.facts.schema import Agreement, Confusion, Label, Leaf, Node, Reference, RunnerUp
from spexplain.metrics.agreement import agreement_of_counts
from spexplain.tree import LEAF, Test, Tree
from spexplain.tree.boxes import leaf_boxes
from spexplain.tree.words import rule_text

if TYPE_CHECKING:
    from spexplain.explanation import Explanation


class Outline(NamedTuple):
    """A tree with the counts of its nodes."""

    tree: Tree
    names: Sequence[str]
    sizes: Ints  # rows of every node
    counts: Ints  # rows of every reference cluster in every node, shape (n_nodes, k)
    noise: Ints  # rows of no cluster in every node
    labels: list[Label] | None  # of the reference clusters
    classes: Array
    importances: Floats  # of every node's test

    @classmethod
    def of(cls, explained: "Explanation", names: Sequence[str]) -> "Outline":
        """Return the counts of a tree's nodes."""
        tree, reference = explained.tree, explained.reference
        sizes, counts = explained.node_sizes, explained.node_counts
        noise = np.zeros_like(sizes) if reference is None else sizes - counts.sum(axis=1)
        labels = None if reference is None else [plain_label(each) for each in reference.classes]
        classes: Array = np.empty(0) if reference is None else reference.classes
        weights = tree.totals(np.diag(sizes[tree.leaves])) if reference is None else counts
        earned = node_importances(tree, weights)
        return cls(tree, names, sizes, counts, noise, labels, classes, earned)

    @property
    def n_rows(self) -> int:
        """Number of training rows."""
        return int(self.sizes[0])

    def share(self, count: int) -> float:
        """Return the share of all rows."""
        return count / max(self.n_rows, 1)


def node_facts(outline: Outline, seconds: dict[int, Second]) -> list[Node]:
    """Return the nodes of the tree in birth order."""
    leaf_of = {node: leaf for leaf, node in enumerate(outline.tree.leaves.tolist())}
    return [
        _node(outline, node, leaf_of.get(node), seconds.get(node))
        for node in range(outline.tree.n_nodes)
    ]


def _node(outline: Outline, node: int, leaf: int | None, second: Second | None) -> Node:
    tree, size = outline.tree, int(outline.sizes[node])
    is_leaf = tree.feature[node] == LEAF
    feature = int(tree.feature[node])
    lower, threshold = float(tree.lower[node]), float(tree.threshold[node])
    name = None if is_leaf else outline.names[feature]
    return {
        "node": node,
        "parent": int(tree.parents[node]) if node else None,
        "left": None if is_leaf else int(tree.left[node]),
        "right": None if is_leaf else int(tree.right[node]),
        "leaf": leaf,
        "feature": None if is_leaf else feature,
        "name": name,
        "lower": finite(lower),
        "threshold": finite(threshold),
        "test": None if name is None else Test(feature, lower, threshold).text(name),
        "depth": int(tree.node_depths[node]),
        "size": size,
        "share": outline.share(size),
        "score": finite(tree.score[node]),
        "value": finite(tree.value[node]),
        "counts": None if outline.labels is None else outline.counts[node].tolist(),
        "noise": int(outline.noise[node]),
        "importance": float(outline.importances[node]),
        "runner_up": None if second is None else _runner_up(second, outline.names),
    }


def _runner_up(second: Second, names: Sequence[str]) -> RunnerUp:
    cut = second.cut
    return {
        "feature": cut.feature,
        "name": names[cut.feature],
        "threshold": cut.threshold,
        "text": Test(cut.feature, upper=cut.threshold).text(names[cut.feature]),
        "score": cut.score,
        "own_score": finite(second.own_score),
        "objective": second.objective,
    }


def leaf_facts(outline: Outline, leaf_reference: Iterable[Any] | None) -> list[Leaf]:
    """Return the leaves from left to right, without what describes their rows."""
    tree, boxes = outline.tree, leaf_boxes(outline.tree)
    nodes = tree.leaves.tolist()
    codes = _leaf_codes(outline, leaf_reference)
    leaves: list[Leaf] = []
    for leaf, (node, code) in enumerate(zip(nodes, codes, strict=True)):
        size = int(outline.sizes[node])
        conditions = conditions_of(boxes[leaf], outline.names)
        purity, lift = _purity(outline, node, code)
        counts, noise = outline.counts[node], int(outline.noise[node])
        leaves.append(
            {
                "leaf": leaf,
                "node": node,
                "depth": int(tree.node_depths[node]),
                "rule": rule_text(boxes[leaf], outline.names),
                "conditions": conditions,
                "size": size,
                "share": outline.share(size),
                "value": finite(tree.value[node]),
                "label": _label(outline, code),
                "code": code,
                "purity": purity,
                "lift": lift,
                "composition": composition_of(counts, noise, outline.labels or []),
                "profile": [],
                "telling": [],
                "exemplars": [],
                "sample": [],
            }
        )
    return leaves


def _leaf_codes(outline: Outline, leaf_reference: Iterable[Any] | None) -> list[int | None]:
    """Return the code of the label that every leaf stands for, by default its commonest."""
    nodes = outline.tree.leaves.tolist()
    if outline.labels is None:
        return [None] * len(nodes)
    if leaf_reference is not None:
        return [
            code_of(label, outline.classes, outline.counts[node], int(outline.noise[node]))
            for label, node in zip(leaf_reference, nodes, strict=True)
        ]
    codes: list[int | None] = []
    for node in nodes:
        counts = outline.counts[node]
        empty = NOISE if outline.noise[node] else None
        codes.append(int(counts.argmax()) if counts.any() else empty)
    return codes


def _label(outline: Outline, code: int | None) -> Label | None:
    if code is None or outline.labels is None:
        return None
    return NOISE if code == NOISE else outline.labels[code]


def _count(outline: Outline, node: int, code: int) -> int:
    return int(outline.noise[node] if code == NOISE else outline.counts[node, code])


def _purity(outline: Outline, node: int, code: int | None) -> tuple[float | None, float | None]:
    """Return the share of a leaf's label in the leaf, and that over its share of all rows."""
    size = int(outline.sizes[node])
    if code is None or not size:
        return None, None
    purity = _count(outline, node, code) / size
    overall = outline.share(_count(outline, 0, code))
    return purity, purity / overall if overall else None


def reference_facts(outline: Outline, leaves: list[Leaf]) -> Reference | None:
    """Return the clusters of the reference."""
    if outline.labels is None:
        return None
    return {
        "labels": outline.labels,
        "clusters": [
            {
                "label": label,
                "code": code,
                "size": int(outline.counts[0, code]),
                "share": outline.share(int(outline.counts[0, code])),
                "leaves": [leaf["leaf"] for leaf in leaves if leaf["code"] == code],
            }
            for code, label in enumerate(outline.labels)
        ],
        "n_noise": int(outline.noise[0]),
    }


def confusion_facts(outline: Outline) -> Confusion | None:
    """Return the rows of every leaf by cluster."""
    if outline.labels is None:
        return None
    nodes = outline.tree.leaves
    return {
        "labels": outline.labels,
        "counts": outline.counts[nodes].tolist(),
        "noise": outline.noise[nodes].tolist(),
    }


def agreement_facts(explained: "Explanation") -> Agreement | None:
    """Return how much leaves and reference agree; rows of no cluster do not count."""
    counts = explained.leaf_counts
    if not counts.any():
        return None
    found = agreement_of_counts(counts)
    return {"ari": found.ari, "ami": found.ami, "purity": found.purity}


def fidelity_and_price(explained: "Explanation") -> tuple[float | None, float | None]:
    """Return the share of clustered rows of their leaf's commonest label, and the relative k-means cost."""
    return finite(explained.step.fidelity), finite(explained.step.price)
