"""The command writes everything, fits into 80 columns, and refuses bad options in one sentence."""

import csv
import json
import sys

import pytest

pytest.importorskip("typer", reason="needs the extra cli")
pytest.importorskip("polars", reason="needs the extra cli")

from typer.testing import CliRunner

from spexplain.cli import paper as command
from spexplain.cli.app import app
from spexplain.paper import DATASETS, TABLES
from spexplain.paper.compute import LoadedDataset

pytest.importorskip("pyamg", reason="the spectral references need the extra spectral")


@pytest.fixture
def call(monkeypatch):
    """Run the command in this process, without the illustrations, in 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(command, "_illustrations", lambda out: [])

    def run(*arguments):
        return CliRunner().invoke(app, ["paper", "--jobs", "1", *map(str, arguments)])

    return run


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    """A folder whose cells are finished, so that tests only look at what is written."""
    folder = tmp_path_factory.mktemp("paper")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "_illustrations", lambda out: [])
        result = CliRunner().invoke(
            app, ["paper", "--datasets", "iris", "--jobs", "1", "--out", str(folder)]
        )
    assert result.exit_code == 0, result.output
    return folder


def test_all_files_are_written(call, cells):
    pytest.importorskip("matplotlib", reason="needs the extra plot")
    result = call("--datasets", "iris", "--out", cells)
    assert result.exit_code == 0, result.output
    assert "0 cells computed" in result.stderr
    assert sorted(path.name for path in cells.iterdir()) == [
        "cells", "paper-scores.png", "paper-scores.svg", "paper.csv", "paper.json", "paper.md",
    ]  # fmt: skip
    text = (cells / "paper.md").read_text("utf-8")
    assert all(f"## {table.title}" in text for name, table in TABLES.items() if name != "large")
    assert "Conventions, by who serves the rows of a leaf" in text
    assert "different machines" in text
    assert "](paper-scores.png)" in text
    assert ">>>" not in text
    document = json.loads((cells / "paper.json").read_text("utf-8"))
    with (cells / "paper.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == len(document["numbers"])
    scores = [line for line in document["numbers"] if line["equal"] is not None]
    assert sum(line["equal"] for line in scores) == len(scores) - 2
    assert all((line["why"] is None) == line["equal"] for line in scores)


def test_80_columns(call, cells):
    result = call("--datasets", "iris", "--out", cells)
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert not any("…" in line for line in lines)
    assert "33 of 33 comparable numbers equal to the third decimal" in lines


def test_differences_are_coloured(call, cells, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    shown = call("--datasets", "iris", "--tables", "leaves", "--out", cells).stdout
    assert "\x1b[32m" in shown
    assert "\x1b[31m-.013" in shown


def test_numbers_that_cannot_be_compared_are_marked(call, tmp_path, monkeypatch):
    iris = LoadedDataset.load(DATASETS["Iris"], n_jobs=1)
    iris.is_papers_embedding = False
    monkeypatch.setattr(LoadedDataset, "load", lambda dataset, **_: iris)
    result = call("--datasets", "cifar", "--tables", "large,leaves", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert "Cifar*: another embedding than the paper's" in " ".join(result.stdout.split())
    assert max(map(len, result.stdout.splitlines())) <= 80
    document = json.loads((tmp_path / "paper.json").read_text("utf-8"))
    assert document["another_embedding"] == ["Cifar"]
    assert {line["difference"] for line in document["numbers"]} == {None}
    assert r"| Cifar\* |" in (tmp_path / "paper.md").read_text("utf-8")


def test_a_busy_machine_is_owned_up_to(call, cells, tmp_path, monkeypatch):
    options = ("--datasets", "iris", "--tables", "runtime", "--out", tmp_path)
    monkeypatch.setattr("spexplain.paper.compute.machine_load", lambda: 99.0)
    shown = " ".join(call(*options).stdout.split())
    assert "busy with other work while these times were taken (load up to 99.0" in shown
    monkeypatch.setattr("spexplain.paper.compute.machine_load", lambda: 0.0)
    assert "busy" not in call(*options, "--fresh").stdout


def test_page_for_the_documentation(call, cells, tmp_path):
    pytest.importorskip("matplotlib", reason="needs the extra plot")
    page = tmp_path / "results.md"
    assert call("--datasets", "iris", "--out", cells, "--docs", page).exit_code == 0
    assert "](images/paper-scores.png)" in page.read_text("utf-8")
    assert (tmp_path / "images" / "paper-scores.png").stat().st_size > 10_000


def test_without_matplotlib(call, cells, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = call("--tables", "price", "--datasets", "iris", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert 'No figures, as they need matplotlib: pip install "spexplain[plot]"' in result.stderr
    assert "](paper-scores.png)" not in (tmp_path / "paper.md").read_text("utf-8")


def test_fresh_computes_anew(call, tmp_path):
    options = ("--tables", "price", "--datasets", "iris", "--out", tmp_path)
    assert "6 cells computed, 0 kept" in call(*options).stderr
    assert "0 cells computed, 6 kept" in call(*options).stderr
    assert "6 cells computed, 0 kept" in call(*options, "--fresh").stderr
    assert "6 cells computed, 6 kept" in call(*options, "--datasets", "iris-uci,cancer").stderr


def test_ctrl_c_says_how_to_go_on(call, tmp_path, monkeypatch):
    def interrupted(tables, names, store, *, advance, **options):
        advance(2, 6, "Iris")
        raise KeyboardInterrupt

    monkeypatch.setattr("spexplain.paper.run", interrupted)
    result = call("--out", tmp_path)
    assert result.exit_code == 130
    assert "Stopped with 2 of 6 cells in" in result.stderr


@pytest.mark.parametrize(
    ("options", "status", "wanted"),
    [
        (("--tables", "neighbor"), 2, "there is no table neighbor; did you mean neighbors?"),
        (("--tables", ","), 2, "--tables names nothing"),
        (("--datasets", "iriss"), 2, "there is no dataset iriss; did you mean Iris?"),
        (("--datasets", ""), 2, "--datasets names nothing"),
        (("--jobs", "0"), 2, "--jobs 0 is not a number of threads"),
        (("--tables", "neighbors", "--datasets", "r15"), 1, "have no rows for these datasets."),
    ],
)
def test_bad_choices(call, tmp_path, options, status, wanted):
    result = call("--out", tmp_path / "new", *options)
    assert result.exit_code == status
    assert wanted in " ".join(result.stderr.replace("│", " ").split())
    assert result.stdout == ""


def test_bad_places(call, tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    for options, wanted in (
        (("--out", file), "is a file; name a folder."),
        (("--out", file / "deeper"), "the folder cannot be made (not a directory)."),
        (("--out", tmp_path, "--docs", tmp_path), "is a folder; name a file in it."),
        (("--out", tmp_path, "--docs", tmp_path / "no" / "page.md"), "there is no folder"),
    ):
        result = call(*options)
        assert result.exit_code == 1
        assert result.stderr.startswith("Error: ")
        assert len(result.stderr.splitlines()) == 1
        assert wanted in result.stderr


def test_nothing_at_hand(call, tmp_path, monkeypatch):
    monkeypatch.setenv("SPEXPLAIN_DATA", str(tmp_path))
    monkeypatch.setenv("SPEXPLAIN_CACHE", str(tmp_path))
    result = call("--datasets", "mnist", "--out", tmp_path / "out")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: Nothing to compute, as the data is not at hand: MNIST")
    assert len(result.stderr.splitlines()) == 1
