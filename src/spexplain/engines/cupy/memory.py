"""Device memory: how much there is, and which histograms are worth keeping for the next nodes."""

from collections.abc import Sequence
from typing import Any
from weakref import WeakSet

from spexplain.engines.cupy.records import Node

_LEAST_KEPT = 1 << 26  # bytes of histograms that are always worth keeping
_KEPT_SHARE = 0.1  # of the table, that histograms may take beyond that
_USABLE = 0.9  # of what is free


class Kept:
    """The histograms of nodes that wait to be split: the larger child's follow from them by subtraction."""

    def __init__(self, table_bytes: int) -> None:
        self.most = max(_LEAST_KEPT, int(_KEPT_SHARE * table_bytes))
        self._nodes: WeakSet[Node] = WeakSet()

    def of_parent(self, nodes: Sequence[Node]) -> Any:
        """Return what is kept of the parent of two siblings and free to be overwritten, or None."""
        parent = nodes[0].parent
        if len(nodes) < 2 or parent is None or parent is not nodes[1].parent:
            return None
        histograms, parent.histograms = parent.histograms, None
        self._nodes.discard(parent)
        return histograms

    def keep(self, nodes: Sequence[Node], histograms: Sequence[Any]) -> None:
        """Keep what there is room for."""
        for node, each in zip(nodes, histograms, strict=True):
            if each.nbytes * (len(self._nodes) + 1) <= self.most:
                node.histograms = each
                self._nodes.add(node)


def free_memory(xp: Any) -> int:
    """Return the bytes of device memory that can still be taken."""
    pool = xp.get_default_memory_pool()
    return int(_USABLE * (xp.cuda.Device().mem_info[0] + pool.free_bytes()))
