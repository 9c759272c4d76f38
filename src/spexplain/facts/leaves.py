"""The card of a leaf: its rule, what the reference says about its rows, and what is typical of them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from spexplain.aliases import Array, Floats, Ints, Matrix
from spexplain.facts.inputs import finite, plain_label
from spexplain.facts.schema import Condition, Label, Part, Profile, Row, Telling
from spexplain.facts.statistics import QUANTILES, Moments
from spexplain.table.reference import Reference
from spexplain.tree.boxes import Box
from spexplain.tree.words import interval_text

NOISE = -1
_N_TELLING = 3


class Described(NamedTuple):
    """The training rows and which of their features are spoken of."""

    X: Matrix
    groups: list[Ints]  # row numbers of every leaf
    moments: Moments
    means: Floats  # these three: (n_leaves, n_features)
    stds: Floats
    differences: Floats
    scales: Floats  # standard deviations over all rows
    columns: Ints  # features that values of rows are given for
    reference: Reference | None


def conditions_of(box: Box, names: Sequence[str]) -> list[Condition]:
    """Return what a rule says about each feature."""
    return [
        {
            "feature": feature,
            "name": names[feature],
            "intervals": [[finite(low), finite(high)] for low, high in intervals],
            "text": interval_text(intervals, names[feature]),
        }
        for feature, intervals in box.items()
    ]


def composition_of(counts: Ints, noise: int, labels: Sequence[Label]) -> list[Part]:
    """Return the clusters of a leaf's rows, commonest first, noise last."""
    size = int(counts.sum()) + noise
    order = np.argsort(-counts, kind="stable")
    parts = [(int(code), int(counts[code]), labels[code]) for code in order if counts[code]]
    if noise:
        parts.append((NOISE, noise, NOISE))
    return [
        {"label": label, "code": code, "count": count, "share": count / size}
        for code, count, label in parts
    ]


def code_of(label: object, classes: Array, counts: Ints, noise: int) -> int | None:
    """Return the code of the label that a leaf stands for; -1 for noise, None for nothing."""
    found = [code for code, each in enumerate(classes) if each == label]
    if found:
        return found[0]
    return NOISE if noise and not counts.any() else None


def described_features(
    differences: Floats, tested: Sequence[Sequence[int]], max_features: int
) -> list[Ints]:
    """Return the features of every leaf's profile: those of its rule and the most different, in this order of size."""
    chosen = []
    for own, rule in zip(np.abs(differences), tested, strict=True):
        order = np.argsort(-np.nan_to_num(own, nan=-1.0), kind="stable")
        if len(order) > max_features:
            is_tested = np.isin(order, rule)
            wanted = max(0, max_features - int(is_tested.sum()))
            others = np.cumsum(~is_tested) <= wanted
            order = order[is_tested | others]
        chosen.append(order)
    return chosen


def leaf_columns(described: Described, leaf: int, features: Ints) -> Floats:
    """Return the values of some features in a leaf, shape (n_features, n_rows): contiguous columns sort fast."""
    rows = described.X[described.groups[leaf]]
    return np.ascontiguousarray(rows[:, features].T, dtype=np.float64)


def profile_of(
    described: Described, leaf: int, features: Ints, quantiles: Floats, names: Sequence[str]
) -> list[Profile]:
    """Return how some features are distributed in a leaf, whose `QUANTILES` are given."""
    means, stds = described.means[leaf], described.stds[leaf]
    low, high = described.moments.low[leaf], described.moments.high[leaf]
    profile: list[Profile] = []
    for at, feature in enumerate(features.tolist()):
        five = {name: finite(x) for name, x in zip(QUANTILES, quantiles[:, at], strict=True)}
        profile.append(
            {
                "feature": feature,
                "name": names[feature],
                "mean": finite(means[feature]),
                "std": finite(stds[feature]),
                "min": finite(low[feature]),
                "max": finite(high[feature]),
                "difference": finite(described.differences[leaf, feature]),
                **five,  # type: ignore[typeddict-item]
            }
        )
    return profile


def telling_of(profile: list[Profile]) -> list[Telling]:
    """Return the few features in which a leaf differs most."""
    telling: list[Telling] = []
    for each in profile[:_N_TELLING]:
        difference = each["difference"]
        if difference:
            side = "above" if difference > 0 else "below"
            text = f"{each['name']} {abs(difference):.1f} SD {side} the rest"
            telling.append(
                {
                    "feature": each["feature"],
                    "name": each["name"],
                    "difference": difference,
                    "text": text,
                }
            )
    return telling


def row_records(described: Described, rows: Ints) -> list[Row]:
    """Return some training rows as records."""
    reference = described.reference
    values = described.X[np.ix_(rows, described.columns)].astype(np.float64)
    return [
        {
            "row": int(row),
            "label": None if reference is None else plain_label(reference.labels[row]),
            "values": own.tolist(),
        }
        for row, own in zip(rows, values, strict=True)
    ]
