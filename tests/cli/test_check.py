"""`spexplain check`, `predict --check`, `show` and `report`: next month's file is another."""

import json
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from palmerpenguins import load_penguins

import spexplain
from spexplain.cli import read

PENGUINS = pl.from_pandas(load_penguins().drop(columns="year"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("penguins")
    PENGUINS.write_csv(path / "then.csv")
    PENGUINS.write_parquet(path / "then.parquet")
    PENGUINS.write_ndjson(path / "then.jsonl")
    return path


@pytest.fixture
def model(run, folder):
    path = folder / "model.json"
    if not path.exists():
        options = ("-l", "species", "-m", "cart", "--leaves", 6, "--json", path)
        assert run("explain", folder / "then.csv", *options).exit_code == 0
    return path


def facts(result):
    return json.loads(result.stdout)


@pytest.mark.parametrize("format", ["csv", "parquet", "jsonl"])
def test_the_same_rows(run, model, folder, format, monkeypatch):
    monkeypatch.setattr(read, "_N_BATCH_ROWS", 50)
    monkeypatch.setattr(read, "_N_BATCH_BYTES", 3000)
    result = run("check", model, folder / f"then.{format}", "-l", "species", "--format", "json")
    assert result.exit_code == 0, result.stderr
    found = facts(result)
    expected = spexplain.from_json(model.read_bytes()).check(
        PENGUINS.drop("species"), PENGUINS["species"].to_numpy()
    )
    wanted = json.loads(expected.to_json())
    assert {key: found[key] for key in wanted} == wanted
    assert found["passed"]
    assert found["findings"] == []


def moved(folder, **columns):
    path = folder / "now.csv"
    PENGUINS.with_columns(**columns).write_csv(path)
    return path


def test_alarms(run, model, folder):
    now = moved(folder, bill_length_mm=pl.col("bill_length_mm") * 100)
    result = run("check", model, now)
    assert result.exit_code == 3
    assert "unit-jump: bill_length_mm is about 100× what it was" in " ".join(result.stdout.split())
    assert run("check", model, now, "--fail-on", "none").exit_code == 0
    assert run("check", model, now, "--fail-on", "new-category").exit_code == 0
    assert run("check", model, now, "--fail-on", "new-category,drift").exit_code == 3
    found = facts(run("check", model, now, "--max-psi", 100, "--format", "json"))
    alarms = {each["kind"] for each in found["findings"] if each["level"] == "alarm"}
    assert {"unit-jump", "out-of-range"} <= alarms
    assert "drift" not in alarms
    result = run("check", model, now, "--fail-on", "drifft")
    assert result.exit_code == 2
    assert "did you mean drift?" in " ".join(result.stderr.replace("│", " ").split())


def test_columns_that_are_gone(run, model, folder):
    PENGUINS.rename({"bill_length_mm": "bill length"}).write_csv(folder / "gone.csv")
    result = run("check", model, folder / "gone.csv")
    assert result.exit_code == 3
    said = " ".join(result.stdout.split())
    assert "bill length has nearly the same name and similar values: renamed?" in said
    result = run("check", model, folder / "then.csv", "-l", "specie")
    assert result.exit_code == 1
    assert "did you mean species?" in result.stderr
    (folder / "empty.csv").write_text("bill_length_mm,island\n")
    assert "has column names but no rows" in run("check", model, folder / "empty.csv").stderr


def test_page(run, model, folder):
    now = moved(folder, island=pl.lit("Atlantis"))
    page = folder / "check.html"
    assert run("check", model, now, "--report", page, "-f").exit_code == 3
    assert "Atlantis (344)" in page.read_text()
    assert "exists" in run("check", model, now, "--report", page).stderr


def test_predict_with_a_check(run, model, folder, tmp_path):
    out = tmp_path / "labels.csv"
    result = run("predict", model, folder / "then.csv", "--check", "-o", out)
    assert result.exit_code == 0, result.stderr
    assert "Check passed" in result.stderr
    assert len(pl.read_csv(out)) == 344
    now = moved(folder, bill_length_mm=pl.col("bill_length_mm") * 100)
    result = run("predict", model, now, "--check", "-o", tmp_path / "not.csv")
    assert result.exit_code == 3
    assert "The check failed; nothing was written" in result.stderr
    assert not (tmp_path / "not.csv").exists()
    options = ("--check", "--fail-on", "new-category", "-o", tmp_path / "yes.csv")
    assert run("predict", model, now, *options).exit_code == 0


def test_show(run, model):
    result = run("show", model)
    assert result.exit_code == 0, result.stderr
    assert "bill_length_mm" in result.stdout
    assert "32.1 to 59.6, median 44.4" in result.stdout
    found = json.loads(run("show", model, "--format", "json").stdout)
    assert found["seen"][0]["categories"]["Biscoe"] == 168
    assert found["summary"]["n_rows"] == 344


def test_report(run, model, folder, tmp_path):
    page = tmp_path / "r.html"
    for rows in ((), (folder / "then.csv",), (folder / "then.parquet", "-l", "species")):
        result = run("report", model, *rows, "-o", page, "--force")
        assert result.exit_code == 0, result.stderr
        html = page.read_text()
        assert "3 clusters, explained" in html
        assert ("Typical rows" in html) == bool(rows)
    PENGUINS.head(100).write_csv(folder / "few.csv")
    result = run("report", model, folder / "few.csv", "-o", page, "--force")
    assert result.exit_code == 1
    assert "pass --labels" in result.stderr
    result = run("report", model, folder / "few.csv", "-l", "species", "-o", page, "--force")
    assert result.exit_code == 0, result.stderr
    assert "100 rows" in page.read_text()
    assert run("report", model, "-l", "species").exit_code == 2


def test_a_model_that_holds_its_rows(run, folder, tmp_path):
    options = ("-l", "species", "--json", tmp_path / "m.json", "--profile", "rows")
    result = run("explain", folder / "then.csv", *options)
    assert result.exit_code == 0, result.stderr
    result = run("report", tmp_path / "m.json", "-o", tmp_path / "with.html")
    assert result.exit_code == 0, result.stderr
    assert "Typical rows" in (tmp_path / "with.html").read_text()


def test_numbers_of_rows_that_became_tests(run, tmp_path):
    rows = pl.DataFrame({"customer_id": np.arange(100), "y": np.arange(100) > 30})
    rows.write_csv(tmp_path / "t.csv")
    options = ("-l", "y", "-m", "cart", "--keep", "customer_id", "--json", tmp_path / "m.json")
    assert run("explain", tmp_path / "t.csv", *options).exit_code == 0
    result = run("predict", tmp_path / "m.json", tmp_path / "t.csv", "-o", tmp_path / "o.csv")
    assert "The tree tests customer_id, which had a different value in every" in result.stderr


def test_whole_numbers_that_floats_round(run, tmp_path):
    rows = pl.DataFrame({"a": np.arange(40) * 2**48 + 2**55, "y": np.arange(40) > 20})
    rows.write_csv(tmp_path / "t.csv")
    options = ("-l", "y", "-m", "cart", "--keep", "a", "--json", tmp_path / "m.json")
    assert run("explain", tmp_path / "t.csv", *options).exit_code == 0
    result = run("predict", tmp_path / "m.json", tmp_path / "t.csv", "-o", tmp_path / "o.csv")
    assert "Whole numbers beyond 2^53 in a are rounded to floats" in result.stderr


MEASURED = """
import runpy, sys
from spexplain.cli import read
read._N_BATCH_ROWS, read._N_BATCH_BYTES = 1 << 15, 1 << 20
try:
    runpy.run_module("spexplain", run_name="__main__")
except SystemExit as end:
    assert end.code in (0, None, 3), end.code
status = open("/proc/self/status").read()
print(status.split("VmHWM:")[1].split()[0], file=sys.stderr)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_does_not_grow_with_the_table(run, model, folder, environment):
    peaks, many = [], pl.concat([PENGUINS] * 800)
    for copies in (3, 8):
        path = folder / f"{copies}.csv"
        pl.concat([many.lazy()] * copies).sink_csv(path)
        command = [sys.executable, "-c", MEASURED, "check", model, path, "-q", "-l", "species"]
        done = subprocess.run(
            [str(each) for each in command], capture_output=True, check=True, env=environment
        )
        peaks.append(1024 * int(done.stderr.split()[-1]))
    assert peaks[1] - peaks[0] < 0.25 * 5 * (folder / "3.csv").stat().st_size / 3
