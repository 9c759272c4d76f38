"""Two moons without labels: the tree is the clustering."""

import sys

import matplotlib.pyplot as plt

from spexplain import SpexKNN, datasets, metrics


def main(picture: str) -> None:
    """Cut the nearest-neighbour graph into more and more leaves."""
    moons = datasets.two_moons(300)
    explainer = SpexKNN(n_leaves=6, n_neighbors=10).fit(moons.data)
    figure, axes = plt.subplots(1, 3, figsize=(7, 2.3), layout="constrained", sharey=True)
    for ax, n_leaves in zip(axes, (2, 4, 6), strict=True):
        smaller = explainer.truncated(n_leaves)
        purity = metrics.agreement(smaller.labels_, moons.target).purity
        print(f"{n_leaves} leaves: {purity:.1%} of the rows in a leaf of their moon")
        smaller.plot_cuts(moons.data, ax, features=[0, 1])
        ax.get_legend().remove()
        ax.set_title(f"{n_leaves} leaves", fontsize=9)
    figure.savefig(picture, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main(sys.argv[1])
