"""Ctrl-C: real signals at chosen moments; the process ends at once and leaves nothing half-written."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import pytest

from trust.programs import TIMEOUT, UNTRACED, environment, run, succeed, wait_for

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")

PROMPT = 60.0  # seconds on the busiest machine; an idle one needs a fraction of one

FITS = """
import sys, threading, time, warnings
import numpy as np
import spexplain

warnings.simplefilter("ignore")
engine, rounds = sys.argv[1], int(sys.argv[2])
random = np.random.default_rng(0)
X = random.normal(size=(3000, 12)).round(2)
y = (X[:, 0] > 0).astype(int) + 2 * (X[:, 1] > 0)
estimator = spexplain.SpexClique(n_leaves=12, engine=engine, n_jobs=3)
estimator.fit(X, y)  # compiled from here on
expected, before = estimator.to_json(), set(threading.enumerate())
for number in range(rounds):
    try:
        print("go", flush=True)
        while True:
            estimator.fit(X, y)
    except KeyboardInterrupt:
        print("caught", flush=True)
    end = time.monotonic() + 10
    while engine != "dask" and set(threading.enumerate()) - before:  # Dask keeps its own pool
        assert time.monotonic() < end, threading.enumerate()
        time.sleep(0.01)
assert estimator.fit(X, y).to_json() == expected  # nothing is broken afterwards
print("fine", flush=True)
"""

# The signal comes while a kernel is compiled, or while foreign code is at work.
BESIDE = """
import os, signal, sys, threading, time, warnings
import numpy as np
import spexplain
from numba.core import event
from spexplain.threads import works_beside

warnings.simplefilter("ignore")
random = np.random.default_rng(0)
X = random.normal(size=(3000, 6)).round(2)
y = (X[:, 0] > 0).astype(int) + 2 * (X[:, 1] + X[:, 2] > 0)
fits = {
    "compiling": lambda: spexplain.SpexClique(n_leaves=6, engine="histogram").fit(X, y),
    "threads": lambda: spexplain.SpexClique(n_leaves=6, engine="histogram", n_jobs=2).fit(X, y),
    "clustering": lambda: spexplain.CART(3, random_state=0).fit(random.normal(size=(20_000, 12))),
}
is_at_work = False

class Pressing(event.Listener):
    def on_start(self, event):
        global is_at_work
        if self in event_listeners:
            event_listeners.remove(self)
            is_at_work = True
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)  # a kernel that takes long
            is_at_work = False

    def on_end(self, event):
        pass

def press():
    global is_at_work
    while not works_beside():
        time.sleep(0.01)
    time.sleep(0.3)
    is_at_work = works_beside()
    os.kill(os.getpid(), signal.SIGINT)

event_listeners = [Pressing()]
if sys.argv[1] == "clustering":
    threading.Thread(target=press, daemon=True).start()
else:
    event.register("numba:compile", event_listeners[0])
try:
    fits[sys.argv[1]]()
    print("finished before", flush=True)
except KeyboardInterrupt:
    print("goes on" if is_at_work else "ended", flush=True)
if sys.argv[1] != "clustering":
    print(fits[sys.argv[1]]().n_leaves_, flush=True)
"""

# How long a signal waits is measured in time of the processor, which other programs do not take.
BEATS = """
import signal, sys, time, warnings
import numpy as np
import spexplain

warnings.simplefilter("ignore")
random = np.random.default_rng(0)
X = random.normal(size=(150_000, 12)).astype(np.float32)
y = (X[:, 0] > 0).astype(int) + 2 * (X[:, 1] + X[:, 2] > 0)
few = X[:10_000, :5], y[:10_000]
fits = {
    "SpexClique": lambda: spexplain.SpexClique(n_leaves=8).fit(X, y),
    "CART": lambda: spexplain.CART(n_leaves=5, refine="fidelity").fit(X, y),
    "IMM": lambda: spexplain.IMM().fit(X, y),
    "ExKMC": lambda: spexplain.ExKMC(n_leaves=6).fit(X, y),
    "BestTree": lambda: spexplain.BestTree(n_leaves=4, time_budget=10).fit(*few),
    "SpexKNN": lambda: spexplain.SpexKNN(4).fit(*few),
    "KernelIMM": lambda: spexplain.KernelIMM(4).fit(X[:1500], y[:1500]),
    "ClusterRules": lambda: spexplain.ClusterRules().fit(*few),
}
longest, last = 0.0, 0.0

def ring(number, frame):
    global longest, last
    now = time.process_time()
    longest, last = max(longest, now - last), now

signal.signal(signal.SIGPROF, ring)
for name in sys.argv[1:]:
    longest, last = 0.0, time.process_time()
    signal.setitimer(signal.ITIMER_PROF, 0.02, 0.02)
    fits[name]()
    signal.setitimer(signal.ITIMER_PROF, 0)
    print(name, round(longest, 3), flush=True)
"""

REPORTS = """
import sys
import numpy as np
import spexplain

X = np.random.default_rng(0).normal(size=(300, 3))
estimator = spexplain.SpexClique(n_leaves=6).fit(X, (X > 0) @ [1, 2, 0])
for number in range(int(sys.argv[2])):
    try:
        print("go", flush=True)
        while True:
            estimator.report(sys.argv[1])
    except KeyboardInterrupt:
        print("caught", flush=True)
print("fine", flush=True)
"""

# Runs a command, and waits at the first call of a function until the signal comes.
COMMAND = """
import importlib, sys, time
from pathlib import Path

place, marker, *sys.argv[1:] = sys.argv[1:]
module, _, name = place.rpartition(".")
owner = importlib.import_module(module.partition(":")[0])
for part in module.split(":")[1:]:
    owner = getattr(owner, part)
original = getattr(owner, name)

def waiting(*args, **options):
    result = original(*args, **options)
    Path(marker).touch()
    end = time.monotonic() + 60
    while time.monotonic() < end:
        time.sleep(0.01)
    return result

setattr(owner, name, waiting)
from spexplain.cli import main
sys.exit(main())
"""


@contextmanager
def started(program: str, *arguments: object, **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Run a program beside the test; whatever happens, it is gone at the end."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes, **{"env": environment(**UNTRACED), **options}) as child:
        try:
            yield child
        finally:
            child.kill()


class Lines:
    """What a program prints, line by line, without waiting for ever."""

    def __init__(self, child: subprocess.Popen[str]) -> None:
        self._lines: Queue[str] = Queue()
        threading.Thread(target=self._read, args=(child.stdout,), daemon=True).start()

    def _read(self, stream: Any) -> None:
        for line in stream:
            self._lines.put(line.strip())
        self._lines.put("end")

    def next(self, seconds: float = TIMEOUT) -> str:
        """Return the next line; nothing if it does not come in time."""
        try:
            return self._lines.get(timeout=seconds)
        except Empty:
            return ""


def interrupt_repeatedly(rounds: int, program: str, *arguments: object) -> None:
    """Send a signal a little later every time, and see each caught promptly.

    Python drops an interrupt that falls into the clean-up of an object, as any program's: then the
    user presses the keys again.
    """
    with started(program, *arguments, rounds) as child:
        lines = Lines(child)
        for number in range(rounds):
            assert lines.next() == "go", errors_of(child)
            time.sleep(0.013 + 0.057 * number)
            answer = ""
            for _ in range(3):
                child.send_signal(signal.SIGINT)
                answer = lines.next(PROMPT / 3)
                if answer:
                    break
            assert answer == "caught", errors_of(child)
        assert lines.next() == "fine", errors_of(child)
        assert child.wait(TIMEOUT) == 0


def errors_of(child: subprocess.Popen[str]) -> str:
    """Return what a program that goes wrong said to the last."""
    child.kill()
    return child.stderr.read()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["numpy", "histogram", "dask"])
def test_fits(name):
    if name == "dask":
        pytest.importorskip("distributed")
    interrupt_repeatedly(4, FITS, name)


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["compiling", "threads", "clustering"])
def test_nobody_waits_for_the_compiler_or_foreign_code(moment, tmp_path):
    """Afterwards the same process fits: what was being compiled has been compiled to its end."""
    done = run(BESIDE, moment, NUMBA_CACHE_DIR=str(tmp_path), **UNTRACED)
    assert done.returncode == 0, done.stderr
    fitted = [] if moment == "clustering" else ["6"]
    assert done.stdout.splitlines() == ["goes on", *fitted], done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["SpexClique", "CART", "IMM", "ExKMC", "BestTree", "SpexKNN", "KernelIMM", "ClusterRules"],
)
def test_no_loop_keeps_a_signal_waiting(name):
    """Within a second: compiled loops take a few columns, or some rows, at a time."""
    told = succeed(BEATS, name, name).split()
    assert told[::2] == [name, name]
    assert float(told[3]) < 0.5  # compiled by then; tables may be larger


@pytest.mark.slow
def test_reports(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("<p>the old report</p></html>")
    interrupt_repeatedly(5, REPORTS, path)
    assert path.read_text().rstrip().endswith("</html>")
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]


@pytest.fixture
def folder(tmp_path) -> Path:
    """A table, a model, and older results that must survive."""
    from spexplain import CART

    rows = [(x, x % 7, "low" if x < 200 else "high") for x in range(400)]
    text = "".join(",".join(map(str, row)) + "\n" for row in rows)
    (tmp_path / "table.csv").write_text("size,rest,kind\n" + text)
    X = [[float(size), float(rest)] for size, rest, _ in rows]
    model = CART().fit(X, [kind for *_, kind in rows])
    (tmp_path / "model.json").write_text(model.to_json().replace("null", '["size", "rest"]', 1))
    for name in ("old.html", "old.csv", "old.json", "old.sql"):
        (tmp_path / name).write_text("old")
    (tmp_path / "tmp").mkdir()
    return tmp_path


FILES = ["--report", "old.html", "--json", "old.json", "--sql", "old.sql", "--output", "old.csv"]
EXPLAIN = ["explain", "table.csv", "-l", "kind", "-m", "cart", *FILES, "--force"]
PREDICT = ["predict", "model.json", "table.csv", "--keep", "all"]
PAPER = ["paper", "--tables", "leaves", "--datasets", "Cancer", "--out", "tmp/out"]
MOMENTS = {
    "start": ("spexplain.cli.find_spec", EXPLAIN),
    "reading": ("spexplain.cli.read:TableFile.read", EXPLAIN),
    "growing": ("spexplain.grow.grow", EXPLAIN),
    "rendering": ("spexplain.cli.explain.report_html", EXPLAIN),
    "between files": ("spexplain.export.serialize.to_json", EXPLAIN),
    "written, not renamed": ("spexplain.cli.write.write_labels", EXPLAIN),
    "labelling": ("spexplain.cli.columns.cells_of_file", [*PREDICT, "-o", "old.csv", "--force"]),
    "streaming": ("spexplain.cli.write.without_formulas", [*PREDICT, "-o", "-"]),
    "comparing": ("spexplain.cli.compare._measures", ["compare", "table.csv", "-l", "kind", "--methods", "cart"]),
    "paper": ("spexplain.paper.results.compute", PAPER),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_commands(folder, moment):
    place, arguments = MOMENTS[moment]
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    marker = folder / "tmp" / "marker"
    variables = environment(TMPDIR=str(folder / "tmp"), **UNTRACED)
    with started(COMMAND, place, marker, *arguments, cwd=folder, env=variables) as child:
        wait_for(marker.exists, child)
        sent = time.monotonic()
        child.send_signal(signal.SIGINT)
        err = child.communicate(timeout=TIMEOUT)[1]
        assert time.monotonic() - sent < PROMPT
        assert child.returncode == 130, err
    assert "Traceback" not in err
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before
    left = [path.name for path in (folder / "tmp").rglob("*") if path.is_file()]
    assert left == ["marker"]
