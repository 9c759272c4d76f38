"""Where memory is short, a sentence with numbers and a way out comes before the allocation."""

import gzip
import json
import os

import numpy as np
import pytest

from spexplain import SpexClique, memory
from trust.programs import succeed

pytestmark = pytest.mark.skipif(
    not os.path.exists("/proc/self/statm"), reason="limits on memory are tested on Linux"
)

# Every case limits the addresses of the process to what it has and a little more.
PROGRAM = """
import json, resource, sys, warnings
import numpy as np
import spexplain
from spexplain import graphs, references

warnings.simplefilter("ignore")
spexplain.SpexClique(2).fit(np.arange(8.0)[:, None], [0] * 4 + [1] * 4)
random = np.random.default_rng(0)

def limited(extra):
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (used + extra, hard))

def rows(n, d=2):
    return random.normal(size=(n, d)).astype(np.float32)

GIGABYTE = 1 << 30
cases = {
    "costs": lambda: spexplain.ExKMC(n_leaves=2001).fit(rows(100_000), np.arange(100_000) % 2000),
    "greedy costs": lambda: spexplain.ExGreedy().fit(rows(100_000), np.arange(100_000) % 2000),
    "mistakes": lambda: graphs.kernel.majority_costs(np.arange(200_000) % 5000),
    "kernel costs": lambda: graphs.kernel.feature_space_costs(
        rows(200_000), np.arange(200_000) % 2000, "rbf", 1.0),
    "kernel features": lambda: spexplain.KernelIMM().fit(rows(20_000, 20), np.arange(20_000) % 400),
    "kernel k-means": lambda: spexplain.KernelKMeans(200).fit(rows(100_000)),
    "neighbours": lambda: spexplain.SpexKNN(n_neighbors=10_000).fit(rows(20_000)),
    "identifiers": lambda: spexplain.SpexClique().fit(rows(20_000), np.arange(20_000)),
    "orders": lambda: spexplain.SpexClique(engine="numpy").fit(rows(300_000, 200), np.arange(300_000) % 3),
}
import spexplain.graphs.kernel
told = {}
for name, case in cases.items():
    limited(GIGABYTE)
    try:
        case()
        told[name] = "nothing"
    except MemoryError as error:
        told[name] = f"{type(error).__name__}: {error}"
# The process lives on, and so does what fits.
found = spexplain.SpexClique(3).fit(rows(2000), np.arange(2000) % 3).n_leaves_
print(json.dumps(told | {"after": found}))
"""


@pytest.mark.slow
def test_every_large_allocation_is_announced():
    told = json.loads(succeed(PROGRAM))
    assert told.pop("after") == 3
    for name, sentence in told.items():
        assert sentence.startswith("MemoryError: "), f"{name}: {sentence}"
        words = sentence.removeprefix("MemoryError: ")
        assert " GB of memory, but only " in words, f"{name}: {sentence}"
        assert " are free; " in words, f"{name}: {sentence}"
        assert words.endswith("."), f"{name}: {sentence}"
        assert words.count(". ") == 0, f"{name}: {sentence}"


@pytest.mark.parametrize("engine", ["histogram", "numpy"])
def test_engines_say_what_they_need(monkeypatch, engine):
    monkeypatch.setattr(memory, "_SMALL", 0)
    monkeypatch.setattr(memory, "available_memory", lambda: 2000.0)
    words = {"histogram": "The bins", "numpy": "The sorted orders"}[engine]
    with pytest.raises(MemoryError, match=f"^{words} of 1,000 rows by 4 columns need .* KB"):
        SpexClique(2, engine=engine).fit(np.arange(4000.0).reshape(-1, 4), [0, 1] * 500)


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_the_command_line_says_the_sentence(tmp_path, monkeypatch, format):
    """As if the machine had next to nothing left."""
    pl = pytest.importorskip("polars")
    testing = pytest.importorskip("typer.testing")
    from spexplain.cli.app import app

    data = tmp_path / f"table.{format}"
    frame = pl.DataFrame({"a": range(4000), "b": range(4000), "label": ["x", "y"] * 2000})
    getattr(frame, f"write_{format}")(data)
    monkeypatch.setattr(memory, "_SMALL", 0)
    monkeypatch.setattr(memory, "available_memory", lambda: 2000.0)
    done = testing.CliRunner().invoke(app, ["explain", str(data), "--labels", "label"])
    assert done.exit_code == 1
    assert f"table.{format} need " in done.stderr
    assert " KB of memory, but only 2.0 KB are free; take fewer rows" in done.stderr
    assert "--ignore" in done.stderr


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_what_is_small_on_disk_is_measured_as_it_is_read(tmp_path, monkeypatch, format):
    """Texts that a Parquet file holds once, and CSV that is compressed under a plain name."""
    pl = pytest.importorskip("polars")
    testing = pytest.importorskip("typer.testing")
    from spexplain.cli.app import app

    n_rows = 20_000
    data = tmp_path / f"table.{format}"
    frame = pl.DataFrame({"a": ["the same long text in every row"] * n_rows, "y": [0, 1] * 10_000})
    if format == "csv":
        data.write_bytes(gzip.compress(frame.write_csv().encode()))
    else:
        frame.write_parquet(data)
    room = 3 * 30 * n_rows  # three times the texts, but for what is beside them
    assert data.stat().st_size < room / 100
    monkeypatch.setattr(memory, "_SMALL", 0)
    monkeypatch.setattr(memory, "available_memory", lambda: float(room))
    done = testing.CliRunner().invoke(app, ["explain", str(data), "--labels", "y"])
    assert done.exit_code == 1
    assert " of memory, but only 1.8 MB are free; take fewer rows" in done.stderr


def test_a_limit_on_addresses_counts():
    program = (
        "import resource; from spexplain.memory import available_memory\n"
        "resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))\n"
        "print(available_memory())"
    )
    assert 0 < float(succeed(program)) < 8 << 30


@pytest.fixture
def system(monkeypatch):
    """Pretend that the system's files hold something else."""
    files: dict[str, str] = {}
    monkeypatch.setattr(memory, "_text", lambda path: files.get(str(path), ""))
    return files


def test_what_a_machine_has_left(system):
    system["/proc/meminfo"] = (
        "MemTotal: 9 kB\nMemAvailable:  1000 kB\nSwapFree: 24 kB\nHugePages: 0\n"
    )
    assert memory.available_memory() == 1024 * 1024


def test_what_a_container_may_take(system):
    system["/proc/self/cgroup"] = "0::/box\n"
    system["/sys/fs/cgroup/box/memory.max"] = "1000\n"
    system["/sys/fs/cgroup/box/memory.current"] = "900\n"
    system["/sys/fs/cgroup/box/memory.stat"] = "anon 500\ninactive_file 300\n"
    assert memory.available_memory() == 400
    system["/sys/fs/cgroup/memory.max"] = "1000\n"  # the group above is fuller
    system["/sys/fs/cgroup/memory.current"] = "990\n"
    assert memory.available_memory() == 10
    system["/sys/fs/cgroup/memory.max"] = system["/sys/fs/cgroup/box/memory.max"] = "max\n"
    assert memory.available_memory() > 1e6


def test_what_an_older_container_may_take(system):
    system["/proc/self/cgroup"] = "4:memory:/outside\n1:cpu:/\n0::/\n"
    system["/sys/fs/cgroup/memory/memory.limit_in_bytes"] = "5000\n"
    system["/sys/fs/cgroup/memory/memory.usage_in_bytes"] = "1000\n"
    assert memory.available_memory() == 4000
    system["/sys/fs/cgroup/memory/memory.limit_in_bytes"] = "9223372036854771712\n"
    assert memory.available_memory() > 1e6


def test_nothing_is_known(system, monkeypatch):
    def refuse(name):
        raise ValueError("unrecognized configuration name")

    monkeypatch.setattr(os, "sysconf", refuse)
    assert memory.available_memory() == float("inf")
    memory.check_memory(1e30, "Everything", "take less")


def test_small_amounts_are_not_asked_for(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 1 / 0)
    memory.check_memory(1e6, "A little", "take less")


@pytest.mark.parametrize(
    ("n_bytes", "words"),
    [(0, "0.0 bytes"), (2e3, "2.0 KB"), (5e12, "5.0 TB"), (1e20, "100,000.0 PB")],
)
def test_amounts_in_words(n_bytes, words):
    assert memory.in_words(n_bytes) == words
