"""From a fitted tree to its summary: every fact is computed here once, and rendered elsewhere."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spexplain._version import __version__
from spexplain.aliases import Array, Floats, Ints, Matrix
from spexplain.facts.certificates import Certificate
from spexplain.facts.path import PathStep
from spexplain.facts.rows import Detail, add_rows, feature_facts
from spexplain.facts.runner_up import RunnerUp
from spexplain.facts.schema import (
    FORMAT,
    VERSION,
    AgreementFacts,
    BoxFacts,
    ConditionFacts,
    ConfusionFacts,
    GoalFacts,
    Label,
    LeafFacts,
    NodeFacts,
    PartFacts,
    ReferenceFacts,
    RunnerUpFacts,
    SegmentFacts,
    SettingsFacts,
    StepFacts,
    Summary,
    ValidationFacts,
    VerdictFacts,
    finite,
    plain_label,
    plain_value,
)
from spexplain.facts.text import known_columns
from spexplain.metrics.agreement import agreement_of_counts
from spexplain.table.reference import NOISE
from spexplain.table.sparse import leaves_of
from spexplain.table.storage import is_sparse
from spexplain.tree import LEAF, Column, Region, Test, Tree
from spexplain.tree.boxes import Box, node_boxes
from spexplain.tree.words import rule_text

if TYPE_CHECKING:
    from spexplain.explanation import Explanation


def summarize(
    explanation: "Explanation",
    X: Any = None,
    *,
    names: Sequence[Column | str] | None = None,
    leaf_reference: Iterable[Any] | None = None,
    path: Iterable[PathStep] = (),
    runner_ups: Mapping[int, RunnerUp] | None = None,
    certificate: Certificate | None = None,
    method: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    detail: Detail | None = None,
    segments: Iterable[SegmentFacts] = (),
    verdict: VerdictFacts | None = None,
    validation: ValidationFacts | None = None,
    described: Ints | None = None,
) -> Summary:
    """Return all facts about a fitted tree as one plain dict, ready for JSON.

    Parameters
    ----------
    explanation : Explanation
        The tree, its counts of clusters, and the leaf of every training row.
    X : array of shape (n_samples, n_features), optional
        The training rows. Without them nothing is said about values: no profiles, no rows.
    names : list of str or Column, optional
        Names of the features, or what they are; numbers called x0, x1, ... by default.
    leaf_reference : sequence, optional
        The reference label that each leaf stands for; by default its commonest.
    path : iterable of PathStep, optional
        The trees of 1, 2, ... leaves that growth passed; the step of as many leaves as the tree has
        is the tree itself.
    runner_ups : dict, optional
        Best cuts on other features by node, from `runner_ups`: a second search, so it is asked for
        separately.
    certificate : Certificate, optional
        What is proved about the tree.
    method, parameters : optional
        Name and settings of the method, for the record.
    detail : Detail, optional
        How much is said about rows.
    segments, verdict, validation : optional
        The records of the clusters, the verdict, and the figures on rows left out.
    described : array of int, optional
        Columns that leaves are described by beside those that are tested; by default all.

    Returns
    -------
    summary : dict
        See `spexplain.facts.schema` for its entries. O(n_samples · n_features).

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain import SpexClique
    >>> from spexplain.facts import summarize
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    >>> explainer = SpexClique().fit(X, ["a", "a", "a", "b", "b", "b"])
    >>> summary = summarize(explainer.explanation_, X, names=["age"])
    >>> [(leaf["rule"], leaf["label"], leaf["lift"]) for leaf in summary["leaves"]]
    [('age ≤ 6', 'a', 2.0), ('age > 6', 'b', 2.0)]
    """
    detail = Detail() if detail is None else detail
    tree = explanation.tree
    known = known_columns(tree.n_features, names)
    counted = CountedTree.of(explanation, known)
    leaves = leaf_facts(counted, leaf_reference)
    trees = [step_facts(step, tree) for step in explanation.trees]
    summary: Summary = {
        "format": FORMAT,
        "version": VERSION,
        "has_rows": False,
        "method": method,
        "objective": trees[-1]["objective"],
        "n_rows": counted.n_rows,
        "n_features": tree.n_features,
        "n_leaves": tree.n_leaves,
        "depth": tree.depth,
        "dtype": None,
        "verdict": verdict,
        "validation": validation,
        "segments": list(segments),
        "features": feature_facts(tree, known, counted.importances),
        "nodes": node_facts(counted, _comparable(runner_ups or {}, known)),
        "leaves": leaves,
        "reference": reference_facts(counted, leaves),
        "agreement": agreement_facts(counted),
        "confusion": confusion_facts(counted),
        "fidelity": trees[-1]["fidelity"],
        "balanced": finite(explanation.balanced),
        "price": trees[-1]["price"],
        "trees": trees,
        "path": [step_facts(step, tree) for step in path],
        "refined": is_changed(explanation),
        "goal": goal_facts(explanation),
        "leaves_for_all": explanation.leaves_for_all,
        "differences": None,
        "points": None,
        "certificate": None if certificate is None else certificate.to_dict(),
        "certificate_text": None if certificate is None else certificate.to_text(),
        "settings": settings_facts(detail, method, parameters),
    }
    if X is not None:
        table = check_rows(explanation, X)
        # Squares of huge values overflow to infinity, which becomes None.
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            add_rows(summary, explanation, table, known, detail, described)
    return summary


def check_rows(explanation: "Explanation", X: Any) -> Matrix:
    """Return the training rows as a float table; refuse other rows."""
    table: Matrix = X if is_sparse(X) else np.asarray(X)
    if table.dtype not in (np.float32, np.float64):
        table = table.astype(np.float64)
    tree, labels = explanation.tree, explanation.labels
    assert labels is not None
    if table.ndim != 2 or table.shape != (len(labels), tree.n_features):
        raise ValueError(
            f"X must hold the {len(labels)} training rows with their {tree.n_features} columns, got shape "
            f"{table.shape}."
        )
    if not np.array_equal(leaves_of(tree, table), labels):
        raise ValueError("X must hold the training rows, but some rows fall into other leaves.")
    return table


def is_changed(explanation: "Explanation") -> bool:
    """Whether a refinement changed tests, so that growth never passed this tree."""
    tree, grown = explanation.tree, explanation.grown
    if not explanation.is_refined or grown is None or tree.n_leaves > grown.tree.n_leaves:
        return explanation.is_refined
    before = grown.tree.truncate(tree.n_leaves)
    return tree.tests != before.tests or not np.array_equal(tree.left, before.left)


class CountedTree(NamedTuple):
    """A tree with the rows of its nodes."""

    tree: Tree
    columns: Sequence[Column]
    boxes: list[Box]  # where the rows of every node lie
    sizes: Ints  # rows of every node
    totals: Array  # the same, or their weight, as in all that follows
    counts: Array  # rows of every reference cluster in every node, shape (n_nodes, k)
    noise: Array  # rows of no cluster in every node
    labels: list[Label] | None  # of the reference clusters
    classes: Array
    importances: Floats  # of every node's test
    is_weighted: bool

    @classmethod
    def of(cls, explanation: "Explanation", columns: Sequence[Column]) -> "CountedTree":
        """Return the counts of a tree's nodes."""
        tree, reference = explanation.tree, explanation.reference
        totals, counts, noise = (
            explanation.node_totals,
            explanation.node_counts,
            explanation.node_noise,
        )
        if noise is None:
            noise = np.zeros_like(totals) if reference is None else totals - counts.sum(axis=1)
        labels = None if reference is None else [plain_label(each) for each in reference.classes]
        classes: Array = np.empty(0) if reference is None else reference.classes
        return cls(
            tree,
            columns,
            node_boxes(tree),
            explanation.node_sizes,
            totals,
            counts,
            noise,
            labels,
            classes,
            node_importances(tree, None if reference is None else counts, totals[tree.leaves]),
            explanation.node_weights is not None,
        )

    @property
    def n_rows(self) -> int:
        """Number of training rows."""
        return int(self.sizes[0])

    def share(self, count: float) -> float:
        """Return the share of all rows, or of their weight."""
        return float(count / (self.totals[0] or 1))

    def weight(self, node: int) -> dict[str, Any]:
        """Return the weight of a node's rows as an entry of its facts, if rows have weights."""
        return {"weight": self.totals[node].item()} if self.is_weighted else {}

    def rows_of(self, node: int, code: int) -> float:
        """Return the rows of a cluster, or of none, in a node, or their weight."""
        count: float = (self.noise[node] if code == NOISE else self.counts[node, code]).item()
        return count

    def commonest(self, node: int) -> int | None:
        """Return the cluster of most rows in a node, the first of equals; noise if there is nothing else."""
        if self.labels is None:
            return None
        if self.counts[node].any():
            return int(self.counts[node].argmax())
        return NOISE if self.noise[node] else None

    def purity(self, node: int, code: int | None) -> float | None:
        """Return the share of a cluster in the rows of a node; None for no cluster or no rows."""
        total = self.totals[node].item()
        return None if code is None or not total else min(self.rows_of(node, code) / total, 1.0)


def node_facts(counted: CountedTree, runner_ups: dict[int, RunnerUp]) -> list[NodeFacts]:
    """Return all nodes in birth order."""
    tree = counted.tree
    leaf_of = {int(node): leaf for leaf, node in enumerate(tree.leaves)}
    spans: dict[int, tuple[int, int]] = {}
    for node in range(tree.n_nodes - 1, -1, -1):  # children are younger than their parents
        if node in leaf_of:
            spans[node] = leaf_of[node], leaf_of[node]
        else:
            spans[node] = spans[int(tree.left[node])][0], spans[int(tree.right[node])][1]
    return [
        _node(counted, node, leaf_of.get(node), spans[node], runner_ups.get(node))
        for node in range(tree.n_nodes)
    ]


def _node(
    counted: CountedTree,
    node: int,
    leaf: int | None,
    span: tuple[int, int],
    runner_up: RunnerUp | None,
) -> NodeFacts:
    tree, size = counted.tree, int(counted.sizes[node])
    is_leaf = tree.feature[node] == LEAF
    feature, left = int(tree.feature[node]), int(tree.left[node])
    lower, threshold = float(tree.lower[node]), float(tree.threshold[node])
    column = None if is_leaf else counted.columns[feature]
    codes = tree.values.get(node)
    code = counted.commonest(node)
    return {
        "node": node,
        "parent": int(tree.parents[node]) if node else None,
        "left": None if is_leaf else left,
        "right": None if is_leaf else int(tree.right[node]),
        "leaf": leaf,
        "feature": None if is_leaf else feature,
        "name": None if column is None else column.name,
        "lower": finite(lower),
        "threshold": finite(threshold),
        "missing": bool(tree.missing[node]),
        "values": None if codes is None else list(codes),
        "test": None if column is None else tree.test(node).text(column),
        "depth": int(tree.node_depths[node]),
        "size": size,
        **counted.weight(node),  # type: ignore[typeddict-item]
        "share": counted.share(counted.totals[node]),
        "score": finite(tree.score[node]),
        "value": finite(tree.value[node]),
        "counts": None if counted.labels is None else counted.counts[node].tolist(),
        "noise": counted.noise[node].item(),
        "code": code,
        "purity": counted.purity(node, code),
        "box": [_box(*each) for each in counted.boxes[node].items()],
        "first_leaf": span[0],
        "last_leaf": span[1],
        # Split number s made the nodes 2s + 1 and 2s + 2, and the tree of s + 2 leaves.
        "splits_at": None if is_leaf else (left + 3) // 2,
        "importance": float(counted.importances[node]),
        "runner_up": None if runner_up is None else _runner_up(runner_up, counted.columns),
    }


def _box(feature: int, region: Region) -> BoxFacts:
    ends = [[finite(low), finite(high)] for low, high in region.intervals]
    return {"feature": feature, "intervals": ends, "missing": region.missing}


def _comparable(
    runner_ups: Mapping[int, RunnerUp], columns: Sequence[Column]
) -> dict[int, RunnerUp]:
    """Return the runner-ups without cuts that treat the codes of a category as numbers."""
    return {
        node: each
        for node, each in runner_ups.items()
        if columns[each.cut.feature].kind != "category" or each.cut.values is not None
    }


def _runner_up(found: RunnerUp, columns: Sequence[Column]) -> RunnerUpFacts:
    cut = found.cut
    return {
        "feature": cut.feature,
        "name": columns[cut.feature].name,
        "threshold": finite(cut.threshold),
        "text": Test(cut.feature, cut.lower, cut.threshold, cut.missing, cut.values).text(
            columns[cut.feature]
        ),
        "score": cut.score,
        "own_score": finite(found.own_score),
        "objective": found.objective,
    }


def leaf_facts(counted: CountedTree, leaf_reference: Iterable[Any] | None) -> list[LeafFacts]:
    """Return the leaves from left to right, without what describes their rows."""
    tree = counted.tree
    codes = _leaf_codes(counted, leaf_reference)
    leaves: list[LeafFacts] = []
    for leaf, (node, code) in enumerate(zip(tree.leaves.tolist(), codes, strict=True)):
        size = int(counted.sizes[node])
        box = counted.boxes[node]
        purity = counted.purity(node, code)
        leaves.append(
            {
                "leaf": leaf,
                "node": node,
                "depth": int(tree.node_depths[node]),
                "rule": rule_text(box, counted.columns),
                "conditions": conditions_of(box, counted.columns),
                "size": size,
                **counted.weight(node),  # type: ignore[typeddict-item]
                "share": counted.share(counted.totals[node]),
                "value": finite(tree.value[node]),
                "label": _label(counted, code),
                "code": code,
                "purity": purity,
                "lift": _lift(counted, code, purity),
                "composition": _composition(counted, node),
                "profile": [],
                "telling": [],
                "exemplars": [],
                "sample": [],
            }
        )
    return leaves


def conditions_of(box: Box, columns: Sequence[Column]) -> list[ConditionFacts]:
    """Return what a rule says about each feature."""
    return [
        {
            **_box(feature, region),
            "name": columns[feature].name,
            "text": region.text(columns[feature]),
        }
        for feature, region in box.items()
    ]


def _leaf_codes(counted: CountedTree, leaf_reference: Iterable[Any] | None) -> list[int | None]:
    """Return the code of the label that every leaf stands for, by default its commonest."""
    nodes = counted.tree.leaves.tolist()
    if leaf_reference is None or counted.labels is None:
        return [counted.commonest(node) for node in nodes]
    codes: list[int | None] = []
    for label, node in zip(leaf_reference, nodes, strict=True):
        found = [code for code, each in enumerate(counted.classes) if each == label]
        only_noise = counted.commonest(node) == NOISE
        codes.append(found[0] if found else NOISE if only_noise else None)
    return codes


def _label(counted: CountedTree, code: int | None) -> Label | None:
    if code is None or counted.labels is None:
        return None
    return NOISE if code == NOISE else counted.labels[code]


def _lift(counted: CountedTree, code: int | None, purity: float | None) -> float | None:
    """Return how much commoner a cluster is in a leaf than among all rows."""
    if code is None or purity is None:
        return None
    overall = counted.share(counted.rows_of(0, code))
    return purity / overall if overall else None


def _composition(counted: CountedTree, node: int) -> list[PartFacts]:
    """Return the clusters of a node's rows, commonest first, noise last."""
    if counted.labels is None:
        return []
    counts, total = counted.counts[node], counted.totals[node].item()
    codes = [code for code in np.argsort(-counts, kind="stable").tolist() if counts[code]]
    if counted.noise[node]:
        codes.append(NOISE)
    parts: list[PartFacts] = []
    for code in codes:
        label, count = _label(counted, code), counted.rows_of(node, code)
        assert label is not None
        parts.append({"label": label, "code": code, "count": count, "share": count / total})
    return parts


def reference_facts(counted: CountedTree, leaves: list[LeafFacts]) -> ReferenceFacts | None:
    """Return the clusters of the reference."""
    if counted.labels is None:
        return None
    return {
        "labels": counted.labels,
        "clusters": [
            {
                "label": label,
                "code": code,
                "size": counted.counts[0, code].item(),
                "share": counted.share(counted.counts[0, code]),
                "leaves": [leaf["leaf"] for leaf in leaves if leaf["code"] == code],
            }
            for code, label in enumerate(counted.labels)
        ],
        "n_noise": counted.noise[0].item(),
    }


def confusion_facts(counted: CountedTree) -> ConfusionFacts | None:
    """Return the rows of every leaf by cluster."""
    if counted.labels is None:
        return None
    nodes = counted.tree.leaves
    return {
        "labels": counted.labels,
        "counts": counted.counts[nodes].tolist(),
        "noise": counted.noise[nodes].tolist(),
    }


def agreement_facts(counted: CountedTree) -> AgreementFacts | None:
    """Return how much leaves and reference agree; rows of no cluster do not count."""
    counts = counted.counts[counted.tree.leaves]
    if counted.labels is None or not counts.any():
        return None
    found = agreement_of_counts(counts)
    return {"ari": found.ari, "ami": found.ami, "purity": found.purity}


def goal_facts(explanation: "Explanation") -> GoalFacts | None:
    """Return what the search for the tree optimised."""
    goal = explanation.goal
    if goal is None:
        return None
    return {
        "name": goal.name,
        "value": goal.value,
        "bound": finite(goal.bound),
        "optimal": goal.optimal,
        "text": goal.text(explanation.tree.n_leaves),
        "curve": [
            {
                "n_leaves": step.n_leaves,
                "value": step.value,
                "bound": finite(step.bound),
                "optimal": step.optimal,
                "n_lost": step.n_lost,
            }
            for step in goal.curve
        ],
    }


def step_facts(step: PathStep, tree: Tree) -> StepFacts:
    """Return the figures of one tree of a path, on which the tree itself lies."""
    return {
        "n_leaves": int(step.n_leaves),
        "objective": finite(step.objective),
        "agreement": finite(step.agreement),
        "fidelity": finite(step.fidelity),
        "price": finite(step.price),
        "depth": int(step.depth),
        "explanation_size": finite(step.explanation_size),
        "shown": step.n_leaves == tree.n_leaves,
    }


def settings_facts(
    detail: Detail, method: str | None, parameters: Mapping[str, Any] | None
) -> SettingsFacts:
    """Return how a summary was made."""
    return {
        "spexplain": __version__,
        "method": method,
        "parameters": {name: plain_value(value) for name, value in (parameters or {}).items()},
        "max_features": detail.max_features,
        "n_exemplars": detail.n_exemplars,
        "n_sampled": detail.n_sampled,
        "n_points": detail.n_points,
        "seed": detail.seed,
    }


def feature_importances(tree: Tree, node_counts: Ints | None = None) -> Floats:
    """Return the share of every feature in separating the clusters.

    A test earns the drop of the Gini impurity of its node, weighted by the node's rows. (The Gini
    impurity is how often two random rows are of different clusters.) This is never negative, whatever
    objective grew the tree (conductances, for instance, only rise with every split), and for CART
    it is the drop of the objective itself. Clusters are those of the reference; without a
    reference, the leaves themselves.

    Parameters
    ----------
    tree : Tree
        The tree; its sizes count where there is no reference.
    node_counts : array of int, shape (n_nodes, k), optional
        Rows of each reference cluster in every node.

    Returns
    -------
    importances : array of float, shape (n_features,)
        Non-negative with sum 1; all zero if no test lowers the impurity.

    Examples
    --------
    >>> from spexplain.facts import feature_importances
    >>> from spexplain.tree import Tree
    >>> tree = Tree.root(n_features=3, size=8).split(0, feature=2, threshold=0.0, sizes=(4, 4))
    >>> feature_importances(tree.split(1, feature=0, threshold=0.0, sizes=(2, 2)))
    array([0.4, 0. , 0.6])
    """
    inner = tree.feature != LEAF
    earned = node_importances(tree, node_counts)[inner]
    importances = np.zeros(tree.n_features)
    np.add.at(importances, tree.feature[inner], earned)
    return importances


def node_importances(
    tree: Tree, node_counts: Ints | None = None, leaf_weights: Array | None = None
) -> Floats:
    """Return what the test of every node earns, with sum 1 or all zero; see `feature_importances`.

    Without a reference, leaves may have weights other than their numbers of rows.
    """
    if node_counts is None or not node_counts.shape[1]:  # every leaf is a cluster
        amounts = tree.size[tree.leaves] if leaf_weights is None else leaf_weights
        leaf_sizes = amounts.astype(np.float64)
        sizes, squares = tree.totals(np.column_stack([leaf_sizes, leaf_sizes**2])).T
    else:
        counts = node_counts.astype(np.float64)
        sizes, squares = counts.sum(axis=1), np.sum(counts**2, axis=1)
    impurity = sizes - squares / np.maximum(sizes, 1)
    inner = np.flatnonzero(tree.feature != LEAF)
    drops = np.zeros(tree.n_nodes)
    drops[inner] = impurity[inner] - impurity[tree.left[inner]] - impurity[tree.right[inner]]
    # Rounding may leave a trace of either sign where nothing is separated.
    drops[drops <= 1e-12 * sizes[0]] = 0.0
    total = drops.sum()
    shares: Floats = drops / total if total else drops
    return shares
