"""The program ``spexplain``: its commands, its version, its signals."""

import os
import sys
from typing import Annotated

import typer

from spexplain._version import __version__
from spexplain.cli.check import check
from spexplain.cli.compare import compare
from spexplain.cli.errors import Commands, Ending
from spexplain.cli.explain import explain
from spexplain.cli.options import grouped
from spexplain.cli.paper import paper
from spexplain.cli.predict import predict
from spexplain.cli.segment import segment
from spexplain.cli.show import report, show
from spexplain.cli.studio import studio
from spexplain.cli.warmup import warmup

app = typer.Typer(
    cls=Commands,
    name="spexplain",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit status: 0 success, 1 failure, 2 wrong usage, 3 failed check, 130 interrupted.",
)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"spexplain {__version__}")
        raise typer.Exit


@app.callback()
def _start(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Explain any clustering of a table with a small decision tree."""


def demo() -> None:
    """Explain the clusters of a small table that comes with the package."""
    from spexplain.demo import main

    main()


for _command in (
    explain, segment, studio, predict, check, show, report, compare, demo, paper, warmup,
):  # fmt: skip
    app.command()(grouped(_command))


def run() -> None:
    """Run the command line of this process."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show ≤ gets a question mark, not a crash.
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:  # closed: a file that is opened later must not take its place
            os.open(os.devnull, os.O_RDWR)
    if os.environ.get("COLUMNS", "1").strip() in ("", "0"):
        del os.environ["COLUMNS"]  # an empty width means that it is not known
    Ending.listen()
    app(prog_name="spexplain")
