"""The options of all commands: a command takes a few groups of them, its command line all their fields."""

from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import partial, wraps
from inspect import Parameter, Signature, cleandoc, signature
from math import inf
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, get_type_hints

import typer

from spexplain.cli.errors import DEBUG, usage_error
from spexplain.cli.imports import import_lightly
from spexplain.files import TableFormat

ReferenceName: TypeAlias = Literal["kmeans", "spectral", "kmedians", "kernel_kmeans"]
MethodName: TypeAlias = Literal[
    "best", "spex-clique", "spex-knn", "spex-graph", "imm", "emn", "cart", "exkmc", "kernel-imm",
    "random-cuts", "exgreedy", "exshallow", "non-uniform-cut",
]  # fmt: skip
DialectName: TypeAlias = Literal["duckdb", "postgresql", "sqlite", "bigquery", "snowflake", "mysql"]

STDOUT = Path("-")  # a file of this name is standard output

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        show_default=False,
        help="The table: CSV, TSV, Parquet, Arrow, JSON lines or Excel, also gzipped; - is standard input.",
    ),
]


def _option(*names: str, panel: str, help: str, **more: Any) -> Any:
    more.setdefault("show_default", False)
    return typer.Option(*names, rich_help_panel=panel, help=help, **more)


_reading = partial(_option, panel="Reading")
_columns = partial(_option, panel="Columns")
_clusters = partial(_option, panel="What to explain")
_tree = partial(_option, panel="The tree")
_limits = partial(_option, panel="Limits of the check")
_files = partial(_option, panel="Files to write")
_messages = partial(_option, panel="Messages")
_answers = partial(_option, panel="Output")


def _remember_debug(ctx: typer.Context, asked: bool) -> bool:
    # Contexts of commands share `meta` with that of the program, which handles errors.
    ctx.meta[DEBUG] = ctx.meta.get(DEBUG) or asked
    return asked


def _missing_policy(text: str) -> str:
    """Refuse what --missing took before trees knew missing values."""
    if text in ("drop", "mean"):
        usage_error(
            f"--missing {text} is no longer an option, as trees handle missing values: leave it out, or pass "
            "--missing error to refuse them."
        )
    if text not in ("allow", "error"):
        usage_error(f"--missing must be allow or error, not {text}.")
    return text


def _refuse_encoding(text: str | None) -> str | None:
    """Refuse the options of the time when text had to be encoded."""
    if text is not None:
        usage_error(
            "--text and --max-categories are no longer options, as trees take text as it is; --ignore leaves "
            "columns out."
        )
    return text


def _check_share(share: float | None) -> float | None:
    if share is not None and not 0 <= share < inf:
        usage_error(f"--round-to must be a finite number of at least 0, not {share:g}.")
    return share


def _check_seed(seed: int) -> int:
    if not 0 <= seed < 2**32:  # a range would widen the help by its two ends
        usage_error(f"--seed must be between 0 and {2**32 - 1}, not {seed}.")
    return seed


@dataclass(frozen=True)
class ReadingOptions:
    """How the file is read."""

    input_format: Annotated[
        TableFormat | None,
        _reading(
            "--input-format",
            metavar="NAME",
            help="Format, where the file's name does not say it: csv, tsv, parquet, arrow, jsonl or xlsx; standard "
            "input is CSV.",
        ),
    ] = None
    delimiter: Annotated[
        str | None,
        _reading(
            "--delimiter",
            metavar="CHAR",
            help="Character between the cells of a CSV file; by default the one in its first line, else a comma.",
        ),
    ] = None
    null: Annotated[
        str | None,
        _reading(
            "--null",
            metavar="WORDS",
            help="Cells of a text file that are missing values, such as 'NA,?'; by default NA, N/A, NaN, NULL and "
            "empty cells.",
        ),
    ] = None
    no_header: Annotated[
        bool,
        _reading(
            "--no-header",
            help="The first line of a CSV file is a row, not names; columns are called x0, x1, ...",
        ),
    ] = False
    decimal_comma: Annotated[
        bool | None,
        _reading(
            "--decimal-comma/--decimal-point",
            help="Decimals of a CSV file are written 1,5, or 1.5; by default as in its first rows.",
        ),
    ] = None
    thousands: Annotated[
        str | None,
        _reading(
            "--thousands",
            metavar="CHAR",
            help="Character between groups of three digits, such as the comma of 1,234.50; a point means decimal "
            "commas.",
        ),
    ] = None
    currency: Annotated[
        bool,
        _reading("--currency", help="Numbers may have a currency, such as $1.50, 3 € or EUR 7."),
    ] = False
    encoding: Annotated[
        str | None,
        _reading(
            "--encoding",
            metavar="NAME",
            help="Encoding of a text file, such as latin-1; by default what its first bytes say, else UTF-8.",
        ),
    ] = None
    sheet: Annotated[
        str | None,
        _reading("--sheet", metavar="NAME", help="Sheet of an Excel file; by default the first."),
    ] = None


@dataclass(frozen=True)
class ColumnOptions:
    """Which columns may be used, and whether values may be missing."""

    features: Annotated[
        list[str] | None,
        _columns(
            "--features",
            metavar="A,B,...",
            help="Columns that may be tested; where clusters are found first, they are found from all.",
        ),
    ] = None
    ignore: Annotated[
        list[str] | None,
        _columns("--ignore", metavar="A,B,...", help="Columns to leave out altogether."),
    ] = None
    keep: Annotated[
        list[str] | None,
        _columns(
            "--keep",
            metavar="A,B,...",
            help="Columns to use although they look like ids or copies of the labels.",
        ),
    ] = None
    id: Annotated[
        str | None,
        _columns(
            "--id",
            metavar="COLUMN",
            help="The column with the names of rows for reports; it is not tested.",
        ),
    ] = None
    texts: Annotated[
        str | None,
        _columns(
            "--texts",
            metavar="COLUMN",
            help="The column of texts, such as comments, of which reports show three per cluster; it is not "
            "tested.",
        ),
    ] = None
    weights: Annotated[
        str | None,
        _columns(
            "--weights",
            metavar="COLUMN",
            help="The column that says how many rows each row stands for.",
        ),
    ] = None
    missing: Annotated[
        Literal["allow", "error"],
        _columns(
            "--missing",
            metavar="allow|error",
            show_default=True,
            parser=_missing_policy,
            help="Missing values: allow (every condition says what holds for them) or error (refuse them).",
        ),
    ] = "allow"
    text: Annotated[
        str | None, _columns("--text", hidden=True, callback=_refuse_encoding, help="Gone.")
    ] = None
    max_categories: Annotated[
        str | None,
        _columns("--max-categories", hidden=True, callback=_refuse_encoding, help="Gone."),
    ] = None


Noise = Annotated[
    str,
    _clusters(
        "--noise",
        metavar="ignore|cluster|LABEL",
        show_default=True,
        help="Which rows are noise, in no cluster: those without a label or with -1 (ignore), none (cluster), "
        "or those with LABEL.",
    ),
]


@dataclass(frozen=True)
class ClusteringOptions:
    """Which clusters are explained."""

    labels: Annotated[
        str | None,
        _clusters("--labels", "-l", metavar="COLUMN", help="The column that holds the clusters."),
    ] = None
    reference: Annotated[
        ReferenceName | None,
        _clusters(
            "--reference",
            "-r",
            metavar="NAME",
            help="How to find clusters: kmeans, spectral, kmedians or kernel_kmeans; by default the method's own way.",
        ),
    ] = None
    n_clusters: Annotated[
        int | None,
        _clusters("--clusters", "-k", min=1, metavar="N", help="How many clusters to find."),
    ] = None
    noise: Noise = "ignore"


@dataclass(frozen=True)
class TreeOptions:
    """How large the tree may be, and how it is searched."""

    leaves: Annotated[
        str | None,
        _tree("--leaves", metavar="N|auto", help="Leaves of the tree; by default one per cluster."),
    ] = None
    max_depth: Annotated[
        int | None,
        _tree(
            "--max-depth", min=1, metavar="N", help="Greatest number of tests on the way to a leaf."
        ),
    ] = None
    min_samples_leaf: Annotated[
        int,
        _tree(
            "--min-samples-leaf",
            min=1,
            metavar="N",
            show_default=True,
            help="Smallest number of rows in a leaf.",
        ),
    ] = 1
    goal: Annotated[
        Literal["fidelity", "balanced", "agreement", "cost", "conductance"],
        _tree(
            "--goal",
            metavar="NAME",
            show_default=True,
            help='What the method "best" optimises: fidelity (rows right), balanced (mean recall of the clusters), '
            "agreement (adjusted Rand index), cost (of k-means, in the leaves) or conductance (as SpEx does).",
        ),
    ] = "fidelity"
    keep_clusters: Annotated[
        bool,
        _tree(
            "--keep-clusters/--no-keep-clusters",
            show_default=True,
            help='With the method "best": prefer trees in which every cluster has a leaf.',
        ),
    ] = True
    refine: Annotated[
        Literal["objective", "fidelity", "balanced", "agreement", "cost", "conductance"] | None,
        _tree(
            "--refine",
            metavar="NAME",
            help="Re-optimise the cuts of the grown tree: objective (for what its method optimises), or a goal.",
        ),
    ] = None
    round_to: Annotated[
        float | None,
        _tree(
            "--round-to",
            callback=_check_share,
            metavar="SHARE",
            help="Largest share of the rows, such as 0.005, that may change sides when a threshold is rounded.",
        ),
    ] = None
    seed: Annotated[
        int,
        _tree(
            "--seed",
            metavar="N",
            callback=_check_seed,
            show_default=True,
            help="Seed of everything that is random.",
        ),
    ] = 0
    jobs: Annotated[
        int,
        _tree(
            "--jobs",
            "-j",
            min=-1,
            metavar="N",
            show_default=True,
            help="Number of threads; -1 means all processors.",
        ),
    ] = -1


@dataclass(frozen=True)
class FileOptions:
    """Files that `explain` writes."""

    report: Annotated[
        Path | None,
        _files("--report", metavar="FILE", help="A report: one HTML file that needs no network."),
    ] = None
    picture: Annotated[
        Path | None,
        _files(
            "--picture",
            metavar="FILE",
            help="The segments on one page for slides: .png, .svg, .pdf, or .pptx with shapes to edit.",
        ),
    ] = None
    sql: Annotated[
        Path | None,
        _files("--sql", metavar="FILE", help="The tree as SQL."),
    ] = None
    dialect: Annotated[
        DialectName,
        _files(
            "--dialect",
            show_default=True,
            metavar="NAME",
            help="Database: duckdb, postgresql, sqlite, bigquery, snowflake or mysql.",
        ),
    ] = "duckdb"
    table: Annotated[
        str | None,
        _files(
            "--table",
            metavar="NAME",
            help="Table of a complete query; without it the SQL is an expression.",
        ),
    ] = None
    dbt: Annotated[
        Path | None,
        _files(
            "--dbt",
            metavar="FOLDER",
            help="Folder of a dbt project; it gets a model that labels --table, with tests.",
        ),
    ] = None
    json: Annotated[
        Path | None,
        _files("--json", metavar="FILE", help="The model, for spexplain predict."),
    ] = None
    profile: Annotated[
        Literal["tested", "all", "rows", "none"],
        _files(
            "--profile",
            show_default=True,
            metavar="tested|all|rows|none",
            help="Columns whose ranges, quantiles and categories the model remembers, for spexplain check; rows "
            "also stores the rows.",
        ),
    ] = "tested"
    python: Annotated[
        Path | None,
        _files(
            "--python", metavar="FILE", help="The tree as a Python function without dependencies."
        ),
    ] = None
    onnx: Annotated[
        Path | None,
        _files("--onnx", metavar="FILE", help="The tree as an ONNX model."),
    ] = None
    export_label: Annotated[
        Literal["cluster", "leaf"],
        _files(
            "--export-label",
            show_default=True,
            help="What SQL, Python and ONNX return; a tree without clusters returns leaves.",
        ),
    ] = "cluster"
    output: Annotated[
        Path | None,
        _files(
            "--output",
            "-o",
            metavar="FILE",
            help="Leaf and cluster of every row: CSV, TSV, Parquet, Arrow, JSON lines or Excel.",
        ),
    ] = None


@dataclass(frozen=True)
class LimitOptions:
    """What makes a check fail."""

    max_psi: Annotated[
        float,
        _limits(
            "--max-psi",
            min=0.0,
            metavar="X",
            show_default=True,
            help="Population stability index above which a column, or the segments, have drifted.",
        ),
    ] = 0.2
    fail_on: Annotated[
        list[str] | None,
        _limits(
            "--fail-on",
            metavar="A,B,...",
            help="What makes the check fail: alarm (the default), any, none, or kinds of findings such as "
            "new-category, missing-values or drift.",
        ),
    ] = None

    def checked(self) -> tuple[float, tuple[str, ...]]:
        """Return the limits; refuse kinds of findings that there are not."""
        from spexplain.explanation.check import checked_limits

        try:
            return checked_limits(self.max_psi, self.fail_on or "alarm")
        except ValueError as error:
            usage_error(str(error).replace("fail_on=", "--fail-on ", 1))


Force = Annotated[bool, _files("--force", "-f", help="Overwrite files that exist.")]


@dataclass(frozen=True)
class MessageOptions:
    """What is said beside the results."""

    quiet: Annotated[bool, _messages("--quiet", "-q", help="No notes and no progress.")] = False
    debug: Annotated[
        bool,
        _messages("--debug", callback=_remember_debug, help="Show the traceback of a failure."),
    ] = False


@dataclass(frozen=True)
class AnswerOptions:
    """What `explain` says beside the tree."""

    segments: Annotated[
        bool,
        _answers(
            "--segments",
            help="One record per cluster: its rule, how well it fits, what its rows are like.",
        ),
    ] = False
    names: Annotated[
        Path | None,
        _answers(
            "--names",
            metavar="FILE",
            help='Names of the clusters for every output: a JSON file such as {"0": "VIP", "1": "new"}.',
        ),
    ] = None
    validate: Annotated[
        bool,
        _answers(
            "--validate",
            help="Fit five times, each time without a fifth of the rows, and report how the rules do on the rows left "
            "out.",
        ),
    ] = False
    fail_under: Annotated[
        float | None,
        _answers(
            "--fail-under",
            min=0.0,
            max=1.0,
            metavar="SHARE",
            help="Exit with status 3 if a smaller share of the rows is right (with --validate: of the rows left "
            "out), or if that is no better than guessing.",
        ),
    ] = None


Format = Annotated[
    Literal["text", "json"],
    _messages("--format", show_default=True, help="What is printed: text for people, or JSON."),
]


def grouped(function: Callable[..., None]) -> Callable[..., None]:
    """Return a command whose dataclass parameters are spread out into their fields.

    Parameters
    ----------
    function : callable
        A command. The fields of its dataclass parameters need names that occur once.

    Returns
    -------
    command : callable
        The same for typer, which reads options from a signature.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from spexplain.cli.options import grouped
    >>> @dataclass(frozen=True)
    ... class Size:
    ...     width: int = 3
    >>> @grouped
    ... def show(name: str, size: Size) -> None:
    ...     print(name, size.width)
    >>> show(name="box", width=4)
    box 4
    """
    hints = get_type_hints(function, include_extras=True)
    groups = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters: list[Parameter] = []
    for name, parameter in signature(function).parameters.items():
        if name in groups:
            parameters += _spread(groups[name])
        else:
            parameters.append(parameter.replace(annotation=hints[name]))

    @wraps(function)
    def command(**given: Any) -> None:
        for name, group in groups.items():
            own = {field.name: given.pop(field.name) for field in fields(group)}
            given[name] = group(**own)  # type: ignore[operator]
        import_lightly("scipy.sparse")  # before something else imports more
        function(**given)

    keyword = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in parameters]
    command.__signature__ = Signature(keyword)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in keyword}
    # Help has the width of the terminal, not of the source: a paragraph is one line.
    paragraphs = cleandoc(function.__doc__ or "").split("\n\n")
    command.__doc__ = "\n\n".join(" ".join(each.split("\n")) for each in paragraphs)
    # typer would follow it back to the signature of the function itself.
    del command.__wrapped__
    return command


def _spread(group: Any) -> list[Parameter]:
    """Return the fields of a dataclass as parameters."""
    hints = get_type_hints(group, include_extras=True)
    return [
        Parameter(
            field.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(group)
    ]
