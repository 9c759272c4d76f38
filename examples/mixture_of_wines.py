"""Wines that belong to several groups at once: the memberships of a mixture model are explained.

Pass the path of the report as an argument; without one, it is written to examples/output/.
"""

import sys
from pathlib import Path

import duckdb
from sklearn.datasets import load_wine
from sklearn.mixture import GaussianMixture

from spexplain import BestTree

REPORT = Path(__file__).parent / "output" / "mixture_of_wines.html"


def main(report: Path) -> None:
    """Fit a mixture, explain its memberships, compare with hard labels."""
    wines = load_wine(as_frame=True).data
    measured = wines[["color_intensity", "flavanoids"]]
    mixture = GaussianMixture(3, random_state=0).fit(measured)
    memberships = mixture.predict_proba(measured)
    unsure = (memberships.max(axis=1) < 0.9).mean()
    print(
        f"{len(wines)} wines in three groups; the mixture is less than 90% sure of {unsure:.0%} of them\n"
    )

    # A wine that is 60% in one group and 40% in another counts that much for each.
    soft = BestTree(random_state=0).fit(wines, memberships)
    hard = BestTree(random_state=0).fit(wines, memberships.argmax(axis=1))
    for name, explainer in (("memberships", soft), ("labels alone", hard)):
        print(f"{name}:")
        for rule in explainer.rules(output="records"):
            share = f"{rule['purity']:.0%} group {rule['reference']}"
            print(f"  {rule['size']:>3} wines, {share}: {rule['rule']}")

    database = duckdb.connect()
    database.register("wines", wines)
    found = database.sql(soft.to_sql(table="wines", name="group")).df()["group"]
    print(f"\nrows that SQL and predict agree on: {(found == soft.predict(wines)).mean():.0%}")

    report.parent.mkdir(parents=True, exist_ok=True)
    soft.report(report, title="Three groups of wines")
    print(f"\nreport: {report}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else REPORT)
