"""What no fit can go below on this machine: bytes in memory, work a value, imports, round trips.

    python benchmarks/limits.py [--quick]

One thread; seconds of the processor, the least of several runs, so that other work on the machine matters little.
Where a target is missed, `docs/performance.md` says by these figures what is in the way.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from data import mixture
from machine import compile_bytecode, describe, save, seconds, table

# What a process must load before it can do anything of the kind, one upon the other.
IMPORTS = {
    "Python": "pass",
    "NumPy": "import numpy",
    "Numba": "import numba",
    "polars": "import polars",
    "scikit-learn's trees": "import sklearn.tree",
    "spexplain": "import spexplain; spexplain.SpexClique",
    "spexplain and scikit-learn's trees": "import sklearn.tree; import spexplain; spexplain.SpexClique",
}


def least(function: Callable[[], Any], runs: int) -> float:
    """Return the least processor time of several runs, after one that loads what is needed."""
    function()
    spent = []
    for _ in range(runs):
        start = time.process_time()
        function()
        spent.append(time.process_time() - start)
    return min(spent)


def of_memory(n_rows: int, n_columns: int, runs: int) -> dict[str, float]:
    """Return how many bytes a second are copied and read, in a table that no cache holds."""
    X = np.ones((n_rows, n_columns), dtype=np.float32)
    copy = np.empty_like(X)
    return {
        "copied_gb_per_second": 2e-9 * X.nbytes / least(lambda: np.copyto(copy, X), runs),
        "read_gb_per_second": 1e-9 * X.nbytes / least(X.sum, runs),
    }


def of_values(n_rows: int, n_columns: int, runs: int) -> dict[str, float]:
    """Return nanoseconds a value: of putting it into its bin, and of counting it there."""
    from spexplain.kernels.labels import fill_histograms
    from spexplain.table.coding import MAX_BINS, N_CODES, binning_of, code

    case = mixture(n_rows, n_columns)
    sample = np.ascontiguousarray(case.X[:: max(1, n_rows // 4096)].T.astype(np.float64))
    binning = binning_of(sample, MAX_BINS)
    codes, rows = code(case.X, binning), np.arange(n_rows, dtype=np.int32)
    counts = np.zeros((n_columns, N_CODES, int(case.labels.max()) + 2), dtype=np.int32)
    marks, places = case.labels.astype(np.uint8), np.arange(n_columns)
    count = lambda: fill_histograms(codes, 0, places, rows, marks, 1, counts)  # noqa: E731
    nanoseconds = 1e9 / case.X.size
    return {
        "rows": n_rows,
        "columns": n_columns,
        "coding_nanoseconds": nanoseconds * least(lambda: code(case.X, binning), runs),
        "counting_nanoseconds": nanoseconds * least(count, runs),
    }


def of_calls(runs: int) -> dict[str, float]:
    """Return microseconds of a call of NumPy on few values, and of all of one fit beside the tree."""
    few = np.ones(8)
    calls = range(10_000)

    def add() -> None:
        for _ in calls:
            np.add(few, 1.0, out=few)

    return {"numpy_call_microseconds": 1e6 * least(add, runs) / len(calls)}


def of_imports(runs: int) -> dict[str, float]:
    """Return processor seconds of fresh processes."""
    import resource

    compile_bytecode()
    found = {}
    for name, line in IMPORTS.items():
        spent = []
        for _ in range(runs + 1):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, "-c", line], check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        found[name] = min(spent)
    return found


def of_requests(runs: int) -> dict[str, float]:
    """Return milliseconds of a request that asks nothing, to two workers of one machine."""
    from spexplain.table.workers import Workers
    from traffic import N_WORKERS, cluster

    with cluster("1GB"):
        workers = Workers()
        parts = workers.keep(workers.tasks("parts", _nothing, [(i,) for i in range(2 * N_WORKERS)]))
        workers.ask("wait", _nothing, [(part,) for part in parts])
        beside = [(part,) for part in parts]
        ask = lambda: workers.ask("nothing", _nothing, beside, beside=parts)  # noqa: E731
        ask()  # finds out where the parts lie
        return {"request_milliseconds": 1e3 * min(seconds(ask, 1) for _ in range(10 * runs))}


def _nothing(_: Any) -> np.ndarray:
    return np.zeros(1)


def markdown(results: dict[str, Any]) -> str:
    """Return the results as a page."""
    machine = ", ".join(f"{key} {value}" for key, value in results["machine"].items())
    values, memory = results["values"], results["memory"]
    shape = f"{values['rows']:,}×{values['columns']}"
    n_values = values["rows"] * values["columns"]
    both = 1e-9 * n_values * (values["coding_nanoseconds"] + values["counting_nanoseconds"])
    rows = [
        ["memory copied, read and written, GB/s", f"{memory['copied_gb_per_second']:.1f}"],
        ["memory read, GB/s", f"{memory['read_gb_per_second']:.1f}"],
        [f"coding, {shape}, ns a value", f"{values['coding_nanoseconds']:.2f}"],
        [f"counting in the root, {shape}, ns a value", f"{values['counting_nanoseconds']:.2f}"],
        ["both for the whole table, one thread, s", f"{both:.3f}"],
        ["a call of NumPy on eight values, µs", f"{results['calls']['numpy_call_microseconds']:.2f}"],
        ["a request to two Dask workers that asks nothing, ms", f"{results['requests']['request_milliseconds']:.1f}"],
    ]  # fmt: skip
    rows += [
        [f"fresh process: {name}, processor s", f"{spent:.2f}"]
        for name, spent in results["imports"].items()
    ]
    return "\n".join(
        [
            "# Limits",
            "",
            f"Made by `python benchmarks/limits.py`. {machine}.",
            "",
            "One thread, seconds of the processor (requests: of the clock), the least of several runs: what a fit "
            "cannot go below, whatever it does.",
            "",
            table(["what", "figure"], rows),
            "",
        ]
    )


def main() -> None:
    """Measure everything, print it, and write it to benchmarks/results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small tables, nothing written")
    quick = parser.parse_args().quick
    n_rows, n_columns, runs = (6_000, 64, 2) if quick else (60_000, 512, 5)
    start = time.perf_counter()
    results = {
        "machine": describe(),
        "memory": of_memory(n_rows, n_columns, runs),
        "values": of_values(n_rows, n_columns, runs),
        "calls": of_calls(runs),
        "imports": of_imports(runs),
        "requests": of_requests(runs),
    }
    print(markdown(results))
    print(f"{time.perf_counter() - start:.0f} s")
    if not quick:
        save("limits", results, markdown(results))


if __name__ == "__main__":
    main()
