"""Graphs on the GPU: edges that stay on the device, in CuPy arrays."""

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from spexplain.aliases import Symmetrization
from spexplain.graphs.sparse import SparseGraph

# Of graphs that were made on the device: first their edges, then the lists of neighbours that an engine
# has made of them. The one replaces the other, since memory is short there.
_EDGES: WeakKeyDictionary[SparseGraph, tuple[Any, Any, Any]] = WeakKeyDictionary()
_LISTS: WeakKeyDictionary[SparseGraph, tuple[Any, ...]] = WeakKeyDictionary()


def device_edges(xp: Any, graph: SparseGraph) -> tuple[Any, Any, Any]:
    """Return heads, tails and weights of all edges as arrays of the library `xp`."""
    known = _EDGES.get(graph)
    if known is not None and isinstance(known[0], xp.ndarray):
        return known
    heads, tails = (xp.asarray(ends.astype(np.int32)) for ends in (graph.heads, graph.tails))
    return heads, tails, xp.asarray(graph.weights)


def known_lists(xp: Any, graph: SparseGraph) -> tuple[Any, ...] | None:
    """Return what `keep_lists` has kept of a graph, if its arrays are of the library `xp`."""
    known = _LISTS.get(graph)
    return known if known is not None and isinstance(known[0], xp.ndarray) else None


def keep_lists(graph: SparseGraph, lists: tuple[Any, ...]) -> None:
    """Keep lists of neighbours in place of the edges of a graph that was made on the device."""
    if _EDGES.pop(graph, None) is not None:
        _LISTS[graph] = lists


def device_graph(indices: Any, symmetrize: Symmetrization) -> SparseGraph:
    """Return the symmetrised graph of neighbours on the device, shape (n_samples, n_neighbors)."""
    import cupy as xp

    n = len(indices)
    ends, own = indices.astype(np.int64), xp.arange(n, dtype=np.int64)[:, None]
    pairs = xp.minimum(own, ends)
    pairs *= n
    pairs += xp.maximum(own, ends)
    del ends  # device memory is short: nothing is kept for longer than it must be
    pairs = pairs.ravel()
    pairs.sort()
    is_last = xp.ones(len(pairs), dtype=bool)
    xp.not_equal(pairs[1:], pairs[:-1], out=is_last[:-1])
    places = xp.flatnonzero(is_last)
    pairs = pairs[places]
    counts = xp.diff(places, prepend=xp.full(1, -1))  # 1 or 2: in how many directions
    del is_last, places
    if symmetrize == "mutual":
        pairs = pairs[counts == 2]
    weights = xp.ones(len(pairs), dtype=np.uint8)
    if symmetrize == "sum":
        weights = counts.astype(np.uint8)
    del counts
    on_device = (pairs // n).astype(np.int32), (pairs % n).astype(np.int32), weights
    del pairs
    graph = SparseGraph(n, *(each.get().astype(np.int64) for each in on_device))
    _EDGES[graph] = on_device
    return graph
