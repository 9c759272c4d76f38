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
    assert "Against" not in run(*arguments).stdout
    assert "Agreement with clusters" in run(*arguments, "-r", "kmeans").stdout


def test_json_is_all_there_is_on_stdout(run, files):
    options = ("-k", 3, "-m", "cart", "--format", "json", "--ignore", "species")
    result = run("explain", files["csv"], *options)
    document = json.loads(result.stdout)
    assert document["format"] == "spexplain.explain"
    assert document["columns_left_out"] == ["species"]
    assert document["notes"] == [
        "The clusters come from spectral clustering of the standardised columns (--reference chooses).",
    ]
    assert "Note: The clusters come from spectral clustering" in result.stderr


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
    assert paths["json"].read_text() == fitted(iris).to_json()
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
    assert "Agreement with species" in result.stderr
    quiet = run("explain", files["csv"], "-l", "species", "-m", "cart", "--json", "-", "-q")
    assert quiet.stdout == fitted(iris).to_json()
    assert quiet.stderr == ""


@pytest.fixture
def holed(iris):
    is_odd = pl.int_range(pl.len()) % 50 == 7
    return iris.with_columns(
        pl.when(~is_odd).then(pl.col("petal width (cm)")),
        pl.when(is_odd).then(float("nan")).otherwise(pl.col("sepal width (cm)")).alias("sepal width (cm)"),
    )  # fmt: skip


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_missing_values(run, holed, tmp_path, format):
    path = tmp_path / f"holed.{format}"
    getattr(holed, f"write_{format}")(path)
    arguments = ("explain", path, "-l", "species", "-m", "cart", "--leaves", 5)
    result = run(*arguments, "-o", tmp_path / "labels.csv")
    assert result.exit_code == 0, result.stderr
    assert "150 rows" in result.stdout
    same = fitted(holed, n_leaves=5)
    assert pl.read_csv(tmp_path / "labels.csv")["leaf"].to_list() == same.labels_.tolist()
    refused = run(*arguments, "--missing", "error")
    assert refused.exit_code == 1
    assert "in sepal width (cm) (3 rows), petal width (cm) (3 rows); drop" in refused.stderr


@pytest.fixture
def more(iris):
    """The table with columns of other kinds."""
    is_setosa = pl.col("species") == "setosa"
    return iris.with_columns(
        color=pl.when(is_setosa).then(pl.lit("blue")).otherwise(pl.lit("red")),
        name=pl.int_range(pl.len()).cast(pl.String) + "th",
        seen=pl.date(2024, 1, 1) + pl.duration(days=(pl.int_range(pl.len()) * 7) % 90),
        wet=pl.col("petal width (cm)") > 1,
        kind=pl.col("species").str.slice(0, 3),
        void=pl.lit(None),
        parts=pl.concat_list("petal width (cm)"),
    )


def test_columns_of_other_kinds(run, more, tmp_path):
    path = tmp_path / "more.parquet"
    more.write_parquet(path)
    arguments = ("explain", path, "-l", "species", "-m", "cart", "--format", "json")
    result = run(*arguments)
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    assert document["columns"] == [*more.columns[:4], "color", "seen", "wet"]
    assert document["columns_left_out"] == ["name", "kind", "void", "parts"]
    assert document["notes"] == [
        "Left out 1 empty column: void.",
        "Left out 1 nested column: parts.",
        "Left out the column name: nearly every row has a value of its own (--keep brings it back).",
        "Left out the column kind: its values are the labels under other names (--keep brings it back).",
    ]
    kept = json.loads(run(*arguments, "--keep", "kind").stdout)
    assert kept["columns_left_out"] == ["name", "void", "parts"]
    assert kept["columns"] == [*more.columns[:4], "color", "seen", "wet", "kind"]
    kept = json.loads(run(*arguments, "--keep", "kind", "--keep", "name").stdout)
    assert kept["columns_left_out"] == ["void", "parts"]
    tested = json.loads(run(*arguments, "--features", "color", "--leaves", "2").stdout)
    assert tested["summary"]["nodes"][0]["name"] == "color"
    lost = run(*arguments, "--features", "void")
    assert "--features or --keep names void, which was left out." in lost.stderr


def test_ids_do_not_make_clusters(run, iris, tmp_path):
    numbered = iris.drop("species").with_row_index("id", offset=1000).sample(fraction=1, seed=0)
    numbered.write_csv(tmp_path / "t.csv")
    result = run("explain", tmp_path / "t.csv", "-k", 3, "-r", "kmeans", "--format", "json")
    document = json.loads(result.stdout)
    assert document["columns_left_out"] == ["id"]
    assert document["summary"]["n_features"] == 4


def test_dates_of_text_files(run, tmp_path):
    days = pl.date_range(pl.date(1997, 1, 1), pl.date(1997, 12, 31), eager=True).sample(200, seed=1)
    frame = pl.DataFrame({"last_order": days, "spent": pl.Series(range(200)) % 17})
    frame = frame.with_columns(
        y=pl.col("last_order") < pl.date(1997, 5, 26),
        us=pl.col("last_order").dt.strftime("%m/%d/%Y"),
        at=pl.col("last_order").dt.strftime("%Y-%m-%dT10:00:00Z"),
        thousands=pl.lit("1,") + (100 + pl.col("spent")).cast(pl.String),
    )
    arguments = ("-l", "y", "-m", "cart", "--features")
    for format in ("csv", "ndjson"):
        path = tmp_path / f"t.{format}"
        getattr(frame, f"write_{format}")(path)
        for name, test in (
            ("last_order", '"last_order" < DATE \'1997-05-'),
            ("at", '"at" < TIMESTAMP'),
        ):
            result = run("explain", path, *arguments, name, "--sql", "-")
            assert result.exit_code == 0, result.stderr
            assert test in result.stdout
            assert "thousands is read as text, because of cells such as '1,1" in result.stderr
        result = run("explain", path, *arguments, "us,thousands", "--format", "json", "-q")
        kinds = {
            each["kind"]
            for each in json.loads(result.stdout)["summary"]["features"]
            if each["kind"] != "whole"
        }
        assert "category" in kinds


def test_texts_that_are_nearly_names(run, iris, tmp_path):
    named = iris.with_columns(
        name=pl.col("species") + " " + (pl.int_range(pl.len()) % 23).cast(pl.String)
    )
    named.write_csv(tmp_path / "t.csv")
    arguments = ("explain", tmp_path / "t.csv", "-l", "species", "-m", "cart", "--format", "json")
    (note,) = json.loads(run(*arguments).stdout)["notes"]
    n_names = named["name"].n_unique()
    assert note == (
        f"Rules test name, which has {n_names} different values in 150 rows; --ignore leaves it out."
    )
    assert json.loads(run(*arguments, "--ignore", "name").stdout)["notes"] == []


def test_rounding(run, iris, files):
    arguments = (
        "explain",
        files["csv"],
        "-l",
        "species",
        "-m",
        "cart",
        "--leaves",
        5,
        "--round-to",
        "0.05",
    )
    result = run(*arguments, "--format", "json")
    same = fitted(iris, n_leaves=5, round_to=0.05)
    assert same.rounding_
    told = [note for note in json.loads(result.stdout)["notes"] if note.startswith("Rounded")]
    assert len(told) == len(same.rounding_)
    change = same.rounding_[0]
    assert told[0].startswith(f"Rounded {change.exact} to {change.rounded}: {change.n_changed} row")


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


@pytest.mark.parametrize("kind", [pl.Int64, pl.Float64])
@pytest.mark.parametrize("noise", [-1, None])
def test_noise(run, iris, tmp_path, kind, noise):
    codes = {"setosa": 0, "versicolor": 1, "virginica": noise}
    noisy = iris.with_columns(species=pl.col("species").replace_strict(codes).cast(kind))
    noisy.write_csv(tmp_path / "t.csv")
    ignored = run("explain", tmp_path / "t.csv", "-l", "species", "-m", "cart", "--format", "json")
    how = "without a label" if noise is None else "with the label -1"
    assert f"50 rows {how} count as noise" in ignored.stderr
    summary = json.loads(ignored.stdout)["summary"]
    assert summary["n_leaves"] == 2
    assert summary["reference"]["labels"] == [0, 1]
    kept = run("explain", tmp_path / "t.csv", "-l", "species", "-m", "cart", "--noise", "cluster")
    if noise is None:
        assert "Left out 50 rows without a label in species." in kept.stderr
        assert "2 leaves" in kept.stdout
        assert "100 rows" in kept.stdout
    else:
        assert "3 leaves" in kept.stdout


def test_noise_among_texts(run, iris, tmp_path):
    noisy = iris.with_columns(species=pl.col("species").replace({"virginica": None}))
    noisy.write_csv(tmp_path / "t.csv")
    arguments = ("explain", tmp_path / "t.csv", "-l", "species", "-m", "cart", "--format", "json")
    document = json.loads(run(*arguments).stdout)
    assert document["summary"]["reference"]["labels"] == ["setosa", "versicolor"]
    told = "50 rows without a label count as noise, rows of no cluster."
    assert document["notes"] == [told]
    iris.write_csv(tmp_path / "t.csv", include_header=True)
    document = json.loads(run(*arguments, "--noise", "setosa").stdout)
    assert document["summary"]["reference"]["labels"] == ["versicolor", "virginica"]
    told = "50 rows with the label setosa count as noise, rows of no cluster."
    assert document["notes"] == [told]


@pytest.mark.parametrize("command", ["explain", "compare"])
def test_weights(run, iris, tmp_path, command):
    """Whole weights are repetitions of the rows; the column is no feature."""
    heavy = iris.with_columns(count=pl.int_range(pl.len()) % 4)
    heavy.write_csv(tmp_path / "weighted.csv")
    again = heavy.select(pl.all().repeat_by("count")).explode(pl.all(), empty_as_null=False)
    again.drop("count").write_csv(tmp_path / "repeated.csv")
    options = ("-l", "species", "--leaves", 4, "--format", "json")
    options += ("-m", "cart") if command == "explain" else ("--methods", "cart,imm")
    found = json.loads(
        run(command, tmp_path / "weighted.csv", *options, "--weights", "count").stdout
    )
    same = json.loads(run(command, tmp_path / "repeated.csv", *options).stdout)
    assert found["columns"] == same["columns"] == iris.columns[:4]
    if command == "explain":
        rules = [[leaf["rule"] for leaf in each["summary"]["leaves"]] for each in (found, same)]
        assert rules[0] == rules[1]
        assert found["summary"]["agreement"]["ari"] == pytest.approx(
            same["summary"]["agreement"]["ari"]
        )
    else:
        scores = [{each["method"]: each["ari"] for each in one["methods"]} for one in (found, same)]
        assert scores[0] == pytest.approx(scores[1])


@pytest.mark.parametrize("command", ["explain", "compare"])
def test_a_column_that_is_the_clusters_that_were_found(run, tmp_path, command):
    random = np.random.default_rng(0)
    kinds = random.choice(["a", "b", "c"], 90)
    frame = pl.DataFrame({"kind": kinds, "size": random.normal(size=90) * 1e-9})
    frame.with_columns(size=pl.lit(1.0)).write_csv(tmp_path / "t.csv")
    options = ("-m", "cart") if command == "explain" else ("--methods", "cart")
    result = run(command, tmp_path / "t.csv", "-k", 3, "-r", "kmeans", *options, "--format", "json")
    document = json.loads(result.stdout)
    agreement = document["summary"]["agreement"] if command == "explain" else document["methods"][0]
    assert agreement["ari"] == 1.0
    assert document["notes"] == [
        "The clusters come from k-means on the columns, numbers standardised and categories as 0 and 1 "
        "(--reference chooses)."
    ]


def test_other_kinds_of_csv(run, iris, tmp_path):
    path = tmp_path / "t.csv"
    iris.write_csv(path, separator=";", decimal_comma=True, null_value="?")
    result = run("explain", path, "--decimal-comma", "-l", "species", "-m", "cart", "--null", "?")
    assert result.exit_code == 0, result.stderr
    assert "petal length (cm) ≤ 2" in result.stdout
    iris.write_csv(path, separator="|", include_header=False)
    result = run("explain", path, "--delimiter", "|", "--no-header", "-l", "x4", "-m", "cart")
    assert result.exit_code == 0, result.stderr
    assert "x2 ≤ 2\n" in result.stdout
    without = run(
        "explain", path, "--delimiter", "|", "-k", "2", "-m", "cart", "--ignore", "setosa"
    )
    assert "pass --no-header" in without.stderr


def test_types_that_show_late(run, tmp_path):
    rows = [f"{at},{'a' if at < 6_000 else 'b'}" for at in range(12_000)] + ["12000.5,b"]
    (tmp_path / "t.csv").write_text("\n".join(["x,y", *rows]))
    result = run("explain", tmp_path / "t.csv", "-l", "y", "-m", "cart")
    assert result.exit_code == 0, result.stderr
    assert "x ≤ 5999\n" in result.stdout


def test_float32_stays_float32(run, tmp_path):
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 3)).astype(np.float32)
    y = (X[:, 1] > 0.25).astype(int)
    frame = pl.DataFrame(X, schema=["a", "b", "c"]).with_columns(y=pl.Series(y))
    frame.write_parquet(tmp_path / "t.parquet")
    run("explain", tmp_path / "t.parquet", "-l", "y", "-m", "cart", "--json", tmp_path / "m.json")
    same = spexplain.CART().fit(X, y).tree_
    assert spexplain.from_json((tmp_path / "m.json").read_bytes()).tree_ == same


def test_segments_are_the_records_of_the_estimator(run, files, iris):
    asked = ("explain", files["csv"], "-l", "species", "-m", "cart", "--segments")
    records = fitted(iris).segments(output="records")
    printed = " ".join(run(*asked).stdout.split())
    for record in records:
        for sentence in record["sentences"]:
            assert " ".join(sentence.split()) in printed
    document = json.loads(run(*asked, "--format", "json").stdout)
    assert document["segments"] == records
    assert document["summary"]["verdict"]["level"] == "good"


def test_validation_is_said_and_can_fail(run, files, iris, tmp_path):
    asked = ("explain", files["csv"], "-l", "species", "-m", "cart", "--validate")
    result = run(*asked, "--fail-under", "0.8")
    assert result.exit_code == 0, result.stderr
    found = fitted(iris).validate()
    assert " ".join(found["sentences"][0].split()) in " ".join(result.stdout.split())
    result = run(*asked, "--fail-under", "0.99")
    assert result.exit_code == 3
    assert "of the rows left out are right, less than --fail-under 0.99." in result.stderr
    assert "Agreement with" in result.stdout  # the explanation is shown all the same
    rows = "\n".join(
        f"{i * 7919 % 101},{i * 104729 % 89},{'abc'[i * 31 % 7 % 3]}" for i in range(150)
    )
    (tmp_path / "noise.csv").write_text(f"x,y,label\n{rows}\n")
    result = run(
        "explain", tmp_path / "noise.csv", "-l", "label", "-m", "cart", "--fail-under", "0"
    )
    assert result.exit_code == 3
    assert "No better than guessing; do not use." in result.stdout
    assert "No better than guessing; do not use." in result.stderr


def test_a_dbt_model(run, files, tmp_path):
    project = tmp_path / "project"
    done = run(
        "explain", files["csv"], "--labels", "species", "--dbt", project, "--table", "flowers"
    )
    assert done.exit_code == 0, done.output
    places = sorted(str(path.relative_to(project)) for path in project.rglob("*") if path.is_file())
    assert places == [
        "models/flowers_clusters.sql",
        "models/flowers_clusters.yml",
        "tests/flowers_clusters_has_all_rows.sql",
        "tests/flowers_clusters_has_known_labels.sql",
    ]
    assert "{{ ref('flowers') }}" in (project / "models/flowers_clusters.sql").read_text()
    again = run(
        "explain", files["csv"], "--labels", "species", "--dbt", project, "--table", "flowers"
    )
    assert again.exit_code != 0
    assert "--force" in again.output
    for options in (["--dbt", project], ["--dbt", project, "--table", "a b"]):
        assert run("explain", files["csv"], "--labels", "species", *options).exit_code == 2


def test_names_ids_and_pictures(run, files, iris, tmp_path):
    names = tmp_path / "names.json"
    names.write_text('{"setosa": "small ones"}')
    rows = iris.with_row_index("plant", offset=1000)
    rows.write_csv(tmp_path / "plants.csv")
    result = run(
        "explain", tmp_path / "plants.csv", "-l", "species", "-m", "cart", "--names", names, "--id", "plant",
        "--report", tmp_path / "report.html", "--picture", tmp_path / "segments.svg", "--sql", tmp_path / "tree.sql",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert "small ones" in result.stdout
    assert "setosa" not in result.stdout
    assert "'small ones'" in (tmp_path / "tree.sql").read_text()
    report = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "small ones" in report
    assert "<bdi>1007</bdi>" in report  # the most typical plant, by its id
    assert (tmp_path / "segments.svg").read_text(encoding="utf-8").startswith("<?xml")
    names.write_text("[1, 2]")
    asked = ("explain", files["csv"], "-l", "species", "--names", names)
    assert "must be a JSON file with one name per cluster" in run(*asked).stderr
    result = run("explain", files["csv"], "-l", "species", "--picture", "segments.gif")
    assert result.exit_code == 2
    assert "must end in .png, .svg, .pdf or .pptx" in " ".join(result.stderr.split())
