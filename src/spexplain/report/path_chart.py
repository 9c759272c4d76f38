"""The path of growth: what every further leaf buys."""

from typing import NamedTuple

from spexplain.report.phrases import figure, share
from spexplain.report.scales import Scale, Tick
from spexplain.report.source import Source
from spexplain.summary.schema import Step

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


class _Kind(NamedTuple):
    title: str
    series: tuple[tuple[str, str, str], ...]  # key, name, style
    is_share: bool


def _kinds(source: Source) -> list[_Kind]:
    if not source.has_reference:
        return [_Kind("Objective", (("objective", "objective", "line-a"),), False)]
    return [
        _Kind(
            "Fidelity and agreement",
            (("fidelity", "fidelity", "line-a"), ("agreement", "agreement (ARI)", "line-b")),
            True,
        ),
        _Kind("Price", (("price", "price", "line-a"),), False),
    ]


def _panel(kind: _Kind, path: list[Step], x: Scale, final: Step | None) -> Panel | None:
    key = kind.series[0][0]
    steps = path if final is None else [*path, final]
    values = [float(step[name]) for step in steps for name, _, _ in kind.series if step[name] is not None]  # type: ignore[literal-required]
    if not values:
        return None
    if kind.is_share:
        y = Scale(min(0.0, *values), 1.0, BOTTOM, TOP)
    else:
        y = Scale.steep(values, BOTTOM, TOP)
    lines = [_line(name, text, style, path, x, y) for name, text, style in kind.series]
    own = None if final is None else final[key]  # type: ignore[literal-required]
    this = None if final is None or own is None else (x(final["n_leaves"]), y(own))
    return Panel(kind.title, lines, y.ticks(), this, _words(kind, path))


def _line(key: str, name: str, style: str, path: list[Step], x: Scale, y: Scale) -> Line:
    drawn, dots, pen = "", [], "M"
    for step in path:
        value = step[key]  # type: ignore[literal-required]
        if value is None:
            pen = "M"
            continue
        place = x(step["n_leaves"]), y(value)
        drawn += f"{pen}{place[0]} {place[1]}"
        dots.append(place)
        pen = "L"
    return Line(name, style, drawn, dots)


def _words(kind: _Kind, path: list[Step]) -> str:
    key, name, _ = kind.series[0]
    show = share if kind.is_share else figure
    ends = [
        f"{show(step[key])} with {step['n_leaves']}"  # type: ignore[literal-required]
        for step in (path[0], path[-1])
    ]
    return f"{name} from {ends[0]} to {ends[1]} leaves."


def _alike(step: Step, final: Step) -> bool:
    if step["n_leaves"] != final["n_leaves"]:
        return False
    pairs = [(step[key], final[key]) for key in ("fidelity", "price", "objective")]  # type: ignore[literal-required]
    return all(
        a is None or b is None or abs(a - b) <= 1e-9 * max(1.0, abs(a), abs(b)) for a, b in pairs
    )


def _row(step: Step) -> PathRow:
    return PathRow(
        step["n_leaves"],
        share(step["fidelity"]),
        figure(step["agreement"], 3),
        figure(step["price"]),
        figure(step["objective"]),
        step["depth"],
    )
