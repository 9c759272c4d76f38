"""Speed and memory of the CuPy engine, on a machine with an NVIDIA GPU.

    python benchmarks/gpu.py [--quick]

Times are medians of synchronised runs with everything compiled; the table lies on the device.
"""

import argparse
import gc
import os
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from machine import save, table

TARGETS = {
    "SpexClique tree, 1,000,000×512, k=10": 12.0,
    "SpexClique().fit(X, y), 1,000,000×512, k=10": 25.0,
    "SpexClique().fit(X, y), 30,000,000×512, k=10": 1000.0,
    "SpexKNN tree, 60,000×512": 25.0,
    "exact 20-NN graph, 60,000×512": 150.0,
}
MOST_MEMORY = 1.6  # of X


def describe() -> dict[str, Any]:
    """Return the GPU, the host, and the versions that matter."""
    import cupy

    import spexplain

    names = [
        line.split(":", 1)[1].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    properties = cupy.cuda.runtime.getDeviceProperties(0)
    return {
        "gpu": properties["name"].decode(),
        "device_memory_gib": round(properties["totalGlobalMem"] / 2**30, 1),
        "driver": cupy.cuda.runtime.driverGetVersion(),
        "processor": names[0] if names else platform.processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "cupy": cupy.__version__,
        "spexplain": spexplain.__version__,
    }


def milliseconds(function: Callable[[], Any], runs: int = 9) -> float:
    """Return the median time of a call, the device waited for, after two warm-up runs."""
    import cupy

    times = []
    for run in range(runs + 2):
        cupy.cuda.Device().synchronize()
        start = time.perf_counter()
        function()
        cupy.cuda.Device().synchronize()
        if run >= 2:
            times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times)


def free_memory() -> Any:
    """Give all unused device memory back; return the pool that holds the rest."""
    import cupy

    gc.collect()
    pool = cupy.get_default_memory_pool()
    pool.free_all_blocks()
    return pool


def peak_over_table(function: Callable[[], Any], X: Any) -> tuple[float, float]:
    """Return the most device memory in use during a call, and held for it, over that of the table.

    All that lies there counts: the table, and its graph where there is one. CuPy's pool holds freed
    memory for the next arrays.
    """
    import cupy

    pool = free_memory()
    most = pool.used_bytes()

    class Watch(cupy.cuda.MemoryHook):
        name = "peak"

        def malloc_postprocess(self, **_: Any) -> None:
            nonlocal most
            most = max(most, pool.used_bytes())

    with Watch():
        function()
    return most / X.nbytes, pool.total_bytes() / X.nbytes


def device_mixture(n: int, d: int, k: int = 10, *, rank: int = 40) -> tuple[Any, np.ndarray]:
    """Return the table of `data.mixture`, drawn on the device, and its labels on the host."""
    import cupy

    free_memory()  # what is left of others would be cut into pieces
    rng = cupy.random.default_rng(0)
    labels = rng.integers(0, k, size=n)
    centers = 2 * rng.standard_normal((k, rank), dtype=np.float32)
    hidden = centers[labels] + rng.standard_normal((n, rank), dtype=np.float32)
    X = hidden @ rng.standard_normal((rank, d), dtype=np.float32)
    X /= np.float32(np.sqrt(rank))
    for start in range(0, n, 100_000):
        part = X[start : start + 100_000]
        part += np.float32(0.5) * rng.standard_normal(part.shape, dtype=np.float32)
    flipped = rng.random(n) < 0.1
    labels = cupy.where(flipped, rng.integers(0, k, size=n), labels)
    return X, labels.get()


def measured(name: str, X: Any, function: Callable[[], Any], runs: int = 9) -> dict[str, Any]:
    milliseconds_, (used, held) = milliseconds(function, runs), peak_over_table(function, X)
    record = {
        "case": name,
        "milliseconds": milliseconds_,
        "memory_over_table": used,
        "held_memory_over_table": held,
        "target_milliseconds": TARGETS.get(name),
    }
    print(record, flush=True)
    return record


def cliques(n: int, d: int) -> list[dict[str, Any]]:
    """Measure the label-based methods on a large table."""
    import cupy

    from spexplain import CART, SpexClique
    from spexplain.engines.cupy import CupyEngine
    from spexplain.graphs import CliqueGraph, StarGraph
    from spexplain.grow import grow
    from spexplain.objectives import emn, gini_cart, imm, spex
    from spexplain.table.storage import remember_copy

    X, y = device_mixture(n, d)
    shape = f"{n:,}×{d}, k=10"
    graph, engine = CliqueGraph.from_labels(y), CupyEngine()
    remember_copy(graph.labels, cupy.asarray(graph.labels, dtype=np.int16))  # as `fit` does
    centers = np.array([X[cupy.asarray(y == c)].mean(axis=0).get() for c in range(10)])
    star = StarGraph(y, centers.astype(np.float64))

    def tree(objective: Any) -> Callable[[], Any]:
        return lambda: grow(engine.bind(X, objective), max_leaves=10)

    fitted = SpexClique().fit(X, y)
    own = cupy.asarray(y)
    return [
        measured(f"one read of X (a sum), {shape}", X, X.sum),
        measured(f"coding, {shape}", X, lambda: engine.bind(X, spex(graph))),
        measured(f"SpexClique tree, {shape}", X, tree(spex(graph))),
        measured(f"CART tree, {shape}", X, tree(gini_cart(graph, "none"))),
        measured(f"IMM tree, {shape}", X, tree(imm(star))),
        measured(f"EMN tree, {shape}", X, tree(emn(star))),
        measured(f"SpexClique().fit(X, y), {shape}", X, lambda: SpexClique().fit(X, own)),
        measured(f"the same, y on the host, {shape}", X, lambda: SpexClique().fit(X, y)),
        measured(f"CART().fit(X, y), {shape}", X, lambda: CART(leaf_weight="none").fit(X, y)),
        measured(f"predict, {shape}", X, lambda: fitted.predict(X)),
    ]


def large(n: int, d: int) -> list[dict[str, Any]]:
    """Measure a table of which the device holds two, and no more."""
    import cupy

    from spexplain import SpexClique

    X, y = device_mixture(n, d)
    own, shape = cupy.asarray(y), f"{n:,}×{d}, k=10"
    return [
        measured(f"one read of X (a sum), {shape}", X, X.sum, runs=3),
        measured(f"SpexClique().fit(X, y), {shape}", X, lambda: SpexClique().fit(X, own), runs=3),
    ]


def neighbors(n: int, d: int) -> list[dict[str, Any]]:
    """Measure the exact neighbours, their graph, and the tree on it."""
    from spexplain import SpexKNN
    from spexplain.engines.cupy import CupyEngine
    from spexplain.graphs import knn_graph
    from spexplain.grow import grow
    from spexplain.objectives import spex

    X, _ = device_mixture(n, d)
    engine, shape = CupyEngine(), f"{n:,}×{d}"

    def tree_on(graph: Any) -> dict[str, Any]:
        run = lambda: grow(engine.bind(X, spex(graph)), max_leaves=10)  # noqa: E731
        return measured(f"SpexKNN tree, {shape}", X, run)

    return [
        measured(f"exact 20-NN graph, {shape}", X, lambda: knn_graph(X, 20)),
        tree_on(knn_graph(X, 20)),
        measured(f"SpexKNN(10).fit(X), {shape}", X, lambda: SpexKNN(10).fit(X)),
    ]


def crossover(quick: bool) -> list[dict[str, Any]]:
    """Measure one tree on the host's table by the processor and by the GPU, copies included."""
    from spexplain.engines import resolve_engine
    from spexplain.graphs import CliqueGraph
    from spexplain.grow import grow
    from spexplain.objectives import spex

    sizes = [
        (1_000, 10),
        (1_000, 100),
        (10_000, 20),
        (10_000, 200),
        (60_000, 512),
        (1_000_000, 512),
    ]
    records = []
    for n, d in sizes[: 4 if quick else None]:
        X, y = device_mixture(n, d)
        X = X.get()
        objective = spex(CliqueGraph.from_labels(y))
        trees, times = [], []
        # Loads the kernels, which `auto` looks for: all columns are of a process that has used them.
        grow(resolve_engine("histogram").bind(X, objective), max_leaves=10)
        for name, n_jobs in (("auto", None), ("auto", -1), ("cupy", None)):
            engine = resolve_engine(name, n_jobs=n_jobs)
            trees.append(grow(engine.bind(X, objective), max_leaves=10))  # compiles
            run = lambda: grow(engine.bind(X, objective), max_leaves=10)  # noqa: B023, E731
            times.append(milliseconds(run, 5 if n < 500_000 else 1))
        records.append(
            {
                "rows": n,
                "columns": d,
                "thread_milliseconds": times[0],
                "processor_milliseconds": times[1],
                "gpu_milliseconds": times[2],
                "same_tree": trees[0] == trees[1] == trees[2],
            }
        )
        print(records[-1], flush=True)
    return records


def as_markdown(results: dict[str, Any]) -> str:
    machine = ", ".join(f"{key} {value}" for key, value in results["machine"].items())
    rows = [
        [
            each["case"],
            f"{each['milliseconds']:.2f}",
            "" if each["target_milliseconds"] is None else f"≤ {each['target_milliseconds']:.0f}",
            f"{each['memory_over_table']:.2f}",
            f"{each['held_memory_over_table']:.2f}",
        ]
        for each in results["cases"]
    ]
    header = ["case", "milliseconds", "target", "peak device memory / X", "held by the pool / X"]
    crossed = [
        [
            f"{each['rows']:,}×{each['columns']}",
            f"{each['thread_milliseconds']:.1f}",
            f"{each['processor_milliseconds']:.1f}",
            f"{each['gpu_milliseconds']:.1f}",
            "yes" if each["same_tree"] else "NO",
        ]
        for each in results["crossover"]
    ]
    sizes = ["table", "one thread, ms", "all cores, ms", "GPU with copy, ms", "same tree"]
    return "\n\n".join(
        [
            "# Speed on a GPU",
            f"Made by `python benchmarks/gpu.py`. {machine}.",
            "Medians, the device waited for; float32 tables and labels on the device, unless said; ten leaves; memory "
            f"with the table itself and its graph (target: at most {MOST_MEMORY} × X). CuPy's pool holds freed memory "
            "for later arrays, and gives it back where the device runs short.",
            table(header, rows),
            "## From which size on\n\nOne SpexClique tree, k=10, of a table on the host: by the engine that "
            "`auto` takes there, its kernels loaded, and by the GPU, the copy to it included.",
            table(sizes, crossed) + "\n",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    n, d = (100_000, 64) if quick else (1_000_000, 512)
    results = {
        "machine": describe(),
        "cases": [
            *cliques(n, d),
            *large(*((300_000, 64) if quick else (30_000_000, 512))),
            *neighbors(*((5_000, 64) if quick else (60_000, 512))),
        ],
        "crossover": crossover(quick),
    }
    save("gpu", results, as_markdown(results))


if __name__ == "__main__":
    main()
