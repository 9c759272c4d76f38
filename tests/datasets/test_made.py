"""Datasets without files, and wrong calls."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import sklearn.datasets
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from served import (
    check_bunch,
    is_sentence,
    same,
)
from spexplain import datasets
from spexplain.datasets.registry import EMBEDDINGS, TABLES


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("iris", (150, 4, 3)),
        ("iris-uci", (150, 4, 3)),
        ("cancer", (569, 30, 2)),
        ("two_moons", (500, 2, 2)),
        ("three_clusters", (500, 2, 3)),
    ],
)
def test_datasets_without_files(name: str, shape: tuple[int, int, int]) -> None:
    dataset = datasets.load(name)
    check_bunch(dataset, *shape)
    assert dataset.data.dtype == np.float64
    assert same(dataset, datasets.load(name))


def test_iris_is_scikit_learns() -> None:
    np.testing.assert_array_equal(datasets.load("iris").data, sklearn.datasets.load_iris().data)


def test_iris_uci_differs_in_two_rows() -> None:
    uci, iris = datasets.load("iris-uci").data, datasets.load("iris").data
    assert np.flatnonzero((uci != iris).any(axis=1)).tolist() == [34, 37]
    assert uci[[34, 37]].tolist() == [[4.9, 3.1, 1.5, 0.1]] * 2


def test_two_moons_is_scikit_learns() -> None:
    X, y = sklearn.datasets.make_moons(120, noise=0.2, random_state=3)
    moons = datasets.two_moons(120, noise=0.2, random_state=3)
    np.testing.assert_array_equal(moons.data, X)
    np.testing.assert_array_equal(moons.target, y)
    assert same(moons, datasets.load("two_moons", n_samples=120, noise=0.2, random_state=3))


def test_seeds_matter() -> None:
    for make in (datasets.two_moons, datasets.three_clusters):
        assert not np.array_equal(make().data, make(random_state=1).data)


def best_spex_clique_cut(
    X: np.ndarray, y: np.ndarray, leaves: list[np.ndarray]
) -> tuple[float, int, int, float]:
    """Try every cut of every leaf: the least score, and its leaf, feature and threshold."""
    sizes = np.bincount(y)

    def conductance(rows: np.ndarray) -> float:
        counts = np.bincount(y[rows], minlength=len(sizes))
        return float((counts * (sizes - counts)).sum() / (counts * (sizes - 1)).sum())

    best = (np.inf, -1, -1, np.nan)
    for leaf, rows in enumerate(leaves):
        for feature in range(X.shape[1]):
            values = np.unique(X[rows, feature])
            for threshold in (values[1:] + values[:-1]) / 2:
                left = X[rows, feature] <= threshold
                score = conductance(rows[left]) + conductance(rows[~left])
                best = min(best, (score, leaf, feature, float(threshold)))
    return best


def mistakes(y: np.ndarray, leaf_of_row: np.ndarray) -> int:
    leaves = [np.bincount(y[leaf_of_row == leaf]) for leaf in np.unique(leaf_of_row)]
    return int(sum(counts.sum() - counts.max() for counts in leaves))


@settings(max_examples=15, deadline=None)
@given(n_samples=st.integers(30, 400), seed=st.integers(0, 2**32 - 1))
def test_three_clusters_misleads_gini_but_not_spex(n_samples: int, seed: int) -> None:
    dataset = datasets.three_clusters(n_samples, random_state=seed)
    check_bunch(dataset, n_samples, 2, 3)
    X, y = dataset.data, dataset.target

    cart = DecisionTreeClassifier(max_leaf_nodes=3, random_state=0).fit(X, y)
    assert cart.tree_.feature[0] == 0
    assert mistakes(y, cart.apply(X)) > 0

    leaves = [np.arange(n_samples)]
    for expected_feature in (1, 0):
        score, leaf, feature, threshold = best_spex_clique_cut(X, y, leaves)
        assert score == 0
        assert feature == expected_feature
        rows = leaves.pop(leaf)
        left = X[rows, feature] <= threshold
        leaves += [rows[left], rows[~left]]
    assert [len(set(y[rows])) for rows in leaves] == [1, 1, 1]


def test_three_clusters_default_has_many_mistakes() -> None:
    X, y = (dataset := datasets.three_clusters()).data, dataset.target
    cart = DecisionTreeClassifier(max_leaf_nodes=3, random_state=0).fit(X, y)
    assert mistakes(y, cart.apply(X)) >= 10


def test_three_clusters_too_small() -> None:
    with pytest.raises(ValueError, match="at least 30, got 29") as caught:
        datasets.three_clusters(29)
    assert is_sentence(caught.value)


def test_unknown_name_lists_and_suggests() -> None:
    with pytest.raises(ValueError, match=r"'Ecolli' \(did you mean 'ecoli'\?\)") as caught:
        datasets.load("Ecolli")
    assert is_sentence(caught.value)
    for name in ("iris", "iris-uci", "cancer", "two_moons", "three_clusters", *TABLES, *EMBEDDINGS):
        assert name in str(caught.value)


def test_unknown_name_without_likeness() -> None:
    with pytest.raises(ValueError, match="no dataset 'zzz', only iris") as caught:
        datasets.load("zzz")
    assert is_sentence(caught.value)


@pytest.mark.parametrize("name", ["iris", "two_moons", "r15", "cifar10"])
def test_full_elsewhere(name: str) -> None:
    with pytest.raises(ValueError, match="full=True applies to 'ecoli' only") as caught:
        datasets.load(name, full=True)
    assert is_sentence(caught.value)


def test_options_elsewhere() -> None:
    with pytest.raises(TypeError, match="'iris' has no parameter 'n_samples'") as caught:
        datasets.load("iris", n_samples=10)
    assert is_sentence(caught.value)


def test_import_is_light() -> None:
    code = (
        "import sys, spexplain.datasets; "
        "assert not {'pooch', 'sklearn.datasets'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
