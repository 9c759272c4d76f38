"""Compare all methods on one dataset: handwritten digits, clustered and then explained by ten leaves.

Pass the path of the picture as an argument; without one, it is written to examples/output/.
"""

import sys
import time
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

import spexplain as spx
from spexplain.metrics import agreement

PICTURE = Path(__file__).parent / "output" / "compare_methods.png"
N_CLUSTERS = 10

# What a method is given: reference-free ones get the table only.
REFERENCE_FREE = ("SpEx-kNN", "SpEx-Graph", "NonUniformCut")
METHODS = {
    "SpEx-Clique": spx.SpexClique(),
    "SpEx-Clique, refined": spx.SpexClique(refine="agreement"),
    "BestTree": spx.BestTree(),
    "CART (Gini)": spx.CART(),
    "CART (volume)": spx.CART(criterion="volume"),
    "IMM": spx.IMM(),
    "IMM (furthest pairs)": spx.IMM(pairs="furthest"),
    "EMN": spx.EMN(),
    "ExKMC (20 leaves)": spx.ExKMC(n_leaves=2 * N_CLUSTERS),
    "ExGreedy": spx.ExGreedy(),
    "ExShallow": spx.ExShallow(),
    "RandomCuts": spx.RandomCuts(random_state=0),
    "KernelIMM": spx.KernelIMM(),
    "SpEx-kNN": spx.SpexKNN(N_CLUSTERS),
    "SpEx-Graph": spx.SpexGraph(N_CLUSTERS),
    "NonUniformCut": spx.NonUniformCut(N_CLUSTERS),
}


def main(picture: Path) -> None:
    """Fit every method, print a table and draw it."""
    digits = load_digits()
    X, classes = digits.data[::2], digits.target[::2]  # half of them, to be quick
    # Any estimator computes the reference; all others are given the same labels.
    clusters = spx.SpexClique(N_CLUSTERS, random_state=0).fit(X).reference_labels_

    rows = []
    for name, method in METHODS.items():
        begin = time.perf_counter()
        method.fit(X) if name in REFERENCE_FREE else method.fit(X, clusters)
        seconds = time.perf_counter() - begin
        scores = [agreement(method.labels_, labels).ari for labels in (clusters, classes)]
        rows.append((name, *scores, method.tree_.depth, seconds))
    rows.sort(key=lambda row: -row[1])

    whole = agreement(clusters, classes).ari
    print(f"{len(X)} digits, 64 pixels each; adjusted Rand index of the leaves with")
    print(f"{'method':<22}{'clusters':>9}{'digits':>8}{'depth':>7}{'seconds':>9}")
    for name, to_clusters, to_digits, depth, seconds in rows:
        print(f"{name:<22}{to_clusters:>9.3f}{to_digits:>8.3f}{depth:>7}{seconds:>9.2f}")
    print(f"{'(spectral clusters)':<22}{1:>9.3f}{whole:>8.3f}")

    draw(picture, rows, whole)
    print(f"\npicture: {picture}")


def draw(picture: Path, rows: list, whole: float) -> None:
    """Draw two bars per method, the best on top."""
    figure, ax = plt.subplots(figsize=(8, 6), layout="constrained")
    places = range(len(rows))
    style = {"height": 0.38, "zorder": 2}
    ax.barh([at - 0.2 for at in places], [row[1] for row in rows], color="#0072b2", **style)
    ax.barh([at + 0.2 for at in places], [row[2] for row in rows], color="#e69f00", **style)
    for at, row in enumerate(rows):
        for offset, score in ((-0.2, row[1]), (0.2, row[2])):
            ax.text(score + 0.006, at + offset, f"{score:.2f}", va="center", fontsize=7.5)
    ax.axvline(whole, color="#e69f00", ls="--", lw=1.2, zorder=1)
    ax.set_yticks(places, [f"{row[0]}*" if row[0] in REFERENCE_FREE else row[0] for row in rows])
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_xlim(0, 1.08 * max(whole, rows[0][1]))
    ax.set_xlabel("adjusted Rand index")
    ax.set_title(
        "Handwritten digits by trees of ten leaves (* without a reference clustering)", fontsize=10
    )
    ax.spines[["top", "right"]].set_visible(False)
    keys = [
        "digits and spectral clusters",
        "leaves and the clusters they explain",
        "leaves and digits",
    ]
    ax.legend(keys, loc="lower right", bbox_to_anchor=(0.9, 0.02), fontsize=8, frameon=False)
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, dpi=150)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE)
