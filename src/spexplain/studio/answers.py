"""What the page shows of an explanation, as plain JSON: every text and figure is the library's own."""

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from spexplain.aliases import Array, Floats, Ints
from spexplain.facts.path import right_rows
from spexplain.facts.segments import Clusters, fit_of, rule_of
from spexplain.metrics.agreement import RandIndex, whole_counts
from spexplain.show.axes import Axis
from spexplain.tree import LEAF, Column, Test, python_value
from spexplain.tree.boxes import node_boxes
from spexplain.tree.joins import Joins
from spexplain.tree.words import rule_text

if TYPE_CHECKING:
    from spexplain.explanation.editing import Sweep
    from spexplain.explanation.explanation import Explanation

N_BINS, N_POINTS = 60, 512  # of a histogram, and of a curve
_SKEWED = (
    20.0  # largest value over the median, from which on a positive column is drawn by logarithms
)


def json_value(value: Any) -> Any:
    """Return a value as JSON has it: NumPy's numbers as Python's, what is not finite as null."""
    if isinstance(value, dict):
        return {str(key): json_value(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(each) for each in value]
    if isinstance(value, np.ndarray):
        listed = value.tolist()
        is_plain = value.dtype.kind in "iub" or (
            value.dtype.kind == "f" and bool(np.isfinite(value).all())
        )
        return listed if is_plain else [json_value(each) for each in listed]
    value = python_value(value)
    if isinstance(value, float):
        return value if isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


# --- The tree as a whole --------------------------------------------------------------------------


def figures(explanation: "Explanation") -> dict[str, Any]:
    """Return how good a tree is."""
    tree, counts = explanation.tree, explanation.leaf_counts
    total = counts.sum()
    found: dict[str, Any] = {
        "rows_right": explanation.rows_right,
        "n_rows": int(explanation.node_sizes[0]),
        "clustered": total.item(),
        "fidelity": None,
        "balanced": None,
        "agreement": None,
        "n_leaves": tree.n_leaves,
        "depth": tree.depth,
        "lost": [str(each) for each in explanation.unexplained],
        "bound": None,
    }
    if total > 0:
        right = right_rows(counts, explanation.node_codes, tree.leaves).sum()
        whole = whole_counts(counts)
        found |= {
            "fidelity": right / total,
            "balanced": explanation.balanced,
            "agreement": float(RandIndex.of_sizes(whole.sum(axis=0)).of_table(whole)),
        }
    goal = explanation.goal
    if goal is not None and goal.says_something:
        found["bound"] = {"goal": goal.name, "value": goal.bound, "text": goal.text(tree.n_leaves)}
    return json_value(found)  # type: ignore[no-any-return]


def segments(explanation: "Explanation", colors: Sequence[str]) -> list[dict[str, Any]]:
    """Return one record per cluster: its rule, and how well it fits."""
    clusters = Clusters.of(explanation)
    joins = Joins(clusters.tree, explanation.fields)
    return [
        json_value(
            {
                "code": code,
                "name": clusters.names[code],
                "label": clusters.labels[code],
                "color": color,
                "rule": rule_of(fit.leaves, joins.of(fit.leaves), explanation.fields),
                "rows": fit.size,
                "share": fit.share,
                "predicted": fit.selected,
                "precision": fit.precision,
                "recall": fit.recall,
                "f1": fit.f1,
                "leaves": fit.leaves,
            }
        )
        for code, color in zip(range(len(clusters.labels)), colors, strict=False)
        for fit in [fit_of(clusters, code)]
    ]


def segment_fits(explanation: "Explanation") -> list[dict[str, Any]]:
    """Return how well the rule of each cluster fits, without its words."""
    clusters = Clusters.of(explanation)
    return [
        json_value(
            {
                "code": code,
                "predicted": fit.selected,
                "precision": fit.precision,
                "recall": fit.recall,
            }
        )
        for code in range(len(clusters.labels))
        for fit in [fit_of(clusters, code)]
    ]


def nodes(explanation: "Explanation") -> list[dict[str, Any]]:
    """Return one record per node."""
    tree, records = explanation.tree, explanation.nodes()
    codes = explanation.node_codes
    found = []
    for node, record in enumerate(records):
        is_leaf = tree.feature[node] == LEAF
        counts = explanation.node_counts[node]
        total = explanation.node_totals[node].item()
        code = None if codes is None else int(codes[node])
        hits = None if code is None or code < 0 else counts[code].item()
        parent = int(tree.parents[node]) if node else None
        found.append(
            {
                "node": node,
                "parent": parent,
                "depth": record["depth"],
                "leaf": explanation.leaf_ids.get(node),
                "segment": code,
                "text": record["text"],
                "yes": None if is_leaf else int(tree.left[node]),
                "no": None if is_leaf else int(tree.right[node]),
                "rows": int(record["rows"]),
                "counts": counts,
                "purity": None if hits is None or not total else min(1.0, hits / total),
                "locked": record["locked"],
                "column": None if is_leaf else explanation.names[int(tree.feature[node])],
                "test": None if is_leaf else test_record(tree.test(node)),
                "forbidden": sorted(
                    explanation.names[each]
                    for each in explanation.forbidden.get(node, frozenset[int]())
                ),
            }
        )
    return json_value(found)  # type: ignore[no-any-return]


def test_record(test: Test) -> dict[str, Any]:
    """Return the numbers of a test."""
    return {
        "lower": test.lower,
        "threshold": test.upper,
        "values": None if test.values is None else list(test.values),
        "missing": test.missing,
    }


def path_text(explanation: "Explanation", node: int) -> str:
    """Return the rule that leads to a node."""
    return rule_text(node_boxes(explanation.tree)[node], explanation.fields)


# --- One column -----------------------------------------------------------------------------------


def histogram(column: Column, x: Floats, codes: Ints, k: int) -> dict[str, Any]:
    """Return how many rows of each cluster lie where; the last row of counts is noise."""
    lacks = np.isnan(x)
    missing = np.bincount(codes[lacks], minlength=k + 1)
    known, of = x[~lacks], codes[~lacks]
    found: dict[str, Any] = {"missing": missing, "n_rows": len(x)}
    if column.kind in ("category", "boolean", "flag"):
        n_values = len(column.categories) if column.kind == "category" else 2
        values = np.clip(known, 0, n_values - 1).astype(np.int64)
        counts = np.bincount(values * (k + 1) + of, minlength=n_values * (k + 1))
        counts = counts.reshape(n_values, k + 1)
        order = np.argsort(-counts.sum(axis=1), kind="stable")
        order = order[counts[order].sum(axis=1) > 0]
        found["categories"] = [
            {"code": int(code), "text": column.say(code), "counts": counts[code]} for code in order
        ]
        return found
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    is_log = bool(
        column.kind in ("number", "whole")
        and low > 0
        and high > _SKEWED * float(np.median(known[:100_000]))
    )
    is_whole = column.kind in ("whole", "word") and high - low < N_BINS
    if is_whole:
        edges = np.arange(low - 0.5, high + 1.0)
    elif is_log:
        edges = np.geomspace(low, high, N_BINS + 1)
    else:
        edges = np.linspace(low, high, N_BINS + 1) if high > low else np.array([low, low])
    n_bins = max(1, len(edges) - 1)
    start, width = (np.log(low), np.log(high)) if is_log else (float(edges[0]), float(edges[-1]))
    width = (width - start) / n_bins or 1.0
    scaled = np.log(known) if is_log else known
    place = np.clip((scaled - start) * (1 / width), 0, n_bins - 1).astype(np.int64)
    counts = np.bincount(place * (k + 1) + of, minlength=n_bins * (k + 1))
    axis = Axis.of(column, low, high, has_missing=False)
    return found | {
        "low": low,
        "high": high,
        "log": is_log,
        "edges": edges,
        "counts": counts.reshape(n_bins, k + 1).T,
        "ticks": [{"at": tick.at, "text": tick.text} for tick in axis.ticks()],
    }


def curve(column: Column, swept: "Sweep", is_log: bool) -> dict[str, Any]:
    """Return a sweep thinned for drawing: of every stretch of the axis the threshold of most rows right."""
    chosen = thinned(swept.thresholds, swept.rows_right, is_log)
    best = int(np.argmax(swept.rows_right)) if len(swept.rows_right) else None
    found = {
        "thresholds": swept.thresholds[chosen],
        "rows_left": swept.rows_left[chosen],
        "rows_right": swept.rows_right[chosen],
        "rows_changed": swept.rows_changed[chosen],
        "smallest_leaf": swept.smallest_leaf[chosen],
        "n_thresholds": len(swept.thresholds),
        "best": None,
    }
    if best is not None:
        at = column.between(float(swept.thresholds[best]), float(swept.next_values[best]))
        found["best"] = {
            "threshold": at,
            "text": column.say(at),
            "rows_right": swept.rows_right[best],
            "rows_changed": swept.rows_changed[best],
        }
    return found


def thinned(thresholds: Floats, right: Floats, is_log: bool, n_most: int = N_POINTS) -> Ints:
    """Return at most so many places, in order, that keep the shape and the best of a curve."""
    if len(thresholds) <= n_most:
        return np.arange(len(thresholds))
    x = np.log(thresholds) if is_log and thresholds[0] > 0 else thresholds
    with np.errstate(over="ignore", invalid="ignore"):
        share = (x - x[0]) / (x[-1] - x[0])
    cell = np.nan_to_num(share * (n_most - 1)).astype(np.int64)
    first = np.flatnonzero(np.diff(cell, prepend=-1))
    # The largest value of every stretch; sorting by it within the stretches would cost more.
    top = np.maximum.reduceat(right, first)
    is_top = right == np.repeat(top, np.diff(np.append(first, len(cell))))
    places = np.flatnonzero(is_top)
    return places[np.flatnonzero(np.diff(cell[places], prepend=-1))]


# --- Rows -----------------------------------------------------------------------------------------


def row_cells(columns: Sequence[Column], values: Array) -> list[list[str]]:
    """Return the cells of some rows in words."""
    return [
        [column.say(float(x)) for column, x in zip(columns, row, strict=True)]
        for row in np.asarray(values, dtype=np.float64)
    ]
