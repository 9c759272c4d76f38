"""How good one rule per cluster is, beside scikit-learn's trees and RIPPER, and how many conditions each needs.

    python benchmarks/rules.py [--datasets penguins wine ...] [--without-ripper]

writes ``benchmarks/results/rules.json`` and ``rules.md``. RIPPER comes from the package wittgenstein, version
0.3 or later; it is given the most telling words of a cluster only, as it would take hours with all.
"""

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy.sparse import csr_matrix, issparse
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_wine
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import f1_score
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from machine import describe, save, table
from spexplain import ClusterRules, datasets
from spexplain.tree import Column, Tree
from spexplain.tree.joins import joined

N_CONDITIONS = 3
N_WORDS = 50  # that RIPPER is given
LARGE = ("beans", "newsgroups words")  # where RIPPER without limit takes more than ten minutes
LONG = ("RIPPER, any length", "ClusterRules, 4 × 3")  # which are compared on the other tables


class Problem(NamedTuple):
    """A table and its clusters."""

    name: str
    reference: str
    X: Any
    labels: np.ndarray
    names: Any = None


class Row(NamedTuple):
    """One method on one clustering."""

    dataset: str
    reference: str
    clusters: int
    method: str
    predicted_f1: float
    own_f1: float
    conditions: float  # mean number over the clusters
    seconds: float


def problems(chosen: list[str]) -> Iterator[Problem]:
    """Give the tables with their clusters."""
    if "penguins" in chosen:
        from palmerpenguins import load_penguins

        penguins = load_penguins()
        yield Problem(
            "penguins", "species", penguins.drop(columns="species"), penguins["species"].to_numpy()
        )
    plain = {"wine": load_wine, "digits": load_digits, "beans": lambda: datasets.load("beans")}
    for name in [each for each in plain if each in chosen]:
        data = plain[name]()
        scaled = StandardScaler().fit_transform(data.data)
        clusters = KMeans(len(data.target_names), n_init=10, random_state=0).fit_predict(scaled)
        yield Problem(name, "kmeans (standardised)", data.data, clusters)
    folder = os.environ.get("SPEXPLAIN_DATA")
    if "newsgroups words" in chosen and folder is not None:
        with np.load(Path(folder) / "newsgroups_words.npz") as file:
            counts = csr_matrix(
                (file["data"], file["indices"], file["indptr"]), shape=file["shape"]
            )
            vectorizer = CountVectorizer(vocabulary=file["words"])
        embedded = datasets.load("newsgroups")
        for key in ("kmeans", "spectral"):
            yield Problem("newsgroups words", key, counts, embedded[key], vectorizer)


class Answer(NamedTuple):
    """What a method says of every row and cluster."""

    sureness: np.ndarray  # that they belong together; 0 where it says no
    conditions: float  # mean number of conditions over the clusters


def with_rules(**options: Any) -> Callable[[Problem], Answer]:
    """Return what ClusterRules says; where several rules hold, the first in its order is the surest."""

    def found(problem: Problem) -> Answer:
        rules = ClusterRules(feature_names=problem.names, n_jobs=-1, **options)
        rules.fit(problem.X, problem.labels)
        place = [rules.order_.index(label) for label in rules.classes_.tolist()]
        sizes = [
            sum(len(part.columns) for rule in each.rules for part in rule.conditions)
            for each in rules.explanation_.clusters
        ]
        sureness = rules.matches(problem.X) / (1.0 + np.array(place))
        return Answer(sureness, float(np.mean(sizes)))

    return found


def one_by_one(
    problem: Problem, fitted: Callable[[Any, np.ndarray], tuple[np.ndarray, int]], X: Any
) -> Answer:
    """Return what a method says that tells one cluster at a time from the others, on all processors."""
    answers = Parallel(n_jobs=-1, max_nbytes=None)(
        delayed(fitted)(X, problem.labels == label) for label in np.unique(problem.labels)
    )
    columns, sizes = zip(*answers, strict=True)
    return Answer(np.column_stack(columns), float(np.mean(sizes)))


def with_trees(class_weight: str | None) -> Callable[[Problem], Answer]:
    """Return what scikit-learn's trees say, one a cluster."""

    def fitted(X: Any, own: np.ndarray) -> tuple[np.ndarray, int]:
        tree = DecisionTreeClassifier(
            max_leaf_nodes=N_CONDITIONS + 1, class_weight=class_weight, random_state=0
        ).fit(X, own)
        return tree.predict_proba(X)[:, 1] * tree.predict(X), n_conditions(tree)

    return lambda problem: one_by_one(problem, fitted, _numbers(problem.X))


def n_conditions(classifier: DecisionTreeClassifier) -> int:
    """Return how many conditions a tree needs to say yes, written as short as can be."""
    told = classifier.tree_
    tree, stands = Tree.root(n_features=told.n_features, size=0), {0: 0}
    stack = [0]
    while stack:
        at = stack.pop()
        node = stands[at]
        if told.children_left[node] < 0:
            continue
        young = tree.n_nodes
        tree = tree.split(at, feature=int(told.feature[node]), threshold=told.threshold[node])
        stands |= {young: told.children_left[node], young + 1: told.children_right[node]}
        stack += [young, young + 1]
    own = classifier.classes_[
        told.value[[stands[int(leaf)] for leaf in tree.leaves], 0].argmax(axis=1)
    ]
    leaves = np.flatnonzero(own).tolist()
    columns = [Column(f"x{number}") for number in range(told.n_features)]
    return sum(len(box) for box in joined(tree, leaves, columns))


def with_ripper(**options: Any) -> Callable[[Problem], Answer]:
    """Return what RIPPER's rules say, one fit a cluster; of several the more precise is the surer."""

    def fitted(X: Any, own: np.ndarray) -> tuple[np.ndarray, int]:
        from wittgenstein import RIPPER

        frame, model = _frame(X, own), RIPPER(random_state=0, **options)
        with redirect_stdout(StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(frame.assign(own_cluster=own), class_feat="own_cluster", pos_class=True)
            says = np.array(model.predict(frame), dtype=bool)
        size = sum(len(rule.conds) for rule in model.ruleset_.rules)
        return says * (own[says].mean() if says.any() else 0.0), size

    return lambda problem: one_by_one(problem, fitted, problem.X)


def _numbers(X: Any) -> Any:
    """Return a table as scikit-learn's trees take it."""
    if not hasattr(X, "columns"):
        return X
    import pandas as pd

    return pd.get_dummies(X, dtype=float)


def _frame(X: Any, own: np.ndarray) -> Any:
    """Return a table as RIPPER takes it: of words the most telling, whether a document has them."""
    if hasattr(X, "columns"):
        texts = X.select_dtypes(exclude="number").fillna("missing")
        return X.fillna(X.mean(numeric_only=True)).assign(**texts)
    if issparse(X):
        has = X > 0
        hits, size = np.asarray(has[own].sum(axis=0)).ravel(), np.asarray(has.sum(axis=0)).ravel()
        chosen = np.argsort(-2 * hits / (size + own.sum()), kind="stable")[:N_WORDS]
        X = has[:, chosen].toarray().astype(str)
    import pandas as pd

    return pd.DataFrame(X, columns=[f"x{number}" for number in range(X.shape[1])])


METHODS: dict[str, Callable[[Problem], Answer]] = {
    "ClusterRules": with_rules(max_conditions=N_CONDITIONS, n_alternatives=0),
    "ClusterRules, with or": with_rules(
        max_conditions=N_CONDITIONS,
        n_rules=N_CONDITIONS,
        max_total_conditions=N_CONDITIONS,
        n_alternatives=0,
    ),
    "scikit-learn trees": with_trees(None),
    "trees, balanced": with_trees("balanced"),
    "RIPPER": with_ripper(max_total_conds=N_CONDITIONS),
    "ClusterRules, 4 × 3": with_rules(max_conditions=3, n_rules=4, n_alternatives=0),
    "RIPPER, any length": with_ripper(),
}


def measured(problem: Problem, method: str) -> Row:
    """Return the figures of one method."""
    begin = time.perf_counter()
    sureness, conditions = METHODS[method](problem)
    seconds = time.perf_counter() - begin
    classes, codes = np.unique(problem.labels, return_inverse=True)
    found = np.where(sureness.max(axis=1) > 0, sureness.argmax(axis=1), -1)
    numbers = np.arange(len(classes))
    predicted = f1_score(codes, found, average="macro", labels=numbers, zero_division=0)
    own = [f1_score(codes == code, sureness[:, code] > 0, zero_division=0) for code in numbers]
    about = problem.name, problem.reference, len(classes), method
    return Row(*about, float(predicted), float(np.mean(own)), conditions, seconds)


def to_markdown(rows: list[Row], machine: dict[str, Any], command: str) -> str:
    """Return the tables; the best figures are set in bold."""
    about = ", ".join(f"{key} {value}" for key, value in machine.items())
    parts = [
        "# One rule per cluster",
        f"Made by `{command}`. Every cluster is told from all others: by one rule of at most {N_CONDITIONS} "
        f"conditions (`ClusterRules`, without alternatives, which the others do not look for); by rules of "
        f'{N_CONDITIONS} conditions in all, joined by "or" (`ClusterRules(n_rules={N_CONDITIONS}, '
        f"max_total_conditions={N_CONDITIONS})`); by a tree of {N_CONDITIONS} tests "
        f"(`DecisionTreeClassifier(max_leaf_nodes={N_CONDITIONS + 1})`, without and with balanced weights of the "
        f'two sides), which may join leaves by "or", too; by rules of {N_CONDITIONS} conditions in all (RIPPER of '
        "`wittgenstein`); and, on tables other than "
        f"{' and '.join(LARGE)}, where RIPPER would take longer than all else together, by up to four rules of three "
        "conditions (`ClusterRules(3, n_rules=4)`) and by RIPPER without a limit. "
        f"RIPPER has the {N_WORDS} most telling words of a cluster, the others have all.",
        "Figures are those of the rows that the rules were found from; the order in which `ClusterRules` decides "
        "between rules was chosen on these rows, too. A dash: not measured.",
        f"Machine: {about}. Every method has all cores; other work was going on, so seconds are upper limits.",
        "## Macro-F1 of what is predicted",
        "A row goes to the cluster whose rule holds; of several to that of the surer one (the order of "
        "`ClusterRules`, the share in the leaf, the precision of the rules), and to none if no rule holds.",
        _table(rows, "predicted_f1"),
        "## Mean F1 of the rules, each for itself",
        _table(rows, "own_f1"),
        "## Conditions per cluster",
        "Mean number of conditions of what tells a cluster from the others. An interval, a set of values or a word is "
        "one condition; the leaves of a tree that say yes are joined and shortened as `segments` does it. So figures "
        "can be compared between methods that need about as many.",
        _table(rows, "conditions"),
        "## Seconds",
        _table(rows, "seconds"),
    ]
    return "\n\n".join(parts) + "\n"


def _table(rows: list[Row], measure: str) -> str:
    lines = []
    for key in dict.fromkeys(row[:3] for row in rows):
        found = {row.method: getattr(row, measure) for row in rows if row[:3] == key}
        if measure in ("conditions", "seconds"):
            digits = 1 if measure == "conditions" else 2
            cells = [f"{found[each]:.{digits}f}" if each in found else "–" for each in METHODS]
        else:
            best = max(round(figure, 3) for figure in found.values())
            cells = [_bold(found[each], best) if each in found else "–" for each in METHODS]
        lines.append([key[0], key[1], str(key[2]), *cells])
    return table(["dataset", "clusters", "number", *METHODS], lines)


def _bold(figure: float, best: float) -> str:
    return f"**{figure:.3f}**" if round(figure, 3) == best else f"{figure:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    everything = ["penguins", "wine", "digits", "beans", "newsgroups words"]
    parser.add_argument("--datasets", nargs="+", choices=everything, default=everything)
    parser.add_argument("--without-ripper", action="store_true")
    options = parser.parse_args()
    machine, command = describe(), " ".join(["python benchmarks/rules.py", *sys.argv[1:]])
    rows: list[Row] = []
    # What is needed once is not counted: compiling, and starting processes.
    ClusterRules(2).fit(load_wine().data, load_wine().target)
    with_trees(None)(Problem("wine", "target", load_wine().data, load_wine().target))
    for problem in problems(options.datasets):
        for method in METHODS:
            if method.startswith("RIPPER") and options.without_ripper:
                continue
            if method in LONG and problem.name in LARGE:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                row = measured(problem, method)
            rows.append(row)
            print(
                f"{row.dataset:17} {row.reference:22} {method:24} predicted {row.predicted_f1:.3f} "
                f"own {row.own_f1:.3f} conditions {row.conditions:5.1f} {row.seconds:8.2f} s",
                flush=True,
            )
        found = [row._asdict() for row in rows]
        results = {"machine": machine, "command": command, "rows": found}
        save("rules", results, to_markdown(rows, machine, command))


if __name__ == "__main__":
    main()
