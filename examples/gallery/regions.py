"""A map: regions of neighbouring fields, told by height and rain instead of by coordinates."""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.image import grid_to_graph

from spexplain import SpexGraph

SIDE = 40


def fields(seed: int = 0) -> np.ndarray:
    """Return height and rain of every field of an invented square of land."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[0 : 1 : SIDE * 1j, 0 : 1 : SIDE * 1j]
    height = 900 / (1 + np.exp(-25 * (x - 0.45 - 0.15 * np.sin(5 * y)))) + 60 * y
    rain = 500 + 450 / (1 + np.exp(-20 * (y - 0.55)))
    noise = random.normal(0, (40, 30), (SIDE * SIDE, 2))
    return np.c_[height.ravel(), rain.ravel()] + noise


def main(picture: str) -> None:
    """Cut the graph of neighbouring fields by questions about height and rain."""
    X = fields()
    neighbors = grid_to_graph(SIDE, SIDE)
    explainer = SpexGraph(4, graph=neighbors).fit(X)
    print(explainer.to_text(["height (m)", "rain (mm)"]))

    figure, axes = plt.subplots(1, 3, figsize=(7, 2.4), layout="constrained")
    shown = (
        (X[:, 0], "height", "terrain"),
        (X[:, 1], "rain", "Blues"),
        (explainer.labels_, "leaves", "Set2"),
    )
    for ax, (values, title, cmap) in zip(axes, shown, strict=True):
        ax.imshow(values.reshape(SIDE, SIDE), cmap=cmap)
        ax.set_title(title, fontsize=9)
        ax.set_axis_off()
    figure.savefig(picture, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main(sys.argv[1])
