"""Random tables, graphs and objectives for the CuPy engine, drawn from a seed."""

from dataclasses import replace

import numpy as np

from spexplain.graphs import CliqueGraph, MembershipGraph, SparseGraph, StarGraph
from spexplain.objectives import Objective, emn, gini_cart, imm, spex, volume_cart
from spexplain.table.host import HostTable
from spexplain.table.views import SearchColumns
from spexplain.tree import Column


def table(rng, n, d, dtype, order):
    """Columns with ties, duplicates, heavy tails, few values, and constant ones."""
    columns = []
    for _ in range(d):
        kind = rng.integers(7)
        column = rng.normal(size=n)
        if kind == 1:
            column = rng.integers(0, 3, size=n).astype(float)
        elif kind == 2:
            column = np.full(n, -1.5)
        elif kind == 3:
            column = rng.standard_cauchy(size=n) ** 3
        elif kind == 4:
            column = np.where(rng.random(n) < 0.6, 0.0, column)
        elif kind == 5:
            column = rng.integers(-500, 500, size=n) / 4
        elif kind == 6:
            column = np.where(rng.random(n) < 0.5, -0.0, 0.0) + rng.integers(0, 2, size=n)
        columns.append(column)
    X = np.array(columns).T.astype(dtype)
    if not np.any(X[0] != X):
        X[: n // 2, 0] += 1
    return np.asarray(X, order=order)


def with_gaps(rng, X):
    """The table with missing values in some columns, of all rows in one at times; and its views."""
    gaps = X.copy()
    for column in np.flatnonzero(rng.random(X.shape[1]) < 0.6):
        gaps[rng.random(len(X)) < rng.choice([0.1, 0.5, 1.0], p=[0.6, 0.3, 0.1]), column] = np.nan
    missing = np.isnan(gaps).any(axis=0)
    columns = tuple(
        Column(f"x{place}", has_missing=bool(each)) for place, each in enumerate(missing)
    )
    table = HostTable(gaps, described=columns)
    return gaps, SearchColumns.of(table, np.arange(X.shape[1]), one_by_one=False)


def labels(rng, X, k, noise=True):
    """Labels that follow the table a little, some of them singletons, some noise."""
    score = X[:, 0].astype(float) + 0.5 * rng.normal(size=len(X))
    found = np.argsort(np.argsort(score)) * k // len(X)
    flipped = rng.random(len(X)) < 0.3
    found[flipped] = rng.integers(0, k, size=int(flipped.sum()))
    classes = np.unique(found)
    found = np.searchsorted(classes, found)
    if noise and rng.random() < 0.4:
        found[rng.random(len(X)) < 0.1] = -1
        classes = np.unique(found[found >= 0])
        found = np.where(found < 0, -1, np.searchsorted(classes, found))
    return found


def sparse(rng, n, *, any_weight=False):
    m = 4 * n
    heads, tails = rng.integers(0, n, size=(2, m))
    near = rng.random(m) < 0.7
    tails[near] = np.minimum(heads[near] + 1 + rng.integers(0, 3, near.sum()), n - 1)
    adjacency = np.zeros((n, n))
    adjacency[heads, tails] = rng.random(m) * 9 + 0.1 if any_weight else rng.integers(1, 4, m)
    np.fill_diagonal(adjacency, 0)
    return SparseGraph.from_adjacency(np.maximum(adjacency, adjacency.T))


def spy_formula(graph):
    """A formula without a trend that wants plain numbers for the node."""
    plain = spex(graph)

    def score(left, right, node):
        if node.volume < 0:
            raise AssertionError
        return plain.score(left, right, node)

    return Objective("plain", graph, score, plain.value, plain.priority)


def own_formula(objective):
    """The same objective by a formula that has no text: it is asked for arrays of cuts."""

    def score(left, right, node):
        return objective.score(left, right, node)

    return replace(objective, score=score)


def objective(rng, name, X, k):
    if name.startswith("own "):
        return own_formula(objective(rng, name.removeprefix("own "), X, k))
    if name in ("imm", "emn", "emn product", "imm furthest"):
        y = labels(rng, X, k)
        n_centers = int(y.max()) + 1
        picks = rng.integers(0, len(X), size=n_centers)
        centers = X[picks].astype(float) + rng.choice([0, 0.25], size=(n_centers, X.shape[1]))
        star = StarGraph(y, centers, "furthest_l2" if name == "imm furthest" else "any")
        if name.startswith("imm"):
            return imm(star)
        return emn(star, "product" if name == "emn product" else "min")
    if name in ("sparse", "sparse weighted"):
        return spex(sparse(rng, len(X), any_weight=name == "sparse weighted"))
    y = labels(rng, X, k)
    weights = "inverse_size" if name == "spex inverse" else "unit"
    cliques = CliqueGraph.from_labels(y, weights)
    if name.endswith("of weights"):
        rows = np.flatnonzero(y >= 0)
        amounts = np.zeros((len(X), int(y.max()) + 1))
        some = rng.random() < 0.5
        amounts[rows, y[rows]] = rng.integers(1, 5, len(rows)) if some else rng.random(len(rows))
        cliques = MembershipGraph.from_amounts(amounts)
    makers = {
        "spex": spex,
        "spex inverse": spex,
        "gini": lambda graph: gini_cart(graph, "none"),
        "gini size": lambda graph: gini_cart(graph, "size"),
        "volume": lambda graph: volume_cart(graph, "none"),
        "plain": spy_formula,
        "spex of weights": spex,
        "gini of weights": gini_cart,
    }
    return makers[name](cliques)


NAMES = (
    "spex", "spex inverse", "gini", "gini size", "volume", "plain", "sparse", "sparse weighted",
    "imm", "imm furthest", "emn", "emn product", "spex of weights", "gini of weights",
    "own spex", "own gini", "own sparse", "own imm",
)  # fmt: skip
