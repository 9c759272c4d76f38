"""How many leaves? One fit holds the trees of all smaller sizes."""

import sys

import matplotlib.pyplot as plt
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler

from spexplain import SpexClique, datasets


def main(picture: str) -> None:
    """Draw fidelity and price against the number of leaves, and let "auto" choose."""
    X = datasets.load("cancer").data
    clusters = KMeans(5, n_init=10, random_state=0).fit_predict(StandardScaler().fit_transform(X))
    explainer = SpexClique(n_leaves=15).fit(X, clusters)
    chosen = SpexClique(n_leaves="auto").fit(X, clusters).n_leaves_
    for step in explainer.path_[4::5]:
        print(f"{step.n_leaves:>2} leaves  fidelity {step.fidelity:.1%}  depth {step.depth}")
    print(f"auto: {chosen} leaves")

    figure, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
    explainer.plot_path(ax)
    ax.axvline(chosen, color="grey", ls=":", zorder=0)
    figure.savefig(picture, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main(sys.argv[1])
