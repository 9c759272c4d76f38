"""The facts that need the training rows: profiles, typical rows, points to draw."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from spexplain.aliases import Ints, Matrix
from spexplain.facts.inputs import finite
from spexplain.facts.leaves import (
    Described,
    described_features,
    leaf_columns,
    profile_of,
    row_records,
    telling_of,
)
from spexplain.facts.outline import Outline
from spexplain.facts.schema import Feature, Points, Summary
from spexplain.facts.statistics import QUANTILES, Moments, nearest_rows, rows_of_groups
from spexplain.tree import LEAF, Tree

if TYPE_CHECKING:
    from spexplain.explanation import Explanation


class DetailRecord(Protocol):
    """How much to say about rows; see `spexplain.facts.summarize.Detail`."""

    @property
    def max_features(self) -> int: ...  # noqa: D102

    @property
    def n_exemplars(self) -> int: ...  # noqa: D102

    @property
    def n_sampled(self) -> int: ...  # noqa: D102

    @property
    def n_points(self) -> int: ...  # noqa: D102

    @property
    def seed(self) -> int: ...  # noqa: D102


def feature_facts(outline: Outline) -> list[Feature]:
    """Return the tested features, without what describes their values."""
    tree = outline.tree
    inner = tree.feature != LEAF
    n_tests = np.bincount(tree.feature[inner], minlength=tree.n_features)
    earned = np.bincount(
        tree.feature[inner], weights=outline.importances[inner], minlength=tree.n_features
    )
    return [
        _feature(feature, outline.names, int(n_tests[feature]), float(earned[feature]))
        for feature in np.flatnonzero(n_tests).tolist()
    ]


def _feature(feature: int, names: Sequence[str], n_tests: int, importance: float) -> Feature:
    return {
        "feature": feature,
        "name": names[feature],
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
    explained: "Explanation",
    X: Matrix,
    names: Sequence[str],
    detail: DetailRecord,
) -> None:
    """Complete a summary with what the training rows tell."""
    tree, labels = explained.tree, explained.labels
    assert labels is not None
    groups = rows_of_groups(labels, tree.n_leaves)
    moments = Moments.of(X, groups)
    total = moments.total()
    differences = moments.differences()
    rules = [[each["feature"] for each in leaf["conditions"]] for leaf in summary["leaves"]]
    profiled = described_features(differences, rules, detail.max_features)
    tested = [each["feature"] for each in summary["features"]]
    columns = np.unique(np.concatenate([*profiled, tested]).astype(np.int64))
    described = Described(
        X,
        groups,
        moments,
        moments.means,
        moments.stds,
        differences,
        total.stds[0],
        columns,
        explained.row_reference,
    )
    _add_cards(summary, described, profiled, names, detail)
    _add_features(summary, described, total, names)
    summary["has_rows"] = True
    summary["dtype"] = str(X.dtype)
    summary["differences"] = {
        "features": columns.tolist(),
        "names": [names[column] for column in columns],
        "values": [[finite(x) for x in own] for own in differences[:, columns]],
    }
    summary["points"] = _points(explained, X, names, detail)


def _add_cards(
    summary: Summary,
    described: Described,
    profiled: list[Ints],
    names: Sequence[str],
    detail: DetailRecord,
) -> None:
    """Describe the rows of every leaf."""
    random = np.random.default_rng(detail.seed)
    for card, features in zip(summary["leaves"], profiled, strict=True):
        rows = described.groups[card["leaf"]]
        if not len(rows):
            continue
        columns = leaf_columns(described, card["leaf"], features)
        quantiles = np.quantile(columns, list(QUANTILES.values()), axis=1)
        card["profile"] = profile_of(described, card["leaf"], features, quantiles, names)
        card["telling"] = telling_of(card["profile"])
        middle, scales = quantiles[list(QUANTILES).index("median")], described.scales[features]
        nearest = rows[nearest_rows(columns, middle, scales, detail.n_exemplars)]
        card["exemplars"] = row_records(described, nearest)
        card["sample"] = row_records(described, _drawn(random, rows, detail.n_sampled))


def _drawn(random: np.random.Generator, rows: Ints, n_drawn: int) -> Ints:
    """Return some of the rows, in their order."""
    if len(rows) <= n_drawn:
        return rows
    return np.sort(random.choice(rows, n_drawn, replace=False))


def _add_features(
    summary: Summary, described: Described, total: Moments, names: Sequence[str]
) -> None:
    """Describe the features over all rows."""
    known = {each["feature"]: each for each in summary["features"]}
    means = total.means[0]
    summary["features"] = []
    for feature in described.columns.tolist():
        fact = known.get(feature) or _feature(feature, names, 0, 0.0)
        column = np.ascontiguousarray(described.X[:, feature], dtype=np.float64)
        fact["integer"] = bool(np.all(column == np.floor(column)))
        fact["mean"] = finite(means[feature])
        fact["std"] = finite(described.scales[feature])
        fact["min"], fact["max"] = finite(total.low[0, feature]), finite(total.high[0, feature])
        fact["median"] = finite(np.median(column))
        summary["features"].append(fact)


def plane_of(tree: Tree) -> list[int]:
    """Return two features to draw: the most used, and if there is only one, the first other one."""
    used = most_used_features(tree)
    others = [feature for feature in range(min(tree.n_features, 3)) if feature not in used]
    return (used + others)[:2]


def _points(
    explained: "Explanation", X: Matrix, names: Sequence[str], detail: DetailRecord
) -> Points:
    """Return a random sample of rows in the plane of the two most used features."""
    features = plane_of(explained.tree)
    rows = _drawn(np.random.default_rng(detail.seed), np.arange(len(X)), detail.n_points)
    reference, labels = explained.row_reference, explained.labels
    assert labels is not None
    columns = [X[rows, feature].astype(np.float64).tolist() for feature in features]
    return {
        "features": features,
        "names": [names[feature] for feature in features],
        "row": rows.tolist(),
        "x": columns[0],
        "y": columns[1] if len(columns) > 1 else [],
        "leaf": labels[rows].tolist(),
        "code": [None] * len(rows) if reference is None else reference.codes[rows].tolist(),
    }
