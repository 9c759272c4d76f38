"""What `verbose` shows: one line per stage with its time, and a progress bar while leaves grow.

Lines go through the logger "spexplain", so programs can route them; while a verbose fit runs, they are
also written to the standard error stream.
"""

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LOGGER = logging.getLogger("spexplain")

_WIDTH = 30
_PATIENCE = 1.0  # seconds before a bar is worth showing
_PAUSE = 0.1  # seconds between two drawings


@contextmanager
def messages(verbose: int) -> Iterator[None]:
    """Write messages to the standard error stream while a verbose fit runs."""
    if not verbose or any(isinstance(each, _Terminal) for each in LOGGER.handlers):
        yield  # a fit within a verbose fit is already shown
        return
    handler, level = _Terminal(sys.stderr), LOGGER.level
    handler.setFormatter(logging.Formatter("%(message)s"))
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    try:
        yield
    finally:
        LOGGER.removeHandler(handler)
        LOGGER.setLevel(level)


class _Terminal(logging.StreamHandler):  # type: ignore[type-arg]
    """The handler of verbose fits, a class of its own to distinguish it from the user's handlers."""


@contextmanager
def stage(owner: str, name: str, *, always: bool = True) -> Iterator[Callable[[str], None]]:
    """Log how long a stage took and its result; without a result, only if `always` is set."""
    start, told = time.perf_counter(), [""]

    def tell(text: str) -> None:
        told[0] = f"  {text}"

    yield tell
    if always or told[0]:
        LOGGER.info("[%s] %-9s %8.3f s%s", owner, name, time.perf_counter() - start, told[0])


@contextmanager
def search_line(owner: str, verbose: int) -> Iterator[Callable[[str], None] | None]:
    """Yield a function that shows the progress of a search; only in a terminal, and only if it takes long."""
    if not verbose or not sys.stderr.isatty():
        yield None
        return
    start = last = time.perf_counter()
    drawn = False

    def draw(text: str) -> None:
        nonlocal last, drawn
        now = time.perf_counter()
        if now - start < _PATIENCE or now - last < _PAUSE:
            return
        last, drawn = now, True
        print(f"\r\x1b[K[{owner}] {text}", end="", file=sys.stderr, flush=True)

    try:
        yield draw
    finally:
        if drawn:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


@contextmanager
def leaf_bar(owner: str, n_leaves: int, verbose: int) -> Iterator[Callable[[int], None] | None]:
    """Yield a function that shows as a bar how many leaves have grown, where `search_line` shows anything."""
    with search_line(owner, verbose) as draw:
        if draw is None:
            yield None
            return

        def draw_bar(n_grown: int) -> None:
            full = _WIDTH * n_grown // n_leaves
            bar = "█" * full + "·" * (_WIDTH - full)
            draw(f"{bar} {n_grown}/{n_leaves} leaves")

        yield draw_bar
