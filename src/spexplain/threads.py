"""Threads that share the features of one fit, work that Ctrl-C must not interrupt, and OpenMP after a fork."""

import ctypes
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from contextvars import copy_context
from os import cpu_count, getpid
from types import FrameType
from typing import Any, TypeVar

import numpy as np

from spexplain.exceptions import waiting_frame

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")
_BESIDE = "spexplain, beside"
_GLANCE = 0.2  # seconds
_OPENMP = "libgomp"  # other OpenMP libraries restart their threads
_loaded_in = getpid()


class Threads(AbstractContextManager["Threads"]):
    """The caller's thread and helper threads, which start with the first shared work and end with the owner.

    As a context manager it ends the helpers if the work inside is interrupted, so that Ctrl-C leaves
    none behind. Later work starts new ones.

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
            wait(futures)
        except BaseException as error:
            waiting.clear()  # no thread starts another task
            if isinstance(error, Exception):
                wait(futures)
            raise  # at once after Ctrl-C; helpers only finish their current task
        for future in futures:
            future.result()
        return [results[place] for place in range(len(tasks))]

    def end(self, *, wait: bool = True) -> None:
        """End the helpers; later work starts new ones."""
        if self._helpers is not None:
            helpers, self._helpers = self._helpers, None
            helpers.shutdown(wait=wait, cancel_futures=True)

    def __exit__(self, error: type[BaseException] | None, *details: Any) -> None:
        if error is not None:
            self.end(wait=issubclass(error, Exception))


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


def beside(work: Callable[[], _Result], *, breaks: bool = False) -> _Result:
    """Do some work in a separate thread while this one waits; Ctrl-C ends the waiting at once.

    For two kinds of work: work that must not be interrupted, such as compiling and importing, and long
    calls of foreign code, which signals do not reach. Signals reach the main thread only; in other threads
    the work is done in place.

    Parameters
    ----------
    work : callable without arguments
        The work to do.
    breaks : bool, default=False
        Whether work that nobody waits for any more stops as soon as it is back in Python; otherwise it
        continues to its end.

    Examples
    --------
    >>> from spexplain.threads import beside
    >>> beside(lambda: 6 * 7)
    42
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    outcome: Future[_Result] = Future()

    def do(caller: FrameType) -> None:
        known = waiting_frame.set(caller)
        try:
            outcome.set_result(work())
        except BaseException as error:
            outcome.set_exception(error)
        finally:  # otherwise the caller's frame would hold itself and everything that its callers hold
            waiting_frame.reset(known)

    run, arguments = copy_context().run, (do, sys._getframe())
    # The end of a process does not wait for work that may be interrupted.
    thread = threading.Thread(target=run, args=arguments, name=_BESIDE, daemon=breaks)
    del arguments  # which hold the frame that holds them; the thread drops them when it ends
    try:
        thread.start()
    except RuntimeError:  # the system has no thread left, or the process is about to end
        return work()
    try:
        while not outcome.done():
            wait([outcome], _GLANCE)  # on Windows, no signal ends a wait without an end
    except BaseException:
        if breaks and thread.ident is not None:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(thread.ident), ctypes.py_object(KeyboardInterrupt)
            )
        raise
    return outcome.result()


def works_beside() -> bool:
    """Whether work is still running that nobody waits for any more.

    Examples
    --------
    >>> from spexplain.threads import works_beside
    >>> works_beside()
    False
    """
    return any(each.name == _BESIDE for each in threading.enumerate())


def is_forked() -> bool:
    """Whether this process was forked from one that had loaded this package."""
    return getpid() != _loaded_in


@contextmanager
def fork_safe() -> Iterator[None]:
    """Run OpenMP code inside, such as scikit-learn's, in one thread in forked processes.

    Examples
    --------
    >>> from spexplain.threads import fork_safe
    >>> with fork_safe():
    ...     print("safe in any process")
    safe in any process
    """
    if not is_forked():
        yield
        return
    from threadpoolctl import ThreadpoolController

    with ThreadpoolController().select(prefix=_OPENMP).limit(limits=1):
        yield
