"""The tree as a picture: tests in boxes, leaves with their size and a bar of reference clusters.

Boxes are placed after Reingold and Tilford: subtrees are laid out alone, then pushed together until
their outlines touch, so no two boxes overlap and parents stand in the middle above their children.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from spexplain.aliases import Floats
from spexplain.arguments import check_choice
from spexplain.facts.schema import LeafFacts, NodeFacts, Summary, column_of, test_of
from spexplain.facts.text import rows_text
from spexplain.show.conditions import short_condition
from spexplain.show.palette import colors
from spexplain.show.plots.style import axes_or_new, drawable, label_text, shortened, text_width
from spexplain.table.reference import NOISE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Room in inches at the base font size; everything scales together if the axes are smaller.
_FONT = 9.0
_LINE = 1.35 * _FONT / 72
_PAD = 0.1
_BAR = 0.11
_BETWEEN = 0.16  # boxes of a level
_LEVELS = {True: 0.36, False: 0.5}  # room for edges, downwards and to the right
_WIDEST = 13.0  # inches of a tree that grows downwards; wider ones grow to the right
_MARGIN = 0.12
_SMALLEST_FONT = 2.0
_N_KEYS = 21  # colours repeat after that
_EDGE = "#7f7f7f"
_TEXT = "#1a1a1a"


class TreeBox(NamedTuple):
    """Text and size of a node's box."""

    lines: list[str]
    width: float
    height: float


class Drawing(NamedTuple):
    """Boxes and their middles, in inches; y grows downwards."""

    boxes: list[TreeBox]
    x: Floats
    y: Floats
    ends: Floats  # where the level of each node ends
    is_down: bool

    @property
    def size(self) -> tuple[float, float]:
        """Width and height."""
        widths = np.array([box.width for box in self.boxes])
        heights = np.array([box.height for box in self.boxes])
        return float(np.max(self.x + widths / 2)), float(np.max(self.y + heights / 2))


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
        From `spexplain.facts.summary`; the training rows are not needed.
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
    >>> ax = plot_tree(summarize(explainer.explanation_, names=["age"]))
    >>> [text.get_text() for text in ax.texts][2:6]
    ['age ≤ 4', '4 rows', 'leaf 0: 0', '2 rows (50%)']
    """
    check_choice("orientation", orientation, ("auto", "down", "right"))
    is_new = ax is None
    ax = axes_or_new(ax, (4.0, 3.0))
    boxes = tree_boxes(summary, max_name)
    drawing = arranged(summary, boxes, is_down=orientation != "right")
    if orientation == "auto" and drawing.size[0] > _WIDEST:
        drawing = arranged(summary, boxes, is_down=False)
    width, height = drawing.size
    key = _key(summary, max(width, 3.0), max_name)
    width = max([width, *(each.x + text_width(each.text, _FONT) for each in key)])
    below = (key[-1].line + 1) * _LINE * 1.2 + 0.1 if key else 0.0
    if is_new:
        ax.figure.set_size_inches(width + 2 * _MARGIN, height + below + 2 * _MARGIN)  # type: ignore[union-attr]
        ax.set_position((0.0, 0.0, 1.0, 1.0))
    font = _FONT * _fit(ax, width, height + below)
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
    return max(scale, _SMALLEST_FONT / _FONT)


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
    ax: "Axes",
    summary: Summary,
    node: NodeFacts,
    box: TreeBox,
    at: tuple[float, float],
    font: float,
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
            top + _PAD + (place + 0.5) * _LINE,
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
            ax, summary, node, (left + _PAD, top + box.height - _PAD - _BAR), box.width - 2 * _PAD
        )


def _draw_bar(
    ax: "Axes", summary: Summary, node: NodeFacts, at: tuple[float, float], width: float
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
        ax.add_patch(Rectangle((x, at[1]), piece, _BAR, facecolor=color, lw=0, zorder=4))
        x += piece
    frame = Rectangle((at[0], at[1]), width, _BAR, fill=False, edgecolor=_EDGE, lw=0.5, zorder=5)
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
        room = 0.2 + text_width(text, _FONT)
        if x and x + room > width:
            x, line = 0.0, line + 1
        key.append(_Key(color, text, x + 0.2, line))
        x += room + 0.2
    return key


def _draw_key(ax: "Axes", key: list[_Key], top: float, font: float) -> None:
    from matplotlib.patches import Rectangle

    for each in key:
        y = top + 0.1 + (each.line + 0.5) * _LINE * 1.2
        square = Rectangle((each.x - 0.17, y - 0.055), 0.11, 0.11, facecolor=each.color, lw=0)
        ax.add_patch(square)
        ax.text(each.x, y, each.text, fontsize=0.95 * font, color=_TEXT, va="center")


def tree_boxes(summary: Summary, max_name: int) -> list[TreeBox]:
    """Return the boxes of all nodes."""
    return [_box(summary, node, max_name) for node in summary["nodes"]]


def _box(summary: Summary, node: NodeFacts, max_name: int) -> TreeBox:
    if node["leaf"] is None:
        lines, bar, weight = (
            [_test_text(summary, node, max_name), f"{node['size']:,} rows"],
            0.0,
            "normal",
        )
    else:
        leaf = summary["leaves"][node["leaf"]]
        lines = [_leaf_text(leaf, max_name), rows_text(leaf["size"], leaf["share"])]
        bar, weight = 0.0 if summary["reference"] is None else _BAR + 0.04, "bold"
    width = max(text_width(lines[0], _FONT, weight), text_width(lines[1], _FONT))
    return TreeBox(lines, max(width, 0.5) + 2 * _PAD, len(lines) * _LINE + 2 * _PAD + bar)


def _test_text(summary: Summary, node: NodeFacts, max_name: int) -> str:
    name = shortened(str(node["name"]), max_name)
    (column,) = (each for each in summary["features"] if each["feature"] == node["feature"])
    region, known = test_of(node).region(), column_of(column, name)
    if known.kind == "category":
        return drawable(short_condition(region, known, 2 * max_name, clip=shortened))
    return drawable(region.text(known))


def _leaf_text(leaf: LeafFacts, max_name: int) -> str:
    if leaf["label"] is None:
        return f"leaf {leaf['leaf']}"
    label = "noise" if leaf["code"] == NOISE else leaf["label"]
    return f"leaf {leaf['leaf']}: {label_text(label, max_name)}"


def arranged(summary: Summary, boxes: list[TreeBox], *, is_down: bool) -> Drawing:
    """Return the boxes of a tree that grows downwards or to the right."""
    nodes = summary["nodes"]
    children = [
        None if node["left"] is None or node["right"] is None else (node["left"], node["right"])
        for node in nodes
    ]
    breadths = [box.width if is_down else box.height for box in boxes]
    extents = [box.height if is_down else box.width for box in boxes]
    along = tidy_places(children, breadths, _BETWEEN)
    depths = [node["depth"] for node in nodes]
    starts = level_places(depths, extents, _LEVELS[is_down])
    # Tops (left ends) of a level stand in line.
    across = np.array(
        [starts[depth] + extent / 2 for depth, extent in zip(depths, extents, strict=True)]
    )
    ends = starts[np.array(depths) + 1] - _LEVELS[is_down]
    x, y = (along, across) if is_down else (across, along)
    return Drawing(boxes, x, y, ends, is_down)


class _Contour(NamedTuple):
    """First and last occupied place of a subtree at every depth below its root."""

    first: list[float]
    last: list[float]

    def moved(self, by: float) -> "_Contour":
        return _Contour([x + by for x in self.first], [x + by for x in self.last])


def tidy_places(
    children: Sequence[tuple[int, int] | None], breadths: Sequence[float], gap: float
) -> Floats:
    """Return the place of every node's middle along its level.

    Parameters
    ----------
    children : sequence of (int, int) or None
        Node numbers of the two children, None for leaves; node 0 is the root, and children have
        higher numbers than their parents.
    breadths : sequence of float
        How much room each box takes along its level.
    gap : float
        Least room between two boxes of a level.

    Returns
    -------
    places : array of float, shape (n_nodes,)
        The leftmost edge of all boxes is at 0.

    Examples
    --------
    >>> from spexplain.show.plots.tree import tidy_places
    >>> tidy_places([(1, 2), None, None], [2.0, 1.0, 1.0], gap=1.0)
    array([1.5, 0.5, 2.5])
    """
    n_nodes = len(children)
    shift = np.zeros(n_nodes)  # place relative to the parent's
    outlines: list[_Contour | None] = [None] * n_nodes
    for node in range(n_nodes - 1, -1, -1):  # children before parents, without recursion
        half, pair = breadths[node] / 2, children[node]
        if pair is None:
            outlines[node] = _Contour([-half], [half])
            continue
        left, right = outlines[pair[0]], outlines[pair[1]]
        assert left is not None
        assert right is not None
        apart = max(end - start for end, start in zip(left.last, right.first, strict=False)) + gap
        shift[pair[0]], shift[pair[1]] = -apart / 2, apart / 2
        below = _joined(left.moved(-apart / 2), right.moved(apart / 2))
        outlines[node] = _Contour([-half, *below.first], [half, *below.last])
        outlines[pair[0]] = outlines[pair[1]] = None
    whole = outlines[0]
    assert whole is not None
    places = np.zeros(n_nodes)
    places[0] = -min(whole.first)
    for node, pair in enumerate(children):
        for child in pair or ():
            places[child] = places[node] + shift[child]
    return places


def _joined(left: _Contour, right: _Contour) -> _Contour:
    """Return the outline of two subtrees side by side; the deeper one alone counts where it is deeper."""
    first = left.first + right.first[len(left.first) :]
    last = right.last + left.last[len(right.last) :]
    return _Contour(first, last)


def level_places(depths: Sequence[int], extents: Sequence[float], gap: float) -> Floats:
    """Return where each level begins, if every level takes as much room as its largest box.

    Examples
    --------
    >>> from spexplain.show.plots.tree import level_places
    >>> level_places([0, 1, 1], [2.0, 1.0, 3.0], gap=0.5)
    array([0. , 2.5, 6. ])
    """
    largest = np.zeros(max(depths) + 1)
    np.maximum.at(largest, np.asarray(depths), np.asarray(extents, dtype=np.float64))
    return np.append(0.0, np.cumsum(largest + gap))
