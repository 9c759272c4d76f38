"""The animation of the README: a threshold is dragged in the studio, a leaf added, the SQL exported.

``python docs/scripts/studio_animation.py docs/images/studio.gif`` draws it with the Chromium of this machine.
"""

import io
import shutil
import sys
import threading
from doctest import DocTestParser
from pathlib import Path
from typing import Any

import numpy as np

from spexplain import BestTree
from spexplain.references.named import cluster

DOCS = Path(__file__).parents[1]
WIDTH, HEIGHT = 1280, 760
SHOWN = 1000  # points of the picture's width
N_COLORS = 128
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def customers() -> tuple[Any, Any]:
    """Return the customers of the tutorial for analysts and their habits, by the code of that page."""
    names: dict[str, Any] = {}
    for example in DocTestParser().get_examples((DOCS / "analysts.md").read_text("utf-8")):
        if "scaled" in example.source:
            break
        exec(compile(example.source, "analysts.md", "exec"), names)
    return names["table"], names["habits"]


def explained() -> Any:
    """Return the best tree for five groups of customers, named by what they stand out for."""
    table, numbers = customers()
    scaled = ((numbers - numbers.mean()) / numbers.std()).to_numpy()
    groups = np.asarray(cluster("kmeans", scaled, 5, 0))
    middle = numbers.groupby(groups).median()
    names = dict.fromkeys(range(5), "regular")
    for name, column, most in (
        ("big basket", "basket_eur", True),
        ("bargain", "discount_share", True),
        ("gone", "days_since_last_order", True),
        ("sends back", "return_share", True),
    ):
        free = middle[[names[each] == "regular" for each in middle.index]][column]
        names[int(free.idxmax() if most else free.idxmin())] = name
    segments = [names[int(each)] for each in groups]
    return BestTree(n_leaves=5).fit(table.drop(columns=["customer"]), segments)


class Film:
    """Pictures of a page, with the pointer that a screenshot leaves out."""

    def __init__(self, page: Any) -> None:
        self.page, self.at = page, (WIDTH - 320.0, HEIGHT - 60.0)
        self.frames: list[Any] = []
        self.times: list[int] = []

    def take(self, milliseconds: int = 90) -> None:
        """Add a picture that is shown for so long."""
        from PIL import Image, ImageDraw

        picture = Image.open(io.BytesIO(self.page.screenshot())).convert("RGB")
        x, y = self.at
        arrow = [(0, 0), (0, 17), (4, 13.5), (7, 20), (9.5, 19), (6.7, 12.6), (12, 12.4)]
        ImageDraw.Draw(picture).polygon(
            [(x + dx, y + dy) for dx, dy in arrow], fill="#111111", outline="#ffffff"
        )
        height = round(SHOWN * HEIGHT / WIDTH)
        self.frames.append(picture.resize((SHOWN, height), Image.Resampling.LANCZOS))
        self.times.append(milliseconds)

    def move(self, x: float, y: float, n_frames: int = 5) -> None:
        """Move the pointer, slowly at both ends."""
        x0, y0 = self.at
        for step in range(1, n_frames + 1):
            share = (1 - np.cos(np.pi * step / n_frames)) / 2
            self.at = x0 + share * (x - x0), y0 + share * (y - y0)
            self.page.mouse.move(*self.at)
            self.page.wait_for_timeout(60)
            self.take()

    def point(self, selector: str, n_frames: int = 5) -> None:
        """Move the pointer onto something."""
        box = self.page.locator(selector).first.bounding_box()
        self.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, n_frames)

    def click(self, selector: str, wait: str) -> None:
        """Click something, and film until something else is there."""
        self.point(selector)
        self.page.mouse.click(*self.at)
        for _ in range(3):
            self.page.wait_for_timeout(60)
            self.take()
        self.page.wait_for_selector(wait)
        self.page.wait_for_timeout(400)

    def write(self, path: Path) -> None:
        """Write all pictures with one palette."""
        from PIL import Image

        chosen = self.frames[:: max(1, len(self.frames) // 8)]
        sheet = Image.new("RGB", (SHOWN, sum(each.height for each in chosen)))
        top = 0
        for each in chosen:
            sheet.paste(each, (0, top))
            top += each.height
        palette = sheet.quantize(N_COLORS, method=Image.Quantize.MEDIANCUT)
        first, *others = (
            each.quantize(palette=palette, dither=Image.Dither.NONE) for each in self.frames
        )
        first.save(
            path, save_all=True, append_images=others, duration=self.times, loop=0, optimize=True
        )


def story(film: Film) -> None:
    """Drag a threshold to a round number, apply it, add a leaf and export."""
    page = film.page
    page.wait_for_selector(".card")
    page.wait_for_timeout(500)
    film.take(1200)
    film.click(".card.is-test", ".inspector:not([hidden]) .grip")
    film.take(700)
    film.point(".grip")
    x, y = film.at
    page.mouse.down()
    film.move(x + 75, y, 9)
    film.move(x - 45, y, 11)
    tick = page.locator(".chart .axis text", has_text="0.2").bounding_box()
    film.move(tick["x"] + tick["width"] / 2, y, 7)
    page.mouse.up()
    page.wait_for_timeout(500)
    film.take(900)
    film.click(".apply", ".undo:not(:disabled)")
    film.take(900)
    film.click(".add-leaf", ".delta.is-up")
    film.take(1300)
    film.click(".open-export", "dialog pre")
    film.take(2600)


def main(path: Path) -> None:
    """Serve a tree, film its page and write the animation."""
    from playwright.sync_api import sync_playwright

    from spexplain.studio import Session
    from spexplain.studio.server import Served

    served = Served(Session(explained(), name="customers.csv", labels="segment"))
    threading.Thread(target=served.run, daemon=True).start()
    found = next(place for name in BROWSERS if (place := shutil.which(name)))
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        page = chromium.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(served.address)
        film = Film(page)
        story(film)
        chromium.close()
    served.server.should_exit = True
    film.write(path)
    sys.stdout.write(f"{path}: {len(film.frames)} pictures, {path.stat().st_size / 1e6:.2f} MB\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
