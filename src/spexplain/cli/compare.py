"""``spexplain compare``: all methods side by side on one clustering."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final, get_args

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
from spexplain.threads import beside, works_beside

if TYPE_CHECKING:
    from rich.table import Table

    from spexplain.cli.columns import InputTable
    from spexplain.cli.terminal import Terminal
    from spexplain.explanation import Explanation
    from spexplain.facts import Summary

Methods = Annotated[
    str | None,
    typer.Option(
        "--methods",
        rich_help_panel="The tree",
        metavar="A,B,...",
        help="Methods to compare, or all; by default those that do not take minutes.",
    ),
]
TimeLimit = Annotated[
    float,
    typer.Option(
        "--time-limit",
        rich_help_panel="The tree",
        min=0.01,
        metavar="SECONDS",
        help="Seconds after which a method is stopped.",
    ),
]


SKLEARN: Final = "sklearn-cart"  # scikit-learn's DecisionTreeClassifier, to compare with
# Rows above which methods take minutes; they are left out unless they are asked for.
_MOST_ROWS: dict[str, int] = {
    "kernel-imm": 2_000,  # quadratic
    "spex-knn": 100_000,  # neighbours of every row
    "spex-graph": 100_000,
    "non-uniform-cut": 100_000,
}
_LONGEST_LIMIT = 1e8  # seconds, three years; timers have an end


class _TimeOutError(BaseException):
    """A method took longer than --time-limit; as with Ctrl-C, nobody on the way handles that."""


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

    Agreement: the adjusted Rand index (ARI) of leaves and clusters, 1 is best. Fidelity: share of
    rows whose leaf stands for their cluster; balanced: the mean of that share over the clusters. Cost
    ratio: k-means cost of the leaves over that of the clusters. Cut: how much of the clusters the
    leaves cut apart, the sum of conductances that SpEx minimises. sklearn-cart is scikit-learn's own
    tree.
    """
    from spexplain.cli import fitting
    from spexplain.cli.columns import read_input_table
    from spexplain.cli.read import opened
    from spexplain.cli.terminal import Terminal, data_title, write_json

    fitting.check_clustering(clustering)
    fitting.n_leaves_of(tree)
    chosen = _chosen(methods)
    terminal = Terminal(quiet=messages.quiet, is_taken=format == "json")
    with opened(data, reading) as file:
        table = _in_one_block(read_input_table(file, columns, clustering, terminal))
    try:
        with _limited(time_limit):
            table, seconds = _with_labels(table, clustering, tree, terminal)
    except _TimeOutError:
        raise UserError(
            f"The clustering took longer than {time_limit:g} s; --time-limit allows more, --reference chooses another."
        ) from None
    n_rows = len(table.X)
    skipped = [each for each in chosen if n_rows > _MOST_ROWS.get(each, n_rows)]
    if methods is not None:
        skipped = []
    if skipped:
        terminal.note(
            f"Left out, as {'they take' if len(skipped) > 1 else 'it takes'} long for {n_rows:,} rows: "
            f"{', '.join(skipped)}; --methods all includes every method."
        )
    names = [each for each in chosen if each not in skipped]
    measured = []
    with terminal.bar("Comparing", len(names)) as advance:
        for name in names:
            advance(0, f"Comparing: {name}, at most {time_limit:g} s")
            measured.append(_measured(name, table, clustering, tree, time_limit))
            advance(1)
    if works_beside():
        terminal.note(
            "A method that ran out of time could not be stopped at once, so the methods after it took longer than "
            "they would alone."
        )
    failures = [each for each in measured if "reason" in each]
    records = [each for each in measured if "reason" not in each]
    records.sort(key=lambda each: (-each["ari"], each["price"] or 0.0, each["leaves"]))
    if format == "json":
        found = {
            "reference_seconds": seconds,
            "methods": records,
            "failed": failures,
            "skipped": skipped,
        }
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


def _chosen(methods: str | None) -> list[str]:
    known: tuple[str, ...] = (*get_args(MethodName), SKLEARN)
    if methods is None or methods.strip() == "all":
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
    # Estimators that are given the columns do not leave out one that equals the clusters as a copy of them.
    features = table.X.columns if table.features is None else table.features
    found = replace(table, labels=labels, n_labels=n_found, n_clusters=n_found, features=features)
    return found, seconds


def _measured(
    name: str,
    table: "InputTable",
    clustering: ClusteringOptions,
    tree: TreeOptions,
    time_limit: float,
) -> dict[str, Any]:
    """Return the measures of one method, or the reason why there are none."""
    import warnings

    from spexplain.cli.fitting import METHODS, estimator_of, given_weights

    try:
        with _limited(time_limit), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if name == SKLEARN:
                explanation, seconds = _sklearn_tree(table, tree)
            else:
                method = next(each for each in METHODS if each == name)
                estimator = estimator_of(method, table, clustering, tree)
                start = time.perf_counter()
                estimator.fit(table.X, table.labels, **given_weights(table))
                seconds = time.perf_counter() - start
                explanation = estimator.explanation_
    except _TimeOutError:
        return {"method": name, "reason": f"took longer than {time_limit:g} s and was stopped."}
    except (
        ValueError,
        TypeError,
        ImportError,
        MemoryError,
        UserError,
        NotImplementedError,
    ) as error:
        return {"method": name, "reason": one_line(str(error) or type(error).__name__)}
    return {"method": name, **_measures(explanation, seconds)}


def _sklearn_tree(table: "InputTable", options: TreeOptions) -> tuple["Explanation", float]:
    """Return scikit-learn's tree of as many leaves, and the seconds of its fit.

    It is fitted to numbers: categories as 0 and 1, means for missing values.
    """
    import numpy as np
    from sklearn.tree import DecisionTreeClassifier

    from spexplain import CART
    from spexplain.cli.fitting import n_leaves_of
    from spexplain.explanation import Explanation
    from spexplain.records import Cut
    from spexplain.table.host import HostTable
    from spexplain.table.read import read_table
    from spexplain.tree import Tree

    given = table.X if table.features is None else table.X.select(table.features)
    points = read_table(given, CART(missing=table.missing)).as_points()
    # It compares in single precision.
    points = HostTable(points.values.astype(np.float32).astype(np.float64))
    reference = points.reference(table.labels, table.noise)
    wanted = n_leaves_of(options)
    weights = np.ones(len(given)) if table.weights is None else np.asarray(table.weights)
    grown = DecisionTreeClassifier(
        max_leaf_nodes=max(reference.n_clusters if wanted in (None, "auto") else wanted, 2),
        max_depth=options.max_depth,
        min_samples_leaf=options.min_samples_leaf,
        random_state=options.seed,
    )
    known = reference.codes >= 0
    grow = partial(grown.fit, points.values[known], reference.codes[known], weights[known])
    start = time.perf_counter()
    theirs = beside(grow, breaks=True).tree_
    seconds = time.perf_counter() - start
    splits, waiting, young = [], [(0, 0)], 1
    for node, ours in waiting:
        if theirs.feature[node] < 0:
            continue
        cut = Cut(int(theirs.feature[node]), float(theirs.threshold[node]), np.nan, np.nan)
        splits.append((ours, cut, (0, 0), (np.nan, np.nan)))
        waiting += [(theirs.children_left[node], young), (theirs.children_right[node], young + 1)]
        young += 2
    tree = Tree.root(n_features=points.shape[1], size=len(points)).grown(splits)
    given_weights = None if table.weights is None else points.weights(table.weights)
    if given_weights is not None:
        reference = reference.weighed(given_weights)
    return Explanation.of(tree, points, reference, weights=given_weights), seconds


def _measures(explanation: "Explanation", seconds: float) -> dict[str, Any]:
    """Return what is compared."""
    from spexplain.facts import summarize

    summary = summarize(explanation)
    agreement = summary["agreement"] or {"ari": 0.0, "ami": 0.0, "purity": 0.0}
    return {
        "ari": agreement["ari"],
        "ami": agreement["ami"],
        "fidelity": summary["fidelity"],
        "balanced": summary["balanced"],
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
    if not hasattr(signal, "setitimer") or seconds > _LONGEST_LIMIT:
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
        "ari": ("agree-\nment", "{:.3f}", max),
        "fidelity": ("fidelity", "{:.1%}", max),
        "balanced": ("balanced", "{:.1%}", max),
        "price": ("cost\nratio", "{:.3f}", min),
        "leaves": ("leaves", "{}", min),
        "depth": ("depth", "{}", min),
        "cut": ("cut", "{:.3f}", min),
        "seconds": ("time\n(s)", "{:.2f}", min),
    }
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("method", no_wrap=True, vertical="bottom")
    texts = {}
    for key, (title, pattern, better) in columns.items():
        table.add_column(title, justify="right", no_wrap=True, vertical="bottom")
        values = [each[key] for each in records]
        known = [value for value in values if value is not None]
        # Values that look alike are marked alike.
        best = pattern.format(better(known)) if known else None
        shown = ["–" if value is None else pattern.format(value) for value in values]
        texts[key] = [Text(text, style="bold" if text == best else "") for text in shown]
    for place, each in enumerate(records):
        table.add_row(each["method"], *(texts[key][place] for key in columns))
    return table
