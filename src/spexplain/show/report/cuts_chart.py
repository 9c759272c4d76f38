"""The scatter of the cuts: a sample of rows in two features, and where the tree parts that plane."""

from collections.abc import Iterable
from math import inf
from typing import NamedTuple

from spexplain.facts.schema import Points
from spexplain.show.report.phrases import clipped, condition_text
from spexplain.show.report.scales import Scale, Tick
from spexplain.show.report.source import Source, color_class
from spexplain.tree.boxes import EVERYWHERE, Interval

WIDTH, HEIGHT = 560, 420
LEFT, RIGHT, TOP, BOTTOM = 58, 546, 12, 372
_LONGEST_TITLE = 44


class Dots(NamedTuple):
    """The points of one leaf and cluster, as the data of one SVG path."""

    leaf: int
    color: str
    path: str


class Segment(NamedTuple):
    """A test, drawn inside the box of its node."""

    node: int
    x1: float
    y1: float
    x2: float
    y2: float
    text: str


class Region(NamedTuple):
    """The box of a leaf."""

    leaf: int
    color: str
    x: float
    y: float
    width: float
    height: float


class CutsChart(NamedTuple):
    """Everything that is drawn."""

    names: list[str]
    titles: list[str]
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    regions: list[Region]
    dots: list[Dots]
    segments: list[Segment]
    n_points: int
    n_hidden_tests: int


def cuts_chart(source: Source) -> CutsChart | None:
    """Return the scatter, or None if no rows are known."""
    points = source.summary["points"]
    if points is None or not points["x"]:
        return None
    plane = points["features"]
    ys = points["y"] or _heights(len(points["x"]))
    x = Scale.around([*points["x"], *_thresholds(source, plane[0])], LEFT, RIGHT)
    own = _thresholds(source, plane[1]) if len(plane) > 1 else []
    y = Scale.around([*ys, *own], BOTTOM, TOP)
    names = [source.names[feature] for feature in plane]
    if len(plane) == 1:
        names.append("no second feature: heights tell nothing")
    tests = [each for each in source.summary["nodes"] if each["feature"] is not None]
    return CutsChart(
        names,
        [clipped(name, _LONGEST_TITLE) for name in names],
        x.ticks(),
        y.ticks() if len(plane) > 1 else [],
        _regions(source, plane, x, y),
        _dots(points, ys, x, y, has_reference=source.has_reference),
        list(_segments(source, plane, x, y)),
        len(points["x"]),
        sum(each["feature"] not in plane for each in tests),
    )


def _heights(n_points: int) -> list[float]:
    """Return scattered heights for a single feature, the same in every run."""
    return [(0.618034 * place) % 1.0 for place in range(n_points)]


def _thresholds(source: Source, feature: int) -> list[float]:
    found = [each for each in source.summary["nodes"] if each["feature"] == feature]
    values = [end for each in found for end in (each["lower"], each["threshold"])]
    return [value for value in values if value is not None]


def _dots(
    points: Points, ys: list[float], x: Scale, y: Scale, *, has_reference: bool
) -> list[Dots]:
    groups: dict[tuple[int, int | None], list[str]] = {}
    for at, leaf in enumerate(points["leaf"]):
        code = points["code"][at] if has_reference else leaf
        groups.setdefault((leaf, code), []).append(f"M{x(points['x'][at])} {y(ys[at])}h0")
    return [
        Dots(leaf, color_class(code), "".join(places)) for (leaf, code), places in groups.items()
    ]


def _segments(source: Source, plane: list[int], x: Scale, y: Scale) -> Iterable[Segment]:
    for node in source.summary["nodes"]:
        feature = node["feature"]
        if feature is None or feature not in plane:
            continue
        box = source.boxes[node["node"]]
        own = box.get(feature, EVERYWHERE)
        others = [each for each in plane if each != feature]
        along = box.get(others[0], EVERYWHERE) if others else EVERYWHERE
        text = condition_text(source.test(node))
        for value in (node["lower"], node["threshold"]):
            if value is None or not any(low < value < high for low, high in own):
                continue
            for piece in along:
                if feature == plane[0]:
                    low, high = _held(piece, y)
                    yield Segment(node["node"], x(value), low, x(value), high, text)
                else:
                    low, high = _held(piece, x)
                    yield Segment(node["node"], low, y(value), high, y(value), text)


def _held(interval: Interval, scale: Scale) -> tuple[float, float]:
    """Return the ends of an interval within the drawing."""
    low, high = interval
    return (
        scale.start if low == -inf else scale(low),
        scale.end if high == inf else scale(high),
    )


def _regions(source: Source, plane: list[int], x: Scale, y: Scale) -> list[Region]:
    """Return the boxes of the leaves, if the plane shows all tests: otherwise boxes would overlap."""
    leaves = source.summary["leaves"]
    used = {each["feature"] for leaf in leaves for each in leaf["conditions"]}
    if not used or not used <= set(plane):
        return []
    regions = []
    for leaf in leaves:
        box = source.boxes[leaf["node"]]
        rows = box.get(plane[1], EVERYWHERE) if len(plane) > 1 else EVERYWHERE
        for across in box.get(plane[0], EVERYWHERE):
            for up in rows:
                (left, right), (bottom, top) = _held(across, x), _held(up, y)
                size = round(right - left, 1), round(bottom - top, 1)
                color = source.leaf_color(leaf)
                regions.append(Region(leaf["leaf"], color, left, top, *size))
    return regions
