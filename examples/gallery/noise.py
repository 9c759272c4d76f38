"""Noise: DBSCAN leaves some rows without a cluster, and the tree does not care for them."""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import DBSCAN
from sklearn.datasets import make_blobs

from spexplain import BestTree


def main(picture: str) -> None:
    """Explain clusters with noise, once ignored and once as a cluster of its own."""
    X, _ = make_blobs(300, centers=[(0, 0), (4, 1), (2, 4)], cluster_std=0.6, random_state=0)
    X = np.vstack([X, np.random.default_rng(0).uniform((-2, -2), (6, 6), (40, 2))])
    clusters = DBSCAN(eps=0.5, min_samples=6).fit_predict(X)
    print(f"{np.sum(clusters == -1)} of {len(X)} rows are noise")

    figure, axes = plt.subplots(1, 2, figsize=(7, 2.9), layout="constrained")
    for ax, policy, n_leaves in zip(axes, ("ignore", "cluster"), (3, 6), strict=True):
        explainer = BestTree(noise=policy, n_leaves=n_leaves, goal="agreement").fit(X, clusters)
        explainer.plot_cuts(ax=ax, features=[0, 1])
        ax.get_legend().remove()
        ax.set_title(f'noise="{policy}": {n_leaves} leaves', fontsize=9)
        print(f"{policy:<8}leaves stand for {explainer.leaf_reference_.tolist()}")
    figure.savefig(picture, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main(sys.argv[1])
