"""Why a row is where it is, and the smallest changes that would move it to another cluster."""

from collections.abc import Mapping, Sequence
from math import floor, hypot, inf, isfinite, isnan
from sys import float_info
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from spexplain.aliases import Array, Floats
from spexplain.facts.schema import (
    ROW_FORMAT,
    ROW_VERSION,
    ChangeFacts,
    Label,
    MoveFacts,
    PathTestFacts,
    RowExplanation,
    SmallestFacts,
    finite,
    plain_label,
)
from spexplain.facts.text import amount_text, known_columns, value_text
from spexplain.messages import one_line
from spexplain.tree import Column, Interval, Kind, Region, Tree
from spexplain.tree.boxes import leaf_boxes
from spexplain.tree.words import rule_text

_WITHOUT_MARGIN: tuple[Kind, ...] = ("category", "boolean", "flag", "word")


class _Question(NamedTuple):
    """A row to explain, and what is known of the tree and its features."""

    tree: Tree
    row: Array
    columns: Sequence[Column]
    scales: Floats
    labels: list[Label | None]
    unseen: Mapping[int, str]

    def said(self, feature: int) -> str:
        """Return the value of a feature."""
        x = float(self.row[feature])
        return self.unseen.get(feature, value_text(self.columns[feature], x))


def explain_row(
    tree: Tree,
    row: Any,
    *,
    names: Sequence[Column | str] | None = None,
    scales: Floats | None = None,
    leaf_labels: Sequence[Any] | None = None,
    unseen: Mapping[int, str] | None = None,
) -> RowExplanation:
    """Explain why a row is in its leaf, and what would move it to another one.

    Parameters
    ----------
    tree : Tree
        The tree.
    row : array of shape (n_features,)
        The row, as in `Column`: NaN is a missing value. New values are exact in its own type, float32 or
        float64.
    names : list of str or Column, optional
        Names of the features, or what they are; numbers called x0, x1, ... by default.
    scales : array of shape (n_features,), optional
        Standard deviations of the tested features, see `spexplain.facts.feature_scales`. Without
        them, or where one is 0 or NaN, changes of that feature have no length and come last; so do
        changes of categories and of missing values.
    leaf_labels : sequence, optional
        Reference label that each leaf stands for.
    unseen : mapping from int to str, optional
        Categories of the row that no training row had, by feature; in `row` they are missing values.

    Returns
    -------
    explanation : dict
        The tests on the way with their margins, and the smallest changes of one and two values that
        reach another leaf, or a leaf of another label. A leaf is within reach of one change if
        exactly one feature is outside its box; nothing else can be smaller. No change makes a value
        missing.

    Examples
    --------
    >>> from spexplain.facts.counterfactual import explain_row, row_text
    >>> from spexplain.tree import Tree
    >>> tree = Tree.root(n_features=2, size=0).split(0, feature=0, threshold=4.0)
    >>> tree = tree.split(2, feature=1, threshold=7.0)
    >>> explained = explain_row(tree, [5.0, 6.0], names=["age", "pay"], scales=[2.0, 10.0])
    >>> print(row_text(explained))
    Leaf 1: age > 4 and pay ≤ 7
      no   age ≤ 4   age = 5, margin 1 (0.5 SD)
      yes  pay ≤ 7   pay = 6, margin 1 (0.1 SD)
    Smallest changes
      to leaf 2: pay from 6 to more than 7 (0.1 SD)
      to leaf 0: age from 5 to 4 (0.5 SD)
    """
    values = _checked_row(row, tree.n_features)
    known = known_columns(tree.n_features, names)
    width = np.full(tree.n_features, np.nan) if scales is None else np.asarray(scales, float)
    if leaf_labels is None:
        labels: list[Label | None] = [None] * tree.n_leaves
    else:
        labels = [plain_label(label) for label in leaf_labels]
    question = _Question(tree, values, known, width, labels, unseen or {})
    leaf = int(tree.apply(values[None, :])[0])
    changes = _changes(question, leaf)
    elsewhere = [change for change in changes if change["other_label"]]
    return {
        "format": ROW_FORMAT,
        "version": ROW_VERSION,
        "leaf": leaf,
        "label": labels[leaf],
        "rule": rule_text(leaf_boxes(tree)[leaf], known),
        "path": [_met(question, node, passed) for node, passed in tree.path(leaf)],
        "to_other_leaf": _smallest(changes),
        "to_other_label": _smallest(elsewhere),
        "changes": changes,
    }


def _checked_row(row: Any, n_features: int) -> Array:
    """Return one row of floats, finite or missing."""
    values = np.asarray(row)
    if values.dtype not in (np.float32, np.float64):
        values = values.astype(np.float64)
    if values.shape == (1, n_features):
        values = values[0]
    if values.shape != (n_features,):
        raise ValueError(f"row must hold {n_features} values, got shape {np.shape(row)}.")
    if np.any(np.isinf(values)):
        raise ValueError("row must hold finite values; NaN stands for a missing one.")
    return values


def _met(question: _Question, node: int, passed: bool) -> PathTestFacts:
    tree, feature = question.tree, int(question.tree.feature[node])
    test, column = tree.test(node), question.columns[feature]
    x = float(question.row[feature])
    margin = None
    if not isnan(x) and column.kind not in _WITHOUT_MARGIN and test.values is None:
        gap = min(abs(x - test.lower), abs(x - test.upper))
        # An infinite gap is that of a test for missing values, unless finite numbers lie too far apart.
        has_bound = isfinite(test.lower) or isfinite(test.upper)
        margin = min(gap, float_info.max) if has_bound else None
    deviations = None if margin is None else _in_deviations(question, feature, margin)
    return {
        "node": node,
        "feature": feature,
        "name": column.name,
        "test": test.text(column),
        "value": finite(x),
        "text": _value_text(question, feature),
        "passed": passed,
        "margin": margin,
        "margin_sd": deviations,
        "margin_text": None
        if margin is None
        else f"{amount_text(column, margin)}{_deviations(deviations)}",
    }


def _name(column: Column) -> str:
    return f'"{column.name}"' if column.kind == "word" else column.name


def _value_text(question: _Question, feature: int) -> str:
    """Return what a row has in a column."""
    name, said = _name(question.columns[feature]), question.said(feature)
    if feature in question.unseen:
        return f"{name} is {said}, which no training row had; it counts as missing"
    return f"{name} is missing" if isnan(float(question.row[feature])) else f"{name} = {said}"


def _in_deviations(question: _Question, feature: int, amount: float) -> float | None:
    scale = float(question.scales[feature])
    return finite(amount / scale) if scale > 0 else None


def _changes(question: _Question, home: int) -> list[ChangeFacts]:
    """Return the changes of one or two values that reach other leaves, nearest first."""
    changes: list[ChangeFacts] = []
    for leaf, box in enumerate(leaf_boxes(question.tree)):
        outside = [each for each in box if not box[each].holds(float(question.row[each]))]
        if leaf == home or not 1 <= len(outside) <= 2:
            continue
        moves = [_move(question, feature, box[feature]) for feature in outside]
        found = [move for move in moves if move is not None]
        if len(found) < len(moves):
            continue  # no value of the row's type lies in the box
        lengths = [inf if move["change_sd"] is None else move["change_sd"] for move in found]
        label = question.labels[leaf]
        changes.append(
            {
                "leaf": leaf,
                "label": label,
                "other_label": None if label is None else label != question.labels[home],
                "moves": found,
                "distance": finite(hypot(*lengths)),
            }
        )
    return sorted(changes, key=lambda change: (_length(change), len(change["moves"])))


def _length(change: ChangeFacts) -> float:
    return inf if change["distance"] is None else change["distance"]


def _move(question: _Question, feature: int, region: Region) -> MoveFacts | None:
    """Return the smallest change of a value that brings it into a region, but never to missing."""
    column, x = question.columns[feature], question.row[feature]
    if column.kind == "category":
        codes = region.codes(len(column.categories))
        found: _Found | None = (None, float(codes[0]), None) if codes else None
    elif isnan(float(x)):
        found = _first_inside(column, region.intervals, x.dtype)
    else:
        found = _nearest_inside(column, region.intervals, x)
    if found is None:
        return None
    change, to, bound = found
    is_known = change is not None
    return {
        "feature": feature,
        "name": column.name,
        "value": finite(x),
        "to": to,
        "bound": None if bound is None else finite(bound),
        "upwards": to > float(x) if is_known else None,
        "change": None if change is None else change if to > float(x) else -change,
        "change_sd": None if change is None else _in_deviations(question, feature, change),
        "text": _move_text(column, question.said(feature), to, bound),
    }


_Found: TypeAlias = tuple[float | None, float, float | None]  # size of the change, new value, bound


def _nearest_inside(column: Column, intervals: tuple[Interval, ...], x: Any) -> _Found | None:
    """Return the nearest value in some intervals."""
    best: tuple[float, float, float] | None = None
    for low, high in intervals:
        upwards = float(x) <= low
        to = _just_inside(low, high, x.dtype, column, from_below=upwards)
        change = min(abs(to - float(x)), float_info.max)
        if low < to <= high and isfinite(to) and (best is None or change < best[0]):
            best = change, to, low if upwards else high
    return best


def _first_inside(column: Column, intervals: tuple[Interval, ...], dtype: Any) -> _Found | None:
    """Return a value in one of some intervals, for a row without one: where a bound is, at the bound."""
    for low, high in intervals:
        if low == -inf and high == inf:
            return None, 0.0, None
        to = _just_inside(low, high, dtype, column, from_below=high == inf)
        if low < to <= high and isfinite(to):
            return None, to, low if high == inf else high
    return None


def _just_inside(low: float, high: float, dtype: Any, column: Column, *, from_below: bool) -> float:
    """Return the end of ``low < x ≤ high`` that a value meets first, among the values of a column and type."""
    kind = np.dtype(dtype).type
    nearest = low if from_below else high
    if isfinite(nearest) and _is_whole(column, nearest):
        nearest = float(floor(nearest) + from_below)
    with np.errstate(over="ignore"):
        end = kind(nearest)
    if from_below and float(end) <= low:
        end = np.nextafter(end, kind(np.inf))
    elif not from_below and float(end) > high:
        end = np.nextafter(end, kind(-np.inf))
    return float(end)


def _is_whole(column: Column, bound: float) -> bool:
    """Whether the values of a column are whole numbers, at least where a bound is."""
    if column.kind == "word":
        return bound == floor(bound) >= 0
    return column.kind in ("whole", "flag", "boolean", "date", "duration")


def _smallest(changes: list[ChangeFacts]) -> SmallestFacts:
    """Return the first changes of one and of two values of a sorted list."""
    one = next((change for change in changes if len(change["moves"]) == 1), None)
    two = next((change for change in changes if len(change["moves"]) == 2), None)
    return {"one_feature": one, "two_features": two}


def row_text(explanation: RowExplanation) -> str:
    """Return the explanation of a row as plain text.

    Parameters
    ----------
    explanation : dict
        From `explain_row`.

    Returns
    -------
    text : str

    Examples
    --------
    >>> from spexplain import BestTree
    >>> X = [[20, 1], [25, 1], [31, 2], [52, 7], [58, 9], [60, 8]]
    >>> explainer = BestTree(feature_names=["age", "orders"]).fit(X, ["new"] * 3 + ["VIP"] * 3)
    >>> from spexplain.facts.counterfactual import row_text
    >>> print(row_text(explainer.explain([31, 2])))
    Leaf 0 (new): age ≤ 40
      yes  age ≤ 40   age = 31, margin 9 (0.56 SD)
    Smallest changes
      to leaf 1 (VIP): age from 31 to more than 40 (0.56 SD)
    """
    home = _leaf_name(explanation["leaf"], explanation["label"])
    lines = [f"L{home[1:]}: {one_line(explanation['rule'])}"]
    tests = [one_line(step["test"]) for step in explanation["path"]]
    width = max(map(len, tests), default=0)
    for step, test in zip(explanation["path"], tests, strict=True):
        answer = "yes" if step["passed"] else "no "
        margin = "" if step["margin_text"] is None else f", margin {step['margin_text']}"
        lines.append(f"  {answer}  {test:<{width}}   {one_line(step['text'])}{margin}")
    if explanation["changes"]:
        lines.append("Smallest changes")
    for change in explanation["changes"]:
        moves = one_line(" and ".join(move["text"] for move in change["moves"]))
        target = _leaf_name(change["leaf"], change["label"])
        lines.append(f"  to {target}: {moves}{_deviations(change['distance'])}")
    return "\n".join(lines)


def _leaf_name(leaf: int, label: Label | None) -> str:
    return f"leaf {leaf}" if label is None else f"leaf {leaf} ({one_line(str(label))})"


def _deviations(amount: float | None) -> str:
    return "" if amount is None or not isfinite(amount) else f" ({amount:.2g} SD)"


def _move_text(column: Column, said: str, to: float, bound: float | None) -> str:
    """Return a change in words."""
    start = f"{_name(column)} from {said} to "
    if bound is None:
        return start + (column.say(to) if column.kind == "category" else "any value")
    if column.kind == "date" and to == bound:
        return f"{start}before {column.say(bound + 1)}"
    if to > bound and not _is_whole(column, bound):
        return f"{start}more than {column.say(bound)}"
    return start + column.say(to)
