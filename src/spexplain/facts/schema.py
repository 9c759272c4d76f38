"""What a summary holds: the one dict that texts, plots and reports render, entry by entry.

Everything is a plain JSON value: numbers, strings, booleans, lists and dicts. None stands for what is
absent or undefined (and for an infinite bound); NaN and infinity never occur. The same entries are
always there. Without the training rows, those of `Features`, `Leaf` and `Summary` that describe rows
are None or empty.
"""

from typing import Any, TypeAlias, TypedDict

FORMAT = "spexplain.facts"
VERSION = 1

Label: TypeAlias = str | int | float | bool


class RunnerUp(TypedDict):
    """The best cut of a node on another feature than its test, and the score of both."""

    feature: int
    name: str
    threshold: float
    text: str  # the test in words
    score: float
    own_score: float | None  # of the node's test, by the same formula; lower is better
    objective: str  # name of the formula


class Node(TypedDict):
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
    test: str | None  # the same in words
    depth: int
    size: int
    share: float  # of all rows
    score: float | None  # of the test, under the method's formula
    value: float | None  # what the node adds to the objective while it is a leaf
    counts: list[int] | None  # rows of each reference cluster, in the order of `Reference.labels`
    noise: int  # rows of no cluster
    importance: float  # share of the importance that this test earns, see `feature_importances`
    runner_up: RunnerUp | None


class Condition(TypedDict):
    """What a rule says about one feature."""

    feature: int
    name: str
    # (lower, upper] pieces from low to high, None for infinity; one piece unless tests are intervals
    intervals: list[list[float | None]]
    text: str


class Part(TypedDict):
    """Rows of one reference cluster in a leaf; noise has the code -1 and comes last."""

    label: Label
    code: int
    count: int
    share: float  # of the leaf


class Profile(TypedDict):
    """How one feature is distributed in a leaf."""

    feature: int
    name: str
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
    # are no other rows or the feature is constant
    difference: float | None


class Telling(TypedDict):
    """A feature in which a leaf differs much from the other rows."""

    feature: int
    name: str
    difference: float
    text: str


class Row(TypedDict):
    """A training row."""

    row: int  # its number in the training table
    label: Label | None  # its reference label
    values: list[float]  # in the order of `Summary.features`


class Leaf(TypedDict):
    """A leaf: its rule and the rows in it."""

    leaf: int
    node: int
    depth: int
    rule: str
    conditions: list[Condition]
    size: int
    share: float
    value: float | None
    label: Label | None  # the reference label that the leaf stands for
    code: int | None  # its place in `Reference.labels`; -1: noise
    purity: float | None  # share of the leaf's rows that carry this label
    lift: float | None  # purity over the label's share of all rows
    composition: list[Part]  # commonest first
    profile: list[Profile]  # most different first; of many features only some, see `max_features`
    telling: list[Telling]
    exemplars: list[Row]  # nearest to the leaf's median first
    sample: list[Row]  # drawn at random, in table order


class Feature(TypedDict):
    """A feature that a test, a profile or a row speaks of, over all rows."""

    feature: int
    name: str
    n_tests: int
    importance: float
    integer: bool | None  # all values are whole numbers
    mean: float | None
    std: float | None
    min: float | None
    median: float | None
    max: float | None


class Cluster(TypedDict):
    """A cluster of the reference."""

    label: Label
    code: int
    size: int
    share: float  # of all rows
    leaves: list[int]  # that stand for it


class Reference(TypedDict):
    """The clustering that is explained or compared with."""

    labels: list[Label]
    clusters: list[Cluster]
    n_noise: int


class Agreement(TypedDict):
    """Likeness of leaves and reference on the rows that belong to a cluster; 1 is best."""

    ari: float
    ami: float
    purity: float


class Confusion(TypedDict):
    """Rows of every leaf (outer list) by reference cluster."""

    labels: list[Label]
    counts: list[list[int]]
    noise: list[int]


class Step(TypedDict):
    """A tree on the path of growth."""

    n_leaves: int
    objective: float | None
    agreement: float | None
    fidelity: float | None
    price: float | None
    depth: int
    explanation_size: float | None


class Points(TypedDict):
    """A random sample of rows in the plane of the two most used features."""

    features: list[int]
    names: list[str]
    row: list[int]
    x: list[float]
    y: list[float]
    leaf: list[int]
    code: list[int | None]  # reference cluster; -1: noise


class Differences(TypedDict):
    """`Profile.difference` of every leaf (outer list) for all `Summary.features`."""

    features: list[int]
    names: list[str]
    values: list[list[float | None]]


class Settings(TypedDict):
    """How the summary was made."""

    spexplain: str
    method: str | None
    parameters: dict[str, Any]
    max_features: int
    n_exemplars: int
    n_sampled: int
    n_points: int
    seed: int


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
    features: list[Feature]  # by number; those that are tested or described
    nodes: list[Node]
    leaves: list[Leaf]
    reference: Reference | None
    agreement: Agreement | None
    confusion: Confusion | None
    fidelity: float | None  # share of clustered rows that carry their leaf's commonest label
    price: float | None  # k-means cost over that of the reference, each leaf served by one centre
    path: list[Step]
    differences: Differences | None
    points: Points | None
    certificate: dict[str, Any] | None
    certificate_text: str | None
    settings: Settings
