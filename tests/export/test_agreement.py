"""All forms of a tree agree with predict, on any row and on the edge of every test."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from export.conftest import DuckDB, SQLite
from export.edges import edge_values
from export.test_onnx import run
from export.test_python_source import function
from spexplain.explanation import Explanation, from_json
from spexplain.export import to_json, to_onnx, to_python, to_sklearn
from spexplain.tree import Tree
from spexplain.tree.boxes import Box, leaf_boxes

N_FEATURES = 3
NUMBERS = st.one_of(
    st.floats(-10, 10),
    st.integers(-5, 5).map(float),
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-(2.0**100), 2.0**100, width=32),
)


@st.composite
def wild_trees(draw: st.DrawFn) -> Tree:
    """Trees of ordinary and interval tests with any finite threshold."""
    tree = Tree.root(n_features=N_FEATURES, size=9)
    for _ in range(draw(st.integers(0, 7))):
        lower, threshold = sorted([draw(NUMBERS), draw(NUMBERS)])
        is_interval = lower < threshold and draw(st.booleans())
        tree = tree.split(
            int(draw(st.sampled_from(tree.leaves.tolist()))),
            feature=draw(st.integers(0, N_FEATURES - 1)),
            threshold=threshold,
            lower=lower if is_interval else -np.inf,
            sizes=(4, 5),
        )
    return tree


@st.composite
def trees_with_rows(draw: st.DrawFn) -> tuple[Tree, np.ndarray]:
    """A tree and rows, most of whose values equal a threshold or are the float next to one."""
    tree = draw(wild_trees())
    dtype = draw(st.sampled_from([np.float64, np.float32]))
    width = 8 * np.dtype(dtype).itemsize
    anything = st.floats(allow_nan=False, allow_infinity=False, width=width)
    value = st.sampled_from(edge_values(tree, dtype).tolist()) | anything
    row = st.lists(value, min_size=N_FEATURES, max_size=N_FEATURES)
    rows = draw(st.lists(row, min_size=1, max_size=12))
    return tree, np.array(rows, dtype=dtype)


def holds(box: Box, row: np.ndarray) -> bool:
    return all(region.holds(float(row[feature])) for feature, region in box.items())


@given(trees_with_rows())
def test_every_row_satisfies_exactly_one_rule(tree_and_rows):
    tree, rows = tree_and_rows
    boxes = leaf_boxes(tree)
    for row, leaf in zip(rows, tree.apply(rows), strict=True):
        satisfied = [holds(box, row) for box in boxes]
        assert np.flatnonzero(satisfied).tolist() == [leaf]


@given(trees_with_rows())
def test_all_forms_agree(tree_and_rows):
    tree, rows = tree_and_rows
    model, expected = Explanation(tree), tree.apply(rows).tolist()
    real = rows.dtype.name
    predict = function(to_python(model))
    assert [predict(row) for row in rows] == expected
    assert from_json(to_json(model)).predict(rows).tolist() == expected
    assert run(to_onnx(model, input_type=real), rows).tolist() == expected
    for database in (SQLite(), DuckDB()):
        assert database.labels(model, rows.tolist(), real=real) == expected
    if rows.dtype == np.float32:
        assert to_sklearn(model, rows).predict(rows).tolist() == expected


@settings(max_examples=10)
@given(trees_with_rows())
def test_postgresql_agrees(postgresql, tree_and_rows):
    tree, rows = tree_and_rows
    found = postgresql.labels(Explanation(tree), rows.tolist(), real=rows.dtype.name)
    assert found == tree.apply(rows).tolist()
