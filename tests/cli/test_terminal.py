"""What people see: a terminal of 80 columns, pipes, a quick start, an install without the extra."""

import re
import subprocess
import sys

import polars as pl
import pytest
from rich.cells import cell_len

from facts.cases import customers_summary
from spexplain import __version__, cli
from spexplain.cli.terminal import clipped, condition, rule_lines, tree_lines
from spexplain.facts.schema import columns_of
from spexplain.tree import Column, Region

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def lines_of(shown):
    """Return what stays on the screen of each line."""
    return [
        ESCAPES.sub("", line.split("\r")[-1]) for line in shown.replace("\r\n", "\n").split("\n")
    ]


def test_explain_in_a_terminal(files, tmp_path, in_terminal):
    status, shown = in_terminal("explain", files["csv"], "-l", "species", "-o", tmp_path / "o.csv")
    assert status == 0
    assert "\x1b[" in shown
    lines = lines_of(shown)
    assert max(map(cell_len, lines)) <= 80
    text = "\n".join(line.rstrip() for line in lines)
    assert "├─ yes ● leaf 0: setosa  50 rows" in text
    assert "Agreement with species: 0.886" in text
    assert "Growing the tree" in shown  # was shown while it took its time


def test_no_color(files, in_terminal):
    status, shown = in_terminal("explain", files["csv"], "-l", "species", "-q", NO_COLOR="1")
    assert status == 0
    assert not re.search(r"\x1b\[[0-9;]*(3[0-7]|38;|9[0-7])", shown)


def test_compare_in_a_terminal(files, in_terminal):
    methods = "cart,spex-clique,imm"
    status, shown = in_terminal("compare", files["csv"], "-l", "species", "--methods", methods)
    assert status == 0
    lines = lines_of(shown)
    assert max(map(cell_len, lines)) <= 80
    assert sum(line.startswith(("cart", "spex-clique", "imm")) for line in lines) == 3
    assert "Comparing" in shown


def test_predict_in_a_terminal(files, tmp_path, process, in_terminal):
    process("explain", files["csv"], "-l", "species", "-m", "cart", "--json", tmp_path / "m.json")
    status, shown = in_terminal("predict", tmp_path / "m.json", files["csv"])
    assert status == 0
    assert "0,setosa" in lines_of(shown)
    assert len(lines_of(shown)) >= 151


def test_no_color_and_no_progress_in_a_pipe(files, process):
    result = process("explain", files["csv"], "-l", "species", "-m", "cart")
    assert b"\x1b" not in result.stdout + result.stderr
    assert result.stderr == b""
    assert all(line == line.rstrip() for line in result.stdout.decode().splitlines())


def test_a_reader_that_leaves(files, environment):
    command = f"{sys.executable} -m spexplain explain {files['csv']} -k 3 --ignore species -q"
    command += " --format json | head -1"
    result = subprocess.run(
        ["bash", "-c", command], capture_output=True, check=False, env=environment
    )
    assert result.stdout.strip() == b"{"
    assert b"Traceback" not in result.stderr


def test_a_terminal_that_knows_only_ascii(files, environment, process):
    environment = {**environment, "PYTHONIOENCODING": "ascii"}
    result = process("explain", files["csv"], "-l", "species", "-m", "cart", env=environment)
    assert result.returncode == 0
    assert b"petal length (cm) ? 2\n" in result.stdout


@pytest.mark.parametrize("width", [60, 80, 120])
def test_long_names_and_deep_trees(run, tmp_path, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    name = "the average temperature of the day before yesterday in degrees Celsius, 長い名前"
    frame = pl.DataFrame(
        {name: [at // 2 for at in range(60)], "b" * 70: [at * at for at in range(60)]}
    )
    labels = [f"a very long name of a cluster number {at // 4}" for at in range(60)]
    frame.with_columns(pl.Series("y", labels)).write_csv(tmp_path / "t.csv")
    result = run("explain", tmp_path / "t.csv", "-l", "y", "-m", "cart")
    assert result.exit_code == 0, result.stderr
    assert max(cell_len(line) for line in result.stdout.splitlines()) <= width
    assert " ≤ 27\n" in result.stdout


@pytest.mark.parametrize("width", range(3, 30))
def test_clipped(width):
    for text in (
        "average temperature of the day",
        "長い名前長い名前長い名前",
        "a b c d e f g h i j",
    ):
        assert cell_len(clipped(text, width)) <= width


def test_a_document_in_a_cell_is_clipped_at_once():
    for text in ("word " * 200_000, "長い" * 200_000):
        assert cell_len(clipped(text, 40)) <= 40


def test_version_and_help(run):
    assert run("--version").stdout == f"spexplain {__version__}\n"
    for command in ((), ("explain",), ("predict",), ("compare",), ("warmup",)):
        result = run(*command, "--help")
        assert result.exit_code == 0
        assert max(map(cell_len, result.stdout.splitlines())) <= 80


def loaded_by(code, environment):
    report = "import sys; print(*{name.split('.')[0] for name in sys.modules})"
    command = [sys.executable, "-c", f"{code}\n{report}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return set(done.stdout.split())


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_a_quick_start(option, environment):
    heavy = {"polars", "sklearn", "scipy", "numba", "pandas", "pyarrow"}
    code = f"""
import sys
from spexplain import cli
sys.argv = ["spexplain", "{option}"]
try:
    cli.main()
except SystemExit:
    pass
"""
    # What `import spexplain` itself loads is not the command line's doing.
    assert not heavy & (loaded_by(code, environment) - loaded_by("import spexplain", environment))


def test_without_the_extra(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "typer", None)
    assert cli.main() == 1
    assert capsys.readouterr().err == (
        'The command line needs typer: pip install "spexplain[cli]"\n'
    )


@pytest.mark.parametrize("width", [60, 80, 120])
def test_rules_of_any_kind_fit(width):
    summary = customers_summary(with_rows=False)
    columns = columns_of(summary)
    assert max(cell_len(line.plain) for line in tree_lines(summary, width)) <= width
    for leaf in summary["leaves"]:
        lines = rule_lines(leaf, columns, width // 2)
        assert max(map(cell_len, lines)) <= width // 2
        if width == 120:  # room enough for everything
            assert " ".join(line.strip() for line in lines) == leaf["rule"]


def test_long_lists_of_values_are_cut():
    values = tuple(f"value {at} of many, and a long one" for at in range(50))
    column = Column("a column with a long name", "category", values, has_missing=True)
    text = condition(Region.of_codes(range(0, 40, 2), missing=True), column, 60)
    assert cell_len(text) <= 60
    assert text.startswith("a co…ame in {")
    assert re.search(r" in \{\S.*, … 1\d more\} or missing$", text)
