"""Which files the library that reads them cannot survive.

A damaged Parquet file can make polars ask for 2⁶¹ bytes, upon which its process ends at once: no program can
catch that. A process of its own opens hostile files first; where it dies of one, the fuzzer passes that file
over, since what it would find is not ours.
"""

import subprocess
import sys
from functools import cache
from pathlib import Path

_PROGRAM = """
import sys
import polars as pl

readers = {"parquet": pl.scan_parquet, "arrow": pl.scan_ipc}
for line in sys.stdin:
    kind, _, path = line.rstrip("\\n").partition(" ")
    try:
        readers[kind](path).collect()
    except BaseException:  # a refusal, or a panic
        pass
    print("read", flush=True)
"""


class Probe:
    """Opens files in another process, which is started anew whenever it has died."""

    def __init__(self) -> None:
        self.child: subprocess.Popen[str] | None = None
        self.n_deaths = 0

    def survives(self, path: Path, kind: str) -> bool:
        """Return whether polars opens or refuses a file, "parquet" or "arrow", and lives on."""
        if self.child is None:
            pipe = subprocess.PIPE
            self.child = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM],
                stdin=pipe,
                stdout=pipe,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        try:
            self.child.stdin.write(f"{kind} {path}\n")
            self.child.stdin.flush()
            if self.child.stdout.readline():
                return True
        except BrokenPipeError:
            pass  # it died of the file before
        self.child.communicate()
        self.child, self.n_deaths = None, self.n_deaths + 1
        return False


@cache
def probe() -> Probe:
    """Return the one probe of this process."""
    return Probe()
