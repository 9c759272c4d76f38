"""How good one rule per cluster is, beside scikit-learn's trees and RIPPER of as many conditions.

    python benchmarks/rules.py [--datasets penguins wine ...] [--without-ripper]

writes ``benchmarks/results/rules.json`` and ``rules.md``. RIPPER comes from the package wittgenstein, version
0.3 or later; it is given the 100 most telling words of a cluster, as it would take hours with all.
"""

import argparse
import json
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
from scipy.sparse import csr_matrix, issparse
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_wine
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import f1_score
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from machine import RESULTS, describe, save, table
from spexplain import ClusterRules, datasets

N_CONDITIONS = 3
N_WORDS = 100  # that RIPPER is given
LARGE = ("beans", "newsgroups words")  # where RIPPER without limit takes more than ten minutes


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


# Of every row and cluster, how sure a method is that they belong together; 0 where it says no.
Sureness = np.ndarray


def with_rules(**options: Any) -> Callable[[Problem], Sureness]:
    """Return what ClusterRules says; where several rules hold, the first in its order is the surest."""

    def found(problem: Problem) -> Sureness:
        rules = ClusterRules(feature_names=problem.names, n_jobs=-1, **options)
        rules.fit(problem.X, problem.labels)
        place = [rules.order_.index(label) for label in rules.classes_.tolist()]
        return rules.matches(problem.X) / (1.0 + np.array(place))

    return found


def with_trees(class_weight: str | None) -> Callable[[Problem], Sureness]:
    """Return what scikit-learn's trees say, one a cluster."""

    def found(problem: Problem) -> Sureness:
        X, columns = _numbers(problem.X), []
        for label in np.unique(problem.labels):
            tree = DecisionTreeClassifier(
                max_leaf_nodes=N_CONDITIONS + 1, class_weight=class_weight, random_state=0
            ).fit(X, problem.labels == label)
            columns.append(tree.predict_proba(X)[:, 1] * tree.predict(X))
        return np.column_stack(columns)

    return found


def with_ripper(**options: Any) -> Callable[[Problem], Sureness]:
    """Return what RIPPER's rules say, one fit a cluster; of several the more precise is the surer."""

    def found(problem: Problem) -> Sureness:
        from wittgenstein import RIPPER

        columns = []
        for label in np.unique(problem.labels):
            own = problem.labels == label
            frame = _frame(problem.X, own)
            model = RIPPER(random_state=0, **options)
            with redirect_stdout(StringIO()):
                model.fit(frame.assign(own_cluster=own), class_feat="own_cluster", pos_class=True)
                says = np.array(model.predict(frame), dtype=bool)
            columns.append(says * (own[says].mean() if says.any() else 0.0))
        return np.column_stack(columns)

    return found


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


METHODS: dict[str, Callable[[Problem], Sureness]] = {
    "ClusterRules": with_rules(max_conditions=N_CONDITIONS),
    "scikit-learn trees": with_trees(None),
    "trees, balanced": with_trees("balanced"),
    "RIPPER": with_ripper(max_total_conds=N_CONDITIONS),
    "RIPPER, any length": with_ripper(),
    "ClusterRules, two rules": with_rules(max_conditions=2, n_rules=2),
}


def measured(problem: Problem, method: str) -> Row:
    """Return the figures of one method."""
    begin = time.perf_counter()
    sureness = METHODS[method](problem)
    seconds = time.perf_counter() - begin
    classes, codes = np.unique(problem.labels, return_inverse=True)
    found = np.where(sureness.max(axis=1) > 0, sureness.argmax(axis=1), -1)
    numbers = np.arange(len(classes))
    predicted = f1_score(codes, found, average="macro", labels=numbers, zero_division=0)
    own = [f1_score(codes == code, sureness[:, code] > 0, zero_division=0) for code in numbers]
    about = problem.name, problem.reference, len(classes), method
    return Row(*about, float(predicted), float(np.mean(own)), seconds)


def to_markdown(
    rows: list[Row], machine: dict[str, Any], commands: list[str], note: str = ""
) -> str:
    """Return the tables; the best figures are set in bold."""
    made = ", ".join(f"`{each}`" for each in commands)
    about = ", ".join(f"{key} {value}" for key, value in machine.items())
    parts = [
        "# One rule per cluster",
        f"Made by {made}. Every cluster is told from all others: by one rule of at most {N_CONDITIONS} "
        f"conditions (`ClusterRules`), by a tree of {N_CONDITIONS} tests "
        f"(`DecisionTreeClassifier(max_leaf_nodes={N_CONDITIONS + 1})`, without and with balanced weights of the "
        "two sides), "
        f"by rules of {N_CONDITIONS} conditions in all (RIPPER of `wittgenstein`), by as many as it likes "
        f"(left out on {' and '.join(LARGE)}, where that takes long), "
        "and by up to two rules of two conditions. An interval, a set of values or a word is one condition. A tree "
        "of three tests, written as rules, has up to six. "
        f"RIPPER has the {N_WORDS} most telling words of a cluster, the others have all.",
        "Figures are those of the rows that the rules were found from; the order in which `ClusterRules` decides "
        "between rules was chosen on these rows, too. A dash: not measured."
        + (f" {note}" if note else ""),
        f"Machine: {about}. Other work was going on; seconds are upper limits.",
        "## Macro-F1 of what is predicted",
        "A row goes to the cluster whose rule holds; of several to that of the surer one (the order of "
        "`ClusterRules`, the share in the leaf, the precision of the rules), and to none if no rule holds.",
        _table(rows, "predicted_f1"),
        "## Mean F1 of the rules, each for itself",
        _table(rows, "own_f1"),
        "## Seconds",
        _table(rows, "seconds"),
    ]
    return "\n\n".join(parts) + "\n"


def _table(rows: list[Row], measure: str) -> str:
    lines = []
    for key in dict.fromkeys(row[:3] for row in rows):
        found = {row.method: getattr(row, measure) for row in rows if row[:3] == key}
        if measure == "seconds":
            cells = [f"{found[each]:.2f}" if each in found else "–" for each in METHODS]
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
    parser.add_argument("--keep", action="store_true", help="keep the rows of earlier runs")
    parser.add_argument("--note", default="", help="a sentence for the page")
    options = parser.parse_args()
    machine, commands = describe(), [" ".join(["python benchmarks/rules.py", *sys.argv[1:]])]
    rows: list[Row] = []
    if options.keep:
        earlier = json.loads((RESULTS / "rules.json").read_text())
        kept = [Row(**row) for row in earlier["rows"]]
        rows = [row for row in kept if row.dataset not in options.datasets]
        commands = [*earlier["commands"], *commands]
    ClusterRules(2).fit(load_wine().data, load_wine().target)  # compiles
    for problem in problems(options.datasets):
        for method in METHODS:
            if method.startswith("RIPPER") and options.without_ripper:
                continue
            if method == "RIPPER, any length" and problem.name in LARGE:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                row = measured(problem, method)
            rows.append(row)
            print(
                f"{row.dataset:17} {row.reference:22} {method:24} predicted {row.predicted_f1:.3f} "
                f"own {row.own_f1:.3f} {row.seconds:8.2f} s",
                flush=True,
            )
        found = [row._asdict() for row in rows]
        results = {"machine": machine, "commands": commands, "note": options.note, "rows": found}
        save("rules", results, to_markdown(rows, machine, commands, options.note))


if __name__ == "__main__":
    main()
