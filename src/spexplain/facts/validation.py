"""How explanations do on other rows: held-out figures, and what changes if other rows are drawn."""

from collections.abc import Iterable, Sequence
from math import inf
from typing import NamedTuple

import numpy as np

from spexplain.aliases import Array, Floats, Ints
from spexplain.facts.schema import (
    HeldOutClusterFacts,
    RuleStabilityFacts,
    ScoreFacts,
    SegmentStabilityFacts,
    StabilityFacts,
    TestStabilityFacts,
    ValidationFacts,
    finite,
)
from spexplain.facts.segments import Clusters
from spexplain.facts.text import MOST_VALUES, name_mark, named_parts, named_text, percent
from spexplain.messages import counted, one_line
from spexplain.metrics.agreement import agreement_of_counts
from spexplain.table.base import NodeValues
from spexplain.tree import LEAF, Column, Tree
from spexplain.tree.words import leaf_rules


class HeldOut(NamedTuple):
    """What one fold says about the rows that it leaves out."""

    rows: Ints
    predicted: Ints  # cluster that each row's leaf stands for
    leaves: Ints
    clustering: float | None  # agreement of its clusters with those that are explained


def scores(
    codes: Ints, predicted: Ints, leaves: Ints, n_clusters: int, weights: Floats | None = None
) -> ScoreFacts:
    """Return how well rows are put into their clusters; rows of no cluster do not count.

    Parameters
    ----------
    codes, predicted : array of int, shape (n_rows,)
        Cluster of every row, and what its leaf stands for; -1 for none.
    leaves : array of int, shape (n_rows,)
        Leaf of every row.
    n_clusters : int
        Number of clusters.
    weights : array of shape (n_rows,), optional
        Weights of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain.facts.validation import scores
    >>> found = scores(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]), 2)
    >>> found["fidelity"], round(found["balanced"], 3)
    (0.75, 0.833)
    """
    table = confusion(codes, predicted, n_clusters, weights)
    sizes, right = table.sum(axis=1), np.diagonal(table)
    present = sizes > 0
    total = float(sizes.sum())
    clustered = codes >= 0
    cells = np.zeros((int(leaves.max(initial=0)) + 1, n_clusters))
    mass = 1.0 if weights is None else weights[clustered]
    np.add.at(cells, (leaves[clustered], codes[clustered]), mass)
    return {
        "fidelity": float(right.sum()) / total if total else 0.0,
        "balanced": float(np.mean(right[present] / sizes[present])) if present.any() else 0.0,
        "agreement": float(agreement_of_counts(cells).ari) if total else 0.0,
    }


def confusion(
    codes: Ints, predicted: Ints, n_clusters: int, weights: Floats | None = None
) -> Floats:
    """Return rows by cluster and by what their leaves stand for, the last column for no cluster."""
    table = np.zeros((n_clusters, n_clusters + 1))
    clustered = codes >= 0
    mass = 1.0 if weights is None else weights[clustered]
    places = np.where(predicted < 0, n_clusters, predicted)[clustered]
    np.add.at(table, (codes[clustered], places), mass)
    return table


def in_sample_scores(clusters: Clusters) -> ScoreFacts:
    """Return the same of the training rows, from their counts."""
    table = in_sample_confusion(clusters)
    sizes, right = table.sum(axis=1), np.diagonal(table)
    present, total = sizes > 0, float(sizes.sum())
    return {
        "fidelity": float(right.sum()) / total if total else 0.0,
        "balanced": float(np.mean(right[present] / sizes[present])) if present.any() else 0.0,
        "agreement": float(agreement_of_counts(clusters.leaf_counts).ari) if total else 0.0,
    }


def in_sample_confusion(clusters: Clusters) -> Floats:
    """Return training rows by cluster and by what their leaves stand for, the last column for no cluster."""
    n_clusters = len(clusters.labels)
    table = np.zeros((n_clusters, n_clusters + 1))
    for code, own in zip(clusters.leaf_codes, clusters.leaf_counts, strict=True):
        table[:, code if code >= 0 else n_clusters] += own
    return table


def validation_facts(
    clusters: Clusters,
    codes: Ints,
    folds: Sequence[HeldOut],
    weights: Floats | None = None,
) -> ValidationFacts:
    """Return how a method does on rows that it has not seen, next to those that it has seen.

    Parameters
    ----------
    clusters : Clusters
        What is explained.
    codes : array of int, shape (n_rows,)
        Cluster of every row.
    folds : sequence of HeldOut
        What the method says about every fold.
    weights : array of shape (n_rows,), optional
        Weights of the rows.
    """
    n_clusters = len(clusters.labels)

    def mass(rows: Ints) -> Floats | None:
        return None if weights is None else weights[rows]

    each = [
        scores(codes[fold.rows], fold.predicted, fold.leaves, n_clusters, mass(fold.rows))
        for fold in folds
    ]
    rows = np.concatenate([fold.rows for fold in folds])
    predicted = np.concatenate([fold.predicted for fold in folds])
    table = confusion(codes[rows], predicted, n_clusters, mass(rows))
    held_out = scores(codes[rows], predicted, np.zeros_like(rows), n_clusters, mass(rows))
    # Leaves of different trees cannot be pooled.
    held_out["agreement"] = float(np.mean([score["agreement"] for score in each]))
    found = [fold.clustering for fold in folds if fold.clustering is not None]
    before = in_sample_confusion(clusters)
    facts: ValidationFacts = {
        "folds": len(folds),
        "rows": int((codes[rows] >= 0).sum()),
        "repeated_clustering": bool(found),
        "in_sample": in_sample_scores(clusters),
        "held_out": held_out,
        "each": each,
        "chance": float(table.sum(axis=1) @ table.sum(axis=0)[:-1])
        / max(float(table.sum()), 1e-300) ** 2,
        "clusters": [_cluster(clusters, code, before, table) for code in range(n_clusters)],
        "clustering_agreement": float(np.mean(found)) if found else None,
        "sentences": [],
        "parts": [],
    }
    _say(facts)
    return facts


def renamed_validation(facts: ValidationFacts, clusters: Clusters) -> ValidationFacts:
    """Return the same facts under the names that clusters have now."""
    renamed = {**facts}
    renamed["clusters"] = [
        {**each, "cluster": clusters.labels[each["code"]], "name": clusters.names[each["code"]]}
        for each in facts["clusters"]
    ]
    found: ValidationFacts = renamed  # type: ignore[assignment]
    _say(found)
    return found


def _cluster(clusters: Clusters, code: int, before: Floats, after: Floats) -> HeldOutClusterFacts:
    def share(part: float, whole: float) -> float | None:
        return min(float(part / whole), 1.0) if whole else None

    return {
        "cluster": clusters.labels[code],
        "code": code,
        "name": clusters.names[code],
        "rows": clusters.counts[0, code].item(),
        "recall": share(before[code, code], before[code].sum()),
        "recall_held_out": share(after[code, code], after[code].sum()),
        "precision": share(before[code, code], before[:, code].sum()),
        "precision_held_out": share(after[code, code], after[:, code].sum()),
    }


def _say(facts: ValidationFacts) -> None:
    """Put what was found into words."""
    names = [each["name"] for each in facts["clusters"]]
    sentences = _validation_sentences(facts)
    facts["sentences"] = [named_text(each, names) for each in sentences]
    facts["parts"] = [named_parts(each, names) for each in sentences]


def _validation_sentences(facts: ValidationFacts) -> list[str]:
    """Return sentences with marks for the names of clusters."""
    before, after = facts["in_sample"], facts["held_out"]
    told = [
        f"On rows that were left out ({facts['folds']} folds) {percent(after['fidelity'])} are right, "
        f"{percent(before['fidelity'])} of those the rules were found on; mean recall {percent(after['balanced'])} "
        f"and {percent(before['balanced'])}, agreement {after['agreement']:.2f} and {before['agreement']:.2f}."
    ]
    dropped = [
        (each["recall"] - each["recall_held_out"], each)
        for each in facts["clusters"]
        if each["recall"] is not None and each["recall_held_out"] is not None
    ]
    if dropped:
        loss, worst = max(dropped, key=lambda pair: pair[0])
        if loss >= 0.1 and worst["recall"] is not None and worst["recall_held_out"] is not None:
            told.append(
                f"{name_mark(worst['code'])} loses most: its rules catch {percent(worst['recall_held_out'])} of it "
                f"on rows that were left out, {percent(worst['recall'])} otherwise."
            )
    found = facts["clustering_agreement"]
    if found is not None:
        told.append(
            f"Clusters found anew without a fold agree with these by {found:.2f} on average"
            f"{'' if found >= 0.8 else ': the clusters themselves are not stable'}."
        )
    return told


def dealt(codes: Ints, n_folds: int, random: np.random.Generator) -> list[Ints]:
    """Return folds of rows in which every cluster has its share: its rows are shuffled and dealt in turn.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain.facts.validation import dealt
    >>> folds = dealt(np.array([0, 0, 0, 1, 1, 1]), 3, np.random.default_rng(0))
    >>> [np.array([0, 0, 0, 1, 1, 1])[rows].tolist() for rows in folds]
    [[0, 1], [0, 1], [0, 1]]
    """
    order = random.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    return [np.sort(order[fold::n_folds]) for fold in range(n_folds)]


class Stability:
    """Collects trees of drawn rows, and compares them with the tree itself.

    Parameters
    ----------
    tree : Tree
        The tree.
    leaves, predicted : array of int, shape (n_rows,)
        Leaf of every row, and the cluster it stands for.
    """

    def __init__(self, tree: Tree, leaves: Ints, predicted: Ints) -> None:
        self.tree, self.leaves, self.predicted = tree, leaves, predicted
        inner = np.flatnonzero(tree.feature != LEAF)
        self._inner: list[int] = inner.tolist()
        self._reached = _reached(tree, leaves)
        self._columns: dict[int, list[int]] = {node: [] for node in self._inner}
        self._cuts: dict[int, list[float]] = {node: [] for node in self._inner}
        self._sets: dict[int, list[bool]] = {node: [] for node in self._inner}
        self._together = np.zeros(tree.n_leaves)
        self._kept: list[Floats] = []
        self.n_drawn = 0

    def add(self, tree: Tree, leaves: Ints, predicted: Ints, n_clusters: int) -> None:
        """Add a tree, and where it sends the rows of the table."""
        self.n_drawn += 1
        reached = _reached(tree, leaves)
        others = np.flatnonzero(tree.feature != LEAF)
        for node in self._inner:
            if not len(others):
                self._columns[node].append(LEAF)
                continue
            own = self._reached[node]
            # The test that nearly the same rows get to.
            common = (reached[others] & own).sum(axis=1)
            either = (reached[others] | own).sum(axis=1)
            at = int(others[np.argmax(common / np.maximum(either, 1))])
            self._columns[node].append(int(tree.feature[at]))
            if tree.feature[at] == self.tree.feature[node]:
                self._cuts[node].append(float(tree.threshold[at]))
                self._sets[node].append(tree.values.get(at) == self.tree.values.get(node))
        pairs = np.zeros((self.tree.n_leaves, tree.n_leaves))
        np.add.at(pairs, (self.leaves, leaves), 1.0)
        sizes = pairs.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            same = (pairs * (pairs - 1)).sum(axis=1) / (sizes * (sizes - 1))
        self._together += np.where(sizes > 1, same, 1.0)
        kept = np.full(n_clusters, np.nan)
        for code in range(n_clusters):
            selected = self.predicted == code
            if selected.any():
                kept[code] = np.mean(predicted[selected] == code)
        self._kept.append(kept)

    def facts(
        self, clusters: Clusters, columns: Sequence[Column], around: NodeValues
    ) -> StabilityFacts:
        """Return what was found."""
        tests = [self._test(node, columns, around) for node in self._inner]
        sizes = np.bincount(self.leaves, minlength=self.tree.n_leaves)
        together = self._together / max(self.n_drawn, 1)
        rules: list[RuleStabilityFacts] = []
        for leaf, rule in enumerate(leaf_rules(self.tree, columns)):
            share = float(together[leaf])
            rules.append(
                {
                    "leaf": leaf,
                    "rule": rule,
                    "rows": int(sizes[leaf]),
                    "together": share,
                    "text": f"Leaf {leaf}: two of its rows stay together in {percent(share)} of the drawn trees.",
                }
            )
        with np.errstate(invalid="ignore"):
            kept = np.array(self._kept).mean(axis=0)
        segments: list[SegmentStabilityFacts] = [
            {
                "cluster": label,
                "code": code,
                "name": clusters.names[code],
                "kept": finite(kept[code]),
            }
            for code, label in enumerate(clusters.labels)
        ]
        return {
            "drawn": self.n_drawn,
            "tests": tests,
            "rules": rules,
            "segments": segments,
            "sentences": _stability_sentences(self.n_drawn, tests, segments),
        }

    def _test(self, node: int, columns: Sequence[Column], around: NodeValues) -> TestStabilityFacts:
        test = self.tree.test(node)
        column = columns[test.feature]
        chosen = self._columns[node]
        same = sum(each == test.feature for each in chosen) / max(len(chosen), 1)
        said = one_line(test.region().text(column, MOST_VALUES))
        interval = free = interval_text = free_text = same_values = None
        text = f"{said}: {percent(same)} of the drawn trees test {one_line(column.name)} here"
        if test.values is not None:
            found = self._sets[node]
            same_values = sum(found) / len(found) if found else None
            if same_values is not None:
                text += f", {percent(same_values)} of these for the same values"
        elif test.upper > -inf:
            cuts = np.array([cut for cut in self._cuts[node] if np.isfinite(cut)])
            if len(cuts):
                # Thresholds that occur, so that they are as short.
                low, high = np.quantile(cuts, [0.05, 0.95], method="nearest").tolist()
                interval = [low, high]
                interval_text = _between(column, low, high)
                text += f", with a threshold {interval_text}"
            free = [finite(around.below[node]), finite(around.above[node])]
            free_text = _free_text(column, free)
        return {
            "node": node,
            "feature": test.feature,
            "test": said,
            "same_column": same,
            "interval": interval,
            "interval_text": interval_text,
            "same_values": same_values,
            "free": free,
            "free_text": free_text,
            "text": f"{text}.{'' if free_text is None else f' {free_text}'}",
        }


def _reached(tree: Tree, leaves: Ints) -> Array:
    """Return which rows get to which node, shape (n_nodes, n_rows)."""
    reached = np.zeros((tree.n_nodes, len(leaves)), dtype=np.bool_)
    for leaf, node in enumerate(tree.leaves):
        reached[node] = leaves == leaf
    for node in range(tree.n_nodes - 1, 0, -1):  # children are younger than their parents
        reached[tree.parents[node]] |= reached[node]
    return reached


def _between(column: Column, low: float, high: float) -> str:
    # For dates x ≤ t is said as: before the microsecond after t.
    first, last = (column.say(end + (column.kind == "date")) for end in (low, high))
    return f"of {first}" if first == last else f"from {first} to {last}"


def _free_text(column: Column, free: Sequence[float | None]) -> str | None:
    """Return where a threshold may move without changing a row."""
    low, high = free
    if low is None or high is None:
        return None
    # The test of a date says "before", so that the last value below is the earliest that it may name.
    if column.kind == "date":
        return f"Any date after {column.say(low)}, up to {column.say(high)}, splits these rows in the same way."
    return f"Any threshold from {column.say(low)} to less than {column.say(high)} splits these rows in the same way."


def _stability_sentences(
    n_drawn: int, tests: Iterable[TestStabilityFacts], segments: Iterable[SegmentStabilityFacts]
) -> list[str]:
    tests = list(tests)
    told = []
    if tests:
        steady = sum(each["same_column"] >= 0.8 for each in tests)
        told.append(
            f"Of {counted(n_drawn, 'tree')} fitted to redrawn rows, at least 80% test the same column at "
            f"{steady} of {counted(len(tests), 'test')}."
        )
        weakest = min(tests, key=lambda each: each["same_column"])
        if weakest["same_column"] < 0.8:
            told.append(
                f"Least steady is {weakest['test']}: {percent(weakest['same_column'])} of the trees test that column."
            )
    known = [each for each in segments if each["kept"] is not None]
    if known:
        loosest = min(known, key=lambda each: each["kept"] or 0.0)
        told.append(
            f"Of the rows of {loosest['name']}, {percent(loosest['kept'] or 0.0)} stay with it, the fewest of all "
            "clusters."
        )
    return told
