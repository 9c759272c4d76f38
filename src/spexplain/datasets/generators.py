"""Generated datasets in the plane."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING

import numpy as np

from spexplain.datasets.readers import make_bunch

if TYPE_CHECKING:
    from sklearn.utils import Bunch

_MIN_THREE_CLUSTERS = 30


def two_moons(
    n_samples: int = 500,
    *,
    noise: float | None = 0.08,
    random_state: int | np.random.RandomState | None = 0,
) -> Bunch:
    """Make two interleaving half circles.

    No two cluster centres describe the moons, so k-means misses them; spectral clustering finds
    them, and a few axis-parallel cuts explain them with few mistakes.

    Parameters
    ----------
    n_samples : int, default=500
        Number of points, both moons together.
    noise : float or None, default=0.08
        Standard deviation of the Gaussian noise added to the points.
    random_state : int, RandomState instance or None, default=0
        Seed of the noise and of the order of the points.

    Returns
    -------
    dataset : sklearn.utils.Bunch
        With the keys that :func:`load` describes.

    See Also
    --------
    sklearn.datasets.make_moons : Makes the points.

    Examples
    --------
    >>> from spexplain import datasets
    >>> moons = datasets.two_moons(200)
    >>> moons.data.shape
    (200, 2)
    >>> moons.target_names.tolist()
    ['upper', 'lower']
    """
    from sklearn.datasets import make_moons

    data, target = make_moons(n_samples, noise=noise, random_state=random_state)
    return make_bunch(
        data,
        target,
        feature_names=("x", "y"),
        target_names=("upper", "lower"),
        descr=(
            f"Two moons: {len(data)} points on two interleaving half circles in the plane, with "
            f"Gaussian noise of standard deviation {noise or 0}, made by scikit-learn's make_moons."
        ),
    )


def three_clusters(
    n_samples: int = 500, *, random_state: int | np.random.RandomState | None = 0
) -> Bunch:
    """Make three clusters that a greedy Gini tree explains wrongly.

    A small, wide cluster lies above two large ones side by side. A horizontal cut, then a vertical
    below it, gives a tree of three leaves without mistakes. The Gini gain prefers a vertical cut first,
    as it separates the two large clusters; but that cut goes through the wide one, which three leaves
    cannot repair.

    Parameters
    ----------
    n_samples : int, default=500
        Number of points, at least 30: a tenth in the cluster on top, the others in equal parts in
        the two at the bottom.
    random_state : int, RandomState instance or None, default=0
        Seed of the points and of their order.

    Returns
    -------
    dataset : sklearn.utils.Bunch
        With the keys that :func:`load` describes.

    Notes
    -----
    The clusters at the bottom fill discs of radius 1 around (-2, 0) and (2, 0), the one on top a box
    of height 1 from x = -3 to x = 3 at y >= 2, with a point at either end. So for every seed
    the horizontal cut makes no mistake, and every vertical cut splits the cluster on top.

    The example is that of Moshkovitz, Dasgupta, Rashtchian and Frost, *Explainable k-means and
    k-medians clustering*, ICML 2020, which Argov and Wagner take up in *SpEx: a spectral approach
    to explainable clustering*, NeurIPS 2025. The exact points are our own.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from spexplain import datasets
    >>> X, y = (dataset := datasets.three_clusters()).data, dataset.target
    >>> cart = DecisionTreeClassifier(max_leaf_nodes=3, random_state=0).fit(X, y)
    >>> bool(cart.score(X, y) < 1)
    True
    >>> top, right = X[:, 1] > 1.5, X[:, 0] > 0
    >>> bool(((~top) * (1 + right) == y).all())
    True
    """
    from sklearn.utils import check_random_state

    n_samples = index(n_samples)
    if n_samples < _MIN_THREE_CLUSTERS:
        raise ValueError(
            f"three_clusters needs n_samples of at least {_MIN_THREE_CLUSTERS}, got {n_samples}."
        )
    random = check_random_state(random_state)
    n_top = n_samples // 10
    n_left = (n_samples - n_top) // 2
    target = np.repeat([0, 1, 2], [n_top, n_left, n_samples - n_top - n_left])
    data = np.empty((n_samples, 2))
    data[:n_top, 0] = random.uniform(-3, 3, size=n_top)
    # Points at both ends, as far out as any point below, so that every vertical cut splits this cluster.
    data[[0, 1], 0] = -3, 3
    data[:n_top, 1] = random.uniform(2, 3, size=n_top)
    n_bottom = n_samples - n_top
    # The square root makes the points uniform on the disc, not crowded at its centre.
    radius = np.sqrt(random.uniform(size=n_bottom))
    angle = random.uniform(0, 2 * np.pi, size=n_bottom)
    data[n_top:, 0] = radius * np.cos(angle) + np.where(target[n_top:] == 1, -2, 2)
    data[n_top:, 1] = radius * np.sin(angle)
    order = random.permutation(n_samples)
    return make_bunch(
        data[order],
        target[order],
        feature_names=("x", "y"),
        target_names=("top", "bottom left", "bottom right"),
        descr=(
            f"Three clusters in the plane, {n_samples} points: a wide one of {n_top} points above "
            "two large ones side by side. A tree of three leaves without mistakes cuts "
            "horizontally first; greedy Gini gain cuts vertically first and makes mistakes. After "
            "an example of Moshkovitz, Dasgupta, Rashtchian and Frost, Explainable k-means and "
            "k-medians clustering, ICML 2020."
        ),
    )
