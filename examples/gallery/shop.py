"""Customers of a shop for CDs: four segments by their orders, as one page for a slide.

The orders are the CDNOW sample of Fader and Hardie, which the package Lifetimes ships.
"""

import sys
from importlib.metadata import distribution

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler

from spexplain import BestTree


def main(picture: str) -> None:
    """Cluster by recency, frequency and money; explain in dates and dollars."""
    path = distribution("Lifetimes").locate_file("lifetimes/datasets/CDNOW_sample.txt")
    columns = ["master", "customer", "day", "cds", "dollars"]
    orders = pd.read_csv(path, sep=r"\s+", names=columns, parse_dates=["day"]).groupby("customer")
    table = pd.DataFrame({
        "last_order": orders["day"].max(),
        "orders": orders.size(),
        "spent": orders["dollars"].sum().round(2),
    })  # fmt: skip
    idle = (table["last_order"].max() - table["last_order"]).dt.days
    habits = np.column_stack([idle, np.log(table["orders"]), np.log1p(table["spent"])])
    clusters = KMeans(4, n_init=10, random_state=0).fit_predict(
        StandardScaler().fit_transform(habits)
    )
    explainer = BestTree(round_to=0.01).fit(table, clusters)
    # Names by what the segments do, the most idle first.
    by_idleness = pd.Series(idle.to_numpy()).groupby(clusters).median().sort_values().index[::-1]
    names = dict(zip(by_idleness.tolist(), ["tried once", "gone", "regular", "loyal"], strict=True))
    named = explainer.renamed(names)
    for each in named.segments(output="records"):
        print(
            f"{each['name']:<10} {each['rows']:>4} customers, {each['recall']:.0%} caught: {each['rule']}"
        )
    named.picture(picture)


if __name__ == "__main__":
    main(sys.argv[1])
