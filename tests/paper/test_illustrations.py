"""The remade illustrations: that they show what the paper's show, and that they can be drawn."""

from pathlib import Path

import numpy as np
import pytest

from spexplain import CART, SpexClique, datasets
from spexplain.references.named import cluster

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

from spexplain.paper import figures
from spexplain.paper.figures import draw_illustrations, three_gaussians


def moons_found(reference: str, n_leaves: int) -> tuple[float, float]:
    """Share of points that the tree gives their cluster, and share in the right moon."""
    moons = datasets.two_moons(400, noise=0.05)
    clusters = cluster(reference, moons.data, n_clusters=2, random_state=0)
    explainer = SpexClique(n_leaves=n_leaves).fit(moons.data, clusters)
    assigned = explainer.predict_reference(moons.data)
    same = float(np.mean(assigned == moons.target))
    return float(np.mean(assigned == clusters)), max(same, 1 - same)


def test_gaussians_are_explained_with_some_points_wrong() -> None:
    X, labels = three_gaussians()
    explainer = SpexClique().fit(X, labels)
    assert explainer.n_leaves_ == 3
    assert 0 < np.count_nonzero(explainer.predict_reference(X) != labels) < 0.05 * len(X)


@pytest.mark.parametrize("n_leaves", [2, 6])
def test_only_the_spectral_reference_leads_to_the_moons(n_leaves: int) -> None:
    fidelity, by_kmeans = moons_found("kmeans", n_leaves)
    assert fidelity > 0.9  # the tree is not to blame
    _, by_spectral = moons_found("spectral", n_leaves)
    assert by_kmeans < 0.8 < by_spectral


def test_six_leaves_give_the_moons_almost_without_error() -> None:
    fidelity, found = moons_found("spectral", 6)
    assert fidelity > 0.99
    assert found > 0.99


def test_cart_cuts_wrongly_first_and_spex_does_not() -> None:
    X, y = (points := datasets.three_clusters()).data, points.target
    cart, spex = CART(leaf_weight="none").fit(X, y), SpexClique().fit(X, y)
    assert points.feature_names == ["x", "y"]
    assert cart.tree_.feature[0] == 0  # vertical
    assert spex.tree_.feature[0] == 1  # horizontal
    assert np.count_nonzero(cart.predict_reference(X) != y) >= 10
    assert np.array_equal(spex.predict_reference(X), y)
    # CART's first cut goes through the wide cluster, SpEx's through none.
    for tree, n_cut in ((cart.tree_, 1), (spex.tree_, 0)):
        below = X[:, tree.feature[0]] <= tree.threshold[0]
        assert sum(len(set(below[y == label])) > 1 for label in range(3)) == n_cut


def test_drawing(tmp_path: Path) -> None:
    import matplotlib.pyplot as plt

    paths = draw_illustrations(tmp_path / "new" / "folder")
    names = ["gaussians", "moons", "three-clusters"]
    assert [path.name for path in paths] == [
        f"{name}.{end}" for name in names for end in ("png", "svg")
    ]
    for path in paths:
        content = path.read_bytes()
        assert content.startswith(b"\x89PNG" if path.suffix == ".png" else b"<?xml")
        assert len(content) > 10_000
    assert "CART (Gini): vertical cut first, 12 mistakes" in paths[-1].read_text()
    assert "SpEx-Clique: horizontal cut first, no mistake" in paths[-1].read_text()
    assert "spectral clusters, 5 cuts: fidelity 99.8%" in paths[3].read_text()
    assert plt.get_fignums() == []


def test_drawings_are_the_same_every_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "draw_moons", figures.draw_three_clusters)  # faster
    first, second = (draw_illustrations(tmp_path / name) for name in ("a", "b"))
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
