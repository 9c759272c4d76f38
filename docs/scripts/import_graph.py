"""Draw which part of the package imports which: python docs/scripts/import_graph.py.

Every file and folder directly under `src/spexplain` is a box, but for small files that any part may
use. An arrow that others imply is left out (the transitive reduction), so what remains can be looked
at. A box stands above all that it imports. Imports that only type checkers follow are no arrows: they
may point upwards.
"""

import ast
from collections.abc import Iterator
from html import escape
from itertools import pairwise
from pathlib import Path

from spexplain import _HOMES

DOCS = Path(__file__).parents[1]
PACKAGE = DOCS.parent / "src" / "spexplain"
PICTURE = DOCS / "images" / "import-graph.svg"
SMALL = {
    "aliases",
    "arguments",
    "exceptions",
    "files",
    "lazy",
    "memory",
    "messages",
    "threads",
}
LEFT_OUT = {"__init__", "__main__", "_version", *SMALL}
WIDTH, HEIGHT, GAP, STEP, BEND = 112, 28, 18, 66, 16
KINDS = {  # colour of a box
    "#f3d9c9": {"graphs", "objectives", "ledgers", "engines", "grow"},
    "#f6ecc4": {"table"},
    "#d8ebdd": {"tree", "facts", "show", "export", "studio", "explanation"},
    "#cfe3f1": {"estimators", "cli", "paper", "demo"},
}

Imports = dict[str, set[str]]


def read_imports(package: Path = PACKAGE) -> Imports:
    """Return the parts of the package that each part imports, at any place of its files."""
    found: Imports = {}
    for path in sorted(package.rglob("*.py")):
        part = path.relative_to(package).parts[0].removesuffix(".py")
        if part not in LEFT_OUT:
            found.setdefault(part, set()).update(_imported(path, package.name))
    return {
        part: {each for each in parts if each in found} - {part} for part, parts in found.items()
    }


def _imported(path: Path, package: str) -> Iterator[str]:
    for node in _nodes(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        parts = (name.split(".")[1] for name in names if name.startswith(f"{package}."))
        yield from (_HOMES.get(part, part) for part in parts)


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes but those that only type checkers see."""
    yield node
    for child in ast.iter_child_nodes(node):
        is_typing = isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"
        if not is_typing:
            yield from _nodes(child)


def reduced(imports: Imports) -> Imports:
    """Return the imports without those that a longer way implies."""
    below: Imports = {}

    def reach(part: str) -> set[str]:
        if part not in below:
            below[part] = set()  # a circle ends here
            below[part] = imports[part].union(*(reach(each) for each in imports[part]))
        return below[part]

    return {
        part: {each for each in own if not any(each in reach(other) for other in own - {each})}
        for part, own in imports.items()
    }


def levels(imports: Imports) -> list[list[str]]:
    """Return rows of parts, the lowest first; a part stands above all that it imports."""
    height: dict[str, int] = {}

    def of(part: str) -> int:
        if part not in height:
            height[part] = 0
            height[part] = 1 + max((of(each) for each in imports[part]), default=-1)
        return height[part]

    rows: list[list[str]] = [[] for _ in range(1 + max(of(part) for part in imports))]
    for part in sorted(imports):
        rows[height[part]].append(part)
    return rows


def layout(imports: Imports) -> tuple[dict[str, tuple[float, float]], list[list[str]]]:
    """Return the place of every box and bend, and the way of every arrow through them.

    An arrow over several rows bends once in each of them, at a place of its own, so that it passes
    beside the boxes.
    """
    rows = levels(imports)
    height = {part: level for level, row in enumerate(rows) for part in row}
    ways = []
    for part, own in sorted(reduced(imports).items()):
        for each in sorted(own):
            crossed = range(height[each] + 1, height[part])
            bends = {f"{part}>{each}:{level}": level for level in crossed}
            for bend, level in bends.items():
                rows[level].append(bend)
            ways.append([part, *reversed(bends), each])
    at = _spread(rows)
    for sweep in range(24):
        order = rows if sweep % 2 else rows[::-1]
        for row in order:
            row.sort(key=lambda name: _pull(name, ways, at))
            at = _spread(rows)
    return at, ways


def _width(name: str) -> int:
    return BEND if ">" in name else WIDTH + GAP


def _spread(rows: list[list[str]]) -> dict[str, tuple[float, float]]:
    """Return the places of rows in their present order, each row centred."""
    widest = max(sum(map(_width, row)) for row in rows)
    at: dict[str, tuple[float, float]] = {}
    for level, row in enumerate(rows):
        x = (widest - sum(map(_width, row))) / 2
        for name in row:
            at[name] = (x + _width(name) / 2, (len(rows) - 1 - level) * STEP + HEIGHT)
            x += _width(name)
    return at


def _pull(name: str, ways: list[list[str]], at: dict[str, tuple[float, float]]) -> float:
    """Return where the neighbours of a box or bend would like it to be."""
    pairs = [pair for way in ways for pair in pairwise(way) if name in pair]
    others = [at[second if first == name else first][0] for first, second in pairs]
    return sum(others) / len(others) if others else at[name][0]


def svg(imports: Imports) -> str:
    """Return the picture."""
    at, ways = layout(imports)
    width = max(x for x, _ in at.values()) + WIDTH / 2 + GAP
    height = max(y for _, y in at.values()) + HEIGHT
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="sans-serif" font-size="13">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#7a7a7a"/></marker></defs>',
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="white"/>',
    ]
    lines += [_arrow([at[name] for name in way]) for way in ways]
    for part in sorted(imports):
        x, y = at[part]
        color = next((color for color, parts in KINDS.items() if part in parts), "#eeeeee")
        lines += [
            f'<rect x="{x - WIDTH / 2:.0f}" y="{y - HEIGHT / 2:.0f}" width="{WIDTH}" '
            f'height="{HEIGHT}" rx="5" fill="{color}" stroke="#555555"/>',
            f'<text x="{x:.0f}" y="{y + 4:.0f}" text-anchor="middle">{escape(part)}</text>',
        ]
    return "\n".join([*lines, "</svg>", ""])


def _arrow(points: list[tuple[float, float]]) -> str:
    """Return a smooth line from the lower edge of a box over bends to the upper edge of another."""
    (x, y), *bends, (x_end, y_end) = points
    # Through a row of boxes a line runs straight down.
    stops = [(x, y + HEIGHT / 2)]
    for bend_x, bend_y in bends:
        stops += [(bend_x, bend_y - HEIGHT / 2), (bend_x, bend_y + HEIGHT / 2)]
    stops.append((x_end, y_end - HEIGHT / 2 - 1))
    path = f"M{stops[0][0]:.0f} {stops[0][1]:.0f}"
    for (x1, y1), (x2, y2) in pairwise(stops):
        half = (y2 - y1) / 2
        path += f"C{x1:.0f} {y1 + half:.0f} {x2:.0f} {y2 - half:.0f} {x2:.0f} {y2:.0f}"
    return f'<path d="{path}" fill="none" stroke="#7a7a7a" marker-end="url(#tip)"/>'


def main() -> None:
    """Write the picture."""
    PICTURE.write_text(svg(read_imports()), encoding="utf-8")
    print(f"{PICTURE.relative_to(DOCS.parent)}: {PICTURE.stat().st_size / 1024:.0f} KiB")


if __name__ == "__main__":
    main()
