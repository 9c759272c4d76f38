"""The charts of the report: what every further leaf adds, and where the tree parts a plane of two features."""

from collections.abc import Iterable, Sequence
from math import ceil, floor, isfinite, log1p, log10
from typing import Literal, NamedTuple, Self, TypeAlias

from spexplain.facts.goal import MEASURES
from spexplain.facts.schema import GoalFacts, PointsFacts, SizeFacts, StepFacts, test_of
from spexplain.refine.scores import LOW_GOALS
from spexplain.show.axes import N_TICKS, Axis, AxisTick, short, steps, thinned
from spexplain.show.report.phrases import clipped, condition_text, figure, share
from spexplain.show.report.sections import ReportFacts, bend_of, color_class
from spexplain.tree import EVERYWHERE, Column

_STEEP = 5.0  # ratios beyond are drawn on a logarithmic scale, where that is asked for
_PADDING = 0.04
_N_LABELLED = 12
_LONGEST_TITLE = 44
_LETTER = 8  # pixels of a letter of a tick, as large as on a narrow screen
_NARROW_TICK = 6  # letters that have room beside an axis anyway
_LONGEST_TICK = 18
_SHORTEST_TICK = 4
_N_ACROSS = 10  # categories that are named below and beside the scatter
_N_UP = 16


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
    bend: float = 0.0  # of a scale on which x is at log(1 + (x - low) / bend)

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
        elif self.bend:
            part = log1p((max(x, self.low) - self.low) / self.bend) / log1p(
                (self.high - self.low) / self.bend
            )
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
        marks = _decades(self.low, self.high) if self.is_log else steps(self.low, self.high)
        return [Tick(self(x), short(x)) for x in marks]


def _decades(low: float, high: float) -> list[float]:
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    factors = (1, 2, 5) if len(powers) <= 3 else (1,)
    marks = [factor * 10.0**power for power in powers for factor in factors]
    marks = [x for x in marks if low <= x <= high]
    return marks[:: max(1, ceil(len(marks) / (2 * N_TICKS)))]


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


class CurveRow(NamedTuple):
    """A row of the table beside the curve."""

    n_leaves: int
    value: str
    bound: str
    is_proved: bool
    n_lost: int


class CurveChart(NamedTuple):
    """The best trees of all sizes that were searched, as a chart and as a table."""

    panels: list[Panel]
    x_ticks: list[Tick]
    x_first: float
    x_step: float
    rows: list[CurveRow]


def curve_chart(source: ReportFacts) -> CurveChart | None:
    """Return the chart of the sizes that were searched, or None where one was given."""
    goal = source.summary["goal"]
    if goal is None or len(goal["curve"]) < 2:
        return None
    curve, name = goal["curve"], MEASURES[goal["name"]]
    x = Scale(curve[0]["n_leaves"] - 0.3, curve[-1]["n_leaves"] + 0.3, PATH.left, PATH.right)
    every = -(-len(curve) // _N_LABELLED)
    is_share = goal["name"] not in LOW_GOALS
    values = [(each["n_leaves"], each["value"]) for each in curve]
    bounds = [
        (each["n_leaves"], each["bound"])
        for each in curve
        if each["bound"] is not None and _says_something(each, goal)
    ]
    y = Scale.around([value for _, value in [*values, *bounds]], PATH.bottom, PATH.top)
    series: list[tuple[str, str, list[tuple[int, float]]]] = [
        (name, "line-a", values),
        ("bound", "line-b", bounds),
    ]
    lines = [
        ChartLine(title, style, "M" + "L".join(f"{a} {b}" for a, b in dots), dots)
        for title, style, points in series
        if (dots := [(x(n), y(value)) for n, value in points])
    ]
    show = share if is_share and goal["name"] != "agreement" else figure
    ends = (f"{show(value)} with {n}" for n, value in (values[0], values[-1]))
    panel = Panel(name, lines, y.ticks(), None, f"{name} from {' to '.join(ends)} leaves.")
    step = (PATH.right - PATH.left) / (x.high - x.low)
    first = curve[0]["n_leaves"]
    return CurveChart(
        [panel],
        [Tick(x(each["n_leaves"]), str(each["n_leaves"])) for each in curve[::every]],
        round(x(first) - step * (first - 1), 3),
        round(step, 3),
        [
            CurveRow(
                each["n_leaves"],
                show(each["value"]),
                show(each["bound"]) if _says_something(each, goal) else "–",
                each["optimal"],
                each["n_lost"],
            )
            for each in curve
        ],
    )


def _says_something(step: SizeFacts, goal: GoalFacts) -> bool:
    """Whether the bound of a size says more than what holds for every tree."""
    if step["bound"] is None:
        return False
    return step["optimal"] or (
        step["bound"] > 0 if goal["name"] in LOW_GOALS else step["bound"] < 1
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
    price = _Series("price", "cost ratio", "line-a")
    return [
        _PanelKind("Fidelity and agreement", shares, is_share=True),
        _PanelKind("Cost ratio", [price]),
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


class LeafBox(NamedTuple):
    """The box of a leaf."""

    leaf: int
    color: str
    x: float
    y: float
    width: float
    height: float


class CutsChart(NamedTuple):
    """Everything that is drawn."""

    frame: ChartFrame
    names: list[str]
    titles: list[str]
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    regions: list[LeafBox]
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
    values = [points["x"], points["y"] or _heights(len(points["x"]))]
    axes = [_axis(source, feature, own) for feature, own in zip(plane, values, strict=False)]
    if len(plane) == 1:
        axes.append(Axis.of(Column(""), -0.04, 1.04, has_missing=False))
    frame = _frame(axes[1]) if len(plane) > 1 else CUTS
    bends = [
        _bend(source, feature, axis) for feature, axis in zip([*plane, -1], axes, strict=False)
    ]
    x = Scale(axes[0].start, axes[0].high, frame.left, frame.right, bend=bends[0])
    y = Scale(axes[1].start, axes[1].high, frame.bottom, frame.top, bend=bends[1])
    names = [source.names[feature] for feature in plane]
    if len(plane) == 1:
        names.append("no second column: heights have no meaning")
    tests = [each for each in source.summary["nodes"] if each["feature"] is not None]
    plot = _Plane(plane, axes, x, y)
    return CutsChart(
        frame,
        names,
        [
            clipped(name, _LONGEST_TITLE) + (" (log scale)" if bend else "")
            for name, bend in zip(names, bends, strict=True)
        ],
        _x_ticks(axes[0], x),
        _y_ticks(axes[1], y) if len(plane) > 1 else [],
        _cut_regions(source, plot),
        _cut_dots(points, values, plot, has_reference=source.has_reference),
        list(_cut_lines(source, plot)),
        len(points["x"]),
        sum(each["feature"] not in plane for each in tests),
    )


class _Plane(NamedTuple):
    """Two columns, their axes, and where their values are drawn."""

    features: list[int]
    axes: list[Axis]
    x: Scale
    y: Scale


def _axis(source: ReportFacts, feature: int, values: Sequence[float | None]) -> Axis:
    """Return an axis with room for some values and all thresholds."""
    known = [x for x in values if x is not None]
    shown = [*known, *_thresholds(source, feature)]
    around = Scale.around(shown, 0, 1)
    lacks = len(known) < len(values)
    if known and not lacks and min(shown) >= 0:  # zero is the end of a bent scale
        around = around._replace(low=max(around.low, 0.0))
    return Axis.of(source.column(feature), around.low, around.high, has_missing=lacks)


def _bend(source: ReportFacts, feature: int, axis: Axis) -> float:
    """Return the bend of an axis, 0 where it is even or has a strip for missing values."""
    facts = [each for each in source.summary["features"] if each["feature"] == feature]
    return bend_of(facts[0]) if facts and not axis.strip else 0.0


def _bent_ticks(axis: Axis, scale: Scale) -> list[AxisTick]:
    """Return powers of ten, and the end of the axis."""
    if not scale.bend:
        return axis.ticks()
    marks = _decades(max(scale.bend, 1e-300), scale.high)
    return [AxisTick(x, short(x)) for x in [*([0.0] if axis.low <= 0 else []), *marks]]


def _frame(axis: Axis) -> ChartFrame:
    """Return the frame of the scatter, with room for long texts beside the axis."""
    longest = max((len(_tick_text(tick)) for tick in axis.ticks()), default=0)
    left = CUTS.left + max(0, longest - _NARROW_TICK) * _LETTER
    return CUTS._replace(left=left)


def _tick_text(tick: AxisTick) -> str:
    return clipped(tick.text, _LONGEST_TICK)


def _x_ticks(axis: Axis, x: Scale) -> list[Tick]:
    """Return the ticks below the scatter; texts get no more room than there is between two of them."""
    ticks = thinned(_bent_ticks(axis, x), _N_ACROSS)
    room = max(int((x.end - x.start) / max(len(ticks), 1) / _LETTER), _SHORTEST_TICK)
    if axis.column.kind == "date":  # half a date is useless
        longest = max((len(tick.text) for tick in ticks), default=0)
        n_fitting = max(2, int((x.end - x.start) / (longest + 1) / _LETTER))
        ticks, room = thinned(ticks, n_fitting), longest
    return [Tick(x(tick.at), clipped(tick.text, room)) for tick in ticks]


def _y_ticks(axis: Axis, y: Scale) -> list[Tick]:
    return [Tick(y(tick.at), _tick_text(tick)) for tick in thinned(_bent_ticks(axis, y), _N_UP)]


def _heights(n_points: int) -> list[float]:
    """Return scattered heights for a single feature, the same in every run."""
    return [(0.618034 * place) % 1.0 for place in range(n_points)]


def _thresholds(source: ReportFacts, feature: int) -> list[float]:
    found = [each for each in source.summary["nodes"] if each["feature"] == feature]
    values = [end for each in found for end in (each["lower"], each["threshold"])]
    return [value for value in values if value is not None]


def _cut_dots(
    points: PointsFacts,
    values: Sequence[Sequence[float | None]],
    plot: _Plane,
    *,
    has_reference: bool,
) -> list[Dots]:
    groups: dict[tuple[int, int | None], list[str]] = {}
    across, up = plot.axes[0].places(values[0], "x"), plot.axes[1].places(values[1], "y")
    for at, leaf in enumerate(points["leaf"]):
        code = points["code"][at] if has_reference else leaf
        place = f"M{plot.x(float(across[at]))} {plot.y(float(up[at]))}h0"
        groups.setdefault((leaf, code), []).append(place)
    return [
        Dots(leaf, color_class(code), "".join(places)) for (leaf, code), places in groups.items()
    ]


def _cut_lines(source: ReportFacts, plot: _Plane) -> Iterable[CutLine]:
    for node in source.summary["nodes"]:
        feature = node["feature"]
        if feature is None or feature not in plot.features:
            continue
        is_first = feature == plot.features[0]
        own, across = plot.axes if is_first else plot.axes[::-1]
        box = source.box(node)
        others = [each for each in plot.features if each != feature]
        along = across.pieces(box.get(others[0], EVERYWHERE) if others else EVERYWHERE)
        text = condition_text(source.test(node))
        for value in own.cuts(box.get(feature, EVERYWHERE), test_of(node)):
            for low, high in along:
                if is_first:
                    at = plot.x(value)
                    yield CutLine(node["node"], at, plot.y(low), at, plot.y(high), text)
                else:
                    at = plot.y(value)
                    yield CutLine(node["node"], plot.x(low), at, plot.x(high), at, text)


def _cut_regions(source: ReportFacts, plot: _Plane) -> list[LeafBox]:
    """Return the boxes of the leaves, if the plane shows all tests: otherwise boxes would overlap."""
    leaves = source.summary["leaves"]
    used = {each["feature"] for leaf in leaves for each in leaf["conditions"]}
    if not used or not used <= set(plot.features):
        return []
    regions = []
    for leaf in leaves:
        box = source.box(source.summary["nodes"][leaf["node"]])
        across, up = (
            axis.pieces(box.get(feature, EVERYWHERE))
            for axis, feature in zip(plot.axes, [*plot.features, -1][:2], strict=True)
        )
        for low, high in across:
            for bottom, top in up:
                left, upper = plot.x(low), plot.y(top)
                size = round(plot.x(high) - left, 1), round(plot.y(bottom) - upper, 1)
                regions.append(LeafBox(leaf["leaf"], source.leaf_color(leaf), left, upper, *size))
    return regions
