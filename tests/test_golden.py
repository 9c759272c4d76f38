"""The published numbers come out, to the third decimal.

All values are from the tables of Argov and Wagner, *SpEx: A Spectral Approach to Explainable
Clustering*, NeurIPS 2025: ARI and AMI against the classes, REF = ARI against the reference clustering.
"""

import os
import warnings
from functools import cache

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Bunch

from spexplain import CART, SpexClique, SpexKNN, datasets
from spexplain.metrics import agreement
from spexplain.references.spectral import SpectralReference

needs_data = pytest.mark.skipif(
    not os.environ.get("SPEXPLAIN_DATA"),
    reason="SPEXPLAIN_DATA names no folder with the data files",
)
IN_FILES = {"r15", "pathbased", "ecoli", "beans"}


def dataset_params(names):
    return [pytest.param(name, marks=needs_data if name in IN_FILES else ()) for name in names]


@cache
def data_of(name: str) -> tuple[Bunch, int]:
    dataset = datasets.load(name)
    return dataset, len(dataset.target_names)


@cache
def spectral_labels(name: str, n_neighbors: int = 20) -> np.ndarray:
    dataset, k = data_of(name)
    clusterer = SpectralReference(k, n_neighbors=n_neighbors, eigen_solver="amg", random_state=570)
    with warnings.catch_warnings():
        # With few neighbours the graph falls into pieces, as it did for the authors.
        warnings.filterwarnings("ignore", message="Graph is not fully connected")
        return clusterer.fit_predict(dataset.data)


def kmeans_labels(name: str) -> np.ndarray:
    dataset, k = data_of(name)
    X, clusterer = dataset.data, KMeans(k, n_init=30, random_state=0)
    if name == "ecoli":
        # The printed reference is one local optimum among many; this start lands in it.
        clusterer = KMeans(k, n_init=1, random_state=94)
    if name in ("iris-uci", "beans"):
        X, clusterer = StandardScaler().fit_transform(X), KMeans(k, random_state=0)
    return clusterer.fit_predict(X)


def scores(labels, dataset, reference):
    with_classes = agreement(labels, dataset.target)
    return with_classes.ari, with_classes.ami, agreement(labels, reference).ari


def printed(expected):
    """Equal after rounding to the three printed digits."""
    return pytest.approx(expected, abs=0.00051)


# --- Spectral reference ---------------------------------------------------------------------------

# reference (ARI, AMI); SpEx-kNN, SpEx-Clique, CART (ARI, AMI, REF)
SPECTRAL = {
    "r15": [(0.993, 0.994), (0.982, 0.987, 0.989), (0.986, 0.989, 0.993), (0.986, 0.989, 0.993)],
    "pathbased": [
        (0.526, 0.570),
        (0.332, 0.410, 0.551),
        (0.441, 0.517, 0.824),
        (0.441, 0.517, 0.824),
    ],
    "ecoli": [(0.711, 0.653), (0.679, 0.642, 0.863), (0.662, 0.621, 0.847), (0.672, 0.618, 0.886)],
    "iris-uci": [
        (0.630, 0.661),
        (0.450, 0.647, 0.450),
        (0.576, 0.629, 0.787),
        (0.576, 0.629, 0.787),
    ],
    "cancer": [(0.743, 0.626), (0.507, 0.490, 0.562), (0.694, 0.588, 0.785), (0.683, 0.560, 0.811)],
    # The AMI of SpEx-Clique is printed as .671; the authors' own code gives .672, as does ours.
    "beans": [(0.586, 0.677), (0.574, 0.690, 0.649), (0.564, 0.672, 0.743), (0.542, 0.658, 0.705)],
}


@pytest.mark.parametrize("name", dataset_params(SPECTRAL))
def test_spectral_reference(name):
    pytest.importorskip("pyamg")
    dataset, k = data_of(name)
    reference = spectral_labels(name)
    expected_reference, *expected = SPECTRAL[name]
    assert scores(reference, dataset, reference)[:2] == printed(expected_reference)
    explainers = [SpexKNN(k, n_neighbors=20), SpexClique(), CART()]
    for explainer, values in zip(explainers, expected, strict=True):
        labels = explainer.fit(dataset.data, reference).labels_
        assert scores(labels, dataset, reference) == printed(values), type(explainer).__name__


# number of neighbours: (ARI, AMI, REF), the reference with the same number of neighbours
NEIGHBORS = {
    "ecoli": {
        2: (0.594, 0.571, 0.006),
        5: (0.594, 0.589, 0.640),
        10: (0.682, 0.648, 0.828),
        15: (0.682, 0.648, 0.854),
        20: (0.679, 0.642, 0.863),
        50: (0.679, 0.638, 0.593),
    },
    "iris-uci": {
        2: (0.287, 0.370, 0.020),
        5: (0.450, 0.647, 0.895),
        10: (0.450, 0.647, 0.514),
        15: (0.450, 0.647, 0.445),
        20: (0.450, 0.647, 0.450),
        50: (0.600, 0.642, 0.756),
    },
    "cancer": {
        2: (0.681, 0.603, -0.019),
        5: (0.594, 0.546, 0.688),
        10: (0.507, 0.490, 0.547),
        15: (0.507, 0.490, 0.567),
        20: (0.507, 0.490, 0.562),
        50: (0.507, 0.490, 0.532),
    },
}


@pytest.mark.parametrize("n_neighbors", [2, 5, 10, 15, 20, 50])
@pytest.mark.parametrize("name", dataset_params(NEIGHBORS))
def test_number_of_neighbours(name, n_neighbors):
    pytest.importorskip("pyamg")
    dataset, k = data_of(name)
    labels = SpexKNN(k, n_neighbors=n_neighbors).fit(dataset.data).labels_
    reference = spectral_labels(name, n_neighbors)
    assert scores(labels, dataset, reference) == printed(NEIGHBORS[name][n_neighbors])


# --- k-means reference ----------------------------------------------------------------------------

# reference (ARI, AMI); SpEx-Clique, CART (ARI, AMI, REF)
KMEANS = {
    "r15": [(0.993, 0.994), (0.986, 0.989, 0.993), (0.986, 0.989, 0.993)],
    "pathbased": [(0.461, 0.543), (0.461, 0.543, 1.0), (0.421, 0.507, 0.897)],
    "ecoli": [(0.489, 0.609), (0.456, 0.559, 0.873), (0.454, 0.543, 0.840)],
    "iris-uci": [(0.641, 0.669), (0.576, 0.629, 0.772), (0.576, 0.629, 0.772)],
    "cancer": [(0.491, 0.464), (0.491, 0.464, 1.0), (0.491, 0.464, 1.0)],
    "beans": [(0.572, 0.689), (0.562, 0.687, 0.773), (0.536, 0.669, 0.757)],
}


@pytest.mark.parametrize("name", dataset_params(KMEANS))
def test_kmeans_reference(name):
    dataset, _ = data_of(name)
    reference = kmeans_labels(name)
    expected_reference, *expected = KMEANS[name]
    assert scores(reference, dataset, reference)[:2] == printed(expected_reference)
    for explainer, values in zip([SpexClique(), CART()], expected, strict=True):
        labels = explainer.fit(dataset.data, reference).labels_
        assert scores(labels, dataset, reference) == printed(values), type(explainer).__name__


@pytest.mark.parametrize("name", dataset_params(["r15", "pathbased", "ecoli"]))
def test_leaf_weighting_of_cart_is_not_decided_by_the_published_numbers(name):
    dataset, _ = data_of(name)
    reference = kmeans_labels(name)
    labels = CART(leaf_weight="size").fit(dataset.data, reference).labels_
    assert scores(labels, dataset, reference) == printed(KMEANS[name][2])


# --- Examples of the paper's figures --------------------------------------------------------------


def test_three_clusters_defeat_cart_but_not_spex():
    dataset = datasets.load("three_clusters")
    mistakes = {}
    for explainer in (SpexClique(), CART()):
        explainer.fit(dataset.data, dataset.target)
        wrong = explainer.predict_reference(dataset.data) != dataset.target
        mistakes[type(explainer).__name__] = np.count_nonzero(wrong)
    assert mistakes["SpexClique"] == 0
    assert mistakes["CART"] > 0


def most_rows_kept(X, reference, n_leaves, thresholds):
    """The most rows that any tree of axis-parallel cuts at these thresholds can label right."""
    if n_leaves == 1 or len(X) < 2:
        return np.bincount(reference).max()
    best = 0
    for feature, cuts in enumerate(thresholds):
        for cut in cuts:
            left = X[:, feature] <= cut
            if left.all() or not left.any():
                continue
            for n_left in range(1, n_leaves):
                parts = (left, n_left), (~left, n_leaves - n_left)
                kept = [most_rows_kept(X[p], reference[p], n, thresholds) for p, n in parts]
                best = max(best, sum(kept))
    return best


def test_two_moons_are_explained_almost_as_well_as_axis_parallel_cuts_can():
    moons = datasets.load("two_moons")
    reference = SpectralReference(2, random_state=570).fit_predict(moons.data)
    assert agreement(reference, moons.target).ari > 0.98
    every = [np.unique(column) for column in moons.data.T]
    coarse = np.quantile(moons.data, np.linspace(0, 1, 12)[1:-1], axis=0).T
    for n_leaves, thresholds in [(2, every), (4, coarse)]:
        best = most_rows_kept(moons.data, reference, n_leaves, thresholds)
        explainer = SpexClique(n_leaves=n_leaves).fit(moons.data, reference)
        kept = np.count_nonzero(explainer.predict_reference(moons.data) == reference)
        assert kept >= best - 0.01 * len(reference)
