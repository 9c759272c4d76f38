"""Names of columns: texts as they are; whole numbers stay themselves where the table is asked."""

import pandas as pd
import pytest

import spexplain
from spexplain import CART, datasets

IRIS = datasets.load("iris")


@pytest.fixture
def fitted():
    table = pd.DataFrame(IRIS.data, columns=[10, 20, 30, 40])
    return CART().fit(table, IRIS.target)


def test_numbers_stay_themselves_in_sql(fitted) -> None:
    sql = fitted.to_sql(dialect="duckdb", table="flowers")
    assert 'WHEN "30" <= ' in sql or 'WHEN "40" <= ' in sql
    assert spexplain.from_json(fitted.to_json()).to_sql(dialect="duckdb", table="flowers") == sql
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    flowers = pd.DataFrame(IRIS.data, columns=["10", "20", "30", "40"])
    connection.register("flowers", flowers)
    found = connection.execute(sql).fetchdf()["cluster"]
    assert found.tolist() == fitted.labels_.tolist()


def test_people_read_them_as_names(fitted) -> None:
    assert {each["name"] for each in fitted.outline()["features"]} <= {"x10", "x20", "x30", "x40"}
    assert fitted.rules(output="records")[0]["rule"].startswith(("x30", "x40"))
    plain = CART().fit(pd.DataFrame(IRIS.data), IRIS.target)
    assert plain.to_text() == CART().fit(IRIS.data, IRIS.target).to_text()


def test_python_asks_for_the_number(fitted) -> None:
    space: dict = {}
    exec(fitted.to_python(), space)
    row = dict(zip([10, 20, 30, 40], IRIS.data[0].tolist(), strict=True))
    assert space["predict"](row) == fitted.labels_[0]


def test_rows_are_taken_in_their_order(fitted) -> None:
    loaded = spexplain.from_json(fitted.to_json())
    table = pd.DataFrame(IRIS.data, columns=[10, 20, 30, 40])
    assert loaded.predict(table).tolist() == fitted.predict(table).tolist()
    assert not hasattr(loaded, "feature_names_in_")
