"""Writing files: all or nothing, and never over an existing file unless told to."""

import codecs
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from spexplain.cli.errors import UserError, usage_error

STDOUT = Path("-")


class Outputs:
    """The files of one command: written under temporary names, renamed together at the end.

    Parameters
    ----------
    paths : dict of str to Path or None
        The file of every option, such as ``{"--report": Path("report.html")}``; - is standard output.
    force : bool
        Whether existing files may be replaced.
    source : str
        The file that is read, which is never written.
    """

    def __init__(
        self, paths: dict[str, Path | None], *, force: bool = False, source: str = "-"
    ) -> None:
        self.paths = {option: path for option, path in paths.items() if path is not None}
        self._ready: list[tuple[Path, Path]] = []
        self._open: list[Path] = []
        taken: dict[Path, str] = {}
        for option, path in self.paths.items():
            place = STDOUT if path == STDOUT else Path(os.path.realpath(path))
            if place in taken:
                usage_error(f"{taken[place]} and {option} both write to {path}.")
            taken[place] = option
            if path != STDOUT:
                _check_place(place, path, option, force, source)

    @property
    def use_stdout(self) -> bool:
        """Whether a file goes to standard output."""
        return STDOUT in self.paths.values()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: object, trace: TracebackType | None
    ) -> None:
        if kind is None:
            for temporary, place in self._ready:
                temporary.replace(place)
        for temporary in self._open:
            temporary.unlink(missing_ok=True)

    @contextmanager
    def target(self, option: str) -> Iterator[Path | Any]:
        """Yield where to write: a temporary path beside the file, or standard output."""
        path = self.paths[option]
        if path == STDOUT:
            sys.stdout.flush()
            yield _Screen(sys.stdout.buffer) if sys.stdout.isatty() else sys.stdout.buffer
            sys.stdout.flush()
            return
        place = Path(os.path.realpath(path))
        if place.exists() and not place.is_file():  # a pipe or device: there is nothing to replace
            with place.open("wb") as file:
                yield file
            return
        temporary = place.with_name(f".{place.name[:100]}.{os.getpid()}.tmp")
        self._open.append(temporary)
        yield temporary
        if place.exists():
            temporary.chmod(place.stat().st_mode & 0o777)
        self._ready.append((temporary, place))

    def write(self, option: str, content: str | bytes) -> None:
        """Write a whole file."""
        data = content.encode() if isinstance(content, str) else content
        with self.target(option) as target:
            if isinstance(target, Path):
                target.write_bytes(data)
            else:
                target.write(data)


class _Screen(io.RawIOBase):
    """A terminal that gets no escape sequences from the cells of a table; files and pipes get all as it is."""

    def __init__(self, terminal: BinaryIO) -> None:
        self._terminal = terminal
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def writable(self) -> bool:
        """Say that it can be written to."""
        return True

    def write(self, data: Any) -> int:
        """Write bytes, a question mark in place of every character that is not shown."""
        text = self._decoder.decode(bytes(data))
        shown = "".join(c if c.isprintable() or c in "\t\n" else "?" for c in text)
        self._terminal.write(shown.encode("utf-8", "replace"))
        return len(data)

    def flush(self) -> None:
        """Show what was written."""
        self._terminal.flush()


def _check_place(place: Path, path: Path, option: str, force: bool, source: str) -> None:
    """Refuse a file that cannot or must not be written, before any work is done."""
    if place.is_dir():
        raise UserError(f"{option} {path} is a folder; name a file in it.")
    if not place.parent.is_dir():
        raise UserError(f"{option} {path}: there is no folder {path.parent}.")
    if source != "-" and place == Path(os.path.realpath(source)):
        raise UserError(f"{option} {path} is the table itself; choose another name.")
    if place.exists():
        if place.is_file() and not force:
            raise UserError(f"{path} exists; pass --force to overwrite it, or choose another name.")
        if not os.access(place, os.W_OK):
            raise UserError(f"{option} {path} may not be written: permission denied.")
    elif not os.access(place.parent, os.W_OK):
        raise UserError(f"{option} {path} cannot be made: the folder may not be written to.")
