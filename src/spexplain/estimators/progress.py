"""What `verbose` prints: one line per stage with its time, and a bar of the leaves while they grow."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_WIDTH = 30
_PATIENCE = 1.0  # seconds before a bar is worth showing
_PAUSE = 0.1  # seconds between two drawings


@contextmanager
def stage(owner: str, name: str, verbose: int) -> Iterator[None]:
    """Say how long a stage took, if asked to."""
    start = time.perf_counter()
    yield
    if verbose:
        seconds = time.perf_counter() - start
        print(f"[{owner}] {name:<9} {seconds:8.3f} s", file=sys.stderr, flush=True)


@contextmanager
def leaf_bar(owner: str, n_leaves: int, verbose: int) -> Iterator[Callable[[int], None] | None]:
    """Give a function that draws how many leaves have grown; only in a terminal, only if it takes long."""
    if not verbose or not sys.stderr.isatty():
        yield None
        return
    start = last = time.perf_counter()
    drawn = False

    def draw(n_grown: int) -> None:
        nonlocal last, drawn
        now = time.perf_counter()
        if now - start < _PATIENCE or now - last < _PAUSE:
            return
        last, drawn = now, True
        full = _WIDTH * n_grown // n_leaves
        bar = "█" * full + "·" * (_WIDTH - full)
        print(f"\r[{owner}] {bar} {n_grown}/{n_leaves} leaves", end="", file=sys.stderr, flush=True)

    try:
        yield draw
    finally:
        if drawn:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
