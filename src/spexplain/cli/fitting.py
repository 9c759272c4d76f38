"""From a table to fitted estimators: the clusters to explain, methods by name, facts, exports."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from spexplain.cli.columns import Table, named_columns, prepare
from spexplain.cli.errors import UserError, closest, counted, listed, usage_error
from spexplain.cli.options import Clustering, Columns, MethodName, Size
from spexplain.cli.sources import Source, is_number
from spexplain.cli.terminal import Terminal

if TYPE_CHECKING:
    import polars as pl


METHODS: dict[MethodName, str] = {
    "best": "BestTree",
    "spex-clique": "SpexClique",
    "spex-knn": "SpexKNN",
    "spex-graph": "SpexGraph",
    "imm": "IMM",
    "emn": "EMN",
    "cart": "CART",
    "exkmc": "ExKMC",
    "kernel-imm": "KernelIMM",
    "random-cuts": "RandomCuts",
    "exgreedy": "ExGreedy",
    "exshallow": "ExShallow",
    "non-uniform-cut": "NonUniformCut",
}
REFERENCE_FREE = ("spex-knn", "spex-graph", "non-uniform-cut")
# What a person must know to make sense of clusters that nobody brought.
_FOUND_BY = {
    "spectral": "spectral clustering of the standardised columns",
    "kmeans": "k-means on the columns as they are",
    "kmedians": "k-medians on the columns as they are",
    "kernel_kmeans": "kernel k-means on the columns as they are",
}
_SLOW_SPECTRAL = 50_000  # rows above which spectral clustering takes minutes
_SLOW_KERNEL = 20_000  # rows above which Kernel IMM, quadratic in them, takes minutes
_MANY_LABELS = 50


@dataclass(frozen=True)
class Task:
    """What is explained.

    Parameters
    ----------
    table : Table
        The numbers.
    labels : array of shape (n_kept,) or None
        Clusters of the rows, if the file has them.
    features : list of str or None
        Columns that the tree may test.
    """

    table: Table
    labels: np.ndarray[Any, Any] | None
    features: list[str] | None


def check_clustering(clustering: Clustering) -> None:
    """Refuse options that do not say, or say twice, what is explained."""
    if clustering.labels is None and clustering.n_clusters is None:
        usage_error(
            "Say what to explain: --labels COLUMN for clusters of your own, or -k N to find N clusters."
        )
    for value, option in ((clustering.n_clusters, "-k"), (clustering.reference, "--reference")):
        if clustering.labels is not None and value is not None:
            usage_error(
                f"--labels brings the clusters along, so {option} has no meaning; --leaves sets the size of the tree."
            )


def leaves_of(size: Size) -> int | Literal["auto"] | None:
    """Return the number of leaves that was asked for."""
    if size.leaves is None or size.leaves == "auto":
        return "auto" if size.leaves else None
    if not size.leaves.isdecimal() or int(size.leaves) < 1:
        usage_error(f"--leaves must be a positive number or auto, not {size.leaves}.")
    return int(size.leaves)


def read_task(source: Source, columns: Columns, clustering: Clustering, terminal: Terminal) -> Task:
    """Read a file: numbers, clusters, and the columns that tests may use."""
    with terminal.stage(f"Reading {source.name}"):
        names = source.names()
        ignored = named_columns(columns.ignore, names, "--ignore")
        label = clustering.labels
        if label is not None and label not in names:
            raise UserError(f"{source.name} has no column {label}{closest(label, names)}")
        frame = source.read([name for name in names if name == label or name not in ignored])
    if not len(frame):
        raise UserError(f"{source.name} has column names but no rows.")
    _note_missing_header(source, names, terminal)
    series = None if label is None else frame[label]
    values = frame if label is None or label in ignored else frame.drop(label)
    if series is not None:
        _check_labels(series)
    wanted = named_columns(columns.features, values.columns, "--features")
    table = prepare(values, columns, terminal)
    labels = None if series is None else _label_array(series, table.kept)
    _note_noise(labels, clustering, terminal)
    return Task(table, labels, _testable(wanted, table))


def _note_missing_header(source: Source, names: list[str], terminal: Terminal) -> None:
    if source.is_text and not source.reading.no_header:
        n_numbers = sum(map(is_number, names))
        if 2 * n_numbers > len(names):
            terminal.note(
                f"{n_numbers} of {counted(len(names), 'column name')} are numbers; if the first line is "
                "a row, pass --no-header."
            )


def _testable(wanted: list[str], table: Table) -> list[str] | None:
    """Return the columns that --features named, those of encoded text among them."""
    if not wanted:
        return None
    have = table.X.columns
    found = [
        name
        for name in have
        if name in wanted
        or any(name.startswith(f"{each}=") for each in wanted if each in table.encoded)
    ]
    lost = [name for name in wanted if name not in have and name not in table.encoded]
    if lost:
        raise UserError(
            f"--features names {listed(lost)}, which holds no numbers and was left out."
        )
    return found


def _check_labels(series: "pl.Series") -> None:
    """Refuse labels that are missing, all equal, or hardly ever equal."""
    n_missing = series.null_count()
    if series.dtype.is_float():
        n_missing += int(series.is_nan().sum())
    if n_missing:
        raise UserError(
            f"The label column {series.name} is empty in {counted(n_missing, 'row')}; fill these in or remove the rows."
        )
    n_labels = series.n_unique()
    if n_labels < 2:
        raise UserError(
            f"The label column {series.name} has one value only, so there is nothing to tell apart."
        )
    if n_labels > max(_MANY_LABELS, len(series) // 2):
        raise UserError(
            f"The label column {series.name} has {n_labels:,} different values in {len(series):,} rows; "
            "it does not look like clusters."
        )


def _label_array(series: "pl.Series", kept: Any) -> np.ndarray[Any, Any]:
    """Return labels as an array of numbers, booleans or text."""
    import polars as pl

    if kept is not None:
        series = series.filter(pl.Series(kept))
    is_plain = series.dtype.is_integer() or series.dtype.is_float() or series.dtype == pl.Boolean
    if is_plain and series.dtype not in (pl.Int128, pl.UInt64):
        return series.to_numpy()
    # Fixed-width text sorts much faster than Python objects do.
    return series.cast(pl.String).to_numpy().astype(str)


def _note_noise(labels: Any, clustering: Clustering, terminal: Terminal) -> None:
    if labels is not None and labels.dtype.kind == "i" and clustering.noise == "ignore":
        n_noise = int(np.count_nonzero(labels == -1))
        if n_noise:
            terminal.note(
                f"{counted(n_noise, 'row')} with the label -1 count as noise, rows of no cluster "
                "(--noise cluster changes that)."
            )


def estimator_of(method: MethodName, task: Task, clustering: Clustering, size: Size) -> Any:
    """Return the unfitted estimator of a method."""
    import spexplain

    options: dict[str, Any] = {
        "n_leaves": leaves_of(size),
        "max_depth": size.max_depth,
        "min_samples_leaf": size.min_samples_leaf,
        "features": task.features,
        "noise": clustering.noise,
        "refine": size.refine,
        "n_jobs": size.jobs,
        "random_state": size.seed,
    }
    n_clusters = clustering.n_clusters
    if task.labels is not None:
        n_clusters = len(np.unique(task.labels))
    if clustering.reference is not None and method not in REFERENCE_FREE:
        options["reference"] = clustering.reference
    return getattr(spexplain, METHODS[method])(n_clusters, **options)


def fit(
    estimator: Any, task: Task, clustering: Clustering, terminal: Terminal
) -> tuple[Any, float]:
    """Return the fitted estimator and the seconds that it took."""
    name = clustering.reference or getattr(estimator, "reference", None)
    n_rows = len(task.table.X)
    if task.labels is None and name == "spectral" and n_rows > _SLOW_SPECTRAL:
        terminal.note(
            f"Spectral clustering of {n_rows:,} rows takes a while; --reference kmeans is quick."
        )
    if type(estimator).__name__ == "KernelIMM" and n_rows > _SLOW_KERNEL:
        terminal.note(f"Kernel IMM is quadratic in the rows, and takes long for {n_rows:,}.")
    start = time.perf_counter()
    with (
        terminal.stage(f"Growing the tree ({type(estimator).__name__})"),
        terminal.warnings_as_notes(),
    ):
        labels = task.labels
        if labels is None and not hasattr(estimator, "reference") and clustering.reference:
            labels = reference_labels(
                clustering.reference, task, clustering, estimator.random_state
            )
        estimator.fit(task.table.X, labels)
    seconds = time.perf_counter() - start
    if task.labels is None and name is not None:
        note_origin(name, terminal)
    return estimator, seconds


def note_origin(name: str, terminal: Terminal) -> None:
    """Say where clusters come from that the file does not hold."""
    terminal.note(f"The clusters come from {_FOUND_BY[name]} (--reference chooses).")


def reference_labels(name: str, task: Task, clustering: Clustering, seed: int) -> Any:
    """Return the clusters that a named clustering finds."""
    from spexplain.references.named import cluster

    assert clustering.n_clusters is not None
    return cluster(name, task.table.X.to_numpy(), clustering.n_clusters, seed)


def report_html(estimator: Any) -> str:
    """Return the report of a fitted estimator."""
    from spexplain.show.report import render

    try:
        return render(estimator.summary())
    except ImportError as error:
        raise UserError(f"--report cannot be written: {error}") from None


def file_name(path: Path | str) -> str:
    """Return the last part of a path, for titles."""
    return Path(path).name if str(path) != "-" else "standard input"
