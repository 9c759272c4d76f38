"""Device memory: how much there is, and which histograms are worth keeping for the next nodes."""

from collections.abc import Sequence
from typing import Any, NamedTuple
from weakref import WeakSet

from spexplain.kernels.cuda.records import DeviceNode

_USABLE = 0.9  # of what is free
_LEAST = 1 << 23  # bytes that are never worth saving


class MemoryShares(NamedTuple):
    """Bytes that a search may take beside the table, its codes and its graph."""

    kept: int  # by histograms that wait for the next nodes
    work: int  # by arrays that live for one step

    @classmethod
    def beside(cls, table_bytes: int, memory: int, *, lists_edges: bool) -> "MemoryShares":
        """Return room in proportion to the table, and for small ones more: time is worth more there.

        Lists of edges leave little of what a table may take in all, yet need small histograms only.
        """
        if lists_edges:
            kept, work = max(_LEAST, table_bytes // 14), max(_LEAST, table_bytes // 6)
        else:
            kept, work = max(1 << 26, table_bytes // 10), max(1 << 27, table_bytes // 9)
        return cls(kept, max(_LEAST, min(memory // 4, work)))


class KeptHistograms:
    """The histograms of nodes that wait to be split: the larger child's follow from them by subtraction."""

    def __init__(self, most: int) -> None:
        self.most = most  # bytes
        self._nodes: WeakSet[DeviceNode] = WeakSet()

    def of_parent(self, nodes: Sequence[DeviceNode]) -> Any:
        """Return what is kept of the parent of two siblings and free to be overwritten, or None."""
        parent = nodes[0].parent
        if len(nodes) < 2 or parent is None or parent is not nodes[1].parent:
            return None
        histograms, parent.histograms = parent.histograms, None
        self._nodes.discard(parent)
        return histograms

    def keep(self, nodes: Sequence[DeviceNode], histograms: Sequence[Any]) -> None:
        """Keep what there is room for, rather those of large nodes: they spare the most."""
        for node, each in zip(nodes, histograms, strict=True):
            node.histograms = each
            self._nodes.add(node)
            if each.nbytes * len(self._nodes) > self.most:
                smallest = min(self._nodes, key=lambda kept: len(kept.rows))
                smallest.histograms = None
                self._nodes.discard(smallest)


def free_memory(xp: Any) -> int:
    """Return the bytes of device memory that can still be taken."""
    pool = xp.get_default_memory_pool()
    return int(_USABLE * (xp.cuda.Device().mem_info[0] + pool.free_bytes()))
