"""Random graphs to certify."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from spexplain.graphs import SparseGraph

SLACK = 1e-9


def n_instances(count: int, seed: int) -> list[np.random.Generator]:
    return [np.random.default_rng([seed, number]) for number in range(count)]


def graph_of(adjacency: np.ndarray) -> SparseGraph:
    return SparseGraph.from_adjacency(sparse.csr_array(adjacency))
