"""The demonstration behind ``make demo``: explain the spectral clusters of the iris flowers."""

from spexplain import SpexClique, datasets
from spexplain.metrics import agreement
from spexplain.references.named import cluster


def main() -> None:
    """Print a tree, its rules and how well they match the clustering."""
    iris = datasets.load("iris-uci")
    clusters = cluster("spectral", iris.data, n_clusters=3, random_state=570)
    explainer = SpexClique().fit(iris.data, clusters)

    print("Three spectral clusters of 150 iris flowers, explained by a tree of three leaves")
    print()
    print(explainer.to_text(iris.feature_names))
    print()
    for record in explainer.rules(iris.feature_names, output="records"):
        print(
            f"cluster {record['reference']}: {record['rule']}  "
            f"({record['size']} rows, {record['share']:.0%} of all, {record['purity']:.0%} pure)"
        )
    print()
    with_clusters = agreement(explainer.labels_, clusters)
    with_species = agreement(explainer.labels_, iris.target)
    print(f"agreement with the clusters  ARI {with_clusters.ari:.3f}  AMI {with_clusters.ami:.3f}")
    print(f"agreement with the species   ARI {with_species.ari:.3f}  AMI {with_species.ami:.3f}")
    print(f"objective (sum of conductances of the leaves)  {explainer.objective_:.4f}")


if __name__ == "__main__":
    main()
