"""Customers of an online shop for CDs, 1997 and 1998: dates, money, and a column that is often missing.

The orders are the CDNOW sample of Fader and Hardie, which the package Lifetimes ships.
Pass the path of the report as an argument; without one, it is written to examples/output/.
"""

import sys
import warnings
from importlib.metadata import distribution
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler

from spexplain import BestTree

REPORT = Path(__file__).parent / "output" / "cd_shop.html"


def customers() -> pd.DataFrame:
    """Return one row per customer, made of the list of orders."""
    path = distribution("Lifetimes").locate_file("lifetimes/datasets/CDNOW_sample.txt")
    columns = ["master", "customer", "day", "cds", "dollars"]
    orders = pd.read_csv(path, sep=r"\s+", names=columns, parse_dates=["day"])
    each = orders.groupby("customer")
    table = each.agg(
        first_order=("day", "min"), last_order=("day", "max"), orders=("day", "size"),
        cds=("cds", "sum"), spent=("dollars", "sum"),
    )  # fmt: skip
    span = (table["last_order"] - table["first_order"]).dt.days
    # Who ordered once has no time between orders.
    table["days_between_orders"] = (span / (table["orders"] - 1).where(table["orders"] > 1)).round()
    return table.round({"spent": 2}).reset_index()


def main(report: Path) -> None:
    """Cluster the customers by their habits and explain the segments in columns of the table."""
    table = customers()
    recency = (table["last_order"].max() - table["last_order"]).dt.days
    habits = np.column_stack([recency, np.log1p(table["spent"]), np.log(table["orders"])])
    clusters = KMeans(4, n_init=10, random_state=0).fit_predict(
        StandardScaler().fit_transform(habits)
    )
    # Names by what the segments do, the most idle first.
    by_idleness = recency.groupby(clusters).median().sort_values(ascending=False).index
    names = dict(zip(by_idleness, ["tried once", "gone", "regular", "loyal"], strict=True))
    segments = pd.Series(clusters).map(names)

    # Of every hundred customers one may change sides for a rounder number.
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        explainer = BestTree(round_to=0.01, random_state=0).fit(table, segments)
    print(f"{len(table)} customers in four segments. {said[0].message}\n")
    for rule in explainer.rules(output="records"):
        print(f"  {rule['size']:>4} customers, {rule['purity']:.0%} of one segment: {rule['rule']}")
    for test in explainer.rounding_:
        print(f"  ({test.exact!r} was rounded to {test.rounded!r}: {test.n_changed} customers)")

    sql = explainer.to_sql(table="customers", name="segment")
    print(f"\n{sql}\n")
    database = duckdb.connect()
    database.register("customers", table)
    found = database.sql(sql).df()["segment"]
    print(f"rows that SQL and predict agree on: {(found == explainer.predict(table)).mean():.0%}")

    report.parent.mkdir(parents=True, exist_ok=True)
    explainer.report(report, title="Customers of a CD shop")
    print(f"\nreport: {report}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else REPORT)
