"""The tree as a picture: tests in boxes, leaves with their size and a bar of reference clusters."""

from typing import TYPE_CHECKING, Literal, NamedTuple

from spexplain.arguments import check_choice
from spexplain.facts.palette import colors
from spexplain.facts.schema import Node, Summary
from spexplain.show.plots.boxes import BAR, FONT, LINE, PAD, Box, Drawing, arranged, boxes_of
from spexplain.show.plots.style import axes_or_new, label_text, text_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDEST = 13.0  # inches of a tree that grows downwards; wider ones grow to the right
_MARGIN = 0.12
_SMALLEST_FONT = 2.0
_N_KEYS = 21  # colours repeat after that
_EDGE = "#7f7f7f"
_TEXT = "#1a1a1a"


class _Key(NamedTuple):
    """An entry of the key of colours, and where it stands in inches."""

    color: str
    text: str
    x: float
    line: int


def plot_tree(
    summary: Summary,
    ax: "Axes | None" = None,
    *,
    orientation: Literal["auto", "down", "right"] = "auto",
    max_name: int = 24,
) -> "Axes":
    """Draw the tree with matplotlib.

    Parameters
    ----------
    summary : dict
        From `spexplain.facts.summarize`; the training rows are not needed.
    ax : Axes, optional
        Where to draw; by default a new figure as large as the tree needs. Text shrinks to fit given
        axes.
    orientation : {"auto", "down", "right"}, default="auto"
        Where the tree grows; "auto" takes "right" for trees that would be too wide.
    max_name : int, default=24
        Longest name or label in characters; longer ones lose their middle.

    Returns
    -------
    ax : Axes

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain import SpexClique
    >>> from spexplain.show.plots import plot_tree
    >>> from spexplain.facts import summarize
    >>> explainer = SpexClique().fit(np.array([[0.0], [1.0], [8.0], [9.0]]), [0, 0, 1, 1])
    >>> ax = plot_tree(summarize(explainer._grown, names=["age"]))
    >>> [text.get_text() for text in ax.texts][2:6]
    ['age ≤ 4.5', '4 rows', 'leaf 0: 0', '2 rows (50%)']
    """
    check_choice("orientation", orientation, ("auto", "down", "right"))
    is_new = ax is None
    ax = axes_or_new(ax, (4.0, 3.0))
    boxes = boxes_of(summary, max_name)
    drawing = arranged(summary, boxes, is_down=orientation != "right")
    if orientation == "auto" and drawing.size[0] > _WIDEST:
        drawing = arranged(summary, boxes, is_down=False)
    width, height = drawing.size
    key = _key(summary, max(width, 3.0), max_name)
    width = max([width, *(each.x + text_width(each.text, FONT) for each in key)])
    below = (key[-1].line + 1) * LINE * 1.2 + 0.1 if key else 0.0
    if is_new:
        ax.figure.set_size_inches(width + 2 * _MARGIN, height + below + 2 * _MARGIN)  # type: ignore[union-attr]
        ax.set_position((0.0, 0.0, 1.0, 1.0))
    font = FONT * _fit(ax, width, height + below)
    _draw_edges(ax, summary, drawing, font)
    for node, box in zip(summary["nodes"], boxes, strict=True):
        at = float(drawing.x[node["node"]]), float(drawing.y[node["node"]])
        _draw_box(ax, summary, node, box, at, font)
    _draw_key(ax, key, height, font)
    return ax


def _fit(ax: "Axes", width: float, height: float) -> float:
    """Make the axes show that many inches, and return how many real inches one of them is."""
    window = ax.get_window_extent()
    dpi = ax.figure.get_dpi() if hasattr(ax.figure, "get_dpi") else ax.figure.dpi
    real_width, real_height = window.width / dpi, window.height / dpi
    scale = min(real_width / (width + 2 * _MARGIN), real_height / (height + 2 * _MARGIN))
    spare_x, spare_y = real_width / scale - width, real_height / scale - height
    ax.set_xlim(-spare_x / 2, width + spare_x / 2)
    ax.set_ylim(height + spare_y / 2, -spare_y / 2)  # y grows downwards
    ax.axis("off")
    return max(scale, _SMALLEST_FONT / FONT)


def _draw_edges(ax: "Axes", summary: Summary, drawing: Drawing, font: float) -> None:
    for node in summary["nodes"]:
        for child, answer in ((node["left"], "yes"), (node["right"], "no")):
            if child is None:
                continue
            corners = _edge(drawing, node["node"], child)
            ax.plot(*zip(*corners, strict=True), color=_EDGE, lw=0.1 * font, zorder=1)
            (x, y), (to_x, to_y) = corners[1:]
            ax.text(
                (x + to_x) / 2,
                (y + to_y) / 2,
                answer,
                fontsize=0.85 * font,
                color=_TEXT,
                ha="center",
                va="center",
                zorder=2,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.08 * font},
            )


def _edge(drawing: Drawing, parent: int, child: int) -> list[tuple[float, float]]:
    """Return the corners of an edge: straight to the end of the level, where no box is in the way, then across."""
    x, y = drawing.x.tolist(), drawing.y.tolist()
    start, end, level = drawing.boxes[parent], drawing.boxes[child], float(drawing.ends[parent])
    if drawing.is_down:
        bottom, top = y[parent] + start.height / 2, y[child] - end.height / 2
        return [(x[parent], bottom), (x[parent], level), (x[child], top)]
    right, left = x[parent] + start.width / 2, x[child] - end.width / 2
    return [(right, y[parent]), (level, y[parent]), (left, y[child])]


def _draw_box(
    ax: "Axes", summary: Summary, node: Node, box: Box, at: tuple[float, float], font: float
) -> None:
    from matplotlib.patches import FancyBboxPatch

    left, top = at[0] - box.width / 2, at[1] - box.height / 2
    is_leaf = node["leaf"] is not None
    frame = FancyBboxPatch(
        (left, top),
        box.width,
        box.height,
        boxstyle=f"round,pad=0,rounding_size={0.05 if is_leaf else 0.14}",
        facecolor="white" if is_leaf else "#eef1f5",
        edgecolor=_TEXT if is_leaf else _EDGE,
        linewidth=0.09 * font,
        zorder=3,
    )
    ax.add_patch(frame)
    for place, line in enumerate(box.lines):
        ax.text(
            at[0],
            top + PAD + (place + 0.5) * LINE,
            line,
            fontsize=font if place == 0 else 0.88 * font,
            fontweight="bold" if is_leaf and place == 0 else "normal",
            color=_TEXT,
            ha="center",
            va="center",
            zorder=4,
        )
    if is_leaf and summary["reference"] is not None:
        _draw_bar(
            ax, summary, node, (left + PAD, top + box.height - PAD - BAR), box.width - 2 * PAD
        )


def _draw_bar(
    ax: "Axes", summary: Summary, node: Node, at: tuple[float, float], width: float
) -> None:
    """Draw the clusters of a leaf's rows as one bar."""
    from matplotlib.patches import Rectangle

    assert node["leaf"] is not None
    assert summary["reference"] is not None
    palette = colors(len(summary["reference"]["labels"]))
    x = at[0]
    for part in summary["leaves"][node["leaf"]]["composition"]:
        piece = width * part["share"]
        color = palette[part["code"]]
        ax.add_patch(Rectangle((x, at[1]), piece, BAR, facecolor=color, lw=0, zorder=4))
        x += piece
    frame = Rectangle((at[0], at[1]), width, BAR, fill=False, edgecolor=_EDGE, lw=0.5, zorder=5)
    ax.add_patch(frame)


def _key(summary: Summary, width: float, max_name: int) -> list[_Key]:
    """Return the key of colours, broken into lines of that width."""
    reference = summary["reference"]
    if reference is None:
        return []
    palette = colors(len(reference["labels"]))
    entries = [
        (palette[code], label_text(label, max_name))
        for code, label in enumerate(reference["labels"][:_N_KEYS])
    ]
    if reference["n_noise"]:
        entries.append((palette[-1], "noise"))
    if len(reference["labels"]) > _N_KEYS:
        entries.append(("none", f"and {len(reference['labels']) - _N_KEYS} more"))
    key: list[_Key] = []
    x, line = 0.0, 0
    for color, text in entries:
        room = 0.2 + text_width(text, FONT)
        if x and x + room > width:
            x, line = 0.0, line + 1
        key.append(_Key(color, text, x + 0.2, line))
        x += room + 0.2
    return key


def _draw_key(ax: "Axes", key: list[_Key], top: float, font: float) -> None:
    from matplotlib.patches import Rectangle

    for each in key:
        y = top + 0.1 + (each.line + 0.5) * LINE * 1.2
        square = Rectangle((each.x - 0.17, y - 0.055), 0.11, 0.11, facecolor=each.color, lw=0)
        ax.add_patch(square)
        ax.text(each.x, y, each.text, fontsize=0.95 * font, color=_TEXT, va="center")
