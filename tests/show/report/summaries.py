"""Summaries to render: ordinary ones, degenerate ones, and hostile ones."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from facts.cases import customers_summary
from spexplain import SpexClique, SpexKNN, datasets
from spexplain.explanation import Explanation
from spexplain.facts import summarize
from spexplain.facts.schema import Summary
from spexplain.references.named import cluster
from spexplain.table.reference import Reference
from spexplain.tree import Column, Tree

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror="alert(2)">',
    "</script><script>alert(3)</script>",
    "' onmouseover='alert(4)",
    "{{ 7 * 7 }}{% raw %}",
    "<!--<script>",
    "line\nbreak\x00\u2028\u2029\u202ebidi \ud800",
    "&lt;b&gt;&amp;",
]


def explained(tree: Tree, X: Any, labels: Any = None, **more: Any) -> Summary:
    """Return the summary of a tree made by hand."""
    X = np.asarray(X, dtype=np.float64)
    tree = replace(tree, size=tree.decision_path(X).sum(axis=0))
    reference = None if labels is None else Reference.from_labels(labels, n_samples=len(X))
    record = Explanation.of(tree, X, reference)
    return summarize(record, X, path=record.path, **more)


def fitted(estimator: Any, X: Any, y: Any = None, **more: Any) -> Summary:
    """Return the summary of an estimator, fitted to X and y."""
    estimator.fit(X, y)
    more.setdefault("path", estimator.path_)
    return summarize(
        estimator.explanation_,
        X,
        method=type(estimator).__name__,
        parameters=estimator.get_params(),
        **more,
    )


@cache
def iris_fit() -> tuple[SpexClique, np.ndarray, list[str]]:
    iris = datasets.load("iris-uci")
    clusters = cluster("spectral", iris.data, n_clusters=3, random_state=570)
    return SpexClique(n_leaves=4).fit(iris.data, clusters), iris.data, iris.feature_names


@cache
def iris() -> Summary:
    explainer, X, names = iris_fit()
    return summarize(
        explainer.explanation_,
        X,
        names=names,
        path=explainer.path_,
        certificate=explainer.certificate(X),
        method="SpexClique",
        parameters=explainer.get_params(),
    )


@cache
def without_rows() -> Summary:
    return summarize(iris_fit()[0].explanation_)


@cache
def without_reference() -> Summary:
    X = np.random.default_rng(0).normal(size=(60, 3))
    return fitted(SpexKNN(4, n_neighbors=5), X)


@cache
def one_leaf() -> Summary:
    return explained(Tree.root(n_features=2, size=4), np.eye(4, 2), ["a", "a", "b", "b"])


@cache
def one_leaf_alone() -> Summary:
    return explained(Tree.root(n_features=1, size=3), [[1.0], [1.0], [1.0]])


@cache
def one_feature() -> Summary:
    tree = Tree.root(n_features=1, size=4).split(0, feature=0, threshold=1.5, sizes=(2, 2))
    return explained(tree, [[0.0], [1.0], [2.0], [3.0]], [True, True, False, False])


@cache
def empty_leaf() -> Summary:
    tree = Tree.root(n_features=2, size=4).split(0, feature=0, threshold=1e300, sizes=(4, 0))
    return explained(tree, np.eye(4, 2), [0, 0, 1, 1])


@cache
def noise() -> Summary:
    X = np.array([[0.0], [1.0], [10.0], [11.0], [20.0], [21.0]])
    tree = Tree.root(n_features=1, size=6).split(0, feature=0, threshold=5.0, sizes=(2, 4))
    tree = tree.split(2, feature=0, threshold=15.0, sizes=(2, 2))
    return explained(tree, X, [0, 0, 1, -1, -1, -1])


def interval_tree() -> Tree:
    tree = Tree.root(n_features=2, size=8).split(0, feature=0, lower=1.0, threshold=3.0)
    tree = tree.split(2, feature=0, lower=4.5, threshold=6.0)
    return tree.split(4, feature=1, threshold=0.25)


@cache
def intervals() -> Summary:
    X = np.column_stack([np.arange(8.0), np.arange(8) % 3 / 4.0])
    return explained(interval_tree(), X, [0, 0, 1, 1, 2, 2, 2, 2])


@cache
def thirty_leaves() -> Summary:
    random = np.random.default_rng(1)
    X = random.normal(size=(1500, 512)).astype(np.float32)
    names = [
        f"{'a rather long name of a column, as exports have them, ' * 3}{at}" for at in range(512)
    ]
    return fitted(SpexClique(n_leaves=30), X, random.integers(30, size=1500), names=names)


@cache
def many_leaves() -> Summary:
    X = np.arange(500.0)[:, None]
    return fitted(SpexClique(n_leaves=200), X, np.arange(500) // 2)


@cache
def very_long_names() -> Summary:
    X = np.random.default_rng(2).normal(size=(50, 3))
    names = ["x" * 20_000 + "1", "x" * 20_000 + "2", "長い名前" * 5_000]
    labels = np.where(X[:, 0] > 0, "l" * 10_000 + "a", "l" * 10_000 + "b")
    return fitted(SpexClique(n_leaves=5), X, labels, names=names)


@cache
def unicode() -> Summary:
    X = np.random.default_rng(3).normal(size=(60, 3))
    names = ["высота", "עברית ارتفاع", "naïve 高さ 🌱"]
    labels = np.array(["Ähre", "ישן", "丙"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    return fitted(SpexClique(n_leaves=4), X, labels, names=names)


@cache
def huge_values() -> Summary:
    X = np.array([[-1.7e308, 5e-324], [1.7e308, 0.0], [1.0, -5e-324], [2.0, 1.0]])
    tree = Tree.root(n_features=2, size=4).split(0, feature=0, threshold=1.5, sizes=(2, 2))
    return explained(tree, X, [0, 1, 0, 1])


@cache
def twins() -> Summary:
    """Columns and labels of the same name, and without one."""
    X = np.random.default_rng(4).normal(size=(60, 4))
    tree = Tree.root(n_features=4, size=60)
    for node, feature in enumerate(range(4)):
        tree = tree.split(2 * node, feature=feature, threshold=0.0)
    labels = np.array(["", " ", "noise", "2"])[np.arange(60) % 4]
    return explained(tree, X, labels, names=["x", "x", "", "\n"])


@cache
def hostile() -> Summary:
    random = np.random.default_rng(5)
    X = random.normal(size=(200, len(HOSTILE)))
    labels = np.array(HOSTILE)[random.integers(len(HOSTILE), size=200)]
    summary = fitted(SpexClique(n_leaves=12), X, labels, names=HOSTILE)
    summary["method"] = HOSTILE[0]
    summary["certificate"] = {"lower_bound": 0.1, "objective": 0.3, "gap": 0.2, "n_parts": 3}
    summary["certificate_text"] = "The leaves\n  " + "\n  ".join(HOSTILE)
    summary["settings"]["parameters"] = {HOSTILE[0]: HOSTILE[1], HOSTILE[2]: HOSTILE}
    return summary


@cache
def hostile_values() -> Summary:
    """Categories of the worst and of the longest values, and of hundreds of them."""
    random = np.random.default_rng(6)
    values = (
        *HOSTILE,
        "",
        "x" * 5_000 + "1",
        "x" * 5_000 + "2",
        *(f"value {at}" for at in range(300)),
    )
    columns = [
        Column(HOSTILE[0], "category", values, has_missing=True),
        Column("only", "category", ("one",)),
        Column("none", "date", has_missing=True),
    ]
    X = np.column_stack(
        [random.integers(len(values), size=400), np.zeros(400), np.full(400, np.nan)]
    )
    X[:20, 0] = np.nan
    tree = Tree.root(n_features=3, size=400)
    tree = tree.split(0, feature=0, threshold=np.nan, categories=tuple(range(0, 160, 2)))
    tree = tree.split(1, feature=0, threshold=np.nan, categories=tuple(range(0, 12, 2)))
    tree = tree.split(2, feature=2, threshold=0.0).split(6, feature=1, threshold=0.0)
    return explained(tree, X, X[:, 0] % 2 == 0, names=columns)


ORDINARY = {
    "iris": iris,
    "intervals": intervals,
    "thirty_leaves": thirty_leaves,
    "customers": customers_summary,
}
DEGENERATE = {
    each.__name__: each
    for each in (
        without_rows,
        without_reference,
        one_leaf,
        one_leaf_alone,
        one_feature,
        empty_leaf,
        noise,
        many_leaves,
        very_long_names,
        unicode,
        huge_values,
        twins,
        hostile,
        hostile_values,
    )
}
EVERY = ORDINARY | DEGENERATE
