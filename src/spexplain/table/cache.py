"""What was computed about single columns of a table, as long as there is room for it."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, TypeVar

_ROOM = 1 << 30  # bytes
_Found = TypeVar("_Found")


class ColumnCache:
    """Results about columns by key; the least recently used ones make room for others.

    Parameters
    ----------
    room : int
        Bytes that arrays may take in all.

    Examples
    --------
    >>> from spexplain.table.cache import ColumnCache
    >>> cache = ColumnCache()
    >>> cache.get("order", lambda: [2, 0, 1]), cache.get("order", lambda: "not asked again")
    ([2, 0, 1], [2, 0, 1])
    """

    def __init__(self, room: int = _ROOM) -> None:
        self.room = room
        self._held: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._lock = Lock()
        self._n_bytes = 0

    def get(self, key: Hashable, compute: Callable[[], _Found]) -> _Found:
        """Return the result for a key; compute it if it is not in the cache."""
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                known: _Found = self._held[key][0]
                return known
        found = compute()  # two threads may do so at the same time, with the same result
        n_bytes = sum(getattr(each, "nbytes", 0) for each in _parts(found))
        with self._lock:
            if key not in self._held and n_bytes <= self.room:
                self._held[key] = found, n_bytes
                self._n_bytes += n_bytes
                while self._n_bytes > self.room:
                    _, (_, freed) = self._held.popitem(last=False)
                    self._n_bytes -= freed
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.room,)  # copies and pickles start anew


def _parts(found: Any) -> tuple[Any, ...]:
    return tuple(found) if isinstance(found, tuple) else (found,)
