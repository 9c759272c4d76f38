"""Files: the formats that tables come in, and writing a file in one step."""

import errno
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Literal, TypeAlias

TableFormat: TypeAlias = Literal["csv", "tsv", "parquet", "arrow", "jsonl", "xlsx"]

# The format that the ending of a file's name says.
FORMATS: dict[str, TableFormat] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".xlsx": "xlsx",
}
# Endings under which tables are found, but not written: they may mean other things too.
READ_ONLY_FORMATS: dict[str, TableFormat] = {".txt": "csv", ".tab": "tsv"}

_LONGEST_STEM = 100  # characters; file systems allow about 255 in all


class PendingFile:
    """A file that is written under a temporary name and takes its place when it is complete.

    Readers meet the old file or the new one, never half of it; an interrupted run leaves the old one
    as it was. The temporary file lies in the same folder under a random name, and is made only if
    there is nothing of that name, not even a link. A file that nothing can take the place of, such as
    one that is mounted into a container, is written in place once all of its content is there.

    Parameters
    ----------
    path : str or path
        The file. What a symbolic link points to is replaced, not the link.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from spexplain.files import PendingFile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pending = PendingFile(Path(folder) / "numbers.txt")
    ...     with pending.open() as file:
    ...         _ = file.write(b"1 2 3")
    ...     print(pending.target.exists())
    ...     pending.commit()
    ...     print(pending.target.read_text())
    False
    1 2 3
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.target = Path(os.path.realpath(path))
        # Named before it is made: whenever Ctrl-C comes, it is known what to remove.
        name = f".{self.target.name[:_LONGEST_STEM]}.{secrets.token_hex(8)}.tmp"
        self.temporary = self.target.with_name(name)

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Yield the temporary file; at the end its content is on the disk.

        Yields
        ------
        file : binary file
            Empty, with the permissions of the old file if there is one.
        """
        with self._made() as file:
            if self.target.exists():
                # Before anything is written: the content is never more open than the old file's.
                same = file.fileno() if os.chmod in os.supports_fd else self.temporary
                os.chmod(same, self.target.stat().st_mode & 0o777)
            yield file
            file.flush()
            os.fsync(file.fileno())

    def _made(self) -> BinaryIO:
        """Return the temporary file, new and empty."""
        try:
            return open(self.temporary, "xb")  # fails if anything has that name
        except OSError as error:
            is_shut = error.errno in (errno.EACCES, errno.EPERM, errno.EROFS)
            if not (is_shut and self.target.is_file() and os.access(self.target, os.W_OK)):
                raise
        # Only the file itself may be written, not its folder.
        self.temporary = Path(tempfile.gettempdir()) / self.temporary.name
        return open(self.temporary, "xb")

    def check(self) -> None:
        """Refuse a place where no file can be made, before any work is done for it."""
        try:
            self._made().close()
        finally:
            self.discard()

    def commit(self, *, force: bool = True) -> None:
        """Put the temporary file in its place.

        Parameters
        ----------
        force : bool, default=True
            Whether an existing file is replaced; otherwise it is refused.
        """
        if force:
            self._replace()
            return
        try:
            os.link(self.temporary, self.target)  # unlike a rename, refuses what is there already
        except FileExistsError:
            raise _exists(self.target) from None
        except OSError:  # a file system without links
            self._replace()
        else:
            self.discard()

    def _replace(self) -> None:
        try:
            self.temporary.replace(self.target)
        except OSError as error:
            if error.errno not in (errno.EBUSY, errno.EXDEV) or not self.target.is_file():
                raise
            with self.temporary.open("rb") as source, self.target.open("r+b") as file:
                shutil.copyfileobj(source, file, 1 << 20)
                file.truncate()
                file.flush()
                os.fsync(file.fileno())

    def discard(self) -> None:
        """Remove the temporary file, if it is there."""
        self.temporary.unlink(missing_ok=True)


@contextmanager
def replacing(path: str | os.PathLike[str], *, force: bool = True) -> Iterator[BinaryIO]:
    """Yield a file to write to, which replaces `path` at the end unless there was an error.

    Parameters
    ----------
    path : str or path
        The file. Its folder must be there.
    force : bool, default=True
        Whether an existing file is replaced; otherwise it is refused.

    Yields
    ------
    file : binary file
        Empty.
    """
    if not force and Path(path).exists():
        raise _exists(Path(path))
    pending = PendingFile(path)
    try:
        with pending.open() as file:
            yield file
        pending.commit(force=force)
    finally:
        pending.discard()


def write_file(path: str | os.PathLike[str], content: str | bytes, *, force: bool = True) -> Path:
    """Write a whole file in one step; text is written as UTF-8.

    Parameters
    ----------
    path : str or path
        The file. Its folder must be there.
    content : str or bytes
        All of it.
    force : bool, default=True
        Whether an existing file is replaced; otherwise it is refused.

    Returns
    -------
    path : Path
        The file that was written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from spexplain.files import write_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = write_file(Path(folder) / "note.txt", "hello")
    ...     print(written.read_text(), [path.name for path in Path(folder).iterdir()])
    hello ['note.txt']
    """
    with replacing(path, force=force) as file:
        file.write(content.encode() if isinstance(content, str) else content)
    return Path(path)


def _exists(path: Path) -> FileExistsError:
    return FileExistsError(f"The file {str(path)!r} exists already and was left as it is.")
