"""The facts that need the training rows: profiles of leaves, typical rows, points to draw."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spexplain.aliases import Floats, Ints, Matrix
from spexplain.facts.schema import (
    FeatureFacts,
    PointsFacts,
    ProfileFacts,
    RowFacts,
    Summary,
    TellingFacts,
    finite,
    plain_label,
)
from spexplain.facts.statistics import (
    QUANTILES,
    Moments,
    nearest_rows,
    quantiles_of,
    rows_of_groups,
)
from spexplain.table.reference import Reference
from spexplain.table.sparse import dense
from spexplain.tree import LEAF, Column, Tree

if TYPE_CHECKING:
    from spexplain.explanation import Explanation

_N_TELLING = 3


class Detail(NamedTuple):
    """How much a summary says about rows.

    Parameters
    ----------
    max_features : int, default=20
        Features in the profile of a leaf, those of its rule first; all are described if there are
        no more.
    n_exemplars, n_sampled : int
        Typical and random rows of every leaf.
    n_points : int
        Random rows of the whole table in the plane of the two most used features.
    seed : int
        Of the random rows.
    """

    max_features: int = 20
    n_exemplars: int = 3
    n_sampled: int = 5
    n_points: int = 1000
    seed: int = 0


class TrainingRows(NamedTuple):
    """The training rows, what is known of each leaf's, and which of their features are spoken of."""

    X: Matrix
    groups: list[Ints]  # row numbers of every leaf
    moments: Moments
    means: Floats  # these three: (n_leaves, n_features)
    stds: Floats
    differences: Floats
    scales: Floats  # standard deviations over all rows
    columns: Ints  # features that values of rows are given for
    reference: Reference | None
    weights: Floats | None  # of the rows; groups hold those of positive weight only


def feature_facts(tree: Tree, names: Sequence[Column], importances: Floats) -> list[FeatureFacts]:
    """Return the tested features, without what describes their values; importances are the nodes'."""
    inner = tree.feature != LEAF
    n_tests = np.bincount(tree.feature[inner], minlength=tree.n_features)
    earned = np.bincount(tree.feature[inner], weights=importances[inner], minlength=tree.n_features)
    return [
        _feature(feature, names, int(n_tests[feature]), float(earned[feature]))
        for feature in np.flatnonzero(n_tests).tolist()
    ]


def _feature(
    feature: int, names: Sequence[Column], n_tests: int, importance: float
) -> FeatureFacts:
    return {
        "feature": feature,
        "name": names[feature].name,
        "kind": names[feature].kind,
        "categories": [plain_label(each) for each in names[feature].categories],
        "zone": names[feature].zone,
        "has_missing": names[feature].has_missing,
        "n_tests": n_tests,
        "importance": importance,
        "integer": None,
        "mean": None,
        "std": None,
        "min": None,
        "median": None,
        "max": None,
    }


def most_used_features(tree: Tree) -> list[int]:
    """Return the tested features: those of most tests first, then of most rows, then the lowest.

    Examples
    --------
    >>> from spexplain.facts import most_used_features
    >>> from spexplain.tree import Tree
    >>> tree = Tree.root(n_features=3, size=9).split(0, feature=2, threshold=0.0, sizes=(4, 5))
    >>> most_used_features(tree.split(1, feature=0, threshold=0.0))
    [2, 0]
    """
    used: dict[int, tuple[int, int]] = {}
    for node in np.flatnonzero(tree.feature != LEAF).tolist():
        feature = int(tree.feature[node])
        n_tests, n_rows = used.get(feature, (0, 0))
        used[feature] = n_tests + 1, n_rows + int(tree.size[node])
    return sorted(used, key=lambda feature: (*(-each for each in used[feature]), feature))


def add_rows(
    summary: Summary,
    explanation: "Explanation",
    X: Matrix,
    names: Sequence[Column],
    detail: Detail,
) -> None:
    """Complete a summary with what the training rows tell."""
    labels = explanation.labels
    assert labels is not None
    groups = rows_of_groups(labels, explanation.tree.n_leaves)
    weights = None if explanation.training is None else explanation.training.weights
    if weights is not None:
        groups = [rows[weights[rows] > 0] for rows in groups]
    moments = Moments.of(X, groups, weights)
    total = moments.total()
    differences = moments.differences()
    rules = [[each["feature"] for each in leaf["conditions"]] for leaf in summary["leaves"]]
    profiled = _profiled_features(differences, rules, detail.max_features)
    tested = [each["feature"] for each in summary["features"]]
    columns = np.unique(np.concatenate([*profiled, tested]).astype(np.int64))
    training = TrainingRows(
        X,
        groups,
        moments,
        moments.means,
        moments.stds,
        differences,
        total.stds[0],
        columns,
        explanation.row_reference,
        weights,
    )
    _add_cards(summary, training, profiled, names, detail)
    _add_features(summary, training, total, names)
    summary["has_rows"] = True
    summary["dtype"] = str(X.dtype)
    summary["differences"] = {
        "features": columns.tolist(),
        "names": [names[column].name for column in columns],
        "values": [[finite(x) for x in own] for own in differences[:, columns]],
    }
    summary["points"] = _points(explanation, X, names, detail)


def _add_cards(
    summary: Summary,
    training: TrainingRows,
    profiled: list[Ints],
    names: Sequence[Column],
    detail: Detail,
) -> None:
    """Describe the rows of every leaf."""
    random = np.random.default_rng(detail.seed)
    for card, features in zip(summary["leaves"], profiled, strict=True):
        rows = training.groups[card["leaf"]]
        if not len(rows):
            continue
        columns = _leaf_columns(training, card["leaf"], features)
        own = None if training.weights is None else training.weights[rows]
        quantiles = quantiles_of(columns, list(QUANTILES.values()), own)
        card["profile"] = _profile(training, card["leaf"], features, quantiles, names)
        card["telling"] = _telling(card["profile"])
        middle, scales = quantiles[list(QUANTILES).index("median")], training.scales[features]
        nearest = rows[nearest_rows(columns, middle, scales, detail.n_exemplars)]
        card["exemplars"] = _row_facts(training, nearest)
        card["sample"] = _row_facts(training, _drawn(random, rows, detail.n_sampled))


def _drawn(random: np.random.Generator, rows: Ints, n_drawn: int) -> Ints:
    """Return some of the rows, in their order."""
    if len(rows) <= n_drawn:
        return rows
    return np.sort(random.choice(rows, n_drawn, replace=False))


def _profiled_features(
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


def _leaf_columns(training: TrainingRows, leaf: int, features: Ints) -> Floats:
    """Return the values of some features in a leaf, shape (n_features, n_rows): contiguous columns sort fast."""
    rows = training.X[training.groups[leaf]]
    return np.ascontiguousarray(dense(rows[:, features]).T, dtype=np.float64)


def _profile(
    training: TrainingRows, leaf: int, features: Ints, quantiles: Floats, names: Sequence[Column]
) -> list[ProfileFacts]:
    """Return how some features are distributed in a leaf, whose `QUANTILES` are given."""
    means, stds = training.means[leaf], training.stds[leaf]
    low, high = training.moments.low[leaf], training.moments.high[leaf]
    profile: list[ProfileFacts] = []
    for at, feature in enumerate(features.tolist()):
        five = {name: finite(x) for name, x in zip(QUANTILES, quantiles[:, at], strict=True)}
        profile.append(
            {
                "feature": feature,
                "name": names[feature].name,
                "mean": finite(means[feature]),
                "std": finite(stds[feature]),
                "min": finite(low[feature]),
                "max": finite(high[feature]),
                "difference": finite(training.differences[leaf, feature]),
                **five,  # type: ignore[typeddict-item]
            }
        )
    return profile


def _telling(profile: list[ProfileFacts]) -> list[TellingFacts]:
    """Return the few features in which a leaf differs most."""
    telling: list[TellingFacts] = []
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


def _row_facts(training: TrainingRows, rows: Ints) -> list[RowFacts]:
    """Return some training rows as records."""
    reference = training.reference
    values = dense(training.X[rows][:, training.columns]).astype(np.float64)
    return [
        {
            "row": int(row),
            "label": None if reference is None else plain_label(reference.labels[row]),
            "values": own.tolist(),
        }
        for row, own in zip(rows, values, strict=True)
    ]


def _add_features(
    summary: Summary, training: TrainingRows, total: Moments, names: Sequence[Column]
) -> None:
    """Describe the features over all rows."""
    known = {each["feature"]: each for each in summary["features"]}
    means = total.means[0]
    summary["features"] = []
    for feature in training.columns.tolist():
        fact = known.get(feature) or _feature(feature, names, 0, 0.0)
        column = np.ascontiguousarray(dense(training.X[:, [feature]]).ravel(), dtype=np.float64)
        fact["integer"] = bool(np.all(column == np.floor(column)))
        fact["mean"] = finite(means[feature])
        fact["std"] = finite(training.scales[feature])
        fact["min"], fact["max"] = finite(total.low[0, feature]), finite(total.high[0, feature])
        if training.weights is None:
            fact["median"] = finite(np.median(column))
        else:
            counts = training.weights > 0
            middle = quantiles_of(column[None, counts], [0.5], training.weights[counts])
            fact["median"] = finite(middle[0, 0])
        summary["features"].append(fact)


def plane_of(tree: Tree) -> list[int]:
    """Return two features to draw: the most used, and if there is only one, the first other one."""
    used = most_used_features(tree)
    others = [feature for feature in range(min(tree.n_features, 3)) if feature not in used]
    return (used + others)[:2]


def _points(
    explanation: "Explanation", X: Matrix, names: Sequence[Column], detail: Detail
) -> PointsFacts:
    """Return a random sample of rows in the plane of the two most used features."""
    features = plane_of(explanation.tree)
    rows = _drawn(np.random.default_rng(detail.seed), np.arange(X.shape[0]), detail.n_points)
    reference, labels = explanation.row_reference, explanation.labels
    assert labels is not None
    columns = dense(X[rows][:, features]).T.astype(np.float64).tolist()
    return {
        "features": features,
        "names": [names[feature].name for feature in features],
        "row": rows.tolist(),
        "x": columns[0],
        "y": columns[1] if len(columns) > 1 else [],
        "leaf": labels[rows].tolist(),
        "code": [None] * len(rows) if reference is None else reference.codes[rows].tolist(),
    }
