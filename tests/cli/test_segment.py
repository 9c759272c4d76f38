"""``spexplain segment``: rules for the clusters of a file."""

import json

import duckdb
import numpy as np
import polars as pl

from spexplain import ClusterRules, from_json


def test_all_clusters_and_what_is_left_open(run, files):
    result = run("segment", files["csv"], "--labels", "species", "--alternatives", 0)
    assert result.exit_code == 0
    assert "setosa (50 rows): petal length (cm) ≤ 2" in result.stdout
    assert "precision 100%, recall 100%, F1 1.00; holds for 50 rows" in result.stdout
    assert "meet no rule" in result.stdout


def test_one_cluster_with_alternatives(run, files):
    result = run(
        "segment", files["parquet"], "-l", "species", "--target", "virginica", "--max-conditions", 1
    )
    assert result.exit_code == 0
    assert result.stdout.startswith("virginica (50 rows): petal width (cm) > 1.6")
    assert "also: petal length (cm) > " in result.stdout
    assert "setosa" not in result.stdout


def test_long_lists_of_values_are_shortened_in_the_terminal_only(run, tmp_path):
    at = np.arange(400)
    models = [f"model {each}" for each in at % 40]
    labels = np.where(at % 40 % 2, "odd", "even")
    pl.DataFrame({"model": models, "y": labels}).write_csv(tmp_path / "t.csv")
    result = run(
        "segment", tmp_path / "t.csv", "-l", "y", "--target", "even", "--json", tmp_path / "r.json"
    )
    said = " ".join(result.stdout.split())
    assert said.startswith(
        "even (200 rows): model in {model 0, model 10, model 12, model 14, model 16, model 18, … 14 more} precision"
    )
    (record, _) = from_json((tmp_path / "r.json").read_bytes()).rules(output="records")
    assert all(f"model {each}" in record["rule"] for each in range(0, 40, 2))
    result = run("segment", tmp_path / "t.csv", "-l", "y", "--target", "even", "--format", "json")
    assert json.loads(result.stdout)["rules"][0]["rule"] == record["rule"]


def test_files_and_json(run, files, iris, tmp_path):
    paths = [tmp_path / name for name in ("rules.sql", "rules.json", "rules.html")]
    result = run(
        "segment", files["csv"], "--labels", "species", "--sql", paths[0], "--table", "iris", "--json", paths[1],
        "--report", paths[2], "--format", "json", "--max-conditions", 2,
    )  # fmt: skip
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    table, labels = iris.drop("species"), iris["species"].to_numpy()
    rules = ClusterRules(2).fit(table, labels)
    assert document["macro_f1"] == rules.macro_f1_
    assert document["order"] == rules.order_
    assert document["rules"] == rules.rules(alternatives=True, output="records")
    found = from_json(paths[1].read_text())
    assert np.array_equal(found.predict(table), rules.labels_)
    database = duckdb.connect()
    database.register("iris", table.to_pandas())
    clusters = database.sql(paths[0].read_text()).df()["cluster"]
    assert np.array_equal(clusters.fillna("-1"), rules.labels_)
    assert "petal width (cm)" in paths[2].read_text(encoding="utf-8")
    only = run("segment", files["csv"], "-l", "species", "-t", "setosa", "--format", "json")
    assert {rule["cluster"] for rule in json.loads(only.stdout)["rules"]} == {"setosa"}


def test_wrong_usage_is_said_before_the_work(run, files, tmp_path):
    result = run("segment", files["csv"])
    assert result.exit_code == 2
    assert "Missing option '--labels'" in result.stderr
    result = run("segment", files["csv"], "-l", "species", "-k", 3)
    assert result.exit_code == 2
    result = run("segment", files["csv"], "-l", "species", "--target", "setos")
    assert result.exit_code == 1
    assert "did you mean setosa?" in result.stderr
    (tmp_path / "there.sql").write_text("")
    result = run("segment", files["csv"], "-l", "species", "--sql", tmp_path / "there.sql")
    assert result.exit_code == 1
    assert "--force" in result.stderr


def test_other_commands_read_the_rules(run, files, iris, tmp_path):
    path, labelled, page = (tmp_path / name for name in ("rules.json", "labels.csv", "rules.html"))
    assert (
        run(
            "segment", files["csv"], "-l", "species", "--max-conditions", 2, "--json", path
        ).exit_code
        == 0
    )
    rules = from_json(path.read_text())
    assert run("predict", path, files["csv"], "--output", labelled).exit_code == 0
    expected = rules.predict(iris.drop("species"))
    lines = labelled.read_text().splitlines()
    assert lines[0] == "cluster"
    assert lines[1:] == ["" if each == "-1" else each for each in expected.tolist()]
    assert "" in lines  # rows of no rule are among them
    assert "setosa (50 rows): petal length (cm) ≤ 2" in run("show", path).stdout
    document = json.loads(run("show", path, "--format", "json").stdout)
    assert document["rules"] == rules.rules(alternatives=True, output="records")
    assert run("report", path, "-o", page, "--title", "Flowers").exit_code == 0
    assert "<h1>Flowers</h1>" in page.read_text(encoding="utf-8")


def test_only_columns_of_the_rules_are_needed(run, files, iris, tmp_path):
    path, few = tmp_path / "rules.json", tmp_path / "few.csv"
    run("segment", files["csv"], "-l", "species", "--max-conditions", 1, "--json", path)
    asked = from_json(path.read_text()).explanation_.deciding
    kept = [iris.columns[number] for number in asked]
    assert len(kept) < iris.width - 1  # alternatives ask others
    iris.select(reversed(kept)).write_csv(few)
    result = run("predict", path, few)
    assert result.exit_code == 0
    assert result.stdout == run("predict", path, files["csv"]).stdout


def test_next_months_file_is_checked_against_rules(run, files, iris, tmp_path):
    path, moved = tmp_path / "rules.json", tmp_path / "moved.csv"
    run("segment", files["csv"], "-l", "species", "--json", path)
    same = run("check", path, files["csv"], "-l", "species", "--format", "json")
    assert same.exit_code == 0, same.stderr
    found = json.loads(same.stdout)
    expected = from_json(path.read_text()).check(iris.drop("species"), iris["species"].to_numpy())
    assert {key: found[key] for key in expected.facts} == json.loads(expected.to_json())
    assert found["segments"][-1]["name"] == "no rule"
    numbers = [name for name in iris.columns if name != "species"]
    iris.with_columns([iris[name] * 10 for name in numbers]).write_csv(moved)
    other = run("check", path, moved)
    assert other.exit_code == 3
    assert "about 10× what it was" in " ".join(other.stdout.split())
    assert run("predict", path, moved, "--check", "-o", tmp_path / "labels.csv").exit_code == 3
    assert not (tmp_path / "labels.csv").exists()


def test_what_needs_training_rows_says_so(run, files, tmp_path):
    path = tmp_path / "rules.json"
    run("segment", files["csv"], "-l", "species", "--json", path)
    path.write_text(from_json(path.read_text()).to_json(profile="none"))
    for command in (["check", path, files["csv"]], ["predict", path, files["csv"], "--check"]):
        result = run(*command)
        assert result.exit_code == 1
        assert "have no profile" in " ".join(result.stderr.split())
    assert run("report", path, files["csv"]).exit_code == 2


def test_long_rules_go_on_below_their_own_text(run, files):
    result = run("segment", files["csv"], "-l", "species", "--max-conditions", 3)
    lines = result.stdout.splitlines()
    assert all(len(line) <= 80 for line in lines)
    starts = [line for line in lines if line and not line.startswith(" ")]
    assert all(": " in line or "meet" in line for line in starts)
