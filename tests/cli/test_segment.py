"""``spexplain segment``: rules for the clusters of a file."""

import json

import duckdb
import numpy as np

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
    assert "--labels COLUMN" in result.stderr
    result = run("segment", files["csv"], "-l", "species", "-k", 3)
    assert result.exit_code == 2
    result = run("segment", files["csv"], "-l", "species", "--target", "setos")
    assert result.exit_code == 1
    assert "did you mean setosa?" in result.stderr
    (tmp_path / "there.sql").write_text("")
    result = run("segment", files["csv"], "-l", "species", "--sql", tmp_path / "there.sql")
    assert result.exit_code == 1
    assert "--force" in result.stderr
