"""The command line beside a script of pandas and scikit-learn, whole processes, and the memory of predict.

    python benchmarks/cli.py [--quick]

Everything is measured from the start of a process to its end: imports, reading, fitting, printing.
pandas reads Parquet by pyarrow, which has to be installed for this.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from data import mixture
from machine import compile_bytecode, describe, save, table

N_COLUMNS, N_CLUSTERS = 20, 10
RIVAL = """
import sys
import pandas as pd
from sklearn.tree import DecisionTreeClassifier
frame = pd.read_parquet(sys.argv[1])
labels = frame.pop("cluster")
tree = DecisionTreeClassifier(max_leaf_nodes=int(sys.argv[2]), random_state=0).fit(frame, labels)
print(tree.get_n_leaves(), tree.score(frame, labels))
"""


# A process starts with the peak of its parent (Linux), so a small one stands between.
LAUNCHER = """
import json, os, subprocess, sys, time
start = time.perf_counter()
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(child.pid, 0)
seconds = time.perf_counter() - start
cpu = usage.ru_utime + usage.ru_stime
peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
child.returncode = os.waitstatus_to_exitcode(status)
print(json.dumps([child.returncode, seconds, cpu, peak]))
"""


class Run(NamedTuple):
    """A process that has ended."""

    seconds: float
    cpu_seconds: float  # of all threads
    peak_bytes: int


def process(*command: str) -> Run:
    """Run Python with these arguments; its output is not looked at, but it must succeed."""
    launch = [sys.executable, "-S", "-c", LAUNCHER, sys.executable, *command]
    status, *measures = json.loads(
        subprocess.run(launch, stdout=subprocess.PIPE, check=True).stdout
    )
    if status:
        raise SystemExit(f"{' '.join(command)} ended with status {status}.")
    return Run(*measures)


def median(runs: list[Run]) -> Run:
    """Return the median time and the highest peak."""
    return Run(
        statistics.median(run.seconds for run in runs),
        statistics.median(run.cpu_seconds for run in runs),
        max(run.peak_bytes for run in runs),
    )


def write_table(folder: Path, n_rows: int) -> Path:
    """Write a table with its clusters, part by part so that this process stays small."""
    import polars as pl

    parts, step = [], min(n_rows, 1_000_000)
    for seed in range(n_rows // step):
        case = mixture(step, N_COLUMNS, N_CLUSTERS, seed=seed)
        frame = pl.DataFrame(case.X, schema=[f"x{column}" for column in range(N_COLUMNS)])
        parts.append(folder / f"part{seed}.parquet")
        frame.with_columns(pl.Series("cluster", case.labels)).write_parquet(parts[-1])
    path = folder / f"{n_rows}.parquet"
    pl.scan_parquet(parts).sink_parquet(path)
    for part in parts:
        part.unlink()
    return path


def measure_explain(path: Path, n_rows: int, runs: int) -> list[dict[str, Any]]:
    """Return the whole time of our command and of the script, on the same file."""
    explain = ("-m", "spexplain", "explain", str(path), "--labels", "cluster", "--quiet")
    commands = {
        "spexplain explain --method spex-clique": (*explain, "--method", "spex-clique"),
        "spexplain explain (best)": explain,
        "spexplain explain --method cart": (*explain, "--method", "cart"),
        "pandas + DecisionTreeClassifier": ("-c", RIVAL, str(path), str(N_CLUSTERS)),
    }
    records = []
    for name, command in commands.items():
        found = median([process(*command) for _ in range(runs)])
        records.append(
            {
                "command": name,
                "rows": n_rows,
                "seconds": found.seconds,
                "cpu_seconds": found.cpu_seconds,
                "peak_mib": found.peak_bytes / 2**20,
            }
        )
        print(records[-1], flush=True)
    return records


def measure_predict(folder: Path, sizes: list[int]) -> list[dict[str, Any]]:
    """Return time and peak memory of predict as rows grow."""
    records: list[dict[str, Any]] = []
    model = folder / "model.json"
    for n_rows in sizes:
        path = write_table(folder, n_rows)
        if not model.exists():
            process(
                "-m", "spexplain", "explain", str(path), "--labels", "cluster", "--quiet",
                "--method", "spex-clique", "--json", str(model),
            )  # fmt: skip
        for suffix in ("parquet", "csv"):
            output = folder / f"out.{suffix}"
            found = process(
                "-m", "spexplain", "predict", str(model), str(path), "-o", str(output), "--quiet",
            )  # fmt: skip
            output.unlink()
            records.append(
                {
                    "rows": n_rows,
                    "output": suffix,
                    "file_mib": path.stat().st_size / 2**20,
                    "seconds": found.seconds,
                    "cpu_seconds": found.cpu_seconds,
                    "peak_mib": found.peak_bytes / 2**20,
                }
            )
            print(records[-1], flush=True)
        path.unlink()
    return records


def measure_start(runs: int) -> dict[str, float]:
    """Return the seconds of commands that compute nothing."""
    return {
        name: median([process("-m", "spexplain", name) for _ in range(runs)]).seconds
        for name in ("--version", "--help")
    }


def markdown(results: dict[str, Any]) -> str:
    """Return the results as a page."""
    machine = ", ".join(f"{key} {value}" for key, value in results["machine"].items())
    rival = results["explain"][-1]["seconds"]
    explain = [
        [
            each["command"],
            f"{each['rows']:,}",
            f"{each['seconds']:.2f}",
            f"{rival / each['seconds']:.1f}",
            f"{each['cpu_seconds']:.2f}",
            f"{each['peak_mib']:,.0f}",
        ]
        for each in results["explain"]
    ]
    predict = [
        [
            f"{each['rows']:,}",
            each["output"],
            f"{each['file_mib']:,.0f}",
            f"{each['seconds']:.2f}",
            f"{each['cpu_seconds']:.2f}",
            f"{each['peak_mib']:,.0f}",
        ]
        for each in results["predict"]
    ]
    start = ", ".join(f"`{name}` {value:.2f} s" for name, value in results["start"].items())
    return "\n".join(
        [
            "# The command line",
            "",
            f"Made by `{results['command']}`. {machine}.",
            "",
            f"Whole processes on one Parquet file of {N_COLUMNS} float32 columns with {N_CLUSTERS} given "
            "clusters, after `spexplain warmup`; medians.",
            "",
            table(
                ["command", "rows", "seconds", "script / ours", "CPU seconds", "peak MiB"], explain
            ),
            "",
            "## predict streams",
            "",
            table(["rows", "output", "input MiB", "seconds", "CPU seconds", "peak MiB"], predict),
            "",
            f"Start: {start}.",
            "",
        ]
    )


def main() -> None:
    """Measure everything, print it, and write it to benchmarks/results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small tables only, nothing written")
    quick = parser.parse_args().quick
    n_rows = 100_000 if quick else 1_000_000
    runs = 1 if quick else 3
    compile_bytecode()
    process("-m", "spexplain", "warmup")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = write_table(folder, n_rows)
        results = {
            "machine": describe(),
            "command": "python benchmarks/cli.py",
            "explain": measure_explain(path, n_rows, runs),
            "predict": measure_predict(folder, [n_rows, 4 * n_rows]),
            "start": measure_start(runs),
        }
    if quick:
        print(markdown(results))
    else:
        save("cli", results, markdown(results))


if __name__ == "__main__":
    main()
