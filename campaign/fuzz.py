"""The property tests with very many cases: engines × methods × degenerate tables against the definitions.

Run it by ``make fuzz``, or ``python campaign/fuzz.py --cases 1000 --seed 7``.

The tests are those of `tests/` that hypothesis draws examples for, with their own strategies; the plugin
`cases.py` gives each its share and counts what ran. Examples differ from run to run: the seed is printed, and
the same seed draws the same again. A first round of few cases measures what a case of each test takes; rounds
with the next seeds follow until all have run or one has failed, in which every test gets about the same time.
After each, the figures go to ``campaign/results/fuzz.json`` and ``fuzz.md``. The exit status is 1 if a test fails.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from itertools import count
from pathlib import Path
from typing import Any

from results import ROOT, facts, markdown_table, write_results

_ENGINES = ("numpy", "histogram", "dask")


def run_tests(
    options: argparse.Namespace, cases: int, seed: int, costs: dict[str, float]
) -> dict[str, Any]:
    """Run the property tests; return what was counted."""
    with tempfile.TemporaryDirectory(prefix="spexplain-fuzz-") as folder:
        counts, measured = Path(folder, "counts.json"), Path(folder, "costs.json")
        measured.write_text(json.dumps(costs))
        command = [
            sys.executable, "-m", "pytest", "-p", "cases", "--cases", str(cases), "--counts",
            str(counts), "--costs", str(measured), f"--hypothesis-seed={seed}", "-m", "hypothesis", "-q", "--no-header",
            "-p", "no:cacheprovider", "-n", str(options.processes), "--ignore=tests/embed",
            "-k", options.only, "tests",
        ]  # fmt: skip
        paths = [str(ROOT / "campaign"), os.environ.get("PYTHONPATH", "")]
        environment = os.environ | {
            "HYPOTHESIS_PROFILE": "campaign",
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        }
        subprocess.run(command, cwd=ROOT, env=environment, check=False)
        return json.loads(counts.read_text()) if counts.exists() else {"seconds": 0.0, "tests": []}


def merged(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Return what two rounds counted together."""
    tests = {test["test"]: dict(test) for test in first["tests"]}
    for test in second["tests"]:
        own = tests.setdefault(test["test"], dict(test, cases=0, seconds=0.0))
        own["cases"] += test["cases"]
        own["seconds"] = round(own["seconds"] + test["seconds"], 3)
        own["outcome"] = min(own["outcome"], test["outcome"])  # "failed" comes before "passed"
    return {
        "seconds": round(first["seconds"] + second["seconds"], 1),
        "tests": list(tests.values()),
    }


def costs_of(tests: Iterable[dict[str, Any]]) -> dict[str, float]:
    """Return the seconds that a case of each test took."""
    return {test["test"]: test["seconds"] / max(test["cases"], 1) for test in tests}


def engine_of(test: str) -> str:
    """Return the engine that a test's name says."""
    parameters = test.partition("[")[2].rstrip("]").split("-")
    if "engines/histogram/" in test:
        return "histogram"
    return next((engine for engine in _ENGINES if engine in parameters), "other")


def totals(tests: Iterable[dict[str, Any]], group: Any) -> list[list[Any]]:
    """Return name, cases, tests, seconds and failures of every group, and of all."""
    sums: dict[str, list[float]] = defaultdict(lambda: [0, 0, 0.0, 0])
    for test in tests:
        for name in (group(test["test"]), "all"):
            found = (test["cases"], 1, test["seconds"], test["outcome"] == "failed")
            sums[name] = [a + b for a, b in zip(sums[name], found, strict=True)]
    rows = [[name, *map(int, numbers)] for name, numbers in sums.items()]
    return sorted(rows, key=lambda row: (row[0] == "all", row[0]))


def report(found: dict[str, Any], options: argparse.Namespace, *, is_last: bool) -> None:
    """Write the figures; print them at the end."""
    tests = found["tests"]
    n_cases = sum(test["cases"] for test in tests)
    failed = [test["test"] for test in tests if test["outcome"] == "failed"]
    by_file = totals(tests, lambda test: test.partition("::")[0].removeprefix("tests/"))
    by_engine = totals(tests, engine_of)
    for rows in (by_engine[:-1], by_file) if is_last else ():
        for name, cases, n_tests, seconds, failures in rows:
            spent = round(found["seconds"]) if name == "all" else seconds
            print(
                f"{name}: {cases:,} cases, {n_tests} tests, {spent:,} seconds, {failures} failures"
            )
    head = ["cases", "tests", "seconds", "failures"]
    text = [
        f"{n_cases:,} cases in {len(tests)} property tests, {found['seconds']:,.0f} seconds with "
        f"{options.processes} processes, {len(failed)} failures; seed {options.seed}. The seconds below are "
        "those of the tests themselves.",
        markdown_table(["engine", *head], by_engine),
        markdown_table(["file", *head], by_file),
        *(f"- failed: `{name}`" for name in failed),
    ]
    content = {**facts(seed=options.seed), "cases": n_cases, **found}
    write_results("fuzz", content, "Property tests with many cases", text)


def main() -> int:
    """Run rounds, print and write the figures."""
    parser = argparse.ArgumentParser(description="Run the property tests with very many cases.")
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=3_000, help="cases that measure the tests")
    parser.add_argument("--round", type=int, default=25_000, help="cases at a time afterwards")
    parser.add_argument("--seed", type=int, default=None, help="by default another every time")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", default="", help="a choice of tests, as for pytest -k")
    options = parser.parse_args()
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(2**31)
    print(f"seed {options.seed}", flush=True)
    found: dict[str, Any] = {"seconds": 0.0, "tests": []}
    n_cases, has_failed = 0, False
    for seed in count(options.seed):
        most = options.round if found["tests"] else options.first
        cases = min(most, options.cases - n_cases)
        latest = run_tests(options, cases, seed, costs_of(found["tests"]))
        found = merged(found, latest)
        n_cases = sum(test["cases"] for test in found["tests"])
        # Without any test there is nothing to go on with: a broken file, or a choice of none.
        has_failed = not latest["tests"] or any(x["outcome"] == "failed" for x in latest["tests"])
        is_last = has_failed or n_cases >= options.cases
        report(found, options, is_last=is_last)
        if is_last:
            return int(has_failed)
    raise AssertionError("seeds never end")


if __name__ == "__main__":
    sys.exit(main())
