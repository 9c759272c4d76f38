"""`CupyEngine`: the table stays on the GPU, the tree builder on the host."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from spexplain.aliases import Matrix
from spexplain.engines.base import Search
from spexplain.graphs import CliqueGraph, MembershipGraph, SparseGraph, StarGraph, WeightedStar
from spexplain.ledgers import LabelLedger, StarLedger, ledger_of
from spexplain.ledgers.labels import in_labels
from spexplain.objectives import Objective


@dataclass(frozen=True)
class CupyEngine:
    """Exact search by histograms, bounds and refinement on the GPU.

    Parameters
    ----------
    max_bins : int, default=255
        Bins of a feature, 2 to 255. The tree does not depend on it.
    memory_limit : int, optional
        Bytes of device memory that bins and work arrays may take (and the table, where it comes from
        the host); by default nine tenths of what is free. With less, features are streamed in blocks.
    """

    max_bins: int = 255
    memory_limit: int | None = None

    def bind(self, X: Matrix, objective: Objective, *, min_samples_leaf: int = 1) -> Search:
        """Return the search for the cuts of one table under one objective."""
        from spexplain.engines.cupy.memory import free_memory
        from spexplain.engines.cupy.sums import edge_types
        from spexplain.kernels.cuda.kernels import CudaKernels

        if not 2 <= self.max_bins <= 255:
            raise ValueError(f"max_bins={self.max_bins} must be from 2 to 255.")
        check_graph(objective)
        graph = objective.graph
        if X.dtype not in (np.float32, np.float64):
            X = X.astype(np.float64)
        kernels = CudaKernels(
            X.dtype, edge_types(graph) if isinstance(graph, SparseGraph) else None
        )
        memory = free_memory(kernels.xp) if self.memory_limit is None else self.memory_limit
        return search_with(kernels, X, objective, min_samples_leaf, self.max_bins, memory)


def check_graph(objective: Objective) -> None:
    """Refuse graphs that the device has no kernels for."""
    graph = objective.graph
    has_loops = isinstance(graph, SparseGraph) and graph.loops is not None
    if has_loops or isinstance(graph, WeightedStar):
        raise NotImplementedError(
            'engine="cupy" takes no weights of rows with this method; use engine="histogram" and give the table as a '
            "NumPy array."
        )
    if isinstance(graph, MembershipGraph) and np.any(np.count_nonzero(graph.amounts, axis=1) > 1):
        raise NotImplementedError(
            'engine="cupy" takes no rows that several clusters share; use engine="histogram" and give the table as a '
            "NumPy array."
        )
    if not isinstance(graph, CliqueGraph | MembershipGraph | SparseGraph | StarGraph):
        raise NotImplementedError(
            f'engine="cupy" searches cliques, sparse graphs and stars, not {type(objective.graph).__name__}; '
            'use engine="histogram" and give the table as a NumPy array.'
        )


def search_with(
    kernels: Any, X: Any, objective: Objective, min_samples_leaf: int, n_bins: int, memory: int
) -> Search:
    """Return the search over a table with the given kernels."""
    from spexplain.engines.cupy.memory import KeptHistograms, MemoryShares
    from spexplain.engines.cupy.search import CupySearch
    from spexplain.engines.cupy.sums import DeviceCliques, DeviceEdges, DeviceStars
    from spexplain.engines.cupy.table import DeviceBins

    graph = objective.graph
    own = ledger_of(graph, objective.trend)
    # Weighted samples are counted like so many copies: cliques and their bounds need no more.
    ledger = in_labels(own) or own
    room = MemoryShares.beside(X.nbytes, memory, lists_edges=isinstance(graph, SparseGraph))
    kept, n_borders = KeptHistograms(room.kept), n_bins + 1
    counts: Any
    if isinstance(ledger, LabelLedger):
        counts = DeviceCliques(kernels, ledger, n_borders, kept)
    elif isinstance(ledger, StarLedger):
        counts = DeviceStars(kernels, ledger, n_borders, kept)
    else:
        assert isinstance(graph, SparseGraph)
        counts = DeviceEdges(kernels, graph, n_borders, kept)
    if not isinstance(X, kernels.xp.ndarray) and 1.5 * X.nbytes < memory:
        X = kernels.xp.asarray(X)
        memory -= X.nbytes
    extra = None if graph.extra is None else np.asarray(graph.extra, dtype=np.float64)
    table = DeviceBins(kernels, X, extra, n_bins, counts.work, memory)
    return CupySearch(table, objective, counts, min_samples_leaf, room.work)
