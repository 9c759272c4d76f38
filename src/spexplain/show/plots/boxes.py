"""The boxes of a drawn tree: their texts, their sizes, and where they stand."""

from typing import NamedTuple

import numpy as np

from spexplain.aliases import Floats
from spexplain.facts.schema import Leaf, Node, Summary
from spexplain.facts.text import rows_text
from spexplain.show.plots.layout import level_places, tidy_places
from spexplain.show.plots.style import drawable, label_text, shortened, text_width
from spexplain.tree import Test

# Room in inches at the base font size; everything scales together if the axes are smaller.
FONT = 9.0
LINE = 1.35 * FONT / 72
PAD = 0.1
BAR = 0.11
_BETWEEN = 0.16  # boxes of a level
_LEVELS = {True: 0.36, False: 0.5}  # room for edges, downwards and to the right


class Box(NamedTuple):
    """Text and size of a node's box."""

    lines: list[str]
    width: float
    height: float


class Drawing(NamedTuple):
    """Boxes and their middles, in inches; y grows downwards."""

    boxes: list[Box]
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


def boxes_of(summary: Summary, max_name: int) -> list[Box]:
    """Return the boxes of all nodes."""
    return [_box(summary, node, max_name) for node in summary["nodes"]]


def _box(summary: Summary, node: Node, max_name: int) -> Box:
    if node["leaf"] is None:
        lines, bar, weight = [_test_text(node, max_name), f"{node['size']:,} rows"], 0.0, "normal"
    else:
        leaf = summary["leaves"][node["leaf"]]
        lines = [_leaf_text(leaf, max_name), rows_text(leaf["size"], leaf["share"])]
        bar, weight = 0.0 if summary["reference"] is None else BAR + 0.04, "bold"
    width = max(text_width(lines[0], FONT, weight), text_width(lines[1], FONT))
    return Box(lines, max(width, 0.5) + 2 * PAD, len(lines) * LINE + 2 * PAD + bar)


def _test_text(node: Node, max_name: int) -> str:
    lower = -np.inf if node["lower"] is None else node["lower"]
    upper = np.inf if node["threshold"] is None else node["threshold"]
    name = shortened(str(node["name"]), max_name)
    return drawable(Test(0, float(lower), float(upper)).text(name))


def _leaf_text(leaf: Leaf, max_name: int) -> str:
    if leaf["label"] is None:
        return f"leaf {leaf['leaf']}"
    label = "noise" if leaf["code"] == -1 else leaf["label"]
    return f"leaf {leaf['leaf']}: {label_text(label, max_name)}"


def arranged(summary: Summary, boxes: list[Box], *, is_down: bool) -> Drawing:
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
