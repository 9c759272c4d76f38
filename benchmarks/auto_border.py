"""Where compiled code begins to pay: both engines over sizes of tables, and what loading and compiling take.

Run with ``python benchmarks/auto_border.py [FILE]``; prints a table, or writes it to the file. The
borders that follow stand in `spexplain.kernels.readiness`.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np

from spexplain import CART, IMM, SpexClique

WIDTHS = (2, 20, 200)
SIZES = tuple(1000 * 2**power for power in range(12))  # values of a table
N_CLUSTERS = 8
METHODS = {"SpexClique": SpexClique, "CART": CART, "IMM": IMM}

START = """
import os
def cpu():
    return sum(os.times()[:2])
import numpy as np
from spexplain import SpexClique
X = np.random.default_rng(0).normal(size=(60_000, 20))
y = np.digitize(X[:, 0], [-1.0, -0.5, 0.0, 0.5, 1.0, 1.5])
at_import = cpu()
import numba
import spexplain.engines.histogram
at_fit = cpu()
explainer = SpexClique(7, engine="histogram").fit(X, y)
at_end = cpu()
explainer.fit(X, y)
print(at_fit - at_import, (at_end - at_fit) - (cpu() - at_end))
"""


def table(n_rows: int, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows around centres, and the numbers of these."""
    random = np.random.default_rng(n_rows)
    labels = random.integers(N_CLUSTERS, size=n_rows)
    labels[:N_CLUSTERS] = np.arange(N_CLUSTERS)
    centers = random.normal(size=(N_CLUSTERS, n_columns))
    return centers[labels] + random.normal(size=(n_rows, n_columns)), labels


def seconds(step: Callable[[], object]) -> float:
    """Return the least processor time of several runs, after one that is not counted."""
    step()
    times: list[float] = []
    while len(times) < 3 or (len(times) < 9 and sum(times) < 0.3):
        start = time.process_time()
        step()
        times.append(time.process_time() - start)
    return min(times)


def first_fits() -> tuple[list[float], list[float]]:
    """Return the seconds to import Numba, and those of the first fit beyond the second: compiling, and loading."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        runs = [
            subprocess.run(
                [sys.executable, "-c", START],
                env=environment,
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            for _ in range(4)
        ]
    compiling, *loading = ([float(word) for word in run.split()] for run in runs)
    return compiling, [median(times) for times in zip(*loading, strict=True)]


def lines() -> list[str]:
    """Return the report."""
    found = [
        "# Where compiled code begins to pay",
        "",
        "Milliseconds of processor time of a fit with given labels (8 clusters, float64), in a process that",
        'has already used the compiled kernels. `python benchmarks/auto_border.py`; "auto" follows from it.',
    ]
    for name, method in METHODS.items():
        found += [
            "",
            f"## {name}",
            "",
            "| values | "
            + " | ".join(f"{width} columns: numpy | compiled | auto" for width in WIDTHS)
            + " |",
            "|---:|" + "---:|" * (3 * len(WIDTHS)),
        ]
        for size in SIZES:
            cells = []
            for width in WIDTHS:
                if size // width < 2 * N_CLUSTERS:
                    cells += ["", "", ""]
                    continue
                X, labels = table(size // width, width)
                for engine in ("numpy", "histogram", "auto"):
                    explainer = method(N_CLUSTERS, engine=engine)
                    cells.append(f"{1000 * seconds(lambda: explainer.fit(X, labels)):.1f}")  # noqa: B023
            found.append(f"| {size:,} | " + " | ".join(cells) + " |")
    compiling, loading = first_fits()
    found += [
        "",
        "## The first compiled fit of a process (SpexClique)",
        "",
        "| | import of Numba | kernels |",
        "|---|---:|---:|",
        f"| nothing kept on disk: compiled | {compiling[0]:.2f} s | {compiling[1]:.2f} s |",
        f"| kept on disk: loaded | {loading[0]:.2f} s | {loading[1]:.2f} s |",
    ]
    return found


if __name__ == "__main__":
    text = "\n".join(lines()) + "\n"
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(text, encoding="utf-8")
    else:
        print(text)
