"""Mutation testing: whether tests notice small mistakes in the formulas, the builder and the kernels.

Run it by ``make mutants``, or ``python campaign/mutants.py --mutants 100 --seed 7``.

Mistakes are drawn at random from all that `mutations.py` can make, each is planted alone in a copy of the
tree, and a quick choice of tests runs there; changed kernels run as plain Python. A mutant that no test notices
survives: either it changes nothing that matters, which `verdicts.toml` then says why, or a test is missing.
The figures go to ``campaign/results/mutants.json`` and ``mutants.md``; the exit status is 0 if no survivor
is without a verdict.

Why not a library: mutmut leaves decorated functions alone, which all kernels are; cosmic-ray starts Python
and all libraries anew for every mutant and draws no sample. Here every mutant is a fork of one process that
has loaded them.
"""

import argparse
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from mutations import Mutation, mutations
from plans import PLANS, plan_of
from survivors import last_results, report, retried

from results import ROOT

_CPU_SECONDS = 600  # of the tests without a mistake; others get as long as these took, and more
_WALL_SECONDS = 1800
_LOG = "log.txt"
# How kernels are compiled shows in compiled code only, and the tests of the last three take minutes as plain Python.
_LEFT_OUT = ("jit.py", "readiness.py", "__init__.py", "rules.py", "solver.py", "sparse.py")


class Mutant(NamedTuple):
    """One mistake in one file; its name, independent of line numbers, is the key in `verdicts.toml`."""

    path: str
    mutation: Mutation
    name: str

    @property
    def room(self) -> str:
        """The part of the package it is in."""
        return Path(self.path).stem if self.path.count("/") == 2 else Path(self.path).parts[2]


def named(path: str, mutation: Mutation, source: str) -> Mutant:
    """Return a mutant, named by the lines that it changes, before and after."""
    text = source.encode()
    start = text.rfind(b"\n", 0, mutation.start) + 1
    end = text.find(b"\n", mutation.end)
    before = text[start:end].decode()
    changed = mutation._replace(start=mutation.start - start, end=mutation.end - start)
    lines = (" ".join(each.split()) for each in (before, changed.applied(before)))
    return Mutant(path, mutation, f"{Path(path).name}: {' → '.join(lines)}")


def all_mutants(tree: Path) -> list[Mutant]:
    """Return every mutant of the planned files, in a fixed order."""
    paths = {
        path.relative_to(tree).as_posix()
        for start in PLANS
        for path in ([tree / start] if start.endswith(".py") else (tree / start).glob("*.py"))
        if path.name not in _LEFT_OUT
    }
    found = [
        named(path, each, source)
        for path in sorted(paths)
        for source in [(tree / path).read_text(encoding="utf-8")]
        for each in mutations(source)
    ]
    return told_apart(found)


def told_apart(mutants: list[Mutant]) -> list[Mutant]:
    """Return the mutants with a number behind every name that occurs again."""
    n_seen: Counter[str] = Counter()
    numbered = []
    for mutant in mutants:
        n_seen[mutant.name] += 1
        number = n_seen[mutant.name]
        numbered.append(
            mutant._replace(name=f"{mutant.name} (no. {number})") if number > 1 else mutant
        )
    return numbered


def draw(mutants: list[Mutant], n: int, seed: int) -> list[Mutant]:
    """Return some mutants in random order, of every room equally many as far as it has them."""
    rng = random.Random(seed)
    rooms = [
        rng.sample(found, len(found))
        for room in sorted({each.room for each in mutants})
        for found in [[each for each in mutants if each.room == room]]
    ]
    turns = (each for turn in zip_longest(*rooms) for each in turn if each is not None)
    return list(islice(turns, n))


def load_libraries() -> None:
    """Import what tests need from elsewhere, once for all forks."""
    import hypothesis
    import numba  # noqa: F401
    import pandas  # noqa: F401
    import polars  # noqa: F401
    import pytest  # noqa: F401
    import scipy.sparse.csgraph
    import scipy.spatial.distance  # noqa: F401
    import sklearn.cluster
    import sklearn.utils.estimator_checks  # noqa: F401

    phases = [
        hypothesis.Phase.explicit,
        hypothesis.Phase.generate,
    ]  # a failure is enough: no shrinking
    hypothesis.settings.register_profile(
        "mutants", max_examples=15, deadline=None, derandomize=True, database=None, phases=phases,
        suppress_health_check=list(hypothesis.HealthCheck),
    )  # fmt: skip


def run_tests(tree: Path, path: str, cpu_seconds: float = _CPU_SECONDS) -> tuple[str, float]:
    """Run the tests for a file in a fork; return the outcome and the seconds of computing.

    The outcome is "passed", "failed", "broken" or "timeout". Only computing counts: an endless loop ends,
    but what else the machine does decides nothing.
    """
    child = os.fork()
    if child == 0:
        os.setsid()
        _run_in_fork(tree, path, int(cpu_seconds))
    end = time.monotonic() + _WALL_SECONDS
    while time.monotonic() < end:
        done, status, used = os.wait4(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            outcome = {0: "passed", 1: "failed", -signal.SIGXCPU: "timeout"}.get(code, "broken")
            return outcome, used.ru_utime + used.ru_stime
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "timeout", cpu_seconds


def _run_in_fork(tree: Path, path: str, cpu_seconds: int) -> None:
    tests, chosen = plan_of(path)
    code = 99
    try:
        import numba
        import pytest

        # A change within a kernel need not be compiled to be seen; of other files the kernels stay.
        numba.config.DISABLE_JIT = "/kernels/" in path
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 5))
        descriptor = os.open(tree / _LOG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        os.chdir(tree)
        sys.path.insert(0, str(tree / "src"))
        options = ["-x", "-q", "--no-header", "--tb=line", "-p", "no:cacheprovider"]
        options += [
            "-W",
            "ignore::pytest.PytestAssertRewriteWarning",
        ]  # the libraries are loaded already
        if numba.config.DISABLE_JIT:
            # Compiled code divides by zero and wraps around without a word.
            options += ["-W", "ignore::RuntimeWarning"]
        code = int(pytest.main([*options, "-k", chosen, f"--rootdir={tree}", *tests]))
        place = Path(sys.modules["spexplain"].__file__ or "")
        if not place.is_relative_to(tree):
            print(f"The tests ran on {place}, not on the copy.")
            code = 98
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


def plant(tree: Path, path: str, source: str) -> None:
    """Write a file of the copy; what was compiled from its last text goes."""
    (tree / path).write_text(source, encoding="utf-8")
    for compiled in (tree / path).parent.glob(f"__pycache__/{Path(path).stem}.*.pyc"):
        compiled.unlink()


def check_baseline(tree: Path, paths: list[str]) -> dict[Any, float]:
    """Return how long each choice of tests computes without a mistake; stop if one fails then."""
    seconds: dict[Any, float] = {}
    for path in paths:
        plan = plan_of(path)
        if plan not in seconds:
            outcome, seconds[plan] = run_tests(tree, path)
            print(f"unchanged, tests for {path}: {outcome}, {seconds[plan]:.0f} s", flush=True)
            if outcome != "passed":
                sys.exit(
                    f"The tests must pass before mistakes are planted:\n{(tree / _LOG).read_text()}"
                )
    return seconds


def run_all(tree: Path, drawn: list[Mutant], seconds: float) -> list[dict[str, Any]]:
    """Try mutants one after the other until the time is over."""
    usual = check_baseline(tree, sorted({each.path for each in drawn}))
    records, started = [], time.monotonic()
    for number, mutant in enumerate(drawn, start=1):
        if time.monotonic() - started > seconds:
            break
        source = (tree / mutant.path).read_text(encoding="utf-8")
        plant(tree, mutant.path, mutant.mutation.applied(source))
        outcome, used = run_tests(tree, mutant.path, 1.5 * usual[plan_of(mutant.path)] + 10)
        plant(tree, mutant.path, source)
        change = mutant.mutation
        records.append(
            {
                "file": mutant.path,
                "room": mutant.room,
                "line": change.line,
                "kind": change.kind,
                "name": mutant.name,
                "outcome": "survived" if outcome == "passed" else outcome,
                "seconds": round(used, 1),
            }
        )
        if outcome == "passed":
            print(f"{number}: survived: {mutant.path}:{change.line}: {mutant.name}", flush=True)
    return records


def main() -> int:
    """Draw mutants, try them, and write what came out."""
    parser = argparse.ArgumentParser(
        description="Plant small mistakes and see whether tests notice."
    )
    parser.add_argument("--mutants", type=int, default=200, help="how many to draw")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--seconds", type=float, default=1500, help="start no mutant after this time"
    )
    parser.add_argument(
        "--only", default="", help="only mutants whose file or name holds this text"
    )
    parser.add_argument("--tree", type=Path, default=ROOT, help="the checkout that is copied")
    parser.add_argument("--again", action="store_true", help="only the survivors of the last run")
    options = parser.parse_args()
    os.environ |= {"OMP_NUM_THREADS": "1", "HYPOTHESIS_PROFILE": "mutants"}
    load_libraries()
    with tempfile.TemporaryDirectory(prefix="spexplain-mutants-") as folder:
        tree = Path(folder).resolve()
        for part in ("src", "tests"):
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(options.tree / part, tree / part, ignore=ignored)
        shutil.copy(options.tree / "pyproject.toml", tree)
        known = all_mutants(tree)
        fitting = [each for each in known if options.only in f"{each.path}: {each.name}"]
        drawn = draw(fitting, options.mutants, options.seed)
        if options.again:
            alive = {x["name"] for x in last_results()["mutants"] if x["outcome"] == "survived"}
            drawn = [each for each in known if each.name in alive]
        records = run_all(tree, drawn, options.seconds)
    if options.again:
        options.seed = last_results()["seed"]
        records = retried(last_results()["mutants"], records)
    unseen = report(records, len(known), options.seed)
    if unseen:
        print(f"{len(unseen)} survivors have no verdict in campaign/verdicts.toml.")
    return 1 if unseen else 0


if __name__ == "__main__":
    sys.exit(main())
