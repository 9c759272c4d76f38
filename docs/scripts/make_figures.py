"""Draw the pictures of the README, of the method pages and of the gallery: python docs/scripts/make_figures.py [names].

Every picture of a method is made from a small generated table, so it needs no download and always looks
the same; the story of the README needs the table Pathbased. The pictures of the gallery are made by the
code that stands under them in docs/gallery.md, that of the report by the code of docs/start.md and a browser. ``paper``
stands for the pictures that ``spexplain paper`` has drawn.

Each picture has a twin for dark pages, ``name-dark.png``: the same with light and dark exchanged. The site shows
it by ``dark_pages.py``, the README by prefers-color-scheme.
"""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from center_figures import best_tree, emn, ex_greedy, exkmc, imm, kernel_imm, random_cuts
from graph_figures import cart, non_uniform_cut, spex_clique, spex_graph, spex_knn
from step_figures import STEPS
from story_figure import story

IMAGES = Path(__file__).parents[1] / "images"
START = Path(__file__).parents[1] / "start.md"
GALLERY = Path(__file__).parents[1] / "gallery.md"
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


# Maps and photographs keep their colours: these are drawn on a dark ground instead.
DRAWN_DARK = ("photo", "regions")
GROUND = "#16181d"  # of the twins
PALE, STRONG = 0.2, 0.3  # differences of the channels: pale colours may turn dark,
LEAST_LIGHT = 0.5  # strong ones not beyond this lightness


def save(figure: Any, path: Path) -> None:
    """Write a picture of few colours: a third of the bytes, and no visible difference."""
    from io import BytesIO

    import matplotlib.pyplot as plt
    from PIL import Image

    raw = BytesIO()
    figure.savefig(raw, dpi=120)
    plt.close(figure)
    Image.open(raw).convert("RGB").quantize(128).save(path, optimize=True)
    save_twin(path)


def twin(path: Path) -> Path:
    """Return where the picture for dark pages lies."""
    return path.with_name(f"{path.stem}-dark{path.suffix}")


def save_twin(path: Path) -> None:
    """Write a picture with light and dark exchanged; hues stay, and strong colours do not get dark."""
    import numpy as np
    from PIL import Image

    values = np.asarray(Image.open(path).convert("RGB")) / 255
    lightness = (values.max(axis=2) + values.min(axis=2)) / 2
    darkest, lightest = int(GROUND[1:3], 16) / 255, 0.95
    wanted = lightest - (lightest - darkest) * lightness
    # Pale grounds turn dark, but points and lines in light colours must remain visible on them.
    strength = values.max(axis=2) - values.min(axis=2)
    is_strong = ((strength - PALE) / (STRONG - PALE)).clip(0, 1)
    wanted += is_strong * (LEAST_LIGHT - wanted).clip(0)
    # The same hue and saturation at another lightness: distances from grey keep their share of what is possible.
    room, space = (1 - np.abs(2 * each - 1) for each in (lightness, wanted))
    scale = np.divide(space, room, out=np.zeros_like(room), where=room > 1e-6)
    found = wanted[..., None] + (values - lightness[..., None]) * scale[..., None]
    picture = Image.fromarray((found.clip(0, 1) * 255).round().astype(np.uint8))
    picture.quantize(128).save(twin(path), optimize=True)


class Story(NamedTuple):
    """A picture of the gallery: the code under it, and what the code prints."""

    code: str
    prints: str


def stories() -> dict[str, Story]:
    """Return the pictures of the gallery by name, as the page has them."""
    parts = r"\(images/gallery/(\w+)\.png\)\n\n```python\n(.*?)```\n\n```text\n(.*?)```"
    found = re.findall(parts, GALLERY.read_text("utf-8"), re.DOTALL)
    return {name: Story(code, prints) for name, code, prints in found}


def run_story(name: str) -> None:
    """Run the code under a picture, which writes ``name.png`` into the folder at hand."""
    import matplotlib.pyplot as plt

    exec(compile(stories()[name].code, f"gallery.md: {name}", "exec"), {"__name__": name})
    plt.close("all")


def draw_gallery(name: str, path: Path) -> None:
    """Let the gallery draw a picture."""
    from contextlib import chdir
    from shutil import copyfile
    from tempfile import TemporaryDirectory

    import matplotlib as mpl
    import matplotlib.pyplot as plt

    mpl.rcdefaults()
    mpl.use("Agg")
    with TemporaryDirectory() as folder, chdir(folder):
        run_story(name)
        copyfile(f"{name}.png", path)
        if name not in DRAWN_DARK:
            save_twin(path)
            return
        with plt.style.context("dark_background"), mpl.rc_context({"figure.facecolor": GROUND}):
            run_story(name)
        copyfile(f"{name}.png", twin(path))


def draw_report(path: Path) -> None:
    """Let the first page write its report, and a browser show the top of it and the tree, light and dark."""
    import shutil
    from contextlib import chdir
    from doctest import DocTestParser
    from tempfile import TemporaryDirectory

    from PIL import Image
    from playwright.sync_api import sync_playwright

    names = ("chromium", "chromium-browser", "google-chrome")
    browser = next(found for name in names if (found := shutil.which(name)))
    with TemporaryDirectory() as folder, chdir(folder), sync_playwright() as playwright:
        known: dict[str, Any] = {}
        for each in DocTestParser().get_examples(START.read_text("utf-8")):
            exec(compile(each.source, "start.md", "single"), known)
            if ".report(" in each.source:
                break
        report = Path(folder) / "iris.html"
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        for scheme, target in (("light", path), ("dark", twin(path))):
            page = chromium.new_page(
                viewport={"width": 860, "height": 1150},
                color_scheme=scheme,
                reduced_motion="reduce",
            )
            page.goto(report.as_uri())
            page.screenshot(path=target, full_page=True)
            whole = Image.open(target).convert("RGB")
            # What lies above the segments, then the tree, which is further down.
            head = page.locator("h2", has_text="Segments").first.bounding_box()
            tree = page.locator("section, article", has=page.locator("h2", has_text="The tree"))
            box = tree.last.bounding_box()
            assert head is not None
            assert box is not None
            parts = [(0, head["y"] - 20), (box["y"], box["y"] + box["height"] + 16)]
            cut = [whole.crop((0, round(a), whole.width, round(b))) for a, b in parts]
            shown = Image.new("RGB", (whole.width, sum(each.height for each in cut)))
            shown.paste(cut[0], (0, 0))
            shown.paste(cut[1], (0, cut[0].height))
            shown.quantize(128).save(target, optimize=True)
        chromium.close()


def main(names: list[str]) -> None:
    """Draw the named pictures, or all."""
    for name in names or [*FIGURES, *stories(), "report", "paper", "growth"]:
        if name in ("paper", "growth"):  # drawn by `make paper` and `make bench-growth`
            for path in [each for each in IMAGES.glob(f"{name}*.png") if "-dark" not in each.name]:
                save_twin(path)
            continue
        folder = "methods" if name in FIGURES else "gallery"
        folder = {"story": "", "report": "", **dict.fromkeys(STEPS, "steps")}.get(name, folder)
        path = IMAGES / folder / f"{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        if name == "report":
            draw_report(path)
        elif name in FIGURES:
            save(FIGURES[name](), path)
        else:
            draw_gallery(name, path)
        print(f"{path.relative_to(IMAGES.parents[1])}: {path.stat().st_size / 1024:.0f} KiB")


if __name__ == "__main__":
    main(sys.argv[1:])
