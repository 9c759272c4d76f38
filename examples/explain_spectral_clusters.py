"""Explain a spectral clustering with SpEx-Clique: two clusters of tumours, told apart by two tests.

Pass the path of the picture as an argument; without one, it is written to examples/output/.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt

from spexplain import SpexClique, datasets
from spexplain.metrics import agreement

PICTURE = Path(__file__).parent / "output" / "explain_spectral_clusters.png"


def main(picture: Path) -> None:
    """Cluster, explain, print and draw."""
    tumours = datasets.load("cancer")

    # The clusters are computed here; .fit(X, labels) would explain those that you already have.
    explainer = SpexClique(n_clusters=2, n_leaves=3, reference="spectral", random_state=0)
    explainer.fit(tumours.data)

    print(f"Two spectral clusters of {len(tumours.data)} tumours, explained by three leaves:\n")
    print(explainer.to_text(tumours.feature_names))
    print("\nAs rules:")
    for rule in explainer.rules(tumours.feature_names, output="records"):
        print(f"  cluster {rule['reference']} ({rule['size']} rows) if {rule['rule']}")

    # The tree never saw the diagnoses, and is not worse at them than the clusters.
    given, meant = explainer.reference_labels_, explainer.predict_reference(tumours.data)
    print(f"\nrows that the tree gives their cluster: {(meant == given).mean():.1%}")
    for name, labels in (("clusters", given), ("tree", meant)):
        ari = agreement(labels, tumours.target).ari
        print(f"adjusted Rand index with the diagnoses, {name + ':':<9} {ari:.3f}")

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    explainer.plot_cuts(ax=left, names=tumours.feature_names)
    left.set_title("clusters and cuts", fontsize=10)
    explainer.plot(right, feature_names=tumours.feature_names)
    right.set_title("the same as a tree", fontsize=10)
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, dpi=150)
    print(f"\npicture: {picture}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE)
