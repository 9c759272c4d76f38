"""The demonstration behind ``make demo``: explain the spectral clusters of the iris flowers."""

from importlib.util import find_spec

from spexplain import BestTree, SpexClique, datasets
from spexplain.metrics import agreement
from spexplain.references.named import cluster

REPORT = "spexplain-demo.html"


def main() -> None:
    """Print a tree, its rules and their agreement with the clustering; write a report."""
    iris = datasets.load("iris-uci")
    clusters = cluster("spectral", iris.data, n_clusters=3, random_state=570)
    explainer = SpexClique().fit(iris.data, clusters)

    print("Three spectral clusters of 150 iris flowers, explained by a tree of three leaves")
    print()
    print(explainer.to_text(iris.feature_names))
    print()
    for record in explainer.rules(iris.feature_names, output="records"):
        print(f"cluster {record['reference']}: {record['rule']}")
        print(
            f"           {record['size']:,} rows, {record['share']:.0%} of all, {record['purity']:.0%} pure"
        )
    print()
    for name, labels in (("clusters", clusters), ("species", iris.target)):
        likeness = agreement(explainer.labels_, labels)
        print(f"agreement with the {name:<9} ARI {likeness.ari:.3f}  AMI {likeness.ami:.3f}")
    print(f"objective, the sum of the conductances of the leaves: {explainer.objective_:.4f}")
    best = BestTree().fit(iris.data, clusters)
    print(f"most faithful tree of three leaves (BestTree): ARI {best.agreement_:.3f}")
    print()
    if find_spec("jinja2") is None:
        print('For the report: pip install "spexplain[report]"')
        return
    title = "Three kinds of iris flowers"
    path = explainer.report(REPORT, title=title, feature_names=iris.feature_names)
    print(f"report: {path.resolve()}")


if __name__ == "__main__":
    main()
