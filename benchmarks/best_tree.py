"""The best trees of a size: rows right and agreement beside solvers of optimal trees, conductance beside greedy SpEx.

    python benchmarks/best_tree.py [--time-budget 60] [--peer-seconds 60] [--lines wine-4 digits-6 ...]

writes ``benchmarks/results/best_tree.json`` and ``best_tree.md``, in less than ten minutes. Labels are those of
``KMeans(k, n_init=10, random_state=0)`` on standardised columns; trees see the columns as they are.
ConTree (PyPI `pycontree`) and STreeD (`pystreed`) get 20 seconds a tree unless told otherwise; where they
are not installed, they are left out. ``--lines`` measures some lines only, and no conductances.
"""

import argparse
import sys
import time
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fidelity import references
from machine import describe, save, table
from spexplain import BestTree, SpexClique, datasets

BUNDLED = {"wine": load_wine, "cancer": load_breast_cancer, "digits": load_digits}
# Data, clusters, leaves, most tests on a path.
LINES: tuple[tuple[str, int, int, int | None], ...] = (
    ("wine", 4, 4, 2),
    ("wine", 8, 8, 3),
    ("cancer", 4, 4, 2),
    ("cancer", 8, 8, 3),
    ("beans", 4, 4, 2),
    ("beans", 7, 8, 3),
    ("digits", 4, 4, 2),
    ("digits", 8, 8, 3),
    ("cancer", 5, 4, 2),
    ("digits", 6, 6, None),
    ("digits", 10, 10, None),
)
CONDUCTANCE = ("iris-uci", "wine", "pathbased", "ecoli", "r15")
PEER_SECONDS = 20.0


class Row(NamedTuple):
    """One tree. The agreement is that of its leaves, and of the clusters that they stand for."""

    data: str
    clusters: int
    leaves: int
    depth: int | None
    tree: str
    right: float
    leaf_ari: float | None
    label_ari: float
    bound: float | None
    seconds: float


@cache
def columns(name: str) -> np.ndarray:
    """Return the columns of a dataset."""
    loaded: Any = BUNDLED[name]() if name in BUNDLED else datasets.load(name)
    return np.asarray(loaded.data)


@cache
def clusters(name: str, k: int) -> np.ndarray:
    """Return the labels that trees explain."""
    scaled = StandardScaler().fit_transform(columns(name))
    return np.asarray(KMeans(k, n_init=10, random_state=0).fit_predict(scaled))


def peers(n_leaves: int, depth: int | None, limit: float) -> Iterator[tuple[str, Any]]:
    """Give the other trees of the same size, as far as they are installed."""
    options = {"max_depth": depth} if depth is not None else {"max_leaf_nodes": n_leaves}
    yield "scikit-learn", DecisionTreeClassifier(random_state=0, **options)
    if depth is not None:
        try:
            from pycontree import ConTree
        except ImportError:
            pass
        else:
            yield "ConTree", ConTree(max_depth=depth, time_limit=limit)
    try:
        from pystreed import STreeDClassifier
    except ImportError:
        return
    deepest = depth or min(n_leaves - 1, 4)
    yield (
        "STreeD",
        STreeDClassifier(max_depth=deepest, max_num_nodes=n_leaves - 1, time_limit=limit),
    )


def measure(time_budget: float | None, limit: float, lines: list[str]) -> Iterator[Row]:
    """Give the trees of all lines, or of some, given by data and clusters."""
    for name, k, n_leaves, depth in LINES:
        if lines and f"{name}-{k}" not in lines:
            continue
        X, labels = columns(name), clusters(name, k)
        line = name, k, n_leaves, depth
        for goal in ("fidelity", "agreement"):
            best = BestTree(
                n_leaves=n_leaves,
                max_depth=depth,
                goal=goal,
                keep_clusters=False,
                time_budget=time_budget,
            )
            begin = time.perf_counter()
            best.fit(X, labels)
            seconds = time.perf_counter() - begin
            yield Row(
                *line,
                f"BestTree ({goal})",
                *_measures(best.predict_reference(X), labels, best.labels_),
                best.bound_,
                seconds,
            )
        for title, other in peers(n_leaves, depth, limit):
            begin = time.perf_counter()
            other.fit(_frame(X) if title == "ConTree" else X, labels)
            seconds = time.perf_counter() - begin
            said = np.asarray(other.predict(_frame(X) if title == "ConTree" else X))
            leaves = other.apply(X) if title == "scikit-learn" else None
            yield Row(*line, title, *_measures(said, labels, leaves), None, seconds)


def _frame(X: np.ndarray) -> Any:
    import pandas as pd

    return pd.DataFrame(X)


def _measures(
    said: np.ndarray, labels: np.ndarray, leaves: np.ndarray | None
) -> tuple[float, float | None, float]:
    leaf_ari = None if leaves is None else float(adjusted_rand_score(labels, leaves))
    return float(np.mean(said == labels)), leaf_ari, float(adjusted_rand_score(labels, said))


class Sums(NamedTuple):
    """Sums of conductances of trees with one leaf per class."""

    data: str
    reference: str
    leaves: int
    greedy: float
    refined: float
    best: float
    bound: float
    is_proved: bool
    seconds: float


def conductances(time_budget: float | None) -> Iterator[Sums]:
    """Give greedy SpEx, the same refined, and the best tree found, by the objective of SpEx."""
    for name in CONDUCTANCE:
        data = BUNDLED[name]() if name in BUNDLED else datasets.load(name)
        n_leaves = len(data.target_names)
        for reference, labels in references(name, data):
            greedy, refined = (
                SpexClique(n_leaves=n_leaves, refine=refine).fit(data.data, labels).objective_
                for refine in (None, "objective")
            )
            best = BestTree(
                n_leaves=n_leaves, goal="conductance", keep_clusters=False, time_budget=time_budget
            )
            begin = time.perf_counter()
            best.fit(data.data, labels)
            yield Sums(
                name,
                reference,
                n_leaves,
                greedy,
                refined,
                best.value_,
                best.bound_,
                best.optimal_,
                time.perf_counter() - begin,
            )


def to_markdown(
    rows: list[Row], sums: list[Sums], machine: dict[str, Any], command: str, limit: float
) -> str:
    """Return both tables."""
    about = ", ".join(f"{key} {value}" for key, value in machine.items())
    lines = [
        [
            f"{row.data}, {row.clusters}",
            str(row.leaves),
            "–" if row.depth is None else str(row.depth),
            row.tree,
            f"{row.right:.4f}",
            "–" if row.leaf_ari is None else f"{row.leaf_ari:.3f}",
            f"{row.label_ari:.3f}",
            "–" if row.bound is None else f"{row.bound:.4f}",
            f"{row.seconds:.1f}",
        ]
        for row in rows
    ]
    found = [
        [
            each.data,
            each.reference,
            str(each.leaves),
            f"{each.greedy:.4f}",
            f"{each.refined:.4f}",
            f"{each.best + 0.0:.4f}",
            "yes" if each.is_proved else f"no: at least {each.bound:.4f}",
            f"{each.seconds:.1f}",
        ]
        for each in sums
    ]
    return "\n\n".join(
        [
            "# The best trees of a size",
            f"Made by `{command}`. Labels: `KMeans(k, n_init=10, random_state=0)` on standardised columns; trees see "
            "the columns as they are. **Leaf ARI** compares the leaves with the clusters, **label ARI** what they "
            "stand for, so that leaves of one cluster count as one. The bound is that of the goal: no tree of this "
            f"size exceeds it. ConTree and STreeD have {limit:g} seconds, and are left out where they are not "
            "installed.",
            f"Machine: {about}.",
            "## Rows right and agreement",
            table(
                ["data, clusters", "leaves", "depth", "tree", "rows right", "leaf ARI", "label ARI", "bound", "s"],
                lines,
            ),
            "## How far greedy SpEx is from the best tree by its own objective",
            "The sum of the conductances of the leaves in the graph of the clusters' cliques; low is good. One leaf "
            "per class.",
            table(
                ["data", "reference", "leaves", "greedy", "refined", "best tree", "proved", "seconds"],
                found,
            ),
        ]
    ) + "\n"  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--time-budget", type=float, help="seconds of every BestTree")
    parser.add_argument("--peer-seconds", type=float, default=PEER_SECONDS)
    known = [f"{name}-{k}" for name, k, *_ in LINES]
    parser.add_argument("--lines", nargs="+", choices=known, default=[])
    parser.add_argument("--name", default="best_tree", help="name of the result files")
    options = parser.parse_args()
    command = " ".join(["python benchmarks/best_tree.py", *sys.argv[1:]])
    rows, sums = list[Row](), list[Sums]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for each in () if options.lines else conductances(options.time_budget):
            sums.append(each)
            print(each, flush=True)
        for row in measure(options.time_budget, options.peer_seconds, options.lines):
            rows.append(row)
            print(row, flush=True)
    results = {
        "command": command,
        "machine": describe(),
        "rows": [row._asdict() for row in rows],
        "conductance": [each._asdict() for each in sums],
    }
    limit = options.peer_seconds
    save(options.name, results, to_markdown(rows, sums, results["machine"], command, limit))


if __name__ == "__main__":
    main()
