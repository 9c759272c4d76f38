"""Tables at the edge of what there is: every method explains them alike on all engines, or refuses in a sentence."""

import re
import warnings
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator

from spexplain import (
    CART,
    EMN,
    IMM,
    ExGreedy,
    ExKMC,
    ExShallow,
    KernelIMM,
    NonUniformCut,
    RandomCuts,
    SpexClique,
    SpexGraph,
    SpexKNN,
)
from spexplain.engines import Engine
from spexplain.exceptions import LeafCountWarning
from strategies import columns

# Neighbours in value, subnormal and large numbers; the squares of some overflow.
TAILS = [0.0, -0.0, 1.0, 1 + 2**-52, 1 - 2**-53, 1e-320, -1e-310, 1e-30, 1e20, -1e20, 1e38]
TAILS += [1e160, -1e200, 1e308]
METHODS: dict[str, Any] = {
    "spex": SpexClique(),
    "spex by cluster size": SpexClique(clique_weights="inverse_size"),
    "neighbours": SpexKNN(n_neighbors=2),
    "graph": SpexGraph(),
    "two graphs": NonUniformCut(),
    "gini": CART(leaf_weight="none"),
    "gini by size": CART(leaf_weight="size"),
    "volume": CART(criterion="volume", leaf_weight="none"),
    "imm": IMM(),
    "imm furthest": IMM(pairs="furthest", objective="kmedians"),
    "emn": EMN(),
    "emn product": EMN(denominator="product"),
    "exkmc": ExKMC(),
    "kernel imm": KernelIMM(),
    "kernel exkmc": KernelIMM(kernel="laplacian", n_leaves=4),
    "random cuts": RandomCuts(),
    "exgreedy": ExGreedy(),
    "exshallow": ExShallow(),
}


def column(n_rows: int, values: list[float]) -> st.SearchStrategy[list[float]]:
    return st.lists(st.sampled_from(values), min_size=n_rows, max_size=n_rows)


@st.composite
def degenerate_tables(draw: st.DrawFn) -> np.ndarray:
    """One row or a few, duplicates, constants, heavy tails, both number types and any order in memory."""
    n_rows = draw(st.integers(1, 9))
    drawn = draw(st.lists(columns(n_rows) | column(n_rows, TAILS), min_size=1, max_size=3))
    # float32 has no such numbers
    dtypes = [np.float64] if np.abs(drawn).max() > 1e38 else [np.float32, np.float64]
    dtype = draw(st.sampled_from(dtypes))
    X = np.array(drawn, dtype=dtype).T
    if draw(st.booleans()):
        X = X[draw(st.lists(st.integers(0, n_rows - 1), min_size=1, max_size=9))]
    return draw(st.sampled_from([np.ascontiguousarray, np.asfortranarray, every_other]))(X)


def every_other(X: np.ndarray) -> np.ndarray:
    """The same table as a view into a larger one, without any order of its own."""
    return np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2]


def explained(method: str, X: np.ndarray, y: Any, **parameters: Any) -> Any:
    """The fitted estimator, or the sentence that refuses the table."""
    estimator: BaseEstimator = METHODS[method]
    known = {key: value for key, value in parameters.items() if key in estimator.get_params()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeafCountWarning)
        try:
            return type(estimator)(**estimator.get_params() | known).fit(X, y)
        except ValueError as error:
            message = str(error)
    assert message.endswith(".")
    assert "\n" not in message
    assert not re.search(r"[.!?] [A-Z]", message), f"more than one sentence: {message}"
    return message


def check_engines_agree(engine: Engine, method: str, X: np.ndarray, data: st.DataObject) -> Any:
    """Return what a method makes of a table: the same tree on all engines, or the same refusal."""
    y = data.draw(st.lists(st.integers(-1, 3), min_size=len(X), max_size=len(X)))
    chosen = {"n_leaves": data.draw(st.none() | st.integers(1, 12)), "random_state": 0}
    ours = explained(method, X, y, engine=engine, **chosen)
    plain = explained(method, np.ascontiguousarray(X), y, engine="numpy", **chosen)
    if isinstance(ours, str) or isinstance(plain, str):
        assert ours == plain
        return ours
    assert ours.tree_ == plain.tree_
    # A leaf may hold a centre and no row.
    assert set(ours.labels_.tolist()) <= set(range(ours.n_leaves_))
    assert ours.predict(X).tolist() == ours.labels_.tolist()
    assert [int(ours.predict(row[None])[0]) for row in X] == ours.labels_.tolist()
    return ours


@given(method=st.sampled_from(list(METHODS)), data=st.data())
def test_methods_on_degenerate_tables(engine: Engine, method: str, data: st.DataObject) -> None:
    ours = check_engines_agree(engine, method, data.draw(degenerate_tables()), data)
    if not isinstance(ours, str):
        assert np.isfinite(ours.tree_.threshold[ours.tree_.feature >= 0]).all()


@given(method=st.sampled_from(list(METHODS)), data=st.data())
def test_methods_on_degenerate_tables_with_missing_values(
    engine: Engine, method: str, data: st.DataObject
) -> None:
    X = data.draw(degenerate_tables()).copy()
    is_missing = data.draw(st.lists(st.booleans(), min_size=X.size, max_size=X.size))
    X[np.array(is_missing).reshape(X.shape)] = np.nan
    ours = check_engines_agree(engine, method, X, data)
    if isinstance(ours, str):
        return
    for node, test in ours.tree_.tests.items():
        # Only a test that tells missing values from others has no threshold.
        assert np.isfinite(test.upper) or test.missing == (test.upper < 0), node


@given(
    method=st.sampled_from(list(METHODS)),
    data=st.data(),
    hole=st.sampled_from([np.nan, np.inf, -np.inf]),
)
def test_infinite_values_are_refused_and_missing_ones_if_asked_to(
    method: str, data: st.DataObject, hole: float
) -> None:
    X = data.draw(degenerate_tables()).copy()
    y = data.draw(st.lists(st.integers(0, 3), min_size=len(X), max_size=len(X)))
    X[data.draw(st.integers(0, len(X) - 1)), data.draw(st.integers(0, X.shape[1] - 1))] = hole
    missing = data.draw(st.sampled_from(["error", "error" if np.isnan(hole) else "allow"]))
    message = explained(method, X, y, missing=missing)
    assert isinstance(message, str)
    allowed = "infinity" if missing == "allow" else "NaN or infinity"
    assert f"contains {allowed}" in message or len(X) < 2


@given(
    method=st.sampled_from(["spex", "gini", "imm", "exkmc"]),
    X=degenerate_tables(),
    more=st.integers(1, 3),
)
def test_more_clusters_than_rows_are_refused(method: str, X: np.ndarray, more: int) -> None:
    message = explained(method, X, None, n_clusters=len(X) + more, reference="kmeans")
    assert isinstance(message, str)
