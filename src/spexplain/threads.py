"""A pool of threads that share the features of one fit, and signals that wait."""

import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from os import cpu_count
from typing import Any, TypeVar

import numpy as np

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")


class Threads(AbstractContextManager["Threads"]):
    """The caller's own thread and helpers, which start with the first shared work and end with the owner.

    As a context manager it ends the helpers if the work inside is interrupted: none is left behind
    by Ctrl-C. Later work would start new ones.

    Examples
    --------
    >>> Threads(2).map(abs, [-1, 2, -3])
    [1, 2, 3]
    """

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        self._helpers: ThreadPoolExecutor | None = None

    def map(self, function: Callable[[_Task], _Result], tasks: Sequence[_Task]) -> list[_Result]:
        """Return the results of all tasks, in their order."""
        if self.n_threads == 1 or len(tasks) < 2:
            return [function(task) for task in tasks]
        results: dict[int, _Result] = {}
        waiting = deque(enumerate(tasks))

        def work() -> None:
            while waiting:
                try:
                    place, task = waiting.popleft()
                except IndexError:  # another thread was faster
                    return
                results[place] = function(task)

        if self._helpers is None:
            self._helpers = ThreadPoolExecutor(self.n_threads - 1)
        n_helpers = min(self.n_threads, len(tasks)) - 1
        futures = [self._helpers.submit(work) for _ in range(n_helpers)]
        try:
            work()
        finally:
            waiting.clear()  # after an error nobody starts anything more
            wait(futures)
        for future in futures:
            future.result()
        return [results[place] for place in range(len(tasks))]

    def end(self) -> None:
        """End the helpers; later work would start new ones."""
        if self._helpers is not None:
            helpers, self._helpers = self._helpers, None
            helpers.shutdown(wait=True, cancel_futures=True)

    def __exit__(self, error: type[BaseException] | None, *details: Any) -> None:
        if error is not None:
            self.end()


def blocks_of(n_features: int, width: int) -> list[slice]:
    """Return slices of at most that width that cover all features."""
    return [slice(first, min(first + width, n_features)) for first in range(0, n_features, width)]


def count_threads(n_jobs: Any) -> int:
    """Return the number of threads that `n_jobs` stands for, by joblib's convention."""
    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise ValueError(f"n_jobs={n_jobs!r} must be a positive number of threads, or -1 for all.")
    return int(n_jobs) if n_jobs > 0 else max(1, (cpu_count() or 1) + 1 + int(n_jobs))


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold back Ctrl-C and timers until the body has ended, for what breaks if it is broken off.

    Signals reach the main thread only; elsewhere there is nothing to hold back.

    Examples
    --------
    >>> import signal
    >>> from spexplain.threads import uninterrupted
    >>> try:
    ...     with uninterrupted():
    ...         signal.raise_signal(signal.SIGINT)
    ...         print("goes on")
    ... except KeyboardInterrupt:
    ...     print("interrupted")
    goes on
    interrupted
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[tuple[int, Any]] = []
    before: dict[int, Any] = {}
    for name in ("SIGINT", "SIGALRM"):
        number = getattr(signal, name, None)
        handler = None if number is None else signal.getsignal(number)
        if number is not None and callable(handler):  # else ignored, or not Python's
            before[number] = handler
            signal.signal(number, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number, frame in came[:1]:
            before[number](number, frame)
