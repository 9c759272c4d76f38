"""Programs that run in processes of their own, because they fork, limit memory or are interrupted."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1]
TIMEOUT = 240  # seconds after which something hangs; compiling on a busy machine takes long
# For programs that are interrupted: an exception in the middle of coverage's own code leaves its lock closed, and the
# program waits for ever.
UNTRACED: dict[str, str | None] = {"COVERAGE_PROCESS_CONFIG": None}


def environment(**changes: str | None) -> dict[str, str]:
    """Return the variables of this process with changes; None takes one away."""
    path = os.pathsep.join([str(TESTS), str(TESTS.parent / "src")])
    merged = {**os.environ, "PYTHONPATH": path, **changes}
    return {name: value for name, value in merged.items() if value is not None}


def run(program: str, *arguments: Any, **variables: str | None) -> subprocess.CompletedProcess[str]:
    """Run a Python program to its end; one that hangs fails."""
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT,
        env=environment(**variables),
    )


def succeed(program: str, *arguments: Any, **variables: str | None) -> str:
    """Run a program that must end well; returns what it printed."""
    done = run(program, *arguments, **variables)
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def wait_for(is_ready: Any, child: subprocess.Popen[Any]) -> None:
    """Wait until something is true; fail if the child ends before, or never gets there."""
    end = time.monotonic() + TIMEOUT
    while not is_ready():
        assert child.poll() is None, f"ended too early, with {child.returncode}"
        assert time.monotonic() < end, "never got there"
        time.sleep(0.005)
