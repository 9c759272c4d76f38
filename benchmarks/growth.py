"""Time against rows, up to what fits into memory: ours beside scikit-learn, LightGBM and ConTree.

    python benchmarks/growth.py [--most 10000000] [--limit 120] [--methods SpexClique IMM]

Every figure comes from a process of its own, which fits a small table first (that compiles) and then takes the
best of several fits, or the only one where it takes ten seconds. Where a process runs into the limit or out of memory,
larger tables are not tried. Those that are not installed are left out: ``pip install "lightgbm>=4" "pycontree>=1"``.
"""

import argparse
import json
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from machine import RESULTS, describe, save, table

N_COLUMNS, N_CLUSTERS, N_LEAVES = 8, 5, 10
SIZES = tuple(10**power for power in range(3, 9))
IMAGE = Path(__file__).parent.parent / "docs" / "images" / "growth.png"
_CHUNK = 1_000_000
_MOST_TO_WARM_UP = 200_000  # rows of the first fit, which loads and compiles
_LEAST_SECONDS = 10.0  # that the fits of one figure take together, or five fits


def rows_of(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a Gaussian mixture in float32, and its labels, of which a tenth are drawn anew; in pieces, for memory."""
    rng = np.random.default_rng(0)
    centers = (2.0 * rng.normal(size=(N_CLUSTERS, N_COLUMNS))).astype(np.float32)
    X, labels = np.empty((n, N_COLUMNS), dtype=np.float32), np.empty(n, dtype=np.int8)
    for start in range(0, n, _CHUNK):
        stop = min(start + _CHUNK, n)
        own = rng.integers(0, N_CLUSTERS, size=stop - start, dtype=np.int8)
        X[start:stop] = centers[own]
        X[start:stop] += rng.standard_normal(size=(stop - start, N_COLUMNS), dtype=np.float32)
        drawn = rng.integers(0, N_CLUSTERS, size=stop - start, dtype=np.int8)
        labels[start:stop] = np.where(rng.random(stop - start) < 0.1, drawn, own)
    return X, labels


def _ours(name: str) -> Callable[[], Callable[[Any, Any], Any]]:
    def make() -> Callable[[Any, Any], Any]:
        import spexplain

        n_leaves = {} if name in ("IMM", "EMN") else {"n_leaves": N_LEAVES}
        return lambda X, y: getattr(spexplain, name)(n_jobs=-1, **n_leaves).fit(X, y)

    return make


def _scikit_learn() -> Callable[[Any, Any], Any]:
    from sklearn.tree import DecisionTreeClassifier

    return lambda X, y: DecisionTreeClassifier(max_leaf_nodes=N_LEAVES, random_state=0).fit(X, y)


def _lightgbm() -> Callable[[Any, Any], Any]:
    import lightgbm

    parameters = {
        "objective": "regression",
        "num_leaves": N_LEAVES,
        "learning_rate": 1.0,
        "verbose": -1,
        "num_threads": 0,
    }
    # Several classes would take a tree each: one tree for the codes of the clusters is what it does fastest.
    return lambda X, y: lightgbm.train(parameters, lightgbm.Dataset(X, y), num_boost_round=1)


def _contree() -> Callable[[Any, Any], Any]:
    import pandas as pd
    from pycontree import ConTree

    # The best of all trees of depth two, which takes it less than ten leaves would.
    return lambda X, y: ConTree(max_depth=2).fit(pd.DataFrame(X.astype(np.float64)), y.astype(int))


METHODS: dict[str, tuple[str | None, Callable[[], Callable[[Any, Any], Any]]]] = {
    "SpexClique": (None, _ours("SpexClique")),
    "CART": (None, _ours("CART")),
    "IMM": (None, _ours("IMM")),
    "scikit-learn's tree": (None, _scikit_learn),
    "LightGBM, one tree": ("lightgbm", _lightgbm),
    "ConTree, depth 2": ("pycontree", _contree),
}
STYLES = {
    "SpexClique": ("o-", "#0072b2"),
    "CART": ("o--", "#56b4e9"),
    "IMM": ("o:", "#009e73"),
    "scikit-learn's tree": ("s-", "#d55e00"),
    "LightGBM, one tree": ("^-", "#cc79a7"),
    "ConTree, depth 2": ("v-", "#999999"),
}


def measured(method: str, n: int) -> dict[str, float]:
    """Return the least seconds of several fits, and the most memory of the process."""
    import resource

    fit = METHODS[method][1]()
    fit(*rows_of(min(n, _MOST_TO_WARM_UP)))
    X, labels = rows_of(n)
    times: list[float] = []
    while len(times) < 5 and sum(times) < _LEAST_SECONDS:
        start = time.perf_counter()
        fit(X, labels)
        times.append(time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"seconds": min(times), "peak_over_table": peak / X.nbytes}


def in_own_process(method: str, n: int, limit: float) -> dict[str, Any]:
    """Return what `measured` does, or why there is nothing."""
    command = [sys.executable, __file__, "--one", method, str(n)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return {"why_not": f"more than {limit:.0f} s"}
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or [f"ended with {done.returncode}"]
        return {
            "why_not": "out of memory" if "Memory" in last[0] or done.returncode < 0 else last[0]
        }
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def plot(records: list[dict[str, Any]]) -> None:
    """Draw seconds against rows, both logarithmic; a straight line of slope one is linear growth."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for method, (style, color) in STYLES.items():
        points = [
            (record["rows"], record["seconds"])
            for record in records
            if record["method"] == method and "seconds" in record
        ]
        if points:
            axes.loglog(*zip(*points, strict=True), style, color=color, label=method, markersize=5)
    axes.set(
        xlabel="rows",
        ylabel="seconds",
        title=f"One fit of {N_COLUMNS} columns, {N_CLUSTERS} clusters, {N_LEAVES} leaves",
    )
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.grid(visible=True, which="major", color="#dddddd", linewidth=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(frameon=False, fontsize=9)
    figure.savefig(IMAGE, dpi=150)


def markdown(results: dict[str, Any]) -> str:
    """Return the results as a page."""
    machine = ", ".join(f"{key} {value}" for key, value in results["machine"].items())
    sizes = sorted({record["rows"] for record in results["growth"]})
    cells: dict[str, dict[int, str]] = {}
    for record in results["growth"]:
        seconds = record.get("seconds")
        text = record.get("why_not", "") if seconds is None else f"{seconds:.3g}"
        cells.setdefault(record["method"], {})[record["rows"]] = text
    rows = [[method, *(own.get(size, "") for size in sizes)] for method, own in cells.items()]
    return "\n".join(
        [
            "# Growth",
            "",
            f"Made by `{results['command']}`. {machine}.",
            "",
            f"Seconds of one fit, labels given: {N_COLUMNS} columns of float32, {N_CLUSTERS} clusters of which a tenth "
            f"of the labels are wrong, {N_LEAVES} leaves (IMM: one per cluster). Each figure is the best of several "
            "fits in a process of its own (the only one where it takes more than ten seconds), on all processors where "
            "the method uses them. Where a process takes longer than its limit, larger tables are not tried. "
            "LightGBM grows one tree of least squares for the codes of the clusters; ConTree "
            "finds the best tree of depth two.",
            "",
            table(["method", *(f"{size:,}" for size in sizes)], rows),
            "",
            "![Seconds against rows](../../docs/images/growth.png)",
            "",
        ]
    )


def main() -> None:
    """Measure all methods on all sizes, size by size; write page and picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most", type=int, default=10**7, help="most rows")
    parser.add_argument(
        "--least", type=int, default=0, help="least rows; smaller tables keep the last figures"
    )
    parser.add_argument("--limit", type=float, default=120.0, help="most seconds of a process")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--one", nargs=2, metavar=("METHOD", "ROWS"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measured(given.one[0], int(given.one[1]))))
        return
    last = json.loads((RESULTS / "growth.json").read_text()) if given.least else {"growth": []}
    records: list[dict[str, Any]] = [
        record for record in last["growth"] if record["rows"] < given.least
    ]
    ended = {record["method"] for record in records if "why_not" in record}
    for n in (size for size in SIZES if given.least <= size <= given.most):
        for method in given.methods:
            package = METHODS[method][0]
            if method in ended or (package is not None and find_spec(package) is None):
                continue
            found = in_own_process(method, n, given.limit)
            if "why_not" in found:
                ended.add(method)
            records.append({"method": method, "rows": n, **found})
            print(records[-1], flush=True)
        # After every size: the largest may take hours.
        command = shlex.join(["python", "benchmarks/growth.py", *sys.argv[1:]])
        if given.least:
            command = f"{last['command']}` and `{command}"
        results = {
            "machine": describe(),
            "command": command,
            "limit": given.limit,
            "growth": records,
        }
        save("growth", results, markdown(results))
        plot(records)


if __name__ == "__main__":
    main()
