"""Costs and prices of clusterings against explicit sums, and the order of the three conventions."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel

from oracles import certificates as oracle
from spexplain import metrics
from spexplain.metrics import clustering_cost, price, price_of_explainability
from spexplain.metrics.price import gaussian_kernel

POINT_COSTS = ["kmeans", "kmedians"]


@st.composite
def clusterings(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Small tables with many duplicates, tree labels and reference labels; singletons are common."""
    n_rows, n_columns = draw(st.integers(1, 9)), draw(st.integers(1, 3))
    values = st.integers(0, 2) | st.integers(-50, 50)
    rows = st.lists(values, min_size=n_columns, max_size=n_columns)
    X = np.array(draw(st.lists(rows, min_size=n_rows, max_size=n_rows)), dtype=float) / 8
    labels = st.lists(st.integers(0, 4), min_size=n_rows, max_size=n_rows)
    return X, np.array(draw(labels)), np.array(draw(labels))


def expected_price(
    X: np.ndarray, labels: np.ndarray, reference: np.ndarray, cost: str, convention: str
) -> float:
    """X is the kernel matrix for kernel k-means; leaf label i stands for centre i mod k."""
    alone, served = oracle.serving_costs(X, labels, reference, cost)
    own, by_own = oracle.serving_costs(X, reference, reference, cost)
    k = len(own)
    if convention == "reoptimized":
        above, below = sum(alone.values()), sum(own.values())
    elif convention == "reference":
        above, below = sum(map(min, served.values())), sum(map(min, by_own.values()))
    else:
        above = sum(served[label][label % k] for label in served)
        below = sum(by_own[label][i] for i, label in enumerate(sorted(by_own)))
    if below < 1e-9:
        return 1.0 if above < 1e-9 else inf
    return above / below


def leaf_centers_for(reference: np.ndarray) -> list[int]:
    return [label % len(np.unique(reference)) for label in range(5)]


@pytest.mark.parametrize("convention", ["reference", "own", "reoptimized"])
@pytest.mark.parametrize("cost", POINT_COSTS)
@given(clusterings())
def test_prices_equal_explicit_sums(
    cost: str, convention: str, case: tuple[np.ndarray, np.ndarray, np.ndarray]
) -> None:
    X, labels, reference = case
    found = price_of_explainability(
        X,
        labels,
        reference,
        cost=cost,
        convention=convention,
        leaf_centers=leaf_centers_for(reference),
    )
    assert found == pytest.approx(expected_price(X, labels, reference, cost, convention))


@pytest.mark.parametrize("convention", ["reference", "own", "reoptimized"])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "linear", "polynomial"])
@given(clusterings())
def test_kernel_prices_equal_explicit_sums(
    kernel: str, convention: str, case: tuple[np.ndarray, np.ndarray, np.ndarray]
) -> None:
    X, labels, reference = case
    found = price_of_explainability(
        X,
        labels,
        reference,
        cost="kernel_kmeans",
        kernel=kernel,
        gamma=0.7,
        convention=convention,
        leaf_centers=leaf_centers_for(reference),
    )
    K = pairwise_kernels(X, metric=kernel, filter_params=True, gamma=0.7)
    expected = expected_price(K, labels, reference, "kernel_kmeans", convention)
    assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("cost", [*POINT_COSTS, "kernel_kmeans"])
@given(clusterings())
def test_conventions_are_ordered(
    cost: str, case: tuple[np.ndarray, np.ndarray, np.ndarray]
) -> None:
    X, labels, reference = case

    def price(convention: str) -> float:
        return price_of_explainability(
            X,
            labels,
            reference,
            cost=cost,
            convention=convention,
            leaf_centers=leaf_centers_for(reference),
        )

    assert price("own") >= price("reference") * (1 - 1e-9)
    assert price("reoptimized") <= price("reference") * (1 + 1e-9)


@pytest.mark.parametrize("cost", [*POINT_COSTS, "kernel_kmeans"])
@pytest.mark.parametrize("convention", ["reference", "reoptimized"])
@given(clusterings())
def test_the_reference_itself_has_price_one(
    cost: str, convention: str, case: tuple[np.ndarray, np.ndarray, np.ndarray]
) -> None:
    X, _, reference = case
    renamed = np.array(["e", "d", "c", "b", "a"])[reference]
    found = price_of_explainability(X, renamed, reference, cost=cost, convention=convention)
    assert found == pytest.approx(1, rel=1e-9)


@pytest.mark.parametrize("cost", [*POINT_COSTS, "kernel_kmeans"])
def test_a_reference_without_cost_has_price_one_or_infinity(cost: str) -> None:
    # 0.1 is no binary fraction: means of equal rows must not leave rounding behind.
    X = np.repeat([[0.1, 0.7], [0.3, 1e6 / 3], [-0.7, 0.1]], 3, axis=0)
    reference = np.repeat([0, 1, 2], 3)
    assert price_of_explainability(X, reference, reference, cost=cost) == 1.0
    assert price_of_explainability(X, np.arange(9), reference, cost=cost) == 1.0
    merged = np.repeat([0, 0, 1], 3)
    assert price_of_explainability(X, merged, reference, cost=cost) == inf
    assert clustering_cost(X, reference, cost=cost) == 0.0


def test_linear_kernel_k_means_is_k_means_even_far_from_the_origin() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) + 1e5
    labels, reference = rng.integers(0, 5, 60), rng.integers(0, 3, 60)
    for convention in ("reference", "reoptimized"):
        expected = price_of_explainability(X, labels, reference, convention=convention)
        found = price_of_explainability(
            X, labels, reference, cost="kernel_kmeans", kernel="linear", convention=convention
        )
        assert found == pytest.approx(expected, rel=1e-9)


def test_blocks_of_the_kernel_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    X, labels, reference = rng.normal(size=(50, 2)), rng.integers(0, 4, 50), rng.integers(0, 3, 50)

    def prices() -> list[float]:
        return [
            price_of_explainability(X, labels, reference, cost="kernel_kmeans"),
            clustering_cost(X, labels, cost="kernel_kmeans"),
        ]

    whole = prices()
    monkeypatch.setattr(price, "_BLOCK", 170)
    np.testing.assert_allclose(prices(), whole, rtol=1e-12)


def test_kernels_may_be_names_functions_or_matrices() -> None:
    rng = np.random.default_rng(2)
    X, labels, reference = rng.normal(size=(30, 4)), rng.integers(0, 4, 30), rng.integers(0, 3, 30)
    heights = []

    def function(rows: np.ndarray, others: np.ndarray, scale: float = 1.0) -> np.ndarray:
        heights.append(rows.shape[0])
        return rbf_kernel(rows, others, gamma=scale)

    def price(X: np.ndarray, **options: object) -> float:
        return price_of_explainability(X, labels, reference, cost="kernel_kmeans", **options)

    expected = price(X, gamma=0.3)
    assert price(X, kernel="rbf", gamma=0.3) == expected
    assert price(X, kernel=function, kernel_params={"scale": 0.3}) == pytest.approx(expected)
    assert price(rbf_kernel(X, gamma=0.3), kernel="precomputed") == pytest.approx(expected)
    assert price(X) == pytest.approx(price(X, gamma=1 / 4))
    assert sum(heights) == 30
    cubic = {"degree": 3, "coef0": 0.5}
    matrix = pairwise_kernels(X, metric="polynomial", gamma=0.2, **cubic)
    assert price(X, kernel="polynomial", gamma=0.2, kernel_params=cubic) == pytest.approx(
        price(matrix, kernel="precomputed")
    )


def test_given_centres_serve_both_sides() -> None:
    X, tree, reference = np.array([[0.0], [2.0], [6.0], [8.0]]), [0, 1, 1, 1], [0, 0, 1, 1]
    centers = [[0.0], [8.0]]
    # Row 2 goes with the right leaf: as a whole, it is served by 8.
    assert price_of_explainability(X, tree, reference, centers=centers) == (36 + 4) / (4 + 4)
    assert clustering_cost(X, tree, centers=centers) == 40.0
    assert clustering_cost(X, tree, centers=centers, cost="kmedians") == 8.0


def test_own_centres_follow_the_labels_numbers() -> None:
    X = np.array([[0.0], [1.0], [9.0], [9.0]])
    centers = np.array([[0.0], [5.0], [9.0]])  # no row has centre 1

    def price(labels: object, reference: object, leaf_centers: object) -> float:
        return price_of_explainability(
            X,
            labels,
            reference,
            cost="kmedians",
            convention="own",
            centers=centers,
            leaf_centers=leaf_centers,
        )

    assert price([0, 0, 1, 1], [0, 0, 2, 2], [0, 2]) == 1.0
    assert price([0, 1, 1, 1], [0, 0, 2, 2], [0, 2]) == 8.0
    assert price([0, 1, 1, 1], [0, 0, 2, 2], {0: 0, 1: 2}) == 8.0
    assert price(["l", "r", "r", "r"], [0, 0, 2, 2], {"l": 0, "r": 1}) == 12.0
    assert price([0, 0, 1, 1], ["a", "b", "c", "c"], [0, 2]) == 1 / 4
    with pytest.raises(ValueError, match="must be the numbers of their centres, 0 to 2"):
        price([0, 0, 1, 1], ["a", "a", "c", "c"], [0, 2])


def test_float32_and_frames_are_welcome() -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(3)
    X = rng.integers(0, 9, (20, 2)).astype(np.float32)
    labels, reference = rng.integers(0, 4, 20), rng.integers(0, 3, 20)
    expected = price_of_explainability(X.astype(float), labels, reference)
    assert price_of_explainability(X, labels, reference) == expected
    assert price_of_explainability(pd.DataFrame(X), labels, reference) == expected
    assert price_of_explainability(X.astype(int), labels.tolist(), reference) == expected


def test_public_names() -> None:
    assert set(metrics.__all__) >= {
        "Agreement",
        "agreement",
        "clustering_cost",
        "conductance",
        "multiway_cut",
        "price_of_explainability",
        "sparsity",
        "weighted_average_depth",
        "weighted_average_explanation_size",
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cost": "median"}, 'cost=\'median\' must be "kmeans", "kmedians" or'),
        ({"convention": "best"}, "convention='best' must be"),
        ({"convention": "own"}, 'leaf_centers is needed for convention="own"'),
        ({"convention": "own", "leaf_centers": [0]}, "entry for every label"),
        ({"convention": "own", "leaf_centers": [0, 2]}, "numbers of centres, 0 to 1"),
        ({"convention": "own", "leaf_centers": [0.0, 1.0]}, "numbers of centres, 0 to 1"),
        (
            {"convention": "own", "leaf_centers": [0, 1], "labels": [-1, 0, 1]},
            "leaf_centers must be a dict",
        ),
        ({"labels": [0, 1]}, "labels must hold one label per row of X, 3 in all"),
        ({"reference_labels": [[0], [1], [1]]}, "reference_labels must hold one label"),
        ({"labels": np.array([0, "a", 1], dtype=object)}, "labels mixes labels"),
        ({"X": [[0.0], [np.nan], [1.0]]}, "X contains NaN"),
        ({"X": [["a"], ["b"], ["c"]]}, "X holds text"),
        ({"X": [0.0, 1.0, 2.0]}, "X must be a table"),
        ({"centers": [[0.0, 1.0]]}, "centers must have one row per centre and the 1 columns"),
        ({"centers": [["a"]]}, "centers must be a table of numbers"),
        ({"centers": [[np.nan]]}, "centers contains NaN"),
        ({"cost": "kernel_kmeans", "centers": [[0.0]]}, "centers cannot be given"),
        ({"cost": "kernel_kmeans", "kernel": "gauss"}, "kernel='gauss' must be a callable"),
        ({"cost": "kernel_kmeans", "kernel": "precomputed"}, "X must be a square matrix"),
        ({"cost": "kernel_kmeans", "kernel": lambda x, y: x}, "kernel must return one finite"),
        ({"cost": "kernel_kmeans", "gamma": -1}, "gamma=-1 must be a finite number of at least 0"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(change: dict, message: str) -> None:
    case = {"X": [[0.0], [1.0], [5.0]], "labels": [0, 0, 1], "reference_labels": [0, 1, 1]}
    with pytest.raises(ValueError, match=message):
        price_of_explainability(**(case | change))


@pytest.mark.parametrize("spread", [3.0, 1e3, 1e7, 1e12, 1e160])
def test_gaussian_kernel_of_long_rows_is_accurate(spread):
    random = np.random.default_rng(0)
    rows = spread * random.normal(size=(20, 3))
    others = np.vstack([rows[:8] + random.normal(size=(8, 3)), rows[8:]])
    with np.errstate(over="ignore", invalid="ignore"):
        found = gaussian_kernel(rows, others, 0.1)
        expected = np.exp(-0.1 * np.sum((rows[:, np.newaxis] - others) ** 2, axis=2))
    np.testing.assert_allclose(found, expected, atol=1e-11)
    np.testing.assert_array_equal(np.diagonal(found)[8:] > 1 - 1e-11, True)


def test_kernel_cost_of_long_rows_is_that_of_separate_ones():
    X = 2**62 + np.random.default_rng(0).integers(-(2**40), 2**40, size=(40, 2))
    # No two rows are near each other, so every row is as far from its mean as from all others.
    labels = np.arange(40) % 4
    assert clustering_cost(X, labels, cost="kernel_kmeans") == pytest.approx(40 - 4)
