"""Nearest neighbours: exact whoever finds the candidates, shared, and approximate on request."""

import numpy as np
import pytest

from spexplain import SpexGraph, SpexKNN
from spexplain.graphs import Neighbors, nearest_neighbors, neighbor_search
from spexplain.references.spectral import SpectralReference

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
    monkeypatch.setattr(neighbor_search, "_MANY_ROWS", 1)
    assert nearest_neighbors(X, 5).tolist() == brute_force(X, 5).tolist()


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
