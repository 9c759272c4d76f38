"""What a summary and the explanation of a row hold: plain dicts that texts, plots and reports render.

Everything is a plain JSON value: numbers, strings, booleans, lists and dicts. None stands for what is
absent or undefined (and for an infinite bound); NaN and infinity never occur. The same entries are
always there. Without the training rows, those of `FeatureFacts`,
`LeafFacts` and `Summary` that describe rows are None or empty.
"""

from collections.abc import Mapping, Sequence
from math import inf, isfinite
from typing import Any, NotRequired, TypeAlias, TypedDict

import numpy as np

from spexplain.aliases import Floats
from spexplain.tree import Column, Kind, Region, Test, python_value

FORMAT = "spexplain.facts"
VERSION = 2
ROW_FORMAT = "spexplain.row"
ROW_VERSION = 2

# A number of rows, or their weight, which may be a fraction.
Amount: TypeAlias = Any
Label: TypeAlias = str | int | float | bool


class RunnerUpFacts(TypedDict):
    """The best cut of a node on another column than its test, and the score of both."""

    feature: int
    name: str
    threshold: float | None  # None in a test of categories
    text: str  # the test in words
    score: float
    own_score: float | None  # of the node's test, by the same formula; lower is better
    objective: str  # name of the formula


class BoxFacts(TypedDict):
    """What holds for one column in the rows of a node."""

    feature: int
    # (lower, upper] pieces from low to high, None for infinity; one piece unless tests are intervals or
    # sets of categories, and none if no value passes all tests. The code c of a category is the piece
    # (c - 1, c].
    intervals: list[list[float | None]]
    missing: bool  # whether a missing value passes


class NodeFacts(TypedDict):
    """A node of the tree; its place in the list is its number, the root is 0, parents come first."""

    node: int
    parent: int | None
    left: int | None  # rows that pass the test go there
    right: int | None
    leaf: int | None  # leaf id, None in inner nodes
    feature: int | None
    name: str | None
    lower: float | None  # the test: lower < x ≤ threshold; None means no lower bound
    threshold: float | None
    missing: bool  # whether a missing value passes; without a threshold, nothing else does
    values: list[int] | None  # codes of the categories that pass, in a test of categories
    test: str | None  # the same in words
    depth: int
    size: int
    weight: NotRequired[
        float
    ]  # of its rows, where rows have weights; then all shares are those of the weight
    share: float  # of all rows
    score: float | None  # of the test, under the method's formula
    value: float | None  # what the node adds to the objective while it is a leaf
    # rows of each reference cluster, or their weight, in the order of `ReferenceFacts.labels`
    counts: list[Amount] | None
    noise: Amount  # rows of no cluster, or their weight
    code: int | None  # the commonest cluster, the first of equals; -1: nothing but noise
    purity: float | None  # its share of the node's rows
    box: list[BoxFacts]  # where its rows lie, in the order in which columns are first tested
    first_leaf: int  # the leaves below the node, itself if it is one: all from the first
    last_leaf: int  # to the last
    splits_at: int | None  # leaves of the smallest tree of `Summary.trees` that splits the node
    importance: float  # share of the importance that this test earns, see `feature_importances`
    runner_up: RunnerUpFacts | None


class ConditionFacts(TypedDict):
    """What a rule says about one column."""

    feature: int
    name: str
    intervals: list[list[float | None]]  # see `BoxFacts`
    missing: bool
    text: str


class PartFacts(TypedDict):
    """Rows of one reference cluster in a leaf; noise has the code -1 and comes last."""

    label: Label
    code: int
    count: Amount  # or their weight
    share: float  # of the leaf


class ShareFacts(TypedDict):
    """How common one value of a category is, or "yes", 1, or a word, among the rows with a value."""

    code: int  # of the category; 1 for yes, for 1 and for a word that is there
    text: str  # the condition in words: channel = app, member = yes, contains "hockey"
    said: str  # the value alone: app
    share: float
    rest: float | None  # its share of all other rows
    difference: float | None  # of both shares, in standard deviations of all rows


class ProfileFacts(TypedDict):
    """How one column is distributed in a leaf, among the rows with a value.

    Categories have no means or quantiles. The mean of a word is the share of rows that have it.
    """

    feature: int
    name: str
    missing: float  # share of the leaf's rows without a value
    missing_rest: float | None  # the same of all other rows
    shares: list[ShareFacts]  # of listed values, the commonest first; empty for measured ones
    mean: float | None
    std: float | None
    min: float | None
    q05: float | None
    q25: float | None
    median: float | None
    q75: float | None
    q95: float | None
    max: float | None
    # mean in the leaf less mean of all other rows, in standard deviations of all rows; None if there
    # are no other rows or the column is constant. For a category, that of its most telling share.
    difference: float | None


class TellingFacts(TypedDict):
    """A column in which a leaf differs much from the other rows."""

    feature: int
    name: str
    difference: float
    text: str


class RowFacts(TypedDict):
    """A training row."""

    row: int  # its number in the training table
    id: str | None  # what it is called there, where rows are not just counted
    label: Label | None  # its reference label
    values: list[float | None]  # in the order of `Summary.features`; None: missing


class LeafFacts(TypedDict):
    """A leaf: its rule and the rows in it."""

    leaf: int
    node: int
    depth: int
    rule: str
    conditions: list[ConditionFacts]
    size: int
    weight: NotRequired[float]  # see `NodeFacts`
    share: float
    value: float | None
    label: Label | None  # the reference label that the leaf stands for
    code: int | None  # its place in `ReferenceFacts.labels`; -1: noise
    purity: float | None  # share of the leaf's rows that carry this label
    lift: float | None  # purity over the label's share of all rows
    composition: list[PartFacts]  # commonest first
    profile: list[
        ProfileFacts
    ]  # most different first; of many columns only some, see `max_features`
    telling: list[TellingFacts]
    exemplars: list[RowFacts]  # nearest to the leaf's median first
    sample: list[RowFacts]  # drawn at random, in table order


class FeatureFacts(TypedDict):
    """A column that occurs in a test, a profile or a row, described over all rows."""

    feature: int
    name: str
    kind: Kind  # what its values are, see `spexplain.tree.Column`
    categories: list[Label]  # the values of a category, by code
    zone: str | None  # time zone in which dates are written
    has_missing: bool  # whether rows lack a value
    n_tests: int
    importance: float
    missing: float | None  # share of rows without a value
    shares: list[ShareFacts]  # of the commonest listed values
    integer: bool | None  # all values are whole numbers; for dates: whole days
    mean: float | None
    std: float | None
    min: float | None
    median: float | None
    max: float | None


class ClusterFacts(TypedDict):
    """A cluster of the reference."""

    label: Label
    code: int
    size: Amount  # rows, or their weight
    share: float  # of all rows
    leaves: list[int]  # that stand for it


class ReferenceFacts(TypedDict):
    """The clustering that is explained or compared with."""

    labels: list[Label]
    clusters: list[ClusterFacts]
    n_noise: Amount  # rows, or their weight


class AgreementFacts(TypedDict):
    """Likeness of leaves and reference on the rows that belong to a cluster; 1 is best."""

    ari: float
    ami: float
    purity: float


class ConfusionFacts(TypedDict):
    """Rows of every leaf (outer list) by reference cluster."""

    labels: list[Label]
    counts: list[list[Amount]]
    noise: list[Amount]


class StepFacts(TypedDict):
    """A tree of fewer or more leaves, and how good it is."""

    n_leaves: int
    objective: float | None
    agreement: float | None
    fidelity: float | None
    price: float | None
    depth: int
    explanation_size: float | None
    shown: bool  # whether it is the tree of this summary


class PointsFacts(TypedDict):
    """A random sample of rows in the plane of the two columns tested most."""

    features: list[int]
    names: list[str]
    row: list[int]
    x: list[float | None]  # None: missing
    y: list[float | None]
    leaf: list[int]
    code: list[int | None]  # reference cluster; -1: noise


class DifferencesFacts(TypedDict):
    """`ProfileFacts.difference` of every leaf (outer list) for all `Summary.features`.

    A category has an entry for each of its most telling values.
    """

    features: list[int]
    names: list[str]  # channel = app for a listed value
    values: list[list[float | None]]
    shares: list[list[float | None]]  # of listed values; None for measured columns


class SettingsFacts(TypedDict):
    """How the summary was made."""

    spexplain: str
    method: str | None
    parameters: dict[str, Any]
    max_features: int
    n_exemplars: int
    n_sampled: int
    n_points: int
    seed: int


class SizeFacts(TypedDict):
    """The best tree found of one size."""

    n_leaves: int
    value: float
    bound: float | None
    optimal: bool
    n_lost: int  # clusters that no leaf stands for


class GoalFacts(TypedDict):
    """What the search for a tree optimised."""

    name: str  # fidelity, balanced, agreement, cost or conductance; the last two are low in good trees
    value: float
    bound: float | None  # proven bound of the value of any tree of this size
    optimal: bool  # whether no tree of this size is better
    text: str  # value and bound in words
    curve: list[SizeFacts]  # by size, where the number of leaves was chosen by the search


class Summary(TypedDict):
    """All facts about a fitted tree."""

    format: str
    version: int
    has_rows: bool  # whether the training rows were at hand
    method: str | None
    objective: float | None  # of the tree: the sum of the leaves' values
    n_rows: int
    n_features: int
    n_leaves: int
    depth: int
    dtype: str | None  # of the table
    verdict: "VerdictFacts | None"
    validation: "ValidationFacts | None"  # where the method was validated
    segments: "list[SegmentFacts]"  # one per cluster; empty for very large trees
    features: list[FeatureFacts]  # by number; those that are tested or described
    nodes: list[NodeFacts]
    leaves: list[LeafFacts]
    reference: ReferenceFacts | None
    agreement: AgreementFacts | None
    confusion: ConfusionFacts | None
    fidelity: float | None  # share of clustered rows whose leaf stands for their cluster
    balanced: float | None  # the same for each cluster, and the mean of these
    price: float | None  # k-means cost over that of the reference, each leaf served by one centre
    trees: list[StepFacts]  # of 1, 2, ... leaves that `nodes` hold: the tree and its beginnings
    path: list[StepFacts]  # trees that growth passed, and this one
    refined: (
        bool  # whether tests were changed after growth: the path has other trees before this one
    )
    goal: (
        GoalFacts | None
    )  # what the search optimised, where the tree was searched and not only grown
    leaves_for_all: int | None  # size at which every cluster has a leaf, where some have none
    differences: DifferencesFacts | None
    points: PointsFacts | None
    certificate: dict[str, Any] | None
    certificate_text: str | None
    settings: SettingsFacts


class FlowFacts(TypedDict):
    """Rows that one cluster loses to another, or gets from it."""

    cluster: Label  # -1: noise
    code: int
    name: str
    rows: Amount
    share: float  # of the rows of the record's cluster, or of the rows that its rule selects


class SegmentTellingFacts(TypedDict):
    """A column in which a cluster differs much from the other rows."""

    feature: int
    name: str
    kind: str  # of the column
    text: str  # basket 3.1× the average
    difference: float  # from all other rows, in standard deviations of all rows
    code: int | None  # of the listed value that is described; None for measured columns
    inside: float | None  # mean or share in the cluster
    overall: float | None  # the same of all rows


class ValueFacts(TypedDict):
    """A value of a row."""

    feature: int
    name: str
    value: (
        float | None
    )  # as tables have it: the code of a category, microseconds of a date; None: missing
    text: str  # as people say it


class TypicalFacts(TypedDict):
    """A training row in the middle of a cluster, by the columns that matter for it."""

    row: int  # its number in the training table
    id: str | None  # what it is called there, where rows are not just counted
    values: list[ValueFacts]


class ContrastFacts(TypedDict):
    """What separates two clusters, in at most three conditions."""

    a: Label
    b: Label
    name_a: str
    name_b: str
    rule: str  # what holds for a, among the rows of both
    rule_b: str  # what holds for b: everything else
    alternatives: list[
        list[ConditionFacts]
    ]  # the rule of a: one of these lists, all of its conditions
    n_conditions: int
    recall_a: float  # share of a's rows that the rule selects
    recall_b: float  # share of b's rows that it does not select
    balanced: float  # the mean of both; one half is guessing
    source: str  # "rows": searched among the rows; "tree": by tests of the tree
    text: str


class SegmentFacts(TypedDict):
    """A cluster: its rule, how well it fits, and what its rows are like."""

    cluster: Label
    code: int | None  # its place among the clusters; None where the tree has no reference
    name: str  # what its user calls it
    rule: str  # its leaves in one rule; "no rule" where no leaf stands for it
    # The same as data: a row belongs if all conditions of one of these lists hold.
    alternatives: list[list[ConditionFacts]]
    n_conditions: int
    rows: Amount  # of the cluster, or their weight
    share: float  # of all rows
    selected: Amount  # rows that the rule selects
    precision: float | None  # share of these that belong to the cluster
    recall: float | None  # share of the cluster that the rule selects
    f1: float | None
    lift: float | None  # precision over share
    leaves: list[int]
    missed: Amount  # rows of the cluster that the rule does not select
    missed_to: list[FlowFacts]  # clusters whose rules select them, most rows first
    wrong: Amount  # rows that the rule selects although they belong elsewhere
    wrong_from: list[FlowFacts]  # where they belong
    telling: list[SegmentTellingFacts]  # most different first; empty without the training rows
    typical: list[TypicalFacts]  # likewise
    nearest: (
        ContrastFacts | None
    )  # the cluster that it is most easily confused with, and what separates them
    sentences: list[str]  # the same in words
    note: str | None  # which facts are missing, and what they would need


class SentencePart(TypedDict):
    """A part of a sentence: words, or the name of a cluster."""

    text: str
    code: int | None  # of the cluster that is named


class ScoreFacts(TypedDict):
    """How well rules put rows into their own clusters."""

    fidelity: float  # share of the rows that are right
    balanced: float  # mean recall of the clusters
    agreement: float  # adjusted Rand index of leaves and clusters


class HeldOutClusterFacts(TypedDict):
    """A cluster on rows that the rules were found on, and on others."""

    cluster: Label
    code: int
    name: str
    rows: Amount
    recall: float | None
    recall_held_out: float | None
    precision: float | None
    precision_held_out: float | None


class ValidationFacts(TypedDict):
    """A method that was fitted again without some rows, and judged by these."""

    folds: int
    rows: int  # that were judged
    repeated_clustering: bool  # whether clusters were found anew, too, in every fold
    in_sample: ScoreFacts  # of the explanation itself
    held_out: ScoreFacts  # of all folds together; the agreement is their mean
    each: list[ScoreFacts]  # of every fold, on the rows that it leaves out
    chance: float  # share of the rows left out that would be right if as many were dealt to every cluster at random
    clusters: list[HeldOutClusterFacts]
    # Mean adjusted Rand index of the clusters that folds find and the clusters that are explained.
    clustering_agreement: float | None
    sentences: list[str]
    parts: list[list[SentencePart]]  # the same, cut at the names of clusters


class TestStabilityFacts(TypedDict):
    """A test, and what changes if other rows are drawn."""

    node: int
    feature: int
    test: str
    same_column: float  # share of the drawn trees that test the same column at this place
    # Where their thresholds lie, from the 5 % to the 95 % quantile; None for categories.
    interval: list[float] | None
    interval_text: str | None
    same_values: float | None  # of tests of categories: share of these trees with the same set
    # Exactly: thresholds t with free[0] ≤ t < free[1] part all training rows alike; None at an end: no limit.
    free: list[float | None] | None
    free_text: str | None
    text: str


class RuleStabilityFacts(TypedDict):
    """A leaf, and whether its rows stay together."""

    leaf: int
    rule: str
    rows: int
    together: float  # share of the pairs of its rows that are in one leaf, mean of the drawn trees
    text: str


class SegmentStabilityFacts(TypedDict):
    """A cluster, and whether its rule keeps its rows."""

    cluster: Label
    code: int
    name: str
    kept: float | None  # share of the rows that its rule selects which drawn trees give to it too


class StabilityFacts(TypedDict):
    """What changes if a tree is fitted again, to rows that are drawn from its training rows."""

    drawn: int  # trees
    tests: list[TestStabilityFacts]
    rules: list[RuleStabilityFacts]
    segments: list[SegmentStabilityFacts]
    sentences: list[str]


class VerdictFacts(TypedDict):
    """Whether an explanation is any good."""

    level: str  # good, usable, weak or none
    sentences: list[str]
    parts: list[list[SentencePart]]  # the same, cut at the names of clusters
    fidelity: float | None  # share of rows right; after `validate`, of the rows left out
    held_out: bool
    guessing: float | None  # share of rows right if all were put into the largest cluster
    weakest: Label | None  # the cluster with the lowest recall
    lost: list[Label]
    mixed: list[list[Label]]  # pairs of clusters that are mixed up, and that nothing known parts
    next_steps: list[str]


class PathTestFacts(TypedDict):
    """A test that the row met."""

    node: int
    feature: int
    name: str
    test: str
    value: float | None  # None: missing
    text: str  # the value in words: age = 5
    passed: bool
    # how far the value must move to change the answer; None for missing and listed values and for words
    margin: float | None
    margin_sd: float | None  # the same in standard deviations of the column
    margin_text: str | None  # in words


class MoveFacts(TypedDict):
    """A change of one value."""

    feature: int
    name: str
    value: float | None  # None: missing
    to: float  # just inside the target's interval, exact in the row's own type; never missing
    bound: float | None  # the threshold that is passed or reached; None for categories
    upwards: bool | None  # None for categories, and from missing
    change: float | None
    change_sd: float | None
    text: str  # age from 5 to 4


class ChangeFacts(TypedDict):
    """The smallest change of one or two values that brings the row into another leaf."""

    leaf: int
    label: Label | None
    other_label: bool | None  # whether the leaf stands for another reference label
    moves: list[MoveFacts]
    distance: float | None  # length of the move, in standard deviations


class SmallestFacts(TypedDict):
    """The smallest changes of one value and of two values."""

    one_feature: ChangeFacts | None
    two_features: ChangeFacts | None


class RowExplanation(TypedDict):
    """Why a row is in its leaf, and what would move it; plain values, ready for JSON."""

    format: str
    version: int
    leaf: int
    label: Label | None
    rule: str
    path: list[PathTestFacts]
    to_other_leaf: SmallestFacts
    to_other_label: SmallestFacts
    changes: list[ChangeFacts]  # all leaves within reach of one or two changes, nearest first


def finite(x: Any) -> float | None:
    """Return a float, or None for what JSON lacks: NaN and infinity."""
    x = float(x)
    return x if isfinite(x) else None


def all_finite(values: Floats) -> list[float | None]:
    """Return floats as a list, None for what JSON lacks."""
    numbers: list[float | None] = values.astype(np.float64).tolist()
    for place in np.flatnonzero(~np.isfinite(values)).tolist():
        numbers[place] = None
    return numbers


def bounds(interval: Sequence[float | None]) -> tuple[float, float]:
    """Return the ends of an interval of a summary, with infinities in place of None."""
    lower, upper = interval
    return -inf if lower is None else lower, inf if upper is None else upper


def region_of(box: BoxFacts | ConditionFacts) -> Region:
    """Return where the values of a box lie."""
    return Region(tuple(map(bounds, box["intervals"])), box["missing"])


def test_of(node: NodeFacts) -> Test:
    """Return the test of an inner node."""
    feature, missing = node["feature"], node["missing"]
    assert feature is not None
    if node["values"] is not None:
        return Test(feature, missing=missing, values=tuple(node["values"]))
    lower, upper = bounds([node["lower"], node["threshold"]])
    only_missing = missing and node["lower"] is None and node["threshold"] is None
    return Test(feature, lower, -inf if only_missing else upper, missing)


def column_of(feature: FeatureFacts, name: str | None = None) -> Column:
    """Return what a feature's values are, perhaps under another name."""
    return Column(
        feature["name"] if name is None else name,
        feature["kind"],
        tuple(feature["categories"]),
        feature["zone"],
        feature["has_missing"],
    )


def columns_of(summary: "Summary", names: Mapping[int, str] | None = None) -> dict[int, Column]:
    """Return the columns that a summary describes by number, perhaps under other names."""
    shown = {} if names is None else names
    return {
        each["feature"]: column_of(each, shown.get(each["feature"])) for each in summary["features"]
    }


def plain_label(label: Any) -> Label:
    """Return a label as a JSON value: a number, a string or a boolean; anything else as its text."""
    value = python_value(label)
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    return value if isinstance(value, str | int | float | bool) else str(label)


def plain_value(value: Any) -> Any:
    """Return a setting as a JSON value; arrays and objects are only named, not spelled out."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, np.generic | bool | int | float):
        return plain_label(value)
    if isinstance(value, Mapping):
        return {str(key): plain_value(each) for key, each in value.items()}
    if isinstance(value, Sequence):
        return [plain_value(each) for each in value]
    if hasattr(value, "shape"):
        return f"{type(value).__name__} of shape {tuple(value.shape)}"
    # The default repr of objects ends in their address, which no two runs share.
    return type(value).__name__ if " at 0x" in (text := repr(value)) else text
