"""What the tests of the command line share: a small real table in every format, and three ways to run."""

import gzip
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("typer", reason="needs the extra cli")
pytest.importorskip("polars", reason="needs the extra cli")

import polars as pl
from typer.testing import CliRunner, Result

from spexplain import datasets
from spexplain.cli.app import app

FORMATS = ["csv", "tsv", "parquet", "arrow", "jsonl", "csv.gz", "jsonl.gz"]
# Output that is not buffered hides what happens at the end of a process.
_LEFT_OUT = ("NO_COLOR", "PYTHONUNBUFFERED")
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in _LEFT_OUT} | {
    "COLUMNS": "80",
    "LINES": "24",
    "TERM": "xterm-256color",
}


@pytest.fixture(scope="session")
def iris() -> pl.DataFrame:
    bunch = datasets.load("iris")
    names = [str(bunch.target_names[code]) for code in bunch.target]
    columns = {name: bunch.data[:, at] for at, name in enumerate(bunch.feature_names)}
    return pl.DataFrame({**columns, "species": names})


@pytest.fixture(scope="session")
def files(iris: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("iris")
    paths = {format: folder / f"iris.{format}" for format in FORMATS}
    iris.write_csv(paths["csv"])
    iris.write_csv(paths["tsv"], separator="\t")
    iris.write_parquet(paths["parquet"])
    iris.write_ipc(paths["arrow"])
    iris.write_ndjson(paths["jsonl"])
    for name in ("csv", "jsonl"):
        paths[f"{name}.gz"].write_bytes(gzip.compress(paths[name].read_bytes()))
    return paths


@pytest.fixture
def run() -> Callable[..., Result]:
    """Run a command in this process."""

    def call(*arguments: Any, stdin: bytes | None = None) -> Result:
        result = CliRunner().invoke(app, [str(each) for each in arguments], input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return call


@pytest.fixture
def environment() -> dict[str, str]:
    return ENVIRONMENT


@pytest.fixture
def process() -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Run a command in a process of its own, without a terminal."""
    return _process


@pytest.fixture
def in_terminal() -> Callable[..., tuple[int, str]]:
    """Run a command in a pseudo-terminal of 80 columns."""
    return _in_terminal


def _process(
    *arguments: Any, stdin: bytes | None = None, **more: Any
) -> subprocess.CompletedProcess[bytes]:
    """Run a command in a process of its own, without a terminal."""
    command = [sys.executable, "-m", "spexplain", *map(str, arguments)]
    more = {"env": ENVIRONMENT} | more
    return subprocess.run(
        command, input=stdin, capture_output=True, check=False, timeout=120, **more
    )


def _in_terminal(*arguments: Any, **environment: str) -> tuple[int, str]:
    """Run a command in a pseudo-terminal; returns its exit status and what the user sees."""
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "spexplain", *map(str, arguments)]
    child = subprocess.Popen(
        command, stdin=follower, stdout=follower, stderr=follower, env=ENVIRONMENT | environment
    )
    os.close(follower)
    chunks: list[bytes] = []
    end = time.monotonic() + 120
    while time.monotonic() < end:
        if not select.select([leader], [], [], 0.2)[0]:
            if child.poll() is not None:
                break
            continue
        try:
            chunks.append(os.read(leader, 1 << 16))
        except OSError:  # the other end is closed
            break
    status = child.wait(timeout=60)
    os.close(leader)
    return status, b"".join(chunks).decode()
