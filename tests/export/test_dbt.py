"""dbt models: rendered and run in DuckDB, and run by dbt itself where it is installed."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
from palmerpenguins import load_penguins

from refusals import refused
from spexplain import CART
from spexplain.export import dbt_files

PENGUINS = load_penguins()
TABLE, SPECIES = PENGUINS.drop(columns="species"), PENGUINS["species"]
HOSTILE = np.array(["it's", "{{ x }}", '{% a %} "q"', "plain"])


def rendered(text: str, relations: dict[str, str]) -> str:
    """A file as dbt fills it in, by the same library of templates."""
    jinja2 = pytest.importorskip("jinja2")
    template = jinja2.Environment(autoescape=False).from_string(text)
    return template.render(
        ref=lambda name: relations[name], source=lambda *parts: relations[".".join(parts)]
    )


def hostile_model():
    frame = pd.DataFrame({"a {b}": np.arange(8.0), 'q"': 1.0})
    return frame, CART().fit(frame, HOSTILE.repeat(2))


@pytest.mark.parametrize("table", ["penguins", "zoo.penguins"])
def test_rendered_queries_run(table):
    model = CART(n_leaves=4).fit(TABLE, SPECIES)
    files = dbt_files(model.explanation_, table=table, label="reference")
    query = rendered(files["models/penguins_clusters.sql"], {table: "penguins"})
    connection = duckdb.connect()
    connection.register("penguins", TABLE)
    found = connection.execute(query).df()
    assert found["cluster"].tolist() == model.predict_reference(TABLE).tolist()
    for species in model.explanation_.classes:
        assert found[f"cluster_{species}"].tolist() == (found["cluster"] == species).tolist()
    connection.register("labelled", found)
    relations = {"penguins_clusters": "labelled", table: "penguins"}
    for place, text in files.items():
        if place.startswith("tests/"):
            assert not connection.execute(rendered(text, relations)).fetchall()
            wrong = found.assign(cluster="Emperor").iloc[1:]
            connection.register("labelled", wrong)
            assert connection.execute(rendered(text, relations)).fetchall()
            connection.register("labelled", found)


def test_names_and_labels_stay_what_they_are():
    frame, model = hostile_model()
    files = dbt_files(model.explanation_, table="t", label="reference")
    connection = duckdb.connect()
    connection.register("t", frame)
    query = rendered(files["models/t_clusters.sql"], {"t": "t"})
    found = connection.execute(query).df()
    assert found["cluster"].tolist() == HOSTILE.repeat(2).tolist()
    assert found["cluster_{{ x }}"].sum() == 2
    schema = json.loads(files["models/t_clusters.yml"])
    told = [rendered(each["description"], {}) for each in schema["models"][0]["columns"]]
    assert any("a {b} ≤" in each for each in told)


def test_refusals():
    _, model = hostile_model()
    explanation = model.explanation_
    for table in ("a b", "a.b.c", "", "a'", 3):
        refused(lambda table=table: dbt_files(explanation, table=table), words=["table="])
    refused(lambda: dbt_files(explanation, table="t", model="x y"), words=["model="])
    refused(lambda: dbt_files(explanation, table="t", dialect="oracle"), words=["dialect="])


def test_files_are_written_once(tmp_path):
    _, model = hostile_model()
    paths = model.to_dbt(tmp_path / "project", table="t")
    assert [path.parent.name for path in paths] == ["models", "models", "tests", "tests"]
    with pytest.raises(FileExistsError):
        model.to_dbt(tmp_path / "project", table="t")
    assert model.to_dbt(tmp_path / "project", table="t", force=True) == paths


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
def test_one_boolean_per_cluster(dialect):
    import sqlite3

    model = CART(n_leaves=5).fit(TABLE, SPECIES)
    sql = model.to_sql(
        dialect=dialect, table="t", label="reference", name="species", booleans=True, view="v"
    )
    if dialect == "duckdb":
        connection = duckdb.connect()
        connection.register("t", TABLE)
        connection.execute(sql)
        found = connection.execute("SELECT * FROM v").df()
    else:
        database = sqlite3.connect(":memory:")
        TABLE.to_sql("t", database, index=False)
        database.execute(sql)
        found = pd.read_sql("SELECT * FROM v", database)
        database.close()
    wanted = model.predict_reference(TABLE)
    assert found["species"].tolist() == wanted.tolist()
    for each in model.explanation_.classes:
        assert found[f"species_{each}"].astype(bool).tolist() == (wanted == each).tolist()


def test_refused_booleans():
    X, y = pd.DataFrame({"cluster_a": [0.0, 1.0, 2.0], "x": [0.0, 1.0, 2.0]}), ["a", "A", "A"]
    model = CART(features=["x"]).fit(X, y)
    refused(lambda: model.to_sql(booleans=True), words=["table"])
    refused(lambda: model.to_sql(booleans=True, table="t", label="reference"), words=["cluster_"])
    other = CART().fit(X[["x"]], y)
    refused(
        lambda: other.to_sql(booleans=True, table="t", label="reference"),
        words=["Two labels", "cluster_A"],
    )


# --- dbt itself -----------------------------------------------------------------------------------

PROJECT = {
    "dbt_project.yml": "name: zoo\nversion: '1.0'\nprofile: zoo\nmodel-paths: [models]\ntest-paths: [tests]\n",
    "profiles.yml": "zoo:\n  target: dev\n  outputs:\n    dev: {type: duckdb, path: zoo.duckdb, threads: 1}\n",
    "models/sources.yml": (
        "version: 2\nsources:\n  - name: main\n    tables:\n      - name: penguins\n      - name: odd\n"
    ),
}


def dbt_command() -> str:
    """The program, which may live in an environment of its own: SPEXPLAIN_DBT names it."""
    command = os.environ.get("SPEXPLAIN_DBT") or shutil.which("dbt")
    if command is None:
        pytest.skip("dbt with its DuckDB adapter is not installed")
    return command


@pytest.mark.slow
def test_dbt_builds_the_model_and_its_tests_pass(tmp_path: Path):
    command = dbt_command()
    for place, text in PROJECT.items():
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).write_text(text)
    frame, hostile = hostile_model()
    model = CART(n_leaves=4).fit(TABLE, SPECIES)
    # dbt brings a DuckDB of its own, which may be older: tables are given as Parquet.
    for name, rows in {"penguins": TABLE, "odd": frame}.items():
        rows.to_parquet(tmp_path / f"{name}.parquet")
        start = f"SELECT * FROM read_parquet('{name}.parquet')\n"
        (tmp_path / "models" / f"{name}.sql").write_text(start)
    model.to_dbt(tmp_path, table="penguins", label="reference")
    hostile.to_dbt(tmp_path, table="odd", label="reference")
    out = "{{ config(materialized='external', location='out.parquet') }}\n"
    (tmp_path / "models" / "out.sql").write_text(
        out + "SELECT * FROM {{ ref('penguins_clusters') }}\n"
    )
    environment = os.environ | {"DBT_SEND_ANONYMOUS_USAGE_STATS": "false", "DO_NOT_TRACK": "1"}
    environment = {name: each for name, each in environment.items() if name[:6] != "PYTHON"}
    done = subprocess.run(
        [command, "build", "--profiles-dir", ".", "--no-use-colors"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASS=11" in done.stdout, done.stdout
    found = pd.read_parquet(tmp_path / "out.parquet")
    assert found["cluster"].tolist() == model.predict_reference(TABLE).tolist()
