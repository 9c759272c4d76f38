"""The examples of the paper's figures come out; its tables are guarded in ``tests/paper``."""

import numpy as np

from spexplain import CART, SpexClique, datasets
from spexplain.metrics import agreement
from spexplain.references.spectral import SpectralReference


def test_three_clusters_defeat_cart_but_not_spex():
    dataset = datasets.load("three_clusters")
    mistakes = {}
    for explainer in (SpexClique(), CART(leaf_weight="none")):
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
