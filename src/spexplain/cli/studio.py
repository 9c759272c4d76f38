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
from spexplain.messages import counted

if TYPE_CHECKING:
    import polars as pl

    from spexplain.cli.columns import InputTable
    from spexplain.cli.read import TableFile
    from spexplain.cli.terminal import Terminal
    from spexplain.explanation import FittedModel
    from spexplain.studio.saving import SavedSession, Stored
    from spexplain.studio.session import Session

_PAGE = "The page"
SETTINGS = ("labels", "cluster", "method", "n_leaves", "goal")  # what a tree is fitted by
_MOST_LEAVES = 1000

TableOrNot = Annotated[
    str | None,
    typer.Argument(
        metavar="DATA",
        show_default=False,
        help="The table, as for explain; without it, drop a file onto the page.",
    ),
]
Model = Annotated[
    Path | None,
    typer.Option(
        "--model",
        rich_help_panel="The tree",
        metavar="FILE",
        show_default=False,
        help="A model to start from, written by explain --json; its figures are counted on the rows of the table.",
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


SessionFile = Annotated[
    Path | None,
    typer.Option(
        "--session",
        rich_help_panel=_PAGE,
        metavar="FILE",
        show_default=False,
        help="Where every edit is saved; by default in your own state folder, where the same command finds it.",
    ),
]
New = Annotated[
    bool,
    typer.Option(
        "--new", rich_help_panel=_PAGE, help="Start over, even if this table has a session."
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
    session_file: SessionFile = None,
    new: New = False,
    reading: ReadingOptions,
    messages: MessageOptions,
) -> None:
    """Shape the tree by hand on a page that this machine serves; every click shows exact figures.

    [dim]Your own clusters:[/dim]  spexplain studio customers.csv --labels segment

    [dim]Open a file there:[/dim]  spexplain studio
    """
    from spexplain.cli.terminal import Terminal
    from spexplain.studio.server import Served, needed

    needed()
    if data is None and model is not None:
        usage_error("--model needs the table that its tree is counted on.")
    terminal = Terminal(quiet=messages.quiet)
    options = Options(clustering, method, tree, columns, reading)
    saved = _saved(session_file, data, model, options, terminal)
    session = _session(
        data, model, options, saved, terminal, new=new, is_named=session_file is not None
    )

    def dropped(path: Path, name: str) -> FileSource:
        source = FileSource(str(path), name, options, terminal)
        if saved is not None:
            source.path = str(saved.keep_table(path, "".join(path.suffixes)))
            source.is_dropped = True
        return source

    served = Served(session, port=port, opener=dropped)
    typer.echo(f"The studio is at {served.address}")
    terminal.say("Press Ctrl-C to stop it.")
    if open_page:
        import webbrowser

        webbrowser.open(served.address)
    try:
        served.run()
    finally:
        if saved is not None:
            saved.close()


def _saved(
    path: Path | None,
    data: str | None,
    model: Path | None,
    options: "Options",
    terminal: "Terminal",
) -> "SavedSession | None":
    """Return the file of the session; None if there is nowhere to save it, which a note says."""
    from hashlib import sha256

    from spexplain.studio.saving import SavedSession, state_folder

    if path is None:
        told = (
            None if data is None else str(Path(data).resolve()),
            None if model is None else str(model.resolve()),
            options.text,
        )
        key = sha256(repr(told).encode()).hexdigest()[:16]
        stem = "dropped" if data is None else "".join(c for c in Path(data).stem if c.isalnum())
        try:
            return SavedSession(state_folder() / f"{stem[:40]}-{key}.session")
        except (OSError, RuntimeError) as error:  # no folder can be written to, or there is no home
            terminal.note(f"This session is not saved: {error}")
            return None
    return SavedSession(path)


def _session(
    data: str | None,
    model: Path | None,
    options: "Options",
    saved: "SavedSession | None",
    terminal: "Terminal",
    *,
    new: bool,
    is_named: bool,
) -> "Session":
    """Return the session as it was left, or a new one."""
    from spexplain.studio.session import Session

    source = None if data is None else FileSource(data, Path(data).name, options, terminal)
    stored = None if saved is None or new else _stored(saved, terminal, is_named=is_named)
    if stored is not None:
        found = _source_of(stored, source, options, terminal)
        if found is not None:
            session = Session(saved=saved)
            n_edits = session.resume(found, stored)
            if n_edits or data is None:
                terminal.note(
                    f"Continues the session of {found.name} ({counted(n_edits, 'edit')}); --new starts over."
                )
            return session
        terminal.note("The table has changed since the last session, so a new one begins.")
    fitted, settings = None, options.settings
    if source is not None and model is not None:
        text = model.read_text(encoding="utf-8")
        settings = settings or dict.fromkeys(SETTINGS)
        fitted = source.counted(text, settings)
    elif source is not None and settings is not None:
        fitted = source.fitted(source.completed(settings))
    return Session(
        fitted,
        name="table" if source is None else source.name,
        labels=None if settings is None else settings["labels"],
        source=source,
        saved=saved,
        settings=settings,
    )


def _stored(saved: "SavedSession", terminal: "Terminal", *, is_named: bool) -> "Stored | None":
    """Return what was saved; a file that somebody named is not overwritten if it is something else."""
    try:
        return saved.read()
    except ValueError as error:
        if is_named:
            raise
        terminal.note(f"The last session cannot be read, so a new one begins: {error}")
        return None


def _source_of(
    stored: "Stored", source: "FileSource | None", options: "Options", terminal: "Terminal"
) -> "FileSource | None":
    """Return the table of a session, if it is still the same."""
    about = stored.start.get("table")
    if not isinstance(about, dict):
        return None
    if source is None and about.get("dropped") and Path(str(about.get("path"))).is_file():
        source = FileSource(str(about["path"]), str(about["name"]), options, terminal)
        source.is_dropped = True
    return source if source is not None and source.about() == about else None


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
    def text(self) -> str:
        """All options in one line, which identifies a session."""
        parts = self.clustering, self.method, self.tree, self.columns, self.reading
        return repr(tuple(each for each in parts))

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
        Where notes about what is left out are printed.
    """

    def __init__(self, path: str, name: str, options: Options, terminal: "Terminal") -> None:
        self.path, self.name, self.options, self.terminal = path, name, options, terminal
        with as_value_errors(), self._opened() as file:
            frame = file.read()
        self.n_rows = len(frame)
        if not self.n_rows:
            raise ValueError(f"{name} has column names but no rows.")
        self._columns = [_about(frame[each]) for each in frame.columns]
        self.is_dropped = False  # whether the studio itself keeps the file

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

    def completed(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings of a fit, with those that were left open."""
        tree = self.options.tree
        given = {key: settings.get(key) for key in SETTINGS}
        given["method"] = given["method"] or self.options.method
        given["goal"] = given["goal"] or tree.goal
        return given

    def counted(self, text: str, settings: Mapping[str, Any]) -> "FittedModel":
        """Return the model of a JSON text, counted on the rows of the table."""
        from spexplain.cli import fitting
        from spexplain.explanation import LoadedModel, from_json

        model = from_json(text)
        if not isinstance(model, LoadedModel):
            raise ValueError("The model holds rules, not a tree.")
        with as_value_errors():
            _, clustering, tree = self._asked(settings, must_say=False)
            table = self._table(clustering)
            labels = table.labels
            if labels is None and clustering.n_clusters is not None:
                assert clustering.reference is not None
                labels = fitting.reference_labels(
                    clustering.reference, table, clustering, tree.seed
                )
        return _with_ids(model.with_rows(table.X, labels, table.weights), table)

    def about(self) -> dict[str, Any]:
        """Return where the table is, and a fingerprint of it."""
        from spexplain.studio.saving import fingerprint

        path = Path(self.path)
        return {
            "name": self.name,
            "path": str(path.resolve()),
            "dropped": self.is_dropped,
            "content": fingerprint(path),
        }

    def _table(self, clustering: ClusteringOptions) -> "InputTable":
        from spexplain.cli.columns import read_input_table

        with self._opened() as file:
            return read_input_table(file, self.options.columns, clustering, self.terminal)

    def _asked(
        self, settings: Mapping[str, Any], *, must_say: bool = True
    ) -> tuple[MethodName, ClusteringOptions, TreeOptions]:
        """Return the options that the page's settings mean; refuse others in one sentence."""
        options = self.options
        labels, cluster = settings.get("labels"), settings.get("cluster")
        method = settings.get("method") or options.method
        if method not in get_args(MethodName):
            raise ValueError(f"method={method!r} is not a known method.")
        goal = settings.get("goal") or options.tree.goal
        if goal not in ("fidelity", "balanced", "agreement", "cost", "conductance"):
            raise ValueError(f"goal={goal!r} is not a known goal.")
        if (labels is not None and cluster is not None) or (
            must_say and labels is None and cluster is None
        ):
            raise ValueError("Choose the column of the clusters, or how many clusters to find.")
        clustering = replace(options.clustering, labels=None, n_clusters=None, reference=None)
        if labels is not None:
            if labels not in [each["name"] for each in self._columns]:
                raise ValueError(f"labels={labels!r} is not a column of {self.name}.")
            clustering = replace(clustering, labels=labels)
        elif cluster is not None:
            k = cluster.get("k") if isinstance(cluster, Mapping) else None
            name: Any = (
                cluster.get("method") if isinstance(cluster, Mapping) else None
            ) or "kmeans"
            if type(k) is not int or not 2 <= k <= min(_MOST_LEAVES, self.n_rows):
                raise ValueError("k, the number of clusters, must be at least 2.")
            if name not in get_args(ReferenceName):
                raise ValueError(f"cluster method={name!r} is not a known way to cluster.")
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
