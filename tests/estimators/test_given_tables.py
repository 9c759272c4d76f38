"""Tables of any container and number type, their column names, and limits of the tree."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from spexplain import CART, SpexClique, SpexKNN, datasets, from_json

IRIS = datasets.load("iris")
X, Y = IRIS.data, IRIS.target
NAMES = IRIS.target_names[Y]
TABLES = {
    "C order": np.ascontiguousarray(X),
    "Fortran order": np.asfortranarray(X),
    "view": np.repeat(X, 2, axis=1)[:, ::2],
    "lists": X.tolist(),
    "pandas": pd.DataFrame(X, columns=IRIS.feature_names),
    "pandas, nullable": pd.DataFrame(X, columns=IRIS.feature_names).astype("Float64"),
    "polars": pl.DataFrame(X, schema=IRIS.feature_names),
    "object": X.astype(object),
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES.keys())
@pytest.mark.parametrize("cls", [SpexClique, SpexKNN, CART])
def test_containers_of_tables(cls, table):
    expected = cls(3).fit(X, Y)
    fitted = cls(3).fit(table, Y)
    assert fitted.tree_ == expected.tree_
    assert fitted.predict(table).tolist() == expected.labels_.tolist()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8, np.int64, np.uint8, bool])
def test_number_types_of_tables(dtype):
    table = (X.mean(axis=0) < X) if dtype is bool else (X * 8).astype(dtype)
    fitted = SpexClique().fit(table, Y)
    assert fitted.tree_ == SpexClique().fit(table.astype(np.float64), Y).tree_
    assert fitted.predict(table).tolist() == fitted.predict(table.astype(np.float64)).tolist()


def test_masked_values_are_missing():
    is_masked = np.random.default_rng(0).random(X.shape) < 0.2
    for dtype in (np.float64, np.float32, np.int64):
        table = (X * 8).astype(dtype)
        holes = np.where(is_masked, np.nan, table).astype(
            np.float32 if dtype == np.float32 else float
        )
        masked = np.ma.MaskedArray(table, is_masked)
        expected = SpexClique().fit(pd.DataFrame(holes), Y)
        fitted = SpexClique().fit(masked, Y)
        assert fitted.to_text() == expected.to_text()
        assert fitted.predict(masked).tolist() == expected.labels_.tolist()
        assert from_json(fitted.to_json()).predict(masked).tolist() == expected.labels_.tolist()
    words = np.ma.MaskedArray([["a"], ["b"], ["c"], ["d"]], [[False], [False], [True], [False]])
    fitted = SpexClique().fit(words, [0, 0, 1, 1])
    assert fitted.predict([["never seen"]]).tolist() == fitted.predict(words[2:3]).tolist()
    unmasked = np.ma.MaskedArray(X.astype(np.int64))
    assert SpexClique().fit(unmasked, Y).to_text() == SpexClique().fit(unmasked.data, Y).to_text()


def test_whole_numbers_of_128_bits():
    table = pl.DataFrame({"a": pl.Series([1, 2, 3, 4], dtype=pl.Int128), "b": [1.0, 2.0, 3.0, 5.0]})
    fitted = SpexClique().fit(table, [0, 0, 1, 1])
    assert fitted.to_text().startswith("a ≤ 2\n")
    assert fitted.predict(table).tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("table", [TABLES["pandas"], TABLES["polars"]], ids=["pandas", "polars"])
def test_feature_names_are_kept(table):
    explainer = SpexClique().fit(table, NAMES)
    assert explainer.feature_names_in_.tolist() == IRIS.feature_names
    assert explainer.rules(output="records")[0]["rule"] == "petal length (cm) ≤ 2"
    assert explainer.to_text().startswith("petal length (cm) ≤ 2\n├─ yes: leaf 0")
    assert explainer.rules(["a", "b", "c", "d"], output="records")[0]["rule"] == "c ≤ 2"
    assert SpexClique().fit(X, Y).rules(output="records")[0]["rule"] == "x2 ≤ 2"


def test_features_by_name_and_number():
    frame = TABLES["pandas"]
    by_name = SpexClique(features=["sepal width (cm)", "sepal length (cm)"]).fit(frame, Y)
    by_number = SpexClique(features=np.array([1, 0])).fit(X, Y)
    mixed = SpexClique(features=[0, "sepal width (cm)", 0]).fit(frame, Y)
    assert by_name.tree_ == by_number.tree_ == mixed.tree_
    assert set(by_name.tree_.feature) <= {-1, 0, 1}
    assert by_name.n_features_in_ == 4
    narrow = SpexClique().fit(X[:, :2], Y)
    assert narrow.labels_.tolist() == by_number.predict(X).tolist()
    assert SpexClique(features=[3]).fit(X, Y).tree_.feature.max() == 3


def test_limits_of_the_tree():
    assert SpexClique(n_leaves=6, max_depth=3).fit(X, Y).tree_.depth == 3
    assert SpexClique(n_leaves=6, min_samples_leaf=20).fit(X, Y).tree_.size.min() >= 20
    assert SpexClique(n_leaves=1).fit(X, Y).labels_.tolist() == [0] * len(X)
