"""Files are written as a whole or not at all, and never over others unasked."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from spexplain.cli.errors import UserError
from spexplain.cli.write import Outputs

# Stands in for `python -m spexplain`: the second of two files takes long to make.
SLOW = """
import sys, time
from spexplain import cli
from spexplain.export import serialize
def slowly(model, **options):
    print("writing", file=sys.stderr, flush=True)
    time.sleep(30)
serialize.to_json = slowly
sys.exit(cli.main())
"""


def test_an_existing_file_is_refused_before_the_work(run, files, tmp_path, monkeypatch):
    old = tmp_path / "m.json"
    old.write_text("old")
    monkeypatch.setattr(
        "spexplain.cli.columns.read_input_table", None
    )  # would fail if it were reached
    result = run("explain", files["csv"], "-k", 3, "--json", old)
    assert result.exit_code == 1
    assert f"{old} exists; pass --force to overwrite it" in result.stderr
    assert old.read_text() == "old"


def test_force(run, files, tmp_path):
    old = tmp_path / "m.json"
    old.write_text("old")
    old.chmod(0o640)
    result = run("explain", files["csv"], "-l", "species", "-m", "cart", "--json", old, "--force")
    assert result.exit_code == 0, result.stderr
    assert old.read_text().startswith("{")
    assert old.stat().st_mode & 0o777 == 0o640
    again = run("predict", old, files["csv"], "-o", old)
    assert again.exit_code == 1


def test_places(tmp_path):
    (tmp_path / "table.csv").write_text("a")
    for path, wanted in (
        (tmp_path, "is a folder"),
        (tmp_path / "no" / "m.json", "there is no folder"),
        (tmp_path / "table.csv", "is the table itself"),
    ):
        with pytest.raises(UserError, match=wanted):
            Outputs({"--json": path}, force=True, source=str(tmp_path / "table.csv"))


def test_links_and_devices(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old")
    link.symlink_to(real)
    with Outputs({"--json": link}, force=True) as outputs:
        outputs.write("--json", "new")
        assert real.read_text() == "old"
    assert link.is_symlink()
    assert real.read_text() == "new"
    with Outputs({"--json": Path(os.devnull)}) as outputs:
        outputs.write("--json", "gone")
    assert not os.path.isfile(os.devnull)


def test_a_failure_leaves_everything_as_it_was(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text("old")

    def fail():
        with Outputs({"--json": old, "--sql": new}, force=True) as outputs:
            outputs.write("--json", "half")
            with outputs.target("--sql") as target:
                target.write(b"half")
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert old.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["old"]


@pytest.mark.parametrize(
    ("number", "status"),
    [
        (signal.SIGINT, 130),
        (signal.SIGTERM, 143),
        (signal.SIGHUP, 129),
        (signal.SIGKILL, -9),
    ],
    ids=["interrupt", "terminate", "hang up", "kill"],
)
def test_signals_in_the_middle_of_writing(files, tmp_path, number, status, environment):
    sql, json = tmp_path / "q.sql", tmp_path / "m.json"
    sql.write_text("old")
    json.write_text("old")
    command = [sys.executable, "-c", SLOW, "explain", files["csv"], "-l", "species", "-m", "cart"]
    command += ["--sql", sql, "--json", json, "--force"]
    child = subprocess.Popen(
        [str(each) for each in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )
    assert child.stderr is not None
    assert b"writing" in child.stderr.readline()
    time.sleep(0.1)
    child.send_signal(number)
    said = child.communicate(timeout=30)[1]
    assert child.returncode == status
    assert b"Traceback" not in said
    assert sql.read_text() == json.read_text() == "old"
    left = {each.name for each in tmp_path.iterdir()} - {"q.sql", "m.json"}
    assert not left or number == signal.SIGKILL


@pytest.fixture
def small(run, tmp_path):
    """A table and its model."""
    data, model = tmp_path / "t.csv", tmp_path / "m.json"
    data.write_text("a,y\n" + "".join(f"{x},{'pq'[x > 9]}\n" for x in range(20)))
    assert run("explain", data, "-l", "y", "-m", "cart", "--json", model).exit_code == 0
    return data, model


def shell(line, *names, environment, cwd):
    """Run a line of bash; $1, $2, ... are the names, `spexplain` the program."""
    program = f'spexplain() {{ "{sys.executable}" -m spexplain "$@"; }}\n{line}'
    return subprocess.run(
        ["bash", "-c", program, "bash", *map(str, names)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=environment,
        cwd=cwd,
    )


@pytest.mark.parametrize(
    "line",
    [
        "spexplain predict -q $2 <(cat $1)",
        "mkfifo f.csv; cat $1 > f.csv & spexplain predict -q $2 f.csv",
        "cat $1 | spexplain predict -q $2 /dev/stdin -o /dev/stdout",
        "spexplain predict -q $2 /dev/stdin -o /dev/stdout < $1 > out.txt; cat out.txt",
        "spexplain predict $2 $1 -o /dev/fd/3 3> out.txt -q; cat out.txt",
        "mkfifo out.csv; cat out.csv & spexplain predict $2 $1 -o out.csv -q; wait",
    ],
)
def test_pipes_and_streams(small, line, environment, tmp_path):
    done = shell(line, *small, environment=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["leaf,cluster", *["0,p"] * 10, *["1,q"] * 10]
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("line", "status", "said"),
    [
        ("spexplain predict $2 $1 >&-", 1, "Standard output is closed; name a file to write to."),
        ("spexplain predict $2 - <&-", 1, "Standard input is closed; name a file."),
        (
            "spexplain explain $1 -l y -m cart --format json >&-",
            1,
            "Standard output is closed, so that JSON cannot be printed.",
        ),
        ("spexplain predict $2 nothing.csv 2>&-", 1, ""),
        ("spexplain predict $2 $1 > /dev/full", 1, "standard output: No space left on device."),
        (
            "spexplain predict $2 $1 -o /dev/full --format parquet",
            1,
            "/dev/full: No space left on device.",
        ),
        (
            "spexplain explain $1 -l y -m cart > /dev/full",
            1,
            "The output could not be written: No space left on device.",
        ),
        ("spexplain explain $1 -l y -m cart --sql /dev/full", 1, "/dev/full: No space left on device."),
        ("spexplain --version > /dev/full", 1, "The output could not be written: No space left on device."),
        ("spexplain predict --help > /dev/full", 1, "The output could not be written: No space left on device."),
    ],
)  # fmt: skip
def test_outputs_that_fail_are_named(small, line, status, said, environment, tmp_path):
    done = shell(line, *small, environment=environment, cwd=tmp_path)
    assert done.returncode == status
    assert done.stdout == ""
    assert done.stderr == "" if not said else done.stderr.startswith(f"Error: {said}")
    assert done.stderr.count("\n") == (1 if said else 0)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["m.json", "t.csv"]


def test_a_closed_stream_is_no_place_for_a_file(small, environment, tmp_path):
    """The first file that is opened would otherwise get the number of standard output."""
    line = "spexplain explain $1 -l y -m cart --json new.json >&- 2>&- <&-"
    done = shell(line, *small, environment=environment, cwd=tmp_path)
    assert done.returncode == 0
    assert (tmp_path / "new.json").read_bytes() == small[1].read_bytes()


def test_a_width_of_nothing(small, environment, tmp_path):
    environment = environment | {"COLUMNS": "0"}
    done = shell("spexplain explain $1 -l y -m cart", *small, environment=environment, cwd=tmp_path)
    assert done.returncode == 0
    assert "100%" in done.stdout


def test_a_place_that_cannot_be_written_is_refused_before_the_work(run, files, monkeypatch):
    """Whatever the permissions say: the superuser may write everywhere but there."""
    monkeypatch.setattr(
        "spexplain.cli.columns.read_input_table", None
    )  # would fail if it were reached
    result = run("explain", files["csv"], "-k", 3, "--json", "/proc/model.json")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: /proc/model.json: ")


def test_nohup_is_respected(small, environment, tmp_path):
    line = 'trap "" HUP; exec "$3" -c "$4"'
    program = (
        "import os, signal, sys\nfrom spexplain.cli.errors import Ending\nEnding.listen()\n"
        "os.kill(os.getpid(), signal.SIGHUP)\nprint('alive')"
    )
    done = shell(line, *small, sys.executable, program, environment=environment, cwd=tmp_path)
    assert done.stdout == "alive\n"


# Stands in for `python -m spexplain`: while polars asks for the rows of a Parquet file, a signal comes.
ASKED = """
import os, signal, sys, time
from spexplain import cli
from spexplain.cli import predict, read
original = read.TableFile.batches
def batches(self, *given):
    for number, batch in enumerate(original(self, *given)):
        yield batch
        os.kill(os.getpid(), int(os.environ["NUMBER"]))
        time.sleep(0.05)
read.TableFile.batches = batches
sys.exit(cli.main())
"""


@pytest.mark.parametrize("format", ["parquet", "csv"])
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_no_writer_swallows_a_signal(small, environment, tmp_path, format, number, status):
    data, model = small
    out = tmp_path / f"out.{format}"
    out.write_text("old")
    command = [sys.executable, "-c", ASKED, "predict", model, data, "-o", out, "--force"]
    done = subprocess.run(
        [str(each) for each in command],
        capture_output=True,
        check=False,
        timeout=120,
        env=environment | {"NUMBER": str(int(number))},
    )
    assert done.returncode == status, done.stderr
    assert out.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 3
