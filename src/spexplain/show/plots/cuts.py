"""The cuts of a tree in the plane of two columns, each drawn only where it applies."""

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from spexplain.aliases import Array, Floats, Ints
from spexplain.facts.rows import plane_of
from spexplain.facts.text import known_columns
from spexplain.show.axes import Axis, thinned
from spexplain.show.palette import colors
from spexplain.show.plots.style import axes_or_new, label_text
from spexplain.table.reference import NOISE
from spexplain.tree import EVERYWHERE, LEAF, Column, Interval, Tree
from spexplain.tree.boxes import node_boxes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKERS = "osD^vP*X"
_N_POINTS = 5000
_N_KEYS = 21
_N_TICKS = 12
_LONGEST_TICK = 14
_WRONG = "#c1121f"  # rings of rows that are in a leaf of another cluster


class CutSegment(NamedTuple):
    """A piece of a cut: a line at `at` across one axis, from `start` to `stop` along the other."""

    axis: Literal["x", "y"]
    at: float
    start: float
    stop: float
    is_whole: bool  # whether it holds for all rows there, whatever their other features


def segments(
    tree: Tree, features: Sequence[int], axes: Sequence[Axis] | None = None
) -> list[CutSegment]:
    """Return the cuts on one or two features, each as the pieces that lie in its node's box.

    Examples
    --------
    >>> from spexplain.show.plots.cuts import segments
    >>> from spexplain.tree import Tree
    >>> tree = Tree.root(n_features=2, size=0).split(0, feature=0, threshold=4.0)
    >>> for each in segments(tree.split(2, feature=1, threshold=7.0), [0, 1]):
    ...     print(each.axis, each.at, each.start, each.stop)
    x 4.0 -inf inf
    y 7.0 4.0 inf
    """
    boxes = node_boxes(tree)
    if axes is None:
        axes = [Axis(Column(""), -inf, inf, 0.0)] * len(features)
    found = []
    for node, test in tree.tests.items():
        if test.feature not in features:
            continue
        is_first = test.feature == features[0]
        own, across = (axes[0], axes[-1]) if is_first else (axes[-1], axes[0])
        other = features[-1] if is_first else features[0]
        pieces: list[Interval] = [(-inf, inf)]
        if len(features) > 1:
            pieces = across.pieces(boxes[node].get(other, EVERYWHERE))
        is_whole = set(boxes[node]) <= set(features)
        axis: Literal["x", "y"] = "x" if is_first else "y"
        found += [
            CutSegment(axis, at, low, high, is_whole)
            for at in own.cuts(boxes[node].get(test.feature, EVERYWHERE), test)
            for low, high in pieces
        ]
    return found


def plot_cuts(
    X: Any,
    tree: Tree,
    labels: Any = None,
    ax: "Axes | None" = None,
    *,
    features: Sequence[int] | None = None,
    names: Sequence[Column | str] | None = None,
    max_points: int = _N_POINTS,
) -> "Axes":
    """Draw rows and the cuts of a tree in the plane of two columns.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
        The rows.
    tree : Tree
        The tree.
    labels : array of shape (n_rows,), optional
        What points are coloured by, for example the reference; by default their leaves. -1 among
        integers is noise.
    ax : Axes, optional
        Where to draw; a new figure by default.
    features : list of one or two int, optional
        Columns to draw; by default the two that most tests use.
    names : list of str or Column, optional
        Names of all columns, or what they are; numbers called x0, x1, ... by default.
    max_points : int, default=5000
        Of more rows a random sample is drawn.

    Returns
    -------
    ax : Axes
        A cut is drawn only inside the box of its node, the regions of leaves have the colour of the label that
        most of their rows have, and rows of other labels are ringed. Dashed lines hold only for rows that tests of
        other columns brought there. Categories stand side by side, their points spread; missing
        values lie in a separate strip.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain import SpexClique
    >>> from spexplain.show.plots import plot_cuts
    >>> X = np.array([[0.0], [1.0], [8.0], [9.0]])
    >>> ax = plot_cuts(X, SpexClique().fit(X, [0, 0, 1, 1]).tree_, names=["age"])
    >>> ax.get_xlabel(), ax.lines[0].get_xdata()
    ('age', array([4., 4.]))
    """
    table = np.asarray(X)
    known = known_columns(tree.n_features, names)
    if table.ndim != 2 or table.shape[1] != tree.n_features:
        raise ValueError(f"X must have {tree.n_features} columns, got shape {table.shape}.")
    plane = plane_of(tree) if features is None else [int(feature) for feature in features]
    if not 1 <= len(plane) <= 2 or not all(0 <= each < tree.n_features for each in plane):
        raise ValueError(f"features={features!r} must hold one or two columns of X.")
    given = tree.apply(table) if labels is None else np.asarray(labels)
    if given.shape != (len(table),):
        raise ValueError(f"labels must hold one label per row of X, got shape {given.shape}.")
    rows = np.arange(len(table))
    if len(rows) > max_points:
        rows = np.sort(np.random.default_rng(0).choice(rows, max_points, replace=False))
    ax = axes_or_new(ax, (6.4, 4.8), layout="constrained")
    axes = [_axis(table[rows, each], tree, each, known[each]) for each in plane]
    points = _coordinates(table, plane, rows, axes)
    drawn = segments(tree, plane, axes)
    clusters = _clusters(given)
    _draw_points(ax, points, given[rows], clusters, "leaf " if labels is None else "")
    ax.set_xlim(axes[0].start, axes[0].high)
    ax.set_ylim(*((axes[1].start, axes[1].high) if len(plane) > 1 else (-0.05, 1.05)))
    leaf = np.asarray(tree.apply(table))
    stands_for = _standing(leaf, given, clusters, tree.n_leaves)
    _fill_regions(ax, tree, plane, axes, stands_for, len(clusters))
    code = (
        np.searchsorted(clusters, given[rows]) if len(clusters) else np.zeros(len(rows), np.int64)
    )
    is_noise = ~np.isin(given[rows], clusters)
    wrong = (stands_for[leaf[rows]] != code) & ~is_noise
    ring: dict[str, Any] = {"facecolors": "none", "edgecolors": _WRONG, "linewidths": 0.9}
    ring["s"] = 2.6 * _point_size(len(rows))
    ax.scatter(*points[:, wrong], zorder=2.5, **ring)
    _draw_segments(ax, drawn)
    _label_axes(ax, tree, plane, axes)
    return ax


def _axis(values: Array, tree: Tree, feature: int, column: Column) -> Axis:
    """Return an axis that shows all values and all cuts, with a little room around."""
    known = values[~np.isnan(values)].astype(np.float64).tolist()
    own = tree.feature == feature
    ends = [*known, *tree.threshold[own].tolist(), *tree.lower[own].tolist()]
    ends = [end for end in ends if np.isfinite(end)] or [0.0]
    low, high = min(ends), max(ends)
    room = 0.05 * (high - low) or 0.5
    return Axis.of(column, low - room, high + room, has_missing=len(known) < len(values))


def _coordinates(X: Array, plane: Sequence[int], rows: Ints, axes: Sequence[Axis]) -> Floats:
    """Return the points to draw; along a missing second feature they are only spread."""
    x = axes[0].places(X[rows, plane[0]].astype(np.float64))
    if len(plane) > 1:
        return np.array([x, axes[1].places(X[rows, plane[1]].astype(np.float64), "y")])
    return np.array([x, (rows + 1) * 0.6180339887498949 % 1.0])  # even, and the same every time


def _clusters(labels: Array) -> Array:
    """Return what points are coloured by, without noise."""
    classes = np.unique(labels)
    is_noise = classes.dtype.kind == "i" and len(classes) > 0 and classes[0] == NOISE
    return classes[1:] if is_noise else classes


def _standing(leaf: Ints, labels: Array, clusters: Array, n_leaves: int) -> Ints:
    """Return the cluster that most rows of every leaf belong to, by its place; -1 where there are none."""
    counts = np.zeros((n_leaves, len(clusters)), dtype=np.int64)
    belongs = np.isin(labels, clusters)
    np.add.at(counts, (leaf[belongs], np.searchsorted(clusters, labels[belongs])), 1)
    if not len(clusters):
        return np.full(n_leaves, -1)
    return np.where(counts.any(axis=1), counts.argmax(axis=1), -1)


def _fill_regions(
    ax: "Axes",
    tree: Tree,
    plane: Sequence[int],
    axes: Sequence[Axis],
    stands_for: Ints,
    n_clusters: int,
) -> None:
    """Fill the regions of the leaves that no other feature bounds, in the colours of what they stand for."""
    from matplotlib.patches import Rectangle

    palette, boxes = colors(n_clusters), node_boxes(tree)
    limits = [ax.get_xlim(), ax.get_ylim()]
    for node, code in zip(tree.leaves.tolist(), stands_for.tolist(), strict=True):
        if code < 0 or not set(boxes[node]) <= set(plane):
            continue
        pieces = [
            axis.pieces(boxes[node].get(feature, EVERYWHERE))
            for axis, feature in zip(axes, plane, strict=True)
        ]
        for low, high in pieces[0]:
            for bottom, top in pieces[1] if len(plane) > 1 else [(-inf, inf)]:
                (left, right), (down, up) = (
                    (max(start, least), min(stop, most))
                    for (start, stop), (least, most) in zip(
                        ((low, high), (bottom, top)), limits, strict=True
                    )
                )
                style: dict[str, Any] = {"color": palette[code], "alpha": 0.13, "linewidth": 0}
                ax.add_patch(Rectangle((left, down), right - left, up - down, zorder=0, **style))


def _point_size(n_points: int) -> float:
    return float(np.clip(6000 / max(n_points, 1), 4, 28))


def _draw_points(ax: "Axes", points: Floats, labels: Array, clusters: Array, prefix: str) -> None:
    palette = colors(len(clusters))
    is_noise = not np.isin(labels, clusters).all()
    size = _point_size(len(labels))
    style: dict[str, Any] = {"s": size, "alpha": 0.8, "linewidths": 0, "zorder": 2}
    for code, label in enumerate(clusters):
        own = labels == label
        text = f"{prefix}{label_text(label, 20)}" if code < _N_KEYS else None
        if code == _N_KEYS:
            text = f"and {len(clusters) - _N_KEYS} more"
        # Markers change with every turn of the seven base colours.
        marker = _MARKERS[code // 7 % len(_MARKERS)]
        ax.scatter(*points[:, own], color=palette[code], marker=marker, label=text, **style)
    if is_noise:
        own = labels == NOISE
        ax.scatter(
            *points[:, own],
            color=palette[-1],
            marker="x",
            label="noise",
            **style | {"linewidths": 0.8},
        )
    if len(clusters) > 1 or is_noise:
        place: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
        ax.legend(**place, fontsize=8, frameon=False, markerscale=max(1.0, 4.5 / size**0.5))


def _draw_segments(ax: "Axes", drawn: list[CutSegment]) -> None:
    limits = {"x": ax.get_xlim(), "y": ax.get_ylim()}
    for each in drawn:
        low, high = limits["y" if each.axis == "x" else "x"]
        ends = [max(each.start, low), min(each.stop, high)]
        if ends[0] >= ends[1]:
            continue
        at = [each.at, each.at]
        line = (at, ends) if each.axis == "x" else (ends, at)
        ax.plot(*line, color="black", lw=1.2, ls="-" if each.is_whole else "--", zorder=3)


def _label_axes(ax: "Axes", tree: Tree, plane: Sequence[int], axes: Sequence[Axis]) -> None:
    ax.set_xlabel(label_text(axes[0].column.name, 60))
    _mark(ax.xaxis, axes[0])
    if len(plane) > 1:
        ax.set_ylabel(label_text(axes[1].column.name, 60))
        _mark(ax.yaxis, axes[1])
    else:
        ax.set_yticks([])
    inner = tree.feature != LEAF
    elsewhere = int(np.count_nonzero(inner & ~np.isin(tree.feature, plane)))
    if elsewhere:
        total = int(np.count_nonzero(inner))
        tests = f"{elsewhere} of {total} tests" if total > 1 else "the only test"
        ax.set_title(f"{tests} on other columns not shown", fontsize=9)


def _mark(drawn: Any, axis: Axis) -> None:
    """Write values in words where they are no plain numbers."""
    if axis.column.kind == "number" and not axis.strip:
        return
    ticks = thinned(axis.ticks(), _N_TICKS)
    texts = [label_text(tick.text, _LONGEST_TICK) for tick in ticks]
    is_long = sum(map(len, texts)) > 50
    turned: dict[str, Any] = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"}
    style = turned if is_long and drawn.axis_name == "x" else {}
    drawn.set_ticks([tick.at for tick in ticks], texts, fontsize=8, **style)
