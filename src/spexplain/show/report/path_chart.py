"""The path of growth: what every further leaf buys."""

from typing import Literal, NamedTuple, TypeAlias

from spexplain.facts.schema import Step
from spexplain.show.report.outline import equal
from spexplain.show.report.phrases import figure, share
from spexplain.show.report.scales import Scale, Tick
from spexplain.show.report.source import Source

WIDTH, HEIGHT = 560, 210
LEFT, RIGHT, TOP, BOTTOM = 58, 546, 14, 168
_N_LABELLED = 12


class Line(NamedTuple):
    """A series: places of its points, None where it is undefined."""

    name: str
    style: str
    path: str
    dots: list[tuple[float, float]]


class Panel(NamedTuple):
    """A small chart over the number of leaves."""

    title: str
    lines: list[Line]
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
    is_own: bool  # whether the tree of the report lies on the path


def path_chart(source: Source, trees: list[Step]) -> PathChart | None:
    """Return the charts, or None for a path of one tree."""
    path = source.summary["path"] or trees
    if len(path) < 2:
        return None
    low, high = path[0]["n_leaves"], path[-1]["n_leaves"]
    x = Scale(low - 0.3, high + 0.3, LEFT, RIGHT)
    every = -(-len(path) // _N_LABELLED)
    ticks = [Tick(x(step["n_leaves"]), str(step["n_leaves"])) for step in path[::every]]
    final = trees[-1]
    is_own = any(_alike(step, final) for step in path)
    panels = [_panel(kind, path, x, None if is_own else final) for kind in _kinds(source)]
    step = (RIGHT - LEFT) / (x.high - x.low)
    return PathChart(
        [panel for panel in panels if panel is not None],
        ticks,
        round(x(low) - step * (low - 1), 3),
        round(step, 3),
        [_row(each) for each in path],
        is_own,
    )


Key: TypeAlias = Literal["fidelity", "agreement", "price", "objective"]


class _Series(NamedTuple):
    key: Key
    name: str
    style: str


class _Kind(NamedTuple):
    title: str
    series: list[_Series]
    is_share: bool = False


def _kinds(source: Source) -> list[_Kind]:
    if not source.has_reference:
        return [_Kind("Objective", [_Series("objective", "objective", "line-a")])]
    shares = [
        _Series("fidelity", "fidelity", "line-a"),
        _Series("agreement", "agreement (ARI)", "line-b"),
    ]
    price = _Series("price", "price", "line-a")
    return [_Kind("Fidelity and agreement", shares, is_share=True), _Kind("Price", [price])]


def _panel(kind: _Kind, path: list[Step], x: Scale, final: Step | None) -> Panel | None:
    steps = path if final is None else [*path, final]
    found = [step[each.key] for step in steps for each in kind.series]
    values = [value for value in found if value is not None]
    if not values:
        return None
    lowest = min(0.0, *values)
    shares = Scale(lowest, 1.0, BOTTOM, TOP)
    y = shares if kind.is_share else Scale.steep(values, BOTTOM, TOP)
    lines = [_line(each, path, x, y) for each in kind.series]
    own = None if final is None else final[kind.series[0].key]
    this = None if final is None or own is None else (x(final["n_leaves"]), y(own))
    return Panel(kind.title, lines, y.ticks(), this, _words(kind, path))


def _line(series: _Series, path: list[Step], x: Scale, y: Scale) -> Line:
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
    return Line(series.name, series.style, drawn, dots)


def _words(kind: _Kind, path: list[Step]) -> str:
    key, name, _ = kind.series[0]
    show = share if kind.is_share else figure
    first, last = path[0], path[-1]
    ends = (
        f"{show(first[key])} with {first['n_leaves']} to {show(last[key])} with {last['n_leaves']}"
    )
    return f"{name} from {ends} leaves."


def _alike(step: Step, final: Step) -> bool:
    """Whether a step of the path is the tree of the report."""
    pairs = [
        (step["fidelity"], final["fidelity"]),
        (step["price"], final["price"]),
        (step["objective"], final["objective"]),
    ]
    return step["n_leaves"] == final["n_leaves"] and all(equal(a, b) for a, b in pairs)


def _row(step: Step) -> PathRow:
    return PathRow(
        step["n_leaves"],
        share(step["fidelity"]),
        figure(step["agreement"], 3),
        figure(step["price"]),
        figure(step["objective"]),
        step["depth"],
    )
