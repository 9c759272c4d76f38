"""What is said where: results on standard output, notes and progress on standard error."""

import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.text import Text

from spexplain.cli.errors import printable


class Terminal:
    """Where a command prints.

    Parameters
    ----------
    quiet : bool
        Whether notes and progress are left away.
    is_taken : bool
        Whether standard output carries a file or JSON; text for people then goes to standard error.
    """

    def __init__(self, *, quiet: bool = False, is_taken: bool = False) -> None:
        self.quiet = quiet
        self.notes: list[str] = []
        self.err = Console(stderr=True, highlight=False, soft_wrap=True)
        self.out = Console(stderr=is_taken, highlight=False)
        self.is_taken = is_taken

    def note(self, sentence: str) -> None:
        """Say something that the user should know, and remember it."""
        text = printable(sentence)
        self.notes.append(text)
        if not self.quiet:
            self.err.print(Text("Note: ", style="yellow"), Text(text), sep="")

    def say(self, text: str) -> None:
        """Say what was done."""
        if not self.quiet:
            self.err.print(Text(printable(text), style="dim"))

    def show(self, *parts: Any, wrap: bool = False) -> None:
        """Print a result for people; lines that are too long end in an ellipsis unless they wrap."""
        if self.is_taken and self.quiet:
            return
        for part in parts:
            if isinstance(part, str | Text) or self.out.is_terminal:
                # Brackets in a sentence may come from the table: they are no markup.
                shown = Text(printable(part)) if isinstance(part, str) else part
                no_wrap = isinstance(part, Text) and not wrap
                self.out.print(shown, no_wrap=no_wrap, overflow="ellipsis")
                continue
            with self.out.capture() as captured:
                self.out.print(part)
            # Tables are padded to a rectangle, which files and pipes have no use for.
            lines = (line.rstrip() for line in captured.get().splitlines())
            self.out.file.write("\n".join(lines) + "\n")

    @contextmanager
    def stage(self, text: str) -> Iterator[None]:
        """Show that something is going on, if somebody watches."""
        if self.quiet or not self.err.is_terminal:
            yield
            return
        with self.err.status(Text(f"{printable(text)} ...")):
            yield

    @contextmanager
    def bar(self, text: str, total: int | None) -> Iterator[Callable[[int], None]]:
        """Show a progress bar, if somebody watches; yields the function that advances it."""
        if self.quiet or not self.err.is_terminal:
            yield lambda step: None
            return
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(show_speed=False),
        )
        with Progress(*columns, console=self.err, transient=True) as progress:
            task = progress.add_task(text, total=total)
            yield lambda step: progress.advance(task, step)

    @contextmanager
    def warnings_as_notes(self) -> Iterator[None]:
        """Turn warnings of the library into notes."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
            yield
        for each in dict.fromkeys(str(warning.message) for warning in caught):
            self.note(each)


def write_json(document: dict[str, Any]) -> None:
    """Print a document as JSON, and nothing else."""
    import json

    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
    sys.stdout.write(escaped(text) + "\n")
    sys.stdout.flush()


def escaped(text: str) -> str:
    r"""Return JSON whose texts hold nothing that a terminal would obey: such characters become escapes.

    Examples
    --------
    >>> from spexplain.cli.terminal import escaped
    >>> print(escaped('"a\x9b31m"'))
    "a\u009b31m"
    """
    return re.sub(r"[^ -~\n]", _escape, text)


def _escape(found: re.Match[str]) -> str:
    """Return a character, or how JSON writes it in ASCII if it is not shown."""
    sign = found.group()
    return sign if sign.isprintable() else f"\\u{ord(sign):04x}"
