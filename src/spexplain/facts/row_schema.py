"""What the explanation of a row holds, entry by entry; plain JSON values, None for what is undefined."""

from typing import TypedDict

from spexplain.facts.schema import Label

FORMAT = "spexplain.row"
VERSION = 1


class PathTest(TypedDict):
    """A test that the row met."""

    node: int
    feature: int
    name: str
    test: str
    value: float
    passed: bool
    margin: float  # how far the value must move to change the answer
    margin_sd: float | None  # the same in standard deviations of the feature


class Move(TypedDict):
    """A change of one value."""

    feature: int
    name: str
    value: float
    to: float  # just inside the target's interval, exact in the row's own type
    bound: float  # the threshold that is passed or reached
    upwards: bool
    change: float
    change_sd: float | None


class Change(TypedDict):
    """The smallest change of one or two values that brings the row into another leaf."""

    leaf: int
    label: Label | None
    other_label: bool | None  # whether the leaf stands for another reference label
    moves: list[Move]
    distance: float | None  # length of the move, in standard deviations


class Smallest(TypedDict):
    """The smallest changes of one value and of two values."""

    one_feature: Change | None
    two_features: Change | None


class RowExplanation(TypedDict):
    """Why a row is in its leaf, and what would move it; plain values, ready for JSON."""

    format: str
    version: int
    leaf: int
    label: Label | None
    rule: str
    path: list[PathTest]
    to_other_leaf: Smallest
    to_other_label: Smallest
    changes: list[Change]  # all leaves within reach of one or two changes, nearest first
