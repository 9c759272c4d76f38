"""The demonstration behind ``make demo``: explain three groups of iris flowers."""

from importlib.util import find_spec
from textwrap import fill

import numpy as np

from spexplain import BestTree, datasets
from spexplain.references.named import cluster

REPORT = "spexplain-demo.html"


def main() -> None:
    """Print a tree, the rule of every group and how good they are; write a report."""
    iris = datasets.load("iris-uci")
    names = iris.feature_names
    codes = cluster("spectral", iris.data, n_clusters=3, random_state=570)
    petals = [
        iris.data[codes == code, names.index("petal length (cm)")].mean() for code in range(3)
    ]
    sizes = np.empty(3, dtype=object)
    sizes[np.argsort(petals)] = "small", "medium", "large"
    explainer = BestTree().fit(iris.data, sizes[codes])

    print("Three groups of 150 iris flowers, and the tree that explains them")
    print()
    print(explainer.to_text(names))
    print()
    for segment in explainer.segments(output="records", feature_names=names):
        print(f"{segment['cluster']} ({segment['rows']} rows): {segment['rule']}")
        print(f"  precision {segment['precision']:.0%}, recall {segment['recall']:.0%}")
    print()
    for sentence in explainer.verdict_.sentences:
        print(fill(sentence, 80, subsequent_indent="  "))
    if explainer.optimal_:
        print("Proved: no tree of three leaves puts more rows right.")
    print()
    if find_spec("jinja2") is None:
        print('For the report: pip install "spexplain[report]"')
        return
    path = explainer.report(REPORT, title="Three groups of iris flowers", feature_names=names)
    print(f"report: {path.resolve()}")


if __name__ == "__main__":
    main()
