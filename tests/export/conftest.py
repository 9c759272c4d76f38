"""Databases that run the exported SQL for real, and models to export."""

import csv
import glob
import io
import os
import shutil
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris

from spexplain import CART
from spexplain.explanation import Explanation
from spexplain.export import to_sql
from spexplain.tree import Column, Tree

Rows = list[list[Any]]
ROW_ID = "row id"  # a column of ours, to read results in order
TYPES = {
    "duckdb": {"float64": "DOUBLE", "float32": "FLOAT"},
    "postgresql": {"float64": "float8", "float32": "float4"},
    "sqlite": {"float64": "REAL", "float32": "REAL"},
}


def quoted(name: str) -> str:
    """The SQL standard's quoting, written independently of the package's."""
    return '"' + name.replace('"', '""') + '"'


def type_of(column: Column, dialect: str, real: str) -> str:
    """The type that a database has for a column."""
    number = TYPES[dialect][real]
    if column.kind == "category":
        return {str: "TEXT", bool: "BOOLEAN"}.get(type(column.categories[0]), number)
    if column.kind == "date":
        zoned = column.zone is not None
        return "TEXT" if dialect == "sqlite" else "TIMESTAMPTZ" if zoned else "TIMESTAMP"
    if column.clock:
        return "TIME"
    kinds = {"flag": "INTEGER", "boolean": "BOOLEAN", "duration": "INTERVAL", "whole": "BIGINT"}
    return kinds.get(column.kind, number)


def columns_of(model: Explanation, dialect: str, real: str) -> str:
    columns = [f"{quoted(each.name)} {type_of(each, dialect, real)}" for each in model.fields]
    return ", ".join([f'"{ROW_ID}" INTEGER', *columns])


def labelling(model: Explanation, dialect: str, options: dict[str, Any]) -> str:
    """A query for the numbers of the rows and their labels."""
    query = to_sql(model, dialect=dialect, table="t", **options).removesuffix(";")
    name = quoted(options.get("name", "cluster"))
    return f'SELECT "{ROW_ID}", {name} FROM ({query}) AS q ORDER BY 1'


class SQLite:
    dialect = "sqlite"

    def labels(
        self, model: Explanation, rows: Rows, *, real: str = "float64", **options: Any
    ) -> list:
        connection = sqlite3.connect(":memory:")
        connection.execute(f"CREATE TABLE t ({columns_of(model, 'sqlite', real)})")
        marks = ", ".join("?" * (1 + model.tree.n_features))
        records = [
            [number, *(str(each) if isinstance(each, datetime) else each for each in row)]
            for number, row in enumerate(rows)
        ]
        connection.executemany(f"INSERT INTO t VALUES ({marks})", records)
        found = connection.execute(labelling(model, "sqlite", options)).fetchall()
        connection.close()
        return [record[-1] for record in found]


class DuckDB:
    dialect = "duckdb"

    def labels(
        self, model: Explanation, rows: Rows, *, real: str = "float64", **options: Any
    ) -> list:
        import duckdb

        connection = duckdb.connect()
        connection.execute(f"CREATE TABLE t ({columns_of(model, 'duckdb', real)})")
        marks = ", ".join(["(" + ", ".join("?" * (1 + model.tree.n_features)) + ")"] * len(rows))
        values = [each for number, row in enumerate(rows) for each in (number, *row)]
        connection.execute(f"INSERT INTO t VALUES {marks}", values)
        found = connection.execute(labelling(model, "duckdb", options)).fetchall()
        connection.close()
        return [record[-1] for record in found]


class PostgreSQL:
    dialect = "postgresql"

    def __init__(self, command: list[str]) -> None:
        self.command = command

    def labels(
        self, model: Explanation, rows: Rows, *, real: str = "float64", **options: Any
    ) -> list:
        values = ",\n".join(
            f"({number}, " + ", ".join(self.value(each) for each in row) + ")"
            for number, row in enumerate(rows)
        )
        script = (
            f"CREATE TEMP TABLE t ({columns_of(model, 'postgresql', real)});\n"
            f"INSERT INTO t VALUES {values};\n"
            f"{labelling(model, 'postgresql', options)};\n"
        )
        done = subprocess.run(
            self.command, input=script.encode(), capture_output=True, check=False, timeout=60
        )
        assert done.returncode == 0, done.stderr.decode()
        found = csv.reader(io.StringIO(done.stdout.decode(), newline=""))
        labels = [record[-1] for record in found]
        if options.get("label") == "reference":
            return labels
        return [None if label == "<null>" else int(label) for label in labels]

    @staticmethod
    def value(x: Any) -> str:
        if isinstance(x, timedelta):
            return f"'{x / timedelta(microseconds=1):.0f} microseconds'"
        return "NULL" if x is None else "'" + str(x).replace("'", "''") + "'"


def postgres_program(name: str) -> str | None:
    folders = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    return shutil.which(name, path=os.pathsep.join([*folders, os.environ.get("PATH", "")]))


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgreSQL]:
    """A server of its own in a temporary folder, reached through a socket in that folder only."""
    initdb, postgres, psql = (postgres_program(each) for each in ("initdb", "postgres", "psql"))
    if not (initdb and postgres and psql):
        pytest.skip("PostgreSQL's initdb, postgres and psql are not installed")
    # The server refuses to run as root.
    user: dict[str, Any] = {"user": "nobody", "cwd": "/"} if os.geteuid() == 0 else {}
    folder = Path(tempfile.mkdtemp(prefix="spexplain-pg-", dir="/tmp"))
    if user:
        shutil.chown(folder, user["user"])
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, **user}
    environment = os.environ | {"LC_ALL": "C", "HOME": str(folder)}
    made = subprocess.run(
        [initdb, "-D", folder / "data", "-U", "tester", "-A", "trust", "-E", "UTF8", "--no-sync"],
        env=environment,
        check=False,
        **quiet,
    )
    if made.returncode:
        shutil.rmtree(folder, ignore_errors=True)
        pytest.skip(f"PostgreSQL's initdb failed here: {made.stderr.decode()[-200:]}")
    server = subprocess.Popen(
        [postgres, "-D", folder / "data", "-k", folder, "-c", "listen_addresses=", "-F"],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **user,
    )
    command = [psql, "-X", "-q", "-t", "--csv", "-P", "null=<null>", "-v", "ON_ERROR_STOP=1"]
    command += ["-h", str(folder), "-U", "tester", "-d", "postgres"]
    try:
        _wait_for([*command, "-c", "SELECT 1"], server)
        yield PostgreSQL(command)
    finally:
        server.terminate()
        server.wait(timeout=30)
        shutil.rmtree(folder, ignore_errors=True)


def _wait_for(command: list[str], server: subprocess.Popen) -> None:
    for _ in range(200):
        if subprocess.run(command, capture_output=True, check=False).returncode == 0:
            return
        if server.poll() is not None:
            break
        time.sleep(0.1)
    pytest.skip("PostgreSQL's server did not start here")


@pytest.fixture(params=["duckdb", "sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> Any:
    """Every database that can be run here."""
    if request.param == "postgresql":
        return request.getfixturevalue("postgresql")
    if request.param == "duckdb":
        pytest.importorskip("duckdb")
        return DuckDB()
    return SQLite()


@pytest.fixture(scope="session")
def iris() -> Any:
    """A fitted estimator, its rows, and names of columns and clusters."""
    import pandas as pd

    data = load_iris()
    X = pd.DataFrame(data.data, columns=data.feature_names)
    species = data.target_names[data.target]
    return CART(3, n_leaves=5).fit(X, species), X


@pytest.fixture
def interval_model() -> Explanation:
    """Ordinary and interval tests, thresholds that need all 17 digits, labels with quotes."""
    tree = Tree.root(n_features=3, size=100)
    tree = tree.split(0, feature=0, threshold=0.1 + 0.2, lower=-1 / 3, sizes=(40, 60))
    tree = tree.split(2, feature=2, threshold=1e-7, sizes=(20, 40))
    tree = tree.split(4, feature=0, threshold=2.5, lower=1.7000000000000002, sizes=(15, 25))
    return Explanation(
        tree,
        columns=("petal length", 'a "quoted" name', "höhe"),
        leaf_reference=np.array(["it's", "back\\slash", "new\nline", "ü"]),
        leaf_purity=np.array([1.0, 0.5, 0.75, 0.1]),
        method="KernelIMM",
        version="1.0",
    )
