"""Certificates: what each column of the wines promised, and what its best cut achieved."""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from spexplain import SpexClique


def main(picture: str) -> None:
    """Compare the bound of every column with the best cut found in it."""
    wine = load_wine()
    found = []
    for column in range(wine.data.shape[1]):
        one = SpexClique(features=[column], n_leaves=2).fit(wine.data, wine.target)
        certificate = one.certificate()
        found.append((certificate.ratios[column], certificate.best_h.value))
    ratios, best = np.array(found).T
    order = np.argsort(ratios)
    for column in order[:3]:
        name, promised = wine.feature_names[column], np.sqrt(2 * ratios[column])
        print(
            f"{name:<29} R {ratios[column]:.3f}  promised h ≤ {promised:.3f}  found {best[column]:.3f}"
        )

    figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
    ax.barh(range(len(order)), np.sqrt(2 * ratios[order]), color="#dddddd", label="promised: √(2R)")
    ax.barh(range(len(order)), best[order], color="#0072b2", height=0.5, label="found: best h")
    ax.set_yticks(range(len(order)), [wine.feature_names[column] for column in order], fontsize=7)
    ax.invert_yaxis()
    ax.legend(frameon=False, fontsize=8)
    figure.savefig(picture, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main(sys.argv[1])
