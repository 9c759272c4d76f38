"""The paper's bar chart of all scores, and its illustrations, drawn with our own plots and points."""

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spexplain import datasets
from spexplain.aliases import Array, Floats
from spexplain.estimators import CART, SpexClique
from spexplain.paper.layout import FOREIGN
from spexplain.paper.protocol import GROUPS, METHODS
from spexplain.paper.results import Results, Value
from spexplain.references.named import cluster
from spexplain.show.palette import NOISE_COLOR, colors
from spexplain.show.plots import plot_cuts
from spexplain.show.plots.style import pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MEASURES = {"ari": "ARI", "ami": "AMI"}
_PANELS = 4  # side by side: two datasets with two measures each
_GAP = 0.7  # between reference clusterings, in bars
_METHODS = ("reference", *dict.fromkeys(name for group in GROUPS for name in METHODS[group]))
_CENTERS = np.array([[0.0, 0.0], [3.1, 0.7], [1.2, 3.2]])
_AXES = ("x", "y")
_TITLE = 10
_N_GRID = 400


def palette() -> dict[str, str]:
    """Return the colour of every method; references are grey."""
    return dict(zip(_METHODS, [NOISE_COLOR, *colors(len(_METHODS) - 1)[:-1]], strict=True))


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
        figsize=(9.0 if len(names) > 1 else 5.0, 1.9 * n_rows + 0.75),
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
            _score_panel(panels[2 * at + offset], values, _MEASURES[measure], name + mark)
    for ax in panels[2 * len(names) :]:
        ax.set_axis_off()
    _legend(figure, {row.method for row in rows})
    if set(names) & set(results.foreign):
        figure.supxlabel(
            f"{FOREIGN} another embedding than the paper's, whose numbers are not comparable",
            fontsize=9.5,
        )
    return figure


def _score_panel(ax: "Axes", values: list[Value], measure: str, name: str) -> None:
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
    ax.set_title(f"{name} · {measure}", fontsize=10)
    ax.set_xticks(places, ticks, fontsize=8.5)
    ax.tick_params(axis="x", length=0)
    ax.yaxis.set_major_locator(FixedLocator([0, 0.25, 0.5, 0.75, 1]))
    ax.yaxis.set_major_formatter(lambda tick, _: f"{tick:g}")
    ax.tick_params(axis="y", labelsize=8.5, length=0)
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
    figure.legend(handles=handles, loc="outside upper center", ncols=4, frameon=False, fontsize=9.5)


def draw_illustrations(folder: str | PathLike[str]) -> list[Path]:
    """Draw the three illustrations into a folder, each as PNG and SVG.

    - ``gaussians``: three Gaussian clusters, the cuts that explain them, and the same cuts as a tree;
    - ``moons``: two moons, clustered by k-means and by spectral clustering, and both explained;
    - ``three-clusters``: a wide cluster above two others, which Gini CART cuts through first.

    Parameters
    ----------
    folder : str or path
        Made if it is not there; files of these names are replaced.

    Returns
    -------
    paths : list of Path
        The files.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from spexplain.paper.figures import draw_illustrations
    >>> with TemporaryDirectory() as folder:
    ...     [path.name for path in draw_illustrations(Path(folder))][:2]
    ['gaussians.png', 'gaussians.svg']
    """
    plt = pyplot()
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    written = []
    # Labels in vector graphics stay text; their identifiers and dates must not change every time.
    with plt.rc_context({"svg.fonttype": "none", "svg.hashsalt": "spexplain"}):
        for name, draw in (
            ("gaussians", draw_gaussians),
            ("moons", draw_moons),
            ("three-clusters", draw_three_clusters),
        ):
            figure = draw()
            for ending, metadata in (("png", {}), ("svg", {"Date": None})):
                path = target / f"{name}.{ending}"
                figure.savefig(path, dpi=160, metadata=metadata)
                written.append(path)
            plt.close(figure)
    return written


def three_gaussians(n_samples: int = 450, *, random_state: int = 0) -> tuple[Floats, Array]:
    """Return points of three Gaussians in the plane that overlap a little, and the Gaussian of each point."""
    random = np.random.default_rng(random_state)
    component = np.arange(n_samples) % len(_CENTERS)
    X = _CENTERS[component] + random.normal(scale=0.75, size=(n_samples, 2))
    return X, np.array(["left", "right", "top"])[component]


def draw_gaussians() -> "Figure":
    """Draw the cuts on the left, the tree on the right."""
    X, labels = three_gaussians()
    explainer = SpexClique().fit(X, labels)
    figure: Figure
    figure, (left, right) = pyplot().subplots(
        1, 2, figsize=(9.6, 3.9), layout="constrained", width_ratios=(1.0, 1.15)
    )
    wrong = _cuts_panel(left, explainer, X, labels)
    left.set_title(f"{len(X)} points, {wrong} on the wrong side of a cut", fontsize=_TITLE)
    explainer.plot(right, feature_names=_AXES)
    right.set_title("the same cuts as a tree", fontsize=_TITLE)
    return figure


def draw_moons() -> "Figure":
    """Draw what trees of two and of six leaves make of k-means and of spectral clusters."""
    moons = datasets.two_moons(400, noise=0.05)
    figure: Figure
    figure, grid = pyplot().subplots(
        2, 2, figsize=(9.6, 6.6), layout="constrained", sharex=True, sharey=True
    )
    for column, (reference, name) in enumerate((("kmeans", "k-means"), ("spectral", "spectral"))):
        clusters = cluster(reference, moons.data, n_clusters=2, random_state=0)
        for row, n_leaves in enumerate((2, 6)):
            explainer = SpexClique(n_leaves=n_leaves).fit(moons.data, clusters)
            ax = grid[row, column]
            wrong = _cuts_panel(ax, explainer, moons.data, clusters)
            found = _share(explainer.predict_reference(moons.data), moons.target)
            cuts = "1 cut" if n_leaves == 2 else f"{n_leaves - 1} cuts"
            ax.set_title(
                f"{name} clusters, {cuts}: fidelity {1 - wrong / len(clusters):.1%}\n"
                f"{found:.1%} of the points in the right moon",
                fontsize=_TITLE,
            )
            ax.label_outer()
    return figure


def draw_three_clusters() -> "Figure":
    """Draw the cuts of CART and of SpEx, numbered in the order in which they are made."""
    points = datasets.three_clusters()
    figure: Figure
    figure, axes = pyplot().subplots(
        1, 2, figsize=(9.6, 3.6), layout="constrained", sharex=True, sharey=True
    )
    explainers: dict[str, SpexClique | CART] = {
        "CART (Gini)": CART(leaf_weight="none"),
        "SpEx-Clique": SpexClique(),
    }
    for ax, (name, explainer) in zip(axes, explainers.items(), strict=True):
        explainer.fit(points.data, points.target)
        wrong = _cuts_panel(ax, explainer, points.data, points.target)
        first = ("vertical", "horizontal")[int(explainer.tree_.feature[0])]
        mistakes = f"{wrong} mistakes" if wrong else "no mistake"
        ax.set_title(f"{name}: {first} cut first, {mistakes}", fontsize=_TITLE)
        _number_cuts(ax)
        ax.label_outer()
    return figure


def _cuts_panel(ax: "Axes", explainer: SpexClique | CART, X: Floats, labels: Array) -> int:
    """Draw points, cuts and the regions of the tree; return how many points are not of their region."""
    plot_cuts(X, explainer.tree_, labels, ax, features=(0, 1), names=_AXES)
    if (legend := ax.get_legend()) is not None:
        legend.remove()  # clusters differ by colour, and have no names
    _shade(ax, explainer, np.unique(labels))
    ax.tick_params(labelsize=8)
    assigned = explainer.predict_reference(X)
    # Circles mark mistakes that colours do not show.
    wrong = assigned != labels
    ax.scatter(
        X[wrong, 0],
        X[wrong, 1],
        s=46,
        facecolors="none",
        edgecolors="black",
        linewidths=0.7,
        zorder=4,
    )
    return int(np.count_nonzero(wrong))


def _shade(ax: "Axes", explainer: SpexClique | CART, classes: Array) -> None:
    """Give the regions of the tree a light tint of the colour of their cluster."""
    from matplotlib.colors import ListedColormap

    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    x, y = np.meshgrid(np.linspace(left, right, _N_GRID), np.linspace(bottom, top, _N_GRID))
    regions = explainer.predict_reference(np.column_stack([x.ravel(), y.ravel()]))
    ax.imshow(
        np.searchsorted(classes, regions).reshape(x.shape),
        cmap=ListedColormap(colors(len(classes))[:-1]),
        vmin=0,
        vmax=len(classes) - 1,
        alpha=0.13,
        extent=(left, right, bottom, top),
        origin="lower",
        aspect="auto",
        interpolation="nearest",
        zorder=0,
    )


def _number_cuts(ax: "Axes") -> None:
    """Write 1, 2, ... beside the cuts, in the order of growth."""
    lines = [line for line in ax.lines if line.get_color() == "black"]
    for number, line in enumerate(lines, start=1):
        # Near its start, but not on the frame.
        x, y = np.array(line.get_data(), dtype=np.float64) @ (0.91, 0.09)
        ax.annotate(
            str(number),
            (float(x), float(y)),
            ha="center",
            va="center",
            fontsize=9,
            bbox={
                "boxstyle": "circle,pad=0.25",
                "facecolor": "white",
                "edgecolor": "black",
                "lw": 0.8,
            },
            zorder=5,
        )


def _share(assigned: Array, target: Array) -> float:
    """Return the share of points in the right one of two classes, whichever way they are numbered."""
    same = float(np.mean(np.asarray(assigned) == target))
    return max(same, 1 - same)
