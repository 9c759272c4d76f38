"""`spexplain predict`: the same labels as the estimator's, from any file, in constant memory."""

import io
import json
import subprocess
import sys
from datetime import date, datetime, time, timedelta
from itertools import product

import numpy as np
import polars as pl
import pytest

import spexplain
from spexplain.cli import read

FORMATS = ["csv", "tsv", "parquet", "arrow", "jsonl", "csv.gz", "jsonl.gz"]
READERS = {
    "csv": pl.read_csv,
    "parquet": pl.read_parquet,
    "jsonl": pl.read_ndjson,
    "arrow": pl.read_ipc,
}


@pytest.fixture
def model(run, files, tmp_path):
    path = tmp_path / "model.json"
    run("explain", files["csv"], "-l", "species", "-m", "cart", "--leaves", 6, "--json", path)
    return path


@pytest.fixture
def expected(iris):
    explainer = spexplain.CART(n_leaves=6)
    X, y = iris.drop("species"), iris["species"].to_numpy().astype(str)
    return explainer.fit(X, y).predict(X), explainer.predict_reference(X)


@pytest.mark.parametrize("format", FORMATS)
def test_every_input(run, files, model, expected, format):
    result = run("predict", model, files[format], "-q")
    found = pl.read_csv(result.stdout_bytes)
    assert found.columns == ["leaf", "cluster"]
    np.testing.assert_array_equal(found["leaf"], expected[0])
    np.testing.assert_array_equal(found["cluster"], expected[1])


@pytest.mark.parametrize("format", READERS)
@pytest.mark.parametrize("how", ["name", "option", "stdout"])
def test_every_output(run, files, model, expected, tmp_path, format, how):
    path = tmp_path / (f"out.{format}" if how == "name" else "out")
    options = () if how == "name" else ("--format", format)
    target = "-" if how == "stdout" else path
    result = run("predict", model, files["parquet"], "-o", target, "--keep", "species", *options)
    assert result.exit_code == 0, result.stderr
    found = READERS[format](io.BytesIO(result.stdout_bytes) if how == "stdout" else path)
    assert found.columns == ["species", "leaf", "cluster"]
    np.testing.assert_array_equal(found["leaf"], expected[0])


def test_many_batches(run, files, model, expected, monkeypatch):
    monkeypatch.setattr(read, "_N_BATCH_ROWS", 7)
    monkeypatch.setattr(read, "_N_BATCH_BYTES", 100)
    for format in ("csv", "parquet", "jsonl", "arrow"):
        result = run("predict", model, files[format], "-q", "--keep", "all")
        np.testing.assert_array_equal(pl.read_csv(result.stdout_bytes)["leaf"], expected[0])


def test_line_breaks_in_cells(run, model, tmp_path, monkeypatch):
    monkeypatch.setattr(read, "_N_BATCH_BYTES", 50)
    frame = pl.DataFrame(
        {
            "note": ['a\nb"c"\n\n', "plain", "\n", 'x,"y"', None] * 20,
            "petal length (cm)": np.linspace(1, 6, 100),
            "petal width (cm)": np.linspace(0, 2, 100),
            "sepal length (cm)": 1,
            "sepal width (cm)": 1,
        }
    )
    frame.write_csv(tmp_path / "t.csv")
    result = run("predict", model, tmp_path / "t.csv", "-q", "--keep", "note", "--format", "jsonl")
    assert pl.read_ndjson(result.stdout_bytes)["note"].to_list() == frame["note"].to_list()


def test_columns_in_another_order_and_only_those_tested(
    run, iris, files, model, expected, tmp_path
):
    tested = json.loads(model.read_text())["tree"]["feature"]
    names = [iris.columns[column] for column in sorted(set(tested) - {-1}, reverse=True)]
    iris[names].write_csv(tmp_path / "t.csv")
    result = run("predict", model, tmp_path / "t.csv")
    np.testing.assert_array_equal(pl.read_csv(result.stdout_bytes)["leaf"], expected[0])


def test_values_at_thresholds(run, model, tmp_path):
    loaded = spexplain.from_json(model.read_bytes())
    thresholds = loaded.tree_.threshold[loaded.tree_.feature >= 0]
    values = np.concatenate([thresholds, np.nextafter(thresholds, np.inf), [1e300, -1e300, 0.1]])
    grid = np.random.default_rng(0).choice(values, size=(500, 4))
    for dtype in (pl.Float64, pl.Float32):
        frame = pl.DataFrame(grid, schema=list(loaded.feature_names_in_)).cast(dtype)
        if dtype == pl.Float32:
            frame = frame.select(pl.when(pl.all().is_finite()).then(pl.all()).otherwise(0))
        expected = loaded.predict(frame.to_numpy())
        for format in ("csv", "parquet", "jsonl"):
            path = tmp_path / f"t.{format}"
            if dtype == pl.Float32 and format != "parquet":
                continue  # text of a float32 is another float64
            write = {"csv": "write_csv", "jsonl": "write_ndjson", "parquet": "write_parquet"}
            getattr(frame, write[format])(path)
            found = pl.read_csv(run("predict", model, path).stdout_bytes)["leaf"]
            np.testing.assert_array_equal(found, expected)


def test_missing_values(run, model, iris, tmp_path):
    """Rows without a value take the side that the model says."""
    (tmp_path / "t.csv").write_text(
        "petal length (cm),petal width (cm),sepal length (cm),sepal width (cm)\n"
        "1.0,,1,1\nNA,1.0,1,1\n5.0,N/A,1,1\n6.0,3.0,1,1\n"
    )
    result = run("predict", model, tmp_path / "t.csv")
    holed = pl.DataFrame(
        {
            "petal length (cm)": [1.0, None, 5.0, 6.0],
            "petal width (cm)": [None, 1.0, None, 3.0],
            "sepal length (cm)": 1.0,
            "sepal width (cm)": 1.0,
        }
    )
    expected = spexplain.from_json(model.read_bytes()).predict(holed)
    assert pl.read_csv(result.stdout_bytes)["leaf"].to_list() == expected.tolist()
    assert "1 row lacks a value of petal length (cm), which every training row had" in result.stderr
    assert "2 rows lack a value of petal width (cm), which every training row had" in result.stderr


@pytest.fixture
def shop():
    """Columns of every kind that files have, of rows in four groups."""
    random = np.random.default_rng(0)
    n_rows = 400
    start = datetime(2024, 1, 1)
    spent = random.integers(0, 500, n_rows) / 2
    frame = pl.DataFrame(
        {
            "channel": random.choice(["app", "web", "shop", "=fax", "1,234", ""], n_rows),
            "member": random.random(n_rows) < 0.4,
            "orders": random.integers(0, 9, n_rows),
            "spent": [None if x > 225 else x for x in spent.tolist()],
            "since": [start.date() + timedelta(int(x)) for x in random.integers(0, 300, n_rows)],
            "seen": [start + timedelta(minutes=int(x)) for x in random.integers(0, 9999, n_rows)],
            "at": [time(int(x) // 60, int(x) % 60) for x in random.integers(0, 1440, n_rows)],
        }
    )
    groups = {
        "channel": pl.col("channel").is_in(["app", "=fax", "1,234"]),
        "member": "member",
        "orders": pl.col("orders") > 4,
        "spent": (pl.col("spent") > 100).fill_null(True),
        "since": pl.col("since") < date(2024, 5, 20),
        "seen": pl.col("seen") < datetime(2024, 1, 3, 10, 30),
        "at": pl.col("at") < time(9, 30),
    }
    return frame, groups


@pytest.mark.parametrize("tested", ["member", "orders", "spent", "since", "seen", "at"])
def test_files_in_which_every_cell_is_quoted(run, shop, tmp_path, tested):
    """Empty cells are missing values among numbers, dates and labels, with quotes or without."""
    frame, groups = shop
    some = pl.int_range(pl.len()) % 9
    group = frame.select(y=groups[tested])["y"].cast(pl.Int8)
    frame = frame.with_columns(pl.when(some > 0).then(tested), y=pl.when(some != 5).then(group))
    texts = frame.with_columns(pl.all().cast(pl.String))
    models = []
    for quotes in ("necessary", "always"):
        path, model = tmp_path / f"{quotes}.csv", tmp_path / f"{quotes}.json"
        texts.write_csv(path, quote_style=quotes)
        result = run(
            "explain", path, "-l", "y", "-m", "cart", "--features", tested, "--json", model
        )
        assert result.exit_code == 0, result.stderr
        models.append(model.read_text())
    assert models[0] == models[1]
    result = run("check", model, path, "-l", "y")
    assert "no differences" in result.stdout


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet", "arrow"])
@pytest.mark.parametrize("tested", ["channel", "member", "orders", "spent", "since", "seen", "at"])
def test_columns_of_every_kind(run, shop, tmp_path, format, tested):
    """What explain reads, predict reads alike: in any format, and from the tested column alone."""
    frame, groups = shop
    frame = frame.with_columns(y=groups[tested]).with_columns(y=pl.col("y").cast(pl.Int8) + 1)
    frame = frame.with_columns(y=pl.when(pl.int_range(pl.len()) < 5).then(3).otherwise("y"))
    path, model, labels = tmp_path / f"t.{format}", tmp_path / "m.json", tmp_path / "labels.csv"
    write = {"csv": "csv", "parquet": "parquet", "jsonl": "ndjson", "arrow": "ipc"}[format]
    getattr(frame, f"write_{write}")(path)
    options = ("-m", "cart", "--leaves", 2, "--json", model, "-o", labels, "--features", tested)
    result = run("explain", path, "-l", "y", *options)
    assert result.exit_code == 0, result.stderr
    assert "≤ 0.5" not in result.stdout
    result = run("predict", model, path)
    assert result.exit_code == 0, result.stderr
    assert result.stdout == labels.read_text()
    assert result.stderr == ""
    for other in ("csv", "parquet", "jsonl"):
        name = {"jsonl": "ndjson"}.get(other, other)
        getattr(frame.select(tested), f"write_{name}")(tmp_path / f"only.{other}")
        only = run("predict", model, tmp_path / f"only.{other}")
        assert only.stdout == labels.read_text(), (other, only.stderr)


def test_values_never_seen_in_training(run, shop, tmp_path, monkeypatch):
    monkeypatch.setattr(read, "_N_BATCH_BYTES", 50)
    frame, groups = shop
    frame.with_columns(y=groups["channel"]).write_csv(tmp_path / "t.csv")
    model = tmp_path / "m.json"
    run("explain", tmp_path / "t.csv", "-l", "y", "--features", "channel", "--json", model)
    (tmp_path / "new.csv").write_text("other,channel\n" + "1,telex\n2,web\n3,post\n4,telex\n" * 9)
    result = run("predict", model, tmp_path / "new.csv", "--keep", "other")
    wanted = (
        "27 rows with a value of channel never seen in training: telex, post; it counts as missing."
    )
    assert result.stderr == f"Note: {wanted}\n"
    missing = pl.DataFrame({"channel": pl.Series([None], dtype=pl.String)})
    leaf = int(spexplain.from_json(model.read_bytes()).predict(missing)[0])
    found = pl.read_csv(result.stdout_bytes)
    assert found.columns == ["other", "leaf", "cluster"]
    assert set(found.filter(pl.col("other") != 2)["leaf"]) == {leaf}


def test_a_tested_column_that_is_not_there(run, shop, tmp_path):
    frame, groups = shop
    frame.with_columns(y=groups["channel"]).write_csv(tmp_path / "t.csv")
    model, out = tmp_path / "m.json", tmp_path / "out.csv"
    options = ("--features", "channel,orders", "--leaves", 3, "-m", "cart", "--json", model)
    run("explain", tmp_path / "t.csv", "-l", "y", *options)
    for name, end in (
        ("chanel", "has no column channel, which the model tests; did you mean chanel?"),
    ):
        (tmp_path / "new.csv").write_text(f"{name},orders\nweb,3\n")
        result = run("predict", model, tmp_path / "new.csv", "-o", out)
        assert result.exit_code == run("predict", model, tmp_path / "gone.csv").exit_code == 1
        assert result.stderr.startswith("Error: ")
        assert result.stderr.strip().endswith(end)
        assert len(result.stderr.splitlines()) == 1
        assert not out.exists()


def test_models_without_clusters(run, files, tmp_path):
    run(
        "explain", files["csv"], "--ignore", "species", "-k", 3, "-m", "spex-knn", "--json",
        tmp_path / "m.json",
    )  # fmt: skip
    found = pl.read_csv(run("predict", tmp_path / "m.json", files["csv"]).stdout_bytes)
    assert found.columns == ["leaf"]
    assert found["leaf"].n_unique() == 3


def test_formulas_are_disarmed(run, files, model, iris, tmp_path):
    risky = ["=1+1", "+a", "-b", "@c", "\td", "\re", "-1.5", "+2e3", "ok", "a=b"]
    frame = iris.head(len(risky)).with_columns(pl.Series("=note", risky))
    frame.write_parquet(tmp_path / "t.parquet")
    safe = ["'=1+1", "'+a", "'-b", "'@c", "'\td", "'\re", "-1.5", "+2e3", "ok", "a=b"]
    arguments = ("predict", model, tmp_path / "t.parquet", "--keep", "=note")
    found = pl.read_csv(run(*arguments).stdout_bytes, infer_schema=False)
    assert found["'=note"].to_list() == safe
    found = pl.read_csv(
        run(*arguments, "--format", "tsv").stdout_bytes, infer_schema=False, separator="\t"
    )
    assert found["'=note"].to_list() == safe
    kept = pl.read_ndjson(run(*arguments, "--format", "jsonl").stdout_bytes)
    assert kept["=note"].to_list() == risky


def test_labels_that_are_formulas(run, iris, tmp_path):
    path = tmp_path / "t.csv"
    iris.with_columns(pl.col("species").replace("setosa", "=cmd()")).write_csv(path)
    run("explain", path, "-l", "species", "-m", "cart", "-o", tmp_path / "o.csv", "-q")
    assert "'=cmd()" in pl.read_csv(tmp_path / "o.csv")["cluster"].to_list()


def test_a_name_twice(run, files, model, iris, tmp_path):
    iris.rename({"species": "leaf"}).write_csv(tmp_path / "t.csv")
    result = run("predict", model, tmp_path / "t.csv", "--keep", "all")
    assert result.exit_code == 1
    assert "--keep leaf would hide a column" in result.stderr


def test_pipes(files, model, expected, process):
    content = files["csv"].read_bytes()
    result = process("predict", model, "-", "-o", "-", stdin=content)
    assert result.returncode == 0, result.stderr
    np.testing.assert_array_equal(pl.read_csv(result.stdout)["leaf"], expected[0])
    result = process("predict", "-", files["csv"], stdin=model.read_bytes())
    np.testing.assert_array_equal(pl.read_csv(result.stdout)["leaf"], expected[0])


# Small batches, so that tables of a size for tests have many.
MEASURED = """
import runpy, sys
from spexplain.cli import read
read._N_BATCH_ROWS, read._N_BATCH_BYTES = 1 << 15, 1 << 20
try:
    runpy.run_module("spexplain", run_name="__main__")
except SystemExit as end:
    assert not end.code, end.code
status = open("/proc/self/status").read()
print(status.split("VmHWM:")[1].split()[0], file=sys.stderr)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_memory_does_not_grow_with_the_table(run, model, tmp_path, format, environment):
    names = spexplain.from_json(model.read_bytes()).feature_names_in_
    n_small = 300_000
    X = np.random.default_rng(0).normal(3, 2, size=(n_small, 4)).round(1)
    small = pl.DataFrame(X, schema=list(names)).with_columns(x=1.5, y=2.5, z=3.5)
    peaks = []
    for copies in (3, 8):  # with fewer, the buffers of the reader are not full yet
        path = tmp_path / f"{copies}.{format}"
        lazy = pl.concat([small.lazy()] * copies)
        getattr(lazy, f"sink_{format}")(path)
        command = [sys.executable, "-c", MEASURED, "predict", model, path, "--keep", "all", "-q"]
        command += ["-o", tmp_path / f"out{copies}.{format}"]
        done = subprocess.run(
            [str(each) for each in command], capture_output=True, check=True, env=environment
        )
        peaks.append(1024 * int(done.stderr.split()[-1]))
    more_in_the_table = 5 * n_small * 7 * 8
    assert peaks[1] - peaks[0] < 0.25 * more_in_the_table
    assert len(READERS[format](tmp_path / f"out8.{format}")) == 8 * n_small


@pytest.mark.parametrize("format", ["csv", "parquet", "jsonl", "arrow"])
@pytest.mark.parametrize("name", ["^a.*$", "*", "^.*$", "a.b|c"])
def test_names_that_look_like_patterns(run, tmp_path, format, name):
    """Columns are taken by their exact names, whatever polars would make of them."""
    random = np.random.default_rng(0)
    frame = pl.DataFrame({name: random.normal(size=60), "ab": random.normal(size=60)})
    frame = frame.with_columns(
        pl.Series("abc", ["u", "v", None] * 20),
        pl.Series("^y.*$", (frame[name] > 0.1).cast(pl.Int8) + (frame["ab"] > 0)),
        yes=pl.lit(7.0),
    )
    path, model, labels = tmp_path / f"t.{format}", tmp_path / "m.json", tmp_path / "labels.csv"
    write = {"csv": "csv", "parquet": "parquet", "jsonl": "ndjson", "arrow": "ipc"}[format]
    getattr(frame, f"write_{write}")(path)
    options = ("-m", "cart", "--ignore", "yes", "--json", model, "-o", labels)
    result = run("explain", path, "-l", "^y.*$", *options, "--features", f"{name},ab")
    assert result.exit_code == 0, result.stderr
    names = spexplain.from_json(model.read_bytes()).feature_names_in_
    assert list(names) == [name, "ab", "abc"]
    result = run("predict", model, path)
    assert result.exit_code == 0, result.stderr
    assert result.stdout == labels.read_text()
    result = run("predict", model, path, "--keep", name, "--format", "jsonl")
    kept = pl.read_ndjson(result.stdout_bytes)
    assert kept.columns == [name, "leaf", "cluster"]
    assert kept[name].cast(pl.Float64).to_list() == frame[name].to_list()
    kept = pl.read_csv(run("predict", model, path, "--keep", "all").stdout_bytes)
    assert kept.columns == [*frame.columns, "leaf", "cluster"]
    assert run("explain", path, "-k", 2, "-m", "cart", "--ignore", f"{name},^y.*$").exit_code == 0


@pytest.mark.parametrize("name", ["^a.*$", "*"])
def test_text_in_columns_whose_names_look_like_patterns(run, tmp_path, name):
    frame = pl.DataFrame(
        {"ab": ["u", "v"] * 10, name: ["p", "p", "q", "q"] * 5, "y": [0, 0, 1, 1] * 5}
    )
    frame.write_csv(tmp_path / "t.csv")
    model, labels = tmp_path / "m.json", tmp_path / "labels.csv"
    options = ("-m", "cart", "--keep", name, "--json", model, "-o", labels)
    result = run("explain", tmp_path / "t.csv", "-l", "y", *options)
    assert result.exit_code == 0, result.stderr
    assert spexplain.from_json(model.read_bytes()).explanation_.used == [1]
    assert run("predict", model, tmp_path / "t.csv").stdout == labels.read_text()


def test_long_values_are_shortened_in_sentences(run, model, iris, tmp_path):
    rows = (
        iris.head(3)
        .cast(pl.String)
        .with_columns(pl.lit("a letter " * 500).alias("petal length (cm)"))
    )
    rows.write_csv(tmp_path / "t.csv")
    result = run("predict", model, tmp_path / "t.csv")
    assert result.exit_code == 1
    assert "is not a number in 3 rows ('a letter a letter" in result.stderr
    assert len(result.stderr) < 400


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_infinite_values_are_no_numbers(run, files, model, iris, tmp_path, format):
    """As in Python, which refuses them; no row gets the label of another leaf."""
    names = spexplain.from_json(model.read_bytes()).feature_names_in_
    ends = [float("-inf"), float("inf"), 1.0]
    rows = pl.DataFrame(list(product(ends, repeat=4)), schema=list(names), orient="row")
    path = tmp_path / f"t.{format}"
    getattr(rows, f"write_{format}")(path)
    if format == "csv":
        path.write_text(path.read_text().replace("-inf", "-1e999"))
    result = run("predict", model, path)
    assert result.exit_code != 0
    assert "is not a number" in result.stderr
    found = pl.read_csv(run("predict", model, path, "--max-unscored", "100%").stdout_bytes)
    known = spexplain.from_json(model.read_bytes())
    used = [names[column] for column in known.explanation_.used]
    is_finite = rows.select(pl.all_horizontal(pl.col(used).is_finite())).to_series()
    assert found["leaf"].is_not_null().to_list() == is_finite.to_list()
    expected = known.predict(rows.filter(is_finite).fill_nan(None).to_numpy().clip(-9, 9))
    assert found["leaf"].drop_nulls().to_list() == expected.tolist()


@pytest.mark.parametrize("format", ["csv", "parquet", "jsonl", "arrow"])
@pytest.mark.parametrize("name", ["iris*", "iris[1]", "iris?", "~iris", "iris\udcff"])
def test_names_of_files_are_no_patterns(run, files, model, expected, iris, tmp_path, format, name):
    """A neighbour that a pattern would match is not read; nor is another user's home."""
    write = {"csv": "csv", "parquet": "parquet", "jsonl": "ndjson", "arrow": "ipc"}[format]
    plain = tmp_path / f"iris1.{format}"
    getattr(iris.head(3), f"write_{write}")(plain)
    path = tmp_path / f"{name}.{format}"
    path.write_bytes(files[format].read_bytes())
    result = run("predict", model, path)
    assert result.exit_code == 0, result.stderr
    assert pl.read_csv(result.stdout_bytes)["leaf"].to_list() == expected[0].tolist()
    assert "150 rows" in run("explain", path, "-l", "species", "-m", "cart").stdout


def test_a_folder_called_tilde(process, files, model, tmp_path):
    folder = tmp_path / "~"
    folder.mkdir()
    (folder / "t.csv").write_bytes(files["csv"].read_bytes())
    done = process("predict", model, "~/t.csv", "-o", "~/out.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(pl.read_csv(folder / "out.csv")) == 150


def test_short_rows_anywhere(run, tmp_path, monkeypatch):
    """Missing cells at the end of a row are missing values, at the start of a block and at the end of the file."""
    model = tmp_path / "m.json"
    (tmp_path / "t.csv").write_text(
        "a,b,y\n" + "".join(f"{x}.5,{x % 3},{int(x > 9)}\n" for x in range(20))
    )
    assert (
        run("explain", tmp_path / "t.csv", "-l", "y", "-m", "cart", "--json", model).exit_code == 0
    )
    rows = ["b,rest,a", "1", "2,x,4", "3,x", "4,x,15", "5,x,16", "6", "7,x,17", "8"]
    expected = None
    for size in (1 << 23, 12, 8, 5):  # every row starts a block at some size
        monkeypatch.setattr(read, "_N_BATCH_BYTES", size)
        for end in ("\n", ""):
            (tmp_path / "short.csv").write_text("\ufeff" + "\n".join(rows) + end)
            result = run("predict", model, tmp_path / "short.csv", "--keep", "b")
            assert result.exit_code == 0, result.stderr
            expected = expected or result.stdout
            assert result.stdout == expected
    found = pl.read_csv(expected.encode())
    assert found["b"].to_list() == list(range(1, 9))
    assert [found["cluster"][place] for place in (1, 3, 4, 6)] == [0, 1, 1, 1]


def test_a_quote_that_is_not_closed(run, model, files, tmp_path, monkeypatch):
    """The rest of the file is not taken for one row."""
    lines = files["csv"].read_text().splitlines(keepends=True)
    path = tmp_path / "t.csv"
    path.write_text(lines[0] + lines[1] + '"' + "".join(lines[2:]) * 20)
    monkeypatch.setattr(read, "_N_BATCH_BYTES", 1 << 10)
    monkeypatch.setattr(read, "_LONGEST_ROW", 1 << 13)
    taken = []
    original = read._last_row_end
    monkeypatch.setattr(
        read, "_last_row_end", lambda block, quoted: taken.append(block) or original(block, quoted)
    )
    result = run("predict", model, path)
    assert result.exit_code == 1
    if taken:
        assert "the row of line 3 is longer than" in result.stderr
        assert "a quote may not be closed" in result.stderr
        assert max(map(len, taken)) < path.stat().st_size / 4
    else:  # polars 1 stumbles already over the rows that it looks at first
        assert 'a quote (") is not closed' in result.stderr
    monkeypatch.undo()
    result = run("predict", model, path)
    assert 'a quote (") is not closed' in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("packed", ["gzip", "bz2", "lzma"])
def test_compression_is_seen_in_the_content(run, files, model, expected, tmp_path, packed):
    import importlib

    path = tmp_path / "t.csv"
    path.write_bytes(importlib.import_module(packed).compress(files["csv"].read_bytes()))
    result = run("predict", model, path)
    assert result.exit_code == 0, result.stderr
    assert pl.read_csv(result.stdout_bytes)["leaf"].to_list() == expected[0].tolist()
    path.write_bytes(path.read_bytes()[:-20])
    assert "could not be read" in run("predict", model, path).stderr


@pytest.mark.parametrize(
    ("start", "title"), [(b"\x28\xb5\x2f\xfd", "zstd"), (b"PK\x03\x04", "zip")]
)
def test_other_compressions_are_named(run, model, tmp_path, start, title):
    (tmp_path / "t.csv").write_bytes(start + b"rest")
    result = run("predict", model, tmp_path / "t.csv")
    assert f"is compressed ({title}); unpack it first" in result.stderr
