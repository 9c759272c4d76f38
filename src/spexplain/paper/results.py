"""Filling the tables: every task once, each finished one kept at once."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from spexplain.paper.bench import Bench
from spexplain.paper.compute import Record, compute
from spexplain.paper.machine import describe
from spexplain.paper.printed import published
from spexplain.paper.protocol import DATASETS, Dataset
from spexplain.paper.store import Store
from spexplain.paper.tables import TABLES, Row, Task, rows_of, tasks_of


@dataclass(frozen=True)
class Value:
    """One number of a table beside the published one."""

    row: Row
    measure: str
    ours: float | None
    published: float | None
    comparable: bool = True

    @property
    def difference(self) -> float | None:
        """Ours, rounded to three decimals as the paper's are, minus the published number."""
        if self.ours is None or self.published is None:
            return None
        return round(round(self.ours, 3) - self.published, 3) + 0.0

    @property
    def is_equal(self) -> bool | None:
        """Whether ours rounds to the published number; None where there are not both."""
        if self.ours is None or self.published is None:
            return None
        return self.difference == 0


@dataclass
class Results:
    """What a run has found.

    Attributes
    ----------
    tables : tuple of str
        The tables that were asked for.
    rows : list of Row
        Their rows, of the datasets at hand.
    records : dict of Task to dict
        What was computed.
    absent : dict of str to str
        Datasets that are not at hand, and why, in one sentence each.
    foreign : list of str
        Datasets whose embedding is not the paper's.
    failed : list of str
        Sentences about tasks that need a package that is not installed.
    n_computed : int
        Tasks done in this run; the others were kept from an earlier one.
    """

    tables: tuple[str, ...]
    rows: list[Row] = field(default_factory=list)
    records: dict[Task, Record] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    foreign: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    n_computed: int = 0

    def rows_in(self, table: str) -> list[Row]:
        """Return the rows of one table."""
        return [row for row in self.rows if row.table == table]

    def values(self, row: Row) -> list[Value]:
        """Return the numbers of a row, in the order of the table's measures."""
        record, printed = self.records.get(row.task, {}), published(row.table)
        return [
            Value(
                row,
                measure,
                record.get(measure),
                printed.get(row.place(measure)),
                row.dataset not in self.foreign,
            )
            for measure in TABLES[row.table].measures
        ]


def run(
    tables: Iterable[str],
    names: Iterable[str],
    store: Store,
    *,
    n_jobs: int = -1,
    embed: bool = False,
    advance: Callable[[int, int, str], Any] = lambda done, total, what: None,
) -> Results:
    """Compute what is missing and return the tables.

    Parameters
    ----------
    tables : iterable of str
        Names from `TABLES`.
    names : iterable of str
        Names from `DATASETS`.
    store : Store
        Where finished tasks are kept; what it has is not computed again.
    n_jobs : int, default=-1
        Threads.
    embed : bool, default=False
        Whether to make embeddings that are not at hand.
    advance : callable, optional
        Told before every task how many are done, how many there are, and what comes.

    Returns
    -------
    Results

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from spexplain.paper import run
    >>> from spexplain.paper.store import Store
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results = run(["leaves"], ["Cancer"], Store(Path(folder)))
    >>> [round(value.ours, 3) for value in results.values(results.rows[0])]
    [0.491, 0.464]
    """
    chosen = list(names)
    results = Results(tuple(table for table in TABLES if table in set(tables)))
    wanted = [row for table in results.tables for row in rows_of(table, chosen)]
    plan = {name: list(some) for name, some in groupby(tasks_of(wanted), lambda t: t.dataset)}
    done, total = 0, sum(map(len, plan.values()))
    for name, tasks in plan.items():
        advance(done, total, name)
        bench = _bench(DATASETS[name], results, n_jobs=n_jobs, embed=embed)
        if bench is None:
            total -= len(tasks)
            continue
        for task in tasks:
            advance(done, total, f"{name} · {task.method}")
            _do(task, bench, store, results)
            done += 1
    advance(done, total, "done")
    results.rows = [row for row in wanted if row.dataset not in results.absent]
    return results


def _bench(dataset: Dataset, results: Results, **options: Any) -> Bench | None:
    """Return a dataset, or None if it is not at hand, which the results then say."""
    try:
        bench = Bench.load(dataset, **options)
    except (OSError, ImportError, ValueError) as error:
        results.absent[dataset.name] = " ".join(str(error).split())
        return None
    if not bench.is_papers_embedding:
        results.foreign.append(dataset.name)
    return bench


def _do(task: Task, bench: Bench, store: Store, results: Results) -> None:
    """Take the record of a task from the store, or compute and keep it."""
    data = bench.digest
    if task.kind == "seconds":  # which depend on more than the data
        data += f" on {describe()['processor']}, n_jobs={bench.n_jobs}"
    record = store.get(task, data)
    if record is None:
        reference = None
        if task.kind != "reference" and task.reference is not None:
            needed = Task("reference", task.dataset, "reference", task.reference)
            reference = results.records.get(needed)
            if reference is None:  # it failed, and has said so
                return
        try:
            record = compute(task, bench, reference)
        except ImportError as error:
            sentence = str(error)
            if sentence not in results.failed:
                results.failed.append(sentence)
            return
        store.put(task, data, record)
        results.n_computed += 1
    results.records[task] = record
