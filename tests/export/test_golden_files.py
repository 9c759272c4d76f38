"""Exported texts, character by character; SPEXPLAIN_UPDATE_GOLDEN=1 writes them anew."""

import os
from pathlib import Path

import numpy as np
import pytest
from palmerpenguins import load_penguins

from export.edges import edge_rows
from spexplain.explanation import from_json
from spexplain.export import to_json, to_python, to_sql

GOLDEN = Path(__file__).parent / "golden"


def check(name: str, text: str) -> None:
    path = GOLDEN / name
    if os.environ.get("SPEXPLAIN_UPDATE_GOLDEN") == "1":
        path.write_text(text, encoding="utf-8", newline="")
    assert path.read_bytes().decode() == text


@pytest.mark.parametrize(
    "dialect", ["duckdb", "postgresql", "sqlite", "bigquery", "snowflake", "mysql"]
)
def test_sql(interval_model, dialect):
    text = to_sql(interval_model, dialect=dialect, table="shop.sales", view="v", label="reference")
    check(f"{dialect}.sql", text + "\n")


def test_sql_expression(interval_model):
    check("expression.sql", to_sql(interval_model) + "\n")


def test_json(interval_model):
    check("model.json", to_json(interval_model))


def test_python(interval_model):
    check("predict.py.txt", to_python(interval_model, label="reference"))


@pytest.mark.parametrize("version", [1, 2])
def test_models_of_older_versions_are_still_read(interval_model, version):
    text = (GOLDEN / f"model-{version}.json").read_text(encoding="utf-8")
    loaded = from_json(text)
    assert loaded.tree_ == interval_model.tree
    rows = edge_rows(interval_model.tree)
    assert loaded.predict(rows).tolist() == interval_model.tree.apply(rows).tolist()
    expected = interval_model.leaf_reference[interval_model.tree.apply(rows)].tolist()
    assert loaded.predict_reference(rows).tolist() == expected
    assert to_sql(loaded.explanation_) == to_sql(interval_model)
    assert (
        loaded.to_json() == from_json(loaded.to_json()).to_json()
    )  # and written anew in the newest


def test_a_model_of_the_third_version_is_still_read():
    """Of penguins, as it was written when the format was new: categories, missing values, and what was seen."""
    loaded = from_json((GOLDEN / "model-3.json").read_text(encoding="utf-8"))
    penguins = load_penguins()
    assert np.bincount(loaded.predict(penguins)).tolist() == [152, 63, 122, 7]
    found = loaded.predict_reference(penguins)
    assert int((found == penguins["species"]).sum()) == 331
    assert loaded.check(penguins).findings == []
    rule = "(flipper_length_mm ≤ 206 or missing) and (bill_length_mm ≤ 43.4 or missing)"
    assert loaded.rules()[0]["rule"] == rule
    assert from_json(loaded.to_json()).to_json() == loaded.to_json()


def test_models_of_newer_versions_are_refused_in_one_sentence(interval_model):
    text = to_json(interval_model).replace('"version": 3', '"version": 4', 1)
    with pytest.raises(
        ValueError, match=r"it has format version 4, but this spexplain reads versions"
    ):
        from_json(text)
