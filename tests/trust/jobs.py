"""Fits whose results are compared bit by bit, from threads, processes and workers."""

import hashlib
import warnings
from functools import cache
from importlib.util import find_spec
from typing import Any
from unittest.mock import patch

import numpy as np

import spexplain
from spexplain.exceptions import LeafCountWarning
from spexplain.graphs import neighbor_search

K = 4
# Every method, with the options that lead through other code.
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "clique": ("SpexClique", {}),
    "clique, refined": ("SpexClique", {"n_leaves": 7, "refine": "objective"}),
    "clique, by size": ("SpexClique", {"clique_weights": "inverse_size", "refine": "agreement"}),
    "knn": ("SpexKNN", {"n_neighbors": 6, "n_leaves": 5}),
    "knn, refined": ("SpexKNN", {"n_neighbors": 6, "refine": "objective"}),
    "graph": ("SpexGraph", {}),
    "non-uniform": ("NonUniformCut", {}),
    "cart": ("CART", {"n_leaves": 8}),
    "cart, volume": ("CART", {"criterion": "volume", "leaf_weight": "size"}),
    "imm": ("IMM", {}),
    "imm, furthest": ("IMM", {"pairs": "furthest", "refine": "objective"}),
    "emn": ("EMN", {}),
    "emn, product": ("EMN", {"denominator": "product"}),
    "exkmc": ("ExKMC", {"n_leaves": 7, "refine": "objective"}),
    "exgreedy": ("ExGreedy", {}),
    "exshallow": ("ExShallow", {}),
    "random cuts": ("RandomCuts", {"random_state": 3}),
    "kernel imm": ("KernelIMM", {"n_leaves": 6, "max_anchors": 40}),
    "best": ("BestTree", {"n_leaves": 6}),
}


@cache
def table(n_rows: int = 700, n_columns: int = 9, dtype: str = "float64") -> tuple[Any, Any]:
    """Return a table with many ties, and clusters that no small tree tells apart exactly."""
    random = np.random.default_rng(11)
    X = random.normal(size=(n_rows, n_columns)).round(1).astype(dtype)
    y = (X[:, 0] + 0.7 * X[:, 1] > 0).astype(int) + 2 * (X[:, 2] - 0.5 * X[:, 3] > 0.3)
    X.setflags(write=False)
    return X, y


def fitted(
    method: str, *, n_jobs: int | None = None, engine: str = "histogram", n_rows: int = 700,
    dtype: str = "float64",
) -> Any:  # fmt: skip
    """Return a method fitted to the table."""
    name, options = METHODS[method]
    X, y = table(n_rows, dtype=dtype)
    estimator = getattr(spexplain, name)(K, n_jobs=n_jobs, engine=engine, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeafCountWarning)
        return estimator.fit(X, y)


def bits(estimator: Any) -> str:
    """Return a digest of everything that a fit decides: arrays, labels, path, model file."""
    tree = estimator.tree_
    parts = [getattr(tree, name).tobytes() for name in ("feature", "threshold", "lower", "left")]
    parts += [getattr(tree, name).tobytes() for name in ("right", "size", "score", "value")]
    parts += [estimator.labels_.tobytes(), repr(estimator.objective_).encode()]
    parts += [repr(estimator.path_).encode(), estimator.to_json().encode()]
    return hashlib.sha256(b"\n".join(parts)).hexdigest()


def fit_bits(method: str, **options: Any) -> str:
    """Return the digest of a fit: what other processes are asked for."""
    return bits(fitted(method, **options))


def openmp_bits() -> str:
    """Return the digest of fits that lead through scikit-learn's and faiss's OpenMP threads."""
    X = np.random.default_rng(2).normal(size=(600, 20))  # too many columns for a k-d tree
    near = [spexplain.SpexKNN(3, n_neighbors=4, n_jobs=2).fit(X)]
    if find_spec("faiss") is not None:
        with (
            patch.object(neighbor_search, "MANY_ROWS", 100),
            patch.object(neighbor_search, "_FEW_COLUMNS", 0),
        ):
            near.append(spexplain.SpexKNN(3, n_neighbors=4, n_jobs=2).fit(X))
    found = spexplain.SpexClique(3, reference="kmeans", random_state=0).fit(X)
    return " ".join(map(bits, [*near, found]))
