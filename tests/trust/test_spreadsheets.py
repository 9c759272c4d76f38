"""CSV files hold no cell that a spreadsheet would run; numbers stay numbers, and the round trip works."""

import csv
import io

import pytest

pytest.importorskip("typer", reason="needs the extra cli")
pytest.importorskip("polars", reason="needs the extra cli")

import polars as pl
from typer.testing import CliRunner

from spexplain.cli.app import app
from spexplain.export.spreadsheets import disarmed

STARTS = "=+-@\t\r\n＝＋－＠"
RISKY = [f"{sign}cmd|' /C calc'!A0" for sign in STARTS]
RISKY += ["\ufeff=cmd()", "\ufeff\ufeff@SUM(1)", "\0=cmd()"]  # what readers drop before a sign
TAME = ["-1.5", "+2", "-1e-3", "-inf", "plain", "a=b", "'=quoted", "", " =spaced", "1-2"]


def run(*arguments: object) -> bytes:
    result = CliRunner().invoke(app, [str(each) for each in arguments])
    assert result.exit_code == 0, result.output
    return result.stdout_bytes


@pytest.mark.parametrize("text", RISKY, ids=ascii)
def test_risky_texts_get_an_apostrophe(text):
    assert disarmed(text) == f"'{text}"
    assert disarmed(disarmed(text)) == disarmed(text)


@pytest.mark.parametrize("text", TAME)
def test_tame_texts_stay(text):
    assert disarmed(text) == text


@pytest.fixture
def table(tmp_path):
    """Hostile column names, texts and labels beside negative numbers."""
    n_rows = 60
    frame = pl.DataFrame(
        {
            "=size": [float(x - 30) for x in range(n_rows)],
            "note": [RISKY[x % len(RISKY)] for x in range(n_rows)],
            "@kind": ["=low()" if x < 30 else "-high" for x in range(n_rows)],
        }
    )
    frame.write_parquet(tmp_path / "table.parquet")
    options = ("-l", "@kind", "-m", "cart", "--json", tmp_path / "model.json")
    run("explain", tmp_path / "table.parquet", *options, "-o", tmp_path / "labels.csv", "-q")
    return tmp_path


def cells_of(content: bytes, separator: str = ",") -> list[str]:
    return [
        cell
        for row in csv.reader(io.StringIO(content.decode()), delimiter=separator)
        for cell in row
    ]


def is_safe(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return not cell.lstrip("\ufeff\0").startswith(tuple(STARTS))
    return True


@pytest.mark.parametrize("format", ["csv", "tsv"])
def test_labels_and_kept_columns_are_safe(table, format):
    arguments = ("predict", table / "model.json", table / "table.parquet", "--keep", "all")
    written = run(*arguments, "--format", format)
    cells = cells_of(written, "\t" if format == "tsv" else ",")
    assert all(map(is_safe, cells))
    assert {"'=size", "'@kind", "'=low()", "'-high", "-30.0"} <= set(cells)
    assert all(map(is_safe, cells_of((table / "labels.csv").read_bytes())))


@pytest.mark.parametrize("format", ["parquet", "jsonl", "arrow"])
def test_other_formats_keep_texts_as_they_are(table, format):
    arguments = ("predict", table / "model.json", table / "table.parquet", "--keep", "all")
    run(*arguments, "-o", table / f"out.{format}", "-q")
    read = {"parquet": pl.read_parquet, "jsonl": pl.read_ndjson, "arrow": pl.read_ipc}[format]
    found = read(table / f"out.{format}")
    assert "=size" in found.columns
    assert set(found["cluster"]) == {"=low()", "-high"}


def test_what_predict_wrote_can_be_predicted_again(table):
    """Columns and texts that were disarmed are found again under the model's own names."""
    arguments = ("predict", table / "model.json", table / "table.parquet", "--keep")
    (table / "again.csv").write_bytes(run(*arguments, "=size,note,@kind"))
    first = pl.read_csv(table / "again.csv", infer_schema=False)
    again = pl.read_csv(
        run("predict", table / "model.json", table / "again.csv"), infer_schema=False
    )
    assert first["'=size"].len() == 60
    assert again["leaf"].to_list() == first["leaf"].to_list()


def test_texts_are_found_again(tmp_path):
    values = ["=a" if x % 2 else "b" for x in range(40)]
    frame = pl.DataFrame({"text": values, "rest": [0.0] * 40, "kind": values})
    frame.write_csv(tmp_path / "t.csv")
    options = ("-l", "kind", "-m", "cart", "--keep", "text", "--json", tmp_path / "m.json", "-q")
    run("explain", tmp_path / "t.csv", *options)
    plain = run("predict", tmp_path / "m.json", tmp_path / "t.csv")
    kept = run("predict", tmp_path / "m.json", tmp_path / "t.csv", "--keep", "text,rest")
    (tmp_path / "again.csv").write_bytes(kept)
    assert run("predict", tmp_path / "m.json", tmp_path / "again.csv") == plain


def test_names_behind_a_byte_order_mark(tmp_path):
    frame = pl.DataFrame({"\ufeff=cmd()": [0.5, 1.5, 2.5, 3.5], "y": ["u", "u", "v", "v"]})
    frame.write_parquet(tmp_path / "t.parquet")
    model = tmp_path / "m.json"
    run("explain", tmp_path / "t.parquet", "-l", "y", "-m", "cart", "--json", model, "-q")
    cells = cells_of(run("predict", model, tmp_path / "t.parquet", "--keep", "all"))
    assert all(map(is_safe, cells))


def test_texts_that_differ_in_an_apostrophe_only(tmp_path):
    """One that stands for a disarmed formula, and one of the data."""
    values = ["=a", "'=a", "b"] * 10
    frame = pl.DataFrame({"text": values, "rest": [0.0] * 30, "kind": ["u", "v", "w"] * 10})
    frame.write_csv(tmp_path / "t.csv")
    options = ("-l", "kind", "-m", "cart", "--keep", "text", "--json", tmp_path / "m.json", "-q")
    run("explain", tmp_path / "t.csv", *options)
    for format in ("csv", "parquet"):
        getattr(frame, f"write_{format}")(tmp_path / f"t.{format}")
        found = pl.read_csv(run("predict", tmp_path / "m.json", tmp_path / f"t.{format}"))
        assert found["cluster"].to_list() == frame["kind"].to_list()


def test_tables_of_the_paper_are_safe(tmp_path, monkeypatch):
    from spexplain.paper import outputs
    from spexplain.paper.results import Results

    record = dict.fromkeys(outputs._COLUMNS, "=cmd()") | {"difference": -0.25, "ours": 0.5}
    monkeypatch.setattr(outputs, "records", lambda results: [record])
    outputs.write_tables(Results(()), tmp_path)
    cells = cells_of((tmp_path / "paper.csv").read_bytes())
    assert all(map(is_safe, cells))
    assert {"'=cmd()", "-0.25", "0.5"} <= set(cells)
