"""Wines: the measurements that tell three k-means clusters apart."""

import sys

import matplotlib.pyplot as plt
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from spexplain import BestTree


def main(picture: str) -> None:
    """Cluster the scaled table, explain it in the original units."""
    wine = load_wine(as_frame=True)
    clusters = KMeans(3, n_init=10, random_state=0).fit_predict(
        StandardScaler().fit_transform(wine.data)
    )
    explainer = BestTree(goal="agreement", random_state=0).fit(wine.data, clusters)
    print(explainer.to_text())
    print(f"agreement {explainer.agreement_:.3f}")
    figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
    explainer.plot(ax)
    figure.savefig(picture, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main(sys.argv[1])
