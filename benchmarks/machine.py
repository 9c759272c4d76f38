"""What machine a figure was measured on, and how: times, peak memory, results on disk."""

import compileall
import gc
import json
import os
import platform
import statistics
import time
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def describe() -> dict[str, Any]:
    """Return processor, memory, and the versions that matter."""
    import numba
    import numpy
    import scipy
    import sklearn

    import spexplain

    model = platform.processor()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        model = names[0].split(":", 1)[1].strip() if names else model
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "memory_gib": round(pages / 2**30, 1),
        "system": platform.system(),
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "numba": numba.__version__,
        "spexplain": spexplain.__version__,
    }


def compile_bytecode() -> None:
    """Keep our bytecode on disk, as installers do; else every process would parse all sources anew."""
    import spexplain

    compileall.compile_dir(Path(spexplain.__file__).parent, quiet=1)


def seconds(function: Callable[[], Any], runs: int) -> float:
    """Return the median time of several runs."""
    times = []
    for _ in range(runs):
        gc.collect()
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def best_in_turns(functions: Sequence[Callable[[], Any]], runs: int) -> list[float]:
    """Return the least time of each function; they run in turns, so that whatever else the machine does meets all."""
    for function in functions:
        function()  # loads what it needs
    times = [[seconds(function, 1) for function in functions] for _ in range(runs)]
    return [min(each) for each in zip(*times, strict=True)]


def peak_extra_bytes(function: Callable[[], Any]) -> int:
    """Return the most memory that a call holds at once, in arrays that Python or NumPy allocated."""
    gc.collect()
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def save(name: str, results: dict[str, Any], markdown: str) -> None:
    """Write results as JSON and Markdown; nothing half-written remains."""
    RESULTS.mkdir(exist_ok=True)
    for suffix, text in ((".json", json.dumps(results, indent=1) + "\n"), (".md", markdown)):
        path = RESULTS / f"{name}{suffix}"
        temporary = path.with_suffix(f"{suffix}.tmp")
        temporary.write_text(text)
        temporary.replace(path)


def table(header: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
