"""Handwritten digits: the pixels that tell clusters of pictures apart."""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from spexplain import SpexClique


def main(picture: str) -> None:
    """Draw the mean picture of every leaf, with the pixels that its rule asks about."""
    pixels = load_digits().data
    clusters = KMeans(10, n_init=3, random_state=0).fit_predict(pixels)
    explainer = SpexClique(refine="agreement").fit(pixels, clusters)
    used = np.unique(explainer.tree_.feature[explainer.tree_.feature >= 0])
    right = np.mean(explainer.predict_reference(pixels) == clusters)
    print(f"{explainer.n_leaves_} leaves ask about {len(used)} of 64 pixels")
    print(f"{right:.0%} of the pictures are in a leaf of their cluster")

    figure, axes = plt.subplots(2, 5, figsize=(7, 3.2), layout="constrained")
    for leaf, ax in enumerate(axes.flat):
        own = pixels[explainer.labels_ == leaf]
        ax.imshow(own.mean(axis=0).reshape(8, 8), cmap="Greys")
        rule = explainer.rules(output="records")[leaf]["rule"]
        asked = [pixel for pixel in used if f"x{pixel} " in f"{rule} "]
        ax.scatter(
            [p % 8 for p in asked], [p // 8 for p in asked], marker="s", s=55, fc="none", ec="red"
        )
        ax.set_title(f"leaf {leaf}: {len(own)}", fontsize=9)
        ax.set_axis_off()
    figure.savefig(picture, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main(sys.argv[1])
