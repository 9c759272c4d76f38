"""Column names of polars tables reach the estimators, whichever way scikit-learn asks for them."""

import numpy as np
import pytest

from spexplain import CART
from spexplain.table import columns as frames

pl = pytest.importorskip("polars")
TABLE = pl.DataFrame({"age": [1.0, 2.0, 3.0, 4.0], "size": [1, 1, 2, 2]})


def test_names_are_kept_and_compared():
    explainer = CART().fit(TABLE, [0, 0, 1, 1])
    assert explainer.feature_names_in_.tolist() == ["age", "size"]
    with pytest.raises(ValueError, match="X lacks the column 'age', which the tree tests"):
        explainer.predict(TABLE.rename({"age": "other"}))


def test_an_old_scikit_learn_finds_values_and_names(monkeypatch):
    monkeypatch.setattr(frames, "_ASKS_BY_PROTOCOL", True)
    view = frames.readable(TABLE)
    assert list(view.__dataframe__().column_names()) == TABLE.columns
    assert (view.shape, len(view)) == (TABLE.shape, len(TABLE))
    np.testing.assert_array_equal(np.asarray(view, dtype=np.float64), TABLE.to_numpy())
    X = TABLE.to_numpy()
    assert frames.readable(X) is X
