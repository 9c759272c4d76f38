"""The reference of the command line: one page per command, written from the program itself.

``python docs/scripts/command_pages.py`` writes docs/reference/commands/; a test says when pages are out of date.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from inspect import Parameter, signature
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal, get_args, get_origin

from typer.models import ArgumentInfo

from spexplain import datasets
from spexplain.cli.app import app

FOLDER = Path(__file__).parents[1] / "reference" / "commands"
# A command's own options come first, those of all commands last; the others keep their order.
PLACES = {"Options": 0, "Reading": 2, "Messages": 3}
# What people type. The first of each is run, on a table of flowers, and the page shows what it prints.
EXAMPLES = {
    "explain": [
        "spexplain explain iris.csv --labels species --json model.json",
        "spexplain explain customers.csv -k 5 --reference kmeans --report customers.html",
        "cat customers.csv | spexplain explain - --labels segment --format json",
    ],
    "segment": [
        "spexplain segment iris.csv --labels species --target virginica",
        "spexplain segment customers.csv --labels segment --sql rules.sql --table customers",
    ],
    "predict": [
        "spexplain predict model.json iris.csv -o labels.csv",
        "spexplain predict model.json new.csv --check -o labels.parquet",
    ],
    "check": [
        "spexplain check model.json iris.csv",
        "spexplain check model.json new.csv --fail-on new-category,unit-jump --report check.html",
    ],
    "show": ["spexplain show model.json"],
    "report": ["spexplain report model.json -o iris.html"],
    "compare": [
        "spexplain compare iris.csv --labels species --methods best,cart,sklearn-cart",
        "spexplain compare customers.csv --labels segment",
    ],
    "demo": ["spexplain demo"],
}
# These compute for long, or stay: what they print is not compared, and dots stand for what differs each time.
QUOTED = {
    "studio": (
        "spexplain studio customers.csv --labels segment",
        "The studio is at http://127.0.0.1:…/?token=…\nPress Ctrl-C to stop it.",
    ),
    "paper": (
        "spexplain paper --tables small --datasets Iris",
        """\
Smaller datasets
ARI and AMI compare the leaves with the classes, REF is the ARI with the
reference clustering of the group (for SpEx-kNN: with the spectral reference).
One leaf per class.

spectral         ARI paper diff    AMI paper diff    REF paper diff why
───────────────────────────────────────────────────────────────────────
Iris
  reference     .630  .630    =   .661  .661    =      –     –
  SpEx-kNN      .450  .450    =   .647  .647    =   .450  .450    =
  SpEx-Clique   .576  .576    =   .629  .629    =   .787  .787    =
  CART          .576  .576    =   .629  .629    =   .787  .787    =
…
33 of 33 comparable numbers equal to the third decimal
12 cells computed, 0 kept from before. Wrote 11 files into spexplain-paper""",
    ),
    "warmup": ("spexplain warmup", "Compiled in … s; kept in …"),
}


def printed(command: str, folder: Path) -> str:
    """Return what a command prints in a terminal of 80 columns."""
    words = shlex.split(command)[1:]
    environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "spexplain", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    said = (done.stdout + done.stderr).rstrip().replace(f"{folder.resolve()}{os.sep}", "")
    # Seconds differ each time.
    return re.sub(
        r"^(\S.*%  .* )( *\d+\.\d\d)$",
        lambda line: f"{line[1]}{'…':>{len(line[2])}}",
        "\n".join(line.rstrip() for line in said.split("\n")),
        flags=re.MULTILINE,
    )


def flowers() -> str:
    """Return the table of the examples as CSV."""
    iris = datasets.load("iris")
    names = [iris.target_names[code] for code in iris.target]
    lines = [",".join([*iris.feature_names, "species"])]
    lines += [",".join([*map(str, row), name]) for row, name in zip(iris.data, names, strict=True)]
    return "\n".join(lines)


def examples(name: str, folder: Path) -> list[str]:
    """Return the examples of a command, the first with what it prints."""
    if name in QUOTED:
        command, says = QUOTED[name]
        return ["```console", f"$ {command}", says, "```", ""]
    first, *others = EXAMPLES[name]
    lines = ["```console", f"$ {first}", printed(first, folder), "```", ""]
    return [*lines, "```bash", *others, "```", ""] if others else lines


def plain(text: str | None) -> str:
    """Return a help text as one paragraph, without the marks of a terminal."""
    text = re.sub(r"\[/?(?:bold|dim|italic|green|yellow|red|cyan)\]", "", text or "")
    return " ".join(text.replace("\b", "").split())


def cell(text: str) -> str:
    """Return a text for a cell of a table."""
    return text.replace("|", "\\|").replace("<", "&lt;")


def said(default: Any, name: str) -> str:
    """Return what an option is where it is not given; of a pair of names, the one that holds."""
    if default is Parameter.empty:
        return "(required)"
    if isinstance(default, bool):
        on, pair, off = name.partition("/")
        return f"`{on if default else off}`" if pair else ""
    return "" if default is None or default == () else f"`{default}`"


def kind_of(info: Any, hint: Any) -> str:
    """Return what an option takes: its word, or its choices."""
    if info.metavar:
        return f" `{info.metavar}`".replace("|", " or ")
    options = [each for each in (hint, *get_args(hint)) if get_origin(each) is Literal]
    if options:
        return " " + ", ".join(f"`{each}`" for each in get_args(options[0]))
    return ""


def page(name: str, function: Callable[..., None], folder: Path) -> str:
    """Return the page of a command."""
    lines = [f"# spexplain {name}", "", *paragraphs(function.__doc__), "", *examples(name, folder)]
    arguments: list[str] = []
    panels: dict[str, list[str]] = {}
    for each in signature(function).parameters.values():
        if get_origin(each.annotation) is not Annotated:
            continue
        hint, *rest = get_args(each.annotation)
        info = next(one for one in rest if hasattr(one, "rich_help_panel"))
        if info.hidden:
            continue
        text = cell(plain(info.help))
        if isinstance(info, ArgumentInfo):
            arguments.append(f"| `{info.metavar or each.name.upper()}` | {text} |")
            continue
        # In Annotated, the first name stands where a default would.
        first = (info.default,) if isinstance(info.default, str) else ()
        names = (*first, *(info.param_decls or ())) or (f"--{each.name.replace('_', '-')}",)
        parts = (part for one in names for part in one.split("/"))
        shown = ", ".join(f"`{part}`" for part in parts) + cell(kind_of(info, hint))
        line = f"| {shown} | {text} | {cell(said(each.default, names[0]))} |"
        panels.setdefault(info.rich_help_panel or "Options", []).append(line)
    if arguments:
        lines += ["| argument | what it is |", "|---|---|", *arguments, ""]
    for panel in sorted(panels, key=lambda each: PLACES.get(each, 1)):
        head = ["| option | what it does | default |", "|---|---|---|"]
        lines += [f"## {panel}", "", *head, *panels[panel], ""]
    return "\n".join(lines).rstrip() + "\n"


def paragraphs(text: str | None) -> list[str]:
    """Return the paragraphs of a docstring, each on one line, with commands in them as code."""
    text = re.sub(r"\[bold\](.*?)\[/bold\]", r"`\1`", text or "")
    told = (plain(each) for each in text.split("\n\n"))
    return "\n\n".join(re.sub(r": (spexplain .*)$", r": `\1`", each) for each in told).split("\n")


def pages() -> dict[str, str]:
    """Return the text of every page by its file name."""
    functions = {
        each.name or each.callback.__name__: each.callback
        for each in app.registered_commands
        if each.callback is not None
    }
    with TemporaryDirectory() as folder:
        (Path(folder) / "iris.csv").write_text(flowers())
        found = {f"{name}.md": page(name, each, Path(folder)) for name, each in functions.items()}
    lines = ["# The command line", "", "| command | what it does |", "|---|---|"]
    lines += [
        f"| [`{name}`]({name}.md) | {paragraphs(each.__doc__)[0]} |"
        for name, each in functions.items()
    ]
    lines += [
        "",
        "The exit status is 0 for success, 1 for a failure (also where a file is missing or lacks a column), 2 for "
        "wrong options or arguments, 3 where a check or `--fail-under` fails, 130 after Ctrl-C.",
        "",
        "Tables may be CSV, TSV, Parquet, Arrow, JSON lines or Excel files, gzipped ones too, or `-` for standard "
        "input; see [files](../../monitoring.md#files).",
    ]
    found["index.md"] = "\n".join(lines) + "\n"
    return found


def main() -> None:
    """Write the pages."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text)
        sys.stdout.write(f"{name}\n")


if __name__ == "__main__":
    main()
