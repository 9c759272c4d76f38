"""`spexplain explain`: formats, methods, files, what is printed."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import spexplain
from spexplain import export
from spexplain.cli.fitting import METHODS

GOLDEN = Path(__file__).parent / "golden"
FORMATS = ["csv", "tsv", "parquet", "arrow", "jsonl", "csv.gz", "jsonl.gz"]


def fitted(iris, **options):
    return spexplain.CART(3, n_jobs=-1, random_state=0, **options).fit(
        iris.drop("species"), iris["species"].to_numpy().astype(str)
    )


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_gives_the_same_text(run, files, format):
    result = run("explain", files[format], "--labels", "species", "--method", "cart")
    assert result.exit_code == 0, result.stderr
    golden = (GOLDEN / "explain_iris.txt").read_text()
    assert result.stdout.replace(f"iris.{format} ", "iris.csv ") == golden
    assert result.stderr == ""


def test_standard_input(run, files):
    for format in ("csv", "jsonl", "parquet", "arrow"):
        result = run(
            "explain", "-", "--input-format", format, "-l", "species", "-m", "cart",
            stdin=files[format].read_bytes(),
        )  # fmt: skip
        assert result.exit_code == 0, result.stderr
        assert "standard input" in result.stdout


def test_an_arrow_stream(run, iris, tmp_path):
    iris.write_ipc_stream(tmp_path / "iris.arrow")
    result = run("explain", tmp_path / "iris.arrow", "-l", "species", "-m", "cart")
    assert result.exit_code == 0, result.stderr


@pytest.mark.parametrize("method", METHODS)
def test_every_method(run, files, method):
    result = run(
        "explain", files["csv"], "-l", "species", "-m", method, "--format", "json", "--leaves", 3
    )
    assert result.exit_code == 0, result.stderr
    summary = json.loads(result.stdout)["summary"]
    assert summary["method"] == METHODS[method]
    assert summary["n_leaves"] == 3
    assert sum(leaf["size"] for leaf in summary["leaves"]) == 150


def test_best_is_the_default(run, files):
    result = run("explain", files["csv"], "-k", 3, "--ignore", "species", "--format", "json")
    assert json.loads(result.stdout)["summary"]["method"] == "BestTree"


@pytest.mark.parametrize("reference", ["kmeans", "spectral", "kmedians", "kernel_kmeans"])
def test_clusters_that_are_found(run, files, reference):
    result = run(
        "explain", files["csv"], "--ignore", "species", "-k", 3, "-r", reference, "-m", "cart",
        "--format", "json",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert len(json.loads(result.stdout)["summary"]["reference"]["labels"]) == 3


def test_a_reference_to_compare_with(run, files):
    arguments = ("explain", files["csv"], "--ignore", "species", "-k", 3, "-m", "spex-knn")
    assert "Agreement" not in run(*arguments).stdout
    assert "Agreement with the clusters" in run(*arguments, "-r", "kmeans").stdout


def test_json_is_all_there_is_on_stdout(run, files):
    result = run("explain", files["csv"], "-k", 3, "-m", "cart", "--format", "json")
    document = json.loads(result.stdout)
    assert document["format"] == "spexplain.explain"
    assert document["columns_left_out"] == ["species"]
    assert document["notes"] == [
        "Left out 1 text column: species (--text onehot encodes them).",
        "The clusters come from spectral clustering of the standardised columns (--reference chooses).",
    ]
    assert "Note: Left out 1 text column: species" in result.stderr


def test_options_reach_the_estimator(run, files, iris):
    result = run(
        "explain", files["csv"], "-l", "species", "-m", "cart", "--leaves", "5", "--max-depth", "3",
        "--min-samples-leaf", "4", "--refine", "agreement", "--features",
        "petal length (cm),petal width (cm)", "--format", "json", "--seed", "7", "--jobs", "2",
    )  # fmt: skip
    parameters = json.loads(result.stdout)["summary"]["settings"]["parameters"]
    wanted = {
        "n_clusters": 3, "n_leaves": 5, "max_depth": 3, "min_samples_leaf": 4, "n_jobs": 2,
        "refine": "agreement", "features": ["petal length (cm)", "petal width (cm)"],
        "random_state": 7,
    }  # fmt: skip
    assert wanted.items() <= parameters.items()
    same = fitted(iris, n_leaves=5, max_depth=3, min_samples_leaf=4, refine="agreement",
                  features=["petal length (cm)", "petal width (cm)"])  # fmt: skip
    sizes = [leaf["size"] for leaf in json.loads(result.stdout)["summary"]["leaves"]]
    assert sizes == same.tree_.size[same.tree_.leaves].tolist()


def test_leaves_auto(run, files):
    result = run("explain", files["csv"], "-l", "species", "-m", "cart", "--leaves", "auto")
    assert result.exit_code == 0, result.stderr


def test_files(run, files, iris, tmp_path):
    paths = {
        name: tmp_path / f"model.{name}" for name in ("sql", "json", "python", "onnx", "output")
    }
    options = [each for name, path in paths.items() for each in (f"--{name}", path)]
    result = run(
        "explain", files["csv"], "-l", "species", "-m", "cart", *options, "--table", "flowers",
        "--dialect", "sqlite",
    )  # fmt: skip
    assert result.exit_code != 0
    assert "does not say how to write labels" in result.stderr
    assert not list(tmp_path.iterdir())
    options[-1] = tmp_path / "labels.parquet"
    result = run(
        "explain", files["csv"], "-l", "species", "-m", "cart", *options, "--table", "flowers",
        "--dialect", "sqlite",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert result.stderr.count("Wrote") == 5
    model = fitted(iris).explanation_
    assert paths["json"].read_text() == export.to_json(model)
    sql = export.to_sql(model, dialect="sqlite", table="flowers", label="reference")
    assert paths["sql"].read_text() == sql + "\n"
    assert paths["python"].read_text() == export.to_python(model, label="reference")
    labels = pl.read_parquet(tmp_path / "labels.parquet")
    assert labels["leaf"].to_list() == fitted(iris).labels_.tolist()
    assert labels["cluster"].to_list() == fitted(iris).leaf_reference_[labels["leaf"]].tolist()
    assert not [each for each in tmp_path.iterdir() if each.name.startswith(".")]


def test_exports_of_leaves(run, files, tmp_path):
    run(
        "explain", files["csv"], "-l", "species", "-m", "cart", "--python", tmp_path / "m.py",
        "--export-label", "leaf",
    )  # fmt: skip
    assert "setosa" not in (tmp_path / "m.py").read_text()


def test_a_report(run, files, tmp_path):
    pytest.importorskip("jinja2")
    pytest.importorskip("spexplain.show.report.render")
    result = run(
        "explain", files["csv"], "-l", "species", "-m", "cart", "--report", tmp_path / "r.html"
    )
    assert result.exit_code == 0, result.stderr
    assert "petal length" in (tmp_path / "r.html").read_text()


def test_a_file_on_standard_output(run, files, iris):
    result = run("explain", files["csv"], "-l", "species", "-m", "cart", "-o", "-")
    labels = pl.read_csv(result.stdout_bytes)
    assert labels["leaf"].to_list() == fitted(iris).labels_.tolist()
    assert "Agreement" in result.stderr
    quiet = run("explain", files["csv"], "-l", "species", "-m", "cart", "--json", "-", "-q")
    assert quiet.stdout == export.to_json(fitted(iris).explanation_)
    assert quiet.stderr == ""


def test_missing_values(run, iris, tmp_path):
    holed = iris.with_columns(
        pl.when(pl.int_range(pl.len()) % 50 > 0).then(pl.col("petal width (cm)")),
        pl.when(pl.int_range(pl.len()) == 7).then(float("nan"))
        .when(pl.int_range(pl.len()) == 8).then(float("inf"))
        .otherwise(pl.col("sepal width (cm)")).alias("sepal width (cm)"),
    )  # fmt: skip
    path = tmp_path / "holed.parquet"
    holed.write_parquet(path)
    arguments = ("explain", path, "-l", "species", "-m", "cart")
    refused = run(*arguments)
    assert refused.exit_code == 1
    assert "in 2 columns: sepal width (cm) (2 rows), petal width (cm) (3 rows)" in refused.stderr
    dropped = run(*arguments, "--missing", "drop", "-o", tmp_path / "labels.csv")
    assert dropped.exit_code == 0
    assert "Left out 5 of 150 rows with missing values" in dropped.stderr
    assert "145 rows" in dropped.stdout
    labels = pl.read_csv(tmp_path / "labels.csv")
    is_lost = holed["petal width (cm)"].is_null() | ~holed["sepal width (cm)"].is_finite()
    assert labels["leaf"].is_null().to_list() == is_lost.to_list()
    kept = holed.filter(~is_lost)
    assert labels["leaf"].drop_nulls().to_list() == fitted(kept).labels_.tolist()
    filled = run(*arguments, "--missing", "mean", "-o", "-", "-q")
    assert pl.read_csv(filled.stdout_bytes)["leaf"].null_count() == 0


def test_text_columns(run, iris, tmp_path):
    more = iris.with_columns(
        color=pl.when(pl.col("species") == "setosa").then(pl.lit("blue")).otherwise(pl.lit("red")),
        name=pl.int_range(pl.len()).cast(pl.String) + "th",
        seen=pl.date(2024, 1, 1),
        wet=pl.col("petal width (cm)") > 1,
        void=pl.lit(None),
    )
    path = tmp_path / "more.parquet"
    more.write_parquet(path)
    arguments = ("explain", path, "-l", "species", "-m", "cart", "--format", "json")
    dropped = run(*arguments)
    assert "Left out 2 text columns: color, name" in dropped.stderr
    assert "Left out 1 date or time column: seen." in dropped.stderr
    assert "Left out 1 empty column: void." in dropped.stderr
    assert "wet" in json.loads(dropped.stdout)["columns"]
    encoded = run(*arguments, "--text", "onehot")
    assert "of more than 20 different values: name (150)" in encoded.stderr
    document = json.loads(encoded.stdout)
    assert {"color=blue", "color=red"} <= set(document["columns"])
    assert document["columns_encoded"] == ["color"]
    assert sorted(document["columns_left_out"]) == ["name", "seen", "void"]
    refused = run(*arguments, "--text", "error")
    assert refused.exit_code == 1
    assert "Text in 2 columns: color, name" in refused.stderr
    tested = run(*arguments, "--text", "onehot", "--features", "color", "--leaves", "2")
    assert json.loads(tested.stdout)["summary"]["nodes"][0]["name"] == "color=blue"


@pytest.mark.parametrize(
    "labels",
    [
        pl.Series([True] * 50 + [False] * 100),
        pl.Series([1.5] * 50 + [2.5] * 100),
        pl.Series([2**63 + 1] * 50 + [5] * 100, dtype=pl.UInt64),
        pl.Series(["2024-01-01"] * 50 + ["2024-01-02"] * 100).str.to_date(),
        pl.Series(["a"] * 50 + ["b"] * 100, dtype=pl.Categorical),
    ],
    ids=["bool", "float", "huge", "date", "categorical"],
)
def test_labels_of_any_type(run, iris, tmp_path, labels):
    iris.drop("species").with_columns(labels.alias("group")).write_parquet(tmp_path / "t.parquet")
    result = run(
        "explain", tmp_path / "t.parquet", "-l", "group", "-m", "cart", "--json", tmp_path / "m"
    )
    assert result.exit_code == 0, result.stderr
    assert "100%" in result.stdout


def test_noise(run, iris, tmp_path):
    noisy = iris.with_columns(
        species=pl.col("species").replace_strict({"setosa": 0, "versicolor": 1, "virginica": -1})
    )
    noisy.write_csv(tmp_path / "t.csv")
    ignored = run("explain", tmp_path / "t.csv", "-l", "species", "-m", "cart", "--format", "json")
    assert "50 rows with the label -1 count as noise" in ignored.stderr
    assert json.loads(ignored.stdout)["summary"]["n_leaves"] == 2
    kept = run("explain", tmp_path / "t.csv", "-l", "species", "-m", "cart", "--noise", "cluster")
    assert "3 leaves" in kept.stdout


def test_other_kinds_of_csv(run, iris, tmp_path):
    path = tmp_path / "t.csv"
    iris.write_csv(path, separator=";", decimal_comma=True, null_value="?")
    result = run("explain", path, "--decimal-comma", "-l", "species", "-m", "cart", "--null", "?")
    assert result.exit_code == 0, result.stderr
    assert "petal length (cm) ≤ 2.45" in result.stdout
    iris.write_csv(path, separator="|", include_header=False)
    result = run("explain", path, "--delimiter", "|", "--no-header", "-l", "x4", "-m", "cart")
    assert result.exit_code == 0, result.stderr
    assert "x2 ≤ 2.45" in result.stdout
    without = run(
        "explain", path, "--delimiter", "|", "-k", "2", "-m", "cart", "--ignore", "setosa"
    )
    assert "pass --no-header" in without.stderr


def test_types_that_show_late(run, tmp_path):
    rows = [f"{at},{'a' if at < 6_000 else 'b'}" for at in range(12_000)] + ["12000.5,b"]
    (tmp_path / "t.csv").write_text("\n".join(["x,y", *rows]))
    result = run("explain", tmp_path / "t.csv", "-l", "y", "-m", "cart")
    assert result.exit_code == 0, result.stderr
    assert "x ≤ 5999.5" in result.stdout


def test_float32_stays_float32(run, tmp_path):
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 3)).astype(np.float32)
    y = (X[:, 1] > 0.25).astype(int)
    frame = pl.DataFrame(X, schema=["a", "b", "c"]).with_columns(y=pl.Series(y))
    frame.write_parquet(tmp_path / "t.parquet")
    run("explain", tmp_path / "t.parquet", "-l", "y", "-m", "cart", "--json", tmp_path / "m.json")
    same = spexplain.CART().fit(X, y).tree_
    assert spexplain.from_json((tmp_path / "m.json").read_bytes()).tree_ == same


def test_encoded_columns_of_one_name_are_refused(run, tmp_path):
    frame = pl.DataFrame({"a": ["b=c", "d"] * 3, "a=b": ["c", "e"] * 3, "y": [0, 1] * 3})
    frame.write_csv(tmp_path / "t.csv")
    result = run("explain", tmp_path / "t.csv", "-l", "y", "--text", "onehot")
    assert result.exit_code == 1
    assert "--text onehot would make a second column a=b=c; rename the column." in result.stderr
