"""A year of electricity: which kinds of days there are, and at which hour one can tell."""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from spexplain import BestTree


def year(seed: int = 0) -> pd.DataFrame:
    """Return an invented load in kilowatts: one row a day, one column an hour."""
    random = np.random.default_rng(seed)
    hour, day = np.arange(24), np.arange(365)
    office = np.exp(-(((hour - 13) / 4.5) ** 2))
    evening = np.exp(-(((hour - 20) / 2.0) ** 2))
    is_weekend = (day % 7 >= 5)[:, None]
    winter = (1 + np.cos(2 * np.pi * day / 365))[:, None] / 2
    load = 20 + 60 * office * ~is_weekend + (15 + 30 * winter) * evening + 10 * winter
    noisy = load * random.normal(1, 0.04, (365, 1)) + random.normal(0, 2, load.shape)
    return pd.DataFrame(noisy, columns=[f"{each:02d}:00" for each in hour])


def main(picture: str) -> None:
    """Cluster the days and draw the mean day of every leaf."""
    load = year()
    explainer = BestTree(4, reference="kmeans", goal="agreement", random_state=0).fit(load)
    print(explainer.to_text())

    figure, ax = plt.subplots(figsize=(7, 2.8), layout="constrained")
    for leaf, rule in enumerate(explainer.rules(output="records")):
        own = load[explainer.labels_ == leaf]
        ax.plot(range(24), own.mean(), label=f"{rule['rule']} ({len(own)} days)", lw=1.8)
    tree = explainer.tree_
    for node in np.flatnonzero(tree.feature >= 0):
        ax.plot(tree.feature[node], tree.threshold[node], "kx", ms=8, mew=2)
    ax.set(xlabel="hour", ylabel="mean load (kW)", title="crosses: what the tree asks")
    ax.legend(fontsize=7, frameon=False)
    figure.savefig(picture, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main(sys.argv[1])
