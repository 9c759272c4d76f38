"""What machine a figure was measured on, and how: times, peak memory, results on disk."""

import gc
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
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


def seconds(function: Callable[[], Any], runs: int) -> float:
    """Return the median time of several runs."""
    times = []
    for _ in range(runs):
        gc.collect()
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def peak_extra_bytes(function: Callable[[], Any]) -> int | None:
    """Return how far resident memory rises above its level before; None where the system does not say."""
    status, reset = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    if not status.exists():
        return None
    gc.collect()
    try:
        reset.write_text("5")  # forget the peak so far
    except OSError:
        return None
    before = _status_bytes(status, "VmRSS")
    function()
    return max(0, _status_bytes(status, "VmHWM") - before)


def _status_bytes(status: Path, field: str) -> int:
    line = next(line for line in status.read_text().splitlines() if line.startswith(field))
    return 1024 * int(line.split()[1])


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
