"""A photograph: six colours, each by a rule on red, green and blue."""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_sample_image

from spexplain import BestTree


def main(picture: str) -> None:
    """Reduce the colours by k-means and by the tree that explains it."""
    photo = load_sample_image("flower.jpg")[::4, ::4]
    colors = photo.reshape(-1, 3).astype(float)
    clusters = KMeans(6, n_init=2, random_state=0).fit_predict(colors)
    explainer = BestTree(goal="agreement", exchange="none").fit(colors, clusters)
    print(explainer.to_text(["red", "green", "blue"]))

    figure, axes = plt.subplots(1, 3, figsize=(7, 1.9), layout="constrained")
    titles = ("256³ colours", "6 by k-means", "6 by rules")
    for ax, title, labels in zip(axes, titles, (None, clusters, explainer.labels_), strict=True):
        shown = colors if labels is None else painted(colors, labels)
        ax.imshow(shown.reshape(photo.shape).astype(np.uint8))
        ax.set_title(title, fontsize=9)
        ax.set_axis_off()
    figure.savefig(picture, dpi=110)
    plt.close(figure)


def painted(colors: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return every pixel in the mean colour of its group."""
    means = np.array([colors[labels == label].mean(axis=0) for label in np.unique(labels)])
    return means[labels]


if __name__ == "__main__":
    main(sys.argv[1])
