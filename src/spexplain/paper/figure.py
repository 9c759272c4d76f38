"""The paper's bar chart: ARI and AMI of every method, dataset by dataset."""

from typing import TYPE_CHECKING, Any

from spexplain.facts.palette import NOISE, colors
from spexplain.paper.layout import FOREIGN
from spexplain.paper.protocol import GROUPS, METHODS
from spexplain.paper.results import Results, Value
from spexplain.show.plots.style import pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MEASURES = {"ari": "ARI", "ami": "AMI"}
_PANELS = 4  # side by side: two datasets with two measures each
_GAP = 0.7  # between reference clusterings, in bars
_NAMES = ("reference", *dict.fromkeys(name for group in GROUPS for name in METHODS[group]))


def palette() -> dict[str, str]:
    """Return the colour of every method; references are grey."""
    return dict(zip(_NAMES, [NOISE, *colors(len(_NAMES) - 1)[:-1]], strict=True))


def draw_scores(results: Results) -> "Figure | None":
    """Draw bars of ARI and AMI, grouped by reference clustering, with the published numbers as marks.

    Parameters
    ----------
    results : Results
        From `run`, with the tables "small" or "large".

    Returns
    -------
    figure : Figure or None
        None if neither table has rows.
    """
    rows = results.rows_in("small") + results.rows_in("large")
    names = list(dict.fromkeys(row.dataset for row in rows))
    if not names:
        return None
    plt = pyplot()
    n_rows = -(-2 * len(names) // _PANELS)
    figure: Figure
    figure, grid = plt.subplots(
        n_rows,
        min(_PANELS, 2 * len(names)),
        figsize=(11.5 if len(names) > 1 else 6.0, 2.05 * n_rows + 0.75),
        squeeze=False,
        layout="constrained",
    )
    panels: list[Axes] = list(grid.flat)
    for at, name in enumerate(names):
        for offset, measure in enumerate(_MEASURES):
            values = [
                value
                for row in rows
                if row.dataset == name
                for value in results.values(row)
                if value.measure == measure
            ]
            mark = FOREIGN if name in results.foreign else ""
            _panel(panels[2 * at + offset], values, _MEASURES[measure], name + mark)
    for ax in panels[2 * len(names) :]:
        ax.set_axis_off()
    _legend(figure, {row.method for row in rows})
    if set(names) & set(results.foreign):
        figure.supxlabel(
            f"{FOREIGN} another embedding than the paper's, whose numbers are not comparable",
            fontsize=9,
        )
    return figure


def _panel(ax: "Axes", values: list[Value], measure: str, name: str) -> None:
    """Draw the bars of one dataset and measure."""
    from matplotlib.ticker import FixedLocator

    shades, places, ticks = palette(), [], []
    at = 0.0
    for group in GROUPS:
        some = [value for value in values if value.row.group == group]
        if not some:
            continue
        first = at
        for value in some:
            _bar(ax, at, value, shades[value.row.method])
            at += 1
        places.append((first + at - 1) / 2)
        ticks.append(group.replace("kernel k", "kernel\nk"))
        at += _GAP
    ax.set_title(f"{name} · {measure}", fontsize=9.5)
    ax.set_xticks(places, ticks, fontsize=7.5)
    ax.tick_params(axis="x", length=0)
    ax.yaxis.set_major_locator(FixedLocator([0, 0.25, 0.5, 0.75, 1]))
    ax.yaxis.set_major_formatter(lambda tick, _: f"{tick:g}")
    ax.tick_params(axis="y", labelsize=7.5, length=0)
    lowest = min(value.ours or 0.0 for value in values)
    ax.set_ylim(1.5 * min(lowest, 0.0), 1.01)
    ax.set_xlim(-0.9, at - _GAP - 0.1)
    ax.grid(axis="y", color="0.9", lw=0.7)
    ax.set_axisbelow(True)
    ax.axhline(0, color="0.3", lw=0.8)
    ax.spines[:].set_visible(False)


def _bar(ax: "Axes", at: float, value: Value, shade: str) -> None:
    """Draw one bar, and a line across it where the paper's number is."""
    if value.ours is not None:
        ax.bar(at, value.ours, width=0.86, color=shade)
    if value.published is not None and value.comparable:
        ax.hlines(value.published, at - 0.48, at + 0.48, color="black", lw=1.1)


def _legend(figure: "Figure", used: set[str]) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [
        Patch(color=shade, label=method) for method, shade in palette().items() if method in used
    ]
    handles.append(Line2D([], [], color="black", lw=1.1, label="published"))
    figure.legend(handles=handles, loc="outside upper center", ncols=8, frameon=False, fontsize=9)
