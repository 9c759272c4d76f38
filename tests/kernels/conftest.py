"""A kernel compiled or as plain Python, and a small table, its clusters and its graph."""

import numpy as np
import pytest

from kernel_sums import EXTRA, neighbors_of
from spexplain.kernels import coding, edges, labels, ordering, stars, sums
from spexplain.table.views import SearchedMatrix


@pytest.fixture(params=["compiled", "python"])
def run(request, monkeypatch):
    """Call a kernel, or a function that calls some, compiled or by their plain bodies."""
    if request.param == "python":
        for module in (coding, edges, labels, ordering, stars, sums):
            for name, kernel in vars(module).copy().items():
                if hasattr(kernel, "py_func"):
                    monkeypatch.setattr(module, name, kernel.py_func)
        return lambda kernel, *arguments: getattr(kernel, "py_func", kernel)(*arguments)
    return lambda kernel, *arguments: kernel(*arguments)


@pytest.fixture(params=[(np.float32, "C"), (np.float64, "F")], ids=["float32-C", "float64-F"])
def table(request):
    """A table with ties and missing values, all values feature by feature, their bins, and some of the rows.

    There are extra vertices; the second and the third feature are one column.
    """
    dtype, order = request.param
    rng = np.random.default_rng(3)
    known = np.asarray(rng.integers(-4, 5, size=(40, 2)) / 4, dtype=dtype, order=order)
    known[rng.random(40) < 0.2, 1] = np.nan
    matrix = SearchedMatrix(known, np.array([0, 1, 1]), np.array([np.nan, -1.25, 1.25]))
    columns = matrix.written_out().T
    assert np.isnan(known).any()
    assert not np.isnan(columns).any()
    values = np.concatenate([columns, EXTRA], axis=1).astype(np.float64)
    codes = np.digitize(values, [-0.6, -0.1, 0.3, 0.8]).astype(np.uint8)
    rows = np.flatnonzero(rng.random(42) < 0.7).astype(np.int32)
    return matrix, values, codes, rows


@pytest.fixture
def clustered(table):
    """Labels of all vertices, the last label isolated, and the clusters of the node of the rows."""
    label_of = np.random.default_rng(5).integers(0, 4, size=42).astype(np.uint16)
    weights, degrees, counted = (
        np.array([1, 3, 2, 0]),
        np.array([9, 8, 5, 0]),
        np.array([1, 1, 1, 0]),
    )
    totals = np.bincount(label_of[table[3]], minlength=4)
    return label_of, np.stack([totals, weights, degrees, counted])


@pytest.fixture(
    params=[(np.uint8, 3), (np.uint8, 127), (np.int64, 2**62)], ids=["few", "bytes", "integers"]
)
def joined(request, table):
    """A weighted graph on all vertices, what these add to sums, and the neighbours inside the node."""
    dtype, most = request.param
    rng = np.random.default_rng(7)
    adjacency = np.triu(rng.integers(1, 4, size=(42, 42)) * (rng.random((42, 42)) < 0.3), 1)
    adjacency += adjacency.T
    loops = 2 * (np.arange(42) % 3) * (np.arange(42) < 40)
    vertices = np.stack(
        [adjacency.sum(axis=1) + loops, np.arange(42) >= 40, np.arange(42) < 40, loops]
    ).astype(np.int64)
    return adjacency, vertices, neighbors_of(adjacency, table[3], dtype), most
