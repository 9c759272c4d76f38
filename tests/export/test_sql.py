"""The SQL runs for real and gives the labels of predict."""

import sqlite3

import numpy as np
import pytest

from export.edges import edge_rows
from spexplain import CART, IMM
from spexplain.explanation import Explanation
from spexplain.export import sql as sql_module
from spexplain.export import to_sql
from spexplain.tree import Column, Tree

DIALECTS = ["duckdb", "postgresql", "sqlite", "bigquery", "snowflake", "mysql"]
HOSTILE = [
    '"; DROP TABLE x; --',
    "'; DROP TABLE x; --",
    'a "quoted" name',
    "it's",
    "back\\slash\\",
    "\\'",
    "two\nlines\r\n\ttab",
    "`tick``s`",
    "ünï✓\U0001f600",
    "select",
    "/* comment */ --",
    "$1 %s ? :name {x}",
    " ",
    "[x]",
    "''",
]


def stump(name: str = "x", labels: object = None) -> Explanation:
    tree = Tree.root(n_features=1, size=2).split(0, feature=0, threshold=0.5, sizes=(1, 1))
    return Explanation(tree, (name,), None if labels is None else np.array(labels))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("estimator", [CART(3, n_leaves=6), IMM(3)])
def test_same_labels_as_predict(database, iris, estimator, dtype):
    _, X = iris
    X = X.to_numpy().astype(dtype) / dtype(7)  # long fractions
    estimator = estimator.fit(X)
    rows = np.concatenate([X, edge_rows(estimator.tree_, dtype=dtype)])
    found = database.labels(estimator.explanation_, rows.tolist(), real=np.dtype(dtype).name)
    assert found == estimator.predict(rows).tolist()


@pytest.mark.parametrize("is_flat", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_interval_tests(database, interval_model, dtype, is_flat, monkeypatch):
    if is_flat:
        monkeypatch.setattr(sql_module, "_NESTED_DEPTH", 0)
    tree = interval_model.tree
    rows = edge_rows(tree, dtype=dtype)
    found = database.labels(interval_model, rows.tolist(), real=np.dtype(dtype).name)
    assert found == tree.apply(rows).tolist()
    assert set(found) == set(range(tree.n_leaves))


@pytest.mark.parametrize("is_flat", [False, True])
def test_missing_values_go_where_the_tree_sends_them(
    database, interval_model, is_flat, monkeypatch
):
    if is_flat:
        monkeypatch.setattr(sql_module, "_NESTED_DEPTH", 0)
    rows = [
        [None, None, None],
        [None, 0.0, 0.0],
        [0.0, None, None],
        [1.0, None, 0.0],
        [1.0, 0.0, None],
        [2.0, None, 1.0],
    ]
    expected = interval_model.tree.apply(np.array(rows, dtype=np.float64)).tolist()
    assert database.labels(interval_model, rows) == expected == [3, 1, 0, 1, 3, 2]
    if database.dialect != "sqlite":  # which stores NaN as NULL
        rows = [[float("nan") if each is None else each for each in row] for row in rows]
        assert database.labels(interval_model, rows) == expected


@pytest.mark.parametrize("depth", [13, 90])
def test_deep_trees(database, depth):
    tree = Tree.root(n_features=1, size=1)
    for level in range(depth):  # a chain to the left
        tree = tree.split(0 if level == 0 else 2 * level - 1, feature=0, threshold=-level - 0.5)
    rows = np.arange(-depth - 1.0, 2.0)[:, None]
    found = database.labels(Explanation(tree), rows.tolist())
    assert found == tree.apply(rows).tolist()
    assert len(set(found)) == depth + 1


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_column_names(database, name):
    assert database.labels(stump(name), [[0.5], [0.75]]) == [0, 1]
    assert database.labels(stump("x"), [[0.5]], name=name) == [0]


@pytest.mark.parametrize("label", [*HOSTILE, ""])
def test_hostile_labels(database, label):
    model = stump("x", [label, "other"])
    assert database.labels(model, [[0.5], [0.75]], label="reference") == [label, "other"]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([-(2**63), 2**63 - 1], [-(2**63), 2**63 - 1]),
        ([0.1 + 0.2, -1e300], [0.1 + 0.2, -1e300]),
        ([True, False], [True, False]),
        (["2024-01-01", "2024-02-01"], ["2024-01-01", "2024-02-01"]),
        (np.array(["2024-01-01", "2024-02-01"], dtype="M8[D]"), ["2024-01-01", "2024-02-01"]),
        (np.array([1, "a"], dtype=object), ["1", "a"]),
        (np.array([2**64 - 1, 0], dtype=np.uint64), ["18446744073709551615", "0"]),
        ([np.inf, 0.0], ["inf", "0.0"]),
    ],
)
def test_label_types(database, labels, expected):
    if database.dialect == "postgresql":  # psql prints
        expected = [
            {True: "t", False: "f"}[each] if isinstance(each, bool) else str(each)
            for each in expected
        ]
    found = database.labels(stump("x", labels), [[0.5], [0.75]], label="reference")
    assert found == expected


def test_one_leaf(database):
    assert database.labels(Explanation(Tree.root(n_features=2, size=3)), [[1.0, None]]) == [0]


def test_sqlite_names_the_missing_column():
    # In double quotes, it would silently compare the text 'height' with numbers.
    with pytest.raises(sqlite3.OperationalError, match=r"no such column"):
        sqlite3.connect(":memory:").execute(f"SELECT {to_sql(stump('height'), dialect='sqlite')}")


def test_sqlite_reads_every_double_exactly():
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**64, 5000, dtype=np.uint64).view(np.float64)
    values = np.concatenate(
        [bits[np.isfinite(bits)], rng.normal(size=2000), rng.normal(size=2000).round(3)]
    )
    extremes = [5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, -1e22, 1e23, 2.0**62, 0.0]
    number = sql_module.DIALECTS["sqlite"].number
    connection = sqlite3.connect(":memory:")
    for x in [*values.tolist(), *extremes]:
        assert connection.execute(f"SELECT {number(x)}").fetchone() == (x,)


@pytest.mark.parametrize("dialect", ["bigquery", "snowflake", "mysql"])
@pytest.mark.parametrize("text", HOSTILE)
def test_other_dialects_read_the_same_names_and_labels(dialect, text):
    sqlglot = pytest.importorskip("sqlglot")
    model = stump(text, [text, "other"])
    statements = sqlglot.parse(
        to_sql(model, dialect=dialect, table="t", label="reference"), read=dialect
    )
    assert len(statements) == 1
    columns = {each.name for each in statements[0].find_all(sqlglot.exp.Column)}
    assert columns == {text}
    literals = {each.this for each in statements[0].find_all(sqlglot.exp.Literal)}
    assert text in literals


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_views(dialect, tmp_path):
    model, path = stump("höhe"), str(tmp_path / "file.db")
    connect = pytest.importorskip("duckdb").connect if dialect == "duckdb" else sqlite3.connect
    connection = connect(path)
    connection.execute('CREATE TABLE "my table" ("höhe" DOUBLE PRECISION)')
    connection.execute('INSERT INTO "my table" VALUES (0.5), (0.75)')
    statement = to_sql(model, dialect=dialect, table="main.my table", view='the "view"', name="é")
    connection.execute(statement)
    connection.commit()
    connection.close()
    connection = connect(path)
    assert connection.execute('SELECT "é" FROM "the ""view""" ORDER BY 1').fetchall() == [
        (0,),
        (1,),
    ]
    connection.close()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_names_no_database_can_have(dialect):
    with pytest.raises(
        ValueError, match=r"^feature_names holds 'a\\x00b', but .* no NUL character"
    ):
        to_sql(stump("a\0b"), dialect=dialect)
    with pytest.raises(ValueError, match=r"^label holds 'a\\x00b', but .* no NUL character"):
        to_sql(stump("x", ["a\0b", "b"]), dialect=dialect, label="reference")
    with pytest.raises(
        ValueError, match=r"^feature_names holds '\\ud800', which is not valid Unicode"
    ):
        to_sql(stump("\ud800"), dialect=dialect)


def test_empty_names(database):
    if database.dialect == "sqlite":
        assert database.labels(stump(""), [[0.5], [0.75]]) == [0, 1]
    else:
        with pytest.raises(ValueError, match=r"^feature_names holds an empty name"):
            to_sql(stump(""), dialect=database.dialect)


def test_names_that_mean_two_columns():
    tree = Tree.root(n_features=2, size=2).split(0, feature=1, threshold=0.5)
    for dialect in ("duckdb", "sqlite", "mysql", "bigquery"):
        with pytest.raises(ValueError, match=r"'a' and 'A', which .* cannot tell apart"):
            to_sql(Explanation(tree, ("a", "A")), dialect=dialect)
    assert '"A" <=' in to_sql(Explanation(tree, ("a", "A")), dialect="postgresql")
    with pytest.raises(ValueError, match=r"'a' and 'a', which PostgreSQL cannot tell apart"):
        to_sql(Explanation(tree, ("a", "a")), dialect="postgresql")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dialect": "oracle"}, "^dialect='oracle' must be"),
        ({"label": "class"}, '^label=\'class\' must be "leaf" or "reference"'),
        ({"label": "reference"}, '^label="reference" needs labels of the leaves'),
        ({"view": "v"}, "^view='v' needs a table"),
        ({"table": ""}, "^table='' must be a name"),
        ({"table": "a..b"}, "^table='a..b' must be a name"),
        ({"table": 7}, "^table=7 must be a name"),
        ({"table": []}, r"^table=\[\] must be a name"),
        ({"table": "t", "view": ["v", 1]}, r"^view=\['v', 1\] must be a name"),
        ({"table": "t", "name": "X"}, "^name='X' is already a column"),
        ({"table": "t", "name": None}, "^name=None must be a string"),
        ({"table": "t", "name": ""}, "^name holds an empty name"),
        (
            {"table": ["a.b"], "dialect": "bigquery"},
            "^table holds 'a.b', but BigQuery allows no dot",
        ),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        to_sql(stump(), **options)


def test_dots_separate_schemas_unless_given_as_parts():
    assert 'FROM "s"."t";' in to_sql(stump(), table="s.t")
    assert 'FROM "s.t";' in to_sql(stump(), table=["s.t"])


IMPORTED = [
    # a number, a big whole number, yes or no, 0 or 1, a date, a code: as CSV files have them
    ["1.50", "9007199254740993", "true", "1", "1997-05-26", "3"],
    ["2.5", "9007199254740992", "no", "0", "2001-01-01", "4"],
    [" 7 ", "9007199254740995", "YES", "1.0", "2001-01-01 00:00:00.000001", "3"],
    ["-1", "-1", "0", "", "", ""],
    ["", "", "", "", "1800-01-01", "x"],
    ["seven", "12monkeys", "maybe", "2", "2030-12-31 23:59:59", "5"],
]
KINDS_IMPORTED = [
    Column("number"), Column("big", "whole"), Column("yes", "boolean"), Column("flag", "flag"),
    Column("when", "date"), Column("code", "category", (3, 4)),
]  # fmt: skip
TESTS_IMPORTED = [
    {"threshold": 2.25}, {"threshold": 2.0**53}, {"threshold": 0.5}, {"threshold": 0.5},
    {"threshold": 978_307_200_000_000.0}, {"threshold": np.nan, "categories": (0,)},
]  # fmt: skip


@pytest.mark.parametrize("place", range(6))
@pytest.mark.parametrize("missing", [False, True])
def test_sqlite_reads_texts_as_predict_does(tmp_path, place, missing):
    """What `.import` makes of a CSV file: columns of texts. Numbers beyond 2^53 are compared as doubles."""
    polars = pytest.importorskip("polars")
    from spexplain.cli import columns
    from spexplain.cli.options import ReadingOptions
    from spexplain.cli.read import TableFile

    column = KINDS_IMPORTED[place]
    tree = Tree.root(n_features=1, size=2).split(
        0, feature=0, missing=missing, **TESTS_IMPORTED[place]
    )
    texts = [row[place] for row in IMPORTED]
    file = TableFile("t.csv", tmp_path / "t.csv", "csv", ReadingOptions())
    cells = polars.Series([text or None for text in texts])
    expected = tree.apply(columns.cells_of_file(cells, column, file).values[:, None]).tolist()
    sql = to_sql(Explanation(tree, (column.name,), described=(column,)), dialect="sqlite")
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE TABLE t (`{column.name}` TEXT)")
    connection.executemany("INSERT INTO t VALUES (?)", [[text] for text in texts])
    assert [found for (found,) in connection.execute(f"SELECT {sql} FROM t")] == expected
    assert len(set(expected)) == 2
    if column.name == "big":
        connection.execute("CREATE TABLE u (big INTEGER)")
        connection.executemany("INSERT INTO u VALUES (?)", [[2**53], [2**53 + 1], [2**53 + 3]])
        assert [found for (found,) in connection.execute(f"SELECT {sql} FROM u")] == [0, 0, 1]
    connection.close()
