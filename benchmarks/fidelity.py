"""Fidelity of all methods on all datasets, before and after refinement.

    python benchmarks/fidelity.py [--quick] [--datasets ecoli beans ...]

writes ``benchmarks/results/fidelity.json`` and ``fidelity.md``. Every tree has as many leaves as there
are classes. REF is the adjusted Rand index with the reference clustering, ARI and AMI compare with
the classes; the objective is each method's own.
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
from sklearn.preprocessing import StandardScaler

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

SMALL = ("iris-uci", "r15", "pathbased", "ecoli", "cancer")
LARGE = ("beans", "newsgroups", "caltech101", "cifar10")
METHODS: dict[str, Callable[..., Any]] = {
    "spex-clique": SpexClique,
    "spex-knn": SpexKNN,
    "cart": CART,
    "emn": EMN,
    "imm": IMM,
    "exkmc": ExKMC,
    "best": BestTree,
}
# Methods whose cost grows too fast for the large tables, or that are drawn at random.
SMALL_METHODS: dict[str, Callable[..., Any]] = {
    "non-uniform-cut": NonUniformCut,
    "kernel-imm": KernelIMM,
    "random-cuts": partial(RandomCuts, random_state=0),
    "exgreedy": ExGreedy,
    "exshallow": ExShallow,
}
REFINEMENTS = (None, "objective", "agreement")


class Row(NamedTuple):
    """One tree."""

    dataset: str
    reference: str
    method: str
    refine: str
    leaves: int
    objective: float
    ref: float
    ari: float
    ami: float
    seconds: float


def references(name: str, data: Any) -> Iterator[tuple[str, np.ndarray]]:
    """Give the reference clusterings of a dataset: stored ones, or computed by the protocol."""
    X, n_classes = data.data, len(data.target_names)
    stored = [key for key in ("spectral", "kmeans") if key in data]
    for key in stored:
        yield key, data[key]
    if stored:
        return
    if name in SMALL or name == "beans":
        spectral = SpectralReference(n_classes, eigen_solver="amg", random_state=570)
        yield "spectral", spectral.fit_predict(X)
        scaled = StandardScaler().fit_transform(X)
        yield "kmeans (standardised)", KMeans(n_classes, random_state=0).fit_predict(scaled)
    yield "kmeans", KMeans(n_classes, n_init=10, random_state=0).fit_predict(X)


def measure(name: str, *, n_jobs: int) -> Iterator[Row]:
    """Give the rows of one dataset."""
    data = datasets.load(name)
    for reference, labels in references(name, data):
        for method, make in (METHODS | (SMALL_METHODS if name in SMALL else {})).items():
            for refine in _refinements(method):
                explainer = make(len(data.target_names), refine=refine, n_jobs=n_jobs)
                begin = time.perf_counter()
                explainer.fit(data.data, labels)
                seconds = time.perf_counter() - begin
                classes = metrics.agreement(explainer.labels_, data.target)
                yield Row(
                    name,
                    reference,
                    method,
                    refine or "none",
                    explainer.n_leaves_,
                    explainer.objective_,
                    metrics.agreement(explainer.labels_, labels).ari,
                    classes.ari,
                    classes.ami,
                    seconds,
                )


def _refinements(method: str) -> tuple[str | None, ...]:
    """Return how a method's trees are refined: BestTree by itself, service costs by agreement only."""
    if method == "best":
        return (None,)
    return REFINEMENTS if method in METHODS else (None, "agreement")


def to_markdown(rows: list[Row], machine: dict[str, Any], command: str) -> str:
    """Return one table per dataset and reference; the best REF is set in bold."""
    about = ", ".join(f"{key} {value}" for key, value in machine.items())
    parts = [
        "# Fidelity of all methods, before and after refinement",
        f"Made by `{command}`. One leaf per class. REF: adjusted Rand index with the "
        "reference clustering; ARI, AMI: with the classes. Objectives are each method's own: compare "
        "them before and after, not between methods. `best` refines and searches by itself.",
        f"Machine: {about}.",
    ]
    header = ["method", "refine", "leaves", "objective", "REF", "ARI", "AMI", "seconds"]
    for (dataset, reference), group in groupby(rows, key=lambda row: row[:2]):
        trees = list(group)
        best = max(round(row.ref, 6) for row in trees)
        parts += [
            f"## {dataset}, reference: {reference}",
            table(header, [_cells(row, best) for row in trees]),
        ]
    return "\n\n".join(parts) + "\n"


def _cells(row: Row, best: float) -> list[str]:
    ref = f"**{row.ref:.3f}**" if round(row.ref, 6) == best else f"{row.ref:.3f}"
    figures = [
        f"{row.objective:.4f}",
        ref,
        f"{row.ari:.3f}",
        f"{row.ami:.3f}",
        f"{row.seconds:.2f}",
    ]
    return [row.method, row.refine, str(row.leaves), *figures]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", nargs="+", choices=SMALL + LARGE, default=SMALL + LARGE)
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
                        f"{row.dataset:11} {row.reference:22} {row.method:12} {row.refine:10} "
                        f"REF {row.ref:.4f} ARI {row.ari:.3f} {row.seconds:8.2f} s",
                        flush=True,
                    )
        except (OSError, ImportError) as error:
            print(f"{name}: left out. {error}")
        # After every dataset, so that a long run loses little if it is cut short.
        trees = [row._asdict() for row in rows]
        results = {"machine": machine, "command": command, "rows": trees}
        save(options.name, results, to_markdown(rows, machine, command))


if __name__ == "__main__":
    main()
