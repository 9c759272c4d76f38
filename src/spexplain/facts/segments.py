"""One record per cluster: its leaves as one rule, how well that fits, what its rows are like."""

from collections.abc import Sequence
from dataclasses import replace
from math import sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spexplain.aliases import Array, Bools, Floats, Ints, Matrix
from spexplain.facts.leaf_statistics import (
    QUANTILES,
    Moments,
    Shares,
    leaf_quantiles,
    nearest_rows,
)
from spexplain.facts.rows import Detail, column_values, share_text
from spexplain.facts.schema import (
    ContrastFacts,
    FlowFacts,
    Label,
    SegmentFacts,
    SegmentTellingFacts,
    TypicalFacts,
    finite,
    plain_label,
)
from spexplain.facts.summary import conditions_of
from spexplain.facts.text import (
    MOST_VALUES,
    amount_figure,
    brief_text,
    cluster_text,
    known_columns,
    name_mark,
    percent,
    rows_or_weight,
    value_text,
)
from spexplain.messages import one_line
from spexplain.table.host import rows_of_groups
from spexplain.table.reference import NOISE
from spexplain.table.sparse import dense
from spexplain.tree import LEAF, Column, Tree, number
from spexplain.tree.boxes import Box
from spexplain.tree.joins import Joins, joined
from spexplain.tree.words import joined_text

if TYPE_CHECKING:
    from spexplain.explanation import Explanation

NO_RULE = "no rule"
_N_TELLING = 5
_FEWEST_ROWS = 5  # with a value in an untested column, for that value to be kept in a file
_CLEAR = 0.05  # standard deviations that a telling column must differ by
_CLEAR_RATIO = 1.5  # from which on means are said as a multiple of the average
_MOST_TESTS = 3  # of a contrast
_WORTH = 0.01  # mean recall that a further test of a contrast must add
_NEEDS_ROWS = (
    "Telling columns and typical rows need the training rows, which this model does not hold; ask the fitted "
    "estimator."
)
_NEEDS_EXAMPLES = (
    "Typical rows need the training rows, which this model does not hold; ask the fitted estimator."
)
_NEEDS_COUNTS = "This model does not hold the rows of each cluster in every leaf, so only rules and leaves are known."


def segment_facts(
    explanation: "Explanation",
    X: Matrix | None = None,
    *,
    names: Sequence[Column | str] | None = None,
    telling_columns: Ints | None = None,
    detail: Detail | None = None,
) -> list[SegmentFacts]:
    """Return one record per cluster of the reference, or per leaf where there is none.

    Parameters
    ----------
    explanation : Explanation
        The tree and its counts; estimators and models that were read have the same.
    X : array of shape (n_samples, n_features), optional
        The training rows, of which the explanation must know the clusters. Without, records have no telling
        columns and no typical rows, and their note says so.
    names : list of str or Column, optional
        Names of the features, or what they are.
    telling_columns : array of int, optional
        Columns that may be telling; by default all.
    detail : Detail, optional
        How many typical rows are given.

    Returns
    -------
    segments : list of SegmentFacts
        In the order of the clusters' labels. O(n_samples · n_features) with rows.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain import SpexClique
    >>> from spexplain.facts.segments import segment_facts
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    >>> explainer = SpexClique().fit(X, ["a", "a", "a", "b", "b", "b"])
    >>> first, _ = segment_facts(explainer.explanation_, X, names=["age"])
    >>> first["rule"], first["recall"], first["telling"][0]["text"]
    ('age ≤ 6', 1.0, 'age 0.17× the average')
    """
    columns = known_columns(explanation.tree.n_features, names)
    clusters = Clusters.of(explanation)
    joins = Joins(clusters.tree, columns)
    boxes = [joins.of(clusters.leaves_of(code)) for code in range(len(clusters.labels))]
    segments = [_segment(clusters, code, own, columns) for code, own in enumerate(boxes)]
    if X is None or clusters.codes is None:
        told = explanation.told if clusters.is_reference else None
        if told is not None and len(told) != len(segments):
            told = None
        for each in segments:
            if told is not None:
                each["telling"] = [telling_facts(one, columns) for one in told[each["code"] or 0]]
            each["note"] = each["note"] or (_NEEDS_ROWS if told is None else _NEEDS_EXAMPLES)
    else:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            _add_rows(segments, clusters, X, columns, telling_columns, detail or Detail())
    for each, own in zip(segments, boxes, strict=True):
        rule = rule_of(each["leaves"], own, columns, MOST_VALUES)
        each["sentences"] = _sentences(each, rule, is_weighted=explanation.node_weights is not None)
    return segments


class Telling(NamedTuple):
    """How a cluster differs from all rows in one column, in the numbers that models remember."""

    feature: int
    kind: str  # mean, share (of a value) or missing
    difference: float  # in standard deviations
    inside: float  # the mean or share in the cluster
    overall: float  # the same of all rows
    code: int | None = None  # of the value whose share is meant
    value: Any = None  # this value, of columns of categories
    least: float = 0.0  # least value of all rows; below zero, means are not given as multiples


TELLING_KINDS = ("mean", "share", "missing")


def telling_facts(told: Telling, columns: Sequence[Column]) -> SegmentTellingFacts:
    """Return the difference of a cluster in one column, with a sentence in plain words.

    Examples
    --------
    >>> from spexplain.facts.segments import Telling, telling_facts
    >>> from spexplain.tree import Column
    >>> telling_facts(Telling(0, "missing", 1.2, 0.4, 0.1), [Column("age")])["text"]
    'age missing in 40%, 10% overall'
    """
    column = columns[told.feature]
    if told.kind == "missing":
        text = f"{column.name} missing in {percent(told.inside)}, {percent(told.overall)} overall"
    elif told.kind == "mean":
        text = mean_reading(column, told.inside, told.overall, told.least)
    elif told.value is not None:  # models do not know all values of columns that no test reads
        known = replace(column, categories=(told.value,))
        text = share_reading(known, 0, told.inside, told.overall)
    else:
        text = share_reading(column, told.code or 0, told.inside, told.overall)
    return {
        "feature": told.feature,
        "name": column.name,
        "kind": column.kind,
        "text": text,
        "difference": told.difference,
        "code": told.code,
        "inside": finite(told.inside),
        "overall": finite(told.overall),
    }


class Clusters(NamedTuple):
    """The clusters of an explanation, and what each leaf holds of them."""

    tree: Tree
    labels: list[Label]
    names: list[str]
    leaf_codes: Ints  # cluster that each leaf stands for; -1: noise, or one that is not known
    counts: Array  # rows of every cluster in every node, or their weight, shape (n_nodes, k)
    noise: Array  # rows of no cluster in every node
    totals: Array  # of every node
    is_counted: bool  # whether `counts` are known
    codes: Ints | None  # cluster of every training row
    leaves: Ints | None  # leaf of every training row
    weights: Floats | None
    is_reference: bool = True  # otherwise leaves stand for themselves
    row_ids: Array | None = None  # what training rows are called

    @classmethod
    def of(cls, explanation: "Explanation") -> "Clusters":
        """Return the clusters of the reference, or the leaves as clusters where there is none."""
        tree, training = explanation.tree, explanation.training
        totals, classes = explanation.node_totals, explanation.classes
        leaves = None if training is None else training.labels
        weights = None if training is None else training.weights
        if classes is None and explanation.leaf_reference is not None:
            # A model of an older file knows what its leaves stand for, but not of how many rows.
            classes = np.unique(explanation.leaf_reference)
        if classes is None:
            labels: list[Label] = list(range(tree.n_leaves))
            counts = tree.totals(np.diag(totals[tree.leaves]))
            noise, leaf_codes = np.zeros_like(totals), np.arange(tree.n_leaves)
            codes, is_counted = leaves, True
            texts = [f"leaf {leaf}" for leaf in labels]
        else:
            labels = [plain_label(each) for each in classes]
            texts = [cluster_text(code, label) for code, label in enumerate(labels)]
            counts = explanation.node_counts
            is_counted = counts.shape[1] == len(labels)
            if not is_counted:
                counts = np.zeros((tree.n_nodes, len(labels)), dtype=np.int64)
            noise = totals - counts.sum(axis=1)
            if explanation.node_noise is not None:
                noise = explanation.node_noise
            assert explanation.leaf_reference is not None
            places = {label: code for code, label in enumerate(classes.tolist())}
            found = [places.get(each, NOISE) for each in explanation.leaf_reference.tolist()]
            leaf_codes = np.array(found, dtype=np.int64)
            reference = explanation.row_reference
            codes = None if reference is None else reference.codes
        known = codes if isinstance(codes, np.ndarray) and isinstance(leaves, np.ndarray) else None
        return cls(
            tree,
            labels,
            texts,
            leaf_codes,
            counts,
            noise,
            totals,
            is_counted,
            known,
            leaves,
            weights,
            classes is not None,
            None if training is None else training.row_ids,
        )

    @property
    def leaf_counts(self) -> Array:
        """Rows of every leaf by cluster."""
        return self.counts[self.tree.leaves]

    def leaves_of(self, code: int) -> list[int]:
        """Return the leaves that stand for a cluster."""
        return [int(leaf) for leaf in np.flatnonzero(self.leaf_codes == code)]

    def name(self, code: int) -> str:
        """Return what a cluster is called."""
        return "noise" if code == NOISE else self.names[code]

    def label(self, code: int) -> Label:
        """Return the label of a cluster."""
        return NOISE if code == NOISE else self.labels[code]

    @property
    def marked(self) -> "Clusters":
        """The same clusters with marks for names, so that sentences about them can be cut at the names."""
        return self._replace(names=[name_mark(code) for code in range(len(self.names))])

    def code_of(self, label: Any, argument: str = "cluster") -> int:
        """Return the cluster of a label or of a name; refuse others in one sentence."""
        wanted = plain_label(label)
        for known in (self.labels, self.names, [str(each) for each in self.labels]):
            found = [
                code
                for code, each in enumerate(known)
                if each == wanted and isinstance(each, bool) == isinstance(wanted, bool)
            ]
            if found:
                return found[0]
        from spexplain.messages import closest

        raise ValueError(
            f"{argument}={label!r} is not a cluster of this explanation{closest(str(label), self.names)}"
        )


class SegmentFit(NamedTuple):
    """How well the leaves that stand for a cluster fit it."""

    leaves: list[int]
    size: Any  # rows of the cluster, or their weight
    selected: Any  # rows of its leaves
    caught: Any  # rows of both
    share: float
    precision: float | None
    recall: float | None
    f1: float | None


def fit_of(clusters: Clusters, code: int) -> SegmentFit:
    """Return how well the leaves that stand for a cluster fit it."""
    leaves = clusters.leaves_of(code)
    in_leaf, totals = clusters.leaf_counts, clusters.totals[clusters.tree.leaves]
    size, n_rows = clusters.counts[0, code].item(), clusters.totals[0].item()
    selected, caught = totals[leaves].sum().item(), in_leaf[leaves, code].sum().item()
    share = size / (n_rows or 1)
    precision = min(caught / selected, 1.0) if selected else None
    recall = min(caught / size, 1.0) if size else None
    both = None if precision is None or recall is None else precision + recall
    f1 = 2 * (precision or 0) * (recall or 0) / both if both else None if recall is None else 0.0
    return SegmentFit(leaves, size, selected, caught, share, precision, recall, f1)


def rule_of(
    leaves: list[int], boxes: Sequence[Box], columns: Sequence[Column], most: int | None = None
) -> str:
    """Return some leaves, whose joined boxes are given, as one rule; if asked for, with few values of a list."""
    return joined_text(boxes, columns, most) if leaves else NO_RULE


def _segment(
    clusters: Clusters, code: int, boxes: Sequence[Box], columns: Sequence[Column]
) -> SegmentFacts:
    """Return the facts about a cluster, whose joined boxes are given, that follow from the counts."""
    leaves, size, selected, caught, share, precision, recall, f1 = fit_of(clusters, code)
    facts: SegmentFacts = {
        "cluster": clusters.labels[code],
        "code": code,
        "name": clusters.names[code],
        "rule": rule_of(leaves, boxes, columns),
        "alternatives": [conditions_of(box, columns) for box in boxes],
        "n_conditions": sum(len(box) for box in boxes),
        "rows": size,
        "share": share,
        "selected": selected,
        "precision": precision,
        "recall": recall,
        "f1": f1,
        "lift": precision / share if precision is not None and share else None,
        "leaves": leaves,
        "missed": size - caught,
        "missed_to": _missed(clusters, code),
        "wrong": selected - caught,
        "wrong_from": _wrong(clusters, code),
        "telling": [],
        "typical": [],
        "nearest": _nearest(clusters, code, columns),
        "sentences": [],
        "note": None,
    }
    if not clusters.is_counted:
        blank: Any = dict.fromkeys(("rows", "share", "precision", "recall", "f1", "lift"))
        blank |= {"missed": None, "wrong": None, "note": _NEEDS_COUNTS}
        facts |= blank
    return facts


def _flow(clusters: Clusters, code: int, rows: Any, total: Any) -> FlowFacts:
    return {
        "cluster": clusters.label(code),
        "code": code,
        "name": clusters.name(code),
        "rows": rows,
        "share": rows / total,
    }


def _missed(clusters: Clusters, code: int) -> list[FlowFacts]:
    """Return the clusters whose leaves hold rows of this one, most rows first."""
    own = clusters.leaf_counts[:, code]
    size = own.sum().item()
    flows = []
    for other in [*range(len(clusters.labels)), NOISE]:
        rows = own[clusters.leaf_codes == other].sum().item()
        if other != code and rows:
            flows.append(_flow(clusters, other, rows, size))
    return sorted(flows, key=lambda each: -each["rows"])


def _wrong(clusters: Clusters, code: int) -> list[FlowFacts]:
    """Return the clusters of other rows in the leaves of this one, most rows first."""
    leaves = clusters.leaf_codes == code
    counts = clusters.leaf_counts[leaves].sum(axis=0)
    noise = clusters.noise[clusters.tree.leaves][leaves].sum()
    total = clusters.totals[clusters.tree.leaves][leaves].sum().item()
    flows = [
        _flow(clusters, other, rows.item(), total)
        for other, rows in [*enumerate(counts), (NOISE, noise)]
        if other != code and rows and clusters.is_counted
    ]
    return sorted(flows, key=lambda each: -each["rows"])


def _nearest(clusters: Clusters, code: int, columns: Sequence[Column]) -> ContrastFacts | None:
    """Return the cluster that this one is most confused with, or parted from last, and what separates them."""
    if len(clusters.labels) < 2 or not clusters.is_counted:
        return None
    other = nearest_cluster(clusters, code)
    return None if other is None else contrast_in_tree(clusters, code, other, columns)


def nearest_cluster(clusters: Clusters, code: int) -> int | None:
    """Return the cluster with most rows in a cluster's leaves and the other way round.

    Where there is no such row, the one that shares most tests with it.
    """
    counts, own = clusters.leaf_counts, clusters.leaf_codes == code
    confused = counts[own].sum(axis=0).astype(np.float64)
    for other in range(len(clusters.labels)):
        confused[other] += counts[clusters.leaf_codes == other, code].sum()
    confused[code] = 0
    if confused.any():
        return int(confused.argmax())
    depth = np.full(len(clusters.labels), -1)
    both = clusters.counts > 0
    for node in range(clusters.tree.n_nodes):
        if both[node, code]:
            depth[both[node]] = np.maximum(depth[both[node]], clusters.tree.node_depths[node])
    depth[code] = -1
    return int(depth.argmax()) if depth.max() >= 0 else None


def contrast_in_tree(
    clusters: Clusters, a: int, b: int, columns: Sequence[Column]
) -> ContrastFacts | None:
    """Return the at most three tests of the tree that part two clusters best; None where rows are unknown.

    Rows that do not get to these tests in the tree count as mistakes: how many are right is a lower bound.
    """
    tree = clusters.tree
    sizes = clusters.counts[0, [a, b]].astype(np.float64)
    if not sizes.all():
        return None
    shares = clusters.counts[:, [a, b]] / sizes
    # By node and number of tests below it: the best sum of both recalls, and which children have how many.
    best = [[(float(max(own)), (-1, -1))] for own in shares]
    for node in range(tree.n_nodes - 1, -1, -1):
        if tree.feature[node] == LEAF:
            best[node] *= _MOST_TESTS + 1
            continue
        left, right = int(tree.left[node]), int(tree.right[node])
        values = [best[node][0]]
        for n_tests in range(1, _MOST_TESTS + 1):
            found = values[-1]
            for to_left in range(n_tests):
                to_right = n_tests - 1 - to_left
                value = best[left][to_left][0] + best[right][to_right][0]
                if value > found[0] + 1e-12:
                    found = value, (to_left, to_right)
            # A test that nearly all rows of both pass alike need not be said; the others count as mistakes.
            for child in (left, right):
                value = best[child][n_tests][0]
                if value > found[0] + 1e-12 or (value == found[0] and found[1][0] >= 0):
                    found = value, (-2, child)
            values.append(found)
        best[node] = values
    n_tests = _enough([best[0][n][0] / 2 for n in range(_MOST_TESTS + 1)])
    sides = _sides(tree, best, shares, n_tests)
    return contrast_facts(clusters, (a, b), *sides, columns=columns, source="tree")


def _enough(values: Sequence[float]) -> int:
    """Return how many tests are worth it: the last that adds something."""
    worth = 0
    for n_tests in range(1, len(values)):
        if values[n_tests] >= values[worth] + _WORTH * (n_tests - worth):
            worth = n_tests
    return worth


def _sides(
    tree: Tree, best: list[Any], shares: Floats, n_tests: int
) -> tuple[Tree, list[int], Floats]:
    """Return the tests that were chosen as a tree of their own, its leaves that stand for a, and their shares."""
    small = Tree.root(n_features=tree.n_features, size=0)
    stands: dict[int, int] = {}  # node of the small tree -> node of the tree
    stack = [(0, 0, n_tests)]
    while stack:
        at, node, left_tests = stack.pop()
        to_left, to_right = best[node][min(left_tests, len(best[node]) - 1)][1]
        if to_left == -2:
            stack.append((at, to_right, left_tests))
            continue
        if to_left == -1 or not left_tests:
            # Fewer tests may be enough here.
            stands[at] = node
            continue
        young = small.n_nodes
        test = tree.test(node)
        small = small.split(
            at,
            feature=test.feature,
            threshold=test.upper,
            lower=test.lower,
            missing=test.missing,
            categories=test.values,
        )
        stack += [
            (young + 1, int(tree.right[node]), to_right),
            (young, int(tree.left[node]), to_left),
        ]
    own = shares[[stands[int(node)] for node in small.leaves]]
    return small, [leaf for leaf, (x, y) in enumerate(own) if x > y], own


def contrast_facts(
    clusters: Clusters,
    pair: tuple[int, int],
    tree: Tree,
    leaves: list[int],
    shares: Floats,
    *,
    columns: Sequence[Column],
    source: str,
) -> ContrastFacts:
    """Return how well a small tree parts two clusters, of which some leaves stand for the first.

    `shares` are those of the rows of both clusters in its leaves, shape (n_leaves, 2).
    """
    a, b = pair
    others = [leaf for leaf in range(tree.n_leaves) if leaf not in leaves]
    boxes, rest = joined(tree, leaves, columns), joined(tree, others, columns)
    recall_a = min(float(shares[leaves, 0].sum()), 1.0)
    recall_b = min(float(shares[others, 1].sum()), 1.0)
    facts: ContrastFacts = {
        "a": clusters.label(a),
        "b": clusters.label(b),
        "name_a": clusters.name(a),
        "name_b": clusters.name(b),
        "rule": joined_text(boxes, columns),
        "rule_b": joined_text(rest, columns),
        "alternatives": [conditions_of(box, columns) for box in boxes],
        "n_conditions": tree.n_leaves - 1,
        "recall_a": recall_a,
        "recall_b": recall_b,
        "balanced": (recall_a + recall_b) / 2,
        "source": source,
        "text": "",
    }
    facts["text"] = _contrast_text(
        facts, joined_text(boxes, columns, MOST_VALUES), joined_text(rest, columns, MOST_VALUES)
    )
    return facts


def _contrast_text(facts: ContrastFacts, rule: str, rule_b: str) -> str:
    a, b = facts["name_a"], facts["name_b"]
    if facts["n_conditions"] == 0:
        where = " of the tree" if facts["source"] == "tree" else ""
        return f"No test{where} separates {a} from {b}."
    return (
        f"{a}: {one_line(rule)} ({percent(facts['recall_a'])} of them); {b}: {one_line(rule_b)} "
        f"({percent(facts['recall_b'])} of them)."
    )


class _Groups(NamedTuple):
    """The rows of the clusters, and what is known of their columns."""

    X: Matrix
    rows: list[Ints]  # of every cluster
    moments: Moments
    total: Moments
    differences: Floats  # (n_clusters, n_features)
    shares: dict[int, Shares]
    columns: Sequence[Column]
    flags: Bools  # which columns hold nothing but 0 and 1


def _add_rows(
    segments: list[SegmentFacts],
    clusters: Clusters,
    X: Matrix,
    columns: Sequence[Column],
    telling_columns: Ints | None,
    detail: Detail,
) -> None:
    """Complete the records from the training rows."""
    assert clusters.leaves is not None
    groups = _groups(clusters, X, columns)
    allowed = np.arange(len(columns)) if telling_columns is None else telling_columns
    for group, facts in enumerate(segments):
        own = groups.rows[group]
        if not len(own):
            continue
        facts["telling"] = [
            telling_facts(each, columns) for each in _most_telling(groups, group, allowed)
        ]
        spoken = [each["feature"] for each in facts["telling"]]
        spoken += [each["feature"] for part in facts["alternatives"] for each in part]
        features = np.array(list(dict.fromkeys(spoken)), dtype=np.int64)
        caught = np.isin(clusters.leaves[own], facts["leaves"])
        among = own[caught] if caught.any() else own
        facts["typical"] = _typical(groups, clusters, group, among, features, detail)


def telling_columns_of(
    explanation: "Explanation",
    X: Matrix,
    columns: Sequence[Column],
    telling_columns: Ints | None = None,
) -> tuple[tuple[Telling, ...], ...] | None:
    """Return the most telling columns of every cluster in numbers; None where no row is known to belong to one.

    They are meant for files: values that few rows have are left out, as they could identify a person, unless tests
    hold them anyway.
    """
    clusters = Clusters.of(explanation)
    if clusters.codes is None or not clusters.is_reference:
        return None
    allowed = np.arange(len(columns)) if telling_columns is None else telling_columns
    tested = set(explanation.tested)

    def is_common(told: Telling) -> bool:
        if told.value is None or told.feature in tested:
            return True
        has_value = column_values(X, told.feature) == told.code  # rows, whatever their weight
        return int(np.count_nonzero(has_value)) >= _FEWEST_ROWS

    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        groups = _groups(clusters, X, columns)
        return tuple(
            tuple(filter(is_common, _most_telling(groups, group, allowed)))
            if len(groups.rows[group])
            else ()
            for group in range(len(clusters.labels))
        )


def _groups(clusters: Clusters, X: Matrix, columns: Sequence[Column]) -> _Groups:
    """Return the rows of the clusters and the moments of their columns."""
    codes = clusters.codes
    assert codes is not None
    n_clusters = len(clusters.labels)
    numbers = np.where(codes < 0, n_clusters, codes)  # noise is part of all rows
    rows = rows_of_groups(numbers, n_clusters + 1)
    if clusters.weights is not None:
        rows = [own[clusters.weights[own] > 0] for own in rows]
    is_word = np.array([each.kind == "word" for each in columns])
    moments = Moments.of(X, rows, clusters.weights, is_word)
    shares = {
        feature: Shares.of(
            column_values(X, feature),
            numbers,
            n_clusters + 1,
            len(each.categories),
            clusters.weights,
        )
        for feature, each in enumerate(columns)
        if each.kind == "category"
    }
    differences = moments.differences()
    for feature, own in shares.items():  # codes have no mean
        for group in range(n_clusters + 1):
            code = own.telling(group)
            differences[group, feature] = np.nan if code is None else own.differences[group, code]
    return _Groups(X, rows, moments, moments.total(), differences, shares, columns, moments.flags())


def _most_telling(groups: _Groups, group: int, allowed: Ints) -> list[Telling]:
    """Return the most telling columns of a cluster."""
    lacking = [_missing_difference(groups, group, int(feature)) for feature in allowed]
    sizes = np.maximum(np.nan_to_num(np.abs(groups.differences[group, allowed])), np.abs(lacking))
    order = allowed[np.argsort(-sizes, kind="stable")]
    told = [_telling(groups, group, int(feature)) for feature in order[: 4 * _N_TELLING]]
    clear = [each for each in told if each is not None and abs(each.difference) >= _CLEAR]
    return clear[:_N_TELLING]


def _missing_difference(groups: _Groups, group: int, feature: int) -> float:
    """Return by how much more often values are missing than in all other rows, in standard deviations."""
    overall = 1 - float(groups.total.counts[0, feature] / groups.total.sizes[0])
    if not 0 < overall < 1:
        return 0.0
    own, rest = (each[group, feature] for each in groups.moments.missing())
    return float(np.nan_to_num((own - rest) / sqrt(overall * (1 - overall))))


def _telling(groups: _Groups, group: int, feature: int) -> Telling | None:
    """Return how a cluster differs in one column."""
    column, total = groups.columns[feature], groups.total
    difference = float(np.nan_to_num(groups.differences[group, feature]))
    lacking = _missing_difference(groups, group, feature)
    if abs(lacking) > abs(difference):
        inside = float(groups.moments.missing()[0][group, feature])
        overall = 1 - float(total.counts[0, feature] / total.sizes[0])
        return Telling(feature, "missing", lacking, inside, overall)
    if not difference:
        return None
    if column.kind == "category":
        own = groups.shares[feature]
        code = own.telling(group)
        assert code is not None
        inside = float(own.inside[group, code])
        overall = float(own.counts[:, code].sum() / own.counts.sum())
        value = column.categories[code]
        return Telling(feature, "share", difference, inside, overall, code, value)
    inside = float(groups.moments.means[group, feature])
    overall = float(total.means[0, feature])
    if column.kind in ("boolean", "flag", "word") or groups.flags[feature]:
        return Telling(feature, "share", difference, inside, overall, 1)
    least = float(total.low[0, feature])
    return Telling(feature, "mean", difference, inside, overall, least=least)


def share_reading(column: Column, code: int, inside: float, overall: float) -> str:
    """Return how common a value is in a cluster and among all rows.

    Examples
    --------
    >>> from spexplain.facts.segments import share_reading
    >>> from spexplain.tree import Column
    >>> share_reading(Column("channel", "category", ("app", "web")), 0, 0.61, 0.22)
    '61% of them have channel = app, 22% overall'
    >>> share_reading(Column("hockey", "word"), 1, 0.5, 0.02)
    '50% of them contain "hockey", 2% overall'
    """
    what = share_text(column, code)
    what = what.replace("contains", "contain", 1) if column.kind == "word" else f"have {what}"
    return f"{percent(inside)} of them {what}, {percent(overall)} overall"


def mean_reading(column: Column, inside: float, overall: float, least: float) -> str:
    """Return how a cluster's mean compares with that of all rows: as a multiple, or as both means.

    Examples
    --------
    >>> from spexplain.facts.segments import mean_reading
    >>> from spexplain.tree import Column
    >>> mean_reading(Column("basket"), 93.0, 30.0, 0.5), mean_reading(Column("age"), 52.0, 41.0, 18.0)
    ('basket 3.1× the average', 'age 52 on average, 41 overall')
    """
    measured = column.kind not in ("date", "duration")
    if (measured or column.kind == "duration") and least >= 0 and overall > 0:
        ratio = inside / overall
        if ratio >= _CLEAR_RATIO or ratio <= 1 / _CLEAR_RATIO:
            said = f"{ratio:,.0f}" if ratio >= 9.95 else f"{ratio:.2g}"
            return f"{column.name} {said}× the average" if inside else f"{column.name} always 0"
    here, everywhere = _mean_text(column, inside), _mean_text(column, overall)
    if here == everywhere:
        here, everywhere = brief_text(column, inside), brief_text(column, overall)
    return f"{column.name} {here} on average, {everywhere} overall"


def _mean_text(column: Column, x: float) -> str:
    """Return a mean with three digits, and larger ones as whole numbers."""
    if column.kind in ("date", "duration") or abs(x) >= 1e9:
        return brief_text(column, x)
    return f"{x:,.0f}" if abs(x) >= 1000 else number(float(f"{x:.3g}"))


def _typical(
    groups: _Groups, clusters: Clusters, group: int, rows: Ints, features: Ints, detail: Detail
) -> list[TypicalFacts]:
    """Return the rows in the middle of a cluster."""
    chosen = dense(groups.X[rows][:, features])
    own = np.ascontiguousarray(chosen.T, dtype=np.float64)
    kinds = [groups.columns[each].kind for each in features]
    is_category = np.array([kind == "category" for kind in kinds], dtype=np.bool_)
    is_time = np.array([kind in ("date", "duration") for kind in kinds], dtype=np.bool_)
    weights = None if clusters.weights is None else clusters.weights[rows]
    quantiles = leaf_quantiles(own, is_category, is_time, weights)
    middle = quantiles[list(QUANTILES).index("median")]
    scales = groups.total.stds[0][features]
    if kinds and all(kind == "word" for kind in kinds):
        # The median document has no words, and none has all: those with most telling words are typical.
        more = groups.moments.means[group][features] > groups.total.means[0][features]
        near = np.argsort(-(own[more] > 0).sum(axis=0), kind="stable")[: detail.n_exemplars]
    else:
        near = nearest_rows(own, middle, scales, detail.n_exemplars, is_category)
    return [
        {
            "row": int(rows[place]),
            "id": None if clusters.row_ids is None else str(clusters.row_ids[rows[place]]),
            "values": [
                {
                    "feature": int(feature),
                    "name": groups.columns[feature].name,
                    "value": finite(own[at, place]),
                    "text": value_text(groups.columns[feature], own[at, place]),
                }
                for at, feature in enumerate(features)
            ],
        }
        for place in near.tolist()
    ]


def _sentences(facts: SegmentFacts, rule: str, *, is_weighted: bool) -> list[str]:
    """Return what matters about a cluster, one sentence after the other."""
    name = facts["name"]
    if facts["rows"] is None:
        return [f"{name}: {one_line(rule)}."]
    amount = rows_or_weight(facts["rows"], is_weighted=is_weighted)
    size = f"{name}: {amount} ({percent(facts['share'])})"
    if not facts["leaves"]:
        told = [f"{size}; no leaf stands for it."]
    else:
        told = [f"{size}, {one_line(rule)}."]
        if facts["precision"] is not None and facts["recall"] is not None:
            told.append(
                f"The rule catches {percent(facts['recall'])} of them, and {percent(facts['precision'])} of the rows "
                "it selects are right."
            )
    if facts["missed_to"]:
        parts = [
            f"{amount_figure(each['rows'])} to {each['name']}" for each in facts["missed_to"][:3]
        ]
        more = len(facts["missed_to"]) - 3
        told.append(f"Missed: {', '.join(parts)}{f' and {more} more' if more > 0 else ''}.")
    if facts["telling"]:
        told.append(
            f"Typical: {one_line('; '.join(each['text'] for each in facts['telling'][:3]))}."
        )
    if facts["nearest"] is not None:
        told.append(f"Nearest: {facts['nearest']['name_b']}. {facts['nearest']['text']}")
    return told


def flat_record(facts: SegmentFacts) -> dict[str, Any]:
    """Return a record as one line of a table: nested facts as texts."""
    keys = (
        "cluster",
        "name",
        "rule",
        "rows",
        "share",
        "precision",
        "recall",
        "f1",
        "lift",
        "leaves",
    )
    record: dict[str, Any] = {key: facts[key] for key in keys}  # type: ignore[literal-required]
    if str(record["cluster"]) == record["name"]:
        del record["name"]
    record |= {
        "selected": facts["selected"],
        "missed": facts["missed"],
        "missed_to": ", ".join(
            f"{each['name']} {amount_figure(each['rows'])}" for each in facts["missed_to"]
        ),
        "telling": "; ".join(one_line(each["text"]) for each in facts["telling"]),
        "typical": [each["row"] if each["id"] is None else each["id"] for each in facts["typical"]],
        "nearest": None if facts["nearest"] is None else facts["nearest"]["b"],
        "separated_by": None if facts["nearest"] is None else facts["nearest"]["text"],
    }
    return record


def segments_text(segments: Sequence[SegmentFacts]) -> str:
    """Return the records in words, one paragraph per cluster.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain import SpexClique
    >>> from spexplain.facts.segments import segment_facts, segments_text
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    >>> explainer = SpexClique().fit(X, ["a", "a", "a", "b", "b", "b"])
    >>> print(segments_text(segment_facts(explainer.explanation_, X, names=["age"])))
    a: 3 rows (50%), age ≤ 6.
      The rule catches 100% of them, and 100% of the rows it selects are right.
      Typical: age 0.17× the average.
      Nearest: b. a: age ≤ 6 (100% of them); b: age > 6 (100% of them).
    <BLANKLINE>
    b: 3 rows (50%), age > 6.
      The rule catches 100% of them, and 100% of the rows it selects are right.
      Typical: age 1.8× the average.
      Nearest: a. b: age > 6 (100% of them); a: age ≤ 6 (100% of them).
    """
    notes = list(dict.fromkeys(each["note"] for each in segments if each["note"]))
    return "\n\n".join(["\n  ".join(each["sentences"]) for each in segments] + notes)
