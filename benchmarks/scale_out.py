"""The Dask engine: beside the in-memory engine, out of core from Parquet, and the bytes that travel.

    python benchmarks/scale_out.py [--rows 5e6] [--traffic-rows 1.28e7] [--parquet-rows 2e8] [--quick]

Two worker processes of one thread each. The trees of both engines are compared.
"""

import argparse
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from data import mixture
from machine import RESULTS, describe, save, seconds, table
from traffic import N_WORKERS, between_workers, cluster, objective_of, sent, traffic

ROWS_PER_FILE = 1_000_000


def in_memory(n_rows: int, n_columns: int, runs: int) -> dict[str, Any]:
    """Return the times of both engines on rows that the workers, or this process, hold in memory."""
    from distributed import wait

    from spexplain import SpexClique

    case = mixture(n_rows, n_columns)
    alone = SpexClique(engine="histogram", n_jobs=N_WORKERS)
    alone.fit(case.X, case.labels)  # compiles
    alone_seconds = seconds(lambda: alone.fit(case.X, case.labels), runs)
    with cluster("8GB"):
        size = -(-n_rows // (2 * N_WORKERS))
        X, y = (sent(whole, size) for whole in (case.X, case.labels))
        wait([X, y])
        together = SpexClique()
        together.fit(X, y)  # compiles in the workers
        load = os.getloadavg()[0]
        both = seconds(lambda: together.fit(X, y), runs)
        tree_only = seconds(lambda: _grown(X, y), runs)
    alone_tree = seconds(lambda: _grown_alone(case.X, case.labels), runs)
    return {
        "rows": n_rows,
        "columns": n_columns,
        "histogram_seconds": alone_seconds,
        "dask_seconds": both,
        "histogram_tree_seconds": alone_tree,
        "dask_tree_seconds": tree_only,
        "same_tree": bool(alone.tree_ == together.tree_),
        "load": load,
    }


def _grown(X: Any, y: Any) -> Any:
    from spexplain.engines.dask import DaskEngine
    from spexplain.grow import grow

    return grow(DaskEngine().bind(X, objective_of(y)), max_leaves=10)


def _grown_alone(X: np.ndarray, y: np.ndarray) -> Any:
    from spexplain.engines.histogram import HistogramEngine
    from spexplain.grow import grow

    return grow(HistogramEngine(n_jobs=N_WORKERS).bind(X, objective_of(y)), max_leaves=10)


def write_parquet(folder: Path, n_rows: int, n_columns: int) -> None:
    """Write a Gaussian mixture of five clusters, file by file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    centers = 3.0 * np.random.default_rng(0).normal(size=(5, n_columns)).astype(np.float32)
    for number, start in enumerate(range(0, n_rows, ROWS_PER_FILE)):
        rng = np.random.default_rng(number)
        n = min(ROWS_PER_FILE, n_rows - start)
        labels = rng.integers(0, 5, size=n).astype(np.int8)
        columns = {
            f"x{f}": centers[labels, f] + rng.standard_normal(n, dtype=np.float32)
            for f in range(n_columns)
        }
        part = pa.table(columns | {"cluster": labels})
        pq.write_table(
            part, folder / f"part-{number:05}.parquet", compression="none", use_dictionary=False
        )


def out_of_core(n_rows: int, n_columns: int, folder: Path) -> dict[str, Any]:
    """Return the time of a fit to Parquet files by workers of one gigabyte each."""
    import dask.dataframe as dd

    from spexplain import SpexClique

    start = time.perf_counter()
    write_parquet(folder, n_rows, n_columns)
    written = time.perf_counter()
    print(f"written in {written - start:.0f} s", flush=True)
    with cluster("1GB") as client:
        rows = dd.read_parquet(folder)
        load = os.getloadavg()[0]
        before, start = client.run(time.process_time), time.perf_counter()
        explainer = SpexClique(verbose=1).fit(
            rows[[f"x{f}" for f in range(n_columns)]], rows["cluster"]
        )
        spent = time.perf_counter() - start
        worked = [each - before[name] for name, each in client.run(time.process_time).items()]
        held = [each["metrics"]["memory"] for each in client.scheduler_info()["workers"].values()]
    print(explainer.to_text())
    moved = explainer.explanation_.training.table.workers.traffic
    return {
        "rows": n_rows,
        "columns": n_columns,
        "bytes_on_disk": sum(file.stat().st_size for file in folder.glob("*.parquet")),
        "seconds": spent,
        "processor_seconds_of_workers": worked,
        "leaves": explainer.n_leaves_,
        "memory_limit_of_a_worker": "1GB",
        "memory_of_workers_at_the_end": held,
        "requests": dict(moved.requests),
        "answers": dict(moved.answers),
        "load": load,
    }


def _times(each: dict[str, Any]) -> list[str]:
    cells = [f"{each['rows']:,} × {each['columns']}"]
    for part in ("", "tree_"):
        alone, together = each[f"histogram_{part}seconds"], each[f"dask_{part}seconds"]
        cells += [f"{alone:.2f}", f"{together:.2f}", f"{together / alone:.2f}"]
    return [*cells, "yes" if each["same_tree"] else "no", f"{each['load']:.1f}"]


def markdown(results: dict[str, Any]) -> str:
    """Return the results as a page."""
    machine = ", ".join(f"{key} {value}" for key, value in results["machine"].items())
    lines = [
        "# The Dask engine",
        "",
        f"Made by `{results['command']}`, its parts in separate calls. {machine}.",
        "",
    ]
    header = [
        "rows × columns", "in-memory fit, s", "Dask fit, s", "ratio", "bins and tree, s", "Dask, s", "ratio",
        "same tree", "load",
    ]  # fmt: skip
    lines += [
        "## Rows in memory: float32, 10 clusters, 10 leaves",
        "",
        "Medians. Both use two processors: two threads, or two worker processes that hold the rows. The second "
        "three columns leave out the description of the leaves. Load: of the machine before the Dask runs.",
        "",
        table(header, [_times(each) for each in results["in_memory"]]),
        "",
    ]
    if each := results.get("out_of_core"):
        lines += [
            "## From Parquet, workers of 1 GB",
            "",
            f"{each['rows']:,} rows × {each['columns']} float32 ({each['bytes_on_disk'] / 1e9:.1f} GB on disk), "
            f"{each['leaves']} leaves: {each['seconds']:.0f} s with two workers limited to 1 GB each. Load "
            f"before: {each['load']:.1f}.",
            "",
        ]
        if worked := each.get("processor_seconds_of_workers"):
            lines += [
                f"Processor seconds of the workers, compiling included: {', '.join(f'{one:.0f}' for one in worked)}. "
                f"{sum(each['requests'].values())} requests.",
                "",
            ]
    rows = [
        [
            f"{each['rows']:,}",
            str(each["requests"]["histograms"]),
            f"{each['answers']['histograms']:,}",
            str(each["requests"].get("look", 0)),
            f"{each['answers'].get('look', 0):,}",
            f"{each['answers']['histograms'] + each['answers'].get('look', 0):,}",
            f"{each['histograms_bound']:,}",
            f"{each['sent']['request']:,}",
        ]
        for each in results["traffic"]
    ]
    header = [
        "rows", "histogram requests", "their answers, bytes", "closer looks", "their answers, bytes", "together",
        "bound", "requests, bytes",
    ]  # fmt: skip
    lines += [
        "## Bytes that travel",
        "",
        "Ten leaves, 20 columns, 16 partitions, rows of one distribution: fewer rows are the first of more. "
        "The bound is features × bins × clusters × 8 × leaves opened.",
        "",
        table(header, rows),
        "",
    ]
    if each := results.get("between_workers"):
        moved = each["moved"]
        lines += [
            f"What two workers really had from each other for a tree of {each['rows']:,} rows in "
            f"{each['partitions']} partitions, by their own logs: {moved.get('histograms', 0):,} bytes of histograms, "
            f"{moved.get('look', 0):,} of closer looks, {moved.get('request', 0):,} of requests; once a fit "
            f"{moved.get('sample', 0):,} of the sample, {moved.get('labels', 0):,} of labels, "
            f"{moved.get('codes', 0):,} of bins and {moved.get('rows', 0):,} of rows, where Dask put them elsewhere.",
            "",
        ]
    return "\n".join(lines)


def main() -> None:
    """Measure everything, print it, and write it to benchmarks/results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--rows", type=float, default=5e6, help="most rows in memory; 0 keeps the last figures"
    )
    parser.add_argument(
        "--parquet-rows",
        type=float,
        default=2e8,
        help="rows from Parquet; 0 keeps the last figures",
    )
    parser.add_argument(
        "--traffic-rows",
        type=float,
        default=1.28e7,
        help="most rows whose bytes are counted; 0 keeps the last figures",
    )
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="small tables, nothing written")
    given = parser.parse_args()
    sizes = [200_000, 1_000_000, int(given.rows)] if given.rows else []
    n_stored, most = int(given.parquet_rows), int(given.traffic_rows)
    counted = [size for size in (50_000 * 4**i for i in range(9)) if size <= most]
    if given.quick:
        sizes, n_stored, counted = [200_000], 4_000_000, [50_000, 200_000]
    results: dict[str, Any] = {"in_memory": [], "traffic": []}
    if (RESULTS / "distributed.json").exists():
        results |= json.loads((RESULTS / "distributed.json").read_text())
    results |= {"machine": describe(), "command": "python benchmarks/scale_out.py"}
    if sizes:
        results["in_memory"] = []
        for n_rows in sizes:
            results["in_memory"].append(in_memory(n_rows, 20, given.runs))
            print(results["in_memory"][-1], flush=True)
    if counted:
        results["traffic"] = traffic(counted, 20)
        results["between_workers"] = between_workers(min(counted[-1], 800_000), 20)
        print(results["between_workers"], flush=True)
    if n_stored:
        with tempfile.TemporaryDirectory() as folder:
            results["out_of_core"] = out_of_core(n_stored, 8, Path(folder))
        print(results["out_of_core"], flush=True)
    print(markdown(results))
    if not given.quick:
        save("distributed", results, markdown(results))


if __name__ == "__main__":
    main()
