"""Requests to all partitions at once: one task each, a tree of sums, and a count of the bytes transferred."""

import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple
from uuid import uuid4

import dask
import numpy as np

from spexplain.exceptions import warn_caller
from spexplain.memory import available_memory
from spexplain.threads import count_threads

_PATIENCE = 10.0  # seconds without a result after which the state of the workers is checked
_MOST_IDLE = 12  # checks in a row that may find them unable to work
_FAN_IN = 8  # results that one task sums
_RETRIES = (
    3  # times that a task may fail before the fit does; what a lost worker held is not counted
)


@dataclass
class Traffic:
    """The bytes that the requests of one fit transferred.

    Parameters
    ----------
    answers : dict
        Bytes of the summed answers that reached the client, by kind of request.
    between : dict
        Bytes of all partial answers that were summed; those on the same worker are not transferred.
    sent : dict
        Bytes of what was sent along with tasks, once for each, by kind.
    requests : dict
        Number of requests.
    log : list of (str, int)
        Kind and bytes of every answer, in order.
    """

    answers: dict[str, int] = field(default_factory=dict)
    between: dict[str, int] = field(default_factory=dict)
    sent: dict[str, int] = field(default_factory=dict)
    requests: dict[str, int] = field(default_factory=dict)
    log: list[tuple[str, int]] = field(default_factory=list)

    def add(self, kind: str, answer: int, between: int) -> None:
        """Note one request."""
        for counter, amount in (
            (self.answers, answer),
            (self.between, between),
            (self.requests, 1),
        ):
            counter[kind] = counter.get(kind, 0) + amount
        self.log.append((kind, answer))


class Held(NamedTuple):
    """A value in this process that tasks use."""

    value: Any
    key: str

    def lazy(self) -> Any:
        """Return the value as a separate task, so that it is sent once instead of with every task."""
        return dask.delayed(self.value, name=self.key, traverse=False)


class Weighed(NamedTuple):
    """An answer, and the bytes of the answers that it was summed from."""

    answer: Any
    moved: int


def size_of(answer: Any) -> int:
    """Return the bytes of the arrays in an answer."""
    if isinstance(answer, np.ndarray):
        return int(answer.nbytes)
    if isinstance(answer, tuple | list):
        return sum(map(size_of, answer))
    return 0


def _weighed(function: Callable[..., Any], *arguments: Any) -> Weighed:
    return Weighed(function(*arguments), 0)


def _merged(merge: Callable[[list[Any]], Any], *parts: Weighed) -> Weighed:
    moved = sum(part.moved + size_of(part.answer) for part in parts)
    return Weighed(merge([part.answer for part in parts]), moved)


def _answered(
    function: Callable[..., Any],
    merge: Callable[[list[Any]], Any],
    request: dict[int, Any],
    *columns: Sequence[Any],
) -> Weighed:
    """Return the merged answers for several partitions of one worker.

    Arguments that all share, by position, are in `request`; the others have one column each.
    """
    waiting: list[Weighed] = []
    for each in zip(*columns, strict=True):
        arguments = list(each)
        for place, value in sorted(request.items()):
            arguments.insert(place, value)
        waiting.append(Weighed(function(*arguments), 0))
        if len(waiting) == _FAN_IN:
            waiting = [_merged(merge, *waiting)]
    return _merged(merge, *waiting)


def add_up(parts: list[Any]) -> Any:
    """Return the sum of arrays."""
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total


def add_tuples(parts: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Return the sums of tuples of arrays."""
    return tuple(add_up(list(each)) for each in zip(*parts, strict=True))


def _task(key: str, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """Return a lazy call. Dask is slow with lists and dicts of lazy values."""
    arguments = [each.lazy() if isinstance(each, Held) else each for each in arguments]
    call = dask.delayed(function, name=f"call-{key}", pure=False, traverse=False)
    return call(*arguments, dask_key_name=key)


class Workers:
    """Runs Dask's tasks: on the cluster of the current client, else on threads of this process."""

    def __init__(self, n_jobs: int | None = None) -> None:
        self.traffic = Traffic()
        self._token = uuid4().hex[:8]
        self._numbers = count()
        self._homes: dict[str, str] = {}
        self._threads: dict[str, int] = {}
        # By name: Dask arrays that the workers hold, and the tree that lazy leaf ids come from.
        self.kept: dict[str, list[Any]] = {}
        self.routes: dict[str, Any] = {}
        self._options = {} if n_jobs is None else {"num_workers": count_threads(n_jobs)}

    def _name(self, kind: str) -> str:
        # Dask's dashboard shows the part before the token.
        return f"spexplain-{kind}-{self._token}{next(self._numbers):x}"

    def hold(self, value: Any, kind: str = "request") -> Held:
        """Return a value for tasks to use; it is sent once instead of with every task."""
        name, sent = self._name(kind), self.traffic.sent
        sent[kind] = sent.get(kind, 0) + size_of(value)
        return Held(value, name)

    def tasks(
        self, kind: str, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]
    ) -> list[Any]:
        """Return one task for each tuple of arguments."""
        name = self._name(kind)
        return [_task(f"{name}-{i}", function, each) for i, each in enumerate(arguments)]

    def keep(self, tasks: Sequence[Any]) -> list[Any]:
        """Start tasks whose results stay with the workers. Dask recomputes what a lost worker held."""
        tasks = [each.lazy() if isinstance(each, Held) else each for each in tasks]
        if not tasks:
            return []
        client = current_client()
        if client is None:
            return list(dask.persist(*tasks, optimize_graph=False, **self._options))
        with warnings.catch_warnings():
            # Labels in this process are sent within the graph, so that they survive the loss of a worker.
            warnings.filterwarnings("ignore", message="Sending large graph")
            return list(client.compute(tasks, retries=_RETRIES, optimize_graph=False))

    def ask(
        self,
        kind: str,
        function: Callable[..., Any],
        arguments: Sequence[tuple[Any, ...]],
        merge: Callable[[list[Any]], Any] = add_up,
        *,
        beside: Sequence[Any] = (),
    ) -> Any:
        """Return the answers of all partitions, merged in a tree in the order of the partitions.

        With `beside`, one kept task for each partition, answers are computed and merged where these are kept,
        and every worker sends a single one; then the merge must not depend on the order. All arguments
        must be kept or held.
        """
        name = self._name(kind)
        if homes := self._homes_of(beside):
            return self._ask_at(homes, name, function, arguments, merge)
        stem, numbers = f"spexplain-{kind}-sum-{name.rpartition('-')[2]}", count()

        def merged(parts: list[Any]) -> Any:
            while True:
                groups = [parts[i : i + _FAN_IN] for i in range(0, len(parts), _FAN_IN)]
                parts = [
                    _task(f"{stem}-{next(numbers)}", _merged, (merge, *group)) for group in groups
                ]
                if len(parts) == 1:
                    return parts[0]

        parts = [
            _task(f"{name}-{place}", _weighed, (function, *each))
            for place, each in enumerate(arguments)
        ]
        (found,) = self._fetch([merged(parts)])
        self.traffic.add(kind, size_of(found.answer), found.moved)
        return found.answer

    def _ask_at(
        self,
        homes: list[str],
        name: str,
        function: Callable[..., Any],
        arguments: Sequence[tuple[Any, ...]],
        merge: Callable[[list[Any]], Any],
    ) -> Any:
        """Return the merged answers: one task for each thread of the workers that hold the partitions.

        If the work is small, a task for each partition would cost more than the work itself.
        """
        client = current_client()
        by_home: dict[str, list[tuple[Any, ...]]] = {}
        for home, each in zip(homes, arguments, strict=True):
            by_home.setdefault(home, []).append(each)
        threads = self._threads
        shared = {
            place: each.value
            for place, each in enumerate(arguments[0])
            if isinstance(each, Held) and all(other[place] is each for other in arguments)
        }
        futures: list[Any] = []
        for home, own in by_home.items():
            # Dask may run it elsewhere if a worker is lost or overloaded.
            where = {"workers": [home], "allow_other_workers": True, "retries": _RETRIES}
            n_tasks = min(len(own), threads.get(home, 1))
            for number in range(n_tasks):
                columns = zip(*own[number::n_tasks], strict=True)
                kept = [
                    [each.value if isinstance(each, Held) else each for each in column]
                    for place, column in enumerate(columns)
                    if place not in shared
                ]
                head = (_answered, function, merge, shared, *kept)
                key = f"{name}-{len(futures)}"
                futures.append(client.submit(*head, key=key, pure=False, **where))
        if len(futures) > _FAN_IN:
            stem, _, token = name.rpartition("-")
            head = (_merged, merge, *futures)
            futures = [
                client.submit(*head, key=f"{stem}-sum-{token}", pure=False, retries=_RETRIES)
            ]
        # A few answers are merged here, which transfers no more bytes and saves a task.
        found = _merged(merge, *self._results(client, futures))
        self.traffic.add(
            name.split("-", 1)[1].rpartition("-")[0], size_of(found.answer), found.moved
        )
        return found.answer

    def _homes_of(self, tasks: Sequence[Any]) -> list[str]:
        """Return the worker that holds each of the kept tasks; nothing without a cluster."""
        client = current_client()
        if client is None or not tasks:
            return []
        if unknown := [task for task in tasks if task.key not in self._homes]:
            self._threads = client.nthreads()
            holders = client.who_has(unknown)
            shares: dict[str, int] = {}
            for task in unknown:
                # Of several, the least busy one. None: it was just lost, and is recomputed anywhere.
                home = min(
                    holders.get(task.key, ()), key=lambda each: shares.get(each, 0), default=""
                )
                shares[home] = shares.get(home, 0) + 1
                self._homes[task.key] = home
        homes = [self._homes[task.key] for task in tasks]
        return homes if all(homes) else []

    def _fetch(self, tasks: list[Any]) -> list[Any]:
        """Return the results of tasks."""
        client = current_client()
        if client is None:
            return list(dask.compute(*tasks, optimize_graph=False, **self._options))
        return self._results(client, client.compute(tasks, retries=_RETRIES, optimize_graph=False))

    def _results(self, client: Any, futures: list[Any]) -> list[Any]:
        """Return the results of tasks that were started."""
        try:
            _await(client, futures)
            return list(client.gather(futures))
        finally:
            # An interrupted fit cancels its remaining work.
            if unfinished := [each for each in futures if not each.done()]:
                client.cancel(unfinished)


def memory_of_workers() -> float:
    """Return the bytes of memory that all workers may take together; infinity without a limit."""
    client = current_client()
    if client is None:
        return available_memory()
    limits = [each.get("memory_limit") or float("inf") for each in _workers_of(client)]
    return float(sum(limits)) if limits else float("inf")


def _await(client: Any, futures: list[Any]) -> None:
    """Wait for results; warn if no worker can work on them, and give up after a while."""
    from distributed import wait

    n_idle = 0
    while True:
        try:
            wait(futures, timeout=_PATIENCE, return_when="ALL_COMPLETED")
            return
        except TimeoutError:
            why = _stalled(client)
        n_idle = 0 if why is None else n_idle + 1
        if why is not None and n_idle == 1:
            warn_caller(f"Nothing has happened for {_PATIENCE:g} s: {why}; waiting.", UserWarning)
        if why is not None and n_idle >= _MOST_IDLE:
            raise RuntimeError(
                f"Nothing has happened for {n_idle * _PATIENCE:g} s: {why}; start workers, give them more memory, or "
                "make the partitions smaller."
            )


def _stalled(client: Any) -> str | None:
    """Return why no worker is working; None if one is."""
    if not client.nthreads():
        return "the Dask cluster has no workers"
    workers = _workers_of(client)
    if workers and all(each.get("status") == "paused" for each in workers):
        return "all Dask workers are paused, for too little memory"
    return None


def _workers_of(client: Any) -> list[dict[str, Any]]:
    """Return what the scheduler knows about its workers."""
    try:
        known = client.sync(client.scheduler.identity, n_workers=-1)
    except TypeError:  # older versions return all workers without this argument
        known = client.sync(client.scheduler.identity)
    return list(known["workers"].values())


def current_client() -> Any:
    """Return the client that Dask would use, or None if it would work in this process."""
    distributed = sys.modules.get("distributed")
    if distributed is None or dask.config.get("scheduler", None) not in (None, "dask.distributed"):
        return None
    try:
        return distributed.get_client()
    except ValueError:
        return None
