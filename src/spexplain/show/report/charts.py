"""The charts of the report: what every further leaf buys, and where the tree parts a plane of two features."""

from collections.abc import Iterable
from math import ceil, floor, inf, isfinite, log10
from typing import Literal, NamedTuple, Self, TypeAlias

from spexplain.facts.schema import PointsFacts, StepFacts
from spexplain.show.report.phrases import clipped, condition_text, figure, share
from spexplain.show.report.sections import ReportFacts, color_class
from spexplain.tree import EVERYWHERE, Interval

_N_TICKS = 5
_STEEP = 5.0  # ratios beyond are drawn on a logarithmic scale, where that is asked for
_PADDING = 0.04
_N_LABELLED = 12
_LONGEST_TITLE = 44


class ChartFrame(NamedTuple):
    """Size of a drawing, and the edges of the chart in it."""

    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int


PATH = ChartFrame(560, 210, 58, 546, 14, 168)
CUTS = ChartFrame(560, 420, 58, 546, 12, 372)


class Tick(NamedTuple):
    """A mark on an axis."""

    at: float
    text: str


class Scale(NamedTuple):
    """A map from [low, high] to [start, end]."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    @classmethod
    def around(cls, values: Iterable[float], start: float, end: float) -> Self:
        """Return a scale with a little room around the values."""
        known = list(values) or [0.0, 1.0]
        low, high = min(known), max(known)
        room = _PADDING * (high / 2 - low / 2) * 2
        if not room or not isfinite(room):
            room = 0.0 if room else 0.5 * (abs(low) or 1.0)
        low, high = max(low - room, -1.7e308), min(high + room, 1.7e308)
        return cls(low, high, start, end)

    @classmethod
    def steep(cls, values: Iterable[float], start: float, end: float) -> Self:
        """Return a scale for ratios, logarithmic if they differ much."""
        known = list(values) or [1.0]
        low, high = min(known), max(known)
        if low > 0 and high / low > _STEEP:
            return cls(low / 1.1, high * 1.1, start, end, is_log=True)
        return cls.around(known, start, end)

    def __call__(self, x: float) -> float:
        """Return the place of a value, held within the drawing."""
        if self.is_log:
            part = (log10(x) - log10(self.low)) / (log10(self.high) - log10(self.low))
        else:
            part = (x / 2 - self.low / 2) / (self.high / 2 - self.low / 2)
        return round(self.start + min(1.0, max(0.0, part)) * (self.end - self.start), 1)

    def ticks(self) -> list[Tick]:
        """Return a few round numbers with their places.

        Examples
        --------
        >>> from spexplain.show.report.charts import Scale
        >>> [tick.text for tick in Scale(0.0, 1.0, 0, 100).ticks()]
        ['0', '0.2', '0.4', '0.6', '0.8', '1']
        """
        marks = _decades(self.low, self.high) if self.is_log else _steps(self.low, self.high)
        return [Tick(self(x), _short(x)) for x in marks]


def _steps(low: float, high: float) -> list[float]:
    rough = (high / 2 - low / 2) / _N_TICKS * 2
    if not isfinite(rough) or rough < 1e-300:
        return [low, high]
    power = 10.0 ** floor(log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= 0.9999 * rough)
    first = ceil(low / step - 1e-9)
    last = floor(high / step + 1e-9)
    # Beyond 2**53 neighbouring multiples are one number: no round steps are left.
    if not -(2**53) < first <= last < 2**53:
        return [low, high]
    return [step * place for place in range(first, last + 1)]


def _decades(low: float, high: float) -> list[float]:
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    factors = (1, 2, 5) if len(powers) <= 3 else (1,)
    marks = [factor * 10.0**power for power in powers for factor in factors]
    marks = [x for x in marks if low <= x <= high]
    return marks[:: max(1, ceil(len(marks) / (2 * _N_TICKS)))]


def _short(x: float) -> str:
    """Return a number that fits beside an axis.

    Examples
    --------
    >>> from spexplain.show.report.charts import _short
    >>> _short(0.25), _short(150000.0), _short(-2.5e6), _short(1e12)
    ('0.25', '150k', '-2.5M', '1e+12')
    """
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if 10 * unit <= abs(x) * (10 if unit == 1e6 else 1) < 1e4 * unit:
            return f"{x / unit:.6g}{letter}"
    return f"{x:.6g}" if abs(x) > 1e-300 else "0"


class ChartLine(NamedTuple):
    """A series: places of its points, None where it is undefined."""

    name: str
    style: str
    path: str
    dots: list[tuple[float, float]]


class Panel(NamedTuple):
    """A small chart over the number of leaves."""

    title: str
    lines: list[ChartLine]
    y_ticks: list[Tick]
    this: tuple[float, float] | None  # the tree of the report, where it is not on the path
    text: str


class PathRow(NamedTuple):
    """A row of the table beside the chart."""

    n_leaves: int
    fidelity: str
    agreement: str
    price: str
    objective: str
    depth: int


class PathChart(NamedTuple):
    """The path as charts and as a table."""

    panels: list[Panel]
    x_ticks: list[Tick]
    x_first: float
    x_step: float
    rows: list[PathRow]
    is_own: bool  # whether the tree of the report grew like this


def path_chart(source: ReportFacts) -> PathChart | None:
    """Return the charts, or None for a path of one tree."""
    path = source.summary["path"] or source.summary["trees"]
    if len(path) < 2:
        return None
    low, high = path[0]["n_leaves"], path[-1]["n_leaves"]
    x = Scale(low - 0.3, high + 0.3, PATH.left, PATH.right)
    every = -(-len(path) // _N_LABELLED)
    ticks = [Tick(x(step["n_leaves"]), str(step["n_leaves"])) for step in path[::every]]
    final = source.summary["trees"][-1]
    is_own = not source.summary["refined"]
    panels = [_path_panel(kind, path, x, None if is_own else final) for kind in _path_kinds(source)]
    step = (PATH.right - PATH.left) / (x.high - x.low)
    return PathChart(
        [panel for panel in panels if panel is not None],
        ticks,
        round(x(low) - step * (low - 1), 3),
        round(step, 3),
        [_path_row(each) for each in path],
        is_own,
    )


Key: TypeAlias = Literal["fidelity", "agreement", "price", "objective"]


class _Series(NamedTuple):
    key: Key
    name: str
    style: str


class _PanelKind(NamedTuple):
    title: str
    series: list[_Series]
    is_share: bool = False


def _path_kinds(source: ReportFacts) -> list[_PanelKind]:
    if not source.has_reference:
        return [_PanelKind("Objective", [_Series("objective", "objective", "line-a")])]
    shares = [
        _Series("fidelity", "fidelity", "line-a"),
        _Series("agreement", "agreement (ARI)", "line-b"),
    ]
    price = _Series("price", "price", "line-a")
    return [
        _PanelKind("Fidelity and agreement", shares, is_share=True),
        _PanelKind("Price", [price]),
    ]


def _path_panel(
    kind: _PanelKind, path: list[StepFacts], x: Scale, final: StepFacts | None
) -> Panel | None:
    steps = path if final is None else [*path, final]
    found = [step[each.key] for step in steps for each in kind.series]
    values = [value for value in found if value is not None]
    if not values:
        return None
    lowest = min(0.0, *values)
    shares = Scale(lowest, 1.0, PATH.bottom, PATH.top)
    y = shares if kind.is_share else Scale.steep(values, PATH.bottom, PATH.top)
    lines = [_path_line(each, path, x, y) for each in kind.series]
    own = None if final is None else final[kind.series[0].key]
    this = None if final is None or own is None else (x(final["n_leaves"]), y(own))
    return Panel(kind.title, lines, y.ticks(), this, _path_text(kind, path))


def _path_line(series: _Series, path: list[StepFacts], x: Scale, y: Scale) -> ChartLine:
    drawn, dots, pen = "", [], "M"
    for step in path:
        value = step[series.key]
        if value is None:
            pen = "M"
            continue
        place = x(step["n_leaves"]), y(value)
        drawn += f"{pen}{place[0]} {place[1]}"
        dots.append(place)
        pen = "L"
    return ChartLine(series.name, series.style, drawn, dots)


def _path_text(kind: _PanelKind, path: list[StepFacts]) -> str:
    key, name, _ = kind.series[0]
    show = share if kind.is_share else figure
    first, last = path[0], path[-1]
    ends = (
        f"{show(first[key])} with {first['n_leaves']} to {show(last[key])} with {last['n_leaves']}"
    )
    return f"{name} from {ends} leaves."


def _path_row(step: StepFacts) -> PathRow:
    return PathRow(
        step["n_leaves"],
        share(step["fidelity"]),
        figure(step["agreement"], 3),
        figure(step["price"]),
        figure(step["objective"]),
        step["depth"],
    )


class Dots(NamedTuple):
    """The points of one leaf and cluster, as the data of one SVG path."""

    leaf: int
    color: str
    path: str


class CutLine(NamedTuple):
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
    segments: list[CutLine]
    n_points: int
    n_hidden_tests: int


def cuts_chart(source: ReportFacts) -> CutsChart | None:
    """Return the scatter, or None if no rows are known."""
    points = source.summary["points"]
    if points is None or not points["x"]:
        return None
    plane = points["features"]
    ys = points["y"] or _heights(len(points["x"]))
    x = Scale.around([*points["x"], *_thresholds(source, plane[0])], CUTS.left, CUTS.right)
    own = _thresholds(source, plane[1]) if len(plane) > 1 else []
    y = Scale.around([*ys, *own], CUTS.bottom, CUTS.top)
    names = [source.names[feature] for feature in plane]
    if len(plane) == 1:
        names.append("no second feature: heights tell nothing")
    tests = [each for each in source.summary["nodes"] if each["feature"] is not None]
    return CutsChart(
        names,
        [clipped(name, _LONGEST_TITLE) for name in names],
        x.ticks(),
        y.ticks() if len(plane) > 1 else [],
        _cut_regions(source, plane, x, y),
        _cut_dots(points, ys, x, y, has_reference=source.has_reference),
        list(_cut_lines(source, plane, x, y)),
        len(points["x"]),
        sum(each["feature"] not in plane for each in tests),
    )


def _heights(n_points: int) -> list[float]:
    """Return scattered heights for a single feature, the same in every run."""
    return [(0.618034 * place) % 1.0 for place in range(n_points)]


def _thresholds(source: ReportFacts, feature: int) -> list[float]:
    found = [each for each in source.summary["nodes"] if each["feature"] == feature]
    values = [end for each in found for end in (each["lower"], each["threshold"])]
    return [value for value in values if value is not None]


def _cut_dots(
    points: PointsFacts, ys: list[float], x: Scale, y: Scale, *, has_reference: bool
) -> list[Dots]:
    groups: dict[tuple[int, int | None], list[str]] = {}
    for at, leaf in enumerate(points["leaf"]):
        code = points["code"][at] if has_reference else leaf
        groups.setdefault((leaf, code), []).append(f"M{x(points['x'][at])} {y(ys[at])}h0")
    return [
        Dots(leaf, color_class(code), "".join(places)) for (leaf, code), places in groups.items()
    ]


def _cut_lines(source: ReportFacts, plane: list[int], x: Scale, y: Scale) -> Iterable[CutLine]:
    for node in source.summary["nodes"]:
        feature = node["feature"]
        if feature is None or feature not in plane:
            continue
        box = source.box(node)
        own = box.get(feature, EVERYWHERE)
        others = [each for each in plane if each != feature]
        along = box.get(others[0], EVERYWHERE) if others else EVERYWHERE
        text = condition_text(source.test(node))
        for value in (node["lower"], node["threshold"]):
            if value is None or not any(low < value < high for low, high in own.intervals):
                continue
            for piece in along.intervals:
                if feature == plane[0]:
                    low, high = _held(piece, y)
                    yield CutLine(node["node"], x(value), low, x(value), high, text)
                else:
                    low, high = _held(piece, x)
                    yield CutLine(node["node"], low, y(value), high, y(value), text)


def _held(interval: Interval, scale: Scale) -> tuple[float, float]:
    """Return the ends of an interval within the drawing."""
    low, high = interval
    return (
        scale.start if low == -inf else scale(low),
        scale.end if high == inf else scale(high),
    )


def _cut_regions(source: ReportFacts, plane: list[int], x: Scale, y: Scale) -> list[Region]:
    """Return the boxes of the leaves, if the plane shows all tests: otherwise boxes would overlap."""
    leaves = source.summary["leaves"]
    used = {each["feature"] for leaf in leaves for each in leaf["conditions"]}
    if not used or not used <= set(plane):
        return []
    regions = []
    for leaf in leaves:
        box = source.box(source.summary["nodes"][leaf["node"]])
        rows = box.get(plane[1], EVERYWHERE) if len(plane) > 1 else EVERYWHERE
        for across in box.get(plane[0], EVERYWHERE).intervals:
            for up in rows.intervals:
                (left, right), (bottom, top) = _held(across, x), _held(up, y)
                size = round(right - left, 1), round(bottom - top, 1)
                color = source.leaf_color(leaf)
                regions.append(Region(leaf["leaf"], color, left, top, *size))
    return regions
