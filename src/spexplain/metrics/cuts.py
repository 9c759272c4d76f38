"""How well the parts of a clustering are cut out of a graph."""

from typing import Any, NamedTuple

import numpy as np

from spexplain.aliases import Array, Floats, Ints
from spexplain.graphs import CliqueGraph, EdgeGraph, SparseGraph, StarGraph


def conductance(graph: Any, subset: Array) -> float:
    """Return ψ(S) = e(S)/vol(S), the share of the edge ends in a set whose other end lies outside.

    Parameters
    ----------
    graph : graph or adjacency matrix
        A graph of `spexplain.graphs`, or a symmetric sparse or dense adjacency.
    subset : array of bool, shape (n_samples,)
        The set; NaN is returned if it has no edge ends.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain import metrics
    >>> path = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> metrics.conductance(path, np.array([True, True, False]))
    0.333...
    """
    part = part_sums(graph, np.asarray(subset, dtype=bool).astype(np.int64))
    has_ends = len(part.volume) == 2 and part.volume[1] > 0
    return float(part.outer[1] / part.volume[1]) if has_ends else float("nan")


def sparsity(graph: Any, subset: Array) -> float:
    """Return φ(S) = e(S)/|S|, the weight of edges that leave a set, per sample of it.

    Parameters
    ----------
    graph : graph or adjacency matrix
        A graph of `spexplain.graphs`, or a symmetric sparse or dense adjacency.
    subset : array of bool, shape (n_samples,)
        The set, not empty.

    Examples
    --------
    >>> import numpy as np
    >>> from spexplain import metrics
    >>> path = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> metrics.sparsity(path, np.array([True, True, False]))
    0.5
    """
    inside = np.asarray(subset, dtype=bool)
    if not inside.any():
        raise ValueError("subset holds no sample; sparsity is defined for non-empty sets.")
    part = part_sums(graph, inside.astype(np.int64))
    return float(part.outer[1] / np.count_nonzero(inside))


def multiway_cut(graph: Any, labels: Array) -> float:
    """Return Ψ̄, the sum of the conductances of all parts; parts without edge ends add nothing.

    Parameters
    ----------
    graph : graph or adjacency matrix
        A graph of `spexplain.graphs`, or a symmetric sparse or dense adjacency.
    labels : array of shape (n_samples,)
        The part of each sample.

    Examples
    --------
    >>> from spexplain import metrics
    >>> from spexplain.graphs import CliqueGraph
    >>> metrics.multiway_cut(CliqueGraph.from_labels([0, 0, 1, 1]), [5, 5, 7, 7])
    0.0
    """
    codes = np.unique(np.asarray(labels), return_inverse=True)[1]
    part = part_sums(graph, codes)
    full = part.volume > 0
    return float(np.sum(part.outer[full] / part.volume[full]))


class PartSums(NamedTuple):
    """Sums over every part of the vertices."""

    volume: Floats
    outer: Floats  # weight of the edges that leave the part


def part_sums(graph: Any, codes: Ints) -> PartSums:
    """Return volume and outgoing weight of the parts 0, 1, ... of the vertices, from exact integers."""
    known = (
        graph
        if isinstance(graph, CliqueGraph | SparseGraph | StarGraph)
        else SparseGraph.from_adjacency(graph)
    )
    degrees = known.degrees
    if len(codes) != len(degrees):
        raise ValueError(
            f"The clustering has {len(codes)} entries, but the graph has {len(degrees)} vertices."
        )
    n_parts = int(codes.max(initial=-1)) + 1
    volume = np.zeros(n_parts, dtype=np.int64)
    np.add.at(volume, codes, degrees)
    outer = (
        _outer_of_cliques(known, codes, n_parts)
        if isinstance(known, CliqueGraph)
        else _outer_of_edges(known, codes, n_parts)
    )
    unit = np.float64(known.unit)
    return PartSums(volume * unit, outer * unit)


def _outer_of_cliques(graph: CliqueGraph, codes: Ints, n_parts: int) -> Ints:
    """Return the same for cliques: a part with a of the N samples of a cluster cuts a(N - a) edges."""
    counts = np.zeros((n_parts, graph.n_clusters), dtype=np.int64)
    clustered = graph.labels >= 0
    np.add.at(counts, (codes[clustered], graph.labels[clustered]), 1)
    cut: Ints = (counts * (graph.cluster_sizes - counts)) @ graph.weights
    return cut


def _outer_of_edges(graph: EdgeGraph, codes: Ints, n_parts: int) -> Ints:
    """Return the weight of the edges with one end in each part."""
    heads, tails = codes[graph.heads], codes[graph.tails]
    crossing = heads != tails
    outer = np.zeros(n_parts, dtype=np.int64)
    np.add.at(outer, heads[crossing], graph.weights[crossing])
    np.add.at(outer, tails[crossing], graph.weights[crossing])
    return outer
