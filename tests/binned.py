"""What tests of the histogram engine share: formulas, a table that is hard to bin, and trees to compare."""

import numpy as np

from growing import grown
from spexplain.engines import NumpyEngine
from spexplain.engines.histogram import HistogramEngine
from spexplain.graphs import CliqueGraph, StarGraph
from spexplain.objectives import emn, gini_cart, imm, spex, volume_cart

ON_LABELS = {
    "unit": lambda labels: spex(CliqueGraph.from_labels(labels)),
    "inverse_size": lambda labels: spex(CliqueGraph.from_labels(labels, "inverse_size")),
    "gini": lambda labels: gini_cart(CliqueGraph.from_labels(labels), "none"),
    "gini_by_size": lambda labels: gini_cart(CliqueGraph.from_labels(labels), "size"),
    "volume": lambda labels: volume_cart(CliqueGraph.from_labels(labels), "none"),
}
ON_STARS = {
    "imm": imm,
    "emn": emn,
    "emn_product": lambda graph: emn(graph, "product"),
}


def check(X, objective, max_bins, **limits):
    expected = grown(NumpyEngine(), X, objective, **limits)
    assert grown(HistogramEngine(max_bins=max_bins), X, objective, **limits) == expected


def star(X, labels, pairs="any"):
    centers = [X[labels == c].astype(np.float64).mean(axis=0) for c in range(labels.max() + 1)]
    return StarGraph(labels, np.array(centers), pairs)


def heavy_tailed(n_rows=700, n_features=6, seed=0, dtype=np.float64):
    """A cluster structure under noise, in columns with ties, gaps, huge tails and constants."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 5, size=n_rows)
    X = rng.normal(size=(5, n_features))[labels] + rng.normal(size=(n_rows, n_features))
    X[:, 0] = np.exp(4 * X[:, 0])
    X[:, 1] = rng.standard_cauchy(n_rows)
    X[:, 2] = np.round(X[:, 2])
    X[:, 3] = np.where(rng.random(n_rows) < 0.6, 0.0, X[:, 3])
    X[:, 4] = 1.5
    labels[rng.random(n_rows) < 0.1] = -1
    labels[:5] = np.arange(5)
    return X.astype(dtype), labels
