"""What stands in each table: its rows, and the computations that they need."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from spexplain.paper.protocol import (
    DATASETS,
    GROUPS,
    KMEANS_FOR_PRICE,
    METHODS,
    N_NEIGHBORS,
    NEIGHBORS,
    SPECTRAL_FOR_MORE_LEAVES,
    Dataset,
    Run,
    SpectralRun,
)

Kind: TypeAlias = Literal["reference", "scores", "price", "seconds"]


@dataclass(frozen=True)
class PaperTable:
    """A table of the paper.

    Attributes
    ----------
    title : str
        Heading.
    measures : tuple of str
        What is measured in every row.
    """

    title: str
    measures: tuple[str, ...]


TABLES = {
    "small": PaperTable("Smaller datasets", ("ari", "ami", "ref")),
    "large": PaperTable("Larger datasets", ("ari", "ami", "ref")),
    "neighbors": PaperTable("SpEx-kNN by number of neighbours", ("ari", "ami", "ref")),
    "leaves": PaperTable("Twice as many leaves as clusters", ("ari", "ami")),
    "price": PaperTable("Price of explainability", ("reference", "own", "reoptimized")),
    "runtime": PaperTable("Running times", ("seconds",)),
}
NEIGHBOR_DATASETS = ("Ecoli", "Iris", "Cancer")
# Steps of the table of running times: phase, name, and the reference that the step needs or makes.
STEPS: tuple[tuple[str, str, Literal["spectral", "k-means"] | None], ...] = (
    ("reference", "Spectral reference", "spectral"),
    ("reference", "k-means reference", "k-means"),
    ("graph", "k-NN graph build", None),
    ("tree", "SpEx-kNN", None),
    ("tree", "SpEx-Clique", "spectral"),
    ("tree", "EMN", "k-means"),
    ("tree", "CART", "spectral"),
)


@dataclass(frozen=True)
class PaperTask:
    """One computation; equal tasks of several tables are done once.

    Attributes
    ----------
    kind : str
        What comes out: labels of a reference clustering, scores or price of a tree, or seconds.
    dataset : str
        Name in the paper.
    method : str
        Method, or the step that is timed.
    reference : SpectralRun, KMeansRun, KernelRun or None
        The clustering that is explained or compared with.
    n_neighbors : int or None
        Neighbours of SpEx-kNN.
    leaves : int
        Leaves per class.
    """

    kind: Kind
    dataset: str
    method: str
    reference: Run | None = None
    n_neighbors: int | None = None
    leaves: int = 1


@dataclass(frozen=True)
class PaperRow:
    """One row of a table, and the task that fills it."""

    table: str
    dataset: str
    group: str
    method: str
    setting: str
    task: PaperTask

    def place(self, measure: str) -> tuple[str, str, str, str, str]:
        """Return where `published` keeps the number that belongs here."""
        return self.dataset, self.group, self.method, self.setting, measure


def rows_of(table: str, names: Iterable[str] = tuple(DATASETS)) -> list[PaperRow]:
    """Return the rows of a table for some datasets, in the paper's order.

    Examples
    --------
    >>> from spexplain.paper import rows_of
    >>> [(row.group, row.method) for row in rows_of("leaves", ["Iris"])]
    [('k-means', 'SpEx-Clique'), ('k-means', 'ExKMC'), ('k-means', 'CART'), ('spectral', 'CART')]
    """
    makers = {
        "small": _results,
        "large": _results,
        "neighbors": _neighbors,
        "leaves": _leaves,
        "price": _price,
        "runtime": _runtime,
    }
    asked = set(names)
    chosen = [dataset for name, dataset in DATASETS.items() if name in asked]
    return [row for dataset in chosen for row in makers[table](table, dataset)]


def _results(table: str, dataset: Dataset) -> Iterator[PaperRow]:
    if dataset.size != table:
        return
    for group in GROUPS:
        reference = dataset.reference(group)
        if reference is None:
            continue
        task = PaperTask("reference", dataset.name, "reference", reference)
        yield PaperRow(table, dataset.name, group, "reference", "", task)
        for method in METHODS[group]:
            tree = _scores(dataset, method, reference)
            yield PaperRow(table, dataset.name, group, method, "", tree)


def _scores(dataset: Dataset, method: str, reference: Run, leaves: int = 1) -> PaperTask:
    n_neighbors = N_NEIGHBORS if method == "SpEx-kNN" else None
    return PaperTask("scores", dataset.name, method, reference, n_neighbors, leaves)


def _neighbors(table: str, dataset: Dataset) -> Iterator[PaperRow]:
    if dataset.name not in NEIGHBOR_DATASETS:
        return
    for n in NEIGHBORS:
        task = _scores(dataset, "SpEx-kNN", SpectralRun(n_neighbors=n))
        task = replace(task, n_neighbors=n)
        yield PaperRow(table, dataset.name, "spectral", "SpEx-kNN", str(n), task)


def _leaves(table: str, dataset: Dataset) -> Iterator[PaperRow]:
    if dataset.more_leaves is None:
        return
    for method in ("SpEx-Clique", "ExKMC", "CART"):
        task = _scores(dataset, method, dataset.more_leaves, leaves=2)
        yield PaperRow(table, dataset.name, "k-means", method, "", task)
    task = _scores(dataset, "CART", SPECTRAL_FOR_MORE_LEAVES, leaves=2)
    yield PaperRow(table, dataset.name, "spectral", "CART", "", task)


def _price(table: str, dataset: Dataset) -> Iterator[PaperRow]:
    for method in ("SpEx-Clique", "CART", "EMN", "IMM"):
        task = PaperTask("price", dataset.name, method, KMEANS_FOR_PRICE)
        yield PaperRow(table, dataset.name, "k-means", method, "k leaves", task)
    task = PaperTask("price", dataset.name, "ExKMC", KMEANS_FOR_PRICE, leaves=2)
    yield PaperRow(table, dataset.name, "k-means", "ExKMC", "2k leaves", task)


def _runtime(table: str, dataset: Dataset) -> Iterator[PaperRow]:
    for phase, step, group in STEPS:
        reference = None if group is None else dataset.reference(group)
        n_neighbors = N_NEIGHBORS if reference is None else None
        task = PaperTask("seconds", dataset.name, step, reference, n_neighbors)
        yield PaperRow(table, dataset.name, phase, step, "", task)


def tasks_of(rows: Iterable[PaperRow]) -> list[PaperTask]:
    """Return the tasks of some rows in an order to do them: by dataset, references first, each once."""
    wanted: dict[PaperTask, None] = {}
    for row in rows:
        task = row.task
        if task.reference is not None:
            wanted[PaperTask("reference", task.dataset, "reference", task.reference)] = None
        wanted[task] = None
    place = {name: i for i, name in enumerate(DATASETS)}
    # Timing comes last: by then everything that is compiled on first use has been.
    return sorted(wanted, key=lambda task: (place[task.dataset], task.kind == "seconds"))
