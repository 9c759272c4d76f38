"""A pool of threads that share the features of one fit."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")


class Threads:
    """Threads that live as long as the search that owns them; a single one is the caller's own."""

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        self._pool = ThreadPoolExecutor(n_threads) if n_threads > 1 else None

    def map(self, function: Callable[[_Task], _Result], tasks: Sequence[_Task]) -> list[_Result]:
        """Return the results of all tasks, in their order."""
        if self._pool is None or len(tasks) < 2:
            return [function(task) for task in tasks]
        return list(self._pool.map(function, tasks))


def blocks_of(n_features: int, width: int) -> list[slice]:
    """Return slices of at most that width that cover all features."""
    return [slice(first, min(first + width, n_features)) for first in range(0, n_features, width)]
