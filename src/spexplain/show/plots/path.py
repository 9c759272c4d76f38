"""How faithful trees of other sizes would be, and what they would cost; the best trees of several sizes."""

from typing import TYPE_CHECKING, Any

from spexplain.facts.goal import MEASURES
from spexplain.facts.schema import StepFacts, Summary
from spexplain.refine.scores import LOW_GOALS
from spexplain.show.palette import colors
from spexplain.show.plots.style import axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_path(summary: Summary, ax: "Axes | None" = None) -> "Axes":
    """Draw fidelity and cost ratio against the number of leaves; the tree's own number is marked.

    Parameters
    ----------
    summary : dict
        From `spexplain.facts.summary`, with a path; the training rows are not needed.
    ax : Axes, optional
        Where to draw; a new figure by default. The cost ratio has its own axis on the right.

    Returns
    -------
    ax : Axes
        That of the fidelity; without a reference, of the objective.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain import SpexClique
    >>> from spexplain.show.plots import plot_path
    >>> from spexplain.facts import summarize
    >>> explainer = SpexClique().fit(np.array([[0.0], [1.0], [8.0], [9.0]]), [0, 0, 1, 1])
    >>> ax = plot_path(summarize(explainer.explanation_, path=explainer.path_))
    >>> ax.lines[0].get_ydata()
    array([0.5, 1. ])
    """
    steps = summary["path"]
    if not steps:
        raise ValueError("summary has no path; pass path=estimator.path_ to summarize.")
    ax = axes_or_new(ax, (6.4, 4.0), layout="constrained")
    first, second, *_ = colors(6)[0], colors(6)[5]
    has_reference = any(step["fidelity"] is not None for step in steps)
    if has_reference:
        handles = _line(ax, steps, "fidelity", "fidelity", {"color": first, "marker": "o"})
        ax.set_ylabel("fidelity (rows right)")
        ax.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
        if any(step["price"] is not None for step in steps):
            right = ax.twinx()
            style = {"color": second, "marker": "s", "ls": "--"}
            handles += _line(right, steps, "price", "cost ratio", style)
            right.set_ylabel("cost ratio (k-means)")
    else:
        handles = _line(ax, steps, "objective", "objective", {"color": first, "marker": "o"})
        ax.set_ylabel("objective")
    handles += _own_mark(ax, summary)
    _finish(ax, [step["n_leaves"] for step in steps], handles)
    return ax


def plot_curve(summary: Summary, ax: "Axes | None" = None) -> "Axes":
    """Draw what the best trees of all sizes come to that a search looked at; the tree's own size is marked.

    Parameters
    ----------
    summary : dict
        From `spexplain.facts.summary`, of a `BestTree` with ``n_leaves="auto"``.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    ax : Axes
        The line is the goal's own measure; a second one, where something is proved, is what no tree of
        that size can exceed, or be below if low values are good. Filled dots are proved to be the best.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain import BestTree
    >>> from spexplain.show.plots import plot_curve
    >>> X = np.array([[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]])
    >>> best = BestTree(n_leaves="auto").fit(X, [0, 0, 1, 1, 0, 0])
    >>> ax = plot_curve(best.outline())
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('leaves', 'rows right')
    """
    goal = summary["goal"]
    if goal is None or not goal["curve"]:
        raise ValueError('summary has no curve; fit BestTree(n_leaves="auto"), which makes one.')
    curve = goal["curve"]
    ax = axes_or_new(ax, (6.4, 4.0), layout="constrained")
    first, second = colors(6)[0], colors(6)[5]
    name = MEASURES[goal["name"]]
    sizes, values = [each["n_leaves"] for each in curve], [each["value"] for each in curve]
    handles = list(ax.plot(sizes, values, color=first, lw=1.4, label=name))
    for each in curve:
        filling = first if each["optimal"] else "white"
        ax.plot(each["n_leaves"], each["value"], "o", ms=5, color=first, mfc=filling)
    trivial = 0.0 if goal["name"] in LOW_GOALS else 1.0
    known = [
        (each["n_leaves"], each["bound"])
        for each in curve
        if each["bound"] is not None and (each["optimal"] or each["bound"] != trivial)
    ]
    if known:
        style: dict[str, Any] = {"color": second, "lw": 1.2, "ls": "--", "marker": "_"}
        handles += ax.plot(*zip(*known, strict=True), label="bound: no tree is better", **style)
    if goal["name"] in ("fidelity", "balanced"):
        ax.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    ax.set_ylabel(name)
    ax.axvline(summary["n_leaves"], color="black", lw=1, ls=":", zorder=0)
    own: dict[str, Any] = {"marker": "*", "ms": 13, "color": "black", "ls": "none", "zorder": 5}
    handles += ax.plot([summary["n_leaves"]], [goal["value"]], label="this tree", **own)
    _finish(ax, sizes, handles)
    return ax


def _line(
    ax: "Axes", steps: list[StepFacts], key: str, name: str, style: dict[str, Any]
) -> list[Any]:
    known = [(step["n_leaves"], step[key]) for step in steps if step[key] is not None]  # type: ignore[literal-required]
    marks = {"ms": 4.5, "lw": 1.4} | style
    return list(ax.plot([n for n, _ in known], [y for _, y in known], label=name, **marks))


def _own_mark(ax: "Axes", summary: Summary) -> list[Any]:
    """Mark the tree itself, which a refinement may have taken off the path."""
    ax.axvline(summary["n_leaves"], color="black", lw=1, ls=":", zorder=0)
    height = summary["objective"] if summary["fidelity"] is None else summary["fidelity"]
    if height is None:
        return []
    style: dict[str, Any] = {"marker": "*", "ms": 13, "color": "black", "ls": "none", "zorder": 5}
    return list(ax.plot([summary["n_leaves"]], [height], label="this tree", **style))


def _finish(ax: "Axes", sizes: list[int], handles: list[Any]) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.set_xlabel("leaves")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    ax.set_xlim(min(sizes) - 0.5, max(sizes) + 0.5)
    # Above the axes nothing hides a line.
    ax.legend(
        handles=handles,
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        ncols=len(handles),
        frameon=False,
        fontsize=9,
    )
