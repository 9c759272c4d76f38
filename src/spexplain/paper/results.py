"""Filling the tables: every task once, each finished one kept at once, so that a run can be resumed."""

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from itertools import groupby
from pathlib import Path
from typing import Any

from spexplain._version import __version__
from spexplain.files import write_file
from spexplain.paper.compute import LoadedDataset, Record, compute, describe_machine
from spexplain.paper.protocol import DATASETS, Dataset
from spexplain.paper.published_numbers import published
from spexplain.paper.tables import TABLES, PaperRow, PaperTask, rows_of, tasks_of

_LIBRARIES = ("numpy", "scikit-learn", "pyamg")


@dataclass(frozen=True)
class Value:
    """One number of a table beside the published one."""

    row: PaperRow
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
    rows : list of PaperRow
        Their rows, of the datasets at hand.
    records : dict of PaperTask to dict
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
    rows: list[PaperRow] = field(default_factory=list)
    records: dict[PaperTask, Record] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    foreign: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    n_computed: int = 0

    def rows_in(self, table: str) -> list[PaperRow]:
        """Return the rows of one table."""
        return [row for row in self.rows if row.table == table]

    def values(self, row: PaperRow) -> list[Value]:
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


class Store:
    """A folder of finished tasks.

    A file is written under another name and renamed, so it is there as a whole or not at all. It
    records everything that its numbers depend on: task and settings, the data, the versions of
    spexplain and of the libraries behind the references. A record that differs in any of these is not used.

    Parameters
    ----------
    folder : Path
        Where the files are; made if it is not there.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def get(self, task: PaperTask, digest: str) -> dict[str, Any] | None:
        """Return the record of a task on the data of this digest, or None."""
        path = self._path(task, digest)
        try:
            kept = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError):
            return None
        if not isinstance(kept, dict) or kept.get("of") != _identity(task, digest):
            return None
        record = kept.get("record")
        return record if isinstance(record, dict) else None

    def put(self, task: PaperTask, digest: str, record: dict[str, Any]) -> None:
        """Keep the record of a task."""
        kept = {"of": _identity(task, digest), "record": record}
        write_file(self._path(task, digest), json.dumps(kept, allow_nan=True))

    def clear(self, names: Iterable[str]) -> None:
        """Forget everything about some datasets."""
        for name in names:
            for path in self.folder.glob(f"{name.lower()}-*.json"):
                path.unlink()

    def _path(self, task: PaperTask, digest: str) -> Path:
        text = json.dumps(_identity(task, digest), sort_keys=True)
        code = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
        name = "-".join((task.dataset, task.kind, task.method)).lower().replace(" ", "-")
        return self.folder / f"{name}-{code}.json"


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
        Called before every task with how many are done, how many there are, and what comes next.

    Returns
    -------
    Results

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from spexplain.paper import Store, run
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
        loaded = _load(DATASETS[name], results, n_jobs=n_jobs, embed=embed)
        if loaded is None:
            total -= len(tasks)
            continue
        for task in tasks:
            advance(done, total, f"{name} · {task.method}")
            _do(task, loaded, store, results)
            done += 1
    advance(done, total, "done")
    results.rows = [row for row in wanted if row.dataset not in results.absent]
    return results


def _load(dataset: Dataset, results: Results, **options: Any) -> LoadedDataset | None:
    """Return a dataset, or None if it is not at hand, which the results then say."""
    try:
        loaded = LoadedDataset.load(dataset, **options)
    except (OSError, ImportError, ValueError) as error:
        results.absent[dataset.name] = " ".join(str(error).split())
        return None
    if not loaded.is_papers_embedding:
        results.foreign.append(dataset.name)
    return loaded


def _do(task: PaperTask, loaded: LoadedDataset, store: Store, results: Results) -> None:
    """Take the record of a task from the store, or compute and keep it."""
    data = loaded.digest
    if task.kind == "seconds":  # which depend on more than the data
        data += f" on {describe_machine()['processor']}, n_jobs={loaded.n_jobs}"
    record = store.get(task, data)
    if record is None:
        reference = None
        if task.kind != "reference" and task.reference is not None:
            needed = PaperTask("reference", task.dataset, "reference", task.reference)
            reference = results.records.get(needed)
            if reference is None:  # it failed, and has said so
                return
        try:
            record = compute(task, loaded, reference)
        except ImportError as error:
            sentence = str(error)
            if sentence not in results.failed:
                results.failed.append(sentence)
            return
        store.put(task, data, record)
        results.n_computed += 1
    results.records[task] = record


def _identity(task: PaperTask, digest: str) -> dict[str, Any]:
    """Return all that a record depends on."""
    return {
        "task": asdict(task),
        "run": type(task.reference).__name__,
        "data": digest,
        "spexplain": __version__,
        "libraries": {name: _version(name) for name in _LIBRARIES},
    }


@cache
def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
