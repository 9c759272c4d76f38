"""Cluster two moons by a tree alone: SpEx-kNN needs no reference clustering.

Pass the path of the picture as an argument; without one, it is written to examples/output/.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.cluster import KMeans

from spexplain import SpexKNN, datasets
from spexplain.metrics import agreement

PICTURE = Path(__file__).parent / "output" / "reference_free_knn.png"


def main(picture: Path) -> None:
    """Grow, print and draw."""
    moons = datasets.two_moons(400, noise=0.05)

    # No labels go in: the tree cuts few edges between each point and its 20 nearest neighbours.
    explainer = SpexKNN(n_leaves=6, n_neighbors=20).fit(moons.data)

    print("Two moons, cut by a tree that minimises the conductance of its leaves:\n")
    print(explainer.to_text(moons.feature_names))

    # Growth nests: one fit holds the trees of all smaller sizes.
    print("\nleaves  objective  pure in moons")
    for step in explainer.path_[1:]:
        leaves = explainer.tree_.truncate(step.n_leaves).apply(moons.data)
        purity = agreement(leaves, moons.target).purity
        print(f"{step.n_leaves:>6}  {step.objective:>9.3f}  {purity:>13.1%}")
    centers = KMeans(n_clusters=6, n_init=10, random_state=0).fit_predict(moons.data)
    print(f"six k-means clusters: {agreement(centers, moons.target).purity:.1%} pure")

    figure, (left, right) = plt.subplots(
        1, 2, figsize=(11, 4.2), layout="constrained", width_ratios=(1.5, 1)
    )
    explainer.plot_cuts(ax=left, names=moons.feature_names)
    left.set_title("six leaves, no reference clustering", fontsize=10)
    explainer.plot_path(right)
    right.set_xlabel("leaves: one fit holds all these trees")
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, dpi=150)
    print(f"\npicture: {picture}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE)
