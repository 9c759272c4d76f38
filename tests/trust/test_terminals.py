"""What a table holds never controls the terminal: no escape sequence, markup or bidirectional trick gets through."""

import json
import re

import pytest

pytest.importorskip("typer", reason="needs the extra cli")
pytest.importorskip("polars", reason="needs the extra cli")

import polars as pl
from typer.testing import CliRunner

from cli.conftest import in_terminal  # noqa: F401
from spexplain.cli.app import app
from trust.hostile import TEXTS

# The only sequences that rich itself sends: colours, cursor, erasing of a line.
OWN = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\r")
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
NAMES = [text for text in TEXTS if "\0" not in text and "\ud800" not in text and len(text) < 999]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    columns = {name: [(x * (at + 3)) % 41 / 7 for x in range(80)] for at, name in enumerate(NAMES)}
    labels = [NAMES[-6] if columns[NAMES[0]][x] < 3 else NAMES[-5] for x in range(80)]
    path = folder / "\x1b]0;pwned\x07.parquet"
    pl.DataFrame(columns | {"\x1b[31mlabel": labels}).write_parquet(path)
    return path


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(each) for each in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


LABEL = ("--labels", "\x1b[31mlabel")


@pytest.mark.parametrize(
    "arguments",
    [
        ("explain", *LABEL, "-m", "cart"),
        ("explain", *LABEL, "-m", "cart", "--format", "json"),
        ("compare", *LABEL, "--methods", "cart,imm"),
        ("compare", *LABEL, "--methods", "cart", "--format", "json"),
        ("explain", "--labels", "\x1b[31mlabl", "-m", "cart"),
        ("explain", *LABEL, "--ignore", "\x1b[2Jnothing"),
        ("explain", *LABEL, "--features", "\x9b31mnothing"),
        ("explain", *LABEL, "--leaves", "\x1b[2J"),
        ("compare", *LABEL, "--methods", "\x1b[2J"),
    ],
)
def test_outputs_and_errors(table, arguments):
    command, *options = arguments
    shown = run(command, table, *options)
    assert shown.strip()
    assert CONTROLS.search(shown) is None, ascii(shown)


def test_checks_and_stored_models(table, tmp_path):
    model = tmp_path / "m.json"
    run("explain", table, *LABEL, "-m", "cart", "--json", model, "--profile", "all", "-q")
    frame = pl.read_parquet(table)
    odd = [NAMES[at % len(NAMES)] for at in range(len(frame))]
    now = frame.with_columns(pl.Series(NAMES[0], odd), pl.Series("\x1b[31mlabel", odd))
    now.write_parquet(tmp_path / "now.parquet")
    for arguments in (
        ("show", model),
        ("show", model, "--format", "json"),
        ("check", model, tmp_path / "now.parquet", *LABEL),
        ("check", model, tmp_path / "now.parquet", *LABEL, "--format", "json"),
        ("predict", model, tmp_path / "now.parquet"),
        ("predict", model, tmp_path / "now.parquet", "--check", "--max-unscored", "100%"),
        ("check", model, table, "--fail-on", "\x1b[2J"),
        ("report", model, table, "--labels", "\x1b[31mlabl"),
    ):
        shown = run(*arguments)
        assert shown.strip()
        assert CONTROLS.search(shown) is None, (arguments[0], ascii(shown))


def test_json_still_says_the_names(table):
    document = json.loads(run("explain", table, *LABEL, "-m", "cart", "--format", "json"))
    assert document["columns"] == NAMES


def test_brackets_are_no_markup(tmp_path, monkeypatch):
    """A reason that looks like rich's markup is printed as it is."""
    import spexplain

    def refuse(self, X, y=None):
        raise ValueError("column [/bold] and [red]x[/red] are odd")

    pl.DataFrame({"a": range(20), "b": [0, 1] * 10}).write_csv(tmp_path / "t.csv")
    monkeypatch.setattr(spexplain.CART, "fit", refuse)
    shown = run("compare", tmp_path / "t.csv", "-l", "b", "--methods", "cart,imm")
    assert "column [/bold] and [red]x[/red] are odd" in shown


def test_cells_on_a_real_terminal(table, tmp_path, in_terminal):  # noqa: F811
    """Cells that predict copies reach a terminal as question marks, a file as they are."""
    run("explain", table, *LABEL, "-m", "cart", "--json", tmp_path / "m.json", "-q")
    model, keep = tmp_path / "m.json", ("--keep", "\x1b[31mlabel")
    status, shown = in_terminal("predict", model, table, *keep, "-q")
    assert status == 0
    assert CONTROLS.search(OWN.sub("", shown.replace("\r\n", "\n"))) is None, ascii(shown[:500])
    assert "?]0;pwned?" in shown
    run("predict", model, table, *keep, "-o", tmp_path / "out.csv", "-q")
    assert "\x1b]0;pwned\x07" in (tmp_path / "out.csv").read_text()
