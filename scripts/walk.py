"""The files of the package that one fit passes, in the order in which they are entered.

    python scripts/walk.py [--engine histogram]

runs ``SpexClique(3).fit(X, y)`` on a small table and prints every file whose functions are called,
until the tree stands. Compiled kernels are entered through the files that call them.
"""

import argparse
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import spexplain
from spexplain import SpexClique

PACKAGE = Path(spexplain.__file__).parent


def files_passed(engine: str) -> list[str]:
    """Return the files in the order in which a fit enters them."""
    X = np.random.default_rng(0).normal(size=(90, 4))
    y = np.repeat([0, 1, 2], 30)
    X[:, 0] += 4.0 * y
    SpexClique(3, engine=engine).fit(X, y)  # imports and compiles, which the walk leaves out
    passed: dict[str, None] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(PACKAGE):
            passed.setdefault(str(path.relative_to(PACKAGE)))

    sys.setprofile(note)
    try:
        SpexClique(3, engine=engine).fit(X, y)
    finally:
        sys.setprofile(None)
    return list(passed)


def main() -> None:
    """Print the files and their number."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--engine", default="numpy", choices=("numpy", "histogram"))
    files = files_passed(parser.parse_args().engine)
    print("\n".join(files))
    print(f"{len(files)} files")


if __name__ == "__main__":
    main()
