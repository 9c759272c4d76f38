"""The facts that need the training rows: profiles of leaves, typical rows, points to draw."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf, sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spexplain.aliases import Array, Bools, Floats, Ints, Matrix
from spexplain.facts.leaf_statistics import (
    QUANTILES,
    Moments,
    Shares,
    leaf_quantiles,
    nearest_rows,
    quantiles_of,
)
from spexplain.facts.profiles import Profile
from spexplain.facts.schema import (
    DifferencesFacts,
    FeatureFacts,
    PointsFacts,
    ProfileFacts,
    RowFacts,
    ShareFacts,
    Summary,
    TellingFacts,
    all_finite,
    column_of,
    finite,
    plain_label,
)
from spexplain.facts.text import amount_text, percent
from spexplain.table.host import rows_of_groups
from spexplain.table.reference import Reference
from spexplain.table.sparse import dense
from spexplain.table.storage import is_sparse
from spexplain.tree import LEAF, Column, Kind, Region, Tree

if TYPE_CHECKING:
    from spexplain.explanation import Explanation

_N_TELLING = 3
_N_SHARES = 5  # values of a category that are named
_N_COMPARED = 4  # of these, values that all leaves are compared by
_AT_A_TIME = 16  # columns that are read together
_FEW = 100  # rows that usually show whether all values are whole numbers
_DAY = 86_400_000_000
_YES_OR_NO: tuple[Kind, ...] = ("boolean", "flag", "word")  # described by one share


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
        Random rows of the whole table in the plane of the two columns tested most.
    seed : int
        Of the random rows.
    """

    max_features: int = 20
    n_exemplars: int = 3
    n_sampled: int = 5
    n_points: int = 1000
    seed: int = 0


class TrainingRows(NamedTuple):
    """The training rows, what is known about those of each leaf, and which features are described."""

    X: Matrix
    groups: list[Ints]  # row numbers of every leaf
    moments: Moments
    means: Floats  # these and those of `missing`: (n_leaves, n_features)
    stds: Floats
    outside: Floats  # means of all other rows
    differences: Floats
    missing: tuple[Floats, Floats]  # shares without a value in the leaf and among all other rows
    scales: Floats  # standard deviations over all rows
    columns: Ints  # features that values of rows are given for
    reference: Reference | None
    weights: Floats | None  # of the rows; groups hold those of positive weight only
    row_ids: Array | None
    fields: Sequence[Column]
    shares: dict[int, Shares]  # of the categories

    def is_kind(self, features: Ints, *kinds: Kind) -> Bools:
        """Return which of some features are of these kinds."""
        return np.array([self.fields[each].kind in kinds for each in features], dtype=np.bool_)


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
        "missing": None,
        "shares": [],
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
    described: Ints | None = None,
) -> None:
    """Complete a summary from the training rows; of the columns that are not tested, only some are described."""
    labels = explanation.labels
    assert labels is not None
    n_leaves = explanation.tree.n_leaves
    groups = rows_of_groups(labels, n_leaves)
    weights = None if explanation.training is None else explanation.training.weights
    if weights is not None:
        groups = [rows[weights[rows] > 0] for rows in groups]
    moments = Moments.of(X, groups, weights, np.array([each.kind == "word" for each in names]))
    total = moments.total()
    # Columns without a test were not looked at before: zeros and ones are described by shares, too.
    names = [
        replace(each, kind="flag") if is_flag and each.kind in ("number", "whole") else each
        for each, is_flag in zip(names, moments.flags().tolist(), strict=True)
    ]
    differences = moments.differences()
    shares = {
        feature: Shares.of(
            column_values(X, feature), labels, n_leaves, len(each.categories), weights
        )
        for feature, each in enumerate(names)
        if each.kind == "category"
    }
    for feature, own in shares.items():  # codes have no mean
        told = [own.telling(leaf) for leaf in range(n_leaves)]
        differences[:, feature] = [
            np.nan if code is None else own.differences[leaf, code]
            for leaf, code in enumerate(told)
        ]
    rules = [[each["feature"] for each in leaf["conditions"]] for leaf in summary["leaves"]]
    profiled = _profiled_features(differences, rules, detail.max_features, described)
    tested = [each["feature"] for each in summary["features"]]
    columns = np.unique(np.concatenate([*profiled, tested]).astype(np.int64))
    training = TrainingRows(
        X,
        groups,
        moments,
        moments.means,
        moments.stds,
        moments.outside(),
        differences,
        moments.missing(),
        total.stds[0],
        columns,
        explanation.row_reference,
        weights,
        None if explanation.training is None else explanation.training.row_ids,
        names,
        shares,
    )
    _add_cards(summary, training, profiled, detail)
    _add_features(summary, training, total)
    summary["has_rows"] = True
    summary["dtype"] = str(X.dtype)
    summary["differences"] = _differences(training)
    summary["points"] = _points(explanation, X, names, detail)


def _differences(training: TrainingRows) -> DifferencesFacts:
    """Return how every leaf differs in the described features, and in the most telling values of categories."""
    found: DifferencesFacts = {"features": [], "names": [], "values": [], "shares": []}
    values, shares = [], []
    nothing = np.full(len(training.groups), np.nan)
    for feature in training.columns.tolist():
        column, own = training.fields[feature], training.shares.get(feature)
        if own is None:
            entries = [(training.differences[:, feature], nothing, column.name)]
            if column.kind in _YES_OR_NO:
                text = share_text(column, 1)
                entries = [(training.differences[:, feature], training.means[:, feature], text)]
        else:
            entries = [
                (own.differences[:, code], own.inside[:, code], share_text(column, code))
                for code in _compared_codes(own)
            ]
        for difference, inside, name in entries:
            found["features"].append(feature)
            found["names"].append(name)
            values.append(difference)
            shares.append(inside)
    for leaf in range(len(training.groups)):
        found["values"].append(all_finite(np.array([each[leaf] for each in values])))
        found["shares"].append(all_finite(np.array([each[leaf] for each in shares])))
    return found


def _compared_codes(shares: Shares) -> list[int]:
    """Return the values that are the most telling of some leaf, in order."""
    told = {shares.telling(leaf) for leaf in range(len(shares.counts))} - {None}
    largest = np.nan_to_num(np.abs(shares.differences)).max(axis=0, initial=0.0)
    codes = sorted((code for code in told if code is not None), key=lambda code: -largest[code])
    return sorted(codes[:_N_COMPARED])


def _add_cards(
    summary: Summary,
    training: TrainingRows,
    profiled: list[Ints],
    detail: Detail,
) -> None:
    """Describe the rows of every leaf."""
    random = np.random.default_rng(detail.seed)
    for card, features in zip(summary["leaves"], profiled, strict=True):
        rows = training.groups[card["leaf"]]
        if not len(rows):
            continue
        columns = _leaf_columns(training, card["leaf"], features)
        is_category = training.is_kind(features, "category")
        is_time = training.is_kind(features, "date", "duration")
        own = None if training.weights is None else training.weights[rows]
        quantiles = leaf_quantiles(columns, is_category, is_time, own)
        card["profile"] = _profile(training, card["leaf"], features, columns, quantiles)
        card["telling"] = _telling(training, card["profile"])
        middle, scales = quantiles[list(QUANTILES).index("median")], training.scales[features]
        near = nearest_rows(columns, middle, scales, detail.n_exemplars, is_category)
        nearest = rows[near]
        card["exemplars"] = _row_facts(training, nearest)
        card["sample"] = _row_facts(training, _drawn(random, rows, detail.n_sampled))


def _drawn(random: np.random.Generator, rows: Ints, n_drawn: int) -> Ints:
    """Return some of the rows, in their order."""
    if len(rows) <= n_drawn:
        return rows
    return np.sort(random.choice(rows, n_drawn, replace=False))


def _profiled_features(
    differences: Floats,
    tested: Sequence[Sequence[int]],
    max_features: int,
    described: Ints | None,
) -> list[Ints]:
    """Return the features of every leaf's profile: those of its rule and the most different, in this order of size."""
    chosen = []
    for own, rule in zip(np.abs(differences), tested, strict=True):
        order = np.argsort(-np.nan_to_num(own, nan=-1.0), kind="stable")
        if described is not None:
            order = order[np.isin(order, [*described, *rule])]
        if len(order) > max_features:
            is_tested = np.isin(order, rule)
            wanted = max(0, max_features - int(is_tested.sum()))
            others = np.cumsum(~is_tested) <= wanted
            order = order[is_tested | others]
        chosen.append(order)
    return chosen


def _leaf_columns(training: TrainingRows, leaf: int, features: Ints) -> Floats:
    """Return the values of some features in a leaf, shape (n_features, n_rows): contiguous columns sort fast."""
    X, rows = training.X, training.groups[leaf]
    values = dense(X[rows][:, features]) if is_sparse(X) else X[np.ix_(rows, features)]
    return np.ascontiguousarray(values.T, dtype=np.float64)


def column_values(X: Matrix, feature: int) -> Floats:
    """Return the values of one feature."""
    return np.ascontiguousarray(dense(X[:, [feature]]).ravel(), dtype=np.float64)


def _profile(
    training: TrainingRows, leaf: int, features: Ints, columns: Floats, quantiles: Floats
) -> list[ProfileFacts]:
    """Return how some features are distributed in a leaf, whose columns and `QUANTILES` are given."""
    means, stds = training.means[leaf], training.stds[leaf]
    lacking, lacking_outside = (each[leaf] for each in training.missing)
    profile: list[ProfileFacts] = []
    for at, feature in enumerate(features.tolist()):
        is_measured = training.fields[feature].kind != "category"
        ends = np.fmin.reduce(columns[at]), np.fmax.reduce(columns[at])
        told = [means[feature], stds[feature], *ends, *quantiles[:, at]]
        entries = zip(("mean", "std", "min", "max", *QUANTILES), told, strict=True)
        profile.append(
            {
                "feature": feature,
                "name": training.fields[feature].name,
                "missing": float(lacking[feature]),
                "missing_rest": finite(lacking_outside[feature]),
                "shares": _shares(training, leaf, feature),
                "difference": finite(training.differences[leaf, feature]),
                **{name: finite(x) if is_measured else None for name, x in entries},  # type: ignore[typeddict-item]
            }
        )
    return profile


def share_text(column: Column, code: int) -> str:
    """Return in words that a feature has a listed value."""
    if column.kind == "word":
        return Region(((0.0, inf),), missing=False).text(Column(column.name, "word"))
    return f"{column.name} = {column.say(code)}"


def _share(
    column: Column, code: int, share: float, rest: float = np.nan, gap: float = np.nan
) -> ShareFacts:
    return {
        "code": code,
        "text": share_text(column, code),
        "said": "" if column.kind == "word" else column.say(code),
        "share": float(share),
        "rest": finite(rest),
        "difference": finite(gap),
    }


def _shares(training: TrainingRows, leaf: int, feature: int) -> list[ShareFacts]:
    """Return the commonest listed values of a feature in a leaf, and the most telling one."""
    column, own = training.fields[feature], training.shares.get(feature)
    if own is None:
        share = training.means[leaf, feature]
        if column.kind not in _YES_OR_NO or np.isnan(share):
            return []
        rest = training.outside[leaf, feature]
        return [_share(column, 1, share, rest, training.differences[leaf, feature])]
    codes = _commonest(own.counts[leaf])
    told = own.telling(leaf)
    if not codes:
        return []
    if told is not None and told not in codes:
        codes.append(told)
    return [
        _share(
            column,
            code,
            own.inside[leaf, code],
            own.outside[leaf, code],
            own.differences[leaf, code],
        )
        for code in codes
    ]


def _commonest(counts: Ints) -> list[int]:
    """Return the values of most rows, the commonest first."""
    order = np.argsort(-counts, kind="stable")[:_N_SHARES].tolist()
    return [code for code in order if counts[code]]


def _telling(training: TrainingRows, profile: list[ProfileFacts]) -> list[TellingFacts]:
    """Return the few features in which a leaf differs most."""
    told = [_leaf_difference(training, each) for each in profile]
    known = [each for each in told if each is not None]
    return sorted(known, key=lambda each: -abs(each["difference"]))[:_N_TELLING]


def _leaf_difference(training: TrainingRows, profile: ProfileFacts) -> TellingFacts | None:
    """Return how a leaf differs in one feature: by its values, or by how often they are missing."""
    column, difference = training.fields[profile["feature"]], profile["difference"] or 0.0
    lacking = _missing_difference(training, profile)
    if abs(lacking) > abs(difference):
        share, rest = profile["missing"], profile["missing_rest"] or 0.0
        text = f"{column.name}: {percent(share)} missing (rest {percent(rest)})"
        difference = lacking
    elif not difference:
        return None
    elif profile["shares"]:
        text = _share_in_words(column, max(profile["shares"], key=_size))
    else:
        text = _mean_in_words(column, difference, float(training.scales[profile["feature"]]))
    return {
        "feature": profile["feature"],
        "name": column.name,
        "difference": difference,
        "text": text,
    }


def _size(share: ShareFacts) -> float:
    return abs(share["difference"] or 0.0)


def _share_in_words(column: Column, own: ShareFacts) -> str:
    """Return a share and that of the other rows in words."""
    rest = "" if own["rest"] is None else f" (rest {percent(own['rest'])})"
    if column.kind in ("category", "boolean"):
        return f"{column.name}: {percent(own['share'])} {own['said']}{rest}"
    return f"{own['text']}: {percent(own['share'])}{rest}"


def _mean_in_words(column: Column, difference: float, scale: float) -> str:
    """Return a difference of means in words."""
    deviations = f"{abs(difference):.1f} SD"
    if column.kind in ("date", "duration"):
        amount = amount_text(column, abs(difference) * scale)
        later, earlier = ("later", "earlier") if column.kind == "date" else ("longer", "shorter")
        side = later if difference > 0 else earlier
        return f"{column.name} {amount} {side} than the rest ({deviations})"
    return f"{column.name} {deviations} {'above' if difference > 0 else 'below'} the rest"


def _missing_difference(training: TrainingRows, profile: ProfileFacts) -> float:
    """Return by how much more often values are missing than in the rest, in standard deviations."""
    if profile["missing_rest"] is None:
        return 0.0
    n_known = training.moments.counts[:, profile["feature"]].sum()
    overall = 1 - float(n_known / training.moments.sizes.sum())
    if not 0 < overall < 1:
        return 0.0
    return (profile["missing"] - profile["missing_rest"]) / sqrt(overall * (1 - overall))


def _row_facts(training: TrainingRows, rows: Ints) -> list[RowFacts]:
    """Return some training rows as records."""
    reference = training.reference
    values = dense(training.X[rows][:, training.columns]).astype(np.float64)
    return [
        {
            "row": int(row),
            "id": None if training.row_ids is None else str(training.row_ids[row]),
            "label": None if reference is None else plain_label(reference.labels[row]),
            "values": all_finite(own),
        }
        for row, own in zip(rows, values, strict=True)
    ]


def _add_features(summary: Summary, training: TrainingRows, total: Moments) -> None:
    """Describe the features over all rows."""
    known = {each["feature"]: each for each in summary["features"]}
    means = total.means[0]
    summary["features"] = []
    for feature, x in _columns_of(training):
        fact = known.get(feature) or _feature(feature, training.fields, 0, 0.0)
        column = training.fields[feature]
        fact["missing"] = float(1 - total.counts[0, feature] / total.sizes[0])
        summary["features"].append(fact)
        if column.kind == "category":
            counts = training.shares[feature].counts.sum(axis=0)
            overall = counts / counts.sum()
            fact["shares"] = [_share(column, code, overall[code]) for code in _commonest(counts)]
            continue
        values, weights = _known_values(training, x)
        if not len(values):
            continue
        if column.kind in _YES_OR_NO:
            fact["shares"] = [_share(column, 1, means[feature])]
        unit = _DAY if column.kind == "date" else 1
        is_integer = column.zone is None and all(
            bool(np.all(some % unit == 0)) for some in (values[:_FEW], values)
        )
        fact["integer"] = is_integer
        fact["mean"] = finite(means[feature])
        fact["std"] = finite(training.scales[feature])
        fact["min"], fact["max"] = finite(values.min()), finite(values.max())
        is_time = column.kind in ("date", "duration")
        middle = quantiles_of(values[None], [0.5], weights, is_between=not is_time)
        fact["median"] = finite(middle[0, 0])


def add_profile(summary: Summary, profile: Profile | None) -> None:
    """Describe the features by what a model remembers of its training rows, if it remembers anything."""
    known = {} if profile is None else profile.columns
    for fact in summary["features"]:
        seen, column = known.get(fact["feature"]), column_of(fact)
        if seen is None:
            continue
        fact["missing"] = seen.share_missing
        if column.kind == "category" and seen.n_known:
            counts = np.array(seen.counts, dtype=np.int64)
            overall = counts / counts.sum()
            fact["shares"] = [_share(column, code, overall[code]) for code in _commonest(counts)]
        elif seen.quantiles:
            fact["min"], fact["max"] = finite(seen.low), finite(seen.high)
            fact["median"] = finite(seen.quantiles[len(seen.quantiles) // 2])


def _columns_of(training: TrainingRows) -> Iterator[tuple[int, Floats]]:
    """Give the described features and their values; some at a time, because neighbours lie in the same memory."""
    features = training.columns
    for start in range(0, len(features), _AT_A_TIME):
        some = features[start : start + _AT_A_TIME]
        values = np.ascontiguousarray(dense(training.X[:, some]).T, dtype=np.float64)
        yield from zip(some.tolist(), values, strict=True)


def _known_values(training: TrainingRows, values: Floats) -> tuple[Floats, Floats | None]:
    """Return the values of a feature in rows that have one and count, and their weights."""
    counts = ~np.isnan(values)
    if training.weights is None:
        return values if counts.all() else values[counts], None
    counts &= training.weights > 0
    return values[counts], training.weights[counts]


def plane_of(tree: Tree) -> list[int]:
    """Return two features to draw: the most used, and if there is only one, the first other one."""
    used = most_used_features(tree)
    others = [feature for feature in range(min(tree.n_features, 3)) if feature not in used]
    return (used + others)[:2]


def _points(
    explanation: "Explanation", X: Matrix, names: Sequence[Column], detail: Detail
) -> PointsFacts:
    """Return a random sample of rows in the plane of the two columns tested most."""
    features = plane_of(explanation.tree)
    rows = _drawn(np.random.default_rng(detail.seed), np.arange(X.shape[0]), detail.n_points)
    reference, labels = explanation.row_reference, explanation.labels
    assert labels is not None
    values = dense(X[rows][:, features]).T.astype(np.float64)
    columns = [all_finite(own) for own in values]
    return {
        "features": features,
        "names": [names[feature].name for feature in features],
        "row": rows.tolist(),
        "x": columns[0],
        "y": columns[1] if len(columns) > 1 else [],
        "leaf": labels[rows].tolist(),
        "code": [None] * len(rows) if reference is None else reference.codes[rows].tolist(),
    }
