"""Penguins with gaps in their records: missing values and categories go in as they are.

Pass the path of the report as an argument; without one, it is written to examples/output/.
"""

import sys
from pathlib import Path

import duckdb
from palmerpenguins import load_penguins

from spexplain import BestTree

REPORT = Path(__file__).parent / "output" / "penguins.html"


def main(report: Path) -> None:
    """Explain the species, print the rules, run them in a database."""
    penguins = load_penguins()
    table = penguins.drop(columns="species")

    # Two birds were never measured, eleven have no sex, and the island is a text.
    explainer = BestTree(n_leaves=5, random_state=0).fit(table, penguins["species"])

    print(f"{len(table)} penguins of three species, told apart by five rules:\n")
    for rule in explainer.rules(output="records"):
        print(f"  {rule['reference']:<9} ({rule['size']:>3}) if {rule['rule']}")

    sql = explainer.to_sql(table="penguins", label="reference", name="species")
    database = duckdb.connect()
    database.register("penguins", table)
    found = database.sql(sql).df()["species"]
    print(
        f"\nrows that SQL and predict agree on: {(found == explainer.predict_reference(table)).mean():.0%}"
    )

    report.parent.mkdir(parents=True, exist_ok=True)
    explainer.report(report, title="Three species of penguins")
    print(f"\nreport: {report}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else REPORT)
