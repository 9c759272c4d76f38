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
from spexplain import cli, export
def slowly(model, **options):
    print("writing", file=sys.stderr, flush=True)
    time.sleep(30)
export.to_json = slowly
sys.exit(cli.main())
"""


def test_an_existing_file_is_refused_before_the_work(run, files, tmp_path, monkeypatch):
    old = tmp_path / "m.json"
    old.write_text("old")
    monkeypatch.setattr("spexplain.cli.columns.read_table", None)  # would fail if it were reached
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
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)],
    ids=["interrupt", "terminate", "kill"],
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
