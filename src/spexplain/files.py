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

# The format for the ending of a file's name.
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
# Endings that are read as tables but not written, as they may mean other formats, too.
READ_ONLY_FORMATS: dict[str, TableFormat] = {".txt": "csv", ".tab": "tsv"}

_LONGEST_STEM = 100  # characters; file systems allow about 255 in all


class PendingFile:
    """A file that is written under a temporary name and takes its place when it is complete.

    Readers find the old file or the new one, never a part of it; an interrupted run leaves the old one
    unchanged. The temporary file is in the same folder under a random name, and is created only if
    nothing has that name, not even a link. If the file cannot be replaced, for example because it is
    mounted into a container, it is overwritten in place once all of the content is there.

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
        # Named before it is created, so that after Ctrl-C it is always known what to remove.
        name = f".{self.target.name[:_LONGEST_STEM]}.{secrets.token_hex(8)}.tmp"
        self.temporary = self.target.with_name(name)

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Yield the temporary file; at the end its content is flushed to disk.

        Yields
        ------
        file : binary file
            Empty, with the permissions of the old file if there is one.
        """
        with self._made() as file:
            if self.target.exists():
                # Before anything is written, so that permissions are never wider than the old file's.
                same = file.fileno() if os.chmod in os.supports_fd else self.temporary
                os.chmod(same, self.target.stat().st_mode & 0o777)
            yield file
            file.flush()
            os.fsync(file.fileno())

    def _made(self) -> BinaryIO:
        """Return the temporary file, newly created and empty."""
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
        """Refuse a path where no file can be created, before any work is done."""
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
            os.link(self.temporary, self.target)  # unlike a rename, fails if the target exists
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
        """Remove the temporary file if it exists."""
        self.temporary.unlink(missing_ok=True)


@contextmanager
def replacing(path: str | os.PathLike[str], *, force: bool = True) -> Iterator[BinaryIO]:
    """Yield a file to write to, which replaces `path` at the end unless there was an error.

    Parameters
    ----------
    path : str or path
        The file. Its folder must exist.
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
        The file. Its folder must exist.
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
