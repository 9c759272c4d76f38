"""``spexplain studio``: a page on which people shape the tree by hand."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from spexplain.cli.errors import UserError, usage_error
from spexplain.cli.explain import Method
from spexplain.cli.options import (
    ClusteringOptions,
    ColumnOptions,
    MessageOptions,
    MethodName,
    ReadingOptions,
    ReferenceName,
    TreeOptions,
)

if TYPE_CHECKING:
    import polars as pl

    from spexplain.cli.columns import InputTable
    from spexplain.cli.read import TableFile
    from spexplain.cli.terminal import Terminal
    from spexplain.explanation import FittedModel

_PAGE = "The page"
_MOST_LEAVES = 1000

TableOrNot = Annotated[
    str | None,
    typer.Argument(
        metavar="[DATA]",
        show_default=False,
        help="The table, as for explain; without, a file is dropped onto the page.",
    ),
]
Model = Annotated[
    Path | None,
    typer.Option(
        "--model",
        rich_help_panel="The tree",
        metavar="FILE",
        show_default=False,
        help="A model to start from, written by explain --json; it is counted on the rows of the table.",
    ),
]
Port = Annotated[
    int,
    typer.Option(
        "--port",
        rich_help_panel=_PAGE,
        min=0,
        max=65535,
        metavar="N",
        help="Port of this machine; 0 takes a free one.",
    ),
]
Open = Annotated[
    bool,
    typer.Option(
        "--open/--no-open", rich_help_panel=_PAGE, help="Whether a browser shows the page."
    ),
]


def studio(
    data: TableOrNot = None,
    *,
    clustering: ClusteringOptions,
    model: Model = None,
    method: Method = "best",
    tree: TreeOptions,
    columns: ColumnOptions,
    port: Port = 0,
    open_page: Open = True,
    reading: ReadingOptions,
    messages: MessageOptions,
) -> None:
    """Shape the tree by hand on a page of this machine, with exact figures behind every click.

    [dim]Your own clusters:[/dim]  spexplain studio customers.csv --labels segment

    [dim]Open a file there:[/dim]  spexplain studio
    """
    from spexplain.cli.terminal import Terminal
    from spexplain.studio.server import Served, needed
    from spexplain.studio.session import Session

    needed()
    terminal = Terminal(quiet=messages.quiet)
    options = Options(clustering, method, tree, columns, reading)
    if data is None and model is not None:
        usage_error("--model needs the table that its tree is counted on.")
    source = None if data is None else FileSource(data, Path(data).name, options, terminal)
    fitted, settings = None, options.settings
    if source is not None and model is not None:
        fitted = source.loaded(model, clustering.labels)
    elif source is not None and settings is not None:
        fitted = source.fitted(settings)
    session = Session(
        fitted,
        name="table" if source is None else source.name,
        labels=clustering.labels,
        source=source,
    )
    session.settings = settings or {}

    def dropped(path: Path, name: str) -> FileSource:
        return FileSource(str(path), name, options, terminal)

    served = Served(session, port=port, opener=dropped)
    typer.echo(f"The studio is at {served.address}")
    terminal.say("It ends with Ctrl-C.")
    if open_page:
        import webbrowser

        webbrowser.open(served.address)
    served.run()


class Options:
    """What the command was told, for every table that is opened."""

    def __init__(
        self,
        clustering: ClusteringOptions,
        method: MethodName,
        tree: TreeOptions,
        columns: ColumnOptions,
        reading: ReadingOptions,
    ) -> None:
        self.clustering, self.method, self.tree = clustering, method, tree
        self.columns, self.reading = columns, reading

    @property
    def settings(self) -> dict[str, Any] | None:
        """What the page would ask for, if the command says what is explained."""
        labels, k = self.clustering.labels, self.clustering.n_clusters
        if labels is None and k is None:
            return None
        found = {"method": self.clustering.reference or "kmeans", "k": k}
        return {
            "labels": labels,
            "cluster": None if labels is not None else found,
            "method": self.method,
            "n_leaves": self.tree.leaves,
            "goal": self.tree.goal,
        }


class FileSource:
    """A table in a file, as the studio opens it.

    Parameters
    ----------
    path : str
        The file.
    name : str
        What its user calls it.
    options : Options
        How it is read, and how trees are fitted.
    terminal : Terminal
        Told what is left out.
    """

    def __init__(self, path: str, name: str, options: Options, terminal: "Terminal") -> None:
        self.path, self.name, self.options, self.terminal = path, name, options, terminal
        with as_value_errors(), self._opened() as file:
            frame = file.read()
        self.n_rows = len(frame)
        if not self.n_rows:
            raise ValueError(f"{name} has column names but no rows.")
        self._columns = [_about(frame[each]) for each in frame.columns]

    @contextmanager
    def _opened(self) -> "Iterator[TableFile]":
        from spexplain.cli.read import opened

        with opened(self.path, self.options.reading) as file:
            yield replace(file, name=self.name)

    def columns(self) -> list[dict[str, Any]]:
        """Return name and kind of every column, and of those that may be labels their number of values."""
        return self._columns

    def fitted(self, settings: Mapping[str, Any]) -> "FittedModel":
        """Return a model, fitted to the clusters of a column, or to clusters that are found first."""
        from spexplain.cli import fitting

        with as_value_errors():
            method, clustering, tree = self._asked(settings)
            table = self._table(clustering)
            unfitted = fitting.estimator_of(method, table, clustering, tree)
            model, _ = fitting.fit(unfitted, table, clustering, self.terminal)
            return _with_ids(model, table)

    def loaded(self, path: Path, labels: str | None) -> "FittedModel":
        """Return a model of a file, counted on the rows of the table."""
        from spexplain.explanation import LoadedModel, from_json

        model = from_json(path.read_text(encoding="utf-8"))
        if not isinstance(model, LoadedModel):
            raise UserError(f"--model {path} holds rules, not a tree.")
        table = self._table(replace(self.options.clustering, labels=labels))
        found = model.with_rows(table.X, table.labels, table.weights)
        return _with_ids(found, table)

    def _table(self, clustering: ClusteringOptions) -> "InputTable":
        from spexplain.cli.columns import read_table

        with self._opened() as file:
            return read_table(file, self.options.columns, clustering, self.terminal)

    def _asked(
        self, settings: Mapping[str, Any]
    ) -> tuple[MethodName, ClusteringOptions, TreeOptions]:
        """Return the options that the page's settings mean; refuse others in one sentence."""
        options = self.options
        labels, cluster = settings.get("labels"), settings.get("cluster")
        method = settings.get("method") or options.method
        if method not in get_args(MethodName):
            raise ValueError(f"method={method!r} is no method.")
        goal = settings.get("goal") or options.tree.goal
        if goal not in ("fidelity", "balanced", "agreement", "cost", "conductance"):
            raise ValueError(f"goal={goal!r} is no goal.")
        if (labels is None) == (cluster is None):
            raise ValueError("Choose the column of the clusters, or how many clusters to find.")
        clustering = replace(options.clustering, labels=None, n_clusters=None, reference=None)
        if labels is not None:
            if labels not in [each["name"] for each in self._columns]:
                raise ValueError(f"labels={labels!r} is no column of {self.name}.")
            clustering = replace(clustering, labels=labels)
        else:
            k = cluster.get("k") if isinstance(cluster, Mapping) else None
            name = (cluster.get("method") if isinstance(cluster, Mapping) else None) or "kmeans"
            if type(k) is not int or not 2 <= k <= min(_MOST_LEAVES, self.n_rows):
                raise ValueError("k, the number of clusters, must be at least 2.")
            if name not in get_args(ReferenceName):
                raise ValueError(f"cluster method={name!r} is no clustering.")
            clustering = replace(clustering, n_clusters=k, reference=name)
        leaves = settings.get("n_leaves")
        if leaves not in (None, "auto") and not (
            str(leaves).isdecimal() and 1 <= int(str(leaves)[:9]) <= _MOST_LEAVES
        ):
            raise ValueError(f"n_leaves={leaves!r} must be a number from 1 on, or auto.")
        tree = replace(options.tree, goal=goal, leaves=None if leaves is None else str(leaves))
        return method, clustering, tree


def _with_ids(model: Any, table: "InputTable") -> "FittedModel":
    found: FittedModel = model.edited(model.explanation_.with_row_ids(table.row_ids))
    return found


def _about(series: "pl.Series") -> dict[str, Any]:
    """Return what the page says of a column before a tree is fitted."""
    dtype = series.dtype
    kind = "number"
    if dtype.is_temporal():
        kind = "date"
    elif not dtype.is_numeric():
        kind = "category"
    n_values = series.n_unique() if not dtype.is_float() else None
    return {"name": series.name, "kind": kind, "forbidden": False, "n_values": n_values}


@contextmanager
def as_value_errors() -> Iterator[None]:
    """Turn errors of the command line into what the library raises, for the page to show."""
    try:
        yield
    except (UserError, typer.Exit) as error:
        raise ValueError(str(error)) from None
    except Exception as error:
        if hasattr(error, "exit_code") and hasattr(error, "format_message"):
            raise ValueError(str(error.format_message())) from None
        raise
