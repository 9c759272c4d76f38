"""Tables: columns and their kinds, what they sum up, and what later edits of the caller's array do to them."""

import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest

from gpu.twins import TwinKernels
from spexplain import SpexClique
from spexplain.kernels.groups import sum_groups
from spexplain.table import checks, device, host
from spexplain.table.coding import MISSING, bin_table, binning_of, code
from spexplain.table.columns import Column, column_numbers, kinds_of
from spexplain.table.device import DeviceTable
from spexplain.table.host import HostTable
from spexplain.table.read import read_rows, read_table
from spexplain.table.storage import engine_of
from spexplain.table.views import SearchColumns, SearchedMatrix
from spexplain.threads import Threads

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] > 0).astype(int)


def estimator():
    return SpexClique()


# --- Columns --------------------------------------------------------------------------------------


FRAME = {"age": [30, 41], "tall": [True, False], "size": [1.5, 1.25]}


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_columns_have_names_and_kinds(library):
    table = read_table(library.DataFrame(FRAME), estimator())
    assert table.columns == (
        Column("age", "whole"),
        Column("tall", "boolean"),
        Column("size", "number"),
    )
    assert table.select([2, 0]).columns == (Column("size", "number"), Column("age", "whole"))
    assert table.column_numbers(["size", "age"]).tolist() == [0, 2]


def test_kinds_of_other_tables():
    dates = pd.DataFrame({"day": pd.to_datetime(["2020-01-01", "2021-01-01"]), "word": ["a", "b"]})
    assert kinds_of(dates) == ("date", "category")
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"])
    assert kinds_of(twice) == "number"
    pa = pytest.importorskip("pyarrow")
    arrow = pa.table({"a": [1, 2, 5, 6], "b": [0.5, 1.5, 2.5, 3.5]})
    assert kinds_of(arrow) == ("whole", "number")
    assert SpexClique().fit(arrow, [0, 0, 1, 1]).predict(arrow).tolist() == [0, 0, 1, 1]
    for dtype, kind in ((bool, "boolean"), (np.int8, "whole"), (np.float32, "number")):
        table = read_table(np.arange(6).reshape(3, 2).astype(dtype), estimator())
        assert table.columns == (Column("x0", kind), Column("x1", kind))
    assert read_table([[1, 2], [3, 4]], estimator()).columns[0] == Column("x0")


def test_columns_by_name_or_number():
    assert column_numbers(None, None, 3).tolist() == [0, 1, 2]
    assert column_numbers([2, "a", 2], ["a", "b", "c"], 3).tolist() == [0, 2]
    with pytest.raises(ValueError, match="unknown column 'd'"):
        column_numbers(["d"], ["a"], 1)


# --- Values ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_first_flaw_of_large_tables(monkeypatch, order, dtype):
    monkeypatch.setattr(checks, "_BLOCK", 16)
    table = np.asarray(X, dtype=dtype, order=order).copy(order=order)
    for n_jobs in (1, 2):
        seen = checks.check_finite(table, watched=True, n_jobs=n_jobs)
        assert seen == (checks.checksum(table), False, None)
    assert checks.check_finite(table)[:2] == ((), False)
    table[50, 0] = table[41, 2] = np.nan
    with pytest.raises(
        ValueError, match=r"^X contains NaN or infinity, first in row 41, column 2;"
    ):
        checks.check_finite(table)
    for n_jobs in (1, 2):
        assert checks.check_finite(table, allow_missing=True, n_jobs=n_jobs)[:2] == ((), True)
    with pytest.raises(ValueError, match="row 141, column 'c'"):
        checks.check_finite(table, ["a", "b", "c"], first_row=100)
    with pytest.raises(ValueError, match="row 41 of a partition, column 2"):
        checks.check_finite(table, first_row=None)


def test_values_whose_sum_is_infinite_are_finite():
    huge = np.full((8, 2), 3e38, dtype=np.float32)
    checks.check_finite(huge, n_jobs=2)
    checks.check_finite(np.full((8, 2), 1.7e308))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (7, 2), (1003, 33)])
@pytest.mark.parametrize("is_compiled", [False, True])
def test_what_columns_hold_apart_from_missing_values(monkeypatch, order, shape, is_compiled):
    monkeypatch.setattr(checks, "compiled_pays", lambda *_: is_compiled)
    monkeypatch.setattr(checks, "_BLOCK", 1000)
    rng = np.random.default_rng(0)
    X = np.asarray(rng.integers(-99, 99, size=shape).astype(np.float32), order=order)
    X[rng.random(shape) < 0.3] = np.nan
    X[:, 0] = np.nan
    is_known = ~np.isnan(X)
    for threads in (None, Threads(2)):
        found = checks.known_values(X, threads)
        assert np.array_equal(found.n_known, is_known.sum(axis=0))
        assert np.array_equal(found.sums, np.where(is_known, X, 0).sum(axis=0))
        assert np.array_equal(found.low, np.where(is_known, X, np.inf).min(axis=0))
        assert np.array_equal(found.high, np.where(is_known, X, -np.inf).max(axis=0))


@pytest.mark.parametrize("small", [True, False], ids=["small", "large"])
def test_sums_by_leaf_and_cluster(monkeypatch, small):
    monkeypatch.setattr(host, "compiled_pays", lambda n_values, kernel: not small)
    table = HostTable(X)
    leaves, codes = RNG.integers(0, 3, 60), RNG.integers(-1, 2, 60)
    for one_pass in (True, False):
        monkeypatch.setattr(HostTable, "holds", lambda self, n_pairs: one_pass)  # noqa: B023
        counts, by_leaf, by_cluster, origin = table.margins(leaves, codes, (3, 2))
        for groups, sums in ((leaves, by_leaf), (codes, by_cluster)):
            for group, size in enumerate(sums.counts):
                rows = X[(groups == group) & (codes >= 0)] - origin
                assert size == len(rows)
                np.testing.assert_allclose(sums.sums[group], rows.sum(axis=0), atol=1e-12)
                assert sums.squares[group] == pytest.approx(np.sum(rows**2))
        assert counts.sum(axis=0).tolist() == by_cluster.counts.tolist()


def test_scales_of_constant_and_of_huge_columns():
    table = HostTable(np.array([[1.0, 5.0, 1e300], [1.0, 7.0, -1e300]]))
    assert table.scales(np.array([0, 2])).tolist() == [
        0.0,
        pytest.approx(np.nan, nan_ok=True),
        1e300,
    ]


def test_no_number_gets_the_code_for_missing_values():
    values = np.arange(3000.0).reshape(1000, 3)
    matrix = SearchedMatrix.of(values)
    codes = bin_table(matrix, np.empty((3, 0)), 255, Threads(1), row_major=False).codes
    assert codes.max() < MISSING
    ends = np.array([[-1.7e308] * 3, [1.7e308] * 3])
    assert code(ends, binning_of(np.sort(values.T), 255)).max() < MISSING


def test_engines_for_tables_elsewhere():
    da = pytest.importorskip("dask.array")
    assert engine_of(X) is None
    assert engine_of(HostTable(X)) is None
    assert engine_of(da.from_array(X)) == "dask"
    assert engine_of(on_device(X)) == "cupy"


# --- Later edits ----------------------------------------------------------------------------------


def test_a_remembered_table_does_not_follow_edits():
    table = X.copy()
    fitted = SpexClique().fit(table, Y)
    facts = fitted.summary()
    table[:] = 0
    assert fitted.summary() == facts
    frame = pd.DataFrame(X, columns=list("abc"))
    fitted = SpexClique().fit(frame, Y)
    facts = fitted.summary()
    frame.iloc[:, 0] = 5.0
    assert fitted.summary() == facts


def test_what_belongs_to_nobody_else_is_not_copied(monkeypatch):
    monkeypatch.setattr(HostTable, "kept", lambda self, seen: 1 / 0)
    read_table(X.tolist(), estimator())
    read_table(np.arange(6).reshape(3, 2), estimator())
    with pytest.raises(ZeroDivisionError):
        read_table(X, estimator())


@pytest.mark.parametrize("order", ["C", "F", "view"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_changes_of_a_large_table_are_noticed(monkeypatch, order, dtype):
    monkeypatch.setattr(host, "_COPIED", 0)
    monkeypatch.setattr(checks, "_BLOCK", 16)
    whole = np.repeat(X, 2, axis=0).astype(dtype)
    table = whole[::2] if order == "view" else np.array(whole[::2], order=order)
    fitted = SpexClique().fit(table, Y)
    assert fitted.explanation_.training.table.values is table
    facts = fitted.summary()
    for edit in (
        lambda: table.__setitem__((40, 1), table[40, 1] + 1),
        lambda: table.__setitem__(slice(None), table[::-1].copy()),
        lambda: table.__setitem__((3, 0), -table[3, 0]),
    ):
        before = table.copy(order="K")
        edit()
        with pytest.raises(ValueError, match="has changed since; pass the training rows as X"):
            fitted.summary()
        assert fitted.summary(before) == facts
        table[:] = before
    assert fitted.summary() == facts


# --- Tables on a device, with NumPy in place of CuPy ----------------------------------------------


class StandIn(np.ndarray):
    """An array that looks like one of CuPy."""

    def get(self):
        return np.array(self, copy=True).view(np.ndarray)


StandIn.__module__ = "cupy"


def on_device(values):
    return np.array(values).view(StandIn)


@pytest.fixture(autouse=True)
def twins(monkeypatch):
    """Where there is no GPU, kernels that do the same in NumPy."""
    monkeypatch.setattr(device, "_kernels_for", lambda X: TwinKernels())


def test_device_tables_are_checked_where_they_are(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(asarray=on_device))
    table = read_table(on_device(X), estimator())
    assert isinstance(table, DeviceTable)
    assert (table.engine, table.shape, table.size) == ("cupy", (60, 3), 180)
    assert table.columns == tuple(Column(name) for name in ("x0", "x1", "x2"))
    assert table.select([2]).values.tolist() == X[:, [2]].tolist()
    assert table.origin.tolist() == X[0].tolist()
    features = np.array([0, 2])
    np.testing.assert_allclose(table.scales(features), HostTable(X).scales(features))
    codes = (X[:, 1] > 0).astype(int)
    for cost in ("kmeans", "kmedians"):
        centers = table.centers(codes, 2, cost)
        assert centers.tolist() == HostTable(X).centers(codes, 2, cost).tolist()
        nearest = HostTable(X).nearest(centers, cost)
        assert table.nearest(centers, cost).tolist() == nearest.tolist()
    assert table.reference(on_device(codes)).codes.tolist() == codes.tolist()
    assert table.fetch(on_device(codes)).tolist() == codes.tolist()
    for flawed, words in (
        (np.where(X[7, 1] == X, np.inf, X), "contains infinity, first in row 7, column 1"),
        (np.ones((5, 2)), "constant"),
        (X[:1], "1 sample"),
        (X[0], "two dimensions"),
        (X * 1j, "real numbers"),
    ):
        with pytest.raises(ValueError, match=words):
            read_table(on_device(flawed), estimator())
    lacking = on_device(np.where(X[7, 1] == X, np.nan, X))
    assert [each.has_missing for each in read_table(lacking, estimator()).columns] == [
        False,
        True,
        False,
    ]
    with pytest.raises(ValueError, match="NaN or infinity, first in row 7, column 1"):
        read_table(lacking, SpexClique(missing="error"))


def test_methods_that_need_the_host_get_a_copy(caplog):
    caplog.set_level("INFO", logger="spexplain")
    table = read_table(on_device(X.astype(np.float32)), SpexClique(engine="histogram"))
    assert isinstance(table, HostTable)
    assert "[SpexClique] works on a copy of X on the host" in caplog.text


def test_edits_of_device_tables(monkeypatch):
    given = on_device(X)
    small = read_table(given, estimator())
    monkeypatch.setattr(device, "_COPIED", 0)
    large = read_table(given, estimator())
    assert large.training_rows().tolist() == X.tolist()
    given[:] = given[::-1].copy()
    assert small.training_rows().tolist() == X.tolist()
    with pytest.raises(ValueError, match="has changed since"):
        large.training_rows()


def test_rows_on_a_device_must_have_the_known_columns():
    fitted = SpexClique().fit(pd.DataFrame(X, columns=list("abc")), Y)
    assert read_rows(on_device(X), fitted).to_host().tolist() == X.tolist()
    with pytest.raises(ValueError, match="expecting 3 features"):
        read_rows(on_device(X[:, :2]), fitted)
    tested = fitted.explanation_.used[0]
    infinite = np.where(X[3, tested] == X, np.inf, X)
    with pytest.raises(ValueError, match=f"infinity, first in row 3, column '{'abc'[tested]}'"):
        read_rows(on_device(infinite), fitted)
    frame = pd.DataFrame({"where": np.where(Y == 0, "here", "there"), "b": X[:, 1], "c": X[:, 2]})
    by_place = SpexClique(2, features=["where"]).fit(frame, Y)
    with pytest.raises(ValueError, match="tests the category 'where'; pass a data frame"):
        read_rows(on_device(X), by_place)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_device_tables_with_gaps_are_searched_as_those_of_the_host(dtype):
    gaps = X.astype(dtype)
    gaps[::7, 1], gaps[:, 2] = np.nan, np.arange(60) % 2
    table, twin = (read_table(each, estimator()) for each in (on_device(gaps), gaps))
    assert isinstance(table, DeviceTable)
    assert table.columns == twin.columns
    for columns in (np.arange(3), np.array([1])):
        found, expected = (
            SearchColumns.of(each, columns, one_by_one=False) for each in (table, twin)
        )
        assert found.views == expected.views
        assert found.matrix.dtype == dtype
        np.testing.assert_array_equal(found.matrix, expected.matrix.written_out())
    np.testing.assert_array_equal(table.as_points().values, twin.as_points().values)
    np.testing.assert_allclose(table.scales(np.arange(3)), twin.scales(np.arange(3)))
    assert table.coordinates.scale.tolist() == twin.coordinates.scale.tolist()
    assert table.select([1]).columns == (table.columns[1],)


def test_zeros_and_ones_on_a_device_are_flags():
    whole = np.column_stack([np.arange(60) % 2, np.arange(60) % 3])
    table, twin = (read_table(each, estimator()) for each in (on_device(whole), whole))
    assert table.settled_columns([0, 1]) == twin.settled_columns([0, 1])
    assert [each.kind for each in table.settled_columns([0])] == ["flag", "whole"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_of_groups_with_and_without_compiled_code(monkeypatch, dtype):
    """Both add up the same numbers in the same order; rows may be missing values or without a group."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 7)).astype(dtype)
    X[rng.random(X.shape) < 0.2] = np.nan
    origin, filling, groups = rng.normal(size=7), rng.normal(size=7), rng.integers(-1, 4, 300)
    monkeypatch.setattr(host, "_AT_A_TIME", 64)  # several pieces
    found, expected = np.zeros((2, 2, 5, 7))
    host._sum_groups(X, origin, filling, groups, *found)
    sum_groups(X, origin, filling, groups, *expected)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    assert not found[:, 4].any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_frames_keep_the_width_of_their_floats(dtype):
    """A frame of short floats takes no more memory than it had."""
    values = RNG.normal(size=(30, 3)).astype(dtype)
    values[3, 1] = np.nan
    for frame in (pl.DataFrame(values), pd.DataFrame(values)):
        table = read_table(frame, SpexClique())
        assert table.values.dtype == dtype
        assert np.array_equal(table.values, values, equal_nan=True)
