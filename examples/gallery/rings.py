"""Rings: clusters around each other need intervals, not thresholds."""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles

from spexplain import BestTree, KernelIMM


def main(picture: str) -> None:
    """Explain two circles with three leaves of either kind."""
    X, circles = make_circles(300, noise=0.05, factor=0.3, random_state=0)
    methods = (
        BestTree(n_leaves=3, goal="agreement"),
        KernelIMM(n_leaves=3, gamma=2.0, expand="mistakes"),
    )
    figure, axes = plt.subplots(1, 2, figsize=(7, 3.2), layout="constrained")
    for ax, method in zip(axes, methods, strict=True):
        right = np.mean(method.fit(X, circles).predict_reference(X) == circles)
        name = type(method).__name__
        print(f"{name:<10}{method.n_leaves_} leaves, {right:.0%} of the rows right")
        method.plot_cuts(ax=ax, features=[0, 1])
        ax.get_legend().remove()
        ax.set_title(f"{name}, {method.n_leaves_} leaves", fontsize=9)
    figure.savefig(picture, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main(sys.argv[1])
