"""How well the parts of a clustering are cut out of a graph."""

from typing import Any, NamedTuple

import numpy as np

from spexplain.aliases import Array, Floats, Ints
from spexplain.graphs import CliqueGraph, MembershipGraph, SparseGraph, StarGraph
from spexplain.ledgers import ledger_of


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
        if isinstance(graph, CliqueGraph | MembershipGraph | SparseGraph | StarGraph)
        else SparseGraph.from_adjacency(graph)
    )
    ledger = ledger_of(known)
    if len(codes) != ledger.n_vertices:
        raise ValueError(
            f"The clustering has {len(codes)} entries, but the graph has {ledger.n_vertices} vertices."
        )
    side = ledger.record(ledger.leaf_sums(codes, int(codes.max(initial=-1)) + 1))
    inner, volume = side.inner, side.volume
    unit = np.float64(known.unit)
    return PartSums(volume * unit, (volume - inner) * unit)
