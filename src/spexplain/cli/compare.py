"""``spexplain compare``: all methods side by side on one clustering."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from spexplain.cli.errors import UserError, usage_error
from spexplain.cli.options import (
    ClusteringOptions,
    ColumnOptions,
    Data,
    Format,
    MessageOptions,
    MethodName,
    ReadingOptions,
    TreeOptions,
)
from spexplain.messages import closest, counted, one_line

if TYPE_CHECKING:
    from rich.table import Table

    from spexplain.cli.columns import InputTable
    from spexplain.cli.terminal import Terminal
    from spexplain.facts import Summary

Methods = Annotated[
    str | None,
    typer.Option(
        "--methods",
        rich_help_panel="The tree",
        metavar="A,B,...",
        help="Methods to compare, by default all.",
    ),
]
TimeLimit = Annotated[
    float,
    typer.Option(
        "--time-limit",
        rich_help_panel="The tree",
        min=0.01,
        metavar="SECONDS",
        help="A method that takes longer is given up.",
    ),
]


class _TimeOutError(Exception):
    """A method took longer than --time-limit."""


def compare(
    data: Data,
    *,
    clustering: ClusteringOptions,
    methods: Methods = None,
    time_limit: TimeLimit = 60.0,
    tree: TreeOptions,
    columns: ColumnOptions,
    reading: ReadingOptions,
    messages: MessageOptions,
    format: Format = "text",
) -> None:
    """Compare all methods on one clustering of a table.

    ARI: agreement of leaves and clusters, 1 is best. Fidelity: share of rows that carry their
    leaf's commonest label. Price: k-means cost of the leaves over that of the clusters. Cut: how
    much of the clusters the leaves cut apart, the sum of conductances that SpEx minimises.
    """
    from spexplain.cli import fitting
    from spexplain.cli.columns import read_table
    from spexplain.cli.read import opened
    from spexplain.cli.terminal import Terminal, data_title, write_json

    fitting.check_clustering(clustering)
    fitting.n_leaves_of(tree)
    names = _chosen(methods)
    terminal = Terminal(quiet=messages.quiet, is_taken=format == "json")
    with opened(data, reading) as file:
        table = _in_one_block(read_table(file, columns, clustering, terminal))
    table, seconds = _with_labels(table, clustering, tree, terminal)
    measured = []
    with terminal.bar("Comparing", len(names)) as advance:
        for name in names:
            advance(0, f"Comparing: {name}, at most {time_limit:g} s")
            measured.append(_measured(name, table, clustering, tree, time_limit))
            advance(1)
    failures = [each for each in measured if "reason" in each]
    records = [each for each in measured if "reason" not in each]
    records.sort(key=lambda each: (-each["ari"], each["price"] or 0.0, each["leaves"]))
    if format == "json":
        found = {"reference_seconds": seconds, "methods": records, "failed": failures}
        write_json(_head(data, table, terminal) | found)
    else:
        _show(records, failures, data_title(data), table, terminal)


def _in_one_block(table: "InputTable") -> "InputTable":
    """Return the table with its columns side by side in memory: no method has to copy them again."""
    import polars as pl

    is_plain = len(set(table.X.dtypes)) == 1 and table.X.dtypes[0].is_numeric()
    if not is_plain or sum(table.X.null_count().row(0)):
        return table
    return replace(table, X=pl.DataFrame(table.X.to_numpy(), schema=table.X.columns))


def _head(data: str, table: "InputTable", terminal: "Terminal") -> dict[str, Any]:
    """Return what JSON says about the table."""
    return {
        "format": "spexplain.compare",
        "version": 2,
        "data": data,
        "rows": len(table.X),
        "columns": table.X.columns,
        "columns_left_out": table.left_out,
        "notes": terminal.notes,
    }


def _chosen(methods: str | None) -> list[MethodName]:
    known: tuple[MethodName, ...] = get_args(MethodName)
    if methods is None:
        return list(known)
    names = [name.strip() for name in methods.split(",") if name.strip()]
    for name in names:
        if name not in known:
            usage_error(f"--methods: there is no method {name}{closest(name, known)}")
    if not names:
        usage_error("--methods names no method.")
    return [name for name in known if name in names]


def _with_labels(
    table: "InputTable", clustering: ClusteringOptions, tree: TreeOptions, terminal: "Terminal"
) -> tuple["InputTable", float]:
    """Return the table with the clusters that all methods explain, and the seconds to find them."""
    import numpy as np

    from spexplain.cli.fitting import note_origin, reference_labels

    if table.labels is not None:
        return table, 0.0
    start = time.perf_counter()
    name = clustering.reference or "spectral"
    with terminal.stage(f"Clustering ({name})"), terminal.warnings_as_notes():
        labels = reference_labels(name, table, clustering, tree.seed)
    seconds = time.perf_counter() - start
    note_origin(name, table, terminal)
    n_found = len(np.unique(labels))
    # Told the columns, estimators do not take one that is equal to the clusters for a copy of them.
    features = table.X.columns if table.features is None else table.features
    found = replace(table, labels=labels, n_labels=n_found, n_clusters=n_found, features=features)
    return found, seconds


def _measured(
    name: MethodName,
    table: "InputTable",
    clustering: ClusteringOptions,
    tree: TreeOptions,
    time_limit: float,
) -> dict[str, Any]:
    """Return the measures of one method, or the reason why there are none."""
    import warnings

    from spexplain.cli.fitting import estimator_of, given_weights

    estimator = estimator_of(name, table, clustering, tree)
    start = time.perf_counter()
    try:
        with _limited(time_limit), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            estimator.fit(table.X, table.labels, **given_weights(table))
    except _TimeOutError:
        return {"method": name, "reason": f"took longer than {time_limit:g} s and was given up."}
    except (
        ValueError,
        TypeError,
        ImportError,
        MemoryError,
        UserError,
        NotImplementedError,
    ) as error:
        return {"method": name, "reason": one_line(str(error) or type(error).__name__)}
    return {"method": name, **_measures(estimator, time.perf_counter() - start)}


def _measures(estimator: Any, seconds: float) -> dict[str, Any]:
    """Return what is compared."""
    summary = estimator.outline()
    agreement = summary["agreement"] or {"ari": 0.0, "ami": 0.0, "purity": 0.0}
    return {
        "ari": agreement["ari"],
        "ami": agreement["ami"],
        "fidelity": summary["fidelity"],
        "price": summary["price"],
        "leaves": summary["n_leaves"],
        "depth": summary["depth"],
        "cut": _cut(summary),
        "objective": summary["objective"],
        "seconds": seconds,
    }


def _cut(summary: "Summary") -> float:
    """Return the conductances of the leaves in the clique graph of the clusters, summed.

    A leaf with a of the N rows of a cluster holds a(N - 1) ends of its edges, and cuts a(N - a) edges.
    """
    import numpy as np

    assert summary["confusion"] is not None
    counts = np.array(summary["confusion"]["counts"], dtype=np.int64)
    sizes = counts.sum(axis=0)
    volume = (counts * (sizes - 1)).sum(axis=1)
    outer = (counts * (sizes - counts)).sum(axis=1)
    has_edges = volume > 0
    return float(np.sum(outer[has_edges] / volume[has_edges]))


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Raise where the body takes too long; only where the system has timers that interrupt."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def ring(number: int, frame: Any) -> None:
        raise _TimeOutError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _show(
    records: list[dict[str, Any]],
    failures: list[dict[str, Any]],
    name: str,
    table: "InputTable",
    terminal: "Terminal",
) -> None:
    from rich.text import Text

    from spexplain.cli.terminal import clipped

    n_rows, n_columns = table.X.shape
    sizes = f"{counted(n_rows, 'row')} × {counted(n_columns, 'column')}"
    if records:
        terminal.show(Text(f"{clipped(name, 40)} · {sizes}", style="bold"), "")
        terminal.show(_table_of(records))
    for each in failures:
        terminal.show(f"{each['method']}: {each['reason']}")
    if not records:
        raise UserError("No method could explain this clustering.")


def _table_of(records: list[dict[str, Any]]) -> "Table":
    """Return the measures side by side, the best of each column in bold."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    columns = {
        "ari": ("ARI", "{:.3f}", max),
        "fidelity": ("fidelity", "{:.1%}", max),
        "price": ("price", "{:.3f}", min),
        "leaves": ("leaves", "{}", min),
        "depth": ("depth", "{}", min),
        "cut": ("cut", "{:.3f}", min),
        "seconds": ("seconds", "{:.2f}", min),
    }
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("method", no_wrap=True)
    texts = {}
    for key, (title, pattern, better) in columns.items():
        table.add_column(title, justify="right", no_wrap=True)
        values = [each[key] for each in records]
        known = [value for value in values if value is not None]
        # Values that look alike are marked alike.
        best = pattern.format(better(known)) if known else None
        shown = ["–" if value is None else pattern.format(value) for value in values]
        texts[key] = [Text(text, style="bold" if text == best else "") for text in shown]
    for place, each in enumerate(records):
        table.add_row(each["method"], *(texts[key][place] for key in columns))
    return table
