"""Rows on their way through a tree, rows in bins, and codes of labels: what workers do, against plain NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spexplain.kernels.routes import rows_in_bins
from spexplain.table.host import node_values
from spexplain.table.partition_worker import encode, moments_of, walked
from spexplain.tree import Test, Tree
from strategies import trees

VALUES = [-2.0, -1.0, -0.5, 0.0, 0.25, 1.0, 3.0, np.nan]


def _with_gaps(tree: Tree, draw: st.DrawFn) -> Tree:
    """Return the tree with intervals, sides for missing values and, perhaps, sets of categories."""
    tests = {}
    for node, test in tree.tests.items():
        kind, passes = (
            draw(st.sampled_from(["cut", "interval", "missing", "set"])),
            draw(st.booleans()),
        )
        if kind == "set":
            tests[node] = Test(test.feature, missing=passes, values=(0, 3))
        elif kind == "missing":
            tests[node] = Test(test.feature, upper=-np.inf, missing=True)
        else:
            lower = test.upper - 1.0 if kind == "interval" else -np.inf
            tests[node] = Test(test.feature, lower, test.upper, passes)
    return tree.retested(tests)


@settings(max_examples=60)
@given(st.data())
def test_rows_walk_as_plain_numpy_has_it(data):
    tree = _with_gaps(data.draw(trees()), data.draw)
    n_rows = data.draw(st.integers(0, 30))
    drawn = data.draw(st.lists(st.sampled_from(VALUES), min_size=3 * n_rows, max_size=3 * n_rows))
    dtype, order = data.draw(st.sampled_from([(np.float32, "C"), (np.float64, "F")]))
    X = np.asarray(np.reshape(drawn, (n_rows, 3)), dtype=dtype, order=order)
    columns = data.draw(st.permutations(range(3)))[: tree.n_features]
    found, expected = walked(X, tree, columns), node_values(X[:, columns], tree)
    for name in ("below", "above", "lower_below", "lower_above", "n_missing"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    assert found.present == expected.present
    np.testing.assert_array_equal(found.leaves, tree.apply(X[:, columns]))


@settings(max_examples=40)
@given(st.integers(0, 40), st.integers(0, 2**32 - 1))
def test_rows_in_bins(n_rows, seed):
    random = np.random.default_rng(seed)
    inside, wanted = (
        random.random(n_rows) < 0.6,
        random.random(256) < random.choice([0.0, 0.5, 1.0]),
    )
    codes = random.integers(0, 256, n_rows).astype(np.uint8)
    packed, room = np.packbits(inside), np.empty(n_rows + 1, dtype=np.int32)
    packed |= np.packbits(
        np.append(np.zeros(n_rows, bool), np.ones(-n_rows % 8, bool))
    )  # mean nothing
    expected = np.flatnonzero(inside & wanted[codes])
    for kernel in {rows_in_bins, getattr(rows_in_bins, "py_func", rows_in_bins)}:
        n_found = kernel(packed, codes, wanted, room)
        np.testing.assert_array_equal(room[:n_found], expected)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint64, np.float64, object])
def test_labels_become_places_among_classes(dtype):
    labels = np.array([3, 3, 0, 7, 5, 3, 120, 0], dtype=dtype)
    classes = np.array([0, 5, 120], dtype=dtype)
    assert encode(labels, classes).tolist() == [-1, -1, 0, -1, 1, -1, 2, 0]
    assert encode(labels[:0], classes).tolist() == []
    assert encode(labels, classes[:0]).tolist() == [-1] * 8


@pytest.mark.parametrize("far", [2**62, -(2**62)])
def test_labels_far_apart_are_searched_for(far):
    labels = np.array([0, far, 1, far], dtype=np.int64)
    assert (
        encode(labels, np.unique(labels)).tolist()
        == np.unique(labels, return_inverse=True)[1].tolist()
    )


def test_moments_of_many_rows_with_gaps():
    X = np.random.default_rng(0).normal(size=(70_001, 3)).astype(np.float32)
    X[::9, 2] = np.nan
    n_known, sums, squares = moments_of(X, ([2, 0], np.array([0.5, -1.0])))
    gaps = X[:, [2, 0]] - np.array([0.5, -1.0])
    np.testing.assert_array_equal(n_known, (~np.isnan(gaps)).sum(axis=0))
    np.testing.assert_allclose(sums, np.nansum(gaps, axis=0))
    np.testing.assert_allclose(squares, np.nansum(gaps**2, axis=0))


def test_moments_of_float32_are_added_up_in_float64():
    """Before NumPy 2, a float32 array less a float64 number is float32."""
    X = np.array([[16_777_215.0], [3.0]], dtype=np.float32)
    origin = np.array([0.25])
    _, sums, squares = moments_of(X, ([0], origin))
    gaps = X[:, 0].astype(np.float64) - 0.25
    assert (sums[0], squares[0]) == (gaps.sum(), (gaps * gaps).sum())
