"""Nearest neighbours: exact whoever finds the candidates, shared, and approximate on request."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spexplain import SpexGraph, SpexKNN
from spexplain.graphs import Neighbors, nearest_neighbors, neighbor_search, neighbors
from spexplain.kernels.nearest import order_blocks
from spexplain.references.spectral import SpectralReference
from strategies import tables

faiss = pytest.importorskip("faiss", reason="faiss is not installed")


def brute_force(X: np.ndarray, k: int) -> np.ndarray:
    distances = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    return np.argsort(np.round(distances, 9), axis=1, kind="stable")[:, :k]


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_faiss_candidates_give_the_exact_neighbours(
    offset: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    X = (
        rng.integers(0, 3, size=(120, 20)) + offset
    )  # many equidistant rows, beyond float32's digits
    monkeypatch.setattr(neighbor_search, "MANY_ROWS", 1)
    monkeypatch.setattr(neighbor_search, "_FEW_COLUMNS", 0)
    assert nearest_neighbors(X, 5).tolist() == brute_force(X, 5).tolist()


@given(
    X=tables(min_rows=4, max_rows=150, max_columns=5),
    n_neighbors=st.integers(1, 3),
    offset=st.sampled_from([0.0, 1e4, -1e9]),
    outlier=st.sampled_from([0.0, 1e6, 1e15]),
)
def test_blocks_give_the_exact_neighbours(X, n_neighbors, offset, outlier) -> None:
    X = X.astype(np.float64) + offset
    X[-1, 0] += outlier
    with (
        patch.object(neighbor_search, "MANY_ROWS", 1),
        patch.object(neighbors, "MANY_ROWS", 1),
    ):
        found = nearest_neighbors(X, n_neighbors)
    assert found.tolist() == nearest_neighbors(X, n_neighbors).tolist()
    if not outlier:  # all distances from an outlier agree to ten digits
        assert found.tolist() == brute_force(X, n_neighbors).tolist()


@pytest.mark.parametrize("n_columns", [1, 2, 3, 20, 64])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_blocks_of_a_large_table(n_columns: int, n_jobs: int) -> None:
    rng = np.random.default_rng(n_columns)
    X = rng.normal(size=(3_000, n_columns)) + 6 * rng.integers(0, 4, size=(3_000, 1))
    X[1::7] = X[::7][: len(X[1::7])]  # duplicates
    points = neighbors.standardized(X)
    search = neighbor_search.block_searcher(points, n_jobs)
    rows = rng.permutation(3_000)[:500]
    candidates = search.candidates(rows, 30)
    gaps = ((points[rows, None] - points[None]) ** 2).sum(axis=2)
    furthest = np.sort(gaps, axis=1)[:, 29]
    found = np.take_along_axis(gaps, candidates.astype(np.int64), axis=1)
    assert all(len(set(each)) == 30 for each in candidates.tolist())
    assert np.all(found.max(axis=1) <= furthest + 2 * search.error(rows, furthest))


@pytest.mark.parametrize("n_columns", [4, 12])
def test_distances_of_boxes(n_columns: int) -> None:
    ends = np.random.default_rng(n_columns).normal(size=(2, 9, n_columns)).astype(np.float32)
    low, high = ends.min(axis=0), ends.max(axis=0) - 0.5
    high = np.maximum(low, high)
    for own in range(9):
        gaps = np.maximum(np.maximum(low[own] - high, low - high[own]), 0)
        found = np.empty(9, dtype=np.float32)
        order_blocks(low, high, own, found)
        np.testing.assert_allclose(found, (gaps**2).sum(axis=1), rtol=1e-5)


@given(data=st.data(), X=tables(min_rows=3, max_rows=30, max_columns=5))
def test_candidates_are_ranked_alike_compiled_or_not(data, X) -> None:
    points, n = X.astype(np.float64) / 3, len(X)
    rows = np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=5)))
    others = [data.draw(st.permutations(range(n))) for _ in rows]
    candidates = np.array(others)
    candidates[:, -1] = data.draw(st.sampled_from([-1, candidates[0, -1]])) if n > 3 else -1
    n_neighbors = data.draw(st.integers(1, n - 2))
    compiled = neighbors._rank_compiled(points, rows, candidates, n_neighbors)
    plain = neighbors.rank_candidates(points, rows, candidates, n_neighbors)
    for a, b in zip(compiled, plain, strict=True):
        np.testing.assert_array_equal(a, b)


def test_duplicates_are_neighbours_of_each_other() -> None:
    X = np.zeros((50, 2))
    X[0] = 9
    found = nearest_neighbors(X, 3)
    assert found[1].tolist() == [2, 3, 4]
    assert found[49].tolist() == [1, 2, 3]
    assert found[0].tolist() == [1, 2, 3]


def test_neighbours_are_shared_by_graph_and_spectral_reference() -> None:
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(size=(60, 3)), rng.normal(size=(60, 3)) + 4])
    shared = Neighbors.of(X, 20)
    own, given = SpexKNN(2).fit(X), SpexKNN(2, n_neighbors=shared).fit(X)
    assert own.tree_ == given.tree_
    assert SpexGraph(2, graph=shared.graph()).fit(X).tree_ == own.tree_
    alone = SpectralReference(2, random_state=0).fit_predict(X)
    assert (
        SpectralReference(2, neighbors=shared, random_state=0).fit_predict(X).tolist()
        == alone.tolist()
    )


def test_neighbours_of_other_rows_are_refused() -> None:
    shared = Neighbors.of(np.arange(10.0)[:, None], 3)
    with pytest.raises(ValueError, match="n_neighbors has 10 vertices, but X has 4 rows"):
        SpexKNN(2, n_neighbors=shared).fit(np.arange(4.0)[:, None])


def test_approximate_search_reports_its_recall() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(3000, 24))
    near = Neighbors.of(X, 10, approximate=True)
    exact = Neighbors.of(X, 10)
    assert exact.recall == 1.0
    hits = np.mean(
        [len(set(a) & set(b)) / 10 for a, b in zip(near.indices, exact.indices, strict=True)]
    )
    assert 0.1 < hits < 1.0
    assert near.recall == pytest.approx(hits, abs=0.05)
    explainer = SpexKNN(3, approximate=True).fit(X)
    assert 0 < explainer.recall_ <= 1


def test_approximate_search_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbor_search, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r'pip install "spexplain\[knn\]"'):
        Neighbors.of(np.arange(10.0)[:, None], 2, approximate=True)
