"""How good an explanation is: agreement with a clustering, and cuts of a graph."""

from typing import Any, NamedTuple

import numpy as np

from spexplain.graphs import Graph
from spexplain.typing import Array, Ints


class Agreement(NamedTuple):
    """Likeness of two clusterings of the same rows; 1 is best."""

    ari: float  # adjusted Rand index (Hubert and Arabie)
    ami: float  # adjusted mutual information, arithmetic mean
    purity: float  # share of rows in the commonest reference cluster of their own cluster


def agreement(labels: Array, reference: Array) -> Agreement:
    """Compare a clustering with a reference clustering.

    Parameters
    ----------
    labels, reference : array of shape (n_samples,)
        Cluster labels of any type.

    Returns
    -------
    Agreement

    Examples
    --------
    >>> from spexplain import metrics
    >>> metrics.agreement([0, 0, 1, 1], ["a", "a", "b", "b"]).ari
    1.0
    """
    from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score
    from sklearn.metrics.cluster import contingency_matrix

    table = contingency_matrix(reference, labels)
    return Agreement(
        ari=float(adjusted_rand_score(reference, labels)),
        ami=float(adjusted_mutual_info_score(reference, labels)),
        purity=float(table.max(axis=0).sum() / table.sum()),
    )


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
    part = _part_sums(graph, np.asarray(subset, dtype=bool).astype(np.int64))
    return float(part.outer[1] / part.volume[1]) if part.volume[1] else float("nan")


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
    part = _part_sums(graph, inside.astype(np.int64))
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
    part = _part_sums(graph, codes)
    full = part.volume > 0
    return float(np.sum(part.outer[full] / part.volume[full]))


class _PartSums(NamedTuple):
    volume: Any
    outer: Any  # weight of the edges that leave the part


def _part_sums(graph: Any, codes: Ints) -> _PartSums:
    """Return volume and outgoing weight of every part of the samples."""
    from spexplain.engines.sweeps import sweep_of
    from spexplain.graphs import CliqueGraph, SparseGraph, StarGraph

    known: Graph = (
        graph
        if isinstance(graph, CliqueGraph | SparseGraph | StarGraph)
        else SparseGraph.from_adjacency(graph)
    )
    if len(codes) != len(known.degrees):
        raise ValueError(
            f"The clustering has {len(codes)} entries, but the graph has {len(known.degrees)} vertices."
        )
    sweep, everything = sweep_of(known), np.arange(len(codes))
    volumes, outers = [], []
    for part in range(int(codes.max(initial=-1)) + 1):
        inside = codes == part
        state, _ = sweep.split(sweep.root(), everything, inside)
        side = sweep.node(state, np.flatnonzero(inside))
        volumes.append(side.volume * known.unit)
        outers.append((side.volume - side.inner) * known.unit)
    return _PartSums(np.array(volumes), np.array(outers))
