"""Fitted trees for the tests of summaries and plots: a known one, and strategies for odd ones."""

import numpy as np
from hypothesis import strategies as st

from spexplain import SpexClique, datasets
from spexplain.explanation import Explanation
from spexplain.facts import summarize
from spexplain.table.reference import Reference
from spexplain.tree import Column, Tree
from spexplain.tree.column import KINDS
from strategies import labels_for, tables, trees

HOSTILE = [
    "<script>alert(1)</script>",
    "\"quoted\" & 'single'",
    "two\nlines\tand\x00more",
    "x" * 120,
    "größe 大小 😀 \u202e",
    "$\\frac{1}{$",
    "_hidden",
    "",
    "100%",
]


def explained(tree, X, labels=None):
    reference = None if labels is None else Reference.from_labels(labels, n_samples=len(X))
    return Explanation.of(tree, np.asarray(X), reference)


def iris_explainer():
    iris = datasets.load("iris")
    explainer = SpexClique().fit(iris.data, iris.target_names[iris.target])
    return explainer, iris.data, list(iris.feature_names)


def iris_summary(**options):
    explainer, X, names = iris_explainer()
    given = {"names": names, "path": explainer.path_, "method": "SpexClique"}
    return summarize(explainer.explanation_, X, **given, **options)


def hostile_summary(with_rows=True):
    """Nine columns and nine clusters with the worst names, one leaf each."""
    X = np.eye(9)
    labels = np.array(HOSTILE, dtype=object)
    tree = Tree.root(n_features=9, size=9)
    for column in range(8):
        # Rows with a zero go left and are split again: the left child of split s is node 2s + 1.
        node = 2 * column - 1 if column else 0
        tree = tree.split(node, feature=column, threshold=0.5, sizes=(8 - column, 1))
    return summarize(explained(tree, X, labels), X if with_rows else None, names=HOSTILE)


CUSTOMERS = (
    Column("channel", "category", ("app", "mail", "shop", "web"), has_missing=True),
    Column("member", "boolean"),
    Column("last order", "date", has_missing=True),
    Column("age", "whole", has_missing=True),
    Column("revenue"),
    Column("stay", "duration"),
    Column("coupon", "flag"),
    Column("hockey", "word"),
)
DAY = 86_400_000_000.0


def customers_table(n_rows=240):
    """Return rows of every kind of column, with missing values, and clusters."""
    random = np.random.default_rng(0)
    labels = random.integers(0, 4, n_rows)
    X = np.column_stack(
        [
            np.where(random.random(n_rows) < 0.8, labels, random.integers(0, 4, n_rows)),
            random.random(n_rows) < 0.2 + 0.6 * (labels % 2),
            (9_800 + 200 * (labels // 2) + random.integers(0, 190, n_rows)) * DAY,
            random.integers(18, 90, n_rows),
            np.round(random.lognormal(3 + labels, 0.5), 2),
            random.integers(0, 100_000 * (1 + labels)) * 1e6,
            random.integers(0, 2, n_rows),
            random.poisson(0.1 + (labels == 2)),
        ]
    ).astype(np.float64)
    X[random.random(n_rows) < 0.1, 0] = np.nan
    X[random.random(n_rows) < 0.1, 2] = np.nan
    X[random.random(n_rows) < np.where(labels == 3, 0.6, 0.05), 3] = np.nan
    return X, np.array(["casual", "young", "loyal", "lost"])[labels]


def customers_tree():
    """Return a tree with a test of every kind."""
    tree = Tree.root(n_features=8, size=0)
    tree = tree.split(0, feature=0, threshold=np.nan, categories=(0, 3), missing=True)
    tree = tree.split(1, feature=2, threshold=10_000 * DAY - 1, missing=True)
    tree = tree.split(2, feature=3, threshold=-np.inf, missing=True)
    tree = tree.split(3, feature=1, threshold=0.0)
    tree = tree.split(4, feature=4, threshold=123.45)
    tree = tree.split(6, feature=7, threshold=0.0)
    tree = tree.split(5, feature=5, threshold=2 * DAY)
    tree = tree.split(12, feature=6, threshold=0.0)
    return tree.split(13, feature=3, threshold=40.0)


def customers_summary(with_rows=True, **options):
    X, labels = customers_table()
    record = explained(customers_tree(), X, labels)
    given = {"names": CUSTOMERS, "path": record.path, "method": "SpexClique"}
    return summarize(record, X if with_rows else None, **given, **options)


@st.composite
def explained_tables(draw):
    """A table, a tree over it with interval tests and empty leaves, and perhaps labels with noise."""
    X = draw(tables(max_columns=3))
    tree = draw(trees(n_features=X.shape[1]))
    labels = draw(st.none() | labels_for(len(X)))
    return X, explained(tree, X, labels)


NAMES = ["age", "a or b", "x ≤ 3 and y", 'the "best"', "größe 大小", "not in {a, b}"]
HOSTILE_VALUES = (
    *("app", "web shop", "", " ", "a, b", "}", "{x", "or", "a or b", "a and b", "missing", "is"),
    *('"', "\\", "\n", "<b>", "yes", "=", "in {a}", "大小", "\u202e", "'", "x" * 80),
)
NUMBERS = (
    *(0.0, -1.0, 0.1 + 0.2, 1e-300, -1e300, 5e-324, 1e15, 1e16, 123456789.123, 20260101.0, 1e-7),
    *(2.5, -0.75, 1 / 3, 16777217.0, 999999999999999.0, 1.7e308),
)


@st.composite
def columns_of_any_kind(draw, name):
    """A column and a strategy for its values."""
    kind = draw(st.sampled_from(KINDS))
    has_missing = draw(st.booleans())
    if kind == "category":
        values = draw(
            st.lists(st.sampled_from(HOSTILE_VALUES), min_size=1, max_size=6, unique=True)
        )
        codes = st.integers(0, len(values) - 1).map(float)
        return Column(name, kind, tuple(values), has_missing=has_missing), codes
    zone = None
    numbers = st.sampled_from(NUMBERS) | st.integers(-8, 8).map(lambda each: each / 4)
    whole = st.integers(-5, 5) | st.sampled_from([10**15, 20260101, -(10**12)])
    if kind == "date":
        zone = draw(st.sampled_from([None, "UTC", "Europe/Berlin", "+05:30"]))
        days = st.integers(-40_000, 40_000).map(lambda day: day * DAY)
        values = st.builds(float.__add__, days, st.sampled_from([0.0, 1.0, -1.0, 3.6e9, 123456.0]))
    elif kind == "duration":
        values = whole | st.integers(-300, 300).map(lambda hours: hours * DAY / 24)
    elif kind in ("flag", "boolean"):
        values = st.integers(0, 1)
    elif kind == "word":
        values = st.integers(0, 4) | st.sampled_from([0.25, 0.123])
    else:
        values = whole if kind == "whole" else numbers
    return Column(name, kind, zone=zone, has_missing=has_missing), values.map(float)


@st.composite
def trees_of_any_kind(draw, max_splits=6):
    """Columns of any kind, rows with missing values, and a tree with tests of every sort."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
    drawn = [draw(columns_of_any_kind(name)) for name in names]
    columns, values = zip(*drawn, strict=True)
    cells = [each | st.just(float("nan")) for each in values]
    X = np.array(draw(st.lists(st.tuples(*cells), min_size=1, max_size=12)))
    tree = Tree.root(n_features=len(columns), size=0)
    for _ in range(draw(st.integers(0, max_splits))):
        leaf = int(draw(st.sampled_from(tree.leaves.tolist())))
        feature = draw(st.integers(0, len(columns) - 1))
        column = columns[feature]
        missing = draw(st.booleans())
        if column.has_missing and draw(st.integers(0, 5)) == 0:
            tree = tree.split(leaf, feature=feature, threshold=-np.inf, missing=True)
        elif column.kind == "category":
            codes = range(len(column.categories))
            some = draw(st.sets(st.sampled_from(codes), min_size=1))
            categories = tuple(sorted(some))
            tree = tree.split(
                leaf, feature=feature, threshold=np.nan, categories=categories, missing=missing
            )
        else:
            ends = sorted({draw(values[feature]), draw(values[feature])})
            lower = ends[0] if len(ends) == 2 and draw(st.booleans()) else -np.inf
            tree = tree.split(
                leaf, feature=feature, threshold=ends[-1], lower=lower, missing=missing
            )
    return columns, X, tree
