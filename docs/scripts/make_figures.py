"""Draw the pictures of the README, of the method pages and of the gallery: python docs/scripts/make_figures.py [names].

Every picture of a method is made from a small generated table, so it needs no download and always looks
the same; the story of the README needs the table Pathbased. The pictures of the gallery are made by the
scripts in examples/gallery.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from center_figures import best_tree, emn, ex_greedy, exkmc, imm, kernel_imm, random_cuts
from graph_figures import cart, non_uniform_cut, spex_clique, spex_graph, spex_knn
from step_figures import STEPS
from story_figure import story

IMAGES = Path(__file__).parents[1] / "images"
GALLERY = Path(__file__).parents[2] / "examples" / "gallery"
FIGURES: dict[str, Callable[[], Any]] = {
    "story": story,
    "spex-clique": spex_clique,
    "spex-knn": spex_knn,
    "spex-graph": spex_graph,
    "non-uniform-cut": non_uniform_cut,
    "cart": cart,
    "imm": imm,
    "emn": emn,
    "exkmc": exkmc,
    "kernel-imm": kernel_imm,
    "random-cuts": random_cuts,
    "ex-greedy": ex_greedy,
    "best-tree": best_tree,
    **STEPS,
}


def save(figure: Any, path: Path) -> None:
    """Write a picture of few colours: a third of the bytes, and no visible difference."""
    from io import BytesIO

    import matplotlib.pyplot as plt
    from PIL import Image

    raw = BytesIO()
    figure.savefig(raw, dpi=120)
    plt.close(figure)
    Image.open(raw).convert("RGB").quantize(128).save(path, optimize=True)


def draw_gallery(script: Path, path: Path) -> None:
    """Let a script of the gallery draw its picture."""
    from runpy import run_path

    import matplotlib as mpl

    mpl.rcdefaults()
    run_path(str(script))["main"](str(path))


def main(names: list[str]) -> None:
    """Draw the named pictures, or all."""
    scripts = {script.stem: script for script in sorted(GALLERY.glob("*.py"))}
    for name in names or [*FIGURES, *scripts]:
        folder = "methods" if name in FIGURES else "gallery"
        folder = {"story": "", **dict.fromkeys(STEPS, "steps")}.get(name, folder)
        path = IMAGES / folder / f"{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        if name in FIGURES:
            save(FIGURES[name](), path)
        else:
            draw_gallery(scripts[name], path)
        print(f"{path.relative_to(IMAGES.parents[1])}: {path.stat().st_size / 1024:.0f} KiB")


if __name__ == "__main__":
    main(sys.argv[1:])
