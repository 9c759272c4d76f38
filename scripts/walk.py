"""The files of the package that one fit passes, in the order in which they are entered.

    python scripts/walk.py [--engine histogram]

runs ``SpexClique(3).fit(X, y)`` on a small table and prints every file whose functions are called, first until
the tree has grown, then until the end of the fit. Compiled kernels are entered through the files that call them.
"""

import argparse
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import spexplain
from spexplain import SpexClique
from spexplain.grow import grow

PACKAGE = Path(spexplain.__file__).parent


def files_passed(engine: str) -> tuple[list[str], list[str]]:
    """Return the files in the order in which a fit enters them: until the tree has grown, and after that."""
    X = np.random.default_rng(0).normal(size=(90, 4))
    y = np.repeat([0, 1, 2], 30)
    X[:, 0] += 4.0 * y
    SpexClique(3, engine=engine).fit(X, y)  # imports and compiles, which the walk leaves out
    passed: dict[str, bool] = {}
    has_grown = False

    def note(frame: FrameType, event: str, _: Any) -> None:
        nonlocal has_grown
        code = frame.f_code
        path = Path(code.co_filename)
        if event == "call" and path.is_relative_to(PACKAGE):
            passed.setdefault(str(path.relative_to(PACKAGE)), has_grown)
        has_grown |= event == "return" and code is grow.__code__

    sys.setprofile(note)
    try:
        SpexClique(3, engine=engine).fit(X, y)
    finally:
        sys.setprofile(None)
    before, after = ([file for file in passed if passed[file] == late] for late in (False, True))
    return before, after


def main() -> None:
    """Print the files and their number."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--engine", default="numpy", choices=("numpy", "histogram"))
    before, after = files_passed(parser.parse_args().engine)
    print("\n".join([*before, f"{len(before)} files until the tree has grown", *after]))
    print(f"{len(before) + len(after)} files until the end of the fit")


if __name__ == "__main__":
    main()
