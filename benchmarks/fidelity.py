"""How faithful the trees of all methods are, beside scikit-learn's own tree on the same labels.

    python benchmarks/fidelity.py [--quick] [--parts pairs depth conductance ...] [--datasets ecoli beans ...]
        [--methods sklearn-tree best ...]

writes ``benchmarks/results/fidelity.json`` and ``fidelity.md``. There are five parts:

- *pairs*: trees of all methods for every dataset and reference, as many leaves as there are classes. Three
  measures say how well the leaves match the reference clustering: *rows right*, the share of rows whose
  leaf's commonest cluster is their own, *balanced*, the mean of that share over the clusters (each leaf
  stands for the cluster of which it has most), and *agreement*, the adjusted Rand index of both. Class ARI
  and class AMI compare the leaves with the classes; the objective is each method's own.
- *depth*: rows right of trees of a given depth and size beside solvers of optimal trees, where they are
  installed (``pip install spexplain[benchmark]``): ConTree, which cannot limit the leaves, and STreeD, which
  looks at some thresholds only.
- *conductance*: how far greedy SpEx is from the best tree by its own objective, with proofs, on small tables.
- *held-out*: rows right of rows that were left out, five stratified folds.
- *peers*: our defaults beside other packages (``peers.py`` says how to install them) on the pairs of the first
  part, in one run: rows right, balanced, agreement, clusters that no leaf stands for, seconds.

Parts, datasets and methods that were not measured are kept from the last run of the same name. Where there are many
cores, parts and datasets can be measured side by side under names of their own, and ``--join`` makes one
result of them.
"""

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from machine import RESULTS, describe, save, table
from peers import APART, GIVEN_UP, LIMIT, ROOM, THRESHOLDS, NoTreeError, SklearnTree, installed
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
LARGE = ("newsgroups", "newsgroups-40", "caltech101", "cifar10")
# Words of the same documents, sparse; the clusters are those of the embeddings. The number: leaves.
WORDS = ("newsgroups-words", "newsgroups-words-40")


METHODS: dict[str, Callable[..., Any]] = {
    "sklearn-tree": SklearnTree,
    "spex-clique": SpexClique,
    "best": partial(BestTree, keep_clusters=False),
    "best, clusters kept": BestTree,
    "best, balanced": partial(BestTree, goal="balanced", keep_clusters=False),
    "best, agreement": partial(BestTree, goal="agreement", keep_clusters=False),
    "best, conductance": partial(BestTree, goal="conductance", keep_clusters=False),
    "spex-knn": SpexKNN,
    "cart": CART,
    "cart (paper)": partial(CART, leaf_weight="none"),
    "emn": EMN,
    "imm": IMM,
    "exkmc": ExKMC,
}
# Methods whose cost grows too fast for larger tables, or that are drawn at random.
SMALL_METHODS: dict[str, Callable[..., Any]] = {
    "best, cost": partial(BestTree, goal="cost", keep_clusters=False),
    "non-uniform-cut": NonUniformCut,
    "kernel-imm": KernelIMM,
    "random-cuts": partial(RandomCuts, random_state=0),
    "exgreedy": ExGreedy,
    "exshallow": ExShallow,
}
# Methods that need no more of a sparse table than its entries.
WORD_METHODS = (
    "sklearn-tree", "spex-clique", "best", "best, clusters kept", "best, balanced", "best, agreement",
    "cart",
)  # fmt: skip
# What is left out where it takes minutes and says little.
LEFT_OUT = (
    f"{', '.join(SMALL_METHODS)} are measured on the small tables ({', '.join(SMALL)}) only, "
    f"on words ({', '.join(WORDS)}) those that need no zeros, unrefined. Refinement "
    f"for the objective is left out on {', '.join(LARGE)}, and so is any of exkmc, which with one leaf per "
    "cluster is the tree of imm."
)
# Trees that stand beside scikit-learn's in the summary, by measure: BestTree with the goal of that measure.
SUMMARY = {
    "rows_right": {
        "sklearn-tree": "scikit-learn's tree",
        "spex-clique": "SpexClique",
        "best": "BestTree",
    },
    "leaf_ari": {
        "sklearn-tree": "scikit-learn's tree",
        "spex-clique": "SpexClique",
        "best, agreement": "BestTree (agreement)",
    },
}
TITLES = {"rows_right": "rows right", "balanced": "balanced", "leaf_ari": "agreement"}
MEASURES = tuple(TITLES)
THEIRS = "scikit-learn"  # the peer that all others are compared with
PARTS = ("pairs", "depth", "conductance", "held-out", "peers")
KEYS = ("rows", "depths", "conductances", "held_out", "peers")
# Data, clusters, depth and leaves of the trees that are compared with optimal ones.
DEPTHS = [
    (name, k, depth, 2**depth)
    for name in ("wine", "cancer", "beans", "digits")
    for k, depth in ((4, 2), (7 if name == "beans" else 8, 3))
] + [("digits", 6, 5, 6)]
HALF = LIMIT / 2  # seconds of `BestTree` beside solvers that have all of them
# What stands beside the peers: what users get who change nothing, and who ask for agreement.
OURS: dict[str, Callable[..., Any]] = {
    "SpexClique": SpexClique,
    "BestTree": BestTree,
    "BestTree, agreement": partial(BestTree, goal="agreement"),
}
CONDUCTANCE = ("iris-uci", "wine", "pathbased", "ecoli", "r15")
HELD_OUT = ("wine", "cancer", "digits", "beans", "newsgroups words")


class Row(NamedTuple):
    """One tree."""

    dataset: str
    reference: str
    method: str
    refine: str
    leaves: int
    rows_right: float
    balanced: float
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


def loaded(name: str) -> tuple[Any, int]:
    """Return a dataset, and how many leaves its trees have: one a class, or what the name ends with."""
    table, _, number = name.rpartition("-")
    is_number = number.isdigit()
    table = table if is_number else name
    if table in BUNDLED:
        data: Any = BUNDLED[table]()
    elif table in WORDS:
        data = datasets.load("newsgroups")
        data.data = words()
    else:
        data = datasets.load(table)
    return data, int(number) if is_number else len(data.target_names)


def measure(name: str, *, n_jobs: int, methods: Sequence[str]) -> Iterator[Row]:
    """Give the rows of one dataset and some methods."""
    data, n_leaves = loaded(name)
    for reference, labels in references(name, data):
        for method, make, refine in trees(name):
            if methods and method not in methods:
                continue
            options = {"n_leaves": n_leaves, "refine": refine, "n_jobs": n_jobs}
            explainer = make(**options)
            begin = time.process_time()
            explainer.fit(data.data, labels)
            seconds = time.process_time() - begin
            clusters = metrics.agreement(explainer.labels_, labels)
            classes = metrics.agreement(explainer.labels_, data.target)
            yield Row(
                name,
                reference,
                method,
                refine or "none",
                int(explainer.n_leaves_),
                clusters.purity,
                balanced(explainer.labels_, labels),
                clusters.ari,
                explainer.objective_,
                classes.ari,
                classes.ami,
                seconds,
            )


def balanced(leaves: np.ndarray, labels: np.ndarray) -> float:
    """Return the mean recall of the clusters, each leaf standing for the one of which it has most."""
    counts = _counts(leaves, labels)
    return float((counts / counts.sum(axis=0)).max(axis=1).sum() / counts.shape[1])


def _counts(leaves: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return how many rows of each cluster lie in each leaf."""
    numbers, codes = (np.unique(each, return_inverse=True)[1] for each in (leaves, labels))
    counts = np.zeros((numbers.max() + 1, codes.max() + 1))
    np.add.at(counts, (numbers, codes), 1)
    return counts


def measure_depths(quick: bool, n_jobs: int, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Give rows right of trees of limited depth, beside solvers of optimal trees."""
    for name, n_clusters, depth, n_leaves in DEPTHS:
        if name not in names or (quick and (depth > 2 or name == "beans")):
            continue
        X = np.asarray(_data(name).data, dtype=np.float64)
        scaled = StandardScaler().fit_transform(X)
        labels = KMeans(n_clusters, n_init=10, random_state=0).fit_predict(scaled)
        for solver, make in solvers(depth, n_leaves, n_jobs).items():
            begin = time.perf_counter(), time.process_time()
            fitted = make().fit(X, labels)
            seconds, of_processors = time.perf_counter() - begin[0], time.process_time() - begin[1]
            is_ours = isinstance(fitted, BestTree)
            predicted = fitted.predict_reference(X) if is_ours else fitted.predict(X)
            leaves = fitted.labels_ if is_ours else predicted
            yield {
                "dataset": name,
                "clusters": n_clusters,
                "depth": depth,
                "leaves": n_leaves,
                "solver": solver,
                "rows_right": float(np.mean(predicted == labels)),
                "ari": metrics.agreement(leaves, labels).ari,
                "optimal": fitted.optimal_ if is_ours else None,
                "seconds": seconds,
                "processor_seconds": of_processors,
            }


def solvers(depth: int, n_leaves: int, n_jobs: int) -> dict[str, Callable[[], Any]]:
    """Return what finds trees of a depth and size; solvers that are not installed are left out."""
    options: dict[str, Any] = {"n_leaves": n_leaves, "max_depth": depth, "keep_clusters": False}
    found: dict[str, Callable[[], Any]] = {
        "scikit-learn": lambda: DecisionTreeClassifier(
            max_depth=depth,
            max_leaf_nodes=None if n_leaves == 2**depth else n_leaves,
            random_state=0,
        ),
        "BestTree": lambda: BestTree(n_jobs=n_jobs, **options),
        f"BestTree, {HALF:g} s": lambda: BestTree(n_jobs=n_jobs, time_budget=HALF, **options),
        "BestTree, agreement": lambda: BestTree(goal="agreement", n_jobs=n_jobs, **options),
    }
    try:
        from pycontree import ConTree

        if n_leaves == 2**depth:
            found["ConTree"] = lambda: ConTree(max_depth=depth, time_limit=LIMIT)
    except ImportError:
        pass
    try:
        from pystreed import STreeDClassifier

        found["STreeD"] = lambda: STreeDClassifier(
            max_depth=depth, max_num_nodes=n_leaves - 1, time_limit=LIMIT
        )
    except ImportError:
        pass
    return found


def measure_conductances(
    quick: bool, n_jobs: int, names: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Give sums of conductances: of greedy SpEx, of the same refined, and of the best tree, proved or not."""
    for name in CONDUCTANCE:
        if name not in names:
            continue
        data, n_leaves = loaded(name)
        for reference, labels in references(name, data):
            greedy, refined = (
                SpexClique(n_leaves=n_leaves, refine=refine, n_jobs=n_jobs)
                .fit(data.data, labels)
                .objective_
                for refine in (None, "objective")
            )
            options: dict[str, Any] = {"time_budget": LIMIT, "keep_clusters": False}
            best = BestTree(n_leaves=n_leaves, goal="conductance", n_jobs=n_jobs, **options)
            begin = time.perf_counter()
            best.fit(data.data, labels)
            yield {
                "dataset": name,
                "reference": reference,
                "leaves": n_leaves,
                "greedy": greedy,
                "refined": refined,
                "best": best.value_,
                "bound": best.bound_,
                "optimal": best.optimal_,
                "seconds": time.perf_counter() - begin,
            }


def measure_held_out(quick: bool, n_jobs: int, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Give rows right of five stratified folds, for rows that were seen and for those left out."""
    methods: dict[str, Callable[[int, int], Any]] = {
        "scikit-learn": lambda k, n: DecisionTreeClassifier(max_leaf_nodes=k, random_state=0),
        "SpexClique": lambda k, n: SpexClique(n_leaves=k, n_jobs=n_jobs),
        "BestTree": lambda k, n: BestTree(n_leaves=k, keep_clusters=False, n_jobs=n_jobs),
        "BestTree, leaves of 1 %": lambda k, n: BestTree(
            n_leaves=k, keep_clusters=False, n_jobs=n_jobs, min_samples_leaf=max(n // 100, 1)
        ),
    }
    for name in HELD_OUT[:3] if quick else HELD_OUT:
        if name.replace(" ", "-") not in names:
            continue
        try:
            if name == "newsgroups words":  # and the k-means clusters of the embeddings
                X, labels = words(), datasets.load("newsgroups").kmeans
            else:
                X, labels = _clustered(name)
        except OSError as error:
            print(f"{name}: left out. {error}")
            continue
        n_clusters = len(np.unique(labels))
        folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(labels, labels))
        for method, make in methods.items():
            seen, left_out, seconds = [], [], 0.0
            for train, test in folds:
                begin = time.process_time()
                model = make(n_clusters, len(train)).fit(X[train], labels[train])
                seconds += time.process_time() - begin
                say = getattr(model, "predict_reference", model.predict)
                seen.append(np.mean(say(X[train]) == labels[train]))
                left_out.append(np.mean(say(X[test]) == labels[test]))
            yield {
                "dataset": name,
                "method": method,
                "leaves": n_clusters,
                "seen": float(np.mean(seen)),
                "left_out": float(np.mean(left_out)),
                "deviation": float(np.std(left_out)),
                "seconds": seconds / len(folds),
            }


def measure_peers(name: str, n_jobs: int, wanted: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Give the trees of other packages and of our defaults, of some of them; seconds are those of processors."""
    try:
        data, n_leaves = loaded(name)
    except OSError as error:
        print(f"{name}: left out. {error}")
        return
    X = data.data if sparse.issparse(data.data) else np.asarray(data.data, dtype=np.float64)
    methods = {
        method: make
        for method, make in (installed() | OURS).items()
        if not wanted or method in wanted
    }
    wine = load_wine(return_X_y=True)
    for make in OURS.values():  # compiles what it needs before the clock runs
        make(n_leaves=4).fit(*wine)
    for reference, labels in references(name, data):
        for method, make in methods.items():
            pair = {"dataset": name, "reference": reference, "method": method}
            explainer = make(n_leaves=n_leaves, **({"n_jobs": n_jobs} if method in OURS else {}))
            begin = time.process_time()
            try:
                explainer.fit(X, labels)
            except NoTreeError as error:
                yield pair | {"failed": str(error)}
                continue
            seconds = time.process_time() - begin
            clusters = metrics.agreement(explainer.labels_, labels)
            yield pair | {
                "leaves": int(explainer.n_leaves_),
                "rows_right": clusters.purity,
                "balanced": balanced(explainer.labels_, labels),
                "leaf_ari": clusters.ari,
                "lost": lost(explainer.labels_, labels),
                "seconds": getattr(explainer, "seconds_", seconds),
            }


def lost(leaves: np.ndarray, labels: np.ndarray) -> int:
    """Return how many clusters are the commonest of no leaf."""
    return len(np.unique(labels)) - len(np.unique(_counts(leaves, labels).argmax(axis=1)))


def _data(name: str) -> Any:
    bundled = BUNDLED | {"cancer": load_breast_cancer}
    return bundled[name]() if name in bundled else datasets.load(name)


def _clustered(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return a table and its k-means clusters, as many as it has classes, or four."""
    data = _data(name)
    X = np.asarray(data.data, dtype=np.float64)
    n_clusters = max(len(data.target_names), 4)
    scaled = StandardScaler().fit_transform(X)
    return X, KMeans(n_clusters, n_init=10, random_state=0).fit_predict(scaled)


def words() -> Any:
    """Return the word counts of Newsgroups, sparse."""
    folder = Path(os.environ.get("SPEXPLAIN_DATA", "."))
    stored = np.load(folder / "newsgroups_words.npz")
    parts = stored["data"].astype(np.float32), stored["indices"], stored["indptr"]
    return sparse.csr_matrix(parts, stored["shape"])


def trees(name: str) -> Iterator[tuple[str, Callable[..., Any], str | None]]:
    """Give the methods that are measured on a dataset, and how their trees are refined."""
    for method, make in (METHODS | (SMALL_METHODS if name in SMALL else {})).items():
        if name in WORDS and method not in WORD_METHODS:
            continue
        yield method, make, None
        if name in WORDS:
            continue
        if method.startswith(("sklearn-tree", "best")):  # not ours to refine; refines by itself
            continue
        if method == "exkmc" and name in LARGE:
            continue
        if method in METHODS and name not in LARGE:
            yield method, make, "objective"
        yield method, make, "agreement"


def to_markdown(found: dict[str, Any]) -> str:
    """Return a summary, and one table per dataset and reference; the best figures are set in bold."""
    rows = [Row(**row) for row in found["rows"]]
    about = ", ".join(f"{key} {value}" for key, value in found["machine"].items())
    parts = [
        "# How faithful the trees are",
        f"Made by `{found['command']}`. **Rows right**: share of rows whose leaf's commonest cluster is their own. "
        "**Balanced**: the mean of that share over the clusters. **Agreement**: adjusted Rand index of leaves and "
        "reference clusters. Higher is better for all.",
        f"Machine: {about}.",
    ]
    if found["peers"]:
        parts += _of_peers(found["peers"])
    if rows:
        parts += _of_pairs(rows)
    if found["depths"]:
        parts += _of_depths(found["depths"])
    if found["conductances"]:
        parts += _of_conductances(found["conductances"])
    if found["held_out"]:
        parts += _of_held_out(found["held_out"])
    if rows:
        parts += _of_methods(rows)
    return "\n\n".join(parts) + "\n"


def _of_peers(records: list[dict[str, Any]]) -> list[str]:
    """Return what the methods have in the mean, and every pair."""
    names = list(dict.fromkeys(each["method"] for each in records))
    pairs: dict[tuple[str, str], dict[str, Any]] = {}
    for each in records:
        known = pairs.setdefault((each["dataset"], each["reference"]), {})
        if "failed" not in each:
            known[each["method"]] = each
    everywhere = [name for name in names if all(name in known for known in pairs.values())]
    shared = [known for known in pairs.values() if len(known) == len(names)]
    lines = []
    for each in records:
        pair = [each["dataset"], each["reference"], each["method"]]
        if "failed" in each:
            lines.append([*pair, *["–"] * 5, each["failed"]])
            continue
        others = pairs[each["dataset"], each["reference"]].values()
        best = {key: max(round(other[key], 3) for other in others) for key in MEASURES}
        figures = [_bold(each[key], highest) for key, highest in best.items()]
        lines.append(
            [*pair, str(each["leaves"]), *figures, str(each["lost"]), f"{each['seconds']:.2f}"]
        )
    return [
        "## Other packages and our defaults on the same labels",
        "As many leaves as clusters, or as the name says. ConTree takes no number of leaves: it has the least depth "
        "that holds as many, and up to 2^depth leaves. STreeD looks at "
        f"{THRESHOLDS} thresholds of each column and at trees of depth 4 at most. Both are told to stop after "
        f"{LIMIT:g} s. ExKMC is the authors' package, with the means of the clusters as centres. Kauri clusters by "
        "itself and never sees the labels. All but scikit-learn and ours get sparse tables as dense ones, and are "
        f"stopped after {GIVEN_UP} s of processors or at {ROOM >> 30} GiB. *Lost*: clusters that no leaf stands "
        "for. Seconds are of processors, all threads added. *Above, equal, below*: pairs with more, equally many and "
        "fewer rows right than scikit-learn's tree.",
        f"### Means of the {len(shared)} pairs for which all have a tree",
        _means(shared, names),
        f"### Means of all {len(pairs)} pairs",
        _means(list(pairs.values()), everywhere),
        "### Every pair",
        table(
            ["dataset", "reference", "method", "leaves", *TITLES.values(), "lost", "seconds"], lines
        ),
    ]


def _means(pairs: list[dict[str, Any]], names: list[str]) -> str:
    """Return a table of means over pairs, a line for each method."""
    lines = []
    for name in names:
        ours = [known[name] for known in pairs]
        signs = [
            np.sign(round(known[name]["rows_right"], 3) - round(known[THEIRS]["rows_right"], 3))
            for known in pairs
        ]
        lines.append(
            [
                name,
                *(f"{np.mean([each[key] for each in ours]):.3f}" for key in MEASURES),
                f"{np.mean([each['leaves'] for each in ours]):.1f}",
                str(sum(each["lost"] == 0 for each in ours)),
                f"{np.median([each['seconds'] for each in ours]):.3f}",
                " / ".join(str(signs.count(way)) for way in (1, 0, -1)),
            ]
        )
    titles = [TITLES[key] for key in MEASURES]
    kept = ["leaves", "pairs that keep every cluster", "median seconds", "above / equal / below"]
    return table(["method", *titles, *kept], lines)


def _of_pairs(rows: list[Row]) -> list[str]:
    parts = [
        "## scikit-learn's tree, SpexClique and BestTree on the same labels",
        "scikit-learn's tree is `DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0)`; one leaf per "
        "class, or as many as the name says. "
        '`BestTree(keep_clusters=False)` has its default goal in the first table, `goal="agreement"` in the '
        "second. The best of three is set in bold, at the decimals shown.",
    ]
    for measure_name, names in SUMMARY.items():
        header = ["dataset", "reference", "leaves", *names.values()]
        lines, losses, differences = [], [], []
        for (dataset, reference), group in groupby(rows, key=lambda row: row[:2]):
            known = {row.method: row for row in group if row.refine == "none"}
            if not all(method in known for method in names):
                continue
            figures = [round(getattr(known[method], measure_name), 3) for method in names]
            leaves = max(known[method].leaves for method in names)
            lines.append(
                [dataset, reference, str(leaves), *(_bold(x, max(figures)) for x in figures)]
            )
            differences.append(figures[-1] - figures[0])
            if figures[-1] < figures[0]:
                losses.append(
                    f"{dataset}, {reference} ({figures[-1]:.3f} against {figures[0]:.3f})"
                )
        parts += [
            f"### {TITLES[measure_name][0].upper()}{TITLES[measure_name][1:]}",
            table(header, lines),
            f"{list(names.values())[-1]} is above scikit-learn's tree in {sum(d > 0 for d in differences)} of "
            f"{len(differences)} pairs, equal in {sum(d == 0 for d in differences)}, below in {len(losses)}"
            + (f": {'; '.join(losses)}." if losses else "."),
        ]
    return parts


def _of_depths(records: list[dict[str, Any]]) -> list[str]:
    names = list(dict.fromkeys(each["solver"] for each in records))
    lines = []
    for key, group in groupby(
        records,
        key=lambda each: (
            each["dataset"],
            each["clusters"],
            each["depth"],
            each.get("leaves", 2 ** each["depth"]),
        ),
    ):
        known = {each["solver"]: each for each in group}
        best = max(round(each["rows_right"], 4) for each in known.values())
        line = [str(each) for each in key]
        for name in names:
            one = known.get(name)
            if one is None:
                line.append("–")
                continue
            right = f"{one['rows_right']:.4f}"
            right = f"**{right}**" if round(one["rows_right"], 4) == best else right
            proved = " proved" if one["optimal"] else ""
            took = f"{one['seconds']:.1f} s"
            if "processor_seconds" in one:
                took = f"{one['processor_seconds']:.1f} s CPU"
            line.append(f"{right} ({one['ari']:.3f}) {took}{proved}")
        lines.append(line)
    return [
        "## Rows right at equal depth, beside solvers of optimal trees",
        f"k-means clusters of the standardised table, trees on the raw one, other solvers for at most {LIMIT:g} s; in "
        "brackets the ARI, of the labels for solvers that do not say which leaf a row is in. STreeD takes its own "
        "default of thresholds a column. Seconds are those of processors (CPU), or of the clock in lines of "
        "earlier runs.",
        table(["data", "clusters", "depth", "leaves", *names], lines),
    ]


def _of_conductances(records: list[dict[str, Any]]) -> list[str]:
    lines = []
    for each in records:
        greedy, best = each["greedy"], each["best"]
        saved = max(greedy - best, 0.0) / greedy if greedy > 0 else 0.0
        lines.append(
            [
                each["dataset"],
                each["reference"],
                str(each["leaves"]),
                *(f"{each[name]:.4f}" for name in ("greedy", "refined", "best")),
                f"{100 * saved:.1f} %",
                "yes" if each["optimal"] else f"no: at least {each['bound']:.4f}",
                f"{each['seconds']:.1f}",
            ]
        )
    figures = ["greedy", "refined", "best", "less", "proved", "seconds"]
    return [
        "## How far greedy SpEx is from the best tree by its own objective",
        f"Sum of the conductances of the leaves in the graph of the clusters' cliques; low is good. `BestTree(goal="
        f'"conductance", keep_clusters=False, time_budget={LIMIT:g})`.',
        table(["data", "reference", "leaves", *figures], lines),
    ]


def _of_held_out(records: list[dict[str, Any]]) -> list[str]:
    lines, below = [], []
    for name, group in groupby(records, key=lambda each: each["dataset"]):
        known = {each["method"]: each for each in group}
        best = max(round(each["left_out"], 3) for each in known.values())
        for each in known.values():
            lines.append(
                [
                    name,
                    each["method"],
                    str(each["leaves"]),
                    f"{each['seen']:.3f}",
                    f"{_bold(each['left_out'], best)} ± {each['deviation']:.3f}",
                    f"{each['seconds']:.2f}",
                ]
            )
        theirs, ours = known.get("scikit-learn"), known.get("BestTree")
        if theirs and ours and ours["left_out"] < theirs["left_out"]:
            below.append(f"{name} ({ours['left_out']:.3f} against {theirs['left_out']:.3f})")
    verdict = f"BestTree is below scikit-learn's tree on: {', '.join(below)}." if below else ""
    return [
        "## Rows that were left out",
        "Rows right, mean of five stratified folds, with the deviation between folds; seconds of one fit, of "
        "processors or, in lines of earlier runs, of the clock.",
        table(["data", "method", "leaves", "rows seen", "rows left out", "seconds"], lines),
        *([verdict] if verdict else []),
    ]


def _of_methods(rows: list[Row]) -> list[str]:
    absent = [
        name for name in SMALL + MIDDLE + LARGE + WORDS if name not in {row.dataset for row in rows}
    ]
    missing = f" Datasets that were not measured: {', '.join(absent)}." if absent else ""
    parts = [
        "## All methods",
        "`cart` weighs leaves by their size, as scikit-learn does; `cart (paper)` does not "
        '(`leaf_weight="none"`). Class ARI and class AMI compare the leaves with the classes. Objectives are '
        "each method's own: compare them before and after refinement, not between methods. `best` refines and "
        "searches by itself, for its goal. Seconds are of one fit; the first of its kind may include compiling. "
        "They are those of processors, or of the clock in lines of earlier runs, on cores that were busy with "
        "other work: speed is measured in `speed.md`.",
        f"Left out: {LEFT_OUT}{missing}",
    ]
    header = [
        "method", "refine", "leaves", "rows right", "balanced", "agreement", "objective", "class ARI", "class AMI",
        "seconds",
    ]  # fmt: skip
    for (dataset, reference), group in groupby(rows, key=lambda row: row[:2]):
        pair = list(group)
        best = {name: max(round(getattr(row, name), 3) for row in pair) for name in MEASURES}
        parts += [
            f"### {dataset}, reference: {reference}",
            table(header, [_cells(row, best) for row in pair]),
        ]
    return parts


def _bold(figure: float, best: float) -> str:
    return f"**{figure:.3f}**" if round(figure, 3) == best else f"{figure:.3f}"


def _cells(row: Row, best: dict[str, float]) -> list[str]:
    figures = [
        *(_bold(getattr(row, name), highest) for name, highest in best.items()),
        "–" if row.objective is None else f"{row.objective:.4f}",
        f"{row.class_ari:.3f}",
        f"{row.class_ami:.3f}",
        f"{row.seconds:.2f}",
    ]
    return [row.method, row.refine, str(row.leaves), *figures]


def _before(name: str) -> dict[str, Any]:
    """Return what the last run of this name measured."""
    path = RESULTS / f"{name}.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    rows = [row for row in found.get("rows", []) if set(row) == set(Row._fields)]
    return {"rows": rows} | {key: found.get(key, []) for key in KEYS[1:]}


def _merged(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return records with those measured anew in the places of the old ones, others behind."""
    names = ("dataset", "reference", "clusters", "depth", "solver", "method", "refine")
    found = {tuple(each.get(name) for name in names): each for each in [*old, *new]}
    return list(found.values())


def _joined(names: list[str]) -> dict[str, Any]:
    """Return what several runs measured; what was measured twice, as the last of them has it."""
    runs = [json.loads((RESULTS / f"{name}.json").read_text()) for name in names]
    found: dict[str, Any] = {
        key: reduce(_merged, (run.get(key, []) for run in runs)) for key in KEYS
    }
    command = (
        f"{len(runs)} runs side by side, whose seconds are those of busy cores, joined by "
        f"python benchmarks/fidelity.py --join {' '.join(names)}"
    )
    machines = [run["machine"] for run in runs]
    about = {
        key: " / ".join(
            dict.fromkeys(
                part for each in machines for part in str(each.get(key, "?")).split(" / ")
            )
        )
        for key in machines[0]
    }
    return found | {"machine": about, "command": command}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    everything = SMALL + MIDDLE + LARGE + WORDS
    parser.add_argument("--datasets", nargs="+", choices=everything, default=everything)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--methods", nargs="+", help="only these, of the pairs and beside peers")
    parser.add_argument("--quick", action="store_true", help="only what takes minutes in all")
    parser.add_argument("--n-jobs", type=int, default=-1)
    parser.add_argument("--name", default="fidelity", help="name of the result files")
    parser.add_argument("--join", nargs="+", default=(), help="names of results to make one of")
    options = parser.parse_args()
    command = " ".join(["python benchmarks/fidelity.py", *sys.argv[1:]])
    found = _before(options.name) | {"machine": describe(), "command": command}
    if options.join:
        found = _joined(options.join)
        options.parts = ()

    order = {name: place for place, name in enumerate(everything)}
    methods = options.methods or ()

    def keep() -> None:
        # After every dataset, so that a long run loses little if it is cut short.
        peers = [THEIRS, *APART, *OURS]
        for key in ("rows", "peers"):
            seen = list(dict.fromkeys(each["reference"] for each in found[key]))
            found[key].sort(
                key=lambda each: (
                    order[each["dataset"]],
                    seen.index(each["reference"]),
                    peers.index(each["method"]) if key == "peers" else 0,
                )
            )
        save(options.name, found, to_markdown(found))

    if options.join:
        keep()
        return
    warnings.simplefilter("ignore")  # fewer leaves than classes: the table says so
    for key, part, measured in (
        ("depths", "depth", measure_depths),
        ("conductances", "conductance", measure_conductances),
        ("held_out", "held-out", measure_held_out),
    ):
        if part in options.parts:
            for record in measured(options.quick, options.n_jobs, options.datasets):
                found[key] = sorted(
                    _merged(found[key], [record]),
                    key=lambda each: order[each["dataset"].replace(" ", "-")],
                )
                print(", ".join(f"{name} {value}" for name, value in record.items()), flush=True)
                keep()
    names = SMALL if options.quick else options.datasets
    for name in names if "peers" in options.parts else ():
        records = []
        for record in measure_peers(name, options.n_jobs, methods):
            records.append(record)
            print(", ".join(f"{key} {value}" for key, value in record.items()), flush=True)
        found["peers"] = _merged(found["peers"], records)
        keep()
    for name in names if "pairs" in options.parts else ():
        rows: list[dict[str, Any]] = []
        try:
            for row in measure(name, n_jobs=options.n_jobs, methods=methods):
                rows.append(row._asdict())
                print(
                    f"{row.dataset:11} {row.reference:22} {row.method:19} {row.refine:10} rows right "
                    f"{row.rows_right:.3f} agreement {row.leaf_ari:.3f} {row.seconds:8.2f} s",
                    flush=True,
                )
        except (OSError, ImportError) as error:
            print(f"{name}: left out. {error}")
            continue
        found["rows"] = _merged(found["rows"], rows)
        keep()


if __name__ == "__main__":
    main()
