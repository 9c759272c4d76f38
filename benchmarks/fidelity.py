"""How faithful the trees of all methods are, beside scikit-learn's own tree on the same labels.

    python benchmarks/fidelity.py [--quick] [--datasets ecoli beans ...]

writes ``benchmarks/results/fidelity.json`` and ``fidelity.md``. Every tree has as many leaves as there
are classes. Two measures say how well the leaves match the reference clustering: *leaf ARI*, the
adjusted Rand index of both, and *rows right*, the share of rows whose leaf's commonest cluster is
their own. Class ARI and class AMI compare the leaves with the classes; the objective is each
method's own.
"""

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_wine
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from machine import describe, save, table
from spexplain import (
    CART,
    EMN,
    IMM,
    BestTree,
    ExGreedy,
    ExKMC,
    ExShallow,
    KernelIMM,
    NonUniformCut,
    RandomCuts,
    SpexClique,
    SpexKNN,
    datasets,
    metrics,
)
from spexplain.references.spectral import SpectralReference

BUNDLED: dict[str, Callable[[], Any]] = {"wine": load_wine, "digits": load_digits}
SMALL = ("iris-uci", "wine", "r15", "pathbased", "ecoli", "cancer")
MIDDLE = ("digits", "beans")
LARGE = ("newsgroups", "caltech101", "cifar10")


class SklearnTree:
    """scikit-learn's classification tree of a given number of leaves, fitted to the clusters."""

    objective_ = None  # it reports none

    def __init__(self, n_leaves: int, *, refine: None, n_jobs: int) -> None:
        self.tree = DecisionTreeClassifier(max_leaf_nodes=n_leaves, random_state=0)

    def fit(self, X: np.ndarray, labels: np.ndarray) -> "SklearnTree":
        """Fit the tree; its leaves are the clusters of the rows."""
        self.labels_ = self.tree.fit(X, labels).apply(X)
        self.n_leaves_ = self.tree.get_n_leaves()
        return self


METHODS: dict[str, Callable[..., Any]] = {
    "sklearn-tree": SklearnTree,
    "spex-clique": SpexClique,
    "best": partial(BestTree, goal="agreement", keep_clusters=False),
    "spex-knn": SpexKNN,
    "cart": CART,
    "cart (paper)": partial(CART, leaf_weight="none"),
    "emn": EMN,
    "imm": IMM,
    "exkmc": ExKMC,
}
# Methods whose cost grows too fast for larger tables, or that are drawn at random.
SMALL_METHODS: dict[str, Callable[..., Any]] = {
    "non-uniform-cut": NonUniformCut,
    "kernel-imm": KernelIMM,
    "random-cuts": partial(RandomCuts, random_state=0),
    "exgreedy": ExGreedy,
    "exshallow": ExShallow,
}
# What is left out where it takes minutes and says little.
LEFT_OUT = (
    f"{', '.join(SMALL_METHODS)} are measured on the small tables ({', '.join(SMALL)}) only; refinement "
    f"for the objective is left out on {', '.join(LARGE)}, and so is any of exkmc, which with one leaf per "
    "cluster is the tree of imm."
)
SUMMARY = {
    "sklearn-tree": "scikit-learn's tree",
    "spex-clique": "SpexClique",
    "best": "BestTree (agreement)",
}


class Row(NamedTuple):
    """One tree."""

    dataset: str
    reference: str
    method: str
    refine: str
    leaves: int
    rows_right: float
    leaf_ari: float
    objective: float | None
    class_ari: float
    class_ami: float
    seconds: float


def references(name: str, data: Any) -> Iterator[tuple[str, np.ndarray]]:
    """Give the reference clusterings of a dataset: stored ones, or computed by the protocol."""
    X, n_classes = data.data, len(data.target_names)
    stored = [key for key in ("spectral", "kmeans") if key in data]
    for key in stored:
        yield key, data[key]
    if stored:
        return
    if name not in LARGE:
        spectral = SpectralReference(n_classes, eigen_solver="amg", random_state=570)
        yield "spectral", spectral.fit_predict(X)
        scaled = StandardScaler().fit_transform(X)
        yield "kmeans (standardised)", KMeans(n_classes, random_state=0).fit_predict(scaled)
    yield "kmeans", KMeans(n_classes, n_init=10, random_state=0).fit_predict(X)


def measure(name: str, *, n_jobs: int) -> Iterator[Row]:
    """Give the rows of one dataset."""
    data = BUNDLED[name]() if name in BUNDLED else datasets.load(name)
    for reference, labels in references(name, data):
        for method, make, refine in trees(name):
            explainer = make(len(data.target_names), refine=refine, n_jobs=n_jobs)
            begin = time.perf_counter()
            explainer.fit(data.data, labels)
            seconds = time.perf_counter() - begin
            clusters = metrics.agreement(explainer.labels_, labels)
            classes = metrics.agreement(explainer.labels_, data.target)
            yield Row(
                name,
                reference,
                method,
                refine or "none",
                int(explainer.n_leaves_),
                clusters.purity,
                clusters.ari,
                explainer.objective_,
                classes.ari,
                classes.ami,
                seconds,
            )


def trees(name: str) -> Iterator[tuple[str, Callable[..., Any], str | None]]:
    """Give the methods that are measured on a dataset, and how their trees are refined."""
    for method, make in (METHODS | (SMALL_METHODS if name in SMALL else {})).items():
        yield method, make, None
        if method in ("sklearn-tree", "best"):  # not ours to refine; refines by itself
            continue
        if method == "exkmc" and name in LARGE:
            continue
        if method in METHODS and name not in LARGE:
            yield method, make, "objective"
        yield method, make, "agreement"


def to_markdown(rows: list[Row], machine: dict[str, Any], command: str) -> str:
    """Return a summary, and one table per dataset and reference; the best figures are set in bold."""
    about = ", ".join(f"{key} {value}" for key, value in machine.items())
    absent = [name for name in SMALL + MIDDLE + LARGE if name not in {row.dataset for row in rows}]
    missing = f" Datasets that were not measured: {', '.join(absent)}." if absent else ""
    parts = [
        "# How faithful the trees are",
        f"Made by `{command}`. One leaf per class. **Rows right**: share of rows whose leaf's commonest cluster "
        "is their own. **Leaf ARI**: adjusted Rand index of leaves and reference clusters, the agreement that "
        "`BestTree` searches for. Higher is better for both.",
        f"Machine: {about}.",
        "## scikit-learn's tree, SpexClique and BestTree on the same labels",
        "scikit-learn's tree is `DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0)`. The best of "
        "the three is set in bold, at the decimals shown.",
        _summary(rows),
        _wins(rows),
        "## All methods",
        "`cart` weighs leaves by their size, as scikit-learn does; `cart (paper)` does not "
        '(`leaf_weight="none"`). Class ARI and class AMI compare the leaves with the classes. Objectives are '
        "each method's own: compare them before and after refinement, not between methods. `best` refines and "
        "searches by itself. Seconds are of one fit; the first of its kind may include compiling.",
        f"Left out: {LEFT_OUT}{missing}",
    ]
    header = [
        "method", "refine", "leaves", "rows right", "leaf ARI", "objective", "class ARI", "class AMI", "seconds",
    ]  # fmt: skip
    for (dataset, reference), group in groupby(rows, key=lambda row: row[:2]):
        pair = list(group)
        best = [max(round(figure, 3) for figure in figures) for figures in _both(pair)]
        parts += [
            f"### {dataset}, reference: {reference}",
            table(header, [_cells(row, *best) for row in pair]),
        ]
    return "\n\n".join(parts) + "\n"


def _both(rows: list[Row]) -> tuple[list[float], list[float]]:
    return [row.rows_right for row in rows], [row.leaf_ari for row in rows]


def _compared(rows: list[Row]) -> Iterator[tuple[Row, list[Row]]]:
    """Give the trees of the summary for every dataset and reference, in the order of the columns."""
    for _, group in groupby(rows, key=lambda row: row[:2]):
        found = {row.method: row for row in group if row.refine == "none"}
        if all(method in found for method in SUMMARY):
            compared = [found[method] for method in SUMMARY]
            yield compared[0], compared


def _summary(rows: list[Row]) -> str:
    names = list(SUMMARY.values())
    header = ["dataset", "reference", "leaves"]
    header += [f"rows right: {names[0]}", *names[1:], f"leaf ARI: {names[0]}", *names[1:]]
    lines = []
    for first, compared in _compared(rows):
        line = [first.dataset, first.reference, str(max(row.leaves for row in compared))]
        for figures in _both(compared):
            best = max(round(figure, 3) for figure in figures)
            line += [_bold(figure, best) for figure in figures]
        lines.append(line)
    return table(header, lines)


def _wins(rows: list[Row]) -> str:
    """Say how often scikit-learn's tree is above ours, below, and equal."""
    pairs = [compared for _, compared in _compared(rows)]
    sentences = []
    for place, name in list(enumerate(SUMMARY.values()))[1:]:
        for measure, title in (("rows_right", "rows right"), ("leaf_ari", "leaf ARI")):
            differences = [
                round(getattr(pair[place], measure), 3) - round(getattr(pair[0], measure), 3)
                for pair in pairs
            ]
            sentences.append(
                f"- {name}, {title}: above scikit-learn's tree in {sum(d > 0 for d in differences)} of "
                f"{len(pairs)} pairs, equal in {sum(d == 0 for d in differences)}, below in "
                f"{sum(d < 0 for d in differences)}."
            )
    return "\n".join(sentences)


def _bold(figure: float, best: float) -> str:
    return f"**{figure:.3f}**" if round(figure, 3) == best else f"{figure:.3f}"


def _cells(row: Row, most_right: float, best_ari: float) -> list[str]:
    figures = [
        _bold(row.rows_right, most_right),
        _bold(row.leaf_ari, best_ari),
        "–" if row.objective is None else f"{row.objective:.4f}",
        f"{row.class_ari:.3f}",
        f"{row.class_ami:.3f}",
        f"{row.seconds:.2f}",
    ]
    return [row.method, row.refine, str(row.leaves), *figures]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    everything = SMALL + MIDDLE + LARGE
    parser.add_argument("--datasets", nargs="+", choices=everything, default=everything)
    parser.add_argument("--quick", action="store_true", help="only the small datasets")
    parser.add_argument("--n-jobs", type=int, default=-1)
    parser.add_argument("--name", default="fidelity", help="name of the result files")
    options = parser.parse_args()
    rows: list[Row] = []
    machine, command = describe(), " ".join(["python benchmarks/fidelity.py", *sys.argv[1:]])
    for name in SMALL if options.quick else options.datasets:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # fewer leaves than classes: the table says so
                for row in measure(name, n_jobs=options.n_jobs):
                    rows.append(row)
                    print(
                        f"{row.dataset:11} {row.reference:22} {row.method:15} {row.refine:10} rows right "
                        f"{row.rows_right:.3f} leaf ARI {row.leaf_ari:.3f} {row.seconds:8.2f} s",
                        flush=True,
                    )
        except (OSError, ImportError) as error:
            print(f"{name}: left out. {error}")
        # After every dataset, so that a long run loses little if it is cut short.
        found = [row._asdict() for row in rows]
        results = {"machine": machine, "command": command, "rows": found}
        save(options.name, results, to_markdown(rows, machine, command))


if __name__ == "__main__":
    main()
