"""How fast the studio answers, through its real server: 1,000,000 rows of 20 columns, and a minute of edits.

    python benchmarks/studio.py

Times are those of a browser on the same machine, from the question to the last byte of its answer, and the
processor time of the server.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from machine import describe, save, table

N_COLUMNS, N_CLUSTERS, N_LEAVES = 20, 8, 10
RUNS = 15
EDITS_A_SECOND, SECONDS = 20, 60


def write_table(path: Path, n_rows: int) -> None:
    import polars as pl

    random = np.random.default_rng(0)
    labels = random.integers(0, N_CLUSTERS, n_rows)
    centers = random.normal(0, 1.5, (N_CLUSTERS, N_COLUMNS))
    values = centers[labels] + random.normal(size=(n_rows, N_COLUMNS))
    columns = {f"x{at}": values[:, at] for at in range(N_COLUMNS)}
    pl.DataFrame({**columns, "segment": [f"segment {each}" for each in labels]}).write_parquet(path)


class Studio:
    """The command in a process of its own, and a client that asks it."""

    def __init__(self, path: Path) -> None:
        import psutil

        command = [sys.executable, "-m", "spexplain", "studio", str(path), "--labels", "segment"]
        command += ["--method", "cart", "--leaves", str(N_LEAVES), "--no-open", "--quiet", "--new"]
        environment = os.environ | {"SPEXPLAIN_STATE": str(path.parent)}
        self.child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        self.process = psutil.Process(self.child.pid)
        assert self.child.stdout is not None
        address, _, token = self.child.stdout.readline().split()[-1].partition("?token=")
        headers = {"X-Spexplain-Token": token}
        self.client = httpx.Client(base_url=address, headers=headers, trust_env=False, timeout=300)
        self.state = self.ask(ask="state")

    def ask(self, **question: Any) -> Any:
        """Return the answer to a question."""
        answer = self.client.post("/ask", json=question)
        if answer.status_code != 200:
            raise RuntimeError(answer.text)
        return answer.json()

    def edit(self, name: str, **arguments: Any) -> None:
        """Make an edit."""
        version = self.state["version"]
        self.state = self.ask(ask="edit", version=version, name=name, arguments=arguments)

    def undo(self) -> None:
        """Take the last edit back."""
        self.state = self.ask(ask="undo", version=self.state["version"])

    def processor_seconds(self) -> float:
        """Return how long the server has worked."""
        times = self.process.cpu_times()
        return float(times.user + times.system)

    def is_quiet(self) -> bool:
        """Whether the columns are sorted, which happens in the background after the start."""
        before = self.processor_seconds()
        time.sleep(0.5)
        return self.processor_seconds() - before < 0.05

    def end(self) -> None:
        """End the server."""
        self.client.close()
        self.child.terminate()
        self.child.wait()


@contextmanager
def started(n_rows: int) -> Iterator[Studio]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        write_table(path, n_rows)
        studio = Studio(path)
        try:
            while not studio.is_quiet():
                pass
            yield studio
        finally:
            studio.end()


def measured(studio: Studio, call: Callable[[int], Any], runs: int = RUNS) -> dict[str, float]:
    times, before = [], studio.processor_seconds()
    for run in range(runs):
        start = time.perf_counter()
        call(run)
        times.append(time.perf_counter() - start)
    return {
        "best": min(times),
        "median": statistics.median(times),
        "processor": (studio.processor_seconds() - before) / runs,
    }


def questions(studio: Studio) -> dict[str, dict[str, float]]:
    root = studio.state["nodes"][0]
    inner = next(each for each in studio.state["nodes"][1:] if each["leaf"] is None)
    column, at = root["column"], root["test"]["threshold"]
    others = [each["name"] for each in studio.state["table"]["columns"] if each["name"] != column]
    studio.ask(ask="node", node=0)  # compiles, once for all sessions of the machine
    studio.ask(ask="node", node=inner["node"])

    def preview(node: dict[str, Any]) -> Callable[[int], Any]:
        number, start = node["node"], node["test"]["threshold"]
        return lambda run: studio.ask(
            ask="preview",
            node=number,
            column=node["column"],
            threshold=start + run / 100,
            snap=0.01,
        )

    def edit(run: int) -> None:
        studio.edit("with_test", node=0, column=column, threshold=at + (run + 1) / 100)

    found = {
        "state of the tree": measured(studio, lambda run: studio.ask(ask="state")),
        "preview of a threshold at the root": measured(studio, preview(root)),
        f"preview at a node of {inner['rows']:,} rows": measured(studio, preview(inner)),
        "preview of another column at the root": measured(
            studio,
            lambda run: studio.ask(
                ask="preview", node=0, column=others[run % len(others)], threshold=0.1 * run
            ),
        ),
        "histogram and sweep of a column at the root": measured(
            studio, lambda run: studio.ask(ask="column", node=0, column=others[run % len(others)])
        ),
        "ranked alternatives of the root": measured(
            studio, lambda run: studio.ask(ask="node", node=0), 5
        ),
        f"ranked alternatives of a node of {inner['rows']:,} rows": measured(
            studio, lambda run: studio.ask(ask="node", node=inner["node"]), 5
        ),
        "rows that are wrong": measured(studio, lambda run: studio.ask(ask="rows", wrong=True)),
        "edit: another threshold of the root": measured(studio, edit),
        "undo": measured(studio, lambda run: studio.undo(), RUNS),
        "edit: prune a node": {},
    }

    def prune(run: int) -> None:
        studio.edit("prune", node=inner["node"])
        studio.undo()

    found["edit: prune a node"] = measured(studio, prune, 5)
    found["edit: prune a node and undo it"] = found.pop("edit: prune a node")
    return found


def load(studio: Studio) -> dict[str, Any]:
    """Edit for a minute, as often as asked for, and watch the memory of the server."""
    root = studio.state["nodes"][0]
    column, at = root["column"], root["test"]["threshold"]

    def one(number: int) -> None:
        if number % 20 == 19:
            studio.undo()
        else:
            studio.edit("with_test", node=0, column=column, threshold=at + (number % 50) / 100)

    for number in range(100):
        one(number)
    memory, late = [], 0
    start = time.perf_counter()
    n_edits = EDITS_A_SECOND * SECONDS
    for number in range(n_edits):
        due = start + number / EDITS_A_SECOND
        wait = due - time.perf_counter()
        if wait > 0:
            time.sleep(wait)
        late += wait < -1 / EDITS_A_SECOND
        one(number)
        if number % EDITS_A_SECOND == 0:
            memory.append(studio.process.memory_info().rss)
    seconds = time.perf_counter() - start
    tenth = len(memory) // 10
    return {
        "edits": n_edits,
        "seconds": seconds,
        "late": late,
        "memory_first": statistics.median(memory[:tenth]),
        "memory_last": statistics.median(memory[-tenth:]),
    }


def _load_note(busy: float, n_cores: int) -> str:
    """Return a sentence if other work took much of the machine."""
    if busy < 2 * n_cores:
        return ""
    return f" The load of the machine was {busy:.0f}, by other work, so that the processor time says more."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--load-rows", type=int, nargs="*", default=[100_000])
    arguments = parser.parse_args()
    with started(arguments.rows) as studio:
        answers = questions(studio)
        busy = os.getloadavg()[1]
    loads = {}
    for n_rows in arguments.load_rows:
        with started(n_rows) as studio:
            loads[n_rows] = load(studio)
    machine = describe()
    lines = [
        [name, *(f"{each[key] * 1000:,.0f}" for key in ("best", "median", "processor"))]
        for name, each in answers.items()
    ]
    loaded = [
        [
            f"{n_rows:,}",
            f"{each['edits']:,}",
            f"{each['edits'] / each['seconds']:.1f}",
            f"{each['memory_first'] / 2**20:,.0f} MiB",
            f"{each['memory_last'] / 2**20:,.0f} MiB",
            f"{(each['memory_last'] - each['memory_first']) / each['edits'] / 1024:.1f} KiB",
        ]
        for n_rows, each in loads.items()
    ]
    text = (
        "# The studio\n\n"
        f"Table of {arguments.rows:,} rows and {N_COLUMNS} columns of distinct numbers, {N_CLUSTERS} clusters, a tree "
        f"of {N_LEAVES} leaves; milliseconds from the question to its whole answer over HTTP on the same machine, and "
        f"milliseconds of processor of the server ({machine['cores']} cores of {machine['processor']}). Columns "
        f"were sorted in the background after the start.{_load_note(busy, machine['cores'])} Written by "
        "`python benchmarks/studio.py`.\n\n"
        + table(["question", "best", "median", "processor"], lines)
        + f"\n\n{EDITS_A_SECOND} edits a second are asked for during {SECONDS} seconds, thresholds of the root with an "
        "undo now and then; memory of the server in the first and in the last tenth of the time. What grows is the "
        "journal, so that every edit can be undone.\n\n"
        + table(
            ["rows", "edits", "a second", "memory first", "memory last", "growth an edit"], loaded
        )
        + "\n"
    )
    loads_by_name = {str(n_rows): each for n_rows, each in loads.items()}
    save("studio", {"machine": machine, "answers": answers, "load": loads_by_name}, text)
    print(text)


if __name__ == "__main__":
    main()
