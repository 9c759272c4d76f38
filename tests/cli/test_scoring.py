"""Scoring never lies quietly: rows without a label have a reason, and files are read as they are."""

import codecs
import gzip
import io
import json
from datetime import date, datetime

import numpy as np
import polars as pl
import pytest

import spexplain
from spexplain.cli import read, sources
from spexplain.cli.number_formats import option_that_reads, read_numbers
from spexplain.cli.options import ReadingOptions

SHOP = pl.DataFrame(
    {
        "revenue": np.random.default_rng(0).gamma(2, 700, 300).round(2),
        "channel": ["web", "shop", "fax"] * 100,
    }
).with_columns(
    segment=pl.when(pl.col("revenue") > 1500).then(pl.lit("VIP")).otherwise(pl.lit("other"))
)


@pytest.fixture
def model(run, tmp_path):
    SHOP.write_csv(tmp_path / "then.csv")
    options = ("-l", "segment", "-m", "cart", "--json", tmp_path / "m.json")
    assert run("explain", tmp_path / "then.csv", *options).exit_code == 0
    return tmp_path / "m.json"


def written(tmp_path, texts, name="now.csv"):
    path = tmp_path / name
    SHOP.with_columns(revenue=pl.Series(texts)).write_csv(path)
    return path


@pytest.fixture
def expected():
    return SHOP["segment"].to_list()


def labels_of(result):
    return pl.read_csv(result.stdout_bytes)["cluster"].to_list()


FORMS = {
    "--currency --thousands ','": lambda x: f"${x:,.2f}",
    "--thousands ','": lambda x: f"{x:,.2f}",
    "--decimal-comma": lambda x: f"{x:.2f}".replace(".", ","),
    "--thousands '.'": lambda x: f"{x:,.2f}".translate(str.maketrans(",.", ".,")),
    "--thousands ' '": lambda x: f"{x:,.2f}".replace(",", "\u00a0"),
    '--thousands "\'"': lambda x: f"{x:,.2f}".replace(",", "'"),
    "--currency": lambda x: f"{x:.2f} €",
    "--currency --thousands '.'": lambda x: f"EUR {x:,.2f}".translate(str.maketrans(",.", ".,")),
}


@pytest.mark.parametrize("option", FORMS)
def test_the_option_that_reads_numbers(run, model, tmp_path, expected, option):
    path = written(tmp_path, [FORMS[option](x) for x in SHOP["revenue"]])
    result = run("predict", model, path)
    assert result.exit_code == 1
    assert "rows have no label: revenue is not a number in" in result.stderr
    assert f"; {option} reads such numbers; --max-unscored" in result.stderr
    words = [word.strip("'\"") or word[1] for word in option.replace("' '", "'\u00a0'").split(" ")]
    words = [" " if word == "\u00a0" else "'" if word == '"\'"' else word for word in words]
    # Commas are between the cells of this file, so they are not taken for its default separator.
    result = run("predict", model, path, "--delimiter", ",", *words)
    assert result.exit_code == 0, result.stderr
    assert labels_of(result) == expected


def test_rows_without_a_label(run, model, tmp_path, expected):
    texts = [str(x) for x in SHOP["revenue"]]
    texts[3], texts[7], texts[8] = "unknown", "inf", ""
    path = written(tmp_path, texts)
    out = tmp_path / "out.csv"
    result = run("predict", model, path, "-o", out)
    assert result.exit_code == 1
    assert not out.exists()
    assert (
        "2 rows have no label: revenue is not a number in 2 rows ('unknown', 'inf')"
        in result.stderr
    )
    for most, status in (("1", 1), ("2", 0), ("0.5%", 1), ("1%", 0), ("0.01", 0), ("100%", 0)):
        result = run("predict", model, path, "-o", out, "--max-unscored", most, "-f")
        assert result.exit_code == status, (most, result.stderr)
    found = pl.read_csv(out)
    assert found.columns == ["leaf", "cluster", "reason"]
    assert found["reason"].to_list()[:9] == [None] * 3 + ["revenue is not a number"] + [None] * 3 + [
        "revenue is not a number", None
    ]  # fmt: skip
    assert found["cluster"][3] is None
    assert found["leaf"][7] is None
    kept = [at for at in range(300) if at not in (3, 7, 8)]
    assert [found["cluster"][at] for at in kept] == [expected[at] for at in kept]
    for bad in ("-1", "1.5", "many", "nan", "200%"):
        assert run("predict", model, path, "--max-unscored", bad).exit_code == 2, bad


def test_missing_values_that_a_model_refuses(run, tmp_path):
    SHOP.write_csv(tmp_path / "then.csv")
    options = ("-l", "segment", "-m", "cart", "--json", tmp_path / "m.json", "--missing", "error")
    assert run("explain", tmp_path / "then.csv", *options).exit_code == 0
    path = written(tmp_path, ["", *map(str, SHOP["revenue"][1:])])
    result = run("predict", tmp_path / "m.json", path)
    assert "1 row has no label: revenue is missing in 1 row" in result.stderr
    assert result.exit_code == 1


def test_typed_files(run, model, tmp_path, expected):
    for name, frame in (
        ("t.jsonl", SHOP.with_columns(revenue=pl.col("revenue").cast(pl.String))),
        ("t.parquet", SHOP.with_columns(revenue=pl.col("revenue").cast(pl.String))),
        ("d.parquet", SHOP.with_columns(revenue=pl.col("revenue").cast(pl.Decimal(12, 2)))),
    ):
        writes = {"jsonl": "write_ndjson", "parquet": "write_parquet"}
        getattr(frame, writes[name.split(".")[1]])(tmp_path / name)
        assert labels_of(run("predict", model, tmp_path / name)) == expected
    SHOP.with_columns(revenue=pl.lit(date(2024, 1, 1))).write_parquet(tmp_path / "w.parquet")
    result = run("predict", model, tmp_path / "w.parquet")
    assert result.exit_code == 1
    assert "300 rows have no label" in result.stderr


def test_columns_in_any_order_and_others_beside(run, model, tmp_path, expected):
    SHOP.select("segment", pl.lit(1).alias("leaf"), "revenue").write_csv(tmp_path / "now.csv")
    assert labels_of(run("predict", model, tmp_path / "now.csv")) == expected


def test_broken_pipes_end_quietly(model, tmp_path, environment):
    import subprocess
    import sys

    pl.concat([SHOP] * 2000).write_csv(tmp_path / "long.csv")
    command = f"{sys.executable} -m spexplain predict {model} {tmp_path / 'long.csv'} --keep all | head -2"
    done = subprocess.run(
        ["bash", "-c", f"{command}; exit ${{PIPESTATUS[0]}}"],
        capture_output=True,
        env=environment,
        timeout=120,
        check=False,
    )
    assert done.stderr == b""
    assert len(done.stdout.splitlines()) == 2


# --- files people have ------------------------------------------------------------------------------

ENCODINGS = {
    "utf-16": lambda text: text.encode("utf-16"),
    "utf-16-be with a mark": lambda text: codecs.BOM_UTF16_BE + text.encode("utf-16-be"),
    "utf-16-le without a mark": lambda text: text.encode("utf-16-le"),
    "utf-32": lambda text: text.encode("utf-32"),
    "utf-8 with a mark": lambda text: text.encode("utf-8-sig"),
    "utf-8 with two marks": lambda text: codecs.BOM_UTF8 + text.encode("utf-8-sig"),
    "latin-1": lambda text: text.encode("latin-1"),
    "gzip": lambda text: gzip.compress(text.encode()),
}


@pytest.mark.parametrize("name", ENCODINGS)
def test_encodings(run, tmp_path, name):
    frame = SHOP.rename({"revenue": "größe"}).with_columns(channel=pl.lit("café"))
    text = frame.write_csv()
    (tmp_path / "plain.csv").write_text(text, encoding="utf-8")
    (tmp_path / "other.csv").write_bytes(ENCODINGS[name](text))
    options = ("-l", "segment", "-m", "cart", "--json")
    for kind in ("plain", "other"):
        result = run("explain", tmp_path / f"{kind}.csv", *options, tmp_path / f"{kind}.json")
        assert result.exit_code == 0, result.stderr
        assert ("is read as cp1252" in result.stderr) == (name == "latin-1" and kind == "other")
    assert (tmp_path / "plain.json").read_text() == (tmp_path / "other.json").read_text()
    found = [run("predict", tmp_path / "plain.json", tmp_path / f"{kind}.csv", "--keep", "channel")
             for kind in ("plain", "other")]  # fmt: skip
    assert found[0].stdout == found[1].stdout
    assert "café" in found[1].stdout


def test_an_encoding_that_is_named(run, tmp_path):
    text = SHOP.rename({"revenue": "größe"}).write_csv()
    (tmp_path / "t.csv").write_bytes(text.encode("cp850"))
    arguments = ("explain", tmp_path / "t.csv", "-l", "segment", "-m", "cart")
    assert "größe ≤ 1" in run(*arguments, "--encoding", "cp850").stdout
    assert "größe ≤ 1" not in run(*arguments).stdout


def test_long_files_in_other_encodings(tmp_path, monkeypatch):
    """Letters of several bytes are not cut between blocks."""
    monkeypatch.setattr(sources, "_BLOCK", 7)
    (tmp_path / "t.csv").write_bytes("grün,ÿ\n1,€\n".encode("utf-16"))
    with read.opened(str(tmp_path / "t.csv"), ReadingOptions()) as file:
        assert file.names() == ["grün", "ÿ"]
        assert file.read()["ÿ"].to_list() == ["€"]


SIGNS = [
    ("a;b\n1,5;x\n2,25;y\n", {"a": [1.5, 2.25], "b": ["x", "y"]}),
    ("a;b\n1.234,5;x\n2,25;y\n", {"a": [1234.5, 2.25], "b": ["x", "y"]}),
    ("a;b\n1.5;x\n2.25;y\n", {"a": [1.5, 2.25], "b": ["x", "y"]}),
    ("a;b\n1,5;2.5\n", {"a": ["1,5"], "b": [2.5]}),  # which of both is the decimal sign?
    ("a\tb\n1\tx\n", {"a": [1], "b": ["x"]}),
    ("a|b\n1|x\n", {"a": [1], "b": ["x"]}),
    ('a;"b;c"\n1;"x;y"\n', {"a": [1], "b;c": ["x;y"]}),
    ("a,b;c\n1,x;y\n", {"a": [1], "b;c": ["x;y"]}),
    ("a,b\n1;2,3\n", {"a": ["1;2"], "b": [3]}),
    ("a\nNA\n3\nN/A\nnan\n<NA>\nNULL\n#N/A\n", {"a": [None, 3, None, None, None, None, None]}),
]


@pytest.mark.parametrize(("text", "columns"), SIGNS)
def test_signs_between_and_in_cells(tmp_path, text, columns):
    (tmp_path / "t.csv").write_text(text)
    with read.opened(str(tmp_path / "t.csv"), ReadingOptions()) as file:
        found = file.read()
    assert found.to_dict(as_series=False) == columns


def test_signs_are_told_and_can_be_named(run, tmp_path, expected):
    path = tmp_path / "t.csv"
    text = SHOP.write_csv(separator=";", decimal_comma=True)
    path.write_text(text)
    result = run("explain", path, "-l", "segment", "-m", "cart", "--json", tmp_path / "m.json")
    assert "is read with semicolons between cells and decimal commas" in result.stderr
    assert labels_of(run("predict", tmp_path / "m.json", path)) == expected
    result = run("explain", path, "-l", "segment", "-m", "cart", "--decimal-point")
    assert "--decimal-comma reads them as numbers" in result.stderr
    assert "decimal commas" not in result.stderr


def test_words_for_missing_values_can_be_switched_off(run, tmp_path):
    (tmp_path / "t.csv").write_text("country,y\n" + "NA,1\nDE,0\n" * 20)
    arguments = ("explain", tmp_path / "t.csv", "-l", "y", "-m", "cart", "--keep", "country")
    assert "country = NA" in run(*arguments, "--null", "").stdout
    assert "missing" in run(*arguments).stdout


def test_excel(run, model, tmp_path, expected):
    import openpyxl

    book = openpyxl.Workbook()
    book.active.title = "notes"
    book.active.append(["nothing"])
    sheet = book.create_sheet("data")
    sheet.append([None, None, None])
    sheet.append(["revenue", "channel", "since", "segment"])
    for at, row in enumerate(SHOP.iter_rows()):
        sheet.append([row[0], row[1], datetime(2024, 1, 1 + at % 28), row[2]])
    sheet.append(["", None])
    book.save(tmp_path / "t.xlsx")
    with read.opened(str(tmp_path / "t.xlsx"), ReadingOptions(sheet="data")) as file:
        found = file.read()
    assert found.shape == (300, 4)
    assert found["revenue"].to_list() == SHOP["revenue"].to_list()
    result = run("predict", model, tmp_path / "t.xlsx", "--sheet", "data")
    assert labels_of(result) == expected
    assert (
        "has no sheet dta; did you mean data?"
        in run("predict", model, tmp_path / "t.xlsx", "--sheet", "dta").stderr
    )
    assert "has no column revenue" in run("predict", model, tmp_path / "t.xlsx").stderr


def test_excel_out(run, model, tmp_path, expected):
    import openpyxl

    risky = SHOP.with_columns(channel=pl.lit("=1+1"), note=pl.lit("bell\a"))
    risky.write_csv(tmp_path / "t.csv")
    out = tmp_path / "out.xlsx"
    assert (
        run(
            "predict", model, tmp_path / "t.csv", "-o", out, "--keep", "channel,note,revenue"
        ).exit_code
        == 0
    )
    (sheet,) = openpyxl.load_workbook(out).worksheets
    rows = list(sheet.iter_rows())
    assert [cell.value for cell in rows[0]] == ["channel", "note", "revenue", "leaf", "cluster"]
    assert rows[1][0].data_type == "s"  # a text, no formula
    assert rows[1][0].value == "=1+1"
    assert [row[4].value for row in rows[1:]] == expected
    result = run("explain", out, "-l", "cluster", "-m", "cart", "--ignore", "note")
    assert result.exit_code == 0, result.stderr
    both = run(
        "explain", tmp_path / "t.csv", "-l", "segment", "-m", "cart", "-o", tmp_path / "e.xlsx"
    )
    assert both.exit_code == 0, both.stderr
    found = openpyxl.load_workbook(tmp_path / "e.xlsx").active
    assert [cell.value for cell in found[1]] == ["leaf", "cluster"]
    shown = run("predict", model, tmp_path / "t.csv", "--format", "xlsx")
    assert len(list(openpyxl.load_workbook(io.BytesIO(shown.stdout_bytes)).active.rows)) == 301


def test_what_excel_cannot_hold(run, model, tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "_MOST_ROWS", 200)
    SHOP.write_csv(tmp_path / "t.csv")
    result = run("predict", model, tmp_path / "t.csv", "-o", tmp_path / "out.xlsx")
    assert "An Excel sheet holds 200 rows at most" in result.stderr
    assert not (tmp_path / "out.xlsx").exists()


def test_numbers_that_are_none():
    cells = pl.Series(["1.2.3", "$", "EUR", "12 34", "--1", "1,23,456", "0x1", "", None, "1e3"])
    everything = ReadingOptions(currency=True, thousands=",")
    assert read_numbers(cells, everything).to_list() == [None] * 9 + [1000.0]
    assert option_that_reads(pl.Series([], dtype=pl.String), ReadingOptions()) is None
    assert option_that_reads(pl.Series(["abc"]), everything) is None


def test_models_that_remember_all_columns(run, tmp_path):
    SHOP.write_csv(tmp_path / "then.csv")
    options = ("-l", "segment", "-m", "cart", "--json", tmp_path / "m.json", "--profile", "all")
    assert run("explain", tmp_path / "then.csv", *options).exit_code == 0
    model = spexplain.from_json((tmp_path / "m.json").read_bytes())
    assert set(model.explanation_.profile.columns) == {0, 1}
    SHOP.with_columns(channel=pl.lit("mail")).write_csv(tmp_path / "now.csv")
    result = run("predict", tmp_path / "m.json", tmp_path / "now.csv", "--check")
    assert result.exit_code == 3
    assert "new-category: channel has 1 new value in 300 rows" in result.stderr
    found = json.loads(
        run("check", tmp_path / "m.json", tmp_path / "now.csv", "--format", "json").stdout
    )
    assert found["columns"][1]["new_categories"] == {"mail": 300}
